# Newton's method for the equations of a step of a vehicle. The action after a pass is decided as in steps of models:
# `next_action` of engine/factor_reuse.pxi.

#: A residual that stops decreasing below this fraction of the momentum is rounding error
cdef double STALLED = 1e-13
#: An initial guess of this accuracy, relative to the momentum, is a solution
cdef double SOLVED = 1e-16


cdef struct VehicleNewton:      # scratch
    int n
    int k                       # corrections so far
    double size                 # scale of the residual
    double* z                   # (n,) the unknowns
    double* r                   # (n,) the residual there
    double* d                   # (n,) the correction
    double* z_before            # (n,)


cdef int newton_make(VehicleNewton* x, Memory memory, int n) except -1:
    x.n, x.z, x.r = n, memory.scratch_reals(n), memory.scratch_reals(n)
    x.d, x.z_before = memory.scratch_reals(n), memory.scratch_reals(n)
    return 0


cdef void newton_correct(VehicleNewton* x) noexcept nogil:
    cdef int i
    for i in range(x.n):
        x.z[i] = x.z_before[i] - x.d[i]


cdef int newton_solve(VehicleStepper self, int solver) noexcept nogil:
    # z with r(z) = 0, from a guess. A solver that keeps its operator corrects once more at the end, without another
    # residual
    cdef VehicleNewton* x = &self.newton
    cdef Now* now = self.lane.now
    cdef Pass p
    cdef FactorReuse reuse
    cdef Costs costs
    cdef int i, action, status
    reuse_begin(&reuse)
    costs.correction, costs.factor = 1.0, x.n
    p.solver, p.k, p.most, p.error_before, p.signs_ok = solver, 0, self.max_iterations, INFINITY, True
    while True:
        x.k = p.k
        status = self.method.residual(self)
        if status != OK:
            return status
        p.error = largest(x.r, x.n)
        p.scale = x.size
        p.goal = (SOLVED if solver == AUTO and p.k == 0 else self.goal) * x.size
        now.error, now.iterations = p.error, p.k
        now.contraction = p.error / p.error_before if p.k > 0 and p.error_before > 0.0 else NAN
        if 0 < p.k < p.most and not p.error <= 2.0 * p.error_before:
            # the correction went too far: use half of it
            for i in range(x.n):
                x.d[i] = 0.5 * x.d[i]
        else:
            action = next_action(&p, &reuse, &costs)
            if action == FAIL:
                return NOT_CONVERGED if isfinite(p.error) else NOT_FINITE
            if action == DONE or (p.error > 0.5 * p.error_before and p.error <= STALLED * x.size):
                break
            status = self.method.direction(self, action == FACTOR)
            if status != OK:
                return status
            memcpy(x.z_before, x.z, x.n * sizeof(double))
            p.error_before = p.error
        newton_correct(x)
        p.k += 1
    if solver == AUTO and p.k > 0:
        status = self.method.direction(self, False)
        memcpy(x.z_before, x.z, x.n * sizeof(double))
        newton_correct(x)
    return OK
