# Numbers of the models of instances in lanes. A block has a model of its own, whose parts refer to the numbers of lanes while
# instances have their own: see mechanism/numbers.pxi.

cdef struct LaneNumbers:
    vt_model m
    vt_drive* drive
    vt_real* body           # (nbody, BODY_NUMBERS)
    vt_real* tree           # (ntree,) masses
    vt_real* joint          # (JOINT_NUMBERS, nv), gravity
    vt_real* servo          # (ndrive, DRIVE_NUMBERS)
    vt_real* choice         # (GAIN_AT + nv,)
    bint on
    unsigned long long serial[MOST_LANES]   # of the steppers whose numbers they are


cdef int numbers_make(LaneNumbers* x, Memory memory, Shared* shared) except -1:
    # the block's own model and drives, in place of those of the plan
    cdef const vt_model* m = shared.m
    x.m = m[0]
    x.m.body, x.m.tree = <vt_body*>memory.given(m.nbody * sizeof(vt_body)), <vt_tree*>memory.given(m.ntree * sizeof(vt_tree))
    memcpy(x.m.body, m.body, m.nbody * sizeof(vt_body))
    memcpy(x.m.tree, m.tree, m.ntree * sizeof(vt_tree))
    x.drive = <vt_drive*>memory.given(shared.ndrive * sizeof(vt_drive))
    memcpy(x.drive, shared.drive, shared.ndrive * sizeof(vt_drive))
    x.body, x.tree = memory.scratch_reals(BODY_NUMBERS * m.nbody), memory.scratch_reals(m.ntree)
    x.joint, x.servo = memory.scratch_reals(JOINT_NUMBERS * m.nv + 3), memory.scratch_reals(DRIVE_NUMBERS * shared.ndrive)
    x.choice = memory.scratch_reals(GAIN_AT + m.nv)
    shared.m, shared.drive = &x.m, x.drive
    return 0


cdef void use_numbers(ModelStepper self, bint on) noexcept nogil:
    # those of lanes, or those of the plan
    cdef LaneNumbers* x = &self.numbers
    cdef int k
    if x.on == on:
        return
    x.on = on
    for k in range(x.m.nbody):
        x.m.body[k].own = x.body + BODY_NUMBERS * k if on else NULL
    for k in range(x.m.ntree):
        x.m.tree[k].own = x.tree + k if on else NULL
    for k in range(self.shared.ndrive):
        x.drive[k].own = x.servo + DRIVE_NUMBERS * k if on else NULL
    x.m.own = x.joint if on else NULL
    self.shared.choices.own = x.choice if on else NULL


cdef void put_numbers(vt_real* to, int lane, const double* numbers, int count) noexcept nogil:
    cdef int k
    for k in range(count):
        vt_put(&to[k], lane, numbers[k])


cdef void take_numbers(ModelStepper self, int lane, const ModelNumbers* given) noexcept nogil:
    # those of the model of an instance
    cdef LaneNumbers* x = &self.numbers
    cdef const vt_body* b
    cdef vt_real* to
    cdef int k, n = self.nv
    if x.serial[lane] == given.serial:
        return
    x.serial[lane] = given.serial
    for k in range(x.m.nbody):
        b, to = &given.m.body[k], x.body + BODY_NUMBERS * k
        put_numbers(to + MASS_AT, lane, &b.mass, 1)
        put_numbers(to + COM_AT, lane, b.com, 3)
        put_numbers(to + MOMENT_AT, lane, b.h, 3)
        put_numbers(to + INERTIA_AT, lane, b.Io, 6)
        put_numbers(to + CENTRAL_INERTIA_AT, lane, b.Ic, 6)
    for k in range(x.m.ntree):
        put_numbers(x.tree + k, lane, &given.m.tree[k].mass, 1)
    put_numbers(x.joint + DAMPING_AT * n, lane, given.m.damping, n)
    put_numbers(x.joint + FRICTION_AT * n, lane, given.m.friction, n)
    put_numbers(x.joint + FRICTION_SQUARE_AT * n, lane, given.m.friction_square, n)
    put_numbers(x.joint + ARMATURE_AT * n, lane, given.m.armature, n)
    put_numbers(x.joint + JOINT_NUMBERS * n, lane, given.m.g, 3)
    for k in range(self.shared.ndrive):
        put_numbers(x.servo + DRIVE_NUMBERS * k + KP_AT, lane, &given.drive[k].kp, 1)
        put_numbers(x.servo + DRIVE_NUMBERS * k + KD_AT, lane, &given.drive[k].kd, 1)
    put_numbers(x.choice + ROUNDING_AT, lane, &given.choices.rounding, 1)
    put_numbers(x.choice + HEAVIEST_AT, lane, &given.choices.heaviest, 1)
    if given.choices.gain != NULL:
        put_numbers(x.choice + GAIN_AT, lane, given.choices.gain, n)
