# The linear-time variational integrator: the Lie-group trapezoid of Lee, Liu, Park & Srinivasa 2016,
# its residual (DRNEA) and the exact Newton direction, both O(n).
#
# A body's average twist over a step enters only through two vectors in world axes: w, the rotation
# vector that turns the body from node 1 to node 2, and p, the displacement of its COM. With
# psi = (theta/2)^2/sin^2(theta/2) and kappa = (1 - psi)/theta^2 the discrete kinetic energy is
#     Ld = (1/2h) [ w.I1 w + m (psi p.p + kappa (w.p)^2) ],    I1 = inertia about the COM at node 1,
# which is the (h/2) V.G V of the paper, V = log(X_1^-1 X_2)/h, for any reference point. The momentum
# is a force f = dLd/dp and a torque n = dlog_{-w} g, g = dLd/dw, about the COM at node 2; the same
# wrench, fixed in the world, is the momentum at node 1. Everything here is multiplied by h, so that
# nothing is divided by it; displacements are propagated as such (D - 1, never the difference of two
# poses), so the residual's floor does not depend on h.

cdef struct Node:       # a body at a node; world axes
    Mat3 R
    Vec3 t              # from the parent's origin to this body's
    Vec3 c              # from there to the COM
    Sym3 I              # inertia about the COM


cdef struct Trial:      # a body's motion over a trial step; world axes
    Quat D              # turns node 1's axes into node 2's
    Mat3 M              # D - 1
    Vec3 move           # displacement of the body's origin
    Vec3 w
    Vec3 p
    Vec3 f              # dLd/dp
    Vec3 g              # dLd/dw
    Vec3 n              # torque about the COM at node 2
    vt_real sine        # of half a rotating joint's increment
    vt_real cosine
    vt_real g0          # (theta/2) cot(theta/2)
    vt_real gamma
    vt_real kappa
    vt_real kappa1
    Vec3 N              # sum over the subtree, about the body's origin at the node in question
    Vec3 F


cdef struct Gains:      # the eliminated joint of a body, in body axes (node 1 for U, node 2 for W)
    Vec3 Un
    Vec3 Uf
    Vec3 Wn
    Vec3 Wf
    vt_real Dinv


cdef struct BigGains:   # the same for a ball or free joint; rows and columns as its coordinates
    vt_real U[36]       # (6, nd)
    vt_real W[36]       # (nd, 6)
    vt_real Dinv[36]    # (nd, nd)


cdef struct Solve:      # intermediate results of the elimination and of the back-substitution
    Mat3 A11            # wrench (n, f) at node 1 by displacement (w, v) at node 2, about the origin
    Mat3 A12
    Mat3 A21
    Mat3 A22
    Vec3 n
    Vec3 f
    Vec3 w
    Vec3 v
    vt_real u[6]


cdef inline Mat3 turn_minus_one(Quat D) noexcept nogil:
    # R(D) - 1 to full relative precision
    cdef Mat3 r
    cdef vt_real x = D.x + D.x, y = D.y + D.y, z = D.z + D.z
    cdef vt_real xx = x * D.x, yy = y * D.y, zz = z * D.z, xy = x * D.y, xz = x * D.z, yz = y * D.z
    x = x * D.w
    y = y * D.w
    z = z * D.w
    r.x = vec3(-(yy + zz), xy + z, xz - y)
    r.y = vec3(xy - z, -(xx + zz), yz + x)
    r.z = vec3(xz + y, yz - x, -(xx + yy))
    return r


cdef void lt_node(const vt_model* m, const vt_real* q, Node* x) noexcept nogil:
    cdef int i
    cdef const vt_body* b
    cdef Mat3 R
    cdef Vec3 p
    for i in range(m.nbody):
        b = &m.body[i]
        joint_pose(b, q, &R, &p)
        if b.parent >= 0:
            R = mul3(x[b.parent].R, R)
            p = mul(x[b.parent].R, p)
        x[i].R = R
        x[i].t = p
        x[i].c = mul(R, constant3(b.com))
        x[i].I = rotate_sym(R, constant_sym(b.Ic))


cdef void lt_weight(const vt_model* m, const Node* x, const vt_real* wrench, Solve* s, vt_real* weight) noexcept nogil:
    # generalised force of gravity and of wrenches on the bodies, (nbody, 6) about their origins or NULL
    cdef int i
    cdef const vt_body* b
    cdef Vec3 n, f
    if wrench == NULL and m.g[0] == 0.0 and m.g[1] == 0.0 and m.g[2] == 0.0:
        for i in range(m.nv):
            weight[i] = vt_set1(0.0)
        return
    for i in range(m.nbody):
        b = &m.body[i]
        s[i].f = scale(vt_set1(b.mass), constant3(m.g))
        s[i].n = cross(x[i].c, s[i].f)
        if wrench != NULL:
            s[i].n = add(s[i].n, load3(wrench + 6 * i))
            s[i].f = add(s[i].f, load3(wrench + 6 * i + 3))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        n = s[i].n
        f = s[i].f
        lt_project(b, &x[i], n, f, weight)
        if b.parent >= 0:
            s[b.parent].n = add(s[b.parent].n, add(n, cross(x[i].t, f)))
            s[b.parent].f = add(s[b.parent].f, f)


cdef inline void lt_project(const vt_body* b, const Node* x, Vec3 n, Vec3 f, vt_real* out) noexcept nogil:
    # S^T (n, f)
    if b.kind == REVOLUTE:
        out[b.iv] = dot(x.R.z, n)
    elif b.kind == PRISMATIC:
        out[b.iv] = dot(x.R.z, f)
    elif b.kind == HELICAL:
        out[b.iv] = dot(x.R.z, n) + b.pitch * dot(x.R.z, f)
    elif b.kind == BALL:
        store3(out + b.iv, tmul(x.R, n))
    else:
        store3(out + b.iv, tmul(x.R, f))
        store3(out + b.iv + 3, tmul(x.R, n))


cdef void lt_trial(const vt_model* m, const Node* x, const vt_real* y, Trial* z, vt_real* least) noexcept nogil:
    # the motion of all bodies for joint increments y, and its momenta.
    # least: the smallest cosine of half a body's turn; the step is valid while it is positive
    cdef int i
    cdef const vt_body* b
    cdef Trial* s
    cdef const Trial* up
    cdef Quat D, J
    cdef Vec3 move
    # half angles first: independent of each other, so that their latencies overlap
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == REVOLUTE or b.kind == HELICAL:
            vt_sincos(0.5 * y[b.iv], &z[i].sine, &z[i].cosine)
    least[0] = vt_set1(1.0)
    for i in range(m.nbody):
        b = &m.body[i]
        s = &z[i]
        # displacement of the point of the parent that is this body's origin at node 1, and
        # what the joint adds to it; likewise the turn
        move = zero3()
        if b.kind == REVOLUTE:
            J = quat(scale(s.sine, x[i].R.z), s.cosine)
        elif b.kind == PRISMATIC:
            move = scale(y[b.iv], x[i].R.z)
            J = quat(zero3(), vt_set1(1.0))
        elif b.kind == HELICAL:
            J = quat(scale(s.sine, x[i].R.z), s.cosine)
            move = scale(b.pitch * y[b.iv], x[i].R.z)
        elif b.kind == BALL:
            J = exp_quat(load3(y + b.iv))
            J = quat(mul(x[i].R, quat_vec(J)), J.w)
        else:
            J = exp_quat(load3(y + b.iv + 3))
            J = quat(mul(x[i].R, quat_vec(J)), J.w)
            move = mul(x[i].R, load3(y + b.iv))
        if b.parent >= 0:
            up = &z[b.parent]
            if b.kind == PRISMATIC:
                D = up.D
            else:
                D = quat_mul(up.D, J)
            if b.kind != REVOLUTE and b.kind != BALL:
                move = add(move, mul(up.M, move))
            move = add(move, add(up.move, mul(up.M, x[i].t)))
        else:
            D = J
        s.D = D
        s.move = move
        s.M = turn_minus_one(D)
        least[0] = vt_select(vt_lt(D.w, least[0]), D.w, least[0])
    lt_momenta(m, x, z)


cdef inline void lt_momenta(const vt_model* m, const Node* x, Trial* z) noexcept nogil:
    # each body's own momentum, from its motion
    cdef int i
    cdef const vt_body* b
    cdef Trial* s
    cdef Quat D
    cdef Vec3 Iw
    cdef vt_real mass, ratio, ss, psi, psi1, wp, pp
    for i in range(m.nbody):
        b = &m.body[i]
        s = &z[i]
        if not b.inert:
            s.f = zero3()
            s.n = zero3()
            s.N = zero3()
            s.F = zero3()
            continue
        mass = vt_set1(b.mass)
        D = s.D
        s.p = add(s.move, mul(s.M, x[i].c))
        # rotation vector and the functions of its length
        ratio = vt_half_angle_ratio(D.x * D.x + D.y * D.y + D.z * D.z, D.w)
        s.w = scale(2.0 * ratio, quat_vec(D))
        s.g0 = ratio * D.w
        ss = dot(s.w, s.w)
        vt_log_coefficients(ss, s.g0, &s.gamma, &s.kappa, &s.kappa1)
        psi = 1.0 - s.kappa * ss
        psi1 = 2.0 * psi * s.gamma
        wp = dot(s.w, s.p)
        pp = dot(s.p, s.p)
        s.f = add(scale(mass * psi, s.p), scale(mass * s.kappa * wp, s.w))
        Iw = symmul(x[i].I, s.w)
        s.g = add(axpy(0.5 * mass * (psi1 * pp + s.kappa1 * (wp * wp)), s.w, Iw),
                  scale(mass * s.kappa * wp, s.p))
        s.n = dlog_so3(neg(s.w), s.gamma, s.g)
        s.N = add(s.n, cross(add(x[i].c, s.p), s.f))
        s.F = s.f


cdef void lt_residual(const vt_model* m, double h, const Node* x, const vt_real* y, const vt_real* rhs,
                      Trial* z, vt_real* r) noexcept nogil:
    # r = projected momentum at node 1 + (damping/2) y + half of friction - rhs; rhs = p1 + (h/2) forces at node 1.
    # N, F of the trial become sums over subtrees
    cdef int i, k
    cdef const vt_body* b
    cdef vt_real inverse = vt_set1(1.0 / h)
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        lt_project(b, &x[i], z[i].N, z[i].F, r)
        if b.parent >= 0:
            z[b.parent].N = add(z[b.parent].N, add(z[i].N, cross(x[i].t, z[i].F)))
            z[b.parent].F = add(z[b.parent].F, z[i].F)
    for k in range(m.nv):
        r[k] = inverse * r[k] - rhs[k]
    if m.damped:
        for i in range(m.nbody):
            lt_damp(m, &m.body[i], y, vt_set1(0.5), r)
    if m.rubbing:
        add_friction(m, h, y, 0.5, r)


cdef inline void lt_damp(const vt_model* m, const vt_body* b, const vt_real* y, vt_real s,
                         vt_real* out) noexcept nogil:
    # out += s damping * displacement, the logarithm of the joint's motion: the same seen from both nodes
    cdef int k
    cdef Vec3 d
    cdef vt_real e[6]
    if b.kind < BALL:
        out[b.iv] = out[b.iv] + s * m.damping[b.iv] * y[b.iv]
        return
    if b.kind == FREE:
        d = load3(y + b.iv + 3)
        store3(e, dlog(d, load3(y + b.iv)))
        store3(&e[3], d)
    else:
        store3(e, load3(y + b.iv))
    for k in range(joint_nv(b)):
        out[b.iv + k] = out[b.iv + k] + s * m.damping[b.iv + k] * e[k]


cdef void lt_end(const vt_model* m, double h, const Node* x2, const vt_real* y, const vt_real* r,
                 const vt_real* force, const Trial* z, vt_real* p2) noexcept nogil:
    # p2 = projected momentum at node 2 + (h/2) force - (damping/2) y - half of friction - what is left of the residual
    # (which makes the step exact from p1 + r: momentum is kept to round-off at any tolerance).
    # z holds the subtrees' momenta about the origins at node 1, as lt_residual leaves them
    cdef int i, k
    cdef const vt_body* b
    cdef vt_real inverse = vt_set1(1.0 / h), half = vt_set1(0.5 * h)
    for i in range(m.nbody):
        lt_project(&m.body[i], &x2[i], sub(z[i].N, cross(z[i].move, z[i].F)), z[i].F, p2)
    for k in range(m.nv):
        p2[k] = inverse * p2[k] + half * force[k]
    for i in range(m.nbody):
        b = &m.body[i]
        if m.damped:
            lt_damp(m, b, y, vt_set1(-0.5), p2)
        lt_carry(b, y, r, p2)
    if m.rubbing:
        add_friction(m, h, y, -0.5, p2)


cdef inline void lt_carry(const vt_body* b, const vt_real* y, const vt_real* r, vt_real* p2) noexcept nogil:
    # p2 -= r, a free joint's residual being a wrench fixed in the world, acting where the body was
    cdef Mat3 T
    cdef Vec3 f
    if b.kind < BALL:
        p2[b.iv] = p2[b.iv] - r[b.iv]
    elif b.kind == BALL:
        T = quat_matrix(exp_quat(load3(y + b.iv)))
        store3(p2 + b.iv, sub(load3(p2 + b.iv), tmul(T, load3(r + b.iv))))
    else:
        T = quat_matrix(exp_quat(load3(y + b.iv + 3)))      # node 2's axes in node 1's
        f = load3(r + b.iv)
        store3(p2 + b.iv, sub(load3(p2 + b.iv), tmul(T, f)))
        f = sub(load3(r + b.iv + 3), cross(load3(y + b.iv), f))
        store3(p2 + b.iv + 3, sub(load3(p2 + b.iv + 3), tmul(T, f)))


# ---- the exact direction ------------------------------------------------------------------------

cdef inline void add_shifted(Solve* s, Mat3 A11, Mat3 A12, Mat3 A21, Mat3 A22, Vec3 a, Vec3 b) noexcept nogil:
    # add a block given about points that are a (node 1, rows) and b (node 2, columns) away
    A11 = sub3(A11, mat_cross(A12, b))
    A12 = add3(A12, cross_mat(a, A22))
    A21 = sub3(A21, mat_cross(A22, b))
    A11 = add3(A11, cross_mat(a, A21))
    s.A11 = add3(s.A11, A11)
    s.A12 = add3(s.A12, A12)
    s.A21 = add3(s.A21, A21)
    s.A22 = add3(s.A22, A22)


cdef inline void lt_body_block(double m, const Node* x, const Trial* z, Solve* s) noexcept nogil:
    # derivative of a body's momentum at node 1 by its displacement at node 2, added to s about the
    # body's origin. First about the COM at node 2: torque n + p x f, force f
    cdef vt_real gamma1, gamma2, kappa2, ss, psi, psi1, psi2, wp, pp, mass = vt_set1(m)
    cdef Mat3 L, fw, gw, K11, zero
    cdef Vec3 wg, c2
    ss = dot(z.w, z.w)
    vt_log_coefficients2(ss, z.g0, z.gamma, z.kappa, z.kappa1, &gamma1, &gamma2, &kappa2)
    psi = 1.0 - z.kappa * ss
    psi1 = 2.0 * psi * z.gamma
    psi2 = 2.0 * psi1 * z.gamma + 2.0 * psi * gamma1
    wp = dot(z.w, z.p)
    pp = dot(z.p, z.p)
    zero = zero33()
    # L = dlog_w
    L = hat(scale(vt_set1(-0.5), z.w))
    L = plus_diagonal(outer(z.gamma, z.w, z.w, L), 1.0 - z.gamma * ss)
    # f by w, g by w
    fw = outer(mass * psi1, z.p, z.w, zero)
    fw = outer(mass * z.kappa1 * wp, z.w, z.w, fw)
    fw = plus_diagonal(outer(mass * z.kappa, z.w, z.p, fw), mass * z.kappa * wp)
    gw = outer(0.5 * mass * (psi2 * pp + kappa2 * (wp * wp)), z.w, z.w, full(x.I))
    gw = outer(mass * z.kappa1 * wp, z.w, z.p, outer(mass * z.kappa1 * wp, z.p, z.w, gw))
    gw = plus_diagonal(outer(mass * z.kappa, z.p, z.p, gw), 0.5 * mass * (psi1 * pp + z.kappa1 * (wp * wp)))
    # n by w: transpose(L) gw + d(dlog_{-w} g)/dw for fixed g
    wg = cross(z.w, z.g)
    K11 = mul3(transpose(L), gw)
    K11 = sub3(K11, hat(axpy(z.gamma, wg, scale(vt_set1(0.5), z.g))))
    # - gamma w^ g^ = gamma ((w.g) 1 - g w^T)
    K11 = plus_diagonal(outer(-z.gamma, z.g, z.w, K11), z.gamma * dot(z.w, z.g))
    K11 = outer(gamma1, cross(z.w, wg), z.w, K11)
    gw = plus_diagonal(outer(mass * z.kappa, z.w, z.w, zero), mass * psi)
    # displacements of the COM at node 2 by (w, v) are w and v, and dlog_w w turns the rotation vector
    c2 = add(x.c, mul(z.M, x.c))
    add_shifted(s, mul3(K11, L), sub3(mul3(transpose(L), transpose(fw)), hat(z.f)), mul3(fw, L), gw,
                add(x.c, z.p), c2)


cdef inline Vec3 turned(const Trial* z, Vec3 a) noexcept nogil:
    # a vector that moves with the body, from node 1 to node 2
    return add(a, mul(z.M, a))


cdef inline Vec3 turned_back(const Trial* z, Vec3 a) noexcept nogil:
    return add(a, tmul(z.M, a))


cdef inline Vec3 second_arm(const vt_body* b, const Node* x, const Trial* z, int i) noexcept nogil:
    # from the parent's origin to the body's, at node 2
    return add(x[i].t, sub(z[i].move, z[b.parent].move))


cdef void lt_factor(const vt_model* m, double h, const Node* x, const vt_real* y, const Trial* z,
                    Solve* s, Gains* gains, BigGains* big) noexcept nogil:
    # eliminate the joints of the residual's derivative (times h), leaves to root
    cdef int i
    cdef const vt_body* b
    cdef Mat3 zero
    cdef Vec3 z1, z2, Un, Uf, Wn, Wf
    cdef vt_real D, pitch
    zero = zero33()
    for i in range(m.nbody):
        s[i].A11 = zero
        s[i].A12 = zero
        s[i].A21 = zero
        s[i].A22 = zero
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        if b.inert:
            lt_body_block(b.mass, &x[i], &z[i], &s[i])
        if b.kind >= BALL:
            lt_factor_big(m, h, b, &x[i], y, &z[i], &s[i], &big[b.big])
        else:
            z1 = x[i].R.z
            z2 = turned(&z[i], z1)
            if b.kind == REVOLUTE:
                Un = mul(s[i].A11, z2)
                Uf = mul(s[i].A21, z2)
                Wn = tmul(s[i].A11, z1)
                Wf = tmul(s[i].A12, z1)
                D = dot(z1, Un)
            elif b.kind == PRISMATIC:
                Un = mul(s[i].A12, z2)
                Uf = mul(s[i].A22, z2)
                Wn = tmul(s[i].A21, z1)
                Wf = tmul(s[i].A22, z1)
                D = dot(z1, Uf)
            else:
                pitch = vt_set1(b.pitch)
                Un = axpy(pitch, mul(s[i].A12, z2), mul(s[i].A11, z2))
                Uf = axpy(pitch, mul(s[i].A22, z2), mul(s[i].A21, z2))
                Wn = axpy(pitch, tmul(s[i].A21, z1), tmul(s[i].A11, z1))
                Wf = axpy(pitch, tmul(s[i].A22, z1), tmul(s[i].A12, z1))
                D = dot(z1, Un) + pitch * dot(z1, Uf)
            D = D + vt_set1(0.5 * h * m.damping[b.iv])
            if m.rubbing:
                D = D + 0.5 * h * friction_slope(m, b.iv, vt_set1(1.0 / h) * y[b.iv])
            D = vt_set1(1.0) / D
            if b.locked:
                D = vt_set1(0.0)
            Wn = scale(D, Wn)
            Wf = scale(D, Wf)
            gains[i].Dinv = D
            gains[i].Un = tmul(x[i].R, Un)
            gains[i].Uf = tmul(x[i].R, Uf)
            gains[i].Wn = tmul(x[i].R, turned_back(&z[i], Wn))
            gains[i].Wf = tmul(x[i].R, turned_back(&z[i], Wf))
            if b.parent >= 0:
                s[i].A11 = outer(vt_set1(-1.0), Un, Wn, s[i].A11)
                s[i].A12 = outer(vt_set1(-1.0), Un, Wf, s[i].A12)
                s[i].A21 = outer(vt_set1(-1.0), Uf, Wn, s[i].A21)
                s[i].A22 = outer(vt_set1(-1.0), Uf, Wf, s[i].A22)
        if b.parent >= 0:
            add_shifted(&s[b.parent], s[i].A11, s[i].A12, s[i].A21, s[i].A22, x[i].t, second_arm(b, x, z, i))


cdef inline Mat3 in_axes(Mat3 A, Mat3 R, Mat3 Q) noexcept nogil:
    # R^T A Q
    return mul3(transpose(R), mul3(A, Q))


cdef inline void spread(Mat3 A, vt_real* to, int width) noexcept nogil:
    # write a block of a row-major matrix of that width
    to[0] = A.x.x
    to[1] = A.y.x
    to[2] = A.z.x
    to[width] = A.x.y
    to[width + 1] = A.y.y
    to[width + 2] = A.z.y
    to[2 * width] = A.x.z
    to[2 * width + 1] = A.y.z
    to[2 * width + 2] = A.z.z


cdef inline Mat3 block(const vt_real* a, int width) noexcept nogil:
    cdef Mat3 r
    r.x = vec3(a[0], a[width], a[2 * width])
    r.y = vec3(a[1], a[width + 1], a[2 * width + 1])
    r.z = vec3(a[2], a[width + 2], a[2 * width + 2])
    return r


cdef inline void lt_damping(const vt_model* m, const vt_body* b, const vt_real* y, double size, vt_real* D,
                            int width) noexcept nogil:
    # a block of a matrix of that width += size damping times the derivative of a ball or free joint's
    # displacement by the body's at node 2
    cdef int j, k, nd = joint_nv(b)
    cdef vt_real unit[6]
    cdef Vec3 w, u
    for k in range(nd):
        for j in range(6):
            unit[j] = vt_set1(1.0 if j == k else 0.0)
        if nd == 3:
            store3(unit, dlog(neg(load3(y + b.iv)), load3(unit)))
        else:
            w = load3(y + b.iv + 3)
            dlog_se3(neg(w), neg(dlog(w, load3(y + b.iv))), load3(&unit[3]), load3(unit), &w, &u)
            store3(unit, u)
            store3(&unit[3], w)
        for j in range(nd):
            D[j * width + k] = D[j * width + k] + size * m.damping[b.iv + j] * unit[j]


cdef void lt_jacobian(const vt_model* m, double h, const Node* x, const vt_real* y, const Trial* z, Solve* s,
                      vt_real* J) noexcept nogil:
    # J (nv, nv): -(dr by displacements of the bodies at node 2), from composite blocks and the paths to the
    # root (Lee et al. 2016, algorithm 4, in the time that the mass matrix takes)
    cdef int i, j, k, l
    cdef const vt_body* b
    cdef Mat3 zero = zero33()
    cdef Vec3 w, v, n, f, a, c
    cdef vt_real scaled = vt_set1(-1.0 / h)
    for k in range(m.nv * m.nv):
        J[k] = vt_set1(0.0)
    for i in range(m.nbody):
        s[i].A11 = zero
        s[i].A12 = zero
        s[i].A21 = zero
        s[i].A22 = zero
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        if b.inert:
            lt_body_block(b.mass, &x[i], &z[i], &s[i])
        for k in range(joint_nv(b)):
            joint_column(b, x[i].R, k, &w, &v)
            # the joint's row, a covector on displacements of the origin at node 2
            a = add(tmul(s[i].A11, w), tmul(s[i].A21, v))
            c = add(tmul(s[i].A12, w), tmul(s[i].A22, v))
            # its column, a wrench about the origin at node 1
            w = turned(&z[i], w)
            v = turned(&z[i], v)
            n = add(mul(s[i].A11, w), mul(s[i].A12, v))
            f = add(mul(s[i].A21, w), mul(s[i].A22, v))
            j = i
            while j >= 0:
                for l in range(joint_nv(&m.body[j])):
                    joint_column(&m.body[j], x[j].R, l, &w, &v)
                    J[(m.body[j].iv + l) * m.nv + b.iv + k] = scaled * (dot(w, n) + dot(v, f))
                    if j < i:
                        J[(b.iv + k) * m.nv + m.body[j].iv + l] = scaled * (
                            dot(turned(&z[j], w), a) + dot(turned(&z[j], v), c))
                n = add(n, cross(x[j].t, f))
                if m.body[j].parent >= 0:
                    a = add(a, cross(second_arm(&m.body[j], x, z, j), c))
                j = m.body[j].parent
        if b.parent >= 0:
            add_shifted(&s[b.parent], s[i].A11, s[i].A12, s[i].A21, s[i].A22, x[i].t, second_arm(b, x, z, i))
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind >= BALL:
            lt_damping(m, b, y, -0.5, J + b.iv * m.nv + b.iv, m.nv)
        else:
            J[b.iv * m.nv + b.iv] = J[b.iv * m.nv + b.iv] - 0.5 * (
                m.damping[b.iv] + friction_slope(m, b.iv, vt_set1(1.0 / h) * y[b.iv]))


cdef void lt_factor_big(const vt_model* m, double h, const vt_body* b, const Node* x, const vt_real* y,
                        const Trial* z, Solve* s, BigGains* g) noexcept nogil:
    # a ball (3) or free joint (6): rows in the body's axes at node 1, columns at node 2; coordinates
    # in the joint's order (free: linear first). Leaves in s what the parent feels
    cdef int i, j, k, nd = 3 if b.kind == BALL else 6
    cdef Mat3 R1 = x.R, R2
    cdef vt_real A[36]      # (n, f) by (w, v), in body axes
    cdef vt_real e
    cdef int order[6]       # position in (angular, linear) of the joint's k-th coordinate
    for k in range(6):
        order[k] = k if b.kind == BALL else (k + 3) % 6
    R2.x = turned(z, R1.x)
    R2.y = turned(z, R1.y)
    R2.z = turned(z, R1.z)
    spread(in_axes(s.A11, R1, R2), &A[0], 6)
    spread(in_axes(s.A12, R1, R2), &A[3], 6)
    spread(in_axes(s.A21, R1, R2), &A[18], 6)
    spread(in_axes(s.A22, R1, R2), &A[21], 6)
    for i in range(6):
        for k in range(nd):
            g.U[i * nd + k] = A[6 * i + order[k]]
    for k in range(nd):
        for j in range(6):
            g.W[6 * k + j] = A[6 * order[k] + j]
        for j in range(nd):
            g.Dinv[k * nd + j] = A[6 * order[k] + order[j]]
    if m.damped:
        lt_damping(m, b, y, 0.5 * h, g.Dinv, nd)
    invert(g.Dinv, nd)
    # W <- D^-1 W, a column at a time
    for j in range(6):
        for k in range(nd):
            s.u[k] = g.W[6 * k + j]
        for k in range(nd):
            e = g.Dinv[k * nd] * s.u[0]
            for i in range(1, nd):
                e = e + g.Dinv[k * nd + i] * s.u[i]
            g.W[6 * k + j] = e
    if b.parent < 0:
        return
    for i in range(6):
        for j in range(6):
            e = A[6 * i + j]
            for k in range(nd):
                e = e - g.U[i * nd + k] * g.W[6 * k + j]
            A[6 * i + j] = e
    s.A11 = mul3(R1, mul3(block(&A[0], 6), transpose(R2)))
    s.A12 = mul3(R1, mul3(block(&A[3], 6), transpose(R2)))
    s.A21 = mul3(R1, mul3(block(&A[18], 6), transpose(R2)))
    s.A22 = mul3(R1, mul3(block(&A[21], 6), transpose(R2)))


cdef void lt_solve(const vt_model* m, double h, const Node* x, const vt_real* y, const Trial* z,
                   const Gains* gains, const BigGains* big, const vt_real* r, Solve* s,
                   vt_real* d) noexcept nogil:
    # the increment d of y with (dr/dy) d = -r, or near it if the gains are of another step
    cdef int i, k, j, nd
    cdef const vt_body* b
    cdef const Gains* g
    cdef const BigGains* G
    cdef Vec3 n, f, w, v, axis
    cdef vt_real u, e
    cdef vt_real a[6]
    cdef Quat J
    for i in range(m.nbody):
        s[i].n = zero3()
        s[i].f = zero3()
    # leaves to root
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        n = s[i].n
        f = s[i].f
        if b.kind < BALL:
            g = &gains[i]
            lt_project(b, &x[i], n, f, d)
            u = g.Dinv * (-h * r[b.iv] - d[b.iv])
            s[i].u[0] = u
            if b.parent < 0:
                continue
            n = add(n, scale(u, mul(x[i].R, g.Un)))
            f = add(f, scale(u, mul(x[i].R, g.Uf)))
        else:
            G = &big[b.big]
            nd = 3 if b.kind == BALL else 6
            lt_project(b, &x[i], n, f, d)
            for k in range(nd):
                e = vt_set1(0.0)
                for j in range(nd):
                    e = e + G.Dinv[k * nd + j] * (-h * r[b.iv + j] - d[b.iv + j])
                s[i].u[k] = e
            if b.parent < 0:
                continue
            for k in range(6):
                e = vt_set1(0.0)
                for j in range(nd):
                    e = e + G.U[k * nd + j] * s[i].u[j]
                a[k] = e
            n = add(n, mul(x[i].R, load3(a)))
            f = add(f, mul(x[i].R, load3(&a[3])))
        s[b.parent].n = add(s[b.parent].n, add(n, cross(x[i].t, f)))
        s[b.parent].f = add(s[b.parent].f, f)
    # root to leaves
    for i in range(m.nbody):
        b = &m.body[i]
        w = zero3()
        v = zero3()
        if b.parent >= 0:
            w = s[b.parent].w
            v = add(s[b.parent].v, cross(w, second_arm(b, x, z, i)))
        if b.kind < BALL:
            g = &gains[i]
            u = s[i].u[0]
            axis = turned(&z[i], x[i].R.z)
            if b.parent >= 0:
                u = u - dot(g.Wn, tmul(x[i].R, turned_back(&z[i], w))) \
                    - dot(g.Wf, tmul(x[i].R, turned_back(&z[i], v)))
            d[b.iv] = u
            if b.kind == REVOLUTE:
                w = axpy(u, axis, w)
            elif b.kind == PRISMATIC:
                v = axpy(u, axis, v)
            else:
                w = axpy(u, axis, w)
                v = axpy(b.pitch * u, axis, v)
        else:
            G = &big[b.big]
            nd = 3 if b.kind == BALL else 6
            store3(a, tmul(x[i].R, turned_back(&z[i], w)))
            store3(&a[3], tmul(x[i].R, turned_back(&z[i], v)))
            for k in range(nd):
                e = s[i].u[k]
                for j in range(6):
                    e = e - G.W[6 * k + j] * a[j]
                d[b.iv + k] = e
            if nd == 3:
                w = add(w, turned(&z[i], mul(x[i].R, load3(d + b.iv))))
            else:
                v = add(v, turned(&z[i], mul(x[i].R, load3(d + b.iv))))
                w = add(w, turned(&z[i], mul(x[i].R, load3(d + b.iv + 3))))
            # from a displacement of the body to a change of the increment
            if nd == 6:
                J = exp_quat(load3(y + b.iv + 3))
                store3(d + b.iv, mul(quat_matrix(J), load3(d + b.iv)))
            j = b.iv + nd - 3
            store3(d + j, dlog(neg(load3(y + j)), load3(d + j)))
        s[i].w = w
        s[i].v = v


cdef void lt_advance_q(const vt_model* m, const vt_real* q, const vt_real* y, vt_real* q2) noexcept nogil:
    # the configuration an increment y leads to; a free joint's position moves straight
    cdef int i
    cdef const vt_body* b
    cdef Quat turn
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == FREE:
            turn = load_quat(q + b.iq + 3)
            store3(q2 + b.iq, add(load3(q + b.iq), mul(quat_matrix(turn), load3(y + b.iv))))
            turn = quat_mul(turn, exp_quat(load3(y + b.iv + 3)))
            store_quat(q2 + b.iq + 3, quat_normalised(turn))
        else:
            joint_integrate(b, q, y, q2)


# ---- increments: a free joint's position moves straight ---------------------------------------------

cdef void lt_increment(const vt_model* m, const vt_real* q, const vt_real* q2, vt_real* y) noexcept nogil:
    # the inverse of lt_advance_q
    cdef int i
    cdef const vt_body* b
    difference(m, q, q2, y)
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == FREE:
            store3(y + b.iv, tmul(quat_matrix(load_quat(q + b.iq + 3)), sub(load3(q2 + b.iq), load3(q + b.iq))))


cdef void lt_straighten(const vt_model* m, vt_real* y) noexcept nogil:
    # an increment by body velocities (along the exponential) becomes one of lt_advance_q
    cdef int i
    cdef const vt_body* b
    cdef Vec3 shift
    cdef Quat turn
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == FREE:
            exp_se3(load3(y + b.iv + 3), load3(y + b.iv), &turn, &shift)
            store3(y + b.iv, shift)


cdef void lt_turn_velocity(const vt_model* m, const vt_real* d, vt_real* v) noexcept nogil:
    # a free joint's velocity, given in the body's axes at node 1, in those that an increment d leads to
    cdef int i
    cdef const vt_body* b
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == FREE:
            store3(v + b.iv, tmul(quat_matrix(exp_quat(load3(d + b.iv + 3))), load3(v + b.iv)))


cdef void lt_end_row(const vt_model* m, const vt_real* y, vt_real* row) noexcept nogil:
    # a row (nv,) by body displacements at node 2 becomes one by y: dexp_{-w}^T, and the turn of node 2's axes
    cdef int i, k
    cdef const vt_body* b
    cdef Vec3 w
    cdef vt_real beta, delta
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind < BALL:
            continue
        k = b.iv + (3 if b.kind == FREE else 0)
        w = load3(y + k)
        vt_exp_coefficients(dot(w, w), &beta, &delta)
        store3(row + k, dexp_so3(w, beta, delta, load3(row + k)))
        if b.kind == FREE:
            store3(row + b.iv, mul(quat_matrix(exp_quat(w)), load3(row + b.iv)))
