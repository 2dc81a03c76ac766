"""Events that an endpoint did not take: dead letters until they are sent again or dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass

from nats.js import JetStreamContext

from firetrial_kit.dead import DEAD, Letter, read
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import token
from firetrial_kit.jetstream import reach
from firetrial_operate.admin.stored import messages
from firetrial_operate.webhooks.cloud_event import event_of
from firetrial_operate.webhooks.endpoint import PREFIX, Endpoint
from firetrial_operate.webhooks.sending import Answer, Delivered, Sender


@dataclass(frozen=True, slots=True)
class Kept:
    """A letter at its place in FT_DEAD."""

    place: int
    letter: Letter

    @property
    def endpoint(self) -> str:
        return self.letter.consumer.removeprefix(PREFIX)


async def letters(js: JetStreamContext, endpoint: str = "") -> AsyncIterator[Kept]:
    """Those of one endpoint, or of all, the oldest first."""
    subject = f"ft.dead.{token(PREFIX + endpoint)}" if endpoint else "ft.dead.>"
    async for found in messages(js, DEAD, subject):
        letter = read(found.headers, found.data)
        if letter.consumer.startswith(PREFIX):
            yield Kept(found.sequence, letter)


async def resend(
    js: JetStreamContext, endpoint: Endpoint, sender: Sender, places: Collection[int] = ()
) -> Sequence[tuple[int, Answer]]:
    """Send letters of an endpoint once more, those at `places` or all; what is taken is kept no longer.

    They have the ids that they had, so that a receiver who took one before knows it. Raises NOT_FOUND, and
    nothing is sent, where there is none at one of the places.
    """
    due = [kept async for kept in letters(js, endpoint.name) if not places or kept.place in places]
    if missing := {*places} - {kept.place for kept in due}:
        told = ", ".join(map(str, sorted(missing)))
        raise FiretrialError(Reason.NOT_FOUND, f"{endpoint.name} has no dead letter at {told}")
    answers: list[tuple[int, Answer]] = []
    for kept in due:
        letter = kept.letter
        answer = await sender.send(event_of(letter.subject, letter.headers, letter.data))
        if isinstance(answer, Delivered):
            await reach(DEAD, js.delete_msg(DEAD, kept.place))
        answers.append((kept.place, answer))
    return answers
