# The midpoint variational integrator's steps, on models whose joints all have one coordinate.

#: How well constraints are closed, in units of the mechanism's size (at least a metre)
cdef double CLOSED = 2e-13


cdef class MidpointStepper(Stepper):
    """Steps of the midpoint variational integrator; the state is (q, p)."""

    cdef int solver
    cdef int guess_kind
    cdef readonly double alpha
    cdef readonly double tolerance
    cdef readonly int max_iterations
    cdef readonly long residuals
    cdef readonly long factorisations
    cdef readonly long solves
    cdef Guess guess
    cdef Economy economy                # of the last factorisation
    cdef MidBody* body
    cdef MidSolve* work
    cdef double* qm
    cdef double* y
    cdef double* r
    cdef double* d
    cdef double* L_rate
    cdef double* L_q
    cdef double* v
    cdef double* a
    cdef double* rate
    # loads at q_m
    cdef double* force                  # on the joints: tau and ltau
    cdef double* turning
    cdef double* stiffness
    # constraints h(q2) = 0 with impulses -Dh(q1)^T lam at node 1, and blocks of rows by which loads couple
    # the joints: J becomes J - C^T R
    cdef int extra                      # rows of C
    cdef int pairs
    cdef bint written                   # the last nv rows are those of loads written in Python
    cdef double* lam
    cdef double* first                  # what makes the start's momentum tangent to the constraints
    cdef double* Dh2
    cdef double* C                      # (extra, nv)
    cdef double* R                      # (extra, nv)
    cdef double* YC                     # (count + extra, nv): responses
    cdef double* A                      # (count + extra, count + extra)
    cdef double* z
    cdef int* z_order
    cdef bint have_Dh
    # the residual by the derivatives of the tree, and the dense Newton matrix made of them
    cdef bint tree
    cdef bint caching
    cdef TreeWork derivatives
    cdef Twist* column
    cdef double* J
    cdef int* J_order
    cdef double* L_vv
    cdef double* L_vq
    cdef double* L_qq

    def __init__(self, model, h, torque=None, int solver=AUTO, int guess=GUESS_AUTO, double alpha=0.5,
                 double tolerance=1e-9, int max_iterations=30, bint tree=False, bint caching=True, **options):
        cdef int rows, k
        cdef size_t size
        self.solver, self.guess_kind, self.alpha = solver, guess, alpha
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.guess = Guess(self.nv)
        self.pairs = self.loads.pairs
        self.written = self.user_rests or self.user_moves
        self.extra = 3 * self.pairs + (self.nv if self.written else 0)
        rows = self.count + self.extra
        self.economy = Economy(1.4 + 0.1 * rows, 5.5 + 0.4 * rows)
        self.body = <MidBody*>self.take(self.nbody * sizeof(MidBody))
        self.work = <MidSolve*>self.take(self.nbody * sizeof(MidSolve))
        self.qm = self.doubles(self.nv)
        self.y = self.doubles(self.nv)
        self.r = self.doubles(self.nv)
        self.d = self.doubles(self.nv)
        self.L_rate = self.doubles(self.nv)
        self.L_q = self.doubles(self.nv)
        self.v = self.doubles(self.nv)
        self.a = self.doubles(self.nv)
        self.rate = self.doubles(self.nv)
        self.force = self.doubles(self.nv)
        self.turning = self.doubles(27 * self.nbody)
        self.stiffness = self.doubles(self.nv)
        self.lam = self.doubles(self.count)
        self.first = self.doubles(self.count)
        self.Dh2 = self.doubles(self.count * self.nv)
        self.C = self.doubles(self.extra * self.nv)
        self.R = self.doubles(self.extra * self.nv)
        self.YC = self.doubles(rows * self.nv)
        self.A = self.doubles(rows * rows)
        self.z = self.doubles(rows)
        self.z_order = <int*>self.take((rows + 1) * sizeof(int))
        self.tree, self.caching = tree, caching
        if tree:
            size = tree_work_size(&self.model.m)
            tree_work_make(&self.model.m, self.take(size), &self.derivatives)
            self.column = <Twist*>self.take(self.nbody * sizeof(Twist))
            self.J = self.doubles(self.nv * self.nv)
            self.L_vv = self.doubles(self.nv * self.nv)
            self.L_vq = self.doubles(self.nv * self.nv)
            self.L_qq = self.doubles(self.nv * self.nv)
            self.J_order = <int*>self.take((self.nv + 1) * sizeof(int))
        if self.written:
            for k in range(self.nv):
                self.C[(3 * self.pairs + k) * self.nv + k] = 1.0

    cdef void begin(self) noexcept nogil:
        self.guess.forget()
        self.economy.begin()
        self.residuals = self.factorisations = self.solves = 0
        memset(self.lam, 0, self.count * sizeof(double))
        self.have_Dh = False

    cdef double multiplier(self, int c) noexcept nogil:
        # as a force, over the step; the first has half of it, less what the start's momentum has of it already
        if self.steps == 1:
            return -2.0 * (self.lam[c] + self.first[c]) / self.h
        return -self.lam[c] / self.h

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step that leads to q2; free of what constraints take up."""
        cdef int i
        self.set_state(t, q, np.zeros(self.nv))
        self.trouble = OK
        self.take_inputs()
        for i in range(self.nv):
            self.y[i] = q2[i] - q[i]
            self.v[i] = self.y[i] / self.h
            self.qm[i] = q[i] + self.alpha * self.y[i]
        if self.asks and self.ask(t + 0.5 * self.h, self.qm, self.v) != OK:
            raise self.exception
        self.residual()
        if self.trouble == CALLBACK_FAILED:
            raise self.exception
        return self.array(self.r, self.nv)

    cdef double residual(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef double* force = self.tau
        cdef double* wrench = NULL
        cdef int k
        if self.tree:
            for k in range(self.nv):
                self.qm[k] = self.q[k] + self.alpha * self.y[k]
                self.rate[k] = self.y[k] / self.h
            tree_sweep(m, self.qm, self.rate, &self.derivatives, self.L_rate, self.L_q, self.caching)
        else:
            mid_forward(m, self.h, self.alpha, self.q, self.y, self.qm, self.body)
        if self.loaded():
            self.place_middle()
            self.apply_to_bodies(RESTING | RATES, self.t + self.alpha * self.h, self.qm, self.rate)
            for k in range(self.nv):
                self.force[k] = self.tau[k] + self.ltau[k]
            force, wrench = self.force, self.wrench
        if not self.tree:
            mid_backward(m, wrench, self.body, self.L_rate, self.L_q)
        elif wrench != NULL:
            self.project_wrenches(self.L_q)
        mid_residual(m, self.h, self.alpha, self.y, self.x, force, self.L_rate, self.L_q, self.r)
        self.residuals += 1
        if self.count:
            self.constrain()
        for k in range(self.nlocked):
            self.r[m.body[self.locked[k]].iv] = 0.0
        return largest(self.r, self.nv)

    cdef void place_middle(self) noexcept nogil:
        # pose and twist of the bodies, and rates, at q_m
        cdef const vt_model* m = &self.model.m
        cdef MidBody* s
        cdef int i, k
        if self.tree:
            self.place_bodies(self.qm, self.rate)
            return
        for k in range(self.nv):
            self.rate[k] = self.y[k] / self.h
        for i in range(m.nbody):
            s = &self.body[i]
            self.pose[i].R, self.pose[i].t = s.R, s.t
            self.pose[i].o = s.t if m.body[i].parent < 0 else add(self.pose[m.body[i].parent].o, s.t)
            store3(self.twist + 6 * i, s.w)
            store3(self.twist + 6 * i + 3, s.v)

    cdef int factor(self) noexcept nogil:
        # J and the responses of y to the multipliers and to the loads' rows
        cdef const vt_model* m = &self.model.m
        cdef double share = 1.0 - self.alpha
        cdef double* turning = NULL
        cdef double* stiffness = NULL
        cdef int k, status
        if self.nload:
            self.place_middle()
            turning, stiffness = self.turning, self.stiffness
            load_tangents(m, self.loads.list, self.nload, self.qm, self.u, self.pose, self.twist,
                          share * self.alpha * self.h, share, turning, stiffness, self.C, self.R)
        if self.tree:
            status = self.factor_dense(turning, stiffness)
            if status != OK:
                return status
        else:
            mid_factor(m, self.h, self.alpha, turning, stiffness, self.body, self.work)
        if self.written:
            self.written_tangent(share * self.alpha * self.h, share)
            if self.trouble == CALLBACK_FAILED:
                return CALLBACK_FAILED
        for k in range(self.count):
            self.solve(self.Dh1 + k * self.nv, self.YC + k * self.nv)
        for k in range(self.extra):
            self.solve(self.C + k * self.nv, self.YC + (self.count + k) * self.nv)
        self.factorisations += 1
        self.economy.made()
        return OK

    cdef int factor_dense(self, const double* turning, const double* stiffness) noexcept nogil:
        # J = -dr/dy from the second derivatives of the Lagrangian (Johnson & Murphey 2009, section IV-A)
        cdef const vt_model* m = &self.model.m
        cdef int i, j, n = self.nv
        cdef double a = self.alpha, share = 1.0 - self.alpha, h = self.h
        tree_second(m, &self.derivatives, self.L_vv, self.L_vq, self.L_qq, self.caching)
        for i in range(n):
            for j in range(n):
                self.J[i * n + j] = share * (h * a * self.L_qq[i * n + j] + self.L_vq[j * n + i]) - (
                    a * self.L_vq[i * n + j] + self.L_vv[i * n + j] / h)
            self.J[i * n + i] -= share * m.damping[i]
            if stiffness != NULL:
                self.J[i * n + i] -= share * a * h * stiffness[i]
        if turning != NULL:
            # wrenches of the last residual
            add_geometric(m, self.pose, self.wrench, turning, share * a * h, self.column, self.J)
        for i in range(m.nlocked):
            j = m.body[self.locked[i]].iv
            memset(self.J + j * n, 0, n * sizeof(double))
            self.J[j * n + j] = 1.0
        return lu_factor(self.J, n, self.J_order)

    cdef void solve(self, const double* r, double* d) noexcept nogil:
        # d = J^-1 r; prescribed coordinates do not move
        cdef int k
        self.solves += 1
        if not self.tree:
            mid_solve(&self.model.m, self.body, r, self.work, d)
            return
        memcpy(d, r, self.nv * sizeof(double))
        for k in range(self.nlocked):
            d[self.model.m.body[self.locked[k]].iv] = 0.0
        lu_solve(self.J, self.nv, self.J_order, d)

    cdef void written_tangent(self, double by_q, double by_rate) noexcept nogil:
        # R = -(by_q dQ/dq + by_rate dQ/dv) of the loads written in Python
        cdef int k, n = self.nv
        cdef double[:, ::1] dq, dv
        cdef double* R = self.R + 3 * self.pairs * self.nv
        with gil:
            try:
                by_configuration, by_velocity = self.user.tangent(
                    self.t + self.alpha * self.h, self.array(self.qm, n), self.array(self.rate, n), self.array(self.u, self.nu))
                dq, dv = by_configuration, by_velocity
                for k in range(n * n):
                    R[k] = -(by_q * dq[k // n, k % n] + by_rate * dv[k // n, k % n])
            except BaseException as error:
                self.fail(error)

    cdef void constrain(self) noexcept nogil:
        # h and Dh at q2 = q1 + y; the multipliers' part of the residual
        cdef int c, k
        if not self.have_Dh:
            self.constrain_at(self.q, self.hv, self.Dh1)
            self.have_Dh = True
        for k in range(self.nv):
            self.q2[k] = self.q[k] + self.y[k]
        self.constrain_at(self.q2, self.hv, self.Dh2)
        for c in range(self.count):
            for k in range(self.nv):
                self.r[k] += self.lam[c] * self.Dh1[c * self.nv + k]

    cdef int correct(self) noexcept nogil:
        # One Newton correction of y and of the multipliers, by the Schur complement of both:
        # (J - C^T R) d = r + Dh1^T dlam, Dh2 d = -h; z = (dlam, R d), d = J^-1 r + (responses)^T z
        cdef int c, e, k, n = self.nv, rows = self.count + self.extra
        self.solve(self.r, self.d)
        if rows:
            for c in range(self.count):
                self.z[c] = -self.hv[c] - inner(self.Dh2 + c * n, self.d, n)
                for e in range(rows):
                    self.A[c * rows + e] = inner(self.Dh2 + c * n, self.YC + e * n, n)
            for c in range(self.extra):
                for e in range(rows):
                    self.A[(self.count + c) * rows + e] = (
                        (1.0 if e == self.count + c else 0.0) - inner(self.R + c * n, self.YC + e * n, n))
                self.z[self.count + c] = inner(self.R + c * n, self.d, n)
            if lu_factor(self.A, rows, self.z_order) != OK:
                return DEPENDENT
            lu_solve(self.A, rows, self.z_order, self.z)
            for c in range(self.count):
                self.lam[c] += self.z[c]
            for c in range(rows):
                for k in range(n):
                    self.d[k] += self.z[c] * self.YC[c * n + k]
        for k in range(n):
            self.y[k] += self.d[k]
        return OK

    cdef int iterate(self, bint newton) noexcept nogil:
        # corrections until the step's equations hold; leaves the last residual in `error`
        cdef const vt_model* m = &self.model.m
        cdef double scale = 0.0, goal = 0.0, closed = CLOSED, size, e = INFINITY, e_old = 0.0
        cdef int i, k, status
        cdef bint fresh
        for k in range(self.max_iterations + 1):
            e = self.residual()
            if self.trouble == CALLBACK_FAILED:
                return CALLBACK_FAILED
            if k == 0:
                scale = largest(self.x, self.nv)
                for i in range(self.nv):
                    scale = max(scale, self.h * fabs(self.L_q[i] + (self.force[i] if self.loaded() else self.tau[i])))
                if not isfinite(scale):
                    return NOT_FINITE
                goal = self.tolerance * scale
                if self.count:
                    size = 1.0
                    for i in range(self.nbody):
                        size = max(size, vt_abs(self.pose[i].o.x) + vt_abs(self.pose[i].o.y) + vt_abs(self.pose[i].o.z))
                    closed = CLOSED * size
            if self.count and goal > 0.0:
                # what the constraints are off by counts as well, in units of their tolerance
                e = vt_max_nan(e, largest(self.hv, self.count) * (goal / closed))
            self.error = e
            if k > 0 and self.solver == AUTO and isfinite(e):
                self.economy.learn(e, e_old, scale)
            if e <= goal:
                return OK
            if not isfinite(e) or k == self.max_iterations:
                break
            if newton:
                fresh = True
            elif self.solver == AUTO:
                fresh = not self.economy.reuse(k, e, e_old, goal, scale)
            else:
                fresh = k == 0
            if fresh:
                status = self.factor()
                if status != OK:
                    return status
            status = self.correct()
            if status != OK:
                return status
            self.iterations += 1
            e_old = e
        return NOT_CONVERGED

    cdef void lock_increment(self) noexcept nogil:
        # prescribed coordinates move as they must
        cdef int k
        for k in range(self.nlocked):
            self.y[self.model.m.body[self.locked[k]].iv] = self.locked_at(k, 2) - self.q[self.model.m.body[self.locked[k]].iq]

    cdef int step(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef int i, status
        cdef double* swap
        if self.asks:
            status = self.predict_middle(self.v, self.a, self.d)
            if status != OK:
                return status
        if self.steps == 0 and self.count:
            self.velocity(self.q, self.x, self.v)
            memcpy(self.first, self.push, self.count * sizeof(double))
        first_guess(self, self.guess, self.guess_kind, self.v, self.a, self.y)
        self.lock_increment()
        self.iterations = 0
        self.economy.age += 1
        status = self.iterate(self.solver == RECURSIVE_NEWTON)
        if status == NOT_CONVERGED and self.solver == AUTO:
            # the last line: exact directions from the dynamics' own prediction
            self.guess.forget()
            memset(self.lam, 0, self.count * sizeof(double))
            self.guess_from_dynamics(0.5, self.v, self.a, self.y)
            self.lock_increment()
            status = self.iterate(True)
        if status != OK:
            self.guess.forget()
            memset(self.lam, 0, self.count * sizeof(double))
            return status
        for i in range(self.nv):
            self.q2[i] = self.q[i] + self.y[i]
        for i in range(self.nlocked):
            # to the last bit
            self.q2[m.body[self.locked[i]].iq] = self.locked_at(i, 2)
        mid_end(m, self.h, self.alpha, self.y, self.r, self.force if self.loaded() else self.tau,
                self.L_rate, self.L_q, self.x2)
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        if self.guess_kind == GUESS_AUTO or self.guess_kind == GUESS_EXTRAPOLATE:
            if self.solver == AUTO and self.economy.have and not self.count:
                # extrapolate from the increments as they would be if solved further
                self.correct()
            self.guess.learn(self.y)
        swap = self.Dh1
        self.Dh1 = self.Dh2
        self.Dh2 = swap
        self.accept()
        return OK

    @property
    def counts(self):
        """Residuals, factorisations and back-substitutions since the state was set."""
        return self.residuals, self.factorisations, self.solves
