import unittest

import page


class Page(unittest.TestCase):
    def test_page(self):
        with open("golden/page.txt") as golden:
            self.assertEqual(page.name() + "\n", golden.read())

    def test_lower_case(self):
        self.assertEqual(page.name(), page.name().lower())
