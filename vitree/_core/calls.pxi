# Methods of a model on one state, each in one call: the checks of the arguments, the kernel, the check of the result.
#
# A line of a table, here or in doors.pxi, is everything that a method needs beside its kernel.
#
# Only the common case is handled: exact arrays of finite doubles in order, and a finite result. Otherwise the result is
# None, and the method in Python converts the arguments or reports what is wrong with them.
#
# The interpreter holds its lock throughout for a small model, whose kernel takes little longer than releasing the lock.
# All these calls share one piece of memory: no Python runs between the first write to it and the last read. A call that
# releases the lock, and each call of an interpreter without one, has a separate piece.
#
# `Calls` is immutable except for `regular`, which every thread computes to the same value, and for the steppers, which
# a call takes and returns.

cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArray_ArrFuncs:
        void (*dotfunc)(void*, cnp.npy_intp, void*, cnp.npy_intp, void*, cnp.npy_intp, void*) noexcept nogil
    PyArray_ArrFuncs* PyDataType_GetArrFuncs(cnp.PyArray_Descr*) nogil
    object PyArray_MatrixProduct2(object, object, cnp.PyArrayObject*)

cdef cnp.dtype DOUBLE = np.dtype(float)
cdef PyArray_ArrFuncs* NUMPY = PyDataType_GetArrFuncs(<cnp.PyArray_Descr*>DOUBLE)

#: Numbers of bodies above which the lock is released, for methods and for derivatives.
cdef int SMALL = 64, SMALL_OF_SLOPES = 8
#: Largest deviation of a quaternion from unit norm, and that of one that is used unchanged.
cdef double QUATERNION_TOLERANCE = 1e-6, QUATERNION_EXACT = 4e-16

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define VT_NO_LOCK 1
    #else
    #define VT_NO_LOCK 0
    #endif
    """
    const bint VT_NO_LOCK           # the interpreter is built without a lock

cdef char* shared_room = NULL
cdef size_t shared_size = 0
#: Whether each call has separate memory.
cdef bint rooms_apart = VT_NO_LOCK


cdef enum Regular:
    UNKNOWN
    ALWAYS
    MOSTLY                      # or not known to be always
    NEVER


# ---- arguments --------------------------------------------------------------------------------------

cdef extern from *:
    """
    /* tuple.__new__, without the look-up */
    static PyObject *vt_named_tuple(PyObject *kind, PyObject *parts) {
        PyObject *made = NULL, *given = PyTuple_Pack(1, parts);
        if (given != NULL) {
            made = PyTuple_Type.tp_new((PyTypeObject *)kind, given, NULL);
            Py_DECREF(given);
        }
        return made;
    }
    """
    object named_tuple "vt_named_tuple"(object kind, tuple parts)


cdef inline const double* numbers(PyObject* x, Py_ssize_t size) noexcept:
    # those of an exact array of so many finite doubles in order; else NULL
    cdef cnp.PyArrayObject* a = <cnp.PyArrayObject*>x
    cdef const double* at
    if not cnp.PyArray_CheckExact(<object>x):
        return NULL
    if (cnp.PyArray_NDIM(<cnp.ndarray>x) != 1 or cnp.PyArray_DIM(<cnp.ndarray>x, 0) != size
            or cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x)):
        return NULL
    at = <const double*>cnp.PyArray_DATA(<cnp.ndarray>x)
    return at if finite_numbers(at, size) else NULL


def plain(x, Py_ssize_t size):
    """Return whether x is an exact array of so many finite doubles, in C order."""
    return numbers(<PyObject*>x, size) != NULL


cdef inline double length4(const double* x) noexcept:
    # as np.linalg.norm has it, to the last bit
    cdef double square
    NUMPY.dotfunc(<void*>x, sizeof(double), <void*>x, sizeof(double), &square, 4, <void*>NULL)
    return vt_sqrt(square)


cdef inline cnp.ndarray new_array(int axes, cnp.npy_intp a, cnp.npy_intp b=0, cnp.npy_intp c=0):
    cdef cnp.npy_intp size[3]
    size[0], size[1], size[2] = a, b, c
    return cnp.PyArray_SimpleNew(axes, size, cnp.NPY_DOUBLE)


cdef inline double* data(cnp.ndarray x) noexcept:
    return <double*>cnp.PyArray_DATA(x)


# ---- a model ----------------------------------------------------------------------------------------

@cython.final
cdef class Calls:
    """The data of a model for its calls.

    ``frames``: names to rows of ``places``: bodies (n,), rotations (n, 3, 3) and positions (n, 3) of the frames.
    ``shares``: fractions of inertia (``mechanism/regular.py``) above which a mass matrix is regular.
    """

    cdef CoreModel core
    cdef LoadList loads
    cdef bint written               # has loads or constraints in Python, or compliant contacts
    cdef Regular regular            # whether its mass matrix is
    cdef double felt, moved         # pivots relative to their terms (`pivots`) above which it is, in one configuration
    cdef size_t size, slope_size    # bytes of memory for a call, and for one of derivatives
    cdef dict frames
    cdef list frame_body
    cdef cnp.ndarray frame_X        # (n, 4, 4) poses on the bodies
    cdef ModelStepper moving        # a chain of those that no call has: for forward_dynamics
    cdef ModelStepper resting       # ... for passive_force

    def __cinit__(self, CoreModel core, dict frames, places, shares, LoadList loads, bint written):
        cdef const vt_model* m = &core.m
        self.core, self.frames, self.loads, self.written = core, dict(frames), loads, written
        self.regular, self.felt, self.moved = UNKNOWN, shares[0], shares[1]
        bodies, E, p = places
        self.frame_body = np.asarray(bodies).tolist()
        rows = len(self.frame_body)
        require_size(len(p), rows, "positions of frames")
        self.frame_X = np.zeros((rows, 4, 4))
        self.frame_X[:, :3, :3], self.frame_X[:, :3, 3], self.frame_X[:, 3, 3] = E, p, 1.0
        if not all([0 <= row < rows for row in frames.values()] + [-1 <= on < m.nbody for on in self.frame_body]):
            raise ValueError(f"frames of other bodies; there are {m.nbody}")
        self.size, self.slope_size = memory_of(m, 0), memory_of(m, SLOPES)

    cdef char* room(self, char** own, bint slopes=False) except NULL:
        # memory of this call until the lock is released; or separate memory, which it frees
        global shared_room, shared_size
        cdef char* more
        cdef size_t size = self.slope_size if slopes else self.size
        own[0] = NULL
        if rooms_apart or self.core.m.nbody > (SMALL_OF_SLOPES if slopes else SMALL):
            own[0] = <char*>PyMem_Malloc(size)
            if own[0] == NULL:
                raise MemoryError
            return own[0]
        if size > shared_size:
            more = <char*>realloc(shared_room, size)
            if more == NULL:
                raise MemoryError
            shared_room, shared_size = more, size
        return shared_room

    cdef cnp.ndarray result(self, char shape):
        # an array of a shape of the table
        cdef const vt_model* m = &self.core.m
        if shape == c"q":
            return new_array(1, m.nq)
        if shape == c"v":
            return new_array(1, m.nv)
        if shape == c"M":
            return new_array(2, m.nv, m.nv)
        if shape == c"J":
            return new_array(2, 6, m.nv)
        if shape == c"X":
            return new_array(2, 4, 4)
        return new_array(3, m.nbody, 4, 4)

    # ---- quaternions

    cdef int turned(self, const double* q) noexcept:
        # whether quaternions of q are not exactly of unit norm; -1 if one is far from it
        cdef const vt_model* m = &self.core.m
        cdef const vt_body* b
        cdef int i, found = 0
        cdef double off
        if m.nq == m.nv:
            return 0
        for i in range(m.nbody):
            b = &m.body[i]
            if b.kind == BALL or b.kind == FREE:
                off = fabs(length4(q + b.iq + (3 if b.kind == FREE else 0)) - 1.0)
                if off > QUATERNION_TOLERANCE:
                    return -1
                found |= off > QUATERNION_EXACT
        return found

    cdef double* straightened(self, const double* q, char** room) noexcept:
        # a copy with quaternions of unit norm
        cdef const vt_model* m = &self.core.m
        cdef const vt_body* b
        cdef double* made = <double*>piece(room, m.nq * sizeof(double))
        cdef double* x
        cdef double norm
        cdef int i, k
        memcpy(made, q, m.nq * sizeof(double))
        for i in range(m.nbody):
            b = &m.body[i]
            if b.kind == BALL or b.kind == FREE:
                x = made + b.iq + (3 if b.kind == FREE else 0)
                norm = length4(x)
                if fabs(norm - 1.0) > QUATERNION_EXACT:
                    for k in range(4):
                        x[k] = x[k] / norm
        return made

    cdef Regular regular_of(self, model) except? UNKNOWN:
        if self.regular == UNKNOWN:
            self.regular = NEVER if model.singular is not None else ALWAYS if model._regular else MOSTLY
        return self.regular

    cdef bint regular_at(self, const double* q, char* room) noexcept nogil:
        # whether the mass matrix is regular at q, as Model.singular_at has it
        cdef const vt_model* m = &self.core.m
        cdef double* share = <double*>piece(&room, 2 * m.nv * sizeof(double))
        cdef Job job
        cdef int k
        job.x[0], job.out[0] = q, share
        run_pivots(m, &job, room)
        for k in range(m.nv):
            if not (share[k] > self.felt and share[m.nv + k] > self.moved):
                return False
        return True

    def regular_now(self, model, const double[::1] q):
        """Return whether the mass matrix is regular at q (nq,), as ``model.singular_at`` has it."""
        cdef Regular regular = self.regular_of(model)
        cdef char* room
        cdef char* own
        cdef bint found = regular == ALWAYS
        if regular == MOSTLY:
            require_size(q.shape[0], self.core.m.nq, "entries of q")
            room = self.room(&own)
            found = self.regular_at(&q[0], room)
            PyMem_Free(own)
        return found

    # ---- steppers

    cdef ModelStepper taken_field(self, bint rests):
        # one that is not used by another call, or None
        cdef ModelStepper field
        with cython.critical_section(self):
            field = self.resting if rests else self.moving
            if field is not None:
                if rests:
                    self.resting = field.behind
                else:
                    self.moving = field.behind
                field.behind = None
        return field

    cdef int give_field(self, ModelStepper field, bint rests) except -1:
        with cython.critical_section(self):
            if rests:
                field.behind, self.resting = self.resting, field
            else:
                field.behind, self.moving = self.moving, field
        return 0

    # ---- frames

    cdef object frame_pose(self, const double* bodies, int k):
        cdef cnp.ndarray out = new_array(2, 4, 4)
        cdef const double* own = data(self.frame_X) + 16 * k
        cdef int on = self.frame_body[k]
        if on < 0:
            memcpy(data(out), own, 16 * sizeof(double))
        else:
            pose_product(bodies + 16 * on, own, data(out))
        return out if finite_numbers(data(out), 16) else None

    cdef object frame_poses(self, const double* bodies):
        cdef dict found = {}
        for name, k in self.frames.items():
            found[name] = self.frame_pose(bodies, k)
            if found[name] is None:
                return None
        return found


# ---- kernels ----------------------------------------------------------------------------------------

cdef inline void pose_product(const double* a, const double* b, double* out) noexcept nogil:
    # out = a b, (4, 4), as mechanism.index has it
    cdef int i, j
    for i in range(0, 16, 4):
        for j in range(4):
            out[i + j] = a[i] * b[j] + a[i + 1] * b[4 + j] + a[i + 2] * b[8 + j] + a[i + 3] * b[12 + j]


cdef object energy_part(char shape, double* e):
    # one of the results of run_energies, or None
    cdef int first = 2 if shape == c"6" else shape == c"u"
    cdef cnp.ndarray out
    if shape == c"6":
        out = new_array(1, 6)
        memcpy(data(out), e + first, cnp.PyArray_SIZE(out) * sizeof(double))
        return out if finite_numbers(data(out), cnp.PyArray_SIZE(out)) else None
    if shape == c"l":
        e[0] = e[0] - e[1]
    return e[first] if finite_numbers(e + first, 1) else None


cdef void run_validate(const vt_model* m, const Job* job, char* room) noexcept nogil:
    memcpy(job.out[0], job.x[0], m.nq * sizeof(double))


cdef void run_frame_pose(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef double X[16]
    if job.body < 0:
        memcpy(job.out[0], job.frame, 16 * sizeof(double))
        return
    place_path(m, job.x[0], job.body, pose, <int*>piece(&room, 0))
    put_pose(&pose[job.body], X)
    vt_pose_close(X)
    pose_product(X, job.frame, job.out[0])


cdef void run_momenta(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef double* zeros = zeros_of(m.nv, &room)
    rnea(m, NO_GRAVITY, job.x[0], zeros, job.x[1], job.out[0], <RneaBody*>piece(&room, 0))


cdef void run_velocities(const vt_model* m, const Job* job, char* room) noexcept nogil:
    cdef double* zeros = zeros_of(m.nv, &room)
    aba(m, NO_GRAVITY, job.x[0], zeros, job.x[1], NULL, job.out[0], <AbaBody*>piece(&room, 0))


cdef void run_energies(const vt_model* m, const Job* job, char* room) noexcept nogil:
    # with the potentials of loads
    cdef Pose* pose
    run_energy(m, job, room)
    if job.loads:
        pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
        job.out[0][1] += load_potential(job.load, job.loads, job.x[0], pose, zeros_of(6 * m.nbody, &room))


# ---- the rest of the table --------------------------------------------------------------------------

# Methods on one state only. Arguments beside those in doors.pxi: nv optional numbers (V), the names of a frame (n) and
# of axes (x). Calls with further arguments are not handled. Results: (4, 4) X, (nbody, 4, 4) B, and of energies the
# kinetic (k), the potential (u), the Lagrangian (l) and the momentum (6). Several are a named
# tuple.
kernel("validate_configuration", b"q", b"q", 0, run_validate)
kernel("body_poses", b"q", b"B", 0, run_poses)
kernel("frame_poses", b"q", b"B", FRAMES, run_poses)
kernel("frame_pose", b"nq", b"X", 0, run_frame_pose)
kernel("generalized_momentum", b"qv", b"v", 0, run_momenta)
kernel("velocity_from_momentum", b"qv", b"v", REGULAR, run_velocities)
kernel("kinetic_energy", b"qv", b"k", POTENTIALS, run_energies)
kernel("potential_energy", b"q", b"u", POTENTIALS, run_energies)
kernel("lagrangian", b"qv", b"l", POTENTIALS, run_energies)
kernel("momentum", b"qv", b"6", POTENTIALS, run_energies)
kernel("forward_dynamics", b"qvV", b"v", MOVES | POTENTIALS | REGULAR, NULL)
kernel("passive_force", b"q", b"v", RESTS | POTENTIALS, NULL)


# ---- a method ---------------------------------------------------------------------------------------

@cython.final
cdef class Call:
    """A method of a model by its name. ``made``: the class of named tuple that it returns, if any."""

    cdef Kernel kernel
    cdef readonly int count         # of the arguments that are handled
    cdef int results
    cdef type made

    def __cinit__(self, str name, type made=None):
        self.kernel, self.made = KERNELS[<int>METHODS[name]], made
        self.kernel.inputs += self.kernel.inputs[0] == c"g"      # gravity is that of the model
        self.count, self.results = strlen(self.kernel.inputs), strlen(self.kernel.outputs)

    def answer(self, Calls calls, model, a=None, b=None, c=None):
        """Return the result of the method for positional arguments, or None if the method in Python must compute it.

        ``calls`` are those of the model, or None.
        """
        cdef PyObject* slot[3]
        slot[0], slot[1], slot[2] = <PyObject*>a, <PyObject*>b, <PyObject*>c
        return None if calls is None else self.of_slots(calls, model, slot)

    cdef object of_slots(self, Calls calls, model, PyObject** slot):
        cdef const vt_model* m = &calls.core.m
        cdef PyObject* found
        cdef const double* x
        cdef int turned = 0, n = 0, frame, j, one
        cdef char kind
        cdef Job job
        if calls.written and self.kernel.asks & POTENTIALS:
            return None
        memset(&job, 0, sizeof(Job))
        job.body, job.whole = -1, True
        for j in range(self.count):
            kind = self.kernel.inputs[j]
            if kind == c"V" and <object>slot[j] is None:
                continue
            if (kind == c"n" or kind == c"x") and type(<object>slot[j]) is not str:
                return None
            if kind == c"n":
                found = PyDict_GetItem(calls.frames, <object>slot[j])
                if found == NULL:
                    return None
                frame = <object>found
                job.body, job.frame = calls.frame_body[frame], data(calls.frame_X) + 16 * frame
                job.point[0], job.point[1], job.point[2] = job.frame[3], job.frame[7], job.frame[11]
            elif kind == c"x":
                job.local = <str>slot[j] == "local"
                if not job.local and <str>slot[j] != "world":
                    return None
            else:
                x = numbers(slot[j], m.nq if kind == c"q" else m.nv)
                if x == NULL:
                    return None
                if kind == c"q":
                    one = calls.turned(x)
                    if one < 0:
                        return None
                    turned |= one << n
                job.x[n] = x
                n += 1
        if self.kernel.run == NULL:
            return self.of_field(model, calls, job.x, turned)
        return self.of_kernel(model, calls, &job, turned)

    cdef object of_kernel(self, model, Calls calls, Job* job, int turned):
        cdef const vt_model* m = &calls.core.m
        cdef int asks = self.kernel.asks, k
        cdef bint slopes = asks & SLOPES, found
        cdef cnp.ndarray out
        cdef object result = None
        cdef double of_energies[11]
        cdef char* room
        cdef char* own
        cdef Regular regular = calls.regular_of(model) if asks & REGULAR else ALWAYS
        if regular == NEVER:
            return None
        # the arrays of the result, before any memory is written
        if self.results > 1:
            result = [calls.result(self.kernel.outputs[k]) for k in range(self.results)]
            for k in range(self.results):
                job.out[k] = data(<cnp.ndarray>(<list>result)[k])
        else:
            job.out[0] = of_energies
            if not asks & POTENTIALS:
                result = calls.result(self.kernel.outputs[0])
                job.out[0] = data(<cnp.ndarray>result)
        job.gravity, job.load, job.loads = m.g, calls.loads.list, calls.loads.count
        room = calls.room(&own, slopes)
        for k in range(2):
            if turned & 1 << k:
                job.x[k] = calls.straightened(job.x[k], &room)
        if m.nbody <= (SMALL_OF_SLOPES if slopes else SMALL):
            found = regular == ALWAYS or calls.regular_at(job.x[0], room)
            if found:
                self.kernel.run(m, job, room)
        else:
            with nogil:
                found = regular == ALWAYS or calls.regular_at(job.x[0], room)
                if found:
                    self.kernel.run(m, job, room)
        PyMem_Free(own)
        if not found:
            return None
        if result is None:
            return energy_part(self.kernel.outputs[0], of_energies)
        if self.results > 1:
            for out in <list>result:
                if not finite_numbers(data(out), cnp.PyArray_SIZE(out)):
                    return None
            return named_tuple(self.made, tuple(<list>result))
        out = <cnp.ndarray>result
        if not finite_numbers(data(out), cnp.PyArray_SIZE(out)):
            return None
        return calls.frame_poses(data(out)) if asks & FRAMES else out

    cdef object of_field(self, model, Calls calls, const double** x, int turned):
        # accelerations with everything that the model has
        cdef const vt_model* m = &calls.core.m
        cdef ModelStepper field
        cdef cnp.ndarray a, pushes, M
        cdef const double* q = x[0]
        cdef const double* v
        cdef char* room
        cdef char* own
        cdef bint found, rests = self.kernel.asks & RESTS
        cdef Job job
        cdef Regular regular = ALWAYS if rests else calls.regular_of(model)
        if m.nbody > SMALL or regular == NEVER:
            return None
        field = calls.taken_field(rests)
        if field is None:
            field = model._field_at_rest() if rests else model._field()
        a, pushes = new_array(1, m.nv), new_array(1, field.shared.count)
        M = new_array(2, m.nv, m.nv) if rests else None
        room = calls.room(&own)
        if turned:
            q = calls.straightened(q, &room)
        found = regular == ALWAYS or calls.regular_at(q, room)
        if found:
            v = x[1]
            if rests:
                v = field.shared.zeros
            field.lane.now.cause = OK
            memset(field.lane.prescribed.a, 0, m.nv * sizeof(double))
            memset(field.lane.drive.tau, 0, m.nv * sizeof(double))
            if not rests and x[2] != NULL:
                memcpy(field.lane.drive.tau, x[2], m.nv * sizeof(double))
            if field.ntouch:
                found = closed_accelerations(field, 0.0, q, v, STICKS, data(a)) == OK
            else:
                model_acceleration(field, 0.0, q, v, data(a))
            memcpy(data(pushes), field.lane.held.push, field.shared.count * sizeof(double))
            found = found and finite_numbers(data(a), m.nv)
        if found and rests:
            job.out[0] = data(M)
            # the mass matrix is that of the method crba, which checks the quaternions again
            job.x[0] = calls.straightened(q, &room) if turned else q
            run_crba(m, &job, room)
            found = finite_numbers(data(M), m.nv * m.nv)
        PyMem_Free(own)
        calls.give_field(field, rests)
        if not found:
            return None
        if not rests:
            return named_tuple(self.made, (a, pushes))
        a = PyArray_MatrixProduct2(M, a, NULL)
        return a if finite_numbers(data(a), m.nv) else None


def spoil_calls():
    """Fill the shared memory of calls with NaN: for tests."""
    if shared_room != NULL:
        memset(shared_room, 0xFF, shared_size)


def keep_rooms_apart(bint apart):
    """Give each call separate memory, as without the interpreter's lock, or not; return the old setting: for tests."""
    global rooms_apart
    was = rooms_apart
    rooms_apart = apart or VT_NO_LOCK
    return was
