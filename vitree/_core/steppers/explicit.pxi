# The baselines: explicit and semi-implicit Euler, Runge-Kutta-Munthe-Kaas.

cdef class ExplicitStepper(KickedStepper):
    """Base of the baselines: a step knows the multipliers where it starts."""

    cdef double multiplier(self, int c) noexcept nogil:
        return self.lane.held.force[c]

    cdef void note_multipliers(self) noexcept nogil:
        memcpy(self.lane.held.force, self.lane.held.push, self.shared.count * sizeof(double))


cdef class EulerStepper(ExplicitStepper):
    """Explicit Euler, or semi-implicit if asked: the new velocity moves the configuration."""

    cdef bint semi_implicit
    cdef double* a                      # (nv,)
    cdef double* dq                     # (nv,)

    def __init__(self, *args, bint semi_implicit=False, **options):
        self.semi_implicit = semi_implicit
        self.a, self.dq = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)

    cdef int step(self) noexcept nogil:
        # v2 = v + h a(q, v), q2 = q (+) h v or q (+) h v2
        cdef State* at = &self.lane.state
        cdef double h = self.lane.now.h
        cdef int k
        cdef double* v
        if self.shared.schedule.calls_user and self.ask_within(self.lane.clock.t, 0.0, at.q, at.x) != OK:
            return CALLBACK_FAILED
        self.lock_rates(0)
        self.acceleration(self.lane.clock.t, at.q, at.x, self.a)
        self.note_multipliers()
        for k in range(self.nv):
            at.x2[k] = at.x[k] + h * self.a[k]
        v = at.x2 if self.semi_implicit else at.x
        for k in range(self.nv):
            self.dq[k] = h * v[k]
        integrate(self.shared.m, at.q, self.dq, at.q2)
        self.lock_end()
        return OK


cdef struct Tableau:            # given
    int stages
    double* a                   # (stages, stages)
    double* b                   # (stages,)
    double* c
    int* row                    # (stages,) rows of prescribed motion within a step
    int rows                    # how many a step has


cdef class RungeKuttaStepper(ExplicitStepper):
    """An explicit Runge-Kutta method in exponential coordinates about each step's start (Munthe-Kaas 1998).

    ``tableau``: (a, b, c) of the stages, (n, n), (n,), (n,); ``moments``: rows of prescribed motion within a step,
    one each stage, and how many a step has.
    """

    cdef Tableau tableau
    cdef double* u                      # (nv,) the stage: exponential coordinates and velocity
    cdef double* v
    cdef double* u_rate                 # (stages, nv)
    cdef double* v_rate

    def __init__(self, *args, tableau, moments, **options):
        cdef Tableau* made = &self.tableau
        cdef int i, j, n
        a, b, c = tableau
        n = made.stages = len(b)
        made.a = self.memory.given_reals(n * n)
        made.b, made.c = self.memory.given_reals(n), self.memory.given_reals(n)
        made.row, made.rows = <int*>self.memory.given(n * sizeof(int)), moments[1]
        for i in range(n):
            made.b[i], made.c[i], made.row[i] = b[i], c[i], moments[0][i]
            for j in range(i):
                made.a[i * n + j] = a[i][j]
        self.u, self.v = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
        self.u_rate, self.v_rate = self.memory.scratch_reals(n * self.nv), self.memory.scratch_reals(n * self.nv)

    cdef int rows_each(self) noexcept nogil:
        return self.tableau.rows

    cdef void sum_stages(self, const double* weight, int count) noexcept nogil:
        # u = h sum w_j u'_j, v = v_1 + h sum w_j v'_j, and the configuration q2 = q (+) u
        cdef int j, k
        cdef double w
        memset(self.u, 0, self.nv * sizeof(double))
        memcpy(self.v, self.lane.state.x, self.nv * sizeof(double))
        for j in range(count):
            if weight[j] != 0.0:
                w = self.lane.now.h * weight[j]
                for k in range(self.nv):
                    self.u[k] += w * self.u_rate[j * self.nv + k]
                    self.v[k] += w * self.v_rate[j * self.nv + k]
        integrate(self.shared.m, self.lane.state.q, self.u, self.lane.state.q2)

    cdef int step(self) noexcept nogil:
        cdef Tableau* tableau = &self.tableau
        cdef State* at = &self.lane.state
        cdef int i
        cdef double t
        for i in range(tableau.stages):
            # the stage's state, and its rates u' = dlog_{-u} v, v' = a(q (+) u, v)
            t = self.lane.clock.t + tableau.c[i] * self.lane.now.h
            self.sum_stages(tableau.a + i * tableau.stages, i)
            if self.shared.schedule.calls_user and self.ask_within(t, tableau.c[i], at.q2, self.v) != OK:
                return CALLBACK_FAILED
            self.lock_rates(tableau.row[i])
            exponential_rate(self.shared.m, self.u, self.v, self.u_rate + i * self.nv)
            self.acceleration(t, at.q2, self.v, self.v_rate + i * self.nv)
            if i == 0:
                self.note_multipliers()
        self.sum_stages(tableau.b, tableau.stages)
        memcpy(at.x2, self.v, self.nv * sizeof(double))
        self.lock_end()
        return OK
