# Steps of the linear-time variational integrator in lanes: as linear_time.pxi.

cdef class LinearTimeLanes(VariationalLanes):
    """Steps of Lee et al. (2016)."""

    cdef LinearTimeStep kernel          # what the kernels work on
    cdef Gains* gains                   # (stages, nbody): each substep has its own
    cdef MultiGains* multi              # (stages, nmulti)
    cdef Gains* fresh                   # (nbody,) an operator that some lanes take
    cdef MultiGains* fresh_multi
    cdef Node* node1                    # (nbody,)
    cdef Node* node2
    cdef vt_real* rhs                   # (nv,) p1 + (h/2) forces at node 1
    cdef vt_real* weight1               # (nv,) gravity at the nodes, projected
    cdef vt_real* weight2
    cdef bint started                   # node1 and weight1 are those of the state

    def __init__(self, size_t address, owner):
        cdef const vt_model* m
        cdef LinearTimeStep* step = &self.kernel
        cdef int n
        VariationalLanes.__init__(self, address, owner)
        m = self.plan.m
        n = m.nbody
        self.rhs, self.weight1, self.weight2 = self.reals(self.nv), self.reals(self.nv), self.reals(self.nv)
        self.node1, self.node2 = <Node*>self.scratch.take(n * sizeof(Node)), <Node*>self.scratch.take(n * sizeof(Node))
        self.gains = <Gains*>self.scratch.take(self.plan.stages * n * sizeof(Gains))
        self.multi = <MultiGains*>self.scratch.take(self.plan.stages * m.nmulti * sizeof(MultiGains))
        self.fresh = <Gains*>self.scratch.take(n * sizeof(Gains))
        self.fresh_multi = <MultiGains*>self.scratch.take(m.nmulti * sizeof(MultiGains))
        step.trial, step.solve = <Trial*>self.scratch.take(n * sizeof(Trial)), <Solve*>self.scratch.take(n * sizeof(Solve))
        step.m, step.increment, step.split, step.slope = m, self.y, self.plan.split, self.servo_slope

    cdef Py_ssize_t need(self):
        cdef const vt_model* m = self.plan.m
        cdef Py_ssize_t operators = self.plan.stages + 1
        return (VariationalLanes.need(self) + 3 * (m.nv + 1) * sizeof(vt_real) + 64 * 10
                + m.nbody * (2 * sizeof(Node) + sizeof(Trial) + sizeof(Solve) + operators * sizeof(Gains))
                + m.nmulti * operators * sizeof(MultiGains))

    cdef void begin(self) noexcept nogil:
        VariationalLanes.begin(self)
        self.started = False

    cdef void prepare(self) noexcept nogil:
        # node 1, and rhs = p1 + (h/2) (weight at node 1 + joint forces)
        cdef const vt_model* m = self.plan.m
        cdef LinearTimeStep* step = &self.kernel
        cdef int k
        step.h, step.node = self.h, self.node1
        step.gains, step.multi = self.gains + self.substep_at * m.nbody, self.multi + self.substep_at * m.nmulti
        if not self.started:
            lt_node(m, self.q, self.plan.split, self.node1)
            lt_weight(m, self.node1, NULL, step.solve, self.weight1)
            self.started = True
        for k in range(self.nv):
            self.rhs[k] = self.x[k] + 0.5 * self.h * (self.weight1[k] + self.tau[k])

    cdef vt_real evaluate(self) noexcept nogil:
        # r = momentum at node 1, that of rotors with it, + damping and friction - (h/2) drives - rhs
        cdef vt_real least, e
        cdef double one
        cdef int i, k
        lt_trial(&self.kernel, &least)
        lt_residual(&self.kernel, self.rhs, self.r)
        if self.plan.ndrive:
            self.drive_trial(self.y, self.servo_force, self.servo_slope)
            for k in range(self.nv):
                self.r[k] = self.r[k] + -0.5 * self.h * self.servo_force[k]
        e = largest_in_lanes(self.r, self.nv)
        for i in range(VT_WIDTH):
            one = vt_get(e, i)
            self.at.lane[i].now.turned = isfinite(one) and not vt_get(least, i) > 0.0
            if not (vt_get(least, i) > 0.0 and isfinite(one)):
                vt_put(&e, i, INFINITY)
        return e

    cdef vt_real measure(self) noexcept nogil:
        # max(|p1|, (h/2) |weight|, (h/2) |force|, (h/2) |drive|)
        cdef vt_real size = vt_max_nan(largest_in_lanes(self.weight1, self.nv), largest_in_lanes(self.tau, self.nv))
        if self.plan.ndrive:
            size = vt_max_nan(size, largest_in_lanes(self.servo_force, self.nv))
        return vt_max_nan(largest_in_lanes(self.x, self.nv), 0.5 * fabs(self.h) * size)

    cdef vt_real kinetic(self) noexcept nogil:
        # 2 T = (sum of f.p + g.w, and of armature y^2)/h^2
        cdef const vt_model* m = self.plan.m
        cdef const Trial* s
        cdef vt_real size = vt_set1(0.0), inverse = vt_set1(1.0 / self.h)
        cdef int i
        for i in range(m.nbody):
            if m.body[i].inert:
                s = &self.kernel.trial[i]
                size = size + (dot(s.f, s.p) + dot(s.g, s.w))
        if m.rotors:
            for i in range(self.nv):
                size = size + m.armature[i] * self.y[i] * self.y[i]
        return size * inverse * inverse

    cdef Vec3 tree_momentum(self, int root) noexcept nogil:
        # what the residual has left of the tree
        return scale(vt_set1(1.0 / self.h), self.kernel.trial[root].F)

    cdef vt_real impulse(self, int k) noexcept nogil:
        cdef vt_real size = vt_max(vt_abs(self.weight1[k]), vt_abs(self.tau[k]))
        if self.plan.ndrive:
            size = vt_max(size, vt_abs(self.servo_force[k]))
        return 0.5 * fabs(self.h) * size

    cdef void factor(self, vt_mask some, Signs* signs) noexcept nogil:
        cdef const vt_model* m = self.plan.m
        cdef LinearTimeStep* step = &self.kernel
        cdef Gains* gains = step.gains
        cdef MultiGains* multi = step.multi
        step.gains, step.multi = self.fresh, self.fresh_multi
        lt_factor(step, 0, m.nbody, signs)
        step.gains, step.multi = gains, multi
        blend(some, self.fresh, gains, m.nbody * sizeof(Gains))
        blend(some, self.fresh_multi, multi, m.nmulti * sizeof(MultiGains))

    cdef void solve(self, vt_real* d) noexcept nogil:
        lt_solve(&self.kernel, self.r, 0, self.plan.m.nbody, d)

    cdef void straighten(self, vt_real* y) noexcept nogil:
        lt_straighten(self.plan.m, y)

    cdef void finish(self) noexcept nogil:
        # q2 = q1 (+) y, p2 = momentum at node 2 + (h/2) (weight at node 2 + forces in the middle) - r
        cdef const vt_model* m = self.plan.m
        cdef int k
        lt_advance_q(m, self.q, self.y, self.q2)
        lt_node(m, self.q2, self.plan.split, self.node2)
        lt_weight(m, self.node2, NULL, self.kernel.solve, self.weight2)
        for k in range(self.nv):
            self.d[k] = self.weight2[k] + self.tau[k]
        if self.plan.ndrive:
            for k in range(self.nv):
                self.d[k] = self.d[k] + self.servo_force[k]
        lt_end(&self.kernel, self.node2, self.r, self.d, self.x2)

    cdef void pass_on(self) noexcept nogil:
        self.node1, self.node2 = self.node2, self.node1
        self.weight1, self.weight2 = self.weight2, self.weight1
