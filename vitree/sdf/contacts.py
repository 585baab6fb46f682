"""What touches in an SDF file: shapes of links, planes as the ground, and links that do not touch each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from vitree.errors import InputError, ModelError
from vitree.geometry.meshes import Meshes, meshes_by
from vitree.geometry.shapes import Hull, Shape
from vitree.mechanism.contacts import Contact, Ground, NoContact
from vitree.sdf.joints import Joint
from vitree.sdf.links import MU, Link, Surface
from vitree.urdf.collision import solids_of
from vitree.urdf.xml import Source


def contacts_of(
    file: Source, links: Mapping[str, Link], joints: Mapping[str, Joint], given: Meshes | dict[str, Meshes],
    ground: Ground | None, alone: bool,
) -> list[Ground | Contact | NoContact]:  # fmt: skip
    """Return the ground, the contacts, and the pairs of links that do not touch.

    Raises an UnknownNameError if a pattern of ``given`` fits no link with a mesh that touches.

    Parameters
    ----------
    file : Source
    links : dict of str to Link
    joints : dict of str to Joint
    given : Meshes, or dict of patterns to Meshes
        How meshes are taken.
    ground : Ground or None
        In place of the planes of the file.
    alone : bool
        Whether there is nothing else that they touch: what meets nothing has then no contact.
    """
    meshed = [name for name, link in links.items() for each in link.touching
              if any(shape.kind == "mesh" for shape in each.shapes)]  # fmt: skip
    meshes = meshes_by(given, list(dict.fromkeys(meshed)), "link with a collision mesh")
    own = _ground(file, links) if ground is None else None
    contacts: list[Contact] = []
    for name, link in links.items():
        for group in link.touching:
            solids: list[Shape] = list(group.solids)
            for shape in group.shapes:
                try:
                    solids += solids_of(shape, meshes.get(name, Meshes()))
                except (ModelError, InputError) as error:
                    text = f'the mesh "{shape.filename}" of a <collision> of link "{name}" cannot make contact: '
                    remedy = "correct it, or read the file with contacts=False"
                    file.say("contact-mesh", f"{text}{error.args[0]}", link.node, remedy=remedy)
            if solids:
                mu = group.surface.friction
                if own is not None:  # Gazebo takes the smaller of both
                    mu = min(MU if mu is None else mu, cast("float", own.friction))
                contacts.append(Contact(name, shapes=tuple(solids), friction=mu, restitution=group.surface.restitution))
    ground = own if ground is None else ground
    if not contacts or all(links[each.frame].static for each in contacts):
        return [ground, *contacts] if ground is not None and not alone else []
    apart = _apart(links, joints, list(dict.fromkeys(each.frame for each in contacts)))
    there = list(dict.fromkeys(each.frame for each in contacts))
    pairs = len(there) * (len(there) - 1) // 2
    still = sum(links[name].static for name in there)
    if alone and ground is None and len(apart) + still * (still - 1) // 2 >= pairs:
        text = "there is no plane, and links of one model do not touch each other, so nothing touches"
        file.say("sdf-contacts", text, remedy="give a ground, such as ground=vt.Ground()")
        return []
    _tell(file, contacts)
    made: list[Ground | Contact | NoContact] = [] if ground is None else [ground]
    return [*made, *contacts, *apart]


def _ground(file: Source, links: Mapping[str, Link]) -> Ground | None:
    """The planes of links that stand still, as the ground."""
    planes: list[tuple[tuple[float, ...], float]] = []
    surfaces: list[Surface] = []
    for link in links.values():
        for group in link.touching:
            for plane in group.planes:
                normal = link.pose[:3, :3] @ plane.normal
                normal = normal / np.linalg.norm(normal) + 0.0
                point = link.pose[:3, :3] @ plane.point + link.pose[:3, 3]
                place = (tuple(normal.tolist()), float(normal @ point))
                if place not in planes:
                    planes.append(place)
                    surfaces.append(group.surface)
    if not planes:
        return None
    if len({*surfaces}) > 1:
        file.say("sdf-motion", "planes have different surfaces; contacts have that of the first")
    (normal, height), *others = planes
    x, y, z = normal
    mu, restitution = surfaces[0]
    return Ground(height, (x, y, z), friction=MU if mu is None else mu, restitution=restitution or 0.0,
                  planes=tuple(others))  # fmt: skip


def _apart(links: Mapping[str, Link], joints: Mapping[str, Joint], there: list[str]) -> list[NoContact]:
    """Pairs of links of one model that do not touch: those that a joint connects, and all unless one collides so."""
    found = {(joint.parent, joint.child): None for joint in joints.values() if {joint.parent, joint.child} <= {*there}}
    models: dict[int, list[str]] = {}
    for name in there:
        models.setdefault(id(links[name].model), []).append(name)
    for own in models.values():
        for i, one in enumerate(own):
            for other in own[i + 1 :]:
                a, b = links[one], links[other]
                if (other, one) not in found and not (a.static or a.self_collide or b.self_collide):
                    found[one, other] = None
    return [NoContact(one, other, bodies=False) for one, other in found]


def _tell(file: Source, contacts: list[Contact]) -> None:
    """Note how contacts are read."""
    count = sum(len(contact.shapes) for contact in contacts)
    text = f"collision shapes make contact; links: {len({each.frame for each in contacts})}, shapes: {count}"
    lost = max((x.lost for each in contacts for x in each.shapes if isinstance(x, Hull)), default=0.0)
    if lost:
        text += f"; hulls of few points lose up to {lost:.2g} m"
    file.say("sdf-contacts", text)
    file.say("sdf-contacts", "two bodies have the larger of their coefficients of friction; in Gazebo they have the "
             "smaller")  # fmt: skip
    file.say("sdf-contacts", "contacts are rigid; kp, kd, min_depth and the like are left out")


