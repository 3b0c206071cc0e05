//! Versions of formats, `MAJOR.MINOR`: whether a document can be read by this program at all.

use crate::BUNDLE_VERSION;

/// The major version of bundles that this program reads, with every minor version of it.
pub fn readable_bundles() -> &'static str {
    major(BUNDLE_VERSION).unwrap_or_default()
}

/// Whether a document of a bundle that claims this version can be read. A later minor version only adds what may be left aside.
pub fn is_readable(version: &str) -> bool {
    major(version) == major(BUNDLE_VERSION)
}

/// None where the text is no version.
fn major(version: &str) -> Option<&str> {
    let (major, minor) = version.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then_some(major)
}

#[cfg(test)]
mod tests {
    use super::*;

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
