"""The command serve: a store over HTTP, read-only."""

from __future__ import annotations

import sys
from errno import EADDRINUSE

import click

from zarrcore.cli.places import json_option, open_place, takes_place
from zarrcore.cli.text import one_line, print_json


@click.command()
@takes_place
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free one."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; by default this machine alone.",
)
@click.option(
    "--cors", is_flag=True, help="Let pages of all web sites read the store, as viewers in a browser do."
)
@click.option("-v", "--verbose", is_flag=True, help="Print each request.")
@json_option
def serve(
    place: str, options: tuple[str, ...], port: int, host: str, cors: bool, verbose: bool, as_json: bool
) -> None:
    """Serve a node and all that is below it over HTTP: read-only, with ranges, until Ctrl-C.

    What the store has can be read by every program that reaches the address; nothing is encrypted.

    \b
    zarrcore serve data.zarr
    zarrcore serve data.zip::surface --port 9000 --cors
    """
    from zarrcore.cli.server import make_server

    node = open_place(place, options)
    try:
        server = make_server(node.store_path, host, port, cors=cors, verbose=verbose)
    except OSError as error:
        if error.errno == EADDRINUSE:
            error.add_note("--port 0 takes any free one")
        raise
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{server.server_address[1]}/"
    if as_json:
        print_json({"place": place, "url": url})
        sys.stdout.flush()
    else:
        click.echo(f"serving {one_line(place)} at {url} (Ctrl-C ends it)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("ended", err=True)
    finally:
        server.server_close()
