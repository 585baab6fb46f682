# Vehicles as ordinary differential equations, for Runge-Kutta methods and the solvers of SciPy.

cdef struct RatesStep:
    int order
    int size                    # entries of y
    double* y                   # (size,) at the start of the step
    double* at                  # (size,) a stage
    double* k                   # (4, size) the rates of the stages


cdef int rates_make(VehicleStepper self, int size, int order) except -1:
    self.rates.size, self.rates.order = size, order
    self.rates.y, self.rates.at = self.memory.scratch_reals(size), self.memory.scratch_reals(size)
    self.rates.k = self.memory.scratch_reals(4 * size)
    return 0


cdef int ask_along(VehicleStepper self, double share, const double* slope) noexcept nogil:
    # the stage at a fraction of the step along a slope, and the user functions evaluated there
    cdef RatesStep* x = &self.rates
    cdef State* state = &self.lane.state
    cdef int k, status
    for k in range(x.size):
        x.at[k] = x.y[k] if slope == NULL else x.y[k] + share * self.lane.now.h * slope[k]
    if not self.shared.schedule.calls_user:
        return OK
    status = self.method.close(self, x.at, state.q2, state.x2)
    return self.ask(self.lane.clock.t + share * self.lane.now.h, state.q2, state.x2) if status == OK else status


cdef int stage_rate(VehicleStepper self, double share, const double* slope, double* out) noexcept nogil:
    cdef int status = ask_along(self, share, slope)
    if status != OK:
        return status
    return self.method.rate(self, self.lane.clock.t + share * self.lane.now.h, self.rates.at, out)


cdef int runge_kutta_step(VehicleStepper self) noexcept nogil:
    # order 2: the explicit midpoint rule; order 4: the classical method
    cdef RatesStep* x = &self.rates
    cdef double h = self.lane.now.h
    cdef double* k1 = x.k
    cdef double* k2 = k1 + x.size
    cdef double* k3 = k2 + x.size
    cdef double* k4 = k3 + x.size
    cdef int i, status = self.method.open(self, self.lane.state.q, self.lane.state.x, x.y)
    if status == OK:
        status = stage_rate(self, 0.0, NULL, k1)
    if status == OK:
        status = stage_rate(self, 0.5, k1, k2)
    if status == OK and x.order == 4:
        status = stage_rate(self, 0.5, k2, k3)
        if status == OK:
            status = stage_rate(self, 1.0, k3, k4)
    if status != OK:
        return status
    for i in range(x.size):
        x.y[i] += h * k2[i] if x.order == 2 else h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])
    status = self.method.close(self, x.y, self.lane.state.q2, self.lane.state.x2)
    return within_limits(self) if status == OK else status
