# Elements of SE(3) as the rows of [R p], 12 numbers, over vt_real; twists x = (w, v). Products and inverses, which need
# no lanes, are in lane/pose.h.

cdef extern from "pose.h" nogil:
    void vt_pose_product(const double* X, const double* Y, double* Z) noexcept
    void vt_pose_inverse(const double* X, double* Y) noexcept
    void vt_pose_close(double* X) noexcept
    void vt_pose_products(Py_ssize_t n, const double* X, Py_ssize_t x, const double* Y, Py_ssize_t y, double* Z,
                          Py_ssize_t z) noexcept
    void vt_pose_inverses(Py_ssize_t n, const double* X, Py_ssize_t x, double* Y, Py_ssize_t y) noexcept


cdef inline Quat quat_where(vt_mask m, Quat a, Quat b) noexcept nogil:
    return quat(vec3(vt_select(m, a.x, b.x), vt_select(m, a.y, b.y), vt_select(m, a.z, b.z)), vt_select(m, a.w, b.w))


cdef inline Quat quat_of_matrix(Mat3 R) noexcept nogil:
    # the unit quaternion of a rotation: the column of 4 q q^T whose own entry is the largest, at least 1 of a rotation
    cdef vt_real t = R.x.x + R.y.y + R.z.z, most = 1.0 + t, own
    cdef Vec3 odd = vec3(R.y.z - R.z.y, R.z.x - R.x.z, R.x.y - R.y.x)
    cdef vt_real xy = R.y.x + R.x.y, xz = R.z.x + R.x.z, yz = R.z.y + R.y.z
    cdef Quat q = quat(odd, most)
    cdef vt_mask larger
    own = 1.0 - t + 2.0 * R.x.x
    larger = vt_lt(most, own)
    q = quat_where(larger, quat(vec3(own, xy, xz), odd.x), q)
    most = vt_select(larger, own, most)
    own = 1.0 - t + 2.0 * R.y.y
    larger = vt_lt(most, own)
    q = quat_where(larger, quat(vec3(xy, own, yz), odd.y), q)
    most = vt_select(larger, own, most)
    own = 1.0 - t + 2.0 * R.z.z
    q = quat_where(vt_lt(most, own), quat(vec3(xz, yz, own), odd.z), q)
    return quat_normalised(q)


cdef inline void pose_exp(const vt_real* x, vt_real* X) noexcept nogil:
    cdef Quat turn
    cdef Vec3 p
    exp_se3(load3(x), load3(x + 3), &turn, &p)
    put_matrix(quat_matrix(turn), X, 4)
    X[3], X[7], X[11] = p.x, p.y, p.z


cdef inline void pose_log(const vt_real* X, vt_real* x) noexcept nogil:
    cdef Vec3 w, v
    log_se3(quat_of_matrix(take_matrix(X, 4)), vec3(X[3], X[7], X[11]), &w, &v)
    store3(x, w)
    store3(x + 3, v)


cdef inline void pose_adjoint(const vt_real* X, vt_real* A) noexcept nogil:
    # A (6, 6) = [[R, 0], [p^ R, R]]
    cdef Mat3 R = take_matrix(X, 4)
    cdef Vec3 p = vec3(X[3], X[7], X[11])
    put_matrix(R, A, 6)
    put_matrix(zero33(), A + 3, 6)
    put_matrix(cross_mat(p, R), A + 18, 6)
    put_matrix(R, A + 21, 6)


cdef inline void pose_act(const vt_real* X, const vt_real* a, vt_real* b) noexcept nogil:
    # b = R a + p
    store3(b, add(mul(take_matrix(X, 4), load3(a)), vec3(X[3], X[7], X[11])))
