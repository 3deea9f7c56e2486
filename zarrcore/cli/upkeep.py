"""Commands that check stores and keep them in order: verify, repair, compact, consolidate, migrate."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from zarrcore.cli.places import find_node, json_option, split_place, storage_options, store_path, takes_place
from zarrcore.cli.progress import progress_bar
from zarrcore.cli.text import print_json, with_options
from zarrcore.errors import printable
from zarrcore.info import size_text

_LEVELS = click.Choice(["metadata", "index", "data"])
_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def _verified(place: str, options: tuple[str, ...], level: Any) -> Any:
    import zarrcore

    with progress_bar("verifying", of_bytes=False) as shown:
        return zarrcore.verify(store_path(place, options), level=level, on_progress=shown)


@click.command()
@takes_place
@click.option("--level", type=_LEVELS, default="data", show_default=True, help="How deep to look.")
@json_option
def verify(place: str, options: tuple[str, ...], level: str, as_json: bool) -> None:
    """Find what is damaged or does not belong; exit code 1 if there are errors or warnings.

    \b
    zarrcore verify data.zarr
    zarrcore verify s3://bucket/data.zarr --level index --json
    """
    report = _verified(place, options, level)
    if as_json:
        click.echo(report.to_json(indent=2))
    else:
        for finding in report:
            severity, _, rest = str(finding).partition(" ")
            click.echo(click.style(severity, fg=_COLORS.get(severity)) + " " + printable(rest))
        click.echo("\n".join(str(report).split("\n")[:2]))
    raise click.exceptions.Exit(0 if report.ok else 1)


@click.command()
@takes_place
@click.option("--apply", is_flag=True, help="Do it; without this, only what would be done is shown.")
@click.option(
    "--quarantine", metavar="DIR", help="Move damaged chunks there; they read as fill values afterwards."
)
@click.option("--level", type=_LEVELS, default="data", show_default=True, help="How deep to look.")
@click.option(
    "--min-age", type=float, default=3600.0, show_default=True, help="Seconds that temporary files are left."
)
@json_option
def repair(
    place: str,
    options: tuple[str, ...],
    apply: bool,
    quarantine: str | None,
    level: str,
    min_age: float,
    as_json: bool,
) -> None:
    """Mend what can be mended without a loss: left temporary files, stale consolidated metadata.

    \b
    zarrcore repair data.zarr
    zarrcore repair data.zarr --quarantine damaged --apply
    """
    import zarrcore

    report = _verified(place, options, level)
    for finding in report:
        if finding.kind == "store" and not (report.groups or report.arrays):
            raise OSError(f"{report.store}: {finding.message}")
    done = zarrcore.repair(report, dry_run=not apply, quarantine=quarantine, min_age=min_age)
    if as_json:
        print_json([asdict(item) for item in done])
    elif done:
        for item in done:
            click.echo(printable(with_options(str(item))))
        if not apply:
            needs = quarantine is None and all(item.action == "quarantine" for item in done)
            click.echo(f"nothing was changed: {'--quarantine DIR --apply' if needs else '--apply'} does it")
    elif not report.errors:
        click.echo("nothing to repair")
    if not done and report.errors:
        count = len(report.errors)
        raise ValueError(f"nothing can be mended, {count} error{'s' * (count > 1)} left: see zarrcore verify")
    mended = {item.key for item in done if item.done} - {item.key for item in done if not item.done}
    count = sum(finding.key not in mended for finding in report.errors)
    if apply and count:
        raise ValueError(f"{count} error{'s were' if count > 1 else ' was'} not mended: see zarrcore verify")


@click.command()
@takes_place
@json_option
def compact(place: str, options: tuple[str, ...], as_json: bool) -> None:
    """Rewrite shards with bytes that nothing uses, of an array or of all arrays of a group.

    \b
    zarrcore compact data.zarr/temperature
    """
    import zarrcore
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.groups import members

    node = find_node(place, options, mode="r+")
    nodes = [node]
    if not isinstance(node, OpenArray):
        nodes = [members.opened(node, found) for found in [*members.usable(node, None)]]
    arrays: list[Any] = [each for each in nodes if isinstance(each, OpenArray)]
    done = {each.path: zarrcore.compact(each) for each in arrays}
    reports = {path: report for path, report in done.items() if report.shards}
    if as_json:
        print_json({path: asdict(report) for path, report in reports.items()})
    for path, report in {} if as_json else reports.items():
        saved = report.nbytes_before - report.nbytes_after
        text = f"/{path}: {report.rewritten} of {report.shards} shards rewritten, {size_text(saved)} saved"
        click.echo(printable(text))
        for key, why in report.damaged:
            click.echo(printable(f"  left as it is: {key}: {why}"))
    if not reports and not as_json:
        click.echo("there are no shards")
    raise click.exceptions.Exit(1 if any(report.damaged for report in reports.values()) else 0)


@click.command()
@takes_place
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the copy that is there differs.")
@json_option
def consolidate(place: str, options: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Write consolidated metadata: a copy of the metadata of all nodes in one document.

    \b
    zarrcore consolidate data.zarr
    zarrcore consolidate data.zarr --check
    """
    # What works on metadata loads faster than what opens a group.
    from zarrcore.nodes import consolidate as consolidating
    from zarrcore.nodes.open import open_group_node

    where = store_path(place, options, "r" if check else "r+")
    if not check:
        group, metadata = open_group_node(where, use_consolidated=False)
        with progress_bar("consolidating", of_bytes=False) as shown:
            copy = consolidating.consolidate(group, metadata, shown).consolidated_metadata
        if as_json:
            print_json({"nodes": 0 if copy is None else len(copy.metadata)})
        return
    found = consolidating.check(*open_group_node(where, use_consolidated=True))
    if as_json:
        print_json([asdict(difference) for difference in found])
    for difference in () if as_json else found:
        click.echo(printable(str(difference)))
    raise click.exceptions.Exit(1 if found else 0)


@click.command()
@takes_place
@click.option("-n", "--dry-run", is_flag=True, help="Write nothing, only say what would be done.")
@click.option("--remove-old", is_flag=True, help="Remove the documents of format 2 afterwards.")
@click.option("--overwrite", is_flag=True, help="Replace documents of format 3 that are there.")
@json_option
def migrate(
    place: str, options: tuple[str, ...], dry_run: bool, remove_old: bool, overwrite: bool, as_json: bool
) -> None:
    """Write metadata of format 3 for nodes of format 2; the chunks stay as they are.

    \b
    zarrcore migrate data.zarr --dry-run
    zarrcore migrate data.zarr --remove-old
    """
    import zarrcore

    store, path = split_place(place)
    with progress_bar("migrating", of_bytes=False) as shown:
        report = zarrcore.migrate(
            store, path=path, dry_run=dry_run, remove_old=remove_old, overwrite=overwrite,
            storage_options=storage_options(options), progress=shown,
        )  # fmt: skip
    if as_json:
        names = ("path", "node_type", "zarr_format", "reason", "is_stored", "notes")
        nodes = [{name: getattr(node, name) for name in names} for node in report.nodes]
        print_json({"nodes": nodes, "removed": report.removed})
    for line in () if as_json else str(report).split("\n"):
        click.echo(printable(line))
    raise click.exceptions.Exit(1 if report.refused else 0)  # in a dry run: else it is an error
