# The check of arrays from Python: kernels read as many numbers as the model defines, so that many there must be.

cdef int require_size(Py_ssize_t found, Py_ssize_t needed, what) except -1:
    if found != needed:
        raise ValueError(f"{what} of {found}; {needed} are needed")
    return 0


cdef const double* entries(const double[::1] a, Py_ssize_t size, what) except? NULL:
    # the first of so many numbers, NULL if there are none
    require_size(a.shape[0], size, what)
    return &a[0] if size else NULL


cdef int require_shape(array, tuple shape) except -1:
    if tuple(array.shape) != shape:
        raise ValueError(f"an array of shape {tuple(array.shape)}; {shape} is needed")
    return 0
