# A motion under controls that depend on its states, without Python between its steps.

cdef void anchor(ModelStepper stepper, int first, double* h) noexcept nogil:
    # the constraints from the first one on, a.x = value, hold what they measure where the state is; h: (count,)
    cdef vt_constraint* list = <vt_constraint*>stepper.shared.constraint
    cdef int c
    constraints(stepper.shared.m, list, stepper.shared.count, stepper.lane.state.q, stepper.lane.bodies.pose, h, NULL, NULL,
                NULL)
    for c in range(first, stepper.shared.count):
        list[c].value += h[c]


def follow(ModelStepper stepper, correction, const double[::1] low, const double[::1] high, double[:, ::1] controls,
           double[:, ::1] q, double[:, ::1] p, double[:, :, ::1] motion=None, gaps=None, int anchored=-1,
           double[:, ::1] impulses=None):
    """Take a step from the state for each row of ``controls``, and write the states (steps + 1, ...) to q and p.

    A row has the torque (nv,), the inputs (nu,), and with ``motion`` the prescribed coordinates at the end of
    the step. ``motion`` (2 steps + 1, 3, nlocked) is the array that the stepper was given by ``set_motion``; its rows
    after the first are written.

    ``correction`` is None, or (acts, share, k, K, q, p): to entry ``acts[j]`` of a row is added ``share k + K x``, with
    k (steps, m), K (steps, m, 2 nv) and the displacement x of the state from the rows of q and p. If K is (steps, m, 3
    nv), x has the displacement of the configuration before as well. Rows are clipped to ``low`` and ``high``, and
    ``controls`` is overwritten with what acted. Two more entries, A (steps, 2 nv, 2 nv) and B (steps, 2 nv, m), are the
    derivatives of the steps of the motion q, p under ``controls`` as they are given: steps, of order 2 on joints of one
    coordinate, without constraints and contacts, are found by them.

    ``gaps`` is None, or (gaps, end_q, end_p) of multiple shooting: step i ends at row i of end_q (steps, nq) and end_p
    (steps, nv), which are written, and the next one starts at that state displaced by minus row i of gaps (steps, 2 nv).
    With None for the gaps all rows of q and p are given, and steps start there. A step after a displacement starts without
    history.

    With ``anchored`` >= 0 the constraints from that number on hold what they measure at the first state and at those
    after a displacement, whatever their values; no other stepper may use the list of constraints at the same time.
    ``impulses`` (steps, count) receives what all constraints give the joints where each step starts, Dh^T impulses, of
    steps that are not halved.

    Returns the status, and the number of steps taken. If the stepper logs contacts, they are those of all steps.
    """
    cdef Busy busy = stepper.busy()
    cdef const vt_model* m = stepper.shared.m
    cdef State* state = &stepper.lane.state
    cdef Py_ssize_t steps = controls.shape[0], i = 0
    cdef int nv = stepper.nv, nu = stepper.shared.schedule.nu, width = 2 * stepper.nv
    cdef int status = OK, count = 0, moved = 0, size, j
    cdef const int[::1] acts
    cdef const double[:, ::1] k, near_q, near_p
    cdef const double[:, :, ::1] K
    cdef const double[:, ::1] gap
    cdef double[:, ::1] end_q, end_p
    cdef double* row
    cdef double share = 0.0, rate, since = seconds_now()
    cdef bint corrects = correction is not None, asks = stepper.asks(), parts = gaps is not None, displaced
    cdef bint told = impulses is not None, given = False, mapped = False
    cdef const double[:, :, ::1] A, B
    cdef Nearby near
    cdef Newton* newton = &stepper.lane.newton
    cdef Scratch room = Scratch((4 * nv + stepper.nq + stepper.shared.count + controls.shape[1]) * sizeof(double) + 448)
    cdef double* h = <double*>room.take(stepper.shared.count * sizeof(double) + 8)
    cdef double* x = <double*>room.take(3 * nv * sizeof(double) + 8)
    cdef double* node = <double*>room.take(stepper.nq * sizeof(double) + 8)
    cdef double* y = <double*>room.take(nv * sizeof(double) + 8)
    cdef double* du = <double*>room.take(controls.shape[1] * sizeof(double) + 8)
    if motion is not None:
        moved = m.nlocked
        require_shape(motion, (2 * steps + 1, 3, moved))
        if moved and steps and (stepper.shared.motion != &motion[0, 0, 0] or stepper.rows_each() != 2):
            raise ValueError("the stepper has another motion")
    size = nv + nu + moved
    if corrects:
        acts, share, k, K, near_q, near_p, *maps = correction
        mapped = len(maps) > 0
        count = acts.shape[0]
    for j in range(count):
        if not 0 <= acts[j] < size:
            raise ValueError(f"a correction of control {acts[j]} of {size}")
    require_shape(controls, (steps, size))
    require_shape(q, (steps + 1, stepper.nq))
    require_shape(p, (steps + 1, nv))
    require_shape(low, (size,))
    require_shape(high, (size,))
    if corrects:
        require_shape(k, (steps, count))
        width = 3 * nv if K.shape[2] == 3 * nv else 2 * nv
        require_shape(K, (steps, count, width))
        require_shape(near_q, (steps + 1, stepper.nq))
        require_shape(near_p, (steps + 1, nv))
    if mapped:
        A, B = maps
        require_shape(A, (steps, 2 * nv, 2 * nv))
        require_shape(B, (steps, 2 * nv, count))
        near.y, near.width, near.h = y, 2 * nv, stepper.lane.now.h
        if stepper.nq != nv or stepper.shared.count or moved:
            raise ValueError("derivatives of steps with constraints, or on joints of several coordinates")
    if parts:
        given = gaps[0] is None
        _, end_q, end_p = gaps
        if not given:
            gap = gaps[0]
            require_shape(gap, (steps, 2 * nv))
        require_shape(end_q, (steps, stepper.nq))
        require_shape(end_p, (steps, nv))
        if moved:
            raise ValueError("multiple shooting has no prescribed coordinates")
    if told:
        require_shape(impulses, (steps, stepper.shared.count))
    if not nv:
        return OK, 0
    if anchored >= 0:
        anchor(stepper, anchored, h)
    if asks and stepper.before is None:
        stepper.before = Backup(stepper.memory)
    stepper.require_rows(stepper.lane.clock.steps - stepper.shared.schedule.begun + steps)
    memcpy(&q[0, 0], state.q, stepper.nq * sizeof(double))
    memcpy(&p[0, 0], state.x, nv * sizeof(double))
    with nogil:
        for i in range(steps):
            if overdue(&since, i):
                with gil:
                    PyErr_CheckSignals()
            row = &controls[i, 0]
            if corrects:
                # x = (log of the displacement from the nearby motion, p - p of that motion)
                memcpy(x + 2 * nv, x, nv * sizeof(double))
                difference(m, &near_q[i, 0], state.q, x)
                for j in range(nv):
                    x[nv + j] = state.x[j] - near_p[i, j]
                for j in range(count):
                    du[j] = -row[acts[j]]
                    row[acts[j]] += share * k[i, j] + inner(&K[i, j, 0], x, width)
            for j in range(size):
                if row[j] > high[j]:
                    row[j] = high[j]
                elif row[j] < low[j]:
                    row[j] = low[j]
            if not all_finite(row, size):
                status = NOT_FINITE
                break
            if mapped:
                # the end is about A x + B du from that of the nearby motion
                for j in range(count):
                    du[j] += row[acts[j]]
                for j in range(nv):
                    y[j] = (near_q[i + 1, j] - state.q[j]) + vt_dot(2 * nv, &A[i, j, 0], x) + vt_dot(count, &B[i, j, 0], du)
                near.by_p = &A[i, 0, nv]
                newton.nearby = &near
            memcpy(stepper.lane.drive.tau, row, nv * sizeof(double))
            memcpy(stepper.lane.drive.u, row + nv, nu * sizeof(double))
            for j in range(moved):
                # prescribed coordinates move at a constant rate
                rate = (row[nv + nu + j] - motion[2 * i, 0, j]) / stepper.lane.now.h
                motion[2 * i + 1, 0, j] = 0.5 * (row[nv + nu + j] + motion[2 * i, 0, j])
                motion[2 * i + 2, 0, j] = row[nv + nu + j]
                motion[2 * i + 1, 1, j] = motion[2 * i + 2, 1, j] = rate
                motion[2 * i + 1, 2, j] = motion[2 * i + 2, 2, j] = 0.0
            status = stepper.take_step(asks)
            mapped, newton.nearby = mapped and newton.nearby != NULL, NULL
            if status != OK:
                break
            stepper.close_step()
            if told:
                for j in range(stepper.shared.count):
                    impulses[i, j] = -stepper.lane.held.lam[j]
            if parts:
                memcpy(&end_q[i, 0], state.q, stepper.nq * sizeof(double))
                memcpy(&end_p[i, 0], state.x, nv * sizeof(double))
                displaced = given
                if given:
                    memcpy(node, &q[i + 1, 0], stepper.nq * sizeof(double))
                    memcpy(x + nv, &p[i + 1, 0], nv * sizeof(double))
                else:
                    for j in range(nv):
                        displaced = displaced or gap[i, j] != 0.0 or gap[i, nv + j] != 0.0
                        x[j] = -gap[i, j]
                        x[nv + j] = state.x[j] - gap[i, nv + j]
                    if displaced:
                        integrate(m, state.q, x, node)
                if displaced:
                    stepper.place(stepper.lane.clock.t, node, x + nv)
                    if anchored >= 0:
                        anchor(stepper, anchored, h)
            memcpy(&q[i + 1, 0], state.q, stepper.nq * sizeof(double))
            memcpy(&p[i + 1, 0], state.x, nv * sizeof(double))
            if stepper.logs:
                status = stepper.log_row(i + 1)
                if status != OK:
                    break
    return status, i if status != OK else steps
