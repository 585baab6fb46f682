"""Differences of steps, for tests of their derivatives."""

import numpy as np

import vitree as vt


def slope(function, size):
    """The derivative at 0 of a function of one number, by central differences of order 6."""
    return sum(w * (function(k * size) - function(-k * size)) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * size)


def central(model, end, size, count):
    """Central differences of order 6 of (q2, p2) by all displacements."""
    q2 = end(np.zeros(count))[0]

    def change(d):
        q, p = end(d)
        return np.concatenate([model.difference(q2, q), p])

    return np.transpose([slope(lambda x, unit=unit: change(x * unit), size) for unit in np.eye(count)])


def one_step(model, q, v, dt, torque, inputs, method, options, goal=()):
    """A function of displacements (d1, dp1, dtorque, dinputs, dprescribed) to (q2, p2), wherever the step starts."""
    nv, nu = model.nv, len(model.input_names)
    p = model.generalized_momentum(q, v)
    locked = [model.joint(name).q_slice.start for name in model.prescribed_joint_names]

    def end(d):
        parts = np.split(d, np.cumsum([nv, nv, nv, nu]))
        start = model.integrate(q, parts[0])
        motion = {
            name: np.array([start[i], to + more])
            for name, i, to, more in zip(model.prescribed_joint_names, locked, goal, parts[4], strict=True)
        }
        integrator = vt.METHODS[method](
            model, dt, torque=torque + parts[2], inputs=inputs + parts[3] if nu else None, prescribed=motion,
            tolerance=1e-14, **options,
        )  # fmt: skip
        integrator.start(0.0, start, p + parts[1])
        integrator.plan(start, 1, lambda: np.array([0.0, dt]))
        assert integrator.stepper.go(1, None, None) == 0
        return integrator.state()

    return end


def compared(model, q, v, dt, method, k, size):
    """The derivatives of step k of a run, and central differences of order 6 that keep what the contacts remember."""
    nv, made = model.nv, vt.METHODS[method]
    torque = np.zeros(nv)
    run = vt.simulate(model, q, v, duration=(k + 1) * dt, dt=dt, method=method, tolerance=1e-14)
    integrator = made(model, dt, torque=torque, tolerance=1e-14)
    integrator.start(0.0, q, model.generalized_momentum(q, v))
    for _ in range(k):
        assert integrator.stepper.go(1, None, None) == 0
    before = integrator.stepper.history()
    q1, p1 = (x.copy() for x in integrator.state())
    np.testing.assert_allclose(q1, run.q[k], atol=1e-12)
    # what contacts remember of the last step is at the end of a history
    kept = before[len(before) - integrator.stepper.contact_bytes :]

    def end(d):
        one = made(model, dt, torque=torque + d[2 * nv :], tolerance=1e-14)
        one.start(0.0, model.integrate(q1, d[:nv]), p1 + d[nv : 2 * nv])
        history = one.stepper.history()
        one.stepper.set_history(history[: len(history) - one.stepper.contact_bytes] + kept)
        assert one.stepper.go(1, None, None) == 0
        return one.state()

    found = run.linearize()[k]
    return np.hstack([found.A, found.by_torque]), central(model, end, size, 3 * nv), run


def converged(model, q, v, dt, method, k):
    """Those of `compared`, the largest entry, and by what share of it a fifth of the displacements changes them."""
    found, expected, _ = compared(model, q, v, dt, method, k, 1e-5)
    size = np.abs(expected).max()
    noise = np.abs(compared(model, q, v, dt, method, k, 2e-6)[1] - expected).max() / size
    return found, expected, size, noise


def through_run(model, run, size=1e-6):
    """The derivatives of the last state of a run by its first one, by those of its steps and by central differences."""
    nv = model.nv
    options = {"duration": float(run.t[-1]), "dt": run.dt, "method": run.method}
    q, p = run.q[0], run.p[0]

    def end(x):
        at = model.integrate(q, x[:nv])
        other = vt.simulate(model, at, model.velocity_from_momentum(at, p + x[nv:]), **options)
        return np.concatenate([model.difference(run.q[-1], other.q[-1]), other.p[-1] - run.p[-1]])

    whole = np.linalg.multi_dot([*run.linearize().A[::-1], np.eye(2 * nv)])
    return whole, np.transpose([(end(size * x) - end(-size * x)) / (2 * size) for x in np.eye(2 * nv)])
