# The midpoint variational integrator's steps, on models whose joints all have one coordinate.

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

    def __init__(self, model, h, torque=None, loads=(), int solver=AUTO, int guess=GUESS_AUTO,
                 double alpha=0.5, double tolerance=1e-9, int max_iterations=30):
        self.solver, self.guess_kind, self.alpha = solver, guess, alpha
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.guess = Guess(self.nv)
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

    cdef void begin(self) noexcept nogil:
        self.guess.forget()
        self.residuals = self.factorisations = self.solves = 0

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
        return largest(self.r, self.nv)

    cdef int step(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef double scale, goal = 0.0, e = INFINITY, e_old = 0.0
        cdef int i, k, status
        if self.torque is not None:
            status = self.predict_torque(self.v, self.v_old, self.a, self.d, self.zeros)
            if status != OK:
                return status
        first_guess(self, self.guess, self.guess_kind, self.v, self.a, self.zeros, self.y)
        self.iterations = 0
        for k in range(self.max_iterations + 1):
            e = self.residual()
            if k == 0:
                scale = largest(self.x, self.nv)
                for i in range(self.nv):
                    scale = max(scale, self.h * fabs(self.L_q[i] + self.tau[i]))
                if not isfinite(scale):
                    return NOT_FINITE
                goal = self.tolerance * scale
            if e <= goal or not isfinite(e) or k == self.max_iterations:
                break
            # an exact factorisation serves as long as it contracts well
            if k == 0 or (self.solver == RECURSIVE_NEWTON) or (self.solver == AUTO and e > 0.1 * e_old):
                mid_factor(m, self.h, self.alpha, self.load, self.nload, self.body, self.work)
                self.factorisations += 1
            mid_solve(m, self.body, self.r, self.work, self.d)
            self.solves += 1
            for i in range(self.nv):
                self.y[i] += self.d[i]
            self.iterations += 1
            e_old = e
        self.error = e
        if not e <= goal:
            self.guess.forget()
            return NOT_CONVERGED
        for i in range(self.nv):
            self.q2[i] = self.q[i] + self.y[i]
        mid_end(m, self.h, self.alpha, self.y, self.r, self.tau, self.L_rate, self.L_q, self.x2)
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        if self.guess_kind == GUESS_AUTO or self.guess_kind == GUESS_EXTRAPOLATE:
            self.guess.learn(self.y)
        self.accept()
        return OK

    @property
    def counts(self):
        """Residuals, factorisations and back-substitutions since the state was set."""
        return self.residuals, self.factorisations, self.solves
