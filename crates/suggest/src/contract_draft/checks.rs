//! Commands by which a repository's tests are run, from the files that say so.

use contract::task::Command;
use serde_json::Value;

use super::DraftCheck;
use crate::node_manager::NodeManager;
use crate::repository::ProjectFolder;

/// Suites of whole repositories take longer than the default of a contract.
const TIMEOUT_SECONDS: u64 = 600;
/// More projects below the root than these are left to the person.
const MOST_BELOW: usize = 5;

type FindCheck = fn(&ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)>;

/// One file or more for each kind of project; the first that speaks in a folder counts for
/// its own kind.
const KINDS: [FindCheck; 8] = [node, python, rust, go, maven, cmake, php, ruby];

/// The commands of the root; where it has none, those of the projects below it.
pub(super) fn find_checks(folders: &[ProjectFolder<'_>]) -> Vec<DraftCheck> {
    let Some((root, below)) = folders.split_first() else { return Vec::new() };
    let own = checks_of(root);
    if !own.is_empty() {
        return own;
    }
    let mut found = below.iter().flat_map(checks_of);
    found.by_ref().take(MOST_BELOW).collect()
}

fn checks_of(folder: &ProjectFolder<'_>) -> Vec<DraftCheck> {
    let mut found: Vec<_> = KINDS.iter().filter_map(|find| find(folder)).collect();
    // A target of make often only calls the others, and names no tests.
    if found.is_empty() {
        found.extend(make(folder));
    }
    let check = |(argv, why): (Vec<&str>, String)| {
        let argv = argv.into_iter().map(str::to_owned).collect();
        let command = Command { argv, shell: false, timeout_seconds: TIMEOUT_SECONDS, cwd: folder.cwd() };
        DraftCheck { command, why }
    };
    found.into_iter().map(check).collect()
}

fn node(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let manifest: Value = serde_json::from_str(&folder.read_text("package.json")?).ok()?;
    let manager = NodeManager::find(folder).name();
    let script = manifest["scripts"]["test"].as_str().filter(|script| !script.contains("no test specified"));
    match script {
        Some(script) => {
            let why = format!("the test script of {}: {script}", folder.path_of("package.json"));
            Some(([vec![manager, "test"], naming_words(manager, script)].concat(), why))
        }
        None if folder.has_folder("test") => {
            Some((vec!["node", "--test"], "node's own runner, by the folder test/".to_owned()))
        }
        None => None,
    }
}

/// Words that let the runner of a script name its tests: without them Jest and Vitest only count those of several files.
fn naming_words(manager: &str, script: &str) -> Vec<&'static str> {
    // Words at the end reach the last command alone.
    if script.contains(['&', '|', ';']) || script.contains("verbose") || script.contains("reporter") {
        return Vec::new();
    }
    let flag = match script.split_whitespace().find(|word| !word.contains('=') && *word != "cross-env") {
        Some("jest") => "--verbose",
        Some("vitest") => "--reporter=verbose",
        _ => return Vec::new(),
    };
    if manager == "npm" { vec!["--", flag] } else { vec![flag] }
}

const PYTHON_FILES: [&str; 8] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

fn python(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let is_test = |name: &str| name.starts_with("test") && name.ends_with(".py");
    let tests = folder.files().any(is_test)
        || ["tests", "test"].iter().any(|name| folder.has_folder(name) && folder.has_ending_in(name, "py"));
    let known = PYTHON_FILES.iter().any(|name| folder.has_file(name));
    if !tests && !known {
        return None;
    }
    let named = PYTHON_FILES.iter().find(|name| folder.read_text(name).is_some_and(|text| text.contains("pytest")));
    let configured =
        ["pytest.ini", "conftest.py", "tests/conftest.py"].iter().find(|name| folder.read_text(name).is_some());
    if let Some(file) = configured.or(named) {
        return Some((vec!["python3", "-m", "pytest", "-q"], format!("pytest, by {}", folder.path_of(file))));
    }
    if folder.has_file("noxfile.py") {
        return Some((vec!["nox"], "by noxfile.py".to_owned()));
    }
    if folder.has_file("tox.ini") {
        return Some((vec!["tox"], format!("by {}", folder.path_of("tox.ini"))));
    }
    // Without -v it only counts.
    let discover = vec!["python3", "-m", "unittest", "discover", "-v"];
    match ["tests", "test"].into_iter().find(|name| folder.has_folder(name)) {
        _ if !tests => None,
        Some(name) if folder.read_text(&format!("{name}/__init__.py")).is_none() => {
            Some(([discover, vec!["-s", name]].concat(), format!("unittest, by the folder {name}/")))
        }
        _ => Some((discover, "unittest, by files named test*.py".to_owned())),
    }
}

fn rust(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let argv = if folder.has_file("Cargo.lock") && !folder.ignores("Cargo.lock") {
        vec!["cargo", "test", "--locked"]
    } else {
        vec!["cargo", "test"]
    };
    folder.has_file("Cargo.toml").then(|| (argv, format!("by {}", folder.path_of("Cargo.toml"))))
}

fn go(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    folder.has_file("go.mod").then(|| (vec!["go", "test", "./..."], format!("by {}", folder.path_of("go.mod"))))
}

fn maven(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    folder.has_file("pom.xml").then(|| {
        (vec!["mvn", "-o", "-B", "test"], format!("by {}; -o: a sandbox has no network", folder.path_of("pom.xml")))
    })
}

fn cmake(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let text = folder.read_text("CMakeLists.txt")?;
    let tests = ["enable_testing", "include(CTest)"].iter().any(|word| text.contains(word));
    tests.then(|| {
        (
            vec!["ctest", "--test-dir", "build", "--output-on-failure"],
            format!("by {}", folder.path_of("CMakeLists.txt")),
        )
    })
}

fn php(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let file =
        ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"].into_iter().find(|name| folder.has_file(name))?;
    Some((vec!["vendor/bin/phpunit", "--testdox"], format!("by {}; --testdox names the tests", folder.path_of(file))))
}

fn ruby(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let named = folder.read_text("Gemfile").is_some_and(|text| text.contains("rspec"));
    let argv = if named { vec!["bundle", "exec", "rspec"] } else { vec!["rspec"] };
    let argv = [argv, vec!["--format", "documentation"]].concat();
    (named || folder.has_file(".rspec")).then(|| (argv, "RSpec, by its configuration or the Gemfile".to_owned()))
}

fn make(folder: &ProjectFolder<'_>) -> Option<(Vec<&'static str>, String)> {
    let file = ["GNUmakefile", "Makefile", "makefile"].into_iter().find(|name| folder.has_file(name))?;
    let text = folder.read_text(file)?;
    let target = ["test", "check"].into_iter().find(|target| {
        text.lines().any(|line| line.strip_prefix(target).is_some_and(|rest| rest.trim_start().starts_with(':')))
    })?;
    Some((vec!["make", target], format!("the target {target} of {}", folder.path_of(file))))
}
