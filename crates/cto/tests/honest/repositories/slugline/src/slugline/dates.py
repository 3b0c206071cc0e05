"""Dates in file names."""

import datetime


def parse_stamp(text):
    """The date of a stamp such as `2024-05-01`."""
    return datetime.date.fromisoformat(text)


def dated(slug, stamp):
    """A slug with its date in front."""
    return f"{parse_stamp(stamp).isoformat()}-{slug}"
