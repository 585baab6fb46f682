# Steps of order 2 s by Gauss collocation (methods/gauss.pxi has the equations). The unknowns are the velocities V of the
# stages. A pass: Q from V; F = dL/dq and forces, Pi = dL/dv; P from the balance of F; r = P - Pi; V += M^-1 r by factors
# that are kept. Momentum is exact at any tolerance, as the balance alone says it. Of a tree that floats, momenta are
# relative to its centre of mass.

cdef double CORRECTS_BADLY = 0.3        # a contraction above it asks for new factors
cdef double STAGNATES = 1e-10           # below it WORSE passes one after the other that are no better end a step
cdef double FLOOR = 1e-13               # below it one does
cdef double WHOLE = 1e-6                # least share of the kinetic energy that is not that of the whole's translation
cdef double LOST = 1e6                  # an error that no pass comes back from
cdef double ROUNDED_OFF = 256 * 2.3e-16    # changes of a configuration that are rounding errors, in rad and lengths

cdef double UNRESOLVED = 0.1            # an eta above it: the step is too long for the motion

cdef enum:
    TURN_ROUNDS = 2         # rounds of the charts in a pass
    GUESS_ROUNDS = 4        # and of a guess
    WORSE = 3
    PAIRS = 3               # passes that the next correction is made of
    WAYS = 5                # ways to extrapolate the stages: through half of the last step's, all, and more than that
    ONE_BACK = 1            # the second uses one step


cdef struct Mixing:         # Anderson's: corrections d and residuals r = M d of passes that V came to by u
    int count               # of pairs: changes of d and r from pass to pass, and of V + d, orthogonal in M
    int next                # to be replaced
    bint known              # a pass lies behind
    double size[PAIRS]      # d.r
    double* d               # (PAIRS, n)
    double* r
    double* s
    double* last_d          # (n,) of the pass before
    double* last_r
    double* u


cdef void mix(Mixing* x, Py_ssize_t n, const double* d, const double* r, double* V) noexcept nogil:
    # V, which has d added, becomes the point to which the passes so far point: that with the least correction in the norm
    # of M (Anderson 1965; Walker & Ni 2011)
    cdef int k
    cdef double share, size
    cdef double* new_d = x.d + x.next * n
    cdef double* new_r = x.r + x.next * n
    cdef double* new_s = x.s + x.next * n
    cdef Py_ssize_t i
    if x.known:
        for i in range(n):
            new_d[i] = d[i] - x.last_d[i]
            new_r[i] = r[i] - x.last_r[i]
            new_s[i] = x.u[i] + new_d[i]
        x.size[x.next] = 0.0
        size = vt_inner(n, new_d, new_r)
        for k in range(x.count):
            if x.size[k] > 0.0:
                share = -vt_inner(n, x.r + k * n, new_d) / x.size[k]
                vt_add_row(n, share, x.d + k * n, new_d)
                vt_add_row(n, share, x.r + k * n, new_r)
                vt_add_row(n, share, x.s + k * n, new_s)
        share = vt_inner(n, new_d, new_r)
        if share > 1e-10 * size:
            x.size[x.next] = share
            x.count = max(x.count, x.next + 1)
            x.next = (x.next + 1) % PAIRS
    memcpy(x.last_d, d, n * sizeof(double))
    memcpy(x.last_r, r, n * sizeof(double))
    memcpy(x.u, d, n * sizeof(double))
    x.known = True
    for k in range(x.count):
        if x.size[k] > 0.0:
            share = -vt_inner(n, x.d + k * n, r) / x.size[k]
            vt_add_row(n, share, x.s + k * n, x.u)
            vt_add_row(n, share, x.s + k * n, V)


cdef struct Extrapolation:  # kept: what lies behind the step at hand
    int steps                   # of its length: none, one, or two and more
    int way                     # that would have met the last step best


cdef class GaussStepper(ModelStepper):
    """Gauss collocation: ``nodes`` is (c, b, m, d, E, last) of the stages, a_ij = m_ij b_j; ``stiff`` (D1, D2) of theirs.

    ``kernels`` is what ``stages_abreast`` of a module returned whose lanes divide ``lanes``, the stages with copies of
    the last one.
    """

    cdef GaussKernels* kernels
    cdef GaussStep stages
    cdef double* c                      # (stages,)
    cdef double* b
    cdef double* d
    cdef double* m                      # (stages, stages)
    cdef double* last                   # (stages,) what the last of Legendre's coefficients is made of
    cdef double* D1                     # (stages,) shares of h and h^2 by which dampers and springs are in the factors
    cdef double* D2
    cdef double* hb
    cdef double* hd
    cdef double* hA
    cdef double* q_start                # (nq,) the state where the step starts, or a part of it
    cdef double* x_start                # (nv,)
    cdef double* p_start                # (nv,) its momentum as the balance has it
    cdef double* p_end
    cdef double* spin                   # (nmulti, 3) momenta of turns in the body's axes where the step starts
    cdef double* start                  # (nbody, 3) of trees that float the way to the centre of mass at the start
    cdef GaussBody* whole               # (nbody,) turns and first moments of a configuration
    cdef double* gathered               # (nq,) which one
    cdef double* V_last                 # (2 nv, lanes) of the step before, and of that before it
    cdef double* F_last
    cdef double* E                      # (WAYS, 2 stages, lanes), and of the last stage (WAYS, 2 stages)
    cdef double* E_end
    cdef Extrapolation* past
    cdef double* stage_q                # (nq,), (nv,), (nv,) a stage as loads see it, and the forces there
    cdef double* stage_v
    cdef double* stage_force
    cdef double* spring                 # (nv,) stiffness of springs of joints
    cdef double* length                 # (nv,) [m, or 1 of angles] what displacements are compared with
    cdef int* unit                      # (nv,) whether a displacement is a length
    cdef Resolution* resolved           # of the run so far, and of the parts of the step at hand
    cdef Resolution resolving
    cdef object stages_owner
    cdef long stages_steps
    cdef double* stages_out             # (steps, nv, stages) the polynomials of steps, or NULL
    cdef Mixing mixing
    cdef bint staged                    # forces are asked for stage by stage
    cdef bint placed                    # and some act on bodies
    cdef bint pushed                    # there may be forces at the root of a tree that floats
    cdef bint stiff                     # forces of joints are in the factors
    cdef bint follows                   # a step of the same length lies before the step at hand
    cdef bint halves                    # which was taken in halves
    cdef int most                       # passes
    cdef int halvings
    cdef readonly double tolerance

    def __init__(self, *args, nodes, stiff, int lanes, size_t kernels, double tolerance=1e-11, int max_iterations=40,
                 int halvings=3, **options):
        cdef GaussStep* x = &self.stages
        cdef const vt_model* m = self.shared.m
        cdef int i, j, n = len(nodes[0])
        self.kernels = <GaussKernels*>kernels
        if self.kernels.layout != gauss_offered.layout:
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        if not 0 < n <= lanes or lanes % self.kernels.lanes or len(stiff[0]) != n:
            raise ValueError(f"{n} stages in {lanes} lanes, {self.kernels.lanes} at a time: no such step")
        self.tolerance, self.most, self.halvings = tolerance, max_iterations, halvings
        x.m, x.stages, x.lanes = m, n, lanes
        self.take_nodes(nodes, stiff)
        self.take_model()
        x.hb, x.hd, x.hA = self.hb, self.hd, self.hA
        self.q_start, self.x_start = self.memory.scratch_reals(m.nq), self.memory.scratch_reals(m.nv)
        self.p_start, self.p_end = self.memory.scratch_reals(m.nv), self.memory.scratch_reals(m.nv)
        self.spin = self.memory.scratch_reals(3 * m.nmulti)
        self.whole = <GaussBody*>self.memory.scratch(m.nbody * sizeof(GaussBody))
        self.start, self.gathered = self.memory.scratch_reals(3 * m.nbody), self.memory.scratch_reals(m.nq)
        x.start = self.start
        x.q, x.p, x.q2, x.p2 = self.q_start, self.p_start, self.lane.state.q2, self.p_end
        self.V_last, self.F_last = self.memory.kept_reals(2 * m.nv * lanes), self.memory.kept_reals(2 * m.nv * lanes)
        self.past = <Extrapolation*>self.memory.kept(sizeof(Extrapolation))
        self.memory.bound_int(&self.past.steps, 0, 2)
        self.memory.bound_int(&self.past.way, 0, WAYS - 1)
        x.V_last, x.F_last = self.V_last, self.F_last
        x.Q, x.V, x.F = self.rows(m.nq), self.rows(m.nv), self.rows(m.nv)
        x.P, x.Pi, x.dV, x.r = self.rows(m.nv), self.rows(m.nv), self.rows(m.nv), self.rows(m.nv)
        self.mixing.d, self.mixing.r = self.rows(PAIRS * m.nv), self.rows(PAIRS * m.nv)
        self.mixing.s, self.mixing.u = self.rows(PAIRS * m.nv), self.rows(m.nv)
        self.mixing.last_d, self.mixing.last_r = self.rows(m.nv), self.rows(m.nv)
        x.Z, x.C, x.f = self.rows(3 * m.nmulti), self.rows(3 * m.nmulti), self.rows(3 * m.nmulti)
        x.mu, x.n = self.rows(3 * m.nmulti), self.rows(3 * m.nmulti)
        x.extra = self.rows(m.nv) if self.stiff else NULL
        x.norm, x.room = self.rows(2), self.rows(m.nq + 2 * m.nv)
        x.turn = <GaussTurn*>self.memory.scratch(m.nmulti * sizeof(GaussTurn))
        x.body = <GaussBody*>self.memory.scratch(m.nbody * lanes * sizeof(GaussBody))
        x.inertia = <GaussInertia*>self.memory.scratch(m.nbody * lanes * sizeof(GaussInertia))
        x.factor = <GaussFactor*>self.memory.scratch(m.nbody * lanes * sizeof(GaussFactor))
        x.multi = <GaussMulti*>self.memory.scratch(m.nmulti * lanes * sizeof(GaussMulti))
        self.stage_q, self.stage_v = self.memory.scratch_reals(m.nq), self.memory.scratch_reals(m.nv)
        self.stage_force = self.memory.scratch_reals(m.nv)
        self.lane.newton.v = self.memory.scratch_reals(m.nv)
        self.lane.progress = progress_make(self.memory)
        self.resolved = <Resolution*>self.memory.kept(sizeof(Resolution))
        resolution_bounds(self.resolved, self.memory)

    cdef double* rows(self, Py_ssize_t n) except NULL:
        return self.memory.scratch_reals(n * self.stages.lanes)

    cdef int take_nodes(self, nodes, stiff) except -1:
        cdef GaussStep* x = &self.stages
        cdef int i, j, way, at, n = x.stages
        cdef double* share = self.memory.given_reals(x.lanes)
        self.c, self.b, self.d = (self.memory.given_reals(n), self.memory.given_reals(n), self.memory.given_reals(n))
        self.D1, self.D2 = self.memory.given_reals(n), self.memory.given_reals(n)
        self.last = self.memory.given_reals(n)
        self.m = self.memory.given_reals(n * n)
        self.hb, self.hd = self.memory.scratch_reals(n), self.memory.scratch_reals(n)
        self.hA = self.memory.scratch_reals(n * x.lanes)
        self.E = self.memory.given_reals(WAYS * 2 * n * x.lanes)
        self.E_end = self.memory.given_reals(WAYS * 2 * n)
        x.share = share
        for i in range(n):
            self.c[i], self.b[i], self.d[i] = nodes[0][i], nodes[1][i], nodes[3][i]
            self.D1[i], self.D2[i], self.last[i] = stiff[0][i], stiff[1][i], nodes[5][i]
            for j in range(n):
                self.m[i * n + j] = nodes[2][i][j]
        for i in range(x.lanes):
            at = min(i, n - 1)
            share[i] = 1.0 - self.d[at] / self.b[at]
            for way in range(WAYS):
                for j in range(2 * n):
                    self.E[(way * 2 * n + j) * x.lanes + i] = self.E_end[way * 2 * n + j] = nodes[4][way][at][j]
        return 0

    cdef int take_model(self) except -1:
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
        self.stages.below, self.stages.root, self.stages.floats = below, root, floats
        self.stages.relative = relative
        for i in range(m.nbody):
            root[i] = root[m.body[i].parent] if m.body[i].parent >= 0 else i if joint_floats(&m.body[i]) else -1
            for k in range(m.body[i].nv):
                relative[m.body[i].iv + k] = 0.0 if root[i] == i and k < 3 else 1.0
            if root[i] == i:
                floats[self.stages.floating] = i
                self.stages.floating += 1
        for i in range(m.nbody - 1, -1, -1):
            below[i] += m.body[i].mass
            if m.body[i].parent >= 0:
                below[m.body[i].parent] += below[i]
            for k in range(3):
                size = max(size, fabs(m.body[i].p[k]), fabs(m.body[i].com[k]))
        self.length = self.memory.given_reals(m.nv)
        self.spring = self.memory.given_reals(m.nv)
        self.unit = <int*>self.memory.given(m.nv * sizeof(int))
        self.stages.line_q, self.stages.line_v = line_q, line_v
        for i in range(m.nbody):
            for k in range(straight(&m.body[i])):
                line_q[self.stages.lines], line_v[self.stages.lines] = m.body[i].iq + k, m.body[i].iv + k
                self.stages.lines += 1
            for k in range(m.body[i].nv):
                self.unit[m.body[i].iv + k] = k < straight(&m.body[i]) and m.body[i].kind != REVOLUTE
                self.length[m.body[i].iv + k] = size if self.unit[m.body[i].iv + k] else 1.0
        self.placed = self.shared.user_rests or self.shared.user_moves
        for k in range(self.shared.nload):
            e = &self.shared.load[k]
            if e.kind == JOINT_SPRING:
                self.spring[e.iv] += max(e.factor, 0.0)
                self.stiff = True
            elif e.kind != JOINT_FORCE and e.kind != JOINT_TABLE:
                self.placed = True
        self.stiff = self.stiff or m.damped or m.rubbing or self.shared.ndrive > 0
        self.staged = self.loaded() or self.shared.ndrive > 0 or self.shared.schedule.calls_user
        return 0

    cdef int rows_each(self) noexcept nogil:
        return self.stages.stages + 1

    cdef void begin(self) noexcept nogil:
        memset(self.lane.progress, 0, sizeof(Progress))
        memset(self.resolved, 0, sizeof(Resolution))
        self.struck()

    cdef void struck(self) noexcept nogil:
        self.past.steps = 0

    # ---- the state in the parent's axes ----------------------------------------------------------------

    cdef void take_momentum(self, const double* q, const double* p, double* to) noexcept nogil:
        # to (nv,): of ball and free joints R p, and with it of a free joint x x p. Of trees that float, what is relative to
        # the motion of the whole, p - S^T (h x U, m U), and of their roots the momentum m U of the whole and R p_w
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b
        cdef Mat3 R
        cdef Vec3 N
        cdef int i
        memcpy(to, p, self.nv * sizeof(double))
        self.gather(q)
        for i in range(x.floating):
            store3(self.start + 3 * x.floats[i], self.way(x.floats[i]))
        for i in range(x.m.nbody):
            b = &x.m.body[i]
            if joint_multi(b):
                R = quat_matrix(load_quat(q + b.iq + turn_at(b)))
                if joint_floats(b):
                    store3(to + b.iv, mul(R, load3(p + b.iv)))
            if x.root[i] >= 0:
                self.add_whole(i, -1.0, to)
            if joint_multi(b):
                N = load3(to + b.iv + turn_at(b))
                store3(self.spin + 3 * b.multi, N)
                N = mul(R, N)
                if joint_floats(b) and b.parent >= 0:
                    N = add(N, cross(load3(q + b.iq), load3(to + b.iv)))
                store3(to + b.iv + turn_at(b), N)

    cdef void give_momentum(self, const double* q, const double* p, double* to) noexcept nogil:
        # its inverse; trees that float are gathered at q
        cdef GaussStep* x = &self.stages
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
                self.add_whole(i, 1.0, to)
            if joint_floats(b):
                store3(to + b.iv, tmul(R, load3(to + b.iv)))

    cdef void gather(self, const double* q) noexcept nogil:
        # turns and first moments of trees that float
        cdef GaussStep* x = &self.stages
        if x.floating and memcmp(q, self.gathered, self.nq * sizeof(double)):
            gauss_gather(x.m, x.below, q, self.whole)
            memcpy(self.gathered, q, self.nq * sizeof(double))

    cdef Vec3 way(self, int root) noexcept nogil:
        # R h/m, from x to the centre of mass, in the axes E
        cdef GaussStep* x = &self.stages
        cdef const GaussBody* s = &self.whole[root]
        return scale(1.0 / x.below[root], tmul(constant_rotation(x.m.body[root].E), mul(s.R, s.h)))

    cdef void add_whole(self, int i, double sign, double* to) noexcept nogil:
        # to += sign S^T (h x U, m U) of a body behind its parent; to has the momentum of the whole of a root
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b = &x.m.body[i]
        cdef GaussBody* s = &self.whole[i]
        if b.parent < 0:
            s.g = tmul(s.R, mul(constant_rotation(b.E), scale(sign / x.below[i], load3(to + b.iv))))
        else:
            s.g = tmul(s.R, self.whole[b.parent].g)
        gauss_add_field(b, s, x.below[i], to + b.iv, 1)

    cdef void place_roots(self, double* q2) noexcept nogil:
        # x1 = X0 + h sum b_j P_j/m - R1 h1/m
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b
        cdef Vec3 moved
        cdef int i, k
        self.gather(q2)
        for k in range(x.floating):
            i = x.floats[k]
            b = &x.m.body[i]
            moved = scale(1.0 / x.below[i], gauss_sum3(x, x.hb, x.P + b.iv * x.lanes))
            store3(q2 + b.iq, add(load3(x.q + b.iq), add(moved, sub(load3(x.start + 3 * i), self.way(i)))))
            memcpy(self.gathered + b.iq, q2 + b.iq, 3 * sizeof(double))

    cdef void take_stage(self, int i) noexcept nogil:
        # stage_q and stage_v: the i-th stage as the model has states
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b
        cdef int k
        for k in range(self.nq):
            self.stage_q[k] = x.Q[k * x.lanes + i]
        for k in range(self.nv):
            self.stage_v[k] = x.V[k * x.lanes + i]
        if x.m.nmulti:
            for k in range(x.m.nbody):
                b = &x.m.body[k]
                if joint_floats(b):
                    store3(self.stage_v + b.iv, tmul(quat_matrix(load_quat(self.stage_q + b.iq + 3)),
                                                     load3(self.stage_v + b.iv)))

    # ---- forces ----------------------------------------------------------------------------------------

    cdef bint root_forces(self, const double* of) noexcept nogil:
        # whether a linear coordinate of a root has any
        cdef int i, k
        for i in range(self.stages.floating):
            for k in range(3):
                if of[self.stages.m.body[self.stages.floats[i]].iv + k] != 0.0:
                    return True
        return False

    cdef int find_forces(self, double t) noexcept nogil:
        # F and Pi of the stages
        cdef int status
        self.kernels.sweep(&self.stages)
        if self.staged:
            status = self.push(t)
            if status != OK:
                return status
        if self.pushed:
            self.kernels.share(&self.stages)
        return OK

    cdef int push(self, double t) noexcept nogil:
        # F += joint forces, drives and loads at the stages
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b
        cdef double* f = self.stage_force
        cdef double at
        cdef int i, j, k
        for i in range(x.stages):
            self.take_stage(i)
            at = t + self.c[i] * x.h
            if self.shared.schedule.calls_user and self.ask(at, self.stage_q, self.stage_v) != OK:
                return self.lane.now.cause
            memcpy(f, self.lane.drive.tau, self.nv * sizeof(double))
            if self.shared.ndrive:
                add_drives(self.shared.drive, self.shared.ndrive, self.stage_q, self.stage_v, self.lane.drive.u, f)
            if self.loaded():
                if self.placed:
                    self.place_bodies(self.stage_q, self.stage_v)
                self.apply_to_bodies(RESTING | RATES, at, self.stage_q, self.stage_v)
                if self.placed:
                    self.project_wrenches(f)
                vt_add_row(self.nv, 1.0, self.lane.bodies.load_force, f)
                if self.lane.now.cause == CALLBACK_FAILED:
                    return CALLBACK_FAILED
            if x.m.nmulti:
                for k in range(x.m.nbody):
                    b = &x.m.body[k]
                    if joint_floats(b):
                        store3(f + b.iv, mul(quat_matrix(load_quat(self.stage_q + b.iq + 3)), load3(f + b.iv)))
            for k in range(self.nv):
                x.F[k * x.lanes + i] += f[k]
        for k in range(self.nv):
            for j in range(x.stages, x.lanes):
                x.F[k * x.lanes + j] = x.F[k * x.lanes + x.stages - 1]
        return OK

    cdef void stiffen(self) noexcept nogil:
        # extra = h D1 (damping and slopes of friction) + h^2 D2 (springs): with them, V += (M + extra)^-1 r contracts
        # at any stiffness (van der Houwen & Sommeijer 1991)
        cdef GaussStep* x = &self.stages
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
                x.extra[k * x.lanes + i] = x.h * (self.D1[stage] * v + x.h * self.D2[stage] * self.spring[k])
            for k in range(self.shared.ndrive):
                d = &self.shared.drive[k]
                at = drive_at(d, x.Q[d.iq * x.lanes + i], x.V[d.iv * x.lanes + i], self.lane.drive.u)
                x.extra[d.iv * x.lanes + i] += x.h * (self.D1[stage] * max(at.by_rate, 0.0)
                                                      + x.h * self.D2[stage] * max(at.by_position, 0.0))

    cdef void lock_stages(self, bint rates) noexcept nogil:
        # the prescribed coordinates of the stages, and their rates if asked for
        cdef GaussStep* x = &self.stages
        cdef int i, k, stage
        for i in range(x.lanes if x.m.nlocked else 0):
            stage = min(i, x.stages - 1) + 1
            if rates:
                self.lock_rates(stage)
            for k in range(x.m.nlocked):
                x.Q[self.shared.locked[k].iq * x.lanes + i] = self.locked_at(k, stage)
                if rates:
                    x.V[self.shared.locked[k].iv * x.lanes + i] = self.lane.prescribed.v[self.shared.locked[k].iv]

    # ---- a step ----------------------------------------------------------------------------------------

    cdef int step(self) noexcept nogil:
        # from the stages extrapolated, from constant velocities, or in halves
        cdef State* at = &self.lane.state
        cdef long inner
        cdef int status
        memcpy(self.q_start, at.q, self.nq * sizeof(double))
        memcpy(self.x_start, at.x, self.nv * sizeof(double))
        self.halves = False
        memset(&self.resolving, 0, sizeof(Resolution))
        self.follows = self.past.steps > 0 and self.lane.clock.h_last == self.lane.now.h
        status = self.solve(self.lane.clock.t, self.lane.now.h, self.follows)
        if self.may_halve(status) and self.halvings:
            self.halves = True
            inner = self.inner_log.count
            status = self.halve(self.lane.clock.t, self.lane.now.h, self.halvings)
            if status != OK:
                self.inner_log.count = inner
        return status

    cdef bint may_halve(self, int status) noexcept nogil:
        # prescribed motion is known at the stages of whole steps only
        return (unsolved(status) or status == NOT_FINITE) and not self.shared.m.nlocked

    cdef int halve(self, double t, double h, int times) noexcept nogil:
        cdef int k, status = OK
        for k in range(2):
            status = self.solve(t + 0.5 * k * h, 0.5 * h, False)
            if self.may_halve(status) and times > 1:
                status = self.halve(t + 0.5 * k * h, 0.5 * h, times - 1)
            if status != OK:
                return status
            if k == 0:
                memcpy(self.q_start, self.lane.state.q2, self.nq * sizeof(double))
                memcpy(self.x_start, self.lane.state.x2, self.nv * sizeof(double))
                self.log_inner(t + 0.5 * h, self.q_start, self.x_start)
        return OK

    cdef int solve(self, double t, double h, bint follows) noexcept nogil:
        # the state (q2, x2) a time h behind that of the start; follows: a step of the same length lies before
        cdef GaussStep* x = &self.stages
        cdef int i, j, status, n = x.stages
        x.h = h
        x.tau = NULL if self.staged else self.lane.drive.tau
        self.pushed = x.floating > 0 and (self.staged or self.root_forces(x.tau) or self.root_forces(x.m.damping))
        for j in range(n):
            self.hb[j], self.hd[j] = h * self.b[j], h * self.d[j]
            for i in range(x.lanes):
                self.hA[j * x.lanes + i] = self.m[min(i, n - 1) * n + j] * self.hb[j]
        self.take_momentum(self.q_start, self.x_start, self.p_start)
        if follows:
            self.lane.now.cause = OK
            status = self.guess(t, True)
            if status == OK:
                status = self.iterate(t)
            if status == OK or status == CALLBACK_FAILED:
                return self.finish(status)
        self.lane.now.cause = OK
        status = self.guess(t, False)
        if status == OK:
            status = self.iterate(t)
        return self.finish(status)

    cdef int finish(self, int status) noexcept nogil:
        # (q2, x2); of prescribed coordinates the momentum is that of their motion
        cdef double* p = self.lane.state.x2
        cdef double* v = self.lane.newton.v
        cdef int k
        if status == CALLBACK_FAILED:
            return status
        self.lane.now.cause = OK
        if status != OK:
            return status
        gauss_end(&self.stages)
        self.lock_node(self.rows_each())
        self.place_roots(self.lane.state.q2)
        self.give_momentum(self.lane.state.q2, self.p_end, p)
        if self.shared.m.nlocked:
            self.velocity_by_row(self.rows_each(), self.lane.state.q2, p, v)
            rnea(self.shared.m, NO_GRAVITY, self.lane.state.q2, self.shared.zeros, v, self.lane.bodies.inertial,
                 self.lane.bodies.rnea)
            self.copy_locked(self.lane.bodies.inertial, p)
        if not (bounded(self.lane.state.q2, self.nq) and bounded(p, self.nv)):
            return NOT_FINITE
        resolution_add(&self.resolving, &self.stages, self.last, self.length, self.unit, self.lane.clock.t)
        return OK

    cdef void velocity_by_row(self, int ahead, const double* q, const double* p, double* out) noexcept nogil:
        # M v = p with the prescribed rates of a row behind the first
        cdef long first = self.lane.now.first_row
        self.lane.now.first_row += ahead
        self.velocity(q, p, out)
        self.lane.now.first_row = first

    cdef int guess(self, double t, bint follows) noexcept nogil:
        # V, Q and P of the stages: extrapolated, or with the velocity of the start
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b
        cdef double* v = self.lane.newton.v
        cdef int i, j, k, at
        memset(x.Z, 0, 3 * x.m.nmulti * x.lanes * sizeof(double))
        for i in range(x.m.nbody):
            b = &x.m.body[i]
            if joint_multi(b):
                for k in range(3):
                    for j in range(x.lanes):
                        x.mu[(3 * b.multi + k) * x.lanes + j] = self.spin[3 * b.multi + k]
        if follows:
            x.far = self.past.steps > 1 and self.past.way > ONE_BACK
            x.E = <const vt_real*>self.E + (self.past.way if self.past.steps > 1 else ONE_BACK) * 2 * x.stages * x.lanes
            self.kernels.extrapolate(x)
        else:
            self.velocity(self.q_start, self.x_start, v)
            for i in range(x.m.nbody):
                b = &x.m.body[i]
                if joint_floats(b):
                    store3(v + b.iv, mul(quat_matrix(load_quat(self.q_start + b.iq + 3)), load3(v + b.iv)))
            for k in range(self.nv):
                for j in range(x.lanes):
                    x.V[k * x.lanes + j] = v[k]
        self.lock_stages(True)
        self.kernels.place(x, GUESS_ROUNDS)
        self.lock_stages(False)
        if not follows:
            for i in range(x.floating):
                for k in range(x.m.body[x.floats[i]].iv, x.m.body[x.floats[i]].iv + 3):
                    for j in range(x.lanes):
                        x.P[k * x.lanes + j] = self.p_start[k]
            at = self.find_forces(t)
            if at != OK:
                return at
        self.kernels.balance(x, GUESS_ROUNDS)
        return OK

    cdef int iterate(self, double t) noexcept nogil:
        cdef GaussStep* x = &self.stages
        cdef Now* now = self.lane.now
        cdef double e, before = INFINITY, best = INFINITY
        cdef int k, status, worse = 0, factors = 0
        cdef bint done
        for k in range(self.most):
            if not factors or e > before or (factors == 1 and e > CORRECTS_BADLY * before):
                self.renew_factors(not factors)
                factors += 1
            if k:
                before = e
            status = self.find_forces(t)
            if status != OK:
                return status
            self.kernels.balance(x, TURN_ROUNDS)
            self.kernels.correct(x)
            self.lane.progress.residuals += 1
            self.lane.progress.solves += 1
            e = self.change()
            now.iterations += 1
            now.error, now.contraction = e, e / before
            if not e <= LOST:
                return NOT_CONVERGED if isfinite(e) else NOT_FINITE
            worse = worse + 1 if e >= best else 0
            best = min(e, best)
            done = (e <= self.tolerance or (e < STAGNATES and worse >= WORSE) or (e < FLOOR and worse)
                    or (e >= 0.5 * before and self.rounds()))
            if not done:
                mix(&self.mixing, self.nv * x.lanes, x.dV, x.r, x.V)
            self.kernels.place(x, TURN_ROUNDS)
            self.lock_stages(False)
            if done:
                return OK
        return NOT_CONVERGED

    cdef void renew_factors(self, bint first) noexcept nogil:
        # at the stages as they are; where no forces of joints are in them, the first ones give V = M^-1 P
        if self.stiff:
            self.stiffen()
        self.kernels.factor(&self.stages)
        self.lane.progress.factorisations += 1
        self.mixing.count = self.mixing.next = self.mixing.known = 0
        if first and not self.stiff and not self.shared.m.nlocked:
            self.kernels.solve(&self.stages)
            self.kernels.place(&self.stages, TURN_ROUNDS)

    cdef double change(self) noexcept nogil:
        # sqrt(max |r.dV| / max |P.V|): of the velocities, as the kinetic energy measures them; NaN if any is. Of trees that
        # float it is that of the motion about the centre of mass, so that a falling robot's joints are not forgotten
        cdef GaussStep* x = &self.stages
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

    cdef bint rounds(self) noexcept nogil:
        # whether the last pass changed no coordinate by more than rounding errors
        cdef GaussStep* x = &self.stages
        cdef int k
        for k in range(self.nv):
            if not x.h * largest(x.dV + k * x.lanes, x.lanes) <= ROUNDED_OFF * self.length[k]:
                return False
        return True

    cdef void accept(self) noexcept nogil:
        cdef Progress* progress = self.lane.progress
        ModelStepper.accept(self)
        self.remember()
        self.note_polynomial()
        if self.halves:
            if not progress.halved:
                progress.halved_first = self.lane.clock.t
            progress.halved_last = self.lane.clock.t
            progress.halved += 1

    cdef void remember(self) noexcept nogil:
        # the stages for guesses, and which guess would have been the best one of the last stage's velocities
        cdef GaussStep* x = &self.stages
        cdef int way, k, n = x.stages, last = n - 1
        cdef Py_ssize_t all = self.nv * x.lanes
        cdef const double* E
        cdef const double* V
        cdef double off, least = INFINITY
        cdef double[WAYS] total
        if self.halves:
            self.past.steps = 0
            return
        self.past.way = ONE_BACK
        if self.follows and self.past.steps > 1:
            memset(total, 0, WAYS * sizeof(double))
            for k in range(self.nv):
                V = self.V_last + k * x.lanes
                for way in range(WAYS):
                    E = self.E_end + way * 2 * n
                    off = vt_inner(n, E + n, V) - x.V[k * x.lanes + last]
                    if way > ONE_BACK:
                        off += vt_inner(n, E, V + all)
                    off /= self.length[k]
                    total[way] += off * off
            for way in range(WAYS):
                if total[way] < least:
                    self.past.way, least = way, total[way]
        memcpy(self.V_last + all, self.V_last, all * sizeof(double))
        memcpy(self.F_last + all, self.F_last, all * sizeof(double))
        memcpy(self.V_last, x.V, all * sizeof(double))
        memcpy(self.F_last, x.F, all * sizeof(double))
        self.past.steps = min(self.past.steps + 1, 2) if self.follows else 1

    cdef void note_polynomial(self) noexcept nogil:
        # how well the step is resolved, and its polynomial if that is kept
        cdef int unit
        cdef double eta
        resolution_join(self.resolved, &self.resolving)
        eta = resolution_eta(self.resolved, self.resolving.last, &unit)
        self.lane.now.estimate = eta * eta
        if self.stages_out != NULL and self.lane.clock.steps - self.shared.schedule.begun < self.stages_steps:
            self.keep_polynomial(self.lane.clock.steps - self.shared.schedule.begun)

    cdef void keep_polynomial(self, long step) noexcept nogil:
        # V of the stages, of turns the rates of the chart; NaN of a step that was taken in parts
        cdef GaussStep* x = &self.stages
        cdef const vt_body* b
        cdef const vt_real* rates
        cdef Schedule* plan = &self.shared.schedule
        cdef bint whole = not self.halves and self.lane.now.h == (plan.span if plan.spans == NULL else plan.spans[step])
        cdef double* to
        cdef int i, j, k
        for i in range(x.m.nbody):
            b = &x.m.body[i]
            for k in range(b.nv):
                to = self.stages_out + (step * self.nv + b.iv + k) * x.stages
                rates = x.V + (b.iv + k) * x.lanes
                if joint_multi(b) and k >= turn_at(b):
                    rates = x.C + (3 * b.multi + k - turn_at(b)) * x.lanes
                for j in range(x.stages):
                    to[j] = rates[j] if whole else NAN

    # ---- what integrators ask for ----------------------------------------------------------------------

    def release(self):
        """Let go of a run."""
        self.keep_stages(None)
        ModelStepper.release(self)

    def keep_stages(self, rows):
        """Write the velocities of the stages of the steps from here on to an array (steps, nv, stages), or None."""
        cdef Turn turn = self.turn()
        cdef double[:, :, ::1] view
        self.stages_owner, self.stages_out = None, NULL
        if rows is not None and rows.size:
            view = rows
            require_size(view.shape[1], self.nv, "velocities of stages")
            require_size(view.shape[2], self.stages.stages, "stages")
            self.stages_owner, self.stages_out = rows, &view[0, 0, 0]
            self.stages_steps = view.shape[0]

    @property
    def unresolved(self):
        """When [s] the step began whose polynomial resolves the run worst, and its eta; None if all resolve it."""
        cdef int unit = 0
        cdef double eta = resolution_eta(self.resolved, self.resolved.last, &unit)
        return (self.resolved.when[unit], eta) if eta > UNRESOLVED else None

    @property
    def counts(self):
        """Passes, factorisations and solves since the state was set."""
        cdef Progress* progress = self.lane.progress
        return progress.residuals, progress.factorisations, progress.solves

    @property
    def halved(self):
        """Steps that were taken in halves."""
        return self.lane.progress.halved

    @property
    def halved_between(self):
        """Times [s] at which the first and the last of these steps began; None without one."""
        cdef Progress* progress = self.lane.progress
        return (progress.halved_first, progress.halved_last) if progress.halved else None

    @property
    def lanes_at_once(self):
        """Lanes of the module whose kernels it calls."""
        return self.kernels.lanes
