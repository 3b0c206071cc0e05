import unittest

from calc import *


class Later(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(2), 4)


assert double
