# The terms that a midpoint step of one instance has beside gravity, joint forces and drives: loads, residual and
# operator by the derivatives of the tree (Johnson & Murphey 2009), dense operators, islands of constraints.

cdef enum:
    DENSE = 16          # most coordinates for which the tree's dense matrix is the faster operator


cdef struct TreeResidual:               # the residual by the derivatives of the tree, and its dense matrix
    bint caching
    TreeWork derivatives
    Twist* column                       # (nbody,)
    double* L_vv                        # (nv, nv) second derivatives of the Lagrangian
    double* L_vq
    double* L_qq


cdef int make_midpoint(ModelStepper self, dict options) except -1:
    cdef double alpha = options.get("alpha", 0.5)
    cdef bint tree = options.get("tree", False)
    cdef bint caching = options.get("caching", True)
    cdef bint relative = options.get("relative", False)
    cdef int k, rows
    make_touching(self, options)
    mid_rule(&self.mid.kernel, alpha, options.get("backward", False))
    self.mid.tree, self.mid.relative = tree, relative and self.shared.m.ntree > 0
    self.shared.choices.written = self.shared.user_rests or self.shared.user_moves
    make_variational(self, options)
    if alpha != 0.5:
        # J has a symmetric part (2 alpha - 1) dp/dq, which the mass matrix of light links need not dominate
        self.shared.choices.required_signs = ODD
    midpoint_make(self)
    self.mid.rate, self.mid.stiffness = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
    self.mid.turning = self.memory.scratch_reals(27 * self.shared.m.nbody)
    if self.mid.relative:
        self.mid.trees.direct = tree_rows(self) == 0
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
    self.by_tree.caching = caching
    if tree:
        make_tree(self, self.memory)
    return 0


cdef int make_tree(ModelStepper self, Memory memory) except -1:
    cdef size_t size = tree_work_size(self.shared.m)
    cdef TreeResidual* x = &self.by_tree
    # its tables of paths are given; each sweep writes the rest
    tree_work_make(self.shared.m, memory.given(size), &x.derivatives)
    x.column = <Twist*>memory.scratch(self.shared.m.nbody * sizeof(Twist))
    x.L_vv, x.L_vq = memory.scratch_reals(self.nv * self.nv), memory.scratch_reals(self.nv * self.nv)
    x.L_qq = memory.scratch_reals(self.nv * self.nv)
    return 0


cdef int midpoint_coupled_rows(ModelStepper self):
    return 3 * self.loads.pairs + (self.nv if self.shared.choices.written else 0) + tree_rows(self)


cdef int tree_rows(ModelStepper self):
    # rows by which the COMs of the trees couple the joints if other forces depend on their translations
    cdef const vt_model* m = self.shared.m
    cdef const vt_tree* tree
    cdef int j, k, i
    if not self.mid.relative:
        return 0
    if model_loaded(self) or self.shared.choices.written or self.shared.choices.solver in (NEWTON, RIQN):
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


cdef bint midpoint_dense(ModelStepper self) noexcept nogil:
    cdef int solver = self.shared.choices.solver
    if self.mid.tree and solver == AUTO:
        return self.nv <= DENSE
    return solver == NEWTON or (self.mid.tree and solver != RECURSIVE_NEWTON and solver != RIQN)


cdef int midpoint_open_node(ModelStepper self) noexcept nogil:
    forget_trees(self)
    return OK


cdef int predict_answers(ModelStepper self) noexcept nogil:
    # of the user's functions, at the predicted middle of the step
    cdef Newton* x = &self.lane.newton
    return predict_middle(self, x.v, x.a, x.d)


cdef void midpoint_middle(ModelStepper self) noexcept nogil:
    # (q_m, y/h)
    cdef Newton* x = &self.lane.newton
    cdef int k
    for k in range(self.nv):
        x.v[k] = x.y[k] / self.lane.now.h
    advance(self.shared.m, self.lane.state.q, self.mid.kernel.alpha, x.y, self.lane.state.q2)


# ---- residual ------------------------------------------------------------------------------------


cdef void sweep_tree(ModelStepper self) noexcept nogil:
    # the Lagrangian's first derivatives at q_m
    cdef double* y = self.lane.newton.y
    cdef int k
    for k in range(self.nv):
        self.mid.qm[k] = self.lane.state.q[k] + self.mid.kernel.alpha * y[k]
        self.mid.rate[k] = y[k] / self.lane.now.h
    tree_sweep(self.shared.m, self.mid.qm, self.mid.rate, &self.by_tree.derivatives, self.mid.L_rate,
               self.mid.L_q, self.by_tree.caching)


cdef const double* load_middle(ModelStepper self) noexcept nogil:
    # the loads at q_m: their wrenches, and `force` of tau and theirs
    cdef int k
    place_middle(self)
    apply_to_bodies(self, RESTING | RATES, self.lane.clock.t + self.mid.kernel.alpha * self.lane.now.h, self.mid.qm, self.mid.rate)
    for k in range(self.nv):
        self.mid.force[k] = self.lane.drive.tau[k] + self.lane.bodies.load_force[k]
    return self.lane.bodies.wrench


cdef void project_on_tree(ModelStepper self) noexcept nogil:
    project_wrenches(self, self.mid.L_q)


cdef void place_poses(ModelStepper self) noexcept nogil:
    # of the bodies at q_m, as the sweep uses them
    cdef Pose* pose = self.lane.bodies.pose
    cdef MidBody* body = self.mid.body
    cdef int i, parent
    for i in range(self.shared.m.nbody):
        parent = self.shared.m.body[i].parent
        pose[i].R, pose[i].t = body[i].R, body[i].t
        pose[i].o = body[i].t if parent < 0 else add(pose[parent].o, body[i].t)


cdef void place_middle(ModelStepper self) noexcept nogil:
    # pose and twist of the bodies, and rates, at q_m
    cdef double* twist = self.lane.bodies.twist
    cdef int i, k
    if self.mid.tree:
        place_bodies(self, self.mid.qm, self.mid.rate)
        return
    for k in range(self.nv):
        self.mid.rate[k] = self.lane.newton.y[k] / self.lane.now.h
    place_poses(self)
    for i in range(self.shared.m.nbody):
        store3(twist + 6 * i, self.mid.body[i].w)
        k = self.shared.m.body[i].whole
        if self.mid.relative and k >= 0:
            store3(twist + 6 * i + 3, add(self.mid.body[i].v, self.mid.trees.tree[k].u))
        else:
            store3(twist + 6 * i + 3, self.mid.body[i].v)


# ---- operator --------------------------------------------------------------------------------------


cdef int linearise_by(ModelStepper self, const vt_model* m, double left) noexcept nogil:
    # J = -dr/dy, with a part of the potential's second derivatives, which m and the weights of the bodies already
    # contain
    cdef Operator* op = self.lane.operator
    cdef int k, status, rows
    if self.shared.nload:
        load_slopes(self, m, left)
    operator_at(self, m)
    if midpoint_dense(self):
        status = factor_dense(self)
        if status != OK:
            return status
    if self.shared.choices.written:
        written_tangent(self, self.mid.kernel.alpha * self.lane.now.h, 1.0)
        if self.lane.now.cause == CALLBACK_FAILED:
            return CALLBACK_FAILED
    rows = self.shared.choices.extra
    if self.mid.relative and not self.mid.trees.direct:
        rows -= 6 * m.ntree
        mid_tree_rows(midpoint_at(self), op.C + rows * self.nv, op.R + rows * self.nv)
    for k in range(rows):
        mid_row(m, stage_multi(self), True, self.mid.kernel.start, op.C + k * self.nv)
    return OK


cdef void load_slopes(ModelStepper self, const vt_model* m, double left) noexcept nogil:
    # derivatives of the loads by y: rotation, stiffness, and the rows C, R of those between two points
    cdef Operator* op = self.lane.operator
    cdef BodiesAt at
    cdef int k
    place_middle(self)
    at = bodies_at(self, self.mid.qm, self.mid.rate)
    at.m = m
    load_tangents(&at, self.shared.load, self.shared.nload, left * self.mid.kernel.alpha * self.lane.now.h, self.mid.turning,
                  self.mid.stiffness, op.C, op.R)
    if m.nmulti:
        # rows by displacements at q_m become rows by y
        for k in range(3 * self.loads.pairs):
            mid_row(m, stage_multi(self), False, 1.0, op.R + k * self.nv)
    load_rate_tangents(&at, self.shared.load, self.shared.nload, 1.0, op.C, op.R)
    if left != 1.0:
        for k in range(27 * m.nbody):
            self.mid.turning[k] *= left
        for k in range(self.nv):
            self.mid.stiffness[k] *= left


cdef void operator_at(ModelStepper self, const vt_model* m) noexcept nogil:
    # J, dense or in the form of the recursive elimination
    cdef double* turning = self.mid.turning if self.shared.nload else NULL
    cdef double* stiffness = self.mid.stiffness if self.shared.nload else NULL
    cdef MidStep* step = midpoint_at(self)
    cdef Signs signs
    step.m = m
    if midpoint_dense(self) and self.mid.tree:
        tree_matrix(self, turning, stiffness)
        return
    if self.mid.tree:
        mid_forward(step, self.lane.state.q, self.mid.qm)
        mid_backward(step, self.lane.bodies.wrench if model_loaded(self) else NULL)
    if not midpoint_dense(self):
        self.mid.turning_now, self.mid.stiffness_now = turning, stiffness
        factor_joints(self, m, turning, stiffness)
        return
    signs_begin(&signs)
    mid_factor(step, 0, m.nbody, turning, stiffness, False, &signs)
    note_signs(self, &signs)
    mid_jacobian(step, self.lane.operator.J)


cdef void tree_matrix(ModelStepper self, const double* turning, const double* stiffness) noexcept nogil:
    # J = -dr/dy from the second derivatives of the Lagrangian (Johnson & Murphey 2009, section IV-A)
    cdef const vt_model* m = self.shared.m
    cdef TreeResidual* x = &self.by_tree
    cdef double* J = self.lane.operator.J
    cdef int i, j, n = self.nv
    cdef double a = self.mid.kernel.alpha, share = self.mid.kernel.start, h = self.lane.now.h
    tree_second(m, &x.derivatives, x.L_vv, x.L_vq, x.L_qq, x.caching)
    for i in range(n):
        for j in range(n):
            J[i * n + j] = share * (h * a * x.L_qq[i * n + j] + x.L_vq[j * n + i]) - (
                a * x.L_vq[i * n + j] + x.L_vv[i * n + j] / h)
        J[i * n + i] -= share * (m.damping[i] + friction_slope(m, i, self.mid.rate[i]))
        if self.shared.ndrive:
            J[i * n + i] -= share * self.lane.servos.slope[i]
        if stiffness != NULL:
            J[i * n + i] -= share * a * h * stiffness[i]
    if turning != NULL:
        # wrenches of the last residual
        add_geometric(m, self.lane.bodies.pose, self.lane.bodies.wrench, turning, share * a * h, x.column, J)


cdef void written_tangent(ModelStepper self, double by_q, double by_rate) noexcept nogil:
    # R = -(by_q dQ/dq d(q_m)/dy + by_rate dQ/dv) of the loads written in Python, C = 1
    cdef int k, i, n = self.nv
    cdef double[:, ::1] dq, dv
    cdef double* R = self.lane.operator.R + 3 * self.loads.pairs * n
    cdef double* C = self.lane.operator.C + 3 * self.loads.pairs * n
    memset(C, 0, n * n * sizeof(double))
    with gil:
        try:
            by_configuration, by_velocity = self.user.tangent(
                self.lane.clock.t + self.mid.kernel.alpha * self.lane.now.h, self.array(self.mid.qm, self.nq),
                self.array(self.mid.rate, n), self.array(self.lane.drive.u, self.shared.schedule.nu))
            dq, dv = by_configuration, by_velocity
            for k in range(n):
                C[k * n + k] = 1.0
                for i in range(n):
                    R[k * n + i] = -by_q * dq[k, i]
                mid_row(self.shared.m, stage_multi(self), False, 1.0, R + k * n)
                for i in range(n):
                    R[k * n + i] -= by_rate * dv[k, i]
        except BaseException as error:
            self.fail(error)


cdef void midpoint_by_increments(ModelStepper self, int first, int end, double* row) noexcept nogil:
    if self.shared.m.nmulti:
        mid_end_row(self.shared.m, self.lane.newton.y, first, end, row)


cdef void midpoint_linearise_at_rest(ModelStepper self) noexcept nogil:
    memset(self.lane.operator.R, 0, self.shared.choices.extra * self.nv * sizeof(double))


cdef void midpoint_answer_at_rest(ModelStepper self, const double* r, double* d) noexcept nogil:
    # d = -h M^-1 r
    cdef int k
    aba(self.shared.m, NO_GRAVITY, self.lane.state.q, self.shared.zeros, r, NULL, d, self.lane.bodies.aba)
    for k in range(self.nv):
        d[k] *= -self.lane.now.h
    clear_locked(self, d)


# ---- islands with a plan: mu is minus the correction of the multipliers ---------------------------------


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


cdef int midpoint_front_block(ModelStepper self):
    return 0 if midpoint_dense(self) or self.shared.choices.solver == RIQN else 18


cdef double midpoint_front_sense(ModelStepper self) noexcept nogil:
    # at rest J is -M/h
    return -self.lane.now.h


cdef void midpoint_apply_by_plans(ModelStepper self, const double* r, double* d, double* z) noexcept nogil:
    # constraints within a floating tree do not act on its translation
    cdef MidTrees* x = &self.mid.trees
    cdef const Island* on
    cdef int k
    if not (self.mid.relative and x.direct):
        variational_apply_by_plans(self, r, d, z)
        return
    mid_take_translation(self.shared.m, x, r, 0, self.shared.m.nbody)
    variational_apply_by_plans(self, x.rest, d, z)
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan != NULL:
            mid_give_translation(self.shared.m, self.lane.now.h, x, self.lane.newton.y, on.body, on.body_end, d)


cdef void midpoint_note_joints(ModelStepper self, int first, int end, Signs* signs) noexcept nogil:
    mid_factor(midpoint_at(self), first, end, self.mid.turning_now, self.mid.stiffness_now, True, signs)


cdef void midpoint_place_front(ModelStepper self, int i, FrontBody* x, bint whole) noexcept nogil:
    # pairs 0 and 1: displacements and changes of twists in the middle; 2: at the nodes
    x.t_row[0] = x.t_row[1] = x.t_col[0] = x.t_col[1] = self.mid.body[i].t
    if whole:
        mid_front_body(midpoint_at(self), i, self.mid.turning_now, self.mid.stiffness_now, x)
