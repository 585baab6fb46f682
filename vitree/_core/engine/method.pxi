# The functions in which methods differ: an entry is a function. After the functions follows the table of each method.

cdef enum:              # methods
    METHOD_FIELD = 0
    METHOD_EULER = 1
    METHOD_RUNGE_KUTTA = 2
    METHOD_GAUSS = 3
    METHOD_LINEAR_TIME = 4
    METHOD_MIDPOINT = 5
    METHOD_SUNDMAN = 6
    METHOD_COUNT = 7


ctypedef void (*MethodAction)(ModelStepper self) noexcept nogil
ctypedef int (*MethodStage)(ModelStepper self) noexcept nogil
ctypedef double (*MethodShare)(ModelStepper self) noexcept nogil
ctypedef vt_real (*MethodSize)(ModelStepper self) noexcept nogil
ctypedef int (*MethodCount)(ModelStepper self) except? -1

cdef enum:
    OPERATOR_PARTS = 2

cdef struct OperatorPart:       # memory that a factorisation of the current substep writes
    void* at
    size_t size                 # bytes


cdef struct Method:
    bint explicit               # the state is (q, v), and a step an explicit map F_h of it; else it is (q, p)
    # creation: of one instance by its options; of lanes by a plan, if lanes support the chosen steps
    int (*make)(ModelStepper self, dict options) except -1
    bint (*fits_lanes)(ModelStepper self) noexcept
    int (*make_lanes)(ModelStepper self, const LanePlan* plan) except -1
    # entries of every method
    MethodAction begin, accept, on_impulse
    double (*multiplier)(ModelStepper self, int c) noexcept nogil
    MethodStage step
    # a trial from node 1, without contacts; what follows if it fails, or is accepted
    MethodStage prepare, attempt
    MethodAction give_up
    void (*conclude)(ModelStepper self, bint leading) noexcept nogil
    # a trial with contacts: its initial guess, the passes for it and the impulses, and the impulses at its end
    void (*first_guess)(ModelStepper self, bint joined) noexcept nogil
    MethodAction guess_again
    MethodStage iterate_touches, finish
    MethodAction stand_touched          # bodies in contact at node 2 of a trial, and those on the ways to their roots
    MethodAction push_late
    # a discretisation of the action: residual, operator, solution
    MethodStage open_node
    MethodSize evaluate, measure, kinetic
    Vec3 (*tree_momentum)(ModelStepper self, int root) noexcept nogil
    vt_real (*impulse)(ModelStepper self, int k) noexcept nogil
    MethodStage linearise
    void (*operator_parts)(ModelStepper self, OperatorPart* part) noexcept nogil
    void (*apply_inverse)(ModelStepper self, const vt_real* r, int first, int end, vt_real* d) noexcept nogil
    # responses to the unit wrenches on a body, or NULL; fresh: the first of these bodies since the operator was made
    void (*answer_wrenches)(ModelStepper self, int body, int first, int end, bint fresh, int width,
                            double* d) noexcept nogil
    # and to the unit forces of joints
    void (*answer_joints)(ModelStepper self, const SideJoints* joints, int first, int end, bint fresh, int width,
                          double* d) noexcept nogil
    void (*displaced)(ModelStepper self, int body, double* out) noexcept nogil  # by the last solution, if there are these
    MethodAction linearise_at_rest, sweep_out, pass_on, leave
    void (*guess_by_dynamics)(ModelStepper self, double share, const bint* some) noexcept nogil
    # its increments
    MethodAction middle
    void (*increment_to)(ModelStepper self, const double* q2) noexcept nogil
    void (*reach_node)(ModelStepper self, const vt_real* y, vt_real* q2) noexcept nogil
    void (*by_increments)(ModelStepper self, int first, int end, double* row) noexcept nogil
    void (*by_velocities)(ModelStepper self, vt_real* y) noexcept nogil
    MethodShare node_share, force_share
    # the equations that it solves
    bint (*solves_forces)(ModelStepper self) noexcept nogil
    double (*weight)(ModelStepper self) except? -1
    MethodCount coupled_rows
    bint (*dense)(ModelStepper self) noexcept nogil
    MethodCount front_block
    # islands of constraints that have a plan
    void (*place_front)(ModelStepper self, int i, FrontBody* x, bint whole) noexcept nogil
    MethodShare front_sense, front_share
    void (*note_joints)(ModelStepper self, int first, int end, Signs* signs) noexcept nogil
    void (*end_front)(ModelStepper self, int first, int end, double* d) noexcept nogil
    void (*apply_by_plans)(ModelStepper self, const double* r, double* d, double* z) noexcept nogil
