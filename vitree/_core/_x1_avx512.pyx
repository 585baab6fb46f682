include "kernels.pxi"
include "stepping.pxi"
