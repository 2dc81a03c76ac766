"""How a clause gives away that it tells a result, and what makes it a plan all the same."""

from __future__ import annotations

import re


def _re(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _one_of(*words: str) -> str:
    """Alternatives, parted by blanks; "~" stands for a blank."""
    return "(?:" + "|".join(" ".join(words).split()).replace("~", " ") + ")"


_NUMBER = r"(?<![\w.@-])[-+±]?\d[\d,]*(?:\.\d+)?"
_UNIT = r"\s*(?:%|percent(?:age)?(?: points?)?|pp\b|points?\b|[x×](?!\w)|times\b|-?fold\b)"
_SHARE = r"(?:an? (?:third|half|quarter|fifth|tenth|order of magnitude)|half|two thirds)\b"
_METRIC = _one_of(
    r"accurac(?:y|ies) f1(?:[-~]scores?)? f[-~]?scores? precision recall bleu rouge(?:-\w)? meteor bertscore",
    r"perplexit(?:y|ies) auroc auprc auc m?ap m?iou dice psnr ssim fid wer cer mse rmse mae r2 r² kappa",
    r"(?:error|win|success|pass|solve|hit|failure|hallucination|refusal)~rates? scores? performance",
    r"correlations? spearman'?s?~\w+ pearson'?s?~\w+ agreement errors? loss rewards? returns? latency",
    r"throughput speed-?ups? runtime exact~match em pass@\w+ hallucinations",
)
_RISE = _one_of(
    r"achiev\w+ reach(?:es|ed) attain\w* obtain(?:s|ed)? yield(?:s|ed) scor(?:es|ed) gain(?:s|ed)? "
    r"drop(?:s|ped)?",
    r"improv(?:es?|ed|ing|ements?) increas(?:es?|ed|ing) decreas(?:es?|ed|ing) reduc(?:es?|ed|ing|tions?) "
    r"fell",
    r"fall(?:s|en)? ris(?:es|en) rose declin(?:es|ed) boost(?:s|ed) degrad(?:es|ed) cuts? halv(?:es|ed) "
    r"grows?",
    r"retain(?:s|ed) preserv(?:es|ed) recover(?:s|ed)",
    r"doubl(?:es|ed) grew climb(?:s|ed) went goes lower(?:s|ed) rais(?:es|ed) hurts? harms? helps?",
)
_REPORT = _one_of(
    "find found show showed shown observe observed demonstrate demonstrated discover discovered establish",
    "established confirm confirmed reveal revealed conclude concluded report reported see saw note noted "
    "prove",
    "proved uncover uncovered verified learned",
)
_OURS = _one_of("results? experiments? findings? analys[ie]s study evaluations? work method data")
_EVIDENCE = (
    r"(?:(?:our|the|this|these|those|all|empirical|experimental|preliminary|initial|main|final)\s+){0,3}"
    r"(?:results?|findings?|experiments?|evaluations?|data|evidence|analys[ie]s|ablations?|plots?|curves?)"
)
_TELLS = _one_of(
    r"shows? showed indicate[sd]? suggest(?:s|ed)? reveal\w* confirm(?:s|ed)? demonstrate[sd]? "
    r"support(?:s|ed)?",
    r"prove[sd]? (?:is|are|was|were)~consistent contradict(?:s|ed)? challenge[sd]? refute[sd]? rule[sd]?~out",
)
_CITED = r"(?:fig(?:ure|\.)?|tab(?:le|\.)?|appendix|section|sec\.)\s*\w*\d"
_BELIEF = r"(?:hypothes[ie]s|expectations?|predictions?|conjecture)"
_AS_EXPECTED = r"\bas (?:we )?(?:had )?(?:expected|predicted|hypothesi[sz]ed|anticipated)\b"
_BETTER = _one_of(
    "better worse higher lower larger smaller faster slower more fewer less more~accurate sooner later "
    "longer",
    "shorter stronger weaker",
)
_CHANGES = _one_of(r"improv\w+ outperform\w* increas\w+ decreas\w+ reduc\w+ degrad\w+")
_FOUND = _one_of(r"an? no little only strong\w* significant\w* consistent\w* substantial\w* clear\w*")
# Nobody plans by these, but for runs "that failed".
_CAME_OUT = _one_of(
    "plateaued disappeared vanished emerged collapsed diverged converged saturated failed succeeded worsened",
    "benefited suffered remained stayed brought gave led~to caused finished rated preferred judged "
    "stopped peaked",
    "lagged trailed won lost persisted struggled dominated varied differed rose fell grew",
)
_ABOUT = r"(?:up to |about |around |only |roughly |nearly |over |just |more than )?"

ALWAYS = {
    "tells what was found": _re(
        rf"\b(?:we|i|our {_OURS})\s+(?:\w+ly\s+|also\s+|further\s+|then\s+|have\s+|had\s+){{0,2}}{_REPORT}\s+"
        r"(?:\w+ly\s+)?(?:that|how)\b",
        rf"\b(?:we|i)\s+(?:\w+ly\s+)?(?:found|observed|saw|measured)\s+{_FOUND}\b",
        r"\b(?:we|i)\s+(?:\w+ly\s+)?(?:found|find|observed?)\s+[^.;]{1,60}?\s+to be\b",
        r"\b(?:no|an?|little) [^.;]{1,60}\b(?:was|were) (?:found|observed|detected|seen)\b",
        rf"\b{_EVIDENCE}\s+(?:\w+ly\s+)?{_TELLS}\b",
        r"\b(?:this|these|which|it)\s+(?:\w+ly\s+)?(?:shows?|suggests?|indicates?|demonstrates?|confirms?|"
        r"reveals?|"
        r"proves?|implies|imply)\s+(?:that|how|an?|the)\b",
        rf"(?<!that )(?<!which )(?<!who )(?<!we )(?<!they )\b{_CAME_OUT}\b",
        r"\bonly \d+ (?:of|out of) (?:the )?\d+\b",
        r"\bnone of the [^.;]{1,40}\b(?:\w+ed|was|were|did|had)\b",
        r"\b(?:it|this) (?:was (?:found|observed|shown|confirmed)|turn(?:s|ed) out)\b",
        rf"\b(?:as )?(?:shown|seen|reported|summari[sz]ed|illustrated) (?:in|by) {_CITED}",
        rf"\b{_CITED}\s+(?:shows?|reports?|reveals?|confirms?|summari[sz]es? (?:our |the )?(?:main "
        rf")?results?)\b",
        r"\b(?:confirm(?:s|ed|ing)?|support(?:s|ed|ing)?|refut(?:es|ed|ing)|reject(?:s|ed)?|"
        r"contradict(?:s|ed)) "
        rf"(?:our|the|this|these) (?:\w+ )?{_BELIEF}\b",
        _AS_EXPECTED,
        r"\b(?:surprisingly|remarkably|strikingly|notably),?\s+(?!we (?:will|plan))",
        r"\bin (?:our|all|most|both) (?:experiments|evaluations|runs|trials),?\s+[^.;]{1,80}"
        r"\b(?:was|were|did|had|outperformed)\b",
    ),
    "states significance": _re(
        r"\bp\s*(?:-value)?\s*(?:=|≈|of|was)\s*0?\.\d+",
        r"\((?:\w[^()]*,\s*)?p\s*[<>]\s*0?\.\d+[^()]*\)",
        r"\b(?:is|are|was|were|proved|remained|became)\s+(?:not\s+|highly\s+|also\s+|both\s+)?"
        r"(?:statistically\s+)?significant\b",
        rf"\b(?:statistically\s+)?significant(?:ly)?\s+(?:{_BETTER}|{_CHANGES}|differ(?:s|ed)?)\b",
        r"\b(?:reach(?:es|ed)?|attain(?:s|ed)?|lack(?:s|ed)?) (?:statistical )?significance\b",
        r"\bnull (?:hypothesis )?(?:is|was|were|could be) (?:not )?rejected\b",
    ),
    "gives a result's number": _re(
        rf"\b{_RISE}\b[^.;]{{0,90}}?\b{_METRIC}\b[^.;]{{0,40}}?(?:{_NUMBER}|by {_SHARE})",
        rf"\b{_METRIC}\b[^.;]{{0,60}}?\b{_RISE}\b[^.;]{{0,40}}?(?:{_NUMBER}|by {_SHARE})",
        rf"\b{_RISE}\b[^.;]{{0,60}}?{_NUMBER}(?:{_UNIT})?\s*(?:\w+\s+){{0,3}}?{_METRIC}\b",
        r"\b(?:achiev\w+|attain\w*|scor(?:es|ed)|improv(?:es|ed)|gain(?:s|ed)|boost(?:s|ed))\b[^.;]{0,60}?"
        rf"{_NUMBER}{_UNIT}",
        rf"\b{_METRIC}\b\s+(?:(?:on|of|for|in|between|among|with) [^.;]{{1,50}} )?"
        rf"(?:is|was|were|are|equals|stands at|stood at|of|=|:)\s*{_ABOUT}"
        rf"(?:{_NUMBER}{_UNIT}|[01]?\.\d+|\d+\.\d+)",
        rf"{_NUMBER}{_UNIT}\s+(?:absolute |relative |mean |average )?(?:{_BETTER}|{_METRIC}|improvement|"
        rf"gain|drop|"
        r"reduction|increase)\b",
        rf"{_NUMBER}[- ]points?\s+(?:gain|drop|improvement|increase|decrease|reduction|difference|gap)\b",
        rf"\bby\s+{_ABOUT}{_NUMBER}{_UNIT}",
        r"\b(?:solv|answer|pass|fail|complet|identif|recover|detect|classif|predict)\w*\s+"
        r"\d[\d,]* (?:of|out of) (?:the )?\d[\d,]*\b",
        rf"\b(?:preferred|chose|won|solved|failed|agreed|succeeded|refused|hallucinated)\b[^.;]{{0,60}}?"
        rf"\b(?:in|on) {_ABOUT}{_NUMBER}\s*(?:%|percent|of)",
        rf"\b(?:scor|averag)ed\s+{_ABOUT}{_NUMBER}",
        rf"\b{_METRIC}\b[^.;]{{0,40}}?\b(?:is|are|was|were) (?:halved|doubled|tripled|reduced|improved|"
        rf"lowered)\b",
    ),
}
CLAIMS = _re(
    r"\b(?:out-?perform(?:s|ed|ing)?|surpass(?:es|ed)?|outscore[sd]?|outstrip(?:s|ped)?)\b",
    r"\b(?:beats?|exceed(?:s|ed)?|match(?:es|ed))\s+"
    r"(?:all|every|the|strong|existing|previous|prior|other|both|most)?\s*(?:\w+\s+){0,2}"
    r"(?:baselines?|competitors?|state[- ]of[- ]the[- ]art|sota|human performance|prior work)\b",
    r"\b(?:models?|methods?|networks?|approach(?:es)?|it|they)\s+match\b",
    r"\b(?:is|are|was|were|proves?|proved)\s+(?:\w+ly\s+)?superior to\b",
    r"\b(?:achiev\w+|sets?|establish\w+|reach(?:es|ed)|obtain\w*|attain\w*)\s+(?:a |the )?(?:new )?"
    r"(?:state[- ]of[- ]the[- ]art|sota|best|strong|competitive|superior|comparable|promising|human[- "
    r"]level)\b",
    r"\b(?:improv|increas|decreas|reduc|degrad|dropp|declin|outperform|fail|succeed|work|"
    r"worsen)ed\b[^.;]{0,60}"
    rf"\b(?:{_METRIC}|baselines?|significantly|substantially|consistently|markedly|on all|across all)\b",
    rf"\b(?:substantially|consistently|markedly|dramatically|greatly|clearly) (?:{_BETTER}|{_CHANGES})\b",
)

# What makes a clause a plan: it is willed, possible, asked, supposed, chosen, or a condition.
_DOING = (
    r"(?:\bto|\b(?:we|i|they|it|study|experiments?|and|then|also|will))\s+(?:\w+ly\s+|also\s+|then\s+){0,2}"
)
_DONE = _one_of(
    "plan aim ask test examine investigate study compare check measure evaluate assess determine quantify",
    "estimate filter select keep exclude discard retain sample stop count define",
)
PLANNED = _re(
    r"\b(?:will|would|shall|should|may|might|could|can|cannot|must)\b",
    r"\b(?:whether|if|unless|until|once|when|whenever|suppose|assum\w+|in case)\b",
    r"\b(?:expect|hypothesi[sz]e|predict|conjecture|anticipate|believe|suspect|posit|propose|intend|hope|"
    r"seek)s?\b",
    rf"{_DOING}{_DONE}s?\b",
    r"\b(?:testing|comparing|measuring|evaluating|examining|investigating|asking|checking|defined? as|"
    r"such that)\b",
    r"\b(?:is|are|be|being) (?:selected|kept|excluded|discarded|removed|retained|filtered|sampled|stopped|"
    r"tested|"
    r"assessed|"
    r"compared)\b",
    r"\b(?:is|are|was) (?:expected|predicted|hypothesi[sz]ed|supposed|meant|intended|set|fixed|required)\b",
    r"\b(?:(?<!null )hypothes[ie]s|prediction|question|goal|target|criteri\w+|threshold|cut-?off|chance|"
    r"ceiling|"
    r"random guess\w*|budget|alpha|power analysis|effect size|detect|early[- ]stop\w*)\b",
    r"\bto (?:show|demonstrate|confirm|find|reveal|establish|verify|see|outperform|surpass|beat|exceed|"
    r"achieve|"
    r"reach|improve|increase|reduce)\b",
)
# These tell what came out even where a plan stands beside them.
SETTLED = _re(
    _AS_EXPECTED,
    rf"\b(?:confirm(?:s|ed)|refut(?:es|ed)|contradict(?:s|ed)) (?:our|the|this) (?:\w+ )?{_BELIEF}\b",
    r"\b(?:we|i)\s+(?:\w+ly\s+|also\s+){0,2}(?:found|observed|showed|demonstrated|discovered)\b",
    r"\(p\s*[<=]\s*0?\.\d+\)",
)
# A condition or a supposition that opens a sentence, or a verb of expecting, holds for the whole of it.
WHOLE = _re(
    r"^\W*(?:if|when|whether|suppose|assuming|should|hypothesis|h\d|question|rq\d)\b",
    r"\b(?:we|i|one|authors?)\s+(?:\w+ly\s+|also\s+|will\s+|then\s+|further\s+){0,2}(?:expect|hypothesi[sz]e|"
    r"predict|conjecture|anticipate|suspect|posit|ask|test|examine|investigate)\b",
    r"\b(?:hypothesis|prediction|question|conjecture|expectation)\b[^.;]{0,20}\b(?:is|:|that|whether)",
    r"^\W*(?:does|do|is|are|can|could|will|would|how|what|which|why|where|who|to what)\b[^?]*\?\s*$",
)
OTHERS = _re(
    r"\bet al\b",
    r"\[\d+(?:\s*[,–-]\s*\d+)*\]",
    r"\([A-Z][\w'-]+(?:[^()]{0,60})?,?\s*(?:19|20)\d{2}[a-z]?\)",
    r"\b[A-Z][\w'-]+ \((?:19|20)\d{2}[a-z]?\)",
    r"\b(?:prior|previous|earlier|existing|past|recent|related) "
    r"(?:work|works|studies|research|results|papers|literature)\b",
)
OWN = _re(r"\b(?:we|our|ours|this (?:paper|work|study))\b")

# A metric's name may hold a number ("recall@10", "F0.5", "top-5", "BLEU-4"); a value may not stand beside it.
VALUE = re.compile(
    r"(?:[:=≈]\s*|\b(?:of|is|was|at)\s+)[-+]?\d+(?:\.\d+)?\s*%?"
    r"|(?<![\w@.-])\d+(?:\.\d+)?\s*%|(?<![\w@.-])\d*\.\d+"
)
INTERVAL = re.compile(r"(?i)\d+\s*%\s*(?:confidence|credible|bootstrap|ci\b|interval|prediction interval)")
CLAUSES = re.compile(
    r";\s+|:\s+|,\s+(?:and|but|while|whereas|which|so|yet|resulting in|leading to|with)\s+|\s+[–—]\s+"
)
