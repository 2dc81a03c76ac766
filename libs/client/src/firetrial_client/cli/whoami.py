"""`firetrial whoami`: who the server takes the caller for."""

from __future__ import annotations

import click

from firetrial.access.v1 import access_pb2
from firetrial.access.v1.identity_service_pb2 import Means
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import fields, show_json, when, word

_QUOTAS = {
    "runs_at_once": "runs at once",
    "runs_per_day": "runs a day",
    "gpus_at_once": "GPUs at once",
    "usd_per_month": "USD a month",
}


@click.command()
@answering
def whoami(app: App) -> None:
    """Who the server takes you for, what you may do and how much of it.

    Exits with 6 where it does not know you.
    """
    with app.client() as client:
        told = client.whoami()
    scopes = [word(access_pb2.Scope, scope) for scope in told.scopes]
    quotas = {field.name: value for field, value in told.quotas.ListFields()}
    if app.json:
        until = told.expires_at.ToJsonString() if told.HasField("expires_at") else None
        means = word(Means, told.means)
        about = {"name": told.name, "tenant": told.tenant, "means": means, "expires_at": until}
        show_json({**about, "scopes": scopes, "quotas": quotas})
        return
    fields(
        [
            ("name", told.name),
            ("tenant", told.tenant),
            ("may", ", ".join(scopes)),
            ("known by", word(Means, told.means)),
            ("until", when(told.expires_at)),
            *((_QUOTAS[name], f"at most {value:g}") for name, value in quotas.items()),
        ]
    )
