# What a map is given.

cdef enum:
    PARAMETERS = 10         # of a body
    PIECES = 16             # of the memory of a map, at most

cdef enum:                  # axes of a frame's rows
    WORLD_AXES = 0
    LOCAL_AXES = 1
    SPATIAL_AXES = 2        # the world's, about its origin

cdef struct BodyFrame:      # the frame of a body's parameters, in its core frame
    double E[9]             # columns
    double p[3]             # [m]

cdef struct MapJob:
    const double* q         # (nq,)
    const double* v         # (nv,)
    const double* a         # (nv,)
    int body                # of a frame; -1: the world
    const double* frame     # its pose on the body, (4, 4)
    int axes
    const BodyFrame* places # (nbody,)
    const int* middle       # (nbody,) of a root: the first body of its tree that has inertia
    double* out
    double* total           # of a large result: the sum of its numbers, finite only if they are

ctypedef void (*MapRun)(const vt_model* m, const MapJob* job, char* room) noexcept nogil


cdef inline void* piece(char** room, size_t size) noexcept nogil:
    # of available memory
    cdef char* at = room[0]
    room[0] = at + ((size + 63) & ~<size_t>63)
    return at
