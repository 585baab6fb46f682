# Steps of many instances with a stepper each, those that are alike in lanes: of each group of instances with the same contacts,
# or with none, as many as there are lanes at once, and the others by their own steppers. One lane's side of lanes/contact.pxi.

cdef enum:
    FEWEST_TOGETHER = 3     # a step of all lanes costs about as much as so many of one, of two lanes as one
    NEAR_TOGETHER = 256      # instances that are stepped in turn: most of those with few like them find some

#: The key of instances that nothing touches, which is none of bodies in contact: see `steady_key`
cdef unsigned long long TOUCHES_NOTHING = 0x5555555555555555


#: The functions below for what is a stepper, without a reference that a thread without the interpreter could not count
ctypedef unsigned long long (*SteadyKey)(void* stepper) noexcept nogil
ctypedef void (*Lend)(void* stepper, Home* h, bint own) noexcept nogil
ctypedef void (*TakeHome)(void* stepper, const Home* h) noexcept nogil
ctypedef int (*StepAlone)(void* stepper, const HomeTrial* trial) noexcept nogil
ctypedef int (*TakeDrive)(void* stepper, const double* torque, const double* inputs) noexcept nogil
ctypedef void (*Release)(void* stepper) noexcept nogil
ctypedef void (*Tell)(void* stepper, bint told, bint by_momentum, double* q, double* v) noexcept nogil


cdef int count_of_kind(ModelStepper stepper, int kind) noexcept nogil:
    # contacts of a kind, but for those of convex shapes
    cdef int c, n = 0
    for c in range(stepper.contact.plain):
        n += stepper.touch[c].kind == kind
    return n


cdef inline int count_on_ground(ModelStepper stepper) noexcept nogil:
    return count_of_kind(stepper, ON_PLANE) + count_of_kind(stepper, ON_FIELD)


def contact_lane_plan(ModelStepper stepper):
    """The address of the plan of blocks that take steps of such steppers together; 0 if none can.

    They support models without contacts, and points and spheres on planes and height fields, of one tree, that neither bounce
    nor yield, and limits and dry friction of joints.
    """
    cdef Shared* s = &stepper.shared
    cdef LanePlan* plan
    cdef const vt_contact* e
    cdef const TouchSpan* on
    cdef int c, k, points, joints
    cdef bint inside
    if (stepper.kind != METHOD_LINEAR_TIME or stepper.contact.plain > STEADY_CONTACTS or s.nload or s.count or s.m.nlocked
            or stepper.user is not None or stepper.gates or s.schedule.calls_user or s.schedule.adaptive or stepper.led_count
            or s.choices.stages != 1 or stepper.elastic or stepper.events or stepper.rolls or stepper.contacts.yields
            or stepper.contact.turns
            or s.choices.solver != AUTO or stepper.method.dense(stepper) or stepper.lane.bodies.predicts
            or not stepper.method.fits_lanes(stepper)):
        return 0
    for c in range(stepper.contact.pairs):
        if not stepper.contact.pair[c].shape_a.reach < INFINITY or (stepper.contact.pair[c].shape_b.reach == INFINITY
                                                                    and stepper.contact.pair[c].shape_b.body >= 0):
            return 0
    for k in range(stepper.contact.spans):
        on = &stepper.contact.span[k]
        for c in range(on.first, on.end if on.pair < 0 else on.first):
            e = &stepper.touch[c]
            inside = on_ground(e) and e.body_b < 0 and e.body_a >= 0 and e.stiffness == INFINITY and e.dim <= 3
            if e.kind == RUBS:
                if e.mesh >= 0 or joint_multi(&s.m.body[stepper.contact.body_of_v[e.iv]]):
                    return 0
                inside = True
            # others have to stay far away, and limits open
            if not inside and e.kind != AT_LIMIT and (on_ground(e) or on.ball < 0 or on.other < 0):
                return 0
    points, joints = count_on_ground(stepper), count_of_kind(stepper, RUBS)
    if points > STEADY_MEMBERS or joints > STEADY_JOINTS or (points + joints and stepper.contact.trees != 1):
        return 0
    plan = <LanePlan*>stepper.memory.given(sizeof(LanePlan))
    plan.layout, plan.kind, plan.shared = lane_layout(), stepper.kind, s[0]
    plan.split = stepper.linear.kernel.split
    return <size_t>plan


def contact_lanes(stepper, module):
    """Return the lanes that take steps in contact of such steppers, by the blocks of a module; None if none can."""
    cdef size_t plan = contact_lane_plan(stepper) if module.VT_LANES > 1 and isinstance(stepper, ModelStepper) else 0
    return ContactLanes(stepper, module, plan) if plan else None


cdef class ContactLanes:
    """A block of lanes, and how to step instances in contact with it; for one thread at a time.

    ``address`` : of a plan of the stepper's.
    """

    cdef object block
    cdef ModelStepper owner
    cdef void* at
    cdef StepTogether call
    cdef HomePlan plan
    cdef bint tells             # velocities are those of momenta, by the factors of the mass matrix
    cdef Home* room             # (most,)
    cdef unsigned long long* key    # (most,)
    cdef int* status
    cdef int* left              # steps of this call
    cdef bint* alone            # its own stepper takes the next one
    cdef double** v             # where their velocities are to be told, and whether they are
    cdef bint* told
    cdef bint* held
    cdef double* trial          # (NEAR_TOGETHER, nv + 3 contacts)
    cdef int* inside            # (NEAR_TOGETHER, contacts)
    cdef int* alike             # how they are like the owner: UNLIKE, ALIKE, IDENTICAL
    cdef int* ball_of           # (contacts,) see `HomePlan`
    cdef Py_ssize_t most
    cdef readonly long together     # steps of instances that were taken in lanes, those that were tried, and all
    cdef readonly long tried
    cdef readonly long steps
    cdef readonly long joined       # of those that were tried, those that other contacts joined
    cdef readonly long resumed      # and of these, those that were taken in lanes
    cdef int members            # points and spheres on planes
    cdef int joints             # with dry friction
    cdef int width

    def __init__(self, ModelStepper stepper, module, size_t address):
        cdef size_t at, call, layout
        self.members, self.joints = count_on_ground(stepper), count_of_kind(stepper, RUBS)
        self.block, self.owner, self.width = module.ModelStepper(address, stepper), stepper, module.VT_LANES
        at, call, layout = self.block.contact_steps(stepper.contact.plain, self.members, self.joints)
        if layout != home_layout():
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        self.at, self.call = <void*>at, <StepTogether>call
        self.plan.most_ports = stepper.contact.most_ports
        self.plan.kept_ports = most_kept(&stepper.contact, stepper.nv)
        self.plan.contacts, self.plan.patches = stepper.contact.plain, stepper.contact.plain_patches
        self.plan.span, self.plan.spans = stepper.contact.span, stepper.contact.spans
        self.plan.ball, self.plan.balls = stepper.contact.ball, stepper.contact.ball_count
        self.plan.culls, self.plan.pair, self.plan.pairs = stepper.contact.balls, stepper.contact.pair, stepper.contact.pairs
        self.find_balls()
        self.plan.body_of_v, self.plan.node_share = stepper.contact.body_of_v, stepper.method.node_share(stepper)
        self.plan.h, self.plan.share = stepper.shared.schedule.span, end_impulse_share(stepper.post_contact.behind, False)
        self.plan.expected = expected_share(stepper.post_contact.behind, self.plan.share)
        self.trial = <double*>PyMem_Malloc(NEAR_TOGETHER * (stepper.nv + 3 * self.plan.contacts) * sizeof(double))
        self.inside = <int*>PyMem_Malloc(NEAR_TOGETHER * self.plan.contacts * sizeof(int))
        if self.trial == NULL or self.inside == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.ball_of)
        PyMem_Free(self.room)
        PyMem_Free(self.key)
        PyMem_Free(self.status)
        PyMem_Free(self.left)
        PyMem_Free(self.alone)
        PyMem_Free(self.told)
        PyMem_Free(self.held)
        PyMem_Free(self.alike)
        PyMem_Free(self.trial)
        PyMem_Free(self.inside)

    cdef int find_balls(self) except -1:
        cdef const TouchSpan* on
        cdef int k, c
        self.ball_of = <int*>PyMem_Malloc(self.plan.contacts * sizeof(int))
        if self.ball_of == NULL:
            raise MemoryError
        memset(self.ball_of, -1, self.plan.contacts * sizeof(int))
        for k in range(self.plan.spans):
            on = &self.plan.span[k]
            for c in range(on.first, on.end if on.pair < 0 else on.first):
                self.ball_of[c] = on.ball
        self.plan.ball_of = self.ball_of
        return 0

    cdef int rooms(self, Py_ssize_t count) except -1:
        if count <= self.most:
            return 0
        self.room = <Home*>PyMem_Realloc(self.room, count * sizeof(Home))
        self.key = <unsigned long long*>PyMem_Realloc(self.key, count * sizeof(unsigned long long))
        self.status = <int*>PyMem_Realloc(self.status, count * sizeof(int))
        self.left = <int*>PyMem_Realloc(self.left, count * sizeof(int))
        self.alone = <bint*>PyMem_Realloc(self.alone, count * sizeof(bint))
        self.told = <bint*>PyMem_Realloc(self.told, count * sizeof(bint))
        self.held = <bint*>PyMem_Realloc(self.held, count * sizeof(bint))
        self.alike = <int*>PyMem_Realloc(self.alike, count * sizeof(int))
        if (self.room == NULL or self.key == NULL or self.status == NULL or self.left == NULL or self.alone == NULL
                or self.told == NULL or self.held == NULL or self.alike == NULL):
            raise MemoryError
        self.most = count
        return 0


cdef int most_kept(const Touching* x, int nv) noexcept nogil:
    # ports of one tree whose P and answers are kept: see `may_keep`
    cdef int n = 0
    while n < x.most_ports and (n + 1) * <size_t>(n + 1) <= x.most_blocks and (n + 1) * <size_t>nv <= x.most_rows:
        n += 1
    return n


cdef int kept_ports(const Touching* x, int bodies) noexcept nogil:
    # the ports of P
    cdef int k = 0
    while k < x.most_ports and x.owner_kept[k] != bodies:
        k += 1
    return k


cdef inline bint has_length(const Seen* x, double h) noexcept nogil:
    # whether past steps have a length, or there are none
    return x.h == h or x.count == 0


cdef unsigned long long steady_key(ModelStepper self) noexcept nogil:
    # of instances whose steps may be taken together it is the same, in flight TOUCHES_NOTHING; 0: the stepper takes it
    # the same bodies are in contact, and the same ones of those with patches at more than one point; of a few points, all of
    # which have to be the same, also these
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef unsigned long long bodies = 0, once = 0, more = 0, all = 0, bit
    cdef int c, ports, rows = 0
    cdef double h = self.shared.schedule.span
    cdef bint touches = self.ntouch and x.have_ports[0]
    if not (self.shared.schedule.spans == NULL and self.linear.started[0] and self.lane.reuses[0].have
            and (may_keep(x) or not touches) and not self.parted
            and has_length(self.lane.guesses[0].seen, h) and (not touches or has_length(x.past.seen, h))
            and self.lane.clock.h_last == h
            and not self.lane.progress.opening and self.watched_out == NULL
            and (not self.ntouch or self.memory.seats.free_count == self.memory.seats.count)):
        return 0
    for c in range(x.plain):
        e = &self.touch[c]
        if not touches:
            if x.active[c] or e.kind == RUBS:
                return 0
            continue
        if x.active[c] == ARRIVED or (x.active[c] and not on_ground(e) and e.kind != RUBS):
            return 0
        if x.active[c]:
            rows += e.dim
            if e.kind == RUBS:
                bodies |= <unsigned long long>1 << 63
                continue
            all |= (<unsigned long long>1) << (c & 63)
            bodies |= (<unsigned long long>1) << (e.body_a & 63)
            if e.patch >= 0:
                bit = (<unsigned long long>1) << (e.patch & 63)
                more |= once & bit
                once |= bit
    if not touches:
        return TOUCHES_NOTHING if not self.ntouch or (x.past.seen.count == 0 and x.idled[0] == 0.0) else 0
    bodies ^= more << 32 | more >> 32
    # see `compare_members`
    ports = kept_ports(x, self.shared.m.nbody)
    return bodies ^ all << 16 if 2 * ports > 3 * rows or (bodies >> 63 and rows <= ports) else bodies


cdef void lend(ModelStepper self, Home* h, bint own) noexcept nogil:
    # own: and its numbers
    cdef Touching* x = &self.contact
    h.numbers, h.field = numbers_at_hand(self) if own else NULL, self.numbers.field
    h.q, h.x, h.u, h.tau = self.lane.state.q, self.lane.state.x, self.lane.drive.u, self.lane.drive.tau
    h.u_before, h.tau_before, h.varied = self.lane.drive.u_before, self.lane.drive.tau_before, self.lane.drive.varied
    h.seen, h.table = self.lane.guesses[0].seen, self.lane.guesses[0].table
    h.gains, h.multi = <double*>self.linear.gains, <double*>self.linear.multi
    h.pivot_signs, h.reuse, h.number = self.lane.operators[0].pivot_signs, &self.lane.reuses[0], self.lane.clock.steps
    h.node, h.weight = <double*>self.linear.node1, self.linear.weight1
    h.lam, h.way, h.hold, h.active, h.gap_before = x.lam, x.way, x.hold, x.active, x.gap_before
    h.moved, h.told, h.P, h.answers = x.moved, x.told, x.P, x.answers
    h.past_seen, h.past_table, h.idled, h.jumped = x.past.seen, x.past.table, x.idled, self.post_contact.jumped
    h.node_before, h.pushed_before = self.post_contact.node_before, self.post_contact.pushed_before
    h.ports, h.owner, h.owner_past = (
        kept_ports(x, self.shared.m.nbody) if self.ntouch and x.have_ports[0] else 0), x.owner_kept, x.owner_past


cdef void take_home(ModelStepper self, const Home* h) noexcept nogil:
    # what else follows steps that were taken in lanes
    cdef Touching* x = &self.contact
    cdef Now* now = self.lane.now
    cdef Clock* clock = self.lane.clock
    now.cause, now.iterations, now.error, now.contraction = OK, h.last, h.error, NAN
    now.turn, now.off, now.estimate = sqrt(h.turn), NAN, NAN
    self.lane.progress.factorisations += h.factored
    self.lane.progress.residuals += h.steps + h.passes + 2 * h.rested + h.more_residuals
    self.lane.progress.solves += h.solves
    clock.h_last, clock.restarted = now.h, False
    x.passes += h.passes
    # the places of contacts, and the list of what is near, are those of another state
    x.placed1 = x.placed2 = x.told2 = x.have_list = False
    self.close_steps(h.steps, h.corrections, h.most)
    if steps_here(clock) == h.steps:
        self.post_contact.first = clock.t0 + (clock.steps - h.steps + 1) * now.h


cdef int step_alone(ModelStepper self, const HomeTrial* trial) noexcept nogil:
    # by its own stepper, which is in use already; from a trial on
    cdef Loan* loan = self.loan
    cdef int status
    if loan != NULL:
        while taken_among_threads(&loan.in_use):
            pass  # another thread uses one of its steppers
        self.exchange_rooms()
        if loan.last != <void*>self:
            loan.last = <void*>self
            self.lose_scratch()
    self.contact.trial = trial
    status = self.take_step(False)
    self.contact.trial = NULL
    if status == OK:
        self.close_step()
    if loan != NULL:
        self.exchange_rooms()
        let_go(&loan.in_use)
    return status


cdef int drive_with(ModelStepper self, const double* torque, const double* inputs) noexcept nogil:
    # take it in use, and its torque and inputs
    cdef int status
    if taken_already(&self.in_use):
        return CAREFUL
    status = drive_by(self, torque, inputs)
    if status != OK:
        let_go(&self.in_use)
    return status


cdef void let_it_go(ModelStepper self) noexcept nogil:
    let_go(&self.in_use)


cdef void tell_and_leave(ModelStepper self, bint told, bint by_momentum, double* q, double* v) noexcept nogil:
    # the state: q and, NaN where the stepper does not tell it, v, unless it is told
    if told:
        memcpy(q, self.lane.state.q, self.nq * sizeof(double))
    let_go(&self.in_use)
    if told:
        return
    if not self.enter():
        v[0] = NAN
        return
    memcpy(q, self.lane.state.q, self.nq * sizeof(double))
    if not self.tells(by_momentum, v):
        v[0] = NAN
    self.leave()


cdef void step_group(ContactLanes lanes, void** at, const int* which, int count) noexcept nogil:
    # steps of some instances with the same contacts, where they are enough
    cdef Lend give = <Lend>lend
    cdef TakeHome take = <TakeHome>take_home
    cdef Home* home[MOST_LANES]
    cdef int taken[MOST_LANES]
    cdef const Home* first
    cdef Home* h
    cdef int k, l = 0, most = 6 * min(lanes.members, lanes.owner.shared.m.nbody) + lanes.joints, steps = <int>MOST_AT_ONCE
    cdef bint own = False
    for k in range(count):
        own = own or lanes.alike[which[k]] != IDENTICAL
    if count < min(FEWEST_TOGETHER, lanes.width):
        return
    for k in range(count):
        h = home[l] = &lanes.room[which[k]]
        give(at[which[k]], h, own)
        h.trial.y = lanes.trial + (which[k] % NEAR_TOGETHER) * (lanes.owner.nv + 3 * lanes.plan.contacts)
        h.trial.lam = h.trial.y + lanes.owner.nv
        h.trial.inside = lanes.inside + (which[k] % NEAR_TOGETHER) * lanes.plan.contacts
        h.v = lanes.v[which[k]] if lanes.tells else NULL
        first = home[0]
        if h.ports > most or h.ports != first.ports or memcmp(h.owner, first.owner, h.ports * sizeof(int)) != 0:
            continue
        taken[l] = which[k]
        steps = min(steps, lanes.left[which[k]])
        l += 1
    if l < min(FEWEST_TOGETHER, lanes.width):
        return
    lanes.plan.ports, lanes.plan.owner = home[0].ports, home[0].owner
    # the contacts of a stepper move where it takes a seat
    lanes.plan.touch = lanes.owner.touch
    for k in range(l):
        if lanes.left[taken[k]] > steps:
            home[k].v = NULL
    for k in range(l, lanes.width):
        home[k] = home[l - 1]
    lanes.call(lanes.at, &lanes.plan, home, l, steps)
    for k in range(l):
        h = home[k]
        lanes.tried += h.steps + (h.status != OK)
        lanes.together += h.steps
        lanes.steps += h.steps
        lanes.joined += h.status == JOINED
        lanes.left[taken[k]] -= h.steps
        lanes.alone[taken[k]] = h.status != OK
        lanes.told[taken[k]] = h.answered
        if h.steps:
            take(at[taken[k]], h)


cdef void join_group(ContactLanes lanes, void** at, const int* which, int count) noexcept nogil:
    # a step of instances with the same contacts, from trials which these have joined, where they are enough
    cdef TakeHome take = <TakeHome>take_home
    cdef Home* home[MOST_LANES]
    cdef int taken[MOST_LANES]
    cdef Home* first = &lanes.room[which[0]]
    cdef Home* h
    cdef int k, l = 0
    for k in range(count):
        h = &lanes.room[which[k]]
        if h.ports == first.ports and memcmp(h.owner, first.owner, h.ports * sizeof(int)) == 0:
            home[l], taken[l] = h, which[k]
            l += 1
    if l < min(FEWEST_TOGETHER, lanes.width):
        return
    lanes.plan.ports, lanes.plan.owner, lanes.plan.touch = first.ports, first.owner, lanes.owner.touch
    for k in range(l):
        home[k].v = lanes.v[taken[k]] if lanes.tells and lanes.left[taken[k]] == 1 else NULL
    for k in range(l, lanes.width):
        home[k] = home[l - 1]
    lanes.call(lanes.at, &lanes.plan, home, l, 0)
    for k in range(l):
        h = home[k]
        if h.status != OK:
            continue
        lanes.resumed += 1
        lanes.together += 1
        lanes.steps += 1
        lanes.left[taken[k]] -= 1
        lanes.alone[taken[k]], lanes.told[taken[k]] = False, h.answered
        take(at[taken[k]], h)


cdef int alike_from(ContactLanes lanes, Py_ssize_t first, Py_ssize_t end, int* group) noexcept nogil:
    # as many instances with the key of the first one as there are lanes, at most, which have none then; returns their number
    cdef unsigned long long key = lanes.key[first]
    cdef Py_ssize_t k
    cdef int size = 0
    for k in range(first, end):
        if lanes.key[k] == key:
            group[size], lanes.key[k] = <int>k, 0
            size += 1
            if size == lanes.width:
                break
    return size


cdef bint step_each(ContactLanes lanes, void** at, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
    # steps of the instances from first to end that have some left: in a group, or where that is not possible a single one;
    # whether any is left
    cdef SteadyKey ask = <SteadyKey>steady_key
    cdef StepAlone step = <StepAlone>step_alone
    cdef int group[MOST_LANES]
    cdef Py_ssize_t i
    cdef bint any_left = False
    for i in range(first, end):
        lanes.alone[i], lanes.room[i].status = lanes.left[i] > 0, OK
        lanes.key[i] = ask(at[i]) if lanes.alone[i] and lanes.alike[i] else 0
    for i in range(first, end):
        if lanes.key[i]:
            step_group(lanes, at, group, alike_from(lanes, i, end, group))
    for i in range(first, end):
        lanes.key[i] = lanes.room[i].trial.key if lanes.alone[i] and lanes.room[i].status == JOINED else 0
    for i in range(first, end):
        if lanes.key[i]:
            join_group(lanes, at, group, alike_from(lanes, i, end, group))
    for i in range(first, end):
        if lanes.alone[i]:
            lanes.steps += 1
            lanes.left[i] -= 1
            lanes.status[i] = step(at[i], &lanes.room[i].trial if lanes.room[i].status == JOINED else NULL)
            if lanes.status[i] != OK:
                lanes.left[i] = 0
        any_left = any_left or lanes.left[i] > 0
    return any_left


def advance_in_lanes(ContactLanes lanes, tuple steppers, const Py_ssize_t[::1] which, long steps, torque, inputs,
                     bint by_momentum, double[:, ::1] q, double[:, ::1] v):
    """As :func:`advance_together`, with as many steps as possible in lanes."""
    cdef Instances at = Instances(steppers, which, torque, inputs, q, v)
    cdef Py_ssize_t i, first = 0, end, m = at.count
    cdef double since = seconds_now()
    cdef TakeDrive drive = <TakeDrive>drive_with
    cdef Tell tell = <Tell>tell_and_leave
    cdef Release release = <Release>let_it_go
    out = np.full(m, CAREFUL, dtype=np.intc)
    cdef int[::1] status = out
    if m == 0 or not 1 <= steps <= MOST_AT_ONCE:
        return out
    lanes.rooms(m)
    lanes.tells, lanes.v = by_momentum and lanes.owner.answers_by_factors, at.v
    memset(lanes.held, 0, m * sizeof(bint))
    for i in range(m):
        lanes.alike[i] = likeness(lanes.owner, <ModelStepper>at.stepper[i]) if at.stepper[i] != NULL else UNLIKE
    try:
        with nogil:
            for i in range(m):
                lanes.status[i] = CAREFUL
                if at.stepper[i] != NULL:
                    lanes.status[i] = drive(at.stepper[i], at.torque[i], at.inputs[i])
                lanes.held[i] = lanes.status[i] == OK
                lanes.left[i], lanes.told[i] = <int>steps if lanes.held[i] else 0, False
            while first < m:
                # all steps of instances whose memory the processor keeps near
                end = min(first + NEAR_TOGETHER, m)
                while step_each(lanes, at.stepper, first, end):
                    if overdue(&since, LOOK_STEPS - 1):
                        with gil:
                            PyErr_CheckSignals()
                for i in range(first, end):
                    status[i] = lanes.status[i]
                    if lanes.held[i]:
                        lanes.held[i] = False
                        tell(at.stepper[i], lanes.told[i], by_momentum, at.q[i], at.v[i])
                first = end
    finally:
        for i in range(m):
            if lanes.held[i]:
                release(at.stepper[i])
    return out
