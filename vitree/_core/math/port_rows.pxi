# Impulses in ports: six unit wrenches for each body in contact, a unit force for each limited coordinate. One lane.

cdef struct TouchRow:       # an impulse in the ports of its bodies: wrenches about their origins, or a force on a coordinate
    int a                   # the first row of a port, or -1
    int b
    int size                # rows of a port: 6, or 1
    double on_a[6]          # (torque, force)
    double on_b[6]


cdef inline double six(const double* a, const double* b) noexcept nogil:
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]) + (a[4] * b[4] + a[5] * b[5])


cdef inline void add_sixfold(double size, const double* a, double* x) noexcept nogil:
    # x += size a of six numbers
    vt_add_row(6, size, a, x)


cdef inline double along_row(const TouchRow* W, const double* x) noexcept nogil:
    # W^T x of a vector over the ports
    cdef double s = 0.0
    if W.a >= 0:
        s = six(W.on_a, x + W.a) if W.size == 6 else W.on_a[0] * x[W.a]
    if W.b >= 0:
        s += six(W.on_b, x + W.b)
    return s


cdef inline void add_touch_row(const TouchRow* W, double size, double* x) noexcept nogil:
    # x += size W
    if W.a >= 0:
        if W.size == 6:
            add_sixfold(size, W.on_a, x + W.a)
        else:
            x[W.a] += size * W.on_a[0]
    if W.b >= 0:
        add_sixfold(size, W.on_b, x + W.b)


cdef inline void add_outer(const TouchRow* A, double size, const TouchRow* B, double* K, int first, int width) noexcept nogil:
    # K += size A B^T, a matrix over the ports from the first on
    cdef int k
    if A.a >= 0:
        for k in range(A.size):
            add_touch_row(B, size * A.on_a[k], K + (A.a - first + k) * width - first)
    if A.b >= 0:
        for k in range(6):
            add_touch_row(B, size * A.on_b[k], K + (A.b - first + k) * width - first)


cdef inline void add_blocks(const TouchRow* A, const double* T, const TouchRow* B, double* K, int width) noexcept nogil:
    # the same of three rows A T B^T of one body each, T by rows of WIDE, K at that body's block
    cdef double Y[18]
    cdef int j, k
    for j in range(3):
        for k in range(6):
            Y[6 * j + k] = (T[WIDE * j] * B[0].on_a[k] + T[WIDE * j + 1] * B[1].on_a[k]
                            + T[WIDE * j + 2] * B[2].on_a[k])
    for k in range(6):
        for j in range(6):
            K[k * width + j] += A[0].on_a[k] * Y[j] + A[1].on_a[k] * Y[6 + j] + A[2].on_a[k] * Y[12 + j]
