"""Contacts of a model: what may touch, and the gaps between."""

from __future__ import annotations

import functools

from numpy.typing import ArrayLike

from vitree._core.types import ContactList
from vitree.findings import Finding, Report
from vitree.mechanism.contacts import Contact
from vitree.model.broadcasting import finite_result, of_full
from vitree.model.candidates import Candidates, ContactGaps, candidates_of, gaps_of
from vitree.model.collision_checks import Unmet, unmet_of
from vitree.model.kinematics import KinematicsMethods
from vitree.model.lower import contact_names, lower_contacts
from vitree.model.wheels import Wheels, wheels_of


class ContactMethods(KinematicsMethods):
    """What may touch the ground and each other, and how far it is."""

    @functools.cached_property
    @of_full
    def contact_candidates(self) -> Candidates:
        """What may touch, in arrays; bodies are those of ``full``."""
        found = self._structure.found.get("candidates")
        if found is None:
            found = candidates_of(self.index, self.flat, self._pose_rows(self.neutral()[None])[0])
        return self._structure.found.setdefault("candidates", found)

    @functools.cached_property
    @of_full
    def contact_list(self) -> ContactList:
        """What may touch, as steppers take it."""
        found = self._touching.get("list")
        if found is None:
            found = ContactList()
            if self.has_contact:
                found = lower_contacts(self.flat, self.contact_candidates, self.wheels)
        result: ContactList = self._touching.setdefault("list", found)
        return result

    @functools.cached_property
    @of_full
    def wheels(self) -> Wheels:
        """What rolls, in arrays; bodies are those of ``full``."""
        return wheels_of(self.index, self.flat)

    @functools.cached_property
    @of_full
    def _contact_names(self) -> tuple[tuple[str, str], ...]:
        """The two that touch, in the order of the contacts."""
        if "names" not in self._touching:
            self._touching["names"] = tuple(contact_names(self.flat, self.contact_candidates))
        found: tuple[tuple[str, str], ...] = self._touching["names"]
        return found

    @finite_result
    def contact_gaps(self, q: ArrayLike) -> ContactGaps:
        """Return the gaps of all that may touch at q (nq,) [m or rad], one row each; negative in penetration.

        Left out are pairs of one body, of a body and the one that carries it, of a :class:`NoContact`, and pairs of
        one mechanism that overlap at the neutral configuration.

        Returns
        -------
        ContactGaps
            Names of frames a, b ("ground"), gap (n,) [m], normal (n, 3) from b to a, and the nearest points of a and b
            in the world (n, 3) [m].
        """
        poses = self._pose_rows(self.validate_configuration(q)[None])[0]
        return gaps_of(self.flat, self.contact_candidates, poses)

    @functools.cached_property
    @of_full
    def unsupported_contacts(self) -> Unmet:
        """Shapes in reach of each other that cannot touch, and contacts that can meet nothing; bodies of ``full``."""
        poses = self._pose_rows(self.neutral()[None])[0]
        return unmet_of(self.index, self.flat, self.contact_candidates, poses)

    @functools.cached_property
    @of_full
    def _contact_findings(self) -> list[Finding]:
        return self.unsupported_contacts.findings() if any(isinstance(each, Contact) for each in self.contacts) else []

    @property
    def report(self) -> Report:
        """Findings of the file that the model comes from, and contacts that do less than they seem to."""
        return self.flat.report + findings if (findings := self._contact_findings) else self.flat.report
