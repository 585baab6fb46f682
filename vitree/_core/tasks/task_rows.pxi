# Tasks of a model, for Python.

cdef struct LimitOf:        # of one of the caller's coordinates
    int iq                  # its place in the configuration, or -1: no limit of position
    double lower            # [m or rad]
    double upper
    double speed            # [m/s or rad/s]
    double rate             # [m/s^2 or rad/s^2]


cdef enum:                  # what a step or a descent found
    INSIDE = 0
    OVER = 1                # the least squares are beyond bounds
    NOT_FINITE = 2          # errors are NaN or infinite
    INDEFINITE = 3
    REACHED = 4
    STATIONARY = 5
    NOT_YET = 6


cdef void* taken(list memory, size_t count, size_t size) except NULL:
    # zeros that last as long as the list
    cdef double[::1] room = np.zeros((count * size) // sizeof(double) + 1)
    memory.append(room)
    return &room[0]


cdef class TaskRows:
    """Errors and Jacobians of tasks, and steps towards their targets.

    ``tasks`` are rows of numbers and arrays as ``vitree/control/tasks.py`` has them. ``lead`` and ``factor`` (nv,) say
    which of the n coordinates of the caller each of the core follows, and ``place`` (n,) where these are.
    """

    cdef CoreModel core
    cdef readonly int n
    cdef readonly int rows
    cdef readonly int levels        # the largest priority
    cdef int count
    cdef Task* task
    cdef LimitOf* limit
    cdef Mechanism x
    cdef double* work
    cdef double* e                  # (rows,)
    cdef double* J                  # (rows, n)
    cdef double* A                  # (rows, n) weighted, in what is free
    cdef double* b                  # (rows,)
    cdef double* Z                  # (n, n)
    cdef double* H
    cdef double* L
    cdef double* g
    cdef double* y
    cdef double* v
    cdef double* dq                 # (n,) the last step
    cdef double* dq_full            # (nv,)
    cdef double* q                  # (nq,)
    cdef double* q2
    cdef int* order                 # (rows + n,)
    cdef int* free                  # (2 n,)
    cdef int more                   # rows of A beyond those of tasks
    cdef int left_free              # columns of Z
    cdef public bint whole          # steps remove whole errors, whatever the gains are
    cdef readonly object lower      # (n,) bounds of the last step
    cdef readonly object upper
    cdef double* low
    cdef double* up
    cdef list memory

    def __cinit__(self, CoreModel core, list tasks, const int[::1] lead, const double[::1] factor,
                  const int[::1] place, limits, int more):
        cdef const vt_model* m = &core.m
        cdef Task* t
        cdef const double[::1] numbers, target, weight, gain
        cdef double[::1] bound
        cdef int k, i, c, n = place.shape[0], row = 0
        self.core, self.n, self.count, self.more = core, n, len(tasks), more
        require_size(lead.shape[0], m.nv, "coordinates that follow")
        require_size(factor.shape[0], m.nv, "factors of coordinates")
        self.memory = [lead, factor, place]
        for k in range(m.nv):
            if not 0 <= lead[k] < n:
                raise ValueError(f"coordinates follow others than {n}")
        for k in range(n):
            if not 0 <= place[k] < m.nv:
                raise ValueError(f"places of other coordinates than {m.nv}")
        self.task = <Task*>taken(self.memory, max(self.count, 1), sizeof(Task))
        for k, each in enumerate(tasks):
            t = &self.task[k]
            t.kind, t.level, t.goal, t.body, t.base, numbers, target, weight, gain, columns = each
            if not (-1 <= t.body < m.nbody and -1 <= t.base < m.nbody and 0 <= t.level):
                raise ValueError("a task of a frame or level that does not exist")
            require_size(numbers.shape[0], 27, "numbers of a task")
            require_size(gain.shape[0], 1, "gains of a task")
            t.rows = (6 if t.kind == POSE_TASK else 1 if t.kind == COUPLING_TASK
                      else n if t.kind == POSTURE_TASK or t.kind == DAMPING_TASK else 3)
            require_size(weight.shape[0], t.rows, "weights of a task")
            require_size(target.shape[0], m.nq if t.kind == POSTURE_TASK else 1 + m.nq + n if t.kind == COUPLING_TASK
                         else 12, "numbers of a target")
            for i in range(9):
                t.E[i], t.base_E[i] = numbers[i], numbers[12 + i]
            for i in range(3):
                t.p[i], t.base_p[i], t.axis[i] = numbers[9 + i], numbers[21 + i], numbers[24 + i]
            t.target, t.weight, t.gain = &target[0], &weight[0], &gain[0]
            self.memory += [target, weight, gain]
            t.row = row
            row += t.rows
            self.levels = max(self.levels, t.level)
            t.columns = len(columns)
            t.column = <int*>taken(self.memory, max(t.columns, 1), sizeof(int))
            for i in range(t.columns):
                c = columns[i]
                if not 0 <= c < n:
                    raise ValueError(f"columns of a task beyond {n}")
                t.column[i] = c
        self.rows = row
        self.limit = <LimitOf*>taken(self.memory, max(n, 1), sizeof(LimitOf))
        for k in range(n):
            self.limit[k].iq, self.limit[k].lower, self.limit[k].upper, self.limit[k].speed, self.limit[k].rate = limits[k]
            if not -1 <= self.limit[k].iq < m.nq:
                raise ValueError("a limit of no coordinate")
        self.x.m, self.x.n = m, n
        self.x.lead, self.x.factor, self.x.place = &lead[0], &factor[0], &place[0]
        self.x.pose = <Pose*>taken(self.memory, m.nbody, sizeof(Pose))
        self.x.mass = <double*>taken(self.memory, m.nbody, sizeof(double))
        self.x.first = <Vec3*>taken(self.memory, m.nbody, sizeof(Vec3))
        self.x.y = <double*>taken(self.memory, m.nv, sizeof(double))
        self.x.unit = <double*>taken(self.memory, m.nv, sizeof(double))
        self.x.slope = <double*>taken(self.memory, m.nv, sizeof(double))
        self.e = <double*>taken(self.memory, row + 1, sizeof(double))
        self.J = <double*>taken(self.memory, (row + 1) * n, sizeof(double))
        self.A = <double*>taken(self.memory, (row + more + 1) * n, sizeof(double))
        self.b = <double*>taken(self.memory, row + more + 1, sizeof(double))
        self.Z = <double*>taken(self.memory, n * n, sizeof(double))
        self.H = <double*>taken(self.memory, n * n, sizeof(double))
        self.L = <double*>taken(self.memory, n * n, sizeof(double))
        self.g = <double*>taken(self.memory, n, sizeof(double))
        self.y = <double*>taken(self.memory, n, sizeof(double))
        self.v = <double*>taken(self.memory, n, sizeof(double))
        self.dq = <double*>taken(self.memory, n, sizeof(double))
        self.dq_full = <double*>taken(self.memory, m.nv, sizeof(double))
        self.q = <double*>taken(self.memory, m.nq, sizeof(double))
        self.q2 = <double*>taken(self.memory, m.nq, sizeof(double))
        self.order = <int*>taken(self.memory, row + more + 1, sizeof(int))
        self.free = <int*>taken(self.memory, 2 * n, sizeof(int))
        self.lower, self.upper = np.zeros(n + 1)[:n], np.zeros(n + 1)[:n]
        bound = self.lower
        self.low = &bound[0]
        bound = self.upper
        self.up = &bound[0]

    # ---- rows ---------------------------------------------------------------------------------------

    cdef void place_at(self, const double* q, double* e, double* J) noexcept nogil:
        cdef int k
        cdef const Task* t
        forward_kinematics(self.x.m, q, self.x.pose)
        for k in range(self.count):
            t = &self.task[k]
            task_rows(&self.x, t, q, e + t.row, NULL if J == NULL else J + t.row * self.n)

    def evaluate(self, const double[::1] q, double[::1] e, J=None):
        """Write the errors (rows,) at the core's q, and their Jacobian (rows, n)."""
        cdef double[:, ::1] to
        cdef double* at = NULL
        cdef const double* given = entries(q, self.core.m.nq, "entries of q")
        require_size(e.shape[0], self.rows, "errors")
        if J is not None:
            to = J
            require_shape(J, (self.rows, self.n))
            at = &to[0, 0] if self.rows and self.n else NULL
        with cython.critical_section(self):
            if self.rows:
                self.place_at(given, &e[0], at)

    def gaps(self, const double[::1] q, ShapeList shapes, const int[:, ::1] pairs, double within, double[::1] gap,
             int[::1] which, double[:, ::1] J):
        """Write the gaps [m] below ``within`` of pairs of shapes, their numbers and slopes; return how many."""
        cdef int k, count = pairs.shape[0]
        cdef const double* given = entries(q, self.core.m.nq, "entries of q")
        if count == 0:
            return 0
        require_size(gap.shape[0], count, "gaps")
        require_size(which.shape[0], count, "numbers of pairs")
        require_shape(J, (count, self.n))
        for k in range(count):
            if not (0 <= pairs[k, 0] < shapes.count and 0 <= pairs[k, 1] < shapes.count):
                raise ValueError(f"pairs of other shapes; there are {shapes.count}")
        with cython.critical_section(self):
            forward_kinematics(self.x.m, given, self.x.pose)
            k = gap_rows(&self.x, shapes.list, &pairs[0, 0], count, within, &gap[0], &which[0], &J[0, 0])
        return k

    # ---- steps --------------------------------------------------------------------------------------

    cdef void bound(self, const double* q, double dt, const double* before) noexcept nogil:
        # bounds of the displacements over dt: of velocity, of position with the distance to brake, and of acceleration from
        # the velocity before. Where these contradict each other, acceleration gives way first, then position
        cdef const LimitOf* a
        cdef int k
        cdef double low, up, below, above, s, slow, fast
        for k in range(self.n):
            a = &self.limit[k]
            # without an end of time there are limits of position alone, and coordinates that do not move
            up = a.speed * dt if dt < INFINITY else INFINITY if a.speed > 0.0 else 0.0
            low = -up
            if a.iq >= 0:
                below, above = a.lower - q[a.iq], a.upper - q[a.iq]
                if a.rate < INFINITY and dt < INFINITY:
                    below, above = -brake(-below, a.rate, dt), brake(above, a.rate, dt)
                low, up = min(max(low, below), up), max(min(up, above), low)
            if before != NULL and a.rate < INFINITY:
                s = a.rate * dt
                slow, fast = (before[k] - s) * dt, (before[k] + s) * dt
                slow, fast = min(max(slow, low), up), min(max(fast, low), up)
                low, up = slow, fast
            self.low[k], self.up[k] = low, up

    cdef inline double share(self, const Task* t) noexcept nogil:
        return 1.0 if self.whole else t.gain[0]

    cdef double normal(self, int level, double* H, double* g) noexcept nogil:
        # H and g of the weighted squares of a level, by the columns that are not zero; returns half the squares of errors
        cdef const Task* t
        cdef const double* J
        cdef int k, r, i, j, n = self.n
        cdef double w, s, half = 0.0
        memset(H, 0, n * n * sizeof(double))
        memset(g, 0, n * sizeof(double))
        for k in range(self.count):
            t = &self.task[k]
            if t.level != level:
                continue
            for r in range(t.rows):
                w = t.weight[r] * t.weight[r]
                J, s = self.J + (t.row + r) * n, self.e[t.row + r]
                half += 0.5 * w * s * s
                if w == 0.0:
                    continue
                if t.kind == DAMPING_TASK:
                    H[r * n + r] += w
                    continue
                if t.kind == POSTURE_TASK and self.x.m.nmulti == 0:
                    H[r * n + r] += w
                    g[r] += w * self.share(t) * s
                    continue
                for i in range(t.columns):
                    s = w * J[t.column[i]]
                    if s == 0.0:
                        continue
                    g[t.column[i]] += s * self.share(t) * self.e[t.row + r]
                    for j in range(i + 1):
                        H[t.column[i] * n + t.column[j]] += s * J[t.column[j]]
        return half

    cdef double left(self, int level) noexcept nogil:
        # half the weighted squares of errors that have to vanish: Sugihara's damping
        cdef const Task* t
        cdef int k, r
        cdef double s, half = 0.0
        for k in range(self.count):
            t = &self.task[k]
            if t.goal and t.level == level:
                for r in range(t.rows):
                    s = t.weight[r] * self.e[t.row + r]
                    half += 0.5 * s * s
        return half

    cdef int one_level(self, double damping) noexcept nogil:
        # dq: the least squares of level 1 within bounds
        cdef int k, n = self.n
        self.normal(1, self.H, self.g)
        damping += self.left(1)
        for k in range(n):
            self.H[k * n + k] += damping
        if box_least(self.H, self.g, self.low, self.up, n, self.dq, self.L, self.y, self.free, self.free + n) < 0:
            return INDEFINITE
        return INSIDE

    cdef int level_rows(self, int level) noexcept nogil:
        # A (rows, free) and b of a level in what is free, at dq; returns how many rows
        cdef const Task* t
        cdef const double* J
        cdef double* row
        cdef double w
        cdef int k, r, i, j, rows = 0, n = self.n, free = self.left_free
        for k in range(self.count):
            t = &self.task[k]
            if t.level != level:
                continue
            for r in range(t.rows):
                w = t.weight[r]
                if w == 0.0:
                    continue
                J, row = self.J + (t.row + r) * n, self.A + rows * free
                self.b[rows] = -w * (self.share(t) * self.e[t.row + r] + vt_inner(n, J, self.dq))
                if free == n:
                    # nothing was used, and Z is the identity
                    for i in range(n):
                        row[i] = w * J[i]
                else:
                    memset(row, 0, free * sizeof(double))
                    for i in range(t.columns):
                        j = t.column[i]
                        if J[j] != 0.0:
                            vt_add_row(free, w * J[j], self.Z + j * free, row)
                rows += 1
        return rows

    cdef void add_free(self, int used) noexcept nogil:
        # dq += Z y by the first columns of Z
        cdef int i
        for i in range(self.n):
            self.dq[i] += vt_inner(used, self.Z + i * self.left_free, self.y)

    cdef void drop(self, int used) noexcept nogil:
        # the first columns of Z are used; the others, closer together
        cdef int i, j, free = self.left_free
        for i in range(self.n if used else 0):
            for j in range(free - used):
                self.Z[i * (free - used) + j] = self.Z[i * free + used + j]
        self.left_free = free - used

    cdef int begin(self, const double* h, const double* Dh, int more) noexcept nogil:
        # dq and what is free by the equations: rows Dh dq = -h, and tasks of level 0. Their damping vanishes with what is left
        # of them
        cdef int n = self.n, i, r, rows, used
        memset(self.Z, 0, n * n * sizeof(double))
        memset(self.dq, 0, n * sizeof(double))
        for i in range(n):
            self.Z[i * n + i] = 1.0
        self.left_free = n
        rows = self.level_rows(0)
        memcpy(self.A + rows * n, Dh, more * n * sizeof(double))
        for r in range(more):
            self.b[rows + r] = -h[r]
        rows += more
        if rows == 0:
            return INSIDE
        used = reflect_rows(self.A, rows, n, self.order, self.Z, n, self.v)
        if used and solve_rows(self.A, rows, n, used, self.b, 0.5 * vt_inner(rows, self.b, self.b), self.H, self.y) < 0:
            return INDEFINITE
        self.add_free(used)
        self.drop(used)
        return INSIDE

    cdef int in_levels(self, double damping, const double* h, const double* Dh, int more) noexcept nogil:
        # dq: the levels in strict order without bounds, the first of which has the rows Dh dq = -h
        cdef int level, rows, i, free, used
        if self.begin(h, Dh, more) != INSIDE:
            return INDEFINITE
        for level in range(1, self.levels + 1):
            free, rows = self.left_free, self.level_rows(level)
            if rows == 0 or free == 0:
                continue
            used = free if level == self.levels else reflect_rows(self.A, rows, free, self.order, self.Z, self.n, self.v)
            if used and solve_rows(self.A, rows, free, used, self.b, damping + self.left(level), self.H, self.y) < 0:
                return INDEFINITE
            self.add_free(used)
            self.drop(used)
        for i in range(self.n):
            if not self.low[i] - 1e-12 <= self.dq[i] <= self.up[i] + 1e-12:
                return OVER
        return INSIDE

    def equations(self, const double[::1] h, const double[:, ::1] Dh):
        """Solve the rows Dh dq = -h and those of level 0 at the last step's q; False if that fails."""
        cdef int more = h.shape[0], found
        if more > self.more or Dh.shape[0] != more or (more and Dh.shape[1] != self.n):
            raise ValueError(f"at most {self.more} rows of {self.n} numbers; {more} were given")
        with cython.critical_section(self):
            found = self.begin(&h[0] if more else NULL, &Dh[0, 0] if more else NULL, more)
        return found == INSIDE

    def program(self, int level, double damping, const double[:, ::1] G, const double[::1] least, double[::1] H,
                double[::1] g, double[::1] rows, double[::1] low, double[::1] high):
        """Write the quadratic program of a level for z of dq + Z z, within bounds and with G (dq + Z z) >= least.

        H (k, k), g (k,), general rows (r, k), and bounds of z where Z is the identity, then of the rows. Returns (k, number
        of bounds of z, r); None where the level has no rows or nothing is free, and False where a row that nothing moves is
        beyond its bounds.
        """
        cdef int k = self.left_free, n = self.n, m = G.shape[0], count, i, j, r, bounds = 0
        cdef double* row
        cdef double most, at
        require_size(least.shape[0], m, "least products")
        if (m and G.shape[1] != n) or H.shape[0] < n * n or g.shape[0] < n or rows.shape[0] < (n + m) * n or (
                low.shape[0] < n + m or high.shape[0] < n + m):
            raise ValueError("memory of a program that is too small")
        with cython.critical_section(self):
            count = self.level_rows(level)
            if k == 0 or (count == 0 and level < self.levels):
                return None
            normal_rows(self.A, count, k, k, self.b, damping + self.left(level), &H[0], &g[0])
            for i in range(k):
                for j in range(i):
                    H[j * k + i] = H[i * k + j]
            r = 0
            for i in range(n + m):
                if i < n:
                    if k == n:
                        low[bounds], high[bounds] = self.low[i] - self.dq[i], self.up[i] - self.dq[i]
                        bounds += 1
                        continue
                    if self.low[i] == -INFINITY and self.up[i] == INFINITY:
                        continue
                row, at = &rows[r * k], 0.0
                if i < n:
                    memcpy(row, self.Z + i * k, k * sizeof(double))
                    low[r], high[r] = self.low[i] - self.dq[i], self.up[i] - self.dq[i]
                else:
                    memset(row, 0, k * sizeof(double))
                    for j in range(n):
                        if G[i - n, j] != 0.0:
                            at += G[i - n, j] * self.dq[j]
                            vt_add_row(k, G[i - n, j], self.Z + j * k, row)
                    low[bounds + r], high[bounds + r] = least[i - n] - at, INFINITY
                most = 0.0
                for j in range(k):
                    most = max(most, fabs(row[j]))
                # what nothing moves is within its bounds up to rounding errors, or never
                if most > DEPENDENT:
                    r += 1
                elif low[bounds + r] > 1e-9 or high[bounds + r] < -1e-9:
                    return False
        return k, bounds, r

    def advance(self, int level, const double[::1] z, double[::1] dq):
        """Add Z z to the displacement, which is written to dq (n,), and keep what a level leaves free."""
        cdef int rows, used
        require_size(z.shape[0], self.left_free, "entries of z")
        require_size(dq.shape[0], self.n, "entries of the displacement")
        with cython.critical_section(self):
            rows = self.level_rows(level)
            memcpy(self.y, &z[0], self.left_free * sizeof(double))
            self.add_free(self.left_free)
            if level < self.levels:
                used = reflect_rows(self.A, rows, self.left_free, self.order, self.Z, self.n, self.v)
                self.drop(used)
            memcpy(&dq[0], self.dq, self.n * sizeof(double))

    cdef bint finite(self) noexcept nogil:
        cdef int k
        cdef double s = 0.0
        for k in range(self.rows):
            s += self.e[k] - self.e[k]
        return s == 0.0

    def step(self, const double[::1] q, double dt, before, double damping, const double[::1] h, const double[:, ::1] Dh,
             double[::1] dq):
        """Write the displacement (n,) over dt [s] from the core's q; return what was found.

        ``before`` are velocities (n,) before, or None; h and Dh (m, n) rows of constraints Dh dq = -h.
        """
        cdef const double* given = entries(q, self.core.m.nq, "entries of q")
        cdef const double[::1] earlier
        cdef const double* last = NULL
        cdef int found, more = h.shape[0]
        if before is not None:
            earlier = before
            last = entries(earlier, self.n, "velocities before")
        require_size(dq.shape[0], self.n, "entries of the displacement")
        if more > self.more or Dh.shape[0] != more or (more and Dh.shape[1] != self.n):
            raise ValueError(f"at most {self.more} rows of {self.n} numbers; {more} were given")
        with cython.critical_section(self):
            self.bound(given, dt, last)
            self.place_at(given, self.e, self.J)
            if not self.finite():
                found = NOT_FINITE
            elif more == 0 and self.levels <= 1 and not self.level_zero():
                found = self.one_level(damping)
            else:
                found = self.in_levels(damping, &h[0] if more else NULL, &Dh[0, 0] if more else NULL, more)
            memcpy(&dq[0], self.dq, self.n * sizeof(double))
        return found

    cdef bint level_zero(self) noexcept nogil:
        cdef int k
        for k in range(self.count):
            if self.task[k].level == 0:
                return True
        return False

    cdef double goal(self, int level) noexcept nogil:
        # the largest error of tasks that have to be reached, up to a level; of rows with a weight
        cdef const Task* t
        cdef int k, r
        cdef double most = 0.0
        for k in range(self.count):
            t = &self.task[k]
            if t.goal and t.level <= level:
                for r in range(t.rows):
                    if t.weight[r] != 0.0:
                        most = max(most, fabs(self.e[t.row + r]))
        return most

    cdef bint soft(self, int level) noexcept nogil:
        # whether a level has tasks that need not be reached
        cdef int k
        for k in range(self.count):
            if self.task[k].level == level and not self.task[k].goal and self.task[k].kind != DAMPING_TASK:
                return True
        return False

    def descend(self, double[::1] q, int iterations, double tolerance, double damping, double stall):
        """Move the core's q to a least of the weighted squares of level 1, within limits of position.

        By the damping of Sugihara 2011, which is larger where a step did not lower the squares. It ends where the squares may
        fall by less than the share ``stall`` of them. Returns what was found, and the number of iterations.
        """
        cdef const vt_model* m = &self.core.m
        cdef const double* given = entries(q, m.nq, "entries of q")
        cdef int k, i, n = self.n, found = NOT_YET, passes = 0
        cdef double half, before = INFINITY, more = 1.0, most, gain, size, slope
        cdef bint soft = self.soft(1)
        with cython.critical_section(self):
            memcpy(self.q2, given, m.nq * sizeof(double))
            memcpy(self.q, given, m.nq * sizeof(double))
            while True:
                # q2 is tried, q is the best so far
                self.place_at(self.q2, self.e, self.J)
                if not self.finite():
                    found = NOT_FINITE
                    break
                half = self.normal(1, self.H, self.g)
                if half > before * (1.0 - 1e-12) and before < INFINITY:
                    if half <= before * (1.0 + 1e-12) and more > 1.0:
                        found = STATIONARY
                        break
                    more = more * 8.0
                    if more > 1e9 or passes >= iterations:
                        found = STATIONARY if more > 1e9 else NOT_YET
                        self.place_at(self.q, self.e, self.J)
                        break
                    self.place_at(self.q, self.e, self.J)
                    half = self.normal(1, self.H, self.g)
                else:
                    memcpy(self.q, self.q2, m.nq * sizeof(double))
                    most = self.goal(1)
                    if most < tolerance and not soft:
                        found = REACHED
                        break
                    if passes >= iterations:
                        break
                    before = half
                    # at a singular target more damping than that would make convergence sublinear
                    more = max(0.25 * more, 1e-6)
                passes += 1
                for k in range(n):
                    self.H[k * n + k] += more * half + damping
                for k in range(n):
                    i = self.limit[k].iq
                    self.low[k] = self.limit[k].lower - self.q[i] if i >= 0 else -INFINITY
                    self.up[k] = self.limit[k].upper - self.q[i] if i >= 0 else INFINITY
                    if self.limit[k].speed == 0.0:
                        self.low[k] = self.up[k] = 0.0
                    self.low[k], self.up[k] = min(self.low[k], 0.0), max(self.up[k], 0.0)
                if box_least(self.H, self.g, self.low, self.up, n, self.dq, self.L, self.y, self.free, self.free + n) < 0:
                    found = INDEFINITE
                    break
                size = slope = 0.0
                for k in range(n):
                    size = max(size, fabs(self.dq[k]))
                    slope -= self.g[k] * self.dq[k]
                # by how much the squares may fall, at most
                if slope < stall * half or size < 1e-13:
                    found = STATIONARY
                    break
                for k in range(m.nv):
                    self.dq_full[k] = self.x.factor[k] * self.dq[self.x.lead[k]]
                integrate(m, self.q, self.dq_full, self.q2)
            most = self.goal(1)
            memcpy(&q[0], self.q, m.nq * sizeof(double))
        if found == STATIONARY and most < tolerance:
            found = REACHED
        return found, passes


cdef inline double brake(double way, double rate, double dt) noexcept nogil:
    # the largest displacement over dt after which a coordinate that brakes at `rate`, in steps, stops within a way
    cdef double s = rate * dt * dt
    if not way < INFINITY:
        return way
    if way <= 0.125 * s:
        return min(way, 0.0)
    return min(way, -0.5 * s + sqrt(0.25 * s * s + 2.0 * s * (way - 0.125 * s)))
