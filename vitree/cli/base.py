"""How commands are written: options, arguments, and groups of options as dataclasses."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Optional, get_type_hints

from vitree.cli.console import say

try:
    import typer
except ImportError:  # main() says what to install
    typer = None  # type: ignore[assignment]


#: The panels of a command's help, and the options in each, by the names of parameters.
PANELS = {
    "Robot": ("base", "mimic", "loops", "root", "inertia", "density", "armature", "packages", "xacro", "trust",
              "ground", "friction", "restitution", "limits", "limit_restitution", "velocity_limits",
              "joint_friction", "gravity", "damping"),
    "Start": ("q0", "v0", "speed", "seed"),
    "Control": ("drives", "inputs"),
    "Run": ("duration", "method", "methods", "dt", "solver", "order", "others", "accuracy", "max_halvings",
            "max_impacts",
            "imports", "reference", "repeats", "engines", "steps", "peers", "seeds", "varied", "backend", "workers",
            "cluster"),
    "Output": ("output", "record_every", "monitor", "plot", "no_plot", "folder", "force", "progress", "notes", "each",
               "as_json"),
}  # fmt: skip
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


#: A function of a command, and one that completes a word.
Command = Callable[..., None]
Complete = Callable[..., list[str]]


def option(*names: str, text: str, complete: Complete | None = None) -> Any:
    """An option of a command."""
    return typer.Option(*names, help=text, show_default=True, autocompletion=complete) if typer else None


def argument(text: str, name: str, complete: Complete | None = None) -> Any:
    """An argument of a command."""
    return typer.Argument(help=text, metavar=name, show_default=False, autocompletion=complete) if typer else None


def grouped(command: Command) -> Command:
    """Return a command whose parameters that are groups of options became options of their own, in panels of the help.

    Interrupted, it says so and ends with 130.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters, groups = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))
            continue
        group, own = hints[name], get_type_hints(hints[name], include_extras=True)
        groups[name] = group
        for field in fields(group):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind, hint = inspect.Parameter.KEYWORD_ONLY, own[field.name]
            parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=hint))
    in_groups = {field.name for group in groups.values() for field in fields(group)}
    panels = {one.name: panel for one in parameters if (panel := _PANEL_OF.get(one.name)) is not None
              and (one.name in in_groups or panel != "Start")}  # fmt: skip
    for parameter in parameters:
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if parameter.name in panels and hasattr(info, "rich_help_panel"):
                info.rich_help_panel = panels[parameter.name]
    parameters.sort(key=lambda one: [None, *PANELS].index(panels.get(one.name)))

    @functools.wraps(command)
    def run(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        try:
            return command(**given)
        except KeyboardInterrupt:  # which some versions of Typer end without a word
            say("interrupted")
            raise typer.Exit(130) from None

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


Json = Annotated[bool, option("--json", text="Print JSON instead of text.")]
Notes = Annotated[bool, option("--notes", text="Print warnings and notes in full instead of shortened.")]
Force = Annotated[bool, option("--force", text="Overwrite an existing file, whatever its type.")]
Progress = Annotated[
    Optional[bool],  # noqa: UP045 (older Typer)
    option(
        "--progress/--no-progress",
        text="Show a progress bar on stderr. Default: on a terminal after one second; elsewhere one line per stage, "
        "after three seconds.",
    ),
]
