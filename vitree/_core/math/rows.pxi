# Laws of rows of a complementarity problem beside contacts. With w = G lam + b, and the natural map F that vanishes at
# solutions:
#     HOLD    w = 0, any lam                                    F = w
#     RUB     |beta| <= bound, beta against w, lam = lead + beta  F = rho beta - (z, between -rho bound and rho bound),
#                                                               z = rho beta - w
# Rows that hold may depend on each other.

cdef enum:
    CONE = 0                # a contact: one unilateral row, or more with friction
    HOLD = 1                # one to three rows
    RUB = 2                 # one row

LAWS = {"cone": CONE, "hold": HOLD, "rub": RUB}
#: Bilateral rows whose response is less than this fraction of the others are shifted as if it were that
cdef double LEAST_HELD = 1e-6


cdef inline void row_law(int law, int dim, vt_real rho, vt_real bound, vt_real lead, const vt_real* lam, const vt_real* w,
                         vt_real* F, vt_real* S, vt_real* L) noexcept nogil:
    # F and, unless they are NULL, its derivatives S by w and L by lam, zeros before
    cdef int j
    cdef vt_real beta, zero = vt_set1(0.0)
    cdef vt_mask within
    if law == HOLD:
        for j in range(dim):
            F[j] = w[j]
            if S != NULL:
                S[(WIDE + 1) * j] = vt_set1(1.0)
        return
    beta = rho * (lam[0] - lead)
    bound *= rho
    within = vt_le(vt_abs(beta - w[0]), bound)
    F[0] = vt_select(within, w[0], beta - vt_select(vt_lt(w[0], beta), bound, -bound))
    if S != NULL:
        S[0], L[0] = vt_select(within, vt_set1(1.0), zero), vt_select(within, zero, rho)
