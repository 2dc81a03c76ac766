"""`firetrial completion`: the script that makes a shell complete its commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import show_json


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@answering
def completion(app: App, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash: eval "$(firetrial completion bash)"    in ~/.bashrc
    zsh:  eval "$(firetrial completion zsh)"     in ~/.zshrc
    fish: firetrial completion fish > ~/.config/fish/completions/firetrial.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    # The script calls `firetrial` itself, so it needs no command object to be written.
    script = kind(click.Command("firetrial"), {}, "firetrial", "_FIRETRIAL_COMPLETE").source()
    show_json({"shell": shell, "script": script}) if app.json else click.echo(script)
