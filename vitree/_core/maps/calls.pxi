# Maps as methods of a model: of one state in one call, and of rows of states.
#
# As in calls.pxi of the other modules, a call handles exact arrays of finite doubles in order and finite results.
# Otherwise its result is None, and the method in Python converts the arguments or reports what is wrong with them.

from cpython.dict cimport PyDict_GetItem
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject

#: Number of bodies above which a call of one state releases the interpreter's lock, and rows between checks for Ctrl-C.
cdef int SMALL = 64, LOOK_ROWS = 4096
#: Deviation of a quaternion's square from one, within which it is of unit norm for certain.
cdef double UNIT = 2.3e-16

cdef enum:
    ROOM = 32768            # bytes of memory of a call, beyond which it is allocated

cdef struct Map:
    const char* inputs
    char output
    MapRun run

cdef Map MAPS[24]
cdef dict NAMES = {}


cdef int add_map(str name, const char* inputs, char output, MapRun run) except -1:
    cdef int row = len(NAMES)
    MAPS[row].inputs, MAPS[row].output, MAPS[row].run = inputs, output, run
    NAMES[name] = row
    return 0


# Arguments in their order: the names of a frame (n) and of axes (x), arrays of nq (q) and nv (v) numbers, or of nv or
# None for zeros (V). Results: arrays (3,) 3, (6,) 6, (3, 3) I, (3, nv) C, (6, nv) J, (nv, nv) M, and of parameters (10
# nbody,) p, (nv, 10 nbody) Y, (6, 10) W; derivatives (4, 6, nv) D.
add_map("center_of_mass", b"q", c"3", map_com)
add_map("center_of_mass_velocity", b"qv", c"3", map_com_velocity)
add_map("center_of_mass_acceleration", b"qvV", c"3", map_com_acceleration)
add_map("center_of_mass_jacobian", b"q", c"C", map_com_jacobian)
add_map("centroidal_momentum", b"qv", c"6", map_centroidal_momentum)
add_map("centroidal_momentum_rate", b"qvV", c"6", map_centroidal_momentum_rate)
add_map("centroidal_momentum_matrix", b"q", c"J", map_centroidal_matrix)
add_map("centroidal_momentum_matrix_rate", b"qv", c"J", map_centroidal_matrix_rate)
add_map("_centroidal_derivatives", b"qvV", c"D", map_centroidal_derivatives)
add_map("centroidal_inertia", b"q", c"I", map_centroidal_inertia)
add_map("coriolis_matrix", b"qv", c"M", map_coriolis_matrix)
add_map("frame_jacobian", b"nqx", c"J", map_frame_jacobian)
add_map("frame_jacobian_rate", b"nqvx", c"J", map_frame_jacobian_rate)
add_map("frame_velocity", b"nqvx", c"6", map_frame_velocity)
add_map("frame_acceleration", b"nqvVx", c"6", map_frame_acceleration)
add_map("joint_torque_regressor", b"qVV", c"Y", map_torque_regressor)
add_map("body_regressor", b"nqVV", c"W", map_body_regressor)
add_map("kinetic_energy_regressor", b"qv", c"p", map_kinetic_regressor)
add_map("potential_energy_regressor", b"q", c"p", map_potential_regressor)


@cython.final
cdef class MapTables:
    """What maps need of a model.

    ``frames``: names to rows of ``places``: bodies (n,), rotations (n, 3, 3) and positions (n, 3) of the frames.
    ``own``: rotations (nbody, 3, 3) and positions (nbody, 3) of the frames of the bodies' parameters.
    """

    cdef CoreModel core
    cdef dict frames
    cdef int[::1] body
    cdef double[:, :, ::1] X        # (n, 4, 4) poses on the bodies
    cdef double[::1] still          # (nv,) zeros
    cdef int[::1] turns             # where quaternions begin in q
    cdef int turning                # their number
    cdef double[:, ::1] own         # (nbody, 12)
    cdef int[::1] middle            # (nbody,) of a root: the first body of its tree that has inertia
    cdef size_t size                # bytes of memory for a map

    def __cinit__(self, CoreModel core, dict frames, places, own):
        cdef const vt_model* m = &core.m
        self.core, self.frames = core, dict(frames)
        bodies, E, p = places
        rows = len(bodies)
        require_size(len(E), rows, "rotations of frames")
        require_size(len(p), rows, "positions of frames")
        X = np.zeros((rows + 1, 4, 4))
        X[:rows, :3, :3], X[:rows, :3, 3], X[:, 3, 3] = E, p, 1.0
        self.body, self.X, self.still = np.array(bodies, dtype=np.intc), X, np.zeros(m.nv + 1)
        if not all([0 <= row < rows for row in frames.values()] + [-1 <= on < m.nbody for on in bodies]):
            raise ValueError(f"frames of other bodies; there are {m.nbody}")
        E, p = own
        require_size(len(E), m.nbody, "rotations of bodies")
        require_size(len(p), m.nbody, "positions of bodies")
        kept = np.zeros((m.nbody + 1, 12))
        kept[: m.nbody, :9], kept[: m.nbody, 9:] = np.swapaxes(E, 1, 2).reshape(-1, 9), p
        self.own = kept
        middle = np.arange(m.nbody + 1, dtype=np.intc)
        for k in range(m.nbody - 1, -1, -1):
            on = k
            while m.body[on].parent >= 0:
                on = m.body[on].parent
            if m.body[k].inert:
                middle[on] = k
        self.middle = middle
        turns = [m.body[k].iq + (3 if m.body[k].kind == FREE else 0) for k in range(m.nbody) if m.body[k].kind >= BALL]
        self.turning, self.turns = len(turns), np.array([*turns, 0], dtype=np.intc)
        self.size = 64 * PIECES + m.nv * sizeof(Column) + (m.nv + 3) * CORIOLIS_ROWS * sizeof(double)
        self.size += m.nbody * (sizeof(Pose) + 2 * sizeof(Vec3) + sizeof(Carried) + sizeof(Column)
                                + max(sizeof(CrbaBody), sizeof(RneaBody) + sizeof(double)))

    cdef Py_ssize_t numbers_of(self, char shape) noexcept:
        # of a result
        cdef Py_ssize_t nv = self.core.m.nv, own = PARAMETERS * self.core.m.nbody
        if shape == c"3" or shape == c"6":
            return 3 if shape == c"3" else 6
        if shape == c"C" or shape == c"J":
            return (3 if shape == c"C" else 6) * nv
        if shape == c"D":
            return 24 * nv
        if shape == c"I" or shape == c"W":
            return 9 if shape == c"I" else 6 * PARAMETERS
        return nv * nv if shape == c"M" else nv * own if shape == c"Y" else own

    cdef cnp.ndarray result(self, char shape):
        # of one state
        cdef cnp.npy_intp size[3]
        cdef int axes = 2
        size[0] = size[1] = 3
        if shape == c"3" or shape == c"6" or shape == c"p":
            axes = 1
            size[0] = self.numbers_of(shape)
        elif shape == c"D":
            axes = 3
            size[0], size[1], size[2] = 4, 6, self.core.m.nv
        elif shape == c"C" or shape == c"J" or shape == c"M":
            size[1] = self.core.m.nv
            size[0] = 3 if shape == c"C" else 6 if shape == c"J" else size[1]
        elif shape == c"W" or shape == c"Y":
            size[0] = 6 if shape == c"W" else self.core.m.nv
            size[1] = PARAMETERS if shape == c"W" else self.numbers_of(c"p")
        return cnp.PyArray_SimpleNew(axes, size, cnp.NPY_DOUBLE)

    cdef const double* numbers(self, x, Py_ssize_t size) noexcept:
        # those of an exact array of so many finite doubles in order; else NULL
        cdef cnp.ndarray a
        cdef const double* at
        if not cnp.PyArray_CheckExact(x):
            return NULL
        a = <cnp.ndarray>x
        if (cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0) != size or cnp.PyArray_TYPE(a) != cnp.NPY_DOUBLE
                or not cnp.PyArray_ISCARRAY_RO(a)):
            return NULL
        at = <const double*>cnp.PyArray_DATA(a)
        return at if finite_numbers(at, size) else NULL

    cdef bint exact(self, const double* q) noexcept:
        # whether quaternions are of unit norm for certain
        cdef const double* x
        cdef int i
        for i in range(self.turning):
            x = q + self.turns[i]
            if not fabs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1.0) <= UNIT:
                return False
        return True

    cdef bint take_name(self, char kind, x, MapJob* job) except -1:
        # of a frame, or of axes; False if it is none
        cdef PyObject* found
        cdef int row
        if type(x) is not str:
            return False
        if kind == c"x":
            job.axes = WORLD_AXES if <str>x == "world" else LOCAL_AXES if <str>x == "local" else SPATIAL_AXES
            return job.axes != SPATIAL_AXES or <str>x == "spatial"
        found = PyDict_GetItem(self.frames, x)
        if found == NULL:
            return False
        row = <object>found
        job.body, job.frame = self.body[row], &self.X[row, 0, 0]
        return True

    cdef void begin(self, MapJob* job) noexcept:
        memset(job, 0, sizeof(MapJob))
        job.body = -1
        job.v = job.a = &self.still[0]
        job.places, job.middle = <const BodyFrame*>&self.own[0, 0], &self.middle[0]


@cython.final
cdef class MapCall:
    """A method of a model by its name."""

    cdef Map map
    cdef readonly int count         # of the arguments that are handled

    def __cinit__(self, str name):
        self.map = MAPS[<int>NAMES[name]]
        self.count = strlen(self.map.inputs)

    def answer(self, MapTables tables, model, a=None, b=None, c=None, d=None, e=None):
        """Return the result of the method for positional arguments, or None if the method in Python must compute it.

        ``tables`` are those of the model, or None.
        """
        cdef const vt_model* m
        cdef cnp.ndarray out
        cdef const double* x
        cdef char here[ROOM]
        cdef char* room = here
        cdef char kind
        cdef MapJob job
        cdef int j, taken = 0
        cdef double total = 0.0
        if tables is None:
            return None
        m = &tables.core.m
        tables.begin(&job)
        for j in range(self.count):
            slot = a if j == 0 else b if j == 1 else c if j == 2 else d if j == 3 else e
            kind = self.map.inputs[j]
            if kind == c"n" or kind == c"x":
                if not tables.take_name(kind, slot, &job):
                    return None
            elif kind == c"q":
                x = tables.numbers(slot, m.nq)
                if x == NULL:
                    return None
                if not tables.exact(x):
                    kept = model.validate_configuration(slot)   # lasts until the end of the call
                    x = tables.numbers(kept, m.nq)
                    if x == NULL:
                        return None
                job.q = x
            else:
                if kind == c"v" or slot is not None:
                    x = tables.numbers(slot, m.nv)
                    if x == NULL:
                        return None
                    if taken:
                        job.a = x
                    else:
                        job.v = x
                taken += 1
        out = tables.result(self.map.output)
        job.out, job.total = <double*>cnp.PyArray_DATA(out), &total
        if tables.size > ROOM:
            room = <char*>PyMem_RawMalloc(tables.size)
            if room == NULL:
                raise MemoryError
        if m.nbody <= SMALL:
            self.map.run(m, &job, room)
        else:
            with nogil:
                self.map.run(m, &job, room)
        if room != here:
            PyMem_RawFree(room)
        if self.map.output == c"Y":
            return out if finite_numbers(&total, 1) else None
        return out if finite_numbers(job.out, cnp.PyArray_SIZE(out)) else None

    def rows(self, MapTables tables, str frame, str axes, const double[:, ::1] q, const double[:, ::1] v,
             const double[:, ::1] a, double[:, ::1] out):
        """Write the results of rows of states, flattened, to the rows of ``out``. v and a may be None for zeros."""
        cdef const vt_model* m = &tables.core.m
        cdef Py_ssize_t n = q.shape[0], i
        cdef size_t size = tables.size
        cdef char* room
        cdef MapJob job
        cdef MapRun run = self.map.run
        cdef double total
        tables.begin(&job)
        job.total = &total
        if frame is not None and not tables.take_name(c"n", frame, &job):
            raise ValueError(f"no frame {frame}")
        if axes is not None and not tables.take_name(c"x", axes, &job):
            raise ValueError(f"no axes {axes}")
        require_shape(q, (n, m.nq))
        if v is not None:
            require_shape(v, (n, m.nv))
        if a is not None:
            require_shape(a, (n, m.nv))
        require_shape(out, (n, tables.numbers_of(self.map.output)))
        room = <char*>PyMem_RawMalloc(size)
        if room == NULL:
            raise MemoryError
        try:
            with nogil:
                for i in range(n):
                    job.q, job.out = &q[i, 0], &out[i, 0]
                    if v is not None:
                        job.v = &v[i, 0]
                    if a is not None:
                        job.a = &a[i, 0]
                    run(m, &job, room)
                    if i % LOOK_ROWS == LOOK_ROWS - 1:
                        with gil:
                            PyErr_CheckSignals()
        finally:
            PyMem_RawFree(room)
