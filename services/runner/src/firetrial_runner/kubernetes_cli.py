# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial kubernetes-job`: a command in a sandbox, as manifests."""

from __future__ import annotations

import json

import click


@click.command("kubernetes-job")
@click.argument("argv", nargs=-1, required=True, metavar="COMMAND…")
@click.option("--run", "run_key", required=True, metavar="KEY", help="Names all that is made.")
@click.option("--lease", default="by-hand", show_default=True, help="Marks whose it is.")
@click.option("--image", required=True)
@click.option("--namespace", default="firetrial", show_default=True)
@click.option("--runtime-class", default="", metavar="NAME", help="A stronger sandbox's, such as gvisor.")
@click.option("--wall", type=float, metavar="SECONDS")
@click.option("--cpus", type=float)
@click.option("--memory", "memory_bytes", type=int, metavar="BYTES")
@click.option("--disk", "disk_bytes", type=int, metavar="BYTES")
@click.option("--gpus", type=int, default=0)
@click.option("--gpu-memory", type=int, default=0, metavar="BYTES", help="What each GPU has at least.")
@click.option("--egress", is_flag=True, help="It may reach its runner's egress beside the gateway.")
@click.option("--json", "as_json", is_flag=True, help="On one line.")
def kubernetes_job(
    *,
    argv: tuple[str, ...],
    wall: float | None,
    gpus: int,
    gpu_memory: int,
    egress: bool,
    as_json: bool,
    **told: object,
) -> None:
    """Print the Secret, NetworkPolicy and Job that would run COMMAND in a cluster.

    For `kubectl apply --dry-run=server -f -`, to see what the cluster says to it. Nothing here drives it.
    What no field holds is told on standard error, and by an annotation of the Job.
    """
    from firetrial_kit.errors import FiretrialError
    from firetrial_runner.gpus.device import Demand
    from firetrial_runner.sandbox.kubernetes import LACKING, Cluster, Job, render
    from firetrial_runner.sandbox.port import EGRESS_PORT, GATEWAY_PORT, Limits

    asked = {"wall_s": wall} | {name: told.pop(name) for name in ("cpus", "memory_bytes", "disk_bytes")}
    limits = Limits(**{name: value for name, value in asked.items() if value is not None})  # type: ignore[arg-type]
    cluster = Cluster(**{name: told.pop(name) for name in ("namespace", "runtime_class")})  # type: ignore[arg-type]
    ways = (GATEWAY_PORT, *((EGRESS_PORT,) if egress else ()))
    job = Job(**told, argv=argv, limits=limits, gpus=Demand(gpus, gpu_memory), ways=ways)  # type: ignore[arg-type]
    try:
        click.echo(json.dumps(render(job, cluster), indent=None if as_json else 2))
    except FiretrialError as error:
        raise click.UsageError(error.message) from error
    for name, instead in LACKING.items():
        click.echo(f"not held: {name}: {instead}", err=True)
