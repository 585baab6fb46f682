# Extrapolation of the increments of past steps, of the order that has recently been most accurate.

cdef enum:              # initial guesses of an increment
    GUESS_AUTO = 0
    GUESS_CURRENT = 1
    GUESS_EULER = 2
    GUESS_SEMI_IMPLICIT = 3
    GUESS_ABA = 4
    GUESS_EXTRAPOLATE = 5
    GUESS_EXTRAPOLATE_2 = 6
    GUESS_EXTRAPOLATE_3 = 7
    GUESS_EXTRAPOLATE_4 = 8

cdef enum:
    ORDERS = 8          # highest order of extrapolation tried


cdef struct Seen:       # kept
    long count                      # number of increments so far
    double h                        # [s] the step of these increments
    double score[ORDERS + 1]        # by order, recent errors of extrapolations


cdef struct Guess:
    Seen* seen                      # of each lane
    vt_real* table                  # (ORDERS + 1, n) backward differences of the last increment


cdef int seen_order(const Seen* seen) noexcept nogil:
    # the order with the smallest error
    cdef int m, best = 1
    for m in range(2, <int>min(seen.count, ORDERS) + 1):
        if seen.score[m] < seen.score[best]:
            best = m
    return best


cdef void seen_note(Seen* seen, int m, double worst) noexcept nogil:
    # the error of order m
    if m < ORDERS:
        seen.score[m + 1] = 0.5 * (worst + seen.score[m + 1]) if seen.count > m + 1 else worst


cdef void guess_predict(const Guess* g, int n, int fixed, vt_real* y) noexcept nogil:
    # y = the sum of the backward differences below the order: `fixed`, or if it is 0 the most accurate one of a lane
    cdef int i, m, k, most = 1
    cdef int order[MOST_LANES]
    cdef bint takes[MOST_LANES]
    cdef const vt_real* row
    cdef vt_mask some
    for i in range(VT_WIDTH):
        order[i] = fixed if fixed else seen_order(&g.seen[i])
        most = max(most, order[i])
    memcpy(y, g.table, n * sizeof(vt_real))
    for m in range(1, most):
        for i in range(VT_WIDTH):
            takes[i] = m < order[i]
        some = where(takes)
        row = g.table + m * n
        if vt_all(some):
            for k in range(n):
                y[k] = y[k] + row[k]
        else:
            for k in range(n):
                y[k] = vt_select(some, y[k] + row[k], y[k])


cdef void guess_learn(Guess* g, int n, const vt_real* y, vt_real* fresh) noexcept nogil:
    # the new backward differences: the m-th is the error that order m would have had. fresh: memory for (n,)
    cdef int i, m, k, most = 0
    cdef int known[MOST_LANES]
    cdef bint takes[MOST_LANES]
    cdef vt_mask some
    cdef vt_real d, e, worst
    cdef vt_real* row
    for i in range(VT_WIDTH):
        known[i] = <int>min(g.seen[i].count, ORDERS)
        most = max(most, known[i])
    memcpy(fresh, y, n * sizeof(vt_real))
    for m in range(most + 1):
        for i in range(VT_WIDTH):
            takes[i] = m <= known[i]
        some = where(takes)
        row = g.table + m * n
        worst = vt_set1(0.0)
        if vt_all(some):
            for k in range(n):
                d = fresh[k]
                e = d - row[k]
                row[k] = d
                fresh[k] = e
                worst = vt_max(worst, vt_abs(e))
        else:
            for k in range(n):
                d = fresh[k]
                e = d - row[k]
                row[k] = vt_select(some, d, row[k])
                fresh[k] = vt_select(some, e, fresh[k])
                worst = vt_max(worst, vt_abs(e))
        for i in range(VT_WIDTH):
            if takes[i]:
                seen_note(&g.seen[i], m, vt_get(worst, i))
    for i in range(VT_WIDTH):
        g.seen[i].count += 1


cdef void guess_scale(Guess* g, int n, double h) noexcept nogil:
    # rescale to increments of steps of another length, which is that of all lanes
    cdef int k
    cdef double ratio = h / g.seen.h
    if ratio != 1.0:
        for k in range((ORDERS + 1) * n):
            g.table[k] = g.table[k] * ratio
    g.seen.h = h
