"""The command `zarrcore`: finds its subcommands, and makes one line of each error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import click

from zarrcore._typed import NamedTuple
from zarrcore._version import __version__
from zarrcore.cli.text import one_line, with_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Home(NamedTuple):
    """The module of a command, and its first sentence, which lists show without importing it."""

    module: str
    summary: str


COMMANDS = {
    "attrs": Home("attributes", "Read and change the attributes of arrays and groups."),
    "bench": Home("speed", "Measure how fast an array is read, by number of threads; nothing is written."),
    "cat": Home("values", 'Print the values of an array, or of a SELECTION such as "0, 10:20, ::2".'),
    "compact": Home(
        "upkeep", "Rewrite shards with bytes that nothing uses, of an array or of all arrays of a group."
    ),
    "completion": Home("about", "Print a script that completes commands and options in a shell."),
    "consolidate": Home(
        "upkeep", "Write consolidated metadata: a copy of the metadata of all nodes in one document."
    ),
    "copy": Home("copying", "Copy an array or a group with all that is below it, into a store or a group."),
    "explain": Home(
        "values", "Show what reading a SELECTION would cost: chunks, requests, bytes fetched and decoded."
    ),
    "info": Home("nodes", "Describe an array or a group: shape, data type, chunks, codecs."),
    "ls": Home("nodes", "List the members of a group."),
    "migrate": Home(
        "upkeep", "Write metadata of format 3 for nodes of format 2; the chunks stay as they are."
    ),
    "plot": Home(
        "pictures",
        "Draw numbers in two dimensions: a SELECTION of an array, in the terminal or as a PNG file.",
    ),
    "repair": Home(
        "upkeep", "Mend what can be mended without a loss: left temporary files, stale consolidated metadata."
    ),
    "serve": Home(
        "serving", "Serve a node and all that is below it over HTTP: read-only, with ranges, until Ctrl-C."
    ),
    "stat": Home("nodes", "Count the stored chunks of an array, and show how large they are."),
    "tree": Home("nodes", "Draw a group with all that is below it."),
    "verify": Home(
        "upkeep", "Find what is damaged or does not belong; exit code 1 if there are errors or warnings."
    ),
    "version": Home(
        "about", "Print the versions of zarrcore, of the libraries in it, and of what it works with."
    ),
}


_OF_NUMBERS = frozenset("0123456789.:")  # and of selections: what follows the minus of one


class _Commands(click.Group):
    """The subcommands, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"zarrcore.cli.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the whole first sentence of each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, or an option of all commands."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        # That of click.Group imports all commands; that of its base completes options.
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name].summary) for name in names), *options]

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            if close:
                raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from None
            raise

    def make_context(self, *args: Any, **keywords: Any) -> click.Context:
        with _usage_in_one_line():
            try:
                return super().make_context(*args, **keywords)
            except BrokenPipeError:
                raise
            except OSError as error:  # --help and --version write, too
                raise Failure(describe(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _usage_in_one_line():
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


class WrongUsage(Failure):
    """Arguments that make no sense: one line, and exit code 2."""

    exit_code = 2


@contextmanager
def _usage_in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        shown = one_line(error.format_message())
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        if isinstance(error, click.NoSuchOption) and error.option_name[1:2] in _OF_NUMBERS:
            hint = f" What begins with a minus and is no option comes after --.{hint}"
        raise WrongUsage(shown + hint) from None


def describe(error: Exception) -> str:
    """Return an error as one line that a terminal may show, with its notes."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    parts = [text or type(error).__name__, *getattr(error, "__notes__", ())]
    return "; ".join(one_line(with_options(part)) for part in parts)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"zarrcore: warning: {one_line(str(message))}", err=True)


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
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
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
