from __future__ import annotations

import base64
from pathlib import Path

import pytest

from firetrial_kit import logs
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_operate.webhooks import config

KNOWN = {("runner", "run_finished"), ("judge", "run_judged")}
SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
OLD = base64.b64encode(b"o" * 24).decode()
GOOD = """
[[endpoint]]
name = "lab"
url = "https://hooks.lab.example/firetrial"
events = ["runner.run_finished", "judge.*"]
secrets = ["env:HOOK", "file:{folder}/old"]
headers = {{ Authorization = "env:TOKEN", X-Lab = "plain" }}
tenant = "blue"
timeout_s = 5
give_up_after_s = 60
at_once = 2
allow = ["10.1.0.0/16"]
"""
ENVIRON = {"HOOK": SECRET, "TOKEN": "Bearer confidential-token"}


def write(tmp_path: Path, text: str, name: str = "hooks.toml") -> Path:
    (tmp_path / "old").write_text(OLD + "\n")
    path = tmp_path / name
    path.write_text(text.format(folder=tmp_path))
    return path


def faults(tmp_path: Path, text: str, name: str = "hooks.toml") -> dict[str, str]:
    """What is wrong, by field."""
    with pytest.raises(FiretrialError) as caught:
        config.load(write(tmp_path, text, name), ENVIRON, KNOWN)
    assert caught.value.reason is Reason.INVALID
    assert SECRET[6:] not in str(caught.value)
    return {fault.field: str(fault) for fault in caught.value.faults}


def test_all_of_an_endpoint(tmp_path: Path) -> None:
    (lab,) = config.load(write(tmp_path, GOOD), ENVIRON, KNOWN)
    assert lab.consumer == "webhook-lab"
    assert lab.subjects == ("ft.evt.runner.v1.run_finished.*", "ft.evt.judge.v1.>")
    assert lab.secrets == (b"s" * 32, b"o" * 24)
    assert lab.headers == {"Authorization": "Bearer confidential-token", "X-Lab": "plain"}
    assert (lab.tenant, lab.timeout, lab.give_up_after, lab.at_once) == ("blue", 5, 60, 2)
    assert str(lab.allow[0]) == "10.1.0.0/16"
    assert logs.masked(f"x {SECRET} confidential-token Bearer confidential-token").count(SECRET) == 0


def test_the_same_as_yaml(tmp_path: Path) -> None:
    text = """
endpoint:
  - name: lab
    url: https://hooks.lab.example/
    events: ["*"]
    secrets: ["env:HOOK"]
"""
    (lab,) = config.load(write(tmp_path, text, "hooks.yaml"), ENVIRON, KNOWN)
    assert lab.subjects == ("ft.evt.>",)


def test_every_fault_is_told_at_once_and_no_secret_is(tmp_path: Path) -> None:
    bad = """
[[endpoint]]
name = "lab"
url = "http://hooks.lab.example/"
events = ["runner.run_finishd"]
secrets = ["env:NOWHERE", "{folder}"]
headers = {{ Host = "x", webhook-id = "y" }}
allow = ["10.0.0.0/8", "169.254.0.0/16", "0.0.0.0/0", "lab"]
[[endpoint]]
name = "lab"
url = "https://me:password@hooks.lab.example/"
events = ["*"]
secrets = ["file:/nowhere/at/all"]
"""
    found = faults(tmp_path, bad)
    assert set(found) == {
        "endpoint[0].url", "endpoint[0].events", "endpoint[0].secrets.0", "endpoint[0].secrets.1",
        "endpoint[0].headers.Host", "endpoint[0].headers.webhook-id", "endpoint[0].allow[1]",
        "endpoint[0].allow[2]", "endpoint[0].allow[3]", "endpoint[1].url",
        "endpoint[1].secrets.0", "endpoint.name",
    }  # fmt: skip
    assert "judge.run_judged" in found["endpoint[0].events"]
    assert "password" not in found["endpoint[1].url"]
    assert "env:NOWHERE" in found["endpoint[0].secrets.0"]


def test_a_secret_in_the_file_itself_is_refused_and_not_shown(tmp_path: Path) -> None:
    found = faults(tmp_path, GOOD.replace('"env:HOOK"', f'"{SECRET}"'))
    assert "does not stand in this file" in found["endpoint[0].secrets.0"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[[endpoint", "the file"),
        ("", "endpoint"),
        ("endpoint = []", "endpoint"),
        (GOOD + "colour = 1\n", "endpoint.0.colour"),
        (GOOD.replace('name = "lab"', 'name = "Lab!"'), "endpoint.0.name"),
        (GOOD.replace("at_once = 2", "at_once = 0"), "endpoint.0.at_once"),
        (GOOD.replace("events =", "event ="), "endpoint.0.events"),
    ],
)
def test_a_file_of_another_shape(tmp_path: Path, text: str, field: str) -> None:
    assert field in faults(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        config.load(tmp_path / "none.toml", {}, KNOWN)
    assert caught.value.reason is Reason.NOT_FOUND
