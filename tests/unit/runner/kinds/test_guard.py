"""What target files may newly do without a finding, and what they may not."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.kinds.guard import Seen, look

PINNED = "import os\nROOT = os.environ['ROOT']\ndef predict(xs):\n    return open(ROOT).read()\n"
HONEST = '''
"""A model that opens new ways."""
import warnings
import numpy as np
import torch
from sklearn.ensemble import GradientBoostingRegressor
from torch import nn

warnings.filterwarnings("ignore")
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = bool(1)
np.random.seed(0)

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.body = nn.Linear(width, 1)

    def __len__(self):
        return self.width

    def forward(self, x):
        return self.body(x)

def predict(xs):
    model = GradientBoostingRegressor(n_estimators=100)
    model.n_jobs = 2
    net = Net(3).eval()
    net.training = False
    results = {"exit": 1}
    results["open"] = [x for x in xs if isinstance(x, float)]
    print(type(model).__name__, model.__class__.__name__)
    layer = nn.Linear
    layer(1, 1).bias = None
    return model.fit(xs, xs).predict(xs)
'''


def test_an_honest_change_has_no_finding() -> None:
    assert look("model.py", HONEST, PINNED, "out/results.json") == Seen()
    assert look("model.py", PINNED, PINNED, "results.json") == Seen()
    assert look("split.json", "open('x')", "", "results.json") == Seen()


@pytest.mark.parametrize(
    "line",
    [
        "import json; json.dump = print",
        "import json as j; j.dump = print",
        "import sklearn.metrics; sklearn.metrics.accuracy_score = print",
        "from sklearn import metrics; metrics.accuracy_score = print",
        "import json; del json.dump",
        "import evaluate; evaluate.SCALE = 0.0",
        "import json; json.dump, x = print, 0",
        "import json; [json.dump] = [print]",
        "import json\nfor json.dump in [print]: pass",
        "import json\nwith open_ as json.dump: pass",
        "import json; m = json; m.dump = print",
        "import json\nif (m := json): m.dump = print",
        "import json; object.__setattr__(json, 'dump', print)",
        "xs.__class__ = Other",
        "from unittest.mock import patch",
        "import pickle; pickle.loads(b'')",
        "import io; io.open('x')",
        "import numpy as np; np.memmap('x')",
        "import weakref; weakref.finalize(x, print)",
        "import json; setattr(json, 'dump', print)",
        "import json; json.__dict__['dump'] = print",
        "import builtins",
        "__builtins__.open = print",
        "import sys; sys.modules['json'] = None",
        "from sys import modules",
        "import sys; sys._getframe(1)",
        "import inspect",
        "import gc; gc.get_objects()",
        "import ctypes",
        "import atexit",
        "import __main__",
        "import os; os._exit(0)",
        "from os import fork",
        "import subprocess",
        "import multiprocessing.pool",
        "import threading; threading.Thread(target=print)",
        "exec('1')",
        "eval('1')",
        "open('x')",
        "from pathlib import Path; Path('x').write_text('y')",
        "import numpy as np; np.load('x')",
        "import pandas as pd; pd.read_csv('x')",
        "import glob; glob.glob('*')",
        "NAME = 'results.json'",
        "class N(float):\n    def __rsub__(self, o): return 0",
        "class N(float):\n    __sub__ = None",
        "class N(float):\n    __sub__, x = None, 0",
        "class N(float):\n    from helper import zero as __rsub__",
        "N = type('N', (float,), {})",
        "(1).__class__.__subclasses__",
        "# coding: utf-7\n# +AAo-import ctypes",
    ],
)
def test_what_reaches_beyond_the_model_is_a_finding(line: str) -> None:
    (found, *_) = look("pkg/model.py", line, "", "results.json").findings
    assert found.startswith("pkg/model.py:")
    assert look("pkg/model.py", line, line, "results.json") == Seen()


def test_as_often_as_the_pinned_file_does_is_no_finding_and_once_more_is() -> None:
    seen = look("m.py", "a = open('x')\nb = open('y')\n", "open('z')\n", "r.json")
    assert seen == Seen(("m.py:2 opens files, which the pinned file does not",))


def test_what_cannot_be_read_is_no_finding_and_is_told() -> None:
    broken = look("m.py", "def broken(:", PINNED, "r.json")
    assert broken.findings == ()
    assert broken.unread.startswith("m.py cannot be read as Python: invalid")
    assert look("m.py", "# coding: no-such-code", PINNED, "r.json").unread
    assert look("split.json", "(", "", "r.json") == Seen()
    assert look("m.py", "print 1", "print 2", "r.json") == Seen(), "in another Python nothing can be told"


@pytest.mark.parametrize("text", [HONEST, "open('x')", "def broken(:"])
def test_each_text_is_parsed_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    parse = ast.parse

    def counted(source: bytes) -> ast.Module:
        parsed.append(source)
        return parse(source)

    monkeypatch.setattr(ast, "parse", counted)
    look("m.py", text, PINNED, "r.json")
    assert sorted(parsed) == sorted(set(parsed))


@pytest.mark.parametrize(
    "text", ["(" * 5000, "a" + ".b" * 20_000, "-" * 100_000 + "1", "\0", "x = " + "1+" * 50_000 + "1"]
)
def test_no_text_breaks_the_reading(text: str) -> None:
    assert isinstance(look("m.py", text, "", "r.json"), Seen)


@given(st.text(max_size=200))
def test_no_text_at_all_breaks_it(text: str) -> None:
    assert isinstance(look("m.py", text, PINNED, "r.json"), Seen)
