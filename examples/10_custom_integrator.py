"""An integrator of your own: with a name, an order and a step it runs, fails and is compared like the others.

    python 10_custom_integrator.py [--save FILE] [--plot FILE] [--view]

A step leads from (t, q, v) to (q, v) at the time t + dt. `self.acceleration` includes gravity, torques, loads and
constraints. `self.model.integrate` moves q along a velocity, quaternions included.
"""

import vitree as vt


class ExplicitMidpoint(vt.Integrator):
    """Takes the rates at the middle of the step; half a step of explicit Euler predicts that state."""

    name = "explicit-midpoint"
    order = 2

    def step(self, t, q, v):
        half = self.dt / 2
        middle_v = v + half * self.acceleration(t, q, v)
        middle_q = self.model.integrate(q, half * v)
        a = self.acceleration(t + half, middle_q, middle_v)
        return self.model.integrate(q, self.dt * middle_v), v + self.dt * a


def main() -> vt.Comparison:
    vt.METHODS[ExplicitMidpoint.name] = ExplicitMidpoint  # simulate and compare find it there
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    v0 = model.zero_velocity()
    v0[:6] = 0.5, 0.0, 3.0, 0.3, 2.0, 1.0  # linear [m/s], angular [rad/s]
    methods = (ExplicitMidpoint.name, "midpoint", "rk4")
    result = vt.compare(model, methods, model.neutral(), v0, duration=0.8, dt=[0.01, 0.005, 0.0025])
    print(result)
    return result


if __name__ == "__main__":
    import common

    common.run(main)
