"""Sums by name, and how they are printed."""

import csv

from . import amounts


def read(lines):
    """Cents by name, of lines such as `rent,700.00`."""
    sums = {}
    for row in csv.reader(lines):
        if not row:
            continue
        name, amount = row
        sums[name] = sums.get(name, 0) + amounts.parse(amount)
    return sums


def text(sums):
    """A line for each name, then the total."""
    rows = [*sorted(sums.items()), ("total", sum(sums.values()))]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {amounts.show(cents):>8}\n" for name, cents in rows)


def html(sums):
    """The same as a table for a web page."""
    rows = "".join(f"<tr><td>{name}<td>{amounts.show(cents)}\n" for name, cents in sorted(sums.items()))
    return f"<table>\n{rows}</table>\n"
