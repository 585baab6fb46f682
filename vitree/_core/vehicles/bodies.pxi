# Vehicles that are one rigid body: six-vectors, inertia and forces (Kobilarov et al. 2009, sections 4.1 and 4.3). xi =
# (w, v) is the body twist, (n, f) a wrench, body axes. In states the linear part is first, as for the free joint.

from libc.math cimport exp as exp_real


cdef struct Six:        # a twist (angular, linear) or a wrench (torque, force)
    Vec3 a
    Vec3 b


cdef struct Blocks:     # a matrix on them
    Mat3 aa
    Mat3 ab
    Mat3 ba
    Mat3 bb


cdef inline Six six(Vec3 a, Vec3 b) noexcept nogil:
    cdef Six r
    r.a = a
    r.b = b
    return r


cdef inline Six load6(const double* x) noexcept nogil:
    # from (linear, angular)
    return six(load3(x + 3), load3(x))


cdef inline void store6(double* x, Six s) noexcept nogil:
    store3(x, s.b)
    store3(x + 3, s.a)


cdef inline Six axpy6(double s, Six x, Six y) noexcept nogil:
    # s x + y
    return six(axpy(s, x.a, y.a), axpy(s, x.b, y.b))


cdef inline Six scale6(double s, Six x) noexcept nogil:
    return six(scale(s, x.a), scale(s, x.b))


cdef inline double largest3(Vec3 a) noexcept nogil:
    return vt_max_nan(vt_max_nan(fabs(a.x), fabs(a.y)), fabs(a.z))


cdef inline double largest6(Six x) noexcept nogil:
    # max |x_i|, or NaN if any is
    return vt_max_nan(largest3(x.a), largest3(x.b))


cdef inline Six apply(const Blocks* A, Six x) noexcept nogil:
    return six(add(mul(A.aa, x.a), mul(A.ab, x.b)), add(mul(A.ba, x.a), mul(A.bb, x.b)))


cdef inline Mat3 scaled(double s, Mat3 A) noexcept nogil:
    return mat3(scale(s, A.x), scale(s, A.y), scale(s, A.z))


cdef inline Mat3 inverse_rows(Mat3 A) noexcept nogil:
    # the rows of A^-1 as columns, for `tmul`; infinite if A is singular
    cdef Mat3 r
    cdef double s
    r.x = cross(A.y, A.z)
    s = 1.0 / dot(A.x, r.x)
    r.x = scale(s, r.x)
    r.y = scale(s, cross(A.z, A.x))
    r.z = scale(s, cross(A.x, A.y))
    return r


cdef inline Six solve6(const Blocks* A, Six r) noexcept nogil:
    # A^-1 r, the linear block first: with inertia in it, it is regular
    cdef Mat3 rows = inverse_rows(A.bb), Z
    cdef Vec3 z = tmul(rows, r.b), a
    Z.x = tmul(rows, A.ba.x)
    Z.y = tmul(rows, A.ba.y)
    Z.z = tmul(rows, A.ba.z)
    a = tmul(inverse_rows(sub3(A.aa, mul3(A.ab, Z))), sub(r.a, mul(A.ab, z)))
    return six(a, sub(z, mul(Z, a)))


cdef Mat3 read33(rows) except *:
    # a matrix of rows
    cdef Mat3 r
    cdef const double[:, ::1] a = np.ascontiguousarray(rows, dtype=float)
    require_size(a.shape[0], 3, "rows of a matrix (3, 3)")
    require_size(a.shape[1], 3, "columns of a matrix (3, 3)")
    r.x = vec3(a[0, 0], a[1, 0], a[2, 0])
    r.y = vec3(a[0, 1], a[1, 1], a[2, 1])
    r.z = vec3(a[0, 2], a[1, 2], a[2, 2])
    return r


cdef Vec3 read3(values) except *:
    cdef const double[::1] a = np.ascontiguousarray(values, dtype=float)
    require_size(a.shape[0], 3, "entries of a vector")
    return vec3(a[0], a[1], a[2])


cdef Six read_six(values) except *:
    # from (angular, linear)
    return six(read3(values[:3]), read3(values[3:]))


cdef Blocks read_blocks(rows) except *:
    cdef Blocks r
    rows = np.asarray(rows, dtype=float)
    r.aa, r.ab = read33(rows[:3, :3]), read33(rows[:3, 3:])
    r.ba, r.bb = read33(rows[3:, :3]), read33(rows[3:, 3:])
    return r


cdef Sym3 read_sym(rows) except *:
    cdef const double[:, ::1] a = np.ascontiguousarray(rows, dtype=float)
    cdef double six_numbers[6]
    require_size(a.shape[0], 3, "rows of a matrix (3, 3)")
    require_size(a.shape[1], 3, "columns of a matrix (3, 3)")
    six_numbers[0], six_numbers[1], six_numbers[2] = a[0, 0], a[0, 1], a[0, 2]
    six_numbers[3], six_numbers[4], six_numbers[5] = a[1, 1], a[1, 2], a[2, 2]
    return constant_sym(six_numbers)


# ---- bodies: inertia and forces --------------------------------------------------------------------

cdef class RigidBody:
    """Inertia and forces of a vehicle; the wrench is F + S xi at a pose, plus controls.

    ``rotational``, ``translational`` (3, 3); ``weight`` (3,) in world axes; ``drag`` (6, 6), the wrench -drag xi;
    ``columns`` (nu, 6), the wrench of each input. ``force`` and ``slope``: None, or callables (t, g, xi, u).
    """

    cdef readonly int nu
    cdef Sym3 J
    cdef Sym3 M
    cdef Mat3 J_rows                    # of the inverses
    cdef Mat3 M_rows
    cdef Vec3 weight
    cdef Blocks slope
    cdef bint moving                    # S is not zero
    cdef double* columns
    cdef object force
    cdef object force_slope
    cdef list memory

    def __init__(self, rotational, translational, weight, drag, columns, force=None, slope=None):
        self.J, self.M = read_sym(rotational), read_sym(translational)
        self.J_rows, self.M_rows = inverse_rows(full(self.J)), inverse_rows(full(self.M))
        self.weight = read3(weight)
        self.slope = read_blocks(-np.asarray(drag, dtype=float))
        self.moving = bool(np.any(drag))
        self.force, self.force_slope = force, slope
        self.nu = len(columns)
        self.memory = []
        require_size(np.size(columns), 6 * self.nu, "entries of the inputs' wrenches")
        self.columns = self.keep(columns)

    cdef double* keep(self, values) except NULL:
        # a copy of the numbers with the lifetime of the body
        cdef const double[::1] flat = np.ascontiguousarray(values, dtype=float).ravel()
        cdef Scratch block = Scratch((flat.shape[0] + 1) * sizeof(double))
        cdef double* to = <double*>block.take((flat.shape[0] + 1) * sizeof(double))
        self.memory.append(block)
        if flat.shape[0]:
            memcpy(to, &flat[0], flat.shape[0] * sizeof(double))
        return to

    cdef void act(self, double t, Vec3 x, Mat3 R, Six* F, Blocks* S) noexcept nogil:
        # the wrench of the surroundings at a pose: F + S xi
        F.a = zero3()
        F.b = tmul(R, self.weight)
        S[0] = self.slope

    cdef Six control(self, const double* u) noexcept nogil:
        # the wrench of the inputs
        cdef int k
        cdef Six F = six(zero3(), zero3())
        for k in range(self.nu):
            F.a = axpy(u[k], load3(self.columns + 6 * k), F.a)
            F.b = axpy(u[k], load3(self.columns + 6 * k + 3), F.b)
        return F

    cdef double potential(self, Vec3 x, Mat3 R) noexcept nogil:
        return -dot(self.weight, x)

    cdef Six momentum(self, Six xi) noexcept nogil:
        return six(symmul(self.J, xi.a), symmul(self.M, xi.b))

    cdef Six velocity(self, Six p) noexcept nogil:
        return six(tmul(self.J_rows, p.a), tmul(self.M_rows, p.b))

    def wrench(self, double t, const double[::1] q, const double[::1] u):
        """F (6,) and S (6, 6) of the wrench F + S xi at a pose, with inputs (nu,); without forces in Python."""
        cdef const double* at = entries(q, 7, "entries of q")
        cdef const double* inputs = entries(u, self.nu, "inputs")
        cdef Six F
        cdef Blocks S
        cdef int k
        cdef Six column
        force, columns = np.empty(6), np.empty((6, 6))
        cdef double[::1] f = force
        cdef double[:, ::1] s = columns
        self.act(t, load3(at), quat_matrix(load_quat(at + 3)), &F, &S)
        if self.nu:
            F = axpy6(1.0, self.control(inputs), F)
        store3(&f[0], F.a)
        store3(&f[3], F.b)
        for k in range(6):
            column = apply(&S, read_six(np.eye(6)[k]))
            store3(&s[k, 0], column.a)
            store3(&s[k, 3], column.b)
        return force, columns.T

    def potentials(self, const double[:, ::1] q):
        """Potential energy [J] at rows of configurations, (n,)."""
        cdef Py_ssize_t k, n = q.shape[0]
        out = np.empty(n)
        cdef double[::1] view = out
        require_size(q.shape[1], 7, "columns of q")
        for k in range(n):
            view[k] = self.potential(load3(&q[k, 0]), quat_matrix(load_quat(&q[k, 3])))
        return out


cdef class HelicopterBody(RigidBody):
    """Thrust of a tilting rotor at (0, 0, top), and of a tail rotor at (-tail, 0, 0) (section 4.3.1)."""

    cdef double top
    cdef double tail

    def __init__(self, *args, double top, double tail, **more):
        super().__init__(*args, **more)
        self.nu, self.top, self.tail = 4, top, tail

    cdef Six control(self, const double* u) noexcept nogil:
        # u = (collective, yaw, pitch, roll)
        cdef double sp, cp, sr, cr
        cdef Vec3 f
        vt_sincos(u[2], &sp, &cp)
        vt_sincos(u[3], &sr, &cr)
        f = scale(u[0], vec3(sp * cr, -sr, cp * cr))
        return six(vec3(-self.top * f.y, self.top * f.x, self.tail * u[1]), vec3(f.x, f.y - u[1], f.z))


cdef Sym3 twice_crossed(Vec3 r, Mat3 E) noexcept nogil:
    # hat(r) E hat(r)
    cdef Mat3 A = cross_mat(r, mat_cross(E, r))
    cdef Sym3 S
    S.xx, S.xy, S.xz, S.yy, S.yz, S.zz = A.x.x, A.y.x, A.z.x, A.y.y, A.z.y, A.z.z
    return S


cdef class BoatBody(RigidBody):
    """Buoyancy of columns along the body's z, resistance of patches and of the wind (section 4.3.2, eq. 15).

    ``pillars`` (n, 3): x, y and cross section [m^2] of columns from z = ``bottom`` to ``top``; ``patches`` (n, 14):
    position r (3), outward normal (3), fraction of the wetted area, height [m], hat(r) E hat(r) (6). The other
    ``parts`` are those of the water, the wave and the wind, by the names of :mod:`vitree.vehicles.boat`.
    """

    cdef double* pillars
    cdef double* patches
    cdef int npillar
    cdef int npatch
    cdef double bottom
    cdef double top
    cdef double lift                    # density times g
    cdef Mat3 resistance
    cdef double pressure
    cdef Vec3 current
    cdef double wave                    # amplitude
    cdef double kx
    cdef double ky
    cdef double wavenumber
    cdef double omega
    cdef double phase
    cdef Vec3 wind
    cdef Mat3 windage
    cdef Vec3 sail
    cdef Sym3 sail_second

    def __init__(self, *args, force=None, slope=None, **parts):
        super().__init__(*args, force=force, slope=slope)
        cdef Py_ssize_t k
        pillars, patches = parts["pillars"], parts["patches"]
        cdef double[:, ::1] rows = np.zeros((len(patches), 14))
        cdef Sym3 second
        self.bottom, self.top, self.lift = parts["bottom"], parts["top"], parts["lift"]
        self.resistance, self.current = read33(parts["resistance"]), read3(parts["current"])
        self.pressure, self.wave, self.omega = parts["pressure"], parts["wave"], parts["omega"]
        self.phase, (self.kx, self.ky) = parts["phase"], parts["wave_vector"]
        self.wavenumber = vt_sqrt(self.kx * self.kx + self.ky * self.ky)
        self.wind, self.sail = read3(parts["wind"]), read3(parts["sail"])
        self.windage = scaled(parts["windage"], identity3())
        self.sail_second = twice_crossed(self.sail, self.windage)
        self.npillar, self.npatch = len(pillars), len(patches)
        np.asarray(rows)[:, :8] = patches
        for k in range(self.npatch):
            second = twice_crossed(load3(&rows[k, 0]), self.resistance)
            rows[k, 8], rows[k, 9], rows[k, 10] = second.xx, second.xy, second.xz
            rows[k, 11], rows[k, 12], rows[k, 13] = second.yy, second.yz, second.zz
        self.pillars, self.patches = self.keep(pillars), self.keep(rows)
        self.moving = True

    cdef double surface(self, double t, Vec3 at, double* c) noexcept nogil:
        # height of the water's surface, and that of a wave a quarter ahead
        cdef double s
        c[0] = 0.0
        if self.wave == 0.0:
            return 0.0
        vt_sincos(self.kx * at.x + self.ky * at.y - self.omega * t + self.phase, &s, c)
        c[0] = c[0] * self.wave
        return self.wave * s

    cdef Vec3 orbit(self, double t, Vec3 at) noexcept nogil:
        # velocity of the water in a wave, which decreases with the depth (Airy)
        cdef double c, s = self.surface(t, at, &c), k
        k = self.omega * exp_real(self.wavenumber * min(at.z, s))
        s = k * s / self.wavenumber
        return vec3(s * self.kx, s * self.ky, -k * c)

    cdef double submerged(self, int k, double t, bint still, Vec3 x, Mat3 R, Vec3* r, double* depth) noexcept nogil:
        # length of a column below the surface (or where it would be at rest), its middle in the body and the depth
        # there
        cdef double c, low, high, share, length = self.top - self.bottom
        cdef const double* pillar = self.pillars + 3 * k
        cdef Vec3 foot = add(x, mul(R, vec3(pillar[0], pillar[1], self.bottom)))
        cdef Vec3 head = axpy(length, R.z, foot)
        low = (0.0 if still else self.surface(t, foot, &c)) - foot.z
        high = (0.0 if still else self.surface(t, head, &c)) - head.z
        if low <= 0.0 and high <= 0.0:
            return 0.0
        if low >= 0.0 and high >= 0.0:
            r[0] = vec3(pillar[0], pillar[1], 0.5 * (self.top + self.bottom))
            depth[0] = 0.5 * (low + high)
            return length
        if low > 0.0:
            share = low / (low - high)
            r[0] = vec3(pillar[0], pillar[1], self.bottom + 0.5 * share * length)
            depth[0] = 0.5 * low
        else:
            share = high / (high - low)
            r[0] = vec3(pillar[0], pillar[1], self.top - 0.5 * share * length)
            depth[0] = 0.5 * high
        return share * length

    cdef void act(self, double t, Vec3 x, Mat3 R, Six* F, Blocks* S) noexcept nogil:
        cdef int k
        cdef double depth, share, height, c, wetted = 0.0
        cdef Vec3 r, f, at, up = vec3(R.x.z, R.y.z, R.z.z), first = zero3()
        cdef Sym3 second = zero_sym()
        cdef const double* patch
        RigidBody.act(self, t, x, R, F, S)
        for k in range(self.npillar):
            share = self.submerged(k, t, False, x, R, &r, &depth)
            if share > 0.0:
                f = scale(self.lift * share * self.pillars[3 * k + 2], up)
                F.a = add(F.a, cross(r, f))
                F.b = add(F.b, f)
        for k in range(self.npatch):
            patch = self.patches + 14 * k
            r = load3(patch)
            if self.wave == 0.0:
                height = -x.z - dot(up, r)
            else:
                at = add(x, mul(R, r))
                height = self.surface(t, at, &c) - at.z
            # fraction of the patch below the surface
            share = 0.5 + height / patch[7]
            if share <= 0.0:
                continue
            share = min(share, 1.0) * patch[6]
            wetted += share
            first = axpy(share, r, first)
            second = addsym(second, scaled_sym(share, constant_sym(patch + 8)))
            if self.wave != 0.0 or self.pressure != 0.0:
                f = scale(-self.pressure, load3(patch + 3))
                if self.wave != 0.0:
                    f = add(f, mul(self.resistance, tmul(R, self.orbit(t, at))))
                F.a = axpy(share, cross(r, f), F.a)
                F.b = axpy(share, f, F.b)
        resist(wetted, first, second, self.resistance, tmul(R, self.current), F, S)
        resist(1.0, self.sail, self.sail_second, self.windage, tmul(R, self.wind), F, S)

    cdef double potential(self, Vec3 x, Mat3 R) noexcept nogil:
        # that of the weight, and of the displaced water at rest
        cdef int k
        cdef double depth, length, total = -dot(self.weight, x)
        cdef Vec3 r
        for k in range(self.npillar):
            length = self.submerged(k, 0.0, True, x, R, &r, &depth)
            if length > 0.0:
                total += self.lift * self.pillars[3 * k + 2] * length * depth
        return total


cdef inline Sym3 scaled_sym(double s, Sym3 A) noexcept nogil:
    cdef Sym3 r
    r.xx, r.xy, r.xz, r.yy, r.yz, r.zz = s * A.xx, s * A.xy, s * A.xz, s * A.yy, s * A.yz, s * A.zz
    return r


cdef void resist(double share, Vec3 r, Sym3 second, Mat3 E, Vec3 flow, Six* F, Blocks* S) noexcept nogil:
    # add forces -s E (v + w x r - flow) at positions r: share is the sum of s, r that of s r, second that of s hat(r) E
    # hat(r)
    cdef Vec3 f = mul(E, flow)
    F.a = add(F.a, cross(r, f))
    F.b = axpy(share, f, F.b)
    S.bb = add_scaled(-share, E, S.bb)
    S.ba = add3(S.ba, mat_cross(E, r))
    S.ab = sub3(S.ab, cross_mat(r, E))
    S.aa = add3(S.aa, full(second))
