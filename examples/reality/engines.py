"""A cube tossed onto a plane in vitree, MuJoCo, Bullet and Drake.

Each engine is a function of starts (n, 12) as in ``tosses.Tosses``, the number of frames, and its parameters. It
returns the cube's positions (n, frames, 3) and rotations (n, frames, 3, 3). Size, mass and inertia are those measured.
What is no parameter is as the engine comes, except for what its function says.
"""

from __future__ import annotations

import importlib.util

import numpy as np
from scipy.spatial.transform import Rotation
from tosses import CORNERS, FRAME, GRAVITY, HALF, INERTIA, MASS

import vitree as vt


def vitree(starts, frames: int, friction: float, restitution: float, parts: int = 14):
    """Rigid contact of the corners, by the linear-time integrator; ``parts`` steps a frame."""
    tree = vt.Tree("cube", gravity=(0, 0, -GRAVITY))
    tree.world.add(vt.free("joint"), vt.body("cube", MASS, inertia=3 * (INERTIA,)))
    tree.contact(vt.Contact("cube", points=CORNERS), vt.Ground(friction=friction, restitution=restitution))
    turned = Rotation.from_rotvec(starts[:, 3:6])
    q0 = np.concatenate((starts[:, :3], turned.as_quat()), axis=1)
    v0 = np.concatenate([turned.apply(starts[:, k : k + 3], inverse=True) for k in (6, 9)], axis=1)
    runs = vt.rollout(tree.compile(), q0, v0, duration=FRAME * (frames - 1), dt=FRAME / parts, method="linear-time",
                      record="q", record_every=parts)  # fmt: skip
    if runs.failed:
        raise next(iter(runs.failed.values()))
    return _split(runs.q)


def mujoco(starts, frames: int, friction: float, timeconst: float, dampratio: float, parts: int = 28):
    """Soft contact with ``solref`` of a time [s] and a ratio of damping, and elliptic friction cones."""
    import mujoco as mj

    spec = mj.MjSpec()
    spec.option.timestep, spec.option.gravity = FRAME / parts, (0, 0, -GRAVITY)
    spec.option.cone = mj.mjtCone.mjCONE_ELLIPTIC
    contact = {"friction": (friction, 0, 0), "solref": (timeconst, dampratio), "condim": 3}
    spec.worldbody.add_geom(type=mj.mjtGeom.mjGEOM_PLANE, size=(0, 0, 1), **contact)
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.mass, body.inertia, body.explicitinertial = MASS, 3 * (INERTIA,), True
    body.add_geom(type=mj.mjtGeom.mjGEOM_BOX, size=3 * (HALF,), **contact)
    model = spec.compile()
    data = mj.MjData(model)

    def run(start):
        mj.mj_resetData(model, data)
        turned = Rotation.from_rotvec(start[3:6])
        data.qpos[:3], data.qpos[3:] = start[:3], turned.as_quat()[[3, 0, 1, 2]]
        data.qvel[:3], data.qvel[3:] = start[6:9], turned.apply(start[9:], inverse=True)
        for frame in range(frames):
            if frame:
                mj.mj_step(model, data, nstep=parts)
            yield data.qpos[[0, 1, 2, 4, 5, 6, 3]]

    return _each(run, starts)


def bullet(starts, frames: int, friction: float, restitution: float, parts: int = 14):
    """Bullet's sequential impulses; without the damping of velocities that bodies have by default."""
    import pybullet as pb

    world = pb.connect(pb.DIRECT)
    try:
        pb.setGravity(0, 0, -GRAVITY)
        pb.setTimeStep(FRAME / parts)
        pb.setPhysicsEngineParameter(restitutionVelocityThreshold=0.01)
        plane = pb.createMultiBody(0, pb.createCollisionShape(pb.GEOM_PLANE))
        pb.changeDynamics(plane, -1, lateralFriction=1.0, restitution=1.0)
        cube = pb.createMultiBody(MASS, pb.createCollisionShape(pb.GEOM_BOX, halfExtents=3 * [HALF]))
        pb.changeDynamics(cube, -1, lateralFriction=friction, restitution=restitution, linearDamping=0,
                          angularDamping=0, localInertiaDiagonal=3 * [INERTIA])  # fmt: skip

        def run(start):
            pb.resetBasePositionAndOrientation(cube, start[:3], Rotation.from_rotvec(start[3:6]).as_quat())
            pb.resetBaseVelocity(cube, start[6:9], start[9:])
            for frame in range(frames):
                for _ in range(parts if frame else 0):
                    pb.stepSimulation()
                yield np.concatenate(pb.getBasePositionAndOrientation(cube))

        return _each(run, starts)
    finally:
        pb.disconnect(world)


def drake(starts, frames: int, friction: float, stiffness: float, dissipation: float, parts: int = 14):
    """Drake's discrete contact ("lagged") with a stiffness [N/m] and Hunt & Crossley's dissipation [s/m].

    The cube touches by spheres of 1 mm in its corners: a pair of shapes has one point of contact in Drake.
    """
    from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
    from pydrake.multibody.tree import SpatialInertia, UnitInertia
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=FRAME / parts)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
    solid = UnitInertia.SolidSphere(np.sqrt(2.5 * INERTIA / MASS))
    cube = plant.AddRigidBody("cube", SpatialInertia(MASS, np.zeros(3), solid))

    def material():
        made = ProximityProperties()
        AddContactMaterial(dissipation, stiffness, CoulombFriction(friction, friction), made)
        return made

    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material())
    for k, corner in enumerate(CORNERS * (1 - 1e-3 / HALF)):
        plant.RegisterCollisionGeometry(cube, RigidTransform(corner), Sphere(1e-3), f"corner{k}", material())
    plant.Finalize()
    simulator = Simulator(builder.Build())
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)

    def run(start):
        root.SetTime(0.0)
        x, y, z, w = Rotation.from_rotvec(start[3:6]).as_quat()
        plant.SetPositions(context, [w, x, y, z, *start[:3]])
        plant.SetVelocities(context, [*start[9:], *start[6:9]])
        yield plant.GetPositions(context)[[4, 5, 6, 1, 2, 3, 0]]
        # this takes the first step
        simulator.Initialize()
        for frame in range(1, frames):
            simulator.AdvanceTo(frame * FRAME)
            yield plant.GetPositions(context)[[4, 5, 6, 1, 2, 3, 0]]

    return _each(run, starts)


def _each(run, starts):
    """All starts in turn; a run yields position and quaternion (x, y, z, w) of each frame."""
    return _split(np.array([list(run(start)) for start in starts]))


def _split(q):
    """Positions and rotations of rows of both."""
    return q[..., :3], Rotation.from_quat(q[..., 3:].reshape(-1, 4)).as_matrix().reshape(*q.shape[:-1], 3, 3)


#: Name -> the package it needs, the function, and bounds of its parameters; True: searched by their logarithm.
ENGINES = {
    "vitree": (None, vitree, {"friction": (0.08, 0.3, False), "restitution": (0.0, 0.45, False)}),
    "MuJoCo": ("mujoco", mujoco, {"friction": (0.08, 0.3, False), "timeconst": (1e-3, 0.03, True),
                                  "dampratio": (0.1, 1.5, False)}),
    "Bullet": ("pybullet", bullet, {"friction": (0.08, 0.3, False), "restitution": (0.0, 0.45, False)}),
    "Drake": ("pydrake", drake, {"friction": (0.08, 0.3, False), "stiffness": (2e3, 1e6, True),
                                 "dissipation": (0.1, 100.0, True)}),
}  # fmt: skip


def installed(package: str | None) -> bool:
    """Whether an engine's package is there."""
    return package is None or importlib.util.find_spec(package) is not None
