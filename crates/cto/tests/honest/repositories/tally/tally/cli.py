"""The command."""

import argparse
import sys

from . import report


def main(argv=None):
    parser = argparse.ArgumentParser(prog="tally", description="Adds up amounts in a CSV file.")
    parser.add_argument("file", help="lines of name and amount")
    parser.add_argument("--html", action="store_true", help="print a table for a web page")
    options = parser.parse_args(argv)
    try:
        with open(options.file, encoding="utf-8", newline="") as lines:
            sums = report.read(lines)
    except OSError as error:
        print(f"tally: {options.file}: {error.strerror}", file=sys.stderr)
        return 1
    render = report.html if options.html else report.text
    sys.stdout.write(render(sums))
    return 0
