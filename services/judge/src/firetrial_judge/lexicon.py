"""Words of empirical findings: which mean the same, which point up or down, which bound or deny.

Plain data, read by `words` (normal forms), `effects` (directions) and `claims` (what is a finding). Words are
listed in base forms and normalised on loading, so inflections need no entry.
"""

from __future__ import annotations

STOP = """a an the this that these those it its they their them we our us i you your he she his her who whom
whose which what there here and or nor but if then so as at by for from in into of off on onto out over per
to up upon via with within among amongst between through throughout during about around across along against
toward towards is are was were be been being am has have had having do does did doing done will would shall
should can could may might must than beyond lie non when where while whereas although though because since
until once both either also too very quite rather just even still already again however moreover thus
therefore hence such own same other another one ones each any some more most less least much many how why
all every not no only well after before above below under without versus vs regardless whether give given
get yield lead make cause result become remain seem appear tend show exhibit display demonstrate observe
report find found indicate suggest reveal obtain achieve reach perform produce use using used apply test
tested study studied experiment our compare compared respectively overall general generally typically
usually often sometimes frequently mainly mostly strongly greatly substantially considerably markedly
sharply steeply dramatically slightly clearly significantly significant statistically roughly approximately
nearly almost close about far become additional different need require bring contribute contribution account
emerge develop spend pay take come new strong strongly large-scale rate level amount degree number value way
kind type case set relative actual present"""
"""Words that carry no content of their own: function words, hedges, intensifiers, verbs of showing."""

GENERIC = """model classifier network llm method approach technique system result performance accuracy score
task dataset data benchmark setting condition experiment sample item example student participant people
person user"""
"""Content words that nearly every finding has; matching them says little, so they weigh little."""

SYNONYMS = """
accuracy performance score correctness accurate correct correctly solve em f1
model llm network lm classifier system
document passage text article paragraph chunk
context input prompt window
information evidence fact content answer knowledge passage document
beginning begin start early first front initial
end late last final
middle mid intermediate center central mid-context
example demonstration shot instance exemplar sample
dataset corpus data training-set benchmark
benchmark task dataset
human annotator rater people person participant judge evaluator reader respondent user
hallucination hallucinate fabricate confabulate
training train trained learn learning fit optimize
pretraining pretrain pretrained
fine-tuning fine-tune finetune finetuning tuned tuning
parameter size scale capacity width big large
error mistake failure incorrect wrong
clean noiseless noise-free
loss error
loss lose cost fall drop decline decrease
memory storage footprint ram
speed latency runtime time throughput fast faster slow slower accelerate decelerate
cost price expense spending cheap cheaper expensive costly
option choice alternative
order ordering sequence arrangement permutation shuffle reorder position
position location placement place positioned located order
question query problem
word token wording phrasing
bias preference prefer favour favor lean skew prejudice
reasoning reason chain-of-thought cot step-by-step scratchpad think
reflection reflect self-correction self-correct self-refine revise self-critique
noise noisy corrupted corruption mislabel mislabeled flip flipped wrong
label annotation class target
neighbour neighborhood knn nn nearest-neighbor k
confidence certainty confident
retrieval retrieve rag
quantization quantize quantized
pruning prune remove sparsify
dropout drop-out
generalization generalize transfer
robustness robust resistant resilience tolerant
consistency consistent reliable reliability stable stability
memorization memorize
overfitting overfit
calibration calibrated calibrate
explanation rationale justification
arithmetic math mathematics mathematical numerical
commonsense common-sense
code coding programming
summary summarization summarize summarizer
translation translate translator
image visual vision picture
race racial ethnicity ethnic demographic
group population subgroup
persona role character
temperature sampling
layer block depth
representation embedding hidden-state activation feature
decode decodable recover probe extract read
syntax syntactic grammar grammatical
geographic spatial coordinate longitude latitude location
length long duration size lengthen shorten verbose terse terser
short brief concise terse
iteration round step epoch turn
converge convergence
attack adversarial jailbreak
success succeed pass
detect identify recognize distinguish spot
predict anticipate forecast foresee simulate
follow obey comply adhere
mention acknowledge verbalize report disclose admit
hint cue clue
irrelevant distracting distractor unrelated
duplicate repetition repeat repeated redundant
clarification clarify clarifying
instruct instruction instruction-tuned
threshold limit cutoff
combine ensemble ensembled aggregate average averaging
frozen freeze freezing fixed
identical same
variance variability spread variation deviation
safety safe harmless
toxic toxicity offensive
truthful truthfulness factual factuality honest
persuasive convincing plausible plausibility
sensitivity sensitive dependent depend dependence vary influence affect change
correlation correlate association associate relate relationship relation
majority most
reliance rely relies
inhibit suppress
benefit gain advantage improvement helpful
regularization regularize regularizer
augmentation augment augmented
batch minibatch
optimizer optimiser
latent hidden
deep deeper depth
conversation dialogue dialog chat
resource low-resource
student distilled distillation
"""
"""One group a line: words of a group can stand for one another in a finding."""

PHRASES = {
    "large language model": "llm",
    "language model": "llm",
    "neural network": "network",
    "chain of thought": "chain-of-thought",
    "step by step": "chain-of-thought",
    "nearest neighbor": "nearest-neighbor",
    "in context learning": "in-context-learning",
    "in context example": "example",
    "in context demonstration": "example",
    "few shot example": "example",
    "few shot": "few-shot",
    "zero shot": "zero-shot",
    "fine tune": "fine-tune",
    "fine tuning": "fine-tuning",
    "fine tuned": "fine-tuned",
    "self correction": "self-correction",
    "self consistency": "self-consistency",
    "common sense": "commonsense",
    "k nearest neighbor": "nearest-neighbor",
    "low data": "few",
    "hidden state": "representation",
    "step by step reasoning": "chain-of-thought",
    "at least": "at_least",
    "at most": "at_most",
    "up to": "up_to",
    "without label noise": "clean",
    "without noise": "clean",
    "no label noise": "clean",
    "single neighbor": "nearest-neighbor",
    "no longer": "no_longer",
    "non significant": "insignificant",
    "not a single": "none",
    "no more": "not_more",
    "no better": "not_better",
    "no worse": "not_worse",
    "perform as well as": "match",
    "do as well as": "match",
    "work as well as": "match",
    "just as well": "unchanged",
    "equally well": "unchanged",
    "as well as": "and",
    "rather than": "rather_than",
    "instead of": "rather_than",
    "due to": "because",
    "because of": "because",
    "owing to": "because",
    "caused by": "because",
    "driven by": "because",
    "stem from": "because",
    "arise from": "because",
    "result of": "because",
    "explained by": "because",
    "attributable to": "because",
    "reason why": "because",
    "compared with": "versus",
    "compared to": "versus",
    "close to zero": "unchanged",
    "near zero": "unchanged",
    "lag behind": "underperform",
    "fall behind": "underperform",
    "fall short of": "underperform",
    "more time": "slower",
    "less time": "faster",
    "more quickly": "faster",
    "more slowly": "slower",
    "speed up": "accelerate",
    "slow down": "decelerate",
    "go up": "rise",
    "go down": "fall",
}
"""Phrases of normalised words, joined before anything else is looked up."""

# Directions. Values: the set of outcomes that a word leaves open, as a string of the signs "+", "0", "-".

UP = """farther above promote stimulate elevate facilitate encourage accumulate intensify surge soar widen
enlarge broaden extend deepen heighten magnify hardest increase rise grow raise gain climb double triple
higher more larger greater longer bigger highest largest greatest longest biggest expand amplify deeper
wider accelerate faster fastest quicker stronger strongest strengthen most stricter frequent positive
positively lengthen add adding additional extra verbose reinforce exceed maximize maximum wealthier older
restore double triple"""
DOWN = """disagree closer nearer below inhibit hinder impede restrict deplete erode undermine dampen depress
suppress decrease reduce drop fall decline lower less fewer smaller shorter smallest shortest lowest shrink
cut diminish lessen halve narrower shallower shallow decelerate slow slower slowest weaker weakest weaken
least fewest minimize minimum mitigate alleviate suppress eliminate eliminated removal remove removing
removed ablate shorten terser absence curb avoid prevent vanish disappear lack negative negatively inverse
inversely drop-off limit plummet younger poorer"""
GOOD = """improve improvement better best help helpful benefit beneficial enhance outperform beat surpass
effective boost success succeed win superior useful stabilize advantage excel recover resist
robust robustness stable reliable faithful accurate cheap cheaper"""
BAD = """diverge miss overlook misidentify misclassify misjudge mispredict misinterpret misread fool break
crash hamper hit destroy ruin worsen worse worst hurt harm harmful degrade degradation deteriorate suffer
fail failure collapse damage detrimental inferior impair underperform struggle poor poorly destabilize
unstable ineffective lose unreliable inaccurate fragile brittle costly expensive"""
FLAT = """insignificant match unchanged constant equal identical unaffected insensitive independent
independently invariant unrelated intact indistinguishable uncorrelated plateau"""
CHANGE = """change vary affect influence depend dependent sensitive sensitivity differ impact effect
alter difference matter shift"""
BAD_NOUNS = """error loss perplexity hallucination hallucinate overfit overfitting bias biased toxicity
toxic latency cost variance forgetting mistake leakage vulnerability
overconfident overconfidence"""
"""Outcomes of which less is better: they turn a plain up or down round."""

NEGATION = """not no none never neither nor cannot without unable hardly barely rarely seldom
nothing few little minimal negligible not_more not_better not_worse no_longer minority n't nobody"""
EFFECTS = """effect impact influence difference change vary affect depend differ alter matter significant
significantly relation relationship correlation correlate association associate"""
"""What any negation turns into "no change", not into "the opposite or no change"."""

GAINS = "gain benefit improvement advantage help work matter"
"""What "no", "little" or "hardly" turns into "no change"."""

OTHER_MEASURES = """faster fast slower slow speed accelerate decelerate cheap cheaper expensive costly
lengthen shorten verbose terse"""
"""Words that say what is measured, where the other side names no such measure."""

SIZES = "short long large small big wide narrow old young loud"
"""Whose comparatives, at a claim's end, name what is measured: "answers are shorter"."""

ALL = """none neither all every each always entire everyone whole universally invariably whatever whichever
regardless irrespective"""
SOME = "some several sometimes certain occasionally"
CAUSAL = "because driver explain"
METHOD = """evaluate compare test vary measure study apply investigate analyze examine run train sample
collect select design conduct consider query prompt use propose describe implement"""
"""Verbs that tell what was done: a sentence of these alone reports no finding."""

DIMENSIONS = """faster fast slower slow speed accelerate decelerate cheap cheaper expensive costly
lengthen shorten verbose terse robust stable reliable accurate inaccurate faithful"""
"""Words of direction that also name what is measured: faster is not more accurate."""

SCALARS = """high low small large great long short deep wide shallow narrow strong weak slow fast poor
close closed near few little limited positive negative early late young old"""
"""Written in this form, a word sets a condition ("at low noise"); only "lower" or "lowest" is a direction."""

COMPARATIVES = "better worse higher lower larger smaller more less faster slower stronger weaker"
SUPERLATIVES = "most least best worst highest lowest hardest"

COUNTING = """half third quarter thirds quarters fifth tenth percent percentage point points times fold
hundred thousand million billion one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
ninety first second"""
"""Left to `quantities`."""

OPPOSITES = """
beginning middle
end middle
early late
first last
high low
small large
short long
deep shallow
wide narrow
easy hard
simple complex
clean noisy
seen unseen
positive negative
quality quantity
sparse dense
big small
majority minority
"""

VERBS = """speed remove suppress inhibit promote stimulate limit narrow select update locate judge choose
disagree admit overestimate underestimate scale recover resist shorten lose win preserve survive restore
solve encode memorize receive attend refuse tell agree widen shrink survive diverge abandon catch evade miss
comply decelerate destroy ruin stay lose hit improve increase decrease reduce raise lower drop fall rise
grow decline degrade hurt harm help benefit outperform underperform beat surpass show exhibit display yield
lead leave cause make keep retain maintain preserve persist disappear vanish vary change affect influence
depend differ correlate predict explain reach achieve obtain perform fail succeed suffer struggle prefer
favor exceed remain become stay provide produce give require need cost use generalize transfer converge
saturate peak plateau worsen deteriorate collapse boost enhance mitigate prevent strengthen weaken amplify
accelerate slow shorten lengthen match mislead drive enable allow appear emerge memorize overfit hallucinate
follow ignore detect recognize identify commit carry learn halve double"""
"""Verbs that findings are told with."""

AUXILIARY = """is are was were has have had does do did can could may might must will would shall should
cannot tends tend"""

VERB_OR_NOUN = "change shift drop use need cost match work help show"

ADVERBS = "also thus thereby even only often then still not never"
"""What may stand before a verb whose subject is left out."""

SUBORDINATE = "when if because since as although though while whereas unless once"

ENDINGS = """ization izing ized izer ize ational ation ating ated ate ity ement ment iness ness ally ably
ibly able ible edly ingly ing ion ied ily er or ed ence ent ance ant e ly al ic ive ful y"""

ABBREVIATIONS = """e.g i.e eg ie etc vs cf al fig figs eq eqs tab sec secs ch approx resp dr prof mr mrs
ms st ca avg max min std dev dept est ref refs vol pp ed eds w.r.t a.k.a u.s u.k ph.d no nr incl excl jan
feb mar apr jun jul aug sep sept oct nov dec"""

BEFORE_NUMBERS = "fig figs eq eqs tab sec secs ch no nr vol pp ref refs"
"""Abbreviations only where a number follows."""

MAY_END = "etc al max min dev mar est ed"
"""Abbreviations that also end sentences."""

NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
