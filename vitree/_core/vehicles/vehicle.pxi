# The stepper of a vehicle, for Python.

from vitree.arguments import told

cdef enum:              # methods
    NO_METHOD = 0       # rates and accelerations only
    RUNGE_KUTTA = 1
    VARIATIONAL = 2
    IMPLICIT_MIDPOINT = 3
    NEWMARK = 4

VEHICLE_METHODS = {"rates": NO_METHOD, "runge-kutta": RUNGE_KUTTA, "lie": VARIATIONAL,
                   "implicit-midpoint": IMPLICIT_MIDPOINT, "newmark": NEWMARK}


cdef VehicleMethod rigid_method(int kind) noexcept:
    cdef VehicleMethod x
    x.begin = lie_begin
    x.open, x.close, x.rate, x.update = rigid_open, rigid_close, rigid_rate, NULL
    x.residual, x.direction = rigid_residual, rigid_direction
    x.step = (lie_step if kind == VARIATIONAL else implicit_midpoint_step if kind == IMPLICIT_MIDPOINT
              else newmark_step if kind == NEWMARK else runge_kutta_step if kind == RUNGE_KUTTA else no_step)
    return x


cdef VehicleMethod rolling_method(int kind, bint is_car) noexcept:
    cdef VehicleMethod x
    x.begin, x.residual, x.direction = nonholonomic_begin, NULL, NULL
    x.step = update_step if kind == VARIATIONAL else runge_kutta_step if kind == RUNGE_KUTTA else no_step
    if is_car:
        x.open, x.close, x.rate, x.update = car_open, car_close, car_rate, car_update
    else:
        x.open, x.close, x.rate, x.update = snakeboard_open, snakeboard_close, snakeboard_rate, snakeboard_update
    return x


cdef VehicleMethod python_method(int kind) noexcept:
    cdef VehicleMethod x
    x.begin = python_begin
    x.open, x.close, x.rate, x.update = python_open, python_close, python_rate, NULL
    x.residual, x.direction = python_residual, python_direction
    x.step = python_step if kind == VARIATIONAL else runge_kutta_step if kind == RUNGE_KUTTA else no_step
    return x


cdef class VehicleStepper(Stepper):
    """The steps of vehicles.

    ``equations``: a RigidBody, ("car" or "snakeboard", parameters), or an object with equations in Python
    (:class:`vitree.vehicles.equations.Equations`). ``method``: a name of VEHICLE_METHODS. ``limits`` (s,): the largest
    magnitudes of the shape coordinates.
    """

    cdef VehicleMethod method
    cdef double goal                    # residual accepted, infinite if nothing is solved for
    cdef double alpha                   # fraction of the force at the end of a step
    cdef int max_iterations
    cdef double* limits                 # (limit_count,)
    cdef int limit_count
    cdef readonly int beyond            # the shape coordinate that would exceed its range
    cdef VehicleNewton newton
    cdef RatesStep rates
    cdef RigidBody body
    cdef bint written                   # there is a force in Python
    cdef Balance balance
    cdef LieStep lie
    cdef CarNumbers car
    cdef SnakeboardNumbers board
    cdef object equations
    cdef PythonStep python

    def __cinit__(self, int nq, int nv, int nu, double h, inputs=None, torque=None, *, equations, str method, limits=(),
                  int map=EXP, double alpha=0.5, int order=0, double tolerance=INFINITY, int max_iterations=0):
        cdef int kind = VEHICLE_METHODS[method]
        self.goal, self.alpha, self.max_iterations, self.rates.order, self.lie.map = (
            tolerance, alpha, max_iterations, order, map)
        self.set_up(nq, nv, nu, h, inputs, torque)
        self.limit_count, self.limits = len(limits), self.memory.given_reals(len(limits))
        copied(limits, self.limit_count, self.limits)
        if isinstance(equations, RigidBody):
            self.body, self.method = equations, rigid_method(kind)
            rigid_make(self)
        elif isinstance(equations, tuple):
            name, parameters = equations
            self.method = rolling_method(kind, name == "car")
            if name == "car":
                car_make(self, parameters)
            else:
                snakeboard_make(self, parameters)
        else:
            self.equations, self.method = equations, python_method(kind)
            python_make(self)

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
        return self.shared.schedule.calls_user or self.written or self.method.begin == python_begin

    @property
    def tolerance(self):
        """Residual accepted, relative to the momentum, or None if steps solve no equations."""
        return self.goal if self.goal < INFINITY else None

    # ---- the differential equations y' = f(t, y) ---------------------------------------------------

    cdef int require(self, int status) except -1:
        if status != OK:
            raise self.exception if status == CALLBACK_FAILED else ValueError(STATUS_TEXT[status])
        return 0

    cdef int under(self, double t, const double* y) except -1:
        # u and tau of a time and state
        self.lane.now.cause = OK
        self.inputs_at(t)
        if self.shared.schedule.calls_user:
            self.require(self.method.close(self, y, self.lane.state.q2, self.lane.state.x2))
            self.require(self.ask(t, self.lane.state.q2, self.lane.state.x2))
        return 0

    def unknowns(self, const double[::1] q, const double[::1] v):
        """Return y of a state."""
        cdef Busy busy = self.busy()
        cdef double* y = self.rates.at
        self.require(self.method.open(self, entries(q, self.nq, "entries of q"), entries(v, self.nv, "entries of v"), y))
        return self.array(y, self.rates.size)

    def state_of(self, double t, const double[::1] y):
        """Return (q, v) of y, under the inputs at a time."""
        cdef Busy busy = self.busy()
        self.under(t, entries(y, self.rates.size, "entries of y"))
        self.require(self.method.close(self, &y[0], self.lane.state.q2, self.lane.state.x2))
        return self.array(self.lane.state.q2, self.nq), self.array(self.lane.state.x2, self.nv)

    def rate_at(self, double t, const double[::1] y):
        """Return the rate of y under the inputs at a time."""
        cdef Busy busy = self.busy()
        self.under(t, entries(y, self.rates.size, "entries of y"))
        self.require(self.method.rate(self, t, &y[0], self.rates.k))
        return self.array(self.rates.k, self.rates.size)

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v, prescribed=None):
        """Acceleration (nv,) of a rigid body at a time and state, and no multipliers; of others a VitreeError."""
        if self.body is None:
            raise VitreeError("accelerations are those of a rigid body: this vehicle has a shape or constraints")
        return self.rate_at(t, np.concatenate((q, v)))[7:], np.empty(0)
