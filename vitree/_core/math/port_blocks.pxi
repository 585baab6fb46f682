# Matrices over the ports by blocks of the trees that the ports belong to: 1 + P K couples trees by contacts only.
# Elimination in the order of least degree (Tinney & Walker 1967; George & Liu 1989), without pivoting between trees. One
# lane.

cdef void blocks_free(PortBlocks* x) noexcept nogil:
    vt_release(x.at)
    vt_release(x.pivot)
    vt_release(x.data)
    vt_release(x.pushed)
    vt_release(x.pushed_at)


cdef bint blocks_begin(PortBlocks* x, const PortTrees* on, int ports) noexcept nogil:
    # no blocks but those of single trees
    cdef size_t n = on.count
    cdef int k
    if not (grow(<void**>&x.at, &x.ints_room, 2 * n * n + 4 * n + 1, sizeof(int))
            and grow(<void**>&x.pivot, &x.pivot_room, ports, sizeof(int))):
        return False
    x.trees, x.used = on.count, 0
    x.near = x.at + n * n
    x.order, x.degree, x.near_from = x.near + n * n, x.near + n * n + n, x.near + n * n + 2 * n
    memset(x.at, -1, n * n * sizeof(int))
    memset(x.degree, 0, n * sizeof(int))
    for k in range(on.count):
        blocks_put(x, on, k, k)
    return True


cdef inline void blocks_put(PortBlocks* x, const PortTrees* on, int s, int t) noexcept nogil:
    # a block
    x.at[s * x.trees + t] = <int>x.used
    x.used += on.size[s] * on.size[t]


cdef void blocks_join(PortBlocks* x, const PortTrees* on, int s, int t) noexcept nogil:
    # two trees are coupled
    if s != t and x.at[s * x.trees + t] < 0:
        blocks_put(x, on, s, t)
        blocks_put(x, on, t, s)
        x.degree[s] += 1
        x.degree[t] += 1


cdef bint blocks_plan(PortBlocks* x, const PortTrees* on) noexcept nogil:
    # the order of elimination, and the blocks that it fills
    cdef int i, j, k, s, n = x.trees, count = 0
    cdef int* near = x.near
    x.near_from[0] = 0
    for k in range(n):
        s = -1
        for i in range(n):
            if x.degree[i] >= 0 and (s < 0 or x.degree[i] < x.degree[s]):
                s = i
        x.order[k], count = s, 0
        if x.degree[s] > 0:
            for i in range(n):
                if i != s and x.degree[i] >= 0 and x.at[s * n + i] >= 0:
                    near[count] = i
                    count += 1
        for i in range(count):
            for j in range(i):
                blocks_join(x, on, near[i], near[j])
        for i in range(count):
            x.degree[near[i]] -= 1
        x.degree[s] = -1
        x.near_from[k + 1] = x.near_from[k] + count
        near += count
    return grow(<void**>&x.data, &x.room, x.used, sizeof(double))


cdef inline void block_less(int rows, int inner, int columns, const double* A, const double* B, double* C) noexcept nogil:
    # C -= A B
    cdef int i, k
    for i in range(rows):
        for k in range(inner):
            vt_add_row(columns, -A[i * inner + k], B + k * columns, C + i * columns)


cdef bint blocks_solve(PortBlocks* x, const PortTrees* on, int first, double* b) noexcept nogil:
    # b (ports,) <- A^-1 b; A is overwritten
    cdef int i, j, k, s, u, v, m, n = x.trees
    cdef const int* near
    cdef double* A
    for k in range(n):
        s = x.order[k]
        m, near = on.size[s], x.near + x.near_from[k]
        A = x.data + x.at[s * n + s]
        if lu_factor(A, m, x.pivot) != OK:
            return False
        lu_solve(A, m, x.pivot, b + on.first[s] - first)
        for i in range(x.near_from[k + 1] - x.near_from[k]):
            u = near[i]
            if m == 6 and on.size[u] == 6:
                vt_solve_six(A, x.pivot, x.data + x.at[s * n + u])
            else:
                lu_solve_rows(A, m, x.pivot, x.data + x.at[s * n + u], on.size[u])
        for j in range(x.near_from[k + 1] - x.near_from[k]):
            v = near[j]
            A = x.data + x.at[v * n + s]
            for i in range(on.size[v]):
                b[on.first[v] - first + i] -= vt_inner(m, A + i * m, b + on.first[s] - first)
            for i in range(x.near_from[k + 1] - x.near_from[k]):
                u = near[i]
                if m == 6 and on.size[u] == 6 and on.size[v] == 6:
                    vt_less_six(A, x.data + x.at[s * n + u], x.data + x.at[v * n + u])
                else:
                    block_less(on.size[v], m, on.size[u], A, x.data + x.at[s * n + u], x.data + x.at[v * n + u])
    for k in range(n - 1, -1, -1):
        s = x.order[k]
        for i in range(x.near_from[k], x.near_from[k + 1]):
            u = x.near[i]
            A = x.data + x.at[s * n + u]
            for j in range(on.size[s]):
                b[on.first[s] - first + j] -= vt_inner(on.size[u], A + j * on.size[u], b + on.first[u] - first)
    return True
