# The steps of the midpoint variational integrator (Johnson & Murphey 2009), of one instance or of several, a lane each.
# Loads, which only a step of one instance has, and residual and operator by the derivatives of the tree are in
# midpoint_loads.pxi.

cdef struct MidpointLane:               # data of a lane for this discretisation
    MidStep kernel                      # the data of the kernels: see `midpoint_at`
    MidBody* body                       # (nbody,)
    MidBlock* block                     # (nbody,)
    MidSolve* work                      # (stages, nbody): separate for each substep
    MidMulti* multi                     # (stages, nmulti) joints of several coordinates
    vt_real* qm                         # (nq,) the middle
    double* rate                        # (nv,) y/h
    vt_real* L_rate                     # (nv,) derivatives of the Lagrangian at q_m
    vt_real* L_q
    vt_real* force                      # (nv,) joint forces at q_m: tau and those of the loads
    double* turning                     # (nbody, 27) derivatives of the loads: see load_tangents
    double* stiffness                   # (nv,)
    MidTrees trees                      # number of floating trees
    bint tree                           # the residual is that by the derivatives of the tree
    bint relative                       # the kinetic energy of the COM of floating trees is evaluated between the nodes
    const double* turning_now           # of the current operator, or NULL
    const double* stiffness_now


cdef int midpoint_make(ModelStepper self) except -1:
    # of a rule that is known, and floating trees if it is relative; after Newton's
    cdef MidpointLane* x = &self.mid
    cdef Memory memory = self.memory
    cdef const vt_model* m = self.shared.m
    cdef int stages = self.shared.choices.stages
    x.body = <MidBody*>memory.scratch(m.nbody * sizeof(MidBody))
    x.block = <MidBlock*>memory.scratch(m.nbody * sizeof(MidBlock))
    x.work = <MidSolve*>memory.kept(stages * m.nbody * sizeof(MidSolve))
    x.multi = <MidMulti*>memory.kept(stages * m.nmulti * sizeof(MidMulti))
    x.qm = memory.scratch_reals(m.nq)
    x.L_rate, x.L_q = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.kernel.body, x.kernel.block, x.kernel.L_rate, x.kernel.L_q = x.body, x.block, x.L_rate, x.L_q
    x.kernel.increment, x.kernel.slope, x.kernel.trees = self.lane.newton.y, self.lane.servos.slope, NULL
    if x.relative:
        mid_trees_place(&x.trees, memory.scratch(mid_trees_size(m)), m)
        x.trees.direct, x.kernel.trees = True, &x.trees
    x.force = self.lane.drive.tau
    if model_loaded(self) or self.shared.ndrive:
        x.force = memory.scratch_reals(m.nv)
    return 0


cdef int midpoint_make_lanes(ModelStepper self, const LanePlan* plan) except -1:
    newton_of_steps(self, 0, False, NULL)
    mid_rule(&self.mid.kernel, plan.alpha, plan.backward)
    self.mid.relative = plan.relative
    return midpoint_make(self)


cdef bint midpoint_fits_lanes(ModelStepper self) noexcept:
    return not self.mid.tree and variational_fits_lanes(self)


cdef MidMulti* stage_multi(ModelStepper self) noexcept nogil:
    return self.mid.multi + self.lane.newton.stage * self.shared.m.nmulti


cdef MidStep* midpoint_at(ModelStepper self) noexcept nogil:
    # the data of the kernels in the current substep
    cdef MidStep* step = &self.mid.kernel
    step.m, step.h = self.shared.m, self.lane.now.h
    step.work = self.mid.work + self.lane.newton.stage * step.m.nbody
    step.multi = self.mid.multi + self.lane.newton.stage * step.m.nmulti
    return step


cdef void forget_trees(ModelStepper self) noexcept nogil:
    # node 1 is that of the state
    if self.mid.relative:
        mid_node(self.shared.m, self.lane.state.q, &self.mid.trees)


cdef int midpoint_prepare(ModelStepper self) noexcept nogil:
    forget_trees(self)
    return predict_answers(self) if self.lane.bodies.predicts else OK


cdef double midpoint_node_share(ModelStepper self) noexcept nogil:
    # the weight of floating trees acts in halves at both nodes, for any alpha
    return 0.5 if self.mid.relative else self.mid.kernel.start


cdef double midpoint_force_share(ModelStepper self) noexcept nogil:
    return self.mid.kernel.alpha


# ---- residual ------------------------------------------------------------------------------------


cdef void midpoint_sweep_out(ModelStepper self) noexcept nogil:
    # poses, twists and momenta of the bodies at q_m; by the tree: the Lagrangian's first derivatives
    if self.mid.tree:
        sweep_tree(self)
    else:
        mid_forward(midpoint_at(self), self.lane.state.q, self.mid.qm)


cdef vt_real midpoint_evaluate(ModelStepper self) noexcept nogil:
    # r = -(p1 + D1 Ld + f-), from both derivatives of L and the forces at q_m
    cdef const vt_model* m = self.shared.m
    cdef Newton* x = &self.lane.newton
    cdef const vt_real* force = self.lane.drive.tau
    cdef const vt_real* wrench = NULL
    cdef MidStep* step
    cdef int k
    self.method.sweep_out(self)
    step = midpoint_at(self)
    if model_loaded(self):
        wrench = load_middle(self)
        force = self.mid.force
    if self.shared.ndrive:
        drive_trial(self, self.mid.kernel.alpha)
        for k in range(self.nv):
            self.mid.force[k] = self.lane.servos.force[k] + force[k]
    if not self.mid.tree:
        mid_backward(step, wrench)
    elif wrench != NULL:
        project_on_tree(self)
    mid_residual(step, self.lane.state.x, self.mid.force, x.r)
    return vt_select(vt_lt(mid_turn_square(m, x.y), vt_set1(MID_TURN)), largest(x.r, self.nv), vt_set1(INFINITY))


cdef vt_real midpoint_measure(ModelStepper self) noexcept nogil:
    # max(|p1|, h |dL/dq|, h |force|): forces may cancel, these terms do not
    cdef vt_real size = vt_max_nan(largest(self.mid.L_q, self.nv), largest(self.mid.force, self.nv))
    if self.mid.relative:
        size = vt_max_nan(size, largest(self.mid.trees.weight, self.nv))
    return vt_max_nan(largest(self.lane.state.x, self.nv), fabs(self.lane.now.h) * size)


cdef vt_real midpoint_kinetic(ModelStepper self) noexcept nogil:
    # 2 T = dL/dv . y/h
    cdef vt_real size = vt_set1(0.0)
    cdef int i
    for i in range(self.nv):
        size = size + self.mid.L_rate[i] * self.lane.newton.y[i]
    return size / vt_set1(self.lane.now.h)


cdef Vec3 midpoint_tree_momentum(ModelStepper self, int root) noexcept nogil:
    # remains of the inward sweep over the tree
    return zero3() if self.mid.tree else self.mid.body[root].f


cdef vt_real midpoint_impulse(ModelStepper self, int k) noexcept nogil:
    cdef vt_real size = vt_max(vt_abs(self.mid.L_q[k]), vt_abs(self.mid.force[k]))
    if self.mid.relative:
        size = vt_max(size, vt_abs(self.mid.trees.weight[k]))
    return fabs(self.lane.now.h) * size


# ---- operator --------------------------------------------------------------------------------------


cdef int midpoint_linearise(ModelStepper self) noexcept nogil:
    return linearise_by(self, self.shared.m, 1.0)


cdef void factor_joints(ModelStepper self, const vt_model* m, const vt_real* turning, const vt_real* stiffness) noexcept nogil:
    # J = -dr/dy in the form of the recursive elimination
    cdef MidStep* step = midpoint_at(self)
    cdef Signs signs
    cdef int k
    step.m = m
    signs_begin(&signs)
    for k in range(self.shared.islands.range_count):
        mid_factor(step, self.shared.islands.range[2 * k], self.shared.islands.range[2 * k + 1], turning, stiffness, True,
                   &signs)
    note_signs(self, &signs)


cdef void midpoint_operator_parts(ModelStepper self, OperatorPart* part) noexcept nogil:
    cdef const vt_model* m = self.shared.m
    part[0].at, part[0].size = self.mid.work + self.lane.newton.stage * m.nbody, m.nbody * sizeof(MidSolve)
    part[1].at, part[1].size = stage_multi(self), m.nmulti * sizeof(MidMulti)


cdef void midpoint_apply_inverse(ModelStepper self, const vt_real* r, int first, int end, vt_real* d) noexcept nogil:
    if self.shared.choices.solver == RIQN:
        midpoint_answer_at_rest(self, r, d)
    else:
        mid_solve(midpoint_at(self), r, first, end, d)


# ---- node 2 ------------------------------------------------------------------------------------------


cdef int midpoint_finish(ModelStepper self) noexcept nogil:
    # q2 = q1 (+) y, p2 = D2 Ld + f+ - r
    cdef Newton* x = &self.lane.newton
    integrate(self.shared.m, self.lane.state.q, x.y, self.lane.state.q2)
    mid_end(midpoint_at(self), x.r, self.mid.force, self.lane.state.x2)
    lock_node(self, SUBSTEP_ROWS)
    return OK


cdef void midpoint_entries(Method* x) noexcept:
    x.prepare, x.sweep_out, x.evaluate, x.measure = midpoint_prepare, midpoint_sweep_out, midpoint_evaluate, midpoint_measure
    x.kinetic, x.tree_momentum, x.impulse = midpoint_kinetic, midpoint_tree_momentum, midpoint_impulse
    x.linearise, x.apply_inverse = midpoint_linearise, midpoint_apply_inverse
    x.fits_lanes, x.make_lanes, x.operator_parts = midpoint_fits_lanes, midpoint_make_lanes, midpoint_operator_parts
    x.finish, x.node_share, x.force_share = midpoint_finish, midpoint_node_share, midpoint_force_share
