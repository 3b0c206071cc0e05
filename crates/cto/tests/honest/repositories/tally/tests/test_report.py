import unittest

from tally import report


class Read(unittest.TestCase):
    def test_names_are_added_up(self):
        self.assertEqual(report.read(["food,1.50", "rent,700", "food,0.25"]), {"food": 175, "rent": 70000})

    def test_empty_lines_do_not_count(self):
        self.assertEqual(report.read(["", "food,1"]), {"food": 100})


class Text(unittest.TestCase):
    def test_sorted_with_a_total(self):
        self.assertEqual(report.text({"b": 100, "a": 50}), "a          0.50\nb          1.00\ntotal      1.50\n")


class Html(unittest.TestCase):
    def test_a_row_for_each_name(self):
        self.assertEqual(report.html({"a": 50}), "<table>\n<tr><td>a<td>0.50\n</table>\n")

    def test_an_empty_table(self):
        self.assertEqual(report.html({}), "<table>\n</table>\n")
