"""``python -m vitree`` is the command ``vitree``."""

from vitree.cli import main

raise SystemExit(main())
