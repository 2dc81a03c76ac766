#!/bin/sh
# Claude Code reads its question from standard input. A tool that is not on its list is denied without a
# word, and what would let it use all is refused to root, so the list is written out.
set -eu
# The gateway waits for models that are busy, so that trying again here only wastes the run's time.
export CLAUDE_CODE_MAX_RETRIES=2
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1
PATH="/opt/claude-code/bin:$PATH"
export PATH
cat instruction.txt /agent/ending.txt > "$HOME/question.txt"
exec claude -p --output-format stream-json --verbose --model "$FIRETRIAL_MODEL" \
  --allowedTools Bash BashOutput Edit Glob Grep KillShell MultiEdit NotebookEdit Read TodoWrite Write \
  --disallowedTools WebFetch WebSearch < "$HOME/question.txt"
