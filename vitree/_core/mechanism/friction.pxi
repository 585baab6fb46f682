# Regularised Coulomb friction of one-coordinate joints: the force -f v/sqrt(v^2 + e^2), linear well below the speed e
# and f well above it. It never drives: its power is never positive, its slope never negative.

cdef inline vt_real friction_coefficient(const vt_model* m, int k, vt_real v) noexcept nogil:
    # friction over velocity, the equivalent damping
    return friction_of(m, k) / vt_sqrt(v * v + friction_square_of(m, k))


cdef inline vt_real friction_slope(const vt_model* m, int k, vt_real v) noexcept nogil:
    # f e^2/(v^2 + e^2)^(3/2), minus the slope of the force
    return friction_coefficient(m, k, v) * friction_square_of(m, k) / (v * v + friction_square_of(m, k))


cdef inline void add_friction(const vt_model* m, double h, const vt_real* y, double share, vt_real* out) noexcept nogil:
    # out += share times friction's impulse, with the sign of the motion, over a step that moves joints by y
    cdef int k
    cdef vt_real inverse = vt_set1(1.0 / h)
    for k in range(m.nv):
        if m.friction[k] != 0.0:
            out[k] = out[k] + share * friction_coefficient(m, k, inverse * y[k]) * y[k]


cdef void stop_at_rest(const vt_model* m, double h, const vt_real* y, vt_real* change) noexcept nogil:
    # a joint with friction that a correction would reverse from well beyond its linear range is stopped at rest, where
    # the slope is largest: from there Newton's iteration converges, where it could cycle
    cdef vt_mask turns, fast
    cdef int k
    for k in range(m.nv):
        if m.friction[k] != 0.0:
            turns = vt_lt(y[k] * (y[k] + change[k]), vt_set1(0.0))
            fast = vt_lt(h * h * friction_square_of(m, k), y[k] * y[k])
            change[k] = vt_select(turns, vt_select(fast, -y[k], change[k]), change[k])
