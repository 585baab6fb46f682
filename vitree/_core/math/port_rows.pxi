# Impulses in ports: six unit wrenches for each body in contact, a unit force for each limited coordinate.

cdef struct TouchRow:       # an impulse in the ports of its bodies: wrenches about their origins, or a force on a coordinate
    int a                   # the first row of a port, or -1
    int b
    int size                # rows of a port: 6, or 1
    vt_real on_a[6]         # (torque, force)
    vt_real on_b[6]


cdef inline vt_real six(const vt_real* a, const vt_real* b) noexcept nogil:
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]) + (a[4] * b[4] + a[5] * b[5])


cdef inline void add_sixfold(vt_real size, const vt_real* a, vt_real* x) noexcept nogil:
    # x += size a of six numbers
    vt_add_row(6, size, a, x)


cdef inline vt_real along_row(const TouchRow* W, const vt_real* x) noexcept nogil:
    # W^T x of a vector over the ports
    cdef vt_real s = vt_set1(0.0)
    if W.a >= 0:
        s = six(W.on_a, x + W.a) if W.size == 6 else W.on_a[0] * x[W.a]
    if W.b >= 0:
        s += six(W.on_b, x + W.b)
    return s


cdef inline void add_touch_row(const TouchRow* W, vt_real size, vt_real* x) noexcept nogil:
    # x += size W
    if W.a >= 0:
        if W.size == 6:
            add_sixfold(size, W.on_a, x + W.a)
        else:
            x[W.a] += size * W.on_a[0]
    if W.b >= 0:
        add_sixfold(size, W.on_b, x + W.b)


cdef inline void add_outer(const TouchRow* A, vt_real size, const TouchRow* B, vt_real* K, int first, int width) noexcept nogil:
    # K += size A B^T, a matrix over the ports from the first on
    cdef int k
    if A.a >= 0:
        for k in range(A.size):
            add_touch_row(B, size * A.on_a[k], K + (A.a - first + k) * width - first)
    if A.b >= 0:
        for k in range(6):
            add_touch_row(B, size * A.on_b[k], K + (A.b - first + k) * width - first)


cdef inline void add_blocks(const TouchRow* A, const vt_real* T, const TouchRow* B, vt_real* K, int width) noexcept nogil:
    # the same of three rows A T B^T of one body each, T by rows of WIDE, K at that body's block
    cdef vt_real Y[18]
    cdef int j, k
    for j in range(3):
        for k in range(6):
            Y[6 * j + k] = (T[WIDE * j] * B[0].on_a[k] + T[WIDE * j + 1] * B[1].on_a[k]
                            + T[WIDE * j + 2] * B[2].on_a[k])
    for k in range(6):
        for j in range(6):
            K[k * width + j] += A[0].on_a[k] * Y[j] + A[1].on_a[k] * Y[6 + j] + A[2].on_a[k] * Y[12 + j]


cdef struct PortTrees:      # the ports of a problem by trees, which are coupled by contacts only
    int count
    const int* first        # (count,) the first port of each
    const int* size         # (count,) and their number
    const int* of_port      # the tree of each port, from `base` on
    const Py_ssize_t* at    # (count,) where each block of P begins, if it had the ports before its first
    int base
    int whole               # of a single tree: ports of bodies, before those of coordinates


cdef struct PortBlocks:
    int trees
    int* at                 # (trees, trees) where each block begins in `data`, or -1
    int* order              # (trees,) of elimination
    int* near               # the later neighbours of each in that order
    int* near_from          # (trees + 1,)
    int* degree             # (trees,) or -1 for those eliminated
    size_t ints_room
    int* pivot              # (ports,)
    size_t pivot_room
    double* data
    size_t used
    size_t room
    double* pushed          # P W1: for each row and side the motion of the ports of that tree
    size_t* pushed_at       # (2 rows,)
    size_t pushed_room
    size_t rows_room


cdef bint grow(void** at, size_t* room, size_t count, size_t size) noexcept nogil:
    # memory for so many items, whose content is lost
    cdef void* to
    if count <= room[0]:
        return True
    to = vt_alloc(2 * count * size)
    if to == NULL:
        return False
    vt_release(at[0])
    at[0], room[0] = to, 2 * count
    return True
