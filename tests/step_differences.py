"""Differences of steps, for tests of their derivatives."""

import numpy as np

import vitree as vt


def central(model, end, size, count):
    """Central differences of order 6 of (q2, p2) by all displacements."""
    q2 = end(np.zeros(count))[0]
    columns = []
    for unit in np.eye(count):
        column = 0.0
        for place, weight in ((1, 45), (2, -9), (3, 1)):
            (qa, pa), (qb, pb) = end(place * size * unit), end(-place * size * unit)
            change = np.concatenate([model.difference(q2, qa) - model.difference(q2, qb), pa - pb])
            column = column + weight * change / (60 * size)
        columns.append(column)
    return np.array(columns).T


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
