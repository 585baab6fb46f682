# The doors from Python: check nothing but sizes, release the GIL, run the kernels over blocks of
# VT_WIDTH rows. Arrays have one row an instance; a short last block repeats its last row.

cdef inline void gather(const double* rows, Py_ssize_t count, Py_ssize_t columns, Py_ssize_t first,
                        vt_real* to) noexcept nogil:
    cdef Py_ssize_t i, lane, row
    for lane in range(VT_WIDTH):
        row = min(first + lane, count - 1)
        for i in range(columns):
            vt_put(&to[i], lane, rows[row * columns + i])


cdef inline void scatter(const vt_real* block, Py_ssize_t count, Py_ssize_t columns, Py_ssize_t first,
                         double* rows) noexcept nogil:
    cdef Py_ssize_t i, lane
    for lane in range(min(VT_WIDTH, count - first)):
        for i in range(columns):
            rows[(first + lane) * columns + i] = vt_get(block[i], lane)


cdef inline Py_ssize_t blocks(Py_ssize_t n) noexcept nogil:
    return (n + VT_WIDTH - 1) // VT_WIDTH


cdef inline const double* start(const double[:, ::1] a) noexcept nogil:
    return &a[0, 0] if a.shape[0] > 0 and a.shape[1] > 0 else NULL


cdef inline double* start_out(double[:, ::1] a) noexcept nogil:
    return &a[0, 0] if a.shape[0] > 0 and a.shape[1] > 0 else NULL


cdef vt_real* reals(Scratch scratch, Py_ssize_t count) except NULL:
    return <vt_real*>scratch.take((count + 1) * sizeof(vt_real))


def check_rows(*arrays):
    """Raise unless all arrays have the same number of rows."""
    counts = {a.shape[0] for a in arrays}
    if len(counts) > 1:
        raise ValueError(f"arrays with different numbers of rows: {sorted(counts)}")


def batch_integrate(CoreModel model, const double[:, ::1] q, const double[:, ::1] d, double[:, ::1] q2):
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((2 * m.nq + m.nv + 3) * sizeof(vt_real))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bd = reals(scratch, m.nv)
    cdef vt_real* bo = reals(scratch, m.nq)
    check_rows(q, d, q2)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(d), n, m.nv, row, bd)
            integrate(m, bq, bd, bo)
            scatter(bo, n, m.nq, row, start_out(q2))


def batch_difference(CoreModel model, const double[:, ::1] q, const double[:, ::1] q2, double[:, ::1] d):
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((2 * m.nq + m.nv + 3) * sizeof(vt_real))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* b2 = reals(scratch, m.nq)
    cdef vt_real* bd = reals(scratch, m.nv)
    check_rows(q, d, q2)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(q2), n, m.nq, row, b2)
            difference(m, bq, b2, bd)
            scatter(bd, n, m.nv, row, start_out(d))


def batch_rnea(CoreModel model, const double[::1] gravity, const double[:, ::1] q,
               const double[:, ::1] v, const double[:, ::1] a, double[:, ::1] tau):
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((m.nq + 3 * m.nv + 4) * sizeof(vt_real) + m.nbody * sizeof(RneaBody))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bv = reals(scratch, m.nv)
    cdef vt_real* ba = reals(scratch, m.nv)
    cdef vt_real* bt = reals(scratch, m.nv)
    cdef RneaBody* x = <RneaBody*>scratch.take(m.nbody * sizeof(RneaBody))
    check_rows(q, v, a, tau)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(v), n, m.nv, row, bv)
            gather(start(a), n, m.nv, row, ba)
            rnea(m, &gravity[0], bq, bv, ba, bt, x)
            scatter(bt, n, m.nv, row, start_out(tau))


def batch_aba(CoreModel model, const double[::1] gravity, const double[:, ::1] q,
              const double[:, ::1] v, const double[:, ::1] tau, double[:, ::1] acc):
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((m.nq + 3 * m.nv + 4) * sizeof(vt_real) + m.nbody * sizeof(AbaBody))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bv = reals(scratch, m.nv)
    cdef vt_real* bt = reals(scratch, m.nv)
    cdef vt_real* ba = reals(scratch, m.nv)
    cdef AbaBody* x = <AbaBody*>scratch.take(m.nbody * sizeof(AbaBody))
    check_rows(q, v, tau, acc)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(v), n, m.nv, row, bv)
            gather(start(tau), n, m.nv, row, bt)
            aba(m, &gravity[0], bq, bv, bt, NULL, ba, x)
            scatter(ba, n, m.nv, row, start_out(acc))


def batch_crba(CoreModel model, const double[:, ::1] q, double[:, ::1] M):
    # M: (n, nv * nv)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((m.nq + m.nv * m.nv + 2) * sizeof(vt_real)
                                   + m.nbody * (sizeof(CrbaBody) + sizeof(Pose)))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bm = reals(scratch, m.nv * m.nv)
    cdef CrbaBody* x = <CrbaBody*>scratch.take(m.nbody * sizeof(CrbaBody))
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    check_rows(q, M)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            crba(m, bq, bm, x, pose)
            scatter(bm, n, m.nv * m.nv, row, start_out(M))


def batch_energy(CoreModel model, const double[:, ::1] q, const double[:, ::1] v, double[:, ::1] out):
    # out: (n, 11): kinetic, potential, momentum (6), centre of mass (3)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((m.nq + m.nv + 14) * sizeof(vt_real)
                                   + m.nbody * (sizeof(Pose) + sizeof(VelocityBody)))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bv = reals(scratch, m.nv)
    cdef vt_real* bo = reals(scratch, 11)
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    cdef VelocityBody* x = <VelocityBody*>scratch.take(m.nbody * sizeof(VelocityBody))
    check_rows(q, v, out)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(v), n, m.nv, row, bv)
            energy(m, bq, bv, bo, pose, x)
            scatter(bo, n, 11, row, start_out(out))


def batch_poses(CoreModel model, const double[:, ::1] q, double[:, ::1] out):
    # out: (n, 12 nbody): rows of the upper 3x4 of each body's X_WB
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef int i
    cdef Scratch scratch = Scratch((m.nq + 12 * m.nbody + 2) * sizeof(vt_real) + m.nbody * sizeof(Pose))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bo = reals(scratch, 12 * m.nbody)
    cdef vt_real* o
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    check_rows(q, out)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            forward_kinematics(m, bq, pose)
            for i in range(m.nbody):
                o = &bo[12 * i]
                o[0], o[1], o[2], o[3] = pose[i].R.x.x, pose[i].R.y.x, pose[i].R.z.x, pose[i].o.x
                o[4], o[5], o[6], o[7] = pose[i].R.x.y, pose[i].R.y.y, pose[i].R.z.y, pose[i].o.y
                o[8], o[9], o[10], o[11] = pose[i].R.x.z, pose[i].R.y.z, pose[i].R.z.z, pose[i].o.z
            scatter(bo, n, 12 * m.nbody, row, start_out(out))


def batch_jacobian(CoreModel model, const double[:, ::1] q, int body, const double[::1] point,
                   bint local, double[:, ::1] J):
    # J: (n, 6 nv)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef Scratch scratch = Scratch((m.nq + 6 * m.nv + 2) * sizeof(vt_real) + m.nbody * sizeof(Pose))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bj = reals(scratch, 6 * m.nv)
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    check_rows(q, J)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            jacobian(m, bq, body, &point[0], local, bj, pose)
            scatter(bj, n, 6 * m.nv, row, start_out(J))


def batch_constraints(CoreModel model, ConstraintList list, const double[:, ::1] q, double[:, ::1] h,
                      double[:, ::1] Dh):
    # h: (n, count), Dh: (n, count * nv)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef int count = list.count
    cdef const vt_constraint* all = list.list
    cdef Scratch scratch = Scratch((m.nq + count * (m.nv + 1) + 3) * sizeof(vt_real) + m.nbody * sizeof(Pose))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bh = reals(scratch, count)
    cdef vt_real* bd = reals(scratch, count * m.nv)
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    check_rows(q, h, Dh)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            constraints(m, all, count, bq, pose, bh, bd)
            scatter(bh, n, count, row, start_out(h))
            scatter(bd, n, count * m.nv, row, start_out(Dh))


def batch_linear_time(CoreModel model, double h, const double[:, ::1] q, const double[:, ::1] p,
                      const double[:, ::1] y, const double[:, ::1] force, double[:, ::1] out):
    # The pieces of a step, for tests and study: the residual for increments y, the exact direction
    # from there, and the momentum at the end if y is accepted. out: (n, 3 nv).
    # force: joint forces (n, nv), constant over the step
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef int k, nv = m.nv
    cdef Scratch scratch = Scratch((2 * m.nq + 8 * nv + 12) * sizeof(vt_real) + m.nmulti * sizeof(MultiGains)
                                   + m.nbody * (sizeof(Node) + sizeof(Trial) + sizeof(Solve) + sizeof(Gains)))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* b2 = reals(scratch, m.nq)
    cdef vt_real* bp = reals(scratch, nv)
    cdef vt_real* by = reals(scratch, nv)
    cdef vt_real* bf = reals(scratch, nv)
    cdef vt_real* weight = reals(scratch, nv)
    cdef vt_real* bo = reals(scratch, 3 * nv)
    cdef vt_real least
    cdef Node* x = <Node*>scratch.take(m.nbody * sizeof(Node))
    cdef Trial* z = <Trial*>scratch.take(m.nbody * sizeof(Trial))
    cdef Solve* s = <Solve*>scratch.take(m.nbody * sizeof(Solve))
    cdef Gains* g = <Gains*>scratch.take(m.nbody * sizeof(Gains))
    cdef MultiGains* G = <MultiGains*>scratch.take(m.nmulti * sizeof(MultiGains) + 1)
    cdef LinearTimeStep step
    step.m, step.h, step.node, step.increment = m, h, x, by
    step.trial, step.solve, step.gains, step.multi = z, s, g, G
    check_rows(q, p, y, force, out)
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(p), n, nv, row, bp)
            gather(start(y), n, nv, row, by)
            gather(start(force), n, nv, row, bf)
            lt_node(m, bq, x)
            lt_weight(m, x, NULL, s, weight)
            for k in range(nv):
                bp[k] = bp[k] + 0.5 * h * (weight[k] + bf[k])
            lt_trial(&step, &least)
            lt_residual(&step, bp, bo)
            lt_factor(&step)
            lt_solve(&step, bo, bo + nv)
            lt_advance_q(m, bq, by, b2)
            lt_node(m, b2, x)
            lt_weight(m, x, NULL, s, weight)
            for k in range(nv):
                weight[k] = weight[k] + bf[k]
            lt_end(&step, x, bo, weight, bo + 2 * nv)
            scatter(bo, n, 3 * nv, row, start_out(out))


def batch_midpoint(CoreModel model, double h, double alpha, const double[:, ::1] q, const double[:, ::1] p,
                   const double[:, ::1] y, const double[:, ::1] force, double[:, ::1] out,
                   const double[:, ::1] wrench=None):
    # The same for the midpoint integrator. wrench: of each body at q_m, about its origin and turning with it,
    # as (torque, force) in world axes, (n, 6 nbody)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t n = q.shape[0], row, block
    cdef int nv = m.nv, nw = 0 if wrench is None else 6 * m.nbody
    cdef Scratch scratch = Scratch((2 * m.nq + 8 * nv + nw + 11) * sizeof(vt_real) + m.nmulti * sizeof(MidBig)
                                   + m.nbody * (sizeof(MidBody) + sizeof(MidSolve)))
    cdef vt_real* bq = reals(scratch, m.nq)
    cdef vt_real* bp = reals(scratch, nv)
    cdef vt_real* by = reals(scratch, nv)
    cdef vt_real* bf = reals(scratch, nv)
    cdef vt_real* rate = reals(scratch, nv)
    cdef vt_real* slope = reals(scratch, nv)
    cdef vt_real* qm = reals(scratch, m.nq)
    cdef vt_real* bw = reals(scratch, nw)
    cdef vt_real* bo = reals(scratch, 3 * nv)
    cdef MidBody* x = <MidBody*>scratch.take(m.nbody * sizeof(MidBody))
    cdef MidSolve* s = <MidSolve*>scratch.take(m.nbody * sizeof(MidSolve))
    cdef MidBig* g = <MidBig*>scratch.take(m.nmulti * sizeof(MidBig) + 1)
    check_rows(q, p, y, force, out, *(() if wrench is None else (wrench,)))
    with nogil:
        for block in range(blocks(n)):
            row = block * VT_WIDTH
            gather(start(q), n, m.nq, row, bq)
            gather(start(p), n, nv, row, bp)
            gather(start(y), n, nv, row, by)
            gather(start(force), n, nv, row, bf)
            mid_forward(m, h, alpha, bq, by, qm, x)
            if nw:
                gather(start(wrench), n, nw, row, bw)
            mid_backward(m, bw if nw else NULL, x, rate, slope)
            mid_residual(m, h, alpha, by, bp, bf, rate, slope, g, bo)
            mid_factor(m, h, alpha, by, NULL, NULL, x, s, g, True)
            mid_solve(m, x, bo, s, g, bo + nv)
            mid_end(m, h, alpha, by, bo, bf, rate, slope, g, bo + 2 * nv)
            scatter(bo, n, 3 * nv, row, start_out(out))


def batch_elementary(const double[:, ::1] x, double[:, ::1] out):
    # out: (n, 2): sine and cosine, for the tests of the polynomials
    cdef Py_ssize_t n = x.shape[0], row, block
    cdef vt_real bx[1]
    cdef vt_real bo[2]
    for block in range(blocks(n)):
        row = block * VT_WIDTH
        gather(start(x), n, 1, row, bx)
        vt_sincos(bx[0], &bo[0], &bo[1])
        scatter(bo, n, 2, row, start_out(out))


WIDTH = VT_WIDTH
