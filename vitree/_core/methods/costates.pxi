# Products with the maps of a run's steps, without forming them: costates from its end to its start, motions from its
# start to its end. One lane.

cdef int require_maps(const double[:, ::1] K, const double[:, ::1] added, double[:, ::1] states, int nv) except -1:
    require_size(K.shape[1], 4 * nv * nv, "columns of K")
    require_size(added.shape[0], K.shape[0], "rows of what is added")
    require_size(added.shape[1], 2 * nv, "columns of what is added")
    require_size(states.shape[0], K.shape[0] + 1, "rows of states")
    require_size(states.shape[1], 2 * nv, "columns of states")
    return 0


def sweep_costates(CoreModel model, const double[:, ::1] K, const double[:, ::1] g, double[:, ::1] costates):
    """Fill rows of costates (n + 1, 2 nv) from the last, which is given: each is A^T of the next, plus its row of g.

    K: (n, 4 nv nv), the blocks of steps with K12 factored. g: (n, 2 nv).
    """
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k, n = K.shape[0]
    cdef int i, nv = m.nv
    cdef Scratch scratch = Scratch(nv * (sizeof(double) + sizeof(int)) + 256)
    cdef double* mu = <double*>scratch.take(nv * sizeof(double))
    cdef int* before = <int*>scratch.take(nv * sizeof(int))
    cdef NodeSlopes blocks
    require_maps(K, g, costates, nv)
    if nv == 0:
        return
    with nogil:
        coordinates_before(m, before)
        for k in range(n - 1, -1, -1):
            blocks.K11, blocks.K12 = <double*>&K[k, 0], <double*>&K[k, nv * nv]
            blocks.K21, blocks.K22 = <double*>&K[k, 2 * nv * nv], <double*>&K[k, 3 * nv * nv]
            costates_before(m, before, &blocks, &costates[k + 1, 0], mu, &costates[k, 0])
            for i in range(2 * nv):
                costates[k, i] += g[k, i]


cdef inline void add_path_product(const vt_model* m, const int* before, const double* K, const double* x,
                                  double* y) noexcept nogil:
    # y += K x, K zero except for coordinates on one path to the root
    cdef int i, j, n = m.nv
    for i in range(n):
        y[i] += K[i * n + i] * x[i]
        j = before[i]
        while j >= 0:
            y[i] += K[i * n + j] * x[j]
            y[j] += K[j * n + i] * x[i]
            j = before[j]


def push_motions(CoreModel model, const double[:, ::1] K, const double[:, ::1] kicks, double[:, ::1] motions):
    """Fill rows of motions (n + 1, 2 nv) from the first, which is given: each is A of the previous one, with kicks.

    K: (n, 4 nv nv), the blocks of steps with K12 factored. kicks: (n, 2 nv), added to -p1 and to p2.
    """
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k, n = K.shape[0]
    cdef int i, nv = m.nv
    cdef Scratch scratch = Scratch(nv * (sizeof(double) + sizeof(int)) + 256)
    cdef double* left = <double*>scratch.take(nv * sizeof(double))
    cdef int* before = <int*>scratch.take(nv * sizeof(int))
    cdef const double* early
    cdef double* late
    require_maps(K, kicks, motions, nv)
    if nv == 0:
        return
    with nogil:
        coordinates_before(m, before)
        for k in range(n):
            early, late = &motions[k, 0], &motions[k + 1, 0]
            # d2 = K12^-1 (dp1 + kick1 - K11 d1)
            for i in range(nv):
                left[i] = 0.0
            add_path_product(m, before, &K[k, 0], early, left)
            for i in range(nv):
                late[i] = early[nv + i] + kicks[k, i] - left[i]
                late[nv + i] = kicks[k, nv + i]
            path_solve(m, before, &K[k, nv * nv], 1, late)
            # dp2 = K21 d1 + K22 d2 + kick2
            add_path_product(m, before, &K[k, 2 * nv * nv], early, late + nv)
            add_path_product(m, before, &K[k, 3 * nv * nv], late, late + nv)
