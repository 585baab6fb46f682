# The memory of a stepper. The place where an array is made says, once, what happens to the array between two steps.

cdef class Piece:
    """Zeroed memory on a cache line of its own."""

    cdef Scratch owner
    cdef char* at
    cdef size_t size

    def __cinit__(self, size_t size):
        self.owner, self.size = Scratch(size + 8), size
        self.at = <char*>self.owner.take(size + 8)


cdef class Memory:
    """Pieces that live as long as their stepper.

    kept : a run resumes from these pieces. A checkpoint is their bytes, in the order in which they were made.
    scratch : each step writes these pieces before it reads them. :meth:`spoil` lets a test show it.
    given : these pieces follow from the arguments of the stepper. No step writes to them.
    """

    cdef list kept_pieces
    cdef list scratch_pieces
    cdef list given_pieces

    def __cinit__(self):
        self.kept_pieces, self.scratch_pieces, self.given_pieces = [], [], []

    cdef void* added(self, list pieces, size_t size) except NULL:
        cdef Piece piece = Piece(size)
        pieces.append(piece)
        return piece.at

    cdef void* kept(self, size_t size) except NULL:
        return self.added(self.kept_pieces, size)

    cdef void* scratch(self, size_t size) except NULL:
        return self.added(self.scratch_pieces, size)

    cdef void* given(self, size_t size) except NULL:
        return self.added(self.given_pieces, size)

    cdef vt_real* kept_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.kept(count * sizeof(vt_real))

    cdef vt_real* scratch_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.scratch(count * sizeof(vt_real))

    cdef vt_real* given_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.given(count * sizeof(vt_real))

    def content(self):
        """Return the bytes of the kept pieces."""
        cdef Piece piece
        return b"".join([(<char*>piece.at)[: piece.size] for piece in self.kept_pieces])

    def restore(self, bytes content):
        """Write to the kept pieces the :meth:`content` of a stepper that was made with the same arguments."""
        cdef Piece piece
        cdef const char* source = content
        cdef size_t size = 0
        for piece in self.kept_pieces:
            size += piece.size
        if size != <size_t>len(content):
            raise ValueError(f"a history of {len(content)} bytes; the history of this stepper has {size} bytes")
        for piece in self.kept_pieces:
            memcpy(piece.at, source, piece.size)
            source += piece.size

    def spoil(self):
        """Fill the scratch pieces with NaN (the integers with -1)."""
        cdef Piece piece
        for piece in self.scratch_pieces:
            memset(piece.at, 0xFF, piece.size)
