# Explicit steps with contacts: passes of
#     v1+ = v1 + M(q1)^-1 J1^T lam,    (q2, v2) = F_h(q1, v1+),
# and impulses that solve the cones at the velocities w that the step has come to,
#     b = w - G lam,    G = W2^T P W1.
# P, what the ports answer to wrenches in them, begins as rows M^-1 rows^T. It learns from each pass how F_h bends, and is
# kept from step to step. One lane.

cdef enum:
    KICK_PASSES = 30        # most passes of a step with contacts
    KICK_CUTS = 3           # of them so many may leave the complementarity problem unsolved

#: The complementarity problem of a pass is solved to this share of what the pass began with
cdef double KICK_SHARE = 1e-2
#: A pass that leaves more than this share asks for P by differences
cdef double KICK_SLOW = 0.3
#: Their wrenches move the ports by this share of the velocities
cdef double KICK_DIFFERENCE = 1e-6
#: Passes that leave so many times what the first began with lead nowhere
cdef double KICK_ASTRAY = 100.0
#: P learns from passes that move ports by more than so many roundings
cdef double KICK_HEARD = 1e5


cdef class KickedStepper(LocatingStepper):
    """Steps of a state (q, v) by a map F_h that a subclass has as ``step``.

    ``halvings``: how often a step with contacts that is not solved is halved.
    """

    cdef int halvings
    cdef double* kicked                 # (nv,) v1+
    cdef double* push                   # (nv,) the impulse J1^T lam
    cdef double* gain                   # (nv,) M^-1 of it
    cdef double* u_before               # (ports,) of the pass before
    cdef double* z                      # (ports,) motion from the pass before to this one, over h
    cdef int ports_before               # room of these two
    cdef Pose* pose_before              # (nbody,) node 2 of the pass before
    cdef double* q_before               # (nq,) the same
    cdef AbaBody* aba1                  # (nbody,) M at node 1
    cdef double* settled                # (nv,) v as it is told of node 1
    cdef double* told                   # (nv,) and of a stage
    cdef const double* base             # what stages are told about: `settled`, or the velocity after a blow
    cdef bint shifts                    # it differs from that of the steps

    def __cinit__(self, *args, **options):
        self.halvings = options.get("halvings", 0)
        if not self.ntouch:
            return
        self.lane.progress = progress_make(self.memory)
        self.kicked, self.push = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)
        self.gain = self.memory.scratch_reals(self.nv)
        self.ports_before = self.contacts.ports
        self.u_before = self.memory.scratch_reals(self.ports_before)
        self.z = self.memory.scratch_reals(self.ports_before)
        self.pose_before = <Pose*>self.memory.scratch(self.shared.m.nbody * sizeof(Pose))
        self.q_before = self.memory.scratch_reals(self.nq)
        self.aba1 = <AbaBody*>self.memory.scratch(self.shared.m.nbody * sizeof(AbaBody))
        self.settled, self.told = self.memory.scratch_reals(self.nv), self.memory.scratch_reals(self.nv)

    cdef bint trees_apart(self) noexcept nogil:
        # P learns of all ports at once
        return self.settling and LocatingStepper.trees_apart(self)

    cdef void begin(self) noexcept nogil:
        LocatingStepper.begin(self)
        if self.ntouch:
            memset(self.lane.progress, 0, sizeof(Progress))
            self.own_touch.have_ports[0] = False

    cdef void struck(self) noexcept nogil:
        # contacts go on
        pass

    cdef void accept(self) noexcept nogil:
        LocatingStepper.accept(self)
        if self.ntouch:
            self.keep_touch()

    cdef void node_velocity(self, double* v) noexcept nogil:
        memcpy(v, self.lane.state.x, self.nv * sizeof(double))

    cdef void end_velocity(self, double* v) noexcept nogil:
        memcpy(v, self.lane.state.x2, self.nv * sizeof(double))

    cdef void measure_falls(self, double* fall) noexcept nogil:
        # the configurations of explicit Euler do not know them
        self.fall_by_velocities(fall)

    # ---- whole steps -------------------------------------------------------------------------------------

    cdef int advance(self) noexcept nogil:
        cdef int status
        if not self.ntouch:
            return LocatingStepper.advance(self)
        if self.events:
            status = self.step_by_events()
            if status == OK or self.lane.now.cause == CALLBACK_FAILED:
                return status
            self.lane.now.cause = OK
        self.note_start()
        status = self.part(True)
        # prescribed motion is known at the steps' ends only
        if unsolved(status) and self.lane.now.cause == OK and not self.shared.m.nlocked:
            return self.halve(status)
        return status

    cdef int part(self, bint leading) noexcept nogil:
        cdef int status = self.open_asks()
        if status != OK:
            return status
        self.own_touch.leading = leading and not self.parted
        status = self.attempt_touching()
        if status == OK:
            self.accept()
        return status

    cdef int halve(self, int status) noexcept nogil:
        # the step, with its kicks, in 2, 4, 8 ... equal parts
        cdef Clock before = self.lane.clock[0]
        cdef Clock* clock = self.lane.clock
        cdef Now* now = self.lane.now
        cdef Progress* progress = self.lane.progress
        cdef double whole = now.h, residual = self.own_touch.residual
        cdef int k, n, count = 1, part = OK, worst = self.own_touch.worst
        cdef long inner = self.inner_log.count
        cdef long parts = self.part_log.count, pushes = self.push_log.count
        for k in range(self.halvings):
            count *= 2
            now.h = whole / count
            for n in range(count):
                part = self.part(n == 0)
                if part != OK:
                    break
                clock.t += now.h
                if n + 1 < count:
                    self.log_inner(clock.t, self.lane.state.q, self.lane.state.x)
                if self.logs_parts and n + 1 < count:
                    part = self.log_part()
                    if part != OK:
                        break
            clock.t, now.h = before.t, whole
            if part == OK:
                if progress.halved == 0:
                    progress.halved_first = clock.t
                progress.halved_last = clock.t
                progress.halved += 1
                return OK
            self.inner_log.count = inner
            self.part_log.count, self.push_log.count = parts, pushes
            self.put_back_start(&before)
            clock.restarted = before.restarted
            if now.cause != OK:
                break
        self.own_touch.worst, self.own_touch.residual = worst, residual
        return status

    # ---- what the user's functions are told ----------------------------------------------------------------
    #
    # A step begins with the whole kick, M^-1 J^T lam = g: its stages have velocities from v1 + g on, and what stands would
    # seem to move. They are told v with the kick spread over the step instead, at a share c of it
    #     settled v1 + (v - (v1 + g)) + c g,
    # which begins with the velocity that is told of the node.

    cdef int open_asks(self) noexcept nogil:
        self.shifts = False
        if not self.shared.schedule.calls_user:
            return OK
        memcpy(self.settled, self.lane.state.x, self.nv * sizeof(double))
        memset(self.gain, 0, self.nv * sizeof(double))
        self.base, self.shifts = self.settled, self.pushed_any()
        return self.settle_node(self.settled)

    cdef int ask_within(self, double t, double share, const double* q, const double* v) noexcept nogil:
        # of the stage (q, v) of a step from the state
        cdef const double* start = self.lane.state.x
        cdef int k
        if not (self.ntouch and self.shifts):
            return self.ask(t, q, v)
        for k in range(self.nv):
            self.told[k] = self.base[k] + (v[k] - start[k]) + share * self.gain[k]
        return self.ask(t, q, self.told)

    # ---- a step ------------------------------------------------------------------------------------------

    cdef int step_from(self, double* v) noexcept nogil:
        # F_h(q1, v)
        cdef double* x = self.lane.state.x
        cdef int status
        self.lane.state.x = v
        status = self.step()
        self.lane.state.x = x
        return self.checked() if status == OK else status

    cdef int free_step(self) noexcept nogil:
        return self.step_from(self.lane.state.x)

    cdef int attempt_opened(self, bint pushed, bint free) noexcept nogil:
        cdef Touching* x = &self.own_touch
        cdef int status = OK
        x.solved = False
        if not pushed and not x.opened:
            # a step without contacts; where it ends some may be new
            if not free:
                status = self.free_step()
            if status != OK or not self.join():
                return status
        self.stand_still()
        status = self.solve_touches()
        if unsolved(status) and self.lane.now.cause == OK:
            memset(x.guess, 0, 3 * self.ntouch * sizeof(double))
            x.have_ports[0] = False
            status = self.solve_touches()
        return status

    cdef int solve_touches(self) noexcept nogil:
        # passes until no contact is missing
        cdef Touching* x = &self.own_touch
        cdef int status
        while True:
            status = self.gather()
            if status == OK:
                status = self.iterate_touches()
            if status != OK:
                return status
            self.remember()
            if not self.join():
                x.solved = True
                self.kick_end()
                return OK

    cdef void kick_end(self) noexcept nogil:
        # v2 += M(q2)^-1 of the impulses where the step ends
        cdef Touching* x = &self.own_touch
        cdef int k
        self.push_end()
        if not x.ends_pushed:
            return
        self.velocity(self.lane.state.q2, self.shared.zeros, x.still)
        self.velocity(self.lane.state.q2, x.late, self.gain)
        for k in range(self.nv):
            self.lane.state.x2[k] += self.gain[k] - x.still[k]

    # ---- M at node 1 -------------------------------------------------------------------------------------

    cdef bint plain(self) noexcept nogil:
        # whether M alone answers, without constraints and prescribed motion
        return not (self.shared.count or self.shared.m.nlocked)

    cdef void stand_still(self) noexcept nogil:
        # M(q1), and the velocity of no momentum
        cdef AbaBody* aba = self.lane.bodies.aba
        self.lane.bodies.aba = self.aba1
        self.velocity(self.lane.state.q, self.shared.zeros, self.own_touch.still)
        self.lane.bodies.aba = aba

    cdef void respond_at_node(self, const double* push, double* v) noexcept nogil:
        # M(q1)^-1 of an impulse, the constraints held
        cdef Touching* x = &self.own_touch
        cdef int k
        if self.plain():
            aba_response(self.shared.m, push, 0, self.shared.m.nbody, v, self.aba1)
            return
        # prescribed coordinates move as they must with any momentum
        self.velocity(self.lane.state.q, push, v)
        for k in range(self.nv):
            v[k] -= x.still[k]

    cdef void answer_ports(self) noexcept nogil:
        # P = rows M^-1 rows^T at node 1
        cdef Touching* x = &self.own_touch
        cdef double* P = self.P()
        cdef int k, j, nv = self.nv
        for k in range(x.ports):
            self.respond_at_node(x.rows + k * nv, x.response + k * nv)
            for j in range(x.ports):
                P[j * x.ports + k] = vt_inner(nv, x.rows + j * nv, x.response + k * nv)
        self.keep_ports(True)

    cdef void kick(self) noexcept nogil:
        # v1+ = v1 + M^-1 rows^T u, v1 behind the blow of an impact
        cdef Touching* x = &self.own_touch
        cdef const double* v = x.v if x.opened else self.lane.state.x
        cdef int k
        memset(self.push, 0, self.nv * sizeof(double))
        for k in range(x.ports):
            vt_add_row(self.nv, x.u[k], x.rows + k * self.nv, self.push)
        self.respond_at_node(self.push, self.gain)
        for k in range(self.nv):
            self.kicked[k] = v[k] + self.gain[k]
        self.base, self.shifts = x.v if x.opened else self.settled, True

    # ---- passes ------------------------------------------------------------------------------------------

    cdef int iterate_touches(self) noexcept nogil:
        cdef Touching* x = &self.own_touch
        cdef double e, goal, limit, before = INFINITY, first = INFINITY
        cdef int k, status
        if not self.ports_at_hand():
            self.answer_ports()
        self.gather_push()
        x.cut = 0
        for k in range(KICK_PASSES):
            self.kick()
            status = self.step_from(self.kicked)
            if status != OK:
                return status
            self.lane.now.iterations += 1
            self.measure_touches()
            self.write_rows(x.there, x.pose2, x.W2, True)
            if k > 0:
                self.learn_ports()
            self.note_ports()
            self.couple_contacts(self.P(), x.W2)
            e = self.lane.now.error = self.touch_residual()
            if not isfinite(e):
                return NOT_FINITE
            goal = self.touch_goal()
            if e <= goal:
                x.passes += k
                return OK
            if e > KICK_ASTRAY * first:
                break
            if k > 0 and e > KICK_SLOW * before:
                status = self.difference_ports()
                if status != OK:
                    return status
                self.couple_contacts(self.P(), x.W2)
                self.touch_residual()
            before = e
            if k == 0:
                first = e
            limit = max(0.2 * goal, KICK_SHARE * e)
            if not self.solve_contacts(limit) <= limit:
                x.cut += 1
                if x.cut == KICK_CUTS:
                    break
            self.gather_push()
        self.note_worst()
        return NOT_CONVERGED

    cdef void note_ports(self) noexcept nogil:
        # the impulses of this pass, and where bodies are
        cdef Touching* x = &self.own_touch
        memcpy(self.u_before, x.u, x.ports * sizeof(double))
        memcpy(self.pose_before, x.pose2, self.shared.m.nbody * sizeof(Pose))
        memcpy(self.q_before, self.lane.state.q2, self.nq * sizeof(double))

    cdef int difference_ports(self) noexcept nogil:
        # P by differences of F_h about this pass
        cdef Touching* x = &self.own_touch
        cdef double* P = self.P()
        cdef double size, u
        cdef int k, j, n = x.ports, status
        size = KICK_DIFFERENCE * (largest(self.kicked, self.nv) + largest(x.w, x.cones.n))
        for k in range(n):
            self.respond_at_node(x.rows + k * self.nv, x.response + k * self.nv)
            u = largest(x.response + k * self.nv, self.nv)
            u = size / u if u > 0.0 else 0.0
            vt_add_row(self.nv, u, x.response + k * self.nv, self.kicked)
            status = self.step_from(self.kicked)
            vt_add_row(self.nv, -u, x.response + k * self.nv, self.kicked)
            if status != OK:
                return status
            self.stand_bodies(self.lane.state.q2, x.pose2, x.at2, &x.placed2)
            self.measure_ports()
            for j in range(n):
                P[j * n + k] = self.z[j] / u if u > 0.0 else 0.0
        return OK

    cdef double measure_ports(self) noexcept nogil:
        # z, motion of the ports from where they were noted to node 2, over h; returns the size of positions
        cdef Touching* x = &self.own_touch
        cdef double inverse = 1.0 / self.lane.now.h, size = 1.0
        cdef const Pose* now
        cdef const Pose* then
        cdef int i, k = 0
        while k < x.ports:
            i = x.owner[k]
            if i < 0:
                self.z[k] = self.touch[-1 - i].sign * inverse * (self.lane.state.q2[self.touch[-1 - i].iq]
                                                                 - self.q_before[self.touch[-1 - i].iq])
                k += 1
                continue
            now, then = &x.pose2[i], &self.pose_before[i]
            store3(self.z + k, scale(inverse, turn_between(&then.R, &now.R)))
            store3(self.z + k + 3, scale(inverse, sub(now.o, then.o)))
            size = max(size, vt_sqrt(dot(now.o, now.o)))
            k += 6
        return size

    cdef void learn_ports(self) noexcept nogil:
        # P += (z - P du) (D du)^T/(du^T D du), D the diagonal of P, so that P du = z is what ports did (Broyden 1965)
        cdef Touching* x = &self.own_touch
        cdef double* P = self.P()
        cdef double* du = self.u_before
        cdef double heard = KICK_HEARD * 2e-16 * self.measure_ports() / fabs(self.lane.now.h), square = 0.0, most = 0.0
        cdef int k, j, n = x.ports
        for k in range(n):
            du[k] = x.u[k] - du[k]
            most = max(most, fabs(self.z[k]))
            x.T[k] = fabs(P[k * n + k]) * du[k]
            square += x.T[k] * du[k]
        if not (square > 0.0 and most > heard):
            return
        for k in range(n):
            most = (self.z[k] - vt_inner(n, P + k * n, du)) / square
            for j in range(n):
                P[k * n + j] += most * x.T[j]

    @property
    def halved(self):
        """Steps that were taken in halves."""
        return self.lane.progress.halved if self.ntouch else 0

    @property
    def halved_between(self):
        """Times [s] at which the first and the last of these steps began; None without one."""
        return (self.lane.progress.halved_first, self.lane.progress.halved_last) if self.halved else None
