# Extrapolation of the increments of past steps, of the order that did best lately.

cdef enum:
    ORDERS = 8          # highest order of extrapolation tried


cdef struct Seen:       # kept
    long count                      # increments seen
    double h                        # [s] the step they were made with
    double score[ORDERS + 1]        # by order, what extrapolations were lately wrong by


cdef struct Guess:
    Seen* seen
    double* table                   # (ORDERS + 1, nv) backward differences of the last increment


cdef int seen_order(const Seen* seen) noexcept nogil:
    # the order with the least score
    cdef int m, best = 1
    for m in range(2, <int>min(seen.count, ORDERS) + 1):
        if seen.score[m] < seen.score[best]:
            best = m
    return best


cdef void seen_note(Seen* seen, int m, double worst) noexcept nogil:
    # what order m was wrong by
    if m < ORDERS:
        seen.score[m + 1] = 0.5 * (worst + seen.score[m + 1]) if seen.count > m + 1 else worst


cdef int guess_order(const Guess* g) noexcept nogil:
    return seen_order(g.seen)


cdef void guess_predict(const Guess* g, int nv, int order, double* y) noexcept nogil:
    # y = the sum of the backward differences below the order
    cdef int m, k
    memcpy(y, g.table, nv * sizeof(double))
    for m in range(1, order):
        for k in range(nv):
            y[k] += g.table[m * nv + k]


cdef void guess_learn(Guess* g, int nv, const double* y, double* fresh) noexcept nogil:
    # the new backward differences: the m-th is what order m would have been wrong by. fresh: memory for (nv,)
    cdef int m, k, known = <int>min(g.seen.count, ORDERS)
    cdef double d, e, worst
    cdef double* row
    memcpy(fresh, y, nv * sizeof(double))
    for m in range(known + 1):
        row = g.table + m * nv
        worst = 0.0
        for k in range(nv):
            d = fresh[k]
            e = d - row[k]
            row[k] = d
            fresh[k] = e
            worst = max(worst, fabs(e))
        seen_note(g.seen, m, worst)
    g.seen.count += 1


cdef void guess_scale(Guess* g, int nv, double h) noexcept nogil:
    # increments of steps of another length
    cdef int k
    cdef double ratio = h / g.seen.h
    if ratio != 1.0:
        for k in range((ORDERS + 1) * nv):
            g.table[k] *= ratio
    g.seen.h = h
