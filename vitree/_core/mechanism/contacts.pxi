# Geometry of contacts: gaps, normals, the points in contact, and their slip in a step. One lane.

#: Sine of the angle to the plane below which a disk lies flat
cdef double FLAT = 1e-9


cdef inline bint stands(const vt_contact* e) noexcept nogil:
    # it acts in every step
    return e.kind == ROLLS or e.kind == RUBS


cdef void on_box(const vt_contact* e, const Pose* pose, Touch* x) noexcept nogil:
    # a sphere of body a on a box of body b, about c in its axes: the nearest point of the box; from within, that of the
    # nearest face
    cdef const double* h = e.half_b
    cdef Vec3 centre = placed(pose, e.body_a, e.point_a), at = placed(pose, e.body_b, e.point_b), away
    cdef Mat3 R = axes_of(pose, e.body_b), A
    cdef double c[3]
    cdef double near[3]
    cdef double depth, least = INFINITY
    cdef int k, face = 0
    A.x, A.y, A.z = (mul(R, constant3(e.axes_b)), mul(R, constant3(e.axes_b + 3)), mul(R, constant3(e.axes_b + 6)))
    store3(c, tmul(A, sub(centre, at)))
    for k in range(3):
        near[k] = clamp(c[k], -h[k], h[k])
        depth = h[k] - fabs(c[k])
        if depth < least:
            least, face = depth, k
    if least <= 0.0:
        between_centres(x, centre, add(at, mul(A, load3(near))), e.radius_a, 0.0)
        return
    near[face] = h[face] if c[face] >= 0.0 else -h[face]
    away = vec3(1.0 if face == 0 else 0.0, 1.0 if face == 1 else 0.0, 1.0 if face == 2 else 0.0)
    x.n = mul(A, scale(1.0 if c[face] >= 0.0 else -1.0, away))
    x.gap = -least - e.radius_a
    x.a, x.b = axpy(-e.radius_a, x.n, centre), add(at, mul(A, load3(near)))


cdef inline bint is_ball(const vt_contact* e) noexcept nogil:
    return e.axis_a[0] == 0.0 and e.axis_a[1] == 0.0 and e.axis_a[2] == 0.0


cdef inline Vec3 axle(const vt_contact* e, const Pose* pose) noexcept nogil:
    # the axis of a disk in the world
    return mul(axes_of(pose, e.body_a), constant3(e.axis_a))


cdef inline double steepness(Vec3 n, Vec3 a, Vec3* p) noexcept nogil:
    # of a disk about a on a plane across n: p = n - (n.a) a and its length, which vanishes where the disk lies flat
    p[0] = axpy(-dot(n, a), a, n)
    return vt_sqrt(dot(p[0], p[0]))


cdef void touch_wheel(const vt_contact* e, const Pose* pose, Touch* x) noexcept nogil:
    # the point of the rim that is nearest to the plane, c - R p/|p|; for a ball c - R n. t1 is the direction of rolling,
    # and t2 that of the axle on the plane
    cdef Vec3 c = placed(pose, e.body_a, e.point_a), a, p
    cdef double size
    x.n = constant3(e.normal)
    if is_ball(e):
        x.a = axpy(-e.radius_a, x.n, c)
        across(x)
    else:
        a = axle(e, pose)
        size = steepness(x.n, a, &p)
        if size < FLAT:
            p = vec3(1.0, 0.0, 0.0) if fabs(a.x) < 0.9 else vec3(0.0, 1.0, 0.0)
            p = axpy(-dot(p, a), a, p)
            size = vt_sqrt(dot(p, p))
        x.a = axpy(-e.radius_a / size, p, c)
        p = axpy(-dot(x.n, a), x.n, a)
        size = vt_sqrt(dot(p, p))
        if size < FLAT:
            across(x)
        else:
            x.t2 = scale(1.0 / size, p)
            x.t1 = cross(x.t2, x.n)
    x.gap = dot(x.n, x.a) - e.offset
    x.b = axpy(-x.gap, x.n, x.a)


cdef void touch_shapes(const vt_contact* e, const Facet* f, const Pose* pose, const Touch* before, Touch* x) noexcept nogil:
    # a facet of two shapes; without one nothing touches
    cdef Placed A, B
    if f.kind != NO_FACET:
        place_shape(e.shape_a, pose, &A)
        place_shape(e.shape_b, pose, &B)
        touch_placed(f, &A, &B, before, x)
        return
    x.gap, x.n, x.a, x.b = INFINITY, vec3(0.0, 0.0, 1.0), origin_of(pose, e.body_a), origin_of(pose, e.body_b)
    x.arm_a = x.arm_b = zero3()


cdef inline void touch_placed(const Facet* f, const Placed* A, const Placed* B, const Touch* before, Touch* x) noexcept nogil:
    # the same of placed shapes
    touch_facet(f, A, B, &before.n if before != NULL else NULL, &x.n, &x.gap, &x.a, &x.b)
    x.arm_a = sub(x.a, A.o) if A.s.body >= 0 else x.a
    x.arm_b = sub(x.b, B.o) if B.s.body >= 0 else x.b


cdef void touch_at(const vt_contact* e, const double* q, const Pose* pose, const Touch* before, const Facet* facet,
                   Touch* x) noexcept nogil:
    # the contact at q, except t1 and t2, which only rolling has; before: at the start of the step, or NULL there; facet:
    # of shapes. The gap of dry friction is the coordinate
    if is_single(e):
        x.gap = single_gap(e, q, pose)
        x.n = x.a = x.b = x.arm_a = x.arm_b = zero3()
        return
    if e.kind == ON_PLANE:
        touch_plane(e, pose, x)
        return
    if e.kind == ON_FIELD:
        touch_field(e, <const vt_field**>&e.field, pose, x)
        return
    if e.kind == SEGMENTS:
        touch_segments(e, pose, x)
        return
    if e.kind == ROLLS:
        touch_wheel(e, pose, x)
    elif e.kind == ON_FACET:
        touch_shapes(e, facet, pose, before, x)
        return
    else:
        on_box(e, pose, x)
    x.arm_a, x.arm_b = sub(x.a, origin_of(pose, e.body_a)), sub(x.b, origin_of(pose, e.body_b))


# The depth s(gap) of compliant contacts, max(0, -gap) with a parabola within the softness w of zero, and V = k int s:
#     gap >= w: s = 0;    |gap| < w: s = (w - gap)^2/(4 w), V = k (w - gap)^3/(12 w);
#     gap <= -w: s = -gap, V = k (gap^2/2 + w^2/6)


cdef inline double contact_depth(const vt_contact* e, double gap) noexcept nogil:
    if fabs(gap) < e.softness:
        return 0.25 * (e.softness - gap) * (e.softness - gap) / e.softness
    return max(0.0, -gap)


cdef inline double contact_depth_slope(const vt_contact* e, double gap) noexcept nogil:
    # ds/dgap
    if fabs(gap) < e.softness:
        return -0.5 * (e.softness - gap) / e.softness
    return -1.0 if gap < 0.0 else 0.0


cdef inline double contact_potential(const vt_contact* e, double gap) noexcept nogil:
    cdef double w = e.softness
    if fabs(gap) < w:
        return e.stiffness * (w - gap) * (w - gap) * (w - gap) / (12.0 * w)
    return e.stiffness * (0.5 * gap * gap + w * w / 6.0) if gap < 0.0 else 0.0


cdef inline double soft_impulse(const vt_contact* e, double h, double before, double after, double* by_after) noexcept nogil:
    # E = -h (V2 - V1)/(gap2 - gap1) = h k int_0^1 s(gap(t)) dt,  dE/dgap2 = h k int_0^1 t s'(gap(t)) dt,  along the
    # straight line between the gaps, by Simpson's rule, which is exact on each of the three pieces
    cdef double at[4]
    cdef double way = after - before, t, S = 0.0, by = 0.0, weight, gap
    cdef int k, j
    at[0], at[1], at[2], at[3] = 0.0, 0.0, 0.0, 1.0
    if way != 0.0:
        at[1] = min(max((-e.softness - before) / way, 0.0), 1.0)
        at[2] = min(max((e.softness - before) / way, 0.0), 1.0)
        if at[2] < at[1]:
            t = at[1]
            at[1], at[2] = at[2], t
    for k in range(3):
        for j in range(3 if at[k + 1] > at[k] else 0):
            t = at[k] + 0.5 * j * (at[k + 1] - at[k])
            gap = before + t * way
            weight = (4.0 if j == 1 else 1.0) * (at[k + 1] - at[k]) / 6.0
            S += weight * contact_depth(e, gap)
            by += weight * t * contact_depth_slope(e, gap)
    by_after[0] = h * e.stiffness * by
    return h * e.stiffness * S


cdef inline double spring_impulse(const vt_contact* e, double h, double before, double after, double* by_after) noexcept nogil:
    # E, and its derivative by gap2; by gap1 it is that of the two swapped
    cdef double k = e.stiffness
    cdef double x1 = min(before, 0.0), x2 = min(after, 0.0), way = after - before
    if before >= e.softness and after >= e.softness:
        by_after[0] = 0.0
        return 0.0
    if e.softness > 0.0:
        return soft_impulse(e, h, before, after, by_after)
    if x1 == before and x2 == after:
        by_after[0] = -0.5 * h * k
        return -0.5 * h * k * (before + after)
    by_after[0] = -0.5 * h * k * (2.0 * x2 * way - (x2 * x2 - x1 * x1)) / (way * way)
    return -0.5 * h * k * (x2 * x2 - x1 * x1) / way


cdef inline void spring_impulses(const vt_contact* e, double h, double before, double after, double* A, double* B,
                                 double* slope) noexcept nogil:
    # the impulses of a compliant contact over a step between two gaps: at its start and at its end; A' = dA/d(after) <
    # 0. With x = -s(gap), the discrete gradient E of V and the damper yield
    #     D = -d (x2 - x1),    N = max(0, E + D) = A + B,    B = min(N/2, E).
    # The work of both on a mass is V1 - V2, less the dissipation of the damper, plus (B^2 - A^2)/(2 m) <= 0: a damper
    # that is stronger than the spring acts at the start, and does not oscillate. A is negative where there is no
    # contact force
    cdef double by_after, E = spring_impulse(e, h, before, after, &by_after)
    cdef double D = e.damping * (contact_depth(e, after) - contact_depth(e, before))
    cdef double damps = e.damping * contact_depth_slope(e, after)
    if before >= e.softness and after >= e.softness:
        A[0], B[0], slope[0] = -0.25 * h * e.stiffness * (after - e.softness), 0.0, -0.25 * h * e.stiffness
        return
    if D > E:
        A[0], B[0], slope[0] = D, E, damps
    else:
        A[0], B[0], slope[0] = 0.5 * (E + D), max(0.0, 0.5 * (E + D)), 0.5 * (by_after + damps)
    slope[0] = min(slope[0], -1e-12 * h * e.stiffness)


cdef inline void spring_slopes(const vt_contact* e, double h, double before, double after, double* by) noexcept nogil:
    # by (4,): the derivatives of A by both gaps, and those of B
    cdef double D = e.damping * (contact_depth(e, after) - contact_depth(e, before)), E1, E2
    cdef double D1 = -e.damping * contact_depth_slope(e, before), D2 = e.damping * contact_depth_slope(e, after)
    cdef double E = spring_impulse(e, h, before, after, &E2)
    spring_impulse(e, h, after, before, &E1)
    if D > E:
        by[0], by[1], by[2], by[3] = D1, D2, E1, E2
    else:
        by[0] = by[2] = 0.5 * (E1 + D1)
        by[1] = by[3] = 0.5 * (E2 + D2)


def contact_potentials(CoreModel model, ContactList contacts, const double[:, ::1] q):
    """Energy of compliant contacts at rows of configurations, (n,) [J]."""
    cdef Scratch scratch = Scratch(model.m.nbody * sizeof(Pose))
    cdef Pose* pose = <Pose*>scratch.take(model.m.nbody * sizeof(Pose))
    cdef double[::1] out = np.zeros(q.shape[0])
    cdef Py_ssize_t row
    cdef Touch at
    cdef vt_contact surface
    cdef const vt_pair* p
    cdef Facet found[FOUND_FACETS]
    cdef Near near
    cdef Placed A, B
    cdef Vec3 n
    cdef int c, k
    require_size(q.shape[1], model.m.nq, "columns of q")
    for row in range(q.shape[0]):
        PyErr_CheckSignals()
        forward_kinematics(&model.m, &q[row, 0], pose)
        for k in range(contacts.pairs):
            p = &contacts.pair[k]
            if p.stiffness == INFINITY:
                continue
            surface.stiffness, surface.softness = p.stiffness, p.softness
            place_shape(p.shape_a, pose, &A)
            place_shape(p.shape_b, pose, &B)
            n = constant3(B.s.face) if B.s.kind == HALF_SPACE else first_direction(&A, &B)
            if separation(&A, &B, n) > p.softness:
                continue
            for c in range(facets_of(&A, &B, n, p.softness, &near, found)):
                out[row] += contact_potential(&surface, found[c].gap)
        for c in range(contacts.plain):
            if contacts.list[c].stiffness != INFINITY:
                touch_at(&contacts.list[c], &q[row, 0], pose, NULL, NULL, &at)
                out[row] += contact_potential(&contacts.list[c], at.gap)
    return np.asarray(out)


def late_impulses(ContactList contacts, const Py_ssize_t[::1] number, const double[::1] h, const double[::1] before,
                  const double[::1] after):
    """Normal impulses (n,) [N s] of compliant contacts at the ends of steps of h [s] between two gaps [m]."""
    cdef double[::1] out = np.zeros(number.shape[0])
    cdef const vt_pair* pair
    cdef vt_contact e
    cdef double A, slope
    cdef Py_ssize_t k
    for k in range(number.shape[0]):
        if not 0 <= number[k] < contacts.count:
            raise ValueError(f"contact {number[k]} of {contacts.count}")
        pair = contacts.pair_of(number[k])
        if pair != NULL:
            e.stiffness, e.damping, e.softness = pair.stiffness, pair.damping, pair.softness
        else:
            e = contacts.list[number[k] if number[k] < contacts.facets else number[k] - MOST_FACETS * contacts.pairs]
        if e.stiffness != INFINITY:
            spring_impulses(&e, h[k], before[k], after[k], &A, &out[k], &slope)
    return np.asarray(out)


cdef inline double halfway(const vt_contact* e, const Touch* x) noexcept nogil:
    # [m] from the surfaces of two bodies to the point at which friction acts on both; on the ground, the point is on
    # the body
    return 0.5 * x.gap if e.kind == SEGMENTS or e.kind == ON_BOX or (
        e.kind == ON_FACET and e.shape_b.kind != HALF_SPACE) else 0.0


# ---- disks and balls that roll on a plane ----------------------------------------------------------------------------

cdef Vec3 rolled(const vt_contact* e, const Touch* x1, const Touch* x2, const Pose* before, const Pose* after) noexcept nogil:
    # slip of a step: c2 - c1 + rho x (l1 + l2)/2, with l from the centre c to the plane and the rotation vector rho. It
    # is time-symmetric
    cdef Vec3 c1 = placed(before, e.body_a, e.point_a), c2 = placed(after, e.body_a, e.point_a)
    cdef Vec3 lever = scale(0.5, add(sub(x1.a, c1), sub(x2.a, c2)))
    return add(sub(c2, c1), cross(turn_between(&before[e.body_a].R, &after[e.body_a].R), lever))


cdef inline int way_at(const vt_contact* e, int j) noexcept nogil:
    # the direction of a row: 0 n, 1 t1, 2 t2
    cdef int k
    if e.kind != ROLLS:
        return j
    for k in range(3):
        j -= e.holds[k]
        if j < 0:
            return k
    return 2


cdef inline Vec3 way_of(const Touch* x, int way) noexcept nogil:
    return x.n if way == 0 else x.t1 if way == 1 else x.t2


cdef inline Vec3 way_between(const Touch* x1, const Touch* x2, int way) noexcept nogil:
    # the direction of a slip of rolling: it rotates with the axle
    return scale(0.5, add(way_of(x1, way), way_of(x2, way)))


cdef void rolled_row(const vt_contact* e, const Touch* x1, const Touch* x2, const Pose* before, const Pose* after, int way,
                     Vec3* force, Vec3* couple) noexcept nogil:
    # the derivative of t.slip by displacements at node 2, as a force at the centre and a couple: with the mean lever l,
    #     t.dc + (l x t).drho + (t x rho).dl2/2 + slip.dt2/2,    drho = dlog_rho dtheta,    da = dtheta x a,
    # and with e = l2/R, s = |n - (n.a) a|:
    #     dl2 = (R/s) (1 - e e^T)((n.da) a + (n.a) da),    dt2 = (1 - n n^T - t2 t2^T) da/s across, and dt2 x n along
    cdef Vec3 c1 = placed(before, e.body_a, e.point_a), c2 = placed(after, e.body_a, e.point_a)
    cdef Vec3 rho = turn_between(&before[e.body_a].R, &after[e.body_a].R)
    cdef Vec3 l2 = sub(x2.a, c2), lever = scale(0.5, add(sub(x1.a, c1), l2)), t = way_between(x1, x2, way), a, p, u, y
    cdef double size, square
    force[0] = t
    couple[0] = dlog(neg(rho), cross(lever, t))
    if is_ball(e):
        return
    a = axle(e, after)
    size = steepness(x2.n, a, &p)
    if size < FLAT:
        return
    u = cross(t, rho)
    square = dot(l2, l2)
    y = scale(dot(u, a), x2.n)
    if square > 0.0:
        u = axpy(-dot(u, l2) / square, l2, u)
    y = axpy(dot(x2.n, a), u, y)
    couple[0] = axpy(0.5 * e.radius_a / size, cross(a, y), couple[0])
    y = add(sub(c2, c1), cross(rho, lever))
    if way == 1:
        y = cross(x2.n, y)
    y = axpy(-dot(y, x2.t2), x2.t2, axpy(-dot(y, x2.n), x2.n, y))
    couple[0] = axpy(0.5 / size, cross(a, y), couple[0])
