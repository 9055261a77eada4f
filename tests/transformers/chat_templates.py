"""Chat templates in the style of models' own, and templates of single features; the conversations that they render."""

import pathlib

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a place.",
            "parameters": {
                "type": "object",
                "required": ["place"],
                "properties": {
                    "place": {"type": "string", "description": "A city"},
                    "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
                    "days": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    }
]
CALL = {"type": "function", "function": {"name": "get_weather", "arguments": {"place": "Zürich", "days": 2, "x": 1.5}}}

CONVERSATIONS = [
    [{"role": "user", "content": "Hello!"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}],
    [
        {"role": "system", "content": "  spaces \n"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "<think>hm</think>\n\nHello <b>&you</b>"},
        {"role": "user", "content": "Bye\n"},
    ],
    [
        {"role": "user", "content": "東京 🙂 \"quoted\" 'single' \\ \t tab"},
        {"role": "assistant", "content": " Ünï "},
        {"role": "user", "content": ""},
    ],
    [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL, CALL]},
        {"role": "tool", "name": "get_weather", "content": '{"t": 20}'},
        {"role": "assistant", "content": "It is 20."},
    ],
    [
        {
            "role": "user",
            "content": [{"type": "text", "text": "part one"}, {"type": "image"}, {"type": "text", "text": "part two"}],
        }
    ],
]

FOLDER = pathlib.Path(__file__).resolve().parent / "chat_templates"
# Whole templates: the formats of models' families.
MODELS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.jinja"))}
# Templates of single features.
FEATURES = (FOLDER / "features.txt").read_text(encoding="utf-8").split("\n=====\n")
