# A step of every method, from the state (t, q, x) to the next one. `Stepper.run` calls `take_step`, which reads the inputs
# and the length of the step and calls `advance`; then the clock moves on, and the record is written.
#
#   - External wrenches, torque and loads enter where a trial is evaluated: in `step` of explicit methods and of Gauss, and
#     in `prepare` (at node 1) and `evaluate` (in the middle) of the variational ones, which are of the method's table.
#   - Contacts act at node 1, before the trial: `open_touches` says which are closed there, and applies impacts of those
#     that bounce (impacts.pxi); the impulses of the others are solved for together with the trial (`iterate_touches`).
#   - What moves by itself in a step (prescribed coordinates) is placed in `finish`.
#
# A method is one-step, so a step may be composed of others of any lengths: substeps of a composition, equal parts of a
# step that cannot be solved, parts that end where contacts close.

cdef inline bint by_velocity(ModelStepper self) noexcept nogil:
    # whether the state is (q, v) and a step an explicit map F_h of it; else it is (q, p)
    return self.kind == METHOD_EULER or self.kind == METHOD_RUNGE_KUTTA


cdef int advance_step(ModelStepper self) noexcept nogil:
    # a whole step, of the length that the density says if steps adapt
    cdef Choices* c = &self.shared.choices
    cdef double density = NAN
    cdef int status
    self.lane.newton.share = 1.0
    if c.adapt == DENSITY:
        status = next_density(self, 0.5, &density)
        if status != OK:
            return status
        self.lane.now.h = c.pace / density
        if not self.lane.clock.t + self.lane.now.h > self.lane.clock.t:
            return NO_STEP
    status = whole_step(self)
    if status == OK and c.adapt:
        self.lane.progress.density = density
    return status


cdef int whole_step(ModelStepper self) noexcept nogil:
    # to where contacts close, if these are located; in one piece; or in 2, 4, 8 ... equal parts
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
    # prescribed motion is known at the steps' ends only
    if self.lane.now.cause == OK and not self.shared.m.nlocked and (
            unsolved(status) or (status == NOT_FINITE and not by_velocity(self))):
        return halve(self, status)
    return status


cdef int substep(ModelStepper self, bint leading) noexcept nogil:
    # node 1, the trial of its end, and its acceptance. leading: it starts where the whole step does
    cdef int status = self.method.prepare(self)
    if status != OK:
        return status
    self.own_touch.leading = leading and not self.parted
    self.lane.newton.kick = NULL
    status = solve_with_contacts(self) if self.ntouch else self.method.attempt(self)
    self.lane.newton.kick = NULL
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
    return locate(self, pushed) if status == OK and self.own_touch.left else status


cdef int solve_opened(ModelStepper self, bint pushed, bint free) noexcept nogil:
    # a trial of the length at hand. pushed: contacts did in the last step; free: a trial without them is at hand
    cdef Touching* x = &self.own_touch
    cdef int status = OK
    cdef bint joined = not (pushed or x.opened)
    x.solved = False
    if joined:
        # a trial without contacts; where it ends some may be new
        if not free:
            status = self.method.attempt(self)
        if status != OK or not join(self):
            return status
    self.method.first_guess(self, joined)
    status = solve_touches(self)
    if unsolved(status) and self.lane.now.cause == OK:
        self.method.guess_again(self)
        status = solve_touches(self)
    return status


cdef int solve_touches(ModelStepper self) noexcept nogil:
    # trial and impulses together, until no contact is missing
    cdef Touching* x = &self.own_touch
    cdef int status
    while True:
        status = contact_gather(self)
        if status == OK:
            status = self.method.iterate_touches(self)
        x.fresh = False
        if status == OK:
            status = self.method.finish(self)
        if status != OK:
            return status
        contact_remember(self)
        if not join(self):
            x.solved = True
            push_end(self)
            if x.ends_pushed:
                self.method.push_late(self)
            return OK
