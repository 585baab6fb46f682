# Responses of the mass matrix to the six unit wrenches on a body, or to unit forces of joints, a column each.

cdef struct ThreeSides:
    vt_columns x
    vt_columns y
    vt_columns z


cdef inline ThreeSides upper_sides(Columns a) noexcept nogil:
    cdef ThreeSides r
    r.x, r.y, r.z = a.nx, a.ny, a.nz
    return r


cdef inline ThreeSides lower_sides(Columns a) noexcept nogil:
    cdef ThreeSides r
    r.x, r.y, r.z = a.fx, a.fy, a.fz
    return r


cdef inline Columns joined_sides(ThreeSides n, ThreeSides f) noexcept nogil:
    cdef Columns g
    g.nx, g.ny, g.nz, g.fx, g.fy, g.fz = n.x, n.y, n.z, f.x, f.y, f.z
    return g


cdef inline ThreeSides times_sides(Mat3 A, ThreeSides a) noexcept nogil:
    cdef ThreeSides r
    r.x = A.x.x * a.x + A.y.x * a.y + A.z.x * a.z
    r.y = A.x.y * a.x + A.y.y * a.y + A.z.y * a.z
    r.z = A.x.z * a.x + A.y.z * a.y + A.z.z * a.z
    return r


cdef inline ThreeSides minus_sides(ThreeSides a, ThreeSides b) noexcept nogil:
    a.x = a.x - b.x
    a.y = a.y - b.y
    a.z = a.z - b.z
    return a


cdef void aba_answer_wrenches(const vt_model* m, const AbaBody* aba, int body, const int* path, int count,
                              SideBody* side) noexcept nogil:
    # leaves in `side` the rates S M^-1 S^T W, rotation and origin, of the bodies of a path in order, parents first, for
    # the unit wrenches W about the origin of a body on it; aba has the inertias at the same q
    cdef int i, k
    for k in range(count):
        side[path[k]].loaded = False
    memset(side[body].x, 0, sizeof(side[body].x))
    for k in range(6):
        side[body].x[k * (SIDES + 1)] = vt_set1(-1.0)
    side[body].loaded = True
    i = body
    while i >= 0:
        aba_sides_inwards(&m.body[i], &aba[i], &side[i], side_of_parent(m, i, side), False)
        i = m.body[i].parent
    for k in range(count):
        aba_sides_outwards(&m.body[path[k]], &aba[path[k]], &side[path[k]], side_of_parent(m, path[k], side))


cdef void aba_answer_joints(const vt_model* m, const AbaBody* aba, const SideJoints* joints, const int* path, int count,
                            SideBody* side) noexcept nogil:
    # the same for the unit force of each of some joints
    cdef int i, k
    for k in range(count):
        side[path[k]].loaded = False
    push_joints(joints, -1.0, side)
    for k in range(count - 1, -1, -1):
        i = path[k]
        if side[i].loaded:
            aba_sides_inwards(&m.body[i], &aba[i], &side[i], side_of_parent(m, i, side), is_pushed(joints, i))
    for k in range(count):
        aba_sides_outwards(&m.body[path[k]], &aba[path[k]], &side[path[k]], side_of_parent(m, path[k], side))


cdef inline SideBody* side_of_parent(const vt_model* m, int body, SideBody* side) noexcept nogil:
    cdef int up = m.body[body].parent
    if up < 0:
        return NULL
    return &side[up]


cdef inline void aba_sides_inwards(const vt_body* b, const AbaBody* s, SideBody* side, SideBody* up, bint pushed) noexcept nogil:
    # u = -D^-1 (S^T b - f), and the parent gets b + U u; of several coordinates u keeps b. pushed: -f of the joint is in u
    cdef Columns g
    cdef vt_columns u
    cdef Mat3 J
    cdef Vec3 w, v, t = s.t
    cdef int c
    if joint_multi(b):
        memcpy(side.u, side.x, sizeof(side.x))
    if up == NULL and joint_multi(b):
        return
    for c in range(side_groups()):
        g = take_sides(side.x + c * VT_COLUMNS)
        if not joint_multi(b):
            joint_column(b, s.R, 0, &w, &v)
            u = pair_sides(w, v, g)
            if pushed:
                u = u + vt_take(side.u + c * VT_COLUMNS)
            u = -s.Dinv * u
            vt_give(u, side.u + c * VT_COLUMNS)
            g = extend_sides(s.Un, s.Uf, u, g)
        elif joint_floats(b):
            g = no_columns()
        else:
            # n = 0, f - H^T J^-1 n
            J = full(sym_inverse(s.I.J))
            g = joined_sides(upper_sides(no_columns()), minus_sides(
                lower_sides(g), times_sides(transpose(s.I.H), times_sides(J, upper_sides(g)))))
        if up == NULL:
            continue
        g.nx = g.nx + (t.y * g.fz - t.z * g.fy)
        g.ny = g.ny + (t.z * g.fx - t.x * g.fz)
        g.nz = g.nz + (t.x * g.fy - t.y * g.fx)
        if up.loaded:
            g = sum_sides(take_sides(up.x + c * VT_COLUMNS), g)
        give_sides(g, up.x + c * VT_COLUMNS)
    if up != NULL:
        up.loaded = True


cdef inline void aba_sides_outwards(const vt_body* b, const AbaBody* s, SideBody* side, const SideBody* up) noexcept nogil:
    # u - D^-1 U^T x, with x the rates of the parent, and x + S u are the body's; see `joint_accelerate`. Of one coordinate u is
    # the rate of the joint
    cdef Columns g, given
    cdef ThreeSides n, f
    cdef vt_columns u
    cdef Mat3 J, M
    cdef Vec3 w, v
    cdef int c
    if joint_floats(b):
        M = full(sym_inverse(s.I.M))
        J = full(sym_inverse(subsym(s.I.J, congruence(s.I.H, sym_inverse(s.I.M)))))
    elif joint_multi(b):
        J = full(sym_inverse(s.I.J))
    else:
        joint_column(b, s.R, 0, &w, &v)
    for c in range(side_groups()):
        g = carry_sides(up.x + c * VT_COLUMNS, s.t) if up != NULL else no_columns()
        if not joint_multi(b):
            u = vt_take(side.u + c * VT_COLUMNS) if side.loaded else vt_nothing()
            u = u - s.Dinv * pair_sides(s.Un, s.Uf, g)
            vt_give(u, side.u + c * VT_COLUMNS)
            give_sides(extend_sides(w, v, u, g), side.x + c * VT_COLUMNS)
            continue
        given = take_sides(side.u + c * VT_COLUMNS) if side.loaded else no_columns()
        n, f = upper_sides(given), lower_sides(given)
        if not joint_floats(b):
            # J w = -n - H a
            f = lower_sides(g)
            n = minus_sides(minus_sides(upper_sides(no_columns()), n), times_sides(s.I.H, f))
            give_sides(joined_sides(times_sides(J, n), f), side.x + c * VT_COLUMNS)
            continue
        # (J - H M^-1 H^T) w = H M^-1 f - n,  M d = -f - H^T w
        n = times_sides(J, minus_sides(times_sides(s.I.H, times_sides(M, f)), n))
        f = times_sides(M, minus_sides(minus_sides(upper_sides(no_columns()), f), times_sides(transpose(s.I.H), n)))
        give_sides(joined_sides(n, f), side.x + c * VT_COLUMNS)
