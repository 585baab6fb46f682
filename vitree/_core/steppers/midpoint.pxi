# The midpoint variational integrator's steps (Johnson & Murphey 2009).

cdef enum:
    DENSE = 16          # most coordinates at which the tree's dense matrix is the quicker operator


cdef struct TreeResidual:               # the residual by the derivatives of the tree, and the dense matrix made of them
    bint caching
    TreeWork derivatives
    Twist* column                       # (nbody,)
    double* L_vv                        # (nv, nv) second derivatives of the Lagrangian
    double* L_vq
    double* L_qq


cdef struct MidpointLane:               # what a lane owns of this discretisation
    MidStep kernel                      # what the kernels work on: see `at`
    TreeResidual by_tree
    MidBody* body                       # (nbody,)
    MidBlock* block                     # (nbody,)
    MidSolve* work                      # (stages, nbody): each substep has its own
    MidMulti* multi                     # (stages, nmulti) joints of several coordinates
    double* qm                          # (nq,) the middle
    double* rate                        # (nv,) y/h
    double* L_rate                      # (nv,) derivatives of the Lagrangian at q_m
    double* L_q
    double* force                       # (nv,) on the joints at q_m: tau and those of the loads
    double* turning                     # (nbody, 27) how the loads change: see load_tangents
    double* stiffness                   # (nv,)
    MidTrees trees                      # that float


cdef int midpoint_make(MidpointLane* x, Memory memory, const vt_model* m, int stages) except -1:
    x.body = <MidBody*>memory.scratch(m.nbody * sizeof(MidBody))
    x.block = <MidBlock*>memory.scratch(m.nbody * sizeof(MidBlock))
    x.work = <MidSolve*>memory.kept(stages * m.nbody * sizeof(MidSolve))
    x.multi = <MidMulti*>memory.kept(stages * m.nmulti * sizeof(MidMulti))
    x.qm, x.rate = memory.scratch_reals(m.nq), memory.scratch_reals(m.nv)
    x.L_rate, x.L_q = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.turning, x.stiffness = memory.scratch_reals(27 * m.nbody), memory.scratch_reals(m.nv)
    x.kernel.body, x.kernel.block, x.kernel.L_rate, x.kernel.L_q = x.body, x.block, x.L_rate, x.L_q
    return 0


cdef void mid_front_body(const MidStep* step, int i, const double* turning, const double* stiffness,
                         FrontBody* x) noexcept nogil:
    # its own matrix, and the rows and columns of its joint; the axes at the nodes are those of pair 2
    cdef const vt_body* b = &step.m.body[i]
    cdef MidSolve* e = &step.work[i]
    cdef MidBlock* block = &step.block[i]
    cdef Twelve own_l[6]
    cdef Twelve own_u[6]
    cdef AdMatrix end
    cdef Vec3 w, v, uw, uv
    cdef int j, k, nd = joint_nv(b)
    mid_body_block(b, &step.body[i], mid_fall(step.m, step.trees, i), turning + 27 * i if turning != NULL else NULL,
                   block)
    memset(x.A, 0, 18 * 18 * sizeof(double))
    for j in range(4):
        for k in range(4):
            put_matrix(block.A[j][k], x.A + 18 * 3 * j + 3 * k, 18)
    front_columns(b, x, 18)
    memset(x.own_row, 0, 18 * nd * sizeof(double))
    memset(x.own_col, 0, 18 * nd * sizeof(double))
    if not joint_multi(b):
        mid_maps(step, i, own_l, own_u)
        x.D[0] = mid_slopes(step, b, stiffness, 0.0)
        put_twelve(&e.R, x.row)
        put_twelve(&e.Gam, x.col)
    else:
        before_joint(step, i, &uw, &uv)
        mid_columns(step, i, uw, uv, own_u)
        mid_rows(step, i, uw, uv, own_l)
        mid_own_slopes(step, i, x.D)
        mid_own_damping(step, i, x.D)
        joint_expand(b, step.increment, &w, &v)
        end = dexp_matrix(neg(w), neg(v))
        for k in range(nd):
            put_twelve(&step.multi[b.multi].R[k], x.row + 18 * k)
            put_twelve(&step.multi[b.multi].Gam[k], x.col + 18 * k)
            # displacements at node 2 by y
            joint_twist(b, x.R_col[2], &end, k, &w, &v)
            store3(x.col + 18 * k + 12, w)
            store3(x.col + 18 * k + 15, v)
    for k in range(nd):
        own_l[k].part[0] = own_l[k].part[1] = zero3()
        put_twelve(&own_l[k], x.own_row + 18 * k)
        put_twelve(&own_u[k], x.own_col + 18 * k)


cdef inline void put_twelve(const Twelve* a, double* to) noexcept nogil:
    cdef int k
    for k in range(4):
        store3(to + 3 * k, a.part[k])


cdef class MidpointStepper(ComposedStepper):
    """Steps of the midpoint variational integrator; the state is (q, p)."""

    cdef readonly double alpha
    cdef bint tree                      # the residual is that of the tree's derivatives
    cdef bint relative                  # of trees that float, the COM's kinetic energy is taken from node to node
    cdef const double* turning          # of the operator at hand, or NULL
    cdef const double* stiffness
    cdef MidpointLane own

    def __init__(self, *args, double alpha=0.5, bint tree=False, bint caching=True, bint relative=False, **options):
        cdef int k, rows
        self.alpha, self.tree, self.relative = alpha, tree, relative and self.shared.m.ntree > 0
        self.written = self.shared.user_rests or self.shared.user_moves
        ComposedStepper.__init__(self, **options)
        if alpha != 0.5:
            # J has a symmetric part (2 alpha - 1) dp/dq, which the mass matrix of light links need not outweigh
            self.shared.choices.required = ODD
        midpoint_make(&self.own, self.memory, self.shared.m, self.shared.choices.stages)
        self.own.kernel.alpha, self.own.kernel.increment = alpha, self.lane.newton.y
        self.own.kernel.slope = self.lane.servos.slope
        self.own.kernel.trees = NULL
        if self.relative:
            mid_trees_place(&self.own.trees, self.memory.scratch(mid_trees_size(self.shared.m)), self.shared.m)
            self.own.trees.direct, self.own.kernel.trees = self.tree_rows() == 0, &self.own.trees
        self.own.force = self.lane.drive.tau
        if self.loaded() or self.shared.ndrive:
            self.own.force = self.memory.scratch_reals(self.nv)
        self.lane.bodies.predicts = self.shared.schedule.calls_user and not self.shared.choices.implicit
        rows = self.shared.count
        for k in range(self.shared.islands.count):
            if self.shared.islands.at[k].plan != NULL:
                rows -= self.shared.islands.at[k].row_end - self.shared.islands.at[k].row
        self.shared.choices.costs.correction = 1.4 + 0.1 * rows + 0.03 * self.shared.choices.extra
        self.shared.choices.costs.factor = 5.5 + 0.4 * rows + 0.1 * self.shared.choices.extra
        if self.lane.fronts.planned:
            self.shared.choices.costs.correction += 0.6
            self.shared.choices.costs.factor += 6.5
        self.own.by_tree.caching = caching
        if tree:
            self.make_tree(self.memory)

    cdef int make_tree(self, Memory memory) except -1:
        cdef size_t size = tree_work_size(self.shared.m)
        cdef TreeResidual* x = &self.own.by_tree
        # its tables of paths are given; each sweep writes the rest
        tree_work_make(self.shared.m, memory.given(size), &x.derivatives)
        x.column = <Twist*>memory.scratch(self.shared.m.nbody * sizeof(Twist))
        x.L_vv, x.L_vq = memory.scratch_reals(self.nv * self.nv), memory.scratch_reals(self.nv * self.nv)
        x.L_qq = memory.scratch_reals(self.nv * self.nv)
        return 0

    cdef int coupled_rows(self):
        return 3 * self.loads.pairs + (self.nv if self.written else 0) + self.tree_rows()

    cdef int tree_rows(self):
        # rows by which the trees' COMs couple the joints where something else acts on their translations
        cdef const vt_model* m = self.shared.m
        cdef const vt_tree* tree
        cdef int j, k, i
        if not self.relative:
            return 0
        if self.loaded() or self.written or self.shared.choices.solver in (NEWTON, RIQN):
            return 6 * m.ntree
        for j in range(m.ntree):
            tree = &m.tree[j]
            for k in range(0 if tree.tied else tree.count):
                i = tree.iv[k]
                if m.damping[i] or m.friction[i] or m.armature[i]:
                    return 6 * m.ntree
                for i in range(m.nlocked):
                    if self.shared.locked[i].iv == tree.iv[k]:
                        return 6 * m.ntree
                for i in range(self.shared.ndrive):
                    if self.shared.drive[i].iv == tree.iv[k]:
                        return 6 * m.ntree
        return 0

    cdef void forget_trees(self) noexcept nogil:
        # node 1 is the state's
        if self.relative:
            mid_node(self.shared.m, self.lane.state.q, &self.own.trees)

    cdef int open_node(self) noexcept nogil:
        self.forget_trees()
        return OK

    cdef double node_share(self) noexcept nogil:
        return 1.0 - self.alpha

    cdef bint dense(self) noexcept nogil:
        cdef int solver = self.shared.choices.solver
        if self.tree and solver == AUTO:
            return self.nv <= DENSE
        return solver == NEWTON or (self.tree and solver != RECURSIVE_NEWTON and solver != RIQN)

    cdef MidMulti* stage_multi(self) noexcept nogil:
        return self.own.multi + self.lane.newton.stage * self.shared.m.nmulti

    cdef MidStep* at(self) noexcept nogil:
        # what the kernels work on, in the substep at hand
        cdef MidStep* step = &self.own.kernel
        step.m, step.h = self.shared.m, self.lane.now.h
        step.work = self.own.work + self.lane.newton.stage * step.m.nbody
        step.multi = self.own.multi + self.lane.newton.stage * step.m.nmulti
        return step

    cdef int prepare(self) noexcept nogil:
        cdef Newton* x = &self.lane.newton
        self.forget_trees()
        return self.predict_middle(x.v, x.a, x.d) if self.lane.bodies.predicts else OK

    cdef void middle(self) noexcept nogil:
        # (q_m, y/h)
        cdef Newton* x = &self.lane.newton
        cdef int k
        for k in range(self.nv):
            x.v[k] = x.y[k] / self.lane.now.h
        advance(self.shared.m, self.lane.state.q, self.alpha, x.y, self.lane.state.q2)

    # ---- residual ------------------------------------------------------------------------------------

    cdef void sweep_out(self) noexcept nogil:
        # poses, twists and momenta of the bodies at q_m; by the tree: the Lagrangian's first derivatives
        cdef double* y = self.lane.newton.y
        cdef MidStep* step = self.at()
        cdef int k
        if not self.tree:
            mid_forward(step, self.lane.state.q, self.own.qm)
            return
        for k in range(self.nv):
            self.own.qm[k] = self.lane.state.q[k] + self.alpha * y[k]
            self.own.rate[k] = y[k] / self.lane.now.h
        tree_sweep(self.shared.m, self.own.qm, self.own.rate, &self.own.by_tree.derivatives, self.own.L_rate,
                   self.own.L_q, self.own.by_tree.caching)

    cdef double evaluate(self) noexcept nogil:
        # r = -(p1 + D1 Ld + f-), from both derivatives of L and the forces at q_m
        cdef const vt_model* m = self.shared.m
        cdef Newton* x = &self.lane.newton
        cdef double* wrench = NULL
        cdef MidStep* step
        cdef int k
        self.sweep_out()
        step = self.at()
        if self.loaded():
            self.place_middle()
            self.apply_to_bodies(RESTING | RATES, self.lane.clock.t + self.alpha * self.lane.now.h, self.own.qm,
                                 self.own.rate)
            for k in range(self.nv):
                self.own.force[k] = self.lane.drive.tau[k] + self.lane.bodies.load_force[k]
            wrench = self.lane.bodies.wrench
        if self.shared.ndrive:
            self.drive_trial(self.alpha)
            for k in range(self.nv):
                self.own.force[k] = self.lane.servos.force[k] + (
                    self.own.force[k] if self.loaded() else self.lane.drive.tau[k])
        if not self.tree:
            mid_backward(step, wrench)
        elif wrench != NULL:
            self.project_wrenches(self.own.L_q)
        mid_residual(step, self.lane.state.x, self.own.force, x.r)
        return largest(x.r, self.nv) if mid_turn_square(m, x.y) < MID_TURN else INFINITY

    cdef double measure(self) noexcept nogil:
        # max(|p1|, h |dL/dq|, h |force|): forces may balance each other, their terms do not
        cdef double size = vt_max_nan(largest(self.own.L_q, self.nv), largest(self.own.force, self.nv))
        if self.relative:
            size = vt_max_nan(size, largest(self.own.trees.weight, self.nv))
        return vt_max_nan(largest(self.lane.state.x, self.nv), fabs(self.lane.now.h) * size)

    cdef double kinetic(self) noexcept nogil:
        # 2 T = dL/dv . y/h
        cdef double size = 0.0
        cdef int i
        for i in range(self.nv):
            size += self.own.L_rate[i] * self.lane.newton.y[i]
        return size / self.lane.now.h

    cdef Vec3 tree_momentum(self, int root) noexcept nogil:
        # what the sweep in has left of the tree
        return zero3() if self.tree else self.own.body[root].f

    cdef double impulse(self, int k) noexcept nogil:
        cdef double size = max(fabs(self.own.L_q[k]), fabs(self.own.force[k]))
        return fabs(self.lane.now.h) * (max(size, fabs(self.own.trees.weight[k])) if self.relative else size)

    cdef void place_poses(self) noexcept nogil:
        # of the bodies at q_m, as the sweep has them
        cdef Pose* pose = self.lane.bodies.pose
        cdef MidBody* body = self.own.body
        cdef int i, parent
        for i in range(self.shared.m.nbody):
            parent = self.shared.m.body[i].parent
            pose[i].R, pose[i].t = body[i].R, body[i].t
            pose[i].o = body[i].t if parent < 0 else add(pose[parent].o, body[i].t)

    cdef void place_middle(self) noexcept nogil:
        # pose and twist of the bodies, and rates, at q_m
        cdef double* twist = self.lane.bodies.twist
        cdef int i, k
        if self.tree:
            self.place_bodies(self.own.qm, self.own.rate)
            return
        for k in range(self.nv):
            self.own.rate[k] = self.lane.newton.y[k] / self.lane.now.h
        self.place_poses()
        for i in range(self.shared.m.nbody):
            store3(twist + 6 * i, self.own.body[i].w)
            k = self.shared.m.body[i].whole
            if self.relative and k >= 0:
                store3(twist + 6 * i + 3, add(self.own.body[i].v, self.own.trees.tree[k].u))
            else:
                store3(twist + 6 * i + 3, self.own.body[i].v)

    # ---- operator --------------------------------------------------------------------------------------

    cdef int linearise(self) noexcept nogil:
        return self.linearise_by(self.shared.m, 1.0)

    cdef int linearise_by(self, const vt_model* m, double left) noexcept nogil:
        # J = -dr/dy, with a share of the potential's second derivatives, which m and the bodies' weights have already
        cdef Operator* op = self.lane.operator
        cdef int k, status, rows
        if self.shared.nload:
            self.load_slopes(m, left)
        self.operator_at(m)
        if self.dense():
            status = self.factor_dense()
            if status != OK:
                return status
        if self.written:
            self.written_tangent(self.alpha * self.lane.now.h, 1.0)
            if self.lane.now.cause == CALLBACK_FAILED:
                return CALLBACK_FAILED
        rows = self.shared.choices.extra
        if self.relative and not self.own.trees.direct:
            rows -= 6 * m.ntree
            mid_tree_rows(self.at(), op.C + rows * self.nv, op.R + rows * self.nv)
        for k in range(rows):
            mid_row(m, self.stage_multi(), True, 1.0 - self.alpha, op.C + k * self.nv)
        return OK

    cdef void load_slopes(self, const vt_model* m, double left) noexcept nogil:
        # how the loads change with y: turning, stiffness, and the rows C, R of those between two points
        cdef Operator* op = self.lane.operator
        cdef BodiesAt at
        cdef int k
        self.place_middle()
        at = self.bodies_at(self.own.qm, self.own.rate)
        at.m = m
        load_tangents(&at, self.shared.load, self.shared.nload, left * self.alpha * self.lane.now.h, self.own.turning,
                      self.own.stiffness, op.C, op.R)
        if m.nmulti:
            # rows by displacements at q_m become rows by y
            for k in range(3 * self.loads.pairs):
                mid_row(m, self.stage_multi(), False, 1.0, op.R + k * self.nv)
        load_rate_tangents(&at, self.shared.load, self.shared.nload, 1.0, op.C, op.R)
        if left != 1.0:
            for k in range(27 * m.nbody):
                self.own.turning[k] *= left
            for k in range(self.nv):
                self.own.stiffness[k] *= left

    cdef void operator_at(self, const vt_model* m) noexcept nogil:
        # J, dense or as what the recursive elimination leaves
        cdef double* turning = self.own.turning if self.shared.nload else NULL
        cdef double* stiffness = self.own.stiffness if self.shared.nload else NULL
        cdef MidStep* step = self.at()
        cdef Signs signs
        cdef int k
        step.m = m
        if self.dense() and self.tree:
            self.tree_matrix(turning, stiffness)
            return
        if self.tree:
            mid_forward(step, self.lane.state.q, self.own.qm)
            mid_backward(step, self.lane.bodies.wrench if self.loaded() else NULL)
        signs_begin(&signs)
        if self.dense():
            mid_factor(step, 0, m.nbody, turning, stiffness, False, &signs)
        else:
            self.turning, self.stiffness = turning, stiffness
            for k in range(self.shared.islands.range_count):
                mid_factor(step, self.shared.islands.range[2 * k], self.shared.islands.range[2 * k + 1], turning, stiffness,
                           True, &signs)
        self.lane.operator.sound[0] = soundness(&signs)
        if self.dense():
            mid_jacobian(step, self.lane.operator.J)

    cdef void tree_matrix(self, const double* turning, const double* stiffness) noexcept nogil:
        # J = -dr/dy from the second derivatives of the Lagrangian (Johnson & Murphey 2009, section IV-A)
        cdef const vt_model* m = self.shared.m
        cdef TreeResidual* x = &self.own.by_tree
        cdef double* J = self.lane.operator.J
        cdef int i, j, n = self.nv
        cdef double a = self.alpha, share = 1.0 - self.alpha, h = self.lane.now.h
        tree_second(m, &x.derivatives, x.L_vv, x.L_vq, x.L_qq, x.caching)
        for i in range(n):
            for j in range(n):
                J[i * n + j] = share * (h * a * x.L_qq[i * n + j] + x.L_vq[j * n + i]) - (
                    a * x.L_vq[i * n + j] + x.L_vv[i * n + j] / h)
            J[i * n + i] -= share * (m.damping[i] + friction_slope(m, i, self.own.rate[i]))
            if self.shared.ndrive:
                J[i * n + i] -= share * self.lane.servos.slope[i]
            if stiffness != NULL:
                J[i * n + i] -= share * a * h * stiffness[i]
        if turning != NULL:
            # wrenches of the last residual
            add_geometric(m, self.lane.bodies.pose, self.lane.bodies.wrench, turning, share * a * h, x.column, J)

    # ---- islands that have a plan: mu is minus the multipliers' correction ----------------------------------

    cdef int front_block(self):
        return 0 if self.dense() or self.shared.choices.solver == RIQN else 18

    cdef double front_sense(self) noexcept nogil:
        # where nothing moves J is -M/h
        return -self.lane.now.h

    cdef void apply_by_plans(self, const double* r, double* d, double* z) noexcept nogil:
        # constraints within a tree that floats take no part in its translation
        cdef MidTrees* x = &self.own.trees
        cdef const Island* on
        cdef int k
        if not (self.relative and x.direct):
            ComposedStepper.apply_by_plans(self, r, d, z)
            return
        mid_take_translation(self.shared.m, x, r, 0, self.shared.m.nbody)
        ComposedStepper.apply_by_plans(self, x.rest, d, z)
        for k in range(self.shared.islands.count):
            on = &self.shared.islands.at[k]
            if on.plan != NULL:
                mid_give_translation(self.shared.m, self.lane.now.h, x, self.lane.newton.y, on.body, on.body_end, d)

    cdef void note_joints(self, int first, int end, Signs* signs) noexcept nogil:
        mid_factor(self.at(), first, end, self.turning, self.stiffness, True, signs)

    cdef void place_front(self, int i, FrontBody* x, bint whole) noexcept nogil:
        # pairs 0 and 1: displacements and changes of twists in the middle; 2: at the nodes
        x.t_row[0] = x.t_row[1] = x.t_col[0] = x.t_col[1] = self.own.body[i].t
        if whole:
            mid_front_body(self.at(), i, self.turning, self.stiffness, x)

    cdef void linearise_at_rest(self) noexcept nogil:
        memset(self.lane.operator.R, 0, self.shared.choices.extra * self.nv * sizeof(double))

    cdef void apply_inverse(self, const double* r, int first, int end, double* d) noexcept nogil:
        cdef MidStep* step = self.at()
        cdef int k
        if self.shared.choices.solver != RIQN:
            mid_solve(step, r, first, end, d)
            return
        # d = -h M^-1 r
        aba(self.shared.m, NO_GRAVITY, self.lane.state.q, self.shared.zeros, r, NULL, d, self.lane.bodies.aba)
        for k in range(self.nv):
            d[k] *= -self.lane.now.h
        self.clear_locked(d)

    cdef void written_tangent(self, double by_q, double by_rate) noexcept nogil:
        # R = -(by_q dQ/dq d(q_m)/dy + by_rate dQ/dv) of the loads written in Python, C = 1
        cdef int k, i, n = self.nv
        cdef double[:, ::1] dq, dv
        cdef double* R = self.lane.operator.R + 3 * self.loads.pairs * n
        cdef double* C = self.lane.operator.C + 3 * self.loads.pairs * n
        memset(C, 0, n * n * sizeof(double))
        with gil:
            try:
                by_configuration, by_velocity = self.user.tangent(
                    self.lane.clock.t + self.alpha * self.lane.now.h, self.array(self.own.qm, self.nq),
                    self.array(self.own.rate, n), self.array(self.lane.drive.u, self.shared.schedule.nu))
                dq, dv = by_configuration, by_velocity
                for k in range(n):
                    C[k * n + k] = 1.0
                    for i in range(n):
                        R[k * n + i] = -by_q * dq[k, i]
                    mid_row(self.shared.m, self.stage_multi(), False, 1.0, R + k * n)
                    for i in range(n):
                        R[k * n + i] -= by_rate * dv[k, i]
            except BaseException as error:
                self.fail(error)

    cdef void by_increments(self, int first, int end, double* row) noexcept nogil:
        if self.shared.m.nmulti:
            mid_end_row(self.shared.m, self.lane.newton.y, first, end, row)

    # ---- node 2 ------------------------------------------------------------------------------------------

    cdef int finish(self) noexcept nogil:
        # q2 = q1 (+) y, p2 = D2 Ld + f+ - r
        cdef Newton* x = &self.lane.newton
        cdef MidStep* step = self.at()
        self.reach_node(x.y, self.lane.state.q2)
        mid_end(step, x.r, self.own.force, self.lane.state.x2)
        self.lock_node(SUBSTEP_ROWS)
        return OK
