# Least squares in strict order: the rows of a level are solved in what the levels before leave free.
#
# With Z (n, k) an orthonormal basis of what is free and x the solution so far, a level of rows A dq = b is solved for z of
# dq = x + Z z. Householder reflections from the right, Q, with the largest rows first, make A Z Q = [L, 0]: the first columns
# of Q are what the level uses, the others are free for the next. (Escande, Mansard & Wieber 2014, without inequalities.)

#: Share of a level's largest row below which what is left of a row is none
cdef double DEPENDENT = 1e-9


cdef int reflect_rows(double* A, int rows, int k, int* order, double* Z, int n, double* v) noexcept nogil:
    # A (rows, k) becomes L in the order of the rows, (rows, r), within its rows of k; Z (n, k): Z Q. v: (k,) memory. Returns
    # r
    cdef int s, i, j, best
    cdef double most, size, first = 0.0, alpha, tau
    for i in range(rows):
        order[i] = i
    for s in range(min(rows, k)):
        most, best = -1.0, s
        for i in range(s, rows):
            size = vt_inner(k - s, A + order[i] * k + s, A + order[i] * k + s)
            if size > most:
                most, best = size, i
        size = sqrt(most)
        if s == 0:
            first = size
        if not size > DEPENDENT * first:
            return s
        order[s], order[best] = order[best], order[s]
        memcpy(v, A + order[s] * k + s, (k - s) * sizeof(double))
        alpha = -size if v[0] > 0.0 else size
        v[0] -= alpha
        tau = 2.0 / vt_inner(k - s, v, v)
        for i in range(s, rows):
            j = order[i] * k + s
            vt_add_row(k - s, -tau * vt_inner(k - s, v, A + j), v, A + j)
        for i in range(n):
            vt_add_row(k - s, -tau * vt_inner(k - s, v, Z + i * k + s), v, Z + i * k + s)
    return min(rows, k)


cdef void normal_rows(const double* A, int rows, int stride, int k, const double* b, double damping, double* H,
                      double* g) noexcept nogil:
    # H (k, k), its lower triangle, and g of |A x - b|^2/2 + damping |x|^2/2
    cdef int i, r
    memset(H, 0, k * k * sizeof(double))
    memset(g, 0, k * sizeof(double))
    for r in range(rows):
        for i in range(k):
            if A[r * stride + i] != 0.0:
                vt_add_row(i + 1, A[r * stride + i], A + r * stride, H + i * k)
        vt_add_row(k, -b[r], A + r * stride, g)
    for i in range(k):
        H[i * k + i] += damping


cdef int solve_rows(const double* A, int rows, int stride, int k, const double* b, double damping, double* H,
                    double* y) noexcept nogil:
    # y (k,) of least |A y - b|^2 + damping |y|^2; the damping is at least what rounding errors need
    cdef int i
    cdef double most = 0.0
    normal_rows(A, rows, stride, k, b, damping, H, y)
    for i in range(k):
        most = max(most, H[i * k + i])
        y[i] = -y[i]
    for i in range(k):
        H[i * k + i] += 1e-15 * most
    if cholesky(H, k) < 0:
        return -1
    cholesky_solve(H, k, y)
    return 0
