# Derivatives of costs over a motion, added to gradients (n, N) and matrices (n, N, N) of the states of its nodes, whose
# first nv entries are displacements of the configuration.


def quadratic_terms(const double[:, ::1] x, const double[:, ::1] Q, const double[:, ::1] Q_end, maps,
                    double[:, ::1] gradients, double[:, :, ::1] matrices):
    """Write 2 Q x and 2 Q of x^T Q x at all nodes x (n, N), by Q_end at the last one.

    ``maps`` (n, nv, nv) are the derivatives E of the first entries of x by displacements, E^T g and E^T W E, or None.
    """
    cdef Py_ssize_t i, nodes = x.shape[0]
    cdef int n = x.shape[1], nv, r, c, k
    cdef const double[:, ::1] weights
    cdef const double[:, :, ::1] E
    cdef double* row
    cdef double* W
    cdef double s
    cdef Scratch room = Scratch(n * n * sizeof(double) + 128)
    cdef double* turned = <double*>room.take(n * n * sizeof(double))
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
    for i in range(nodes):
        weights, row, W = Q if i < nodes - 1 else Q_end, &gradients[i, 0], &matrices[i, 0, 0]
        for r in range(n):
            s = 0.0
            for c in range(n):
                s += x[i, c] * (2.0 * weights[c, r])
                W[r * n + c] = 2.0 * weights[r, c]
            row[r] = s
        if maps is None:
            continue
        # the first rows times E^T, then the first columns times E
        memcpy(turned, row, nv * sizeof(double))
        for r in range(nv):
            row[r] = 0.0
            for k in range(nv):
                row[r] += turned[k] * E[i, k, r]
        memcpy(turned, W, nv * n * sizeof(double))
        for r in range(nv):
            memset(W + r * n, 0, n * sizeof(double))
            for k in range(nv):
                for c in range(n):
                    W[r * n + c] += E[i, k, r] * turned[k * n + c]
        for r in range(n):
            memcpy(turned, W + r * n, nv * sizeof(double))
            for c in range(nv):
                W[r * n + c] = 0.0
                for k in range(nv):
                    W[r * n + c] += turned[k] * E[i, k, c]


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
