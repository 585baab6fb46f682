# Contacts in any number of lanes: what they are at a configuration, points and spheres on planes, spheres and capsules, and
# slip in a step.

cdef struct Touch:      # a contact at a configuration; world axes
    vt_real gap         # [m or rad]
    Vec3 n              # unit, from b to a
    Vec3 t1             # unit, across n
    Vec3 t2
    Vec3 a              # the material points in contact
    Vec3 b
    Vec3 arm_a          # from the bodies' origins to these points
    Vec3 arm_b


cdef inline void across(Touch* x) noexcept nogil:
    # t1 and t2
    x.t1 = tangent_to(x.n)
    x.t2 = cross(x.n, x.t1)


cdef inline bint on_ground(const vt_contact* e) noexcept nogil:
    # a point or a sphere
    return e.kind == ON_PLANE or e.kind == ON_FIELD


cdef inline void touch_plane(const vt_contact* e, const Pose* pose, Touch* x) noexcept nogil:
    # a point or a sphere of body a on a plane of the world
    cdef Vec3 centre = placed(pose, e.body_a, e.point_a)
    x.n = constant3(e.normal)
    x.gap = dot(x.n, centre) - e.offset - e.radius_a
    x.a = axpy(vt_set1(-e.radius_a), x.n, centre)
    x.b = axpy(-x.gap, x.n, x.a)
    x.arm_a, x.arm_b = sub(x.a, origin_of(pose, e.body_a)), sub(x.b, origin_of(pose, e.body_b))


cdef inline Vec3 nearest_on_segment(Vec3 x, Vec3 p, Vec3 d) noexcept nogil:
    # the point nearest to x of the segment from p along d; p if d is zero
    cdef vt_real square = dot(d, d), zero = vt_set1(0.0), one = vt_set1(1.0), t
    if all_zero(square):
        return p
    t = dot(d, sub(x, p)) / square
    t = vt_select(vt_lt(t, zero), zero, vt_select(vt_lt(one, t), one, t))
    return axpy(vt_select(vt_lt(zero, square), t, zero), d, p)


cdef inline void between_centres(Touch* x, Vec3 a, Vec3 b, double radius_a, double radius_b) noexcept nogil:
    # of two spheres
    cdef Vec3 d = sub(a, b)
    cdef vt_real zero = vt_set1(0.0), length = vt_sqrt(dot(d, d))
    cdef vt_mask apart = vt_lt(zero, length)
    x.gap = length - radius_a - radius_b
    d = scale(vt_set1(1.0) / length, d)
    x.n = vec3(vt_select(apart, d.x, zero), vt_select(apart, d.y, zero), vt_select(apart, d.z, vt_set1(1.0)))
    x.a = axpy(vt_set1(-radius_a), x.n, a)
    x.b = axpy(vt_set1(radius_b), x.n, b)


cdef inline void touch_segments(const vt_contact* e, const Pose* pose, Touch* x) noexcept nogil:
    # |a - b| - R_a - R_b, where one of the two segments is a point
    cdef Vec3 from_a = placed(pose, e.body_a, e.point_a), from_b = placed(pose, e.body_b, e.point_b)
    between_centres(x, nearest_on_segment(from_b, from_a, sub(placed(pose, e.body_a, e.end_a), from_a)),
                    nearest_on_segment(from_a, from_b, sub(placed(pose, e.body_b, e.end_b), from_b)), e.radius_a, e.radius_b)
    x.arm_a, x.arm_b = sub(x.a, origin_of(pose, e.body_a)), sub(x.b, origin_of(pose, e.body_b))


cdef inline bint all_zero3(Vec3 a) noexcept nogil:
    return all_zero(a.x) and all_zero(a.y) and all_zero(a.z)


cdef inline Vec3 turn_between(const Mat3* A, const Mat3* B) noexcept nogil:
    # the rotation vector that takes axes A to axes B, less than half a turn
    cdef Mat3 D = mul3(B[0], transpose(A[0]))
    cdef Vec3 s = vec3(0.5 * (D.y.z - D.z.y), 0.5 * (D.z.x - D.x.z), 0.5 * (D.x.y - D.y.x))
    cdef vt_real sine = vt_sqrt(dot(s, s)), cosine = 0.5 * (D.x.x + D.y.y + D.z.z - 1.0)
    cdef vt_mask small = vt_lt(sine, vt_set1(1e-8))
    if vt_all(small):
        return s
    return scale(vt_select(small, vt_set1(1.0), vt_atan2(sine, cosine) / sine), s)


cdef inline vt_real rolling_lever(const vt_contact* e, double radius, vt_real more) noexcept nogil:
    # [m] from the centre of a rolling ball to that point; zero for a point, and for small balls of a patch
    if radius > 0.0 and e.patch < 0:
        return radius + more
    return vt_set1(0.0)


cdef inline vt_real gap_of_coordinate(const vt_contact* e, vt_real q) noexcept nogil:
    # of a limit, or a joint with dry friction
    return e.sign * (q - (e.bound if e.kind == AT_LIMIT else 0.0))


cdef Vec3 slid_end(const Pose* before, const Pose* after, int body, Vec3 at, Vec3 lever) noexcept nogil:
    # displacement of the material point of a body at a point; for a rolling ball, that of its centre and rotation x
    # (lever from the centre)
    cdef Mat3 R1, R2
    cdef Vec3 arm, moved
    if body < 0:
        return zero3()
    R1, R2 = before[body].R, after[body].R
    arm = sub(sub(at, lever), before[body].o)
    moved = sub(sub(add(after[body].o, mul(R2, tmul(R1, arm))), before[body].o), arm)
    if all_zero3(lever):
        return moved
    return add(moved, cross(turn_between(&R1, &R2), lever))


cdef Vec3 slid(const vt_contact* e, const Touch* x, const Pose* before, const Pose* after) noexcept nogil:
    # displacement of a relative to b in a step
    cdef vt_real more = halfway(e, x)
    return sub(slid_end(before, after, e.body_a, axpy(-more, x.n, x.a), scale(-rolling_lever(e, e.radius_a, more), x.n)),
               slid_end(before, after, e.body_b, axpy(more, x.n, x.b), scale(rolling_lever(e, e.radius_b, more), x.n)))
