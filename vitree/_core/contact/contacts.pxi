# Contacts of a step: their places at both ends, the set that is in the solve, their rows in the ports of the bodies
# that they touch, and their velocities over the step. One lane.

cdef enum:
    TOUCH_CUTS = 2          # so many passes of a step may leave the complementarity problem unsolved
    MOST_JOINS = 100        # times that contacts may join a step
    REPEATED_JOINS = 30     # of a step that is repeated

#: A residual of it up to this fraction of the velocities is accepted where it cannot be reduced; of explicit methods up
#: to the other one where shorter steps did not help
cdef double TOUCH_LEFT = 1e-5
cdef double TOUCH_LENIENT = 0.1
#: Corrections of problems of several trees count as less up to so many rows,
cdef double CHEAP_ROWS = 48.0
#: and those of explicit methods as less: they take more passes, and may not end with a large residual
cdef double EXPLICIT_PRICE = 0.2
#: The list of what is near is made anew so much earlier where there are convex shapes
cdef double SHAPES_SKIN = 0.2
#: [m] shapes that overlap by more at node 1 have done so from the start of the run
cdef double FROM_START = 1e-8


cdef int make_contacts(ModelStepper self, dict options) except -1:
    cdef Touching* x = &self.contact
    cdef Seats seats
    self.contacts = options.get("contacts", ContactList())
    self.numbers.field = &self.contacts.field
    self.slowest, self.events = options.get("slowest", 0.0), options.get("max_impacts", 0)
    self.elastic, self.rolls = self.contacts.elastic, self.contacts.rolls
    if not self.contacts.count:
        return 0
    if self.contacts.span == NULL:
        raise ValueError(f"{self.contacts.count} contacts without their spans")
    make_seats(self)
    seats = self.memory.seats
    touching_make(x, self.memory, self.shared.m, self.shared.count, self.contacts)
    self.ntouch = x.contacts
    string_ropes(self)
    seated_impulses(x, seats, &self.lam_start, SCRATCH)
    seated_impulses(x, seats, &self.way_start, SCRATCH)
    seated_impulses(x, seats, &self.way_beside, SCRATCH)
    seated(x, seats, &self.turn_start, TURNED * sizeof(double) if x.turns else 0, SCRATCH)
    seated(x, seats, &self.hold_start, sizeof(double), SCRATCH)
    seated(x, seats, &self.gap_start, sizeof(double), SCRATCH)
    seated(x, seats, &self.active_start, sizeof(int), SCRATCH)
    # where contacts may bounce, the speed at which each closes matters
    x.balls = not (self.elastic or self.events)
    return 0


cdef void string_ropes(ModelStepper self) noexcept:
    # the bodies of ropes, and of each rope a coordinate that moves one of them
    cdef Touching* x = &self.contact
    cdef vt_contact* e
    cdef int c, k, body, tree
    for c in range(x.plain):
        e = &self.touch[c]
        tree = -1
        for k in range(e.eyelets):
            body = e.eyelet[k].body
            if body < 0:
                continue
            x.on_rope[body] = True
            x.tied = x.tied or (tree >= 0 and x.tree_of_body[body] != tree)
            tree, e.iv = x.tree_of_body[body], self.shared.m.body[body].iv


# ---- the previous step -------------------------------------------------------------------------------


cdef int log_told(ModelStepper self, Log* log, long row) noexcept nogil:
    # what was recorded of contacts so far in the step
    cdef Touching* x = &self.contact
    cdef double* to
    cdef int c, k
    for k in range(x.asked_count if x.have_list else self.ntouch):
        c = x.asked[k] if x.have_list else contact_in_turn(x, k)
        if not acted(x, c) and not stands(&self.touch[c]):
            continue
        to = log_more(log, told_width(self))
        if to == NULL:
            return NO_MEMORY
        write_told(self, c, row, to)
    return OK


cdef inline int told_width(ModelStepper self) noexcept nogil:
    # numbers of a contact in records
    return TOUCHED + (TURNED if self.contact.turns else 0) + (FACET_ROW if self.contact.pairs else 0)


cdef inline int facet_column(ModelStepper self) noexcept nogil:
    # the first that records a facet
    return TOUCHED + (TURNED if self.contact.turns else 0)


cdef void write_told(ModelStepper self, int c, double row, double* to) noexcept nogil:
    cdef const Touching* x = &self.contact
    to[0], to[1] = row, number_of(x, c)
    memcpy(to + 2, x.told + TOLD * c, TOLD * sizeof(double))
    if x.turns:
        memcpy(to + TOUCHED, x.told_turn + TURNED * c, TURNED * sizeof(double))
    to += facet_column(self)
    if self.touch[c].slot >= 0:
        memcpy(to, x.facet_told + FACET_ROW * self.touch[c].slot, FACET_ROW * sizeof(double))
    elif x.pairs:
        memset(to, 0, FACET_ROW * sizeof(double))


cdef void keep_facet(ModelStepper self, int c) noexcept nogil:
    # where the impulse of a facet acts, as records have it, and the facet
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[c]
    cdef const Touch* at = &x.here[c]
    cdef double* to = x.facet_told + FACET_ROW * e.slot
    cdef Vec3 point = at.a
    if on_patch(self, c):
        # across from the centre of its patch
        point = axpy(halfway(e, at) - dot(at.n, sub(at.a, patch_place(x, e))), at.n, at.a)
    store3(to, point)
    store3(to + 3, at.n)
    to[6] = at.gap
    write_facet(&x.facet[e.slot], to + 7)


cdef void keep_touch(ModelStepper self) noexcept nogil:
    # the impulses, and the direction in which each contact slid; for a divided step the sum of the impulses and the
    # last slip are recorded
    cdef Touching* x = &self.contact
    cdef double* told
    cdef Vec3 lam, way
    cdef double size, share = 1.0
    cdef int k, j, c, o
    keep_gaps(self)
    if not x.solved:
        x.have_ports[0] = False
        x.past.seen.count = 0
        x.idled[0] = 0.0
        return
    if not self.method.explicit:
        learn_push(self)
        if x.drifted:
            # the error of the guess acted in each idle step, and the correction undoes all of it
            share = 1.0 / (1.0 + x.idled[0])
        x.idled[0] = x.idled[0] + 1.0 if x.idle else 0.0
    for k in range(x.count):
        c, o = x.member[k], x.cones.row[k]
        if stands(&self.touch[c]):
            keep_standing(self, k)
            continue
        # contacts that are open keep a remainder of a guess
        if not (x.cones.lam[o] > 0.0 and (x.cones.w[o] < x.cones.diagonal[o] * x.cones.lam[o]
                                          or self.touch[c].stiffness != INFINITY)):
            continue
        if not has_left(&self.touch[c], x.there[c].gap):
            x.active[c], x.hold[c] = ARRIVED if x.arrives[c] else PUSHED, x.target[c]
        if self.touch[c].slot >= 0:
            keep_facet(self, c)
        told = x.told + TOLD * c
        told[6] = (x.there[c].gap - x.target[c] if self.touch[c].kind == AT_SPEED else x.there[c].gap) + 0.0
        if x.arrives[c]:
            told[6] = -0.0      # the sign marks in records that it rebounds there
        lam = world_impulse(self, k, x.cones.lam + o)
        store3(told, add(load3(told), lam))
        if self.touch[c].stiffness != INFINITY:
            store3(told, add(load3(told), load3(x.late_of + 3 * c)))
        if share < 1.0:
            lam = add(scale(share, lam), scale(1.0 - share, world_impulse(self, k, x.cones.given + o)))
        store3(x.lam + 3 * c, lam)
        if x.cones.dim[k] > 3:
            keep_turning(self, k)
        elif x.cones.dim[k] == 3:
            way = axpy(x.w[o + 1], x.here[c].t1, scale(x.w[o + 2], x.here[c].t2))
            store3(told + 3, way)
            size = vt_sqrt(dot(way, way))
            if size > SLIDING:
                store3(x.way + 3 * c, scale(1.0 / size, way))


cdef void keep_gaps(ModelStepper self) noexcept nogil:
    # of contacts that did not act; the impulses of an impact
    cdef Touching* x = &self.contact
    cdef double* told
    cdef int i, k, j, c
    x.moved[0] = x.moved_there
    for i in range(x.near_count):
        k = x.near[i]
        for c in range(first_in(x, k), end_in(x, k)):
            told = x.told + TOLD * c
            store3(x.lam + 3 * c, zero3())
            store3(x.way + 3 * c, zero3())
            x.active[c] = 0
            if x.leading:
                memset(told, 0, TOLD * sizeof(double))
            if x.turns:
                begin_turning(x, c)
            told[6] = INFINITY if x.far_there[k] and not acted(x, c) else x.there[c].gap + 0.0  # avoid negative zeros
            x.gap_before[c] = INFINITY if x.far_there[k] else x.here[c].gap
            if not x.opened:
                continue
            for j in range(3):
                told[j] += x.impact_impulses[3 * c + j]
            if self.touch[c].slot >= 0 and acted(x, c):
                keep_facet(self, c)


cdef void keep_standing(ModelStepper self, int k) noexcept nogil:
    # of a member that acts in every step. For dry friction `way` holds the sign of the motion of the coordinate and the
    # length of the step; a coordinate that sticks keeps its position, as a wheel with a normal constraint does
    cdef Touching* x = &self.contact
    cdef int j, c = x.member[k], o = x.cones.row[k]
    cdef double* told = x.told + TOLD * c
    x.active[c], x.hold[c] = PUSHED, x.target[c]
    store3(x.lam + 3 * c, world_impulse(self, k, x.cones.lam + o))
    for j in range(3):
        told[j] += x.lam[3 * c + j]
    if self.touch[c].kind != RUBS:
        return
    told[3], told[5] = x.w[o], self.lane.now.h
    x.way[3 * c + 1] = fabs(self.lane.now.h)
    if fabs(x.w[o]) > SLIDING:
        x.way[3 * c] = 1.0 if x.w[o] > 0.0 else -1.0


cdef void admit(ModelStepper self, int c) noexcept nogil:
    # whether a contact is in the solve from the beginning, and its lower bound of the gap at the end of the step:
    # errors of a resting contact do not accumulate
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[c]
    if stands(e):
        x.target[c] = x.hold[c] if x.active[c] and not (e.kind == RUBS and x.way[3 * c] != 0.0) else x.here[c].gap
        x.within[c] = INSIDE
    elif e.kind == AT_SPEED:
        x.target[c] = x.here[c].gap - e.bound * fabs(self.lane.now.h)
        x.within[c] = INSIDE if x.active[c] else OUTSIDE
    else:
        # a compliant contact acts wherever it is compressed, or its force sets in
        x.target[c] = x.hold[c] if x.active[c] else bound_of(e, x.here[c].gap) if e.stiffness == INFINITY else e.softness
        if e.kind == ON_FACET and x.target[c] < min(0.0, x.at[e.seat].gap) - MISSING:
            # a facet that does not keep its shapes apart, as the plane along a line of a cone may not
            x.target[c] = min(0.0, x.at[e.seat].gap)
        x.within[c] = INSIDE if x.active[c] or (e.stiffness != INFINITY and x.here[c].gap < e.softness) else OUTSIDE
        if x.within[c] == OUTSIDE and (rests(self, c) or closes_soon(self, c)):
            x.within[c] = INSIDE
            touch_at(e, self.lane.state.q, x.pose1, NULL, facet_for(x, e), &x.here[c])


cdef inline bint rests(ModelStepper self, int c) noexcept nogil:
    # whether a rigid contact remains closed without an impulse, such as one of four corners where two carry the weight
    cdef const Touching* x = &self.contact
    return (x.here[c].gap <= RESTING_GAP and x.gap_before[c] <= RESTING_GAP and self.touch[c].stiffness == INFINITY
            and self.lane.clock.h_last != 0.0)


cdef inline bint closes_soon(ModelStepper self, int c) noexcept nogil:
    # whether the gap of a contact that neither bounces nor yields will close if it changes about as in the last step: it
    # need not be found at the end of a trial. Points of patches have the rows of those that are in the solve, and wait
    cdef const Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[c]
    cdef double change
    if x.active[c] or not x.balls or e.patch >= 0 or e.stiffness != INFINITY or self.lane.clock.h_last == 0.0:
        return False
    if x.within_balls[c] and x.here[c].gap > x.away:
        return False
    change = x.here[c].gap - x.gap_before[c]
    return change < 0.0 and x.here[c].gap + FORESEEN * change < 0.0


cdef bint others_close(ModelStepper self) noexcept nogil:
    # whether the gap of a contact that is not in the solve is within a few of the largest changes of gaps in the last step
    cdef const Touching* x = &self.contact
    cdef double least = INFINITY, most = 0.0
    cdef int c, k
    if not x.balls or self.lane.clock.h_last == 0.0:
        return False
    for k in range(x.asked_count):
        c = x.asked[k]
        if self.touch[c].patch >= 0 or stands(&self.touch[c]) or self.touch[c].kind == AT_SPEED:
            continue
        if x.within[c] == OUTSIDE and not (x.within_balls[c] and x.here[c].gap > x.away):
            least = min(least, x.here[c].gap - self.touch[c].softness)
            most = max(most, fabs(x.here[c].gap - x.gap_before[c]))
    return least < FORESEEN * most


cdef inline void face(ModelStepper self, int c) noexcept nogil:
    # t1 and t2 at node 1
    if self.touch[c].kind != ROLLS:
        across(&self.contact.here[c])


cdef Vec3 world_impulse(ModelStepper self, int k, const double* lam) noexcept nogil:
    # of a member, in world axes; of a coordinate its single number
    cdef const vt_contact* e = &self.touch[self.contact.member[k]]
    cdef const Touch* at = &self.contact.here[self.contact.member[k]]
    cdef Vec3 f
    cdef int j
    if is_single(e):
        return vec3(lam[0], 0.0, 0.0)
    if e.kind == ROLLS:
        f = zero3()
        for j in range(e.dim):
            f = axpy(lam[j], way_of(at, way_at(e, j)), f)
        return f
    f = scale(lam[0], at.n)
    if self.contact.cones.dim[k] >= 3:
        f = axpy(lam[1], at.t1, axpy(lam[2], at.t2, f))
    return f


# ---- positions of bodies and contacts ----------------------------------------------------------------


cdef void stand_bodies(ModelStepper self, const double* q, Pose* pose, double* at, int* placed) noexcept nogil:
    # place the bodies at q, unless they are there
    if placed[0] and memcmp(at, q, self.nq * sizeof(double)) == 0:
        return
    forward_kinematics(self.shared.m, q, pose)
    memcpy(at, q, self.nq * sizeof(double))
    placed[0] = True


cdef void stand_trial(ModelStepper self) noexcept nogil:
    # all bodies at node 2 of a trial
    self.contact.told2 = False
    stand_bodies(self, self.lane.state.q2, self.contact.pose2, self.contact.at2, &self.contact.placed2)


cdef void place_start(ModelStepper self, const double* q) noexcept nogil:
    # bodies and contacts at node 1, which may be node 2 of the previous step
    cdef Touching* x = &self.contact
    cdef bint told = False
    if x.placed2 and memcmp(x.at2, q, self.nq * sizeof(double)) == 0:
        x.pose1, x.pose2 = x.pose2, x.pose1
        x.at1, x.at2 = x.at2, x.at1
        x.placed1, x.placed2 = x.placed2, x.placed1
        if x.told2:
            x.here, x.there, told = x.there, x.here, True
            x.far_here, x.far_there = x.far_there, x.far_here
    x.told2 = False
    stand_bodies(self, q, x.pose1, x.at1, &x.placed1)
    x.moved_there = x.moved[0]
    x.away = 2.0 * FORESEEN * x.moved[0] + AWAY
    begin_facets(self, q)
    place_balls(x, x.pose1, x.center1)
    list_spans(self, x.center1, x.pose1, x.away)
    place_touches(self, q, told)


cdef void place_end(ModelStepper self, const double* q) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef double away
    cdef int k
    stand_bodies(self, q, x.pose2, x.at2, &x.placed2)
    place_balls(x, x.pose2, x.center2)
    x.moved_there = farthest_moved(x)
    away = 2.0 * FORESEEN * x.moved_there + AWAY
    list_spans(self, x.center2, x.pose2, away)
    for k in range(x.near_count):
        place_span_end(self, x.near[k], q, away)
    if x.more_seats:
        ask_near(x)
    x.told2 = True


cdef void place_touches(ModelStepper self, const double* q, bint told) noexcept nogil:
    # all contacts at node 1. told: `here` is of the end of the step before, and points on the ground are the same at the
    # start of a step
    cdef Touching* x = &self.contact
    cdef const TouchSpan* on
    cdef bint far
    cdef int i, k, c
    for i in range(x.near_count):
        k = x.near[i]
        on = &x.span[k]
        if told and (x.far_here[k] or (on.pair < 0 and on_ground(&self.touch[on.first]))):
            continue
        far = lies_far(self, on, x.center1, x.pose1, x.away)
        far = x.far_here[k] = far or (on.pair >= 0 and not sit_down(self, k))
        if on.pair >= 0 and not far:
            face_each_other(self, k)
        for c in range(first_in(x, k), end_in(x, k)):
            if far and not is_busy(x, c):
                x.here[c].gap = INFINITY
            else:
                touch_at(&self.touch[c], q, x.pose1, NULL, facet_for(x, &self.touch[c]), &x.here[c])
    if x.more_seats:
        ask_near(x)


cdef void place_span_end(ModelStepper self, int k, const double* q, double away) noexcept nogil:
    # the contacts of a span at node 2. Contacts are far away where their gaps are larger than what the balls moved in the
    # step, times 2 FORESEEN: they do not close by such motion. Their gaps count as infinite. What is far away follows
    # from the nodes alone; a contact that is not so at the end of a step has its gap at the start as well
    cdef Touching* x = &self.contact
    cdef const TouchSpan* on = &x.span[k]
    cdef bint far = lies_far(self, on, x.center2, x.pose2, away)
    cdef int c, first, end
    far = far or (on.pair >= 0 and not sit_down(self, k))
    first, end = first_in(x, k), end_in(x, k)
    if x.far_here[k] and not far:
        if on.pair >= 0:
            face_each_other(self, k)
        for c in range(first, end):
            touch_at(&self.touch[c], x.at1, x.pose1, NULL, facet_for(x, &self.touch[c]), &x.here[c])
        x.far_here[k] = False
    x.far_there[k] = far
    for c in range(first, end):
        if far and not is_busy(x, c):
            x.there[c].gap = INFINITY
        else:
            touch_at(&self.touch[c], q, x.pose2, &x.here[c], facet_for(x, &self.touch[c]), &x.there[c])
    if on.pair >= 0 and not far:
        stay_apart(self, k)


cdef inline bint has_left(const vt_contact* e, double gap) noexcept nogil:
    # whether a compliant contact that pushed is open where the step ends
    return e.stiffness != INFINITY and not gap < e.softness


cdef inline bint acted(const Touching* x, int c) noexcept nogil:
    # whether an impulse is recorded of a contact
    return x.told[TOLD * c] != 0.0 or x.told[TOLD * c + 1] != 0.0 or x.told[TOLD * c + 2] != 0.0


cdef inline bint is_busy(const Touching* x, int c) noexcept nogil:
    return x.within[c] == INSIDE or x.active[c] != 0 or acted(x, c)


cdef inline bint lies_far(ModelStepper self, const TouchSpan* on, const Vec3* center, const Pose* pose,
                          double away) noexcept nogil:
    # whether the balls of a span are farther apart than away: |ca - cb| > ra + rb + away, or n.ca - offset > ra + away;
    # or the convex shapes
    cdef const vt_contact* e
    cdef Vec3 d
    if not self.contact.balls:
        return False
    if on.pair >= 0 and on.ball < 0:
        return shapes_apart(&self.contact, on.pair, pose, away)
    if on.ball < 0:
        return False
    if on.other >= 0:
        d = sub(center[on.ball], center[on.other])
        if dot(d, d) > (away + on.radius) * (away + on.radius):
            return True
        return on.pair >= 0 and shapes_apart(&self.contact, on.pair, pose, away)
    e = &self.touch[on.first]
    away += on.radius
    return dot(constant3(e.normal), center[on.ball]) - e.offset > away


cdef void place_balls(const Touching* x, const Pose* pose, Vec3* center) noexcept nogil:
    cdef int k
    for k in range(x.ball_count if x.balls else 0):
        center[k] = placed(pose, x.ball[k].body, x.ball[k].center)


cdef double farthest_moved(const Touching* x) noexcept nogil:
    # a bound of the displacement in this step of points within the balls
    return moved_since(x, x.center1, x.pose1, x.center2, x.pose2)


cdef double moved_since(const Touching* x, const Vec3* c1, const Pose* pose1, const Vec3* c2, const Pose* pose2) noexcept nogil:
    # a bound of the displacement of points within the balls: |c2 - c1| + r |R2 - R1|
    cdef const Mat3* A
    cdef const Mat3* B
    cdef Vec3 d, s
    cdef double most = 0.0
    cdef int k
    for k in range(x.ball_count if x.balls else 0):
        if x.ball[k].body < 0:
            continue
        A, B = &pose1[x.ball[k].body].R, &pose2[x.ball[k].body].R
        d, s = sub(c2[k], c1[k]), zero3()
        s = vec3(square_of(sub(B.x, A.x)), square_of(sub(B.y, A.y)), square_of(sub(B.z, A.z)))
        most = vt_max_nan(most, vt_sqrt(dot(d, d)) + x.ball[k].radius * vt_sqrt(s.x + s.y + s.z))
    return most


cdef inline double square_of(Vec3 a) noexcept nogil:
    return dot(a, a)


cdef void list_spans(ModelStepper self, const Vec3* center, const Pose* pose, double away) noexcept nogil:
    # the spans nearer than a skin, unless those of a former list are enough: balls whose points moved by d each since then
    # are farther apart than away if they were by away + 2 d (Verlet 1967, "Computer experiments on classical fluids")
    cdef Touching* x = &self.contact
    cdef const TouchSpan* on
    cdef double most = 0.0
    cdef bint far
    cdef int k, c
    if x.have_list and x.balls:
        most = moved_since(x, x.center_listed, x.pose_listed, center, pose)
    if x.have_list and away + 2.0 * most <= x.skin:
        return
    # convex shapes are asked for their distance in each step, those of few pairs
    x.skin = 3.0 * away + x.skin_least * (SHAPES_SKIN if x.pairs else 1.0)
    memcpy(x.center_listed, center, x.ball_count * sizeof(Vec3))
    memcpy(x.pose_listed, pose, self.shared.m.nbody * sizeof(Pose))
    x.near_count = 0
    for k in range(x.spans):
        on = &x.span[k]
        far = on.ball >= 0 and lies_far(self, on, center, pose, x.skin)
        if far and x.have_list and not x.is_near[k]:
            continue
        for c in range(first_in(x, k), end_in(x, k)):
            far = far and not is_busy(x, c)
        x.is_near[k] = not far
        if far:
            leave_far(self, k)
            continue
        x.near[x.near_count] = k
        x.near_count += 1
    ask_near(x)
    x.have_list = True


cdef void ask_near(Touching* x) noexcept nogil:
    # list the contacts of the spans that are near
    cdef int i, c
    x.asked_count, x.more_seats = 0, False
    for i in range(x.near_count):
        for c in range(first_in(x, x.near[i]), end_in(x, x.near[i])):
            x.asked[x.asked_count] = c
            x.asked_count += 1


cdef bint sit_down(ModelStepper self, int k) noexcept nogil:
    # a seat for a pair that is not far away; returns whether it has one
    cdef int pair = self.contact.span[k].pair
    if self.contact.seat_of[pair] < 0:
        self.contact.more_seats = True
        return take_seat(self, pair) >= 0
    return True


cdef void leave_far(ModelStepper self, int k) noexcept nogil:
    # the contacts of a span that is not in the list
    cdef Touching* x = &self.contact
    cdef int c
    x.far_here[k] = x.far_there[k] = True
    if x.span[k].pair >= 0:
        leave_seat(self, x.span[k].pair)
        return
    for c in range(x.span[k].first, x.span[k].end):
        forget_contact(self, c)


cdef inline bint comes_in(ModelStepper self, int c) noexcept nogil:
    # whether the trial closes it beyond its gap at the start
    return self.contact.within[c] == OUTSIDE and self.contact.there[c].gap < self.contact.target[c] - CLOSES


cdef bint join(ModelStepper self) noexcept nogil:
    # add the contacts that the trial closes beyond their gaps at the start; returns whether there are any
    cdef Touching* x = &self.contact
    cdef int c, k
    cdef bint more = False
    place_end(self, self.lane.state.q2)
    if self.elastic:
        let_bounce(self)
    for k in range(x.asked_count):
        c = x.asked[k]
        if comes_in(self, c):
            x.within[c] = INSIDE
            touch_at(&self.touch[c], self.lane.state.q, x.pose1, NULL, facet_for(x, &self.touch[c]), &x.here[c])
            face(self, c)
            more = True
    return more


cdef double overlap_speed(ModelStepper self) noexcept nogil:
    # [m/s] by which contacts pass their bounds within the step, also those that are not in the solve
    cdef Touching* x = &self.contact
    cdef double most = 0.0
    cdef int k, c
    for k in range(x.asked_count):
        c = x.asked[k]
        if x.within[c] == INSIDE and self.touch[c].stiffness == INFINITY:
            most = max(most, x.target[c] - x.there[c].gap)
    return most / fabs(self.lane.now.h)


cdef bint overlaps_little(ModelStepper self) noexcept nogil:
    # whether contacts that pass their bounds within the step, and pairs that lack a facet, overlap by no more than inexact
    # impulses may let them
    cdef Touching* x = &self.contact
    cdef int k, c
    if x.sunk > HELD_GAP + x.slack:
        return False
    for k in range(x.asked_count):
        c = x.asked[k]
        if (x.within[c] == INSIDE and self.touch[c].stiffness == INFINITY and x.there[c].gap < x.target[c] - CLOSES
                and not sunk_by(x.there[c].gap, x.here[c].gap) <= HELD_GAP + x.slack):
            return False
    return True


cdef inline double sunk_by(double gap, double before) noexcept nogil:
    # the depth of an overlap that a step is judged by: how much deeper it comes where shapes overlapped from the start
    return before - gap if before < -FROM_START else -gap


cdef void contact_remember(ModelStepper self) noexcept nogil:
    # the impulses, as an initial guess
    cdef Touching* x = &self.contact
    cdef int k
    for k in range(x.count):
        store3(x.guess + 3 * x.member[k], world_impulse(self, k, x.cones.lam + x.cones.row[k]))
        if x.cones.dim[k] > 3:
            store3(turning_of(x, x.guess, x.member[k]), world_turn(self, k, x.cones.lam + x.cones.row[k]))


# ---- the contacts in the solve -----------------------------------------------------------------------


cdef int contact_gather(ModelStepper self) noexcept nogil:
    # the contacts in the solve: their cones, guesses, ports and rows at node 1
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef const Touch* at
    cdef Vec3 lam
    cdef double share = self.method.node_share(self)
    cdef int c, j, k = 0, n = 0, status
    if x.no_memory:
        return NO_MEMORY
    for j in range(x.asked_count):
        c = x.asked[j]
        if x.within[c] == INSIDE:
            x.member[k] = c
            n += self.touch[c].dim
            k += 1
    x.count = k
    group_contacts(self)
    status = cones_room(y, &x.store, k, n, min(12 * k, 6 * self.shared.m.nbody + k))
    if status == OK:
        status = rows_room(x, n)
    if status != OK:
        return status
    y.count, y.n, n = k, n, 0
    for k in range(x.count):
        c = x.member[k]
        e, at = &self.touch[c], &x.here[c]
        y.dim[k], y.row[k], y.mu[k] = e.dim, n, e.friction
        memset(y.lead + LEADS * k, 0, LEADS * sizeof(double))
        y.law[k] = HOLD if e.kind == ROLLS else RUB if e.kind == RUBS else CONE
        y.patch[k] = e.patch if slides_flat(x, e) and e.stiffness == INFINITY else -1
        y.even[k] = 1.0
        if is_single(e):
            y.lam[n] = x.guess[3 * c]
            if e.mesh >= 0:
                self.touch[c].passes = 0    # see `find_losses`
            elif e.kind == RUBS:
                # for dry friction the last step's part at its node 2 opposes the motion of that step; where the joint
                # stuck, the direction is open
                y.mu[k] = share * e.friction * fabs(self.lane.now.h)
                y.lead[LEADS * k] = x.way[3 * c + 2] - (1.0 - share) * e.friction * x.way[3 * c + 1] * x.way[3 * c]
                if x.way[3 * c] == 0.0:
                    y.mu[k] += (1.0 - share) * e.friction * x.way[3 * c + 1]
        elif e.kind == ROLLS:
            for j in range(e.dim):
                y.lam[n + j] = dot(load3(x.guess + 3 * c), way_of(at, way_at(e, j)))
        else:
            lam = load3(x.guess + 3 * c)
            y.lam[n] = dot(lam, at.n)
            if e.dim >= 3:
                y.lam[n + 1], y.lam[n + 2] = dot(lam, at.t1), dot(lam, at.t2)
                if e.dim > 3:
                    guess_turning(self, k, y.lam + n)
                bound_friction(self, k, 1.0)
        n += e.dim
    return place_ports(self)


cdef void bound_friction(ModelStepper self, int k, double share) noexcept nogil:
    # of a member: (1 - eased) mu share lam_n, half of it against the slip of the last step, unless no impulses were found so
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const Touch* at = &x.here[x.member[k]]
    cdef Vec3 way = load3(x.way + 3 * x.member[k])
    y.mu[k] = share * (1.0 - x.eased) * self.touch[x.member[k]].friction
    if y.dim[k] > 3:
        lead_turning(self, k)
        return
    if not x.own_slip[x.member[k]] and (way.x != 0.0 or way.y != 0.0 or way.z != 0.0):
        y.mu[k] *= 0.5
        y.lead[LEADS * k], y.lead[LEADS * k + 1] = -y.mu[k] * dot(way, at.t1), -y.mu[k] * dot(way, at.t2)


cdef inline int tree_of(ModelStepper self, int c) noexcept nogil:
    # the body that a contact touches, or the first of two
    cdef const vt_contact* e = &self.touch[c]
    if is_single(e):
        return self.contact.tree_of_body[self.contact.body_of_v[e.iv]]
    return self.contact.tree_of_body[e.body_a if e.body_a >= 0 else e.body_b]


cdef bint trees_apart(ModelStepper self) noexcept nogil:
    # whether trees are coupled by contacts between two bodies only
    cdef Choices* c = &self.shared.choices
    if self.contact.trees < 2 or self.shared.count or self.contact.tied:
        return False
    if self.at_node or self.kind == METHOD_FIELD:
        return True
    # P of explicit methods is updated for all ports at once
    return not self.method.explicit and c.extra == 0 and c.solver != RIQN and not self.method.dense(self)


cdef void group_contacts(ModelStepper self) noexcept nogil:
    # members that are coupled, group by group
    cdef Touching* x = &self.contact
    cdef TouchGroup* g
    cdef int* root = x.group_of_tree
    cdef int k, t, a, b, c, at
    x.groups = 1
    if x.count == 0 or not trees_apart(self):
        memset(root, 0, x.trees * sizeof(int))
        x.group[0].member, x.group[0].count = 0, x.count
        return
    # the representative tree of each group, the smallest of a group with itself; then the numbers of groups that have
    # members
    for t in range(x.trees):
        root[t] = t
    for k in range(x.count):
        c = x.member[k]
        if not is_single(&self.touch[c]) and self.touch[c].body_a >= 0 and self.touch[c].body_b >= 0:
            a, b = x.tree_of_body[self.touch[c].body_a], x.tree_of_body[self.touch[c].body_b]
            while root[a] != a:
                a = root[a]
            while root[b] != b:
                b = root[b]
            if a < b:
                root[b] = a
            else:
                root[a] = b
    for t in range(x.trees):
        x.group[t].count = 0
    for k in range(x.count):
        t = tree_of(self, x.member[k])
        while root[t] != t:
            t = root[t]
        x.group[t].count += 1
    x.groups = 0
    for t in range(x.trees):
        if root[t] != t:
            # representatives come first, and are numbered already
            root[t] = root[root[t]]
        elif x.group[t].count == 0:
            root[t] = -1
        else:
            root[t] = x.groups
            x.group[x.groups].count = x.group[t].count
            x.groups += 1
    at = 0
    for t in range(x.groups):
        x.group[t].member = at
        at += x.group[t].count
        x.group[t].count = 0
    memcpy(x.listed, x.member, x.count * sizeof(int))
    for k in range(x.count):
        g = &x.group[root[tree_of(self, x.listed[k])]]
        x.member[g.member + g.count] = x.listed[k]
        g.count += 1


cdef int count_ports(ModelStepper self, bint apart) noexcept nogil:
    # mark the bodies in contact, and allocate
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef int k, i, t, side, body
    cdef int* count = x.part_size       # of each tree
    cdef size_t n
    x.ports = 0
    for i in range(self.shared.m.nbody):
        x.port_of_body[i] = -1
    memset(count, 0, (x.trees + 1) * sizeof(int))
    for k in range(x.count):
        e = &self.touch[x.member[k]]
        if is_single(e):
            count[x.tree_of_body[x.body_of_v[e.iv]] if apart else x.trees] += 1
            continue
        for side in range(2):
            body = e.body_b if side else e.body_a
            if body >= 0 and x.port_of_body[body] < 0:
                x.port_of_body[body] = 0
                count[x.tree_of_body[body] if apart else x.trees] += 6
    x.row_reals = x.block_reals = 0
    for t in range(x.trees + 1):
        n = count[t]
        x.ports += count[t]
        x.row_reals += n * (x.tree[t].v_end - x.tree[t].v)
        x.block_reals += n * n
    return ports_room(x, x.ports)


cdef inline void add_port_of(Touching* x, int port, int owner, int tree, int part) noexcept nogil:
    x.owner[port], x.tree_of_port[port], x.part_of_port[port] = owner, tree, part
    x.row_at[port] = <Py_ssize_t>x.row_reals - x.tree[tree].v
    x.row_reals += x.tree[tree].v_end - x.tree[tree].v


cdef int place_ports(ModelStepper self) noexcept nogil:
    # a port for each body and coordinate in contact, and the contacts' rows in them at node 1
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef TouchGroup* g
    cdef int k, i, t, n, group, status, parts, limits, whole, ports, size
    cdef bint apart = trees_apart(self)
    status = count_ports(self, apart)
    if status != OK:
        return status
    # group by group and tree by tree: bodies in order, then coordinates in the order of the contacts
    ports = n = parts = 0
    x.row_reals = x.block_reals = 0
    for group in range(x.groups):
        g = &x.group[group]
        g.port, g.row, g.part, g.settled = ports, n, parts, False
        limits = 0
        for k in range(g.member, g.member + g.count):
            n += self.touch[x.member[k]].dim
            limits += is_single(&self.touch[x.member[k]])
        # trees that are coupled by more than contacts are one
        for t in range(0 if apart else x.trees, x.trees if apart else x.trees + 1):
            if apart and x.group_of_tree[t] != group:
                continue
            x.part[parts] = ports
            for i in range(x.tree[t].body, x.tree[t].body_end):
                if x.port_of_body[i] >= 0:
                    x.port_of_body[i] = ports
                    for k in range(6):
                        add_port_of(x, ports + k, i, t, parts)
                    body_ports(self.shared.m, x.pose1, i, &x.tree[t], row_of(x, x.rows, ports))
                    ports += 6
            whole = ports - x.part[parts]
            for k in range(g.member, g.member + (g.count if limits else 0)):
                e = &self.touch[x.member[k]]
                if is_single(e) and (not apart or x.tree_of_body[x.body_of_v[e.iv]] == t):
                    add_port_of(x, ports, -1 - x.member[k], t, parts)
                    single_port(self.shared.m, e, x.at1, x.pose1, &x.tree[t], row_of(x, x.rows, ports))
                    x.port_of_member[k] = ports
                    ports += 1
            size = ports - x.part[parts]
            if size > 0:
                x.part_size[parts] = size
                x.block_at[parts] = x.block_reals - x.part[parts] * <Py_ssize_t>(size + 1)
                x.block_reals += <size_t>size * size
                g.whole = whole
                parts += 1
        g.ports, g.n, g.parts = ports - g.port, n - g.row, parts - g.part
    x.parts = parts
    x.reach = reach_of_bodies(self)
    centre_patches(self, True)
    place_points(self)
    write_rows(self, x.here, x.pose1, x.W1, False)
    return OK


cdef void place_points(ModelStepper self) noexcept nogil:
    # of patches, on their planes, from the centre
    cdef Touching* x = &self.contact
    cdef const Touch* at
    cdef Vec3 arm
    cdef int k
    for k in range(x.count):
        if x.cones.patch[k] >= 0:
            at = &x.here[x.member[k]]
            arm = sub(at.arm_a, mul(x.pose1[self.touch[x.member[k]].body_a].R, x.patch_centre[x.cones.patch[k]]))
            x.cones.place[2 * k], x.cones.place[2 * k + 1] = dot(arm, at.t1), dot(arm, at.t2)


cdef void centre_patches(ModelStepper self, bint choose) noexcept nogil:
    # the centre of each patch, in body axes: the mean of the points that pushed in the step before, which are on the
    # ground; where none did, of the lowest. It does not depend on which points the solve has tried
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef int k, c, p
    for p in range(x.patches):
        x.patch_count[p], x.patch_points[p], x.patch_least[p] = 0, 0, INFINITY
        x.patch_centre[p], x.patch_gap[p], x.patch_radius[p] = zero3(), 0.0, 0.0
    for k in range(x.asked_count if choose else 0):
        c = x.asked[k]
        x.central[c] = x.active[c] != 0
        if slides_flat(x, &self.touch[c]):
            p = self.touch[c].patch
            x.patch_least[p] = min(x.patch_least[p], -INFINITY if x.active[c] else x.here[c].gap)
    for k in range(x.asked_count):
        c = x.asked[k]
        e, p = &self.touch[c], self.touch[c].patch
        if not slides_flat(x, e):
            continue
        if choose and x.here[c].gap <= x.patch_least[p] + LEVEL:
            x.central[c] = True
        if x.central[c] or x.within[c] == INSIDE:
            x.patch_count[p] += 1
        if not x.central[c]:
            continue
        x.patch_points[p] += 1
        x.patch_centre[p] = add(x.patch_centre[p], body_point(self, c))
        x.patch_gap[p] += x.here[c].gap
        x.patch_radius[p] += e.radius_a
    for p in range(x.patches):
        if x.patch_points[p] > 1:
            x.patch_centre[p] = scale(1.0 / x.patch_points[p], x.patch_centre[p])
            x.patch_gap[p] /= x.patch_points[p]
            x.patch_radius[p] /= x.patch_points[p]


cdef Vec3 body_point(ModelStepper self, int c) noexcept nogil:
    # the material point of body a, in body axes
    return tmul(self.contact.pose1[self.touch[c].body_a].R, self.contact.here[c].arm_a)


cdef inline bint on_patch(ModelStepper self, int c) noexcept nogil:
    return slides_flat(&self.contact, &self.touch[c]) and self.contact.patch_count[self.touch[c].patch] > 1


cdef void write_rows(ModelStepper self, const Touch* list, const Pose* pose, TouchRow* W, bint end) noexcept nogil:
    # the rows of all contacts in the ports; end: of gap and slip, by displacements at node 2
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef const Touch* at
    cdef const Touch* before
    cdef TouchRow* to
    cdef Vec3 arm_a, arm_b, t, couple
    cdef PatchFrame patch
    cdef double more
    cdef int k, c, j, way
    patch.patch = -1
    for k in range(x.count):
        c = x.member[k]
        e, at, before, to = &self.touch[c], &list[c], &x.here[c], W + x.cones.row[k]
        to.b, to.size = -1, 6
        if is_single(e):
            to.a, to.size, to.on_a[0] = x.port_of_member[k], 1, 1.0
            continue
        to.a = x.port_of_body[e.body_a] if e.body_a >= 0 else -1
        to.b = x.port_of_body[e.body_b] if e.body_b >= 0 else -1
        if e.dim > 3:
            turning_rows(self, e, before, pose, end, to)
        if e.kind == ROLLS:
            for j in range(e.dim):
                way = way_at(e, j)
                to[j].a, to[j].b, to[j].size = to.a, -1, 6
                if way > 0 and end:
                    rolled_row(e, before, at, x.pose1, pose, way, &t, &couple)
                    put_wrench(to[j].on_a, sub(placed(pose, e.body_a, e.point_a), pose[e.body_a].o), t, couple)
                else:
                    put_wrench(to[j].on_a, at.arm_a, way_of(before, way), zero3())
            continue
        put_wrench(to.on_a, at.arm_a, at.n, zero3())
        put_wrench(to.on_b, at.arm_b, neg(at.n), zero3())
        if e.dim == 1:
            continue
        if on_patch(self, c):
            patch_rows(e, before, body_point(self, c), x.patch_centre[e.patch], x.patch_turn[e.patch], x.pose1, pose, end, &patch,
                       to.a, to.b, to + 1)
            continue
        more = halfway(e, before)
        arm_a, arm_b = axpy(-more, before.n, before.arm_a), axpy(more, before.n, before.arm_b)
        for j in range(2):
            t = before.t2 if j else before.t1
            to[1 + j].a, to[1 + j].b, to[1 + j].size = to.a, to.b, 6
            if end and e.kind == ON_FACET:
                facet_slip_rows(self, c, at, pose, t, &to[1 + j])
                continue
            if not end:
                put_wrench(to[1 + j].on_a, arm_a, t, zero3())
                put_wrench(to[1 + j].on_b, arm_b, neg(t), zero3())
                continue
            if e.body_a >= 0:
                slip_row(&x.pose1[e.body_a].R, &pose[e.body_a].R, arm_a, before.n, rolling_lever(e, e.radius_a, more), t,
                         to[1 + j].on_a)
            if e.body_b >= 0:
                slip_row(&x.pose1[e.body_b].R, &pose[e.body_b].R, arm_b, before.n, -rolling_lever(e, e.radius_b, more), neg(t),
                         to[1 + j].on_b)


cdef inline Vec3 patch_place(const Touching* x, const vt_contact* e) noexcept nogil:
    # the centre of a patch at node 1
    return add(x.pose1[e.body_a].o, mul(x.pose1[e.body_a].R, x.patch_centre[e.patch]))


cdef void along_ports(ModelStepper self, const TouchRow* W, const double* v, double* out) noexcept nogil:
    # the rate of a row for a velocity
    cdef Touching* x = &self.contact
    cdef int k
    out[0] = 0.0
    if W.a >= 0:
        for k in range(W.size):
            out[0] += W.on_a[k] * along_port(x, W.a + k, v)
    if W.b >= 0:
        for k in range(6):
            out[0] += W.on_b[k] * along_port(x, W.b + k, v)


cdef void sum_wrenches(ModelStepper self, const double* lam, double* u) noexcept nogil:
    # u = W1 lam, the impulses as wrenches in the ports
    cdef Touching* x = &self.contact
    cdef int k
    memset(u, 0, x.ports * sizeof(double))
    for k in range(x.cones.n):
        add_touch_row(&x.W1[k], lam[k], u)


cdef void gather_push(ModelStepper self) noexcept nogil:
    # u of the current impulses
    sum_wrenches(self, self.contact.cones.lam, self.contact.u)
    self.contact.foretold = False


cdef bint normals_turn_back(ModelStepper self, int group) noexcept nogil:
    # whether contacts respond to their own impulses with the opposite sign, since their normals turn within the step: their
    # rows at node 2 become those at node 1
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const TouchGroup* g = &x.group[group]
    cdef int k, o
    cdef bint found = False
    for k in range(g.member, g.member + g.count):
        o = y.row[k]
        if y.law[k] == CONE and not y.diagonal[o] > 0.0 and x.coupled == x.W2:
            memcpy(x.W2 + o, x.W1 + o, y.dim[k] * sizeof(TouchRow))
            found = True
    return found


cdef void couple_contacts(ModelStepper self, const double* P, const TouchRow* W2) noexcept nogil:
    # G = W2^T P W1
    cdef Touching* x = &self.contact
    cdef ContactProblem part
    cdef int k
    x.coupling, x.coupled = P, W2
    for k in range(x.groups):
        cut_cones(self, k, &part)
        cones_diagonal(&part)
        if normals_turn_back(self, k):
            cones_diagonal(&part)
        x.cones.least_held = max(part.least_held, x.cones.least_held if k else 0.0)


cdef void cut_cones(ModelStepper self, int group, ContactProblem* part) noexcept nogil:
    # the problem of a group
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const TouchGroup* g = &x.group[group]
    cdef PortTrees on
    cdef int k = g.member, o = g.row, i
    part[0] = y[0]
    part.count, part.n, part.price = g.count, g.n, <double>g.n / y.n
    if self.method.explicit:
        part.price *= EXPLICIT_PRICE
    elif g.parts == 1:
        part.price *= max(1.0, <double>g.n / DENSE_ROWS)
    elif g.n < CHEAP_ROWS:
        part.price *= g.n * g.n / (CHEAP_ROWS * CHEAP_ROWS)
    part.law, part.dim, part.mu, part.lead, part.give = y.law + k, y.dim + k, y.mu + k, y.lead + LEADS * k, y.give + k
    part.row = y.own_row + k
    for i in range(g.count):
        part.row[i] = y.row[k + i] - o
    part.b, part.lam, part.w, part.F, part.kept = y.b + o, y.lam + o, y.w + o, y.F + o, y.kept + o
    part.given = y.given + o
    part.patch, part.place, part.even = y.patch + k, y.place + 2 * k, y.even + k
    part.level, part.uneven = y.level + k, y.uneven + k
    part.trial, part.trial_w, part.trial_F = y.trial + o, y.trial_w + o, y.trial_F + o
    part.diagonal, part.by_w, part.by_lam = y.diagonal + o, y.by_w + WIDE * o, y.by_lam + WIDE * o
    part.d, part.least, part.own_block = y.d + o, y.least + o, y.own_block + WIDE * o
    on.count, on.first, on.size, on.of_port = g.parts, x.part + g.part, x.part_size + g.part, x.part_of_port
    on.base, on.whole, on.at = g.part, g.whole, x.block_at + g.part
    cones_product(part, x.W1 + o, x.coupled + o, x.coupling, &on, g.port, g.ports)


cdef double map_contacts(ModelStepper self) noexcept nogil:
    # w and F of the impulses; returns the largest |F|
    cdef Touching* x = &self.contact
    cdef ContactProblem part
    cdef double most = 0.0
    cdef int k
    for k in range(x.groups):
        if not x.group[k].settled:
            cut_cones(self, k, &part)
            most = vt_max_nan(most, cone_map(&part, part.lam, part.w, part.F, False))
    return most


cdef double solve_contacts(ModelStepper self, double goal, double rounded, double enough, bint eased) noexcept nogil:
    # impulses with |F| <= goal, or `rounded` where rows are redundant, or `enough` where this is not easily found, group by
    # group; returns the largest |F|. eased: see `cone_solve`
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef ContactProblem part
    cdef double most = 0.0, left, asked
    cdef int k, o
    for k in range(x.groups):
        if x.group[k].settled:
            continue
        cut_cones(self, k, &part)
        asked = max(goal, rounded) if redundant(&part) else goal
        left = cone_solve(&part, asked, enough, eased)
        # half of the friction against the last slip pushes forward where the motion turns, and then there may be no
        # impulses that satisfy the laws
        if left > enough and turn_to_own_slip(self, &part, x.group[k].member):
            left = cone_solve(&part, asked, enough, eased)
        most = vt_max_nan(most, left)
        o = x.group[k].row
        if part.lam != y.lam + o:
            memcpy(y.lam + o, part.lam, part.n * sizeof(double))
            memcpy(y.w + o, part.w, part.n * sizeof(double))
            memcpy(y.F + o, part.F, part.n * sizeof(double))
        y.corrections, y.sweeps, y.budget = part.corrections, part.sweeps, part.budget
    return most


cdef double left_by_friction(ModelStepper self) noexcept nogil:
    # the natural residual [m/s] of impulses that were found with less friction
    cdef Touching* x = &self.contact
    cdef double eased = x.eased
    cdef int k
    x.eased = 0.0
    for k in range(x.count):
        if x.cones.law[k] == CONE and x.cones.dim[k] >= 3 and self.touch[x.member[k]].stiffness == INFINITY:
            bound_friction(self, k, 1.0)
    x.eased = eased
    return touch_residual(self)


cdef bint turn_to_own_slip(ModelStepper self, ContactProblem* part, int member) noexcept nogil:
    # all friction of a group's contacts is against the slip of this step; whether that differs
    cdef int k
    cdef bint differs = False
    for k in range(part.count):
        if part.law[k] == CONE and largest(part.lead + LEADS * k, LEADS) != 0.0:
            part.mu[k] *= 2.0
            memset(part.lead + LEADS * k, 0, LEADS * sizeof(double))
            self.contact.own_slip[self.contact.member[member + k]] = differs = True
    return differs


cdef bint relax_targets(ModelStepper self) noexcept nogil:
    # of rigid contacts whose gap at node 1 is below the bound that they hold, the bound becomes that gap: what is jammed
    # may have no other motion than none. Whether there are any
    cdef Touching* x = &self.contact
    cdef int k, c
    cdef bint found = False
    for k in range(x.count):
        c = x.member[k]
        if not stands(&self.touch[c]) and self.touch[c].stiffness == INFINITY and x.here[c].gap < x.target[c]:
            x.target[c], found = x.here[c].gap, True
    return found


cdef bint may_go_on(ModelStepper self, double left, double goal) noexcept nogil:
    # whether the passes go on with impulses that leave a residual: a small one that cannot be reduced, or any, if neither
    # the step's corrections nor shorter steps have found others
    cdef Touching* x = &self.contact
    cdef bint spent = x.lenient or (self.shared.choices.halvings > 0 and corrections_spent(self)
                                    and not few_rows(self))
    x.residue = 0.0
    if left <= goal:
        return True
    x.cut += 1
    if relax_targets(self):
        return True
    if left <= (TOUCH_LENIENT if spent else TOUCH_LEFT) * touch_speed(self) or (spent and not self.method.explicit):
        x.residue = left
        return True
    return x.cut < TOUCH_CUTS


cdef inline bint corrections_spent(ModelStepper self) noexcept nogil:
    # whether a step has used up its corrections of contact problems; shorter steps help explicit methods all the same
    return self.contact.cones.budget <= 0.0 and not self.method.explicit


cdef inline bint few_rows(ModelStepper self) noexcept nogil:
    # whether the step may be repeated in parts, with corrections of their own
    return ((self.contact.cones.n <= FEW_ROWS or self.contact.eased > 0.0) and not self.method.explicit
            and not self.contact.as_found)


cdef inline bint may_keep(const Touching* x) noexcept nogil:
    # whether the ports of this step are few enough to be kept
    return x.block_reals <= x.most_blocks and x.row_reals <= x.most_rows


cdef double* contact_P(ModelStepper self) noexcept nogil:
    return self.contact.P if may_keep(&self.contact) else self.contact.P_room


cdef bint ports_at_hand(ModelStepper self) noexcept nogil:
    # whether P is available, from a previous step
    cdef Touching* x = &self.contact
    cdef int k
    if not (x.have_ports[0] and may_keep(x)):
        return False
    for k in range(x.ports):
        if x.owner_kept[k] != x.owner[k]:
            return False
    return x.ports == x.most_ports or x.owner_kept[x.ports] == self.shared.m.nbody


cdef void keep_ports(ModelStepper self, bint found) noexcept nogil:
    # P is available for these ports, or is invalid
    cdef Touching* x = &self.contact
    x.have_ports[0] = found and may_keep(x)
    if x.have_ports[0]:
        memcpy(x.owner_kept, x.owner, x.ports * sizeof(int))
        if x.ports < x.most_ports:
            x.owner_kept[x.ports] = self.shared.m.nbody


# ---- velocities over the step ------------------------------------------------------------------------


cdef void measure_touches(ModelStepper self) noexcept nogil:
    # w = ((gap(q2) - min(0, gap(q1)))/h, slip/h) of the trial at q2; for compliant contacts see `yield_member`
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef const Touch* at
    cdef double inverse = 1.0 / self.lane.now.h, hold
    cdef Vec3 s
    cdef Placed A, B
    cdef int k, c, o, j, way, seat = -1
    for k in range(x.count):
        c = x.member[k]
        e = &self.touch[c]
        if e.kind != ON_FACET or x.facet[e.slot].kind == NO_FACET:
            touch_at(e, self.lane.state.q2, x.pose2, &x.here[c], facet_for(x, e), &x.there[c])
            continue
        # shapes of facets one after the other are placed once
        if e.seat != seat:
            seat = e.seat
            place_shape(e.shape_a, x.pose2, &A)
            place_shape(e.shape_b, x.pose2, &B)
        touch_placed(&x.facet[e.slot], &A, &B, &x.here[c], &x.there[c])
    slide_patches(self)
    for k in range(x.count):
        c, o = x.member[k], x.cones.row[k]
        e, at = &self.touch[c], &x.here[c]
        x.cones.give[k] = 0.0
        hold = x.target[c]
        if e.kind == ROLLS:
            s = rolled(e, at, &x.there[c], x.pose1, x.pose2)
            for j in range(e.dim):
                way = way_at(e, j)
                x.w[o + j] = inverse * (x.there[c].gap - hold if way == 0 else
                                        dot(way_between(at, &x.there[c], way), s))
            continue
        x.w[o] = (x.there[c].gap - hold) * inverse
        if e.stiffness != INFINITY:
            yield_member(self, k)
        if e.dim == 1:
            continue
        if e.dim > 3:
            measure_turning(self, k)
        if on_patch(self, c):
            s = patch_slip(&x.pose1[e.body_a], &x.pose2[e.body_a], body_point(self, c), x.patch_centre[e.patch], at.n,
                           x.patch_turn[e.patch], x.patch_slip[e.patch])
        elif e.kind == ON_FACET:
            s = facet_slid(e, facet_for(x, e), at, &x.there[c], x.pose1, x.pose2)
        else:
            s = slid(e, at, x.pose1, x.pose2)
        x.w[o + 1], x.w[o + 2] = dot(at.t1, s) * inverse, dot(at.t2, s) * inverse


cdef void yield_member(ModelStepper self, int k) noexcept nogil:
    # the law of a compliant contact linearised about the trial, lam = A + A' (gap2 - gap), as w + give lam = 0; and the
    # bound of its friction, mu times the sum of its impulses
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[x.member[k]]
    cdef double h = self.lane.now.h, A, B, slope
    spring_impulses(e, h, x.here[x.member[k]].gap, x.there[x.member[k]].gap, &A, &B, &slope)
    x.w[x.cones.row[k]] = A / (h * slope)
    x.cones.give[k] = -1.0 / (h * slope)
    if e.dim >= 3:
        bound_friction(self, k, 1.0 + B / A if A > 0.0 else 1.0)


cdef void push_end(ModelStepper self) noexcept nogil:
    # `late`, J(q2)^T of the impulses of compliant contacts that act at the end of the solved step
    cdef Touching* x = &self.contact
    cdef double A, B, slope
    cdef int k, c
    x.ends_pushed = False
    memset(x.late, 0, self.nv * sizeof(double))
    for k in range(x.count if self.contacts.yields else 0):
        c = x.member[k]
        if self.touch[c].stiffness == INFINITY:
            continue
        spring_impulses(&self.touch[c], self.lane.now.h, x.here[c].gap, x.there[c].gap, &A, &B, &slope)
        # record the impulse that acts
        B = B if x.cones.lam[x.cones.row[k]] > 0.0 else 0.0
        store3(x.late_of + 3 * c, vec3(B, 0.0, 0.0) if is_single(&self.touch[c]) else scale(B, x.there[c].n))
        if B > 0.0:
            x.ends_pushed = True
            push_normal(self, c, B, x.late)


cdef void push_normal(ModelStepper self, int c, double size, double* out) noexcept nogil:
    # out (nv,) += J(q2)^T of an impulse along the normal
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[c]
    cdef const Touch* at = &x.there[c]
    cdef double f[6]
    if is_single(e):
        memset(x.r, 0, self.nv * sizeof(double))
        single_row(self.shared.m, e, self.lane.state.q2, x.pose2, x.r)
        vt_add_row(self.nv, size, x.r, out)
        return
    if e.body_a >= 0:
        put_wrench(f, at.arm_a, scale(size, at.n), zero3())
        push_body(self.shared.m, x.pose2, e.body_a, f, out)
    if e.body_b >= 0:
        put_wrench(f, at.arm_b, scale(-size, at.n), zero3())
        push_body(self.shared.m, x.pose2, e.body_b, f, out)


cdef void slide_patches(ModelStepper self) noexcept nogil:
    # the displacement of each patch's centre, and its rotation about the normal
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef const Pose* before
    cdef const Pose* after
    cdef int k, c
    for k in range(x.count):
        c = x.member[k]
        e = &self.touch[c]
        # of a patch the last of points one after the other
        if e.patch >= 0 and k + 1 < x.count and self.touch[x.member[k + 1]].patch == e.patch and on_patch(
                self, x.member[k + 1]):
            continue
        if on_patch(self, c):
            before, after = &x.pose1[e.body_a], &x.pose2[e.body_a]
            x.patch_slip[e.patch] = patch_moved(before, after, x.patch_centre[e.patch])
            x.patch_turn[e.patch] = dot(x.here[c].n, turn_between(&before.R, &after.R))
            if e.body_b >= 0:
                x.patch_slip[e.patch] = sub(x.patch_slip[e.patch],
                                            slid_end(x.pose1, x.pose2, e.body_b, patch_place(x, e), zero3()))
                before, after = &x.pose1[e.body_b], &x.pose2[e.body_b]
                x.patch_turn[e.patch] -= dot(x.here[c].n, turn_between(&before.R, &after.R))


cdef double touch_goal(ModelStepper self) noexcept nogil:
    # the tolerance of the natural residual [m/s]: b holds the velocities without impulses
    return goal_of_contacts(self.shared.choices.tolerance, touch_speed(self), self.contact.reach, self.lane.now.h)


cdef double touch_speed(ModelStepper self) noexcept nogil:
    # the largest velocity [m/s] of contacts, with and without their impulses
    return max(largest(self.contact.cones.b, self.contact.cones.n), largest(self.contact.w, self.contact.cones.n))


cdef double reach_of_bodies(ModelStepper self) noexcept nogil:
    # the largest distance from the origin, at least a metre
    cdef Touching* x = &self.contact
    cdef double square = 1.0
    cdef int i
    for i in range(self.shared.m.nbody):
        square = max(square, dot(x.pose1[i].o, x.pose1[i].o))
    return vt_sqrt(square)


cdef double touch_residual(ModelStepper self) noexcept nogil:
    # the natural residual [m/s] of the current impulses and velocities; leaves b of the problem
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef ContactProblem part
    cdef int k
    for k in range(y.n):
        y.b[k] = 0.0
    for k in range(x.groups):
        cut_cones(self, k, &part)
        cone_velocities(&part, part.lam, part.w)
    for k in range(y.n):
        y.b[k] = x.w[k] - y.w[k]
        y.w[k] = x.w[k]
    for k in range(y.count):
        y.b[y.row[k]] += y.give[k] * y.lam[y.row[k]]
        y.w[y.row[k]] += y.give[k] * y.lam[y.row[k]]
    return cone_judge(y, y.lam, y.w, y.F, False)


# ---- report on a step that was not solved ------------------------------------------------------------


cdef void note_fault(ModelStepper self, int fault, int c, double size) noexcept nogil:
    self.contact.fault, self.contact.worst, self.contact.residual = fault, c, size


cdef void note_joining(ModelStepper self) noexcept nogil:
    # contacts that join the step without end: the one that passes its bound by most
    cdef Touching* x = &self.contact
    cdef int k, c
    note_fault(self, KEEP_JOINING, -1, -INFINITY)
    for k in range(x.asked_count):
        c = x.asked[k]
        if x.within[c] == INSIDE and x.target[c] - x.there[c].gap > x.residual:
            x.residual, x.worst = x.target[c] - x.there[c].gap, c


cdef void note_worst(ModelStepper self) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef int k, j
    note_fault(self, NOT_SOLVED, -1, -1.0)
    for k in range(x.count):
        for j in range(x.cones.dim[k]):
            if fabs(x.cones.F[x.cones.row[k] + j]) > x.residual:
                x.residual, x.worst = fabs(x.cones.F[x.cones.row[k] + j]), x.member[k]
