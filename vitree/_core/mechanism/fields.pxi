# Points and spheres on a surface z = H(x, y) of uniform cubic B-splines, in any number of lanes.

cdef enum:
    FIELD_PASSES = 30       # most corrections of the nearest point of a surface z = H(x, y)

#: Spheres are asked for their distance from the surface below so many radii; farther away the distance along the normal
#: below the centre is their gap
cdef double NEAR_FIELD = 4.0
#: [spacings] a correction that leaves an error of its square
cdef double FIELD_STEP = 1e-8
#: Least determinant of a correction by the second derivatives
cdef double FIELD_CONVEX = 0.01


cdef inline void spline_weights(double u, int count, int* first, double* w, double* d) noexcept nogil:
    # of four coefficients, and their derivatives by u, in units of the spacing; linear beyond the grid
    cdef double inner = clamp(u, 0.0, count - 1.0), t, s
    cdef int k
    first[0] = min(<int>inner, count - 2)
    t = inner - first[0]
    s = 1.0 - t
    w[0], w[1] = s * s * s / 6.0, (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0
    w[2], w[3] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0, t * t * t / 6.0
    d[0], d[1], d[2], d[3] = -0.5 * s * s, 0.5 * (3.0 * t * t - 4.0 * t), -0.5 * (3.0 * s * s - 4.0 * s), 0.5 * t * t
    for k in range(4):
        w[k] += (u - inner) * d[k]


cdef inline void spline_bends(double u, int count, double* b) noexcept nogil:
    # the second derivatives of the weights
    cdef double t = u - min(<int>clamp(u, 0.0, count - 1.0), count - 2), inside = 1.0 if 0.0 <= t <= 1.0 else 0.0
    b[0], b[1], b[2], b[3] = inside * (1.0 - t), inside * (3.0 * t - 2.0), inside * (1.0 - 3.0 * t), inside * t


cdef void height_at(const vt_field* f, double x, double y, double* z, double* slope, double* bend) noexcept nogil:
    # H, dH and, unless it is NULL, its second derivatives by xx, xy, yy:
    #     H = sum_k wx_k s_k,    s_k = sum_l wy_l c_kl
    cdef double u = (x - f.origin[0]) / f.spacing[0], v = (y - f.origin[1]) / f.spacing[1], s, along, bends
    cdef const double* c
    cdef double wx[4]
    cdef double dx[4]
    cdef double bx[4]
    cdef double wy[4]
    cdef double dy[4]
    cdef double by[4]
    cdef int i, j, k
    spline_weights(u, f.nx, &i, wx, dx)
    spline_weights(v, f.ny, &j, wy, dy)
    if bend != NULL:
        spline_bends(u, f.nx, bx)
        spline_bends(v, f.ny, by)
        bend[0] = bend[1] = bend[2] = 0.0
    z[0] = f.origin[2]
    slope[0] = slope[1] = 0.0
    for k in range(4):
        c = f.c + (i + k) * (f.ny + 2) + j
        s = wy[0] * c[0] + wy[1] * c[1] + wy[2] * c[2] + wy[3] * c[3]
        along = dy[0] * c[0] + dy[1] * c[1] + dy[2] * c[2] + dy[3] * c[3]
        z[0] += wx[k] * s
        slope[0] += dx[k] * s
        slope[1] += wx[k] * along
        if bend != NULL:
            bends = by[0] * c[0] + by[1] * c[1] + by[2] * c[2] + by[3] * c[3]
            bend[0] += bx[k] * s
            bend[1] += dx[k] * along
            bend[2] += wx[k] * bends
    slope[0], slope[1] = slope[0] / f.spacing[0], slope[1] / f.spacing[1]
    if bend != NULL:
        bend[0], bend[1] = bend[0] / (f.spacing[0] * f.spacing[0]), bend[1] / (f.spacing[0] * f.spacing[1])
        bend[2] = bend[2] / (f.spacing[1] * f.spacing[1])


cdef inline void field_normal(const double* slope, double* n) noexcept nogil:
    cdef double size = 1.0 / sqrt(slope[0] * slope[0] + slope[1] * slope[1] + 1.0)
    n[0], n[1], n[2] = size * -slope[0], size * -slope[1], size


cdef void point_on_field(const vt_field* f, double radius, const double* c, double* p, double* n) noexcept nogil:
    # the point p of the surface for a ball about c, and the normal there: for a point, and far away, that below c; else the
    # nearest, by Newton's method from that below for
    #     (x - c_x) + (H - c_z) H_x = 0,    (y - c_y) + (H - c_z) H_y = 0,
    # or that below where it does not converge
    cdef double x = c[0], y = c[1], z, g, rx, ry, xx, xy, yy, det, sx, sy
    cdef double slope[2]
    cdef double bend[3]
    cdef int k
    height_at(f, x, y, &z, slope, bend if radius > 0.0 else NULL)
    p[0], p[1], p[2] = x, y, z
    field_normal(slope, n)
    if not (fabs((c[2] - z) * n[2]) <= NEAR_FIELD * radius and radius > 0.0):
        return
    for k in range(FIELD_PASSES):
        g = z - c[2]
        rx, ry = x - c[0] + g * slope[0], y - c[1] + g * slope[1]
        xx, xy, yy = 1.0 + slope[0] * slope[0], slope[0] * slope[1], 1.0 + slope[1] * slope[1]
        if xx + g * bend[0] > 0.0 and (
                (xx + g * bend[0]) * (yy + g * bend[2]) - (xy + g * bend[1]) * (xy + g * bend[1]) > FIELD_CONVEX):
            xx, xy, yy = xx + g * bend[0], xy + g * bend[1], yy + g * bend[2]
        det = xx * yy - xy * xy
        sx, sy = (xy * ry - yy * rx) / det, (xy * rx - xx * ry) / det
        x += sx
        y += sy
        height_at(f, x, y, &z, slope, bend)
        if fabs(sx) <= FIELD_STEP * f.spacing[0] and fabs(sy) <= FIELD_STEP * f.spacing[1]:
            p[0], p[1], p[2] = x, y, z
            field_normal(slope, n)
            return


cdef void touch_field(const vt_contact* e, const vt_field** field, const Pose* pose, Touch* x) noexcept nogil:
    # a point or a sphere of body a on the surface of each lane: n . (c - p) - R
    cdef Vec3 centre = placed(pose, e.body_a, e.point_a), on = centre
    cdef double c[3]
    cdef double p[3]
    cdef double n[3]
    cdef int l
    x.n = zero3()
    for l in range(VT_WIDTH):
        c[0], c[1], c[2] = vt_get(centre.x, l), vt_get(centre.y, l), vt_get(centre.z, l)
        point_on_field(field[l], e.radius_a, c, p, n)
        vt_put(&on.x, l, p[0])
        vt_put(&on.y, l, p[1])
        vt_put(&on.z, l, p[2])
        vt_put(&x.n.x, l, n[0])
        vt_put(&x.n.y, l, n[1])
        vt_put(&x.n.z, l, n[2])
    x.gap = dot(x.n, sub(centre, on)) - e.radius_a
    x.a = axpy(vt_set1(-e.radius_a), x.n, centre)
    x.b = axpy(-x.gap, x.n, x.a)
    x.arm_a, x.arm_b = sub(x.a, origin_of(pose, e.body_a)), sub(x.b, origin_of(pose, e.body_b))
