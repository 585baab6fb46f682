"""URDF files: text to Tree, and back."""

from vitree.urdf.fix import FixedUrdf, fix_urdf
from vitree.urdf.reader import check_urdf, load_urdf, read_urdf
from vitree.urdf.writer import write_urdf

__all__ = ["FixedUrdf", "check_urdf", "fix_urdf", "load_urdf", "read_urdf", "write_urdf"]
