//! Versions of formats, `MAJOR.MINOR`: whether a document can be read by this program at all.

use crate::stage::{MutationMode, Stage};
use crate::{BUNDLE_VERSION, FIRST_FIXTURE_SET, FIXTURE_SET, RULES_VERSION};

/// The major version of bundles that this program reads, with every minor version of it.
pub fn readable_bundles() -> &'static str {
    major(BUNDLE_VERSION).unwrap_or_default()
}

/// Whether a document of a bundle that claims this version can be read. A later minor version only adds what may be left aside.
pub fn is_readable(version: &str) -> bool {
    major(version) == major(BUNDLE_VERSION)
}

/// Rules that differ from these in approvals and in what lies beyond stage 3, and in nothing else.
const WITHOUT_APPROVALS: &str = "1.2";

/// True if a run at this stage, of a contract with this mode, was judged by the rules of this program, though their version may be an
/// earlier one.
pub fn has_these_rules(version: &str, stage: Stage, mode: MutationMode) -> bool {
    // Rules 1.2 asked for an approval at every stage where the mode was beyond a copy.
    let is_alike = stage < Stage::DISPOSABLE_REPOSITORY && !mode.needs_approval();
    version == RULES_VERSION || version == WITHOUT_APPROVALS && is_alike
}

/// None where the text is no version.
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
        for (version, stage, mode, same) in [
            (RULES_VERSION, 5, SandboxRepo, true),
            ("1.2", 3, CopiedFixture, true),
            ("1.2", 4, CopiedFixture, false),
            ("1.2", 3, SandboxRepo, false),
            ("1.1", 3, CopiedFixture, false),
            ("1.4", 3, CopiedFixture, false),
        ] {
            let stage = Stage::try_from(stage).unwrap();
            assert_eq!(has_these_rules(version, stage, mode), same, "{version} {stage} {mode}");
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
