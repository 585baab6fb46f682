# Steps of many instances, each with a stepper of its own, in one call without Python; and the impulses of their contacts.
# Included after told.pxi.

#: :func:`advance_one` for what is a stepper, without a reference that a thread without the interpreter could not count
ctypedef int (*Advance)(void* stepper, long steps, const double* torque, const double* inputs, bint by_momentum, double* q,
                        double* v) noexcept nogil


cdef int drive_by(ModelStepper self, const double* torque, const double* inputs) noexcept nogil:
    # torque and inputs of the next steps, NULL: those at hand; CAREFUL where steps call functions or take rows, or what is at
    # hand is not finite
    cdef Drive* drive = &self.lane.drive
    cdef Schedule* plan = &self.shared.schedule
    if (self.asks() or plan.u_rows != NULL or self.shared.m.nlocked or self.led_count
            or not ((torque != NULL or all_finite(drive.tau, self.nv)) and (inputs != NULL or all_finite(drive.u, plan.nu)))):
        return CAREFUL
    if torque != NULL:
        memcpy(drive.tau, torque, self.nv * sizeof(double))
    if inputs != NULL:
        memcpy(drive.u, inputs, plan.nu * sizeof(double))
    return OK


cdef int advance_one(ModelStepper self, long steps, const double* torque, const double* inputs, bint by_momentum, double* q,
                     double* v) noexcept nogil:
    # Stepper.go, and the state: q and, NaN where the stepper does not tell it, v. CAREFUL, with nothing done, where it is in
    # use, or cannot go on alone
    cdef int status
    cdef long k
    if not self.enter():
        return CAREFUL
    status = drive_by(self, torque, inputs)
    if status == OK:
        for k in range(steps):
            status = self.take_step(False)
            if status != OK:
                break
            self.close_step()
        memcpy(q, self.lane.state.q, self.nq * sizeof(double))
        if not self.tells(by_momentum, v):
            v[0] = NAN
    self.leave()
    return status


def advance_together(tuple steppers, const Py_ssize_t[::1] which, long steps, torque, inputs, bint by_momentum,
                     double[:, ::1] q, double[:, ::1] v):
    """Advance some instances by at most MOST_AT_ONCE steps, and write their states.

    Parameters
    ----------
    steppers : tuple
        Of these m instances; None where an instance has none that could.
    which : (m,) array of intp
        Their rows.
    steps : int
    torque, inputs : (n, nv) and (n, nu) arrays of finite doubles, or None
    by_momentum : bool
        Whether velocities are those of momenta.
    q, v : (n, nq) and (n, nv) arrays

    Returns
    -------
    (m,) array of int
        The status of each; CAREFUL where it did not move, since a stepper alone cannot do it. Of instances that cannot
        tell v, its first entry is NaN.
    """
    cdef Instances at = Instances(steppers, which, torque, inputs, q, v)
    cdef Py_ssize_t i
    cdef double since = seconds_now()
    cdef Advance call = <Advance>advance_one
    out = np.full(at.count, CAREFUL, dtype=np.intc)
    cdef int[::1] status = out
    if not 1 <= steps <= MOST_AT_ONCE:
        return out
    with nogil:
        for i in range(at.count):
            if at.stepper[i] == NULL:
                continue
            status[i] = call(at.stepper[i], steps, at.torque[i], at.inputs[i], by_momentum, at.q[i], at.v[i])
            if overdue(&since, LOOK_STEPS - 1):
                with gil:
                    PyErr_CheckSignals()
    return out


cdef class Instances:
    """Some instances: their steppers, or NULL, and the rows of arrays that are theirs, NULL where an array is not given."""

    cdef object owners          # of the steppers and rows
    cdef Py_ssize_t count
    cdef void** stepper         # (count,)
    cdef const double** torque
    cdef const double** inputs
    cdef double** q
    cdef double** v

    def __init__(self, tuple steppers, const Py_ssize_t[::1] which, torque, inputs, double[:, ::1] q, double[:, ::1] v):
        cdef const double[:, ::1] tau = torque if torque is not None else None
        cdef const double[:, ::1] u = inputs if inputs is not None else None
        cdef Py_ssize_t i, row, n = q.shape[0], m = which.shape[0]
        cdef ModelStepper one
        self.owners, self.count = (steppers, torque, inputs, q, v), m
        self.stepper = <void**>PyMem_Calloc(max(5 * m, 1), sizeof(void*))
        if self.stepper == NULL:
            raise MemoryError
        self.torque, self.inputs = <const double**>(self.stepper + m), <const double**>(self.stepper + 2 * m)
        self.q, self.v = <double**>(self.stepper + 3 * m), <double**>(self.stepper + 4 * m)
        require_size(len(steppers), m, "steppers")
        require_size(v.shape[0], n, "rows of v")
        if tau is not None:
            require_size(tau.shape[0], n, "rows of the torque")
        if u is not None:
            require_size(u.shape[0], n, "rows of the inputs")
        for i in range(m):
            row = which[i]
            if not 0 <= row < n:
                raise IndexError(f"no row {row} among {n}")
            if not isinstance(steppers[i], ModelStepper):
                continue
            one = steppers[i]
            require_size(q.shape[1], one.nq, "columns of q")
            require_size(v.shape[1], one.nv, "columns of v")
            self.stepper[i], self.q[i], self.v[i] = <void*>one, &q[row, 0], &v[row, 0]
            if tau is not None:
                require_size(tau.shape[1], one.nv, "columns of the torque")
                self.torque[i] = &tau[row, 0]
            if u is not None:
                require_size(u.shape[1], one.shared.schedule.nu, "columns of the inputs")
                self.inputs[i] = &u[row, 0]

    def __dealloc__(self):
        PyMem_Free(self.stepper)


def contact_impulses(tuple steppers, const Py_ssize_t[::1] which, const double[:, ::1] signs, double[:, :, ::1] impulses,
                     unsigned char[:, ::1] touching):
    """Add the impulses of contacts on frames in the last steps of some instances, and tell which frames anything touches.

    Parameters
    ----------
    steppers : tuple
        Of these m instances.
    which : (m,) array of intp
        Their rows.
    signs : (contacts, frames) array
        How an impulse of each contact acts on each frame: 1, -1 or 0.
    impulses : (n, frames, 3) array [N s]
        World axes.
    touching : (n, frames) array of uint8
    """
    cdef Py_ssize_t i, row, n = impulses.shape[0]
    cdef int frame, frames = <int>signs.shape[1]
    cdef ModelStepper one
    cdef const double* told
    cdef double sign
    cdef int c, number
    require_size(which.shape[0], len(steppers), "rows")
    require_size(impulses.shape[1], frames, "frames of the impulses")
    require_size(impulses.shape[2], 3, "numbers of an impulse")
    require_size(touching.shape[0], n, "rows of those touching")
    require_size(touching.shape[1], frames, "columns of those touching")
    for i in range(len(steppers)):
        one, row = steppers[i], which[i]
        if not 0 <= row < n:
            raise IndexError(f"no row {row} among {n}")
        require_size(signs.shape[0], one.contacts.count, "signs of contacts")
        require_free(not one.enter_plainly())
        for c in range(one.ntouch):
            if not settled_pushed(one, c):
                continue
            told, number = one.contact.told + TOLD * c, number_of(&one.contact, c)
            for frame in range(frames):
                sign = signs[number, frame]
                if sign != 0.0:
                    touching[row, frame] = True
                    impulses[row, frame, 0] += sign * told[0]
                    impulses[row, frame, 1] += sign * told[1]
                    impulses[row, frame, 2] += sign * told[2]
        one.leave_plainly()


cdef int require_free(bint taken) except -1:
    if taken:
        raise VitreeError(AT_WORK)
    return 0
