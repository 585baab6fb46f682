# Laws of rows of a complementarity problem beside contacts. With w = G lam + b, and the natural map F that vanishes at
# solutions:
#     HOLD    w = 0, any lam                                    F = w
#     RUB     |beta| <= bound, beta against w, lam = lead + beta  F = rho beta - (z, between -rho bound and rho bound),
#                                                               z = rho beta - w
# Rows that hold may depend on each other. One lane.

cdef enum:
    CONE = 0                # a contact: one row that pushes, or three with friction
    HOLD = 1                # one to three rows
    RUB = 2                 # one row

#: Rows that hold and answer less than this share of the others are shifted as if they answered it
cdef double LEAST_HELD = 1e-6


cdef double row_map(int law, int dim, int n, int o, const double* G, double rho, double bound, double lead,
                    const double* lam, const double* w, double* F, double* J) noexcept nogil:
    # F and, unless it is NULL, J of the rows from o on; G begins with their first; returns the largest |F|
    cdef int j
    cdef double beta, most = 0.0
    if law == HOLD:
        for j in range(dim):
            F[o + j] = w[o + j]
            most = vt_max_nan(most, fabs(F[o + j]))
        if J != NULL:
            memcpy(J + o * n, G, dim * n * sizeof(double))
        return most
    beta = rho * (lam[o] - lead)
    bound *= rho
    if fabs(beta - w[o]) <= bound:
        F[o] = w[o]
        if J != NULL:
            memcpy(J + o * n, G, n * sizeof(double))
    else:
        F[o] = beta - (bound if beta > w[o] else -bound)
        if J != NULL:
            memset(J + o * n, 0, n * sizeof(double))
            J[o * n + o] = rho
    return fabs(F[o])


cdef void row_alone(int law, int dim, int n, int o, const double* G, const double* b, double bound, double lead,
                    double* lam) noexcept nogil:
    # the exact impulse of each row in turn, where all others are held
    cdef int j
    cdef double g, w
    for j in range(dim):
        g = G[j * n + o + j]
        if not g > 0.0:
            continue
        w = b[o + j] + vt_inner(n, G + j * n, lam)
        lam[o + j] -= w / g
        if law == RUB:
            lam[o] = lead + min(max(lam[o] - lead, -bound), bound)
