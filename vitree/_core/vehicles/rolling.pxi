# Vehicles that roll on the plane, with compiled equations: car and snakeboard (Kobilarov et al. 2009, sections 5.2.1
# and 5.2.2). Each has its differential equations and the explicit variational update.
#
# q = (two shape coordinates, theta, x, y); v = (their rates, omega, vx, vy), the twist in body axes; y = (q, momenta).


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


cdef int nonholonomic_make(VehicleStepper self, int size) except -1:
    rates_make(self, size, self.rates.order)
    # the results of the user functions begin the prediction of the next step's middle
    if self.ask_inputs is not None:
        self.lane.drive.u = self.memory.kept_reals(self.shared.schedule.nu)
    if self.ask_torque is not None:
        self.lane.drive.tau = self.memory.kept_reals(self.nv)
    return 0


cdef void nonholonomic_begin(VehicleStepper self) noexcept nogil:
    with gil:
        if self.ask_inputs is not None:
            memset(self.lane.drive.u, 0, self.shared.schedule.nu * sizeof(double))
        if self.ask_torque is not None:
            memset(self.lane.drive.tau, 0, self.nv * sizeof(double))


cdef int update_step(VehicleStepper self) noexcept nogil:
    cdef RatesStep* x = &self.rates
    cdef int status = self.method.open(self, self.lane.state.q, self.lane.state.x, x.y)
    if status == OK and self.shared.schedule.calls_user:
        # call the user functions once, at the quadrature point predicted by the rate at the node; their results of the
        # previous step, or none at the first, are accurate enough for that rate
        status = self.method.rate(self, self.lane.clock.t, x.y, x.k)
        if status == OK:
            status = ask_along(self, self.alpha, x.k)
    if status == OK:
        status = self.method.update(self)
    if status == OK:
        status = self.method.close(self, x.y, self.lane.state.q2, self.lane.state.x2)
    return within_limits(self) if status == OK else status


cdef struct CarNumbers:
    double B, c, rho, turn, drag   # I + m rho^2, K rho^2/l^2, rho, rho/l


cdef int car_make(VehicleStepper self, parameters) except -1:
    m, K, I, l, rho, drag = parameters
    nonholonomic_make(self, 6)
    self.car.B, self.car.c = I + m * rho * rho, K * (rho / l) ** 2
    self.car.rho, self.car.turn, self.car.drag = rho, rho / l, drag
    return 0


cdef int car_open(VehicleStepper self, const double* q, const double* v, double* y) noexcept nogil:
    memcpy(y, q, 5 * sizeof(double))
    y[5] = v[0]
    return OK



cdef int car_close(VehicleStepper self, const double* y, double* q, double* v) noexcept nogil:
    memcpy(q, y, 5 * sizeof(double))
    v[0], v[1], v[2], v[3], v[4] = y[5], self.lane.drive.u[1], self.car.turn * y[1] * y[5], self.car.rho * y[5], 0.0
    return OK



cdef inline double car_force(VehicleStepper self, double sigma) noexcept nogil:
    cdef double* tau = self.lane.drive.tau
    return self.lane.drive.u[0] + tau[0] + self.car.turn * sigma * tau[2] + self.car.rho * tau[3]


cdef int car_rate(VehicleStepper self, double t, const double* y, double* dy) noexcept nogil:
    # (B + c sigma^2) u' + c sigma sigma' u = f - drag u
    cdef double s, c, sigma = y[1], u = y[5], turning = self.lane.drive.u[1]
    vt_sincos(y[2], &s, &c)
    dy[0], dy[1], dy[2] = u, turning, self.car.turn * sigma * u
    dy[3], dy[4] = self.car.rho * u * c, self.car.rho * u * s
    dy[5] = car_force(self, sigma) - (self.car.drag + self.car.c * sigma * turning) * u
    dy[5] /= self.car.B + self.car.c * sigma * sigma
    return OK



cdef int car_update(VehicleStepper self) noexcept nogil:
    # (B + c sigma_k sa_k) u_k = (B + c sigma_k sa_{k-1}) u_{k-1} + h (alpha f_{k-1} + (1 - alpha) f_k), sa_k being
    # sigma at the quadrature point; a node has P = (B + c sigma^2) u
    cdef double h = self.lane.now.h, a = self.alpha, sigma = self.rates.y[1]
    cdef double at = sigma + a * h * self.lane.drive.u[1]
    cdef double sigma2 = sigma + h * self.lane.drive.u[1], p, u, D = self.car.B + self.car.c * sigma * at
    if not D > 0.0:
        return STEERED_TOO_FAR
    p = (self.car.B + self.car.c * sigma * sigma) * self.rates.y[5] + (1.0 - a) * h * car_force(self, sigma)
    u = p / (D + (1.0 - a) * h * self.car.drag)
    p = (self.car.B + self.car.c * sigma2 * at) * u + a * h * (car_force(self, sigma2) - self.car.drag * u)
    self.rates.y[0] += h * u
    self.rates.y[1] = sigma2
    along_arc(self.rates.y + 2, h * self.car.turn * at * u, h * self.car.rho * u, self.rates.y + 2)
    self.rates.y[5] = p / (self.car.B + self.car.c * sigma2 * sigma2)
    return OK

cdef struct SnakeboardNumbers:
    double ml2, l, I, J2


cdef int snakeboard_make(VehicleStepper self, parameters) except -1:
    m, l, I, J = parameters
    nonholonomic_make(self, 8)
    self.board.ml2, self.board.l, self.board.I, self.board.J2 = m * l * l, l, I, 2.0 * J
    return 0


cdef int snakeboard_open(VehicleStepper self, const double* q, const double* v, double* y) noexcept nogil:
    cdef double s, c, lam
    memcpy(y, q, 5 * sizeof(double))
    vt_sincos(q[1], &s, &c)
    lam = v[2] * s - v[3] * c / self.board.l
    y[5], y[6], y[7] = self.board.I * (v[0] + lam * s), self.board.J2 * v[1], self.board.ml2 * lam + self.board.I * s * v[0]
    return OK



cdef void snakeboard_rates(VehicleStepper self, const double* y, double s, double* u, double* lam) noexcept nogil:
    # psi' and lam at a node, s = sin phi
    lam[0] = (y[7] - s * y[5]) / (self.board.ml2 - self.board.I * s * s)
    u[0] = y[5] / self.board.I - s * lam[0]


cdef int snakeboard_close(VehicleStepper self, const double* y, double* q, double* v) noexcept nogil:
    cdef double s, c, lam
    memcpy(q, y, 5 * sizeof(double))
    vt_sincos(y[1], &s, &c)
    snakeboard_rates(self, y, s, v, &lam)
    v[1], v[2], v[3], v[4] = y[6] / self.board.J2, lam * s, -lam * self.board.l * c, 0.0
    return OK



cdef inline double snakeboard_push(VehicleStepper self, double s, double c) noexcept nogil:
    # e . (torque, force) on the board
    return s * self.lane.drive.tau[2] - self.board.l * c * self.lane.drive.tau[3]


cdef int snakeboard_rate(VehicleStepper self, double t, const double* y, double* dy) noexcept nogil:
    # P_psi' = f_psi, P_phi' = f_phi, P' = I cos(phi) phi' psi'
    cdef double s, c, st, ct, lam
    vt_sincos(y[1], &s, &c)
    vt_sincos(y[2], &st, &ct)
    snakeboard_rates(self, y, s, dy, &lam)
    dy[1], dy[2], dy[3], dy[4] = y[6] / self.board.J2, lam * s, -lam * self.board.l * c * ct, -lam * self.board.l * c * st
    dy[5], dy[6] = self.lane.drive.u[0] + self.lane.drive.tau[0], self.lane.drive.u[1] + self.lane.drive.tau[1]
    dy[7] = self.board.I * c * dy[1] * dy[0] + snakeboard_push(self, s, c)
    return OK



cdef int snakeboard_update(VehicleStepper self) noexcept nogil:
    # with phi_a at the quadrature point: I (psi' + lam sin phi_a) = P_psi, and
    # m l^2 cos(phi - phi_a) lam + I sin(phi) psi' = P at either end
    cdef double h = self.lane.now.h, a = self.alpha, phi = self.rates.y[1], turn, at, lam, u, D, s, c, sa, ca, f0, f1
    cdef double* y = self.rates.y
    f0, f1 = self.lane.drive.u[0] + self.lane.drive.tau[0], self.lane.drive.u[1] + self.lane.drive.tau[1]
    turn = (y[6] + (1.0 - a) * h * f1) / self.board.J2
    at = phi + a * h * turn
    vt_sincos(phi, &s, &c)
    vt_sincos(at, &sa, &ca)
    y[5] += (1.0 - a) * h * f0
    y[7] += (1.0 - a) * h * snakeboard_push(self, s, c)
    D = self.board.ml2 * (c * ca + s * sa) - self.board.I * s * sa
    if not D > 0.0:
        return STEERED_TOO_FAR
    lam = (y[7] - s * y[5]) / D
    u = y[5] / self.board.I - lam * sa
    y[0] += h * u
    y[1] = phi + h * turn
    along_arc(y + 2, h * lam * sa, -h * lam * self.board.l * ca, y + 2)
    vt_sincos(y[1], &s, &c)
    y[5] += a * h * f0
    y[6] += h * f1
    y[7] = self.board.ml2 * (c * ca + s * sa) * lam + self.board.I * s * u + a * h * snakeboard_push(self, s, c)
    return OK
