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


def joint_slopes(CoreModel model, DriveList drives, const double[::1] q, const double[::1] v, const double[::1] u):
    """Slopes (2, nv) of what acts in the joints alone, by coordinates and by rates: damping, friction and drives."""
    cdef const vt_model* m = &model.m
    cdef const vt_drive* d
    cdef DriveAt at
    cdef int k
    slopes = np.zeros((2, m.nv))
    cdef double[:, ::1] out = slopes
    require_size(q.shape[0], m.nq, "entries of q")
    require_size(v.shape[0], m.nv, "entries of v")
    for k in range(m.nv):
        out[1, k] = -m.damping[k]
        if m.friction[k] != 0.0:
            out[1, k] -= friction_slope(m, k, v[k])
    for k in range(drives.count):
        d = &drives.list[k]
        if d.target >= u.shape[0] or d.rate >= u.shape[0]:
            raise ValueError(f"an input of a drive, of {u.shape[0]}")
        at = drive_at(d, q[d.iq], v[d.iv], &u[0] if u.shape[0] else NULL)
        out[0, d.iv] -= at.by_position
        out[1, d.iv] -= at.by_rate
    return slopes
