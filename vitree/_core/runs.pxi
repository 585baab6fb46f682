# Kernels with one signature, and the table of them: of rows of states (doors.pxi), and of one state in one call
# (calls.pxi, which adds what is of one state alone).

from libc.stdint cimport uintptr_t
from libc.string cimport strlen


cdef inline void* piece(char** room, size_t size) noexcept nogil:
    # of available memory, starting on a cache line
    cdef uintptr_t at = (<uintptr_t>room[0] + 63) & ~(<uintptr_t>63)
    room[0] = <char*>(at + size)
    return <void*>at


cdef size_t slope_size(const vt_model* m) noexcept nogil:
    # bytes of memory for derivatives, including the losses of ten pieces between cache lines
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
    # bytes of memory for a kernel except those for derivatives, including the losses of twelve pieces between cache
    # lines
    return 64 * 12 + sizeof(vt_real) * (3 * m.nq + 10 * m.nv + 6 * m.nbody) + m.nbody * (
        sizeof(Pose) + sizeof(Articulated)
        + max(sizeof(AbaBody), sizeof(RneaBody), sizeof(CrbaBody), sizeof(VelocityBody)))


cdef struct Job:                # the arguments of a kernel
    const double* gravity
    const vt_real* x[3]         # the arrays of the arguments in their order, NULL for one that is omitted
    int body
    double point[3]             # on the body
    const double* frame         # its pose on the body, (4, 4)
    bint local
    bint whole                  # poses with their last rows
    const vt_load* load         # of the potentials
    int loads
    const vt_constraint* constraint
    int constraints
    vt_real* out[3]


ctypedef void (*Run)(const vt_model* m, const Job* job, char* room) noexcept nogil


cdef inline vt_real* zeros_of(int count, char** room) noexcept nogil:
    cdef vt_real* zeros = <vt_real*>piece(room, count * sizeof(vt_real))
    memset(zeros, 0, count * sizeof(vt_real))
    return zeros


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


cdef void run_pivots(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef vt_real* zeros = zeros_of(m.nv, &room)
    cdef AbaBody* body = <AbaBody*>piece(&room, m.nbody * sizeof(AbaBody))
    pivots(m, job.x[0], zeros, job.out[0], body, <Articulated*>piece(&room, 0))


cdef void run_energy(const vt_model* m, const Job* job, char* room) noexcept nogil:
    # kinetic, potential, momentum (6), centre of mass (3); the poses of the bodies remain at the beginning of the
    # memory
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef vt_real* zeros = zeros_of(m.nv, &room)
    energy(m, job.x[0], zeros if job.x[1] == NULL else <vt_real*>job.x[1], job.out[0], pose,
           <VelocityBody*>piece(&room, 0))


cdef inline void put_pose(const Pose* pose, vt_real* X) noexcept nogil:
    # the upper three rows of a matrix
    put_matrix(pose.R, X, 4)
    X[3], X[7], X[11] = pose.o.x, pose.o.y, pose.o.z


cdef void run_poses(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef vt_real* X = job.out[0]
    cdef int i
    forward_kinematics(m, job.x[0], pose)
    for i in range(m.nbody):
        put_pose(&pose[i], X)
        if job.whole:
            X[12] = X[13] = X[14] = vt_set1(0.0)
            X[15] = vt_set1(1.0)
        X += 16 if job.whole else 12


cdef inline void place_path(const vt_model* m, const vt_real* q, int body, Pose* pose, int* path) noexcept nogil:
    # the poses of the bodies from the root to one; path: (nbody,)
    cdef int n = 0, at = -1
    cdef vt_axes axes
    while body >= 0:
        path[n] = body
        body = m.body[body].parent
        n += 1
    while n:
        n -= 1
        pose_body(m, path[n], q, &axes, at, pose)
        at = path[n]


cdef void run_jacobian(const vt_model* m, const Job* job, char* room) noexcept nogil:
    # in world axes; the poses of the bodies to the root remain at the beginning of the memory
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    place_path(m, job.x[0], job.body, pose, <int*>piece(&room, 0))
    jacobian_columns(m, job.body, job.point, job.out[0], pose)


cdef void run_constraints(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef Pose* pose = <Pose*>piece(&room, 0)
    memset(job.out[1], 0, job.constraints * m.nv * sizeof(vt_real))
    constraints(m, job.constraint, job.constraints, job.x[0], pose, job.out[0], job.out[1], NULL, NULL)


cdef void run_constraint_slopes(const vt_model* m, const Job* job, char* room) noexcept nogil:
    # the derivative of Dh^T lam by body displacements
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    constraint_slopes(m, job.constraint, job.constraints, job.x[0], pose, job.x[1], <Swept*>piece(&room, 0), job.out[0])


# ---- the table --------------------------------------------------------------------------------------

cdef enum:
    REGULAR = 1                 # the mass matrix must be regular
    POTENTIALS = 2              # not for models with loads in Python, or compliant contacts
    FRAMES = 4                  # the poses of bodies are those of frames by their names
    SLOPES = 8                  # needs the memory of derivatives
    MOVES = 16                  # the acceleration by everything that the model has
    RESTS = 32                  # ... at rest, as forces
    SWEEPS = 64                 # needs the memory of derivatives of constraints
    ROWS = 128                  # not a method, but a function for rows of states


cdef struct Kernel:
    const char* inputs
    const char* outputs
    int asks
    Run run


cdef Kernel KERNELS[32]
cdef int kernels = 0
#: Names of methods, and their rows.
cdef dict METHODS = {}


cdef int kernel(str name, const char* inputs, const char* outputs, int asks, Run run) except -1:
    global kernels
    cdef Kernel* row = &KERNELS[kernels]
    require_size(min(kernels, 31), kernels, "kernels")
    row.inputs, row.outputs, row.asks, row.run = inputs, outputs, asks, run
    if not asks & ROWS:
        METHODS[name] = kernels
    kernels += 1
    return kernels - 1


cdef size_t memory_of(const vt_model* m, int asks) noexcept nogil:
    # bytes that a kernel needs
    return (room_size(m) + (slope_size(m) if asks & SLOPES else 0)
            + (2 * m.nv * sizeof(Swept) if asks & SWEEPS else 0))
