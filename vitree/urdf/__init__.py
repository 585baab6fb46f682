"""URDF files to trees; nothing numeric beyond that."""

from vitree.urdf.reader import load_urdf, read_urdf

__all__ = ["load_urdf", "read_urdf"]
