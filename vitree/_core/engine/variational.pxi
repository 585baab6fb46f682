# A variational stepper of one instance: its creation, its start, and what follows a trial.

GUESSES = {"auto": GUESS_AUTO, "current": GUESS_CURRENT, "euler": GUESS_EULER, "semi-implicit": GUESS_SEMI_IMPLICIT,
           "aba": GUESS_ABA, "extrapolate": GUESS_EXTRAPOLATE, "extrapolate-2": GUESS_EXTRAPOLATE_2,
           "extrapolate-3": GUESS_EXTRAPOLATE_3, "extrapolate-4": GUESS_EXTRAPOLATE_4}

#: Goals below this number would be solved for in numbers that lose digits
cdef double SMALLEST_GOAL = 1e-300


cdef int make_variational(ModelStepper self, dict options) except -1:
    cdef Choices* c = &self.shared.choices
    cdef Lane* lane = &self.lane
    cdef Py_ssize_t broyden
    choose(self, options)
    self.motion_rows = SUBSTEP_ROWS * c.stages
    if c.extra or c.solver == RIQN or self.method.dense(self):
        divide(self, True)
    if self.method.front_block(self):
        fronts_of_steps(&lane.fronts, self.memory, &self.shared.islands, self.shared.m, c.stages,
                        self.method.front_block(self), self.method.front_block(self) == 6, self.method.front_block(self) > 6)
    broyden = (<Py_ssize_t>c.max_iterations + 2) * (self.nv + self.shared.count) if c.solver == BROYDEN else 0
    newton_of_steps(self, broyden, self.method.dense(self), &self.shared.islands if self.shared.plain else NULL)
    if self.shared.plain and c.solver != BROYDEN:
        lane.newton.own = self.shared.own
    return 0


cdef int choose(ModelStepper self, dict options) except -1:
    # how the step is solved; the step `span` is that of a system at rest if steps are adaptive
    cdef Choices* c = &self.shared.choices
    cdef int k
    c.solver, c.guess = options.get("solver", AUTO), options.get("guess", GUESS_AUTO)
    c.tolerance, c.max_iterations = options.get("tolerance", 1e-9), options.get("max_iterations", 30)
    c.halvings, c.adapt = options.get("max_halvings", 0), options.get("adapt", 0)
    c.rate0, c.density_given = options.get("rate", 1.0), options.get("density", NAN)
    c.pace = c.rate0 * self.shared.schedule.span
    self.shared.schedule.adaptive = c.adapt != 0
    shares = options.get("shares", (1.0,))
    c.rounding = max(ROUNDING * self.method.weight(self), SMALLEST_GOAL)
    c.stages, c.share = len(shares), self.memory.given_reals(len(shares))
    for k in range(c.stages):
        c.share[k] = shares[k]
    c.required_signs = SAME
    choose_norm(self, options.get("inertia_scale"))
    c.rounding += ROUNDING * drive_weight(self)
    self.shared.limited = False
    for k in range(self.shared.ndrive):
        self.shared.limited = self.shared.limited or self.shared.drive[k].effort != INFINITY
    c.implicit, c.extra = c.stages > 1, self.method.coupled_rows(self)
    c.reuses_answers = (self.shared.count or c.extra) and not self.shared.choices.written
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
    # an upper bound of the torques and forces of gravity on the joints: where other forces balance them, the residual
    # is the rounding error of terms of this magnitude
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


# ---- defaults of a discretisation -------------------------------------------------------------------


cdef bint variational_dense(ModelStepper self) noexcept nogil:
    # whether corrections are made with a dense matrix
    return self.shared.choices.solver == NEWTON


cdef double variational_front_sense(ModelStepper self) noexcept nogil:
    # a factor that makes the pivots of plans positive at rest
    return 1.0


cdef double variational_front_share(ModelStepper self) noexcept nogil:
    # plans are solved for the residual times this; multipliers come out times minus this
    return 1.0


cdef void variational_end_front(ModelStepper self, int first, int end, double* d) noexcept nogil:
    # d of the bodies from first to end becomes a correction of the unknown
    pass


cdef void variational_reach_node(ModelStepper self, const double* y, double* q2) noexcept nogil:
    # q2 of an increment
    integrate(self.shared.m, self.lane.state.q, y, q2)


cdef void variational_increment_to(ModelStepper self, const double* q2) noexcept nogil:
    # y from the state to q2
    difference(self.shared.m, self.lane.state.q, q2, self.lane.newton.y)


# ---- histories ---------------------------------------------------------------------------------------


cdef void forget(ModelStepper self) noexcept nogil:
    # start without a previous step
    cdef int k
    for k in range(self.shared.choices.stages):
        self.lane.guesses[k].seen.count = 0
        self.lane.reuses[k].have = False
        self.lane.operators[k].reused_for_h[0] = 0.0
    self.lane.progress.have_Dh = False
    no_multipliers(self)
    self.method.leave(self)
    if self.ntouch:
        self.contact.have_ports[0] = False


cdef void variational_begin(ModelStepper self) noexcept nogil:
    cdef Progress* progress = self.lane.progress
    cdef int k
    begin_contacts(self)
    for k in range(self.shared.choices.stages):
        reuse_begin(&self.lane.reuses[k])
    forget(self)
    use(self, 0)
    memset(progress, 0, sizeof(Progress))
    progress.opening, progress.density = True, NAN


cdef void variational_on_impulse(ModelStepper self) noexcept nogil:
    # the counts of the run remain. The momentum is that before the node's impulses: dry friction of joints that stuck
    # still has to apply the part of its last impulse that belongs to node 2
    cdef Touching* x = &self.contact
    cdef int c
    forget(self)
    self.lane.clock.h_last, self.lane.clock.restarted, self.lane.progress.opening = 0.0, True, True
    for c in range(self.ntouch):
        if self.touch[c].kind == RUBS and x.way[3 * c] == 0.0:
            x.way[3 * c + 1], x.way[3 * c + 2] = 0.0, (1.0 - self.method.node_share(self)) * x.lam[3 * c]


cdef void variational_give_up(ModelStepper self) noexcept nogil:
    # what led to a failed trial is no guess for another one
    self.lane.guess.seen.count = 0
    self.lane.reuse.have = False
    no_multipliers(self)


cdef void variational_conclude(ModelStepper self, bint leading) noexcept nogil:
    # multipliers and forces of the step, guesses for later steps, and node 2 becomes node 1
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
