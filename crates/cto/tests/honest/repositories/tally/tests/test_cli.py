import os
import subprocess
import sys
import tempfile
import unittest


class Command(unittest.TestCase):
    """The command as a person runs it: a process of its own, on a file of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "may.csv")

    def tally(self, content, *options):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(content)
        return subprocess.run(
            [sys.executable, "-m", "tally", *options, self.file], capture_output=True, text=True, timeout=30
        )

    def test_total(self):
        done = self.tally("rent,700.00\nfood,120.50\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], "total    820.50")

    def test_html(self):
        self.assertIn("<td>rent<td>700.00", self.tally("rent,700\n", "--html").stdout)

    def test_a_missing_file(self):
        done = subprocess.run(
            [sys.executable, "-m", "tally", self.file], capture_output=True, text=True, timeout=30
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
