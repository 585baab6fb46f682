# Dense linear algebra of one lane, with rows addressed by index.
#
# The matrices are small and solved in every step. SciPy's LAPACK would cost a Python call, and its results depend on
# the version of the library.

cdef bint all_finite(const double* x, int n) noexcept nogil:
    cdef int i
    cdef double s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0


cdef inline double inner(const double* a, const double* b, int n) noexcept nogil:
    cdef int k
    cdef double s = 0.0
    for k in range(n):
        s += a[k] * b[k]
    return s


cdef inline int nonzeros(const double* a, int n, int* at) noexcept nogil:
    # indices of the entries of a row; returns their number
    cdef int k, count = 0
    for k in range(n):
        if a[k] != 0.0:
            at[count] = k
            count += 1
    return count


cdef inline double inner_at(const double* a, const double* b, const int* at, int count) noexcept nogil:
    cdef int k
    cdef double s = 0.0
    for k in range(count):
        s += a[at[k]] * b[at[k]]
    return s


cdef int lu_factor(double* A, int n, int* order) noexcept nogil:
    # A <- its triangular factors, with partial pivoting
    cdef int i, j, k, best
    cdef double s, big = largest(A, n * n)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if fabs(A[i * n + k]) > fabs(A[best * n + k]):
                best = i
        if not fabs(A[best * n + k]) > 1e-15 * big:
            return DEPENDENT
        order[k] = best
        if best != k:
            for j in range(n):
                s = A[k * n + j]
                A[k * n + j] = A[best * n + j]
                A[best * n + j] = s
        for i in range(k + 1, n):
            if A[i * n + k] == 0.0:
                continue
            s = A[i * n + k] / A[k * n + k]
            A[i * n + k] = s
            vt_add_row(n - k - 1, -s, A + k * n + k + 1, A + i * n + k + 1)
    return OK


cdef int lu_sign(const double* A, int n, const int* order) noexcept nogil:
    # the sign of the determinant, from the factors
    cdef int k, sign = 1
    for k in range(n):
        if (A[k * n + k] < 0.0) != (order[k] != k):
            sign = -sign
    return sign


cdef void lu_solve(const double* A, int n, const int* order, double* b) noexcept nogil:
    # b <- A^-1 b from the factors
    cdef int i, j, k
    cdef double s
    for k in range(n):
        s = b[order[k]]
        b[order[k]] = b[k]
        b[k] = s
    for i in range(n):
        for j in range(i):
            b[i] -= A[i * n + j] * b[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k * n + j] * b[j]
        b[k] /= A[k * n + k]


cdef void lu_solve_rows(const double* A, int n, const int* order, double* B, int columns) noexcept nogil:
    # B (n, columns) <- A^-1 B from the factors
    cdef int j, k
    cdef double s
    for k in range(n):
        if order[k] != k:
            for j in range(columns):
                s = B[order[k] * columns + j]
                B[order[k] * columns + j] = B[k * columns + j]
                B[k * columns + j] = s
    for k in range(n):
        for j in range(k):
            vt_add_row(columns, -A[k * n + j], B + j * columns, B + k * columns)
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            vt_add_row(columns, -A[k * n + j], B + j * columns, B + k * columns)
        s = 1.0 / A[k * n + k]
        for j in range(columns):
            B[k * columns + j] *= s
