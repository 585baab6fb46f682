# Decides whether the current operator or an exact factorisation reaches the goal of a step at lower cost.
#
# The contraction of the operator is assumed to grow with the number of steps since it was made, that of Newton's
# method to be proportional to the residual. Both constants are estimated from the passes.

from libc.math cimport ceil

cdef enum:              # solvers
    AUTO = 0
    RECURSIVE_NEWTON = 1
    FROZEN = 2
    RIQN = 3
    NEWTON = 4
    BROYDEN = 5

SOLVERS = {"auto": AUTO, "recursive-newton": RECURSIVE_NEWTON, "modified-newton": FROZEN, "riqn": RIQN, "newton": NEWTON,
           "broyden": BROYDEN}

cdef enum:              # what to do after a pass
    DONE = 0            # the residual is below the goal
    REUSE = 1           # correct with the current operator
    FACTOR = 2          # factor an operator, and correct with it
    FAIL = 3

ACTIONS = {"done": DONE, "reuse": REUSE, "factor": FACTOR, "fail": FAIL}


cdef struct Pass:               # scratch: a pass of the solver, in plain numbers
    int solver
    int k                       # corrections so far
    int most                    # corrections allowed
    double error                # the residual
    double error_before         # that of the previous pass
    double goal                 # residual accepted
    double scale                # of the residual: the largest momentum or impulse
    int rings                   # slopes of friction, damping or drives may change from pass to pass
    int turned                  # a body turned by half a turn or more
    int required_signs          # signs that the operator's pivots must have: SAME or EVEN
    int signs_ok                # they have these


cdef struct Costs:      # in evaluations of the residual
    double correction   # of a correction, with the residual after it
    double factor       # of a factorisation


#: Of an operator of which nothing is known yet, per step of age
cdef double FIRST_CONTRACTION = 0.01
#: Each so many steps an operator is replaced that has aged: the first correction by it left more than this fraction of the
#: tolerance. A factorisation must not cost more than so many corrections
cdef int RENEWAL = 4
cdef double WORTH_RENEWING = 2.0
cdef double AGED = 0.1
#: And each so many steps one that corrects increments before they are learnt: extrapolation amplifies what it leaves
cdef int LEARNING_RENEWAL = 8


cdef struct FactorReuse:    # kept
    int have                        # an operator is available
    int reused                      # the last correction was made with it
    int age                         # number of steps since it was made
    int aged                        # the first correction of the last step left too much: see `renews`
    double contraction              # of the current operator, per step of age
    double newton_constant          # of an exact direction: its contraction is this times residual over scale
    double first                    # residual of the last guess


cdef void reuse_begin(FactorReuse* x) noexcept nogil:
    x.have = x.reused = False
    x.age = 0
    x.contraction = FIRST_CONTRACTION
    x.newton_constant = 1.0
    x.first = INFINITY
    x.aged = False


cdef inline bint renews(const FactorReuse* x, const Costs* cost, long step) noexcept nogil:
    # whether a step begins with another operator, which saves later steps their second corrections: at fixed steps, so that
    # instances of a batch make theirs in the same one
    return (x.aged and step % RENEWAL == 0 and 2 * x.age > RENEWAL
            and cost.factor <= WORTH_RENEWING * cost.correction)


cdef inline bint renews_to_learn(const FactorReuse* x, long step) noexcept nogil:
    # the same of a step whose increment is corrected before it is learnt
    return x.have and step % LEARNING_RENEWAL == 0 and 2 * x.age > LEARNING_RENEWAL


cdef double passes(double contraction, double goal, double e) noexcept nogil:
    # corrections needed from e to the goal: n with contraction^n e = goal, rounded up
    cdef double c = min(max(contraction, 1e-9), 0.9), n = log(goal / e) / log(c)
    return 1.0 if n <= 1.0 else ceil(n)


cdef void reuse_learn(FactorReuse* x, const Pass* p) noexcept nogil:
    # update the constants by the pass that led to this residual
    cdef double q = p.error / p.error_before
    if x.reused and x.age > 0:
        q = q / x.age
        x.contraction = max(q, 0.8 * x.contraction + 0.2 * q)
    elif not x.reused:
        q = q * p.scale / p.error_before
        x.newton_constant = max(q, 0.8 * x.newton_constant + 0.2 * q)


cdef double contraction_of_current(const Pass* p, const FactorReuse* x) noexcept nogil:
    # where slopes change, a pass of Newton's method that leaves q of the residual met half of the change, and the same
    # operator then meets all of it: 2 q
    if p.k == 0:
        return x.contraction * x.age if x.have else 1.0
    return (2.0 if p.rings and not x.reused else 1.0) * p.error / p.error_before


cdef double contraction_of_exact(const Pass* p, const FactorReuse* x) noexcept nogil:
    # proportional to the residual; where slopes change, q of it leave q^2
    if p.rings and p.k > 0 and not x.reused:
        return min((p.error / p.error_before) * (p.error / p.error_before), 0.5)
    return min(x.newton_constant * p.error / p.scale, 0.5)


cdef bint reuse_is_cheaper(const Pass* p, const FactorReuse* x, const Costs* cost) noexcept nogil:
    # cost of the corrections with the current operator <= cost of a factorisation and of the corrections after it
    cdef double q = contraction_of_current(p, x)
    return q <= 0.5 and (cost.correction * passes(q, p.goal, p.error)
                         <= cost.factor + cost.correction * passes(contraction_of_exact(p, x), p.goal, p.error))


cdef int next_action(const Pass* p, const FactorReuse* x, const Costs* cost) noexcept nogil:
    # the action after a pass. Nothing is changed: an action depends on these numbers only
    if p.error <= p.goal:
        return DONE if p.signs_ok else FAIL
    if not isfinite(p.error) or p.k == p.most:
        return FAIL
    if p.solver == RECURSIVE_NEWTON or p.solver == NEWTON:
        return FACTOR
    if p.solver == AUTO:
        return REUSE if reuse_is_cheaper(p, x, cost) else FACTOR
    # modified Newton, Broyden, RIQN: the first operator is used for the whole step
    return FACTOR if p.k == 0 else REUSE


cdef void reuse_note(FactorReuse* x, const Pass* p, int action) noexcept nogil:
    # the effect of an action on the current operator
    if p.solver != AUTO:
        return
    x.reused = action == REUSE
    if p.k == 0 and x.have and not x.reused:
        # the estimated contraction expires: the operator is tried again at times. What made it worse than the first
        # estimate, such as joints that come to rest, may be over soon
        x.contraction *= 0.95 if p.rings and x.contraction > FIRST_CONTRACTION else 0.998


def action_after(Pass p, FactorReuse reuse, Costs cost):
    """The action after a pass, one of the values of ACTIONS; the arguments are mappings of the structs' fields."""
    return next_action(&p, &reuse, &cost)
