"""What a request may come to."""

from __future__ import annotations

import json
from typing import Any

from firetrial_runner.gateway import content
from firetrial_runner.gateway.exchange import Ends, shortened
from firetrial_runner.gateway.upstream import Feature


def estimate(body: dict[str, Any]) -> int:
    return content.estimate(body, json.dumps(body).encode())


def test_text_counts_by_its_bytes_and_files_by_the_piece() -> None:
    assert estimate({"messages": "x" * 1000}) > 500
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    assert 4096 < estimate({"messages": [{"content": [image]}]}) < 4300
    source = {"type": "base64", "media_type": "application/pdf", "data": "A" * 1_000_000}
    assert 15_000 < estimate({"messages": [{"content": [{"type": "document", "source": source}]}]}) < 17_000
    said = {"role": "user", "content": "is base64 a cipher? " * 100}
    assert estimate({"messages": [said]}) > 1000


def test_what_leads_out_is_found_however_deep() -> None:
    result = {
        "type": "tool_result",
        "content": [{"type": "image", "source": {"type": "url", "url": "http://x"}}],
    }
    messages = [{"role": "user", "content": [result, {"type": "input_image", "image_url": "https://x"}]}]
    assert list(content.remote(messages, "messages")) == [
        (Feature.REMOTE_CONTENT, "messages[0].content[0].content[0].source"),
        (Feature.REMOTE_CONTENT, "messages[0].content[1].image_url"),
    ]
    data = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}, "http://in.text"]
    assert list(content.remote(data, "messages")) == []


def test_long_bodies_keep_their_ends_and_the_size_of_the_rest() -> None:
    text = "a" * 10_000 + "b" * 10_000
    kept = shortened(text)
    assert kept == "a" * 8192 + "…[3616 characters left out]…" + "b" * 8192
    ends = Ends()
    for character in text:
        ends.add(character)
    assert str(ends) == kept
    assert shortened("short") == "short"
