//! The reasons that this crate names, and the tests that name them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use untrusted_fs::own_files;

/// A reason that a source file names has a unit test whose own body names it: what gives a reason is shown to give it. That the test
/// also has a nearest case without the reason cannot be read off its text; a mutant of the judging folder shows that.
#[test]
fn each_reason_has_a_unit_test() {
    let (mut named, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = own_files::read_to_string(&path).unwrap();
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        let at = if is_test { 0 } else { text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len()) };
        named.extend(reasons(&text[..at]).map(str::to_owned));
        tested.extend(test_bodies(&text[at..]).into_iter().flat_map(reasons).map(str::to_owned));
    }
    assert!(named.len() > 30, "the sources are not read: {named:?}");
    let untested: Vec<&String> = named.difference(&tested).collect();
    assert_eq!(untested, [""; 0], "a unit test must name each of them, beside what gives it");
}

/// Bodies of the test functions in a text, by the indentation that rustfmt gives to their ends.
fn test_bodies(text: &str) -> Vec<&str> {
    let starts = text.match_indices("#[test]\n");
    let body = |(at, mark): (usize, &str)| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let indent = text.get(line..at).filter(|before| before.trim().is_empty())?;
        let rest = &text[at + mark.len()..];
        rest.split(&format!("\n{indent}}}\n")).next()
    };
    starts.filter_map(body).collect()
}

#[test]
fn a_name_outside_of_a_test_function_tests_nothing() {
    let text = "mod tests {\n    const A: Reason = Reason::First;\n\n    #[test]\n    fn one() {\n        \
                check(Reason::Second);\n    }\n\n    fn helper() {\n        give(Reason::Third);\n    }\n}\n";
    let named: Vec<&str> = test_bodies(text).into_iter().flat_map(reasons).collect();
    assert_eq!(named, ["Second"]);
    assert_eq!(reasons(text).count(), 3, "the control");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = own_files::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let each = entries.map(|path| match path.extension() {
        None => sources(&path),
        Some(ending) if ending == "rs" => vec![path],
        Some(_) => Vec::new(),
    });
    each.flatten().collect()
}

/// Words behind `Reason::` that begin with a capital, as variants do.
fn reasons(text: &str) -> impl Iterator<Item = &str> {
    let words =
        text.split("Reason::").skip(1).filter_map(|rest| rest.split(|letter: char| !letter.is_alphanumeric()).next());
    words.filter(|word| word.starts_with(|first: char| first.is_ascii_uppercase()))
}
