"""The parts of the gate put together, for `main`."""

from __future__ import annotations

from dataclasses import dataclass

from firetrial_kit.bus import Consumer
from firetrial_kit.records import Records
from firetrial_kit.service import Parts
from firetrial_parser.asking import Asker
from firetrial_parser.entailment import Entails
from firetrial_parser.papers import Papers
from firetrial_parser.soundness.announcing import ProposalAnnouncer
from firetrial_parser.soundness.handlers import ProposalHandlers
from firetrial_parser.soundness.model import ModelAssessor
from firetrial_parser.soundness.offline import OfflineAssessor
from firetrial_parser.soundness.proposals import Means, Proposals
from firetrial_parser.soundness.record import ProposalRecord
from firetrial_parser.soundness.shelf import Shelf
from firetrial_parser.soundness.support import ByJudge, ByModel, Lexical, Verifier


@dataclass(frozen=True, slots=True)
class Soundness:
    """What is served, and what is run."""

    proposals: Proposals
    consumers: tuple[Consumer, ...]


def soundness(parts: Parts, papers: Papers, asker: Asker | None, judge: Entails | None) -> Soundness:
    """The gate over the same state, store and bus as the rest of the parser."""
    proposals = Proposals(
        records=Records(parts.state, "proposal", ProposalRecord),
        shelf=Shelf(parts.objects),
        papers=papers,
        announcer=ProposalAnnouncer(parts.bus, parts.clock),
        clock=parts.clock,
        means=means(asker, judge),
    )
    return Soundness(proposals, ProposalHandlers(proposals, parts.log).consumers())


def means(asker: Asker | None, judge: Entails | None) -> Means:
    """The model where there is one; without it, features are counted and the judge, or words, verify."""
    assessor = ModelAssessor(asker) if asker else OfflineAssessor()
    return Means(assessor, _verifier(asker, judge), asker)


def _verifier(asker: Asker | None, judge: Entails | None) -> Verifier:
    if asker:
        return ByModel(asker)
    return ByJudge(judge) if judge else Lexical()
