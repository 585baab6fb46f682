# Points and spheres on a surface z = H(x, y) of uniform cubic B-splines, in any number of lanes, each with its own surface.

cdef enum:
    FIELD_PASSES = 30       # most corrections of the nearest point

#: Spheres are asked for their distance from the surface below so many radii; farther away the distance along the normal
#: below the centre is their gap
cdef double NEAR_FIELD = 4.0
#: [spacings] a correction that leaves an error of its square
cdef double FIELD_STEP = 1e-8
#: Least determinant of a correction by the second derivatives
cdef double FIELD_CONVEX = 0.01


cdef struct Spline:             # along one axis at u, in units of the spacing
    int first[MOST_LANES]       # of four coefficients
    vt_real w[4]                # their weights, and the derivatives of these by u; linear beyond the grid
    vt_real d[4]
    vt_real b[4]


cdef struct Surface:            # at a place
    vt_real z
    vt_real slope_x
    vt_real slope_y
    vt_real xx                  # second derivatives
    vt_real xy
    vt_real yy


cdef inline void spline_at(vt_real x, const double* origin, const double* spacing, const int* count, Spline* to) noexcept nogil:
    cdef vt_real u, inner, t, s, zero = vt_set1(0.0), one = vt_set1(1.0), inside, at = zero
    cdef double a, high
    cdef int k, l
    u = inner = x
    for l in range(VT_WIDTH):
        a, high = (vt_get(x, l) - origin[l]) / spacing[l], count[l] - 1.0
        vt_put(&u, l, a)
        a = high if a > high else a if a > 0.0 else 0.0
        to.first[l] = min(<int>a, count[l] - 2)
        vt_put(&inner, l, a)
        vt_put(&at, l, to.first[l])
    t = inner - at
    s = one - t
    to.w[0], to.w[1] = s * s * s / vt_set1(6.0), (3.0 * t * t * t - 6.0 * t * t + 4.0) / vt_set1(6.0)
    to.w[2], to.w[3] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / vt_set1(6.0), t * t * t / vt_set1(6.0)
    to.d[0], to.d[1] = -0.5 * s * s, 0.5 * (3.0 * t * t - 4.0 * t)
    to.d[2], to.d[3] = -0.5 * (3.0 * s * s - 4.0 * s), 0.5 * t * t
    for k in range(4):
        to.w[k] = to.w[k] + (u - inner) * to.d[k]
    t = u - at
    inside = vt_select(vt_le(zero, t), vt_select(vt_le(t, one), one, zero), zero)
    to.b[0], to.b[1], to.b[2], to.b[3] = inside * (1.0 - t), inside * (3.0 * t - 2.0), inside * (1.0 - 3.0 * t), inside * t


cdef void surface_at(const vt_field** f, vt_real x, vt_real y, bint bends, Surface* to) noexcept nogil:
    # H = sum_k wx_k s_k,    s_k = sum_l wy_l c_kl,    and derivatives, the second ones if they are asked for
    cdef Spline along, across
    cdef const double* row
    cdef vt_real c[4]
    cdef vt_real s, ds, bs, hx, hy
    cdef double origin[3][MOST_LANES]
    cdef double spacing[2][MOST_LANES]
    cdef int count[2][MOST_LANES]
    cdef int k, j, l
    hx = hy = x
    to.z = x
    for l in range(VT_WIDTH):
        for k in range(2):
            origin[k][l], spacing[k][l] = f[l].origin[k], f[l].spacing[k]
        count[0][l], count[1][l] = f[l].nx, f[l].ny
        vt_put(&to.z, l, f[l].origin[2])
        vt_put(&hx, l, f[l].spacing[0])
        vt_put(&hy, l, f[l].spacing[1])
    spline_at(x, origin[0], spacing[0], count[0], &along)
    spline_at(y, origin[1], spacing[1], count[1], &across)
    to.slope_x = to.slope_y = to.xx = to.xy = to.yy = vt_set1(0.0)
    for k in range(4):
        c[0] = c[1] = c[2] = c[3] = x
        for l in range(VT_WIDTH):
            row = f[l].c + (along.first[l] + k) * (f[l].ny + 2) + across.first[l]
            for j in range(4):
                vt_put(&c[j], l, row[j])
        s = across.w[0] * c[0] + across.w[1] * c[1] + across.w[2] * c[2] + across.w[3] * c[3]
        ds = across.d[0] * c[0] + across.d[1] * c[1] + across.d[2] * c[2] + across.d[3] * c[3]
        to.z = to.z + along.w[k] * s
        to.slope_x = to.slope_x + along.d[k] * s
        to.slope_y = to.slope_y + along.w[k] * ds
        if bends:
            bs = across.b[0] * c[0] + across.b[1] * c[1] + across.b[2] * c[2] + across.b[3] * c[3]
            to.xx = to.xx + along.b[k] * s
            to.xy = to.xy + along.d[k] * ds
            to.yy = to.yy + along.w[k] * bs
    to.slope_x, to.slope_y = to.slope_x / hx, to.slope_y / hy
    if bends:
        to.xx, to.xy, to.yy = to.xx / (hx * hx), to.xy / (hx * hy), to.yy / (hy * hy)


cdef inline Vec3 surface_normal(const Surface* at) noexcept nogil:
    cdef Vec3 n = vec3(-at.slope_x, -at.slope_y, vt_set1(1.0))
    return scale(vt_set1(1.0) / vt_sqrt(dot(n, n)), n)


cdef inline Vec3 select3(vt_mask some, Vec3 a, Vec3 b) noexcept nogil:
    return vec3(vt_select(some, a.x, b.x), vt_select(some, a.y, b.y), vt_select(some, a.z, b.z))


cdef void point_on_field(const vt_field** f, double radius, Vec3 c, Vec3* p, Vec3* n) noexcept nogil:
    # the point p of the surface for a ball about c, and the normal there: for a point, and far away, that below c; else the
    # nearest, by Newton's method from that below for
    #     (x - c_x) + (H - c_z) H_x = 0,    (y - c_y) + (H - c_z) H_y = 0,
    # or that below where it does not converge
    cdef Surface at
    cdef vt_real x = c.x, y = c.y, g, rx, ry, xx, xy, yy, gxx, gxy, gyy, det, sx, sy, least_x, least_y, zero = vt_set1(0.0)
    cdef vt_mask open, convex, done
    cdef int k, l
    surface_at(f, x, y, radius > 0.0, &at)
    p[0], n[0] = vec3(x, y, at.z), surface_normal(&at)
    if not radius > 0.0:
        return
    open = vt_le(vt_abs((c.z - at.z) * n.z), vt_set1(NEAR_FIELD * radius))
    least_x = least_y = zero
    for l in range(VT_WIDTH):
        vt_put(&least_x, l, FIELD_STEP * f[l].spacing[0])
        vt_put(&least_y, l, FIELD_STEP * f[l].spacing[1])
    for k in range(FIELD_PASSES):
        if not vt_any(open):
            return
        g = at.z - c.z
        rx, ry = x - c.x + g * at.slope_x, y - c.y + g * at.slope_y
        xx, xy, yy = 1.0 + at.slope_x * at.slope_x, at.slope_x * at.slope_y, 1.0 + at.slope_y * at.slope_y
        gxx, gxy, gyy = xx + g * at.xx, xy + g * at.xy, yy + g * at.yy
        convex = vt_lt(zero, gxx) & vt_lt(vt_set1(FIELD_CONVEX), gxx * gyy - gxy * gxy)
        xx, xy, yy = vt_select(convex, gxx, xx), vt_select(convex, gxy, xy), vt_select(convex, gyy, yy)
        det = xx * yy - xy * xy
        sx, sy = (xy * ry - yy * rx) / det, (xy * rx - xx * ry) / det
        x, y = vt_select(open, x + sx, x), vt_select(open, y + sy, y)
        surface_at(f, x, y, True, &at)
        done = open & vt_le(vt_abs(sx), least_x) & vt_le(vt_abs(sy), least_y)
        p[0] = select3(done, vec3(x, y, at.z), p[0])
        n[0] = select3(done, surface_normal(&at), n[0])
        open = open & ~done


cdef void touch_field(const vt_contact* e, const vt_field** field, const Pose* pose, Touch* x) noexcept nogil:
    # a point or a sphere of body a: n . (c - p) - R
    cdef Vec3 centre = placed(pose, e.body_a, e.point_a), on
    point_on_field(field, e.radius_a, centre, &on, &x.n)
    x.gap = dot(x.n, sub(centre, on)) - e.radius_a
    x.a = axpy(vt_set1(-e.radius_a), x.n, centre)
    x.b = axpy(-x.gap, x.n, x.a)
    x.arm_a, x.arm_b = sub(x.a, origin_of(pose, e.body_a)), sub(x.b, origin_of(pose, e.body_b))
