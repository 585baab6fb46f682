# The memory of a stepper. The place where an array is made says, once, what happens to the array between two steps.

cdef class Block:
    """Zeroed memory on a cache line of its own."""

    cdef Scratch owner
    cdef char* at
    cdef size_t size

    def __cinit__(self, size_t size):
        self.owner, self.size = Scratch(size + 8), size
        self.at = <char*>self.owner.take(size + 8)


cdef class Memory:
    """Blocks that live as long as their stepper.

    kept : a run resumes from these blocks. A checkpoint is their bytes, in the order in which they were made.
    scratch : each step writes these blocks before it reads them. :meth:`spoil` lets a test show it.
    given : these blocks follow from the arguments of the stepper. No step writes to them.
    """

    cdef list kept_blocks
    cdef list scratch_blocks
    cdef list given_blocks

    def __cinit__(self):
        self.kept_blocks, self.scratch_blocks, self.given_blocks = [], [], []

    cdef void* added(self, list blocks, size_t size) except NULL:
        cdef Block block = Block(size)
        blocks.append(block)
        return block.at

    cdef void* kept(self, size_t size) except NULL:
        return self.added(self.kept_blocks, size)

    cdef void* scratch(self, size_t size) except NULL:
        return self.added(self.scratch_blocks, size)

    cdef void* given(self, size_t size) except NULL:
        return self.added(self.given_blocks, size)

    cdef vt_real* kept_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.kept(count * sizeof(vt_real))

    cdef vt_real* scratch_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.scratch(count * sizeof(vt_real))

    cdef vt_real* given_reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.given(count * sizeof(vt_real))

    def content(self):
        """Return the bytes of the kept blocks."""
        cdef Block block
        return b"".join([(<char*>block.at)[: block.size] for block in self.kept_blocks])

    def restore(self, bytes content):
        """Write to the kept blocks the :meth:`content` of a stepper that was made with the same arguments."""
        cdef Block block
        cdef const char* source = content
        cdef size_t size = 0
        for block in self.kept_blocks:
            size += block.size
        if size != <size_t>len(content):
            raise ValueError(f"a history of {len(content)} bytes; the history of this stepper has {size} bytes")
        for block in self.kept_blocks:
            memcpy(block.at, source, block.size)
            source += block.size

    def spoil(self):
        """Fill the scratch blocks with NaN (the integers with -1)."""
        cdef Block block
        for block in self.scratch_blocks:
            memset(block.at, 0xFF, block.size)
