import sys
import unittest

from tally import amounts


class Parse(unittest.TestCase):
    def test_forms(self):
        for text, cents in [("12", 1200), ("12.5", 1250), (" 0.07 ", 7), ("-0.75", -75)]:
            with self.subTest(text):
                self.assertEqual(amounts.parse(text), cents)

    def test_what_is_no_amount(self):
        """Words, signs alone and a third digit are refused."""
        for text in ["", "-", "ten", "1.234", "1,5"]:
            with self.subTest(text), self.assertRaises(ValueError):
                amounts.parse(text)

    @unittest.skipUnless(sys.platform == "win32", "only Windows has this locale")
    def test_windows_locale(self):
        import locale

        locale.setlocale(locale.LC_ALL, "German_Germany.1252")
        self.assertEqual(amounts.parse("12.5"), 1250)


class Show(unittest.TestCase):
    def test_two_digits(self):
        self.assertEqual(amounts.show(1205), "12.05")

    def test_below_zero(self):
        self.assertEqual(amounts.show(-75), "-0.75")
