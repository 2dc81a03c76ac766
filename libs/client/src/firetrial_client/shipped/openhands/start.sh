#!/bin/sh
# OpenHands takes its model from the environment where it is told to, and its question as an argument: a file
# would be quoted to the model as a file. Its events leave at once, so that a killed run keeps them; its shell's
# output is without the codes of a terminal.
set -eu
export LLM_BASE_URL="$OPENAI_BASE_URL" LLM_API_KEY="$OPENAI_API_KEY" LLM_MODEL="openai/$FIRETRIAL_MODEL"
export LITELLM_LOCAL_MODEL_COST_MAP=True OPENHANDS_SUPPRESS_BANNER=1 PYTHONUNBUFFERED=1
printf 'set enable-bracketed-paste off\n' > "$HOME/.inputrc"
question="$(cat instruction.txt /agent/ending.txt)"
exec /opt/openhands/bin/openhands --headless --json --override-with-envs --task "$question"
