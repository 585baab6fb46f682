# The baselines: explicit and semi-implicit Euler, Runge-Kutta-Munthe-Kaas; of one instance or of several, a lane each.

cdef struct EulerStep:
    bint semi_implicit
    vt_real* a                     # (nv,)
    vt_real* dq                    # (nv,)


cdef int euler_make(EulerStep* x, Memory memory, int nv, bint semi_implicit) except -1:
    x.semi_implicit, x.a, x.dq = semi_implicit, memory.scratch_reals(nv), memory.scratch_reals(nv)
    return 0


cdef int euler_step(ModelStepper self) noexcept nogil:
    # v2 = v + h a(q, v), q2 = q (+) h v or q (+) h v2
    cdef State* at = &self.lane.state
    cdef double h = self.lane.now.h
    cdef int k
    cdef vt_real* v
    if self.shared.schedule.calls_user and ask_within(self, self.lane.clock.t, 0.0, at.q, at.x) != OK:
        return CALLBACK_FAILED
    lock_rates(self, 0)
    model_acceleration(self, self.lane.clock.t, at.q, at.x, self.euler.a)
    note_multipliers(self)
    for k in range(self.nv):
        at.x2[k] = at.x[k] + h * self.euler.a[k]
    v = at.x2 if self.euler.semi_implicit else at.x
    for k in range(self.nv):
        self.euler.dq[k] = h * v[k]
    integrate(self.shared.m, at.q, self.euler.dq, at.q2)
    lock_end(self)
    return OK


cdef int euler_make_lanes(ModelStepper self, const LanePlan* plan) except -1:
    return euler_make(&self.euler, self.memory, self.nv, plan.semi_implicit)


cdef void euler_entries(Method* x) noexcept:
    x.explicit, x.fits_lanes, x.make_lanes, x.step = True, explicit_fits_lanes, euler_make_lanes, euler_step


cdef bint explicit_fits_lanes(ModelStepper self) noexcept:
    return True


cdef struct Tableau:            # given
    int stages
    double* a                   # (stages, stages)
    double* b                   # (stages,)
    double* c
    int* row                    # (stages,) rows of prescribed motion within a step


cdef struct RungeKuttaStep:
    Tableau tableau
    vt_real* u                     # (nv,) the stage: exponential coordinates and velocity
    vt_real* v
    vt_real* u_rate                # (stages, nv)
    vt_real* v_rate


cdef int runge_kutta_make(RungeKuttaStep* x, Memory memory, int nv) except -1:
    cdef int n = x.tableau.stages * nv
    x.u, x.v = memory.scratch_reals(nv), memory.scratch_reals(nv)
    x.u_rate, x.v_rate = memory.scratch_reals(n), memory.scratch_reals(n)
    return 0


cdef void sum_stages(ModelStepper self, const double* weight, int count) noexcept nogil:
    # u = h sum w_j u'_j, v = v_1 + h sum w_j v'_j, and the configuration q2 = q (+) u
    cdef int j, k
    cdef double w
    memset(self.runge.u, 0, self.nv * sizeof(vt_real))
    memcpy(self.runge.v, self.lane.state.x, self.nv * sizeof(vt_real))
    for j in range(count):
        if weight[j] != 0.0:
            w = self.lane.now.h * weight[j]
            for k in range(self.nv):
                self.runge.u[k] = self.runge.u[k] + w * self.runge.u_rate[j * self.nv + k]
                self.runge.v[k] = self.runge.v[k] + w * self.runge.v_rate[j * self.nv + k]
    integrate(self.shared.m, self.lane.state.q, self.runge.u, self.lane.state.q2)


cdef int runge_kutta_step(ModelStepper self) noexcept nogil:
    cdef Tableau* tableau = &self.runge.tableau
    cdef State* at = &self.lane.state
    cdef int i
    cdef double t
    for i in range(tableau.stages):
        # the stage's state, and its rates u' = dlog_{-u} v, v' = a(q (+) u, v)
        t = self.lane.clock.t + tableau.c[i] * self.lane.now.h
        sum_stages(self, tableau.a + i * tableau.stages, i)
        if self.shared.schedule.calls_user and ask_within(self, t, tableau.c[i], at.q2, self.runge.v) != OK:
            return CALLBACK_FAILED
        lock_rates(self, tableau.row[i])
        exponential_rate(self.shared.m, self.runge.u, self.runge.v, self.runge.u_rate + i * self.nv)
        model_acceleration(self, t, at.q2, self.runge.v, self.runge.v_rate + i * self.nv)
        if i == 0:
            note_multipliers(self)
    sum_stages(self, tableau.b, tableau.stages)
    memcpy(at.x2, self.runge.v, self.nv * sizeof(vt_real))
    lock_end(self)
    return OK


cdef int runge_kutta_make_lanes(ModelStepper self, const LanePlan* plan) except -1:
    self.runge.tableau = plan.tableau[0]
    return runge_kutta_make(&self.runge, self.memory, self.nv)


cdef void runge_kutta_entries(Method* x) noexcept:
    x.explicit, x.fits_lanes, x.make_lanes, x.step = True, explicit_fits_lanes, runge_kutta_make_lanes, runge_kutta_step
