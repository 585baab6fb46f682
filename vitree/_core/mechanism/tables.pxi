# Functions of one variable by cubic pieces: values, slopes and integrals.

cdef inline int table_piece(const vt_table* t, double x) noexcept nogil:
    # the last piece that begins at x or before, or the first
    cdef int low = 0, high = t.count - 1, middle
    while low < high:
        middle = (low + high + 1) // 2
        if t.x[middle] <= x:
            low = middle
        else:
            high = middle - 1
    return low


cdef inline void table_one(const vt_table* t, double x, double* value, double* slope, double* curve) noexcept nogil:
    # a table, its slope and its second derivative
    cdef int high = t.count - 1, low
    cdef double s
    cdef const double* c
    if t.period > 0.0:
        x -= t.period * floor((x - t.x[0]) / t.period)
    elif x <= t.x[0] or x >= t.x[t.count]:
        # linear beyond the ends
        c = t.c if x <= t.x[0] else t.c + 4 * high
        s = 0.0 if x <= t.x[0] else t.x[t.count] - t.x[high]
        slope[0] = c[1] + s * (2.0 * c[2] + 3.0 * s * c[3])
        value[0] = (c[0] + s * (c[1] + s * (c[2] + s * c[3]))
                    + slope[0] * (x - (t.x[0] if x <= t.x[0] else t.x[t.count])))
        curve[0] = 0.0
        return
    low = table_piece(t, x)
    c = t.c + 4 * low
    s = x - t.x[low]
    value[0] = c[0] + s * (c[1] + s * (c[2] + s * c[3]))
    slope[0] = c[1] + s * (2.0 * c[2] + 3.0 * s * c[3])
    curve[0] = 2.0 * c[2] + 6.0 * s * c[3]


cdef inline void table_values(const vt_table* t, vt_real x, vt_real* value, vt_real* slope,
                              vt_real* curve) noexcept nogil:
    # lane by lane
    cdef int lane
    cdef double f, df, ddf
    for lane in range(VT_WIDTH):
        table_one(t, vt_get(x, lane), &f, &df, &ddf)
        vt_put(value, lane, f)
        vt_put(slope, lane, df)
        vt_put(curve, lane, ddf)


cdef double table_integral(const vt_table* t, double x) noexcept nogil:
    # from the table's beginning to x
    cdef int low
    cdef double s, value, slope, curve, end = t.x[t.count]
    cdef const double* c
    if x <= t.x[0] or x >= end:
        s = x - (t.x[0] if x <= t.x[0] else end)
        table_one(t, x, &value, &slope, &curve)
        return (t.total[t.count] if x >= end else 0.0) + s * (value - 0.5 * s * slope)
    low = table_piece(t, x)
    s = x - t.x[low]
    c = t.c + 4 * low
    return t.total[low] + s * (c[0] + s * (c[1] / 2.0 + s * (c[2] / 3.0 + s * c[3] / 4.0)))
