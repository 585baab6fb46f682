# Contact with friction around a step: an impulse of the node's momentum, then the step,
#     p1+ = p1 + J1^T lam,  (q2, p2) = F_h(q1, p1+),
#     0 <= lam_n  _|_  (gap(q2) - min(0, gap(q1)))/h >= 0,    lam_t against the slip s/h within the cone,
# solved for together with the step's increment. Friction acts half against the slip of the last step, half against that
# of this one, which makes sliding second order.

cdef enum:
    KEPT_PORTS = 256        # of these ports P is kept from step to step,
    KEPT_BLOCKS = 72        # and of so many more numbers for each body

cdef enum:                  # why a step with contacts failed
    NOT_SOLVED = 0          # their problem has a residual
    OVERLAPS = 1            # shapes overlap where it ends, and no facet is missing
    NORMALS_TURN = 2        # so far that impulses would raise the kinetic energy
    ENERGY_GROWS = 3        # by impulses that do not satisfy the laws
    KEEP_JOINING = 4        # each trial closes further ones

FAULTS = "solve", "overlap", "turn", "energy", "join"

cdef struct TouchGroup:     # contacts in the solve that are coupled by the trees that they touch
    int member              # the first, and their number
    int count
    int row
    int n
    int port
    int ports
    int whole               # of one tree: those of bodies, before those of coordinates
    int part                # the first of the trees that have ports, and their number
    int parts
    bint foretold           # its impulses are extrapolated from those of previous steps, where some are
    bint settled            # its equations hold at the current trial, and the pass does not change it
    double least            # of an impact: the smallest restitution, the gain of kinetic energy and its terms
    double gain
    double terms
    int arrived             # a member that was stopped in the last step is to rebound


cdef struct Touching:
    # kept
    double* lam             # (contacts, 3) the last node's impulses, world axes; of a limit the first. Where contacts
                            # have friction of turning, as many more in all arrays of these: see turning.pxi
    double* way             # (contacts, 3) unit direction in which each slid in the last step, or zeros
    double* told_turn       # (contacts, TURNED) of the last step, where contacts have friction of turning
    double* hold            # (contacts,) [m] the gap that active contacts keep: zero, or that of a start with overlap
    int* active             # (contacts,) whether it acted in the last step: 0, PUSHED or ARRIVED
    double* gap_before      # (contacts,) [m] the gap at the start of the last step; of those far away at its end infinite
    double* moved           # [m] the farthest that a point within the balls about shapes moved in the last step
    double* told            # (contacts, TOLD) of the last step: impulse, slip velocity, gap
    int* have_ports         # P is that of a previous step, for these
    int* owner_kept         # (most_ports,) what each row of P belongs to
    double* P               # (most_blocks,) by trees, each (ports, ports): -(rows2 (-dr/dy)^-1 rows^T)/h
    int* owner_past         # (most_ports,) what each of their rows belonged to
    Guess past              # (most_ports,) the wrenches of past steps' impulses in the ports
    # of the model. Contacts of two convex shapes have a seat where these are near (Seats): behind the others eight for each
    # seat, of which those of free seats are at rest, far from anything. Here "contacts" counts all of these
    int contacts
    int plain               # those without seats
    int facets              # of them, those before the pairs by their numbers: see `number_of`
    int* seat_of            # (pairs,) or -1
    int* pair_on            # (seats,) or -1
    int* pair_start         # (seats,) these at the start of the step
    bint more_seats         # are taken than in the list of contacts
    bint no_memory          # for a seat
    bint turns              # contacts have friction of turning
    int reals               # numbers of an array of impulses
    const TouchSpan* span   # (spans,)
    int spans
    bint balls              # contacts may be far away
    const TouchBall* ball   # (ball_count,)
    int ball_count
    int* within_balls       # (contacts,) whether its span has balls
    double skin_least       # [m] half of their mean radius
    TouchTree* tree         # (trees + 1,) the last is all of them
    int trees
    int* tree_of_body       # (nbody,)
    int* body_of_v          # (nv,) that a coordinate moves
    int* on_rope            # (nbody,) whether a rope passes a point of it
    bint tied               # a rope couples trees
    # of a step
    Touch* here             # (contacts,) at node 1
    Touch* there            # (contacts,) at node 2
    Pose* pose1             # (nbody,)
    Pose* pose2
    double* at1             # (nq,) the configurations to which they belong
    double* at2
    int placed1
    int placed2
    int told2               # `there` has all contacts at node 2
    # contacts that are far away: see `place_span`
    int* far_here           # (spans,) whether a span is, at node 1
    int* far_there          # and at node 2
    Vec3* center1           # (ball_count,) [m] of the balls at node 1
    Vec3* center2
    double away             # [m] the distance beyond which a contact is far away at node 1
    double moved_there      # [m] `moved` of this step
    int* is_near            # (spans,) whether it is in `near`
    int* near               # (near_count,) the spans that are not farther than the skin where the list was made
    int near_count
    int* asked              # (asked_count,) their contacts
    int asked_count
    bint have_list
    double skin             # [m]
    Vec3* center_listed     # (ball_count,) [m] of the balls where the list was made
    Pose* pose_listed       # (nbody,) of the bodies there
    int* stands             # (nbody,) those of a trial that are placed
    double* target          # (contacts,) [m] lower bound of the gap at the end of the step
    double* guess           # (contacts, 3) initial impulses, world axes
    double* guess_beside    # (contacts, 3) these, while an impact has others
    int* member             # (contacts,) those in the solve, group by group
    int* listed             # (contacts,) the same in their order
    int* within             # (contacts,) whether it is one of them
    int count
    int solved              # the step was solved with these contacts
    const HomeTrial* trial  # of this step, to go on from, or NULL
    int opened              # the step begins with an impact: `impact` acts
    double* impact          # (nv,) the impulse of an impact
    double* impact_impulses # (contacts, 3) and those of its contacts, world axes
    int leading             # this part of a step is its first
    double whole_h          # [s] the whole step, if contacts are located; else 0
    int left                # number of impacts that may still be located
    int* arrives            # (contacts,) it is to close in this step, and to rebound at the next node
    double* v               # (nv,) the velocity before and after it
    double* speed           # (contacts,) [m/s] rates of the gaps at node 1 without them
    double* fall            # (contacts,) [m/s^2] their accelerations
    double* v2              # (nv,) the velocity at node 2
    double* still           # (nv,) the velocity of zero momentum
    int* bad                # (contacts,) members that an impact may still close
    double* apart           # (members,) [m] gaps that are still to close in an impact
    double* total           # (rows of the cones,) their impulses
    ContactProblem hit               # those of them that are solved for
    double* impulse         # (nv,) the impulse of the contacts, and of an impact
    double* late            # (nv,) the impulse of compliant contacts at the end of the step, of momenta
    double* late_of         # (contacts, 3) and of each, world axes; of those in the solve
    int ends_pushed         # whether there is one
    int plain_patches
    int patches             # these, and one for each seat
    int* patch_count        # (patches,) members of a patch and those that make its centre; see `centre_patches`
    int* central            # (contacts,) whether it is one of the points whose mean is the centre of its patch
    int* patch_points       # (patches,) their number
    double* patch_least     # (patches,) [m] the lowest gap
    double* patch_gap       # (patches,) [m] means of these points: gap,
    double* patch_radius    # radius,
    Vec3* patch_centre      # and place in the body
    Vec3* patch_slip        # (patches,) of the centre, and the rotation about the normal
    double* patch_turn
    # ports: six unit wrenches for each body in contact, one of each contact whose impulse is a number
    double reach            # [m] largest distance of a body from the origin, at least a metre
    int* port_of_body       # (nbody,) its first row, or -1
    int ports               # rows
    int ports_room
    size_t rows_reals_room
    size_t blocks_room
    double* rows            # node 1; of each port in the coordinates of its tree, see `row_of`
    double* rows2           # node 2
    double* response        # response of M
    Py_ssize_t* row_at      # (ports,) where each of them begins, if it had the coordinates before its tree
    Py_ssize_t* block_at    # (parts,) where each tree's block of P begins, if it had the ports before
    size_t row_reals        # their numbers in all
    size_t block_reals
    int parts
    int* owner              # (ports,) bodies, or -1 - contact whose impulse is a number
    int* tree_of_port       # (ports,)
    int* part_of_port       # (ports,) trees that have ports, by numbers
    int* part               # (parts,) the first port of each
    int* part_size          # (parts,)
    int* port_of_member     # (count,) of those whose impulse is a number
    TouchGroup* group       # (groups,)
    int groups
    int* group_of_tree      # (trees,)
    const double* coupling  # P of the problem
    const TouchRow* coupled # and its W2
    double* answers         # (most_rows,) as rows, response of the operator of P to each port
    double* P_room          # for more ports than are kept
    double* answers_room
    int most_ports          # for which impulses are kept
    size_t most_blocks      # and numbers of P and of the answers
    size_t most_rows
    double* whole           # (nv,) a response in all coordinates
    SideBody* side          # (nbody,) responses to the wrenches on a body
    double* u               # (ports,) the impulses as wrenches in the ports
    int fresh               # nothing was tried in this step
    int foretold            # u is that of previous steps, not of the current impulses
    bint drifted            # a correction of this step, its only one, ends a drift
    bint idle               # the impulses are those that it began with
    double* idled           # (1,) so many steps up to the last one were idle
    int corrected           # nothing is left to correct
    TouchRow* W1            # (rows of the cones,)
    TouchRow* W2
    double* T               # (ports,)
    double* change          # (ports,) of u, less
    int rows_room
    double* r               # (nv,) the residual, kept while responses of ports are computed
    double* h               # (count,) and the residual of the constraints
    double* w               # (rows of the cones,) current velocities
    ContactProblem cones
    ConeStore store         # of `cones` and of `hit`
    ConeStore store_of_hit
    bint closing            # contacts that are not in the solve may close, by the speed at which gaps change
    int* own_slip           # (contacts,) all friction of the step is against its own slip
    # pairs of convex shapes
    int slots               # places of facets, eight for each seat
    int pairs
    Facet* facet            # (slots,) of the current configuration: those of the state, or others
    Near* at                # (seats,) the features that keep each apart
    Facet* facet_kept
    Near* near_kept
    Facet* facet_read
    Near* near_read
    Facet* facet_start
    Near* near_start
    const vt_pair* pair     # (pairs,)
    Vec3* axis              # (pairs,) the direction of the last search for their distance
    Vec3* near_a            # (seats,) and two points near each other, in the core frames, or NaN
    Vec3* near_b
    int joins               # times that contacts joined the current step
    int* added              # (slots,) whether it was added in the current step
    double* bracket         # (slots, 2) of pairs, for either shape: two points of a curve, each with how far the lowest point
                            # of a trial that it holds is ahead; NaN at first
    double stuck            # [m] by which shapes overlap for which no facet is missing
    int stuck_at            # the first contact of these
    double sunk             # [m] by which pairs overlap whose facets were missing
    double* facet_told      # (slots, FACET_ROW) those that acted in the last step
    double* facet_told_start
    # report on a step that was not solved
    int cut                 # corrections whose problem was not solved
    double residue          # [m/s] the natural residual that the last of them left
    double remains          # [m/s] that of the current trial, where it is above the tolerance
    double accepted         # [m/s] the largest of the current step that was accepted so
    bint planes             # planes stand for features that are both curved: the step is repeated
    bint as_found           # it is accepted once the corrections are used up: parts of the step did not help
    bint lenient            # a larger residual is accepted: shorter steps did not help
    double eased            # the fraction of the bound of friction that the step does without: no impulses were found with it
    double slack            # [m] by which shapes may overlap more where they are found with none
    long inexact            # steps since the state was set of which a residual was accepted
    double inexact_most     # [m/s] the largest
    double inexact_first    # [s] start of the first and the last of these steps
    double inexact_last
    int worst               # the contact, or -1
    double worst_gap        # [m] its gap
    int fault               # what is wrong with it
    double before           # [m/s] the natural residual at which the problem of the last correction began
    double residual         # [m/s]
    long passes             # since the state was set


cdef inline const Facet* facet_for(const Touching* x, const vt_contact* e) noexcept nogil:
    return &x.facet[e.slot] if e.slot >= 0 else NULL


cdef int seated(Touching* x, Seats seats, void* at, size_t size, int kind, int low=0, int high=0) except -1:
    # an array for all contacts
    return seats.add(<void**>at, x.plain * size, MOST_FACETS * size, kind, 1, low, high)


cdef int seated_impulses(Touching* x, Seats seats, double** at, int kind) except -1:
    # of vectors of contacts, and behind all of them those of turning
    return seats.add(<void**>at, 3 * x.plain * sizeof(double), 3 * MOST_FACETS * sizeof(double), kind, 2 if x.turns else 1)


cdef int facets_make(Touching* x, Memory memory, ContactList list) except -1:
    cdef Seats seats = memory.seats
    cdef size_t facets = MOST_FACETS * sizeof(Facet), told = MOST_FACETS * FACET_ROW * sizeof(double)
    x.pairs, x.pair = list.pairs, list.pair
    seats.add(<void**>&x.facet_kept, 0, facets, KEPT)
    seats.add(<void**>&x.near_kept, 0, sizeof(Near), KEPT)
    seats.add(<void**>&x.facet_read, 0, facets, SCRATCH)
    seats.add(<void**>&x.near_read, 0, sizeof(Near), SCRATCH)
    seats.add(<void**>&x.facet_start, 0, facets, SCRATCH)
    seats.add(<void**>&x.near_start, 0, sizeof(Near), SCRATCH)
    seats.add(<void**>&x.added, 0, MOST_FACETS * sizeof(int), SCRATCH)
    seats.add(<void**>&x.bracket, 0, 2 * MOST_FACETS * sizeof(double), SCRATCH)
    seats.add(<void**>&x.facet_told, 0, told, KEPT)
    seats.add(<void**>&x.facet_told_start, 0, told, SCRATCH)
    seats.add(<void**>&x.near_a, 0, sizeof(Vec3), SCRATCH)
    seats.add(<void**>&x.near_b, 0, sizeof(Vec3), SCRATCH)
    seats.add(<void**>&x.pair_start, 0, sizeof(int), SCRATCH)
    x.axis = <Vec3*>memory.scratch(list.pairs * sizeof(Vec3))
    x.facet, x.at = x.facet_kept, x.near_kept
    return 0


cdef void count_seats(Touching* x, Seats seats) noexcept nogil:
    # what follows from the number of seats
    x.slots = MOST_FACETS * seats.count
    x.contacts = x.plain + x.slots
    x.reals = (6 if x.turns else 3) * x.contacts
    x.patches = x.plain_patches + seats.count
    x.seat_of, x.pair_on = seats.seat_of, seats.key_of


cdef inline int number_of(const Touching* x, int c) noexcept nogil:
    # the number of a contact: pairs have as many as they may have contacts
    if c < x.facets:
        return c
    if c < x.plain:
        return c + MOST_FACETS * x.pairs
    return x.facets + MOST_FACETS * x.pair_on[(c - x.plain) // MOST_FACETS] + (c - x.plain) % MOST_FACETS


cdef inline int contact_of(const Touching* x, int number) noexcept nogil:
    # the contact of a number, or -1 where the pair has no seat
    cdef int k = number - x.facets, seat
    if k < 0:
        return number
    if k >= MOST_FACETS * x.pairs:
        return number - MOST_FACETS * x.pairs
    seat = x.seat_of[k // MOST_FACETS]
    return x.plain + MOST_FACETS * seat + k % MOST_FACETS if seat >= 0 else -1


cdef inline int contact_in_turn(const Touching* x, int k) noexcept nogil:
    # the k-th contact by numbers, where no list has been made since seats were taken
    return k if k < x.facets else k + x.plain - x.facets if k < x.facets + x.slots else k - x.slots


cdef inline int first_in(const Touching* x, int span) noexcept nogil:
    # of the contacts of a span, consecutive ones; without a seat there are none
    cdef const TouchSpan* on = &x.span[span]
    return on.first if on.pair < 0 else x.plain + MOST_FACETS * x.seat_of[on.pair] if x.seat_of[on.pair] >= 0 else -1


cdef inline int end_in(const Touching* x, int span) noexcept nogil:
    cdef const TouchSpan* on = &x.span[span]
    return on.end if on.pair < 0 else first_in(x, span) + MOST_FACETS if x.seat_of[on.pair] >= 0 else -1


cdef inline bint rolls_at(const Feature* f) noexcept nogil:
    # whether the point in contact moves over the surface where a body rolls
    return f.kind == RIM or f.kind == SIDE or f.kind == SLANT or f.kind == ROUND or (
        (f.kind == VERTEX or f.kind == EDGE) and f.size > 0.0)


cdef inline bint slides_flat(const Touching* x, const vt_contact* e) noexcept nogil:
    # whether it is a point of a patch, all of whose points slide and rotate as one
    cdef const Facet* f
    if e.patch < 0 or e.slot < 0:
        return e.patch >= 0
    f = &x.facet[e.slot]
    return f.kind == FIXED and not rolls_at(&f.fa) and not rolls_at(&f.fb)


cdef int touching_make(Touching* x, Memory memory, const vt_model* m, int count, ContactList list) except -1:
    cdef Seats seats = memory.seats
    x.plain, x.facets, x.turns, x.plain_patches = list.plain, list.facets, list.turns, list.patches
    seated_impulses(x, seats, &x.lam, KEPT)
    seated_impulses(x, seats, &x.way, KEPT)
    seated(x, seats, &x.told_turn, TURNED * sizeof(double) if x.turns else 0, KEPT)
    seated(x, seats, &x.hold, sizeof(double), KEPT)
    seated(x, seats, &x.target, sizeof(double), SCRATCH)
    seated(x, seats, &x.active, sizeof(int), KEPT, 0, ARRIVED)
    seated(x, seats, &x.gap_before, sizeof(double), KEPT)
    x.moved, x.idled = memory.kept_reals(1), memory.kept_reals(1)
    x.most_ports = list.ports
    x.most_blocks = min(<size_t>list.ports * list.ports, KEPT_PORTS * KEPT_PORTS + KEPT_BLOCKS * <size_t>m.nbody)
    x.most_rows = min(<size_t>min(list.ports, KEPT_PORTS) * m.nv, KEPT_PORTS * KEPT_PORTS + KEPT_BLOCKS * <size_t>m.nbody)
    x.have_ports = memory.kept_ints(1, 0, 1)
    x.owner_kept = memory.kept_ints(x.most_ports, -list.plain - 1, m.nbody)
    x.P = memory.kept_reals(x.most_blocks)
    x.answers = memory.kept_reals(x.most_rows)
    x.owner_past = memory.kept_ints(x.most_ports, -list.plain - 1, m.nbody)
    guess_make(&x.past, memory, x.most_ports, False)
    x.at1, x.at2 = memory.scratch_reals(m.nq), memory.scratch_reals(m.nq)
    seated(x, seats, &x.here, sizeof(Touch), SCRATCH)
    seated(x, seats, &x.there, sizeof(Touch), SCRATCH)
    x.pose1, x.pose2 = <Pose*>memory.scratch(m.nbody * sizeof(Pose)), <Pose*>memory.scratch(m.nbody * sizeof(Pose))
    seated_impulses(x, seats, &x.guess_beside, SCRATCH)
    seated_impulses(x, seats, &x.guess, SCRATCH)
    seated(x, seats, &x.told, TOLD * sizeof(double), KEPT)
    seated_impulses(x, seats, &x.impact_impulses, SCRATCH)
    seated(x, seats, &x.member, sizeof(int), SCRATCH)
    seated(x, seats, &x.central, sizeof(int), SCRATCH)
    seated(x, seats, &x.listed, sizeof(int), SCRATCH)
    seated(x, seats, &x.within, sizeof(int), SCRATCH)
    seated(x, seats, &x.speed, sizeof(double), SCRATCH)
    seated(x, seats, &x.fall, sizeof(double), SCRATCH)
    x.still, x.whole = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.v = memory.scratch_reals(m.nv)
    seated(x, seats, &x.bad, sizeof(int), SCRATCH)
    seated(x, seats, &x.apart, sizeof(double), SCRATCH)
    x.v2 = memory.scratch_reals(m.nv)
    seated(x, seats, &x.arrives, sizeof(int), SCRATCH)
    x.late = memory.scratch_reals(m.nv)
    seated(x, seats, &x.late_of, 3 * sizeof(double), SCRATCH)
    x.impact, x.impulse, x.r = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.h = memory.scratch_reals(count)
    x.side = <SideBody*>memory.scratch(m.nbody * sizeof(SideBody))
    seats.add(<void**>&x.patch_count, x.plain_patches * sizeof(int), sizeof(int), SCRATCH)
    seats.add(<void**>&x.patch_points, x.plain_patches * sizeof(int), sizeof(int), SCRATCH)
    seats.add(<void**>&x.patch_least, x.plain_patches * sizeof(double), sizeof(double), SCRATCH)
    seats.add(<void**>&x.patch_gap, x.plain_patches * sizeof(double), sizeof(double), SCRATCH)
    seats.add(<void**>&x.patch_radius, x.plain_patches * sizeof(double), sizeof(double), SCRATCH)
    seats.add(<void**>&x.patch_centre, x.plain_patches * sizeof(Vec3), sizeof(Vec3), SCRATCH)
    seats.add(<void**>&x.patch_slip, x.plain_patches * sizeof(Vec3), sizeof(Vec3), SCRATCH)
    seats.add(<void**>&x.patch_turn, x.plain_patches * sizeof(double), sizeof(double), SCRATCH)
    x.port_of_body = <int*>memory.scratch(m.nbody * sizeof(int))
    x.part = <int*>memory.scratch((m.nbody + 1) * sizeof(int))
    x.part_size = <int*>memory.scratch((m.nbody + 1) * sizeof(int))
    x.block_at = <Py_ssize_t*>memory.scratch((m.nbody + 1) * sizeof(Py_ssize_t))
    seated(x, seats, &x.port_of_member, sizeof(int), SCRATCH)
    seated(x, seats, &x.own_slip, sizeof(int), SCRATCH)
    x.stands = <int*>memory.scratch(m.nbody * sizeof(int))
    facets_make(x, memory, list)
    touching_trees(x, memory, m)
    x.on_rope = <int*>memory.given(m.nbody * sizeof(int))
    touching_spans(x, memory, m.nbody, list)
    count_seats(x, seats)
    return 0


cdef int touching_spans(Touching* x, Memory memory, int bodies, ContactList list) except -1:
    cdef int k, c
    x.span, x.spans, x.ball, x.ball_count = list.span, list.spans, list.ball, list.balls
    seated(x, memory.seats, &x.within_balls, sizeof(int), GIVEN)
    for k in range(x.spans):
        for c in range(x.span[k].first, x.span[k].end if x.span[k].pair < 0 else -1):
            x.within_balls[c] = x.span[k].ball >= 0
    for k in range(x.ball_count):
        x.skin_least += 0.5 * x.ball[k].radius / x.ball_count
    x.far_here, x.far_there = (<int*>memory.scratch(x.spans * sizeof(int)), <int*>memory.scratch(x.spans * sizeof(int)))
    x.is_near, x.near = <int*>memory.scratch(x.spans * sizeof(int)), <int*>memory.scratch(x.spans * sizeof(int))
    seated(x, memory.seats, &x.asked, sizeof(int), SCRATCH)
    x.center1, x.center2 = (<Vec3*>memory.scratch(x.ball_count * sizeof(Vec3)),
                            <Vec3*>memory.scratch(x.ball_count * sizeof(Vec3)))
    x.center_listed = <Vec3*>memory.scratch(x.ball_count * sizeof(Vec3))
    x.pose_listed = <Pose*>memory.scratch(bodies * sizeof(Pose))
    return 0


cdef int touching_trees(Touching* x, Memory memory, const vt_model* m) except -1:
    # trees whose bodies do not follow one another count as one
    cdef int i, k, root = 0
    cdef bint apart = True
    for i in range(m.nbody):
        if m.body[i].parent < 0:
            root = i
        apart = apart and (m.body[i].parent < 0 or m.body[i].parent >= root)
    x.tree = <TouchTree*>memory.given((m.nbody + 1) * sizeof(TouchTree))
    x.group = <TouchGroup*>memory.scratch(m.nbody * sizeof(TouchGroup))
    x.group_of_tree = <int*>memory.scratch(m.nbody * sizeof(int))
    x.tree_of_body, x.body_of_v = <int*>memory.given(m.nbody * sizeof(int)), <int*>memory.given(m.nv * sizeof(int))
    for i in range(m.nbody):
        if i == 0 or (apart and m.body[i].parent < 0):
            x.tree[x.trees].body, x.tree[x.trees].v = i, m.body[i].iv
            x.trees += 1
        x.tree_of_body[i] = x.trees - 1
        x.tree[x.trees - 1].body_end, x.tree[x.trees - 1].v_end = i + 1, m.body[i].iv + joint_nv(&m.body[i])
        for k in range(joint_nv(&m.body[i])):
            x.body_of_v[m.body[i].iv + k] = i
    # after them all of them as one
    x.tree[x.trees].body, x.tree[x.trees].body_end, x.tree[x.trees].v, x.tree[x.trees].v_end = 0, m.nbody, 0, m.nv
    return 0


cdef inline Vec3 acting_point(const Touching* x, const vt_contact* e, const Touch* at) noexcept nogil:
    # the point of action of a contact: on the ground at the first body, halfway between two; for a patch at the gap of
    # its centre
    cdef Vec3 point = at.a
    if slides_flat(x, e) and x.patch_count[e.patch] > 1:
        point = axpy(x.patch_gap[e.patch] - at.gap, at.n, point)
    return axpy(-halfway(e, at), at.n, point)


cdef inline int width_of(const Touching* x, int port) noexcept nogil:
    # the coordinates of a port's tree
    return x.tree[x.tree_of_port[port]].v_end - x.tree[x.tree_of_port[port]].v


cdef inline int first_of(const Touching* x, int port) noexcept nogil:
    return x.tree[x.tree_of_port[port]].v


cdef inline double* row_of(const Touching* x, double* rows, int port) noexcept nogil:
    # of an array of rows; those of its tree are the coordinates that it has
    return rows + x.row_at[port]


cdef inline double* block_row(const Touching* x, double* P, int port) noexcept nogil:
    # the row of a port, by the numbers of the ports of its tree
    return P + x.block_at[x.part_of_port[port]] + port * <Py_ssize_t>x.part_size[x.part_of_port[port]]


cdef inline double inner_port(const Touching* x, double* rows, int port, const double* v) noexcept nogil:
    # a row times v (nv,)
    cdef int first = first_of(x, port)
    return vt_inner(width_of(x, port), row_of(x, rows, port) + first, v + first)


cdef inline void add_port(const Touching* x, double* rows, int port, double size, double* out) noexcept nogil:
    # out (nv,) += size times a row
    cdef int first = first_of(x, port)
    vt_add_row(width_of(x, port), size, row_of(x, rows, port) + first, out + first)


cdef inline double along_port(const Touching* x, int port, const double* v) noexcept nogil:
    # the motion of a port at node 1 for a velocity
    return inner_port(x, x.rows, port, v)


cdef inline void push_port(const Touching* x, int port, double size, double* out) noexcept nogil:
    # out (nv,) += the impulse of a wrench of this size in a port
    add_port(x, x.rows, port, size, out)


cdef void touching_free(Touching* x) noexcept nogil:
    cones_free(&x.cones)
    cones_free(&x.hit)
    store_free(&x.store)
    store_free(&x.store_of_hit)
    free(x.u)
    vt_release(x.rows)
    vt_release(x.P_room)
    free(x.W1)


cdef void take_rooms(Touching* x, const Touching* y) noexcept nogil:
    x.cones, x.hit, x.store, x.store_of_hit = y.cones, y.hit, y.store, y.store_of_hit
    x.cones.store = x.hit.store = NULL
    x.u, x.T, x.change, x.row_at, x.ports_room = y.u, y.T, y.change, y.row_at, y.ports_room
    x.owner, x.tree_of_port, x.part_of_port = y.owner, y.tree_of_port, y.part_of_port
    x.rows, x.rows2, x.response, x.answers_room, x.rows_reals_room = (
        y.rows, y.rows2, y.response, y.answers_room, y.rows_reals_room)
    x.P_room, x.blocks_room = y.P_room, y.blocks_room
    x.W1, x.W2, x.w, x.total, x.rows_room = y.W1, y.W2, y.w, y.total, y.rows_room


cdef void exchange_rooms(Touching* x, Touching* y) noexcept nogil:
    # what `ports_room`, `rows_room` and `cones_room` allocate, of which no step reads what another left
    cdef Touching was = x[0]
    take_rooms(x, y)
    take_rooms(y, &was)


cdef void free_rooms(void* rooms) noexcept nogil:
    touching_free(<Touching*>rooms)
    free(rooms)


cdef int ports_room(Touching* x, int ports) noexcept nogil:
    # allocate so many ports, of row_reals and block_reals; their content is lost
    cdef size_t n = ports + 12, rows = x.row_reals
    cdef double* at
    if ports > x.ports_room:
        at = <double*>realloc(x.u, n * (3 * sizeof(double) + sizeof(Py_ssize_t) + 3 * sizeof(int)))
        if at == NULL:
            return NO_MEMORY
        x.ports_room = <int>n
        x.u, x.T, x.change, x.row_at = at, at + n, at + 2 * n, <Py_ssize_t*>(at + 3 * n)
        x.owner = <int*>(x.row_at + n)
        x.tree_of_port, x.part_of_port = x.owner + n, x.owner + 2 * n
    if not grow(<void**>&x.rows, &x.rows_reals_room, 4 * rows, sizeof(double)):
        return NO_MEMORY
    rows = x.rows_reals_room // 4
    x.rows2, x.response, x.answers_room = x.rows + rows, x.rows + 2 * rows, x.rows + 3 * rows
    return OK if grow(<void**>&x.P_room, &x.blocks_room, x.block_reals, sizeof(double)) else NO_MEMORY


cdef int rows_room(Touching* x, int rows) noexcept nogil:
    cdef size_t n = 2 * rows + 24
    cdef TouchRow* at
    if rows <= x.rows_room:
        return OK
    at = <TouchRow*>realloc(x.W1, 2 * n * (sizeof(TouchRow) + sizeof(double)))
    if at == NULL:
        return NO_MEMORY
    x.rows_room = <int>n
    x.W1, x.W2, x.w = at, at + n, <double*>(at + 2 * n)
    x.total = x.w + n
    return OK


cdef void single_port(const vt_model* m, const vt_contact* e, const double* q, const Pose* pose, const TouchTree* on,
                      double* row) noexcept nogil:
    # the row of a contact whose impulse is a number, by the coordinates of its tree
    memset(row + on.v, 0, (on.v_end - on.v) * sizeof(double))
    single_row(m, e, q, pose, row)


cdef void push_body(const vt_model* m, const Pose* pose, int body, const double* f, double* out) noexcept nogil:
    # out (nv,) += J^T of a wrench f (6,) about a body's origin, world axes
    cdef int i = body, k
    cdef const vt_body* b
    cdef Vec3 w, v, torque = load3(f), force = load3(f + 3)
    while i >= 0:
        b = &m.body[i]
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            out[b.iv + k] += dot(w, torque) + dot(v, force)
        torque = add(torque, cross(pose[i].t, force))
        i = b.parent


cdef inline void add_column(int n, double size, const double* A, int width, double* x) noexcept nogil:
    # x += size times a column of a matrix
    cdef int k
    for k in range(n):
        x[k] += size * A[k * width]
