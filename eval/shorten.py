"""Shortens session files so that they can be kept here: images and long tool results lose their middle, line by line.

    python3 eval/shorten.py FROM TO

Every line stays where it was, so that the labels' line numbers hold. What people and agents said is never touched.
"""

import json
import sys

LONGEST = 3000


def shorten(value, in_tool=False):
    if isinstance(value, dict):
        tool = in_tool or value.get("type") in ("tool_result", "image", "base64") or "toolUseResult" in value
        return {
            key: shorten(item, tool or key in ("toolUseResult", "originalFile", "snapshot", "structuredPatch"))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [shorten(item, in_tool) for item in value]
    if isinstance(value, str) and in_tool and len(value) > LONGEST:
        return value[: LONGEST // 2] + "\n[shortened]\n" + value[-LONGEST // 2 :]
    return value


def main():
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for line in lines:
            try:
                out.write(json.dumps(shorten(json.loads(line)), ensure_ascii=False, separators=(",", ":")) + "\n")
            except ValueError:
                out.write(line)


if __name__ == "__main__":
    main()
