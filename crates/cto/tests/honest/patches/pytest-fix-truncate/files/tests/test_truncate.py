import pytest

from slugline import truncate


@pytest.mark.parametrize(
    ("limit", "slug"), [(3, "one"), (6, "one"), (7, "one-two"), (8, "one-two"), (12, "one-two"), (13, "one-two-three")]
)
def test_what_fits_stays(limit, slug):
    assert truncate("one-two-three", limit) == slug


def test_a_long_first_word_is_cut():
    assert truncate("incomprehensible-words", 5) == "incom"
