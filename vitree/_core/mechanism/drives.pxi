# Drives: servos on joints of one coordinate, whose force a step solves for.

cdef struct DriveAt:            # the force of a drive, and minus its slopes
    vt_real force
    vt_real by_position
    vt_real by_rate


cdef inline vt_real effort_left(const vt_drive* d, vt_real rate) noexcept nogil:
    # the largest force along a motion: for a motor it decreases with the speed, to zero at its no-load speed
    cdef vt_real left
    if d.speed == INFINITY:
        return vt_set1(d.effort)
    left = d.effort * (vt_set1(1.0) - rate / vt_set1(d.speed))
    left = vt_select(vt_lt(rate, vt_set1(d.speed)), left, vt_set1(0.0))
    return vt_select(vt_le(rate, vt_set1(0.0)), vt_set1(d.effort), left)


cdef inline vt_real drive_at_ease(const vt_drive* d, vt_real x, vt_real rate, const vt_real* u) noexcept nogil:
    # kp (target - x) + kd (target rate - rate)
    cdef vt_real goal = u[d.target] if d.target >= 0 else vt_set1(d.goal)
    cdef vt_real goal_rate = u[d.rate] if d.rate >= 0 else vt_set1(d.goal_rate)
    return kp_of(d) * (goal - x) + kd_of(d) * (goal_rate - rate)


cdef inline vt_real limit_slope(const vt_drive* d, vt_real rate) noexcept nogil:
    # minus the slope of the largest force along a motion
    cdef vt_real none = vt_set1(0.0)
    if d.speed == INFINITY:
        return none
    return vt_select(vt_lt(none, rate), vt_select(vt_lt(rate, vt_set1(d.speed)), vt_set1(d.effort / d.speed), none), none)


cdef DriveAt drive_at(const vt_drive* d, vt_real x, vt_real rate, const vt_real* u) noexcept nogil:
    # F = kp (target - x) + kd (target rate - rate), from -effort_left(-rate) to effort_left(rate)
    cdef DriveAt at
    cdef vt_real most, least, none = vt_set1(0.0)
    cdef vt_mask over, under
    at.force = drive_at_ease(d, x, rate, u)
    at.by_position, at.by_rate = kp_of(d), kd_of(d)
    if d.effort == INFINITY and d.speed == INFINITY:
        return at
    most, least = effort_left(d, rate), -effort_left(d, -rate)
    over, under = vt_lt(most, at.force), vt_lt(at.force, least)
    at.by_position = vt_select(over, none, vt_select(under, none, at.by_position))
    at.by_rate = vt_select(over, limit_slope(d, rate), vt_select(under, limit_slope(d, -rate), at.by_rate))
    at.force = vt_select(over, most, vt_select(under, least, at.force))
    return at


cdef void add_drives(const vt_drive* d, int count, const vt_real* q, const vt_real* v, const vt_real* u,
                     vt_real* tau) noexcept nogil:
    # tau += their forces
    cdef int k
    for k in range(count):
        tau[d[k].iv] = tau[d[k].iv] + drive_at(&d[k], q[d[k].iq], v[d[k].iv], u).force


cdef void drive_step(const vt_drive* d, int count, const vt_real* q, const vt_real* y, double share, double h,
                     const vt_real* u, vt_real* force, vt_real* slope) noexcept nogil:
    # force (nv,) at q + share y and the mean rate y/h, and -h times its slope by y: h share kp + kd within limits
    cdef int k
    cdef DriveAt at
    for k in range(count):
        at = drive_at(&d[k], q[d[k].iq] + share * y[d[k].iv], y[d[k].iv] / vt_set1(h), u)
        force[d[k].iv] = force[d[k].iv] + at.force
        slope[d[k].iv] = slope[d[k].iv] + (share * h * at.by_position + at.by_rate)


cdef void stop_within_effort(const vt_drive* drive, int count, const vt_real* q, const vt_real* y, double share, double h,
                             const vt_real* u, vt_real* change) noexcept nogil:
    # a drive that a correction would move from one effort limit beyond the other is placed in between, where it has a
    # slope: from there Newton's iteration converges, where it could cycle
    cdef const vt_drive* d
    cdef vt_real before, after, most, halfway, slope
    cdef int k, i
    for k in range(count):
        d = &drive[k]
        if d.effort == INFINITY:
            continue
        i = d.iv
        most = vt_set1(d.effort)
        slope = share * h * kp_of(d) + kd_of(d)
        before = drive_at_ease(d, q[d.iq] + share * y[i], y[i] / vt_set1(h), u)
        after = before - slope * change[i] / vt_set1(h)
        halfway = vt_select(vt_lt(before * after, vt_set1(0.0)), before * h / slope, change[i])
        halfway = vt_select(vt_lt(most, vt_abs(after)), halfway, change[i])
        change[i] = vt_select(vt_lt(most, vt_abs(before)), halfway, change[i])
