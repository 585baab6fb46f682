# Tolerances and decisions of steps in contact, of one lane and of several.

cdef enum:
    TOLD = 7                # numbers of a contact in a step
    STEP_BUDGET = 100       # corrections of all rows in a step, after which a problem has CONE_SPARE
    JOINED_BUDGET = 20      # of a problem that contacts have joined
    FEW_ROWS = 100          # of contact problems up to which a step is repeated in parts if its corrections are used up

cdef enum:                  # whether a contact is in the solve
    OUTSIDE = 0
    INSIDE = 1
    REBOUNDS = 2            # it will bounce at the next node
    OPEN = 3                # it closes freely: the step to the instant at which it does is searched
    STRIKES = 4             # it closes at this node, up to a negligible distance
    FOLLOWS = 5             # it closes in this step after an impact at this node, and takes part in it

cdef enum:                  # whether a contact acted in the last step
    PUSHED = 1
    ARRIVED = 2             # it closed, and rebounds at this node

#: The complementarity problem of a pass is solved to this fraction of the pass's initial residual, or to less, if the
#: correction leaves less: to this one times the relative residual of the momenta
cdef double TOUCH_SHARE = 1e-4
cdef double TOUCH_QUADRATIC = 1e-2
#: or to this one, if that takes more than corrections
cdef double TOUCH_ENOUGH = 0.1
#: [m] above the lowest point of a patch that lands, up to which others count as low as it
LEVEL_GAP = 1e-5
cdef double LEVEL = LEVEL_GAP
#: Increments up to this fraction of the distance from the origin consist of rounding errors; a residual up to so many
#: times the tolerance, of a step that begins with the impulses of the last one, is a drift that such errors left
cdef double STILL = 1e-13
cdef double DRIFTED = 100.0
#: A correction that leaves more than this fraction requests another operator
cdef double TOUCH_CONTRACTION = 0.05
#: Tolerance of contacts: relative to the velocities, at the default tolerance of the momenta and tighter ones, and to the
#: rounding errors of positions
cdef double TOUCH_TOLERANCE = 5e-11
cdef double DEFAULT_TOLERANCE = 1e-9
cdef double TOUCH_ROUNDING = 5e-15
#: [m] contacts whose gap is no more at both ends of the last step rest
cdef double RESTING_GAP = 1e-9
#: Corrections of problems of single trees, whose matrices are dense, count as more than one from so many rows on
cdef double DENSE_ROWS = 16.0
#: A contact is in the solve from the beginning if so many changes of its gap in the last step close it
cdef double FORESEEN = 1.5
#: [m] a trial closes a contact whose gap it brings below its bound by more
cdef double CLOSES = 1e-13
#: [m] farther apart than where contacts count as closed
cdef double AWAY = 2e-6
#: [m] points of a patch that are no farther above the ground touch it: the others do not hold them closer
cdef double LEVEL_TOUCHES = 1e-12
#: [m/s] contacts slower than this do not slide
cdef double SLIDING = 1e-7
#: Tolerance of the velocities at nodes, relative to those without impulses, and the residual that is not worth more than
#: corrections
cdef double AT_NODE = 1e-13
cdef double ENOUGH_AT_NODE = 1e-10


cdef bint worth_another(double e, double before, double goal, double scale, bint old) noexcept nogil:
    # whether corrections that contract as the last one take fewer passes than a factorisation, which costs about as
    # much as one, and corrections of Newton's method; if as many, an operator of this step is kept, an old one is not
    cdef double more, anew
    if not e < TOUCH_CONTRACTION * before:
        return False
    more, anew = passes(e / before, goal, e), 1.0 + passes(e / scale, goal, e)
    return more < anew or (more == anew and not old)


cdef inline double bound_of(const vt_contact* e, double gap) noexcept nogil:
    # the lower bound of a gap that was not held in the last step
    return gap if e.patch >= 0 and gap <= LEVEL_TOUCHES else min(0.0, gap)


cdef inline double goal_of_contacts(double tolerance, double speed, double reach, double h) noexcept nogil:
    # the tolerance of the natural residual [m/s] for the tolerance of the momenta, and the largest velocity of contacts
    return max(TOUCH_TOLERANCE * max(1.0, tolerance / DEFAULT_TOLERANCE) * speed, TOUCH_ROUNDING * reach / fabs(h))
