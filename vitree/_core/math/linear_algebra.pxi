cdef inline void invert(vt_real* A, int n) noexcept nogil:
    # in place, by Gauss-Jordan elimination without pivoting: the matrices are close to positive definite
    cdef int i, j, k
    cdef vt_real d, e
    for k in range(n):
        d = vt_set1(1.0) / A[k * n + k]
        A[k * n + k] = vt_set1(1.0)
        for j in range(n):
            A[k * n + j] = d * A[k * n + j]
        for i in range(n):
            if i == k:
                continue
            e = A[i * n + k]
            A[i * n + k] = vt_set1(0.0)
            for j in range(n):
                A[i * n + j] = A[i * n + j] - e * A[k * n + j]
