"""What the library says of arguments, in the words of the command line."""

from __future__ import annotations

import re

from vitree.cli.names import METHOD_OPTIONS

#: Before an argument: neither a name, path or option that it is part of, nor what is in these words already.
_START = r"(?<![\w\"'/.:=<-])(?<!--option )"
#: Its value, if any; not the ending of a file's name.
_VALUE = r"=(?!\S*\.[A-Za-z])\"?([^\s\",;:)]*)\"?"
#: What the library says, and what the command line does; the first that fits counts.
_TABLE = (
    (r'(base|mimic|loops|inertia)="([\w-]+)"', r"--\1 \2"),
    (r"density=(\S+)(?= must be a finite)", r"--density \1"),
    (f"(root|solver|order|halvings|every|dt|duration){_VALUE}", r"--\1 \2"),
    (r"packages=", "--package NAME=FOLDER"),
    (r"lossy=True", "--lossy"),
    (f"({'|'.join(METHOD_OPTIONS)}){_VALUE}", r"--option \1=\2"),
    (r"or load the file with name=\S+", 'as <robot name="...">'),
    (r"Trajectory\.save or ", ""),
)


def spoken(text: object) -> str:
    """Return a message with options in place of arguments of Python."""
    said = str(text)
    for pattern, words in _TABLE:
        said = re.sub(_START + pattern, lambda found: found.expand(words).rstrip(), said)  # noqa: B023
    return said
