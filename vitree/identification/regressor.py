"""Joint forces as a linear function of a model's standard parameters: the regressor.

The standard parameters are those in which the equations of motion are linear (Atkeson, An & Hollerbach 1986): ten of
each link (mass, first moments and the inertia about the origin of the link's frame), and damping, friction and armature
of each joint coordinate.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vitree.arguments import of_kind
from vitree.errors import InputError
from vitree.model.model import Model
from vitree.spatial.pseudo_inertia import inertial_parameters

#: The ten parameters of a link, behind its name, and their units.
OF_LINK = {"m": "kg", "m*cx": "kg m", "m*cy": "kg m", "m*cz": "kg m", "Ixx": "kg m^2", "Ixy": "kg m^2", "Ixz": "kg m^2",
           "Iyy": "kg m^2", "Iyz": "kg m^2", "Izz": "kg m^2"}  # fmt: skip
#: Parameters of a joint coordinate, behind its name, with their units where it turns and where it slides.
OF_JOINT = {"damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N"), "armature": ("kg m^2", "kg")}
#: Dry friction has the direction of the velocity, smooth below this [m/s or rad/s].
SLOW = 1e-2


def require_native(model: object) -> Model:
    """Return a model whose parameters have a regressor; raise an InputError otherwise."""
    found: Model = of_kind(model, Model, "model", "a vitree Model")
    if hasattr(found, "native"):
        raise InputError(f'"{found.name}" has Euler angles; give the model with ball and free joints, model.native')
    return found


def standard_names(model: Model) -> tuple[str, ...]:
    """Return the names (p,) of the standard parameters: "link.m", .., "joint.damping", .."""
    full = model.full
    return (*(f"{link}.{part}" for link in full.link_names for part in OF_LINK),
            *(f"{full.v_names[k]}.{part}" for part in OF_JOINT for k in _coordinates(full, part)))  # fmt: skip


def standard_units(model: Model) -> tuple[str, ...]:
    """Return the units (p,) of the standard parameters."""
    full, slides = model.full, sliding(model.full)
    return (*(unit for _ in full.link_names for unit in OF_LINK.values()),
            *(units[int(slides[k])] for part, units in OF_JOINT.items() for k in _coordinates(full, part)))  # fmt: skip


def standard_parameters(model: Model) -> np.ndarray:
    """Return the values (p,) of the standard parameters."""
    full, flat = model.full, model.full.flat
    of_links = [inertial_parameters(mass, np.array(com), np.array(inertia)) for mass, com, inertia
                in zip(flat.link_mass, flat.link_com, flat.link_inertia, strict=True)]  # fmt: skip
    of_joints = {"damping": full.damping, "friction": full.friction + full.dry_friction, "armature": full.armature}
    return np.concatenate([*of_links, *(values[_coordinates(full, part)] for part, values in of_joints.items())])


def _coordinates(model: Model, part: str) -> np.ndarray:
    """Which coordinates of velocity have a parameter: friction and armature are of joints of one coordinate."""
    counts = [joint.v_slice.stop - joint.v_slice.start for joint in model.joints]
    of_joint = np.repeat(counts, counts) if counts else np.zeros(0, int)
    return np.arange(model.nv) if part == "damping" else np.flatnonzero(of_joint == 1)


def sliding(model: Model) -> np.ndarray:
    """Return which coordinates of velocity are lengths, (nv,) bool."""
    out = np.zeros(model.nv, dtype=bool)
    for joint in model.joints:
        at = joint.v_slice
        out[at.start : at.start + 3 if joint.kind == "free" else at.stop] = joint.kind in ("prismatic", "free")
    return out


class TorqueRegressor:
    """The regressor Y (nv, p) of a model: rnea, damping and friction are Y @ standard_parameters(model).

    Columns of links and armatures are differences of :meth:`Model.rnea` between models that differ in one parameter
    alone. Forces are linear in the parameters, so these are exact.
    """

    def __init__(self, model: Model):
        self.model, full = model, model.full
        self.names = standard_names(model)
        #: Speeds (nv of all joints) below which friction is linear [rad/s or m/s].
        self.speed = np.where(full.dry_friction > 0, SLOW, full.flat.friction_velocity)
        # eleven possible bodies, whose ten differences from the first span all parameters
        mass, size = max(float(model.total_mass), 1e-3), 0.3
        self._bodies = [(mass, np.zeros(3), mass * size**2 * np.eye(3))]
        self._bodies.append((2 * mass, *self._bodies[0][1:]))
        self._bodies += [(mass, size * axis, self._bodies[0][2]) for axis in np.eye(3)]
        for row in range(3):
            for column in range(row, 3):
                more = np.zeros((3, 3))
                more[row, column] = more[column, row] = 0.25
                self._bodies.append((mass, np.zeros(3), mass * size**2 * (np.eye(3) + more)))
        parameters = np.array([inertial_parameters(*body) for body in self._bodies])
        self._ways = np.linalg.inv(parameters[1:] - parameters[0])  # (10, 10): differences to parameters
        self._armature = 1e-2 * mass * size**2
        self._of_links = [
            tuple(model.with_parameters(mass={link: m}, com={link: c}, inertia={link: about})
                  for m, c, about in self._bodies)
            for link in full.link_names
        ]
        base, self._single = np.zeros(full.nv), _coordinates(full, "armature")
        self._of_armature = [model.with_parameters(armature=base + row)
                             for row in self._armature * np.vstack((base, np.eye(full.nv)[self._single]))]  # fmt: skip

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return Y (n, nv, p) at states q (n, nq), v (n, nv) and accelerations a (n, nv)."""
        parts = []
        for bodies in self._of_links:
            first = bodies[0].rnea(q, v, a)
            parts.append(np.stack([body.rnea(q, v, a) - first for body in bodies[1:]], axis=2) @ self._ways.T)
        wide = self.model.expand_velocity(v)
        rubbing = wide / np.sqrt(wide**2 + self.speed**2)
        parts += [self._at(wide, range(wide.shape[1])), self._at(rubbing, self._single)]
        bare, *others = self._of_armature
        still = bare.rnea(q, v, a)
        rises = [(other.rnea(q, v, a) - still) / self._armature for other in others]
        parts.append(np.stack(rises, axis=2) if rises else np.zeros((*still.shape, 0)))
        return np.concatenate(parts, axis=2)

    def gradient(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives (n, nv) of the sum of weights (n, nv, p) times Y by displacements, v and a.

        The model has no followers, and joints of one coordinate.
        """
        n, nv, _ = weights.shape
        ends = np.cumsum([len(OF_LINK)] * len(self._of_links) + [nv, nv, nv])
        *of_links, damping, friction, armature = np.split(weights, ends[:-1], axis=2)
        out = (np.zeros((n, nv)), np.zeros((n, nv)), np.zeros((n, nv)))

        def add(model: Model, forces: np.ndarray) -> None:
            slopes = model.rnea_derivatives(q, v, a)
            for total, matrix in zip(out, (slopes.by_q, slopes.by_v, slopes.by_a), strict=True):
                total += np.einsum("nf,nfk->nk", forces, matrix)

        for (first, *others), part in zip(self._of_links, of_links, strict=True):
            of_bodies = part @ self._ways
            if part.any():
                add(first, -of_bodies.sum(axis=2))
                for k, body in enumerate(others):
                    add(body, of_bodies[:, :, k])
        diagonal = np.arange(nv)
        out[1][:] += damping[:, diagonal, diagonal]
        out[1][:] += friction[:, diagonal, diagonal] * self.speed**2 / (v**2 + self.speed**2) ** 1.5
        out[2][:] += armature[:, diagonal, diagonal]
        return out

    def _at(self, rates: np.ndarray, which: Iterable[int]) -> np.ndarray:
        """Joint forces (n, nv, k) that rates (n, nv of all joints) of k coordinates give, each alone."""
        contract, columns = getattr(self.model, "contract_force", None), []
        for k in which:
            force = np.zeros_like(rates)
            force[:, k] = rates[:, k]
            columns.append(force if contract is None else contract(force))
        return np.stack(columns, axis=2) if columns else np.zeros((len(rates), self.model.nv, 0))


def free_directions(model: Model, q: np.ndarray) -> np.ndarray:
    """Return Z (n, nv, k), orthonormal velocities that the constraints of a model allow at q (n, nq)."""
    if not model.constraints:
        return np.broadcast_to(np.eye(model.nv), (len(q), model.nv, model.nv))
    return allowed(model._constraint_rows(q)[1])


def triangle_of(rows: np.ndarray) -> np.ndarray:
    """Return R (min(m, p), p) of rows (m, p) = Q R, which has their sums of squares."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def allowed(rows: np.ndarray) -> np.ndarray:
    """Return Z (.., nv, k), orthonormal, with rows (.., m, nv) @ Z zero; k is that of most of the stack."""
    _, sizes, V = np.linalg.svd(rows)
    rank = int(np.median((sizes > 1e-8 * sizes[..., :1]).sum(-1))) if sizes.shape[-1] else 0
    return V[..., rank:, :].swapaxes(-1, -2)
