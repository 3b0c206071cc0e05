//! Processes that may work in the Core workspace, as `/proc` shows them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use contract::core_route::CoreProcess;

/// Words of a command that begin so are those of a validation.
const VALIDATION_BEGINNINGS: [&str; 3] = ["validat", "verif", "pytest"];
/// Whole words of a command that are those of a validation.
const VALIDATION_WORDS: [&str; 24] = [
    "test", "tests", "testing", "unittest", "nextest", "xtask", "tox", "nox", "ctest", "mvn", "gradle", "gradlew",
    "jest", "vitest", "mocha", "rspec", "phpunit", "bazel", "lint", "clippy", "check", "health", "bench", "ci",
];
/// Shells that wait for a person where they are started without a script.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "nu"];
/// Programs that a person may leave open in a folder, and that run nothing of it.
const IDLE_PROGRAMS: [&str; 13] =
    ["vi", "vim", "nvim", "nano", "less", "more", "man", "tmux", "screen", "ssh", "ssh-agent", "gpg-agent", "top"];
/// More parents than any process has.
const MOST_PARENTS: usize = 256;

/// Processes that count, and those of which it is not known whether they do.
#[derive(Debug, Default)]
pub(super) struct CoreProcesses {
    pub(super) validations: Vec<CoreProcess>,
    pub(super) uncertain: Vec<String>,
}

/// Finds processes that work in one of the trees and do not certainly idle, and validations
/// that name one. The trees are canonical paths, as the kernel gives folders.
pub(super) fn find_processes(roots: &[PathBuf]) -> CoreProcesses {
    let mut found = CoreProcesses::default();
    let entries = match fs::read_dir("/proc") {
        Ok(entries) => entries.flatten().map(|entry| entry.path()),
        Err(error) => {
            found.uncertain.push(format!("the processes cannot be listed: {error}"));
            return found;
        }
    };
    let mut processes: Vec<(u32, PathBuf)> = entries.filter_map(|path| Some((pid_of(&path)?, path))).collect();
    processes.sort_unstable();
    if processes.first().is_none_or(|(pid, _)| *pid != 1) {
        found.uncertain.push("the processes of other users are hidden".to_owned());
    }
    let askers = list_askers();
    for (pid, place) in processes.iter().filter(|(pid, _)| askers.first() != Some(pid)) {
        judge_process(*pid, place, roots, askers.contains(pid), &mut found);
    }
    found
}

fn pid_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.parse().ok()
}

fn judge_process(pid: u32, place: &Path, roots: &[PathBuf], asks: bool, found: &mut CoreProcesses) {
    let arguments = match fs::read(place.join("cmdline")) {
        Ok(bytes) => split_arguments(&bytes),
        Err(error) if is_gone(&error) => return,
        Err(error) => return found.uncertain.push(format!("process {pid} cannot be looked at: {error}")),
    };
    // Threads of the kernel and processes that have ended have no command.
    if arguments.is_empty() {
        return;
    }
    let command = arguments.join(" ");
    // The place of a tree says nothing of what a command does.
    let nameless = roots.iter().fold(command.clone(), |text, root| text.replace(&*root.to_string_lossy(), " "));
    let validates = is_validation(&nameless);
    let counts = match fs::read_link(place.join("cwd")) {
        Ok(folder) if roots.iter().any(|root| folder.starts_with(root)) => validates || !(asks || is_idle(&arguments)),
        Err(error) if is_gone(&error) => return,
        Err(_) if validates => {
            let why = "looks like a validation, and the folder that it works in cannot be read";
            return found.uncertain.push(format!("process {pid} {why}: {}", shorten(&command)));
        }
        Ok(_) | Err(_) => !asks && validates && roots.iter().any(|root| command.contains(&root.display().to_string())),
    };
    if counts {
        found.validations.push(CoreProcess { pid, command: shorten(&command) });
    }
}

fn shorten(command: &str) -> String {
    command.chars().take(200).collect()
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn split_arguments(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// True if a command has a word of a validation. It only decides about processes that do
/// not work in a tree: those that do count by that alone.
fn is_validation(command: &str) -> bool {
    let command = command.to_lowercase();
    let mut words = command.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        VALIDATION_WORDS.contains(&word) || VALIDATION_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
    })
}

/// True of a shell that waits for a person, and of a program that runs nothing of a folder.
fn is_idle(arguments: &[String]) -> bool {
    let Some((program, rest)) = arguments.split_first() else { return true };
    let name = program.rsplit('/').next().unwrap_or(program).trim_start_matches('-');
    let is_waiting_shell =
        SHELLS.contains(&name) && rest.iter().all(|word| ["-i", "-l", "--login"].contains(&word.as_str()));
    is_waiting_shell || IDLE_PROGRAMS.contains(&name)
}

/// This process, then those that wait for its answer.
fn list_askers() -> Vec<u32> {
    let mut askers = vec![std::process::id()];
    while askers.len() < MOST_PARENTS {
        let parent = askers.last().and_then(|pid| read_parent(*pid)).filter(|parent| *parent > 1);
        match parent {
            Some(parent) => askers.push(parent),
            None => break,
        }
    }
    askers
}

fn read_parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_validations_by_their_words() {
        for (command, expected) in [
            ("sh /srv/validate_core.sh", true),
            ("python -m unittest discover", true),
            ("make TEST", true),
            ("npm run test:unit", true),
            ("/usr/bin/ctest --output-on-failure", true),
            ("node node_modules/.bin/jest", true),
            ("cargo nextest run", true),
            ("/usr/lib/systemd/systemd --user", false),
            ("sleep 60", false),
            ("latest-news --contest", false),
        ] {
            assert_eq!(is_validation(command), expected, "{command}");
        }
    }

    #[test]
    fn only_a_waiting_shell_or_an_open_page_idles() {
        for (command, expected) in [
            ("-bash", true),
            ("/usr/bin/zsh -l", true),
            ("vim src/lib.rs", true),
            ("sh build.sh", false),
            ("bash -c make", false),
            ("anything", false),
        ] {
            let arguments: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(is_idle(&arguments), expected, "{command}");
        }
    }
}
