"""The model's settings, its prompts, and the service that is wired with one."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from firetrial_analyzer.attributing.assembly import attributor
from firetrial_analyzer.attributing.instructions import load_prompts
from firetrial_analyzer.config import AnalyzerSettings
from firetrial_kit.asking import Price
from firetrial_kit.settings import SettingsError
from unit.analyzer.test_main import parts

MODEL = {
    "FIRETRIAL_ANALYZER_MODEL_URL": "https://models.example/v1",
    "FIRETRIAL_ANALYZER_MODEL_NAME": "m-1",
    "FIRETRIAL_ANALYZER_MODEL_KEY": "sk-secret",
    "FIRETRIAL_ANALYZER_PRICES": '{"m-1": {"prompt": 2, "completion": 8}}',
}


def settings(**environ: str) -> AnalyzerSettings:
    return AnalyzerSettings.from_env(environ, "analyzer")


def test_without_a_model_nothing_is_asked() -> None:
    assert settings().model_url == ""


def test_a_model_has_its_endpoint_and_price_and_shows_no_key() -> None:
    found = settings(**MODEL)
    assert (found.endpoint().base_url, found.endpoint().model) == ("https://models.example/v1", "m-1")
    assert found.price() == Price(2, 8, 2)
    assert "sk-secret" not in f"{found!r} {found.endpoint()!r}"
    assert settings(**{**MODEL, "FIRETRIAL_ANALYZER_PRICES": "{}"}).price() is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"FIRETRIAL_ANALYZER_MODEL_URL": "models.example"}, "must be http://"),
        ({"FIRETRIAL_ANALYZER_MODEL_NAME": ""}, "go together"),
        ({"FIRETRIAL_ANALYZER_MODEL_DIALECT": "telepathy"}, "MODEL_DIALECT"),
        ({"FIRETRIAL_ANALYZER_MODEL_PARTS": "1"}, "MODEL_PARTS"),
        ({"FIRETRIAL_ANALYZER_PRICES": '{"m-1": {"prompt": -1, "completion": 1}}'}, "PRICES"),
        (
            {"FIRETRIAL_ANALYZER_ATTRIBUTION_MAX_USD": "5", "FIRETRIAL_ANALYZER_PRICES": "{}"},
            "a cap cannot be kept blindly",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(change: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings(**{**MODEL, **change})


async def test_the_service_has_an_attributor_where_a_model_is_set_and_accounts_where_there_is_a_cap() -> None:
    async with AsyncExitStack() as stack:
        made = await parts(stack)
        assert attributor(settings(), made) == (None, None)
        without, accounts = attributor(settings(**MODEL), made)
        assert without
        assert without.method == f"m-1 {load_prompts().version}"
        assert accounts is None
    async with AsyncExitStack() as stack:
        capped = settings(**MODEL, FIRETRIAL_ANALYZER_ATTRIBUTION_MAX_USD="5")
        _, accounts = attributor(capped, await parts(stack))
        assert accounts


def test_a_shipped_prompt_is_not_edited() -> None:
    """An attribution names its prompts by this; a changed text is a new version, in new files."""
    assert load_prompts("v1").version == "attribution-v1-1571f71b"
