//! Names of a pack: those that may stand in one, and those that stay on their machine.

use ledger::EVIDENCE_FOLDERS;

/// Files of a home that travel. Nothing else of a home does but [`home_folders`]: no key, no list of workspaces, no cache, no engine.
pub(super) const HOME_FILES: [&str; 5] = [
    LEDGER_FILE,
    "trust/allowed_signers",
    "trust/approval-policy.yaml",
    "trust/compromised.json",
    "trust/harness_keys",
];
/// Place of the ledger's copy in the home of a pack.
pub(super) const LEDGER_FILE: &str = "ledger.db";
const REQUESTS: &str = "requests";
/// Ends of names that only files of a home have. In a workspace they would make one of its folders a home.
const HOME_ENDS: [&str; 5] =
    ["keys/harness.pem", "keys/operator", "trust/continuity.json", "trust/harness_keys", "trust/workspaces"];
/// Begins the name of the folder in which a pack is written.
pub(super) const SCRATCH: &str = ".cto-pack.part-";
const LONGEST_NAME: usize = 1024;
/// Longest part of a name that every file system takes.
const LONGEST_PART: usize = 255;
/// Folders within folders, far more than a workspace or a bundle has.
const DEEPEST: usize = 64;
const GIT: &str = ".git";
/// The short form that Windows file systems give it.
const SHORT_GIT: &str = "git~1";
/// Parts of a git directory that git acts on, or that lead out of it.
const ACTING_PARTS: [&str; 9] = [
    "hooks",
    "config",
    "config.worktree",
    "worktrees",
    "modules",
    "commondir",
    "gitdir",
    "fsmonitor--daemon",
    "fsmonitor--daemon.ipc",
];
/// Files of a git directory that name other repositories.
const BORROWING_FILES: [&str; 2] = ["objects/info/alternates", "objects/info/http-alternates"];
/// Folders that are made again on each machine, wherever they lie.
const MADE_AGAIN: [&str; 5] = ["node_modules", "__pycache__", ".venv", ".cto-sandbox", ".sandcastle"];
/// Examples of settings without their values.
const EXAMPLES: [&str; 3] = [".env.example", ".env.sample", ".env.template"];
const ACTS: &str = "is a part of a git directory that git would act on";

/// Answer to the question of whether a part of a workspace travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackDecision {
    Travels,
    LeftOut,
    /// The workspace would not be whole elsewhere.
    Stops(&'static str),
}

/// Judges a file or folder of the sender, by its name in the pack.
pub(super) fn judge_part(name: &str) -> PackDecision {
    let Some(inner) = name.strip_prefix("workspace/") else { return PackDecision::Travels };
    let lower = inner.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    match lower.strip_prefix(".git/") {
        Some(of_git) if BORROWING_FILES.contains(&of_git) => {
            PackDecision::Stops("borrows objects of another repository")
        }
        Some(of_git) if ACTING_PARTS.contains(&of_git) => PackDecision::LeftOut,
        Some(_) => PackDecision::Travels,
        None if last == GIT && lower != GIT => PackDecision::LeftOut,
        None if MADE_AGAIN.contains(&last) || is_environment(last) || lower == "scratch" => PackDecision::LeftOut,
        None if last.ends_with(".cto-pack.tar.zst") || last.starts_with(SCRATCH) => PackDecision::LeftOut,
        None => PackDecision::Travels,
    }
}

/// Problem of a name, which has to lie below `workspace/` or `home/` and to mean one place on every system.
pub(super) fn name_problem(name: &str) -> Option<&'static str> {
    let has_root = name.starts_with("workspace/") || name.starts_with("home/");
    match () {
        () if !has_root => Some("lies neither in the workspace nor in the home"),
        () if name.len() > LONGEST_NAME => Some("has a name that is too long"),
        () if name.split('/').any(|part| part.len() > LONGEST_PART) => Some("has a name that is too long"),
        () if name.split('/').count() > DEEPEST => Some("lies too deep"),
        () if name.chars().any(char::is_control) || name.contains('\\') => {
            Some("has a name with a control character or backslash")
        }
        () if name.split('/').any(|part| matches!(part, "" | "." | "..")) => Some("leads out of the pack"),
        () if is_secret_name(name) => Some("could be a secret, which never travels"),
        () if acts_in_git(name) => Some(ACTS),
        () if !has_place_in_home(name) => Some("is not a part of a home that a pack may hold"),
        () if is_home_in_workspace(name) => Some("would make a folder of the workspace a home"),
        () => None,
    }
}

/// Folders of a home that travel with everything in them.
pub(super) fn home_folders() -> impl Iterator<Item = &'static str> {
    EVIDENCE_FOLDERS.into_iter().chain([REQUESTS])
}

/// True of names outside of the home, and of exactly what a home sends.
fn has_place_in_home(name: &str) -> bool {
    let Some(inner) = name.strip_prefix("home/") else { return true };
    let is_inside = |folder: &str| inner.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    HOME_FILES.contains(&inner) || home_folders().any(is_inside)
}

fn is_home_in_workspace(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let ends = |end: &&str| lower.strip_suffix(*end).is_some_and(|before| before.ends_with('/'));
    lower.starts_with("workspace/") && HOME_ENDS.iter().any(ends)
}

/// Places of private keys in a home, and settings of an environment.
fn is_secret_name(name: &str) -> bool {
    let is_setting =
        name.starts_with("workspace/") && name.split('/').any(|part| is_environment(&part.to_ascii_lowercase()));
    name.starts_with("home/keys/") || is_setting
}

fn is_environment(part: &str) -> bool {
    (part == ".env" || part.starts_with(".env.")) && !EXAMPLES.contains(&part)
}

/// True of anything by which git would run a program, or look into another folder, and of
/// every git directory but the workspace's own.
fn acts_in_git(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let Some(of_git) = lower.strip_prefix("workspace/.git/") else { return lower.split('/').any(is_git_name) };
    let first = of_git.split('/').next().unwrap_or(of_git);
    let is_nested = of_git.split('/').any(is_git_name);
    is_nested || ACTING_PARTS.contains(&first) || BORROWING_FILES.contains(&of_git)
}

/// True of a part in small letters that some file system reads as `.git`: without characters that it ignores, without dots and spaces
/// at the end, without the name of a stream, or in its short form.
fn is_git_name(part: &str) -> bool {
    let is_ignored =
        |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let kept: String = part.chars().filter(|c| !is_ignored(*c)).collect();
    let bare = kept.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    bare == GIT || bare == SHORT_GIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lie_in_their_places_and_no_key_travels() {
        for (name, why) in [
            ("workspace/a/b", None),
            ("home/ledger.db", None),
            ("etc/passwd", Some("lies neither in the workspace nor in the home")),
            ("/workspace/a", Some("lies neither in the workspace nor in the home")),
            ("workspace/../a", Some("leads out of the pack")),
            ("workspace//a", Some("leads out of the pack")),
            ("home/keys/harness.pem", Some("could be a secret, which never travels")),
            ("workspace/a\nb", Some("has a name with a control character or backslash")),
            ("workspace/.git/objects/ab/cdef", None),
            ("workspace/.git/HEAD", None),
            ("workspace/.gitignore", None),
            ("workspace/.github/hooks/a", None),
            ("workspace/.git", Some(ACTS)),
            ("workspace/.git/hooks/post-checkout", Some(ACTS)),
            ("workspace/.git/config", Some(ACTS)),
            ("workspace/.GIT/Config", Some(ACTS)),
            ("workspace/.git/config.worktree", Some(ACTS)),
            ("workspace/.git/worktrees/a/gitdir", Some(ACTS)),
            ("workspace/.git/modules/a/config", Some(ACTS)),
            ("workspace/.git/commondir", Some(ACTS)),
            ("workspace/.git/objects/info/alternates", Some(ACTS)),
            ("workspace/sub/.git/config", Some(ACTS)),
            ("workspace/sub/.git/HEAD", Some(ACTS)),
            ("workspace/.g\u{200c}it/config", Some(ACTS)),
            ("workspace/.git./config", Some(ACTS)),
            ("workspace/sub/.GIT /config", Some(ACTS)),
            ("workspace/.git::$INDEX_ALLOCATION/config", Some(ACTS)),
            ("workspace/GIT~1/config", Some(ACTS)),
            ("workspace/.git/.\u{feff}git/config", Some(ACTS)),
            ("workspace/.g\u{200c}itx/config", None),
            ("workspace/git~10", None),
            ("home/harness-runs/x/.git/hooks/a", Some(ACTS)),
            ("workspace/sub/.env", Some("could be a secret, which never travels")),
            ("workspace/.env.local", Some("could be a secret, which never travels")),
            ("workspace/.env.example", None),
            ("home/trust/workspaces", Some("is not a part of a home that a pack may hold")),
            ("home/trust/continuity.json", Some("is not a part of a home that a pack may hold")),
            ("home/trust/allowed_signers/x", Some("is not a part of a home that a pack may hold")),
            ("home/engines/identity-x", Some("is not a part of a home that a pack may hold")),
            ("home/cache/baselines/x.json", Some("is not a part of a home that a pack may hold")),
            ("home/halt.json", Some("is not a part of a home that a pack may hold")),
            ("home/harness-runs", Some("is not a part of a home that a pack may hold")),
            ("home/harness-runsx/a", Some("is not a part of a home that a pack may hold")),
            ("home/Ledger.db", Some("is not a part of a home that a pack may hold")),
            ("home/harness-runs/r/report.json", None),
            ("home/requests/req-1/packet.txt", None),
            ("home/trust/allowed_signers", None),
            ("workspace/.cto/keys/operator", Some("would make a folder of the workspace a home")),
            ("workspace/.cto/trust/Workspaces", Some("would make a folder of the workspace a home")),
            ("workspace/docs/trust/allowed_signers", None),
            ("workspace/xkeys/operator", None),
        ] {
            assert_eq!(name_problem(name), why, "{name}");
        }
    }

    #[test]
    fn names_have_a_length_and_a_depth() {
        let (part, long) = ("x".repeat(LONGEST_PART), format!("/{}", "x".repeat(100)).repeat(10));
        for (name, why) in [
            (format!("workspace/{part}"), None),
            (format!("workspace/{part}x"), Some("has a name that is too long")),
            (format!("workspace{long}"), None),
            (format!("workspace{long}/12345"), Some("has a name that is too long")),
            (format!("workspace{}", "/a".repeat(DEEPEST - 1)), None),
            (format!("workspace{}", "/a".repeat(DEEPEST)), Some("lies too deep")),
        ] {
            assert_eq!(name_problem(&name), why, "{name}");
        }
    }

    #[test]
    fn parts_that_mean_something_on_one_machine_alone_stay_there() {
        for (name, expected) in [
            ("workspace/.git/hooks", PackDecision::LeftOut),
            ("workspace/.git/config", PackDecision::LeftOut),
            ("workspace/a/node_modules", PackDecision::LeftOut),
            ("workspace/scratch", PackDecision::LeftOut),
            ("workspace/a/.env", PackDecision::LeftOut),
            ("workspace/vendored/.git", PackDecision::LeftOut),
            ("workspace/team.cto-pack.tar.zst", PackDecision::LeftOut),
            ("workspace/.cto-pack.part-7", PackDecision::LeftOut),
            ("workspace/.git/objects/info/alternates", PackDecision::Stops("borrows objects of another repository")),
            ("workspace/.git", PackDecision::Travels),
            ("workspace/a/scratch", PackDecision::Travels),
            ("workspace/WORKBOARD.yaml", PackDecision::Travels),
            ("home/ledger.db", PackDecision::Travels),
        ] {
            assert_eq!(judge_part(name), expected, "{name}");
        }
    }
}
