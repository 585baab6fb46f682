"""The version of vitree."""

__version__ = "0.1.0"
