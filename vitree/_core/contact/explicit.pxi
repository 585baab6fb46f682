# Explicit steps with contacts: passes of
#     v1+ = v1 + M(q1)^-1 J1^T lam,    (q2, v2) = F_h(q1, v1+),
# and impulses that solve the cones at the velocities w that the step yields,
#     b = w - G lam,    G = W2^T P W1.
# P, the response of the ports to wrenches in them, starts as rows M^-1 rows^T. It is updated in each pass by the
# response of F_h, and kept from step to step. One lane.

cdef enum:
    IMPULSE_PASSES = 30        # most passes of a step with contacts

#: The complementarity problem of a pass is solved to this fraction of the pass's initial residual
cdef double IMPULSE_SHARE = 1e-2
#: A pass that leaves more than this fraction requests P by differences
cdef double IMPULSE_SLOW = 0.3
#: Their wrenches move the ports by this fraction of the velocities
cdef double IMPULSE_DIFFERENCE = 1e-6
#: The passes are given up if the residual is so many times the first one
cdef double IMPULSE_ASTRAY = 100.0
#: P is updated by passes that move ports by more than so many rounding errors
cdef double IMPULSE_HEARD = 1e5


cdef struct ExplicitContact:
    double* v_after                # (nv,) v1+
    double* push                   # (nv,) the impulse J1^T lam
    double* gain                   # (nv,) M^-1 of it
    double* u_before               # (ports,) of the previous pass
    double* z                      # (ports,) motion from the previous pass to this one, over h
    int ports_before               # memory for these two
    Pose* pose_before              # (nbody,) node 2 of the previous pass
    double* q_before               # (nq,) the same
    AbaBody* aba1                  # (nbody,) M at node 1
    double* post_contact           # (nv,) v that user functions get at node 1
    double* told                   # (nv,) and at a stage
    const double* base             # base of the velocities at stages: `post_contact`, or the velocity after an impact
    bint shifts                    # it differs from that of the steps


cdef int make_explicit(ModelStepper self, dict options) except -1:
    self.shared.choices.stages = 1
    if not self.ntouch:
        return 0
    self.shared.choices.halvings = options.get("max_halvings", 0)
    self.lane.progress = progress_make(self.memory)
    self.explicit.v_after, self.explicit.push = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
    self.explicit.gain = self.memory.scratch_reals(self.nv)
    self.explicit.ports_before = self.contacts.ports
    self.explicit.u_before = self.memory.scratch_reals(self.explicit.ports_before)
    self.explicit.z = self.memory.scratch_reals(self.explicit.ports_before)
    self.explicit.pose_before = <Pose*>self.memory.scratch(self.shared.m.nbody * sizeof(Pose))
    self.explicit.q_before = self.memory.scratch_reals(self.nq)
    self.explicit.aba1 = <AbaBody*>self.memory.scratch(self.shared.m.nbody * sizeof(AbaBody))
    self.explicit.post_contact, self.explicit.told = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
    return 0


cdef void explicit_begin(ModelStepper self) noexcept nogil:
    begin_contacts(self)
    if self.ntouch:
        memset(self.lane.progress, 0, sizeof(Progress))
        self.contact.have_ports[0] = False


cdef void explicit_accept(ModelStepper self) noexcept nogil:
    model_accept(self)
    if self.ntouch:
        keep_touch(self)
        renew_facets(self)


# ---- velocities for user functions ---------------------------------------------------------------------


#
# A step begins with the whole impulse, M^-1 J^T lam = g: its stages have velocities from v1 + g on, with which bodies
# at rest would seem to move. User functions get v with the impulse spread over the step instead, at a fraction c of it
#     post-contact v1 + (v - (v1 + g)) + c g,
# which begins with the velocity that is reported for the node.

cdef int open_asks(ModelStepper self) noexcept nogil:
    self.explicit.shifts = False
    if not self.shared.schedule.calls_user:
        return OK
    memcpy(self.explicit.post_contact, self.lane.state.x, self.nv * sizeof(double))
    memset(self.explicit.gain, 0, self.nv * sizeof(double))
    self.explicit.base, self.explicit.shifts = self.explicit.post_contact, pushed_any(self)
    return post_contact_velocity_here(self, self.explicit.post_contact)


cdef int ask_within(ModelStepper self, double t, double share, const double* q, const double* v) noexcept nogil:
    # of the stage (q, v) of a step from the state
    cdef const double* start = self.lane.state.x
    cdef int k
    if not (self.ntouch and self.explicit.shifts):
        return self.ask(t, q, v)
    for k in range(self.nv):
        self.explicit.told[k] = self.explicit.base[k] + (v[k] - start[k]) + share * self.explicit.gain[k]
    return self.ask(t, q, self.explicit.told)


# ---- a step ------------------------------------------------------------------------------------------


cdef int step_from(ModelStepper self, double* v) noexcept nogil:
    # F_h(q1, v)
    cdef double* x = self.lane.state.x
    cdef int status
    self.lane.state.x = v
    status = self.method.step(self)
    self.lane.state.x = x
    return self.checked() if status == OK else status


cdef int explicit_prepare(ModelStepper self) noexcept nogil:
    # what user functions get at node 1
    if not self.ntouch:
        return OK
    self.lane.now.iterations = 0
    return open_asks(self)


cdef int explicit_attempt(ModelStepper self) noexcept nogil:
    # (q2, v2) = F_h(q1, v1)
    return step_from(self, self.lane.state.x) if self.ntouch else self.method.step(self)


cdef void explicit_first_guess(ModelStepper self, bint joined) noexcept nogil:
    stand_still(self)


cdef void explicit_guess_again(ModelStepper self) noexcept nogil:
    memset(self.contact.guess, 0, self.contact.reals * sizeof(double))
    self.contact.have_ports[0] = False


cdef void explicit_push_late(ModelStepper self) noexcept nogil:
    # v2 += M(q2)^-1 of the impulses at the end of the step
    cdef Touching* x = &self.contact
    cdef int k
    model_velocity(self, self.lane.state.q2, self.shared.zeros, x.still)
    model_velocity(self, self.lane.state.q2, x.late, self.explicit.gain)
    for k in range(self.nv):
        self.lane.state.x2[k] += self.explicit.gain[k] - x.still[k]


# ---- M at node 1 -------------------------------------------------------------------------------------


cdef bint explicit_plain(ModelStepper self) noexcept nogil:
    # whether the response is that of M alone, without constraints and prescribed motion
    return not (self.shared.count or self.shared.m.nlocked)


cdef void stand_still(ModelStepper self) noexcept nogil:
    # M(q1), and the velocity of zero momentum
    cdef AbaBody* aba = self.lane.bodies.aba
    self.lane.bodies.aba = self.explicit.aba1
    model_velocity(self, self.lane.state.q, self.shared.zeros, self.contact.still)
    self.lane.bodies.aba = aba


cdef void respond_at_node(ModelStepper self, const double* push, double* v) noexcept nogil:
    # M(q1)^-1 of an impulse, with the constraints satisfied
    cdef Touching* x = &self.contact
    cdef int k
    if explicit_plain(self):
        aba_response(self.shared.m, push, 0, self.shared.m.nbody, v, self.explicit.aba1)
        return
    # prescribed coordinates move as given at any momentum
    model_velocity(self, self.lane.state.q, push, v)
    for k in range(self.nv):
        v[k] -= x.still[k]


cdef void explicit_answer_ports(ModelStepper self) noexcept nogil:
    # P = rows M^-1 rows^T at node 1
    cdef Touching* x = &self.contact
    cdef double* P = contact_P(self)
    cdef int k, j
    for k in range(x.ports):
        respond_at_node(self, row_of(x, x.rows, k), row_of(x, x.response, k))
        for j in range(x.ports):
            P[j * x.ports + k] = along_port(x, j, row_of(x, x.response, k))
    keep_ports(self, True)


cdef void apply_impulse(ModelStepper self) noexcept nogil:
    # v1+ = v1 + M^-1 rows^T u, with v1 after an impact
    cdef Touching* x = &self.contact
    cdef const double* v = x.v if x.opened else self.lane.state.x
    cdef int k
    memset(self.explicit.push, 0, self.nv * sizeof(double))
    push_ports(x, self.explicit.push)
    respond_at_node(self, self.explicit.push, self.explicit.gain)
    for k in range(self.nv):
        self.explicit.v_after[k] = v[k] + self.explicit.gain[k]
    self.explicit.base, self.explicit.shifts = x.v if x.opened else self.explicit.post_contact, True


# ---- passes ------------------------------------------------------------------------------------------


cdef int explicit_iterate_touches(ModelStepper self) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef double e, goal, limit, left, before = INFINITY, first = INFINITY
    cdef int k, status
    if not ports_at_hand(self):
        explicit_answer_ports(self)
    gather_push(self)
    x.cut, x.residue, x.remains = 0, 0.0, 0.0
    for k in range(IMPULSE_PASSES):
        apply_impulse(self)
        status = step_from(self, self.explicit.v_after)
        if status != OK:
            return status
        self.lane.now.iterations += 1
        stand_trial(self)
        measure_touches(self)
        write_rows(self, x.there, x.pose2, x.W2, True)
        if k > 0:
            learn_ports(self)
        note_ports(self)
        couple_contacts(self, contact_P(self), x.W2)
        e = self.lane.now.error = touch_residual(self)
        if not isfinite(e):
            return NOT_FINITE
        goal = touch_goal(self)
        if e <= max(goal, 2.0 * x.residue):
            if e > goal:
                x.remains = e
            x.passes += k
            return OK
        if e > IMPULSE_ASTRAY * first:
            break
        if k > 0 and e > IMPULSE_SLOW * before:
            status = difference_ports(self)
            if status != OK:
                return status
            couple_contacts(self, contact_P(self), x.W2)
            touch_residual(self)
        before = e
        if k == 0:
            first = e
        limit = max(0.2 * goal, IMPULSE_SHARE * e)
        left = solve_contacts(self, limit, limit, limit, False)
        if not may_go_on(self, left, limit):
            break
        gather_push(self)
    note_worst(self)
    return NOT_CONVERGED


cdef void note_ports(ModelStepper self) noexcept nogil:
    # the impulses of this pass, and the positions of bodies
    cdef Touching* x = &self.contact
    memcpy(self.explicit.u_before, x.u, x.ports * sizeof(double))
    memcpy(self.explicit.pose_before, x.pose2, self.shared.m.nbody * sizeof(Pose))
    memcpy(self.explicit.q_before, self.lane.state.q2, self.nq * sizeof(double))


cdef int difference_ports(ModelStepper self) noexcept nogil:
    # P by differences of F_h about this pass
    cdef Touching* x = &self.contact
    cdef double* P = contact_P(self)
    cdef double size, u
    cdef int k, j, n = x.ports, status
    size = IMPULSE_DIFFERENCE * (largest(self.explicit.v_after, self.nv) + largest(x.w, x.cones.n))
    for k in range(n):
        respond_at_node(self, row_of(x, x.rows, k), row_of(x, x.response, k))
        u = largest(row_of(x, x.response, k), self.nv)
        u = size / u if u > 0.0 else 0.0
        add_port(x, x.response, k, u, self.explicit.v_after)
        status = step_from(self, self.explicit.v_after)
        add_port(x, x.response, k, -u, self.explicit.v_after)
        if status != OK:
            return status
        stand_trial(self)
        measure_ports(self)
        for j in range(n):
            P[j * n + k] = self.explicit.z[j] / u if u > 0.0 else 0.0
    return OK


cdef double measure_ports(ModelStepper self) noexcept nogil:
    # z, the motion of the ports from the reference position to node 2, over h; returns the magnitude of positions
    cdef Touching* x = &self.contact
    cdef double inverse = 1.0 / self.lane.now.h, size = 1.0
    cdef const Pose* now
    cdef const Pose* then
    cdef const vt_contact* e
    cdef int i, k = 0
    while k < x.ports:
        i = x.owner[k]
        if i < 0:
            e = &self.touch[-1 - i]
            if on_coordinate(e):
                self.explicit.z[k] = e.sign * inverse * (self.lane.state.q2[e.iq] - self.explicit.q_before[e.iq])
            else:
                self.explicit.z[k] = inverse * (single_gap(e, self.lane.state.q2, x.pose2) - single_gap(
                    e, self.explicit.q_before, self.explicit.pose_before))
            k += 1
            continue
        now, then = &x.pose2[i], &self.explicit.pose_before[i]
        store3(self.explicit.z + k, scale(inverse, turn_between(&then.R, &now.R)))
        store3(self.explicit.z + k + 3, scale(inverse, sub(now.o, then.o)))
        size = max(size, vt_sqrt(dot(now.o, now.o)))
        k += 6
    return size


cdef void learn_ports(ModelStepper self) noexcept nogil:
    # P += (z - P du) (D du)^T/(du^T D du), D the diagonal of P, so that P du = z is the observed response (Broyden
    # 1965)
    cdef Touching* x = &self.contact
    cdef double* P = contact_P(self)
    cdef double* du = self.explicit.u_before
    cdef double heard = IMPULSE_HEARD * 2e-16 * measure_ports(self) / fabs(self.lane.now.h), square = 0.0, most = 0.0
    cdef int k, j, n = x.ports
    for k in range(n):
        du[k] = x.u[k] - du[k]
        most = max(most, fabs(self.explicit.z[k]))
        x.T[k] = fabs(P[k * n + k]) * du[k]
        square += x.T[k] * du[k]
    if not (square > 0.0 and most > heard):
        return
    for k in range(n):
        most = (self.explicit.z[k] - vt_inner(n, P + k * n, du)) / square
        for j in range(n):
            P[k * n + j] += most * x.T[j]
