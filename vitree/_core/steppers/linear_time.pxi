# The linear-time variational integrator's steps (Lee et al. 2016), with constraints.

cdef class LinearTimeStepper(VariationalStepper):
    """Steps of the linear-time variational integrator; the state is (q, p)."""

    cdef bint started
    cdef Node* n1
    cdef Node* n2
    cdef Trial* trial
    cdef Trial* rest                    # the trial of no motion
    cdef Solve* work
    cdef Gains* all_gains               # (stages, nbody): each substep has its own
    cdef MultiGains* all_big
    cdef Gains* gains
    cdef MultiGains* big
    cdef double* weight1                # gravity and wrenches at the nodes, projected
    cdef double* weight2
    cdef double* force                  # on the joints, in the middle
    cdef double* rhs

    def __init__(self, model, h, torque=None, **options):
        cdef int nb = self.nbody
        VariationalStepper.__init__(self, model, h, torque, **options)
        self.n1 = <Node*>self.take(nb * sizeof(Node))
        self.n2 = <Node*>self.take(nb * sizeof(Node))
        self.trial = <Trial*>self.take(nb * sizeof(Trial))
        self.rest = <Trial*>self.take(nb * sizeof(Trial))
        self.work = <Solve*>self.take(nb * sizeof(Solve))
        self.all_gains = <Gains*>self.take(self.stages * nb * sizeof(Gains))
        self.all_big = <MultiGains*>self.take(self.stages * self.model.m.nmulti * sizeof(MultiGains))
        self.weight1 = self.doubles(self.nv)
        self.weight2 = self.doubles(self.nv)
        self.force = self.doubles(self.nv)
        self.rhs = self.doubles(self.nv)
        self.cost_pass, self.cost_factor = 1.7, 1.9
        memcpy(self.force, self.tau, self.nv * sizeof(double))
        self.use(0)

    cdef void use(self, int stage) noexcept nogil:
        VariationalStepper.use(self, stage)
        self.gains = self.all_gains + stage * self.nbody
        self.big = self.all_big + stage * self.model.m.nmulti

    cdef LinearTimeStep at(self, Trial* trial) noexcept nogil:
        # what the kernels work on
        cdef LinearTimeStep step
        step.m, step.h, step.node, step.increment = &self.model.m, self.h, self.n1, self.y
        step.trial, step.solve, step.gains, step.multi = trial, self.work, self.gains, self.big
        return step

    cdef void leave(self) noexcept nogil:
        self.started = False

    cdef void pieces(self):
        VariationalStepper.pieces(self)
        self.piece(&self.started, sizeof(int))
        self.piece(self.n1, self.nbody * sizeof(Node))
        self.piece(self.weight1, self.nv * sizeof(double))
        self.piece(self.all_gains, self.stages * self.nbody * sizeof(Gains))
        self.piece(self.all_big, self.stages * self.model.m.nmulti * sizeof(MultiGains))

    # ---- the pieces -----------------------------------------------------------------------------

    cdef void node_weight(self, double t, const double* q, const Node* x, double* weight) noexcept nogil:
        # generalised force at a node of gravity and of the loads that depend on q
        cdef int k
        if self.loaded():
            forward_kinematics(&self.model.m, q, self.pose)
            self.apply_to_bodies(RESTING, t, q, self.zeros)
        lt_weight(&self.model.m, x, self.wrench if self.loaded() else NULL, self.work, weight)
        if self.loaded():
            for k in range(self.nv):
                weight[k] += self.ltau[k]

    cdef bint rated(self) noexcept nogil:
        # whether loads depend on velocities
        return self.loads.rates > 0 or self.user_moves

    cdef void middle_forces(self) noexcept nogil:
        # joint forces, and loads that depend on velocities, at (q2, v)
        memcpy(self.force, self.tau, self.nv * sizeof(double))
        if self.rated():
            self.place_bodies(self.q2, self.v)
            self.apply_to_bodies(RATES, self.t + 0.5 * self.h, self.q2, self.v)
            self.project_wrenches(self.force)
            for k in range(self.nv):
                self.force[k] += self.ltau[k]

    cdef void middle(self) noexcept nogil:
        # halfway in each joint's sense: the same seen from both nodes
        cdef int k
        for k in range(self.nv):
            self.d[k] = 0.5 * self.y[k]
            self.v[k] = self.y[k] / self.h
        lt_advance_q(&self.model.m, self.q, self.d, self.q2)
        lt_turn_velocity(&self.model.m, self.d, self.v)

    cdef void increment_to(self, const double* q2) noexcept nogil:
        lt_increment(&self.model.m, self.q, q2, self.y)

    cdef void reach_node(self, const double* y, double* q2) noexcept nogil:
        lt_advance_q(&self.model.m, self.q, y, q2)

    cdef void by_velocities(self, double* y) noexcept nogil:
        lt_straighten(&self.model.m, y)

    cdef void by_increments(self, double* rows, int count) noexcept nogil:
        cdef int c
        if self.model.m.nmulti:
            for c in range(count):
                lt_end_row(&self.model.m, self.y, rows + c * self.nv)

    # ---- a step ---------------------------------------------------------------------------------

    cdef int prepare(self) noexcept nogil:
        # node 1 and the forces at it
        cdef int status
        if not self.started:
            lt_node(&self.model.m, self.q, self.n1)
        if (self.asks or self.rated()) and not self.implicit:
            status = self.predict_middle(self.v, self.a, self.d)
            if status != OK:
                return status
            self.middle_forces()
        if not self.started or self.loads.inputs:
            # inputs differ from step to step
            self.node_weight(self.t, self.q, self.n1, self.weight1)
            self.started = True
        self.impel()
        return OK

    cdef int open_node(self) noexcept nogil:
        self.middle_forces()
        lt_node(&self.model.m, self.q, self.n1)
        self.node_weight(self.t, self.q, self.n1, self.weight1)
        self.impel()
        return self.trouble

    cdef void impel(self) noexcept nogil:
        cdef int k
        for k in range(self.nv):
            self.rhs[k] = self.x[k] + 0.5 * self.h * (self.weight1[k] + self.force[k])

    cdef double evaluate(self) noexcept nogil:
        cdef double least, e
        cdef LinearTimeStep step = self.at(self.trial)
        if self.implicit and (self.asks or self.rated()):
            self.middle()
            self.middle_forces()
            if self.ask_u is not None and self.loads.inputs:
                self.node_weight(self.t, self.q, self.n1, self.weight1)
            self.impel()
        lt_trial(&step, &least)
        lt_residual(&step, self.rhs, self.r)
        e = largest(self.r, self.nv)
        self.turned = isfinite(e) and not least > 0.0
        return e if least > 0.0 and isfinite(e) else INFINITY

    cdef void measure(self) noexcept nogil:
        self.scale = vt_max_nan(largest(self.x, self.nv), largest(self.rhs, self.nv))

    cdef int linearise(self) noexcept nogil:
        cdef LinearTimeStep step = self.at(self.trial)
        if self.solver == NEWTON:
            lt_jacobian(&step, self.J)
            self.by_increments(self.J, self.nv)
            self.lock_matrix()
            return lu_factor(self.J, self.nv, self.J_order)
        lt_factor(&step)
        return OK

    cdef void linearise_at_rest(self) noexcept nogil:
        cdef double least
        cdef LinearTimeStep step = self.at(self.rest)
        step.increment = self.zeros
        lt_trial(&step, &least)
        step.increment = self.y
        lt_factor(&step)

    cdef void apply_inverse(self, const double* r, double* d) noexcept nogil:
        cdef LinearTimeStep step = self.at(self.rest if self.solver == RIQN else self.trial)
        lt_solve(&step, r, d)

    cdef int finish(self) noexcept nogil:
        cdef const vt_model* m = &self.model.m
        cdef LinearTimeStep step = self.at(self.trial)
        cdef int k
        lt_advance_q(m, self.q, self.y, self.q2)
        for k in range(self.nlocked):
            # to the last bit
            self.q2[m.body[self.locked[k]].iq] = self.locked_at(k, 2)
        lt_node(m, self.q2, self.n2)
        self.node_weight(self.t + self.h, self.q2, self.n2, self.weight2)
        for k in range(self.nv):
            self.d[k] = self.weight2[k] + self.force[k]
        lt_end(&step, self.n2, self.r, self.d, self.x2)
        return OK

    cdef void pass_on(self) noexcept nogil:
        cdef Node* node = self.n1
        cdef double* weight = self.weight1
        self.n1 = self.n2
        self.n2 = node
        self.weight1 = self.weight2
        self.weight2 = weight
