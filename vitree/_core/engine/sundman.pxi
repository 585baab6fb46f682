# Steps of length h = pace g(q_m), g = (rate0^2 + 2 (E0 - V)/inertia)^(-1/2), by the discrete Lagrangian h (L + E0): D1
# and D2 contain (E0 - E) b in addition, b = dh/dy, which draws the energy E of the middle to E0.

cdef struct Paced:              # scratch: the middle of the step
    double V                    # [J] potential energy
    double full                 # [1/s] 1/g
    double excess               # [J] E0 - E


cdef struct SundmanStep:
    double inertia
    double E0_given                # [J] or NaN: the energy of the start
    double* E0                     # [J]
    Paced* paced
    double* V_q                    # (nv,)
    double* b                      # (nv,)


cdef int make_sundman(ModelStepper self, dict options) except -1:
    cdef double inertia = options.get("inertia", 1.0)
    cdef double energy = options.get("energy", NAN)
    self.sundman.inertia, self.sundman.E0_given = inertia, energy
    self.sundman.E0, self.sundman.paced = self.memory.kept_reals(1), <Paced*>self.memory.scratch(sizeof(Paced))
    self.sundman.V_q, self.sundman.b = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
    make_midpoint(self, options)
    return 0


cdef int sundman_coupled_rows(ModelStepper self):
    return midpoint_coupled_rows(self) + 2


cdef int sundman_prepare(ModelStepper self) noexcept nogil:
    # increments of equal fractions of the pace need no scaling by their lengths
    cdef State* at = &self.lane.state
    self.lane.guess.seen.h = self.lane.now.h
    if self.lane.progress.opening and self.lane.newton.stage == 0:
        self.sundman.E0[0] = self.sundman.E0_given
        if self.sundman.E0[0] != self.sundman.E0[0]:
            model_velocity(self, at.q, at.x, self.lane.newton.v)
            self.sundman.E0[0] = 0.5 * inner(at.x, self.lane.newton.v, self.nv) + potential_at(self, at.q)
    return midpoint_prepare(self)


# ---- the length of a step --------------------------------------------------------------------------


cdef double potential_at(ModelStepper self, const double* q) noexcept nogil:
    # of gravity and loads [J]; leaves poses
    forward_kinematics(self.shared.m, q, self.lane.bodies.pose)
    return potential(self, q)


cdef double potential(ModelStepper self, const double* q) noexcept nogil:
    # V = V_loads - g . sum m c, where the poses are those of q
    cdef const vt_model* m = self.shared.m
    cdef Pose* pose = self.lane.bodies.pose
    cdef int i
    cdef double V = load_potential(self.shared.load, self.shared.nload, q, pose, self.shared.zeros)
    cdef Vec3 first = zero3()
    for i in range(m.nbody):
        first = axpy(m.body[i].mass, add(pose[i].o, mul(pose[i].R, constant3(m.body[i].com))), first)
    return V - dot(constant3(m.g), first)


cdef double density_by(ModelStepper self, double V) noexcept nogil:
    # 1/g, bounded away from zero where V rises far above E0
    cdef double rate0 = self.shared.choices.rate0
    cdef double least = sundman_least(self)
    return vt_sqrt(max(rate0 * rate0 + 2.0 * (self.sundman.E0[0] - V) / self.sundman.inertia, least * least))


cdef double sundman_least(ModelStepper self) noexcept nogil:
    return 0.2 * self.shared.choices.rate0


cdef double length_by(ModelStepper self, double density) noexcept nogil:
    # h of the substep
    return self.lane.newton.share * self.shared.choices.pace / density


cdef double sundman_slope_size(ModelStepper self) noexcept nogil:
    # g^2/inertia: grad g = g^3/inertia V_q; zero where g is bounded
    cdef double full = self.sundman.paced.full
    return 1.0 / (full * full * self.sundman.inertia) if full > sundman_least(self) else 0.0


# ---- the equations -----------------------------------------------------------------------------------


cdef void sundman_guess_by_dynamics(ModelStepper self, double share, const bint* some) noexcept nogil:
    # of the step at the start, then at its middle
    cdef State* at = &self.lane.state
    self.lane.now.h = length_by(self, density_by(self, potential_at(self, at.q)))
    variational_guess_by_dynamics(self, share, some)
    advance(self.shared.m, at.q, self.mid.kernel.alpha, self.lane.newton.y, at.q2)
    self.lane.now.h = length_by(self, density_by(self, potential_at(self, at.q2)))
    variational_guess_by_dynamics(self, share, some)


cdef void sundman_sweep_out(ModelStepper self) noexcept nogil:
    # mid_forward, where the step follows from the poses
    cdef const vt_model* m = self.shared.m
    cdef MidBody* s
    cdef MidStep* step = midpoint_at(self)
    cdef double inverse
    cdef int i
    step.h = 1.0
    mid_forward(step, self.lane.state.q, self.mid.qm)
    place_poses(self)
    self.sundman.paced.V = potential(self, self.mid.qm)
    self.sundman.paced.full = density_by(self, self.sundman.paced.V)
    self.lane.now.h = length_by(self, self.sundman.paced.full)
    inverse = 1.0 / self.lane.now.h
    for i in range(m.nbody):
        s = &self.mid.body[i]
        s.w, s.v = scale(inverse, s.w), scale(inverse, s.v)
        s.n, s.f = scale(inverse, s.n), scale(inverse, s.f)


cdef double sundman_evaluate(ModelStepper self) noexcept nogil:
    # r of the midpoint rule, less (E0 - E) b
    cdef double e = midpoint_evaluate(self)
    cdef double* r = self.lane.newton.r
    cdef int k
    pace_by_middle(self)
    for k in range(self.nv):
        r[k] -= self.sundman.paced.excess * self.sundman.b[k]
    return largest(r, self.nv) if isfinite(e) else e


cdef void pace_by_middle(ModelStepper self) noexcept nogil:
    # V_q, b = h g^2/(2 inertia) V_q, and the energy error of the middle, after both sweeps
    cdef const vt_model* m = self.shared.m
    cdef Vec3 sw, sv
    cdef double T = 0.0, h = self.lane.now.h, size = 0.5 * h * sundman_slope_size(self)
    cdef int i, k
    for i in range(m.nbody):
        k = m.body[i].iv
        joint_column(&m.body[i], self.mid.body[i].R, 0, &sw, &sv)
        self.sundman.V_q[k] = -(dot(sw, self.mid.body[i].gn) + dot(sv, self.mid.body[i].gf) + self.mid.force[k])
        self.sundman.b[k] = size * self.sundman.V_q[k]
        T += 0.5 * self.mid.L_rate[k] * self.lane.newton.y[k] / h
    self.sundman.paced.excess = self.sundman.E0[0] - T - self.sundman.paced.V


cdef int sundman_linearise(ModelStepper self) noexcept nogil:
    # excess db contains the potential's second derivatives, which are subtracted from those of h L
    cdef double left = 1.0 - self.sundman.paced.excess * sundman_slope_size(self)
    cdef vt_model lighter = self.shared.m[0]
    cdef MidBody* body = self.mid.body
    cdef int k, status
    for k in range(3):
        lighter.g[k] *= left
    for k in range(self.shared.m.nbody):
        body[k].gn, body[k].gf = scale(left, body[k].gn), scale(left, body[k].gf)
    status = linearise_by(self, &lighter, left)
    if status == OK:
        couple_by_step(self)
    return status


cdef void couple_by_step(ModelStepper self) noexcept nogil:
    # the last two rows: J + a b^T - b c^T, the effect of a change of h
    cdef Operator* op = self.lane.operator
    cdef double* C = op.C + (self.shared.choices.extra - 2) * self.nv
    cdef double* R = op.R + (self.shared.choices.extra - 2) * self.nv
    cdef double along, r, T2 = 0.0, h = self.lane.now.h
    cdef int k, n = self.nv
    for k in range(n):
        T2 += self.mid.L_rate[k] * self.lane.newton.y[k] / h
    along = (T2 + 3.0 * self.sundman.paced.excess) / h
    for k in range(n):
        r = 0.5 * (self.mid.L_q[k] + (self.mid.force[k] if self.shared.nload else 0.0)) + self.sundman.V_q[k]
        C[k] = r - self.mid.L_rate[k] / h - along * self.sundman.b[k]
        R[k] = C[n + k] = self.sundman.b[k]
        R[n + k] = self.mid.L_rate[k] / h + r


cdef int sundman_finish(ModelStepper self) noexcept nogil:
    # p2 of the midpoint rule, plus (E0 - E) b
    cdef int status = midpoint_finish(self), k
    for k in range(self.nv):
        self.lane.state.x2[k] += self.sundman.paced.excess * self.sundman.b[k]
    self.lane.guess.seen.h = self.lane.now.h
    return status
