# The functions in which vehicles and their methods differ. The contract is that of Stepper; if a step fails, the
# steppers clear their history.

cdef class VehicleStepper(Stepper)

cdef enum:
    STEERED_TOO_FAR = 16
    BEYOND_LIMIT = 17

STATUS |= {"steered too far": STEERED_TOO_FAR, "beyond limit": BEYOND_LIMIT}


cdef struct VehicleMethod:
    int (*step)(VehicleStepper self) noexcept nogil
    void (*begin)(VehicleStepper self) noexcept nogil
    # ordinary differential equations y' = f(t, y) under the current inputs and torque, and the maps between y and (q,
    # v)
    int (*open)(VehicleStepper self, const double* q, const double* v, double* y) noexcept nogil
    int (*close)(VehicleStepper self, const double* y, double* q, double* v) noexcept nogil
    int (*rate)(VehicleStepper self, double t, const double* y, double* dy) noexcept nogil
    # y over the step, by an explicit variational method
    int (*update)(VehicleStepper self) noexcept nogil
    # equations of the step: r(z), and the correction d = (dr/dz)^-1 r, by another operator if `factor`
    int (*residual)(VehicleStepper self) noexcept nogil
    int (*direction)(VehicleStepper self, bint factor) noexcept nogil


cdef void nothing_before(VehicleStepper self) noexcept nogil:
    pass


cdef int no_step(VehicleStepper self) noexcept nogil:
    return NO_STEP


cdef int within_limits(VehicleStepper self) noexcept nogil:
    # whether the shape of the trial state is within its range
    cdef int k
    for k in range(self.limit_count):
        if fabs(self.lane.state.q2[k]) > self.limits[k]:
            self.beyond = k
            return BEYOND_LIMIT
    return OK
