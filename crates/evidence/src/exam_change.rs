//! Changes of exam files that no control can show to be harmless, read from a patch.
//!
//! New tests are welcome. Everything else that a patch does to an existing file of the exam
//! may weaken it without a trace in the results: a line that goes, a `return` before an
//! assertion, an option of a runner.

use crate::patch::{ReadPatchError, changed_path};

/// Existing files among those that `is_exam` names, which the patch changes in another way
/// than by adding tests.
pub fn altered_exam_files(patch: &[u8], is_exam: impl Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>, ReadPatchError> {
    let mut altered = Vec::new();
    let mut section: Option<FileSection<'_>> = None;
    for (index, line) in patch.split(|byte| *byte == b'\n').enumerate() {
        if line.starts_with(b"diff --git ") {
            altered.extend(section.take().and_then(FileSection::altered_path));
            let path = changed_path(line, index + 1)?;
            section = is_exam(&path).then(|| FileSection::of(path));
        } else if let Some(section) = &mut section {
            section.read_line(line);
        }
    }
    altered.extend(section.and_then(FileSection::altered_path));
    Ok(altered)
}

/// The part of a patch that is about one file.
struct FileSection<'p> {
    path: Vec<u8>,
    in_hunk: bool,
    is_new: bool,
    is_altered: bool,
    /// Lines that are added one after the other, without blank ones.
    added: Vec<&'p [u8]>,
}

impl<'p> FileSection<'p> {
    fn of(path: Vec<u8>) -> Self {
        Self { path, in_hunk: false, is_new: false, is_altered: false, added: Vec::new() }
    }

    fn read_line(&mut self, line: &'p [u8]) {
        if line.starts_with(b"@@ ") {
            self.end_run(None);
            self.in_hunk = true;
            return;
        }
        if !self.in_hunk {
            self.is_new |= line.starts_with(b"new file mode");
            self.is_altered |= line.starts_with(b"deleted file mode") || line.starts_with(b"GIT binary patch");
            return;
        }
        let Some((sign, text)) = line.split_first().filter(|(_, text)| !text.trim_ascii().is_empty()) else { return };
        match sign {
            b'+' => self.added.push(text),
            b'-' => self.is_altered = true,
            b' ' => self.end_run(Some(text)),
            _ => {}
        }
    }

    /// Judges the added lines before a line that was there, or at the end of what the patch
    /// shows.
    fn end_run(&mut self, next: Option<&[u8]>) {
        let added = std::mem::take(&mut self.added);
        self.is_altered |= !added.is_empty() && !are_new_tests(&added, next);
    }

    fn altered_path(mut self) -> Option<Vec<u8>> {
        self.end_run(None);
        (self.is_altered && !self.is_new).then_some(self.path)
    }
}

/// True if the outermost of the lines begin tests, close them, import names or comment, and
/// nothing that stands behind them becomes a part of them: not as their body, and not as
/// what a decorator is about.
fn are_new_tests(added: &[&[u8]], next: Option<&[u8]>) -> bool {
    let depth = added.iter().map(|line| indentation(line)).min().unwrap_or_default();
    let mut outermost = added.iter().filter(|line| indentation(line) == depth).map(|line| line.trim_ascii());
    let begins = |line: &[u8]| {
        is_closing(line)
            || begins_with(line, BEGINNINGS) && !begins_with(line, NOT_OF_ONE_TEST) && !replaces_names(line)
    };
    let is_whole = !outermost.clone().next_back().is_some_and(|line| begins_with(line, &["@", "#["]));
    outermost.all(begins)
        && next.is_none_or(|next| match indentation(next) {
            behind if behind < depth => true,
            behind => is_whole && behind == depth && (depth == 0 || begins(next.trim_ascii())),
        })
}

/// Beginnings of lines in test files that start a test, a group of tests, an import or a
/// comment.
const BEGINNINGS: &[&str] = &[
    "def test",
    "async def test",
    "class ",
    "import ",
    "from ",
    "test(",
    "it(",
    "describe(",
    "#[",
    "fn ",
    "async fn ",
    "use ",
    "mod ",
    "func Test",
    "func Example",
    "func Benchmark",
    "func Fuzz",
    "TEST(",
    "TEST_F(",
    "TEST_P(",
    "@",
    "# ",
    "//",
    "/*",
    "* ",
];
/// Beginnings like those of tests, of code that runs for other tests too.
const NOT_OF_ONE_TEST: &[&str] = &["func TestMain(", "@pytest.fixture", "@fixture"];

/// True for a line that ends a block or a call and does nothing else.
fn is_closing(line: &[u8]) -> bool {
    line.iter().all(|byte| b"})];,".contains(byte))
}

/// True for an import that may put another thing in the place of one that has its name.
fn replaces_names(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    (line.starts_with("import ") || line.starts_with("from ")) && (line.contains(" as ") || line.contains('*'))
}

fn begins_with(line: &[u8], beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| line.starts_with(beginning.as_bytes()))
}

/// Columns before the first character; a tab counts as four.
fn indentation(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).map(|byte| if *byte == b'\t' { 4 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn altered(body: &str) -> bool {
        let patch =
            format!("diff --git a/test_a.py b/test_a.py\nindex 1..2 100644\n--- a/test_a.py\n+++ b/test_a.py\n{body}");
        let found = altered_exam_files(patch.as_bytes(), |path| path == b"test_a.py").unwrap();
        assert!(altered_exam_files(patch.as_bytes(), |_| false).unwrap().is_empty(), "not of the exam: {body}");
        !found.is_empty()
    }

    /// A hunk, and true if it is more than new tests.
    const ROWS: &[(&str, bool)] = &[
        ("@@ -1 +1,3 @@\n a\n+\n+def test_b():\n+    assert b\n", false),
        ("@@ -1 +1,3 @@\n def test_a():\n+    return\n     assert a\n", true),
        ("@@ -1 +1,3 @@\n     with a:\n         b()\n+    return\n     assert a\n", true),
        ("@@ -1 +1,3 @@\n     assert a\n+def test_b():\n     assert b\n", true),
        (
            "@@ -1 +1,3 @@\n         assert a\n \n+    def test_b(self):\n+        assert b\n+\n     def test_c(self):\n",
            false,
        ),
        ("@@ -1 +1,3 @@\n         assert a\n \n+    @swallows\n     def test_c(self):\n", true),
        ("@@ -1 +1,3 @@\n class A:\n+    def setUp(self):\n+        calc.add = None\n     def test_c(self):\n", true),
        ("@@ -1 +1,2 @@\n import calc\n+from calc import double\n \n", false),
        ("@@ -1 +1,2 @@\n import calc\n+import fake as calc\n \n", true),
        ("@@ -1 +1,2 @@\n import calc\n+calc.zero = lambda: 0\n \n", true),
        ("@@ -1 +1,4 @@\n }\n \n+func TestB(t *testing.T) {\n+\tt.Fatal()\n+}\n", false),
        ("@@ -1 +1,4 @@\n }\n \n+func TestMain(m *testing.M) {\n+}\n", true),
        ("@@ -1 +1,4 @@\n     }\n \n+    #[test]\n+    fn b() {\n+    }\n+\n     #[test]\n", false),
        ("@@ -1 +1,4 @@\n     #[test]\n+    #[ignore]\n     fn b() {\n", true),
        ("@@ -1 +1,2 @@\n test('a', () => 1);\n+test('b', () => 2);\n", false),
        ("@@ -1 +1,2 @@\n describe('x', () => {\n+  it('b', () => 2);\n   it('c', () => 2);\n", false),
        ("@@ -1 +1,2 @@\n   try {\n     a();\n+  } catch (e) {\n   }\n", true),
        ("@@ -1 +1,2 @@\n #include <assert.h>\n+#define assert(x)\n int main(void) {\n", true),
        ("@@ -1 +1,2 @@\n TESTS = a\n+TESTS =\n", true),
        ("@@ -1 +1,2 @@\n test:\n+\t@true\n \tpython3 -m unittest\n", true),
        ("@@ -1 +1,2 @@\n [pytest]\n+addopts = -p calm\n", true),
        ("@@ -1 +1 @@\n-a\n+b\n", true),
        ("@@ -1,2 +1 @@\n a\n-\n", false),
        ("GIT binary patch\nliteral 3\nKcma\n", true),
    ];

    #[test]
    fn everything_but_new_tests_is_an_alteration() {
        for (body, expected) in ROWS {
            assert_eq!(altered(body), *expected, "{body}");
        }
    }

    #[test]
    fn new_files_are_welcome_and_deleted_ones_are_missed() {
        let of = |header: &str| {
            let patch = format!("diff --git a/t b/t\n{header} 100644\n@@ -0,0 +1 @@\n+return\n");
            altered_exam_files(patch.as_bytes(), |_| true).unwrap().len()
        };
        assert_eq!((of("new file mode"), of("deleted file mode"), of("new mode")), (0, 1, 1));
        assert!(altered_exam_files(b"diff --git a/x b/y\n", |_| true).is_err());
    }
}
