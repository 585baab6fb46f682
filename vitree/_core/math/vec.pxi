# Vectors, matrices and quaternions of three-dimensional space, over vt_real.

cdef struct Vec3:
    vt_real x
    vt_real y
    vt_real z

cdef struct Mat3:       # by columns; for a rotation, the axes of the moving frame
    Vec3 x
    Vec3 y
    Vec3 z

cdef struct Sym3:
    vt_real xx
    vt_real xy
    vt_real xz
    vt_real yy
    vt_real yz
    vt_real zz

cdef struct Quat:
    vt_real x
    vt_real y
    vt_real z
    vt_real w


cdef inline double clamp(double x, double low, double high) noexcept nogil:
    return min(max(x, low), high)


cdef inline Vec3 vec3(vt_real x, vt_real y, vt_real z) noexcept nogil:
    cdef Vec3 r
    r.x = x
    r.y = y
    r.z = z
    return r


cdef inline Vec3 zero3() noexcept nogil:
    return vec3(vt_set1(0.0), vt_set1(0.0), vt_set1(0.0))


cdef inline Vec3 constant3(const double* a) noexcept nogil:
    return vec3(vt_set1(a[0]), vt_set1(a[1]), vt_set1(a[2]))


cdef inline Vec3 load3(const vt_real* a) noexcept nogil:
    return vec3(a[0], a[1], a[2])


cdef inline void store3(vt_real* to, Vec3 a) noexcept nogil:
    to[0] = a.x
    to[1] = a.y
    to[2] = a.z


cdef inline void store_column(vt_real* to, int stride, Vec3 a, Vec3 b) noexcept nogil:
    # six numbers, each so far from the one before
    to[0] = a.x
    to[stride] = a.y
    to[2 * stride] = a.z
    to[3 * stride] = b.x
    to[4 * stride] = b.y
    to[5 * stride] = b.z


cdef inline Vec3 add(Vec3 a, Vec3 b) noexcept nogil:
    return vec3(a.x + b.x, a.y + b.y, a.z + b.z)


cdef inline Vec3 sub(Vec3 a, Vec3 b) noexcept nogil:
    return vec3(a.x - b.x, a.y - b.y, a.z - b.z)


cdef inline Vec3 neg(Vec3 a) noexcept nogil:
    return vec3(-a.x, -a.y, -a.z)


cdef inline Vec3 scale(vt_real s, Vec3 a) noexcept nogil:
    return vec3(s * a.x, s * a.y, s * a.z)


cdef inline Vec3 axpy(vt_real s, Vec3 a, Vec3 b) noexcept nogil:
    return vec3(s * a.x + b.x, s * a.y + b.y, s * a.z + b.z)


cdef inline vt_real dot(Vec3 a, Vec3 b) noexcept nogil:
    return a.x * b.x + a.y * b.y + a.z * b.z


cdef inline Vec3 cross(Vec3 a, Vec3 b) noexcept nogil:
    return vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


cdef inline Vec3 tangent_to(Vec3 u) noexcept nogil:
    # a fixed unit vector across u
    cdef vt_mask along = vt_lt(vt_abs(u.x), vt_set1(0.9))
    cdef vt_real one = vt_set1(1.0), zero = vt_set1(0.0)
    cdef Vec3 p = vec3(vt_select(along, one, zero), vt_select(along, zero, one), zero)
    p = axpy(-dot(u, p), u, p)
    return scale(one / vt_sqrt(dot(p, p)), p)


cdef inline Vec3 mul(Mat3 R, Vec3 a) noexcept nogil:
    return vec3(R.x.x * a.x + R.y.x * a.y + R.z.x * a.z,
                R.x.y * a.x + R.y.y * a.y + R.z.y * a.z,
                R.x.z * a.x + R.y.z * a.y + R.z.z * a.z)


cdef inline Vec3 tmul(Mat3 R, Vec3 a) noexcept nogil:
    return vec3(dot(R.x, a), dot(R.y, a), dot(R.z, a))


cdef inline Mat3 mat3(Vec3 x, Vec3 y, Vec3 z) noexcept nogil:
    # of its columns
    cdef Mat3 r
    r.x, r.y, r.z = x, y, z
    return r


cdef inline Mat3 mul3(Mat3 A, Mat3 B) noexcept nogil:
    return mat3(mul(A, B.x), mul(A, B.y), mul(A, B.z))


cdef inline Mat3 transpose(Mat3 A) noexcept nogil:
    return mat3(vec3(A.x.x, A.y.x, A.z.x), vec3(A.x.y, A.y.y, A.z.y), vec3(A.x.z, A.y.z, A.z.z))


cdef inline Mat3 add3(Mat3 A, Mat3 B) noexcept nogil:
    return mat3(add(A.x, B.x), add(A.y, B.y), add(A.z, B.z))


cdef inline Mat3 sub3(Mat3 A, Mat3 B) noexcept nogil:
    return mat3(sub(A.x, B.x), sub(A.y, B.y), sub(A.z, B.z))


cdef inline Mat3 outer(vt_real s, Vec3 a, Vec3 b, Mat3 A) noexcept nogil:
    # A + s a b^T
    cdef Vec3 c = scale(s, a)
    return mat3(axpy(b.x, c, A.x), axpy(b.y, c, A.y), axpy(b.z, c, A.z))


cdef inline Mat3 zero33() noexcept nogil:
    return mat3(zero3(), zero3(), zero3())


cdef inline Mat3 identity3() noexcept nogil:
    return mat3(vec3(vt_set1(1.0), vt_set1(0.0), vt_set1(0.0)),
                vec3(vt_set1(0.0), vt_set1(1.0), vt_set1(0.0)),
                vec3(vt_set1(0.0), vt_set1(0.0), vt_set1(1.0)))


cdef inline Mat3 plus_diagonal(Mat3 A, vt_real s) noexcept nogil:
    A.x.x = A.x.x + s
    A.y.y = A.y.y + s
    A.z.z = A.z.z + s
    return A


cdef inline Mat3 hat(Vec3 a) noexcept nogil:
    # hat(a) b = a x b
    return mat3(vec3(vt_set1(0.0), a.z, -a.y), vec3(-a.z, vt_set1(0.0), a.x), vec3(a.y, -a.x, vt_set1(0.0)))


cdef inline Mat3 cross_mat(Vec3 a, Mat3 B) noexcept nogil:
    # hat(a) B
    return mat3(cross(a, B.x), cross(a, B.y), cross(a, B.z))


cdef inline Mat3 mat_cross(Mat3 A, Vec3 b) noexcept nogil:
    # A hat(b)
    return mat3(sub(scale(b.z, A.y), scale(b.y, A.z)),
                sub(scale(b.x, A.z), scale(b.z, A.x)),
                sub(scale(b.y, A.x), scale(b.x, A.y)))


cdef inline Sym3 load_sym(const vt_real* a) noexcept nogil:
    cdef Sym3 r
    r.xx, r.xy, r.xz, r.yy, r.yz, r.zz = a[0], a[1], a[2], a[3], a[4], a[5]
    return r


cdef inline Sym3 constant_sym(const double* a) noexcept nogil:
    cdef Sym3 r
    r.xx = vt_set1(a[0])
    r.xy = vt_set1(a[1])
    r.xz = vt_set1(a[2])
    r.yy = vt_set1(a[3])
    r.yz = vt_set1(a[4])
    r.zz = vt_set1(a[5])
    return r


cdef inline Sym3 zero_sym() noexcept nogil:
    cdef Sym3 r
    r.xx = vt_set1(0.0)
    r.xy = vt_set1(0.0)
    r.xz = vt_set1(0.0)
    r.yy = vt_set1(0.0)
    r.yz = vt_set1(0.0)
    r.zz = vt_set1(0.0)
    return r


cdef inline Vec3 symmul(Sym3 A, Vec3 b) noexcept nogil:
    return vec3(A.xx * b.x + A.xy * b.y + A.xz * b.z,
                A.xy * b.x + A.yy * b.y + A.yz * b.z,
                A.xz * b.x + A.yz * b.y + A.zz * b.z)


cdef inline Sym3 diagonal(vt_real s) noexcept nogil:
    # s 1
    cdef Sym3 r = zero_sym()
    r.xx = s
    r.yy = s
    r.zz = s
    return r


cdef inline Sym3 addsym(Sym3 A, Sym3 B) noexcept nogil:
    cdef Sym3 r
    r.xx = A.xx + B.xx
    r.xy = A.xy + B.xy
    r.xz = A.xz + B.xz
    r.yy = A.yy + B.yy
    r.yz = A.yz + B.yz
    r.zz = A.zz + B.zz
    return r


cdef inline Sym3 subsym(Sym3 A, Sym3 B) noexcept nogil:
    cdef Sym3 r
    r.xx = A.xx - B.xx
    r.xy = A.xy - B.xy
    r.xz = A.xz - B.xz
    r.yy = A.yy - B.yy
    r.yz = A.yz - B.yz
    r.zz = A.zz - B.zz
    return r


cdef inline Sym3 minus_outer(Sym3 A, vt_real s, Vec3 a) noexcept nogil:
    # A - s a a^T
    cdef Sym3 r
    cdef Vec3 b = scale(s, a)
    r.xx = A.xx - b.x * a.x
    r.xy = A.xy - b.x * a.y
    r.xz = A.xz - b.x * a.z
    r.yy = A.yy - b.y * a.y
    r.yz = A.yz - b.y * a.z
    r.zz = A.zz - b.z * a.z
    return r


cdef inline Mat3 full(Sym3 A) noexcept nogil:
    return mat3(vec3(A.xx, A.xy, A.xz), vec3(A.xy, A.yy, A.yz), vec3(A.xz, A.yz, A.zz))


cdef inline Sym3 rotate_sym(Mat3 R, Sym3 A) noexcept nogil:
    # R A R^T
    cdef Sym3 r
    cdef Vec3 a = mul(R, vec3(A.xx, A.xy, A.xz))     # columns of R A
    cdef Vec3 b = mul(R, vec3(A.xy, A.yy, A.yz))
    cdef Vec3 c = mul(R, vec3(A.xz, A.yz, A.zz))
    r.xx = a.x * R.x.x + b.x * R.y.x + c.x * R.z.x
    r.xy = a.x * R.x.y + b.x * R.y.y + c.x * R.z.y
    r.xz = a.x * R.x.z + b.x * R.y.z + c.x * R.z.z
    r.yy = a.y * R.x.y + b.y * R.y.y + c.y * R.z.y
    r.yz = a.y * R.x.z + b.y * R.y.z + c.y * R.z.z
    r.zz = a.z * R.x.z + b.z * R.y.z + c.z * R.z.z
    return r


cdef inline Sym3 axes_rotate_sym(const vt_axes* R, Sym3 A) noexcept nogil:
    # the same of axes in registers
    cdef Sym3 r
    cdef Mat3 B = full(A), C
    vt_axes_times(R, &B.x.x, &C.x.x)
    vt_axes_times(R, &B.y.x, &C.y.x)
    vt_axes_times(R, &B.z.x, &C.z.x)
    C = transpose(C)
    vt_axes_times(R, &C.x.x, &B.x.x)
    vt_axes_times(R, &C.y.x, &B.y.x)
    vt_axes_times(R, &C.z.x, &B.z.x)
    r.xx = B.x.x
    r.xy = B.x.y
    r.xz = B.x.z
    r.yy = B.y.y
    r.yz = B.y.z
    r.zz = B.z.z
    return r


cdef inline Sym3 congruence(Mat3 H, Sym3 A) noexcept nogil:
    # H A H^T
    cdef Sym3 r
    cdef Mat3 B = mul3(H, full(A))
    r.xx = B.x.x * H.x.x + B.y.x * H.y.x + B.z.x * H.z.x
    r.xy = B.x.x * H.x.y + B.y.x * H.y.y + B.z.x * H.z.y
    r.xz = B.x.x * H.x.z + B.y.x * H.y.z + B.z.x * H.z.z
    r.yy = B.x.y * H.x.y + B.y.y * H.y.y + B.z.y * H.z.y
    r.yz = B.x.y * H.x.z + B.y.y * H.y.z + B.z.y * H.z.z
    r.zz = B.x.z * H.x.z + B.y.z * H.y.z + B.z.z * H.z.z
    return r


cdef inline Sym3 sym_inverse(Sym3 A) noexcept nogil:
    cdef Sym3 r
    cdef vt_real s
    r.xx = A.yy * A.zz - A.yz * A.yz
    r.xy = A.xz * A.yz - A.xy * A.zz
    r.xz = A.xy * A.yz - A.xz * A.yy
    s = vt_set1(1.0) / (A.xx * r.xx + A.xy * r.xy + A.xz * r.xz)
    r.yy = s * (A.xx * A.zz - A.xz * A.xz)
    r.yz = s * (A.xy * A.xz - A.xx * A.yz)
    r.zz = s * (A.xx * A.yy - A.xy * A.xy)
    r.xx = s * r.xx
    r.xy = s * r.xy
    r.xz = s * r.xz
    return r


cdef inline Sym3 point_inertia(vt_real m, Vec3 c) noexcept nogil:
    # m (c.c 1 - c c^T)
    cdef Sym3 r
    cdef Vec3 h = scale(m, c)
    r.xx = h.y * c.y + h.z * c.z
    r.yy = h.x * c.x + h.z * c.z
    r.zz = h.x * c.x + h.y * c.y
    r.xy = -h.x * c.y
    r.xz = -h.x * c.z
    r.yz = -h.y * c.z
    return r


cdef inline Quat quat_mul(Quat a, Quat b) noexcept nogil:
    cdef Quat r
    r.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y
    r.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x
    r.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w
    r.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z
    return r


cdef inline Vec3 quat_vec(Quat a) noexcept nogil:
    return vec3(a.x, a.y, a.z)


cdef inline Quat quat(Vec3 u, vt_real w) noexcept nogil:
    cdef Quat r
    r.x = u.x
    r.y = u.y
    r.z = u.z
    r.w = w
    return r


cdef inline Quat load_quat(const vt_real* a) noexcept nogil:
    return quat(load3(a), a[3])


cdef inline void store_quat(vt_real* to, Quat a) noexcept nogil:
    store3(to, quat_vec(a))
    to[3] = a.w


cdef inline Quat quat_normalised(Quat a) noexcept nogil:
    cdef vt_real s = vt_set1(1.0) / vt_sqrt(a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w)
    return quat(scale(s, quat_vec(a)), s * a.w)


cdef inline Mat3 quat_matrix(Quat a) noexcept nogil:
    cdef vt_real x = a.x + a.x, y = a.y + a.y, z = a.z + a.z
    return mat3(vec3(1.0 - (y * a.y + z * a.z), x * a.y + z * a.w, x * a.z - y * a.w),
                vec3(x * a.y - z * a.w, 1.0 - (x * a.x + z * a.z), y * a.z + x * a.w),
                vec3(x * a.z + y * a.w, y * a.z - x * a.w, 1.0 - (x * a.x + y * a.y)))


# ---- twists, wrenches and the matrices between them --------------------------------------------------

cdef inline void carry(Vec3 w, Vec3 v, Vec3 t, Vec3* to_w, Vec3* to_v) noexcept nogil:
    # the twist of the same motion at a point t further
    to_w[0] = w
    to_v[0] = add(v, cross(w, t))


cdef inline void hand_down(Vec3 n, Vec3 f, Vec3 t, Vec3* up_n, Vec3* up_f) noexcept nogil:
    # up += the wrench (n, f), which is about a point t further
    up_n[0] = add(up_n[0], add(n, cross(t, f)))
    up_f[0] = add(up_f[0], f)


cdef struct Block:          # a 6 x 6 matrix: wrenches (n, f) by displacements (w, v)
    Mat3 nw
    Mat3 nv
    Mat3 fw
    Mat3 fv


cdef inline Block zero_block() noexcept nogil:
    cdef Block A
    A.nw = zero33()
    A.nv = A.nw
    A.fw = A.nw
    A.fv = A.nw
    return A


cdef inline void add_block(Block* to, const Block* A, Vec3 a, Vec3 b) noexcept nogil:
    # to += A, which is about points that are a (wrenches) and b (displacements) further
    cdef Mat3 nw = sub3(A.nw, mat_cross(A.nv, b))
    cdef Mat3 fw = sub3(A.fw, mat_cross(A.fv, b))
    to.nw = add3(to.nw, add3(nw, cross_mat(a, fw)))
    to.nv = add3(to.nv, add3(A.nv, cross_mat(a, A.fv)))
    to.fw = add3(to.fw, fw)
    to.fv = add3(to.fv, A.fv)


cdef inline void block_times(const Block* A, Vec3 w, Vec3 v, Vec3* n, Vec3* f) noexcept nogil:
    # (n, f) = A (w, v)
    n[0] = add(mul(A.nw, w), mul(A.nv, v))
    f[0] = add(mul(A.fw, w), mul(A.fv, v))


cdef inline void times_block(const Block* A, Vec3 n, Vec3 f, Vec3* w, Vec3* v) noexcept nogil:
    # (w, v) = A^T (n, f)
    w[0] = add(tmul(A.nw, n), tmul(A.fw, f))
    v[0] = add(tmul(A.nv, n), tmul(A.fv, f))


cdef inline void put_matrix(Mat3 A, vt_real* to, int width) noexcept nogil:
    # into a row-major matrix of that width
    to[0] = A.x.x
    to[1] = A.y.x
    to[2] = A.z.x
    to[width] = A.x.y
    to[width + 1] = A.y.y
    to[width + 2] = A.z.y
    to[2 * width] = A.x.z
    to[2 * width + 1] = A.y.z
    to[2 * width + 2] = A.z.z


cdef inline Mat3 take_matrix(const vt_real* a, int width) noexcept nogil:
    return mat3(vec3(a[0], a[width], a[2 * width]),
                vec3(a[1], a[width + 1], a[2 * width + 1]),
                vec3(a[2], a[width + 2], a[2 * width + 2]))
