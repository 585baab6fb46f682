# The midpoint variational integrator of Johnson & Murphey 2009, with residual and exact Newton direction
# in O(n).
#
# The unknown is the increment y: q2 = q1 (+) y, q_m = q1 (+) a y, rate = y/h, Ld = h L(q_m, rate). One sweep
# at q_m gives both derivatives of L: with U the twist before the joint, V that of the body, pi the momentum
# and gam the gravity wrench of the subtree, dL/drate = S.pi and dL/dq = S.(ad_U^T pi + gam), where V may
# stand for U if the joint has one coordinate. World axes, each body's own origin; twists (w, v), wrenches
# (n, f).
#
# On ball and free joints y is a body displacement, (+) is q exp(y), and the joint's own maps come in, all of
# them functions of ad_xi, xi = S y: with F = ad_U^T pi + gam + phi and phi the joint's force,
#     D1 = S.(h Ea^T F - dlog_xi^T pi),  D2 = S.(h Eb^T F + dlog_{-xi}^T pi),
#     Psi = dexp_{-a xi},  Eb = a Psi dlog_{-xi},  Ea = 1 - Eb,
# which are h (1 - a), h a and Psi = 1 on one coordinate.

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


cdef struct MidBig:     # a ball or free joint; its maps and what pulls on it in the body's axes at q_m
    Dual Psi
    Dual dlog
    Dual Ea
    Vec3 n              # pi
    Vec3 f
    Vec3 Fn             # F
    Vec3 Ff
    Vec3 Gam[24]        # the elimination, in fours for each coordinate; world axes
    Vec3 R[24]
    Vec3 W[24]          # D^-1 l
    Vec3 u[24]
    vt_real Dinv[36]
    vt_real rate[6]


cdef inline void put_wrench(const vt_body* b, Vec3 n, Vec3 f, vt_real* out) noexcept nogil:
    # a wrench in a ball's or free joint's own axes as its coordinates have it
    if b.kind == FREE:
        store3(out + b.iv, f)
        store3(out + b.iv + 3, n)
    else:
        store3(out + b.iv, n)


cdef inline void take_wrench(const vt_body* b, const vt_real* from_, Vec3* n, Vec3* f) noexcept nogil:
    # the reverse, for twists as well
    if b.kind == FREE:
        f[0] = load3(from_ + b.iv)
        n[0] = load3(from_ + b.iv + 3)
    else:
        n[0] = load3(from_ + b.iv)
        f[0] = zero3()


cdef void mid_forward(const vt_model* m, double h, double alpha, const vt_real* q1, const vt_real* y,
                      vt_real* qm, MidBody* x) noexcept nogil:
    # poses, twists, momenta and weights of the bodies at q_m
    cdef int i
    cdef const vt_body* b
    cdef MidBody* s
    cdef MidBody* up
    cdef Mat3 R
    cdef Vec3 p, sw, sv
    cdef vt_real rate, inverse = vt_set1(1.0 / h)
    advance(m, q1, vt_set1(alpha), y, qm)
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
        if VT_UNLIKELY(b.kind >= BALL):
            take_wrench(b, y, &sw, &sv)
            s.w = axpy(inverse, mul(R, sw), s.w)
            s.v = axpy(inverse, mul(R, sv), s.v)
        else:
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


cdef inline void before_joint(const vt_model* m, const MidBody* x, int i, Vec3* w, Vec3* v) noexcept nogil:
    # the twist U that body i would have if its joint did not move
    cdef const MidBody* up
    if m.body[i].parent < 0:
        w[0] = zero3()
        v[0] = zero3()
        return
    up = &x[m.body[i].parent]
    w[0] = up.w
    v[0] = add(up.v, cross(up.w, x[i].t))


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
        if VT_UNLIKELY(b.kind >= BALL):
            mid_backward_big(m, i, x, L_rate, L_q)
        else:
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


cdef void mid_backward_big(const vt_model* m, int i, const MidBody* x, vt_real* L_rate, vt_real* L_q) noexcept nogil:
    # of a ball or free joint, as its coordinates have it
    cdef const vt_body* b = &m.body[i]
    cdef const MidBody* s = &x[i]
    cdef Vec3 w, v, n, f
    before_joint(m, x, i, &w, &v)
    n = sub(s.gn, add(cross(w, s.n), cross(v, s.f)))
    f = sub(s.gf, cross(w, s.f))
    put_wrench(b, tmul(s.R, s.n), tmul(s.R, s.f), L_rate)
    put_wrench(b, tmul(s.R, n), tmul(s.R, f), L_q)


cdef void mid_residual(const vt_model* m, double h, double alpha, const vt_real* y, const vt_real* p1,
                       const vt_real* tau, const vt_real* L_rate, const vt_real* L_q, MidBig* big,
                       vt_real* r) noexcept nogil:
    # r = -(p1 + D1 Ld + f-): forces share themselves between the ends as 1 - alpha and alpha.
    # Leaves in `big` what the rest of the step takes of the ball and free joints
    cdef int k
    cdef double share = 1.0 - alpha
    for k in range(m.nv):
        r[k] = L_rate[k] - p1[k] - share * (h * (L_q[k] + tau[k]) - m.damping[k] * y[k])
    if m.rubbing:
        add_friction(m, h, y, share, r)
    if m.nmulti:
        for k in range(m.nbody):
            if m.body[k].kind >= BALL:
                mid_residual_big(m, h, alpha, &m.body[k], y, p1, tau, L_rate, L_q, &big[m.body[k].multi], r)


cdef void mid_residual_big(const vt_model* m, double h, double alpha, const vt_body* b, const vt_real* y,
                           const vt_real* p1, const vt_real* tau, const vt_real* L_rate, const vt_real* L_q,
                           MidBig* g, vt_real* r) noexcept nogil:
    # r = dlog_xi^T pi - h Ea^T F - p1
    cdef int k
    cdef vt_real a = vt_set1(-alpha), inverse = vt_set1(1.0 / h)
    cdef Vec3 w, v, n, f, en, ef
    cdef Dual Eb
    take_wrench(b, y, &w, &v)
    g.Psi = dexp_dual(scale(a, w), scale(a, v))
    g.dlog = dlog_dual(w, v)
    Eb = dual_mul(g.Psi, dual_transpose(g.dlog))
    g.Ea.d = plus_diagonal(add_scaled(a, Eb.d, zero33()), vt_set1(1.0))
    g.Ea.e = add_scaled(a, Eb.e, zero33())
    take_wrench(b, L_rate, &g.n, &g.f)
    for k in range(joint_nv(b)):
        r[b.iv + k] = L_q[b.iv + k] + tau[b.iv + k] - m.damping[b.iv + k] * inverse * y[b.iv + k]
    take_wrench(b, r, &g.Fn, &g.Ff)
    dual_pull(g.dlog, g.n, g.f, &n, &f)
    dual_pull(g.Ea, g.Fn, g.Ff, &en, &ef)
    put_wrench(b, axpy(vt_set1(-h), en, n), axpy(vt_set1(-h), ef, f), r)
    for k in range(joint_nv(b)):
        r[b.iv + k] = r[b.iv + k] - p1[b.iv + k]


cdef void mid_end(const vt_model* m, double h, double alpha, const vt_real* y, const vt_real* r,
                  const vt_real* tau, const vt_real* L_rate, const vt_real* L_q, const MidBig* big,
                  vt_real* p2) noexcept nogil:
    # p2 = D2 Ld + f+, less what is left of the residual
    cdef int k
    for k in range(m.nv):
        p2[k] = L_rate[k] + alpha * (h * (L_q[k] + tau[k]) - m.damping[k] * y[k]) - r[k]
    if m.rubbing:
        add_friction(m, h, y, -alpha, p2)
    if m.nmulti:
        for k in range(m.nbody):
            if m.body[k].kind >= BALL:
                mid_end_big(h, &m.body[k], y, r, &big[m.body[k].multi], p2)


cdef void mid_end_big(double h, const vt_body* b, const vt_real* y, const vt_real* r, const MidBig* g,
                      vt_real* p2) noexcept nogil:
    # p2 = h (F - Ea^T F) + dlog_{-xi}^T pi - Ad_{exp xi}^T r: what is left of the residual is a wrench fixed
    # in the world, so that the momentum of a floating tree stays to round-off at any tolerance
    cdef Vec3 w, v, n, f, en, ef, rn, rf, move
    cdef Quat turn
    cdef Mat3 T
    dual_pull(g.Ea, g.Fn, g.Ff, &en, &ef)
    dual_pull(dual_transpose(g.dlog), g.n, g.f, &n, &f)
    n = axpy(vt_set1(h), sub(g.Fn, en), n)
    f = axpy(vt_set1(h), sub(g.Ff, ef), f)
    take_wrench(b, y, &w, &v)
    take_wrench(b, r, &rn, &rf)
    exp_se3(w, v, &turn, &move)
    T = quat_matrix(turn)
    put_wrench(b, sub(n, tmul(T, sub(rn, cross(move, rf)))), sub(f, tmul(T, rf)), p2)


cdef inline void mid_row(const vt_model* m, const MidBig* big, bint ends, double share, vt_real* row) noexcept nogil:
    # a row (nv,) by body displacements at q_m: its product with d(q_m)/dy over alpha, or if `ends` with Ea
    # (1 - alpha, called share, on one coordinate), by which forces at q_m act on the start
    cdef int i, k
    cdef const vt_body* b
    cdef Vec3 n, f
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind >= BALL:
            take_wrench(b, row, &n, &f)
            if ends:
                dual_pull(big[b.multi].Ea, n, f, &n, &f)
            else:
                dual_pull(big[b.multi].Psi, n, f, &n, &f)
            put_wrench(b, n, f, row)
        elif ends:
            row[b.iv] = share * row[b.iv]


cdef void mid_end_row(const vt_model* m, const vt_real* y, vt_real* row) noexcept nogil:
    # a row (nv,) by body displacements at q2 becomes one by y
    cdef int i
    cdef const vt_body* b
    cdef Vec3 n, f, w, v
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind >= BALL:
            take_wrench(b, y, &w, &v)
            take_wrench(b, row, &n, &f)
            dual_pull(dexp_dual(neg(w), neg(v)), n, f, &n, &f)
            put_wrench(b, n, f, row)


cdef inline bint mid_turned(const vt_model* m, const double* y) noexcept nogil:
    # whether a ball or free joint turns by nearly a whole turn or more: at one its maps are singular
    cdef int i
    cdef const double* w
    if m.nmulti:
        for i in range(m.nbody):
            w = y + m.body[i].iv + (3 if m.body[i].kind == FREE else 0)
            if m.body[i].kind >= BALL and not w[0] * w[0] + w[1] * w[1] + w[2] * w[2] < 39.0:
                return True
    return False


cdef inline Mat3 load33(const vt_real* a) noexcept nogil:
    cdef Mat3 r
    r.x = load3(a)
    r.y = load3(a + 3)
    r.z = load3(a + 6)
    return r


cdef void mid_factor(const vt_model* m, double h, double alpha, const vt_real* y, const vt_real* turning,
                     const vt_real* stiffness, const MidBody* x, MidSolve* s, MidBig* big,
                     bint eliminate) noexcept nogil:
    # eliminate the joints from -dr/dy, leaves to root (12 numbers a body: displacement and change
    # of twist; momentum and gravity wrench). turning: NULL, or (nbody, 27), the change of each body's
    # wrench as its axes see it: of the torque by turns and by moves, of the force by turns.
    # stiffness: NULL, or (nv,), -d(joint force)/dq. If not to eliminate, u and l are of the whole subtree,
    # rb of a joint its own entry of the matrix, and likewise Dinv of a ball or free joint
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
        if VT_UNLIKELY(b.kind >= BALL):
            mid_factor_big(m, h, alpha, i, y, x, e, &big[b.multi], eliminate)
            if b.parent >= 0:
                mid_hand_down(a.t, e, &s[b.parent])
            continue
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
        if m.rubbing:
            D = D - (1.0 - alpha) * friction_slope(m, b.iv, inverse * y[b.iv])
        if stiffness != NULL:
            D = D - (1.0 - alpha) * alpha * h * stiffness[b.iv]
        e.rb = D
        e.Dinv = vt_set1(1.0) / D
        if b.locked or not eliminate:
            e.Dinv = vt_set1(0.0)
        if b.parent < 0:
            continue
        up = &s[b.parent]
        for j in range(4):
            for k in range(4):
                e.A[4 * j + k] = outer(-e.Dinv, e.u[j], e.l[k], e.A[4 * j + k])
        mid_hand_down(a.t, e, up)


cdef inline void mid_hand_down(Vec3 t, MidSolve* e, MidSolve* up) noexcept nogil:
    # add to the parent's, shifted to its origin
    cdef int j, k
    for k in range(4):
        e.A[k] = add3(e.A[k], cross_mat(t, e.A[4 + k]))
        e.A[8 + k] = add3(e.A[8 + k], cross_mat(t, e.A[12 + k]))
    for j in range(4):
        up.A[4 * j] = add3(up.A[4 * j], sub3(e.A[4 * j], mat_cross(e.A[4 * j + 1], t)))
        up.A[4 * j + 1] = add3(up.A[4 * j + 1], e.A[4 * j + 1])
        up.A[4 * j + 2] = add3(up.A[4 * j + 2], sub3(e.A[4 * j + 2], mat_cross(e.A[4 * j + 3], t)))
        up.A[4 * j + 3] = add3(up.A[4 * j + 3], e.A[4 * j + 3])


cdef inline void joint_twist(const vt_body* b, Mat3 R, Dual A, int k, Vec3* w, Vec3* v) noexcept nogil:
    # A s in world axes, s the twist of a ball's or free joint's k-th coordinate
    if b.kind == FREE and k < 3:
        w[0] = zero3()
        v[0] = mul(R, column(A.d, k))
    else:
        w[0] = mul(R, column(A.d, k % 3))
        v[0] = mul(R, column(A.e, k % 3))


cdef inline void pull_back(Vec3 w, Vec3 v, Vec3 n, Vec3 f, Vec3* pn, Vec3* pf) noexcept nogil:
    # -ad_(w,v)^T (n, f)
    pn[0] = add(cross(w, n), cross(v, f))
    pf[0] = cross(w, f)


cdef void mid_factor_big(const vt_model* m, double h, double alpha, int i, const vt_real* y, const MidBody* x,
                         MidSolve* e, MidBig* g, bint eliminate) noexcept nogil:
    # the same for a ball or free joint, k x k; leaves in e what the parent feels, about the body's own origin
    cdef const vt_body* b = &m.body[i]
    cdef const MidBody* a = &x[i]
    cdef int j, k, c, nd = b.nv
    cdef Vec3 uw, uv, w, v, n, f, xw, xv
    cdef Vec3 l[24]
    cdef vt_real inverse = vt_set1(1.0 / h), alf = vt_set1(alpha), d
    cdef vt_real H[36]      # (angular, linear)
    cdef Bend Q, T
    cdef Dual one
    cdef int order[6]       # position in (angular, linear) of the joint's k-th coordinate
    for k in range(6):
        order[k] = k if b.kind == BALL else (k + 3) % 6
    before_joint(m, x, i, &uw, &uv)
    one.d = identity3()
    one.e = zero33()
    for k in range(nd):
        joint_twist(b, a.R, g.Psi, k, &w, &v)
        w = scale(alf, w)
        v = scale(alf, v)
        joint_twist(b, a.R, one, k, &n, &f)
        g.Gam[4 * k] = w
        g.Gam[4 * k + 1] = v
        g.Gam[4 * k + 2] = axpy(inverse, n, cross(uw, w))
        g.Gam[4 * k + 3] = axpy(inverse, f, add(cross(uv, w), cross(uw, v)))
        if b.parent >= 0:
            for j in range(4):
                g.u[4 * k + j] = add(add(mul(e.A[4 * j], g.Gam[4 * k]), mul(e.A[4 * j + 1], g.Gam[4 * k + 1])),
                                     add(mul(e.A[4 * j + 2], g.Gam[4 * k + 2]), mul(e.A[4 * j + 3], g.Gam[4 * k + 3])))
            # less N = alpha (Pm(pi) S Psi, Pm(gam) S Psi)
            pull_back(w, v, a.n, a.f, &n, &f)
            g.u[4 * k] = add(g.u[4 * k], n)
            g.u[4 * k + 1] = add(g.u[4 * k + 1], f)
            pull_back(w, v, a.gn, a.gf, &n, &f)
            g.u[4 * k + 2] = add(g.u[4 * k + 2], n)
            g.u[4 * k + 3] = add(g.u[4 * k + 3], f)
        # rows h ad_U Ea S - dlog S and h Ea S
        joint_twist(b, a.R, g.Ea, k, &w, &v)
        w = scale(vt_set1(h), w)
        v = scale(vt_set1(h), v)
        joint_twist(b, a.R, g.dlog, k, &n, &f)
        g.R[4 * k] = sub(cross(uw, w), n)
        g.R[4 * k + 1] = sub(add(cross(uv, w), cross(uw, v)), f)
        g.R[4 * k + 2] = w
        g.R[4 * k + 3] = v
        for j in range(4):
            l[4 * k + j] = add(add(tmul(e.A[j], g.R[4 * k]), tmul(e.A[4 + j], g.R[4 * k + 1])),
                               add(tmul(e.A[8 + j], g.R[4 * k + 2]), tmul(e.A[12 + j], g.R[4 * k + 3])))
        pull_back(w, v, a.n, a.f, &n, &f)
        l[4 * k + 2] = add(l[4 * k + 2], n)
        l[4 * k + 3] = add(l[4 * k + 3], f)
    # the second-order part H of the joint's own maps (mathematics of D1, by y at fixed wrenches)
    take_wrench(b, y, &xw, &xv)
    dual_pull(g.Psi, g.Fn, g.Ff, &w, &v)
    Q = bend_pull(g.Psi, ddlog_pull(scale(-alf, xw), scale(-alf, xv), w, v))
    T = ddlog_pull(xw, xv, axpy(h * alf, w, g.n), axpy(h * alf, v, g.f))
    T = bend_axpy(h * alf * alf, bend_pull(g.dlog, Q), T)
    # Ad_{exp(-a xi)} = Ea + a Psi dlog_xi
    one = dual_mul(g.Psi, g.dlog)
    one.d = add_scaled(alf, one.d, g.Ea.d)
    one.e = add_scaled(alf, one.e, g.Ea.e)
    T = bend_axpy(h * alf, bend_pull(one, bend_push(bend_of(g.Fn, g.Ff), g.Psi)), T)
    T = bend_axpy(vt_set1(1.0), bend_pull(g.Ea, bend_of(g.n, g.f)), T)
    put_matrix(T.M, &H[0], 6)
    put_matrix(T.K, &H[3], 6)
    put_matrix(T.K, &H[18], 6)
    put_matrix(zero33(), &H[21], 6)
    for j in range(nd):
        for k in range(nd):
            d = -H[6 * order[j] + order[k]]
            for c in range(4):
                d = d + dot(l[4 * j + c], g.Gam[4 * k + c])
            g.Dinv[j * nd + k] = d
    if m.damped:
        put_matrix(transpose(g.Ea.d), &H[0], 6)
        put_matrix(transpose(g.Ea.e), &H[3], 6)
        put_matrix(zero33(), &H[18], 6)
        put_matrix(transpose(g.Ea.d), &H[21], 6)
        for j in range(nd):
            for k in range(nd):
                g.Dinv[j * nd + k] = g.Dinv[j * nd + k] - m.damping[b.iv + k] * H[6 * order[j] + order[k]]
    if not eliminate:
        for k in range(4 * nd):
            g.W[k] = l[k]
        return
    invert(g.Dinv, nd)
    if b.parent < 0:
        return
    for k in range(nd):
        for j in range(4):
            n = scale(g.Dinv[k * nd], l[j])
            for c in range(1, nd):
                n = axpy(g.Dinv[k * nd + c], l[4 * c + j], n)
            g.W[4 * k + j] = n
    for k in range(nd):
        for j in range(4):
            for c in range(4):
                e.A[4 * j + c] = outer(vt_set1(-1.0), g.u[4 * k + j], g.W[4 * k + c], e.A[4 * j + c])


cdef void mid_jacobian(const vt_model* m, const MidBody* x, const MidSolve* s, const MidBig* big,
                       vt_real* J) noexcept nogil:
    # J (nv, nv) = -dr/dy, from what mid_factor leaves where it does not eliminate and the paths to the root
    cdef int i, j, k, c, e, nd
    cdef const vt_body* b
    cdef const vt_body* a
    cdef Vec3 u[4]
    cdef Vec3 l[4]
    cdef const Vec3* R
    cdef const Vec3* Gam
    cdef vt_real row, col
    for k in range(m.nv * m.nv):
        J[k] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        nd = b.nv
        for k in range(nd):
            for c in range(nd):
                J[(b.iv + k) * m.nv + b.iv + c] = s[i].rb if b.kind < BALL else big[b.multi].Dinv[k * nd + c]
            for c in range(4):
                u[c] = s[i].u[c] if b.kind < BALL else big[b.multi].u[4 * k + c]
                l[c] = s[i].l[c] if b.kind < BALL else big[b.multi].W[4 * k + c]
            j = i
            while m.body[j].parent >= 0:
                # about the parent's origin
                for c in range(0, 4, 2):
                    u[c] = add(u[c], cross(x[j].t, u[c + 1]))
                    l[c] = add(l[c], cross(x[j].t, l[c + 1]))
                j = m.body[j].parent
                a = &m.body[j]
                for e in range(joint_nv(a)):
                    R = &s[j].R[0] if a.kind < BALL else &big[a.multi].R[4 * e]
                    Gam = &s[j].Gam[0] if a.kind < BALL else &big[a.multi].Gam[4 * e]
                    col = dot(R[0], u[0]) + dot(R[1], u[1]) + dot(R[2], u[2]) + dot(R[3], u[3])
                    row = dot(l[0], Gam[0]) + dot(l[1], Gam[1]) + dot(l[2], Gam[2]) + dot(l[3], Gam[3])
                    J[(a.iv + e) * m.nv + b.iv + k] = col
                    J[(b.iv + k) * m.nv + a.iv + e] = row


cdef void mid_solve(const vt_model* m, const MidBody* x, const vt_real* r, MidSolve* s, MidBig* big,
                    vt_real* d) noexcept nogil:
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
        if not VT_UNLIKELY(b.kind >= BALL):
            e.rb = r[b.iv] - (dot(e.R[0], e.b[0]) + dot(e.R[1], e.b[1]) + dot(e.R[2], e.b[2]) + dot(e.R[3], e.b[3]))
            if b.parent < 0:
                continue
            rate = e.Dinv * e.rb
            for j in range(4):
                e.b[j] = axpy(rate, e.u[j], e.b[j])
        else:
            mid_solve_big(b, r, e, &big[b.multi])
            if b.parent < 0:
                continue
        up = &s[b.parent]
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
        if VT_UNLIKELY(b.kind >= BALL):
            mid_advance_big(b, &big[b.multi], e, d)
            continue
        rate = e.Dinv * (e.rb - (dot(e.l[0], e.x[0]) + dot(e.l[1], e.x[1]) + dot(e.l[2], e.x[2]) + dot(e.l[3], e.x[3])))
        d[b.iv] = rate
        for j in range(4):
            e.x[j] = axpy(rate, e.Gam[j], e.x[j])


cdef void mid_solve_big(const vt_body* b, const vt_real* r, MidSolve* e, MidBig* g) noexcept nogil:
    # a ball or free joint on the way to the root
    cdef int j, k, c, nd = b.nv
    cdef vt_real rb[6]
    cdef vt_real s
    for k in range(nd):
        s = r[b.iv + k]
        for j in range(4):
            s = s - dot(g.R[4 * k + j], e.b[j])
        rb[k] = s
    for k in range(nd):
        s = g.Dinv[k * nd] * rb[0]
        for c in range(1, nd):
            s = s + g.Dinv[k * nd + c] * rb[c]
        g.rate[k] = s
    if b.parent >= 0:
        for k in range(nd):
            for j in range(4):
                e.b[j] = axpy(g.rate[k], g.u[4 * k + j], e.b[j])


cdef void mid_advance_big(const vt_body* b, const MidBig* g, MidSolve* e, vt_real* d) noexcept nogil:
    # the same on the way to the leaves
    cdef int j, k
    cdef vt_real s
    for k in range(joint_nv(b)):
        s = g.rate[k]
        if b.parent >= 0:
            for j in range(4):
                s = s - dot(g.W[4 * k + j], e.x[j])
        d[b.iv + k] = s
    for k in range(joint_nv(b)):
        for j in range(4):
            e.x[j] = axpy(d[b.iv + k], g.Gam[4 * k + j], e.x[j])
