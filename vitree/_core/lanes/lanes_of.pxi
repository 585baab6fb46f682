# Which steps several lanes can take as well.

def lane_plan(ModelStepper stepper):
    """The address of what `Lanes` need to take the steps of a stepper, as long as it lives; 0 if they cannot.

    They know no loads, constraints, contacts, prescribed motion, functions of the user's, and no steps that choose their
    own length.
    """
    cdef Shared* s = &stepper.shared
    cdef LanePlan* plan
    cdef Choices* c = &s.choices
    if (s.nload or s.count or s.m.nlocked or stepper.user is not None or stepper.gates or s.schedule.calls_user
            or s.schedule.adaptive or stepper.ntouch):
        return 0
    plan = <LanePlan*>stepper.memory.given(sizeof(LanePlan))
    plan.layout, plan.m, plan.h = lane_layout(), s.m, s.schedule.span
    plan.drive, plan.ndrive, plan.nu, plan.limited = s.drive, s.ndrive, s.schedule.nu, s.limited
    if stepper.kind == METHOD_EULER:
        plan.kind, plan.semi_implicit = EULER_LANES, stepper.euler.semi_implicit
        return <size_t>plan
    if stepper.kind == METHOD_RUNGE_KUTTA:
        plan.kind, plan.stages = RUNGE_KUTTA_LANES, stepper.runge.tableau.stages
        plan.a, plan.b = stepper.runge.tableau.a, stepper.runge.tableau.b
        return <size_t>plan
    if stepper.kind not in (METHOD_LINEAR_TIME, METHOD_MIDPOINT) or c.guess != GUESS_AUTO or c.extra or c.solver not in (
            AUTO, RECURSIVE_NEWTON, FROZEN):
        return 0
    if stepper.kind == METHOD_LINEAR_TIME:
        plan.kind, plan.split = LINEAR_TIME_LANES, stepper.linear.kernel.split
    else:
        if stepper.mid.tree:
            return 0
        plan.kind, plan.alpha, plan.relative = MIDPOINT_LANES, stepper.mid.alpha, stepper.mid.relative
    plan.stages, plan.share, plan.solver, plan.required = c.stages, c.share, c.solver, c.required
    plan.tolerance, plan.rounding, plan.gain, plan.heaviest = c.tolerance, c.rounding, c.gain, c.heaviest
    plan.max_iterations, plan.costs = c.max_iterations, c.costs
    return <size_t>plan
