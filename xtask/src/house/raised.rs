//! Limits of `xtask/house.toml` that were loosened by hand: each needs its reason above it.

use std::collections::BTreeMap;

use super::{Better, FIGURES};
use crate::process::{command_output, program, repository_root};

/// Begins the comment above a limit that says why it was raised.
const MARK: &str = "# raised: ";

/// The file as it was before this change: where the branch left `main`, and on `main` itself one commit ago. None outside of a
/// repository, where nothing can be compared.
pub(super) fn limits_before() -> Option<String> {
    let git = |arguments: &[&str]| command_output(program("git", arguments).current_dir(repository_root())).ok();
    let head = git(&["rev-parse", "HEAD"])?;
    let base = git(&["merge-base", "HEAD", "main"]).filter(|base| *base != head);
    let base = base.unwrap_or_else(|| "HEAD~1".to_owned());
    git(&["show", &format!("{}:xtask/house.toml", base.trim())])
}

/// Reasons of raised limits, by the limit.
pub(super) fn reasons(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let (mut reasons, mut pending) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        match (line.strip_prefix(MARK), line.split_once(" = ")) {
            (Some(_), _) => pending.push(line),
            (None, Some((name, _))) => drop(reasons.insert(name, std::mem::take(&mut pending))),
            (None, None) => pending.clear(),
        }
    }
    reasons.retain(|_, lines| !lines.is_empty());
    reasons
}

/// Limits that are looser than before, without one reason more than before.
pub(super) fn find_unreasoned(before: &str, now: &str) -> Result<Vec<String>, toml::de::Error> {
    let (old, new): (BTreeMap<String, f64>, BTreeMap<String, f64>) = (toml::from_str(before)?, toml::from_str(now)?);
    let count = |text: &str, name: &str| reasons(text).get(name).map_or(0, Vec::len);
    let unreasoned = FIGURES.iter().filter_map(|figure| {
        let (was, is) = (old.get(figure.name)?, new.get(figure.name)?);
        let looser = match figure.better {
            Better::Higher => is < was,
            Better::Lower => is > was,
        };
        let told = count(now, figure.name) > count(before, figure.name);
        (looser && !told).then(|| {
            format!("{}: the limit was {was:.1} and is {is:.1}, and no `{MARK}` line above it says why", figure.name)
        })
    });
    Ok(unreasoned.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_with_a_reason_alone() {
        let before = "file_lines_p95 = 287.0\nvisible_documented_percent = 99.9\n";
        let told = "# raised: more\nfile_lines_p95 = 290.0\nvisible_documented_percent = 99.9\n";
        for (before, now, expected) in [
            (before, before, 0),
            (before, "file_lines_p95 = 280.0\nvisible_documented_percent = 100.0\n", 0),
            (before, "file_lines_p95 = 290.0\nvisible_documented_percent = 99.0\n", 2),
            (before, told, 0),
            // The reason of an earlier time is none for now.
            (told, "# raised: more\nfile_lines_p95 = 300.0\n", 1),
            (told, "# raised: more\n# raised: again\nfile_lines_p95 = 300.0\n", 0),
            // A reason stands directly above its limit.
            (before, "# raised: more\n\nfile_lines_p95 = 290.0\n", 1),
        ] {
            assert_eq!(find_unreasoned(before, now).unwrap().len(), expected, "{now}");
        }
    }

    #[test]
    fn limits_of_the_repository_were_not_loosened_in_silence() {
        let now = std::fs::read_to_string(repository_root().join("xtask/house.toml")).unwrap();
        let before = limits_before().unwrap_or_else(|| now.clone());
        assert_eq!(find_unreasoned(&before, &now).unwrap(), Vec::<String>::new());
        assert!(!reasons(&now).is_empty(), "reasons of the raises so far are kept");
    }
}
