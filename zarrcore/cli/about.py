"""Commands about the program itself: version, completion."""

from __future__ import annotations

import click

from zarrcore.cli.places import json_option
from zarrcore.cli.text import print_json


@click.command()
@json_option
def version(as_json: bool) -> None:
    """Print the versions of zarrcore, of the libraries in it, and of what it works with.

    \b
    zarrcore version --json
    """
    from zarrcore.api.debug import print_debug_info
    from zarrcore.show import show_config

    if as_json:
        print_json(show_config(mode="dicts"))
    else:
        print_debug_info()


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and options in a shell.

    \b
    zarrcore completion bash >> ~/.bashrc
    zarrcore completion zsh >> ~/.zshrc
    zarrcore completion fish > ~/.config/fish/completions/zarrcore.fish
    """
    from click.shell_completion import get_completion_class

    from zarrcore.cli.app import cli

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, "zarrcore", "_ZARRCORE_COMPLETE").source())
