"""A car from a robot file, whose wheels roll without slip, beside the car of vt.vehicles.

    python 22_rolling.py [--save FILE] [--plot FILE] [--view]

A stiff drive steers the front wheel, which is in the middle. The rear axle has dry friction.
"""

import numpy as np

import vitree as vt
from vitree import vehicles

LENGTH, RADIUS, MASS, TURNING, WHEEL = 2.6, 0.3, 1200.0, 2000.0, 2.5  # [m], [m], [kg], [kg m^2], [kg m^2]
PUSH, RUB, SWING, TIME = 500.0, 20.0, 0.25, 8.0  # [N m], [N m], [rad], [s]
LINK = '<link name="{}"><inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/>' \
    '</inertial><visual><origin rpy="1.6 0 0"/><geometry><cylinder radius="{}" length="{}"/></geometry></visual></link>'
JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}"/><axis xyz="{}"/>' \
    '<dynamics friction="{}"/></joint>'
FILE = f"""<robot name="car"><link name="world"/>
  {LINK.format("chassis", MASS, 400, TURNING, TURNING - WHEEL, 0.1, 1.4)}
  {LINK.format("axle", 0, WHEEL / 2, WHEEL, WHEEL / 2, RADIUS, 1.6)} {LINK.format("fork", 0, 0.05, 0.1, 0.05, 0.3, 0.2)}
  <joint name="place" type="planar"><parent link="world"/><child link="chassis"/><axis xyz="0 0 1"/></joint>
  {JOINT.format("spin", "continuous", "chassis", "axle", f"0 0 {RADIUS}", "0 1 0", RUB)}
  {JOINT.format("steering", "continuous", "chassis", "fork", f"{LENGTH} 0 0", "0 0 1", 0)}</robot>"""


def main() -> vt.Trajectory:
    tree = vt.read_urdf(FILE, friction="dry")
    tree.roll(vt.RollingConstraint("axle", radius=RADIUS), vt.RollingConstraint("fork"))
    model = tree.compile().with_drives({"steering": (1e6, 1e3)})
    push = np.where(np.array(model.v_names) == "spin", PUSH, 0.0)
    run = vt.simulate(model, control=vt.Control(torque=push, targets=lambda t, *_: [SWING * np.sin(0.9 * t)]),
                      duration=TIME, dt=1e-2)
    # the vehicle is pushed by what friction leaves, and steered by the rate of the tangent
    car = vehicles.car(mass=MASS, inertia=TURNING, wheel_inertia=WHEEL, wheelbase=LENGTH, wheel_radius=RADIUS)
    rate = {"steering": lambda t: 0.9 * SWING * np.cos(0.9 * t) / np.cos(SWING * np.sin(0.9 * t)) ** 2}
    other = vt.simulate(car, control=vt.Control(inputs={"torque": PUSH - RUB, **rate}), duration=TIME, dt=1e-2)
    apart = np.hypot(*(run.q[:, :2] - other.q[:, 3:]).T)
    print(f"the car goes {np.hypot(*np.diff(run.q[:, :2], axis=0).T).sum():.3f} m")
    print(f"it is {1e3 * apart.max():.2f} mm beside the vehicle, at most")
    across = np.abs(run.v[:, 1] * np.cos(run.q[:, 2]) - run.v[:, 0] * np.sin(run.q[:, 2])).max()
    print(f"the rear axle slips by {across:.1e} m/s")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
