# What a stepper of one instance lends to a step in contact of several lanes: its kept memory. Known to both modules.

cdef enum:
    STEADY_CONTACTS = 256   # most contacts of a model whose steps in contact are taken in lanes
    STEADY_MEMBERS = 48     # and of them points and spheres on planes
    STEADY_JOINTS = 64      # and joints with dry friction


cdef struct ModelNumbers:       # of a stepper, for lanes in which the numbers of a model are not those of all
    unsigned long long serial   # of the stepper
    const vt_model* m
    const vt_drive* drive
    const vt_contact* touch
    const vt_field* field       # a ground that is not a plane
    const Choices* choices


cdef struct HomeTrial:          # of a step, at whose end contacts close that it does not solve for: see `join`
    double* y                   # (nv,) the increment
    double* lam                 # (contacts, 3) impulses, world axes
    int* inside                 # (contacts,) whether it is one of those that are solved for then
    unsigned long long key      # of trials that may go on together it is the same; 0: the stepper goes on
    double budget               # of the contact problem, what is left of it
    bint closing                # see `Touching`
    int corrections
    int factored                # operators: the last one is in place
    int residuals
    int passes
    int solves


cdef struct Home:               # of an instance
    const ModelNumbers* numbers # or NULL: those of the plan
    const vt_field* field
    double* q                   # (nq,), replaced by those of the end of the step
    double* x                   # (nv,)
    const double* u             # (nu,) inputs
    const double* tau           # (nv,) [N or N m] joint forces
    double* u_before            # see `Drive`
    double* tau_before
    int* varied
    Seen* seen                  # the guess of the increment
    double* table
    double* gains               # the operator
    double* multi
    int* pivot_signs
    FactorReuse* reuse
    long number                 # of steps before
    double* node                # the bodies at node 1, and gravity there
    double* weight
    double* lam                 # of contacts: see `Touching`
    double* way
    double* hold
    int* active
    double* gap_before
    double* moved
    double* told
    double* P
    double* answers
    Seen* past_seen
    double* past_table
    double* idled
    int* jumped
    double* node_before         # see `PostContact`
    int* pushed_before
    double* v                   # (nv,) for the velocity of the state that is reported at the end, or NULL
    bint answered               # it is there
    int ports                   # of P, and the bodies or joints that they and those of past impulses belong to
    int* owner
    int* owner_past
    HomeTrial trial
    int status                  # OK, or that it has left: its next step is for its own stepper; JOINED: from its trial on
    int steps                   # that were taken, and their corrections: all, the most and the last
    int corrections
    int most
    int last
    int passes
    int more_residuals          # than follow from these
    int rested                  # guesses of no motion that were compared with those of the dynamics: see `guess_rest`
    int factored                # operators, and solutions by them
    int solves
    double error                # of the last step
    double turn


cdef struct HomePlan:           # what is common to the instances of a group
    size_t layout               # of the structs that both modules know
    const vt_contact* touch     # (contacts,)
    int contacts
    int patches
    const TouchSpan* span
    int spans
    const TouchBall* ball
    int balls
    const int* ball_of          # (contacts,) or -1
    const int* body_of_v        # (nv,)
    bint culls                  # contacts may be far away
    const vt_pair* pair         # (pairs,) convex shapes, which have to be far apart
    int pairs
    double h
    double share                # see `post_contact_velocity`
    double expected
    double node_share           # of the impulse of a step, at its first node
    int ports                   # of P at hand
    const int* owner            # (ports,) bodies, or -1 - contact of joints with dry friction
    int most_ports              # of past impulses
    int kept_ports              # of P, at most


#: with 0 steps they go on from their trials, by one
ctypedef void (*StepTogether)(void* block, const HomePlan* plan, Home** home, int count, int steps) noexcept nogil


cdef inline size_t home_layout() noexcept nogil:
    return (sizeof(Home) + 1000 * sizeof(HomePlan) + 1000000 * sizeof(vt_contact) + 100000000 * sizeof(Seen))
