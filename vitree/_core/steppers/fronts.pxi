# The constrained equations of an island, factored and solved in the order of its FrontPlan. With x the displacements of
# the bodies, d those of the joints and mu the multipliers,
#     x_i = (x of the parent) + S2 d,   S1^T (sum over the subtree of A x + h1 mu) + extra d = b,   h2 x = g,
# where h1 and h2 are the constraints' wrenches at nodes 1 and 2. M has the equations of all that is open; a pivot leaves
# M - u l, u its column and l its row over the pivot.

cdef struct FrontFactors:   # kept: steps to come may use them again
    double* u               # (pivots + rows, width) bodies' parts in their own axes
    double* l
    double* inverse         # (pivots + rows,)
    int* closed             # (rows,) the event that closed a constraint
    int* partner            # (rows,) the constraint whose equation was taken for it


cdef struct FrontWork:
    double* M               # (width, width)
    double* size            # (width,) the sum of the terms of a constraint's own entry
    double* scale           # (width,) its largest wrench
    double* F               # (width,) right side of all that is open, then the solution
    double* rate            # (pivots + rows,) right side of a pivot, over it
    double* u               # (width,) in world axes
    double* l
    double* hung            # (nbody, 6) right sides of what hangs on a body
    double* x               # (nbody, 6) displacements
    int* at                 # (rows,) the place of a constraint, or -1
    int* held               # (width,) the constraint in a place, or -1
    int* line               # (rows,) constraints in the order in which they closed, and the places that they had
    int* left
    int used                # behind the last place in use


cdef int front_factors_make(FrontFactors* x, Memory memory, const FrontPlan* plan, int copies) except -1:
    # kept ones of so many substeps, one behind the other; or of none: they are made anew before each use
    cdef Py_ssize_t all = <Py_ssize_t>max(copies, 1) * (plan.pivots + plan.rows)
    if not copies:
        x.u, x.l = memory.scratch_reals(all * plan.width), memory.scratch_reals(all * plan.width)
        x.inverse = memory.scratch_reals(all)
        x.closed = <int*>memory.scratch(plan.rows * sizeof(int))
        x.partner = <int*>memory.scratch(plan.rows * sizeof(int))
        return 0
    x.u, x.l = memory.kept_reals(all * plan.width), memory.kept_reals(all * plan.width)
    x.inverse = memory.kept_reals(all)
    x.closed = memory.kept_ints(copies * plan.rows, 0, plan.count)
    x.partner = memory.kept_ints(copies * plan.rows, 0, plan.rows - 1)
    return 0


cdef inline FrontFactors front_factors_of(const FrontFactors* x, const FrontPlan* plan, int copy) noexcept nogil:
    cdef FrontFactors r
    cdef Py_ssize_t all = <Py_ssize_t>copy * (plan.pivots + plan.rows)
    r.u, r.l, r.inverse = x.u + all * plan.width, x.l + all * plan.width, x.inverse + all
    r.closed, r.partner = x.closed + copy * plan.rows, x.partner + copy * plan.rows
    return r


cdef int front_work_make(FrontWork* x, Memory memory, const FrontPlan* plan, int nbody) except -1:
    cdef int all = plan.pivots + plan.rows
    x.M, x.size = memory.scratch_reals(plan.width * plan.width), memory.scratch_reals(plan.width)
    x.scale = memory.scratch_reals(plan.width)
    x.F, x.rate = memory.scratch_reals(plan.width), memory.scratch_reals(all)
    x.u, x.l = memory.scratch_reals(plan.width), memory.scratch_reals(plan.width)
    x.hung, x.x = memory.scratch_reals(6 * nbody), memory.scratch_reals(6 * nbody)
    x.at, x.held = <int*>memory.scratch(plan.rows * sizeof(int)), <int*>memory.scratch(plan.width * sizeof(int))
    x.line, x.left = <int*>memory.scratch(plan.rows * sizeof(int)), <int*>memory.scratch(plan.rows * sizeof(int))
    return 0


cdef int front_plan_make(FrontPlan* p, Memory memory, order) except -1:
    cdef int k
    p.count, p.rows, p.slots, p.pivots = len(order.events), len(order.held), order.slots, order.pivots
    p.width = 6 * p.slots + min(order.places + SPARE_ROWS, p.rows)
    p.event = <FrontEvent*>memory.given(p.count * sizeof(FrontEvent))
    p.pair = <int*>memory.given(2 * len(order.pairs) * sizeof(int))
    p.row, p.ready = <int*>memory.given(len(order.rows) * sizeof(int)), <int*>memory.given(p.rows * sizeof(int))
    for k, (kind, body, step, slot, to, pivot, pair, pair_end, row, row_end) in enumerate(order.events):
        p.event[k].kind, p.event[k].body, p.event[k].k = kind, body, step
        p.event[k].slot, p.event[k].to, p.event[k].pivot = slot, to, pivot
        p.event[k].pair, p.event[k].pair_end, p.event[k].row, p.event[k].row_end = pair, pair_end, row, row_end
    for k, (slot, body) in enumerate(order.pairs):
        p.pair[2 * k], p.pair[2 * k + 1] = slot, body
    for k, row in enumerate(order.rows):
        p.row[k] = row
    for k, event in enumerate(order.ready):
        p.ready[k] = event
    return 0


# ---- vectors over what is open -----------------------------------------------------------------------

cdef inline void front_begin(const FrontPlan* p, FrontWork* x) noexcept nogil:
    cdef int c
    x.used = 6 * p.slots
    for c in range(p.rows):
        x.at[c] = -1
    for c in range(p.width):
        x.held[c] = -1


cdef inline int front_place(const FrontPlan* p, FrontWork* x, int c) noexcept nogil:
    # a free place for a constraint, or -1
    cdef int at = 6 * p.slots
    while at < p.width and x.held[at] >= 0:
        at += 1
    if at == p.width:
        return -1
    x.at[c], x.held[at] = at, c
    x.used = max(x.used, at + 1)
    return at


cdef inline void front_leave(const FrontPlan* p, FrontWork* x, int c) noexcept nogil:
    x.held[x.at[c]] = -1
    x.at[c] = -1
    while x.used > 6 * p.slots and x.held[x.used - 1] < 0:
        x.used -= 1


cdef inline double six(const double* a, const double* b) noexcept nogil:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


cdef inline void front_store(const FrontPlan* p, const FrontEvent* e, const FrontBody* body, const double* from_u,
                             const double* from_l, int used, double* u, double* l) noexcept nogil:
    # keep a pivot's column and row, the bodies' parts in axes that turn with them
    cdef int k, at
    cdef const FrontBody* b
    for k in range(e.pair, e.pair_end):
        at = 6 * p.pair[2 * k]
        b = &body[p.pair[2 * k + 1]]
        store3(u + at, tmul(b.R1, load3(from_u + at)))
        store3(u + at + 3, tmul(b.R1, load3(from_u + at + 3)))
        store3(l + at, tmul(b.R2, load3(from_l + at)))
        store3(l + at + 3, tmul(b.R2, load3(from_l + at + 3)))
    for k in range(6 * p.slots, used):
        u[k], l[k] = from_u[k], from_l[k]
    for k in range(used, p.width):
        u[k] = l[k] = 0.0


cdef inline void front_add(const FrontPlan* p, const FrontEvent* e, const FrontBody* body, const FrontWork* x,
                           double s, const double* u, double* F) noexcept nogil:
    # F += s u
    cdef int k, at
    cdef const FrontBody* b
    for k in range(e.pair, e.pair_end):
        at = 6 * p.pair[2 * k]
        b = &body[p.pair[2 * k + 1]]
        store3(F + at, axpy(s, mul(b.R1, load3(u + at)), load3(F + at)))
        store3(F + at + 3, axpy(s, mul(b.R1, load3(u + at + 3)), load3(F + at + 3)))
    for k in range(6 * p.slots, x.used):
        F[k] += s * u[k]


cdef inline double front_dot(const FrontPlan* p, const FrontEvent* e, const FrontBody* body, const FrontWork* x,
                             const double* l, const double* X) noexcept nogil:
    # l.X
    cdef int k, at
    cdef const FrontBody* b
    cdef double s = 0.0
    for k in range(e.pair, e.pair_end):
        at = 6 * p.pair[2 * k]
        b = &body[p.pair[2 * k + 1]]
        s += dot(load3(l + at), tmul(b.R2, load3(X + at))) + dot(load3(l + at + 3), tmul(b.R2, load3(X + at + 3)))
    for k in range(6 * p.slots, x.used):
        s += l[k] * X[k]
    return s


cdef inline double absolute_six(const double* a, int stride, const double* S) noexcept nogil:
    # the sum of |a S|
    cdef int k
    cdef double s = 0.0
    for k in range(6):
        s += fabs(a[k * stride] * S[k])
    return s


# ---- factors -----------------------------------------------------------------------------------------

cdef inline void front_reduce(const FrontPlan* p, const FrontEvent* e, const FrontWork* x) noexcept nogil:
    # M -= u l over what is open
    cdef int j, k, a, at, row, W = p.width
    cdef double s
    cdef double* M
    cdef const double* l = x.l
    for j in range(e.pair, e.pair_end + 1):
        # the bodies, then the constraints
        row = 6 * p.pair[2 * j] if j < e.pair_end else 6 * p.slots
        for a in range(row, row + 6 if j < e.pair_end else x.used):
            M = x.M + a * W
            s = x.u[a]
            for k in range(e.pair, e.pair_end):
                at = 6 * p.pair[2 * k]
                M[at] -= s * l[at]
                M[at + 1] -= s * l[at + 1]
                M[at + 2] -= s * l[at + 2]
                M[at + 3] -= s * l[at + 3]
                M[at + 4] -= s * l[at + 4]
                M[at + 5] -= s * l[at + 5]
            for k in range(6 * p.slots, x.used):
                M[k] -= s * l[k]


cdef inline void front_clear(const FrontPlan* p, const FrontWork* x, int first, int end) noexcept nogil:
    # rows and columns of M
    cdef int a, b
    for a in range(first, end):
        memset(x.M + a * p.width, 0, p.width * sizeof(double))
    for b in range(p.width):
        for a in range(first, end):
            x.M[b * p.width + a] = 0.0


cdef inline void front_put_body(const FrontPlan* p, const FrontWork* x, const Block* A, int slot) noexcept nogil:
    # add a body's own matrix
    cdef double own[36]
    cdef int j, k
    put_matrix(A.nw, own, 6)
    put_matrix(A.nv, own + 3, 6)
    put_matrix(A.fw, own + 18, 6)
    put_matrix(A.fv, own + 21, 6)
    for j in range(6):
        for k in range(6):
            x.M[(6 * slot + j) * p.width + 6 * slot + k] += own[6 * j + k]


cdef inline void front_store_body(const FrontPlan* p, const FrontWork* x, int slot, Block* A) noexcept nogil:
    cdef const double* M = x.M + 6 * slot * p.width + 6 * slot
    A.nw = add3(A.nw, take_matrix(M, p.width))
    A.nv = add3(A.nv, take_matrix(M + 3, p.width))
    A.fw = add3(A.fw, take_matrix(M + 3 * p.width, p.width))
    A.fv = add3(A.fv, take_matrix(M + 3 * p.width + 3, p.width))


cdef inline void front_put_hold(const FrontPlan* p, const FrontEvent* e, const FrontWork* x, int row, int body, Vec3 n1,
                                Vec3 f1, Vec3 n2, Vec3 f2) noexcept nogil:
    # a constraint's wrenches at nodes 1 and 2 on a body
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
            at = 6 * p.pair[2 * k]
            for j in range(6):
                x.M[(at + j) * p.width + row] += one[j]
                x.M[row * p.width + at + j] += two[j]


cdef inline void front_column(const vt_body* b, Mat3 R, int k, double* S) noexcept nogil:
    cdef Vec3 w, v
    joint_column(b, R, k, &w, &v)
    store3(S, w)
    store3(S + 3, v)


cdef inline double hold_size(const Hold* x) noexcept nogil:
    cdef double s = max(dot(x.na, x.na) + dot(x.fa, x.fa), dot(x.nb, x.nb) + dot(x.fb, x.fb))
    return max(vt_sqrt(s), fabs(x.on_a), fabs(x.on_b))


cdef inline double acts_on(const vt_constraint* e, const Hold* hold, int iv) noexcept nogil:
    # a constraint's own entry at a coordinate
    return (hold.on_a if e.iv_a == iv else 0.0) + (hold.on_b if e.iv_b == iv else 0.0)


cdef inline void front_eliminate(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                                 const vt_body* b, const FrontBody* body, const vt_constraint* list, const int* member,
                                 const Hold* hold1, const Hold* hold2, Signs* signs) noexcept nogil:
    # u = M S2, l = S1^T M, D = S1^T M S2 + extra; constraints add what they do to the joint itself
    cdef double S1[6]
    cdef double S2[6]
    cdef int a, c, j, k, row, at = 6 * e.slot, W = p.width
    cdef const double* M = x.M
    cdef double D, least
    front_column(b, body[e.body].R1, e.k, S1)
    front_column(b, body[e.body].R2, e.k, S2)
    for j in range(e.pair, e.pair_end + 1):
        row = 6 * p.pair[2 * j] if j < e.pair_end else 6 * p.slots
        for a in range(row, row + 6 if j < e.pair_end else x.used):
            x.u[a] = six(M + a * W + at, S2)
            x.l[a] = (S1[0] * M[at * W + a] + S1[1] * M[(at + 1) * W + a] + S1[2] * M[(at + 2) * W + a]
                      + S1[3] * M[(at + 3) * W + a] + S1[4] * M[(at + 4) * W + a] + S1[5] * M[(at + 5) * W + a])
    D = six(S1, x.u + at) + body[e.body].extra[e.k]
    for k in range(e.row, e.row_end):
        c = p.row[k]
        if x.at[c] >= 0:
            x.u[x.at[c]] += acts_on(&list[member[c]], &hold2[member[c]], b.iv + e.k)
            x.l[x.at[c]] += acts_on(&list[member[c]], &hold1[member[c]], b.iv + e.k)
    for a in range(6 * p.slots, x.used):
        # not |u l/D|: a joint that a constraint does not depend on leaves rounding errors
        least = NEGLIGIBLE * x.scale[a]
        x.size[a] += max(least, fabs(x.u[a]), absolute_six(M + a * W + at, 1, S2)) * max(
            least, fabs(x.l[a]), absolute_six(M + at * W + a, W, S1)) / fabs(D)
    signs_note(signs, D)
    front_pivot(p, e, x, to, body, D, e.pivot)


cdef inline void front_pivot(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                             const FrontBody* body, double pivot, int at) noexcept nogil:
    # l becomes l over the pivot; M -= u l
    cdef int k, j, a
    cdef double inverse = 1.0 / pivot
    for k in range(e.pair, e.pair_end):
        a = 6 * p.pair[2 * k]
        for j in range(a, a + 6):
            x.l[j] *= inverse
    for k in range(6 * p.slots, x.used):
        x.l[k] *= inverse
    to.inverse[at] = inverse
    front_store(p, e, body, x.u, x.l, x.used, to.u + <Py_ssize_t>at * p.width, to.l + <Py_ssize_t>at * p.width)
    front_reduce(p, e, x)


cdef inline void front_shift(const FrontPlan* p, const FrontEvent* e, FrontWork* x,
                             const FrontBody* body) noexcept nogil:
    # what a body's displacement does becomes what its parent's does: n += t1 x f of its rows, w += t2 x v of its columns
    cdef int a, j, at = 6 * e.slot, to = 6 * e.to, W = p.width
    cdef Vec3 t1 = body[e.body].t1, t2 = body[e.body].t2, n, f
    cdef double* M = x.M
    if e.to < 0:
        front_clear(p, x, at, at + 6)
        return
    for a in range(W):
        f = vec3(M[(at + 3) * W + a], M[(at + 4) * W + a], M[(at + 5) * W + a])
        n = cross(t1, f)
        M[at * W + a] += n.x
        M[(at + 1) * W + a] += n.y
        M[(at + 2) * W + a] += n.z
    for a in range(W):
        n = add(load3(M + a * W + at), cross(t2, load3(M + a * W + at + 3)))
        store3(M + a * W + at, n)
    if to != at:
        for j in range(6):
            for a in range(W):
                M[(to + j) * W + a] += M[(at + j) * W + a]
        for a in range(W):
            for j in range(6):
                M[a * W + to + j] += M[a * W + at + j]
        front_clear(p, x, at, at + 6)


cdef inline void front_close(const FrontPlan* p, const FrontEvent* e, FrontWork* x, FrontFactors* to,
                             const FrontBody* body, int event, int c, int other, Signs* signs) noexcept nogil:
    # eliminate the multiplier of c by the equation of `other`, which changes places with that of c
    cdef int a, j, row, at = x.at[c], W = p.width
    cdef double s
    cdef double* M = x.M
    if other != c:
        for a in range(W):
            s = M[at * W + a]
            M[at * W + a] = M[x.at[other] * W + a]
            M[x.at[other] * W + a] = s
        signs.all = -signs.all
    for j in range(e.pair, e.pair_end + 1):
        row = 6 * p.pair[2 * j] if j < e.pair_end else 6 * p.slots
        for a in range(row, row + 6 if j < e.pair_end else x.used):
            x.u[a], x.l[a] = M[a * W + at], M[at * W + a]
    s = x.u[at]
    x.u[at] = x.l[at] = 0.0
    signs_note(signs, -s)
    for a in range(6 * p.slots, x.used):
        x.size[a] += fabs(x.u[a] * x.l[a] / s)
    to.closed[c], to.partner[c] = event, other
    front_pivot(p, e, x, to, body, s, p.pivots + c)
    front_clear(p, x, at, at + 1)
    front_leave(p, x, c)


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
                if fabs(x.M[x.at[d] * p.width + x.at[c]]) > size:
                    best, size = d, fabs(x.M[x.at[d] * p.width + x.at[c]])
                s = max(s, x.size[x.at[d]])
        if not size > 1e-14 * s:
            return DEPENDENT
        front_close(p, e, x, to, body, event, c, best, signs)
    return OK


cdef int front_factor(const FrontPlan* p, FrontWork* x, FrontFactors* to, const vt_model* m, FrontBody* body,
                      const vt_constraint* list, const int* member, const Hold* hold1, const Hold* hold2,
                      Signs* signs) noexcept nogil:
    # body: A is changed. member: the constraints of the island. signs: of the pivots, which are positive where nothing
    # moves; those of constraints times -1
    cdef const FrontEvent* e
    cdef int event, c, at
    front_begin(p, x)
    memset(x.M, 0, p.width * p.width * sizeof(double))
    for c in range(p.rows):
        to.closed[c] = p.count
        to.partner[c] = c
    for event in range(p.count):
        e = &p.event[event]
        if e.kind == OPEN_BODY:
            front_put_body(p, x, &body[e.body].A, e.slot)
        elif e.kind == OPEN_ROW:
            c = p.row[e.row]
            at = front_place(p, x, c)
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
            front_shift(p, e, x, body)
        elif e.kind == TRY:
            for at in range(6 * p.slots, x.used):
                c = x.held[at]
                if c >= 0 and p.ready[c] <= event and fabs(x.M[at * p.width + at]) > SAFE_PIVOT * x.size[at]:
                    front_close(p, e, x, to, body, event, c, c, signs)
        elif e.kind == CLOSE:
            if front_close_all(p, e, x, to, body, event, signs) != OK:
                return DEPENDENT
        elif e.kind == STORE:
            front_store_body(p, x, e.slot, &body[e.body].A)
            front_clear(p, x, 6 * e.slot, 6 * e.slot + 6)
    return OK


# ---- the solution ------------------------------------------------------------------------------------

cdef inline void front_inwards(const FrontPlan* p, const FrontEvent* e, FrontWork* x, const FrontFactors* by,
                               const FrontBody* body, const double* rhs, int at) noexcept nogil:
    # the right side of a pivot's equation, and what it leaves to those that are open
    x.rate[at] = by.inverse[at] * rhs[0]
    front_add(p, e, body, x, -x.rate[at], by.u + <Py_ssize_t>at * p.width, x.F)


cdef inline int front_reclose(const FrontPlan* p, const FrontEvent* e, FrontWork* x, const FrontFactors* by,
                              const FrontBody* body, int c, int closed) noexcept nogil:
    # closes c as its pivot was taken; returns how many have closed
    cdef int at = x.at[c], other = x.at[by.partner[c]]
    cdef double s
    if at < 0 or other < 0:
        return closed
    s = x.F[at]
    x.F[at] = x.F[other]
    x.F[other] = s
    s = x.F[at]
    front_inwards(p, e, x, by, body, &s, p.pivots + c)
    x.F[at] = 0.0
    x.line[closed], x.left[closed] = c, at
    front_leave(p, x, c)
    return closed + 1


cdef void front_solve(const FrontPlan* p, FrontWork* x, const FrontFactors* by, const vt_model* m,
                      const FrontBody* body, const double* b, double share, const double* g, const int* member,
                      double* d, double* mu) noexcept nogil:
    # d of the joints and mu, by the numbers of the island, for the right sides share b and -g
    cdef const FrontEvent* e
    cdef const vt_body* one
    cdef int event, c, k, at, closed = 0
    cdef double S[6]
    cdef double s
    cdef Vec3 n, f
    cdef double* F = x.F
    front_begin(p, x)
    memset(F, 0, p.width * sizeof(double))
    for event in range(p.count):
        e = &p.event[event]
        if e.kind == OPEN_BODY or e.kind == STORE:
            memset(x.hung + 6 * e.body, 0, 6 * sizeof(double))
    for event in range(p.count):
        e = &p.event[event]
        at = 6 * e.slot
        if e.kind == OPEN_BODY:
            for k in range(6):
                F[at + k] += x.hung[6 * e.body + k]
        elif e.kind == OPEN_ROW:
            c = p.row[e.row]
            k = front_place(p, x, c)
            if k >= 0:
                F[k] = -g[member[c]]
        elif e.kind == ELIMINATE:
            one = &m.body[e.body]
            front_column(one, body[e.body].R1, e.k, S)
            s = share * b[one.iv + e.k] + six(S, F + at)
            front_inwards(p, e, x, by, body, &s, e.pivot)
        elif e.kind == SHIFT:
            n, f = load3(F + at), load3(F + at + 3)
            if e.to != e.slot:
                memset(F + at, 0, 6 * sizeof(double))
            if e.to >= 0:
                n = add(n, cross(body[e.body].t1, f))
                if e.to != e.slot:
                    n, f = add(n, load3(F + 6 * e.to)), add(f, load3(F + 6 * e.to + 3))
                store3(F + 6 * e.to, n)
                store3(F + 6 * e.to + 3, f)
        elif e.kind == TRY:
            for at in range(6 * p.slots, x.used):
                c = x.held[at]
                if c >= 0 and by.closed[c] == event:
                    closed = front_reclose(p, e, x, by, body, c, closed)
        elif e.kind == CLOSE:
            for k in range(e.row, e.row_end):
                if x.at[p.row[k]] >= 0 and by.closed[p.row[k]] == event:
                    closed = front_reclose(p, e, x, by, body, p.row[k], closed)
        elif e.kind == STORE:
            for k in range(6):
                x.hung[6 * e.body + k] += F[at + k]
            memset(F + at, 0, 6 * sizeof(double))
    front_outwards(p, x, by, m, body, closed, d, mu)


cdef inline void front_outwards(const FrontPlan* p, FrontWork* x, const FrontFactors* by, const vt_model* m,
                                const FrontBody* body, int closed, double* d, double* mu) noexcept nogil:
    # the events backwards: F becomes the solution
    cdef const FrontEvent* e
    cdef const vt_body* one
    cdef int event, c, k, at
    cdef double S[6]
    cdef double s
    cdef Vec3 w, v
    cdef double* X = x.F
    x.used = p.width
    memset(X, 0, p.width * sizeof(double))
    for event in range(p.count - 1, -1, -1):
        e = &p.event[event]
        at = 6 * e.slot
        if e.kind == OPEN_BODY:
            memcpy(x.x + 6 * e.body, X + at, 6 * sizeof(double))
        elif e.kind == ELIMINATE:
            one = &m.body[e.body]
            front_column(one, body[e.body].R2, e.k, S)
            s = x.rate[e.pivot] - front_dot(p, e, body, x, by.l + <Py_ssize_t>e.pivot * p.width, X)
            d[one.iv + e.k] = s
            for k in range(6):
                X[at + k] += s * S[k]
        elif e.kind == SHIFT:
            w = v = zero3()
            if e.to >= 0:
                w, v = load3(X + 6 * e.to), load3(X + 6 * e.to + 3)
                v = add(v, cross(w, body[e.body].t2))
            store3(X + at, w)
            store3(X + at + 3, v)
        elif e.kind == TRY or e.kind == CLOSE:
            while closed and by.closed[x.line[closed - 1]] == event:
                closed -= 1
                c, at = x.line[closed], x.left[closed]
                X[at] = 0.0
                X[at] = x.rate[p.pivots + c] - front_dot(p, e, body, x, by.l + <Py_ssize_t>(p.pivots + c) * p.width, X)
                mu[c] = X[at]
        elif e.kind == STORE:
            memcpy(X + at, x.x + 6 * e.body, 6 * sizeof(double))


# ---- where nothing moves -----------------------------------------------------------------------------

cdef void bodies_at_rest(const vt_model* m, const Pose* pose, int first, int end, FrontBody* x) noexcept nogil:
    # the bodies' own inertias about their origins, of which M is made
    cdef const vt_body* b
    cdef Mat3 H
    cdef int i, k
    for i in range(first, end):
        b = &m.body[i]
        H = hat(mul(pose[i].R, constant3(b.h)))
        x[i].A.nw = full(rotate_sym(pose[i].R, constant_sym(b.Io)))
        x[i].A.nv = H
        x[i].A.fw = transpose(H)
        x[i].A.fv = plus_diagonal(zero33(), b.mass)
        x[i].t1 = x[i].t2 = pose[i].t
        x[i].R1 = x[i].R2 = pose[i].R
        for k in range(6):
            x[i].extra[k] = 0.0


cdef void constraint_rates(const vt_model* m, const vt_constraint* list, const Hold* hold, const int* member, int rows,
                           int first, int end, const FrontBody* body, const double* d, double* x,
                           double* out) noexcept nogil:
    # out = Dh d, of displacements d (nv,) of the joints; x: (nbody, 6) the bodies'
    cdef const vt_constraint* e
    cdef const Hold* on
    cdef int i, c, k
    cdef Vec3 w, v, sw, sv
    for i in range(first, end):
        w = v = zero3()
        if m.body[i].parent >= 0:
            k = 6 * m.body[i].parent
            carry(load3(x + k), load3(x + k + 3), body[i].t2, &w, &v)
        for k in range(joint_nv(&m.body[i])):
            joint_column(&m.body[i], body[i].R2, k, &sw, &sv)
            w, v = axpy(d[m.body[i].iv + k], sw, w), axpy(d[m.body[i].iv + k], sv, v)
        store3(x + 6 * i, w)
        store3(x + 6 * i + 3, v)
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
                   const double* lam, int first, int end, const FrontBody* body, double* wrench, double* r) noexcept nogil:
    # r += Dh^T lam, at node 1; wrench: (nbody, 6)
    cdef const vt_constraint* e
    cdef const Hold* on
    cdef int i, c, k
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
            joint_column(&m.body[i], body[i].R1, k, &w, &v)
            r[m.body[i].iv + k] += dot(w, n) + dot(v, f)
        if m.body[i].parent >= 0:
            add_six(wrench + 6 * m.body[i].parent, 1.0, add(n, cross(body[i].t1, f)), f)


cdef inline void add_six(double* to, double s, Vec3 n, Vec3 f) noexcept nogil:
    store3(to, axpy(s, n, load3(to)))
    store3(to + 3, axpy(s, f, load3(to + 3)))
