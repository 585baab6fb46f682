# How well the polynomials of Gauss steps resolve a motion. Velocities V_j at the nodes c_j, with weights b_j, have the
# Legendre coefficients on a step
#     alpha_k = (2 k + 1) sum_j b_j P_k(2 c_j - 1) V_j,  k = 0 .. s-1
# The last one, as a fraction eta of the largest velocity so far, indicates how fast they decrease. The relative error
# of v in a step is at most about eta^2. Rotations and translations are measured separately, so that a fast motion of
# the whole robot does not hide the joints.

cdef double SLOW = 1e-3                 # velocities below this fraction of those of the other unit count as that

cdef enum:
    UNITS = 2                           # rad, and lengths of the model


cdef struct Resolution:                 # of so many steps; velocities in 1/s
    double speed[UNITS]                 # the largest
    double last[UNITS]                  # the largest |alpha_(s-1)|
    double when[UNITS]                  # [s] start of its step


cdef void resolution_bounds(Resolution* x, Memory memory) except *:
    memory.bound_reals(x.speed, UNITS, 0.0, INFINITY)
    memory.bound_reals(x.last, UNITS, 0.0, INFINITY)


cdef void resolution_add(Resolution* x, const GaussStep* step, const double* weight, const double* length,
                         const int* unit, double t) noexcept nogil:
    # the stages of a step that begins at t; weight: (2 s - 1) b_j P_(s-1)(2 c_j - 1)
    cdef const double* V
    cdef double last, speed
    cdef int j, k
    for k in range(step.m.nv):
        V = <const double*>step.V + k * step.lanes
        last = speed = 0.0
        for j in range(step.stages):
            last += weight[j] * V[j]
            speed = max(speed, fabs(V[j]))
        last, speed = fabs(last) / length[k], speed / length[k]
        if step.h * speed <= ROUNDED_OFF:
            continue
        x.speed[unit[k]] = max(x.speed[unit[k]], speed)
        if last > x.last[unit[k]]:
            x.last[unit[k]], x.when[unit[k]] = last, t


cdef void resolution_join(Resolution* x, const Resolution* more) noexcept nogil:
    cdef int k
    for k in range(UNITS):
        x.speed[k] = max(x.speed[k], more.speed[k])
        if more.last[k] > x.last[k]:
            x.last[k], x.when[k] = more.last[k], more.when[k]


cdef double resolution_eta(const Resolution* x, const double* last, int* which) noexcept nogil:
    # the larger eta of `last`, and its unit; 0 at rest
    cdef double eta = 0.0, speed
    cdef int k
    for k in range(UNITS):
        speed = max(x.speed[k], SLOW * x.speed[1 - k])
        if last[k] > eta * speed:
            eta, which[0] = last[k] / speed, k
    return eta
