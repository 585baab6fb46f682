# Contact with friction as a complementarity problem. Each contact has an impulse (n, t1, t2), or n alone, with
#     w = G lam + b,    0 <= lam_n  _|_  w_n >= 0,    lam_t = lead lam_n + beta,  |beta| <= mu lam_n,  beta against w_t.
# Other rows have the laws of rows.pxi.
# The natural residual F(lam) [m/s] (Alart & Curnier 1991) vanishes at solutions. Newton's iteration on F, damped as by
# Levenberg and Marquardt, converges from nearly everywhere. Where |F| has other minima, at the edges of sticking and
# sliding and in jams, the proximal point iteration follows (Rockafellar 1976). Undamped iterations and sweeps alone
# cycle on problems of walking robots. The corrections of a step are bounded. One lane.

cdef enum:
    CONE_PASSES = 200       # most corrections
    CONE_PATIENCE = 15      # so many corrections must halve |F|^2
    CONE_TRIALS = 25        # most dampings of a correction
    PROXIMAL_PASSES = 60    # most regularised problems
    PROXIMAL_CORRECTIONS = 30   # most corrections of one
    PROXIMAL_SWEEPS = 5     # sweeps where its corrections fail
    PROXIMAL_FAILED = 6     # so many failures in a row lead back to the best lam
    PROXIMAL_BUDGET = 200   # most corrections of all regularised problems
    PROXIMAL_SPARE = 10     # the same once the step has used up its own
    STEP_BUDGET = 500       # most corrections of regularised problems in a step
    CONE_LENGTHS = 6        # most lengths of their corrections

#: The first, the least and the largest regularisation relative to the diagonal of G, the least relative diagonal, the
#: fraction of |F| to which a regularised problem is solved, and the shift of its corrections
cdef double PROXIMAL_FIRST = 1.0
cdef double PROXIMAL_LAST = 1e-9
cdef double PROXIMAL_MOST = 100.0
cdef double PROXIMAL_LEAST = 1e-9
cdef double PROXIMAL_SHARE = 1e-2
cdef double PROXIMAL_SHIFT = 1e-12
#: Least relative descent of |F|^2
cdef double CONE_DESCENT = 1e-4
#: Of a whole correction that is accepted undamped
cdef double CONE_WELL = 0.5
#: Its shift, as a fraction of the diagonal of G
cdef double CONE_PROXIMAL = 1e-7
#: Planar mechanisms have tangential rows of zeros: this fraction of the other's magnitude is added
cdef double CONE_SHIFT = 1e-13


cdef struct ContactProblem:
    int count               # contacts
    int n                   # rows
    int room                # rows for which the arrays are allocated
    int* law                # (count,) CONE, HOLD or RUB
    int* dim                # (count,) rows of a contact: 1 or 3; of bilateral ones also 2
    int* row                # (count,) its first
    int* own_row            # (count,) and among those of a part
    int* order              # (n,) pivots
    double* G               # (n, n), where it is formed
    bint formed
    # G as a product, W2^T P W1 plus compliance, or W1 is NULL
    const TouchRow* W1      # (n,)
    const TouchRow* W2
    const double* P         # (ports, ports), rows of `width`
    int width
    int first               # the number of the first port
    int ports
    int whole               # those of bodies, before those of limits
    int ports_room
    double* K               # (ports, ports)
    double* A
    double* port            # (ports,)
    double* answer
    int* port_order
    double* diagonal        # (n,) of G
    double least_held       # bilateral rows are shifted as if their response were at least this
    double* b               # (n,)
    double* mu              # (count,) the bound of dry friction rows
    double* lead            # (count, 2)
    double* give            # (count,) [1/kg] contribution of a compliant contact to G
    double share            # factor of the rho of F: the zeros of F are the same for all
    double proximal         # shift of a correction, as a fraction of the diagonal of G
    double* lam             # (n,) the impulses: the guess, then the solution
    double* w               # (n,) their velocities
    double* F               # (n,)
    double* by_w            # (n, 3) a generalised derivative of F by w and lam of the same contact
    double* by_lam
    double* J               # (n, n) that of F by lam: (by_w) G + (by_lam)
    double* H               # (n, n) a matrix, factored
    double* JJ              # (n, n) J^T J
    double* g               # (n,) J^T F
    double* kept            # (n,) the best lam so far
    double* own             # (3, n) diagonal, b and the diagonal of G without its regularisation
    double* trial           # (n,) another lam
    double* trial_w
    double* trial_F
    long budget             # corrections that regularised problems may still take
    long corrections        # since it was made
    long sweeps


cdef int cones_room(ContactProblem* x, int count, int n, int ports) noexcept nogil:
    # allocate so many contacts, rows and ports; their content is lost
    cdef size_t rows, reals, most
    cdef double* at
    cdef int* ints
    if n <= x.room and ports <= x.ports_room:
        return OK
    rows, most = 2 * n + 24, 2 * ports + 12
    reals = 4 * rows * rows + 23 * rows + 2 * most * most + 2 * most
    at = <double*>realloc(x.G, reals * sizeof(double) + (5 * rows + most) * sizeof(int))
    if at == NULL:
        return NO_MEMORY
    x.room, x.ports_room, x.share, x.proximal = <int>rows, <int>most, 1.0, CONE_PROXIMAL
    ints = <int*>(at + reals)
    x.G = at
    x.J, x.H, x.JJ = at + rows * rows, at + 2 * rows * rows, at + 3 * rows * rows
    at += 4 * rows * rows
    x.b, x.lam, x.w, x.F, x.g = at, at + rows, at + 2 * rows, at + 3 * rows, at + 4 * rows
    x.trial, x.trial_w, x.trial_F = at + 5 * rows, at + 6 * rows, at + 7 * rows
    x.kept, x.mu, x.lead = at + 8 * rows, at + 9 * rows, at + 10 * rows
    x.give, x.diagonal = at + 12 * rows, at + 13 * rows
    x.by_w, x.by_lam = at + 14 * rows, at + 17 * rows
    x.own = at + 20 * rows
    at += 23 * rows
    x.K, x.A = at, at + most * most
    at += 2 * most * most
    x.port, x.answer = at, at + most
    x.dim, x.row, x.order, x.law, x.port_order = ints, ints + rows, ints + 2 * rows, ints + 3 * rows, ints + 4 * rows
    x.own_row = x.port_order + most
    memset(x.law, 0, rows * sizeof(int))
    return OK


cdef double pushes(const ContactProblem* x, const double* lam) noexcept nogil:
    # the sum of the normal impulses of contacts
    cdef int k
    cdef double s = 0.0
    for k in range(x.count):
        if x.law[k] == CONE:
            s += lam[x.row[k]]
    return s


# ---- G -------------------------------------------------------------------------------------------------

cdef void cones_formed(ContactProblem* x) noexcept nogil:
    # G is given
    cdef int k
    x.W1, x.formed = NULL, True
    for k in range(x.n):
        x.diagonal[k] = x.G[k * (x.n + 1)]
    x.least_held = held_least(x)


cdef double held_least(const ContactProblem* x) noexcept nogil:
    # bilateral rows may constrain what cannot move, as a wheel's normal in a planar mechanism
    cdef int i, k
    cdef double most = 0.0
    for i in range(x.count):
        if x.law[i] == HOLD:
            for k in range(x.row[i], x.row[i] + x.dim[i]):
                most = max(most, x.diagonal[k])
    return LEAST_HELD * most


cdef void cones_product(ContactProblem* x, const TouchRow* W1, const TouchRow* W2, const double* P, int width, int first,
                        int ports, int whole) noexcept nogil:
    # G = W2^T P W1, plus compliance; `diagonal` is not computed
    x.W1, x.W2, x.P, x.width, x.first, x.ports, x.whole, x.formed = W1, W2, P, width, first, ports, whole, False


cdef void cones_diagonal(ContactProblem* x) noexcept nogil:
    # of a product
    cdef int k, o, width = x.width
    cdef double s
    cdef const double* P = x.P
    cdef const TouchRow* A
    cdef const TouchRow* B
    for k in range(x.n):
        A, B = &x.W2[k], &x.W1[k]
        s = 0.0
        if A.a >= 0:
            s = port_block(A.on_a, A.size, P + A.a * width + B.a, width, B.on_a, B.size)
        if A.b >= 0:
            s += port_block(A.on_b, 6, P + A.b * width + B.b, width, B.on_b, 6)
            if A.a >= 0:
                s += port_block(A.on_a, A.size, P + A.a * width + B.b, width, B.on_b, 6)
                s += port_block(A.on_b, 6, P + A.b * width + B.a, width, B.on_a, B.size)
        x.diagonal[k] = s
    for k in range(x.count):
        o = x.row[k]
        x.diagonal[o] += x.give[k]
    x.least_held = held_least(x)


cdef inline double port_block(const double* a, int rows, const double* P, int width, const double* b, int columns) noexcept nogil:
    # a^T P b
    cdef double s = 0.0
    cdef int i
    for i in range(rows):
        s += a[i] * vt_inner(columns, P + i * width, b)
    return s


cdef void cones_form(ContactProblem* x) noexcept nogil:
    # the entries of G, where it is a product
    cdef const TouchRow* W
    cdef int k, j, i, n = x.n
    if x.formed:
        return
    x.formed = True
    for k in range(n):
        W = &x.W2[k]
        memset(x.port, 0, x.ports * sizeof(double))
        if W.a >= 0:
            for i in range(W.size):
                vt_add_row(x.ports, W.on_a[i], x.P + (W.a + i) * x.width + x.first, x.port)
        if W.b >= 0:
            for i in range(6):
                vt_add_row(x.ports, W.on_b[i], x.P + (W.b + i) * x.width + x.first, x.port)
        for j in range(n):
            x.G[k * n + j] = along_row(&x.W1[j], x.port - x.first)
    for k in range(x.count):
        x.G[x.row[k] * (n + 1)] += x.give[k]


cdef void cone_velocities(ContactProblem* x, const double* lam, double* w) noexcept nogil:
    # w = G lam + b
    cdef int k, n = x.n
    if x.W1 == NULL:
        for k in range(n):
            w[k] = x.b[k] + vt_inner(n, x.G + k * n, lam)
        return
    memset(x.port, 0, x.ports * sizeof(double))
    for k in range(n):
        add_touch_row(&x.W1[k], lam[k], x.port - x.first)
    for k in range(x.ports):
        x.answer[k] = vt_inner(x.ports, x.P + (x.first + k) * x.width + x.first, x.port)
    for k in range(n):
        w[k] = x.b[k] + along_row(&x.W2[k], x.answer - x.first)
    for k in range(x.count):
        w[x.row[k]] += x.give[k] * lam[x.row[k]]


# ---- the natural map -----------------------------------------------------------------------------------

cdef double cone_map(ContactProblem* x, const double* lam, double* w, double* F, bint derive) noexcept nogil:
    # w and F at lam, and F's derivatives if requested; returns the largest |F|
    cone_velocities(x, lam, w)
    return cone_judge(x, lam, w, F, derive)


cdef double cone_judge(ContactProblem* x, const double* lam, const double* w, double* F, bint derive) noexcept nogil:
    # the same, for given velocities
    cdef int i, j, o
    cdef double most = 0.0
    for i in range(x.count):
        o = x.row[i]
        cone_law(x, i, lam + o, w + o, F + o, x.by_w + 3 * o if derive else NULL, x.by_lam + 3 * o if derive else NULL)
        for j in range(x.dim[i]):
            most = vt_max_nan(most, fabs(F[o + j]))
    return most


cdef inline void cone_law(const ContactProblem* x, int i, const double* lam, const double* w, double* F, double* S,
                          double* L) noexcept nogil:
    # F of one contact and, unless they are NULL, its derivatives S by w and L by lam, (3, 3); of one row the first entries
    cdef int o = x.row[i]
    cdef double rho = x.share * x.diagonal[o], rt, R, z0, z1, size, u0, u1, b0, b1, s
    if S != NULL:
        memset(S, 0, 3 * x.dim[i] * sizeof(double))
        memset(L, 0, 3 * x.dim[i] * sizeof(double))
    if x.law[i] != CONE:
        row_law(x.law[i], x.dim[i], rho, x.mu[i], x.lead[2 * i], lam, w, F, S, L)
        return
    # min(w_n, rho lam_n)
    if w[0] < rho * lam[0]:
        F[0] = w[0]
        if S != NULL:
            S[0] = 1.0
    else:
        F[0] = rho * lam[0]
        if S != NULL:
            L[0] = rho
    if x.dim[i] == 1:
        return
    # rt beta - (z projected to the disk of radius R = rt mu lam_n), z = rt beta - w_t
    rt = x.share * 0.5 * (x.diagonal[o + 1] + x.diagonal[o + 2])
    b0, b1 = rt * (lam[1] - x.lead[2 * i] * lam[0]), rt * (lam[2] - x.lead[2 * i + 1] * lam[0])
    z0, z1 = b0 - w[1], b1 - w[2]
    R = rt * x.mu[i] * max(lam[0], 0.0)
    size = vt_sqrt(z0 * z0 + z1 * z1)
    if size <= R:
        F[1], F[2] = w[1], w[2]
        if S != NULL:
            S[4] = S[8] = 1.0
        return
    u0, u1 = z0 / size, z1 / size
    F[1], F[2] = b0 - R * u0, b1 - R * u1
    if S == NULL:
        return
    # B - (R/|z|)(1 - u u^T)(B - dw_t) - rt mu u e_n^T,  B = rt dbeta/dlam
    s = R / size
    S[4], S[5] = s * (1.0 - u0 * u0), -s * u0 * u1
    S[7], S[8] = S[5], s * (1.0 - u1 * u1)
    L[4], L[5] = rt * (1.0 - S[4]), -rt * S[5]
    L[7], L[8] = L[5], rt * (1.0 - S[8])
    L[3] = -L[4] * x.lead[2 * i] - L[5] * x.lead[2 * i + 1]
    L[6] = -L[7] * x.lead[2 * i] - L[8] * x.lead[2 * i + 1]
    if lam[0] > 0.0:
        L[3] -= rt * x.mu[i] * u0
        L[6] -= rt * x.mu[i] * u1


cdef void cone_slope(ContactProblem* x) noexcept nogil:
    # J = (by_w) G + (by_lam)
    cdef int i, j, k, o, n = x.n
    cdef double* J
    cones_form(x)
    for i in range(x.count):
        o = x.row[i]
        for j in range(x.dim[i]):
            J = x.J + (o + j) * n
            memset(J, 0, n * sizeof(double))
            for k in range(x.dim[i]):
                if x.by_w[3 * (o + j) + k] != 0.0:
                    vt_add_row(n, x.by_w[3 * (o + j) + k], x.G + (o + k) * n, J)
            for k in range(x.dim[i]):
                J[o + k] += x.by_lam[3 * (o + j) + k]


cdef bint cholesky(double* A, int n) noexcept nogil:
    # A = L L^T of a symmetric A, by rows of the lower half; whether it is positive definite
    cdef int i, j
    cdef double s
    for i in range(n):
        for j in range(i + 1):
            s = A[i * n + j] - vt_inner(j, A + i * n, A + j * n)
            if i == j:
                if not s > 0.0:
                    return False
                A[i * n + i] = vt_sqrt(s)
            else:
                A[i * n + j] = s / A[j * n + j]
    return True


cdef void cholesky_solve(const double* A, int n, double* b) noexcept nogil:
    cdef int i, k
    for i in range(n):
        b[i] = (b[i] - vt_inner(i, A + i * n, b)) / A[i * n + i]
    for i in range(n - 1, -1, -1):
        b[i] /= A[i * n + i]
        for k in range(i):
            b[k] -= A[i * n + k] * b[i]


cdef void normal_equations(ContactProblem* x, double* most) noexcept nogil:
    # JJ = J^T J, its largest entry, and g = J^T F
    cdef int i, j, k, n = x.n
    cdef const double* row
    cdef double* to
    memset(x.JJ, 0, n * n * sizeof(double))
    memset(x.g, 0, n * sizeof(double))
    for k in range(n):
        row = x.J + k * n
        for i in range(n):
            if row[i] != 0.0:
                to = x.JJ + i * n
                for j in range(i + 1):
                    to[j] += row[i] * row[j]
                x.g[i] += row[i] * x.F[k]
    most[0] = 0.0
    for i in range(n):
        most[0] = max(most[0], x.JJ[i * n + i])


cdef bint cone_direction(ContactProblem* x) noexcept nogil:
    # trial = d of (J + shift diag G) d = F; whether there is one. The shift is proximal: zeros are unchanged, and of
    # impulses that are not unique those near the guess are selected
    cdef int i, k, n = x.n
    # bilateral rows may be redundant, which ports do not resolve to the last digits
    if x.W1 != NULL and 2 * x.ports <= 3 * n and not x.least_held > 0.0:
        return cone_through_ports(x)
    cone_slope(x)
    memcpy(x.H, x.J, n * n * sizeof(double))
    for i in range(x.count):
        for k in range(x.dim[i]):
            x.H[(x.row[i] + k) * (n + 1)] += proximal(x, i, k)
    if lu_factor(x.H, n, x.order) != OK:
        return False
    memcpy(x.trial, x.F, n * sizeof(double))
    lu_solve(x.H, n, x.order, x.trial)
    return True


cdef bint cone_search(ContactProblem* x, int trials, double drop, double* square) noexcept nogil:
    # a correction of the length 1, 1/2, 1/4 ..., the first to reduce |F|^2 by this fraction of it times the length;
    # whether there is one
    cdef int i, k
    cdef double length = 1.0, other
    if not cone_direction(x):
        return False
    memcpy(x.g, x.trial, x.n * sizeof(double))
    for k in range(trials):
        for i in range(x.n):
            x.trial[i] = x.lam[i] - length * x.g[i]
        cone_map(x, x.trial, x.trial_w, x.trial_F, False)
        other = inner(x.trial_F, x.trial_F, x.n)
        if other < square[0] * (1.0 - drop * length):
            square[0] = other
            return True
        length *= 0.5
    return False


cdef inline double proximal(const ContactProblem* x, int i, int j) noexcept nogil:
    # the shift of a row; of planar mechanisms some rows are zeros
    cdef const double* diagonal = x.diagonal + x.row[i]
    if x.law[i] == HOLD:
        return x.proximal * max(diagonal[j], x.least_held)
    return x.proximal * (diagonal[j] if diagonal[j] > 0.0 else diagonal[0])


cdef bint cone_block(const ContactProblem* x, int i, double* D) noexcept nogil:
    # D^-1 of one contact: by_lam, compliance and the shift. Its first row has one entry
    cdef int o = x.row[i], j
    cdef const double* L = x.by_lam + 3 * o
    cdef double first, a, b, c, d, det, p, q
    if x.law[i] == HOLD:
        memset(D, 0, 9 * sizeof(double))
        for j in range(x.dim[i]):
            first = proximal(x, i, j)
            if not first > 0.0:
                return False
            D[4 * j] = 1.0 / first
        return True
    first = L[0] + x.by_w[3 * o] * x.give[i] + proximal(x, i, 0)
    if not first > 0.0:
        return False
    D[0] = 1.0 / first
    if x.dim[i] == 1:
        return True
    a, b, c, d = L[4] + proximal(x, i, 1), L[5], L[7], L[8] + proximal(x, i, 2)
    p, q = L[3] + x.by_w[3 * o + 3] * x.give[i], L[6] + x.by_w[3 * o + 6] * x.give[i]
    det = a * d - b * c
    if not det > 0.0:
        return False
    D[1] = D[2] = 0.0
    D[4], D[5], D[7], D[8] = d / det, -b / det, -c / det, a / det
    D[3], D[6] = -(D[4] * p + D[5] * q) * D[0], -(D[7] * p + D[8] * q) * D[0]
    return True


cdef inline void six_columns(const double* a, const double* B, int width, double* to) noexcept nogil:
    # a^T B of six rows and columns
    cdef int k
    for k in range(6):
        to[k] = ((a[0] * B[k] + a[1] * B[width + k]) + (a[2] * B[2 * width + k] + a[3] * B[3 * width + k])
                 + (a[4] * B[4 * width + k] + a[5] * B[5 * width + k]))


cdef bint cone_through_ports(ContactProblem* x) noexcept nogil:
    # trial = (D + S W2^T P W1)^-1 F, with D = L plus compliance and the shift, block by block:
    #     K = W1 D^-1 S W2^T,   (1 + P K) y = P W1 D^-1 F,   trial = D^-1 (F - S W2^T y)
    cdef int i, j, k, l, o, dim, m = x.ports
    cdef double D[9]
    cdef double T[9]
    cdef double v[3]
    cdef double* S
    cdef double* e = x.trial_w
    cdef double* A = x.A
    cdef const double* P
    cdef const TouchRow* W
    cdef bint apart = True
    cdef double* K = x.K
    memset(K, 0, m * m * sizeof(double))
    memset(x.port, 0, m * sizeof(double))
    for i in range(x.count):
        o, dim = x.row[i], x.dim[i]
        S = x.by_w + 3 * o
        if not cone_block(x, i, D):
            return False
        # T = D^-1 S
        for j in range(dim):
            e[o + j] = 0.0
            for k in range(dim):
                e[o + j] += D[3 * j + k] * x.F[o + k]
                T[3 * j + k] = 0.0
                for l in range(dim):
                    T[3 * j + k] += D[3 * j + l] * S[3 * l + k]
            add_touch_row(&x.W1[o + j], e[o + j], x.port - x.first)
        W = &x.W1[o]
        if dim == 3 and W.b < 0:
            add_blocks(W, T, &x.W2[o], K + (W.a - x.first) * (m + 1), m)
            continue
        apart = apart and W.b < 0
        for j in range(dim):
            for k in range(dim):
                if T[3 * j + k] != 0.0:
                    add_outer(&x.W1[o + j], T[3 * j + k], &x.W2[o + k], K, x.first, m)
    # A = 1 + P K, answer = P (port)
    # K has blocks of bodies, or of a limit, where no bodies are in contact with each other
    for i in range(m):
        P = x.P + (x.first + i) * x.width + x.first
        k = 0
        if apart:
            while k < x.whole:
                six_columns(P + k, K + k * (m + 1), m, A + i * m + k)
                k += 6
            while k < m:
                A[i * m + k] = P[k] * K[k * (m + 1)]
                k += 1
        else:
            memset(A + i * m, 0, m * sizeof(double))
            for k in range(m):
                if P[k] != 0.0:     # within a tree
                    vt_add_row(m, P[k], K + k * m, A + i * m)
        A[i * m + i] += 1.0
        x.answer[i] = vt_inner(m, P, x.port)
    if lu_factor(A, m, x.port_order) != OK:
        return False
    lu_solve(A, m, x.port_order, x.answer)
    for i in range(x.count):
        o, dim = x.row[i], x.dim[i]
        S = x.by_w + 3 * o
        for j in range(dim):
            v[j] = along_row(&x.W2[o + j], x.answer - x.first)
        cone_block(x, i, D)
        for j in range(dim):
            T[j] = x.F[o + j]
            for k in range(dim):
                T[j] -= S[3 * j + k] * v[k]
        for j in range(dim):
            x.trial[o + j] = 0.0
            for k in range(dim):
                x.trial[o + j] += D[3 * j + k] * T[k]
    return True


cdef bint cone_correct(ContactProblem* x, double* nu, double* square) noexcept nogil:
    # a damped correction that reduces |F|^2, and another damping; whether there is one
    cdef int i, k, n = x.n
    cdef double most, other
    cone_slope(x)
    normal_equations(x, &most)
    for k in range(CONE_TRIALS):
        memcpy(x.H, x.JJ, n * n * sizeof(double))
        for i in range(n):
            x.H[i * n + i] += nu[0] * most
        if cholesky(x.H, n):
            memcpy(x.trial, x.g, n * sizeof(double))
            cholesky_solve(x.H, n, x.trial)
            for i in range(n):
                x.trial[i] = x.lam[i] - x.trial[i]
            cone_map(x, x.trial, x.trial_w, x.trial_F, False)
            other = inner(x.trial_F, x.trial_F, n)
            if other < square[0] * (1.0 - CONE_DESCENT):
                nu[0] = max(nu[0] / (30.0 if other < 0.25 * square[0] else 3.0), 1e-14)
                square[0] = other
                return True
        nu[0] = max(8.0 * nu[0], 1e-12)
    return False


cdef void cone_take(ContactProblem* x) noexcept nogil:
    # accept the trial
    x.lam, x.trial = x.trial, x.lam
    x.w, x.trial_w = x.trial_w, x.w
    x.F, x.trial_F = x.trial_F, x.F
    cone_judge(x, x.lam, x.w, x.F, True)


cdef double cone_solve(ContactProblem* x, double goal) noexcept nogil:
    # lam with |F| <= goal from the guess, by damped corrections of F, else of regularised problems; returns the largest
    # |F|, and where it is larger the lam of the least
    cdef double e
    if problem_log.room:
        log_problem(x, goal)
    e = cone_descend(x, goal, CONE_PASSES, False)
    if e <= goal or not isfinite(e):
        return e
    return cone_proximal(x, e, goal)


cdef double cone_proximal(ContactProblem* x, double e, double goal) noexcept nogil:
    # the proximal point iteration (Rockafellar 1976): lam solves the problem with
    #     G + a diag G,   b - a diag(G) lam_before,
    # whose fixed points are the solutions. With a large the regularised problem is one of single contacts; with a small
    # lam moves far along the null space of G, which solutions of jammed and hyperstatic contacts need. There the
    # velocities are of the order a diag(G) lam, and rho is scaled by a. Returns the largest |F|
    cdef const TouchRow* W1 = x.W1
    cdef double a = PROXIMAL_FIRST, best = e, inner_goal, shift, most = largest(x.diagonal, x.n)
    cdef double* diagonal = x.own
    cdef double* b = x.own + x.n
    cdef double* of_G = x.own + 2 * x.n
    cdef long first = x.corrections, last = first + max(PROXIMAL_SPARE, min(PROXIMAL_BUDGET, x.budget))
    cdef int i, k, j, failed = 0, n = x.n
    cdef bint solved
    cones_form(x)
    x.W1, x.proximal = NULL, PROXIMAL_SHIFT
    memcpy(x.kept, x.lam, n * sizeof(double))
    memcpy(diagonal, x.diagonal, n * sizeof(double))
    memcpy(b, x.b, n * sizeof(double))
    for i in range(n):
        of_G[i] = x.G[i * (n + 1)]
    for k in range(PROXIMAL_PASSES):
        inner_goal = max(0.5 * goal, PROXIMAL_SHARE * best)
        for i in range(n):
            shift = a * max(diagonal[i], PROXIMAL_LEAST * most)
            x.G[i * (n + 1)] = of_G[i] + shift
            x.diagonal[i] = diagonal[i] + shift
            x.b[i] = b[i] - shift * x.lam[i]
        solved = False
        for j in range(3):
            # another rho, then another start
            if j == 2:
                cone_sweep(x, PROXIMAL_SWEEPS)
            x.share = min(1.0, (1.0 if j == 1 else 10.0) * a)
            solved = cone_descend(x, inner_goal, PROXIMAL_CORRECTIONS, True) <= inner_goal
            if solved or x.corrections > last:
                break
        x.share = 1.0
        memcpy(x.diagonal, diagonal, n * sizeof(double))
        memcpy(x.b, b, n * sizeof(double))
        for i in range(n):
            x.G[i * (n + 1)] = of_G[i]
        e = cone_map(x, x.lam, x.w, x.F, False)
        if e < best:
            best = e
            memcpy(x.kept, x.lam, n * sizeof(double))
        if best <= goal or x.corrections > last or not isfinite(e):
            break
        if solved:
            a, failed = max(a / 3.0, PROXIMAL_LAST), 0
        else:
            a, failed = min(4.0 * a, PROXIMAL_MOST), failed + 1
            if failed == PROXIMAL_FAILED:
                memcpy(x.lam, x.kept, n * sizeof(double))
                failed = 0
    x.W1, x.proximal = W1, CONE_PROXIMAL
    x.budget -= x.corrections - first
    memcpy(x.lam, x.kept, n * sizeof(double))
    return cone_map(x, x.lam, x.w, x.F, False)


cdef double cone_descend(ContactProblem* x, double goal, int passes, bint regularised) noexcept nogil:
    # corrections, so many at most, damped or, of a regularised problem, shortened; returns the largest |F| with the
    # share 1
    cdef int k
    cdef double nu = 1e-10, e = cone_map(x, x.lam, x.w, x.F, True), square = inner(x.F, x.F, x.n), behind = INFINITY
    for k in range(passes + 1):
        if x.share != 1.0:
            e = cone_unscaled(x)
        if k % CONE_PATIENCE == 0:
            if square > 0.5 * behind:
                break
            behind = square
        if e <= goal or not isfinite(e) or k == passes:
            break
        if not (cone_search(x, CONE_LENGTHS, CONE_DESCENT, &square) if regularised else
                cone_search(x, 1, CONE_WELL, &square) or cone_correct(x, &nu, &square)):
            break
        cone_take(x)
        x.corrections += 1
        e = largest(x.F, x.n)
    return e


cdef double cone_unscaled(ContactProblem* x) noexcept nogil:
    # the largest |F| of the current velocities with the share 1
    cdef double share = x.share, e
    x.share = 1.0
    e = cone_judge(x, x.lam, x.w, x.trial_F, False)
    x.share = share
    return e


# ---- sweeps ------------------------------------------------------------------------------------------

cdef void cone_sweep(ContactProblem* x, int sweeps) noexcept nogil:
    # each contact solved exactly in turn, with the others fixed
    cdef int sweep, i
    for sweep in range(sweeps):
        x.sweeps += 1
        for i in range(x.count):
            cone_alone(x, i, x.lam)


cdef void cone_alone(const ContactProblem* x, int i, double* lam) noexcept nogil:
    # the exact impulse of one contact with the others fixed; unchanged where no impulse separates
    cdef int n = x.n, o = x.row[i], j, k
    cdef const double* G = x.G + o * n
    cdef double c[3]
    cdef double S00, S01, S10, S11, gn, g0, g1, r0, r1, b0, b1, ln, low, high, s, z, unit, shift
    if x.law[i] != CONE:
        row_alone(x.law[i], x.dim[i], n, o, G, x.b, x.mu[i], x.lead[2 * i], lam)
        return
    for j in range(x.dim[i]):
        c[j] = x.b[o + j] + vt_inner(n, x.G + (o + j) * n, lam)
        for k in range(x.dim[i]):
            c[j] -= x.G[(o + j) * n + o + k] * lam[o + k]
    if x.dim[i] == 1 or c[0] >= 0.0:
        ln = max(-c[0] / G[o], 0.0) if G[o] > 0.0 else lam[o]
        lam[o] = ln
        if x.dim[i] == 3:
            lam[o + 1] = lam[o + 2] = 0.0
        return
    # lam = ln (1, lead) + (0, beta), w_n = 0: ln = -(c_n + G_nt beta)/gn, and S beta = r where it sticks
    gn = G[o] + G[o + 1] * x.lead[2 * i] + G[o + 2] * x.lead[2 * i + 1]
    if not gn > 0.0:
        return
    g0 = G[n + o] + G[n + o + 1] * x.lead[2 * i] + G[n + o + 2] * x.lead[2 * i + 1]
    g1 = G[2 * n + o] + G[2 * n + o + 1] * x.lead[2 * i] + G[2 * n + o + 2] * x.lead[2 * i + 1]
    S00, S01 = G[n + o + 1] - g0 * G[o + 1] / gn, G[n + o + 2] - g0 * G[o + 2] / gn
    S10, S11 = G[2 * n + o + 1] - g1 * G[o + 1] / gn, G[2 * n + o + 2] - g1 * G[o + 2] / gn
    shift = CONE_SHIFT * (fabs(S00) + fabs(S11))
    S00, S11 = S00 + shift, S11 + shift
    r0, r1 = -c[1] + g0 * c[0] / gn, -c[2] + g1 * c[0] / gn
    # it slides with (S + s) beta = r, s >= 0 so that |beta| = mu ln; s = unit z/(1 - z)
    unit = 0.5 * (fabs(S00) + fabs(S11))
    low, high, z, s, b0, b1, ln = 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -c[0] / gn
    for k in range(60):
        s = unit * z / (1.0 - z)
        solve_two(S00 + s, S01, S10, S11 + s, r0, r1, &b0, &b1)
        ln = -(c[0] + G[o + 1] * b0 + G[o + 2] * b1) / gn
        if vt_sqrt(b0 * b0 + b1 * b1) > x.mu[i] * ln:
            low = z
        elif k == 0:
            break           # it sticks
        else:
            high = z
        z = 0.5 * (low + high)
    if ln > 0.0:
        lam[o], lam[o + 1], lam[o + 2] = ln, x.lead[2 * i] * ln + b0, x.lead[2 * i + 1] * ln + b1


cdef inline void solve_two(double a, double b, double c, double d, double r, double s, double* x, double* y) noexcept nogil:
    cdef double det = a * d - b * c
    if fabs(det) > 1e-300:
        x[0], y[0] = (d * r - b * s) / det, (a * s - c * r) / det
    else:
        x[0] = y[0] = 0.0


# ---- a log of problems, for benchmarks -------------------------------------------------------------------

cdef struct ProblemLog:
    double* at
    size_t room
    size_t used
    size_t least            # the smallest problem that is kept, in rows


cdef ProblemLog problem_log
memset(&problem_log, 0, sizeof(ProblemLog))


cdef void log_problem(ContactProblem* x, double goal) noexcept nogil:
    # count, n, goal, law, dim, mu, lead, b, lam, G; nothing where it does not fit
    cdef size_t size = 3 + 5 * x.count + 2 * x.n + x.n * x.n
    cdef double* to
    cdef int k
    if x.n < <int>problem_log.least or problem_log.used + size > problem_log.room:
        return
    cones_form(x)
    to = problem_log.at + problem_log.used
    problem_log.used += size
    to[0], to[1], to[2] = x.count, x.n, goal
    to += 3
    for k in range(x.count):
        to[k], to[x.count + k], to[2 * x.count + k] = x.law[k], x.dim[k], x.mu[k]
    memcpy(to + 3 * x.count, x.lead, 2 * x.count * sizeof(double))
    to += 5 * x.count
    memcpy(to, x.b, x.n * sizeof(double))
    memcpy(to + x.n, x.lam, x.n * sizeof(double))
    memcpy(to + 2 * x.n, x.G, x.n * x.n * sizeof(double))


def record_problems(size_t room, size_t least=1):
    """Keep the contact problems of at least so many rows that are solved from here on, in so many numbers (0: none).

    Returns those that were kept so far, lists of the arguments of :func:`solve_cones`. For benchmarks, of one thread.
    """
    cdef double* to = problem_log.at
    found = []
    while to < problem_log.at + problem_log.used:
        count, n, goal = int(to[0]), int(to[1]), to[2]
        size = 3 + 5 * count + 2 * n + n * n
        sizes = np.cumsum([count, count, count, 2 * count, n, n])
        law, dim, mu, lead, b, lam, G = np.split(np.array(<double[:size]>to)[3:], sizes)
        found.append([dim.astype(int), G.reshape(n, n), b, mu, lead.reshape(count, 2), lam, goal, law.astype(int)])
        to += <size_t>size
    to = NULL
    free(problem_log.at)
    memset(&problem_log, 0, sizeof(ProblemLog))
    if room:
        to = <double*>realloc(NULL, room * sizeof(double))
        if to == NULL:
            raise MemoryError
        problem_log.at, problem_log.room, problem_log.least = to, room, least
    return found


def solve_cones(dim, G, b, mu, lead, lam, double goal, law=None):
    """Solve a complementarity problem of contacts from a guess of the impulses.

    Parameters: rows of each contact (1 or 3), G (n, n), b (n,), friction (count,), lead (count, 2), lam (n,), the
    tolerance of the natural residual [m/s], and laws (0: contact, 1: bilateral rows, 2: a row of dry friction). Returns
    lam, w, the natural residual, corrections and sweeps.
    """
    cdef ContactProblem x
    cdef int k, n = sum(dim), count = len(dim)
    cdef const double[:, ::1] given = np.ascontiguousarray(G, dtype=float)
    memset(&x, 0, sizeof(x))
    require_size(given.shape[0], n, "rows of G")
    require_size(given.shape[1], n, "columns of G")
    require_size(len(b), n, "entries of b")
    require_size(len(lam), n, "impulses")
    require_size(len(mu), count, "coefficients of friction")
    if cones_room(&x, count, n, 0) != OK:
        raise MemoryError
    try:
        x.count, x.n, x.budget = count, n, STEP_BUDGET
        row = 0
        for k in range(count):
            x.dim[k], x.row[k], x.mu[k], x.law[k] = dim[k], row, mu[k], 0 if law is None else law[k]
            x.lead[2 * k], x.lead[2 * k + 1] = lead[k]
            row += dim[k]
        for k in range(n):
            x.b[k], x.lam[k] = b[k], lam[k]
        if n:
            memcpy(x.G, &given[0, 0], n * n * sizeof(double))
        cones_formed(&x)
        residual = cone_solve(&x, goal)
        return (np.array([x.lam[k] for k in range(n)]), np.array([x.w[k] for k in range(n)]), residual,
                x.corrections, x.sweeps)
    finally:
        free(x.G)
