"""The version of vitree."""

__version__ = "0.2.0.dev0"
