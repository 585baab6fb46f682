# Holonomic constraints h(q) = 0 and their derivatives, one scalar equation each
# (Johnson & Murphey 2009, section IV-D). A row of Dh is the generalised force of the wrenches that the
# constraint puts on its bodies for a unit multiplier.

cdef inline void place(const Pose* pose, int body, const double* point, Mat3* R, Vec3* arm, Vec3* at) noexcept nogil:
    # axes of a body, the vector from its origin to a point of it, and the point in the world
    if body < 0:
        R[0] = identity3()
        arm[0] = constant3(point)
        at[0] = arm[0]
    else:
        R[0] = pose[body].R
        arm[0] = mul(R[0], constant3(point))
        at[0] = add(pose[body].o, arm[0])


cdef inline void add_wrench_row(const vt_model* m, const Pose* pose, int body, Vec3 n, Vec3 f,
                                vt_real* row) noexcept nogil:
    # row += generalised force of a wrench about the body's origin
    cdef int i = body, k
    cdef const vt_body* b
    cdef Vec3 w, v
    while i >= 0:
        b = &m.body[i]
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            row[b.iv + k] = row[b.iv + k] + dot(w, n) + dot(v, f)
        n = add(n, cross(pose[i].t, f))
        i = b.parent


cdef inline void coupling(const vt_constraint* e, const vt_real* q, vt_real* h, vt_real* row) noexcept nogil:
    # h = factor_a q_a + factor_b q_b - value
    h[0] = e.factor_a * q[e.iq_a] + e.factor_b * q[e.iq_b] - e.value
    if row != NULL:
        row[e.iv_a] = vt_set1(e.factor_a)
        row[e.iv_b] = vt_set1(e.factor_b)


cdef inline void profile(const vt_constraint* e, const vt_real* q, vt_real* h, vt_real* row) noexcept nogil:
    # h = q_a - table(q_b)
    cdef vt_real value, slope, curve
    table_values(&e.table, q[e.iq_b], &value, &slope, &curve)
    h[0] = q[e.iq_a] - value
    if row != NULL:
        row[e.iv_a] = vt_set1(1.0)
        row[e.iv_b] = -slope


cdef inline void between_bodies(const vt_model* m, const vt_constraint* e, const vt_real* q, const Pose* pose,
                                vt_real* h, vt_real* row) noexcept nogil:
    # AXES: d.x - value, d and x directions of the bodies. DISTANCE: |a - b| - value - factor_a q_a. POINTS: d.(a - b) -
    # value. Dh by the wrenches of a unit multiplier: the force d at both points, and the couple that turns d
    cdef Mat3 Ra, Rb
    cdef Vec3 arm_a, arm_b, a, b, x, d, couple
    cdef vt_real length
    place(pose, e.body_a, e.point_a, &Ra, &arm_a, &a)
    place(pose, e.body_b, e.point_b, &Rb, &arm_b, &b)
    if e.kind == AXES:
        d = mul(Ra, constant3(e.direction))
        x = mul(Rb, constant3(e.other))
        h[0] = dot(d, x) - e.value
        if row != NULL:
            couple = cross(d, x)
            add_wrench_row(m, pose, e.body_a, couple, zero3(), row)
            add_wrench_row(m, pose, e.body_b, neg(couple), zero3(), row)
        return
    x = sub(a, b)
    couple = zero3()
    if e.kind == DISTANCE:
        length = vt_sqrt(dot(x, x))
        h[0] = length - e.value
        if e.iv_a >= 0:
            h[0] = h[0] - e.factor_a * q[e.iq_a]
            if row != NULL:
                row[e.iv_a] = vt_set1(-e.factor_a)
        d = scale(vt_set1(1.0) / length, x)
    else:
        d = constant3(e.direction)
        if e.local:
            d = mul(Ra, d)
            couple = cross(d, x)
        h[0] = dot(d, x) - e.value
    if row != NULL:
        add_wrench_row(m, pose, e.body_a, add(cross(arm_a, d), couple), d, row)
        add_wrench_row(m, pose, e.body_b, cross(arm_b, neg(d)), neg(d), row)


cdef void constraints(const vt_model* m, const vt_constraint* list, int count, const vt_real* q,
                      Pose* pose, vt_real* h, vt_real* Dh) noexcept nogil:
    # h: (count,), Dh: (count, nv) by body displacements, zero where it is given; Dh may be NULL. Those written in Python
    # are filled in by who asked
    cdef int c
    cdef vt_real* row = NULL
    forward_kinematics(m, q, pose)
    for c in range(count):
        if Dh != NULL:
            row = Dh + c * m.nv
        if list[c].kind == USER:
            h[c] = vt_set1(0.0)
        elif list[c].kind == COUPLING:
            coupling(&list[c], q, &h[c], row)
        elif list[c].kind == PROFILE:
            profile(&list[c], q, &h[c], row)
        else:
            between_bodies(m, &list[c], q, pose, &h[c], row)
