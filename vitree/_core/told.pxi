# What is told of the step just taken, and of gaps at the state, without records: one call each. Included behind calls.pxi.

cdef cnp.ndarray whole_numbers(cnp.npy_intp rows, cnp.npy_intp columns):
    cdef cnp.npy_intp size[2]
    size[0], size[1] = rows, columns
    return cnp.PyArray_SimpleNew(2 if columns else 1, size, cnp.NPY_INTP)


def step_contacts(SettlingStepper stepper):
    """Return the contacts that pushed in the step just taken, as a ContactLog has them.

    Returns
    -------
    rows : (n, TOUCHED) array
        Of record 0. Impulses of upper limits are negative; rows of dry friction have no more than the slip.
    q : (1, nq) array
        Where the step began.
    at : (n,) int array
        Zeros.
    before : (k, 2) int array
        0, and the number of a contact that pushed in the step before.
    """
    cdef Turn turn = stepper.turn()
    cdef Touching* x = &stepper.own_touch
    cdef const vt_contact* e
    cdef double* row
    cdef cnp.npy_intp* number
    cdef int c, n = 0, k = 0
    cdef cnp.ndarray rows, q, at, before
    for c in range(stepper.ntouch):
        n += stepper.pushed(c)
        k += stepper.pushed_before[c]
    rows, q = new_array(2, n, TOUCHED), new_array(2, 1, stepper.nq)
    at, before = whole_numbers(n, 0), whole_numbers(k, 2)
    row, number = data(rows), <cnp.npy_intp*>cnp.PyArray_DATA(before)
    memset(cnp.PyArray_DATA(at), 0, n * sizeof(cnp.npy_intp))
    if n:
        memcpy(data(q), stepper.node_before, stepper.nq * sizeof(double))
    else:
        memcpy(data(q), stepper.lane.state.q, stepper.nq * sizeof(double))
    for c in range(stepper.ntouch):
        if stepper.pushed_before[c]:
            number[0], number[1] = 0, c
            number += 2
        if not stepper.pushed(c):
            continue
        e = &stepper.touch[c]
        row[0], row[1] = 0.0, c
        memcpy(row + 2, x.told + TOLD * c, TOLD * sizeof(double))
        if e.kind == AT_LIMIT:
            row[2] *= e.sign
        elif e.kind == RUBS:
            row[7] = row[8] = 0.0
        row += TOUCHED
    return rows, q, at, before


cdef int meeting(SettlingStepper stepper) noexcept nogil:
    # how many contacts have gaps: wheels that roll, limits and dry friction are behind them
    cdef int c = 0
    while c < stepper.ntouch and not (stands(&stepper.touch[c]) or on_coordinate(&stepper.touch[c])):
        c += 1
    return c


def gap_count(SettlingStepper stepper):
    """Return how many gaps there are."""
    return meeting(stepper)


def gaps_here(SettlingStepper stepper, double[::1] gaps):
    """Write the gaps (n,) [m] of all that may meet at the state."""
    cdef Turn turn = stepper.turn()
    cdef const double* q = stepper.lane.state.q
    cdef const Pose* pose
    cdef Touch at
    cdef int c, n = meeting(stepper)
    require_size(gaps.shape[0], n, "gaps")
    if n:
        pose = stepper.poses_at(q)
    for c in range(n):
        touch_at(&stepper.touch[c], q, pose, NULL, &at)
        gaps[c] = at.gap


def step_wrench(SettlingStepper stepper, const double[::1] signs, double dt, about):
    """Return the wrench (torque, force), (6,) [N m, N], of contacts in the step just taken, world axes.

    ``signs`` (contacts,) say how each counts: 1, -1 or 0; ``about``: three numbers [m], the point for the torque.
    """
    cdef Turn turn = stepper.turn()
    cdef Touching* x = &stepper.own_touch
    cdef const double* q = stepper.node_before
    cdef const double* told
    cdef const vt_contact* e
    cdef const Pose* pose = NULL
    cdef Touch at
    cdef Vec3 point, force, torque, centre
    cdef cnp.ndarray made = new_array(1, 6)
    cdef double* out = data(made)
    cdef int c, p
    require_size(signs.shape[0], stepper.ntouch, "signs of contacts")
    centre = vec3(about[0], about[1], about[2])
    memset(out, 0, 6 * sizeof(double))
    memset(x.patch_count, 0, stepper.contacts.patches * sizeof(int))
    memset(x.patch_turn, 0, stepper.contacts.patches * sizeof(double))
    if not stepper.pushed_any():
        return made
    pose = stepper.poses_at(q)
    # the mean gaps of patches where the step began, of the points that push or pushed in the step before
    for c in range(stepper.ntouch):
        e = &stepper.touch[c]
        if e.patch >= 0 and (stepper.pushed_before[c] or stepper.pushed(c)):
            touch_at(e, q, pose, NULL, &at)
            x.patch_count[e.patch] += 1
            x.patch_turn[e.patch] += at.gap
    for c in range(stepper.ntouch):
        if signs[c] == 0.0 or not stepper.pushed(c):
            continue
        e, told = &stepper.touch[c], x.told + TOLD * c
        touch_at(e, q, pose, NULL, &at)
        point, p = at.a, e.patch
        if p >= 0 and x.patch_count[p] > 1:
            point = axpy(x.patch_turn[p] / x.patch_count[p] - at.gap, at.n, point)
        point = sub(axpy(-halfway(e, &at), at.n, point), centre)
        force = scale(signs[c], vec3(told[0] / dt, told[1] / dt, told[2] / dt))
        torque = cross(point, force)
        out[0], out[1], out[2] = out[0] + torque.x, out[1] + torque.y, out[2] + torque.z
        out[3], out[4], out[5] = out[3] + force.x, out[4] + force.y, out[5] + force.z
    return made
