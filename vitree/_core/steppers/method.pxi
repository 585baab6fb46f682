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
    double (*node_share)(ModelStepper self) noexcept nogil
    bint (*solves_forces)(ModelStepper self) noexcept nogil
    void (*note_touch)(ModelStepper self) noexcept nogil
    void (*put_back_touch)(ModelStepper self) noexcept nogil
    void (*learn_push)(ModelStepper self) noexcept nogil
    void (*let_bounce)(ModelStepper self) noexcept nogil
    bint (*trees_apart)(ModelStepper self) noexcept nogil
    bint (*ports_at_hand)(ModelStepper self) noexcept nogil
    int (*free_step)(ModelStepper self) noexcept nogil
    void (*node_velocity)(ModelStepper self, double* v) noexcept nogil
    void (*measure_falls)(ModelStepper self, double* fall) noexcept nogil
    int (*part)(ModelStepper self, bint leading) noexcept nogil
    int (*attempt_opened)(ModelStepper self, bint pushed, bint free) noexcept nogil
    int (*open_anew)(ModelStepper self) noexcept nogil
    void (*end_velocity)(ModelStepper self, double* v) noexcept nogil
    void (*lose_history)(ModelStepper self) noexcept nogil
    int (*finish)(ModelStepper self) noexcept nogil
    double (*weight)(ModelStepper self) except? -1
    int (*coupled_rows)(ModelStepper self) except? -1
    bint (*dense)(ModelStepper self) noexcept nogil
    int (*front_block)(ModelStepper self) except? -1
    int (*prepare)(ModelStepper self) noexcept nogil
    int (*open_node)(ModelStepper self) noexcept nogil
    double (*evaluate)(ModelStepper self) noexcept nogil
    double (*measure)(ModelStepper self) noexcept nogil
    double (*kinetic)(ModelStepper self) noexcept nogil
    Vec3 (*tree_momentum)(ModelStepper self, int root) noexcept nogil
    double (*impulse)(ModelStepper self, int k) noexcept nogil
    int (*linearise)(ModelStepper self) noexcept nogil
    void (*linearise_at_rest)(ModelStepper self) noexcept nogil
    void (*apply_inverse)(ModelStepper self, const double* r, int first, int end, double* d) noexcept nogil
    void (*place_front)(ModelStepper self, int i, FrontBody* x, bint whole) noexcept nogil
    double (*front_sense)(ModelStepper self) noexcept nogil
    double (*front_share)(ModelStepper self) noexcept nogil
    void (*note_joints)(ModelStepper self, int first, int end, Signs* signs) noexcept nogil
    void (*end_front)(ModelStepper self, int first, int end, double* d) noexcept nogil
    void (*reach_node)(ModelStepper self, const double* y, double* q2) noexcept nogil
    void (*increment_to)(ModelStepper self, const double* q2) noexcept nogil
    void (*by_increments)(ModelStepper self, int first, int end, double* row) noexcept nogil
    void (*by_velocities)(ModelStepper self, double* y) noexcept nogil
    void (*middle)(ModelStepper self) noexcept nogil
    void (*pass_on)(ModelStepper self) noexcept nogil
    void (*leave)(ModelStepper self) noexcept nogil
    void (*forget)(ModelStepper self) noexcept nogil
    void (*guess_by_dynamics)(ModelStepper self, double share) noexcept nogil
    void (*apply_by_plans)(ModelStepper self, const double* r, double* d, double* z) noexcept nogil
    int (*substep)(ModelStepper self, bint leading) noexcept nogil
    int (*attempt)(ModelStepper self) noexcept nogil
    void (*sweep_out)(ModelStepper self) noexcept nogil
    void (*struck)(ModelStepper self) noexcept nogil
    bint (*tells)(ModelStepper self, bint by_momentum, double* v) noexcept nogil
    double (*multiplier)(ModelStepper self, int c) noexcept nogil
    void (*begin)(ModelStepper self) noexcept nogil
    int (*note_part)(ModelStepper self) noexcept nogil
    int (*rows_each)(ModelStepper self) noexcept nogil
    void (*accept)(ModelStepper self) noexcept nogil
    int (*log_row)(ModelStepper self, long row) noexcept nogil
    void (*close_step)(ModelStepper self) noexcept nogil
    int (*step)(ModelStepper self) noexcept nogil
    int (*advance)(ModelStepper self) noexcept nogil
    void (*start_run)(ModelStepper self) noexcept nogil
    void (*open_step)(ModelStepper self) noexcept nogil
