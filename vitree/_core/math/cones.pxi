# Contact with friction as a complementarity problem: its matrix, its natural map, and corrections. Each contact has an
# impulse (n, t1, t2), or n alone, with
#     w = G lam + b,    0 <= lam_n  _|_  w_n >= 0,    lam_t = lead lam_n + beta,  |beta| <= mu lam_n,  beta against w_t.
# With friction of turning lam_t has up to three rows more, of relative rotations times the lengths mu_turn/mu: in these
# rows the cone of all its friction is a ball as well. Other rows have the laws of rows.pxi.
# The natural residual F(lam) [m/s] (Alart & Curnier 1991) vanishes at solutions; each lane makes Newton corrections of F
# with a line search until its residual is small. Lanes have equal contacts; those whose corrections end without a solution
# go on as complementarity.pxi has it, one by one.

cdef enum:
    WIDE = 6                # most rows of a contact: the width of its blocks
    LEADS = WIDE - 1        # and of its friction
    CONE_PASSES = 60        # most corrections
    CONE_PATIENCE = 5       # so many corrections must halve the least |F|^2
    CONE_LENGTHS = 6        # most lengths of a correction
    CONE_SPARE = 4          # corrections of a problem where those of the step are used up
    HELD_CORRECTIONS = 3    # and of one that is over-held, before it is eased
    LEVELS = 4              # most times that points of a patch are dropped, see `level_again`

#: Least relative descent of |F|^2
cdef double CONE_DESCENT = 1e-4
#: The shift of a correction, as a fraction of the diagonal of G
cdef double CONE_PROXIMAL = 1e-7
#: Where the rows of several trees are redundant it is this fraction of the factor by which |F| is to be reduced, within
#: bounds: it leaves no more than that, and near the goal F consists of rounding errors, which lam would follow along the
#: null space of G
cdef double REDUNDANT_SHARE = 0.3
cdef double REDUNDANT_LEAST = 1e-4
cdef double REDUNDANT_MOST = 1e-2
#: Points of a patch are on a line below this determinant of their second moments relative to its largest
cdef double PATCH_LINE = 1e-10
#: [m^2] and at one place below these moments
cdef double PATCH_POINT = 1e-20


cdef struct HeldJoints:     # see condensed.pxi
    const vt_real* of       # P; a hint
    int whole               # ports of bodies
    int singles             # of joints; 0: there is nothing
    vt_real* data           # (m, m) H, (m, m) the P that it is of, and more: see `hold_joints`
    size_t room


cdef struct ConeStore:      # memory that the problems of a step share, of the size that they have had so far
    vt_real* dense          # (3, n, n) G, and the derivative of F before and after it is factored
    size_t dense_room
    vt_real* square         # (2, ports, ports)
    size_t square_room
    PortBlocks blocks
    HeldJoints held[2]
    int last_held


cdef struct ContactProblem:
    int count               # contacts
    int n                   # rows
    int room                # rows for which the arrays are allocated
    ConeStore* store
    vt_real* memory         # all arrays but those of the store
    int* law                # (count,) CONE, HOLD or RUB
    int* dim                # (count,) rows of a contact: 1, 3, or up to WIDE; of bilateral ones also 2
    int* row                # (count,) its first
    int* own_row            # (count,) and among those of a part
    int* order              # (n, lanes) pivots
    vt_real* G              # (n, n), where it is formed
    bint formed
    bint planned            # the blocks of trees are those of this problem
    # G as a product, W2^T P W1 plus compliance, or W1 is NULL
    const TouchRow* W1      # (n,)
    const TouchRow* W2
    PortTrees on
    const vt_real* P        # by blocks of trees
    int first               # the number of the first port
    int ports
    int ports_room
    vt_real* port           # (ports,)
    vt_real* answer
    int* port_order         # (ports, lanes)
    vt_real* diagonal       # (n,) of G
    double least_held       # bilateral rows are shifted as if their response were at least this
    vt_real* b              # (n,)
    vt_real* mu             # (count,) the bound of dry friction rows
    vt_real* lead           # (count, LEADS)
    vt_real* give           # (count,) [1/kg] contribution of a compliant contact to G
    int* patch              # (count,) of points of a body on a plane, one after the other, their number; or -1
    vt_real* place          # (count, 2) [m] on the plane
    vt_real* even           # (count,) the largest diagonal of a patch's normals; 0 in lanes without this contact
    vt_real* level          # (count,) 1 for a point of a patch that is levelled, -1 for one that opens: see `level_patch`
    vt_real* uneven         # (count,) and the part of its impulse that the level removes
    const vt_real* shift    # (n,) [1/kg] that of a regularisation, or NULL
    double share            # factor of the rho of F: the zeros of F are the same for all
    double proximal         # shift of a correction, as a fraction of the diagonal of G
    vt_real* lam            # (n,) the impulses: the guess, then the solution
    vt_real* w              # (n,) their velocities
    vt_real* F              # (n,)
    vt_real* own_block      # (n, WIDE) of the rows of the same contact G in sweeps, and D^-1 in corrections: see `cone_block`
    vt_real* by_w           # (n, WIDE) a generalised derivative of F by w and lam of the same contact
    vt_real* by_lam
    vt_real* d              # (n,) a correction
    vt_real* given          # (n,) the guess
    vt_real* kept           # (n,) the best lam so far
    vt_real* least          # (n,) and of a descent
    vt_real* own            # (3, n) diagonal and b without regularisation, and the regularisation
    vt_real* split          # (6, n) of alternating directions: see `cone_alternate`
    vt_real* along          # (n,) change of the velocities by a correction
    vt_real* trial          # (n,) another lam
    vt_real* trial_w
    vt_real* trial_F
    vt_real budget          # corrections of all rows that the step still has
    vt_real price           # the share of these rows
    long corrections        # since it was made, of all lanes
    long sweeps


cdef int cones_room(ContactProblem* x, ConeStore* store, int count, int n, int ports) noexcept nogil:
    # allocate so many contacts, rows and ports; their content is lost
    cdef size_t rows, reals, most
    cdef vt_real* at
    cdef int* ints
    x.store = store
    if n <= x.room and ports <= x.ports_room:
        return OK
    rows, most = 2 * n + 24, 2 * ports + 12
    reals = (29 + LEADS + 3 * WIDE) * rows + 2 * most
    at = <vt_real*>vt_alloc(reals * sizeof(vt_real) + ((5 + VT_WIDTH) * rows + VT_WIDTH * most) * sizeof(int))
    if at == NULL:
        return NO_MEMORY
    vt_release(x.memory)
    x.room, x.ports_room, x.share, x.price = <int>rows, <int>most, 1.0, vt_set1(1.0)
    ints = <int*>(at + reals)
    x.memory = at
    x.b, x.lam, x.w, x.F, x.d = at, at + rows, at + 2 * rows, at + 3 * rows, at + 4 * rows
    x.trial, x.trial_w, x.trial_F = at + 5 * rows, at + 6 * rows, at + 7 * rows
    x.kept, x.mu, x.give, x.diagonal = at + 8 * rows, at + 9 * rows, at + 10 * rows, at + 11 * rows
    x.own, x.lead = at + 12 * rows, at + 15 * rows
    x.by_w = x.lead + LEADS * rows
    x.by_lam = x.by_w + WIDE * rows
    x.own_block = x.by_lam + WIDE * rows
    x.least = x.own_block + WIDE * rows
    x.given = x.least + rows
    x.split = x.given + rows
    x.along = x.split + 6 * rows
    x.place, x.even, x.level = x.along + rows, x.along + 3 * rows, x.along + 4 * rows
    x.uneven, x.port, x.answer = x.along + 5 * rows, x.along + 6 * rows, x.along + 6 * rows + most
    x.dim, x.row, x.law, x.own_row, x.patch = ints, ints + rows, ints + 2 * rows, ints + 3 * rows, ints + 4 * rows
    x.order = ints + 5 * rows
    x.port_order = x.order + VT_WIDTH * rows
    memset(x.law, 0, rows * sizeof(int))
    memset(x.patch, 0xff, rows * sizeof(int))
    return OK


cdef void cones_free(ContactProblem* x) noexcept nogil:
    vt_release(x.memory)


cdef void store_free(ConeStore* x) noexcept nogil:
    vt_release(x.dense)
    vt_release(x.square)
    held_joints_free(x)
    blocks_free(&x.blocks)


cdef int cones_dense(ContactProblem* x) noexcept nogil:
    # memory for G of the rows, in the store
    if not grow(<void**>&x.store.dense, &x.store.dense_room, 2 * <size_t>x.n * x.n, sizeof(vt_real)):
        return NO_MEMORY
    x.G = x.store.dense
    return OK


# ---- G -------------------------------------------------------------------------------------------------

cdef void cones_formed(ContactProblem* x) noexcept nogil:
    # G is given
    cdef int k
    x.W1, x.formed, x.shift = NULL, True, NULL
    for k in range(x.n):
        x.diagonal[k] = x.G[k * (x.n + 1)]
    x.least_held = held_least(x)
    even_patches(x)


cdef void cones_product(ContactProblem* x, const TouchRow* W1, const TouchRow* W2, const vt_real* P,
                        const PortTrees* on, int first, int ports) noexcept nogil:
    # G = W2^T P W1, plus compliance; `diagonal` is not computed
    x.W1, x.W2, x.P, x.first, x.ports, x.formed = W1, W2, P, first, ports, False
    x.on, x.shift = on[0], NULL


cdef void cones_diagonal(ContactProblem* x) noexcept nogil:
    # of a product
    cdef int k, o
    cdef vt_real s
    cdef const TouchRow* A
    cdef const TouchRow* B
    for k in range(x.n):
        A, B = &x.W2[k], &x.W1[k]
        s = vt_set1(0.0)
        if A.a >= 0:
            s = port_block(x, A.on_a, A.size, A.a, B.on_a, B.size, B.a)
        if A.b >= 0:
            s += port_block(x, A.on_b, 6, A.b, B.on_b, 6, B.b)
            if A.a >= 0 and x.on.of_port[A.a] == x.on.of_port[A.b]:
                s += port_block(x, A.on_a, A.size, A.a, B.on_b, 6, B.b)
                s += port_block(x, A.on_b, 6, A.b, B.on_a, B.size, B.a)
        x.diagonal[k] = s
    for k in range(x.count):
        o = x.row[k]
        x.diagonal[o] += x.give[k]
    x.least_held = held_least(x)
    even_patches(x)


cdef inline const vt_real* port_answer(const ContactProblem* x, int port) noexcept nogil:
    # the row of P of a port, by the numbers of the ports of its tree
    cdef int tree = x.on.of_port[port] - x.on.base
    return x.P + x.on.at[tree] + port * <Py_ssize_t>x.on.size[tree]


cdef inline vt_real port_block(const ContactProblem* x, const vt_real* a, int rows, int row, const vt_real* b, int columns,
                               int column) noexcept nogil:
    # a^T P b of ports of one tree
    cdef vt_real s = vt_set1(0.0)
    cdef int i, width = x.on.size[x.on.of_port[row] - x.on.base]
    cdef const vt_real* P = port_answer(x, row) + column
    if rows == 6 and columns == 6:
        return vt_form_six(a, P, width, b)
    for i in range(rows):
        s += a[i] * vt_inner(columns, P + i * width, b)
    return s


cdef inline void add_answers(ContactProblem* x, int port, int count, const vt_real* sizes) noexcept nogil:
    # `port` += sizes times rows of P of one body
    cdef int i, tree = x.on.of_port[port] - x.on.base, width = x.on.size[tree]
    cdef const vt_real* P = port_answer(x, port) + x.on.first[tree]
    for i in range(count):
        vt_add_row(width, sizes[i], P + i * width, x.port + x.on.first[tree] - x.first)


cdef int cones_form(ContactProblem* x) noexcept nogil:
    # the entries of G, where it is a product
    cdef const TouchRow* W
    cdef int k, j, n = x.n
    if x.formed:
        return OK
    if cones_dense(x) != OK:
        return NO_MEMORY
    x.formed = True
    for k in range(n):
        W = &x.W2[k]
        memset(x.port, 0, x.ports * sizeof(vt_real))
        if W.a >= 0:
            add_answers(x, W.a, W.size, W.on_a)
        if W.b >= 0:
            add_answers(x, W.b, 6, W.on_b)
        for j in range(n):
            x.G[k * n + j] = along_row(&x.W1[j], x.port - x.first)
    for k in range(x.count):
        x.G[x.row[k] * (n + 1)] += x.give[k]
    return OK


cdef void answer_of(const ContactProblem* x, const vt_real* port, vt_real* answer) noexcept nogil:
    # answer = P (port), tree by tree
    cdef int s, k, o, width
    cdef const vt_real* P
    for s in range(x.on.count):
        o, width = x.on.first[s] - x.first, x.on.size[s]
        P = port_answer(x, x.on.first[s]) + x.on.first[s]
        if width == 6:
            vt_times_six(P, 6, port + o, answer + o)
            continue
        for k in range(width):
            answer[o + k] = vt_inner(width, P + k * width, port + o)


cdef void cone_velocities(ContactProblem* x, const vt_real* lam, vt_real* w) noexcept nogil:
    # w = G lam + b
    cdef int k, n = x.n
    if x.formed:
        for k in range(n):
            w[k] = x.b[k] + vt_inner(n, x.G + k * n, lam)
    else:
        memset(x.port, 0, x.ports * sizeof(vt_real))
        for k in range(n):
            add_touch_row(&x.W1[k], lam[k], x.port - x.first)
        answer_of(x, x.port, x.answer)
        for k in range(n):
            w[k] = x.b[k] + along_row(&x.W2[k], x.answer - x.first)
        for k in range(x.count):
            w[x.row[k]] += x.give[k] * lam[x.row[k]]
    if x.shift != NULL:
        for k in range(n):
            w[k] += x.shift[k] * lam[k]


# ---- the natural map -----------------------------------------------------------------------------------

cdef vt_real cone_map(ContactProblem* x, const vt_real* lam, vt_real* w, vt_real* F, bint derive) noexcept nogil:
    # w and F at lam, and F's derivatives if requested; returns the largest |F|
    cone_velocities(x, lam, w)
    return cone_judge(x, lam, w, F, derive)


cdef vt_real cone_judge(ContactProblem* x, const vt_real* lam, const vt_real* w, vt_real* F, bint derive) noexcept nogil:
    # the same, for given velocities
    cdef int i, j, o
    cdef vt_real most = vt_set1(0.0)
    for i in range(x.count):
        o = x.row[i]
        cone_law(x, i, lam + o, w + o, F + o, x.by_w + WIDE * o if derive else NULL,
                 x.by_lam + WIDE * o if derive else NULL)
        for j in range(x.dim[i]):
            most = vt_max_nan(most, vt_abs(F[o + j]))
    return most


cdef inline void cone_law(const ContactProblem* x, int i, const vt_real* lam, const vt_real* w, vt_real* F, vt_real* S,
                          vt_real* L) noexcept nogil:
    # F of one contact and, unless they are NULL, its derivatives S by w and L by lam, by rows of WIDE
    cdef int o = x.row[i]
    cdef vt_real zero = vt_set1(0.0), one = vt_set1(1.0), rho = x.share * x.diagonal[o], rt, R, z0, z1, size, u0, u1, b0, b1, s
    cdef vt_real by_normal
    cdef vt_mask opens, sticks
    if S != NULL:
        memset(S, 0, WIDE * x.dim[i] * sizeof(vt_real))
        memset(L, 0, WIDE * x.dim[i] * sizeof(vt_real))
    if x.law[i] != CONE:
        row_law(x.law[i], x.dim[i], rho, x.mu[i], x.lead[LEADS * i], lam, w, F, S, L)
        return
    # min(w_n, rho lam_n)
    opens = vt_lt(w[0], rho * lam[0])
    F[0] = vt_select(opens, w[0], rho * lam[0])
    if S != NULL:
        S[0], L[0] = vt_select(opens, one, zero), vt_select(opens, zero, rho)
    if x.dim[i] == 1:
        return
    if x.dim[i] > 3:
        wide_law(x, i, lam, w, F, S, L)
        return
    # rt beta - (z projected to the disk of radius R = rt mu lam_n), z = rt beta - w_t
    rt = x.share * 0.5 * (x.diagonal[o + 1] + x.diagonal[o + 2])
    b0, b1 = rt * (lam[1] - x.lead[LEADS * i] * lam[0]), rt * (lam[2] - x.lead[LEADS * i + 1] * lam[0])
    z0, z1 = b0 - w[1], b1 - w[2]
    R = rt * x.mu[i] * vt_max(lam[0], zero)
    size = vt_sqrt(z0 * z0 + z1 * z1)
    sticks = vt_le(size, R)
    u0, u1 = z0 / size, z1 / size
    F[1], F[2] = vt_select(sticks, w[1], b0 - R * u0), vt_select(sticks, w[2], b1 - R * u1)
    if S == NULL:
        return
    if vt_all(sticks):
        S[WIDE + 1] = S[2 * WIDE + 2] = one
        return
    # B - (R/|z|)(1 - u u^T)(B - dw_t) - rt mu u e_n^T,  B = rt dbeta/dlam
    s = R / size
    S[WIDE + 1], S[WIDE + 2] = vt_select(sticks, one, s * (1.0 - u0 * u0)), vt_select(sticks, zero, -s * u0 * u1)
    S[2 * WIDE + 1], S[2 * WIDE + 2] = S[WIDE + 2], vt_select(sticks, one, s * (1.0 - u1 * u1))
    L[WIDE + 1], L[WIDE + 2] = vt_select(sticks, zero, rt * (1.0 - S[WIDE + 1])), vt_select(sticks, zero, -rt * S[WIDE + 2])
    L[2 * WIDE + 1], L[2 * WIDE + 2] = L[WIDE + 2], vt_select(sticks, zero, rt * (1.0 - S[2 * WIDE + 2]))
    by_normal = vt_select(vt_lt(zero, lam[0]), rt * x.mu[i], zero)
    L[WIDE] = vt_select(sticks, zero, -L[WIDE + 1] * x.lead[LEADS * i] - L[WIDE + 2] * x.lead[LEADS * i + 1]
                        - by_normal * u0)
    L[2 * WIDE] = vt_select(sticks, zero, -L[2 * WIDE + 1] * x.lead[LEADS * i] - L[2 * WIDE + 2] * x.lead[LEADS * i + 1]
                            - by_normal * u1)


# ---- corrections ---------------------------------------------------------------------------------------

cdef void cone_direction(ContactProblem* x, bint* found) noexcept nogil:
    # d of (S G + L + shift) d = F. The shift is proximal: zeros are unchanged, and of impulses that are not unique those
    # near the guess are selected. found: of each lane, where it was, whether there is one
    cdef bint held = x.least_held > 0.0
    # bilateral rows may be redundant, which ports do not resolve to the last digits
    if x.W1 != NULL and not held and x.on.count > 1:
        found[0] = cone_by_trees(x)
    elif x.W1 != NULL and not held and 2 * x.ports <= 3 * x.n:
        cone_through_ports(x, found)
    else:
        cone_by_rows(x, found)


cdef inline void none_of(bint* found) noexcept nogil:
    memset(found, 0, VT_WIDTH * sizeof(bint))


cdef inline void require(bint* found, vt_mask that) noexcept nogil:
    # of the lanes where it is true
    cdef vt_real one = vt_select(that, vt_set1(1.0), vt_set1(0.0))
    cdef int l
    for l in range(VT_WIDTH):
        found[l] = found[l] and vt_get(one, l) != 0.0


cdef void cone_by_rows(ContactProblem* x, bint* found) noexcept nogil:
    # by the entries of G
    cdef int i, j, k, o, n = x.n
    cdef vt_real* H
    if cones_form(x) != OK:
        none_of(found)
        return
    for i in range(x.count):
        o = x.row[i]
        for j in range(x.dim[i]):
            H = x.G + (n + o + j) * n
            memset(H, 0, n * sizeof(vt_real))
            for k in range(x.dim[i]):
                if not all_zero(x.by_w[WIDE * (o + j) + k]):
                    vt_add_row(n, x.by_w[WIDE * (o + j) + k], x.G + (o + k) * n, H)
            for k in range(x.dim[i]):
                H[o + k] += x.by_lam[WIDE * (o + j) + k]
                if x.shift != NULL:
                    H[o + k] += x.by_w[WIDE * (o + j) + k] * x.shift[o + k]
            H[o + j] += proximal(x, i, j)
    H = x.G + n * n
    lu_of_lanes(H, n, x.order, found)
    if not any_of(found):
        return
    memcpy(x.d, x.F, n * sizeof(vt_real))
    lu_solve(H, n, x.order, x.d)


cdef inline vt_real proximal(const ContactProblem* x, int i, int j) noexcept nogil:
    # the shift of a row; of planar mechanisms some rows are zeros
    cdef const vt_real* diagonal = x.diagonal + x.row[i]
    if j == 0 and x.patch[i] >= 0:
        return x.proximal * x.even[i]
    if x.law[i] == HOLD:
        return x.proximal * vt_max(diagonal[j], vt_set1(x.least_held))
    if x.dim[i] > 3 and j > 2:
        return wide_proximal(x, i, j)
    return x.proximal * vt_select(vt_lt(vt_set1(0.0), diagonal[j]), diagonal[j], diagonal[0])


cdef inline vt_real compliance(const ContactProblem* x, int i, int j) noexcept nogil:
    # the part of G's diagonal that is not of the ports
    cdef vt_real s = vt_set1(0.0)
    if j == 0:
        s = x.give[i]
    if x.shift != NULL:
        s += x.shift[x.row[i] + j]
    return s


cdef void cone_block(const ContactProblem* x, int i, vt_real* D, bint* found) noexcept nogil:
    # D^-1 of one contact, D = L + S (compliance) + (the shift). The first rows of L and S have one entry
    cdef int o = x.row[i]
    cdef const vt_real* L = x.by_lam + WIDE * o
    cdef const vt_real* S = x.by_w + WIDE * o
    cdef vt_real zero = vt_set1(0.0), first, second, third, a, b, c, d, det, p, q
    if x.law[i] == HOLD:
        held_block(x, i, D, found)
        return
    first = L[0] + S[0] * compliance(x, i, 0) + proximal(x, i, 0)
    require(found, vt_lt(zero, first))
    D[0] = vt_set1(1.0) / first
    if x.dim[i] == 1:
        return
    if x.dim[i] > 3:
        wide_block(x, i, D, found)
        return
    first, second, third = compliance(x, i, 0), compliance(x, i, 1), compliance(x, i, 2)
    a, b = L[WIDE + 1] + S[WIDE + 1] * second + proximal(x, i, 1), L[WIDE + 2] + S[WIDE + 2] * third
    c, d = L[2 * WIDE + 1] + S[2 * WIDE + 1] * second, L[2 * WIDE + 2] + S[2 * WIDE + 2] * third + proximal(x, i, 2)
    p, q = L[WIDE] + S[WIDE] * first, L[2 * WIDE] + S[2 * WIDE] * first
    det = a * d - b * c
    require(found, vt_lt(zero, det))
    D[1] = D[2] = zero
    D[WIDE + 1], D[WIDE + 2], D[2 * WIDE + 1], D[2 * WIDE + 2] = d / det, -b / det, -c / det, a / det
    D[WIDE], D[2 * WIDE] = -(D[WIDE + 1] * p + D[WIDE + 2] * q) * D[0], -(D[2 * WIDE + 1] * p + D[2 * WIDE + 2] * q) * D[0]


cdef void cone_blocks(const ContactProblem* x, int i, vt_real* T, vt_real* e, bint* found) noexcept nogil:
    # D^-1, T = D^-1 S and e = D^-1 F of one contact
    cdef int j, k, l, o = x.row[i], dim = x.dim[i]
    cdef const vt_real* S = x.by_w + WIDE * o
    cdef vt_real* D = x.own_block + WIDE * o
    cone_block(x, i, D, found)
    for j in range(dim):
        e[j] = vt_set1(0.0)
        for k in range(dim):
            e[j] += D[WIDE * j + k] * x.F[o + k]
            T[WIDE * j + k] = vt_set1(0.0)
            for l in range(dim):
                T[WIDE * j + k] += D[WIDE * j + l] * S[WIDE * l + k]


cdef void cone_from_ports(ContactProblem* x) noexcept nogil:
    # d = D^-1 (F - S W2^T y) of y in `answer`
    cdef int i, j, k, o
    cdef const vt_real* D
    cdef vt_real v[WIDE]
    cdef vt_real t[WIDE]
    for i in range(x.count):
        o = x.row[i]
        for j in range(x.dim[i]):
            v[j] = along_row(&x.W2[o + j], x.answer - x.first)
        D = x.own_block + WIDE * o
        for j in range(x.dim[i]):
            t[j] = x.F[o + j]
            for k in range(x.dim[i]):
                t[j] -= x.by_w[WIDE * (o + j) + k] * v[k]
        for j in range(x.dim[i]):
            x.d[o + j] = vt_set1(0.0)
            for k in range(x.dim[i]):
                x.d[o + j] += D[WIDE * j + k] * t[k]


cdef inline void six_columns(const vt_real* a, const vt_real* B, int width, vt_real* to) noexcept nogil:
    # a^T B of six rows and columns
    cdef int k
    for k in range(6):
        to[k] = ((a[0] * B[k] + a[1] * B[width + k]) + (a[2] * B[2 * width + k] + a[3] * B[3 * width + k])
                 + (a[4] * B[4 * width + k] + a[5] * B[5 * width + k]))


cdef void cone_through_ports(ContactProblem* x, bint* found) noexcept nogil:
    # d = (D + S W2^T P W1)^-1 F, block by block:
    #     K = W1 D^-1 S W2^T,   (1 + P K) y = P W1 D^-1 F,   d = D^-1 (F - S W2^T y)
    # of ports of one tree; those of joints come after those of bodies, and are eliminated first where they are many
    cdef int i, j, k, o, dim, m = x.ports, n = m, whole = x.on.whole
    cdef vt_real T[WIDE * WIDE]
    cdef vt_real e[WIDE]
    cdef vt_real* A
    cdef vt_real* K
    cdef const vt_real* P = port_answer(x, x.first) + x.first
    cdef const TouchRow* W
    cdef bint apart = True
    if not grow(<void**>&x.store.square, &x.store.square_room, 2 * <size_t>m * m, sizeof(vt_real)):
        none_of(found)
        return
    K, A = x.store.square, x.store.square + m * m
    for i in range(whole):
        memset(K + i * m, 0, whole * sizeof(vt_real))
    for i in range(whole, m):
        K[i * (m + 1)] = vt_set1(0.0)
    memset(x.port, 0, m * sizeof(vt_real))
    for i in range(x.count):
        o, dim = x.row[i], x.dim[i]
        cone_blocks(x, i, T, e, found)
        if not any_of(found):
            return
        for j in range(dim):
            add_touch_row(&x.W1[o + j], e[j], x.port - x.first)
        W = &x.W1[o]
        if dim == 3 and W.b < 0:
            add_blocks(W, T, &x.W2[o], K + (W.a - x.first) * (m + 1), m)
            continue
        apart = apart and W.b < 0
        for j in range(dim):
            for k in range(dim):
                if not all_zero(T[WIDE * j + k]):
                    add_outer(&x.W1[o + j], T[WIDE * j + k], &x.W2[o + k], K, x.first, m)
    if m - whole < MANY_SINGLES:
        answer_of(x, x.port, x.answer)
    else:
        P, n = hold_joints(x.store, P, K, whole, m), whole
        if P == NULL:
            none_of(found)
            return
        for i in range(m):
            x.answer[i] = vt_inner(m, P + i * m, x.port)
    # A = 1 + P K. K has blocks of bodies where none are in contact with each other
    for i in range(n):
        if apart:
            k = 0
            while k < whole:
                six_columns(P + i * m + k, K + k * (m + 1), m, A + i * n + k)
                k += 6
        else:
            memset(A + i * n, 0, whole * sizeof(vt_real))
            for k in range(whole):
                vt_add_row(whole, P[i * m + k], K + k * m, A + i * n)
        for k in range(whole, n):
            A[i * n + k] = P[i * m + k] * K[k * (m + 1)]
        A[i * (n + 1)] += vt_set1(1.0)
    lu_of_lanes(A, n, x.port_order, found)
    if not any_of(found):
        return
    lu_solve(A, n, x.port_order, x.answer)
    if n < m:
        # y_J = (P f)_J - P_JB K_B y_B
        for i in range(whole):
            x.port[i] = vt_inner(whole, K + i * m, x.answer)
        for i in range(whole, m):
            x.answer[i] -= vt_inner(whole, P + i * m, x.port)
    cone_from_ports(x)


# ---- patches -------------------------------------------------------------------------------------------
# Points of a body on a plane depend on each other: z^T w_n = 0 for all z with sum z_i = 0 and sum z_i (place_i) = 0, and z
# may be added to their normal impulses N. The motion depends on it where a patch rotates while it slides. There N is to have
# z^T N = 0, which are the least: an affine function of the place.


cdef struct PatchSums:      # of points
    vt_real count           # their number,
    vt_real s               # the means of their places,
    vt_real t
    vt_real ss              # the inverse of their second moments about these,
    vt_real st
    vt_real tt
    vt_real rank            # that of 1, s and t,
    vt_real[3] w            # the mean of w_n, and sums of it times s and t,
    vt_real[3] lam          # and those of the normal impulses


cdef inline int patch_end(const ContactProblem* x, int first) noexcept nogil:
    # of the points of one patch
    cdef int k = first + 1
    while x.patch[first] >= 0 and k < x.count and x.patch[k] == x.patch[first]:
        k += 1
    return k


cdef void even_patches(ContactProblem* x) noexcept nogil:
    # the largest diagonal of the normal rows of each patch: with one shift for all of them corrections have z^T d = 0
    cdef int k = 0, i, end
    cdef vt_real zero = vt_set1(0.0), most
    while k < x.count:
        end = patch_end(x, k)
        if x.patch[k] >= 0:
            most = zero
            for i in range(k, end):
                most = vt_max(most, vt_select(vt_lt(zero, x.even[i]), x.diagonal[x.row[i]], zero))
            for i in range(k, end):
                x.even[i] = vt_select(vt_lt(zero, x.even[i]), most, zero)
        k = end


cdef void sum_patch(const ContactProblem* x, int first, int end, PatchSums* to) noexcept nogil:
    # of the points where `level` is positive
    cdef int k, o
    cdef vt_real zero = vt_set1(0.0), one = vt_set1(1.0), ss = zero, st = zero, tt = zero, s, t, on, w, lam, det
    cdef vt_mask plane, line, along
    memset(to, 0, sizeof(PatchSums))
    for k in range(first, end):
        on, o = vt_select(vt_lt(zero, x.level[k]), one, zero), x.row[k]
        s, t = on * x.place[2 * k], on * x.place[2 * k + 1]
        w, lam = on * x.w[o], on * x.lam[o]
        to.count, to.s, to.t = to.count + on, to.s + s, to.t + t
        ss, st, tt = ss + s * s, st + s * t, tt + t * t
        to.w[0], to.w[1], to.w[2] = to.w[0] + w, to.w[1] + s * w, to.w[2] + t * w
        to.lam[0], to.lam[1], to.lam[2] = to.lam[0] + lam, to.lam[1] + s * lam, to.lam[2] + t * lam
    on = one / vt_max(to.count, one)
    s, t = on * to.s, on * to.t
    ss, st, tt = ss - s * to.s, st - s * to.t, tt - t * to.t
    to.s, to.t = s, t
    to.w[1], to.w[2] = to.w[1] - s * to.w[0], to.w[2] - t * to.w[0]
    to.lam[1], to.lam[2] = to.lam[1] - s * to.lam[0], to.lam[2] - t * to.lam[0]
    to.w[0], to.lam[0] = on * to.w[0], on * to.lam[0]
    det = ss * tt - st * st
    line = vt_lt(vt_set1(PATCH_POINT), ss + tt)
    plane = line & vt_lt(PATCH_LINE * (ss + tt) * (ss + tt), det)
    to.rank = one + vt_select(line, one, zero) + vt_select(plane, one, zero)
    # of points on a line the coordinate that differs most
    along = vt_le(tt, ss)
    det = one / vt_select(plane, det, vt_select(line, vt_max(ss, tt), one))
    to.ss = vt_select(plane, tt * det, vt_select(line & along, det, zero))
    to.tt = vt_select(plane, ss * det, vt_select(along, zero, vt_select(line, det, zero)))
    to.st = vt_select(plane, -st * det, zero)


cdef inline vt_real fitted(const ContactProblem* x, const PatchSums* of, const vt_real* sums, int k) noexcept nogil:
    # the affine function with these sums at a point
    return (sums[0] + (x.place[2 * k] - of.s) * (of.ss * sums[1] + of.st * sums[2])
            + (x.place[2 * k + 1] - of.t) * (of.st * sums[1] + of.tt * sums[2]))


cdef bint drop_pulls(ContactProblem* x, int first, int end, const PatchSums* of, vt_real goal) noexcept nogil:
    # points that open: of those that touch without an impulse, where the affine function is negative; without `of`, those
    # that pull after the correction, and would not without the level. Whether there are any
    cdef vt_real zero = vt_set1(0.0), one = vt_set1(1.0), rho, now
    cdef vt_mask pulls, none = vt_lt(zero, zero)
    cdef int k, o
    for k in range(first, end):
        o = x.row[k]
        rho, pulls = x.share * x.diagonal[o], vt_lt(zero, x.level[k])
        if of != NULL:
            pulls = pulls & vt_le(vt_abs(x.w[o]), goal) & vt_le(rho * x.lam[o], goal) & vt_lt(fitted(x, of, of.lam, k), zero)
        else:
            now = x.lam[o] - x.d[o]
            pulls = pulls & vt_lt(now, zero) & vt_le(zero, now + x.uneven[k])
        none = none | pulls
        x.level[k] = vt_select(pulls, -one, x.level[k])
        x.by_w[WIDE * o], x.by_lam[WIDE * o] = vt_select(pulls, zero, x.by_w[WIDE * o]), vt_select(pulls, rho, x.by_lam[WIDE * o])
        x.F[o] = vt_select(pulls, rho * x.lam[o], x.F[o])
    return vt_any(none)


cdef void write_level(ContactProblem* x, int first, int end) noexcept nogil:
    # F_n = (an affine function of the place) + (the shift)(N - (such a function)), from which z^T (N - d_n) = 0 follows
    cdef vt_real zero = vt_set1(0.0), one = vt_set1(1.0)
    cdef vt_mask on, levels
    cdef PatchSums of
    cdef int k, o
    sum_patch(x, first, end, &of)
    levels = vt_lt(of.rank, of.count)
    for k in range(first, end):
        on, o = vt_lt(zero, x.level[k]), x.row[k]
        x.uneven[k] = vt_select(levels, x.lam[o] - fitted(x, &of, of.lam, k), zero)
        x.F[o] = vt_select(on, vt_select(levels, fitted(x, &of, of.w, k) + proximal(x, k, 0) * x.uneven[k], x.w[o]), x.F[o])
        x.by_w[WIDE * o], x.by_lam[WIDE * o] = vt_select(on, one, x.by_w[WIDE * o]), vt_select(on, zero, x.by_lam[WIDE * o])


cdef bint level_patch(ContactProblem* x, int first, int end, vt_real goal) noexcept nogil:
    # the system of a correction after which the normal impulses of a patch that slides are an affine function of the place.
    # Of the points that push or touch, those that would pull open. Where points are not level, and their w_n no affine
    # function of the place, which of them push is to be found first. Whether a lane has such a system
    cdef vt_real zero = vt_set1(0.0), one = vt_set1(1.0), off = zero
    cdef vt_mask on, slides = vt_lt(zero, zero)
    cdef PatchSums of
    cdef int k, o
    for k in range(first, end):
        o, x.level[k] = x.row[k], zero
        if x.dim[k] >= 3:
            slides = slides | (vt_lt(zero, x.by_w[WIDE * o])
                               & vt_lt(x.by_w[WIDE * (o + 1) + 1] + x.by_w[WIDE * (o + 2) + 2], vt_set1(2.0)))
    if not vt_any(slides):
        return False
    for k in range(first, end):
        o = x.row[k]
        on = (vt_lt(zero, x.by_w[WIDE * o]) | vt_le(x.w[o], goal)) & vt_lt(zero, x.even[k])
        x.level[k] = vt_select(on, one, zero)
    sum_patch(x, first, end, &of)
    for k in range(first, end):
        off = vt_max_nan(off, x.level[k] * vt_abs(x.w[x.row[k]] - fitted(x, &of, of.w, k)))
    slides = slides & vt_lt(of.rank, of.count) & vt_le(off, goal)
    for k in range(first, end):
        x.level[k] = vt_select(slides, x.level[k], zero)
    if not vt_any(slides):
        return False
    drop_pulls(x, first, end, &of, goal)
    write_level(x, first, end)
    return True


cdef bint level_patches(ContactProblem* x, vt_real goal) noexcept nogil:
    # see above; a regularisation tells impulses apart on its own
    cdef int k = 0, end
    cdef bint found = False
    while k < x.count and x.shift == NULL:
        end = patch_end(x, k)
        if end - k > 2:
            found = level_patch(x, k, end, goal) or found
        k = end
    return found


cdef bint level_again(ContactProblem* x, vt_real goal) noexcept nogil:
    # the same without points that pull after the correction, or False if there are none
    cdef int k = 0, end
    cdef bint found = False
    while k < x.count:
        end = patch_end(x, k)
        if end - k > 2 and drop_pulls(x, k, end, NULL, goal):
            write_level(x, k, end)
            found = True
        k = end
    return found


# ---- descent -------------------------------------------------------------------------------------------


cdef void cone_search(ContactProblem* x, vt_real goal, bint strict, vt_real* square, bint* found) noexcept nogil:
    # a correction of the length 1, 1/2, 1/4 ..., the first to reduce |F|^2 by a fraction of it times the length; if none
    # does, that of the least |F|^2, or, if strict, none. At kinks of F the derivative of one side may not be that of a
    # descent, and behind them it is. found: of each lane, where it was, whether there is one
    cdef int k, l, turn = 0
    cdef bint levels
    cdef double other
    cdef double least[MOST_LANES]
    cdef double shortest[MOST_LANES]
    cdef bint open[MOST_LANES]
    cdef vt_real length = vt_set1(1.0), others
    levels = level_patches(x, goal)
    cone_direction(x, found)
    while levels and any_of(found) and turn < LEVELS and level_again(x, goal):
        cone_direction(x, found)
        turn += 1
    if not any_of(found):
        cone_judge(x, x.lam, x.w, x.F, True)
        return
    for l in range(VT_WIDTH):
        open[l], least[l], shortest[l] = found[l], INFINITY, 0.0
    for k in range(CONE_LENGTHS):
        others = cone_try_shorter(x, length, open) if k else cone_try(x, length)
        for l in range(VT_WIDTH):
            if not open[l]:
                continue
            other = vt_get(others, l)
            if other < vt_get(square[0], l) * (1.0 - CONE_DESCENT * vt_get(length, l)):
                vt_put(square, l, other)
                open[l] = False
                continue
            if other < least[l]:
                least[l], shortest[l] = other, vt_get(length, l)
            vt_put(&length, l, 0.5 * vt_get(length, l))
        if not any_of(open):
            return
    for l in range(VT_WIDTH):
        if open[l]:
            found[l] = open[l] = not (strict or not isfinite(least[l]))
            vt_put(&length, l, shortest[l])
    if not any_of(open):
        return
    others = cone_try_shorter(x, length, open)
    for l in range(VT_WIDTH):
        if open[l]:
            vt_put(square, l, vt_get(others, l))


cdef vt_real cone_try(ContactProblem* x, vt_real length) noexcept nogil:
    # |F|^2 of the trial lam - length d
    cdef int i
    for i in range(x.n):
        x.trial[i] = x.lam[i] - length * x.d[i]
    cone_map(x, x.trial, x.trial_w, x.trial_F, False)
    for i in range(x.n):
        x.along[i] = x.trial_w[i] - x.w[i]
    return inner(x.trial_F, x.trial_F, x.n)


cdef vt_real cone_try_shorter(ContactProblem* x, vt_real length, const bint* open) noexcept nogil:
    # the same of some lanes, after a trial of the length 1: the velocities are affine in the length
    cdef vt_mask some = where(open)
    cdef int i
    for i in range(x.n):
        x.trial[i] = vt_select(some, x.lam[i] - length * x.d[i], x.trial[i])
        x.trial_w[i] = vt_select(some, x.w[i] + length * x.along[i], x.trial_w[i])
    cone_judge(x, x.trial, x.trial_w, x.trial_F, False)
    return inner(x.trial_F, x.trial_F, x.n)


cdef void cone_take(ContactProblem* x, const bint* found) noexcept nogil:
    # accept the trials of lanes
    if all_of(found):
        x.lam, x.trial = x.trial, x.lam
        x.w, x.trial_w = x.trial_w, x.w
        x.F, x.trial_F = x.trial_F, x.F
    else:
        take_in(found, x.n, x.trial, x.lam)
        take_in(found, x.n, x.trial_w, x.w)
    cone_judge(x, x.lam, x.w, x.F, True)


cdef vt_real cone_descend(ContactProblem* x, vt_real goal, int passes, bint strict) noexcept nogil:
    # corrections, so many at most; returns the largest |F| with the share 1. It ends at the least |F|^2 that each lane found
    cone_velocities(x, x.lam, x.w)
    return cone_descend_from(x, goal, passes, strict)


cdef vt_real cone_descend_from(ContactProblem* x, vt_real goal, int passes, bint strict) noexcept nogil:
    # the same, where the velocities of the impulses are known
    cdef int k, l
    cdef vt_real e = cone_judge(x, x.lam, x.w, x.F, True), square = inner(x.F, x.F, x.n), most = e
    cdef double least[MOST_LANES]
    cdef int since[MOST_LANES]
    cdef bint goes_on[MOST_LANES]
    cdef bint behind[MOST_LANES]
    cdef bint ahead[MOST_LANES]
    cdef bint back[MOST_LANES]
    for l in range(VT_WIDTH):
        least[l], since[l], goes_on[l], behind[l] = vt_get(square, l), 0, True, False
    if not strict:
        x.proximal = CONE_PROXIMAL
        if redundant(x) and vt_get(e, 0) > 0.0:
            x.proximal = min(max(REDUNDANT_SHARE * vt_get(goal, 0) / vt_get(e, 0), REDUNDANT_LEAST), REDUNDANT_MOST)
    for k in range(passes + 1):
        if x.share != 1.0:
            e = cone_unscaled(x)
        for l in range(VT_WIDTH):
            if (vt_get(e, l) <= vt_get(goal, l) or not isfinite(vt_get(e, l)) or k == passes or since[l] == CONE_PATIENCE
                    or (vt_get(x.budget, l) <= 0.0 and k >= CONE_SPARE)):
                goes_on[l] = False
            ahead[l] = goes_on[l] and not (strict or behind[l])
        if not any_of(goes_on):
            break
        if any_of(ahead):
            take_in(ahead, x.n, x.lam, x.least)
            take_in(ahead, 1, &e, &most)
        cone_search(x, goal, strict, &square, goes_on)
        if not any_of(goes_on):
            break
        cone_take(x, goes_on)
        e = largest(x.F, x.n)
        for l in range(VT_WIDTH):
            if not goes_on[l]:
                continue
            x.corrections += 1
            vt_put(&x.budget, l, vt_get(x.budget, l) - vt_get(x.price, l))
            since[l] = 0 if vt_get(square, l) < 0.5 * least[l] else since[l] + 1
            behind[l] = vt_get(square, l) > least[l]
            least[l] = min(least[l], vt_get(square, l))
    for l in range(VT_WIDTH):
        back[l] = behind[l] and not vt_get(e, l) <= vt_get(goal, l)
    if any_of(back):
        take_in(back, x.n, x.least, x.lam)
        take_in(back, 1, &most, &e)
        cone_map(x, x.lam, x.w, x.F, False)
    return e


cdef bint over_held(const ContactProblem* x) noexcept nogil:
    # whether joints with dry friction and contacts of one tree have more rows than ports. Where feet and joints stick, b is a
    # little outside of the range of G then, as rows turn within the step: impulses that bring about such velocities make
    # others slide, and the next trial has another such b
    cdef int k
    if x.W1 == NULL or x.on.count != 1 or not 0 < x.on.whole < x.ports < x.n or x.least_held > 0.0:
        return False
    for k in range(x.count):
        if x.law[k] == RUB:
            return True
    return False


cdef inline int first_corrections(const ContactProblem* x) noexcept nogil:
    # before anything else is tried
    return HELD_CORRECTIONS if over_held(x) else CONE_PASSES


cdef inline bint redundant(const ContactProblem* x) noexcept nogil:
    # whether there are more rows than motions of several trees: G has a null space, where rounding errors of b remain
    return x.W1 != NULL and x.on.count > 1 and x.n > x.ports


def solve_in_ports(body, const double[:, :, ::1] W1, const double[:, :, ::1] W2, const double[:, :, ::1] P,
                   const double[:, ::1] b, const double[:, ::1] mu, const double[:, :, ::1] lead,
                   const double[:, ::1] lam, const double[::1] goal, int joints=0):
    """Correct the impulses of contacts of one body each with friction, of one problem a lane, as steps do at first.

    Joints with dry friction follow the contacts, with a row, and a port whose response is the last of P, each.

    Parameters
    ----------
    body : (count,) ints
        The body of each contact, from 0 on without gaps.
    W1, W2 : (problems, 3 count, 6) arrays
        Rows of the contacts in the wrenches on their bodies.
    P : (problems, p, p) array
        The response of the wrenches on bodies, and of joints, p = 6 times their number + joints.
    b : (problems, 3 count + joints) array
    mu : (problems, count + joints) array
        Coefficients of friction, and the bounds of joints [N s or N m s].
    lead : (problems, count, 2) array
    lam : (problems, 3 count + joints) array
        The guess.
    goal : (problems,) array
        Tolerances of the natural residual [m/s].

    Returns
    -------
    lam (problems, 3 count + joints), and the natural residuals (problems,).
    """
    cdef ContactProblem x
    cdef ConeStore store
    cdef PortTrees on
    cdef int count = len(body), n = 3 * count + joints, ports = <int>P.shape[1], i, j, k, l, first = 0
    cdef Py_ssize_t at = 0, lanes = P.shape[0]
    cdef int* tree = NULL
    cdef TouchRow* W = NULL
    cdef vt_real* Q = NULL
    cdef vt_real goals = vt_set1(0.0), e = vt_set1(0.0)
    if not 1 <= lanes <= VT_WIDTH:
        raise ValueError(f"{lanes} problems of {VT_WIDTH} lanes")
    memset(&x, 0, sizeof(x))
    memset(&store, 0, sizeof(store))
    found, left = np.empty((lanes, n)), np.empty(lanes)
    cdef double[:, ::1] out = found
    cdef double[::1] residual = left
    try:
        tree, W, Q = (<int*>vt_alloc(ports * sizeof(int)), <TouchRow*>vt_alloc(2 * n * sizeof(TouchRow)),
                      <vt_real*>vt_alloc(ports * ports * sizeof(vt_real)))
        if tree == NULL or W == NULL or Q == NULL or cones_room(&x, &store, count + joints, n, ports) != OK:
            raise MemoryError
        memset(tree, 0, ports * sizeof(int))
        memset(W, 0, 2 * n * sizeof(TouchRow))
        x.count, x.n, x.budget = count + joints, n, vt_set1(1e9)
        for l in range(VT_WIDTH):
            # lanes beyond repeat the last one
            i = <int>min(<Py_ssize_t>l, lanes - 1)
            vt_put(&goals, l, goal[i])
            for j in range(ports):
                for k in range(ports):
                    vt_put(&Q[j * ports + k], l, P[i, j, k])
            for k in range(count + joints):
                x.dim[k], x.row[k], x.law[k] = 3, 3 * k, CONE
                if k >= count:
                    x.dim[k], x.row[k], x.law[k] = 1, 2 * count + k, RUB
                vt_put(&x.mu[k], l, mu[i, k])
                vt_put(&x.give[k], l, 0.0)
                for j in range(LEADS):
                    vt_put(&x.lead[LEADS * k + j], l, lead[i, k, j] if k < count and j < 2 else 0.0)
            for k in range(n):
                vt_put(&x.b[k], l, b[i, k])
                vt_put(&x.lam[k], l, lam[i, k])
                if k >= 3 * count:
                    W[k].a = W[n + k].a = ports - n + k
                    W[k].b = W[n + k].b = -1
                    W[k].size = W[n + k].size = 1
                    vt_put(&W[k].on_a[0], l, 1.0)
                    vt_put(&W[n + k].on_a[0], l, 1.0)
                    continue
                W[k].a = W[n + k].a = 6 * <int>body[k // 3]
                W[k].b = W[n + k].b = -1
                W[k].size = W[n + k].size = 6
                for j in range(6):
                    vt_put(&W[k].on_a[j], l, W1[i, k, j])
                    vt_put(&W[n + k].on_a[j], l, W2[i, k, j])
        on.count, on.first, on.size, on.of_port, on.at, on.base, on.whole = 1, &first, &ports, tree, &at, 0, ports - joints
        cones_product(&x, W, W + n, Q, &on, 0, ports)
        cones_diagonal(&x)
        with nogil:
            e = cone_descend(&x, goals, CONE_PASSES, False)
        for l in range(lanes):
            residual[l] = vt_get(e, l)
            for k in range(n):
                out[l, k] = vt_get(x.lam[k], l)
        return found, left
    finally:
        vt_release(tree)
        vt_release(W)
        vt_release(Q)
        cones_free(&x)
        store_free(&store)
