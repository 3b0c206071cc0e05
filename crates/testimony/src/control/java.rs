//! A failing method in each class of tests that Surefire ran.

use super::command::Arguments;
use super::tree::ExamView;
use super::wanted::{ControlRequest, ControlTest, distinct, into_class};

/// Properties that choose among tests.
const CHOOSING: [&str; 4] = ["-Dtest", "-Dgroups", "-DexcludedGroups", "-DincludeTags"];

/// Control tests for Surefire; `None` if options select tests.
pub(super) fn java_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let arguments = Arguments::of_words(wanted.commands.after(&["mvn"]).unwrap_or_default(), &[]);
    if arguments.has_any(&CHOOSING) {
        return None;
    }
    let files = distinct(wanted.ran().filter_map(|identity| declaring_file(wanted.tree, identity)));
    Some(wanted.each(files, |path, name| {
        let text = wanted.tree.read_text(path)?;
        into_class(wanted, path, name, &method(&text, name))
    }))
}

/// Source file of a class such as `ex.AppTest`, wherever its package lies; a nested class
/// is in the same file.
pub(super) fn declaring_file(tree: &ExamView<'_>, identity: &str) -> Option<String> {
    let class = identity.split("::").next()?.split('$').next()?;
    tree.find_file(&format!("{}.java", class.replace('.', "/")))
}

/// A method of the framework whose names the file already uses; its assertion fails, and
/// nothing is imported.
fn method(text: &str, name: &str) -> String {
    let (test, assertion) = if text.contains("org.junit.jupiter") {
        ("org.junit.jupiter.api.Test", "org.junit.jupiter.api.Assertions.assertEquals")
    } else if text.contains("org.testng") {
        ("org.testng.annotations.Test", "org.testng.Assert.assertEquals")
    } else {
        ("org.junit.Test", "org.junit.Assert.assertEquals")
    };
    format!("  @{test} public void handles{name}() {{ {assertion}(\"expected\", \"found\"); }}\n")
}
