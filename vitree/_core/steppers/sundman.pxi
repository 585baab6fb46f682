# Steps of length h = pace g(q_m), g = (rate0^2 + 2 (E0 - V)/inertia)^(-1/2), by the discrete Lagrangian
# h (L + E0): D1 and D2 have (E0 - E) b more, b = dh/dy, and so the energy E of the middle keeps to E0.

cdef struct Paced:              # scratch: the middle of the step
    double V                    # [J] potential energy
    double full                 # [1/s] 1/g
    double excess               # [J] E0 - E


cdef class SundmanStepper(MidpointStepper):
    """Midpoint steps whose lengths are part of the discrete action; the state is (q, p)."""

    cdef double inertia
    cdef double E0_given                # [J] or NaN: the energy of the start
    cdef double* E0                     # [J]
    cdef Paced* paced
    cdef double* V_q                    # (nv,)
    cdef double* b                      # (nv,)

    def __init__(self, *args, double inertia=1.0, double energy=NAN, **options):
        self.inertia, self.E0_given = inertia, energy
        self.E0, self.paced = self.memory.kept_reals(1), <Paced*>self.memory.scratch(sizeof(Paced))
        self.V_q, self.b = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
        MidpointStepper.__init__(self, **options)

    cdef int coupled_rows(self):
        return MidpointStepper.coupled_rows(self) + 2

    cdef int prepare(self) noexcept nogil:
        # increments of equal shares of the pace need no scaling by their lengths
        cdef State* at = &self.lane.state
        self.lane.guess.seen.h = self.lane.now.h
        if self.lane.progress.opening and self.lane.newton.stage == 0:
            self.E0[0] = self.E0_given
            if self.E0[0] != self.E0[0]:
                self.velocity(at.q, at.x, self.lane.newton.v)
                self.E0[0] = 0.5 * inner(at.x, self.lane.newton.v, self.nv) + self.potential_at(at.q)
        return MidpointStepper.prepare(self)

    # ---- the length of a step --------------------------------------------------------------------------

    cdef double potential_at(self, const double* q) noexcept nogil:
        # of gravity and loads [J]; leaves poses
        forward_kinematics(self.shared.m, q, self.lane.bodies.pose)
        return self.potential(q)

    cdef double potential(self, const double* q) noexcept nogil:
        # V = V_loads - g . sum m c, where the poses are those of q
        cdef const vt_model* m = self.shared.m
        cdef Pose* pose = self.lane.bodies.pose
        cdef int i
        cdef double V = load_potential(self.shared.load, self.shared.nload, q, pose, self.shared.zeros)
        cdef Vec3 first = zero3()
        for i in range(m.nbody):
            first = axpy(m.body[i].mass, add(pose[i].o, mul(pose[i].R, constant3(m.body[i].com))), first)
        return V - dot(constant3(m.g), first)

    cdef double density_by(self, double V) noexcept nogil:
        # 1/g, kept from zero where V rises far above E0
        cdef double rate0 = self.shared.choices.rate0
        return vt_sqrt(max(rate0 * rate0 + 2.0 * (self.E0[0] - V) / self.inertia, self.least() * self.least()))

    cdef double least(self) noexcept nogil:
        return 0.2 * self.shared.choices.rate0

    cdef double length_by(self, double density) noexcept nogil:
        # h of the substep
        return self.lane.newton.share * self.shared.choices.pace / density

    cdef double slope_size(self) noexcept nogil:
        # g^2/inertia: grad g = g^3/inertia V_q; none where g is held
        cdef double full = self.paced.full
        return 1.0 / (full * full * self.inertia) if full > self.least() else 0.0

    # ---- the equations -----------------------------------------------------------------------------------

    cdef void guess_by_dynamics(self, double share) noexcept nogil:
        # of the step at the start, then at the middle where that leads
        cdef State* at = &self.lane.state
        self.lane.now.h = self.length_by(self.density_by(self.potential_at(at.q)))
        MidpointStepper.guess_by_dynamics(self, share)
        advance(self.shared.m, at.q, self.alpha, self.lane.newton.y, at.q2)
        self.lane.now.h = self.length_by(self.density_by(self.potential_at(at.q2)))
        MidpointStepper.guess_by_dynamics(self, share)

    cdef void sweep_out(self) noexcept nogil:
        # mid_forward, where the step follows from the poses
        cdef const vt_model* m = self.shared.m
        cdef MidBody* s
        cdef MidStep* step = self.at()
        cdef double inverse
        cdef int i
        step.h = 1.0
        mid_forward(step, self.lane.state.q, self.own.qm)
        self.place_poses()
        self.paced.V = self.potential(self.own.qm)
        self.paced.full = self.density_by(self.paced.V)
        self.lane.now.h = self.length_by(self.paced.full)
        inverse = 1.0 / self.lane.now.h
        for i in range(m.nbody):
            s = &self.own.body[i]
            s.w, s.v = scale(inverse, s.w), scale(inverse, s.v)
            s.n, s.f = scale(inverse, s.n), scale(inverse, s.f)

    cdef double evaluate(self) noexcept nogil:
        # r of the midpoint rule, less (E0 - E) b
        cdef double e = MidpointStepper.evaluate(self)
        cdef double* r = self.lane.newton.r
        cdef int k
        self.pace_by_middle()
        for k in range(self.nv):
            r[k] -= self.paced.excess * self.b[k]
        return largest(r, self.nv) if isfinite(e) else e

    cdef void pace_by_middle(self) noexcept nogil:
        # V_q, b = h g^2/(2 inertia) V_q, and what the middle's energy lacks, after both sweeps
        cdef const vt_model* m = self.shared.m
        cdef Vec3 sw, sv
        cdef double T = 0.0, h = self.lane.now.h, size = 0.5 * h * self.slope_size()
        cdef int i, k
        for i in range(m.nbody):
            k = m.body[i].iv
            joint_column(&m.body[i], self.own.body[i].R, 0, &sw, &sv)
            self.V_q[k] = -(dot(sw, self.own.body[i].gn) + dot(sv, self.own.body[i].gf) + self.own.force[k])
            self.b[k] = size * self.V_q[k]
            T += 0.5 * self.own.L_rate[k] * self.lane.newton.y[k] / h
        self.paced.excess = self.E0[0] - T - self.paced.V

    cdef int linearise(self) noexcept nogil:
        # excess db has the potential's second derivatives, which are taken off those of h L
        cdef double left = 1.0 - self.paced.excess * self.slope_size()
        cdef vt_model lighter = self.shared.m[0]
        cdef MidBody* body = self.own.body
        cdef int k, status
        for k in range(3):
            lighter.g[k] *= left
        for k in range(self.shared.m.nbody):
            body[k].gn, body[k].gf = scale(left, body[k].gn), scale(left, body[k].gf)
        status = self.linearise_by(&lighter, left)
        if status == OK:
            self.couple_by_step()
        return status

    cdef void couple_by_step(self) noexcept nogil:
        # the last two rows: J + a b^T - b c^T, what a change of h brings
        cdef Operator* op = self.lane.operator
        cdef double* C = op.C + (self.shared.choices.extra - 2) * self.nv
        cdef double* R = op.R + (self.shared.choices.extra - 2) * self.nv
        cdef double along, r, T2 = 0.0, h = self.lane.now.h
        cdef int k, n = self.nv
        for k in range(n):
            T2 += self.own.L_rate[k] * self.lane.newton.y[k] / h
        along = (T2 + 3.0 * self.paced.excess) / h
        for k in range(n):
            r = 0.5 * (self.own.L_q[k] + (self.own.force[k] if self.shared.nload else 0.0)) + self.V_q[k]
            C[k] = r - self.own.L_rate[k] / h - along * self.b[k]
            R[k] = C[n + k] = self.b[k]
            R[n + k] = self.own.L_rate[k] / h + r

    cdef int finish(self) noexcept nogil:
        # p2 of the midpoint rule, and (E0 - E) b more
        cdef int status = MidpointStepper.finish(self), k
        for k in range(self.nv):
            self.lane.state.x2[k] += self.paced.excess * self.b[k]
        self.lane.guess.seen.h = self.lane.now.h
        return status
