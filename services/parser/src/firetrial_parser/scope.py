"""Names of data sets, models and metrics in running text, by spelling and by a list of common ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from firetrial_parser.prose import sentences

MOST = 12  # names kept of each sort

_SIZE = r"(?:[-\s]?v?\d+(?:\.\d+)*[bBkKmM]?)?"
_MODELS = re.compile(
    rf"""\b(?:
    GPT-?\d(?:\.\d)?o?(?:[-\s](?:[Tt]urbo|[Mm]ini|[Ii]nstruct|[Pp]review))*(?:[-\s]\d{{4}})?(?:\s\(\d+K\))?
    |(?:text-)?davinci-\d+ | o[134](?:-mini|-preview)
    |Claude(?:[-\s]v?\d(?:\.\d)?)?(?:[-\s](?:Sonnet|Opus|Haiku|Instant))?(?:[-\s]\d(?:\.\d)?)?(?:\s\(\d+K\))?
    |(?:Code)?LL?a[mM]m?[aA][-\s]?\d(?:\.\d)?(?:-chat|-instruct)?(?:[-\s]\d+[bB])?(?:-chat|-instruct|-hf)*
    |Gemini(?:[-\s]\d(?:\.\d)?)?(?:[-\s](?:Pro|Ultra|Flash|Nano))? | PaLM(?:-2)?(?:[-\s][SML]\b)?
    |(?:Mistral|Mixtral|Gemma|Qwen|Phi|MPT|LongChat|Vicuna|Falcon|OLMo|Pythia|OPT|BLOOM|Yi|DeepSeek|Flan|StarCoder)
      [-\s]?(?:\d[\w.]*|T5|UL2|R\d|V\d)(?:[-\s](?:\d+[bBkK]|XXL|XL|Instruct|Chat|it|mini|medium|\d+x\d+B))*
    |(?:Ro|De)?BERT(?:a|[-\s](?:base|large))? | T5{_SIZE} | ResNet-?\d+ | ViT-[A-Z]/\d+ | Whisper
    )(?![\w])""",
    re.VERBOSE,
)
_DATASETS = re.compile(
    r"""\b(?:GSM-?8K|MMLU(?:-Pro)?|Common[sS]ense\ ?QA|HotpotQA|Natural\ ?Questions(?:-Open)?|TriviaQA|SQuAD
    |IFEval|BIG-?[bB]ench(?:[- ]Hard)?
    |HellaSwag|TruthfulQA|HumanEval|MBPP|ImageNet(?:-\d+k)?|CIFAR-?\d+|MNIST|PMC-Patients
    |GAGLE|GLUE|SuperGLUE|Wikipedia|The\ Pile|AmbigQA|MS-?MARCO|XSTest|AgentHarm|SWE-[bB]ench|MultiArith|SVAMP
    |StrategyQA|FOLIO|ARC-(?:Challenge|Easy)|WinoGrande|WildChat|MATH|DROP|QuALITY|PVQ-RR|RAID|XSum|SAMSum|load_\w+
    |[A-Z][\w\-]*[A-Z\d][\w\-]*(?=\ (?:data\ ?sets?|benchmark|corpus)\b))\b""",
    re.VERBOSE,
)
_METRICS = re.compile(
    r"""\b(?:exact[- ]match(?:\ accuracy)?|accuracy|F1(?:[- ]score)?|AU-?ROC|AUC|ROUGE(?:-[L\d])?|BLEU
    |perplexity|ECE|Brier\ score|expected\ calibration\ error|mean\ squared\ error|RMSE|MAE|precision|recall
    |win\ rate|Spearman|Pearson|rank\ correlation|pass@\d+|log-?likelihood|calibration|R\^2|Cohen's\ kappa
    |success\ rate|error\ rate|death\ rate|Hurst\ exponent|Hölder\ exponent|mutual\ information
    |Wasserstein\ distance|KL\ divergence|runtime|latency)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_SETUP = re.compile(
    r"\bwe (?:use|used|evaluate[d]?|measure[d]?|vary|varied|compare[d]?|sample[d]?|run|ran|train(?:ed)?"
    r"|prompt(?:ed)?|test(?:ed)?|ask(?:ed)?|report(?:ed)?|randomi[sz]e[d]?|repeat(?:ed)?|replace[d]?|take|took)\b",
    re.IGNORECASE,
)
PROTOCOL_SENTENCES = 2


def models(text: str) -> tuple[str, ...]:
    """Names of language and vision models, the most frequent first."""
    return _names(_MODELS, text)


def datasets(text: str) -> tuple[str, ...]:
    """Names of data sets, the most frequent first."""
    return _names(_DATASETS, text)


def metrics(text: str) -> tuple[str, ...]:
    """Names of metrics, the most frequent first."""
    return _names(_METRICS, text)


def _names(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for match in pattern.finditer(text):
        name = " ".join(match[0].split()).strip(" -.")
        spelling.setdefault(name.lower(), name)
        counts[name.lower()] += 1
    return tuple(spelling[name] for name, _ in counts.most_common(MOST))


def protocol(paragraphs: Iterable[str]) -> str:
    """Up to two sentences that say how something was measured."""
    found = [s for paragraph in paragraphs for s in sentences(paragraph) if _SETUP.search(s)]
    return " ".join(found[:PROTOCOL_SENTENCES])
