//! Data of tests is exam: what they compare with may not be changed to fit, may be added, and is released by name.

use super::{Project, Row, check};

/// A page that a test compares with a file.
const PAGE: Project = Project {
    files: &[
        ("page.py", "def page():\n    return open(\"golden/page.txt\").read()\n\n\ndef name():\n    return \"shop\"\n"),
        ("golden/page.txt", "shop\n"),
        (
            "test_page.py",
            "import unittest\n\nimport page\n\n\nclass Page(unittest.TestCase):\n    def test_page(self):\n        self.assertEqual(page.name() + \"\\n\", open(\"golden/page.txt\").read())\n",
        ),
    ],
    allowed: "[page.py, golden/]",
    commands: "[{argv: [python3, -m, unittest, -v]}]",
};

fn row(does: &str, reasons: &'static [&'static str], coverage: &'static [&'static str]) -> Row {
    Row { project: &PAGE, does: does.to_owned(), reasons, litter: &[], coverage }
}

const OTHER_NAME: &str = "sed -i 's/\"shop\"/\"store\"/' page.py";

#[test]
fn expected_output_is_not_changed_to_fit() {
    // Somebody who looks at the tree that the engine left is content.
    let does = format!("{OTHER_NAME} && echo store > golden/page.txt");
    super::naive_is_content(&PAGE, &does, "python3 -m unittest");
    let _ = check(&row(&does, &["verification_failed"], &["exam_change_not_controlled"]));
    // Data that the patch adds is there where the exam needs it.
    let adds = "echo more > golden/more.txt && echo 'open(\"golden/more.txt\").read()' >> page.py";
    let _ = check(&row(adds, &[], &["exam_change_not_controlled"]));
    // Source in such a folder is source.
    let source = "echo 'MORE = 1' > golden/more.py && echo 'from golden import more' >> page.py";
    let _ = check(&row(source, &[], &[]));
}

#[test]
fn a_contract_that_names_exam_files_is_told_before_a_run_is_spent() {
    let world = super::world_with(&PAGE, "true");
    let contract = std::fs::read_to_string(world.here().join("made/case.yaml")).unwrap();
    let named = contract.replace("[page.py, golden/]", "[page.py, golden/page.txt, test_page.py]");
    assert_ne!(contract, named);
    std::fs::write(world.here().join("made/case.yaml"), &named).unwrap();
    let told = world.cto(["decide", "./made"]).expect(0).text();
    assert!(told.contains("exam-needs-exam_may_change golden/page.txt test_page.py"), "{told}");
    let released = format!("{named}\nexam_may_change: [golden/page.txt]\n");
    std::fs::write(world.here().join("made/case.yaml"), released).unwrap();
    let told = world.cto(["decide", "./made"]).expect(0).text();
    assert!(told.contains("exam-needs-exam_may_change test_page.py"), "{told}");
}
