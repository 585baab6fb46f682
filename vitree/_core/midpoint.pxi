# The midpoint variational integrator of Johnson & Murphey 2009 on one-coordinate joints, with
# residual and exact Newton direction in O(n).
#
# q_m = (1 - a) q1 + a q2, rate = (q2 - q1)/h, Ld = h L(q_m, rate). One sweep at q_m gives both
# derivatives of L: with V the body twist, pi the momentum and gam the gravity wrench of the subtree,
# dL/drate = S.pi and dL/dq = S.(ad_V^T pi + gam). The unknown is the increment y = q2 - q1. World axes,
# each body's own origin; twists (w, v), wrenches (n, f).

cdef struct MidBody:
    Mat3 R
    Vec3 t
    Vec3 c              # from the origin to the COM
    Sym3 I              # about the COM
    Vec3 w
    Vec3 v              # velocity of the origin
    Vec3 n              # momentum of the subtree
    Vec3 f
    Vec3 gn             # gravity and wrenches on the subtree
    Vec3 gf


cdef struct MidSolve:
    Mat3 A[16]          # (dn, df, dgn, dgf) by (eta_w, eta_v, dV_w, dV_v), in rows of four
    Vec3 Gam[4]
    Vec3 R[4]
    Vec3 l[4]
    Vec3 u[4]
    Vec3 b[4]
    Vec3 x[4]
    vt_real Dinv
    vt_real rb


cdef void mid_forward(const vt_model* m, double h, double alpha, const vt_real* q1, const vt_real* y,
                      vt_real* qm, MidBody* x) noexcept nogil:
    # poses, twists, momenta and weights of the bodies at q_m, of joints that all have one coordinate
    cdef int i
    cdef const vt_body* b
    cdef MidBody* s
    cdef MidBody* up
    cdef Mat3 R
    cdef Vec3 p, sw, sv
    cdef vt_real rate, inverse = vt_set1(1.0 / h)
    for i in range(m.nv):
        qm[i] = q1[i] + alpha * y[i]
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        joint_pose(b, qm, &R, &p)
        if b.parent >= 0:
            up = &x[b.parent]
            R = mul3(up.R, R)
            p = mul(up.R, p)
            s.w = up.w
            s.v = add(up.v, cross(up.w, p))
        else:
            s.w = zero3()
            s.v = zero3()
        s.R = R
        s.t = p
        rate = inverse * y[b.iv]
        joint_column(b, R, 0, &sw, &sv)
        s.w = axpy(rate, sw, s.w)
        s.v = axpy(rate, sv, s.v)
        s.c = mul(R, constant3(b.com))
        s.I = rotate_sym(R, constant_sym(b.Ic))
        s.f = scale(vt_set1(b.mass), add(s.v, cross(s.w, s.c)))
        s.n = add(symmul(s.I, s.w), cross(s.c, s.f))
        s.gf = scale(vt_set1(b.mass), constant3(m.g))
        s.gn = cross(s.c, s.gf)


cdef void mid_backward(const vt_model* m, const vt_real* wrench, MidBody* x, vt_real* L_rate,
                       vt_real* L_q) noexcept nogil:
    # both derivatives of the Lagrangian, (nv,) each, with the generalised force of wrenches on the
    # bodies, (nbody, 6) about their origins or NULL
    cdef int i
    cdef const vt_body* b
    cdef MidBody* s
    cdef MidBody* up
    cdef Vec3 n, f, sw, sv
    if wrench != NULL:
        for i in range(m.nbody):
            x[i].gn = add(x[i].gn, load3(wrench + 6 * i))
            x[i].gf = add(x[i].gf, load3(wrench + 6 * i + 3))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        joint_column(b, s.R, 0, &sw, &sv)
        L_rate[b.iv] = dot(sw, s.n) + dot(sv, s.f)
        n = sub(s.gn, add(cross(s.w, s.n), cross(s.v, s.f)))
        f = sub(s.gf, cross(s.w, s.f))
        L_q[b.iv] = dot(sw, n) + dot(sv, f)
        if b.parent >= 0:
            up = &x[b.parent]
            up.n = add(up.n, add(s.n, cross(s.t, s.f)))
            up.f = add(up.f, s.f)
            up.gn = add(up.gn, add(s.gn, cross(s.t, s.gf)))
            up.gf = add(up.gf, s.gf)


cdef void mid_residual(const vt_model* m, double h, double alpha, const vt_real* y, const vt_real* p1,
                       const vt_real* tau, const vt_real* L_rate, const vt_real* L_q,
                       vt_real* r) noexcept nogil:
    # r = -(p1 + D1 Ld + f-): forces share themselves between the ends as 1 - alpha and alpha
    cdef int k
    cdef double share = 1.0 - alpha
    for k in range(m.nv):
        r[k] = L_rate[k] - p1[k] - share * (h * (L_q[k] + tau[k]) - m.damping[k] * y[k])


cdef void mid_end(const vt_model* m, double h, double alpha, const vt_real* y, const vt_real* r,
                  const vt_real* tau, const vt_real* L_rate, const vt_real* L_q, vt_real* p2) noexcept nogil:
    # p2 = D2 Ld + f+, less what is left of the residual
    cdef int k
    for k in range(m.nv):
        p2[k] = L_rate[k] + alpha * (h * (L_q[k] + tau[k]) - m.damping[k] * y[k]) - r[k]


cdef inline Mat3 load33(const vt_real* a) noexcept nogil:
    cdef Mat3 r
    r.x = load3(a)
    r.y = load3(a + 3)
    r.z = load3(a + 6)
    return r


cdef void mid_factor(const vt_model* m, double h, double alpha, const vt_real* turning, const vt_real* stiffness,
                     const MidBody* x, MidSolve* s) noexcept nogil:
    # eliminate the joints from -dr/dy, leaves to root (12 numbers a body: displacement and change
    # of twist; momentum and gravity wrench). turning: NULL, or (nbody, 27), the change of each body's
    # wrench as its axes see it: of the torque by turns and by moves, of the force by turns.
    # stiffness: NULL, or (nv,), -d(joint force)/dq
    cdef int i, j, k
    cdef const vt_body* b
    cdef const MidBody* a
    cdef MidSolve* e
    cdef MidSolve* up
    cdef Mat3 zero
    cdef Vec3 sw, sv, aw, av, hm, t, n, f
    cdef vt_real D, c1 = vt_set1((1.0 - alpha) * h), inverse = vt_set1(1.0 / h)
    zero = zero33()
    for i in range(m.nbody):
        b = &m.body[i]
        a = &x[i]
        e = &s[i]
        for k in range(16):
            e.A[k] = zero
        hm = scale(vt_set1(b.mass), a.c)
        e.A[2] = full(addsym(a.I, point_inertia(vt_set1(b.mass), a.c)))
        e.A[3] = hat(hm)
        e.A[6] = hat(neg(hm))
        e.A[7] = plus_diagonal(zero, vt_set1(b.mass))
        e.A[8] = cross_mat(hm, hat(constant3(m.g)))
        e.A[12] = hat(scale(vt_set1(b.mass), constant3(m.g)))
        if turning != NULL:
            e.A[8] = add3(e.A[8], load33(turning + 27 * i))
            e.A[9] = add3(e.A[9], load33(turning + 27 * i + 9))
            e.A[12] = add3(e.A[12], load33(turning + 27 * i + 18))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        a = &x[i]
        e = &s[i]
        joint_column(b, a.R, 0, &sw, &sv)
        # ad_V S
        aw = cross(a.w, sw)
        av = add(cross(a.v, sw), cross(a.w, sv))
        e.Gam[0] = scale(vt_set1(alpha), sw)
        e.Gam[1] = scale(vt_set1(alpha), sv)
        e.Gam[2] = add(scale(vt_set1(alpha), aw), scale(inverse, sw))
        e.Gam[3] = add(scale(vt_set1(alpha), av), scale(inverse, sv))
        e.R[0] = sub(scale(c1, aw), sw)
        e.R[1] = sub(scale(c1, av), sv)
        e.R[2] = scale(c1, sw)
        e.R[3] = scale(c1, sv)
        for j in range(4):
            e.l[j] = add(add(tmul(e.A[j], e.R[0]), tmul(e.A[4 + j], e.R[1])),
                         add(tmul(e.A[8 + j], e.R[2]), tmul(e.A[12 + j], e.R[3])))
        n = add(cross(sw, a.n), cross(sv, a.f))
        f = cross(sw, a.f)
        e.l[2] = add(e.l[2], scale(c1, n))
        e.l[3] = add(e.l[3], scale(c1, f))
        for j in range(4):
            e.u[j] = add(add(mul(e.A[4 * j], e.Gam[0]), mul(e.A[4 * j + 1], e.Gam[1])),
                         add(mul(e.A[4 * j + 2], e.Gam[2]), mul(e.A[4 * j + 3], e.Gam[3])))
        # less N = alpha ad_S^T (pi, gam)
        e.u[0] = axpy(vt_set1(alpha), n, e.u[0])
        e.u[1] = axpy(vt_set1(alpha), f, e.u[1])
        e.u[2] = axpy(vt_set1(alpha), add(cross(sw, a.gn), cross(sv, a.gf)), e.u[2])
        e.u[3] = axpy(vt_set1(alpha), cross(sw, a.gf), e.u[3])
        D = dot(e.l[0], e.Gam[0]) + dot(e.l[1], e.Gam[1]) + dot(e.l[2], e.Gam[2]) + dot(e.l[3], e.Gam[3])
        D = D - vt_set1((1.0 - alpha) * m.damping[b.iv])
        if stiffness != NULL:
            D = D - (1.0 - alpha) * alpha * h * stiffness[b.iv]
        e.Dinv = vt_set1(1.0) / D
        if b.locked:
            e.Dinv = vt_set1(0.0)
        if b.parent < 0:
            continue
        up = &s[b.parent]
        for j in range(4):
            for k in range(4):
                e.A[4 * j + k] = outer(-e.Dinv, e.u[j], e.l[k], e.A[4 * j + k])
        # shift to the parent's origin
        t = a.t
        for k in range(4):
            e.A[k] = add3(e.A[k], cross_mat(t, e.A[4 + k]))
            e.A[8 + k] = add3(e.A[8 + k], cross_mat(t, e.A[12 + k]))
        for j in range(4):
            up.A[4 * j] = add3(up.A[4 * j], sub3(e.A[4 * j], mat_cross(e.A[4 * j + 1], t)))
            up.A[4 * j + 1] = add3(up.A[4 * j + 1], e.A[4 * j + 1])
            up.A[4 * j + 2] = add3(up.A[4 * j + 2], sub3(e.A[4 * j + 2], mat_cross(e.A[4 * j + 3], t)))
            up.A[4 * j + 3] = add3(up.A[4 * j + 3], e.A[4 * j + 3])


cdef void mid_solve(const vt_model* m, const MidBody* x, const vt_real* r, MidSolve* s, vt_real* d) noexcept nogil:
    # the increment d of y with (dr/dy) d = -r
    cdef int i, j
    cdef const vt_body* b
    cdef MidSolve* e
    cdef MidSolve* up
    cdef Vec3 t
    cdef vt_real rate
    for i in range(m.nbody):
        for j in range(4):
            s[i].b[j] = zero3()
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        e = &s[i]
        e.rb = r[b.iv] - (dot(e.R[0], e.b[0]) + dot(e.R[1], e.b[1]) + dot(e.R[2], e.b[2]) + dot(e.R[3], e.b[3]))
        if b.parent < 0:
            continue
        up = &s[b.parent]
        rate = e.Dinv * e.rb
        for j in range(4):
            e.b[j] = axpy(rate, e.u[j], e.b[j])
        t = x[i].t
        up.b[0] = add(up.b[0], add(e.b[0], cross(t, e.b[1])))
        up.b[1] = add(up.b[1], e.b[1])
        up.b[2] = add(up.b[2], add(e.b[2], cross(t, e.b[3])))
        up.b[3] = add(up.b[3], e.b[3])
    for i in range(m.nbody):
        b = &m.body[i]
        e = &s[i]
        if b.parent >= 0:
            up = &s[b.parent]
            t = x[i].t
            e.x[0] = up.x[0]
            e.x[1] = add(up.x[1], cross(up.x[0], t))
            e.x[2] = up.x[2]
            e.x[3] = add(up.x[3], cross(up.x[2], t))
        else:
            for j in range(4):
                e.x[j] = zero3()
        rate = e.Dinv * (e.rb - (dot(e.l[0], e.x[0]) + dot(e.l[1], e.x[1]) + dot(e.l[2], e.x[2]) + dot(e.l[3], e.x[3])))
        d[b.iv] = rate
        for j in range(4):
            e.x[j] = axpy(rate, e.Gam[j], e.x[j])
