# Errors of tasks and their Jacobians by displacements of the coordinates.
#
# A frame task sees a frame from another one, its base: R = R_B^T R_F and p = R_B^T (p_F - p_B). With the twist (w, v) of
# the frame relative to its base, in world axes and at the frame's origin,
#     orientation   e = log(R_T^T R),           de = dlog_{-e} R_F^T w
#     position      e = p - p_T,                de = R_B^T v
#     direction     e = d/|d| - a, d = R^T (p_T - p),   dd = d x (R_F^T w) - R_F^T v
# where T is the target in the base. A column of (w, v) is of a joint between the two frames; those that carry both move
# neither.

cdef enum:                  # kinds of tasks
    POSE_TASK = 0           # six rows: orientation, position
    POSITION_TASK = 1
    ORIENTATION_TASK = 2
    LOOK_TASK = 3           # a direction of the frame is towards a point of the base
    COM_TASK = 4            # position of the center of mass
    POSTURE_TASK = 5        # of all coordinates
    COUPLING_TASK = 6       # a sum of coordinates times factors
    DAMPING_TASK = 7        # displacements


cdef struct Task:
    int kind
    int level               # priority
    int row                 # the first of its rows
    int rows
    int goal                # has to be reached
    int body                # -1: world
    int base
    double E[9]             # columns: axes of the frame in the core frame of its body
    double p[3]             # [m]
    double base_E[9]
    double base_p[3]
    double axis[3]          # unit, of the frame
    const double* target    # rotation row by row and position; a configuration; factors and sum
    const double* weight    # (rows,)
    const double* gain      # share of the error that a step removes
    int columns             # those that may differ from zero, and their number
    int* column


cdef struct Mechanism:
    const vt_model* m
    int n                   # coordinates of the caller
    const int* lead         # (nv,) which of them a coordinate follows, by a factor
    const double* factor
    const int* place        # (n,) the coordinate itself
    Pose* pose              # (nbody,)
    double* mass            # (nbody,) carried
    Vec3* first             # (nbody,) [kg m] first moment of it about the world's origin
    double* y               # (nv,)
    double* unit            # (nv,)
    double* slope           # (nv,)


cdef inline Mat3 rows_matrix(const double* a) noexcept nogil:
    # of numbers row by row
    return mat3(vec3(a[0], a[3], a[6]), vec3(a[1], a[4], a[7]), vec3(a[2], a[5], a[8]))


cdef inline Vec3 log_matrix(Mat3 R) noexcept nogil:
    # rotation vector, |.| <= pi. The quaternion by its largest entry
    cdef double a = R.x.x, b = R.y.y, c = R.z.z, t = a + b + c, s, g
    cdef Quat turn
    if t > 0.0:
        s = sqrt(t + 1.0)
        turn = quat(scale(0.5 / s, vec3(R.y.z - R.z.y, R.z.x - R.x.z, R.x.y - R.y.x)), 0.5 * s)
    elif a >= b and a >= c:
        s = sqrt(1.0 + a - b - c)
        turn = quat(vec3(0.5 * s, 0.5 / s * (R.x.y + R.y.x), 0.5 / s * (R.x.z + R.z.x)), 0.5 / s * (R.y.z - R.z.y))
    elif b >= c:
        s = sqrt(1.0 + b - c - a)
        turn = quat(vec3(0.5 / s * (R.x.y + R.y.x), 0.5 * s, 0.5 / s * (R.y.z + R.z.y)), 0.5 / s * (R.z.x - R.x.z))
    else:
        s = sqrt(1.0 + c - a - b)
        turn = quat(vec3(0.5 / s * (R.x.z + R.z.x), 0.5 / s * (R.y.z + R.z.y), 0.5 * s), 0.5 / s * (R.x.y - R.y.x))
    return log_quat(quat_short(quat_normalised(turn)), &g)


cdef inline void add_column(double* J, int n, int col, double factor, Vec3 a) noexcept nogil:
    J[col] += factor * a.x
    J[n + col] += factor * a.y
    J[2 * n + col] += factor * a.z


cdef inline void add_body_columns(const Mechanism* x, int i, double sign, Vec3 p, const Mat3* A, double* Jw, const Mat3* B,
                                  double* Jv) noexcept nogil:
    # A w to the rows Jw, B v to the rows Jv, of the coordinates of one joint
    cdef const vt_body* b = &x.m.body[i]
    cdef Vec3 w, v, r = sub(p, x.pose[i].o)
    cdef int k, col
    cdef double factor
    for k in range(joint_nv(b)):
        joint_column(b, x.pose[i].R, k, &w, &v)
        col, factor = x.lead[b.iv + k], sign * x.factor[b.iv + k]
        if A != NULL:
            add_column(Jw, x.n, col, factor, mul(A[0], w))
        if B != NULL:
            add_column(Jv, x.n, col, factor, mul(B[0], add(v, cross(w, r))))


cdef void add_path_columns(const Mechanism* x, int body, int base, Vec3 p, const Mat3* A, double* Jw, const Mat3* B,
                           double* Jv) noexcept nogil:
    # the same of the motion of one body seen from another one, at the world's point p; parents have lower numbers
    while body != base:
        if body > base:
            add_body_columns(x, body, 1.0, p, A, Jw, B, Jv)
            body = x.m.body[body].parent
        else:
            add_body_columns(x, base, -1.0, p, A, Jw, B, Jv)
            base = x.m.body[base].parent


cdef void frame_task(const Mechanism* x, const Task* t, double* e, double* J) noexcept nogil:
    cdef Mat3 RF = mul3(axes_of(x.pose, t.body), constant_rotation(t.E))
    cdef Mat3 RB = mul3(axes_of(x.pose, t.base), constant_rotation(t.base_E)), A, B, R
    cdef Vec3 pF = placed(x.pose, t.body, t.p), pB = placed(x.pose, t.base, t.base_p)
    cdef Vec3 p = tmul(RB, sub(pF, pB)), to = constant3(t.target + 9), u, d
    cdef double* linear = e
    cdef int n = x.n, at = 0
    cdef double size
    if t.kind == LOOK_TASK:
        d = tmul(RF, mul(RB, sub(to, p)))
        size = sqrt(dot(d, d))
        u = scale(1.0 / size, d)
        store3(e, sub(u, constant3(t.axis)))
        if J != NULL:
            # (1 - u u^T)/|d|
            R = scaled3(1.0 / size, outer(-1.0, u, u, identity3()))
            A, B = mul3(R, mul3(hat(d), transpose(RF))), scaled3(-1.0, mul3(R, transpose(RF)))
            add_path_columns(x, t.body, t.base, pF, &A, J, &B, J)
        return
    if t.kind != POSITION_TASK:
        u = log_matrix(mul3(transpose(rows_matrix(t.target)), mul3(transpose(RB), RF)))
        store3(e, u)
        at = 3
        A = mul3(dlog_matrix3(neg(u)), transpose(RF))
    if t.kind != ORIENTATION_TASK:
        store3(e + at, sub(p, to))
        B = transpose(RB)
    if J != NULL:
        add_path_columns(x, t.body, t.base, pF, &A if t.kind != POSITION_TASK else NULL, J,
                         &B if t.kind != ORIENTATION_TASK else NULL, J + at * n)


cdef inline Mat3 scaled3(double s, Mat3 A) noexcept nogil:
    return mat3(scale(s, A.x), scale(s, A.y), scale(s, A.z))


cdef inline Mat3 dlog_matrix3(Vec3 w) noexcept nogil:
    return mat3(dlog(w, vec3(1.0, 0.0, 0.0)), dlog(w, vec3(0.0, 1.0, 0.0)), dlog(w, vec3(0.0, 0.0, 1.0)))


cdef void com_task(const Mechanism* x, const Task* t, double* e, double* J) noexcept nogil:
    cdef const vt_model* m = x.m
    cdef const vt_body* b
    cdef double total = 0.0
    cdef Vec3 all = zero3(), w, v, r
    cdef int i, k
    for i in range(m.nbody):
        b = &m.body[i]
        x.mass[i] = b.mass
        x.first[i] = scale(b.mass, placed(x.pose, i, b.com))
    for i in range(m.nbody - 1, -1, -1):
        k = m.body[i].parent
        if k >= 0:
            x.mass[k] += x.mass[i]
            x.first[k] = add(x.first[k], x.first[i])
        else:
            total += x.mass[i]
            all = add(all, x.first[i])
    store3(e, sub(scale(1.0 / total, all), constant3(t.target + 9)))
    if J == NULL:
        return
    for i in range(m.nbody):
        b = &m.body[i]
        # what a body carries moves with it: m v + w x (first moment about its origin)
        r = axpy(-x.mass[i], x.pose[i].o, x.first[i])
        for k in range(joint_nv(b)):
            joint_column(b, x.pose[i].R, k, &w, &v)
            add_column(J, x.n, x.lead[b.iv + k], x.factor[b.iv + k] / total, axpy(x.mass[i], v, cross(w, r)))


cdef void posture_task(const Mechanism* x, const Task* t, const double* q, double* e, double* J) noexcept nogil:
    # e = u with q = target (+) u
    cdef const vt_model* m = x.m
    cdef const vt_body* b
    cdef int i, k, l, n = x.n
    difference(m, t.target, q, x.y)
    for k in range(n):
        e[k] = x.y[x.place[k]]
        if J != NULL:
            J[k * n + k] = 1.0
    if J == NULL or m.nmulti == 0:
        return
    for i in range(m.nbody):
        b = &m.body[i]
        if not joint_multi(b):
            continue
        for k in range(joint_nv(b)):
            x.unit[b.iv + k] = 1.0
            joint_exponential_rate(b, x.y, x.unit, x.slope)
            x.unit[b.iv + k] = 0.0
            for l in range(joint_nv(b)):
                J[x.lead[b.iv + l] * n + x.lead[b.iv + k]] = x.slope[b.iv + l]


cdef void coupling_task(const Mechanism* x, const Task* t, const double* q, double* e, double* J) noexcept nogil:
    # target: the sum, then (nq,) factors of the configuration and (n,) of the caller's coordinates
    cdef const double* c = t.target + 1
    cdef int k
    e[0] = -t.target[0]
    for k in range(x.m.nq):
        e[0] += c[k] * q[k]
    if J != NULL:
        for k in range(x.n):
            J[k] = c[x.m.nq + k]


cdef void task_rows(const Mechanism* x, const Task* t, const double* q, double* e, double* J) noexcept nogil:
    # e: (rows,), J: (rows, n) or NULL; the poses are those at q
    cdef int k
    if J != NULL:
        memset(J, 0, t.rows * x.n * sizeof(double))
    if t.kind <= LOOK_TASK:
        frame_task(x, t, e, J)
    elif t.kind == COM_TASK:
        com_task(x, t, e, J)
    elif t.kind == POSTURE_TASK:
        posture_task(x, t, q, e, J)
    elif t.kind == COUPLING_TASK:
        coupling_task(x, t, q, e, J)
    else:
        for k in range(t.rows):
            e[k] = 0.0
            if J != NULL:
                J[k * x.n + k] = 1.0
