# steps of length h = pace g(q_m), g = (rate0^2 + 2 (E0 - V)/inertia)^(-1/2), by the discrete Lagrangian
# h (L + E0): D1 and D2 have (E0 - E) b more, b = dh/dy, and so the energy E of the middle keeps to E0

cdef class SundmanStepper(MidpointStepper):
    """Midpoint steps whose lengths are part of the discrete action; the state is (q, p)."""

    cdef double inertia
    cdef double E0                      # [J]
    cdef double E0_given                # or NaN: that of the start
    cdef double excess                  # E0 - E
    cdef double* V_q
    cdef double* b
    cdef double V                       # in the middle
    cdef double full                    # 1/g there

    def __init__(self, model, h, torque=None, double inertia=1.0, double energy=NAN, **options):
        self.inertia, self.E0_given = inertia, energy
        self.V_q = self.doubles(self.nv)
        self.b = self.doubles(self.nv)
        MidpointStepper.__init__(self, model, h, torque, **options)

    cdef int coupled_rows(self):
        return MidpointStepper.coupled_rows(self) + 2

    cdef void pieces(self):
        MidpointStepper.pieces(self)
        self.piece(&self.E0, sizeof(double))

    cdef int prepare(self) noexcept nogil:
        # increments of equal shares of the pace need no scaling by their lengths
        self.guess.h = self.h
        if self.opening and self.stage == 0:
            self.E0 = self.E0_given
            if self.E0 != self.E0:
                self.velocity(self.q, self.x, self.v)
                self.E0 = 0.5 * inner(self.x, self.v, self.nv) + self.potential_at(self.q)
        return MidpointStepper.prepare(self)

    cdef double evaluate(self) noexcept nogil:
        cdef double e = MidpointStepper.evaluate(self)
        cdef int k
        self.pace_by_middle(self.force if self.loaded() else self.tau)
        for k in range(self.nv):
            self.r[k] -= self.excess * self.b[k]
        return largest(self.r, self.nv) if isfinite(e) else e

    cdef int linearise(self) noexcept nogil:
        # excess db has the potential's second derivatives, which are taken off those of h L
        cdef double left = 1.0 - self.excess * self.bend()
        cdef vt_model lighter = self.model.m
        cdef int k, status
        for k in range(3):
            lighter.g[k] *= left
        for k in range(self.nbody):
            self.body[k].gn, self.body[k].gf = scale(left, self.body[k].gn), scale(left, self.body[k].gf)
        status = self.linearise_by(&lighter, left)
        if status == OK:
            self.couple_by_step()
        return status

    cdef int finish(self) noexcept nogil:
        cdef int status = MidpointStepper.finish(self), k
        for k in range(self.nv):
            self.x2[k] += self.excess * self.b[k]
        self.guess.h = self.h
        return status

    cdef double potential_at(self, const double* q) noexcept nogil:
        # of gravity and loads [J]; leaves poses
        forward_kinematics(&self.model.m, q, self.pose)
        return self.potential(q)

    cdef double potential(self, const double* q) noexcept nogil:
        # where the poses are those of q
        cdef const vt_model* m = &self.model.m
        cdef int i
        cdef Vec3 first = zero3()
        for i in range(m.nbody):
            first = axpy(m.body[i].mass, add(self.pose[i].o, mul(self.pose[i].R, constant3(m.body[i].com))), first)
        return load_potential(self.loads.list, self.nload, q, self.pose, self.twist) - dot(constant3(m.g), first)

    cdef double density_by(self, double V) noexcept nogil:
        # 1/g, kept from zero where V rises far above E0
        return vt_sqrt(max(self.rate0 * self.rate0 + 2.0 * (self.E0 - V) / self.inertia, self.least() * self.least()))

    cdef double least(self) noexcept nogil:
        return 0.2 * self.rate0

    cdef void guess_by_dynamics(self, double share) noexcept nogil:
        # of the step at the start, then at the middle where that leads
        self.h = self.share_now * self.pace / self.density_by(self.potential_at(self.q))
        MidpointStepper.guess_by_dynamics(self, share)
        advance(&self.model.m, self.q, self.alpha, self.y, self.q2)
        self.h = self.share_now * self.pace / self.density_by(self.potential_at(self.q2))
        MidpointStepper.guess_by_dynamics(self, share)

    cdef void sweep_out(self) noexcept nogil:
        # mid_forward, where the step follows from the poses
        cdef const vt_model* m = &self.model.m
        cdef MidBody* s
        cdef MidStep step = self.at()
        cdef double inverse
        cdef int i
        step.h = 1.0
        mid_forward(&step, self.q, self.qm)
        self.place_poses()
        self.V = self.potential(self.qm)
        self.full = self.density_by(self.V)
        self.h = self.share_now * self.pace / self.full
        inverse = 1.0 / self.h
        for i in range(m.nbody):
            s = &self.body[i]
            s.w, s.v = scale(inverse, s.w), scale(inverse, s.v)
            s.n, s.f = scale(inverse, s.n), scale(inverse, s.f)

    cdef void pace_by_middle(self, const double* force) noexcept nogil:
        # V_q, b and what the middle's energy lacks, after both sweeps
        cdef const vt_model* m = &self.model.m
        cdef Vec3 sw, sv
        cdef double T = 0.0, size = 0.5 * self.h * self.bend()
        cdef int i, k
        for i in range(m.nbody):
            k = m.body[i].iv
            joint_column(&m.body[i], self.body[i].R, 0, &sw, &sv)
            self.V_q[k] = -(dot(sw, self.body[i].gn) + dot(sv, self.body[i].gf) + force[k])
            self.b[k] = size * self.V_q[k]
            T += 0.5 * self.L_rate[k] * self.y[k] / self.h
        self.excess = self.E0 - T - self.V

    cdef double bend(self) noexcept nogil:
        # g^2/inertia: grad g = g^3/inertia V_q; none where g is held
        return 1.0 / (self.full * self.full * self.inertia) if self.full > self.least() else 0.0

    cdef void couple_by_step(self) noexcept nogil:
        # the last two rows: J + a b^T - b c^T, what a change of h brings
        cdef double* C = self.C + (self.extra - 2) * self.nv
        cdef double* R = self.R + (self.extra - 2) * self.nv
        cdef double along, r, T2 = 0.0
        cdef int k, n = self.nv
        for k in range(n):
            T2 += self.L_rate[k] * self.y[k] / self.h
        along = (T2 + 3.0 * self.excess) / self.h
        for k in range(n):
            r = 0.5 * (self.L_q[k] + (self.force[k] if self.nload else 0.0)) + self.V_q[k]
            C[k] = r - self.L_rate[k] / self.h - along * self.b[k]
            R[k] = C[n + k] = self.b[k]
            R[n + k] = self.L_rate[k] / self.h + r
