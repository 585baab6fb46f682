# Steps of order 2 s by Gauss collocation (methods/gauss.pxi has the equations). The unknowns are the velocities V of
# the stages. A pass: Q from V; F = dL/dq and forces, Pi = dL/dv; P from the balance of F; r = P - Pi; V += M^-1 r with
# stored factors. Momentum is exact at any tolerance, because it follows from the balance alone. For a floating tree,
# momenta are relative to its centre of mass.

cdef double CORRECTS_BADLY = 0.3        # a contraction above it requires new factors
cdef double STAGNATES = 1e-10           # below it, WORSE consecutive passes without improvement end a step
cdef double FLOOR = 1e-13               # below it, one does
cdef double WHOLE = 1e-6                # least fraction of the kinetic energy beside that of the whole's translation
cdef double LOST = 1e6                  # an error from which passes do not recover
cdef double ROUNDED_OFF = 256 * 2.3e-16    # changes of a configuration that are rounding errors, in rad and lengths

cdef double UNRESOLVED = 0.1            # with an eta above it the step is too long for the motion

cdef enum:
    TURN_ROUNDS = 2         # rounds of the charts in a pass
    GUESS_ROUNDS = 4        # and in a guess
    WORSE = 3
    WAYS = 5                # extrapolations of the stages: through half of the last step's, all, and more than that
    ONE_BACK = 1            # the second uses one step


cdef struct Extrapolation:  # kept: the history of the current step
    int steps                   # previous steps of this length: none, one, or two and more
    int way                     # that would have predicted the last step best


cdef struct GaussState:
    GaussKernels* kernels
    GaussStep stages
    double* c                      # (stages,)
    double* b
    double* d
    double* m                      # (stages, stages)
    double* last                   # (stages,) weights of the last Legendre coefficient
    double* D1                     # (stages,) factors of h and h^2 for dampers and springs in the operator
    double* D2
    double* hb
    double* hd
    double* hA
    double* q_start                # (nq,) the state at the start of the step, or of a part of it
    double* x_start                # (nv,)
    double* p_start                # (nv,) its momentum according to the balance
    double* p_end
    double* spin                   # (nmulti, 3) angular momenta in body axes at the start of the step
    double* start                  # (nbody, 3) for floating trees the vector to the centre of mass at the start
    GaussBody* whole               # (nbody,) rotations and first moments of a configuration
    double* gathered               # (nq,) that configuration
    double* V_last                 # (2 nv, lanes) of the previous step, and of the one before
    double* F_last
    double* E                      # (WAYS, 2 stages, lanes), and of the last stage (WAYS, 2 stages)
    double* E_end
    Extrapolation* past
    double* stage_q                # (nq,), (nv,), (nv,) state of a stage for loads, and the forces there
    double* stage_v
    double* stage_force
    double* spring                 # (nv,) stiffness of springs of joints
    double* length                 # (nv,) [m, or 1 for angles] scale of displacements
    int* unit                      # (nv,) whether a displacement is a length
    Resolution* resolved           # of the run so far, and of the parts of the current step
    Resolution resolving
    long stages_steps
    double* stages_out             # (steps, nv, stages) the polynomials of steps, or NULL
    bint staged                    # forces are evaluated stage by stage
    bint placed                    # and some act on bodies
    bint pushed                    # there may be forces at the root of a floating tree
    bint stiff                     # forces of joints are in the factors
    bint follows                   # the previous step has the same length
    bint halves                    # and was halved
    int most                       # passes
    int halvings


cdef int make_gauss(ModelStepper self, dict options) except -1:
    cdef int lanes = options["lanes"], max_iterations = options.get("max_iterations", 40)
    cdef int halvings = options.get("max_halvings", 3)
    cdef size_t kernels = options["kernels"]
    cdef double tolerance = options.get("tolerance", 1e-11)
    nodes, stiff = options["nodes"], options["stiff"]
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_model* m = self.shared.m
    cdef int i, j, n = len(nodes[0])
    self.gauss.kernels = <GaussKernels*>kernels
    if self.gauss.kernels.layout != gauss_offered.layout:
        raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
    if not 0 < n <= lanes or lanes % self.gauss.kernels.lanes or len(stiff[0]) != n:
        raise ValueError(f"{n} stages in {lanes} lanes, {self.gauss.kernels.lanes} at a time: no such step")
    self.shared.choices.tolerance, self.gauss.most, self.gauss.halvings = tolerance, max_iterations, halvings
    x.m, x.stages, x.lanes = m, n, lanes
    self.motion_rows = n + 1
    take_nodes(self, nodes, stiff)
    take_model(self)
    x.hb, x.hd, x.hA = self.gauss.hb, self.gauss.hd, self.gauss.hA
    self.gauss.q_start, self.gauss.x_start = self.memory.scratch_reals(m.nq), self.memory.scratch_reals(m.nv)
    self.gauss.p_start, self.gauss.p_end = self.memory.scratch_reals(m.nv), self.memory.scratch_reals(m.nv)
    self.gauss.spin = self.memory.scratch_reals(3 * m.nmulti)
    self.gauss.whole = <GaussBody*>self.memory.scratch(m.nbody * sizeof(GaussBody))
    self.gauss.start, self.gauss.gathered = self.memory.scratch_reals(3 * m.nbody), self.memory.scratch_reals(m.nq)
    x.start = self.gauss.start
    x.q, x.p, x.q2, x.p2 = self.gauss.q_start, self.gauss.p_start, self.lane.state.q2, self.gauss.p_end
    self.gauss.V_last = self.memory.kept_reals(2 * m.nv * lanes)
    self.gauss.F_last = self.memory.kept_reals(2 * m.nv * lanes)
    self.gauss.past = <Extrapolation*>self.memory.kept(sizeof(Extrapolation))
    self.memory.bound_int(&self.gauss.past.steps, 0, 2)
    self.memory.bound_int(&self.gauss.past.way, 0, WAYS - 1)
    x.V_last, x.F_last = self.gauss.V_last, self.gauss.F_last
    x.Q, x.V, x.F = gauss_rows(self, m.nq), gauss_rows(self, m.nv), gauss_rows(self, m.nv)
    x.P, x.Pi, x.dV, x.r = gauss_rows(self, m.nv), gauss_rows(self, m.nv), gauss_rows(self, m.nv), gauss_rows(self, m.nv)
    x.mixing.d, x.mixing.r = gauss_rows(self, PAIRS * m.nv), gauss_rows(self, PAIRS * m.nv)
    x.mixing.s, x.mixing.u = gauss_rows(self, PAIRS * m.nv), gauss_rows(self, m.nv)
    x.mixing.last_d, x.mixing.last_r = gauss_rows(self, m.nv), gauss_rows(self, m.nv)
    x.Z, x.C, x.f = gauss_rows(self, 3 * m.nmulti), gauss_rows(self, 3 * m.nmulti), gauss_rows(self, 3 * m.nmulti)
    x.mu, x.n = gauss_rows(self, 3 * m.nmulti), gauss_rows(self, 3 * m.nmulti)
    x.extra = gauss_rows(self, m.nv) if self.gauss.stiff else NULL
    x.norm, x.room = gauss_rows(self, 2), gauss_rows(self, m.nq + 2 * m.nv)
    x.turn = <GaussTurn*>self.memory.scratch(m.nmulti * sizeof(GaussTurn))
    x.body = <GaussBody*>self.memory.scratch(m.nbody * lanes * sizeof(GaussBody))
    x.inertia = <GaussInertia*>self.memory.scratch(m.nbody * lanes * sizeof(GaussInertia))
    x.factor = <GaussFactor*>self.memory.scratch(m.nbody * lanes * sizeof(GaussFactor))
    x.multi = <GaussMulti*>self.memory.scratch(m.nmulti * lanes * sizeof(GaussMulti))
    self.gauss.stage_q, self.gauss.stage_v = self.memory.scratch_reals(m.nq), self.memory.scratch_reals(m.nv)
    self.gauss.stage_force = self.memory.scratch_reals(m.nv)
    self.lane.newton.v = self.memory.scratch_reals(m.nv)
    self.lane.progress = progress_make(self.memory)
    self.gauss.resolved = <Resolution*>self.memory.kept(sizeof(Resolution))
    resolution_bounds(self.gauss.resolved, self.memory)
    return 0


cdef double* gauss_rows(ModelStepper self, Py_ssize_t n) except NULL:
    return self.memory.scratch_reals(n * self.gauss.stages.lanes)


cdef int take_nodes(ModelStepper self, nodes, stiff) except -1:
    cdef GaussStep* x = &self.gauss.stages
    cdef int i, j, way, at, n = x.stages
    cdef double* share = self.memory.given_reals(x.lanes)
    self.gauss.c, self.gauss.b, self.gauss.d = (self.memory.given_reals(n), self.memory.given_reals(n),
                                                self.memory.given_reals(n))
    self.gauss.D1, self.gauss.D2 = self.memory.given_reals(n), self.memory.given_reals(n)
    self.gauss.last = self.memory.given_reals(n)
    self.gauss.m = self.memory.given_reals(n * n)
    self.gauss.hb, self.gauss.hd = self.memory.scratch_reals(n), self.memory.scratch_reals(n)
    self.gauss.hA = self.memory.scratch_reals(n * x.lanes)
    self.gauss.E = self.memory.given_reals(WAYS * 2 * n * x.lanes)
    self.gauss.E_end = self.memory.given_reals(WAYS * 2 * n)
    x.share = share
    for i in range(n):
        self.gauss.c[i], self.gauss.b[i], self.gauss.d[i] = nodes[0][i], nodes[1][i], nodes[3][i]
        self.gauss.D1[i], self.gauss.D2[i], self.gauss.last[i] = stiff[0][i], stiff[1][i], nodes[5][i]
        for j in range(n):
            self.gauss.m[i * n + j] = nodes[2][i][j]
    for i in range(x.lanes):
        at = min(i, n - 1)
        share[i] = 1.0 - self.gauss.d[at] / self.gauss.b[at]
        for way in range(WAYS):
            for j in range(2 * n):
                self.gauss.E[(way * 2 * n + j) * x.lanes + i] = self.gauss.E_end[way * 2 * n + j] = nodes[4][way][at][j]
    return 0


cdef int take_model(ModelStepper self) except -1:
    # masses of subtrees, lengths, and which forces there are
    cdef const vt_model* m = self.shared.m
    cdef double* below = self.memory.given_reals(m.nbody)
    cdef int* line_q = <int*>self.memory.given(m.nv * sizeof(int))
    cdef int* line_v = <int*>self.memory.given(m.nv * sizeof(int))
    cdef const vt_load* e
    cdef int* root = <int*>self.memory.given(m.nbody * sizeof(int))
    cdef int* floats = <int*>self.memory.given(m.nbody * sizeof(int))
    cdef double* relative = self.memory.given_reals(m.nv)
    cdef double size = 0.0
    cdef int i, k
    self.gauss.stages.below, self.gauss.stages.root, self.gauss.stages.floats = below, root, floats
    self.gauss.stages.relative = relative
    for i in range(m.nbody):
        root[i] = root[m.body[i].parent] if m.body[i].parent >= 0 else i if joint_floats(&m.body[i]) else -1
        for k in range(m.body[i].nv):
            relative[m.body[i].iv + k] = 0.0 if root[i] == i and k < 3 else 1.0
        if root[i] == i:
            floats[self.gauss.stages.floating] = i
            self.gauss.stages.floating += 1
    for i in range(m.nbody - 1, -1, -1):
        below[i] += m.body[i].mass
        if m.body[i].parent >= 0:
            below[m.body[i].parent] += below[i]
        for k in range(3):
            size = max(size, fabs(m.body[i].p[k]), fabs(m.body[i].com[k]))
    self.gauss.length = self.memory.given_reals(m.nv)
    self.gauss.spring = self.memory.given_reals(m.nv)
    self.gauss.unit = <int*>self.memory.given(m.nv * sizeof(int))
    self.gauss.stages.line_q, self.gauss.stages.line_v = line_q, line_v
    for i in range(m.nbody):
        for k in range(straight(&m.body[i])):
            line_q[self.gauss.stages.lines], line_v[self.gauss.stages.lines] = m.body[i].iq + k, m.body[i].iv + k
            self.gauss.stages.lines += 1
        for k in range(m.body[i].nv):
            self.gauss.unit[m.body[i].iv + k] = k < straight(&m.body[i]) and m.body[i].kind != REVOLUTE
            self.gauss.length[m.body[i].iv + k] = size if self.gauss.unit[m.body[i].iv + k] else 1.0
    self.gauss.placed = self.shared.user_rests or self.shared.user_moves
    for k in range(self.shared.nload):
        e = &self.shared.load[k]
        if e.kind == JOINT_SPRING:
            self.gauss.spring[e.iv] += max(e.factor, 0.0)
            self.gauss.stiff = True
        elif e.kind != JOINT_FORCE and e.kind != JOINT_TABLE:
            self.gauss.placed = True
    self.gauss.stiff = self.gauss.stiff or m.damped or m.rubbing or self.shared.ndrive > 0
    self.gauss.staged = model_loaded(self) or self.shared.ndrive > 0 or self.shared.schedule.calls_user
    return 0


cdef void gauss_begin(ModelStepper self) noexcept nogil:
    memset(self.lane.progress, 0, sizeof(Progress))
    memset(self.gauss.resolved, 0, sizeof(Resolution))
    self.on_impulse()


cdef void gauss_on_impulse(ModelStepper self) noexcept nogil:
    self.gauss.past.steps = 0


# ---- the state in the parent's axes ----------------------------------------------------------------


cdef void take_momentum(ModelStepper self, const double* q, const double* p, double* to) noexcept nogil:
    # to (nv,): for ball and free joints R p, and for a free joint x x p in addition. For floating trees, the part
    # relative to the motion of the whole, p - S^T (h x U, m U), and for their roots the momentum m U of the whole and R
    # p_w
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef Mat3 R
    cdef Vec3 N
    cdef int i
    memcpy(to, p, self.nv * sizeof(double))
    gauss_gather_at(self, q)
    for i in range(x.floating):
        store3(self.gauss.start + 3 * x.floats[i], gauss_way(self, x.floats[i]))
    for i in range(x.m.nbody):
        b = &x.m.body[i]
        if joint_multi(b):
            R = quat_matrix(load_quat(q + b.iq + turn_at(b)))
            if joint_floats(b):
                store3(to + b.iv, mul(R, load3(p + b.iv)))
        if x.root[i] >= 0:
            add_whole(self, i, -1.0, to)
        if joint_multi(b):
            N = load3(to + b.iv + turn_at(b))
            store3(self.gauss.spin + 3 * b.multi, N)
            N = mul(R, N)
            if joint_floats(b) and b.parent >= 0:
                N = add(N, cross(load3(q + b.iq), load3(to + b.iv)))
            store3(to + b.iv + turn_at(b), N)


cdef void give_momentum(ModelStepper self, const double* q, const double* p, double* to) noexcept nogil:
    # its inverse; floating trees are collected at q
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef Mat3 R
    cdef Vec3 N
    cdef int i
    memcpy(to, p, self.nv * sizeof(double))
    for i in range(x.m.nbody):
        b = &x.m.body[i]
        if joint_multi(b):
            R = quat_matrix(load_quat(q + b.iq + turn_at(b)))
            N = load3(p + b.iv + turn_at(b))
            if joint_floats(b) and b.parent >= 0:
                N = sub(N, cross(load3(q + b.iq), load3(p + b.iv)))
            store3(to + b.iv + turn_at(b), tmul(R, N))
        if x.root[i] >= 0:
            add_whole(self, i, 1.0, to)
        if joint_floats(b):
            store3(to + b.iv, tmul(R, load3(to + b.iv)))


cdef void gauss_gather_at(ModelStepper self, const double* q) noexcept nogil:
    # rotations and first moments of floating trees
    cdef GaussStep* x = &self.gauss.stages
    if x.floating and memcmp(q, self.gauss.gathered, self.nq * sizeof(double)):
        gauss_gather(x.m, x.below, q, self.gauss.whole)
        memcpy(self.gauss.gathered, q, self.nq * sizeof(double))


cdef Vec3 gauss_way(ModelStepper self, int root) noexcept nogil:
    # R h/m, from x to the centre of mass, in the axes E
    cdef GaussStep* x = &self.gauss.stages
    cdef const GaussBody* s = &self.gauss.whole[root]
    return scale(1.0 / x.below[root], tmul(constant_rotation(x.m.body[root].E), mul(s.R, s.h)))


cdef void add_whole(ModelStepper self, int i, double sign, double* to) noexcept nogil:
    # to += sign S^T (h x U, m U) of a body after its parent; to has the momentum of the whole of a root
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b = &x.m.body[i]
    cdef GaussBody* s = &self.gauss.whole[i]
    if b.parent < 0:
        s.g = tmul(s.R, mul(constant_rotation(b.E), scale(sign / x.below[i], load3(to + b.iv))))
    else:
        s.g = tmul(s.R, self.gauss.whole[b.parent].g)
    gauss_add_field(b, s, x.below[i], to + b.iv, 1)


cdef void place_roots(ModelStepper self, double* q2) noexcept nogil:
    # x1 = X0 + h sum b_j P_j/m - R1 h1/m
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef Vec3 moved
    cdef int i, k
    gauss_gather_at(self, q2)
    for k in range(x.floating):
        i = x.floats[k]
        b = &x.m.body[i]
        moved = scale(1.0 / x.below[i], gauss_sum3(x, x.hb, x.P + b.iv * x.lanes))
        store3(q2 + b.iq, add(load3(x.q + b.iq), add(moved, sub(load3(x.start + 3 * i), gauss_way(self, i)))))
        memcpy(self.gauss.gathered + b.iq, q2 + b.iq, 3 * sizeof(double))


cdef void take_stage(ModelStepper self, int i) noexcept nogil:
    # stage_q and stage_v: the i-th stage as a state of the model
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef int k
    for k in range(self.nq):
        self.gauss.stage_q[k] = x.Q[k * x.lanes + i]
    for k in range(self.nv):
        self.gauss.stage_v[k] = x.V[k * x.lanes + i]
    if x.m.nmulti:
        for k in range(x.m.nbody):
            b = &x.m.body[k]
            if joint_floats(b):
                store3(self.gauss.stage_v + b.iv, tmul(quat_matrix(load_quat(self.gauss.stage_q + b.iq + 3)),
                                                 load3(self.gauss.stage_v + b.iv)))


# ---- forces ----------------------------------------------------------------------------------------


cdef bint root_forces(ModelStepper self, const double* of) noexcept nogil:
    # whether a linear coordinate of a root has any
    cdef int i, k
    for i in range(self.gauss.stages.floating):
        for k in range(3):
            if of[self.gauss.stages.m.body[self.gauss.stages.floats[i]].iv + k] != 0.0:
                return True
    return False


cdef int find_forces(ModelStepper self, double t) noexcept nogil:
    # F and Pi of the stages
    cdef int status
    self.gauss.kernels.sweep(&self.gauss.stages)
    if self.gauss.staged:
        status = gauss_push(self, t)
        if status != OK:
            return status
    if self.gauss.pushed:
        self.gauss.kernels.share(&self.gauss.stages)
    return OK


cdef int gauss_push(ModelStepper self, double t) noexcept nogil:
    # F += joint forces, drives and loads at the stages
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef double* f = self.gauss.stage_force
    cdef double at
    cdef int i, j, k
    for i in range(x.stages):
        take_stage(self, i)
        at = t + self.gauss.c[i] * x.h
        if self.shared.schedule.calls_user and self.ask(at, self.gauss.stage_q, self.gauss.stage_v) != OK:
            return self.lane.now.cause
        memcpy(f, self.lane.drive.tau, self.nv * sizeof(double))
        if self.shared.ndrive:
            add_drives(self.shared.drive, self.shared.ndrive, self.gauss.stage_q, self.gauss.stage_v, self.lane.drive.u, f)
        if model_loaded(self):
            if self.gauss.placed:
                place_bodies(self, self.gauss.stage_q, self.gauss.stage_v)
            apply_to_bodies(self, RESTING | RATES, at, self.gauss.stage_q, self.gauss.stage_v)
            if self.gauss.placed:
                project_wrenches(self, f)
            vt_add_row(self.nv, 1.0, self.lane.bodies.load_force, f)
            if self.lane.now.cause == CALLBACK_FAILED:
                return CALLBACK_FAILED
        if x.m.nmulti:
            for k in range(x.m.nbody):
                b = &x.m.body[k]
                if joint_floats(b):
                    store3(f + b.iv, mul(quat_matrix(load_quat(self.gauss.stage_q + b.iq + 3)), load3(f + b.iv)))
        for k in range(self.nv):
            x.F[k * x.lanes + i] += f[k]
    for k in range(self.nv):
        for j in range(x.stages, x.lanes):
            x.F[k * x.lanes + j] = x.F[k * x.lanes + x.stages - 1]
    return OK


cdef void stiffen(ModelStepper self) noexcept nogil:
    # extra = h D1 (damping and slopes of friction) + h^2 D2 (springs): with them, V += (M + extra)^-1 r converges at
    # any stiffness (van der Houwen & Sommeijer 1991)
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_model* m = x.m
    cdef const vt_drive* d
    cdef DriveAt at
    cdef int i, k, stage
    cdef double v
    for i in range(x.lanes):
        stage = min(i, x.stages - 1)
        for k in range(self.nv):
            v = m.damping[k]
            if m.friction[k] != 0.0:
                v += friction_coefficient(m, k, x.V[k * x.lanes + i])
            x.extra[k * x.lanes + i] = x.h * (self.gauss.D1[stage] * v + x.h * self.gauss.D2[stage] * self.gauss.spring[k])
        for k in range(self.shared.ndrive):
            d = &self.shared.drive[k]
            at = drive_at(d, x.Q[d.iq * x.lanes + i], x.V[d.iv * x.lanes + i], self.lane.drive.u)
            x.extra[d.iv * x.lanes + i] += x.h * (self.gauss.D1[stage] * max(at.by_rate, 0.0)
                                                  + x.h * self.gauss.D2[stage] * max(at.by_position, 0.0))


cdef void lock_stages(ModelStepper self, bint rates) noexcept nogil:
    # the prescribed coordinates of the stages, and their rates if requested
    cdef GaussStep* x = &self.gauss.stages
    cdef int i, k, stage
    for i in range(x.lanes if x.m.nlocked else 0):
        stage = min(i, x.stages - 1) + 1
        if rates:
            lock_rates(self, stage)
        for k in range(x.m.nlocked):
            x.Q[self.shared.locked[k].iq * x.lanes + i] = locked_at(self, k, stage)
            if rates:
                x.V[self.shared.locked[k].iv * x.lanes + i] = self.lane.prescribed.v[self.shared.locked[k].iv]


# ---- a step ----------------------------------------------------------------------------------------


cdef int gauss_step(ModelStepper self) noexcept nogil:
    # from the extrapolated stages, from constant velocities, or in halves
    cdef State* at = &self.lane.state
    cdef long inner
    cdef int status
    memcpy(self.gauss.q_start, at.q, self.nq * sizeof(double))
    memcpy(self.gauss.x_start, at.x, self.nv * sizeof(double))
    self.gauss.halves = False
    memset(&self.gauss.resolving, 0, sizeof(Resolution))
    self.gauss.follows = self.gauss.past.steps > 0 and self.lane.clock.h_last == self.lane.now.h
    status = gauss_solve_part(self, self.lane.clock.t, self.lane.now.h, self.gauss.follows)
    if gauss_may_halve(self, status) and self.gauss.halvings:
        self.gauss.halves = True
        inner = self.inner_log.count
        status = gauss_halve(self, self.lane.clock.t, self.lane.now.h, self.gauss.halvings)
        if status != OK:
            self.inner_log.count = inner
    return status


cdef bint gauss_may_halve(ModelStepper self, int status) noexcept nogil:
    # prescribed motion is known at the stages of whole steps only
    return (unsolved(status) or status == NOT_FINITE) and not self.shared.m.nlocked


cdef int gauss_halve(ModelStepper self, double t, double h, int times) noexcept nogil:
    cdef int k, status = OK
    for k in range(2):
        status = gauss_solve_part(self, t + 0.5 * k * h, 0.5 * h, False)
        if gauss_may_halve(self, status) and times > 1:
            status = gauss_halve(self, t + 0.5 * k * h, 0.5 * h, times - 1)
        if status != OK:
            return status
        if k == 0:
            memcpy(self.gauss.q_start, self.lane.state.q2, self.nq * sizeof(double))
            memcpy(self.gauss.x_start, self.lane.state.x2, self.nv * sizeof(double))
            self.log_inner(t + 0.5 * h, self.gauss.q_start, self.gauss.x_start)
    return OK


cdef int gauss_solve_part(ModelStepper self, double t, double h, bint follows) noexcept nogil:
    # the state (q2, x2) a time h after that of the start; follows: the previous step has the same length
    cdef GaussStep* x = &self.gauss.stages
    cdef int i, j, status, n = x.stages
    x.h = h
    x.tau = NULL if self.gauss.staged else self.lane.drive.tau
    self.gauss.pushed = x.floating > 0 and (
        self.gauss.staged or root_forces(self, x.tau) or root_forces(self, x.m.damping))
    x.moments = self.gauss.pushed
    for j in range(n):
        self.gauss.hb[j], self.gauss.hd[j] = h * self.gauss.b[j], h * self.gauss.d[j]
        for i in range(x.lanes):
            self.gauss.hA[j * x.lanes + i] = self.gauss.m[min(i, n - 1) * n + j] * self.gauss.hb[j]
    take_momentum(self, self.gauss.q_start, self.gauss.x_start, self.gauss.p_start)
    if follows:
        self.lane.now.cause = OK
        status = gauss_guess(self, t, True)
        if status == OK:
            status = gauss_iterate(self, t)
        if status == OK or status == CALLBACK_FAILED:
            return gauss_finish(self, status)
    self.lane.now.cause = OK
    status = gauss_guess(self, t, False)
    if status == OK:
        status = gauss_iterate(self, t)
    return gauss_finish(self, status)


cdef int gauss_finish(ModelStepper self, int status) noexcept nogil:
    # (q2, x2); prescribed coordinates have the momentum of their motion
    cdef double* p = self.lane.state.x2
    cdef double* v = self.lane.newton.v
    cdef int k
    if status == CALLBACK_FAILED:
        return status
    self.lane.now.cause = OK
    if status != OK:
        return status
    gauss_end(&self.gauss.stages)
    lock_node(self, self.rows_each())
    place_roots(self, self.lane.state.q2)
    give_momentum(self, self.lane.state.q2, self.gauss.p_end, p)
    if self.shared.m.nlocked:
        velocity_by_row(self, self.rows_each(), self.lane.state.q2, p, v)
        rnea(self.shared.m, NO_GRAVITY, self.lane.state.q2, self.shared.zeros, v, self.lane.bodies.inertial,
             self.lane.bodies.rnea)
        copy_locked(self, self.lane.bodies.inertial, p)
    if not (bounded(self.lane.state.q2, self.nq) and bounded(p, self.nv)):
        return NOT_FINITE
    resolution_add(&self.gauss.resolving, &self.gauss.stages, self.gauss.last, self.gauss.length, self.gauss.unit,
                       self.lane.clock.t)
    return OK


cdef void velocity_by_row(ModelStepper self, int ahead, const double* q, const double* p, double* out) noexcept nogil:
    # M v = p with the prescribed rates of a row after the first
    cdef long first = self.lane.now.first_row
    self.lane.now.first_row += ahead
    model_velocity(self, q, p, out)
    self.lane.now.first_row = first


cdef int gauss_guess(ModelStepper self, double t, bint follows) noexcept nogil:
    # V, Q and P of the stages: extrapolated, or with the velocity of the start
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef double* v = self.lane.newton.v
    cdef int i, j, k, at
    memset(x.Z, 0, 3 * x.m.nmulti * x.lanes * sizeof(double))
    for i in range(x.m.nbody):
        b = &x.m.body[i]
        if joint_multi(b):
            for k in range(3):
                for j in range(x.lanes):
                    x.mu[(3 * b.multi + k) * x.lanes + j] = self.gauss.spin[3 * b.multi + k]
    if follows:
        x.far = self.gauss.past.steps > 1 and self.gauss.past.way > ONE_BACK
        x.E = <const vt_real*>self.gauss.E + 2 * x.stages * x.lanes * (
            self.gauss.past.way if self.gauss.past.steps > 1 else ONE_BACK)
        self.gauss.kernels.extrapolate(x)
    else:
        model_velocity(self, self.gauss.q_start, self.gauss.x_start, v)
        for i in range(x.m.nbody):
            b = &x.m.body[i]
            if joint_floats(b):
                store3(v + b.iv, mul(quat_matrix(load_quat(self.gauss.q_start + b.iq + 3)), load3(v + b.iv)))
        for k in range(self.nv):
            for j in range(x.lanes):
                x.V[k * x.lanes + j] = v[k]
    lock_stages(self, True)
    self.gauss.kernels.place(x, GUESS_ROUNDS)
    lock_stages(self, False)
    if not follows:
        for i in range(x.floating):
            for k in range(x.m.body[x.floats[i]].iv, x.m.body[x.floats[i]].iv + 3):
                for j in range(x.lanes):
                    x.P[k * x.lanes + j] = self.gauss.p_start[k]
        at = find_forces(self, t)
        if at != OK:
            return at
    self.gauss.kernels.balance(x, GUESS_ROUNDS)
    return OK


cdef int gauss_iterate(ModelStepper self, double t) noexcept nogil:
    cdef GaussStep* x = &self.gauss.stages
    cdef Now* now = self.lane.now
    cdef double e, before = INFINITY, best = INFINITY
    cdef int k, status, worse = 0, factors = 0
    cdef bint done
    for k in range(self.gauss.most):
        if not factors or e > before or (factors == 1 and e > CORRECTS_BADLY * before):
            renew_factors(self, not factors)
            factors += 1
        if k:
            before = e
        status = find_forces(self, t)
        if status != OK:
            return status
        self.gauss.kernels.balance(x, TURN_ROUNDS)
        self.gauss.kernels.correct(x)
        self.lane.progress.residuals += 1
        self.lane.progress.solves += 1
        e = gauss_change(self)
        now.iterations += 1
        now.error, now.contraction = e, e / before
        if not e <= LOST:
            return NOT_CONVERGED if isfinite(e) else NOT_FINITE
        worse = worse + 1 if e >= best else 0
        best = min(e, best)
        done = (e <= self.shared.choices.tolerance or (e < STAGNATES and worse >= WORSE) or (e < FLOOR and worse)
                or (e >= 0.5 * before and rounds(self)))
        if not done:
            self.gauss.kernels.combine(x)
        self.gauss.kernels.place(x, TURN_ROUNDS)
        lock_stages(self, False)
        if done:
            return OK
    return NOT_CONVERGED


cdef void renew_factors(ModelStepper self, bint first) noexcept nogil:
    # at the current stages; if they contain no forces of joints, the first ones yield V = M^-1 P
    if self.gauss.stiff:
        stiffen(self)
    self.gauss.kernels.factor(&self.gauss.stages)
    self.lane.progress.factorisations += 1
    self.gauss.stages.mixing.count = self.gauss.stages.mixing.next = self.gauss.stages.mixing.known = 0
    if first and not self.gauss.stiff and not self.shared.m.nlocked:
        self.gauss.kernels.solve(&self.gauss.stages)
        self.gauss.kernels.place(&self.gauss.stages, TURN_ROUNDS)


cdef double gauss_change(ModelStepper self) noexcept nogil:
    # sqrt(max |r.dV| / max |P.V|): of the velocities, in the norm of the kinetic energy; NaN if any is. For floating
    # trees it is that of the motion about the centre of mass, so that the joints of a falling robot are resolved
    cdef GaussStep* x = &self.gauss.stages
    cdef double most = largest(x.norm, x.lanes), size = 0.0, relative, whole, P
    cdef int i, j, k
    for i in range(x.lanes):
        relative = fabs(x.norm[x.lanes + i])
        whole = relative
        for j in range(x.floating):
            for k in range(3):
                P = x.P[(x.m.body[x.floats[j]].iv + k) * x.lanes + i]
                whole += P * P / x.below[x.floats[j]]
        size = vt_max_nan(size, vt_max_nan(relative, WHOLE * whole))
    return 0.0 if most == 0.0 else vt_sqrt(most / size)


cdef bint rounds(ModelStepper self) noexcept nogil:
    # whether the last pass changed no coordinate by more than rounding errors
    cdef GaussStep* x = &self.gauss.stages
    cdef int k
    for k in range(self.nv):
        if not x.h * largest(x.dV + k * x.lanes, x.lanes) <= ROUNDED_OFF * self.gauss.length[k]:
            return False
    return True


cdef void gauss_accept(ModelStepper self) noexcept nogil:
    model_accept(self)
    gauss_remember(self)
    note_polynomial(self)
    if self.gauss.halves:
        note_halves(self)


cdef void gauss_remember(ModelStepper self) noexcept nogil:
    # the stages for guesses, and the guess that would have predicted the last stage's velocities best
    cdef GaussStep* x = &self.gauss.stages
    cdef int way, k, n = x.stages, last = n - 1
    cdef Py_ssize_t all = self.nv * x.lanes
    cdef const double* E
    cdef const double* V
    cdef double off, least = INFINITY
    cdef double[WAYS] total
    if self.gauss.halves:
        self.gauss.past.steps = 0
        return
    self.gauss.past.way = ONE_BACK
    if self.gauss.follows and self.gauss.past.steps > 1:
        memset(total, 0, WAYS * sizeof(double))
        for k in range(self.nv):
            V = self.gauss.V_last + k * x.lanes
            for way in range(WAYS):
                E = self.gauss.E_end + way * 2 * n
                off = vt_inner(n, E + n, V) - x.V[k * x.lanes + last]
                if way > ONE_BACK:
                    off += vt_inner(n, E, V + all)
                off /= self.gauss.length[k]
                total[way] += off * off
        for way in range(WAYS):
            if total[way] < least:
                self.gauss.past.way, least = way, total[way]
    memcpy(self.gauss.V_last + all, self.gauss.V_last, all * sizeof(double))
    memcpy(self.gauss.F_last + all, self.gauss.F_last, all * sizeof(double))
    memcpy(self.gauss.V_last, x.V, all * sizeof(double))
    memcpy(self.gauss.F_last, x.F, all * sizeof(double))
    self.gauss.past.steps = min(self.gauss.past.steps + 1, 2) if self.gauss.follows else 1


cdef void note_polynomial(ModelStepper self) noexcept nogil:
    # the resolution of the step, and its polynomial if that is stored
    cdef int unit
    cdef double eta
    resolution_join(self.gauss.resolved, &self.gauss.resolving)
    eta = resolution_eta(self.gauss.resolved, self.gauss.resolving.last, &unit)
    self.lane.now.estimate = eta * eta
    if self.gauss.stages_out != NULL and self.lane.clock.steps - self.shared.schedule.begun < self.gauss.stages_steps:
        keep_polynomial(self, self.lane.clock.steps - self.shared.schedule.begun)


cdef void keep_polynomial(ModelStepper self, long step) noexcept nogil:
    # V of the stages, for rotations the rates of the chart; NaN for a step that was taken in parts
    cdef GaussStep* x = &self.gauss.stages
    cdef const vt_body* b
    cdef const vt_real* rates
    cdef Schedule* plan = &self.shared.schedule
    cdef bint whole = not self.gauss.halves and self.lane.now.h == (plan.span if plan.spans == NULL else plan.spans[step])
    cdef double* to
    cdef int i, j, k
    for i in range(x.m.nbody):
        b = &x.m.body[i]
        for k in range(b.nv):
            to = self.gauss.stages_out + (step * self.nv + b.iv + k) * x.stages
            rates = x.V + (b.iv + k) * x.lanes
            if joint_multi(b) and k >= turn_at(b):
                rates = x.C + (3 * b.multi + k - turn_at(b)) * x.lanes
            for j in range(x.stages):
                to[j] = rates[j] if whole else NAN


# ---- data for integrators --------------------------------------------------------------------------
