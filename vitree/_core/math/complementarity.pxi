# The solution of problems of contacts with friction: corrections of the natural residual (cones.pxi), which converge from
# most guesses. Where |F| has other minima, at the edges of sticking and sliding and in jams, the alternating direction method
# of multipliers, sweeps and the proximal point iteration (Rockafellar 1976) follow; problems of joints and feet that stick
# have a compliance before that (`cone_ease`). The corrections of a step are bounded.
# Rows of turning, bilateral rows, and problems of several trees. One lane.

cdef enum:
    EASED_TRIES = 6         # compliances that are tried, each with so many
    EASED_CORRECTIONS = 15  # corrections
    CONE_SWEEPS = 20        # sweeps where corrections fail
    PROXIMAL_PASSES = 40    # most regularised problems
    PROXIMAL_CORRECTIONS = 30   # most corrections of a regularised problem
    PROXIMAL_SWEEPS = 5     # sweeps where these fail
    PROXIMAL_FAILED = 6     # so many failures in a row lead back to the best lam
    PROXIMAL_BUDGET = 60    # most corrections of all regularised problems
    LAST_RESORT = 15        # and sweeps, until so many more are used
    SWEEPS_OF_CORRECTION = 10   # sweeps that cost about as much as a correction
    SPLIT_ROUNDS = 12       # penalties of alternating directions that are tried, each with so many
    SPLIT_PASSES = 40       # iterations, and so many corrections from their end
    SPLIT_CORRECTIONS = 12
    CREEPS = 3              # most coefficients of a creep that are tried
    CREEP_BUDGET = 40       # corrections with each
    ALONE_PASSES = 20       # most passes for a contact that slides alone
    BALL_PASSES = 50        # and of a projection

#: The least and the largest first compliance of what is over-held relative to the diagonal of G, the factor to the next, and
#: the fraction of |F| to which such a problem is solved
cdef double EASED_LEAST = 1e-8
cdef double EASED_MOST = 1e-3
cdef double EASED_MORE = 10.0
cdef double EASED_SHARE = 1e-2
#: The first, the least and the largest regularisation relative to the diagonal of G, the least relative diagonal, the
#: fraction of |F| to which a regularised problem is solved, and the shift of its corrections
cdef double PROXIMAL_FIRST = 0.1
cdef double PROXIMAL_LAST = 1e-9
cdef double PROXIMAL_MOST = 100.0
cdef double PROXIMAL_LEAST = 1e-9
cdef double PROXIMAL_SHARE = 1e-2
cdef double PROXIMAL_SHIFT = 1e-12
#: The first coefficient of a creep relative to the diagonal of G, the factor to the next, and by how much the residual may
#: be larger than without
cdef double CREEP_FIRST = 1e-6
cdef double CREEP_MORE = 100.0
cdef double CREEP_WORSE = 10.0
#: The first penalty of alternating directions relative to the diagonal of G, the least, and the ratio of residuals from which
#: on another one balances them
cdef double SPLIT_FIRST = 0.1
cdef double SPLIT_LEAST = 1e-8
cdef double SPLIT_RATIO = 3.0
#: Impulses of alternating directions cause velocities of single contacts that are at most so many times those without
cdef double SPLIT_MOST = 1e5
#: The fraction of the bound of its friction that the impulses of a contact alone may leave
cdef double ALONE_LEFT = 1e-9
#: Planar mechanisms have tangential rows of zeros: this fraction of the other's magnitude is added
cdef double CONE_SHIFT = 1e-13
#: Least response of a row of rotation relative to that of slips that counts
cdef double LEAST_TURN = 1e-10
#: Least radius of the ball of friction relative to a point outside of it that is projected
cdef double LEAST_BALL = 1e-30


cdef double pushes(const ContactProblem* x, const double* lam) noexcept nogil:
    # the sum of the normal impulses of contacts
    cdef int k
    cdef double s = 0.0
    for k in range(x.count):
        if x.law[k] == CONE:
            s += lam[x.row[k]]
    return s


cdef double held_least(const ContactProblem* x) noexcept nogil:
    # bilateral rows may constrain what cannot move, as a wheel's normal in a planar mechanism
    cdef int i, k
    cdef double most = 0.0
    for i in range(x.count):
        if x.law[i] == HOLD:
            for k in range(x.row[i], x.row[i] + x.dim[i]):
                most = max(most, x.diagonal[k])
    return LEAST_HELD * most


cdef void wide_law(const ContactProblem* x, int i, const double* lam, const double* w, double* F, double* S,
                   double* L) noexcept nogil:
    # of all rows of friction of a contact with more than two. Rotations respond much less than slips, so that each row
    # has its own rho, and the projection to the ball |beta| <= B = mu lam_n is the one in the metric of these:
    #     y = beta - w/rho,    beta* = B u = rho y/(rho + tau),  |u| = 1,    F = weight rho (beta - beta*),
    # with the derivatives d = rho/(rho + tau), c = u/(rho + tau), q = c.u:
    #     dbeta*_j/dy_k = d_j (j = k) - c_j rho_k c_k/q,    dbeta*_j/dB = c_j/q
    cdef int n = x.dim[i] - 1, j, k
    cdef const double* lead = x.lead + LEADS * i
    cdef double B = x.mu[i] * max(lam[0], 0.0), size = 0.0, tau, q, by_y, by_beta, weight
    cdef double rho[LEADS]
    cdef double beta[LEADS]
    cdef double y[LEADS]
    cdef double u[LEADS]
    cdef double c[LEADS]
    cdef bint point
    wide_responses(x, i, rho)
    for j in range(n):
        rho[j] *= x.share
        beta[j] = lam[1 + j] - lead[j] * lam[0]
        y[j] = beta[j] - w[1 + j] / rho[j]
        size += y[j] * y[j]
    size = vt_sqrt(size)
    if size <= B:
        for j in range(n):
            weight = row_weight(rho, j)
            F[1 + j] = weight * w[1 + j]
            if S != NULL:
                S[(WIDE + 1) * (1 + j)] = weight
        return
    # a ball of which nothing but its centre is to be told apart has the directions of the limit
    point = not B > LEAST_BALL * size
    tau = 0.0 if point else ball_multiplier(n, rho, y, B)
    size = 0.0
    for j in range(n):
        u[j] = rho[j] * y[j] if point else rho[j] / (rho[j] + tau) * y[j]
        size += u[j] * u[j]
    size = vt_sqrt(size)
    q = 0.0
    for j in range(n):
        u[j] /= size
        c[j] = u[j] if point else u[j] / (rho[j] + tau)
        q += c[j] * u[j]
    for j in range(n):
        weight = row_weight(rho, j)
        F[1 + j] = weight * rho[j] * (beta[j] - B * u[j])
        if S == NULL:
            continue
        for k in range(n):
            by_y = 0.0
            if not point:
                by_y = (rho[j] / (rho[j] + tau) if j == k else 0.0) - c[j] * rho[k] * c[k] / q
            by_beta = weight * rho[j] * ((1.0 if j == k else 0.0) - by_y)
            S[WIDE * (1 + j) + 1 + k] = weight * rho[j] * by_y / rho[k]
            L[WIDE * (1 + j) + 1 + k] = by_beta
            L[WIDE * (1 + j)] -= by_beta * lead[k]
        if lam[0] > 0.0:
            L[WIDE * (1 + j)] -= weight * rho[j] * c[j] / q * x.mu[i]


cdef inline void wide_responses(const ContactProblem* x, int i, double* rho) noexcept nogil:
    # the responses of a contact's rows of friction, means of rows that are alike; in planar mechanisms some are zero
    cdef const double* own = x.diagonal + x.row[i]
    cdef int n = x.dim[i] - 1, j
    rho[0] = rho[1] = 0.5 * (own[1] + own[2])
    if not rho[0] > LEAST_TURN * own[0]:
        rho[0] = rho[1] = own[0]
    for j in range(2, n):
        rho[j] = own[1 + j]
    if n > 3:
        rho[n - 2] = rho[n - 1] = 0.5 * (own[n - 1] + own[n])
    for j in range(2, n):
        rho[j] = max(rho[j], LEAST_TURN * rho[0])


cdef inline double row_weight(const double* rho, int j) noexcept nogil:
    # of a row of F: those of rotations count as much as those of slips
    return vt_sqrt(rho[0] / rho[j]) if j > 1 else 1.0


cdef double ball_multiplier(int n, const double* rho, const double* y, double B) noexcept nogil:
    # tau > 0 at which |rho y/(rho + tau)| = B < |y|, by Newton's method for 1/|.| (More & Sorensen 1983), which increases
    # towards it from a lower bound
    cdef double tau = 0.0, more, g, slope, one
    cdef int j, k
    for j in range(n):
        tau = max(tau, rho[j] * (fabs(y[j]) / B - 1.0))
    for k in range(BALL_PASSES):
        g = slope = 0.0
        for j in range(n):
            one = rho[j] / (rho[j] + tau) * y[j]
            g += one * one
            slope += one * one / (rho[j] + tau)
        more = g / slope * (vt_sqrt(g) / B - 1.0)
        if not more > 1e-16 * tau:
            break
        tau += more
    return tau


cdef double wide_proximal(const ContactProblem* x, int i, int j) noexcept nogil:
    # of a row of rotation
    cdef double rho[LEADS]
    wide_responses(x, i, rho)
    return x.proximal * rho[j - 1] * row_weight(rho, j - 1)


cdef void held_block(const ContactProblem* x, int i, double* D, bint* found) noexcept nogil:
    # of bilateral rows
    cdef double one
    cdef int j
    memset(D, 0, 3 * WIDE * sizeof(double))
    for j in range(x.dim[i]):
        one = compliance(x, i, j) + proximal(x, i, j)
        found[0] = found[0] and one > 0.0
        D[(WIDE + 1) * j] = 1.0 / one


cdef void wide_block(const ContactProblem* x, int i, double* D, bint* found) noexcept nogil:
    # D^-1 of a contact with more than two rows of friction, column by column; rows may have different magnitudes
    cdef int o = x.row[i], n = x.dim[i], j, k
    cdef double A[WIDE * WIDE]
    cdef double column[WIDE]
    cdef double scales[WIDE]
    cdef int order[WIDE]
    for j in range(n):
        for k in range(n):
            A[n * j + k] = x.by_lam[WIDE * (o + j) + k] + x.by_w[WIDE * (o + j) + k] * compliance(x, i, k)
        A[(n + 1) * j] += proximal(x, i, j)
        scales[j] = largest(A + n * j, n)
        if not scales[j] > 0.0:
            found[0] = False
            return
        scales[j] = 1.0 / scales[j]
        for k in range(n):
            A[n * j + k] *= scales[j]
    lu_of_lanes(A, n, order, found)
    if not found[0]:
        return
    for k in range(n):
        memset(column, 0, n * sizeof(double))
        column[k] = scales[k]
        lu_solve(A, n, order, column)
        for j in range(n):
            D[WIDE * j + k] = column[j]


# ---- several trees -------------------------------------------------------------------------------------


cdef inline int port_on_side(const TouchRow* W, int side) noexcept nogil:
    # the first port of a row's body, or -1
    return W.b if side else W.a


cdef inline int tree_on_side(const ContactProblem* x, const TouchRow* W, int side) noexcept nogil:
    return x.on.of_port[port_on_side(W, side)] - x.on.base


cdef inline const double* wrench_on_side(const TouchRow* W, int side) noexcept nogil:
    # and its wrench on that body
    return &W.on_b[0] if side else &W.on_a[0]


cdef bint plan_trees(ContactProblem* x) noexcept nogil:
    # the blocks of 1 + P K, and P W1
    cdef PortBlocks* z = &x.store.blocks
    cdef int i, k, side, at, s, o
    cdef size_t used = 0
    cdef const TouchRow* W
    if not (blocks_begin(z, &x.on, x.ports) and grow(<void**>&z.pushed_at, &z.rows_room, 2 * x.n, sizeof(size_t))):
        return False
    for i in range(x.count):
        W = &x.W1[x.row[i]]
        if W.a >= 0 and W.b >= 0:
            blocks_join(z, &x.on, tree_on_side(x, W, 0), tree_on_side(x, W, 1))
    if not blocks_plan(z, &x.on):
        return False
    for k in range(2 * x.n):
        at = port_on_side(&x.W1[k >> 1], k & 1)
        z.pushed_at[k] = used
        used += x.on.size[x.on.of_port[at] - x.on.base] if at >= 0 else 0
    if not grow(<void**>&z.pushed, &z.pushed_room, used, sizeof(double)):
        return False
    for k in range(x.n):
        W = &x.W1[k]
        for side in range(2):
            at = port_on_side(W, side)
            if at < 0:
                continue
            s = tree_on_side(x, W, side)
            o = x.on.first[s]
            if x.on.size[s] == 6 and (side or W.size == 6):
                vt_times_six(port_answer(x, o) + o, 6, wrench_on_side(W, side), z.pushed + z.pushed_at[2 * k + side])
                continue
            for i in range(x.on.size[s]):
                z.pushed[z.pushed_at[2 * k + side] + i] = vt_inner(6 if side else W.size, port_answer(x, o + i) + at,
                                                                   wrench_on_side(W, side))
    return True


cdef bint cone_by_trees(ContactProblem* x) noexcept nogil:
    # as `cone_through_ports`, with 1 + P K by blocks of trees: (P W1) T W2^T of each contact
    cdef PortBlocks* z = &x.store.blocks
    cdef int i, j, k, l, o, dim, s, t, to, by, at, size, one, other
    cdef double T[WIDE * WIDE]
    cdef double e[WIDE]
    cdef double Y[6 * WIDE]
    cdef double* A
    cdef const double* pushed
    cdef bint idle, found
    if not x.planned:
        if not plan_trees(x):
            return False
        x.planned = True
    memset(z.data, 0, z.used * sizeof(double))
    memset(x.answer, 0, x.ports * sizeof(double))
    for s in range(x.on.count):
        for k in range(x.on.size[s]):
            z.data[z.at[s * z.trees + s] + k * (x.on.size[s] + 1)] = 1.0
    for i in range(x.count):
        o, dim = x.row[i], x.dim[i]
        found = idle = True
        cone_blocks(x, i, T, e, &found)
        if not found:
            return False
        for j in range(dim):
            for k in range(dim):
                idle = idle and T[WIDE * j + k] == 0.0
        # contacts that are open do not couple
        for by in range(0 if idle else 2):
            at = port_on_side(&x.W2[o], by)
            if at < 0:
                continue
            t, size = tree_on_side(x, &x.W2[o], by), 6 if by else x.W2[o].size
            other = at - x.on.first[t]
            if dim == 3 and size == 6:
                vt_three_sixes(T, WIDE, wrench_on_side(&x.W2[o], by), wrench_on_side(&x.W2[o + 1], by),
                               wrench_on_side(&x.W2[o + 2], by), Y)
            for j in range(dim if dim != 3 or size != 6 else 0):
                for l in range(size):
                    Y[6 * j + l] = 0.0
                for k in range(dim):
                    vt_add_row(size, T[WIDE * j + k], wrench_on_side(&x.W2[o + k], by), Y + 6 * j)
            for to in range(2):
                at = port_on_side(&x.W1[o], to)
                if at < 0:
                    continue
                s, one = tree_on_side(x, &x.W1[o], to), x.on.size[t]
                A = z.data + z.at[s * z.trees + t] + other
                if dim == 3 and size == 6:
                    vt_add_three(x.on.size[s], z.pushed + z.pushed_at[2 * o + to], z.pushed + z.pushed_at[2 * o + 2 + to],
                                 z.pushed + z.pushed_at[2 * o + 4 + to], Y, one, A)
                    continue
                for j in range(dim):
                    pushed = z.pushed + z.pushed_at[2 * (o + j) + to]
                    for k in range(x.on.size[s]):
                        vt_add_row(size, pushed[k], Y + 6 * j, A + k * one)
        for to in range(2):
            for j in range(dim):
                push_tree(x, o + j, to, e[j])
    if not blocks_solve(z, &x.on, x.first, x.answer):
        return False
    cone_from_ports(x)
    return True


# ---- the solution --------------------------------------------------------------------------------------


cdef double cone_ease(ContactProblem* x, double goal) noexcept nogil:
    # lam of the problem with a compliance about the guess,
    #     G + a diag G,    b - a diag(G) lam of the guess,
    # of which lam moves by about |b| if a is |F| of the guess relative to |b|; with a larger one if corrections do not find
    # it. Returns the largest |F| without the compliance
    cdef double e = cone_map(x, x.given, x.w, x.F, False), asked = max(goal, EASED_SHARE * e)
    cdef double a = min(max(e / largest(x.b, x.n), EASED_LEAST), EASED_MOST)
    cdef int i, k
    shift_begin(x)
    for k in range(EASED_TRIES):
        x.shift = x.own + 2 * x.n
        for i in range(x.n):
            shift_row(x, i, a * x.own[i], x.given)
        memcpy(x.lam, x.given, x.n * sizeof(double))
        e = cone_descend(x, asked, EASED_CORRECTIONS, False)
        shift_end(x)
        if e <= asked:
            break
        a *= EASED_MORE
    return cone_map(x, x.lam, x.w, x.F, False)


cdef double cone_solve(ContactProblem* x, double goal, double enough, bint eased=False) noexcept nogil:
    # lam with |F| <= goal from the guess, by corrections of F; where these end above `enough`, with |F| <= enough by
    # sweeps and regularised problems. Returns the largest |F|, and where it is larger the lam of the least. eased: the
    # problem is that of a trial, and where it is over-held a compliance will do, which counts as `enough`
    cdef double e
    if problem_log.room:
        log_problem(x, goal)
    x.planned = False
    memcpy(x.given, x.lam, x.n * sizeof(double))
    e = cone_descend(x, goal, first_corrections(x), False)
    if e <= enough or not isfinite(e):
        return e
    if over_held(x):
        e = cone_ease(x, goal)
        if eased or e <= enough:
            return min(e, enough)
        e = cone_descend(x, goal, CONE_PASSES, False)
        if e <= enough or not isfinite(e):
            return e
    memcpy(x.kept, x.lam, x.n * sizeof(double))
    if x.budget > -LAST_RESORT:
        e = cone_alternate(x, e, goal, enough)
        if e <= enough:
            return e
        x.budget -= x.price * CONE_SWEEPS / SWEEPS_OF_CORRECTION
        cone_sweep(x, CONE_SWEEPS)
        e = cone_proximal(x, e, enough)
    return cone_creep(x, e, goal) if e > enough else e


cdef void project_on_cone(const ContactProblem* x, int i, const double* a, double* z) noexcept nogil:
    # the impulses of a contact that are nearest to a: its friction beta within mu lam_n
    cdef int k, n = x.dim[i]
    cdef double s = 0.0, size, mu = x.mu[i]
    if x.law[i] == HOLD:
        memcpy(z, a, n * sizeof(double))
        return
    if x.law[i] == RUB:
        z[0] = min(max(a[0], x.lead[LEADS * i] - mu), x.lead[LEADS * i] + mu)
        return
    for k in range(1, n):
        s += a[k] * a[k]
    s = vt_sqrt(s)
    if n == 1 or mu * s <= -a[0]:
        z[0] = max(a[0], 0.0)
        memset(z + 1, 0, (n - 1) * sizeof(double))
    elif s <= mu * a[0]:
        memcpy(z, a, n * sizeof(double))
    else:
        z[0] = (a[0] + mu * s) / (1.0 + mu * mu)
        size = mu * z[0] / s
        for k in range(1, n):
            z[k] = size * a[k]


cdef bint split_factor(ContactProblem* x, double penalty, const double* scale) noexcept nogil:
    # T^T G T + penalty scale I, where lam = T (lam_n, beta), in its triangular factors; whether it has them
    cdef int i, j, k, o, n = x.n
    cdef double* H = x.G + n * n
    cdef const double* lead
    memcpy(H, x.G, n * n * sizeof(double))
    for i in range(x.count):
        o, lead = x.row[i], x.lead + LEADS * i
        for j in range(1, x.dim[i] if x.law[i] == CONE else 1):
            for k in range(n if lead[j - 1] != 0.0 else 0):
                H[k * n + o] += lead[j - 1] * H[k * n + o + j]
            vt_add_row(n if lead[j - 1] != 0.0 else 0, lead[j - 1], H + (o + j) * n, H + o * n)
    for k in range(n):
        H[k * (n + 1)] += penalty * scale[k]
    return lu_factor(H, n, x.order) == OK


cdef inline void split_shift(const ContactProblem* x, int i, const double* y, double sign, double* s) noexcept nogil:
    # mu |w_t| - lead . w_t of a contact, with w_t = -sign y_t
    cdef double slip = 0.0, along = 0.0
    cdef int k
    if x.law[i] != CONE or x.dim[i] == 1:
        return
    for k in range(1, x.dim[i]):
        slip += y[k] * y[k]
        along += x.lead[LEADS * i + k - 1] * y[k]
    s[0] = x.mu[i] * vt_sqrt(slip) + sign * along


cdef double cone_alternate(ContactProblem* x, double best, double goal, double enough) noexcept nogil:
    # Alternating directions (ADMM; Boyd et al. 2011, "Distributed optimization and statistical learning via the alternating
    # direction method of multipliers") with impulses lam and others z within the cones, which become equal:
    #     (G + rho) lam = rho z - y - b - s,    z = the nearest to lam + y/rho in the cones,    y += rho (lam - z),
    # where -y - s tends to w. The shift s_n = mu |w_t| makes the normal law of such a minimum that of Coulomb's friction
    # (De Saxce & Feng 1998; Carpentier, Le Lidec & Montaut 2024, "From compliant to rigid contact simulation"). From its end
    # corrections of F follow. `kept` has the best lam so far. Returns the largest |F|
    cdef int i, j, k, o, turn, n = x.n
    cdef double* y = x.split
    cdef double* z = x.split + n
    cdef double* s = x.split + 2 * n
    cdef double* b = x.split + 3 * n
    cdef double* scale = x.split + 4 * n
    cdef double* before = x.split + 5 * n
    cdef double* lam = x.d
    cdef const double* lead
    cdef double penalty = SPLIT_FIRST, e = best, size, off, off_most, way, way_most, rho, most
    if cones_form(x) != OK:
        return best
    cone_velocities(x, x.lam, x.w)
    for i in range(x.count):
        o, lead, size = x.row[i], x.lead + LEADS * i, 0.0
        for j in range(x.dim[i]):
            size = max(size, x.diagonal[o + j])
            y[o + j], z[o + j], s[o + j], b[o + j] = 0.0, x.lam[o + j], 0.0, x.b[o + j]
        for j in range(x.dim[i]):
            scale[o + j] = size if size > 0.0 else 1.0
        for j in range(1, x.dim[i] if x.law[i] == CONE else 1):
            z[o + j] -= lead[j - 1] * z[o]
            b[o] += lead[j - 1] * x.b[o + j]
        split_shift(x, i, x.w + o, -1.0, s + o)
    for turn in range(SPLIT_ROUNDS):
        if not split_factor(x, penalty, scale):
            break
        off = off_most = way = way_most = 0.0
        for k in range(SPLIT_PASSES):
            for i in range(n):
                lam[i] = penalty * scale[i] * z[i] - y[i] - b[i] - s[i]
            lu_solve(x.G + n * n, n, x.order, lam)
            memcpy(before, z, n * sizeof(double))
            for i in range(x.count):
                o = x.row[i]
                rho = penalty * scale[o]
                for j in range(x.dim[i]):
                    x.trial[o + j] = lam[o + j] + y[o + j] / rho
                project_on_cone(x, i, x.trial + o, z + o)
                for j in range(x.dim[i]):
                    y[o + j] += rho * (lam[o + j] - z[o + j])
                split_shift(x, i, y + o, 1.0, s + o)
        for i in range(n):
            off = max(off, scale[i] * fabs(lam[i] - z[i]))
            off_most = max(off_most, scale[i] * max(fabs(lam[i]), fabs(z[i])))
            way = max(way, scale[i] * fabs(z[i] - before[i]))
            way_most = max(way_most, fabs(y[i]))
        x.budget -= x.price
        for i in range(x.count):
            o, lead = x.row[i], x.lead + LEADS * i
            memcpy(x.lam + o, z + o, x.dim[i] * sizeof(double))
            for j in range(1, x.dim[i] if x.law[i] == CONE else 1):
                x.lam[o + j] += lead[j - 1] * z[o]
        e, most = cone_descend(x, goal, SPLIT_CORRECTIONS, False), 0.0
        for i in range(n):
            most = max(most, scale[i] * fabs(x.lam[i]))
        if e < best and most <= SPLIT_MOST * largest(x.b, n):
            best = e
            memcpy(x.kept, x.lam, n * sizeof(double))
        if best <= enough or not isfinite(e) or x.budget <= -LAST_RESORT:
            break
        # relative residuals of impulses and of velocities
        off, way = off / max(off_most, 1e-300), penalty * way / max(way_most, 1e-300)
        if off > SPLIT_RATIO * way:
            penalty *= min(vt_sqrt(off / max(way, 1e-300)), 10.0)
        elif way > SPLIT_RATIO * off:
            penalty = max(penalty / min(vt_sqrt(way / max(off, 1e-300)), 10.0), SPLIT_LEAST)
    memcpy(x.lam, x.kept, n * sizeof(double))
    return cone_map(x, x.lam, x.w, x.F, False)


cdef void shift_begin(ContactProblem* x) noexcept nogil:
    # keep the diagonal and b of a problem that is to be regularised, in `own`; the third part of it is for the shift
    memcpy(x.own, x.diagonal, x.n * sizeof(double))
    memcpy(x.own + x.n, x.b, x.n * sizeof(double))


cdef inline void shift_row(ContactProblem* x, int i, double size, const double* lam) noexcept nogil:
    # w of a row with a regularisation of this size, which vanishes at some impulses: w + size (lam - these)
    x.own[2 * x.n + i] = size
    x.diagonal[i] = x.own[i] + size
    x.b[i] = x.own[x.n + i] - size * lam[i]


cdef void shift_end(ContactProblem* x) noexcept nogil:
    # the problem without regularisation
    x.shift = NULL
    memcpy(x.diagonal, x.own, x.n * sizeof(double))
    memcpy(x.b, x.own + x.n, x.n * sizeof(double))


cdef double cone_creep(ContactProblem* x, double best, double goal) noexcept nogil:
    # Of what is jammed w may be in the range of no impulses: G = W2^T P W1 has a null space, impulses along a line between
    # two contacts within the cones of both, and b is a little outside of its range, as the rows turn within the step. Here
    # contacts that stick creep,
    #     w_t = (G lam + b)_t + a diag_t (lam - lam of the guess)_t,
    # so that there are impulses of ordinary size, with no error of w_n. `kept` has the best lam so far. Returns the
    # largest |F|
    cdef double budget = x.budget, e = best, a = CREEP_FIRST
    cdef const double* diagonal = x.own
    cdef double* shift = x.own + 2 * x.n
    cdef int i, j, k, o
    cdef bint solved = False
    shift_begin(x)
    for k in range(CREEPS):
        memcpy(x.lam, x.given, x.n * sizeof(double))
        memset(shift, 0, x.n * sizeof(double))
        for i in range(x.count):
            o = x.row[i]
            for j in range(1, x.dim[i] if x.law[i] == CONE else 1):
                shift_row(x, o + j, a * diagonal[o + j], x.given)
        x.shift, x.budget = shift, CREEP_BUDGET
        solved = cone_descend(x, goal, CONE_PASSES, False) <= goal
        shift_end(x)
        if solved:
            break
        a *= CREEP_MORE
    x.budget = budget
    e = cone_map(x, x.lam, x.w, x.F, False)
    if solved and e <= CREEP_WORSE * best:
        return e
    memcpy(x.lam, x.kept, x.n * sizeof(double))
    return cone_map(x, x.lam, x.w, x.F, False)


cdef double cone_proximal(ContactProblem* x, double best, double goal) noexcept nogil:
    # the proximal point iteration (Rockafellar 1976): lam solves the problem with
    #     G + a diag G,   b - a diag(G) lam_before,
    # whose fixed points are the solutions. With a large the regularised problem is one of single contacts; with a small
    # lam moves far along the null space of G, which solutions of jammed and hyperstatic contacts need. There the
    # velocities are of the order a diag(G) lam, and rho is scaled by a. `kept` has the best lam so far. Returns the
    # largest |F|
    cdef double a = PROXIMAL_FIRST, e = cone_map(x, x.lam, x.w, x.F, False), inner_goal
    cdef double most = largest(x.diagonal, x.n)
    cdef const double* diagonal = x.own
    cdef long last = x.corrections + PROXIMAL_BUDGET
    cdef int i, j, k, failed = 0, n = x.n
    cdef bint solved
    x.proximal = PROXIMAL_SHIFT
    shift_begin(x)
    for k in range(PROXIMAL_PASSES + 1):
        if e < best:
            best = e
            memcpy(x.kept, x.lam, n * sizeof(double))
        if best <= goal or x.corrections > last or x.budget <= 0.0 or not isfinite(e) or k == PROXIMAL_PASSES:
            break
        inner_goal = max(0.5 * goal, PROXIMAL_SHARE * best)
        x.shift = x.own + 2 * x.n
        for i in range(n):
            shift_row(x, i, a * max(diagonal[i], PROXIMAL_LEAST * most), x.lam)
        solved = False
        for j in range(3):
            # another rho, then another start
            if j == 2:
                cone_sweep(x, PROXIMAL_SWEEPS)
            x.share = min(1.0, (1.0 if j == 1 else 10.0) * a)
            solved = cone_descend(x, inner_goal, PROXIMAL_CORRECTIONS, True) <= inner_goal
            if solved or x.corrections > last or x.budget <= 0.0:
                break
        x.share = 1.0
        shift_end(x)
        e = cone_map(x, x.lam, x.w, x.F, False)
        if solved:
            a, failed = max(a / 3.0, PROXIMAL_LAST), 0
        else:
            a, failed = min(4.0 * a, PROXIMAL_MOST), failed + 1
            if failed == PROXIMAL_FAILED:
                memcpy(x.lam, x.kept, n * sizeof(double))
                failed = 0
    memcpy(x.lam, x.kept, n * sizeof(double))
    return cone_map(x, x.lam, x.w, x.F, False)


cdef double cone_unscaled(ContactProblem* x) noexcept nogil:
    # the largest |F| of the current velocities with the share 1
    cdef double share = x.share, e
    x.share = 1.0
    e = cone_judge(x, x.lam, x.w, x.trial_F, False)
    x.share = share
    return e


# ---- sweeps ------------------------------------------------------------------------------------------

cdef void cone_sweep(ContactProblem* x, int sweeps) noexcept nogil:
    # each contact solved exactly in turn, with the others fixed (Jourdan, Alart & Jean 1998)
    cdef int sweep, i, j, o, side
    cdef bint trees = x.W1 != NULL and x.on.count > 1
    cdef double before[WIDE]
    if not sweeps_begin(x, trees):
        return
    for sweep in range(sweeps):
        x.sweeps += 1
        for i in range(x.count):
            o = x.row[i]
            memcpy(before, x.lam + o, x.dim[i] * sizeof(double))
            cone_alone(x, i, trees, x.lam)
            for j in range(x.dim[i] if trees else 0):
                if x.lam[o + j] != before[j]:
                    for side in range(2):
                        push_tree(x, o + j, side, x.lam[o + j] - before[j])


cdef bint sweeps_begin(ContactProblem* x, bint trees) noexcept nogil:
    # G of single contacts, and P W1 lam in `answer`, or G
    cdef int i, j, k, o, side, by, at
    cdef const TouchRow* W
    cdef PortBlocks* z = &x.store.blocks
    cdef double s
    if not trees:
        if cones_form(x) != OK:
            return False
        for i in range(x.count):
            o = x.row[i]
            for j in range(x.dim[i]):
                for k in range(x.dim[i]):
                    x.own_block[WIDE * (o + j) + k] = x.G[(o + j) * x.n + o + k]
        return True
    if not x.planned and not plan_trees(x):
        return False
    x.planned = True
    memset(x.answer, 0, x.ports * sizeof(double))
    for k in range(x.n):
        for side in range(2):
            push_tree(x, k, side, x.lam[k])
    for i in range(x.count):
        o = x.row[i]
        for j in range(x.dim[i]):
            W = &x.W2[o + j]
            for k in range(x.dim[i]):
                s = x.give[i] if j == 0 and k == 0 else 0.0
                for by in range(2):
                    at = port_on_side(W, by)
                    for side in range(2 if at >= 0 else 0):
                        if port_on_side(&x.W1[o + k], side) >= 0 and tree_on_side(x, W, by) == tree_on_side(x, &x.W1[o + k], side):
                            s += vt_inner(6 if by else W.size, wrench_on_side(W, by), z.pushed
                                          + z.pushed_at[2 * (o + k) + side] + at - x.on.first[tree_on_side(x, W, by)])
                x.own_block[WIDE * (o + j) + k] = s
    return True


cdef inline void push_tree(ContactProblem* x, int k, int side, double size) noexcept nogil:
    # `answer` += size times the motion of the ports by a row's impulse on one side
    cdef int s
    if port_on_side(&x.W1[k], side) >= 0:
        s = tree_on_side(x, &x.W1[k], side)
        if x.on.size[s] == 6:
            vt_add_row(6, size, x.store.blocks.pushed + x.store.blocks.pushed_at[2 * k + side],
                       x.answer + x.on.first[s] - x.first)
            return
        vt_add_row(x.on.size[s], size, x.store.blocks.pushed + x.store.blocks.pushed_at[2 * k + side],
                   x.answer + x.on.first[s] - x.first)


cdef void cone_alone(const ContactProblem* x, int i, bint trees, double* lam) noexcept nogil:
    # the exact impulse of one contact with the others fixed; unchanged where no impulse separates
    cdef int n = x.n, o = x.row[i], j, k, side = 0
    cdef double own[WIDE * WIDE]
    cdef double c[WIDE]
    cdef double S00, S01, S10, S11, gn, g0, g1, r0, r1, b0, b1, ln, low, high, f, f_low, f_high, s, z, unit, shift
    # its own block, and its velocity without its own impulse
    for j in range(x.dim[i]):
        c[j] = x.b[o + j]
        if trees:
            c[j] += along_row(&x.W2[o + j], x.answer - x.first)
            if j == 0:
                c[0] += x.give[i] * lam[o]
        else:
            c[j] += vt_inner(n, x.G + (o + j) * n, lam)
        for k in range(x.dim[i]):
            own[WIDE * j + k] = x.own_block[WIDE * (o + j) + k]
            c[j] -= own[WIDE * j + k] * lam[o + k]
        if x.shift != NULL:
            own[(WIDE + 1) * j] += x.shift[o + j]
    if x.law[i] != CONE:
        row_alone(x.law[i], x.dim[i], own, c, x.mu[i], x.lead[LEADS * i], lam + o)
        return
    if x.dim[i] == 1 or c[0] >= 0.0:
        ln = max(-c[0] / own[0], 0.0) if own[0] > 0.0 else lam[o]
        lam[o] = ln
        for j in range(1, x.dim[i]):
            lam[o + j] = 0.0
        return
    if x.dim[i] > 3:
        wide_alone(x, i, own, c, lam + o)
        return
    # lam = ln (1, lead) + (0, beta), w_n = 0: ln = -(c_n + G_nt beta)/gn, and S beta = r where it sticks
    gn = own[0] + own[1] * x.lead[LEADS * i] + own[2] * x.lead[LEADS * i + 1]
    if not gn > 0.0:
        return
    g0 = own[WIDE] + own[WIDE + 1] * x.lead[LEADS * i] + own[WIDE + 2] * x.lead[LEADS * i + 1]
    g1 = own[2 * WIDE] + own[2 * WIDE + 1] * x.lead[LEADS * i] + own[2 * WIDE + 2] * x.lead[LEADS * i + 1]
    S00, S01 = own[WIDE + 1] - g0 * own[1] / gn, own[WIDE + 2] - g0 * own[2] / gn
    S10, S11 = own[2 * WIDE + 1] - g1 * own[1] / gn, own[2 * WIDE + 2] - g1 * own[2] / gn
    shift = CONE_SHIFT * (fabs(S00) + fabs(S11))
    S00, S11 = S00 + shift, S11 + shift
    r0, r1 = -c[1] + g0 * c[0] / gn, -c[2] + g1 * c[0] / gn
    # it sticks, or slides with (S + s) beta = r, s >= 0 so that f = |beta| - mu ln = 0, where f decreases with s = unit
    # z/(1 - z): by the Illinois algorithm (Dowell & Jarratt 1971)
    unit = 0.5 * (fabs(S00) + fabs(S11))
    low, high, f_high, z = 0.0, 1.0, x.mu[i] * c[0] / gn, 0.0
    f_low = f = 0.0
    for k in range(ALONE_PASSES):
        s = unit * z / (1.0 - z)
        solve_two(S00 + s, S01, S10, S11 + s, r0, r1, &b0, &b1)
        ln = -(c[0] + own[1] * b0 + own[2] * b1) / gn
        f = vt_sqrt(b0 * b0 + b1 * b1) - x.mu[i] * ln
        if fabs(f) <= ALONE_LEFT * x.mu[i] * ln or (k == 0 and f <= 0.0):
            break
        if f > 0.0:
            low, f_low = z, f
            f_high *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, f_high = z, f
            f_low *= 0.5 if side < 0 else 1.0
            side = -1
        z = (low * f_high - high * f_low) / (f_high - f_low) if f_high < 0.0 else 1.0
        if not z < 1.0:
            b0 = b1 = 0.0
            ln = -c[0] / gn
            break
    if ln > 0.0:
        lam[o], lam[o + 1], lam[o + 2] = ln, x.lead[LEADS * i] * ln + b0, x.lead[LEADS * i + 1] * ln + b1


cdef void row_alone(int law, int dim, const double* own, const double* c, double bound, double lead,
                    double* lam) noexcept nogil:
    # the exact impulse of each row in turn, with all others fixed, by the velocities c without them
    cdef int j, k
    cdef double w
    for j in range(dim):
        if not own[(WIDE + 1) * j] > 0.0:
            continue
        w = c[j]
        for k in range(dim):
            w += own[WIDE * j + k] * lam[k]
        lam[j] -= w / own[(WIDE + 1) * j]
        if law == RUB:
            lam[0] = lead + min(max(lam[0] - lead, -bound), bound)


cdef void wide_alone(const ContactProblem* x, int i, const double* own, const double* c, double* lam) noexcept nogil:
    # the same of a contact with more than two rows of friction
    cdef const double* lead = x.lead + LEADS * i
    cdef int n = x.dim[i] - 1, j, k, side = 0
    cdef double S[LEADS * LEADS]
    cdef double r[LEADS]
    cdef double beta[LEADS]
    cdef double gn = own[0], g, unit = 0.0, ln = 0.0, low = 0.0, high = 1.0, f, f_low = 0.0, f_high, z = 0.0
    for j in range(n):
        gn += own[1 + j] * lead[j]
    if not gn > 0.0:
        return
    for j in range(n):
        g = own[WIDE * (1 + j)]
        for k in range(n):
            g += own[WIDE * (1 + j) + 1 + k] * lead[k]
        for k in range(n):
            S[n * j + k] = own[WIDE * (1 + j) + 1 + k] - g * own[1 + k] / gn
        r[j] = -c[1 + j] + g * c[0] / gn
        unit += fabs(S[(n + 1) * j])
    for j in range(n):
        S[(n + 1) * j] += CONE_SHIFT * unit
    unit /= n
    f_high = x.mu[i] * c[0] / gn
    for k in range(ALONE_PASSES):
        f = beyond_bound(S, n, unit * z / (1.0 - z), r, own, c[0], gn, x.mu[i], beta, &ln)
        if fabs(f) <= ALONE_LEFT * x.mu[i] * ln or (k == 0 and f <= 0.0):
            break
        if f > 0.0:
            low, f_low = z, f
            f_high *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, f_high = z, f
            f_low *= 0.5 if side < 0 else 1.0
            side = -1
        z = (low * f_high - high * f_low) / (f_high - f_low) if f_high < 0.0 else 1.0
        if not z < 1.0:
            memset(beta, 0, n * sizeof(double))
            ln = -c[0] / gn
            break
    if ln > 0.0:
        lam[0] = ln
        for j in range(n):
            lam[1 + j] = lead[j] * ln + beta[j]


cdef double beyond_bound(const double* S, int n, double s, const double* r, const double* own, double closing, double gn,
                         double mu, double* beta, double* ln) noexcept nogil:
    # (S + s) beta = r, and |beta| - mu lam_n there
    cdef double A[LEADS * LEADS]
    cdef int order[LEADS]
    cdef int j
    cdef double size = 0.0
    memcpy(A, S, n * n * sizeof(double))
    memcpy(beta, r, n * sizeof(double))
    for j in range(n):
        A[(n + 1) * j] += s
    if lu_factor(A, n, order) == OK:
        lu_solve(A, n, order, beta)
    else:
        memset(beta, 0, n * sizeof(double))
    ln[0] = closing
    for j in range(n):
        ln[0] += own[1 + j] * beta[j]
        size += beta[j] * beta[j]
    ln[0] *= -1.0 / gn
    return vt_sqrt(size) - mu * ln[0]


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
    cdef size_t size = 3 + (3 + LEADS) * x.count + 2 * x.n + x.n * x.n
    cdef double* to
    cdef int k
    cdef bint formed = x.formed
    if x.n < <int>problem_log.least or problem_log.used + size > problem_log.room:
        return
    if cones_form(x) != OK:
        return
    x.formed = formed
    to = problem_log.at + problem_log.used
    problem_log.used += size
    to[0], to[1], to[2] = x.count, x.n, goal
    to += 3
    for k in range(x.count):
        to[k], to[x.count + k], to[2 * x.count + k] = x.law[k], x.dim[k], x.mu[k]
    memcpy(to + 3 * x.count, x.lead, LEADS * x.count * sizeof(double))
    to += (3 + LEADS) * x.count
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
        size = 3 + (3 + LEADS) * count + 2 * n + n * n
        sizes = np.cumsum([count, count, count, LEADS * count, n, n])
        law, dim, mu, lead, b, lam, G = np.split(np.array(<double[:size]>to)[3:], sizes)
        found.append([dim.astype(int), G.reshape(n, n), b, mu, lead.reshape(count, LEADS), lam, goal, law.astype(int)])
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

    Parameters: rows of each contact (1, 3, or up to 6 with friction of turning), G (n, n), b (n,), friction (count,), lead
    (count, up to 5), lam (n,), the
    tolerance of the natural residual [m/s], and laws (0: contact, 1: bilateral rows, 2: a row of dry friction). Returns
    lam, w, the natural residual, corrections and sweeps.
    """
    cdef ContactProblem x
    cdef ConeStore store
    cdef int k, j, n = sum(dim), count = len(dim)
    cdef const double[:, ::1] given = np.ascontiguousarray(G, dtype=float)
    memset(&x, 0, sizeof(x))
    memset(&store, 0, sizeof(store))
    require_size(given.shape[0], n, "rows of G")
    require_size(given.shape[1], n, "columns of G")
    require_size(len(b), n, "entries of b")
    require_size(len(lam), n, "impulses")
    require_size(len(mu), count, "coefficients of friction")
    try:
        if cones_room(&x, &store, count, n, 0) != OK:
            raise MemoryError
        x.count, x.n, x.budget = count, n, 10 * STEP_BUDGET
        if cones_dense(&x) != OK:
            raise MemoryError
        row = 0
        for k in range(count):
            x.dim[k], x.row[k], x.mu[k], x.law[k] = dim[k], row, mu[k], 0 if law is None else law[k]
            for j in range(LEADS):
                x.lead[LEADS * k + j] = lead[k][j] if j < len(lead[k]) else 0.0
            row += dim[k]
        for k in range(n):
            x.b[k], x.lam[k] = b[k], lam[k]
        if n:
            memcpy(x.G, &given[0, 0], n * n * sizeof(double))
        cones_formed(&x)
        residual = cone_solve(&x, goal, goal)
        return (np.array([x.lam[k] for k in range(n)]), np.array([x.w[k] for k in range(n)]), residual,
                x.corrections, x.sweeps)
    finally:
        cones_free(&x)
        store_free(&store)
