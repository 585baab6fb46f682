# Steps of variational methods in lanes: as engine/newton.pxi, of several instances at once.

cdef struct Judged:             # what a lane decides by, in a substep
    Economy economy
    Pass now
    int sound                   # of the operator at hand
    bint solves                 # passes go on
    bint guesses                # by the dynamics


cdef struct LaneStage:          # of a substep
    Judged lane[MOST_LANES]
    Guess guess                 # of its increment
    Seen seen[MOST_LANES]


cdef int make_variational_lanes(Lanes self) except -1:
    cdef int k, n, stages
    n, stages = self.nv, self.plan.stages
    self.by_momentum, self.node_share = True, 0.5
    self.solves_forces = self.plan.m.damped or self.plan.m.rubbing or self.plan.ndrive > 0
    self.y, self.r = lanes_reals(self, n), lanes_reals(self, n)
    self.spare, self.last = lanes_reals(self, n), lanes_reals(self, n)
    if self.plan.ndrive:
        self.servo_force, self.servo_slope, self.stiff = lanes_reals(self, n), lanes_reals(self, n), lanes_reals(self, n)
        self.ahead_force, self.ahead_slope = lanes_reals(self, n), lanes_reals(self, n)
    self.stage = <LaneStage*>self.scratch.take(stages * sizeof(LaneStage))
    for k in range(stages):
        self.stage[k].guess.table, self.stage[k].guess.seen = lanes_reals(self, (ORDERS + 1) * n), self.stage[k].seen
    return 0


cdef Py_ssize_t variational_lanes_need(Lanes self):
    cdef Py_ssize_t n = self.plan.m.nv, stages = self.plan.stages
    return (lanes_need(self) + (9 * (n + 1) + stages * ((ORDERS + 1) * n + 1)) * sizeof(vt_real)
            + stages * (sizeof(LaneStage) + 64))


cdef void variational_lanes_begin(Lanes self) noexcept nogil:
    cdef int i, k, s
    for s in range(self.plan.stages):
        for i in range(VT_WIDTH):
            memset(&self.stage[s].lane[i], 0, sizeof(Judged))
            memset(&self.stage[s].seen[i], 0, sizeof(Seen))
            economy_begin(&self.stage[s].lane[i].economy)
        for k in range((ORDERS + 1) * self.nv):
            self.stage[s].guess.table[k] = vt_set1(0.0)


# ---- a step --------------------------------------------------------------------------------------------


cdef void variational_lanes_advance(Lanes self) noexcept nogil:
    # the substeps of a step
    cdef int i, s, spent[MOST_LANES]
    cdef double error[MOST_LANES]
    for i in range(VT_WIDTH):
        spent[i], error[i] = 0, 0.0
    for s in range(self.plan.stages):
        self.substep_at, self.at, self.h = s, &self.stage[s], self.plan.share[s] * self.plan.h
        # backwards, where nothing moves, dissipation c leaves M - |h| c/2 of M: its signs say nothing
        self.required = ODD if self.h < 0.0 and self.solves_forces else self.plan.required
        variational_lanes_substep(self)
        for i in range(VT_WIDTH):
            spent[i] += self.corrections[i]
            error[i] = max(error[i], self.error[i])
    for i in range(VT_WIDTH):
        self.corrections[i], self.error[i] = spent[i], error[i]


cdef void variational_lanes_substep(Lanes self) noexcept nogil:
    cdef int i, k
    cdef bint dynamics = False
    cdef bint learns[MOST_LANES]
    cdef Judged* x
    cdef vt_mask learning
    self.method.prepare(self)
    # the first guess: extrapolated, or by the dynamics
    for i in range(VT_WIDTH):
        x = &self.at.lane[i]
        self.corrections[i] = 0
        x.solves, x.guesses = not self.left[i], self.at.seen[i].count < 4
        dynamics = dynamics or x.solves and x.guesses
        x.economy.age += 1
    guess_predict(&self.at.guess, self.nv, 0, self.y)
    if dynamics:
        variational_lanes_guess(self)
    variational_lanes_iterate(self)
    self.method.finish(self)
    lanes_check(self)
    # what steps to come guess by: increments as they would be if solved further
    for i in range(VT_WIDTH):
        x = &self.at.lane[i]
        learns[i] = (not self.left[i] and self.plan.solver == AUTO and x.economy.have
                     and self.error[i] > 0.03 * self.plan.tolerance * x.now.scale)
    learning = where(learns)
    if vt_any(learning):
        self.method.solve(self, self.d)
        for k in range(self.nv):
            self.y[k] = vt_select(learning, self.y[k] + self.d[k], self.y[k])
    guess_learn(&self.at.guess, self.nv, self.y, self.spare)
    self.method.pass_on(self)
    lanes_accept(self)


# ---- guesses by the dynamics -----------------------------------------------------------------------------


cdef void variational_lanes_by_dynamics(Lanes self, double share, vt_real* y) noexcept nogil:
    # y = h v + share h^2 a, M v = p; (v, a) stay
    cdef double h = self.h
    cdef int k
    lanes_velocity(self, self.v)
    variational_lanes_acceleration_in_step(self, self.a)
    for k in range(self.nv):
        y[k] = h * self.v[k]
        y[k] = y[k] + share * h * h * self.a[k]
    self.method.straighten(self, y)


cdef void variational_lanes_acceleration_in_step(Lanes self, vt_real* out) noexcept nogil:
    # a with which y = h v + s h^2 a, s the first node's share, solves the step where its forces are linear in y:
    #     (M + s h (damping + slopes of drives)) a = forces, those of drives on the way of y = h v
    cdef const vt_model* m = self.plan.m
    cdef double h = self.h, share = self.node_share
    cdef int i, k
    if not (self.plan.ndrive and h > 0.0):
        lanes_acceleration(self, self.q, self.v, out)
        return
    for k in range(self.nv):
        self.d[k] = h * self.v[k]
    variational_lanes_drive_trial(self, self.d, self.ahead_force, self.ahead_slope)
    for k in range(self.nv):
        self.stiff[k] = vt_set1(m.armature[k])
        self.force[k] = self.tau[k] - m.damping[k] * self.v[k]
    for i in range(m.nbody):
        if not joint_multi(&m.body[i]):
            k = m.body[i].iv
            self.stiff[k] = self.stiff[k] + share * h * (m.damping[k] + self.ahead_slope[k])
    if m.rubbing:
        add_friction(m, 1.0, self.v, -1.0, self.force)
    for k in range(self.nv):
        self.force[k] = self.force[k] + self.ahead_force[k]
    aba_stiff(m, self.stiff, m.g, self.q, self.v, self.force, NULL, out, self.aba)


cdef void variational_lanes_drive_trial(Lanes self, const vt_real* y, vt_real* force, vt_real* slope) noexcept nogil:
    # the forces of the drives, and their slopes, on the way of an increment
    cdef int k
    for k in range(self.nv):
        force[k] = slope[k] = vt_set1(0.0)
    drive_step(self.plan.drive, self.plan.ndrive, self.q, y, 1.0 - self.node_share, self.h, self.u, force, slope)


cdef void variational_lanes_guess(Lanes self) noexcept nogil:
    # y by the dynamics, of the lanes that ask for it; no motion where that is better, if forces are solved for
    cdef bint asks[MOST_LANES]
    cdef bint rests[MOST_LANES]
    cdef vt_mask some
    cdef vt_real moving, still
    cdef int i, k
    for i in range(VT_WIDTH):
        asks[i] = self.at.lane[i].guesses
    some = where(asks)
    variational_lanes_by_dynamics(self, 0.5, self.d)
    for k in range(self.nv):
        self.y[k] = vt_select(some, self.d[k], self.y[k])
    if not self.solves_forces:
        return
    moving = variational_lanes_residual(self)
    memcpy(self.spare, self.y, self.nv * sizeof(vt_real))
    for k in range(self.nv):
        self.y[k] = vt_select(some, vt_set1(0.0), self.y[k])
    still = variational_lanes_residual(self)
    for i in range(VT_WIDTH):
        rests[i] = asks[i] and not (not vt_get(still, i) < vt_get(moving, i) and isfinite(vt_get(moving, i)))
    some = where(rests)
    for k in range(self.nv):
        self.y[k] = vt_select(some, self.y[k], self.spare[k])


cdef vt_real variational_lanes_second_guess(Lanes self, const bint* poor, vt_real e) noexcept nogil:
    # the extrapolation of these lanes is suddenly poor: is what the dynamics say any better?
    cdef vt_mask some = where(poor)
    cdef bint back[MOST_LANES]
    cdef vt_real other
    cdef int i, k
    memcpy(self.spare, self.y, self.nv * sizeof(vt_real))
    variational_lanes_by_dynamics(self, 0.5, self.d)
    for k in range(self.nv):
        self.y[k] = vt_select(some, self.d[k], self.y[k])
    other = variational_lanes_residual(self)
    for i in range(VT_WIDTH):
        back[i] = poor[i] and not vt_get(other, i) <= vt_get(e, i)
        if poor[i]:
            self.at.seen[i].count = 0
    some = where(back)
    if vt_any(some):
        for k in range(self.nv):
            self.y[k] = vt_select(some, self.spare[k], self.y[k])
        other = variational_lanes_residual(self)
    return other


# ---- residual ------------------------------------------------------------------------------------------


cdef vt_real variational_lanes_residual(Lanes self) noexcept nogil:
    # r at y, and its size
    return weighted(self.plan.gain, self.nv, self.r, self.method.evaluate(self))


cdef vt_real variational_lanes_scale_of(Lanes self) noexcept nogil:
    # what the residual is compared with: see `measure` and `energy_scale`
    cdef const LanePlan* c = &self.plan
    cdef const vt_tree* tree
    cdef vt_real size
    cdef Vec3 P
    cdef int k
    if c.gain == NULL:
        return self.method.measure(self)
    size = self.method.kinetic(self)
    for k in range(c.m.ntree):
        tree = &c.m.tree[k]
        P = self.method.tree_momentum(self, tree.root)
        size = size - dot(along_tree(tree, P), P) / vt_set1(tree.mass)
    size = c.heaviest * vt_sqrt(vt_select(vt_lt(size, vt_set1(0.0)), vt_set1(0.0), size))
    for k in range(self.nv):
        size = vt_max_nan(size, c.gain[k] * self.method.impulse(self, k))
    return vt_max_nan(size, largest(self.x, self.nv) * (10.0 * ROUNDING / c.tolerance))


# ---- passes --------------------------------------------------------------------------------------------


cdef void variational_lanes_iterate(Lanes self) noexcept nogil:
    # passes until the equations of each lane hold; lanes that come to no good end leave
    cdef const LanePlan* c = &self.plan
    cdef int i, k, most = c.max_iterations
    cdef int verdict[MOST_LANES]
    cdef bint corrects[MOST_LANES]
    cdef bint factors[MOST_LANES]
    cdef bint poor[MOST_LANES]
    cdef bint any_poor = False, goes_on
    cdef vt_real error, size
    cdef vt_mask some
    cdef Signs signs
    cdef Judged* x
    cdef Pass* p
    for i in range(VT_WIDTH):
        p = &self.at.lane[i].now
        p.solver, p.k, p.most = c.solver, 0, min(<int>PASSES, most) if c.solver == AUTO else most
        p.error_before, p.turned, p.required, p.sound = 0.0, False, self.required, True
    error = variational_lanes_residual(self)
    size = variational_lanes_scale_of(self)
    for i in range(VT_WIDTH):
        x = &self.at.lane[i]
        p = &x.now
        p.error, p.scale = vt_get(error, i), vt_get(size, i)
        if x.solves and not isfinite(p.scale):
            variational_lanes_leave(self, i)
        poor[i] = (x.solves and c.solver == AUTO and p.error > 1e-2 * p.scale
                   and p.error > 30.0 * x.economy.first and self.at.seen[i].count >= 4)
        any_poor = any_poor or poor[i]
    if any_poor:
        error = variational_lanes_second_guess(self, poor, error)
    for i in range(VT_WIDTH):
        if self.at.lane[i].solves:
            self.at.lane[i].now.error = vt_get(error, i)
            self.at.lane[i].economy.first = self.at.lane[i].now.error
    while True:
        goes_on = False
        for i in range(VT_WIDTH):
            x = &self.at.lane[i]
            p = &x.now
            corrects[i] = factors[i] = False
            if not x.solves:
                continue
            p.goal = max(c.tolerance * p.scale, c.rounding * fabs(self.h))
            self.error[i] = p.error
            if p.k > 0 and isfinite(p.error) and c.solver == AUTO:
                economy_learn(&x.economy, p)
            verdict[i] = judge(p, &x.economy, &c.costs)
            if verdict[i] == DONE:
                x.solves = False
                continue
            if verdict[i] == FAIL:
                variational_lanes_leave(self, i)
                continue
            economy_note(&x.economy, p, verdict[i])
            corrects[i], factors[i] = True, verdict[i] == FACTOR
            goes_on = True
        if not goes_on:
            break
        some = where(factors)
        if vt_any(some):
            # the operators of these lanes
            signs_begin(&signs)
            self.method.factor(self, some, &signs)
            for i in range(VT_WIDTH):
                if factors[i]:
                    x = &self.at.lane[i]
                    x.sound = soundness_in(&signs, i)
                    x.economy.have, x.economy.age = True, 0
        self.method.solve(self, self.d)
        if c.m.rubbing:
            stop_at_rest(c.m, self.h, self.y, self.d)
        if c.ndrive:
            stop_within_effort(c.drive, c.ndrive, self.q, self.y, 1.0 - self.node_share, self.h, self.u, self.d)
        if c.limited:
            variational_lanes_note_correction(self)
        some = where(corrects)
        for k in range(self.nv):
            self.y[k] = vt_select(some, self.y[k] + self.d[k], self.y[k])
        error = variational_lanes_residual(self)
        if c.limited:
            error = variational_lanes_shorten(self, corrects, error)
        for i in range(VT_WIDTH):
            if corrects[i]:
                p = &self.at.lane[i].now
                p.sound = self.at.lane[i].sound >= p.required
                p.error_before, p.error = p.error, vt_get(error, i)
                p.k += 1
                self.corrections[i] += 1
    variational_lanes_certify(self)


cdef void variational_lanes_leave(Lanes self, int i) noexcept nogil:
    self.left[i], self.at.lane[i].solves = True, False


cdef vt_real variational_lanes_along(Lanes self) noexcept nogil:
    # r.d of the last correction d
    cdef vt_real s = vt_set1(0.0)
    cdef int k
    for k in range(self.nv):
        s = s + self.r[k] * self.last[k]
    return s


cdef void variational_lanes_note_correction(Lanes self) noexcept nogil:
    cdef vt_real slope
    cdef int i
    memcpy(self.last, self.d, self.nv * sizeof(vt_real))
    slope = variational_lanes_along(self)
    for i in range(VT_WIDTH):
        self.descent[i] = vt_get(slope, i)


cdef vt_real variational_lanes_shorten(Lanes self, const bint* corrects, vt_real e) noexcept nogil:
    # corrections d that go too far, past the corners of the drives' limits: along d the residual falls from r.d < 0
    # to a zero, as forces that hold back are monotone; they go to about there
    cdef bint goes[MOST_LANES]
    cdef double found, share, slope
    cdef vt_real left, shares = vt_set1(1.0)
    cdef vt_mask some
    cdef int i, k, trial
    for i in range(VT_WIDTH):
        goes[i] = corrects[i]
    for trial in range(SHORTER):
        left = variational_lanes_along(self)
        for i in range(VT_WIDTH):
            if not goes[i]:
                continue
            slope = self.descent[i]
            found = vt_get(left, i) if isfinite(vt_get(e, i)) else INFINITY
            if not slope < 0.0 or found <= -0.5 * slope:
                goes[i] = False
                continue
            share = min(max(slope / (slope - found), 0.1), 0.7) if isfinite(vt_get(e, i)) else 0.25
            self.descent[i] *= share
            vt_put(&shares, i, share)
        some = where(goes)
        if not vt_any(some):
            return e
        for k in range(self.nv):
            self.y[k] = vt_select(some, self.y[k] - (vt_set1(1.0) - shares) * self.last[k], self.y[k])
            self.last[k] = vt_select(some, self.last[k] * shares, self.last[k])
        e = variational_lanes_residual(self)
    return e


# ---- certificate: as follows_prediction ------------------------------------------------------------------


cdef void variational_lanes_certify(Lanes self) noexcept nogil:
    # lanes whose solution does not continue from no motion leave
    cdef const vt_model* m = self.plan.m
    cdef vt_real turn = largest_turn(self.plan.m, self.y), by_v, by_a, off, one, two, three
    cdef double most, far, h = self.h, near = NEAR if self.required == SAME else FARTHER
    cdef int i, k
    cdef bint asks = False, lenient = self.required != SAME and self.solves_forces
    cdef bint steady[MOST_LANES]
    for i in range(VT_WIDTH):
        steady[i] = True
        if not self.left[i]:
            far = vt_get(turn, i)
            if not far < HALF_TURN:
                self.left[i] = True
            asks = asks or not far < SHORT_TURN
    if not asks:
        return
    variational_lanes_by_dynamics(self, self.node_share, self.d)
    off = vt_max_nan(largest(self.v, self.nv), largest(self.a, self.nv))
    for i in range(VT_WIDTH):
        if not self.left[i] and not vt_get(turn, i) < SHORT_TURN and not isfinite(vt_get(off, i)):
            self.left[i] = True
    for k in range(self.nv):
        self.d[k] = self.y[k] - self.d[k]
        self.v[k] = h * self.v[k]
        self.a[k] = h * h * self.a[k]
    by_v, by_a = largest_turn(self.plan.m, self.v), vt_sqrt(largest_turn(self.plan.m, self.a))
    for k in range(m.nbody):
        one, two = joint_turn_square(&m.body[k], self.y), joint_turn_square(&m.body[k], self.d)
        three = joint_turn_square(&m.body[k], self.a)
        for i in range(VT_WIDTH):
            if vt_get(one, i) >= LONG_TURN and (vt_get(two, i) > STEADY or vt_get(three, i) > STEADY):
                steady[i] = False
    off = largest_turn(self.plan.m, self.d)
    for i in range(VT_WIDTH):
        if self.left[i] or vt_get(turn, i) < SHORT_TURN:
            continue
        most = min(near * max(vt_get(by_v, i), vt_get(by_a, i)), FAR)
        if not (steady[i] and (vt_get(off, i) <= most * most or (lenient and vt_get(turn, i) < LONG_TURN))):
            self.left[i] = True
