# Steps of the midpoint variational integrator in lanes: as midpoint.pxi.

cdef class MidpointLanes(VariationalLanes):
    """Steps of Johnson & Murphey (2009)."""

    cdef MidStep kernel                 # what the kernels work on
    cdef MidSolve* work                 # (stages, nbody): each substep has its own
    cdef MidMulti* multi                # (stages, nmulti)
    cdef MidSolve* fresh                # (nbody,) an operator that some lanes take
    cdef MidMulti* fresh_multi
    cdef vt_real* qm                    # (nq,) the middle
    cdef vt_real* pull                  # (nv,) on the joints there
    cdef MidTrees trees

    def __init__(self, size_t address, owner):
        cdef const vt_model* m
        cdef MidStep* step = &self.kernel
        cdef int n
        VariationalLanes.__init__(self, address, owner)
        m = self.plan.m
        n = m.nbody
        self.node_share = 1.0 - self.plan.alpha
        self.qm, self.pull = self.reals(self.nq), self.reals(self.nv)
        self.work = <MidSolve*>self.scratch.take(self.plan.stages * n * sizeof(MidSolve))
        self.multi = <MidMulti*>self.scratch.take(self.plan.stages * m.nmulti * sizeof(MidMulti))
        self.fresh = <MidSolve*>self.scratch.take(n * sizeof(MidSolve))
        self.fresh_multi = <MidMulti*>self.scratch.take(m.nmulti * sizeof(MidMulti))
        step.body = <MidBody*>self.scratch.take(n * sizeof(MidBody))
        step.block = <MidBlock*>self.scratch.take(n * sizeof(MidBlock))
        step.L_rate, step.L_q = self.reals(self.nv), self.reals(self.nv)
        step.m, step.alpha, step.increment, step.slope = m, self.plan.alpha, self.y, self.servo_slope
        step.trees = NULL
        if self.plan.relative:
            mid_trees_place(&self.trees, self.scratch.take(mid_trees_size(m)), m)
            self.trees.direct, step.trees = True, &self.trees

    cdef Py_ssize_t need(self):
        cdef const vt_model* m = self.plan.m
        cdef Py_ssize_t operators = self.plan.stages + 1
        return (VariationalLanes.need(self) + (m.nq + 3 * m.nv + 4) * sizeof(vt_real) + 64 * 10
                + m.nbody * (sizeof(MidBody) + sizeof(MidBlock) + operators * sizeof(MidSolve))
                + m.nmulti * operators * sizeof(MidMulti) + mid_trees_size(m))

    cdef void prepare(self) noexcept nogil:
        cdef const vt_model* m = self.plan.m
        self.kernel.h = self.h
        self.kernel.work = self.work + self.substep_at * m.nbody
        self.kernel.multi = self.multi + self.substep_at * m.nmulti
        if self.plan.relative:
            mid_node(m, self.q, &self.trees)

    cdef vt_real evaluate(self) noexcept nogil:
        # r = -(p1 + D1 Ld + f-), from both derivatives of L and the forces at q_m
        cdef vt_real e, turn = mid_turn_square(self.plan.m, self.y)
        cdef int k
        mid_forward(&self.kernel, self.q, self.qm)
        memcpy(self.pull, self.tau, self.nv * sizeof(vt_real))
        if self.plan.ndrive:
            self.drive_trial(self.y, self.servo_force, self.servo_slope)
            for k in range(self.nv):
                self.pull[k] = self.servo_force[k] + self.tau[k]
        mid_backward(&self.kernel, NULL)
        mid_residual(&self.kernel, self.x, self.pull, self.r)
        e = largest_in_lanes(self.r, self.nv)
        return vt_select(vt_lt(turn, vt_set1(MID_TURN)), e, vt_set1(INFINITY))

    cdef vt_real measure(self) noexcept nogil:
        # max(|p1|, h |dL/dq|, h |force|)
        cdef vt_real size = vt_max_nan(largest_in_lanes(self.kernel.L_q, self.nv), largest_in_lanes(self.pull, self.nv))
        if self.plan.relative:
            size = vt_max_nan(size, largest_in_lanes(self.trees.weight, self.nv))
        return vt_max_nan(largest_in_lanes(self.x, self.nv), fabs(self.h) * size)

    cdef vt_real kinetic(self) noexcept nogil:
        # 2 T = dL/dv . y/h
        cdef vt_real size = vt_set1(0.0)
        cdef int i
        for i in range(self.nv):
            size = size + self.kernel.L_rate[i] * self.y[i]
        return size / vt_set1(self.h)

    cdef Vec3 tree_momentum(self, int root) noexcept nogil:
        # what the sweep in has left of the tree
        return self.kernel.body[root].f

    cdef vt_real impulse(self, int k) noexcept nogil:
        cdef vt_real size = vt_max(vt_abs(self.kernel.L_q[k]), vt_abs(self.pull[k]))
        if self.plan.relative:
            size = vt_max(size, vt_abs(self.trees.weight[k]))
        return fabs(self.h) * size

    cdef void factor(self, vt_mask some, Signs* signs) noexcept nogil:
        # the residual left in `multi` what the joints of several coordinates pull by
        cdef const vt_model* m = self.plan.m
        cdef MidStep* step = &self.kernel
        cdef MidSolve* work = step.work
        cdef MidMulti* multi = step.multi
        memcpy(self.fresh_multi, multi, m.nmulti * sizeof(MidMulti))
        step.work, step.multi = self.fresh, self.fresh_multi
        mid_factor(step, 0, m.nbody, NULL, NULL, True, signs)
        step.work, step.multi = work, multi
        blend(some, self.fresh, work, m.nbody * sizeof(MidSolve))
        blend(some, self.fresh_multi, multi, m.nmulti * sizeof(MidMulti))

    cdef void solve(self, vt_real* d) noexcept nogil:
        mid_solve(&self.kernel, self.r, 0, self.plan.m.nbody, d)

    cdef void finish(self) noexcept nogil:
        # q2 = q1 (+) y, p2 = D2 Ld + f+ - r
        integrate(self.plan.m, self.q, self.y, self.q2)
        mid_end(&self.kernel, self.r, self.pull, self.x2)


def lanes(size_t address, owner):
    """Lanes for a plan, the address of which `lane_plan` returned; ``owner`` keeps it alive."""
    cdef int kind = (<LanePlan*>address).kind
    if kind == LINEAR_TIME_LANES:
        return LinearTimeLanes(address, owner)
    return MidpointLanes(address, owner) if kind == MIDPOINT_LANES else ExplicitLanes(address, owner)
