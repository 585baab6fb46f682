"""Joint forces as a linear function of a model's standard parameters: the regressor.

The standard parameters are those in which the equations of motion are linear (Atkeson, An & Hollerbach 1986): ten of
each link (mass, first moments and the inertia about the origin of the link's frame), and damping, friction and armature
of each joint coordinate.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from vitree.arguments import of_kind
from vitree.errors import InputError
from vitree.mechanism.flat import smooth_sign, smooth_sign_slope
from vitree.model.model import Model
from vitree.spatial.pseudo_inertia import ENTRIES, inertial_parameters, of_pseudo_inertia, pseudo_inertia

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
    """The regressor Y (nv, p) of a model: rnea, damping and friction are Y @ standard_parameters(model)."""

    def __init__(self, model: Model):
        self.model, full = model, model.full
        self.names = standard_names(model)
        #: Speeds (nv of all joints) below which friction is linear [rad/s or m/s].
        self.speed = np.where(full.dry_friction > 0, SLOW, full.flat.friction_velocity)
        self._single = _coordinates(full, "armature")
        self._ways = [_to_body(full, link) for link in full.link_names]

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return Y (n, nv, p) at states q (n, nq), v (n, nv) and accelerations a (n, nv)."""
        of_bodies = self.model.joint_torque_regressor(q, v, a)
        nothing = np.zeros((*of_bodies.shape[:2], len(OF_LINK)))
        links = [nothing if body < 0 else of_bodies[:, :, len(OF_LINK) * body : len(OF_LINK) * (body + 1)] @ way
                 for body, way in self._ways]  # fmt: skip
        wide = self.model.expand_velocity(v)
        rubbing = smooth_sign(wide, self.speed)
        damping, friction = self._at(wide, range(wide.shape[1])), self._at(rubbing, self._single)
        armature = self._at(self.model.expand_velocity(a), self._single)
        return np.concatenate((*links, damping, friction, armature), axis=2)

    def gradient(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives (n, nv) of the sum of weights (n, nv, p) times Y by displacements, v and a.

        The model has no followers, and joints of one coordinate.
        """
        n, nv, _ = weights.shape
        ends = np.cumsum([len(OF_LINK)] * len(self._ways) + [nv, nv, nv])
        *of_links, damping, friction, armature = np.split(weights, ends[:-1], axis=2)
        out = (np.zeros((n, nv)), np.zeros((n, nv)), np.zeros((n, nv)))

        def add(model: Model, forces: np.ndarray) -> None:
            slopes = model.rnea_derivatives(q, v, a)
            for total, matrix in zip(out, (slopes.by_q, slopes.by_v, slopes.by_a), strict=True):
                total += np.einsum("nf,nfk->nk", forces, matrix)

        models, ways = self._differing
        for (first, *others), part in zip(models, of_links, strict=True):
            of_models = part @ ways
            if part.any():
                add(first, -of_models.sum(axis=2))
                for k, other in enumerate(others):
                    add(other, of_models[:, :, k])
        diagonal = np.arange(nv)
        out[1][:] += damping[:, diagonal, diagonal]
        out[1][:] += friction[:, diagonal, diagonal] * smooth_sign_slope(v, self.speed)
        out[2][:] += armature[:, diagonal, diagonal]
        return out

    @functools.cached_property
    def _differing(self) -> tuple[list[tuple[Model, ...]], np.ndarray]:
        """Eleven models for each link, and a map (10, 10): differences of their forces to columns of the regressor.

        The link is another possible body in each, and these differ from the first in directions that span its
        parameters. Forces are linear in these, so that differences are exact, and so are those of derivatives.
        """
        mass, size = max(float(self.model.total_mass), 1e-3), 0.3
        about = mass * size**2 * np.eye(3)
        bodies = [(mass, np.zeros(3), about), (2 * mass, np.zeros(3), about)]
        bodies += [(mass, size * axis, about) for axis in np.eye(3)]
        for row, column in ENTRIES:
            more = np.zeros((3, 3))
            more[row, column] = more[column, row] = 0.25 * mass * size**2
            bodies.append((mass, np.zeros(3), about + more))
        parameters = np.array([inertial_parameters(*body) for body in bodies])
        models = [tuple(self.model.with_parameters(mass={link: m}, com={link: c}, inertia={link: inertia})
                        for m, c, inertia in bodies) for link in self.model.link_names]  # fmt: skip
        return models, np.linalg.inv(parameters[1:] - parameters[0])

    def _at(self, rates: np.ndarray, which: Iterable[int]) -> np.ndarray:
        """Joint forces (n, nv, k) that rates (n, nv of all joints) of k coordinates give, each alone."""
        contract, columns = getattr(self.model, "contract_force", None), []
        for k in which:
            force = np.zeros_like(rates)
            force[:, k] = rates[:, k]
            columns.append(force if contract is None else contract(force))
        return np.stack(columns, axis=2) if columns else np.zeros((len(rates), self.model.nv, 0))


def _to_body(model: Model, link: str) -> tuple[int, np.ndarray]:
    """Return the body (-1: the world) that a link is part of, and how its parameters add to the body's, (10, 10)."""
    row = model.frame_names.index(link)
    body = int(model.flat.frame_body[row])
    if body < 0:
        return body, np.zeros((10, 10))
    E, p = (of[body] for of in model._parameter_places)
    pose = np.eye(4)  # of the link in the frame of the body's parameters
    pose[:3, :3], pose[:3, 3] = E.T @ model.flat.frame_E[row], E.T @ (model.flat.frame_p[row] - p)
    return body, np.column_stack([of_pseudo_inertia(pose @ pseudo_inertia(one) @ pose.T) for one in np.eye(10)])


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
