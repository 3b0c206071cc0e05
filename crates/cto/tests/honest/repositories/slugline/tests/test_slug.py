import pytest

from slugline import slugify, truncate


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Hello, World", "hello-world"),
        ("  spaced   out  ", "spaced-out"),
        ("Crème brûlée", "creme-brulee"),
        ("100% sure?", "100-sure"),
        ("", ""),
    ],
)
def test_slugify(title, slug):
    assert slugify(title) == slug


@pytest.mark.parametrize("separator", ["_", "."])
def test_separator(separator):
    assert slugify("a b c", separator=separator) == separator.join("abc")


def test_a_slug_is_its_own_slug(titles):
    for title in titles:
        assert slugify(slugify(title)) == slugify(title)


class TestTruncate:
    def test_short_slugs_stay(self):
        assert truncate("one-two", 20) == "one-two"

    def test_no_word_is_cut(self):
        assert truncate("one-two-three", 10) == "one-two"
