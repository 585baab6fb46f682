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


cdef struct Twelve:     # a body's displacement and change of twist, (w, v, dw, dv); or the changes of its momentum and
    Vec3 part[4]        # of gravity's wrench, (n, f, gn, gf)


cdef struct MidBlock:   # of a body, while joints are eliminated
    Mat3 A[4][4]        # changes of the subtree's wrenches by displacement and change of twist


cdef struct MidSolve:   # the eliminated joint of a body
    Twelve Gam          # motion of the body per unit increment of the joint
    Twelve R            # projection of the subtree's wrenches in its equation
    Twelve l            # R A and its own change
    Twelve u            # A Gam and its own change
    Twelve b            # wrenches of the subtree by the residuals outboard
    Twelve x            # the body's displacement and change of twist
    vt_real Dinv
    vt_real rb          # the remaining residual


cdef struct MidMulti:   # a joint of several coordinates; its maps and the forces on it in body axes at q_m
    AdMatrix Psi
    AdMatrix dlog
    AdMatrix Ea
    Vec3 n              # pi
    Vec3 f
    Vec3 Fn             # F
    Vec3 Ff
    Twelve Gam[6]       # the elimination, for each coordinate; world axes
    Twelve R[6]
    Twelve W[6]         # D^-1 l
    Twelve u[6]
    vt_real Dinv[36]
    vt_real rate[6]


# of floating trees: see midpoint_trees.pxi
cdef struct MidNode:        # a body of a floating tree, at the step's nodes
    Mat3 R1
    Vec3 t1
    Vec3 own                # first moment of the body about its origin, node 1
    Vec3 first1             # that of the subtree
    Mat3 R2
    Vec3 first2
    vt_real mass            # of the subtree
    Quat D                  # rotates node 1's axes into node 2's
    Mat3 M                  # D - 1
    Vec3 dt                 # from node 1 to node 2: changes of t, and of the first moment
    Vec3 change
    Vec3 middle             # first moment of the subtree in the middle
    vt_real sine
    vt_real cosine


cdef struct MidTree:
    Vec3 u                  # mean velocity in the middle, along the directions in which the tree floats
    Vec3 way                # displacement of the COM over the step, along them, over h
    Vec3 fall               # D g
    Vec3 force              # of a direction's right side, on the translation
    Vec3 moved              # D K2 d


cdef struct MidTrees:       # NULL where kinetic energies are the paper's
    MidNode* node           # (nbody,)
    MidTree* tree           # (ntree,)
    vt_real* weight         # (nv,) of the trees at node 1
    vt_real* pull           # (nv,) contributions of the displacements of the COMs to the momentum at node 1
    vt_real* rest           # (nv,) right side of a direction
    bint direct             # only the trees' inertia acts on their translations


cdef struct MidStep:            # the data of the kernels of one step; arrays of a body each
    const vt_model* m
    double h
    double alpha                # point of the step at which L and the forces are evaluated
    double start                # fractions of their impulses at nodes 1 and 2: 1 - alpha and alpha, or 1 and 0
    double end
    bint backward               # the latter: alpha = 1, backward Euler's rule
    const vt_real* increment    # (nv,) y
    MidBody* body
    MidBlock* block
    MidSolve* work
    MidMulti* multi             # of the joints of several coordinates
    vt_real* L_rate             # (nv,) derivatives of the Lagrangian
    vt_real* L_q
    const vt_real* slope        # (nv,) slopes of the forces that the step solves for, or NULL
    MidTrees* trees


cdef void mid_rule(MidStep* x, double alpha, bint backward) noexcept nogil:
    # the midpoint rule, or backward Euler, with alpha = 1
    x.alpha, x.start, x.end, x.backward = alpha, 1.0 - alpha, alpha, backward
    if backward:
        x.start, x.end = 1.0, 0.0


# ---- the residual -------------------------------------------------------------------------------

cdef void mid_forward(const MidStep* step, const vt_real* q1, vt_real* qm) noexcept nogil:
    # root to leaves: poses, twists, momenta and weights of the bodies at q_m
    cdef const vt_model* m = step.m
    cdef int i, up
    cdef const vt_body* b
    cdef MidBody* s
    cdef Vec3 w, v
    cdef vt_real rate, inverse = vt_set1(1.0 / step.h)
    advance(m, q1, vt_set1(step.alpha), step.increment, qm)
    for i in range(m.nbody):
        b = &m.body[i]
        up = b.parent
        s = &step.body[i]
        place_body(b, qm, &step.body[up].R if up >= 0 else NULL, &s.R, &s.t)

        # V = V_P transformed + S y/h; of several coordinates at once
        s.w = zero3()
        s.v = zero3()
        if up >= 0:
            carry(step.body[up].w, step.body[up].v, s.t, &s.w, &s.v)
        if joint_multi(b):
            joint_expand(b, step.increment, &w, &v)
            s.w = axpy(inverse, mul(s.R, w), s.w)
            s.v = axpy(inverse, mul(s.R, v), s.v)
        else:
            # by the column of S, as mid_factor takes it: joint_add rounds a helical joint's terms differently
            rate = inverse * step.increment[b.iv]
            joint_column(b, s.R, 0, &w, &v)
            s.w = axpy(rate, w, s.w)
            if not joint_rotates(b):
                s.v = axpy(rate, v, s.v)

    if shared_out(m.nbody):
        body_lanes.middles(m, <double*>step.body)
    else:
        for i in range(m.nbody):
            b = &m.body[i]
            mid_momentum(mass_of(b), com_of(b), central_inertia_of(b), gravity_from(m, m.g), &step.body[i])
    if step.trees != NULL:
        mid_see_trees(m, step.body, step.trees)
        mid_ends(m, step.h, step.increment, step.trees)


cdef inline void mid_momentum(vt_real mass, Vec3 com, Sym3 Ic, Vec3 gravity, MidBody* s) noexcept nogil:
    # of a body: momentum f = m (v + w x c), n = I w + c x f; weight m g
    s.c = mul(s.R, com)
    s.I = rotate_sym(s.R, Ic)
    s.f = scale(mass, add(s.v, cross(s.w, s.c)))
    s.n = add(symmul(s.I, s.w), cross(s.c, s.f))
    s.gf = scale(mass, gravity)
    s.gn = cross(s.c, s.gf)


cdef inline void before_joint(const MidStep* step, int i, Vec3* w, Vec3* v) noexcept nogil:
    # the twist U of body i without the motion of its joint
    cdef int up = step.m.body[i].parent
    w[0] = zero3()
    v[0] = zero3()
    if up >= 0:
        carry(step.body[up].w, step.body[up].v, step.body[i].t, w, v)
    elif step.trees != NULL and step.m.body[i].whole >= 0:
        v[0] = neg(step.trees.tree[step.m.body[i].whole].u)


cdef void mid_backward(const MidStep* step, const vt_real* wrench) noexcept nogil:
    # leaves to root: both derivatives of the Lagrangian, dL/drate = S.pi + armature rate and dL/dq = S.(ad_U^T pi + gam), with the
    # generalised force of wrenches on the bodies, (nbody, 6) about their origins or NULL
    cdef const vt_model* m = step.m
    cdef int i
    cdef const vt_body* b
    cdef MidBody* s
    cdef MidBody* up
    cdef Vec3 w, v, n, f
    if wrench != NULL:
        for i in range(m.nbody):
            s = &step.body[i]
            s.gn = add(s.gn, load3(wrench + 6 * i))
            s.gf = add(s.gf, load3(wrench + 6 * i + 3))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &step.body[i]
        w = s.w
        v = s.v
        if joint_multi(b):
            before_joint(step, i, &w, &v)
        n = sub(s.gn, add(cross(w, s.n), cross(v, s.f)))
        f = sub(s.gf, cross(w, s.f))
        if joint_multi(b):
            joint_project(b, s.R, s.n, s.f, step.L_rate)
            joint_project(b, s.R, n, f, step.L_q)
        else:
            # by the column of S, as mid_factor takes it: joint_project rounds a helical joint's terms differently
            joint_column(b, s.R, 0, &w, &v)
            step.L_rate[b.iv] = dot(w, s.n)
            step.L_q[b.iv] = dot(w, n)
            if not joint_rotates(b):
                step.L_rate[b.iv] = step.L_rate[b.iv] + dot(v, s.f)
                step.L_q[b.iv] = step.L_q[b.iv] + dot(v, f)
        if b.parent >= 0:
            up = &step.body[b.parent]
            hand_down(s.n, s.f, s.t, &up.n, &up.f)
            hand_down(s.gn, s.gf, s.t, &up.gn, &up.gf)
    if m.rotors:
        add_armature(m, vt_set1(1.0 / step.h), step.increment, step.L_rate)


cdef void mid_residual(const MidStep* step, const vt_real* p1, const vt_real* tau, vt_real* r) noexcept nogil:
    # r = -(p1 + D1 Ld + f-): forces are divided between the ends as 1 - alpha and alpha. The backward Euler rule has
    # all of them here: r = p(q2, y/h) - h (dL/dq + f) - p1. Leaves in `multi` the data of the joints of several
    # coordinates for the rest of the step
    cdef const vt_model* m = step.m
    cdef int i
    cdef double h = step.h, share = step.start
    for i in range(m.nv):
        r[i] = step.L_rate[i] - p1[i] - share * (h * (step.L_q[i] + tau[i]) - damping_of(m, i) * step.increment[i])
    if m.rubbing:
        add_friction(m, h, step.increment, share, r)
    if m.nmulti:
        for i in range(m.nbody):
            if joint_multi(&m.body[i]):
                mid_residual_multi(step, i, p1, tau, r)
    if step.trees != NULL:
        mid_add_nodes(m, h, step.trees, r)


cdef void mid_residual_multi(const MidStep* step, int i, const vt_real* p1, const vt_real* tau,
                             vt_real* r) noexcept nogil:
    # r = dlog_xi^T pi - h Ea^T F - p1
    cdef const vt_body* b = &step.m.body[i]
    cdef MidMulti* g = &step.multi[b.multi]
    cdef int k
    cdef vt_real a = vt_set1(-step.alpha), inverse = vt_set1(1.0 / step.h)
    cdef Vec3 w, v, n, f, en, ef
    cdef AdMatrix Eb
    # Psi = dexp_{-alpha xi}, Ea = 1 - alpha Psi dlog_{-xi}; backward Ea is the turn of Ad_{exp(-xi)} = Psi dlog_xi: a
    # wrench about the joint's origin at node 2 acts about its origin at node 1
    joint_expand(b, step.increment, &w, &v)
    g.Psi = dexp_matrix(scale(a, w), scale(a, v))
    g.dlog = dlog_matrix(w, v)
    if step.backward:
        g.Ea = ad_mul(g.Psi, g.dlog)
        g.Ea.e = zero33()
    else:
        Eb = ad_mul(g.Psi, ad_flip(g.dlog))
        g.Ea.d = plus_diagonal(add_scaled(a, Eb.d, zero33()), vt_set1(1.0))
        g.Ea.e = add_scaled(a, Eb.e, zero33())
    # F = ad_U^T pi + gam + tau - damping y/h
    joint_expand(b, step.L_rate, &g.n, &g.f)
    for k in range(b.iv, b.iv + b.nv):
        r[k] = step.L_q[k] + tau[k] - damping_of(step.m, k) * inverse * step.increment[k]
    joint_expand(b, r, &g.Fn, &g.Ff)
    ad_pull(g.dlog, g.n, g.f, &n, &f)
    ad_pull(g.Ea, g.Fn, g.Ff, &en, &ef)
    joint_project_own(b, axpy(vt_set1(-step.h), en, n), axpy(vt_set1(-step.h), ef, f), r)
    for k in range(b.iv, b.iv + b.nv):
        r[k] = r[k] - p1[k]


cdef void mid_end(const MidStep* step, const vt_real* r, const vt_real* tau, vt_real* p2) noexcept nogil:
    # p2 = D2 Ld + f+, less the remaining residual
    cdef const vt_model* m = step.m
    cdef int i
    cdef double h = step.h, share = step.end
    for i in range(m.nv):
        p2[i] = step.L_rate[i] + share * (h * (step.L_q[i] + tau[i]) - damping_of(m, i) * step.increment[i]) - r[i]
    if m.rubbing:
        add_friction(m, h, step.increment, -share, p2)
    if m.nmulti:
        for i in range(m.nbody):
            if joint_multi(&m.body[i]):
                mid_end_multi(step, i, r, p2)
    if step.trees != NULL:
        mid_add_ends(m, h, step.trees, step.trees.rest, p2)


cdef void mid_end_multi(const MidStep* step, int i, const vt_real* r, vt_real* p2) noexcept nogil:
    # p2 = h (F - Ea^T F) + dlog_{-xi}^T pi - Ad_{exp xi}^T r: the remaining residual is a wrench fixed in the world, so
    # that the momentum of a floating tree is conserved to round-off at any tolerance
    cdef const vt_body* b = &step.m.body[i]
    cdef const MidMulti* g = &step.multi[b.multi]
    cdef vt_real h = vt_set1(step.h)
    cdef Vec3 w, v, n, f, en, ef, rn, rf, move
    cdef Quat turn
    cdef Mat3 T
    ad_pull(ad_flip(g.dlog), g.n, g.f, &n, &f)
    if not step.backward:
        ad_pull(g.Ea, g.Fn, g.Ff, &en, &ef)
        n = axpy(h, sub(g.Fn, en), n)
        f = axpy(h, sub(g.Ff, ef), f)
    joint_expand(b, step.increment, &w, &v)
    joint_expand(b, r, &rn, &rf)
    exp_se3(w, v, &turn, &move)
    T = quat_matrix(turn)
    joint_project_own(b, sub(n, tmul(T, sub(rn, cross(move, rf)))), sub(f, tmul(T, rf)), p2)


# ---- rows by displacements ----------------------------------------------------------------------

cdef inline void mid_row(const vt_model* m, const MidMulti* multi, bint ends, double share,
                         vt_real* row) noexcept nogil:
    # a row (nv,) by body displacements at q_m: its product with d(q_m)/dy over alpha, or if `ends` with Ea
    # (share on one coordinate), by which forces at q_m act on the start
    cdef int i
    cdef const vt_body* b
    cdef Vec3 n, f
    for i in range(m.nbody):
        b = &m.body[i]
        if joint_multi(b):
            joint_expand(b, row, &n, &f)
            ad_pull(multi[b.multi].Ea if ends else multi[b.multi].Psi, n, f, &n, &f)
            joint_project_own(b, n, f, row)
        elif ends:
            row[b.iv] = share * row[b.iv]


cdef void mid_end_row(const vt_model* m, const vt_real* y, int first, int end, vt_real* row) noexcept nogil:
    # a row (nv,) by displacements at q2 of the bodies from first to end becomes one by y
    cdef int i
    cdef const vt_body* b
    cdef Vec3 n, f, w, v
    for i in range(first, end):
        b = &m.body[i]
        if joint_multi(b):
            joint_expand(b, y, &w, &v)
            joint_expand(b, row, &n, &f)
            ad_pull(dexp_matrix(neg(w), neg(v)), n, f, &n, &f)
            joint_project_own(b, n, f, row)


#: The square of nearly a whole turn of a joint of several coordinates, at which its maps are singular [rad^2]
cdef double MID_TURN = 39.0


cdef inline vt_real mid_turn_square(const vt_model* m, const vt_real* y) noexcept nogil:
    # the square of the largest rotation of these joints; NaN if there is one
    cdef int i
    cdef Vec3 w, v
    cdef vt_real most = vt_set1(0.0)
    if m.nmulti:
        for i in range(m.nbody):
            if joint_multi(&m.body[i]):
                joint_expand(&m.body[i], y, &w, &v)
                most = vt_max_nan(most, dot(w, w))
    return most


# ---- the exact direction ------------------------------------------------------------------------
# Eliminate the joints from J = -dr/dy, leaves to root. Of a body count twelve numbers x, its displacement eta and the
# change dV of its twist, and twelve changes A x of its subtree's momentum and gravity wrench. An increment of its
# joint adds Gam to x; its equation takes R of the wrenches. With u = A Gam - N and l = R A + (the change of R),
#     D = l.Gam - damping,   the parent gets A - u D^-1 l.

cdef inline vt_real dot12(const Twelve* a, const Twelve* b) noexcept nogil:
    return (dot(a.part[0], b.part[0]) + dot(a.part[1], b.part[1]) + dot(a.part[2], b.part[2])
            + dot(a.part[3], b.part[3]))


cdef inline void add12(vt_real s, const Twelve* a, Twelve* b) noexcept nogil:
    # b += s a
    cdef int j
    for j in range(4):
        b.part[j] = axpy(s, a.part[j], b.part[j])


cdef inline vt_real mid_takes(const vt_body* b, const Twelve* R, const Twelve* x) noexcept nogil:
    # R.x of one coordinate: a rotation does not project the force of gravity
    cdef vt_real r = dot(R.part[0], x.part[0]) + dot(R.part[1], x.part[1]) + dot(R.part[2], x.part[2])
    return r if joint_rotates(b) else r + dot(R.part[3], x.part[3])


cdef inline void mid_moves(const vt_body* b, vt_real d, const Twelve* Gam, Twelve* x) noexcept nogil:
    # x += Gam d of one coordinate: a rotation does not move the origin
    x.part[0] = axpy(d, Gam.part[0], x.part[0])
    if not joint_rotates(b):
        x.part[1] = axpy(d, Gam.part[1], x.part[1])
    x.part[2] = axpy(d, Gam.part[2], x.part[2])
    x.part[3] = axpy(d, Gam.part[3], x.part[3])


cdef inline void zero12(Twelve* a) noexcept nogil:
    cdef int j
    for j in range(4):
        a.part[j] = zero3()


cdef inline void hand_down12(const Twelve* b, Vec3 t, Twelve* up) noexcept nogil:
    hand_down(b.part[0], b.part[1], t, &up.part[0], &up.part[1])
    hand_down(b.part[2], b.part[3], t, &up.part[2], &up.part[3])


cdef inline void mid_times(const MidBlock* e, const Twelve* x, Twelve* u) noexcept nogil:
    # u = A x
    cdef int j
    for j in range(4):
        u.part[j] = add(add(mul(e.A[j][0], x.part[0]), mul(e.A[j][1], x.part[1])),
                        add(mul(e.A[j][2], x.part[2]), mul(e.A[j][3], x.part[3])))


cdef inline void times_mid(const MidBlock* e, const Twelve* R, Twelve* l) noexcept nogil:
    # l = A^T R
    cdef int j
    for j in range(4):
        l.part[j] = add(add(tmul(e.A[0][j], R.part[0]), tmul(e.A[1][j], R.part[1])),
                        add(tmul(e.A[2][j], R.part[2]), tmul(e.A[3][j], R.part[3])))


cdef inline void mid_hand_down(Vec3 t, MidBlock* e, MidBlock* up) noexcept nogil:
    # add to the parent's, shifted to its origin
    cdef int j, k
    for k in range(4):
        e.A[0][k] = add3(e.A[0][k], cross_mat(t, e.A[1][k]))
        e.A[2][k] = add3(e.A[2][k], cross_mat(t, e.A[3][k]))
    for j in range(4):
        up.A[j][0] = add3(up.A[j][0], sub3(e.A[j][0], mat_cross(e.A[j][1], t)))
        up.A[j][1] = add3(up.A[j][1], e.A[j][1])
        up.A[j][2] = add3(up.A[j][2], sub3(e.A[j][2], mat_cross(e.A[j][3], t)))
        up.A[j][3] = add3(up.A[j][3], e.A[j][3])


cdef inline Mat3 load33(const vt_real* a) noexcept nogil:
    return mat3(load3(a), load3(a + 3), load3(a + 6))


cdef inline void mid_body_block(const vt_body* b, const MidBody* a, Vec3 g,
                                const vt_real* turning, MidBlock* e) noexcept nogil:
    # a body alone: momentum n = (I + m (c.c 1 - c c^T)) dw + m c x dv, f = m dv - m c x dw; gravity's wrench turns by
    # m c^ g^ and m g^, and what else acts on the body by turning (27,) or NULL
    cdef int j, k
    cdef Vec3 hm = scale(mass_of(b), a.c)
    cdef Mat3 zero = zero33()
    for j in range(4):
        for k in range(4):
            e.A[j][k] = zero
    e.A[0][2] = full(addsym(a.I, point_inertia(mass_of(b), a.c)))
    e.A[0][3] = hat(hm)
    e.A[1][2] = hat(neg(hm))
    e.A[1][3] = plus_diagonal(zero, mass_of(b))
    e.A[2][0] = cross_mat(hm, hat(g))
    e.A[3][0] = hat(scale(mass_of(b), g))
    if turning != NULL:
        e.A[2][0] = add3(e.A[2][0], load33(turning))
        e.A[2][1] = add3(e.A[2][1], load33(turning + 9))
        e.A[3][0] = add3(e.A[3][0], load33(turning + 18))


cdef void mid_factor(const MidStep* step, int first, int end, const vt_real* turning, const vt_real* stiffness,
                     bint eliminate, Signs* signs) noexcept nogil:
    # of the bodies from first to end, which hang together with no others.
    # turning: NULL, or (nbody, 27), the change of each body's wrench as its axes see it: of the torque by turns and by
    # moves, of the force by turns. stiffness: NULL, or (nv,), -d(joint force)/dq. If not to eliminate, u and l are of
    # the whole subtree, rb of a joint its own entry of the matrix, and likewise Dinv of several coordinates. signs: of
    # the pivots times -h, which are positive where nothing moves and J is -M/h
    cdef const vt_model* m = step.m
    cdef int i, up
    for i in range(first, end):
        mid_body_block(&m.body[i], &step.body[i], mid_fall(m, step.trees, i), turning + 27 * i if turning != NULL else NULL,
                       &step.block[i])
    for i in range(end - 1, first - 1, -1):
        if joint_multi(&m.body[i]):
            mid_eliminate_multi(step, i, eliminate, signs)
        else:
            mid_eliminate(step, i, stiffness, eliminate, signs)
        up = m.body[i].parent
        if up >= 0:
            mid_hand_down(step.body[i].t, &step.block[i], &step.block[up])


cdef inline void mid_maps(const MidStep* step, int i, Twelve* own_l, Twelve* own_u) noexcept nogil:
    # Gam and R of a joint of one coordinate, and the changes of its own that l and u have; parts 0, 1 of own_l are none
    cdef const vt_body* b = &step.m.body[i]
    cdef const MidBody* a = &step.body[i]
    cdef MidSolve* e = &step.work[i]
    cdef double h = step.h, alpha = step.alpha
    cdef vt_real share = vt_set1(step.start * h), alf = vt_set1(alpha), inverse = vt_set1(1.0 / h)
    cdef Vec3 sw, sv, aw, av, n, f
    # S and ad_V S
    joint_column(b, a.R, 0, &sw, &sv)
    aw = cross(a.w, sw)
    av = add(cross(a.v, sw), cross(a.w, sv))

    # Gam: eta by alpha S, dV by alpha ad_V S + S/h
    e.Gam.part[0] = scale(alf, sw)
    e.Gam.part[1] = scale(alf, sv)
    e.Gam.part[2] = add(scale(alf, aw), scale(inverse, sw))
    e.Gam.part[3] = add(scale(alf, av), scale(inverse, sv))

    # R: h start ad_V S - S of the momentum, h start S of gravity's wrench
    e.R.part[0] = sub(scale(share, aw), sw)
    e.R.part[1] = sub(scale(share, av), sv)
    e.R.part[2] = scale(share, sw)
    e.R.part[3] = scale(share, sv)

    # l = R A + h start (change of ad_V S).pi = -h start (ad_S^T pi).dV
    n = add(cross(sw, a.n), cross(sv, a.f))
    f = cross(sw, a.f)
    own_l.part[2] = scale(share, n)
    own_l.part[3] = scale(share, f)

    # u = A Gam - alpha ad_S^T (pi, gam)
    own_u.part[0] = scale(alf, n)
    own_u.part[1] = scale(alf, f)
    own_u.part[2] = scale(alf, add(cross(sw, a.gn), cross(sv, a.gf)))
    own_u.part[3] = scale(alf, cross(sw, a.gf))


cdef inline vt_real mid_slopes(const MidStep* step, const vt_body* b, const vt_real* stiffness,
                               vt_real D) noexcept nogil:
    # D - armature/h - start (damping + slopes of friction and drives + alpha h stiffness)
    cdef double h = step.h, share = step.start
    D = D - share * damping_of(step.m, b.iv)
    if step.m.rotors:
        D = D - armature_of(step.m, b.iv) / vt_set1(h)
    if step.m.rubbing:
        D = D - share * friction_slope(step.m, b.iv, vt_set1(1.0 / h) * step.increment[b.iv])
    if step.slope != NULL:
        D = D - share * step.slope[b.iv]
    if stiffness != NULL:
        D = D - share * step.alpha * h * stiffness[b.iv]
    return D


cdef inline void mid_eliminate(const MidStep* step, int i, const vt_real* stiffness, bint eliminate,
                               Signs* signs) noexcept nogil:
    # a joint of one coordinate; leaves in A the contribution to the parent
    cdef const vt_body* b = &step.m.body[i]
    cdef MidSolve* e = &step.work[i]
    cdef MidBlock* block = &step.block[i]
    cdef Twelve own_l, own_u
    cdef int j, k
    cdef double h = step.h
    cdef vt_real D
    mid_maps(step, i, &own_l, &own_u)
    times_mid(block, &e.R, &e.l)
    mid_times(block, &e.Gam, &e.u)
    for j in range(4):
        if j >= 2:
            e.l.part[j] = add(e.l.part[j], own_l.part[j])
        e.u.part[j] = add(e.u.part[j], own_u.part[j])

    # D = l.Gam and the joint's own slopes
    D = mid_slopes(step, b, stiffness, dot12(&e.l, &e.Gam))
    e.rb = D
    e.Dinv = vt_set1(1.0) / D
    if b.locked or not eliminate:
        e.Dinv = vt_set1(0.0)
    else:
        signs_note(signs, -h * e.Dinv)
    if b.parent >= 0:
        for j in range(4):
            for k in range(4):
                block.A[j][k] = outer(-e.Dinv, e.u.part[j], e.l.part[k], block.A[j][k])


# ---- the same of several coordinates --------------------------------------------------------------

cdef inline void joint_twist(const vt_body* b, Mat3 R, const AdMatrix* A, int k, Vec3* w, Vec3* v) noexcept nogil:
    # A s in world axes, s the k-th column of S in the body's own
    cdef int axis = joint_order(b, k)
    if axis >= 3:
        w[0] = zero3()
        v[0] = mul(R, column(A.d, axis - 3))
    else:
        w[0] = mul(R, column(A.d, axis))
        v[0] = mul(R, column(A.e, axis))


cdef inline void pull_back(Vec3 w, Vec3 v, Vec3 n, Vec3 f, Vec3* pn, Vec3* pf) noexcept nogil:
    # -ad_(w,v)^T (n, f)
    pn[0] = add(cross(w, n), cross(v, f))
    pf[0] = cross(w, f)


cdef inline void mid_columns(const MidStep* step, int i, Vec3 uw, Vec3 uv, Twelve* own_u) noexcept nogil:
    # Gam of each coordinate, and the changes of its own that u has; (uw, uv) is the twist U before the joint
    cdef const vt_body* b = &step.m.body[i]
    cdef const MidBody* a = &step.body[i]
    cdef MidMulti* g = &step.multi[b.multi]
    cdef vt_real inverse = vt_set1(1.0 / step.h), alf = vt_set1(step.alpha)
    cdef AdMatrix one
    cdef Vec3 w, v, n, f
    cdef int k
    one.d = identity3()
    one.e = zero33()
    for k in range(b.nv):
        # eta by alpha Psi S, dV by alpha ad_U Psi S + S/h
        joint_twist(b, a.R, &g.Psi, k, &w, &v)
        w = scale(alf, w)
        v = scale(alf, v)
        joint_twist(b, a.R, &one, k, &n, &f)
        g.Gam[k].part[0] = w
        g.Gam[k].part[1] = v
        g.Gam[k].part[2] = axpy(inverse, n, cross(uw, w))
        g.Gam[k].part[3] = axpy(inverse, f, add(cross(uv, w), cross(uw, v)))

        # u = A Gam - alpha (Pm(pi) Psi S, Pm(gam) Psi S)
        pull_back(w, v, a.n, a.f, &own_u[k].part[0], &own_u[k].part[1])
        pull_back(w, v, a.gn, a.gf, &own_u[k].part[2], &own_u[k].part[3])


cdef inline void mid_rows(const MidStep* step, int i, Vec3 uw, Vec3 uv, Twelve* own_l) noexcept nogil:
    # R of each coordinate: h ad_U Ea S - dlog_xi S of the momentum, h Ea S of gravity's wrench; and the changes of its
    # own that l has, in parts 2 and 3
    cdef const vt_body* b = &step.m.body[i]
    cdef const MidBody* a = &step.body[i]
    cdef MidMulti* g = &step.multi[b.multi]
    cdef vt_real h = vt_set1(step.h)
    cdef Vec3 w, v, n, f
    cdef int k
    for k in range(b.nv):
        joint_twist(b, a.R, &g.Ea, k, &w, &v)
        w = scale(h, w)
        v = scale(h, v)
        joint_twist(b, a.R, &g.dlog, k, &n, &f)
        g.R[k].part[0] = sub(cross(uw, w), n)
        g.R[k].part[1] = sub(add(cross(uv, w), cross(uw, v)), f)
        g.R[k].part[2] = w
        g.R[k].part[3] = v

        pull_back(w, v, a.n, a.f, &own_l[k].part[2], &own_l[k].part[3])


cdef inline void mid_second_order(const MidStep* step, int i, vt_real* H) noexcept nogil:
    # H (6, 6), (angular, linear): the change by y of the joint's own maps in D1, at fixed wrenches
    cdef const vt_body* b = &step.m.body[i]
    cdef const MidMulti* g = &step.multi[b.multi]
    cdef vt_real h = vt_set1(step.h), alf = vt_set1(step.alpha)
    cdef Vec3 xw, xv, w, v
    cdef WrenchSlope Q, T, turn
    cdef AdMatrix whole
    joint_expand(b, step.increment, &xw, &xv)
    if step.backward:
        # d(dlog_xi^T pi), with what Ea^T F turns by: Ea depends on the turn alone
        T = slope_axpy(vt_set1(1.0), slope_pull(g.Ea, wrench_slope(g.n, g.f)), ddlog_pull(xw, xv, g.n, g.f))
        put_matrix(T.K, &H[3], 6)
        whole.d, whole.e = g.Psi.d, zero33()
        turn = slope_pull(g.Ea, slope_push(wrench_slope(g.Fn, g.Ff), whole))
        T = slope_axpy(h, turn, T)
    else:
        # d(dlog_xi^T (pi + h alpha Psi^T F)), with what alpha xi in Psi adds to it
        ad_pull(g.Psi, g.Fn, g.Ff, &w, &v)
        Q = slope_pull(g.Psi, ddlog_pull(scale(-alf, xw), scale(-alf, xv), w, v))
        T = ddlog_pull(xw, xv, axpy(h * alf, w, g.n), axpy(h * alf, v, g.f))
        T = slope_axpy(h * alf * alf, slope_pull(g.dlog, Q), T)
        # what F turns by: Ad_{exp(-alpha xi)} = Ea + alpha Psi dlog_xi
        whole = ad_mul(g.Psi, g.dlog)
        whole.d = add_scaled(alf, whole.d, g.Ea.d)
        whole.e = add_scaled(alf, whole.e, g.Ea.e)
        T = slope_axpy(h * alf, slope_pull(whole, slope_push(wrench_slope(g.Fn, g.Ff), g.Psi)), T)
        # and pi
        T = slope_axpy(vt_set1(1.0), slope_pull(g.Ea, wrench_slope(g.n, g.f)), T)
        put_matrix(T.K, &H[3], 6)
    put_matrix(T.M, &H[0], 6)
    put_matrix(T.K, &H[18], 6)
    put_matrix(zero33(), &H[21], 6)


cdef inline void mid_own_slopes(const MidStep* step, int i, vt_real* D) noexcept nogil:
    # D = -H
    cdef const vt_body* b = &step.m.body[i]
    cdef int j, k
    cdef vt_real H[36]
    mid_second_order(step, i, H)
    for j in range(b.nv):
        for k in range(b.nv):
            D[j * b.nv + k] = -H[6 * joint_order(b, j) + joint_order(b, k)]


cdef inline void mid_own_damping(const MidStep* step, int i, vt_real* D) noexcept nogil:
    # D -= Ea^T damping
    cdef const vt_body* b = &step.m.body[i]
    cdef const MidMulti* g = &step.multi[b.multi]
    cdef int j, k
    cdef vt_real H[36]
    if not step.m.damped:
        return
    put_matrix(transpose(g.Ea.d), &H[0], 6)
    put_matrix(transpose(g.Ea.e), &H[3], 6)
    put_matrix(zero33(), &H[18], 6)
    put_matrix(transpose(g.Ea.d), &H[21], 6)
    for j in range(b.nv):
        for k in range(b.nv):
            D[j * b.nv + k] = D[j * b.nv + k] - damping_of(step.m, b.iv + k) * (
                H[6 * joint_order(b, j) + joint_order(b, k)])


cdef void mid_eliminate_multi(const MidStep* step, int i, bint eliminate, Signs* signs) noexcept nogil:
    # as mid_eliminate; leaves in A what the parent feels
    cdef const vt_body* b = &step.m.body[i]
    cdef MidBlock* block = &step.block[i]
    cdef MidMulti* g = &step.multi[b.multi]
    cdef int j, k, c, nd = b.nv
    cdef Vec3 uw, uv, n
    cdef Twelve l[6]
    cdef Twelve own_l[6]
    cdef Twelve own_u[6]
    before_joint(step, i, &uw, &uv)
    mid_columns(step, i, uw, uv, own_u)
    mid_rows(step, i, uw, uv, own_l)
    for k in range(nd):
        times_mid(block, &g.R[k], &l[k])
        l[k].part[2] = add(l[k].part[2], own_l[k].part[2])
        l[k].part[3] = add(l[k].part[3], own_l[k].part[3])
        if b.parent >= 0:
            mid_times(block, &g.Gam[k], &g.u[k])
            for c in range(4):
                g.u[k].part[c] = add(g.u[k].part[c], own_u[k].part[c])

    # D = l Gam - H - Ea^T damping
    mid_own_slopes(step, i, g.Dinv)
    for j in range(nd):
        for k in range(nd):
            for c in range(4):
                g.Dinv[j * nd + k] = g.Dinv[j * nd + k] + dot(l[j].part[c], g.Gam[k].part[c])
    mid_own_damping(step, i, g.Dinv)
    if not eliminate:
        for k in range(nd):
            g.W[k] = l[k]
        return
    invert(g.Dinv, nd, -step.h, signs)
    if b.parent < 0:
        return

    # W = D^-1 l, A <- A - u W
    for k in range(nd):
        for j in range(4):
            n = scale(g.Dinv[k * nd], l[0].part[j])
            for c in range(1, nd):
                n = axpy(g.Dinv[k * nd + c], l[c].part[j], n)
            g.W[k].part[j] = n
    for k in range(nd):
        for j in range(4):
            for c in range(4):
                block.A[j][c] = outer(vt_set1(-1.0), g.u[k].part[j], g.W[k].part[c], block.A[j][c])


# ---- the dense matrix, and the solution -----------------------------------------------------------

cdef void mid_jacobian(const MidStep* step, vt_real* J) noexcept nogil:
    # J (nv, nv) = -dr/dy, from what mid_factor leaves where it does not eliminate and the paths to the root
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const MidMulti* g
    cdef int i, k, c
    for k in range(m.nv * m.nv):
        J[k] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        if not joint_multi(b):
            J[b.iv * m.nv + b.iv] = step.work[i].rb
            mid_jacobian_path(step, i, b.iv, step.work[i].u, step.work[i].l, J)
            continue
        g = &step.multi[b.multi]
        for k in range(b.nv):
            for c in range(b.nv):
                J[(b.iv + k) * m.nv + b.iv + c] = g.Dinv[k * b.nv + c]
            mid_jacobian_path(step, i, b.iv + k, g.u[k], g.W[k], J)


cdef inline void mid_jacobian_path(const MidStep* step, int i, int at, Twelve u, Twelve l, vt_real* J) noexcept nogil:
    # column R.u and row l.Gam of a coordinate of body i, with those of the bodies on its path to the root
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const MidMulti* g
    cdef const MidSolve* e
    cdef int j = i, k, c
    while m.body[j].parent >= 0:
        # about the parent's origin
        for c in range(0, 4, 2):
            u.part[c] = add(u.part[c], cross(step.body[j].t, u.part[c + 1]))
            l.part[c] = add(l.part[c], cross(step.body[j].t, l.part[c + 1]))
        j = m.body[j].parent
        b = &m.body[j]
        if not joint_multi(b):
            e = &step.work[j]
            J[b.iv * m.nv + at] = dot12(&e.R, &u)
            J[at * m.nv + b.iv] = dot12(&l, &e.Gam)
            continue
        g = &step.multi[b.multi]
        for k in range(b.nv):
            J[(b.iv + k) * m.nv + at] = dot12(&g.R[k], &u)
            J[at * m.nv + b.iv + k] = dot12(&l, &g.Gam[k])


cdef void mid_solve(const MidStep* step, const vt_real* r, int first, int end, vt_real* d) noexcept nogil:
    # the increment d of y with (dr/dy) d = -r, of the bodies from first to end, which hang together with no others
    if step.trees == NULL or not step.trees.direct:
        mid_solve_joints(step, r, first, end, d)
        return
    mid_take_translation(step.m, step.trees, r, first, end)
    mid_solve_joints(step, step.trees.rest, first, end, d)
    mid_give_translation(step.m, step.h, step.trees, step.increment, first, end, d)


cdef void mid_solve_joints(const MidStep* step, const vt_real* r, int first, int end, vt_real* d) noexcept nogil:
    # the same of the operator that mid_factor has left
    cdef const vt_model* m = step.m
    cdef int i, up
    cdef MidSolve* e
    # leaves to root: rb = r - R.b, and the parent gets b + u D^-1 rb
    for i in range(first, end):
        zero12(&step.work[i].b)
    for i in range(end - 1, first - 1, -1):
        e = &step.work[i]
        if joint_multi(&m.body[i]):
            mid_solve_multi(&m.body[i], r, e, &step.multi[m.body[i].multi])
        else:
            e.rb = r[m.body[i].iv] - mid_takes(&m.body[i], &e.R, &e.b)
            if m.body[i].parent >= 0:
                add12(e.Dinv * e.rb, &e.u, &e.b)
        up = m.body[i].parent
        if up >= 0:
            hand_down12(&e.b, step.body[i].t, &step.work[up].b)
    # root to leaves: d = D^-1 (rb - l.x), with x of the parent, and x + Gam d is the body's
    for i in range(first, end):
        e = &step.work[i]
        up = m.body[i].parent
        zero12(&e.x)
        if up >= 0:
            carry(step.work[up].x.part[0], step.work[up].x.part[1], step.body[i].t, &e.x.part[0], &e.x.part[1])
            carry(step.work[up].x.part[2], step.work[up].x.part[3], step.body[i].t, &e.x.part[2], &e.x.part[3])
        if joint_multi(&m.body[i]):
            mid_move_multi(&m.body[i], &step.multi[m.body[i].multi], e, d)
        else:
            d[m.body[i].iv] = e.Dinv * (e.rb - dot12(&e.l, &e.x))
            mid_moves(&m.body[i], d[m.body[i].iv], &e.Gam, &e.x)


cdef void mid_solve_multi(const vt_body* b, const vt_real* r, MidSolve* e, MidMulti* g) noexcept nogil:
    # several coordinates on the way to the root: rate = D^-1 rb
    cdef int j, k, c, nd = b.nv
    cdef vt_real rb[6]
    cdef vt_real s
    for k in range(nd):
        s = r[b.iv + k]
        for j in range(4):
            s = s - dot(g.R[k].part[j], e.b.part[j])
        rb[k] = s
    for k in range(nd):
        s = g.Dinv[k * nd] * rb[0]
        for c in range(1, nd):
            s = s + g.Dinv[k * nd + c] * rb[c]
        g.rate[k] = s
    if b.parent >= 0:
        for k in range(nd):
            add12(g.rate[k], &g.u[k], &e.b)


cdef void mid_move_multi(const vt_body* b, const MidMulti* g, MidSolve* e, vt_real* d) noexcept nogil:
    # the same on the way to the leaves: d = rate - W x
    cdef int j, k
    cdef vt_real s
    for k in range(b.nv):
        s = g.rate[k]
        if b.parent >= 0:
            for j in range(4):
                s = s - dot(g.W[k].part[j], e.x.part[j])
        d[b.iv + k] = s
    for k in range(b.nv):
        add12(d[b.iv + k], &g.Gam[k], &e.x)
