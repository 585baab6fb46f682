# What variational steps are judged by, of one lane and of several: see "certificate" in variational.pxi.

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


cdef inline int soundness_in(const Signs* signs, int lane) noexcept nogil:
    return SAME if vt_get(signs.least, lane) > 0.0 else EVEN if vt_get(signs.all, lane) > 0.0 else ODD


cdef inline int soundness(const Signs* signs) noexcept nogil:
    return soundness_in(signs, 0)
