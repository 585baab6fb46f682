# The midpoint variational integrator's steps, on models whose joints all have one coordinate.

#: How well constraints are closed, in units of the mechanism's size (at least a metre)
cdef double CLOSED = 2e-13


cdef int solve_dense(double* A, int n, double* b) noexcept nogil:
    # b <- A^-1 b by Gaussian elimination with partial pivoting; A is used up
    cdef int i, j, k, best
    cdef double s, largest_entry = largest(A, n * n)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if fabs(A[i * n + k]) > fabs(A[best * n + k]):
                best = i
        if not fabs(A[best * n + k]) > 1e-15 * largest_entry:
            return DEPENDENT
        if best != k:
            for j in range(n):
                s = A[k * n + j]
                A[k * n + j] = A[best * n + j]
                A[best * n + j] = s
            s = b[k]
            b[k] = b[best]
            b[best] = s
        for i in range(k + 1, n):
            s = A[i * n + k] / A[k * n + k]
            for j in range(k + 1, n):
                A[i * n + j] -= s * A[k * n + j]
            b[i] -= s * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k * n + j] * b[j]
        b[k] /= A[k * n + k]
    return OK


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
    cdef double* v_old
    cdef double* a
    cdef double* zeros
    # constraints: h(q2) = 0 with impulses -Dh(q1)^T lam at node 1
    cdef readonly ConstraintList constraints
    cdef int count
    cdef double* lam
    cdef double* hv
    cdef double* Dh1                    # (count, nv)
    cdef double* Dh2
    cdef double* Y                      # (count, nv): the response of y to each multiplier
    cdef double* schur                  # (count, count)
    cdef bint have_Dh

    def __init__(self, model, h, torque=None, loads=(), int solver=AUTO, int guess=GUESS_AUTO,
                 ConstraintList constraints=ConstraintList(), double alpha=0.5, double tolerance=1e-9, int max_iterations=30):
        self.solver, self.guess_kind, self.alpha = solver, guess, alpha
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.guess = Guess(self.nv)
        self.economy = Economy(1.4 + 0.1 * constraints.count, 5.5 + 0.4 * constraints.count)
        self.body = <MidBody*>self.take(self.nbody * sizeof(MidBody))
        self.work = <MidSolve*>self.take(self.nbody * sizeof(MidSolve))
        self.qm = self.doubles(self.nv)
        self.y = self.doubles(self.nv)
        self.r = self.doubles(self.nv)
        self.d = self.doubles(self.nv)
        self.L_rate = self.doubles(self.nv)
        self.L_q = self.doubles(self.nv)
        self.v = self.doubles(self.nv)
        self.v_old = self.doubles(self.nv)
        self.a = self.doubles(self.nv)
        self.zeros = self.doubles(self.nv)
        self.constraints, self.count = constraints, constraints.count
        self.lam = self.doubles(self.count)
        self.hv = self.doubles(self.count)
        self.Dh1 = self.doubles(self.count * self.nv)
        self.Dh2 = self.doubles(self.count * self.nv)
        self.Y = self.doubles(self.count * self.nv)
        self.schur = self.doubles(self.count * self.count)

    cdef void begin(self) noexcept nogil:
        self.guess.forget()
        self.economy.begin()
        self.residuals = self.factorisations = self.solves = 0
        memset(self.lam, 0, self.count * sizeof(double))
        self.have_Dh = False

    @property
    def multipliers(self):
        """Multipliers (count,) of the last step [N s, or N m s]: the impulse on q at its start is -Dh^T lam."""
        return np.array([self.lam[c] for c in range(self.count)])

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step that leads to q2."""
        cdef int i
        self.set_state(t, q, np.zeros(self.nv))
        for i in range(self.nv):
            self.y[i] = q2[i] - q[i]
            self.v[i] = self.y[i] / self.h
            self.qm[i] = q[i] + self.alpha * self.y[i]
        if self.torque is not None and self.ask_torque(t + 0.5 * self.h, self.qm, self.v) != OK:
            raise self.exception
        self.residual()
        out = np.empty(self.nv)
        for i in range(self.nv):
            out[i] = self.r[i]
        return out

    cdef double residual(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        mid_sweep(m, self.h, self.alpha, self.q, self.y, self.load, self.nload, self.qm, self.body,
                  self.L_rate, self.L_q)
        mid_residual(m, self.h, self.alpha, self.y, self.x, self.tau, self.L_rate, self.L_q, self.r)
        self.residuals += 1
        if self.count:
            self.constrain()
        return largest(self.r, self.nv)

    cdef void constrain(self) noexcept nogil:
        # h and Dh at q2 = q1 + y; the multipliers' part of the residual
        cdef const vt_model* m = &self.model.m
        cdef int c, k
        if not self.have_Dh:
            constraints(m, self.constraints.list, self.count, self.q, self.pose, self.hv, self.Dh1)
            self.have_Dh = True
        for k in range(self.nv):
            self.q2[k] = self.q[k] + self.y[k]
        constraints(m, self.constraints.list, self.count, self.q2, self.pose, self.hv, self.Dh2)
        for c in range(self.count):
            for k in range(self.nv):
                self.r[k] += self.lam[c] * self.Dh1[c * self.nv + k]

    cdef int correct(self, bint fresh) noexcept nogil:
        # one Newton correction of y, and of the multipliers by the Schur complement:
        # J d = r + Dh1^T dlam, Dh2 d = -h
        cdef const vt_model* m = &self.model.m
        cdef int c, e, k, n = self.nv
        cdef double s
        mid_solve(m, self.body, self.r, self.work, self.d)
        self.solves += 1
        if self.count:
            if fresh:
                for c in range(self.count):
                    mid_solve(m, self.body, self.Dh1 + c * n, self.work, self.Y + c * n)
                    self.solves += 1
            for c in range(self.count):
                s = -self.hv[c]
                for k in range(n):
                    s -= self.Dh2[c * n + k] * self.d[k]
                self.hv[c] = s
                for e in range(self.count):
                    s = 0.0
                    for k in range(n):
                        s += self.Dh2[c * n + k] * self.Y[e * n + k]
                    self.schur[c * self.count + e] = s
            if solve_dense(self.schur, self.count, self.hv) != OK:
                return DEPENDENT
            for c in range(self.count):
                self.lam[c] += self.hv[c]
                for k in range(n):
                    self.d[k] += self.hv[c] * self.Y[c * n + k]
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
            if k == 0:
                scale = largest(self.x, self.nv)
                for i in range(self.nv):
                    scale = max(scale, self.h * fabs(self.L_q[i] + self.tau[i]))
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
                e = max(e, largest(self.hv, self.count) * (goal / closed))
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
                mid_factor(m, self.h, self.alpha, self.load, self.nload, self.body, self.work)
                self.factorisations += 1
                self.economy.made()
            status = self.correct(fresh)
            if status != OK:
                return status
            self.iterations += 1
            e_old = e
        return NOT_CONVERGED

    cdef int step(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef int i, status
        cdef double* swap
        if self.torque is not None:
            status = self.predict_torque(self.v, self.v_old, self.a, self.d, self.zeros)
            if status != OK:
                return status
        first_guess(self, self.guess, self.guess_kind, self.v, self.a, self.zeros, self.y)
        self.iterations = 0
        self.economy.age += 1
        status = self.iterate(self.solver == RECURSIVE_NEWTON)
        if status == NOT_CONVERGED and self.solver == AUTO:
            # the last line: exact directions from the dynamics' own prediction
            self.guess.forget()
            memset(self.lam, 0, self.count * sizeof(double))
            self.guess_from_dynamics(0.5, self.v, self.a, self.zeros, self.y)
            status = self.iterate(True)
        if status != OK:
            self.guess.forget()
            memset(self.lam, 0, self.count * sizeof(double))
            return status
        for i in range(self.nv):
            self.q2[i] = self.q[i] + self.y[i]
        mid_end(m, self.h, self.alpha, self.y, self.r, self.tau, self.L_rate, self.L_q, self.x2)
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        if self.guess_kind == GUESS_AUTO or self.guess_kind == GUESS_EXTRAPOLATE:
            if self.solver == AUTO and self.economy.have and not self.count:
                # extrapolate from the increments as they would be if solved further
                self.correct(False)
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
