# The ends of a run of few records, without rows of lanes: the momentum of its start, the velocities of its records. The
# kernels are those of the doors, so the bits are the same.

from libc.math cimport fma

#: Largest deviation of a quaternion's squared norm from 1 without normalisation, in whatever order its four terms are
#: rounded: the norm is then within 4e-16 of 1
cdef double UNIT = 2e-16


cdef bint unit_quaternions(const vt_model* m, const double* q) noexcept nogil:
    # whether all quaternions are so close to unit norm that a configuration is used as it is
    cdef int i, j
    cdef const double* x
    cdef double over, low, square, sum, part
    for i in range(m.nbody):
        if m.body[i].kind == BALL or m.body[i].kind == FREE:
            x = q + m.body[i].iq + (3 if m.body[i].kind == FREE else 0)
            # |x|^2 - 1 as over + low: with the rounding errors of the squares and of their sum
            over, low = -1.0, 0.0
            for j in range(4):
                square = x[j] * x[j]
                sum = over + square
                part = sum - over
                low += fma(x[j], x[j], -square) + ((over - (sum - part)) + (square - part))
                over = sum
            if not -UNIT <= over + low <= UNIT:
                return False
    return True


def start_moving(ModelStepper stepper, double t, q, v, records, bint by_momentum):
    """Start a stepper at (q, v), and write the state to the first row of the records.

    Returns whether it succeeded: q and v must be finite arrays of doubles, quaternions of unit norm to the last bits,
    and the momentum finite.
    """
    cdef const vt_model* m = stepper.shared.m
    cdef Bodies* b = &stepper.lane.bodies
    cdef double[::1] times = records.t
    cdef double[:, ::1] q_rows = records.q, x_rows = records.x
    cdef double* at
    cdef double* x
    require_size(q_rows.shape[1], m.nq, "columns of q")
    require_size(x_rows.shape[1], m.nv, "columns of x")
    if not (m.nv and times.shape[0] and q_rows.shape[0] and x_rows.shape[0]):
        return False
    at, x = &q_rows[0, 0], &x_rows[0, 0]
    if not (take(q, m.nq, at) and take(v, m.nv, x) and unit_quaternions(m, at)):
        return False
    if by_momentum:
        if b.rnea == NULL:
            b.rnea = <RneaBody*>stepper.memory.scratch(m.nbody * sizeof(RneaBody))
        memcpy(stepper.lane.newton.v, x, m.nv * sizeof(double))
        rnea(m, NO_GRAVITY, at, stepper.shared.zeros, stepper.lane.newton.v, x, b.rnea)
        if not all_finite(x, m.nv):
            return False
    times[0] = t
    stepper.place(t, at, x)
    return True


def velocities_of(ModelStepper stepper, const double[:, ::1] q, const double[:, ::1] p, double[:, ::1] v):
    """Write the velocities of rows of momenta to v (n, nv); return the largest |number| of q and v, or NaN.

    With constraints they are those of the stepper, which agree with those of the model to rounding errors. The stepper
    loses its state.
    """
    cdef const vt_model* m = stepper.shared.m
    cdef Py_ssize_t k
    cdef double size = 0.0
    require_size(q.shape[1], m.nq, "columns of q")
    require_size(p.shape[1], m.nv, "columns of p")
    require_size(v.shape[1], m.nv, "columns of v")
    require_size(p.shape[0], q.shape[0], "rows of p")
    require_size(v.shape[0], q.shape[0], "rows of v")
    if m.nv:
        for k in range(q.shape[0]):
            model_velocity(stepper, &q[k, 0], &p[k, 0], &v[k, 0])
            size = vt_max_nan(size, vt_max_nan(largest(&q[k, 0], m.nq), largest(&v[k, 0], m.nv)))
    return size
