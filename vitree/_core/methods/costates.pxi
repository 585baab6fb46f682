# Costates of a run: one sweep from its end to its start. One lane.

def sweep_costates(CoreModel model, const double[:, ::1] K, const double[:, ::1] g, double[:, ::1] costates):
    """Fill rows of costates (n + 1, 2 nv) from the last, which is given: each is A^T of the next one, and its row of g.

    K: (n, 4 nv nv), the blocks of steps with K12 factored. g: (n, 2 nv).
    """
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t k, n = K.shape[0]
    cdef int i, nv = m.nv
    cdef Scratch scratch = Scratch(nv * (sizeof(double) + sizeof(int)) + 256)
    cdef double* mu = <double*>scratch.take(nv * sizeof(double))
    cdef int* before = <int*>scratch.take(nv * sizeof(int))
    cdef NodeSlopes blocks
    require_size(K.shape[1], 4 * nv * nv, "columns of K")
    require_size(g.shape[0], n, "rows of g")
    require_size(g.shape[1], 2 * nv, "columns of g")
    require_size(costates.shape[0], n + 1, "rows of costates")
    require_size(costates.shape[1], 2 * nv, "columns of costates")
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
