# The velocities that are told of states in contact, and what is told of the step just taken. One lane.
#
# The p (or v) of a state is that before the node's kick: what stands on the ground has p = -h m g/2 there. Everybody is
# told the velocity of `settle` instead, in which contacts that pushed in the last step do not close: the records, a run
# that is held, and the functions of the user's. Of velocities within a step see `settle_ahead`, and KickedStepper.

#: [m] contacts of a start that are nearer than this take part in what is told of its middle
cdef double AT_START = 1e-6


cdef class SettlingStepper(ImpactStepper):
    """Velocities of states in contact; ``behind`` is the share of a step's forces that acts at its end.

    ``first`` is the time at which the first step from a start ended, NaN if unknown.
    """

    cdef double behind
    cdef readonly double first
    cdef int* jumped                    # kept: the last step had a blow, or contacts that closed
    cdef double* node_before            # kept (nq,) where the step just taken began
    cdef int* pushed_before             # kept (contacts,) whether it pushed in the step before that
    cdef double* node_next              # (nq,) the same of the step at hand
    cdef int* pushed_next
    cdef double* told_start             # what is told where the step starts
    cdef int jumped_start
    cdef int* active_before             # (contacts,)
    cdef Pose* pose_told                # (nbody,) at `node_before`, where the step's own are lost
    cdef double* at_told
    cdef int placed_told

    def __cinit__(self, *args, **options):
        cdef int n = self.ntouch
        self.behind = options.get("behind", 0.5)
        if not n:
            return
        self.jumped = self.memory.kept_ints(1, 0, 1)
        self.node_before, self.node_next = self.memory.kept_reals(self.nq), self.memory.scratch_reals(self.nq)
        self.pushed_before = self.memory.kept_ints(n, 0, 1)
        self.pushed_next = <int*>self.memory.scratch(n * sizeof(int))
        self.told_start = self.memory.scratch_reals(TOLD * n)
        self.active_before = <int*>self.memory.scratch(n * sizeof(int))
        self.pose_told = <Pose*>self.memory.scratch(self.shared.m.nbody * sizeof(Pose))
        self.at_told = self.memory.scratch_reals(self.nq)

    cdef void start_run(self) noexcept nogil:
        ImpactStepper.start_run(self)
        self.first = self.lane.clock.t if self.lane.clock.steps == 1 else NAN

    cdef void begin(self) noexcept nogil:
        ImpactStepper.begin(self)
        if self.ntouch:
            self.jumped[0] = False
            memset(self.pushed_before, 0, self.ntouch * sizeof(int))

    cdef void note_touch(self) noexcept nogil:
        ImpactStepper.note_touch(self)
        memcpy(self.told_start, self.own_touch.told, TOLD * self.ntouch * sizeof(double))
        self.jumped_start = self.jumped[0]

    cdef void put_back_touch(self) noexcept nogil:
        ImpactStepper.put_back_touch(self)
        memcpy(self.own_touch.told, self.told_start, TOLD * self.ntouch * sizeof(double))
        self.jumped[0] = self.jumped_start

    # ---- whole steps -------------------------------------------------------------------------------------

    cdef void open_step(self) noexcept nogil:
        cdef int c
        ImpactStepper.open_step(self)
        if self.ntouch and not self.parted:
            memcpy(self.node_next, self.lane.state.q, self.nq * sizeof(double))
            for c in range(self.ntouch):
                self.pushed_next[c] = self.pushed(c)

    cdef void close_step(self) noexcept nogil:
        ImpactStepper.close_step(self)
        if self.lane.clock.steps == 1:
            self.first = self.lane.clock.t
        if self.ntouch:
            memcpy(self.node_before, self.node_next, self.nq * sizeof(double))
            memcpy(self.pushed_before, self.pushed_next, self.ntouch * sizeof(int))

    cdef inline bint pushed(self, int c) noexcept nogil:
        # whether a contact did in the last step
        cdef const double* told = self.own_touch.told + TOLD * c
        return (told[0] != 0.0 or told[1] != 0.0 or told[2] != 0.0
                or (stands(&self.touch[c]) and self.own_touch.active[c] != 0))

    cdef const Pose* poses_at(self, const double* q) noexcept nogil:
        # of the bodies at q: the step's own, where they are there
        cdef Touching* x = &self.own_touch
        if x.placed2 and memcmp(x.at2, q, self.nq * sizeof(double)) == 0:
            return x.pose2
        if x.placed1 and memcmp(x.at1, q, self.nq * sizeof(double)) == 0:
            return x.pose1
        self.stand_bodies(q, self.pose_told, self.at_told, &self.placed_told)
        return self.pose_told

    # ---- velocities --------------------------------------------------------------------------------------

    cdef bint pushed_any(self) noexcept nogil:
        cdef int c
        for c in range(self.ntouch):
            if self.pushed(c):
                return True
        return False

    cdef int settle_node(self, double* v) noexcept nogil:
        # v (nv,) of the state as it is told: see `settle`
        cdef Touching* x = &self.own_touch
        cdef bint rebounds = False
        cdef int c, status
        if not self.pushed_any():
            return OK
        for c in range(self.ntouch):
            x.within[c] = OUTSIDE
            rebounds = rebounds or x.active[c] == ARRIVED
            # a spring owes nothing: it closes at the speed that it has
            if self.pushed(c) and self.touch[c].stiffness == INFINITY:
                x.within[c] = INSIDE
                memcpy(x.guess + 3 * c, x.told + TOLD * c, 3 * sizeof(double))
                if self.touch[c].kind == RUBS:
                    x.guess[3 * c + 1] = x.told[TOLD * c + 5]
        status = self.rebound(v) if rebounds else OK
        if status != OK:
            return status
        return self.settle(self.lane.state.q, v, owed_share(self.behind, self.lane.clock.steps == 1))

    cdef bint settles_here(self) noexcept nogil:
        return not (self.shared.user_constrains or self.shared.m.nlocked)

    cdef int settle_ahead(self, double* v, bint* some) noexcept nogil:
        # v, half a step ahead of a start by the dynamics without contacts, so that contacts that are closed there and
        # wheels hold: v + M^-1 J^T nu, gap + (h/2) d(gap)/dt >= 0, friction within its cones. No step lies behind that
        # would tell their forces
        cdef Touching* x = &self.own_touch
        cdef Cones* y = &x.cones
        cdef double half = 0.5 * self.lane.now.h
        cdef int c, k, status
        some[0] = False
        if not (self.ntouch and half > 0.0):
            return OK
        memset(x.guess, 0, 3 * self.ntouch * sizeof(double))
        self.place_start(self.lane.state.q)
        for c in range(self.ntouch):
            x.within[c] = OUTSIDE
            if stands(&self.touch[c]) or (x.here[c].gap <= AT_START and self.touch[c].stiffness == INFINITY):
                x.within[c] = INSIDE
                touch_at(&self.touch[c], self.lane.state.q, x.pose1, NULL, &x.here[c])
                some[0] = True
        if not some[0]:
            return OK
        status = self.gather_at_rest(self.lane.state.q)
        if status != OK:
            return status
        for k in range(y.n):
            self.along_ports(&x.W1[k], v, &y.b[k])
        for k in range(y.count):
            if y.law[k] == CONE:
                y.b[y.row[k]] += max(x.here[x.member[k]].gap, 0.0) / half
            elif y.law[k] == RUB:
                y.mu[k] = half * self.touch[x.member[k]].friction
        cone_solve(y, 1e-13 * largest(y.b, y.n))
        self.push_by(v)
        return OK

    def pushed_here(self):
        """Return the contacts that pushed in the last step, as :meth:`take_contacts` has them, of row 0."""
        cdef Turn turn = self.turn()
        cdef Log log
        memset(&log, 0, sizeof(Log))
        status = self.log_told(&log, 0) if self.ntouch and self.pushed_any() else OK
        found = taken(&log, TOUCHED)
        free(log.at)
        if status != OK:
            raise MemoryError
        return found

    cdef bint tells(self, bint by_momentum, double* v) noexcept nogil:
        # see Stepper
        if not self.ntouch:
            return ImpactStepper.tells(self, by_momentum, v)
        if not self.settles_here() and (by_momentum or self.pushed_any()):
            return False
        return ImpactStepper.tells(self, by_momentum, v) and self.settle_node(v) == OK
