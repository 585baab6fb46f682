# The description of its steps that a stepper of one instance passes to those of several: see lanes_of.pxi.

cdef struct Tableau


cdef struct LanePlan:
    size_t layout               # of the structs that both modules know
    int kind                    # METHOD_...
    Shared shared
    const Tableau* tableau      # of Runge-Kutta
    bint semi_implicit          # of Euler
    int split                   # of linear-time
    double alpha                # of midpoint
    bint backward
    bint relative


cdef inline size_t lane_layout() noexcept nogil:
    return sizeof(LanePlan) + 1000 * sizeof(vt_body) + 100000 * sizeof(vt_drive)
