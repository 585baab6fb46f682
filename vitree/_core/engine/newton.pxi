# The variational integrators' steps (Lee et al. 2016): a guess of the increment y that leads from q1 to q2, then passes
# of residual, judgement, operator, direction and correction until the discrete Euler-Lagrange equations
#     r(y) + Dh(q1)^T lam = 0,    h(q2(y)) = 0
# hold to the tolerance. What is left of r is carried into the momentum.

cdef enum:
    GUESS_AUTO = 0
    GUESS_CURRENT = 1
    GUESS_EULER = 2
    GUESS_SEMI_IMPLICIT = 3
    GUESS_ABA = 4
    GUESS_EXTRAPOLATE = 5
    GUESS_EXTRAPOLATE_2 = 6
    GUESS_EXTRAPOLATE_3 = 7
    GUESS_EXTRAPOLATE_4 = 8

GUESSES = {"auto": GUESS_AUTO, "current": GUESS_CURRENT, "euler": GUESS_EULER, "semi-implicit": GUESS_SEMI_IMPLICIT,
           "aba": GUESS_ABA, "extrapolate": GUESS_EXTRAPOLATE, "extrapolate-2": GUESS_EXTRAPOLATE_2,
           "extrapolate-3": GUESS_EXTRAPOLATE_3, "extrapolate-4": GUESS_EXTRAPOLATE_4}

cdef enum:
    SUBSTEP_ROWS = 2    # rows of prescribed motion in a substep

#: How well constraints are closed, in units of the mechanism's size (at least a metre)
cdef double CLOSED = 2e-13
#: A factorisation whose correction leaves more than this share takes the answers of loads anew the next time
cdef double LINKED = 1e-4
#: Goals below this number would be solved for in numbers that lose digits
cdef double SMALLEST_GOAL = 1e-300


cdef int make_variational(ModelStepper self, dict options) except -1:
    cdef Choices* c = &self.shared.choices
    cdef Lane* lane = &self.lane
    cdef int k, n = self.nv
    cdef Py_ssize_t broyden
    choose(self, options)
    self.motion_rows = SUBSTEP_ROWS * c.stages
    if c.extra or c.solver == RIQN or self.method.dense(self):
        divide(self, True)
    if self.method.front_block(self):
        fronts_of_steps(&lane.fronts, self.memory, &self.shared.islands, self.shared.m, c.stages,
                        self.method.front_block(self), self.method.front_block(self) == 6, self.method.front_block(self) > 6)
    broyden = (<Py_ssize_t>c.max_iterations + 2) * (n + self.shared.count) if c.solver == BROYDEN else 0
    lane.progress = progress_make(self.memory)
    newton_make(&lane.newton, self.memory, n, self.shared.count, c.extra, broyden)
    lane.newton.share = 1.0
    if self.shared.plain and c.solver != BROYDEN:
        lane.newton.own = self.shared.own
    lane.guesses = <Guess*>self.memory.given(c.stages * sizeof(Guess))
    lane.push_guesses = <Guess*>self.memory.given(c.stages * sizeof(Guess))
    lane.economies = <Economy*>self.memory.kept(c.stages * sizeof(Economy))
    lane.operators = <Operator*>self.memory.given(c.stages * sizeof(Operator))
    for k in range(c.stages):
        economy_bounds(&lane.economies[k], self.memory)
        guess_make(&lane.guesses[k], self.memory, n)
        guess_make(&lane.push_guesses[k], self.memory, self.shared.count)
        operator_make(&lane.operators[k], self.memory, n, self.shared.count, c.extra, self.method.dense(self),
                      &self.shared.islands if self.shared.plain else NULL)
    use(self, 0)
    return 0


cdef int choose(ModelStepper self, dict options) except -1:
    # how the step is solved; the step `span` is that of a system at rest if steps adapt
    cdef Choices* c = &self.shared.choices
    cdef int k
    c.solver, c.guess = options.get("solver", AUTO), options.get("guess", GUESS_AUTO)
    c.tolerance, c.max_iterations = options.get("tolerance", 1e-9), options.get("max_iterations", 30)
    c.halvings, c.adapt = options.get("halvings", 0), options.get("adapt", 0)
    c.rate0, c.density_given = options.get("rate", 1.0), options.get("density", NAN)
    c.pace = c.rate0 * self.shared.schedule.span
    self.shared.schedule.adaptive = c.adapt != 0
    shares = options.get("shares", (1.0,))
    c.rounding = max(ROUNDING * self.method.weight(self), SMALLEST_GOAL)
    c.stages, c.share = len(shares), self.memory.given_reals(len(shares))
    for k in range(c.stages):
        c.share[k] = shares[k]
    c.required = SAME
    choose_norm(self, options.get("inertia_scale"))
    c.rounding += ROUNDING * drive_weight(self)
    self.shared.limited = False
    for k in range(self.shared.ndrive):
        self.shared.limited = self.shared.limited or self.shared.drive[k].effort != INFINITY
    c.implicit, c.extra = c.stages > 1, self.method.coupled_rows(self)
    c.links = not self.shared.choices.written
    return 0


cdef int choose_norm(ModelStepper self, inertia) except -1:
    # inertia: sqrt(M_kk) (nv,) of the norm of the kinetic energy, or None: the largest entry
    cdef Choices* c = &self.shared.choices
    cdef int k
    c.gain = NULL
    if inertia is None:
        return 0
    c.gain, c.heaviest = self.memory.given_reals(self.nv), max(inertia)
    for k in range(self.nv):
        c.gain[k] = c.heaviest / inertia[k]
    return 0


cdef double variational_weight(ModelStepper self):
    # an upper bound of the torques and forces of gravity on the joints: where something balances them, the residual
    # is the rounding of terms of this size
    cdef const vt_model* m = self.shared.m
    cdef double total = 0.0, g = vt_sqrt(m.g[0] * m.g[0] + m.g[1] * m.g[1] + m.g[2] * m.g[2])
    cdef int i
    reach = []
    for i in range(m.nbody):
        before = reach[m.body[i].parent] if m.body[i].parent >= 0 else 0.0
        reach.append(before + vt_sqrt(dot(constant3(m.body[i].p), constant3(m.body[i].p))))
        total += m.body[i].mass * g * max(
            1.0, reach[i] + vt_sqrt(dot(constant3(m.body[i].com), constant3(m.body[i].com))))
    return total


cdef double drive_weight(ModelStepper self):
    # the same of the forces of drives about their targets, in the norm of the residual
    cdef const vt_drive* d
    cdef const double* gain = self.shared.choices.gain
    cdef double most = 0.0
    cdef int k
    for k in range(self.shared.ndrive):
        d = &self.shared.drive[k]
        most = max(most, d.kp * (1.0 + fabs(d.goal)) * (1.0 if gain == NULL else gain[d.iv]))
    return most


# ---- what a discretisation says ------------------------------------------------------------------


cdef bint variational_dense(ModelStepper self) noexcept nogil:
    # whether corrections are made with a dense matrix
    return self.shared.choices.solver == NEWTON


cdef double variational_front_sense(ModelStepper self) noexcept nogil:
    # a factor that makes the pivots of plans positive where nothing moves
    return 1.0


cdef double variational_front_share(ModelStepper self) noexcept nogil:
    # plans are solved for the residual times this; multipliers come out times minus this
    return 1.0


cdef void variational_end_front(ModelStepper self, int first, int end, double* d) noexcept nogil:
    # d of the bodies from first to end becomes a correction of the unknown
    pass


cdef void variational_reach_node(ModelStepper self, const double* y, double* q2) noexcept nogil:
    # q2, to which an increment leads
    integrate(self.shared.m, self.lane.state.q, y, q2)


cdef void variational_increment_to(ModelStepper self, const double* q2) noexcept nogil:
    # y, which leads from the state to q2
    difference(self.shared.m, self.lane.state.q, q2, self.lane.newton.y)


cdef void variational_by_velocities(ModelStepper self, double* y) noexcept nogil:
    # y, an increment by body velocities, becomes one of the unknown
    pass


# ---- histories -----------------------------------------------------------------------------------


cdef void use(ModelStepper self, int stage) noexcept nogil:
    # each substep of a composition has its own guess and operator
    self.lane.newton.stage = stage
    self.lane.guess, self.lane.push_guess = &self.lane.guesses[stage], &self.lane.push_guesses[stage]
    self.lane.economy = &self.lane.economies[stage]
    self.lane.operator = &self.lane.operators[stage]


cdef void forget(ModelStepper self) noexcept nogil:
    # start as if no step lay behind
    cdef int k
    for k in range(self.shared.choices.stages):
        self.lane.guesses[k].seen.count = 0
        self.lane.economies[k].have = False
        self.lane.operators[k].linked[0] = 0.0
    self.lane.progress.have_Dh = False
    no_multipliers(self)
    self.method.leave(self)
    if self.ntouch:
        self.own_touch.have_ports[0] = False


cdef void no_multipliers(ModelStepper self) noexcept nogil:
    memset(self.lane.held.lam, 0, self.shared.count * sizeof(double))


cdef void variational_begin(ModelStepper self) noexcept nogil:
    cdef Progress* progress = self.lane.progress
    cdef int k
    begin_contacts(self)
    for k in range(self.shared.choices.stages):
        economy_begin(&self.lane.economies[k])
    forget(self)
    use(self, 0)
    memset(progress, 0, sizeof(Progress))
    progress.opening, progress.density = True, NAN


cdef void variational_struck(ModelStepper self) noexcept nogil:
    # the counts of the run stay. The momentum is that before the node's kick: dry friction of joints that stood owes half
    # of its last impulse
    cdef Touching* x = &self.own_touch
    cdef int c
    forget(self)
    self.lane.clock.h_last, self.lane.clock.restarted, self.lane.progress.opening = 0.0, True, True
    for c in range(self.ntouch):
        if self.touch[c].kind == RUBS and x.way[3 * c] == 0.0:
            x.way[3 * c + 1], x.way[3 * c + 2] = 0.0, 0.5 * x.lam[3 * c]


cdef double variational_multiplier(ModelStepper self, int c) noexcept nogil:
    return self.lane.held.force[c]


# ---- predict: the first guess of y ------------------------------------------------------------------


cdef bint predict(ModelStepper self) noexcept nogil:
    # y; returns whether the increments of past steps gave it
    cdef Newton* x = &self.lane.newton
    cdef Guess* g = self.lane.guess
    cdef int kind = self.shared.choices.guess, fixed = kind - GUESS_EXTRAPOLATE_2 + 2
    if kind == GUESS_AUTO or kind >= GUESS_EXTRAPOLATE:
        if g.seen.count >= (fixed if kind >= GUESS_EXTRAPOLATE_2 else 4):
            guess_scale(g, self.nv, self.lane.now.h)
            guess_predict(g, self.nv, fixed if kind >= GUESS_EXTRAPOLATE_2 else 0, x.y)
            lock_increment(self)
            if self.shared.gears and x.own == NULL:
                predict_multipliers(self)
            return True
        kind = GUESS_ABA
    if kind == GUESS_CURRENT:
        memset(x.y, 0, self.nv * sizeof(double))
        lock_increment(self)
    else:
        self.method.guess_by_dynamics(self, 0.0 if kind == GUESS_EULER else 1.0 if kind == GUESS_SEMI_IMPLICIT else 0.5)
        if kind != self.shared.choices.guess:
            guess_rest(self)
    return False


cdef void predict_multipliers(ModelStepper self) noexcept nogil:
    # they are impulses, in proportion to the step as increments are, and have an order of their own
    cdef Guess* g = self.lane.push_guess
    if g.seen.count >= 4:
        guess_scale(g, self.shared.count, self.lane.now.h)
        guess_predict(g, self.shared.count, 0, self.lane.held.lam)


cdef void variational_guess_by_dynamics(ModelStepper self, double share) noexcept nogil:
    # y by the dynamics at the start of the step
    cdef Newton* x = &self.lane.newton
    if share != 0.0 and self.shared.choices.implicit and self.shared.schedule.calls_user:
        # under what is asked for at the start, not what the last substep left
        model_velocity(self, self.lane.state.q, self.lane.state.x, x.v)
        if may_ask(self, self.lane.state.q, x.v):
            self.ask(self.lane.clock.t, self.lane.state.q, x.v)
    increment_by_dynamics(self, share, x.y)
    lock_increment(self)


cdef void increment_by_dynamics(ModelStepper self, double share, double* y) noexcept nogil:
    # y = h v + share h^2 a, M v = p; (v, a) stay in Newton's
    cdef Newton* x = &self.lane.newton
    cdef double h = self.lane.now.h
    cdef int k
    model_velocity(self, self.lane.state.q, self.lane.state.x, x.v)
    for k in range(self.nv):
        y[k] = h * x.v[k]
    if share != 0.0:
        acceleration_in_step(self, self.lane.clock.t, self.lane.state.q, x.v, x.a)
        for k in range(self.nv):
            y[k] += share * h * h * x.a[k]
    self.method.by_velocities(self, y)


cdef void guess_rest(ModelStepper self) noexcept nogil:
    # the dynamics know nothing of what the step treats implicitly: a damped light link that is struck hardly moves,
    # where M^-1 p turns it far. No motion, from which an exact direction leads to (M/h + c/2)^-1 p, may be better
    cdef Newton* x = &self.lane.newton
    cdef double moving
    if not (self.method.solves_forces(self) or model_loaded(self)):
        return
    moving = variational_residual(self)
    memcpy(x.spare, x.y, self.nv * sizeof(double))
    memset(x.y, 0, self.nv * sizeof(double))
    lock_increment(self)
    if not variational_residual(self) < moving and isfinite(moving):
        memcpy(x.y, x.spare, self.nv * sizeof(double))


cdef void lock_increment(ModelStepper self) noexcept nogil:
    # prescribed coordinates move as they must
    cdef Locked* at = self.shared.locked
    cdef int k
    for k in range(self.shared.m.nlocked):
        self.lane.newton.y[at[k].iv] = locked_at(self, k, SUBSTEP_ROWS) - self.lane.state.q[at[k].iq]


cdef double second_guess(ModelStepper self, double e) noexcept nogil:
    # the extrapolation is suddenly poor, as after a blow: is what the dynamics say any better?
    cdef Newton* x = &self.lane.newton
    cdef double other
    memcpy(x.spare, x.y, self.nv * sizeof(double))
    self.method.guess_by_dynamics(self, 0.5)
    other = variational_residual(self)
    if not other <= e:
        memcpy(x.y, x.spare, self.nv * sizeof(double))
        other = variational_residual(self)
    self.lane.guess.seen.count = 0
    return other


cdef int predict_middle(ModelStepper self, double* v, double* a, double* d) noexcept nogil:
    # q_m = q (+) (h v/2 + h^2 a/8) and v + h a/2, v as it is told of the node and a being the last step's mean
    # acceleration; the user's functions are asked there: one call a step, second order
    cdef State* at = &self.lane.state
    cdef Bodies* b = &self.lane.bodies
    cdef double h = self.lane.now.h
    cdef int k
    cdef int status
    cdef bint held = False
    model_velocity(self, at.q, at.x, v)
    status = settle_node(self, v)
    if status != OK:
        return status
    if self.lane.clock.restarted:
        # no step lies behind: the acceleration under what is asked for at the start
        if self.shared.schedule.calls_user and self.ask(self.lane.clock.t, at.q, v) != OK:
            return CALLBACK_FAILED
        acceleration_in_step(self, self.lane.clock.t, at.q, v, a)
    elif self.ntouch and self.settled.jumped[0]:
        # an impact tells no acceleration
        memset(a, 0, self.nv * sizeof(double))
    else:
        for k in range(self.nv):
            a[k] = (v[k] - b.v_last[k]) / self.lane.clock.h_last
    memcpy(b.v_node, v, self.nv * sizeof(double))
    for k in range(self.nv):
        d[k] = h * (0.5 * v[k] + 0.125 * h * a[k])
        v[k] += 0.5 * h * a[k]
    if self.lane.clock.restarted:
        status = settle_ahead(self, v, &held)
        if status != OK:
            return status
        for k in range(self.nv if held else 0):
            d[k] = 0.25 * h * (b.v_node[k] + v[k])
    integrate(self.shared.m, at.q, d, at.q2)
    return self.ask(self.lane.clock.t + 0.5 * h, at.q2, v) if self.shared.schedule.calls_user else OK


# ---- residual ---------------------------------------------------------------------------------------


cdef double variational_residual(ModelStepper self) noexcept nogil:
    # r(y) + Dh(q1)^T lam, and h(q2); returns the largest entry of the first
    cdef Newton* x = &self.lane.newton
    cdef Holonomic* held = &self.lane.held
    cdef const Island* on
    cdef const vt_constraint* at
    cdef int c, k
    cdef double e
    if self.shared.choices.implicit and self.shared.schedule.calls_user:
        self.method.middle(self)
        if (not may_ask(self, self.lane.state.q2, x.v)
                or self.ask(self.lane.clock.t + 0.5 * self.lane.now.h, self.lane.state.q2, x.v) != OK):
            return NAN
    e = self.method.evaluate(self)
    self.lane.progress.residuals += 1
    if x.kick != NULL and isfinite(e):
        vt_add_row(self.nv, -1.0, x.kick, x.r)
        e = largest(x.r, self.nv)
    if not (self.shared.count or self.shared.m.nlocked):
        return weighted(self.shared.choices.gain, self.nv, x.r, e)
    if self.shared.count:
        if not self.lane.progress.have_Dh:
            constrain_at(self, self.lane.state.q, held.h, held.Dh1, held.hold1)
            self.lane.progress.have_Dh = True
            if self.lane.fronts.planned:
                memcpy(self.lane.fronts.pose1, self.lane.bodies.pose, self.shared.m.nbody * sizeof(Pose))
        self.method.reach_node(self, x.y, self.lane.state.q2)
        x.turned = False
        if self.shared.plain:
            constraints(self.shared.m, self.shared.constraint, self.shared.count, self.lane.state.q2, NULL, held.h, NULL,
                        NULL, NULL)
        else:
            constrain_at(self, self.lane.state.q2, held.h, held.Dh2, held.hold2)
        if self.lane.fronts.planned:
            memcpy(self.lane.fronts.pose2, self.lane.bodies.pose, self.shared.m.nbody * sizeof(Pose))
        for c in range(self.shared.count):
            on = model_island(self, c)
            if self.shared.plain:
                at = &self.shared.constraint[c]
                if x.own != NULL:
                    held.lam[c] = -x.r[x.own[c]] / (at.factor_a if x.own[c] == at.iv_a else at.factor_b)
                x.r[at.iv_a] += held.lam[c] * at.factor_a
                if at.iv_b >= 0:
                    x.r[at.iv_b] += held.lam[c] * at.factor_b
            elif on.plan == NULL:
                for k in range(on.v, on.v_end):
                    x.r[k] += held.lam[c] * held.Dh1[c * self.nv + k]
        if self.lane.fronts.planned:
            hold_by_plans(self, x.r)
    clear_locked(self, x.r)
    return weighted(self.shared.choices.gain, self.nv, x.r, largest(x.r, self.nv)) if isfinite(e) else e


cdef double variational_scale(ModelStepper self) noexcept nogil:
    # what the residual is compared with
    return self.method.measure(self) if self.shared.choices.gain == NULL else energy_scale(self)


cdef double energy_scale(ModelStepper self) noexcept nogil:
    # what the residual is compared with in that norm: sqrt(2 T M_max), with T of the frames in which the trees that
    # float rest, and the impulses; not less than the rounding errors of the momentum
    cdef Choices* c = &self.shared.choices
    cdef const vt_tree* tree
    cdef Vec3 P
    cdef double size = self.method.kinetic(self)
    cdef int k
    for k in range(self.shared.m.ntree):
        tree = &self.shared.m.tree[k]
        P = self.method.tree_momentum(self, tree.root)
        size = size - dot(along_tree(tree, P), P) / tree.mass
    size = c.heaviest * vt_sqrt(max(size, 0.0))
    for k in range(self.nv):
        size = vt_max_nan(size, c.gain[k] * self.method.impulse(self, k))
    return vt_max_nan(size, largest(self.lane.state.x, self.nv) * (10.0 * ROUNDING / c.tolerance))


cdef double motion_scale(ModelStepper self) noexcept nogil:
    # the momentum that prescribed coordinates bring along, M y/h: alone, and with the others, which may cancel it
    cdef Bodies* b = &self.lane.bodies
    cdef double* alone = self.lane.prescribed.v
    cdef double size
    memset(alone, 0, self.nv * sizeof(double))
    copy_locked(self, self.lane.newton.y, alone)
    rnea(self.shared.m, NO_GRAVITY, self.lane.state.q, self.shared.zeros, alone, b.inertial, b.rnea)
    size = largest(b.inertial, self.nv) / self.lane.now.h
    rnea(self.shared.m, NO_GRAVITY, self.lane.state.q, self.shared.zeros, self.lane.newton.y, b.inertial, b.rnea)
    return vt_max_nan(size, largest(b.inertial, self.nv) / self.lane.now.h)


cdef double variational_closed(ModelStepper self) noexcept nogil:
    # how well the constraints can be closed
    cdef Pose* pose = self.lane.bodies.pose
    cdef const vt_constraint* e
    cdef int i
    cdef double size = 1.0
    if self.shared.plain:
        for i in range(self.shared.count):
            e = &self.shared.constraint[i]
            size = max(size, fabs(e.factor_a * self.lane.state.q2[e.iq_a]), fabs(e.value))
        return CLOSED * size
    for i in range(self.shared.m.nbody):
        size = max(size, fabs(pose[i].o.x) + fabs(pose[i].o.y) + fabs(pose[i].o.z))
    return CLOSED * size


# ---- operator and direction -----------------------------------------------------------------------


cdef int variational_factor(ModelStepper self) noexcept nogil:
    # J - C^T R = -dr/dy at y, and its answers to the multipliers' rows Dh1^T
    cdef Operator* op = self.lane.operator
    cdef int k, status, n = self.nv, count = self.shared.count
    cdef double h = self.lane.now.h
    cdef bint linked = self.lane.newton.now.solver == AUTO and op.linked[0] == h
    if self.shared.choices.solver == RIQN:
        self.method.linearise_at_rest(self)
        self.lane.operator.sound[0] = SAME
    else:
        status = self.method.linearise(self)
        if status == OK and self.lane.fronts.planned:
            status = linearise_by_plans(self)
        if status != OK:
            return status
    if self.shared.choices.extra and not linked and variational_couple(self) != OK:
        return NOT_CONVERGED
    if not (self.shared.plain and linked):
        for k in range(count):
            if model_island(self, k).plan == NULL:
                variational_solve(self, self.lane.held.Dh1 + k * n, model_island(self, k), op.response + k * n)
    if self.shared.plain and not linked and factor_gears(self) != OK:
        return DEPENDENT
    if not linked:
        op.linked[0] = h if self.shared.choices.links and op.sound[0] != WRONG else 0.0
    self.lane.progress.factorisations += 1
    self.lane.economy.have = True
    self.lane.economy.age = 0
    return OK


cdef int factor_gears(ModelStepper self) noexcept nogil:
    # the factors of Dh J^-1 Dh^T, -h Dh M^-1 Dh^T where nothing moves, of each island
    cdef Operator* op = self.lane.operator
    cdef const vt_constraint* e
    cdef const Island* on
    cdef const int* member
    cdef const double* response
    cdef double* S
    cdef int i, c, k, rows
    for i in range(self.shared.islands.count):
        on = &self.shared.islands.at[i]
        member, rows, S = self.shared.islands.member + on.row, on.row_end - on.row, op.S + on.block
        for k in range(rows):
            response = op.response + member[k] * self.nv
            for c in range(rows):
                S[c * rows + k] = coupled_rate(&self.shared.constraint[member[c]], response)
        if lu_factor(S, rows, op.S_order + on.row) != OK:
            return DEPENDENT
        if lu_sign(S, rows, op.S_order + on.row) != sign_at_rest(self, rows):
            op.sound[0] = WRONG
    return OK


cdef int variational_couple(ModelStepper self) noexcept nogil:
    # the loads' answers J^-1 C^T, and the factors of B = 1 - R J^-1 C^T, which is 1 where nothing moves
    cdef Operator* op = self.lane.operator
    cdef const double* answer = op.response + self.shared.count * self.nv
    cdef int c, e, n = self.nv, extra = self.shared.choices.extra
    for c in range(extra):
        solve_apart(self, op.C + c * n, NULL, op.response + (self.shared.count + c) * n)
    for c in range(extra):
        for e in range(extra):
            op.B[c * extra + e] = (1.0 if e == c else 0.0) - vt_inner(n, op.R + c * n, answer + e * n)
    if lu_factor(op.B, extra, op.B_order) != OK:
        return NOT_CONVERGED
    if lu_sign(op.B, extra, op.B_order) < 0:
        op.sound[0] = WRONG
    return OK


cdef void variational_solve(ModelStepper self, const double* r, const Island* on, double* d) noexcept nogil:
    # (J - C^T R) d = r by the operator at hand: d = J^-1 r + J^-1 C^T w with B w = R J^-1 r
    cdef Operator* op = self.lane.operator
    cdef const double* answer = op.response + self.shared.count * self.nv
    cdef double* w = self.lane.newton.w + self.shared.count
    cdef int c, n = self.nv, extra = self.shared.choices.extra
    solve_apart(self, r, on, d)
    for c in range(extra):
        w[c] = vt_inner(n, op.R + c * n, d)
    if extra:
        lu_solve(op.B, extra, op.B_order, w)
    for c in range(extra):
        vt_add_row(n, w[c], answer + c * n, d)


cdef void solve_apart(ModelStepper self, const double* r, const Island* on, double* d) noexcept nogil:
    # J d = r, on an island or, with NULL, everywhere; prescribed coordinates do not move
    cdef int k
    self.lane.progress.solves += 1
    if not self.method.dense(self):
        if on == NULL:
            for k in range(self.shared.islands.range_count):
                self.method.apply_inverse(self, r, self.shared.islands.range[2 * k], self.shared.islands.range[2 * k + 1], d)
        else:
            self.method.apply_inverse(self, r, on.body, on.body_end, d)
        return
    memcpy(d, r, self.nv * sizeof(double))
    clear_locked(self, d)
    lu_solve(self.lane.operator.J, self.nv, self.lane.operator.order, d)


cdef int factor_dense(ModelStepper self) noexcept nogil:
    # prescribed coordinates stay out of the dense matrix
    cdef double* J = self.lane.operator.J
    cdef int i, j, n = self.nv
    for i in range(self.shared.m.nlocked):
        j = self.shared.locked[i].iv
        memset(J + j * n, 0, n * sizeof(double))
        J[j * n + j] = 1.0
    if lu_factor(J, n, self.lane.operator.order) != OK:
        return DEPENDENT
    # where nothing moves J is -M/h, but for the prescribed rows
    if lu_sign(J, n, self.lane.operator.order) == sign_at_rest(self, n - self.shared.m.nlocked):
        self.lane.operator.sound[0] = SAME
    else:
        self.lane.operator.sound[0] = ODD
    return OK


cdef int sign_at_rest(ModelStepper self, int n) noexcept nogil:
    # of the determinant of an (n, n) matrix that is -1/h times a positive definite one
    return -1 if n % 2 and self.lane.now.h > 0.0 else 1


cdef int direction(ModelStepper self) noexcept nogil:
    # the correction d of y, and z, that of the multipliers:
    #     (J - C^T R) d = r + Dh1^T z,  Dh2 d = -h,    d = (J - C^T R)^-1 r + (responses)^T z
    cdef Newton* x = &self.lane.newton
    cdef Operator* op = self.lane.operator
    cdef int k, status
    variational_solve(self, x.r, NULL, x.d)
    x.now.sound = op.sound[0] >= x.now.required
    for k in range(self.shared.islands.count):
        if self.shared.islands.at[k].plan != NULL:
            continue
        status = multiply_on(self, &self.shared.islands.at[k])
        if status != OK:
            return status
    x.turned = True
    for k in range(self.shared.count):
        x.z[self.shared.islands.member[k]] = x.w[k]
    if self.lane.fronts.planned:
        self.method.apply_by_plans(self, x.r, x.d, x.z)
    return OK


# ---- islands that have a plan ----------------------------------------------------------------------


cdef void place_fronts(ModelStepper self, const Island* on, bint whole) noexcept nogil:
    # their bodies: at nodes 1 and 2, and what the discretisation knows of them
    cdef Fronts* fronts = &self.lane.fronts
    cdef int i, last = fronts.block // 6 - 1
    cdef FrontBody* x
    for i in range(on.body, on.body_end):
        x = &fronts.body[i]
        x.t_row[last], x.R_row[last] = fronts.pose1[i].t, fronts.pose1[i].R
        x.t_col[last], x.R_col[last] = fronts.pose2[i].t, fronts.pose2[i].R
        self.method.place_front(self, i, x, whole)


cdef int linearise_by_plans(ModelStepper self) noexcept nogil:
    # factor the equations of these islands
    cdef Fronts* fronts = &self.lane.fronts
    cdef Holonomic* held = &self.lane.held
    cdef const Island* on
    cdef FrontWork* work
    cdef FrontFactors to
    cdef Signs signs
    cdef int k
    fronts_use(fronts, self.shared.m, self.lane.newton.stage)
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan == NULL:
            continue
        signs_begin(&signs)
        work = &fronts.work[k]
        work.z.sense = self.method.front_sense(self)
        to = front_factors_of(&fronts.factors[k], on.plan, &work.z, self.lane.newton.stage)
        place_fronts(self, on, True)
        if front_factor(on.plan, work, &to, self.shared.m, fronts.body, self.shared.constraint,
                        self.shared.islands.member + on.row, held.hold1, held.hold2, &signs) != OK:
            return DEPENDENT
        if soundness(&signs) != SAME:
            self.lane.operator.sound[0] = min(self.lane.operator.sound[0], soundness_between_nodes(self, on, signs.all))
    return OK


cdef int soundness_between_nodes(ModelStepper self, const Island* on, double all) noexcept nogil:
    # the signs of an island apart: those of its joints alone, and that of the multipliers' matrix, det(J) times which
    # is `all`. Where the step passes a singular configuration it is that of det(Dh2 Dh1^T)
    cdef const vt_model* m = self.shared.m
    cdef Fronts* fronts = &self.lane.fronts
    cdef Holonomic* held = &self.lane.held
    cdef const int* member = self.shared.islands.member + on.row
    cdef int c, n = self.nv, rows = on.row_end - on.row
    cdef Signs signs
    signs_begin(&signs)
    self.method.note_joints(self, on.body, on.body_end, &signs)
    if all * signs.all < 0.0:
        for c in range(rows):
            memset(held.Dh1 + member[c] * n, 0, n * sizeof(double))
            memset(held.Dh2 + member[c] * n, 0, n * sizeof(double))
            hold_row(m, &self.shared.constraint[member[c]], fronts.pose1, &held.hold1[member[c]],
                     held.Dh1 + member[c] * n)
            hold_row(m, &self.shared.constraint[member[c]], fronts.pose2, &held.hold2[member[c]],
                     held.Dh2 + member[c] * n)
        if sign_between_nodes(self, on, rows) * sign_at_rest(self, rows) >= 0:
            return WRONG
    return soundness(&signs)


cdef void variational_apply_by_plans(ModelStepper self, const double* r, double* d, double* z) noexcept nogil:
    # d and z, the corrections, on these islands
    cdef Fronts* fronts = &self.lane.fronts
    cdef const Island* on
    cdef const int* member
    cdef FrontFactors by
    cdef double* mu = self.lane.newton.w
    cdef double share = self.method.front_share(self)
    cdef int k, c
    fronts_use(fronts, self.shared.m, self.lane.newton.stage)
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan == NULL:
            continue
        member = self.shared.islands.member + on.row
        by = front_factors_of(&fronts.factors[k], on.plan, &fronts.work[k].z, self.lane.newton.stage)
        place_fronts(self, on, False)
        memset(d + on.v, 0, (on.v_end - on.v) * sizeof(double))
        front_solve(on.plan, &fronts.work[k], &by, self.shared.m, fronts.body, r, share, self.lane.held.h, member, d,
                    mu)
        self.method.end_front(self, on.body, on.body_end, d)
        for c in range(on.row_end - on.row):
            z[member[c]] = -mu[c] / share


cdef void hold_by_plans(ModelStepper self, double* r) noexcept nogil:
    # r += Dh(q1)^T lam on these islands
    cdef Fronts* fronts = &self.lane.fronts
    cdef const Island* on
    cdef int k, i, last = fronts.block // 6 - 1
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan == NULL:
            continue
        for i in range(on.body, on.body_end):
            fronts.body[i].t_row[last], fronts.body[i].R_row[last] = fronts.pose1[i].t, fronts.pose1[i].R
        add_held(self.shared.m, self.shared.constraint, self.lane.held.hold1, self.shared.islands.member + on.row,
                 on.row_end - on.row, self.lane.held.lam, on.body, on.body_end, fronts.body, fronts.block,
                 fronts.work[k].hung, r)


cdef int multiply_on(ModelStepper self, const Island* on) noexcept nogil:
    # w, the part of z on an island, and d
    cdef Newton* x = &self.lane.newton
    cdef const int* member = self.shared.islands.member + on.row
    cdef double* A = x.A + on.block
    cdef double* w = x.w + on.row
    cdef int c, sign, rows = on.row_end - on.row
    if self.shared.plain:
        for c in range(rows):
            w[c] = -self.lane.held.h[member[c]] - coupled_rate(&self.shared.constraint[member[c]], x.d)
        lu_solve(self.lane.operator.S + on.block, rows, self.lane.operator.S_order + on.row, w)
    else:
        schur_complement(self, on)
        if lu_factor(A, rows, x.order) != OK:
            return DEPENDENT
        sign = lu_sign(A, rows, x.order)
        lu_solve(A, rows, x.order, w)
        # where nothing moves A is -h Dh M^-1 Dh^T
        if sign != sign_at_rest(self, rows) and sign != sign_between_nodes(self, on, rows):
            x.now.sound = False
    for c in range(rows):
        vt_add_row(on.v_end - on.v, w[c], self.lane.operator.response + member[c] * self.nv + on.v, x.d + on.v)
    return OK


cdef int sign_between_nodes(ModelStepper self, const Island* on, int count) noexcept nogil:
    # the sign of det(-h Dh2 Dh1^T) of an island, or 0: another than at rest where the step passes a singular
    # configuration
    cdef Newton* x = &self.lane.newton
    cdef Holonomic* held = &self.lane.held
    cdef const int* member = self.shared.islands.member + on.row
    cdef double* A = x.A + on.block
    cdef int c, e, n = self.nv, width = on.v_end - on.v
    for c in range(count):
        for e in range(count):
            A[c * count + e] = inner(held.Dh2 + member[c] * n + on.v, held.Dh1 + member[e] * n + on.v, width)
    if lu_factor(A, count, x.order) != OK:
        return 0
    return lu_sign(A, count, x.order) * sign_at_rest(self, count)


cdef void schur_complement(ModelStepper self, const Island* on) noexcept nogil:
    # A w = right side on an island: Dh2 (response) w = -h - Dh2 d
    cdef Newton* x = &self.lane.newton
    cdef const double* response = self.lane.operator.response
    cdef Holonomic* held = &self.lane.held
    cdef const int* member = self.shared.islands.member + on.row
    cdef int c, e, entries, n = self.nv, rows = on.row_end - on.row
    cdef double* row
    cdef double* A = x.A + on.block
    cdef double* w = x.w + on.row
    for c in range(rows):
        # in place: the next residual makes Dh2 anew
        row = held.Dh2 + member[c] * n
        if not x.turned:
            self.method.by_increments(self, on.body, on.body_end, row)
        entries = nonzeros(row + on.v, on.v_end - on.v, held.columns)
        for e in range(rows):
            A[c * rows + e] = inner_at(row + on.v, response + member[e] * n + on.v, held.columns, entries)
        w[c] = -held.h[member[c]] - inner_at(row + on.v, x.d + on.v, held.columns, entries)


cdef void variational_broyden(ModelStepper self, int k) noexcept nogil:
    # Broyden's rank-one updates of the first operator, applied to its correction d
    # (Kelley 1995, algorithm brsol). Pass k leaves its correction in past[k]
    cdef Newton* x = &self.lane.newton
    cdef int j, i, n = self.nv, size = self.nv + self.shared.count
    cdef double* s = x.past + <Py_ssize_t>k * size
    cdef double* older
    cdef double* newer
    cdef double share
    memcpy(s, x.d, n * sizeof(double))
    memcpy(s + n, x.z, self.shared.count * sizeof(double))
    for j in range(k):
        older = x.past + <Py_ssize_t>j * size
        share = inner(older, s, size) / x.past_size[j]
        if j == k - 1:
            share = 1.0 / (1.0 - share)
            for i in range(size):
                s[i] *= share
        else:
            newer = older + size
            for i in range(size):
                s[i] += share * newer[i]
    x.past_size[k] = inner(s, s, size)
    memcpy(x.d, s, n * sizeof(double))
    memcpy(x.z, s + n, self.shared.count * sizeof(double))


cdef double shorten(ModelStepper self, double e) noexcept nogil:
    # a correction d that goes too far, past the corners of the drives' limits: along d the residual falls from r.d < 0
    # to a zero, as forces that hold back are monotone; it goes to about there
    cdef Newton* x = &self.lane.newton
    cdef double slope = x.slope, found, share
    cdef int trial, k
    for trial in range(SHORTER):
        found = inner(x.r, x.last, self.nv) if isfinite(e) else INFINITY
        if self.lane.now.cause == CALLBACK_FAILED or not slope < 0.0 or found <= -0.5 * slope:
            return e
        share = min(max(slope / (slope - found), 0.1), 0.7) if isfinite(e) else 0.25
        slope *= share
        for k in range(self.nv):
            x.y[k] -= (1.0 - share) * x.last[k]
            x.last[k] *= share
        for k in range(self.shared.count):
            self.lane.held.lam[k] -= (1.0 - share) * x.last_z[k]
            x.last_z[k] *= share
        e = variational_residual(self)
    return e


cdef void correct(ModelStepper self) noexcept nogil:
    # y += d, lam += dlam
    cdef Newton* x = &self.lane.newton
    cdef int k
    for k in range(self.nv):
        x.y[k] += x.d[k]
    for k in range(self.shared.count):
        self.lane.held.lam[k] += x.z[k]


# ---- passes -----------------------------------------------------------------------------------------


cdef int variational_iterate(ModelStepper self, int solver, int required) noexcept nogil:
    # passes until the step's equations hold, by operators of the signs required
    cdef Pass* p = self.lane.newton.now
    cdef int status, verdict, most = self.shared.choices.max_iterations
    cdef double closed = 0.0
    p.solver, p.k, p.most = solver, 0, min(PASSES, most) if solver == AUTO else most
    p.error_before, p.turned, p.required, p.sound = 0.0, False, required, True
    while True:
        p.error = variational_residual(self)
        if p.k > 0 and self.shared.limited and solver != BROYDEN:
            p.error = shorten(self, p.error)
        if self.lane.now.cause == CALLBACK_FAILED:
            return CALLBACK_FAILED
        if p.k == 0:
            status = first_pass(self, &closed)
            if status != OK:
                return status
        if self.shared.m.nlocked and p.k <= 2:
            p.scale = vt_max_nan(p.scale, motion_scale(self))
        if self.shared.choices.stiff and p.k > 0:
            p.scale = variational_scale(self)
        p.goal = max(self.shared.choices.tolerance * p.scale, self.shared.choices.rounding * fabs(self.lane.now.h))
        if self.shared.count:
            # the residual of the constraints counts as well, in units of their tolerance
            p.error = vt_max_nan(p.error, largest(self.lane.held.h, self.shared.count) * (p.goal / closed))
        note(self, p)
        verdict = judge(p, self.lane.economy, &self.shared.choices.costs)
        if verdict == DONE:
            return OK if follows_prediction(self, required) else WRONG_BRANCH
        if verdict == FAIL:
            return WRONG_BRANCH if p.error <= p.goal else TURNED_TOO_FAR if p.turned else NOT_CONVERGED
        economy_note(self.lane.economy, p, verdict)
        status = improve(self, p, verdict)
        if status != OK:
            return status
        p.error_before = p.error
        p.k += 1


cdef int first_pass(ModelStepper self, double* closed) noexcept nogil:
    # the scale of the step, and another guess if the first is poor
    cdef Pass* p = self.lane.newton.now
    cdef Economy* economy = self.lane.economy
    p.scale = variational_scale(self)
    if not isfinite(p.scale):
        return NOT_FINITE
    if self.shared.count:
        closed[0] = variational_closed(self)
    if (p.solver == AUTO and p.error > 1e-2 * p.scale and p.error > 30.0 * economy.first
            and self.lane.guess.seen.count >= 4):
        p.error = second_guess(self, p.error)
    economy.first = p.error
    return OK


cdef void note(ModelStepper self, const Pass* p) noexcept nogil:
    # what a pass tells the caller and the economy
    self.lane.now.error = p.error
    if p.k > 0 and isfinite(p.error):
        self.lane.now.contraction = p.error / p.error_before
        if p.solver == AUTO:
            economy_learn(self.lane.economy, p)
            if not self.lane.economy.reused and self.lane.now.contraction > LINKED:
                self.lane.operator.linked[0] = 0.0


cdef void stop_at_corners(ModelStepper self) noexcept nogil:
    # corrections end where friction changes its sign, and where drives reach their limits
    cdef Newton* x = &self.lane.newton
    cdef double share = 1.0
    if self.shared.m.rubbing:
        stop_at_rest(self.shared.m, self.lane.now.h, x.y, x.d)
    if self.shared.ndrive:
        share -= self.method.node_share(self)
        stop_within_effort(self.shared.drive, self.shared.ndrive, self.lane.state.q, x.y, share, self.lane.now.h,
                           self.lane.drive.u, x.d)


cdef int improve(ModelStepper self, const Pass* p, int verdict) noexcept nogil:
    # operator, direction, correction
    cdef Newton* x = &self.lane.newton
    cdef int status
    if verdict == FACTOR:
        status = variational_factor(self)
        if status != OK:
            return status
    status = direction(self)
    if status != OK:
        return status
    if p.solver == BROYDEN:
        variational_broyden(self, p.k)
    else:
        stop_at_corners(self)
    if self.shared.limited:
        x.slope = inner(x.r, x.d, self.nv)
        memcpy(x.last, x.d, self.nv * sizeof(double))
        memcpy(x.last_z, x.z, self.shared.count * sizeof(double))
    correct(self)
    self.lane.now.iterations += 1
    return OK


# ---- certificate ------------------------------------------------------------------------------------


#
# A step's equations can have several solutions. The one meant continues from no motion, h = 0, along which the
# operator stays regular: where nothing moves its pivots have the signs of M's, and so have the constraints' and the
# loads'. A solution is accepted
#   - where the signs of the operator's pivots are these. The operator is the one that led to the solution: a
#     correction by an operator of other signs than the solution's own leads away from the solution. Two pivots
#     may change their signs together where the operator stays regular, on light links beside heavy ones: a solution
#     that begins with the dynamics' prediction needs the sign of the determinant only;
#   - where no joint turns by half a turn or more;
#   - where it is near the prediction h v + (h^2/2) a of the dynamics, if a joint turns so much that this can decide;
#   - where joints that turn far are steady, as wheels are: the branch ends at 0.5 to 1.4 rad a step, and the error
#     of the energy is a tenth of the kinetic energy at 0.9 rad.

cdef bint follows_prediction(ModelStepper self, int required) noexcept nogil:
    # whether |y - (h v + share h^2 a)| <= near max(|h v|^2, |h^2 a|), of the joints that turn, and each that turns far
    # is steady. The prediction knows nothing of what the step treats implicitly
    cdef Newton* x = &self.lane.newton
    cdef const vt_model* m = self.shared.m
    cdef double h = self.lane.now.h, turn = largest_turn(self.shared.m, x.y), most, off
    cdef int i, k, cause = self.lane.now.cause
    if not turn < HALF_TURN:
        return False
    if turn < SHORT_TURN:
        show_margin(self, turn, NAN)
        return True
    increment_by_dynamics(self, self.method.node_share(self), x.d)
    if not (all_finite(x.v, self.nv) and all_finite(x.a, self.nv)):
        # singular constraints: nothing is predicted
        self.lane.now.cause = cause
        show_margin(self, turn, NAN)
        return turn < LONG_TURN
    for k in range(self.nv):
        x.d[k] = x.y[k] - x.d[k]
        x.v[k] *= h
        x.a[k] *= h * h
    most = max(largest_turn(m, x.v), vt_sqrt(largest_turn(m, x.a)))
    most = min((NEAR if required == SAME else FARTHER) * most, FAR)
    for k in range(m.nlocked):
        x.d[self.shared.locked[k].iv] = x.a[self.shared.locked[k].iv] = 0.0
    for i in range(m.nbody):
        if joint_turn_square(&m.body[i], x.y) >= LONG_TURN and (
                joint_turn_square(&m.body[i], x.d) > STEADY or joint_turn_square(&m.body[i], x.a) > STEADY):
            return False
    off = largest_turn(self.shared.m, x.d)
    if off <= most * most or (required != SAME and self.method.solves_forces(self) and turn < LONG_TURN):
        show_margin(self, turn, vt_sqrt(off) / most)
        return True
    return False


cdef void show_margin(ModelStepper self, double turn, double off) noexcept nogil:
    # the largest of a step's substeps; NaN is none
    cdef Now* now = self.lane.now
    if not now.turn > vt_sqrt(turn):
        now.turn = vt_sqrt(turn)
    if off >= 0.0 and not now.off > off:
        now.off = off


# ---- a step -----------------------------------------------------------------------------------------


cdef void variational_give_up(ModelStepper self) noexcept nogil:
    # what led to a trial that failed is no guess of another one
    self.lane.guess.seen.count = 0
    self.lane.economy.have = False
    no_multipliers(self)


cdef void variational_conclude(ModelStepper self, bint leading) noexcept nogil:
    # multipliers and forces of the step, guesses of steps to come, and node 2 becomes node 1
    cdef const Island* on
    cdef int k
    if leading:
        multipliers_as_forces(self)
    if self.shared.ndrive and self.watched_out != NULL:
        note_drives(self, leading)
    for k in range(0 if self.shared.plain else self.shared.count):
        on = model_island(self, k)
        self.lane.held.hold1[k] = self.lane.held.hold2[k]
        if k == 0 and self.lane.fronts.planned:
            memcpy(self.lane.fronts.pose1, self.lane.fronts.pose2, self.shared.m.nbody * sizeof(Pose))
        if on.plan != NULL:
            continue
        memcpy(self.lane.held.Dh1 + k * self.nv + on.v, self.lane.held.Dh2 + k * self.nv + on.v,
               (on.v_end - on.v) * sizeof(double))
    learn(self)
    self.lane.progress.opening = False
    self.method.pass_on(self)


cdef int variational_attempt(ModelStepper self) noexcept nogil:
    # guess, passes, node 2
    cdef int status, solver = self.shared.choices.solver, required = signs_required(self)
    cdef bint extrapolated
    self.lane.now.iterations = 0
    if self.lane.progress.opening and self.shared.count:
        model_velocity(self, self.lane.state.q, self.lane.state.x, self.lane.newton.v)
        memcpy(self.lane.held.tangent, self.lane.held.push, self.shared.count * sizeof(double))
    extrapolated = predict(self)
    self.lane.now.contraction = NAN
    self.lane.economy.age += 1
    status = variational_iterate(self, solver, required)
    if status == WRONG_BRANCH or (unsolved(status) and (solver == AUTO or extrapolated)):
        # the last line: from the dynamics' own prediction, with exact directions if there is a choice
        self.lane.guess.seen.count = 0
        no_multipliers(self)
        self.method.guess_by_dynamics(self, self.method.node_share(self))
        guess_rest(self)
        status = variational_iterate(self, RECURSIVE_NEWTON if solver == AUTO else solver, min(required, EVEN))
    return self.method.finish(self) if status == OK else status


cdef int signs_required(ModelStepper self) noexcept nogil:
    # backwards, where nothing moves, dissipation c leaves M - |h| c/2 of M: its signs say nothing
    if self.lane.now.h < 0.0 and (self.method.solves_forces(self) or model_loaded(self)):
        return ODD
    return self.shared.choices.required


cdef void multipliers_as_forces(ModelStepper self) noexcept nogil:
    # the impulses at node 1 over the halves of both steps beside it; the first node has half of one step, less
    # what the start's momentum has of the impulse already
    cdef Holonomic* held = &self.lane.held
    cdef double h = self.lane.now.h
    cdef int k
    for k in range(self.shared.count):
        if self.lane.progress.opening:
            held.force[k] = -2.0 * (held.lam[k] + held.tangent[k]) / h
        else:
            held.force[k] = -2.0 * held.lam[k] / (h + self.lane.clock.h_last)


cdef void learn(ModelStepper self) noexcept nogil:
    # the increment, for the guesses of steps to come
    cdef Choices* c = &self.shared.choices
    cdef Newton* x = &self.lane.newton
    cdef Guess* g = self.lane.guess
    if not (c.guess == GUESS_AUTO or c.guess >= GUESS_EXTRAPOLATE):
        return
    if (c.solver == AUTO and self.lane.economy.have and (self.shared.gears or not self.shared.count)
            and self.lane.now.error > 0.03 * c.tolerance * x.now.scale):
        # extrapolate from the increments as they would be if solved further
        if direction(self) == OK:
            correct(self)
    if g.seen.count == 0:
        g.seen.h = self.lane.push_guess.seen.h = self.lane.now.h
        self.lane.push_guess.seen.count = 0
    guess_scale(g, self.nv, self.lane.now.h)
    guess_learn(g, self.nv, x.y, x.spare)
    if self.shared.gears and x.own == NULL:
        guess_scale(self.lane.push_guess, self.shared.count, self.lane.now.h)
        guess_learn(self.lane.push_guess, self.shared.count, self.lane.held.lam, x.z)


# ---- for tests, and starts from two configurations ------------------------------------------------
