"""Other people's text, made safe to print: nothing in it moves a cursor, ends an XML document or turns the direction of what follows."""

from __future__ import annotations

import re

# What XML cannot hold, what moves a terminal's cursor, and what turns the direction of the text around it.
NOT_TEXT = re.compile("[^\t\n\\x20-\\x7e\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(text: str) -> str:
    return NOT_TEXT.sub("\ufffd", text)
