from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.float cimport DBL_MAX
from libc.limits cimport INT_MAX
from libc.stdlib cimport free, realloc

# The memory of a stepper. The code that creates an array states, once, what happens to the array between two steps.

cdef class Piece:
    """Zeroed memory that starts on a cache line."""

    cdef Scratch owner
    cdef char* at
    cdef size_t size

    def __cinit__(self, size_t size):
        self.owner, self.size = Scratch(size + 8, 1), size
        self.at = <char*>self.owner.take(size + 8)


cdef enum:              # kinds of numbers that have bounds
    INTS = 0
    LONGS = 1
    REALS = 2


cdef struct Bound:      # number of entries in kept pieces
    int kind
    const void* at
    Py_ssize_t count
    double low
    double high


cdef int MOST_INT = INT_MAX - (1 << 24)         # a run counts from here
cdef double MOST_LONG = 1L << 53


cdef bint within(const Bound* b) noexcept nogil:
    # NaN is not finite
    cdef Py_ssize_t k
    cdef double x
    for k in range(b.count):
        x = ((<const int*>b.at)[k] if b.kind == INTS else <double>(<const long*>b.at)[k] if b.kind == LONGS
             else (<const double*>b.at)[k])
        if not b.low <= x <= b.high:
            return False
    return True


cdef class Memory:
    """Pieces of memory with the lifetime of their stepper.

    kept : a run resumes from these pieces. A checkpoint is their bytes, in the order of creation.
    scratch : each step writes these pieces before it reads them, which tests check by :meth:`spoil`.
    given : these pieces follow from the arguments of the stepper. No step writes to them.

    A checkpoint may come from anywhere. The code that creates a kept array states the bounds of the numbers on which
    steps rely, and :meth:`restore` checks them.
    """

    cdef list kept_pieces
    cdef Py_ssize_t kept_size           # [bytes] of all of them
    cdef readonly Py_ssize_t size       # [bytes] of all pieces
    cdef Bound* bounds                  # (bound_count,)
    cdef int bound_count
    cdef list scratch_pieces
    cdef list given_pieces

    def __cinit__(self):
        self.kept_pieces, self.scratch_pieces, self.given_pieces = [], [], []

    def __dealloc__(self):
        free(self.bounds)

    cdef void* added(self, list pieces, size_t size) except NULL:
        cdef Piece piece = Piece(size)
        pieces.append(piece)
        self.size += size
        return piece.at

    cdef void* kept(self, size_t size) except NULL:
        self.kept_size += size
        return self.added(self.kept_pieces, size)

    cdef void* scratch(self, size_t size) except NULL:
        return self.added(self.scratch_pieces, size)

    cdef void* given(self, size_t size) except NULL:
        return self.added(self.given_pieces, size)

    cdef int bound(self, int kind, const void* at, Py_ssize_t count, double low, double high) except -1:
        cdef Bound* b
        if self.bound_count % 16 == 0:
            b = <Bound*>realloc(self.bounds, (self.bound_count + 16) * sizeof(Bound))
            if b == NULL:
                raise MemoryError
            self.bounds = b
        b = &self.bounds[self.bound_count]
        b.kind, b.at, b.count, b.low, b.high = kind, at, count, low, high
        self.bound_count += 1
        return 0

    cdef int bound_int(self, int* at, int low, int high) except -1:
        return self.bound(INTS, at, 1, low, high)

    cdef int bound_long(self, long* at) except -1:
        # what counts
        return self.bound(LONGS, at, 1, 0, MOST_LONG)

    cdef int bound_reals(self, const void* at, Py_ssize_t count, double low, double high) except -1:
        return self.bound(REALS, at, count, low, high)

    cdef int* kept_ints(self, Py_ssize_t count, int low, int high) except NULL:
        cdef int* at = <int*>self.kept(count * sizeof(int))
        self.bound(INTS, at, count, low, high)
        return at

    cdef vt_real* kept_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.kept(count * sizeof(vt_real))

    cdef vt_real* scratch_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.scratch(count * sizeof(vt_real))

    cdef vt_real* given_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.given(count * sizeof(vt_real))

    def content(self):
        """Return the bytes of the kept pieces."""
        cdef Piece piece
        cdef bytes content = PyBytes_FromStringAndSize(NULL, self.kept_size)
        cdef char* to = PyBytes_AS_STRING(content)
        for piece in self.kept_pieces:
            memcpy(to, piece.at, piece.size)
            to += piece.size
        return content

    cdef void clear(self):
        # all but the given pieces as they were created: zeros, so that not even unused bytes depend on earlier runs
        cdef Piece piece
        for piece in self.kept_pieces:
            memset(piece.at, 0, piece.size)
        for piece in self.scratch_pieces:
            memset(piece.at, 0, piece.size)

    def restore(self, bytes content):
        """Restore the kept pieces from the :meth:`content` of a stepper with the same arguments."""
        cdef int k
        if self.kept_size != len(content):
            raise ValueError(
                f"a history of {len(content)} bytes; the history of this stepper has {self.kept_size} bytes")
        before = self.content()
        self.write(content)
        for k in range(self.bound_count):
            if not within(&self.bounds[k]):
                self.write(before)
                raise ValueError(f"a number in it is not from {self.bounds[k].low:g} to {self.bounds[k].high:g}")

    cdef int write(self, bytes content) except -1:
        cdef Piece piece
        cdef const char* source = content
        for piece in self.kept_pieces:
            memcpy(piece.at, source, piece.size)
            source += piece.size
        return 0

    def spoil(self):
        """Fill the scratch pieces with NaN (the integers with -1)."""
        cdef Piece piece
        for piece in self.scratch_pieces:
            memset(piece.at, 0xFF, piece.size)
