# The midpoint variational integrator's steps.

cdef enum:
    DENSE = 16          # most coordinates at which the tree's dense matrix is the quicker operator


cdef class MidpointStepper(VariationalStepper):
    """Steps of the midpoint variational integrator; the state is (q, p)."""

    cdef readonly double alpha
    cdef MidBody* body
    cdef MidSolve* all_work             # (stages, nbody): each substep has its own
    cdef MidSolve* work
    cdef MidMulti* all_big                # ball and free joints
    cdef MidMulti* big
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
    def __init__(self, model, h, torque=None, double alpha=0.5, bint tree=False, bint caching=True, **options):
        cdef int rows
        cdef size_t size
        self.alpha, self.tree, self.caching = alpha, tree, caching
        self.pairs = self.loads.pairs
        self.written = self.user_rests or self.user_moves
        VariationalStepper.__init__(self, model, h, torque, **options)
        self.body = <MidBody*>self.take(self.nbody * sizeof(MidBody))
        self.all_work = <MidSolve*>self.take(self.stages * self.nbody * sizeof(MidSolve))
        self.all_big = <MidMulti*>self.take(self.stages * self.model.m.nmulti * sizeof(MidMulti))
        self.qm = self.doubles(self.nq)
        self.L_rate = self.doubles(self.nv)
        self.L_q = self.doubles(self.nv)
        self.rate = self.doubles(self.nv)
        self.force = self.doubles(self.nv)
        self.turning = self.doubles(27 * self.nbody)
        self.stiffness = self.doubles(self.nv)
        rows = self.count + self.extra
        self.cost_pass, self.cost_factor = 1.4 + 0.1 * rows, 5.5 + 0.4 * rows
        if tree:
            size = tree_work_size(&self.model.m)
            tree_work_make(&self.model.m, self.take(size), &self.derivatives)
            self.column = <Twist*>self.take(self.nbody * sizeof(Twist))
            self.L_vv = self.doubles(self.nv * self.nv)
            self.L_vq = self.doubles(self.nv * self.nv)
            self.L_qq = self.doubles(self.nv * self.nv)
        self.use(0)

    cdef int coupled_rows(self):
        return 3 * self.pairs + (self.nv if self.written else 0)

    cdef bint dense(self) noexcept nogil:
        if self.tree and self.solver == AUTO:
            return self.nv <= DENSE
        return self.solver == NEWTON or (self.tree and self.solver != RECURSIVE_NEWTON and self.solver != RIQN)

    cdef void use(self, int stage) noexcept nogil:
        VariationalStepper.use(self, stage)
        self.work = self.all_work + stage * self.nbody
        self.big = self.all_big + stage * self.model.m.nmulti

    cdef MidStep at(self) noexcept nogil:
        # what the kernels work on
        cdef MidStep step
        step.m, step.h, step.alpha, step.increment = &self.model.m, self.h, self.alpha, self.y
        step.body, step.work, step.multi, step.L_rate, step.L_q = self.body, self.work, self.big, self.L_rate, self.L_q
        return step

    cdef void pieces(self):
        VariationalStepper.pieces(self)
        self.piece(self.all_work, self.stages * self.nbody * sizeof(MidSolve))
        self.piece(self.all_big, self.stages * self.model.m.nmulti * sizeof(MidMulti))

    cdef int prepare(self) noexcept nogil:
        return self.predict_middle(self.v, self.a, self.d) if self.asks and not self.implicit else OK

    cdef void middle(self) noexcept nogil:
        cdef int k
        for k in range(self.nv):
            self.v[k] = self.y[k] / self.h
        advance(&self.model.m, self.q, self.alpha, self.y, self.q2)

    cdef void sweep_out(self) noexcept nogil:
        # poses, twists and momenta at q_m; by the tree its derivatives
        cdef const vt_model* m = &self.model.m
        cdef MidStep step = self.at()
        cdef int k
        if not self.tree:
            mid_forward(&step, self.q, self.qm)
            return
        for k in range(self.nv):
            self.qm[k] = self.q[k] + self.alpha * self.y[k]
            self.rate[k] = self.y[k] / self.h
        tree_sweep(m, self.qm, self.rate, &self.derivatives, self.L_rate, self.L_q, self.caching)

    cdef double evaluate(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef double* force = self.tau
        cdef double* wrench = NULL
        cdef MidStep step
        cdef int k
        self.sweep_out()
        step = self.at()
        if self.loaded():
            self.place_middle()
            self.apply_to_bodies(RESTING | RATES, self.t + self.alpha * self.h, self.qm, self.rate)
            for k in range(self.nv):
                self.force[k] = self.tau[k] + self.ltau[k]
            force, wrench = self.force, self.wrench
        if not self.tree:
            mid_backward(&step, wrench)
        elif wrench != NULL:
            self.project_wrenches(self.L_q)
        mid_residual(&step, self.x, force, self.r)
        return INFINITY if mid_turned(m, self.y) else largest(self.r, self.nv)

    cdef void measure(self) noexcept nogil:
        cdef int k
        self.scale = largest(self.x, self.nv)
        for k in range(self.nv):
            self.scale = vt_max_nan(self.scale, self.h * fabs(self.L_q[k] + (self.force[k] if self.loaded() else self.tau[k])))

    cdef void place_poses(self) noexcept nogil:
        # of the bodies at q_m, as the sweep has them
        cdef int i, parent
        for i in range(self.nbody):
            parent = self.model.m.body[i].parent
            self.pose[i].R, self.pose[i].t = self.body[i].R, self.body[i].t
            self.pose[i].o = self.body[i].t if parent < 0 else add(self.pose[parent].o, self.body[i].t)

    cdef void place_middle(self) noexcept nogil:
        # pose and twist of the bodies, and rates, at q_m
        cdef int i, k
        if self.tree:
            self.place_bodies(self.qm, self.rate)
            return
        for k in range(self.nv):
            self.rate[k] = self.y[k] / self.h
        self.place_poses()
        for i in range(self.nbody):
            store3(self.twist + 6 * i, self.body[i].w)
            store3(self.twist + 6 * i + 3, self.body[i].v)

    cdef int linearise(self) noexcept nogil:
        return self.linearise_by(&self.model.m, 1.0)

    cdef int linearise_by(self, const vt_model* m, double left) noexcept nogil:
        # with a share of the potential's second derivatives, which m and the bodies' weights have already
        cdef MidStep step = self.at()
        cdef BodiesAt at
        cdef double share = 1.0 - self.alpha
        cdef double* turning = NULL
        cdef double* stiffness = NULL
        cdef int k, status
        step.m = m
        if self.nload:
            self.place_middle()
            turning, stiffness = self.turning, self.stiffness
            at = self.bodies_at(self.qm, self.rate)
            at.m = m
            load_tangents(&at, self.loads.list, self.nload, left * self.alpha * self.h, turning, stiffness, self.C, self.R)
            if m.nmulti:
                for k in range(3 * self.pairs):
                    mid_row(m, self.big, False, 1.0, self.R + k * self.nv)
            load_rate_tangents(&at, self.loads.list, self.nload, 1.0, self.C, self.R)
            if left != 1.0:
                for k in range(27 * m.nbody):
                    turning[k] *= left
                for k in range(self.nv):
                    stiffness[k] *= left
        if self.dense() and self.tree:
            self.tree_matrix(turning, stiffness)
        else:
            if self.tree:
                mid_forward(&step, self.q, self.qm)
                mid_backward(&step, self.wrench if self.loaded() else NULL)
            mid_factor(&step, turning, stiffness, not self.dense())
            if self.dense():
                mid_jacobian(&step, self.J)
        if self.dense():
            self.lock_matrix()
            status = lu_factor(self.J, self.nv, self.J_order)
            if status != OK:
                return status
        if self.written:
            self.written_tangent(self.alpha * self.h, 1.0)
            if self.trouble == CALLBACK_FAILED:
                return CALLBACK_FAILED
        for k in range(self.extra):
            mid_row(m, self.big, True, share, self.C + k * self.nv)
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
            self.J[i * n + i] -= share * (m.damping[i] + friction_slope(m, i, self.rate[i]))
            if stiffness != NULL:
                self.J[i * n + i] -= share * a * h * stiffness[i]
        if turning != NULL:
            # wrenches of the last residual
            add_geometric(m, self.pose, self.wrench, turning, share * a * h, self.column, self.J)

    cdef void linearise_at_rest(self) noexcept nogil:
        memset(self.R, 0, self.extra * self.nv * sizeof(double))

    cdef void apply_inverse(self, const double* r, double* d) noexcept nogil:
        cdef MidStep step = self.at()
        cdef double none[3]
        cdef int k
        if self.solver != RIQN:
            mid_solve(&step, r, d)
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
        cdef MidStep step = self.at()
        cdef int i
        self.reach_node(self.y, self.q2)
        mid_end(&step, self.r, self.force if self.loaded() else self.tau, self.x2)
        for i in range(self.nlocked):
            # to the last bit
            self.q2[m.body[self.locked[i]].iq] = self.locked_at(i, 2)
        return OK

    cdef void by_increments(self, double* rows, int count) noexcept nogil:
        cdef int c
        if self.model.m.nmulti:
            for c in range(count):
                mid_end_row(&self.model.m, self.y, rows + c * self.nv)
