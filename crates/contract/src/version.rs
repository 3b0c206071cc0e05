//! Versions of formats, `MAJOR.MINOR`: whether a document can be read by this program at all.

use crate::stage::{MutationMode, Stage};
use crate::{BUNDLE_VERSION, FIRST_FIXTURE_SET, FIXTURE_SET, RULES_VERSION};

/// The major version of bundles that this program reads, with every minor version of it.
pub fn readable_bundles() -> &'static str {
    major(BUNDLE_VERSION).unwrap_or_default()
}

/// True if this program can read a bundle document of that version. A later minor version
/// only adds what a reader may ignore.
pub fn is_readable(version: &str) -> bool {
    major(version) == major(BUNDLE_VERSION)
}

/// Rules that differ from these in approvals, in what lies beyond stage 3 and in the words of refusals, and in nothing else.
const NEARLY_THESE: [&str; 2] = ["1.2", "1.3"];

/// Facts of a run by which it is known if rules of an earlier version are those of this program.
#[derive(Debug, Clone, Copy)]
pub struct JudgedRun {
    pub stage: Stage,
    pub mode: MutationMode,
    /// Its decision is a refusal, whose words are part of the decision.
    pub is_refused: bool,
}

/// True if this run was judged by the rules of this program, though their version may be an earlier one.
pub fn has_these_rules(version: &str, run: JudgedRun) -> bool {
    // Rules 1.2 asked for an approval at every stage where the mode was beyond a copy.
    let is_alike = run.stage < Stage::DISPOSABLE_REPOSITORY && !run.mode.needs_approval() && !run.is_refused;
    version == RULES_VERSION || NEARLY_THESE.contains(&version) && is_alike
}

/// None if the text is no version.
fn major(version: &str) -> Option<&str> {
    let (major, minor) = version.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then_some(major)
}

/// The set of built-in cases as a report of this program names it: the first one is not named.
pub fn recorded_fixture_set() -> Option<String> {
    Some(FIXTURE_SET).filter(|set| *set != FIRST_FIXTURE_SET).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_rules_are_these_where_nothing_changed() {
        use MutationMode::{CopiedFixture, SandboxRepo};
        for (version, stage, mode, is_refused, same) in [
            (RULES_VERSION, 5, SandboxRepo, true, true),
            ("1.2", 3, CopiedFixture, false, true),
            ("1.2", 4, CopiedFixture, false, false),
            ("1.2", 3, SandboxRepo, false, false),
            ("1.2", 3, CopiedFixture, true, false),
            ("1.3", 3, CopiedFixture, false, true),
            ("1.3", 4, CopiedFixture, false, false),
            ("1.3", 3, CopiedFixture, true, false),
            ("1.1", 3, CopiedFixture, false, false),
            ("1.5", 3, CopiedFixture, false, false),
        ] {
            let run = JudgedRun { stage: Stage::try_from(stage).unwrap(), mode, is_refused };
            assert_eq!(has_these_rules(version, run), same, "{version} {run:?}");
        }
    }

    #[test]
    fn only_versions_of_the_same_major_are_readable() {
        for (version, readable) in [
            ("1.0", true),
            (BUNDLE_VERSION, true),
            ("1.99", true),
            ("0.9", false),
            ("2.0", false),
            ("10.1", false),
            ("01.1", false),
            ("1", false),
            ("1.", false),
            (".1", false),
            ("", false),
            ("1.1.1", false),
            ("1.x", false),
            ("-1.0", false),
            (" 1.0", false),
        ] {
            assert_eq!(is_readable(version), readable, "{version:?}");
        }
        assert_eq!(readable_bundles(), "1");
    }
}
