# Derivatives of the Lagrangian L = T - P of one-coordinate joints by the recursions of Johnson & Murphey 2009 (eqs.
# 2-10): each body's velocity and its derivatives follow from its parent's.
#
# World axes, each body's COM as reference; the derivative of a twist is that of its components in body axes. With the
# twist S of the body's joint, there are two rules (x is the body's velocity V or any derivative of it):
#     by coordinates upstream    the parent's derivative, transformed to the body
#     by the own coordinate      dx/dq = ad_x S,  dV/drate = S
# With caching, the data of the parent are read from tables; without, they are recomputed from the root for every body
# and pair of coordinates. Both add in the same order.

cdef struct Twist:
    Vec3 w
    Vec3 v

cdef struct TreeBody:   # world axes throughout
    Mat3 R
    Vec3 arm            # from the core frame's origin to the COM
    Vec3 t              # from the parent's COM to this one
    Vec3 c              # COM
    Twist S
    Twist V
    Sym3 I              # about the COM
    Twist pi            # momentum (angular about the COM, linear)
    bint bare           # neither mass nor inertia

cdef struct TreePair:   # derivatives of a body's velocity by a pair of coordinates, i upstream of j or equal
    Twist vi            # by rate i
    Twist vj
    Twist qi            # by q_i
    Twist qj
    Twist vq            # by rate i and q_j; by rate j and q_i it is zero
    Twist qq

cdef struct TreeSecond: # contributions of a second coordinate j to a body
    Twist v             # momentum by rate j
    Twist q             # momentum by q_j
    Vec3 weight         # vj x m g, for the second derivative of the COM is w_i x vj

cdef struct TreeSums:   # second derivatives of L by a pair of coordinates
    double vv
    double vq           # by rate i and q_j
    double qv           # by rate j and q_i
    double qq

cdef struct TreeWork:
    int* depth          # (nbody,) number of bodies on the path from the root to this one, both included
    int* last           # (nbody,) the last body outboard of this one, or itself
    int* first          # (nbody,) start of this body's path in the tables, which have an entry for
    int* path           #   each body of the path, from the root: its number;
    Twist* v            #   derivatives of this body's velocity by its rate,
    Twist* by_q         #   by its coordinate,
    Twist* vq           #   by its rate and the coordinate at hand,
    Twist* qq           #   by its coordinate and the coordinate at hand
    TreeSums* sums      # (nbody,) second derivatives of L by a path and the coordinate at hand
    TreeBody* body
    double* q           # copies of the arguments of the last sweep
    double* rate


cdef int tree_depth(const vt_model* m, int i) noexcept nogil:
    cdef int depth = 0
    while i >= 0:
        depth += 1
        i = m.body[i].parent
    return depth


cdef size_t tree_work_size(const vt_model* m) noexcept nogil:
    # bytes
    cdef int i
    cdef size_t rows = 0, n = m.nbody
    for i in range(m.nbody):
        rows += tree_depth(m, i)
    return ((4 * rows + 1) * sizeof(Twist) + n * (sizeof(TreeBody) + sizeof(TreeSums) + 2 * sizeof(double))
            + (3 * n + rows) * sizeof(int))


cdef void tree_work_make(const vt_model* m, void* memory, TreeWork* w) noexcept nogil:
    # lay out memory of that size, aligned for doubles
    cdef int i, k, d
    cdef size_t rows = 0, n = m.nbody
    for i in range(m.nbody):
        rows += tree_depth(m, i)
    w.v = <Twist*>memory
    w.by_q = w.v + rows
    w.vq = w.by_q + rows
    w.qq = w.vq + rows
    w.body = <TreeBody*>(w.qq + rows)
    w.sums = <TreeSums*>(w.body + n)
    w.q = <double*>(w.sums + n)
    w.rate = w.q + n
    w.depth = <int*>(w.rate + n)
    w.last = w.depth + n
    w.first = w.last + n
    w.path = w.first + n
    rows = 0
    for i in range(m.nbody):
        w.depth[i] = tree_depth(m, i)
        w.first[i] = <int>rows
        k = i
        for d in range(w.depth[i] - 1, -1, -1):
            w.path[w.first[i] + d] = k
            w.last[k] = i
            k = m.body[k].parent
        rows += w.depth[i]


# ---- the two rules, and their initial values ------------------------------------------------------

cdef inline Twist twist(Vec3 w, Vec3 v) noexcept nogil:
    cdef Twist r
    r.w = w
    r.v = v
    return r


cdef inline Twist carried(Twist x, Vec3 t) noexcept nogil:
    cdef Twist r
    carry(x.w, x.v, t, &r.w, &r.v)
    return r


cdef inline Twist by_own(Twist x, Twist S) noexcept nogil:
    # ad_x S
    return twist(cross(x.w, S.w), add(cross(x.v, S.w), cross(x.w, S.v)))


cdef inline double pairing(Twist x, Twist f) noexcept nogil:
    return dot(x.w, f.w) + dot(x.v, f.v)


cdef inline Twist momentum_of(const vt_body* b, const TreeBody* s, Twist x) noexcept nogil:
    return twist(symmul(s.I, x.w), scale(b.mass, x.v))


cdef inline void tree_place(const vt_body* b, const double* q, const double* rate, const TreeBody* up,
                            TreeBody* s) noexcept nogil:
    # pose, joint and velocity from the parent's (NULL: the world)
    cdef Vec3 p
    cdef Twist x = twist(zero3(), zero3())
    place_body(b, q, &up.R if up != NULL else NULL, &s.R, &p)
    if up != NULL:
        p = sub(p, up.arm)
    s.arm = mul(s.R, constant3(b.com))
    s.t = add(p, s.arm)
    s.c = s.t
    if up != NULL:
        s.c = add(up.c, s.t)
        x = carried(up.V, s.t)
    joint_column(b, s.R, 0, &s.S.w, &s.S.v)
    s.S = carried(s.S, s.arm)
    s.V = twist(axpy(rate[b.iv], s.S.w, x.w), axpy(rate[b.iv], s.S.v, x.v))


cdef inline double tree_load(const vt_model* m, const vt_body* b, TreeBody* s) noexcept nogil:
    # inertia and momentum; returns the body's part of L
    s.bare = b.mass == 0.0 and b.Ic[0] == 0.0 and b.Ic[3] == 0.0 and b.Ic[5] == 0.0
    s.I = rotate_sym(s.R, constant_sym(b.Ic))
    s.pi = momentum_of(b, s, s.V)
    return 0.5 * pairing(s.V, s.pi) + b.mass * dot(constant3(m.g), s.c)


cdef inline void tree_first(const vt_model* m, const vt_body* b, const TreeBody* s, Twist v, Twist by_q,
                            double* L_rate, double* L_q) noexcept nogil:
    # add a body's part of the first derivatives by one coordinate; the linear part of v is the
    # derivative of the COM
    L_rate[0] += pairing(v, s.pi)
    L_q[0] += pairing(by_q, s.pi) + b.mass * dot(constant3(m.g), v.v)


cdef inline TreeSecond tree_by_second(const vt_model* m, const vt_body* b, const TreeBody* s, Twist vj,
                                      Twist qj) noexcept nogil:
    cdef TreeSecond r
    r.v = momentum_of(b, s, vj)
    r.q = momentum_of(b, s, qj)
    r.weight = scale(b.mass, cross(vj.v, constant3(m.g)))
    return r


cdef inline void tree_pair(const TreeBody* s, Twist vi, Twist qi, Twist vq, Twist qq, const TreeSecond* j,
                           TreeSums* x) noexcept nogil:
    # add a body's part of the second derivatives by coordinates i and j
    x.vv += pairing(vi, j.v)
    x.vq += pairing(vi, j.q) + pairing(vq, s.pi)
    x.qv += pairing(qi, j.v)
    x.qq += pairing(qi, j.q) + pairing(qq, s.pi) + dot(vi.w, j.weight)


# ---- with caching -----------------------------------------------------------------------------------

cdef double tree_sweep_cached(const vt_model* m, TreeWork* w, double* L_rate, double* L_q) noexcept nogil:
    cdef int k, i, j
    cdef const vt_body* b
    cdef TreeBody* s
    cdef TreeBody* up
    cdef const int* path
    cdef Twist* v
    cdef Twist* by_q
    cdef const Twist* up_v
    cdef const Twist* up_q
    cdef double L = 0.0
    for k in range(m.nbody):
        b = &m.body[k]
        s = &w.body[k]
        path = w.path + w.first[k]
        v = w.v + w.first[k]
        by_q = w.by_q + w.first[k]
        up = NULL
        j = w.depth[k] - 1
        if b.parent >= 0:
            up = &w.body[b.parent]
            up_v = w.v + w.first[b.parent]
            up_q = w.by_q + w.first[b.parent]
        tree_place(b, w.q, w.rate, up, s)
        L += tree_load(m, b, s)
        # the parent's derivatives transformed, and those by the own coordinate
        for i in range(j):
            v[i] = carried(up_v[i], s.t)
            by_q[i] = carried(up_q[i], s.t)
        v[j] = s.S
        by_q[j] = by_own(s.V, s.S)
        if not s.bare:
            for i in range(j + 1):
                tree_first(m, b, s, v[i], by_q[i], L_rate + m.body[path[i]].iv, L_q + m.body[path[i]].iv)
    return L


cdef void tree_second_cached(const vt_model* m, TreeWork* w, double* L_vv, double* L_vq, double* L_qq) noexcept nogil:
    # for each coordinate through everything outboard of it, so that the tables of second derivatives are no larger than
    # those of the first
    cdef int k, i, j, e
    cdef const vt_body* b
    cdef const TreeBody* s
    cdef const Twist* v
    cdef const Twist* by_q
    cdef Twist* vq
    cdef Twist* qq
    cdef const Twist* up_vq
    cdef const Twist* up_qq
    cdef TreeSecond second
    for e in range(m.nbody):
        j = w.depth[e] - 1
        memset(w.sums, 0, (j + 1) * sizeof(TreeSums))
        for k in range(e, w.last[e] + 1):
            if w.depth[k] <= j or w.path[w.first[k] + j] != e:
                continue
            b = &m.body[k]
            s = &w.body[k]
            v = w.v + w.first[k]
            by_q = w.by_q + w.first[k]
            vq = w.vq + w.first[k]
            qq = w.qq + w.first[k]
            # ad_V S of the tables at the coordinate's own body, transformed beyond it
            if k == e:
                for i in range(j + 1):
                    vq[i] = by_own(v[i], s.S)
                    qq[i] = by_own(by_q[i], s.S)
            else:
                up_vq = w.vq + w.first[b.parent]
                up_qq = w.qq + w.first[b.parent]
                for i in range(j + 1):
                    vq[i] = carried(up_vq[i], s.t)
                    qq[i] = carried(up_qq[i], s.t)
            if s.bare:
                continue
            second = tree_by_second(m, b, s, v[j], by_q[j])
            for i in range(j + 1):
                tree_pair(s, v[i], by_q[i], vq[i], qq[i], &second, &w.sums[i])
        for i in range(j + 1):
            tree_put(m, w.path[w.first[e] + i], e, &w.sums[i], L_vv, L_vq, L_qq)


cdef inline void tree_put(const vt_model* m, int a, int b, const TreeSums* x, double* L_vv, double* L_vq,
                          double* L_qq) noexcept nogil:
    cdef int i = m.body[a].iv, j = m.body[b].iv, n = m.nv
    L_vv[i * n + j] = x.vv
    L_vv[j * n + i] = x.vv
    L_vq[i * n + j] = x.vq
    L_vq[j * n + i] = x.qv
    L_qq[i * n + j] = x.qq
    L_qq[j * n + i] = x.qq


# ---- without caching ---------------------------------------------------------------------------------

cdef void tree_walk(const vt_model* m, const TreeWork* w, int k, int i, int j, TreeBody* s, TreePair* x) noexcept nogil:
    # body k, and the derivatives of its velocity by the i-th and j-th coordinates of its path (i <= j),
    # from the root
    cdef int d, e
    cdef TreeBody up
    cdef const TreeBody* above = NULL
    for d in range(w.depth[k]):
        e = w.path[w.first[k] + d]
        if d > 0:
            up = s[0]
            above = &up
        tree_place(&m.body[e], w.q, w.rate, above, s)
        if d > i:
            x.vi = carried(x.vi, s.t)
            x.qi = carried(x.qi, s.t)
        elif d == i:
            x.vi = s.S
            x.qi = by_own(s.V, s.S)
        if d > j:
            x.vj = carried(x.vj, s.t)
            x.qj = carried(x.qj, s.t)
            x.vq = carried(x.vq, s.t)
            x.qq = carried(x.qq, s.t)
        elif d == j:
            x.vj = s.S
            x.qj = by_own(s.V, s.S)
            x.vq = by_own(x.vi, s.S)
            x.qq = by_own(x.qi, s.S)


cdef double tree_sweep_anew(const vt_model* m, TreeWork* w, double* L_rate, double* L_q) noexcept nogil:
    cdef int k, i, iv
    cdef const vt_body* b
    cdef TreeBody s
    cdef TreePair x
    cdef double part = 0.0, L = 0.0
    for k in range(m.nbody):
        b = &m.body[k]
        for i in range(w.depth[k]):
            tree_walk(m, w, k, i, i, &s, &x)
            part = tree_load(m, b, &s)
            iv = m.body[w.path[w.first[k] + i]].iv
            tree_first(m, b, &s, x.vi, x.qi, L_rate + iv, L_q + iv)
        L += part
    return L


cdef void tree_second_anew(const vt_model* m, TreeWork* w, double* L_vv, double* L_vq, double* L_qq) noexcept nogil:
    cdef int k, i, j, e
    cdef const vt_body* b
    cdef TreeBody s
    cdef TreePair x
    cdef TreeSecond second
    cdef TreeSums sums
    for e in range(m.nbody):
        j = w.depth[e] - 1
        for i in range(j + 1):
            memset(&sums, 0, sizeof(TreeSums))
            for k in range(e, w.last[e] + 1):
                if w.depth[k] <= j or w.path[w.first[k] + j] != e:
                    continue
                b = &m.body[k]
                tree_walk(m, w, k, i, j, &s, &x)
                tree_load(m, b, &s)
                second = tree_by_second(m, b, &s, x.vj, x.qj)
                tree_pair(&s, x.vi, x.qi, x.vq, x.qq, &second, &sums)
            tree_put(m, w.path[w.first[e] + i], e, &sums, L_vv, L_vq, L_qq)


# ---- interface ------------------------------------------------------------------------------------------

cdef double tree_sweep(const vt_model* m, const double* q, const double* rate, TreeWork* w, double* L_rate,
                       double* L_q, bint caching) noexcept nogil:
    # first derivatives of L, (nv,) each; returns L
    cdef double L
    cdef int k
    memcpy(w.q, q, m.nv * sizeof(double))
    memcpy(w.rate, rate, m.nv * sizeof(double))
    memset(L_rate, 0, m.nv * sizeof(double))
    memset(L_q, 0, m.nv * sizeof(double))
    L = tree_sweep_cached(m, w, L_rate, L_q) if caching else tree_sweep_anew(m, w, L_rate, L_q)
    if m.rotors:
        for k in range(m.nv):
            L_rate[k] += m.armature[k] * rate[k]
            L += 0.5 * m.armature[k] * rate[k] * rate[k]
    return L


cdef void tree_second(const vt_model* m, TreeWork* w, double* L_vv, double* L_vq, double* L_qq,
                      bint caching) noexcept nogil:
    # second derivatives of L at the last sweep, (nv, nv) each; L_vq[i, j] is by rate i and q_j
    cdef int k
    memset(L_vv, 0, m.nv * m.nv * sizeof(double))
    memset(L_vq, 0, m.nv * m.nv * sizeof(double))
    memset(L_qq, 0, m.nv * m.nv * sizeof(double))
    if caching:
        tree_second_cached(m, w, L_vv, L_vq, L_qq)
    else:
        tree_second_anew(m, w, L_vv, L_vq, L_qq)
    if m.rotors:
        for k in range(m.nv):
            L_vv[k * m.nv + k] += m.armature[k]


def lagrangian_derivatives(CoreModel model, const double[::1] q, const double[::1] v, bint caching=True):
    """L, L_q, L_v (nv,), L_qq, L_vq and L_vv (nv, nv) at (q, v); L_vq[i, j] is by v_i and q_j.

    L is kinetic energy less the potential of gravity, which is zero with all mass at the world's origin.
    Every joint must have one coordinate.
    """
    cdef const vt_model* m = &model.m
    cdef int n = m.nv
    cdef TreeWork w
    cdef Scratch scratch
    cdef double L
    if m.nmulti or q.shape[0] != n or v.shape[0] != n:
        raise ValueError(f"one-coordinate joints and q and v of {n} entries are needed")
    first, second = np.zeros((2, n)), np.zeros((3, n, n))
    cdef double[:, ::1] a = first
    cdef double[:, :, ::1] b = second
    if n == 0:
        return 0.0, first[0], first[1], second[0], second[1], second[2]
    scratch = Scratch(tree_work_size(m))
    tree_work_make(m, scratch.take(tree_work_size(m)), &w)
    with nogil:
        L = tree_sweep(m, &q[0], &v[0], &w, &a[1, 0], &a[0, 0], caching)
        tree_second(m, &w, &b[2, 0, 0], &b[1, 0, 0], &b[0, 0, 0], caching)
    return L, first[0], first[1], second[0], second[1], second[2]
