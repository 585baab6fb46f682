# Bodies of one state, several at a time. Computations that need no parent are the same for all bodies: kernels of one
# lane pass them to a module of more lanes, with one body per lane. Every lane has the bits of one lane alone, so
# results do not depend on it.

ctypedef void (*HalfTurns)(const vt_model* m, const double* y, double* trial) noexcept nogil
ctypedef void (*Momenta)(const vt_model* m, const double* node, double* trial, bint split) noexcept nogil
ctypedef void (*TurnGains)(int first, int end, const double* node, const double* trial, const double* gains,
                           double* solve) noexcept nogil
ctypedef void (*Middles)(const vt_model* m, double* body) noexcept nogil

cdef struct BodyLanes:    # functions of a module of more lanes for one of one lane
    int lanes           # zero: none
    size_t layout       # of the structs that both modules know
    HalfTurns half_turns
    Momenta momenta
    TurnGains turn_gains
    Middles middles

cdef BodyLanes body_lanes    # of the module that helps this one
cdef BodyLanes offered    # the functions of this module for others


cdef inline bint shared_out(int count) noexcept nogil:
    # whether so many bodies fill the lanes of the helping module
    return VT_WIDTH == 1 and body_lanes.lanes > 0 and count >= body_lanes.lanes


def take_bodies_of(size_t address):
    """Use the functions of another module; ``address`` is the result of its ``bodies_in_lanes``, or 0 for none."""
    global body_lanes
    body_lanes.lanes = 0
    if address:
        if (<BodyLanes*>address).layout != offered.layout:
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        body_lanes = (<BodyLanes*>address)[0]
