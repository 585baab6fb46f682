# Which steps several lanes can take as well.

def lane_plan(ModelStepper stepper):
    """The address of what `Lanes` need to take the steps of a stepper, as long as it lives; 0 if they cannot.

    They know no loads, constraints, contacts, prescribed motion, functions of the user's, and no steps that choose their
    own length.
    """
    cdef Shared* s = &stepper.shared
    cdef LanePlan* plan
    cdef Choices* c = &s.choices
    cdef EulerStepper euler
    cdef RungeKuttaStepper runge
    cdef LinearTimeStepper linear
    cdef MidpointStepper midpoint
    if (s.nload or s.count or s.m.nlocked or stepper.user is not None or stepper.gates or s.schedule.calls_user
            or s.schedule.adaptive):
        return 0
    if isinstance(stepper, LocatingStepper) and (<LocatingStepper>stepper).ntouch:
        return 0
    plan = <LanePlan*>stepper.memory.given(sizeof(LanePlan))
    plan.layout, plan.m, plan.h = lane_layout(), s.m, s.schedule.span
    plan.drive, plan.ndrive, plan.nu, plan.limited = s.drive, s.ndrive, s.schedule.nu, s.limited
    if type(stepper) is EulerStepper:
        euler = stepper
        plan.kind, plan.semi_implicit = EULER_LANES, euler.semi_implicit
        return <size_t>plan
    if type(stepper) is RungeKuttaStepper:
        runge = stepper
        plan.kind, plan.stages, plan.a, plan.b = RUNGE_KUTTA_LANES, runge.tableau.stages, runge.tableau.a, runge.tableau.b
        return <size_t>plan
    if type(stepper) not in (LinearTimeStepper, MidpointStepper) or c.guess != GUESS_AUTO or c.extra or c.solver not in (
            AUTO, RECURSIVE_NEWTON, FROZEN):
        return 0
    if type(stepper) is LinearTimeStepper:
        linear = stepper
        plan.kind, plan.split = LINEAR_TIME_LANES, linear.own.kernel.split
    else:
        midpoint = stepper
        if midpoint.tree:
            return 0
        plan.kind, plan.alpha, plan.relative = MIDPOINT_LANES, midpoint.alpha, midpoint.relative
    plan.stages, plan.share, plan.solver, plan.required = c.stages, c.share, c.solver, c.required
    plan.tolerance, plan.rounding, plan.gain, plan.heaviest = c.tolerance, c.rounding, c.gain, c.heaviest
    plan.max_iterations, plan.costs = c.max_iterations, c.costs
    return <size_t>plan
