# What the variational integrators' steppers have in common: guesses, solvers and their economy
# (Lee et al. 2016; extrapolated increments, operators kept over steps, the residual carried into the
# momentum), constraints by Schur complement, compositions of steps.

cdef enum:
    AUTO = 0
    RECURSIVE_NEWTON = 1
    FROZEN = 2
    RIQN = 3
    NEWTON = 4
    BROYDEN = 5

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

SOLVERS = {"auto": AUTO, "recursive-newton": RECURSIVE_NEWTON, "frozen": FROZEN, "riqn": RIQN, "newton": NEWTON,
           "broyden": BROYDEN}
GUESSES = {"auto": GUESS_AUTO, "current": GUESS_CURRENT, "euler": GUESS_EULER, "semi-implicit": GUESS_SEMI_IMPLICIT,
           "aba": GUESS_ABA, "extrapolate": GUESS_EXTRAPOLATE, "extrapolate-2": GUESS_EXTRAPOLATE_2,
           "extrapolate-3": GUESS_EXTRAPOLATE_3, "extrapolate-4": GUESS_EXTRAPOLATE_4}

cdef enum:
    ORDERS = 8          # highest order of extrapolation tried
    PASSES = 12         # most corrections before the solver "auto" starts anew with exact directions

cdef enum:              # what makes steps adapt themselves
    DENSITY = 1         # a step density that follows the velocities (Hairer & Soederlind 2005), reversible
    SUNDMAN = 2         # time is part of the discrete action: symplectic

ADAPTATIONS = {"density": DENSITY, "sundman": SUNDMAN}

#: How well constraints are closed, in units of the mechanism's size (at least a metre)
cdef double CLOSED = 2e-13


# ---- whether the operator at hand or an exact factorisation is the cheaper way to a step's goal --
# The operator's contraction is taken to grow with the number of steps it is old, Newton's to be
# proportional to the residual; both constants are learnt from what the passes did.

cdef struct Economy:
    bint have                       # an operator is at hand
    bint reused                     # the last correction was made with it
    int age                         # steps since it was made
    double contraction              # per step of age
    double newton_constant
    double first                    # residual of the last guess


cdef void economy_begin(Economy* x) noexcept nogil:
    x.have = x.reused = False
    x.age = 0
    x.contraction = 0.01
    x.newton_constant = 1.0
    x.first = INFINITY


cdef double passes(double contraction, double goal, double e) noexcept nogil:
    # corrections needed at a contraction
    cdef double c = min(max(contraction, 1e-9), 0.9), n = log(goal / e) / log(c)
    return 1.0 if n <= 1.0 else <double>(<int>n + (1 if n > <int>n else 0))


cdef void economy_learn(Economy* x, double e, double e_old, double scale) noexcept nogil:
    # from a pass that took the residual from e_old to e
    cdef double q = e / e_old
    if x.reused and x.age > 0:
        q = q / x.age
        x.contraction = max(q, 0.8 * x.contraction + 0.2 * q)
    elif not x.reused:
        q = q * scale / e_old
        x.newton_constant = max(q, 0.8 * x.newton_constant + 0.2 * q)


cdef bint economy_reuse(Economy* x, double cost_pass, double cost_factor, int k, double e, double e_old,
                        double goal, double scale) noexcept nogil:
    # at pass k: whether to go on with the operator at hand. Costs of a correction with a residual and of
    # a factorisation, in residuals
    cdef double q = e / e_old if k > 0 else x.contraction * x.age if x.have else 1.0
    cdef double exact = min(x.newton_constant * e / scale, 0.5)
    x.reused = q <= 0.5 and (cost_pass * passes(q, goal, e) <= cost_factor + cost_pass * passes(exact, goal, e))
    if k == 0 and x.have and not x.reused:
        # what was learnt grows old: try again some time
        x.contraction *= 0.998
    return x.reused


# ---- extrapolation of past increments, of the order that did best lately -------------------------

cdef struct Guess:
    long count                      # increments seen
    double h                        # the step they were made with
    double* table                   # (ORDERS + 1, nv) backward differences of the last increment
    double score[ORDERS + 1]


cdef int guess_order(const Guess* g) noexcept nogil:
    cdef int m, best = 1
    for m in range(2, <int>min(g.count, ORDERS) + 1):
        if g.score[m] < g.score[best]:
            best = m
    return best


cdef void guess_predict(const Guess* g, int nv, int order, double* y) noexcept nogil:
    # the sum of the backward differences below the order
    cdef int m, k
    memcpy(y, g.table, nv * sizeof(double))
    for m in range(1, order):
        for k in range(nv):
            y[k] += g.table[m * nv + k]


cdef void guess_learn(Guess* g, int nv, const double* y, double* fresh) noexcept nogil:
    # order m would have been wrong by the m-th difference. fresh: memory for (nv,)
    cdef int m, k, known = <int>min(g.count, ORDERS)
    cdef double d, e, worst
    cdef double* row
    memcpy(fresh, y, nv * sizeof(double))
    for m in range(known + 1):
        row = g.table + m * nv
        worst = 0.0
        for k in range(nv):
            d = fresh[k]
            e = d - row[k]
            row[k] = d
            fresh[k] = e
            worst = max(worst, fabs(e))
        if m < ORDERS:
            g.score[m + 1] = 0.5 * (worst + g.score[m + 1]) if g.count > m + 1 else worst
    g.count += 1


cdef void guess_scale(Guess* g, int nv, double h) noexcept nogil:
    # increments of another step
    cdef int k
    cdef double ratio = h / g.h
    if ratio != 1.0:
        for k in range((ORDERS + 1) * nv):
            g.table[k] *= ratio
    g.h = h


cdef class VariationalStepper(Stepper):
    """Steps whose unknown is the increment y that leads from q1 to q2; the state is (q, p).

    A discretisation says what its residual is and how to solve with its derivative; the rest is here.
    """

    cdef int solver
    cdef int guess_kind
    cdef readonly double tolerance
    cdef readonly int max_iterations
    cdef readonly long residuals        # evaluations since the state was set
    cdef readonly long factorisations
    cdef readonly long solves
    cdef double cost_pass
    cdef double cost_factor
    cdef Guess* guess                   # of the substep at hand
    cdef Economy* economy
    cdef double* y
    cdef double* best
    cdef double* r
    cdef double* d
    cdef double* v
    cdef double* a
    cdef double scale                   # of the residual: the largest momentum or impulse
    cdef bint turned                    # a body's turn in the last trial was half a turn or more
    # constraints h(q2) = 0 with impulses -Dh(q1)^T lam at node 1, and blocks of rows by which loads couple
    # the joints: the operator becomes J - C^T R
    cdef int extra                      # rows of C
    cdef double* lam
    cdef double* first                  # what makes the start's momentum tangent to the constraints
    cdef double* force_out              # multipliers as forces at the last step's start
    cdef double* Dh2
    cdef double* all_C                  # (stages, ...): each substep has its own operator
    cdef double* all_R
    cdef double* all_YC
    cdef double* all_J
    cdef int* all_J_order
    cdef double* C                      # (extra, nv)
    cdef double* R                      # (extra, nv)
    cdef double* YC                     # (count + extra, nv): responses
    cdef double* A                      # (count + extra, count + extra)
    cdef double* z
    cdef int* z_order
    cdef bint have_Dh
    # the dense matrix of "newton", Broyden's corrections
    cdef double* J
    cdef int* J_order
    cdef double* past
    cdef double* past_size
    # compositions: substeps of shares of the step, each with its own history
    cdef readonly int stages
    cdef int stage
    cdef double* share
    cdef Guess* guesses
    cdef Economy* economies
    cdef double* q_kept
    cdef double* x_kept
    cdef bint implicit                  # forces that depend on velocities are taken at the solved-for middle
    cdef readonly int halvings          # most times that a step which cannot be solved is halved
    cdef readonly long halved           # steps that were
    cdef bint opening                   # no step lies behind
    cdef bint leading                   # the substep starts where the step does
    # steps that adapt themselves
    cdef int adapt
    cdef double pace                    # [1] step times density
    cdef double rate0                   # [1/s] speed below which steps stay as they are
    cdef double density_given           # [1/s] at the start, or NaN: as the speed there has it
    cdef double density                 # half a step before the state, or at it if none lies behind
    cdef double share_now               # of the pace, in the substep at hand

    def __init__(self, model, h, torque=None, int solver=AUTO, int guess=GUESS_AUTO, double tolerance=1e-9,
                 int max_iterations=30, shares=(1.0,), int halvings=0, int adapt=0, double rate=1.0,
                 double density=NAN, **options):
        cdef int k, rows, n = self.nv
        self.adapt, self.rate0, self.pace, self.density_given = adapt, rate, rate * h, density
        self.adaptive, self.share_now = adapt != 0, 1.0
        self.solver, self.guess_kind = solver, guess
        self.tolerance, self.max_iterations, self.halvings = tolerance, max_iterations, halvings
        self.stages, self.leading = len(shares), True
        self.implicit = self.stages > 1
        self.share = self.doubles(self.stages)
        self.guesses = <Guess*>self.take(self.stages * sizeof(Guess))
        self.economies = <Economy*>self.take(self.stages * sizeof(Economy))
        for k in range(self.stages):
            self.share[k] = shares[k]
            self.guesses[k].table = self.doubles((ORDERS + 1) * n)
        self.y = self.doubles(n)
        self.best = self.doubles(n)
        self.r = self.doubles(n)
        self.d = self.doubles(n)
        self.v = self.doubles(n)
        self.a = self.doubles(n)
        self.q_kept = self.doubles(self.nq)
        self.x_kept = self.doubles(n)
        self.extra = self.coupled_rows()
        rows = self.count + self.extra
        self.lam = self.doubles(self.count)
        self.first = self.doubles(self.count)
        self.force_out = self.doubles(self.count)
        self.Dh2 = self.doubles(self.count * n)
        self.all_C = self.doubles(self.stages * self.extra * n)
        self.all_R = self.doubles(self.stages * self.extra * n)
        self.all_YC = self.doubles(self.stages * rows * n)
        self.A = self.doubles(rows * rows)
        self.z = self.doubles(rows)
        self.z_order = <int*>self.take((rows + 1) * sizeof(int))
        if self.dense():
            self.all_J = self.doubles(self.stages * n * n)
            self.all_J_order = <int*>self.take((self.stages * n + 1) * sizeof(int))
        if solver == BROYDEN:
            self.past = self.doubles((max_iterations + 2) * (n + self.count))
            self.past_size = self.doubles(max_iterations + 2)

    # ---- what a discretisation says -------------------------------------------------------------

    cdef int coupled_rows(self):
        # rows by which loads couple the joints
        return 0

    cdef bint dense(self) noexcept nogil:
        # whether corrections are made with a dense matrix
        return self.solver == NEWTON

    cdef int prepare(self) noexcept nogil:
        # what depends on node 1 alone
        return OK

    cdef double evaluate(self) noexcept nogil:
        # r = -(p1 + D1 Ld + f-) at y; its largest entry, infinite where the step is not valid
        return INFINITY

    cdef void measure(self) noexcept nogil:
        # the residual's scale, once the first is known
        pass

    cdef void measure_motion(self) noexcept nogil:
        # prescribed coordinates bring momentum along, alone M y/h and with the others, which may cancel it
        cdef double none[3]
        cdef int k, iv
        memset(none, 0, sizeof(none))
        for k in range(self.nlocked):
            iv = self.model.m.body[self.locked[k]].iv
            self.v_lock[iv] = self.y[iv]
        rnea(&self.model.m, none, self.q, self.zeros, self.v_lock, self.bias, self.rnea_body)
        self.scale = vt_max_nan(self.scale, largest(self.bias, self.nv) / self.h)
        rnea(&self.model.m, none, self.q, self.zeros, self.y, self.bias, self.rnea_body)
        self.scale = vt_max_nan(self.scale, largest(self.bias, self.nv) / self.h)

    cdef int linearise(self) noexcept nogil:
        # factor dr/dy at y, and C, R
        return OK

    cdef void linearise_at_rest(self) noexcept nogil:
        # the same by M(q1)/h
        pass

    cdef void apply_inverse(self, const double* r, double* d) noexcept nogil:
        # d with (dr/dy) d = -r
        pass

    cdef void reach_node(self, const double* y, double* q2) noexcept nogil:
        # the configuration an increment leads to
        integrate(&self.model.m, self.q, y, q2)

    cdef void by_increments(self, double* rows, int count) noexcept nogil:
        # rows (count, nv) by displacements at node 2 become rows by increments
        pass

    cdef void by_velocities(self, double* y) noexcept nogil:
        # y, an increment by body velocities, becomes one of the unknown
        pass

    cdef void middle(self) noexcept nogil:
        # (q2, v) in the middle of the step
        pass

    cdef int finish(self) noexcept nogil:
        # q2, x2
        return OK

    cdef void pass_on(self) noexcept nogil:
        # node 2 becomes node 1
        pass

    cdef void leave(self) noexcept nogil:
        # the state is not the last step's end: what was known of it is void
        pass

    # ---- histories ------------------------------------------------------------------------------

    cdef void use(self, int stage) noexcept nogil:
        cdef int n = self.nv, rows = self.count + self.extra
        self.stage = stage
        self.C = self.all_C + stage * self.extra * n
        self.R = self.all_R + stage * self.extra * n
        self.YC = self.all_YC + stage * rows * n
        if self.dense():
            self.J = self.all_J + stage * n * n
            self.J_order = self.all_J_order + stage * n
        self.guess = &self.guesses[stage]
        self.economy = &self.economies[stage]

    cdef void forget(self) noexcept nogil:
        # start as if no step lay behind
        cdef int k
        for k in range(self.stages):
            self.guesses[k].count = 0
            self.economies[k].have = False
        memset(self.lam, 0, self.count * sizeof(double))
        self.have_Dh = False
        self.leave()

    cdef void begin(self) noexcept nogil:
        cdef int k
        for k in range(self.stages):
            economy_begin(&self.economies[k])
        self.forget()
        self.use(0)
        self.opening = True
        self.density = NAN
        self.residuals = self.factorisations = self.solves = self.halved = 0

    cdef void pieces(self):
        cdef int j, n = self.nv, rows = self.count + self.extra
        Stepper.pieces(self)
        self.piece(&self.opening, sizeof(int))
        self.piece(&self.have_Dh, sizeof(int))
        self.piece(&self.halved, sizeof(long))
        if self.adapt:
            self.piece(&self.density, sizeof(double))
        for j in range(self.stages):
            self.piece(&self.guesses[j].count, sizeof(long))
            self.piece(&self.guesses[j].h, sizeof(double))
            self.piece(self.guesses[j].score, sizeof(self.guesses[j].score))
            self.piece(self.guesses[j].table, (ORDERS + 1) * n * sizeof(double))
        self.piece(self.economies, self.stages * sizeof(Economy))
        self.piece(self.lam, self.count * sizeof(double))
        self.piece(self.Dh1, self.count * n * sizeof(double))
        self.piece(self.all_C, self.stages * self.extra * n * sizeof(double))
        self.piece(self.all_R, self.stages * self.extra * n * sizeof(double))
        self.piece(self.all_YC, self.stages * rows * n * sizeof(double))
        if self.dense():
            self.piece(self.all_J, self.stages * n * n * sizeof(double))
            self.piece(self.all_J_order, self.stages * n * sizeof(int))

    cdef double multiplier(self, int c) noexcept nogil:
        return self.force_out[c]

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step that leads to q2; free of what constraints take up."""
        if self.stages > 1:
            raise ValueError("a composition's first substep does not end at q1: start from q0 and v0")
        self.set_state(t, q, np.zeros(self.nv))
        self.trouble = OK
        self.take_inputs()
        self.increment_to(&q2[0])
        self.middle()
        if self.asks and self.ask(t + 0.5 * self.h, self.q2, self.v) != OK:
            raise self.exception
        if self.open_node() != OK:
            raise self.exception
        self.evaluate()
        if self.trouble == CALLBACK_FAILED:
            raise self.exception
        return self.array(self.r, self.nv)

    def probe(self, double t, const double[::1] q, const double[::1] p, const double[::1] y, const double[::1] lam):
        """Look at a trial of the step from (t, q, p): an increment (nv,) and multipliers (m,).

        Returns the residual (nv,), the constraints (m,), and the solver's correction of both. Forgets the state.
        """
        cdef int k
        self.set_state(t, q, p)
        self.trouble = OK
        self.take_inputs()
        if self.prepare() == OK:
            for k in range(self.nv):
                self.y[k] = y[k]
            for k in range(self.count):
                self.lam[k] = lam[k]
            self.residual()
            if self.factor() == OK and self.direction() == OK:
                return (self.array(self.r, self.nv), self.array(self.hv, self.count), self.array(self.d, self.nv),
                        self.array(self.z, self.count))
        raise self.exception if self.trouble == CALLBACK_FAILED else ArithmeticError("the trial cannot be evaluated")

    cdef void increment_to(self, const double* q2) noexcept nogil:
        # y from the state to q2
        difference(&self.model.m, self.q, q2, self.y)

    cdef int open_node(self) noexcept nogil:
        # what `prepare` does once tau and u are known
        return OK

    # ---- guesses --------------------------------------------------------------------------------

    cdef void guess_by_dynamics(self, double share) noexcept nogil:
        if share != 0.0 and self.implicit and self.asks:
            # under what is asked for at the start, not what the last substep left
            self.velocity(self.q, self.x, self.v)
            if self.may_ask(self.q, self.v):
                self.ask(self.t, self.q, self.v)
        self.guess_from_dynamics(share, self.v, self.a, self.y)
        self.by_velocities(self.y)
        self.lock_increment()

    cdef bint first_guess(self) noexcept nogil:
        # whether the increments of past steps gave it
        cdef int kind = self.guess_kind, order = 4
        if kind == GUESS_AUTO or kind >= GUESS_EXTRAPOLATE:
            if kind >= GUESS_EXTRAPOLATE_2:
                order = kind - GUESS_EXTRAPOLATE_2 + 2
            if self.guess.count >= order:
                guess_scale(self.guess, self.nv, self.h)
                guess_predict(self.guess, self.nv, order if kind >= GUESS_EXTRAPOLATE_2 else guess_order(self.guess), self.y)
                self.lock_increment()
                return True
            kind = GUESS_ABA
        if kind == GUESS_CURRENT:
            memset(self.y, 0, self.nv * sizeof(double))
            self.lock_increment()
        else:
            self.guess_by_dynamics(0.0 if kind == GUESS_EULER else 1.0 if kind == GUESS_SEMI_IMPLICIT else 0.5)
        return False

    cdef void lock_increment(self) noexcept nogil:
        # prescribed coordinates move as they must
        cdef int k
        for k in range(self.nlocked):
            self.y[self.model.m.body[self.locked[k]].iv] = self.locked_at(k, 2) - self.q[self.model.m.body[self.locked[k]].iq]

    # ---- the residual and its corrections -------------------------------------------------------

    cdef double residual(self) noexcept nogil:
        # r at y, with the multipliers' part; h at q2
        cdef int c, k
        cdef double e
        if self.implicit and self.asks:
            self.middle()
            if not self.may_ask(self.q2, self.v) or self.ask(self.t + 0.5 * self.h, self.q2, self.v) != OK:
                return NAN
        e = self.evaluate()
        self.residuals += 1
        if not (self.count or self.nlocked):
            return e
        if self.count:
            if not self.have_Dh:
                self.constrain_at(self.q, self.hv, self.Dh1)
                self.have_Dh = True
            self.reach_node(self.y, self.q2)
            self.constrain_at(self.q2, self.hv, self.Dh2)
            for c in range(self.count):
                for k in range(self.nv):
                    self.r[k] += self.lam[c] * self.Dh1[c * self.nv + k]
        for k in range(self.nlocked):
            self.r[self.model.m.body[self.locked[k]].iv] = 0.0
        return largest(self.r, self.nv) if isfinite(e) else e

    cdef double closed(self) noexcept nogil:
        # how well the constraints can be closed
        cdef int i
        cdef double size = 1.0
        for i in range(self.nbody):
            size = max(size, fabs(self.pose[i].o.x) + fabs(self.pose[i].o.y) + fabs(self.pose[i].o.z))
        return CLOSED * size

    cdef void solve(self, const double* r, double* d) noexcept nogil:
        # d with (dr/dy) d = -r, by the operator at hand; prescribed coordinates do not move
        cdef int k
        self.solves += 1
        if not self.dense():
            self.apply_inverse(r, d)
            return
        memcpy(d, r, self.nv * sizeof(double))
        for k in range(self.nlocked):
            d[self.model.m.body[self.locked[k]].iv] = 0.0
        lu_solve(self.J, self.nv, self.J_order, d)

    cdef void lock_matrix(self) noexcept nogil:
        # prescribed coordinates stay out of the dense matrix
        cdef int i, j, n = self.nv
        for i in range(self.nlocked):
            j = self.model.m.body[self.locked[i]].iv
            memset(self.J + j * n, 0, n * sizeof(double))
            self.J[j * n + j] = 1.0

    cdef int factor(self) noexcept nogil:
        # the operator at y, and the responses to the multipliers and to the loads' rows
        cdef int k, status
        if self.solver == RIQN:
            self.linearise_at_rest()
        else:
            status = self.linearise()
            if status != OK:
                return status
        for k in range(self.count):
            self.solve(self.Dh1 + k * self.nv, self.YC + k * self.nv)
        for k in range(self.extra):
            self.solve(self.C + k * self.nv, self.YC + (self.count + k) * self.nv)
        self.factorisations += 1
        self.economy.have = True
        self.economy.age = 0
        return OK

    cdef int direction(self) noexcept nogil:
        # The correction d of y and z[:count] of the multipliers, by the Schur complement of both:
        # (J - C^T R) d = r + Dh1^T dlam, Dh2 d = -h; z = (dlam, R d), d = J^-1 r + (responses)^T z
        cdef int c, e, k, entries, n = self.nv, rows = self.count + self.extra
        cdef double* row
        self.solve(self.r, self.d)
        if rows:
            if self.count:
                # in place: the next residual makes Dh2 anew
                self.by_increments(self.Dh2, self.count)
            for c in range(rows):
                row = self.Dh2 + c * n if c < self.count else self.R + (c - self.count) * n
                entries = nonzeros(row, n, self.columns)
                for e in range(rows):
                    self.A[c * rows + e] = inner_at(row, self.YC + e * n, self.columns, entries)
                self.z[c] = inner_at(row, self.d, self.columns, entries)
                if c < self.count:
                    self.z[c] = -self.hv[c] - self.z[c]
                else:
                    for e in range(rows):
                        self.A[c * rows + e] = (1.0 if e == c else 0.0) - self.A[c * rows + e]
            if lu_factor(self.A, rows, self.z_order) != OK:
                return DEPENDENT if self.count else NOT_CONVERGED
            lu_solve(self.A, rows, self.z_order, self.z)
            for c in range(rows):
                for k in range(n):
                    self.d[k] += self.z[c] * self.YC[c * n + k]
        return OK

    cdef void broyden(self, int k) noexcept nogil:
        # Broyden's rank-one updates of the first operator, applied to its correction d
        # (Kelley 1995, algorithm brsol). Pass k leaves its correction in past[k]
        cdef int j, i, n = self.nv, size = self.nv + self.count
        cdef double* s = self.past + k * size
        cdef double* older
        cdef double* newer
        cdef double x
        memcpy(s, self.d, n * sizeof(double))
        memcpy(s + n, self.z, self.count * sizeof(double))
        for j in range(k):
            older = self.past + j * size
            x = inner(older, s, size) / self.past_size[j]
            if j == k - 1:
                x = 1.0 / (1.0 - x)
                for i in range(size):
                    s[i] *= x
            else:
                newer = older + size
                for i in range(size):
                    s[i] += x * newer[i]
        self.past_size[k] = inner(s, s, size)
        memcpy(self.d, s, n * sizeof(double))
        memcpy(self.z, s + n, self.count * sizeof(double))

    cdef void stop_at_rest(self) noexcept nogil:
        # a joint with friction that a correction would turn round from well beyond its linear range stays at
        # rest, where the slope is largest: from there Newton's iteration converges, where it could cycle
        cdef const vt_model* m = &self.model.m
        cdef int k
        for k in range(self.nv):
            if (m.friction[k] != 0.0 and self.y[k] * (self.y[k] + self.d[k]) < 0.0
                    and self.y[k] * self.y[k] > self.h * self.h * m.friction_square[k]):
                self.d[k] = -self.y[k]

    cdef void correct(self) noexcept nogil:
        cdef int k
        for k in range(self.nv):
            self.y[k] += self.d[k]
        for k in range(self.count):
            self.lam[k] += self.z[k]

    # ---- a step ---------------------------------------------------------------------------------

    cdef int iterate(self, int solver) noexcept nogil:
        # corrections until the step's equations hold; leaves the last residual in `error`
        cdef int k, status, most = min(PASSES, self.max_iterations) if solver == AUTO else self.max_iterations
        cdef double e = INFINITY, e_old = 0.0, goal = 0.0, closed = 0.0
        cdef bint fresh
        for k in range(most + 1):
            e = self.residual()
            if self.trouble == CALLBACK_FAILED:
                return CALLBACK_FAILED
            if k == 0:
                self.measure()
                if not isfinite(self.scale):
                    return NOT_FINITE
                if self.count:
                    closed = self.closed()
                if solver == AUTO and e > 1e-2 * self.scale and e > 30.0 * self.economy.first and self.guess.count >= 4:
                    e = self.second_guess(e)
                self.economy.first = e
            if self.nlocked and k <= 2:
                self.measure_motion()
            goal = max(self.tolerance * self.scale, 1e-300)  # numbers below lose digits
            if self.count:
                # what the constraints are off by counts as well, in units of their tolerance
                e = vt_max_nan(e, largest(self.hv, self.count) * (goal / closed))
            self.error = e
            if k > 0 and isfinite(e):
                self.contraction = e / e_old
                if solver == AUTO:
                    economy_learn(self.economy, e, e_old, self.scale)
            if e <= goal:
                return OK
            if not isfinite(e) or k == most:
                break
            if solver == RECURSIVE_NEWTON or solver == NEWTON:
                fresh = True
            elif solver == AUTO:
                fresh = not economy_reuse(self.economy, self.cost_pass, self.cost_factor, k, e, e_old, goal, self.scale)
            else:
                fresh = k == 0
            if fresh:
                status = self.factor()
                if status != OK:
                    return status
            status = self.direction()
            if status != OK:
                return status
            if solver == BROYDEN:
                self.broyden(k)
            elif self.model.m.rubbing:
                self.stop_at_rest()
            self.correct()
            self.iterations += 1
            e_old = e
        return TURNED_TOO_FAR if self.turned else NOT_CONVERGED

    cdef double second_guess(self, double e) noexcept nogil:
        # the extrapolation is suddenly poor, as after a blow: is what the dynamics say any better?
        cdef double x
        memcpy(self.best, self.y, self.nv * sizeof(double))
        self.guess_by_dynamics(0.5)
        x = self.residual()
        if not x <= e:
            memcpy(self.y, self.best, self.nv * sizeof(double))
            x = self.residual()
        self.guess.count = 0
        return x

    cdef int step(self) noexcept nogil:
        cdef int k, status = self.prepare()
        cdef bint extrapolated
        cdef double* swap
        if status != OK:
            return status
        if self.opening and self.count:
            self.velocity(self.q, self.x, self.v)
            memcpy(self.first, self.push, self.count * sizeof(double))
        extrapolated = self.first_guess()
        self.iterations = 0
        self.contraction = NAN
        self.economy.age += 1
        status = self.iterate(self.solver)
        if (status == NOT_CONVERGED or status == TURNED_TOO_FAR) and (self.solver == AUTO or extrapolated):
            # the last line: from the dynamics' own prediction, with exact directions if there is a choice
            self.guess.count = 0
            memset(self.lam, 0, self.count * sizeof(double))
            self.guess_by_dynamics(0.5)
            status = self.iterate(RECURSIVE_NEWTON if self.solver == AUTO else self.solver)
        if status == OK:
            status = self.finish()
        if self.trouble == CALLBACK_FAILED:
            status = CALLBACK_FAILED
        if status == OK and not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            status = NOT_FINITE
        if status != OK:
            self.guess.count = 0
            self.economy.have = False
            memset(self.lam, 0, self.count * sizeof(double))
            return status
        if self.leading:
            # multipliers as forces: their impulses at node 1 over the halves of both steps beside it; the
            # first has half of one, less what the start's momentum has of it already
            for k in range(self.count):
                self.force_out[k] = -2.0 * (self.lam[k] + self.first[k]) / self.h if self.opening else (
                    -2.0 * self.lam[k] / (self.h + self.h_last))
        if self.guess_kind == GUESS_AUTO or self.guess_kind >= GUESS_EXTRAPOLATE:
            if self.solver == AUTO and self.economy.have and not self.count and self.error > 0.03 * self.tolerance * self.scale:
                # extrapolate from the increments as they would be if solved further
                if self.direction() == OK:
                    self.correct()
            if self.guess.count == 0:
                self.guess.h = self.h
            guess_scale(self.guess, self.nv, self.h)
            guess_learn(self.guess, self.nv, self.y, self.best)
        swap = self.Dh1
        self.Dh1 = self.Dh2
        self.Dh2 = swap
        self.opening = False
        self.pass_on()
        self.accept()
        return OK

    cdef int advance(self) noexcept nogil:
        # a whole step, of the length that the density has if it is to
        cdef double density = NAN
        cdef int status
        if self.adapt == DENSITY:
            status = self.next_density(0.5, &density)
            if status != OK:
                return status
            self.h = self.pace / density
            if not self.t + self.h > self.t:
                return NO_STEP
        status = self.step_or_halves()
        if status == OK:
            self.density = density
        return status

    cdef int next_density(self, double share, double* density) noexcept nogil:
        # the density a share of a step ahead of the state, by its rate there
        # (Hairer & Soederlind 2005, "Explicit, time reversible, adaptive step size control")
        cdef double square, growth
        self.velocity(self.q, self.x, self.v)
        if self.asks and self.ask(self.t, self.q, self.v) != OK:
            return CALLBACK_FAILED
        self.acceleration(self.t, self.q, self.v, self.a)
        square = self.rate0 * self.rate0 + inner(self.v, self.v, self.nv)
        growth = self.pace * inner(self.v, self.a, self.nv) / square
        if self.opening:
            density[0] = vt_sqrt(square) if self.density_given != self.density_given else self.density_given
        else:
            density[0] = self.density + 0.5 * growth
        density[0] += share * growth
        return OK if density[0] > 0.0 and isfinite(density[0]) else NO_STEP

    def density_here(self):
        """Step density [1/s] at the state; None if it cannot be told."""
        cdef double density = NAN
        if self.adapt != DENSITY:
            return None
        self.trouble = OK
        return density if self.next_density(0.0, &density) == OK else None

    cdef int step_or_halves(self) noexcept nogil:
        # a whole step; where it cannot be solved, two of half the length, and so on
        cdef int status
        if self.stages == 1:
            self.leading = True
            status = self.step()
            if status == OK or self.halvings == 0:
                return status
        memcpy(self.q_kept, self.q, self.nq * sizeof(double))
        memcpy(self.x_kept, self.x, self.nv * sizeof(double))
        if self.stages > 1:
            status = self.substeps(1)
        if (status == NOT_CONVERGED or status == TURNED_TOO_FAR or status == NOT_FINITE) and self.trouble == OK:
            status = self.halve(status)
        return status

    cdef int rows_each(self) noexcept nogil:
        return 2 * self.stages

    cdef int halve(self, int status) noexcept nogil:
        cdef int k, count = 1, spent = self.iterations
        cdef double error = self.error
        if self.nlocked:
            return status       # the motion is known at the steps' ends only
        for k in range(self.halvings):
            count *= 2
            if self.substeps(count) == OK:
                self.halved += 1
                self.iterations += spent
                # increments of another step lie behind
                self.forget()
                return OK
            spent += self.iterations
            if self.trouble != OK:
                break
        self.iterations, self.error = spent, error
        return status

    cdef int substeps(self, int count) noexcept nogil:
        # the step in `count` equal parts, each composed of its stages; leaves the state as it was if one fails
        cdef double whole = self.h, t = self.t, error = 0.0, passed = 0.0
        cdef int k = 0, j = 0, status = OK, spent = 0
        cdef bint opening = self.opening
        cdef double h_last = self.h_last
        if count > 1:
            self.forget()
        for k in range(count):
            for j in range(self.stages):
                self.use(j)
                self.leading = k == 0 and j == 0
                self.h = self.share[j] * (whole / count)
                self.share_now = self.share[j] / count
                status = self.step()
                spent += self.iterations
                error = max(error, self.error) if status == OK else self.error
                if status != OK:
                    break
                self.t += self.h
                passed += self.h
                self.moment += 2
            if status != OK:
                break
        self.h, self.t, self.iterations, self.error = whole, t, spent, error
        self.share_now = 1.0
        if self.adapt == SUNDMAN and status == OK:
            self.h = passed
        if status != OK and k + j > 0:
            memcpy(self.q, self.q_kept, self.nq * sizeof(double))
            memcpy(self.x, self.x_kept, self.nv * sizeof(double))
            self.opening, self.h_last, self.restarted = opening, h_last, True
            self.forget()
        return status

    @property
    def counts(self):
        """Residuals, factorisations and back-substitutions since the state was set."""
        return self.residuals, self.factorisations, self.solves
