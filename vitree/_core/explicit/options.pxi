# An explicit stepper of one instance: its creation, and its multipliers.

cdef int make_euler(ModelStepper self, dict options) except -1:
    make_touching(self, options)
    make_explicit(self, options)
    return euler_make(&self.euler, self.memory, self.nv, options.get("semi_implicit", False))


cdef int make_runge_kutta(ModelStepper self, dict options) except -1:
    tableau, moments = options["tableau"], options["moments"]
    cdef Tableau* made = &self.runge.tableau
    cdef int i, j, n
    make_touching(self, options)
    make_explicit(self, options)
    a, b, c = tableau
    n = made.stages = len(b)
    made.a = self.memory.given_reals(n * n)
    made.b, made.c = self.memory.given_reals(n), self.memory.given_reals(n)
    made.row, self.motion_rows = <int*>self.memory.given(n * sizeof(int)), moments[1]
    for i in range(n):
        made.b[i], made.c[i], made.row[i] = b[i], c[i], moments[0][i]
        for j in range(i):
            made.a[i * n + j] = a[i][j]
    return runge_kutta_make(&self.runge, self.memory, self.nv)


cdef double explicit_multiplier(ModelStepper self, int c) noexcept nogil:
    return self.lane.held.force[c]


cdef void note_multipliers(ModelStepper self) noexcept nogil:
    memcpy(self.lane.held.force, self.lane.held.push, self.shared.count * sizeof(double))
