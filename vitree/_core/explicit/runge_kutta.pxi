# The baselines: explicit and semi-implicit Euler, Runge-Kutta-Munthe-Kaas.

cdef double explicit_multiplier(ModelStepper self, int c) noexcept nogil:
    return self.lane.held.force[c]


cdef void note_multipliers(ModelStepper self) noexcept nogil:
    memcpy(self.lane.held.force, self.lane.held.push, self.shared.count * sizeof(double))

cdef struct EulerStep:
    bint semi_implicit
    double* a                      # (nv,)
    double* dq                     # (nv,)


cdef int make_euler(ModelStepper self, dict options) except -1:
    cdef bint semi_implicit = options.get("semi_implicit", False)
    self.euler.semi_implicit = semi_implicit
    self.euler.a, self.euler.dq = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
    return 0


cdef int euler_step(ModelStepper self) noexcept nogil:
    # v2 = v + h a(q, v), q2 = q (+) h v or q (+) h v2
    cdef State* at = &self.lane.state
    cdef double h = self.lane.now.h
    cdef int k
    cdef double* v
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

cdef struct Tableau:            # given
    int stages
    double* a                   # (stages, stages)
    double* b                   # (stages,)
    double* c
    int* row                    # (stages,) rows of prescribed motion within a step


cdef struct RungeKuttaStep:
    Tableau tableau
    double* u                      # (nv,) the stage: exponential coordinates and velocity
    double* v
    double* u_rate                 # (stages, nv)
    double* v_rate


cdef int make_runge_kutta(ModelStepper self, dict options) except -1:
    tableau, moments = options["tableau"], options["moments"]
    cdef Tableau* made = &self.runge.tableau
    cdef int i, j, n
    a, b, c = tableau
    n = made.stages = len(b)
    made.a = self.memory.given_reals(n * n)
    made.b, made.c = self.memory.given_reals(n), self.memory.given_reals(n)
    made.row, self.motion_rows = <int*>self.memory.given(n * sizeof(int)), moments[1]
    for i in range(n):
        made.b[i], made.c[i], made.row[i] = b[i], c[i], moments[0][i]
        for j in range(i):
            made.a[i * n + j] = a[i][j]
    self.runge.u, self.runge.v = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
    self.runge.u_rate = self.memory.scratch_reals(n * self.nv)
    self.runge.v_rate = self.memory.scratch_reals(n * self.nv)
    return 0


cdef void sum_stages(ModelStepper self, const double* weight, int count) noexcept nogil:
    # u = h sum w_j u'_j, v = v_1 + h sum w_j v'_j, and the configuration q2 = q (+) u
    cdef int j, k
    cdef double w
    memset(self.runge.u, 0, self.nv * sizeof(double))
    memcpy(self.runge.v, self.lane.state.x, self.nv * sizeof(double))
    for j in range(count):
        if weight[j] != 0.0:
            w = self.lane.now.h * weight[j]
            for k in range(self.nv):
                self.runge.u[k] += w * self.runge.u_rate[j * self.nv + k]
                self.runge.v[k] += w * self.runge.v_rate[j * self.nv + k]
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
    memcpy(at.x2, self.runge.v, self.nv * sizeof(double))
    lock_end(self)
    return OK
