# Holonomic constraints h(q) = 0 and their derivatives, one scalar equation each (Johnson & Murphey 2009, section IV-D).
# A row of Dh is the generalised force of the wrenches of the constraint on its bodies for a unit multiplier.

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


cdef struct Hold:           # forces of a constraint for a unit multiplier: wrenches about the origins of its bodies,
    Vec3 na                 # world axes, and forces on its coordinates
    Vec3 fa
    Vec3 nb
    Vec3 fb
    vt_real on_a
    vt_real on_b


cdef inline void coupling(const vt_constraint* e, const vt_real* q, vt_real* h, Hold* hold) noexcept nogil:
    # h = factor_a q_a + factor_b q_b - value
    h[0] = e.factor_a * q[e.iq_a] + e.factor_b * q[e.iq_b] - e.value
    hold.on_a = vt_set1(e.factor_a)
    hold.on_b = vt_set1(e.factor_b)


cdef inline double coupled_rate(const vt_constraint* e, const double* d) noexcept nogil:
    # Dh d
    return e.factor_a * d[e.iv_a] + (e.factor_b * d[e.iv_b] if e.iv_b >= 0 else 0.0)


cdef inline void profile(const vt_constraint* e, const vt_real* q, vt_real* h, Hold* hold) noexcept nogil:
    # h = q_a - table(q_b)
    cdef vt_real value, slope, curve
    table_values(&e.table, q[e.iq_b], &value, &slope, &curve)
    h[0] = q[e.iq_a] - value
    hold.on_a = vt_set1(1.0)
    hold.on_b = -slope


cdef inline void between_bodies(const vt_constraint* e, const vt_real* q, const Pose* pose, vt_real* h,
                                Hold* hold) noexcept nogil:
    # AXES: d.x - value, d and x directions of the bodies. DISTANCE: |a - b| - value - factor_a q_a. POINTS: d.(a - b) -
    # value. They act by the force d at both points, and by the couple due to the rotation of d
    cdef Mat3 Ra, Rb
    cdef Vec3 arm_a, arm_b, a, b, x, d, couple
    cdef vt_real length
    place(pose, e.body_a, e.point_a, &Ra, &arm_a, &a)
    place(pose, e.body_b, e.point_b, &Rb, &arm_b, &b)
    hold.on_a = vt_set1(0.0)
    hold.on_b = vt_set1(0.0)
    if e.kind == AXES:
        d = mul(Ra, constant3(e.direction))
        x = mul(Rb, constant3(e.other))
        h[0] = dot(d, x) - e.value
        hold.na = cross(d, x)
        hold.nb = neg(hold.na)
        return
    x = sub(a, b)
    couple = zero3()
    if e.kind == DISTANCE:
        length = vt_sqrt(dot(x, x))
        h[0] = length - e.value
        if e.iv_a >= 0:
            h[0] = h[0] - e.factor_a * q[e.iq_a]
            hold.on_a = vt_set1(-e.factor_a)
        d = scale(vt_set1(1.0) / length, x)
    else:
        d = constant3(e.direction)
        if e.local:
            d = mul(Ra, d)
            couple = cross(d, x)
        h[0] = dot(d, x) - e.value
    hold.fa = d
    hold.fb = neg(d)
    hold.na = add(cross(arm_a, d), couple)
    hold.nb = cross(arm_b, hold.fb)


cdef inline void hold_row(const vt_model* m, const vt_constraint* e, const Pose* pose, const Hold* hold,
                          vt_real* row) noexcept nogil:
    # row, zero before: the generalised force of a unit multiplier
    if e.iv_a >= 0:
        row[e.iv_a] = hold.on_a
    if e.iv_b >= 0:
        row[e.iv_b] = hold.on_b
    if e.kind == COUPLING or e.kind == PROFILE:
        return
    add_wrench_row(m, pose, e.body_a, hold.na, hold.fa, row)
    add_wrench_row(m, pose, e.body_b, hold.nb, hold.fb, row)


cdef void constraints(const vt_model* m, const vt_constraint* list, int count, const vt_real* q,
                      Pose* pose, vt_real* h, vt_real* Dh, Hold* hold, const int* apart) noexcept nogil:
    # h: (count,), Dh: (count, nv) by body displacements, zeroed by the caller; Dh may be NULL. hold: (count,), or NULL.
    # apart: (count,) marks the constraints without a row, or NULL. pose: poses for the rows, or NULL if all are linear
    # in q. The caller fills in those written in Python
    cdef int c
    cdef Hold own
    cdef Hold* at = &own
    if pose != NULL:
        forward_kinematics(m, q, pose)
    for c in range(count):
        if hold != NULL:
            at = &hold[c]
        if list[c].kind == USER:
            h[c] = vt_set1(0.0)
            continue
        at.na = at.fa = at.nb = at.fb = zero3()
        if list[c].kind == COUPLING:
            coupling(&list[c], q, &h[c], at)
        elif list[c].kind == PROFILE:
            profile(&list[c], q, &h[c], at)
        else:
            between_bodies(&list[c], q, pose, &h[c], at)
        if Dh != NULL and (apart == NULL or not apart[c]):
            hold_row(m, &list[c], pose, at, Dh + c * m.nv)
