# Newton's equation of a contact problem whose ports are those of bodies, B, and single ones of joints with dry friction, of
# which J are those that stand: K has no entries for the others. With y = (y_B, y_J) and K of blocks,
#     (1 + P K) y = g,    A = 1 + P_JJ K_J,    C = A^-1 P_JB,    R = P_BB - P_BJ K_J C,
#     (1 + R K_B) y_B = g_B - P_BJ K_J A^-1 g_J,    y_J = A^-1 g_J - C K_B y_B.
# As long as the same joints stand, A, C and R remain, and a correction is of the size of B. What is kept is found again by
# its content, P and K_J. One lane.

cdef enum:
    MANY_SINGLES = 6        # fewer are not worth it


cdef void condensed_free(Condensed* x) noexcept nogil:
    vt_release(x.data)
    vt_release(x.joint)


cdef Condensed* condensed_for(ConeStore* store, const double* P) noexcept nogil:
    # that of P, by its place; else the one that was used before the last one. A step has one P in the metric of its operator,
    # and one in that of M
    cdef int k
    for k in range(2):
        if store.condensed[k].of == P:
            store.last_condensed = k
            return &store.condensed[k]
    store.last_condensed = 1 - store.last_condensed
    store.condensed[store.last_condensed].of, store.condensed[store.last_condensed].singles = P, 0
    return &store.condensed[store.last_condensed]


cdef bint condense(Condensed* x, const double* P, const double* K, int whole, int m) noexcept nogil:
    # make what is kept, unless it is there
    cdef int i, j, n = m - whole, s = 0
    cdef double k
    cdef double* C
    cdef bint same = x.singles == n and x.whole == whole
    if not (grow(<void**>&x.data, &x.room, <size_t>m * m + n + n * n + n * whole + whole * whole + n, sizeof(double))
            and grow(<void**>&x.joint, &x.joint_room, 2 * n, sizeof(int))):
        return False
    x.K = x.data + m * m
    for i in range(n if same else 0):
        same = same and x.K[i] == K[(whole + i) * (m + 1)]
    if same and memcmp(x.data, P, m * m * sizeof(double)) == 0:
        return True
    x.singles, x.order = 0, x.joint + n
    memcpy(x.data, P, m * m * sizeof(double))
    for i in range(n):
        x.K[i] = K[(whole + i) * (m + 1)]
        if x.K[i] != 0.0:
            x.joint[s] = whole + i
            s += 1
    x.A = x.K + n
    C = x.C = x.A + s * s
    x.R = C + s * whole
    x.y = x.R + whole * whole
    for i in range(s):
        for j in range(s):
            x.A[i * s + j] = P[x.joint[i] * m + x.joint[j]] * x.K[x.joint[j] - whole]
        x.A[i * s + i] += 1.0
        memcpy(C + i * whole, P + x.joint[i] * m, whole * sizeof(double))
    if lu_factor(x.A, s, x.order) != OK:
        return False
    lu_solve_rows(x.A, s, x.order, C, whole)
    for i in range(whole):
        memcpy(x.R + i * whole, P + i * m, whole * sizeof(double))
        for j in range(s):
            k = P[i * m + x.joint[j]] * x.K[x.joint[j] - whole]
            vt_add_row(whole, -k, C + j * whole, x.R + i * whole)
    x.whole, x.singles, x.stand = whole, n, s
    return True


cdef bint cone_condensed(ContactProblem* x, const double* K, double* B) noexcept nogil:
    # answer <- y of g in `answer`, but for joints that do not stand; B: memory for the equation of the bodies. False: it is
    # to be solved as a whole
    cdef const double* P = port_answer(x, x.first) + x.first
    cdef Condensed* z
    cdef int i, j, m = x.ports, whole = x.on.whole, s
    cdef double* y = x.answer
    if m - whole < MANY_SINGLES or x.on.count != 1:
        return False
    z = condensed_for(x.store, P)
    if not condense(z, P, K, whole, m):
        return False
    s = z.stand
    for i in range(s):
        z.y[i] = y[z.joint[i]]
    lu_solve(z.A, s, z.order, z.y)
    for i in range(whole):
        for j in range(s):
            y[i] -= P[i * m + z.joint[j]] * z.K[z.joint[j] - whole] * z.y[j]
        memset(B + i * whole, 0, whole * sizeof(double))
        for j in range(whole):
            vt_add_row(whole, z.R[i * whole + j], K + j * m, B + i * whole)
        B[i * whole + i] += 1.0
    if lu_factor(B, whole, x.port_order) != OK:
        answer_of(x, x.port, x.answer)
        return False
    lu_solve(B, whole, x.port_order, y)
    for i in range(whole):
        B[i] = vt_inner(whole, K + i * m, y)
    for i in range(s):
        y[z.joint[i]] = z.y[i] - vt_inner(whole, z.C + i * whole, B)
    return True
