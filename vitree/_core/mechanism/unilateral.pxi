# Unilateral constraints gap(q) >= 0 whose impulse is one number, with the row Dgap by displacements:
#     AT_LIMIT  sign (q - bound)
#     AT_LENGTH      bound - sum |x_k+1 - x_k|, the length of a path through points of bodies; the impulse is the tension
#     AT_SWING     bound - acos(a . R a), of a ball joint with the rotation R and an axis a in its frame
#     AT_ANGLE     bound - |log R|
#     AT_TWIST     sign (t - bound), t = 2 atan2(a . e, w) of its quaternion (e, w): R = (least rotation of a to R a)(t about a)
#     AT_SPEED     a limit of velocity: sign q, whose change over a step counts, see `admit`
# Dry friction (RUBS) has one number, too: its gap is the coordinate. One lane.

from libc.math cimport atan2


cdef inline bint on_coordinate(const vt_contact* e) noexcept nogil:
    # its row is constant, the sign at its coordinate
    return e.kind == AT_LIMIT or e.kind == RUBS or e.kind == AT_SPEED


cdef inline bint is_single(const vt_contact* e) noexcept nogil:
    # its impulse is a number
    return on_coordinate(e) or e.kind == AT_LENGTH or e.kind == AT_SWING or e.kind == AT_TWIST or e.kind == AT_ANGLE


cdef inline double squared(Vec3 a) noexcept nogil:
    return dot(a, a)


cdef inline Vec3 along_leg(const vt_contact* e, int k, const Pose* pose, double* length) noexcept nogil:
    # unit vector from a point of a rope to the next, and their distance; zero where they coincide
    cdef Vec3 d = sub(placed(pose, e.eyelet[k + 1].body, e.eyelet[k + 1].point),
                      placed(pose, e.eyelet[k].body, e.eyelet[k].point))
    length[0] = vt_sqrt(dot(d, d))
    return scale(1.0 / length[0], d) if length[0] > 0.0 else zero3()


cdef inline Vec3 rope_pull(const vt_contact* e, int k, const Pose* pose) noexcept nogil:
    # the force on a point of a rope by a unit of tension: along the next leg, and against the one before
    cdef double length
    cdef Vec3 f = zero3()
    if k + 1 < e.eyelets:
        f = along_leg(e, k, pose, &length)
    if k > 0:
        f = sub(f, along_leg(e, k - 1, pose, &length))
    return f


cdef inline double twist_angle(const vt_contact* e, const double* q) noexcept nogil:
    # between -pi and pi; q and -q are one rotation
    cdef double s = dot(constant3(e.axis_a), load3(q)), c = q[3]
    return 2.0 * (atan2(-s, -c) if c < 0.0 else atan2(s, c))


cdef inline Vec3 unswung(const vt_contact* e, const double* q) noexcept nogil:
    # R^T a
    cdef Vec3 a = constant3(e.axis_a), u = load3(q), t = scale(2.0, cross(u, a))
    return add(axpy(-q[3], t, a), cross(u, t))


cdef double single_gap(const vt_contact* e, const double* q, const Pose* pose) noexcept nogil:
    cdef double length, gap = e.bound
    cdef Vec3 a, x
    cdef int k
    if e.kind == AT_LENGTH:
        for k in range(e.eyelets - 1):
            along_leg(e, k, pose, &length)
            gap -= length
        return gap
    if e.kind == AT_SWING:
        a, x = constant3(e.axis_a), unswung(e, q + e.iq)
        gap -= atan2(vt_sqrt(squared(cross(a, x))), dot(a, x))
        return gap
    if e.kind == AT_ANGLE:
        a = load3(q + e.iq)
        return gap - 2.0 * atan2(vt_sqrt(squared(a)), fabs(q[e.iq + 3]))
    if e.kind == AT_TWIST:
        return e.sign * (twist_angle(e, q + e.iq) - e.bound)
    return e.sign * (q[e.iq] - (e.bound if e.kind == AT_LIMIT else 0.0))


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


cdef void single_row(const vt_model* m, const vt_contact* e, const double* q, const Pose* pose, double* row) noexcept nogil:
    # row, zero before: the derivative of the gap by displacements, which is the force of a unit impulse
    cdef const vt_eyelet* at
    cdef Vec3 f
    cdef int k
    if on_coordinate(e):
        row[e.iv] = e.sign
        return
    if e.kind != AT_LENGTH:
        store3(row + e.iv, ball_row(e, q + e.iq))
        return
    for k in range(e.eyelets):
        at = &e.eyelet[k]
        if at.body >= 0:
            f = rope_pull(e, k, pose)
            add_wrench_row(m, pose, at.body, cross(mul(pose[at.body].R, constant3(at.point)), f), f, row)


cdef double single_rate(const vt_contact* e, const double* q, const Pose* pose, const double* twist,
                        const double* v) noexcept nogil:
    # its rate for v and the twists of the bodies
    cdef const vt_eyelet* at
    cdef double s = 0.0
    cdef int k
    if on_coordinate(e):
        return e.sign * v[e.iv]
    if e.kind != AT_LENGTH:
        return dot(ball_row(e, q + e.iq), load3(v + e.iv))
    for k in range(e.eyelets):
        at = &e.eyelet[k]
        if at.body >= 0:
            s += dot(rope_pull(e, k, pose), add(load3(twist + 6 * at.body + 3), cross(
                load3(twist + 6 * at.body), mul(pose[at.body].R, constant3(at.point)))))
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
