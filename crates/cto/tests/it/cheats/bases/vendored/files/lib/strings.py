"""Small text helpers for titles and addresses."""


def slugify(text):
    """Turn a title into the last part of a web address."""
    return text.lower().replace(" ", "-")
