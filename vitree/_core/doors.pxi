# The doors from Python: check nothing but sizes (Blocks does), release the GIL, run the kernels over blocks of
# VT_WIDTH rows. Arrays have one row an instance; a short last block repeats its last row.
#
# Kernels of one signature (runs.pxi) have a line each. The other doors look alike on purpose: each lists its arrays,
# and calls one kernel.

cdef inline void gather(const double* rows, Py_ssize_t count, Py_ssize_t columns, Py_ssize_t first,
                        vt_real* to) noexcept nogil:
    cdef Py_ssize_t i, lane, row
    if first + VT_WIDTH <= count:
        vt_gather(rows + first * columns, columns, to, columns)
        return
    for lane in range(VT_WIDTH):
        row = min(first + lane, count - 1)
        for i in range(columns):
            vt_put(&to[i], lane, rows[row * columns + i])


cdef inline void scatter(const vt_real* block, Py_ssize_t count, Py_ssize_t columns, Py_ssize_t first,
                         double* rows) noexcept nogil:
    cdef Py_ssize_t i, lane
    if first + VT_WIDTH <= count:
        vt_scatter(block, rows + first * columns, columns, columns)
        return
    for lane in range(count - first):
        for i in range(columns):
            rows[(first + lane) * columns + i] = vt_get(block[i], lane)


cdef enum:
    LOOK_BLOCKS = 1024      # blocks between two looks at the keyboard


cdef struct Rows:       # an array of a row each instance, and the lanes of the block at hand
    const double* read
    double* write       # NULL of an input
    Py_ssize_t columns
    vt_real* lanes


@cython.final
cdef class Blocks:
    """The arrays of a door, and its memory: ``reals`` numbers of each lane and ``size`` bytes for the kernels."""

    cdef Scratch scratch
    cdef Rows rows[8]
    cdef int arrays
    cdef Py_ssize_t count

    def __cinit__(self, Py_ssize_t count, Py_ssize_t reals, size_t size=0):
        self.count = count
        self.scratch = Scratch((reals + 16) * sizeof(vt_real) + size)

    cdef vt_real* reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.scratch.take((count + 1) * sizeof(vt_real))

    cdef void* take(self, size_t size) except NULL:
        return self.scratch.take(size + 1)

    cdef vt_real* input(self, const double[:, ::1] a, Py_ssize_t columns) except NULL:
        cdef Rows* rows = self.add(a, columns)
        rows.read = &a[0, 0] if self.count and columns else NULL
        return rows.lanes

    cdef vt_real* output(self, double[:, ::1] a, Py_ssize_t columns) except NULL:
        cdef Rows* rows = self.add(a, columns)
        rows.write = &a[0, 0] if self.count and columns else NULL
        return rows.lanes

    cdef Rows* add(self, const double[:, ::1] a, Py_ssize_t columns) except NULL:
        cdef Rows* rows = &self.rows[self.arrays]
        require_size(a.shape[0], self.count, f"rows of array {self.arrays + 1}")
        require_size(a.shape[1], columns, f"columns of array {self.arrays + 1}")
        rows.read, rows.write, rows.columns, rows.lanes = NULL, NULL, columns, self.reals(columns)
        self.arrays += 1
        return rows

    cdef Py_ssize_t blocks(self) noexcept nogil:
        return (self.count + VT_WIDTH - 1) // VT_WIDTH

    cdef int gather(self, Py_ssize_t block) except -1 nogil:
        # the lanes of a block; now and then the keyboard is looked at
        cdef int k
        if block % LOOK_BLOCKS == LOOK_BLOCKS - 1:
            with gil:
                PyErr_CheckSignals()
        for k in range(self.arrays):
            if self.rows[k].read != NULL:
                gather(self.rows[k].read, self.count, self.rows[k].columns, block * VT_WIDTH, self.rows[k].lanes)
        return 0

    cdef void scatter(self, Py_ssize_t block) noexcept nogil:
        cdef int k
        for k in range(self.arrays):
            if self.rows[k].write != NULL:
                scatter(self.rows[k].lanes, self.count, self.rows[k].columns, block * VT_WIDTH, self.rows[k].write)


cdef int over_rows(CoreModel model, Run run, const double* gravity, const char* shapes, tuple arrays,
                   size_t more=0) except -1:
    # run a kernel over rows. shapes: of the arguments, nq (q) or nv (v), and in capitals of the results, which may also
    # be nv nv (M); more: bytes of memory beyond room_size
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k, block, reals = 0, inputs = 0, outputs = 0
    cdef Py_ssize_t columns[8]
    cdef Job job
    cdef Blocks rows
    cdef char* room
    for k in range(len(arrays)):
        if shapes[k] == c"q" or shapes[k] == c"Q":
            columns[k] = m.nq
        else:
            columns[k] = <Py_ssize_t>m.nv * m.nv if shapes[k] == c"M" else m.nv
        reals += columns[k] + 1
    rows = Blocks(len(arrays[0]), reals, room_size(m) + more)
    memset(&job, 0, sizeof(Job))
    job.gravity = gravity
    for k in range(len(arrays)):
        if shapes[k] == c"q" or shapes[k] == c"v":
            job.x[inputs] = rows.input(arrays[k], columns[k])
            inputs += 1
        else:
            job.out[outputs] = rows.output(arrays[k], columns[k])
            outputs += 1
    room = <char*>rows.take(room_size(m) + more)
    with nogil:
        for block in range(rows.blocks()):
            rows.gather(block)
            run(m, &job, room)
            rows.scatter(block)
    return 0


def batch_integrate(CoreModel model, q, d, q2):
    over_rows(model, run_integrate, NULL, b"qvQ", (q, d, q2))


def batch_difference(CoreModel model, q, q2, d):
    over_rows(model, run_difference, NULL, b"qqV", (q, q2, d))


def batch_rnea(CoreModel model, const double[::1] gravity, q, v, a, tau):
    over_rows(model, run_rnea, entries(gravity, 3, "numbers of gravity"), b"qvvV", (q, v, a, tau))


def batch_aba(CoreModel model, const double[::1] gravity, q, v, tau, acc):
    over_rows(model, run_aba, entries(gravity, 3, "numbers of gravity"), b"qvvV", (q, v, tau, acc))


def batch_crba(CoreModel model, q, M):
    # M: (n, nv * nv), as all matrices
    over_rows(model, run_crba, NULL, b"qM", (q, M))


def batch_rnea_derivatives(CoreModel model, const double[::1] gravity, q, v, a, by_q, by_v, by_a):
    over_rows(model, run_rnea_derivatives, entries(gravity, 3, "numbers of gravity"), b"qvvMMM",
              (q, v, a, by_q, by_v, by_a), slope_size(&model.m))


def batch_aba_derivatives(CoreModel model, const double[::1] gravity, q, v, tau, by_q, by_v, by_tau):
    over_rows(model, run_aba_derivatives, entries(gravity, 3, "numbers of gravity"), b"qvvMMM",
              (q, v, tau, by_q, by_v, by_tau), slope_size(&model.m))


def batch_inverse_mass(CoreModel model, q, out):
    over_rows(model, run_inverse_mass, NULL, b"qM", (q, out), slope_size(&model.m))


def batch_pivots(CoreModel model, const double[:, ::1] q, double[:, ::1] out):
    # out: (n, 2 nv)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k
    cdef Blocks rows = Blocks(q.shape[0], m.nq + 3 * m.nv, m.nbody * (sizeof(AbaBody) + sizeof(Articulated)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bo = rows.output(out, 2 * m.nv)
    cdef vt_real* none = rows.reals(m.nv)
    cdef AbaBody* body = <AbaBody*>rows.take(m.nbody * sizeof(AbaBody))
    cdef Articulated* terms = <Articulated*>rows.take(m.nbody * sizeof(Articulated))
    with nogil:
        for k in range(m.nv):
            none[k] = vt_set1(0.0)
        for k in range(rows.blocks()):
            rows.gather(k)
            pivots(m, bq, none, bo, body, terms)
            rows.scatter(k)


def batch_energy(CoreModel model, const double[:, ::1] q, const double[:, ::1] v, double[:, ::1] out):
    # out: (n, 11): kinetic, potential, momentum (6), centre of mass (3)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k
    cdef Blocks rows = Blocks(q.shape[0], m.nq + m.nv + 11, m.nbody * (sizeof(Pose) + sizeof(VelocityBody)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bv = rows.input(v, m.nv)
    cdef vt_real* bo = rows.output(out, 11)
    cdef Pose* pose = <Pose*>rows.take(m.nbody * sizeof(Pose))
    cdef VelocityBody* body = <VelocityBody*>rows.take(m.nbody * sizeof(VelocityBody))
    with nogil:
        for k in range(rows.blocks()):
            rows.gather(k)
            energy(m, bq, bv, bo, pose, body)
            rows.scatter(k)


def batch_poses(CoreModel model, const double[:, ::1] q, double[:, ::1] out):
    # out: (n, 12 nbody): rows of the upper 3x4 of each body's X_WB
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k
    cdef int i
    cdef Blocks rows = Blocks(q.shape[0], m.nq + 12 * m.nbody, m.nbody * sizeof(Pose))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bo = rows.output(out, 12 * m.nbody)
    cdef vt_real* X
    cdef Pose* pose = <Pose*>rows.take(m.nbody * sizeof(Pose))
    with nogil:
        for k in range(rows.blocks()):
            rows.gather(k)
            forward_kinematics(m, bq, pose)
            for i in range(m.nbody):
                X = &bo[12 * i]
                put_matrix(pose[i].R, X, 4)
                X[3], X[7], X[11] = pose[i].o.x, pose[i].o.y, pose[i].o.z
            rows.scatter(k)


def batch_jacobian(CoreModel model, const double[:, ::1] q, int body, const double[::1] point,
                   double[:, ::1] J):
    # J: (n, 6 nv)
    cdef const vt_model* m = &model.m
    cdef const double* at = entries(point, 3, "coordinates of a point")
    cdef Py_ssize_t k
    cdef Blocks rows = Blocks(q.shape[0], m.nq + 6 * m.nv, m.nbody * sizeof(Pose))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bj = rows.output(J, 6 * m.nv)
    cdef Pose* pose = <Pose*>rows.take(m.nbody * sizeof(Pose))
    if not -1 <= body < m.nbody:
        raise ValueError(f"no body {body}; there are {m.nbody}")
    with nogil:
        for k in range(rows.blocks()):
            rows.gather(k)
            jacobian(m, bq, body, at, bj, pose)
            rows.scatter(k)


def batch_constraints(CoreModel model, ConstraintList list, const double[:, ::1] q, double[:, ::1] h,
                      double[:, ::1] Dh):
    # h: (n, count), Dh: (n, count * nv)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k
    cdef int j, count = list.count
    cdef Blocks rows = Blocks(q.shape[0], m.nq + count * (m.nv + 1), m.nbody * sizeof(Pose))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bh = rows.output(h, count)
    cdef vt_real* bd = rows.output(Dh, count * m.nv)
    cdef Pose* pose = <Pose*>rows.take(m.nbody * sizeof(Pose))
    with nogil:
        for k in range(rows.blocks()):
            rows.gather(k)
            for j in range(count * m.nv):
                bd[j] = vt_set1(0.0)
            constraints(m, list.list, count, bq, pose, bh, bd, NULL, NULL)
            rows.scatter(k)


def batch_constraint_slopes(CoreModel model, ConstraintList list, const double[:, ::1] q, const double[:, ::1] lam,
                            double[:, ::1] out):
    # the derivative of Dh^T lam by body displacements. lam: (n, count), out: (n, nv * nv)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k
    cdef int count = list.count
    cdef Blocks rows = Blocks(q.shape[0], m.nq + count + m.nv * m.nv, m.nbody * sizeof(Pose) + 2 * m.nv * sizeof(Swept))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bl = rows.input(lam, count)
    cdef vt_real* bo = rows.output(out, m.nv * m.nv)
    cdef Pose* pose = <Pose*>rows.take(m.nbody * sizeof(Pose))
    cdef Swept* swept = <Swept*>rows.take(2 * m.nv * sizeof(Swept))
    with nogil:
        for k in range(rows.blocks()):
            rows.gather(k)
            constraint_slopes(m, list.list, count, bq, pose, bl, swept, bo)
            rows.scatter(k)


def batch_linear_time(CoreModel model, double h, const double[:, ::1] q, const double[:, ::1] p,
                      const double[:, ::1] y, const double[:, ::1] force, double[:, ::1] out, int split=TWIST):
    # The pieces of a step, for tests and study: the residual for increments y, the exact direction
    # from there, and the momentum at the end if y is accepted. out: (n, 3 nv).
    # force: joint forces (n, nv), constant over the step
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int k, nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0], 2 * m.nq + 7 * nv, m.nmulti * sizeof(MultiGains)
                              + m.nbody * (sizeof(Node) + sizeof(Trial) + sizeof(Solve) + sizeof(Gains)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bp = rows.input(p, nv)
    cdef vt_real* by = rows.input(y, nv)
    cdef vt_real* bf = rows.input(force, nv)
    cdef vt_real* bo = rows.output(out, 3 * nv)
    cdef vt_real* q2 = rows.reals(m.nq)
    cdef vt_real* weight = rows.reals(nv)
    cdef vt_real least
    cdef Node* node = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef LinearTimeStep step
    cdef Signs signs
    step.m, step.h, step.node, step.increment = m, h, node, by
    step.trial = <Trial*>rows.take(m.nbody * sizeof(Trial))
    step.solve = <Solve*>rows.take(m.nbody * sizeof(Solve))
    step.gains = <Gains*>rows.take(m.nbody * sizeof(Gains))
    step.multi = <MultiGains*>rows.take(m.nmulti * sizeof(MultiGains))
    step.split, step.slope = split, NULL
    with nogil:
        for block in range(rows.blocks()):
            rows.gather(block)
            lt_node(m, bq, split, node)
            lt_weight(m, node, NULL, step.solve, weight)
            for k in range(nv):
                bp[k] = bp[k] + 0.5 * h * (weight[k] + bf[k])
            lt_trial(&step, &least)
            lt_residual(&step, bp, bo)
            signs_begin(&signs)
            lt_factor(&step, 0, m.nbody, &signs)
            lt_solve(&step, bo, 0, m.nbody, bo + nv)
            lt_advance_q(m, bq, by, q2)
            lt_node(m, q2, split, node)
            lt_weight(m, node, NULL, step.solve, weight)
            for k in range(nv):
                weight[k] = weight[k] + bf[k]
            lt_end(&step, node, bo, weight, bo + 2 * nv)
            rows.scatter(block)


cdef int require_signals(const vt_drive* drive, int count, Py_ssize_t found, Py_ssize_t needed) except -1:
    # u has so many inputs, and the drives take no others
    cdef int k
    require_size(found, needed, "columns of u")
    for k in range(count):
        if drive[k].target >= needed or drive[k].rate >= needed:
            raise ValueError(f"drives take more inputs than {needed}; more columns of u are needed")
    return 0


def batch_linear_time_slopes(CoreModel model, rule, DriveList drives, const double[:, ::1] q, const double[:, ::1] q2,
                             const double[:, ::1] u, double[:, ::1] out, double[:, ::1] servo, double[:, ::1] ends,
                             int form):
    # K11, K12, K21, K22 of steps from q to q2: out (n, 4 nv nv); in form 1, A of (d2, dp2) = A (d1, dp1) that they make,
    # and in form 2 the same four with K12 factored,
    # where no load couples bodies that are on no path to the root. rule: (h, split, nu). u: (n, nu) inputs, the targets of
    # drives among them. servo: (n, 3 nv) what the drives' forces change by: by position, by rate; 1 within limits.
    # ends: (n, 2 nv) the momenta at both nodes without drives and torque
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0], 2 * m.nq + u.shape[1] + nv * (8 * nv + 8), m.nmulti * sizeof(MultiGains)
                              + nv * (sizeof(NodeColumn) + sizeof(int))
                              + m.nbody * (2 * sizeof(Node) + sizeof(Trial) + sizeof(Solve) + sizeof(Weighed)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bq2 = rows.input(q2, m.nq)
    cdef vt_real* bu = rows.input(u, u.shape[1])
    cdef vt_real* bo = rows.output(out, 4 * nv * nv)
    cdef vt_real* bs = rows.output(servo, 3 * nv)
    cdef vt_real* be = rows.output(ends, 2 * nv)
    cdef vt_real* y = rows.reals(nv)
    cdef vt_real* none = rows.reals(nv)
    cdef vt_real* weight = rows.reals(nv)
    cdef vt_real* space = rows.reals(4 * nv * nv) if form == 1 else bo
    cdef int* before = <int*>rows.take(nv * sizeof(int))
    cdef Node* node = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef Node* node2 = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef NodeColumn* column = <NodeColumn*>rows.take(nv * sizeof(NodeColumn))
    cdef Weighed* subtree = <Weighed*>rows.take(m.nbody * sizeof(Weighed))
    cdef vt_real least
    cdef int k
    cdef LinearTimeStep step
    cdef NodeSlopes K
    cdef DriveSlopes slopes
    step.m, step.node, step.increment, step.slope = m, node, y, NULL
    step.h, step.split = rule[:2]
    require_signals(drives.list, drives.count, u.shape[1], rule[2])
    step.trial = <Trial*>rows.take(m.nbody * sizeof(Trial))
    step.solve = <Solve*>rows.take(m.nbody * sizeof(Solve))
    slopes.position, slopes.rate, slopes.free = bs, bs + nv, bs + 2 * nv
    with nogil:
        coordinates_before(m, before)
        for k in range(nv):
            none[k] = vt_set1(0.0)
        for block in range(rows.blocks()):
            rows.gather(block)
            lt_increment(m, bq, bq2, y)
            lt_node(m, bq, step.split, node)
            lt_node(m, bq2, step.split, node2)
            lt_trial(&step, &least)
            lt_weight(m, node, NULL, step.solve, weight)
            for k in range(nv):
                weight[k] = 0.5 * step.h * weight[k]
            lt_residual(&step, weight, be)
            lt_weight(m, node2, NULL, step.solve, weight)
            lt_end(&step, node2, none, weight, be + nv)
            drive_slopes(drives.list, drives.count, nv, bq, y, 0.5, step.h, bu, &slopes)
            K = node_slopes(space, nv)
            lt_node_slopes(&step, node2, &slopes if drives.count else NULL, column, subtree, &K)
            if form == 1:
                linear_map(m, before, &K, bo)
            elif form == 2:
                path_factor(m, before, K.K12)
            rows.scatter(block)


cdef MidTrees* mid_trees_of(MidTrees* x, Blocks rows, const vt_model* m, bint relative) except? NULL:
    # what the kernels keep of the trees that float, or NULL
    if not relative:
        return NULL
    x.direct = True
    mid_trees_place(x, rows.take(mid_trees_size(m)), m)
    return x


def batch_midpoint_slopes(CoreModel model, rule, DriveList drives, const double[:, ::1] q, const double[:, ::1] q2,
                          const double[:, ::1] u, const double[:, ::1] p, double[:, ::1] out, double[:, ::1] servo,
                          double[:, ::1] ends, double[:, ::1] maps, int form):
    # The same of the midpoint integrator, rule: (h, alpha, nu, relative). p: (n, nv) momenta at q. maps: (n, 2 nv nv) what a force on
    # the joints adds to -p1 and to p2
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int i, k, nv = m.nv, size = m.nv * m.nv
    cdef Blocks rows = Blocks(q.shape[0], 3 * m.nq + u.shape[1] + nv * (16 * nv + 13), mid_trees_size(m) + m.nmulti * (sizeof(MidMaps) + sizeof(MidMulti))
                              + nv * (sizeof(MidColumn) + sizeof(TreeColumn) + sizeof(int))
                              + m.nbody * (sizeof(MidBody) + sizeof(MidInertia)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bq2 = rows.input(q2, m.nq)
    cdef vt_real* bu = rows.input(u, u.shape[1])
    cdef vt_real* bp = rows.input(p, nv)
    cdef vt_real* bo = rows.output(out, 4 * size)
    cdef vt_real* bs = rows.output(servo, 3 * nv)
    cdef vt_real* be = rows.output(ends, 2 * nv)
    cdef vt_real* bm = rows.output(maps, 2 * size)
    cdef vt_real* qm = rows.reals(m.nq)
    cdef vt_real* y = rows.reals(nv)
    cdef vt_real* none = rows.reals(nv)
    cdef vt_real* space = rows.reals(6 * size)
    cdef vt_real* blocks = rows.reals(4 * size) if form == 1 else bo
    cdef int* before = <int*>rows.take(nv * sizeof(int))
    cdef MidColumn* column = <MidColumn*>rows.take(nv * sizeof(MidColumn))
    cdef MidInertia* subtree = <MidInertia*>rows.take(m.nbody * sizeof(MidInertia))
    cdef MidMaps* own = <MidMaps*>rows.take(m.nmulti * sizeof(MidMaps))
    cdef vt_real* rest = rows.reals(nv)
    cdef TreeColumn* motion = <TreeColumn*>rows.take(nv * sizeof(TreeColumn))
    cdef MidStep step
    cdef MidTrees trees
    cdef MidSlopes L
    cdef NodeSlopes K
    cdef DriveSlopes slopes
    step.m, step.increment, step.slope = m, y, NULL
    step.h, step.alpha = rule[:2]
    step.trees = mid_trees_of(&trees, rows, m, len(rule) > 3 and rule[3])
    require_signals(drives.list, drives.count, u.shape[1], rule[2])
    step.L_rate, step.L_q = rows.reals(nv), rows.reals(nv)
    step.body = <MidBody*>rows.take(m.nbody * sizeof(MidBody))
    step.multi = <MidMulti*>rows.take(m.nmulti * sizeof(MidMulti))
    L.qq, L.qv, L.vq, L.vv = space, space + size, space + 2 * size, space + 3 * size
    L.spare_q, L.spare_v = space + 4 * size, space + 5 * size
    slopes.position, slopes.rate, slopes.free = bs, bs + nv, bs + 2 * nv
    with nogil:
        coordinates_before(m, before)
        for k in range(nv):
            none[k] = vt_set1(0.0)
        for block in range(rows.blocks()):
            rows.gather(block)
            difference(m, bq, bq2, y)
            if step.trees != NULL:
                mid_node(m, bq, step.trees)
            mid_forward(&step, bq, qm)
            mid_backward(&step, NULL)
            mid_residual(&step, none, none, be)
            mid_end(&step, none, none, be + nv)
            drive_slopes(drives.list, drives.count, nv, bq, y, step.alpha, step.h, bu, &slopes)
            mid_lagrangian_slopes(&step, &slopes if drives.count else NULL, column, subtree, &L)
            memcpy(rest, bp, nv * sizeof(vt_real))
            if step.trees != NULL:
                for k in range(nv):
                    none[k] = -rest[k]
                mid_add_nodes(m, step.h, step.trees, none)
                for k in range(nv):
                    rest[k] = -none[k]
                    none[k] = vt_set1(0.0)
                mid_tree_columns(&step, column, motion, &L)
            for i in range(m.nbody):
                if joint_multi(&m.body[i]):
                    mid_maps_of(&step, i, rest, &own[m.body[i].multi])
            K = node_slopes(blocks, nv)
            mid_node_slopes(&step, own, &L, &K)
            if step.trees != NULL:
                mid_tree_slopes(&step, motion, &K)
            if form == 1:
                linear_map(m, before, &K, bo)
            elif form == 2:
                path_factor(m, before, K.K12)
            mid_force_maps(&step, own, bm, bm + size)
            rows.scatter(block)


def batch_linear_time_masses(CoreModel model, rule, const double[:, ::1] q, const double[:, ::1] q2,
                             const double[:, ::1] d1, const double[:, ::1] d2, double[:, ::1] out):
    # out: (n, WEIGHED nbody + 3), what D1 Ld . d1 + D2 Ld . d2 of steps from q to q2 is by masses, COM, inertias and
    # gravity. rule: (h, split)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0], 2 * m.nq + 3 * nv + WEIGHED * m.nbody + 3,
                              m.nbody * (2 * sizeof(Node) + sizeof(Trial) + sizeof(Displaced)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bq2 = rows.input(q2, m.nq)
    cdef vt_real* b1 = rows.input(d1, nv)
    cdef vt_real* b2 = rows.input(d2, nv)
    cdef vt_real* bo = rows.output(out, WEIGHED * m.nbody + 3)
    cdef vt_real* y = rows.reals(nv)
    cdef Node* node = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef Node* node2 = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef Displaced* x = <Displaced*>rows.take(m.nbody * sizeof(Displaced))
    cdef vt_real least
    cdef LinearTimeStep step
    step.m, step.node, step.increment, step.slope = m, node, y, NULL
    step.h, step.split = rule
    step.trial = <Trial*>rows.take(m.nbody * sizeof(Trial))
    with nogil:
        for block in range(rows.blocks()):
            rows.gather(block)
            lt_increment(m, bq, bq2, y)
            lt_node(m, bq, step.split, node)
            lt_node(m, bq2, step.split, node2)
            lt_trial(&step, &least)
            lt_mass_slopes(&step, node2, b1, b2, x, bo, bo + WEIGHED * m.nbody)
            rows.scatter(block)


def batch_midpoint_masses(CoreModel model, rule, const double[:, ::1] q, const double[:, ::1] y, const double[:, ::1] eta,
                          const double[:, ::1] change, double[:, ::1] out, const double[:, ::1] d1=None,
                          const double[:, ::1] d2=None):
    # The same of the midpoint integrator, for increments y, displacements eta of q_m and changes of y; where it is relative
    # also those at the nodes. rule: (h, alpha, relative)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0], 2 * m.nq + 5 * nv + WEIGHED * m.nbody + 3,
                              mid_trees_size(m) + m.nbody * (sizeof(MidBody) + sizeof(Displaced) + sizeof(Vec3)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* by = rows.input(y, nv)
    cdef vt_real* be = rows.input(eta, nv)
    cdef vt_real* bc = rows.input(change, nv)
    cdef vt_real* b1 = NULL if d1 is None else rows.input(d1, nv)
    cdef vt_real* b2 = NULL if d2 is None else rows.input(d2, nv)
    cdef vt_real* bo = rows.output(out, WEIGHED * m.nbody + 3)
    cdef Vec3* move = <Vec3*>rows.take(m.nbody * sizeof(Vec3))
    cdef vt_real* qm = rows.reals(m.nq)
    cdef Displaced* x = <Displaced*>rows.take(m.nbody * sizeof(Displaced))
    cdef MidStep step
    cdef MidTrees trees
    step.m, step.increment, step.slope = m, by, NULL
    step.h, step.alpha = rule[:2]
    step.trees = mid_trees_of(&trees, rows, m, len(rule) > 2 and rule[2])
    step.body = <MidBody*>rows.take(m.nbody * sizeof(MidBody))
    with nogil:
        for block in range(rows.blocks()):
            rows.gather(block)
            if step.trees != NULL:
                mid_node(m, bq, step.trees)
            mid_forward(&step, bq, qm)
            mid_mass_slopes(&step, be, bc, x, bo, bo + WEIGHED * m.nbody)
            if step.trees != NULL and b1 != NULL and b2 != NULL:
                mid_tree_masses(&step, b1, b2, x, move, bo, bo + WEIGHED * m.nbody)
            rows.scatter(block)


def batch_midpoint(CoreModel model, rule, const double[:, ::1] q, const double[:, ::1] p, const double[:, ::1] y,
                   const double[:, ::1] force, double[:, ::1] out, const double[:, ::1] wrench=None):
    # The same for the midpoint integrator. rule: (h, alpha, relative). wrench: of each body at q_m, about its origin and turning
    # with it, as (torque, force) in world axes, (n, 6 nbody)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int nv = m.nv, nw = 0 if wrench is None else 6 * m.nbody
    cdef Blocks rows = Blocks(q.shape[0], 2 * m.nq + 8 * nv + nw, mid_trees_size(m) + m.nmulti * sizeof(MidMulti)
                              + m.nbody * (sizeof(MidBody) + sizeof(MidBlock) + sizeof(MidSolve)))
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bp = rows.input(p, nv)
    cdef vt_real* by = rows.input(y, nv)
    cdef vt_real* bf = rows.input(force, nv)
    cdef vt_real* bw = rows.input(wrench, nw) if nw else NULL
    cdef vt_real* bo = rows.output(out, 3 * nv)
    cdef vt_real* qm = rows.reals(m.nq)
    cdef MidStep step
    cdef MidTrees trees
    cdef Signs signs
    step.m, step.increment, step.slope = m, by, NULL
    step.h, step.alpha = rule[:2]
    step.trees = mid_trees_of(&trees, rows, m, len(rule) > 2 and rule[2])
    step.L_rate, step.L_q = rows.reals(nv), rows.reals(nv)
    step.body = <MidBody*>rows.take(m.nbody * sizeof(MidBody))
    step.block = <MidBlock*>rows.take(m.nbody * sizeof(MidBlock))
    step.work = <MidSolve*>rows.take(m.nbody * sizeof(MidSolve))
    step.multi = <MidMulti*>rows.take(m.nmulti * sizeof(MidMulti))
    with nogil:
        for block in range(rows.blocks()):
            rows.gather(block)
            if step.trees != NULL:
                mid_node(m, bq, step.trees)
            mid_forward(&step, bq, qm)
            mid_backward(&step, bw)
            mid_residual(&step, bp, bf, bo)
            signs_begin(&signs)
            mid_factor(&step, 0, m.nbody, NULL, NULL, True, &signs)
            mid_solve(&step, bo, 0, m.nbody, bo + nv)
            mid_end(&step, bo, bf, bo + 2 * nv)
            rows.scatter(block)


def batch_elementary(const double[:, ::1] x, double[:, ::1] out):
    # out: (n, 2): sine and cosine, for the tests of the polynomials
    cdef Py_ssize_t k
    cdef Blocks rows = Blocks(x.shape[0], 3)
    cdef vt_real* bx = rows.input(x, 1)
    cdef vt_real* bo = rows.output(out, 2)
    for k in range(rows.blocks()):
        rows.gather(k)
        vt_sincos(bx[0], &bo[0], &bo[1])
        rows.scatter(k)


WIDTH = VT_WIDTH
