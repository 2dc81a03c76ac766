"""What a service refuses arrives as it was refused."""

from typing import Any

import grpc
import pytest
from google.rpc import status_pb2
from grpc_status import rpc_status

from firetrial_client import AsyncFiretrial, FiretrialError, Reason
from firetrial_kit import errors as kit
from unit.client.fakes import World, refuse


async def caught(client: AsyncFiretrial) -> FiretrialError:
    with pytest.raises(FiretrialError) as found:
        await client.get_run("r-1")
    return found.value


@pytest.mark.parametrize("reason", list(kit.Reason))
async def test_every_reason_crosses_the_wire(
    reason: kit.Reason, client: AsyncFiretrial, world: World
) -> None:
    world.get_run = lambda _, context: refuse(context, kit.FiretrialError(reason, "so it is"))
    error = await caught(client)
    assert (error.reason, error.message, error.faults, error.retry_after) == (reason, "so it is", (), None)


async def test_faults_and_retry_hint_cross_the_wire(client: AsyncFiretrial, world: World) -> None:
    faults = [kit.Fault("plan.repeats", "0", "1 to 100"), kit.Fault("plan.agents", "", "at least one")]
    error = kit.FiretrialError(kit.Reason.EXHAUSTED, "too much", faults=faults, retry_after=2.5)
    world.get_run = lambda _, context: refuse(context, error)
    found = await caught(client)
    assert found.retry_after == 2.5
    assert [(fault.field, fault.description) for fault in found.faults] == [
        ("plan.repeats", "plan.repeats is '0': 1 to 100"),
        ("plan.agents", "plan.agents is '': at least one"),
    ]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, Reason.INVALID),
        (grpc.StatusCode.NOT_FOUND, Reason.NOT_FOUND),
        (grpc.StatusCode.PERMISSION_DENIED, Reason.DENIED),
        (grpc.StatusCode.UNAUTHENTICATED, Reason.UNAUTHENTICATED),
        (grpc.StatusCode.UNIMPLEMENTED, Reason.NOT_YET),
        (grpc.StatusCode.UNKNOWN, Reason.INTERNAL),
        (grpc.StatusCode.CANCELLED, Reason.CANCELLED),
    ],
)
async def test_a_plain_status_has_a_reason_too(
    code: grpc.StatusCode, reason: Reason, client: AsyncFiretrial, world: World
) -> None:
    world.get_run = lambda _, context: context.abort(code, "a proxy's words")
    error = await caught(client)
    assert error.reason == reason
    assert "runner" in error.message


async def test_details_of_another_domain_are_not_taken_for_ours(client: AsyncFiretrial, world: World) -> None:
    def foreign(_: str, context: Any) -> Any:
        context.abort_with_status(rpc_status.to_status(status_pb2.Status(code=5, message="elsewhere")))

    world.get_run = foreign
    error = await caught(client)
    assert (error.reason, error.message) == (Reason.NOT_FOUND, "elsewhere")
