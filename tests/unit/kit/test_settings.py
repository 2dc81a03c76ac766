from __future__ import annotations

from pathlib import Path

import pytest

from firetrial_kit.settings import CommonSettings, SettingsError, is_loopback

GOOD = {"FIRETRIAL_OBJECTS_URL": "file:///data"}


def test_defaults_listen_on_the_loopback_only() -> None:
    settings = CommonSettings.from_env(GOOD, "runner")
    assert settings.rpc_address == "127.0.0.1:0"
    assert settings.metrics_address == "127.0.0.1:0"


def test_a_service_has_its_own_before_the_common() -> None:
    environ = {**GOOD, "FIRETRIAL_S3_ACCESS_KEY": "all", "FIRETRIAL_RUNNER_S3_ACCESS_KEY": "mine"}
    assert CommonSettings.from_env(environ, "runner").s3_access_key == "mine"
    assert CommonSettings.from_env(environ, "judge").s3_access_key == "all"


def test_every_bad_variable_is_listed_with_its_value() -> None:
    environ = {
        "FIRETRIAL_OBJECTS_URL": "file:///data",
        "FIRETRIAL_ACK_WAIT": "soon",
        "FIRETRIAL_RPC_ADDRESS": "here",
        "FIRETRIAL_RUNNER_MAX_DELIVER": "0",
    }
    with pytest.raises(SettingsError) as caught:
        CommonSettings.from_env(environ, "runner")
    text = str(caught.value)
    assert len(caught.value.problems) == 3
    for part in (
        "FIRETRIAL_ACK_WAIT",
        "'soon'",
        "FIRETRIAL_RPC_ADDRESS",
        "'here'",
        "FIRETRIAL_RUNNER_MAX_DELIVER",
    ):
        assert part in text


def test_a_secret_is_not_repeated() -> None:
    environ = {**GOOD, "FIRETRIAL_S3_SECRET_KEY": "hush", "FIRETRIAL_ACK_WAIT": "x"}
    with pytest.raises(SettingsError) as caught:
        CommonSettings.from_env(environ)
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(CommonSettings.from_env({**GOOD, "FIRETRIAL_S3_SECRET_KEY": "hush"}))


@pytest.mark.parametrize("url", ["", "data", "ftp://x", "file://relative"])
def test_an_object_store_must_be_named(url: str) -> None:
    with pytest.raises(SettingsError, match="FIRETRIAL_OBJECTS_URL"):
        CommonSettings.from_env({"FIRETRIAL_OBJECTS_URL": url})


def test_beyond_the_loopback_only_with_tls() -> None:
    with pytest.raises(SettingsError, match="FIRETRIAL_TLS_CLIENT_CA"):
        CommonSettings.from_env({**GOOD, "FIRETRIAL_RPC_ADDRESS": "0.0.0.0:50051"})
    tls = {f"FIRETRIAL_TLS_{name}": "/x.pem" for name in ("CERT", "KEY", "CLIENT_CA")}
    CommonSettings.from_env({**GOOD, **tls, "FIRETRIAL_RPC_ADDRESS": "0.0.0.0:50051"})
    with pytest.raises(SettingsError, match="go together"):
        CommonSettings.from_env({**GOOD, "FIRETRIAL_TLS_CERT": "/x.pem"})


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1:1", True),
        ("localhost:1", True),
        ("[::1]:1", True),
        ("0.0.0.0:1", False),
        ("host:1", False),
    ],
)
def test_what_is_loopback(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


def test_a_secret_may_lie_in_a_file_of_the_service_or_of_all(tmp_path: Path) -> None:
    (tmp_path / "all").write_text("common\n")
    (tmp_path / "mine").write_text("own\n")
    environ = {
        **GOOD,
        "FIRETRIAL_NATS_PASSWORD_FILE": str(tmp_path / "all"),
        "FIRETRIAL_RUNNER_NATS_PASSWORD_FILE": str(tmp_path / "mine"),
    }
    found = {
        name: CommonSettings.from_env(environ, name).nats_password.get_secret_value()
        for name in ("runner", "judge")
    }
    assert found == {"runner": "own", "judge": "common"}


def test_what_is_no_secret_is_read_from_no_file(tmp_path: Path) -> None:
    (tmp_path / "level").write_text("debug")
    environ = {**GOOD, "FIRETRIAL_LOG_LEVEL_FILE": str(tmp_path / "level")}
    assert CommonSettings.from_env(environ).log_level == "info"


def test_a_file_that_is_missing_is_told_with_all_else_that_is_wrong(tmp_path: Path) -> None:
    environ = {**GOOD, "FIRETRIAL_S3_SECRET_KEY_FILE": str(tmp_path / "gone"), "FIRETRIAL_DRAIN": "soon"}
    with pytest.raises(SettingsError) as caught:
        CommonSettings.from_env(environ)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "FIRETRIAL_S3_SECRET_KEY_FILE",
        "FIRETRIAL_DRAIN",
    ]
