"""Files of things for worlds: an arm with fingers that mimic, a cup, models of MuJoCo, a swing."""

import pathlib

ARM = """<robot name="arm"><link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <link name="upper"><inertial><origin xyz="0 0 0.3"/><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"
    izz="0.01"/></inertial><collision><origin xyz="0 0 0.3"/><geometry><cylinder radius="0.04" length="0.6"/></geometry>
    </collision></link>
  <joint name="left" type="prismatic"><parent link="upper"/><child link="l"/><origin xyz="0 0 0.65"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>
  <joint name="right" type="prismatic"><parent link="upper"/><child link="r"/><origin xyz="0 0 0.65"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/><mimic joint="left"/></joint>
  <link name="l"><inertial><mass value="0.1"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial>
  </link><link name="r"><inertial><mass value="0.1"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/>
  </inertial></link><joint name="flange" type="fixed"><parent link="upper"/><child link="tool"/><origin xyz="0 0 0.6"/>
  </joint><link name="tool"/></robot>"""  # noqa: E501
CUP = """<robot name="cup"><link name="cup"><inertial><mass value="0.3"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0"
  izz="1e-3"/></inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""  # noqa: E501
THINGS = """<mujoco model="things"><option gravity="0 0 -1"/><worldbody><geom type="plane" size="5 5 1" friction="0.3"/>
  <geom name="wall" type="box" size="0.1 1 0.5" pos="2 0 0.5"/>
  <body name="ball" pos="0 0 1"><freejoint name="float"/><geom size="0.1" mass="1"/></body>
  <body name="lid" pos="0 1 0.5"><joint name="hinge" axis="1 0 0" range="-90 90"/><geom type="box" size="0.1 0.1 0.02"
    mass="0.5"/></body></worldbody>
  <actuator><position name="servo" joint="hinge" kp="20" kv="1"/></actuator>
  <keyframe><key name="up" qpos="1 0 0.3 1 0 0 0 0.5" qvel="0 0 2 0 0 0 0" ctrl="0.5"/></keyframe></mujoco>"""
SHELF = '<mujoco model="shelf"><worldbody><geom type="box" size="0.5 0.5 0.1"/></worldbody></mujoco>'
SWING = """(mechanical-system (name "swing") (gravity 0 0 -9.81)
  (ry "swing" (lower -1) (upper 1) (tz -1 (name "bob") (mass 1))))"""
FILES = {"arm.urdf": ARM, "cup.urdf": CUP, "things.xml": THINGS, "shelf.xml": SHELF, "swing.sexpr": SWING}


def write_files(folder: pathlib.Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
