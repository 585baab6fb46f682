# Numbers of a model. In lanes each instance may have its own: then `own` is an array of them, (numbers,) vt_real.

cdef enum:
    MASS_AT = 0             # in those of a body: its numbers as in vt_body
    COM_AT = 1
    MOMENT_AT = 4
    INERTIA_AT = 7
    CENTRAL_INERTIA_AT = 13
    BODY_NUMBERS = 19
    DAMPING_AT = 0          # in those of coordinates (JOINT_NUMBERS, nv)
    FRICTION_AT = 1
    FRICTION_SQUARE_AT = 2
    ARMATURE_AT = 3
    JOINT_NUMBERS = 4       # and behind them gravity
    KP_AT = 0               # in those of a drive
    KD_AT = 1
    DRIVE_NUMBERS = 2


cdef inline vt_real one_number(const void* own, int k, double shared) noexcept nogil:
    if VT_WIDTH > 1 and own != NULL:
        return (<const vt_real*>own)[k]
    return vt_set1(shared)


cdef inline Vec3 three_numbers(const void* own, int k, const double* shared) noexcept nogil:
    if VT_WIDTH > 1 and own != NULL:
        return load3(<const vt_real*>own + k)
    return constant3(shared)


cdef inline Sym3 six_numbers(const void* own, int k, const double* shared) noexcept nogil:
    if VT_WIDTH > 1 and own != NULL:
        return load_sym(<const vt_real*>own + k)
    return constant_sym(shared)


cdef inline vt_real mass_of(const vt_body* b) noexcept nogil:
    return one_number(b.own, MASS_AT, b.mass)


cdef inline Vec3 com_of(const vt_body* b) noexcept nogil:
    return three_numbers(b.own, COM_AT, b.com)


cdef inline Vec3 moment_of(const vt_body* b) noexcept nogil:
    # mass times COM
    return three_numbers(b.own, MOMENT_AT, b.h)


cdef inline Sym3 inertia_of(const vt_body* b) noexcept nogil:
    # about the origin of the core frame
    return six_numbers(b.own, INERTIA_AT, b.Io)


cdef inline Sym3 central_inertia_of(const vt_body* b) noexcept nogil:
    return six_numbers(b.own, CENTRAL_INERTIA_AT, b.Ic)


cdef inline vt_real tree_mass_of(const vt_tree* tree) noexcept nogil:
    return one_number(tree.own, 0, tree.mass)


cdef inline vt_real damping_of(const vt_model* m, int k) noexcept nogil:
    return one_number(m.own, DAMPING_AT * m.nv + k, m.damping[k])


cdef inline vt_real friction_of(const vt_model* m, int k) noexcept nogil:
    return one_number(m.own, FRICTION_AT * m.nv + k, m.friction[k])


cdef inline vt_real friction_square_of(const vt_model* m, int k) noexcept nogil:
    return one_number(m.own, FRICTION_SQUARE_AT * m.nv + k, m.friction_square[k])


cdef inline vt_real armature_of(const vt_model* m, int k) noexcept nogil:
    return one_number(m.own, ARMATURE_AT * m.nv + k, m.armature[k])


cdef inline Vec3 gravity_from(const vt_model* m, const double* gravity) noexcept nogil:
    # that of the model, or another one
    return three_numbers(m.own if gravity == m.g else NULL, JOINT_NUMBERS * m.nv, gravity)


cdef inline vt_real kp_of(const vt_drive* d) noexcept nogil:
    return one_number(d.own, KP_AT, d.kp)


cdef inline vt_real kd_of(const vt_drive* d) noexcept nogil:
    return one_number(d.own, KD_AT, d.kd)
