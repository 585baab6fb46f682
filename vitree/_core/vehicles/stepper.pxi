# What the steppers of vehicles say where they differ. The contract is that of Stepper; where a step fails, they forget
# what lies behind.

cdef class VehicleStepper(Stepper)


cdef struct VehicleMethod:
    int (*step)(VehicleStepper self) noexcept nogil
    void (*begin)(VehicleStepper self) noexcept nogil
    void (*open)(VehicleStepper self, const double* q, const double* v, double* y) noexcept nogil
    void (*close)(VehicleStepper self, const double* y, double* q, double* v) noexcept nogil
    void (*rate)(VehicleStepper self, const double* y, double* dy) noexcept nogil
    int (*update)(VehicleStepper self) noexcept nogil
