# What a method does where methods differ: an entry is a function. Behind the functions stands the table of each method.

cdef class ModelStepper(Stepper)

cdef enum:              # methods
    METHOD_FIELD = 0
    METHOD_EULER = 1
    METHOD_RUNGE_KUTTA = 2
    METHOD_GAUSS = 3
    METHOD_LINEAR_TIME = 4
    METHOD_MIDPOINT = 5
    METHOD_SUNDMAN = 6
    METHOD_COUNT = 7


cdef struct Method:
    # of every method
    void (*begin)(ModelStepper self) noexcept nogil
    void (*accept)(ModelStepper self) noexcept nogil
    void (*struck)(ModelStepper self) noexcept nogil
    double (*multiplier)(ModelStepper self, int c) noexcept nogil
    int (*step)(ModelStepper self) noexcept nogil
    # a trial from node 1, without contacts; what follows if it fails, or is accepted
    int (*prepare)(ModelStepper self) noexcept nogil
    int (*attempt)(ModelStepper self) noexcept nogil
    void (*give_up)(ModelStepper self) noexcept nogil
    void (*conclude)(ModelStepper self, bint leading) noexcept nogil
    # a trial with contacts: what it begins with, the passes for it and the impulses, and impulses where it ends
    void (*first_guess)(ModelStepper self, bint joined) noexcept nogil
    void (*guess_again)(ModelStepper self) noexcept nogil
    int (*iterate_touches)(ModelStepper self) noexcept nogil
    int (*finish)(ModelStepper self) noexcept nogil
    void (*push_late)(ModelStepper self) noexcept nogil
    # a discretisation of the action: residual, operator, solution
    int (*open_node)(ModelStepper self) noexcept nogil
    double (*evaluate)(ModelStepper self) noexcept nogil
    double (*measure)(ModelStepper self) noexcept nogil
    double (*kinetic)(ModelStepper self) noexcept nogil
    Vec3 (*tree_momentum)(ModelStepper self, int root) noexcept nogil
    double (*impulse)(ModelStepper self, int k) noexcept nogil
    int (*linearise)(ModelStepper self) noexcept nogil
    void (*linearise_at_rest)(ModelStepper self) noexcept nogil
    void (*apply_inverse)(ModelStepper self, const double* r, int first, int end, double* d) noexcept nogil
    void (*sweep_out)(ModelStepper self) noexcept nogil
    void (*pass_on)(ModelStepper self) noexcept nogil
    void (*leave)(ModelStepper self) noexcept nogil
    void (*guess_by_dynamics)(ModelStepper self, double share) noexcept nogil
    # its increments
    void (*middle)(ModelStepper self) noexcept nogil
    void (*increment_to)(ModelStepper self, const double* q2) noexcept nogil
    void (*reach_node)(ModelStepper self, const double* y, double* q2) noexcept nogil
    void (*by_increments)(ModelStepper self, int first, int end, double* row) noexcept nogil
    void (*by_velocities)(ModelStepper self, double* y) noexcept nogil
    double (*node_share)(ModelStepper self) noexcept nogil
    # what it solves for, and by what
    bint (*solves_forces)(ModelStepper self) noexcept nogil
    double (*weight)(ModelStepper self) except? -1
    int (*coupled_rows)(ModelStepper self) except? -1
    bint (*dense)(ModelStepper self) noexcept nogil
    int (*front_block)(ModelStepper self) except? -1
    # islands of constraints that have a plan
    void (*place_front)(ModelStepper self, int i, FrontBody* x, bint whole) noexcept nogil
    double (*front_sense)(ModelStepper self) noexcept nogil
    double (*front_share)(ModelStepper self) noexcept nogil
    void (*note_joints)(ModelStepper self, int first, int end, Signs* signs) noexcept nogil
    void (*end_front)(ModelStepper self, int first, int end, double* d) noexcept nogil
    void (*apply_by_plans)(ModelStepper self, const double* r, double* d, double* z) noexcept nogil


cdef inline bint by_velocity(ModelStepper self) noexcept nogil:
    # whether the state is (q, v) and a step an explicit map F_h of it; else it is (q, p)
    return self.kind == METHOD_EULER or self.kind == METHOD_RUNGE_KUTTA
