# The operator of a variational step of one instance, and the corrections that it yields.

cdef int variational_factor(ModelStepper self) noexcept nogil:
    # J - C^T R = -dr/dy at y, and its responses to the multipliers' rows Dh1^T
    cdef Operator* op = self.lane.operator
    cdef int k, status, n = self.nv, count = self.shared.count
    cdef double h = self.lane.now.h
    cdef bint reused_for_h = self.lane.newton.now.solver == AUTO and op.reused_for_h[0] == h
    if self.shared.choices.solver == RIQN:
        self.method.linearise_at_rest(self)
        self.lane.operator.pivot_signs[0] = SAME
    else:
        status = self.method.linearise(self)
        if status == OK and self.lane.fronts.planned:
            status = linearise_by_plans(self)
        if status != OK:
            return status
    if self.shared.choices.extra and not reused_for_h and variational_couple(self) != OK:
        return NOT_CONVERGED
    if not (self.shared.plain and reused_for_h):
        for k in range(count):
            if model_island(self, k).plan == NULL:
                variational_solve(self, self.lane.held.Dh1 + k * n, model_island(self, k), op.response + k * n)
    if self.shared.plain and not reused_for_h and factor_gears(self) != OK:
        return DEPENDENT
    if not reused_for_h:
        op.reused_for_h[0] = h if self.shared.choices.reuses_answers and op.pivot_signs[0] != WRONG else 0.0
    self.lane.progress.factorisations += 1
    self.lane.reuse.have = True
    self.lane.reuse.age = 0
    return OK


cdef int variational_couple(ModelStepper self) noexcept nogil:
    # the responses J^-1 C^T to loads, and the factors of B = 1 - R J^-1 C^T, which is 1 at rest
    cdef Operator* op = self.lane.operator
    cdef const double* answer = op.response + self.shared.count * self.nv
    cdef int c, e, n = self.nv, extra = self.shared.choices.extra
    for c in range(extra):
        solve_apart(self, op.C + c * n, NULL, op.response + (self.shared.count + c) * n)
    for c in range(extra):
        for e in range(extra):
            op.B[c * extra + e] = (1.0 if e == c else 0.0) - vt_inner(n, op.R + c * n, answer + e * n)
    if lu_factor(op.B, extra, op.B_order) != OK:
        return NOT_CONVERGED
    if lu_sign(op.B, extra, op.B_order) < 0:
        op.pivot_signs[0] = WRONG
    return OK


cdef void variational_solve(ModelStepper self, const double* r, const Island* on, double* d) noexcept nogil:
    # (J - C^T R) d = r by the current operator: d = J^-1 r + J^-1 C^T w with B w = R J^-1 r
    cdef Operator* op = self.lane.operator
    cdef const double* answer = op.response + self.shared.count * self.nv
    cdef double* w = self.lane.newton.w + self.shared.count
    cdef int c, n = self.nv, extra = self.shared.choices.extra
    solve_apart(self, r, on, d)
    for c in range(extra):
        w[c] = vt_inner(n, op.R + c * n, d)
    if extra:
        lu_solve(op.B, extra, op.B_order, w)
    for c in range(extra):
        vt_add_row(n, w[c], answer + c * n, d)


cdef void solve_apart(ModelStepper self, const double* r, const Island* on, double* d) noexcept nogil:
    # J d = r, on an island or, with NULL, everywhere; prescribed coordinates do not move
    cdef int k
    self.lane.progress.solves += 1
    if not self.method.dense(self):
        if on == NULL:
            for k in range(self.shared.islands.range_count):
                self.method.apply_inverse(self, r, self.shared.islands.range[2 * k], self.shared.islands.range[2 * k + 1], d)
        else:
            self.method.apply_inverse(self, r, on.body, on.body_end, d)
        return
    memcpy(d, r, self.nv * sizeof(double))
    clear_locked(self, d)
    lu_solve(self.lane.operator.J, self.nv, self.lane.operator.order, d)


cdef int factor_dense(ModelStepper self) noexcept nogil:
    # prescribed coordinates are not part of the dense matrix
    cdef double* J = self.lane.operator.J
    cdef int i, j, n = self.nv
    for i in range(self.shared.m.nlocked):
        j = self.shared.locked[i].iv
        memset(J + j * n, 0, n * sizeof(double))
        J[j * n + j] = 1.0
    if lu_factor(J, n, self.lane.operator.order) != OK:
        return DEPENDENT
    # at rest J is -M/h, except for the prescribed rows
    if lu_sign(J, n, self.lane.operator.order) == sign_at_rest(self, n - self.shared.m.nlocked):
        self.lane.operator.pivot_signs[0] = SAME
    else:
        self.lane.operator.pivot_signs[0] = ODD
    return OK


cdef int sign_at_rest(ModelStepper self, int n) noexcept nogil:
    # sign of the determinant of an (n, n) matrix that is -1/h times a positive definite one
    return -1 if n % 2 and self.lane.now.h > 0.0 else 1


cdef int direction(ModelStepper self) noexcept nogil:
    # the correction d of y, and z, that of the multipliers:
    #     (J - C^T R) d = r + Dh1^T z,  Dh2 d = -h,    d = (J - C^T R)^-1 r + (responses)^T z
    cdef Newton* x = &self.lane.newton
    cdef Operator* op = self.lane.operator
    cdef int k, status
    variational_solve(self, x.r, NULL, x.d)
    x.now.signs_ok = op.pivot_signs[0] >= x.now.required_signs
    for k in range(self.shared.islands.count):
        if self.shared.islands.at[k].plan != NULL:
            continue
        status = multiply_on(self, &self.shared.islands.at[k])
        if status != OK:
            return status
    x.turned = True
    for k in range(self.shared.count):
        x.z[self.shared.islands.member[k]] = x.w[k]
    if self.lane.fronts.planned:
        self.method.apply_by_plans(self, x.r, x.d, x.z)
    return OK


cdef void variational_broyden(ModelStepper self, int k) noexcept nogil:
    # Broyden's rank-one updates of the first operator, applied to its correction d (Kelley 1995, algorithm brsol). Pass
    # k stores its correction in past[k]
    cdef Newton* x = &self.lane.newton
    cdef int j, i, n = self.nv, size = self.nv + self.shared.count
    cdef double* s = x.past + <Py_ssize_t>k * size
    cdef double* older
    cdef double* newer
    cdef double share
    memcpy(s, x.d, n * sizeof(double))
    memcpy(s + n, x.z, self.shared.count * sizeof(double))
    for j in range(k):
        older = x.past + <Py_ssize_t>j * size
        share = inner(older, s, size) / x.past_size[j]
        if j == k - 1:
            share = 1.0 / (1.0 - share)
            for i in range(size):
                s[i] *= share
        else:
            newer = older + size
            for i in range(size):
                s[i] += share * newer[i]
    x.past_size[k] = inner(s, s, size)
    memcpy(x.d, s, n * sizeof(double))
    memcpy(x.z, s + n, self.shared.count * sizeof(double))
