# The doors from Python: check nothing but sizes (Blocks does), release the GIL, run the kernels over blocks of VT_WIDTH
# rows. Arrays have one row per instance; a short last block repeats its last row.
#
# Kernels of one signature (runs.pxi) have a line each of one table. The other doors look alike on purpose: each lists
# its arrays, and calls the kernels of one step.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize


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
    LOOK_BLOCKS = 1024      # blocks between two checks for Ctrl-C


cdef struct Rows:       # an array with a row per instance, and the lanes of the current block
    const double* read
    double* write       # NULL of an input
    Py_ssize_t columns
    vt_real* lanes


cdef enum:
    CHUNK = 1024            # numbers of each lane for which memory is allocated at once
    MOST_ARRAYS = 12        # of a door


@cython.final
cdef class Blocks:
    """The arrays of a door, and its memory: initially of ``size`` bytes, extended as needed."""

    cdef Scratch scratch
    cdef list memory
    cdef Rows rows[MOST_ARRAYS]
    cdef int arrays
    cdef Py_ssize_t count

    def __cinit__(self, Py_ssize_t count, size_t size=CHUNK * sizeof(vt_real)):
        self.count = count
        self.scratch = Scratch(size)

    cdef vt_real* reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.take(count * sizeof(vt_real))

    cdef void* take(self, size_t size) except NULL:
        if size + 64 > <size_t>(self.scratch.end - self.scratch.next):
            self.memory = [self.memory, self.scratch]       # with the same lifetime
            self.scratch = Scratch(max(size, <size_t>(CHUNK * sizeof(vt_real))))
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
        if self.arrays == MOST_ARRAYS:
            raise MemoryError(f"a door has at most {MOST_ARRAYS} arrays")
        require_size(a.shape[0], self.count, f"rows of array {self.arrays + 1}")
        require_size(a.shape[1], columns, f"columns of array {self.arrays + 1}")
        rows.read, rows.write, rows.columns, rows.lanes = NULL, NULL, columns, self.reals(columns)
        self.arrays += 1
        return rows

    cdef Py_ssize_t blocks(self) noexcept nogil:
        return (self.count + VT_WIDTH - 1) // VT_WIDTH

    cdef int gather(self, Py_ssize_t block) except -1 nogil:
        # the lanes of a block; checks for Ctrl-C at times
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


# ---- doors of one kernel ----------------------------------------------------------------------------

cdef Py_ssize_t columns_of(const vt_model* m, const Job* job, char shape) noexcept:
    # the numbers in a row of an array, by its letter in the table
    if shape == c"q":
        return m.nq
    if shape == c"v":
        return m.nv
    if shape == c"M":
        return <Py_ssize_t>m.nv * m.nv
    if shape == c"J":
        return 6 * m.nv
    if shape == c"2":
        return 2 * m.nv
    if shape == c"P":
        return 12 * m.nbody
    if shape == c"E":
        return 11
    return job.constraints * (m.nv if shape == c"D" else 1)


@cython.final
cdef class Door:
    """A kernel over rows of states: called with a model, the arguments and the arrays of the results."""

    cdef Kernel kernel
    cdef readonly str __name__

    def __cinit__(self, str name, int row):
        self.kernel, self.__name__ = KERNELS[row], name

    def __reduce__(self):
        return self.__name__

    def __call__(self, CoreModel model, *given):
        cdef const vt_model* m = &model.m
        cdef int k, n = 0, inputs = strlen(self.kernel.inputs), count = inputs + strlen(self.kernel.outputs)
        cdef size_t size = 0
        cdef Py_ssize_t columns[8]
        cdef ConstraintList held
        cdef char shape
        cdef Job job
        cdef list arrays = []
        if len(given) != count:
            raise TypeError(f"{self.__name__} takes a model and {count} arguments, not {len(given)}")
        memset(&job, 0, sizeof(Job))
        for k in range(count):
            shape = self.kernel.inputs[k] if k < inputs else self.kernel.outputs[k - inputs]
            if shape == c"g":
                job.gravity = entries(given[k], 3, "numbers of gravity")
            elif shape == c"p":
                memcpy(job.point, entries(given[k], 3, "coordinates of a point"), sizeof(job.point))
            elif shape == c"b":
                job.body = given[k]
                if not -1 <= job.body < m.nbody:
                    raise ValueError(f"no body {job.body}; there are {m.nbody}")
            elif shape == c"l":
                held = given[k]
                job.constraint, job.constraints = held.list, held.count
            else:
                columns[n] = columns_of(m, &job, shape)
                size += (columns[n] + 1) * sizeof(vt_real)
                n += 1
                arrays.append(given[k])
        self.over_rows(m, &job, Blocks(len(arrays[0]), size), arrays, columns)

    cdef int over_rows(self, const vt_model* m, Job* job, Blocks rows, list arrays,
                       const Py_ssize_t* columns) except -1:
        cdef int k, inputs = len(arrays) - strlen(self.kernel.outputs)
        cdef Py_ssize_t block
        # kernels write their memory before they read it: filling it with zeros would cost a tenth of a block of
        # derivatives
        cdef bytes memory = PyBytes_FromStringAndSize(NULL, memory_of(m, self.kernel.asks))
        cdef char* room = PyBytes_AS_STRING(memory)
        for k in range(len(arrays)):
            if k < inputs:
                job.x[k] = rows.input(arrays[k], columns[k])
            else:
                job.out[k - inputs] = rows.output(arrays[k], columns[k])
        with nogil:
            for block in range(rows.blocks()):
                rows.gather(block)
                self.kernel.run(m, job, room)
                rows.scatter(block)
        return 0


cdef int door(str name, const char* inputs, const char* outputs, int asks, Run run) except -1:
    globals()["batch_" + name] = Door("batch_" + name, kernel(name, inputs, outputs, asks, run))
    return 0


# A line creates the door for rows of a method, with its name after `batch_`, and the kernel of its call on one state.
# Arguments in their order: gravity (g), arrays of nq (q) and nv (v) numbers per row, constraints (l) and a number of
# each (c), a body (b) and a point of it (p). Results: those, 2 nv (2), (nv, nv) M, (6, nv) J, 11 of energies (E),
# (nbody, 3, 4) of poses (P), and of each constraint nv (D).
door("integrate", b"qv", b"q", 0, run_integrate)
door("difference", b"qq", b"v", 0, run_difference)
door("rnea", b"gqvv", b"v", 0, run_rnea)
door("aba", b"gqvv", b"v", REGULAR, run_aba)
door("crba", b"q", b"M", 0, run_crba)
door("rnea_derivatives", b"gqvv", b"MMM", SLOPES, run_rnea_derivatives)
door("aba_derivatives", b"gqvv", b"MMM", SLOPES | REGULAR, run_aba_derivatives)
door("inverse_mass_matrix", b"q", b"M", SLOPES | REGULAR, run_inverse_mass)
door("pivots", b"q", b"2", ROWS, run_pivots)
door("energy", b"qv", b"E", ROWS, run_energy)
door("poses", b"q", b"P", ROWS, run_poses)
door("jacobian", b"qbp", b"J", ROWS, run_jacobian)
door("constraints", b"lq", b"cD", ROWS, run_constraints)
door("constraint_slopes", b"lqc", b"M", SWEEPS | ROWS, run_constraint_slopes)


# ---- doors of the pieces of a step ------------------------------------------------------------------

cdef LinearTimeStep lt_step(Blocks rows, const vt_model* m, double h, int split, vt_real* increment) except *:
    # with its memory, except for that of the factors
    cdef LinearTimeStep step
    memset(&step, 0, sizeof(LinearTimeStep))
    step.m, step.h, step.split, step.increment = m, h, split, increment
    step.node = <Node*>rows.take(m.nbody * sizeof(Node))
    step.trial = <Trial*>rows.take(m.nbody * sizeof(Trial))
    step.solve = <Solve*>rows.take(m.nbody * sizeof(Solve))
    return step


def batch_linear_time(CoreModel model, double h, const double[:, ::1] q, const double[:, ::1] p,
                      const double[:, ::1] y, const double[:, ::1] force, double[:, ::1] out, int split=TWIST):
    # The pieces of a step, for tests and study: the residual for increments y, the exact direction
    # from there, and the momentum at the end if y is accepted. out: (n, 3 nv).
    # force: joint forces (n, nv), constant over the step
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int k, nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0])
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bp = rows.input(p, nv)
    cdef vt_real* by = rows.input(y, nv)
    cdef vt_real* bf = rows.input(force, nv)
    cdef vt_real* bo = rows.output(out, 3 * nv)
    cdef vt_real* q2 = rows.reals(m.nq)
    cdef vt_real* weight = rows.reals(nv)
    cdef vt_real least
    cdef LinearTimeStep step = lt_step(rows, m, h, split, by)
    cdef Node* node = step.node
    cdef Signs signs
    step.gains = <Gains*>rows.take(m.nbody * sizeof(Gains))
    step.multi = <MultiGains*>rows.take(m.nmulti * sizeof(MultiGains))
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
    # u has so many inputs, and the drives use no others
    cdef int k
    require_size(found, needed, "columns of u")
    for k in range(count):
        if drive[k].target >= needed or drive[k].rate >= needed:
            raise ValueError(f"drives take more inputs than {needed}; more columns of u are needed")
    return 0


cdef void slopes_in_form(const vt_model* m, const int* before, NodeSlopes* K, int form, vt_real* out,
                         vt_real* mapped) noexcept nogil:
    # see batch_linear_time_slopes
    if mapped != out:
        memcpy(out, K.K11, 4 * <Py_ssize_t>m.nv * m.nv * sizeof(vt_real))
    if mapped != out or form == 1:
        linear_map(m, before, K, mapped)
    elif form == 2:
        path_factor(m, before, K.K12)


def batch_linear_time_slopes(CoreModel model, rule, DriveList drives, const double[:, ::1] q, const double[:, ::1] q2,
                             const double[:, ::1] u, double[:, ::1] out, double[:, ::1] servo, double[:, ::1] ends,
                             int form, double[:, ::1] mapped=None):
    # K11, K12, K21, K22 of steps from q to q2: out (n, 4 nv nv). Where no load couples bodies that are on no path to the
    # root, in form 1 A of (d2, dp2) = A (d1, dp1) that they make, in form 2 the four with K12 factored; A in `mapped`
    # (n, 4 nv nv) beside the four, if it is given. rule: (h, split, nu). u: (n, nu) inputs, the targets of
    # drives among them. servo: (n, 3 nv) what the drives' forces change by: by position, by rate; 1 within limits.
    # ends: (n, 2 nv) the momenta at both nodes without drives and torque
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0])
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bq2 = rows.input(q2, m.nq)
    cdef vt_real* bu = rows.input(u, u.shape[1])
    cdef vt_real* bo = rows.output(out, 4 * nv * nv)
    cdef vt_real* ba = rows.output(mapped, 4 * nv * nv) if mapped is not None else bo
    cdef vt_real* bs = rows.output(servo, 3 * nv)
    cdef vt_real* be = rows.output(ends, 2 * nv)
    cdef vt_real* y = rows.reals(nv)
    cdef vt_real* none = rows.reals(nv)
    cdef vt_real* weight = rows.reals(nv)
    cdef vt_real* space = rows.reals(4 * nv * nv) if form == 1 or ba != bo else bo
    cdef int* before = <int*>rows.take(nv * sizeof(int))
    cdef Node* node2 = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef NodeColumn* column = <NodeColumn*>rows.take(nv * sizeof(NodeColumn))
    cdef Weighed* subtree = <Weighed*>rows.take(m.nbody * sizeof(Weighed))
    cdef vt_real least
    cdef int k
    cdef LinearTimeStep step = lt_step(rows, m, rule[0], rule[1], y)
    cdef NodeSlopes K
    cdef DriveSlopes slopes
    require_signals(drives.list, drives.count, u.shape[1], rule[2])
    slopes.position, slopes.rate, slopes.free = bs, bs + nv, bs + 2 * nv
    with nogil:
        coordinates_before(m, before)
        for k in range(nv):
            none[k] = vt_set1(0.0)
        for block in range(rows.blocks()):
            rows.gather(block)
            lt_increment(m, bq, bq2, y)
            lt_node(m, bq, step.split, step.node)
            lt_node(m, bq2, step.split, node2)
            lt_trial(&step, &least)
            lt_weight(m, step.node, NULL, step.solve, weight)
            for k in range(nv):
                weight[k] = 0.5 * step.h * weight[k]
            lt_residual(&step, weight, be)
            lt_weight(m, node2, NULL, step.solve, weight)
            lt_end(&step, node2, none, weight, be + nv)
            drive_slopes(drives.list, drives.count, nv, bq, y, 0.5, step.h, bu, &slopes)
            K = node_slopes(space, nv)
            lt_node_slopes(&step, node2, &slopes if drives.count else NULL, column, subtree, &K)
            slopes_in_form(m, before, &K, form, bo, ba)
            rows.scatter(block)


cdef MidStep mid_step(Blocks rows, const vt_model* m, double h, double alpha, bint relative, vt_real* increment,
                      MidTrees* trees) except *:
    # with its memory, except for that of the factors; with the data of floating trees, if it is relative
    cdef MidStep step
    memset(&step, 0, sizeof(MidStep))
    step.m, step.h, step.increment = m, h, increment
    mid_rule(&step, alpha, False)
    if relative:
        step.trees, trees.direct = trees, True
        mid_trees_place(trees, rows.take(mid_trees_size(m)), m)
    step.L_rate, step.L_q = rows.reals(m.nv), rows.reals(m.nv)
    step.body = <MidBody*>rows.take(m.nbody * sizeof(MidBody))
    step.multi = <MidMulti*>rows.take(m.nmulti * sizeof(MidMulti))
    return step


def batch_midpoint_slopes(CoreModel model, rule, DriveList drives, const double[:, ::1] q, const double[:, ::1] q2,
                          const double[:, ::1] u, const double[:, ::1] p, double[:, ::1] out, double[:, ::1] servo,
                          double[:, ::1] ends, double[:, ::1] maps, int form, double[:, ::1] mapped=None):
    # The same of the midpoint integrator, rule: (h, alpha, nu, relative). p: (n, nv) momenta at q. maps: (n, 2 nv nv) what a force on
    # the joints adds to -p1 and to p2
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int i, k, nv = m.nv, size = m.nv * m.nv
    cdef Blocks rows = Blocks(q.shape[0])
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bq2 = rows.input(q2, m.nq)
    cdef vt_real* bu = rows.input(u, u.shape[1])
    cdef vt_real* bp = rows.input(p, nv)
    cdef vt_real* bo = rows.output(out, 4 * size)
    cdef vt_real* ba = rows.output(mapped, 4 * size) if mapped is not None else bo
    cdef vt_real* bs = rows.output(servo, 3 * nv)
    cdef vt_real* be = rows.output(ends, 2 * nv)
    cdef vt_real* bm = rows.output(maps, 2 * size)
    cdef vt_real* qm = rows.reals(m.nq)
    cdef vt_real* y = rows.reals(nv)
    cdef vt_real* none = rows.reals(nv)
    cdef vt_real* space = rows.reals(6 * size)
    cdef vt_real* blocks = rows.reals(4 * size) if form == 1 or ba != bo else bo
    cdef int* before = <int*>rows.take(nv * sizeof(int))
    cdef MidColumn* column = <MidColumn*>rows.take(nv * sizeof(MidColumn))
    cdef MidInertia* subtree = <MidInertia*>rows.take(m.nbody * sizeof(MidInertia))
    cdef MidMaps* own = <MidMaps*>rows.take(m.nmulti * sizeof(MidMaps))
    cdef vt_real* rest = rows.reals(nv)
    cdef TreeColumn* motion = <TreeColumn*>rows.take(nv * sizeof(TreeColumn))
    cdef MidTrees trees
    cdef MidStep step = mid_step(rows, m, rule[0], rule[1], len(rule) > 3 and rule[3], y, &trees)
    cdef MidSlopes L
    cdef NodeSlopes K
    cdef DriveSlopes slopes
    require_signals(drives.list, drives.count, u.shape[1], rule[2])
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
            slopes_in_form(m, before, &K, form, bo, ba)
            mid_force_maps(&step, own, bm, bm + size)
            rows.scatter(block)


def batch_linear_time_masses(CoreModel model, rule, const double[:, ::1] q, const double[:, ::1] q2,
                             const double[:, ::1] d1, const double[:, ::1] d2, double[:, ::1] out):
    # out: (n, WEIGHED nbody + 3), what D1 Ld . d1 + D2 Ld . d2 of steps from q to q2 is by masses, COM, inertias and
    # gravity. rule: (h, split)
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t block
    cdef int nv = m.nv
    cdef Blocks rows = Blocks(q.shape[0])
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bq2 = rows.input(q2, m.nq)
    cdef vt_real* b1 = rows.input(d1, nv)
    cdef vt_real* b2 = rows.input(d2, nv)
    cdef vt_real* bo = rows.output(out, WEIGHED * m.nbody + 3)
    cdef vt_real* y = rows.reals(nv)
    cdef Node* node2 = <Node*>rows.take(m.nbody * sizeof(Node))
    cdef Displaced* x = <Displaced*>rows.take(m.nbody * sizeof(Displaced))
    cdef LinearTimeStep step = lt_step(rows, m, rule[0], rule[1], y)
    cdef vt_real least
    with nogil:
        for block in range(rows.blocks()):
            rows.gather(block)
            lt_increment(m, bq, bq2, y)
            lt_node(m, bq, step.split, step.node)
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
    cdef Blocks rows = Blocks(q.shape[0])
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
    cdef MidTrees trees
    cdef MidStep step = mid_step(rows, m, rule[0], rule[1], len(rule) > 2 and rule[2], by, &trees)
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
    cdef Blocks rows = Blocks(q.shape[0])
    cdef vt_real* bq = rows.input(q, m.nq)
    cdef vt_real* bp = rows.input(p, nv)
    cdef vt_real* by = rows.input(y, nv)
    cdef vt_real* bf = rows.input(force, nv)
    cdef vt_real* bw = rows.input(wrench, nw) if nw else NULL
    cdef vt_real* bo = rows.output(out, 3 * nv)
    cdef vt_real* qm = rows.reals(m.nq)
    cdef MidTrees trees
    cdef MidStep step = mid_step(rows, m, rule[0], rule[1], len(rule) > 2 and rule[2], by, &trees)
    cdef Signs signs
    step.block = <MidBlock*>rows.take(m.nbody * sizeof(MidBlock))
    step.work = <MidSolve*>rows.take(m.nbody * sizeof(MidSolve))
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
    cdef Blocks rows = Blocks(x.shape[0])
    cdef vt_real* bx = rows.input(x, 1)
    cdef vt_real* bo = rows.output(out, 2)
    for k in range(rows.blocks()):
        rows.gather(k)
        vt_sincos(bx[0], &bo[0], &bo[1])
        rows.scatter(k)


def batch_atan2(const double[:, ::1] x, double[:, ::1] out):
    # x: (n, 2): sine and cosine of any size; out: (n, 1): the angles, for the tests
    cdef Py_ssize_t k
    cdef Blocks rows = Blocks(x.shape[0])
    cdef vt_real* bx = rows.input(x, 2)
    cdef vt_real* bo = rows.output(out, 1)
    for k in range(rows.blocks()):
        rows.gather(k)
        bo[0] = vt_atan2(bx[0], bx[1])
        rows.scatter(k)


WIDTH = VT_WIDTH
