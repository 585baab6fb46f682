# Where two convex shapes touch: pairs of features whose gaps are smooth functions, several of them where faces or lines
# meet. One lane.
#
# Of shapes with edges the gap to both sides of an edge has a kink. A step sees it by features that stay the same, chosen
# where it starts: a point over a face, two lines that cross. All of them together, not below zero, keep the shapes apart
# where faces are nearly parallel: their gap is then a linear function over the polygon in which they overlap, of which they
# are the corners. A pair of which one is a ball or an ellipsoid has one nearest point, whose gap is smooth, unless a
# capsule lies along.

cdef enum:
    PLANE_ID = -2           # in the place of the number of a face: a plane that separates
    FIRST_FACETS = 6        # of a pair, of MOST_FACETS
    FOUND_FACETS = 40       # before some of them are chosen
    CAP_POINTS = 4          # material points on the rim of a cap

#: Sine of the angle within which points of a shape are near a plane
cdef double NEAR_PLANE = 0.1
#: Points nearer to each other than this fraction of the sizes are one
cdef double MERGED = 1e-7
#: [m] material points nearer to each other are the same
cdef double SAME_PLACE = 1e-12
#: [m] facets with a gap that is less by more do not keep shapes apart
cdef double NOT_APART = 1e-12
#: A facet of compliant shapes has their gap to this fraction of it and their softness
cdef double SHALLOWER = 1e-3
#: What stands for the softness of rigid contacts
cdef double RIGID = -INFINITY
#: Sine of the angle between lines from which on they cross
cdef double CROSSING = 1e-5

cdef enum:                  # kinds of facets
    NO_FACET = 0
    FIXED = 1               # its features stay the same over a step
    CLOSEST = 2             # its features are the closest ones of the shapes at any time


cdef struct Facet:          # of two shapes that touch
    int kind
    Feature fa
    Feature fb
    Vec3 n                  # a direction from which that of the features is found
    double gap              # where it was chosen
    double u                # its place across n
    double v


cdef struct Spot:           # a point of a shape near a plane
    Feature f               # a vertex, a rim, or a material point of a rim
    Vec3 x                  # without the radius of a ball
    double u
    double v


cdef struct Patch:          # of a shape near a plane, in the directions across the normal
    Spot spot[MOST_SPOTS]
    int count               # one point, the ends of a line, or a polygon, counterclockwise
    bint cap                # of the disk about center
    double center[2]
    double rim
    const Placed* on


cdef inline bint is_round(const vt_shape* s) noexcept nogil:
    # whether nearest points are unique
    return s.kind == ELLIPSOID or s.radius > 0.0


cdef void near_plane(const Placed* P, Vec3 m, Vec3 t1, Vec3 t2, Patch* out) noexcept nogil:
    # the points of a shape that are farthest along m, or nearly
    cdef const vt_shape* s = P.s
    cdef Vec3 x, lowest, d, e, f
    cdef double top, c, fall, sine, cosine
    cdef int k, j, id
    lowest = support(P, m, &id)
    top = dot(lowest, m)
    out.count, out.cap, out.on = 0, False, P
    if s.kind == ELLIPSOID:
        curved_feature(P, m, AT_KINK, &out.spot[0].f)
        out.spot[0].x, out.count = lowest, 1
    c = dot(P.axis, m) if s.rims else 0.0
    if s.rims and (c < 0.0 or s.count == 0):
        d = axpy(-c, P.axis, m)
        if dot(d, d) < FLATTISH * FLATTISH:
            # a cap: material points, fixed in the body
            out.cap, out.rim, j = True, s.rim, 1 if s.rims == 2 and c > 0.0 else 0
            e = across_axis(P.axis, rotated(P, vec3(0.6, 0.48, 0.64)))
            f = cross(P.axis, e)
            out.center[0], out.center[1] = dot(P.rim[j], t1), dot(P.rim[j], t2)
            for k in range(CAP_POINTS):
                vt_sincos(TURN * k / CAP_POINTS, &sine, &cosine)
                x = add(P.rim[j], axpy(s.rim * cosine, e, scale(s.rim * sine, f)))
                material_point(P, x, CAP_POINTS * j + k, 0.0, &out.spot[k].f)
                out.spot[k].x = x
            out.count = CAP_POINTS
            if dot(d, d) > ALONG_AXIS * ALONG_AXIS:
                # and the lowest one
                material_point(P, lowest, 2 * CAP_POINTS + j, 0.0, &out.spot[CAP_POINTS].f)
                out.spot[CAP_POINTS].x = lowest
                out.count += 1
    for k in range(s.rims if not out.cap else 0):
        x = add(P.rim[k], scale(s.rim, across_axis(P.axis, m)))
        d, fall = sub(x, lowest), top - dot(x, m)
        if fall <= NEAR_PLANE * vt_sqrt(dot(d, d)) + 1e-12 * s.reach:
            rim_feature(s, k, &out.spot[out.count].f)
            out.spot[out.count].x = x
            out.count += 1
    for k in range(s.count if not out.cap else 0):
        x = in_space(P, vertex_of(s, k))
        d, fall = sub(x, lowest), top - dot(x, m)
        if fall <= NEAR_PLANE * vt_sqrt(dot(d, d)) + 1e-12 * s.reach and out.count < MOST_SPOTS:
            vertex_feature(s, k, &out.spot[out.count].f)
            out.spot[out.count].x = x
            out.count += 1
    for k in range(out.count):
        out.spot[k].u, out.spot[k].v = dot(out.spot[k].x, t1), dot(out.spot[k].x, t2)
    if out.count > 2:
        outline(out)


cdef inline double turn_of(const Spot* a, const Spot* b, const Spot* c) noexcept nogil:
    return (b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u)


cdef void outline(Patch* x) noexcept nogil:
    # its corners alone, counterclockwise (Andrew 1979, "Another efficient algorithm for convex hulls in two dimensions")
    cdef Spot kept[2 * MOST_SPOTS]
    cdef Spot moved
    cdef double least = 1e-12 * x.on.s.reach * x.on.s.reach
    cdef int i, j, n = 0, low
    for i in range(1, x.count):
        moved, j = x.spot[i], i
        while j and (x.spot[j - 1].u > moved.u or (x.spot[j - 1].u == moved.u and x.spot[j - 1].v > moved.v)):
            x.spot[j] = x.spot[j - 1]
            j -= 1
        x.spot[j] = moved
    for i in range(x.count):
        while n > 1 and turn_of(&kept[n - 2], &kept[n - 1], &x.spot[i]) <= least:
            n -= 1
        kept[n] = x.spot[i]
        n += 1
    low = n + 1
    for i in range(x.count - 2, -1, -1):
        while n >= low and turn_of(&kept[n - 2], &kept[n - 1], &x.spot[i]) <= least:
            n -= 1
        kept[n] = x.spot[i]
        n += 1
    n -= 1
    for i in range(n):
        x.spot[i] = kept[i]
    x.count = n


cdef bint inside_patch(const Patch* x, double u, double v, double slack) noexcept nogil:
    # whether a place lies in a polygon or a disk, or within slack of it
    cdef const Spot* a
    cdef const Spot* b
    cdef double du, dv
    cdef int i
    if x.on.s.kind == HALF_SPACE:
        return True
    if x.cap:
        du, dv = u - x.center[0], v - x.center[1]
        return vt_sqrt(du * du + dv * dv) <= x.rim + slack
    if x.count < 3:
        return False
    for i in range(x.count):
        a, b = &x.spot[i], &x.spot[(i + 1) % x.count]
        du, dv = b.u - a.u, b.v - a.v
        if du * (v - a.v) - dv * (u - a.u) < -slack * vt_sqrt(du * du + dv * dv):
            return False
    return True


cdef int face_over(const Placed* P, Vec3 m, Vec3 x) noexcept nogil:
    # the face, among those that look along m, that is nearest to a point beside it
    cdef Vec3 d = unrotated(P, m), own = in_body(P, x), e
    cdef double most = -INFINITY, value
    cdef int k, best = -1
    for k in range(P.s.faces):
        e = constant3(P.s.face + 4 * k)
        if dot(e, d) > 0.9:
            value = dot(e, own) - P.s.face[4 * k + 3]
            if value > most:
                most, best = value, k
    return best if best >= 0 else facing(P, m)


cdef void line_between(const vt_shape* s, const Spot* a, const Spot* b, Feature* f) noexcept nogil:
    # the line of a shape between two spots
    if a.f.kind == VERTEX and b.f.kind == VERTEX:
        edge_feature(s, a.f.id, b.f.id, f)
    else:
        side_feature(s, f)


cdef void add_facet(Facet* list, int* count, const Feature* fa, const Feature* fb, Vec3 n, double u, double v,
                    double merged) noexcept nogil:
    # unless there is one at its place
    cdef int k
    if count[0] == FOUND_FACETS:
        return
    for k in range(count[0]):
        if fabs(list[k].u - u) <= merged and fabs(list[k].v - v) <= merged:
            return
    list[count[0]].kind, list[count[0]].fa, list[count[0]].fb = FIXED, fa[0], fb[0]
    list[count[0]].n, list[count[0]].u, list[count[0]].v = n, u, v
    count[0] += 1


cdef void over_faces(const Patch* x, const Patch* y, Vec3 n, bint swapped, Facet* list, int* count, double merged) noexcept nogil:
    # the points of x on the faces of y, which looks along n
    cdef const Spot* a
    cdef Feature face
    cdef int k
    for k in range(x.count):
        a = &x.spot[k]
        if inside_patch(y, a.u, a.v, merged):
            face_feature(y.on.s, face_over(y.on, n, a.x), &face)
            if swapped:
                add_facet(list, count, &face, &a.f, neg(n), a.u, a.v, merged)
            else:
                add_facet(list, count, &a.f, &face, n, a.u, a.v, merged)


cdef void lines_cross(const Patch* x, const Patch* y, Vec3 n, Facet* list, int* count, double merged) noexcept nogil:
    # the edges of two patches that cross
    cdef const Spot* a
    cdef const Spot* b
    cdef const Spot* c
    cdef const Spot* d
    cdef Feature fa, fb
    cdef double det, s, t, au, av, cu, cv
    cdef int i, j, edges_x = x.count if x.count > 2 else x.count - 1, edges_y = y.count if y.count > 2 else y.count - 1
    for i in range(edges_x):
        a, b = &x.spot[i], &x.spot[(i + 1) % x.count]
        au, av = b.u - a.u, b.v - a.v
        for j in range(edges_y):
            c, d = &y.spot[j], &y.spot[(j + 1) % y.count]
            cu, cv = d.u - c.u, d.v - c.v
            det = au * cv - av * cu
            if fabs(det) <= CROSSING * vt_sqrt((au * au + av * av) * (cu * cu + cv * cv)):
                continue
            s = ((c.u - a.u) * cv - (c.v - a.v) * cu) / det
            t = ((c.u - a.u) * av - (c.v - a.v) * au) / det
            if s < 0.0 or s > 1.0 or t < 0.0 or t > 1.0:
                continue
            line_between(x.on.s, a, b, &fa)
            line_between(y.on.s, c, d, &fb)
            add_facet(list, count, &fa, &fb, n, a.u + s * au, a.v + s * av, merged)


cdef void rim_crosses(const Patch* x, const Patch* y, Vec3 n, bint swapped, Facet* list, int* count, double merged) noexcept nogil:
    # the cap of x and the edges of y: material points of these over the cap
    cdef const Spot* a
    cdef const Spot* b
    cdef Feature face, own
    cdef Vec3 p
    cdef double du, dv, pu, pv, aa, ab, bb, root, t
    cdef int j, k, edges = y.count if y.count > 2 else y.count - 1
    face_feature(x.on.s, facing(x.on, neg(n) if not swapped else n), &face)
    for j in range(edges):
        a, b = &y.spot[j], &y.spot[(j + 1) % y.count]
        du, dv, pu, pv = b.u - a.u, b.v - a.v, a.u - x.center[0], a.v - x.center[1]
        aa, ab, bb = du * du + dv * dv, du * pu + dv * pv, pu * pu + pv * pv - x.rim * x.rim
        root = ab * ab - aa * bb
        if not (aa > 0.0 and root > 0.0):
            continue
        for k in range(2):
            t = (-ab + (vt_sqrt(root) if k else -vt_sqrt(root))) / aa
            if t < 0.0 or t > 1.0:
                continue
            p = axpy(t, sub(b.x, a.x), a.x)
            material_point(y.on, p, 256 + 32 * (a.f.id + 16 * b.f.id) + k, a.f.size if a.f.kind == VERTEX else 0.0, &own)
            if swapped:
                add_facet(list, count, &own, &face, n, a.u + t * du, a.v + t * dv, merged)
            else:
                add_facet(list, count, &face, &own, n, a.u + t * du, a.v + t * dv, merged)


cdef void lines_along(const Patch* x, const Patch* y, Vec3 n, bint swapped, Facet* list, int* count, double merged) noexcept nogil:
    # two lines along each other: the ends of x that lie along y, as balls of its radius
    cdef const Spot* a = &y.spot[0]
    cdef const Spot* b = &y.spot[1]
    cdef const Spot* c
    cdef Feature line, ball
    cdef double du = b.u - a.u, dv = b.v - a.v, t, size = du * du + dv * dv
    cdef int k
    line_between(y.on.s, a, b, &line)
    if line.kind == SLANT:
        return
    for k in range(2):
        c = &x.spot[k]
        t = ((c.u - a.u) * du + (c.v - a.v) * dv) / size
        if t < 0.0 or t > 1.0:
            continue
        ball = c.f
        if c.f.kind == RIM:
            ball.kind, ball.e = VERTEX, zero3()
        if not (own_radius(&ball) + own_radius(&line) > 0.0):
            continue
        if swapped:
            add_facet(list, count, &line, &ball, neg(n), c.u, c.v, merged)
        else:
            add_facet(list, count, &ball, &line, n, c.u, c.v, merged)


cdef bint swept_along(const Patch* x, const Patch* y) noexcept nogil:
    # whether two capsules lie along each other, nearly: where their axes cross moves far within a step. Their ends and their
    # closest points hold them
    cdef double au = x.spot[1].u - x.spot[0].u, av = x.spot[1].v - x.spot[0].v
    cdef double cu = y.spot[1].u - y.spot[0].u, cv = y.spot[1].v - y.spot[0].v
    return is_round(x.on.s) and is_round(y.on.s) and x.count == 2 and y.count == 2 and (
        fabs(au * cv - av * cu) < FLATTISH * vt_sqrt((au * au + av * av) * (cu * cu + cv * cv)))


cdef int choose_facets(Facet* list, int count, int most) noexcept nogil:
    # those that span the patch: the lowest, then each time the one that is farthest from all before
    cdef Facet kept
    cdef double far, near, du, dv
    cdef int i, j, k, best = 0
    if count <= most:
        return count
    for k in range(1, count):
        if list[k].gap < list[best].gap:
            best = k
    kept = list[0]
    list[0], list[best] = list[best], kept
    for i in range(1, most):
        far, best = -1.0, i
        for k in range(i, count):
            near = INFINITY
            for j in range(i):
                du, dv = list[k].u - list[j].u, list[k].v - list[j].v
                near = min(near, du * du + dv * dv)
            if near > far:
                far, best = near, k
        kept = list[i]
        list[i], list[best] = list[best], kept
    return most


cdef void plane_through(const Placed* P, Vec3 m, Vec3 x, Feature* f) noexcept nogil:
    # the plane through a point of a shape, as a face of it across m
    f.kind, f.id, f.other, f.p = FACE, PLANE_ID, -1, zero3()
    f.e = unrotated(P, m)
    f.size = dot(m, x) - (dot(m, P.o) if P.s.body >= 0 else 0.0)


cdef bint turns_fast(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb, Vec3 n) noexcept nogil:
    # whether small rotations turn the direction of two features by much more: lines nearly along each other, rims nearly
    # across n
    cdef Vec3 ea, eb, c
    if fa.kind == FACE or fb.kind == FACE or fa.kind == VERTEX or fb.kind == VERTEX:
        return False
    if is_flat_rim(A, fa, n) or is_flat_rim(B, fb, n):
        return True
    if is_line(fa) and is_line(fb):
        ea, eb = rotated(A, fa.e), rotated(B, fb.e)
        c = cross(ea, eb)
        if dot(c, c) < FLATTISH * FLATTISH:
            return True
        return fabs(dot(c, n)) < FLATTISH
    return False


cdef void hold_plane(const Placed* A, const Placed* B, Vec3 n, Vec3 a, Vec3 b, Feature* fa, Feature* fb) noexcept nogil:
    # in the place of such features: the plane across n, fixed to a, or to b if a rim of it is nearly across, and a point
    # of the other; of two capsules a ball about a point of the axis of a
    cdef double ra = own_radius(fa), rb = own_radius(fb)
    if fa.kind == EDGE and fb.kind == EDGE and ra > 0.0 and rb > 0.0:
        material_point(A, axpy(ra, n, a), PLANE_ID, ra, fa)
    elif is_flat_rim(B, fb, n) and not is_flat_rim(A, fa, n):
        material_point(A, axpy(ra, n, a), PLANE_ID, ra, fa)
        plane_through(B, n, b, fb)
    else:
        material_point(B, axpy(-rb, n, b), PLANE_ID, rb, fb)
        plane_through(A, neg(n), a, fa)


cdef void end_of_edge(const Placed* P, const Feature* f, double at, double length, Feature* out) noexcept nogil:
    # the end of an edge that a place on it has reached, or the edge
    out[0] = f[0]
    if f.kind == EDGE and not 0.0 < at < length:
        vertex_feature(P.s, f.id if at <= 0.0 else f.other, out)


cdef void within_edges(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb, Feature* ea, Feature* eb) noexcept nogil:
    # of the edge of a rounded shape and an edge or a vertex, those between their ends: the distance of segments is smooth
    # where it is not zero, that of their lines is smaller where they cross beyond (Ericson 2005, Real-Time Collision
    # Detection, section 5.1.9)
    cdef Vec3 u = rotated(A, fa.e), v = rotated(B, fb.e), d = sub(in_space(A, fa.p), in_space(B, fb.p)), t
    cdef double la = 0.0, lb = 0.0, g = dot(u, v), c = dot(u, d), f = dot(v, d), det = 1.0 - g * g, x, y
    if fa.kind == EDGE:
        t = sub(vertex_of(A.s, fa.other), fa.p)
        la = vt_sqrt(dot(t, t))
    if fb.kind == EDGE:
        t = sub(vertex_of(B.s, fb.other), fb.p)
        lb = vt_sqrt(dot(t, t))
    x = min(max((g * f - c) / det, 0.0), la) if det > PARALLEL_LINES else 0.0
    y = g * x + f
    if not 0.0 <= y <= lb:
        y = min(max(y, 0.0), lb)
        x = min(max(g * y - c, 0.0), la)
    end_of_edge(A, fa, x, la, ea)
    end_of_edge(B, fb, y, lb, eb)


cdef inline bint ends_round(const Feature* fa, const Feature* fb) noexcept nogil:
    return ((fa.kind == EDGE or fa.kind == VERTEX) and (fb.kind == EDGE or fb.kind == VERTEX)
            and (fa.kind == EDGE or fb.kind == EDGE) and own_radius(fa) + own_radius(fb) > 0.0)


cdef bint touch_fixed(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb, Vec3* n, double* gap,
                      Vec3* a, Vec3* b) noexcept nogil:
    # the gap of the features of a facet, which may move beyond the ends of edges
    cdef Feature ea, eb
    if not ends_round(fa, fb):
        return touch_features(A, fa, B, fb, n, gap, a, b)
    within_edges(A, fa, B, fb, &ea, &eb)
    return touch_features(A, &ea, B, &eb, n, gap, a, b)


cdef int facets_about(const Placed* A, const Placed* B, Vec3 n, Facet* list) noexcept nogil:
    # the facets of two shapes that face each other along n, at most FOUND_FACETS
    cdef Patch x, y
    cdef Vec3 t1 = tangent_to(n), t2 = cross(n, t1)
    cdef Vec3 a, b
    cdef double merged = MERGED * min(A.s.reach, B.s.reach)
    cdef int count = 0, k, kept = 0
    near_plane(A, neg(n), t1, t2, &x)
    if B.s.kind == HALF_SPACE:
        y.on, y.count, y.cap = B, 0, False
        over_faces(&x, &y, n, False, list, &count, merged)
    else:
        near_plane(B, n, t1, t2, &y)
        if y.count > 2:
            over_faces(&x, &y, n, False, list, &count, merged)
        if x.count > 2:
            over_faces(&y, &x, neg(n), True, list, &count, merged)
        if x.cap:
            rim_crosses(&x, &y, n, False, list, &count, merged)
        elif y.cap:
            rim_crosses(&y, &x, n, True, list, &count, merged)
        elif not swept_along(&x, &y):
            lines_cross(&x, &y, n, list, &count, merged)
        if x.count == 2 and y.count == 2 and count == 0:
            lines_along(&x, &y, n, False, list, &count, merged)
            lines_along(&y, &x, neg(n), True, list, &count, merged)
    # the gaps, of those that have one
    for k in range(count):
        if turns_fast(A, &list[k].fa, B, &list[k].fb, n):
            touch_features(A, &list[k].fa, B, &list[k].fb, &list[k].n, &list[k].gap, &a, &b)
            hold_plane(A, B, n, a, b, &list[k].fa, &list[k].fb)
            list[k].n = n
        if touch_fixed(A, &list[k].fa, B, &list[k].fb, &list[k].n, &list[k].gap, &a, &b):
            list[kept] = list[k]
            kept += 1
    return kept


# ---- the features that keep shapes with edges apart -----------------------------------------------------------

cdef inline bint holds_apart(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb) noexcept nogil:
    # whether the gap of two features does not depend on how far apart they are: unlike that of two points
    cdef Vec3 ea, eb
    if fa.kind == FACE or fb.kind == FACE or fa.kind == ROUND or fb.kind == ROUND:
        return True
    if is_round(A.s) or is_round(B.s) or fa.kind == SIDE or fb.kind == SIDE:
        return True
    if fa.kind == VERTEX or fb.kind == VERTEX:
        return (fa.kind == SLANT or fb.kind == SLANT)
    if fa.kind == EDGE and fb.kind == EDGE:
        ea, eb = rotated(A, fa.e), rotated(B, fb.e)
        ea = cross(ea, eb)
        return dot(ea, ea) > CROSSING * CROSSING
    return True


cdef int neighbours(const Placed* P, const Feature* f, Vec3 m, Feature* out, int most) noexcept nogil:
    # the faces, edges, rims and sides that a feature belongs to, and itself
    cdef const vt_shape* s = P.s
    cdef Vec3 e
    cdef double slack = 1e-9 * s.reach
    cdef int k, n = 1
    out[0] = f[0]
    if s.rims:
        for k in range(s.faces):
            if n < most and dot(rotated(P, constant3(s.face + 4 * k)), m) > 0.0:
                face_feature(s, k, &out[n])
                n += 1
        if n < most and f.kind != SIDE and f.kind != SLANT and (s.rims == 2 or s.count):
            side_feature(s, &out[n])
            n += 1
        if n < most and f.kind != RIM:
            rim_feature(s, 1 if s.rims == 2 and dot(P.axis, m) > 0.0 else 0, &out[n])
            n += 1
        return n
    if f.kind != VERTEX and f.kind != EDGE:
        return n
    for k in range(s.faces):
        e = constant3(s.face + 4 * k)
        if n < most and dot(e, f.p) > s.face[4 * k + 3] - slack and (
                f.kind == VERTEX or dot(e, vertex_of(s, f.other)) > s.face[4 * k + 3] - slack):
            face_feature(s, k, &out[n])
            n += 1
    for k in range(s.edges if f.kind == VERTEX else 0):
        if n < most and (s.edge[2 * k] == f.id or s.edge[2 * k + 1] == f.id):
            edge_feature(s, s.edge[2 * k], s.edge[2 * k + 1], &out[n])
            n += 1
    return n


cdef void keeping_apart(const Placed* A, const Placed* B, Near* x) noexcept nogil:
    # of the closest features and their neighbours, those with the largest gap that keep the shapes apart, faces first
    cdef Feature own[16]
    cdef Feature other[16]
    cdef Near best, now
    cdef double most = -INFINITY, slack = 1e-12 * (A.s.reach + B.s.reach), value
    cdef int i, j, n, m
    if x.fa.kind == FACE or x.fb.kind == FACE or is_round(A.s) or is_round(B.s):
        return
    n, m = neighbours(A, &x.fa, neg(x.n), own, 16), neighbours(B, &x.fb, x.n, other, 16)
    for i in range(n):
        for j in range(m):
            if own[i].kind == FACE and other[j].kind == FACE:
                continue
            if (own[i].kind == FACE and j) or (other[j].kind == FACE and i):
                continue
            if not holds_apart(A, &own[i], B, &other[j]):
                continue
            now.fa, now.fb, now.n = own[i], other[j], x.n
            if not farthest_direction(A, &now.fa, B, &now.fb, &now.n):
                continue
            value = separation(A, B, now.n)
            if value > most + slack or (value > most - slack and (own[i].kind == FACE or other[j].kind == FACE)
                                        and not (best.fa.kind == FACE or best.fb.kind == FACE)):
                most, best = value, now
    # along the normal of a face what is beside the face counts as well, and may lie below it
    if most >= min(0.0, x.gap) - slack:
        best.gap, best.exact = most, x.exact
        x[0] = best
        if x.fb.kind == FACE:
            support_feature(A, neg(x.n), &x.fa)
        elif x.fa.kind == FACE:
            support_feature(B, x.n, &x.fb)
        else:
            touch_features(A, &x.fa, B, &x.fb, &x.n, &x.gap, &x.a, &x.b)
            if turns_fast(A, &x.fa, B, &x.fb, x.n):
                hold_plane(A, B, x.n, x.a, x.b, &x.fa, &x.fb)


cdef inline bint same_feature(const Feature* f, const Feature* g) noexcept nogil:
    return f.kind == g.kind and f.id == g.id and f.other == g.other


cdef inline bint same_place(const Feature* f, const Feature* g) noexcept nogil:
    # of features with the same numbers: whether they are at the same place of the body
    cdef Vec3 d = sub(f.p, g.p), e = sub(f.e, g.e)
    return dot(d, d) <= SAME_PLACE * SAME_PLACE and dot(e, e) <= SAME_PLACE * SAME_PLACE


cdef inline bint same_facet(const Facet* f, const Facet* g) noexcept nogil:
    return f.kind == g.kind and (f.kind == CLOSEST or (same_feature(&f.fa, &g.fa) and same_feature(&f.fb, &g.fb)))


cdef inline bint on_face(const Feature* f) noexcept nogil:
    return f.kind == FACE and f.id != PLANE_ID


cdef int separating(Facet* list, int count, double gap) noexcept nogil:
    # without facets that do not keep the shapes apart, whose gap is this
    cdef int k, kept = 0
    for k in range(count):
        if list[k].gap >= min(0.0, gap) - NOT_APART:
            list[kept] = list[k]
            kept += 1
    return kept


cdef int add_closest(const Near* x, const Placed* A, const Placed* B, Facet* list, int count) noexcept nogil:
    # the closest features, unless they are at the place of a facet
    cdef Facet* to = &list[count]
    cdef Vec3 t1 = tangent_to(x.n), a, b
    cdef Vec3 n = x.n
    cdef Near own = x[0]
    cdef int found = count
    cdef double merged = MERGED * min(A.s.reach, B.s.reach), gap
    if turns_fast(A, &own.fa, B, &own.fb, n):
        hold_plane(A, B, n, x.a, x.b, &own.fa, &own.fb)
    if count == FOUND_FACETS or not touch_fixed(A, &own.fa, B, &own.fb, &n, &gap, &a, &b):
        return count
    add_facet(list, &found, &own.fa, &own.fb, n, dot(a, t1), dot(a, cross(x.n, t1)), merged)
    if found > count:
        to.gap = gap
    return found


#: [m] shapes that overlap by less touch
cdef double TOUCHING = 1e-10


cdef int facets_of(const Placed* A, const Placed* B, Vec3 start, double softness, Near* x, Facet* list) noexcept nogil:
    # the facets of two shapes, at most MOST_FACETS; x: the features that keep them apart, or the closest ones. softness: of
    # compliant contacts, else RIGID; where they act, one of them has the gap of the shapes
    cdef Near best
    cdef Vec3 n
    cdef double least = INFINITY
    cdef int count, k
    nearest_features(A, B, start, x)
    if x.gap < -TOUCHING:
        # the search is among the directions about the first one, which separated the shapes before they slid on
        if separating_face(A, B, -TOUCHING, &n) >= -TOUCHING:
            nearest_features(A, B, n, &best)
            if best.gap >= -TOUCHING:
                x[0] = best
    if not is_round(A.s) and not is_round(B.s):
        keeping_apart(A, B, x)
        count = facets_about(A, B, x.n, list)
        if count == 0 or not (on_face(&x.fa) or on_face(&x.fb)):
            count = add_closest(x, A, B, list, count)
    else:
        count = facets_about(A, B, x.n, list)
        if count < 2:
            return closest_facet(x, list)
        count = add_closest(x, A, B, list, count)
    count = choose_facets(list, separating(list, count, x.gap), FIRST_FACETS)
    if x.gap < softness:
        for k in range(count):
            least = min(least, list[k].gap)
        if least > x.gap + SHALLOWER * (softness + fabs(x.gap)):
            count += closest_facet(x, list + count)
    return count


cdef inline int closest_facet(const Near* x, Facet* list) noexcept nogil:
    list[0].fa, list[0].fb, list[0].kind, list[0].n, list[0].gap = x.fa, x.fb, CLOSEST, x.n, x.gap
    return 1


cdef bint touch_facet(const Facet* f, const Placed* A, const Placed* B, const Vec3* start, Vec3* n, double* gap, Vec3* a,
                      Vec3* b) noexcept nogil:
    # the gap of a facet, its normal and points; start: a direction, or that of the facet
    cdef Near x
    n[0] = start[0] if start != NULL else f.n
    if f.kind == FIXED:
        return touch_fixed(A, &f.fa, B, &f.fb, n, gap, a, b)
    x.fa, x.fb = f.fa, f.fb
    if still_nearest(A, B, n[0], &x):
        n[0], gap[0], a[0], b[0] = x.n, x.gap, x.a, x.b
        return True
    nearest_features(A, B, n[0], &x)
    n[0], gap[0], a[0], b[0] = x.n, x.gap, x.a, x.b
    return x.exact


cdef double* write_feature(const Feature* f, double* to) noexcept nogil:
    to[0], to[1], to[2], to[3] = f.kind, f.id, f.other, f.size
    store3(to + 4, f.p)
    store3(to + 7, f.e)
    return to + 10


cdef const double* read_feature(const double* at, Feature* f) noexcept nogil:
    f.kind, f.id, f.other, f.size = <int>at[0], <int>at[1], <int>at[2], at[3]
    f.p, f.e = load3(at + 4), load3(at + 7)
    return at + 10


cdef void write_facet(const Facet* f, double* to) noexcept nogil:
    to[0] = f.kind
    store3(to + 1, f.n)
    write_feature(&f.fb, write_feature(&f.fa, to + 4))


cdef void read_facet(const double* at, Facet* f) noexcept nogil:
    f.kind, f.n = <int>at[0], load3(at + 1)
    read_feature(read_feature(at + 4, &f.fa), &f.fb)
