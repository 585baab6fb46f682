# SE(3) for Cython: from vitree.se3 cimport product. No header and no library is needed to compile with it.
from vitree._core.se3 cimport Ad, act, exp, inverse, log, product
