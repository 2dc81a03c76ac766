"""Choosing papers: screening many, and the queue in which two people review papers and trees."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firetrial.parser.v1 import review_pb2, screening_pb2
from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceStub
from firetrial.parser.v1.review_pb2 import Review, TreeEdit
from firetrial.parser.v1.screening_pb2 import ScreenedPaper, Screening
from firetrial.plan.v1.plan_pb2 import Plan
from firetrial_client.calls import Caller
from firetrial_client.errors import Fault, check
from firetrial_client.uploads import opened

if TYPE_CHECKING:
    from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceAsyncStub

_FORMATS = {
    "jsonl": screening_pb2.SCREENING_FORMAT_JSONL,
    "csv": screening_pb2.SCREENING_FORMAT_CSV,
}
_VERDICTS = {"accept": review_pb2.VERDICT_ACCEPT, "reject": review_pb2.VERDICT_REJECT}


class SelectionCalls(Caller):
    """Methods on screenings and reviews. A `reviewer` is a name; nobody checks yet whose it is."""

    @property
    def _choosing(self) -> ParserServiceAsyncStub:
        return ParserServiceStub(self._channels.of("parser"))

    async def submit_screening(
        self,
        items: Path | bytes,
        *,
        format: str = "jsonl",  # noqa: A002 - the contract's name
        source: str = "",
        offline: bool = False,
        max_cost_usd: float | None = None,
        retry_errors: bool = False,
    ) -> Screening:
        """Upload a batch: a JSON object a line, or CSV, with id, title, abstract, url, published, paper_id.

        The same batch again goes on where it was and pays for nothing twice; with `retry_errors` it looks
        again at what ended as an error. Raises INVALID, and PRECONDITION for a cap without a known price.
        """
        cure = f"is {format!r}: must be one of {', '.join(_FORMATS)}"
        check("the batch", [] if format in _FORMATS else [Fault("format", cure)])
        with opened(items, "items") as (body, size):
            header = screening_pb2.ScreeningHeader(
                format=_FORMATS[format],
                size=size,
                source=source or (str(items) if isinstance(items, Path) else ""),
                offline=offline,
                max_cost_usd=max_cost_usd,
                retry_errors=retry_errors,
            )
            answer = await self._upload(
                "parser",
                lambda channel: ParserServiceStub(channel).SubmitScreening,
                screening_pb2.SubmitScreeningRequest(header=header),
                body,
                lambda chunk: screening_pb2.SubmitScreeningRequest(chunk=chunk),
            )
        return answer.screening

    async def get_screening(self, screening_id: str) -> Screening:
        """Raises NOT_FOUND."""
        request = screening_pb2.GetScreeningRequest(id=screening_id)
        return (await self._one("parser", lambda: self._choosing.GetScreening, request)).screening

    def list_screenings(self) -> AsyncGenerator[Screening, None]:
        """Every screening, page by page."""
        request = screening_pb2.ListScreeningsRequest()
        return self._pages("parser", lambda: self._choosing.ListScreenings, request, "screenings")

    def watch_screening(
        self, screening_id: str, *, timeout: float | None = None
    ) -> AsyncGenerator[Screening, None]:
        """The screening now and after each change, until it is FINISHED, STOPPED or CANCELLED.

        Goes on over restarts of the service. Raises NOT_FOUND, and DEADLINE after `timeout` seconds.
        """
        request = screening_pb2.WatchScreeningRequest(id=screening_id)
        return self._changes(
            "parser",
            lambda: self._choosing.WatchScreening,
            request,
            lambda answer: answer.screening,
            timeout=timeout,
        )

    async def cancel_screening(self, screening_id: str) -> Screening:
        """Stop after the part in hand; one that has ended stays as it is. Raises NOT_FOUND."""
        request = screening_pb2.CancelScreeningRequest(id=screening_id)
        return (await self._one("parser", lambda: self._choosing.CancelScreening, request)).screening

    def screened_papers(
        self, screening_id: str, outcomes: Iterable[str] = ()
    ) -> AsyncGenerator[ScreenedPaper, None]:
        """What was decided so far, in the order of the batch; only "fit" and "uncertain", for example.

        Raises NOT_FOUND.
        """
        wanted = [_named(screening_pb2.ScreeningOutcome, outcome) for outcome in outcomes]
        request = screening_pb2.ListScreenedPapersRequest(screening_id=screening_id, outcomes=wanted)
        return self._pages("parser", lambda: self._choosing.ListScreenedPapers, request, "papers")

    def list_reviews(
        self, *, kind: str = "", states: Iterable[str] = (), reviewer: str = ""
    ) -> AsyncGenerator[Review, None]:
        """The queue: reviews of a `kind` ("tree", "screened") and in some states ("open", "disputed", …).

        Of an open review one sees nobody's decision but one's own.
        """
        request = review_pb2.ListReviewsRequest(
            kind=_kind(kind),
            states=[_named(review_pb2.ReviewState, state) for state in states],
            reviewer=reviewer,
        )
        return self._pages("parser", lambda: self._choosing.ListReviews, request, "reviews")

    async def get_review(
        self, review_id: str, *, reviewer: str = "", version: int = 0
    ) -> review_pb2.GetReviewResponse:
        """A review with its tree in one version (0: the latest), or with what screening found.

        Raises NOT_FOUND.
        """
        request = review_pb2.GetReviewRequest(id=review_id, reviewer=reviewer, version=version)
        return await self._one("parser", lambda: self._choosing.GetReview, request)

    async def decide_review(
        self,
        review_id: str,
        *,
        reviewer: str,
        verdict: str,
        version: int,
        reason: str = "",
        request_id: str = "",
    ) -> Review:
        """Decide "accept" or "reject" on the version that was looked at.

        Raises INVALID, NOT_FOUND, PRECONDITION where it is decided, and CONFLICT where the tree has another
        version by now.
        """
        request = review_pb2.DecideReviewRequest(
            id=review_id,
            reviewer=reviewer,
            verdict=_VERDICTS.get(verdict, review_pb2.VERDICT_UNSPECIFIED),
            reason=reason,
            version=version,
            request_id=request_id or _fresh(),
        )
        return (await self._one("parser", lambda: self._choosing.DecideReview, request)).review

    async def resolve_review(
        self,
        review_id: str,
        *,
        by: Sequence[str],
        verdict: str,
        reason: str,
        version: int,
        request_id: str = "",
    ) -> Review:
        """End a disagreement as a third person, or as the two who disagree. Raises as `decide_review`."""
        request = review_pb2.ResolveReviewRequest(
            id=review_id,
            by=by,
            verdict=_VERDICTS.get(verdict, review_pb2.VERDICT_UNSPECIFIED),
            reason=reason,
            version=version,
            request_id=request_id or _fresh(),
        )
        return (await self._one("parser", lambda: self._choosing.ResolveReview, request)).review

    async def reopen_review(
        self, review_id: str, *, reviewer: str, reason: str, request_id: str = ""
    ) -> Review:
        """Begin a new round for what was decided. Raises INVALID, NOT_FOUND, PRECONDITION."""
        request = review_pb2.ReopenReviewRequest(
            id=review_id, reviewer=reviewer, reason=reason, request_id=request_id or _fresh()
        )
        return (await self._one("parser", lambda: self._choosing.ReopenReview, request)).review

    async def edit_tree(
        self, review_id: str, edits: Sequence[TreeEdit], *, reviewer: str, version: int, request_id: str = ""
    ) -> review_pb2.EditTreeResponse:
        """Make a new version of a tree; all edits are made, or none. Raises as `decide_review`."""
        request = review_pb2.EditTreeRequest(
            id=review_id, reviewer=reviewer, version=version, edits=edits, request_id=request_id or _fresh()
        )
        return await self._one("parser", lambda: self._choosing.EditTree, request)

    async def revalidate_tree(self, review_id: str, version: int = 0) -> review_pb2.RevalidateTreeResponse:
        """Hold a version (0: the latest) against its paper again. Raises NOT_FOUND, PRECONDITION."""
        request = review_pb2.RevalidateTreeRequest(id=review_id, version=version)
        return await self._one("parser", lambda: self._choosing.RevalidateTree, request)

    async def get_review_agreement(self, kind: str = "") -> review_pb2.GetReviewAgreementResponse:
        """How far two people agree, over all reviews or those of a `kind`."""
        request = review_pb2.GetReviewAgreementRequest(kind=_kind(kind))
        return await self._one("parser", lambda: self._choosing.GetReviewAgreement, request)

    async def make_reviewed_task(
        self, review_id: str, *, version: int = 0, leaf_path: str = "", plan: Plan | None = None
    ) -> review_pb2.MakeReviewedTaskResponse:
        """Make a task of a leaf ("" for the best) of an accepted tree. Raises PRECONDITION for another."""
        request = review_pb2.MakeReviewedTaskRequest(
            review_id=review_id, version=version, leaf_path=leaf_path, plan=plan
        )
        return await self._one("parser", lambda: self._choosing.MakeReviewedTask, request)


def _kind(name: str) -> review_pb2.ReviewKind.ValueType:
    return _named(review_pb2.ReviewKind, name) if name else review_pb2.REVIEW_KIND_UNSPECIFIED


def _named(enum: Any, name: str) -> Any:
    """The value that is called so, without the prefix of its kind. Raises INVALID."""
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    names = [known.removeprefix(prefix).lower() for known in enum.keys()[1:]]
    cure = f"is {name!r}: must be one of {', '.join(names)}"
    field = enum.DESCRIPTOR.name
    check("the request", [] if name.lower() in names else [Fault(field, cure)])
    return enum.Value(prefix + name.upper())


def _fresh() -> str:
    """A request id, so that a call which is sent again after a lost answer is done once."""
    return secrets.token_hex(8)
