"""A script for viser's pages, live and exported: arrows that bodies do not hide, and a panel that folds on phones.

viser draws arrows as bodies, so that those inside of a foot are not seen. The script sets the materials of arrows and
of lines that mark something to be drawn last, whatever is in front of them. It reads the table of nodes that viser's
client has on ``window`` for its own tests; where a version has none, arrows are drawn as viser draws them. On a window
of less than NARROW pixels the panel of a live page would hide the scene, and is folded once, as by a click on its bar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websockets.http11 import Response

#: The last part of the names of nodes that are drawn on top.
NAMES = ("contact forces", "pull", "support polygon", "centre of mass", "centre of mass, along gravity")
NARROW = 400
SCRIPT = """
(function () {
  var folding = innerWidth < NARROW ? setInterval(function () {
    var bar = document.querySelector("[style*='cursor: pointer'][style*='height: 3.5em']");
    if (!bar) return;
    clearInterval(folding);
    bar.click();
  }, 200) : 0;
  var names = NAMES;
  setInterval(function () {
    var nodes = (window.__viserMutable || {}).nodeRefFromName || {};
    Object.keys(nodes).forEach(function (name) {
      if (!nodes[name] || names.indexOf(name.split("/").pop()) < 0) return;
      nodes[name].traverse(function (part) {
        var material = part.material;
        if (!material || material.depthTest === false) return;
        material.depthTest = false;
        material.transparent = true;
        material.needsUpdate = true;
        part.renderOrder = 9000;
      });
    });
  }, 200);
})();
""".replace("NAMES", str(list(NAMES))).replace("NARROW", str(NARROW))


def with_script(text: str) -> str:
    """Return a page with the script at its end."""
    end = text.rindex("</body>")
    return f"{text[:end]}<script>{SCRIPT}</script>{text[end:]}"


def scripted(answer: Response) -> Response:
    """Return an answer of viser's server; if it is the page itself, with the script."""
    import gzip

    headers = getattr(answer, "headers", {})
    if getattr(answer, "status_code", 0) != 200 or not headers.get("Content-Type", "").startswith("text/html"):
        return answer
    packed = headers.get("Content-Encoding") == "gzip"
    text = (gzip.decompress(answer.body) if packed else answer.body).decode()
    if "</body>" not in text:
        return answer
    body = with_script(text).encode()
    answer.body = gzip.compress(body, 1) if packed else body
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(answer.body))
    return answer
