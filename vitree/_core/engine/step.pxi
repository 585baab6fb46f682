# A step of every method, from the state (t, q, x) to the next one. `Stepper.take_step` reads the inputs and calls
# `advance` (here `whole_step`); then the clock advances and the record is written (`Stepper.run`).
#
#     - External wrenches, torque and loads enter where a trial is evaluated: in the `step` of explicit methods and of
#       Gauss, in `prepare` (at node 1) and `evaluate` (in the middle) of the variational ones. All are in the method's
#       table.
#     - Impacts are applied at node 1, in `open_touches` (contact/impacts.pxi). The impulses of contacts that are closed
#       there, or that the trial closes, are solved for together with the trial, in `iterate_touches`.

cdef int whole_step(ModelStepper self) noexcept nogil:
    # up to where contacts close, if impacts are located; as a whole; or in 2, 4, 8 ... equal parts
    cdef Choices* c = &self.shared.choices
    cdef int status
    if self.events and self.ntouch:
        status = step_by_events(self)
        if status == OK or self.lane.now.cause == CALLBACK_FAILED:
            return status
        self.lane.now.cause = OK
    if c.stages == 1:
        status = substep(self, True)
        if status == OK or c.halvings == 0:
            return status
    note_start(self)
    if c.stages > 1:
        status = in_parts(self, 1)
    return halve(self, status) if may_halve(self, status) else status


cdef int substep(ModelStepper self, bint leading) noexcept nogil:
    # node 1, the trial of its end, and its acceptance. leading: it starts with the whole step
    cdef int status = self.method.prepare(self)
    if status != OK:
        return status
    self.contact.leading = leading and not self.parted
    self.lane.newton.impulse = NULL
    status = solve_with_contacts(self) if self.ntouch else self.method.attempt(self)
    self.lane.newton.impulse = NULL
    if status == OK:
        status = self.checked()
    elif self.lane.now.cause == CALLBACK_FAILED:
        status = CALLBACK_FAILED
    if status != OK:
        self.method.give_up(self)
        return status
    self.method.conclude(self, leading)
    self.method.accept(self)
    return OK


cdef int solve_with_contacts(ModelStepper self) noexcept nogil:
    # contacts and impacts at node 1, the trial, and the first contact that closes in it, if these are located
    cdef bint pushed = False, free = False
    cdef int status = open_touches(self, &pushed, &free)
    if status == OK:
        status = solve_opened(self, pushed, free)
    if self.contact.no_memory:
        return NO_MEMORY
    if status != OK and self.contact.worst >= 0:
        self.contact.worst_gap = self.contact.there[self.contact.worst].gap
    return locate(self, pushed) if status == OK and self.contact.left else status


cdef int solve_opened(ModelStepper self, bint pushed, bint free) noexcept nogil:
    # a trial of the current length. pushed: contacts acted in the last step; free: a trial without them is available
    cdef Touching* x = &self.contact
    cdef int status = OK
    cdef bint joined = not (pushed or x.opened)
    x.solved = False
    if joined:
        # a trial without contacts, at whose end new ones may be closed
        if not free:
            status = self.method.attempt(self)
        if status != OK or not join(self):
            return status
    self.method.first_guess(self, joined)
    status = solve_touches(self, x.trial != NULL and go_on_from_trial(self))
    if unsolved(status) and self.lane.now.cause == OK and x.cut < TOUCH_CUTS:
        self.method.guess_again(self)
        status = solve_touches(self, 0)
    return status


cdef bint go_on_from_trial(ModelStepper self) noexcept nogil:
    # a trial that was solved for in lanes, and the contacts that it closes
    cdef Touching* x = &self.contact
    cdef const HomeTrial* at = x.trial
    cdef int k
    x.trial, x.fresh = NULL, False
    memcpy(self.lane.newton.y, at.y, self.nv * sizeof(double))
    for k in range(x.asked_count):
        memcpy(x.guess + 3 * x.asked[k], at.lam + 3 * x.asked[k], 3 * sizeof(double))
    x.cones.budget, x.closing = at.budget, at.closing
    self.lane.now.iterations = at.corrections
    self.lane.progress.residuals += at.residuals
    self.lane.progress.solves += at.solves
    self.lane.progress.factorisations += at.factored
    self.lane.reuse.aged = False
    if at.factored:
        self.lane.reuse.age = 0
    x.passes += at.passes
    self.method.reach_node(self, self.lane.newton.y, self.lane.state.q2)
    return join(self)


cdef int solve_touches(ModelStepper self, int first) noexcept nogil:
    # trial and impulses together, until no contact is missing. first: times that contacts have joined before
    cdef Touching* x = &self.contact
    cdef int status, k, most = REPEATED_JOINS if x.planes else MOST_JOINS
    cdef bint more, held
    for k in range(first, most):
        status = contact_gather(self)
        if few_rows(self):
            # what the problem without the contacts that have just joined has used up
            x.cones.budget = max(x.cones.budget, JOINED_BUDGET)
        if status == OK:
            status = self.method.iterate_touches(self)
        x.fresh = False
        if status == JOINED:
            contact_remember(self)
            continue
        # whether impulses that remain inexact let shapes overlap
        held = x.lenient or self.method.explicit or not x.remains > 0.0 or gaps_hold(
            self, max(touch_goal(self), (HELD_GAP + x.slack) / fabs(self.lane.now.h)))
        if status == OK:
            status = self.method.finish(self)
        if status != OK:
            return status
        contact_remember(self)
        x.stuck, x.sunk, x.joins = 0.0, 0.0, k
        more = join(self)
        if more and k == most - 1 and (x.lenient or (x.planes and overlaps_little(self))):
            x.remains, more = max(x.remains, overlap_speed(self), x.sunk / fabs(self.lane.now.h)), False
        if not more:
            if x.stuck > 0.0:
                if not (x.lenient or (x.planes and x.stuck <= HELD_GAP + x.slack)):
                    x.cut = TOUCH_CUTS
                    note_fault(self, OVERLAPS, x.stuck_at, x.stuck)
                    return NOT_CONVERGED
                x.remains = max(x.remains, x.stuck / fabs(self.lane.now.h))
            if not self.method.explicit and gains_by_turning(self):
                if not (x.lenient or x.as_found):
                    x.cut = TOUCH_CUTS
                    note_worst(self)
                    x.fault = NORMALS_TURN
                    return NOT_CONVERGED
                x.remains = max(x.remains, touch_speed(self))
            if x.remains > 0.0 and not self.method.explicit and blows_up(self):
                note_worst(self)
                x.fault = ENERGY_GROWS
                return NOT_CONVERGED
            held = held and (not x.remains > 0.0 or (overlaps_little(self) and x.remains <= TOUCH_FRICTION * touch_speed(self)))
            if not (x.lenient or self.method.explicit or held):
                x.cut = TOUCH_CUTS
                note_worst(self)
                return NOT_CONVERGED
            if x.eased > 0.0:
                x.remains = max(x.remains, left_by_friction(self))
            x.solved, x.accepted = True, max(x.accepted, x.remains)
            push_end(self)
            if x.ends_pushed:
                self.method.push_late(self)
            return OK
    note_joining(self)
    return NOT_CONVERGED
