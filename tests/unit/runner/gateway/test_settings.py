"""The gateway's file of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from firetrial_kit.settings import SettingsError
from firetrial_runner.gateway.settings import GatewaySettings
from firetrial_runner.gateway.upstream import Dialect, Feature, choose

GOOD = """
refuse_unpriced = true
[upstreams.first]
url = "https://api.openai.com/v1"
dialect = "openai"
key_env = "A_KEY"
models = ["gpt-5*", "exact"]
allow = ["server_tools"]
[upstreams.second]
url = "http://127.0.0.1:8000/v1"
dialect = "openai"
key_file = "{key}"
models = ["*"]
[upstreams.third]
url = "https://api.anthropic.com/v1"
dialect = "anthropic"
models = ["claude*"]
[prices."exact"]
prompt = 1
completion = 2
"""


def load(tmp_path: Path, text: str) -> GatewaySettings:
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    return GatewaySettings.load(path)


def test_upstreams_in_their_order(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("from-a-file\n")
    settings = load(tmp_path, GOOD.format(key=key))
    upstreams = settings.opened({"A_KEY": "from-the-environment"})
    assert [u.key for u in upstreams] == ["from-the-environment", "from-a-file", ""]
    assert "from-" not in repr(upstreams)
    assert upstreams[0].allow == {Feature.SERVER_TOOLS}
    assert settings.refuse_unpriced
    assert settings.prices_by_model()["exact"].cached is None

    def named(dialect: Dialect, model: str) -> str:
        found = choose(upstreams, dialect, model)
        return found.name if found else ""

    asked = [("gpt-5-mini", Dialect.OPENAI), ("exact", Dialect.OPENAI), ("exactly", Dialect.OPENAI)]
    assert [named(dialect, model) for model, dialect in asked] == ["first", "first", "second"]
    assert named(Dialect.ANTHROPIC, "gpt-5") == ""
    assert upstreams[0].entry("gpt-5-mini") == "gpt-5*"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "upstreams"),
        ("not toml", "gateway.toml"),
        ('[upstreams.a]\nurl = "https://x/v1"\ndialect = "other"\nmodels = []\nnonsense = 1', "nonsense"),
        ('[upstreams.a]\nurl = "https://x/v1"\ndialect = "openai"\nmodels = ["a"]\nat_once = 0', "at_once"),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        load(tmp_path, text)


def test_everything_that_is_wrong_is_told_at_once_and_no_key(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
[upstreams.a]
url = "https://user:secret@x/v1"
dialect = "openai"
key_env = "MISSING"
models = ["a b"]
[upstreams.b]
url = "ftp://x"
dialect = "openai"
key_env = "BAD"
key_file = "/nowhere"
models = ["a"]
""",
    )
    with pytest.raises(SettingsError) as caught:
        settings.opened({"BAD": "quoted\\"})
    assert len(caught.value.problems) == 6
    assert "quoted" not in str(caught.value)
