# Bodies, and what they carry, about one point of each tree: where the origin of its first body with inertia is, fixed
# in space. World axes. Arms are sums of vectors between neighbours, so that a tree far from the world's origin, or from
# that of its root, loses no digits.
#
# A rigid inertia about a point is a mass m, a first moment h and J, and a twist (w, v) there has the momentum
#     f = m v - h x w,     n = J w + h x v.
# It moves with the twist (w, u) of its body: dh/dt = P = m u + w x h, the linear momentum, and J changes at the rate
# dJ. About a fixed point all of these are sums over the bodies that a joint carries. A column S of a joint is fixed to
# its body, so that dS/dt = V x S with V the body's twist.

cdef struct Column:         # of a coordinate
    Vec3 w
    Vec3 v

cdef struct Carried:        # a body, then with all that it carries
    double mass             # [kg]
    Vec3 h                  # [kg m]
    Sym3 J                  # [kg m^2]
    Vec3 P                  # [kg m/s] linear momentum
    Vec3 L                  # [kg m^2/s] angular momentum
    Sym3 dJ                 # [kg m^2/s]

cdef struct Tree:           # arrays by bodies and coordinates
    Pose* pose              # (nbody,)
    Vec3* arm               # (nbody,) from the point of its tree to the origin of the body
    Vec3* r                 # (nbody,) from the center of mass to that point
    Carried* x              # (nbody,)
    Column* twist           # (nbody,)
    Column* S               # (nv,)

cdef enum:                  # what is asked about bodies, beside m and h
    LINEAR = 1              # P
    ANGULAR = 2             # L
    INERTIA = 4             # J
    RATE = 8                # dJ


cdef inline Sym3 plus_transpose(Mat3 A) noexcept nogil:
    # A + A^T
    cdef Sym3 r
    r.xx, r.yy, r.zz = 2.0 * A.x.x, 2.0 * A.y.y, 2.0 * A.z.z
    r.xy, r.xz, r.yz = A.x.y + A.y.x, A.x.z + A.z.x, A.y.z + A.z.y
    return r


cdef inline Sym3 inertia_rate(Sym3 Ic, double mass, Vec3 c, Vec3 u, Vec3 w) noexcept nogil:
    # w^ Ic - Ic w^ + m (2 c.u 1 - c u^T - u c^T), of an inertia about the COM, which is at c and moves with u
    cdef Mat3 A = outer(-mass, c, u, cross_mat(w, full(Ic)))
    return plus_transpose(plus_diagonal(A, mass * dot(c, u)))


cdef inline Sym3 turned_inertia(const vt_axes* axes, const Mat3* R, Sym3 A) noexcept nogil:
    # R A R^T, by the columns of R A in registers times the rows of R
    cdef Mat3 full_A = full(A), RA
    cdef vt_axes columns = axes[0]
    cdef Vec3 row, x, y, z
    cdef Sym3 r
    vt_axes_turn(&columns, &full_A.x.x, &RA.x.x)
    row = vec3(R.x.x, R.y.x, R.z.x)
    vt_axes_times(&columns, &row.x, &x.x)
    row = vec3(R.x.y, R.y.y, R.z.y)
    vt_axes_times(&columns, &row.x, &y.x)
    row = vec3(R.x.z, R.y.z, R.z.z)
    vt_axes_times(&columns, &row.x, &z.x)
    r.xx, r.xy, r.xz, r.yy, r.yz, r.zz = x.x, x.y, x.z, y.y, y.z, z.z
    return r


cdef Tree tree_memory(const vt_model* m, char** room) noexcept nogil:
    cdef Tree t
    t.pose = <Pose*>piece(room, m.nbody * sizeof(Pose))
    t.arm = <Vec3*>piece(room, m.nbody * sizeof(Vec3))
    t.r = <Vec3*>piece(room, m.nbody * sizeof(Vec3))
    t.x = <Carried*>piece(room, m.nbody * sizeof(Carried))
    t.twist = <Column*>piece(room, m.nbody * sizeof(Column))
    t.S = <Column*>piece(room, m.nv * sizeof(Column))
    return t


cdef inline void body_columns(const vt_body* b, const Pose* pose, Vec3 arm, Column* S) noexcept nogil:
    # about the point of the tree
    cdef int k
    cdef Column* s
    if joint_rotates(b):
        S[b.iv].w = pose.R.z
        S[b.iv].v = cross(arm, pose.R.z)
        return
    for k in range(joint_nv(b)):
        s = &S[b.iv + k]
        joint_column(b, pose.R, k, &s.w, &s.v)
        s.v = add(s.v, cross(arm, s.w))


cdef inline void measure_arms(const vt_model* m, const int* middle, Tree* t) noexcept nogil:
    cdef int i, k
    for i in range(m.nbody):
        if m.body[i].parent < 0:
            t.arm[i] = zero3()
            if middle[i] == i:
                continue
            # from the middle up to the root
            k = middle[i]
            while k != i:
                t.arm[i] = sub(t.arm[i], t.pose[k].t)
                k = m.body[k].parent
        else:
            t.arm[i] = add(t.arm[m.body[i].parent], t.pose[i].t)


cdef inline void placed_tree(const vt_model* m, const MapJob* job, Tree* t, int asked) noexcept nogil:
    # root to leaves: poses, columns, twists and inertias of single bodies
    cdef int i, k
    cdef const vt_body* b
    cdef Carried* x
    cdef Column* twist
    cdef Vec3 c, u
    cdef Sym3 Ic
    cdef vt_axes axes
    forward_kinematics(m, job.q, t.pose)
    measure_arms(m, job.middle, t)
    for i in range(m.nbody):
        b = &m.body[i]
        x = &t.x[i]
        body_columns(b, &t.pose[i], t.arm[i], t.S)
        vt_axes_begin(&axes, &t.pose[i].R.x.x)
        c = constant3(b.com)
        vt_axes_times(&axes, &c.x, &u.x)
        c = add(t.arm[i], u)
        x.mass = b.mass
        x.h = scale(b.mass, c)
        if asked & LINEAR:
            twist = &t.twist[i]
            twist.w = zero3()
            twist.v = zero3()
            if b.parent >= 0:
                twist[0] = t.twist[b.parent]
            for k in range(b.iv, b.iv + joint_nv(b)):
                twist.w = axpy(job.v[k], t.S[k].w, twist.w)
                twist.v = axpy(job.v[k], t.S[k].v, twist.v)
            u = add(twist.v, cross(twist.w, c))
            x.P = scale(b.mass, u)
        if asked & INERTIA:
            Ic = turned_inertia(&axes, &t.pose[i].R, constant_sym(b.Ic))
            x.J = addsym(Ic, point_inertia(b.mass, c))
            if asked & ANGULAR:
                x.L = add(symmul(Ic, twist.w), cross(c, x.P))
            if asked & RATE:
                x.dJ = inertia_rate(Ic, b.mass, c, u, twist.w)


cdef inline void add_carried(Carried* up, const Carried* x, int asked) noexcept nogil:
    up.mass = up.mass + x.mass
    up.h = add(up.h, x.h)
    if asked & LINEAR:
        up.P = add(up.P, x.P)
    if asked & ANGULAR:
        up.L = add(up.L, x.L)
    if asked & INERTIA:
        up.J = addsym(up.J, x.J)
    if asked & RATE:
        up.dJ = addsym(up.dJ, x.dJ)


cdef inline void momentum_column(const Carried* x, const Column* S, Vec3* n, Vec3* f) noexcept nogil:
    # I S
    f[0] = sub(scale(x.mass, S.v), cross(x.h, S.w))
    n[0] = add(symmul(x.J, S.w), cross(x.h, S.v))


cdef inline Column column_rate(const Column* twist, const Column* S) noexcept nogil:
    # dS/dt
    cdef Column r
    r.w = cross(twist.w, S.w)
    r.v = add(cross(twist.w, S.v), cross(twist.v, S.w))
    return r


cdef inline void momentum_rate(const Carried* x, const Column* S, const Column* dS, Vec3* n, Vec3* f) noexcept nogil:
    # d(I S)/dt = I dS + dI S
    momentum_column(x, dS, n, f)
    n[0] = add(n[0], add(symmul(x.dJ, S.w), cross(x.P, S.v)))
    f[0] = sub(f[0], cross(x.P, S.w))
