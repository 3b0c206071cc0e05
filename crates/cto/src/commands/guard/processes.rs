//! Processes that may work in the Core workspace, as `/proc` shows them: by their folder, program, open files and arguments.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use contract::core_route::CoreProcess;

/// Words of a command that begin so are those of a validation.
const VALIDATION_BEGINNINGS: [&str; 3] = ["validat", "verif", "pytest"];
/// Whole words of a command that are those of a validation.
const VALIDATION_WORDS: [&str; 24] = [
    "test", "tests", "testing", "unittest", "nextest", "xtask", "tox", "nox", "ctest", "mvn", "gradle", "gradlew",
    "jest", "vitest", "mocha", "rspec", "phpunit", "bazel", "lint", "clippy", "check", "health", "bench", "ci",
];
/// Shells that wait for a person where they are started without a script and read a terminal.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "nu"];
/// Programs that a person leaves open in a folder at a terminal, and that run nothing of it.
const OPEN_PAGES: [&str; 8] = ["vi", "vim", "nvim", "nano", "less", "more", "man", "top"];
/// Programs that go on without a terminal, and that run nothing of a folder themselves.
const KEEPERS: [&str; 5] = ["tmux", "screen", "ssh", "ssh-agent", "gpg-agent"];
/// More folders above one another than any path has.
const MOST_FOLDERS: usize = 256;
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
    let trees = CoreTrees::of_roots(roots);
    for (pid, place) in processes.iter().filter(|(pid, _)| askers.first() != Some(pid)) {
        judge_process(*pid, place, &trees, askers.contains(pid), &mut found);
    }
    found
}

fn pid_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.parse().ok()
}

fn judge_process(pid: u32, place: &Path, trees: &CoreTrees<'_>, asks: bool, found: &mut CoreProcesses) {
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
    let nameless = trees.roots.iter().fold(command.clone(), |text, root| text.replace(&*root.to_string_lossy(), " "));
    let validates = is_validation(&nameless);
    let counts = match fs::read_link(place.join("cwd")) {
        Ok(folder) if trees.hold_folder(&folder, &place.join("cwd")) => {
            validates || !(asks || is_idle(place, &arguments, trees))
        }
        Err(error) if is_gone(&error) => return,
        Err(_) if validates => {
            let why = "looks like a validation, and the folder that it works in cannot be read";
            return found.uncertain.push(format!("process {pid} {why}: {}", shorten(&command)));
        }
        Ok(folder) => !asks && trees.are_used(place, &folder, &arguments, validates),
        Err(_) => false,
    };
    if counts {
        found.validations.push(CoreProcess { pid, command: shorten(&command) });
    }
}

/// The trees of Core, by path and by their numbers on the file system: another mount or namespace has other paths.
struct CoreTrees<'r> {
    roots: &'r [PathBuf],
    numbers: Vec<(u64, u64)>,
}

impl<'r> CoreTrees<'r> {
    fn of_roots(roots: &'r [PathBuf]) -> Self {
        let numbers = roots.iter().filter_map(|root| fs::metadata(root).ok()).map(|stat| (stat.dev(), stat.ino()));
        Self { roots, numbers: numbers.collect() }
    }

    fn hold(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// True of a folder in a tree; `seen` leads to it from here, whatever its path is for its process.
    fn hold_folder(&self, folder: &Path, seen: &Path) -> bool {
        if self.hold(folder) {
            return true;
        }
        let (mut above, mut last) = (seen.to_owned(), None);
        for _ in 0..MOST_FOLDERS {
            let number = fs::metadata(&above).ok().map(|stat| (stat.dev(), stat.ino()));
            match number {
                Some(number) if self.numbers.contains(&number) => return true,
                None => return false,
                here if here == last => return false,
                here => last = here,
            }
            above.push("..");
        }
        false
    }

    /// True of a process elsewhere that writes in a tree or runs a program of one; and of a validation that reads there, or that
    /// names something there in an argument.
    fn are_used(&self, place: &Path, folder: &Path, arguments: &[String], validates: bool) -> bool {
        self.are_written(place)
            || fs::read_link(place.join("exe")).is_ok_and(|program| self.hold(&program))
            || validates && (self.are_open(place) || arguments.iter().any(|argument| self.are_named(folder, argument)))
    }

    /// True if an argument, or a word in it, leads into a tree from the folder of its process.
    fn are_named(&self, folder: &Path, argument: &str) -> bool {
        let is_edge = |c: char| c.is_whitespace() || "=:,;&|()<>'\"`".contains(c);
        // `-Cdir` and the like have no space behind the letter.
        let short = argument.strip_prefix('-').and_then(|rest| rest.get(1..));
        let words = argument.split(is_edge).chain([argument]).chain(short);
        let is_written = self.roots.iter().any(|root| argument.contains(&*root.to_string_lossy()));
        let leads_inside = |word: &str| {
            let path = folder.join(word);
            self.hold(&full_path(&path))
        };
        is_written || words.filter(|word| !word.is_empty()).any(leads_inside)
    }

    fn open_files(place: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let entries = fs::read_dir(place.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter_map(|link| Some((fs::read_link(&link).ok()?, link)))
    }

    fn are_open(&self, place: &Path) -> bool {
        Self::open_files(place).any(|(target, _)| self.hold(&target))
    }

    /// True if a file of a tree is open for writing.
    fn are_written(&self, place: &Path) -> bool {
        Self::open_files(place).filter(|(target, _)| self.hold(target)).any(|(_, link)| {
            let info = link.file_name().map(|number| place.join("fdinfo").join(number));
            let text = info.and_then(|info| fs::read_to_string(info).ok()).unwrap_or_default();
            let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
            flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_none_or(|flags| flags & 0b11 != 0)
        })
    }
}

/// The path without links, as far as it leads to something.
fn full_path(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let full = found.map(|(above, full)| full.join(path.strip_prefix(above).unwrap_or(path)));
    plain_path(full.as_deref().unwrap_or(path))
}

/// The path without `.` and `..`.
fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
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

/// True of a shell that waits at a terminal, and of a program that runs nothing of a folder. A name in the arguments is what the
/// starter chose, so the program is known by its file, which has to belong to the system.
fn is_idle(place: &Path, arguments: &[String], trees: &CoreTrees<'_>) -> bool {
    let Ok(program) = fs::read_link(place.join("exe")) else { return false };
    let is_of_system = fs::metadata(place.join("exe")).is_ok_and(|stat| stat.uid() == 0 && stat.mode() & 0o022 == 0);
    if !is_of_system || trees.hold(&program) {
        return false;
    }
    let has_terminal = |numbers: &[u8]| {
        let is_terminal =
            |target: PathBuf| target.starts_with("/dev/pts") || target.to_string_lossy().starts_with("/dev/tty");
        numbers.iter().any(|number| fs::read_link(place.join(format!("fd/{number}"))).is_ok_and(is_terminal))
    };
    match kind_of(&program, arguments) {
        IdleKind::WaitingShell => has_terminal(&[0]),
        IdleKind::OpenPage => has_terminal(&[0, 1, 2]),
        IdleKind::Keeper => true,
        IdleKind::Other => false,
    }
}

/// Way in which a program can be left open in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdleKind {
    WaitingShell,
    OpenPage,
    Keeper,
    Other,
}

fn kind_of(program: &Path, arguments: &[String]) -> IdleKind {
    let file = program.file_name().unwrap_or_default().to_string_lossy();
    let name = file.split('.').next().unwrap_or(&file);
    let is_bare = arguments.iter().skip(1).all(|word| ["-i", "-l", "--login"].contains(&word.as_str()));
    match () {
        () if SHELLS.contains(&name) && is_bare => IdleKind::WaitingShell,
        () if OPEN_PAGES.contains(&name) => IdleKind::OpenPage,
        () if KEEPERS.contains(&name) => IdleKind::Keeper,
        () => IdleKind::Other,
    }
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
    fn only_a_shell_without_a_script_or_a_known_program_can_idle() {
        for (program, arguments, expected) in [
            ("/usr/bin/bash", "-bash", IdleKind::WaitingShell),
            ("/usr/bin/zsh", "/usr/bin/zsh -l", IdleKind::WaitingShell),
            ("/usr/bin/vim.basic", "vim src/lib.rs", IdleKind::OpenPage),
            ("/usr/bin/tmux", "tmux new", IdleKind::Keeper),
            ("/usr/bin/dash", "sh build.sh", IdleKind::Other),
            ("/usr/bin/bash", "bash -c make", IdleKind::Other),
            ("/srv/core/build", "vim src/lib.rs", IdleKind::Other),
            ("/usr/bin/python3.12", "-bash", IdleKind::Other),
        ] {
            let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            assert_eq!(kind_of(Path::new(program), &arguments), expected, "{program} {arguments:?}");
        }
    }

    #[test]
    fn an_argument_names_a_tree_from_the_folder_of_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(base.join("core/tests")).unwrap();
        std::os::unix::fs::symlink(base.join("core"), base.join("link")).unwrap();
        let roots = [base.join("core")];
        let trees = CoreTrees::of_roots(&roots);
        for (argument, expected) in [
            ("core/tests", true),
            ("./x/../core", true),
            ("link/tests", true),
            ("core/not/there", true),
            ("link/not/../there", true),
            ("--rootdir=core", true),
            ("-Ccore", true),
            ("cd core && pytest", true),
            ("PATH=/bin:link", true),
            ("coretests", false),
            ("tests", false),
            ("..", false),
        ] {
            assert_eq!(trees.are_named(&base, argument), expected, "{argument}");
        }
    }
}
