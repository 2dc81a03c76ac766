"""Rules of the house that no linter knows: what may import what inside a service, and where edges are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("parser", "runner", "judge", "analyzer")
TRANSPORT = {"grpc", "nats", "minio", "docker", "openai", "firetrial"}
# Modules that translate between the domain and the wire, or wire a service together. All others are domain.
# Modules that may import a transport, beside all whose names end in _wire or _rpcs.
ADAPTERS = {
    "parser": {
        "announcing", "archive", "by_kind", "handlers", "judge_rpc", "main", "papers",
        "publishing", "servicer", "submitting", "tasks", "wire",
    },
    "runner": {
        "announce", "docker", "docker_process", "experiments", "handlers", "intake", "main", "servicer",
        "wire",
    },
    "judge": {
        "archive", "by_kind", "calibrating", "follow_up", "grader", "handlers", "judging", "main", "sealing",
        "servicer", "wire",
    },
    "analyzer": {"announce", "handlers", "main", "servicer", "wire"},
}  # fmt: skip


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if "protos" not in path.parts)


def imported(path: Path) -> set[str]:
    """Top-level packages that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("service", SERVICES)
def test_the_domain_knows_no_transport(service: str) -> None:
    package = ROOT / "services" / service / "src" / f"firetrial_{service}"
    found = {path.stem for path in sources(package) if imported(path) & TRANSPORT}
    strange = {name for name in found - ADAPTERS[service] if not name.endswith(("_wire", "_rpcs"))}
    assert not strange


@pytest.mark.parametrize("service", SERVICES)
def test_main_only_wires(service: str) -> None:
    main = ROOT / "services" / service / "src" / f"firetrial_{service}" / "main.py"
    assert len(main.read_text().splitlines()) <= 60


def test_every_exception_is_caught_at_the_edges_only() -> None:
    found = {
        path.name
        for top in ("libs", "services")
        for path in sources(ROOT / top)
        if "except Exception" in path.read_text() or "except BaseException:\n        pass" in path.read_text()
    }
    assert found <= {"settle.py", "edge.py"}


def test_the_environment_is_read_where_programs_begin() -> None:
    begins = {"main.py", "cli.py", "cache_cli.py", "terminal.py", "doctor.py", "host.py", "buckets.py"}
    begins |= {"minio_users.py", "model_cli.py", "pools.py", "streams.py"}
    # What runs inside a sandbox or a job, where the environment is what it is told.
    begins |= {"llm_inference.py", "launch.py", "firetrial_step.py", "shim.py"}
    found = {
        path.name
        for top in ("services", "libs/kit")
        for path in sources(ROOT / top)
        if "os.environ" in path.read_text()
    }
    assert found <= begins


def test_no_file_grows_beyond_reading() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for top in ("libs", "services", "tests", "tools")
        for path in sources(ROOT / top)
        if (lines := len(path.read_text().splitlines())) > 600
    }
    assert long == {}
