# The midpoint variational integrator's steps.

cdef enum:
    DENSE = 16          # most coordinates at which the tree's dense matrix is the quicker operator


cdef class MidpointStepper(VariationalStepper):
    """Steps of the midpoint variational integrator; the state is (q, p)."""

    cdef readonly double alpha
    cdef MidBody* body
    cdef MidSolve* all_work             # (stages, nbody): each substep has its own
    cdef MidSolve* work
    cdef MidBig* all_big                # ball and free joints
    cdef MidBig* big
    cdef double* qm
    cdef double* L_rate
    cdef double* L_q
    cdef double* rate
    # loads at q_m
    cdef double* force                  # on the joints: tau and ltau
    cdef double* turning
    cdef double* stiffness
    cdef int pairs
    cdef bint written                   # the last nv rows are those of loads written in Python
    # the residual by the derivatives of the tree, and the dense Newton matrix made of them
    cdef bint tree
    cdef bint caching
    cdef TreeWork derivatives
    cdef Twist* column
    cdef double* L_vv
    cdef double* L_vq
    cdef double* L_qq
    # steps of length h = pace g(q_m), g = (rate0^2 + 2 (E0 - V)/inertia)^(-1/2), by the discrete Lagrangian
    # h (L + E0): D1 and D2 have (E0 - E) b more, b = dh/dy, and so the energy E of the middle keeps to E0
    cdef double inertia
    cdef double E0                      # [J]
    cdef double E0_given                # or NaN: that of the start
    cdef double excess                  # E0 - E
    cdef double* V_q
    cdef double* b
    cdef double V                       # in the middle
    cdef double full                    # 1/g there

    def __init__(self, model, h, torque=None, double alpha=0.5, bint tree=False, bint caching=True,
                 double inertia=1.0, double energy=NAN, **options):
        cdef int rows
        cdef size_t size
        self.alpha, self.tree, self.caching = alpha, tree, caching
        self.inertia, self.E0_given = inertia, energy
        self.V_q = self.doubles(self.nv)
        self.b = self.doubles(self.nv)
        self.adapt = options.get("adapt", 0)
        self.pairs = self.loads.pairs
        self.written = self.user_rests or self.user_moves
        self.body = <MidBody*>self.take(self.nbody * sizeof(MidBody))
        self.all_work = <MidSolve*>self.take(len(options.get("shares", (1.0,))) * self.nbody * sizeof(MidSolve))
        self.all_big = <MidBig*>self.take(len(options.get("shares", (1.0,))) * self.model.m.nbig * sizeof(MidBig))
        self.qm = self.doubles(self.nq)
        self.L_rate = self.doubles(self.nv)
        self.L_q = self.doubles(self.nv)
        self.rate = self.doubles(self.nv)
        self.force = self.doubles(self.nv)
        self.turning = self.doubles(27 * self.nbody)
        self.stiffness = self.doubles(self.nv)
        VariationalStepper.__init__(self, model, h, torque, **options)
        rows = self.count + self.extra
        self.cost_pass, self.cost_factor = 1.4 + 0.1 * rows, 5.5 + 0.4 * rows
        if tree:
            size = tree_work_size(&self.model.m)
            tree_work_make(&self.model.m, self.take(size), &self.derivatives)
            self.column = <Twist*>self.take(self.nbody * sizeof(Twist))
            self.L_vv = self.doubles(self.nv * self.nv)
            self.L_vq = self.doubles(self.nv * self.nv)
            self.L_qq = self.doubles(self.nv * self.nv)

    cdef int coupled_rows(self):
        return 3 * self.pairs + (self.nv if self.written else 0) + (2 if self.adapt == SUNDMAN else 0)

    cdef bint dense(self) noexcept nogil:
        if self.tree and self.solver == AUTO:
            return self.nv <= DENSE
        return self.solver == NEWTON or (self.tree and self.solver != RECURSIVE_NEWTON and self.solver != RIQN)

    cdef void use(self, int stage) noexcept nogil:
        VariationalStepper.use(self, stage)
        self.work = self.all_work + stage * self.nbody
        self.big = self.all_big + stage * self.model.m.nbig

    cdef void pieces(self):
        VariationalStepper.pieces(self)
        self.piece(self.all_work, self.stages * self.nbody * sizeof(MidSolve))
        self.piece(self.all_big, self.stages * self.model.m.nbig * sizeof(MidBig))
        if self.adapt == SUNDMAN:
            self.piece(&self.E0, sizeof(double))

    cdef int prepare(self) noexcept nogil:
        if self.adapt == SUNDMAN:
            # increments of equal shares of the pace need no scaling by their lengths
            self.guess.h = self.h
            if self.opening and self.stage == 0:
                self.E0 = self.E0_given
                if self.E0 != self.E0:
                    self.velocity(self.q, self.x, self.v)
                    self.E0 = 0.5 * inner(self.x, self.v, self.nv) + self.potential_at(self.q)
        return self.predict_middle(self.v, self.a, self.d) if self.asks and not self.implicit else OK

    cdef void middle(self) noexcept nogil:
        cdef int k
        for k in range(self.nv):
            self.v[k] = self.y[k] / self.h
        advance(&self.model.m, self.q, self.alpha, self.y, self.q2)

    cdef double evaluate(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef double* force = self.tau
        cdef double* wrench = NULL
        cdef int k
        if self.adapt == SUNDMAN:
            self.place_and_pace()
        elif self.tree:
            for k in range(self.nv):
                self.qm[k] = self.q[k] + self.alpha * self.y[k]
                self.rate[k] = self.y[k] / self.h
            tree_sweep(m, self.qm, self.rate, &self.derivatives, self.L_rate, self.L_q, self.caching)
        else:
            mid_forward(m, self.h, self.alpha, self.q, self.y, self.qm, self.body)
        if self.loaded():
            self.place_middle()
            self.apply_to_bodies(RESTING | RATES, self.t + self.alpha * self.h, self.qm, self.rate)
            for k in range(self.nv):
                self.force[k] = self.tau[k] + self.ltau[k]
            force, wrench = self.force, self.wrench
        if not self.tree:
            mid_backward(m, wrench, self.body, self.L_rate, self.L_q)
        elif wrench != NULL:
            self.project_wrenches(self.L_q)
        mid_residual(m, self.h, self.alpha, self.y, self.x, force, self.L_rate, self.L_q, self.big, self.r)
        if self.adapt == SUNDMAN:
            self.pace_by_middle(force)
            for k in range(self.nv):
                self.r[k] -= self.excess * self.b[k]
        return INFINITY if mid_turned(m, self.y) else largest(self.r, self.nv)

    # ---- steps of the discrete action with time in it ---------------------------------------------

    cdef double potential_at(self, const double* q) noexcept nogil:
        # of gravity and loads [J]; leaves poses
        cdef const vt_model* m = &self.model.m
        cdef int i
        cdef Vec3 first = zero3()
        forward_kinematics(m, q, self.pose)
        for i in range(m.nbody):
            first = axpy(m.body[i].mass, add(self.pose[i].o, mul(self.pose[i].R, constant3(m.body[i].com))), first)
        return load_potential(self.loads.list, self.nload, q, self.pose, self.twist) - dot(constant3(m.g), first)

    cdef double density_by(self, double V) noexcept nogil:
        # 1/g, kept from zero where V rises far above E0
        return vt_sqrt(max(self.rate0 * self.rate0 + 2.0 * (self.E0 - V) / self.inertia, self.least() * self.least()))

    cdef double least(self) noexcept nogil:
        return 0.2 * self.rate0

    cdef void guess_by_dynamics(self, double share) noexcept nogil:
        if self.adapt == SUNDMAN:
            # of the step at the start, then at the middle where that leads
            self.h = self.share_now * self.pace / self.density_by(self.potential_at(self.q))
            VariationalStepper.guess_by_dynamics(self, share)
            advance(&self.model.m, self.q, self.alpha, self.y, self.q2)
            self.h = self.share_now * self.pace / self.density_by(self.potential_at(self.q2))
        VariationalStepper.guess_by_dynamics(self, share)

    cdef void place_and_pace(self) noexcept nogil:
        # mid_forward, where the step follows from the poses
        cdef const vt_model* m = &self.model.m
        cdef MidBody* s
        cdef Vec3 first = zero3()
        cdef double inverse
        cdef int i
        mid_forward(m, 1.0, self.alpha, self.q, self.y, self.qm, self.body)
        for i in range(m.nbody):
            s = &self.body[i]
            self.pose[i].R, self.pose[i].t = s.R, s.t
            self.pose[i].o = s.t if m.body[i].parent < 0 else add(self.pose[m.body[i].parent].o, s.t)
            first = axpy(m.body[i].mass, add(self.pose[i].o, s.c), first)
        self.V = load_potential(self.loads.list, self.nload, self.qm, self.pose, self.twist) - dot(constant3(m.g), first)
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

    cdef void measure(self) noexcept nogil:
        cdef int k
        self.scale = largest(self.x, self.nv)
        for k in range(self.nv):
            self.scale = vt_max_nan(self.scale, self.h * fabs(self.L_q[k] + (self.force[k] if self.loaded() else self.tau[k])))

    cdef void place_middle(self) noexcept nogil:
        # pose and twist of the bodies, and rates, at q_m
        cdef const vt_model* m = &self.model.m
        cdef MidBody* s
        cdef int i, k
        if self.tree:
            self.place_bodies(self.qm, self.rate)
            return
        for k in range(self.nv):
            self.rate[k] = self.y[k] / self.h
        for i in range(m.nbody):
            s = &self.body[i]
            self.pose[i].R, self.pose[i].t = s.R, s.t
            self.pose[i].o = s.t if m.body[i].parent < 0 else add(self.pose[m.body[i].parent].o, s.t)
            store3(self.twist + 6 * i, s.w)
            store3(self.twist + 6 * i + 3, s.v)

    cdef int linearise(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef double share = 1.0 - self.alpha
        cdef double* turning = NULL
        cdef double* stiffness = NULL
        cdef double left = 1.0
        cdef vt_model lighter
        cdef int k, status
        if self.adapt == SUNDMAN:
            # excess db has the potential's second derivatives, which are taken off those of h L
            left -= self.excess * self.bend()
            lighter = m[0]
            for k in range(3):
                lighter.g[k] *= left
            m = &lighter
            for k in range(m.nbody):
                self.body[k].gn, self.body[k].gf = scale(left, self.body[k].gn), scale(left, self.body[k].gf)
        if self.nload:
            self.place_middle()
            turning, stiffness = self.turning, self.stiffness
            load_tangents(m, self.loads.list, self.nload, self.qm, self.u, self.pose, self.twist,
                          left * self.alpha * self.h, 1.0, self.big, turning, stiffness, self.C, self.R)
            if left != 1.0:
                for k in range(27 * m.nbody):
                    turning[k] *= left
                for k in range(self.nv):
                    stiffness[k] *= left
        if self.dense() and self.tree:
            self.tree_matrix(turning, stiffness)
        else:
            if self.tree:
                mid_forward(m, self.h, self.alpha, self.q, self.y, self.qm, self.body)
                mid_backward(m, self.wrench if self.loaded() else NULL, self.body, self.L_rate, self.L_q)
            mid_factor(m, self.h, self.alpha, self.y, turning, stiffness, self.body, self.work, self.big,
                       not self.dense())
            if self.dense():
                mid_jacobian(m, self.body, self.work, self.big, self.J)
        if self.dense():
            self.lock_matrix()
            status = lu_factor(self.J, self.nv, self.J_order)
            if status != OK:
                return status
        if self.written:
            self.written_tangent(self.alpha * self.h, 1.0)
            if self.trouble == CALLBACK_FAILED:
                return CALLBACK_FAILED
        for k in range(self.extra - (2 if self.adapt == SUNDMAN else 0)):
            mid_row(m, self.big, True, share, self.C + k * self.nv)
        if self.adapt == SUNDMAN:
            self.couple_by_step()
        return OK

    cdef void tree_matrix(self, const double* turning, const double* stiffness) noexcept nogil:
        # J = -dr/dy from the second derivatives of the Lagrangian (Johnson & Murphey 2009, section IV-A)
        cdef const vt_model* m = &self.model.m
        cdef int i, j, n = self.nv
        cdef double a = self.alpha, share = 1.0 - self.alpha, h = self.h
        tree_second(m, &self.derivatives, self.L_vv, self.L_vq, self.L_qq, self.caching)
        for i in range(n):
            for j in range(n):
                self.J[i * n + j] = share * (h * a * self.L_qq[i * n + j] + self.L_vq[j * n + i]) - (
                    a * self.L_vq[i * n + j] + self.L_vv[i * n + j] / h)
            self.J[i * n + i] -= share * m.damping[i]
            if stiffness != NULL:
                self.J[i * n + i] -= share * a * h * stiffness[i]
        if turning != NULL:
            # wrenches of the last residual
            add_geometric(m, self.pose, self.wrench, turning, share * a * h, self.column, self.J)

    cdef void linearise_at_rest(self) noexcept nogil:
        memset(self.R, 0, self.extra * self.nv * sizeof(double))

    cdef void apply_inverse(self, const double* r, double* d) noexcept nogil:
        cdef double none[3]
        cdef int k
        if self.solver != RIQN:
            mid_solve(&self.model.m, self.body, r, self.work, self.big, d)
            return
        memset(none, 0, sizeof(none))
        aba(&self.model.m, none, self.q, self.zeros, r, NULL, d, self.aba_body)
        for k in range(self.nv):
            d[k] *= -self.h
        for k in range(self.nlocked):
            d[self.model.m.body[self.locked[k]].iv] = 0.0

    cdef void written_tangent(self, double by_q, double by_rate) noexcept nogil:
        # R = -(by_q dQ/dq d(q_m)/dy + by_rate dQ/dv) of the loads written in Python, C = 1
        cdef int k, i, n = self.nv
        cdef double[:, ::1] dq, dv
        cdef double* R = self.R + 3 * self.pairs * self.nv
        cdef double* C = self.C + 3 * self.pairs * self.nv
        memset(C, 0, n * n * sizeof(double))
        with gil:
            try:
                by_configuration, by_velocity = self.user.tangent(
                    self.t + self.alpha * self.h, self.array(self.qm, self.nq), self.array(self.rate, n),
                    self.array(self.u, self.nu))
                dq, dv = by_configuration, by_velocity
                for k in range(n):
                    C[k * n + k] = 1.0
                    for i in range(n):
                        R[k * n + i] = -by_q * dq[k, i]
                    mid_row(&self.model.m, self.big, False, 1.0, R + k * n)
                    for i in range(n):
                        R[k * n + i] -= by_rate * dv[k, i]
            except BaseException as error:
                self.fail(error)

    cdef int finish(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef int i
        self.reach_node(self.y, self.q2)
        mid_end(m, self.h, self.alpha, self.y, self.r, self.force if self.loaded() else self.tau,
                self.L_rate, self.L_q, self.big, self.x2)
        if self.adapt == SUNDMAN:
            for i in range(self.nv):
                self.x2[i] += self.excess * self.b[i]
            self.guess.h = self.h
        for i in range(self.nlocked):
            # to the last bit
            self.q2[m.body[self.locked[i]].iq] = self.locked_at(i, 2)
        return OK

    cdef void by_increments(self, double* rows, int count) noexcept nogil:
        cdef int c
        if self.model.m.nbig:
            for c in range(count):
                mid_end_row(&self.model.m, self.y, rows + c * self.nv)
