# Featherstone's recursions (Featherstone 2008), in three-vectors.
#
# Accelerations are classical ones of the body's origin, so no linear velocities are needed
# (Luh, Walker & Paul 1980). RNEA works in body axes; everything else in world axes with each body's
# own origin as reference, where a transform is a shift by t, the vector from the parent's origin.

# ---- forward kinematics -------------------------------------------------------------------------

cdef struct Pose:
    Mat3 R              # core frame in world axes; R.z is the joint's axis
    Vec3 o              # its origin, world
    Vec3 t              # from the parent's origin, world


cdef void forward_kinematics(const vt_model* m, const vt_real* q, Pose* x) noexcept nogil:
    cdef int i
    cdef const vt_body* b
    cdef Mat3 R
    cdef Vec3 p
    cdef Pose* up
    for i in range(m.nbody):
        b = &m.body[i]
        joint_pose(b, q, &R, &p)
        if b.parent < 0:
            x[i].R = R
            x[i].t = p
            x[i].o = p
        else:
            up = &x[b.parent]
            x[i].R = mul3(up.R, R)
            x[i].t = mul(up.R, p)
            x[i].o = add(up.o, x[i].t)


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
    cdef int i
    cdef const vt_body* b
    cdef RneaBody* s
    cdef RneaBody* up
    cdef Vec3 w, dw, acc, h, f, n, u, d
    cdef Sym3 I
    cdef vt_real r
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        joint_pose(b, q, &s.R, &s.p)
        if b.parent < 0:
            w = zero3()
            dw = zero3()
            acc = neg(tmul(s.R, constant3(gravity)))
        else:
            up = &x[b.parent]
            acc = add(up.a, add(cross(up.dw, s.p), cross(up.w, cross(up.w, s.p))))
            w = tmul(s.R, up.w)
            dw = tmul(s.R, up.dw)
            acc = tmul(s.R, acc)
        if b.kind == REVOLUTE or b.kind == HELICAL:
            r = v[b.iv]
            dw = vec3(dw.x + w.y * r, dw.y - w.x * r, dw.z + a[b.iv])
            if b.kind == HELICAL:
                r = 2.0 * b.pitch * v[b.iv]
                acc = vec3(acc.x + w.y * r, acc.y - w.x * r, acc.z + b.pitch * a[b.iv])
            w.z = w.z + v[b.iv]
        elif b.kind == PRISMATIC:
            r = 2.0 * v[b.iv]
            acc = vec3(acc.x + w.y * r, acc.y - w.x * r, acc.z + a[b.iv])
        elif b.kind == BALL:
            u = load3(v + b.iv)
            dw = add(add(dw, cross(w, u)), load3(a + b.iv))
            w = add(w, u)
        else:
            u = load3(v + b.iv + 3)
            d = load3(v + b.iv)
            acc = add(add(acc, load3(a + b.iv)), cross(axpy(vt_set1(2.0), w, u), d))
            dw = add(add(dw, cross(w, u)), load3(a + b.iv + 3))
            w = add(w, u)
        s.w = w
        s.dw = dw
        s.a = acc
        I = constant_sym(b.Io)
        h = constant3(b.h)
        s.f = add(scale(vt_set1(b.mass), acc), add(cross(dw, h), cross(w, cross(w, h))))
        s.n = add(add(symmul(I, dw), cross(w, symmul(I, w))), cross(h, acc))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        if b.kind == REVOLUTE:
            tau[b.iv] = s.n.z
        elif b.kind == PRISMATIC:
            tau[b.iv] = s.f.z
        elif b.kind == HELICAL:
            tau[b.iv] = s.n.z + b.pitch * s.f.z
        elif b.kind == BALL:
            store3(tau + b.iv, s.n)
        else:
            store3(tau + b.iv, s.f)
            store3(tau + b.iv + 3, s.n)
        if b.parent >= 0:
            up = &x[b.parent]
            f = mul(s.R, s.f)
            n = add(mul(s.R, s.n), cross(s.p, f))
            up.f = add(up.f, f)
            up.n = add(up.n, n)


# ---- forward dynamics ---------------------------------------------------------------------------

cdef struct AbaBody:
    Mat3 R              # world axes throughout
    Vec3 t
    Vec3 w
    Vec3 zw             # what the motion adds to the angular and linear acceleration
    Vec3 za
    Sym3 J              # articulated inertia: n = J dw + H a + bn, f = H^T dw + M a + bf
    Mat3 H
    Sym3 M
    Vec3 bn
    Vec3 bf
    Vec3 Un
    Vec3 Uf
    vt_real u
    vt_real Dinv
    Vec3 dw
    Vec3 a


cdef inline Sym3 sym_inverse(Sym3 A) noexcept nogil:
    cdef Sym3 r
    cdef vt_real s
    r.xx = A.yy * A.zz - A.yz * A.yz
    r.xy = A.xz * A.yz - A.xy * A.zz
    r.xz = A.xy * A.yz - A.xz * A.yy
    s = vt_set1(1.0) / (A.xx * r.xx + A.xy * r.xy + A.xz * r.xz)
    r.yy = s * (A.xx * A.zz - A.xz * A.xz)
    r.yz = s * (A.xy * A.xz - A.xx * A.yz)
    r.zz = s * (A.xx * A.yy - A.xy * A.xy)
    r.xx = s * r.xx
    r.xy = s * r.xy
    r.xz = s * r.xz
    return r


cdef inline Sym3 congruence(Mat3 H, Sym3 A) noexcept nogil:
    # H A H^T
    cdef Sym3 r
    cdef Mat3 B = mul3(H, full(A))
    r.xx = B.x.x * H.x.x + B.y.x * H.y.x + B.z.x * H.z.x
    r.xy = B.x.x * H.x.y + B.y.x * H.y.y + B.z.x * H.z.y
    r.xz = B.x.x * H.x.z + B.y.x * H.y.z + B.z.x * H.z.z
    r.yy = B.x.y * H.x.y + B.y.y * H.y.y + B.z.y * H.z.y
    r.yz = B.x.y * H.x.z + B.y.y * H.y.z + B.z.y * H.z.z
    r.zz = B.x.z * H.x.z + B.y.z * H.y.z + B.z.z * H.z.z
    return r


cdef inline Sym3 subsym(Sym3 A, Sym3 B) noexcept nogil:
    cdef Sym3 r
    r.xx = A.xx - B.xx
    r.xy = A.xy - B.xy
    r.xz = A.xz - B.xz
    r.yy = A.yy - B.yy
    r.yz = A.yz - B.yz
    r.zz = A.zz - B.zz
    return r


cdef inline Sym3 minus_outer(Sym3 A, vt_real s, Vec3 a) noexcept nogil:
    # A - s a a^T
    cdef Sym3 r
    cdef Vec3 b = scale(s, a)
    r.xx = A.xx - b.x * a.x
    r.xy = A.xy - b.x * a.y
    r.xz = A.xz - b.x * a.z
    r.yy = A.yy - b.y * a.y
    r.yz = A.yz - b.y * a.z
    r.zz = A.zz - b.z * a.z
    return r


cdef inline void hand_down_inertia(AbaBody* up, Vec3 t, Sym3 J, Mat3 H, Sym3 M) noexcept nogil:
    # add an articulated inertia, shifted by t, to the parent's
    cdef Mat3 T = cross_mat(t, full(M))                       # t^ M
    cdef Mat3 X = cross_mat(t, transpose(H))                  # t^ H^T
    cdef Mat3 Y
    H = add3(H, T)
    Y = mat_cross(H, t)                                       # (H + t^ M) t^
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
    # acc = M(q)^-1 (tau - damping v + wrenches - c(q, v) - gravity); damping v is the caller's.
    # wrench: NULL, or (torque, force) on each body about its origin, world axes. Locked joints have acc = 0.
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef AbaBody* up
    cdef Mat3 R, H
    cdef Sym3 I, J, M
    cdef Vec3 p, w, wp, h, u, d, z, n, f
    cdef vt_real r
    # root to leaves: poses, velocities, rigid inertias, velocity terms
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        joint_pose(b, q, &R, &p)
        if b.parent < 0:
            wp = zero3()
            s.t = p
        else:
            up = &x[b.parent]
            wp = up.w
            R = mul3(up.R, R)
            s.t = mul(up.R, p)
        s.R = R
        s.za = cross(wp, cross(wp, s.t))
        if b.kind == REVOLUTE:
            u = scale(v[b.iv], R.z)
            s.zw = cross(wp, u)
            w = add(wp, u)
        elif b.kind == PRISMATIC:
            s.zw = zero3()
            s.za = add(s.za, cross(wp, scale(2.0 * v[b.iv], R.z)))
            w = wp
        elif b.kind == HELICAL:
            u = scale(v[b.iv], R.z)
            s.zw = cross(wp, u)
            s.za = axpy(vt_set1(2.0 * b.pitch), s.zw, s.za)
            w = add(wp, u)
        elif b.kind == BALL:
            u = mul(R, load3(v + b.iv))
            s.zw = cross(wp, u)
            w = add(wp, u)
        else:
            u = mul(R, load3(v + b.iv + 3))
            d = mul(R, load3(v + b.iv))
            s.zw = cross(wp, u)
            s.za = add(s.za, cross(axpy(vt_set1(2.0), wp, u), d))
            w = add(wp, u)
        s.w = w
        I = rotate_sym(R, constant_sym(b.Io))
        h = mul(R, constant3(b.h))
        s.J = I
        s.H = hat(h)
        s.M.xx = vt_set1(b.mass)
        s.M.xy = vt_set1(0.0)
        s.M.xz = vt_set1(0.0)
        s.M.yy = vt_set1(b.mass)
        s.M.yz = vt_set1(0.0)
        s.M.zz = vt_set1(b.mass)
        s.bn = cross(w, symmul(I, w))
        s.bf = cross(w, cross(w, h))
        if wrench != NULL:
            s.bn = sub(s.bn, load3(wrench + 6 * i))
            s.bf = sub(s.bf, load3(wrench + 6 * i + 3))
    # leaves to root: articulated inertias
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        z = s.R.z
        if b.kind == REVOLUTE:
            s.Un = symmul(s.J, z)
            s.Uf = tmul(s.H, z)
            s.Dinv = vt_set1(1.0) / dot(z, s.Un)
            s.u = tau[b.iv] - dot(z, s.bn)
        elif b.kind == PRISMATIC:
            s.Un = mul(s.H, z)
            s.Uf = symmul(s.M, z)
            s.Dinv = vt_set1(1.0) / dot(z, s.Uf)
            s.u = tau[b.iv] - dot(z, s.bf)
        elif b.kind == HELICAL:
            r = vt_set1(b.pitch)
            s.Un = axpy(r, mul(s.H, z), symmul(s.J, z))
            s.Uf = axpy(r, symmul(s.M, z), tmul(s.H, z))
            s.Dinv = vt_set1(1.0) / (dot(z, s.Un) + r * dot(z, s.Uf))
            s.u = tau[b.iv] - dot(z, s.bn) - r * dot(z, s.bf)
        if b.locked:
            s.Dinv = vt_set1(0.0)
        if b.parent < 0:
            continue
        up = &x[b.parent]
        if b.kind < BALL:
            r = s.Dinv
            J = minus_outer(s.J, r, s.Un)
            M = minus_outer(s.M, r, s.Uf)
            H = outer(-r, s.Un, s.Uf, s.H)
            r = r * s.u
            n = axpy(r, s.Un, add(s.bn, add(symmul(J, s.zw), mul(H, s.za))))
            f = axpy(r, s.Uf, add(s.bf, add(tmul(H, s.zw), symmul(M, s.za))))
            hand_down_inertia(up, s.t, J, H, M)
        elif b.kind == BALL:
            # S = (1; 0): only M - H^T J^-1 H is felt by the parent
            n = mul(s.R, load3(tau + b.iv))
            J = sym_inverse(s.J)
            M = subsym(s.M, congruence(transpose(s.H), J))
            f = add(s.bf, add(tmul(s.H, symmul(J, sub(n, s.bn))), symmul(M, s.za)))
            hand_down_inertia(up, s.t, zero_sym(), zero33(), M)
        else:
            # a free joint hands down its own force and no inertia
            n = mul(s.R, load3(tau + b.iv + 3))
            f = mul(s.R, load3(tau + b.iv))
        up.bn = add(up.bn, add(n, cross(s.t, f)))
        up.bf = add(up.bf, f)
    aba_accelerations(m, gravity, tau, acc, x)


cdef void aba_response(const vt_model* m, const vt_real* tau, vt_real* acc, AbaBody* x) noexcept nogil:
    # acc = M^-1 tau, where x is of an `aba` at the same q
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef AbaBody* up
    cdef Vec3 z, n, f
    cdef vt_real r
    cdef double none[3]
    for i in range(m.nbody):
        s = &x[i]
        s.bn = zero3()
        s.bf = zero3()
        s.zw = zero3()
        s.za = zero3()
    # leaves to root: forces
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        z = s.R.z
        if b.kind == REVOLUTE:
            s.u = tau[b.iv] - dot(z, s.bn)
        elif b.kind == PRISMATIC:
            s.u = tau[b.iv] - dot(z, s.bf)
        elif b.kind == HELICAL:
            s.u = tau[b.iv] - dot(z, s.bn) - b.pitch * dot(z, s.bf)
        if b.parent < 0:
            continue
        if b.kind < BALL:
            r = s.Dinv * s.u
            n = axpy(r, s.Un, s.bn)
            f = axpy(r, s.Uf, s.bf)
        elif b.kind == BALL:
            n = mul(s.R, load3(tau + b.iv))
            f = add(s.bf, tmul(s.H, symmul(sym_inverse(s.J), sub(n, s.bn))))
        else:
            n = mul(s.R, load3(tau + b.iv + 3))
            f = mul(s.R, load3(tau + b.iv))
        up = &x[b.parent]
        up.bn = add(up.bn, add(n, cross(s.t, f)))
        up.bf = add(up.bf, f)
    none[:] = [0.0, 0.0, 0.0]
    aba_accelerations(m, none, tau, acc, x)


cdef inline void aba_accelerations(const vt_model* m, const double* gravity, const vt_real* tau, vt_real* acc,
                                   AbaBody* x) noexcept nogil:
    # the last pass of `aba`
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef AbaBody* up
    cdef Sym3 J, M
    cdef Vec3 u, d, z, n, f, dw, a
    cdef vt_real r
    # root to leaves: accelerations
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        z = s.R.z
        if b.parent < 0:
            dw = s.zw
            a = sub(s.za, constant3(gravity))
        else:
            up = &x[b.parent]
            dw = add(up.dw, s.zw)
            a = add(add(up.a, cross(up.dw, s.t)), s.za)
        if b.kind < BALL:
            r = s.Dinv * (s.u - dot(s.Un, dw) - dot(s.Uf, a))
            acc[b.iv] = r
            if b.kind == REVOLUTE:
                dw = axpy(r, z, dw)
            elif b.kind == PRISMATIC:
                a = axpy(r, z, a)
            else:
                dw = axpy(r, z, dw)
                a = axpy(r * b.pitch, z, a)
        elif b.kind == BALL:
            n = mul(s.R, load3(tau + b.iv))
            u = symmul(sym_inverse(s.J), sub(sub(n, s.bn), mul(s.H, a)))
            store3(acc + b.iv, tmul(s.R, sub(u, dw)))
            dw = u
        else:
            n = sub(mul(s.R, load3(tau + b.iv + 3)), s.bn)
            f = sub(mul(s.R, load3(tau + b.iv)), s.bf)
            M = sym_inverse(s.M)
            u = symmul(M, f)
            J = sym_inverse(subsym(s.J, congruence(s.H, M)))
            u = symmul(J, sub(n, mul(s.H, u)))
            d = symmul(M, sub(f, tmul(s.H, u)))
            store3(acc + b.iv, tmul(s.R, sub(d, a)))
            store3(acc + b.iv + 3, tmul(s.R, sub(u, dw)))
            dw = u
            a = d
        s.dw = dw
        s.a = a


# ---- mass matrix --------------------------------------------------------------------------------

cdef struct CrbaBody:
    Pose pose
    vt_real mass        # of everything outboard, world axes, about the body's origin
    Vec3 h
    Sym3 J


cdef inline void joint_column(const vt_body* b, Mat3 R, int k, Vec3* w, Vec3* v) noexcept nogil:
    # the twist (w, v) of the k-th coordinate, world axes, at the body's origin
    cdef Vec3 axis = R.x
    if b.kind == REVOLUTE:
        w[0] = R.z
        v[0] = zero3()
    elif b.kind == PRISMATIC:
        w[0] = zero3()
        v[0] = R.z
    elif b.kind == HELICAL:
        w[0] = R.z
        v[0] = scale(vt_set1(b.pitch), R.z)
    else:
        if k % 3 == 1:
            axis = R.y
        elif k % 3 == 2:
            axis = R.z
        if b.kind == FREE and k < 3:
            w[0] = zero3()
            v[0] = axis
        else:
            w[0] = axis
            v[0] = zero3()


cdef inline int joint_nv(const vt_body* b) noexcept nogil:
    return 1 if b.kind < BALL else 3 if b.kind == BALL else 6


cdef void crba(const vt_model* m, const vt_real* q, vt_real* M, CrbaBody* x, Pose* pose) noexcept nogil:
    # M: (nv, nv), both triangles
    cdef int i, j, k, l, nv = m.nv
    cdef const vt_body* b
    cdef const vt_body* bj
    cdef CrbaBody* s
    cdef CrbaBody* up
    cdef Vec3 w, v, n, f, t, h
    cdef vt_real r
    cdef Sym3 J
    forward_kinematics(m, q, pose)
    for i in range(nv * nv):
        M[i] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        s.mass = vt_set1(b.mass)
        s.h = mul(pose[i].R, constant3(b.h))
        s.J = rotate_sym(pose[i].R, constant_sym(b.Io))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            f = add(cross(w, s.h), scale(s.mass, v))
            n = add(symmul(s.J, w), cross(s.h, v))
            j = i
            while j >= 0:
                bj = &m.body[j]
                for l in range(joint_nv(bj)):
                    joint_column(bj, pose[j].R, l, &w, &v)
                    r = dot(w, n) + dot(v, f)
                    M[(bj.iv + l) * nv + b.iv + k] = r
                    M[(b.iv + k) * nv + bj.iv + l] = r
                n = add(n, cross(pose[j].t, f))
                j = bj.parent
        if b.parent >= 0:
            up = &x[b.parent]
            t = pose[i].t
            h = s.h
            J = point_inertia(s.mass, t)
            r = 2.0 * dot(h, t)
            J.xx = J.xx + (r - 2.0 * h.x * t.x)
            J.yy = J.yy + (r - 2.0 * h.y * t.y)
            J.zz = J.zz + (r - 2.0 * h.z * t.z)
            J.xy = J.xy - (h.x * t.y + h.y * t.x)
            J.xz = J.xz - (h.x * t.z + h.z * t.x)
            J.yz = J.yz - (h.y * t.z + h.z * t.y)
            up.J = addsym(up.J, addsym(s.J, J))
            up.h = add(up.h, axpy(s.mass, t, h))
            up.mass = up.mass + s.mass


# ---- velocities, energies, momentum, Jacobians --------------------------------------------------

cdef struct VelocityBody:
    Vec3 w              # world axes
    Vec3 v              # of the body's origin


cdef void velocities(const vt_model* m, const vt_real* v, const Pose* pose, VelocityBody* x) noexcept nogil:
    cdef int i, k
    cdef const vt_body* b
    cdef VelocityBody* s
    cdef VelocityBody* up
    cdef Vec3 w, u
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        if b.parent < 0:
            s.w = zero3()
            s.v = zero3()
        else:
            up = &x[b.parent]
            s.w = up.w
            s.v = add(up.v, cross(up.w, pose[i].t))
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &u)
            s.w = axpy(v[b.iv + k], w, s.w)
            s.v = axpy(v[b.iv + k], u, s.v)


cdef void energy(const vt_model* m, const vt_real* q, const vt_real* v, vt_real* kinetic,
                 vt_real* potential, vt_real* momentum, vt_real* com, Pose* pose,
                 VelocityBody* x) noexcept nogil:
    # momentum: (angular about the world's origin, linear); com: centre of mass of what moves
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
        c = mul(pose[i].R, constant3(b.com))
        vc = add(x[i].v, cross(x[i].w, c))
        c = add(c, pose[i].o)
        P = scale(vt_set1(b.mass), vc)
        L = mul(pose[i].R, symmul(constant_sym(b.Ic), tmul(pose[i].R, x[i].w)))
        T = T + 0.5 * (dot(P, vc) + dot(L, x[i].w))
        angular = add(angular, add(L, cross(c, P)))
        linear = add(linear, P)
        first = axpy(vt_set1(b.mass), c, first)
        mass = mass + vt_set1(b.mass)
    kinetic[0] = T
    potential[0] = -dot(constant3(m.g), first)
    store3(momentum, angular)
    store3(momentum + 3, linear)
    store3(com, scale(vt_set1(1.0) / mass, first))


cdef void jacobian(const vt_model* m, const vt_real* q, int body, const double* point, int local,
                   vt_real* J, Pose* pose) noexcept nogil:
    # J: (6, nv), rows (angular, linear) of the point (given in the core frame), in world axes or,
    # if local, in the core frame's
    cdef int i, k, nv = m.nv
    cdef const vt_body* b
    cdef Vec3 w, v, r
    forward_kinematics(m, q, pose)
    for i in range(6 * nv):
        J[i] = vt_set1(0.0)
    if body < 0:
        return
    r = mul(pose[body].R, constant3(point))
    i = body
    while i >= 0:
        b = &m.body[i]
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            v = add(v, cross(w, r))
            if local:
                w = tmul(pose[body].R, w)
                v = tmul(pose[body].R, v)
            J[b.iv + k] = w.x
            J[nv + b.iv + k] = w.y
            J[2 * nv + b.iv + k] = w.z
            J[3 * nv + b.iv + k] = v.x
            J[4 * nv + b.iv + k] = v.y
            J[5 * nv + b.iv + k] = v.z
        r = add(r, pose[i].t)
        i = b.parent
