# The mechanics that every stepper of a model needs: loads, prescribed motion, constraints, accelerations. One lane.


cdef class ModelStepper(Stepper):
    """Base of the compiled integrators of models.

    ``loads`` and ``constraints`` are a LoadList and a ConstraintList; ``gates`` inputs behind the ``nu`` of the caller
    say which of the loads act that do so for a while; ``user`` is None, or holds loads and constraints
    written in Python (``WrittenParts``).
    """

    cdef readonly CoreModel model
    cdef readonly LoadList loads
    cdef readonly ConstraintList constraints
    cdef readonly DriveList drives
    cdef object user
    cdef object motion_owner
    cdef ModelStepper behind            # the next one of a chain

    def __cinit__(self, CoreModel model, double h, torque=None, int nu=0, inputs=None, user=None, **options):
        cdef const vt_model* m = &model.m
        cdef Shared* s = &self.shared
        cdef int i, k = 0
        self.model, self.user = model, user
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
        self.divide(False)

    def set_motion(self, rows):
        """Take the prescribed motion from the state's time on, (2 substeps + 1, 3, nlocked)."""
        cdef Turn turn = self.turn()
        cdef const double[:, :, ::1] moved
        self.shared.motion = NULL
        if self.shared.m.nlocked:
            moved = self.motion_owner = np.ascontiguousarray(rows, dtype=float)
            require_size(moved.shape[1] * moved.shape[2], 3 * self.shared.m.nlocked, "numbers in a row of motion")
            require_size(moved.shape[2], self.shared.m.nlocked, "prescribed coordinates")
            self.shared.motion, self.shared.motion_count = &moved[0, 0, 0], moved.shape[0]

    def require_rows(self, long steps):
        """Raise a ValueError if the rows of what is given for each step end before so many steps of the run."""
        if self.shared.motion != NULL:
            self.require_steps(steps, (self.shared.motion_count - 1) // self.rows_each(), "prescribed motion")
        Stepper.require_rows(self, steps)

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v, prescribed=None):
        """Acceleration (nv,) at a time and state, and multipliers (count,) [N or N m] with the force Dh^T lam.

        Under gravity, loads, damping, friction, torque and inputs; ``prescribed``: accelerations (nv,) of the locked
        coordinates, the others' entries are not used.
        """
        cdef Turn turn = self.turn()
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
        self.acceleration(t, at, moving, &view[0])
        if self.lane.now.cause == CALLBACK_FAILED:
            raise self.exception
        return out, self.array(self.lane.held.push, self.shared.count)

    def drive_forces_at(self, double t, const double[::1] q, const double[::1] v):
        """Forces (ndrive,) of the drives at a time and state."""
        cdef Turn turn = self.turn()
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
        self.velocity(self.lane.state.q, self.lane.state.x, v)
        return True

    cdef int constraint_count(self) noexcept nogil:
        return self.shared.count

    cdef bint asks(self) noexcept nogil:
        cdef Shared* s = &self.shared
        return s.schedule.calls_user or s.user_rests or s.user_moves or s.user_constrains

    cdef double multiplier(self, int c) noexcept nogil:
        return self.lane.held.push[c]

    cdef void accept(self) noexcept nogil:
        Stepper.accept(self)
        if self.lane.bodies.predicts:
            memcpy(self.lane.bodies.v_last, self.lane.bodies.v_node, self.nv * sizeof(double))

    # ---- loads and constraints written in Python -----------------------------------------------------

    cdef bint may_ask(self, const double* q, const double* v) noexcept nogil:
        # whether a function written in Python can be asked: nothing failed before, and the state is finite
        return (self.lane.now.cause != CALLBACK_FAILED and bounded(q, self.nq)
                and (v == NULL or bounded(v, self.nv)))

    cdef void written_loads(self, int which, double t, const double* q, const double* v, double* tau) noexcept nogil:
        # tau += the loads written in Python; NaN if they fail
        cdef int k
        if not self.may_ask(q, v):
            for k in range(self.nv):
                tau[k] = NAN
            return
        with gil:
            try:
                if which & RESTING and self.shared.user_rests:
                    self.add_written(self.user.rest(self.array(q, self.nq)), t, "a potential's gradient", tau)
                if which & RATES and self.shared.user_moves:
                    self.add_written(
                        self.user.move(t, self.array(q, self.nq), self.array(v, self.nv),
                                       self.array(self.lane.drive.u, self.shared.schedule.nu)), t, "a force", tau)
            except BaseException as error:
                self.fail(error)
                for k in range(self.nv):
                    tau[k] = NAN

    cdef int add_written(self, force, double t, what, double* tau) except -1:
        cdef int k
        self.read(force, self.nv, self.lane.bodies.inertial, f"{what} at t = {t:.9g} s")
        for k in range(self.nv):
            tau[k] += self.lane.bodies.inertial[k]
        return 0

    cdef void written_constraints(self, const double* q, double* h, double* Dh) noexcept nogil:
        # the rows of constraints written in Python; NaN if they fail
        cdef int c, k
        cdef const double[::1] row
        if not self.may_ask(q, NULL):
            self.no_constraints(h)
            return
        with gil:
            try:
                at = self.array(q, self.nq)
                for c, one in self.user.constraints:
                    value, gradient = one(at)
                    h[c] = value
                    row = gradient
                    for k in range(self.nv):
                        Dh[c * self.nv + k] = row[k]
            except BaseException as error:
                self.fail(error)
                self.no_constraints(h)

    cdef void written_accelerations(self, const double* q, const double* v, double* out) noexcept nogil:
        # D2h(v, v) of constraints written in Python; NaN if they fail
        cdef int c
        if not self.may_ask(q, v):
            self.no_constraints(out)
            return
        with gil:
            try:
                for c, value in self.user.constraint_accelerations(self.array(q, self.nq), self.array(v, self.nv)):
                    out[c] = value
            except BaseException as error:
                self.fail(error)
                self.no_constraints(out)

    cdef void no_constraints(self, double* out) noexcept nogil:
        cdef int c
        for c in range(self.shared.count):
            out[c] = NAN

    # ---- drives --------------------------------------------------------------------------------------

    cdef void drive_trial(self, double share) noexcept nogil:
        # the forces of the drives, and their slopes, a share on the way of the trial
        cdef Servos* x = &self.lane.servos
        memset(x.force, 0, self.nv * sizeof(double))
        memset(x.slope, 0, self.nv * sizeof(double))
        drive_step(self.shared.drive, self.shared.ndrive, self.lane.state.q, self.lane.newton.y, share, self.lane.now.h,
                   self.lane.drive.u, x.force, x.slope)

    cdef double node_share(self) noexcept nogil:
        # of the step's impulse, that of the first node
        return 0.5

    cdef void acceleration_in_step(self, double t, const double* q, const double* v, double* out) noexcept nogil:
        # a with which y = h v + s h^2 a, s the first node's share, solves the step where its forces are linear in y:
        #     (M + s h (damping + slopes of drives)) a = forces, those of drives on the way of y = h v
        cdef Servos* x = &self.lane.servos
        cdef const vt_model* m = self.shared.m
        cdef double h = self.lane.now.h, share = self.node_share()
        cdef int i, k
        if not (self.shared.ndrive and h > 0.0):
            self.acceleration(t, q, v, out)
            return
        for k in range(self.nv):
            x.ahead_y[k] = h * v[k]
        memset(x.ahead_force, 0, self.nv * sizeof(double))
        memset(x.ahead_slope, 0, self.nv * sizeof(double))
        drive_step(self.shared.drive, self.shared.ndrive, q, x.ahead_y, 1.0 - share, h, self.lane.drive.u,
                   x.ahead_force, x.ahead_slope)
        memcpy(x.stiff, m.armature, self.nv * sizeof(double))
        for i in range(m.nbody):
            if not joint_multi(&m.body[i]):
                k = m.body[i].iv
                x.stiff[k] += share * h * (m.damping[k] + x.ahead_slope[k])
        x.model = m[0]
        x.model.armature, x.model.rotors = x.stiff, True
        self.shared.m, x.ahead = &x.model, True
        self.acceleration(t, q, v, out)
        self.shared.m, x.ahead = m, False

    cdef void note_drives(self, bint leading) noexcept nogil:
        # the impulses of the drives in the substep that was solved. leading: the first of a step
        cdef Servos* x = &self.lane.servos
        cdef const vt_drive* d
        cdef double h = self.lane.now.h
        cdef int k
        if leading:
            x.spent = 0.0
            memset(x.impulse, 0, self.shared.ndrive * sizeof(double))
        x.spent += h
        for k in range(self.shared.ndrive):
            d = &self.shared.drive[k]
            x.impulse[k] += h * drive_at(
                d, self.lane.state.q[d.iq] + (1.0 - self.node_share()) * self.lane.newton.y[d.iv],
                self.lane.newton.y[d.iv] / h, self.lane.drive.u).force

    cdef void show(self, double* row) noexcept nogil:
        # the mean forces of drives as well; NaN where a method takes them at its stages
        cdef Servos* x = &self.lane.servos
        cdef int k
        Stepper.show(self, row)
        for k in range(self.shared.ndrive):
            row[WATCHED + k] = x.impulse[k] / x.spent if x.spent != 0.0 else NAN

    cdef bint solves_forces(self) noexcept nogil:
        # whether a step solves for forces: the dynamics' prediction knows them where it starts only
        return self.shared.m.damped or self.shared.m.rubbing or self.shared.ndrive > 0

    # ---- loads ---------------------------------------------------------------------------------------

    cdef bint loaded(self) noexcept nogil:
        return self.shared.nload > 0 or self.shared.user_rests or self.shared.user_moves

    cdef void place_bodies(self, const double* q, const double* v) noexcept nogil:
        # pose and twist of the bodies at (q, v)
        cdef int i
        forward_kinematics(self.shared.m, q, self.lane.bodies.pose)
        for i in range(self.shared.m.nbody):
            twist_of(self.shared.m, i, v, self.lane.bodies.pose, self.lane.bodies.twist)

    cdef BodiesAt bodies_at(self, const double* q, const double* v) noexcept nogil:
        # what the loads see, where pose and twist are those of (q, v)
        cdef BodiesAt at
        at.m, at.q, at.v, at.u = self.shared.m, q, v, self.lane.drive.u
        at.pose, at.twist = self.lane.bodies.pose, self.lane.bodies.twist
        return at

    cdef void apply_to_bodies(self, int which, double t, const double* q, const double* v) noexcept nogil:
        # wrenches and joint forces of all loads, where pose and twist are those of (q, v)
        self.apply_list(self.shared.load, self.shared.nload, which, q, v)
        self.apply_written(which, t, q, v)

    cdef void apply_list(self, const vt_load* list, int count, int which, const double* q,
                         const double* v) noexcept nogil:
        # the same of some loads
        cdef Bodies* b = &self.lane.bodies
        cdef BodiesAt at = self.bodies_at(q, v)
        memset(b.wrench, 0, 6 * self.shared.m.nbody * sizeof(double))
        memset(b.load_force, 0, self.nv * sizeof(double))
        apply_loads(&at, list, count, which, b.wrench, b.load_force)

    cdef void apply_written(self, int which, double t, const double* q, const double* v) noexcept nogil:
        # and what those written in Python add
        if self.shared.user_rests or self.shared.user_moves:
            self.written_loads(which, t, q, v, self.lane.bodies.load_force)

    cdef void project_wrenches(self, double* tau) noexcept nogil:
        # tau += J^T wrench of each body
        cdef Bodies* b = &self.lane.bodies
        cdef int i
        for i in range(self.shared.m.nbody):
            add_wrench_row(self.shared.m, b.pose, i, load3(b.wrench + 6 * i), load3(b.wrench + 6 * i + 3), tau)

    # ---- prescribed motion ---------------------------------------------------------------------------

    cdef const double* motion_row(self, int ahead) noexcept nogil:
        # (3, nlocked) of the row so many behind the first of the step, or NULL
        cdef long row = min(self.lane.now.first_row + ahead, self.shared.motion_count - 1)
        return NULL if self.shared.motion == NULL else self.shared.motion + row * 3 * self.shared.m.nlocked

    cdef void lock_rates(self, int ahead) noexcept nogil:
        # rates of the prescribed coordinates; they rest where no motion is given
        cdef const double* row = self.motion_row(ahead)
        cdef int k, n = self.shared.m.nlocked
        if n:
            memset(self.lane.prescribed.v, 0, self.nv * sizeof(double))
            memset(self.lane.prescribed.a, 0, self.nv * sizeof(double))
        if row != NULL:
            for k in range(n):
                self.lane.prescribed.v[self.shared.locked[k].iv] = row[n + k]
                self.lane.prescribed.a[self.shared.locked[k].iv] = row[2 * n + k]

    cdef double locked_at(self, int k, int ahead) noexcept nogil:
        # the k-th prescribed coordinate
        cdef const double* row = self.motion_row(ahead)
        return self.lane.state.q[self.shared.locked[k].iq] if row == NULL else row[k]

    cdef void lock_node(self, int ahead) noexcept nogil:
        # the prescribed coordinates of q2, to the last bit
        cdef int k
        for k in range(self.shared.m.nlocked):
            self.lane.state.q2[self.shared.locked[k].iq] = self.locked_at(k, ahead)

    cdef void lock_end(self) noexcept nogil:
        # the trial (q2, v2) moves as prescribed
        cdef int k
        if self.shared.m.nlocked:
            self.lock_rates(self.rows_each())
            self.lock_node(self.rows_each())
            self.copy_locked(self.lane.prescribed.v, self.lane.state.x2)

    cdef void copy_locked(self, const double* rates, double* to) noexcept nogil:
        cdef int k
        for k in range(self.shared.m.nlocked):
            to[self.shared.locked[k].iv] = rates[self.shared.locked[k].iv]

    cdef void clear_locked(self, double* row) noexcept nogil:
        cdef int k
        for k in range(self.shared.m.nlocked):
            row[self.shared.locked[k].iv] = 0.0

    # ---- velocities and accelerations ----------------------------------------------------------------

    cdef void acceleration(self, double t, const double* q, const double* v, double* out) noexcept nogil:
        # M a = tau - damping v - friction + drives + loads - c(q, v) - gravity + Dh^T lam, Dh a = -D2h(v, v)
        # (Johnson & Murphey 2009, eqs. 28, 29, 36)
        cdef const vt_model* m = self.shared.m
        cdef Bodies* b = &self.lane.bodies
        cdef double* wrench = NULL
        cdef int k
        for k in range(self.nv):
            b.force[k] = self.lane.drive.tau[k] - m.damping[k] * v[k]
        if m.rubbing:
            add_friction(m, 1.0, v, -1.0, b.force)
        if self.lane.servos.ahead:
            vt_add_row(self.nv, 1.0, self.lane.servos.ahead_force, b.force)
        elif self.shared.ndrive:
            add_drives(self.shared.drive, self.shared.ndrive, q, v, self.lane.drive.u, b.force)
        if self.loaded() or (self.shared.count and not self.shared.geared):
            self.place_bodies(q, v)
        if self.loaded():
            self.apply_to_bodies(RESTING | RATES, t, q, v)
            for k in range(self.nv):
                b.force[k] += b.load_force[k]
            wrench = b.wrench
        if m.nlocked:
            # what the prescribed accelerations and the velocities take, on the right
            if wrench != NULL:
                self.project_wrenches(b.force)
            rnea(m, m.g, q, v, self.lane.prescribed.a, b.inertial, b.rnea)
            self.respond(q, b.force, self.lane.prescribed.a, out)
        else:
            self.accelerate(m.g, q, v, b.force, wrench, out)
        if self.shared.count and not self.shared.geared:
            self.hold_accelerations(q, v, out)

    cdef void respond(self, const double* q, const double* force, const double* rates, double* out) noexcept nogil:
        # M out = force - inertial on the coordinates that are not prescribed; `rates` on those that are
        cdef Bodies* b = &self.lane.bodies
        cdef int k
        for k in range(self.nv):
            b.force[k] = force[k] - b.inertial[k]
        self.accelerate(NO_GRAVITY, q, self.shared.zeros, b.force, NULL, out)
        self.copy_locked(rates, out)

    cdef void accelerate(self, const double* gravity, const double* q, const double* v, const double* tau,
                         const double* wrench, double* out) noexcept nogil:
        # aba, and the multipliers where gears are eliminated on the way
        if self.shared.geared:
            aba_of_trains(&self.shared.trains, &self.lane.trains, self.shared.m, gravity, q, v, tau, wrench, out,
                          self.lane.held.push, self.lane.bodies.aba)
        else:
            aba(self.shared.m, gravity, q, v, tau, wrench, out, self.lane.bodies.aba)

    cdef void hold_accelerations(self, const double* q, const double* v, double* out) noexcept nogil:
        # out += M^-1 Dh^T lam so that Dh out = -D2h(v, v)
        cdef Bodies* b = &self.lane.bodies
        cdef Holonomic* c = &self.lane.held
        cdef BodiesAt at = self.bodies_at(q, v)
        cdef int k
        constraint_accelerations(&at, self.shared.constraint, self.shared.count, b.bias, c.push)
        if self.shared.user_constrains:
            self.written_accelerations(q, v, c.push)
        self.constrain_at(q, c.h, c.Dh1, c.hold1)
        for k in range(self.shared.count):
            c.h[k] = -c.push[k]
        self.reach(c.Dh1, c.h, out)

    cdef void constrain_at(self, const double* q, double* h, double* Dh, Hold* hold) noexcept nogil:
        # poses, h and what the constraints do at q: their rows Dh where these are needed
        cdef const Island* on
        cdef int c
        for c in range(self.shared.count):
            if not self.shared.islands.apart[c]:
                on = self.island(c)
                memset(Dh + c * self.nv + on.v, 0, (on.v_end - on.v) * sizeof(double))
        constraints(self.shared.m, self.shared.constraint, self.shared.count, q,
                    NULL if self.shared.plain else self.lane.bodies.pose, h, Dh, hold, self.shared.islands.apart)
        if self.shared.user_constrains:
            self.written_constraints(q, h, Dh)

    cdef void reach(self, const double* Dh, const double* goal, double* x) noexcept nogil:
        # x += M^-1 Dh^T lam with (Dh M^-1 Dh^T) lam = goal - Dh x; NaN where the constraints depend on each other.
        # M is that of the `aba` before
        cdef Holonomic* held = &self.lane.held
        cdef int k
        for k in range(self.shared.islands.count):
            if not (self.reach_on(&self.shared.islands.at[k], Dh, goal, x) if self.shared.islands.at[k].plan == NULL
                    else self.reach_by_plan(k, goal, x)):
                x[0] = NAN
                return
        for k in range(self.shared.count):
            held.push[self.shared.islands.member[k]] = held.found[k]

    cdef bint reach_on(self, const Island* on, const double* Dh, const double* goal, double* x) noexcept nogil:
        # the same on an island; whether it could be done
        cdef Holonomic* held = &self.lane.held
        cdef const int* member = self.shared.islands.member + on.row
        cdef int c, e, k, entries, n = self.nv, width = on.v_end - on.v, rows = on.row_end - on.row
        cdef double* found = held.found + on.row
        cdef double* schur = held.schur + on.block
        cdef const double* row
        for c in range(rows):
            aba_response(self.shared.m, Dh + member[c] * n, on.body, on.body_end, held.response + member[c] * n,
                         self.lane.bodies.aba)
        for c in range(rows):
            row = Dh + member[c] * n + on.v
            entries = nonzeros(row, width, held.columns)
            found[c] = goal[member[c]] - inner_at(row, x + on.v, held.columns, entries)
            for e in range(rows):
                schur[c * rows + e] = inner_at(row, held.response + member[e] * n + on.v, held.columns, entries)
        if not all_finite(found, rows) or lu_factor(schur, rows, held.order) != OK:
            if self.lane.now.cause == OK and all_finite(schur, rows * rows):
                self.lane.now.cause = DEPENDENT
            return False
        lu_solve(schur, rows, held.order, found)
        for c in range(rows):
            row = held.response + member[c] * n
            for k in range(on.v, on.v_end):
                x[k] += found[c] * row[k]
        return True

    cdef bint reach_by_plan(self, int island, const double* goal, double* x) noexcept nogil:
        # the same on an island that has a plan, with no Dh
        cdef const Island* on = &self.shared.islands.at[island]
        cdef const int* member = self.shared.islands.member + on.row
        cdef const vt_model* m = self.shared.m
        cdef Holonomic* held = &self.lane.held
        cdef Fronts* fronts = &self.lane.fronts
        cdef FrontWork* work = &fronts.rest_work[island]
        cdef FrontBody* body = fronts.rest_body
        cdef double* found = held.found + on.row
        cdef double* lack = held.schur
        cdef double* d = self.lane.bodies.inertial
        cdef int c, k, rows = on.row_end - on.row
        cdef Signs signs
        bodies_at_rest(m, self.lane.bodies.pose, on.body, on.body_end, body)
        constraint_rates(m, self.shared.constraint, held.hold1, member, rows, on.body, on.body_end, body, x,
                         work.x, found)
        for c in range(rows):
            found[c] = goal[member[c]] - found[c]
        if not all_finite(found, rows):
            return False
        signs_begin(&signs)
        if front_factor(on.plan, work, &fronts.rest[island], m, body, self.shared.constraint, member, held.hold1,
                        held.hold1, &signs) != OK:
            if self.lane.now.cause == OK:
                self.lane.now.cause = DEPENDENT
            return False
        for c in range(rows):
            lack[member[c]] = -found[c]
        memset(d + on.v, 0, (on.v_end - on.v) * sizeof(double))
        front_solve(on.plan, work, &fronts.rest[island], m, body, fronts.none, 0.0, lack, member, d, found)
        for c in range(rows):
            found[c] = -found[c]
        for k in range(on.v, on.v_end):
            x[k] += d[k]
        return True

    cdef int divide(self, bint whole) except -1:
        # the islands of the constraints
        cdef Shared* s = &self.shared
        cdef ConstraintPlan plan = self.constraints.whole if whole else self.constraints.apart
        if plan is None:
            require_size(s.count, 0, "constraints without a plan")
            s.islands.range, s.islands.range_count = <int*>self.memory.given(2 * sizeof(int)), s.m.nbody > 0
            s.islands.range[1] = s.m.nbody
            return 0
        require_size(plan.bodies, s.m.nbody, "bodies of a plan")
        s.islands, s.gears, s.plain, s.geared = plan.islands, plan.linear, plan.plain, plan.geared
        s.own = plan.own
        fronts_make(&self.lane.fronts, self.memory, &s.islands, s.m)
        if s.geared:
            s.trains = plan.trains
            trains_make(&self.lane.trains, self.memory, &s.trains, s.m.nv)
        return 0

    cdef const Island* island(self, int row) noexcept nogil:
        return &self.shared.islands.at[self.shared.islands.of[row]]

    cdef void velocity(self, const double* q, const double* p, double* out) noexcept nogil:
        # M v = p + Dh^T nu with Dh v = 0 and prescribed rates
        cdef const vt_model* m = self.shared.m
        cdef Holonomic* held = &self.lane.held
        if m.nlocked:
            self.lock_rates(0)
            rnea(m, NO_GRAVITY, q, self.shared.zeros, self.lane.prescribed.v, self.lane.bodies.inertial,
                 self.lane.bodies.rnea)
            self.respond(q, p, self.lane.prescribed.v, out)
        else:
            self.accelerate(NO_GRAVITY, q, self.shared.zeros, p, NULL, out)
        if self.shared.count and not self.shared.geared:
            self.constrain_at(q, held.h, held.Dh1, held.hold1)
            memset(held.h, 0, self.shared.count * sizeof(double))
            self.reach(held.Dh1, held.h, out)
