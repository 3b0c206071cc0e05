//! Names of tests that change with every run: they contain a random id, a time or an
//! address. Names that differ between two runs of the baseline are compared by their
//! number, place by place, because they cannot be matched one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern::function;
use crate::results::{TestOutcome, TestResults};

/// Names of the baseline that a second run of it did not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnstableNames {
    /// Names that both runs have.
    stable: BTreeSet<String>,
    /// Places of the others: the function of a parametrised test, or the enclosing file,
    /// class or module.
    places: BTreeSet<String>,
}

impl UnstableNames {
    /// Compares two runs of the baseline; none if every name of the first occurs in the
    /// second.
    pub fn between(first: &TestResults, second: &TestResults) -> Option<Self> {
        let (stable, others): (BTreeSet<&String>, BTreeSet<&String>) =
            first.tests.keys().partition(|name| second.tests.contains_key(*name));
        let places = others.iter().map(|name| place(name).to_owned()).collect::<BTreeSet<_>>();
        (!places.is_empty()).then(|| Self { stable: stable.into_iter().cloned().collect(), places })
    }

    /// The same results with every unstable name replaced by its place and a number, those
    /// that were executed first.
    pub fn settle_names(&self, results: &TestResults) -> TestResults {
        let mut settled = results.clone();
        let mut unstable: BTreeMap<&str, Vec<TestOutcome>> = BTreeMap::new();
        for (name, outcome) in &results.tests {
            let place = place(name);
            if !self.stable.contains(name) && self.places.contains(place) {
                settled.tests.remove(name);
                unstable.entry(place).or_default().push(*outcome);
            }
        }
        for (place, mut outcomes) in unstable {
            outcomes.sort_by_key(|outcome| !outcome.executed());
            let numbered = outcomes.into_iter().enumerate();
            settled
                .tests
                .extend(numbered.map(|(number, outcome)| (format!("{place} (name {} of many)", number + 1), outcome)));
        }
        settled
    }
}

/// Test without its parameters, or else its enclosing file, class or module.
fn place(identity: &str) -> &str {
    let function = function(identity);
    if function.len() < identity.len() {
        return function;
    }
    let end = ["::", " > ", "."].iter().filter_map(|mark| identity.rfind(mark)).max();
    end.map_or("", |end| &identity[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Runner;

    fn results(names: &str) -> TestResults {
        let test = |name: &str| {
            let outcome = if name.starts_with('-') { TestOutcome::Skipped } else { TestOutcome::Passed };
            (name.trim_start_matches('-').to_owned(), outcome)
        };
        TestResults::of_tests(Runner::Pytest, names.split_whitespace().map(test).collect())
    }

    fn settled(first: &str, second: &str, result: &str) -> Option<(String, String)> {
        let unstable = UnstableNames::between(&results(first), &results(second))?;
        let names = |results: TestResults| {
            let executed = results.tests.iter().filter(|(_, outcome)| outcome.executed());
            executed
                .map(|(name, _)| name.replace(" (name ", "#").replace(" of many)", ""))
                .collect::<Vec<_>>()
                .join(" ")
        };
        Some((names(unstable.settle_names(&results(first))), names(unstable.settle_names(&results(result)))))
    }

    #[test]
    fn what_two_runs_do_not_name_alike_is_counted_at_its_place() {
        assert_eq!(settled("a.py::one a.py::two", "a.py::one a.py::two a.py::more", "a.py::one"), None);
        for (first, second, result, before, after) in [
            (
                "a.py::t[1f] a.py::u",
                "a.py::t[2e] a.py::u",
                "a.py::t[3d] a.py::u",
                "a.py::t#1 a.py::u",
                "a.py::t#1 a.py::u",
            ),
            // One that is gone is missed, and a new one elsewhere does not stand for it.
            (
                "a.py::t[1] a.py::t[2]",
                "a.py::t[3] a.py::t[4]",
                "a.py::t[5] b.py::t[6]",
                "a.py::t#1 a.py::t#2",
                "a.py::t#1 b.py::t[6]",
            ),
            ("a.py::t[1] a.py::u", "a.py::t[3] a.py::u", "a.py::t[5]", "a.py::t#1 a.py::u", "a.py::t#1"),
            ("m.C.test_1f m.C.one", "m.C.test_2e m.C.one", "m.C.test_3d m.C.one", "m.C#1 m.C.one", "m.C#1 m.C.one"),
            ("m::t::n1 m::t::one", "m::t::n2 m::t::one", "-m::t::n3 m::t::one", "m::t#1 m::t::one", "m::t::one"),
        ] {
            let found = settled(first, second, result).unwrap();
            assert_eq!((found.0.as_str(), found.1.as_str()), (before, after), "{first} | {second} | {result}");
        }
    }
}
