# Extrapolation of the increments of past steps, of the order that has recently been most accurate. Order m takes the
# m-th difference of the next increment for zero:
#     (1 - s_1 Z) (1 - s_2 Z) ... (1 - s_m Z) y = 0,    Z y_k = y_(k-1)
# With s = 1 these are polynomials of degree m-1. A factor with s = -1 annihilates what changes sign at each step: a damping
# c that is solved for takes the momentum of a mass M to (M - h c/2)/(M + h c/2) of it, nearly -1 for light links with
# friction. A second sequence has s = 1, 1, 1, -1, 1, -1, 1 ...; its first three differences are those of the first.

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
    ORDERS = 8          # highest order of extrapolation by polynomials
    STEADY_ORDERS = 3   # the second sequence starts with so many differences of the first
    RINGS = 8           # and continues with so many of its own, at most ORDERS
    EXTRAPOLATIONS = ORDERS + RINGS

#: A change of a force shows in increments if their extrapolation errs by so many times as much as recently
cdef double RAMP = 4.0


cdef struct Seen:       # kept
    long count                      # number of increments so far
    long rung                       # and of those that the second sequence has followed without a gap
    double h                        # [s] the step of these increments
    double score[EXTRAPOLATIONS + 1]    # by extrapolation, recent errors


cdef struct Guess:
    Seen* seen                      # of each lane
    vt_real* table                  # (guess_rows, n) differences of the last increment
    bint rings                      # increments may change sign from step to step


cdef inline int guess_rows(bint rings) noexcept nogil:
    return EXTRAPOLATIONS if rings else ORDERS


cdef inline double row_sign(int row) noexcept nogil:
    # s of the factor that follows a difference
    return -1.0 if row >= ORDERS and (row - ORDERS) % 2 == 0 else 1.0


cdef int seen_best(const Seen* seen, bint rings) noexcept nogil:
    # the extrapolation with the smallest error
    cdef int m, best = 1
    for m in range(2, <int>min(seen.count, ORDERS) + 1):
        if seen.score[m] < seen.score[best]:
            best = m
    if rings:
        for m in range(ORDERS + 1, ORDERS + <int>min(min(seen.rung, seen.count - STEADY_ORDERS) - 1, RINGS) + 1):
            if seen.score[m] < seen.score[best]:
                best = m
    return best


cdef void guess_predict(const Guess* g, int n, int fixed, vt_real* y) noexcept nogil:
    # y = sum of s_j times the j-th difference below the order: `fixed`, or if it is 0 the most accurate one of a lane
    cdef int i, row, k, most = 1
    cdef int best[MOST_LANES]
    cdef int steady[MOST_LANES]     # rows of the first sequence that are part of it
    cdef const int* end
    cdef bint takes[MOST_LANES]
    cdef const vt_real* at
    cdef vt_mask some
    cdef double s
    for i in range(VT_WIDTH):
        best[i] = fixed if fixed else seen_best(&g.seen[i], g.rings)
        steady[i] = best[i] if best[i] <= ORDERS else STEADY_ORDERS
        most = max(most, best[i])
    memcpy(y, g.table, n * sizeof(vt_real))
    for row in range(1, most):
        end = &steady[0] if row < ORDERS else &best[0]
        for i in range(VT_WIDTH):
            takes[i] = row < end[i]
        some, at, s = where(takes), g.table + row * n, row_sign(row)
        if vt_all(some):
            for k in range(n):
                y[k] = y[k] + s * at[k]
        else:
            for k in range(n):
                y[k] = vt_select(some, y[k] + s * at[k], y[k])


cdef void guess_ramp(Guess* g, int n, const vt_real* y, const bint* jumped, double share, vt_real* fresh) noexcept nogil:
    # lanes in which a force changed at the start of the step: by it increments grow by d from step to step, the first by
    # share d, which is the error e of the extrapolation. Past ones are as if they had grown as much:
    #     y_(k-1) -= (1 - share) d,    (1 - Z) y_(k-1) += d
    # so that higher differences do not see the change. fresh: memory for (n,)
    cdef bint takes[MOST_LANES]
    cdef vt_real worst = vt_set1(0.0), e
    cdef vt_mask some
    cdef double later = (1.0 - share) / share
    cdef int i, k, best
    guess_predict(g, n, 0, fresh)
    for k in range(n):
        fresh[k] = y[k] - fresh[k]
        worst = vt_max(worst, vt_abs(fresh[k]))
    for i in range(VT_WIDTH):
        best = seen_best(&g.seen[i], g.rings)
        takes[i] = jumped[i] and best > 1 and vt_get(worst, i) > RAMP * g.seen[i].score[best]
    if not any_of(takes):
        return
    some = where(takes)
    for k in range(n):
        e = vt_select(some, fresh[k], vt_set1(0.0))
        g.table[k] = g.table[k] - later * e
        g.table[n + k] = g.table[n + k] + (1.0 + later) * e


cdef inline bint guess_rings(const Guess* g, int lane, long corrections) noexcept nogil:
    # whether the second sequence is to be followed in a lane: it is the best one, or the step took a correction
    return g.rings and (corrections > 0 or seen_best(&g.seen[lane], True) > ORDERS)


cdef void guess_learn(Guess* g, int n, const vt_real* y, const bint* rings, vt_real* fresh) noexcept nogil:
    # the new differences; rings: the lanes in which the second sequence is followed, or NULL. fresh: memory for (n,)
    cdef long before[MOST_LANES]
    cdef Seen* seen
    cdef int i
    for i in range(VT_WIDTH):
        before[i] = g.seen[i].count
    learn_sequence(g, n, 0, ORDERS, before, y, fresh)
    for i in range(VT_WIDTH):
        seen = &g.seen[i]
        before[i] = seen.rung if rings != NULL and rings[i] and seen.count >= STEADY_ORDERS else -1
        seen.rung = before[i] + 1
        seen.count += 1
    if g.rings:
        learn_sequence(g, n, ORDERS, RINGS, before, g.table + STEADY_ORDERS * n, fresh)


cdef void learn_sequence(Guess* g, int n, int first, int orders, const long* before, const vt_real* start,
                         vt_real* fresh) noexcept nogil:
    # rows of differences of `start`, of which so many came before, or -1 to leave them: the m-th is the error that order
    # m would have had
    cdef int i, m, k, most = -1
    cdef int known[MOST_LANES]
    cdef bint takes[MOST_LANES]
    cdef bint lacks[MOST_LANES]
    cdef vt_mask some, none
    cdef vt_real d, e, worst
    cdef vt_real* row
    cdef double s
    for i in range(VT_WIDTH):
        known[i] = <int>min(before[i], orders - 1)
        most = max(most, known[i])
    if most < 0:
        return
    memcpy(fresh, start, n * sizeof(vt_real))
    for m in range(most + 1):
        for i in range(VT_WIDTH):
            takes[i], lacks[i] = m <= known[i], m == before[i]
        some = where(takes)
        row, s, worst = g.table + (first + m) * n, row_sign(first + m), vt_set1(0.0)
        if any_of(lacks):
            # what memory holds of another run is not a difference of this one
            none = where(lacks)
            for k in range(n):
                row[k] = vt_select(none, vt_set1(0.0), row[k])
        if vt_all(some):
            for k in range(n):
                d = fresh[k]
                e = d - s * row[k]
                row[k] = d
                fresh[k] = e
                worst = vt_max(worst, vt_abs(e))
        else:
            for k in range(n):
                d = fresh[k]
                e = d - s * row[k]
                row[k] = vt_select(some, d, row[k])
                fresh[k] = vt_select(some, e, fresh[k])
                worst = vt_max(worst, vt_abs(e))
        for i in range(VT_WIDTH):
            if takes[i]:
                note_score(&g.seen[i].score[first + m + 1], before[i] > m + 1, vt_get(worst, i))


cdef inline void note_score(double* score, bint known, double worst) noexcept nogil:
    score[0] = 0.5 * (worst + score[0]) if known else worst


cdef void guess_scale(Guess* g, int n, double h) noexcept nogil:
    # rescale to increments of steps of another length, which is that of all lanes
    cdef int k
    cdef double ratio = h / g.seen.h
    if ratio != 1.0:
        for k in range(guess_rows(g.rings) * n):
            g.table[k] = g.table[k] * ratio
    g.seen.h = h
