"""Compare methods, which we write, by their errors against a tight reference, in a table and a picture."""

from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib import pyplot as plt
from scipy.integrate import solve_ivp

model = pin.buildModelFromUrdf(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
data, rest = model.createData(), np.zeros(model.nv)
start = np.array([0.0, 0.5, 1.0, 0.5, 1.0, 0.0, *rest])  # rad, rad/s


def rate(x):
    """The derivative of a state (q, v) of hinges."""
    return np.concatenate((x[6:], pin.aba(model, data, x[:6], x[6:], rest)))


def semi_implicit_euler(x, dt):
    v = x[6:] + dt * rate(x)[6:]
    return np.concatenate((x[:6] + dt * v, v))


def rk4(x, dt):
    a = rate(x)
    b = rate(x + dt / 2 * a)
    c = rate(x + dt / 2 * b)
    return x + dt / 6 * (a + 2 * b + 2 * c + rate(x + dt * c))


times = np.linspace(0.0, 1.0, 251)
reference = solve_ivp(lambda t, x: rate(x), (0, 1), start, "DOP853", times, rtol=1e-12, atol=1e-12).y.T
orders, dts = {}, [4e-3, 2e-3, 1e-3]
for method in (semi_implicit_euler, rk4):
    errors = []
    for dt in dts:
        states = [start]
        for _ in range(round(1.0 / dt)):
            states.append(method(states[-1], dt))
        energies = [pin.computeMechanicalEnergy(model, data, x[:6], x[6:]) for x in states]
        apart = np.array(states)[:: round(4e-3 / dt), :6] - reference[:, :6]
        errors.append(np.linalg.norm(apart, axis=1).max())
        print(f"{method.__name__:20s} dt {dt:.0e} s  energy error {np.ptp(energies):.1e} J  error {errors[-1]:.1e} rad")
    plt.loglog(dts, errors, marker="o", label=method.__name__)
    orders[method.__name__] = np.polyfit(np.log(dts), np.log(errors), 1)[0]
plt.legend()
plt.xlabel("dt [s]")
plt.ylabel("error [rad]")
plt.savefig("compare.png")
print("orders: " + ", ".join(f"{name} {order:.2f}" for name, order in orders.items()))
