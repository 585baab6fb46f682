# The parts that the steppers of models and of vehicles have in common.

cdef struct Clock:          # kept: a run resumes from it
    double t                # [s] time of the state
    double t0               # [s] time of the state that was set
    double h_last           # [s] the previous step or substep, 0 if there is none
    long steps              # taken since the run began
    long start              # value of `steps` where the state was set: zero, unless the model has changed in the run
    long total_iterations   # of these steps
    int most_iterations
    int restarted           # v_last does not belong to the previous step


cdef Clock* clock_make(Memory memory) except NULL:
    cdef Clock* x = <Clock*>memory.kept(sizeof(Clock))
    memory.bound_reals(&x.t, 1, -DBL_MAX, DBL_MAX)
    memory.bound_reals(&x.t0, 1, -DBL_MAX, DBL_MAX)
    memory.bound_reals(&x.h_last, 1, 0.0, DBL_MAX)
    memory.bound_long(&x.steps)
    memory.bound_long(&x.start)
    memory.bound_long(&x.total_iterations)
    memory.bound_int(&x.most_iterations, 0, MOST_INT)
    memory.bound_int(&x.restarted, 0, 1)
    return x


cdef inline long steps_here(const Clock* x) noexcept nogil:
    # since the state was set
    return x.steps - x.start


cdef struct Now:            # scratch: the current step
    double h                # [s]
    double error            # the last residual
    double contraction      # the last residual over the one before
    double turn             # [rad] the largest rotation of a joint; NaN if the method does not compute it
    double off              # distance from the prediction, relative to the largest certified one; NaN if not computed
    double estimate         # estimate of the relative error of v in the step; NaN if the method does not compute it
    int iterations          # corrections
    int cause               # the status that a NaN indicates
    long first_row          # the row of prescribed motion at the start of the step


cdef struct State:          # x is p of variational integrators, v of the others
    vt_real* q              # (nq,) kept
    vt_real* x              # (nv,) kept
    vt_real* q2             # the trial state: scratch
    vt_real* x2


cdef struct Drive:          # the results of the user's functions, the row of the step, or constants
    vt_real* u              # (nu,) inputs
    vt_real* tau            # (nv,) [N or N m] joint forces
    vt_real* u_before       # those of the last step, of methods that extrapolate
    vt_real* tau_before
    int* varied             # of each lane: whether they were others than in the step before


cdef struct Schedule:       # the arguments of a run
    double span             # [s] the step, if all are equal
    const double* spans     # else (span_count,) [s], and (span_count + 1,): the times when they begin and end
    const double* ends
    long span_count
    long begun              # value of `steps` where the run, its rows of inputs and its rows of motion begin
    const double* u_rows    # (u_count, nu) inputs, a row per step, or NULL
    long u_count
    int nu
    bint calls_user         # the user's functions are called in each step
    bint adaptive           # each step determines its length
    double until            # [s] an adaptive run ends with a recorded step at or after this time
    bint arrived            # whether the run did


cdef int state_make(State* x, Memory memory, int nq, int nv) except -1:
    x.q, x.x = memory.kept_reals(nq), memory.kept_reals(nv)
    memory.bound_reals(x.q, nq, -DBL_MAX, DBL_MAX)
    memory.bound_reals(x.x, nv, -DBL_MAX, DBL_MAX)
    x.q2, x.x2 = memory.scratch_reals(nq), memory.scratch_reals(nv)
    return 0
