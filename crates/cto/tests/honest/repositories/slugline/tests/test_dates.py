import datetime
import sys

import pytest

from slugline import dated, parse_stamp


def test_parse_stamp():
    assert parse_stamp("2024-02-29") == datetime.date(2024, 2, 29)


@pytest.mark.parametrize("stamp", ["2023-02-29", "soon", ""], ids=["no leap year", "a word", "nothing"])
def test_no_such_date(stamp):
    with pytest.raises(ValueError):
        parse_stamp(stamp)


def test_dated():
    assert dated("hello", "2024-05-01") == "2024-05-01-hello"


@pytest.mark.skipif(sys.platform != "win32", reason="only Windows forbids these names")
def test_reserved_names():
    import os

    assert os.path.isreserved("con")
