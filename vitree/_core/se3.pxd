# SE(3) on plain doubles. X, Y, Z: the rows of [R p], 12 doubles, which are the first 12 of a 4 x 4 matrix in C order.
# x: (w, v), 6 doubles; A: a 6 x 6 matrix; a, b: points, 3 doubles. Results may overwrite arguments.

cdef void product(const double* X, const double* Y, double* Z) noexcept nogil
cdef void inverse(const double* X, double* Y) noexcept nogil
cdef void exp(const double* x, double* X) noexcept nogil
cdef void log(const double* X, double* x) noexcept nogil
cdef void Ad(const double* X, double* A) noexcept nogil
cdef void act(const double* X, const double* a, double* b) noexcept nogil
