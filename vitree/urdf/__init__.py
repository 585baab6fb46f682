"""URDF files: text to Tree."""

from vitree.urdf.reader import check_urdf, load_urdf, read_urdf

__all__ = ["check_urdf", "load_urdf", "read_urdf"]
