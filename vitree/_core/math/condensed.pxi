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


cdef const vt_real* hold_joints(ConeStore* store, const vt_real* P, const vt_real* K, int whole, int m) noexcept nogil:
    # H (m, m) of P and the diagonal of K (m, m) behind the ports of bodies, or NULL without memory
    cdef HeldJoints* x = held_joints_of(store, P)
    cdef int i, j, n = m - whole
    cdef size_t size = <size_t>m * m
    cdef vt_real* H
    cdef vt_real* k
    cdef vt_real* before
    cdef vt_real one = vt_set1(1.0), s, share
    if not grow(<void**>&x.data, &x.room, 2 * size + 2 * n, sizeof(vt_real)):
        return NULL
    H, before, k = x.data, x.data + size, x.data + 2 * size
    for i in range(n):
        k[n + i] = K[(whole + i) * (m + 1)]
    if (x.singles == n and x.whole == whole and memcmp(k, k + n, n * sizeof(vt_real)) == 0
            and (VT_WIDTH > 1 or memcmp(before, P, size * sizeof(vt_real)) == 0)):
        return H
    memcpy(k, k + n, n * sizeof(vt_real))
    memcpy(H, P, size * sizeof(vt_real))
    if VT_WIDTH == 1:
        memcpy(before, P, size * sizeof(vt_real))
    for j in range(whole, m):
        if all_zero(k[j - whole]):
            continue
        s = one / (one + k[j - whole] * H[j * (m + 1)])
        for i in range(m):
            if i != j:
                share = s * H[i * m + j]
                vt_add_row(m, -k[j - whole] * share, H + j * m, H + i * m)
                H[i * m + j] = share
        for i in range(m):
            H[j * m + i] *= s
    x.whole, x.singles = whole, n
    return H
