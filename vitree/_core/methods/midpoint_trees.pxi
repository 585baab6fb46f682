# What the midpoint integrator does with trees that float. A frame in uniform motion, or one that falls, adds to Ld a total
# difference only where the centre of mass of such a tree goes from node to node, and the bodies' motion relative to it is
# taken in the middle. With M the mass of a tree, C its COM at a node, c' the velocity of a body's COM in the middle, D the
# projector on the directions in which the tree floats and u = D sum(m c')/M,
#     Ld = h [ sum(w.I w + m |c' - u|^2)/2 + sum m (g - D g).c ] + M/(2h) dC.D dC + (h/2) M g.D (C1 + C2),   dC = C2 - C1.
# The first bracket is least at that u, so that its derivatives are those at fixed u: the sweep of the paper, seen from a
# frame that moves by u, in a field g - D g. The rest acts at the nodes, as a weight does.
#
# The exact direction. With r, J of the bracket at fixed u, the tree's equations are
#     (J - P1^T D P/M - K1^T D K2/(M h)) d = r,
# P the change of sum(m c') by y, P1 that by q1 times h, K1 and K2 those of sum(m c) at the nodes. A translation of all of
# the tree, tau1 at node 1 or tau2 at node 2, changes nothing of what is relative: the first two terms have no part along
# it. Where nothing else acts on the translation, that of d follows from the force F = tau1 r alone,
#     D K2 d/M = -(h/M) D F,     J d' = r - K1^T F/M,     d = d' + tau2 (-(h/M) D F - D K2 d'/M),
# and the determinant is that of J. (A torque on a free joint itself turns with the body: of it a share of about h^2 times
# its acceleration and turn is left.) Loops within a tree take no part in its translation. Where more acts on it (loads,
# damping, drives and prescribed motion of the base) these terms are six rows of the operator, as those of springs are.

cdef inline size_t mid_trees_size(const vt_model* m) noexcept nogil:
    return m.nbody * sizeof(MidNode) + m.ntree * sizeof(MidTree) + 3 * m.nv * sizeof(vt_real) + 64


cdef inline Vec3 mid_fall(const vt_model* m, const MidTrees* x, int i) noexcept nogil:
    # the field that a body feels in the middle
    cdef Vec3 g = gravity_from(m, m.g)
    if x != NULL and m.body[i].whole >= 0:
        return sub(g, along_tree(&m.tree[m.body[i].whole], g))
    return g


cdef void mid_trees_place(MidTrees* x, void* memory, const vt_model* m) noexcept nogil:
    # in memory of mid_trees_size
    x.node = <MidNode*>memory
    x.tree = <MidTree*>(x.node + m.nbody)
    x.weight = <vt_real*>(x.tree + m.ntree)
    x.pull, x.rest = x.weight + m.nv, x.weight + 2 * m.nv


# ---- nodes ----------------------------------------------------------------------------------------

cdef void mid_node(const vt_model* m, const vt_real* q1, MidTrees* x) noexcept nogil:
    # node 1
    cdef const vt_body* b
    cdef MidNode* s
    cdef MidNode* up
    cdef int i, k
    for k in range(m.ntree):
        x.tree[k].fall = along_tree(&m.tree[k], gravity_from(m, m.g))
    for k in range(m.nv):
        x.weight[k] = x.pull[k] = vt_set1(0.0)
    for i in range(m.nbody):
        b = &m.body[i]
        if b.whole < 0:
            continue
        s = &x.node[i]
        place_body(b, q1, &x.node[b.parent].R1 if b.parent >= 0 else NULL, &s.R1, &s.t1)
        s.mass = mass_of(b)
        s.own = s.first1 = scale(s.mass, mul(s.R1, com_of(b)))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        if b.whole < 0:
            continue
        s = &x.node[i]
        mid_at_node(b, s, x.tree[b.whole].fall, False, x.weight)
        if b.parent >= 0:
            up = &x.node[b.parent]
            up.mass = up.mass + s.mass
            up.first1 = add(up.first1, axpy(s.mass, s.t1, s.first1))


cdef inline void mid_at_node(const vt_body* b, const MidNode* s, Vec3 a, bint second, vt_real* out) noexcept nogil:
    # the generalised force of a field a on the subtree, at node 1 or 2
    if second:
        joint_project(b, s.R2, cross(s.first2, a), scale(s.mass, a), out)
    else:
        joint_project(b, s.R1, cross(s.first1, a), scale(s.mass, a), out)


cdef void mid_ends(const vt_model* m, double h, const vt_real* y, MidTrees* x) noexcept nogil:
    # node 2, and the way of the COMs; displacements as such, so that rounding does not depend on h
    cdef const vt_body* b
    cdef MidNode* s
    cdef MidNode* up
    cdef const vt_tree* tree
    cdef int i, k
    cdef Vec3 w, move
    cdef Quat turn
    for i in range(m.nbody):
        b = &m.body[i]
        if b.whole < 0:
            continue
        s = &x.node[i]
        if joint_floats(b):
            # the position moves along the exponential
            joint_expand(b, y, &w, &move)
            exp_se3(w, move, &turn, &move)
            turn = quat(mul(s.R1, quat_vec(turn)), turn.w)
            move = mul(s.R1, move)
        else:
            joint_half_turn(b, y, &s.sine, &s.cosine)
            joint_increment(b, s.R1, y, s.sine, s.cosine, &turn, &move)
        s.D = turn
        s.dt = move
        if b.parent >= 0:
            up = &x.node[b.parent]
            s.D = quat_mul(up.D, turn)
            s.dt = add(move, mul(up.M, add(s.t1, move)))
        s.M = turn_minus_one(s.D)
        s.R2.x = add(s.R1.x, mul(s.M, s.R1.x))
        s.R2.y = add(s.R1.y, mul(s.M, s.R1.y))
        s.R2.z = add(s.R1.z, mul(s.M, s.R1.z))
        s.change = mul(s.M, s.own)
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        if b.whole < 0:
            continue
        s = &x.node[i]
        s.first2 = add(s.first1, s.change)
        if b.parent >= 0:
            up = &x.node[b.parent]
            up.change = add(up.change, axpy(s.mass, s.dt, s.change))
    for k in range(m.ntree):
        tree = &m.tree[k]
        if tree.tied:
            continue
        s = &x.node[tree.root]
        x.tree[k].way = scale(vt_set1(1.0) / (h * tree_mass_of(tree)), along_tree(tree, axpy(s.mass, s.dt, s.change)))
    for i in range(m.nbody):
        b = &m.body[i]
        if b.whole >= 0:
            mid_at_node(b, &x.node[i], x.tree[b.whole].way, False, x.pull)


# ---- the middle -----------------------------------------------------------------------------------

cdef void mid_see_trees(const vt_model* m, MidBody* body, MidTrees* x) noexcept nogil:
    # the middle's momenta and twists from the frames that move by u, and the field g - D g
    cdef MidBody* s
    cdef int i, k
    cdef vt_real mass
    cdef Vec3 u
    for k in range(m.ntree):
        x.tree[k].u = zero3()
    for i in range(m.nbody):
        k = m.body[i].whole
        if k >= 0:
            x.tree[k].u = add(x.tree[k].u, body[i].f)
    for k in range(m.ntree):
        x.tree[k].u = scale(vt_set1(1.0) / tree_mass_of(&m.tree[k]), along_tree(&m.tree[k], x.tree[k].u))
    for i in range(m.nbody):
        k = m.body[i].whole
        if k < 0:
            continue
        s = &body[i]
        mass = mass_of(&m.body[i])
        u = x.tree[k].u
        s.v = sub(s.v, u)
        u = scale(mass, u)
        s.f = sub(s.f, u)
        s.n = sub(s.n, cross(s.c, u))
        s.gf = scale(mass, mid_fall(m, x, i))
        s.gn = cross(s.c, s.gf)


cdef inline void mid_add_nodes(const vt_model* m, double h, const MidTrees* x, vt_real* r) noexcept nogil:
    # the trees' part of the residual: M/h dC - (h/2) M g, at node 1
    cdef int k
    for k in range(m.nv):
        r[k] = r[k] + (x.pull[k] - 0.5 * h * x.weight[k])


cdef inline void mid_add_ends(const vt_model* m, double h, const MidTrees* x, vt_real* spare, vt_real* p2) noexcept nogil:
    # and of the momentum at node 2: M/h dC + (h/2) M g
    cdef const vt_body* b
    cdef int i, k
    for i in range(m.nbody):
        b = &m.body[i]
        if b.whole < 0:
            continue
        mid_at_node(b, &x.node[i], axpy(vt_set1(0.5 * h), x.tree[b.whole].fall, x.tree[b.whole].way), True, spare)
        for k in range(b.iv, b.iv + joint_nv(b)):
            p2[k] = p2[k] + spare[k]


# ---- the exact direction ----------------------------------------------------------------------------

cdef inline Vec3 mid_total(const vt_model* m, const MidTrees* x, const vt_tree* tree, const vt_real* r) noexcept nogil:
    # what a residual is on the translations at node 1
    cdef Vec3 F = zero3()
    cdef int j
    if tree.free >= 0:
        return mul(x.node[tree.free].R1, load3(r + tree.iv[0]))
    for j in range(tree.count):
        F = axpy(r[tree.iv[j]], tree_column(tree, j), F)
    return along_tree(tree, F)


cdef void mid_take_translation(const vt_model* m, MidTrees* x, const vt_real* r, int first, int end) noexcept nogil:
    # rest = r - K1^T F/M
    cdef const vt_body* b
    cdef int i, k
    for k in range(m.ntree):
        if first <= m.tree[k].root < end and not m.tree[k].tied:
            x.tree[k].force = mid_total(m, x, &m.tree[k], r)
    for i in range(first, end):
        b = &m.body[i]
        if b.whole >= 0:
            mid_at_node(b, &x.node[i], scale(vt_set1(1.0) / tree_mass_of(&m.tree[b.whole]), x.tree[b.whole].force), False, x.rest)
        for k in range(b.iv, b.iv + joint_nv(b)):
            x.rest[k] = r[k] - x.rest[k] if b.whole >= 0 else r[k]


cdef void mid_give_translation(const vt_model* m, double h, MidTrees* x, const vt_real* y, int first, int end,
                               vt_real* d) noexcept nogil:
    # d += tau2 (-(h/M) D F - D K2 d/M)
    cdef const vt_tree* tree
    cdef Vec3 w, v, e
    cdef vt_real inverse
    cdef int i, j, k
    for k in range(m.ntree):
        x.tree[k].moved = zero3()
    for i in range(first, end):
        k = m.body[i].whole
        if k >= 0:
            mid_displacement(&m.body[i], &x.node[i], y, d, &w, &v)
            x.tree[k].moved = add(x.tree[k].moved, axpy(x.node[i].mass, v, cross(w, x.node[i].first2)))
    for k in range(m.ntree):
        tree = &m.tree[k]
        if tree.tied or not first <= tree.root < end:
            continue
        inverse = vt_set1(-1.0) / tree_mass_of(tree)
        e = scale(inverse, axpy(vt_set1(h), x.tree[k].force, along_tree(tree, x.tree[k].moved)))
        if tree.free >= 0:
            joint_expand(&m.body[tree.free], y, &w, &v)
            e = dlog(w, tmul(x.node[tree.free].R1, e))
            store3(d + tree.iv[0], add(load3(d + tree.iv[0]), e))
            continue
        for j in range(tree.count):
            d[tree.iv[j]] = d[tree.iv[j]] + dot(tree_column(tree, j), e)


cdef inline void mid_displacement(const vt_body* b, const MidNode* s, const vt_real* y, const vt_real* d, Vec3* w,
                                  Vec3* v) noexcept nogil:
    # the twist of a body's displacement at node 2 by a change d of its joint's increment alone
    cdef Vec3 dw, dv
    cdef AdMatrix A
    if not joint_multi(b):
        joint_column(b, s.R2, 0, w, v)
        w[0] = scale(d[b.iv], w[0])
        v[0] = scale(d[b.iv], v[0])
        return
    joint_expand(b, y, w, v)
    A = dexp_matrix(neg(w[0]), neg(v[0]))
    joint_expand(b, d, &dw, &dv)
    w[0] = mul(s.R2, mul(A.d, dw))
    v[0] = mul(s.R2, add(mul(A.e, dw), mul(A.d, dv)))


cdef void mid_tree_rows(const MidStep* step, vt_real* C, vt_real* R) noexcept nogil:
    # C, R (6 ntree, nv): P1 and D P/M, K1 and D K2/(M h), of each tree. Follows mid_factor
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef MidTrees* x = step.trees
    cdef const MidNode* s
    cdef const Twelve* Gam
    cdef const Twelve* row
    cdef const vt_tree* tree
    cdef Vec3 w, v, f
    cdef int i, k, at, n = m.nv
    for k in range(6 * m.ntree * n):
        C[k] = R[k] = vt_set1(0.0)
    mid_moments(step)
    for i in range(m.nbody):
        b, s = &m.body[i], &x.node[i]
        if b.whole < 0:
            continue
        tree, f = &m.tree[b.whole], step.body[i].f
        for k in range(joint_nv(b)):
            Gam = &step.multi[b.multi].Gam[k] if joint_multi(b) else &step.work[i].Gam
            row = &step.multi[b.multi].R[k] if joint_multi(b) else &step.work[i].R
            at = 6 * b.whole * n + b.iv + k
            mid_put(add(sub(scale(s.mass, row.part[1]), cross(s.middle, row.part[0])), cross(row.part[2], f)), C + at, n)
            v = add(sub(scale(s.mass, Gam.part[3]), cross(s.middle, Gam.part[2])), cross(Gam.part[0], f))
            mid_put(scale(vt_set1(1.0) / tree_mass_of(tree), along_tree(tree, v)), R + at, n)
            joint_column(b, s.R1, k, &w, &v)
            mid_put(axpy(s.mass, v, cross(w, s.first1)), C + at + 3 * n, n)
            joint_column(b, s.R2, k, &w, &v)
            v = along_tree(tree, axpy(s.mass, v, cross(w, s.first2)))
            mid_put(scale(vt_set1(1.0) / (tree_mass_of(tree) * step.h), v), R + at + 3 * n, n)
    for i in range(m.ntree):
        for k in range(3):
            mid_end_row(m, step.increment, 0, m.nbody, R + (6 * i + 3 + k) * n)


cdef inline void mid_put(Vec3 a, vt_real* to, int n) noexcept nogil:
    to[0], to[n], to[2 * n] = a.x, a.y, a.z


cdef inline void mid_moments(const MidStep* step) noexcept nogil:
    # first moments of the subtrees in the middle
    cdef const vt_model* m = step.m
    cdef MidNode* node = step.trees.node
    cdef int i, up
    for i in range(m.nbody):
        node[i].middle = scale(mass_of(&m.body[i]), step.body[i].c)
    for i in range(m.nbody - 1, -1, -1):
        up = m.body[i].parent
        if m.body[i].whole >= 0 and up >= 0:
            node[up].middle = add(node[up].middle, axpy(node[i].mass, step.body[i].t, node[i].middle))
