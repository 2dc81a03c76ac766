"""The SDK for code without asyncio: the same methods, run on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from firetrial_client.aio import AsyncFiretrial

P = ParamSpec("P")
R = TypeVar("R")
_END: Any = object()


def _single(
    method: Callable[Concatenate[AsyncFiretrial, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Firetrial, P], R]:
    @functools.wraps(method)
    def call(self: Firetrial, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(method(self._client, *args, **kwargs))

    return call


def _stream(
    method: Callable[Concatenate[AsyncFiretrial, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate[Firetrial, P], Iterator[R]]:
    @functools.wraps(method)
    def call(self: Firetrial, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        answers = method(self._client, *args, **kwargs)
        try:
            while (answer := self._run(_next(answers))) is not _END:
                yield answer
        finally:
            self._run(_close(answers))

    return call


async def _next(answers: AsyncGenerator[R, None]) -> R:
    return await anext(answers, _END)


async def _close(answers: AsyncGenerator[Any, None]) -> None:
    await answers.aclose()


class Firetrial:
    """`AsyncFiretrial` for code without asyncio; see there. Streams are iterators.

    with Firetrial() as client:
        for run in client.watch_runs(experiment_id): ...

    May be used from several threads.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 300.0,
        traceparent: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._client = AsyncFiretrial(
            endpoint, timeout=timeout, patience=patience, traceparent=traceparent, environ=environ
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="firetrial", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the thread."""
        if self._loop.is_closed():
            return
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C ends the call, not just the wait for it
            raise

    health = _single(AsyncFiretrial.health)
    whoami = _single(AsyncFiretrial.whoami)

    submit_paper = _single(AsyncFiretrial.submit_paper)
    get_paper = _single(AsyncFiretrial.get_paper)
    list_papers = _stream(AsyncFiretrial.list_papers)
    watch_paper = _stream(AsyncFiretrial.watch_paper)
    cancel_paper = _single(AsyncFiretrial.cancel_paper)
    get_tree = _single(AsyncFiretrial.get_tree)
    get_whole_tree = _single(AsyncFiretrial.get_whole_tree)
    submit_task = _single(AsyncFiretrial.submit_task)
    submit_header = _single(AsyncFiretrial.submit_header)
    get_task = _single(AsyncFiretrial.get_task)
    list_tasks = _stream(AsyncFiretrial.list_tasks)
    list_candidates = _single(AsyncFiretrial.list_candidates)
    make_task = _single(AsyncFiretrial.make_task)
    overrule_leak = _single(AsyncFiretrial.overrule_leak)

    submit_screening = _single(AsyncFiretrial.submit_screening)
    get_screening = _single(AsyncFiretrial.get_screening)
    list_screenings = _stream(AsyncFiretrial.list_screenings)
    watch_screening = _stream(AsyncFiretrial.watch_screening)
    cancel_screening = _single(AsyncFiretrial.cancel_screening)
    screened_papers = _stream(AsyncFiretrial.screened_papers)
    list_reviews = _stream(AsyncFiretrial.list_reviews)
    get_review = _single(AsyncFiretrial.get_review)
    decide_review = _single(AsyncFiretrial.decide_review)
    resolve_review = _single(AsyncFiretrial.resolve_review)
    reopen_review = _single(AsyncFiretrial.reopen_review)
    edit_tree = _single(AsyncFiretrial.edit_tree)
    revalidate_tree = _single(AsyncFiretrial.revalidate_tree)
    get_review_agreement = _single(AsyncFiretrial.get_review_agreement)
    make_reviewed_task = _single(AsyncFiretrial.make_reviewed_task)

    submit_proposal = _single(AsyncFiretrial.submit_proposal)
    get_proposal = _single(AsyncFiretrial.get_proposal)
    list_proposals = _stream(AsyncFiretrial.list_proposals)
    watch_proposal = _stream(AsyncFiretrial.watch_proposal)

    submit_agent = _single(AsyncFiretrial.submit_agent)
    get_agent = _single(AsyncFiretrial.get_agent)
    list_agents = _stream(AsyncFiretrial.list_agents)
    submit_experiment = _single(AsyncFiretrial.submit_experiment)
    get_experiment = _single(AsyncFiretrial.get_experiment)
    list_experiments = _stream(AsyncFiretrial.list_experiments)
    cancel_experiment = _single(AsyncFiretrial.cancel_experiment)
    get_run = _single(AsyncFiretrial.get_run)
    list_runs = _stream(AsyncFiretrial.list_runs)
    watch_runs = _stream(AsyncFiretrial.watch_runs)
    cancel_run = _single(AsyncFiretrial.cancel_run)
    trajectory = _stream(AsyncFiretrial.trajectory)
    list_steps = _single(AsyncFiretrial.list_steps)
    import_run = _single(AsyncFiretrial.import_run)
    conclusion = _single(AsyncFiretrial.conclusion)
    artifacts = _stream(AsyncFiretrial.artifacts)

    score_text = _single(AsyncFiretrial.score_text)
    check_entailment = _single(AsyncFiretrial.check_entailment)
    get_judgement = _single(AsyncFiretrial.get_judgement)
    list_judgements = _stream(AsyncFiretrial.list_judgements)
    judge_run = _single(AsyncFiretrial.judge_run)
    watch_judgements = _stream(AsyncFiretrial.watch_judgements)
    describe_judge = _single(AsyncFiretrial.describe_judge)
    calibrate = _single(AsyncFiretrial.calibrate)
    get_calibration = _single(AsyncFiretrial.get_calibration)
    list_calibrations = _stream(AsyncFiretrial.list_calibrations)
    grade_submission = _single(AsyncFiretrial.grade_submission)

    create_release = _single(AsyncFiretrial.create_release)
    get_release = _single(AsyncFiretrial.get_release)
    list_releases = _stream(AsyncFiretrial.list_releases)
    get_process_metrics = _single(AsyncFiretrial.get_process_metrics)
    get_contamination = _single(AsyncFiretrial.get_contamination)
    leaderboard = _single(AsyncFiretrial.leaderboard)
    episodes = _stream(AsyncFiretrial.episodes)
    watch_experiment = _stream(AsyncFiretrial.watch_experiment)

    get_attribution = _single(AsyncFiretrial.get_attribution)
    review_attribution = _single(AsyncFiretrial.review_attribution)
    get_agreement = _single(AsyncFiretrial.get_agreement)

    get_report = _single(AsyncFiretrial.get_report)
    list_reports = _stream(AsyncFiretrial.list_reports)
    watch_report = _stream(AsyncFiretrial.watch_report)
    render_report = _single(AsyncFiretrial.render_report)
    render_run = _single(AsyncFiretrial.render_run)
    get_analysis = _single(AsyncFiretrial.get_analysis)
