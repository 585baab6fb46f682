# The linear-time variational integrator's steps (Lee et al. 2016).

cdef struct LinearTimeLane:             # what a lane owns of this discretisation
    LinearTimeStep kernel               # what the kernels work on: see `at`
    int* started                        # node1 and weight1 are those of the state
    Node* node1                         # (nbody,)
    Node* node2
    Trial* trial
    Trial* rest                         # the trial of no motion
    Solve* work
    Gains* gains                        # (stages, nbody): each substep has its own
    MultiGains* multi                   # (stages, nmulti) joints of several coordinates
    double* weight1                     # (nv,) gravity and wrenches at the nodes, projected
    double* weight2
    double* force                       # (nv,) joint forces in the middle
    double* rhs                         # (nv,) p1 + (h/2) forces at node 1
    Springs springs                     # that are solved for
    double* qm                          # (nq,) the middle, where potentials written in Python are solved for
    double* half                        # (nv,) y/2
    double* written                     # (nv,) their force there
    bint averaged


cdef int linear_time_make(LinearTimeLane* x, Memory memory, const vt_model* m, int stages) except -1:
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
    return 0


cdef int make_linear_time(ModelStepper self, dict options) except -1:
    cdef int split = options.get("split", TWIST)
    cdef bint averaged = options.get("averaged", False)
    cdef Choices* c = &self.shared.choices
    self.linear.averaged, self.shared.choices.written = averaged, averaged and self.shared.user_rests
    springs_make(&self.linear.springs, self.memory, self.shared.load, self.shared.nload, averaged, self.shared.choices.written,
                 self.shared.m)
    if self.linear.springs.joints and not self.shared.ndrive:
        servos_make(&self.lane.servos, self.memory, self.linear.springs.joints, self.nv)
    make_variational(self, options)
    c.costs.correction, c.costs.factor = 1.7 + 0.03 * c.extra, 1.9 + 0.1 * c.extra
    c.stiff = self.linear.springs.joints > 0 or c.extra > 0
    linear_time_make(&self.linear, self.memory, self.shared.m, c.stages)
    if self.shared.choices.written:
        self.linear.qm, self.linear.half = self.memory.scratch_reals(self.nq), self.memory.scratch_reals(self.nv)
        self.linear.written = self.memory.scratch_reals(self.nv)
    self.linear.kernel.slope = self.lane.servos.slope
    self.linear.kernel.split = split
    self.lane.bodies.predicts = linear_time_moved(self) and not self.shared.choices.implicit
    self.linear.force = self.memory.scratch_reals(self.nv) if linear_time_moved(self) else self.lane.drive.tau
    return 0


cdef int linear_time_coupled_rows(ModelStepper self):
    return self.linear.springs.coupled + (self.nv if self.shared.choices.written else 0)


cdef double linear_time_weight(ModelStepper self):
    return variational_weight(self) + springs_rounding(&self.linear.springs)


cdef bint linear_time_solves_forces(ModelStepper self) noexcept nogil:
    return self.shared.choices.stiff or model_solves_forces(self)


cdef int linear_time_front_block(ModelStepper self):
    return 6


cdef LinearTimeStep* linear_time_at(ModelStepper self, Trial* trial) noexcept nogil:
    # what the kernels work on, in the substep at hand
    cdef LinearTimeStep* step = &self.linear.kernel
    cdef int stage = self.lane.newton.stage
    step.h, step.trial, step.increment = self.lane.now.h, trial, self.lane.newton.y
    step.gains, step.multi = self.linear.gains + stage * step.m.nbody, self.linear.multi + stage * step.m.nmulti
    return step


cdef void linear_time_leave(ModelStepper self) noexcept nogil:
    self.linear.started[0] = False


# ---- forces --------------------------------------------------------------------------------------


cdef void node_weight(ModelStepper self, double t, const double* q, const Node* x, double* weight) noexcept nogil:
    # generalised force at a node of gravity and of the loads that depend on q, but for those that are solved for
    cdef Bodies* b = &self.lane.bodies
    cdef bint loaded = self.linear.springs.nodes > 0 if self.linear.averaged else model_loaded(self)
    cdef int k
    if loaded:
        forward_kinematics(self.shared.m, q, b.pose)
        apply_list(self, self.linear.springs.node, self.linear.springs.nodes, RESTING, q, self.shared.zeros)
        if not self.linear.averaged:
            apply_written(self, RESTING, t, q, self.shared.zeros)
    lt_weight(self.shared.m, x, b.wrench if loaded else NULL, self.linear.work, weight)
    if loaded:
        for k in range(self.nv):
            weight[k] += b.load_force[k]


cdef void spring_trial(ModelStepper self) noexcept nogil:
    # the forces of what is solved for at a trial: on coordinates, with the drives', and others, as they are at node 1
    cdef Springs* x = &self.linear.springs
    cdef double* y = self.lane.newton.y
    if self.linear.kernel.slope != NULL:
        drive_trial(self, 0.5)
        spring_step(x, self.lane.state.q, y, self.lane.now.h, self.lane.servos.force, self.lane.servos.slope)
    if x.pull != NULL:
        memset(x.pull, 0, self.nv * sizeof(double))
        pairs_pull(&self.linear.kernel, x)
    if self.shared.choices.written:
        written_trial(self)


cdef void written_trial(ModelStepper self) noexcept nogil:
    # pull += the potentials written in Python, asked at q_m
    cdef int k
    for k in range(self.nv):
        self.linear.half[k] = 0.5 * self.lane.newton.y[k]
    lt_advance_q(self.shared.m, self.lane.state.q, self.linear.half, self.linear.qm)
    memset(self.linear.written, 0, self.nv * sizeof(double))
    written_loads(self, RESTING, self.lane.clock.t + 0.5 * self.lane.now.h, self.linear.qm, NULL, self.linear.written)
    add_halfway(self, 1.0, self.linear.springs.pull)


cdef void add_halfway(ModelStepper self, double sense, double* out) noexcept nogil:
    # out += twice what their force at q_m is at node 1, or with the sense -1 at node 2
    cdef double* Q = self.lane.bodies.inertial
    cdef int i
    memcpy(Q, self.linear.written, self.nv * sizeof(double))
    for i in range(self.shared.m.nbody):
        halfway_force(&self.shared.m.body[i], self.linear.half, sense, Q)
    vt_add_row(self.nv, 1.0, Q, out)


cdef void written_rows(ModelStepper self) noexcept nogil:
    # C = 1, R = -(h/2) d(pull)/dy of the potentials written in Python
    cdef const vt_model* m = self.shared.m
    cdef int k, j, i, l, n = self.nv
    cdef double half = -0.5 * self.lane.now.h
    cdef double[:, ::1] slopes
    cdef double* R = self.lane.operator.R + self.linear.springs.coupled * n
    cdef double* C = self.lane.operator.C + self.linear.springs.coupled * n
    cdef double* column = self.lane.bodies.inertial
    memset(C, 0, n * n * sizeof(double))
    with gil:
        try:
            slopes = self.user.hessian(self.array(self.linear.qm, self.nq))
            for k in range(n):
                C[k * n + k] = 1.0
                for i in range(n):
                    R[k * n + i] = 0.5 * half * slopes[k, i]
        except BaseException as error:
            self.fail(error)
            return
    for k in range(n):
        # rows by displacements at q_m become rows by y
        lt_end_row(m, self.linear.half, 0, m.nbody, R + k * n)
    for i in range(m.nbody):
        if joint_multi(&m.body[i]):
            j = m.body[i].iv
            for k in range(n):
                for l in range(j, j + m.body[i].nv):
                    column[l] = R[l * n + k]
                halfway_force(&m.body[i], self.linear.half, 1.0, column)
                for l in range(j, j + m.body[i].nv):
                    R[l * n + k] = column[l]
            halfway_turn(&m.body[i], self.linear.half, self.linear.written, half, n, R + j * n + j)


cdef bint rated(ModelStepper self) noexcept nogil:
    # whether loads depend on velocities
    return self.loads.rates > 0 or self.shared.user_moves


cdef bint linear_time_moved(ModelStepper self) noexcept nogil:
    # whether forces in the middle change from step to step
    return self.shared.schedule.calls_user or rated(self)


cdef void middle_forces(ModelStepper self) noexcept nogil:
    # joint forces, and loads that depend on velocities, at (q2, v)
    cdef int k
    if not linear_time_moved(self):
        return
    memcpy(self.linear.force, self.lane.drive.tau, self.nv * sizeof(double))
    if rated(self):
        place_bodies(self, self.lane.state.q2, self.lane.newton.v)
        apply_to_bodies(self, RATES, self.lane.clock.t + 0.5 * self.lane.now.h, self.lane.state.q2,
                             self.lane.newton.v)
        project_wrenches(self, self.linear.force)
        for k in range(self.nv):
            self.linear.force[k] += self.lane.bodies.load_force[k]


cdef void impel(ModelStepper self) noexcept nogil:
    # rhs = p1 + (h/2) (weight at node 1 + force in the middle)
    cdef int k
    for k in range(self.nv):
        self.linear.rhs[k] = self.lane.state.x[k] + 0.5 * self.lane.now.h * (self.linear.weight1[k] + self.linear.force[k])


# ---- increments: a free joint's position moves straight ------------------------------------------------


cdef void linear_time_middle(ModelStepper self) noexcept nogil:
    # halfway in each joint's sense: the same seen from both nodes
    cdef Newton* x = &self.lane.newton
    cdef int k
    for k in range(self.nv):
        x.d[k] = 0.5 * x.y[k]
        x.v[k] = x.y[k] / self.lane.now.h
    lt_advance_q(self.shared.m, self.lane.state.q, x.d, self.lane.state.q2)
    lt_turn_velocity(self.shared.m, x.d, x.v)


cdef void linear_time_increment_to(ModelStepper self, const double* q2) noexcept nogil:
    lt_increment(self.shared.m, self.lane.state.q, q2, self.lane.newton.y)


cdef void linear_time_reach_node(ModelStepper self, const double* y, double* q2) noexcept nogil:
    lt_advance_q(self.shared.m, self.lane.state.q, y, q2)


cdef void linear_time_by_velocities(ModelStepper self, double* y) noexcept nogil:
    lt_straighten(self.shared.m, y)


cdef void linear_time_by_increments(ModelStepper self, int first, int end, double* row) noexcept nogil:
    if self.shared.m.nmulti:
        lt_end_row(self.shared.m, self.lane.newton.y, first, end, row)


# ---- a step --------------------------------------------------------------------------------------


cdef int linear_time_prepare(ModelStepper self) noexcept nogil:
    # node 1 and the forces at it
    cdef Newton* x = &self.lane.newton
    cdef int status
    if not self.linear.started[0]:
        lt_node(self.shared.m, self.lane.state.q, self.linear.kernel.split, self.linear.node1)
    pairs_place(&self.linear.kernel, &self.linear.springs)
    if self.lane.bodies.predicts:
        status = predict_middle(self, x.v, x.a, x.d)
        if status != OK:
            return status
        middle_forces(self)
    if not self.linear.started[0] or self.loads.inputs:
        # inputs differ from step to step
        node_weight(self, self.lane.clock.t, self.lane.state.q, self.linear.node1, self.linear.weight1)
        self.linear.started[0] = True
    impel(self)
    return OK


cdef int linear_time_open_node(ModelStepper self) noexcept nogil:
    middle_forces(self)
    lt_node(self.shared.m, self.lane.state.q, self.linear.kernel.split, self.linear.node1)
    pairs_place(&self.linear.kernel, &self.linear.springs)
    node_weight(self, self.lane.clock.t, self.lane.state.q, self.linear.node1, self.linear.weight1)
    impel(self)
    return self.lane.now.cause


cdef double linear_time_evaluate(ModelStepper self) noexcept nogil:
    # r = momentum at node 1, that of rotors with it, + damping and friction - (h/2) (drives and springs) - rhs
    cdef Newton* x = &self.lane.newton
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    cdef double least, e
    if self.shared.choices.implicit and linear_time_moved(self):
        linear_time_middle(self)
        middle_forces(self)
        if self.ask_inputs is not None and self.loads.inputs:
            node_weight(self, self.lane.clock.t, self.lane.state.q, self.linear.node1, self.linear.weight1)
        impel(self)
    lt_trial(step, &least)
    lt_residual(step, self.linear.rhs, x.r)
    spring_trial(self)
    if step.slope != NULL:
        vt_add_row(self.nv, -0.5 * self.lane.now.h, self.lane.servos.force, x.r)
    if self.linear.springs.pull != NULL:
        vt_add_row(self.nv, -0.5 * self.lane.now.h, self.linear.springs.pull, x.r)
    e = largest(x.r, self.nv)
    x.now.turned = isfinite(e) and not least > 0.0
    return e if least > 0.0 and isfinite(e) else INFINITY


cdef double linear_time_measure(ModelStepper self) noexcept nogil:
    # max(|p1|, (h/2) |weight|, (h/2) |force|, (h/2) |drive|, (h/2) |spring|): forces may balance each other, their
    # terms do not
    cdef double size = vt_max_nan(largest(self.linear.weight1, self.nv), largest(self.linear.force, self.nv))
    if self.linear.kernel.slope != NULL:
        size = vt_max_nan(size, largest(self.lane.servos.force, self.nv))
    if self.linear.springs.pull != NULL:
        size = vt_max_nan(size, largest(self.linear.springs.pull, self.nv))
    return vt_max_nan(largest(self.lane.state.x, self.nv), 0.5 * fabs(self.lane.now.h) * size)


cdef double linear_time_kinetic(ModelStepper self) noexcept nogil:
    # 2 T = (sum of f.p + g.w, and of armature y^2)/h^2
    cdef const Trial* s
    cdef double size = 0.0, inverse = 1.0 / self.lane.now.h
    cdef int i
    for i in range(self.shared.m.nbody):
        if self.shared.m.body[i].inert:
            s = &self.linear.trial[i]
            size += dot(s.f, s.p) + dot(s.g, s.w)
    if self.shared.m.rotors:
        for i in range(self.nv):
            size += self.shared.m.armature[i] * self.lane.newton.y[i] * self.lane.newton.y[i]
    return size * inverse * inverse


cdef Vec3 linear_time_tree_momentum(ModelStepper self, int root) noexcept nogil:
    # what the residual has left of the tree
    return scale(1.0 / self.lane.now.h, self.linear.trial[root].F)


cdef double linear_time_impulse(ModelStepper self, int k) noexcept nogil:
    cdef double size = max(fabs(self.linear.weight1[k]), fabs(self.linear.force[k]))
    if self.linear.kernel.slope != NULL:
        size = max(size, fabs(self.lane.servos.force[k]))
    if self.linear.springs.pull != NULL:
        size = max(size, fabs(self.linear.springs.pull[k]))
    return 0.5 * fabs(self.lane.now.h) * size


cdef int linear_time_linearise(ModelStepper self) noexcept nogil:
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    cdef double* J = self.lane.operator.J
    cdef Signs signs
    cdef int k
    couple_springs(self, step, True)
    if self.lane.now.cause == CALLBACK_FAILED:
        return CALLBACK_FAILED
    if self.shared.choices.solver == NEWTON:
        lt_jacobian(step, J)
        for k in range(self.nv):
            linear_time_by_increments(self, 0, self.shared.m.nbody, J + k * self.nv)
        return factor_dense(self)
    signs_begin(&signs)
    for k in range(self.shared.islands.range_count):
        lt_factor(step, self.shared.islands.range[2 * k], self.shared.islands.range[2 * k + 1], &signs)
    self.lane.operator.sound[0] = soundness(&signs)
    return OK


cdef void couple_springs(ModelStepper self, const LinearTimeStep* step, bint moved) noexcept nogil:
    # C and R of a trial; moved: of one that is not at rest
    cdef Operator* op = self.lane.operator
    cdef int k
    pairs_couple(step, &self.linear.springs, op.C, op.R)
    if moved:
        for k in range(self.linear.springs.coupled):
            linear_time_by_increments(self, 0, self.shared.m.nbody, op.R + k * self.nv)
    if self.shared.choices.written and moved:
        written_rows(self)


# ---- islands that have a plan: mu is h times the multipliers' correction --------------------------------


cdef void linear_time_place_front(ModelStepper self, int i, FrontBody* x, bint whole) noexcept nogil:
    cdef LinearTimeStep* step
    cdef const vt_body* b = &self.shared.m.body[i]
    cdef Block A
    cdef double* D = x.D
    front_columns(b, x, 6)
    if not whole:
        return
    step = linear_time_at(self, self.linear.trial)
    A = zero_block()
    if b.inert:
        lt_body_block(step, i, &A)
    front_matrix(&A, x.A)
    memset(D, 0, joint_nv(b) * joint_nv(b) * sizeof(double))
    if not joint_multi(b):
        D[0] = lt_slopes(step, b, 0.0)
    elif step.m.damped:
        lt_damping(step.m, b, step.increment, 0.5 * step.h, D, b.nv)


cdef double linear_time_front_share(ModelStepper self) noexcept nogil:
    return -self.lane.now.h


cdef void linear_time_note_joints(ModelStepper self, int first, int end, Signs* signs) noexcept nogil:
    lt_factor(linear_time_at(self, self.linear.trial), first, end, signs)


cdef void linear_time_end_front(ModelStepper self, int first, int end, double* d) noexcept nogil:
    cdef int i
    for i in range(first, end):
        if joint_multi(&self.shared.m.body[i]):
            joint_increment_change(&self.shared.m.body[i], self.lane.newton.y, d)


cdef void linear_time_linearise_at_rest(ModelStepper self) noexcept nogil:
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.rest)
    cdef Signs signs
    cdef double least
    cdef int k
    step.increment = self.shared.zeros
    lt_trial(step, &least)
    for k in range(self.linear.springs.pairs):
        pair_trial(step, &self.linear.springs.pair[k], &self.linear.springs.ends[k])
    couple_springs(self, step, False)
    step.increment = self.lane.newton.y
    signs_begin(&signs)
    lt_factor(step, 0, step.m.nbody, &signs)


cdef void linear_time_apply_inverse(ModelStepper self, const double* r, int first, int end, double* d) noexcept nogil:
    cdef bint rests = self.shared.choices.solver == RIQN
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.rest if rests else self.linear.trial)
    lt_solve(step, r, first, end, d)


cdef int linear_time_finish(ModelStepper self) noexcept nogil:
    # q2 = q1 (+) y, and p2 = momentum at node 2 + (h/2) (weight at node 2 + forces in the middle) - r
    cdef Newton* x = &self.lane.newton
    cdef State* at = &self.lane.state
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    cdef int k
    lt_advance_q(self.shared.m, at.q, x.y, at.q2)
    lock_node(self, SUBSTEP_ROWS)
    lt_node(self.shared.m, at.q2, self.linear.kernel.split, self.linear.node2)
    node_weight(self, self.lane.clock.t + self.lane.now.h, at.q2, self.linear.node2, self.linear.weight2)
    for k in range(self.nv):
        x.d[k] = self.linear.weight2[k] + self.linear.force[k]
    if step.slope != NULL:
        vt_add_row(self.nv, 1.0, self.lane.servos.force, x.d)
    if self.linear.springs.push != NULL:
        memset(self.linear.springs.push, 0, self.nv * sizeof(double))
        pairs_push(step, &self.linear.springs, self.linear.node2)
        if self.shared.choices.written:
            add_halfway(self, -1.0, self.linear.springs.push)
        vt_add_row(self.nv, 1.0, self.linear.springs.push, x.d)
    lt_end(step, self.linear.node2, x.r, x.d, at.x2)
    return OK


cdef void linear_time_pass_on(ModelStepper self) noexcept nogil:
    memcpy(self.linear.node1, self.linear.node2, self.shared.m.nbody * sizeof(Node))
    memcpy(self.linear.weight1, self.linear.weight2, self.nv * sizeof(double))
