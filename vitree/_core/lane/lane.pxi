# Declarations of lane.h for Cython: it treats a vt_real as a double, the C compiler sees the lanes.
from libc.string cimport memcpy

cdef extern from "lane.h" nogil:
    ctypedef double vt_real
    ctypedef long long vt_mask
    int VT_WIDTH
    int VT_UNLIKELY(int condition) noexcept
    vt_real vt_set1(double a) noexcept
    double vt_get(vt_real a, int lane) noexcept
    void vt_put(vt_real* a, int lane, double x) noexcept
    void vt_gather(const double* a, Py_ssize_t stride, vt_real* to, int count) noexcept
    void vt_scatter(const vt_real* a, double* to, Py_ssize_t stride, int count) noexcept
    vt_mask vt_where(const bint* asked) noexcept
    void vt_gather_rows(double** a, vt_real* to, int count) noexcept
    void vt_scatter_rows(const vt_real* a, double** to, int count) noexcept
    void* vt_alloc(size_t size) noexcept
    void vt_release(void* at) noexcept
    void vt_add_row(Py_ssize_t n, vt_real s, const vt_real* x, vt_real* y) noexcept
    void vt_add_four_rows(Py_ssize_t n, const vt_real* s, const vt_real* x, vt_real* y) noexcept
    void vt_add_four(Py_ssize_t n, const double* s, Py_ssize_t far, const double* x, Py_ssize_t row, double* y) noexcept
    double vt_dot(Py_ssize_t n, const double* a, const double* b) noexcept
    void vt_add_product(Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t n, const double* s, Py_ssize_t next, Py_ssize_t far,
                        const double* x, double* y, Py_ssize_t row, int upper) noexcept  # of one lane
    void vt_add_rows(Py_ssize_t n, double b, const double* x, double c, const double* z, double* y) noexcept
    int vt_farthest(int n, Py_ssize_t stride, const double* x, const double* m) noexcept
    void vt_three_sixes(const double* T, Py_ssize_t stride, const double* w0, const double* w1, const double* w2,
                        double* Y) noexcept
    vt_real vt_form_six(const vt_real* a, const vt_real* A, Py_ssize_t stride, const vt_real* b) noexcept
    void vt_times_six(const vt_real* A, Py_ssize_t stride, const vt_real* b, vt_real* out) noexcept
    void vt_add_three(int rows, const double* p0, const double* p1, const double* p2, const double* Y, Py_ssize_t stride,
                      double* C) noexcept
    void vt_solve_six(const double* A, const int* order, double* B) noexcept
    void vt_less_six(const double* A, const double* B, double* C) noexcept
    vt_real vt_inner(Py_ssize_t n, const vt_real* a, const vt_real* b) noexcept
    void vt_dots(Py_ssize_t n, Py_ssize_t stride, const vt_real* a, const vt_real* b, vt_real* out) noexcept
    void vt_pairings(Py_ssize_t n, Py_ssize_t stride, const vt_real* w, const vt_real* v, const vt_real* f,
                     vt_real* out) noexcept
    void vt_crosses(Py_ssize_t n, Py_ssize_t stride, const vt_real* a, const vt_real* b, vt_real* c) noexcept
    void vt_sums(int count, Py_ssize_t n, Py_ssize_t stride, const vt_real* c, const vt_real* rows, Py_ssize_t step,
                 vt_real* out) noexcept
    ctypedef double vt_columns
    int VT_COLUMNS
    vt_columns vt_nothing() noexcept
    vt_columns vt_take(const vt_real* a) noexcept
    void vt_give(vt_columns x, vt_real* a) noexcept
    vt_mask vt_lt(vt_real a, vt_real b) noexcept
    vt_mask vt_le(vt_real a, vt_real b) noexcept
    vt_real vt_select(vt_mask m, vt_real a, vt_real b) noexcept
    int vt_any(vt_mask m) noexcept
    int vt_all(vt_mask m) noexcept
    vt_real vt_sqrt(vt_real a) noexcept
    vt_real vt_abs(vt_real a) noexcept
    vt_real vt_max(vt_real a, vt_real b) noexcept
    vt_real vt_max_nan(vt_real a, vt_real b) noexcept
    vt_real vt_largest(const vt_real* x, int n) noexcept
    void vt_sincos(vt_real x, vt_real* sine, vt_real* cosine) noexcept
    vt_real vt_atan2(vt_real s, vt_real c) noexcept
    vt_real vt_half_angle_ratio(vt_real uu, vt_real c) noexcept
    vt_real vt_gamma(vt_real s, vt_real g) noexcept
    vt_real vt_gamma1(vt_real s, vt_real g, vt_real gamma) noexcept
    void vt_log_coefficients(vt_real s, vt_real g, vt_real* gamma, vt_real* kappa, vt_real* kappa1) noexcept
    void vt_log_coefficients2(vt_real s, vt_real g, vt_real gamma, vt_real kappa, vt_real kappa1,
                              vt_real* gamma1, vt_real* gamma2, vt_real* kappa2) noexcept
    void vt_exp_coefficients(vt_real s, vt_real* beta, vt_real* delta) noexcept
    void vt_exp_coefficients2(vt_real s, vt_real beta, vt_real delta, vt_real* beta1, vt_real* delta1) noexcept
    ctypedef struct vt_axes:
        pass
    void vt_axes_begin(vt_axes* A, const vt_real* b) noexcept
    void vt_axes_times(const vt_axes* A, const vt_real* b, vt_real* to) noexcept
    void vt_axes_turn(vt_axes* A, const vt_real* b, vt_real* to) noexcept
    bint finite_numbers "vt_all_finite"(const double* x, Py_ssize_t n) noexcept


cdef enum:
    MOST_LANES = 8


cdef inline vt_mask where(const bint* asked) noexcept nogil:
    # a mask of lanes
    return vt_where(asked)


cdef inline vt_real largest(const vt_real* x, int n) noexcept nogil:
    # max |x_i|, or NaN if any is
    return vt_largest(x, n)


cdef inline bint any_of(const bint* asked) noexcept nogil:
    cdef int i
    cdef bint found = False
    for i in range(VT_WIDTH):
        found = found or asked[i]
    return found


cdef inline bint all_of(const bint* asked) noexcept nogil:
    cdef int k
    for k in range(VT_WIDTH):
        if not asked[k]:
            return False
    return True


cdef inline void take_in(const bint* asked, int n, const vt_real* x, vt_real* y) noexcept nogil:
    # y = x in the requested lanes
    cdef vt_mask some = where(asked)
    cdef int k
    if vt_all(some):
        memcpy(y, x, n * sizeof(vt_real))
        return
    for k in range(n):
        y[k] = vt_select(some, x[k], y[k])


cdef inline void add_in(const bint* asked, int n, const vt_real* x, vt_real* y) noexcept nogil:
    # y += x in the requested lanes
    cdef vt_mask some = where(asked)
    cdef int k
    if vt_all(some):
        for k in range(n):
            y[k] = y[k] + x[k]
        return
    for k in range(n):
        y[k] = vt_select(some, y[k] + x[k], y[k])


cdef inline bint all_zero(vt_real a) noexcept nogil:
    # whether a number is zero in all lanes
    return vt_all(vt_le(vt_abs(a), vt_set1(0.0)))
