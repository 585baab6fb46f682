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


cdef inline void tangent(const vt_model* m, const double* u, const double* v, double* du) noexcept nogil:
    # rate of the coordinates u of q = q0 (+) u when the body velocity is v: dlog_{-u} v
    cdef int i
    cdef const vt_body* b
    cdef Vec3 w, l
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == BALL:
            store3(du + b.iv, dlog(neg(load3(u + b.iv)), load3(v + b.iv)))
        elif b.kind == FREE:
            dlog_se3(neg(load3(u + b.iv + 3)), neg(load3(u + b.iv)), load3(v + b.iv + 3),
                     load3(v + b.iv), &w, &l)
            store3(du + b.iv, l)
            store3(du + b.iv + 3, w)
        else:
            du[b.iv] = v[b.iv]


cdef class RungeKuttaStepper(Stepper):
    """Classical Runge-Kutta of order 4 in exponential coordinates about each step's start (Munthe-Kaas 1998)."""

    cdef double* u
    cdef double* v
    cdef double* kq
    cdef double* ka
    cdef double* sq
    cdef double* sa

    def __init__(self, model, h, torque=None, **options):
        self.u = self.doubles(self.nv)
        self.v = self.doubles(self.nv)
        self.kq = self.doubles(self.nv)
        self.ka = self.doubles(self.nv)
        self.sq = self.doubles(self.nv)
        self.sa = self.doubles(self.nv)

    cdef int step(self) noexcept nogil:
        cdef int k, stage
        cdef double weight, share
        memset(self.u, 0, self.nv * sizeof(double))
        memset(self.sq, 0, self.nv * sizeof(double))
        memset(self.sa, 0, self.nv * sizeof(double))
        memcpy(self.v, self.x, self.nv * sizeof(double))
        memcpy(self.q2, self.q, self.nq * sizeof(double))
        for stage in range(4):
            # where in the step the stage is, and its weight in the mean
            share = 0.0 if stage == 0 else 1.0 if stage == 3 else 0.5
            weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
            if stage > 0:
                for k in range(self.nv):
                    self.u[k] = share * self.h * self.kq[k]
                    self.v[k] = self.x[k] + share * self.h * self.ka[k]
                integrate(&self.model.m, self.q, self.u, self.q2)
            if self.asks and self.ask(self.t + share * self.h, self.q2, self.v) != OK:
                return CALLBACK_FAILED
            self.lock_rates(0 if stage == 0 else 2 if stage == 3 else 1)
            tangent(&self.model.m, self.u, self.v, self.kq)
            self.acceleration(self.t + share * self.h, self.q2, self.v, self.ka)
            for k in range(self.nv):
                self.sq[k] += weight * self.kq[k]
                self.sa[k] += weight * self.ka[k]
        for k in range(self.nv):
            self.u[k] = self.h * self.sq[k]
            self.x2[k] = self.x[k] + self.h * self.sa[k]
        integrate(&self.model.m, self.q, self.u, self.q2)
        self.lock_end()
        if self.trouble == CALLBACK_FAILED:
            return CALLBACK_FAILED
        if not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
            return NOT_FINITE
        self.accept()
        return OK
