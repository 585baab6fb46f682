# Newton's equation of a contact problem of one tree whose ports are those of bodies, B, and single ones of joints with dry
# friction, J. K has blocks of bodies, and a diagonal of joints that is zero for those that slide. With the response of all
# ports where joints are held by theirs,
#     H = (1 + P K_J)^-1 P,
# which is P reduced by one joint after the other, with p = H e_j, r = e_j^T H, s = 1/(1 + k H_jj),
#     H <- H - k s p r^T,    and of the joint's own row and column  s r,  s p,
# the equation (1 + P K) y = P f has the solution
#     (1 + H_BB K_B) y_B = (H f)_B,    y_J = (H f)_J - H_JB K_B y_B.
# H remains as long as P does and the same joints stand. It is found again by its content, P and K_J; in lanes the owner of P
# says where it changes.

cdef enum:
    MANY_SINGLES = 6        # fewer are not worth it
    AT_A_TIME = 4           # joints by which rows of P are reduced in one pass


cdef void held_joints_free(ConeStore* store) noexcept nogil:
    cdef int k
    for k in range(2):
        vt_release(store.held[k].data)


cdef inline void forget_held_joints(ConeStore* store) noexcept nogil:
    # P is another one
    store.held[0].singles = store.held[1].singles = 0


cdef HeldJoints* held_joints_of(ConeStore* store, const vt_real* P) noexcept nogil:
    # those of P, by its place; else those that were used before the last ones. A step has one P in the metric of its
    # operator, and one in that of M
    cdef int k
    for k in range(2):
        if store.held[k].of == P:
            store.last_held = k
            return &store.held[k]
    store.last_held = 1 - store.last_held
    store.held[store.last_held].of, store.held[store.last_held].singles = P, 0
    return &store.held[store.last_held]


cdef void reduce_rows(vt_real* H, int m, const int* joint, int count, const vt_real* k, vt_real* rows) noexcept nogil:
    # H of some joints more, in their order; rows (AT_A_TIME, m): memory for r^T
    cdef int i, a, b
    cdef bint own
    cdef vt_real* row
    cdef vt_real one = vt_set1(1.0)
    cdef vt_real s[AT_A_TIME]
    cdef vt_real e[AT_A_TIME]
    cdef vt_real f[AT_A_TIME]
    for a in range(count):
        row = H + joint[a] * m
        s[a] = one / (one + k[joint[a]] * row[joint[a]])
        memcpy(rows + a * m, row, m * sizeof(vt_real))
        for b in range(count):
            if b != a:
                e[0] = s[a] * H[joint[b] * m + joint[a]]
                vt_add_row(m, -k[joint[a]] * e[0], rows + a * m, H + joint[b] * m)
                H[joint[b] * m + joint[a]] = e[0]
        for i in range(m):
            row[i] *= s[a]
    for a in range(count, AT_A_TIME):
        f[a] = vt_set1(0.0)
        memset(rows + a * m, 0, m * sizeof(vt_real))
    for i in range(m):
        row, own = H + i * m, False
        for a in range(count):
            own = own or joint[a] == i
            e[a] = row[joint[a]]
        if own:
            continue
        # the entries of the joints' columns one after the other, as in a pass for each
        for a in range(count):
            e[a] = s[a] * e[a]
            f[a] = -k[joint[a]] * e[a]
            for b in range(count):
                if b != a:
                    e[b] = e[b] + f[a] * rows[a * m + joint[b]]
        vt_add_four_rows(m, f, rows, row)
        for a in range(count):
            row[joint[a]] = e[a]


cdef const vt_real* hold_joints(ConeStore* store, const vt_real* P, const vt_real* K, int whole, int m) noexcept nogil:
    # H (m, m) of P and the diagonal of K (m, m) behind the ports of bodies, or NULL without memory
    cdef HeldJoints* x = held_joints_of(store, P)
    cdef int joint[AT_A_TIME]
    cdef int i, j, count, n = m - whole
    cdef size_t size = <size_t>m * m
    cdef vt_real* H
    cdef vt_real* k
    cdef vt_real* before
    cdef vt_real* rows
    if not grow(<void**>&x.data, &x.room, 2 * size + AT_A_TIME * m + 2 * n, sizeof(vt_real)):
        return NULL
    H, before, rows = x.data, x.data + size, x.data + 2 * size
    k = rows + AT_A_TIME * m
    for i in range(n):
        k[n + i] = K[(whole + i) * (m + 1)]
    if (x.singles == n and x.whole == whole and memcmp(k, k + n, n * sizeof(vt_real)) == 0
            and (VT_WIDTH > 1 or memcmp(before, P, size * sizeof(vt_real)) == 0)):
        return H
    memcpy(k, k + n, n * sizeof(vt_real))
    memcpy(H, P, size * sizeof(vt_real))
    if VT_WIDTH == 1:
        memcpy(before, P, size * sizeof(vt_real))
    j = whole
    while j < m:
        count = 0
        while j < m and count < AT_A_TIME:
            if not all_zero(k[j - whole]):
                joint[count] = j
                count += 1
            j += 1
        if count:
            reduce_rows(H, m, joint, count, k - whole, rows)
    x.whole, x.singles = whole, n
    return H
