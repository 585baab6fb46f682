# Impacts located in time: a step ends where the first new contact closes, the impact is applied there, and the rest of
# the step follows. One lane.

cdef enum:
    LOCATING = 40           # most lengths that are tried for the step to a contact
    LOCATED_WELL = 10       # of them, so many search for the root; later ones for any gap that counts as closed

#: This gap counts as zero, for coordinates up to a metre [m]
cdef double ROOT = 1e-13
#: In parts of a step shorter than this fraction of it, accelerations are not computed from positions
cdef double SHORT_PART = 1e-3


cdef struct LocatedSteps:
    double* q_start                # (nq,) the state at the start of the whole step
    double* x_start                # (nv,)
    bint logs_parts
    Log part_log                   # (count, 2 + nq + nv) the step, t, q and x at the ends of parts within a step
    Log push_log                   # (count, TOUCHED) contacts of the step up to there, by rows of the other


cdef int make_located(ModelStepper self) except -1:
    self.located.q_start, self.located.x_start = self.memory.scratch_reals(self.nq), self.memory.scratch_reals(self.nv)
    return 0


cdef int log_part(ModelStepper self) noexcept nogil:
    cdef double* to = log_more(&self.located.part_log, 2 + self.nq + self.nv)
    if to == NULL:
        return NO_MEMORY
    to[0], to[1] = self.lane.clock.steps, self.lane.clock.t
    memcpy(to + 2, self.lane.state.q, self.nq * sizeof(double))
    memcpy(to + 2 + self.nq, self.lane.state.x, self.nv * sizeof(double))
    return log_told(self, &self.located.push_log, self.located.part_log.count - 1)


# ---- whole steps -------------------------------------------------------------------------------------


cdef void note_start(ModelStepper self) noexcept nogil:
    memcpy(self.located.q_start, self.lane.state.q, self.nq * sizeof(double))
    memcpy(self.located.x_start, self.lane.state.x, self.nv * sizeof(double))
    if self.ntouch:
        note_touch(self)


cdef void put_back_start(ModelStepper self, const Clock* before) noexcept nogil:
    memcpy(self.lane.state.q, self.located.q_start, self.nq * sizeof(double))
    memcpy(self.lane.state.x, self.located.x_start, self.nv * sizeof(double))
    self.lane.clock.t, self.lane.clock.h_last = before.t, before.h_last
    if self.ntouch:
        put_back_touch(self)
    lose_history(self)


cdef int step_by_events(ModelStepper self) noexcept nogil:
    # a whole step in parts that end where contacts close; restores the state if one fails
    cdef Touching* x = &self.contact
    cdef Clock* clock = self.lane.clock
    cdef Clock before = clock[0]
    cdef Now* now = self.lane.now
    cdef double whole = now.h, rest = whole, error = 0.0
    cdef int status, spent = 0, opening = self.lane.progress.opening
    cdef long parts = self.located.part_log.count, pushes = self.located.push_log.count
    cdef bint leading = True
    note_start(self)
    x.whole_h, x.left = fabs(whole), self.events
    while True:
        now.h = rest
        status = substep(self, leading)
        spent += now.iterations
        error = max(error, now.error) if status == OK else now.error
        if status != OK or now.h == rest:
            break
        leading = False
        clock.t += now.h
        rest -= now.h
        x.left -= 1
        lose_history(self)
        if self.located.logs_parts:
            status = log_part(self)
            if status != OK:
                break
    now.h, now.iterations, now.error = whole, spent, error
    x.whole_h, x.left, clock.t = 0.0, 0, before.t
    if status != OK:
        self.located.part_log.count, self.located.push_log.count = parts, pushes
        put_back_start(self, &before)
        clock.restarted, self.lane.progress.opening = before.restarted or not leading, opening
    elif not leading:
        lose_history(self)
    return status


cdef inline void lose_history(ModelStepper self) noexcept nogil:
    # the history has steps of another length
    if not self.method.explicit:
        forget(self)


# ---- a part of a step --------------------------------------------------------------------------------


cdef int locate(ModelStepper self, bint pushed) noexcept nogil:
    # the current step, if no contact closes in it; else the one of length h at whose end the smallest of the new gaps
    # is zero, by Newton's method with brackets, h -= gap/(d gap/dt)
    cdef Touching* x = &self.contact
    cdef Now* now = self.lane.now
    cdef double low = 0.0, high = now.h, zero = min(ROOT * reach_of_bodies(self), 0.5 * CLOSED_GAP)
    cdef double gap = new_gap(self)
    cdef int k, status
    while gap < -zero and take_in_slow(self):
        status = attempt_anew(self, pushed)
        if status != OK:
            return status
        gap = new_gap(self)
    if gap >= -zero:
        return OK
    for k in range(LOCATING):
        if gap < 0.0:
            high = now.h
        else:
            low = now.h
        now.h = newton_length(self)
        if not (low < now.h < high):
            now.h = 0.5 * (low + high)
        status = attempt_anew(self, pushed)
        if status != OK:
            return status
        gap = new_gap(self)
        if fabs(gap) <= (zero if k < LOCATED_WELL else CLOSED_GAP):
            return OK
    return NOT_CONVERGED


cdef int attempt_anew(ModelStepper self, bint pushed) noexcept nogil:
    # from the same state, after the contacts or the length changed
    cdef Touching* x = &self.contact
    cdef int c, status
    for c in range(self.ntouch):
        if x.within[c] == INSIDE and not (x.active[c] or stands(&self.touch[c])):
            x.within[c] = OUTSIDE
    status = OK
    if not self.method.explicit:
        self.lane.newton.impulse = NULL
        forget(self)
        status = self.method.prepare(self)
    return solve_opened(self, pushed, False) if status == OK else status


cdef bint take_in_slow(ModelStepper self) noexcept nogil:
    # contacts that close too slowly to bounce are not located: the step keeps them at the gap zero, where they arrive
    # with v^2 = rate^2 - 2 a gap. Whether there are any
    cdef Touching* x = &self.contact
    cdef double h = self.lane.now.h, rate, a
    cdef bint found = False
    cdef int c
    if fabs(h) < SHORT_PART * x.whole_h:
        return False
    move_to_end(self)
    for c in range(self.ntouch):
        if x.within[c] == OPEN and x.there[c].gap < 0.0:
            rate = closing_speed(self, c, x.there, x.v2)
            a = 2.0 / h * (rate - (x.there[c].gap - x.here[c].gap) / h)
            if rate * rate - 2.0 * a * x.there[c].gap <= max(self.slowest, 2.0 * x.whole_h * fabs(a)) ** 2:
                x.within[c] = OUTSIDE
                found = True
    return found


cdef void move_to_end(ModelStepper self) noexcept nogil:
    # the twists of the bodies at the end of the trial
    end_velocity(self, self.contact.v2)
    move_bodies(self, self.contact.pose2, self.contact.v2)


cdef double new_gap(ModelStepper self) noexcept nogil:
    # the smallest gap, at the end of the trial, of the contacts that close
    cdef Touching* x = &self.contact
    cdef double least = INFINITY
    cdef int c
    for c in range(self.ntouch):
        if x.within[c] == OPEN:
            least = min(least, x.there[c].gap)
    return least


cdef double newton_length(ModelStepper self) noexcept nogil:
    # the step to the first contact, from the rates of the gaps at the end of the trial; 0 if they do not determine it
    cdef Touching* x = &self.contact
    cdef double found = INFINITY, rate
    cdef int c
    move_to_end(self)
    for c in range(self.ntouch):
        if x.within[c] != OPEN:
            continue
        rate = closing_speed(self, c, x.there, x.v2)
        if rate < 0.0:
            found = min(found, self.lane.now.h - x.there[c].gap / rate)
        elif x.there[c].gap < 0.0:
            return 0.0
    return found


cdef void fall_by_velocities(ModelStepper self, double* fall) noexcept nogil:
    # (contacts,) from the rates of gaps at node 1 and at node 2, their accelerations
    cdef Touching* x = &self.contact
    cdef double h = fabs(self.lane.now.h)
    cdef int c
    move_to_end(self)
    for c in range(self.ntouch):
        fall[c] = (closing_speed(self, c, x.there, x.v2) - fall[c]) / h
