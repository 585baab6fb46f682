"""The command ``vitree``. Needs Typer and Rich (extra "cli")."""

from __future__ import annotations

import functools
import shutil
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from vitree.cli.base import grouped, option
from vitree.cli.bench import bench
from vitree.cli.console import out, say
from vitree.cli.convert import convert
from vitree.cli.play import play
from vitree.cli.robot import check, fix, info, robots
from vitree.cli.run import compare, simulate
from vitree.cli.sweep import sweep
from vitree.cli.view import plot, view
from vitree.cli.words import message_of, usage_of
from vitree.errors import MissingExtraError, VitreeError
from vitree.version import __version__

if TYPE_CHECKING:
    from click import Context, HelpFormatter

try:
    import typer
    import typer.core
except ImportError:  # main() says what to install
    typer = None  # type: ignore[assignment]

#: The commands, each with an example.
COMMANDS: dict[Callable[..., None], str] = {
    info: "vitree info talos",
    check: "vitree check arm.urdf --notes",
    fix: "vitree fix arm.urdf -o fixed.urdf",
    simulate: "vitree simulate talos --duration 1",
    compare: "vitree compare ur5 --dt 0.01,0.005 --duration 1",
    sweep: "vitree sweep ur5 --methods linear-time,rk4 --dt 0.01,0.001 -o table.csv",
    view: "vitree view run.npz",
    play: "vitree play talos",
    plot: "vitree plot energy run.npz",
    convert: "vitree convert run.npz run.csv",
    bench: "vitree bench ur5",
    robots: "vitree robots",
}
#: Columns of a help, at most.
WIDEST = 100


def _root(
    context: typer.Context,
    version: Annotated[bool, option("--version", text="Print the version and exit.")] = False,
) -> None:
    """Variational integrators for articulated robots, from URDF to trajectory."""
    if version:
        out(f"vitree {__version__}")
    elif context.invoked_subcommand is None:
        out(context.get_help())


def application() -> typer.Typer:
    """Return the commands as Typer has them."""
    app = typer.Typer(cls=_narrow(typer.core.TyperGroup), rich_markup_mode="rich", pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_root)
    for command, example in COMMANDS.items():
        app.command(cls=_narrow(typer.core.TyperCommand), epilog=f"Example: {example}")(grouped(command))
    return app


@functools.cache
def _commands() -> Any:
    """Return the commands as they are called, which are made once."""
    return typer.main.get_command(application())


def _narrow(kind: Any) -> Any:
    """Return a kind of command whose help has lines of ``WIDEST`` columns at most."""

    class Narrow(kind):
        def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
            from typer import rich_utils

            rich_utils.MAX_WIDTH = min(WIDEST, shutil.get_terminal_size().columns)
            super().format_help(ctx, formatter)

    return Narrow


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 after an error, which takes one line; 130 if interrupted."""
    if typer is None:
        return _fail(str(MissingExtraError("typer", "cli", "the command line")))
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
            code = _commands()(args=argv, prog_name="vitree", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return 130
    except (VitreeError, OSError) as error:
        return _fail(message_of(error, sys.argv[1:] if argv is None else argv))
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer's errors of wrong usage
            return _fail(usage_of(error) + " (--help lists what there is)")
        raise


def _fail(text: str) -> int:
    say(text)
    return 2
