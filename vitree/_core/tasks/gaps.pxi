# Gaps of convex shapes and their slopes by the coordinates.

cdef int gap_rows(const Mechanism* x, const vt_shape* shapes, const int* pair, int count, double within, double* gap,
                  int* which, double* J) noexcept nogil:
    # of those pairs (count, 2) whose gap is less than `within`: gap, number of the pair, slopes (n,) by the coordinates.
    # Returns how many
    cdef Placed A, B
    cdef Near near
    cdef const vt_shape* a
    cdef const vt_shape* b
    cdef Vec3 d, one
    cdef double reach
    cdef int k, found = 0, i, n = x.n
    for k in range(count):
        a, b = &shapes[pair[2 * k]], &shapes[pair[2 * k + 1]]
        if b.kind == HALF_SPACE:
            one = constant3(b.face)
            if dot(one, placed(x.pose, a.body, a.middle)) - b.face[3] - a.reach > within:
                continue
        else:
            d = sub(placed(x.pose, a.body, a.middle), placed(x.pose, b.body, b.middle))
            reach = a.reach + b.reach + within
            if dot(d, d) > reach * reach:
                continue
        place_shape(a, x.pose, &A)
        place_shape(b, x.pose, &B)
        deepest_features(&A, &B, &near)
        if near.gap > within:
            continue
        gap[found], which[found] = near.gap, k
        memset(J, 0, n * sizeof(double))
        # the points of both bodies, seen from the world: n . (da - db)
        add_gap_columns(x, a.body, 1.0, near.a, near.n, J)
        add_gap_columns(x, b.body, -1.0, near.b, near.n, J)
        J += n
        found += 1
    return found


cdef void add_gap_columns(const Mechanism* x, int body, double sign, Vec3 p, Vec3 normal, double* J) noexcept nogil:
    cdef const vt_body* b
    cdef Vec3 w, v, r
    cdef int k
    while body >= 0:
        b = &x.m.body[body]
        r = sub(p, x.pose[body].o)
        for k in range(joint_nv(b)):
            joint_column(b, x.pose[body].R, k, &w, &v)
            J[x.lead[b.iv + k]] += sign * x.factor[b.iv + k] * dot(normal, add(v, cross(w, r)))
        body = b.parent
