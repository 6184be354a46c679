"""Writes rendered.json: what transformers' apply_chat_template() makes of the conversations below by each template of
templates/. Their structure is that of published ones, family by family; the texts are ours.
Run: python3 make_rendered.py (needs transformers; 5.24.0 made it)."""

import json
import pathlib

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": 'Says "how it is" & where <now>, é 🙂',
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "its name", "enum": ["Oslo", "Bern"]},
                    "days": {"type": ["integer", "null"], "default": 3},
                    "points": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
                    "exact": {"type": "boolean", "default": True, "minimum": 1.5e-07},
                },
                "required": ["city"],
            },
            "return": {"type": "string"},
        },
    }
]


def turns(*pairs):
    return [{"role": role, "content": content} for role, content in pairs]


CALL = {"id": "abcdef123", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo", "days": 2}}}
CONVERSATIONS = {
    "question": turns(("user", "Hi <|im_end|> there, ü 🙂")),
    "system": turns(("system", "  Be brief.\n"), ("user", "a\nb "), ("assistant", " yes\n"), ("user", "\tc")),
    "thoughts": turns(("user", "q1"), ("assistant", "<think>\nhm\n</think>\n\na1"), ("user", "q2"), ("assistant", "a2"), ("user", "q3")),
    "answered": turns(("user", "q1"), ("assistant", "<think>\nwell\n</think>\n\na1")),
    "out of turn": turns(("user", "one"), ("user", "two")),
    "parts": [{"role": "user", "content": [{"type": "text", "text": " hello "}]}],
    "empty": turns(("user", "")),
    "call": turns(("user", "How is Oslo?"))
    + [{"role": "assistant", "content": "", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "abcdef123", "name": "weather", "content": '{"t": 3}'}]
    + turns(("assistant", "3 degrees."), ("user", "Thanks.")),
}
SETTINGS = [{}, {"enable_thinking": False}, {"date_string": "1 Jan 2026", "controls": {"length": "short"}}]


def render(template, conversation, tools, generation, settings):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = template
    try:
        return tokenizer.apply_chat_template(conversation, tools=tools, tokenize=False, add_generation_prompt=generation, **settings)
    except Exception:  # what the template raises, and what Python has no operation for
        return None


cases = []
for path in sorted((HERE / "templates").glob("*.jinja")):
    for name, conversation in CONVERSATIONS.items():
        for tools in [False, True] if name in ("question", "call") else [False]:
            for generation in (True, False):
                for i, settings in enumerate(SETTINGS if name == "thoughts" else SETTINGS[:1]):
                    text = render(path.read_text(), conversation, TOOLS if tools else None, generation, settings)
                    cases.append([path.stem, name, tools, generation, i, text])
lines = ",\n  ".join(json.dumps(case, ensure_ascii=False) for case in cases)
head = json.dumps({"tools": TOOLS, "conversations": CONVERSATIONS, "settings": SETTINGS}, ensure_ascii=False)
(HERE / "rendered.json").write_text(head[:-1] + ',\n "cases": [\n  ' + lines + "\n]}\n")
print(len(cases), "cases,", sum(case[-1] is None for case in cases), "refused")
