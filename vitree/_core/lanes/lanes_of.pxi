# The steps that several lanes can take as well.

def lane_plan(ModelStepper stepper):
    """The address of the plan by which `Lanes` take the steps of a stepper, valid for its lifetime; 0 if they cannot.

    They do not support loads, constraints, contacts, prescribed motion, user functions, and adaptive steps.
    """
    cdef Shared* s = &stepper.shared
    cdef LanePlan* plan
    if (s.nload or s.count or s.m.nlocked or stepper.user is not None or stepper.gates or s.schedule.calls_user
            or s.schedule.adaptive or stepper.ntouch):
        return 0
    if stepper.method.fits_lanes == NULL or not stepper.method.fits_lanes(stepper):
        return 0
    plan = <LanePlan*>stepper.memory.given(sizeof(LanePlan))
    plan.layout, plan.kind, plan.shared = lane_layout(), stepper.kind, s[0]
    plan.tableau, plan.semi_implicit = &stepper.runge.tableau, stepper.euler.semi_implicit
    plan.split, plan.relative = stepper.linear.kernel.split, stepper.mid.relative
    plan.alpha, plan.backward = stepper.mid.kernel.alpha, stepper.mid.kernel.backward
    return <size_t>plan
