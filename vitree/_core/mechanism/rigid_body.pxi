# Featherstone's recursions (Featherstone 2008), in three-vectors.
#
# Accelerations are classical ones of the body's origin, so no linear velocities are needed
# (Luh, Walker & Paul 1980). RNEA works in body axes; everything else in world axes with each body's
# own origin as reference, where a transform is a shift by t, the vector from the parent's origin.

# ---- forward kinematics -------------------------------------------------------------------------

cdef double NO_GRAVITY[3]       # zeros

cdef struct Pose:
    Mat3 R              # core frame in world axes; R.z is the joint's axis
    Vec3 o              # its origin, world
    Vec3 t              # from the parent's origin, world


cdef inline Vec3 origin_of(const Pose* pose, int body) noexcept nogil:
    if body >= 0:
        return pose[body].o
    return zero3()


cdef inline Mat3 axes_of(const Pose* pose, int body) noexcept nogil:
    if body >= 0:
        return pose[body].R
    return identity3()


cdef inline Vec3 placed(const Pose* pose, int body, const double* point) noexcept nogil:
    # a point of a body in the world
    return add(origin_of(pose, body), mul(axes_of(pose, body), constant3(point)))


cdef inline void place_body(const vt_body* b, const vt_real* q, const Mat3* up, Mat3* R, Vec3* t) noexcept nogil:
    # axes of a body and the vector from its parent's origin, R_WB = R_WP R_PB and t = R_WP p, from the parent's axes
    # (NULL: the world)
    joint_pose(b, q, R, t)
    if up != NULL:
        R[0] = mul3(up[0], R[0])
        t[0] = mul(up[0], t[0])


cdef inline void pose_body(const vt_model* m, int i, const vt_real* q, vt_axes* axes, int at, Pose* x) noexcept nogil:
    # the same, and its pose in the world; axes: those of body `at` (-1: none), of this one afterwards
    cdef const vt_body* b = &m.body[i]
    cdef Mat3 R
    cdef Vec3 t
    joint_pose(b, q, &R, &t)
    if b.parent < 0:
        x[i].R = R
        x[i].t = t
        x[i].o = t
        vt_axes_begin(axes, &R.x.x)
        return
    if at != b.parent:
        vt_axes_begin(axes, &x[b.parent].R.x.x)
    vt_axes_times(axes, &t.x, &x[i].t.x)
    vt_axes_turn(axes, &R.x.x, &x[i].R.x.x)
    x[i].o = add(x[b.parent].o, x[i].t)


cdef void forward_kinematics(const vt_model* m, const vt_real* q, Pose* x) noexcept nogil:
    cdef int i
    cdef vt_axes axes
    for i in range(m.nbody):
        pose_body(m, i, q, &axes, i - 1, x)


# ---- inverse dynamics ---------------------------------------------------------------------------

cdef struct RneaBody:
    Mat3 R              # in the parent's axes
    Vec3 p
    Vec3 w              # body axes from here on
    Vec3 dw
    Vec3 a
    Vec3 n
    Vec3 f


cdef void rnea(const vt_model* m, const double* gravity, const vt_real* q, const vt_real* v,
               const vt_real* a, vt_real* tau, RneaBody* x) noexcept nogil:
    # tau = M(q) a + c(q, v) + gravity; damping is not in it
    rnea_motion(m, gravity, q, v, a, x)
    rnea_forces(m, tau, x)
    if m.rotors:
        add_armature(m, vt_set1(1.0), a, tau)


cdef inline void add_armature(const vt_model* m, vt_real s, const vt_real* rate, vt_real* out) noexcept nogil:
    # out += s armature rate: a rotor rotates with its joint only; the parent body sees it without the gear
    cdef int k
    for k in range(m.nv):
        if m.armature[k] != 0.0:
            out[k] = out[k] + s * armature_of(m, k) * rate[k]


cdef inline void rnea_motion(const vt_model* m, const double* gravity, const vt_real* q, const vt_real* v,
                             const vt_real* a, RneaBody* x) noexcept nogil:
    # root to leaves: each body's motion from its parent's, and the wrench on it
    cdef int i
    cdef const vt_body* b
    cdef RneaBody* s
    cdef RneaBody* up
    cdef Vec3 w, dw, acc, h
    cdef Sym3 I
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        joint_pose(b, q, &s.R, &s.p)

        # due to the parent: w and dw are the same, a + dw x p + w x (w x p); gravity accelerates upwards
        if b.parent < 0:
            w = zero3()
            dw = zero3()
            acc = neg(tmul(s.R, gravity_from(m, gravity)))
        else:
            up = &x[b.parent]
            acc = add(up.a, add(cross(up.dw, s.p), cross(up.w, cross(up.w, s.p))))
            w = tmul(s.R, up.w)
            dw = tmul(s.R, up.dw)
            acc = tmul(s.R, acc)

        joint_add_motion(b, v, a, &w, &dw, &acc)
        s.w = w
        s.dw = dw
        s.a = acc

        # Newton and Euler about the origin: f = m a + dw x h + w x (w x h), n = I dw + w x I w + h x a
        I = inertia_of(b)
        h = moment_of(b)
        s.f = add(scale(mass_of(b), acc), add(cross(dw, h), cross(w, cross(w, h))))
        s.n = add(add(symmul(I, dw), cross(w, symmul(I, w))), cross(h, acc))


cdef inline void rnea_forces(const vt_model* m, vt_real* tau, RneaBody* x) noexcept nogil:
    # leaves to root: tau = S^T (n, f), and each wrench is passed to the parent
    cdef int i
    cdef const vt_body* b
    cdef RneaBody* s
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        joint_project_own(b, s.n, s.f, tau)
        if b.parent >= 0:
            hand_down(mul(s.R, s.n), mul(s.R, s.f), s.p, &x[b.parent].n, &x[b.parent].f)


# ---- forward dynamics ---------------------------------------------------------------------------

cdef struct AbaBody:
    Mat3 R              # world axes throughout
    Vec3 t
    Vec3 w
    Vec3 zw             # contribution of the motion to the angular and linear acceleration
    Vec3 za
    Articulated I
    Vec3 Un             # I S of one coordinate
    Vec3 Uf
    vt_real u           # tau - S^T bias
    vt_real Dinv        # 1/(S^T I S + armature), zero where the joint is locked
    Vec3 dw
    Vec3 a


cdef inline void hand_down_inertia(Articulated* up, Vec3 t, Sym3 J, Mat3 H, Sym3 M) noexcept nogil:
    # up += (J, H, M) shifted by t: M, H + t^ M, J - (H + t^ M) t^ + t^ H^T
    cdef Mat3 T = cross_mat(t, full(M))
    cdef Mat3 X = cross_mat(t, transpose(H))
    cdef Mat3 Y
    H = add3(H, T)
    Y = mat_cross(H, t)
    up.H = add3(up.H, H)
    up.M = addsym(up.M, M)
    up.J.xx = up.J.xx + (J.xx - Y.x.x + X.x.x)
    up.J.xy = up.J.xy + (J.xy - Y.y.x + X.y.x)
    up.J.xz = up.J.xz + (J.xz - Y.z.x + X.z.x)
    up.J.yy = up.J.yy + (J.yy - Y.y.y + X.y.y)
    up.J.yz = up.J.yz + (J.yz - Y.z.y + X.z.y)
    up.J.zz = up.J.zz + (J.zz - Y.z.z + X.z.z)


cdef void aba(const vt_model* m, const double* gravity, const vt_real* q, const vt_real* v,
              const vt_real* tau, const vt_real* wrench, vt_real* acc, AbaBody* x) noexcept nogil:
    # acc = M(q)^-1 (tau - damping v + wrenches - c(q, v) - gravity); the caller adds damping v. wrench: NULL, or
    # (torque, force) on each body about its origin, world axes. Locked joints have acc = 0.
    aba_stiff(m, NULL, gravity, q, v, tau, wrench, acc, x)


cdef inline void aba_stiff(const vt_model* m, const vt_real* stiff, const double* gravity, const vt_real* q,
                           const vt_real* v, const vt_real* tau, const vt_real* wrench, vt_real* acc,
                           AbaBody* x) noexcept nogil:
    # the same with other numbers (nv,) instead of the armature of joints of one coordinate, or NULL
    aba_motion(m, q, v, wrench, x)
    aba_inertias(m, stiff, tau, 0, m.nbody, x)
    aba_accelerations(m, gravity, tau, 0, m.nbody, acc, x)


cdef inline void aba_place(const vt_body* b, const vt_real* q, const vt_real* v, const AbaBody* x,
                           AbaBody* s) noexcept nogil:
    # a body's pose and velocity from its parent's. Due to the parent, za = w x (w x t); then the contribution of the
    # joint's velocity
    cdef Vec3 w = x[b.parent].w if b.parent >= 0 else zero3()
    place_body(b, q, &x[b.parent].R if b.parent >= 0 else NULL, &s.R, &s.t)
    s.za = cross(w, cross(w, s.t))
    joint_add_bias(b, s.R, v, &w, &s.zw, &s.za)
    s.w = w


cdef inline void aba_motion(const vt_model* m, const vt_real* q, const vt_real* v, const vt_real* wrench,
                            AbaBody* x) noexcept nogil:
    # root to leaves: poses, velocities and their contributions to accelerations, rigid inertias and bias wrenches
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef Vec3 w, h
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        aba_place(b, q, v, x, s)
        w = s.w

        # the rigid body: J = R Io R^T, H = h^, M = m 1; bias w x J w and w x (w x h), less the wrench on it
        h = mul(s.R, moment_of(b))
        s.I.J = rotate_sym(s.R, inertia_of(b))
        s.I.H = hat(h)
        s.I.M = diagonal(mass_of(b))
        s.I.bn = cross(w, symmul(s.I.J, w))
        s.I.bf = cross(w, cross(w, h))
        if wrench != NULL:
            s.I.bn = sub(s.I.bn, load3(wrench + 6 * i))
            s.I.bf = sub(s.I.bf, load3(wrench + 6 * i + 3))


cdef inline void aba_inertias(const vt_model* m, const vt_real* stiff, const vt_real* tau, int first, int end,
                              AbaBody* x) noexcept nogil:
    # leaves to root, of the bodies from first to end: articulated inertias (Featherstone 2008, table 7.1).
    # stiff: NULL, or (nv,), numbers instead of the armature
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef Articulated felt
    cdef Mat3 H
    cdef Sym3 J, M
    cdef Vec3 n, f
    cdef vt_real r
    for i in range(end - 1, first - 1, -1):
        b = &m.body[i]
        s = &x[i]
        if joint_multi(b):
            if b.parent < 0:
                continue
            if joint_reduce(b, s.R, tau, &s.I, s.zw, s.za, &felt):
                hand_down_inertia(&x[b.parent].I, s.t, felt.J, felt.H, felt.M)
            hand_down(felt.bn, felt.bf, s.t, &x[b.parent].I.bn, &x[b.parent].I.bf)
            continue

        # U = I S, D = S^T U + armature, u = tau - S^T bias
        joint_inertia_column(b, s.R.z, &s.I, &s.Un, &s.Uf)
        s.Dinv = vt_set1(1.0) / (joint_pairing(b, s.R.z, s.Un, s.Uf)
                                 + (stiff[b.iv] if stiff != NULL else armature_of(m, b.iv)))
        s.u = joint_remainder(b, s.R.z, tau[b.iv], s.I.bn, s.I.bf)
        if b.locked:
            s.Dinv = vt_set1(0.0)
        if b.parent < 0:
            continue

        # the parent gets Ia = I - U D^-1 U^T and bias + Ia z + U D^-1 u
        r = s.Dinv
        J = minus_outer(s.I.J, r, s.Un)
        M = minus_outer(s.I.M, r, s.Uf)
        H = outer(-r, s.Un, s.Uf, s.I.H)
        r = r * s.u
        n = axpy(r, s.Un, add(s.I.bn, add(symmul(J, s.zw), mul(H, s.za))))
        f = axpy(r, s.Uf, add(s.I.bf, add(tmul(H, s.zw), symmul(M, s.za))))
        hand_down_inertia(&x[b.parent].I, s.t, J, H, M)
        hand_down(n, f, s.t, &x[b.parent].I.bn, &x[b.parent].I.bf)


cdef inline void aba_carry(const vt_body* b, const AbaBody* s, Vec3 gravity, const AbaBody* x, Vec3* dw,
                           Vec3* a) noexcept nogil:
    # a body's acceleration from its parent's
    cdef const AbaBody* up
    if b.parent < 0:
        dw[0] = s.zw
        a[0] = sub(s.za, gravity)
    else:
        up = &x[b.parent]
        dw[0] = add(up.dw, s.zw)
        a[0] = add(add(up.a, cross(up.dw, s.t)), s.za)


cdef inline void aba_accelerations(const vt_model* m, const double* gravity, const vt_real* tau, int first, int end,
                                   vt_real* acc, AbaBody* x) noexcept nogil:
    # root to leaves: accelerations; gravity is one upwards
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef Vec3 dw, a, g = gravity_from(m, gravity)
    cdef vt_real r
    for i in range(first, end):
        b = &m.body[i]
        s = &x[i]
        aba_carry(b, s, g, x, &dw, &a)
        # D^-1 (u - U^T a'), and a' + S acc
        if not joint_multi(b):
            r = s.Dinv * (s.u - dot(s.Un, dw) - dot(s.Uf, a))
            acc[b.iv] = r
            joint_add(b, s.R.z, r, &dw, &a)
        else:
            joint_accelerate(b, s.R, tau, &s.I, &dw, &a, acc)
        s.dw = dw
        s.a = a


cdef inline void aba_push(const vt_model* m, const vt_real* tau, int i, AbaBody* x) noexcept nogil:
    # without velocities the parent gets bias + U D^-1 u
    cdef const vt_body* b = &m.body[i]
    cdef AbaBody* s = &x[i]
    cdef Vec3 n, f
    cdef vt_real r
    if not joint_multi(b):
        s.u = joint_remainder(b, s.R.z, tau[b.iv], s.I.bn, s.I.bf)
        r = s.Dinv * s.u
        n = axpy(r, s.Un, s.I.bn)
        f = axpy(r, s.Uf, s.I.bf)
    else:
        joint_respond(b, s.R, tau, &s.I, &n, &f)
    if b.parent >= 0:
        hand_down(n, f, s.t, &x[b.parent].I.bn, &x[b.parent].I.bf)


cdef inline void aba_still(AbaBody* s) noexcept nogil:
    s.I.bn = zero3()
    s.I.bf = zero3()
    s.zw = zero3()
    s.za = zero3()


cdef void aba_response(const vt_model* m, const vt_real* tau, int first, int end, vt_real* acc,
                       AbaBody* x) noexcept nogil:
    # acc = M^-1 tau of the bodies from first to end, which are not connected with others; x is of an `aba` at the same
    # q: its inertias are reused, its velocity terms are zero
    cdef int i
    for i in range(first, end):
        aba_still(&x[i])
    for i in range(end - 1, first - 1, -1):
        aba_push(m, tau, i, x)
    aba_accelerations(m, NO_GRAVITY, tau, first, end, acc, x)


cdef void aba_response_along(const vt_model* m, const vt_real* tau, int leaf, const int* path, int count, vt_real* acc,
                             AbaBody* x) noexcept nogil:
    # the same for forces between a leaf and the world, and only for the bodies of a path in order, parents first
    cdef int k
    for k in range(count):
        aba_still(&x[path[k]])
        x[path[k]].u = vt_set1(0.0)
    while leaf >= 0:
        aba_push(m, tau, leaf, x)
        leaf = m.body[leaf].parent
    for k in range(count):
        aba_accelerations(m, NO_GRAVITY, tau, path[k], path[k] + 1, acc, x)


# ---- mass matrix --------------------------------------------------------------------------------

cdef struct CrbaBody:
    vt_real mass        # of everything outboard, world axes, about the body's origin
    Vec3 h
    Sym3 J
    int last            # of the bodies outboard, and how many they are, this one with them
    int count


cdef inline void hand_down_rigid(CrbaBody* up, const CrbaBody* s, Vec3 t) noexcept nogil:
    # up += a rigid inertia shifted by t: m, h + m t, J + m (t.t 1 - t t^T) + 2 (h.t) 1 - h t^T - t h^T
    cdef Vec3 h = s.h
    cdef Sym3 J = point_inertia(s.mass, t)
    cdef vt_real r = 2.0 * dot(h, t)
    J.xx = J.xx + (r - 2.0 * h.x * t.x)
    J.yy = J.yy + (r - 2.0 * h.y * t.y)
    J.zz = J.zz + (r - 2.0 * h.z * t.z)
    J.xy = J.xy - (h.x * t.y + h.y * t.x)
    J.xz = J.xz - (h.x * t.z + h.z * t.x)
    J.yz = J.yz - (h.y * t.z + h.z * t.y)
    up.J = addsym(up.J, addsym(s.J, J))
    up.h = add(up.h, axpy(s.mass, t, h))
    up.mass = up.mass + s.mass
    up.last = max(up.last, s.last)
    up.count += s.count


cdef inline bint hangs_on(const vt_model* m, int i, int body) noexcept nogil:
    # whether body i is the body or outboard of it
    while i > body:
        i = m.body[i].parent
    return i == body


cdef inline bint next_outboard(const vt_model* m, int i, const CrbaBody* s, int* a, int* first, int* until) noexcept nogil:
    # the coordinates of body i and of bodies outboard of it, from body a on, as long as their numbers are consecutive:
    # all of them, if numbers are depth first. a: where to continue, initially i; False if none are left
    cdef int end
    while a[0] <= s.last and not hangs_on(m, a[0], i):
        a[0] += 1
    if a[0] > s.last:
        return False
    end = a[0] + s.count if i + s.count > s.last else a[0] + 1
    while end <= s.last and hangs_on(m, end, i):
        end += 1
    first[0] = m.body[a[0]].iv
    until[0] = m.body[end].iv if end < m.nbody else m.nv
    a[0] = end
    return True


cdef inline void crba_rows(const vt_model* m, int i, const Pose* pose, int first, int end, const vt_real* wrench,
                           vt_real* M) noexcept nogil:
    # M_jk = S_j^T (n, f) of all coordinates j of body i and of k from the first on, both triangles
    cdef int l, k, nv = m.nv
    cdef const vt_body* b = &m.body[i]
    cdef vt_real* row
    cdef vt_real* column
    cdef Vec3 w, v
    for l in range(joint_nv(b)):
        first = max(first, b.iv + l)
        row = M + (b.iv + l) * nv
        if joint_rotates(b):
            vt_dots(end - first, nv, &pose.R.z.x, wrench + 3 * nv + first, row + first)
        else:
            joint_column(b, pose.R, l, &w, &v)
            vt_pairings(end - first, nv, &w.x, &v.x, wrench + first, row + first)
        column = M + first * nv + b.iv + l
        for k in range(first, end):
            column[0] = row[k]
            column += nv


cdef void crba(const vt_model* m, const vt_real* q, vt_real* M, CrbaBody* x, Pose* pose, vt_real* wrench) noexcept nogil:
    # M: (nv, nv), both triangles. wrench (6, nv): for unit rate of each coordinate, the momentum (f, n) of everything
    # outboard, about the origin of the current body
    cdef int i, k, a, first, until, nv = m.nv
    cdef const vt_body* b
    cdef CrbaBody* s
    cdef Vec3 w, v, n, f
    cdef vt_axes axes
    for i in range(nv * nv):
        M[i] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        pose_body(m, i, q, &axes, i - 1, pose)
        s.mass = mass_of(b)
        n = moment_of(b)
        vt_axes_times(&axes, &n.x, &s.h.x)
        s.J = axes_rotate_sym(&axes, inertia_of(b))
        s.last = i
        s.count = 1
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        # f = w x h + m v, n = J w + h x v
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            f = add(cross(w, s.h), scale(s.mass, v))
            n = add(symmul(s.J, w), cross(s.h, v))
            store_column(wrench + b.iv + k, nv, f, n)
        a = i
        while next_outboard(m, i, s, &a, &first, &until):
            crba_rows(m, i, &pose[i], first, until, wrench, M)
            if b.parent >= 0:
                vt_crosses(until - first, nv, &pose[i].t.x, wrench + first, wrench + 3 * nv + first)
        if b.parent >= 0:
            hand_down_rigid(&x[b.parent], s, pose[i].t)
    if m.rotors:
        for k in range(nv):
            M[k * nv + k] = M[k * nv + k] + armature_of(m, k)


# ---- is the mass matrix regular? ----------------------------------------------------------------

cdef inline vt_real inertia_against(const vt_body* b, Mat3 R, int k, Vec3 n, Vec3 f) noexcept nogil:
    # the k-th coordinate's component of a wrench
    cdef Vec3 w, v
    joint_column(b, R, k, &w, &v)
    return dot(w, n) + dot(v, f)


cdef inline vt_real inertia_along(const vt_body* b, Mat3 R, int k, const Articulated* I) noexcept nogil:
    # S^T I S of the k-th coordinate
    cdef Vec3 w, v
    joint_column(b, R, k, &w, &v)
    return dot(w, add(symmul(I.J, w), mul(I.H, v))) + dot(v, add(tmul(I.H, w), symmul(I.M, v)))


cdef inline void hand_down_terms(const vt_body* b, const AbaBody* s, const Articulated* E, Articulated* up) noexcept nogil:
    # up += the terms of the parent's articulated inertia: I, from which the joint's U D^-1 U^T is subtracted, and those
    # before, K^T E K with the motion K = 1 - S D^-1 U^T of the free joint
    cdef Sym3 J = E.J, M = E.M
    cdef Mat3 H = E.H, B, C
    cdef Vec3 n, f
    cdef vt_real r = s.Dinv, share
    if b.kind == FREE:
        return
    if b.kind == BALL:
        B = mul3(full(sym_inverse(s.I.J)), s.I.H)
        C = mul3(transpose(B), H)
        M = addsym(M, congruence(transpose(B), J))
        M.xx = M.xx - 2.0 * C.x.x
        M.yy = M.yy - 2.0 * C.y.y
        M.zz = M.zz - 2.0 * C.z.z
        M.xy = M.xy - (C.x.y + C.y.x)
        M.xz = M.xz - (C.x.z + C.z.x)
        M.yz = M.yz - (C.y.z + C.z.y)
        J = zero_sym()
        H = zero33()
    else:
        # K^T E K = E - (a U^T + U a^T) D^-1, a = E S - U S^T E S/(2 D)
        joint_inertia_column(b, s.R.z, E, &n, &f)
        share = -0.5 * (r * joint_pairing(b, s.R.z, n, f))
        n = axpy(share, s.Un, n)
        f = axpy(share, s.Uf, f)
        J = minus_outer(minus_outer(J, 0.5 * r, add(n, s.Un)), -0.5 * r, sub(n, s.Un))
        M = minus_outer(minus_outer(M, 0.5 * r, add(f, s.Uf)), -0.5 * r, sub(f, s.Uf))
        H = outer(-r, s.Un, f, outer(-r, n, s.Uf, H))
    hand_down_inertia(up, s.t, addsym(J, s.I.J), add3(H, s.I.H), addsym(M, s.I.M))


cdef void pivots(const vt_model* m, const vt_real* q, const vt_real* none, vt_real* out, AbaBody* x,
                 Articulated* terms) noexcept nogil:
    # out (2, nv), for each coordinate: its apparent inertia, a pivot of the mass matrix, relative to the terms of which
    # it is the difference; and those relative to the same for all axes, plus the contribution of the joint's own body
    # and rotor. 1 where a joint is locked. none: (nv,) zeros
    cdef int i, j, k, l, n
    cdef const vt_body* b
    cdef AbaBody* s
    cdef Articulated* E
    cdef Vec3 w, v, turn, push
    cdef vt_real D[36]
    cdef vt_real r, own
    aba_motion(m, q, none, NULL, x)
    for i in range(m.nbody):
        b = &m.body[i]
        terms[i] = x[i].I
        for l in range(joint_nv(b)):
            out[m.nv + b.iv + l] = inertia_along(b, x[i].R, l, &terms[i]) + armature_of(m, b.iv + l)
    aba_inertias(m, NULL, none, 0, m.nbody, x)
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        E = &terms[i]
        n = joint_nv(b)
        for l in range(n):
            joint_column(b, s.R, l, &w, &v)
            turn = add(symmul(s.I.J, w), mul(s.I.H, v))
            push = add(tmul(s.I.H, w), symmul(s.I.M, v))
            for k in range(n):
                D[k * n + l] = inertia_against(b, s.R, k, turn, push)
            D[l * n + l] = D[l * n + l] + armature_of(m, b.iv + l)
            r = inertia_along(b, s.R, l, E) + armature_of(m, b.iv + l)
            own = out[m.nv + b.iv + l]
            out[b.iv + l] = vt_set1(1.0) / r
            r = r / (dot(w, w) * (E.J.xx + E.J.yy + E.J.zz) + dot(v, v) * (E.M.xx + E.M.yy + E.M.zz))
            out[m.nv + b.iv + l] = r + own * out[b.iv + l]
        for l in range(n):
            out[b.iv + l] = out[b.iv + l] * D[l * n + l]
            for k in range(l + 1, n):
                r = D[k * n + l] / D[l * n + l]
                for j in range(l + 1, n):
                    D[k * n + j] = D[k * n + j] - r * D[l * n + j]
            if b.locked:
                out[b.iv + l] = vt_set1(1.0)
                out[m.nv + b.iv + l] = vt_set1(1.0)
        if b.parent >= 0:
            hand_down_terms(b, s, E, &terms[b.parent])


# ---- velocities, energies, momentum, Jacobians --------------------------------------------------

cdef struct VelocityBody:
    Vec3 w              # world axes
    Vec3 v              # of the body's origin


cdef void velocities(const vt_model* m, const vt_real* v, const Pose* pose, VelocityBody* x) noexcept nogil:
    cdef int i, up
    for i in range(m.nbody):
        up = m.body[i].parent
        x[i].w = zero3()
        x[i].v = zero3()
        if up >= 0:
            carry(x[up].w, x[up].v, pose[i].t, &x[i].w, &x[i].v)
        add_joint_velocity(&m.body[i], pose[i].R, v, &x[i].w, &x[i].v)


cdef void energy(const vt_model* m, const vt_real* q, const vt_real* v, vt_real* out, Pose* pose,
                 VelocityBody* x) noexcept nogil:
    # out (11,): kinetic and potential energy, momentum (angular about the world's origin, linear), and the centre of
    # mass of the moving bodies. Rotors have kinetic energy, but do not contribute to the momentum
    cdef int i
    cdef const vt_body* b
    cdef Vec3 c, vc, L, P, angular, linear, first
    cdef vt_real T, mass
    forward_kinematics(m, q, pose)
    velocities(m, v, pose, x)
    T = vt_set1(0.0)
    mass = vt_set1(0.0)
    angular = zero3()
    linear = zero3()
    first = zero3()
    for i in range(m.nbody):
        b = &m.body[i]
        # the COM and its velocity; then each body's L = Ic w and P = m vc
        c = mul(pose[i].R, com_of(b))
        vc = add(x[i].v, cross(x[i].w, c))
        c = add(c, pose[i].o)
        P = scale(mass_of(b), vc)
        L = mul(pose[i].R, symmul(central_inertia_of(b), tmul(pose[i].R, x[i].w)))
        T = T + 0.5 * (dot(P, vc) + dot(L, x[i].w))
        angular = add(angular, add(L, cross(c, P)))
        linear = add(linear, P)
        first = axpy(mass_of(b), c, first)
        mass = mass + mass_of(b)
    if m.rotors:
        for i in range(m.nv):
            T = T + 0.5 * (armature_of(m, i) * v[i] * v[i])
    out[0] = T
    out[1] = -dot(constant3(m.g), first)
    store3(out + 2, angular)
    store3(out + 5, linear)
    store3(out + 8, scale(vt_set1(1.0) / mass, first))


cdef void jacobian_columns(const vt_model* m, int body, const double* point, vt_real* J,
                           const Pose* pose) noexcept nogil:
    # the same from the poses of the bodies from the root to this one
    cdef int i, k, nv = m.nv
    cdef const vt_body* b
    cdef Vec3 w, v, r
    for i in range(6 * nv):
        J[i] = vt_set1(0.0)
    if body < 0:
        return
    r = mul(pose[body].R, constant3(point))
    i = body
    while i >= 0:
        b = &m.body[i]
        if joint_rotates(b):
            w = pose[i].R.z
            store_column(J + b.iv, nv, w, add(zero3(), cross(w, r)))
        else:
            for k in range(joint_nv(b)):
                joint_column(b, pose[i].R, k, &w, &v)
                store_column(J + b.iv + k, nv, w, add(v, cross(w, r)))
        r = add(r, pose[i].t)
        i = b.parent
