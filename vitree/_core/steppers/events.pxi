# Impacts located in time: a step ends where the first new contact closes, contacts strike there, and the rest of the step
# follows. One lane.

cdef enum:
    LOCATING = 40           # most lengths that are tried for the step to a contact
    LOCATED_WELL = 10       # so many of them look for the root itself, those beyond for a gap that counts as closed

#: Such a gap is zero, for coordinates up to a metre [m]
cdef double ROOT = 1e-13
#: In parts of a step shorter than this share of it accelerations are not told from positions
cdef double SHORT_PART = 1e-3


cdef class LocatingStepper(SettlingStepper):
    """Steps that may end where a contact closes.

    ``events``: the most contacts that are located in a step.
    """

    cdef double* q_start                # (nq,) the state where the whole step starts
    cdef double* x_start                # (nv,)
    cdef bint logs_parts
    cdef Log part_log                   # (count, 2 + nq + nv) the step, t, q and x where parts end within a step
    cdef Log push_log                   # (count, TOUCHED) contacts of the step so far there, by rows of the other

    def __cinit__(self, *args, **options):
        self.q_start, self.x_start = self.memory.scratch_reals(self.nq), self.memory.scratch_reals(self.nv)

    def __dealloc__(self):
        free(self.part_log.at)
        free(self.push_log.at)

    def log_parts(self, bint logs):
        """Keep where parts of steps end, for :meth:`take_parts`, or not."""
        cdef Turn turn = self.turn()
        self.logs_parts, self.part_log.count, self.push_log.count = logs, 0, 0

    def take_parts(self):
        """Return where parts of steps ended within these, since they were last taken.

        They are rows (m, 2 + nq + nv) of the number of the step, t, q and p or v; and the contacts of the step so far
        there (n, TOUCHED), as :meth:`take_contacts` has them, by rows of the others.
        """
        cdef Turn turn = self.turn()
        return taken(&self.part_log, 2 + self.nq + self.nv), taken(&self.push_log, TOUCHED)

    cdef int log_part(self) noexcept nogil:
        cdef double* to = log_more(&self.part_log, 2 + self.nq + self.nv)
        if to == NULL:
            return NO_MEMORY
        to[0], to[1] = self.lane.clock.steps, self.lane.clock.t
        memcpy(to + 2, self.lane.state.q, self.nq * sizeof(double))
        memcpy(to + 2 + self.nq, self.lane.state.x, self.nv * sizeof(double))
        return self.log_told(&self.push_log, self.part_log.count - 1)

    cdef int note_part(self) noexcept nogil:
        return self.log_part() if self.logs_parts else OK

    # ---- what a kind of step says ------------------------------------------------------------------------

    cdef int part(self, bint leading) noexcept nogil:
        # a step of the length at hand, or to the first contact, accepted. leading: it starts where the whole step does
        return OK

    cdef int attempt_opened(self, bint pushed, bint free) noexcept nogil:
        # a step of the length at hand, where contacts are open: `pushed` and `free` are of `open_touches`
        return OK

    cdef int open_anew(self) noexcept nogil:
        # what a step of another length needs before it is attempted
        return OK

    cdef void end_velocity(self, double* v) noexcept nogil:
        # v of the trial's end, as it is before contacts act
        pass

    cdef void lose_history(self) noexcept nogil:
        # what is behind was made with steps of another length
        pass

    # ---- whole steps -------------------------------------------------------------------------------------

    cdef void note_start(self) noexcept nogil:
        memcpy(self.q_start, self.lane.state.q, self.nq * sizeof(double))
        memcpy(self.x_start, self.lane.state.x, self.nv * sizeof(double))
        if self.ntouch:
            self.note_touch()

    cdef void put_back_start(self, const Clock* before) noexcept nogil:
        memcpy(self.lane.state.q, self.q_start, self.nq * sizeof(double))
        memcpy(self.lane.state.x, self.x_start, self.nv * sizeof(double))
        self.lane.clock.t, self.lane.clock.h_last = before.t, before.h_last
        if self.ntouch:
            self.put_back_touch()
        self.lose_history()

    cdef int step_by_events(self) noexcept nogil:
        # a whole step in parts that end where contacts close; leaves the state as it was if one fails
        cdef Touching* x = &self.own_touch
        cdef Clock* clock = self.lane.clock
        cdef Clock before = clock[0]
        cdef Now* now = self.lane.now
        cdef double whole = now.h, rest = whole, error = 0.0
        cdef int status, spent = 0, opening = self.lane.progress.opening
        cdef long parts = self.part_log.count, pushes = self.push_log.count
        cdef bint leading = True
        self.note_start()
        x.whole_h, x.left = fabs(whole), self.events
        while True:
            now.h = rest
            status = self.part(leading)
            spent += now.iterations
            error = max(error, now.error) if status == OK else now.error
            if status != OK or now.h == rest:
                break
            leading = False
            clock.t += now.h
            rest -= now.h
            x.left -= 1
            self.lose_history()
            if self.logs_parts:
                status = self.log_part()
                if status != OK:
                    break
        now.h, now.iterations, now.error = whole, spent, error
        x.whole_h, x.left, clock.t = 0.0, 0, before.t
        if status != OK:
            self.part_log.count, self.push_log.count = parts, pushes
            self.put_back_start(&before)
            clock.restarted, self.lane.progress.opening = before.restarted or not leading, opening
        elif not leading:
            self.lose_history()
        return status

    # ---- a part of a step --------------------------------------------------------------------------------

    cdef int attempt_touching(self) noexcept nogil:
        cdef bint pushed = False, free = False
        cdef int status = self.open_touches(&pushed, &free)
        if status == OK:
            status = self.attempt_opened(pushed, free)
        return self.locate(pushed) if status == OK and self.own_touch.left else status

    cdef int locate(self, bint pushed) noexcept nogil:
        # the step at hand, if no contact closes in it; else that of the length h with which the least of the new gaps is
        # zero at the end, by Newton's method within brackets, h -= gap/(d gap/dt)
        cdef Touching* x = &self.own_touch
        cdef Now* now = self.lane.now
        cdef double low = 0.0, high = now.h, zero = min(ROOT * self.reach_of_bodies(), 0.5 * CLOSED_GAP)
        cdef double gap = self.new_gap()
        cdef int k, status
        while gap < -zero and self.take_in_slow():
            status = self.attempt_anew(pushed)
            if status != OK:
                return status
            gap = self.new_gap()
        if gap >= -zero:
            return OK
        for k in range(LOCATING):
            if gap < 0.0:
                high = now.h
            else:
                low = now.h
            now.h = self.newton_length()
            if not (low < now.h < high):
                now.h = 0.5 * (low + high)
            status = self.attempt_anew(pushed)
            if status != OK:
                return status
            gap = self.new_gap()
            if fabs(gap) <= (zero if k < LOCATED_WELL else CLOSED_GAP):
                return OK
        return NOT_CONVERGED

    cdef int attempt_anew(self, bint pushed) noexcept nogil:
        # from the same state, after contacts or the length were changed
        cdef Touching* x = &self.own_touch
        cdef int c, status
        for c in range(self.ntouch):
            if x.within[c] == INSIDE and not (x.active[c] or stands(&self.touch[c])):
                x.within[c] = OUTSIDE
        status = self.open_anew()
        return self.attempt_opened(pushed, False) if status == OK else status

    cdef bint take_in_slow(self) noexcept nogil:
        # contacts that close too slowly to bounce need no instant: the step is to hold them at the gap zero. They arrive
        # with v^2 = rate^2 - 2 a gap. Whether there are any
        cdef Touching* x = &self.own_touch
        cdef double h = self.lane.now.h, rate, a
        cdef bint found = False
        cdef int c
        if fabs(h) < SHORT_PART * x.whole_h:
            return False
        self.move_to_end()
        for c in range(self.ntouch):
            if x.within[c] == OPEN and x.there[c].gap < 0.0:
                rate = self.closing_speed(c, x.there, x.v2)
                a = 2.0 / h * (rate - (x.there[c].gap - x.here[c].gap) / h)
                if rate * rate - 2.0 * a * x.there[c].gap <= max(self.slowest, 2.0 * x.whole_h * fabs(a)) ** 2:
                    x.within[c] = OUTSIDE
                    found = True
        return found

    cdef void move_to_end(self) noexcept nogil:
        # the bodies' twists where the trial ends
        self.end_velocity(self.own_touch.v2)
        self.move_bodies(self.own_touch.pose2, self.own_touch.v2)

    cdef double new_gap(self) noexcept nogil:
        # the least at the trial's end of the contacts that pass
        cdef Touching* x = &self.own_touch
        cdef double least = INFINITY
        cdef int c
        for c in range(self.ntouch):
            if x.within[c] == OPEN:
                least = min(least, x.there[c].gap)
        return least

    cdef double newton_length(self) noexcept nogil:
        # the step to the first contact, by the rates of the gaps at the trial's end; 0 if they do not tell
        cdef Touching* x = &self.own_touch
        cdef double found = INFINITY, rate
        cdef int c
        self.move_to_end()
        for c in range(self.ntouch):
            if x.within[c] != OPEN:
                continue
            rate = self.closing_speed(c, x.there, x.v2)
            if rate < 0.0:
                found = min(found, self.lane.now.h - x.there[c].gap / rate)
            elif x.there[c].gap < 0.0:
                return 0.0
        return found

    cdef void measure_falls(self, double* fall) noexcept nogil:
        # of parts of steps, which may be short, by the velocities
        if self.own_touch.whole_h > 0.0:
            self.fall_by_velocities(fall)
        else:
            SettlingStepper.measure_falls(self, fall)

    cdef void fall_by_velocities(self, double* fall) noexcept nogil:
        # (contacts,) from the speeds at which gaps change at node 1, their accelerations by those at node 2
        cdef Touching* x = &self.own_touch
        cdef double h = fabs(self.lane.now.h)
        cdef int c
        self.move_to_end()
        for c in range(self.ntouch):
            fall[c] = (self.closing_speed(c, x.there, x.v2) - fall[c]) / h
