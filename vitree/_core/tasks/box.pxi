# Least of x^T H x/2 + g^T x within lower <= x <= upper, for a positive definite H: by block principal pivoting
# (Portugal, Judice & Vicente 1994), with Murty's single pivots where blocks do not lessen the number of those that are
# wrong; it ends after finitely many.

cdef enum:
    BLOCKS = 4              # tries of blocks without progress
    MOST_PIVOTS = 200


cdef int cholesky(double* A, int n) noexcept nogil:
    # in place, the lower triangle of rows: A = L L^T. -1: not positive definite
    cdef int i, j
    cdef double s
    for i in range(n):
        for j in range(i):
            A[i * n + j] = (A[i * n + j] - vt_inner(j, A + i * n, A + j * n)) / A[j * n + j]
        s = A[i * n + i] - vt_inner(i, A + i * n, A + i * n)
        if not s > 0.0:
            return -1
        A[i * n + i] = sqrt(s)
    return 0


cdef void cholesky_solve(const double* L, int n, double* x) noexcept nogil:
    cdef int i, j
    for i in range(n):
        x[i] = (x[i] - vt_inner(i, L + i * n, x)) / L[i * n + i]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] / L[i * n + i]
        for j in range(i):
            x[j] = x[j] - L[i * n + j] * x[i]


cdef int box_least(const double* H, const double* g, const double* lower, const double* upper, int n, double* x,
                   double* L, double* y, int* free, int* at) noexcept nogil:
    # x: (n,); only the lower triangle of H is read. L: (n, n), y: (n,), free, at: (n,) memory. Returns the number of
    # factorisations; -1: H is not positive definite; -2: no end
    cdef int i, j, k, count, wrong, fewest = n + 1, tries = BLOCKS, last, passes
    cdef double s
    for i in range(n):
        at[i] = 0           # free; -1, 1: at the lower, the upper end
        if lower[i] == upper[i]:
            at[i] = 2
    for passes in range(MOST_PIVOTS):
        count = 0
        for i in range(n):
            if at[i] == 0:
                free[count] = i
                count += 1
            else:
                x[i] = upper[i] if at[i] == 1 else lower[i]
        for k in range(count):
            i = free[k]
            s = -g[i]
            if count < n:
                for j in range(n):
                    if at[j] != 0:
                        s -= (H[i * n + j] if j <= i else H[j * n + i]) * x[j]
            y[k] = s
            for j in range(k + 1):
                L[k * count + j] = H[i * n + free[j]]
        if cholesky(L, count) < 0:
            return -1
        cholesky_solve(L, count, y)
        for k in range(count):
            x[free[k]] = y[k]
        wrong, last = 0, -1
        for i in range(n):
            y[i] = 0.0      # the end where it goes, if it is wrong
            if at[i] == 0:
                if x[i] < lower[i]:
                    y[i] = -1.0
                elif x[i] > upper[i]:
                    y[i] = 1.0
            elif at[i] != 2:
                s = g[i]
                for j in range(n):
                    s += (H[i * n + j] if j <= i else H[j * n + i]) * x[j]
                # the multiplier pushes off its end
                if s * at[i] > 0.0:
                    y[i] = 3.0
            if y[i] != 0.0:
                wrong += 1
                last = i
        if wrong == 0:
            return passes + 1
        if wrong < fewest:
            fewest, tries = wrong, BLOCKS
        else:
            tries -= 1
        for i in range(n):
            if y[i] != 0.0 and (tries > 0 or i == last):
                at[i] = 0 if y[i] == 3.0 else <int>y[i]
    return -2
