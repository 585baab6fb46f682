# Steps of the midpoint variational integrator in lanes: as midpoint.pxi.

cdef struct MidpointLanesState:
    MidStep kernel                 # what the kernels work on
    MidSolve* work                 # (stages, nbody): each substep has its own
    MidMulti* multi                # (stages, nmulti)
    MidSolve* fresh                # (nbody,) an operator that some lanes take
    MidMulti* fresh_multi
    vt_real* qm                    # (nq,) the middle
    vt_real* pull                  # (nv,) on the joints there
    MidTrees trees


cdef int make_midpoint_lanes(Lanes self) except -1:
    cdef const vt_model* m
    cdef MidStep* step = &self.mid.kernel
    cdef int n
    make_variational_lanes(self)
    m = self.plan.m
    n = m.nbody
    self.node_share = 1.0 - self.plan.alpha
    self.mid.qm, self.mid.pull = lanes_reals(self, self.nq), lanes_reals(self, self.nv)
    self.mid.work = <MidSolve*>self.scratch.take(self.plan.stages * n * sizeof(MidSolve))
    self.mid.multi = <MidMulti*>self.scratch.take(self.plan.stages * m.nmulti * sizeof(MidMulti))
    self.mid.fresh = <MidSolve*>self.scratch.take(n * sizeof(MidSolve))
    self.mid.fresh_multi = <MidMulti*>self.scratch.take(m.nmulti * sizeof(MidMulti))
    step.body = <MidBody*>self.scratch.take(n * sizeof(MidBody))
    step.block = <MidBlock*>self.scratch.take(n * sizeof(MidBlock))
    step.L_rate, step.L_q = lanes_reals(self, self.nv), lanes_reals(self, self.nv)
    step.m, step.alpha, step.increment, step.slope = m, self.plan.alpha, self.y, self.servo_slope
    step.trees = NULL
    if self.plan.relative:
        mid_trees_place(&self.mid.trees, self.scratch.take(mid_trees_size(m)), m)
        self.mid.trees.direct, step.trees = True, &self.mid.trees
    return 0


cdef Py_ssize_t midpoint_lanes_need(Lanes self):
    cdef const vt_model* m = self.plan.m
    cdef Py_ssize_t operators = self.plan.stages + 1
    return (variational_lanes_need(self) + (m.nq + 3 * m.nv + 4) * sizeof(vt_real) + 64 * 10
            + m.nbody * (sizeof(MidBody) + sizeof(MidBlock) + operators * sizeof(MidSolve))
            + m.nmulti * operators * sizeof(MidMulti) + mid_trees_size(m))


cdef void midpoint_lanes_prepare(Lanes self) noexcept nogil:
    cdef const vt_model* m = self.plan.m
    self.mid.kernel.h = self.h
    self.mid.kernel.work = self.mid.work + self.substep_at * m.nbody
    self.mid.kernel.multi = self.mid.multi + self.substep_at * m.nmulti
    if self.plan.relative:
        mid_node(m, self.q, &self.mid.trees)


cdef vt_real midpoint_lanes_evaluate(Lanes self) noexcept nogil:
    # r = -(p1 + D1 Ld + f-), from both derivatives of L and the forces at q_m
    cdef vt_real e, turn = mid_turn_square(self.plan.m, self.y)
    cdef int k
    mid_forward(&self.mid.kernel, self.q, self.mid.qm)
    memcpy(self.mid.pull, self.tau, self.nv * sizeof(vt_real))
    if self.plan.ndrive:
        variational_lanes_drive_trial(self, self.y, self.servo_force, self.servo_slope)
        for k in range(self.nv):
            self.mid.pull[k] = self.servo_force[k] + self.tau[k]
    mid_backward(&self.mid.kernel, NULL)
    mid_residual(&self.mid.kernel, self.x, self.mid.pull, self.r)
    e = largest(self.r, self.nv)
    return vt_select(vt_lt(turn, vt_set1(MID_TURN)), e, vt_set1(INFINITY))


cdef vt_real midpoint_lanes_measure(Lanes self) noexcept nogil:
    # max(|p1|, h |dL/dq|, h |force|)
    cdef vt_real size = vt_max_nan(largest(self.mid.kernel.L_q, self.nv), largest(self.mid.pull, self.nv))
    if self.plan.relative:
        size = vt_max_nan(size, largest(self.mid.trees.weight, self.nv))
    return vt_max_nan(largest(self.x, self.nv), fabs(self.h) * size)


cdef vt_real midpoint_lanes_kinetic(Lanes self) noexcept nogil:
    # 2 T = dL/dv . y/h
    cdef vt_real size = vt_set1(0.0)
    cdef int i
    for i in range(self.nv):
        size = size + self.mid.kernel.L_rate[i] * self.y[i]
    return size / vt_set1(self.h)


cdef Vec3 midpoint_lanes_tree_momentum(Lanes self, int root) noexcept nogil:
    # what the sweep in has left of the tree
    return self.mid.kernel.body[root].f


cdef vt_real midpoint_lanes_impulse(Lanes self, int k) noexcept nogil:
    cdef vt_real size = vt_max(vt_abs(self.mid.kernel.L_q[k]), vt_abs(self.mid.pull[k]))
    if self.plan.relative:
        size = vt_max(size, vt_abs(self.mid.trees.weight[k]))
    return fabs(self.h) * size


cdef void midpoint_lanes_factor(Lanes self, vt_mask some, Signs* signs) noexcept nogil:
    # the residual left in `multi` what the joints of several coordinates pull by
    cdef const vt_model* m = self.plan.m
    cdef MidStep* step = &self.mid.kernel
    cdef MidSolve* work = step.work
    cdef MidMulti* multi = step.multi
    memcpy(self.mid.fresh_multi, multi, m.nmulti * sizeof(MidMulti))
    step.work, step.multi = self.mid.fresh, self.mid.fresh_multi
    mid_factor(step, 0, m.nbody, NULL, NULL, True, signs)
    step.work, step.multi = work, multi
    blend(some, self.mid.fresh, work, m.nbody * sizeof(MidSolve))
    blend(some, self.mid.fresh_multi, multi, m.nmulti * sizeof(MidMulti))


cdef void midpoint_lanes_solve(Lanes self, vt_real* d) noexcept nogil:
    mid_solve(&self.mid.kernel, self.r, 0, self.plan.m.nbody, d)


cdef void midpoint_lanes_finish(Lanes self) noexcept nogil:
    # q2 = q1 (+) y, p2 = D2 Ld + f+ - r
    integrate(self.plan.m, self.q, self.y, self.q2)
    mid_end(&self.mid.kernel, self.r, self.mid.pull, self.x2)
