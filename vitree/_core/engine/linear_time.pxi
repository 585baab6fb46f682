# The steps of the linear-time variational integrator (Lee et al. 2016), of one instance or of several, a lane each.
# Loads, which only a step of one instance has, are in linear_time_loads.pxi.

cdef struct LinearTimeLane:             # data of a lane for this discretisation
    LinearTimeStep kernel               # the data of the kernels: see `linear_time_at`
    int* started                        # node1 and weight1 are those of the state
    Node* node1                         # (nbody,)
    Node* node2
    Trial* trial
    Trial* rest                         # the trial without motion
    Solve* work
    Gains* gains                        # (stages, nbody): separate for each substep
    MultiGains* multi                   # (stages, nmulti) joints of several coordinates
    vt_real* weight1                    # (nv,) gravity and wrenches at the nodes, projected
    vt_real* weight2
    vt_real* force                      # (nv,) joint forces in the middle
    vt_real* rhs                        # (nv,) p1 + (h/2) forces at node 1
    vt_real* pull                       # (nv,) twice the force at node 1 of the springs in the middle, or NULL
    double* qm                          # (nq,) the middle, where potentials written in Python are evaluated
    double* half                        # (nv,) y/2
    double* written                     # (nv,) their force there
    bint averaged


cdef int linear_time_make(ModelStepper self, int split) except -1:
    # after Newton's
    cdef LinearTimeLane* x = &self.linear
    cdef Memory memory = self.memory
    cdef const vt_model* m = self.shared.m
    cdef int stages = self.shared.choices.stages
    x.started = memory.kept_ints(1, 0, 1)
    x.node1, x.node2 = <Node*>memory.kept(m.nbody * sizeof(Node)), <Node*>memory.scratch(m.nbody * sizeof(Node))
    x.trial = <Trial*>memory.scratch(m.nbody * sizeof(Trial))
    x.rest = <Trial*>memory.scratch(m.nbody * sizeof(Trial))
    x.work = <Solve*>memory.scratch(m.nbody * sizeof(Solve))
    x.gains = <Gains*>memory.kept(stages * m.nbody * sizeof(Gains))
    x.multi = <MultiGains*>memory.kept(stages * m.nmulti * sizeof(MultiGains))
    x.weight1, x.weight2 = memory.kept_reals(m.nv), memory.scratch_reals(m.nv)
    x.rhs = memory.scratch_reals(m.nv)
    x.kernel.m, x.kernel.node, x.kernel.solve = m, x.node1, x.work
    x.kernel.slope, x.kernel.split = self.lane.servos.slope, split
    return 0


cdef int linear_time_make_lanes(ModelStepper self, const LanePlan* plan) except -1:
    newton_of_steps(self, 0, False, NULL)
    linear_time_make(self, plan.split)
    self.linear.force = self.lane.drive.tau
    return 0


cdef LinearTimeStep* linear_time_at(ModelStepper self, Trial* trial) noexcept nogil:
    # the data of the kernels in the current substep
    cdef LinearTimeStep* step = &self.linear.kernel
    cdef int stage = self.lane.newton.stage
    step.h, step.trial, step.increment = self.lane.now.h, trial, self.lane.newton.y
    step.gains, step.multi = self.linear.gains + stage * step.m.nbody, self.linear.multi + stage * step.m.nmulti
    return step


cdef void linear_time_leave(ModelStepper self) noexcept nogil:
    self.linear.started[0] = False


# ---- node 1 --------------------------------------------------------------------------------------------


cdef int linear_time_prepare(ModelStepper self) noexcept nogil:
    # node 1 and the forces at it
    cdef int status
    if not self.linear.started[0]:
        lt_node(self.shared.m, self.lane.state.q, self.linear.kernel.split, self.linear.node1)
    place_springs(self)
    if self.lane.bodies.predicts:
        status = predict_forces(self)
        if status != OK:
            return status
    if not self.linear.started[0] or inputs_load(self):
        # inputs differ from step to step
        node_weight(self, self.lane.clock.t, self.lane.state.q, self.linear.node1, self.linear.weight1)
        self.linear.started[0] = True
    impel(self)
    return OK


cdef void node_weight(ModelStepper self, double t, const vt_real* q, const Node* x, vt_real* weight) noexcept nogil:
    # generalised force at a node of gravity and of the loads that depend on q, except those that are solved for
    cdef const vt_real* wrench = wrench_at_node(self, t, q)
    lt_weight(self.shared.m, x, wrench, self.linear.work, weight)
    if wrench != NULL:
        add_load_forces(self, weight)


cdef void impel(ModelStepper self) noexcept nogil:
    # rhs = p1 + (h/2) (weight at node 1 + force in the middle)
    cdef double half = 0.5 * self.lane.now.h
    cdef int k
    for k in range(self.nv):
        self.linear.rhs[k] = self.lane.state.x[k] + half * (self.linear.weight1[k] + self.linear.force[k])


# ---- increments: a free joint's position moves on a straight line --------------------------------------


cdef void linear_time_by_velocities(ModelStepper self, vt_real* y) noexcept nogil:
    lt_straighten(self.shared.m, y)


# ---- residual ------------------------------------------------------------------------------------------


cdef vt_real linear_time_evaluate(ModelStepper self) noexcept nogil:
    # r = momentum at node 1, including that of rotors, + damping and friction - (h/2) (drives and springs) - rhs
    cdef Newton* x = &self.lane.newton
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    cdef double half = -0.5 * self.lane.now.h, one
    cdef vt_real least, e
    cdef int i, k
    if self.shared.choices.implicit:
        forces_in_middle(self)
    lt_trial(step, &least)
    lt_residual(step, self.linear.rhs, x.r)
    if step.slope != NULL:
        drive_trial(self, 0.5)
    spring_trial(self)
    if step.slope != NULL:
        for k in range(self.nv):
            x.r[k] = x.r[k] + half * self.lane.servos.force[k]
    if self.linear.pull != NULL:
        for k in range(self.nv):
            x.r[k] = x.r[k] + half * self.linear.pull[k]
    e = largest(x.r, self.nv)
    for i in range(VT_WIDTH):
        one = vt_get(e, i)
        x.now[i].turned = isfinite(one) and not vt_get(least, i) > 0.0
        if not (vt_get(least, i) > 0.0 and isfinite(one)):
            vt_put(&e, i, INFINITY)
    return e


cdef vt_real linear_time_measure(ModelStepper self) noexcept nogil:
    # max(|p1|, (h/2) |weight|, (h/2) |force|, (h/2) |drive|, (h/2) |spring|): forces may cancel, these terms do not
    cdef vt_real size = vt_max_nan(largest(self.linear.weight1, self.nv), largest(self.linear.force, self.nv))
    if self.linear.kernel.slope != NULL:
        size = vt_max_nan(size, largest(self.lane.servos.force, self.nv))
    if self.linear.pull != NULL:
        size = vt_max_nan(size, largest(self.linear.pull, self.nv))
    return vt_max_nan(largest(self.lane.state.x, self.nv), 0.5 * fabs(self.lane.now.h) * size)


cdef vt_real linear_time_kinetic(ModelStepper self) noexcept nogil:
    # 2 T = (sum of f.p + g.w, and of armature y^2)/h^2
    cdef const Trial* s
    cdef const vt_model* m = self.shared.m
    cdef const vt_real* y = self.lane.newton.y
    cdef double inverse = 1.0 / self.lane.now.h
    cdef vt_real size = vt_set1(0.0)
    cdef int i
    for i in range(m.nbody):
        if m.body[i].inert:
            s = &self.linear.trial[i]
            size = size + (dot(s.f, s.p) + dot(s.g, s.w))
    if m.rotors:
        for i in range(self.nv):
            size = size + armature_of(m, i) * y[i] * y[i]
    return size * inverse * inverse


cdef Vec3 linear_time_tree_momentum(ModelStepper self, int root) noexcept nogil:
    # remains of the residual's sweep over the tree
    return scale(vt_set1(1.0 / self.lane.now.h), self.linear.trial[root].F)


cdef vt_real linear_time_impulse(ModelStepper self, int k) noexcept nogil:
    cdef vt_real size = vt_max(vt_abs(self.linear.weight1[k]), vt_abs(self.linear.force[k]))
    if self.linear.kernel.slope != NULL:
        size = vt_max(size, vt_abs(self.lane.servos.force[k]))
    if self.linear.pull != NULL:
        size = vt_max(size, vt_abs(self.linear.pull[k]))
    return 0.5 * fabs(self.lane.now.h) * size


# ---- operator --------------------------------------------------------------------------------------------


cdef int linear_time_linearise(ModelStepper self) noexcept nogil:
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    cdef Signs signs
    cdef int k
    couple_springs(self, step, True)
    if self.lane.now.cause == CALLBACK_FAILED:
        return CALLBACK_FAILED
    if self.shared.choices.solver == NEWTON:
        return linear_time_dense_operator(self, step)
    signs_begin(&signs)
    for k in range(self.shared.islands.range_count):
        lt_factor(step, self.shared.islands.range[2 * k], self.shared.islands.range[2 * k + 1], &signs)
    note_signs(self, &signs)
    return OK


cdef void linear_time_operator_parts(ModelStepper self, OperatorPart* part) noexcept nogil:
    cdef const vt_model* m = self.shared.m
    cdef int stage = self.lane.newton.stage
    part[0].at, part[0].size = self.linear.gains + stage * m.nbody, m.nbody * sizeof(Gains)
    part[1].at, part[1].size = self.linear.multi + stage * m.nmulti, m.nmulti * sizeof(MultiGains)


cdef void linear_time_apply_inverse(ModelStepper self, const vt_real* r, int first, int end, vt_real* d) noexcept nogil:
    cdef bint rests = self.shared.choices.solver == RIQN
    lt_solve(linear_time_at(self, self.linear.rest if rests else self.linear.trial), r, first, end, d)


# ---- node 2 ----------------------------------------------------------------------------------------------


cdef int linear_time_finish(ModelStepper self) noexcept nogil:
    # q2 = q1 (+) y, and p2 = momentum at node 2 + (h/2) (weight at node 2 + forces in the middle) - r
    cdef Newton* x = &self.lane.newton
    cdef State* at = &self.lane.state
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    cdef int k
    lt_advance_q(self.shared.m, at.q, x.y, at.q2)
    lock_node(self, SUBSTEP_ROWS)
    lt_node(self.shared.m, at.q2, self.linear.kernel.split, self.linear.node2)
    stand_at_end(self)
    node_weight(self, self.lane.clock.t + self.lane.now.h, at.q2, self.linear.node2, self.linear.weight2)
    for k in range(self.nv):
        x.d[k] = self.linear.weight2[k] + self.linear.force[k]
    if step.slope != NULL:
        for k in range(self.nv):
            x.d[k] = x.d[k] + self.lane.servos.force[k]
    push_springs(self, step, x.d)
    lt_end(step, self.linear.node2, x.r, x.d, at.x2)
    return OK


cdef void linear_time_pass_on(ModelStepper self) noexcept nogil:
    # node 2 becomes node 1; kept memory, which lanes do not have, stays where it is
    cdef LinearTimeLane* x = &self.linear
    if VT_WIDTH > 1:
        x.node1, x.node2 = x.node2, x.node1
        x.weight1, x.weight2 = x.weight2, x.weight1
        x.kernel.node = x.node1
    else:
        memcpy(x.node1, x.node2, self.shared.m.nbody * sizeof(Node))
        memcpy(x.weight1, x.weight2, self.nv * sizeof(vt_real))


cdef void linear_time_entries(Method* x) noexcept:
    x.prepare, x.evaluate, x.measure = linear_time_prepare, linear_time_evaluate, linear_time_measure
    x.kinetic, x.tree_momentum, x.impulse = linear_time_kinetic, linear_time_tree_momentum, linear_time_impulse
    x.linearise, x.apply_inverse = linear_time_linearise, linear_time_apply_inverse
    x.make_lanes, x.operator_parts = linear_time_make_lanes, linear_time_operator_parts
    x.finish, x.pass_on, x.leave = linear_time_finish, linear_time_pass_on, linear_time_leave
    x.by_velocities = linear_time_by_velocities
