"""The program `firetrial`: its commands, loaded when asked for, and how each error ends it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from firetrial_client.cli import plugins
from firetrial_client.cli.text import show_error
from firetrial_client.errors import EXIT_INTERRUPTED, Reason, exit_code

# Name → where it is, and what help says of it. Help loads none of them, so that it need not wait for gRPC.
_COMMANDS = {
    "agents": ("firetrial_client.cli.agents:agents", "Agents that were registered."),
    "attributions": ("firetrial_client.cli.attributions:attributions", "Why runs missed findings."),
    "calibrate": (
        "firetrial_client.cli.judging:calibrate",
        "Measure the judge that serves against people's labels.",
    ),
    "cancel": ("firetrial_client.cli.watch:cancel", "Cancel an experiment, a run or a paper."),
    "completion": ("firetrial_client.cli.completion:completion", "Print the completion script of a shell."),
    "contamination": ("firetrial_client.cli.insight:contamination", "Whether scores look remembered."),
    "demo": ("firetrial_client.cli.demo:demo", "The whole path on the study that ships here."),
    "down": ("firetrial_client.local.cli:down", "End what `firetrial up` started."),
    "episodes": ("firetrial_client.cli.releases:episodes", "Export runs with their rewards."),
    "leaderboard": ("firetrial_client.cli.releases:leaderboard", "Rank the agents of an experiment."),
    "import": ("firetrial_client.cli.import_runs:import_group", "Bring in what was made elsewhere."),
    "logs": ("firetrial_client.cli.logs:logs", "What a run did, step by step."),
    "papers": ("firetrial_client.cli.papers:papers", "Papers that were submitted, and their trees."),
    "process": ("firetrial_client.cli.insight:process", "How a run explored and improved."),
    "proposals": (
        "firetrial_client.cli.proposals:proposals",
        "What agents mean to do, and whether it is sound.",
    ),
    "releases": ("firetrial_client.cli.releases:releases", "Benchmarks that were frozen under a name."),
    "report": ("firetrial_client.cli.report:report", "Print the report of an experiment."),
    "run": ("firetrial_client.cli.run:run", "Run agents on a paper or tasks, up to the report."),
    "runs": ("firetrial_client.cli.runs:runs", "Runs, and what they left."),
    "status": ("firetrial_client.cli.status:status", "The services, or the runs of an experiment."),
    "submit": ("firetrial_client.cli.submit:submit", "Hand something in and return."),
    "tasks": ("firetrial_client.cli.tasks:tasks", "Tasks that agents can be run on."),
    "trees": ("firetrial_client.cli.trees:trees", "Trees of papers: what each finding rests on."),
    "up": ("firetrial_client.local.cli:up", "Start Firetrial on this machine."),
    "watch": ("firetrial_client.cli.watch:watch", "Follow an experiment to its end."),
    "whoami": ("firetrial_client.cli.whoami:whoami", "Who the server takes you for, and what you may do."),
}
_EPILOG = """\
\b
Exit codes:
  0    it worked
  1    anything else went wrong
  2    wrong usage or invalid input
  3    not available yet
  4    not found
  5    no server can be reached
  6    not allowed
  7    the run or experiment failed
  130  interrupted
  143  terminated

\b
Environment:
  FIRETRIAL_ENDPOINT   host:port, or parser=host:port,runner=…,judge=…,analyzer=…
  FIRETRIAL_HOME       where `firetrial up` keeps everything
  FIRETRIAL_TOKEN, FIRETRIAL_TOKEN_FILE
                       the token that you were given, or the file that holds it
  FIRETRIAL_TLS_CA, FIRETRIAL_TLS_CERT, FIRETRIAL_TLS_KEY
                       PEM files for a server beyond this machine
"""


class _Deferred(click.Command):
    """A command that is known by name and help until it is run."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        return self._loaded().make_context(*args, **extra)

    def _loaded(self) -> click.Command:
        name = self.name or ""
        module, _, attribute = _COMMANDS[name][0].partition(":")
        own: click.Command = getattr(import_module(module), attribute)
        # A command of ours is taken as it is; a group may have more subcommands elsewhere.
        if not isinstance(own, click.Group):
            return own
        return plugins.merged([own, *plugins.commands().get(name, [])])


class Program(click.Group):
    """The commands above, and those that the installed services contribute."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted({*_COMMANDS, *plugins.commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _COMMANDS:
            return _Deferred(cmd_name, short_help=_COMMANDS[cmd_name][1])
        contributed = plugins.commands().get(cmd_name)
        return plugins.merged(contributed) if contributed else None

    def main(  # type: ignore[override]  # it always ends the program, as a program should
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run, and exit with the code that `--help` documents."""
        given = list(sys.argv[1:] if args is None else args)
        run, extra["standalone_mode"] = super().main, False
        sys.exit(_ended(lambda: run(given, prog_name or "firetrial", **extra), "--json" in given))


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(package_name="firetrial-client", prog_name="firetrial")
@click.option("--endpoint", metavar="ADDRESS", help="The server, instead of FIRETRIAL_ENDPOINT.")
@click.pass_context
def cli(ctx: click.Context, endpoint: str | None) -> None:
    """Run AI research agents on rediscovery tasks and see, claim by claim, what they found.

    Every command takes --json.
    """
    # Plugins read this too; they cannot import the client, so it is a dict of plain names.
    ctx.obj = {"endpoint": endpoint, "submit_task": None}
    if ctx.invoked_subcommand == "import":
        from firetrial_client.cli import importing  # noqa: PLC0415 - brings gRPC

        ctx.obj["submit_task"] = importing.submitter(endpoint)
        there = ctx.obj["submit_task"] is not None
        ctx.obj["submit_header"] = importing.header_submitter(endpoint) if there else None
        ctx.obj["entail"] = lambda: importing.entailer(endpoint)


def main() -> NoReturn:
    """The console script."""
    cli.main()


def _ended(program: Callable[[], Any], as_json: bool) -> int:
    """The exit code of `program`, with its error told."""
    try:
        code = program()
    except click.ClickException as error:
        if as_json:
            show_error(plugins.told_by_click(error), as_json=True)
        else:
            error.show()
        return error.exit_code
    except plugins.errors() as error:
        show_error(plugins.told(error), as_json=as_json)
        return exit_code(str(error.reason))
    except ModuleNotFoundError as error:  # in an installation that holds less, such as the operators' image
        message = f"this command needs {error.name}, which is not installed here"
        show_error({"reason": Reason.PRECONDITION, "message": message, "faults": []}, as_json=as_json)
        return exit_code(Reason.PRECONDITION)
    except (click.Abort, KeyboardInterrupt):
        if not as_json:
            click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0
