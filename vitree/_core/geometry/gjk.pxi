# Distance of two convex shapes by their supports (Gilbert, Johnson & Keerthi 1988, "A fast procedure for computing the
# distance between complex objects in three-dimensional space"). One lane.

cdef enum:
    GJK_STEPS = 64

#: A support that brings the squared distance by less, relative to it, ends the search
cdef double GJK_TOLERANCE = 1e-13
#: Shapes are apart if their distance is more than this fraction of their sizes
cdef double APART = 1e-9
#: A tetrahedron whose volume is less, relative to the product of three edges, counts as flat
cdef double FLAT_TETRAHEDRON = 1e-12


cdef struct Simplex:        # points w = a - b of the difference of two shapes, in world axes
    int n
    Vec3 w[4]
    Vec3 a[4]
    Vec3 b[4]
    int ia[4]               # vertices or rims, see `support`
    int ib[4]
    double share[4]         # of the point that is nearest to the origin


cdef Vec3 nearest_of_segment(Vec3 a, Vec3 b, double* share) noexcept nogil:
    # the point of a segment nearest to the origin, and its shares of the ends
    cdef Vec3 d = sub(b, a)
    cdef double dd = dot(d, d), t = clamp(-dot(a, d) / dd, 0.0, 1.0) if dd > 0.0 else 0.0
    share[0], share[1] = 1.0 - t, t
    return axpy(t, d, a)


cdef Vec3 nearest_of_triangle(Vec3 a, Vec3 b, Vec3 c, double* share) noexcept nogil:
    # the same of a triangle (Ericson 2005, "Real-time collision detection", 5.1.5)
    cdef Vec3 ab = sub(b, a), ac = sub(c, a), bc
    cdef double d1 = -dot(ab, a), d2 = -dot(ac, a), d3 = -dot(ab, b), d4 = -dot(ac, b), d5 = -dot(ab, c), d6 = -dot(ac, c)
    cdef double va, vb, vc, t
    share[0] = share[1] = share[2] = 0.0
    if d1 <= 0.0 and d2 <= 0.0:
        share[0] = 1.0
        return a
    if d3 >= 0.0 and d4 <= d3:
        share[1] = 1.0
        return b
    if d6 >= 0.0 and d5 <= d6:
        share[2] = 1.0
        return c
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        share[0], share[1] = 1.0 - t, t
        return axpy(t, ab, a)
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        share[0], share[2] = 1.0 - t, t
        return axpy(t, ac, a)
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        share[1], share[2] = 1.0 - t, t
        bc = sub(c, b)
        return axpy(t, bc, b)
    t = 1.0 / (va + vb + vc)
    share[1], share[2] = vb * t, vc * t
    share[0] = 1.0 - share[1] - share[2]
    # along the normal: what is left of shares is not exact
    bc = cross(ab, ac)
    return scale(dot(bc, a) / dot(bc, bc), bc)


cdef void keep_corner(Simplex* x, int to, int k) noexcept nogil:
    x.w[to], x.a[to], x.b[to], x.ia[to], x.ib[to] = x.w[k], x.a[k], x.b[k], x.ia[k], x.ib[k]
    x.share[to] = x.share[k]


cdef bint nearest_of_simplex(Simplex* x, Vec3* v) noexcept nogil:
    # its point nearest to the origin, of which corners without a share are left out; False: it holds the origin
    cdef double share[3]
    cdef double most, least = INFINITY, volume, side
    cdef Vec3 found, normal
    cdef int k, i, j, l, n = 0, best = -1
    cdef bint flat
    if x.n == 1:
        x.share[0] = 1.0
        v[0] = x.w[0]
        return True
    if x.n == 2:
        v[0] = nearest_of_segment(x.w[0], x.w[1], x.share)
    elif x.n == 3:
        v[0] = nearest_of_triangle(x.w[0], x.w[1], x.w[2], x.share)
    else:
        most = 0.0
        for k in range(3):
            normal = sub(x.w[k], x.w[3])
            most = max(most, dot(normal, normal))
        volume = dot(sub(x.w[0], x.w[3]), cross(sub(x.w[1], x.w[3]), sub(x.w[2], x.w[3])))
        flat = fabs(volume) <= FLAT_TETRAHEDRON * most * vt_sqrt(most)
        for k in range(4):
            # the face without corner k
            i, j, l = (k + 1) & 3, (k + 2) & 3, (k + 3) & 3
            normal = cross(sub(x.w[j], x.w[i]), sub(x.w[l], x.w[i]))
            side = dot(normal, sub(x.w[k], x.w[i]))
            if not flat and -dot(normal, x.w[i]) * side >= 0.0:
                continue
            found = nearest_of_triangle(x.w[i], x.w[j], x.w[l], share)
            if dot(found, found) < least:
                least, best, v[0] = dot(found, found), k, found
                x.share[k] = 0.0
                x.share[i], x.share[j], x.share[l] = share[0], share[1], share[2]
        if best < 0:
            return False
    for k in range(x.n):
        if x.share[k] > 0.0:
            if n < k:
                keep_corner(x, n, k)
            n += 1
    x.n = n
    return True


cdef double gjk(const Placed* A, const Placed* B, Vec3 shift, Vec3 start, Simplex* x, Vec3* n) noexcept nogil:
    # the distance of A, displaced by shift, from B, without radii, the direction from b to a, and the simplex; zero
    # where they overlap. The search begins with the direction `start`
    cdef Simplex more
    cdef Vec3 v = start, w, a, b, nearer = start
    cdef double square = INFINITY, size = A.s.reach + B.s.reach, d
    cdef int i, k, ia, ib
    cdef bint again
    x.n = 0
    for i in range(GJK_STEPS):
        a, b = add(support(A, neg(v), &ia), shift), support(B, v, &ib)
        w = sub(a, b)
        if i and square - dot(v, w) <= GJK_TOLERANCE * square:
            break
        again = False
        for k in range(x.n):
            again = again or (x.w[k].x == w.x and x.w[k].y == w.y and x.w[k].z == w.z)
        if again:
            break
        more, k = x[0], x.n
        more.w[k], more.a[k], more.b[k], more.ia[k], more.ib[k], more.n = w, a, b, ia, ib, k + 1
        if not nearest_of_simplex(&more, &nearer):
            x[0] = more
            return 0.0
        d = dot(nearer, nearer)
        if not d < square:
            # rounding errors: the last simplex is the nearest one
            break
        x[0], v, square = more, nearer, d
        if vt_sqrt(d) <= APART * size:
            return 0.0
    d = vt_sqrt(square)
    n[0] = scale(1.0 / d, v)
    return d
