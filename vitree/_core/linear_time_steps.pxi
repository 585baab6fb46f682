# The linear-time variational integrator's solvers, guesses and their economy
# (Lee et al. 2016 for riqn and the guesses): extrapolated increments, gains kept over steps, the residual
# carried into the momentum.

cdef enum:
    AUTO = 0
    RECURSIVE_NEWTON = 1
    FROZEN = 2
    RIQN = 3

cdef enum:
    GUESS_AUTO = 0
    GUESS_CURRENT = 1
    GUESS_EULER = 2
    GUESS_SEMI_IMPLICIT = 3
    GUESS_ABA = 4
    GUESS_EXTRAPOLATE = 5

SOLVERS = {"auto": AUTO, "recursive-newton": RECURSIVE_NEWTON, "frozen": FROZEN, "riqn": RIQN}
GUESSES = {"auto": GUESS_AUTO, "current": GUESS_CURRENT, "euler": GUESS_EULER, "semi-implicit": GUESS_SEMI_IMPLICIT,
           "aba": GUESS_ABA, "extrapolate": GUESS_EXTRAPOLATE}

cdef enum:
    ORDERS = 8          # highest order of extrapolation tried


cdef class Economy:
    """Whether the operator at hand or an exact factorisation is the cheaper way to a step's goal.

    The operator's contraction is taken to grow with the number of steps it is old, Newton's to be
    proportional to the residual; both constants are learnt from what the passes did.
    """

    cdef double cost_pass               # of a correction and a residual, in residuals
    cdef double cost_factor             # of an exact factorisation
    cdef bint have                      # an operator is at hand
    cdef bint reused                    # the last correction was made with it
    cdef int age                        # steps since it was made
    cdef double contraction             # per step of age
    cdef double newton_constant

    def __cinit__(self, double cost_pass, double cost_factor):
        self.cost_pass, self.cost_factor = cost_pass, cost_factor
        self.begin()

    cdef void begin(self) noexcept nogil:
        self.have = False
        self.contraction = 0.01
        self.newton_constant = 1.0

    cdef void made(self) noexcept nogil:
        self.have = True
        self.age = 0

    cdef double passes(self, double contraction, double goal, double e) noexcept nogil:
        # corrections needed at a contraction
        cdef double c = min(max(contraction, 1e-9), 0.9), n = log(goal / e) / log(c)
        return 1.0 if n <= 1.0 else <double>(<int>n + (1 if n > <int>n else 0))

    cdef void learn(self, double e, double e_old, double scale) noexcept nogil:
        # from a pass that took the residual from e_old to e
        cdef double q = e / e_old
        if self.reused and self.age > 0:
            q = q / self.age
            self.contraction = max(q, 0.8 * self.contraction + 0.2 * q)
        elif not self.reused:
            q = q * scale / e_old
            self.newton_constant = max(q, 0.8 * self.newton_constant + 0.2 * q)

    cdef bint reuse(self, int k, double e, double e_old, double goal, double scale) noexcept nogil:
        # at pass k: whether to go on with the operator at hand
        cdef double q = e / e_old if k > 0 else self.contraction * self.age if self.have else 1.0
        cdef double exact = min(self.newton_constant * e / scale, 0.5)
        self.reused = q <= 0.5 and (self.cost_pass * self.passes(q, goal, e)
                                    <= self.cost_factor + self.cost_pass * self.passes(exact, goal, e))
        return self.reused


cdef class Guess:
    """Extrapolation of past increments, of the order that did best lately."""

    cdef Scratch memory
    cdef int nv
    cdef readonly int count             # increments seen
    cdef double* table                  # (ORDERS + 1, nv) backward differences of the last increment
    cdef double* fresh
    cdef double score[ORDERS + 1]

    def __cinit__(self, int nv):
        self.nv = nv
        self.memory = Scratch((ORDERS + 3) * nv * sizeof(double) + 64)
        self.table = <double*>self.memory.take((ORDERS + 1) * nv * sizeof(double) + 8)
        self.fresh = <double*>self.memory.take(nv * sizeof(double) + 8)

    cdef void forget(self) noexcept nogil:
        self.count = 0

    cdef void predict(self, double* y) noexcept nogil:
        # the sum of the backward differences up to the best order
        cdef int m, k, best = 1
        for m in range(2, min(self.count, ORDERS) + 1):
            if self.score[m] < self.score[best]:
                best = m
        memcpy(y, self.table, self.nv * sizeof(double))
        for m in range(1, best):
            for k in range(self.nv):
                y[k] += self.table[m * self.nv + k]

    cdef void learn(self, const double* y) noexcept nogil:
        # order m would have been wrong by the m-th difference
        cdef int m, k, known = min(self.count, ORDERS)
        cdef double d, e, worst
        cdef double* row
        memcpy(self.fresh, y, self.nv * sizeof(double))
        for m in range(known + 1):
            row = self.table + m * self.nv
            worst = 0.0
            for k in range(self.nv):
                d = self.fresh[k]
                e = d - row[k]
                row[k] = d
                self.fresh[k] = e
                worst = max(worst, fabs(e))
            if m < ORDERS:
                self.score[m + 1] = 0.5 * (worst + self.score[m + 1]) if self.count > m + 1 else worst
        self.count += 1


cdef void first_guess(Stepper stepper, Guess guess, int kind, double* v, double* a, double* y) noexcept nogil:
    if kind == GUESS_AUTO or kind == GUESS_EXTRAPOLATE:
        if guess.count >= 4:
            guess.predict(y)
            return
        kind = GUESS_ABA
    if kind == GUESS_CURRENT:
        memset(y, 0, stepper.nv * sizeof(double))
    else:
        stepper.guess_from_dynamics(0.0 if kind == GUESS_EULER else 1.0 if kind == GUESS_SEMI_IMPLICIT else 0.5,
                                    v, a, y)


cdef class LinearTimeStepper(Stepper):
    """Steps of the linear-time variational integrator; the state is (q, p)."""

    cdef int solver
    cdef int guess_kind
    cdef readonly double tolerance
    cdef readonly int max_iterations
    cdef readonly long residuals        # evaluations since the state was set
    cdef readonly long factorisations
    cdef readonly long solves
    cdef Guess guess
    cdef bint started
    cdef Node* n1
    cdef Node* n2
    cdef Trial* trial
    cdef Trial* rest                    # the trial of no motion
    cdef Solve* work
    cdef Gains* gains
    cdef BigGains* big
    cdef double* weight1                # gravity and wrenches at the nodes, projected
    cdef double* weight2
    cdef double* force                  # on the joints, in the middle
    cdef double* rhs
    cdef double* y
    cdef double* best
    cdef double* r
    cdef double* d
    cdef double* v
    cdef double* a
    cdef Economy economy                # of the gains
    cdef double scale                   # of the residual: the largest momentum or impulse
    cdef bint turned                    # a body's turn in the last trial was half a turn or more

    def __init__(self, model, h, torque=None, int solver=AUTO, int guess=GUESS_AUTO, double tolerance=1e-9,
                 int max_iterations=30, **options):
        cdef int nb = self.nbody
        self.solver, self.guess_kind = solver, guess
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.guess = Guess(self.nv)
        self.economy = Economy(1.7, 1.9)
        self.n1 = <Node*>self.take(nb * sizeof(Node))
        self.n2 = <Node*>self.take(nb * sizeof(Node))
        self.trial = <Trial*>self.take(nb * sizeof(Trial))
        self.rest = <Trial*>self.take(nb * sizeof(Trial))
        self.work = <Solve*>self.take(nb * sizeof(Solve))
        self.gains = <Gains*>self.take(nb * sizeof(Gains))
        self.big = <BigGains*>self.take(self.model.m.nbig * sizeof(BigGains))
        self.weight1 = self.doubles(self.nv)
        self.weight2 = self.doubles(self.nv)
        self.force = self.doubles(self.nv)
        memcpy(self.force, self.tau, self.nv * sizeof(double))
        self.rhs = self.doubles(self.nv)
        self.y = self.doubles(self.nv)
        self.best = self.doubles(self.nv)
        self.r = self.doubles(self.nv)
        self.d = self.doubles(self.nv)
        self.v = self.doubles(self.nv)
        self.a = self.doubles(self.nv)

    cdef void begin(self) noexcept nogil:
        self.guess.forget()
        self.economy.begin()
        self.started = False
        self.residuals = self.factorisations = self.solves = 0

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step that leads to q2."""
        cdef const vt_model* m = &self.model.m
        cdef int i
        cdef const vt_body* b
        cdef double least
        self.set_state(t, q, np.zeros(self.nv))
        self.trouble = OK
        self.take_inputs()
        difference(m, self.q, &q2[0], self.y)
        for i in range(m.nbody):
            b = &m.body[i]
            if b.kind == FREE:
                store3(self.y + b.iv, tmul(quat_matrix(load_quat(&q[b.iq + 3])),
                                           sub(load3(&q2[b.iq]), load3(&q[b.iq]))))
        for i in range(self.nv):
            self.d[i] = 0.5 * self.y[i]
            self.v[i] = self.y[i] / self.h
        integrate(m, self.q, self.d, self.q2)
        if self.asks and self.ask(t + 0.5 * self.h, self.q2, self.v) != OK:
            raise self.exception
        self.middle_forces()
        lt_node(m, self.q, self.n1)
        self.node_weight(t, self.q, self.n1, self.weight1)
        if self.trouble != OK:
            raise self.exception
        for i in range(self.nv):
            self.rhs[i] = 0.5 * self.h * (self.weight1[i] + self.force[i])
        lt_trial(m, self.n1, self.y, self.trial, &least)
        lt_residual(m, self.h, self.n1, self.y, self.rhs, self.trial, self.r)
        out = np.empty(self.nv)
        for i in range(self.nv):
            out[i] = self.r[i]
        return out

    # ---- the pieces -----------------------------------------------------------------------------

    cdef void node_weight(self, double t, const double* q, const Node* x, double* weight) noexcept nogil:
        # generalised force at a node of gravity and of the loads that depend on q
        cdef int k
        if self.loaded():
            forward_kinematics(&self.model.m, q, self.pose)
            self.apply_to_bodies(RESTING, t, q, self.zeros)
        lt_weight(&self.model.m, x, self.wrench if self.loaded() else NULL, self.work, weight)
        if self.loaded():
            for k in range(self.nv):
                weight[k] += self.ltau[k]

    cdef bint rated(self) noexcept nogil:
        # whether loads depend on velocities
        return self.loads.rates > 0 or self.user_moves

    cdef void middle_forces(self) noexcept nogil:
        # joint forces, and loads that depend on velocities, at the predicted middle (q2, v)
        memcpy(self.force, self.tau, self.nv * sizeof(double))
        if self.rated():
            self.place_bodies(self.q2, self.v)
            self.apply_to_bodies(RATES, self.t + 0.5 * self.h, self.q2, self.v)
            self.project_wrenches(self.force)
            for k in range(self.nv):
                self.force[k] += self.ltau[k]

    cdef double residual(self) noexcept nogil:
        # r at y; its largest entry, infinite where the step is not valid
        cdef double least, e
        lt_trial(&self.model.m, self.n1, self.y, self.trial, &least)
        lt_residual(&self.model.m, self.h, self.n1, self.y, self.rhs, self.trial, self.r)
        self.residuals += 1
        e = largest(self.r, self.nv)
        self.turned = isfinite(e) and not least > 0.0
        return e if least > 0.0 and isfinite(e) else INFINITY

    cdef void factor(self, const Trial* z) noexcept nogil:
        lt_factor(&self.model.m, self.h, self.n1, self.y, z, self.work, self.gains, self.big)
        self.factorisations += 1
        self.economy.made()

    cdef void correct(self, const Trial* z) noexcept nogil:
        cdef int k
        lt_solve(&self.model.m, self.h, self.n1, self.y, z, self.gains, self.big, self.r, self.work, self.d)
        self.solves += 1
        for k in range(self.nv):
            self.y[k] += self.d[k]

    # ---- a step ---------------------------------------------------------------------------------

    cdef int prepare(self) noexcept nogil:
        # node 1 and the forces at it
        cdef const vt_model* m = &self.model.m
        cdef int k, status
        if not self.started:
            lt_node(m, self.q, self.n1)
        if self.asks or self.rated():
            status = self.predict_middle(self.v, self.a, self.d)
            if status != OK:
                return status
            self.middle_forces()
        if not self.started or self.loads.inputs:
            # inputs differ from step to step
            self.node_weight(self.t, self.q, self.n1, self.weight1)
            self.started = True
        for k in range(self.nv):
            self.rhs[k] = self.x[k] + 0.5 * self.h * (self.weight1[k] + self.force[k])
        return OK

    cdef int step(self) noexcept nogil:
        cdef double e, goal
        cdef int status = self.prepare()
        if status != OK:
            return status
        self.scale = max(largest(self.x, self.nv), largest(self.rhs, self.nv))
        if not isfinite(self.scale):
            return NOT_FINITE
        goal = self.tolerance * self.scale
        first_guess(self, self.guess, self.guess_kind, self.v, self.a, self.y)
        self.iterations = 0
        if self.solver == AUTO:
            e = self.solve_auto(goal, self.scale)
            if e > goal:
                # the last line: exact directions from the dynamics' own prediction
                self.guess.forget()
                self.economy.have = False
                self.guess_from_dynamics(0.5, self.v, self.a, self.y)
                e = self.solve_plainly(goal, RECURSIVE_NEWTON)
        else:
            e = self.solve_plainly(goal, self.solver)
        self.error = e
        if not e <= goal:
            self.guess.forget()
            self.economy.have = False
            return TURNED_TOO_FAR if self.turned else NOT_CONVERGED
        return self.finish()

    cdef int finish(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef Node* swap_node
        cdef double* swap
        cdef int k
        lt_advance_q(m, self.q, self.y, self.q2)
        lt_node(m, self.q2, self.n2)
        self.node_weight(self.t + self.h, self.q2, self.n2, self.weight2)
        for k in range(self.nv):
            self.d[k] = self.weight2[k] + self.force[k]
        lt_end(m, self.h, self.n2, self.y, self.r, self.d, self.trial, self.x2)
        if self.trouble == CALLBACK_FAILED:
            return CALLBACK_FAILED
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        if self.guess_kind == GUESS_AUTO or self.guess_kind == GUESS_EXTRAPOLATE:
            if self.economy.have and self.error > 0.03 * self.tolerance * self.scale:
                # extrapolate from the increments as they would be if solved further
                self.correct(self.trial)
            self.guess.learn(self.y)
        swap_node = self.n1
        self.n1 = self.n2
        self.n2 = swap_node
        swap = self.weight1
        self.weight1 = self.weight2
        self.weight2 = swap
        self.accept()
        return OK

    cdef double solve_plainly(self, double goal, int solver) noexcept nogil:
        # the same operator rule at each pass: exact direction, factored once, or M(q1)
        cdef double e = INFINITY, least
        cdef int k
        if solver == RIQN:
            lt_trial(&self.model.m, self.n1, self.zeros, self.rest, &least)
        for k in range(self.max_iterations + 1):
            e = self.residual()
            if e <= goal or not isfinite(e) or k == self.max_iterations:
                break
            if solver == RIQN:
                if k == 0:
                    lt_factor(&self.model.m, self.h, self.n1, self.zeros, self.rest, self.work, self.gains, self.big)
                    self.factorisations += 1
                self.correct(self.rest)
            else:
                if solver == RECURSIVE_NEWTON or k == 0:
                    self.factor(self.trial)
                self.correct(self.trial)
            self.iterations += 1
        self.economy.have = False
        return e

    cdef double solve_auto(self, double goal, double scale) noexcept nogil:
        # by gains while they contract well, else by an exact factorisation
        cdef double e, e_old = 0.0, x
        cdef int k
        self.economy.age += 1
        for k in range(13):
            e = self.residual()
            if k == 0 and e > 1e-2 * scale and self.guess.count >= 4:
                # the prediction is poor, as after a blow: is the dynamics' own any better?
                memcpy(self.best, self.y, self.nv * sizeof(double))
                x = e
                self.guess_from_dynamics(0.5, self.v, self.a, self.y)
                e = self.residual()
                if e > x:
                    memcpy(self.y, self.best, self.nv * sizeof(double))
                    e = self.residual()
                self.guess.forget()
            if not isfinite(e):
                return e
            if k > 0:
                self.economy.learn(e, e_old, scale)
            if e <= goal or k == 12:
                return e
            if not self.economy.reuse(k, e, e_old, goal, scale):
                self.factor(self.trial)
            self.correct(self.trial)
            self.iterations += 1
            e_old = e
        return e

    @property
    def counts(self):
        """Residuals, factorisations and back-substitutions since the state was set."""
        return self.residuals, self.factorisations, self.solves
