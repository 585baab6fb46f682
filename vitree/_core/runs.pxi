# Kernels of methods with one signature: for rows of states (doors.pxi) and for one state in one call (calls.pxi).

from libc.stdint cimport uintptr_t


cdef inline void* piece(char** room, size_t size) noexcept nogil:
    # of memory that is there, on a cache line of its own
    cdef uintptr_t at = (<uintptr_t>room[0] + 63) & ~(<uintptr_t>63)
    room[0] = <char*>(at + size)
    return <void*>at


cdef size_t slope_size(const vt_model* m) noexcept nogil:
    # bytes of memory for derivatives, with what ten pieces lose between cache lines
    return (64 * 11 + ((3 * whole_columns(m.nv) + 1 + COLUMN) * m.nv + 3) * sizeof(vt_real)
            + m.nbody * (sizeof(AbaBody) + sizeof(SlopeBody) + STRIP * sizeof(Columns) + 1) + m.nv * sizeof(Pivot))


cdef SlopeWork slope_work(const vt_model* m, char* room) noexcept nogil:
    cdef SlopeWork w
    cdef size_t matrix = <size_t>m.nv * whole_columns(m.nv) * sizeof(vt_real)
    w.column = <vt_real*>piece(&room, (COLUMN * m.nv + 3) * sizeof(vt_real))
    w.acc = <vt_real*>piece(&room, m.nv * sizeof(vt_real))
    w.by_q = <vt_real*>piece(&room, matrix)
    w.by_v = <vt_real*>piece(&room, matrix)
    w.inverse = <vt_real*>piece(&room, matrix)
    w.x = <AbaBody*>piece(&room, m.nbody * sizeof(AbaBody))
    w.body = <SlopeBody*>piece(&room, m.nbody * sizeof(SlopeBody))
    w.pivot = <Pivot*>piece(&room, m.nv * sizeof(Pivot))
    w.y = <Columns*>piece(&room, m.nbody * STRIP * sizeof(Columns))
    w.related = <char*>piece(&room, m.nbody)
    return w


cdef size_t room_size(const vt_model* m) noexcept nogil:
    # bytes of memory for a kernel but those for derivatives, with what twelve pieces lose between cache lines
    return 64 * 12 + sizeof(vt_real) * (3 * m.nq + 10 * m.nv + 6 * m.nbody) + m.nbody * (
        sizeof(Pose) + sizeof(Articulated)
        + max(sizeof(AbaBody), sizeof(RneaBody), sizeof(CrbaBody), sizeof(VelocityBody)))


cdef struct Job:                # what a kernel is asked for
    const double* gravity
    const vt_real* x[3]         # the arrays of the arguments in their order, NULL for one that is left out
    int body
    const double* frame         # its pose on the body, (4, 4)
    bint local
    const vt_load* load         # of the potentials
    int loads
    vt_real* out[3]


ctypedef void (*Run)(const vt_model* m, const Job* job, char* room) noexcept nogil


cdef void run_integrate(const vt_model* m, const Job* job, char* room) noexcept nogil:
    integrate(m, job.x[0], job.x[1], job.out[0])


cdef void run_difference(const vt_model* m, const Job* job, char* room) noexcept nogil:
    difference(m, job.x[0], job.x[1], job.out[0])


cdef void run_rnea(const vt_model* m, const Job* job, char* room) noexcept nogil:
    rnea(m, job.gravity, job.x[0], job.x[1], job.x[2], job.out[0], <RneaBody*>piece(&room, 0))


cdef void run_aba(const vt_model* m, const Job* job, char* room) noexcept nogil:
    aba(m, job.gravity, job.x[0], job.x[1], job.x[2], NULL, job.out[0], <AbaBody*>piece(&room, 0))


cdef void run_crba(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef vt_real* wrench = <vt_real*>piece(&room, 6 * m.nv * sizeof(vt_real))
    crba(m, job.x[0], job.out[0], <CrbaBody*>piece(&room, 0), pose, wrench)


cdef void run_rnea_derivatives(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef SlopeWork w = slope_work(m, room)
    slope_motion(m, job.gravity, job.x[0], job.x[1], job.x[2], w.x)
    inverse_slopes(m, job.gravity, job.x[1], w.x, w.body, w.column, m.nv, job.out[0], job.out[1], job.out[2])


cdef void run_aba_derivatives(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef SlopeWork w = slope_work(m, room)
    forward_slopes(m, job.gravity, job.x[0], job.x[1], job.x[2], &w, job.out[0], job.out[1], job.out[2])


cdef void run_inverse_mass(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef SlopeWork w = slope_work(m, room)
    memset(w.acc, 0, m.nv * sizeof(vt_real))
    mass_inverse(m, job.x[0], w.acc, &w, job.out[0])
