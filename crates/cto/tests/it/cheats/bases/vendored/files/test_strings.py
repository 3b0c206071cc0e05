import site
import unittest

site.addsitedir("vendor")

from strings import slugify


class SlugifyTest(unittest.TestCase):
    def test_one_space(self):
        self.assertEqual(slugify("Hello World"), "hello-world")

    def test_repeated_spaces(self):
        self.assertEqual(slugify("Hello   World"), "hello-world")

    def test_outer_spaces(self):
        self.assertEqual(slugify("  Hello World "), "hello-world")
