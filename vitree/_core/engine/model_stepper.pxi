# The stepper of a model, for Python: its parts and their creation.

METHOD_KINDS = {"field": METHOD_FIELD, "euler": METHOD_EULER, "runge-kutta": METHOD_RUNGE_KUTTA,
                "gauss": METHOD_GAUSS, "linear-time": METHOD_LINEAR_TIME, "midpoint": METHOD_MIDPOINT,
                "sundman": METHOD_SUNDMAN}

cdef Method TABLES[METHOD_COUNT]
field_methods(&TABLES[METHOD_FIELD])
euler_methods(&TABLES[METHOD_EULER])
runge_kutta_methods(&TABLES[METHOD_RUNGE_KUTTA])
gauss_methods(&TABLES[METHOD_GAUSS])
linear_time_methods(&TABLES[METHOD_LINEAR_TIME])
midpoint_methods(&TABLES[METHOD_MIDPOINT])
sundman_methods(&TABLES[METHOD_SUNDMAN])


cdef class ModelStepper(Stepper):
    """The compiled integrators of models; ``method`` is a name of METHOD_KINDS.

    ``loads``, ``constraints``, ``drives`` and ``contacts`` are a LoadList, a ConstraintList, a DriveList and a
    ContactList; ``gates`` inputs after the ``nu`` of the caller enable the temporary loads;
    ``user`` is None, or holds loads and constraints written in Python (``WrittenParts``). Further options are those of
    the method: see its entry ``make``, ``make_gauss`` and the like.
    """

    cdef const Method* method
    cdef int kind
    cdef int motion_rows                # rows of prescribed motion that a step reads
    cdef readonly CoreModel model
    cdef readonly LoadList loads
    cdef readonly ConstraintList constraints
    cdef readonly DriveList drives
    cdef object user
    cdef object motion_owner
    cdef ModelStepper behind            # the next one of a chain
    cdef readonly ContactList contacts
    cdef vt_contact* touch
    cdef int ntouch                     # contacts, with those of free seats
    cdef readonly bint elastic
    cdef bint rolls                     # there are bilateral rows, which may be redundant
    cdef double slowest                 # [m/s] slower approaches do not rebound
    cdef int events                     # most impacts that are located in a step
    cdef Touching contact
    cdef bint at_node                   # contacts are collected for a velocity at a node, not for a step
    cdef double* way_beside
    cdef double* lam_start              # the kept arrays at the start of the step
    cdef double* way_start
    cdef double* turn_start
    cdef double* hold_start
    cdef double* gap_start
    cdef double moved_start
    cdef int* active_start
    cdef bint answers_by_factors        # the response is that of M, by the operations and factors of `velocity`
    cdef object stages_owner
    cdef PostContact post_contact
    cdef LocatedSteps located
    cdef ExplicitContact explicit
    cdef EulerStep euler
    cdef RungeKuttaStep runge
    cdef GaussState gauss
    cdef SundmanStep sundman
    cdef LinearTimeLane linear
    cdef Springs springs                # number of loads that linear-time steps solve for
    cdef MidpointLane mid
    cdef TreeResidual by_tree
    cdef ModelNumbers numbers           # for lanes, and the serial number of the stepper with which it was compared
    cdef unsigned long long compared_with
    cdef bint alike

    def __cinit__(self, CoreModel model, double h, torque=None, int nu=0, inputs=None, user=None, str method="field",
                  **options):
        cdef const vt_model* m = &model.m
        cdef Shared* s = &self.shared
        cdef int i, k = 0
        self.model, self.user = model, user
        self.numbers.serial = next(SERIALS)
        self.loads, self.constraints = options.get("loads", LoadList()), options.get("constraints", ConstraintList())
        self.set_up(m.nq, m.nv, nu, h, inputs, torque, options.get("gates", 0))
        s.m, s.load, s.nload = m, self.loads.list, self.loads.count
        s.constraint, s.count = self.constraints.list, self.constraints.count
        self.drives = options.get("drives", DriveList())
        s.drive, s.ndrive = self.drives.list, self.drives.count
        self.watched_more = s.ndrive
        if user is not None:
            s.user_rests, s.user_moves, s.user_constrains = user.resting, user.moving, bool(user.constraints)
        s.zeros = self.memory.given_reals(max(m.nv, 6 * m.nbody))
        s.locked = <Locked*>self.memory.given(m.nlocked * sizeof(Locked))
        for i in range(m.nbody):
            if m.body[i].locked:
                s.locked[k].iq, s.locked[k].iv = m.body[i].iq, m.body[i].iv
                k += 1
        bodies_make(&self.lane.bodies, self.memory, m)
        servos_make(&self.lane.servos, self.memory, s.ndrive, m.nv)
        prescribed_make(&self.lane.prescribed, self.memory, m.nv)
        holonomic_make(&self.lane.held, self.memory, s.count, m.nv)
        divide(self, False)
        self.kind, self.motion_rows = METHOD_KINDS[method], 2
        self.method = &TABLES[self.kind]
        self.method.make(self, options)
        if self.loan != NULL and self.loan.rooms == NULL:
            self.loan.rooms, self.loan.free_rooms = calloc(1, sizeof(Touching)), free_rooms
            if self.loan.rooms == NULL:
                raise MemoryError

    def __dealloc__(self):
        touching_free(&self.contact)
        free(self.located.part_log.at)
        free(self.located.push_log.at)

    cdef int require_kind(self, bint fits) except -1:
        if not fits:
            raise TypeError("steps of this method have none")
        return 0

    def set_motion(self, rows):
        """Set the prescribed motion from the time of the state on, (2 substeps + 1, 3, nlocked)."""
        cdef Busy busy = self.busy()
        cdef const double[:, :, ::1] moved
        self.shared.motion = NULL
        if self.shared.m.nlocked:
            moved = self.motion_owner = np.ascontiguousarray(rows, dtype=float)
            require_size(moved.shape[1] * moved.shape[2], 3 * self.shared.m.nlocked, "numbers in a row of motion")
            require_size(moved.shape[2], self.shared.m.nlocked, "prescribed coordinates")
            self.shared.motion, self.shared.motion_count = &moved[0, 0, 0], moved.shape[0]

    def require_rows(self, long steps):
        """Raise a ValueError if rows that are given per step end before so many steps of the run."""
        if self.shared.motion != NULL:
            self.require_steps(steps, (self.shared.motion_count - 1) // self.rows_each(), "prescribed motion")
        Stepper.require_rows(self, steps)

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v, prescribed=None):
        """Acceleration (nv,) at a time and state, and multipliers (count,) [N or N m] with the force Dh^T lam.

        Under gravity, loads, damping, friction, torque and inputs; ``prescribed``: accelerations (nv,) of the locked
        coordinates, the others' entries are not used.
        """
        cdef Busy busy = self.busy()
        cdef int k, iv
        cdef const double* a
        cdef const double* at = entries(q, self.nq, "entries of q")
        cdef const double* moving = entries(v, self.nv, "entries of v")
        out = np.empty(self.nv)
        cdef double[::1] view = out
        self.lane.now.cause = OK
        memset(self.lane.prescribed.a, 0, self.nv * sizeof(double))
        if prescribed is not None:
            prescribed = np.ascontiguousarray(prescribed, dtype=float)
            a = entries(prescribed, self.nv, "prescribed accelerations")
            for k in range(self.shared.m.nlocked):
                iv = self.shared.locked[k].iv
                self.lane.prescribed.a[iv] = a[iv]
        self.inputs_at(t)
        if self.shared.schedule.calls_user and self.ask(t, at, moving) != OK:
            if self.lane.now.cause == CALLBACK_FAILED:
                raise self.exception
            out[:] = NAN
            return out, np.full(self.shared.count, NAN)
        model_acceleration(self, t, at, moving, &view[0])
        if self.lane.now.cause == CALLBACK_FAILED:
            raise self.exception
        return out, self.array(self.lane.held.push, self.shared.count)

    def drive_forces_at(self, double t, const double[::1] q, const double[::1] v):
        """Forces (ndrive,) of the drives at a time and state."""
        cdef Busy busy = self.busy()
        cdef const double* at = entries(q, self.nq, "entries of q")
        cdef const double* moving = entries(v, self.nv, "entries of v")
        cdef const vt_drive* d
        cdef int k
        out = np.empty(self.shared.ndrive)
        cdef double[::1] view = out
        self.lane.now.cause = OK
        self.inputs_at(t)
        if self.shared.schedule.calls_user and self.ask(t, at, moving) == CALLBACK_FAILED:
            raise self.exception
        for k in range(self.shared.ndrive):
            d = &self.shared.drive[k]
            view[k] = drive_at(d, at[d.iq], moving[d.iv], self.lane.drive.u).force
        return out

    cdef bint velocity_now(self, double* v) noexcept nogil:
        if self.shared.user_constrains or self.shared.m.nlocked:
            return False
        model_velocity(self, self.lane.state.q, self.lane.state.x, v)
        return True

    cdef int constraint_count(self) noexcept nogil:
        return self.shared.count

    cdef bint asks(self) noexcept nogil:
        cdef Shared* s = &self.shared
        return s.schedule.calls_user or s.user_rests or s.user_moves or s.user_constrains

    cdef void show(self, double* row) noexcept nogil:
        # the mean forces of drives as well; NaN if a method evaluates them at its stages
        cdef Servos* x = &self.lane.servos
        cdef int k
        Stepper.show(self, row)
        for k in range(self.shared.ndrive):
            row[WATCHED + k] = x.impulse[k] / x.spent if x.spent != 0.0 else NAN

    def contact_slopes(self, const double[:, ::1] q, const double[:, ::1] q2, members, const double[:, :, ::1] impulses,
                       const double[:, :, ::1] ways, before, facets=None, torques=None, turns=None):
        """The laws and rows of contacts in steps from q to q2, and their derivatives; the state is lost.

        Parameters
        ----------
        q, q2 : (s, nq) arrays
        members : sequence of int
            The numbers of the contacts, the same ones in all steps.
        impulses : (s, members, 3) array [N s]
            World axes; those of single numbers are the first entries.
        ways : (s, contacts, 3) array
            The previous direction of slip of each contact.
        before : sequence of (b, 1 + FACET_ROW) arrays
            The contacts that pushed in the previous step: numbers, and their facets as in ``facets``.
        facets : (s, members, FACET_ROW) array or None
            As :meth:`take_contacts` has them.
        torques, turns : arrays as impulses [N m s] and ways, or None
            Of friction of turning, in the measure of its rows.

        Returns
        -------
        numbers, laws, dims, patches : (k,) arrays
            Of the contacts in the order of their rows; rigid points of a body on a plane have one number of a patch,
            others -1.
        bounds, leads : (s, k) and (s, k, LEADS) arrays
            The bounds of friction relative to the normal impulse.
        lam, w : (s, n) arrays
            Impulses and velocities of the rows.
        springs : (s, k, 5) array
            Of compliant contacts: the normal impulse at the end of the step, and the derivatives of the impulses at start
            and end by the gaps at both.
        W1, W2 : (s, n, ports) arrays
            Rows of impulses at node 1, and of gaps and slips by displacements at node 2, in the ports.
        J1, J2 : (s, ports, nv) arrays
            Motions of the ports.
        by_start, leads_by, slips_by : (s, ports, n), (s, ports, k, LEADS) and (s, ports, k, 3) arrays
            The derivatives of h w, of the leads and of the slips in world axes by the ports at node 1.
        tangents : (s, k, 2, 3) array
        u_by, turn : (s, ports, ports) and (s, nv, nv) arrays
            Those of the wrenches W1^T lam by ports (first axis) at node 1, and of J1^T of these, if they are constant.
        late, late_by, late_turn : (s, ports), (s, ports, ports) and (s, nv, nv) arrays
            The wrenches of springs at node 2, and the same of them.
        place_push, place_by : (s, k, ports) arrays
            Of points of rims that a step has found: the derivatives of the wrenches by their coordinate, and of this by the
            ports at node 2. W2 has what the coordinate does to slips.
        """
        cdef Busy busy = self.busy()
        cdef Touching* x = &self.contact
        cdef ContactProblem* y = &x.cones
        cdef int s, steps = q.shape[0], most = len(members)
        cdef const double[:, :, ::1] places = np.zeros((steps, most, FACET_ROW)) if facets is None else facets
        cdef const double[:, :, ::1] spins = np.zeros((steps, self.contacts.count, 3)) if turns is None else turns
        cdef const double[:, :, ::1] couples = np.zeros((steps, most, 3)) if torques is None else torques
        cdef int[:, ::1] room = np.zeros((5, max(most, 1)), np.int32)
        cdef double[::1] bounds = np.zeros((1 + LEADS) * max(most, 1))
        cdef SomeMembers some
        cdef SlopeRows at
        cdef tuple shapes
        require_size(q.shape[1], self.nq, "entries of q")
        require_size(q2.shape[0], steps, "rows of q2")
        require_size(q2.shape[1], self.nq, "entries of q2")
        for rows, count, width, name in (
                (ways, self.contacts.count, 3, "ways"), (spins, self.contacts.count, 3, "turns"),
                (impulses, most, 3, "impulses"), (couples, most, 3, "torques"), (places, most, FACET_ROW, "facets")):
            require_size(rows.shape[0], steps, f"steps of {name}")
            require_size(rows.shape[1], count, f"rows of {name}")
            require_size(rows.shape[2], width, f"columns of {name}")
        some.member, some.row, some.dim, some.law = &room[0, 0], &room[1, 0], &room[2, 0], &room[3, 0]
        some.number, some.mu, some.lead = &room[4, 0], &bounds[0], &bounds[max(most, 1)]
        made = None
        for s in range(steps):
            self.gather_slopes(q[s], q2[s], members, impulses[s], ways[s], places[s], couples[s], spins[s], before[s])
            if made is None:
                shapes = slope_shapes(x.count, y.n, x.ports, self.nv)
                made = [np.zeros((steps, *shape)) for shape in shapes]
                told = (np.array([number_of(x, x.member[k]) for k in range(x.count)]),
                        np.array([y.law[k] for k in range(x.count)]), np.array([y.dim[k] for k in range(x.count)]),
                        np.array([y.patch[k] for k in range(x.count)]))
            elif shapes != slope_shapes(x.count, y.n, x.ports, self.nv):
                raise ValueError("steps with other rows of the same contacts")
            slope_rows(made, s, &at)
            with nogil:
                write_slopes(self, &some, &at)
        x.placed1 = x.placed2 = False
        return (*told, *made[:SLOPE_RESULTS])

    cdef int gather_slopes(self, const double[::1] q, const double[::1] q2, members, const double[:, ::1] impulses,
                           const double[:, ::1] ways, const double[:, ::1] places, const double[:, ::1] couples,
                           const double[:, ::1] spins, const double[:, ::1] before) except -1:
        # the contacts of a step, with their impulses, at both nodes
        cdef Touching* x = &self.contact
        cdef int c, k, o
        require_size(before.shape[1], 1 + FACET_ROW, "columns of contacts before")
        leave_seats(self)
        chosen = [self.seated(number) for number in members]
        pushed = [self.seated(<long>before[k, 0]) for k in range(before.shape[0])]
        memset(x.guess, 0, x.reals * sizeof(double))
        for c in range(self.ntouch):
            x.within[c], x.active[c], x.target[c], x.own_slip[c] = OUTSIDE, 0, 0.0, False
            o = number_of(x, c) if c < x.plain or x.pair_on[self.touch[c].seat] >= 0 else -1
            store3(x.way + 3 * c, load3(&ways[o, 0]) if o >= 0 else zero3())
            if x.turns:
                store3(turning_of(x, x.way, c), load3(&spins[o, 0]) if o >= 0 else zero3())
        for k, c in enumerate(chosen):
            x.within[c] = INSIDE
            store3(x.guess + 3 * c, load3(&impulses[k, 0]))
            if x.turns:
                store3(turning_of(x, x.guess, c), load3(&couples[k, 0]))
            if self.touch[c].slot >= 0:
                read_facet(&places[k, 7], &x.facet_read[self.touch[c].slot])
        for k, c in enumerate(pushed):
            x.active[c] = PUSHED
            if self.touch[c].slot >= 0 and x.within[c] != INSIDE:
                read_facet(&before[k, 8], &x.facet_read[self.touch[c].slot])
        self.lane.now.h = self.shared.schedule.span
        x.placed1 = x.placed2 = x.have_list = False
        x.eased = 0.0
        place_start(self, &q[0])
        for c in pushed:
            if has_left(&self.touch[c], x.here[c].gap):
                x.active[c] = 0
        for c in chosen:
            face(self, c)
            if self.touch[c].kind == AT_SPEED:
                x.target[c] = x.here[c].gap
        if contact_gather(self) != OK:
            raise MemoryError
        memcpy(self.lane.state.q2, &q2[0], self.nq * sizeof(double))
        stand_bodies(self, self.lane.state.q2, x.pose2, x.at2, &x.placed2)
        return 0

    cdef int seated(self, long number) except -1:
        # the contact of a number, whose pair takes a seat
        cdef Touching* x = &self.contact
        cdef long k = number - x.facets
        if not 0 <= number < self.contacts.count:
            raise ValueError(f"contact {number}; there are {self.contacts.count}")
        if 0 <= k < MOST_FACETS * x.pairs and take_seat(self, <int>(k // MOST_FACETS)) < 0:
            raise MemoryError
        return contact_of(x, <int>number)

    def set_history(self, bytes kept):
        """Continue from the history of a stepper with the same arguments."""
        try:
            Stepper.set_history(self, kept)
        finally:
            if self.ntouch:
                self.name_seats()

    cdef void name_seats(self) noexcept nogil:
        # what follows from the seats that are taken, after these were read
        cdef int s
        count_seats(&self.contact, self.memory.seats)
        self.ntouch, self.contact.have_list = self.contact.contacts, False
        self.contact.facet, self.contact.at = self.contact.facet_kept, self.contact.near_kept
        for s in range(self.memory.seats.count):
            if self.contact.pair_on[s] >= 0:
                name_seat(self, s)
            else:
                empty_seat(self, s)

    def take_over(self, ModelStepper other, const double[::1] q, const double[::1] x, const int[::1] plain,
                  const int[::1] pairs, bint fresh):
        """Continue the run of another stepper, which may be this one, from q and p (or v) at its time and step.

        Both models have the same coordinates. plain, pairs: what the contacts and the pairs of convex shapes of the
        other are here, which keep what the last step left of them, or -1. fresh: some are as at a start.
        """
        cdef Busy mine = self.busy()
        cdef Busy theirs = other.busy() if other is not self else None
        cdef Clock now = other.lane.clock[0]
        cdef long begun = other.shared.schedule.begun
        cdef bint follows = self.ntouch and other.ntouch
        cdef double moved = 0.0
        cdef int jumped = 0
        cdef list kept = None
        cdef bytes node = b""
        require_size(other.nq, self.nq, "entries of q of the other model")
        require_size(other.nv, self.nv, "entries of v of the other model")
        if follows:
            require_size(plain.shape[0], other.contact.plain, "contacts of the other model")
            require_size(pairs.shape[0], other.contact.pairs, "pairs of convex shapes of the other model")
            kept = other.memory.seats.copies()
            moved, jumped = other.contact.moved[0], other.post_contact.jumped[0]
            node = (<char*>other.post_contact.node_before)[: self.nq * sizeof(double)]
        self.place(now.t, entries(q, self.nq, "entries of q"), entries(x, self.nv, "entries of p or v"))
        self.lane.clock.t0, self.lane.clock.steps = now.t0, now.steps
        self.lane.clock.total_iterations, self.lane.clock.most_iterations = now.total_iterations, now.most_iterations
        self.lane.clock.start = now.steps if fresh else now.start
        self.shared.schedule.begun = begun
        if not follows:
            return
        self.memory.seats.take_over(kept, plain, pairs)
        self.name_seats()
        self.contact.moved[0], self.post_contact.jumped[0] = moved, jumped
        memcpy(self.post_contact.node_before, <const char*>node, self.nq * sizeof(double))
        self.post_contact.first = now.t if steps_here(self.lane.clock) == 1 else NAN
        self.on_impulse()

    @property
    def worst_contact(self):
        """The number of the contact that was not solved in the last step, or -1."""
        return number_of(&self.contact, self.contact.worst) if self.ntouch and self.contact.worst >= 0 else -1

    @property
    def contact_fault(self):
        """What is wrong with it: "solve", "overlap", "turn", "energy" or "join"."""
        return FAULTS[self.contact.fault]

    @property
    def worst_residual(self):
        """Its residual [m/s], of an overlap and where contacts join the step its depth [m]; and its gap [m]."""
        return self.contact.residual, self.contact.worst_gap

    def post_contact_velocities(self, const double[:, ::1] q, const double[:, ::1] log, double[:, ::1] v,
                                double behind=0.5, Py_ssize_t first=-1):
        """Change velocities v (n, nv) of M v = p at rows of q so that contacts that acted do not close.

        p^ = p + J^T nu, 0 <= nu_n _|_ Jn M^-1 p^ >= 0, with friction. If contacts closed that rebound at the node, it
        is the velocity after the rebound. ``log`` (m, TOUCHED) is as :meth:`take_contacts` has it, by rows; ``behind`` is the
        fraction of a step's forces that acts at its end; ``first`` the row to which the first step from a start led, in
        which contacts gave 1 - behind of a step's impulse. The stepper loses its state.
        """
        cdef Busy busy = self.busy()
        cdef Touching* x = &self.contact
        cdef Py_ssize_t k = 0, row, end = log.shape[0]
        cdef bint rebounds
        cdef int c
        self.post_contact.behind = behind
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(v.shape[1], self.nv, "columns of v")
        require_size(log.shape[1], told_width(self), "columns of contacts")
        x.facet = x.facet_read
        require_size(v.shape[0], q.shape[0], "rows of v")
        while k < end:
            row = <Py_ssize_t>log[k, 0]
            if not 0 <= row < q.shape[0]:
                raise ValueError(f"a contact of row {row}; there are {q.shape[0]} rows")
            rebounds = x.have_list = False
            leave_seats(self)
            memset(x.lam, 0, x.reals * sizeof(double))
            memset(x.active, 0, self.ntouch * sizeof(int))
            for c in range(self.ntouch):
                x.within[c] = OUTSIDE
            while k < end and <Py_ssize_t>log[k, 0] == row:
                c = self.seated(<long>log[k, 1])
                # a compliant contact contributes nothing: it closes at its current speed
                x.within[c] = INSIDE if self.touch[c].stiffness == INFINITY else OUTSIDE
                x.guess[3 * c], x.guess[3 * c + 1], x.guess[3 * c + 2] = log[k, 2], log[k, 3], log[k, 4]
                x.active[c] = PUSHED
                if stops(&self.touch[c]) and log[k, 8] == 0.0 and signbit(log[k, 8]):
                    x.active[c], rebounds = ARRIVED, True
                memcpy(x.lam + 3 * c, x.guess + 3 * c, 3 * sizeof(double))
                if x.turns:
                    store3(turning_of(x, x.guess, c), load3(&log[k, TOUCHED]))
                    store3(turning_of(x, x.lam, c), load3(&log[k, TOUCHED]))
                if self.touch[c].slot >= 0:
                    read_facet(&log[k, facet_column(self) + 7], &x.facet_read[self.touch[c].slot])
                if self.touch[c].kind == RUBS:
                    x.guess[3 * c + 1] = log[k, 7]
                k += 1
            PyErr_CheckSignals()
            memcpy(self.lane.state.q, &q[row, 0], self.nq * sizeof(double))
            if rebounds and impact_rebound(self, &v[row, 0]) != OK:
                raise MemoryError
            if post_contact_velocity(self, &q[row, 0], &v[row, 0], end_impulse_share(behind, row == first)) != OK:
                raise MemoryError

    @property
    def first(self):
        """Time [s] at which the first step from a start ended; NaN if unknown."""
        return self.post_contact.first

    def pushed_here(self):
        """Return the contacts that acted in the last step, as :meth:`take_contacts` has them, of row 0."""
        cdef Busy busy = self.busy()
        cdef Log log
        memset(&log, 0, sizeof(Log))
        status = log_told(self, &log, 0) if self.ntouch and pushed_any(self) else OK
        found = taken(&log, told_width(self))
        free(log.at)
        if status != OK:
            raise MemoryError
        return found

    def log_parts(self, bint logs):
        """Enable or disable storing the ends of parts of steps, for :meth:`take_parts`."""
        cdef Busy busy = self.busy()
        self.located.logs_parts, self.located.part_log.count, self.located.push_log.count = logs, 0, 0

    def take_parts(self):
        """Return the ends of parts within steps, since the last call.

        They are rows (m, 2 + nq + nv) of the number of the step, t, q and p or v; and the contacts of the step so far
        there (n, TOUCHED), as :meth:`take_contacts` has them, by rows of the others.
        """
        cdef Busy busy = self.busy()
        return taken(&self.located.part_log, 2 + self.nq + self.nv), taken(&self.located.push_log, told_width(self))

    @property
    def halved(self):
        """Number of halved steps."""
        return self.lane.progress.halved if self.lane.progress != NULL else 0

    @property
    def inexact_contacts(self):
        """Number of steps whose contact problem kept a residual above the tolerance, the largest one [m/s], and the times
        [s] at which the first and the last of them began; None without one."""
        cdef Touching* x = &self.contact
        return (x.inexact, x.inexact_most, x.inexact_first, x.inexact_last) if x.inexact else None

    @property
    def halved_between(self):
        """Times [s] at which the first and the last of these steps began; None without one."""
        return (self.lane.progress.halved_first, self.lane.progress.halved_last) if self.halved else None

    def release(self):
        """Release the user's functions and arrays, and clear the history, as after creation."""
        self.stages_owner, self.gauss.stages_out = None, NULL
        Stepper.release(self)

    def keep_stages(self, rows):
        """Write the velocities of the stages of the steps from here on to an array (steps, nv, stages), or None."""
        cdef Busy busy = self.busy()
        self.require_kind(self.kind == METHOD_GAUSS)
        cdef double[:, :, ::1] view
        self.stages_owner, self.gauss.stages_out = None, NULL
        if rows is not None and rows.size:
            view = rows
            require_size(view.shape[1], self.nv, "velocities of stages")
            require_size(view.shape[2], self.gauss.stages.stages, "stages")
            self.stages_owner, self.gauss.stages_out = rows, &view[0, 0, 0]
            self.gauss.stages_steps = view.shape[0]

    @property
    def underresolved(self):
        """Start [s] of the step whose polynomial resolves the run worst, and its eta; None if all resolve it."""
        cdef int unit = 0
        cdef double eta
        if self.kind != METHOD_GAUSS:
            return None
        eta = resolution_eta(self.gauss.resolved, self.gauss.resolved.last, &unit)
        return (self.gauss.resolved.when[unit], eta) if eta > UNRESOLVED else None

    @property
    def counts(self):
        """Residuals (or passes), factorisations and solves since the state was set."""
        cdef Progress* progress = self.lane.progress
        return (progress.residuals, progress.factorisations, progress.solves) if progress != NULL else (0, 0, 0)

    @property
    def lanes_at_once(self):
        """Lanes of the module whose kernels it calls; of Gauss steps."""
        self.require_kind(self.kind == METHOD_GAUSS)
        return self.gauss.kernels.lanes

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step to q2, without the component along the constraints."""
        cdef Busy busy = self.busy()
        self.require_kind(self.method.evaluate != NULL)
        cdef Newton* x = &self.lane.newton
        if self.shared.choices.stages > 1:
            raise ValueError("a composition's first substep does not end at q1: start from q0 and v0")
        self.place(t, entries(q, self.nq, "entries of q"), self.shared.zeros)
        self.lane.now.cause = OK
        self.take_inputs()
        self.method.increment_to(self, entries(q2, self.nq, "entries of q2"))
        self.method.middle(self)
        if self.shared.schedule.calls_user and self.ask(t + 0.5 * self.lane.now.h, self.lane.state.q2, x.v) != OK:
            raise self.exception
        if self.method.open_node(self) != OK:
            raise self.exception
        self.method.evaluate(self)
        if self.lane.now.cause == CALLBACK_FAILED:
            raise self.exception
        return self.array(x.r, self.nv)

    def probe(self, double t, const double[::1] q, const double[::1] p, const double[::1] y, const double[::1] lam):
        """Evaluate a trial of the step from (t, q, p): an increment (nv,) and multipliers (m,).

        Returns the residual (nv,), the constraints (m,), and the solver's correction of both. The state is lost.
        """
        cdef Busy busy = self.busy()
        self.require_kind(self.method.evaluate != NULL)
        cdef Newton* x = &self.lane.newton
        cdef int* own = x.own
        cdef int k
        require_size(y.shape[0], self.nv, "entries of y")
        require_size(lam.shape[0], self.shared.count, "multipliers")
        self.place(t, entries(q, self.nq, "entries of q"), entries(p, self.nv, "entries of p"))
        self.lane.now.cause = OK
        self.take_inputs()
        if self.method.prepare(self) == OK:
            for k in range(self.nv):
                x.y[k] = y[k]
            for k in range(self.shared.count):
                self.lane.held.lam[k] = lam[k]
            x.own = NULL  # the multipliers are given
            variational_residual(self)
            x.own = own
            if variational_factor(self) == OK and direction(self) == OK:
                return (self.array(x.r, self.nv), self.array(self.lane.held.h, self.shared.count),
                        self.array(x.d, self.nv), self.array(x.z, self.shared.count))
        failed = self.lane.now.cause == CALLBACK_FAILED
        raise self.exception if failed else ArithmeticError("the trial cannot be evaluated")

    @property
    def tolerance(self):
        """Largest residual accepted, relative to the momentum; None for methods that solve nothing."""
        return self.shared.choices.tolerance or None

    def density_here(self):
        """Step density [1/s] at the state; None if it is not available."""
        cdef Busy busy = self.busy()
        cdef double density = NAN
        if self.shared.choices.adapt != DENSITY:
            return None
        self.lane.now.cause = OK
        return density if next_density(self, 0.0, &density) == OK else None

    # ---- a step: see step.pxi ----------------------------------------------------------------------------

    cdef int advance(self) noexcept nogil:
        return Stepper.advance(self) if self.kind == METHOD_GAUSS else adapted_step(self)

    cdef int step(self) noexcept nogil:
        return self.method.step(self)

    cdef void accept(self) noexcept nogil:
        self.method.accept(self)

    cdef void begin(self) noexcept nogil:
        self.method.begin(self)

    cdef void on_impulse(self) noexcept nogil:
        self.method.on_impulse(self)

    cdef double multiplier(self, int c) noexcept nogil:
        return self.method.multiplier(self, c)

    cdef int rows_each(self) noexcept nogil:
        return self.motion_rows

    cdef void lose_scratch(self) noexcept nogil:
        # places of bodies and contacts, and what contacts of seats are, which may be shared as well
        self.forget_places()
        if self.gauss.gathered != NULL and self.nq:
            self.gauss.gathered[0] = NAN
        if self.ntouch:
            self.name_seats()

    cdef void exchange_rooms(self) noexcept nogil:
        if self.ntouch:
            exchange_rooms(&self.contact, <Touching*>self.loan.rooms)

    cdef void forget_places(self) noexcept nogil:
        cdef Touching* x = &self.contact
        x.have_list = x.told2 = x.placed1 = x.placed2 = self.post_contact.placed_told = False

    cdef void start_run(self) noexcept nogil:
        Stepper.start_run(self)
        self.forget_places()
        self.post_contact.first = self.lane.clock.t if steps_here(self.lane.clock) == 1 else NAN

    cdef void open_step(self) noexcept nogil:
        Stepper.open_step(self)
        if self.ntouch and not self.parted:
            note_node(self)

    cdef void tidy(self) noexcept nogil:
        cdef int k
        for k in range(self.contact.slots):
            tidy_facet(&self.contact.facet_kept[k])
        for k in range(self.memory.seats.count if self.contact.slots else 0):
            tidy_near(&self.contact.near_kept[k])

    cdef void close_step(self) noexcept nogil:
        Stepper.close_step(self)
        if steps_here(self.lane.clock) == 1:
            self.post_contact.first = self.lane.clock.t
        if self.ntouch:
            pass_node_on(self)

    cdef bint tells(self, bint by_momentum, double* v) noexcept nogil:
        # the velocity in which contacts that acted do not close: see contact/velocities.pxi
        if not self.ntouch:
            return Stepper.tells(self, by_momentum, v)
        if not has_post_contact_velocity(self) and (by_momentum or pushed_any(self)):
            return False
        return Stepper.tells(self, by_momentum, v) and post_contact_velocity_here(self, v) == OK

    cdef int told_columns(self) noexcept nogil:
        return told_width(self)

    @property
    def contact_bytes(self):
        """Number of bytes at the end of a history that are of contacts."""
        return self.memory.seats.kept_plain + self.memory.seats.bytes_of_taken() if self.ntouch else 0

    @property
    def contact_columns(self):
        """Number of columns of :meth:`take_contacts`."""
        return told_width(self)

    cdef int log_row(self, long row) noexcept nogil:
        return log_told(self, &self.log, row)

    cdef int note_part(self) noexcept nogil:
        return log_part(self) if self.located.logs_parts else OK
