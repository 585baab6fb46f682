# Exponential, logarithm and their tangents on SO(3) and SE(3); mathematics after
# Park, Bobrow & Ploen 1995 and Lee et al. 2016, in closed form.
# dexp is right-trivialised: d(exp x) exp(-x) = [dexp_x dx]; dlog is its inverse.

cdef inline Quat exp_quat(Vec3 w) noexcept nogil:
    # unit quaternion of the rotation vector w
    cdef vt_real s = dot(w, w), half = 0.5 * vt_sqrt(s), sine, cosine, beta, delta
    # sin(t)/t = 1 - t^2 delta(t^2) with t the half angle
    vt_sincos(half, &sine, &cosine)
    vt_exp_coefficients(0.25 * s, &beta, &delta)
    return quat(scale(0.5 * (1.0 - 0.25 * s * delta), w), cosine)


cdef inline Quat quat_short(Quat a) noexcept nogil:
    # the same rotation with a.w >= 0
    cdef vt_mask negative = vt_lt(a.w, vt_set1(0.0))
    return quat(vec3(vt_select(negative, -a.x, a.x), vt_select(negative, -a.y, a.y),
                     vt_select(negative, -a.z, a.z)), vt_select(negative, -a.w, a.w))


cdef inline Vec3 log_quat(Quat a, vt_real* g) noexcept nogil:
    # rotation vector of a unit quaternion with a.w >= 0, and g = (theta/2) cot(theta/2)
    cdef Vec3 u = quat_vec(a)
    cdef vt_real ratio = vt_half_angle_ratio(dot(u, u), a.w)
    g[0] = ratio * a.w
    return scale(2.0 * ratio, u)


cdef inline Vec3 dlog_so3(Vec3 w, vt_real gamma, Vec3 a) noexcept nogil:
    # dlog_w a; with -w for the other trivialisation, which is also the transpose
    cdef Vec3 c = cross(w, a)
    return axpy(gamma, cross(w, c), axpy(vt_set1(-0.5), c, a))


cdef inline Vec3 dexp_so3(Vec3 w, vt_real beta, vt_real delta, Vec3 a) noexcept nogil:
    cdef Vec3 c = cross(w, a)
    return axpy(delta, cross(w, c), axpy(beta, c, a))


cdef inline void exp_se3(Vec3 w, Vec3 v, Quat* turn, Vec3* p) noexcept nogil:
    cdef vt_real beta, delta
    vt_exp_coefficients(dot(w, w), &beta, &delta)
    turn[0] = exp_quat(w)
    p[0] = dexp_so3(w, beta, delta, v)


cdef inline void log_se3(Quat turn, Vec3 p, Vec3* w, Vec3* v) noexcept nogil:
    cdef vt_real g, gamma, kappa, kappa1
    w[0] = log_quat(quat_short(turn), &g)
    vt_log_coefficients(dot(w[0], w[0]), g, &gamma, &kappa, &kappa1)
    v[0] = dlog_so3(w[0], gamma, p)


cdef inline vt_real half_cot(vt_real s) noexcept nogil:
    # g = (theta/2) cot(theta/2) where it is used, beyond theta = 1.5; s = theta^2 < pi^2
    cdef vt_real sine, cosine, half = 0.5 * vt_sqrt(vt_max(s, vt_set1(1.0)))
    vt_sincos(half, &sine, &cosine)
    return half * cosine / sine


cdef inline Vec3 dlog(Vec3 w, Vec3 a) noexcept nogil:
    # dlog_w a, coefficients included
    cdef vt_real s = dot(w, w), gamma, kappa, kappa1
    vt_log_coefficients(s, half_cot(s), &gamma, &kappa, &kappa1)
    return dlog_so3(w, gamma, a)


cdef inline void dlog_se3(Vec3 w, Vec3 v, Vec3 a, Vec3 b, Vec3* da, Vec3* db) noexcept nogil:
    # dlog_(w,v) (a,b): angular part Ji a, linear part C a + Ji b
    cdef vt_real s = dot(w, w), g = half_cot(s), gamma, kappa, kappa1, gamma1, gamma2, kappa2
    cdef Vec3 wa = cross(w, a), va = cross(v, a), c
    vt_log_coefficients(s, g, &gamma, &kappa, &kappa1)
    vt_log_coefficients2(s, g, gamma, kappa, kappa1, &gamma1, &gamma2, &kappa2)
    c = add(cross(w, va), cross(v, wa))
    c = axpy(gamma, c, axpy(gamma1 * dot(w, v), cross(w, wa), scale(vt_set1(-0.5), va)))
    db[0] = add(c, dlog_so3(w, gamma, b))
    da[0] = dlog_so3(w, gamma, a)
