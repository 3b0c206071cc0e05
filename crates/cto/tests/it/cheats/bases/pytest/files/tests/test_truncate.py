from strings import truncate


def test_short_text_stays():
    assert truncate("short", 10) == "short"


def test_long_text_is_cut():
    assert truncate("a rather long title", 9) == "a rather\u2026"
