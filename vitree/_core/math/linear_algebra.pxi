cdef inline vt_real lesser(vt_real a, vt_real b) noexcept nogil:
    return vt_select(vt_lt(a, b), a, b)


cdef struct Signs:      # of an elimination's pivots, times those at rest
    vt_real least       # positive if all are
    vt_real all         # their product: 1 or -1


cdef inline void signs_begin(Signs* signs) noexcept nogil:
    signs.least = vt_set1(INFINITY)
    signs.all = vt_set1(1.0)


cdef inline void signs_note(Signs* signs, vt_real pivot) noexcept nogil:
    signs.least = lesser(pivot, signs.least)
    signs.all = vt_select(vt_lt(pivot, vt_set1(0.0)), -signs.all, signs.all)


cdef inline void invert(vt_real* A, int n, double sign, Signs* signs) noexcept nogil:
    # in place, by Gauss-Jordan elimination without pivoting: the matrices are close to sign times a positive definite
    # one. Notes sign/pivot
    cdef int i, j, k
    cdef vt_real d, e
    for k in range(n):
        d = vt_set1(1.0) / A[k * n + k]
        signs_note(signs, sign * d)
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
