# The criteria by which variational steps are accepted, of one lane and of several: see "certificate" in newton.pxi.

cdef enum:
    PASSES = 12         # most corrections before the solver "auto" restarts with exact directions
    SHORTER = 6         # how often a correction is shortened at most

cdef enum:              # signs of an operator's pivots, compared with those at rest
    WRONG = -1          # the matrix of the multipliers has an impossible one
    ODD = 0             # the determinant has the opposite sign
    EVEN = 1            # the determinant has the same sign
    SAME = 2            # and so has each pivot

#: The square of the largest rotation of joints in a step: half a turn [rad^2]
cdef double HALF_TURN = 9.8696
#: The square of the rotation up to which the signs of the pivots alone certify a step [rad^2]
cdef double SHORT_TURN = 0.09
#: The square of the rotation beyond which joints must be steady [rad^2], and that of the deviation that they may then
#: have
cdef double LONG_TURN = 0.64
cdef double STEADY = 0.0025
#: Largest distance of a solution from the prediction of the dynamics, relative to (the predicted rotation)^2: for the
#: first solution, and for the one that starts from the prediction
cdef double NEAR = 0.5
cdef double FARTHER = 1.0
#: The largest distance in any case [rad]
cdef double FAR = 0.5
#: Fraction of the rounding errors of the largest possible terms
cdef double ROUNDING = 2e-16


cdef inline int pivot_signs_in(const Signs* signs, int lane) noexcept nogil:
    return SAME if vt_get(signs.least, lane) > 0.0 else EVEN if vt_get(signs.all, lane) > 0.0 else ODD


cdef inline int soundness(const Signs* signs) noexcept nogil:
    return pivot_signs_in(signs, 0)


cdef vt_real largest_turn(const vt_model* m, const vt_real* y) noexcept nogil:
    # the square of the largest rotation of a joint in an increment; NaN if there is one
    cdef vt_real most = vt_set1(0.0)
    cdef int i
    for i in range(m.nbody):
        most = vt_max_nan(most, joint_turn_square(&m.body[i], y))
    return most
