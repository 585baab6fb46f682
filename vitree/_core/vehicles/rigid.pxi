# Integrators of vehicles that are one rigid body on SE(3) (Kobilarov et al. 2009, sections 3.3 and 4.2): the
# variational one and the baselines. q = (position, quaternion xyzw).

cdef enum:
    EXP = 0
    CAYLEY = 1
    DUAL_CAYLEY = 2
    TRAPEZOIDAL = 3

#: Maps tau from twists to displacements; "trapezoidal" is the dual Cayley map with C cut to 1 - ad/2.
MAPS = {"exp": EXP, "cayley": CAYLEY, "dual-cayley": DUAL_CAYLEY, "trapezoidal": TRAPEZOIDAL}

cdef enum:
    GUESSES = 5         # backward differences kept: extrapolations of orders 1 to 4

#: Largest turn of a step by the exponential map, which the logarithm takes back [rad], and what trials are cut to.
cdef double TURN = 3.141592653589793
cdef double CUT = 3.0
#: A residual that stops falling below this share of the momentum is rounding.
cdef double ROUNDING = 1e-13


# ---- maps from twists to displacements -----------------------------------------------------------

cdef inline void displacement(int map, Six x, Quat* turn, Vec3* p) noexcept nogil:
    # tau(x) (eqs. 11-13; the Cayley map moves as its 4x4 matrix does, which is not the B of eq. 13)
    cdef double s, k
    if map == EXP:
        exp_se3(x.a, x.b, turn, p)
        return
    s = dot(x.a, x.a)
    turn[0] = quat_normalised(quat(scale(0.5, x.a), 1.0))
    k = 1.0 / (4.0 + s)
    p[0] = scale(2.0 * k, axpy(2.0, x.b, cross(x.a, x.b)))
    if map == CAYLEY:
        p[0] = axpy(k * dot(x.a, x.b), x.a, p[0])


cdef inline Six transport(Quat turn, Vec3 p, Six F) noexcept nogil:
    # Ad_g^T of a wrench, g = (turn, p): seen from where the displacement leads
    cdef Mat3 R = quat_matrix(turn)
    return six(tmul(R, sub(F.a, cross(p, F.b))), tmul(R, F.b))


cdef inline Six pull(int map, Six x, Six p) noexcept nogil:
    # C(x)^T p, C(x) the inverse of tau's right-trivialised tangent
    cdef Six r
    cdef Vec3 s
    if map == EXP:
        # dlog_x^T by the blocks of dlog_-x
        dlog_se3(neg(x.a), neg(x.b), p.b, p.a, &r.b, &r.a)
        return r
    s = axpy(0.5, cross(x.a, p.b), p.b)
    r.a = axpy(0.5, cross(x.a, p.a), p.a)
    r.b = s
    if map == CAYLEY:
        r.a = axpy(0.5, cross(x.b, s), axpy(0.25 * dot(x.a, p.a), x.a, r.a))
    else:
        r.a = axpy(0.5, cross(x.b, p.b), r.a)
        if map == DUAL_CAYLEY:
            r.a = axpy(0.25 * (dot(x.a, p.a) + dot(x.b, p.b)), x.a, axpy(0.25 * dot(x.a, p.b), x.b, r.a))
            r.b = axpy(0.25 * dot(x.a, p.b), x.a, s)
    return r


cdef inline Mat3 cayley_pull(Vec3 w) noexcept nogil:
    # 1 + hat(w)/2
    return plus_diagonal(hat(scale(0.5, w)), 1.0)


cdef void pull_slope(int map, Six x, Six p, Sym3 J, Sym3 M, double h, Blocks* A) noexcept nogil:
    # A = C(x)^T I + h D, D the derivative of C(x)^T p by x
    cdef AdMatrix C
    cdef WrenchSlope D
    cdef Mat3 half = cayley_pull(x.a), aa, ab, bb
    if map == EXP:
        C = dlog_matrix(x.a, x.b)
        D = ddlog_pull(x.a, x.b, p.a, p.b)
        aa = bb = transpose(C.d)
        ab = transpose(C.e)
        A.aa, A.ab = D.M, D.K
        A.ba, A.bb = D.K, zero33()
    else:
        aa = bb = half
        ab = hat(scale(0.5, x.b))
        A.aa = hat(scale(-0.5, p.a))
        A.ab = A.ba = hat(scale(-0.5, p.b))
        A.bb = zero33()
        if map == CAYLEY:
            aa = outer(0.25, x.a, x.a, half)
            ab = mul3(ab, half)
            A.aa = outer(0.25, x.a, p.a, plus_diagonal(A.aa, 0.25 * dot(x.a, p.a)))
            # - hat(v) hat(b)/4
            A.aa = plus_diagonal(outer(-0.25, p.b, x.b, A.aa), 0.25 * dot(x.b, p.b))
            A.ab = hat(scale(-0.5, axpy(0.5, cross(x.a, p.b), p.b)))
        elif map == DUAL_CAYLEY:
            aa = bb = outer(0.25, x.a, x.a, half)
            ab = outer(0.25, x.a, x.b, outer(0.25, x.b, x.a, ab))
            A.aa = plus_diagonal(A.aa, 0.25 * (dot(x.a, p.a) + dot(x.b, p.b)))
            A.aa = outer(0.25, x.a, p.a, outer(0.25, x.b, p.b, A.aa))
            A.ab = A.ba = outer(0.25, x.a, p.b, plus_diagonal(A.ab, 0.25 * dot(x.a, p.b)))
    A.aa = add_scaled(h, A.aa, mul3(aa, full(J)))
    A.ab = add_scaled(h, A.ab, mul3(ab, full(M)))
    A.ba = scaled(h, A.ba)
    A.bb = add_scaled(h, A.bb, mul3(bb, full(M)))


# ---- steppers --------------------------------------------------------------------------------------

cdef struct Balance:            # C(h xi)^T I xi = p + k (F0 + S0 xi + what is written in Python), at a time and pose
    int map
    double t
    Vec3 x
    Mat3 R
    Six p
    double k
    Six F0
    Blocks S0


cdef int make_rigid(VehicleStepper self, dict options) except -1:
    cdef RigidBody body = options["body"]
    cdef double tolerance = options.get("tolerance", INFINITY)
    cdef int max_iterations = options.get("max_iterations", 0)
    self.body, self.goal, self.max_iterations = body, tolerance, max_iterations
    self.written = body.force is not None
    return 0


cdef void rigid_surroundings(VehicleStepper self, double t, Vec3 x, Mat3 R, Six* F, Blocks* S) noexcept nogil:
    # what does not depend on the velocity, with inputs and torque, and the slope of what does linearly
    self.body.act(t, x, R, F, S)
    rigid_drive(self, F)


cdef void rigid_drive(VehicleStepper self, Six* F) noexcept nogil:
    # add inputs and torque
    F[0] = axpy6(1.0, load6(self.lane.drive.tau), F[0])
    if self.shared.schedule.nu:
        F[0] = axpy6(1.0, self.body.control(self.lane.drive.u), F[0])


cdef int rigid_wrench(VehicleStepper self, double t, Vec3 x, Mat3 R, Six xi, const Six* F0, const Blocks* S0, Six* F,
                Blocks* S) noexcept nogil:
    # F at the velocity xi, and its slope, where not NULL
    F[0] = F0[0]
    if self.body.moving:
        F[0] = axpy6(1.0, apply(S0, xi), F[0])
    if S != NULL:
        S[0] = S0[0]
    return rigid_ask_force(self, t, x, R, xi, F, S) if self.written else OK


cdef int rigid_ask_force(VehicleStepper self, double t, Vec3 x, Mat3 R, Six xi, Six* F, Blocks* S) noexcept nogil:
    # add the force written in Python
    cdef double to[6]
    cdef double[:, ::1] pose
    cdef double[::1] twist
    cdef Blocks more
    if not largest6(xi) < INFINITY:
        return NOT_FINITE
    with gil:
        try:
            g, v = np.zeros((4, 4)), np.empty(6)
            pose, twist = g, v
            pose[0, 0], pose[1, 0], pose[2, 0] = R.x.x, R.x.y, R.x.z
            pose[0, 1], pose[1, 1], pose[2, 1] = R.y.x, R.y.y, R.y.z
            pose[0, 2], pose[1, 2], pose[2, 2] = R.z.x, R.z.y, R.z.z
            pose[0, 3], pose[1, 3], pose[2, 3], pose[3, 3] = x.x, x.y, x.z, 1.0
            store3(&twist[0], xi.a)
            store3(&twist[3], xi.b)
            u = self.array(self.lane.drive.u, self.shared.schedule.nu)
            self.read(self.body.force(t, g, v, u), 6, to, f"force(t, g, xi, u) at t = {t:.9g} s")
            F[0] = axpy6(1.0, six(load3(to), load3(to + 3)), F[0])
            if S != NULL and self.body.force_slope is not None:
                slope = np.asarray(self.body.force_slope(t, g, v, u), dtype=float)
                if slope.shape != (6, 6) or not np.isfinite(slope).all():
                    raise ValueError(f"force_slope(t, g, xi, u) at t = {t:.9g} s must be (6, 6) finite numbers")
                more = read_blocks(slope)
                S.aa, S.ab = add3(S.aa, more.aa), add3(S.ab, more.ab)
                S.ba, S.bb = add3(S.ba, more.ba), add3(S.bb, more.bb)
            return OK
        except BaseException as error:
            return self.fail(error)


cdef Six rigid_fictitious(VehicleStepper self, Six xi) noexcept nogil:
    # ad_xi^T I xi (eq. 8)
    cdef Six p = self.body.momentum(xi)
    return six(add(cross(p.a, xi.a), cross(p.b, xi.b)), cross(p.b, xi.a))


cdef int rigid_acceleration(VehicleStepper self, double t, Vec3 x, Mat3 R, Six xi, Six* out) noexcept nogil:
    # under inputs and torque as they stand
    cdef Six F0, F
    cdef Blocks S
    cdef int status
    rigid_surroundings(self, t, x, R, &F0, &S)
    status = rigid_wrench(self, t, x, R, xi, &F0, &S, &F, NULL)
    out[0] = self.body.velocity(axpy6(1.0, F, rigid_fictitious(self, xi)))
    return status


cdef int rigid_solve(VehicleStepper self, const Balance* b, Six* xi, Six* F) noexcept nogil:
    # xi of a balance, by Newton's method from a guess; F is the wrench at xi
    cdef Now* now = self.lane.now
    cdef int n, status
    cdef double h = now.h, e_old = INFINITY, turn, size = vt_max_nan(largest6(b.p), fabs(b.k) * largest6(b.F0))
    cdef Six X, I, r, d = xi[0], kept = d
    cdef Blocks S
    cdef bint cut = False
    now.contraction = NAN
    for n in range(self.max_iterations + 1):
        # r = C(h xi)^T I xi - p - k F
        status = rigid_wrench(self, b.t, b.x, b.R, xi[0], &b.F0, &b.S0, F, &S if b.k != 0.0 else NULL)
        if status != OK:
            return status
        X, I = scale6(h, xi[0]), self.body.momentum(xi[0])
        r = axpy6(-b.k, F[0], axpy6(-1.0, b.p, pull(b.map, X, I)))
        if n == 0:
            size = vt_max_nan(size, largest6(I))
        now.error, now.iterations = largest6(r), n
        if n > 0:
            now.contraction = now.error / e_old if e_old > 0.0 else NAN
        if n > 0 and not now.error <= 2.0 * e_old:
            # the correction went too far: take half of it
            d = scale6(0.5, d)
            xi[0] = axpy6(-1.0, d, kept)
            continue
        if not isfinite(now.error):
            return NOT_FINITE
        if (now.error <= self.goal * size
                or (now.error > 0.5 * e_old and now.error <= ROUNDING * size)):
            return TURNED_TOO_FAR if b.map == EXP and not dot(X.a, X.a) < TURN * TURN else OK
        e_old = now.error
        d, kept = rigid_direction(self, b, X, I, &S, r), xi[0]
        xi[0] = axpy6(-1.0, d, kept)
        if b.map == EXP:
            # a trial may not leave where the logarithm is defined
            turn = fabs(h) * vt_sqrt(dot(xi.a, xi.a))
            if turn > TURN:
                xi.a, cut = scale(CUT / turn, xi.a), True
    return TURNED_TOO_FAR if cut else NOT_CONVERGED


cdef Six rigid_direction(VehicleStepper self, const Balance* b, Six X, Six I, const Blocks* S, Six r) noexcept nogil:
    # A^-1 r, A = d(C(h xi)^T I xi)/dxi - k dF/dxi
    cdef Blocks A
    pull_slope(b.map, X, I, self.body.J, self.body.M, self.lane.now.h, &A)
    if b.k != 0.0 and (self.body.moving or self.written):
        A.aa, A.ab = add_scaled(-b.k, S.aa, A.aa), add_scaled(-b.k, S.ab, A.ab)
        A.ba, A.bb = add_scaled(-b.k, S.ba, A.ba), add_scaled(-b.k, S.bb, A.bb)
    return solve6(&A, r)

cdef inline void move(const double* q, Quat turn, Vec3 p, double* q2) noexcept nogil:
    # q2 = q times a displacement
    cdef Quat at = load_quat(q + 3)
    store3(q2, add(load3(q), mul(quat_matrix(at), p)))
    store_quat(q2 + 3, quat_normalised(quat_mul(at, turn)))


cdef struct Past:               # kept
    int known                           # twists seen, up to GUESSES
    double difference[GUESSES * 6]      # backward differences of the last twist
    double v_last[6]                    # velocity where the last step started
    int placed                          # what acts where the step starts is known: F + S xi
    Six here
    Blocks here_slope


cdef struct LieStep:
    int map
    double alpha
    Past* past


cdef int make_lie(VehicleStepper self, dict options) except -1:
    cdef int map = options.get("map", EXP)
    cdef double alpha = options.get("alpha", 0.5)
    make_rigid(self, options)
    self.lie.map, self.lie.alpha = map, alpha
    self.lie.past = <Past*>self.memory.kept(sizeof(Past))
    self.memory.bound_int(&self.lie.past.known, 0, GUESSES)
    self.memory.bound_int(&self.lie.past.placed, 0, 1)
    return 0


cdef void lie_begin(VehicleStepper self) noexcept nogil:
    self.lie.past.known = 0
    self.lie.past.placed = False


cdef bint lie_extrapolate(VehicleStepper self, Six* xi) noexcept nogil:
    # the next twist by the order that would have been the best for the last: its error is the next difference
    cdef int m, k, best = 1
    cdef double size, least = INFINITY
    cdef double y[6]
    if self.lie.past.known < 2 or self.lane.now.h != self.lane.clock.h_last:
        return False
    for m in range(1, self.lie.past.known):
        size = 0.0
        for k in range(6):
            size = max(size, fabs(self.lie.past.difference[6 * m + k]))
        if size < least:
            least, best = size, m
    for k in range(6):
        y[k] = self.lie.past.difference[k]
        for m in range(1, best):
            y[k] += self.lie.past.difference[6 * m + k]
    xi[0] = load6(y)
    return True


cdef void lie_learn(VehicleStepper self, Six xi) noexcept nogil:
    cdef int m, k, count = self.lie.past.known if self.lane.now.h == self.lane.clock.h_last else 0
    cdef double fresh[6]
    cdef double d
    store6(fresh, xi)
    for m in range(min(count + 1, GUESSES)):
        for k in range(6):
            d = fresh[k]
            fresh[k] = d - self.lie.past.difference[6 * m + k]
            self.lie.past.difference[6 * m + k] = d
    self.lie.past.known = min(count + 1, GUESSES)


cdef int lie_predict_middle(VehicleStepper self, Vec3 x, Mat3 R, Six xi) noexcept nogil:
    # inputs and torque at the predicted middle of the step: one call, second order
    cdef double t = self.lane.clock.t, h = self.lane.now.h
    cdef int k
    cdef Six a
    cdef Quat turn
    cdef Vec3 p
    cdef double v[6]
    store6(v, xi)
    if self.lane.clock.h_last == 0.0:
        # no step lies behind: the acceleration under what is asked for at the start
        if self.ask(t, self.lane.state.q, v) != OK or rigid_acceleration(self, t, x, R, xi, &a) != OK:
            return CALLBACK_FAILED
    else:
        for k in range(6):
            v[k] = (v[k] - self.lie.past.v_last[k]) / self.lane.clock.h_last
        a = load6(v)
    store6(self.lie.past.v_last, xi)
    a = scale6(0.5 * h, a)
    exp_se3(scale(0.5 * h, axpy(0.5, a.a, xi.a)), scale(0.5 * h, axpy(0.5, a.b, xi.b)), &turn, &p)
    move(self.lane.state.q, turn, p, self.lane.state.q2)
    store6(v, axpy6(1.0, a, xi))
    return self.ask(t + 0.5 * h, self.lane.state.q2, v)


cdef int lie_step(VehicleStepper self) noexcept nogil:
    cdef Balance b
    cdef double h = self.lane.now.h
    cdef Six node, xi, F
    cdef Quat turn
    cdef Vec3 p
    cdef int status
    # the kick at the start: C(h xi)^T I xi = mu_1 + (1 - alpha) h F(g_1, xi)
    b.map, b.t, b.k, b.p = self.lie.map, self.lane.clock.t, (1.0 - self.lie.alpha) * h, load6(self.lane.state.x)
    b.x, b.R = load3(self.lane.state.q), quat_matrix(load_quat(self.lane.state.q + 3))
    node = self.body.velocity(b.p)
    if self.shared.schedule.calls_user and lie_predict_middle(self, b.x, b.R, node) != OK:
        return CALLBACK_FAILED
    if not self.lie.past.placed:
        self.body.act(b.t, b.x, b.R, &self.lie.past.here, &self.lie.past.here_slope)
    b.F0, b.S0 = self.lie.past.here, self.lie.past.here_slope
    rigid_drive(self, &b.F0)
    status = rigid_solve(self, &b, &xi, &F) if lie_extrapolate(self, &xi) else NOT_CONVERGED
    if status != OK and status != CALLBACK_FAILED:
        # from the dynamics where the step starts
        status = rigid_wrench(self, b.t, b.x, b.R, node, &b.F0, &b.S0, &F, NULL)
        if status != OK:
            return status
        xi = axpy6(0.5 * h, self.body.velocity(axpy6(1.0, F, rigid_fictitious(self, node))), node)
        status = rigid_solve(self, &b, &xi, &F)
    if status != OK:
        return status
    lie_learn(self, xi)
    # g_2 = g_1 tau(h xi). C(-h xi) = C(h xi) Ad_tau: what the solver has left over is carried into the momentum
    displacement(self.lie.map, scale6(h, xi), &turn, &p)
    move(self.lane.state.q, turn, p, self.lane.state.q2)
    return lie_kick(self, b.t + h, xi, transport(turn, p, axpy6(b.k, F, b.p)))


cdef int lie_kick(VehicleStepper self, double t, Six xi, Six mu) noexcept nogil:
    # the kick at the end: mu_2 = mu + alpha h F(g_2, xi)
    cdef double share = self.lie.alpha * self.lane.now.h
    cdef Vec3 x = load3(self.lane.state.q2)
    cdef Mat3 R = quat_matrix(load_quat(self.lane.state.q2 + 3))
    cdef Six F0, F
    cdef int status
    self.lie.past.placed = share != 0.0
    if self.lie.past.placed:
        self.body.act(t, x, R, &self.lie.past.here, &self.lie.past.here_slope)
        F0 = self.lie.past.here
        rigid_drive(self, &F0)
        status = rigid_wrench(self, t, x, R, xi, &F0, &self.lie.past.here_slope, &F, NULL)
        if status != OK:
            return status
        mu = axpy6(share, F, mu)
    store6(self.lane.state.x2, mu)
    return OK

cdef struct QuaternionStep:
    double* rate                   # (4, 13) of (q, v)
    double* trial                  # (13,)


cdef int make_quaternion(VehicleStepper self, dict options) except -1:
    make_rigid(self, options)
    self.quaternion.rate, self.quaternion.trial = self.memory.scratch_reals(4 * 13), self.memory.scratch_reals(13)
    return 0


cdef void quaternion_reconstruct(VehicleStepper self, const double* q, Six xi, double* dq) noexcept nogil:
    # dq/dt (eq. 7, by quaternions)
    store3(dq, mul(quat_matrix(load_quat(q + 3)), xi.b))
    store_quat(dq + 3, quat_mul(load_quat(q + 3), quat(scale(0.5, xi.a), 0.0)))


cdef void quaternion_displace(VehicleStepper self, double h, const double* dq, double* q) noexcept nogil:
    # q = the step's start moved along dq
    cdef int k
    for k in range(7):
        q[k] = self.lane.state.q[k] + h * dq[k]
    store_quat(q + 3, quat_normalised(load_quat(q + 3)))


cdef int quaternion_stage(VehicleStepper self, double t, const double* y, double* rate) noexcept nogil:
    # rate of (q, v)
    cdef Six a, xi = load6(y + 7)
    cdef int status = self.ask(t, y, y + 7) if self.shared.schedule.calls_user else OK
    if status == OK:
        status = rigid_acceleration(self, t, load3(y), quat_matrix(load_quat(y + 3)), xi, &a)
    quaternion_reconstruct(self, y, xi, rate)
    store6(rate + 7, a)
    return status


cdef int quaternion_trapezoid(VehicleStepper self, double t, const double* q, Six p, Six* xi) noexcept nogil:
    # C(h xi)^T I xi = p + (h/2) F(q, xi), C = 1 - ad/2
    cdef Balance b
    cdef Six F
    b.map, b.t, b.k, b.p = TRAPEZOIDAL, t, 0.5 * self.lane.now.h, p
    b.x, b.R = load3(q), quat_matrix(load_quat(q + 3))
    rigid_surroundings(self, t, b.x, b.R, &b.F0, &b.S0)
    return rigid_solve(self, &b, xi, &F)

cdef struct StagesStep:
    int stages
    double c[4]
    double b[4]


cdef int make_stages(VehicleStepper self, dict options) except -1:
    c, b = options["c"], options["b"]
    cdef int k
    make_quaternion(self, options)
    self.stages.stages = len(b)
    for k in range(self.stages.stages):
        self.stages.c[k], self.stages.b[k] = c[k], b[k]
    return 0


cdef int stages_step(VehicleStepper self) noexcept nogil:
    cdef int i, k, status
    cdef double w
    cdef double* rate
    memcpy(self.quaternion.trial, self.lane.state.q, 7 * sizeof(double))
    memcpy(self.quaternion.trial + 7, self.lane.state.x, 6 * sizeof(double))
    for i in range(self.stages.stages):
        rate = self.quaternion.rate + 13 * i
        if i > 0:
            w = self.stages.c[i] * self.lane.now.h
            quaternion_displace(self, w, rate - 13, self.quaternion.trial)
            for k in range(6):
                self.quaternion.trial[7 + k] = self.lane.state.x[k] + w * rate[k - 6]
        status = quaternion_stage(self, self.lane.clock.t + self.stages.c[i] * self.lane.now.h, self.quaternion.trial, rate)
        if status != OK:
            return status
    # the weighted rate in place of the first
    for k in range(13):
        w = 0.0
        for i in range(self.stages.stages):
            w += self.stages.b[i] * self.quaternion.rate[13 * i + k]
        self.quaternion.rate[k] = w
    quaternion_displace(self, self.lane.now.h, self.quaternion.rate, self.lane.state.q2)
    for k in range(6):
        self.lane.state.x2[k] = self.lane.state.x[k] + self.lane.now.h * self.quaternion.rate[7 + k]
    return OK

cdef int implicit_step(VehicleStepper self) noexcept nogil:
    cdef double h = self.lane.now.h, t = self.lane.clock.t + 0.5 * self.lane.now.h
    cdef Six xi = load6(self.lane.state.x), mean = xi
    cdef double* y = self.quaternion.trial
    cdef int status
    memcpy(y, self.lane.state.q, 7 * sizeof(double))
    memcpy(y + 7, self.lane.state.x, 6 * sizeof(double))
    if self.shared.schedule.calls_user:
        status = quaternion_stage(self, self.lane.clock.t, y, self.quaternion.rate)
        if status != OK:
            return status
        store6(y + 7, axpy6(0.5 * h, load6(self.quaternion.rate + 7), xi))
    quaternion_reconstruct(self, self.lane.state.q, xi, self.quaternion.rate)
    quaternion_displace(self, 0.5 * h, self.quaternion.rate, y)
    if self.shared.schedule.calls_user and self.ask(t, y, y + 7) != OK:
        return CALLBACK_FAILED
    status = quaternion_trapezoid(self, t, y, self.body.momentum(xi), &mean)
    if status != OK:
        return status
    store6(self.lane.state.x2, axpy6(2.0, mean, scale6(-1.0, xi)))
    quaternion_reconstruct(self, self.lane.state.q, mean, self.quaternion.rate)
    quaternion_displace(self, 0.5 * h, self.quaternion.rate, y)
    quaternion_reconstruct(self, y, mean, self.quaternion.rate)
    quaternion_displace(self, h, self.quaternion.rate, self.lane.state.q2)
    return OK

cdef int newmark_step(VehicleStepper self) noexcept nogil:
    cdef double h = self.lane.now.h, t = self.lane.clock.t + self.lane.now.h
    cdef Six xi = load6(self.lane.state.x), next, a, d
    cdef Vec3 p
    cdef Quat turn
    cdef double* y = self.quaternion.trial
    cdef int status
    memcpy(y, self.lane.state.q, 7 * sizeof(double))
    memcpy(y + 7, self.lane.state.x, 6 * sizeof(double))
    status = quaternion_stage(self, self.lane.clock.t, y, self.quaternion.rate)
    if status != OK:
        return status
    a = load6(self.quaternion.rate + 7)
    d = scale6(h, axpy6(0.5 * h, a, xi))
    exp_se3(d.a, d.b, &turn, &p)
    move(self.lane.state.q, turn, p, self.lane.state.q2)
    next = axpy6(h, a, xi)
    store6(y + 7, next)
    if self.shared.schedule.calls_user and self.ask(t, self.lane.state.q2, y + 7) != OK:
        return CALLBACK_FAILED
    status = quaternion_trapezoid(self, t, self.lane.state.q2, self.body.momentum(axpy6(0.5 * h, a, xi)), &next)
    if status != OK:
        return status
    store6(self.lane.state.x2, next)
    return OK
