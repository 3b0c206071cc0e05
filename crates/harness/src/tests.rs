//! The reasons that this crate names, and the tests that show when each is given and when it is not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::Reason;
use untrusted_fs::own_files;

use crate::run::standing::RunStanding;

/// Answer of a judgement: it gives a reason or not. A truth value says so for the reason that the test names.
pub(crate) trait GivesReason {
    fn gives(&self, reason: Reason) -> bool;
}

impl GivesReason for bool {
    fn gives(&self, _: Reason) -> bool {
        *self
    }
}

impl GivesReason for Reason {
    fn gives(&self, reason: Reason) -> bool {
        *self == reason
    }
}

impl<T> GivesReason for (Reason, T) {
    fn gives(&self, reason: Reason) -> bool {
        self.0 == reason
    }
}

impl<T, U> GivesReason for (Reason, T, U) {
    fn gives(&self, reason: Reason) -> bool {
        self.0 == reason
    }
}

impl GivesReason for RunStanding {
    fn gives(&self, reason: Reason) -> bool {
        self.has_reason(reason)
    }
}

impl<T: GivesReason> GivesReason for Option<T> {
    fn gives(&self, reason: Reason) -> bool {
        self.as_ref().is_some_and(|it| it.gives(reason))
    }
}

impl<T: GivesReason> GivesReason for Vec<T> {
    fn gives(&self, reason: Reason) -> bool {
        self.iter().any(|it| it.gives(reason))
    }
}

/// Checks that a judgement gives this reason, and that the control, the nearest facts without the defect, does not.
#[track_caller]
pub(crate) fn two_sided(reason: Reason, judged: impl GivesReason, control: impl GivesReason) {
    assert!(judged.gives(reason), "{reason} is not given");
    assert!(!control.gives(reason), "the control gives {reason} too");
}

#[test]
#[should_panic(expected = "the control gives halted too")]
fn a_judgement_that_always_gives_its_reason_is_found() {
    two_sided(Reason::Halted, Some(Reason::Halted), None::<Reason>);
    two_sided(Reason::Halted, vec![(Reason::Halted, "text")], vec![(Reason::Halted, "text")]);
}

/// A reason that a source file names has a unit test whose own body shows both sides of it with `two_sided`: facts that give the reason, and
/// the nearest facts that do not.
#[test]
fn each_reason_has_a_unit_test() {
    let (mut named, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = own_files::read_to_string(&path).unwrap();
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        let at = if is_test { 0 } else { text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len()) };
        named.extend(reasons(&text[..at]).map(str::to_owned));
        let bodies = test_bodies(&text[at..]).into_iter().filter(|body| body.contains("two_sided("));
        tested.extend(bodies.flat_map(reasons).map(str::to_owned));
    }
    assert!(named.len() > 30, "the sources are not read: {named:?}");
    let untested: Vec<&String> = named.difference(&tested).collect();
    assert_eq!(untested, [""; 0], "a unit test must show both sides of each of them with `two_sided`");
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
