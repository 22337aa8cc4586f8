"""Texts that others wrote (documents, titles, names, web pages, earlier conversation), put into prompts as data. Pure.

`quoted` for a text on one line, `fenced` for a block with lines of ours. Neither can be ended by what stands inside; both
are the same for the same text, so prompts can be cached and compared. Whatever tells a model such text uses one of them,
and its prompt says that what stands so is data.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

_TURN = re.compile(
    r"<(?=[|｜][\w▁ ]{1,40}[|｜]>|/?(?:s|bos|eos|start_of_turn|end_of_turn)>|</?SYS>>)"
    r"|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\])"
)
"""Where a word begins that servers may take for the end of a message when they fill in a model's template: <|im_end|>,
<end_of_turn>, </s>, [INST], <<SYS>>, <｜User｜>."""
_HIDDEN: Final = dict.fromkeys([*range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0), *range(0x202A, 0x202F),
                                *range(0x2066, 0x206A)])  # fmt: skip
"""Characters that people do not see and models read: Unicode tags, supplementary variation selectors, and those that turn
the direction of a line."""
_ESCAPES: Final = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""Line ends that JSON allows inside a string."""
_LINE_ENDS: Final = dict.fromkeys(_ESCAPES, "\n")


def quoted(text: str, most: int | None = None) -> str:
    """As a JSON string: on one line, and no text can end its own string. Cut after `most` characters."""
    return as_json(text if most is None or len(text) <= most else f"{text[:most]}…")


def as_json(value: Any) -> str:
    """Any value as JSON on one line, its texts as `quoted` shows them."""
    plain = json.dumps(value, ensure_ascii=False, default=str).translate(_HIDDEN).translate(_ESCAPES)
    return _TURN.sub(_escaped, plain)


def fenced(text: str) -> str:
    """Between <data-...> and </data-...>, whose name is made of the text and does not stand in it."""
    shown = _TURN.sub(r"\g<0> ", text.translate(_HIDDEN).translate(_LINE_ENDS))
    name = _name_not_in(shown)
    return f"<{name}>\n{shown}\n</{name}>"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _name_not_in(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    name, held = f"data-{digest[:8]}", text.casefold()
    while name in held:
        digest = hashlib.sha256(digest.encode()).hexdigest()
        name = f"data-{digest[:8]}"
    return name
