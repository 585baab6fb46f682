# Whole steps composed of others: compositions of higher order (Suzuki 1990; Kahan & Li 1997), equal parts of a step
# that cannot be solved, and adaptive steps.

cdef enum:              # schemes of adaptive steps
    DENSITY = 1         # by a step density that follows the velocities (Hairer & Soederlind 2005): reversible
    SUNDMAN = 2         # time is part of the discrete action: symplectic

ADAPTATIONS = {"density": DENSITY, "sundman": SUNDMAN}


cdef enum:
    SMALL_HALVINGS = 2      # of steps with few rows that have used up their corrections
    EASED = 4               # bounds of friction below its own that are tried

#: The corrections of such a step, relative to those of a step
cdef double EASED_BUDGET = 3.0
#: [m] by which shapes may overlap at last where a step takes no friction
cdef double LAST_SLACK = 4e-9


cdef inline void refill(ModelStepper self, double share) noexcept nogil:
    # the corrections of a step's contact problems
    self.contact.cones.budget = self.contact.hit.budget = share * STEP_BUDGET


cdef int adapted_step(ModelStepper self) noexcept nogil:
    # a whole step, of the length that the density determines if steps are adaptive
    cdef Choices* c = &self.shared.choices
    cdef double density = NAN
    cdef int status
    self.lane.newton.share = 1.0
    if c.adapt == DENSITY:
        status = next_density(self, 0.5, &density)
        if status != OK:
            return status
        self.lane.now.h = c.pace / density
        if not self.lane.clock.t + self.lane.now.h > self.lane.clock.t:
            return NO_STEP
    self.contact.accepted = 0.0
    refill(self, 1.0)
    status = whole_step(self)
    if status == OK and self.contact.accepted > 0.0:
        note_inexact(self)
    if status == OK and c.adapt:
        self.lane.progress.density = density
    return status


cdef int next_density(ModelStepper self, double share, double* density) noexcept nogil:
    # the density rho a fraction of a step ahead of the state: a step of pace/rho changes it by G,
    #     rho^2 ~ rate0^2 + |v|^2,    G = pace v.a/(rate0^2 + |v|^2)
    # (Hairer & Soederlind 2005, "Explicit, time reversible, adaptive step size control")
    cdef Newton* x = &self.lane.newton
    cdef Choices* c = &self.shared.choices
    cdef State* at = &self.lane.state
    cdef double square, growth
    model_velocity(self, at.q, at.x, x.v)
    if self.shared.schedule.calls_user and self.ask(self.lane.clock.t, at.q, x.v) != OK:
        return CALLBACK_FAILED
    model_acceleration(self, self.lane.clock.t, at.q, x.v, x.a)
    square = c.rate0 * c.rate0 + inner(x.v, x.v, self.nv)
    growth = c.pace * inner(x.v, x.a, self.nv) / square
    if self.lane.progress.opening:
        density[0] = vt_sqrt(square) if c.density_given != c.density_given else c.density_given
    else:
        density[0] = self.lane.progress.density + 0.5 * growth
    density[0] += share * growth
    return OK if density[0] > 0.0 and isfinite(density[0]) else NO_STEP


cdef void note_halves(ModelStepper self) noexcept nogil:
    cdef Progress* progress = self.lane.progress
    if progress.halved == 0:
        progress.halved_first = self.lane.clock.t
    progress.halved_last = self.lane.clock.t
    progress.halved += 1


cdef void note_inexact(ModelStepper self) noexcept nogil:
    # a step whose contact problem is not solved to the tolerance
    cdef Touching* x = &self.contact
    if x.inexact == 0:
        x.inexact_first = self.lane.clock.t
    x.inexact_last = self.lane.clock.t
    x.inexact += 1
    x.inexact_most = max(x.inexact_most, x.accepted)


cdef bint may_halve(ModelStepper self, int status) noexcept nogil:
    # whether shorter steps may help. Prescribed motion is known at the ends of steps only
    if self.lane.now.cause != OK or self.shared.m.nlocked:
        return False
    return unsolved(status) or (status == NOT_FINITE and not self.method.explicit)


cdef int halve(ModelStepper self, int status) noexcept nogil:
    # a step that cannot be solved: in 2, 4, 8 ... equal parts, then with less friction, and last with the best impulses that are
    # found; if the step has used up its corrections for many rows there are no parts. The status of the whole step if none
    # succeeds
    cdef Touching* touch = &self.contact
    cdef Now* now = self.lane.now
    cdef int k, spent = now.iterations, worst = touch.worst
    cdef double error = now.error, residual = touch.residual
    cdef bint used_up = touch.cut >= TOUCH_CUTS and corrections_spent(self), small = few_rows(self), turned, solved = False
    cdef int halvings = self.shared.choices.halvings, finest = 1 << halvings
    cdef int most = halvings if not used_up else min(halvings, SMALL_HALVINGS) if small else 0
    for k in range(most):
        solved = solved or again(self, 2 << k, False, &spent)
    if used_up and small and not solved:
        # the best impulses of as many corrections
        touch.as_found = True
        solved = again(self, 1, False, &spent)
        touch.as_found = False
    turned = touch.fault == NORMALS_TURN
    if self.ntouch and not self.method.explicit:
        solved = solved or with_less_friction(self, 1, 0, &spent) or (
            finest > 1 and with_less_friction(self, finest, 0, &spent))
        # without friction, and nearly exactly
        touch.slack = LAST_SLACK
        solved = solved or with_less_friction(self, 1, EASED - 1, &spent)
        touch.slack = 0.0
    if self.ntouch and (touch.cut >= TOUCH_CUTS or not self.method.explicit):
        # the energy that turning normals add is least in the shortest parts
        solved = solved or (turned and again(self, finest, True, &spent))
        for k in range(halvings + 1):
            solved = solved or again(self, 1 << k, True, &spent)
        # passes that converge in no part, but nothing else is wrong
        solved = solved or (most > 0 and not self.method.explicit and again(self, 2 * finest, False, &spent))
    now.iterations = spent
    if solved:
        # the history has increments of another step
        lose_history(self)
        return OK
    now.error = error
    touch.worst, touch.residual = worst, residual
    return status


cdef bint with_less_friction(ModelStepper self, int count, int first, int* spent) noexcept nogil:
    # whether the step is solved in so many parts where friction is bounded by a fraction of mu lam_n, at last by zero
    cdef Touching* x = &self.contact
    cdef bint solved = False, rough = False
    cdef int k
    for k in range(self.ntouch):
        rough = rough or (self.touch[k].dim >= 3 and self.touch[k].friction > 0.0)
    for k in range(first, EASED if rough else first):
        x.eased = 1.0 - (1.0 - (k + 1.0) / EASED) ** 2
        solved = solved or again(self, count, False, spent)
    x.eased = 0.0
    return solved


cdef bint again(ModelStepper self, int count, bint best, int* spent) noexcept nogil:
    # whether the step is solved in so many equal parts. best: with the best impulses that are found
    cdef bint solved
    if self.lane.now.cause != OK:
        return False
    self.contact.lenient, self.contact.planes, self.contact.accepted = best, True, 0.0
    if few_rows(self) or self.contact.as_found:
        refill(self, EASED_BUDGET if self.contact.eased > 0.0 else 1.0 if self.contact.as_found else 0.5)
    solved = in_parts(self, count) == OK
    self.contact.lenient = self.contact.planes = False
    spent[0] += self.lane.now.iterations
    if solved and count > 1:
        note_halves(self)
    return solved


cdef int in_parts(ModelStepper self, int count) noexcept nogil:
    # the step in `count` equal parts, each composed of its stages; restores the state if one fails
    cdef Choices* c = &self.shared.choices
    cdef Clock before = self.lane.clock[0]
    cdef Clock* clock = self.lane.clock
    cdef Now* now = self.lane.now
    cdef double whole = now.h, error = 0.0, passed = 0.0, share
    cdef int n, status = OK, spent = 0, opening = self.lane.progress.opening
    cdef long inner = self.inner_log.count
    cdef long parts = self.located.part_log.count, pushes = self.located.push_log.count
    now.turn = now.off = NAN
    if count > 1:
        lose_history(self)
    for n in range(count * c.stages):
        share = 1.0
        if c.stages > 1:
            use(self, n % c.stages)
            share = c.share[n % c.stages]
        self.lane.newton.share = share / count
        now.h = share * (whole / count)
        if count > 1 and few_rows(self):
            refill(self, 0.5)
        status = substep(self, n == 0)
        spent += now.iterations
        error = max(error, now.error) if status == OK else now.error
        if status != OK:
            break
        clock.t += now.h
        passed += now.h
        if (n + 1) % c.stages == 0 and n + 1 < count * c.stages:
            self.log_inner(clock.t, self.lane.state.q, self.lane.state.x)
        now.first_row += SUBSTEP_ROWS
        if self.located.logs_parts and n + 1 < count * c.stages:
            status = log_part(self)
            if status != OK:
                break
    clock.t = before.t
    now.h, now.iterations, now.error = whole, spent, error
    self.lane.newton.share = 1.0
    if c.adapt == SUNDMAN and status == OK:
        now.h = passed
    if status != OK:
        self.inner_log.count = inner
        self.located.part_log.count, self.located.push_log.count = parts, pushes
    if status != OK and n > 0:
        put_back_start(self, &before)
        clock.restarted, self.lane.progress.opening = True, opening
    return status
