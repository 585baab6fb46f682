"""The slow, readable oracle: one equation of the theory, one function.

Everything works on a ``Flat`` and is written to be compared with a page of mathematics, not to be
quick. Conventions: a pose (4, 4) maps body to world (or to the parent); twists are (angular,
linear) and wrenches (torque, force), seen in the core frame of their body; quaternions are
(x, y, z, w). Joint coordinates keep the order of ``Flat``: free q = (position, quaternion), free
v = (linear, angular).

Precision follows the arguments: with q of type ``numpy.longdouble`` every formula is evaluated in
it (64 bits of mantissa on x86), which makes differences of an action good to about 1e-15 and lets
the two ``*_step`` functions return correctly rounded steps.

Sources: Lee, Liu, Park, Srinivasa 2016, "A Linear-Time Variational Integrator for Multibody
Systems" (linear-time scheme; signs and gravity corrected where the slot derivatives of its eq. 9
ask for it); Johnson and Murphey 2009, "Scalable Variational Integrators for Constrained Mechanical
Systems in Generalized Coordinates" (midpoint rule); Marsden and West 2001 (discrete momenta);
Iserles et al. 2000 (dexp).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial

import numpy as np
from numpy.polynomial.polynomial import polyder

from vitree.mechanism.flat import BALL, FREE, HELICAL, KIND_NQ, KIND_NV, PRISMATIC, Flat
from vitree.mechanism.loads import Attraction, JointSpring
from vitree.model.user_inputs import Potential

_I3, _I6 = np.eye(3), np.eye(6)

# --------------------------------------------------------------------------- rotations


def hat(w):
    """Matrix (3, 3) of the cross product: hat(w) @ u = w x u."""
    x, y, z = w
    o = x * 0
    return np.array([[o, -z, y], [z, o, -x], [-y, x, o]])


def cross(a, b):
    """a x b."""
    (x, y, z), (u, v, w) = a, b
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def quaternion_product(a, b):
    """Quaternion of R(a) R(b)."""
    u = a[3] * b[:3] + b[3] * a[:3] + cross(a[:3], b[:3])
    return np.append(u, a[3] * b[3] - a[:3] @ b[:3])


def quaternion_conjugate(a):
    """Quaternion of the inverse rotation."""
    return np.append(-a[:3], a[3])


def quaternion_matrix(a):
    """Rotation R (3, 3) of a unit quaternion."""
    u = hat(a[:3])
    return _I3 + 2 * a[3] * u + 2 * u @ u


def quaternion_from_matrix(R):
    """Unit quaternion of a rotation (3, 3), from the best conditioned of its four columns."""
    t = np.trace(R)
    K = np.zeros((4, 4), dtype=R.dtype)  # 4 q q^T
    K[:3, :3] = R + R.T + (1 - t) * _I3
    K[:3, 3] = K[3, :3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = 1 + t
    q = K[:, np.argmax(np.diag(K))]
    return q / np.sqrt(q @ q)


def quaternion_exp(w):
    """Quaternion of the rotation vector w [rad]: (w sin(t/2)/t, cos(t/2)), t = |w|."""
    s = w @ w
    return np.append(w * exp_coefficients(s / 4, 1)[0] / 2, np.cos(np.sqrt(s) / 2))


def quaternion_log(a):
    """Rotation vector [rad] of a unit quaternion, at most pi long."""
    a = -a if a[3] < 0 else a
    n = np.sqrt(a[:3] @ a[:3])
    return a[:3] * (2 * np.arctan2(n, a[3]) / n if n > 0 else 2)


# --------------------------------------------------------------------------- Lie maps


def _exact(fractions):
    return np.array([np.longdouble(f.numerator) / np.longdouble(f.denominator) for f in fractions])


def _bernoulli(count):
    """Bernoulli numbers B_0 .. B_count, exact."""
    B = [Fraction(1)]
    for m in range(1, count + 1):
        total = sum(
            Fraction(factorial(m + 1), factorial(k) * factorial(m + 1 - k)) * B[k] for k in range(m)
        )
        B.append(-total / (m + 1))
    return B


_TERMS = 32
_BETA = _exact([Fraction((-1) ** n, factorial(2 * n + 2)) for n in range(_TERMS)])
_DELTA = _exact([Fraction((-1) ** n, factorial(2 * n + 3)) for n in range(_TERMS)])
_GAMMA = _exact(
    [abs(b) / factorial(2 * n) for n, b in enumerate(_bernoulli(2 * _TERMS)[::2]) if n > 0]
)
_GAMMA1 = 2 * polyder(_GAMMA)
_GAMMA2 = 2 * polyder(_GAMMA1)
#: Below s = 4 the terms after these are beneath 1e-25.
_EXP = [c[:18] for c in (_DELTA, _BETA, 2 * polyder(_BETA), 2 * polyder(_DELTA))]
_LOG = [_GAMMA, _GAMMA1, _GAMMA2]
_SERIES = {
    np.dtype(kind): tuple([list(c.astype(kind)[::-1]) for c in part] for part in (_EXP, _LOG))
    for kind in (float, np.longdouble)
}


def _sums(s, series):
    """The values of power series at s, by Horner's rule; coefficients from the last to the first."""
    found = []
    for last, *others in series:
        total = last
        for c in others:
            total = c + total * s
        found.append(total)
    return found


def exp_coefficients(s, count=5):
    """The first of A, beta, delta, beta1, delta1 of s = t^2, where x1 stands for (1/t) dx/dt.

    A = sin(t)/t, beta = (1 - cos t)/s, delta = (1 - A)/s; series below t = 2, where the closed
    forms cancel.
    """
    if s < 4:
        delta, *more = _sums(s, _SERIES[s.dtype][0][: max(1, count - 1)])
        return 1 - s * delta, *more[:1], delta, *more[1:]
    t = np.sqrt(s)
    A = np.sin(t) / t
    beta, delta = 2 * np.sin(t / 2) ** 2 / s, (1 - A) / s
    return A, beta, delta, (A - 2 * beta) / s, (beta - 3 * delta) / s


def log_coefficients(s):
    """gamma, gamma1, gamma2 of s = t^2: gamma = (1 - (t/2) cot(t/2))/s and its derivatives.

    gamma1 = (1/t) dgamma/dt and so on; series in Bernoulli numbers below t = 2.5.
    """
    if s < 6.25:
        return tuple(_sums(s, _SERIES[s.dtype][1]))
    t = np.sqrt(s)
    g = t / 2 / np.tan(t / 2)
    gamma = (1 - g) / s
    gamma1 = (0.25 - gamma * (2 + g)) / s
    gamma2 = -(gamma1 * (4 + g) + gamma * (g * gamma - 0.25)) / s
    return gamma, gamma1, gamma2


def _blocks(a, b, c, d):
    M = np.empty((6, 6), dtype=np.result_type(a, c))
    M[:3, :3], M[:3, 3:], M[3:, :3], M[3:, 3:] = a, b, c, d
    return M


def pose(R, p):
    """Pose (4, 4) of a rotation and a position."""
    R, p = np.asarray(R), np.asarray(p)
    T = np.eye(4, dtype=np.result_type(R, p))
    T[:3, :3], T[:3, 3] = R, p
    return T


def inverse(T):
    """Inverse pose."""
    return pose(T[:3, :3].T, -T[:3, :3].T @ T[:3, 3])


def Ad(T):
    """Ad_T (6, 6): the twist in the frame that T maps to; Ad(inverse(T)) goes parent to child."""
    R = T[:3, :3]
    return _blocks(R, 0, hat(T[:3, 3]) @ R, R)


def ad(V):
    """ad_V (6, 6): ad(V) @ U is the Lie bracket [V, U]."""
    w, v = hat(V[:3]), hat(V[3:])
    return _blocks(w, 0, v, w)


def Pm(F):
    """Matrix (6, 6) of ad_V^T F as a function of V: ad(V).T @ F = Pm(F) @ V."""
    n, f = hat(F[:3]), hat(F[3:])
    return _blocks(n, f, f, 0)


def displacement_exp(x):
    """exp of a twist as (quaternion, position), which keeps small motions to full precision."""
    w, v = x[:3], x[3:]
    _, beta, delta = exp_coefficients(w @ w, 3)[:3]
    return quaternion_exp(w), v + beta * cross(w, v) + delta * cross(w, cross(w, v))


def displacement_log(D):
    """Twist whose exp is the displacement (quaternion, position)."""
    w, p = quaternion_log(D[0]), D[1]
    gamma = log_coefficients(w @ w)[0]
    return np.concatenate([w, p - cross(w, p) / 2 + gamma * cross(w, cross(w, p))])


def displacement_product(D1, D2):
    """The displacement D1 D2."""
    return quaternion_product(D1[0], D2[0]), D1[1] + quaternion_matrix(D1[0]) @ D2[1]


def displacement_conjugate(T, D):
    """T^-1 D T without forming 1 + small: (D_R - 1) t = 2 q0 (u x t) + 2 u x (u x t)."""
    R, t = T[:3, :3], T[:3, 3]
    u, q0 = D[0][:3], D[0][3]
    turned = 2 * q0 * cross(u, t) + 2 * cross(u, cross(u, t))
    return np.append(R.T @ u, q0), R.T @ (turned + D[1])


def exp_se3(x):
    """exp: twist (6,) to pose (4, 4)."""
    a, p = displacement_exp(x)
    return pose(quaternion_matrix(a), p)


def log_se3(T):
    """log: pose (4, 4) to twist (6,), rotation at most pi."""
    return displacement_log((quaternion_from_matrix(T[:3, :3]), T[:3, 3]))


def dexp(x):
    """Right-trivialised derivative (6, 6) of exp: d(exp x) exp(-x) = [dexp(x) dx]."""
    w, v = hat(x[:3]), hat(x[3:])
    _, beta, delta, beta1, delta1 = exp_coefficients(x[:3] @ x[:3])
    J = _I3 + beta * w + delta * w @ w
    B = beta * v + delta * (w @ v + v @ w) + (x[:3] @ x[3:]) * (beta1 * w + delta1 * w @ w)
    return _blocks(J, 0, B, J)


def dlog(x):
    """Inverse (6, 6) of dexp(x)."""
    w, v = hat(x[:3]), hat(x[3:])
    gamma, gamma1, _ = log_coefficients(x[:3] @ x[:3])
    J = _I3 - w / 2 + gamma * w @ w
    C = -v / 2 + gamma * (w @ v + v @ w) + gamma1 * (x[:3] @ x[3:]) * w @ w
    return _blocks(J, 0, C, J)


def dlogT(x, F):
    """dlog(x).T @ F."""
    return dlog(x).T @ F


def ddlogT(x, F):
    """Derivative (6, 6) of dlog(x).T @ F with respect to x, F held."""
    w, v, a, b = x[:3], x[3:], F[:3], F[3:]
    W, B = hat(w), hat(b)
    gamma, gamma1, gamma2 = log_coefficients(w @ w)
    wb = cross(w, b)
    vb = cross(v, b)
    wwb = cross(w, wb)

    def E(c):
        wc = cross(w, c)
        return -hat(c) / 2 - gamma * (hat(wc) + W @ hat(c)) + gamma1 * np.outer(cross(w, wc), w)

    H = (
        -gamma * (hat(vb) + hat(v) @ B)
        - gamma1 * (w @ v) * (hat(wb) + W @ B)
        + gamma1 * (np.outer(cross(w, vb) + cross(v, wb), w) + np.outer(wwb, v))
        + gamma2 * (w @ v) * np.outer(wwb, w)
    )
    return _blocks(E(a) + H, E(b), E(b), 0)


# --------------------------------------------------------------------------- joints


@cache
def _slices(sizes):
    ends = np.cumsum(sizes)
    return [slice(int(e - n), int(e)) for e, n in zip(ends, sizes, strict=True)]


def q_slices(flat: Flat):
    """Where each body's joint has its coordinates in q."""
    return _slices(tuple(KIND_NQ[flat.kind].tolist()))


def v_slices(flat: Flat):
    """Where each body's joint has its coordinates in v."""
    return _slices(tuple(KIND_NV[flat.kind].tolist()))


def size(flat: Flat):
    """(nq, nv)."""
    return int(KIND_NQ[flat.kind].sum()), int(KIND_NV[flat.kind].sum())


def joint_subspace(flat: Flat, i: int):
    """S_i (6, nv of the joint): body twist relative to the parent is S_i v_i; constant."""
    kind = flat.kind[i]
    if kind == FREE:
        return _I6[:, [3, 4, 5, 0, 1, 2]]  # v = (linear, angular)
    if kind == BALL:
        return _I6[:, :3]
    turn = 0.0 if kind == PRISMATIC else 1.0
    slide = {PRISMATIC: 1.0, HELICAL: flat.pitch[i]}.get(int(kind), 0.0)
    return np.array([[0.0, 0.0, turn, 0.0, 0.0, slide]]).T


def joint_projection(flat: Flat, i: int):
    """Left inverse (nv of the joint, 6) of S_i, whose columns are orthogonal and equally long."""
    S = joint_subspace(flat, i).astype(np.longdouble)
    return S.T / (S[:, 0] @ S[:, 0])


def joint_motion(flat: Flat, i: int, qi):
    """J_i (4, 4): how the joint moves its core frame from the place at q = 0."""
    kind = flat.kind[i]
    if kind == FREE:
        return pose(quaternion_matrix(qi[3:]), qi[:3])
    if kind == BALL:
        return pose(quaternion_matrix(qi), np.zeros(3))
    return exp_se3(joint_subspace(flat, i)[:, 0] * qi[0])


def joint_transform(flat: Flat, i: int, q):
    """T_i = T0 J(q) (4, 4): pose of body i's core frame in its parent's."""
    return pose(flat.E[i], flat.p[i]) @ joint_motion(flat, i, q[q_slices(flat)[i]])


def neutral(flat: Flat, dtype=float):
    """The configuration q = 0, unit quaternions where there are any."""
    q = np.zeros(size(flat)[0], dtype=dtype)
    for kind, s in zip(flat.kind, q_slices(flat), strict=True):
        if kind in (BALL, FREE):
            q[s.stop - 1] = 1
    return q


def normalised(flat: Flat, q):
    """q with its quaternions scaled to unit length in q's own precision."""
    q = np.array(q)
    for kind, s in zip(flat.kind, q_slices(flat), strict=True):
        if kind in (BALL, FREE):
            a = q[s.stop - 4 : s.stop]
            q[s.stop - 4 : s.stop] = a / np.sqrt(a @ a)
    return q


def integrate(flat: Flat, q, dq):
    """q exp(dq), joint by joint: J(q) exp(S dq)."""
    out = np.array(q, dtype=np.result_type(q, dq))
    for kind, s, r in zip(flat.kind, q_slices(flat), v_slices(flat), strict=True):
        x, d = q[s], dq[r]
        if kind == FREE:
            a, t = displacement_exp(np.concatenate([d[3:], d[:3]]))
            out[s] = np.append(x[:3] + quaternion_matrix(x[3:]) @ t, quaternion_product(x[3:], a))
        elif kind == BALL:
            out[s] = quaternion_product(x, quaternion_exp(d))
        else:
            out[s] = x + d
    return normalised(flat, out)


def difference(flat: Flat, q0, q1):
    """The dq of ``integrate(flat, q0, dq) == q1``, rotations at most pi."""
    dq = np.zeros(size(flat)[1], dtype=np.result_type(q0, q1))
    for kind, s, r in zip(flat.kind, q_slices(flat), v_slices(flat), strict=True):
        x, y = q0[s], q1[s]
        if kind == FREE:
            a = quaternion_conjugate(x[3:])
            t = quaternion_matrix(a) @ (y[:3] - x[:3])
            d = displacement_log((quaternion_product(a, y[3:]), t))
            dq[r] = np.concatenate([d[3:], d[:3]])
        elif kind == BALL:
            dq[r] = quaternion_log(quaternion_product(quaternion_conjugate(x), y))
        else:
            dq[r] = y - x
    return dq


def compose_increments(flat: Flat, a, b):
    """The increment of doing a, then b: log(exp(a) exp(b)), precise for small ones."""
    origin = neutral(flat, np.result_type(a, b))
    return difference(flat, origin, integrate(flat, integrate(flat, origin, a), b))


def joint_dlog(flat: Flat, i: int, x):
    """Inverse derivative of the joint's own exp (nv of the joint, square), right-trivialised."""
    S = joint_subspace(flat, i)
    return joint_projection(flat, i).astype(x.dtype) @ dlog(S @ x) @ S


# --------------------------------------------------------------------------- kinematics


def relative_poses(flat: Flat, q):
    """T_i of every body, parent's core frame."""
    return [joint_transform(flat, i, q) for i in range(len(flat.kind))]


def body_poses(flat: Flat, q):
    """X_WB of every body (nbody, 4, 4)."""
    X = []
    for T, k in zip(relative_poses(flat, q), flat.parent, strict=True):
        X.append(X[k] @ T if k >= 0 else T)
    return np.array(X)


def body_twists(flat: Flat, q, v):
    """V_i = X_i V_p + S_i v_i (nbody, 6)."""
    V = []
    for i, T in enumerate(relative_poses(flat, q)):
        k = flat.parent[i]
        carried = Ad(inverse(T)) @ V[k] if k >= 0 else 0
        V.append(carried + joint_subspace(flat, i) @ v[v_slices(flat)[i]])
    return np.array(V)


def body_jacobians(flat: Flat, q):
    """J_i (nbody, 6, nv): body twist V_i = J_i v."""
    nv, J = size(flat)[1], []
    for i, T in enumerate(relative_poses(flat, q)):
        k = flat.parent[i]
        Ji = Ad(inverse(T)) @ J[k] if k >= 0 else np.zeros((6, nv), dtype=T.dtype)
        Ji[:, v_slices(flat)[i]] += joint_subspace(flat, i)
        J.append(Ji)
    return np.array(J)


def frame_pose(flat: Flat, name: str, q):
    """Pose (4, 4) of a named frame in the world."""
    f = flat.frame_names.index(name)
    X, place = body_poses(flat, q), pose(flat.frame_E[f], flat.frame_p[f])
    return X[flat.frame_body[f]] @ place if flat.frame_body[f] >= 0 else place


def frame_jacobian_local(flat: Flat, name: str, q):
    """Jacobian (6, nv) of the frame's own twist: rows (angular, linear), in its own axes."""
    f = flat.frame_names.index(name)
    if flat.frame_body[f] < 0:
        return np.zeros((6, size(flat)[1]))
    place = pose(flat.frame_E[f], flat.frame_p[f])
    return Ad(inverse(place)) @ body_jacobians(flat, q)[flat.frame_body[f]]


def frame_jacobian(flat: Flat, name: str, q):
    """Jacobian (6, nv) at the frame's origin, rows (angular, linear) in world axes."""
    R = frame_pose(flat, name, q)[:3, :3]
    return np.kron(np.eye(2), R) @ frame_jacobian_local(flat, name, q)


# --------------------------------------------------------------------------- dynamics


def spatial_inertia(flat: Flat, i: int):
    """G_i (6, 6) about the core frame's origin."""
    m, c = flat.mass[i], hat(flat.com[i])
    return _blocks(flat.inertia[i] - m * c @ c, m * c, -m * c, m * _I3)


def gravity_acceleration(flat: Flat, X):
    """a_g = (0, R^T g) of a body at pose X."""
    return np.concatenate([np.zeros(3), X[:3, :3].T @ flat.gravity])


def gravity_wrenches(flat: Flat, q):
    """W_i = G_i a_g (nbody, 6)."""
    return np.array(
        [
            spatial_inertia(flat, i) @ gravity_acceleration(flat, X)
            for i, X in enumerate(body_poses(flat, q))
        ]
    )


def project(flat: Flat, q, F):
    """Joint forces S_i^T (sum of the wrenches F (nbody, 6) on the subtree of i), (nv,)."""
    F = np.array(F)
    F = F.astype(np.result_type(F, q))
    out = np.zeros(size(flat)[1], dtype=F.dtype)
    T = relative_poses(flat, q)
    for i in reversed(range(len(flat.kind))):
        out[v_slices(flat)[i]] = joint_subspace(flat, i).T @ F[i]
        if flat.parent[i] >= 0:
            F[flat.parent[i]] += Ad(inverse(T[i])).T @ F[i]
    return out


def rnea(flat: Flat, q, v, a):
    """Joint forces of a motion, Newton-Euler: F = G A - ad_V^T G V; no joint damping."""
    V, A, F = body_twists(flat, q, v), [], []
    for i, T in enumerate(relative_poses(flat, q)):
        k, S, r = flat.parent[i], joint_subspace(flat, i), v_slices(flat)[i]
        base = A[k] if k >= 0 else -np.concatenate([np.zeros(3), flat.gravity])
        G = spatial_inertia(flat, i)
        A.append(Ad(inverse(T)) @ base + S @ a[r] + ad(V[i]) @ S @ v[r])
        F.append(G @ A[i] - ad(V[i]).T @ G @ V[i])
    return project(flat, q, F) + flat.armature * a


def crba(flat: Flat, q):
    """Mass matrix M = sum J_i^T G_i J_i + diag(armature) (nv, nv)."""
    J = body_jacobians(flat, q)
    return sum(Ji.T @ spatial_inertia(flat, i) @ Ji for i, Ji in enumerate(J)) + np.diag(flat.armature)


def solve(A, b):
    """A^-1 b in the precision of A and b: a float64 solution, refined."""
    B = np.asarray(A, float)
    x = np.linalg.solve(B, np.asarray(b, float)).astype(np.result_type(A, b))
    for _ in range(3):
        x = x + np.linalg.solve(B, np.asarray(b - A @ x, float))
    return x


def aba(flat: Flat, q, v, tau):
    """Accelerations M^-1 (tau - rnea(q, v, 0)); no joint damping."""
    return solve(crba(flat, q), tau - rnea(flat, q, v, np.zeros_like(v)))


def drag(flat: Flat, v):
    """Damping and smooth Coulomb friction against the motion: d v + f v/sqrt(v^2 + e^2), (nv,)."""
    return flat.damping * v + flat.friction * v / np.sqrt(v**2 + flat.friction_velocity**2)


def drag_slope(flat: Flat, v):
    """Its derivative by v, (nv,): d + f e^2/(v^2 + e^2)^(3/2)."""
    e = flat.friction_velocity
    return flat.damping + flat.friction * e**2 / (v**2 + e**2) ** np.longdouble(1.5)


def acceleration(flat: Flat, q, v, tau=0.0, wrench=None):
    """Accelerations with joint damping, friction and body wrenches (nbody, 6), core frames."""
    push = 0.0 if wrench is None else project(flat, q, wrench)
    return aba(flat, q, v, tau + push - drag(flat, v))


def kinetic_energy(flat: Flat, q, v):
    """1/2 sum V^T G V + 1/2 v^T armature v [J]."""
    V = body_twists(flat, q, v)
    return (sum(Vi @ spatial_inertia(flat, i) @ Vi for i, Vi in enumerate(V)) + v @ (flat.armature * v)) / 2


def potential_energy(flat: Flat, q):
    """-sum m g . c [J], zero for centres of mass at the world origin."""
    X = body_poses(flat, q)
    return -sum(
        m * flat.gravity @ (Xi[:3, :3] @ c + Xi[:3, 3])
        for m, c, Xi in zip(flat.mass, flat.com, X, strict=True)
    )


def momentum(flat: Flat, q, v):
    """Spatial momentum (angular, linear) (6,) about the world origin, world axes."""
    X, V = body_poses(flat, q), body_twists(flat, q, v)
    return sum(
        Ad(inverse(Xi)).T @ spatial_inertia(flat, i) @ Vi
        for i, (Xi, Vi) in enumerate(zip(X, V, strict=True))
    )


def center_of_mass(flat: Flat, q):
    """Centre of mass of the moving bodies (3,) [m], world."""
    X = body_poses(flat, q)
    return sum(
        m * (Xi[:3, :3] @ c + Xi[:3, 3]) for m, c, Xi in zip(flat.mass, flat.com, X, strict=True)
    ) / sum(flat.mass)


# --------------------------------------------------------------------------- differences


def derivative(f, n, dtype=np.longdouble):
    """Derivative of f at 0 in R^n, sixth-order central differences; columns are directions."""
    step = np.finfo(dtype).eps ** np.longdouble(1 / 7)
    columns = []
    for j in range(n):
        e = np.zeros(n, dtype=dtype)
        e[j] = step
        near, mid, far = (f(k * e) - f(-k * e) for k in (1, 2, 3))
        columns.append((45 * near - 9 * mid + far) / (60 * step))
    return np.stack(columns, axis=-1)


def slot_derivatives_by_differences(action, flat: Flat, q1, q2):
    """D1 and D2 (nv,) of action(q1, q2), by body variations q -> q exp(e) of either slot."""
    q1, q2 = (normalised(flat, np.asarray(q, np.longdouble)) for q in (q1, q2))
    nv = size(flat)[1]
    D1 = derivative(lambda e: action(integrate(flat, q1, e), q2), nv)
    D2 = derivative(lambda e: action(q1, integrate(flat, q2, e)), nv)
    return D1, D2


# --------------------------------------------------------------------------- linear-time scheme


def average_twists(flat: Flat, q1, dq, h):
    """V_i = log(DT_i)/h, DT_i = T_i(q1)^-1 DT_p T_i(q2), T_i(q2) = T_i(q1) exp(S dq)."""
    D, V = [], []
    for i, T in enumerate(relative_poses(flat, q1)):
        k = flat.parent[i]
        D.append(displacement_exp(joint_subspace(flat, i) @ dq[v_slices(flat)[i]]))
        if k >= 0:
            D[i] = displacement_product(displacement_conjugate(T, D[k]), D[i])
        V.append(displacement_log(D[i]) / h)
    return np.array(V)


def com_displacement(flat: Flat, i, V, h):
    """Of the centre of mass over a step with the average twist V, and the turn, in the axes of node 1."""
    D = exp_se3(h * V)
    R, c = D[:3, :3], flat.com[i]
    return D[:3, 3] + (R @ c - c), R


def linear_time_action(flat: Flat, q1, q2, h, kinetic="screw"):
    """Ld = sum h/2 V^T G V + h/2 v^T armature v - h/2 (P(q1) + P(q2)), v = (q2 - q1)/h (Lee et al. 2016, eq. 9).

    split: sum 1/(2h) (w^T I w + m |p|^2) for the first sum, with the turn w and the displacement p of the COM.
    """
    V = average_twists(flat, q1, difference(flat, q1, q2), h)
    if kinetic == "screw":
        kinetic = sum(Vi @ spatial_inertia(flat, i) @ Vi for i, Vi in enumerate(V)) / 2
    else:
        moves = [com_displacement(flat, i, Vi, h)[0] / h for i, Vi in enumerate(V)]
        kinetic = sum(Vi[:3] @ flat.inertia[i] @ Vi[:3] + flat.mass[i] * (u @ u)
                      for i, (Vi, u) in enumerate(zip(V, moves, strict=True))) / 2  # fmt: skip
    v = difference(flat, q1, q2) / h
    kinetic = kinetic + v @ (flat.armature * v) / 2
    return h * kinetic - h / 2 * (potential_energy(flat, q1) + potential_energy(flat, q2))


def body_momenta(flat: Flat, V, h):
    """Momenta at the two ends of the interval: mu- = dlog_{hV}^T G V, mu+ = dlog_{-hV}^T G V."""
    GV = [spatial_inertia(flat, i) @ Vi for i, Vi in enumerate(V)]
    minus = np.array([dlogT(h * Vi, F) for Vi, F in zip(V, GV, strict=True)])
    plus = np.array([dlogT(-h * Vi, F) for Vi, F in zip(V, GV, strict=True)])
    return minus, plus


def split_momenta(flat: Flat, V, h):
    """The same of split: the force m p/h, and about the COM the torque dlog_{+-w}^T I w/h."""
    minus, plus = [], []
    for i, Vi in enumerate(V):
        w, c = h * Vi[:3], flat.com[i]
        p, R = com_displacement(flat, i, Vi, h)
        f, g = flat.mass[i] * p / h, np.concatenate((flat.inertia[i] @ Vi[:3], np.zeros(3)))
        for out, sign, force in ((minus, 1, f), (plus, -1, R.T @ f)):
            n = dlogT(np.concatenate((sign * w, np.zeros(3))), g)[:3]
            out.append(np.concatenate((n + np.cross(c, force), force)))
    return np.array(minus), np.array(plus)


MOMENTA = {"screw": body_momenta, "com": split_momenta}


def linear_time_slots(flat: Flat, q1, dq, h, kinetic="screw"):
    """D1 Ld, D2 Ld (nv,): project(-mu- + h/2 W) at q1, project(mu+ + h/2 W) at q2."""
    q2 = integrate(flat, q1, dq)
    minus, plus = MOMENTA[kinetic](flat, average_twists(flat, q1, dq, h), h)
    D1 = project(flat, q1, -minus + h / 2 * gravity_wrenches(flat, q1))
    D2 = project(flat, q2, plus + h / 2 * gravity_wrenches(flat, q2))
    return D1 - flat.armature * dq / h, D2 + flat.armature * dq / h


def half_impulse(flat: Flat, q, dq, h, tau=None, wrench=None):
    """Half the impulse of the loads that no potential has: h/2 (tau + project(F) - drag(dq/h))."""
    force = np.zeros_like(dq) if tau is None else np.asarray(tau)
    if wrench is not None:
        force = force + project(flat, q, wrench)
    return h / 2 * (force - drag(flat, dq / h))


def linear_time_residual(flat: Flat, q1, p1, dq, h, tau=None, wrench=None, kinetic="screw"):
    """f = -D1 Ld - f- - p1 (nv,), zero at the step; tau (nv,), wrench (nbody, 6) core frames."""
    D1, _ = linear_time_slots(flat, q1, dq, h, kinetic)
    return -D1 - half_impulse(flat, q1, dq, h, tau, wrench) - p1


def linear_time_end(flat: Flat, q1, dq, h, tau=None, wrench=None, kinetic="screw"):
    """q2 and p2 = D2 Ld + f+ of an increment."""
    q2 = integrate(flat, q1, dq)
    _, D2 = linear_time_slots(flat, q1, dq, h, kinetic)
    return q2, D2 + half_impulse(flat, q2, dq, h, tau, wrench)


def drnea(flat: Flat, q0, q1, q2, h):
    """f = -(D2 Ld(q0, q1) + D1 Ld(q1, q2)) (nv,): Lee et al. 2016, eq. 21, with gravity."""
    D1, _ = linear_time_slots(flat, q1, difference(flat, q1, q2), h)
    _, D2 = linear_time_slots(flat, q0, difference(flat, q0, q1), h)
    return -(D2 + D1)


def twist_block(flat: Flat, i, V, h):
    """K, derivative (6, 6) of mu- by body variations at node 2."""
    G = spatial_inertia(flat, i)
    return (dlog(h * V).T @ G + h * ddlogT(h * V, G @ V)) @ dlog(-h * V) / h


def split_block(flat: Flat, i, V, h):
    """The same of split: the turn varies by dlog_{-w}, the COM's displacement by R (v + omega x c)."""
    w, c, zero = np.concatenate((h * V[:3], np.zeros(3))), flat.com[i], np.zeros((3, 3))
    _, R = com_displacement(flat, i, V, h)
    g = np.concatenate((flat.inertia[i] @ V[:3], np.zeros(3)))
    n = (dlog(w).T[:3, :3] @ flat.inertia[i] + h * ddlogT(w, g)[:3, :3]) @ dlog(-w)[:3, :3] / h
    f = flat.mass[i] / h * np.hstack((-R @ hat(c), R))
    return np.vstack((np.hstack((n, zero)) + hat(c) @ f, f))


def linear_time_jacobian(flat: Flat, q1, dq, h, kinetic="screw"):
    """Derivative (nv, nv) of the residual by body variations of q2, with 6x6 blocks K_i.

    K = (dlog_{hV}^T G + h d/dx (dlog_x^T G V)) dlog_{-hV} / h; zeta_i = X_i(q2) zeta_p + S d;
    dF_i = K_i zeta_i + sum X_c(q1)^T dF_c; row i is S^T dF_i + (c/2) dlog_{-dq},
    c the slope of the drag at dq/h and 2/h times the armature.
    """
    nv, r = size(flat)[1], v_slices(flat)
    V = average_twists(flat, q1, dq, h)
    X1 = [Ad(inverse(T)) for T in relative_poses(flat, q1)]
    X2 = [Ad(inverse(T)) for T in relative_poses(flat, integrate(flat, q1, dq))]
    zeta, dF = [], []
    for i, Vi in enumerate(V):
        k = flat.parent[i]
        z = X2[i] @ zeta[k] if k >= 0 else np.zeros((6, nv), dtype=V.dtype)
        z[:, r[i]] += joint_subspace(flat, i)
        K = (twist_block if kinetic == "screw" else split_block)(flat, i, Vi, h)
        zeta.append(z)
        dF.append(K @ z)
    J, c = np.zeros((nv, nv), dtype=V.dtype), drag_slope(flat, dq / h) + 2 / h * flat.armature
    for i in reversed(range(len(V))):
        J[r[i]] = joint_subspace(flat, i).T @ dF[i]
        J[r[i], r[i]] += c[r[i], None] / 2 * joint_dlog(flat, i, -dq[r[i]])
        if flat.parent[i] >= 0:
            dF[flat.parent[i]] += X1[i].T @ dF[i]
    return J


def linear_time_jacobian_by_differences(flat: Flat, q1, dq, h, kinetic="screw"):
    """The same by differences of the residual."""
    q1, dq = normalised(flat, np.asarray(q1, np.longdouble)), np.asarray(dq, np.longdouble)

    def f(e):
        d = compose_increments(flat, dq, e)
        return linear_time_residual(flat, q1, 0 * dq, d, h, kinetic=kinetic)

    return derivative(f, len(dq))


def _newton(residual, jacobian, update, x, scale):
    """Newton down to the floor of the arithmetic; raises where it does not get there."""
    eps, best = np.finfo(x.dtype).eps, np.inf
    for _ in range(40):
        r = residual(x)
        error = np.max(np.abs(r))
        if error <= eps * scale or (error < 1e4 * eps * scale and error > best / 4):
            return x
        best = min(best, error)
        x = update(x, solve(jacobian(x), -r))
    raise ArithmeticError(f"Newton stays at {best:.1e}, eps scale = {eps * scale:.1e}")


def _first_guess(flat, q, p, h, tau, wrench):
    """dq = h v + h^2/2 a."""
    v = solve(crba(flat, q), p)
    return h * v + h * h / 2 * acceleration(flat, q, v, 0.0 if tau is None else tau, wrench)


def linear_time_step(flat: Flat, q, p, h, tau=None, wrench=None, kinetic="screw"):
    """(q2, p2) one step of h after (q, p), by Newton in extended precision.

    Returned in the precision of q. ``tau`` (nv,) [N or N m] and ``wrench`` (nbody, 6), body i's
    (torque, force) in its core frame, are constant over the step.
    """
    kind = np.asarray(q).dtype
    q = normalised(flat, np.asarray(q, np.longdouble))
    p, h = np.asarray(p, np.longdouble), np.longdouble(h)
    dq = _newton(
        lambda x: linear_time_residual(flat, q, p, x, h, tau, wrench, kinetic),
        lambda x: linear_time_jacobian(flat, q, x, h, kinetic),
        lambda x, d: compose_increments(flat, x, d),
        _first_guess(flat, q, p, h, tau, wrench),
        1 + np.max(np.abs(p)),
    )
    q2, p2 = linear_time_end(flat, q, dq, h, tau, wrench, kinetic)
    return q2.astype(kind), p2.astype(kind)


# --------------------------------------------------------------------------- linear-time scheme, springs solved for


def halfway(flat: Flat, q1, q2):
    """The configuration between q1 and q2: half of each turn, and the mean of all that slides."""
    qm = integrate(flat, q1, difference(flat, q1, q2) / 2)
    for kind, s in zip(flat.kind, q_slices(flat), strict=True):
        if kind == FREE:
            qm[s][:3] = (q1[s][:3] + q2[s][:3]) / 2
    return qm


def between(flat: Flat, load, q):
    """The vector from point b to point a of a load."""
    place = lambda name: np.zeros(3) if name == "world" else frame_pose(flat, name, q)[:3, 3]  # noqa: E731
    return place(load.a) - place(load.b)


def coordinate(flat: Flat, load, q):
    """Of the load's joint."""
    return next(q[joint.q_slice.start] for joint in flat.joints if joint.name == load.joint)


def mean_potential(flat: Flat, load, q1, q2):
    """V of a load at the mean of the nodes: of a coordinate, a distance, a vector, or halfway in all joints."""
    length = lambda d: np.sqrt(d @ d)  # noqa: E731
    if isinstance(load, Potential):
        return load.energy(None, halfway(flat, q1, q2))
    if isinstance(load, JointSpring):
        return load.stiffness * ((coordinate(flat, load, q1) + coordinate(flat, load, q2)) / 2 - load.rest) ** 2 / 2
    d1, d2 = between(flat, load, q1), between(flat, load, q2)
    mean = (length(d1) + length(d2)) / 2
    if isinstance(load, Attraction):
        return -load.constant * load.mass_a * load.mass_b / mean
    stretch = length((d1 + d2) / 2) if load.length == 0 else mean - load.length
    return load.stiffness * stretch**2 / 2


def averaged_slots(flat: Flat, q1, q2, h, kinetic="screw"):
    """D1 Ld, D2 Ld (nv,) of springs="averaged", Ld = linear_time_action - h sum of mean_potential.

    Those of the bare tree, and by differences those of the loads. A step has p1 = -D1 Ld, p2 = D2 Ld.
    """
    loads = lambda a, b: -h * sum(mean_potential(flat, x, a, b) for x in flat.loads)  # noqa: E731
    bare = linear_time_slots(flat, q1, difference(flat, q1, q2), h, kinetic)
    return tuple(x + y for x, y in zip(bare, slot_derivatives_by_differences(loads, flat, q1, q2), strict=True))


# --------------------------------------------------------------------------- midpoint scheme


def midpoint_action(flat: Flat, q1, q2, h, alpha=0.5, kinetic="midpoint"):
    """Ld = h L(q_m, x/h), x = q2 - q1, q_m = q1 + alpha x, in the sense of each joint.

    relative: with what :func:`tree_action` has more.
    """
    x = difference(flat, q1, q2)
    qm = integrate(flat, q1, alpha * x)
    bare = h * (kinetic_energy(flat, qm, x / h) - potential_energy(flat, qm))
    return bare if kinetic == "midpoint" else bare + tree_action(flat, q1, q2, h, alpha)


def floating(flat: Flat):
    """Trees that float: (bodies, projector on the directions of a free joint or of sliding ones at the root)."""
    found = []
    for root in np.flatnonzero(np.asarray(flat.parent) < 0):
        bodies, axes, at, E = [root], np.zeros((3, 0)), root, np.eye(3)
        for i in range(root + 1, len(flat.parent)):
            if flat.parent[i] in bodies:
                bodies.append(i)
        while flat.kind[at] in (PRISMATIC, FREE):
            E = E @ flat.E[at]
            axes = np.eye(3) if flat.kind[at] == FREE else np.column_stack((axes, E[:, 2]))
            on = np.flatnonzero(np.asarray(flat.parent) == at)
            if flat.kind[at] == FREE or flat.mass[at] or len(on) != 1:
                break
            at = on[0]
        if axes.size and np.asarray(flat.mass)[bodies].sum() > 0:
            found.append((bodies, axes @ np.linalg.pinv(axes)))
    return found


def tree_action(flat: Flat, q1, q2, h, alpha=0.5):
    """What relative has more: of each tree's COM C, along its directions D, T and g.C by the nodes, not in the middle.

    M/(2h) dC.D dC - (h/2) M C'.D C' + h M g.D ((C1 + C2)/2 - C_m), dC = C2 - C1, C_m and C' at q_m.
    """
    x = difference(flat, q1, q2)
    qm = integrate(flat, q1, alpha * x)
    poses = [body_poses(flat, q) for q in (q1, qm, q2)]
    V, total = body_twists(flat, qm, x / h), 0
    for bodies, D in floating(flat):
        M, g = sum(flat.mass[i] for i in bodies), np.asarray(flat.gravity)
        C1, Cm, C2 = (
            sum(flat.mass[i] * (X[i][:3, :3] @ flat.com[i] + X[i][:3, 3]) for i in bodies) / M for X in poses
        )
        own = [V[i][3:] + np.cross(V[i][:3], flat.com[i]) for i in range(len(V))]
        rate = sum(flat.mass[i] * poses[1][i][:3, :3] @ own[i] for i in bodies) / M
        d = C2 - C1
        total = total + M / (2 * h) * d @ D @ d - h * M / 2 * rate @ D @ rate + h * M * (D @ g) @ ((C1 + C2) / 2 - Cm)
    return total


def _midpoint_sweep(flat, q1, x, h, alpha, wrench):
    """Poses, twists U (before the joint), V (after), momenta pi, forces gam, at q_m."""
    qm = integrate(flat, q1, alpha * x)
    T = relative_poses(flat, qm)
    X = [Ad(inverse(Ti)) for Ti in T]
    V = body_twists(flat, qm, x / h)
    pi = np.array([spatial_inertia(flat, i) @ Vi for i, Vi in enumerate(V)])
    gam = gravity_wrenches(flat, qm) + (0 if wrench is None else wrench)
    U = np.zeros_like(V)
    for i in reversed(range(len(V))):
        k = flat.parent[i]
        if k >= 0:
            U[i] = X[i] @ V[k]
            pi[k] += X[i].T @ pi[i]
            gam[k] += X[i].T @ gam[i]
    return qm, X, U, V, pi, gam


def midpoint_maps(xi, alpha):
    """Ea = Ad_{exp(-a xi)} - a dexp_{-a xi} dlog_xi and Eb = a dexp_{-a xi} dlog_{-xi}."""
    Psi = dexp(-alpha * xi)
    Ea = Ad(exp_se3(-alpha * xi)) - alpha * Psi @ dlog(xi)
    return Ea, alpha * Psi @ dlog(-xi)


def _joint_force(flat, i, x, h, tau):
    """phi (6,): tau - drag(x/h) as a wrench that works on the joint's motion only."""
    r = v_slices(flat)[i]
    force = (0 if tau is None else np.asarray(tau)[r]) - drag(flat, x / h)[r]
    return joint_projection(flat, i).T.astype(x.dtype) @ force


def midpoint_slots(flat: Flat, q1, x, h, alpha=0.5, tau=None, wrench=None):
    """D1, D2 (nv,) of Ld, forces at q_m included: p1 = -D1, p2 = D2.

    D1 = S^T (h Ea^T F - dlog_xi^T pi), D2 = S^T (h Eb^T F + dlog_{-xi}^T pi), xi = S x,
    F = ad_U^T pi + gam + phi. On one-coordinate joints Ea = 1 - alpha, Eb = alpha.
    """
    _, _, U, _, pi, gam = _midpoint_sweep(flat, q1, x, h, alpha, wrench)
    D1, D2 = np.zeros_like(x), np.zeros_like(x)
    for i, r in enumerate(v_slices(flat)):
        S = joint_subspace(flat, i)
        xi = S @ x[r]
        Ea, Eb = midpoint_maps(xi, alpha)
        F = ad(U[i]).T @ pi[i] + gam[i] + _joint_force(flat, i, x, h, tau)
        D1[r] = S.T @ (h * Ea.T @ F - dlogT(xi, pi[i]))
        D2[r] = S.T @ (h * Eb.T @ F + dlogT(-xi, pi[i]))
    return D1 - flat.armature * x / h, D2 + flat.armature * x / h


def relative_slots(flat: Flat, q1, x, h, alpha=0.5, tau=None, wrench=None):
    """The same with kinetic="relative": those of the paper, and by differences those of :func:`tree_action`."""
    bare = midpoint_slots(flat, q1, x, h, alpha, tau, wrench)
    more = slot_derivatives_by_differences(
        lambda a, b: tree_action(flat, a, b, h, alpha), flat, q1, integrate(flat, q1, x)
    )
    return tuple(np.asarray(a + b) for a, b in zip(bare, more, strict=True))


def relative_jacobian(flat: Flat, q1, x, h, alpha=0.5):
    """dD1/dx (nv, nv) of that, by differences."""
    q1, x = normalised(flat, np.asarray(q1, np.longdouble)), np.asarray(x, np.longdouble)

    def bent(e):
        return slot_derivatives_by_differences(
            lambda a, b: tree_action(flat, a, b, h, alpha), flat, q1, integrate(flat, q1, x + e)
        )[0]

    return midpoint_jacobian(flat, q1, x, h, alpha) + _coarse_derivative(bent, len(x))


def _coarse_derivative(f, n):
    """As :func:`derivative`, of what is a difference itself."""
    columns, step = [], np.longdouble(3e-3)
    for j in range(n):
        e = np.zeros(n, dtype=np.longdouble)
        e[j] = step
        near, mid, far = (f(k * e) - f(-k * e) for k in (1, 2, 3))
        columns.append((45 * near - 9 * mid + far) / (60 * step))
    return np.stack(columns, axis=-1)


def midpoint_jacobian(flat: Flat, q1, x, h, alpha=0.5, tau=None, wrench=None):
    """dD1/dx (nv, nv) by one linearised sweep over all columns."""
    nv, rows, n = len(x), v_slices(flat), len(flat.kind)
    qm, X, U, _, pi, gam = _midpoint_sweep(flat, q1, x, h, alpha, wrench)
    poses = body_poses(flat, qm)
    # root to leaves: variation of pose (eta) and twist (dV), one column per coordinate
    eJ, dV, y_pi, y_gam = [], [], [], []
    eta: list = []
    for i, r in enumerate(rows):
        k, S, G = flat.parent[i], joint_subspace(flat, i), spatial_inertia(flat, i)
        own = np.zeros((6, nv), dtype=x.dtype)
        own[:, r] = S
        e = np.zeros((6, nv), dtype=x.dtype)
        e[:, r] = alpha * dexp(-alpha * S @ x[r]) @ S
        eJ.append(e)
        eta.append(e + (X[i] @ eta[k] if k >= 0 else 0))
        dV.append(ad(U[i]) @ e + own / h + (X[i] @ dV[k] if k >= 0 else 0))
        y_pi.append(G @ dV[i])
        y_gam.append(G @ ad(gravity_acceleration(flat, poses[i])) @ eta[i])
    # leaves to root: variation of momentum and force; then of D1
    J, c = np.zeros((nv, nv), dtype=x.dtype), drag_slope(flat, x / h)
    for i in reversed(range(n)):
        k, r, S = flat.parent[i], rows[i], joint_subspace(flat, i)
        phi = _joint_force(flat, i, x, h, tau)
        xi, Splus = S @ x[r], joint_projection(flat, i).astype(x.dtype)
        Ea, _ = midpoint_maps(xi, alpha)
        dF = Pm(pi[i]) @ dV[i] + ad(U[i]).T @ y_pi[i] + y_gam[i]
        dF[:, r] -= Splus.T * c[r] / h
        J[r] = S.T @ (h * Ea.T @ dF - dlog(xi).T @ y_pi[i])
        # second-order part of the joint's own maps, on the wrenches that work on the joint
        own = Splus.T @ S.T
        F, P = own @ (ad(U[i]).T @ pi[i] + gam[i] + phi), own @ pi[i]
        Psi = dexp(-alpha * xi)
        w = Psi.T @ F
        Q = Psi.T @ ddlogT(-alpha * xi, w)
        H = h * (
            -alpha * Ad(exp_se3(-alpha * xi)).T @ Pm(F) @ Psi
            - alpha * ddlogT(xi, w)
            - alpha**2 * dlog(xi).T @ Q
        )
        H = H - ddlogT(xi, P) - Ea.T @ Pm(P)
        J[r, r] += S.T @ H @ S
        if k >= 0:
            y_pi[k] = y_pi[k] + X[i].T @ (y_pi[i] - Pm(pi[i]) @ eJ[i])
            y_gam[k] = y_gam[k] + X[i].T @ (y_gam[i] - Pm(gam[i]) @ eJ[i])
    return J - np.diag(flat.armature) / h


def midpoint_step(flat: Flat, q, p, h, alpha=0.5, tau=None, wrench=None):
    """(q2, p2) one step of h after (q, p): p + D1 = 0, p2 = D2; as ``linear_time_step``."""
    kind = np.asarray(q).dtype
    q = normalised(flat, np.asarray(q, np.longdouble))
    p, h = np.asarray(p, np.longdouble), np.longdouble(h)
    x = _newton(
        lambda x: p + midpoint_slots(flat, q, x, h, alpha, tau, wrench)[0],
        lambda x: midpoint_jacobian(flat, q, x, h, alpha, tau, wrench),
        lambda x, d: x + d,
        _first_guess(flat, q, p, h, tau, wrench),
        1 + np.max(np.abs(p)),
    )
    p2 = midpoint_slots(flat, q, x, h, alpha, tau, wrench)[1]
    return integrate(flat, q, x).astype(kind), p2.astype(kind)


# --------------------------------------------------------------------------- differential dynamic programming


def riccati_pass(A, B, gx, W, gu, R, firmness, curvature=None, impulses=None, bounds=None, gaps=None, more=None):
    """Corrections k (steps, m), feedback K (steps, m, n), half the matrices P of the cost to go, and what k promises.

    The cost is the sum of gx x + x W x/2 + gu u + u R u/2, a step leads to A x + B u + gap. ``curvature[i]`` has the
    second derivatives of a step by x, times the costates; a force acts as its impulse at the step's start. ``more`` has
    S and H of further costs u S x + u H u/2. None where Quu is not positive definite (Tassa, Mansard & Todorov 2014).
    """
    steps, n, m = B.shape
    nv = n // 2
    k, K, P = np.empty((steps, m)), np.empty((steps, m, n)), np.empty((steps + 1, n, n))
    Vx, Vxx = gx[-1], W[-1]
    P[-1] = 0.5 * Vxx
    linear = square = 0.0
    for i in range(steps - 1, -1, -1):
        Vx = Vx if gaps is None else Vx + Vxx @ gaps[i]
        Qx, Qu = gx[i] + A[i].T @ Vx, gu[i] + B[i].T @ Vx
        Qxx, Quu, Qux = W[i] + A[i].T @ Vxx @ A[i], R + B[i].T @ Vxx @ B[i], B[i].T @ Vxx @ A[i]
        if more is not None:
            Qux, Quu = Qux + more[0][i], Quu + more[1][i]
        if curvature is not None:
            bent = curvature[i]
            Qxx, Qux = Qxx + bent, Qux + impulses @ bent[nv:]
            Quu = Quu + impulses @ bent[nv:, nv:] @ impulses.T
        firm = Quu + firmness * R
        low, high = (np.full(m, -np.inf), np.full(m, np.inf)) if bounds is None else (bounds[0][i], bounds[1][i])
        found = least_between(firm, Qu, low, high)
        if found is None:
            return None
        k[i], free = found
        K[i] = 0.0
        if free.any():
            K[i, free] = -np.linalg.solve(firm[np.ix_(free, free)], Qux[free])
        linear, square = linear + k[i] @ Qu, square + 0.5 * k[i] @ Quu @ k[i]
        Vx = Qx + K[i].T @ (Quu @ k[i] + Qu) + Qux.T @ k[i]
        Vxx = Qxx + K[i].T @ Quu @ K[i] + K[i].T @ Qux + Qux.T @ K[i]
        Vxx = 0.5 * (Vxx + Vxx.T)
        P[i] = 0.5 * Vxx
    return (linear, square), k, K, P


def least_between(H, g, low, high):
    """The x of the least x H x/2 + g x between bounds, and which entries are free; None if H is not positive definite.

    All choices of entries at their bounds are tried: the one whose slopes point out of the bounds is it.
    """
    if np.linalg.eigvalsh(H).min() <= 0:
        return None
    for side in product((0, -1, 1), repeat=len(g)):
        side = np.array(side)
        free = side == 0
        x = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        x[free] = -np.linalg.solve(H[np.ix_(free, free)], (g + H @ np.where(free, 0.0, x))[free])
        if (x >= low).all() and (x <= high).all() and (side * (g + H @ x) <= 0).all():
            return x, free
    return None


# ---- ropes around pulleys -----------------------------------------------------------------------------------------


def wrapped_length(p, q, radius, axis, sense):
    """The shortest rope from p to q (3,) that goes around a cylinder about ``axis`` through the origin in a sense.

    By polar angles: a tangent from a point at distance d touches acos(r/d) further on, and unrolled the path is
    straight. Where the points see each other within half a turn in that sense it is straight.
    """
    p, q, axis = (np.asarray(x, dtype=float) for x in (p, q, axis))
    x = np.cross(axis, [1.0, 0, 0] if abs(axis[0]) < 0.9 else [0, 1.0, 0])
    x = x / np.linalg.norm(x)
    y = np.cross(axis, x)
    angles = [np.arctan2(u @ y, u @ x) for u in (p, q)]
    far = [np.hypot(u @ y, u @ x) for u in (p, q)]
    between = (sense * (angles[1] - angles[0])) % (2 * np.pi)
    arc = between - sum(np.arccos(radius / d) for d in far)
    if arc <= 0:
        return float(np.linalg.norm(q - p))
    flat = radius * arc + sum(np.sqrt(d * d - radius * radius) for d in far)
    return float(np.hypot(flat, axis @ (q - p)))
