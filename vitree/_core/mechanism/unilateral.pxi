# Unilateral constraints gap(q) >= 0 whose impulse is one number, with the row Dgap by displacements:
#     AT_LIMIT  sign (q - bound)
#     AT_LENGTH      bound - the length of a path through points of bodies, and around pulleys on them; the impulse is the tension.
#                  Where it wraps around one, its length is stationary in the points where it comes and leaves: they count as fixed
#     AT_SWING     bound - acos(a . R a), of a ball joint with the rotation R and an axis a in its frame
#     AT_ANGLE     bound - |log R|
#     AT_TWIST     sign (t - bound), t = 2 atan2(a . e, w) of its quaternion (e, w): R = (least rotation of a to R a)(t about a)
#     AT_SPEED     a limit of velocity: sign q, whose change over a step counts, see `admit`
# Dry friction (RUBS) has one number, too: its gap is the coordinate. One lane.

from libc.math cimport M_PI


cdef inline bint on_coordinate(const vt_contact* e) noexcept nogil:
    # its row is constant, the sign at its coordinate
    return e.kind == AT_LIMIT or e.kind == RUBS or e.kind == AT_SPEED


cdef inline bint is_single(const vt_contact* e) noexcept nogil:
    # its impulse is a number
    return on_coordinate(e) or e.kind == AT_LENGTH or e.kind == AT_SWING or e.kind == AT_TWIST or e.kind == AT_ANGLE


cdef inline double squared(Vec3 a) noexcept nogil:
    return dot(a, a)


cdef struct Leg:            # a straight part of a rope
    int a                   # its ends: eyelets,
    int b
    Vec3 arm_a              # [m] where on them from the origins of their bodies, world axes
    Vec3 arm_b
    Vec3 u                  # unit, from a to b


cdef struct Arc:            # a rope around a circle, about the middle of a pulley, world axes
    Vec3 on                 # [m] where it comes to the pulley, and leaves it
    Vec3 off
    Vec3 u                  # unit, of the rope there
    Vec3 v
    double length           # [m] of all from point to point


cdef double arc_angle(double l, double x, double y, double r, double sense) noexcept nogil:
    # the angle of the arc from the point (l, 0) to (x, y), beyond a circle of radius r, in a sense; from -pi to pi. The
    # directions of the points where tangents touch are those of the points, turned by acos(r/l) towards each other
    cdef double m = vt_sqrt(x * x + y * y), s0 = vt_sqrt((l - r) * (l + r)) / l, c0 = r / l
    cdef double s1 = vt_sqrt((m - r) * (m + r)) / m, c1 = r / m
    cdef double s = s0 * c1 + c0 * s1, c = c0 * c1 - s0 * s1
    return vt_atan2(sense * y * c - x * s, x * c + sense * y * s)


cdef double sense_of(const vt_eyelet* e, double l, double x, double y, double sx, double sy) noexcept nogil:
    # in which sense a rope wraps around the circle between (l, 0) and (x, y): 1, -1, or 0 where it is free. On the side of
    # a point in the direction (sx, sy), as of MuJoCo 4, the path does not cross the ray opposite to it
    cdef double r = e.radius, dx = x - l, m = x * x + y * y, t, u, short = 1.0 if y >= 0.0 else -1.0
    if l < r or m < r * r:
        return 0.0
    if e.way == 1 or e.way == -1:
        # the points see each other where they are within half a turn, and their arc has no length
        return 0.0 if e.way * y >= 0.0 and arc_angle(l, x, y, r, e.way) <= 0.0 else e.way
    if e.way == BY_POINT:
        # the cross products of the direction with the points have other signs, and the line passes behind the middle
        t, u = -sy * l, sx * y - sy * x
        if (t > 0.0) != (u > 0.0) and (u - t) * (u * l * sx - t * (x * sx + y * sy)) < 0.0:
            return -short
    t = dx * dx + y * y
    t = min(max(-dx * l / t, 0.0), 1.0) if t > 0.0 else 0.0
    return 0.0 if (l + t * dx) * (l + t * dx) + t * t * y * y > r * r else short


cdef bint wrapped(const vt_eyelet* e, const Mat3* R, Vec3 p, Vec3 q, Arc* arc) noexcept nogil:
    # whether a rope between points p and q, from the middle of a pulley, wraps around it, and how: the shortest path on
    # that side, which is straight in the plane where the cylinder is unrolled
    cdef Vec3 z = mul(R[0], constant3(e.axis)), e1, e2, side
    cdef bint ball = squared(constant3(e.axis)) == 0.0
    cdef double l, x, y, way, angle, s0, c0, s1, c1, m, flat, h = 0.0, size, sx = 0.0, sy = 0.0
    if ball:
        z = cross(p, q)
        size = vt_sqrt(squared(z))
        if size <= 1e-15:           # through the middle, any plane is as good
            z = cross(p, vec3(1.0, 0.0, 0.0) if fabs(p.x) <= fabs(p.y) else vec3(0.0, 1.0, 0.0))
            size = vt_sqrt(squared(z))
        if size == 0.0:
            return False
        z = scale(1.0 / size, z)
        e1 = p
    else:
        h = dot(z, q) - dot(z, p)
        e1 = axpy(-dot(z, p), z, p)
    l = vt_sqrt(squared(e1))
    if l == 0.0:
        return False
    e1 = scale(1.0 / l, e1)
    e2 = cross(z, e1)
    x, y = dot(e1, q), dot(e2, q)
    if e.way == BY_POINT:
        side = mul(R[0], sub(constant3(e.side), constant3(e.point)))
        sx, sy = dot(e1, side), dot(e2, side)
        size = vt_sqrt(sx * sx + sy * sy)
        if size > 0.0:
            sx, sy = sx / size, sy / size
    way = sense_of(e, l, x, y, sx, sy)
    if way == 0.0:
        return False
    angle = arc_angle(l, x, y, e.radius, way)
    if angle < 0.0:
        angle = angle + 2.0 * M_PI if angle < -1e-12 else 0.0   # no more than a rounding error
    m = vt_sqrt(x * x + y * y)
    s0, c0 = vt_sqrt((l - e.radius) * (l + e.radius)) / l, e.radius / l
    s1, c1 = vt_sqrt((m - e.radius) * (m + e.radius)) / m, e.radius / m
    flat = s0 * l + e.radius * angle + s1 * m       # the length across the axis
    if flat <= 0.0:
        return False
    arc.length = vt_sqrt(flat * flat + h * h)
    # where tangents touch, and which way they go there
    arc.on = add(scale(c0, e1), scale(way * s0, e2))
    arc.off = add(scale((x * c1 + way * y * s1) / m, e1), scale((y * c1 - way * x * s1) / m, e2))
    arc.u = add(scale(way * flat / arc.length, cross(z, arc.on)), scale(h / arc.length, z))
    arc.v = add(scale(way * flat / arc.length, cross(z, arc.off)), scale(h / arc.length, z))
    size = 0.0 if ball else dot(z, p)
    arc.on = add(scale(e.radius, arc.on), scale(size + h * s0 * l / flat, z))
    arc.off = add(scale(e.radius, arc.off), scale(size + h * (flat - s1 * m) / flat, z))
    return True


cdef inline void eye(const vt_eyelet* e, const Pose* pose, Vec3* arm, Vec3* at) noexcept nogil:
    cdef Mat3 R
    place(pose, e.body, e.point, &R, arm, at)


cdef int legs_from(const vt_contact* e, int* k, const Pose* pose, Leg* leg, double* length) noexcept nogil:
    # the straight parts of a rope, one or two, from its point k to the next, which k is then; its length there is added
    cdef const vt_eyelet* a = &e.eyelet[k[0]]
    cdef const vt_eyelet* p = a + 1
    cdef const vt_eyelet* b = p + 1 if p.radius > 0.0 else p
    cdef Vec3 x, y, middle, arm
    cdef Mat3 R
    cdef Arc arc
    cdef double size
    eye(a, pose, &leg.arm_a, &x)
    eye(b, pose, &arm, &y)
    leg.a, k[0] = k[0], k[0] + (2 if p.radius > 0.0 else 1)
    if p.radius > 0.0:
        place(pose, p.body, p.point, &R, &leg[0].arm_b, &middle)
        if wrapped(p, &R, sub(x, middle), sub(y, middle), &arc):
            leg[0].b = leg[1].a = leg[0].a + 1
            leg[1].arm_a = add(leg[0].arm_b, arc.off)
            leg[0].arm_b = add(leg[0].arm_b, arc.on)
            leg[0].u, leg[1].u, leg[1].arm_b, leg[1].b = arc.u, arc.v, arm, k[0]
            length[0] += arc.length
            return 2
    leg.arm_b, leg.b = arm, k[0]
    x = sub(y, x)
    size = vt_sqrt(dot(x, x))
    leg.u = scale(1.0 / size, x) if size > 0.0 else zero3()
    length[0] += size
    return 1


cdef inline double twist_angle(const vt_contact* e, const double* q) noexcept nogil:
    # between -pi and pi; q and -q are one rotation
    cdef double s = dot(constant3(e.axis_a), load3(q)), c = q[3]
    return 2.0 * (vt_atan2(-s, -c) if c < 0.0 else vt_atan2(s, c))


cdef inline Vec3 unswung(const vt_contact* e, const double* q) noexcept nogil:
    # R^T a
    cdef Vec3 a = constant3(e.axis_a), u = load3(q), t = scale(2.0, cross(u, a))
    return add(axpy(-q[3], t, a), cross(u, t))


cdef double single_gap(const vt_contact* e, const double* q, const Pose* pose) noexcept nogil:
    cdef double length = 0.0, gap = e.bound
    cdef Leg leg[2]
    cdef Vec3 a, x
    cdef int k = 0
    if e.kind == AT_LENGTH:
        while k < e.eyelets - 1:
            legs_from(e, &k, pose, leg, &length)
        return gap - length
    if e.kind == AT_SWING:
        a, x = constant3(e.axis_a), unswung(e, q + e.iq)
        gap -= vt_atan2(vt_sqrt(squared(cross(a, x))), dot(a, x))
        return gap
    if e.kind == AT_ANGLE:
        a = load3(q + e.iq)
        return gap - 2.0 * vt_atan2(vt_sqrt(squared(a)), fabs(q[e.iq + 3]))
    if e.kind == AT_TWIST:
        return e.sign * (twist_angle(e, q + e.iq) - e.bound)
    return gap_of_coordinate(e, q[e.iq])


cdef inline Vec3 ball_row(const vt_contact* e, const double* q) noexcept nogil:
    # of AT_SWING and AT_TWIST by the angular velocity w of the joint in its moved frame. With x = R^T a, d(a.x) = w.(a x x); with
    # s = a.e, c = w of the quaternion, ds = (c a.w + a.(e x w))/2 and dc = -e.w/2
    cdef Vec3 a = constant3(e.axis_a), u, n
    cdef double s, c, size
    if e.kind == AT_SWING:
        n = cross(a, unswung(e, q))
        size = vt_sqrt(squared(n))
        return scale(1.0 / size, n) if size > 0.0 else zero3()
    u = load3(q)
    if e.kind == AT_ANGLE:
        size = vt_sqrt(squared(u))
        return scale((-1.0 if q[3] >= 0.0 else 1.0) / size, u) if size > 0.0 else zero3()
    s, c = dot(a, u), q[3]
    n = axpy(s, u, axpy(c * c, a, scale(c, cross(a, u))))
    size = s * s + c * c
    return scale(e.sign / size, n) if size > 0.0 else zero3()


cdef inline void add_pull(const vt_model* m, const Pose* pose, int body, Vec3 arm, Vec3 f, double* row) noexcept nogil:
    if body >= 0:
        add_wrench_row(m, pose, body, cross(arm, f), f, row)


cdef inline Vec3 speed_at(const double* twist, int body, Vec3 arm) noexcept nogil:
    if body < 0:
        return zero3()
    return add(load3(twist + 6 * body + 3), cross(load3(twist + 6 * body), arm))


cdef void single_row(const vt_model* m, const vt_contact* e, const double* q, const Pose* pose, double* row) noexcept nogil:
    # row, zero before: the derivative of the gap by displacements, which is the force of a unit impulse
    cdef Leg leg[2]
    cdef double length = 0.0
    cdef int k = 0, i
    if on_coordinate(e):
        row[e.iv] = e.sign
        return
    if e.kind != AT_LENGTH:
        store3(row + e.iv, ball_row(e, q + e.iq))
        return
    while k < e.eyelets - 1:
        for i in range(legs_from(e, &k, pose, leg, &length)):
            add_pull(m, pose, e.eyelet[leg[i].a].body, leg[i].arm_a, leg[i].u, row)
            add_pull(m, pose, e.eyelet[leg[i].b].body, leg[i].arm_b, scale(-1.0, leg[i].u), row)


cdef double single_rate(const vt_contact* e, const double* q, const Pose* pose, const double* twist,
                        const double* v) noexcept nogil:
    # its rate for v and the twists of the bodies
    cdef Leg leg[2]
    cdef double s = 0.0, length = 0.0
    cdef int k = 0, i
    if on_coordinate(e):
        return e.sign * v[e.iv]
    if e.kind != AT_LENGTH:
        return dot(ball_row(e, q + e.iq), load3(v + e.iv))
    while k < e.eyelets - 1:
        for i in range(legs_from(e, &k, pose, leg, &length)):
            s += dot(leg[i].u, sub(speed_at(twist, e.eyelet[leg[i].a].body, leg[i].arm_a),
                                   speed_at(twist, e.eyelet[leg[i].b].body, leg[i].arm_b)))
    return s


def single_rows(CoreModel model, ContactList contacts, const Py_ssize_t[::1] number, const double[:, ::1] q):
    """Gaps (n,) and their derivatives (n, nv) of contacts whose impulse is a number, at rows of configurations (n, nq)."""
    cdef Scratch scratch = Scratch(model.m.nbody * sizeof(Pose))
    cdef Pose* pose = <Pose*>scratch.take(model.m.nbody * sizeof(Pose))
    cdef double[:, ::1] out = np.zeros((number.shape[0], model.m.nv))
    cdef double[::1] gap = np.zeros(number.shape[0])
    cdef Py_ssize_t k
    cdef long c
    require_size(q.shape[1], model.m.nq, "columns of q")
    require_size(q.shape[0], number.shape[0], "rows of q")
    for k in range(number.shape[0]):
        c = number[k] - MOST_FACETS * contacts.pairs
        if not (contacts.facets <= c < contacts.plain and is_single(&contacts.list[c])):
            raise ValueError(f"contact {number[k]} has no row of its own")
        forward_kinematics(&model.m, &q[k, 0], pose)
        gap[k] = single_gap(&contacts.list[c], &q[k, 0], pose)
        single_row(&model.m, &contacts.list[c], &q[k, 0], pose, &out[k, 0])
    return np.asarray(gap), np.asarray(out)


def rope_legs(ContactList contacts, Py_ssize_t number, const double[:, :, ::1] poses):
    """The straight parts of a rope at poses (nbody, 3, 4) of the bodies: eyelets (n, 2), bodies (n, 2), arms (n, 2, 3) [m]
    of their ends from the bodies' origins in world axes, unit vectors (n, 3) from the first to the second, and its length."""
    cdef long c = number - MOST_FACETS * contacts.pairs
    cdef const vt_contact* e
    cdef Scratch scratch = Scratch(max(poses.shape[0], 1) * sizeof(Pose))
    cdef Pose* pose = <Pose*>scratch.take(max(poses.shape[0], 1) * sizeof(Pose))
    cdef Leg leg[2]
    cdef double length = 0.0
    cdef int k = 0, i, j
    if not (contacts.facets <= c < contacts.plain and contacts.list[c].kind == AT_LENGTH):
        raise ValueError(f"contact {number} is no rope")
    e = &contacts.list[c]
    for k in range(e.eyelets):
        if e.eyelet[k].body >= poses.shape[0]:
            raise ValueError("there are too few poses")
    for k in range(poses.shape[0]):
        pose[k].R = mat3(vec3(poses[k, 0, 0], poses[k, 1, 0], poses[k, 2, 0]), vec3(poses[k, 0, 1], poses[k, 1, 1], poses[k, 2, 1]),
                         vec3(poses[k, 0, 2], poses[k, 1, 2], poses[k, 2, 2]))
        pose[k].o = vec3(poses[k, 0, 3], poses[k, 1, 3], poses[k, 2, 3])
    ends, bodies, arms, units = [], [], [], []
    k = 0
    while k < e.eyelets - 1:
        for i in range(legs_from(e, &k, pose, leg, &length)):
            ends.append((leg[i].a, leg[i].b))
            bodies.append((e.eyelet[leg[i].a].body, e.eyelet[leg[i].b].body))
            arms.append([(v.x, v.y, v.z) for v in (leg[i].arm_a, leg[i].arm_b)])
            units.append((leg[i].u.x, leg[i].u.y, leg[i].u.z))
    return np.array(ends), np.array(bodies), np.array(arms), np.array(units), length
