"""Language models for experiments: `LLMInference(provider, model_name).batch_generate(prompts)`.

Calls go to the model gateway of this run, which knows the keys and counts against the run's budget, so no
key is needed here. Needs Python's standard library only.
"""

from __future__ import annotations

import json
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Prompt = str | list[dict[str, Any]]

_TRIES = 4
_PASSING = (429, 500, 502, 503, 504, 529)
_ANTHROPIC_TOKENS = 4096


class LLMInferenceError(RuntimeError):
    """A call that was refused or failed; `status` is the HTTP status, 0 where there was none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class LLMInference:
    """One model. `provider` is "openai" or "anthropic"; left out, the model's name tells.

    `api_key` is taken for the sake of older code and not used.
    """

    def __init__(
        self,
        provider: str | None = None,
        model_name: str | None = None,
        api_key: str | None = None,  # noqa: ARG002 -- see above
        **options: Any,
    ) -> None:
        self.model_name = model_name or os.environ.get("FIRETRIAL_MODEL", "")
        if not self.model_name:
            raise LLMInferenceError("model_name must name a model")
        told = str(provider or "").lower()
        claude = self.model_name.startswith("claude")
        self.provider = "anthropic" if told == "anthropic" or (not told and claude) else "openai"
        self.options = options

    def generate(
        self,
        prompt: Prompt,
        system_prompt: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **options: Any,
    ) -> str:
        """The model's answer to `prompt`: a text, or a list of messages with "role" and "content".

        Raises LLMInferenceError.
        """
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        body: dict[str, Any] = {"model": self.model_name, **self.options, **options}
        if temperature is not None:
            body["temperature"] = temperature
        ask = self._anthropic if self.provider == "anthropic" else self._openai
        return ask(body, messages, system_prompt, max_tokens)

    def batch_generate(self, prompts: Iterable[Prompt], max_workers: int = 16, **options: Any) -> list[str]:
        """The answers to `prompts`, in their order, several asked for at a time.

        Raises the first LLMInferenceError, once no call is under way any more.
        """
        with ThreadPoolExecutor(max(1, max_workers)) as pool:
            calls = [pool.submit(self.generate, prompt, **options) for prompt in prompts]
            try:
                return [call.result() for call in calls]
            except LLMInferenceError:
                for call in calls:
                    call.cancel()
                raise

    def _openai(
        self, body: dict[str, Any], messages: list[dict[str, Any]], system: str | None, max_tokens: int | None
    ) -> str:
        if system:
            messages = [{"role": "system", "content": system}, *messages]
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        base, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY", "")
        headers = {"authorization": f"Bearer {key}"}
        answer = _post(base, "/chat/completions", headers, {**body, "messages": messages})
        return str(answer["choices"][0]["message"].get("content") or "")

    def _anthropic(
        self, body: dict[str, Any], messages: list[dict[str, Any]], system: str | None, max_tokens: int | None
    ) -> str:
        said = [message for message in messages if message["role"] != "system"]
        systems = [message["content"] for message in messages if message["role"] == "system"]
        system = "\n\n".join([*([system] if system else []), *systems])
        body |= {"messages": said, "max_tokens": max_tokens or _ANTHROPIC_TOKENS}
        if system:
            body["system"] = system
        base, key = os.environ.get("ANTHROPIC_BASE_URL"), os.environ.get("ANTHROPIC_API_KEY", "")
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        answer = _post(base, "/v1/messages", headers, body)
        return "".join(part.get("text", "") for part in answer["content"])


def _post(base: str | None, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Any:
    if not base:
        raise LLMInferenceError("this run has no model gateway: the plan or the runner gives it no models")
    data = json.dumps(body).encode()
    for attempt in range(1, _TRIES + 1):
        every = {**headers, "content-type": "application/json"}
        request = urllib.request.Request(base + path, data, every)  # noqa: S310 -- the gateway's own address
        try:
            with urllib.request.urlopen(request, timeout=900) as answer:  # noqa: S310 -- as above
                return json.load(answer)
        except urllib.error.HTTPError as error:
            told = error.read(4096).decode(errors="replace")
            final = error.headers.get("x-should-retry") == "false" or error.code not in _PASSING
            fault = LLMInferenceError(f"{error.code}: {told}", error.code)
        except (OSError, ValueError) as error:
            final, fault = False, LLMInferenceError(f"no answer: {error}")
        if final or attempt == _TRIES:
            raise fault
        time.sleep(2**attempt * random.uniform(0.25, 0.5))  # noqa: S311 -- spreads callers out
    raise AssertionError
