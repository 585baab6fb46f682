# The Coriolis matrix, with dM/dt - 2 C skew-symmetric (Echeandia & Wensing 2021, "Numerical methods to compute the
# Coriolis matrix and Christoffel symbols for rigid-body systems").
#
# A body of inertia I with the twist V adds J^T (I dJ/dt + B J), with B the half of V x* I - I (V x) + (I V) xbar*.
# About a fixed point B (w, v) = (D w, w x P), with D = (dJ - L^)/2. I and B of all that a joint carries are sums. With
# a column k of a body, and j one of the same body or of one that carries it:
#     C_jk = S_j.(I dS_k + B S_k),     C_kj = dS_j.(I S_k) + S_j.(B^T S_k),     B^T (w, v) = (D^T w + P x v, 0)

cdef enum:
    CORIOLIS_ROWS = 15      # (f, n) of I dS + B S, (f, n) of I S, n of B^T S


cdef void map_coriolis_matrix(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    cdef Tree t = tree_memory(m, &room)
    cdef int stride = m.nv + 3, nv = m.nv       # vt_sums reads three numbers behind rows
    cdef double* rows = <double*>piece(&room, CORIOLIS_ROWS * stride * sizeof(double))
    cdef CrbaBody* span = <CrbaBody*>piece(&room, m.nbody * sizeof(CrbaBody))
    cdef const vt_body* b
    cdef Carried* x
    cdef Column dS
    cdef Vec3 n, f, turn
    cdef double c[9]
    cdef int i, k, l, a, first, until
    placed_tree(m, job, &t, LINEAR | ANGULAR | INERTIA | RATE)
    memset(job.out, 0, nv * nv * sizeof(double))
    memset(rows, 0, CORIOLIS_ROWS * stride * sizeof(double))
    for i in range(m.nbody):
        span[i].last = i
        span[i].count = 1
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        x = &t.x[i]
        for k in range(b.iv, b.iv + joint_nv(b)):
            dS = column_rate(&t.twist[i], &t.S[k])
            # 2 D w and 2 D^T w are dJ w -+ L x w
            momentum_column(x, &dS, &n, &f)
            turn = symmul(x.dJ, t.S[k].w)
            n = axpy(0.5, sub(turn, cross(x.L, t.S[k].w)), n)
            store_column(rows + k, stride, add(f, cross(t.S[k].w, x.P)), n)
            momentum_column(x, &t.S[k], &n, &f)
            store_column(rows + 6 * stride + k, stride, f, n)
            n = add(scale(0.5, add(turn, cross(x.L, t.S[k].w))), cross(x.P, t.S[k].v))
            l = 12 * stride + k
            rows[l], rows[l + stride], rows[l + 2 * stride] = n.x, n.y, n.z
        for l in range(b.iv, b.iv + joint_nv(b)):
            dS = column_rate(&t.twist[i], &t.S[l])
            a = i
            while next_outboard(m, i, &span[i], &a, &first, &until):
                store3(c, t.S[l].v)
                store3(c + 3, t.S[l].w)
                vt_sums(6, until - first, stride, c, rows + first, 1, job.out + l * nv + first)
                # those of the body itself have both triangles by now
                first = max(first, b.iv + joint_nv(b))
                if first < until:
                    store3(c, dS.v)
                    store3(c + 3, dS.w)
                    store3(c + 6, t.S[l].w)
                    vt_sums(9, until - first, stride, c, rows + 6 * stride + first, nv, job.out + first * nv + l)
        if b.parent >= 0:
            add_carried(&t.x[b.parent], x, LINEAR | ANGULAR | INERTIA | RATE)
            span[b.parent].last = max(span[b.parent].last, span[i].last)
            span[b.parent].count += span[i].count
