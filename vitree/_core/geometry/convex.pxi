# Convex shapes in the world, their support functions and features. One lane.
#
# A shape is the convex hull of vertices and of circles about one axis, with a radius about it, or an ellipsoid, or a
# half-space. With the support functions h_A and h_B and unit vectors n from b to a, the gap of two shapes is
#     gap = max_n sigma(n),    sigma(n) = -h_A(-n) - h_B(n),
# the distance where they are apart, and less the penetration depth where they overlap. Its derivative by displacements is
# n.(da - db) at the points where the supports are attained. Where h has a kink, n stays on it: on the normal of a face, on
# the great circle across an edge or the side of a cylinder, on the small circle u.n = s of a cone.

cdef enum:
    MOST_SPOTS = 16         # points of a shape near a plane

cdef enum:                  # kinds of features
    VERTEX = 1              # h = p.n + size
    EDGE = 2                # the same, e.n = 0; size: the radius about it
    RIM = 3                 # h = p.n + size |n - (e.n) e|
    SIDE = 4                # of a cylinder: h = p.n + size, e.n = 0
    SLANT = 5               # of a cone: h = p.n, e.n = size; p is the apex
    ROUND = 6               # of an ellipsoid
    FACE = 7                # n = e; size: e.x on it

cdef double TURN = 6.283185307179586
#: Sine of the angle within which a cap lies flat
cdef double FLATTISH = 0.1
#: Sine of the angle to an axis below which a direction is along it
cdef double ALONG_AXIS = 1e-9
#: and below which it has no direction across the axis but that of rounding errors
cdef double ON_AXIS = 1e-14


cdef struct Placed:         # a shape in the world
    const vt_shape* s
    Mat3 R
    Vec3 o
    Vec3 axis
    Vec3 rim[2]


cdef struct Feature:        # of a shape; p and e in the core frame of its body
    int kind
    int id                  # of a vertex its number, of an edge that of its first vertex,
    int other               # and of its second one; of a rim its number
    double size
    Vec3 p
    Vec3 e


cdef inline Vec3 rotated(const Placed* P, Vec3 a) noexcept nogil:
    # for a shape of the world nothing changes, to the bit
    return mul(P.R, a) if P.s.body >= 0 else a


cdef inline Vec3 unrotated(const Placed* P, Vec3 m) noexcept nogil:
    # a direction, in the core frame
    return tmul(P.R, m) if P.s.body >= 0 else m


cdef inline Vec3 in_body(const Placed* P, Vec3 x) noexcept nogil:
    return tmul(P.R, sub(x, P.o)) if P.s.body >= 0 else x


cdef inline Vec3 in_space(const Placed* P, Vec3 x) noexcept nogil:
    return add(P.o, mul(P.R, x)) if P.s.body >= 0 else x


cdef void place_shape(const vt_shape* s, const Pose* pose, Placed* P) noexcept nogil:
    cdef int k
    P.s, P.R, P.o = s, axes_of(pose, s.body), origin_of(pose, s.body)
    if s.rims:
        P.axis = rotated(P, constant3(s.axis))
        for k in range(s.rims):
            P.rim[k] = in_space(P, constant3(s.center + 3 * k))


cdef inline Vec3 across_axis(Vec3 u, Vec3 m) noexcept nogil:
    # the unit vector along m - (u.m) u; if m is along u, a fixed one
    cdef Vec3 p = axpy(-dot(u, m), u, m)
    cdef double size = vt_sqrt(dot(p, p))
    if size > ON_AXIS:
        # once more: what is left along u is a rounding error over size
        p = scale(1.0 / size, p)
        return axpy(-dot(u, p), u, p)
    return tangent_to(u)


cdef inline Vec3 vertex_of(const vt_shape* s, int k) noexcept nogil:
    return constant3(s.x + 3 * k)


cdef inline int extreme_vertex(const vt_shape* s, Vec3 m) noexcept nogil:
    # the vertex that is farthest along m, in the core frame
    return vt_farthest(s.count, s.stride, s.rows, &m.x)


cdef Vec3 ellipsoid_support(const Placed* P, Vec3 m, double* size) noexcept nogil:
    # D m/sqrt(m.D m) of an ellipsoid x.D^-1 x = 1, about its centre; size: the root
    cdef Vec3 a = unrotated(P, m), x = zero3(), axis
    cdef double share, root = 0.0
    cdef int k
    for k in range(3):
        axis = constant3(P.s.axes + 3 * k)
        share = P.s.half[k] * P.s.half[k] * dot(axis, a)
        root += share * dot(axis, a)
        x = axpy(share, axis, x)
    root = vt_sqrt(root)
    size[0] = root
    return rotated(P, scale(1.0 / root, x))


cdef Vec3 support(const Placed* P, Vec3 m, int* id) noexcept nogil:
    # the point that is farthest along m, without the radius about the shape; id: its vertex or, behind the vertices, its
    # rim
    cdef const vt_shape* s = P.s
    cdef double most = -INFINITY, value, root
    cdef Vec3 found = zero3(), x, e
    cdef int k
    id[0] = 0
    if s.kind == ELLIPSOID:
        return add(in_space(P, constant3(s.middle)), ellipsoid_support(P, m, &root))
    if s.count:
        id[0] = extreme_vertex(s, unrotated(P, m))
        found = in_space(P, vertex_of(s, id[0]))
        most = dot(found, m)
    if s.rims:
        e = scale(s.rim, across_axis(P.axis, m))
        for k in range(s.rims):
            x = add(P.rim[k], e)
            value = dot(x, m)
            if value > most:
                most, found, id[0] = value, x, s.count + k
    return found


cdef inline double extent(const Placed* P, Vec3 m) noexcept nogil:
    # h(m) of a unit vector; of a half-space along its normal, by a point of its plane
    cdef int id
    return dot(support(P, m, &id), m) + P.s.radius


# ---- the direction in which two features are farthest apart ---------------------------------------------------

cdef inline double own_radius(const Feature* f) noexcept nogil:
    return f.size if f.kind == VERTEX or f.kind == EDGE or f.kind == SIDE else 0.0


cdef inline bint is_line(const Feature* f) noexcept nogil:
    # whether it keeps n on a circle about e
    return f.kind == EDGE or f.kind == SIDE or f.kind == SLANT


cdef inline double sine_of(const Feature* f) noexcept nogil:
    return f.size if f.kind == SLANT else 0.0


cdef Vec3 feature_point(const Placed* P, const Feature* f, Vec3 p, Vec3 e, Vec3 m) noexcept nogil:
    # a point of the feature, or of its axis, at which the support is attained along m
    cdef double root
    if f.kind == RIM:
        return axpy(f.size, across_axis(e, m), p)
    if f.kind == ROUND:
        return add(p, ellipsoid_support(P, m, &root))
    return p


cdef Mat3 curvature(const Placed* P, const Feature* f, Vec3 e, Vec3 m) noexcept nogil:
    # the second derivative of the feature's support function at the unit vector m
    cdef Mat3 C = zero33(), D
    cdef Vec3 t, x, axis
    cdef double root, s
    cdef int k
    if f.kind == RIM:
        s = dot(e, m)
        root = vt_sqrt(max(1.0 - s * s, ALONG_AXIS * ALONG_AXIS))
        t = cross(e, across_axis(e, m))
        return outer(f.size / root, t, t, C)
    if f.kind == ROUND:
        # (D - x x^T)/root with the support x = D m/root
        x = ellipsoid_support(P, m, &root)
        for k in range(3):
            axis = rotated(P, constant3(P.s.axes + 3 * k))
            C = outer(P.s.half[k] * P.s.half[k] / root, axis, axis, C)
        return outer(-1.0 / root, x, x, C)
    return C


cdef inline bint is_flat_rim(const Placed* P, const Feature* f, Vec3 n) noexcept nogil:
    # whether the rim is that of a cap nearly across n: its nearest point moves fast
    cdef Vec3 t
    if f.kind != RIM:
        return False
    t = axpy(-dot(P.axis, n), P.axis, n)
    return dot(t, t) < FLATTISH * FLATTISH


cdef bint direction_near_axis(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb, Vec3 pa, Vec3 pb,
                              Vec3 e, double sign, Vec3* n) noexcept nogil:
    # the same for the rim of a (sign -1) or b (1), whose outward normal m = sign n is at an angle theta to its axis u,
    #     m = cos theta u + sin theta rho,    d = sign (pa - pb),    H of the other feature,
    #     (-m'.H m' - d.m) dtheta - sin theta (m'.H t) dphi = -d.m',
    #     -(m'.H t) dtheta - (d.rho + R + sin theta t.H t) dphi = -d.t,    m' = dm/dtheta,  t = u x rho,
    # which does not degenerate as theta tends to zero
    cdef bint of_a = sign < 0.0
    cdef const Placed* P = B if of_a else A
    cdef const Feature* f = fb if of_a else fa
    cdef Vec3 m = scale(sign, n[0]), u = e if dot(e, m) >= 0.0 else neg(e), axis = rotated(P, f.e)
    cdef Vec3 center = pa if of_a else pb, rho = across_axis(u, m), t, slope, d, H1, H2
    cdef Mat3 H
    cdef double R = fa.size if of_a else fb.size, sine, cosine, a, b, c, det, k1, k2
    cdef double theta = vt_atan2(dot(rho, m), dot(u, m))
    cdef int i
    for i in range(NEWTON_STEPS):
        vt_sincos(theta, &sine, &cosine)
        t = cross(u, rho)
        m, slope = axpy(cosine, u, scale(sine, rho)), axpy(-sine, u, scale(cosine, rho))
        # towards the rim from the other feature's support along -m
        d = sub(feature_point(P, f, pb if of_a else pa, axis, neg(m)), axpy(R, rho, center))
        H = curvature(P, f, axis, neg(m))
        H1, H2 = mul(H, slope), mul(H, t)
        a, b, c = dot(slope, H1) + dot(d, m), dot(slope, H2), dot(d, rho) + R + sine * dot(t, H2)
        det = a * c - sine * b * b
        if not (a > 0.0 and c > 0.0 and det > 0.0):
            return False
        k1, k2 = (dot(d, slope) * c - sine * b * dot(d, t)) / det, (dot(d, t) * a - b * dot(d, slope)) / det
        k1, k2 = clamp(k1, -0.875 * theta, 0.5), clamp(k2, -0.5, 0.5)
        theta += k1
        vt_sincos(k2, &sine, &cosine)
        rho = axpy(sine, t, scale(cosine, rho))
        rho = axpy(-dot(u, rho), u, rho)
        rho = scale(1.0 / vt_sqrt(dot(rho, rho)), rho)
        if theta < ALONG_AXIS:
            return False
        if fabs(k1) < 4e-16 and fabs(k2) * theta < 4e-16:
            break
    vt_sincos(theta, &sine, &cosine)
    n[0] = scale(sign, axpy(cosine, u, scale(sine, rho)))
    return True


cdef bint farthest_direction(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb, Vec3* n) noexcept nogil:
    # n at which sigma of two features is largest, from a first one; False where there is none
    cdef Vec3 pa = in_space(A, fa.p), pb = in_space(B, fb.p), ea, eb, c, t1, t2, d, one, two, a, b, best
    cdef Mat3 H
    cdef double s1, s2, g, h, k1, k2, value, least, psi, g1, g2, h11, h12, h22, det, reach, w
    cdef int i, j
    ea, eb = rotated(A, fa.e), rotated(B, fb.e)
    if fb.kind == FACE:
        n[0] = eb
        return True
    if fa.kind == FACE:
        n[0] = neg(ea)
        return True
    if is_line(fa) and is_line(fb):
        # ea.n = -s1, eb.n = s2, |n| = 1, on the side of the first n
        s1, s2, g, c = -sine_of(fa), sine_of(fb), dot(ea, eb), cross(ea, eb)
        det = dot(c, c)
        if det < PARALLEL_LINES:
            if fa.kind == EDGE and fb.kind == EDGE and not (fa.size > 0.0 or fb.size > 0.0):
                return False
        else:
            one = axpy((s1 - g * s2) / det, ea, scale((s2 - g * s1) / det, eb))
            h = 1.0 - dot(one, one)
            if h < 0.0:
                return False
            w = vt_sqrt(h / det)
            n[0] = axpy(w if dot(c, n[0]) >= 0.0 else -w, c, one)
            return True
    if is_line(fa) or is_line(fb):
        # n = s e + root(1 - s^2) (cos psi f1 + sin psi f2)
        if is_line(fb):
            one, s1 = eb, sine_of(fb)
        else:
            one, s1 = neg(ea), sine_of(fa)
        w = vt_sqrt(1.0 - s1 * s1)
        if (fa.kind == VERTEX or is_line(fa)) and (fb.kind == VERTEX or is_line(fb)):
            # sigma = c.n less constants
            c = sub(pa, pb)
            c = axpy(-dot(one, c), one, c)
            h = vt_sqrt(dot(c, c))
            if not h > 0.0:
                return False
            # across the line to round-off, however near the points are
            c = scale(1.0 / h, c)
            c = axpy(-dot(one, c), one, c)
            n[0] = axpy(s1, one, scale(w / vt_sqrt(dot(c, c)), c))
            return True
        t1 = across_axis(one, n[0])
        value, least, reach = 0.0, -INFINITY, INFINITY
        for i in range(NEWTON_STEPS):
            n[0] = axpy(s1, one, scale(w, t1))
            t2 = cross(one, t1)
            d = sub(feature_point(A, fa, pa, ea, neg(n[0])), feature_point(B, fb, pb, eb, n[0]))
            g = w * dot(d, t2)
            H = add3(curvature(A, fa, ea, neg(n[0])), curvature(B, fb, eb, n[0]))
            h = -w * w * dot(t2, mul(H, t2)) - w * dot(d, t1)
            # the angle that it has turned by, between those where sigma rises and falls: near the axis of a rim its
            # derivative changes within a small angle
            if g > 0.0:
                least = value
            else:
                reach = value
            psi = -g / h if h < 0.0 else 0.5 if g > 0.0 else -0.5
            psi = min(max(psi, -0.5), 0.5)
            if not least < value + psi < reach:
                psi = 0.5 * (least + reach) - value if isfinite(least) and isfinite(reach) else psi
            value += psi
            vt_sincos(psi, &g1, &g2)
            t1 = axpy(g1, t2, scale(g2, t1))
            t1 = scale(1.0 / vt_sqrt(dot(t1, t1)), t1)
            if fabs(psi) < 4e-16:
                break
        n[0] = axpy(s1, one, scale(w, t1))
        return h < 0.0
    c = sub(pa, pb)
    if fa.kind == VERTEX and fb.kind == VERTEX:
        h = vt_sqrt(dot(c, c))
        if not h > 0.0:
            return False
        n[0] = scale(1.0 / h, c)
        return True
    if is_flat_rim(A, fa, n[0]):
        return direction_near_axis(A, fa, B, fb, pa, pb, ea, -1.0, n)
    if is_flat_rim(B, fb, n[0]):
        return direction_near_axis(A, fa, B, fb, pa, pb, eb, 1.0, n)
    for i in range(NEWTON_STEPS):
        t1 = tangent_to(n[0])
        t2 = cross(n[0], t1)
        d = sub(feature_point(A, fa, pa, ea, neg(n[0])), feature_point(B, fb, pb, eb, n[0]))
        H = add3(curvature(A, fa, ea, neg(n[0])), curvature(B, fb, eb, n[0]))
        value = dot(d, n[0])
        g1, g2 = dot(d, t1), dot(d, t2)
        one, two = mul(H, t1), mul(H, t2)
        h11, h12, h22 = -dot(t1, one) - value, -dot(t1, two), -dot(t2, two) - value
        det = h11 * h22 - h12 * h12
        if h11 < 0.0 and det > 0.0:
            k1, k2 = (-g1 * h22 + g2 * h12) / det, (-g2 * h11 + g1 * h12) / det
        else:
            h = vt_sqrt(g1 * g1 + g2 * g2)
            if not h > 0.0:
                return False
            k1, k2 = 0.3 * g1 / h, 0.3 * g2 / h
        h = vt_sqrt(k1 * k1 + k2 * k2)
        if h > 0.5:
            k1, k2 = 0.5 * k1 / h, 0.5 * k2 / h
        n[0] = axpy(k1, t1, axpy(k2, t2, n[0]))
        n[0] = scale(1.0 / vt_sqrt(dot(n[0], n[0])), n[0])
        if h < 4e-16:
            break
    return det > 0.0 and h11 < 0.0


cdef bint touch_features(const Placed* A, const Feature* fa, const Placed* B, const Feature* fb, Vec3* n, double* gap,
                         Vec3* a, Vec3* b) noexcept nogil:
    # the direction of two features from a first one, their gap, and the points on both that are nearest to each other;
    # where there is no such direction, False, and these along the first one
    cdef Vec3 pa = in_space(A, fa.p), pb = in_space(B, fb.p), ea = rotated(A, fa.e), eb = rotated(B, fb.e), d
    cdef bint found = farthest_direction(A, fa, B, fb, n)
    cdef double ra = own_radius(fa), rb = own_radius(fb), g, det, x, y
    if fb.kind == FACE:
        a[0] = axpy(-ra, n[0], feature_point(A, fa, pa, ea, neg(n[0])))
        # like that of a plane of the world
        gap[0] = dot(n[0], a[0]) - (fb.size + (dot(n[0], B.o) if B.s.body >= 0 else 0.0))
        b[0] = axpy(-gap[0], n[0], a[0])
        return True
    if fa.kind == FACE:
        b[0] = axpy(rb, n[0], feature_point(B, fb, pb, eb, n[0]))
        gap[0] = -(fa.size + (dot(ea, A.o) if A.s.body >= 0 else 0.0)) - dot(n[0], b[0])
        a[0] = axpy(gap[0], n[0], b[0])
        return True
    a[0], b[0] = feature_point(A, fa, pa, ea, neg(n[0])), feature_point(B, fb, pb, eb, n[0])
    gap[0] = dot(n[0], sub(a[0], b[0])) - ra - rb
    # on lines, the points whose distance is along n
    if fa.kind == SLANT:
        ea = slant_line(fa, ea, neg(n[0]))
    if fb.kind == SLANT:
        eb = slant_line(fb, eb, n[0])
    d = sub(a[0], b[0])
    if is_line(fa) and is_line(fb):
        g = dot(ea, eb)
        det = 1.0 - g * g
        x, y = dot(ea, d), dot(eb, d)
        if det > PARALLEL_LINES:
            a[0] = axpy((g * y - x) / det, ea, a[0])
            b[0] = axpy((y - g * x) / det, eb, b[0])
        else:
            a[0] = axpy(-x, ea, a[0])
    elif is_line(fa):
        a[0] = axpy(-dot(ea, d), ea, a[0])
    elif is_line(fb):
        b[0] = axpy(dot(eb, d), eb, b[0])
    a[0], b[0] = axpy(-ra, n[0], a[0]), axpy(rb, n[0], b[0])
    return found


cdef inline Vec3 slant_line(const Feature* f, Vec3 u, Vec3 m) noexcept nogil:
    # the direction of the line from the apex on which h is attained along m: across m, in the plane of m and the axis
    return axpy(-vt_sqrt(1.0 - f.size * f.size), u, scale(f.size, across_axis(u, m)))
