"""Slugs and dated file names for static sites."""

from .dates import dated, parse_stamp
from .slug import slugify, truncate

__version__ = "0.3.0"
__all__ = ["dated", "parse_stamp", "slugify", "truncate"]
