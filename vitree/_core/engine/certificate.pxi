# What variational steps are judged by, of one lane and of several: see "certificate" in newton.pxi.

cdef enum:
    PASSES = 12         # most corrections before the solver "auto" starts anew with exact directions
    SHORTER = 6         # most times that a correction is shortened

cdef enum:              # signs of an operator's pivots, beside those where nothing moves
    WRONG = -1          # the multipliers' matrix has another than it can have
    ODD = 0             # the determinant has another
    EVEN = 1            # the determinant has the same
    SAME = 2            # so has each pivot

#: The square of the most that joints turn in a step: half a turn [rad^2]
cdef double HALF_TURN = 9.8696
#: The square of the turn up to which the pivots' signs alone certify a step [rad^2]
cdef double SHORT_TURN = 0.09
#: The square of the turn beyond which joints must be steady [rad^2], and that of what they may turn more or less then
cdef double LONG_TURN = 0.64
cdef double STEADY = 0.0025
#: How far a solution may be from the dynamics' prediction, in units of (the prediction's turn)^2: the first one found,
#: and the one that begins with the prediction
cdef double NEAR = 0.5
cdef double FARTHER = 1.0
#: The most that it may be [rad]
cdef double FAR = 0.5
#: A share of the rounding errors of the largest possible terms
cdef double ROUNDING = 2e-16


cdef inline int pivot_signs_in(const Signs* signs, int lane) noexcept nogil:
    return SAME if vt_get(signs.least, lane) > 0.0 else EVEN if vt_get(signs.all, lane) > 0.0 else ODD


cdef inline int soundness(const Signs* signs) noexcept nogil:
    return pivot_signs_in(signs, 0)


cdef vt_real largest_turn(const vt_model* m, const vt_real* y) noexcept nogil:
    # the square of the joints' largest turn in an increment; NaN if there is one
    cdef vt_real most = vt_set1(0.0)
    cdef int i
    for i in range(m.nbody):
        most = vt_max_nan(most, joint_turn_square(&m.body[i], y))
    return most


cdef vt_real weighted(const double* gain, int n, const vt_real* r, vt_real e) noexcept nogil:
    # a residual's size: its largest entry, e, or
    #     max |r_k| sqrt(M_max/M_kk),
    # which bounds the error of each joint by its share of the kinetic energy. A light joint is starved otherwise
    cdef vt_real size = vt_set1(0.0)
    cdef int i, k
    if gain == NULL:
        return e
    for k in range(n):
        size = vt_max_nan(size, gain[k] * vt_abs(r[k]))
    for i in range(VT_WIDTH):
        if not isfinite(vt_get(e, i)):
            vt_put(&size, i, vt_get(e, i))
    return size
