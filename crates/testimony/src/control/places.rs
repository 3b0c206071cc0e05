//! The files in which a test is declared, and the runners that a command is known to start.

use std::collections::BTreeSet;

use super::command::Commands;
use super::rust::{source_of_cargo, source_of_nextest};
use super::rust_packages::packages;
use super::tree::ControlInputs;
use super::tree::{ExamView, folder_of};
use super::{go, java, php, pytest, python, ruby};
use crate::compare::function_of;
use crate::results::{Runner, TestResults};

/// Files that are looked through for a declaration.
const MOST_FILES: usize = 5000;

/// Programs and arguments that start a runner.
const COMMANDS: [(&[&str], Runner); 17] = [
    (&["pytest"], Runner::Pytest),
    (&["py.test"], Runner::Pytest),
    (&["-m", "unittest"], Runner::Unittest),
    (&["nextest", "run"], Runner::Nextest),
    (&["nextest", "r"], Runner::Nextest),
    (&["cargo", "test"], Runner::Cargo),
    (&["cargo", "t"], Runner::Cargo),
    (&["go", "test"], Runner::Go),
    (&["node", "--test"], Runner::Node),
    (&["mocha"], Runner::Mocha),
    (&["jest"], Runner::Jest),
    (&["vitest"], Runner::Vitest),
    (&["ava"], Runner::Ava),
    (&["ctest"], Runner::Ctest),
    (&["rspec"], Runner::Rspec),
    (&["phpunit"], Runner::Phpunit),
    (&["mvn"], Runner::Surefire),
];

/// The runners that a command starts, as far as its words say so.
pub fn known_runners(inputs: &ControlInputs<'_>) -> BTreeSet<Runner> {
    let commands = Commands::of_command(inputs, &ExamView::of_exam(inputs));
    COMMANDS.iter().filter(|(words, _)| commands.after(words).is_some()).map(|(_, runner)| *runner).collect()
}

/// Every file in which the test may be declared. Empty where nothing shows it.
pub fn declaring_files(identity: &str, runner: Runner, inputs: &ControlInputs<'_>) -> Vec<String> {
    let tree = ExamView::of_exam(inputs);
    let identity = function_of(identity);
    match runner {
        Runner::Pytest => pytest::place_of(&tree, identity).map(|(path, _)| path).into_iter().collect(),
        Runner::Unittest => python::module(&tree, identity, &[]).map(|(path, _)| path).into_iter().collect(),
        Runner::Go => go::sibling(&tree, &go::modules(&tree), identity).into_iter().collect(),
        Runner::Cargo | Runner::Nextest => of_rust(&tree, identity, runner),
        Runner::Node | Runner::Junit | Runner::Mocha | Runner::Ctest => holding(&tree, "", last_part(identity)),
        Runner::Ava => holding(&tree, "", identity.rsplit(" › ").next().unwrap_or(identity)),
        Runner::Jest | Runner::Vitest => identity.split(" > ").next().map(str::to_owned).into_iter().collect(),
        Runner::Rspec => ruby::declaring_specs(&tree, identity),
        Runner::Phpunit => php::declaring_file(&tree, identity).into_iter().collect(),
        Runner::Surefire => java::declaring_file(&tree, identity).into_iter().collect(),
    }
}

/// True if a test of these results may stand in the file: an identity or something that
/// could not be loaded names it, or its text holds the name of a test. Also where the
/// results name no test.
pub fn may_declare_tests(path: &str, content: &[u8], results: &TestResults) -> bool {
    let module = path.strip_suffix(".py").map(|module| format!("{}.", module.replace('/', ".")));
    let names_file = |identity: &str| {
        let is_path = identity.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        is_path || module.as_ref().is_some_and(|module| format!("{identity}.").starts_with(module))
    };
    let text = String::from_utf8_lossy(content);
    let declared = |identity: &String| {
        let name = last_part(function_of(identity));
        names_file(identity) || text.contains(name.rsplit('.').next().unwrap_or(name))
    };
    results.tests.is_empty()
        || results.tests.keys().any(declared)
        || results.unloaded.iter().any(|place| names_file(place))
}

/// The last name of an identity.
fn last_part(identity: &str) -> &str {
    let test = identity.rsplit(" > ").next().unwrap_or(identity);
    test.rsplit("::").next().unwrap_or(test)
}

/// The files of the package that declare a function of this name: a module may stand in any
/// of them.
fn of_rust(tree: &ExamView<'_>, identity: &str, runner: Runner) -> Vec<String> {
    let packages = packages(tree);
    let root = match runner {
        Runner::Nextest => source_of_nextest(tree, &packages, identity),
        _ => source_of_cargo(tree, &packages, identity),
    };
    let Some(root) = root else { return Vec::new() };
    let folders = packages.iter().map(|package| package.folder.as_str());
    let package = folders.filter(|folder| is_below(&root, folder)).max_by_key(|folder| folder.len());
    holding(tree, package.unwrap_or(folder_of(&root)), &format!("fn {}(", last_part(identity)))
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The files below a folder in which the text stands.
fn holding(tree: &ExamView<'_>, folder: &str, text: &str) -> Vec<String> {
    let has = |path: &&str| tree.read_text(path).is_some_and(|content| content.contains(text));
    let below = tree.paths().filter(|path| is_below(path, folder)).take(MOST_FILES);
    below.filter(|_| !text.is_empty()).filter(has).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_inputs<T>(argv: &str, files: &[(&str, &str)], ask: impl FnOnce(&ControlInputs<'_>) -> T) -> T {
        let argv = shell_words::split(argv).expect("words");
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |wanted: &str| {
            files.iter().find(|(path, _)| *path == wanted).map(|(_, content)| content.as_bytes().to_vec())
        };
        ask(&ControlInputs { argv: &argv, cwd: "", paths: &paths, read: &read })
    }

    #[test]
    fn runners_of_commands() {
        let package = [("package.json", r#"{"scripts": {"test": "node --test"}}"#)];
        for (argv, expected) in [
            ("python3 -m pytest -q", Some(Runner::Pytest)),
            ("/opt/bin/pytest", Some(Runner::Pytest)),
            ("sh -c 'cd x && cargo test --offline'", Some(Runner::Cargo)),
            ("cargo nextest run", Some(Runner::Nextest)),
            ("npm test", Some(Runner::Node)),
            ("go test ./...", Some(Runner::Go)),
            ("python3 -m unittest", Some(Runner::Unittest)),
            ("grep -q x a.txt", None),
            ("make test", None),
        ] {
            assert_eq!(with_inputs(argv, &package, known_runners), BTreeSet::from_iter(expected), "{argv}");
        }
    }

    #[test]
    fn files_from_which_tests_may_run() {
        use crate::results::TestOutcome;

        let results = |runner, names: &[&str]| {
            TestResults::of_tests(runner, names.iter().map(|name| ((*name).to_owned(), TestOutcome::Passed)).collect())
        };
        let pytest = results(Runner::Pytest, &["tests/test_a.py::A::test_inherited[1]"]);
        let unittest = results(Runner::Unittest, &["tests.test_a.A.test_inherited"]);
        let node = results(Runner::Node, &["more > adds up"]);
        for (path, content, told, expected) in [
            ("tests/test_a.py", "class A(Base): pass", &pytest, true),
            ("tests/base.py", "class Base:\n    def test_inherited(self): pass", &pytest, true),
            ("tests/helpers.py", "def helper(): pass", &pytest, false),
            ("tests/test_a.py", "", &unittest, true),
            ("tests/test_ab.py", "", &unittest, false),
            ("a.test.js", "it('adds up', () => {})", &node, true),
            ("test/helper.js", "exports.helper = 1", &node, false),
            ("test/helper.js", "", &results(Runner::Node, &[]), true),
        ] {
            assert_eq!(may_declare_tests(path, content.as_bytes(), told), expected, "{path}: {content}");
        }
    }

    #[test]
    fn files_of_tests() {
        let files = [
            ("Cargo.toml", "[package]\nname = \"one\"\n"),
            ("src/lib.rs", "mod m;\n"),
            ("src/m.rs", "#[cfg(test)] mod tests { #[test] fn adds() {} }"),
            ("tests/test_a.py", "def test_a(): pass"),
            ("pkg/test_b.py", "class B: pass"),
            ("go.mod", "module example.org/one\n"),
            ("c/c_test.go", "package c\nfunc TestA(t *testing.T) {}"),
            ("a.test.js", "test('sum', () => {})"),
            ("spec/a_spec.rb", "it('adds') {}"),
            ("tests/AdderTest.php", "class AdderTest"),
            ("src/test/java/ex/AppTest.java", "class AppTest"),
        ];
        for (runner, identity, expected) in [
            (Runner::Pytest, "tests/test_a.py::test_a[1]", &["tests/test_a.py"][..]),
            (Runner::Unittest, "pkg.test_b.B.test_x", &["pkg/test_b.py"]),
            (Runner::Cargo, "one (src/lib.rs) > m::tests::adds", &["src/m.rs"]),
            (Runner::Cargo, "one (src/lib.rs) > m::tests::gone", &[]),
            (Runner::Nextest, "one > m::tests::adds", &["src/m.rs"]),
            (Runner::Go, "example.org/one/c::TestA/sub", &["c/c_test.go"]),
            (Runner::Node, "more > sum", &["a.test.js"]),
            (Runner::Rspec, "add > adds", &["spec/a_spec.rb"]),
            (Runner::Phpunit, "Adder > Adds", &["tests/AdderTest.php"]),
            (Runner::Phpunit, "tests/AdderTest.php::AdderTest::testAdds", &["tests/AdderTest.php"]),
            (Runner::Surefire, "ex.AppTest$Inner::adds", &["src/test/java/ex/AppTest.java"]),
            (Runner::Junit, "", &[]),
        ] {
            let found = with_inputs("x", &files, |inputs| declaring_files(identity, runner, inputs));
            assert_eq!(found, expected, "{identity}");
        }
    }
}
