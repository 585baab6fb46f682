# The constrained equations of an island, factored and solved in the order of its FrontPlan. With the displacements x of
# the bodies, d of the joints and the multipliers mu,
#     x_i = (x of the parent) + col d,   row.(sum over the subtree of A x + h1 mu) + D d = b,   h2 x = g,
# where h1 and h2 are the constraints' wrenches at nodes 1 and 2. The discretisation defines x: for linear-time the
# displacement at node 2, six numbers; for midpoint the displacement and the change of the twist in the middle, and the
# displacement at node 2, eighteen, with as many wrenches, the last six at node 1. M has the equations of the front; a
# pivot leaves M - u l, with its column u and its row l over the pivot.

#: A pivot is safe if it is at least this fraction of the terms of its sum
cdef double SAFE_PIVOT = 0.01
#: A constraint acts on a joint by rounding errors only below this fraction of its wrench
cdef double NEGLIGIBLE = 1e-6

cdef FrontSize front_size(const FrontPlan* p, int block, bint turns):
    cdef FrontSize z
    z.block, z.end, z.turns, z.sense = block, block * p.slots, turns, 1.0
    z.width = z.end + p.places
    return z


cdef int front_factors_make(FrontFactors* x, Memory memory, const FrontPlan* plan, const FrontSize* z,
                            int copies) except -1:
    # stored ones of so many substeps, one after the other; or of none: they are recomputed before each use
    cdef Py_ssize_t all = <Py_ssize_t>max(copies, 1) * (plan.pivots + plan.rows)
    if not copies:
        x.u, x.l = memory.scratch_reals(all * z.width), memory.scratch_reals(all * z.width)
        x.inverse = memory.scratch_reals(6 * all)
        x.closed = <int*>memory.scratch(plan.rows * sizeof(int))
        x.partner = <int*>memory.scratch(plan.rows * sizeof(int))
        return 0
    x.u, x.l = memory.kept_reals(all * z.width), memory.kept_reals(all * z.width)
    x.inverse = memory.kept_reals(6 * all)
    x.closed = memory.kept_ints(copies * plan.rows, 0, plan.count)
    x.partner = memory.kept_ints(copies * plan.rows, 0, plan.rows - 1)
    return 0


cdef inline FrontFactors front_factors_of(const FrontFactors* x, const FrontPlan* plan, const FrontSize* z,
                                          int copy) noexcept nogil:
    cdef FrontFactors r
    cdef Py_ssize_t all = <Py_ssize_t>copy * (plan.pivots + plan.rows)
    r.u, r.l, r.inverse = x.u + all * z.width, x.l + all * z.width, x.inverse + 6 * all
    r.closed, r.partner = x.closed + copy * plan.rows, x.partner + copy * plan.rows
    return r


cdef int front_work_make(FrontWork* x, Memory memory, const FrontPlan* plan, FrontSize z, int nbody) except -1:
    x.z = z
    x.M, x.size = memory.scratch_reals(z.width * z.width), memory.scratch_reals(z.width)
    x.scale = memory.scratch_reals(z.width)
    x.F, x.rate = memory.scratch_reals(z.width), memory.scratch_reals(plan.pivots + plan.rows)
    x.u, x.l = memory.scratch_reals(6 * z.width), memory.scratch_reals(6 * z.width)
    x.hung, x.x = memory.scratch_reals(z.block * nbody), memory.scratch_reals(z.block * nbody)
    x.at, x.held = <int*>memory.scratch(plan.rows * sizeof(int)), <int*>memory.scratch(z.width * sizeof(int))
    x.line, x.left = <int*>memory.scratch(plan.rows * sizeof(int)), <int*>memory.scratch(plan.rows * sizeof(int))
    x.run = <int*>memory.scratch((2 * plan.slots + 2) * sizeof(int))
    return 0


cdef int front_bodies_make(FrontBody* x, Memory memory, const vt_model* m, int block, bint second_order) except -1:
    # (nbody,): what steps write before they read it. Rows and columns belong to the owner
    cdef double* A = memory.scratch_reals(block * block * m.nbody)
    cdef double* D = memory.scratch_reals(6 * m.nv)
    cdef double* own_row = memory.scratch_reals(block * m.nv) if second_order else NULL
    cdef double* own_col = memory.scratch_reals(block * m.nv) if second_order else NULL
    cdef int i
    for i in range(m.nbody):
        x[i].A, x[i].D = A + block * block * i, D + 6 * m.body[i].iv
        x[i].own_row = own_row + block * m.body[i].iv if second_order else NULL
        x[i].own_col = own_col + block * m.body[i].iv if second_order else NULL
    return 0


cdef void front_give_rows(FrontBody* x, const vt_model* m, double* row, double* col, int block) noexcept nogil:
    # (nv, block) each
    cdef int i
    for i in range(m.nbody):
        x[i].row, x[i].col = row + block * m.body[i].iv, col + block * m.body[i].iv


# ---- vectors over the front --------------------------------------------------------------------------

cdef inline void front_begin(const FrontPlan* p, FrontWork* x) noexcept nogil:
    cdef int c
    x.used = x.z.end
    for c in range(p.rows):
        x.at[c] = -1
    for c in range(x.z.width):
        x.held[c] = -1


cdef inline int front_place(FrontWork* x, int c) noexcept nogil:
    # a free place for a constraint, or -1
    cdef int at = x.z.end
    while at < x.z.width and x.held[at] >= 0:
        at += 1
    if at == x.z.width:
        return -1
    x.at[c], x.held[at] = at, c
    x.used = max(x.used, at + 1)
    return at


cdef inline void front_leave(FrontWork* x, int c) noexcept nogil:
    x.held[x.at[c]] = -1
    x.at[c] = -1
    while x.used > x.z.end and x.held[x.used - 1] < 0:
        x.used -= 1


cdef inline void front_runs(const FrontPlan* p, const FrontEvent* e, FrontWork* x) noexcept nogil:
    # of the bodies in the front, by their slots, and of the constraints
    cdef int j, first, end
    x.runs = 0
    for j in range(e.pair, e.pair_end + 1):
        first = x.z.block * p.pair[2 * j] if j < e.pair_end else x.z.end
        end = first + x.z.block if j < e.pair_end else x.used
        if x.runs and x.run[2 * x.runs - 1] == first:
            x.run[2 * x.runs - 1] = end
        elif first < end:
            x.run[2 * x.runs], x.run[2 * x.runs + 1] = first, end
            x.runs += 1


cdef inline void turn_in(const Mat3* R, int block, const double* a, double* to) noexcept nogil:
    # pairs of vectors to the body's axes
    cdef int k
    for k in range(0, block, 6):
        store3(to + k, tmul(R[k // 6], load3(a + k)))
        store3(to + k + 3, tmul(R[k // 6], load3(a + k + 3)))


cdef inline void turn_out(const Mat3* R, int block, const double* a, double* to) noexcept nogil:
    cdef int k
    for k in range(0, block, 6):
        store3(to + k, mul(R[k // 6], load3(a + k)))
        store3(to + k + 3, mul(R[k // 6], load3(a + k + 3)))


cdef inline void front_store(const FrontPlan* p, const FrontEvent* e, const FrontBody* body, const FrontWork* x, int k,
                             double* u, double* l) noexcept nogil:
    # store the k-th column and row of a pivot
    cdef int j, at, block = x.z.block
    cdef const double* from_u = x.u + k * x.z.width
    cdef const double* from_l = x.l + k * x.z.width
    cdef const FrontBody* b
    for j in range(e.pair, e.pair_end):
        at = block * p.pair[2 * j]
        b = &body[p.pair[2 * j + 1]]
        if x.z.turns:
            turn_in(b.R_row, block, from_u + at, u + at)
            turn_in(b.R_col, block, from_l + at, l + at)
        else:
            memcpy(u + at, from_u + at, block * sizeof(double))
            memcpy(l + at, from_l + at, block * sizeof(double))
    for j in range(x.z.end, x.used):
        u[j], l[j] = from_u[j], from_l[j]
    for j in range(x.used, x.z.width):
        u[j] = l[j] = 0.0


cdef inline void front_add(const FrontPlan* p, const FrontEvent* e, const FrontBody* body, FrontWork* x, double s,
                           const double* u) noexcept nogil:
    # F += s u
    cdef int j, k, at, block = x.z.block
    cdef double turned_u[6 * MOST_PAIRS]
    cdef const double* own
    for j in range(e.pair, e.pair_end):
        at = block * p.pair[2 * j]
        own = u + at
        if x.z.turns:
            turn_out(body[p.pair[2 * j + 1]].R_row, block, own, turned_u)
            own = turned_u
        vt_add_row(block, s, own, x.F + at)
    vt_add_row(x.used - x.z.end, s, u + x.z.end, x.F + x.z.end)


cdef inline double front_dot(const FrontPlan* p, const FrontEvent* e, const FrontBody* body, const FrontWork* x,
                             const double* l) noexcept nogil:
    # l.X, X being in F
    cdef int j, k, at, block = x.z.block
    cdef double own[6 * MOST_PAIRS]
    cdef double s = 0.0
    for j in range(e.pair, e.pair_end):
        at = block * p.pair[2 * j]
        if x.z.turns:
            turn_in(body[p.pair[2 * j + 1]].R_col, block, x.F + at, own)
            s += vt_inner(block, l + at, own)
        else:
            s += vt_inner(block, l + at, x.F + at)
    for k in range(x.z.end, x.used):
        s += l[k] * x.F[k]
    return s


# ---- factors -----------------------------------------------------------------------------------------

cdef inline void front_reduce(const FrontWork* x, const double* u, const double* l) noexcept nogil:
    # M -= u l over the front
    cdef int j, k, a, first
    cdef double s
    cdef double* M
    for j in range(x.runs):
        for a in range(x.run[2 * j], x.run[2 * j + 1]):
            M = x.M + a * x.z.width
            s = -u[a]
            for k in range(x.runs):
                first = x.run[2 * k]
                vt_add_row(x.run[2 * k + 1] - first, s, l + first, M + first)


cdef inline void front_clear(const FrontWork* x, int first, int end) noexcept nogil:
    # rows and columns of M
    cdef int a, b, W = x.z.width
    for a in range(first, end):
        memset(x.M + a * W, 0, W * sizeof(double))
    for b in range(W):
        for a in range(first, end):
            x.M[b * W + a] = 0.0


cdef inline void front_put_body(const FrontWork* x, const double* A, int slot) noexcept nogil:
    # add the matrix of a body
    cdef int j, block = x.z.block, at = block * slot
    for j in range(block):
        vt_add_row(block, 1.0, A + j * block, x.M + (at + j) * x.z.width + at)


cdef inline void front_store_body(const FrontWork* x, int slot, double* A) noexcept nogil:
    cdef int j, block = x.z.block, at = block * slot
    for j in range(block):
        vt_add_row(block, 1.0, x.M + (at + j) * x.z.width + at, A + j * block)


cdef inline void front_put_hold(const FrontPlan* p, const FrontEvent* e, const FrontWork* x, int row, int body, Vec3 n1,
                                Vec3 f1, Vec3 n2, Vec3 f2) noexcept nogil:
    # a constraint's wrenches at nodes 1 and 2 on a body: its last six numbers
    cdef int k, j, at
    cdef double one[6]
    cdef double two[6]
    if body < 0:
        return
    store3(one, n1)
    store3(&one[3], f1)
    store3(two, n2)
    store3(&two[3], f2)
    for k in range(e.pair, e.pair_end):
        if p.pair[2 * k + 1] == body:
            at = x.z.block * (p.pair[2 * k] + 1) - 6
            for j in range(6):
                x.M[(at + j) * x.z.width + row] += one[j]
                x.M[row * x.z.width + at + j] += two[j]


cdef inline double hold_size(const Hold* x) noexcept nogil:
    cdef double s = max(dot(x.na, x.na) + dot(x.fa, x.fa), dot(x.nb, x.nb) + dot(x.fb, x.fb))
    return max(vt_sqrt(s), fabs(x.on_a), fabs(x.on_b))


cdef inline double acts_on(const vt_constraint* e, const Hold* hold, int iv) noexcept nogil:
    # a constraint's entry at a coordinate
    return (hold.on_a if e.iv_a == iv else 0.0) + (hold.on_b if e.iv_b == iv else 0.0)


cdef inline double absolute_inner(const double* a, int stride, const double* b, int n) noexcept nogil:
    # the sum of |a b|
    cdef int k
    cdef double s = 0.0
    for k in range(n):
        s += fabs(a[k * stride] * b[k])
    return s


cdef inline void front_cross(const FrontEvent* e, FrontWork* x, const FrontBody* b, int k, double* u,
                             double* l) noexcept nogil:
    # u = M col, l = row M of the k-th coordinate, with the terms of the joint itself
    cdef int j, a, c, first, at = x.z.block * e.slot, block = x.z.block, W = x.z.width
    cdef const double* row = b.row + k * block
    cdef const double* col = b.col + k * block
    for j in range(x.runs):
        for a in range(x.run[2 * j], x.run[2 * j + 1]):
            u[a] = vt_inner(block, x.M + a * W + at, col)
            l[a] = 0.0
        first = x.run[2 * j]
        for c in range(block):
            vt_add_row(x.run[2 * j + 1] - first, row[c], x.M + (at + c) * W + first, l + first)
    if b.own_row != NULL:
        for c in range(block):
            l[at + c] += b.own_row[k * block + c]
            u[at + c] += b.own_col[k * block + c]


cdef inline void front_eliminate(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                                 const vt_body* one, const FrontBody* body, const vt_constraint* list,
                                 const int* member, const Hold* hold1, const Hold* hold2, Signs* signs) noexcept nogil:
    # a joint: D = row M col; constraints add their terms on the joint itself
    cdef int a, c, j, k, at = x.z.block * e.slot, nd = joint_nv(one), block = x.z.block, W = x.z.width
    cdef const FrontBody* b = &body[e.body]
    cdef double D[36]
    cdef double pivots[6]
    cdef double least
    front_runs(p, e, x)
    for k in range(nd):
        front_cross(e, x, b, k, x.u + k * W, x.l + k * W)
    for k in range(nd):
        for j in range(nd):
            D[k * nd + j] = vt_inner(block, x.l + k * W + at, b.col + j * block) + b.D[k * nd + j]
        pivots[k] = fabs(D[k * nd + k])
    for k in range(e.row, e.row_end):
        # of one coordinate
        c = p.row[k]
        if x.at[c] >= 0:
            x.u[x.at[c]] += acts_on(&list[member[c]], &hold2[member[c]], one.iv)
            x.l[x.at[c]] += acts_on(&list[member[c]], &hold1[member[c]], one.iv)
    for a in range(x.z.end, x.used):
        # not |u l/D|: a joint on which a constraint does not depend leaves rounding errors
        least = NEGLIGIBLE * x.scale[a]
        for k in range(nd):
            x.size[a] += max(least, fabs(x.u[k * W + a]), absolute_inner(x.M + a * W + at, 1, b.col + k * block, block)
                             ) * max(least, fabs(x.l[k * W + a]),
                                     absolute_inner(x.M + at * W + a, W, b.row + k * block, block)) / pivots[k]
    invert(D, nd, x.z.sense, signs)
    front_pivot(p, e, x, to, body, D, nd, e.pivot)


cdef inline void front_pivot(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                             const FrontBody* body, const double* inverse, int nd, int pivot) noexcept nogil:
    # l becomes l over the pivot; M -= u l
    cdef int k, j, a, c, W = x.z.width
    cdef double row[6]
    for j in range(x.runs):
        for a in range(x.run[2 * j], x.run[2 * j + 1]):
            for k in range(nd):
                row[k] = x.l[k * W + a]
            for k in range(nd):
                x.l[k * W + a] = inverse[k * nd] * row[0]
                for c in range(1, nd):
                    x.l[k * W + a] += inverse[k * nd + c] * row[c]
    for k in range(nd):
        for c in range(nd):
            to.inverse[6 * (pivot + k) + c] = inverse[k * nd + c]
        front_store(p, e, body, x, k, to.u + <Py_ssize_t>(pivot + k) * W, to.l + <Py_ssize_t>(pivot + k) * W)
        front_reduce(x, x.u + k * W, x.l + k * W)


cdef inline void front_shift(const FrontEvent* e, FrontWork* x, const FrontBody* b) noexcept nogil:
    # the displacement of a body becomes that of its parent: n += t x f of its rows, w += t x v of its columns
    cdef int a, j, k, at = x.z.block * e.slot, to = x.z.block * e.to, block = x.z.block, W = x.z.width
    cdef Vec3 t
    cdef double* f
    cdef double* M = x.M
    if e.to < 0:
        front_clear(x, at, at + block)
        return
    for k in range(at, at + block, 6):
        t = b.t_row[(k - at) // 6]
        f = M + (k + 3) * W
        vt_add_rows(W, t.y, f + 2 * W, t.z, f + W, M + k * W)
        vt_add_rows(W, t.z, f, t.x, f + 2 * W, M + (k + 1) * W)
        vt_add_rows(W, t.x, f + W, t.y, f, M + (k + 2) * W)
    for k in range(at, at + block, 6):
        t = b.t_col[(k - at) // 6]
        for a in range(W):
            store3(M + a * W + k, add(load3(M + a * W + k), cross(t, load3(M + a * W + k + 3))))
    if to != at:
        for j in range(block):
            vt_add_row(W, 1.0, M + (at + j) * W, M + (to + j) * W)
        for a in range(W):
            vt_add_row(block, 1.0, M + a * W + at, M + a * W + to)
        front_clear(x, at, at + block)


cdef inline void front_close(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                             const FrontBody* body, int event, int c, int other, Signs* signs) noexcept nogil:
    # eliminate the multiplier of c by the equation of `other`, which changes places with that of c
    cdef int a, j, at = x.at[c], W = x.z.width
    cdef double s
    cdef double* M = x.M
    if other != c:
        for a in range(W):
            s = M[at * W + a]
            M[at * W + a] = M[x.at[other] * W + a]
            M[x.at[other] * W + a] = s
        signs.all = -signs.all
    front_runs(p, e, x)
    for j in range(x.runs):
        for a in range(x.run[2 * j], x.run[2 * j + 1]):
            x.u[a], x.l[a] = M[a * W + at], M[at * W + a]
    s = x.u[at]
    x.u[at] = x.l[at] = 0.0
    signs_note(signs, -x.z.sense * s)
    for a in range(x.z.end, x.used):
        x.size[a] += fabs(x.u[a] * x.l[a] / s)
    to.closed[c], to.partner[c] = event, other
    s = 1.0 / s
    front_pivot(p, e, x, to, body, &s, 1, p.pivots + c)
    front_clear(x, at, at + 1)
    front_leave(x, c)


cdef inline int front_close_all(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                                const FrontBody* body, int event, Signs* signs) noexcept nogil:
    # with partial pivoting among the constraints that must close
    cdef int j, k, c, d, best
    cdef double s, size
    for j in range(e.row, e.row_end):
        c = p.row[j]
        if x.at[c] < 0:
            continue
        best, size, s = c, 0.0, x.size[x.at[c]]
        for k in range(e.row, e.row_end):
            d = p.row[k]
            if x.at[d] >= 0:
                if fabs(x.M[x.at[d] * x.z.width + x.at[c]]) > size:
                    best, size = d, fabs(x.M[x.at[d] * x.z.width + x.at[c]])
                s = max(s, x.size[x.at[d]])
        if not size > 1e-14 * s:
            return DEPENDENT
        front_close(p, e, x, to, body, event, c, best, signs)
    return OK


cdef int front_factor(const FrontPlan* p, FrontWork* x, FrontFactors* to, const vt_model* m, FrontBody* body,
                      const vt_constraint* list, const int* member, const Hold* hold1, const Hold* hold2,
                      Signs* signs) noexcept nogil:
    # body: A is changed. member: the constraints of the island. signs: of the pivots times `sense`, which are positive
    # at rest; those of constraints times -1
    cdef const FrontEvent* e
    cdef int event, c, at
    front_begin(p, x)
    memset(x.M, 0, x.z.width * x.z.width * sizeof(double))
    for c in range(p.rows):
        to.closed[c] = p.count
        to.partner[c] = c
    for event in range(p.count):
        e = &p.event[event]
        if e.kind == OPEN_BODY:
            front_put_body(x, body[e.body].A, e.slot)
        elif e.kind == OPEN_ROW:
            c = p.row[e.row]
            at = front_place(x, c)
            if at < 0:
                return DEPENDENT
            x.size[at] = 0.0
            x.scale[at] = max(hold_size(&hold1[member[c]]), hold_size(&hold2[member[c]]))
            front_put_hold(p, e, x, at, list[member[c]].body_a, hold1[member[c]].na, hold1[member[c]].fa,
                           hold2[member[c]].na, hold2[member[c]].fa)
            front_put_hold(p, e, x, at, list[member[c]].body_b, hold1[member[c]].nb, hold1[member[c]].fb,
                           hold2[member[c]].nb, hold2[member[c]].fb)
        elif e.kind == ELIMINATE:
            front_eliminate(p, e, x, to, &m.body[e.body], body, list, member, hold1, hold2, signs)
        elif e.kind == SHIFT:
            front_shift(e, x, &body[e.body])
        elif e.kind == TRY:
            for at in range(x.z.end, x.used):
                c = x.held[at]
                if c >= 0 and p.ready[c] <= event and fabs(x.M[at * x.z.width + at]) > SAFE_PIVOT * x.size[at]:
                    front_close(p, e, x, to, body, event, c, c, signs)
        elif e.kind == CLOSE:
            if front_close_all(p, e, x, to, body, event, signs) != OK:
                return DEPENDENT
        elif e.kind == STORE:
            front_store_body(x, e.slot, body[e.body].A)
            front_clear(x, x.z.block * e.slot, x.z.block * (e.slot + 1))
    return OK


# ---- the solution ------------------------------------------------------------------------------------

cdef inline void front_inwards(const FrontPlan* p, const FrontEvent* e, FrontWork* x, const FrontFactors* by,
                               const FrontBody* body, const double* rhs, int nd, int pivot) noexcept nogil:
    # the right sides of a pivot's equations, and their contributions to the front
    cdef int k, c
    cdef double s
    for k in range(nd):
        s = by.inverse[6 * (pivot + k)] * rhs[0]
        for c in range(1, nd):
            s += by.inverse[6 * (pivot + k) + c] * rhs[c]
        x.rate[pivot + k] = s
    # u has the pivot's equations unchanged, l over the pivot
    for k in range(nd):
        front_add(p, e, body, x, -x.rate[pivot + k], by.u + <Py_ssize_t>(pivot + k) * x.z.width)


cdef inline int front_reclose(const FrontPlan* p, const FrontEvent* e, FrontWork* x, const FrontFactors* by,
                              const FrontBody* body, int c, int closed) noexcept nogil:
    # closes c in the order of its pivot; returns how many have closed
    cdef int at = x.at[c], other = x.at[by.partner[c]]
    cdef double s
    if at < 0 or other < 0:
        return closed
    s = x.F[at]
    x.F[at] = x.F[other]
    x.F[other] = s
    s = x.F[at]
    front_inwards(p, e, x, by, body, &s, 1, p.pivots + c)
    x.F[at] = 0.0
    x.line[closed], x.left[closed] = c, at
    front_leave(x, c)
    return closed + 1


cdef void front_solve(const FrontPlan* p, FrontWork* x, const FrontFactors* by, const vt_model* m,
                      const FrontBody* body, const double* b, double share, const double* g, const int* member,
                      double* d, double* mu) noexcept nogil:
    # d of the joints and mu, by the numbers of the island, for the right sides share b and -g
    cdef const FrontEvent* e
    cdef const vt_body* one
    cdef int event, c, k, at, nd, block = x.z.block, closed = 0
    cdef double rhs[6]
    cdef Vec3 n, f
    cdef double* F = x.F
    cdef double* up
    front_begin(p, x)
    memset(F, 0, x.z.width * sizeof(double))
    for event in range(p.count):
        e = &p.event[event]
        if e.kind == OPEN_BODY or e.kind == STORE:
            memset(x.hung + block * e.body, 0, block * sizeof(double))
    for event in range(p.count):
        e = &p.event[event]
        at = block * e.slot
        if e.kind == OPEN_BODY:
            for k in range(block):
                F[at + k] += x.hung[block * e.body + k]
        elif e.kind == OPEN_ROW:
            c = p.row[e.row]
            k = front_place(x, c)
            if k >= 0:
                F[k] = -g[member[c]]
        elif e.kind == ELIMINATE:
            one = &m.body[e.body]
            nd = joint_nv(one)
            for k in range(nd):
                rhs[k] = share * b[one.iv + k] + vt_inner(block, body[e.body].row + k * block, F + at)
            front_inwards(p, e, x, by, body, rhs, nd, e.pivot)
        elif e.kind == SHIFT:
            for k in range(0, block, 6):
                if e.to >= 0:
                    up = F + block * e.to + k
                    n, f = load3(F + at + k), load3(F + at + k + 3)
                    n = add(n, cross(body[e.body].t_row[k // 6], f))
                    if e.to != e.slot:
                        n, f = add(n, load3(up)), add(f, load3(up + 3))
                    store3(up, n)
                    store3(up + 3, f)
            if e.to != e.slot:
                memset(F + at, 0, block * sizeof(double))
        elif e.kind == TRY:
            for at in range(x.z.end, x.used):
                c = x.held[at]
                if c >= 0 and by.closed[c] == event:
                    closed = front_reclose(p, e, x, by, body, c, closed)
        elif e.kind == CLOSE:
            for k in range(e.row, e.row_end):
                if x.at[p.row[k]] >= 0 and by.closed[p.row[k]] == event:
                    closed = front_reclose(p, e, x, by, body, p.row[k], closed)
        elif e.kind == STORE:
            for k in range(block):
                x.hung[block * e.body + k] += F[at + k]
            memset(F + at, 0, block * sizeof(double))
    front_outwards(p, x, by, m, body, closed, d, mu)


cdef inline void front_outwards(const FrontPlan* p, FrontWork* x, const FrontFactors* by, const vt_model* m,
                                const FrontBody* body, int closed, double* d, double* mu) noexcept nogil:
    # the events in reverse: F becomes the solution
    cdef const FrontEvent* e
    cdef const vt_body* one
    cdef int event, c, k, j, at, block = x.z.block
    cdef double s
    cdef Vec3 w, v
    cdef double* X = x.F
    x.used = x.z.width
    memset(X, 0, x.z.width * sizeof(double))
    for event in range(p.count - 1, -1, -1):
        e = &p.event[event]
        at = block * e.slot
        if e.kind == OPEN_BODY:
            memcpy(x.x + block * e.body, X + at, block * sizeof(double))
        elif e.kind == ELIMINATE:
            one = &m.body[e.body]
            for k in range(joint_nv(one)):
                d[one.iv + k] = x.rate[e.pivot + k] - front_dot(p, e, body, x,
                                                                by.l + <Py_ssize_t>(e.pivot + k) * x.z.width)
            for k in range(joint_nv(one)):
                vt_add_row(block, d[one.iv + k], body[e.body].col + k * block, X + at)
        elif e.kind == SHIFT:
            for k in range(0, block, 6):
                w = v = zero3()
                if e.to >= 0:
                    w, v = load3(X + block * e.to + k), load3(X + block * e.to + k + 3)
                    v = add(v, cross(w, body[e.body].t_col[k // 6]))
                store3(X + at + k, w)
                store3(X + at + k + 3, v)
        elif e.kind == TRY or e.kind == CLOSE:
            while closed and by.closed[x.line[closed - 1]] == event:
                closed -= 1
                c, at = x.line[closed], x.left[closed]
                X[at] = 0.0
                X[at] = x.rate[p.pivots + c] - front_dot(p, e, body, x, by.l + <Py_ssize_t>(p.pivots + c) * x.z.width)
                mu[c] = X[at]
        elif e.kind == STORE:
            memcpy(X + at, x.x + block * e.body, block * sizeof(double))


# ---- bodies with the displacement at node 2 ------------------------------------------------------------

cdef inline void front_columns(const vt_body* b, FrontBody* x, int block) noexcept nogil:
    # the twists of a joint at nodes 1 and 2: the last six numbers of its rows and columns
    cdef int k, last = block // 6 - 1
    cdef Vec3 w, v
    for k in range(joint_nv(b)):
        joint_column(b, x.R_row[last], k, &w, &v)
        store3(x.row + block * (k + 1) - 6, w)
        store3(x.row + block * (k + 1) - 3, v)
        joint_column(b, x.R_col[last], k, &w, &v)
        store3(x.col + block * (k + 1) - 6, w)
        store3(x.col + block * (k + 1) - 3, v)


cdef inline void front_matrix(const Block* A, double* to) noexcept nogil:
    put_matrix(A.nw, to, 6)
    put_matrix(A.nv, to + 3, 6)
    put_matrix(A.fw, to + 18, 6)
    put_matrix(A.fv, to + 21, 6)


cdef void bodies_at_rest(const vt_model* m, const Pose* pose, int first, int end, FrontBody* x) noexcept nogil:
    # the inertias of the bodies about their origins, of which M consists, and the joints' armature
    cdef const vt_body* b
    cdef Block A
    cdef int i
    for i in range(first, end):
        b = &m.body[i]
        A.nv = hat(mul(pose[i].R, constant3(b.h)))
        A.fw = transpose(A.nv)
        A.nw = full(rotate_sym(pose[i].R, constant_sym(b.Io)))
        A.fv = plus_diagonal(zero33(), b.mass)
        front_matrix(&A, x[i].A)
        x[i].t_row[0] = x[i].t_col[0] = pose[i].t
        x[i].R_row[0] = x[i].R_col[0] = pose[i].R
        front_columns(b, &x[i], 6)
        memset(x[i].D, 0, joint_nv(b) * joint_nv(b) * sizeof(double))
        if not joint_multi(b):
            x[i].D[0] = m.armature[b.iv]


cdef void constraint_rates(const vt_model* m, const vt_constraint* list, const Hold* hold, const int* member, int rows,
                           int first, int end, const FrontBody* body, const double* d, double* x,
                           double* out) noexcept nogil:
    # out = Dh d, of displacements d (nv,) of the joints; x: (nbody, 6) the bodies'
    cdef const vt_constraint* e
    cdef const Hold* on
    cdef int i, c, k, j
    cdef double* at
    cdef Vec3 w, v
    for i in range(first, end):
        w = v = zero3()
        at = x + 6 * i
        if m.body[i].parent >= 0:
            k = 6 * m.body[i].parent
            carry(load3(x + k), load3(x + k + 3), body[i].t_col[0], &w, &v)
        store3(at, w)
        store3(at + 3, v)
        for k in range(joint_nv(&m.body[i])):
            for j in range(6):
                at[j] += d[m.body[i].iv + k] * body[i].col[6 * k + j]
    for c in range(rows):
        e, on = &list[member[c]], &hold[member[c]]
        out[c] = 0.0
        if e.iv_a >= 0:
            out[c] += on.on_a * d[e.iv_a]
        if e.iv_b >= 0:
            out[c] += on.on_b * d[e.iv_b]
        if e.kind == COUPLING or e.kind == PROFILE:
            continue
        if e.body_a >= 0:
            k = 6 * e.body_a
            out[c] += dot(on.na, load3(x + k)) + dot(on.fa, load3(x + k + 3))
        if e.body_b >= 0:
            k = 6 * e.body_b
            out[c] += dot(on.nb, load3(x + k)) + dot(on.fb, load3(x + k + 3))


cdef void add_held(const vt_model* m, const vt_constraint* list, const Hold* hold, const int* member, int rows,
                   const double* lam, int first, int end, const FrontBody* body, int block, double* wrench,
                   double* r) noexcept nogil:
    # r += Dh^T lam, at node 1; wrench: (nbody, 6)
    cdef const vt_constraint* e
    cdef const Hold* on
    cdef int i, c, k, last = block // 6 - 1
    cdef double s
    cdef Vec3 w, v, n, f
    memset(wrench + 6 * first, 0, 6 * (end - first) * sizeof(double))
    for c in range(rows):
        e, on, s = &list[member[c]], &hold[member[c]], lam[member[c]]
        if e.iv_a >= 0:
            r[e.iv_a] += s * on.on_a
        if e.iv_b >= 0:
            r[e.iv_b] += s * on.on_b
        if e.kind == COUPLING or e.kind == PROFILE:
            continue
        if e.body_a >= 0:
            add_six(wrench + 6 * e.body_a, s, on.na, on.fa)
        if e.body_b >= 0:
            add_six(wrench + 6 * e.body_b, s, on.nb, on.fb)
    for i in range(end - 1, first - 1, -1):
        n, f = load3(wrench + 6 * i), load3(wrench + 6 * i + 3)
        for k in range(joint_nv(&m.body[i])):
            joint_column(&m.body[i], body[i].R_row[last], k, &w, &v)
            r[m.body[i].iv + k] += dot(w, n) + dot(v, f)
        if m.body[i].parent >= 0:
            add_six(wrench + 6 * m.body[i].parent, 1.0, add(n, cross(body[i].t_row[last], f)), f)


cdef inline void add_six(double* to, double s, Vec3 n, Vec3 f) noexcept nogil:
    store3(to, axpy(s, n, load3(to)))
    store3(to + 3, axpy(s, f, load3(to + 3)))


# ---- those of a model ----------------------------------------------------------------------------------


cdef int fronts_make(Fronts* x, Memory memory, const Islands* islands, const vt_model* m) except -1:
    cdef const FrontPlan* plan
    cdef int k, planned = 0
    x.rest_work = <FrontWork*>memory.given(islands.count * sizeof(FrontWork))
    x.rest = <FrontFactors*>memory.given(islands.count * sizeof(FrontFactors))
    for k in range(islands.count):
        plan = islands.at[k].plan
        if plan != NULL:
            front_work_make(&x.rest_work[k], memory, plan, front_size(plan, 6, False), m.nbody)
            front_factors_make(&x.rest[k], memory, plan, &x.rest_work[k].z, 0)
            planned += 1
    if planned:
        x.none = memory.given_reals(m.nv)
        x.rest_body = <FrontBody*>memory.given(m.nbody * sizeof(FrontBody))
        front_bodies_make(x.rest_body, memory, m, 6, False)
        front_give_rows(x.rest_body, m, memory.scratch_reals(6 * m.nv), memory.scratch_reals(6 * m.nv), 6)
    return 0


cdef int fronts_of_steps(Fronts* x, Memory memory, const Islands* islands, const vt_model* m, int stages, int block,
                         bint turns, bint second_order) except -1:
    cdef const FrontPlan* plan
    cdef int k, planned = 0
    x.block = block
    x.work = <FrontWork*>memory.given(islands.count * sizeof(FrontWork))
    x.factors = <FrontFactors*>memory.given(islands.count * sizeof(FrontFactors))
    for k in range(islands.count):
        plan = islands.at[k].plan
        if plan != NULL:
            front_work_make(&x.work[k], memory, plan, front_size(plan, block, turns), m.nbody)
            front_factors_make(&x.factors[k], memory, plan, &x.work[k].z, stages)
            planned += 1
    x.planned = planned
    if planned:
        x.body = <FrontBody*>memory.given(m.nbody * sizeof(FrontBody))
        front_bodies_make(x.body, memory, m, block, second_order)
        x.pose1, x.pose2 = <Pose*>memory.kept(m.nbody * sizeof(Pose)), <Pose*>memory.scratch(m.nbody * sizeof(Pose))
        x.rows, x.columns = memory.kept_reals(stages * m.nv * block), memory.kept_reals(stages * m.nv * block)
    return 0


cdef inline void fronts_use(Fronts* x, const vt_model* m, int stage) noexcept nogil:
    # the rows and columns of a substep
    cdef Py_ssize_t at = <Py_ssize_t>stage * m.nv * x.block
    front_give_rows(x.body, m, x.rows + at, x.columns + at, x.block)
