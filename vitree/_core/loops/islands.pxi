# Islands of constraints within a variational step: by their plan (fronts.pxi), or by the rows Dh and a Schur complement.

cdef int multiply_on(ModelStepper self, const Island* on) noexcept nogil:
    # w, the part of z on an island, and d
    cdef Newton* x = &self.lane.newton
    cdef const int* member = self.shared.islands.member + on.row
    cdef double* A = x.A + on.block
    cdef double* w = x.w + on.row
    cdef int c, sign, rows = on.row_end - on.row
    if self.shared.plain:
        for c in range(rows):
            w[c] = -self.lane.held.h[member[c]] - coupled_rate(&self.shared.constraint[member[c]], x.d)
        lu_solve(self.lane.operator.S + on.block, rows, self.lane.operator.S_order + on.row, w)
    else:
        schur_complement(self, on)
        if lu_factor(A, rows, x.order) != OK:
            return DEPENDENT
        sign = lu_sign(A, rows, x.order)
        lu_solve(A, rows, x.order, w)
        # at rest A is -h Dh M^-1 Dh^T
        if sign != sign_at_rest(self, rows) and sign != sign_between_nodes(self, on, rows):
            x.now.signs_ok = False
    for c in range(rows):
        vt_add_row(on.v_end - on.v, w[c], self.lane.operator.response + member[c] * self.nv + on.v, x.d + on.v)
    return OK


cdef void schur_complement(ModelStepper self, const Island* on) noexcept nogil:
    # A w = right side on an island: Dh2 (response) w = -h - Dh2 d
    cdef Newton* x = &self.lane.newton
    cdef const double* response = self.lane.operator.response
    cdef Holonomic* held = &self.lane.held
    cdef const int* member = self.shared.islands.member + on.row
    cdef int c, e, entries, n = self.nv, rows = on.row_end - on.row
    cdef double* row
    cdef double* A = x.A + on.block
    cdef double* w = x.w + on.row
    for c in range(rows):
        # in place: the next residual recomputes Dh2
        row = held.Dh2 + member[c] * n
        if not x.turned:
            self.method.by_increments(self, on.body, on.body_end, row)
        entries = nonzeros(row + on.v, on.v_end - on.v, held.columns)
        for e in range(rows):
            A[c * rows + e] = inner_at(row + on.v, response + member[e] * n + on.v, held.columns, entries)
        w[c] = -held.h[member[c]] - inner_at(row + on.v, x.d + on.v, held.columns, entries)


cdef int sign_between_nodes(ModelStepper self, const Island* on, int count) noexcept nogil:
    # the sign of det(-h Dh2 Dh1^T) of an island, or 0 if it differs from that at rest because the step passes a
    # singular configuration
    cdef Newton* x = &self.lane.newton
    cdef Holonomic* held = &self.lane.held
    cdef const int* member = self.shared.islands.member + on.row
    cdef double* A = x.A + on.block
    cdef int c, e, n = self.nv, width = on.v_end - on.v
    for c in range(count):
        for e in range(count):
            A[c * count + e] = inner(held.Dh2 + member[c] * n + on.v, held.Dh1 + member[e] * n + on.v, width)
    if lu_factor(A, count, x.order) != OK:
        return 0
    return lu_sign(A, count, x.order) * sign_at_rest(self, count)


cdef int factor_gears(ModelStepper self) noexcept nogil:
    # the factors of Dh J^-1 Dh^T, -h Dh M^-1 Dh^T at rest, of each island
    cdef Operator* op = self.lane.operator
    cdef const vt_constraint* e
    cdef const Island* on
    cdef const int* member
    cdef const double* response
    cdef double* S
    cdef int i, c, k, rows
    for i in range(self.shared.islands.count):
        on = &self.shared.islands.at[i]
        member, rows, S = self.shared.islands.member + on.row, on.row_end - on.row, op.S + on.block
        for k in range(rows):
            response = op.response + member[k] * self.nv
            for c in range(rows):
                S[c * rows + k] = coupled_rate(&self.shared.constraint[member[c]], response)
        if lu_factor(S, rows, op.S_order + on.row) != OK:
            return DEPENDENT
        if lu_sign(S, rows, op.S_order + on.row) != sign_at_rest(self, rows):
            op.pivot_signs[0] = WRONG
    return OK


# ---- islands with a plan -------------------------------------------------------------------------------


cdef void place_fronts(ModelStepper self, const Island* on, bint whole) noexcept nogil:
    # their bodies: at nodes 1 and 2, and the data of the discretisation
    cdef Fronts* fronts = &self.lane.fronts
    cdef int i, last = fronts.block // 6 - 1
    cdef FrontBody* x
    for i in range(on.body, on.body_end):
        x = &fronts.body[i]
        x.t_row[last], x.R_row[last] = fronts.pose1[i].t, fronts.pose1[i].R
        x.t_col[last], x.R_col[last] = fronts.pose2[i].t, fronts.pose2[i].R
        self.method.place_front(self, i, x, whole)


cdef int linearise_by_plans(ModelStepper self) noexcept nogil:
    # factor the equations of these islands
    cdef Fronts* fronts = &self.lane.fronts
    cdef Holonomic* held = &self.lane.held
    cdef const Island* on
    cdef FrontWork* work
    cdef FrontFactors to
    cdef Signs signs
    cdef int k
    fronts_use(fronts, self.shared.m, self.lane.newton.stage)
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan == NULL:
            continue
        signs_begin(&signs)
        work = &fronts.work[k]
        work.z.sense = self.method.front_sense(self)
        to = front_factors_of(&fronts.factors[k], on.plan, &work.z, self.lane.newton.stage)
        place_fronts(self, on, True)
        if front_factor(on.plan, work, &to, self.shared.m, fronts.body, self.shared.constraint,
                        self.shared.islands.member + on.row, held.hold1, held.hold2, &signs) != OK:
            return DEPENDENT
        if soundness(&signs) != SAME:
            self.lane.operator.pivot_signs[0] = min(self.lane.operator.pivot_signs[0], pivot_signs_between_nodes(self, on, signs.all))
    return OK


cdef int pivot_signs_between_nodes(ModelStepper self, const Island* on, double all) noexcept nogil:
    # the signs of an island apart: those of its joints alone, and that of the multipliers' matrix, det(J) times which
    # is `all`. Where the step passes a singular configuration it is that of det(Dh2 Dh1^T)
    cdef const vt_model* m = self.shared.m
    cdef Fronts* fronts = &self.lane.fronts
    cdef Holonomic* held = &self.lane.held
    cdef const int* member = self.shared.islands.member + on.row
    cdef int c, n = self.nv, rows = on.row_end - on.row
    cdef Signs signs
    signs_begin(&signs)
    self.method.note_joints(self, on.body, on.body_end, &signs)
    if all * signs.all < 0.0:
        for c in range(rows):
            memset(held.Dh1 + member[c] * n, 0, n * sizeof(double))
            memset(held.Dh2 + member[c] * n, 0, n * sizeof(double))
            hold_row(m, &self.shared.constraint[member[c]], fronts.pose1, &held.hold1[member[c]],
                     held.Dh1 + member[c] * n)
            hold_row(m, &self.shared.constraint[member[c]], fronts.pose2, &held.hold2[member[c]],
                     held.Dh2 + member[c] * n)
        if sign_between_nodes(self, on, rows) * sign_at_rest(self, rows) >= 0:
            return WRONG
    return soundness(&signs)


cdef void variational_apply_by_plans(ModelStepper self, const double* r, double* d, double* z) noexcept nogil:
    # d and z, the corrections, on these islands
    cdef Fronts* fronts = &self.lane.fronts
    cdef const Island* on
    cdef const int* member
    cdef FrontFactors by
    cdef double* mu = self.lane.newton.w
    cdef double share = self.method.front_share(self)
    cdef int k, c
    fronts_use(fronts, self.shared.m, self.lane.newton.stage)
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan == NULL:
            continue
        member = self.shared.islands.member + on.row
        by = front_factors_of(&fronts.factors[k], on.plan, &fronts.work[k].z, self.lane.newton.stage)
        place_fronts(self, on, False)
        memset(d + on.v, 0, (on.v_end - on.v) * sizeof(double))
        front_solve(on.plan, &fronts.work[k], &by, self.shared.m, fronts.body, r, share, self.lane.held.h, member, d,
                    mu)
        self.method.end_front(self, on.body, on.body_end, d)
        for c in range(on.row_end - on.row):
            z[member[c]] = -mu[c] / share


cdef void hold_by_plans(ModelStepper self, double* r) noexcept nogil:
    # r += Dh(q1)^T lam on these islands
    cdef Fronts* fronts = &self.lane.fronts
    cdef const Island* on
    cdef int k, i, last = fronts.block // 6 - 1
    for k in range(self.shared.islands.count):
        on = &self.shared.islands.at[k]
        if on.plan == NULL:
            continue
        for i in range(on.body, on.body_end):
            fronts.body[i].t_row[last], fronts.body[i].R_row[last] = fronts.pose1[i].t, fronts.pose1[i].R
        add_held(self.shared.m, self.shared.constraint, self.lane.held.hold1, self.shared.islands.member + on.row,
                 on.row_end - on.row, self.lane.held.lam, on.body, on.body_end, fronts.body, fronts.block,
                 fronts.work[k].hung, r)
