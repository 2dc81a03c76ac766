import pytest

from firetrial_kit.settings import SettingsError
from firetrial_parser.config import ParserSettings


def test_defaults_read_no_model() -> None:
    assert ParserSettings.from_env({}, "parser").model_url == ""


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"FIRETRIAL_PARSER_MODEL_URL": "http://x/v1"}, "go together"),
        ({"FIRETRIAL_PARSER_MODEL_NAME": "m", "FIRETRIAL_PARSER_MODEL_URL": "x"}, "must be http"),
        ({"FIRETRIAL_PARSER_MAX_PAPER_BYTES": "0"}, "FIRETRIAL_PARSER_MAX_PAPER_BYTES"),
    ],
)
def test_bad_settings_are_named(environ: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        ParserSettings.from_env(environ, "parser")
