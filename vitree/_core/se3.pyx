"""The kernels of SE(3) for other Cython modules, one element at a time; `vitree/se3.pxd` has them."""

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "math/se3.pxi"


cdef void product(const double* X, const double* Y, double* Z) noexcept nogil:
    vt_pose_product(X, Y, Z)


cdef void inverse(const double* X, double* Y) noexcept nogil:
    vt_pose_inverse(X, Y)


cdef void exp(const double* x, double* X) noexcept nogil:
    pose_exp(x, X)


cdef void log(const double* X, double* x) noexcept nogil:
    pose_log(X, x)


cdef void Ad(const double* X, double* A) noexcept nogil:
    pose_adjoint(X, A)


cdef void act(const double* X, const double* a, double* b) noexcept nogil:
    pose_act(X, a, b)
