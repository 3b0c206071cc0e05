"""Amounts as whole cents, so that sums are exact."""

import re

_AMOUNT = re.compile(r"(-?)(\d+)(?:\.(\d{1,2}))?")


def parse(text):
    """Cents of an amount such as `12`, `12.5` or `-0.75`."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an amount: {text!r}")
    sign, whole, part = match.groups()
    cents = int(whole) * 100 + int((part or "0").ljust(2, "0"))
    return -cents if sign else cents


def show(cents):
    """An amount with two digits behind the point."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"
