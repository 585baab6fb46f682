# Vehicles that roll on the plane: the explicit updates, and Runge-Kutta methods on the same equations.
#
# q = (two shape coordinates, theta, x, y); v = (their rates, omega, vx, vy), the twist in body axes. The node's
# state as the equations have it is y = (q, momenta): `open` makes it of (q, v), `close` makes v of it again.

cdef enum:
    STEERED_TOO_FAR = 16
    BEYOND_LIMIT = 17
    LONGEST = 8         # entries of y at most

STATUS |= {"steered too far": STEERED_TOO_FAR, "beyond limit": BEYOND_LIMIT}


cdef inline double sinc(double x) noexcept nogil:
    # sin(x)/x
    cdef double s, c
    if fabs(x) < 1e-2:
        s = x * x
        return 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0))
    vt_sincos(x, &s, &c)
    return s / x


cdef inline void along_arc(const double* g, double angle, double length, double* g2) noexcept nogil:
    # g2 = g exp((angle, length, 0)) in coordinates (theta, x, y): along a circular arc
    cdef double s, c, middle = g[0] + 0.5 * angle
    vt_sincos(middle, &s, &c)
    length *= sinc(0.5 * angle)
    g2[0] = g[0] + angle
    g2[1] = g[1] + length * c
    g2[2] = g[2] + length * s


cdef class RollingStepper(VehicleStepper):
    """Base: ``order`` 0 is the variational update with quadrature point ``alpha``, 2 and 4 are Runge-Kutta.

    ``parameters`` are those of the vehicle, ``limit`` is that of the second shape coordinate.
    """

    cdef int order, size                # entries of y
    cdef double alpha, limit
    cdef double* y                      # (size,) the state as the equations have it

    def __init__(self, *args, parameters, double limit, int order=0, double alpha=0.5, **options):
        self.order, self.alpha, self.limit = order, alpha, limit
        self.y = self.memory.scratch_reals(LONGEST)
        # the answers of the user's functions begin the prediction of the next step's middle
        if self.ask_inputs is not None:
            self.lane.drive.u = self.memory.kept_reals(self.shared.schedule.nu)
        if self.ask_torque is not None:
            self.lane.drive.tau = self.memory.kept_reals(self.nv)
        self.set(*parameters)

    cdef void begin(self) noexcept nogil:
        with gil:
            if self.ask_inputs is not None:
                memset(self.lane.drive.u, 0, self.shared.schedule.nu * sizeof(double))
            if self.ask_torque is not None:
                memset(self.lane.drive.tau, 0, self.nv * sizeof(double))

    cdef void open(self, const double* q, const double* v, double* y) noexcept nogil:
        pass

    cdef void close(self, const double* y, double* q, double* v) noexcept nogil:
        pass

    cdef void rate(self, const double* y, double* dy) noexcept nogil:
        # of y under u and tau
        pass

    cdef int update(self) noexcept nogil:
        # the variational step, from y to y
        return OK

    def unknowns(self, const double[::1] q, const double[::1] v):
        """Return y of a state."""
        cdef Turn turn = self.turn()
        cdef double y[LONGEST]
        self.open(entries(q, self.nq, "entries of q"), entries(v, self.nv, "entries of v"), y)
        return self.array(y, self.size)

    def state_of(self, double t, const double[::1] y):
        """Return (q, v) of y, under the inputs at a time."""
        cdef Turn turn = self.turn()
        self.under(t, entries(y, self.size, "entries of y"))
        self.close(&y[0], self.lane.state.q2, self.lane.state.x2)
        return self.array(self.lane.state.q2, self.nq), self.array(self.lane.state.x2, self.nv)

    def rate_at(self, double t, const double[::1] y):
        """Return the rate of y under the inputs at a time."""
        cdef Turn turn = self.turn()
        cdef double dy[LONGEST]
        self.under(t, entries(y, self.size, "entries of y"))
        self.rate(&y[0], dy)
        return self.array(dy, self.size)

    cdef int under(self, double t, const double* y) except -1:
        # u and tau of a time and state
        self.inputs_at(t)
        if self.shared.schedule.calls_user:
            self.close(y, self.lane.state.q2, self.lane.state.x2)
            if self.ask(t, self.lane.state.q2, self.lane.state.x2) != OK:
                raise self.exception
        return 0

    cdef int step(self) noexcept nogil:
        cdef int status
        self.open(self.lane.state.q, self.lane.state.x, self.y)
        if self.order:
            status = self.runge_kutta()
        else:
            status = self.ask_ahead() if self.shared.schedule.calls_user else OK
            if status == OK:
                status = self.update()
        if status != OK:
            return status
        self.close(self.y, self.lane.state.q2, self.lane.state.x2)
        return BEYOND_LIMIT if fabs(self.lane.state.q2[1]) > self.limit else OK

    cdef int along(self, double share, const double* slope, double* y) noexcept nogil:
        # y at a share of the step along a slope, and what the callables answer there
        cdef int k
        for k in range(self.size):
            y[k] = self.y[k]
            if slope != NULL:
                y[k] += share * self.lane.now.h * slope[k]
        if not self.shared.schedule.calls_user:
            return OK
        self.close(y, self.lane.state.q2, self.lane.state.x2)
        return self.ask(self.lane.clock.t + share * self.lane.now.h, self.lane.state.q2, self.lane.state.x2)

    cdef int ask_ahead(self) noexcept nogil:
        # ask the callables once, at the quadrature point as the rate at the node predicts it; their answers of the step
        # before, or none at the first, are near enough for that rate
        cdef double dy[LONGEST]
        cdef double y[LONGEST]
        self.rate(self.y, dy)
        return self.along(self.alpha, dy, y)

    cdef int runge_kutta(self) noexcept nogil:
        # order 2: the explicit midpoint rule; order 4: the classical method
        cdef double k1[LONGEST]
        cdef double k2[LONGEST]
        cdef double k3[LONGEST]
        cdef double k4[LONGEST]
        cdef double h = self.lane.now.h
        cdef int k, n = self.size
        if self.stage(0.0, NULL, k1) != OK or self.stage(0.5, k1, k2) != OK:
            return CALLBACK_FAILED
        if self.order == 2:
            for k in range(n):
                self.y[k] += h * k2[k]
            return OK
        if self.stage(0.5, k2, k3) != OK or self.stage(1.0, k3, k4) != OK:
            return CALLBACK_FAILED
        for k in range(n):
            self.y[k] += h / 6.0 * (k1[k] + 2.0 * (k2[k] + k3[k]) + k4[k])
        return OK

    cdef int stage(self, double share, const double* slope, double* out) noexcept nogil:
        cdef double y[LONGEST]
        if self.along(share, slope, y) != OK:
            return CALLBACK_FAILED
        self.rate(y, out)
        return OK


cdef class CarStepper(RollingStepper):
    """Kobilarov et al. 2009, section 5.2.1: q = (psi, sigma, pose), y = (q, u), u the rate of psi.

    xi = (rho sigma u/l, rho u, 0), so that the work of all forces on u is that of
    u + rho (sigma/l, 1) . (torque, push).
    """

    cdef double B, c, rho, turn, drag   # I + m rho^2, K rho^2/l^2, rho, rho/l

    def set(self, m, K, I, l, rho, drag):
        self.size, self.B, self.c = 6, I + m * rho * rho, K * (rho / l) ** 2
        self.rho, self.turn, self.drag = rho, rho / l, drag

    cdef void open(self, const double* q, const double* v, double* y) noexcept nogil:
        memcpy(y, q, 5 * sizeof(double))
        y[5] = v[0]

    cdef void close(self, const double* y, double* q, double* v) noexcept nogil:
        memcpy(q, y, 5 * sizeof(double))
        v[0], v[1], v[2], v[3], v[4] = y[5], self.lane.drive.u[1], self.turn * y[1] * y[5], self.rho * y[5], 0.0

    cdef inline double force(self, double sigma) noexcept nogil:
        cdef double* tau = self.lane.drive.tau
        return self.lane.drive.u[0] + tau[0] + self.turn * sigma * tau[2] + self.rho * tau[3]

    cdef void rate(self, const double* y, double* dy) noexcept nogil:
        # (B + c sigma^2) u' + c sigma sigma' u = f - drag u
        cdef double s, c, sigma = y[1], u = y[5], turning = self.lane.drive.u[1]
        vt_sincos(y[2], &s, &c)
        dy[0], dy[1], dy[2] = u, turning, self.turn * sigma * u
        dy[3], dy[4] = self.rho * u * c, self.rho * u * s
        dy[5] = (self.force(sigma) - (self.drag + self.c * sigma * turning) * u) / (self.B + self.c * sigma * sigma)

    cdef int update(self) noexcept nogil:
        # (B + c sigma_k sa_k) u_k = (B + c sigma_k sa_{k-1}) u_{k-1} + h (alpha f_{k-1} + (1 - alpha) f_k), sa_k being
        # sigma at the quadrature point; a node has P = (B + c sigma^2) u
        cdef double h = self.lane.now.h, a = self.alpha, sigma = self.y[1], at = sigma + a * h * self.lane.drive.u[1]
        cdef double sigma2 = sigma + h * self.lane.drive.u[1], p, u, D = self.B + self.c * sigma * at
        if not D > 0.0:
            return STEERED_TOO_FAR
        p = (self.B + self.c * sigma * sigma) * self.y[5] + (1.0 - a) * h * self.force(sigma)
        u = p / (D + (1.0 - a) * h * self.drag)
        p = (self.B + self.c * sigma2 * at) * u + a * h * (self.force(sigma2) - self.drag * u)
        self.y[0] += h * u
        self.y[1] = sigma2
        along_arc(self.y + 2, h * self.turn * at * u, h * self.rho * u, self.y + 2)
        self.y[5] = p / (self.B + self.c * sigma2 * sigma2)
        return OK


cdef class SnakeboardStepper(RollingStepper):
    """Kobilarov et al. 2009, section 5.2.2: q = (psi, phi, pose), y = (q, P_psi, P_phi, P).

    xi = lam e, e = (sin phi, -l cos phi, 0), which is the paper's e_1 over 2 cos phi; P = e . dl/dxi.
    """

    cdef double ml2, l, I, J2

    def set(self, m, l, I, J):
        self.size, self.ml2, self.l, self.I, self.J2 = 8, m * l * l, l, I, 2.0 * J

    cdef void open(self, const double* q, const double* v, double* y) noexcept nogil:
        cdef double s, c, lam
        memcpy(y, q, 5 * sizeof(double))
        vt_sincos(q[1], &s, &c)
        lam = v[2] * s - v[3] * c / self.l
        y[5], y[6], y[7] = self.I * (v[0] + lam * s), self.J2 * v[1], self.ml2 * lam + self.I * s * v[0]

    cdef void rates(self, const double* y, double s, double* u, double* lam) noexcept nogil:
        # psi' and lam at a node, s = sin phi
        lam[0] = (y[7] - s * y[5]) / (self.ml2 - self.I * s * s)
        u[0] = y[5] / self.I - s * lam[0]

    cdef void close(self, const double* y, double* q, double* v) noexcept nogil:
        cdef double s, c, lam
        memcpy(q, y, 5 * sizeof(double))
        vt_sincos(y[1], &s, &c)
        self.rates(y, s, v, &lam)
        v[1], v[2], v[3], v[4] = y[6] / self.J2, lam * s, -lam * self.l * c, 0.0

    cdef inline double push(self, double s, double c) noexcept nogil:
        # e . (torque, force) on the board
        return s * self.lane.drive.tau[2] - self.l * c * self.lane.drive.tau[3]

    cdef void rate(self, const double* y, double* dy) noexcept nogil:
        # P_psi' = f_psi, P_phi' = f_phi, P' = I cos(phi) phi' psi'
        cdef double s, c, st, ct, lam
        vt_sincos(y[1], &s, &c)
        vt_sincos(y[2], &st, &ct)
        self.rates(y, s, dy, &lam)
        dy[1], dy[2], dy[3], dy[4] = y[6] / self.J2, lam * s, -lam * self.l * c * ct, -lam * self.l * c * st
        dy[5], dy[6] = self.lane.drive.u[0] + self.lane.drive.tau[0], self.lane.drive.u[1] + self.lane.drive.tau[1]
        dy[7] = self.I * c * dy[1] * dy[0] + self.push(s, c)

    cdef int update(self) noexcept nogil:
        # with phi_a at the quadrature point: I (psi' + lam sin phi_a) = P_psi, and
        # m l^2 cos(phi - phi_a) lam + I sin(phi) psi' = P at either end
        cdef double h = self.lane.now.h, a = self.alpha, phi = self.y[1], turn, at, lam, u, D, s, c, sa, ca, f0, f1
        cdef double* y = self.y
        f0, f1 = self.lane.drive.u[0] + self.lane.drive.tau[0], self.lane.drive.u[1] + self.lane.drive.tau[1]
        turn = (y[6] + (1.0 - a) * h * f1) / self.J2
        at = phi + a * h * turn
        vt_sincos(phi, &s, &c)
        vt_sincos(at, &sa, &ca)
        y[5] += (1.0 - a) * h * f0
        y[7] += (1.0 - a) * h * self.push(s, c)
        D = self.ml2 * (c * ca + s * sa) - self.I * s * sa
        if not D > 0.0:
            return STEERED_TOO_FAR
        lam = (y[7] - s * y[5]) / D
        u = y[5] / self.I - lam * sa
        y[0] += h * u
        y[1] = phi + h * turn
        along_arc(y + 2, h * lam * sa, -h * lam * self.l * ca, y + 2)
        vt_sincos(y[1], &s, &c)
        y[5] += a * h * f0
        y[6] += h * f1
        y[7] = self.ml2 * (c * ca + s * sa) * lam + self.I * s * u + a * h * self.push(s, c)
        return OK
