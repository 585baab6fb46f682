"""Armature of joints: from the rotors of a file's transmissions, and as a person gives it."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from vitree.arguments import real, shown
from vitree.errors import InputError, UnknownNameError
from vitree.urdf.checks import suggestion
from vitree.urdf.joints import Joint
from vitree.urdf.schema import ONE_COORDINATE
from vitree.urdf.xml import LARGEST, Source
from vitree.urdf.xml import shown as cut

#: Elements whose numbers matter, without prefix and underscores; where both ratios are given, the first counts.
ROTOR, RATIOS = "rotorinertia", ("gearratio", "mechanicalreduction")
#: What <transmission>s may be in.
_HOLDERS = (["robot"], ["robot", "ros2_control"])
_MENTIONED = re.compile("_*".join(ROTOR), re.IGNORECASE)


@dataclass
class _Part:
    """A <transmission>, or an <actuator> or <joint> of one, with its numbers: the tag, line and text of each."""

    line: int
    name: str = ""
    numbers: dict[str, tuple[str, int, str]] = field(default_factory=dict)


@dataclass
class _Transmission(_Part):
    joints: list[_Part] = field(default_factory=list)
    actuators: list[_Part] = field(default_factory=list)


def rotors_of(file: Source, joints: Mapping[str, Joint], moving: Collection[str]) -> dict[str, float]:
    """Return the armature [kg or kg m^2] of the joints that a transmission gives a rotor.

    That is the sum of reduction^2 times rotor inertia over the actuators of the joint. Rotors of other joints are left
    out with a warning.

    Parameters
    ----------
    file : Source
    joints : mapping of str to urdf_parser_py.urdf.Joint
        All <joint>s of the file.
    moving : collection of str
        Those that have one coordinate.
    """
    found: dict[str, float] = {}
    if "<transmission" not in file.text or not _MENTIONED.search(file.text):
        return found
    for one in _transmissions(file.text):
        rotors = [part for part in (one, *one.actuators, *one.joints) if ROTOR in part.numbers]
        if not rotors:
            continue
        names = [part.name for part in one.joints]
        line = rotors[0].numbers[ROTOR][1]
        if len(names) != 1 or names[0] not in moving:
            why = f"has {len(names)} joints" if len(names) != 1 else _why_not(names[0], joints)
            file.say("rotor-joint", f"the transmission {why}; its rotor inertia is ignored", line)
            continue
        total = 0.0
        for part in rotors:
            inertia, ratio = _number(file, part.numbers[ROTOR], names[0], 0.0), 1.0
            given = (x.numbers[key] for x in (part, *one.joints, one) for key in RATIOS if key in x.numbers)
            if (entry := next(given, None)) is not None:
                ratio = _number(file, entry, names[0], None)
            total += ratio * ratio * inertia
        found[names[0]] = found.get(names[0], 0.0) + total
    return found


def _why_not(name: str, joints: Mapping[str, Joint]) -> str:
    if name not in joints:
        return f'names the joint "{cut(name)}", which is not in the file{suggestion(name, joints)}'
    kind = joints[name].type
    what = "closes a loop or is ignored" if kind in ONE_COORDINATE else f"is {kind}"
    return f'is of the joint "{name}", which {what}'


def _number(file: Source, entry: tuple[str, int, str], joint: str, least: float | None) -> float:
    """A number, zero with a finding if it has a fault; not below ``least``, or, with None, not zero."""
    tag, line, text = entry
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if abs(value) <= LARGEST and (value != 0.0 if least is None else value >= least):
        return value
    must = "other than zero" if least is None else "zero or more"
    file.say("rotor-number", f'the <{tag}> of joint "{joint}" is "{cut(text)}"; it must be a number {must}', line)
    return 0.0


def _transmissions(text: str) -> list[_Transmission]:
    """The <transmission>s of a text that has been read as XML."""
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    above = text.count("\n", 0, start)
    parser = expat.ParserCreate("utf-8")
    found: list[_Transmission] = []
    path: list[str] = []
    parts: list[_Part] = []  # those that are open
    words: list[str] = []
    value: str | None = None

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal value
        line = parser.CurrentLineNumber + above
        if tag == "transmission" and path in _HOLDERS:
            found.append(_Transmission(line, attributes.get("name", "")))
            parts.append(found[-1])
        elif parts:
            part = parts[-1]
            if isinstance(part, _Transmission) and tag in ("joint", "actuator") and path[-1] == "transmission":
                part = _Part(line, attributes.get("name", ""))
                (found[-1].joints if tag == "joint" else found[-1].actuators).append(part)
            parts.append(part)
        path.append(tag)
        words.clear()
        value = attributes.get("value")

    def end(tag: str) -> None:
        path.pop()
        if parts:
            part = parts.pop()
            key = tag.rpartition(":")[2].replace("_", "").lower()
            if key == ROTOR or key in RATIOS:
                given = "".join(words) if value is None else value
                part.numbers[key] = tag, parser.CurrentLineNumber + above, given.strip()

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = words.append
    parser.Parse(text[start:].encode(), True)
    return found


# ---- as a person gives it ---------------------------------------------------------------------------

#: Options of joints that are numbers: the largest one, and what errors ask for.
NUMBERS = {
    "armature": (math.inf, "a finite number, zero or more [kg or kg m^2]"),
    "limit_restitution": (1.0, "a number from 0 to 1"),
}


def checked_numbers(option: str, given: object) -> float | dict[str, float] | None:
    """Return an option of joints, one of ``NUMBERS``: a number, or numbers by patterns of joint names.

    Raises an InputError if a number is out of its range, or a pattern no text.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return _in_range(option, given, option)
    for pattern in given:
        if not isinstance(pattern, str):
            raise InputError(f"a key of {option} is {shown(pattern)}; it must be a pattern of names of joints, a text")
    return {pattern: _in_range(option, value, f'{option}["{pattern}"]') for pattern, value in given.items()}


def _in_range(option: str, value: object, what: str) -> float:
    number, (most, needed) = real(value), NUMBERS[option]
    if isinstance(value, bool) or not 0 <= number <= most or math.isinf(number):
        told = "" if what == option else f"is {shown(value)}; it "
        raise InputError(what, value, f"{told}must be {needed}")
    return number


def numbers_by(
    option: str, given: float | Mapping[str, float] | None, names: Iterable[str], of_file: Mapping[str, float],
    kind: str = "joint of one coordinate",
) -> dict[str, float]:  # fmt: skip
    """Return the number of each joint that has one: as given, or else that of the file.

    Raises an UnknownNameError if a pattern fits no joint.

    Parameters
    ----------
    option : str
        Of ``NUMBERS``.
    given : float, mapping of patterns to floats, or None
        Of :func:`checked_numbers`. The first pattern that fits a name counts.
    names : iterable of str
        The joints that may have one.
    of_file : mapping of str to float
        Such as of :func:`rotors_of`.
    kind : str
        What errors call these joints.
    """
    if given is None:
        return dict(of_file)
    patterns = given if isinstance(given, Mapping) else {"*": given}
    names = list(names)
    found = dict(of_file)
    for pattern, value in reversed(list(patterns.items())):
        fitting = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not fitting and isinstance(given, Mapping):
            which = f"{kind} that fits" if set(pattern) & set("*?[") else kind
            raise UnknownNameError(which, pattern, names, argument=option)
        found |= dict.fromkeys(fitting, value)
    return found
