# Laws of rows of a complementarity problem beside contacts. With w = G lam + b, and the natural map F that vanishes at
# solutions:
#     HOLD    w = 0, any lam                                    F = w
#     RUB     |beta| <= bound, beta against w, lam = lead + beta  F = rho beta - (z, between -rho bound and rho bound),
#                                                               z = rho beta - w
# Rows that hold may depend on each other. One lane.

cdef enum:
    CONE = 0                # a contact: one unilateral row, or more with friction
    HOLD = 1                # one to three rows
    RUB = 2                 # one row

LAWS = {"cone": CONE, "hold": HOLD, "rub": RUB}
#: Bilateral rows whose response is less than this fraction of the others are shifted as if it were that
cdef double LEAST_HELD = 1e-6


cdef inline void row_law(int law, int dim, double rho, double bound, double lead, const double* lam, const double* w,
                         double* F, double* S, double* L) noexcept nogil:
    # F and, unless they are NULL, its derivatives S by w and L by lam, zeros before
    cdef int j
    cdef double beta
    if law == HOLD:
        for j in range(dim):
            F[j] = w[j]
            if S != NULL:
                S[(WIDE + 1) * j] = 1.0
        return
    beta = rho * (lam[0] - lead)
    bound *= rho
    if fabs(beta - w[0]) <= bound:
        F[0] = w[0]
        if S != NULL:
            S[0] = 1.0
    else:
        F[0] = beta - (bound if beta > w[0] else -bound)
        if S != NULL:
            L[0] = rho


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
