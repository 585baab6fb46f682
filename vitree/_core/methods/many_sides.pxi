# Solutions of one operator for several right-hand sides at once: those of the six unit wrenches on a body, which are
# zero but on the way from the body to its root, or of the unit forces of up to six joints: a column each in one lane, one
# after the other in several.

cdef enum:
    SIDES = 8               # six columns, padded to whole vectors

cdef struct SideBody:       # of a body
    vt_real x[48]           # (6, SIDES) the wrench of its subtree, on the way to the root; then its displacement
    vt_real u[48]           # (6, SIDES) of its joint: D^-1 (-h r - S^T (n, f))
    bint loaded             # the wrenches act outboard of its joint


cdef struct SideJoints:     # of one coordinate each
    int count               # six at most
    int body[6]
    double sign[6]          # of their forces


cdef inline void push_joints(const SideJoints* joints, double size, SideBody* side) noexcept nogil:
    # forces of this size on joints, a column each
    cdef int i, k
    for k in range(joints.count):
        i = joints.body[k]
        memset(&side[i], 0, sizeof(SideBody))
        side[i].loaded = True
        side[i].u[k] = vt_set1(size * joints.sign[k])


cdef inline bint is_pushed(const SideJoints* joints, int body) noexcept nogil:
    cdef int k
    for k in range(joints.count):
        if joints.body[k] == body:
            return True
    return False


cdef inline int side_groups() noexcept nogil:
    # of columns that are abreast
    return (6 + VT_COLUMNS - 1) // VT_COLUMNS


cdef inline Columns take_sides(const vt_real* x) noexcept nogil:
    cdef Columns g
    g.nx = vt_take(x)
    g.ny = vt_take(x + SIDES)
    g.nz = vt_take(x + 2 * SIDES)
    g.fx = vt_take(x + 3 * SIDES)
    g.fy = vt_take(x + 4 * SIDES)
    g.fz = vt_take(x + 5 * SIDES)
    return g


cdef inline void give_sides(Columns g, vt_real* x) noexcept nogil:
    vt_give(g.nx, x)
    vt_give(g.ny, x + SIDES)
    vt_give(g.nz, x + 2 * SIDES)
    vt_give(g.fx, x + 3 * SIDES)
    vt_give(g.fy, x + 4 * SIDES)
    vt_give(g.fz, x + 5 * SIDES)


cdef inline Columns sides_of(Mat3 R, Mat3 T, Columns a) noexcept nogil:
    # (R n, T f)
    cdef Columns g
    g.nx = R.x.x * a.nx + R.y.x * a.ny + R.z.x * a.nz
    g.ny = R.x.y * a.nx + R.y.y * a.ny + R.z.y * a.nz
    g.nz = R.x.z * a.nx + R.y.z * a.ny + R.z.z * a.nz
    g.fx = T.x.x * a.fx + T.y.x * a.fy + T.z.x * a.fz
    g.fy = T.x.y * a.fx + T.y.y * a.fy + T.z.y * a.fz
    g.fz = T.x.z * a.fx + T.y.z * a.fy + T.z.z * a.fz
    return g


cdef inline Columns sum_sides(Columns a, Columns b) noexcept nogil:
    a.nx = a.nx + b.nx
    a.ny = a.ny + b.ny
    a.nz = a.nz + b.nz
    a.fx = a.fx + b.fx
    a.fy = a.fy + b.fy
    a.fz = a.fz + b.fz
    return a


cdef inline vt_columns pair_sides(Vec3 n, Vec3 f, Columns a) noexcept nogil:
    return (n.x * a.nx + n.y * a.ny + n.z * a.nz) + (f.x * a.fx + f.y * a.fy + f.z * a.fz)


cdef inline Columns extend_sides(Vec3 n, Vec3 f, vt_columns u, Columns a) noexcept nogil:
    # a + (n, f) u
    a.nx = a.nx + n.x * u
    a.ny = a.ny + n.y * u
    a.nz = a.nz + n.z * u
    a.fx = a.fx + f.x * u
    a.fy = a.fy + f.y * u
    a.fz = a.fz + f.z * u
    return a


cdef inline void spread_sides(Columns a, vt_columns* to) noexcept nogil:
    to[0], to[1], to[2], to[3], to[4], to[5] = a.nx, a.ny, a.nz, a.fx, a.fy, a.fz


cdef inline Columns gather_sides(const vt_columns* a) noexcept nogil:
    cdef Columns g
    g.nx, g.ny, g.nz, g.fx, g.fy, g.fz = a[0], a[1], a[2], a[3], a[4], a[5]
    return g


cdef inline void change_maps(const vt_body* b, const vt_real* y, Mat3* turn, Mat3* shift) noexcept nogil:
    # joint_increment_change as matrices, of turns and of translations
    cdef Vec3 w, v
    joint_expand(b, y, &w, &v)
    v = neg(w)
    turn[0] = mat3(dlog(v, vec3(vt_set1(1.0), vt_set1(0.0), vt_set1(0.0))), dlog(v, vec3(vt_set1(0.0), vt_set1(1.0), vt_set1(0.0))), dlog(v, vec3(vt_set1(0.0), vt_set1(0.0), vt_set1(1.0))))
    shift[0] = identity3()
    if joint_floats(b):
        shift[0] = quat_matrix(exp_quat(w))


# ---- the linear-time method ----------------------------------------------------------------------------


cdef void lt_answer_wrenches(const LinearTimeStep* step, int body, int first, int end, SideBody* side, int width,
                             vt_real* d) noexcept nogil:
    # d, six rows of `width`, of the bodies from first to end, for the unit wrenches about the origin of a body at node 1; follows
    # lt_turn_gains. Leaves in `side` the displacements at node 2
    cdef int i, k
    for i in range(first, end):
        side[i].loaded = False
    memset(side[body].x, 0, sizeof(side[body].x))
    for k in range(6):
        # as if the subtree felt h times the wrench
        side[body].x[k * (SIDES + 1)] = vt_set1(step.h)
    side[body].loaded = True
    i = body
    while i >= 0:
        lt_sides_inwards(step, i, side, False)
        i = step.m.body[i].parent
    for i in range(first, end):
        lt_sides_outwards(step, i, side, width, 6, d)


cdef void lt_answer_joints(const LinearTimeStep* step, const SideJoints* joints, int first, int end, SideBody* side, int width,
                           vt_real* d) noexcept nogil:
    # the same, a row for the unit force of each of some joints
    cdef int i
    for i in range(first, end):
        side[i].loaded = False
    push_joints(joints, step.h, side)
    for i in range(end - 1, first - 1, -1):
        if side[i].loaded:
            lt_sides_inwards(step, i, side, is_pushed(joints, i))
    for i in range(first, end):
        lt_sides_outwards(step, i, side, width, joints.count, d)


cdef inline void lt_sides_inwards(const LinearTimeStep* step, int i, SideBody* side, bint pushed) noexcept nogil:
    # u = -D^-1 (S^T F + h f), and the parent gets F + U u; pushed: h f of the joint, of one coordinate, is in u
    cdef const vt_body* b = &step.m.body[i]
    cdef const Solve* s = &step.solve[i]
    cdef Vec3 w, v, t = step.node[i].t
    cdef Columns g
    cdef vt_columns u
    cdef bint further = b.parent >= 0 and side[b.parent].loaded
    cdef int c
    if joint_multi(b):
        lt_sides_inwards_multi(step, i, side)
    else:
        joint_column(b, step.node[i].R, 0, &w, &v)
        for c in range(side_groups()):
            g = take_sides(side[i].x + c * VT_COLUMNS)
            u = pair_sides(w, v, g)
            if pushed:
                u = u + vt_take(side[i].u + c * VT_COLUMNS)
            u = -step.gains[i].Dinv * u
            vt_give(u, side[i].u + c * VT_COLUMNS)
            give_sides(extend_sides(s.Un, s.Uf, u, g), side[i].x + c * VT_COLUMNS)
    if b.parent < 0:
        return
    for c in range(side_groups()):
        g = take_sides(side[i].x + c * VT_COLUMNS)
        g.nx = g.nx + (t.y * g.fz - t.z * g.fy)
        g.ny = g.ny + (t.z * g.fx - t.x * g.fz)
        g.nz = g.nz + (t.x * g.fy - t.y * g.fx)
        if further:
            g = sum_sides(take_sides(side[b.parent].x + c * VT_COLUMNS), g)
        give_sides(g, side[b.parent].x + c * VT_COLUMNS)
    side[b.parent].loaded = True


cdef inline void lt_sides_inwards_multi(const LinearTimeStep* step, int i, SideBody* side) noexcept nogil:
    # of several coordinates, in the axes of the body at node 1
    cdef const vt_body* b = &step.m.body[i]
    cdef const MultiGains* m = &step.multi[b.multi]
    cdef Mat3 R = step.node[i].R, back = transpose(R)
    cdef Columns g
    cdef vt_columns a[6]
    cdef vt_columns u[6]
    cdef vt_columns e
    cdef int c, j, k
    for c in range(side_groups()):
        g = take_sides(side[i].x + c * VT_COLUMNS)
        spread_sides(sides_of(back, back, g), a)
        for k in range(b.nv):
            e = vt_nothing()
            for j in range(b.nv):
                e = e - m.Dinv[k * b.nv + j] * a[joint_order(b, j)]
            u[k] = e
            vt_give(e, side[i].u + k * SIDES + c * VT_COLUMNS)
        for k in range(6):
            e = vt_nothing()
            for j in range(b.nv):
                e = e + m.U[k * b.nv + j] * u[j]
            a[k] = e
        give_sides(sum_sides(g, sides_of(R, R, gather_sides(a))), side[i].x + c * VT_COLUMNS)


cdef inline void lt_sides_outwards(const LinearTimeStep* step, int i, SideBody* side, int width, int columns,
                                   vt_real* d) noexcept nogil:
    # d = u - W x, with x the displacement of the parent, and x + S2 d is the body's; of one coordinate u gets it
    cdef const vt_body* b = &step.m.body[i]
    cdef const Solve* s = &step.solve[i]
    cdef Vec3 w = s.z2, v = zero3(), t
    cdef Columns g
    cdef vt_columns u
    cdef int c, k
    if joint_multi(b):
        lt_sides_outwards_multi(step, i, side, width, columns, d)
        return
    if b.kind == PRISMATIC:
        w, v = zero3(), s.z2
    elif b.kind == HELICAL:
        v = scale(vt_set1(b.pitch), s.z2)
    for c in range(side_groups()):
        g = no_columns()
        u = vt_nothing()
        if side[i].loaded:
            u = vt_take(side[i].u + c * VT_COLUMNS)
        if b.parent >= 0:
            t = second_arm(step, i)
            g = carry_sides(side[b.parent].x + c * VT_COLUMNS, t)
            u = u - pair_sides(s.Wn, s.Wf, g)
        vt_give(u, side[i].u + c * VT_COLUMNS)
        give_sides(extend_sides(w, v, u, g), side[i].x + c * VT_COLUMNS)
    for k in range(columns):
        d[k * width + b.iv] = side[i].u[k]


cdef inline Columns carry_sides(const vt_real* x, Vec3 t) noexcept nogil:
    # displacements at a point t further
    cdef Columns g = take_sides(x)
    g.fx = g.fx + (g.ny * t.z - g.nz * t.y)
    g.fy = g.fy + (g.nz * t.x - g.nx * t.z)
    g.fz = g.fz + (g.nx * t.y - g.ny * t.x)
    return g


cdef inline void lt_sides_outwards_multi(const LinearTimeStep* step, int i, SideBody* side, int width, int columns,
                                         vt_real* d) noexcept nogil:
    # of several coordinates, in the axes of the body at node 2
    cdef const vt_body* b = &step.m.body[i]
    cdef const MultiGains* m = &step.multi[b.multi]
    cdef const Trial* trial = &step.trial[i]
    cdef Mat3 R1 = step.node[i].R, R = mat3(turned(trial, R1.x), turned(trial, R1.y), turned(trial, R1.z))
    cdef Mat3 back = transpose(R), turn, shift
    cdef Columns g
    cdef vt_columns a[6]
    cdef vt_columns u[6]
    cdef vt_columns e
    cdef vt_real own[48]
    cdef int c, j, k
    change_maps(b, step.increment, &turn, &shift)
    for c in range(side_groups()):
        g = no_columns()
        for k in range(b.nv):
            u[k] = vt_nothing()
            if side[i].loaded:
                u[k] = vt_take(side[i].u + k * SIDES + c * VT_COLUMNS)
        if b.parent >= 0:
            g = carry_sides(side[b.parent].x + c * VT_COLUMNS, second_arm(step, i))
            spread_sides(sides_of(back, back, g), a)
            for k in range(b.nv):
                e = u[k]
                for j in range(6):
                    e = e - m.W[6 * k + j] * a[j]
                u[k] = e
        spread_sides(no_columns(), a)
        for k in range(b.nv):
            a[joint_order(b, k)] = u[k]
        give_sides(sum_sides(g, sides_of(R, R, gather_sides(a))), side[i].x + c * VT_COLUMNS)
        spread_sides(sides_of(turn, shift, gather_sides(a)), a)
        for k in range(b.nv):
            vt_give(a[joint_order(b, k)], own + k * SIDES + c * VT_COLUMNS)
    for k in range(columns):
        for j in range(b.nv):
            d[k * width + b.iv + j] = own[j * SIDES + k]
