"""A four-bar linkage: a tree cut at a pin, where the acceleration of a constraint is corrected towards closure."""

import numpy as np
import pinocchio as pin

model, ends, dt = pin.Model(), [], 2e-3
for parent, at, reach, mass in ((0, (0, 0, 0), -0.3, 1.0), (1, (0, 0, -0.3), -1.0, 1.0), (0, (0.8, 0, 0), -0.9, 2.0)):
    joint = model.addJoint(parent, pin.JointModelRY(), pin.SE3(np.eye(3), np.array(at, float)), f"joint {len(ends)}")
    ends.append(pin.SE3(np.eye(3), np.array([0.0, 0.0, reach])))
    model.appendBodyToJoint(joint, pin.Inertia(mass, np.zeros(3), np.zeros((3, 3))), ends[-1])
loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, 2, ends[1], 3, ends[2])
loop.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(0.25 / dt**2, 1 / dt))
loops, loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
loops.append(loop)
loop_data.append(loop.createData())
data = model.createData()
proximal = pin.ProximalSettings(1e-12, 1e-10, 10)  # the loop is in a plane: the equation along y is one too many
pin.initConstraintDynamics(model, data, loops, loop_data)


def gap(q):
    """How far the pin is open, and its Jacobian."""
    pin.computeJointJacobians(model, data, q)
    places = [data.oMi[joint].act(end.translation) for joint, end in ((2, ends[1]), (3, ends[2]))]
    moves = []
    for joint, place in ((2, places[0]), (3, places[1])):
        J = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.WORLD)
        moves.append(J[:3] - pin.skew(place) @ J[3:])
    return (places[0] - places[1])[[0, 2]], (moves[0] - moves[1])[[0, 2]]


q, h = np.array([0.5, -1.0, 0.2]), np.ones(2)  # rad
while abs(h).max() > 1e-14:  # Newton's method, which holds the crank
    h, J = gap(q)
    q[1:] -= np.linalg.solve(J[:, 1:], h)
v, W = np.array([6.0, 0.0, 0.0]), np.linalg.solve(pin.crba(model, data, q), J.T)  # rad/s
v -= W @ np.linalg.solve(J @ W, J @ v)  # the nearest that the loop allows
gaps, energies, kinetic, rest = [], [], [], np.zeros(3)
for _ in range(10000):
    v += dt * pin.constraintDynamics(model, data, q, v, rest, loops, loop_data, proximal)
    q = pin.integrate(model, q, dt * v)
    gaps.append(np.linalg.norm(gap(q)[0]))
    energies.append(pin.computeMechanicalEnergy(model, data, q, v))
    kinetic.append(data.kinetic_energy)

drift = np.ptp(energies) / max(kinetic)
print(f"loop open by {max(gaps):.0e} m at most, energy off by {drift:.0e} of the kinetic energy")
