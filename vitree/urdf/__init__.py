"""URDF files: text to Tree."""

from vitree.urdf.reader import load_urdf, read_urdf

__all__ = ["load_urdf", "read_urdf"]
