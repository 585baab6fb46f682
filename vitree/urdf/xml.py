"""From XML text to elements that know their lines; no other file is ever opened."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from vitree.errors import UrdfError
from vitree.findings import Finding, Report
from vitree.urdf.rules import RULES, Rule
from vitree.urdf.schema import EXTENSIONS, ROBOT, Tag
from vitree.wording import brief, visible

#: Largest file [bytes] and deepest nesting that are read without being asked for more.
MAX_BYTES = 16 * 2**20
MAX_DEPTH = 100
#: Findings that are listed; an error beyond ends the reading.
MOST_FINDINGS = 1000
#: Longest text of a finding, and of a value shown in it.
LONGEST, SHOWN = 1000, 60
#: Numbers of a mechanism may be this large [SI units]: products of several stay finite.
LARGEST = 1e20

_COMMENT = re.compile("<!--(.*?)-->", re.DOTALL)
_BLANK = "\ufeff \t\r\n"
#: How files of an encoding start; the longer marks first.
_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be",
}  # fmt: skip
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")
#: Not encodings of a file whose declaration is plain ASCII, though Python has a codec of the name.
_NOT_ENCODINGS = ("idna", "punycode", "unicode", "raw", "utf-16", "utf16", "utf_16", "utf-32", "utf32", "utf_32")


class Node(ElementTree.Element):
    """An element, the line it starts on, and the name of its file where that is not the file of its ``Source``."""

    __slots__ = ("file", "line")
    line: int
    file: str


class Source:
    """A file, its elements, and the findings in it.

    Elements that URDF does not know have no children here. Of those on top, the first of each name is kept; within
    links and joints, those of other tools (``EXTENSIONS``) are left out. Raises a UrdfError if it is not XML, too
    large, nested too deep, or has a <!DOCTYPE>.

    Parameters
    ----------
    name : str
        What errors call the file.
    data : bytes
    encoding : str, optional
        Overrules the encoding that the file declares.
    max_bytes, max_depth : int
    known : Tag or None
        The elements of the root element that are read; by default those of URDF. None: all elements, with their texts.
    rules : mapping of str to Rule
        By their identifiers.
    error : type
        Of the errors: UrdfError or a kind of it.

    Attributes
    ----------
    plain : bool
        Whether links and joints have elements and attributes of URDF alone, none more often than URDF has it.
    """

    def __init__(
        self,
        name: str,
        data: bytes,
        encoding: str | None = None,
        *,
        max_bytes: int = MAX_BYTES,
        max_depth: int = MAX_DEPTH,
        known: Tag | None = ROBOT,
        rules: Mapping[str, Rule] = RULES,
        error: type[UrdfError] = UrdfError,
    ):
        self.name, self.rules, self.error = name, rules, error
        self.findings: list[Finding] = []
        self.errors = 0
        self.plain = True
        self._unlisted = 0
        self._numbers: dict[str, tuple[float, ...]] = {}  # of texts that have no fault
        if len(data) > max_bytes:
            raise self.fail("xml-size", f"the file is larger than max_bytes={max_bytes}")
        self.text = self._decode(data, encoding)
        if known is None:
            self.text = self._without_comments(self.text)
        self.root = self._parse(self.text, max_depth, known)

    # ---- findings -------------------------------------------------------------------------------

    def say(
        self,
        rule: str,
        text: str,
        node: object = None,
        *,
        severity: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """Keep a finding: of what has a line or is one, with the severity and the remedy of its rule."""
        severity = severity or self.rules[rule].severity
        remedy = self.rules[rule].remedy if remedy is None else remedy
        text = one_line(f"{text}; {remedy}" if remedy else text)
        self.errors += severity == "error"
        if len(self.findings) < MOST_FINDINGS or severity in ("error", "note"):
            line = node if isinstance(node, int) else getattr(node, "line", None)
            self.findings.append(Finding(rule, severity, text, getattr(node, "file", self.name), line))
        else:
            self._unlisted += 1
        if severity == "error" and self.errors > MOST_FINDINGS:
            self.stop()

    def fail(self, rule: str, text: str, node: object = None, remedy: str | None = None) -> UrdfError:
        """Keep a finding and return the error of all findings so far."""
        self.say(rule, text, node, severity="error", remedy=remedy)
        return self._error()

    def stop(self) -> None:
        """Raise the error of all findings, if one of them is an error."""
        if self.errors:
            raise self._error()

    def report(self) -> Report:
        """Return the findings in the order of the file, those without a line last."""
        if self._unlisted:
            self.say("more-findings", f"{self._unlisted} more findings are not listed")
        self._unlisted = 0
        return Report(sorted(self.findings, key=lambda f: math.inf if f.line is None else f.line))

    def _error(self) -> UrdfError:
        report = self.report()
        first, *others = report.of("error")
        place = first.file if first.line is None else f"{first.file}:{first.line}"
        more = f" (and {len(others)} more error{'s' if len(others) > 1 else ''})" if others else ""
        return self.error(f"{place}: " + first.text + more, report)

    @staticmethod
    def failure(name: str, text: str) -> UrdfError:
        """Return the error of a file that cannot be opened."""
        return UrdfError(one_line(f"{name}: " + text))

    # ---- text and elements ----------------------------------------------------------------------

    def _decode(self, data: bytes, encoding: str | None) -> str:
        """Return the text: its encoding is that of its byte-order mark, else the declared one, else UTF-8."""
        if encoding is None:
            encoding = next((known for mark, known in _MARKS.items() if data.startswith(mark)), None)
        declared = None
        if encoding is None and (found := _DECLARED.match(data)):
            encoding = declared = found[1].decode("ascii", "replace")
        try:
            if (declared or "").lower().startswith(_NOT_ENCODINGS):
                raise LookupError
            return data.decode(encoding or "utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            if encoding is None:
                text = f"byte 0x{data[error.start]:02X} is not UTF-8, and no encoding is declared; read as Latin-1"
                self.say("encoding-guessed", text, line)
                return data.decode("latin-1")
            raise self.fail("xml-encoding", f"the file is not text in {encoding}: {error.reason}", line) from None
        except (LookupError, ValueError):
            text = f'the file cannot be read in its encoding "{shown(encoding or "")}"'
            raise self.fail("xml-encoding", text, 1) from None

    def _without_comments(self, text: str) -> str:
        """Return a text with blanks in place of comments, in which writers of such files have "--"."""

        def blank(comment: re.Match[str]) -> str:
            if "--" in comment[1]:
                line = text.count("\n", 0, comment.start()) + 1
                self.say("xml-comment", 'there is a "--" in a comment, which XML does not have; it is skipped', line)
            return "".join(x if x == "\n" else " " for x in comment[0])

        return _COMMENT.sub(blank, text) if "<!--" in text else text

    def _parse(self, text: str, max_depth: int, known: Tag | None) -> ElementTree.Element:
        start = len(text) - len(text.lstrip(_BLANK))
        above = text.count("\n", 0, start)
        parser = expat.ParserCreate("utf-8")
        found: list[ElementTree.Element] = []
        depth, unread = 0, math.inf  # elements nested deeper than ``unread`` are skipped
        open_: list[tuple[Any, Tag]] = [(found, Tag(children={"robot": known or Tag()}))]
        texts: list[list[str]] = [[]]
        seen: set[str] = set()

        def deeper() -> None:
            nonlocal depth
            depth += 1
            if depth > max_depth:
                text = f"elements are nested more than {max_depth} deep"
                raise self.fail("xml-depth", text, parser.CurrentLineNumber + above)

        def begin_any(tag: str, attributes: dict[str, str]) -> None:
            deeper()
            node = Node(tag, attributes)
            node.line = parser.CurrentLineNumber + above
            open_[-1][0].append(node)
            open_.append((node, Tag()))
            texts.append([])

        def end_any(_: str) -> None:
            nonlocal depth
            depth -= 1
            open_.pop()[0].text = "".join(texts.pop())

        def begin(tag: str, attributes: dict[str, str]) -> None:
            nonlocal unread
            deeper()
            if depth > unread:
                return
            above_it, (_, children, many) = open_[-1]
            part = children.get(tag)
            node = Node(tag, attributes)
            node.line = parser.CurrentLineNumber + above
            if part is None:
                unread = depth
                if tag in (seen if depth == 2 else EXTENSIONS) and depth > 1:
                    return
                if depth == 2:
                    seen.add(tag)
                else:
                    self.plain = False
            else:
                open_.append((node, part))
                repeated = depth > 1 and tag not in many and above_it.find(tag) is not None
                if repeated or (depth > 1 and not attributes.keys() <= part.attributes.keys()):
                    self.plain = False
            above_it.append(node)

        def end(_: str) -> None:
            nonlocal depth, unread
            if depth == unread:
                unread = math.inf
            elif depth < unread:
                open_.pop()
            depth -= 1

        def refuse(*_: object) -> None:
            text = "it has a <!DOCTYPE>, which vitree refuses"
            raise self.fail("xml-doctype", text, parser.CurrentLineNumber + above)

        parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = begin, end, refuse
        if known is None:
            parser.StartElementHandler, parser.EndElementHandler = begin_any, end_any
            parser.CharacterDataHandler = lambda data: texts[-1].append(data)
        try:
            parser.Parse(text[start:].encode(), True)
        except expat.ExpatError as error:
            text = f"it is not XML: {expat.errors.messages[error.code]} (column {error.offset + 1})"
            raise self.fail("xml-syntax", text, error.lineno + above) from None
        except UnicodeEncodeError:
            raise self.fail("xml-encoding", "the text has half a character (a lone surrogate)") from None
        return found[0]

    # ---- numbers ----------------------------------------------------------------------------------

    def values(
        self, node: ElementTree.Element | None, attribute: str, default: tuple[float, ...] = (0.0,)
    ) -> tuple[float, ...]:
        """Return the numbers of an attribute that has been checked, or the default where there is none."""
        text = None if node is None else node.get(attribute)
        return default if text is None else self._numbers.get(text) or tuple(map(float, text.split()))

    def place(self, node: ElementTree.Element) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return xyz (3,) [m] and rpy (3,) [rad] of the <origin> in an element; both are zero where it has none."""
        origin = node.find("origin")
        return self.values(origin, "xyz", (0.0, 0.0, 0.0)), self.values(origin, "rpy", (0.0, 0.0, 0.0))

    def numbers(
        self,
        node: ElementTree.Element,
        attribute: str,
        count: int,
        what: str,
        *,
        finite: bool = True,
        severity: str = "error",
        remedy: str | None = None,
    ) -> tuple[float, ...] | None:
        """Return the numbers of an attribute; None, with a finding, if they have a fault.

        Parameters
        ----------
        node : Element
        attribute : str
        count : int
        what : str
            The part of the robot, for the text.
        finite : bool
            Whether infinite and huge numbers are refused, too; NaN always is.
        severity, remedy : str
            Of the finding.
        """
        text = node.get(attribute)
        if text is None:
            self.say("attribute-missing", f'the <{node.tag}> of {what} has no "{attribute}"', node, severity=severity)
            return None
        label = f'{attribute}="{shown(text)}" of the <{node.tag}> of {what}'
        return self.floats(node, text, count, label, finite=finite, severity=severity, remedy=remedy)

    def floats(
        self, node: object, text: str, count: int, label: str, *, finite: bool = True, severity: str = "error",
        remedy: str | None = None,
    ) -> tuple[float, ...] | None:  # fmt: skip
        """Return the numbers of a text that findings call ``label``; other arguments as of :meth:`numbers`."""
        values = self._numbers.get(text)
        if values is None and (read := _floats(text)) is not None and sum(map(abs, read)) <= LARGEST:
            values = self._numbers[text] = read
        if values is not None and len(values) == count:
            return values
        values = _floats(text)
        must = f"{label} must be {'a number' if count == 1 else f'{count} numbers'}"
        if values is None:
            if "," in text:
                remedy = "write a decimal point, and spaces between numbers"
            self.say("number", must, node, severity=severity, remedy=remedy)
            return None
        if len(values) != count:
            self.say("number-count", f"{must}, not {len(values)}", node, severity=severity, remedy=remedy)
        elif any(map(math.isnan, values)) or (finite and any(map(math.isinf, values))):
            must += (" that is" if count == 1 else " that are") + (" finite" if finite else " not NaN")
            self.say("number-finite", must, node, severity=severity, remedy=remedy)
        elif finite and max(map(abs, values)) > LARGEST:
            self.say("number-range", f"{must} up to {LARGEST:g}", node, severity=severity, remedy=remedy)
        else:
            return values
        return None


def _floats(text: str) -> tuple[float, ...] | None:
    """Return the numbers of a text as URDF writes them; None if it has other words."""
    try:
        return None if "_" in text or not text.isascii() else tuple(map(float, text.split()))
    except ValueError:
        return None


def one_line(text: str) -> str:
    """Return a text without line ends, cut if it is long."""
    return brief(visible(re.sub(r"\s+", " ", text).strip()), LONGEST)


def shown(text: str) -> str:
    """Return a value of the file, cut if it is long."""
    return brief(text, SHOWN)
