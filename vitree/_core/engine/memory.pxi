from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.float cimport DBL_MAX
from libc.limits cimport INT_MAX
from libc.stdlib cimport calloc, free, malloc, realloc

# The memory of a stepper. The code that creates an array states, once, what happens to the array between two steps.

cdef class Piece:
    """Zeroed memory that starts on a cache line."""

    cdef Scratch owner
    cdef char* at
    cdef size_t size

    def __cinit__(self, size_t size):
        self.owner, self.size = Scratch(size + 8, 1), size
        self.at = <char*>self.owner.take(size + 8)


cdef char ZEROS[4096]


cdef void wipe(char* at, size_t size) noexcept nogil:
    # zeros; what has none but zeros is not written to, since much of it may have no memory yet
    cdef size_t k = 0, n
    while k < size:
        n = min(<size_t>4096, size - k)
        if memcmp(at + k, ZEROS, n):
            memset(at + k, 0, n)
        k += n


cdef struct Loan:           # who has shared scratch memory
    int in_use
    void* last              # the stepper that used it last
    void* rooms             # memory of contacts that no stepper is using: see `exchange_rooms`
    void (*free_rooms)(void* rooms) noexcept nogil


cdef class SharedScratch:
    """Scratch memory of several steppers, of which one at a time is in use.

    Steppers of one kind ask for the same pieces in the same order; a piece is as large as the largest request so far.
    """

    cdef Loan loan
    cdef list pieces
    cdef list arrays            # of seats
    cdef object owner           # of an argument that all share: what the contacts are, as the first stepper has them
    cdef Piece argument

    def __cinit__(self):
        self.pieces, self.arrays = [], []

    def __dealloc__(self):
        if self.loan.rooms != NULL:
            self.loan.free_rooms(self.loan.rooms)

    cdef Piece piece(self, list pieces, Py_ssize_t k, size_t size):
        # the first `size` bytes are zero
        cdef Piece found
        if k == len(pieces):
            pieces.append(Piece(size))
            return pieces[k]
        found = pieces[k]
        if found.size < size:
            found = pieces[k] = Piece(size)
        else:
            memset(found.at, 0, size)
        return found

    cdef Piece argument_of(self, owner, size_t size):
        # one that all steppers of the same owner have; None of another owner
        if self.owner is None:
            self.owner = owner
        if self.owner is not owner:
            return None
        if self.argument is None or self.argument.size < size:
            self.argument = Piece(size)
        return self.argument

    @property
    def size(self):
        """Size in bytes."""
        cdef Piece piece
        cdef size_t found = self.argument.size if self.argument is not None else 0
        for piece in self.pieces + self.arrays:
            found += piece.size
        return found


cdef struct Seated:         # an array with numbers for each seat, behind others
    void** at               # the pointer to it, where no other has been exchanged for it
    size_t plain            # [bytes] the others
    size_t each             # [bytes] of a seat
    int parts               # so many arrays like this, one behind the other
    int kind                # KEPT, SCRATCH, GIVEN or COMMON
    int low                 # bounds of integers, where low < high
    int high


cdef enum:
    KEPT = 0
    SCRATCH = 1
    GIVEN = 2
    COMMON = 3              # given, and the same for all of the owner but for what seats have


cdef class Seats:
    """Memory of what is near, of much more that may be: a number of the latter, its key, takes a seat.

    Each seat has a place in each of the arrays that :meth:`add` makes; a history has the seats that are taken, by keys.
    Where no seat is free, :meth:`grow` makes more: the arrays move.
    """

    cdef readonly int count
    cdef readonly int keys
    cdef int* key_of            # (count,) or -1: free
    cdef int* seat_of           # (keys,) or -1
    cdef int* free_seat         # (free_count,)
    cdef int free_count
    cdef SharedScratch shared   # or None
    cdef object owner           # of the arguments among the arrays
    cdef Seated* array          # (arrays,)
    cdef int arrays
    cdef list pieces            # of each array
    cdef size_t kept_plain      # [bytes] of kept arrays without seats
    cdef size_t kept_each       # and of a seat

    def __cinit__(self, int keys, int count, SharedScratch shared=None, owner=None):
        self.keys, self.pieces, self.shared, self.owner = keys, [], shared, owner
        self.seat_of = <int*>malloc(max(keys, 1) * sizeof(int))
        if self.seat_of == NULL:
            raise MemoryError
        self.more(count)
        self.leave_all()

    def __dealloc__(self):
        free(self.key_of)
        free(self.seat_of)
        free(self.free_seat)
        free(self.array)

    cdef int more(self, int count) except -1:
        cdef int* key_of = <int*>realloc(self.key_of, max(count, 1) * sizeof(int))
        cdef int* free_seat
        cdef int s
        if key_of == NULL:
            raise MemoryError
        self.key_of = key_of
        free_seat = <int*>realloc(self.free_seat, max(count, 1) * sizeof(int))
        if free_seat == NULL:
            raise MemoryError
        self.free_seat = free_seat
        for s in range(count - 1, self.count - 1, -1):
            self.key_of[s], self.free_seat[self.free_count] = -1, s
            self.free_count += 1
        self.count = count
        return 0

    cdef bint lends(self, int k):
        # whether an array is in memory that is shared
        return self.shared is not None and (self.array[k].kind == SCRATCH or (
            self.array[k].kind == COMMON and self.shared.owner is self.owner))

    cdef Piece piece_for(self, int k, size_t size):
        # of an array, with zeros where it is not an argument
        cdef Piece found = None
        if self.shared is not None and self.array[k].kind == SCRATCH:
            return self.shared.piece(self.shared.arrays, self.scratches_before(k), size)
        if self.shared is not None and self.array[k].kind == COMMON:
            found = self.shared.argument_of(self.owner, size)
        return found if found is not None else Piece(size)

    cdef Py_ssize_t scratches_before(self, int k):
        cdef Py_ssize_t found = 0
        cdef int j
        for j in range(k):
            found += self.array[j].kind == SCRATCH
        return found

    cdef int add(self, void** at, size_t plain, size_t each, int kind, int parts=1, int low=0, int high=0) except -1:
        # make an array; parts: so many, one behind the other
        cdef Seated* more
        cdef Seated* x
        cdef Piece piece
        if self.arrays % 32 == 0:
            more = <Seated*>realloc(self.array, (self.arrays + 32) * sizeof(Seated))
            if more == NULL:
                raise MemoryError
            self.array = more
        x = &self.array[self.arrays]
        x.at, x.plain, x.each, x.parts, x.kind, x.low, x.high = at, plain, each, parts, kind, low, high
        piece = self.piece_for(self.arrays, parts * (plain + each * self.count))
        at[0] = piece.at
        self.pieces.append(piece)
        self.arrays += 1
        if kind == KEPT:
            self.kept_plain += parts * plain
            self.kept_each += parts * each
        return 0

    cdef int grow(self, int count) except -1:
        # so many seats; new ones have zeros
        cdef Piece piece, one
        cdef const Seated* x
        cdef size_t before, now
        cdef bytes old
        cdef const char* content
        cdef int k, j
        cdef list made = []
        for k in range(self.arrays):
            x, piece = &self.array[k], self.pieces[k]
            before, now = x.plain + x.each * self.count, x.plain + x.each * count
            # the new piece may be the old one
            old = piece.at[: x.parts * before]
            content, one = old, self.piece_for(k, x.parts * now)
            for j in range(x.parts):
                memcpy(one.at + j * now, content + j * before, min(before, now))
            made.append(one)
        self.more(count)
        for k in range(self.arrays):
            # pointers may have been exchanged for each other
            for j in range(self.arrays):
                piece = self.pieces[j]
                if self.array[k].at[0] == piece.at:
                    one = made[j]
                    self.array[k].at[0] = one.at
                    break
        self.pieces = made
        return 0

    cdef int take(self, int key) noexcept nogil:
        # a seat that was free, or -1
        cdef int s
        if self.free_count == 0:
            return -1
        self.free_count -= 1
        s = self.free_seat[self.free_count]
        self.key_of[s], self.seat_of[key] = key, s
        return s

    cdef void leave(self, int key) noexcept nogil:
        cdef int s = self.seat_of[key]
        self.key_of[s] = self.seat_of[key] = -1
        self.free_seat[self.free_count] = s
        self.free_count += 1

    cdef void leave_all(self) noexcept nogil:
        cdef int s
        self.free_count = 0
        for s in range(self.count - 1, -1, -1):
            self.key_of[s], self.free_seat[self.free_count] = -1, s
            self.free_count += 1
        memset(self.seat_of, 0xFF, self.keys * sizeof(int))

    cdef void fill(self, int kind, int value) noexcept:
        cdef Piece piece
        cdef int k
        for k in range(self.arrays):
            if self.array[k].kind == kind:
                piece = self.pieces[k]
                memset(piece.at, value, piece.size)

    cdef Py_ssize_t size(self) noexcept:
        # [bytes] of its own arrays
        cdef Piece piece
        cdef Py_ssize_t found = (self.keys + 2 * self.count) * sizeof(int)
        cdef int k
        for k in range(self.arrays):
            piece = self.pieces[k]
            found += 0 if self.lends(k) else piece.size
        return found

    cdef Py_ssize_t bytes_of_taken(self) noexcept:
        # of a history, behind those that each has
        return (self.count - self.free_count) * (sizeof(long) + self.kept_each)

    cdef void write_to(self, char* to) noexcept:
        # the kept numbers: those without seats, and the seats by keys
        cdef const Seated* x
        cdef Piece piece
        cdef int k, j, key
        cdef long told
        for k in range(self.arrays):
            x, piece = &self.array[k], self.pieces[k]
            for j in range(x.parts if x.kind == KEPT else 0):
                memcpy(to, piece.at + j * (x.plain + x.each * self.count), x.plain)
                to += x.plain
        for key in range(self.keys if self.free_count < self.count else 0):
            if self.seat_of[key] < 0:
                continue
            told = key
            memcpy(to, &told, sizeof(long))
            to += sizeof(long)
            for k in range(self.arrays):
                x, piece = &self.array[k], self.pieces[k]
                for j in range(x.parts if x.kind == KEPT else 0):
                    memcpy(to, piece.at + j * (x.plain + x.each * self.count) + x.plain + x.each * self.seat_of[key],
                           x.each)
                    to += x.each

    cdef list copies(self):
        # of :meth:`take_over`: the kept arrays, how many they are, bytes of the part without seats and of a seat; keys
        cdef Piece piece
        cdef int k
        return [[((<char*>(<Piece>self.pieces[k]).at)[: (<Piece>self.pieces[k]).size], self.array[k].parts,
                  self.array[k].plain, self.array[k].each) for k in range(self.arrays) if self.array[k].kind == KEPT],
                [self.key_of[k] for k in range(self.count)]]

    cdef int take_over(self, list kept, const int[::1] plain, const int[::1] keys) except -1:
        # the kept numbers of other seats, where `plain` and `keys` say what is what here, or -1
        cdef const Seated* x
        cdef Piece piece
        cdef int k, j, s, to, at = 0, number = <int>plain.shape[0]
        cdef size_t here, there, first, one, each
        cdef bytes old
        cdef const char* source
        cdef list seats = kept[1]
        self.leave_all()
        for s in range(len(seats)):
            if seats[s] < 0 or keys[seats[s]] < 0:
                continue
            if self.free_count == 0:
                self.grow(2 * self.count + 1)
            self.take(keys[seats[s]])
        for k in range(self.arrays):
            x = &self.array[k]
            if x.kind != KEPT:
                continue
            old, parts, there, each = kept[0][at]
            at += 1
            if x.each != each:
                continue  # of friction of turning, which only one of both has
            piece, source = self.pieces[k], old
            here, first, one = x.plain + x.each * self.count, there, there // number if number else 0
            there += each * len(seats)
            for j in range(min(x.parts, <int>parts)):
                for s in range(number if one and x.plain else 0):
                    if plain[s] >= 0:
                        memcpy(piece.at + j * here + plain[s] * one, source + j * there + s * one, one)
                for s in range(len(seats)):
                    if seats[s] < 0 or keys[seats[s]] < 0:
                        continue
                    to = self.seat_of[keys[seats[s]]]
                    memcpy(piece.at + j * here + x.plain + x.each * to, source + j * there + first + each * s, each)
        return 0

    cdef int read_from(self, const char* source, Py_ssize_t size) except -1:
        # the same; size: [bytes] of the seats
        cdef const Seated* x
        cdef Piece piece
        cdef int k, j, s, n
        cdef long key, last = -1
        cdef Py_ssize_t each = sizeof(long) + self.kept_each
        if size < 0 or size % each:
            raise ValueError(f"{size} bytes for pairs of convex shapes; each has {each} bytes")
        n = <int>(size // each)
        if n > self.count:
            self.grow(n)
        self.leave_all()
        for k in range(self.arrays):
            x, piece = &self.array[k], self.pieces[k]
            for j in range(x.parts if x.kind == KEPT else 0):
                memcpy(piece.at + j * (x.plain + x.each * self.count), source, x.plain)
                source += x.plain
        for s in range(n):
            memcpy(&key, source, sizeof(long))
            source += sizeof(long)
            if not last < key < self.keys:
                raise ValueError(f"the pair {key} behind pair {last}; there are {self.keys}")
            last = key
            self.take(<int>key)
            for k in range(self.arrays):
                x, piece = &self.array[k], self.pieces[k]
                for j in range(x.parts if x.kind == KEPT else 0):
                    memcpy(piece.at + j * (x.plain + x.each * self.count) + x.plain + x.each * self.seat_of[key],
                           source, x.each)
                    source += x.each
        for k in range(self.arrays):
            x, piece = &self.array[k], self.pieces[k]
            if x.kind != KEPT or x.low >= x.high:
                continue
            for s in range(<int>(piece.size // sizeof(int))):
                if not x.low <= (<int*>piece.at)[s] <= x.high:
                    raise ValueError(f"a number in it is not from {x.low} to {x.high}")
        return 0


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
    scratch : each step writes these pieces before it reads them, which tests check by :meth:`spoil`. Several steppers may
        share them (SharedScratch).
    told : like scratch, but read between steps as well, and never shared.
    given : these pieces follow from the arguments of the stepper. No step writes to them.

    A checkpoint may come from anywhere. The code that creates a kept array states the bounds of the numbers on which
    steps rely, and :meth:`restore` checks them.
    """

    cdef list kept_pieces
    cdef Py_ssize_t kept_size           # [bytes] of all of them
    cdef Py_ssize_t size                # [bytes] of all pieces but those with seats
    cdef Bound* bounds                  # (bound_count,)
    cdef int bound_count
    cdef list scratch_pieces
    cdef list given_pieces
    cdef SharedScratch shared           # or None
    cdef Py_ssize_t shared_count        # pieces of it that this memory has
    cdef Seats seats                    # or None

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
        cdef Piece piece
        if self.shared is None:
            return self.told(size)
        piece = self.shared.piece(self.shared.pieces, self.shared_count, size)
        self.shared_count += 1
        self.scratch_pieces.append(piece)
        return piece.at

    cdef void* told(self, size_t size) except NULL:
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
        cdef bytes content = PyBytes_FromStringAndSize(
            NULL, self.always_kept() + (self.seats.bytes_of_taken() if self.seats is not None else 0))
        cdef char* to = PyBytes_AS_STRING(content)
        for piece in self.kept_pieces:
            memcpy(to, piece.at, piece.size)
            to += piece.size
        if self.seats is not None:
            self.seats.write_to(to)
        return content

    cdef Py_ssize_t always_kept(self) noexcept:
        # [bytes] of a history without seats
        return self.kept_size + (self.seats.kept_plain if self.seats is not None else 0)

    cdef void clear(self):
        # all but the given pieces as they were created: zeros, so that not even unused bytes depend on earlier runs
        cdef Piece piece
        for piece in self.kept_pieces + self.scratch_pieces:
            wipe(piece.at, piece.size)
        if self.seats is not None:
            self.seats.leave_all()
            self.seats.fill(KEPT, 0)
            self.seats.fill(SCRATCH, 0)

    def restore(self, bytes content):
        """Restore the kept pieces from the :meth:`content` of a stepper with the same arguments."""
        cdef int k
        if len(content) < self.always_kept() or (self.seats is None and len(content) != self.kept_size):
            raise ValueError(
                f"a history of {len(content)} bytes; the history of this stepper has {self.always_kept()} bytes")
        before = self.content()
        try:
            self.write(content)
        except ValueError:
            self.write(before)
            raise
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
        if self.seats is not None:
            self.seats.read_from(source, len(content) - self.always_kept())
        return 0

    def spoil(self):
        """Fill the scratch pieces with NaN (the integers with -1)."""
        cdef Piece piece
        for piece in self.scratch_pieces:
            memset(piece.at, 0xFF, piece.size)
        if self.seats is not None:
            self.seats.fill(SCRATCH, 0xFF)
