# The baselines: explicit and semi-implicit Euler, Runge-Kutta-Munthe-Kaas of order 4.

cdef class EulerStepper(Stepper):
    """Explicit Euler, or semi-implicit if asked: the new velocity moves the configuration."""

    cdef bint semi_implicit
    cdef double* a
    cdef double* dq

    def __init__(self, model, h, torque=None, bint semi_implicit=False, **options):
        self.semi_implicit = semi_implicit
        self.a = self.doubles(self.nv)
        self.dq = self.doubles(self.nv)

    cdef int step(self) noexcept nogil:
        cdef int k
        cdef double* v
        if self.asks and self.ask(self.t, self.q, self.x) != OK:
            return CALLBACK_FAILED
        self.lock_rates(0)
        self.acceleration(self.t, self.q, self.x, self.a)
        for k in range(self.nv):
            self.x2[k] = self.x[k] + self.h * self.a[k]
        v = self.x2 if self.semi_implicit else self.x
        for k in range(self.nv):
            self.dq[k] = self.h * v[k]
        integrate(&self.model.m, self.q, self.dq, self.q2)
        self.lock_end()
        if self.trouble == CALLBACK_FAILED:
            return CALLBACK_FAILED
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        self.accept()
        return OK


cdef class RungeKuttaStepper(Stepper):
    """An explicit Runge-Kutta method in exponential coordinates about each step's start (Munthe-Kaas 1998).

    ``tableau``: (a, b, c) of the stages, (n, n), (n,), (n,); ``moments``: rows of prescribed motion within a step,
    one each stage, and how many a step has.
    """

    cdef int stages
    cdef double* A                      # (stages, stages)
    cdef double* B
    cdef double* C
    cdef int* row
    cdef int rows
    cdef double* u
    cdef double* v
    cdef double* kq                     # (stages, nv)
    cdef double* ka

    def __init__(self, model, h, torque=None, *, tableau, moments, **options):
        cdef int i, j
        a, b, c = tableau
        self.stages = len(b)
        self.A = self.doubles(self.stages * self.stages)
        self.B = self.doubles(self.stages)
        self.C = self.doubles(self.stages)
        self.row = <int*>self.take(self.stages * sizeof(int))
        for i in range(self.stages):
            self.B[i], self.C[i], self.row[i] = b[i], c[i], moments[0][i]
            for j in range(i):
                self.A[i * self.stages + j] = a[i][j]
        self.rows = moments[1]
        self.u = self.doubles(self.nv)
        self.v = self.doubles(self.nv)
        self.kq = self.doubles(self.stages * self.nv)
        self.ka = self.doubles(self.stages * self.nv)

    cdef int rows_each(self) noexcept nogil:
        return self.rows

    cdef void sum_stages(self, const double* weight, int count) noexcept nogil:
        # u and v: the state that weights of the first stages lead to
        cdef int j, k
        cdef double w
        memset(self.u, 0, self.nv * sizeof(double))
        memcpy(self.v, self.x, self.nv * sizeof(double))
        for j in range(count):
            if weight[j] != 0.0:
                w = self.h * weight[j]
                for k in range(self.nv):
                    self.u[k] += w * self.kq[j * self.nv + k]
                    self.v[k] += w * self.ka[j * self.nv + k]
        integrate(&self.model.m, self.q, self.u, self.q2)

    cdef int step(self) noexcept nogil:
        cdef int i
        cdef double t
        for i in range(self.stages):
            t = self.t + self.C[i] * self.h
            self.sum_stages(self.A + i * self.stages, i)
            if self.asks and self.ask(t, self.q2, self.v) != OK:
                return CALLBACK_FAILED
            self.lock_rates(self.row[i])
            exponential_rate(&self.model.m, self.u, self.v, self.kq + i * self.nv)
            self.acceleration(t, self.q2, self.v, self.ka + i * self.nv)
        self.sum_stages(self.B, self.stages)
        memcpy(self.x2, self.v, self.nv * sizeof(double))
        self.lock_end()
        if self.trouble == CALLBACK_FAILED:
            return CALLBACK_FAILED
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        self.accept()
        return OK
