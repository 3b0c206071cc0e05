import pytest

from strings import slugify


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("README", "readme"),
        ("Hello World", "hello-world"),
        ("Hello   World", "hello-world"),
        ("  Hello World ", "hello-world"),
    ],
)
def test_slugify(title, slug):
    assert slugify(title) == slug


def test_tabs_and_newlines():
    assert slugify("Hello\tWide\n World") == "hello-wide-world"


def test_hyphens_stay():
    assert slugify("Well-Known Name") == "well-known-name"
