"""A model file behind the part of OpenAI's API that Firetrial speaks; runs in the model's own environment.

    python tools/local_model_server.py MODEL.gguf NAME PORT

llama_cpp's own server would do but for two things: it takes a JSON schema under another name than the API's,
and for the probabilities of one token it computes those of the whole prompt, which takes seconds. Requests
are answered one by one; what a prompt has in common with the last one is not read again.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

_CONTEXT = 8192  # tokens
_LONGEST = 2048  # tokens of one answer: a small model may never find its end

# These are in the model's own environment.
llama_cpp = import_module("llama_cpp")
chat_format = import_module("llama_cpp.llama_chat_format")
np = import_module("numpy")
starlette = import_module("starlette.applications")
responses = import_module("starlette.responses")
routing = import_module("starlette.routing")
uvicorn = import_module("uvicorn")


class Model:
    """One model in memory; one question at a time."""

    def __init__(self, path: str, name: str) -> None:
        cores = os.cpu_count() or 1
        self._llama = llama_cpp.Llama(
            path, n_ctx=_CONTEXT, n_threads=cores, n_threads_batch=cores, verbose=False
        )
        self._name = name
        self._turn = threading.Lock()
        template = self._llama.metadata["tokenizer.chat_template"]
        self._written = chat_format.Jinja2ChatFormatter(template, "<|im_end|>", "")

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A chat completion."""
        with self._turn:
            if body.get("logprobs") and body.get("max_tokens") == 1:
                return self._first_token(body)
            completion: dict[str, Any] = self._llama.create_chat_completion(
                messages=body["messages"],
                temperature=body.get("temperature", 0.0),
                max_tokens=min(int(body.get("max_tokens") or _LONGEST), _LONGEST),
                response_format=_form(body.get("response_format")),
            )
            return completion

    def _first_token(self, body: Mapping[str, Any]) -> dict[str, Any]:
        tokens = self._llama.tokenize(
            self._written(messages=body["messages"]).prompt.encode(), add_bos=False, special=True
        )
        known = min(self._llama.longest_token_prefix(self._llama.input_ids, tokens), self._llama.n_tokens)
        self._llama.n_tokens = min(known, len(tokens) - 1)  # the last one is read again, for what follows it
        self._llama.eval(tokens[self._llama.n_tokens :])
        top = self._likeliest(int(body.get("top_logprobs") or 1))
        return {
            "object": "chat.completion",
            "model": self._name,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "length",
                    "message": {"role": "assistant", "content": top[0]["token"]},
                    "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
                }
            ],
            "usage": {
                "prompt_tokens": len(tokens),
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": min(known, len(tokens) - 1)},
            },
        }

    def _likeliest(self, many: int) -> list[dict[str, Any]]:
        pointer = llama_cpp.llama_get_logits_ith(self._llama._ctx.ctx, -1)  # noqa: SLF001 - there is no other way
        logits = np.ctypeslib.as_array(pointer, shape=(self._llama.n_vocab(),)).astype("float64")
        told = logits - logits.max()
        told -= np.log(np.exp(told).sum())
        return [
            {
                "token": self._llama.detokenize([int(i)]).decode("utf-8", "replace"),
                "logprob": min(float(told[i]), 0.0),
            }
            for i in np.argsort(-told)[:many]
        ]


def _form(asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The form of an answer as llama_cpp calls it."""
    match (asked or {}).get("type"):
        case "json_schema":
            return {"type": "json_object", "schema": (asked or {})["json_schema"]["schema"]}
        case "json_object":
            return {"type": "json_object"}
        case _:
            return None


def app(model: Model, name: str) -> Any:
    """The two addresses that are asked."""

    async def models(_: Any) -> Any:
        return responses.JSONResponse({"object": "list", "data": [{"id": name, "object": "model"}]})

    async def completions(request: Any) -> Any:
        body = await request.json()
        try:
            return responses.JSONResponse(await asyncio.to_thread(model.answer, body))
        except (KeyError, TypeError, ValueError) as error:  # too long a prompt is a ValueError, too
            return responses.JSONResponse({"error": {"message": str(error)}}, status_code=400)

    routes = [
        routing.Route("/v1/models", models),
        routing.Route("/v1/chat/completions", completions, methods=["POST"]),
    ]
    return starlette.Starlette(routes=routes)


if __name__ == "__main__":
    file, alias, port = sys.argv[1:]
    uvicorn.run(app(Model(file, alias), alias), host="127.0.0.1", port=int(port), log_level="warning")
