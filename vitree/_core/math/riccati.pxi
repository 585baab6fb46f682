# The pass from the end of a motion to its start that computes corrections of its forces, and their feedback.
#
# After step i the cost is Vx^T x + x^T Vxx x/2. The step is A x + B u, so that before it, with its own cost,
#
#     Q(x, u) = Qx^T x + Qu^T u + (x^T Qxx x + 2 u^T Qux x + u^T Quu u)/2
#     Qx = gx + A^T Vx,  Qu = gu + B^T Vx,  Qxx = W + A^T Vxx A,  Qux = B^T Vxx A,  Quu = R + B^T Vxx B
#
# The minimum over u = k + K x is the cost before the step. Tassa, Mansard & Todorov 2014, section II.


cdef enum:
    MOST_NEWTON = 100           # steps of the search between bounds
    MOST_HALVINGS = 10          # of such a step
    LOOK_AFTER = 1 << 22        # products between two checks for Ctrl-C

cdef double SLOPE_LEFT = 1e-12      # fraction of the largest slope at which the search between bounds ends
cdef double SUFFICIENT = 1e-4       # fraction of the decrease that a slope predicts


cdef void product(const double* a, const double* b, double* out, int rows, int inner_size, int columns) noexcept nogil:
    # out = a b
    memset(out, 0, rows * columns * sizeof(double))
    vt_add_product(rows, inner_size, columns, a, inner_size, 1, b, out, columns, False)


cdef void add_product_turned(const double* a, const double* b, double* out, int rows, int inner_size,
                             int columns) noexcept nogil:
    # out += a^T b; a (inner_size, rows)
    vt_add_product(rows, inner_size, columns, a, 1, rows, b, out, columns, False)


cdef void add_turned(const double* a, const double* x, double* out, int rows, int inner_size) noexcept nogil:
    # out += a^T x of one column; a (inner_size, rows)
    vt_add_product(1, inner_size, rows, x, inner_size, 1, a, out, rows, False)


cdef void add_upper_turned(const double* a, const double* b, double* out, int n, int inner_size) noexcept nogil:
    # the same of n rows and columns, right above and on the diagonal
    vt_add_product(n, inner_size, n, a, 1, n, b, out, n, True)


cdef void mirror(double* a, int n) noexcept nogil:
    # what is below the diagonal is as what is above it
    cdef int i, j
    for i in range(n):
        for j in range(i):
            a[i * n + j] = a[j * n + i]


cdef void make_symmetric(double* a, int n) noexcept nogil:
    cdef int i, j
    for i in range(n):
        for j in range(i):
            a[i * n + j] = a[j * n + i] = 0.5 * (a[i * n + j] + a[j * n + i])


cdef bint root_of(double* a, int n) noexcept nogil:
    # the lower triangle of a <- that of L, a = L L^T, with the reciprocals of its diagonal; False if a is not positive
    # definite
    cdef int i, j
    cdef double s
    for j in range(n):
        s = a[j * n + j] - inner(a + j * n, a + j * n, j)
        if not s > 0.0:
            return False
        a[j * n + j] = s = 1.0 / vt_sqrt(s)
        for i in range(j + 1, n):
            a[i * n + j] = (a[i * n + j] - inner(a + i * n, a + j * n, j)) * s
    return True


cdef inline void add_rows_of(double sign, const double* a, int apart, const double* b, double* out, int size,
                             int columns) noexcept nogil:
    # out (columns,) += sign times the sum of a[j apart] and the j-th row of b, in this order
    cdef double[4] four
    cdef int j = 0, k
    while j < size - 3:
        for k in range(4):
            four[k] = sign * a[(j + k) * apart]
        vt_add_four(columns, four, 1, b + j * columns, columns, out)
        j += 4
    while j < size:
        vt_add_row(columns, sign * a[j * apart], b + j * columns, out)
        j += 1


cdef inline void times(double s, double* b, int columns) noexcept nogil:
    cdef int c
    for c in range(columns):
        b[c] *= s


cdef void downhill(const double* root, int n, double* b, int columns) noexcept nogil:
    # b (n, columns) <- -(L L^T)^-1 b, with the root as `root_of` leaves it
    cdef int i
    for i in range(n):
        add_rows_of(-1.0, root + i * n, 1, b, b + i * columns, i, columns)
        times(root[i * n + i], b + i * columns, columns)
    for i in range(n - 1, -1, -1):
        # rows behind have their sign already
        add_rows_of(1.0, root + (i + 1) * n + i, n, b + (i + 1) * columns, b + i * columns, n - 1 - i, columns)
        times(-root[i * n + i], b + i * columns, columns)


cdef struct Corrections:    # memory of a pass over steps of n states and m forces
    double* VA              # (n, n) Vxx A
    double* VB              # (n, m)
    double* Vx              # (n,)
    double* Vxx             # (n, n)
    double* Qx
    double* Qu
    double* Qxx
    double* Quu
    double* Qux             # (m, n)
    double* firm            # (m, m) Quu plus its regularisation
    double* root            # (m, m)
    double* pushed          # (m, n)
    double* slope           # (m,) of the search between bounds
    double* move            # (m,)
    double* before          # (m,)
    int* free               # (m,) the entries that are not at a bound


cdef double bowl(const double* H, const double* g, const double* x, int m) noexcept nogil:
    # x^T H x/2 + g^T x
    cdef int i
    cdef double s = 0.0
    for i in range(m):
        s += x[i] * (0.5 * inner(H + i * m, x, m) + g[i])
    return s


cdef bint free_root(Corrections* c, int m, int count) noexcept nogil:
    # the root of the free rows and columns of firm
    cdef int i, j
    for i in range(count):
        for j in range(count):
            c.root[i * count + j] = c.firm[c.free[i] * m + c.free[j]]
    return root_of(c.root, count)


cdef bint between_bounds(Corrections* c, int m, int n, const double* low, const double* high, double* k,
                         double* K) noexcept nogil:
    # The minimum of k^T firm k/2 + Qu^T k between bounds, by projected Newton steps of the free entries; and the
    # feedback of these. False if firm is not positive definite
    cdef int i, j, newton, halving, count = m
    cdef double most, share, value, promised, steep = 1e-300
    for i in range(m):
        k[i] = min(max(0.0, low[i]), high[i])
        c.free[i] = i
        steep = max(steep, fabs(c.Qu[i]))
    for newton in range(MOST_NEWTON):
        count, most = 0, 0.0
        for i in range(m):
            c.slope[i] = c.Qu[i] + inner(c.firm + i * m, k, m)
            if (k[i] <= low[i] and c.slope[i] > 0.0) or (k[i] >= high[i] and c.slope[i] < 0.0):
                continue
            c.free[count] = i
            count += 1
            most = max(most, fabs(c.slope[i]))
        if count == 0 or most <= SLOPE_LEFT * steep:
            break
        if not free_root(c, m, count):
            return False
        for i in range(count):
            c.move[i] = c.slope[c.free[i]]
        downhill(c.root, count, c.move, 1)
        memcpy(c.before, k, m * sizeof(double))
        value, share = bowl(c.firm, c.Qu, k, m), 1.0
        for halving in range(MOST_HALVINGS + 1):
            memcpy(k, c.before, m * sizeof(double))
            for i in range(count):
                j = c.free[i]
                k[j] = min(max(k[j] + share * c.move[i], low[j]), high[j])
            promised = 0.0
            for i in range(m):
                promised += c.slope[i] * (k[i] - c.before[i])
            if bowl(c.firm, c.Qu, k, m) <= value + SUFFICIENT * promised:
                break
            share *= 0.5
    memset(K, 0, m * n * sizeof(double))
    if count == 0:
        return True
    if not free_root(c, m, count):
        return False
    for i in range(count):
        memcpy(c.pushed + i * n, c.Qux + c.free[i] * n, n * sizeof(double))
    downhill(c.root, count, c.pushed, n)
    for i in range(count):
        memcpy(K + c.free[i] * n, c.pushed + i * n, n * sizeof(double))
    return True


def riccati_pass(const double[:, :, ::1] A, const double[:, :, ::1] B, const double[:, ::1] gx, const double[:, :, ::1] W,
                 const double[:, ::1] gu, const double[:, ::1] R, double firmness, curvature, impulses, bounds,
                 double[:, ::1] k, double[:, :, ::1] K, double[:, :, ::1] P, const double[:, ::1] gaps=None, more=None):
    """Compute corrections k (steps, m) of forces and their feedback K (steps, m, n), backwards along a motion.

    Parameters: A (steps, n, n) and B (steps, n, m) of the steps; gradients gx (steps + 1, n), gu (steps, m) and
    matrices W (steps + 1, n, n), R (m, m) of the cost; R times ``firmness`` is added to Quu where k and K are solved
    for; ``curvature`` (steps, n, n), the second derivatives of the ends of steps by their starts, times the costates at
    the ends, with the ``impulses`` (m, n/2) that forces are at the start of a step, or None; ``bounds`` of k, (low, high)
    (steps, m), or None. P (steps + 1, n, n) receives half of the matrices of the cost to go. With ``gaps`` (steps, n) of
    multiple shooting step i is A x + B u + gaps[i] (Mastalli et al. 2020, section III). ``more`` is None, or (S, H) of
    costs that depend on controls and states together: S (steps, m, n) is added to Qux, and H (steps, m, m) to Quu.

    Returns the first- and second-order change of the cost that k predicts, or None where it is not convex. Without the
    cost of closing gaps.
    """
    cdef Py_ssize_t i, steps = A.shape[0], most
    cdef int n = A.shape[1], m = B.shape[2], nv = A.shape[1] // 2, r, j, a
    cdef const double[:, :, ::1] D
    cdef const double[:, ::1] low, high, F
    cdef const double[:, :, ::1] crossed, curved
    cdef const double* bent = NULL
    cdef const double* bent_at
    cdef const double* lowest = NULL
    cdef const double* highest = NULL
    cdef const double* impulse = NULL
    cdef bint convex = True, parts = gaps is not None, mixed = more is not None
    cdef double linear = 0.0, square = 0.0
    cdef Corrections c
    cdef Scratch room = Scratch((4 * n * n + 4 * n * m + 4 * n + 3 * m * m + 6 * m) * sizeof(double) + 64 * 20)
    require_shape(A, (steps, n, n))
    require_shape(B, (steps, n, m))
    require_shape(gx, (steps + 1, n))
    require_shape(W, (steps + 1, n, n))
    require_shape(gu, (steps, m))
    require_shape(R, (m, m))
    require_shape(k, (steps, m))
    require_shape(K, (steps, m, n))
    require_shape(P, (steps + 1, n, n))
    if not (m and n):
        return 0.0, 0.0
    if curvature is not None:
        D, F = curvature, impulses
        require_shape(D, (steps, n, n))
        require_shape(F, (m, nv))
        if steps:
            bent, impulse = &D[0, 0, 0], &F[0, 0]
    if parts:
        require_shape(gaps, (steps, n))
    if mixed:
        crossed, curved = more
        require_shape(crossed, (steps, m, n))
        require_shape(curved, (steps, m, m))
    if bounds is not None:
        low, high = bounds
        require_shape(low, (steps, m))
        require_shape(high, (steps, m))
        if steps:
            lowest, highest = &low[0, 0], &high[0, 0]
    c.VA, c.Vxx = <double*>room.take(n * n * sizeof(double)), <double*>room.take(n * n * sizeof(double))
    c.Qxx = <double*>room.take(n * n * sizeof(double))
    c.VB, c.Qux = <double*>room.take(n * m * sizeof(double)), <double*>room.take(n * m * sizeof(double))
    c.pushed = <double*>room.take(n * m * sizeof(double))
    c.Vx, c.Qx = <double*>room.take(n * sizeof(double)), <double*>room.take(n * sizeof(double))
    c.Quu, c.firm = <double*>room.take(m * m * sizeof(double)), <double*>room.take(m * m * sizeof(double))
    c.root = <double*>room.take(m * m * sizeof(double))
    c.Qu, c.slope = <double*>room.take(m * sizeof(double)), <double*>room.take(m * sizeof(double))
    c.move, c.before = <double*>room.take(m * sizeof(double)), <double*>room.take(m * sizeof(double))
    c.free = <int*>room.take(m * sizeof(double))
    most = max(LOOK_AFTER // (n * n * (2 * n + 4 * m + 1)), 1)
    memcpy(c.Vx, &gx[steps, 0], n * sizeof(double))
    memcpy(c.Vxx, &W[steps, 0, 0], n * n * sizeof(double))
    for r in range(n * n):
        (&P[steps, 0, 0])[r] = 0.5 * c.Vxx[r]
    with nogil:
        for i in range(steps - 1, -1, -1):
            if i % most == 0:
                with gil:
                    PyErr_CheckSignals()
            if parts:
                for r in range(n):
                    c.Vx[r] += inner(c.Vxx + r * n, &gaps[i, 0], n)
            # the quadratic before the step
            product(c.Vxx, &A[i, 0, 0], c.VA, n, n, n)
            product(c.Vxx, &B[i, 0, 0], c.VB, n, n, m)
            memcpy(c.Qx, &gx[i, 0], n * sizeof(double))
            add_turned(&A[i, 0, 0], c.Vx, c.Qx, n, n)
            memcpy(c.Qu, &gu[i, 0], m * sizeof(double))
            add_turned(&B[i, 0, 0], c.Vx, c.Qu, m, n)
            memcpy(c.Qxx, &W[i, 0, 0], n * n * sizeof(double))
            add_upper_turned(&A[i, 0, 0], c.VA, c.Qxx, n, n)
            memcpy(c.Quu, &R[0, 0], m * m * sizeof(double))
            add_product_turned(&B[i, 0, 0], c.VB, c.Quu, m, n, m)
            memset(c.Qux, 0, m * n * sizeof(double))
            add_product_turned(&B[i, 0, 0], c.VA, c.Qux, m, n, n)
            if mixed:
                vt_add_row(m * n, 1.0, &crossed[i, 0, 0], c.Qux)
                vt_add_row(m * m, 1.0, &curved[i, 0, 0], c.Quu)
            if bent != NULL:
                # a force acts as its impulse does at the start
                bent_at = bent + i * n * n
                vt_add_row(n * n, 1.0, bent_at, c.Qxx)
                product(impulse, bent_at + nv * n, c.pushed, m, nv, n)
                vt_add_row(m * n, 1.0, c.pushed, c.Qux)
                for r in range(m):
                    for a in range(m):
                        c.Quu[r * m + a] += inner(c.pushed + r * n + nv, impulse + a * nv, nv)
            # the regularised quadratic is solved for k and K
            for r in range(m * m):
                c.firm[r] = c.Quu[r] + firmness * (&R[0, 0])[r]
            if lowest != NULL:
                convex = between_bounds(&c, m, n, lowest + i * m, highest + i * m, &k[i, 0], &K[i, 0, 0])
            else:
                memcpy(c.root, c.firm, m * m * sizeof(double))
                convex = root_of(c.root, m)
                if convex:
                    memcpy(&k[i, 0], c.Qu, m * sizeof(double))
                    downhill(c.root, m, &k[i, 0], 1)
                    memcpy(&K[i, 0, 0], c.Qux, m * n * sizeof(double))
                    downhill(c.root, m, &K[i, 0, 0], n)
            if not convex:
                break
            # Vx = Qx + K^T (Quu k + Qu) + Qux^T k,  Vxx = Qxx + K^T (Quu K + Qux) + Qux^T K
            for r in range(m):
                c.move[r] = inner(c.Quu + r * m, &k[i, 0], m)
                linear += k[i, r] * c.Qu[r]
                square += 0.5 * k[i, r] * c.move[r]
                c.move[r] += c.Qu[r]
            add_turned(&K[i, 0, 0], c.move, c.Qx, n, m)
            add_turned(c.Qux, &k[i, 0], c.Qx, n, m)
            product(c.Quu, &K[i, 0, 0], c.pushed, m, m, n)
            vt_add_row(m * n, 1.0, c.Qux, c.pushed)
            add_upper_turned(&K[i, 0, 0], c.pushed, c.Qxx, n, m)
            add_upper_turned(c.Qux, &K[i, 0, 0], c.Qxx, n, m)
            mirror(c.Qxx, n)
            memcpy(c.Vx, c.Qx, n * sizeof(double))
            memcpy(c.Vxx, c.Qxx, n * n * sizeof(double))
            for r in range(n * n):
                (&P[i, 0, 0])[r] = 0.5 * c.Vxx[r]
    return (linear, square) if convex else None


def curved_by(const double[:, :, :, ::1] K, const double[:, :, ::1] J, int first, double[:, :, ::1] out):
    """Write [S^T, D^T] H [S; D] of steps, symmetric (steps, N, N), for (d1, d2) = (S, D) x.

    ``J`` (steps, 2 nv, N) begins with D, and S has ones in the columns from ``first`` on, or nothing if that is
    negative. The blocks of H by d1, d1; d1, d2; d2, d1; d2, d2 are those of ``K`` (steps, 4, nv, nv), the first two with
    the other sign, as the momenta at starts have.
    """
    cdef Py_ssize_t i, steps = K.shape[0]
    cdef int nv = K.shape[2], n = J.shape[2], r, block
    cdef const double* D
    cdef double* G
    cdef Scratch room = Scratch(2 * nv * n * sizeof(double) + 64)
    require_shape(K, (steps, 4, nv, nv))
    require_shape(J, (steps, 2 * nv, n))
    require_shape(out, (steps, n, n))
    if first > n - nv:
        raise ValueError(f"columns from {first} on of {n}")
    if not (nv and n):
        return
    G = <double*>room.take(2 * nv * n * sizeof(double))
    with nogil:
        for i in range(steps):
            # G = H [S; D]
            D = &J[i, 0, 0]
            memset(G, 0, 2 * nv * n * sizeof(double))
            for block in range(2):
                if first >= 0:
                    for r in range(nv):
                        memcpy(G + (block * nv + r) * n + first, &K[i, 2 * block, r, 0], nv * sizeof(double))
                vt_add_product(nv, nv, n, &K[i, 2 * block + 1, 0, 0], nv, 1, D, G + block * nv * n, n, False)
            for r in range(nv * n):
                G[r] = -G[r]
            # S^T and D^T times it
            memset(&out[i, 0, 0], 0, n * n * sizeof(double))
            if first >= 0:
                memcpy(&out[i, first, 0], G, nv * n * sizeof(double))
            vt_add_product(n, nv, n, D, 1, n, G + nv * n, &out[i, 0, 0], n, False)
            make_symmetric(&out[i, 0, 0], n)


def linear_motion(const double[:, :, ::1] A, const double[:, :, ::1] B, const double[:, ::1] k,
                  const double[:, :, ::1] K, double[:, ::1] x, double[:, ::1] u, const double[:, ::1] gaps=None):
    """Write the motion x (steps + 1, n), u (steps, m) of x+ = A x + B u + gaps, u = k + K x, from x = 0."""
    cdef Py_ssize_t i, steps = A.shape[0]
    cdef int n = A.shape[1], m = B.shape[2], r
    cdef bint parts = gaps is not None
    require_shape(A, (steps, n, n))
    require_shape(B, (steps, n, m))
    require_shape(k, (steps, m))
    require_shape(K, (steps, m, n))
    require_shape(x, (steps + 1, n))
    require_shape(u, (steps, m))
    if parts:
        require_shape(gaps, (steps, n))
    x[0] = 0.0
    if not n:
        return
    with nogil:
        for i in range(steps):
            for r in range(m):
                u[i, r] = k[i, r] + inner(&K[i, r, 0], &x[i, 0], n)
            for r in range(n):
                x[i + 1, r] = inner(&A[i, r, 0], &x[i, 0], n)
                if m:
                    x[i + 1, r] += inner(&B[i, r, 0], &u[i, 0], m)
                if parts:
                    x[i + 1, r] += gaps[i, r]


def costates_of(const double[:, :, ::1] A, const double[:, :, ::1] B, const double[:, :, ::1] K, const double[:, ::1] gx,
                const double[:, ::1] gu, double[:, ::1] out):
    """Write the slope (steps + 1, n) of a cost by the states, where forces follow them by K:
    lam = gx + A^T lam+ + K^T (gu + B^T lam+)."""
    cdef Py_ssize_t i, steps = A.shape[0]
    cdef int n = A.shape[1], m = B.shape[2], r
    cdef Scratch room = Scratch(m * sizeof(double) + 64)
    cdef double* force = <double*>room.take(m * sizeof(double) + 8)
    require_shape(A, (steps, n, n))
    require_shape(B, (steps, n, m))
    require_shape(K, (steps, m, n))
    require_shape(gx, (steps + 1, n))
    require_shape(gu, (steps, m))
    require_shape(out, (steps + 1, n))
    if not (n and m):
        return
    memcpy(&out[steps, 0], &gx[steps, 0], n * sizeof(double))
    with nogil:
        for i in range(steps - 1, -1, -1):
            memcpy(force, &gu[i, 0], m * sizeof(double))
            add_turned(&B[i, 0, 0], &out[i + 1, 0], force, m, n)
            memcpy(&out[i, 0], &gx[i, 0], n * sizeof(double))
            add_turned(&A[i, 0, 0], &out[i + 1, 0], &out[i, 0], n, n)
            add_turned(&K[i, 0, 0], force, &out[i, 0], n, m)
