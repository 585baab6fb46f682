# The terms that a linear-time step of one instance has beside gravity, joint forces and drives: loads, springs that are
# solved for, potentials written in Python, a dense operator, islands of constraints.

cdef int make_linear_time(ModelStepper self, dict options) except -1:
    cdef int split = options.get("split", TWIST)
    cdef bint averaged = options.get("averaged", False)
    cdef Choices* c = &self.shared.choices
    make_touching(self, options)
    self.linear.averaged, self.shared.choices.written = averaged, averaged and self.shared.user_rests
    springs_make(&self.springs, self.memory, self.shared.load, self.shared.nload, averaged, self.shared.choices.written,
                 self.shared.m)
    if self.springs.joints and not self.shared.ndrive:
        servos_make(&self.lane.servos, self.memory, self.springs.joints, self.nv)
    make_variational(self, options)
    c.costs.correction, c.costs.factor = 1.7 + 0.03 * c.extra, 1.9 + 0.1 * c.extra
    c.stiff = self.springs.joints > 0 or c.extra > 0
    c.renews = not (self.shared.count or c.extra)
    linear_time_make(self, split)
    if self.shared.choices.written:
        self.linear.qm, self.linear.half = self.memory.scratch_reals(self.nq), self.memory.scratch_reals(self.nv)
        self.linear.written = self.memory.scratch_reals(self.nv)
    self.linear.pull = self.springs.pull
    self.lane.bodies.predicts = linear_time_moved(self) and not self.shared.choices.implicit
    self.linear.force = self.memory.scratch_reals(self.nv) if linear_time_moved(self) else self.lane.drive.tau
    return 0


cdef int linear_time_coupled_rows(ModelStepper self):
    return self.springs.coupled + (self.nv if self.shared.choices.written else 0)


cdef double linear_time_weight(ModelStepper self):
    return variational_weight(self) + springs_rounding(&self.springs)


cdef bint linear_time_solves_forces(ModelStepper self) noexcept nogil:
    return self.shared.choices.stiff or model_solves_forces(self)


cdef int linear_time_front_block(ModelStepper self):
    return 6


# ---- forces --------------------------------------------------------------------------------------------


cdef const double* wrench_at_node(ModelStepper self, double t, const double* q) noexcept nogil:
    # wrenches of the loads that depend on q, except those that are solved for, or NULL; their joint forces are separate
    cdef Bodies* b = &self.lane.bodies
    if not (self.springs.nodes > 0 if self.linear.averaged else model_loaded(self)):
        return NULL
    forward_kinematics(self.shared.m, q, b.pose)
    apply_list(self, self.springs.node, self.springs.nodes, RESTING, q, self.shared.zeros)
    if not self.linear.averaged:
        apply_written(self, RESTING, t, q, self.shared.zeros)
    return b.wrench


cdef void add_load_forces(ModelStepper self, double* weight) noexcept nogil:
    vt_add_row(self.nv, 1.0, self.lane.bodies.load_force, weight)


cdef bint inputs_load(ModelStepper self) noexcept nogil:
    # whether loads at node 1 depend on inputs
    return self.loads.inputs


cdef void place_springs(ModelStepper self) noexcept nogil:
    pairs_place(&self.linear.kernel, &self.springs)


cdef void spring_trial(ModelStepper self) noexcept nogil:
    # the forces that are solved for at a trial: on coordinates, including those of drives, and others, as they are at
    # node 1
    cdef Springs* x = &self.springs
    cdef double* y = self.lane.newton.y
    if self.linear.kernel.slope != NULL:
        spring_step(x, self.lane.state.q, y, self.lane.now.h, self.lane.servos.force, self.lane.servos.slope)
    if x.pull != NULL:
        memset(x.pull, 0, self.nv * sizeof(double))
        pairs_pull(&self.linear.kernel, x)
    if self.shared.choices.written:
        written_trial(self)


cdef void written_trial(ModelStepper self) noexcept nogil:
    # pull += the potentials written in Python, evaluated at q_m
    cdef int k
    for k in range(self.nv):
        self.linear.half[k] = 0.5 * self.lane.newton.y[k]
    lt_advance_q(self.shared.m, self.lane.state.q, self.linear.half, self.linear.qm)
    memset(self.linear.written, 0, self.nv * sizeof(double))
    written_loads(self, RESTING, self.lane.clock.t + 0.5 * self.lane.now.h, self.linear.qm, NULL, self.linear.written)
    add_halfway(self, 1.0, self.springs.pull)


cdef void add_halfway(ModelStepper self, double sense, double* out) noexcept nogil:
    # out += twice their force at q_m, mapped to node 1, or with the sense -1 to node 2
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
    cdef double* R = self.lane.operator.R + self.springs.coupled * n
    cdef double* C = self.lane.operator.C + self.springs.coupled * n
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


cdef int predict_forces(ModelStepper self) noexcept nogil:
    # in the middle, predicted from the start of the step
    cdef Newton* x = &self.lane.newton
    cdef int status = predict_middle(self, x.v, x.a, x.d)
    if status == OK:
        middle_forces(self)
    return status


cdef void forces_in_middle(ModelStepper self) noexcept nogil:
    # of the trial
    if not linear_time_moved(self):
        return
    linear_time_middle(self)
    middle_forces(self)
    if self.ask_inputs is not None and self.loads.inputs:
        node_weight(self, self.lane.clock.t, self.lane.state.q, self.linear.node1, self.linear.weight1)
    impel(self)


cdef void push_springs(ModelStepper self, const LinearTimeStep* step, double* force) noexcept nogil:
    # force at node 2 += that of springs and of potentials written in Python
    cdef Springs* x = &self.springs
    if x.push == NULL:
        return
    memset(x.push, 0, self.nv * sizeof(double))
    pairs_push(step, x, self.linear.node2)
    if self.shared.choices.written:
        add_halfway(self, -1.0, x.push)
    vt_add_row(self.nv, 1.0, x.push, force)


# ---- increments ----------------------------------------------------------------------------------------


cdef void linear_time_middle(ModelStepper self) noexcept nogil:
    # halfway in the sense of each joint: symmetric in the nodes
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


cdef void linear_time_by_increments(ModelStepper self, int first, int end, double* row) noexcept nogil:
    if self.shared.m.nmulti:
        lt_end_row(self.shared.m, self.lane.newton.y, first, end, row)


cdef void linear_time_answer_wrenches(ModelStepper self, int body, int first, int end, bint fresh,
                                      int width, double* d) noexcept nogil:
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    if fresh:
        lt_turn_gains(step, first, end)
    lt_answer_wrenches(step, body, first, end, self.contact.side, width, d)


cdef void linear_time_answer_joints(ModelStepper self, const SideJoints* joints, int first, int end, bint fresh, int width,
                                    double* d) noexcept nogil:
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.trial)
    if fresh:
        lt_turn_gains(step, first, end)
    lt_answer_joints(step, joints, first, end, self.contact.side, width, d)


cdef void linear_time_displaced(ModelStepper self, int body, double* out) noexcept nogil:
    # rotation and displacement of the origin at node 2
    store3(out, self.linear.work[body].w)
    store3(out + 3, self.linear.work[body].v)


cdef int linear_time_open_node(ModelStepper self) noexcept nogil:
    middle_forces(self)
    lt_node(self.shared.m, self.lane.state.q, self.linear.kernel.split, self.linear.node1)
    pairs_place(&self.linear.kernel, &self.springs)
    node_weight(self, self.lane.clock.t, self.lane.state.q, self.linear.node1, self.linear.weight1)
    impel(self)
    return self.lane.now.cause


# ---- bodies in contact ---------------------------------------------------------------------------------


cdef void linear_time_stand_touched(ModelStepper self) noexcept nogil:
    # from the displacements of the trial: R2 = D R1, o2 = o1 + move
    cdef Touching* x = &self.contact
    cdef const Trial* trial = self.linear.trial
    cdef const Pose* at
    cdef Pose* to
    cdef int body, i, up
    x.placed2 = x.told2 = False
    for body in range(self.shared.m.nbody):
        x.stands[body] = False
    for body in range(self.shared.m.nbody - 1, -1, -1):
        i = body if x.port_of_body[body] >= 0 or x.on_rope[body] else -1
        while i >= 0 and not x.stands[i]:
            at, to, x.stands[i] = &x.pose1[i], &x.pose2[i], True
            to.R = mat3(turned(&trial[i], at.R.x), turned(&trial[i], at.R.y), turned(&trial[i], at.R.z))
            to.o = add(at.o, trial[i].move)
            up = self.shared.m.body[i].parent
            to.t = add(at.t, sub(trial[i].move, trial[up].move)) if up >= 0 else to.o
            i = up


cdef void stand_at_end(ModelStepper self) noexcept nogil:
    # all bodies, where node 2 has them
    cdef Touching* x = &self.contact
    cdef const Node* at
    cdef int i, up
    if not self.ntouch:
        return
    for i in range(self.shared.m.nbody):
        at, up = &self.linear.node2[i], self.shared.m.body[i].parent
        x.pose2[i].R, x.pose2[i].t = at.R, at.t
        x.pose2[i].o = add(x.pose2[up].o, at.t) if up >= 0 else at.t
    memcpy(x.at2, self.lane.state.q2, self.nq * sizeof(double))
    x.placed2 = True


# ---- operator ------------------------------------------------------------------------------------------


cdef int linear_time_dense_operator(ModelStepper self, const LinearTimeStep* step) noexcept nogil:
    cdef double* J = self.lane.operator.J
    cdef int k
    lt_jacobian(step, J)
    for k in range(self.nv):
        linear_time_by_increments(self, 0, self.shared.m.nbody, J + k * self.nv)
    return factor_dense(self)


cdef void couple_springs(ModelStepper self, const LinearTimeStep* step, bint moved) noexcept nogil:
    # C and R of a trial; moved: of one that is not at rest
    cdef Operator* op = self.lane.operator
    cdef int k
    pairs_couple(step, &self.springs, op.C, op.R)
    if moved:
        for k in range(self.springs.coupled):
            linear_time_by_increments(self, 0, self.shared.m.nbody, op.R + k * self.nv)
    if self.shared.choices.written and moved:
        written_rows(self)


cdef void linear_time_linearise_at_rest(ModelStepper self) noexcept nogil:
    cdef LinearTimeStep* step = linear_time_at(self, self.linear.rest)
    cdef Signs signs
    cdef double least
    cdef int k
    step.increment = self.shared.zeros
    lt_trial(step, &least)
    for k in range(self.springs.pairs):
        pair_trial(step, &self.springs.pair[k], &self.springs.ends[k])
    couple_springs(self, step, False)
    step.increment = self.lane.newton.y
    signs_begin(&signs)
    lt_factor(step, 0, step.m.nbody, &signs)


# ---- islands with a plan: mu is h times the correction of the multipliers -------------------------------


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
