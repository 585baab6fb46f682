"""Make llms.txt, the list of the manual's pages for language models (llmstxt.org).

    python docs/_ext/llms.py

writes docs/llms.txt, whose links lead to the sources of the pages. As an extension of Sphinx it writes llms.txt, whose
links lead to the pages in HTML, and llms-full.txt, the text of all pages, beside them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1]
VERSION = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["version"]
#: A table of contents in Markdown or reStructuredText.
TOC = re.compile(r"```\{toctree\}\n(.*?)```|^\.\. toctree::\n((?:[ ]+\S.*\n|\n)+)", re.S | re.M)


def source(name: str) -> Path:
    """The file of a page."""
    return next(path for path in (DOCS / f"{name}.md", DOCS / f"{name}.rst") if path.exists())


def text_of(name: str) -> str:
    """The text of a page, with what it includes."""
    path = source(name)

    def included(found: re.Match) -> str:
        first = re.search(r":start-line: (\d+)", found[2])
        return "\n".join((path.parent / found[1]).read_text().splitlines()[int(first[1]) if first else 0 :])

    return re.sub(r"```\{include\} (\S+)\n((?::.*\n)*)```", included, path.read_text())


def contents(name: str) -> list[tuple[str, list[str]]]:
    """Captions, and the pages below each, of a page's tables of contents."""
    found = []
    for markdown, plain in TOC.findall(source(name).read_text()):
        lines = [line.strip() for line in (markdown or plain).splitlines()]
        caption = next((line.removeprefix(":caption: ") for line in lines if line.startswith(":caption:")), "")
        folder = Path(name).parent
        found.append((caption, [str(folder / line) for line in lines if line and not line.startswith(":")]))
    return found


def below(name: str) -> Iterator[str]:
    """A page and the pages below it."""
    yield name
    for _, pages in contents(name):
        for page in pages:
            yield from below(page)


def title_and_words(name: str) -> tuple[str, str]:
    """The title of a page, and its first sentence."""
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text_of(name)) if block.strip()]
    title = blocks[0].splitlines()[0].lstrip("# ")
    plain = (block for block in blocks[1:] if re.match(r"[A-Za-z`\[]", block) and not block.startswith("```")
             and not re.search(r"^(\.\. |[-=~]{3,}$)|::$", block, re.M))  # fmt: skip
    words = re.sub(r"\[([^]]*)\]\([^)]*\)|\s+", lambda found: found[1] or " ", next(plain, ""))
    words = re.sub(r":\w+:`([^`]*)`", r"\1", words)
    return title, re.split(r"(?<=\.)\s", words, maxsplit=1)[0].strip()


def index(suffix: str = "") -> str:
    """The text of llms.txt; links end in ``suffix``, or as the sources of their pages do."""
    _, words = title_and_words("index")
    out = [f"# vitree {VERSION}", "", f"> {words}", "",
           "Python 3.11 or later. `import vitree as vt`. Units are SI. The q of a free joint is (position, quaternion "
           "x y z w), and its v is (linear, angular) in body axes. Errors name the thing, the choices and the remedy.",
           ""]  # fmt: skip
    for caption, pages in contents("index"):
        out += [f"## {caption}", ""]
        for page in (each for top in pages for each in below(top)):
            title, words = title_and_words(page)
            link = f"{page}{suffix}" if suffix else source(page).relative_to(DOCS).as_posix()
            out.append(f"- [{title}]({link})" + (f": {words}" if words else ""))
        out.append("")
    return "\n".join(out)


def full() -> str:
    """The text of llms-full.txt: the pages one after the other."""
    parts = [f"# The manual of vitree {VERSION}\n"]
    parts += [f"<!-- {source(page).relative_to(DOCS).as_posix()} -->\n\n{text_of(page)}" for page in below("index")]
    return "\n\n".join(parts)


def write(app, error) -> None:
    """Write both files beside the pages."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(index(".html"))
        (Path(app.outdir) / "llms-full.txt").write_text(full())


def setup(app) -> dict:
    """Connect to Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    (DOCS / "llms.txt").write_text(index())
