# Contact with friction around a variational step: an impulse of the node's momentum, then the step,
#     p1+ = p1 + J1^T lam,  (q2, p2) = F_h(q1, p1+),
#     0 <= lam_n  _|_  (gap(q2) - min(0, gap(q1)))/h >= 0,    lam_t against the slip s/h within the cone,
# solved for together with the step's increment. Friction acts half against the slip of the last step, half against that
# of this one, which makes sliding second order.

cdef enum:
    TOUCH_PASSES = 30       # most corrections of a step with contacts
    TOLD = 7                # numbers of a contact in a step
    KEPT_PORTS = 48         # most rows of ports that are kept from step to step
    TOUCH_CUTS = 3          # of them so many may leave the complementarity problem unsolved

cdef enum:                  # whether a contact is in the solve
    OUTSIDE = 0
    INSIDE = 1
    REBOUNDS = 2            # it will bounce at the next node

#: An elastic contact is closed below this gap [m]
cdef double CLOSED_GAP = 1e-12
#: A pair closes if it does so faster than this share of the velocities
cdef double CLOSING = 1e-12
cdef enum:
    IMPACTS = 200           # most impulses of an impact, the last half of them inelastic

#: How well contacts are solved: a share of the velocities, and of what rounding leaves of positions
cdef double TOUCH_TOLERANCE = 5e-11
cdef double TOUCH_ROUNDING = 1e-14
#: Contacts that stay owe half of the last impulse at a node; those that owe this share or more close anew
cdef double OWED = 0.6
#: and where friction makes the normal impulses so many times as large
cdef double JAMMED = 1.25
#: [m/s] slower than this it does not slide
cdef double SLIDING = 1e-7
#: The complementarity problem of a pass is solved to this share of what the pass began with
cdef double TOUCH_SHARE = 1e-2
#: A correction that leaves more than this share asks for another operator
cdef double TOUCH_CONTRACTION = 0.05


cdef struct TouchRow:       # an impulse in the ports of its bodies: wrenches about their origins, or a force on a coordinate
    int a                   # the first row of a port, or -1
    int b
    int size                # rows of a port: 6, or 1
    double on_a[6]          # (torque, force)
    double on_b[6]


cdef struct TouchSpan:      # contacts one after the other that are as far away as a ball about them, or farther
    int first
    int end
    double center[3]        # [m] in body a's core frame
    double radius           # [m]; negative: none is skipped


cdef struct Touching:
    # kept
    double* lam             # (contacts, 3) the last node's impulses, world axes; of a limit the first
    double* way             # (contacts, 3) unit, the way each slid in the last step, or zeros
    double* hold            # (contacts,) [m] the gap that those that pushed keep to: zero, or that of a bad start
    int* active             # (contacts,) it pushed in the last step
    double* told            # (contacts, TOLD) of the last step: impulse, slip velocity, gap
    int* have_ports         # P is of a step behind, for these
    int* owner_kept         # (most_ports,) what each row of P belongs to
    double* P               # (most_ports, most_ports) or more: -(rows2 (-dr/dy)^-1 rows^T)/h
    int* owner_past         # (most_ports,) what each of their rows belonged to
    Guess past              # (most_ports,) the wrenches of past steps' impulses in the ports
    # of the model
    TouchSpan* span         # (spans,)
    int spans
    # of a step
    Touch* here             # (contacts,) at node 1
    Touch* there            # (contacts,) at node 2
    Pose* pose1             # (nbody,)
    Pose* pose2
    double* at1             # (nq,) the configurations that they are of
    double* at2
    int placed1
    int placed2
    double* target          # (contacts,) [m] least gap at the step's end
    double* guess           # (contacts, 3) impulses to begin with, world axes
    int* member             # (contacts,) those in the solve
    int* within             # (contacts,) whether it is one of them
    int count
    int solved              # the step was solved with these contacts
    int opened              # the step begins with an impact: `blow` acts
    double* blow            # (nv,) the impulse of an impact
    double* struck          # (contacts, 3) and those of its contacts, world axes
    int leading             # this part of a step is its first
    double* v               # (nv,) the velocity before and after it
    int* bad                # (contacts,) members that an impact still closes
    double* total           # (rows of the cones,) their impulses
    Cones hit               # those of them that are solved for
    double* kick            # (nv,) the impulse of the contacts, and of an impact
    int* patch_count        # (patches,) members of a patch
    Vec3* patch_centre      # (patches,) their mean, in the body
    Vec3* patch_slip        # (patches,) of the centre, and the turn about the normal
    double* patch_turn
    # ports: of each body that is touched six unit wrenches, of each limited coordinate a unit force
    int* port_of_body       # (nbody,) its first row, or -1
    int ports               # rows
    int ports_room
    double* rows            # (ports, nv) node 1
    double* rows2           # (ports, nv) node 2
    double* response        # (ports, nv) what M answers
    int* owner              # (ports,) bodies, or -1 - contact of limits
    double* P_room          # (ports, ports) for more ports than are kept
    int most_ports          # for which P is kept
    double* u               # (ports,) the impulses as wrenches in the ports
    int fresh               # nothing was tried in this step
    int foretold            # u is that of past steps, not of the impulses at hand
    int settled             # nothing is left to correct
    TouchRow* W1            # (rows of the cones,)
    TouchRow* W2
    double* T               # (ports,)
    int rows_room
    double* r               # (nv,) the residual, kept while ports are answered
    double* h               # (count,) and what the constraints lack
    double* w               # (rows of the cones,) velocities as they are
    Cones cones
    # what is told of a step that was not solved
    int cut                 # corrections whose problem was not solved
    int worst               # the contact, or -1
    double before           # [m/s] the natural residual with which the problem of the last correction began
    double residual         # [m/s]
    long passes             # since the state was set


cdef int touching_make(Touching* x, Memory memory, const vt_model* m, int contacts, int patches, int count,
                       int ports) except -1:
    x.lam, x.way = memory.kept_reals(3 * contacts), memory.kept_reals(3 * contacts)
    x.hold, x.target = memory.kept_reals(contacts), memory.scratch_reals(contacts)
    x.active = memory.kept_ints(contacts, 0, 1)
    x.most_ports = min(ports, KEPT_PORTS)
    x.have_ports = memory.kept_ints(1, 0, 1)
    x.owner_kept = memory.kept_ints(x.most_ports, -contacts - 1, m.nbody)
    x.P = memory.kept_reals(x.most_ports * x.most_ports)
    x.owner_past = memory.kept_ints(x.most_ports, -contacts - 1, m.nbody)
    guess_make(&x.past, memory, x.most_ports)
    x.at1, x.at2 = memory.scratch_reals(m.nq), memory.scratch_reals(m.nq)
    x.here, x.there = <Touch*>memory.scratch(contacts * sizeof(Touch)), <Touch*>memory.scratch(contacts * sizeof(Touch))
    x.pose1, x.pose2 = <Pose*>memory.scratch(m.nbody * sizeof(Pose)), <Pose*>memory.scratch(m.nbody * sizeof(Pose))
    x.guess, x.told = memory.scratch_reals(3 * contacts), memory.kept_reals(TOLD * contacts)
    x.struck = memory.scratch_reals(3 * contacts)
    x.member = <int*>memory.scratch(contacts * sizeof(int))
    x.within = <int*>memory.scratch(contacts * sizeof(int))
    x.v, x.bad = memory.scratch_reals(m.nv), <int*>memory.scratch(contacts * sizeof(int))
    x.blow, x.kick, x.r = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    x.h = memory.scratch_reals(count)
    x.patch_count = <int*>memory.scratch(patches * sizeof(int))
    x.patch_centre = <Vec3*>memory.scratch(patches * sizeof(Vec3))
    x.patch_slip, x.patch_turn = <Vec3*>memory.scratch(patches * sizeof(Vec3)), memory.scratch_reals(patches)
    x.port_of_body = <int*>memory.scratch(m.nbody * sizeof(int))
    return 0


cdef void touching_free(Touching* x) noexcept nogil:
    free(x.cones.G)
    free(x.hit.G)
    free(x.rows)
    free(x.W1)
    free(x.span)


cdef int ports_room(Touching* x, int ports, int nv) noexcept nogil:
    # make room for so many ports; what they held is lost
    cdef size_t n = ports + 12 + x.most_ports, reals
    cdef double* at
    if ports <= x.ports_room:
        return OK
    reals = 3 * n * nv + n * n + 3 * n
    at = <double*>realloc(x.rows, reals * sizeof(double))
    if at == NULL:
        return NO_MEMORY
    x.ports_room = <int>n
    x.rows, x.rows2, x.response = at, at + n * nv, at + 2 * n * nv
    at += 3 * n * nv
    x.P_room = at
    at += n * n
    x.u, x.T, x.owner = at, at + n, <int*>(at + 2 * n)
    return OK


cdef int rows_room(Touching* x, int rows) noexcept nogil:
    cdef size_t n = 2 * rows + 24
    cdef TouchRow* at
    if rows <= x.rows_room:
        return OK
    at = <TouchRow*>realloc(x.W1, 2 * n * (sizeof(TouchRow) + sizeof(double)))
    if at == NULL:
        return NO_MEMORY
    x.rows_room = <int>n
    x.W1, x.W2, x.w = at, at + n, <double*>(at + 2 * n)
    x.total = x.w + n
    return OK


cdef inline double along_row(const TouchRow* W, const double* x) noexcept nogil:
    # W^T x of a vector over the ports
    cdef double s = 0.0
    if W.a >= 0:
        s = vt_inner(W.size, W.on_a, x + W.a)
    if W.b >= 0:
        s += vt_inner(6, W.on_b, x + W.b)
    return s


cdef inline void add_touch_row(const TouchRow* W, double size, double* x) noexcept nogil:
    # x += size W
    if W.a >= 0:
        vt_add_row(W.size, size, W.on_a, x + W.a)
    if W.b >= 0:
        vt_add_row(6, size, W.on_b, x + W.b)


cdef inline double six(const double* a, const double* b) noexcept nogil:
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]) + (a[4] * b[4] + a[5] * b[5])


cdef inline void six_rows(const double* a, const double* B, int width, double* to) noexcept nogil:
    # a^T B of six rows
    cdef int k
    for k in range(width):
        to[k] = ((a[0] * B[k] + a[1] * B[width + k]) + (a[2] * B[2 * width + k] + a[3] * B[3 * width + k])
                 + (a[4] * B[4 * width + k] + a[5] * B[5 * width + k]))


cdef inline void put_wrench(double* to, Vec3 arm, Vec3 f, Vec3 couple) noexcept nogil:
    store3(to, add(cross(arm, f), couple))
    store3(to + 3, f)


cdef void body_ports(const vt_model* m, const Pose* pose, int body, double* rows) noexcept nogil:
    # (6, nv): how the coordinates turn a body and move its origin
    cdef int i = body, k, nv = m.nv
    cdef const vt_body* b
    cdef Vec3 w, v, arm = zero3()
    memset(rows, 0, 6 * nv * sizeof(double))
    while i >= 0:
        b = &m.body[i]
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            v = add(v, cross(w, arm))
            rows[b.iv + k], rows[nv + b.iv + k], rows[2 * nv + b.iv + k] = w.x, w.y, w.z
            rows[3 * nv + b.iv + k], rows[4 * nv + b.iv + k], rows[5 * nv + b.iv + k] = v.x, v.y, v.z
        arm = add(arm, pose[i].t)
        i = b.parent


cdef inline void add_column(int n, double size, const double* A, int width, double* x) noexcept nogil:
    # x += size times a column of a matrix
    cdef int k
    for k in range(n):
        x[k] += size * A[k * width]


cdef class TouchingStepper(VariationalStepper):
    """Variational steps of a model whose bodies may touch; ``contacts`` is a ContactList."""

    cdef readonly ContactList contacts
    cdef const vt_contact* touch
    cdef int ntouch
    cdef bint elastic
    cdef double slowest                 # [m/s] slower approaches do not rebound
    cdef Touching own_touch
    cdef double* lam_start              # the kept arrays where the step starts
    cdef double* way_start
    cdef double* hold_start
    cdef int* active_start

    def __init__(self, *args, **options):
        cdef int k
        VariationalStepper.__init__(self, **options)
        self.contacts = options.get("contacts", ContactList())
        self.touch, self.ntouch = self.contacts.list, self.contacts.count
        self.slowest = options.get("slowest", 0.0)
        for k in range(self.ntouch):
            self.elastic = self.elastic or self.touch[k].restitution > 0.0
        if self.ntouch:
            touching_make(&self.own_touch, self.memory, self.shared.m, self.ntouch, self.contacts.patches,
                          self.shared.count, self.possible_ports())
            self.lam_start, self.way_start = (self.memory.scratch_reals(3 * self.ntouch),
                                              self.memory.scratch_reals(3 * self.ntouch))
            self.hold_start = self.memory.scratch_reals(self.ntouch)
            self.active_start = <int*>self.memory.scratch(self.ntouch * sizeof(int))
            self.find_spans()

    cdef int find_spans(self) except -1:
        # points of one body on one plane, one after the other, and the ball about them
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef const vt_contact* f
        cdef TouchSpan* on
        cdef double low, high, away
        cdef int c = 0, k, j
        x.span = <TouchSpan*>realloc(NULL, self.ntouch * sizeof(TouchSpan))
        if x.span == NULL:
            raise MemoryError
        while c < self.ntouch:
            e, on = &self.touch[c], &x.span[x.spans]
            x.spans += 1
            on.first, on.end, on.radius = c, c + 1, -1.0
            while e.kind == ON_PLANE and on.end < self.ntouch:
                f = &self.touch[on.end]
                if f.kind != ON_PLANE or f.body_a != e.body_a or f.offset != e.offset or f.normal[0] != e.normal[0] or \
                        f.normal[1] != e.normal[1] or f.normal[2] != e.normal[2]:
                    break
                on.end += 1
            c = on.end
            if self.elastic or on.end - on.first < 2:
                continue        # where contacts may bounce it matters how fast each closes
            for j in range(3):
                low, high = INFINITY, -INFINITY
                for k in range(on.first, on.end):
                    low, high = min(low, self.touch[k].point_a[j]), max(high, self.touch[k].point_a[j])
                on.center[j] = 0.5 * (low + high)
            on.radius = 0.0
            for k in range(on.first, on.end):
                away = 0.0
                for j in range(3):
                    away += (self.touch[k].point_a[j] - on.center[j]) ** 2
                on.radius = max(on.radius, (1.0 + 1e-12) * vt_sqrt(away) + self.touch[k].radius_a)
        return 0

    cdef int possible_ports(self):
        # the rows of ports if all contacts close
        cdef int k, limits = 0
        touched = set()
        for k in range(self.ntouch):
            limits += self.touch[k].kind == AT_LIMIT
            touched |= {self.touch[k].body_a, self.touch[k].body_b}
        return 6 * len(touched - {-1}) + limits

    def __dealloc__(self):
        touching_free(&self.own_touch)

    # ---- what lies behind ------------------------------------------------------------------------------

    cdef void forget(self) noexcept nogil:
        VariationalStepper.forget(self)
        if self.ntouch:
            self.own_touch.have_ports[0] = False

    cdef void begin(self) noexcept nogil:
        VariationalStepper.begin(self)
        if self.ntouch:
            memset(self.own_touch.lam, 0, 3 * self.ntouch * sizeof(double))
            memset(self.own_touch.way, 0, 3 * self.ntouch * sizeof(double))
            memset(self.own_touch.hold, 0, self.ntouch * sizeof(double))
            memset(self.own_touch.active, 0, self.ntouch * sizeof(int))
            memset(self.own_touch.told, 0, TOLD * self.ntouch * sizeof(double))
            self.own_touch.past.seen.count = 0
            self.own_touch.passes = 0

    cdef void note_touch(self) noexcept nogil:
        memcpy(self.lam_start, self.own_touch.lam, 3 * self.ntouch * sizeof(double))
        memcpy(self.way_start, self.own_touch.way, 3 * self.ntouch * sizeof(double))
        memcpy(self.hold_start, self.own_touch.hold, self.ntouch * sizeof(double))
        memcpy(self.active_start, self.own_touch.active, self.ntouch * sizeof(int))

    cdef void put_back_touch(self) noexcept nogil:
        memcpy(self.own_touch.lam, self.lam_start, 3 * self.ntouch * sizeof(double))
        memcpy(self.own_touch.way, self.way_start, 3 * self.ntouch * sizeof(double))
        memcpy(self.own_touch.hold, self.hold_start, self.ntouch * sizeof(double))
        memcpy(self.own_touch.active, self.active_start, self.ntouch * sizeof(int))

    cdef int substep(self, bint leading) noexcept nogil:
        self.own_touch.leading = leading
        return VariationalStepper.substep(self, leading)

    cdef void accept(self) noexcept nogil:
        VariationalStepper.accept(self)
        if self.ntouch:
            self.keep_touch()

    cdef int log_row(self, long row) noexcept nogil:
        cdef Touching* x = &self.own_touch
        cdef TouchLog* log = &self.log
        cdef double* to
        cdef int c
        for c in range(self.ntouch):
            if x.told[TOLD * c] == 0.0 and x.told[TOLD * c + 1] == 0.0 and x.told[TOLD * c + 2] == 0.0:
                continue
            if log.count == log.room:
                to = <double*>realloc(log.at, (2 * log.room + 64) * TOUCHED * sizeof(double))
                if to == NULL:
                    return NO_MEMORY
                log.at, log.room = to, 2 * log.room + 64
            to = log.at + log.count * TOUCHED
            to[0], to[1] = row, c
            memcpy(to + 2, x.told + TOLD * c, TOLD * sizeof(double))
            log.count += 1
        return OK

    # ---- velocities at nodes: p is that before the node's kick, which persisting contacts still owe ----------------

    def settle_velocities(self, const double[:, ::1] q, const double[:, ::1] log, double[:, ::1] v):
        """Change velocities v (n, nv) of M v = p at rows of q so that contacts that pushed do not close.

        p^ = p + J^T nu, 0 <= nu_n _|_ Jn M^-1 p^ >= 0, with friction. ``log`` (m, TOUCHED) is as :meth:`take_contacts` has it, by rows.
        The stepper forgets its state.
        """
        cdef Touching* x = &self.own_touch
        cdef Py_ssize_t k = 0, row, end = log.shape[0]
        cdef int c
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(v.shape[1], self.nv, "columns of v")
        require_size(log.shape[1], TOUCHED, "columns of contacts")
        require_size(v.shape[0], q.shape[0], "rows of v")
        while k < end:
            row = <Py_ssize_t>log[k, 0]
            if not 0 <= row < q.shape[0]:
                raise ValueError(f"a contact of row {row}; there are {q.shape[0]} rows")
            for c in range(self.ntouch):
                x.within[c] = OUTSIDE
            while k < end and <Py_ssize_t>log[k, 0] == row:
                if not 0 <= log[k, 1] < self.ntouch:
                    raise ValueError(f"contact {log[k, 1]:g}; there are {self.ntouch}")
                c = <int>log[k, 1]
                x.within[c] = INSIDE
                x.guess[3 * c], x.guess[3 * c + 1], x.guess[3 * c + 2] = log[k, 2], log[k, 3], log[k, 4]
                k += 1
            if self.settle(&q[row, 0], &v[row, 0]) != OK:
                raise MemoryError

    cdef int settle(self, const double* q, double* v) noexcept nogil:
        # v of the contacts within, which gave the impulses in guess: those that close are held by what they owe, half of an
        # impulse, with friction against the way they slide. A contact that owes more closes anew, and its friction is open
        cdef Touching* x = &self.own_touch
        cdef Cones* y = &x.cones
        cdef Cones* z = &x.hit
        cdef double gave, owes
        cdef int k, j, status
        self.place_start(q)
        for k in range(self.ntouch):
            if x.within[k] == INSIDE:
                across(&x.here[k])
        memset(x.way, 0, 3 * self.ntouch * sizeof(double))
        status = self.gather()
        if status == OK:
            status = cones_room(z, y.count, y.count)
        if status != OK:
            return status
        self.answer_at_rest(q)
        z.count = z.n = y.count
        for k in range(y.n):
            self.along_ports(&x.W1[k], v, &y.b[k])
        for k in range(y.count):
            z.b[k], z.dim[k], z.row[k], z.mu[k], z.lam[k] = y.b[y.row[k]], 1, k, 0.0, 0.0
            for j in range(y.count):
                z.G[k * z.n + j] = y.G[y.row[k] * y.n + y.row[j]]
        cone_solve(z, 1e-13 * largest(z.b, z.n))
        gave = owes = 0.0
        for k in range(y.count):
            gave += y.lam[y.row[k]]
            owes += z.lam[k]
        if owes < OWED * gave:
            for k in range(y.count):
                for j in range(y.dim[k]):
                    y.lam[y.row[k] + j] = 0.0 if j else z.lam[k]
            cone_solve(y, 1e-13 * largest(y.b, y.n))
            # friction changes no normal impulse by much, unless bodies jam
            gave = 0.0
            for k in range(y.count):
                gave += y.lam[y.row[k]]
            owes = owes if gave < JAMMED * owes else INFINITY
        else:
            owes = INFINITY
        if owes == INFINITY:
            memset(y.lam, 0, y.n * sizeof(double))
            for k in range(y.count):
                y.lam[y.row[k]] = z.lam[k]
        memset(x.u, 0, x.ports * sizeof(double))
        for k in range(y.n):
            add_touch_row(&x.W1[k], y.lam[k], x.u)
        for k in range(x.ports):
            vt_add_row(self.nv, x.u[k], x.response + k * self.nv, v)
        return OK

    cdef void keep_touch(self) noexcept nogil:
        # the impulses, and which way each contact slid; what is told of a step taken in parts is their sum, and the last slip
        cdef Touching* x = &self.own_touch
        cdef double* told
        cdef Vec3 lam, way
        cdef double size
        cdef int k, j, c, o
        memset(x.lam, 0, 3 * self.ntouch * sizeof(double))
        memset(x.way, 0, 3 * self.ntouch * sizeof(double))
        memset(x.active, 0, self.ntouch * sizeof(int))
        if x.leading:
            memset(x.told, 0, TOLD * self.ntouch * sizeof(double))
        for c in range(self.ntouch):
            x.told[TOLD * c + 6] = x.there[c].gap
            for j in range(3 if x.opened else 0):
                x.told[TOLD * c + j] += x.struck[3 * c + j]
        if not x.solved:
            x.have_ports[0] = False
            x.past.seen.count = 0
            return
        self.learn_push()
        for k in range(x.count):
            c, o = x.member[k], x.cones.row[k]
            # those that are open keep a rest of a guess
            if not (x.cones.lam[o] > 0.0 and x.cones.w[o] < x.cones.G[o * (x.cones.n + 1)] * x.cones.lam[o]):
                continue
            x.active[c], x.hold[c] = True, x.target[c]
            told = x.told + TOLD * c
            lam = self.world_impulse(k, x.cones.lam + o)
            store3(x.lam + 3 * c, lam)
            for j in range(3):
                told[j] += x.lam[3 * c + j]
            if x.cones.dim[k] == 3:
                way = axpy(x.w[o + 1], x.here[c].t1, scale(x.w[o + 2], x.here[c].t2))
                store3(told + 3, way)
                size = vt_sqrt(dot(way, way))
                if size > SLIDING:
                    store3(x.way + 3 * c, scale(1.0 / size, way))

    cdef Vec3 world_impulse(self, int k, const double* lam) noexcept nogil:
        # of a member, in world axes; of a limit its one number
        cdef const Touch* at = &self.own_touch.here[self.own_touch.member[k]]
        cdef Vec3 f
        if self.touch[self.own_touch.member[k]].kind == AT_LIMIT:
            return vec3(lam[0], 0.0, 0.0)
        f = scale(lam[0], at.n)
        if self.own_touch.cones.dim[k] == 3:
            f = axpy(lam[1], at.t1, axpy(lam[2], at.t2, f))
        return f

    cdef void learn_push(self) noexcept nogil:
        # u, for the guesses of steps to come
        cdef Touching* x = &self.own_touch
        cdef int k
        cdef bint same = x.ports <= x.most_ports
        for k in range(x.most_ports if same else 0):
            same = same and x.owner_past[k] == (x.owner[k] if k < x.ports else self.shared.m.nbody)
        if not same:
            x.past.seen.count = 0
        if x.ports > x.most_ports:
            return
        for k in range(x.most_ports):
            x.owner_past[k] = x.owner[k] if k < x.ports else self.shared.m.nbody
        if x.past.seen.count == 0:
            x.past.seen.h = self.lane.now.h
        guess_scale(&x.past, x.most_ports, self.lane.now.h)
        memset(x.u + x.ports, 0, (x.most_ports - x.ports) * sizeof(double))
        guess_learn(&x.past, x.most_ports, x.u, x.T)

    # ---- the step ------------------------------------------------------------------------------------------

    cdef int attempt(self) noexcept nogil:
        cdef int status
        self.lane.newton.kick = NULL
        if not self.ntouch:
            return VariationalStepper.attempt(self)
        status = self.attempt_touching()
        self.lane.newton.kick = NULL
        return status

    cdef int attempt_touching(self) noexcept nogil:
        cdef Touching* x = &self.own_touch
        cdef int c, status = OK
        cdef bint pushed = False, free = False
        self.place_start(self.lane.state.q)
        x.count, x.opened, x.solved, x.worst, x.fresh = 0, False, False, -1, False
        memcpy(x.guess, x.lam, 3 * self.ntouch * sizeof(double))
        for c in range(self.ntouch):
            # errors of a resting contact do not add up
            x.target[c] = x.hold[c] if x.active[c] else min(0.0, x.here[c].gap)
            x.within[c] = INSIDE if x.active[c] else OUTSIDE
            if x.active[c] or self.elastic:
                across(&x.here[c])
            pushed = pushed or x.active[c]
        if self.elastic:
            status = self.meet(&free)
            if status != OK:
                return status
        if not pushed and not x.opened:
            # a step without contacts; where it ends some may be new
            if not free:
                status = VariationalStepper.attempt(self)
            if status != OK or not self.join():
                return status
            status = self.solve_touches()
        else:
            self.lane.now.iterations = 0
            self.lane.now.contraction = NAN
            self.lane.economy.age += 1
            if self.lane.progress.opening and self.shared.count:
                self.velocity(self.lane.state.q, self.lane.state.x, self.lane.newton.v)
                memcpy(self.lane.held.tangent, self.lane.held.push, self.shared.count * sizeof(double))
            if x.opened:
                self.lane.guess.seen.count = 0
                for c in range(self.nv):
                    self.lane.newton.y[c] = self.lane.now.h * x.v[c]
                self.by_velocities(self.lane.newton.y)
                self.lock_increment()
            else:
                x.fresh = self.predict()
            status = self.solve_touches()
        if unsolved(status) and self.lane.now.cause == OK:
            # from no motion, whose exact direction knows what the step solves for
            self.lane.guess.seen.count = 0
            self.no_multipliers()
            memset(self.lane.newton.y, 0, self.nv * sizeof(double))
            self.lock_increment()
            status = self.solve_touches()
        return status

    cdef void stand_bodies(self, const double* q, Pose* pose, double* at, int* placed) noexcept nogil:
        # the bodies at q, unless they are there
        if placed[0] and memcmp(at, q, self.nq * sizeof(double)) == 0:
            return
        forward_kinematics(self.shared.m, q, pose)
        memcpy(at, q, self.nq * sizeof(double))
        placed[0] = True

    cdef void place_start(self, const double* q) noexcept nogil:
        # bodies and contacts at node 1, which may be node 2 of the step behind
        cdef Touching* x = &self.own_touch
        cdef int c
        if x.placed2 and memcmp(x.at2, q, self.nq * sizeof(double)) == 0:
            x.pose1, x.pose2 = x.pose2, x.pose1
            x.at1, x.at2 = x.at2, x.at1
            x.placed1, x.placed2 = x.placed2, x.placed1
        self.stand_bodies(q, x.pose1, x.at1, &x.placed1)
        self.place_touches(q, x.pose1, NULL, x.here)

    cdef void place_end(self, const double* q) noexcept nogil:
        cdef Touching* x = &self.own_touch
        self.stand_bodies(q, x.pose2, x.at2, &x.placed2)
        self.place_touches(q, x.pose2, x.here, x.there)

    cdef void place_touches(self, const double* q, const Pose* pose, const Touch* before, Touch* to) noexcept nogil:
        # all contacts; of those that are far away a gap that they have at least
        cdef const TouchSpan* on
        cdef const vt_contact* e
        cdef double apart
        cdef int k, c
        for k in range(self.own_touch.spans):
            on = &self.own_touch.span[k]
            apart = 0.0
            if on.radius >= 0.0:
                e = &self.touch[on.first]
                apart = dot(constant3(e.normal), placed(pose, e.body_a, on.center)) - e.offset - on.radius
            for c in range(on.first, on.end):
                if apart > 0.0 and not (self.own_touch.within[c] == INSIDE or self.own_touch.active[c]):
                    to[c].gap = apart
                else:
                    touch_at(&self.touch[c], q, pose, NULL if before == NULL else &before[c], &to[c])

    cdef bint join(self) noexcept nogil:
        # contacts that the trial closes beyond where they were come in; whether there are any
        cdef Touching* x = &self.own_touch
        cdef int c
        cdef bint more = False
        self.place_end(self.lane.state.q2)
        for c in range(self.ntouch):
            if x.within[c] == OUTSIDE and x.there[c].gap < x.target[c] - 1e-13:
                x.within[c] = INSIDE
                touch_at(&self.touch[c], self.lane.state.q, x.pose1, NULL, &x.here[c])
                across(&x.here[c])
                more = True
        return more

    cdef int solve_touches(self) noexcept nogil:
        # passes from the increment at hand until no contact is missing
        cdef Touching* x = &self.own_touch
        cdef int status
        while True:
            status = self.gather()
            if status == OK:
                status = self.iterate_touches()
            x.fresh = False
            if status == OK:
                status = self.finish()
            if status != OK:
                return status
            self.remember()
            if not self.join():
                x.solved = True
                return OK

    cdef void remember(self) noexcept nogil:
        # the impulses, as a guess
        cdef Touching* x = &self.own_touch
        cdef int k
        for k in range(x.count):
            store3(x.guess + 3 * x.member[k], self.world_impulse(k, x.cones.lam + x.cones.row[k]))

    # ---- impacts ---------------------------------------------------------------------------------------

    cdef double closing_speed(self, int c) noexcept nogil:
        # d(gap)/dt where the bodies' twists are those of node 1
        cdef const vt_contact* e = &self.touch[c]
        cdef const Touch* at = &self.own_touch.here[c]
        cdef double* twist = self.lane.bodies.twist
        cdef double s = 0.0
        if e.kind == AT_LIMIT:
            return e.sign * self.own_touch.v[e.iv]
        if e.body_a >= 0:
            s = dot(at.n, add(load3(twist + 6 * e.body_a + 3), cross(load3(twist + 6 * e.body_a), at.arm_a)))
        if e.body_b >= 0:
            s -= dot(at.n, add(load3(twist + 6 * e.body_b + 3), cross(load3(twist + 6 * e.body_b), at.arm_b)))
        return s

    cdef void move_bodies(self) noexcept nogil:
        # the bodies' twists by v
        cdef int i
        for i in range(self.shared.m.nbody):
            twist_of(self.shared.m, i, self.own_touch.v, self.own_touch.pose1, self.lane.bodies.twist)

    cdef int meet(self, bint* free) noexcept nogil:
        # which contacts bounce at this node, with the blow that they give, and which at the next. A contact bounces if
        # e |v_n| > max(slowest, 2 h |a_n|): shorter rebounds are none. free: a step without contacts was taken
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef double h = fabs(self.lane.now.h), speed, fall
        cdef bint near = False, hit = False
        cdef int c, status
        free[0] = False
        self.velocity(self.lane.state.q, self.lane.state.x, x.v)
        self.move_bodies()
        for c in range(self.ntouch):
            e = &self.touch[c]
            speed = self.closing_speed(c)
            near = near or (e.restitution > 0.0 and not x.active[c] and speed < 0.0 and x.here[c].gap < 4.0 * h * -speed)
        if not near:
            return OK
        status = VariationalStepper.attempt(self)
        if status != OK:
            return status
        self.place_end(self.lane.state.q2)
        free[0] = True
        self.move_bodies()
        for c in range(self.ntouch):
            e = &self.touch[c]
            speed = self.closing_speed(c)
            if e.restitution == 0.0 or x.active[c] or speed >= 0.0:
                continue
            fall = 2.0 * (x.there[c].gap - x.here[c].gap - h * speed) / (h * h)
            if e.restitution * -speed <= max(self.slowest, 2.0 * h * fabs(fall)):
                continue
            if x.here[c].gap <= CLOSED_GAP:
                hit = True
            elif x.there[c].gap < 0.0:
                x.within[c] = REBOUNDS
        if hit:
            free[0] = False
            return self.strike_node()
        return OK

    cdef int strike_node(self) noexcept nogil:
        # the impact of all that is closed, in the metric of M(q1): while contacts approach, v0 is the inelastic solution
        # on these, with friction, and v += (1 + e)(v0 - v)
        cdef Touching* x = &self.own_touch
        cdef Cones* y = &x.cones
        cdef int c, k, j, count, n = 0, sweep, status, o, nv = self.nv
        cdef double size, share
        for c in range(self.ntouch):
            x.bad[c] = x.within[c]
            x.within[c] = INSIDE if x.here[c].gap <= CLOSED_GAP else OUTSIDE
            x.guess[3 * c] = x.guess[3 * c + 1] = x.guess[3 * c + 2] = 0.0
        status = self.gather()
        if status == OK:
            status = cones_room(&x.hit, y.count, y.n)
        for c in range(self.ntouch):
            x.within[c] = x.bad[c]
        if status != OK:
            return status
        self.answer_at_rest(self.lane.state.q)
        memset(x.total, 0, y.n * sizeof(double))
        for k in range(y.n):
            self.along_ports(&x.W1[k], x.v, &y.w[k])
        size = largest(y.w, y.n)
        for sweep in range(IMPACTS):
            # u = J v
            count, n = 0, 0
            for k in range(y.count):
                if y.w[y.row[k]] < -CLOSING * size:
                    x.bad[count] = k
                    count += 1
            if count == 0:
                break
            self.choose_hit(count)
            cone_solve(&x.hit, 1e-13 * size)
            for k in range(count):
                c = x.member[x.bad[k]]
                share = 1.0 + (self.touch[c].restitution if 2 * sweep < IMPACTS else 0.0)
                o = y.row[x.bad[k]]
                for j in range(y.dim[x.bad[k]]):
                    x.total[o + j] += share * x.hit.lam[x.hit.row[k] + j]
                    add_column(y.n, share * x.hit.lam[x.hit.row[k] + j], y.G + o + j, y.n, y.w)
        # the blow, and the velocity after it
        memset(x.struck, 0, 3 * self.ntouch * sizeof(double))
        for k in range(y.count):
            store3(x.struck + 3 * x.member[k], self.world_impulse(k, x.total + y.row[k]))
        memset(x.u, 0, x.ports * sizeof(double))
        for k in range(y.n):
            add_touch_row(&x.W1[k], x.total[k], x.u)
        memset(x.blow, 0, nv * sizeof(double))
        for k in range(x.ports):
            vt_add_row(nv, x.u[k], x.rows + k * nv, x.blow)
            vt_add_row(nv, x.u[k], x.response + k * nv, x.v)
        x.opened = True
        x.count = 0
        return OK

    cdef void along_ports(self, const TouchRow* W, const double* v, double* out) noexcept nogil:
        # the rate of a row by a velocity
        cdef Touching* x = &self.own_touch
        cdef int k
        out[0] = 0.0
        if W.a >= 0:
            for k in range(W.size):
                out[0] += W.on_a[k] * vt_inner(self.nv, x.rows + (W.a + k) * self.nv, v)
        if W.b >= 0:
            for k in range(6):
                out[0] += W.on_b[k] * vt_inner(self.nv, x.rows + (W.b + k) * self.nv, v)

    cdef void choose_hit(self, int count) noexcept nogil:
        # the problem of the approaching contacts alone
        cdef Touching* x = &self.own_touch
        cdef const Cones* y = &x.cones
        cdef Cones* z = &x.hit
        cdef int k, j, i, l, a, b, n = 0
        z.count = count
        for k in range(count):
            z.dim[k], z.row[k], z.mu[k] = y.dim[x.bad[k]], n, self.touch[x.member[x.bad[k]]].friction
            z.lead[2 * k] = z.lead[2 * k + 1] = 0.0
            n += z.dim[k]
        z.n = n
        for k in range(count):
            for i in range(z.dim[k]):
                a = y.row[x.bad[k]] + i
                z.b[z.row[k] + i], z.lam[z.row[k] + i] = y.w[a], 0.0
                for l in range(count):
                    for j in range(z.dim[l]):
                        b = y.row[x.bad[l]] + j
                        z.G[(z.row[k] + i) * n + z.row[l] + j] = y.G[a * y.n + b]

    cdef void answer_at_rest(self, const double* q) noexcept nogil:
        # M^-1 of each port, the constraints held, and G = W1^T (rows response) W1
        cdef Touching* x = &self.own_touch
        cdef Newton* newton = &self.lane.newton
        cdef double* P = x.P_room
        cdef int k, j, nv = self.nv
        self.velocity(q, self.shared.zeros, newton.v)
        for k in range(x.ports):
            # prescribed coordinates move as they must with any momentum
            memcpy(newton.r, x.rows + k * nv, nv * sizeof(double))
            self.velocity(q, newton.r, x.response + k * nv)
            for j in range(nv):
                x.response[k * nv + j] -= newton.v[j]
        for k in range(x.ports):
            for j in range(x.ports):
                P[k * x.ports + j] = vt_inner(nv, x.rows + k * nv, x.response + j * nv)
        self.cone_matrix(P, x.W1)

    # ---- the contacts in the solve ---------------------------------------------------------------------

    cdef int gather(self) noexcept nogil:
        # the contacts in the solve: their cones, guesses, ports and the rows at node 1
        cdef Touching* x = &self.own_touch
        cdef Cones* y = &x.cones
        cdef const vt_contact* e
        cdef const Touch* at
        cdef Vec3 lam, way
        cdef int c, k = 0, n = 0, status
        for c in range(self.ntouch):
            if x.within[c] == INSIDE:
                x.member[k] = c
                n += self.touch[c].dim
                k += 1
        x.count = k
        status = cones_room(y, k, n)
        if status == OK:
            status = rows_room(x, n)
        if status != OK:
            return status
        y.count, y.n, n = k, n, 0
        for k in range(x.count):
            c = x.member[k]
            e, at = &self.touch[c], &x.here[c]
            y.dim[k], y.row[k], y.mu[k] = e.dim, n, e.friction
            y.lead[2 * k] = y.lead[2 * k + 1] = 0.0
            if e.kind == AT_LIMIT:
                y.lam[n] = x.guess[3 * c]
            else:
                lam = load3(x.guess + 3 * c)
                y.lam[n] = dot(lam, at.n)
                if e.dim == 3:
                    y.lam[n + 1], y.lam[n + 2] = dot(lam, at.t1), dot(lam, at.t2)
                    way = load3(x.way + 3 * c)
                    if way.x != 0.0 or way.y != 0.0 or way.z != 0.0:
                        # half of the friction against the slip of the last step
                        y.mu[k] *= 0.5
                        y.lead[2 * k], y.lead[2 * k + 1] = -y.mu[k] * dot(way, at.t1), -y.mu[k] * dot(way, at.t2)
            n += e.dim
        return self.place_ports()

    cdef int place_ports(self) noexcept nogil:
        # a port for each body and coordinate that is touched, and the contacts' rows in them at node 1
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef int k, i, side, body, status, ports = 0, nv = self.nv
        for i in range(self.shared.m.nbody):
            x.port_of_body[i] = -1
        for k in range(x.count):
            e = &self.touch[x.member[k]]
            if e.kind == AT_LIMIT:
                ports += 1
                continue
            for side in range(2):
                body = e.body_b if side else e.body_a
                if body >= 0 and x.port_of_body[body] < 0:
                    x.port_of_body[body] = ports
                    ports += 6
        status = ports_room(x, ports, nv)
        if status != OK:
            return status
        x.ports = ports
        # limits behind the bodies, in the order of the contacts
        ports = 0
        for i in range(self.shared.m.nbody):
            if x.port_of_body[i] >= 0:
                x.port_of_body[i] = ports
                body_ports(self.shared.m, x.pose1, i, x.rows + ports * nv)
                for k in range(6):
                    x.owner[ports + k] = i
                ports += 6
        for k in range(x.count):
            e = &self.touch[x.member[k]]
            if e.kind == AT_LIMIT:
                memset(x.rows + ports * nv, 0, nv * sizeof(double))
                x.rows[ports * nv + e.iv] = e.sign
                x.owner[ports] = -1 - x.member[k]
                ports += 1
        self.centre_patches()
        self.write_rows(x.here, x.pose1, x.W1, False)
        return OK

    cdef void centre_patches(self) noexcept nogil:
        # the mean of the points of each patch, in its body
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef int k, p
        memset(x.patch_count, 0, self.contacts.patches * sizeof(int))
        for p in range(self.contacts.patches):
            x.patch_centre[p] = zero3()
        for k in range(x.count):
            e = &self.touch[x.member[k]]
            if e.patch >= 0:
                x.patch_count[e.patch] += 1
                x.patch_centre[e.patch] = add(x.patch_centre[e.patch], self.body_point(x.member[k]))
        for p in range(self.contacts.patches):
            if x.patch_count[p] > 1:
                x.patch_centre[p] = scale(1.0 / x.patch_count[p], x.patch_centre[p])

    cdef Vec3 body_point(self, int c) noexcept nogil:
        # the material point of body a, in the body
        return tmul(self.own_touch.pose1[self.touch[c].body_a].R, self.own_touch.here[c].arm_a)

    cdef bint on_patch(self, int c) noexcept nogil:
        return self.touch[c].patch >= 0 and self.own_touch.patch_count[self.touch[c].patch] > 1

    cdef void write_rows(self, const Touch* list, const Pose* pose, TouchRow* W, bint end) noexcept nogil:
        # the rows of all contacts in the ports; end: of the gap and the slip by displacements at node 2
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef const Touch* at
        cdef const Touch* before
        cdef TouchRow* to
        cdef Vec3 arm_a, arm_b, centre, d, t
        cdef double more
        cdef int k, c, j, limit = x.ports
        for k in range(x.count):
            if self.touch[x.member[k]].kind == AT_LIMIT:
                limit -= 1
        for k in range(x.count):
            c = x.member[k]
            e, at, before, to = &self.touch[c], &list[c], &x.here[c], W + x.cones.row[k]
            to.b, to.size = -1, 6
            if e.kind == AT_LIMIT:
                to.a, to.size, to.on_a[0] = limit, 1, 1.0
                limit += 1
                continue
            to.a = x.port_of_body[e.body_a] if e.body_a >= 0 else -1
            to.b = x.port_of_body[e.body_b] if e.body_b >= 0 else -1
            put_wrench(to.on_a, at.arm_a, at.n, zero3())
            put_wrench(to.on_b, at.arm_b, neg(at.n), zero3())
            if e.dim == 1:
                continue
            if self.on_patch(c):
                # all points of a patch slide as its centre does, and turn about it
                centre = mul(pose[e.body_a].R, x.patch_centre[e.patch])
                d = sub(before.arm_a, mul(x.pose1[e.body_a].R, x.patch_centre[e.patch]))
                if end:
                    d = scale(0.5, add(d, mul(pose[e.body_a].R, sub(self.body_point(c), x.patch_centre[e.patch]))))
                d = cross(before.n, d)
                for j in range(2):
                    t = before.t2 if j else before.t1
                    to[1 + j].a, to[1 + j].b, to[1 + j].size = to.a, -1, 6
                    put_wrench(to[1 + j].on_a, centre, t, scale(dot(d, t), before.n))
                continue
            more = halfway(e, before)
            arm_a, arm_b = axpy(-more, before.n, before.arm_a), axpy(more, before.n, before.arm_b)
            if end and e.body_a >= 0:
                arm_a = self.carried_arm(e.body_a, pose, arm_a, before.n, rolling_lever(e, e.radius_a, more))
            if end and e.body_b >= 0:
                arm_b = self.carried_arm(e.body_b, pose, arm_b, before.n, -rolling_lever(e, e.radius_b, more))
            for j in range(2):
                t = before.t2 if j else before.t1
                to[1 + j].a, to[1 + j].b, to[1 + j].size = to.a, to.b, 6
                put_wrench(to[1 + j].on_a, arm_a, t, zero3())
                put_wrench(to[1 + j].on_b, arm_b, neg(t), zero3())

    cdef Vec3 carried_arm(self, int body, const Pose* pose, Vec3 arm, Vec3 n, double radius) noexcept nogil:
        # of the material point at node 2; of a sphere that rolls, of the centre at node 2 and the lever -radius n
        cdef Vec3 lever = scale(-radius, n)
        return add(mul(pose[body].R, tmul(self.own_touch.pose1[body].R, sub(arm, lever))), lever)

    # ---- velocities over the step --------------------------------------------------------------------------

    cdef void measure_touches(self) noexcept nogil:
        # w = ((gap(q2) - min(0, gap(q1)))/h, slip/h) of the trial; without what contacts that yield give way by their impulses
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef const Touch* at
        cdef double inverse = 1.0 / self.lane.now.h, hold
        cdef Vec3 s
        cdef int k, c, o
        self.reach_node(self.lane.newton.y, self.lane.state.q2)
        self.stand_bodies(self.lane.state.q2, x.pose2, x.at2, &x.placed2)
        for k in range(x.count):
            c = x.member[k]
            touch_at(&self.touch[c], self.lane.state.q2, x.pose2, &x.here[c], &x.there[c])
        self.slide_patches()
        for k in range(x.count):
            c, o = x.member[k], x.cones.row[k]
            e, at = &self.touch[c], &x.here[c]
            # of a spring and a damper without its force: (gap2 - share gap1)/h, share = d/(h k + d)
            hold = x.target[c]
            if e.stiffness != INFINITY:
                hold = e.damping / (self.lane.now.h * e.stiffness + e.damping) * at.gap
            x.w[o] = (x.there[c].gap - hold) * inverse
            if e.dim == 1:
                continue
            if self.on_patch(c):
                s = mul(x.pose1[e.body_a].R, sub(self.body_point(c), x.patch_centre[e.patch]))
                s = add(s, mul(x.pose2[e.body_a].R, sub(self.body_point(c), x.patch_centre[e.patch])))
                s = axpy(0.5 * x.patch_turn[e.patch], cross(at.n, s), x.patch_slip[e.patch])
            else:
                s = slid(e, at, x.pose1, x.pose2)
            x.w[o + 1], x.w[o + 2] = dot(at.t1, s) * inverse, dot(at.t2, s) * inverse

    cdef void slide_patches(self) noexcept nogil:
        # the displacement of each patch's centre, and how far it turns about the normal
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef const Pose* before
        cdef const Pose* after
        cdef int k, c
        for k in range(x.count):
            c = x.member[k]
            e = &self.touch[c]
            if self.on_patch(c):
                before, after = &x.pose1[e.body_a], &x.pose2[e.body_a]
                x.patch_slip[e.patch] = sub(add(after.o, mul(after.R, x.patch_centre[e.patch])),
                                            add(before.o, mul(before.R, x.patch_centre[e.patch])))
                x.patch_turn[e.patch] = dot(x.here[c].n, turn_between(&before.R, &after.R))

    cdef void gather_push(self) noexcept nogil:
        # u, the wrenches of the impulses
        cdef Touching* x = &self.own_touch
        cdef int k
        memset(x.u, 0, x.ports * sizeof(double))
        for k in range(x.cones.n):
            add_touch_row(&x.W1[k], x.cones.lam[k], x.u)
        x.foretold = False

    cdef void kick_node(self) noexcept nogil:
        # kick = J1^T lam = (rows)^T u, and the impulse of an impact
        cdef Touching* x = &self.own_touch
        cdef int k
        self.lane.newton.kick = x.kick
        if x.opened:
            memcpy(x.kick, x.blow, self.nv * sizeof(double))
        else:
            memset(x.kick, 0, self.nv * sizeof(double))
        for k in range(x.ports):
            vt_add_row(self.nv, x.u[k], x.rows + k * self.nv, x.kick)

    # ---- the operator ------------------------------------------------------------------------------------------

    cdef bint ports_at_hand(self) noexcept nogil:
        # whether P is there, of a step behind
        cdef Touching* x = &self.own_touch
        cdef int k
        if not (x.have_ports[0] and self.lane.economy.have and x.ports <= x.most_ports):
            return False
        for k in range(x.ports):
            if x.owner_kept[k] != x.owner[k]:
                return False
        return x.ports == x.most_ports or x.owner_kept[x.ports] == self.shared.m.nbody

    cdef double* P(self) noexcept nogil:
        return self.own_touch.P if self.own_touch.ports <= self.own_touch.most_ports else self.own_touch.P_room

    cdef int answer_ports(self) noexcept nogil:
        # P = -(rows at node 2) (-dr/dy)^-1 (rows at node 1)^T/h: what the step's operator answers, the constraints held
        cdef Touching* x = &self.own_touch
        cdef Newton* newton = &self.lane.newton
        cdef double* P = self.P()
        cdef double scaled = -1.0 / self.lane.now.h
        cdef int k, j, status = OK, count = self.shared.count, nv = self.nv
        memcpy(x.r, newton.r, nv * sizeof(double))
        memcpy(x.h, self.lane.held.h, count * sizeof(double))
        memset(self.lane.held.h, 0, count * sizeof(double))
        for k in range(x.ports):
            memcpy(newton.r, x.rows + k * nv, nv * sizeof(double))
            self.clear_locked(newton.r)
            status = self.direction()
            if status != OK:
                break
            for j in range(x.ports):
                P[j * x.ports + k] = scaled * vt_inner(nv, x.rows2 + j * nv, newton.d)
        memcpy(newton.r, x.r, nv * sizeof(double))
        memcpy(self.lane.held.h, x.h, count * sizeof(double))
        x.have_ports[0] = status == OK and x.ports <= x.most_ports
        if x.have_ports[0]:
            memcpy(x.owner_kept, x.owner, x.ports * sizeof(int))
            if x.ports < x.most_ports:
                x.owner_kept[x.ports] = self.shared.m.nbody
        return status

    cdef void place_rows2(self) noexcept nogil:
        # the rows at node 2, by increments
        cdef Touching* x = &self.own_touch
        cdef int k, nv = self.nv, limit = 0
        self.write_rows(x.there, x.pose2, x.W2, True)
        for k in range(self.shared.m.nbody):
            if x.port_of_body[k] >= 0:
                body_ports(self.shared.m, x.pose2, k, x.rows2 + x.port_of_body[k] * nv)
                limit += 6
        memcpy(x.rows2 + limit * nv, x.rows + limit * nv, (x.ports - limit) * nv * sizeof(double))
        for k in range(x.ports):
            self.by_increments(0, self.shared.m.nbody, x.rows2 + k * nv)

    cdef void couple_contacts(self) noexcept nogil:
        # G = W2^T P W1, and what yields
        cdef Touching* x = &self.own_touch
        cdef const vt_contact* e
        cdef double h = self.lane.now.h
        cdef int k
        self.cone_matrix(self.P(), x.W2)
        for k in range(x.count):
            e = &self.touch[x.member[k]]
            x.cones.give[k] = 0.0
            if e.stiffness != INFINITY:
                x.cones.give[k] = 1.0 / (h * (h * e.stiffness + e.damping))
                x.cones.G[x.cones.row[k] * (x.cones.n + 1)] += x.cones.give[k]

    cdef void cone_matrix(self, const double* P, const TouchRow* W2) noexcept nogil:
        # G = W2^T P W1
        cdef Touching* x = &self.own_touch
        cdef const TouchRow* W
        cdef double* G
        cdef int k, j, i, n = x.cones.n, width = x.ports
        for k in range(n):
            W, G = &W2[k], x.cones.G + k * n
            if W.a < 0 or W.size != 6:
                memset(x.T, 0, width * sizeof(double))
                if W.a >= 0:
                    vt_add_row(width, W.on_a[0], P + W.a * width, x.T)
            else:
                six_rows(W.on_a, P + W.a * width, width, x.T)
            if W.b >= 0:
                for j in range(6):
                    vt_add_row(width, W.on_b[j], P + (W.b + j) * width, x.T)
            for j in range(n):
                W = &x.W1[j]
                if W.size == 6 and W.a >= 0 and W.b < 0:
                    G[j] = six(W.on_a, x.T + W.a)
                else:
                    G[j] = along_row(W, x.T)

    # ---- passes ------------------------------------------------------------------------------------------------

    cdef double touch_goal(self) noexcept nogil:
        # the natural residual that will do [m/s]: b holds the velocities without impulses
        cdef Touching* x = &self.own_touch
        cdef double size = 1.0
        cdef int i
        for i in range(self.shared.m.nbody):
            size = max(size, vt_sqrt(dot(x.pose1[i].o, x.pose1[i].o)))
        return max(TOUCH_TOLERANCE * max(largest(x.cones.b, x.cones.n), largest(x.w, x.cones.n)),
                   TOUCH_ROUNDING * size / fabs(self.lane.now.h))

    cdef double touch_residual(self) noexcept nogil:
        # the natural residual [m/s] of the impulses and the velocities as they are; leaves b of the problem
        cdef Touching* x = &self.own_touch
        cdef Cones* y = &x.cones
        cdef int k
        for k in range(y.n):
            y.b[k] = x.w[k] - vt_inner(y.n, y.G + k * y.n, y.lam)
        for k in range(y.count):
            y.b[y.row[k]] += y.give[k] * y.lam[y.row[k]]
        return cone_map(y, y.lam, y.w, y.F, NULL)

    cdef void note_worst(self) noexcept nogil:
        cdef Touching* x = &self.own_touch
        cdef int k, j
        x.residual, x.worst = -1.0, -1
        for k in range(x.count):
            for j in range(x.cones.dim[k]):
                if fabs(x.cones.F[x.cones.row[k] + j]) > x.residual:
                    x.residual, x.worst = fabs(x.cones.F[x.cones.row[k] + j]), x.member[k]

    cdef int iterate_touches(self) noexcept nogil:
        # Newton's corrections of the increment and, at its velocities, impulses that solve the cones
        cdef Touching* x = &self.own_touch
        cdef Pass* p = self.lane.newton.now
        cdef double closed = 0.0, e, found, before = INFINITY, found_before = INFINITY, goal = 0.0
        cdef bint have = self.ports_at_hand(), old = have
        cdef int k, status
        p.solver, p.k, p.most, p.turned, p.required, p.sound = RECURSIVE_NEWTON, 0, TOUCH_PASSES, False, EVEN, True
        if not self.foretell():
            self.gather_push()
        self.kick_node()
        x.cut = 0
        for k in range(TOUCH_PASSES):
            e = self.residual()
            if self.lane.now.cause == CALLBACK_FAILED:
                return CALLBACK_FAILED
            if not isfinite(e):
                return TURNED_TOO_FAR if p.turned else NOT_CONVERGED
            if k == 0:
                p.scale = self.measure() if self.shared.choices.gain == NULL else self.energy_scale()
                if self.shared.count:
                    closed = self.closed()
            p.scale = vt_max_nan(p.scale, largest(x.kick, self.nv))
            if self.shared.m.nlocked and k <= 2:
                p.scale = vt_max_nan(p.scale, self.motion_scale())
            p.goal = max(self.shared.choices.tolerance * p.scale, self.shared.choices.rounding * fabs(self.lane.now.h))
            if self.shared.count:
                e = vt_max_nan(e, largest(self.lane.held.h, self.shared.count) * (p.goal / closed))
            p.error = self.lane.now.error = e
            self.measure_touches()
            self.place_rows2()
            found = INFINITY
            if have:
                if k == 0:
                    self.couple_contacts()
                    if x.foretold:
                        e = self.stay(e)
                if not x.foretold:
                    found = self.touch_residual()
                    goal = self.touch_goal()
                    if e <= p.goal and found <= goal:
                        x.passes += k
                        return OK if p.sound and self.turns_little() else WRONG_BRANCH
            if not have or not ((e <= p.goal or e < TOUCH_CONTRACTION * before)
                                and (found <= goal or found < TOUCH_CONTRACTION * found_before)):
                # an operator of a step behind is tried first
                if not (old and k == 0):
                    status = self.factor()
                    if status == OK:
                        status = self.answer_ports()
                    if status != OK:
                        return status
                    have, old = True, False
            if k > 0 or not old:
                self.couple_contacts()
            status = self.correct_touches()
            if status != OK:
                return status
            self.lane.now.iterations += 1
            if x.settled:
                x.passes += k
                return OK if p.sound and self.turns_little() else WRONG_BRANCH
            before, found_before = e, x.before
        self.note_worst()
        return NOT_CONVERGED

    cdef bint foretell(self) noexcept nogil:
        # u from that of past steps, where the increment is from those as well
        cdef Touching* x = &self.own_touch
        if not (x.fresh and self.ports_at_hand() and self.lane.guess.seen.count and x.past.seen.count > 1):
            return False
        guess_scale(&x.past, x.most_ports, self.lane.now.h)
        guess_predict(&x.past, x.most_ports, guess_order(&x.past), x.T)
        memcpy(x.u, x.T, x.ports * sizeof(double))
        x.foretold = True
        return True

    cdef double stay(self, double e) noexcept nogil:
        # the impulses at hand rather than u foretold, where they will do; returns the residual
        cdef Touching* x = &self.own_touch
        cdef Newton* newton = &self.lane.newton
        cdef int k
        memset(x.T, 0, x.ports * sizeof(double))
        for k in range(x.cones.n):
            add_touch_row(&x.W1[k], x.cones.lam[k], x.T)
        memset(newton.d, 0, self.nv * sizeof(double))
        for k in range(x.ports):
            vt_add_row(self.nv, x.u[k] - x.T[k], x.rows + k * self.nv, newton.d)
        self.clear_locked(newton.d)
        if e + largest(newton.d, self.nv) > newton.now.goal:
            return e
        vt_add_row(self.nv, 1.0, newton.d, newton.r)
        memcpy(x.u, x.T, x.ports * sizeof(double))
        x.foretold = False
        self.kick_node()
        newton.now.error = self.lane.now.error = self.weighted(largest(newton.r, self.nv))
        return newton.now.error

    cdef int correct_touches(self) noexcept nogil:
        # d0 = -(dr/dy)^-1 r,  b = w + J2 d0/h - W2^T P u,  lam that solves the cones,
        # y += -(dr/dy)^-1 (r - J1^T lam + rows^T u),  u = W1 lam
        cdef Touching* x = &self.own_touch
        cdef Cones* y = &x.cones
        cdef Newton* newton = &self.lane.newton
        cdef Pass* p = newton.now
        cdef double inverse = 1.0 / self.lane.now.h, e, goal
        cdef int k, n = y.n
        cdef int status = self.direction()
        x.settled = False
        if status != OK:
            return status
        for k in range(x.ports):
            x.T[k] = inverse * vt_inner(self.nv, x.rows2 + k * self.nv, newton.d) - vt_inner(x.ports, self.P() + k * x.ports,
                                                                                             x.u)
        for k in range(n):
            y.b[k] = x.w[k] + along_row(&x.W2[k], x.T)
        x.before = cone_map(y, y.lam, y.w, y.F, NULL)
        goal = self.touch_goal()
        e = 0.2 * goal if p.error <= p.goal else max(0.2 * goal, TOUCH_SHARE * x.before)
        if cone_solve(y, e) > e:
            x.cut += 1
            if x.cut == TOUCH_CUTS:
                self.note_worst()
                return NOT_CONVERGED
        memset(x.T, 0, x.ports * sizeof(double))
        for k in range(n):
            add_touch_row(&x.W1[k], y.lam[k], x.T)
        for k in range(x.ports):
            vt_add_row(self.nv, x.u[k] - x.T[k], x.rows + k * self.nv, newton.r)
        memcpy(x.u, x.T, x.ports * sizeof(double))
        self.clear_locked(newton.r)
        if x.foretold:
            x.foretold = False
            if p.error <= p.goal and not (self.shared.count or self.shared.m.nlocked):
                # the increment holds with the impulses that solve the cones
                e = self.weighted(largest(newton.r, self.nv))
                if e <= p.goal and self.touch_residual() <= goal:
                    p.error = self.lane.now.error = e
                    self.kick_node()
                    x.settled = True
                    return OK
        status = self.direction()
        if status != OK:
            return status
        if self.shared.m.rubbing:
            self.stop_at_rest()
        if self.shared.ndrive:
            self.stop_within_effort()
        self.correct()
        self.kick_node()
        return OK

    cdef bint turns_little(self) noexcept nogil:
        # the certificate of a step that contacts bend: no prediction knows of them
        cdef double turn = self.largest_turn(self.lane.newton.y)
        self.show_margin(turn, NAN)
        return turn < LONG_TURN

    # ---- what is told of a step that was not solved -------------------------------------------------------------

    @property
    def worst_contact(self):
        """The contact that the last step left unsolved, or -1."""
        return self.own_touch.worst if self.ntouch else -1

    @property
    def worst_residual(self):
        """What it lacks [m/s], and its gap [m]."""
        return self.own_touch.residual, self.own_touch.there[self.own_touch.worst].gap
