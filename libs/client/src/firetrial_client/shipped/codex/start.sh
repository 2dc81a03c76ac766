#!/bin/sh
# Codex reads its question from standard input and its settings from a home of its own, which must not lie
# below the temporary directory: there its tool fails and says nothing. The sandbox is the run's own, so
# Codex needs none.
set -eu
mkdir -p "$HOME/.codex"
cat > "$HOME/.codex/config.toml" <<SETTINGS
model_provider = "gateway"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.gateway]
name = "gateway"
base_url = "$OPENAI_BASE_URL"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
# The gateway waits for models that are busy.
request_max_retries = 2
stream_max_retries = 2

[analytics]
enabled = false

# What its commands run may call models too; the key is the run's own, and dies with it.
[shell_environment_policy]
inherit = "all"
ignore_default_excludes = true
SETTINGS
PATH="/opt/codex/bin:$PATH"
export PATH
cat instruction.txt /agent/ending.txt > "$HOME/question.txt"
exec codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \
  --model "$FIRETRIAL_MODEL" - < "$HOME/question.txt"
