# Derivatives of costs over a motion, added to gradients (n, N) and matrices (n, N, N) of the states of its nodes, whose
# first nv entries are displacements of the configuration.


def quadratic_terms(const double[:, ::1] x, const double[:, ::1] Q, const double[:, ::1] Q_end, maps,
                    double[:, ::1] gradients, double[:, :, ::1] matrices):
    """Write 2 Q x and 2 Q of x^T Q x at all nodes x (n, N), by Q_end at the last one.

    ``maps`` (n, nv, nv) are the derivatives E of the first entries of x by displacements, E^T g and E^T W E, or None.
    """
    cdef Py_ssize_t i, nodes = x.shape[0]
    cdef int n = x.shape[1], nv, r, c
    cdef const double[:, :, ::1] E
    cdef double* row
    cdef double* W
    cdef const double* by
    cdef Scratch room = Scratch(4 * n * n * sizeof(double) + 4 * 64)
    cdef double* each = <double*>room.take(n * n * sizeof(double))
    cdef double* last = <double*>room.take(n * n * sizeof(double))
    cdef double* turned = <double*>room.take(n * n * sizeof(double))
    cdef double* moved = <double*>room.take(n * n * sizeof(double))
    require_shape(Q, (n, n))
    require_shape(Q_end, (n, n))
    require_shape(gradients, (nodes, n))
    require_shape(matrices, (nodes, n, n))
    if maps is not None:
        E = maps
        nv = E.shape[1]
        require_shape(E, (nodes, nv, nv))
    if not n:
        return
    for r in range(n):
        for c in range(n):
            each[r * n + c], last[r * n + c] = 2.0 * Q[r, c], 2.0 * Q_end[r, c]
    for i in range(nodes):
        by, row, W = each if i < nodes - 1 else last, &gradients[i, 0], &matrices[i, 0, 0]
        memset(row, 0, n * sizeof(double))
        vt_add_product(1, n, n, &x[i, 0], n, 1, by, row, n, False)
        memcpy(W, by, n * n * sizeof(double))
        if maps is None:
            continue
        # the first rows times E^T
        memcpy(turned, row, nv * sizeof(double))
        memset(row, 0, nv * sizeof(double))
        vt_add_product(1, nv, nv, turned, nv, 1, &E[i, 0, 0], row, nv, False)
        memcpy(turned, W, nv * n * sizeof(double))
        memset(W, 0, nv * n * sizeof(double))
        vt_add_product(nv, nv, n, &E[i, 0, 0], 1, nv, turned, W, n, False)
        # the first columns times E
        memset(moved, 0, n * nv * sizeof(double))
        vt_add_product(n, nv, nv, W, n, 1, &E[i, 0, 0], moved, nv, False)
        for r in range(n):
            memcpy(W + r * n, moved + r * nv, nv * sizeof(double))


def frame_terms(const double[:, :, ::1] J, const double[:, ::1] off, const double[:, ::1] weights,
                double[:, ::1] gradients, double[:, :, ::1] matrices):
    """Add 2 J^T w off and 2 J^T w J of the sums of w off^2, with J (n, 6, nv), off (n, 6) and w (n, 6)."""
    cdef Py_ssize_t i, nodes = J.shape[0]
    cdef int nv = J.shape[2], n = gradients.shape[1], k, r, c
    cdef double w, s
    cdef const double* row
    require_shape(J, (nodes, 6, nv))
    require_shape(off, (nodes, 6))
    require_shape(weights, (nodes, 6))
    require_shape(gradients, (nodes, n))
    require_shape(matrices, (nodes, n, n))
    if n < nv:
        raise ValueError(f"gradients of {n} numbers; {nv} are needed")
    for i in range(nodes if nv else 0):
        for k in range(6):
            w, row = 2.0 * weights[i, k], &J[i, k, 0]
            if w == 0.0:
                continue
            for r in range(nv):
                s = w * row[r]
                gradients[i, r] += off[i, k] * s
                for c in range(nv):
                    matrices[i, r, c] += s * row[c]


def frame_bend(const double[:, :, ::1] J, const double[:, ::1] off, const double[:, ::1] weights,
               double[:, :, ::1] matrices):
    """Add the second derivatives of points' paths, weighed by the force f = 2 w off, to matrices (n, N, N).

    Entry (i, j), j outboard of i or i itself, is f.(w_i x p_j) = w_i.(p_j x f), of the angular velocity w_i by
    coordinate i and the velocity p_j of the point by j; the matrix is symmetric.
    """
    cdef Py_ssize_t i, nodes = J.shape[0]
    cdef int nv = J.shape[2], n = matrices.shape[1], r, c
    cdef Vec3 f, p
    cdef double s
    require_shape(J, (nodes, 6, nv))
    require_shape(off, (nodes, 6))
    require_shape(weights, (nodes, 6))
    require_shape(matrices, (nodes, n, n))
    if n < nv:
        raise ValueError(f"matrices of {n} numbers; {nv} are needed")
    for i in range(nodes):
        f = vec3(2.0 * weights[i, 3] * off[i, 3], 2.0 * weights[i, 4] * off[i, 4], 2.0 * weights[i, 5] * off[i, 5])
        if f.x == 0.0 and f.y == 0.0 and f.z == 0.0:
            continue
        for c in range(nv):
            p = cross(vec3(J[i, 3, c], J[i, 4, c], J[i, 5, c]), f)
            for r in range(c + 1):
                s = J[i, 0, r] * p.x + J[i, 1, r] * p.y + J[i, 2, r] * p.z
                matrices[i, r, c] += s
                if r < c:
                    matrices[i, c, r] += s
