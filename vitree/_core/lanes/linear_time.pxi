# Steps of the linear-time variational integrator in lanes: as linear_time.pxi.

cdef struct LinearTimeLanesState:
    LinearTimeStep kernel          # what the kernels work on
    Gains* gains                   # (stages, nbody): each substep has its own
    MultiGains* multi              # (stages, nmulti)
    Gains* fresh                   # (nbody,) an operator that some lanes take
    MultiGains* fresh_multi
    Node* node1                    # (nbody,)
    Node* node2
    vt_real* rhs                   # (nv,) p1 + (h/2) forces at node 1
    vt_real* weight1               # (nv,) gravity at the nodes, projected
    vt_real* weight2
    bint started                   # node1 and weight1 are those of the state


cdef int make_linear_time_lanes(Lanes self) except -1:
    cdef const vt_model* m
    cdef LinearTimeStep* step = &self.linear.kernel
    cdef int n
    make_variational_lanes(self)
    m = self.plan.m
    n = m.nbody
    self.linear.rhs = lanes_reals(self, self.nv)
    self.linear.weight1, self.linear.weight2 = lanes_reals(self, self.nv), lanes_reals(self, self.nv)
    self.linear.node1 = <Node*>self.scratch.take(n * sizeof(Node))
    self.linear.node2 = <Node*>self.scratch.take(n * sizeof(Node))
    self.linear.gains = <Gains*>self.scratch.take(self.plan.stages * n * sizeof(Gains))
    self.linear.multi = <MultiGains*>self.scratch.take(self.plan.stages * m.nmulti * sizeof(MultiGains))
    self.linear.fresh = <Gains*>self.scratch.take(n * sizeof(Gains))
    self.linear.fresh_multi = <MultiGains*>self.scratch.take(m.nmulti * sizeof(MultiGains))
    step.trial, step.solve = <Trial*>self.scratch.take(n * sizeof(Trial)), <Solve*>self.scratch.take(n * sizeof(Solve))
    step.m, step.increment, step.split, step.slope = m, self.y, self.plan.split, self.servo_slope
    return 0


cdef Py_ssize_t linear_time_lanes_need(Lanes self):
    cdef const vt_model* m = self.plan.m
    cdef Py_ssize_t operators = self.plan.stages + 1
    return (variational_lanes_need(self) + 3 * (m.nv + 1) * sizeof(vt_real) + 64 * 10
            + m.nbody * (2 * sizeof(Node) + sizeof(Trial) + sizeof(Solve) + operators * sizeof(Gains))
            + m.nmulti * operators * sizeof(MultiGains))


cdef void linear_time_lanes_begin(Lanes self) noexcept nogil:
    variational_lanes_begin(self)
    self.linear.started = False


cdef void linear_time_lanes_prepare(Lanes self) noexcept nogil:
    # node 1, and rhs = p1 + (h/2) (weight at node 1 + joint forces)
    cdef const vt_model* m = self.plan.m
    cdef LinearTimeStep* step = &self.linear.kernel
    cdef int k
    step.h, step.node = self.h, self.linear.node1
    step.gains, step.multi = self.linear.gains + self.substep_at * m.nbody, self.linear.multi + self.substep_at * m.nmulti
    if not self.linear.started:
        lt_node(m, self.q, self.plan.split, self.linear.node1)
        lt_weight(m, self.linear.node1, NULL, step.solve, self.linear.weight1)
        self.linear.started = True
    for k in range(self.nv):
        self.linear.rhs[k] = self.x[k] + 0.5 * self.h * (self.linear.weight1[k] + self.tau[k])


cdef vt_real linear_time_lanes_evaluate(Lanes self) noexcept nogil:
    # r = momentum at node 1, that of rotors with it, + damping and friction - (h/2) drives - rhs
    cdef vt_real least, e
    cdef double one
    cdef int i, k
    lt_trial(&self.linear.kernel, &least)
    lt_residual(&self.linear.kernel, self.linear.rhs, self.r)
    if self.plan.ndrive:
        variational_lanes_drive_trial(self, self.y, self.servo_force, self.servo_slope)
        for k in range(self.nv):
            self.r[k] = self.r[k] + -0.5 * self.h * self.servo_force[k]
    e = largest(self.r, self.nv)
    for i in range(VT_WIDTH):
        one = vt_get(e, i)
        self.at.lane[i].now.turned = isfinite(one) and not vt_get(least, i) > 0.0
        if not (vt_get(least, i) > 0.0 and isfinite(one)):
            vt_put(&e, i, INFINITY)
    return e


cdef vt_real linear_time_lanes_measure(Lanes self) noexcept nogil:
    # max(|p1|, (h/2) |weight|, (h/2) |force|, (h/2) |drive|)
    cdef vt_real size = vt_max_nan(largest(self.linear.weight1, self.nv), largest(self.tau, self.nv))
    if self.plan.ndrive:
        size = vt_max_nan(size, largest(self.servo_force, self.nv))
    return vt_max_nan(largest(self.x, self.nv), 0.5 * fabs(self.h) * size)


cdef vt_real linear_time_lanes_kinetic(Lanes self) noexcept nogil:
    # 2 T = (sum of f.p + g.w, and of armature y^2)/h^2
    cdef const vt_model* m = self.plan.m
    cdef const Trial* s
    cdef vt_real size = vt_set1(0.0), inverse = vt_set1(1.0 / self.h)
    cdef int i
    for i in range(m.nbody):
        if m.body[i].inert:
            s = &self.linear.kernel.trial[i]
            size = size + (dot(s.f, s.p) + dot(s.g, s.w))
    if m.rotors:
        for i in range(self.nv):
            size = size + m.armature[i] * self.y[i] * self.y[i]
    return size * inverse * inverse


cdef Vec3 linear_time_lanes_tree_momentum(Lanes self, int root) noexcept nogil:
    # what the residual has left of the tree
    return scale(vt_set1(1.0 / self.h), self.linear.kernel.trial[root].F)


cdef vt_real linear_time_lanes_impulse(Lanes self, int k) noexcept nogil:
    cdef vt_real size = vt_max(vt_abs(self.linear.weight1[k]), vt_abs(self.tau[k]))
    if self.plan.ndrive:
        size = vt_max(size, vt_abs(self.servo_force[k]))
    return 0.5 * fabs(self.h) * size


cdef void linear_time_lanes_factor(Lanes self, vt_mask some, Signs* signs) noexcept nogil:
    cdef const vt_model* m = self.plan.m
    cdef LinearTimeStep* step = &self.linear.kernel
    cdef Gains* gains = step.gains
    cdef MultiGains* multi = step.multi
    step.gains, step.multi = self.linear.fresh, self.linear.fresh_multi
    lt_factor(step, 0, m.nbody, signs)
    step.gains, step.multi = gains, multi
    blend(some, self.linear.fresh, gains, m.nbody * sizeof(Gains))
    blend(some, self.linear.fresh_multi, multi, m.nmulti * sizeof(MultiGains))


cdef void linear_time_lanes_solve(Lanes self, vt_real* d) noexcept nogil:
    lt_solve(&self.linear.kernel, self.r, 0, self.plan.m.nbody, d)


cdef void linear_time_lanes_straighten(Lanes self, vt_real* y) noexcept nogil:
    lt_straighten(self.plan.m, y)


cdef void linear_time_lanes_finish(Lanes self) noexcept nogil:
    # q2 = q1 (+) y, p2 = momentum at node 2 + (h/2) (weight at node 2 + forces in the middle) - r
    cdef const vt_model* m = self.plan.m
    cdef int k
    lt_advance_q(m, self.q, self.y, self.q2)
    lt_node(m, self.q2, self.plan.split, self.linear.node2)
    lt_weight(m, self.linear.node2, NULL, self.linear.kernel.solve, self.linear.weight2)
    for k in range(self.nv):
        self.d[k] = self.linear.weight2[k] + self.tau[k]
    if self.plan.ndrive:
        for k in range(self.nv):
            self.d[k] = self.d[k] + self.servo_force[k]
    lt_end(&self.linear.kernel, self.linear.node2, self.r, self.d, self.x2)


cdef void linear_time_lanes_pass_on(Lanes self) noexcept nogil:
    self.linear.node1, self.linear.node2 = self.linear.node2, self.linear.node1
    self.linear.weight1, self.linear.weight2 = self.linear.weight2, self.linear.weight1
