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
#
# A frame in uniform motion adds a displacement to every p, which should change Ld by a total difference only. With psi
# - 1 and kappa of order theta^2 it does not: errors grow with the speed of the frame. With `com` the COM moves on a
# straight line and the body rotates about it,
#     Ld = (1/2h) [ w.I1 w + m p.p ],
# which has the same symmetries without this defect. The wrench is the same at both nodes here, too.

cdef struct Node:       # a body at a node; world axes
    Mat3 R
    Vec3 t              # from the parent's origin to this body's
    Vec3 c              # from there to the COM
    Sym3 I              # inertia about the COM


cdef struct Trial:      # a body's motion over a trial step; world axes. Only numbers of a lane
    Quat D              # turns node 1's axes into node 2's
    Mat3 M              # D - 1
    Vec3 move           # displacement of the body's origin
    Vec3 w
    Vec3 p
    Vec3 f              # dLd/dp
    Vec3 g              # dLd/dw
    vt_real g0          # (theta/2) cot(theta/2)
    vt_real gamma
    vt_real kappa
    vt_real kappa1
    Vec3 N              # sum over the subtree, about the body's origin at the node in question
    Vec3 F
    vt_real sine        # of half a rotating joint's increment
    vt_real cosine


cdef struct Gains:      # the eliminated joint of a body, in body axes (node 1 for U, node 2 for W)
    Vec3 Un             # U = A S2
    Vec3 Uf
    Vec3 Wn             # W = D^-1 S1^T A
    Vec3 Wf
    vt_real Dinv        # D = S1^T A S2, armature and damping; zero where the joint is locked


cdef struct MultiGains: # the same for a joint of several coordinates; rows and columns as its coordinates
    vt_real U[36]       # (6, nd)
    vt_real W[36]       # (nd, 6)
    vt_real Dinv[36]    # (nd, nd)


cdef struct Solve:      # intermediate results of the elimination and of the back-substitution
    Block A             # wrench at node 1 by displacement at node 2, about the body's origin there
    Vec3 Un             # the gains in world axes
    Vec3 Uf
    Vec3 Wn
    Vec3 Wf
    Vec3 z2             # the joint's axis at node 2
    Vec3 n              # wrench of the subtree, in lt_hand_in and in lt_solve
    Vec3 f
    Vec3 w              # displacement of the body
    Vec3 v
    vt_real u[6]        # D^-1 (-h r - S1^T (n, f))


cdef enum LtForm:       # the form of the kinetic energy
    TWIST = 0
    SPLIT = 1
    BY_TREE = 2         # SPLIT of the trees that float

FORMS = {"screw": TWIST, "com": SPLIT, "auto": BY_TREE}


cdef inline bint lt_splits(const vt_body* b, int form) noexcept nogil:
    return form == SPLIT or form == BY_TREE and b.tree >= 0


cdef struct LinearTimeStep:     # the data of the kernels of one step; arrays of a body each
    const vt_model* m
    double h
    const Node* node            # node 1
    const vt_real* increment    # (nv,) y
    Trial* trial
    Solve* solve
    Gains* gains
    MultiGains* multi           # of the joints of several coordinates
    int split                   # the kinetic energy's form: a value of `LtForm`
    const vt_real* slope        # (nv,) slopes of the forces that the step solves for, or NULL


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


cdef void lt_node(const vt_model* m, const vt_real* q, int split, Node* node) noexcept nogil:
    # split: inertias are rotated where they are needed, which is in fewer places
    cdef int i, up
    for i in range(m.nbody):
        up = m.body[i].parent
        place_body(&m.body[i], q, &node[up].R if up >= 0 else NULL, &node[i].R, &node[i].t)
        node[i].c = mul(node[i].R, com_of(&m.body[i]))
        if not lt_splits(&m.body[i], split):
            node[i].I = rotate_sym(node[i].R, central_inertia_of(&m.body[i]))


cdef void lt_weight(const vt_model* m, const Node* node, const vt_real* wrench, Solve* s,
                    vt_real* weight) noexcept nogil:
    # generalised force of gravity and of wrenches on the bodies, (nbody, 6) about their origins or NULL
    cdef int i
    if wrench == NULL and m.g[0] == 0.0 and m.g[1] == 0.0 and m.g[2] == 0.0:
        for i in range(m.nv):
            weight[i] = vt_set1(0.0)
        return
    for i in range(m.nbody):
        s[i].f = scale(mass_of(&m.body[i]), gravity_from(m, m.g))
        s[i].n = cross(node[i].c, s[i].f)
        if wrench != NULL:
            s[i].n = add(s[i].n, load3(wrench + 6 * i))
            s[i].f = add(s[i].f, load3(wrench + 6 * i + 3))
    lt_hand_in(m, node, s, weight)


cdef inline void lt_hand_in(const vt_model* m, const Node* node, Solve* s, vt_real* out) noexcept nogil:
    # leaves to root: the generalised force of the wrenches (n, f) on the bodies, which are replaced by those on the
    # subtrees
    cdef int i, up
    for i in range(m.nbody - 1, -1, -1):
        joint_project(&m.body[i], node[i].R, s[i].n, s[i].f, out)
        up = m.body[i].parent
        if up >= 0:
            hand_down(s[i].n, s[i].f, node[i].t, &s[up].n, &s[up].f)


# ---- the residual -------------------------------------------------------------------------------

cdef void lt_trial(const LinearTimeStep* step, vt_real* least) noexcept nogil:
    # the motion of all bodies for the joints' increments, and its momenta.
    # least: the smallest cosine of half a body's turn; the step is valid while it is positive
    cdef const vt_model* m = step.m
    cdef const Node* node = step.node
    cdef Trial* trial = step.trial
    cdef int i
    cdef const vt_body* b
    cdef Trial* s
    cdef const Trial* up
    cdef Quat D, turn
    cdef Vec3 move
    # half angles first: independent of each other, so that their latencies overlap
    lt_half_turns(m, step.increment, trial)
    least[0] = vt_set1(1.0)
    for i in range(m.nbody):
        b = &m.body[i]
        s = &trial[i]
        joint_increment(b, node[i].R, step.increment, s.sine, s.cosine, &turn, &move)
        D = turn
        if b.parent >= 0:
            # D = D_P J; the parent moves the origin's place on it, by move_P + (D_P - 1) t, and turns the joint's move
            up = &trial[b.parent]
            D = quat_mul(up.D, turn) if joint_turns(b) else up.D
            if joint_slides(b):
                move = add(move, mul(up.M, move))
            move = add(move, add(up.move, mul(up.M, node[i].t)))
        s.D = D
        s.move = move
        s.M = turn_minus_one(D)
        least[0] = lesser(D.w, least[0])
    lt_momenta(m, node, step.split, trial)


cdef inline void lt_half_turns(const vt_model* m, const vt_real* y, Trial* trial) noexcept nogil:
    cdef int i
    if shared_out(m.nbody):
        body_lanes.half_turns(m, <const double*>y, <double*>trial)
        return
    for i in range(m.nbody):
        joint_half_turn(&m.body[i], y, &trial[i].sine, &trial[i].cosine)


cdef inline void lt_momenta(const vt_model* m, const Node* x, int split, Trial* z) noexcept nogil:
    # the momentum of each body, from its motion
    cdef int i
    cdef const vt_body* b
    if split != BY_TREE and shared_out(m.nbody):
        body_lanes.momenta(m, <const double*>x, <double*>z, split)
        return
    for i in range(m.nbody):
        b = &m.body[i]
        if b.inert:
            lt_momentum(&x[i], mass_of(b), central_inertia_of(b), lt_splits(b, split), &z[i])
        else:
            lt_no_momentum(&z[i])


cdef inline void lt_no_momentum(Trial* s) noexcept nogil:
    s.f = zero3()
    s.N = zero3()
    s.F = zero3()


cdef inline void lt_momentum(const Node* x, vt_real mass, Sym3 Ic, bint split, Trial* s) noexcept nogil:
    # of a body, from D, M and move
    cdef Quat D = s.D
    cdef vt_real ratio, ss, psi, psi1, wp, pp

    # displacement of the COM, rotation vector and the functions of its length
    s.p = add(s.move, mul(s.M, x.c))
    ratio = vt_half_angle_ratio(D.x * D.x + D.y * D.y + D.z * D.z, D.w)
    s.w = scale(2.0 * ratio, quat_vec(D))
    s.g0 = ratio * D.w
    ss = dot(s.w, s.w)
    if split:
        # f = m p,  g = R Ic R^T w
        s.gamma = vt_gamma(ss, s.g0)
        s.f = scale(mass, s.p)
        s.g = mul(x.R, symmul(Ic, tmul(x.R, s.w)))
    else:
        # f = m (psi p + kappa (w.p) w),  g = I w + m (psi' p.p + kappa' (w.p)^2) w/2 + m kappa (w.p) p
        vt_log_coefficients(ss, s.g0, &s.gamma, &s.kappa, &s.kappa1)
        psi = 1.0 - s.kappa * ss
        psi1 = 2.0 * psi * s.gamma
        wp = dot(s.w, s.p)
        pp = dot(s.p, s.p)
        s.f = add(scale(mass * psi, s.p), scale(mass * s.kappa * wp, s.w))
        s.g = add(axpy(0.5 * mass * (psi1 * pp + s.kappa1 * (wp * wp)), s.w, symmul(x.I, s.w)),
                  scale(mass * s.kappa * wp, s.p))

    # about the COM n = dlog_{-w} g; about the origin at node 1, the arm c + p
    s.N = add(dlog_so3(neg(s.w), s.gamma, s.g), cross(add(x.c, s.p), s.f))
    s.F = s.f


cdef void lt_residual(const LinearTimeStep* step, const vt_real* rhs, vt_real* r) noexcept nogil:
    # r = projected momentum at node 1 + (armature/h) y + (damping/2) y + half of friction - rhs; rhs = p1 + (h/2) forces
    # at node 1.
    # N, F of the trial become sums over subtrees
    cdef const vt_model* m = step.m
    cdef Trial* trial = step.trial
    cdef int i, up
    cdef vt_real inverse = vt_set1(1.0 / step.h)
    for i in range(m.nbody - 1, -1, -1):
        joint_project(&m.body[i], step.node[i].R, trial[i].N, trial[i].F, r)
        up = m.body[i].parent
        if up >= 0:
            hand_down(trial[i].N, trial[i].F, step.node[i].t, &trial[up].N, &trial[up].F)
    for i in range(m.nv):
        r[i] = inverse * r[i] - rhs[i]
    if m.rotors:
        add_armature(m, inverse, step.increment, r)
    lt_dissipate(step, 0.5, r)


cdef inline void lt_dissipate(const LinearTimeStep* step, double share, vt_real* out) noexcept nogil:
    # out += share times the impulse of damping and friction, with the sign of the motion
    cdef int i
    if step.m.damped:
        for i in range(step.m.nbody):
            lt_damp(step.m, &step.m.body[i], step.increment, vt_set1(share), out)
    if step.m.rubbing:
        add_friction(step.m, step.h, step.increment, share, out)


cdef inline void lt_damp(const vt_model* m, const vt_body* b, const vt_real* y, vt_real s,
                         vt_real* out) noexcept nogil:
    # out += s damping * displacement, the logarithm of the joint's motion: symmetric in the nodes
    cdef int k
    cdef vt_real e[6]
    if not joint_multi(b):
        out[b.iv] = out[b.iv] + s * damping_of(m, b.iv) * y[b.iv]
        return
    joint_logarithm(b, y, e)
    for k in range(b.nv):
        out[b.iv + k] = out[b.iv + k] + s * damping_of(m, b.iv + k) * e[k]


cdef void lt_end(const LinearTimeStep* step, const Node* node2, const vt_real* r, const vt_real* force,
                 vt_real* p2) noexcept nogil:
    # p2 = projected momentum at node 2 + (armature/h) y + (h/2) force - (damping/2) y - half of friction - what is left of
    # the residual (which makes the step exact from p1 + r: momentum is kept to round-off at any tolerance).
    # The trial holds the subtrees' momenta about the origins at node 1, as lt_residual leaves them
    cdef const vt_model* m = step.m
    cdef const Trial* s
    cdef int i, k
    cdef vt_real inverse = vt_set1(1.0 / step.h), half = vt_set1(0.5 * step.h)
    for i in range(m.nbody):
        s = &step.trial[i]
        joint_project(&m.body[i], node2[i].R, sub(s.N, cross(s.move, s.F)), s.F, p2)
    for k in range(m.nv):
        p2[k] = inverse * p2[k] + half * force[k]
    if m.rotors:
        add_armature(m, inverse, step.increment, p2)
    for i in range(m.nbody):
        if m.damped:
            lt_damp(m, &m.body[i], step.increment, vt_set1(-0.5), p2)
        lt_carry(&m.body[i], step.increment, r, p2)
    if m.rubbing:
        add_friction(m, step.h, step.increment, -0.5, p2)


cdef inline void lt_carry(const vt_body* b, const vt_real* y, const vt_real* r, vt_real* p2) noexcept nogil:
    # p2 -= r; of several coordinates a wrench fixed in the world, acting where the body was: R^T (n - y x f), R^T f
    cdef Mat3 R
    cdef Vec3 w, v, n, f, pn, pf
    if not joint_multi(b):
        p2[b.iv] = p2[b.iv] - r[b.iv]
        return
    joint_expand(b, y, &w, &v)
    joint_expand(b, r, &n, &f)
    joint_expand(b, p2, &pn, &pf)
    R = quat_matrix(exp_quat(w))
    joint_project_own(b, sub(pn, tmul(R, sub(n, cross(v, f)))), sub(pf, tmul(R, f)), p2)


# ---- the exact direction ------------------------------------------------------------------------

cdef inline void lt_body_block(const LinearTimeStep* step, int i, Block* A) noexcept nogil:
    # A += derivative of a body's momentum at node 1 by its displacement at node 2, about the body's origin
    cdef const Node* x = &step.node[i]
    cdef const Trial* z = &step.trial[i]
    cdef Vec3 first = add(x.c, z.p), second = add(x.c, mul(z.M, x.c))
    cdef Block K
    if lt_splits(&step.m.body[i], step.split):
        lt_add_split_block(&step.m.body[i], x, z, first, second, A)
        return
    lt_twist_block(mass_of(&step.m.body[i]), x, z, &K)
    add_block(A, &K, first, second)


cdef inline Mat3 log_derivative(Vec3 w, vt_real gamma, vt_real ss) noexcept nogil:
    # L = dlog_w = 1 - w^/2 + gamma w^ w^
    return plus_diagonal(outer(gamma, w, w, hat(scale(vt_set1(-0.5), w))), 1.0 - gamma * ss)


cdef inline Mat3 torque_derivative(const Trial* z, vt_real gamma1, Mat3 L, Mat3 gw) noexcept nogil:
    # dn/dw = L^T dg/dw + d(dlog_{-w} g)/dw for fixed g, where -gamma w^ g^ = gamma ((w.g) 1 - g w^T)
    cdef Vec3 wg = cross(z.w, z.g)
    cdef Mat3 nw = mul3(transpose(L), gw)
    nw = sub3(nw, hat(axpy(z.gamma, wg, scale(vt_set1(0.5), z.g))))
    nw = plus_diagonal(outer(-z.gamma, z.g, z.w, nw), z.gamma * dot(z.w, z.g))
    return outer(gamma1, cross(z.w, wg), z.w, nw)


cdef inline Mat3 two_hats(Vec3 a, Vec3 b) noexcept nogil:
    # hat(a) hat(b) = b a^T - (a.b) 1
    return mat3(vec3(-(a.y * b.y) - a.z * b.z, a.x * b.y, a.x * b.z),
                vec3(a.y * b.x, -(a.x * b.x) - a.z * b.z, a.y * b.z),
                vec3(a.z * b.x, a.z * b.y, -(a.x * b.x) - a.y * b.y))


cdef inline void lt_add_split_block(const vt_body* b, const Node* x, const Trial* z, Vec3 first, Vec3 second,
                                    Block* A) noexcept nogil:
    # about the COM df/dp = m 1, dg/dw = I, and the torque changes by -f^ where the COM moves; about a point that both
    # arms lead to:
    #     nw = dn/dw + f^ second^ - m first^ second^,  nv = m first^ - f^,  fw = -m second^,  fv = m 1
    cdef vt_real mass = mass_of(b), ss = dot(z.w, z.w), gamma1 = vt_gamma1(ss, z.g0, z.gamma)
    cdef Mat3 L = log_derivative(z.w, z.gamma, ss), nw
    cdef Vec3 moment = scale(-mass, second)
    nw = mul3(torque_derivative(z, gamma1, L, full(rotate_sym(x.R, central_inertia_of(b)))), L)
    nw = add3(sub3(nw, two_hats(neg(z.f), second)), two_hats(first, moment))
    A.nw = add3(A.nw, nw)
    A.nv = add3(A.nv, hat(sub(scale(mass, first), z.f)))
    A.fw = add3(A.fw, hat(moment))
    A.fv = plus_diagonal(A.fv, mass)


cdef inline void lt_twist_block(vt_real mass, const Node* x, const Trial* z, Block* K) noexcept nogil:
    # the same about the COM
    cdef vt_real gamma1, gamma2, kappa2, ss, psi, psi1, psi2, wp, pp
    cdef Mat3 L, fw, fp, gw, zero = zero33()
    ss = dot(z.w, z.w)
    vt_log_coefficients2(ss, z.g0, z.gamma, z.kappa, z.kappa1, &gamma1, &gamma2, &kappa2)
    psi = 1.0 - z.kappa * ss
    psi1 = 2.0 * psi * z.gamma
    psi2 = 2.0 * psi1 * z.gamma + 2.0 * psi * gamma1
    wp = dot(z.w, z.p)
    pp = dot(z.p, z.p)

    L = log_derivative(z.w, z.gamma, ss)

    # df/dw = m (psi' p w^T + kappa' (w.p) w w^T + kappa (w p^T + (w.p) 1)),  df/dp = m (psi 1 + kappa w w^T)
    fw = outer(mass * psi1, z.p, z.w, zero)
    fw = outer(mass * z.kappa1 * wp, z.w, z.w, fw)
    fw = plus_diagonal(outer(mass * z.kappa, z.w, z.p, fw), mass * z.kappa * wp)
    fp = plus_diagonal(outer(mass * z.kappa, z.w, z.w, zero), mass * psi)

    # dg/dw = I + m/2 (psi'' p.p + kappa'' (w.p)^2) w w^T + m kappa' (w.p) (w p^T + p w^T) + m kappa p p^T
    #         + m/2 (psi' p.p + kappa' (w.p)^2) 1;  dg/dp = (df/dw)^T
    gw = outer(0.5 * mass * (psi2 * pp + kappa2 * (wp * wp)), z.w, z.w, full(x.I))
    gw = outer(mass * z.kappa1 * wp, z.w, z.p, outer(mass * z.kappa1 * wp, z.p, z.w, gw))
    gw = plus_diagonal(outer(mass * z.kappa, z.p, z.p, gw), 0.5 * mass * (psi1 * pp + z.kappa1 * (wp * wp)))

    # a turn of the body at node 2 changes w by L; there the wrench about the COM is (n + p x f, f), so that its torque
    # changes by -f^ where the COM moves
    K.nw = mul3(torque_derivative(z, gamma1, L, gw), L)
    K.nv = sub3(mul3(transpose(L), transpose(fw)), hat(z.f))
    K.fw = mul3(fw, L)
    K.fv = fp


cdef inline Vec3 turned(const Trial* z, Vec3 a) noexcept nogil:
    # a vector that moves with the body, from node 1 to node 2
    return add(a, mul(z.M, a))


cdef inline Vec3 turned_back(const Trial* z, Vec3 a) noexcept nogil:
    return add(a, tmul(z.M, a))


cdef inline Vec3 second_arm(const LinearTimeStep* step, int i) noexcept nogil:
    # from the parent's origin to the body's, at node 2
    return add(step.node[i].t, sub(step.trial[i].move, step.trial[step.m.body[i].parent].move))


cdef void lt_factor(const LinearTimeStep* step, int first, int end, Signs* signs) noexcept nogil:
    # eliminate the joints of the residual's derivative (times h), leaves to root: with A of the subtree, U = A S2,
    # W = D^-1 S1^T A and D = S1^T A S2, the parent gets A - U W. Of the bodies from first to end, which hang together
    # with no others. signs: notes those of the D, which are positive where nothing moves
    cdef const vt_model* m = step.m
    cdef Solve* s
    cdef int i, up
    for i in range(first, end):
        step.solve[i].A = zero_block()
    for i in range(end - 1, first - 1, -1):
        s = &step.solve[i]
        up = m.body[i].parent
        if m.body[i].inert:
            lt_body_block(step, i, &s.A)
        if joint_multi(&m.body[i]):
            lt_eliminate_multi(step, i, signs)
        else:
            lt_eliminate(step, i, signs)
        if up >= 0:
            add_block(&step.solve[up].A, &s.A, step.node[i].t, second_arm(step, i))


cdef inline vt_real lt_slopes(const LinearTimeStep* step, const vt_body* b, vt_real D) noexcept nogil:
    # D + armature + (h/2) (damping + slopes of friction, drives and springs), of a joint of one coordinate
    D = D + (0.5 * step.h * damping_of(step.m, b.iv) + armature_of(step.m, b.iv))
    if step.slope != NULL:
        D = D + 0.5 * step.h * step.slope[b.iv]
    if step.m.rubbing:
        D = D + 0.5 * step.h * friction_slope(step.m, b.iv, vt_set1(1.0 / step.h) * step.increment[b.iv])
    return D


cdef inline void lt_eliminate(const LinearTimeStep* step, int i, Signs* signs) noexcept nogil:
    # a joint of one coordinate; leaves in A the contribution to the parent
    cdef const vt_model* m = step.m
    cdef const vt_body* b = &m.body[i]
    cdef const Trial* trial = &step.trial[i]
    cdef Gains* gains = &step.gains[i]
    cdef Block* A = &step.solve[i].A
    cdef Mat3 R = step.node[i].R
    cdef Vec3 Un, Uf, Wn, Wf, z = turned(trial, R.z)
    cdef vt_real D
    Un, Uf = joint_times(b, A.nw, A.nv, z), joint_times(b, A.fw, A.fv, z)
    Wn, Wf = joint_tmul(b, A.nw, A.fw, R.z), joint_tmul(b, A.nv, A.fv, R.z)

    # D = S1^T U + armature + (h/2) (damping + slope of friction)
    D = vt_set1(1.0) / lt_slopes(step, b, joint_pairing(b, R.z, Un, Uf))
    if b.locked:
        D = vt_set1(0.0)
    else:
        signs_note(signs, D)
    Wn = scale(D, Wn)
    Wf = scale(D, Wf)

    # stored in body axes, where another step finds them nearly unchanged
    gains.Dinv = D
    gains.Un = tmul(R, Un)
    gains.Uf = tmul(R, Uf)
    gains.Wn = tmul(R, turned_back(trial, Wn))
    gains.Wf = tmul(R, turned_back(trial, Wf))
    if b.parent >= 0:
        A.nw = outer(vt_set1(-1.0), Un, Wn, A.nw)
        A.nv = outer(vt_set1(-1.0), Un, Wf, A.nv)
        A.fw = outer(vt_set1(-1.0), Uf, Wn, A.fw)
        A.fv = outer(vt_set1(-1.0), Uf, Wf, A.fv)


cdef inline Mat3 in_axes(Mat3 A, Mat3 R, Mat3 Q) noexcept nogil:
    # R^T A Q
    return mul3(transpose(R), mul3(A, Q))


cdef inline Mat3 out_of_axes(const vt_real* A, Mat3 R, Mat3 Q) noexcept nogil:
    # R A Q^T of a block of a 6 x 6 matrix
    return mul3(R, mul3(take_matrix(A, 6), transpose(Q)))


cdef inline void lt_damping(const vt_model* m, const vt_body* b, const vt_real* y, double size, vt_real* D,
                            int width) noexcept nogil:
    # a block of a matrix of that width += size damping times the derivative of the displacement of several
    # coordinates by the body's at node 2
    cdef int j, k
    cdef vt_real unit[6]
    for k in range(b.nv):
        for j in range(6):
            unit[j] = vt_set1(1.0 if j == k else 0.0)
        joint_logarithm_change(b, y, unit)
        for j in range(b.nv):
            D[j * width + k] = D[j * width + k] + size * damping_of(m, b.iv + j) * unit[j]


cdef void lt_eliminate_multi(const LinearTimeStep* step, int i, Signs* signs) noexcept nogil:
    # a joint of several coordinates: rows in the body's axes at node 1, columns at node 2; coordinates in the
    # joint's order (free: linear first). Leaves in A what the parent feels
    cdef const vt_body* b = &step.m.body[i]
    cdef Solve* s = &step.solve[i]
    cdef MultiGains* g = &step.multi[b.multi]
    cdef int j, k, l, nd = b.nv
    cdef Mat3 R1 = step.node[i].R, R2
    cdef vt_real A[36]      # (n, f) by (w, v), in body axes
    cdef vt_real e
    cdef int order[6]
    for k in range(nd):
        order[k] = joint_order(b, k)
    R2.x = turned(&step.trial[i], R1.x)
    R2.y = turned(&step.trial[i], R1.y)
    R2.z = turned(&step.trial[i], R1.z)
    put_matrix(in_axes(s.A.nw, R1, R2), &A[0], 6)
    put_matrix(in_axes(s.A.nv, R1, R2), &A[3], 6)
    put_matrix(in_axes(s.A.fw, R1, R2), &A[18], 6)
    put_matrix(in_axes(s.A.fv, R1, R2), &A[21], 6)

    # U = A S2, W = S1^T A, D = S1^T A S2 and damping
    for j in range(6):
        for k in range(nd):
            g.U[j * nd + k] = A[6 * j + order[k]]
    for k in range(nd):
        for j in range(6):
            g.W[6 * k + j] = A[6 * order[k] + j]
        for j in range(nd):
            g.Dinv[k * nd + j] = A[6 * order[k] + order[j]]
    if step.m.damped:
        lt_damping(step.m, b, step.increment, 0.5 * step.h, g.Dinv, nd)
    invert(g.Dinv, nd, 1.0, signs)

    # W <- D^-1 W, a column at a time
    for j in range(6):
        for k in range(nd):
            s.u[k] = g.W[6 * k + j]
        for k in range(nd):
            e = g.Dinv[k * nd] * s.u[0]
            for l in range(1, nd):
                e = e + g.Dinv[k * nd + l] * s.u[l]
            g.W[6 * k + j] = e
    if b.parent < 0:
        return

    # A <- A - U W
    for l in range(6):
        for j in range(6):
            e = A[6 * l + j]
            for k in range(nd):
                e = e - g.U[l * nd + k] * g.W[6 * k + j]
            A[6 * l + j] = e
    s.A.nw = out_of_axes(&A[0], R1, R2)
    s.A.nv = out_of_axes(&A[3], R1, R2)
    s.A.fw = out_of_axes(&A[18], R1, R2)
    s.A.fv = out_of_axes(&A[21], R1, R2)


cdef void lt_jacobian(const LinearTimeStep* step, vt_real* J) noexcept nogil:
    # J (nv, nv): -(dr by displacements of the bodies at node 2), from composite blocks and the paths to the
    # root (Lee et al. 2016, algorithm 4, in the time that the mass matrix takes)
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef Solve* s
    cdef int i, k
    for k in range(m.nv * m.nv):
        J[k] = vt_set1(0.0)
    for i in range(m.nbody):
        step.solve[i].A = zero_block()
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &step.solve[i]
        if b.inert:
            lt_body_block(step, i, &s.A)
        for k in range(joint_nv(b)):
            lt_jacobian_path(step, i, k, J)
        if b.parent >= 0:
            add_block(&step.solve[b.parent].A, &s.A, step.node[i].t, second_arm(step, i))
    # less armature/h + (damping + slopes of friction, drives and springs)/2
    for i in range(m.nbody):
        b = &m.body[i]
        if joint_multi(b):
            lt_damping(m, b, step.increment, -0.5, J + b.iv * m.nv + b.iv, m.nv)
        else:
            J[b.iv * m.nv + b.iv] = J[b.iv * m.nv + b.iv] - 0.5 * (
                damping_of(m, b.iv) + friction_slope(m, b.iv, vt_set1(1.0 / step.h) * step.increment[b.iv]))
            if m.rotors:
                J[b.iv * m.nv + b.iv] = J[b.iv * m.nv + b.iv] - armature_of(m, b.iv) / vt_set1(step.h)
            if step.slope != NULL:
                J[b.iv * m.nv + b.iv] = J[b.iv * m.nv + b.iv] - 0.5 * step.slope[b.iv]


cdef inline void lt_jacobian_path(const LinearTimeStep* step, int i, int k, vt_real* J) noexcept nogil:
    # the entries of the k-th coordinate of body i with those on its path to the root, itself included
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const Trial* trial = &step.trial[i]
    cdef int j = i, l, at = m.body[i].iv + k
    cdef Vec3 w, v, n, f, a, c
    cdef vt_real scaled = vt_set1(-1.0 / step.h)
    # its row S1^T A, a covector on displacements of the origin at node 2; its column A S2, a wrench about the
    # origin at node 1
    joint_column(&m.body[i], step.node[i].R, k, &w, &v)
    times_block(&step.solve[i].A, w, v, &a, &c)
    block_times(&step.solve[i].A, turned(trial, w), turned(trial, v), &n, &f)
    while j >= 0:
        b = &m.body[j]
        for l in range(joint_nv(b)):
            joint_column(b, step.node[j].R, l, &w, &v)
            J[(b.iv + l) * m.nv + at] = scaled * (dot(w, n) + dot(v, f))
            if j < i:
                J[at * m.nv + b.iv + l] = scaled * (
                    dot(turned(&step.trial[j], w), a) + dot(turned(&step.trial[j], v), c))
        # both about the parent's origin
        n = add(n, cross(step.node[j].t, f))
        if b.parent >= 0:
            a = add(a, cross(second_arm(step, j), c))
        j = b.parent


cdef void lt_solve(const LinearTimeStep* step, const vt_real* r, int first, int end, vt_real* d) noexcept nogil:
    # the increment d of y with (dr/dy) d = -r, approximately if the gains are of another step; of the bodies from first
    # to end, which are not connected with others
    lt_turn_gains(step, first, end)
    lt_solve_inwards(step, r, first, end, d)
    lt_solve_outwards(step, first, end, d)


cdef inline void lt_turn_gains(const LinearTimeStep* step, int first, int end) noexcept nogil:
    # the gains of one coordinate in world axes, for the current poses
    cdef int i
    if shared_out(end - first):
        body_lanes.turn_gains(first, end, <const double*>step.node, <const double*>step.trial, <const double*>step.gains,
                           <double*>step.solve)
        return
    for i in range(first, end):
        lt_turn_gain(step.node[i].R, step.trial[i].M, &step.gains[i], &step.solve[i])


cdef inline void lt_turn_gain(Mat3 R, Mat3 M, const Gains* g, Solve* s) noexcept nogil:
    s.Un = mul(R, g.Un)
    s.Uf = mul(R, g.Uf)
    s.Wn = mul(R, g.Wn)
    s.Wn = add(s.Wn, mul(M, s.Wn))
    s.Wf = mul(R, g.Wf)
    s.Wf = add(s.Wf, mul(M, s.Wf))
    s.z2 = add(R.z, mul(M, R.z))


cdef inline void lt_solve_inwards(const LinearTimeStep* step, const vt_real* r, int first, int end,
                                  vt_real* d) noexcept nogil:
    # leaves to root: u = D^-1 (-h r - S1^T F), and the parent gets F + U u
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef Solve* s
    cdef Vec3 n, f
    cdef vt_real u
    cdef int i
    for i in range(first, end):
        step.solve[i].n = zero3()
        step.solve[i].f = zero3()
    for i in range(end - 1, first - 1, -1):
        b = &m.body[i]
        s = &step.solve[i]
        if joint_multi(b):
            joint_project(b, step.node[i].R, s.n, s.f, d)
            lt_solve_multi(b, step.h, &step.multi[b.multi], r, d, s, &n, &f)
            n = add(s.n, mul(step.node[i].R, n))
            f = add(s.f, mul(step.node[i].R, f))
        else:
            u = step.gains[i].Dinv * (-step.h * r[b.iv] - joint_pairing(b, step.node[i].R.z, s.n, s.f))
            s.u[0] = u
            n = axpy(u, s.Un, s.n)
            f = axpy(u, s.Uf, s.f)
        if b.parent >= 0:
            hand_down(n, f, step.node[i].t, &step.solve[b.parent].n, &step.solve[b.parent].f)


cdef inline void lt_solve_multi(const vt_body* b, double h, const MultiGains* g, const vt_real* r, const vt_real* d,
                                Solve* s, Vec3* n, Vec3* f) noexcept nogil:
    # of several coordinates: u, and (n, f) = U u in the body's axes
    cdef int j, k
    cdef vt_real e
    cdef vt_real a[6]
    for k in range(b.nv):
        e = vt_set1(0.0)
        for j in range(b.nv):
            e = e + g.Dinv[k * b.nv + j] * (-h * r[b.iv + j] - d[b.iv + j])
        s.u[k] = e
    for k in range(6):
        e = vt_set1(0.0)
        for j in range(b.nv):
            e = e + g.U[k * b.nv + j] * s.u[j]
        a[k] = e
    n[0] = load3(a)
    f[0] = load3(&a[3])


cdef inline void lt_solve_outwards(const LinearTimeStep* step, int first, int end, vt_real* d) noexcept nogil:
    # root to leaves: d = u - W x, with x the displacement of the parent, and x + S2 d is the body's
    cdef const vt_body* b
    cdef Solve* s
    cdef Vec3 w, v
    cdef vt_real u
    cdef int i
    for i in range(first, end):
        b = &step.m.body[i]
        s = &step.solve[i]
        w = zero3()
        v = zero3()
        if b.parent >= 0:
            carry(step.solve[b.parent].w, step.solve[b.parent].v, second_arm(step, i), &w, &v)
        if joint_multi(b):
            lt_move_multi(step, i, &w, &v, d)
        else:
            u = s.u[0]
            if b.parent >= 0:
                u = u - dot(s.Wn, w) - dot(s.Wf, v)
            d[b.iv] = u
            joint_add(b, s.z2, u, &w, &v)
        s.w = w
        s.v = v


cdef inline void lt_move_multi(const LinearTimeStep* step, int i, Vec3* w, Vec3* v, vt_real* d) noexcept nogil:
    # the same of several coordinates: (w, v) of the parent becomes that of the body
    cdef const vt_body* b = &step.m.body[i]
    cdef const Trial* trial = &step.trial[i]
    cdef const MultiGains* g = &step.multi[b.multi]
    cdef Mat3 R = step.node[i].R
    cdef Vec3 dw, dv
    cdef int j, k
    cdef vt_real e
    cdef vt_real a[6]
    store3(a, tmul(R, turned_back(trial, w[0])))
    store3(&a[3], tmul(R, turned_back(trial, v[0])))
    for k in range(b.nv):
        e = step.solve[i].u[k]
        for j in range(6):
            e = e - g.W[6 * k + j] * a[j]
        d[b.iv + k] = e
    joint_expand(b, d, &dw, &dv)
    w[0] = add(w[0], turned(trial, mul(R, dw)))
    v[0] = add(v[0], turned(trial, mul(R, dv)))
    joint_increment_change(b, step.increment, d)
