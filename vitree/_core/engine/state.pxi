# The memory of a stepper of a model, by owner. A `Lane` has everything that differs between two instances of a batch,
# as numbers of VT_WIDTH instances where several are computed together; `Shared` has everything that they have in
# common. A function beside each struct creates its arrays, and states which of them a run resumes from (memory.kept),
# which each step writes before it reads them (memory.scratch), and which are arguments (memory.given).

# ---- bodies, loads and accelerations ---------------------------------------------------------------

cdef struct Bodies:
    Pose* pose                  # (nbody,)
    AbaBody* aba
    RneaBody* rnea              # NULL without prescribed coordinates
    double* wrench              # (nbody, 6) of the loads
    double* twist               # (nbody, 6)
    double* bias                # (nbody, 6) accelerations for zero joint accelerations
    double* load_force          # (nv,) joint forces of the loads
    vt_real* force              # (nv,) joint forces of the current accelerations
    double* inertial            # (nv,) joint forces of M a, or of a load written in Python
    double* v_node              # (nv,) velocity at the start of the step
    double* v_last              # and at the start of the previous step
    bint predicts               # functions are called at the predicted middle of steps, which needs v_last


cdef struct Prescribed:         # rates of the prescribed coordinates, zero elsewhere
    double* v                   # (nv,)
    double* a


cdef struct Servos:             # drives, and springs that are solved for, at a trial
    vt_real* force              # (nv,) [N or N m]
    vt_real* slope              # (nv,) -h dforce/dy, or NULL: there are none
    bint ahead                  # accelerations are those of a step: see `acceleration_in_step`
    vt_real* ahead_y            # (nv,) h v
    vt_real* ahead_force        # the same as force and slope, there
    vt_real* ahead_slope
    vt_real* stiff              # (nv,) armature, plus the slopes, which act like armature
    vt_model model              # model with this armature
    double spent                # [s] the substeps of the current step so far, and (ndrive,) [N s or N m s] impulses
    double* impulse


cdef int servos_make(Servos* x, Memory memory, int count, int nv) except -1:
    x.slope, x.spent = NULL, 0.0
    if count:
        x.force, x.slope, x.ahead_y = memory.scratch_reals(nv), memory.scratch_reals(nv), memory.scratch_reals(nv)
        x.ahead_force, x.ahead_slope = memory.scratch_reals(nv), memory.scratch_reals(nv)
        x.stiff, x.impulse = memory.scratch_reals(nv), <double*>memory.scratch_reals(count)
    return 0


# ---- constraints -----------------------------------------------------------------------------------

cdef struct Holonomic:          # h(q) = 0
    double* h                   # (count,)
    double* Dh1                 # (count, nv) at node 1
    double* Dh2                 # at node 2
    Hold* hold1                 # (count,) values of the constraints, before their rows, at nodes 1 and 2
    Hold* hold2
    double* push                # (count,) multipliers of accelerations and velocities
    double* response            # (count, nv) M^-1 Dh^T
    double* schur               # the islands' Dh M^-1 Dh^T, of at most (count, count)
    int* order                  # (count,) its pivots
    int* columns                # (nv,) columns in which a row has entries
    double* lam                 # (count,) multipliers of the step: impulses at node 1
    double* tangent             # (count,) multipliers that make the momentum of the start tangent to the constraints
    double* force               # (count,) multipliers as forces at the start of the last step
    double* found               # (count,) multipliers of accelerations and velocities, island by island


# ---- the solution of a step's equations --------------------------------------------------------------

cdef struct Progress:           # kept: the history of a run of variational steps
    int opening                 # there is no previous step
    int have_Dh                 # Dh1 is that of the current state
    long halved                 # number of steps that were halved
    double halved_first         # [s] start of the first and the last of them
    double halved_last
    double density              # [1/s] half a step before the state, or at it if there is no previous step
    long residuals              # evaluations since the state was set
    long factorisations
    long solves


cdef Progress* progress_make(Memory memory) except NULL:
    cdef Progress* x = <Progress*>memory.kept(sizeof(Progress))
    memory.bound_int(&x.opening, 0, 1)
    memory.bound_int(&x.have_Dh, 0, 1)
    memory.bound_long(&x.halved)
    memory.bound_long(&x.residuals)
    memory.bound_long(&x.factorisations)
    memory.bound_long(&x.solves)
    return x


cdef int reuse_bounds(FactorReuse* x, Memory memory) except -1:
    memory.bound_int(&x.have, 0, 1)
    memory.bound_int(&x.reused, 0, 1)
    memory.bound_int(&x.age, 0, MOST_INT)
    memory.bound_int(&x.aged, 0, 1)
    memory.bound_reals(&x.contraction, 1, 0.0, INFINITY)
    memory.bound_reals(&x.newton_constant, 1, 0.0, INFINITY)
    memory.bound_reals(&x.first, 1, 0.0, INFINITY)
    return 0


cdef int guess_make(Guess* x, Memory memory, int nv, bint rings) except -1:
    x.seen = <Seen*>memory.kept(VT_WIDTH * sizeof(Seen))
    memory.bound_long(&x.seen.count)
    memory.bound_long(&x.seen.rung)
    x.table, x.rings = memory.kept_reals(guess_rows(rings) * nv), rings
    return 0


cdef struct Nearby:             # a step near this one, whose derivatives are known
    const double* y             # (nv,) the increment of this one to first order
    const double* by_p          # (nv, ...) how the end moves by the momentum at the start, J^-1
    int width                   # numbers from row to row
    double h


cdef struct Newton:
    Pass* now                   # of each lane
    bint solves[MOST_LANES]     # a lane continues its passes
    bint guesses[MOST_LANES]    # its y is predicted by the dynamics
    bint factors[MOST_LANES]    # it uses another operator
    int factored[MOST_LANES]    # how many of this step it has used
    int compared[MOST_LANES]    # residuals of a lane by which guesses were compared: see `second_guess`
    int status[MOST_LANES]      # how its passes ended
    vt_real* y                  # (nv,) the unknown increment
    vt_real* spare              # (nv,) another one
    vt_real* r                  # (nv,) the residual
    vt_real* d                  # (nv,) the correction of y
    vt_real* ahead              # (nv,) the next one of lanes that are done, found with those of others
    bint foreseen[MOST_LANES]   # it is there
    vt_real* v                  # (nv,) velocity and acceleration for predictions
    vt_real* a
    double* z                   # (count,) corrections of the multipliers
    const Nearby* nearby        # or NULL
    bint by_nearby              # corrections are by its derivatives
    const vt_real* impulse      # (nv,) impulse of the momentum at the start of the step, or NULL
    vt_real* last               # (nv,) and (count,) the last ones, and the previous residual along them
    double* last_z
    double slope[MOST_LANES]
    int* own                    # (count,) a coordinate that only one gear has, or NULL: multipliers are guessed
    double* w                   # (count + extra,) the same, island by island, and the response of loads
    double* A                   # the islands' Schur complements, of at most (count, count)
    int* order                  # (rows,) its pivots
    double* past                # Broyden's corrections, and their squared norms
    double* past_size
    double share                # of the pace, in the current substep
    int stage                   # the current substep
    bint turned                 # the rows Dh2 are with respect to increments already


cdef int newton_make(Newton* x, Memory memory, int nv, int count, int extra, Py_ssize_t broyden) except -1:
    # broyden: numbers of one of its corrections, times the number of corrections, or 0
    x.now = <Pass*>memory.scratch(VT_WIDTH * sizeof(Pass))
    x.y, x.spare = memory.scratch_reals(nv), memory.scratch_reals(nv)
    x.r, x.d = memory.scratch_reals(nv), memory.scratch_reals(nv)
    x.ahead = memory.scratch_reals(nv) if VT_WIDTH > 1 else NULL
    x.v, x.a = memory.scratch_reals(nv), memory.scratch_reals(nv)
    x.impulse, x.nearby = NULL, NULL
    x.last, x.last_z = memory.scratch_reals(nv), <double*>memory.scratch_reals(count)
    x.z, x.w = <double*>memory.scratch_reals(count), <double*>memory.scratch_reals(count + extra)
    x.A, x.order = <double*>memory.scratch_reals(count * count), <int*>memory.scratch(count * sizeof(int))
    x.past, x.past_size = <double*>memory.scratch_reals(broyden), <double*>memory.scratch_reals(broyden)
    return 0


cdef struct Operator:           # of a substep: J - C^T R and its responses, which later steps may reuse
    double* C                   # (extra, nv) rows by which loads couple the joints
    double* R                   # (extra, nv)
    double* response            # (count + extra, nv) (J - C^T R)^-1 of Dh1^T, J^-1 of C^T
    double* B                   # (extra, extra) factors of 1 - R J^-1 C^T
    int* B_order                # (extra,) its pivots
    double* S                   # (count, count) factors of Dh (response) of islands without a plan, or NULL
    int* S_order                # (count,) their pivots
    double* reused_for_h        # the step for which B, S and their responses may be reused, or 0
    double* J                   # (nv, nv) factors of a dense J, or NULL
    int* order                  # (nv,) its pivots
    int* pivot_signs            # by the signs of the pivots, of each lane: SAME, EVEN or ODD


cdef int operator_make(Operator* x, Memory memory, int nv, int count, int extra, bint dense,
                      const Islands* plain) except -1:
    # plain: the islands, if all constraints are gears and no island has a plan, or NULL
    cdef int k
    x.C, x.R = <double*>memory.kept_reals(extra * nv), <double*>memory.kept_reals(extra * nv)
    x.response, x.B = <double*>memory.kept_reals((count + extra) * nv), <double*>memory.kept_reals(extra * extra)
    x.B_order, x.reused_for_h = memory.kept_ints(extra, 0, extra - 1), <double*>memory.kept_reals(1)
    if plain != NULL:
        x.S, x.S_order = <double*>memory.kept_reals(count * count), memory.kept_ints(count, 0, count - 1)
        for k in range(plain.count):
            memory.bound(INTS, x.S_order + plain.at[k].row, plain.at[k].row_end - plain.at[k].row, 0,
                         plain.at[k].row_end - plain.at[k].row - 1)
    x.pivot_signs = <int*>memory.kept(VT_WIDTH * sizeof(int))
    if dense:
        x.J, x.order = <double*>memory.kept_reals(nv * nv), memory.kept_ints(nv, 0, nv - 1)
    return 0


# ---- all of it ---------------------------------------------------------------------------------------

cdef struct Choices:            # how a variational step is solved
    int solver
    int guess
    double tolerance
    double rounding             # [N or N m] smallest residual required, over the step
    double* gain                # (nv,) weights of the residual in the norm of the kinetic energy, or NULL: all one
    double heaviest             # sqrt(M_kk) is this over gain_k
    const void* own             # the rounding, the heaviest and the weights in lanes, where each instance has its own
    int max_iterations
    int halvings                # how often a step that cannot be solved is halved at most
    int stages                  # substeps of a composition
    double* share               # (stages,) of the step
    bint implicit               # forces that depend on velocities are taken at the solved-for middle
    int extra                   # rows by which loads couple the joints
    bint written                # the last nv of these are those of loads written in Python
    bint stiff                  # springs are solved for: forces of a poor guess never act, and distort the scale
    bint reuses_answers             # they change little from step to step
    bint renews                     # operators are replaced to learn by: they have no answers to be computed anew
    int required_signs          # signs that a step's operator must have: SAME, or ODD where they carry no information
    Costs costs
    int adapt                   # the scheme of adaptive steps, or 0
    double pace                 # [1] step times density
    double rate0                # [1/s] speed below which the length of steps is constant
    double density_given        # [1/s] at the start, or NaN: the density of the speed there


cdef enum:
    ROUNDING_AT = 0             # in numbers of lanes
    HEAVIEST_AT = 1
    GAIN_AT = 2                 # (nv,)


cdef inline double rounding_of(const Choices* c, int lane) noexcept nogil:
    return vt_get(one_number(c.own, ROUNDING_AT, c.rounding), lane)


cdef inline vt_real heaviest_of(const Choices* c) noexcept nogil:
    return one_number(c.own, HEAVIEST_AT, c.heaviest)


cdef inline vt_real gain_of(const Choices* c, int k) noexcept nogil:
    return one_number(c.own, GAIN_AT + k, c.gain[k])


cdef enum:
    SUBSTEP_ROWS = 2            # rows of prescribed motion in a substep


cdef struct Locked:             # a prescribed coordinate
    int iq
    int iv


cdef struct Shared:
    const vt_model* m
    Schedule schedule
    Locked* locked              # (nlocked,)
    const double* motion        # (motion_count, 3, nlocked) q, v, a of the prescribed coordinates, or NULL
    long motion_count
    const vt_load* load
    int nload
    const vt_drive* drive
    int ndrive
    bint limited                # some have effort limits
    const vt_constraint* constraint
    int count                   # of constraints
    Islands islands             # of constraints
    bint gears                  # all constraints are linear in q: with a good guess nothing is left to correct
    bint plain                  # the same, and no island has a plan: Dh is constant, and requires no poses
    bint geared                 # the same, and accelerations eliminate them by this plan
    GearTrainPlan trains
    int* own                    # (count,) a coordinate that only one gear has, or NULL
    bint user_rests             # loads and constraints written in Python: potentials,
    bint user_moves             # forces,
    bint user_constrains        # constraints
    vt_real* zeros              # (max(nv, 6 nbody),)
    Choices choices


cdef struct Lane:
    bint left[MOST_LANES]       # the steps of a lane end here, and are continued by those of one instance
    Clock* clock
    Now* now                    # of each lane
    State state
    Drive drive
    Bodies bodies
    Prescribed prescribed
    Holonomic held
    Fronts fronts
    GearTrainWork trains
    Servos servos
    Newton newton
    Progress* progress
    Guess* guess                # of the current substep: of its increment, and of its multipliers
    Guess* push_guess
    FactorReuse* reuse            # of each lane
    Operator* operator
    Guess* guesses              # (stages,): one for each substep
    Guess* push_guesses
    FactorReuse* reuses          # (stages, lanes)
    Operator* operators
