#!/bin/sh
# opencode reads its question from standard input and its settings from a home of its own.
set -eu
export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1
mkdir -p "$HOME/.config/opencode"
cat > "$HOME/.config/opencode/opencode.json" <<SETTINGS
{
  "provider": {
    "gateway": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "gateway",
      "options": {"baseURL": "{env:OPENAI_BASE_URL}", "apiKey": "{env:OPENAI_API_KEY}"},
      "models": {"$FIRETRIAL_MODEL": {}}
    }
  },
  "agent": {"title": {"disable": true}},
  "permission": {"bash": "allow", "edit": "allow", "webfetch": "deny"},
  "share": "disabled",
  "autoupdate": false
}
SETTINGS
PATH="/opt/opencode/bin:$PATH"
export PATH
cat instruction.txt /agent/ending.txt > "$HOME/question.txt"
exec opencode run --format json --model "gateway/$FIRETRIAL_MODEL" < "$HOME/question.txt"
