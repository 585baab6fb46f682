# Drives: servos on joints of one coordinate, whose force a step solves for. One lane.

cdef struct DriveAt:            # the force of a drive, and minus its slopes
    double force
    double by_position
    double by_rate


cdef inline double effort_left(const vt_drive* d, double rate) noexcept nogil:
    # the largest force along a motion: of a motor it falls with the speed, to zero where nothing loads it
    if d.speed == INFINITY or rate <= 0.0:
        return d.effort
    return d.effort * (1.0 - rate/d.speed) if rate < d.speed else 0.0


cdef inline double drive_at_ease(const vt_drive* d, double x, double rate, const double* u) noexcept nogil:
    # kp (target - x) + kd (target rate - rate)
    cdef double goal = u[d.target] if d.target >= 0 else d.goal
    cdef double goal_rate = u[d.rate] if d.rate >= 0 else d.goal_rate
    return d.kp * (goal - x) + d.kd * (goal_rate - rate)


cdef DriveAt drive_at(const vt_drive* d, double x, double rate, const double* u) noexcept nogil:
    # F = kp (target - x) + kd (target rate - rate), from -effort_left(-rate) to effort_left(rate)
    cdef DriveAt at
    cdef double most = effort_left(d, rate), least = -effort_left(d, -rate)
    at.force = drive_at_ease(d, x, rate, u)
    at.by_position, at.by_rate = d.kp, d.kd
    if at.force > most or at.force < least:
        at.by_position = at.by_rate = 0.0
        # d(most)/d(rate) = -effort/speed, and so is d(least)/d(rate)
        if at.force > most:
            at.force = most
            if d.speed != INFINITY and 0.0 < rate < d.speed:
                at.by_rate = d.effort / d.speed
        else:
            at.force = least
            if d.speed != INFINITY and 0.0 < -rate < d.speed:
                at.by_rate = d.effort / d.speed
    return at


cdef void add_drives(const vt_drive* d, int count, const double* q, const double* v, const double* u,
                     double* tau) noexcept nogil:
    # tau += their forces
    cdef int k
    for k in range(count):
        tau[d[k].iv] += drive_at(&d[k], q[d[k].iq], v[d[k].iv], u).force


cdef void drive_step(const vt_drive* d, int count, const double* q, const double* y, double share, double h,
                     const double* u, double* force, double* slope) noexcept nogil:
    # force (nv,) at q + share y and the mean rate y/h, and -h times its slope by y: h share kp + kd within limits
    cdef int k
    cdef DriveAt at
    for k in range(count):
        at = drive_at(&d[k], q[d[k].iq] + share * y[d[k].iv], y[d[k].iv] / h, u)
        force[d[k].iv] += at.force
        slope[d[k].iv] += share * h * at.by_position + at.by_rate
