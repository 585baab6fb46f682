# The ends of a run of few records, without rows of lanes: the momentum of its start, the velocities of its records.
# The kernels are those of the doors, and so are the bits.

def start_moving(ModelStepper stepper, double t, const double[::1] q, const double[::1] v, double[::1] p):
    """Start a variational stepper at (q, v), and write the momentum to p (nv,); return whether p is finite."""
    cdef const vt_model* m = stepper.shared.m
    cdef Bodies* b = &stepper.lane.bodies
    cdef const double* at = entries(q, m.nq, "entries of q")
    cdef const double* moving = entries(v, m.nv, "entries of v")
    require_size(p.shape[0], m.nv, "entries of p")
    if b.rnea == NULL:
        b.rnea = <RneaBody*>stepper.memory.scratch(m.nbody * sizeof(RneaBody))
    if m.nv:
        rnea(m, NO_GRAVITY, at, stepper.shared.zeros, moving, &p[0], b.rnea)
        if not all_finite(&p[0], m.nv):
            return False
    stepper.place(t, at, &p[0] if m.nv else NULL)
    return True


def velocities_of(ModelStepper stepper, const double[:, ::1] q, const double[:, ::1] p, double[:, ::1] v):
    """Write the velocities of rows of momenta to v (n, nv); return the largest |number| of q and v, or NaN.

    With constraints they are those that the stepper takes, to rounding errors those of the model. The stepper forgets
    its state.
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
            stepper.velocity(&q[k, 0], &p[k, 0], &v[k, 0])
            size = vt_max_nan(size, vt_max_nan(largest(&q[k, 0], m.nq), largest(&v[k, 0], m.nv)))
    return size
