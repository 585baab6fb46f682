# Rows of contacts in the wrenches on bodies, in any number of lanes: a port's motion by coordinates, slips, and points of
# patches.

cdef struct TouchTree:      # coupled bodies, and their coordinates
    int body
    int body_end
    int v
    int v_end
    bint still              # does not move but for rounding errors


cdef inline void put_wrench(vt_real* to, Vec3 arm, Vec3 f, Vec3 couple) noexcept nogil:
    store3(to, add(cross(arm, f), couple))
    store3(to + 3, f)


cdef void body_ports(const vt_model* m, const Pose* pose, int body, const TouchTree* on, vt_real* rows) noexcept nogil:
    # six rows: the rotation of a body and the displacement of its origin by the coordinates of its tree
    cdef int i = body, k, width = on.v_end - on.v
    cdef const vt_body* b
    cdef Vec3 w, v, arm = zero3()
    memset(rows + on.v, 0, 6 * width * sizeof(vt_real))
    while i >= 0:
        b = &m.body[i]
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            v = add(v, cross(w, arm))
            rows[b.iv + k], rows[width + b.iv + k], rows[2 * width + b.iv + k] = w.x, w.y, w.z
            rows[3 * width + b.iv + k], rows[4 * width + b.iv + k], rows[5 * width + b.iv + k] = v.x, v.y, v.z
        arm = add(arm, pose[i].t)
        i = b.parent


cdef void slip_row(const Mat3* before, const Mat3* after, Vec3 arm, Vec3 n, vt_real radius, Vec3 t, vt_real* row) noexcept nogil:
    # the derivative of the displacement of `slid_end` along t by displacements at node 2, as a force at the material point
    # and, for a rolling sphere, at its centre and a couple, with the lever l = -radius n and the rotation vector rho:
    #     t.dc + (l x t).drho,    drho = dlog_rho dtheta
    cdef Vec3 lever = scale(-radius, n), couple = zero3()
    arm = mul(after[0], tmul(before[0], sub(arm, lever)))
    if not all_zero(radius):
        couple = dlog(neg(turn_between(before, after)), cross(lever, t))
    put_wrench(row, arm, t, couple)


# ---- patches -------------------------------------------------------------------------------------------


cdef struct PatchFrame:     # of the rows of a patch's points, what they have in common
    int patch               # or -1
    Vec3 centre             # from the origin of body a, at node 1 and at the rows' node
    Vec3 centre1
    Vec3 arm                # the same point of body b
    Vec3 turn_a             # minus the rotations of the bodies in the step
    Vec3 turn_b
    Vec3 n                  # a normal, and dlog of each of these along it
    Vec3 axis
    Vec3 other


cdef void place_patch(const vt_contact* e, Vec3 middle, const Pose* before, const Pose* pose, bint end,
                      PatchFrame* to) noexcept nogil:
    # middle: the centre in the axes of body a
    to.patch, to.n = e.patch, zero3()
    to.centre1, to.centre = mul(before[e.body_a].R, middle), mul(pose[e.body_a].R, middle)
    if end:
        to.turn_a = neg(turn_between(&before[e.body_a].R, &pose[e.body_a].R))
    if e.body_b >= 0:
        to.arm = sub(add(before[e.body_a].o, to.centre1), before[e.body_b].o)
        if end:
            to.arm = mul(pose[e.body_b].R, tmul(before[e.body_b].R, to.arm))
            to.turn_b = neg(turn_between(&before[e.body_b].R, &pose[e.body_b].R))


cdef void patch_rows(const vt_contact* e, const Touch* at, Vec3 point, Vec3 middle, vt_real turn, const Pose* before,
                     const Pose* pose, bint end, PatchFrame* on, int port_a, int port_b, TouchRow* to) noexcept nogil:
    # all points of a patch slide with its centre and rotate about it, by t.s = t.s_c + (n.rho)(t.(n x d)), d = (d1 + d2)/2
    # with the arm d from the centre. The derivative by displacements at node 2, as a force at the centre and a couple:
    #     t.dc + (t.(n x d))(n.drho) + (n.rho) t.(n x (dtheta x d2))/2,    drho = dlog_rho dtheta
    # Of a second body, s_c and rho are less those of its point that is at the centre at node 1.
    # at: the contact at node 1; point, middle: it and the centre in the axes of body a; turn: n.rho
    cdef Vec3 n = at.n, d2 = zero3(), d, t, couple
    cdef int j
    if on.patch != e.patch:
        place_patch(e, middle, before, pose, end, on)
    if not all_zero3(sub(on.n, n)):
        on.n = on.axis = on.other = n
        if end:
            on.axis = dlog(on.turn_a, n)
            if e.body_b >= 0:
                on.other = dlog(on.turn_b, n)
    d = sub(at.arm_a, on.centre1)
    if end:
        d2 = mul(pose[e.body_a].R, sub(point, middle))
        d = scale(vt_set1(0.5), add(d, d2))
    d = cross(n, d)
    for j in range(2):
        t = at.t1
        if j:
            t = at.t2
        couple = scale(dot(d, t), on.axis)
        if end:
            couple = axpy(0.5 * turn, cross(d2, cross(t, n)), couple)
        to[j].a, to[j].b, to[j].size = port_a, -1, 6
        put_wrench(to[j].on_a, on.centre, t, couple)
        if e.body_b >= 0:
            to[j].b = port_b
            put_wrench(to[j].on_b, on.arm, neg(t), scale(-dot(d, t), on.other))


cdef inline Vec3 patch_moved(const Pose* before, const Pose* after, Vec3 middle) noexcept nogil:
    # the displacement of its centre
    return sub(add(after.o, mul(after.R, middle)), add(before.o, mul(before.R, middle)))


cdef inline Vec3 patch_slip(const Pose* before, const Pose* after, Vec3 point, Vec3 middle, Vec3 n, vt_real turn,
                            Vec3 moved) noexcept nogil:
    # of a point: s_c + (n.rho) n x d
    cdef Vec3 s = mul(before.R, sub(point, middle))
    s = add(s, mul(after.R, sub(point, middle)))
    return axpy(0.5 * turn, cross(n, s), moved)
