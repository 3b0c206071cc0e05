"""Titles to slugs."""

import re
import unicodedata

_NOT_WORD = re.compile(r"[^a-z0-9]+")


def slugify(title, separator="-"):
    """The words of a title in lower-case ASCII, joined by a separator."""
    folded = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    return _NOT_WORD.sub(separator, folded.lower()).strip(separator)


def truncate(slug, limit, separator="-"):
    """As many whole words of a slug as fit into `limit` characters."""
    if len(slug) <= limit:
        return slug
    return slug[:limit].rsplit(separator, 1)[0]
