# Steppers of vehicles. One lane. The contract is that of Stepper; where `step` fails, it forgets what lies behind.

cdef class VehicleStepper(Stepper):
    """Base of the compiled integrators of vehicles, made as VehicleStepper(nq, nv, nu, h, ...)."""

    cdef double goal                    # residual accepted, infinite if nothing is solved for

    def __cinit__(self, int nq, int nv, int nu, double h, inputs=None, torque=None, *more, **options):
        self.goal = INFINITY
        self.set_up(nq, nv, nu, h, inputs, torque)

    cdef int advance(self) noexcept nogil:
        cdef int status = Stepper.advance(self)
        if status != OK:
            self.begin()
        return status

    @property
    def tolerance(self):
        """Residual accepted as a share of the momentum, or None if steps solve for nothing."""
        return self.goal if self.goal < INFINITY else None
