# The compiled model: plain numbers, shared by all lanes and threads, never written after it is made.

cdef enum:
    REVOLUTE = 0
    PRISMATIC = 1
    HELICAL = 2
    BALL = 3
    FREE = 4

cdef struct vt_body:
    int kind
    int parent          # -1: world
    int iq              # first entry in q
    int iv              # first entry in v
    double E[9]         # columns: axes of the core frame in the parent's at q = 0
    double p[3]         # [m] its origin there
    double pitch        # [m/rad]
    double mass         # [kg]
    double com[3]       # [m] in the core frame
    double h[3]         # [kg m] mass * com
    double Io[6]        # [kg m^2] about the core frame's origin: xx xy xz yy yz zz
    double Ic[6]        # [kg m^2] about the COM
    int big             # number of ball and free joints before this one

cdef struct vt_model:
    int nbody
    int nq
    int nv
    int nbig            # number of ball and free joints
    int damped          # any damping at all
    double g[3]         # [m/s^2]
    vt_body* body
    double* damping     # (nv,)

cdef struct vt_load:    # a constant wrench at a point of a body
    int body
    int local           # torque and force are in the core frame's axes, else the world's
    double point[3]     # [m] in the core frame
    double torque[3]    # [N m]
    double force[3]     # [N]

cdef struct vt_constraint:  # one scalar equation h(q) = 0
    int kind
    int body_a          # -1: world
    int body_b
    int local           # the direction turns with body a, else it is fixed in the world
    double point_a[3]   # [m] in the bodies' core frames
    double point_b[3]
    double direction[3] # unit, in body a's core frame or the world's axes
    double value        # offset [m], distance [m], or the sum of a coupling
    int iv_a            # coordinates of a coupling
    int iv_b
    double factor_a
    double factor_b

cdef class CoreModel:
    cdef vt_model m

cdef class ConstraintList:
    cdef vt_constraint* list
    cdef readonly int count

cdef class Scratch:
    # memory for a kernel's intermediate results, each piece on a cache line of its own
    cdef void* raw
    cdef char* next
    cdef char* end
    cdef void* take(self, size_t size) except NULL
