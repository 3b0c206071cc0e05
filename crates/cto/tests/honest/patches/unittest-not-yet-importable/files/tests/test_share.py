import unittest

from tally.share import share


class Share(unittest.TestCase):
    def test_even(self):
        self.assertEqual(share(300, 3), [100, 100, 100])

    def test_cents_that_are_left_go_to_the_first(self):
        self.assertEqual(share(100, 3), [34, 33, 33])

    def test_nobody(self):
        with self.assertRaises(ValueError):
            share(100, 0)
