# `make help` lists what can be done here. Nothing needs root or Docker unless it says so.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DISTS := libs/protos libs/kit libs/client libs/operate services/parser services/runner services/judge services/analyzer
SOURCES := $(addsuffix /src,libs/kit libs/client libs/operate $(filter services/%,$(DISTS)))

.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- set-up ----
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Firetrial needs Python 3.11 or newer; set PYTHON=… to one (found: $$($(PYTHON) --version))"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "Install your system's python3-venv package, then try again."; exit 1; }

.venv/.run: requirements.lock $(addsuffix /pyproject.toml,$(DISTS)) tools/locked.py | .venv/bin/python
	@echo "installing into .venv …"
	@$(BIN)/python tools/locked.py pyproject.toml:build $(addprefix firetrial-,$(notdir $(DISTS))) > .venv/run.txt
	@$(PIP) --require-hashes -r .venv/run.txt
	@$(PIP) --no-build-isolation $(addprefix -e ,$(DISTS))
	@touch $@

.venv/.dev: .venv/.run
	@$(BIN)/python tools/locked.py pyproject.toml:dev > .venv/dev.txt
	@$(PIP) --require-hashes -r .venv/dev.txt
	@touch $@

setup: .venv/.dev  ## make .venv with everything, tools for developers included

# ---- contracts ----
STUBS := libs/protos/src
proto: .venv/.dev  ## regenerate the stubs from proto/
	@rm -rf build/stubs && mkdir -p build/stubs
	@$(BIN)/python -m grpc_tools.protoc -I proto --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy \
	  --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc --python_out=build/stubs --grpc_python_out=build/stubs \
	  --mypy_out=quiet:build/stubs --mypy_grpc_out=quiet:build/stubs $$(cd proto && find firetrial -name '*.proto' | sort)
	@cp -r build/stubs/. $(STUBS)/
	@cd $(STUBS) && find firetrial -name '*_pb2*' | while read stub; do [ -e $(CURDIR)/build/stubs/$$stub ] || rm $$stub; done

proto-check: proto  ## lint the contracts and prove that the stubs are theirs
	@$(BIN)/buf lint proto
	@git diff --exit-code -- $(STUBS) && test -z "$$(git ls-files --others --exclude-standard -- $(STUBS))" || \
	  { echo "the committed stubs differ from proto/: run make proto and commit"; exit 1; }

proto-breaking: .venv/.dev  ## prove that nothing breaks for those who use the released contracts and events
	@$(BIN)/python tools/breaking.py

proto-release: .venv/.dev  ## release the contracts as they are: what N-1 means from now on (docs/compatibility.md)
	@$(BIN)/python tools/breaking.py --release

asyncapi: .venv/.dev  ## make docs/asyncapi.yaml, the event catalogue, from the contracts and the services
	@$(BIN)/python tools/asyncapi.py

asyncapi-check: .venv/.dev  ## the committed event catalogue is what the code says
	@$(BIN)/python tools/asyncapi.py --check

metrics-table: .venv/.dev  ## make the table in docs/metrics.md from the code
	@$(BIN)/python tools/metrics_table.py

DASHBOARDS := PYTHONPATH=tools $(BIN)/python -m dashboards
dashboards: .venv/.dev  ## make deploy/grafana/dashboards from tools/dashboards
	@$(DASHBOARDS)

dashboards-check: .venv/.dev  ## the committed dashboards are what the code says
	@$(DASHBOARDS) --check

dashboards-preview: .venv/.dev  ## pictures of the dashboards over PROMETHEUS=http://… by Grafana's components (npm, 600 MB once; Chromium)
	@$(DASHBOARDS).preview $(PROMETHEUS) --out build/dashboards

kubernetes-alerts: .venv/.dev  ## make the alerts of deploy/kubernetes from deploy/prometheus/rules
	@$(BIN)/python tools/kubernetes_alerts.py

kubernetes-check: .venv/.dev  ## render deploy/kubernetes (OVERLAY=…: a folder of yours) and say what is wrong with it (kubectl or npm; npm)
	@$(BIN)/python tools/kubernetes_check.py $(OVERLAY)

lock:  ## resolve what changed into requirements.lock (UPGRADE=--upgrade: everything anew)
	@$(BIN)/uv pip compile --quiet pyproject.toml --group build --group dev $(addsuffix /pyproject.toml,$(DISTS)) \
	  --extra local --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	  --no-emit-package firetrial-kit --no-emit-package firetrial-protos $(UPGRADE) -o requirements.lock

# ---- use ----
demo: .venv/.run  ## run the whole path on the study that ships with the project, and show the report
	@FIRETRIAL_HOME=$(CURDIR)/.firetrial $(BIN)/firetrial demo --out build/demo

# ---- images ----
# BASE=… builds on another image with Python and its venv module; DOCKER_BUILD=… are options for each build,
# such as --network host, --pull or --build-arg HTTPS_PROXY.
IMAGES := $(addprefix services/,parser runner judge analyzer) libs/operate
TAG ?=
BASE ?=
DOCKER_BUILD ?=
images:  ## build the images of the four services and of operators, firetrial-<name>:TAG (Docker; BASE=…, DOCKER_BUILD=…, TAG=latest)
	@for part in $(IMAGES); do \
	  docker build $(DOCKER_BUILD) $(if $(BASE),--build-arg BASE=$(BASE)) -f $$part/Dockerfile \
	    -t firetrial-$${part#*/}:$(or $(TAG),latest) . || exit 1; done

# ---- a deployment on this machine: deploy/compose, docs/deploy.md ----
DOCKER_COMPOSE ?= docker compose
COMPOSE = OWNER=$$(id -u):$$(id -g) $(if $(TAG),TAG=$(TAG)) $(DOCKER_COMPOSE) --project-directory deploy/compose
up:  ## start everything on this machine with Docker Compose (after make images); the first time makes the secrets
	@$(COMPOSE) config --images | sort -u | grep -v -e '^firetrial-' -e '@sha256:' | \
	  sed 's/^/held to no digest (make pins): /' >&2
	@$(COMPOSE) up -d --wait
	@echo "export FIRETRIAL_ENDPOINT=localhost:8443 FIRETRIAL_TLS_CA=$(CURDIR)/deploy/compose/secrets/client/ca.pem" \
	  "FIRETRIAL_TOKEN_FILE=$(CURDIR)/deploy/compose/secrets/client/token"

down:  ## stop it; what it knows stays, but with VOLUMES=1
	@$(COMPOSE) --profile '*' down $(if $(VOLUMES),--volumes)

logs:  ## what it says (ONLY="runner judge": these)
	@$(COMPOSE) logs --follow --tail 100 $(ONLY)

admin:  ## firetrial admin $(ARGS), as the operator, with what runs: ARGS="dead list"
	@$(COMPOSE) run --rm operate firetrial admin $(ARGS)

pins:  ## print the lines for deploy/compose/.env that hold each upstream image to the digest that its tag has today
	@cd deploy/compose && cat .env.example .env 2>/dev/null | sed -n 's/^#\?\([A-Z]*_IMAGE\)=\([^@]*\).*/\1 \2/p' | tac | \
	  awk '!had[$$1]++' | while read -r name image; do \
	    digest=$$(docker buildx imagetools inspect "$$image" --format '{{.Manifest.Digest}}') || exit 1; \
	    echo "$$name=$$image@$$digest"; done

# ---- tests and checks ----
test: .venv/.dev  ## run all tests: benches alone, in their short form, then the others in two processes
	@$(BIN)/pytest -q tests/bench
	@$(BIN)/pytest -q -n 2 --dist loadfile --ignore tests/bench

ENGINE := $(BIN)/python tests/support/docker_engine.py
test-docker: .venv/.dev  ## the sandbox suites on a Docker engine that is started for them (root, dockerd, debootstrap)
	@$(ENGINE) $(BIN)/pytest tests/contract/test_sandbox.py tests/contract/test_sandbox_gateway.py tests/integration -k "sandbox or docker"

test-images: .venv/.dev  ## build the services' images on a base of Debian's, start each, ask for its health (as test-docker)
	@$(ENGINE) --builder $(SHELL) -ec 'make images BASE=$$FIRETRIAL_TEST_BUILDER DOCKER_BUILD="--network host -q"; \
	  FIRETRIAL_TEST_IMAGES=$(or $(TAG),latest) FIRETRIAL_REQUIRE=docker,images $(BIN)/pytest tests/integration/test_images.py'

test-slurm: .venv/.dev  ## pilots and jobs of single runs on a real Slurm of one node, which the tests start (root, slurm-wlm, munge)
	@FIRETRIAL_BENCH=full FIRETRIAL_REQUIRE=munged,slurmctld,slurmd,sbatch,openssl $(BIN)/pytest tests/integration/test_slurm_pilots.py \
	  tests/integration/test_slurm_jobs.py tests/integration/test_slurm_runs.py tests/integration/test_slurm_contract.py -s
	@FIRETRIAL_BENCH=full FIRETRIAL_REQUIRE=bwrap $(BIN)/pytest tests/integration/test_escapes.py tests/integration/test_sandbox_isolation.py -k job

test-compose: .venv/.dev  ## the same, and then all of deploy/compose on them, through an experiment (as test-docker; 10 min)
	@$(ENGINE) --builder $(SHELL) -ec 'make images BASE=$$FIRETRIAL_TEST_BUILDER DOCKER_BUILD="--network host -q"; \
	  FIRETRIAL_TEST_IMAGES=$(or $(TAG),latest) FIRETRIAL_REQUIRE=docker,images,compose $(BIN)/pytest -s tests/integration/test_images.py \
	  tests/integration/test_deploy_stack.py'

test-openhands: .venv/.dev  ## the real OpenHands, built by its recipe (as test-docker; FIRETRIAL_TEST_PYTHON: a Python 3.12; 250 MB)
	@$(ENGINE) --builder $(SHELL) -ec '$(BIN)/firetrial programs recipe openhands --base $$FIRETRIAL_TEST_BUILDER | \
	  docker build -q --network host -t firetrial-openhands -f - services/runner/src/firetrial_runner/programs/locks/openhands; \
	  FIRETRIAL_TEST_OPENHANDS_IMAGE=firetrial-openhands FIRETRIAL_REQUIRE=docker,openhands $(BIN)/pytest tests/integration/test_openhands.py'

test-agents: .venv/.dev  ## the agents that ship, the real Codex, Claude Code and opencode from npm among them (840 MB, kept in ~/.cache/firetrial)
	@FIRETRIAL_REQUIRE=npm,bwrap $(BIN)/pytest tests/integration/test_programs.py tests/integration/test_shipped_agents.py

test-dashboards: .venv/.dev  ## each panel over a system that worked, drawn by Grafana's components (npm, 600 MB once): build/dashboards
	@FIRETRIAL_BENCH=full FIRETRIAL_REQUIRE=npm,chromium,prometheus $(BIN)/pytest tests/integration/test_prometheus.py

test-alerts: .venv/.dev  ## each alert over a real fault, and the runbook's command that ends it (8 min)
	@FIRETRIAL_BENCH=full FIRETRIAL_REQUIRE=prometheus,bwrap $(BIN)/pytest tests/integration/test_alerts.py

bench-judge: .venv/.dev  ## judge 360 runs against a scripted model, beside RAGChecker (FIRETRIAL_RAGCHECKER_PYTHON) or its call pattern
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/bench/test_judge_throughput.py -s

bench-gateway: .venv/.dev  ## what the model gateway adds to a call, and how many it passes on
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/bench/test_gateway_overhead.py -s

bench-trajectory: .venv/.dev  ## an agent writes 1 GiB in 350,000 lines: memory of the runner, time to open any page
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/bench/test_trajectory_scale.py -s

sealed-grader: .venv/.dev  ## attempts on the grader of repository tasks, each as a run of its own; a runner killed in a test
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/integration/test_sealed_grader.py tests/integration/test_repository_runs.py tests/e2e/test_repository.py tests/e2e/test_improving.py

bench-leaks: .venv/.dev  ## what the 30 official instructions give away of their ground truths; planted leaks, clean parts
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/bench/test_leak_official.py tests/integration/test_leak_check.py -s

bench-report: .venv/.dev  ## report on 100,000 judged runs: time, memory, an update by one run
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/bench/test_report_scale.py -s

chaos: .venv/.dev  ## 1,000 runs while runners, agents and sandboxes are killed: each ends once, nothing is left or paid twice
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/e2e/test_chaos.py -s

operating: .venv/.dev  ## an operator at work on four services with S3: drain, lost state, deletion, backup, restore
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/integration/test_admin_system.py -s

scaling: .venv/.dev  ## runners 0 → 4 → 1 → 0 → 4 → 0 under 200 runs; what 1, 2 and 8 of them do in a second
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/e2e/test_scaling.py -s

versions: .venv/.dev  ## N-1 stubs and fields of the future against the services; restarts in all 24 orders (10 min)
	@FIRETRIAL_BENCH=full $(BIN)/pytest tests/e2e/test_versions.py

LOCAL_MODEL := $(BIN)/python tools/local_model.py
PAIRS ?= tests/unit/judge/data/findings_held_out.jsonl
local-judge: .venv/.run  ## opt-in: a small model judges labelled pairs (PAIRS=…; fetches 1.1 GB once, builds 10 min, 1 s a pair)
	@$(LOCAL_MODEL) install
	@$(LOCAL_MODEL) probe $(PAIRS)

local-pipeline: .venv/.run  ## opt-in: the whole path with a small model that really generates (as local-judge; minutes)
	@$(LOCAL_MODEL) install
	@$(LOCAL_MODEL) run $(BIN)/python tools/local_pipeline.py build/local-pipeline

lint: .venv/.dev  ## style, and how files are formatted
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: .venv/.dev  ## mypy, strict
	@$(BIN)/mypy $(SOURCES) tests tools

imports: .venv/.dev  ## who may import whom
	@$(BIN)/lint-imports

lock-check: .venv/.dev  ## the lock is hashed, names no host, and covers what the distributions ask for
	@$(BIN)/python tools/check_lock.py

isolated: .venv/.dev  ## each service alone: its own environment imports, passes its unit tests, lacks the others' packages
	@$(MAKE) --no-print-directory --jobs 2 --output-sync $(addprefix isolated-,analyzer judge runner parser)

isolated-%:
	@$(BIN)/python tools/isolated.py $*

check: lint types imports proto-check proto-breaking asyncapi-check dashboards-check lock-check demo isolated test  ## everything that CI runs, in CI's order

clean:  ## remove what was built and what was run (.venv stays)
	@rm -rf build .firetrial .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.PHONY: help setup proto proto-check proto-breaking proto-release asyncapi asyncapi-check metrics-table dashboards dashboards-check dashboards-preview kubernetes-alerts kubernetes-check lock demo images up down logs admin pins test test-docker test-images test-compose test-openhands test-slurm test-alerts test-dashboards test-agents bench-gateway bench-judge bench-leaks bench-report bench-trajectory chaos sealed-grader versions local-judge lint types imports lock-check isolated check clean
