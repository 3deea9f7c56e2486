"""The command `zarrcore`: finds its subcommands, and makes one line of each error."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from zarrcore._version import __version__
from zarrcore.errors import masked, printable

# The modules below, by command: only the one that is run is imported.
COMMANDS = {
    "attrs": "attributes",
    "bench": "speed",
    "cat": "values",
    "compact": "upkeep",
    "completion": "about",
    "consolidate": "upkeep",
    "copy": "copying",
    "explain": "values",
    "info": "nodes",
    "ls": "nodes",
    "migrate": "upkeep",
    "plot": "pictures",
    "repair": "upkeep",
    "serve": "serving",
    "stat": "nodes",
    "tree": "nodes",
    "verify": "upkeep",
    "version": "about",
}


class _Commands(click.Group):
    """The subcommands, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"zarrcore.cli.{COMMANDS[cmd_name]}")
        if not gc.isenabled():  # see main(); nor need it be looked through when the process ends
            gc.freeze()
            gc.enable()
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the whole first sentence of each."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(200)) for name, each in found if each])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            if close:
                raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise Failure(describe(error)) from error


class Failure(click.ClickException):
    """Something that could not be done: one line, and exit code 1."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        click.echo(f"zarrcore: {self.message}", file=file or sys.stderr)


def describe(error: Exception) -> str:
    """Return an error as one line that a terminal may show, with its notes."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    parts = [text or type(error).__name__, *getattr(error, "__notes__", ())]
    return printable(masked("; ".join(" ".join(part.split()) for part in parts)))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"zarrcore: warning: {printable(masked(' '.join(str(message).split())))}", err=True)


@click.command(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Look into Zarr stores, copy, check and mend them.

    A PLACE is a path or URL of a store, or of a node in it: data.zarr, data.zarr/group/array,
    s3://bucket/data.zarr.  STORE::PATH names a node in a store that is one file: data.zip::group/array.

    Exit code: 0 if all went well, 1 if something failed or was found wrong, 2 if the arguments make no sense.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with these arguments, by default those of the process; ends in SystemExit."""
    if sys.stdout is None:
        raise SystemExit("zarrcore: there is no standard output")
    for stream in (sys.stdout, sys.stderr):  # names that the terminal's encoding lacks are escaped
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        cli.main(args=arguments and list(arguments), prog_name="zarrcore")
