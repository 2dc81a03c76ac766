"""The judge's own settings, read from FIRETRIAL_JUDGE_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from firetrial_kit.model_settings import ModelSettings
from firetrial_kit.settings import Address

_MIB = 1024 * 1024


class JudgeSettings(ModelSettings):
    service = "JUDGE"

    # How verdicts are asked for: listed (all in one answer) or one-word (each claim by itself, from the
    # probabilities of one token: for models too small to write lists; not with anthropic).
    model_verdicts: Literal["listed", "one-word"] = "listed"
    # Requests to one model under way at most; fewer where its endpoint limits the rate.
    model_at_once: int = Field(default=32, ge=1, le=1024)
    # Runs that are judged at the same time.
    judgements_at_once: int = Field(default=8, ge=1, le=256)
    # The pool whose runners carry out sealed tests of repository runs. Empty: the pool of each run.
    test_pool: str = Field(default="", pattern=r"^[a-z0-9-]{0,32}$")
    # Hours that an attempt at a sealed test may take, its waiting for a runner included. Then the run ends as
    # JUDGE_FAILED, which is no score. Runs say from the first minute on where no runner is there.
    test_wait_hours: float = Field(default=168.0, gt=0, le=8760)
    # Rounds in which a grader of submissions may have commands run over them before it answers, by runners
    # that carry out sealed tests (pool "default" where test_pool is empty). 0: it sees passages alone.
    looks: int = Field(default=0, ge=0, le=5)
    # Where the analyzer's RPCs answer, "host:port": what it finds settles questions of rubrics. Unset: a
    # model is asked all of them, and judgements say so.
    analyzer_address: Address | None = None
    # By whose signature it is known, and this service's own certificate; needed beyond this machine.
    analyzer_tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    # A folder in front of the store for what was paid for once, and what it may hold. Unset: the store alone.
    cache_dir: Path | None = None
    cache_mib: int = Field(default=256, ge=1, le=1024 * 1024)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.model_verdicts == "one-word" and self.model_dialect == "anthropic":
            raise ValueError(
                "FIRETRIAL_JUDGE_MODEL_VERDICTS=one-word needs probabilities, which anthropic never tells: "
                "set it to listed"
            )
        if self.analyzer_tls_ca and not (self.tls_cert and self.tls_key):
            raise ValueError("FIRETRIAL_JUDGE_ANALYZER_TLS_CA needs FIRETRIAL_TLS_CERT and FIRETRIAL_TLS_KEY")
        return self

    @property
    def cache_bytes(self) -> int:
        return self.cache_mib * _MIB
