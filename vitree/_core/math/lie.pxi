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
    # g = (theta/2) cot(theta/2) where it is used, beyond theta = 1.5; s = theta^2 < 4 pi^2
    cdef vt_real sine, cosine, half
    if not vt_any(vt_lt(vt_set1(2.25), s)):
        return vt_set1(1.0)
    half = 0.5 * vt_sqrt(vt_max(s, vt_set1(1.0)))
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


cdef struct AdMatrix:       # a function of ad_(w,v): [[d, 0], [e, d]] on (angular, linear)
    Mat3 d                  # the function of hat(w)
    Mat3 e                  # its derivative along v


cdef struct WrenchSlope:    # [[M, K], [K, 0]]: wrenches (n, f) by twists, as ad_V^T F = Pm(F) V and ddlogT have it
    Mat3 M
    Mat3 K


cdef inline AdMatrix ad_quadratic(Vec3 w, Vec3 v, vt_real b, vt_real c, vt_real b1, vt_real c1) noexcept nogil:
    # 1 + b ad + c ad^2, coefficients being functions of |w| with (1/theta) derivatives b1 and c1
    cdef AdMatrix r
    cdef vt_real s = dot(w, w), wv = dot(w, v)
    cdef vt_real x = wv * c1
    # hat(w) hat(w) = w w^T - s 1
    r.d = plus_diagonal(outer(c, w, w, hat(scale(b, w))), 1.0 - c * s)
    r.e = outer(c, v, w, outer(c, w, v, outer(x, w, w, hat(axpy(wv * b1, w, scale(b, v))))))
    r.e = plus_diagonal(r.e, -(2.0 * c * wv + x * s))
    return r


cdef inline AdMatrix dexp_matrix(Vec3 w, Vec3 v) noexcept nogil:
    cdef vt_real s = dot(w, w), beta, delta, beta1, delta1
    vt_exp_coefficients(s, &beta, &delta)
    vt_exp_coefficients2(s, beta, delta, &beta1, &delta1)
    return ad_quadratic(w, v, beta, delta, beta1, delta1)


cdef inline AdMatrix dlog_matrix(Vec3 w, Vec3 v) noexcept nogil:
    cdef vt_real s = dot(w, w), g = half_cot(s), gamma, kappa, kappa1, gamma1, gamma2, kappa2
    vt_log_coefficients(s, g, &gamma, &kappa, &kappa1)
    vt_log_coefficients2(s, g, gamma, kappa, kappa1, &gamma1, &gamma2, &kappa2)
    return ad_quadratic(w, v, vt_set1(-0.5), gamma, vt_set1(0.0), gamma1)


cdef inline AdMatrix ad_mul(AdMatrix A, AdMatrix B) noexcept nogil:
    cdef AdMatrix r
    r.d = mul3(A.d, B.d)
    r.e = add3(mul3(A.d, B.e), mul3(A.e, B.d))
    return r


cdef inline AdMatrix ad_flip(AdMatrix A) noexcept nogil:
    # the blocks' transposes: f(-ad) for f(ad)
    cdef AdMatrix r
    r.d = transpose(A.d)
    r.e = transpose(A.e)
    return r


cdef inline void ad_pull(AdMatrix A, Vec3 n, Vec3 f, Vec3* pn, Vec3* pf) noexcept nogil:
    # A^T (n, f)
    pn[0] = add(tmul(A.d, n), tmul(A.e, f))
    pf[0] = tmul(A.d, f)


cdef inline WrenchSlope wrench_slope(Vec3 n, Vec3 f) noexcept nogil:
    # Pm(n, f)
    cdef WrenchSlope r
    r.M = hat(n)
    r.K = hat(f)
    return r


cdef inline WrenchSlope slope_pull(AdMatrix A, WrenchSlope B) noexcept nogil:
    # A^T B
    cdef WrenchSlope r
    cdef Mat3 T = transpose(A.d)
    r.M = add3(mul3(T, B.M), mul3(transpose(A.e), B.K))
    r.K = mul3(T, B.K)
    return r


cdef inline WrenchSlope slope_push(WrenchSlope B, AdMatrix A) noexcept nogil:
    # B A
    cdef WrenchSlope r
    r.M = add3(mul3(B.M, A.d), mul3(B.K, A.e))
    r.K = mul3(B.K, A.d)
    return r


cdef inline WrenchSlope slope_axpy(vt_real s, WrenchSlope A, WrenchSlope B) noexcept nogil:
    cdef WrenchSlope r
    r.M = add_scaled(s, A.M, B.M)
    r.K = add_scaled(s, A.K, B.K)
    return r


cdef inline Mat3 add_scaled(vt_real s, Mat3 A, Mat3 B) noexcept nogil:
    # s A + B
    return mat3(axpy(s, A.x, B.x), axpy(s, A.y, B.y), axpy(s, A.z, B.z))


cdef inline Mat3 ddlog_block(Vec3 w, vt_real gamma, vt_real gamma1, Vec3 c) noexcept nogil:
    # E(c) = -c^/2 - gamma ((w x c)^ + w^ c^) + gamma1 (w x (w x c)) w^T;  w^ c^ = c w^T - (w.c) 1
    cdef Vec3 wc = cross(w, c)
    cdef Mat3 r = hat(sub(scale(vt_set1(-0.5), c), scale(gamma, wc)))
    return plus_diagonal(outer(vt_set1(1.0), axpy(gamma1, cross(w, wc), scale(-gamma, c)), w, r), gamma * dot(w, c))


cdef inline WrenchSlope ddlog_pull(Vec3 w, Vec3 v, Vec3 a, Vec3 b) noexcept nogil:
    # derivative by (w, v) of dlog_(w,v)^T (a, b)
    cdef vt_real s = dot(w, w), g = half_cot(s), gamma, kappa, kappa1, gamma1, gamma2, kappa2, wv = dot(w, v)
    cdef Vec3 wb = cross(w, b), vb = cross(v, b), wwb = cross(w, wb), t
    cdef Mat3 H
    cdef WrenchSlope r
    vt_log_coefficients(s, g, &gamma, &kappa, &kappa1)
    vt_log_coefficients2(s, g, gamma, kappa, kappa1, &gamma1, &gamma2, &kappa2)
    H = hat(neg(axpy(gamma, vb, scale(gamma1 * wv, wb))))
    # -gamma v^ b^ - gamma1 (w.v) w^ b^
    H = outer(-gamma, b, v, H)
    H = plus_diagonal(H, gamma * dot(v, b) + gamma1 * wv * dot(w, b))
    t = add(cross(w, vb), cross(v, wb))
    t = axpy(gamma1, t, axpy(gamma2 * wv, wwb, scale(-gamma1 * wv, b)))
    H = outer(vt_set1(1.0), t, w, H)
    H = outer(gamma1, wwb, v, H)
    r.M = add3(ddlog_block(w, gamma, gamma1, a), H)
    r.K = ddlog_block(w, gamma, gamma1, b)
    return r
