# A motion under forces that follow from its own states, a step after the other without Python.

cdef enum:
    LOOK_EVERY = 1024       # steps between two looks at the keyboard


def follow(ModelStepper stepper, correction, const double[::1] limits, double[:, ::1] torque, double[:, ::1] q,
           double[:, ::1] p, int[::1] iterations=None, double[::1] residual=None):
    """Take a step from the state for each row of ``torque`` (steps, nv), and write the states (steps + 1, ...) to q and p.

    ``correction`` is None, or (acts, share, k, K, q, p): to entry ``acts[j]`` of a row is added ``share k + K x``, with k
    (steps, m), K (steps, m, 2 nv) and the displacement x of the state from the rows of q and p. Rows are cut to +-limits
    (nv,), and ``torque`` becomes what acted.

    ``iterations`` and ``residual`` (steps + 1,) take the corrections of the steps that led to the states, and what they
    left. Returns the status, and how many steps were taken.
    """
    cdef Turn turn = stepper.turn()
    cdef const vt_model* m = stepper.shared.m
    cdef State* state = &stepper.lane.state
    cdef Py_ssize_t steps = torque.shape[0], i = 0
    cdef int nv = stepper.nv, status = OK, count = 0, j
    cdef const int[::1] acts
    cdef const double[:, ::1] k, near_q, near_p
    cdef const double[:, :, ::1] K
    cdef double* tau
    cdef double share = 0.0
    cdef bint corrects = correction is not None, tells = iterations is not None, asks = stepper.asks()
    cdef Scratch room = Scratch(2 * nv * sizeof(double) + 128)
    cdef double* x = <double*>room.take(2 * nv * sizeof(double) + 8)
    if corrects:
        acts, share, k, K, near_q, near_p = correction
        count = acts.shape[0]
    for j in range(count):
        if not 0 <= acts[j] < nv:
            raise ValueError(f"a force on velocity {acts[j]} of {nv}")
    require_shape(torque, (steps, nv))
    require_shape(q, (steps + 1, stepper.nq))
    require_shape(p, (steps + 1, nv))
    require_shape(limits, (nv,))
    if corrects:
        require_shape(k, (steps, count))
        require_shape(K, (steps, count, 2 * nv))
        require_shape(near_q, (steps + 1, stepper.nq))
        require_shape(near_p, (steps + 1, nv))
    if tells:
        require_shape(iterations, (steps + 1,))
        require_shape(residual, (steps + 1,))
        iterations[0], residual[0] = 0, 0.0
    if not nv:
        return OK, 0
    if asks and stepper.before is None:
        stepper.before = Before(stepper.memory)
    stepper.require_rows(stepper.lane.clock.steps - stepper.shared.schedule.begun + steps)
    memcpy(&q[0, 0], state.q, stepper.nq * sizeof(double))
    memcpy(&p[0, 0], state.x, nv * sizeof(double))
    with nogil:
        for i in range(steps):
            if i % LOOK_EVERY == LOOK_EVERY - 1:
                with gil:
                    PyErr_CheckSignals()
            tau = &torque[i, 0]
            if corrects:
                # x = (log of the way from the motion nearby, p - p nearby)
                difference(m, &near_q[i, 0], state.q, x)
                for j in range(nv):
                    x[nv + j] = state.x[j] - near_p[i, j]
                for j in range(count):
                    tau[acts[j]] += share * k[i, j] + inner(&K[i, j, 0], x, 2 * nv)
            for j in range(nv):
                if tau[j] > limits[j]:
                    tau[j] = limits[j]
                elif tau[j] < -limits[j]:
                    tau[j] = -limits[j]
            if not all_finite(tau, nv):
                status = NOT_FINITE
                break
            memcpy(stepper.lane.drive.tau, tau, nv * sizeof(double))
            status = stepper.take_step(asks)
            if status != OK:
                break
            stepper.close_step()
            if tells:
                iterations[i + 1], residual[i + 1] = stepper.lane.now.iterations, stepper.lane.now.error
            memcpy(&q[i + 1, 0], state.q, stepper.nq * sizeof(double))
            memcpy(&p[i + 1, 0], state.x, nv * sizeof(double))
    return status, i if status != OK else steps
