# The stepper of a vehicle, for Python.

cdef enum:
    VEHICLE_RIGID = 0
    VEHICLE_LIE = 1
    VEHICLE_RUNGE_KUTTA_STAGES = 2
    VEHICLE_IMPLICIT_MIDPOINT = 3
    VEHICLE_NEWMARK = 4
    VEHICLE_CAR = 5
    VEHICLE_SNAKEBOARD = 6

VEHICLE_METHODS = {"rigid": VEHICLE_RIGID, "lie": VEHICLE_LIE, "runge-kutta": VEHICLE_RUNGE_KUTTA_STAGES,
                   "implicit-midpoint": VEHICLE_IMPLICIT_MIDPOINT, "newmark": VEHICLE_NEWMARK, "car": VEHICLE_CAR, "snakeboard": VEHICLE_SNAKEBOARD}


cdef void nothing_before(VehicleStepper self) noexcept nogil:
    pass


cdef int no_step(VehicleStepper self) noexcept nogil:
    return NO_STEP


cdef VehicleMethod vehicle_method(int kind) noexcept:
    cdef VehicleMethod x
    memset(&x, 0, sizeof(VehicleMethod))
    x.begin = nothing_before
    if kind == VEHICLE_RIGID:
        x.step = no_step
    elif kind == VEHICLE_LIE:
        x.step, x.begin = lie_step, lie_begin
    elif kind == VEHICLE_RUNGE_KUTTA_STAGES:
        x.step = stages_step
    elif kind == VEHICLE_IMPLICIT_MIDPOINT:
        x.step = implicit_step
    elif kind == VEHICLE_NEWMARK:
        x.step = newmark_step
    elif kind == VEHICLE_CAR:
        x.step = rolling_step
        x.begin = rolling_begin
        x.open = car_open
        x.close = car_close
        x.rate = car_rate
        x.update = car_update
    elif kind == VEHICLE_SNAKEBOARD:
        x.step = rolling_step
        x.begin = rolling_begin
        x.open = snakeboard_open
        x.close = snakeboard_close
        x.rate = snakeboard_rate
        x.update = snakeboard_update
    return x


cdef class VehicleStepper(Stepper):
    """The compiled integrators of vehicles, made as VehicleStepper(nq, nv, nu, h, ..., method=...).

    ``method`` is a name of VEHICLE_METHODS; further options are those of its ``make_lie``, ``make_car`` and the like.
    """

    cdef VehicleMethod method
    cdef double goal                    # residual accepted, infinite if nothing is solved for
    cdef RigidBody body
    cdef int max_iterations
    cdef bint written                   # there is a force in Python
    cdef LieStep lie
    cdef QuaternionStep quaternion
    cdef StagesStep stages
    cdef RollingStep rolling
    cdef CarNumbers car
    cdef SnakeboardNumbers board

    def __cinit__(self, int nq, int nv, int nu, double h, inputs=None, torque=None, *, str method, **options):
        cdef int kind = VEHICLE_METHODS[method]
        self.goal, self.method = INFINITY, vehicle_method(kind)
        self.set_up(nq, nv, nu, h, inputs, torque)
        if kind == VEHICLE_RIGID:
            make_rigid(self, options)
        elif kind == VEHICLE_LIE:
            make_lie(self, options)
        elif kind == VEHICLE_RUNGE_KUTTA_STAGES:
            make_stages(self, options)
        elif kind == VEHICLE_CAR:
            make_car(self, options)
        elif kind == VEHICLE_SNAKEBOARD:
            make_snakeboard(self, options)
        else:
            make_quaternion(self, options)

    cdef int advance(self) noexcept nogil:
        cdef int status = Stepper.advance(self)
        if status != OK:
            self.begin()
        return status

    cdef int step(self) noexcept nogil:
        return self.method.step(self)

    cdef void begin(self) noexcept nogil:
        self.method.begin(self)

    cdef bint asks(self) noexcept nogil:
        return self.shared.schedule.calls_user or self.written

    @property
    def tolerance(self):
        """Residual accepted as a share of the momentum, or None if steps solve for nothing."""
        return self.goal if self.goal < INFINITY else None

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v, prescribed=None):
        """Acceleration (nv,) at a time and state, and no multipliers."""
        cdef Busy busy = self.busy()
        cdef Six a
        out = np.empty(6)
        cdef double[::1] view = out
        require_size(q.shape[0], self.nq, "entries of q")
        require_size(v.shape[0], self.nv, "entries of v")
        self.lane.now.cause = OK
        self.inputs_at(t)
        if self.shared.schedule.calls_user and self.ask(t, &q[0], &v[0]) != OK:
            raise self.exception
        rigid_acceleration(self, t, load3(&q[0]), quat_matrix(load_quat(&q[3])), load6(&v[0]), &a)
        if self.lane.now.cause != OK:
            raise self.exception
        store6(&view[0], a)
        return out, np.empty(0)

    def unknowns(self, const double[::1] q, const double[::1] v):
        """Return y of a state."""
        cdef Busy busy = self.busy()
        cdef double y[LONGEST]
        self.method.open(self, entries(q, self.nq, "entries of q"), entries(v, self.nv, "entries of v"), y)
        return self.array(y, self.rolling.size)

    def state_of(self, double t, const double[::1] y):
        """Return (q, v) of y, under the inputs at a time."""
        cdef Busy busy = self.busy()
        rolling_under(self, t, entries(y, self.rolling.size, "entries of y"))
        self.method.close(self, &y[0], self.lane.state.q2, self.lane.state.x2)
        return self.array(self.lane.state.q2, self.nq), self.array(self.lane.state.x2, self.nv)

    def rate_at(self, double t, const double[::1] y):
        """Return the rate of y under the inputs at a time."""
        cdef Busy busy = self.busy()
        cdef double dy[LONGEST]
        rolling_under(self, t, entries(y, self.rolling.size, "entries of y"))
        self.method.rate(self, &y[0], dy)
        return self.array(dy, self.rolling.size)
