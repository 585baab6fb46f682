# Facets of pairs of convex shapes in a step: chosen at its start, the same at its end, and more where others come below
# zero; and the slip at them. One lane.

from libc.math cimport remainder, tan

cdef enum:
    BRACKET = 4             # numbers of a bracket on a curve: its ends, each with its value
    MOVING_JOINS = 40       # times that contacts join a step, after which points that were added stay
    MOVING_AGAIN = 10       # and a step that is repeated

#: [m] shapes that the end of a trial brings deeper into each other lack a facet
cdef double MISSING = 1e-12
#: and those that overlap already, by more than this
cdef double LEAST_MISSING = 1e-14
#: [m] a pair that moves by less keeps its facets
cdef double STILL_PLACE = 1e-7
#: Coordinates by which points of curves are ahead count as no more
cdef double MOST_AHEAD = 1.5
#: Points beyond the edge of a plate, or below it, by less than these fractions of its size are on it
cdef double WITHIN = 1e-12
cdef double AT_PLATE = 1e-9
#: Directions of the same features at both nodes have at least this cosine
cdef double SAME_DIRECTION = 0.7
#: [m] shapes that overlap by more than at the start of a step are reported
cdef double OVERLAPPING = 1e-10
#: [m] facets whose gaps are no more beyond their bounds push
cdef double PUSHING_GAP = 1e-10
#: The rank among facets that may be replaced of those that pushed in a previous trial, relative to the others
cdef double PUSHED_RANK = 1e-3
#: Points nearer to each other than this fraction of the size of a shape are beside each other; and of the axis of a capsule
#: along a line, where several are needed
cdef double BESIDE = 0.1
cdef double BESIDE_ON_AXIS = 0.01
#: Sine of the angle of a rim to a face above which it may roll on it
cdef double ROLLING = 0.02
#: Sine of the angle of lines below which their normal turns easily
cdef double EASY_TURN = 0.5


cdef void drop_added(Touching* x) noexcept nogil:
    # the facets that a trial has added
    cdef int k
    for k in range(x.slots):
        if x.added[k] > 0:
            x.facet_kept[k].kind = NO_FACET
        x.added[k] = 0


cdef void begin_facets(ModelStepper self, const double* q) noexcept nogil:
    # the state has the facets of its history, other configurations those that are given, or follow from them alone
    cdef Touching* x = &self.contact
    if x.slots == 0:
        return
    if q == self.lane.state.q:
        x.facet, x.at = x.facet_kept, x.near_kept
        drop_added(x)
    else:
        x.facet, x.at = x.facet_read, x.near_read
        memset(x.added, 0, x.slots * sizeof(int))


cdef bint shapes_apart(const Touching* x, int pair, const Pose* pose, double away) noexcept nogil:
    # whether two shapes are farther apart than away, and the softness of their contacts. The last search is tried first:
    # wherever its two points are, the shapes are no farther apart than these, and whatever its direction is, shapes that
    # it separates are apart
    cdef Placed A, B
    cdef Near found
    cdef const vt_pair* p = &x.pair[pair]
    cdef int s = x.seat_of[pair]
    cdef Vec3 d
    away += p.softness
    if s >= 0 and p.shape_b.kind != HALF_SPACE:
        d = sub(add(origin_of(pose, p.shape_a.body), mul(axes_of(pose, p.shape_a.body), x.near_a[s])),
                add(origin_of(pose, p.shape_b.body), mul(axes_of(pose, p.shape_b.body), x.near_b[s])))
        if dot(d, d) <= away * away:
            return False
    place_shape(p.shape_a, pose, &A)
    place_shape(p.shape_b, pose, &B)
    if separation(&A, &B, x.axis[pair]) > away:
        return True
    if p.shape_b.kind == HALF_SPACE:
        x.axis[pair] = constant3(p.shape_b.face)
        return separation(&A, &B, x.axis[pair]) > away
    nearest_features(&A, &B, first_direction(&A, &B), &found)
    x.axis[pair] = found.n
    if s >= 0:
        x.near_a[s], x.near_b[s] = in_body(&A, found.a), in_body(&B, found.b)
    return found.gap > away


cdef bint hold_on_rim(const Placed* P, Vec3 m, Feature* f) noexcept nogil:
    # in the place of a rim nearly across m, whose point that is farthest along m moves fast, this point
    if not is_flat_rim(P, f, m):
        return False
    material_point(P, feature_point(P, f, in_space(P, f.p), rotated(P, f.e), m), 2 * CAP_POINTS + f.id, 0.0, f)
    return True


cdef void roll_on_rim(const Placed* P, Vec3 m, Feature* f) noexcept nogil:
    # in the place of the point of a rim that is farthest along m, the rim, unless it is nearly across m
    cdef int j = f.id - 2 * CAP_POINTS
    cdef Vec3 t = axpy(-dot(P.axis, m), P.axis, m)
    if f.kind == VERTEX and 0 <= j < P.s.rims and dot(t, t) > ROLLING * ROLLING:
        rim_feature(P.s, j, f)


cdef void flatten(const Placed* A, const Placed* B, Facet* f) noexcept nogil:
    # a plane in the place of features whose gap may be no function over a long step: closest ones, pairs that are both
    # curved, and lines whose normal turns faster than they do; and a point in the place of a rim that rocks on a face. Balls
    # and ellipsoids stay what they are over the plane of the other shape
    cdef Near x
    if f.kind == FIXED and f.fb.kind == FACE and hold_on_rim(A, neg(rotated(B, f.fb.e)), &f.fa):
        return
    if f.kind == FIXED and f.fa.kind == FACE and hold_on_rim(B, neg(rotated(A, f.fa.e)), &f.fb):
        return
    if f.kind == CLOSEST:
        nearest_features(A, B, f.n, &x)
    elif f.kind == FIXED and ((is_curved(&f.fa) and is_curved(&f.fb)) or along_each_other(A, &f.fa, B, &f.fb)):
        x.n, x.fa, x.fb = f.n, f.fa, f.fb
        if not touch_features(A, &x.fa, B, &x.fb, &x.n, &x.gap, &x.a, &x.b):
            return
    else:
        return
    if x.fa.kind != FACE and x.fb.kind != FACE:
        if keeps_shape(&x.fa):
            plane_through(B, x.n, x.b, &x.fb)
        elif keeps_shape(&x.fb):
            plane_through(A, neg(x.n), x.a, &x.fa)
        else:
            hold_plane(A, B, x.n, x.a, x.b, &x.fa, &x.fb)
    f.kind, f.n, f.fa, f.fb = FIXED, x.n, x.fa, x.fb


cdef inline bint along_each_other(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb) noexcept nogil:
    cdef Vec3 c
    if not (is_line(fa) and is_line(fb)):
        return False
    c = cross(rotated(A, fa.e), rotated(B, fb.e))
    return dot(c, c) < EASY_TURN * EASY_TURN


cdef inline bint keeps_shape(const Feature* f) noexcept nogil:
    return f.kind == ROUND or (f.kind == VERTEX and f.size > 0.0)


cdef inline double softness_of(const vt_contact* e) noexcept nogil:
    return RIGID if e.stiffness == INFINITY else e.softness


cdef void face_each_other(ModelStepper self, int k) noexcept nogil:
    # the facets of a pair at node 1, if they are not there yet
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[first_in(x, k)]
    cdef Facet found[FOUND_FACETS]
    cdef Placed A, B
    cdef int i
    cdef bint there = False
    for i in range(MOST_FACETS):
        there = there or x.facet[e.slot + i].kind != NO_FACET
    if there and not x.planes:
        return
    place_shape(e.shape_a, x.pose1, &A)
    place_shape(e.shape_b, x.pose1, &B)
    if there:
        for i in range(MOST_FACETS):
            flatten(&A, &B, &x.facet[e.slot + i])
        return
    for i in range(facets_of(&A, &B, first_direction(&A, &B), softness_of(e), &x.at[e.seat], found)):
        x.facet[e.slot + i] = found[i]
    # what the end of the step finds replaces them
    x.at[e.seat].place = vec3(INFINITY, 0.0, 0.0)


cdef inline bint is_point(const vt_shape* s) noexcept nogil:
    return s.kind == SOLID and s.count == 1 and s.rims == 0 and s.radius == 0.0


cdef inline bint is_plate(const vt_shape* s) noexcept nogil:
    return s.kind == SOLID and s.faces == 2 and s.rims < 2


cdef bint within_plate(const vt_shape* s, Vec3 e, Vec3 p) noexcept nogil:
    # whether a point of the plane across e lies within the edge of a plate
    cdef Vec3 middle = zero3(), a, b, m, d
    cdef double side
    cdef int k
    if s.rims:
        d = sub(p, constant3(s.center))
        return dot(d, d) <= s.rim * s.rim
    for k in range(s.count):
        middle = axpy(1.0 / s.count, vertex_of(s, k), middle)
    for k in range(s.edges):
        a, b = vertex_of(s, s.edge[2 * k]), vertex_of(s, s.edge[2 * k + 1])
        m = cross(e, sub(b, a))
        side = 1.0 if dot(m, sub(middle, a)) > 0.0 else -1.0
        if side * dot(m, sub(p, a)) < -WITHIN * s.reach * vt_sqrt(dot(m, m)):
            return False
    return True


cdef bint goes_through(const Touching* x, const vt_contact* e, Vec3 n) noexcept nogil:
    # whether a trial brings a point to the other side of a plate, other than where n points, through it. Neither of them
    # has anything inside, so that shapes are apart at both nodes. In the axes of the plate the point moves from p to q,
    #     h(p) = f.p - d,    p + s (q - p) on the plate with s = h(p)/(h(p) - h(q))
    cdef bint of_b = is_point(e.shape_a) and is_plate(e.shape_b)
    cdef const vt_shape* plate = e.shape_b if of_b else e.shape_a
    cdef const vt_shape* point = e.shape_a if of_b else e.shape_b
    cdef Placed P, Q
    cdef Vec3 p, q, f
    cdef double hp, hq
    cdef int k
    if not (of_b or (is_point(e.shape_b) and is_plate(e.shape_a))):
        return False
    place_shape(plate, x.pose1, &P)
    place_shape(point, x.pose1, &Q)
    k = facing(&P, n if of_b else neg(n))
    p = in_body(&P, in_space(&Q, vertex_of(point, 0)))
    place_shape(plate, x.pose2, &P)
    place_shape(point, x.pose2, &Q)
    q = in_body(&P, in_space(&Q, vertex_of(point, 0)))
    f = constant3(plate.face + 4 * k)
    hp, hq = dot(f, p) - plate.face[4 * k + 3], dot(f, q) - plate.face[4 * k + 3]
    if not hq < min(0.0, hp) or hp < -AT_PLATE * plate.reach:
        return False
    return within_plate(plate, f, axpy(max(hp, 0.0) / (max(hp, 0.0) - hq), sub(q, p), p))


cdef bint add_found(ModelStepper self, int first, const Placed* A, const Placed* B, Facet* found, int count,
                    double least) noexcept nogil:
    # add the facets whose gap is less at node 2; whether a contact is to join the solve
    cdef Touching* x = &self.contact
    cdef bint missing = False
    cdef int i, c
    for i in range(count):
        if x.planes:
            flatten(A, B, &found[i])
            if x.joins >= MOVING_AGAIN:
                # points march along a rim from trial to trial
                if found[i].fb.kind == FACE:
                    roll_on_rim(A, neg(rotated(B, found[i].fb.e)), &found[i].fa)
                elif found[i].fa.kind == FACE:
                    roll_on_rim(B, neg(rotated(A, found[i].fa.e)), &found[i].fb)
        if found[i].gap < least:
            found[i].n = x.at[self.touch[first].seat].n
            add_missing(self, first, &found[i], least)
    # those that close freely, to rebound, are not to be held
    for c in range(first, first + MOST_FACETS):
        missing = missing or comes_in(self, c) or x.within[c] > INSIDE
    return missing


cdef bint direction_of(const Placed* A, const Placed* B, const Near* at, Vec3* n) noexcept nogil:
    # n at which the features of another node keep the shapes farthest apart, if it is near the one there: that of two
    # rims may be another local maximum
    n[0] = at.n
    if farthest_direction(A, &at.fa, B, &at.fb, n) and dot(n[0], at.n) > SAME_DIRECTION:
        return True
    n[0] = at.n
    return False


cdef double held_apart(const Placed* A, const Placed* B, const Near* at, double least, Vec3* n) noexcept nogil:
    # the gap along the direction of another node's features, or across a face if that separates the shapes and it does not
    cdef Vec3 across
    cdef double gap = -INFINITY, other
    if direction_of(A, B, at, n):
        gap = separation(A, B, n[0])
    if gap < least:
        other = separating_face(A, B, least, &across)
        if other > gap:
            gap, n[0] = other, across
    return gap


cdef void stay_apart(ModelStepper self, int k) noexcept nogil:
    # of a trial: the facets that are missing, where it brings rigid shapes into each other, farther than they were at
    # node 1. Facets that are not in the solve do not count where a direction separates the shapes
    cdef Touching* x = &self.contact
    cdef int first = first_in(x, k), c, count
    cdef const vt_contact* e = &self.touch[first]
    cdef Facet found[FOUND_FACETS]
    cdef Placed A, B
    cdef Near* at = &x.at[e.seat]
    cdef Near other
    cdef Vec3 n = at.n, across
    cdef double gap = -INFINITY, before = min(0.0, at.gap)
    # neither what inexact impulses leave nor rounding adds up
    cdef double least = before - max(max(MISSING * (1.0 + before / HELD_GAP), LEAST_MISSING),
                                     min(x.remains * fabs(self.lane.now.h), HELD_GAP + x.slack) + before)
    cdef bint along, missing = False
    if x.facet[e.slot].kind == CLOSEST:
        return
    if e.stiffness != INFINITY:
        least = e.softness
    place_shape(e.shape_a, x.pose2, &A)
    place_shape(e.shape_b, x.pose2, &B)
    along = not is_round(e.shape_a) and not is_round(e.shape_b) and direction_of(&A, &B, at, &n)
    if along:
        gap = separation(&A, &B, n)
    if gap < least:
        nearest_features(&A, &B, n, &other)
        gap = max(gap, other.gap)
        if not along:
            n = other.n
        if gap < least:
            # the search is among the directions about the first one; faces side by side are separated across them
            gap = max(gap, separating_face(&A, &B, least, &across))
    if gap >= least:
        if goes_through(x, e, at.n):
            return
        for c in range(first, first + MOST_FACETS):
            if x.within[c] == OUTSIDE:
                x.there[c].gap = max(x.there[c].gap, max(gap, x.target[c]))
        return
    if e.stiffness != INFINITY:
        return
    x.sunk = max(x.sunk, sunk_by(gap, at.gap))
    count = facets_about(&A, &B, n, found)
    if not along or not (on_face(&at.fa) or on_face(&at.fb)):
        count = add_closest(at if along else &other, &A, &B, found, count)
    missing = add_found(self, first, &A, &B, found, count, least)
    if not missing and along:
        # those of the direction that keeps the shapes farthest apart at node 2
        count = add_closest(&other, &A, &B, found, facets_about(&A, &B, other.n, found))
        missing = add_found(self, first, &A, &B, found, count, least)
    if not missing:
        separating_plane(self, first, &A, &B, &found[0])
        add_missing(self, first, &found[0], -INFINITY)
        for c in range(first, first + MOST_FACETS):
            missing = missing or comes_in(self, c)
        if not missing:
            if sunk_by(gap, at.gap) > x.stuck:
                x.stuck, x.stuck_at = sunk_by(gap, at.gap), first


cdef inline bint is_curved(const Feature* f) noexcept nogil:
    return f.kind == RIM or f.kind == SIDE or f.kind == SLANT or f.kind == ROUND


cdef void separating_plane(ModelStepper self, int first, const Placed* A, const Placed* B, Facet* f) noexcept nogil:
    # the plane that separated the shapes at node 1, as a face of b, and the point of a that is deepest below it
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[first]
    cdef Placed before
    cdef int id
    place_shape(e.shape_b, x.pose1, &before)
    f.kind, f.n = FIXED, x.at[e.seat].n
    plane_through(&before, f.n, support(&before, f.n, &id), &f.fb)
    f.fb.size += e.shape_b.radius
    support_feature(A, neg(rotated(B, f.fb.e)), &f.fa)
    if f.fa.kind == RIM:
        material_point(A, support(A, neg(rotated(B, f.fb.e)), &id), PLANE_ID, 0.0, &f.fa)


cdef inline double apart_on(const Feature* f, const Feature* g, const vt_shape* s) noexcept nogil:
    # the squared distance of two points of a shape, relative to its size
    cdef Vec3 d = sub(f.p, g.p)
    return 0.0 if s.kind == HALF_SPACE else dot(d, d) / (s.reach * s.reach)


cdef double rank_of(ModelStepper self, int c) noexcept nogil:
    # how well the place of a facet may be taken by another one: those that push at the end of the trial have zero
    cdef const Touching* x = &self.contact
    cdef double open = x.there[c].gap - x.target[c]
    if x.facet[self.touch[c].slot].kind == NO_FACET:
        return INFINITY
    if acted(x, c) or not open > PUSHING_GAP:
        return 0.0
    if x.guess[3 * c] != 0.0 or x.guess[3 * c + 1] != 0.0 or x.guess[3 * c + 2] != 0.0:
        return PUSHED_RANK * open
    return open


cdef inline double angle_on_rim(const vt_shape* s, int j, Vec3 p) noexcept nogil:
    # of a point in the core frame of the body, about the axis
    cdef Vec3 u = constant3(s.axis), e = tangent_to(u), d = sub(p, constant3(s.center + 3 * j))
    return vt_atan2(dot(cross(u, e), d), dot(e, d))


cdef bint find_on_curve(const vt_shape* s, const Feature* f, double* u) noexcept nogil:
    # the coordinate of a material point that was the lowest one of a rim, its angle, or of the axis of a capsule, its share of
    # the length. False of others
    cdef int j = f.id - 2 * CAP_POINTS
    cdef Vec3 a, d
    if f.kind != VERTEX:
        return False
    if 0 <= j < s.rims:
        u[0] = angle_on_rim(s, j, f.p)
        return True
    if not (f.id == PLANE_ID and s.kind == SOLID and s.count == 2 and s.rims == 0 and s.radius > 0.0):
        return False
    a = vertex_of(s, 0)
    d = sub(vertex_of(s, 1), a)
    u[0] = dot(d, sub(f.p, a)) / dot(d, d)
    return True


cdef void move_on_curve(const vt_shape* s, Feature* f, double u) noexcept nogil:
    cdef int j = f.id - 2 * CAP_POINTS
    cdef double sine, cosine
    cdef Vec3 axis, e
    if f.id == PLANE_ID:
        f.p = axpy(u, sub(vertex_of(s, 1), vertex_of(s, 0)), vertex_of(s, 0))
        return
    vt_sincos(u, &sine, &cosine)
    axis = constant3(s.axis)
    e = tangent_to(axis)
    f.p = add(constant3(s.center + 3 * j), axpy(s.rim * cosine, e, scale(s.rim * sine, cross(axis, e))))


cdef bint root_on_curve(ModelStepper self, int first, bint of_b, Facet* f) noexcept nogil:
    # a trial that points of a curve hold, with coordinates u_i and normal impulses lam_i, leads to the lowest point of f, at
    # u2. As the centre of pressure u = sum lam_i u_i/sum lam_i leads to u2(u), the one that leads to itself is the root of
    #     g(u) = tan(u2(u) - u),
    # nearly a linear function for rims: where points on both sides of it are known, f moves to the one of the regula falsi in
    # its Illinois form (Dowell & Jarratt 1971, "A modified regula falsi method for computing the root of an equation")
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[first]
    cdef const vt_shape* s = e.shape_b if of_b else e.shape_a
    cdef Feature* point = &f.fb if of_b else &f.fa
    cdef double* kept = x.bracket + 2 * e.slot + (BRACKET if of_b else 0)
    cdef double lowest, u = 0.0, size, total = 0.0, ahead = 0.0, width
    cdef int k, c, end
    if not find_on_curve(s, point, &lowest):
        return False
    for k in range(MOST_FACETS):
        c = first + k
        if x.added[e.slot + k] and x.within[c] == INSIDE and same_facet(f, &x.facet[e.slot + k]):
            size = max(dot(load3(x.guess + 3 * c), x.here[c].n), 0.0)
            find_on_curve(s, &x.facet[e.slot + k].fb if of_b else &x.facet[e.slot + k].fa, &u)
            total += size
            ahead += size * remainder(lowest - u, TURN)
    if not total > 0.0:
        kept[0] = kept[2] = NAN
        return False
    ahead /= total
    end = 0 if ahead > 0.0 else 2
    if kept[end] == kept[end]:
        kept[3 - end] *= 0.5
    kept[end], kept[end + 1] = lowest - ahead, tan(max(min(ahead, MOST_AHEAD), -MOST_AHEAD))
    width = remainder(kept[2] - kept[0], TURN)
    if not (width > 0.0 and kept[1] > 0.0 and kept[3] < 0.0):
        kept[2 - end] = NAN
        return False
    move_on_curve(s, point, kept[0] + width * kept[1] / (kept[1] - kept[3]))
    return True


cdef inline void facet_at_nodes(ModelStepper self, int c, const Facet* f, Touch* here, Touch* there) noexcept nogil:
    # a facet at both nodes
    cdef Touching* x = &self.contact
    touch_at(&self.touch[c], x.at1, x.pose1, NULL, f, here)
    across(here)
    touch_at(&self.touch[c], x.at2, x.pose2, here, f, there)


cdef void leave_facet(ModelStepper self, int c) noexcept nogil:
    # of the current trial
    cdef Touching* x = &self.contact
    x.facet[self.touch[c].slot].kind = NO_FACET
    x.added[self.touch[c].slot] = 0
    x.within[c], x.active[c], x.here[c].gap, x.there[c].gap = OUTSIDE, 0, INFINITY, INFINITY
    store3(x.guess + 3 * c, zero3())


cdef void add_missing(ModelStepper self, int first, const Facet* f, double least) noexcept nogil:
    # a facet to those of a pair, unless it is one of them, or its gap at node 1 is less: no facet separated the shapes
    # there. A material point that was added before, such as the lowest one of a rim, moves to a place beside it, or to any if
    # there is no room for both: points nearly at one place make problems ill-conditioned. Where such points do not come to
    # rest, both are kept
    cdef Touching* x = &self.contact
    cdef int slot = self.touch[first].slot, c, j, free = -1, other = -1
    cdef bint moves, bracketed
    cdef double rank = 0.0, away, least_away = INFINITY, beside = BESIDE_ON_AXIS if f.fb.kind == EDGE else BESIDE
    cdef Facet g = f[0]
    cdef Touch here, there
    bracketed = x.joins < MOVING_JOINS and (root_on_curve(self, first, False, &g) or root_on_curve(self, first, True, &g))
    for j in range(MOST_FACETS):
        if x.facet[slot + j].kind != NO_FACET and same_facet(f, &x.facet[slot + j]):
            if same_place(&f.fa, &x.facet[slot + j].fa) and same_place(&f.fb, &x.facet[slot + j].fb):
                return
            away = max(apart_on(&f.fa, &x.facet[slot + j].fa, self.touch[first].shape_a),
                       apart_on(&f.fb, &x.facet[slot + j].fb, self.touch[first].shape_b))
            if x.added[slot + j] and away < least_away:
                other, least_away = j, away
        if rank_of(self, first + j) > rank:
            free, rank = j, rank_of(self, first + j)
    moves = bracketed or (least_away < beside * beside and x.joins < (MOVING_AGAIN if x.planes else MOVING_JOINS)) or free < 0
    if moves:
        free = other
    if free < 0:
        return
    c = first + free
    facet_at_nodes(self, c, &g, &here, &there)
    if bracketed and not there.gap < min(0.0, here.gap) - CLOSES:
        # the trial does not close the point between
        g = f[0]
        facet_at_nodes(self, c, &g, &here, &there)
    elif bracketed:
        for j in range(MOST_FACETS):
            if j != free and x.added[slot + j] and same_facet(f, &x.facet[slot + j]):
                leave_facet(self, first + j)
    if here.gap < least:
        return
    x.facet[slot + free], x.here[c], x.there[c] = g, here, there
    x.added[slot + free] = 1
    x.within[c], x.active[c], x.target[c] = OUTSIDE, 0, min(0.0, x.here[c].gap)
    if not moves:
        store3(x.lam + 3 * c, zero3())
        store3(x.way + 3 * c, zero3())
        store3(x.guess + 3 * c, zero3())
        if x.turns:
            forget_turning(x, c)


cdef void renew_facets(ModelStepper self) noexcept nogil:
    # of the accepted step's end, where what is kept of a facet stays with it
    cdef Touching* x = &self.contact
    cdef int k, i
    for i in range(x.near_count if x.slots else 0):
        k = x.near[i]
        if x.span[k].pair >= 0 and x.seat_of[x.span[k].pair] >= 0:
            renew_pair(self, k)


cdef inline void seen_from(const Pose* a, const Pose* pose, int b, Vec3* place, Mat3* turn) noexcept nogil:
    # the place and the axes of a body in those of another one
    place[0] = tmul(a.R, sub(origin_of(pose, b), a.o))
    turn[0] = mul3(transpose(a.R), axes_of(pose, b))


cdef bint lasts(ModelStepper self, int k) noexcept nogil:
    # whether the shapes of a pair have hardly moved against each other since its facets were chosen, and none was added
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[first_in(x, k)]
    cdef const Near* at = &x.at[e.seat]
    cdef Vec3 place
    cdef Mat3 turn
    cdef double reach = e.shape_a.reach + (e.shape_b.reach if e.shape_b.kind != HALF_SPACE else 0.0)
    cdef int j
    if x.facet[e.slot].kind == NO_FACET:
        return False
    for j in range(MOST_FACETS):
        if x.added[e.slot + j]:
            return False
    seen_from(&x.pose2[e.body_a], x.pose2, e.body_b, &place, &turn)
    place = sub(place, at.place)
    turn = sub3(turn, at.turn)
    return (square_of(place) <= STILL_PLACE * STILL_PLACE and
            square_of(turn.x) + square_of(turn.y) + square_of(turn.z) <= (STILL_PLACE / reach) * (STILL_PLACE / reach))


cdef void renew_pair(ModelStepper self, int k) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef int first = first_in(x, k), c, i, j, count = 0
    cdef const vt_contact* e = &self.touch[first]
    cdef Facet found[FOUND_FACETS]
    cdef bint taken[FOUND_FACETS]
    cdef bint touching = False, stays
    cdef double least, gap
    cdef Placed A, B
    cdef Near was
    cdef Vec3 n
    if not x.far_there[k]:
        if lasts(self, k):
            return
        least = min(0.0, x.at[e.seat].gap) if x.facet[e.slot].kind != NO_FACET else 0.0
        place_shape(e.shape_a, x.pose2, &A)
        place_shape(e.shape_b, x.pose2, &B)
        if x.facet[e.slot].kind == NO_FACET:
            count = facets_of(&A, &B, first_direction(&A, &B), softness_of(e), &x.at[e.seat], found)
        else:
            was, n = x.at[e.seat], x.at[e.seat].n
            count = facets_of(&A, &B, n, softness_of(e), &x.at[e.seat], found)
            gap = held_apart(&A, &B, &was, least, &n) if least - x.at[e.seat].gap > OVERLAPPING else -INFINITY
            if gap - x.at[e.seat].gap > OVERLAPPING:
                # the search missed a direction at hand that keeps the shapes farther apart
                count = facets_of(&A, &B, n, softness_of(e), &x.at[e.seat], found)
                if gap - x.at[e.seat].gap > OVERLAPPING:
                    x.at[e.seat], x.at[e.seat].n, x.at[e.seat].gap = was, n, gap
                    memset(x.added + e.slot, 0, MOST_FACETS * sizeof(x.added[0]))
                    return
        if e.stiffness == INFINITY and least - x.at[e.seat].gap > OVERLAPPING:
            x.accepted = max(x.accepted, (least - x.at[e.seat].gap) / fabs(self.lane.now.h))
        seen_from(&x.pose2[e.body_a], x.pose2, e.body_b, &x.at[e.seat].place, &x.at[e.seat].turn)
    for i in range(count):
        taken[i] = False
    for j in range(MOST_FACETS):
        c, stays = first + j, False
        touching = touching or x.active[c] != 0 or (x.there[c].gap <= RESTING_GAP and x.gap_before[c] <= RESTING_GAP)
        for i in range(count):
            if not taken[i] and not stays and same_facet(&found[i], &x.facet[e.slot + j]):
                x.facet[e.slot + j] = found[i]
                taken[i] = stays = True
        x.added[e.slot + j] = 0
        if not stays:
            x.facet[e.slot + j].kind = NO_FACET
            x.active[c], x.hold[c], x.gap_before[c] = 0, 0.0, INFINITY
            store3(x.lam + 3 * c, zero3())
            store3(x.way + 3 * c, zero3())
            if x.turns:
                forget_turning(x, c)
    j = 0
    for i in range(count):
        if taken[i]:
            continue
        while x.facet[e.slot + j].kind != NO_FACET:
            j += 1
        x.facet[e.slot + j] = found[i]
        x.gap_before[first + j] = found[i].gap if touching else INFINITY


# ---- slip --------------------------------------------------------------------------------------------


cdef void rolling_arms(const Feature* f, int body, const Pose* before, const Pose* after, Vec3 x1, Vec3 x2, Vec3 m1, Vec3 m2,
                       Vec3* c1, Vec3* lever) noexcept nogil:
    # of a side that rolls: the point of its axis or its centre, of the body, at node 1, and the mean lever from there to
    # the contact; m: unit vectors into the body
    if f.kind == EDGE or f.kind == SIDE:
        c1[0] = axpy(f.size, m1, x1)
        lever[0] = scale(-0.5 * f.size, add(m1, m2))
    else:
        c1[0] = add(before[body].o, mul(before[body].R, f.p))
        lever[0] = scale(0.5, add(sub(x1, c1[0]), sub(x2, add(after[body].o, mul(after[body].R, f.p)))))


cdef Vec3 facet_side_slid(const Feature* f, int body, const Pose* before, const Pose* after, Vec3 x1, Vec3 x2, Vec3 m1,
                          Vec3 m2, double more) noexcept nogil:
    # displacement of the material point at the contact, `more` outside of the surface; of a side that rolls
    # c2 - c1 + rho x (mean lever)
    cdef Vec3 c1, lever
    if body < 0:
        return zero3()
    if not rolls_at(f):
        return slid_end(before, after, body, axpy(-more, m1, x1), zero3())
    rolling_arms(f, body, before, after, x1, x2, m1, m2, &c1, &lever)
    return add(slid_end(before, after, body, c1, zero3()),
               cross(turn_between(&before[body].R, &after[body].R), axpy(-more, m1, lever)))


cdef Vec3 facet_slid(const vt_contact* e, const Facet* f, const Touch* x1, const Touch* x2, const Pose* before,
                     const Pose* after) noexcept nogil:
    # displacement of a relative to b in a step
    cdef double more = halfway(e, x1)
    return sub(facet_side_slid(&f.fa, e.body_a, before, after, x1.a, x2.a, x1.n, x2.n, more),
               facet_side_slid(&f.fb, e.body_b, before, after, x1.b, x2.b, neg(x1.n), neg(x2.n), more))


cdef void facet_side_row(const Feature* f, int body, const Pose* before, const Pose* after, Vec3 x1, Vec3 x2, Vec3 m1,
                         Vec3 m2, double more, Vec3 t, double* row) noexcept nogil:
    # the derivative of t times it by displacements at node 2; the lever of a side that rolls is held
    cdef Vec3 c1 = axpy(-more, m1, x1), lever = zero3(), couple = zero3(), arm
    if rolls_at(f):
        rolling_arms(f, body, before, after, x1, x2, m1, m2, &c1, &lever)
        couple = dlog(neg(turn_between(&before[body].R, &after[body].R)), cross(axpy(-more, m1, lever), t))
    arm = mul(after[body].R, tmul(before[body].R, sub(c1, before[body].o)))
    put_wrench(row, arm, t, couple)


cdef void facet_slip_rows(ModelStepper self, int c, const Touch* at, const Pose* pose, Vec3 t, TouchRow* to) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[c]
    cdef const Facet* f = facet_for(x, e)
    cdef const Touch* before = &x.here[c]
    cdef double more = halfway(e, before)
    if e.body_a >= 0:
        facet_side_row(&f.fa, e.body_a, x.pose1, pose, before.a, at.a, before.n, at.n, more, t, to.on_a)
    if e.body_b >= 0:
        facet_side_row(&f.fb, e.body_b, x.pose1, pose, before.b, at.b, neg(before.n), neg(at.n), more, neg(t), to.on_b)


# ---- bytes of what is kept ---------------------------------------------------------------------------


cdef void tidy_feature(Feature* f) noexcept nogil:
    # zeros between its numbers, where copies have anything
    cdef Feature to
    memset(&to, 0, sizeof(Feature))
    to.kind, to.id, to.other, to.size, to.p, to.e = f.kind, f.id, f.other, f.size, f.p, f.e
    memcpy(f, &to, sizeof(Feature))


cdef void tidy_facet(Facet* f) noexcept nogil:
    # its place across n matters while facets are chosen alone
    cdef Facet to
    memset(&to, 0, sizeof(Facet))
    if f.kind != NO_FACET:
        tidy_feature(&f.fa)
        tidy_feature(&f.fb)
        memcpy(&to.fa, &f.fa, sizeof(Feature))
        memcpy(&to.fb, &f.fb, sizeof(Feature))
        to.n, to.gap = f.n, f.gap
    to.kind = f.kind
    memcpy(f, &to, sizeof(Facet))


cdef void tidy_near(Near* x) noexcept nogil:
    cdef Near to
    memset(&to, 0, sizeof(Near))
    tidy_feature(&x.fa)
    tidy_feature(&x.fb)
    memcpy(&to.fa, &x.fa, sizeof(Feature))
    memcpy(&to.fb, &x.fb, sizeof(Feature))
    to.gap, to.n, to.a, to.b, to.exact, to.place, to.turn = x.gap, x.n, x.a, x.b, x.exact, x.place, x.turn
    memcpy(x, &to, sizeof(Near))
