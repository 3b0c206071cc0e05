//! Limits of `xtask/house.toml` that were loosened by hand: each needs its reason above it.

use std::collections::BTreeMap;

use std::path::Path;

use super::{Better, FIGURES};
use crate::ChoreResult;
use crate::process::{command_output, program};

/// Begins the comment above a limit that says why it was raised.
const MARK: &str = "# raised: ";

/// The file with the limits, from the root of the repository.
const LIMITS: &str = "xtask/house.toml";

/// The limits of every commit that changed them, the newest first, with what is not committed before all. Refused where the history is
/// not here: a shallow clone could hide the commit that loosened one.
pub(super) fn limits_of_history(root: &Path) -> ChoreResult<Vec<String>> {
    let git = |arguments: &[&str]| command_output(program("git", arguments).current_dir(root));
    if git(&["rev-parse", "--is-shallow-repository"])?.trim() != "false" {
        return Err(format!("{LIMITS} cannot be compared with its history in a shallow clone: git fetch --unshallow"));
    }
    let path = root.join(LIMITS);
    let now = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let commits = git(&["log", "--format=%H", "--", LIMITS])?;
    let then = commits.lines().map(|commit| git(&["show", &format!("{commit}:{LIMITS}")]));
    let mut all: Vec<String> = std::iter::once(Ok(now)).chain(then).collect::<Result<_, _>>()?;
    // What is committed as it is now is no change.
    all.dedup();
    match all.len() {
        0 | 1 => Err(format!("{LIMITS} has no history to be compared with")),
        _ => Ok(all),
    }
}

/// Limits that the newest change of the file loosened without a reason.
pub(super) fn find_loosened(root: &Path) -> ChoreResult<Vec<String>> {
    let all = limits_of_history(root)?;
    let [now, before, ..] = all.as_slice() else { return Ok(Vec::new()) };
    find_unreasoned(before, now).map_err(|error| format!("{LIMITS}: {error}"))
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
    fn the_newest_change_of_the_limits_is_held_to_the_one_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("xtask")).unwrap();
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"];
            command_output(program("git", who).args(arguments).current_dir(root)).unwrap();
        };
        let commit = |limit: &str| {
            std::fs::write(root.join(LIMITS), format!("{limit}\n")).unwrap();
            std::fs::write(root.join("other"), limit).unwrap();
            git(&["add", "-A"]);
            git(&["commit", "-qm", limit]);
        };
        git(&["init", "-q"]);
        commit("file_lines_p95 = 280.0");
        assert!(find_loosened(root).is_err(), "nothing to compare with");
        commit("file_lines_p95 = 290.0");
        // Later commits that leave the file alone hide nothing.
        for number in 0..3 {
            std::fs::write(root.join("other"), number.to_string()).unwrap();
            git(&["commit", "-qam", "other"]);
        }
        assert_eq!(find_loosened(root).unwrap().len(), 1);
        std::fs::write(root.join(LIMITS), "file_lines_p95 = 289.0\n").unwrap();
        assert_eq!(find_loosened(root).unwrap(), Vec::<String>::new(), "control: tighter than the commit before");
        git(&["checkout", "-q", LIMITS]);
        let shallow = folder.path().join("shallow");
        git(&["clone", "-q", "--depth", "1", &format!("file://{}", root.display()), shallow.to_str().unwrap()]);
        assert!(find_loosened(&shallow).unwrap_err().contains("shallow"));
    }

    #[test]
    fn reasons_of_the_raises_so_far_are_kept() {
        let now = std::fs::read_to_string(crate::process::repository_root().join(LIMITS)).unwrap();
        assert!(!reasons(&now).is_empty());
    }
}
