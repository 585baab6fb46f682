# Contributions of constraints, prescribed motion and user functions to a variational step of one instance.

#: Tolerance of constraints, relative to the size of the mechanism (at least a metre)
cdef double CLOSED = 2e-13


# ---- user functions ------------------------------------------------------------------------------------


cdef void ask_at_start(ModelStepper self) noexcept nogil:
    # with the inputs at the start, not those of the last substep
    cdef Newton* x = &self.lane.newton
    model_velocity(self, self.lane.state.q, self.lane.state.x, x.v)
    if may_ask(self, self.lane.state.q, x.v):
        self.ask(self.lane.clock.t, self.lane.state.q, x.v)


cdef bint ask_in_middle(ModelStepper self) noexcept nogil:
    # at the middle of a trial; whether it succeeded
    self.method.middle(self)
    return (may_ask(self, self.lane.state.q2, self.lane.newton.v)
            and self.ask(self.lane.clock.t + 0.5 * self.lane.now.h, self.lane.state.q2, self.lane.newton.v) == OK)


cdef int predict_middle(ModelStepper self, double* v, double* a, double* d) noexcept nogil:
    # q_m = q (+) (h v/2 + h^2 a/8) and v + h a/2, with the reported velocity v of the node and the last step's mean
    # acceleration a; user functions are called there: one call per step, second order
    cdef State* at = &self.lane.state
    cdef Bodies* b = &self.lane.bodies
    cdef double h = self.lane.now.h
    cdef int k
    cdef int status
    cdef bint held = False
    model_velocity(self, at.q, at.x, v)
    status = post_contact_velocity_here(self, v)
    if status != OK:
        return status
    if self.lane.clock.restarted:
        # there is no previous step: the acceleration with the inputs at the start
        if self.shared.schedule.calls_user and self.ask(self.lane.clock.t, at.q, v) != OK:
            return CALLBACK_FAILED
        acceleration_in_step(self, self.lane.clock.t, at.q, v, a)
    elif self.ntouch and self.post_contact.jumped[0]:
        # an impact provides no acceleration
        memset(a, 0, self.nv * sizeof(double))
    else:
        for k in range(self.nv):
            a[k] = (v[k] - b.v_last[k]) / self.lane.clock.h_last
    memcpy(b.v_node, v, self.nv * sizeof(double))
    for k in range(self.nv):
        d[k] = h * (0.5 * v[k] + 0.125 * h * a[k])
        v[k] += 0.5 * h * a[k]
    if self.lane.clock.restarted:
        status = post_contact_velocity_ahead(self, v, &held)
        if status != OK:
            return status
        for k in range(self.nv if held else 0):
            d[k] = 0.25 * h * (b.v_node[k] + v[k])
    integrate(self.shared.m, at.q, d, at.q2)
    return self.ask(self.lane.clock.t + 0.5 * h, at.q2, v) if self.shared.schedule.calls_user else OK


# ---- guesses -------------------------------------------------------------------------------------------


cdef void lock_increment(ModelStepper self) noexcept nogil:
    # prescribed coordinates move as given
    cdef Locked* at = self.shared.locked
    cdef int k
    for k in range(self.shared.m.nlocked):
        self.lane.newton.y[at[k].iv] = locked_at(self, k, SUBSTEP_ROWS) - self.lane.state.q[at[k].iq]


cdef void predict_multipliers(ModelStepper self) noexcept nogil:
    # they are impulses, proportional to the step as increments are, with a separate order of extrapolation
    cdef Guess* g = self.lane.push_guess
    if g.seen.count >= 4:
        guess_scale(g, self.shared.count, self.lane.now.h)
        guess_predict(g, self.shared.count, 0, self.lane.held.lam)


cdef void learn_multipliers(ModelStepper self) noexcept nogil:
    guess_scale(self.lane.push_guess, self.shared.count, self.lane.now.h)
    guess_learn(self.lane.push_guess, self.shared.count, self.lane.held.lam, NULL, self.lane.newton.z)


cdef void no_multipliers(ModelStepper self) noexcept nogil:
    memset(self.lane.held.lam, 0, self.shared.count * sizeof(double))


cdef void note_tangent(ModelStepper self) noexcept nogil:
    # multipliers that make the momentum of the start tangent to the constraints
    model_velocity(self, self.lane.state.q, self.lane.state.x, self.lane.newton.v)
    memcpy(self.lane.held.tangent, self.lane.held.push, self.shared.count * sizeof(double))


# ---- residual ------------------------------------------------------------------------------------------


cdef inline bint in_contact(ModelStepper self) noexcept nogil:
    # whether the step is solved with contacts
    return self.contact.solved


cdef inline long step_number(ModelStepper self, int lane) noexcept nogil:
    return self.lane.clock.steps


cdef double impulse_residual(ModelStepper self, double e) noexcept nogil:
    # r - the impulse of the momentum at the start of the step
    if not isfinite(e):
        return e
    vt_add_row(self.nv, -1.0, self.lane.newton.impulse, self.lane.newton.r)
    return largest(self.lane.newton.r, self.nv)


cdef double held_residual(ModelStepper self, double e) noexcept nogil:
    # r + Dh(q1)^T lam, and h(q2); prescribed coordinates have no equation
    cdef Newton* x = &self.lane.newton
    cdef Holonomic* held = &self.lane.held
    cdef const Island* on
    cdef const vt_constraint* at
    cdef int c, k
    if self.shared.count:
        if not self.lane.progress.have_Dh:
            constrain_at(self, self.lane.state.q, held.h, held.Dh1, held.hold1)
            self.lane.progress.have_Dh = True
            if self.lane.fronts.planned:
                memcpy(self.lane.fronts.pose1, self.lane.bodies.pose, self.shared.m.nbody * sizeof(Pose))
        self.method.reach_node(self, x.y, self.lane.state.q2)
        x.turned = False
        if self.shared.plain:
            constraints(self.shared.m, self.shared.constraint, self.shared.count, self.lane.state.q2, NULL, held.h, NULL,
                        NULL, NULL)
        else:
            constrain_at(self, self.lane.state.q2, held.h, held.Dh2, held.hold2)
        if self.lane.fronts.planned:
            memcpy(self.lane.fronts.pose2, self.lane.bodies.pose, self.shared.m.nbody * sizeof(Pose))
        for c in range(self.shared.count):
            on = model_island(self, c)
            if self.shared.plain:
                at = &self.shared.constraint[c]
                if x.own != NULL:
                    held.lam[c] = -x.r[x.own[c]] / (at.factor_a if x.own[c] == at.iv_a else at.factor_b)
                x.r[at.iv_a] += held.lam[c] * at.factor_a
                if at.iv_b >= 0:
                    x.r[at.iv_b] += held.lam[c] * at.factor_b
            elif on.plan == NULL:
                for k in range(on.v, on.v_end):
                    x.r[k] += held.lam[c] * held.Dh1[c * self.nv + k]
        if self.lane.fronts.planned:
            hold_by_plans(self, x.r)
    clear_locked(self, x.r)
    return weighted(&self.shared.choices, 0, self.nv, x.r, largest(x.r, self.nv)) if isfinite(e) else e


cdef double held_error(ModelStepper self, const Pass* p, double closed) noexcept nogil:
    # the residual of the constraints counts as well, relative to their tolerance
    return vt_max_nan(p.error, largest(self.lane.held.h, self.shared.count) * (p.goal / closed))


cdef void scale_by_motion(ModelStepper self, Pass* p) noexcept nogil:
    # the scale of the step includes the momentum of prescribed coordinates, M y/h: alone, and with the others, which
    # may cancel it
    cdef Bodies* b = &self.lane.bodies
    cdef double* alone = self.lane.prescribed.v
    cdef double size
    memset(alone, 0, self.nv * sizeof(double))
    copy_locked(self, self.lane.newton.y, alone)
    rnea(self.shared.m, NO_GRAVITY, self.lane.state.q, self.shared.zeros, alone, b.inertial, b.rnea)
    size = largest(b.inertial, self.nv) / self.lane.now.h
    rnea(self.shared.m, NO_GRAVITY, self.lane.state.q, self.shared.zeros, self.lane.newton.y, b.inertial, b.rnea)
    p.scale = vt_max_nan(p.scale, vt_max_nan(size, largest(b.inertial, self.nv) / self.lane.now.h))


cdef double variational_closed(ModelStepper self) noexcept nogil:
    # the attainable accuracy of the constraints
    cdef Pose* pose = self.lane.bodies.pose
    cdef const vt_constraint* e
    cdef int i
    cdef double size = 1.0
    if self.shared.plain:
        for i in range(self.shared.count):
            e = &self.shared.constraint[i]
            size = max(size, fabs(e.factor_a * self.lane.state.q2[e.iq_a]), fabs(e.value))
        return CLOSED * size
    for i in range(self.shared.m.nbody):
        size = max(size, fabs(pose[i].o.x) + fabs(pose[i].o.y) + fabs(pose[i].o.z))
    return CLOSED * size


# ---- corrections ---------------------------------------------------------------------------------------


cdef void correct_multipliers(ModelStepper self) noexcept nogil:
    vt_add_row(self.shared.count, 1.0, self.lane.newton.z, self.lane.held.lam)


cdef void shorten_multipliers(ModelStepper self, double share) noexcept nogil:
    cdef Newton* x = &self.lane.newton
    cdef int k
    for k in range(self.shared.count):
        self.lane.held.lam[k] -= (1.0 - share) * x.last_z[k]
        x.last_z[k] *= share


cdef double variational_multiplier(ModelStepper self, int c) noexcept nogil:
    return self.lane.held.force[c]


cdef void multipliers_as_forces(ModelStepper self) noexcept nogil:
    # the impulses at node 1 over the adjacent halves of both steps; the first node has half of one step, less the
    # impulse that the momentum of the start already contains
    cdef Holonomic* held = &self.lane.held
    cdef double h = self.lane.now.h
    cdef int k
    for k in range(self.shared.count):
        if self.lane.progress.opening:
            held.force[k] = -2.0 * (held.lam[k] + held.tangent[k]) / h
        else:
            held.force[k] = -2.0 * held.lam[k] / (h + self.lane.clock.h_last)
