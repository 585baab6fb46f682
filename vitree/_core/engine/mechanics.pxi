# Loads, prescribed motion and constraints of a model: the terms that only steps of one instance have. One lane.


cdef int bodies_make(Bodies* x, Memory memory, const vt_model* m) except -1:
    x.pose = <Pose*>memory.scratch(m.nbody * sizeof(Pose))
    x.aba = <AbaBody*>memory.scratch(m.nbody * sizeof(AbaBody))
    x.rnea = <RneaBody*>memory.scratch(m.nbody * sizeof(RneaBody)) if m.nlocked else NULL
    x.wrench, x.twist = memory.scratch_reals(6 * m.nbody), memory.scratch_reals(6 * m.nbody)
    x.bias = memory.scratch_reals(6 * m.nbody)
    x.load_force, x.force = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.inertial, x.v_node = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.v_last = memory.kept_reals(m.nv)
    return 0


cdef int prescribed_make(Prescribed* x, Memory memory, int nv) except -1:
    x.v, x.a = memory.scratch_reals(nv), memory.scratch_reals(nv)
    return 0


cdef int holonomic_make(Holonomic* x, Memory memory, int count, int nv) except -1:
    x.h, x.push = memory.scratch_reals(count), memory.scratch_reals(count)
    x.Dh1, x.Dh2 = memory.kept_reals(count * nv), memory.scratch_reals(count * nv)
    x.hold1, x.hold2 = <Hold*>memory.kept(count * sizeof(Hold)), <Hold*>memory.scratch(count * sizeof(Hold))
    x.response, x.schur = memory.scratch_reals(count * nv), memory.scratch_reals(count * count)
    x.order = <int*>memory.scratch(count * sizeof(int))
    x.columns = <int*>memory.scratch(nv * sizeof(int))
    x.lam = memory.kept_reals(count)
    x.tangent, x.force = memory.scratch_reals(count), memory.scratch_reals(count)
    x.found = memory.scratch_reals(count)
    return 0


cdef double model_multiplier(ModelStepper self, int c) noexcept nogil:
    return self.lane.held.push[c]


cdef void model_accept(ModelStepper self) noexcept nogil:
    Stepper.accept(self)
    if self.lane.bodies.predicts:
        memcpy(self.lane.bodies.v_last, self.lane.bodies.v_node, self.nv * sizeof(double))


# ---- loads and constraints written in Python -----------------------------------------------------


cdef bint may_ask(ModelStepper self, const double* q, const double* v) noexcept nogil:
    # whether a function written in Python can be called: nothing failed before, and the state is finite
    return (self.lane.now.cause != CALLBACK_FAILED and bounded(q, self.nq)
            and (v == NULL or bounded(v, self.nv)))


cdef void written_loads(ModelStepper self, int which, double t, const double* q, const double* v, double* tau) noexcept nogil:
    # tau += the loads written in Python; NaN if they fail
    cdef int k
    if not may_ask(self, q, v):
        for k in range(self.nv):
            tau[k] = NAN
        return
    with gil:
        try:
            if which & RESTING and self.shared.user_rests:
                add_written(self, self.user.rest(self.array(q, self.nq)), t, "a potential's gradient", tau)
            if which & RATES and self.shared.user_moves:
                add_written(self,
                    self.user.move(t, self.array(q, self.nq), self.array(v, self.nv),
                                   self.array(self.lane.drive.u, self.shared.schedule.nu)), t, "a force", tau)
        except BaseException as error:
            self.fail(error)
            for k in range(self.nv):
                tau[k] = NAN


cdef int add_written(ModelStepper self, force, double t, what, double* tau) except -1:
    cdef int k
    self.read(force, self.nv, self.lane.bodies.inertial, f"{what} at t = {t:.9g} s")
    for k in range(self.nv):
        tau[k] += self.lane.bodies.inertial[k]
    return 0


cdef void written_constraints(ModelStepper self, const double* q, double* h, double* Dh) noexcept nogil:
    # the rows of constraints written in Python; NaN if they fail
    cdef int c, k
    cdef const double[::1] row
    if not may_ask(self, q, NULL):
        no_constraints(self, h)
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
            no_constraints(self, h)


cdef void written_accelerations(ModelStepper self, const double* q, const double* v, double* out) noexcept nogil:
    # D2h(v, v) of constraints written in Python; NaN if they fail
    cdef int c
    if not may_ask(self, q, v):
        no_constraints(self, out)
        return
    with gil:
        try:
            for c, value in self.user.constraint_accelerations(self.array(q, self.nq), self.array(v, self.nv)):
                out[c] = value
        except BaseException as error:
            self.fail(error)
            no_constraints(self, out)


cdef void no_constraints(ModelStepper self, double* out) noexcept nogil:
    cdef int c
    for c in range(self.shared.count):
        out[c] = NAN


cdef void note_drives(ModelStepper self, bint leading) noexcept nogil:
    # the impulses of the drives in the solved substep. leading: the first of a step
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
            d, self.lane.state.q[d.iq] + self.method.force_share(self) * self.lane.newton.y[d.iv],
            self.lane.newton.y[d.iv] / h, self.lane.drive.u).force


# ---- loads ---------------------------------------------------------------------------------------


cdef void place_bodies(ModelStepper self, const double* q, const double* v) noexcept nogil:
    # pose and twist of the bodies at (q, v)
    cdef int i
    forward_kinematics(self.shared.m, q, self.lane.bodies.pose)
    for i in range(self.shared.m.nbody):
        twist_of(self.shared.m, i, v, self.lane.bodies.pose, self.lane.bodies.twist)


cdef BodiesAt bodies_at(ModelStepper self, const double* q, const double* v) noexcept nogil:
    # the input of loads, where pose and twist are those of (q, v)
    cdef BodiesAt at
    at.m, at.q, at.v, at.u = self.shared.m, q, v, self.lane.drive.u
    at.pose, at.twist = self.lane.bodies.pose, self.lane.bodies.twist
    return at


cdef void apply_to_bodies(ModelStepper self, int which, double t, const double* q, const double* v) noexcept nogil:
    # wrenches and joint forces of all loads, where pose and twist are those of (q, v)
    apply_list(self, self.shared.load, self.shared.nload, which, q, v)
    apply_written(self, which, t, q, v)


cdef void apply_list(ModelStepper self, const vt_load* list, int count, int which, const double* q,
                     const double* v) noexcept nogil:
    # the same for some loads
    cdef Bodies* b = &self.lane.bodies
    cdef BodiesAt at = bodies_at(self, q, v)
    memset(b.wrench, 0, 6 * self.shared.m.nbody * sizeof(double))
    memset(b.load_force, 0, self.nv * sizeof(double))
    apply_loads(&at, list, count, which, b.wrench, b.load_force)


cdef void apply_written(ModelStepper self, int which, double t, const double* q, const double* v) noexcept nogil:
    # plus those written in Python
    if self.shared.user_rests or self.shared.user_moves:
        written_loads(self, which, t, q, v, self.lane.bodies.load_force)


cdef void project_wrenches(ModelStepper self, double* tau) noexcept nogil:
    # tau += J^T wrench of each body
    cdef Bodies* b = &self.lane.bodies
    cdef int i
    for i in range(self.shared.m.nbody):
        add_wrench_row(self.shared.m, b.pose, i, load3(b.wrench + 6 * i), load3(b.wrench + 6 * i + 3), tau)


# ---- prescribed motion ---------------------------------------------------------------------------


cdef const double* motion_row(ModelStepper self, int ahead) noexcept nogil:
    # (3, nlocked) of the row that is so many after the first of the step, or NULL
    cdef long row = min(self.lane.now.first_row + ahead, self.shared.motion_count - 1)
    return NULL if self.shared.motion == NULL else self.shared.motion + row * 3 * self.shared.m.nlocked


cdef void lock_rates(ModelStepper self, int ahead) noexcept nogil:
    # rates of the prescribed coordinates; zero where no motion is given
    cdef const double* row = motion_row(self, ahead)
    cdef int k, n = self.shared.m.nlocked
    if n:
        memset(self.lane.prescribed.v, 0, self.nv * sizeof(double))
        memset(self.lane.prescribed.a, 0, self.nv * sizeof(double))
    if row != NULL:
        for k in range(n):
            self.lane.prescribed.v[self.shared.locked[k].iv] = row[n + k]
            self.lane.prescribed.a[self.shared.locked[k].iv] = row[2 * n + k]


cdef double locked_at(ModelStepper self, int k, int ahead) noexcept nogil:
    # the k-th prescribed coordinate
    cdef const double* row = motion_row(self, ahead)
    return self.lane.state.q[self.shared.locked[k].iq] if row == NULL else row[k]


cdef void lock_node(ModelStepper self, int ahead) noexcept nogil:
    # the prescribed coordinates of q2, to the last bit
    cdef int k
    for k in range(self.shared.m.nlocked):
        self.lane.state.q2[self.shared.locked[k].iq] = locked_at(self, k, ahead)


cdef void lock_end(ModelStepper self) noexcept nogil:
    # the trial (q2, v2) with prescribed motion
    cdef int k
    if self.shared.m.nlocked:
        lock_rates(self, self.rows_each())
        lock_node(self, self.rows_each())
        copy_locked(self, self.lane.prescribed.v, self.lane.state.x2)


cdef void copy_locked(ModelStepper self, const double* rates, double* to) noexcept nogil:
    cdef int k
    for k in range(self.shared.m.nlocked):
        to[self.shared.locked[k].iv] = rates[self.shared.locked[k].iv]


cdef void clear_locked(ModelStepper self, double* row) noexcept nogil:
    cdef int k
    for k in range(self.shared.m.nlocked):
        row[self.shared.locked[k].iv] = 0.0


# ---- velocities and accelerations ----------------------------------------------------------------


cdef void accelerate_under(ModelStepper self, double t, const double* q, const double* v, double* force,
                           double* out) noexcept nogil:
    # M a = force + loads - c(q, v) - gravity + Dh^T lam, Dh a = -D2h(v, v). If `ahead` is set, M includes the slopes of
    # the forces of a step with respect to its increment
    cdef const vt_model* m = self.shared.m
    cdef Servos* x = &self.lane.servos
    if x.ahead:
        x.model = m[0]
        x.model.armature, x.model.rotors = x.stiff, True
        self.shared.m = &x.model
    accelerate_loaded(self, t, q, v, force, out)
    self.shared.m = m


cdef void accelerate_loaded(ModelStepper self, double t, const double* q, const double* v, double* force,
                            double* out) noexcept nogil:
    cdef const vt_model* m = self.shared.m
    cdef Bodies* b = &self.lane.bodies
    cdef double* wrench = NULL
    cdef int k
    if model_loaded(self) or (self.shared.count and not self.shared.geared):
        place_bodies(self, q, v)
    if model_loaded(self):
        apply_to_bodies(self, RESTING | RATES, t, q, v)
        for k in range(self.nv):
            force[k] += b.load_force[k]
        wrench = b.wrench
    if m.nlocked:
        # contributions of the prescribed accelerations and of the velocities to the right side
        if wrench != NULL:
            project_wrenches(self, force)
        rnea(m, m.g, q, v, self.lane.prescribed.a, b.inertial, b.rnea)
        respond(self, q, force, self.lane.prescribed.a, out)
    else:
        accelerate(self, m.g, q, v, force, wrench, out)
    if self.shared.count and not self.shared.geared:
        hold_accelerations(self, q, v, out)


cdef void respond(ModelStepper self, const double* q, const double* force, const double* rates, double* out) noexcept nogil:
    # M out = force - inertial on the coordinates that are not prescribed; `rates` on those that are
    cdef Bodies* b = &self.lane.bodies
    cdef int k
    for k in range(self.nv):
        b.force[k] = force[k] - b.inertial[k]
    accelerate(self, NO_GRAVITY, q, self.shared.zeros, b.force, NULL, out)
    copy_locked(self, rates, out)


cdef void accelerate(ModelStepper self, const double* gravity, const double* q, const double* v, const double* tau,
                     const double* wrench, double* out) noexcept nogil:
    # aba, with the multipliers where gears are eliminated during the recursion
    if self.shared.geared:
        aba_of_trains(&self.shared.trains, &self.lane.trains, self.shared.m, gravity, q, v, tau, wrench, out,
                      self.lane.held.push, self.lane.bodies.aba)
    else:
        aba(self.shared.m, gravity, q, v, tau, wrench, out, self.lane.bodies.aba)


cdef void hold_accelerations(ModelStepper self, const double* q, const double* v, double* out) noexcept nogil:
    # out += M^-1 Dh^T lam such that Dh out = -D2h(v, v)
    cdef Bodies* b = &self.lane.bodies
    cdef Holonomic* c = &self.lane.held
    cdef BodiesAt at = bodies_at(self, q, v)
    cdef int k
    constraint_accelerations(&at, self.shared.constraint, self.shared.count, b.bias, c.push)
    if self.shared.user_constrains:
        written_accelerations(self, q, v, c.push)
    constrain_at(self, q, c.h, c.Dh1, c.hold1)
    for k in range(self.shared.count):
        c.h[k] = -c.push[k]
    reach(self, c.Dh1, c.h, out)


cdef void constrain_at(ModelStepper self, const double* q, double* h, double* Dh, Hold* hold) noexcept nogil:
    # poses, h and data of the constraints at q: their rows Dh if these are needed
    cdef const Island* on
    cdef int c
    for c in range(self.shared.count):
        if not self.shared.islands.apart[c]:
            on = model_island(self, c)
            memset(Dh + c * self.nv + on.v, 0, (on.v_end - on.v) * sizeof(double))
    constraints(self.shared.m, self.shared.constraint, self.shared.count, q,
                NULL if self.shared.plain else self.lane.bodies.pose, h, Dh, hold, self.shared.islands.apart)
    if self.shared.user_constrains:
        written_constraints(self, q, h, Dh)


cdef void reach(ModelStepper self, const double* Dh, const double* goal, double* x) noexcept nogil:
    # x += M^-1 Dh^T lam with (Dh M^-1 Dh^T) lam = goal - Dh x; NaN where the constraints depend on each other.
    # M is that of the `aba` before
    cdef Holonomic* held = &self.lane.held
    cdef int k
    for k in range(self.shared.islands.count):
        if not (reach_on(self, &self.shared.islands.at[k], Dh, goal, x) if self.shared.islands.at[k].plan == NULL
                else reach_by_plan(self, k, goal, x)):
            x[0] = NAN
            return
    for k in range(self.shared.count):
        held.push[self.shared.islands.member[k]] = held.found[k]


cdef bint reach_on(ModelStepper self, const Island* on, const double* Dh, const double* goal, double* x) noexcept nogil:
    # the same on an island; returns whether it succeeded
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


cdef bint reach_by_plan(ModelStepper self, int island, const double* goal, double* x) noexcept nogil:
    # the same on an island with a plan, without Dh
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


cdef int divide(ModelStepper self, bint whole) except -1:
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


cdef const Island* model_island(ModelStepper self, int row) noexcept nogil:
    return &self.shared.islands.at[self.shared.islands.of[row]]


cdef void model_velocity(ModelStepper self, const double* q, const double* p, double* out) noexcept nogil:
    # M v = p + Dh^T nu with Dh v = 0 and prescribed rates
    cdef const vt_model* m = self.shared.m
    cdef Holonomic* held = &self.lane.held
    if m.nlocked:
        lock_rates(self, 0)
        rnea(m, NO_GRAVITY, q, self.shared.zeros, self.lane.prescribed.v, self.lane.bodies.inertial,
             self.lane.bodies.rnea)
        respond(self, q, p, self.lane.prescribed.v, out)
    else:
        accelerate(self, NO_GRAVITY, q, self.shared.zeros, p, NULL, out)
    if self.shared.count and not self.shared.geared:
        constrain_at(self, q, held.h, held.Dh1, held.hold1)
        memset(held.h, 0, self.shared.count * sizeof(double))
        reach(self, held.Dh1, held.h, out)
