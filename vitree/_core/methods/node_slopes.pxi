# What a linearised step is made of: derivatives of the momenta at a step's two nodes,
#     p1 = -D1 Ld - f-,   p2 = D2 Ld + f+,
# by body displacements d1, d2 of the joints there (of one coordinate: by the coordinate):
#     dp1 = K11 d1 + K12 d2,   dp2 = K21 d1 + K22 d2.
# Entries of bodies that are not on one path to the root are zero, but for none else.

cdef struct NodeSlopes:
    vt_real* K11                # (nv, nv) each
    vt_real* K12
    vt_real* K21
    vt_real* K22


cdef struct Weighed:            # a subtree about the origin of its body: mass, and its first moment
    vt_real mass
    Vec3 first


cdef struct DriveSlopes:        # of the drives' forces, (nv,) each
    vt_real* position           # minus the slope by the coordinate
    vt_real* rate               # minus the slope by the velocity
    vt_real* free               # 1 within the limits, else 0


cdef inline NodeSlopes node_slopes(vt_real* at, int nv) noexcept nogil:
    cdef NodeSlopes K
    cdef int k, n = nv * nv
    K.K11, K.K12, K.K21, K.K22 = at, at + n, at + 2 * n, at + 3 * n
    for k in range(4 * n):
        at[k] = vt_set1(0.0)
    return K


cdef inline vt_real pair_up(Vec3 w, Vec3 v, Vec3 n, Vec3 f) noexcept nogil:
    return dot(w, n) + dot(v, f)


cdef void drive_slopes(const vt_drive* d, int count, int nv, const vt_real* q, const vt_real* y, double share, double h,
                       const vt_real* u, DriveSlopes* to) noexcept nogil:
    # at q + share y and the mean rate y/h
    cdef int k, i
    cdef vt_real none = vt_set1(0.0), ease
    cdef DriveAt at
    for k in range(nv):
        to.position[k] = to.rate[k] = to.free[k] = none
    for k in range(count):
        i = d[k].iv
        at = drive_at(&d[k], q[d[k].iq] + share * y[i], y[i] / vt_set1(h), u)
        ease = drive_at_ease(&d[k], q[d[k].iq] + share * y[i], y[i] / vt_set1(h), u)
        to.position[i], to.rate[i] = at.by_position, at.by_rate
        to.free[i] = vt_select(vt_le(vt_abs(ease - at.force), none), vt_set1(1.0), none)


cdef inline void ad_dense(const vt_body* b, const AdMatrix* A, vt_real* to) noexcept nogil:
    # (nv, nv) of a joint of several coordinates, in their order
    cdef vt_real H[36]
    cdef int j, k
    put_matrix(A.d, &H[0], 6)
    put_matrix(zero33(), &H[3], 6)
    put_matrix(A.e, &H[18], 6)
    put_matrix(A.d, &H[21], 6)
    for j in range(b.nv):
        for k in range(b.nv):
            to[j * b.nv + k] = H[6 * joint_order(b, j) + joint_order(b, k)]


cdef inline void slope_dense(const vt_body* b, const WrenchSlope* A, vt_real* to) noexcept nogil:
    cdef vt_real H[36]
    cdef int j, k
    put_matrix(A.M, &H[0], 6)
    put_matrix(A.K, &H[3], 6)
    put_matrix(A.K, &H[18], 6)
    put_matrix(zero33(), &H[21], 6)
    for j in range(b.nv):
        for k in range(b.nv):
            to[j * b.nv + k] = H[6 * joint_order(b, j) + joint_order(b, k)]


# ---- the linear-time integrator ------------------------------------------------------------------
# A body's momentum is one wrench, fixed in the world, which A zeta gives the change of where the body is displaced by
# zeta at node 2. Where both nodes are displaced alike it turns with them. So a displacement at node 1 is one of both
# less the same at node 2. Of the subtree of joint j, A is the sum, about the origins of its body at the two nodes.

cdef struct NodeColumn:         # a coordinate's twist at both nodes
    Vec3 w1
    Vec3 v1
    Vec3 u1                     # that of node 1, as the origin at node 2 sees it
    Vec3 w2
    Vec3 v2
    Vec3 u2                     # that of node 2, as the origin at node 1 sees it


cdef void lt_node_slopes(const LinearTimeStep* step, const Node* node2, const DriveSlopes* servo, NodeColumn* column,
                         Weighed* subtree, NodeSlopes* to) noexcept nogil:
    # follows lt_residual, which leaves in the trial the subtrees' momenta (times h)
    cdef const vt_model* m = step.m
    cdef const Trial* z
    cdef NodeColumn* c
    cdef int i, k
    for i in range(m.nbody):
        z = &step.trial[i]
        step.solve[i].A = zero_block()
        for k in range(joint_nv(&m.body[i])):
            c = &column[m.body[i].iv + k]
            joint_column(&m.body[i], step.node[i].R, k, &c.w1, &c.v1)
            c.w2, c.v2 = turned(z, c.w1), turned(z, c.v1)
            c.u1 = add(c.v1, cross(c.w1, z.move))
            c.u2 = sub(c.v2, cross(c.w2, z.move))
    for i in range(m.nbody - 1, -1, -1):
        if m.body[i].inert:
            lt_body_block(step, i, &step.solve[i].A)
        for k in range(joint_nv(&m.body[i])):
            lt_slopes_of(step, i, k, column, to)
        if m.body[i].parent >= 0:
            add_block(&step.solve[m.body[i].parent].A, &step.solve[i].A, step.node[i].t, second_arm(step, i))
    for k in range(m.nv * m.nv):
        to.K11[k] = to.K11[k] / vt_set1(step.h)
        to.K12[k] = to.K12[k] / vt_set1(step.h)
        to.K21[k] = to.K21[k] / vt_set1(step.h)
        to.K22[k] = to.K22[k] / vt_set1(step.h)
    lt_own_slopes(step, servo, to)
    weight_slopes(m, step.node, -0.5 * step.h, column, True, subtree, to.K11)
    weight_slopes(m, node2, 0.5 * step.h, column, False, subtree, to.K22)


cdef inline void lt_slopes_of(const LinearTimeStep* step, int i, int k, const NodeColumn* column,
                              NodeSlopes* to) noexcept nogil:
    # the entries (times h) of a coordinate of body i with those on its path to the root, its own included
    cdef const vt_model* m = step.m
    cdef const Trial* z = &step.trial[i]
    cdef const Block* A = &step.solve[i].A
    cdef const NodeColumn* c
    cdef int j = i, l, at, own = m.body[i].iv + k, n = m.nv
    cdef Vec3 an, af, bn, bf, r1w, r1v, r2w, r2v
    c = &column[own]
    # columns: A S2; and the turn of the momentum by S1 less A S1
    block_times(A, c.w2, c.v2, &an, &af)
    block_times(A, c.w1, c.u1, &bn, &bf)
    bn = sub(add(cross(c.w1, z.N), cross(c.v1, z.F)), bn)
    bf = sub(cross(c.w1, z.F), bf)
    # rows: S1^T A; S2^T A and what the turn of S2 takes of the momentum
    times_block(A, c.w1, c.v1, &r1w, &r1v)
    times_block(A, c.w2, c.u2, &r2w, &r2v)
    r2w = add(r2w, add(cross(c.w2, sub(z.N, cross(z.move, z.F))), cross(c.v2, z.F)))
    r2v = add(r2v, cross(c.w2, z.F))
    while True:
        for l in range(joint_nv(&m.body[j])):
            at = m.body[j].iv + l
            c = &column[at]
            to.K12[own * n + at] = pair_up(c.w2, c.v2, r1w, r1v)
            to.K11[own * n + at] = -pair_up(c.w1, c.u1, r1w, r1v)
            to.K22[own * n + at] = pair_up(c.w2, c.v2, r2w, r2v)
            to.K21[own * n + at] = -pair_up(c.w1, c.u1, r2w, r2v)
            if j < i:
                to.K12[at * n + own] = pair_up(c.w1, c.v1, an, af)
                to.K11[at * n + own] = pair_up(c.w1, c.v1, bn, bf)
                to.K22[at * n + own] = pair_up(c.w2, c.u2, an, af)
                to.K21[at * n + own] = pair_up(c.w2, c.u2, bn, bf)
        if m.body[j].parent < 0:
            return
        # about the parent's origins
        r1w, r2w = add(r1w, cross(second_arm(step, j), r1v)), add(r2w, cross(second_arm(step, j), r2v))
        an, bn = add(an, cross(step.node[j].t, af)), add(bn, cross(step.node[j].t, bf))
        j = m.body[j].parent


cdef inline void lt_own_slopes(const LinearTimeStep* step, const DriveSlopes* servo, NodeSlopes* to) noexcept nogil:
    # of armature, damping, friction and drives
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef int i, j, k, at, n = m.nv
    cdef double h = step.h
    cdef vt_real c, x
    cdef vt_real e[6]
    cdef vt_real D1[36]
    cdef vt_real D2[36]
    cdef AdMatrix one, two
    cdef Vec3 w, v
    for i in range(m.nbody):
        b = &m.body[i]
        if not joint_multi(b):
            at = b.iv * n + b.iv
            c = vt_set1(0.5 * m.damping[b.iv])
            if m.rubbing:
                c = c + 0.5 * friction_slope(m, b.iv, vt_set1(1.0 / h) * step.increment[b.iv])
            x = vt_set1(0.0)
            if servo != NULL:
                c = c + 0.5 * servo.rate[b.iv]
                x = 0.25 * h * servo.position[b.iv]
            to.K11[at] = to.K11[at] - (m.armature[b.iv] / h + c) + x
            to.K12[at] = to.K12[at] + (m.armature[b.iv] / h + c) + x
            to.K21[at] = to.K21[at] - (m.armature[b.iv] / h - c) - x
            to.K22[at] = to.K22[at] + (m.armature[b.iv] / h - c) - x
        elif m.damped:
            # the logarithm e of the motion changes by dlog_{-e} d2 - dlog_e d1
            joint_logarithm(b, step.increment, e)
            joint_twist_of(b, e, &w, &v)
            one, two = dlog_matrix(w, v), dlog_matrix(neg(w), neg(v))
            ad_dense(b, &one, D1)
            ad_dense(b, &two, D2)
            for j in range(b.nv):
                for k in range(b.nv):
                    at = (b.iv + j) * n + b.iv + k
                    c = vt_set1(0.5 * m.damping[b.iv + j])
                    to.K11[at] = to.K11[at] - c * D1[j * b.nv + k]
                    to.K12[at] = to.K12[at] + c * D2[j * b.nv + k]
                    to.K21[at] = to.K21[at] + c * D1[j * b.nv + k]
                    to.K22[at] = to.K22[at] - c * D2[j * b.nv + k]


cdef inline Vec3 weight_turn(Vec3 w, Vec3 v, const Weighed* x, Vec3 g) noexcept nogil:
    # the change of a subtree's weight by the twist (w, v), a torque: (w x h) x g + v x M g
    return add(cross(cross(w, x.first), g), cross(v, scale(x.mass, g)))


cdef inline void weigh_subtree(const vt_model* m, int i, Vec3 t, Weighed* x) noexcept nogil:
    # add a subtree, whose body's origin is t from its parent's, to the parent's
    cdef int up = m.body[i].parent
    if up >= 0:
        x[up].mass = x[up].mass + x[i].mass
        x[up].first = add(x[up].first, axpy(x[i].mass, t, x[i].first))


cdef void weight_slopes(const vt_model* m, const Node* node, double share, const NodeColumn* column, bint start,
                        Weighed* x, vt_real* K) noexcept nogil:
    # K += share times the second derivative of the work of gravity at a node
    cdef const NodeColumn* c
    cdef int i, j, k, l, at, own
    cdef Vec3 g = constant3(m.g), turn
    if m.g[0] == 0.0 and m.g[1] == 0.0 and m.g[2] == 0.0:
        return
    for i in range(m.nbody):
        x[i].mass = mass_of(&m.body[i])
        x[i].first = scale(x[i].mass, node[i].c)
    for i in range(m.nbody - 1, -1, -1):
        weigh_subtree(m, i, node[i].t, x)
    for i in range(m.nbody):
        for k in range(joint_nv(&m.body[i])):
            own = m.body[i].iv + k
            c = &column[own]
            turn = scale(vt_set1(share), weight_turn(c.w1 if start else c.w2, c.v1 if start else c.v2, &x[i], g))
            j = i
            while j >= 0:
                for l in range(joint_nv(&m.body[j])):
                    at = m.body[j].iv + l
                    c = &column[at]
                    K[own * m.nv + at] = K[own * m.nv + at] + dot(c.w1 if start else c.w2, turn)
                    if j < i:
                        K[at * m.nv + own] = K[at * m.nv + own] + dot(c.w1 if start else c.w2, turn)
                j = m.body[j].parent


# ---- the midpoint integrator -----------------------------------------------------------------------
# L at q_m has the second derivatives L_qq, L_qv, L_vq, L_vv by body displacements there and by rates y/h. Of the subtree
# of joint j, the momentum changes by the inertia I times the change of the twist as the bodies see it: ad_U S by a
# displacement, U the twist before the joint, and S by a rate. The joints' own maps lead from there to the nodes:
#     D1 = h E1^T L_q + X1^T L_v,  D2 = h E2^T L_q + X2^T L_v,   eta = E1 d1 + E2 d2,  d(y/h) = (X1 d1 + X2 d2)/h,
#     E2 = a dexp_{-a xi} dlog_{-xi},  E1 = 1 - E2,  X1 = -dlog_xi,  X2 = dlog_{-xi}.

cdef struct MidColumn:          # a coordinate's twist at q_m, and ad_U of it
    Vec3 w
    Vec3 v
    Vec3 aw
    Vec3 av


cdef struct MidInertia:         # of a subtree about the origin of its body
    Sym3 J
    Weighed weighed


cdef struct MidSlopes:          # of the Lagrangian with forces, (nv, nv) each; and memory of that size
    vt_real* qq
    vt_real* qv
    vt_real* vq
    vt_real* vv
    vt_real* spare_q
    vt_real* spare_v


cdef struct MidMaps:            # of a joint, in the order of its coordinates
    vt_real E1[36]
    vt_real E2[36]
    vt_real X1[36]
    vt_real X2[36]
    vt_real T1[36]              # changes of D1 and D2 by xi alone
    vt_real T2[36]


cdef inline void mid_inertia_times(const MidInertia* x, Vec3 w, Vec3 v, Vec3* n, Vec3* f) noexcept nogil:
    # n = J w + h x v,  f = M v - h x w
    n[0] = add(symmul(x.J, w), cross(x.weighed.first, v))
    f[0] = sub(scale(x.weighed.mass, v), cross(x.weighed.first, w))


cdef void mid_lagrangian_slopes(const MidStep* step, const DriveSlopes* servo, MidColumn* column, MidInertia* x,
                                MidSlopes* L) noexcept nogil:
    # follows mid_backward, which leaves in the bodies the momenta of the subtrees
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef MidColumn* c
    cdef Vec3 uw, uv, h, t
    cdef vt_real rate
    cdef int i, k, n = m.nv
    for k in range(n * n):
        L.qq[k] = L.qv[k] = L.vq[k] = L.vv[k] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        before_joint(step, i, &uw, &uv)
        for k in range(joint_nv(b)):
            c = &column[b.iv + k]
            joint_column(b, step.body[i].R, k, &c.w, &c.v)
            c.aw = cross(uw, c.w)
            c.av = add(cross(uv, c.w), cross(uw, c.v))
        x[i].J = addsym(step.body[i].I, point_inertia(mass_of(b), step.body[i].c))
        x[i].weighed.mass = mass_of(b)
        x[i].weighed.first = scale(x[i].weighed.mass, step.body[i].c)
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        for k in range(joint_nv(b)):
            mid_slopes_of(step, i, k, column, &x[i], L)
        if b.parent >= 0:
            # J about the parent's origin: with h and t, J + 2 (h.t) 1 - h t^T - t h^T + M (t.t 1 - t t^T)
            t, h = step.body[i].t, x[i].weighed.first
            x[b.parent].J = addsym(x[b.parent].J, addsym(x[i].J, shifted_inertia(x[i].weighed.mass, h, t)))
            x[b.parent].weighed.mass = x[b.parent].weighed.mass + x[i].weighed.mass
            x[b.parent].weighed.first = add(x[b.parent].weighed.first, axpy(x[i].weighed.mass, t, h))
    for k in range(n):
        rate = vt_set1(1.0 / step.h) * step.increment[k]
        L.qv[k * n + k] = L.qv[k * n + k] - m.damping[k]
        if m.rubbing and m.friction[k] != 0.0:
            L.qv[k * n + k] = L.qv[k * n + k] - friction_slope(m, k, rate)
        L.vv[k * n + k] = L.vv[k * n + k] + m.armature[k]
        if servo != NULL:
            L.qq[k * n + k] = L.qq[k * n + k] - servo.position[k]
            L.qv[k * n + k] = L.qv[k * n + k] - servo.rate[k]


cdef inline Sym3 shifted_inertia(vt_real mass, Vec3 h, Vec3 t) noexcept nogil:
    # what a body's inertia about a point has more about another, t before it: h its first moment about the first
    cdef Sym3 r = point_inertia(mass, t)
    cdef vt_real d = 2.0 * dot(h, t)
    r.xx = r.xx + (d - 2.0 * h.x * t.x)
    r.yy = r.yy + (d - 2.0 * h.y * t.y)
    r.zz = r.zz + (d - 2.0 * h.z * t.z)
    r.xy = r.xy - (h.x * t.y + h.y * t.x)
    r.xz = r.xz - (h.x * t.z + h.z * t.x)
    r.yz = r.yz - (h.y * t.z + h.z * t.y)
    return r


cdef inline void mid_slopes_of(const MidStep* step, int i, int k, const MidColumn* column, const MidInertia* x,
                               MidSlopes* L) noexcept nogil:
    # the entries of a coordinate of body i with those on its path to the root, its own included
    cdef const vt_model* m = step.m
    cdef const MidBody* a = &step.body[i]
    cdef const MidColumn* c
    cdef int j = i, l, at, own = m.body[i].iv + k, n = m.nv
    cdef Vec3 qn, qf, vn, vf, rn, rf, turn, wn, wf
    c = &column[own]
    # changes of the momentum, by a rate: I S; by a displacement: I ad_U S, and the turn of the momentum
    mid_inertia_times(x, c.w, c.v, &vn, &vf)
    mid_inertia_times(x, c.aw, c.av, &wn, &wf)
    qn, qf = add(cross(c.w, a.n), cross(c.v, a.f)), cross(c.w, a.f)
    # the row of L_q on changes of the twist before the joint: I ad_U S - ad_S^T (momentum), likewise
    rn, rf = add(wn, qn), add(wf, qf)
    qn, qf = rn, rf
    turn = weight_turn(c.w, c.v, &x.weighed, mid_fall(m, step.trees, i))
    while True:
        for l in range(joint_nv(&m.body[j])):
            at = m.body[j].iv + l
            c = &column[at]
            L.qq[own * n + at] = pair_up(c.aw, c.av, rn, rf) + dot(c.w, turn)
            # the joint's own rate does not change the twist before it
            L.qv[own * n + at] = pair_up(c.w, c.v, wn, wf) if j == i else pair_up(c.w, c.v, rn, rf)
            L.vq[own * n + at] = pair_up(c.aw, c.av, vn, vf)
            L.vv[own * n + at] = pair_up(c.w, c.v, vn, vf)
            if j < i:
                L.qq[at * n + own] = pair_up(c.aw, c.av, qn, qf) + dot(c.w, turn)
                L.qv[at * n + own] = pair_up(c.aw, c.av, vn, vf)
                L.vq[at * n + own] = pair_up(c.w, c.v, qn, qf)
                L.vv[at * n + own] = pair_up(c.w, c.v, vn, vf)
        if m.body[j].parent < 0:
            return
        # about the parent's origin
        rn, qn, vn = add(rn, cross(step.body[j].t, rf)), add(qn, cross(step.body[j].t, qf)), add(
            vn, cross(step.body[j].t, vf))
        j = m.body[j].parent


cdef void mid_maps_of(const MidStep* step, int i, const vt_real* p1, MidMaps* to) noexcept nogil:
    # of a joint of several coordinates. The forces F on it, L_q with its torque, follow from the momentum at node 1,
    #     h E1^T F = -p1 - X1^T L_v
    cdef const vt_body* b = &step.m.body[i]
    cdef vt_real a = vt_set1(step.alpha), h = vt_set1(step.h), s
    cdef AdMatrix Psi, dlog, E, X, flipped
    cdef WrenchSlope T, Q
    cdef Signs signs
    cdef Vec3 w, v, n, f, Fn, Ff, gn, gf
    cdef int j, k
    cdef vt_real inverse[36]
    cdef vt_real left[6]
    cdef vt_real F[6]
    joint_expand(b, step.increment, &w, &v)
    joint_expand(b, step.L_rate, &n, &f)
    Psi = dexp_matrix(scale(-a, w), scale(-a, v))
    dlog = dlog_matrix(w, v)
    flipped = ad_flip(dlog)
    E = ad_mul(Psi, flipped)
    E.d, E.e = add_scaled(a, E.d, zero33()), add_scaled(a, E.e, zero33())
    ad_dense(b, &E, to.E2)
    E.d, E.e = plus_diagonal(add_scaled(vt_set1(-1.0), E.d, zero33()), vt_set1(1.0)), add_scaled(vt_set1(-1.0), E.e, zero33())
    ad_dense(b, &E, to.E1)
    ad_dense(b, &flipped, to.X2)
    X.d, X.e = add_scaled(vt_set1(-1.0), dlog.d, zero33()), add_scaled(vt_set1(-1.0), dlog.e, zero33())
    ad_dense(b, &X, to.X1)
    for k in range(b.nv):
        s = p1[b.iv + k]
        for j in range(b.nv):
            s = s + to.X1[j * b.nv + k] * step.L_rate[b.iv + j]
            inverse[k * b.nv + j] = h * to.E1[j * b.nv + k]
        left[k] = -s
    invert(inverse, b.nv, 1.0, &signs)
    for k in range(b.nv):
        s = vt_set1(0.0)
        for j in range(b.nv):
            s = s + inverse[k * b.nv + j] * left[j]
        F[k] = s
    joint_twist_of(b, F, &Fn, &Ff)
    # T1 = h (a ddlog^T(-xi; G) - a^2 dlog_{-xi}^T Psi^T ddlog^T(-a xi; G)) - ddlog^T(xi; pi),  G = Psi^T F
    ad_pull(Psi, Fn, Ff, &gn, &gf)
    Q = slope_pull(flipped, slope_pull(Psi, ddlog_pull(scale(-a, w), scale(-a, v), gn, gf)))
    T = ddlog_pull(neg(w), neg(v), gn, gf)
    T.M, T.K = add_scaled(h * a, T.M, zero33()), add_scaled(h * a, T.K, zero33())
    T = slope_axpy(-h * a * a, Q, T)
    T = slope_axpy(vt_set1(-1.0), ddlog_pull(w, v, n, f), T)
    slope_dense(b, &T, to.T1)
    # T2 = Pm(pi) - T1
    T = slope_axpy(vt_set1(-1.0), T, wrench_slope(n, f))
    slope_dense(b, &T, to.T2)


cdef inline void mid_combine(const MidStep* step, const vt_real* q, const vt_real* v, double rate_sign, double share,
                             const MidMaps* maps, bint second, vt_real* out) noexcept nogil:
    # out = q E + v X/h, columns by those of one node
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const vt_real* E
    cdef const vt_real* X
    cdef int i, j, k, r, n = m.nv
    cdef double inverse = 1.0 / step.h
    cdef vt_real s
    for i in range(m.nbody):
        b = &m.body[i]
        if not joint_multi(b):
            for r in range(n):
                out[r * n + b.iv] = share * q[r * n + b.iv] + rate_sign * inverse * v[r * n + b.iv]
            continue
        E = &maps[b.multi].E2[0] if second else &maps[b.multi].E1[0]
        X = &maps[b.multi].X2[0] if second else &maps[b.multi].X1[0]
        for r in range(n):
            for k in range(b.nv):
                s = vt_set1(0.0)
                for j in range(b.nv):
                    s = s + (q[r * n + b.iv + j] * E[j * b.nv + k] + inverse * v[r * n + b.iv + j] * X[j * b.nv + k])
                out[r * n + b.iv + k] = s


cdef inline void mid_rows_to_node(const MidStep* step, const vt_real* q, const vt_real* v, double rate_sign, double share,
                                  double sense, const MidMaps* maps, bint second, bint by_second,
                                  vt_real* out) noexcept nogil:
    # out = sense (h E^T q + X^T v), rows by those of one node; with the changes of the joints' own maps
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const vt_real* E
    cdef const vt_real* X
    cdef const vt_real* T
    cdef const vt_real* Y
    cdef int i, j, k, c, n = m.nv
    cdef double h = step.h
    cdef vt_real s
    for i in range(m.nbody):
        b = &m.body[i]
        if not joint_multi(b):
            for c in range(n):
                out[b.iv * n + c] = sense * (share * h * q[b.iv * n + c] + rate_sign * v[b.iv * n + c])
            continue
        E = &maps[b.multi].E2[0] if second else &maps[b.multi].E1[0]
        X = &maps[b.multi].X2[0] if second else &maps[b.multi].X1[0]
        T = &maps[b.multi].T2[0] if second else &maps[b.multi].T1[0]
        Y = &maps[b.multi].X2[0] if by_second else &maps[b.multi].X1[0]
        for k in range(b.nv):
            for c in range(n):
                s = vt_set1(0.0)
                for j in range(b.nv):
                    s = s + (h * E[j * b.nv + k] * q[(b.iv + j) * n + c] + X[j * b.nv + k] * v[(b.iv + j) * n + c])
                out[(b.iv + k) * n + c] = sense * s
            for c in range(b.nv):
                s = vt_set1(0.0)
                for j in range(b.nv):
                    s = s + T[k * b.nv + j] * Y[j * b.nv + c]
                out[(b.iv + k) * n + b.iv + c] = out[(b.iv + k) * n + b.iv + c] + sense * s


cdef void mid_node_slopes(const MidStep* step, const MidMaps* maps, const MidSlopes* L, NodeSlopes* to) noexcept nogil:
    # K1n = -D1 Dn, K2n = D2 Dn
    cdef double a = step.alpha
    mid_combine(step, L.qq, L.qv, -1.0, 1.0 - a, maps, False, L.spare_q)
    mid_combine(step, L.vq, L.vv, -1.0, 1.0 - a, maps, False, L.spare_v)
    mid_rows_to_node(step, L.spare_q, L.spare_v, -1.0, 1.0 - a, -1.0, maps, False, False, to.K11)
    mid_rows_to_node(step, L.spare_q, L.spare_v, 1.0, a, 1.0, maps, True, False, to.K21)
    mid_combine(step, L.qq, L.qv, 1.0, a, maps, True, L.spare_q)
    mid_combine(step, L.vq, L.vv, 1.0, a, maps, True, L.spare_v)
    mid_rows_to_node(step, L.spare_q, L.spare_v, -1.0, 1.0 - a, -1.0, maps, False, True, to.K12)
    mid_rows_to_node(step, L.spare_q, L.spare_v, 1.0, a, 1.0, maps, True, True, to.K22)


cdef void mid_force_maps(const MidStep* step, const MidMaps* maps, vt_real* F1, vt_real* F2) noexcept nogil:
    # F1 = h E1^T, F2 = h E2^T (nv, nv): what a force on the joints in the middle adds to -p1 and to p2
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef int i, j, k, at, n = m.nv
    for k in range(n * n):
        F1[k] = F2[k] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        if not joint_multi(b):
            F1[b.iv * n + b.iv], F2[b.iv * n + b.iv] = vt_set1((1.0 - step.alpha) * step.h), vt_set1(step.alpha * step.h)
            continue
        for j in range(b.nv):
            for k in range(b.nv):
                at = (b.iv + j) * n + b.iv + k
                F1[at] = step.h * maps[b.multi].E1[k * b.nv + j]
                F2[at] = step.h * maps[b.multi].E2[k * b.nv + j]


# Of the trees that float (midpoint_trees.pxi): the middle's second derivatives at fixed u have sum(m c') too much, and the
# nodes have those of M/(2h) dC.D dC + (h/2) M g.D (C1 + C2).

cdef struct TreeColumn:         # of a coordinate: changes of its tree's first moment at nodes 1 and 2, and of its momentum in
    Vec3 K1                     # the middle by a displacement and by a rate
    Vec3 K2
    Vec3 Pq
    Vec3 Pv


cdef void mid_tree_columns(const MidStep* step, const MidColumn* column, TreeColumn* to, MidSlopes* L) noexcept nogil:
    # follows mid_lagrangian_slopes: L -= P^T D P/M
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const MidNode* s
    cdef const MidColumn* c
    cdef TreeColumn* own
    cdef Vec3 w, v, q, rate
    cdef int i, j, k, l, r, at, n = m.nv
    mid_moments(step)
    for i in range(m.nbody):
        b, s = &m.body[i], &step.trees.node[i]
        if b.whole < 0:
            continue
        for k in range(joint_nv(b)):
            c, own = &column[b.iv + k], &to[b.iv + k]
            joint_column(b, s.R1, k, &w, &v)
            own.K1 = axpy(s.mass, v, cross(w, s.first1))
            joint_column(b, s.R2, k, &w, &v)
            own.K2 = axpy(s.mass, v, cross(w, s.first2))
            own.Pq = add(sub(scale(s.mass, c.av), cross(s.middle, c.aw)), cross(c.w, step.body[i].f))
            own.Pv = sub(scale(s.mass, c.v), cross(s.middle, c.w))
    for i in range(m.nbody):
        b = &m.body[i]
        if b.whole < 0:
            continue
        for k in range(b.iv, b.iv + joint_nv(b)):
            q = scale(vt_set1(1.0 / m.tree[b.whole].mass), along_tree(&m.tree[b.whole], to[k].Pq))
            rate = scale(vt_set1(1.0 / m.tree[b.whole].mass), along_tree(&m.tree[b.whole], to[k].Pv))
            for j in range(m.nbody):
                if m.body[j].whole != b.whole:
                    continue
                for l in range(joint_nv(&m.body[j])):
                    r = m.body[j].iv + l
                    at = k * n + r
                    L.qq[at] = L.qq[at] - dot(q, to[r].Pq)
                    L.qv[at] = L.qv[at] - dot(q, to[r].Pv)
                    L.vq[at] = L.vq[at] - dot(rate, to[r].Pq)
                    L.vv[at] = L.vv[at] - dot(rate, to[r].Pv)


cdef void mid_tree_slopes(const MidStep* step, const TreeColumn* column, NodeSlopes* to) noexcept nogil:
    # follows mid_node_slopes
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const MidNode* s
    cdef const MidTree* tree
    cdef Vec3 one, two, w, v, lam1, lam2, turn1, turn2
    cdef int i, j, k, l, r, own, at, n = m.nv
    for i in range(m.nbody):
        b, s = &m.body[i], &step.trees.node[i]
        if b.whole < 0:
            continue
        tree = &step.trees.tree[b.whole]
        lam1 = axpy(vt_set1(-0.5 * step.h), tree.fall, tree.way)
        lam2 = axpy(vt_set1(0.5 * step.h), tree.fall, tree.way)
        for k in range(joint_nv(b)):
            own = b.iv + k
            one = scale(vt_set1(1.0 / (m.tree[b.whole].mass * step.h)), along_tree(&m.tree[b.whole], column[own].K1))
            two = scale(vt_set1(1.0 / (m.tree[b.whole].mass * step.h)), along_tree(&m.tree[b.whole], column[own].K2))
            for j in range(m.nbody):
                if m.body[j].whole != b.whole:
                    continue
                for l in range(joint_nv(&m.body[j])):
                    r = m.body[j].iv + l
                    at = own * n + r
                    to.K11[at] = to.K11[at] - dot(one, column[r].K1)
                    to.K12[at] = to.K12[at] + dot(one, column[r].K2)
                    to.K21[at] = to.K21[at] - dot(two, column[r].K1)
                    to.K22[at] = to.K22[at] + dot(two, column[r].K2)
            # second derivatives of first moments, along lam
            joint_column(b, s.R1, k, &w, &v)
            turn1 = add(cross(cross(w, s.first1), lam1), cross(v, scale(s.mass, lam1)))
            joint_column(b, s.R2, k, &w, &v)
            turn2 = add(cross(cross(w, s.first2), lam2), cross(v, scale(s.mass, lam2)))
            j = i
            while j >= 0:
                for l in range(joint_nv(&m.body[j])):
                    r = m.body[j].iv + l
                    joint_column(&m.body[j], step.trees.node[j].R1, l, &w, &v)
                    to.K11[own * n + r] = to.K11[own * n + r] + dot(w, turn1)
                    if j < i:
                        to.K11[r * n + own] = to.K11[r * n + own] + dot(w, turn1)
                    joint_column(&m.body[j], step.trees.node[j].R2, l, &w, &v)
                    to.K22[own * n + r] = to.K22[own * n + r] + dot(w, turn2)
                    if j < i:
                        to.K22[r * n + own] = to.K22[r * n + own] + dot(w, turn2)
                j = m.body[j].parent


# ---- the linearised map ----------------------------------------------------------------------------
# Entries of K are zero but for coordinates on one path to the root. So elimination from the last coordinate to the first
# fills nothing (Featherstone 2008, section 6.5); where nothing moves K12 is M/h, and its pivots are that matrix's.

cdef void coordinates_before(const vt_model* m, int* before) noexcept nogil:
    # of each coordinate, the one before it on the path to the root, or -1
    cdef int i, k, last
    cdef const vt_body* b
    for i in range(m.nbody):
        b = &m.body[i]
        last = -1
        if b.parent >= 0:
            last = m.body[b.parent].iv + joint_nv(&m.body[b.parent]) - 1
        for k in range(joint_nv(b)):
            before[b.iv + k] = last
            last = b.iv + k


cdef void path_factor(const vt_model* m, const int* before, vt_real* K) noexcept nogil:
    # K = U L in place: U above the diagonal, which is 1, L on and below it
    cdef int i, j, k, n = m.nv
    cdef vt_real inverse, a
    for k in range(n - 1, -1, -1):
        inverse = vt_set1(1.0) / K[k * n + k]
        i = before[k]
        while i >= 0:
            a = K[i * n + k] * inverse
            K[i * n + k] = a
            j = before[k]
            while j >= 0:
                K[i * n + j] = K[i * n + j] - a * K[k * n + j]
                j = before[j]
            i = before[i]


cdef inline void take_row(vt_real s, const vt_real* x, int count, vt_real* y) noexcept nogil:
    # y -= s x
    cdef int k
    for k in range(count):
        y[k] = y[k] - s * x[k]


cdef void path_solve(const vt_model* m, const int* before, const vt_real* K, int count, vt_real* x) noexcept nogil:
    # x (nv, count) becomes K^-1 x
    cdef int i, k, c, n = m.nv
    cdef vt_real inverse
    for k in range(n - 1, -1, -1):
        i = before[k]
        while i >= 0:
            take_row(K[i * n + k], x + k * count, count, x + i * count)
            i = before[i]
    for k in range(n):
        i = before[k]
        while i >= 0:
            take_row(K[k * n + i], x + i * count, count, x + k * count)
            i = before[i]
        inverse = vt_set1(1.0) / K[k * n + k]
        for c in range(count):
            x[k * count + c] = x[k * count + c] * inverse


cdef void linear_map(const vt_model* m, const int* before, NodeSlopes* K, vt_real* A) noexcept nogil:
    # (d2, dp2) = A (d1, dp1): d2 = K12^-1 (dp1 - K11 d1), dp2 = K21 d1 + K22 d2. A is (2 nv, 2 nv); K12 is factored
    cdef int i, j, k, n = m.nv, width = 2 * m.nv
    cdef vt_real* low = A + n * width
    for i in range(n):
        for k in range(n):
            A[i * width + k] = -K.K11[i * n + k]
            A[i * width + n + k] = vt_set1(1.0 if i == k else 0.0)
            low[i * width + k] = K.K21[i * n + k]
            low[i * width + n + k] = vt_set1(0.0)
    path_factor(m, before, K.K12)
    path_solve(m, before, K.K12, width, A)
    for i in range(n):
        take_row(-K.K22[i * n + i], A + i * width, width, low + i * width)
        j = before[i]
        while j >= 0:
            take_row(-K.K22[i * n + j], A + j * width, width, low + i * width)
            take_row(-K.K22[j * n + i], A + i * width, width, low + j * width)
            j = before[j]


cdef void costates_before(const vt_model* m, const int* before, const NodeSlopes* K, const vt_real* late, vt_real* mu,
                          vt_real* early) noexcept nogil:
    # the transposed map: early = A^T late, mu its part by momenta, (K12^-T)(late_d + K22^T late_p), and by displacements
    # -K11^T mu + K21^T late_p. K12 is factored. late and early: (2 nv,), mu: (nv,)
    cdef int i, j, k, n = m.nv
    cdef const vt_real* push = late + n
    for i in range(n):
        mu[i] = late[i]
        early[i] = vt_set1(0.0)
    for i in range(n):
        mu[i] = mu[i] + K.K22[i * n + i] * push[i]
        j = before[i]
        while j >= 0:
            mu[j] = mu[j] + K.K22[i * n + j] * push[i]
            mu[i] = mu[i] + K.K22[j * n + i] * push[j]
            j = before[j]
    # K12 = U L
    for k in range(n - 1, -1, -1):
        mu[k] = mu[k] / K.K12[k * n + k]
        i = before[k]
        while i >= 0:
            mu[i] = mu[i] - K.K12[k * n + i] * mu[k]
            i = before[i]
    for k in range(n):
        i = before[k]
        while i >= 0:
            mu[k] = mu[k] - K.K12[i * n + k] * mu[i]
            i = before[i]
    for i in range(n):
        early[i] = early[i] + (K.K21[i * n + i] * push[i] - K.K11[i * n + i] * mu[i])
        j = before[i]
        while j >= 0:
            early[j] = early[j] + (K.K21[i * n + j] * push[i] - K.K11[i * n + j] * mu[i])
            early[i] = early[i] + (K.K21[j * n + i] * push[j] - K.K11[j * n + i] * mu[j])
            j = before[j]
        early[n + i] = mu[i]
