# Steps of several instances at once, an instance a lane: those of the explicit methods and of the linear-time integrator
# on models without loads, constraints, drives, contacts and prescribed motion. A lane does what the steppers of one
# instance do, operation by operation, and has their bits; what decides is in plain numbers of the lane. A lane that
# leaves the common way (a step to be halved, another branch, a state that blows up) is left to those steppers.

cdef enum:
    EULER_LANES = 0
    RUNGE_KUTTA_LANES = 1
    LINEAR_TIME_LANES = 2

cdef enum:
    MOST_LANES = 8

#: As LARGEST of the steppers
cdef double MOST_IN_LANES = 1e100
cdef double WEIGHTLESS[3]            # zeros: no gravity


cdef struct LanePlan:           # what a stepper of one instance says about its steps
    size_t layout               # of the structs that both modules know
    int kind
    const vt_model* m
    double h                    # [s]
    bint semi_implicit
    int stages                  # of a Runge-Kutta method: its tableau
    const double* a             # (stages, stages)
    const double* b             # (stages,)
    const double* share         # (stages,) of the step, of a variational method; and how it is solved: Choices
    int solver
    double tolerance
    double rounding
    const double* gain          # (nv,) or NULL
    double heaviest
    double drift[9]
    double mass
    int max_iterations
    int split
    Costs costs


cdef struct Judged:             # what a lane decides by, in a substep
    Economy economy
    Pass now
    Seen seen
    int sound                   # of the operator at hand
    bint solves                 # passes go on
    bint guesses                # by the dynamics


cdef struct LaneStage:          # of a substep
    Judged lane[MOST_LANES]
    vt_real* table              # (ORDERS + 1, nv) as Guess.table
    Gains* gains                # (nbody,)
    MultiGains* multi           # (nmulti,)


#: Lanes of a block of :class:`Lanes`
VT_LANES = VT_WIDTH


cdef inline size_t lane_layout() noexcept nogil:
    return sizeof(LanePlan) + 1000 * sizeof(vt_body)


cdef inline vt_mask where(const bint* asked) noexcept nogil:
    # a mask of lanes
    cdef vt_real x = vt_set1(1.0)
    cdef int k
    for k in range(VT_WIDTH):
        if asked[k]:
            vt_put(&x, k, -1.0)
    return vt_lt(x, vt_set1(0.0))


cdef inline vt_real largest_in_lanes(const vt_real* x, int n) noexcept nogil:
    # max |x_i|, or NaN if any is
    cdef int k
    cdef vt_real s = vt_set1(0.0)
    for k in range(n):
        s = vt_max_nan(s, vt_abs(x[k]))
    return s


cdef inline void blend(vt_mask m, const void* source, void* to, size_t size) noexcept nogil:
    # numbers of some lanes
    cdef const vt_real* x = <const vt_real*>source
    cdef vt_real* y = <vt_real*>to
    cdef size_t k
    for k in range(size // sizeof(vt_real)):
        y[k] = vt_select(m, x[k], y[k])


cdef class Lanes:
    """A block of instances, each with a state (q, x), that steps of one length advance together.

    ``address`` : of a plan, which ``owner`` keeps alive.
    """

    cdef LanePlan plan
    cdef object owner
    cdef Scratch scratch
    cdef readonly int width
    cdef readonly int count             # instances; the lanes beyond repeat the last one
    cdef readonly Py_ssize_t size       # [bytes]
    cdef int nq, nv
    cdef bint left[MOST_LANES]          # the lane left the common way
    cdef long steps                     # since the start
    cdef long taken[MOST_LANES]         # steps of a lane before it left
    cdef int corrections[MOST_LANES]    # of its last step
    cdef long total[MOST_LANES]         # of all its steps, and the most of one
    cdef int most[MOST_LANES]
    cdef double error[MOST_LANES]       # last residual of it
    cdef vt_real* q                     # the state, and the trial state
    cdef vt_real* x
    cdef vt_real* q2
    cdef vt_real* x2
    cdef vt_real* tau                   # (nv,)
    cdef vt_real* force                 # (nv,) of an acceleration
    cdef vt_real* zeros                 # (nv,)
    cdef vt_real* a                     # (nv,) acceleration
    cdef vt_real* v
    cdef vt_real* d
    cdef vt_real* y
    cdef vt_real* r
    cdef vt_real* spare
    cdef vt_real* rhs
    cdef vt_real* weight1
    cdef vt_real* weight2
    cdef vt_real* u_rate                # (stages, nv)
    cdef vt_real* v_rate
    cdef AbaBody* aba
    cdef Node* node1
    cdef Node* node2
    cdef Trial* trial
    cdef Solve* work
    cdef Gains* fresh
    cdef MultiGains* fresh_multi
    cdef LaneStage* stage
    cdef bint started                   # node1 and weight1 are those of the state

    def __cinit__(self, size_t address, owner):
        cdef const vt_model* m
        cdef int n, k, stages
        cdef Py_ssize_t reals
        self.owner, self.plan, self.width = owner, (<LanePlan*>address)[0], VT_WIDTH
        if self.plan.layout != lane_layout():
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        m, stages = self.plan.m, self.plan.stages
        n = self.nv = m.nv
        self.nq = m.nq
        reals = 2 * m.nq + 20 * (n + 1) + stages * ((ORDERS + 1) * n + 2 * n)
        self.size = ((reals + 100) * sizeof(vt_real) + m.nbody * (sizeof(AbaBody) + 2 * sizeof(Node) + sizeof(Trial)
                     + sizeof(Solve) + (stages + 1) * sizeof(Gains)) + m.nmulti * (stages + 1) * sizeof(MultiGains)
                     + stages * sizeof(LaneStage) + 64 * (40 + 4 * stages))
        self.scratch = Scratch(self.size)
        self.q, self.q2 = self.reals(m.nq), self.reals(m.nq)
        self.x, self.x2, self.tau, self.force = self.reals(n), self.reals(n), self.reals(n), self.reals(n)
        self.a, self.d, self.v, self.zeros = self.reals(n), self.reals(n), self.reals(n), self.reals(n)
        self.aba = <AbaBody*>self.scratch.take(m.nbody * sizeof(AbaBody))
        if self.plan.kind == RUNGE_KUTTA_LANES:
            self.u_rate, self.v_rate = self.reals(stages * n), self.reals(stages * n)
        if self.plan.kind != LINEAR_TIME_LANES:
            return
        self.y, self.r, self.spare, self.rhs = self.reals(n), self.reals(n), self.reals(n), self.reals(n)
        self.weight1, self.weight2 = self.reals(n), self.reals(n)
        self.node1 = <Node*>self.scratch.take(m.nbody * sizeof(Node))
        self.node2 = <Node*>self.scratch.take(m.nbody * sizeof(Node))
        self.trial = <Trial*>self.scratch.take(m.nbody * sizeof(Trial))
        self.work = <Solve*>self.scratch.take(m.nbody * sizeof(Solve))
        self.fresh = <Gains*>self.scratch.take(m.nbody * sizeof(Gains))
        self.fresh_multi = <MultiGains*>self.scratch.take(m.nmulti * sizeof(MultiGains))
        self.stage = <LaneStage*>self.scratch.take(stages * sizeof(LaneStage))
        for k in range(stages):
            self.stage[k].table = self.reals((ORDERS + 1) * n)
            self.stage[k].gains = <Gains*>self.scratch.take(m.nbody * sizeof(Gains))
            self.stage[k].multi = <MultiGains*>self.scratch.take(m.nmulti * sizeof(MultiGains))

    cdef vt_real* reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.scratch.take((count + 1) * sizeof(vt_real))

    def start(self, const double[:, ::1] q, const double[:, ::1] x, Py_ssize_t first):
        """Take states from the rows of q (n, nq) and of p or v (n, nv) from ``first`` on, as many as there are lanes."""
        cdef int i, k, s
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(x.shape[1], self.nv, "columns of p or v")
        require_size(x.shape[0], q.shape[0], "rows of p or v")
        if not 0 <= first < q.shape[0]:
            raise ValueError(f"row {first} of {q.shape[0]}")
        self.count, self.steps, self.started = <int>min(<Py_ssize_t>VT_WIDTH, q.shape[0] - first), 0, False
        gather(&q[0, 0] if self.nq else NULL, q.shape[0], self.nq, first, self.q)
        gather(&x[0, 0] if self.nv else NULL, x.shape[0], self.nv, first, self.x)
        for i in range(VT_WIDTH):
            self.left[i] = i >= self.count
            self.taken[i] = self.corrections[i] = self.total[i] = self.most[i] = 0
            self.error[i] = 0.0
        for s in range(self.plan.stages if self.plan.kind == LINEAR_TIME_LANES else 0):
            for i in range(VT_WIDTH):
                memset(&self.stage[s].lane[i], 0, sizeof(Judged))
                economy_begin(&self.stage[s].lane[i].economy)
            for k in range((ORDERS + 1) * self.nv):
                self.stage[s].table[k] = vt_set1(0.0)

    def set_torque(self, const double[:, ::1] torque, Py_ssize_t first):
        """Let joint forces (n, nv) act from here on, the rows from ``first`` on; one row acts on all."""
        require_size(torque.shape[1], self.nv, "columns of torque")
        if not (0 <= first < torque.shape[0] or torque.shape[0] == 1):
            raise ValueError(f"row {first} of {torque.shape[0]}")
        if self.nv:
            gather(&torque[0, 0], torque.shape[0], self.nv, min(first, torque.shape[0] - 1), self.tau)

    def run(self, long count, long every, torque, double[:, :, ::1] q, double[:, :, ::1] x, int[:, ::1] iterations,
            double[:, ::1] residual, Py_ssize_t first, long row):
        """Advance by ``count`` steps, and write each ``every``-th state since the start to rows from ``row`` on.

        ``torque``: None, or an array (n, rows, nv) with a row a step since the start. ``q`` (n, rows, nq), ``x``
        (n, rows, nv), ``iterations`` and ``residual`` (n, rows): the records; instances have the numbers from ``first``
        on. Returns the next row.
        """
        cdef const double[:, :, ::1] given
        cdef const double* rows = NULL
        cdef Py_ssize_t stride = 0, at, n
        cdef long k, wanted = row + (self.steps + count) // every - self.steps // every
        cdef int i
        cdef bint any_left = True
        if count < 0 or every < 1 or row < 0:
            raise ValueError(f"{count} steps, every {every} from row {row}: no such run")
        for n in (q.shape[0], x.shape[0], iterations.shape[0], residual.shape[0]):
            if n < first + self.count:
                raise ValueError(f"records of {n} instances; {first + self.count} are needed")
        for n in (q.shape[1], x.shape[1], iterations.shape[1], residual.shape[1]):
            if n < wanted:
                raise ValueError(f"{n} rows of records; {wanted} are needed")
        require_size(q.shape[2], self.nq, "columns of q")
        require_size(x.shape[2], self.nv, "columns of p or v")
        if torque is not None:
            given = torque
            require_size(given.shape[2], self.nv, "columns of torque")
            if given.shape[0] < first + self.count or given.shape[1] < self.steps + count:
                raise ValueError(f"torque of {given.shape[0]} instances and {given.shape[1]} steps")
            if self.nv:
                rows, stride = &given[first, 0, 0], given.shape[1] * given.shape[2]
        with nogil:
            for k in range(count):
                if rows != NULL:
                    for i in range(VT_WIDTH):
                        at = min(i, self.count - 1) * stride + self.steps * self.nv
                        for n in range(self.nv):
                            vt_put(&self.tau[n], i, rows[at + n])
                if any_left:
                    any_left = self.step()
                self.steps += 1
                if self.steps % every == 0:
                    for i in range(self.count):
                        if self.left[i]:
                            continue
                        for n in range(self.nq):
                            q[first + i, row, n] = vt_get(self.q[n], i)
                        for n in range(self.nv):
                            x[first + i, row, n] = vt_get(self.x[n], i)
                        iterations[first + i, row] = self.corrections[i]
                        residual[first + i, row] = self.error[i]
                    row += 1
        return row

    def done(self):
        """Of each instance: steps taken, whether it left the common way, corrections of all steps and the most of one."""
        cdef int i
        return [(self.taken[i], bool(self.left[i]), self.total[i], self.most[i]) for i in range(self.count)]

    @property
    def any_left(self):
        """Whether an instance left the common way."""
        cdef int i
        return any([self.left[i] for i in range(self.count)])

    def look(self, double[:, ::1] q, double[:, ::1] v, Py_ssize_t first):
        """Write the states to the rows of q (n, nq) and v (n, nv) from ``first`` on."""
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(v.shape[1], self.nv, "columns of v")
        if q.shape[0] < first + self.count or v.shape[0] < first + self.count:
            raise ValueError(f"{q.shape[0]} rows; {first + self.count} are needed")
        if not (self.nq and self.nv):
            return
        scatter(self.q, first + self.count, self.nq, first, &q[0, 0])
        if self.plan.kind == LINEAR_TIME_LANES:
            self.velocity(self.v)
            scatter(self.v, first + self.count, self.nv, first, &v[0, 0])
        else:
            scatter(self.x, first + self.count, self.nv, first, &v[0, 0])

    # ---- a step ------------------------------------------------------------------------------------------

    cdef bint step(self) noexcept nogil:
        # of all lanes; whether any goes on
        cdef int i
        cdef bint goes_on = False
        for i in range(VT_WIDTH):
            self.corrections[i] = 0
        if self.plan.kind == LINEAR_TIME_LANES:
            self.linear_time()
        else:
            if self.plan.kind == EULER_LANES:
                self.euler()
            else:
                self.runge_kutta()
            self.check()
            self.accept()
        for i in range(VT_WIDTH):
            if not self.left[i]:
                goes_on = True
                self.taken[i] += 1
                self.total[i] += self.corrections[i]
                self.most[i] = max(self.most[i], self.corrections[i])
        return goes_on

    cdef void check(self) noexcept nogil:
        # lanes whose trial state is not finite leave
        cdef int i
        cdef vt_real size = vt_max_nan(largest_in_lanes(self.q2, self.nq), largest_in_lanes(self.x2, self.nv))
        for i in range(VT_WIDTH):
            if not vt_get(size, i) <= MOST_IN_LANES:
                self.left[i] = True

    cdef void accept(self) noexcept nogil:
        self.q, self.q2 = self.q2, self.q
        self.x, self.x2 = self.x2, self.x

    cdef void acceleration(self, const vt_real* q, const vt_real* v, vt_real* out) noexcept nogil:
        # M a = tau - damping v - friction - c(q, v) - gravity
        cdef const vt_model* m = self.plan.m
        cdef int k
        for k in range(self.nv):
            self.force[k] = self.tau[k] - m.damping[k] * v[k]
        if m.rubbing:
            add_friction(m, 1.0, v, -1.0, self.force)
        aba(m, m.g, q, v, self.force, NULL, out, self.aba)

    cdef void velocity(self, vt_real* out) noexcept nogil:
        # M v = p
        aba(self.plan.m, WEIGHTLESS, self.q, self.zeros, self.x, NULL, out, self.aba)

    cdef void euler(self) noexcept nogil:
        # v2 = v + h a(q, v), q2 = q (+) h v or q (+) h v2
        cdef vt_real* v = self.x2 if self.plan.semi_implicit else self.x
        cdef double h = self.plan.h
        cdef int k
        self.acceleration(self.q, self.x, self.a)
        for k in range(self.nv):
            self.x2[k] = self.x[k] + h * self.a[k]
        for k in range(self.nv):
            self.d[k] = h * v[k]
        integrate(self.plan.m, self.q, self.d, self.q2)

    cdef void sum_stages(self, const double* weight, int count) noexcept nogil:
        # u = h sum w_j u'_j, v = v_1 + h sum w_j v'_j, and the configuration q2 = q (+) u
        cdef int j, k
        cdef double w
        for k in range(self.nv):
            self.d[k] = vt_set1(0.0)
            self.x2[k] = self.x[k]
        for j in range(count):
            if weight[j] != 0.0:
                w = self.plan.h * weight[j]
                for k in range(self.nv):
                    self.d[k] = self.d[k] + w * self.u_rate[j * self.nv + k]
                    self.x2[k] = self.x2[k] + w * self.v_rate[j * self.nv + k]
        integrate(self.plan.m, self.q, self.d, self.q2)

    cdef void runge_kutta(self) noexcept nogil:
        # u' = dlog_{-u} v, v' = a(q (+) u, v)
        cdef int i, n = self.plan.stages
        for i in range(n):
            self.sum_stages(self.plan.a + i * n, i)
            exponential_rate(self.plan.m, self.d, self.x2, self.u_rate + i * self.nv)
            self.acceleration(self.q2, self.x2, self.v_rate + i * self.nv)
        self.sum_stages(self.plan.b, n)

    # ---- linear-time: as variational.pxi and linear_time.pxi ---------------------------------------------

    cdef void linear_time(self) noexcept nogil:
        # the substeps of a step
        cdef int s, i, k, spent[MOST_LANES]
        cdef double error[MOST_LANES]
        for i in range(VT_WIDTH):
            spent[i], error[i] = 0, 0.0
        for s in range(self.plan.stages):
            self.substep(&self.stage[s], self.plan.share[s] * self.plan.h)
            for i in range(VT_WIDTH):
                spent[i] += self.corrections[i]
                error[i] = max(error[i], self.error[i])
        for i in range(VT_WIDTH):
            self.corrections[i], self.error[i] = spent[i], error[i]

    cdef void set_kernel(self, LinearTimeStep* kernel, LaneStage* at, double h) noexcept nogil:
        kernel.m, kernel.h, kernel.node, kernel.increment = self.plan.m, h, self.node1, self.y
        kernel.trial, kernel.solve, kernel.gains, kernel.multi = self.trial, self.work, at.gains, at.multi
        kernel.split, kernel.slope = self.plan.split, NULL

    cdef void substep(self, LaneStage* at, double h) noexcept nogil:
        cdef const vt_model* m = self.plan.m
        cdef LinearTimeStep kernel
        cdef int i, k
        cdef bint dynamics = False, learns[MOST_LANES]
        cdef Judged* x
        cdef vt_mask learning
        self.set_kernel(&kernel, at, h)
        # node 1, and rhs = p1 + (h/2) (weight at node 1 + joint forces)
        if not self.started:
            lt_node(m, self.q, self.plan.split, self.node1)
            lt_weight(m, self.node1, NULL, self.work, self.weight1)
            self.started = True
        for k in range(self.nv):
            self.rhs[k] = self.x[k] + 0.5 * h * (self.weight1[k] + self.tau[k])
        # the first guess: extrapolated, or by the dynamics
        for i in range(VT_WIDTH):
            x = &at.lane[i]
            self.corrections[i] = 0
            x.solves, x.guesses = not self.left[i], x.seen.count < 4
            dynamics = dynamics or x.solves and x.guesses
            x.economy.age += 1
        self.extrapolate(at)
        if dynamics:
            self.guess(&kernel, at)
        self.iterate(&kernel, at)
        # node 2: q2 = q1 (+) y, p2 = momentum at node 2 + (h/2) (weight at node 2 + joint forces) - r
        lt_advance_q(m, self.q, self.y, self.q2)
        lt_node(m, self.q2, self.plan.split, self.node2)
        lt_weight(m, self.node2, NULL, self.work, self.weight2)
        for k in range(self.nv):
            self.d[k] = self.weight2[k] + self.tau[k]
        lt_end(&kernel, self.node2, self.r, self.d, self.x2)
        self.check()
        # what steps to come guess by: increments as they would be if solved further
        for i in range(VT_WIDTH):
            x = &at.lane[i]
            learns[i] = (not self.left[i] and self.plan.solver == AUTO and x.economy.have
                         and self.error[i] > 0.03 * self.plan.tolerance * x.now.scale)
        learning = where(learns)
        if vt_any(learning):
            lt_solve(&kernel, self.r, 0, m.nbody, self.d)
            for k in range(self.nv):
                self.y[k] = vt_select(learning, self.y[k] + self.d[k], self.y[k])
        self.learn(at)
        self.node1, self.node2 = self.node2, self.node1
        self.weight1, self.weight2 = self.weight2, self.weight1
        self.accept()

    cdef void extrapolate(self, LaneStage* at) noexcept nogil:
        # y = the sum of the backward differences below the order, which a lane has of its own
        cdef int i, j, k, order[MOST_LANES]
        cdef bint takes[MOST_LANES]
        cdef vt_mask some
        for i in range(VT_WIDTH):
            order[i] = seen_order(&at.lane[i].seen)
        memcpy(self.y, at.table, self.nv * sizeof(vt_real))
        for j in range(1, ORDERS):
            for i in range(VT_WIDTH):
                takes[i] = j < order[i]
            some = where(takes)
            if not vt_any(some):
                return
            for k in range(self.nv):
                self.y[k] = vt_select(some, self.y[k] + at.table[j * self.nv + k], self.y[k])

    cdef void learn(self, LaneStage* at) noexcept nogil:
        # the new backward differences: the j-th is what order j would have been wrong by
        cdef int i, j, k, known[MOST_LANES]
        cdef bint takes[MOST_LANES]
        cdef vt_mask some
        cdef vt_real d, e, worst
        cdef vt_real* row
        for i in range(VT_WIDTH):
            known[i] = <int>min(at.lane[i].seen.count, <long>ORDERS)
        memcpy(self.spare, self.y, self.nv * sizeof(vt_real))
        for j in range(ORDERS + 1):
            for i in range(VT_WIDTH):
                takes[i] = j <= known[i]
            some = where(takes)
            if not vt_any(some):
                break
            row = at.table + j * self.nv
            worst = vt_set1(0.0)
            for k in range(self.nv):
                d = self.spare[k]
                e = d - row[k]
                row[k] = vt_select(some, d, row[k])
                self.spare[k] = vt_select(some, e, self.spare[k])
                worst = vt_max_nan(worst, vt_abs(e))
            for i in range(VT_WIDTH):
                if takes[i]:
                    seen_note(&at.lane[i].seen, j, vt_get(worst, i))
        for i in range(VT_WIDTH):
            at.lane[i].seen.count += 1

    cdef void by_dynamics(self, double h, vt_real* y) noexcept nogil:
        # y = h v + (h^2/2) a, M v = p; (v, a) stay
        cdef int k
        self.velocity(self.v)
        self.acceleration(self.q, self.v, self.a)
        for k in range(self.nv):
            y[k] = h * self.v[k]
            y[k] = y[k] + 0.5 * h * h * self.a[k]
        lt_straighten(self.plan.m, y)

    cdef void guess(self, LinearTimeStep* kernel, LaneStage* at) noexcept nogil:
        # y by the dynamics, of the lanes that ask for it; no motion where that is better, if forces are solved for
        cdef const vt_model* m = self.plan.m
        cdef bint asks[MOST_LANES]
        cdef bint rests[MOST_LANES]
        cdef vt_mask some
        cdef vt_real moving, still
        cdef int i, k
        for i in range(VT_WIDTH):
            asks[i] = at.lane[i].guesses
        some = where(asks)
        self.by_dynamics(kernel.h, self.d)
        for k in range(self.nv):
            self.y[k] = vt_select(some, self.d[k], self.y[k])
        if not (m.damped or m.rubbing):
            return
        moving = self.residual(kernel, at)
        memcpy(self.spare, self.y, self.nv * sizeof(vt_real))
        for k in range(self.nv):
            self.y[k] = vt_select(some, vt_set1(0.0), self.y[k])
        still = self.residual(kernel, at)
        for i in range(VT_WIDTH):
            rests[i] = asks[i] and not (not vt_get(still, i) < vt_get(moving, i) and isfinite(vt_get(moving, i)))
        some = where(rests)
        for k in range(self.nv):
            self.y[k] = vt_select(some, self.y[k], self.spare[k])

    cdef vt_real residual(self, LinearTimeStep* kernel, LaneStage* at) noexcept nogil:
        # r at y, and its size: infinite where the step is not valid
        cdef vt_real least, e, size
        cdef int i, k
        cdef double one
        lt_trial(kernel, &least)
        lt_residual(kernel, self.rhs, self.r)
        e = largest_in_lanes(self.r, self.nv)
        size = e
        if self.plan.gain != NULL:
            size = vt_set1(0.0)
            for k in range(self.nv):
                size = vt_max_nan(size, self.plan.gain[k] * vt_abs(self.r[k]))
        for i in range(VT_WIDTH):
            one = vt_get(e, i)
            at.lane[i].now.turned = isfinite(one) and not vt_get(least, i) > 0.0
            if not (vt_get(least, i) > 0.0 and isfinite(one)):
                vt_put(&size, i, INFINITY)
        return size

    cdef vt_real scale_of(self, double h) noexcept nogil:
        # what the residual is compared with
        cdef const LanePlan* c = &self.plan
        cdef const vt_model* m = c.m
        cdef vt_real size = vt_set1(0.0), inverse = vt_set1(1.0 / h)
        cdef Vec3 P = zero3(), common
        cdef int i, k
        if c.gain == NULL:
            # max(|p1|, (h/2) |weight|, (h/2) |force|)
            size = vt_max_nan(largest_in_lanes(self.weight1, self.nv), largest_in_lanes(self.tau, self.nv))
            return vt_max_nan(largest_in_lanes(self.x, self.nv), 0.5 * fabs(h) * size)
        # sqrt(2 T M_max), with T of the frame in which the robot as a whole rests, and the impulses
        for i in range(m.nbody):
            if m.body[i].inert:
                size = size + (dot(self.trial[i].f, self.trial[i].p) + dot(self.trial[i].g, self.trial[i].w))
                P = add(P, self.trial[i].f)
        P = scale(inverse, P)
        if m.rotors:
            for i in range(self.nv):
                size = size + m.armature[i] * self.y[i] * self.y[i]
        size = size * inverse * inverse
        common = vec3(c.drift[0] * P.x + c.drift[1] * P.y + c.drift[2] * P.z,
                      c.drift[3] * P.x + c.drift[4] * P.y + c.drift[5] * P.z,
                      c.drift[6] * P.x + c.drift[7] * P.y + c.drift[8] * P.z)
        size = size - dot(common, P) / vt_set1(c.mass)
        size = c.heaviest * vt_sqrt(vt_select(vt_lt(size, vt_set1(0.0)), vt_set1(0.0), size))
        for k in range(self.nv):
            size = vt_max_nan(size, c.gain[k] * (0.5 * fabs(h) * vt_max(vt_abs(self.weight1[k]), vt_abs(self.tau[k]))))
        return vt_max_nan(size, largest_in_lanes(self.x, self.nv) * (10.0 * ROUNDING / c.tolerance))

    cdef vt_real second_guess(self, LinearTimeStep* kernel, LaneStage* at, const bint* poor, vt_real e) noexcept nogil:
        # the extrapolation of these lanes is suddenly poor: is what the dynamics say any better?
        cdef vt_mask some = where(poor)
        cdef bint back[MOST_LANES]
        cdef vt_real other
        cdef int i, k
        memcpy(self.spare, self.y, self.nv * sizeof(vt_real))
        self.by_dynamics(kernel.h, self.d)
        for k in range(self.nv):
            self.y[k] = vt_select(some, self.d[k], self.y[k])
        other = self.residual(kernel, at)
        for i in range(VT_WIDTH):
            back[i] = poor[i] and not vt_get(other, i) <= vt_get(e, i)
            if poor[i]:
                at.lane[i].seen.count = 0
        some = where(back)
        if vt_any(some):
            for k in range(self.nv):
                self.y[k] = vt_select(some, self.spare[k], self.y[k])
            other = self.residual(kernel, at)
        return other

    cdef void iterate(self, LinearTimeStep* kernel, LaneStage* at) noexcept nogil:
        # passes until the equations of each lane hold; lanes that come to no good end leave
        cdef const LanePlan* c = &self.plan
        cdef int i, k, verdict[MOST_LANES], most = c.max_iterations
        cdef bint corrects[MOST_LANES]
        cdef bint factors[MOST_LANES]
        cdef bint poor[MOST_LANES]
        cdef bint any_poor = False, goes_on, certain
        cdef vt_real error, size
        cdef vt_mask some
        cdef Signs signs
        cdef Judged* x
        cdef Pass* p
        for i in range(VT_WIDTH):
            p = &at.lane[i].now
            p.solver, p.k, p.most = c.solver, 0, min(<int>PASSES, most) if c.solver == AUTO else most
            p.error_before, p.turned, p.required, p.sound = 0.0, False, 2, True
        error = self.residual(kernel, at)
        size = self.scale_of(kernel.h)
        for i in range(VT_WIDTH):
            x = &at.lane[i]
            p = &x.now
            p.error, p.scale = vt_get(error, i), vt_get(size, i)
            if x.solves and not isfinite(p.scale):
                self.leave(at, i)
            poor[i] = (x.solves and c.solver == AUTO and p.error > 1e-2 * p.scale
                       and p.error > 30.0 * x.economy.first and x.seen.count >= 4)
            any_poor = any_poor or poor[i]
        if any_poor:
            error = self.second_guess(kernel, at, poor, error)
        for i in range(VT_WIDTH):
            if at.lane[i].solves:
                at.lane[i].now.error = vt_get(error, i)
                at.lane[i].economy.first = at.lane[i].now.error
        while True:
            goes_on = False
            for i in range(VT_WIDTH):
                x = &at.lane[i]
                p = &x.now
                corrects[i] = factors[i] = False
                if not x.solves:
                    continue
                p.goal = max(c.tolerance * p.scale, c.rounding * fabs(kernel.h))
                self.error[i] = p.error
                if p.k > 0 and isfinite(p.error) and c.solver == AUTO:
                    economy_learn(&x.economy, p)
                verdict[i] = judge(p, &x.economy, &c.costs)
                if verdict[i] == DONE:
                    x.solves = False
                    continue
                if verdict[i] == FAIL:
                    self.leave(at, i)
                    continue
                economy_note(&x.economy, p, verdict[i])
                corrects[i], factors[i] = True, verdict[i] == FACTOR
                goes_on = True
            if not goes_on:
                break
            some = where(factors)
            if vt_any(some):
                # the operators of these lanes
                signs_begin(&signs)
                kernel.gains, kernel.multi = self.fresh, self.fresh_multi
                lt_factor(kernel, 0, c.m.nbody, &signs)
                kernel.gains, kernel.multi = at.gains, at.multi
                blend(some, self.fresh, at.gains, c.m.nbody * sizeof(Gains))
                blend(some, self.fresh_multi, at.multi, c.m.nmulti * sizeof(MultiGains))
                for i in range(VT_WIDTH):
                    if factors[i]:
                        at.lane[i].sound = 2 if vt_get(signs.least, i) > 0.0 else 1 if vt_get(signs.all, i) > 0.0 else 0
                        at.lane[i].economy.have, at.lane[i].economy.age = True, 0
            lt_solve(kernel, self.r, 0, c.m.nbody, self.d)
            if c.m.rubbing:
                self.stop_at_rest(kernel.h)
            some = where(corrects)
            for k in range(self.nv):
                self.y[k] = vt_select(some, self.y[k] + self.d[k], self.y[k])
            error = self.residual(kernel, at)
            for i in range(VT_WIDTH):
                if corrects[i]:
                    p = &at.lane[i].now
                    p.sound = at.lane[i].sound >= p.required
                    p.error_before, p.error = p.error, vt_get(error, i)
                    p.k += 1
                    self.corrections[i] += 1
        self.certify(kernel.h, at)

    cdef void leave(self, LaneStage* at, int i) noexcept nogil:
        self.left[i], at.lane[i].solves = True, False

    cdef void stop_at_rest(self, double h) noexcept nogil:
        # a joint with friction that a correction would turn round from well beyond its linear range stays at rest
        cdef const vt_model* m = self.plan.m
        cdef vt_mask round, fast
        cdef vt_real y, d
        cdef int k
        for k in range(self.nv):
            if m.friction[k] != 0.0:
                y, d = self.y[k], self.d[k]
                round, fast = vt_lt(y * (y + d), vt_set1(0.0)), vt_lt(vt_set1(h * h * m.friction_square[k]), y * y)
                self.d[k] = vt_select(round, vt_select(fast, -y, d), d)

    cdef vt_real turn_of(self, const vt_real* y) noexcept nogil:
        # the square of the joints' largest turn in an increment; NaN if there is one
        cdef vt_real most = vt_set1(0.0)
        cdef int i
        for i in range(self.plan.m.nbody):
            most = vt_max_nan(most, joint_turn_square(&self.plan.m.body[i], y))
        return most

    cdef void certify(self, double h, LaneStage* at) noexcept nogil:
        # lanes whose solution does not continue from no motion leave: follows_prediction
        cdef const vt_model* m = self.plan.m
        cdef vt_real turn = self.turn_of(self.y), by_v, by_a, off, one, two, three
        cdef double most, far
        cdef int i, k
        cdef bint asks = False, steady[MOST_LANES]
        for i in range(VT_WIDTH):
            steady[i] = True
            if not self.left[i]:
                far = vt_get(turn, i)
                if not far < HALF_TURN:
                    self.left[i] = True
                asks = asks or not far < SHORT_TURN
        if not asks:
            return
        self.by_dynamics(h, self.d)
        off = vt_max_nan(largest_in_lanes(self.v, self.nv), largest_in_lanes(self.a, self.nv))
        for i in range(VT_WIDTH):
            if not self.left[i] and not vt_get(turn, i) < SHORT_TURN and not isfinite(vt_get(off, i)):
                self.left[i] = True
        for k in range(self.nv):
            self.d[k] = self.y[k] - self.d[k]
            self.v[k] = h * self.v[k]
            self.a[k] = h * h * self.a[k]
        by_v, by_a = self.turn_of(self.v), vt_sqrt(self.turn_of(self.a))
        for k in range(m.nbody):
            one, two = joint_turn_square(&m.body[k], self.y), joint_turn_square(&m.body[k], self.d)
            three = joint_turn_square(&m.body[k], self.a)
            for i in range(VT_WIDTH):
                if vt_get(one, i) >= LONG_TURN and (vt_get(two, i) > STEADY or vt_get(three, i) > STEADY):
                    steady[i] = False
        off = self.turn_of(self.d)
        for i in range(VT_WIDTH):
            if self.left[i] or vt_get(turn, i) < SHORT_TURN:
                continue
            most = min(NEAR * max(vt_get(by_v, i), vt_get(by_a, i)), FAR)
            if not (steady[i] and vt_get(off, i) <= most * most):
                self.left[i] = True
