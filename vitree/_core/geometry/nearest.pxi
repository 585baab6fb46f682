# The closest features of two convex shapes, exactly; and those whose separation holds while shapes with edges touch.
# One lane.

cdef enum:
    NEWTON_STEPS = 24       # for a direction
    SWITCHES = 12           # of features, until they hold
    PULLS = 60              # displacements of overlapping shapes
    DIFFERENCES = 16        # of points that are kept in a search of faces

#: Squared sine of the angle below which lines are parallel
cdef double PARALLEL_LINES = 1e-12
#: Deviations of directions within which a first search tells features of curved shapes
cdef double NEAR_KINK = 1e-4
cdef double AT_KINK = 1e-10
#: Shapes nearer than this fraction of their sizes are pulled apart for the search
cdef double PULLED = 1e-5
#: and a face replaces features along which they are less far apart by more than this fraction
cdef double FACE_GAIN = 1e-12
#: Overlaps up to this fraction of the sizes are searched again
cdef double OVERLAP_AGAIN = 1e-6
#: Supports reach beyond the features by no more than this fraction of their sizes
cdef double BEYOND = 1e-9
cdef double EXACTLY = 1e-14
#: From a direction this far along its gradient, the vertices that bound sigma are sought
cdef double BESIDE_KINK = 1e-6


cdef struct Near:           # the closest features of two shapes
    double gap              # [m]
    Vec3 n                  # unit, from b to a
    Vec3 a
    Vec3 b
    Feature fa
    Feature fb
    bint exact              # the features hold
    Vec3 place              # of b seen from a, where facets were chosen: the vector between origins, and axes
    Mat3 turn


cdef inline void vertex_feature(const vt_shape* s, int k, Feature* f) noexcept nogil:
    f.kind, f.id, f.other, f.size = VERTEX, k, -1, s.radius
    f.p, f.e = vertex_of(s, k), zero3()


cdef inline void edge_feature(const vt_shape* s, int k, int l, Feature* f) noexcept nogil:
    cdef Vec3 d
    if k > l:
        k, l = l, k
    d = sub(vertex_of(s, l), vertex_of(s, k))
    f.kind, f.id, f.other, f.size = EDGE, k, l, s.radius
    f.p, f.e = vertex_of(s, k), scale(1.0 / vt_sqrt(dot(d, d)), d)


cdef inline void face_feature(const vt_shape* s, int k, Feature* f) noexcept nogil:
    f.kind, f.id, f.other, f.size = FACE, k, -1, s.face[4 * k + 3] + s.radius
    f.p, f.e = zero3(), constant3(s.face + 4 * k)


cdef inline void rim_feature(const vt_shape* s, int k, Feature* f) noexcept nogil:
    f.kind, f.id, f.other, f.size = RIM, k, -1, s.rim
    f.p, f.e = constant3(s.center + 3 * k), constant3(s.axis)


cdef inline int rim_of_cap(const vt_shape* s, const Feature* f) noexcept nogil:
    # the number of the rim about a face of a cylinder, a cone or a disk
    return 1 if s.rims == 2 and dot(f.e, constant3(s.axis)) > 0.0 else 0


cdef inline void side_feature(const vt_shape* s, Feature* f) noexcept nogil:
    # of a cylinder or a cone
    f.kind, f.id, f.other, f.e = SIDE if s.rims == 2 else SLANT, 0, -1, constant3(s.axis)
    f.size = s.rim if s.rims == 2 else s.slope
    f.p = constant3(s.center) if s.rims == 2 else vertex_of(s, 0)


cdef void material_point(const Placed* P, Vec3 x, int id, double radius, Feature* f) noexcept nogil:
    # a point of the body
    f.kind, f.id, f.other, f.size = VERTEX, id, -1, radius
    f.p, f.e = in_body(P, x), zero3()


cdef int facing(const Placed* P, Vec3 m) noexcept nogil:
    # the face whose normal is nearest to m
    cdef Vec3 d = unrotated(P, m)
    cdef double most = -INFINITY, value
    cdef int k, best = 0
    for k in range(P.s.faces):
        value = dot(constant3(P.s.face + 4 * k), d)
        if value > most:
            most, best = value, k
    return best


cdef void curved_feature(const Placed* P, Vec3 m, double near, Feature* f) noexcept nogil:
    # of a shape with rims or an ellipsoid, on which the support along m lies
    cdef const vt_shape* s = P.s
    cdef double c
    cdef Vec3 t
    if s.kind == ELLIPSOID:
        f.kind, f.id, f.other, f.size = ROUND, 0, -1, 0.0
        f.p, f.e = constant3(s.middle), zero3()
        return
    c = dot(P.axis, m)
    t = axpy(-c, P.axis, m)
    if vt_sqrt(dot(t, t)) < near and (c < 0.0 or s.count == 0):
        face_feature(s, facing(P, m), f)
    elif s.rims == 2:
        if fabs(c) < near:
            side_feature(s, f)
        else:
            rim_feature(s, 1 if c > 0.0 else 0, f)
    elif s.count == 0 or c < s.slope - near:
        rim_feature(s, 0, f)
    elif c > s.slope + near:
        vertex_feature(s, 0, f)
    else:
        side_feature(s, f)


cdef void simplex_feature(const Placed* P, const int* id, int n, Vec3 m, Feature* f) noexcept nogil:
    # of the vertices of a simplex
    cdef int own[4]
    cdef int k, i, l = 0
    cdef bint seen
    if P.s.rims or P.s.kind == ELLIPSOID:
        curved_feature(P, m, NEAR_KINK, f)
        return
    for k in range(n):
        seen = False
        for i in range(l):
            seen = seen or own[i] == id[k]
        if not seen:
            own[l] = id[k]
            l += 1
    if l == 1 or P.s.count == 1:
        vertex_feature(P.s, own[0], f)
    elif l == 2 or P.s.faces == 0:
        edge_feature(P.s, own[0], own[1], f)
    else:
        face_feature(P.s, facing(P, m), f)


cdef bint holds(const Placed* P, Feature* f, Vec3 m, Vec3 x) noexcept nogil:
    # whether the nearest point x (without the radius of a ball, along m) lies on the feature; else it becomes its neighbour
    cdef const vt_shape* s = P.s
    cdef Vec3 own = in_body(P, x), d
    cdef double c, t
    if f.kind == EDGE:
        d = sub(vertex_of(s, f.other), f.p)
        t = dot(f.e, sub(own, f.p))
        if t < 0.0:
            vertex_feature(s, f.id, f)
            return False
        if t * t > dot(d, d):
            vertex_feature(s, f.other, f)
            return False
        return True
    if not s.rims:
        return True
    c = dot(P.axis, m)
    if f.kind == FACE:
        d = sub(own, constant3(s.center + 3 * rim_of_cap(s, f)))
        d = axpy(-dot(f.e, d), f.e, d)
        if dot(d, d) > s.rim * s.rim:
            rim_feature(s, rim_of_cap(s, f), f)
            return False
    elif f.kind == RIM:
        if (s.rims == 2 and (c > AT_KINK if f.id == 0 else c < -AT_KINK)) or (s.count and c > s.slope + AT_KINK):
            side_feature(s, f)
            return False
        d = axpy(-c, P.axis, m)
        if vt_sqrt(dot(d, d)) < 1e3 * ALONG_AXIS:
            face_feature(s, facing(P, m), f)
            return False
    elif f.kind == SIDE:
        t = dot(f.e, sub(own, f.p))
        d = sub(constant3(s.center + 3), constant3(s.center))
        if t < 0.0 or t * t > dot(d, d):
            rim_feature(s, 0 if t < 0.0 else 1, f)
            return False
    elif f.kind == SLANT:
        d = sub(f.p, constant3(s.center))
        t = dot(f.e, sub(f.p, own))
        if t < 0.0:
            vertex_feature(s, 0, f)
            return False
        if t * t > dot(d, d):
            rim_feature(s, 0, f)
            return False
    elif f.kind == VERTEX and f.id >= 0 and c < s.slope - AT_KINK:
        side_feature(s, f)
        return False
    return True


cdef inline double separation(const Placed* A, const Placed* B, Vec3 n) noexcept nogil:
    # sigma(n)
    return -extent(A, neg(n)) - extent(B, n)


cdef void support_feature(const Placed* P, Vec3 m, Feature* f) noexcept nogil:
    # of the point that is farthest along m: a vertex, a rim or an ellipsoid
    cdef int id
    if P.s.kind == ELLIPSOID:
        curved_feature(P, m, AT_KINK, f)
        return
    support(P, m, &id)
    if id < P.s.count:
        vertex_feature(P.s, id, f)
    else:
        rim_feature(P.s, id - P.s.count, f)


cdef void over_half_space(const Placed* A, const Placed* B, Near* x) noexcept nogil:
    # of a shape over a plane
    face_feature(B.s, 0, &x.fb)
    x.n = constant3(B.s.face)
    support_feature(A, neg(x.n), &x.fa)
    x.exact = touch_features(A, &x.fa, B, &x.fb, &x.n, &x.gap, &x.a, &x.b)


cdef inline bint cap_tilts(const Placed* P, Feature* f) noexcept nogil:
    # in the place of a cap, its rim
    cdef bint cap = f.kind == FACE and P.s.rims > 0
    if cap:
        rim_feature(P.s, rim_of_cap(P.s, f), f)
    return cap


cdef bint wider_feature(const Placed* P, Vec3 m, Vec3 beside, Feature* f) noexcept nogil:
    # in the place of a vertex, the edge between those that are farthest along m and beside it; of a cap, its rim
    cdef int id, other
    if cap_tilts(P, f):
        return True
    if f.kind != VERTEX:
        return False
    support(P, m, &id)
    support(P, beside, &other)
    if id == other or max(id, other) >= P.s.count:
        return False
    edge_feature(P.s, id, other, f)
    return True


cdef void over_kinks(const Placed* A, const Placed* B, Near* x) noexcept nogil:
    # edges and rims in the place of the vertices and caps of a search, which has ended beside a kink of sigma, if the shapes
    # are farther apart along their direction
    cdef Near found = x[0], other
    cdef int id, k
    cdef Vec3 rise = sub(support(A, neg(x.n), &id), support(B, x.n, &id)), n
    cdef double size
    cdef bint one, two
    rise = axpy(-dot(x.n, rise), x.n, rise)
    size = vt_sqrt(dot(rise, rise))
    n = axpy(BESIDE_KINK / size, rise, x.n) if size > 0.0 else x.n
    one, two = wider_feature(A, neg(x.n), neg(n), &found.fa), wider_feature(B, x.n, n, &found.fb)
    for k in range(1, 4):
        if (k & 1 and not one) or (k & 2 and not two):
            continue
        other = x[0]
        if k & 1:
            other.fa = found.fa
        if k & 2:
            other.fb = found.fb
        if not touch_features(A, &other.fa, B, &other.fb, &other.n, &other.gap, &other.a, &other.b):
            continue
        other.gap = min(other.gap, separation(A, B, other.n))
        if other.gap > x.gap:
            x[0] = other
            return


cdef void nearest_features(const Placed* A, const Placed* B, Vec3 start, Near* x) noexcept nogil:
    # the closest features, from a first direction; of shapes that overlap a direction in which sigma is largest among those
    # about it
    cdef Simplex at
    cdef Near apart
    cdef Vec3 n = start, a, b, moved = zero3()
    cdef double size = A.s.reach + B.s.reach, d
    if B.s.kind == HALF_SPACE:
        over_half_space(A, B, x)
        return
    d = gjk(A, B, moved, start, &at, &n)
    apart.gap = -INFINITY
    if d > 0.0:
        features_of(A, B, &at, moved, n, &apart, &a, &b)
        if apart.exact and apart.gap > PULLED * size:
            x[0] = apart
            return
    moved = pulled_apart(A, B, start, &at, &n)
    features_of(A, B, &at, moved, n, x, &a, &b)
    # where shapes touch, points and edges have no direction of their own: the normals of faces beside the found one
    over_face(A, B, n, a, b, True, x)
    over_face(A, B, n, a, b, False, x)
    if apart.gap > x.gap + FACE_GAIN * size:
        x[0] = apart
    if OVERLAP_AGAIN * size > -x.gap > FACE_GAIN * size:
        # a line nearly in a plane has several directions that are nearly as good
        moved = pulled_apart(A, B, x.n, &at, &n)
        features_of(A, B, &at, moved, n, &apart, &a, &b)
        if apart.gap > x.gap:
            x[0] = apart
        over_kinks(A, B, x)


cdef Vec3 pulled_apart(const Placed* A, const Placed* B, Vec3 start, Simplex* at, Vec3* n) noexcept nogil:
    # the largest sigma(n) + pull (n.last), repeated, ends where sigma alone is largest; the last displacement of a
    cdef double pull = 1e-3 * (A.s.reach + B.s.reach)
    cdef Vec3 last, change, moved = zero3()
    cdef double square, before = INFINITY
    cdef int i
    n[0] = start
    for i in range(PULLS):
        last, moved = n[0], scale(pull, n[0])
        if gjk(A, B, moved, last, at, n) == 0.0:
            n[0], pull = last, 2.0 * pull
            continue
        change = sub(n[0], last)
        square = dot(change, change)
        # curved shapes have their directions to rounding errors of supports
        if square < 1e-20 or (square < 1e-12 and square > 0.25 * before):
            break
        before = square
    return moved


cdef bint still_nearest(const Placed* A, const Placed* B, Vec3 start, Near* x) noexcept nogil:
    # whether the features of x hold in a direction about the first one, as closest features of one direction do
    x.n = start
    if B.s.kind == HALF_SPACE or not touch_features(A, &x.fa, B, &x.fb, &x.n, &x.gap, &x.a, &x.b):
        return False
    # where sigma is negative it may have other maxima
    if x.gap < -BEYOND * (A.s.reach + B.s.reach):
        return False
    if not (holds(A, &x.fa, neg(x.n), axpy(own_radius(&x.fa), x.n, x.a))
            and holds(B, &x.fb, x.n, axpy(-own_radius(&x.fb), x.n, x.b))):
        return False
    x.exact = separation(A, B, x.n) >= x.gap - EXACTLY * (A.s.reach + B.s.reach)
    return x.exact


cdef void features_of(const Placed* A, const Placed* B, const Simplex* at, Vec3 moved, Vec3 n, Near* x, Vec3* a,
                      Vec3* b) noexcept nogil:
    # the features about those of a simplex that hold, and otherwise its own points, a and b (without radii)
    cdef double size = A.s.reach + B.s.reach, found
    cdef Feature own, opposite
    cdef int i
    cdef bint one, other
    a[0] = b[0] = zero3()
    for i in range(at.n):
        a[0], b[0] = axpy(at.share[i], sub(at.a[i], moved), a[0]), axpy(at.share[i], at.b[i], b[0])
    simplex_feature(A, at.ia, at.n, neg(n), &x.fa)
    simplex_feature(B, at.ib, at.n, n, &x.fb)
    own, opposite = x.fa, x.fb
    # of faces that meet faces or edges, a point of the one
    if x.fb.kind == FACE and (x.fa.kind == EDGE or x.fa.kind == FACE):
        material_point(A, a[0], -1, A.s.radius, &x.fa)
    elif x.fa.kind == FACE and (x.fb.kind == EDGE or x.fb.kind == FACE):
        material_point(B, b[0], -1, B.s.radius, &x.fb)
    x.exact = False
    for i in range(SWITCHES):
        x.n = n
        if not touch_features(A, &x.fa, B, &x.fb, &x.n, &x.gap, &x.a, &x.b):
            break
        one = holds(A, &x.fa, neg(x.n), axpy(own_radius(&x.fa), x.n, x.a))
        other = holds(B, &x.fb, x.n, axpy(-own_radius(&x.fb), x.n, x.b))
        if one and other:
            found = separation(A, B, x.n)
            x.exact = found >= x.gap - BEYOND * size
            x.gap = min(x.gap, found)
            if x.exact or not (cap_tilts(B, &opposite) or cap_tilts(A, &own)):
                break
            x.fa, x.fb = own, opposite
    found = separation(A, B, n)
    if not x.exact or found > x.gap + BEYOND * size:
        # those of the search itself
        x.n, x.gap, x.exact = n, found, False
        x.a, x.b = axpy(-A.s.radius, n, a[0]), axpy(B.s.radius, n, b[0])


cdef void over_face(const Placed* A, const Placed* B, Vec3 n, Vec3 a, Vec3 b, bint own, Near* x) noexcept nogil:
    # the face of a (own) or of b that is nearest to across n, if the shapes are farther apart along its normal than found so
    # far, with the point b or a (without radii) on it
    cdef const Placed* P = A if own else B
    cdef Near y
    cdef double gap
    cdef int face
    if not P.s.faces:
        return
    face = facing(P, neg(n) if own else n)
    n = rotated(P, constant3(P.s.face + 4 * face))
    n = neg(n) if own else n
    gap = separation(A, B, n)
    if not gap > x.gap + FACE_GAIN * (A.s.reach + B.s.reach):
        return
    y.n = n
    if own:
        face_feature(A.s, face, &y.fa)
        material_point(B, b, -1, B.s.radius, &y.fb)
    else:
        face_feature(B.s, face, &y.fb)
        material_point(A, a, -1, A.s.radius, &y.fa)
    y.exact = touch_features(A, &y.fa, B, &y.fb, &y.n, &y.gap, &y.a, &y.b)
    if not fabs(y.gap - gap) <= FACE_GAIN * (A.s.reach + B.s.reach):
        # the point is not where the shapes meet
        if own:
            support_feature(B, n, &y.fb)
        else:
            support_feature(A, neg(n), &y.fa)
        y.exact = touch_features(A, &y.fa, B, &y.fb, &y.n, &y.gap, &y.a, &y.b)
    x[0] = y


cdef void deepest_features(const Placed* A, const Placed* B, Near* x) noexcept nogil:
    # the closest features, of shapes that overlap those along which the least displacement separates them, from several
    # first directions
    cdef Vec3 start = first_direction(A, B), e, best = start
    cdef double most = -INFINITY, value, size
    cdef int i, k
    nearest_features(A, B, start, x)
    if x.gap >= -A.s.radius - B.s.radius or B.s.kind == HALF_SPACE:
        return
    for i in range(2):
        for k in range(6):
            e = vec3(1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
            better_from(A, B, mul(B.R if i else A.R, scale(1.0 if k < 3 else -1.0, e)), x)
    # the best normal of a face
    for i in range(2):
        for k in range(B.s.faces if i else A.s.faces):
            e = rotated(B, constant3(B.s.face + 4 * k)) if i else neg(rotated(A, constant3(A.s.face + 4 * k)))
            value = separation(A, B, e)
            if value > most:
                most, best = value, e
    # or direction across the axis of a capsule and an edge
    for i in range(A.s.edges if A.s.edges == 1 or B.s.edges == 1 else 0):
        for k in range(2 * B.s.edges):
            e = cross(line_of(A, i), line_of(B, k // 2))
            size = vt_sqrt(dot(e, e))
            e = scale((1.0 if k % 2 else -1.0) / size, e) if size > 0.0 else best
            value = separation(A, B, e)
            if value > most:
                most, best = value, e
    if most > -INFINITY:
        better_from(A, B, best, x)


cdef inline Vec3 line_of(const Placed* P, int k) noexcept nogil:
    # along an edge
    return rotated(P, sub(vertex_of(P.s, P.s.edge[2 * k + 1]), vertex_of(P.s, P.s.edge[2 * k])))


cdef double separating_face(const Placed* A, const Placed* B, double least, Vec3* n) noexcept nogil:
    # the gap along the normal of a face, the first along which the shapes are as far apart as least; -INFINITY of none. The
    # difference w of any two points of the shapes bounds it, sigma(n) <= n.w: a few of them exclude most normals
    cdef Vec3 e, a, b
    cdef Vec3 seen[DIFFERENCES]
    cdef double value, slack = EXACTLY * (A.s.reach + B.s.reach), radius = A.s.radius + B.s.radius
    cdef int i, k, j, id, count = 0
    cdef bint excluded
    if B.s.kind == HALF_SPACE:
        return -INFINITY
    for i in range(2):
        for k in range(A.s.faces if i else B.s.faces):
            e = neg(rotated(A, constant3(A.s.face + 4 * k))) if i else rotated(B, constant3(B.s.face + 4 * k))
            excluded = False
            for j in range(min(count, DIFFERENCES)):
                if dot(e, seen[j]) - radius < least - slack:
                    excluded = True
                    break
            if excluded:
                continue
            a, b = support(A, neg(e), &id), support(B, e, &id)
            value = -(dot(a, neg(e)) + A.s.radius) - (dot(b, e) + B.s.radius)
            if value >= least:
                n[0] = e
                return value
            seen[count % DIFFERENCES] = sub(a, b)
            count += 1
    return -INFINITY


cdef void better_from(const Placed* A, const Placed* B, Vec3 start, Near* x) noexcept nogil:
    cdef Near other
    nearest_features(A, B, start, &other)
    if other.gap > x.gap:
        x[0] = other


cdef inline Vec3 first_direction(const Placed* A, const Placed* B) noexcept nogil:
    # that between the middles of two shapes
    cdef Vec3 d = sub(in_space(A, constant3(A.s.middle)), in_space(B, constant3(B.s.middle)))
    cdef double size = vt_sqrt(dot(d, d))
    return scale(1.0 / size, d) if size > 0.0 else vec3(0.0, 0.0, 1.0)
