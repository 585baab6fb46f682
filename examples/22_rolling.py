"""A car from a robot file, whose wheels roll without slip, beside the car of vt.vehicles.

    python 22_rolling.py [--save FILE] [--plot FILE] [--view]

The front wheel in the middle is steered by a stiff drive; joints have dry friction.
"""

import numpy as np

import vitree as vt
from vitree import vehicles

LENGTH, RADIUS, MASS, TURNING, WHEEL = 2.6, 0.3, 1200.0, 2000.0, 2.5  # [m], [m], [kg], [kg m^2], [kg m^2]
PUSH, SWING, TIME = 500.0, 0.25, 8.0  # [N m], [rad], [s]
FILE = f"""
<robot name="car">
  <link name="world"/>
  <link name="chassis"><inertial><mass value="{MASS}"/>
    <inertia ixx="400" iyy="{TURNING}" izz="{TURNING - WHEEL}" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="{LENGTH / 2} 0 0.5"/><geometry><box size="3.6 1.6 0.5"/></geometry></visual></link>
  <link name="axle"><inertial><mass value="0"/>
    <inertia ixx="{WHEEL / 2}" iyy="{WHEEL}" izz="{WHEEL / 2}" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin rpy="1.5707963 0 0"/><geometry><cylinder radius="{RADIUS}" length="1.6"/></geometry></visual></link>
  <link name="fork"><inertial><mass value="0"/>
    <inertia ixx="0.05" iyy="0.1" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin rpy="1.5707963 0 0" xyz="0 0 {RADIUS}"/>
      <geometry><cylinder radius="{RADIUS}" length="0.2"/></geometry></visual></link>
  <joint name="place" type="planar"><parent link="world"/><child link="chassis"/><axis xyz="0 0 1"/></joint>
  <joint name="spin" type="continuous"><parent link="chassis"/><child link="axle"/>
    <origin xyz="0 0 {RADIUS}"/><axis xyz="0 1 0"/><dynamics friction="20"/></joint>
  <joint name="steering" type="revolute"><parent link="chassis"/><child link="fork"/>
    <origin xyz="{LENGTH} 0 0"/><axis xyz="0 0 1"/><limit lower="-0.6" upper="0.6" effort="1000" velocity="5"/></joint>
</robot>"""


def steer(t: float) -> float:
    return SWING * np.sin(0.9 * t)


def main() -> vt.Trajectory:
    tree = vt.read_urdf(FILE, friction="dry")
    tree.roll(vt.Rolling("axle", radius=RADIUS), vt.Rolling("fork"))
    model = tree.compile().with_drives({"steering": (1e6, 1e3)})
    push = np.zeros(model.nv)
    push[model.joint("spin").v_slice] = PUSH
    start = {"duration": TIME, "dt": 1e-2}
    run = vt.simulate(model, torque=push, targets=lambda t, *_: [steer(t)], **start)

    # the vehicle is pushed by what friction leaves, and steered by the rate of the tangent
    car = vehicles.car(mass=MASS, inertia=TURNING, wheel_inertia=WHEEL, wheelbase=LENGTH, wheel_radius=RADIUS)
    rate = {"steering": lambda t: 0.9 * SWING * np.cos(0.9 * t) / np.cos(steer(t)) ** 2, "torque": PUSH - 20.0}
    other = vt.simulate(car, inputs=rate, **start)

    apart = np.hypot(*(run.q[:, :2] - other.q[:, 3:]).T)
    print(f"the car goes {np.hypot(*np.diff(run.q[:, :2], axis=0).T).sum():.3f} m")
    print(f"it is {1e3 * apart.max():.2f} mm beside the vehicle, at most")
    across = np.abs(run.v[:, 1] * np.cos(run.q[:, 2]) - run.v[:, 0] * np.sin(run.q[:, 2])).max()
    print(f"the rear axle slips by {across:.1e} m/s")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
