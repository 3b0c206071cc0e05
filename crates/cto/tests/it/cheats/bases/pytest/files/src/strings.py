"""Small text helpers for titles and addresses."""


def slugify(text):
    """Turn a title into the last part of a web address."""
    return text.lower().replace(" ", "-")


def truncate(text, length):
    """Shorten text to at most length characters, the last of them an ellipsis where something was cut."""
    if len(text) <= length:
        return text
    return text[: length - 1].rstrip() + "\u2026"
