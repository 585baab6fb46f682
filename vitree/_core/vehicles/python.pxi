# Vehicles whose equations are functions in Python (vitree/vehicles/equations.py): each function is called here, and
# nowhere else. Beside the state, their steps store the velocity at the start of the previous step.

#: Step of the differences of the Jacobian, relative to the number that is varied
cdef double JACOBIAN_STEP = 1e-6


cdef struct PythonStep:
    double* v_last              # (nv,) kept
    double* A                   # (n, n) scratch: the factors of the Jacobian
    double* varied              # (n,) a residual near that of z
    int* order                  # (n,)


cdef int python_make(VehicleStepper self) except -1:
    cdef int n = self.equations.n
    nonholonomic_make(self, self.nq + n)
    newton_make(&self.newton, self.memory, n)
    self.python.v_last = self.memory.kept_reals(self.nv)
    self.python.A, self.python.varied = self.memory.scratch_reals(n * n), self.memory.scratch_reals(n)
    self.python.order = <int*>self.memory.scratch(n * sizeof(int))
    return 0


cdef void python_begin(VehicleStepper self) noexcept nogil:
    nonholonomic_begin(self)
    memcpy(self.python.v_last, self.lane.state.x, self.nv * sizeof(double))


cdef int copied(found, int n, double* to) except -1:
    cdef const double[::1] view = np.ascontiguousarray(found, dtype=float)
    require_size(view.shape[0], n, "entries")
    if n:
        memcpy(to, &view[0], n * sizeof(double))
    return 0


cdef int python_failed(VehicleStepper self, error) noexcept:
    # the status of an error that the equations raised
    if isinstance(error, np.linalg.LinAlgError):
        return DEPENDENT
    if isinstance(error, Exception) and not isinstance(error, VitreeError):
        own = CallableError(f"a function of the vehicle raised {told(error)} in the step from t = "
                            f"{self.lane.clock.t:.9g} s", time=self.lane.clock.t)
        own.__cause__ = error
        error = own
    return self.fail(error)


cdef int python_open(VehicleStepper self, const double* q, const double* v, double* y) noexcept nogil:
    with gil:
        try:
            copied(self.equations.unknowns(self.array(q, self.nq), self.array(v, self.nv)), self.rates.size, y)
            return OK
        except BaseException as error:
            return python_failed(self, error)


cdef int python_close(VehicleStepper self, const double* y, double* q, double* v) noexcept nogil:
    with gil:
        try:
            u = self.array(self.lane.drive.u, self.shared.schedule.nu)
            own_q, own_v = self.equations.state(self.array(y, self.rates.size), u)
            copied(own_q, self.nq, q)
            copied(own_v, self.nv, v)
            return OK
        except BaseException as error:
            return python_failed(self, error)


cdef int python_rate(VehicleStepper self, double t, const double* y, double* dy) noexcept nogil:
    if not bounded(y, self.rates.size):
        return NOT_FINITE
    with gil:
        try:
            u, tau = self.array(self.lane.drive.u, self.shared.schedule.nu), self.array(self.lane.drive.tau, self.nv)
            copied(self.equations.rate(t, self.array(y, self.rates.size), u, tau), self.rates.size, dy)
            return OK
        except BaseException as error:
            return python_failed(self, error)


cdef int python_step(VehicleStepper self) noexcept nogil:
    # the implicit variational step (eqs. 16 and 17)
    cdef VehicleNewton* x = &self.newton
    cdef State* at = &self.lane.state
    cdef double t = self.lane.clock.t, h = self.lane.now.h, ahead = self.alpha * h
    cdef int status
    with gil:
        try:
            if self.shared.schedule.calls_user:
                # once, at the quadrature point that the last step's mean acceleration predicts
                own_q, own_v = self.equations.ahead(ahead, self.array(at.q, self.nq), self.array(at.x, self.nv),
                                                    self.array(self.python.v_last, self.nv), self.lane.clock.h_last)
                copied(own_q, self.nq, at.q2)
                copied(own_v, self.nv, at.x2)
                status = self.ask(t + ahead, at.q2, at.x2)
                if status != OK:
                    return status
            z, x.size = self.equations.begin(
                t, h, self.array(at.q, self.nq), self.array(at.x, self.nv),
                self.array(self.lane.drive.u, self.shared.schedule.nu), self.array(self.lane.drive.tau, self.nv))
            copied(z, x.n, x.z)
        except BaseException as error:
            return python_failed(self, error)
    status = newton_solve(self, AUTO)
    if status != OK:
        return status
    with gil:
        try:
            own_q, own_v = self.equations.end(self.array(x.z, x.n))
            copied(own_q, self.nq, at.q2)
            copied(own_v, self.nv, at.x2)
        except BaseException as error:
            return python_failed(self, error)
    memcpy(self.python.v_last, at.x, self.nv * sizeof(double))
    return within_limits(self)


cdef int residual_at(VehicleStepper self, const double* z, double* r) noexcept nogil:
    with gil:
        try:
            found = self.equations.residual(self.array(z, self.newton.n))
            if found is None:
                return TURNED_TOO_FAR
            copied(found, self.newton.n, r)
            return OK
        except BaseException as error:
            return python_failed(self, error)


cdef int python_residual(VehicleStepper self) noexcept nogil:
    cdef VehicleNewton* x = &self.newton
    cdef int status = residual_at(self, x.z, x.r)
    if status == OK and x.k == 0:
        # at rest the first residual has the magnitude of the momentum
        x.size = vt_max_nan(x.size, largest(x.r, x.n))
    return status


cdef int python_direction(VehicleStepper self, bint factor) noexcept nogil:
    # with a Jacobian of differences
    cdef VehicleNewton* x = &self.newton
    cdef PythonStep* own = &self.python
    cdef double z, d
    cdef int i, k, status
    if factor:
        for k in range(x.n):
            z, d = x.z[k], JACOBIAN_STEP * max(1.0, fabs(x.z[k]))
            x.z[k] = z + d
            status = residual_at(self, x.z, own.varied)
            x.z[k] = z
            if status != OK:
                return status
            for i in range(x.n):
                own.A[i * x.n + k] = (own.varied[i] - x.r[i]) / d
        status = lu_factor(own.A, x.n, own.order)
        if status != OK:
            return status
    memcpy(x.d, x.r, x.n * sizeof(double))
    lu_solve(own.A, x.n, own.order, x.d)
    return OK
