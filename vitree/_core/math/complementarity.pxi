# Contact with friction as a complementarity problem. Of each contact an impulse (n, t1, t2), or n alone, with
#     w = G lam + b,    0 <= lam_n  _|_  w_n >= 0,    lam_t = lead lam_n + beta,  |beta| <= mu lam_n,  beta against w_t.
# Other rows have the laws of rows.pxi.
# Its natural residual F(lam) [m/s] (Alart & Curnier 1991) vanishes at solutions. Newton's iteration on F, damped as
# Levenberg and Marquardt have it, ends from nearly everywhere. Where |F| has other minima, at the edges of sticking and
# sliding, sweeps of exact solutions of one contact after the other follow, then guesses from anywhere. Undamped iterations
# and sweeps alone cycle on problems of walking robots. One lane.

cdef enum:
    CONE_PASSES = 200       # most corrections
    CONE_PATIENCE = 15      # so many corrections must halve |F|^2
    CONE_TRIALS = 25        # most dampings of a correction
    CONE_SWEEPS = 100       # most sweeps
    CONE_STARTS = 30        # most guesses from anywhere
    CONE_STRIDES = 40       # most corrections of a map with a small share
    CONE_HALVES = 12        # most halves of such a correction

#: Sizes of guesses from anywhere, in units of the largest impulse
cdef double CONE_SPREAD[3]
CONE_SPREAD[:] = [1.0, 0.3, 3.0]
#: Shares of rho for contacts that creep, in units of |w|/(rho |lam|)
cdef double CONE_CREEP[6]
CONE_CREEP[:] = [1.0, 10.0, 100.0, 1000.0, 0.1, 0.01]
#: Shift of their corrections, as a share of a row
cdef double CONE_TINY = 1e-11
#: Least descent of |F|^2, as a share
cdef double CONE_DESCENT = 1e-4
#: An undamped correction that leaves less than this share of |F|^2 is taken
cdef double CONE_WELL = 0.1
#: Its shift, as a share of G's diagonal
cdef double CONE_PROXIMAL = 1e-7
#: Planar mechanisms have tangential rows of zeros: this share of the other's size is added
cdef double CONE_SHIFT = 1e-13


cdef struct Cones:
    int count               # contacts
    int n                   # rows
    int room                # rows that the arrays have room for
    int* law                # (count,) CONE, HOLD or RUB
    int* dim                # (count,) rows of a contact: 1 or 3; of those that hold also 2
    int* row                # (count,) its first
    int* order              # (n,) pivots
    double* G               # (n, n)
    double* b               # (n,)
    double* mu              # (count,) of those that rub their bound
    double* lead            # (count, 2)
    double share            # of the rho of F: zeros of F are the same for all
    double* give            # (count,) [1/kg] what a contact that yields adds to G
    double* lam             # (n,) the impulses: the guess, then the solution
    double* w               # (n,) their velocities
    double* F               # (n,)
    double* J               # (n, n) a generalised Jacobian of F
    double* H               # (n, n) J^T J and its damping, factored
    double* JJ              # (n, n) J^T J
    double* g               # (n,) J^T F
    double* kept            # (n,) the best lam so far
    double* trial           # (n,) another lam
    double* trial_w
    double* trial_F
    double* trial_J
    long corrections        # since it was made
    long sweeps


cdef int cones_room(Cones* x, int count, int n) noexcept nogil:
    # make room for so many contacts and rows; what they held is lost
    cdef size_t rows, reals
    cdef double* at
    cdef int* ints
    if n <= x.room:
        return OK
    rows = 2 * n + 24
    reals = 5 * rows * rows + 13 * rows
    at = <double*>realloc(x.G, reals * sizeof(double) + 4 * rows * sizeof(int))
    if at == NULL:
        return NO_MEMORY
    x.room, x.share = <int>rows, 1.0
    x.G = at
    x.J, x.H, x.JJ, x.trial_J = at + rows * rows, at + 2 * rows * rows, at + 3 * rows * rows, at + 4 * rows * rows
    at += 5 * rows * rows
    x.b, x.lam, x.w, x.F, x.g = at, at + rows, at + 2 * rows, at + 3 * rows, at + 4 * rows
    x.trial, x.trial_w, x.trial_F = at + 5 * rows, at + 6 * rows, at + 7 * rows
    x.kept, x.mu, x.lead = at + 8 * rows, at + 9 * rows, at + 10 * rows
    x.give = at + 12 * rows
    ints = <int*>(at + 13 * rows)
    x.dim, x.row, x.order, x.law = ints, ints + rows, ints + 2 * rows, ints + 3 * rows
    memset(x.law, 0, rows * sizeof(int))
    return OK


cdef double pushes(const Cones* x, const double* lam) noexcept nogil:
    # the sum of the normal impulses of contacts
    cdef int k
    cdef double s = 0.0
    for k in range(x.count):
        if x.law[k] == CONE:
            s += lam[x.row[k]]
    return s


cdef double cone_map(const Cones* x, const double* lam, double* w, double* F, double* J) noexcept nogil:
    # w, F and, unless it is NULL, J at lam; returns the largest |F|
    cdef int i, k, o, n = x.n
    cdef double rho, rt, R, z0, z1, size, u0, u1, b0, b1, s, c, most = 0.0
    cdef const double* G
    cdef double* J0
    cdef double* J1
    for k in range(n):
        w[k] = x.b[k] + vt_inner(n, x.G + k * n, lam)
    for i in range(x.count):
        o = x.row[i]
        G = x.G + o * n
        rho = x.share * G[o]
        if x.law[i] != CONE:
            most = vt_max_nan(most, row_map(x.law[i], x.dim[i], n, o, G, rho, x.mu[i], x.lead[2 * i], lam, w, F, J))
            continue
        # min(w_n, rho lam_n)
        F[o] = min(w[o], rho * lam[o])
        if J != NULL:
            if w[o] < rho * lam[o]:
                memcpy(J + o * n, G, n * sizeof(double))
            else:
                memset(J + o * n, 0, n * sizeof(double))
                J[o * n + o] = rho
        most = vt_max_nan(most, fabs(F[o]))
        if x.dim[i] == 1:
            continue
        # rt beta - (z brought into the disk of radius R = rt mu lam_n), z = rt beta - w_t
        rt = x.share * 0.5 * (x.G[(o + 1) * n + o + 1] + x.G[(o + 2) * n + o + 2])
        b0, b1 = rt * (lam[o + 1] - x.lead[2 * i] * lam[o]), rt * (lam[o + 2] - x.lead[2 * i + 1] * lam[o])
        z0, z1 = b0 - w[o + 1], b1 - w[o + 2]
        R = rt * x.mu[i] * max(lam[o], 0.0)
        size = vt_sqrt(z0 * z0 + z1 * z1)
        if size <= R:
            F[o + 1], F[o + 2] = w[o + 1], w[o + 2]
            if J != NULL:
                memcpy(J + (o + 1) * n, G + n, 2 * n * sizeof(double))
        else:
            u0, u1 = z0 / size, z1 / size
            F[o + 1], F[o + 2] = b0 - R * u0, b1 - R * u1
            if J != NULL:
                # B - (R/|z|)(1 - u u^T)(B - G_t) - rt mu u e_n^T,  B = rt dbeta/dlam
                J0, J1 = J + (o + 1) * n, J + (o + 2) * n
                s = R / size
                for k in range(n):
                    b0, b1 = 0.0, 0.0
                    if k == o:
                        b0, b1 = -rt * x.lead[2 * i], -rt * x.lead[2 * i + 1]
                    elif k == o + 1:
                        b0 = rt
                    elif k == o + 2:
                        b1 = rt
                    z0, z1 = b0 - G[n + k], b1 - G[2 * n + k]
                    c = u0 * z0 + u1 * z1
                    J0[k] = b0 - s * (z0 - c * u0)
                    J1[k] = b1 - s * (z1 - c * u1)
                if lam[o] > 0.0:
                    J0[o] -= rt * x.mu[i] * u0
                    J1[o] -= rt * x.mu[i] * u1
        most = vt_max_nan(most, vt_max_nan(fabs(F[o + 1]), fabs(F[o + 2])))
    return most


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


cdef void normal_equations(Cones* x, double* most) noexcept nogil:
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


cdef bint cone_plain(Cones* x, double* square) noexcept nogil:
    # an undamped correction, (J + shift diag G) d = F; whether it takes |F|^2 down well. The shift is proximal: zeros stay,
    # and of impulses that are not unique those near the guess are taken
    cdef int i, n = x.n
    cdef double other
    memcpy(x.H, x.J, n * n * sizeof(double))
    for i in range(n):
        x.H[i * n + i] += CONE_PROXIMAL * x.G[i * n + i]
    shift_held(x)
    if lu_factor(x.H, n, x.order) != OK:
        return False
    memcpy(x.trial, x.F, n * sizeof(double))
    lu_solve(x.H, n, x.order, x.trial)
    for i in range(n):
        x.trial[i] = x.lam[i] - x.trial[i]
    cone_map(x, x.trial, x.trial_w, x.trial_F, x.trial_J)
    other = inner(x.trial_F, x.trial_F, n)
    if other < CONE_WELL * square[0]:
        square[0] = other
        return True
    return False


cdef void shift_held(Cones* x) noexcept nogil:
    # rows that hold what cannot move, as a wheel's normal in a planar mechanism
    cdef int i, k, n = x.n
    cdef double least = 0.0
    for i in range(x.count):
        if x.law[i] == HOLD:
            for k in range(x.row[i], x.row[i] + x.dim[i]):
                least = max(least, LEAST_HELD * x.G[k * n + k])
    for i in range(x.count):
        if x.law[i] == HOLD:
            for k in range(x.row[i], x.row[i] + x.dim[i]):
                x.H[k * n + k] += CONE_PROXIMAL * max(least - x.G[k * n + k], 0.0)


cdef bint cone_correct(Cones* x, double* nu, double* square) noexcept nogil:
    # a damped correction that takes |F|^2 down, and another damping; whether there is one
    cdef int i, k, n = x.n
    cdef double most, other
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
            cone_map(x, x.trial, x.trial_w, x.trial_F, x.trial_J)
            other = inner(x.trial_F, x.trial_F, n)
            if other < square[0] * (1.0 - CONE_DESCENT):
                nu[0] = max(nu[0] / (30.0 if other < 0.25 * square[0] else 3.0), 1e-14)
                square[0] = other
                return True
        nu[0] = max(8.0 * nu[0], 1e-12)
    return False


cdef void cone_take(Cones* x) noexcept nogil:
    # the trial becomes the point
    x.lam, x.trial = x.trial, x.lam
    x.w, x.trial_w = x.trial_w, x.w
    x.F, x.trial_F = x.trial_F, x.F
    x.J, x.trial_J = x.trial_J, x.J


cdef double cone_solve(Cones* x, double goal) noexcept nogil:
    # lam with |F| <= goal from the guess, else by way of contacts that creep, from sweeps, from anywhere; returns the
    # largest |F|
    cdef int k, i
    cdef unsigned int seed = 1
    cdef double e = cone_descend(x, goal), best, size
    if e <= goal or not isfinite(e):
        return e
    best, size = e, largest(x.lam, x.n)
    memcpy(x.kept, x.lam, x.n * sizeof(double))
    for k in range(CONE_STARTS + 2):
        if k == 0:
            e = cone_creep(x, goal)
        elif k == 1:
            memcpy(x.lam, x.kept, x.n * sizeof(double))
            e = cone_sweep(x, goal)
        else:
            for i in range(x.n):
                seed = seed * 1664525 + 1013904223
                x.lam[i] = size * CONE_SPREAD[k % 3] * (<double>(seed >> 8) / 8388608.0 - 1.0)
            e = cone_descend(x, goal)
        if e < best:
            best = e
            memcpy(x.kept, x.lam, x.n * sizeof(double))
            if e <= goal:
                break
    memcpy(x.lam, x.kept, x.n * sizeof(double))
    return cone_map(x, x.lam, x.w, x.F, NULL)


cdef double cone_creep(Cones* x, double goal) noexcept nogil:
    # where bodies cannot stick without a contradiction they creep, by |w| much below rho |lam|: along what G does not see F
    # has a slope of that ratio, below each damping. The same map with a rho of that size shows it
    cdef int k, i, j
    cdef double size = 0.0, creep, e = INFINITY
    for i in range(x.count):
        for j in range(x.dim[i]):
            size = max(size, x.G[x.row[i] * (x.n + 1)] * fabs(x.lam[x.row[i] + j]))
    if not size > 0.0:
        return e
    cone_map(x, x.lam, x.w, x.F, NULL)
    creep = largest(x.F, x.n) / size
    for k in range(6):
        if CONE_CREEP[k] * creep < 0.1:
            memcpy(x.lam, x.kept, x.n * sizeof(double))
            e = cone_stride(x, CONE_CREEP[k] * creep, goal)
            if e <= goal:
                break
    return e


cdef double cone_stride(Cones* x, double share, double goal) noexcept nogil:
    # undamped corrections of the map with this share, rows of one size, shortened until F falls; returns the largest |F| of
    # the whole share
    cdef int at, k, i, n = x.n
    cdef double e, other, square, length
    for at in range(CONE_STRIDES + 1):
        e = cone_map(x, x.lam, x.w, x.F, NULL)
        if e <= goal or not isfinite(e) or at == CONE_STRIDES:
            break
        x.share = share
        cone_map(x, x.lam, x.w, x.F, x.J)
        square = 0.0
        for i in range(n):
            # g: the rows' sizes
            x.g[i] = largest(x.J + i * n, n)
            x.g[i] = 1.0 / x.g[i] if x.g[i] > 0.0 else 0.0
            for k in range(n):
                x.H[i * n + k] = x.g[i] * x.J[i * n + k]
            x.H[i * n + i] += CONE_TINY
            x.JJ[i] = x.g[i] * x.F[i]
            square += x.JJ[i] * x.JJ[i]
        other = INFINITY
        if lu_factor(x.H, n, x.order) == OK:
            lu_solve(x.H, n, x.order, x.JJ)
            length = 1.0
            for k in range(CONE_HALVES):
                for i in range(n):
                    x.trial[i] = x.lam[i] - length * x.JJ[i]
                cone_map(x, x.trial, x.trial_w, x.trial_F, NULL)
                other = 0.0
                for i in range(n):
                    other += (x.g[i] * x.trial_F[i]) * (x.g[i] * x.trial_F[i])
                if other < square * (1.0 - CONE_DESCENT * length):
                    break
                length *= 0.5
        x.share = 1.0
        if not other < square:
            break
        x.lam, x.trial = x.trial, x.lam
        x.corrections += 1
    return e


cdef double cone_descend(Cones* x, double goal) noexcept nogil:
    # damped corrections
    cdef int k
    cdef double nu = 1e-10, e = cone_map(x, x.lam, x.w, x.F, x.J), square = inner(x.F, x.F, x.n), behind = INFINITY
    for k in range(CONE_PASSES):
        if k % CONE_PATIENCE == 0:
            if square > 0.5 * behind:
                break
            behind = square
        if e <= goal or not isfinite(e) or not (cone_plain(x, &square) or cone_correct(x, &nu, &square)):
            break
        cone_take(x)
        x.corrections += 1
        e = largest(x.F, x.n)
    return e


# ---- sweeps ------------------------------------------------------------------------------------------

cdef double cone_sweep(Cones* x, double goal) noexcept nogil:
    # each contact solved exactly in turn, the others held
    cdef int sweep, i
    cdef double found = INFINITY
    for sweep in range(CONE_SWEEPS):
        x.sweeps += 1
        for i in range(x.count):
            cone_alone(x, i, x.lam)
        found = cone_map(x, x.lam, x.w, x.F, NULL)
        if found <= goal:
            break
    return found


cdef void cone_alone(const Cones* x, int i, double* lam) noexcept nogil:
    # the exact impulse of one contact where the others are held; stays as it is where no push leads apart
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


def solve_cones(dim, G, b, mu, lead, lam, double goal, law=None):
    """Solve a complementarity problem of contacts from a guess of the impulses.

    Parameters: rows of each contact (1 or 3), G (n, n), b (n,), friction (count,), lead (count, 2), lam (n,), the
    natural residual [m/s] that will do, and laws (0: contact, 1: rows that hold, 2: a row that rubs). Returns lam, w, the
    natural residual, corrections and sweeps.
    """
    cdef Cones x
    cdef int k, n = sum(dim), count = len(dim)
    cdef const double[:, ::1] given = np.ascontiguousarray(G, dtype=float)
    memset(&x, 0, sizeof(x))
    require_size(given.shape[0], n, "rows of G")
    require_size(given.shape[1], n, "columns of G")
    require_size(len(b), n, "entries of b")
    require_size(len(lam), n, "impulses")
    require_size(len(mu), count, "coefficients of friction")
    if cones_room(&x, count, n) != OK:
        raise MemoryError
    try:
        x.count, x.n, x.share = count, n, 1.0
        row = 0
        for k in range(count):
            x.dim[k], x.row[k], x.mu[k], x.law[k] = dim[k], row, mu[k], 0 if law is None else law[k]
            x.lead[2 * k], x.lead[2 * k + 1] = lead[k]
            row += dim[k]
        for k in range(n):
            x.b[k], x.lam[k] = b[k], lam[k]
        if n:
            memcpy(x.G, &given[0, 0], n * n * sizeof(double))
        residual = cone_solve(&x, goal)
        return (np.array([x.lam[k] for k in range(n)]), np.array([x.w[k] for k in range(n)]), residual,
                x.corrections, x.sweeps)
    finally:
        free(x.G)
