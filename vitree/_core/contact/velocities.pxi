# The velocities that are reported for states in contact, and the report on the step just taken. One lane.
#
# The p (or v) of a state is that before the node's impulses: for a body at rest on the ground p = -h m g/2. Records,
# simulations and user functions get the velocity of `post_contact_velocity` instead, in which contacts that acted in
# the last step do not close. For velocities within a step see `post_contact_velocity_ahead` and explicit.pxi.

#: [m] contacts of a start that are nearer than this enter the prediction for the middle of the first step
cdef double AT_START = 1e-6


cdef struct PostContact:
    double behind
    double first
    int* jumped                    # kept: the last step had an impact, or contacts that closed
    double* node_before            # kept (nq,) the start of the step just taken
    int* pushed_before             # kept (contacts,) whether it acted in the step before that
    double* node_next              # (nq,) the same of the current step
    int* pushed_next
    double* told_start             # velocity that is reported for the start of the step
    int jumped_start
    int* active_before             # (contacts,)
    Pose* pose_told                # (nbody,) at `node_before`, where those of the step are overwritten
    double* at_told
    int placed_told


cdef int make_touching(ModelStepper self, dict options) except -1:
    # the state of contacts that steps of every method have, in the order of checkpoints
    make_contacts(self, options)
    make_impacts(self)
    make_post_contact(self, options)
    return make_located(self)


cdef int make_post_contact(ModelStepper self, dict options) except -1:
    cdef Touching* x = &self.contact
    cdef Seats seats = self.memory.seats
    self.post_contact.behind = options.get("behind", 0.5)
    if not self.ntouch:
        return 0
    self.post_contact.jumped = self.memory.kept_ints(1, 0, 1)
    self.post_contact.node_before = self.memory.kept_reals(self.nq)
    self.post_contact.node_next = self.memory.scratch_reals(self.nq)
    seated(x, seats, &self.post_contact.pushed_before, sizeof(int), KEPT, 0, 1)
    seated(x, seats, &self.post_contact.pushed_next, sizeof(int), SCRATCH)
    seated(x, seats, &self.post_contact.told_start, TOLD * sizeof(double), SCRATCH)
    seated(x, seats, &self.post_contact.active_before, sizeof(int), SCRATCH)
    self.post_contact.pose_told = <Pose*>self.memory.scratch(self.shared.m.nbody * sizeof(Pose))
    self.post_contact.at_told = self.memory.scratch_reals(self.nq)
    leave_seats(self)
    return 0


cdef void begin_contacts(ModelStepper self) noexcept nogil:
    # no contact acted in the last step
    cdef Touching* x = &self.contact
    if not self.ntouch:
        return
    memset(x.lam, 0, x.reals * sizeof(double))
    memset(x.way, 0, x.reals * sizeof(double))
    memset(x.hold, 0, self.ntouch * sizeof(double))
    memset(x.active, 0, self.ntouch * sizeof(int))
    memset(x.told, 0, TOLD * self.ntouch * sizeof(double))
    if x.turns:
        memset(x.told_turn, 0, TURNED * self.ntouch * sizeof(double))
    leave_seats(self)
    x.have_list = x.no_memory = False
    x.moved[0] = 0.0
    x.past.seen.count = 0
    x.passes = x.inexact = 0
    x.inexact_most = 0.0
    if self.post_contact.jumped != NULL:
        self.post_contact.jumped[0] = False
        memset(self.post_contact.pushed_before, 0, self.ntouch * sizeof(int))


cdef void note_touch(ModelStepper self) noexcept nogil:
    # the state of contacts at the start of a step
    memcpy(self.lam_start, self.contact.lam, self.contact.reals * sizeof(double))
    memcpy(self.way_start, self.contact.way, self.contact.reals * sizeof(double))
    memcpy(self.hold_start, self.contact.hold, self.ntouch * sizeof(double))
    memcpy(self.gap_start, self.contact.gap_before, self.ntouch * sizeof(double))
    self.moved_start = self.contact.moved[0]
    drop_added(&self.contact)
    memcpy(self.contact.facet_start, self.contact.facet_kept, self.contact.slots * sizeof(Facet))
    memcpy(self.contact.near_start, self.contact.near_kept, self.memory.seats.count * sizeof(Near))
    memcpy(self.contact.pair_start, self.contact.pair_on, self.memory.seats.count * sizeof(int))
    memcpy(self.contact.facet_told_start, self.contact.facet_told, FACET_ROW * self.contact.slots * sizeof(double))
    memcpy(self.active_start, self.contact.active, self.ntouch * sizeof(int))
    memcpy(self.post_contact.told_start, self.contact.told, TOLD * self.ntouch * sizeof(double))
    if self.contact.turns:
        memcpy(self.turn_start, self.contact.told_turn, TURNED * self.ntouch * sizeof(double))
    self.post_contact.jumped_start = self.post_contact.jumped[0]


cdef void put_back_touch(ModelStepper self) noexcept nogil:
    cdef int s
    memcpy(self.contact.lam, self.lam_start, self.contact.reals * sizeof(double))
    memcpy(self.contact.way, self.way_start, self.contact.reals * sizeof(double))
    memcpy(self.contact.hold, self.hold_start, self.ntouch * sizeof(double))
    memcpy(self.contact.gap_before, self.gap_start, self.ntouch * sizeof(double))
    self.contact.moved[0] = self.moved_start
    memcpy(self.contact.facet_kept, self.contact.facet_start, self.contact.slots * sizeof(Facet))
    memset(self.contact.added, 0, self.contact.slots * sizeof(int))
    memcpy(self.contact.near_kept, self.contact.near_start, self.memory.seats.count * sizeof(Near))
    memcpy(self.contact.facet_told, self.contact.facet_told_start, FACET_ROW * self.contact.slots * sizeof(double))
    memcpy(self.contact.active, self.active_start, self.ntouch * sizeof(int))
    memcpy(self.contact.told, self.post_contact.told_start, TOLD * self.ntouch * sizeof(double))
    if self.contact.turns:
        memcpy(self.contact.told_turn, self.turn_start, TURNED * self.ntouch * sizeof(double))
    self.post_contact.jumped[0] = self.post_contact.jumped_start
    # pairs that took a seat since then were far away
    for s in range(self.memory.seats.count):
        if self.contact.pair_on[s] != self.contact.pair_start[s]:
            empty_seat(self, s)


cdef void note_node(ModelStepper self) noexcept nogil:
    # the start of the current step, and the contacts that acted in the step before
    cdef int c, k
    memcpy(self.post_contact.node_next, self.lane.state.q, self.nq * sizeof(double))
    for k in range(self.contact.asked_count if self.contact.have_list else self.ntouch):
        c = self.contact.asked[k] if self.contact.have_list else contact_in_turn(&self.contact, k)
        self.post_contact.pushed_next[c] = settled_pushed(self, c)


cdef void pass_node_on(ModelStepper self) noexcept nogil:
    memcpy(self.post_contact.node_before, self.post_contact.node_next, self.nq * sizeof(double))
    memcpy(self.post_contact.pushed_before, self.post_contact.pushed_next, self.ntouch * sizeof(int))


cdef inline bint settled_pushed(ModelStepper self, int c) noexcept nogil:
    # whether a contact acted in the last step
    cdef const double* told = self.contact.told + TOLD * c
    return (told[0] != 0.0 or told[1] != 0.0 or told[2] != 0.0
            or (stands(&self.touch[c]) and self.contact.active[c] != 0))


cdef const Pose* poses_at(ModelStepper self, const double* q) noexcept nogil:
    # of the bodies at q: those of the step, if they are there
    cdef Touching* x = &self.contact
    if x.placed2 and memcmp(x.at2, q, self.nq * sizeof(double)) == 0:
        return x.pose2
    if x.placed1 and memcmp(x.at1, q, self.nq * sizeof(double)) == 0:
        return x.pose1
    stand_bodies(self, q, self.post_contact.pose_told, self.post_contact.at_told, &self.post_contact.placed_told)
    return self.post_contact.pose_told


# ---- velocities --------------------------------------------------------------------------------------


cdef bint pushed_any(ModelStepper self) noexcept nogil:
    cdef int c, k
    for k in range(self.contact.asked_count if self.contact.have_list else self.ntouch):
        c = self.contact.asked[k] if self.contact.have_list else contact_in_turn(&self.contact, k)
        if settled_pushed(self, c):
            return True
    return False


cdef int post_contact_velocity_here(ModelStepper self, double* v) noexcept nogil:
    # v (nv,) of the state as it is reported: see `post_contact_velocity`
    cdef Touching* x = &self.contact
    cdef bint rebounds = False
    cdef int c, status
    if not pushed_any(self):
        return OK
    for c in range(self.ntouch):
        x.within[c] = OUTSIDE
        rebounds = rebounds or x.active[c] == ARRIVED
        # a compliant contact contributes nothing: it closes at its current speed
        if settled_pushed(self, c) and self.touch[c].stiffness == INFINITY:
            x.within[c] = INSIDE
            memcpy(x.guess + 3 * c, x.told + TOLD * c, 3 * sizeof(double))
            if x.turns:
                memcpy(turning_of(x, x.guess, c), x.told_turn + TURNED * c, 3 * sizeof(double))
            if self.touch[c].kind == RUBS:
                x.guess[3 * c + 1] = x.told[TOLD * c + 5]
    status = impact_rebound(self, v) if rebounds else OK
    if status != OK:
        return status
    return post_contact_velocity(self, self.lane.state.q, v,
                                 end_impulse_share(self.post_contact.behind, steps_here(self.lane.clock) == 1))


cdef bint has_post_contact_velocity(ModelStepper self) noexcept nogil:
    return not (self.shared.user_constrains or self.shared.m.nlocked)


cdef int post_contact_velocity_ahead(ModelStepper self, double* v, bint* some) noexcept nogil:
    # v, half a step ahead of a start by the dynamics without contacts, such that contacts that are closed there and
    # wheels are satisfied: v + M^-1 J^T nu, gap + (h/2) d(gap)/dt >= 0, friction within its cones. No previous step
    # provides their forces
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef double half = 0.5 * self.lane.now.h
    cdef int c, k, status
    some[0] = False
    if not (self.ntouch and half > 0.0):
        return OK
    memset(x.guess, 0, x.reals * sizeof(double))
    place_start(self, self.lane.state.q)
    for c in range(self.ntouch):
        x.within[c] = OUTSIDE
        if stands(&self.touch[c]) or self.touch[c].kind == AT_SPEED or (x.here[c].gap <= AT_START and self.touch[c].stiffness == INFINITY):
            x.within[c] = INSIDE
            touch_at(&self.touch[c], self.lane.state.q, x.pose1, NULL, facet_for(x, &self.touch[c]), &x.here[c])
            some[0] = True
    if not some[0]:
        return OK
    status = gather_at_rest(self, self.lane.state.q)
    if status != OK:
        return status
    for k in range(y.n):
        along_ports(self, &x.W1[k], v, &y.b[k])
    for k in range(y.count):
        if self.touch[x.member[k]].kind == AT_SPEED:
            y.b[y.row[k]] += self.touch[x.member[k]].bound
        elif y.law[k] == CONE:
            y.b[y.row[k]] += max(x.here[x.member[k]].gap, 0.0) / half
        elif y.law[k] == RUB:
            y.mu[k] = half * self.touch[x.member[k]].friction
    solve_at_rest(self)
    push_by(self, v)
    return OK
