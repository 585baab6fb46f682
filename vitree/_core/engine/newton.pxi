# The steps of the variational integrators (Lee et al. 2016): a guess of the increment y from q1 to q2, then passes of
# residual, decision, operator, direction and correction until the discrete Euler-Lagrange equations
#     r(y) + Dh(q1)^T lam = 0,    h(q2(y)) = 0
# hold to the tolerance. The remaining r is carried into the momentum.
#
# One text for one instance and for several, a lane each. All lanes execute the same branch; decisions are in plain
# numbers of a lane, and a finished lane keeps its y. Features of a single instance (constraints, user functions, dense
# operators) are behind functions that do nothing in lanes/alone.pxi.

#: A factorisation whose correction leaves more than this fraction recomputes the responses of loads the next time
cdef double REUSES_ANSWERS = 1e-4

#: Increments that leave no more than this fraction of the tolerance are learnt as they are, the second one where operators
#: are renewed to learn by
cdef double ENOUGH_LEARNT = 0.03
cdef double FINELY_LEARNT = 0.01

#: All lanes
cdef bint EACH[MOST_LANES]
for lane in range(MOST_LANES):
    EACH[lane] = True


cdef void use(ModelStepper self, int stage) noexcept nogil:
    # each substep of a composition has a separate guess and operator
    self.lane.newton.stage = stage
    self.lane.guess, self.lane.push_guess = &self.lane.guesses[stage], &self.lane.push_guesses[stage]
    self.lane.reuse = &self.lane.reuses[stage * VT_WIDTH]
    self.lane.operator = &self.lane.operators[stage]


# ---- predict: the initial guess of y ----------------------------------------------------------------


cdef bint predict(ModelStepper self) noexcept nogil:
    # y; returns whether it was extrapolated from past steps in all lanes
    cdef Newton* x = &self.lane.newton
    cdef Guess* g = self.lane.guess
    cdef int i, kind = self.shared.choices.guess, fixed = kind - GUESS_EXTRAPOLATE_2 + 2
    cdef bint learns = kind == GUESS_AUTO or kind >= GUESS_EXTRAPOLATE, extrapolates = False
    if x.nearby != NULL and x.nearby.h == self.lane.now.h:
        predict_nearby(self)
        return True
    x.nearby = NULL
    for i in range(VT_WIDTH):
        x.solves[i] = not self.lane.left[i]
        x.guesses[i] = not (learns and g.seen[i].count >= (fixed if kind >= GUESS_EXTRAPOLATE_2 else 4))
        extrapolates = extrapolates or not x.guesses[i]
        x.guesses[i] = x.guesses[i] and x.solves[i]
    if extrapolates:
        guess_scale(g, self.nv, self.lane.now.h)
        guess_predict(g, self.nv, fixed if kind >= GUESS_EXTRAPOLATE_2 else 0, x.y)
        lock_increment(self)
        if self.shared.gears and x.own == NULL:
            predict_multipliers(self)
    if not any_of(x.guesses):
        return True
    if kind == GUESS_CURRENT:
        memset(x.y, 0, self.nv * sizeof(vt_real))
        lock_increment(self)
        return False
    self.method.guess_by_dynamics(self, 0.0 if kind == GUESS_EULER else 1.0 if kind == GUESS_SEMI_IMPLICIT else 0.5,
                                  x.guesses)
    if learns:
        guess_rest(self, x.guesses)
    return False


cdef void predict_nearby(ModelStepper self) noexcept nogil:
    # y is what a step nearby says to first order, and the extrapolated deviations from this; of one lane
    cdef Newton* x = &self.lane.newton
    cdef Guess* g = self.lane.guess
    cdef int k
    x.solves[0] = True
    memset(x.y, 0, self.nv * sizeof(vt_real))
    if g.seen.count:
        guess_scale(g, self.nv, self.lane.now.h)
        guess_predict(g, self.nv, 0, x.y)
    for k in range(self.nv):
        x.y[k] = x.y[k] + vt_set1(x.nearby.y[k])


cdef void variational_guess_by_dynamics(ModelStepper self, double share, const bint* some) noexcept nogil:
    # y by the dynamics at the start of the step, in some lanes
    cdef Newton* x = &self.lane.newton
    if share != 0.0 and self.shared.choices.implicit and self.shared.schedule.calls_user:
        ask_at_start(self)
    increment_by_dynamics(self, share, x.d)
    take_in(some, self.nv, x.d, x.y)
    lock_increment(self)


cdef void increment_by_dynamics(ModelStepper self, double share, vt_real* y) noexcept nogil:
    # y = h v + share h^2 a, M v = p; (v, a) remain in Newton's memory
    cdef Newton* x = &self.lane.newton
    cdef double h = self.lane.now.h
    cdef int k
    model_velocity(self, self.lane.state.q, self.lane.state.x, x.v)
    for k in range(self.nv):
        y[k] = h * x.v[k]
    if share != 0.0:
        acceleration_in_step(self, self.lane.clock.t, self.lane.state.q, x.v, x.a)
        for k in range(self.nv):
            y[k] = y[k] + share * h * h * x.a[k]
    self.method.by_velocities(self, y)


cdef void guess_rest(ModelStepper self, const bint* some) noexcept nogil:
    # the dynamics do not include what the step treats implicitly: a damped light link hardly moves after an impulse,
    # where M^-1 p rotates it far. The guess of no motion, from which an exact direction leads to (M/h + c/2)^-1 p, may
    # be better
    cdef Newton* x = &self.lane.newton
    cdef bint back[MOST_LANES]
    cdef vt_real moving, still
    cdef vt_mask resting = where(some)
    cdef int i, k
    if not (self.method.solves_forces(self) or model_loaded(self)):
        return
    moving = variational_residual(self)
    memcpy(x.spare, x.y, self.nv * sizeof(vt_real))
    for k in range(self.nv):
        x.y[k] = vt_select(resting, vt_set1(0.0), x.y[k])
    lock_increment(self)
    still = variational_residual(self)
    for i in range(VT_WIDTH):
        back[i] = not vt_get(still, i) < vt_get(moving, i) and isfinite(vt_get(moving, i))
    if any_of(back):
        take_in(back, self.nv, x.spare, x.y)


cdef vt_real second_guess(ModelStepper self, const bint* poor, vt_real e) noexcept nogil:
    # the extrapolation of some lanes is suddenly poor, as after an impulse: is the prediction of the dynamics better?
    cdef Newton* x = &self.lane.newton
    cdef bint back[MOST_LANES]
    cdef vt_real other
    cdef int i
    memcpy(x.spare, x.y, self.nv * sizeof(vt_real))
    self.method.guess_by_dynamics(self, 0.5, poor)
    other = variational_residual(self)
    for i in range(VT_WIDTH):
        back[i] = poor[i] and not vt_get(other, i) <= vt_get(e, i)
    if any_of(back):
        take_in(back, self.nv, x.spare, x.y)
        other = variational_residual(self)
    for i in range(VT_WIDTH):
        if poor[i]:
            self.lane.guess.seen[i].count = 0
            x.compared[i] = 1 + back[i]
    return other


# ---- residual ---------------------------------------------------------------------------------------


cdef vt_real weighted(const Choices* c, int first, int end, const vt_real* r, vt_real e) noexcept nogil:
    # the norm of a residual: its largest entry, e, or
    #     max |r_k| sqrt(M_max/M_kk),
    # which bounds the error of each joint by its contribution to the kinetic energy; otherwise the criterion is too
    # loose for light joints
    cdef vt_real size = vt_set1(0.0)
    cdef int i, k
    if c.gain == NULL:
        return e
    for k in range(first, end):
        size = vt_max_nan(size, gain_of(c, k) * vt_abs(r[k]))
    for i in range(VT_WIDTH):
        if not isfinite(vt_get(e, i)):
            vt_put(&size, i, vt_get(e, i))
    return size


cdef vt_real variational_residual(ModelStepper self) noexcept nogil:
    # r(y) + Dh(q1)^T lam, and h(q2); returns the norm of the first
    cdef Newton* x = &self.lane.newton
    cdef vt_real e
    if self.shared.choices.implicit and self.shared.schedule.calls_user and not ask_in_middle(self):
        return vt_set1(NAN)
    e = self.method.evaluate(self)
    self.lane.progress.residuals += 1
    if x.impulse != NULL:
        e = impulse_residual(self, e)
    if self.shared.count or self.shared.m.nlocked:
        return held_residual(self, e)
    return weighted(&self.shared.choices, 0, self.nv, x.r, e)


cdef vt_real variational_scale(ModelStepper self) noexcept nogil:
    # the scale of the residual
    return self.method.measure(self) if self.shared.choices.gain == NULL else energy_scale(self)


cdef vt_real energy_scale(ModelStepper self) noexcept nogil:
    # the scale of the residual in the norm of the kinetic energy: sqrt(2 T M_max), with T in the frames in which
    # floating trees are at rest, and the impulses; at least the rounding errors of the momentum
    cdef Choices* c = &self.shared.choices
    cdef const vt_tree* tree
    cdef Vec3 P
    cdef vt_real size = self.method.kinetic(self)
    cdef int k
    for k in range(self.shared.m.ntree):
        tree = &self.shared.m.tree[k]
        P = self.method.tree_momentum(self, tree.root)
        size = size - dot(along_tree(tree, P), P) / tree_mass_of(tree)
    size = heaviest_of(c) * vt_sqrt(vt_select(vt_lt(size, vt_set1(0.0)), vt_set1(0.0), size))
    for k in range(self.nv):
        size = vt_max_nan(size, gain_of(c, k) * self.method.impulse(self, k))
    return vt_max_nan(size, largest(self.lane.state.x, self.nv) * (10.0 * ROUNDING / c.tolerance))


# ---- corrections ------------------------------------------------------------------------------------


cdef void note_signs(ModelStepper self, const Signs* signs) noexcept nogil:
    # classify the signs of the pivots of an operator
    cdef int i
    for i in range(VT_WIDTH):
        self.lane.operator.pivot_signs[i] = pivot_signs_in(signs, i)


cdef vt_real along_correction(ModelStepper self, const vt_real* d) noexcept nogil:
    # r.d
    cdef vt_real s = vt_set1(0.0)
    cdef int k
    for k in range(self.nv):
        s = s + self.lane.newton.r[k] * d[k]
    return s


cdef vt_real shorten(ModelStepper self, vt_real e) noexcept nogil:
    # corrections d that go too far, past the corners of the drives' limits: along d the residual decreases from r.d < 0
    # to a zero, since restoring forces are monotone; shorten them to about that zero
    cdef Newton* x = &self.lane.newton
    cdef bint goes[MOST_LANES]
    cdef double found, share, slope
    cdef vt_real left, shares = vt_set1(1.0)
    cdef vt_mask some
    cdef int i, k, trial
    memcpy(goes, x.solves, sizeof(goes))
    for trial in range(SHORTER):
        if self.lane.now.cause == CALLBACK_FAILED:
            return e
        left = along_correction(self, x.last)
        for i in range(VT_WIDTH):
            if not goes[i]:
                continue
            slope = x.slope[i]
            found = vt_get(left, i) if isfinite(vt_get(e, i)) else INFINITY
            if not slope < 0.0 or found <= -0.5 * slope:
                goes[i] = False
                continue
            share = min(max(slope / (slope - found), 0.1), 0.7) if isfinite(vt_get(e, i)) else 0.25
            x.slope[i] = slope * share
            vt_put(&shares, i, share)
        if not any_of(goes):
            return e
        some = where(goes)
        for k in range(self.nv):
            x.y[k] = vt_select(some, x.y[k] - (vt_set1(1.0) - shares) * x.last[k], x.y[k])
            x.last[k] = vt_select(some, x.last[k] * shares, x.last[k])
        if self.shared.count:
            shorten_multipliers(self, vt_get(shares, 0))
        e = variational_residual(self)
    return e


cdef void correct(ModelStepper self, const bint* asked) noexcept nogil:
    # y += d, lam += dlam, in some lanes
    cdef Newton* x = &self.lane.newton
    add_in(asked, self.nv, x.d, x.y)
    if self.shared.count:
        correct_multipliers(self)


cdef void stop_at_corners(ModelStepper self) noexcept nogil:
    # corrections end where friction changes its sign, and where drives reach their limits
    cdef Newton* x = &self.lane.newton
    if self.shared.m.rubbing:
        stop_at_rest(self.shared.m, self.lane.now.h, x.y, x.d)
    if self.shared.ndrive:
        stop_within_effort(self.shared.drive, self.shared.ndrive, self.lane.state.q, x.y, self.method.force_share(self),
                           self.lane.now.h, self.lane.drive.u, x.d)


# ---- passes -----------------------------------------------------------------------------------------


cdef void variational_iterate(ModelStepper self, int solver, int required_signs) noexcept nogil:
    # passes until the step's equations hold in each lane that solves, by operators of the required signs; the status of
    # the lanes says how they ended
    cdef Newton* x = &self.lane.newton
    cdef Choices* c = &self.shared.choices
    cdef Pass* p
    cdef vt_real e
    cdef double closed = 0.0
    cdef int i, k = 0, status
    for i in range(VT_WIDTH):
        x.foreseen[i], x.factored[i], x.compared[i] = False, 0, 0
        p = &x.now[i]
        p.solver, p.k, p.most = solver, 0, min(<int>PASSES, c.max_iterations) if solver == AUTO else c.max_iterations
        p.error_before, p.turned, p.required_signs, p.signs_ok = 0.0, False, required_signs, True
        p.rings = self.lane.guess.rings
        x.status[i] = OK
    x.by_nearby = x.nearby != NULL and solver == AUTO
    while True:
        e = variational_residual(self)
        if k > 0 and self.shared.limited and solver != BROYDEN:
            e = shorten(self, e)
        if self.lane.now.cause == CALLBACK_FAILED:
            end_passes(self, CALLBACK_FAILED)
            return
        if k == 0:
            e = first_pass(self, e, &closed)
        if self.shared.m.nlocked and k <= 2:
            scale_by_motion(self, x.now)
        if c.stiff and k > 0:
            note_scale(self)
        if not decide(self, e, closed):
            break
        status = improve(self, solver)
        if status != OK:
            end_passes(self, status)
            return
        k += 1
    certify(self, required_signs)


cdef void end_passes(ModelStepper self, int status) noexcept nogil:
    # of all lanes that still solve
    cdef int i
    for i in range(VT_WIDTH):
        if self.lane.newton.solves[i]:
            self.lane.newton.solves[i], self.lane.newton.status[i] = False, status


cdef void note_scale(ModelStepper self) noexcept nogil:
    cdef vt_real size = variational_scale(self)
    cdef int i
    for i in range(VT_WIDTH):
        if self.lane.newton.solves[i]:
            self.lane.newton.now[i].scale = vt_get(size, i)


cdef vt_real first_pass(ModelStepper self, vt_real e, double* closed) noexcept nogil:
    # the scale of the step, and another guess if the first is poor; returns the residual
    cdef Newton* x = &self.lane.newton
    cdef bint poor[MOST_LANES]
    cdef int i
    note_scale(self)
    if self.shared.count:
        closed[0] = variational_closed(self)
    for i in range(VT_WIDTH):
        poor[i] = False
        if not x.solves[i]:
            continue
        if not isfinite(x.now[i].scale):
            x.solves[i], x.status[i] = False, NOT_FINITE
        poor[i] = (x.solves[i] and x.now[i].solver == AUTO and x.nearby == NULL and vt_get(e, i) > 1e-2 * x.now[i].scale
                   and vt_get(e, i) > 30.0 * self.lane.reuse[i].first and self.lane.guess.seen[i].count >= 4)
    if any_of(poor):
        e = second_guess(self, poor, e)
    for i in range(VT_WIDTH):
        if x.solves[i]:
            self.lane.reuse[i].first = vt_get(e, i)
    return e


cdef bint decide(ModelStepper self, vt_real e, double closed) noexcept nogil:
    # the action of each lane after a pass: finished, factor an operator, or use the current one; returns whether any
    # continues
    cdef Newton* x = &self.lane.newton
    cdef Choices* c = &self.shared.choices
    cdef Pass* p
    cdef FactorReuse* reuse
    cdef int i, action
    for i in range(VT_WIDTH):
        x.factors[i] = False
        if not x.solves[i]:
            continue
        p, reuse = &x.now[i], &self.lane.reuse[i]
        p.error = vt_get(e, i)
        p.goal = max(c.tolerance * p.scale, rounding_of(c, i) * fabs(self.lane.now.h))
        if self.shared.count:
            p.error = held_error(self, p, closed)
        note(self, i)
        action = next_action(p, reuse, &c.costs)
        x.by_nearby = x.by_nearby and (action == REUSE or (action == FACTOR and p.k == 0))
        if x.by_nearby:
            continue
        if p.k == 0:
            if action == REUSE and (renews(reuse, &c.costs, step_number(self, i)) or renews_further(self, i)):
                action = FACTOR
            reuse.aged = False
        elif p.k == 1:
            reuse.aged = p.error > AGED * p.goal
        if action == DONE or action == FAIL:
            x.solves[i] = False
            x.status[i] = (OK if action == DONE else WRONG_BRANCH if p.error <= p.goal
                           else TURNED_TOO_FAR if p.turned else NOT_CONVERGED)
            continue
        reuse_note(reuse, p, action)
        x.factors[i] = action == FACTOR
    return any_of(x.solves)


cdef void note(ModelStepper self, int i) noexcept nogil:
    # the result of a pass of a lane, for the caller and the reuse
    cdef const Pass* p = &self.lane.newton.now[i]
    self.lane.now[i].error = p.error
    if p.k > 0 and isfinite(p.error):
        self.lane.now[i].contraction = p.error / p.error_before
        if p.solver == AUTO and not self.lane.newton.by_nearby:
            reuse_learn(&self.lane.reuse[i], p)
            if not self.lane.reuse[i].reused and self.lane.now[i].contraction > REUSES_ANSWERS:
                self.lane.operator.reused_for_h[0] = 0.0


cdef int improve(ModelStepper self, int solver) noexcept nogil:
    # operator, direction, correction, of the lanes that solve
    cdef Newton* x = &self.lane.newton
    cdef int i, status
    cdef vt_real slope
    if x.by_nearby:
        correct_by_nearby(self)
        self.lane.now.iterations += 1
        x.now.error_before = x.now.error
        x.now.k += 1
        return OK
    if any_of(x.factors):
        status = factor_some(self)
        if status != OK:
            return status
    status = direction(self)
    if status != OK:
        return status
    if VT_WIDTH > 1:
        foresee(self)
    if solver == BROYDEN:
        variational_broyden(self, x.now.k)
    else:
        stop_at_corners(self)
    if self.shared.limited:
        slope = along_correction(self, x.d)
        memcpy(x.last, x.d, self.nv * sizeof(vt_real))
        memcpy(x.last_z, x.z, self.shared.count * sizeof(double))
    correct(self, x.solves)
    for i in range(VT_WIDTH):
        if self.shared.limited:
            x.slope[i] = vt_get(slope, i)
        if x.solves[i]:
            self.lane.now[i].iterations += 1
            x.now[i].error_before = x.now[i].error
            x.now[i].k += 1
    return OK


cdef int factor_some(ModelStepper self) noexcept nogil:
    # operators of the lanes that ask for one
    cdef Newton* x = &self.lane.newton
    cdef int i
    for i in range(VT_WIDTH):
        x.factored[i] += x.factors[i]
    return variational_factor(self)


cdef void correct_by_nearby(ModelStepper self) noexcept nogil:
    # y -= J^-1 r, J of a step nearby
    cdef Newton* x = &self.lane.newton
    cdef int k
    for k in range(self.nv):
        x.y[k] = x.y[k] - vt_set1(vt_dot(self.nv, x.nearby.by_p + k * x.nearby.width, <const double*>x.r))
    self.lane.progress.solves += 1


cdef inline bint goes_further(ModelStepper self, int i) noexcept nogil:
    # whether the increment of a lane is learnt as it would be if solved further, for extrapolation amplifies its error
    cdef Choices* c = &self.shared.choices
    return (not self.lane.left[i] and c.solver == AUTO and self.lane.reuse[i].have
            and (self.shared.gears or not self.shared.count)
            and self.lane.now[i].error > ((FINELY_LEARNT if learns_finely(self) else ENOUGH_LEARNT)
                                          * c.tolerance * self.lane.newton.now[i].scale))


cdef inline bint learns_finely(ModelStepper self) noexcept nogil:
    # whether operators are renewed to learn by: those of a step in contact have answers to its ports
    return self.shared.choices.renews and not in_contact(self)


cdef inline bint renews_further(ModelStepper self, int i) noexcept nogil:
    # whether the increment is solved further by another operator
    return learns_finely(self) and renews_to_learn(&self.lane.reuse[i], step_number(self, i))


cdef void foresee(ModelStepper self) noexcept nogil:
    # the corrections by which lanes that are done go further, with those of others
    cdef Newton* x = &self.lane.newton
    cdef bint those[MOST_LANES]
    cdef int i
    for i in range(VT_WIDTH):
        those[i] = (not x.solves[i] and not x.foreseen[i] and x.status[i] == OK and goes_further(self, i)
                    and not renews_further(self, i))
        x.foreseen[i] = x.foreseen[i] or those[i]
    if any_of(those):
        take_in(those, self.nv, x.d, x.ahead)


# ---- certificate ------------------------------------------------------------------------------------

#
# A step's equations can have several solutions. The right one continues from no motion, h = 0, along which the operator
# remains regular: at rest its pivots have the signs of those of M, and so have the pivots of constraints and loads. A
# solution is accepted
#     - if the signs of the operator's pivots are these. The operator is the one that led to the solution: a
#       correction by an operator with other signs than at the solution leads away from the solution. Two pivots may
#       change sign together while the operator remains regular, for light links beside heavy ones: a solution that
#       starts from the prediction of the dynamics needs the sign of the determinant only;
#     - if no joint turns by half a turn or more;
#     - if it is near the prediction h v + (h^2/2) a of the dynamics, where a joint turns enough for this to decide;
#     - if joints that turn far are steady, as wheels are: the branch ends at 0.5 to 1.4 rad a step, and the error
#       of the energy is a tenth of the kinetic energy at 0.9 rad.


cdef void certify(ModelStepper self, int required_signs) noexcept nogil:
    # lanes whose solution does not continue from no motion: |y - (h v + share h^2 a)| <= near max(|h v|^2, |h^2 a|),
    # for the joints that turn, and each that turns far is steady. The prediction does not include what the step treats
    # implicitly
    cdef Newton* x = &self.lane.newton
    cdef const vt_model* m = self.shared.m
    cdef vt_real turn = largest_turn(m, x.y), by_v, by_a, off, size
    cdef double h = self.lane.now.h, near = NEAR if required_signs == SAME else FARTHER, most, far
    cdef bint lenient = required_signs != SAME and self.method.solves_forces(self)
    cdef bint asks[MOST_LANES]
    cdef int i, k, cause = self.lane.now.cause
    for i in range(VT_WIDTH):
        far = vt_get(turn, i)
        asks[i] = False
        if x.status[i] != OK or self.lane.left[i]:
            continue
        if not far < HALF_TURN:
            x.status[i] = WRONG_BRANCH
        elif far < SHORT_TURN:
            show_margin(self, i, far, NAN)
        else:
            asks[i] = True
    if not any_of(asks):
        return
    increment_by_dynamics(self, self.method.node_share(self), x.d)
    size = vt_max_nan(largest(x.v, self.nv), largest(x.a, self.nv))
    for i in range(VT_WIDTH):
        if asks[i] and not isfinite(vt_get(size, i)):
            # singular constraints: there is no prediction
            self.lane.now.cause, asks[i] = cause, False
            show_margin(self, i, vt_get(turn, i), NAN)
            x.status[i] = OK if vt_get(turn, i) < LONG_TURN else WRONG_BRANCH
    for k in range(self.nv):
        x.d[k] = x.y[k] - x.d[k]
        x.v[k] = h * x.v[k]
        x.a[k] = h * h * x.a[k]
    by_v, by_a = largest_turn(m, x.v), vt_sqrt(largest_turn(m, x.a))
    for k in range(m.nlocked):
        x.d[self.shared.locked[k].iv] = x.a[self.shared.locked[k].iv] = vt_set1(0.0)
    require_steady(self, asks)
    off = largest_turn(m, x.d)
    for i in range(VT_WIDTH):
        if not asks[i]:
            continue
        most = min(near * max(vt_get(by_v, i), vt_get(by_a, i)), FAR)
        if vt_get(off, i) <= most * most or (lenient and vt_get(turn, i) < LONG_TURN):
            show_margin(self, i, vt_get(turn, i), sqrt(vt_get(off, i)) / most)
        else:
            x.status[i] = WRONG_BRANCH


cdef void require_steady(ModelStepper self, bint* asks) noexcept nogil:
    # joints that turn far in a lane turn about as fast as before
    cdef Newton* x = &self.lane.newton
    cdef const vt_body* b
    cdef vt_real turn, off, change
    cdef int i, k
    for k in range(self.shared.m.nbody):
        b = &self.shared.m.body[k]
        turn = joint_turn_square(b, x.y)
        for i in range(VT_WIDTH):
            if not (asks[i] and vt_get(turn, i) >= LONG_TURN):
                continue
            off, change = joint_turn_square(b, x.d), joint_turn_square(b, x.a)
            if vt_get(off, i) > STEADY or vt_get(change, i) > STEADY:
                asks[i], x.status[i] = False, WRONG_BRANCH


cdef void show_margin(ModelStepper self, int i, double turn, double off) noexcept nogil:
    # the largest of a step's substeps, in a lane; NaN is none
    cdef Now* now = &self.lane.now[i]
    if not now.turn > sqrt(turn):
        now.turn = sqrt(turn)
    if off >= 0.0 and not now.off > off:
        now.off = off


# ---- a step -----------------------------------------------------------------------------------------


cdef int variational_attempt(ModelStepper self) noexcept nogil:
    # guess, passes, node 2
    cdef Newton* x = &self.lane.newton
    cdef int i, solver = self.shared.choices.solver, required_signs = signs_required(self)
    cdef bint extrapolated
    for i in range(VT_WIDTH):
        self.lane.now[i].iterations = 0
    if self.lane.progress.opening and self.shared.count:
        note_tangent(self)
    extrapolated = predict(self)
    for i in range(VT_WIDTH):
        self.lane.now[i].contraction = NAN
        self.lane.reuse[i].age += 1
    variational_iterate(self, solver, required_signs)
    if VT_WIDTH > 1:
        # lanes whose equations are not solved are left to steps of one instance
        self.method.finish(self)
        return OK
    if x.status[0] == WRONG_BRANCH or (unsolved(x.status[0]) and (solver == AUTO or extrapolated)):
        # the last attempt: from the prediction of the dynamics, with exact directions if the solver allows it
        self.lane.guess.seen.count = 0
        x.nearby = NULL
        no_multipliers(self)
        x.solves[0] = True
        self.method.guess_by_dynamics(self, self.method.node_share(self), EACH)
        guess_rest(self, EACH)
        variational_iterate(self, RECURSIVE_NEWTON if solver == AUTO else solver, min(required_signs, EVEN))
    return self.method.finish(self) if x.status[0] == OK else x.status[0]


cdef int signs_required(ModelStepper self) noexcept nogil:
    # backwards in time, at rest, dissipation c leaves M - |h| c/2 of M: its signs carry no information
    if self.lane.now.h < 0.0 and (self.method.solves_forces(self) or model_loaded(self)):
        return ODD
    return self.shared.choices.required_signs


cdef vt_real renew_row(vt_real* before, const vt_real* now, int n) noexcept nogil:
    # the largest change
    cdef vt_real most = vt_set1(0.0)
    cdef int k
    for k in range(n):
        most = vt_max(most, vt_abs(now[k] - before[k]))
        before[k] = now[k]
    return most


cdef bint held_forces_jump(ModelStepper self, bint* jumped) noexcept nogil:
    # whether torque or inputs are others than in the last step, and were not in that one, as where a controller holds them for
    # some steps: what varies from step to step does so smoothly
    cdef Drive* x = &self.lane.drive
    cdef vt_real change = vt_max(renew_row(x.tau_before, x.tau, self.nv),
                                 renew_row(x.u_before, x.u, self.shared.schedule.nu))
    cdef bint varies
    cdef int i
    for i in range(VT_WIDTH):
        varies = vt_get(change, i) != 0.0
        jumped[i], x.varied[i] = varies and not x.varied[i] and self.lane.guess.seen[i].count >= 4, varies
    return any_of(jumped)


cdef void learn(ModelStepper self) noexcept nogil:
    # the increment, for the guesses of later steps: as it would be if solved further
    cdef Choices* c = &self.shared.choices
    cdef Newton* x = &self.lane.newton
    cdef Guess* g = self.lane.guess
    cdef bint further[MOST_LANES]
    cdef bint rings[MOST_LANES]
    cdef bint known[MOST_LANES]
    cdef bint jumped[MOST_LANES]
    cdef double share = self.method.node_share(self)
    cdef int i
    if not (c.guess == GUESS_AUTO or c.guess >= GUESS_EXTRAPOLATE):
        return
    if x.nearby != NULL:
        learn_nearby(self)
        return
    for i in range(VT_WIDTH):
        rings[i] = guess_rings(g, i, self.lane.now[i].iterations)
        further[i] = goes_further(self, i)
        known[i] = further[i] and x.foreseen[i]
        further[i], x.foreseen[i] = further[i] and not known[i], False
        x.factors[i] = further[i] and renews_further(self, i)
    if any_of(known):
        add_in(known, self.nv, x.ahead, x.y)
    if any_of(x.factors):
        factor_some(self)
    if any_of(further) and direction(self) == OK:
        correct(self, further)
    if g.seen.count == 0:
        g.seen.h = self.lane.push_guess.seen.h = self.lane.now.h
        self.lane.push_guess.seen.count = 0
    guess_scale(g, self.nv, self.lane.now.h)
    if c.stages == 1 and held_forces_jump(self, jumped) and share > 0.0:
        guess_ramp(g, self.nv, x.y, jumped, share, x.spare)
    guess_learn(g, self.nv, x.y, rings, x.spare)
    if self.shared.gears and x.own == NULL:
        learn_multipliers(self)


cdef void learn_nearby(ModelStepper self) noexcept nogil:
    # the deviation from what a step nearby says to first order
    cdef Newton* x = &self.lane.newton
    cdef Guess* g = self.lane.guess
    cdef int k
    if self.lane.now.error > ENOUGH_LEARNT * self.shared.choices.tolerance * x.now.scale:
        correct_by_nearby(self)
    for k in range(self.nv):
        x.y[k] = x.y[k] - vt_set1(x.nearby.y[k])
    g.seen.h = self.lane.now.h if g.seen.count == 0 else g.seen.h
    guess_scale(g, self.nv, self.lane.now.h)
    guess_learn(g, self.nv, x.y, NULL, x.spare)


# ---- creation -------------------------------------------------------------------------------------------


cdef int newton_of_steps(ModelStepper self, Py_ssize_t broyden, bint dense, const Islands* plain) except -1:
    # broyden, plain: see newton_make and operator_make
    cdef Choices* c = &self.shared.choices
    cdef Lane* lane = &self.lane
    cdef int i, k, n = self.nv, count = self.shared.count
    lane.progress = progress_make(self.memory)
    newton_make(&lane.newton, self.memory, n, count, c.extra, broyden)
    lane.newton.share = 1.0
    if c.stages == 1:
        lane.drive.tau_before = self.memory.kept_reals(n)
        lane.drive.u_before = self.memory.kept_reals(self.shared.schedule.nu)
        lane.drive.varied = self.memory.kept_ints(VT_WIDTH, 0, 1)
    lane.guesses = <Guess*>self.memory.given(c.stages * sizeof(Guess))
    lane.push_guesses = <Guess*>self.memory.given(c.stages * sizeof(Guess))
    lane.reuses = <FactorReuse*>self.memory.kept(c.stages * VT_WIDTH * sizeof(FactorReuse))
    lane.operators = <Operator*>self.memory.given(c.stages * sizeof(Operator))
    for k in range(c.stages):
        for i in range(VT_WIDTH):
            reuse_bounds(&lane.reuses[k * VT_WIDTH + i], self.memory)
        guess_make(&lane.guesses[k], self.memory, n, model_solves_forces(self))
        guess_make(&lane.push_guesses[k], self.memory, count, False)
        operator_make(&lane.operators[k], self.memory, n, count, c.extra, dense, plain)
    use(self, 0)
    return 0


cdef bint variational_fits_lanes(ModelStepper self) noexcept:
    # lanes have the default guess, and exact factors that may serve further passes
    cdef Choices* c = &self.shared.choices
    return (c.guess == GUESS_AUTO and not c.extra
            and (c.solver == AUTO or c.solver == RECURSIVE_NEWTON or c.solver == FROZEN))


cdef void variational_entries(Method* x) noexcept:
    # entries common to all discretisations
    x.fits_lanes = variational_fits_lanes
    x.guess_by_dynamics, x.solves_forces = variational_guess_by_dynamics, model_solves_forces
    x.node_share = x.force_share = model_node_share
    x.pass_on, x.leave, x.by_velocities = nothing, nothing, straightens_nothing


cdef void nothing(ModelStepper self) noexcept nogil:
    pass


cdef void straightens_nothing(ModelStepper self, vt_real* y) noexcept nogil:
    # y, an increment by body velocities, becomes one of the unknown
    pass
