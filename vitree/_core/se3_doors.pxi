# SE(3) on stacks, from Python. Products and inverses are computed one by one, by rows of four numbers; everything else
# in lanes.
#
# Only plain arrays are handled: exact ones of doubles in order, whose leading axes are equal or absent. Otherwise the
# result is None, and `vitree/se3.py` converts the arguments or reports what is wrong with them.

cimport numpy as cnp
from libc.stdint cimport uintptr_t

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    """
    #undef I    /* of C's complex numbers, which NumPy brings; here it is an inertia */
    """

cdef enum Action:
    PRODUCT
    INVERSE
    EXPONENTIAL
    LOGARITHM
    ADJOINT
    ACTION

cdef enum:
    MOST_AXES = 32
    FEW_ELEMENTS = 64                    # elements below which releasing the interpreter's lock does not pay

cdef struct Stack:
    double* at
    Py_ssize_t size             # numbers of an element
    Py_ssize_t step             # from one to the next; 0: one for all


cdef Py_ssize_t tail_of(cnp.ndarray x, int rows, int columns) noexcept:
    # the numbers of an element, if the last axes of an array are (columns,) or, with rows, (rows, columns); else -1. A
    # pose, of 4 rows, may have 3
    cdef int axes = cnp.PyArray_NDIM(x)
    cdef cnp.npy_intp found
    if axes < 1 + (rows > 0) or axes > MOST_AXES or cnp.PyArray_DIM(x, axes - 1) != columns:
        return -1
    if not rows:
        return columns
    found = cnp.PyArray_DIM(x, axes - 2)
    return found * columns if found == rows or (rows == 4 and found == 3) else -1


cdef bint plain_stack(x, int rows, int columns, bint written, Stack* to):
    # whether it is a plain array of such elements
    if not cnp.PyArray_CheckExact(x) or cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.NPY_DOUBLE:
        return False
    if not (cnp.PyArray_ISCARRAY(<cnp.ndarray>x) if written else cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x)):
        return False
    to.size = tail_of(<cnp.ndarray>x, rows, columns)
    to.step = to.size
    to.at = <double*>cnp.PyArray_DATA(<cnp.ndarray>x)
    return to.size > 0


cdef bint same_lead(cnp.ndarray x, cnp.ndarray y, int of_x, int of_y) noexcept:
    # whether the leading axes are the same; of_x, of_y: axes of an element
    cdef int k, lead = cnp.PyArray_NDIM(x) - of_x
    if lead != cnp.PyArray_NDIM(y) - of_y:
        return False
    for k in range(lead):
        if cnp.PyArray_DIM(x, k) != cnp.PyArray_DIM(y, k):
            return False
    return True


cdef bint keeps_apart(const Stack* x, const Stack* out, Py_ssize_t n) noexcept:
    # whether writing leaves the argument unchanged until it is read
    cdef uintptr_t a = <uintptr_t>x.at, b = <uintptr_t>out.at
    cdef uintptr_t a_end = a + sizeof(double) * (x.size if x.step == 0 else n * x.size)
    cdef uintptr_t b_end = b + sizeof(double) * n * out.size
    return a_end <= b or b_end <= a or (a == b and x.step == out.size)


cdef inline void stack_block(const Stack* x, Py_ssize_t n, Py_ssize_t first, int count, vt_real* to) noexcept nogil:
    # so many numbers of each element of a block
    cdef Py_ssize_t lane
    cdef int i
    if first + VT_WIDTH <= n:
        vt_gather(x.at + first * x.step, x.step, to, count)
        return
    for i in range(count):
        to[i] = vt_set1(0.0)
    for lane in range(VT_WIDTH):
        for i in range(count):
            vt_put(&to[i], lane, x.at[min(first + lane, n - 1) * x.step + i])


cdef inline void put_block(const vt_real* block, Py_ssize_t n, Py_ssize_t first, int count, Stack* out) noexcept nogil:
    cdef Py_ssize_t lane
    cdef int i
    if first + VT_WIDTH <= n:
        vt_scatter(block, out.at + first * out.step, out.step, count)
    else:
        for lane in range(n - first):
            for i in range(count):
                out.at[(first + lane) * out.step + i] = vt_get(block[i], lane)
    if out.size == 16:
        for lane in range(min(<Py_ssize_t>VT_WIDTH, n - first)):
            vt_pose_close(out.at + (first + lane) * out.step)


cdef void run_action(int which, Py_ssize_t n, Stack* x, Stack* y, Stack* out) noexcept nogil:
    cdef vt_real a[12]
    cdef vt_real b[6]
    cdef vt_real c[36]
    cdef Py_ssize_t k = 0
    if which == PRODUCT:
        vt_pose_products(n, x.at, x.step, y.at, y.step, out.at, out.step)
        return
    if which == INVERSE:
        vt_pose_inverses(n, x.at, x.step, out.at, out.step)
        return
    while k < n:
        if which == EXPONENTIAL:
            stack_block(x, n, k, 6, b)
            pose_exp(b, a)
            put_block(a, n, k, 12, out)
        else:
            stack_block(x, n, k, 12, a)
            if which == LOGARITHM:
                pose_log(a, b)
                put_block(b, n, k, 6, out)
            elif which == ADJOINT:
                pose_adjoint(a, c)
                put_block(c, n, k, 36, out)
            else:
                stack_block(y, n, k, 3, b)
                pose_act(a, b, c)
                put_block(c, n, k, 3, out)
        k += VT_WIDTH


def se3_action(int which, x, y, out):
    """The result of an operation on plain arrays, or None. ``out``: its array, or None for a new one."""
    cdef Stack X, Y, Z
    cdef cnp.ndarray lead
    cdef cnp.npy_intp dims[MOST_AXES + 2]
    cdef int k, axes, of_lead, of_y = 2 if which == PRODUCT else 1
    cdef int of_x = 1 if which == EXPONENTIAL else 2
    cdef int of_out = 1 if which == LOGARITHM or which == ACTION else 2
    cdef int rows = 0 if of_out == 1 else 6 if which == ADJOINT else 4
    cdef int columns = 6 if which == LOGARITHM or which == ADJOINT else 3 if which == ACTION else 4
    cdef Py_ssize_t n = 1
    if not plain_stack(x, 0 if of_x == 1 else 4, 6 if of_x == 1 else 4, False, &X):
        return None
    lead, of_lead = x, of_x
    if which == PRODUCT or which == ACTION:
        if not plain_stack(y, 4 if of_y == 2 else 0, 4 if of_y == 2 else 3, False, &Y):
            return None
        if cnp.PyArray_NDIM(<cnp.ndarray>x) == of_x:
            lead, of_lead, X.step = y, of_y, 0
        elif cnp.PyArray_NDIM(<cnp.ndarray>y) == of_y:
            Y.step = 0
        elif not same_lead(x, y, of_x, of_y):
            return None
    axes = cnp.PyArray_NDIM(lead) - of_lead
    for k in range(axes):
        dims[k] = cnp.PyArray_DIM(lead, k)
        n *= dims[k]
    if out is None:
        if which == PRODUCT and X.size != Y.size:
            return None
        if of_out == 2:
            dims[axes] = rows if which == EXPONENTIAL or which == ADJOINT else X.size // 4
        dims[axes + of_out - 1] = columns
        out = cnp.PyArray_SimpleNew(axes + of_out, dims, cnp.NPY_DOUBLE)
    if not plain_stack(out, rows, columns, True, &Z) or not same_lead(lead, out, of_lead, of_out):
        return None
    if not keeps_apart(&X, &Z, n) or ((which == PRODUCT or which == ACTION) and not keeps_apart(&Y, &Z, n)):
        return None
    if n < FEW_ELEMENTS:
        run_action(which, n, &X, &Y, &Z)
    else:
        with nogil:
            run_action(which, n, &X, &Y, &Z)
    return out
