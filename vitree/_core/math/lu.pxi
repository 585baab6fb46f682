# Dense linear algebra of small matrices, with rows addressed by index; lanes have pivots of their own.
#
# The matrices are small and solved in every step. SciPy's LAPACK would cost a Python call, and its results depend on
# the version of the library.

cdef bint all_finite(const double* x, int n) noexcept nogil:
    cdef int i
    cdef double s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0


cdef inline vt_real inner(const vt_real* a, const vt_real* b, int n) noexcept nogil:
    cdef int k
    cdef vt_real s = vt_set1(0.0)
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


cdef void lu_of_lanes(vt_real* A, int n, int* order, bint* regular) noexcept nogil:
    # A <- its triangular factors, with partial pivoting; order (n, lanes). regular: of each lane, where it was, whether
    # there are factors
    cdef vt_real big = 1e-15 * largest(A, n * n), most, at, s
    cdef vt_mask larger, those
    cdef unsigned long long picked
    cdef int i, j, k, l, best, one
    for k in range(n):
        most, at = vt_abs(A[k * n + k]), vt_set1(k)
        for i in range(k + 1, n):
            s = vt_abs(A[i * n + k])
            larger = vt_lt(most, s)
            most, at = vt_select(larger, s, most), vt_select(larger, vt_set1(i), at)
        best = <int>vt_get(at, 0)
        one, picked = True, 0
        for l in range(VT_WIDTH):
            order[k * VT_WIDTH + l] = <int>vt_get(at, l)
            one = one and order[k * VT_WIDTH + l] == best
            picked |= (<unsigned long long>1) << (order[k * VT_WIDTH + l] & 63)
            regular[l] = regular[l] and vt_get(most, l) > vt_get(big, l)
        if VT_WIDTH == 1 and not regular[0]:
            return
        if one:
            for j in range(n if best != k else 0):
                s = A[k * n + j]
                A[k * n + j] = A[best * n + j]
                A[best * n + j] = s
        else:
            for i in range(k + 1, n):
                # of the lanes in which it has the pivot
                if not (picked >> (i & 63)) & 1:
                    continue
                those = vt_le(at, vt_set1(i)) & vt_le(vt_set1(i), at)
                for j in range(n):
                    s = A[k * n + j]
                    A[k * n + j] = vt_select(those, A[i * n + j], s)
                    A[i * n + j] = vt_select(those, s, A[i * n + j])
        for i in range(k + 1, n):
            if all_zero(A[i * n + k]):
                continue
            s = A[i * n + k] / A[k * n + k]
            A[i * n + k] = s
            vt_add_row(n - k - 1, -s, A + k * n + k + 1, A + i * n + k + 1)


cdef int lu_factor(vt_real* A, int n, int* order) noexcept nogil:
    # of one lane
    cdef bint regular[MOST_LANES]
    regular[0] = True
    lu_of_lanes(A, n, order, regular)
    return OK if regular[0] else DEPENDENT


cdef int lu_sign(const double* A, int n, const int* order) noexcept nogil:
    # the sign of the determinant, from the factors
    cdef int k, sign = 1
    for k in range(n):
        if (A[k * n + k] < 0.0) != (order[k] != k):
            sign = -sign
    return sign


cdef void lu_solve(const vt_real* A, int n, const int* order, vt_real* b) noexcept nogil:
    # b <- A^-1 b from the factors
    cdef int i, j, k, l, best
    cdef double s
    for k in range(n):
        for l in range(VT_WIDTH):
            best = order[k * VT_WIDTH + l]
            s = vt_get(b[best], l)
            vt_put(&b[best], l, vt_get(b[k], l))
            vt_put(&b[k], l, s)
    for i in range(n):
        for j in range(i):
            b[i] -= A[i * n + j] * b[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k * n + j] * b[j]
        b[k] /= A[k * n + k]


cdef void lu_solve_rows(const vt_real* A, int n, const int* order, vt_real* B, int columns) noexcept nogil:
    # B (n, columns) <- A^-1 B from the factors; of one lane
    cdef int j, k
    cdef vt_real s
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
        s = vt_set1(1.0) / A[k * n + k]
        for j in range(columns):
            B[k * columns + j] *= s
