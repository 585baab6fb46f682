"""A page with a robot on it: sliders for its joints, a run to play, or a simulation. Needs viser (extra "view")."""

from vitree.viewer.movie import video
from vitree.viewer.page import write_html
from vitree.viewer.show import Viewer, view

__all__ = ["Viewer", "video", "view", "write_html"]
