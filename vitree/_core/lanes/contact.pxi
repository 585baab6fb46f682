# Steps of several instances, a lane each, that go on as the step before: nothing touches, or points and spheres on the ground
# are in contact, of the same bodies in all lanes, nothing strikes, and the operator and its response to impulses are at hand.
# Joints with dry friction are members in all lanes, with a port each. Each instance has a stepper of its own, whose kept memory
# is read, and written where steps were taken. A lane for which anything else holds leaves: its stepper takes the step. If
# contacts close that are no members, a lane leaves, from another contact on with its trial; lanes that the same contacts join
# go on together, others by their steppers. The algorithm is that of contact/variational.pxi with one tree, to the bit. Rows of
# contacts that a lane does not have are zeros there, with a diagonal of 1: sums and corrections are those without.

cdef enum:
    LANE_PASSES = 8         # most corrections of a step in lanes


#: [m] convex shapes are farther apart than where they count as near, by more than rounding errors
cdef double APART = 1e-6


cdef struct TouchLanes:
    const HomePlan* plan
    Home** home             # (lanes,) those beyond the last one repeat it
    bint on[MOST_LANES]     # the step of a lane is taken here
    bint joined[MOST_LANES]         # it has left with a trial at whose end contacts close
    bint others[MOST_LANES]         # and some of these are not of points and spheres on the ground
    bint joining            # lanes go on from such trials
    HomePlan grown          # with the ports of these
    int* owner_now          # (ports,)
    vt_real* guess          # (contacts, 3) their impulses
    bint open[MOST_LANES]   # and its equations do not hold yet
    bint closing[MOST_LANES]        # see `Touching`
    bint foretold[MOST_LANES]
    bint still[MOST_LANES]
    bint drifted[MOST_LANES]
    bint idle[MOST_LANES]
    bint old[MOST_LANES]            # its operator is that of a previous step
    bint renews[MOST_LANES]         # and is replaced
    bint changed[MOST_LANES]        # its operator is not that of its home
    int factored[MOST_LANES]        # operators of a step, and solutions by them
    int solves[MOST_LANES]
    int passes[MOST_LANES]
    double turn[MOST_LANES]
    bint jumped[MOST_LANES]         # see `PostContact`
    double goal[MOST_LANES]         # of the contacts
    double before[MOST_LANES]       # residuals of the pass before
    double found_before[MOST_LANES]
    Touch* here             # (contacts,)
    Touch* there
    vt_real* target         # (contacts,) see `Touching`
    vt_real* lam            # (contacts, 3)
    vt_real* way
    vt_real* hold
    vt_real* gap_before
    vt_real* told           # (contacts, TOLD)
    vt_real* friction       # (contacts,) of instances with numbers of their own
    const vt_field* field[MOST_LANES]   # the grounds that are not planes
    bint known              # `there` is of node 1
    vt_real* node_before    # (nq,)
    bint* active            # (contacts, lanes)
    bint* pushed_before
    bint* was               # whether it acted in the step before
    bint* far               # (contacts, lanes) at the end of the step
    int* member             # (count,)
    bint* inside            # (contacts, lanes) whether it is a member
    bint* placed            # (contacts,) it is in `here`
    bint* partly            # (count,) a member of some lanes only
    int* port_of_body       # (nbody,)
    int* port_of_member     # (count,) of joints
    int whole               # ports of bodies, before those of joints
    int* path               # (nbody,) bodies between those in contact and the world, in order
    int* owner              # (ports,) zeros: the tree of each port
    Pose* pose1             # (nbody,)
    Pose* pose2
    Pose* pose3             # of a trial
    bint* stands            # (nbody,)
    int count
    int ports
    int most_ports
    int first               # zeros: of the one tree, its first port, and where its block of P begins
    Py_ssize_t block
    double* stage           # (n,) numbers of lanes that are not asked for
    vt_real moved           # [m] see `Touching`
    vt_real idled
    vt_real moved_there
    vt_real reach
    bint* patch_whole       # (patches,) whether members are rows of a patch
    vt_real* patch_members  # (patches,) members,
    vt_real* patch_count    # these and the points that make the centre,
    vt_real* patch_points   # these points, and the lowest gap: see `centre_patches`
    vt_real* patch_least
    Vec3* patch_centre
    Vec3* patch_slip
    vt_real* patch_turn
    vt_real* rows           # (ports, nv)
    vt_real* answers        # (ports, nv)
    vt_real* P              # (ports, ports)
    vt_real* fresh          # (ports, ports + nv) both of another operator
    SideBody* side          # (nbody,)
    vt_real* u              # (ports,)
    vt_real* T
    vt_real* change
    vt_real* impulse        # (nv,)
    vt_real* residual       # (nv,) where the equations of a lane hold
    vt_real* w              # (rows,)
    vt_real* v              # (nv,)
    TouchRow* W1            # (rows,)
    TouchRow* W2
    Guess past
    ContactProblem cones
    ConeStore store


cdef int touch_lanes_make(TouchLanes* x, Memory memory, const vt_model* m, int most, int members, int joints) except -1:
    # memory for so many contacts, of which some on planes may be in the solve, and joints are
    cdef int rows = 3 * members + joints
    cdef size_t size
    x.most_ports = 6 * min(members, m.nbody) + joints
    x.here, x.there = <Touch*>memory.scratch(most * sizeof(Touch)), <Touch*>memory.scratch(most * sizeof(Touch))
    x.target, x.hold, x.gap_before = memory.scratch_reals(most), memory.scratch_reals(most), memory.scratch_reals(most)
    x.lam, x.way = memory.scratch_reals(3 * most), memory.scratch_reals(3 * most)
    x.told, x.node_before = memory.scratch_reals(TOLD * most), memory.scratch_reals(m.nq)
    x.friction, x.guess = memory.scratch_reals(most), memory.scratch_reals(3 * most)
    x.owner_now = <int*>memory.scratch((x.most_ports + 1) * sizeof(int))
    x.was = <bint*>memory.scratch(most * VT_WIDTH * sizeof(bint))
    x.active, x.far, x.pushed_before = (<bint*>memory.scratch(most * VT_WIDTH * sizeof(bint)),
                                        <bint*>memory.scratch(most * VT_WIDTH * sizeof(bint)),
                                        <bint*>memory.scratch(most * VT_WIDTH * sizeof(bint)))
    x.member, x.partly = <int*>memory.scratch(most * sizeof(int)), <bint*>memory.scratch(most * sizeof(bint))
    x.port_of_member = <int*>memory.scratch(most * sizeof(int))
    x.placed = <bint*>memory.scratch(most * sizeof(bint))
    x.inside = <bint*>memory.scratch(most * VT_WIDTH * sizeof(bint))
    x.port_of_body, x.stands = <int*>memory.scratch(m.nbody * sizeof(int)), <bint*>memory.scratch(m.nbody * sizeof(bint))
    x.owner, x.path = <int*>memory.scratch(x.most_ports * sizeof(int)), <int*>memory.scratch(m.nbody * sizeof(int))
    x.v = memory.scratch_reals(m.nv)
    x.pose1, x.pose2 = <Pose*>memory.scratch(m.nbody * sizeof(Pose)), <Pose*>memory.scratch(m.nbody * sizeof(Pose))
    x.pose3 = <Pose*>memory.scratch(m.nbody * sizeof(Pose))
    x.patch_members, x.patch_count = memory.scratch_reals(most), memory.scratch_reals(most)
    x.patch_turn = memory.scratch_reals(most)
    x.patch_whole = <bint*>memory.scratch(most * sizeof(bint))
    x.patch_points, x.patch_least = memory.scratch_reals(most), memory.scratch_reals(most)
    x.patch_centre, x.patch_slip = <Vec3*>memory.scratch(most * sizeof(Vec3)), <Vec3*>memory.scratch(most * sizeof(Vec3))
    x.rows, x.answers = memory.scratch_reals(x.most_ports * m.nv), memory.scratch_reals(x.most_ports * m.nv)
    x.P = memory.scratch_reals(x.most_ports * x.most_ports)
    x.fresh, x.side = (memory.scratch_reals(x.most_ports * (x.most_ports + m.nv)),
                       <SideBody*>memory.scratch(m.nbody * sizeof(SideBody)))
    x.u, x.T, x.change = (memory.scratch_reals(x.most_ports), memory.scratch_reals(x.most_ports),
                          memory.scratch_reals(x.most_ports))
    x.impulse, x.residual, x.w = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv), memory.scratch_reals(rows)
    x.W1, x.W2 = <TouchRow*>memory.scratch(rows * sizeof(TouchRow)), <TouchRow*>memory.scratch(rows * sizeof(TouchRow))
    guess_make(&x.past, memory, x.most_ports, False)
    size = max(x.most_ports * max(x.most_ports, m.nv), guess_rows(True) * max(m.nv, x.most_ports), TOLD * most,
               m.nbody * max(sizeof(Node), sizeof(Gains), sizeof(MultiGains)) // sizeof(vt_real), m.nq)
    x.stage = <double*>memory.scratch(size * sizeof(double))
    if cones_room(&x.cones, &x.store, members + joints, rows, x.most_ports) != OK:
        raise MemoryError
    return 0


cdef void touch_lanes_free(TouchLanes* x) noexcept nogil:
    cones_free(&x.cones)
    store_free(&x.store)


# ---- from and to the memory of instances -------------------------------------------------------------------


cdef void give(TouchLanes* x, const vt_real* a, int n, double** to, const bint* some) noexcept nogil:
    # n numbers to some lanes
    cdef double* at[MOST_LANES]
    cdef int l
    for l in range(VT_WIDTH):
        at[l] = to[l] if some[l] else x.stage
    vt_scatter_rows(a, at, n)


cdef enum:
    LENT = 21               # arrays of a home
    CHANGES = 16            # those that every step changes are the first ones
    OPERATORS_END = 20      # and those of an operator follow


cdef void list_arrays(ModelStepper self, TouchLanes* x, vt_real** own, int* size) noexcept nogil:
    # the arrays of the block, in the order of `list_lent`, and their sizes
    cdef const HomePlan* plan = x.plan
    cdef Guess* g = self.lane.guess
    cdef OperatorPart part[OPERATOR_PARTS]
    cdef int n = self.nv, bodies = self.shared.m.nbody, touches = plan.contacts > 0
    self.method.operator_parts(self, part)
    own[0], size[0] = self.lane.state.q, self.nq
    own[1], size[1] = self.lane.state.x, n
    own[2], size[2] = g.table, guess_rows(g.rings) * n
    own[3], size[3] = <vt_real*>self.linear.node1, bodies * <int>(sizeof(Node) // sizeof(vt_real))
    own[4], size[4] = self.linear.weight1, n
    own[5], size[5] = x.past.table, guess_rows(False) * plan.ports
    own[6], size[6] = &x.moved, touches
    own[7], size[7] = x.lam, 3 * plan.contacts
    own[8], size[8] = x.way, 3 * plan.contacts
    own[9], size[9] = x.hold, plan.contacts
    own[10], size[10] = x.gap_before, plan.contacts
    own[11], size[11] = x.told, TOLD * plan.contacts
    own[12], size[12] = &x.idled, touches
    own[13], size[13] = x.node_before, self.nq * touches
    own[14], size[14] = self.lane.drive.u_before, self.shared.schedule.nu
    own[15], size[15] = self.lane.drive.tau_before, n
    own[16], size[16] = <vt_real*>part[0].at, <int>(part[0].size // sizeof(vt_real))
    own[17], size[17] = <vt_real*>part[1].at, <int>(part[1].size // sizeof(vt_real))
    own[18], size[18] = x.P, plan.ports * plan.ports
    own[19], size[19] = x.answers, plan.ports * n
    own[20], size[20] = self.lane.drive.tau, n


cdef void list_lent(const Home* h, double** at) noexcept nogil:
    at[0], at[1], at[2], at[3], at[4], at[5], at[6] = h.q, h.x, h.table, h.node, h.weight, h.past_table, h.moved
    at[7], at[8], at[9], at[10], at[11] = h.lam, h.way, h.hold, h.gap_before, h.told
    at[12], at[13], at[14], at[15] = h.idled, h.node_before, h.u_before, h.tau_before
    at[16], at[17], at[18], at[19] = h.gains, h.multi, h.P, h.answers
    at[20] = <double*>h.tau


cdef void list_homes(const TouchLanes* x, double** at) noexcept nogil:
    # the arrays of all homes, (LENT, MOST_LANES)
    cdef double* lent[LENT]
    cdef int k, l
    for l in range(VT_WIDTH):
        list_lent(x.home[l], lent)
        for k in range(LENT):
            at[k * MOST_LANES + l] = lent[k]


cdef inline bint same_ports(const int* owner, const HomePlan* plan, int bodies) noexcept nogil:
    # whether they are those of P: see `past_ports`
    return (memcmp(owner, plan.owner, plan.ports * sizeof(int)) == 0
            and (plan.ports == plan.most_ports or owner[plan.ports] == bodies))


cdef void come_with_numbers(ModelStepper self, TouchLanes* x) noexcept nogil:
    # those of the models and contacts of instances, where any has its own
    cdef const ModelNumbers* given
    cdef bint own = False
    cdef int c, l
    for l in range(VT_WIDTH):
        own = own or x.home[l].numbers != NULL
    use_numbers(self, own)
    for l in range(VT_WIDTH if own else 0):
        given = x.home[l].numbers
        if self.numbers.serial[l] == given.serial:
            continue
        for c in range(x.plan.contacts):
            vt_put(&x.friction[c], l, given.touch[c].friction)
        take_numbers(self, l, given)


cdef inline void touch_ground(const TouchLanes* x, const vt_contact* e, const Pose* pose, Touch* at) noexcept nogil:
    # a point or a sphere
    if e.kind == ON_FIELD:
        touch_field(e, x.field, pose, at)
    else:
        touch_plane(e, pose, at)


cdef inline vt_real friction_in_lanes(const TouchLanes* x, ModelStepper self, int c) noexcept nogil:
    return one_number(x.friction if self.numbers.on else NULL, c, x.plan.touch[c].friction)


cdef void come(ModelStepper self, TouchLanes* x) noexcept nogil:
    # what the steps read
    cdef double* at[LENT * MOST_LANES]
    cdef double* u[MOST_LANES]
    cdef vt_real* own[LENT]
    cdef int size[LENT]
    cdef int i, k, l
    cdef const Home* h
    come_with_numbers(self, x)
    list_arrays(self, x, own, size)
    list_homes(x, at)
    for l in range(VT_WIDTH):
        h = x.home[l]
        u[l] = <double*>h.u
        x.field[l] = h.field
        self.lane.guess.seen[l] = h.seen[0]
        if x.plan.contacts:
            x.past.seen[l] = h.past_seen[0]
        self.lane.operator.pivot_signs[l], self.lane.reuse[l] = h.pivot_signs[0], h.reuse[0]
        x.changed[l], self.lane.drive.varied[l] = False, h.varied[0]
        if not same_ports(h.owner_past, x.plan, self.shared.m.nbody):
            x.past.seen[l].count = 0
        if x.past.seen[l].count == 0:
            x.past.seen[l].h = x.plan.h
        if self.lane.guess.seen[l].count == 0:
            self.lane.guess.seen[l].h = x.plan.h
        for i in range(x.plan.contacts):
            x.active[i * VT_WIDTH + l] = h.active[i] != 0
    for k in range(LENT):
        vt_gather_rows(at + k * MOST_LANES, own[k], size[k])
    vt_gather_rows(u, self.lane.drive.u, self.shared.schedule.nu)
    if x.joining:
        for l in range(VT_WIDTH):
            u[l] = x.home[l].trial.lam
        vt_gather_rows(u, x.guess, 3 * x.plan.contacts)
    forget_held_joints(&x.store)
    self.linear.started[0] = True


cdef inline void note_owners(const TouchLanes* x, int* to, int bodies) noexcept nogil:
    # see `keep_ports`
    memcpy(to, x.plan.owner, x.plan.ports * sizeof(int))
    if x.plan.ports < x.plan.most_ports:
        to[x.plan.ports] = bodies


cdef void go_home(ModelStepper self, TouchLanes* x, const bint* some) noexcept nogil:
    # what the steps of some lanes leave, at node 1
    cdef double* at[LENT * MOST_LANES]
    cdef vt_real* own[LENT]
    cdef int size[LENT]
    cdef int k, l
    cdef Home* h
    list_arrays(self, x, own, size)
    list_homes(x, at)
    for l in range(VT_WIDTH):
        h = x.home[l]
        if not some[l]:
            continue
        h.seen[0], h.varied[0] = self.lane.guess.seen[l], self.lane.drive.varied[l]
        if x.plan.contacts:
            h.jumped[0] = x.jumped[l]
        if x.plan.ports:
            h.past_seen[0] = x.past.seen[l]
            note_owners(x, h.owner_past, self.shared.m.nbody)
        for k in range(x.plan.contacts):
            h.active[k] = PUSHED if x.active[k * VT_WIDTH + l] else 0
            h.pushed_before[k] = x.pushed_before[k * VT_WIDTH + l]
    for k in range(CHANGES):
        give(x, own[k], size[k], at + k * MOST_LANES, some)
    return_operators(self, x, some)


cdef void return_operators(ModelStepper self, TouchLanes* x, const bint* some) noexcept nogil:
    # those of some lanes that differ from those of their homes
    cdef double* at[LENT * MOST_LANES]
    cdef vt_real* own[LENT]
    cdef int size[LENT]
    cdef bint those[MOST_LANES]
    cdef int k, l
    for l in range(VT_WIDTH):
        those[l] = some[l] and x.changed[l]
    if not any_of(those):
        return
    list_arrays(self, x, own, size)
    list_homes(x, at)
    for l in range(VT_WIDTH):
        if those[l]:
            x.home[l].pivot_signs[0], x.changed[l] = self.lane.operator.pivot_signs[l], False
            if x.plan == &x.grown:
                note_owners(x, x.home[l].owner, self.shared.m.nbody)
    for k in range(CHANGES, OPERATORS_END):
        give(x, own[k], size[k], at + k * MOST_LANES, those)


# ---- node 1 ------------------------------------------------------------------------------------------------


cdef void stand_at(ModelStepper self, const Node* node, Pose* pose) noexcept nogil:
    # the bodies of a node
    cdef int i, up
    for i in range(self.shared.m.nbody):
        up = self.shared.m.body[i].parent
        pose[i].R, pose[i].t = node[i].R, node[i].t
        if up >= 0:
            pose[i].o = add(pose[up].o, node[i].t)
        else:
            pose[i].o = node[i].t


cdef void stay_where(TouchLanes* x, vt_mask that) noexcept nogil:
    # lanes for which something does not hold leave
    cdef vt_real one = vt_select(that, vt_set1(1.0), vt_set1(0.0))
    cdef int l
    for l in range(VT_WIDTH):
        if vt_get(one, l) == 0.0:
            x.on[l] = x.open[l] = False


cdef vt_real apart_at_least(const vt_pair* p, const Pose* pose) noexcept nogil:
    # [m] the distance of the balls about two shapes, the second of which may be a half-space
    cdef const vt_shape* a = p.shape_a
    cdef const vt_shape* b = p.shape_b
    cdef Vec3 d = placed(pose, a.body, a.middle)
    if b.reach == INFINITY:
        return dot(constant3(b.face), d) - (b.face[3] + a.reach + p.softness)
    d = sub(d, placed(pose, b.body, b.middle))
    return vt_sqrt(dot(d, d)) - (a.reach + b.reach + p.softness)


cdef inline bint has_gap(const vt_contact* e) noexcept nogil:
    # in lanes
    return on_ground(e) or e.kind == SEGMENTS or e.kind == AT_LIMIT or e.kind == RUBS


cdef bint place_contact(const TouchLanes* x, int c, const vt_real* q, const Pose* pose, Touch* at) noexcept nogil:
    # a contact at a node, unless it is far away in all lanes; whether it is placed. Points and spheres are on planes always
    cdef const vt_contact* e = &x.plan.touch[c]
    cdef bint near = False
    cdef int l
    if on_ground(e):
        touch_ground(x, e, pose, at)
        return True
    if e.kind == AT_LIMIT or e.kind == RUBS:
        at.gap = gap_of_coordinate(e, q[e.iq])
        return True
    for l in range(VT_WIDTH if e.kind == SEGMENTS else 0):
        near = near or not x.far[c * VT_WIDTH + l]
    if near:
        touch_segments(e, pose, at)
    return near


cdef inline vt_real away_by(vt_real moved) noexcept nogil:
    # [m] the distance beyond which a contact is far away, by what points within the balls moved in a step
    return 2.0 * FORESEEN * moved + AWAY


cdef void judge_far(TouchLanes* x, const Pose* pose, vt_real moved) noexcept nogil:
    # which contacts are far away, by what points within the balls moved in a step. All have to be but those of points and
    # spheres with planes, of spheres and capsules, and limits, which may be near
    cdef const HomePlan* plan = x.plan
    cdef const TouchSpan* on
    cdef const vt_contact* e
    cdef Vec3 d
    cdef vt_real away = away_by(moved), more, gap
    cdef int k, c, l
    for k in range(plan.pairs):
        stay_where(x, vt_lt(away + APART, apart_at_least(&plan.pair[k], pose)))
    for k in range(plan.spans):
        on = &plan.span[k]
        if on.pair >= 0:
            continue
        e = &plan.touch[on.first]
        gap = more = vt_set1(0.0)
        if plan.culls and on.ball >= 0:
            d, more = placed(pose, plan.ball[on.ball].body, plan.ball[on.ball].center), away + on.radius
            if on.other >= 0:
                d = sub(d, placed(pose, plan.ball[on.other].body, plan.ball[on.other].center))
                gap, more = dot(d, d), more * more
            else:
                gap = dot(constant3(e.normal), d) - e.offset
        if not has_gap(e):
            stay_where(x, vt_lt(more, gap))
        for c in range(on.first, on.end):
            for l in range(VT_WIDTH):
                x.far[c * VT_WIDTH + l] = vt_get(gap, l) > vt_get(more, l)


cdef bint touch_node(ModelStepper self, TouchLanes* x) noexcept nogil:
    # contacts at node 1, and those in the solve of any lane; whether there are any
    cdef const HomePlan* plan = x.plan
    cdef const vt_contact* e
    cdef Touch* at
    cdef vt_real least = vt_set1(INFINITY), most = vt_set1(0.0), away = away_by(x.moved)
    cdef bint* inside
    cdef bint near, some
    cdef double gap, before
    cdef int c, l, k
    stand_at(self, self.linear.node1, x.pose1)
    x.reach = vt_set1(1.0)
    for k in range(self.shared.m.nbody):
        x.reach = vt_max(x.reach, dot(x.pose1[k].o, x.pose1[k].o))
    x.reach = vt_sqrt(x.reach)
    judge_far(x, x.pose1, x.moved)
    for k in range(self.shared.m.nbody):
        x.port_of_body[k] = -1
    for k in range(plan.ports):
        if plan.owner[k] >= 0:
            x.port_of_body[plan.owner[k]] = k
    x.count = 0
    for c in range(plan.contacts):
        e, at, inside, some = &plan.touch[c], &x.here[c], &x.inside[c * VT_WIDTH], False
        memset(inside, 0, VT_WIDTH * sizeof(bint))
        if x.known and e.kind == ON_FIELD:
            at[0], x.placed[c] = x.there[c], True
        else:
            x.placed[c] = place_contact(x, c, self.lane.state.q, x.pose1, at)
        if not x.placed[c]:
            continue
        if e.kind == RUBS:
            # a joint that stuck keeps its place: see `admit`
            for l in range(VT_WIDTH):
                inside[l] = True
                vt_put(&x.target[c], l, vt_get(x.hold[c] if x.active[c * VT_WIDTH + l] and vt_get(x.way[3 * c], l) == 0.0
                                               else at.gap, l))
            add_member(x, c)
            continue
        if on_ground(e):
            across(at)
        for l in range(VT_WIDTH):
            gap, before = vt_get(at.gap, l), vt_get(x.gap_before[c], l)
            inside[l] = x.active[c * VT_WIDTH + l]
            if x.far[c * VT_WIDTH + l] and not inside[l]:
                gap = INFINITY
            vt_put(&x.target[c], l, vt_get(x.hold[c], l) if inside[l] else bound_of(e, gap))
            near = plan.culls and e.patch < 0 and not (gap > vt_get(away, l) and plan.ball_of[c] >= 0)
            # it acted, it rests, or it closes soon: see `admit`
            inside[l] = inside[l] or (gap <= RESTING_GAP and before <= RESTING_GAP) or (
                near and gap - before < 0.0 and gap + FORESEEN * (gap - before) < 0.0)
            if x.joining:
                inside[l] = x.home[l].trial.inside[c]
            elif inside[l] and (not on_ground(e) or x.port_of_body[e.body_a] < 0):
                # at a limit, or of a body without a response
                x.on[l] = x.open[l] = inside[l] = False
            some = some or (x.on[l] and inside[l])
            if not inside[l] and near:
                vt_put(&least, l, min(vt_get(least, l), gap))
                vt_put(&most, l, max(vt_get(most, l), fabs(gap - before)))
        if some:
            add_member(x, c)
    for l in range(VT_WIDTH):
        x.closing[l] = x.home[l].trial.closing if x.joining else vt_get(least, l) < FORESEEN * vt_get(most, l)
    return x.count > 0 and any_of(x.on)


cdef inline void add_member(TouchLanes* x, int c) noexcept nogil:
    # a contact that is inside in some lanes; those that are not on may have any
    cdef bint* inside = &x.inside[c * VT_WIDTH]
    cdef int l
    x.member[x.count], x.partly[x.count] = c, False
    for l in range(VT_WIDTH):
        inside[l] = inside[l] or not x.on[l]
        x.partly[x.count] = x.partly[x.count] or not inside[l]
    x.count += 1


cdef inline bint patched(const TouchLanes* x, const vt_contact* e) noexcept nogil:
    return e.patch >= 0 and x.patch_whole[e.patch]


cdef inline Vec3 point_of(const TouchLanes* x, int c) noexcept nogil:
    # the material point of the body, in its axes
    return tmul(x.pose1[x.plan.touch[c].body_a].R, x.here[c].arm_a)


cdef inline vt_mask has_member(const TouchLanes* x, int k) noexcept nogil:
    # the lanes
    return where(&x.inside[x.member[k] * VT_WIDTH])


cdef inline Vec3 where3(vt_mask some, Vec3 a) noexcept nogil:
    cdef vt_real zero = vt_set1(0.0)
    return vec3(vt_select(some, a.x, zero), vt_select(some, a.y, zero), vt_select(some, a.z, zero))


cdef void centre_lane_patches(TouchLanes* x) noexcept nogil:
    # see `centre_patches`
    cdef const HomePlan* plan = x.plan
    cdef vt_real infinity = vt_set1(INFINITY), zero = vt_set1(0.0), one = vt_set1(1.0)
    cdef vt_mask active, lower, central
    cdef int k, c, p
    for p in range(plan.patches):
        x.patch_centre[p], x.patch_points[p], x.patch_least[p] = zero3(), zero, infinity
        x.patch_members[p] = x.patch_count[p] = zero
    for k in range(x.count):
        p = plan.touch[x.member[k]].patch
        if p >= 0:
            x.patch_members[p] = x.patch_members[p] + vt_select(has_member(x, k), one, zero)
    for c in range(plan.contacts):
        p = plan.touch[c].patch
        if p >= 0:
            active = where(&x.active[c * VT_WIDTH])
            lower = vt_lt(x.here[c].gap, x.patch_least[p])
            x.patch_least[p] = vt_select(lower, x.here[c].gap, x.patch_least[p])
            x.patch_least[p] = vt_select(active, -infinity, x.patch_least[p])
    for c in range(plan.contacts):
        p = plan.touch[c].patch
        if p >= 0:
            active = where(&x.active[c * VT_WIDTH])
            central = active | vt_le(x.here[c].gap, x.patch_least[p] + LEVEL)
            x.patch_centre[p] = add(x.patch_centre[p], where3(central, point_of(x, c)))
            x.patch_points[p] = x.patch_points[p] + vt_select(central, one, zero)
            x.patch_count[p] = x.patch_count[p] + vt_select(central | where(&x.inside[c * VT_WIDTH]), one, zero)
    for p in range(plan.patches):
        x.patch_centre[p] = scale(one / vt_select(vt_lt(one, x.patch_points[p]), x.patch_points[p], one), x.patch_centre[p])


cdef void compare_members(TouchLanes* x, int bodies) noexcept nogil:
    # lanes leave where others touch with more bodies than they do, or with more points of a body that has one there, or where
    # the problem without the other rows would be solved in another way
    cdef const HomePlan* plan = x.plan
    cdef const vt_contact* e
    cdef bint touched[MOST_LANES]
    cdef bint apart = False
    cdef int rows[MOST_LANES]
    cdef int i, k, p, l, most = 0
    memset(rows, 0, VT_WIDTH * sizeof(int))
    for k in range(x.count):
        e = &plan.touch[x.member[k]]
        apart = apart or x.partly[k]
        most += e.dim
        for l in range(VT_WIDTH):
            if x.inside[x.member[k] * VT_WIDTH + l]:
                rows[l] += e.dim
    for p in range(plan.patches):
        x.patch_whole[p] = False
        for l in range(VT_WIDTH):
            x.patch_whole[p] = x.patch_whole[p] or (
                x.on[l] and vt_get(x.patch_members[p], l) > 0.0 and vt_get(x.patch_count[p], l) > 1.0)
        for l in range(VT_WIDTH):
            if x.patch_whole[p] and vt_get(x.patch_members[p], l) == vt_get(x.patch_count[p], l) == 1.0:
                x.on[l] = x.open[l] = False
    for l in range(VT_WIDTH):
        vt_put(&x.cones.price, l, max(1.0, rows[l] / DENSE_ROWS))
        if rows[l] != most and (2 * x.ports > 3 * rows[l] or (x.whole < x.ports and rows[l] <= x.ports)):
            x.on[l] = x.open[l] = False
    for i in range(bodies if apart else 0):
        if x.port_of_body[i] < 0:
            continue
        memset(touched, 0, VT_WIDTH * sizeof(bint))
        for k in range(x.count):
            for l in range(VT_WIDTH if plan.touch[x.member[k]].body_a == i else 0):
                touched[l] = touched[l] or x.inside[x.member[k] * VT_WIDTH + l]
        for l in range(VT_WIDTH):
            x.on[l], x.open[l] = x.on[l] and touched[l], x.open[l] and touched[l]


cdef bint gather_members(ModelStepper self, TouchLanes* x, const vt_real* guess, int width, bint slides) noexcept nogil:
    # cones, ports and rows at node 1, and guesses of the impulses, rows of which have a width; whether lanes remain. slides:
    # half of the friction is against the slip of the last step; else it is that of the last step at its node 2
    cdef const HomePlan* plan = x.plan
    cdef const vt_contact* e
    cdef const Touch* at
    cdef ContactProblem* y = &x.cones
    cdef TouchTree on
    cdef Vec3 lam, way, arm
    cdef vt_mask slid_before
    cdef vt_real zero = vt_set1(0.0), mu
    cdef int k, c, i, l, n = 0
    for i in range(self.shared.m.nbody):
        x.port_of_body[i] = -1
    for k in range(x.count):
        if on_ground(&plan.touch[x.member[k]]):
            x.port_of_body[plan.touch[x.member[k]].body_a] = 0
    on.body, on.body_end, on.v, on.v_end = 0, self.shared.m.nbody, 0, self.nv
    x.ports = 0
    for i in range(self.shared.m.nbody):
        if x.port_of_body[i] < 0:
            continue
        if x.ports + 6 > x.most_ports:
            return False
        x.port_of_body[i] = x.ports
        body_ports(self.shared.m, x.pose1, i, &on, x.rows + x.ports * self.nv)
        x.ports += 6
    x.whole = x.ports
    for k in range(x.count):
        e = &plan.touch[x.member[k]]
        if e.kind != RUBS:
            continue
        if x.ports == x.most_ports:
            return False
        x.port_of_member[k] = x.ports
        memset(x.rows + x.ports * self.nv, 0, self.nv * sizeof(vt_real))
        x.rows[x.ports * self.nv + e.iv] = vt_set1(e.sign)
        x.ports += 1
    centre_lane_patches(x)
    compare_members(x, self.shared.m.nbody)
    if not any_of(x.on):
        return False
    for k in range(x.count):
        c = x.member[k]
        e, at = &plan.touch[c], &x.here[c]
        y.dim[k], y.row[k], y.law[k], y.patch[k] = e.dim, n, CONE, e.patch
        if e.patch >= 0:
            arm = where3(has_member(x, k), sub(at.arm_a, mul(x.pose1[e.body_a].R, x.patch_centre[e.patch])))
            y.place[2 * k], y.place[2 * k + 1] = dot(arm, at.t1), dot(arm, at.t2)
        y.even[k] = vt_select(has_member(x, k), vt_set1(1.0), zero)
        y.give[k] = zero
        mu = friction_in_lanes(x, self, c)
        for i in range(LEADS):
            y.lead[LEADS * k + i] = zero
        if e.kind == RUBS:
            gather_joint(self, x, k, load3(guess + width * c), slides)
            n += 1
            continue
        lam = where3(has_member(x, k), load3(guess + width * c))
        y.lam[n] = dot(lam, at.n)
        if e.dim >= 3:
            y.lam[n + 1], y.lam[n + 2] = dot(lam, at.t1), dot(lam, at.t2)
        if e.dim >= 3 and slides:
            way = load3(x.way + 3 * c)
            slid_before = vt_lt(zero, vt_abs(way.x) + vt_abs(way.y) + vt_abs(way.z))
            mu = vt_select(slid_before, mu * 0.5, mu)
            y.lead[LEADS * k] = vt_select(slid_before, -mu * dot(way, at.t1), zero)
            y.lead[LEADS * k + 1] = vt_select(slid_before, -mu * dot(way, at.t2), zero)
        y.mu[k] = mu
        n += e.dim
    y.count, y.n, y.planned, y.budget = x.count, n, False, vt_set1(STEP_BUDGET)
    for l in range(VT_WIDTH if x.joining and slides else 0):
        vt_put(&y.budget, l, max(x.home[l].trial.budget, JOINED_BUDGET))
    write_lane_rows(x, x.here, x.pose1, x.W1, False)
    # what has used up its corrections has more of them where rows are few
    return not (x.joining and slides and n > FEW_ROWS)


cdef void gather_joint(ModelStepper self, TouchLanes* x, int k, Vec3 lam, bint slides) noexcept nogil:
    # the law of a joint with dry friction: see `contact_gather` and `post_contact_velocity`
    cdef ContactProblem* y = &x.cones
    cdef const vt_real* way = x.way + 3 * x.member[k]
    cdef double h = fabs(self.lane.now.h), share = x.plan.node_share
    cdef vt_real zero = vt_set1(0.0), friction = friction_in_lanes(x, self, x.member[k])
    y.law[k] = RUB
    y.lam[y.row[k]] = lam.x
    if not slides:
        y.mu[k] = (1.0 - share) * friction * vt_abs(x.told[TOLD * x.member[k] + 5])
        return
    y.mu[k] = share * friction * h
    y.lead[LEADS * k] = way[2] - (1.0 - share) * friction * way[1] * way[0]
    y.mu[k] = vt_select(vt_lt(zero, vt_abs(way[0])), y.mu[k], y.mu[k] + (1.0 - share) * friction * way[1])


cdef bint ports_at_hand(const TouchLanes* x) noexcept nogil:
    # whether P is that of the members
    cdef int p = 0, k
    if x.ports != x.plan.ports:
        return False
    while p < x.whole:
        # one of a limit's has no body
        if x.plan.owner[p] < 0 or x.port_of_body[x.plan.owner[p]] != p:
            return False
        p += 6
    for k in range(x.count):
        if x.plan.touch[x.member[k]].kind == RUBS and x.plan.owner[x.port_of_member[k]] != -1 - x.member[k]:
            return False
    return True


cdef void write_lane_rows(TouchLanes* x, const Touch* list, const Pose* pose, TouchRow* W, bint end) noexcept nogil:
    # see `write_rows`
    cdef const vt_contact* e
    cdef const Touch* at
    cdef const Touch* before
    cdef TouchRow* to
    cdef PatchFrame patch
    cdef Vec3 arm, t
    cdef int k, c, j
    patch.patch = -1
    for k in range(x.count):
        c = x.member[k]
        e, at, before, to = &x.plan.touch[c], &list[c], &x.here[c], W + x.cones.row[k]
        if e.kind == RUBS:
            to.a, to.b, to.size, to.on_a[0] = x.port_of_member[k], -1, 1, vt_set1(1.0)
            continue
        to.a, to.b, to.size = x.port_of_body[e.body_a], -1, 6
        put_wrench(to.on_a, at.arm_a, at.n, zero3())
        if e.dim > 1 and patched(x, e):
            patch_rows(e, before, point_of(x, c), x.patch_centre[e.patch], x.patch_turn[e.patch], x.pose1, pose, end, &patch,
                       to.a, -1, to + 1)
        elif e.dim > 1:
            arm = axpy(vt_set1(-0.0), before.n, before.arm_a)
            for j in range(2):
                t = before.t1
                if j:
                    t = before.t2
                to[1 + j].a, to[1 + j].b, to[1 + j].size = to.a, -1, 6
                if end:
                    slip_row(&x.pose1[e.body_a].R, &pose[e.body_a].R, arm, before.n,
                             rolling_lever(e, e.radius_a, vt_set1(0.0)), t, to[1 + j].on_a)
                else:
                    put_wrench(to[1 + j].on_a, arm, t, zero3())
        for j in range(e.dim if x.partly[k] else 0):
            store3(to[j].on_a, where3(has_member(x, k), load3(to[j].on_a)))
            store3(to[j].on_a + 3, where3(has_member(x, k), load3(to[j].on_a + 3)))


# ---- passes ------------------------------------------------------------------------------------------------


cdef void stand_touched_bodies(ModelStepper self, TouchLanes* x) noexcept nogil:
    # R2 = D R1, o2 = o1 + move
    cdef const Trial* trial = self.linear.trial
    cdef const Pose* at
    cdef Pose* to
    cdef int body, i, up
    for body in range(self.shared.m.nbody):
        x.stands[body] = False
    for body in range(self.shared.m.nbody - 1, -1, -1):
        i = body if x.port_of_body[body] >= 0 else -1
        while i >= 0 and not x.stands[i]:
            at, to, x.stands[i] = &x.pose1[i], &x.pose2[i], True
            to.R = mat3(turned(&trial[i], at.R.x), turned(&trial[i], at.R.y), turned(&trial[i], at.R.z))
            to.o = add(at.o, trial[i].move)
            up = self.shared.m.body[i].parent
            if up >= 0:
                to.t = add(at.t, sub(trial[i].move, trial[up].move))
            else:
                to.t = to.o
            i = up


cdef void measure_members(ModelStepper self, TouchLanes* x) noexcept nogil:
    # see `measure_touches`
    cdef const vt_contact* e
    cdef const Touch* at
    cdef Vec3 s
    cdef double inverse = 1.0 / self.lane.now.h
    cdef int k, c, o
    for k in range(x.count):
        c = x.member[k]
        e = &x.plan.touch[c]
        if e.kind == RUBS:
            x.there[c].gap = gap_of_coordinate(e, self.lane.state.q[e.iq] + self.lane.newton.y[e.iv])
        else:
            touch_ground(x, e, x.pose2, &x.there[c])
    for k in range(x.count):
        c = x.member[k]
        e = &x.plan.touch[c]
        if patched(x, e):
            x.patch_slip[e.patch] = patch_moved(&x.pose1[e.body_a], &x.pose2[e.body_a], x.patch_centre[e.patch])
            x.patch_turn[e.patch] = dot(x.here[c].n, turn_between(&x.pose1[e.body_a].R, &x.pose2[e.body_a].R))
    for k in range(x.count):
        c, o = x.member[k], x.cones.row[k]
        e, at = &x.plan.touch[c], &x.here[c]
        x.w[o] = (x.there[c].gap - x.target[c]) * inverse
        if x.partly[k]:
            x.w[o] = vt_select(has_member(x, k), x.w[o], vt_set1(0.0))
        if e.dim == 1:
            continue
        if patched(x, e):
            s = patch_slip(&x.pose1[e.body_a], &x.pose2[e.body_a], point_of(x, c), x.patch_centre[e.patch], at.n,
                           x.patch_turn[e.patch], x.patch_slip[e.patch])
        else:
            s = slid(e, at, x.pose1, x.pose2)
        if x.partly[k]:
            s = where3(has_member(x, k), s)
        x.w[o + 1], x.w[o + 2] = dot(at.t1, s) * inverse, dot(at.t2, s) * inverse


cdef void couple_members(TouchLanes* x, const TouchRow* W2) noexcept nogil:
    # G = W2^T P W1; lanes whose contacts respond to their own impulses with the opposite sign leave
    cdef ContactProblem* y = &x.cones
    cdef PortTrees on
    cdef int k, j
    on.count, on.first, on.size, on.of_port, on.at, on.base, on.whole = 1, &x.first, &x.ports, x.owner, &x.block, 0, x.whole
    cones_product(y, x.W1, W2, x.P if W2 == x.W2 else x.fresh, &on, 0, x.ports)
    cones_diagonal(y)
    for k in range(x.count):
        for j in range(y.row[k], y.row[k] + (y.dim[k] if x.partly[k] else 0)):
            y.diagonal[j] = vt_select(has_member(x, k), y.diagonal[j], vt_set1(1.0))
        stay_where(x, vt_lt(vt_set1(0.0), y.diagonal[y.row[k]]))


cdef void sum_members(TouchLanes* x, const vt_real* lam, vt_real* u) noexcept nogil:
    # u = W1 lam
    cdef int k
    memset(u, 0, x.ports * sizeof(vt_real))
    for k in range(x.cones.n):
        add_touch_row(&x.W1[k], lam[k], u)


cdef void push_of_ports(ModelStepper self, const TouchLanes* x, const vt_real* u, vt_real* out) noexcept nogil:
    # out (nv,) += rows^T u
    cdef const vt_contact* e
    cdef int k
    for k in range(x.whole):
        vt_add_row(self.nv, u[k], x.rows + k * self.nv, out)
    for k in range(x.count if x.whole < x.ports else 0):
        e = &x.plan.touch[x.member[k]]
        if e.kind == RUBS:
            out[e.iv] += u[x.port_of_member[k]] * e.sign


cdef void kick(ModelStepper self, TouchLanes* x) noexcept nogil:
    memset(x.impulse, 0, self.nv * sizeof(vt_real))
    push_of_ports(self, x, x.u, x.impulse)


cdef vt_real members_residual(TouchLanes* x) noexcept nogil:
    # see `touch_residual`
    cdef ContactProblem* y = &x.cones
    cdef int k
    for k in range(y.n):
        y.b[k] = vt_set1(0.0)
    cone_velocities(y, y.lam, y.w)
    for k in range(y.n):
        y.b[k] = x.w[k] - y.w[k]
        y.w[k] = x.w[k]
    for k in range(y.count):
        y.b[y.row[k]] += y.give[k] * y.lam[y.row[k]]
        y.w[y.row[k]] += y.give[k] * y.lam[y.row[k]]
    return cone_judge(y, y.lam, y.w, y.F, False)


cdef inline vt_real members_speed(TouchLanes* x) noexcept nogil:
    cdef vt_real a = largest(x.cones.b, x.cones.n), b = largest(x.w, x.cones.n)
    cdef int l
    for l in range(VT_WIDTH):
        vt_put(&a, l, max(vt_get(a, l), vt_get(b, l)))
    return a


cdef void begin_passes(ModelStepper self, TouchLanes* x) noexcept nogil:
    # the predicted increment and impulses, or current impulses where there are no past ones; trees at rest are held still
    cdef Newton* newton = &self.lane.newton
    cdef vt_real size = largest(newton.y, self.nv)
    cdef vt_mask still = vt_le(size, STILL * x.reach)
    cdef vt_real one = vt_select(still, vt_set1(1.0), vt_set1(0.0))
    cdef int k, l
    for k in range(self.nv):
        newton.y[k] = vt_select(still, vt_set1(0.0), newton.y[k])
    guess_scale(&x.past, x.ports, self.lane.now.h)
    guess_predict(&x.past, x.ports, 0, x.u)
    sum_members(x, x.cones.lam, x.T)
    for l in range(VT_WIDTH):
        x.foretold[l] = x.past.seen[l].count > 1 and not newton.guesses[l] and not x.joining
    for k in range(x.ports):
        x.u[k] = vt_select(where(x.foretold), x.u[k], x.T[k])
    kick(self, x)
    for l in range(VT_WIDTH):
        x.still[l] = vt_get(one, l) != 0.0
        x.drifted[l], x.idle[l], x.old[l], x.goal[l] = False, True, True, 0.0
        x.before[l] = x.found_before[l] = INFINITY
        x.factored[l] = x.solves[l] = 0
        newton.now[l].required_signs, newton.now[l].signs_ok = EVEN, True
        self.lane.now[l].iterations = 0
        self.lane.reuse[l].age += 1
        x.renews[l] = not x.joining and renews(&self.lane.reuse[l], &self.shared.choices.costs, step_number(self, l))
        self.lane.reuse[l].aged = False
        if x.joining:
            if x.home[l].trial.factored:
                self.lane.reuse[l].age = 0
            x.factored[l], x.solves[l] = x.home[l].trial.factored, x.home[l].trial.solves
            self.lane.now[l].iterations = x.home[l].trial.corrections


cdef void grow_ports(ModelStepper self, TouchLanes* x) noexcept nogil:
    # lanes in which contacts have joined: where these are of other bodies, P and past impulses are not those at hand
    cdef double* at[MOST_LANES]
    cdef int i, k, l
    if ports_at_hand(x):
        return
    x.grown = x.plan[0]
    x.grown.ports, x.grown.owner = x.ports, x.owner_now
    for i in range(self.shared.m.nbody):
        for k in range(6 if x.port_of_body[i] >= 0 else 0):
            x.owner_now[x.port_of_body[i] + k] = i
    for k in range(x.count):
        if x.plan.touch[x.member[k]].kind == RUBS:
            x.owner_now[x.port_of_member[k]] = -1 - x.member[k]
    for l in range(VT_WIDTH):
        x.past.seen[l].count, x.past.seen[l].h = 0, x.plan.h
        at[l] = x.home[l].past_table
    # of which more remains as it is
    vt_gather_rows(at, x.past.table, guess_rows(False) * x.ports)
    x.plan = &x.grown


cdef void take_trials(ModelStepper self, TouchLanes* x) noexcept nogil:
    # their increments
    cdef double* at[MOST_LANES]
    cdef int l
    for l in range(VT_WIDTH):
        at[l] = x.home[l].trial.y
    vt_gather_rows(at, self.lane.newton.y, self.nv)


cdef vt_real stay_in_lanes(ModelStepper self, TouchLanes* x, vt_real e) noexcept nogil:
    # the current impulses rather than the predicted u, in lanes where they are sufficient; returns the residual
    cdef Newton* newton = &self.lane.newton
    cdef const Choices* c = &self.shared.choices
    cdef bint stays[MOST_LANES]
    cdef vt_real one, other
    cdef vt_mask some
    cdef int k, l
    sum_members(x, x.cones.lam, x.T)
    for k in range(x.ports):
        x.change[k] = x.u[k] - x.T[k]
    memset(newton.d, 0, self.nv * sizeof(vt_real))
    push_of_ports(self, x, x.change, newton.d)
    one = weighted(c, 0, self.nv, newton.r, largest(newton.r, self.nv))
    other = weighted(c, 0, self.nv, newton.d, largest(newton.d, self.nv))
    for l in range(VT_WIDTH):
        stays[l] = x.foretold[l] and (x.still[l] or not vt_get(one, l) + vt_get(other, l) > newton.now[l].goal)
        x.foretold[l] = x.foretold[l] and not stays[l]
    if not any_of(stays):
        return e
    some = where(stays)
    for k in range(x.ports):
        x.u[k] = vt_select(some, x.T[k], x.u[k])
    for k in range(self.nv):
        newton.r[k] = vt_select(some, newton.r[k] + newton.d[k], newton.r[k])
    kick(self, x)
    one = weighted(c, 0, self.nv, newton.r, largest(newton.r, self.nv))
    return vt_select(some, one, e)


cdef void note_errors(ModelStepper self, TouchLanes* x, vt_real e) noexcept nogil:
    cdef int l
    for l in range(VT_WIDTH):
        if x.open[l]:
            self.lane.newton.now[l].error = self.lane.now[l].error = vt_get(e, l)


cdef void set_goals(ModelStepper self, TouchLanes* x, vt_real scale) noexcept nogil:
    # of the momenta
    cdef Choices* c = &self.shared.choices
    cdef Pass* p
    cdef int l
    for l in range(VT_WIDTH):
        p = &self.lane.newton.now[l]
        if x.open[l]:
            p.scale = vt_get(scale, l)
            p.goal = max(c.tolerance * p.scale, rounding_of(c, l) * fabs(self.lane.now.h))


cdef void close_lane(ModelStepper self, TouchLanes* x, int l, int k, double turn) noexcept nogil:
    # the equations of a lane hold after k corrections
    cdef int j
    x.open[l] = False
    if not (self.lane.newton.now[l].signs_ok and turn < LONG_TURN):
        x.on[l] = False
        return
    x.passes[l], x.turn[l] = k, turn
    for j in range(self.nv):
        vt_put(&x.residual[j], l, vt_get(self.lane.newton.r[j], l))


cdef void solve_in_lanes(ModelStepper self, TouchLanes* x) noexcept nogil:
    # Newton corrections of the increment and, at its velocities, impulses that solve the cones, in the lanes that are open;
    # see `variational_iterate_touches`
    cdef Newton* newton = &self.lane.newton
    cdef Pass* p
    cdef vt_real e, found, speed, turn, scale = vt_set1(0.0)
    cdef bint factors[MOST_LANES]
    cdef int k, l
    newton.impulse = x.impulse
    for k in range(LANE_PASSES):
        e = variational_residual(self)
        for l in range(VT_WIDTH):
            if not isfinite(vt_get(e, l)):
                x.on[l] = x.open[l] = False
        if k == 0:
            scale = variational_scale(self)
        scale = vt_max_nan(scale, largest(x.impulse, self.nv))
        set_goals(self, x, scale)
        stand_touched_bodies(self, x)
        if k == 1:
            look_for_closed(self, x)
        measure_members(self, x)
        if k == 0:
            write_lane_rows(x, x.there, x.pose2, x.W2, True)
        if k == 0 and x.plan == &x.grown:
            # there is no operator for these ports
            note_errors(self, x, e)
            factor_in_lanes(self, x, x.open)
            couple_members(x, x.W2)
            correct_in_lanes(self, x, k)
            if not any_of(x.open):
                return
            continue
        if k == 0:
            couple_members(x, x.W2)
            e = stay_in_lanes(self, x, e)
        note_errors(self, x, e)
        found = members_residual(x)
        speed, turn = members_speed(x), largest_turn(self.shared.m, newton.y)
        for l in range(VT_WIDTH):
            factors[l] = False
            if not x.open[l]:
                continue
            p = &newton.now[l]
            if k == 0:
                factors[l] = x.renews[l]
            if x.foretold[l]:
                vt_put(&found, l, INFINITY)
                continue
            x.goal[l] = goal_of_contacts(self.shared.choices.tolerance, vt_get(speed, l), vt_get(x.reach, l), self.lane.now.h)
            if k == 1:
                self.lane.reuse[l].aged = p.error > AGED * p.goal or vt_get(found, l) > AGED * x.goal[l]
            if p.error <= p.goal and vt_get(found, l) <= x.goal[l]:
                close_lane(self, x, l, k, vt_get(turn, l))
                factors[l] = False
            elif k > 0:
                factors[l] = ((p.error > p.goal and not worth_another(p.error, x.before[l], p.goal, p.scale, x.old[l]))
                              or (vt_get(found, l) > x.goal[l] and not worth_another(
                                  vt_get(found, l), x.found_before[l], x.goal[l], vt_get(speed, l), x.old[l])))
        if not any_of(x.open):
            return
        if k > 0:
            write_lane_rows(x, x.there, x.pose2, x.W2, True)
        if any_of(factors):
            factor_in_lanes(self, x, factors)
        if k > 0 or any_of(factors):
            couple_members(x, x.W2)
        correct_in_lanes(self, x, k)
        if not any_of(x.open):
            return
    for l in range(VT_WIDTH):
        if x.open[l]:
            x.on[l] = x.open[l] = False


cdef void look_for_closed(ModelStepper self, TouchLanes* x) noexcept nogil:
    # lanes leave in which the first correction closes contacts that are likely to, and others stand by the coordinates; other
    # contacts are looked for at the end
    cdef bint closed[MOST_LANES]
    cdef vt_mask likely
    cdef vt_real* to
    cdef const vt_real* at
    cdef int i, k, l
    for l in range(VT_WIDTH):
        closed[l] = x.open[l] and x.closing[l]
    if not any_of(closed):
        return
    lt_advance_q(self.shared.m, self.lane.state.q, self.lane.newton.y, self.lane.state.q2)
    lt_node(self.shared.m, self.lane.state.q2, self.linear.kernel.split, self.linear.node2)
    stand_at(self, self.linear.node2, x.pose3)
    likely = where(closed)
    find_closed(self, x, x.pose3, closed)
    for l in range(VT_WIDTH):
        if closed[l]:
            lend_trial(self, x, l, 2, 0, False)
    for i in range(self.shared.m.nbody):
        at, to = <const vt_real*>&x.pose3[i], <vt_real*>&x.pose2[i]
        for k in range(<int>(sizeof(Pose) // sizeof(vt_real)) if x.port_of_body[i] >= 0 else 0):
            to[k] = vt_select(likely, at[k], to[k])


cdef inline bint closes_in(const TouchLanes* x, int c, int l) noexcept nogil:
    # whether a contact that is no member closes at node 2
    return (not x.inside[c * VT_WIDTH + l] and not (x.far[c * VT_WIDTH + l] and not x.active[c * VT_WIDTH + l])
            and vt_get(x.there[c].gap, l) < vt_get(x.target[c], l) - CLOSES)


cdef unsigned long long note_inside(const TouchLanes* x, int l, int* inside) noexcept nogil:
    # the members of a lane with those that close, and a key of them as that of `steady_key`
    cdef const vt_contact* e
    cdef unsigned long long bodies = 0, once = 0, more = 0, all = 0, bit, one = 1
    cdef int c, rows = 0, ports = 0
    for c in range(x.plan.contacts):
        e = &x.plan.touch[c]
        inside[c] = x.inside[c * VT_WIDTH + l] or (on_ground(e) and closes_in(x, c, l))
        if not inside[c]:
            continue
        rows += e.dim
        if e.kind == RUBS:
            bodies |= one << 63
            ports += 1
            continue
        all |= one << (c & 63)
        bit = one << (e.body_a & 63)
        ports += 0 if bodies & bit else 6
        bodies |= bit
        if e.patch >= 0:
            bit = one << (e.patch & 63)
            more |= once & bit
            once |= bit
    if x.others[l]:
        return 0
    bodies ^= more << 32 | more >> 32
    return bodies ^ all << 16 if 2 * ports > 3 * rows or (bodies >> 63 and rows <= ports) else bodies


cdef void lend_trial(ModelStepper self, TouchLanes* x, int l, int residuals, int passes, bint closing) noexcept nogil:
    # a lane in which contacts close that are not members leaves with the trial
    cdef HomeTrial* to = &x.home[l].trial
    cdef Vec3 f
    cdef int c, k
    x.on[l] = x.open[l] = False
    if x.joining:
        # it goes on from its first trial
        return
    x.joined[l] = True
    to.key = note_inside(x, l, to.inside)
    x.changed[l] = x.changed[l] or not x.old[l]
    for k in range(self.nv):
        to.y[k] = vt_get(self.lane.newton.y[k], l)
    for k in range(3 * x.plan.contacts):
        to.lam[k] = vt_get(x.lam[k], l)
    for k in range(x.count):
        c = x.member[k]
        if not x.inside[c * VT_WIDTH + l]:
            continue
        f = vec3(x.cones.lam[x.cones.row[k]], vt_set1(0.0), vt_set1(0.0))
        if x.cones.law[k] == CONE:
            f = world_of(x, k, x.cones.lam + x.cones.row[k])
        to.lam[3 * c], to.lam[3 * c + 1], to.lam[3 * c + 2] = vt_get(f.x, l), vt_get(f.y, l), vt_get(f.z, l)
    to.budget, to.closing = vt_get(x.cones.budget, l), closing
    to.corrections, to.residuals, to.passes = self.lane.now[l].iterations, residuals, passes
    to.factored, to.solves = x.factored[l], x.solves[l]


cdef void find_closed(ModelStepper self, TouchLanes* x, const Pose* pose, bint* some) noexcept nogil:
    # of some lanes, those in which contacts that are not members close at node 2
    cdef const HomePlan* plan = x.plan
    cdef bint closed[MOST_LANES]
    cdef int c, l
    memset(closed, 0, VT_WIDTH * sizeof(bint))
    memset(x.others, 0, VT_WIDTH * sizeof(bint))
    x.moved_there = farthest_in_lanes(x, pose)
    judge_far(x, pose, x.moved_there)
    for c in range(plan.contacts):
        if not place_contact(x, c, self.lane.state.q2, pose, &x.there[c]):
            continue
        if not x.placed[c]:
            # it was far away at node 1
            place_contact(x, c, self.lane.state.q, x.pose1, &x.here[c])
        for l in range(VT_WIDTH):
            if closes_in(x, c, l):
                closed[l], x.others[l] = True, x.others[l] or not on_ground(&plan.touch[c])
    for l in range(VT_WIDTH):
        some[l] = some[l] and closed[l]


cdef void factor_in_lanes(ModelStepper self, TouchLanes* x, const bint* factors) noexcept nogil:
    # another operator of some lanes, and P = -(rows at node 2) (-dr/dy)^-1 (rows at node 1)^T/h
    cdef LinearTimeStep* step
    cdef SideJoints joints
    cdef vt_real* answers = x.fresh + x.ports * x.ports
    cdef double scaled = -1.0 / self.lane.now.h
    cdef int body, port, k = 0, l
    # lanes that leave have those of the start of the step
    return_operators(self, x, factors)
    memcpy(self.lane.newton.factors, factors, VT_WIDTH * sizeof(bint))
    variational_factor(self)
    step = linear_time_at(self, self.linear.trial)
    lt_turn_gains(step, 0, self.shared.m.nbody)
    for body in range(self.shared.m.nbody):
        port = x.port_of_body[body]
        if port < 0:
            continue
        lt_answer_wrenches(step, body, 0, self.shared.m.nbody, x.side, self.nv, answers + port * self.nv)
        see_touched_bodies(self, x, port, 6, scaled)
        see_touched_joints(x, port, 6, scaled)
    port = x.whole
    while next_joints(x, &k, &joints):
        lt_answer_joints(step, &joints, 0, self.shared.m.nbody, x.side, self.nv, answers + port * self.nv)
        see_touched_bodies(self, x, port, joints.count, scaled)
        see_touched_joints(x, port, joints.count, scaled)
        port += joints.count
    take_in(factors, x.ports * x.ports, x.fresh, x.P)
    take_in(factors, x.ports * self.nv, answers, x.answers)
    forget_held_joints(&x.store)
    for l in range(VT_WIDTH):
        if factors[l]:
            x.old[l] = False
            x.factored[l] += 1
            x.solves[l] += x.whole // 6 + (x.ports - x.whole + 5) // 6


cdef void see_touched_bodies(ModelStepper self, TouchLanes* x, int port, int count, double size) noexcept nogil:
    # columns of P, in `fresh`: see `see_bodies`
    cdef const vt_real* moved
    cdef int i, k, c, to
    for i in range(self.shared.m.nbody):
        to, moved = x.port_of_body[i], x.side[i].x
        for k in range(6 if to >= 0 else 0):
            for c in range(count):
                x.fresh[(to + k) * x.ports + port + c] = size * moved[k * SIDES + c]


cdef void see_touched_joints(TouchLanes* x, int port, int count, double size) noexcept nogil:
    # and of these the rows of joints: size times what `side` has of them
    cdef const vt_contact* e
    cdef int k, c
    for k in range(x.count if x.whole < x.ports else 0):
        e = &x.plan.touch[x.member[k]]
        for c in range(count if e.kind == RUBS else 0):
            x.fresh[x.port_of_member[k] * x.ports + port + c] = size * (
                e.sign * x.side[x.plan.body_of_v[e.iv]].u[c])


cdef bint next_joints(const TouchLanes* x, int* k, SideJoints* to) noexcept nogil:
    # six joints with dry friction, or those left, of the members from k on, which is then the next one
    cdef const vt_contact* e
    to.count = 0
    while k[0] < x.count and to.count < 6:
        e = &x.plan.touch[x.member[k[0]]]
        if e.kind == RUBS:
            to.body[to.count], to.sign[to.count] = x.plan.body_of_v[e.iv], e.sign
            to.count += 1
        k[0] += 1
    return to.count > 0


cdef void correct_in_lanes(ModelStepper self, TouchLanes* x, int pass_) noexcept nogil:
    # d0 = -(dr/dy)^-1 r,  b = w + J2 d0/h - W2^T P u,  lam that solves the cones,
    # y += -(dr/dy)^-1 (r - J1^T lam + rows^T u),  u = W1 lam; see `correct_touches`
    cdef ContactProblem* y = &x.cones
    cdef Newton* newton = &self.lane.newton
    cdef Pass* p
    cdef double inverse = 1.0 / self.lane.now.h, goal, most, left
    cdef vt_real before, goals = vt_set1(INFINITY), enough = vt_set1(INFINITY), speed, found, e, size, turn
    cdef vt_mask some
    cdef const vt_contact* at
    cdef bint moves[MOST_LANES]
    cdef bint ends[MOST_LANES]
    cdef double reached[MOST_LANES]
    cdef int k, l, i
    take_in(x.open, y.n, y.lam, y.given)
    direction(self)
    for i in range(self.shared.m.nbody):
        k = x.port_of_body[i]
        if k >= 0:
            store3(x.T + k, self.linear.work[i].w)
            store3(x.T + k + 3, self.linear.work[i].v)
    for i in range(x.count):
        at = &x.plan.touch[x.member[i]]
        if at.kind == RUBS:
            x.T[x.port_of_member[i]] = at.sign * newton.d[at.iv]
    for k in range(x.ports):
        x.change[k] = inverse * x.T[k] - vt_inner(x.ports, x.P + k * x.ports, x.u)
    for k in range(y.n):
        y.b[k] = x.w[k] + along_row(&x.W2[k], x.change)
    before, speed = cone_map(y, y.lam, y.w, y.F, False), members_speed(x)
    for l in range(VT_WIDTH):
        if not x.open[l]:
            continue
        p = &newton.now[l]
        goal = goal_of_contacts(self.shared.choices.tolerance, vt_get(speed, l), vt_get(x.reach, l), self.lane.now.h)
        most = vt_get(before, l)
        left = min(TOUCH_SHARE * most, max(0.1 * goal, TOUCH_QUADRATIC * p.error / p.scale * most))
        vt_put(&goals, l, max(0.02 * goal, left))
        vt_put(&enough, l, max(0.5 * goal, TOUCH_ENOUGH * most))
        reached[l] = goal
    size = cone_descend_from(y, goals, first_corrections(y), False)
    for l in range(VT_WIDTH):
        if x.open[l] and not vt_get(size, l) <= vt_get(enough, l):
            x.on[l] = x.open[l] = False
    sum_members(x, y.lam, x.T)
    for k in range(x.ports):
        x.change[k] = x.u[k] - x.T[k]
    take_in(x.open, x.ports, x.T, x.u)
    for l in range(VT_WIDTH):
        moves[l] = x.open[l] and x.foretold[l]
        ends[l] = False
    if any_of(moves):
        some = where(moves)
        memcpy(newton.spare, newton.r, self.nv * sizeof(vt_real))
        push_of_ports(self, x, x.change, newton.spare)
        for k in range(self.nv):
            newton.r[k] = vt_select(some, newton.spare[k], newton.r[k])
        e = weighted(&self.shared.choices, 0, self.nv, newton.r, largest(newton.r, self.nv))
        for l in range(VT_WIDTH):
            p = &newton.now[l]
            ends[l] = moves[l] and p.error <= p.goal and vt_get(e, l) <= p.goal
        if any_of(ends):
            found = members_residual(x)
            turn = largest_turn(self.shared.m, newton.y)
            for l in range(VT_WIDTH):
                ends[l] = ends[l] and vt_get(found, l) <= reached[l]
                if ends[l]:
                    newton.now[l].error = self.lane.now[l].error = vt_get(e, l)
                    note_correction(self, x, l, pass_, vt_get(before, l))
                    close_lane(self, x, l, pass_, vt_get(turn, l))
    # the response of the operator to the ports
    for k in range(x.ports):
        vt_add_row(self.nv, x.change[k], x.answers + k * self.nv, newton.d)
    stop_at_corners(self)
    correct(self, x.open)
    kick(self, x)
    for l in range(VT_WIDTH):
        if x.open[l]:
            note_correction(self, x, l, pass_, vt_get(before, l))


cdef inline void note_correction(ModelStepper self, TouchLanes* x, int l, int pass_, double before) noexcept nogil:
    x.drifted[l], x.idle[l] = pass_ == 0 and before <= DRIFTED * x.goal[l], False
    self.lane.now[l].iterations += 1
    x.solves[l] += 1
    x.foretold[l] = False
    x.before[l], x.found_before[l] = self.lane.newton.now[l].error, before


# ---- node 2 ------------------------------------------------------------------------------------------------


cdef vt_real farthest_in_lanes(const TouchLanes* x, const Pose* pose) noexcept nogil:
    # a bound of the displacement of points within the balls: |c2 - c1| + r |R2 - R1|
    cdef const HomePlan* plan = x.plan
    cdef const Mat3* A
    cdef const Mat3* B
    cdef const TouchBall* ball
    cdef Vec3 d, a, b, c
    cdef vt_real most = vt_set1(0.0)
    cdef int k
    for k in range(plan.balls if plan.culls else 0):
        ball = &plan.ball[k]
        if ball.body < 0:
            continue
        A, B = &x.pose1[ball.body].R, &pose[ball.body].R
        d = sub(placed(pose, ball.body, ball.center), placed(x.pose1, ball.body, ball.center))
        a, b, c = sub(B.x, A.x), sub(B.y, A.y), sub(B.z, A.z)
        most = vt_max_nan(most, vt_sqrt(dot(d, d)) + ball.radius * vt_sqrt(dot(a, a) + dot(b, b) + dot(c, c)))
    return most


cdef void end_in_lanes(ModelStepper self, TouchLanes* x) noexcept nogil:
    # node 2 of what was solved for, and its contacts; lanes in which others close leave, those without contacts at node 1
    cdef bint closed[MOST_LANES]
    cdef vt_real size
    cdef int l
    stand_at(self, self.linear.node2, x.pose2)
    memcpy(closed, x.on, VT_WIDTH * sizeof(bint))
    find_closed(self, x, x.pose2, closed)
    for l in range(VT_WIDTH):
        if closed[l] and x.count:
            lend_trial(self, x, l, x.passes[l] + 1, x.passes[l], x.closing[l] and x.passes[l] == 0)
        x.on[l] = x.on[l] and not closed[l]
    size = vt_max_nan(largest(self.lane.state.q2, self.nq), largest(self.lane.state.x2, self.nv))
    stay_where(x, vt_le(size, vt_set1(MOST)))


cdef void keep_in_lanes(ModelStepper self, TouchLanes* x) noexcept nogil:
    # impulses and slips: see `keep_touch`
    cdef const HomePlan* plan = x.plan
    cdef ContactProblem* y = &x.cones
    cdef vt_real* told
    cdef const Touch* at
    cdef vt_real zero = vt_set1(0.0), one = vt_set1(1.0), share, size, acts, gap, infinite = vt_set1(INFINITY)
    cdef vt_mask far, some, shared, slides
    cdef Vec3 lam, slip
    cdef bint* was = x.was
    cdef int c, k, l, o
    for c in range(plan.contacts):
        told, far = x.told + TOLD * c, where(&x.far[c * VT_WIDTH])
        acts = vt_abs(told[0]) + vt_abs(told[1]) + vt_abs(told[2])
        for l in range(VT_WIDTH):
            x.pushed_before[c * VT_WIDTH + l] = vt_get(acts, l) != 0.0 or (
                plan.touch[c].kind == RUBS and x.active[c * VT_WIDTH + l])
            was[c * VT_WIDTH + l] = x.active[c * VT_WIDTH + l]
            x.active[c * VT_WIDTH + l] = False
        for k in range(6):
            told[k] = zero
        gap = x.there[c].gap + zero
        told[6] = vt_select(far, infinite, gap)
        x.gap_before[c] = vt_select(far, infinite, x.here[c].gap)
        for k in range(3):
            x.lam[3 * c + k] = x.way[3 * c + k] = zero
    share = vt_select(where(x.drifted), one / (one + x.idled), one)
    x.idled = vt_select(where(x.idle), x.idled + one, zero)
    shared = vt_lt(share, one)
    for k in range(x.count):
        c, o = x.member[k], y.row[k]
        told, at = x.told + TOLD * c, &x.here[c]
        if y.law[k] == RUB:
            keep_joint(self, x, k)
            continue
        some = vt_lt(zero, y.lam[o]) & vt_lt(y.w[o], y.diagonal[o] * y.lam[o])
        acts = vt_select(some, one, zero)
        for l in range(VT_WIDTH):
            x.active[c * VT_WIDTH + l] = vt_get(acts, l) != 0.0
        x.hold[c] = vt_select(some, x.target[c], x.hold[c])
        told[6] = vt_select(some, x.there[c].gap + zero, told[6])
        lam = world_of(x, k, y.lam + o)
        told[0], told[1], told[2] = (vt_select(some, zero + lam.x, zero), vt_select(some, zero + lam.y, zero),
                                     vt_select(some, zero + lam.z, zero))
        slip = world_of(x, k, y.given + o)
        slip = vec3(share * lam.x + (one - share) * slip.x, share * lam.y + (one - share) * slip.y,
                    share * lam.z + (one - share) * slip.z)
        x.lam[3 * c] = vt_select(some, vt_select(shared, slip.x, lam.x), zero)
        x.lam[3 * c + 1] = vt_select(some, vt_select(shared, slip.y, lam.y), zero)
        x.lam[3 * c + 2] = vt_select(some, vt_select(shared, slip.z, lam.z), zero)
        if y.dim[k] != 3:
            continue
        slip = axpy(x.w[o + 1], at.t1, scale(x.w[o + 2], at.t2))
        told[3], told[4], told[5] = (vt_select(some, slip.x, zero), vt_select(some, slip.y, zero),
                                     vt_select(some, slip.z, zero))
        size = vt_sqrt(slip.x * slip.x + slip.y * slip.y + slip.z * slip.z)
        slides = some & vt_lt(vt_set1(SLIDING), size)
        x.way[3 * c] = vt_select(slides, one / size * slip.x, zero)
        x.way[3 * c + 1] = vt_select(slides, one / size * slip.y, zero)
        x.way[3 * c + 2] = vt_select(slides, one / size * slip.z, zero)
    for l in range(VT_WIDTH):
        x.jumped[l] = False
        for c in range(plan.contacts):
            x.jumped[l] = x.jumped[l] or (x.active[c * VT_WIDTH + l] and not was[c * VT_WIDTH + l]
                                          and plan.touch[c].kind != RUBS)


cdef void keep_joint(ModelStepper self, TouchLanes* x, int k) noexcept nogil:
    # of a joint with dry friction: see `keep_standing`
    cdef int l, c = x.member[k], o = x.cones.row[k]
    cdef double h = self.lane.now.h
    cdef vt_real zero = vt_set1(0.0)
    for l in range(VT_WIDTH):
        x.active[c * VT_WIDTH + l] = True
    x.hold[c] = x.target[c]
    x.lam[3 * c] = x.cones.lam[o]
    x.told[TOLD * c] = zero + x.lam[3 * c]
    x.told[TOLD * c + 3], x.told[TOLD * c + 5] = x.w[o], vt_set1(h)
    x.way[3 * c + 1] = vt_set1(fabs(h))
    x.way[3 * c] = vt_select(vt_lt(vt_set1(SLIDING), vt_abs(x.w[o])), vt_select(
        vt_lt(zero, x.w[o]), vt_set1(1.0), vt_set1(-1.0)), zero)


cdef inline Vec3 world_of(TouchLanes* x, int k, const vt_real* lam) noexcept nogil:
    # the impulse of a member in world axes
    cdef const Touch* at = &x.here[x.member[k]]
    cdef Vec3 f = scale(lam[0], at.n)
    if x.cones.dim[k] >= 3:
        f = axpy(lam[1], at.t1, axpy(lam[2], at.t2, f))
    return f


# ---- steps -------------------------------------------------------------------------------------------------


cdef void step_together(ModelStepper self, const HomePlan* plan, Home** home, int count, int steps) noexcept nogil:
    # of as many instances as there are lanes, at most, while most of these go on together
    cdef TouchLanes* x = self.contact
    cdef bint before[MOST_LANES]
    cdef int k, l, left
    x.plan, x.home, x.joining = plan, home, steps == 0
    use(self, 0)
    self.lane.now.h = plan.h
    self.lane.now.cause = OK
    for l in range(VT_WIDTH):
        x.on[l] = l < count
        home[l].status, home[l].steps, home[l].answered = OK, 0, False
        home[l].corrections = home[l].most = home[l].passes = home[l].rested = home[l].factored = home[l].solves = 0
        home[l].more_residuals = 0
    come(self, x)
    x.known = False
    for k in range(max(steps, 1)):
        memcpy(before, x.on, VT_WIDTH * sizeof(bint))
        step_of_lanes(self, x)
        left = 0
        for l in range(VT_WIDTH):
            self.lane.left[l] = not x.on[l]
            before[l] = before[l] and not x.on[l]
            if before[l]:
                home[l].status = JOINED if x.joined[l] or x.joining else NOT_CONVERGED
            left += not x.on[l]
        if k > 0 and any_of(before):
            go_home(self, x, before)
        return_operators(self, x, x.joined)
        if left == VT_WIDTH:
            return
        accept_lanes(self, x)
        if 2 * (VT_WIDTH - left) < count:
            break
    go_home(self, x, x.on)
    for l in range(VT_WIDTH):
        x.on[l] = x.on[l] and home[l].steps == max(steps, 1) and home[l].v != NULL
    if any_of(x.on):
        tell_velocities(self, x)


cdef void step_of_lanes(ModelStepper self, TouchLanes* x) noexcept nogil:
    # of lanes that are on; those that have to leave are not on any more, and at node 1
    cdef const HomePlan* plan = x.plan
    cdef long seen[MOST_LANES]
    cdef int l
    for l in range(VT_WIDTH):
        x.open[l], x.joined[l], seen[l] = x.on[l], False, self.lane.guess.seen[l].count
        self.lane.left[l] = not x.on[l]
    self.method.prepare(self)
    if not touch_node(self, x):
        if any_of(x.on) and not plan.ports and not x.joining:
            step_freely(self, x)
        else:
            memset(x.on, 0, VT_WIDTH * sizeof(bint))
    elif gather_members(self, x, x.guess if x.joining else x.lam, 3, True) and (
            x.ports <= plan.kept_ports if x.joining else ports_at_hand(x)):
        predict(self)
        if x.joining:
            grow_ports(self, x)
            take_trials(self, x)
        begin_passes(self, x)
        solve_in_lanes(self, x)
        if any_of(x.on):
            memcpy(self.lane.newton.r, x.residual, self.nv * sizeof(vt_real))
            self.method.finish(self)
    else:
        memset(x.on, 0, VT_WIDTH * sizeof(bint))
    self.lane.newton.impulse = NULL
    if any_of(x.on):
        end_in_lanes(self, x)
    for l in range(VT_WIDTH):
        if not x.on[l]:
            # what `second_guess` and `foresee` have changed in a step that is not accepted
            self.lane.guess.seen[l].count, self.lane.newton.foreseen[l] = seen[l], False


cdef void step_freely(ModelStepper self, TouchLanes* x) noexcept nogil:
    # of lanes that nothing touches, up to node 2: the step of a model without contacts
    cdef int l
    x.ports = x.whole = 0
    # lanes that leave have the operator of the start of the step
    return_operators(self, x, x.on)
    for l in range(VT_WIDTH):
        self.lane.left[l] = not x.on[l]
        x.drifted[l], x.idle[l], self.lane.now[l].turn = False, False, NAN
    variational_attempt(self)
    for l in range(VT_WIDTH):
        x.on[l] = x.on[l] and self.lane.newton.status[l] == OK
        x.passes[l], x.turn[l] = 0, self.lane.now[l].turn * self.lane.now[l].turn
        x.solves[l] = self.lane.now[l].iterations


cdef void accept_lanes(ModelStepper self, TouchLanes* x) noexcept nogil:
    # node 2 becomes node 1
    cdef State* at = &self.lane.state
    cdef Home* h
    cdef int l
    for l in range(VT_WIDTH):
        # `learn` corrects the increment further
        x.solves[l] += goes_further(self, l)
    learn(self)
    self.method.pass_on(self)
    if x.count:
        guess_learn(&x.past, x.ports, x.u, NULL, x.T)
    keep_in_lanes(self, x)
    memcpy(x.node_before, at.q, self.nq * sizeof(vt_real))
    at.q, at.q2 = at.q2, at.q
    at.x, at.x2 = at.x2, at.x
    x.moved, x.known = x.moved_there, True
    for l in range(VT_WIDTH):
        if not x.on[l]:
            continue
        h = x.home[l]
        h.steps += 1
        h.last, h.error, h.turn = self.lane.now[l].iterations, self.lane.now[l].error, x.turn[l]
        h.corrections += h.last
        h.most = max(h.most, h.last)
        h.passes += x.passes[l]
        if x.joining:
            h.passes += h.trial.passes
            h.more_residuals = h.trial.residuals - h.trial.passes
        elif not x.count:
            x.factored[l] = self.lane.newton.factored[l]
            x.old[l] = x.factored[l] == 0
            h.more_residuals += h.last + self.lane.newton.compared[l]
        h.rested += self.lane.newton.guesses[l] and self.method.solves_forces(self)
        h.factored += x.factored[l]
        h.solves += x.solves[l]
        x.changed[l] = x.changed[l] or not x.old[l]
        h.reuse[0] = self.lane.reuse[l]


# ---- velocities at nodes -----------------------------------------------------------------------------------


cdef void tell_velocities(ModelStepper self, TouchLanes* x) noexcept nogil:
    # those of lanes that are on, with the impulses of contacts that acted in the last step: see `post_contact_velocity`.
    # Lanes for which corrections do not find the impulses, or contacts close anew, leave
    cdef double* to[MOST_LANES]
    cdef const vt_contact* e
    cdef bint* inside
    cdef bint some
    cdef vt_real acts
    cdef int c, l
    model_velocity(self, self.lane.state.q, self.lane.state.x, x.v)
    stand_at(self, self.linear.node1, x.pose1)
    x.count = 0
    for c in range(x.plan.contacts):
        acts = vt_abs(x.told[TOLD * c]) + vt_abs(x.told[TOLD * c + 1]) + vt_abs(x.told[TOLD * c + 2])
        inside, some, e = &x.inside[c * VT_WIDTH], False, &x.plan.touch[c]
        for l in range(VT_WIDTH):
            inside[l] = vt_get(acts, l) != 0.0 or (e.kind == RUBS and x.active[c * VT_WIDTH + l])
            some = some or (x.on[l] and inside[l])
        if not some:
            continue
        if e.kind != RUBS:
            touch_ground(x, e, x.pose1, &x.here[c])
            across(&x.here[c])
        add_member(x, c)
    if x.count:
        if gather_members(self, x, x.told, TOLD, False):
            push_at_node(self, x)
        else:
            memset(x.on, 0, VT_WIDTH * sizeof(bint))
    for l in range(VT_WIDTH):
        to[l], x.home[l].answered = x.home[l].v, x.on[l]
    give(x, x.v, self.nv, to, x.on)


cdef int path_of_members(ModelStepper self, TouchLanes* x) noexcept nogil:
    # the bodies between those of members and the world, in order; returns their number
    cdef const vt_contact* e
    cdef int i, k, count = 0
    memset(x.stands, 0, self.shared.m.nbody * sizeof(bint))
    for k in range(x.count):
        e = &x.plan.touch[x.member[k]]
        x.stands[x.plan.body_of_v[e.iv] if e.kind == RUBS else e.body_a] = True
    for i in range(self.shared.m.nbody - 1, -1, -1):
        if x.stands[i] and self.shared.m.body[i].parent >= 0:
            x.stands[self.shared.m.body[i].parent] = True
    for i in range(self.shared.m.nbody):
        if x.stands[i]:
            x.path[count] = i
            count += 1
    return count


cdef void answer_at_node(ModelStepper self, TouchLanes* x) noexcept nogil:
    # P = rows M^-1 rows^T, in `fresh`, by the inertias at the node: see `answer_on_paths`
    cdef AbaBody* aba = self.lane.bodies.aba
    cdef SideJoints joints
    cdef int i, k = 0, j, c, port = x.whole, count = path_of_members(self, x)
    for i in range(self.shared.m.nbody):
        if x.port_of_body[i] >= 0:
            aba_answer_wrenches(self.shared.m, aba, i, x.path, count, x.side)
            see_touched_bodies(self, x, x.port_of_body[i], 6, 1.0)
    while next_joints(x, &k, &joints):
        aba_answer_joints(self.shared.m, aba, &joints, x.path, count, x.side)
        see_touched_bodies(self, x, port, joints.count, 1.0)
        see_touched_joints(x, port, joints.count, 1.0)
        for j in range(x.whole):
            for c in range(port, port + joints.count):
                x.fresh[c * x.ports + j] = x.fresh[j * x.ports + c]
        port += joints.count
    forget_held_joints(&x.store)


cdef void push_at_node(ModelStepper self, TouchLanes* x) noexcept nogil:
    # v += M^-1 J^T lam, with b = J v, by the inertias at the node
    cdef ContactProblem* y = &x.cones
    cdef vt_real zero = vt_set1(0.0), gave = zero, gives = zero, size, e
    cdef int k, c
    answer_at_node(self, x)
    couple_members(x, x.W1)
    for k in range(x.ports):
        x.T[k] = vt_inner(self.nv, x.rows + k * self.nv, x.v)
    for k in range(y.n):
        y.b[k] = zero
        for c in range(x.W1[k].size):
            y.b[k] = y.b[k] + x.W1[k].on_a[c] * x.T[x.W1[k].a + c]
    for k in range(y.count):
        if y.law[k] == CONE:
            gave = gave + y.lam[y.row[k]]
    for k in range(y.n):
        y.lam[k] *= x.plan.expected
    size = largest(y.b, y.n)
    memcpy(y.given, y.lam, y.n * sizeof(vt_real))
    e = cone_descend(y, AT_NODE * size, first_corrections(y), False)
    for k in range(y.count):
        if y.law[k] == CONE:
            gives = gives + y.lam[y.row[k]]
    stay_where(x, vt_le(e, ENOUGH_AT_NODE * size))
    stay_where(x, vt_lt(gives, x.plan.share * gave) | (vt_le(gives, zero) & vt_le(zero, gives)))
    sum_members(x, y.lam, x.T)
    memset(x.impulse, 0, self.nv * sizeof(vt_real))
    push_of_ports(self, x, x.T, x.impulse)
    aba_response(self.shared.m, x.impulse, 0, self.shared.m.nbody, x.residual, self.lane.bodies.aba)
    vt_add_row(self.nv, vt_set1(1.0), x.residual, x.v)
