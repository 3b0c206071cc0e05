//! A failing method in each class of tests that PHPUnit ran.

use super::command::Arguments;
use super::tree::{ExamView, name_of};
use super::wanted::{ControlRequest, ControlTest, distinct, into_class};

/// Options that choose among tests.
const CHOOSING: [&str; 9] = [
    "--filter",
    "--group",
    "--exclude-group",
    "--exclude-filter",
    "--covers",
    "--uses",
    "--requires-php-extension",
    "--run-test-id",
    "--cache-result-file",
];
const ENDING: &str = "Test.php";

/// Control tests for PHPUnit; `None` if options select tests.
pub(super) fn php_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let arguments = Arguments::of_words(wanted.commands.after(&["phpunit"]).unwrap_or_default(), &[]);
    if arguments.has_any(&CHOOSING) {
        return None;
    }
    let files = distinct(wanted.ran().filter_map(|identity| declaring_file(wanted.tree, identity)));
    let method = |name: &str| {
        format!("    public function testHandles{name}(): void {{ $this->assertSame('expected', 'found'); }}\n")
    };
    Some(wanted.each(files, |path, name| into_class(wanted, path, name, &method(name))))
}

/// File of a test, by its name in a report, or by the title of its class: `Adder` for
/// AdderTest.php.
pub(super) fn declaring_file(tree: &ExamView<'_>, identity: &str) -> Option<String> {
    if let Some((file, _)) = identity.split_once("::")
        && file.ends_with(".php")
    {
        return tree.find_file(file);
    }
    let class = identity.split([':', ' ']).next()?.rsplit('\\').next()?;
    let class = class.strip_suffix("Test").unwrap_or(class);
    let file = tree.paths().find(|path| name_of(path).strip_suffix(ENDING) == Some(class))?;
    tree.find_file(file)
}
