"""The part of the fake parser that screens, and keeps a queue with one tree and one screened paper."""
# ruff: noqa: N802 - names are the contract's

from __future__ import annotations

from typing import Any

from firetrial.parser.v1 import paper_pb2, parser_service_pb2_grpc, task_pb2
from firetrial.parser.v1 import review_pb2 as review
from firetrial.parser.v1 import screening_pb2 as screening

HOSTILE = "Do models count?\x1b[31m"


def tree() -> paper_pb2.Node:
    leaf = paper_pb2.Node(
        path="0.0",
        kind=paper_pb2.NODE_KIND_LEAF,
        title="Accuracy by size",
        evidence="Table 1",
        page=4,
        task="Count the circles",
        datasets=["Circles", "Squares"],
        conclusion="Accuracy falls above seven.",
        quotes=[
            paper_pb2.Quote(text="accuracy falls above seven", page=4, start=3, end=29, score=1.0),
            paper_pb2.Quote(text="accuracy rises", score=0.2),
        ],
    )
    return paper_pb2.Node(path="0", kind=paper_pb2.NODE_KIND_ROOT, title=HOSTILE, children=[leaf])


class FakeChoosing(parser_service_pb2_grpc.ParserServiceServicer):
    world: Any

    def SubmitScreening(self, request_iterator: Any, context: Any) -> Any:
        self.world.headers.append(next(request_iterator).header)
        self.world.uploads.append(b"".join(part.chunk for part in request_iterator))
        return screening.SubmitScreeningResponse(
            screening=self._screening(screening.SCREENING_STATE_SUBMITTED)
        )

    def GetScreening(self, request: Any, context: Any) -> Any:
        return screening.GetScreeningResponse(screening=self._screening(self.world.screened))

    def ListScreenings(self, request: Any, context: Any) -> Any:
        return screening.ListScreeningsResponse(screenings=[self._screening(self.world.screened)])

    def WatchScreening(self, request: Any, context: Any) -> Any:
        running = self._screening(screening.SCREENING_STATE_RUNNING)
        running.counts.fit = 0
        yield screening.WatchScreeningResponse(screening=running)
        yield screening.WatchScreeningResponse(screening=self._screening(self.world.screened))

    def CancelScreening(self, request: Any, context: Any) -> Any:
        cancelled = self._screening(screening.SCREENING_STATE_CANCELLED)
        return screening.CancelScreeningResponse(screening=cancelled)

    def ListScreenedPapers(self, request: Any, context: Any) -> Any:
        wanted = set(request.outcomes)
        papers = [one for one in self._papers() if not wanted or one.outcome in wanted]
        start = int(request.page_token or 0)
        more = str(start + 1) if start + 1 < len(papers) else ""
        return screening.ListScreenedPapersResponse(papers=papers[start : start + 1], next_page_token=more)

    def _screening(self, state: Any) -> screening.Screening:
        counts = screening.ScreeningCounts(off_topic=1, fit=1, errors=1, items=3)
        use = paper_pb2.ModelUsage(purpose="contribution", model="m", calls=2, cost_usd=0.25)
        return screening.Screening(
            id="b-1", state=state, counts=counts, usage=[use], model="m", source="items.jsonl",
            reason="the cap is reached" if state == screening.SCREENING_STATE_STOPPED else "",
        )  # fmt: skip

    def _papers(self) -> list[screening.ScreenedPaper]:
        hit = screening.KeywordHit(rule="study", pattern="measur*", where="abstract", text="measure")
        off = screening.ScreenedPaper(
            item=screening.Candidature(id="tomatoes", title="Tomatoes"), place=1, hits=[hit],
            outcome=screening.SCREENING_OUTCOME_OFF_TOPIC,
        )  # fmt: skip
        bad = screening.ScreenedPaper(
            item=screening.Candidature(id="bad"), place=3, error="the line is no JSON",
            outcome=screening.SCREENING_OUTCOME_ERROR,
        )  # fmt: skip
        return [off, self._fit(), bad]

    def _fit(self) -> screening.ScreenedPaper:
        quote = paper_pb2.Quote(text="we measure it", page=1, start=0, end=13, score=1.0)
        reason = screening.CriterionReason(text="the models are public", quote=quote)
        verdict = screening.CriterionVerdict(
            criterion=screening.CRITERION_OPEN_INPUTS, met=screening.MET_YES, reasons=[reason], method="m"
        )
        return screening.ScreenedPaper(
            item=screening.Candidature(id="a", title=HOSTILE, abstract="Here we measure it."),
            outcome=screening.SCREENING_OUTCOME_FIT,
            contribution=screening.Contribution(
                kind=screening.CONTRIBUTION_KIND_EMPIRICAL,
                method="m",
                reason="It asks how well models count.",
            ),
            criteria=[verdict],
            review_id="s-1",
            place=2,
        )

    # ---- the queue

    def ListReviews(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        return review.ListReviewsResponse(reviews=[self._review("t-1"), self._review("s-1")])

    def GetReview(self, request: Any, context: Any) -> Any:
        found = self._review(request.id)
        if request.id == "s-1":
            return review.GetReviewResponse(review=found, screened=self._fit())
        fault = review.TreeFault(field="0.0.conclusion", value="7", cure="is nowhere in the paper")
        change = review.TreeChange(path="0.0", field="conclusion", before="It rises.", after="It falls.")
        return review.GetReviewResponse(review=found, tree=tree(), faults=[fault], changes=[change])

    def DecideReview(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        found = self._review(request.id)
        found.decisions.add(reviewer=request.reviewer, verdict=request.verdict, reason=request.reason)
        found.decided = 1
        return review.DecideReviewResponse(review=found)

    def ResolveReview(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        found = self._review(request.id)
        found.state = review.REVIEW_STATE_ACCEPTED
        return review.ResolveReviewResponse(review=found)

    def ReopenReview(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        return review.ReopenReviewResponse(review=self._review(request.id))

    def EditTree(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        found = self._review(request.id)
        found.version = request.version + 1
        change = review.TreeChange(path="0.0", field="conclusion", after="It falls.")
        return review.EditTreeResponse(review=found, changes=[change])

    def RevalidateTree(self, request: Any, context: Any) -> Any:
        fault = review.TreeFault(field="0.0.evidence", value="Table 9", cure="no such table")
        return review.RevalidateTreeResponse(review=self._review(request.id), faults=[fault])

    def GetReviewAgreement(self, request: Any, context: Any) -> Any:
        overall = review.ReviewAgreement(
            both_accept=2, both_reject=1, first_accepts=1, raw=0.75, raw_low=0.3, raw_high=0.95, kappa=0.5,
            kappa_low=-0.2, kappa_high=0.9, resolved=1,
        )  # fmt: skip
        pair = review.ReviewAgreement(
            first="Ada", second="Bob", both_accept=1, raw=1.0, raw_low=0.2, raw_high=1.0
        )
        return review.GetReviewAgreementResponse(overall=overall, pairs=[pair])

    def MakeReviewedTask(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        return review.MakeReviewedTaskResponse(task=task_pb2.Task(id="count-1"))

    def _review(self, id_: str) -> review.Review:
        if id_ == "s-1":
            return review.Review(
                id=id_,
                kind=review.REVIEW_KIND_SCREENED,
                state=review.REVIEW_STATE_OPEN,
                title=HOSTILE,
                version=1,
            )
        made = review.TreeVersion(number=2, by="Ada", changes=1, faults=1)
        over = review.ReviewRound(version=1, ended="edited by Ada")
        over.decisions.add(reviewer="Bob", verdict=review.VERDICT_REJECT, reason="the finding is wrong")
        return review.Review(
            id=id_, kind=review.REVIEW_KIND_TREE, state=review.REVIEW_STATE_OPEN, title=HOSTILE, version=2,
            versions=[made], rounds=[over], faults=1,
        )  # fmt: skip
