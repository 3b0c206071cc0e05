//! A workspace of a large repository: made from the cache against `git worktree add`,
//! captured against `git status`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::rounds::{Candidate, in_turns};
use super::world::{World, git};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, run_command, target};

const ROUNDS: usize = 7;
const FOLDERS: usize = 500;
const FILES_IN_EACH: usize = 100;
/// Files of the repository that the change is made to.
const CHANGED: [&str; 3] =
    ["part-0/folder-3/file-7.txt", "part-2/folder-252/file-50.txt", "part-4/folder-499/file-99.txt"];

/// Measures making and capturing a workspace and returns the table.
pub(super) fn measure_workspace(bench: &Bench) -> ChoreResult<String> {
    run_command(&mut cargo(&["build", "--quiet", "--release", "--package", "tree", "--example", "workspace"]))?;
    let world = World::new(&bench.place, "workspace")?;
    let repository = world.path_of("repository");
    large_repository(&repository)?;
    let server = std::cell::RefCell::new(Server::start(&repository, &world.path_of("served"))?);
    let changed = world.path_of("changed");
    worktree_add(&repository, &changed)?;
    change(&changed)?;
    let layer = Layer::new(&world, "layer");
    layer.mount(
        &server.borrow_mut().ask("checkout")?,
        &CHANGED.map(|path| format!("echo changed > {path}")).join(" && "),
    )?;
    let (worktree, fresh) = (world.path_of("worktree"), Layer::new(&world, "fresh"));
    let capture = format!("capture {}", layer.upper.display());
    let candidates = vec![
        Candidate::new("`git worktree add`, 50,000 files", "worktree add", |_| worktree_add(&repository, &worktree))
            .clearing(|_| worktree_remove(&repository, &worktree)),
        Candidate::new("checkout from the cache, overlay mounted", "overlay", |_| {
            let root = server.borrow_mut().ask("checkout")?;
            fresh.mount(&root, &format!("test -s {}", CHANGED[0]))
        })
        .clearing(|_| fresh.remove()),
        Candidate::new("`git status --porcelain`, 3 files changed", "status", |_| status(&changed)),
        Candidate::new("capture of the layer, 3 files changed", "capture", |_| {
            let told = server.borrow_mut().ask(&capture)?;
            said(&told, &CHANGED.join(" "))
        }),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    layer.remove()?;
    Ok(bench_table(&rows, &[0, 2]))
}

/// A repository of one commit with [`FOLDERS`] folders in five parts.
pub(super) fn large_repository(folder: &Path) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    for number in 0..FOLDERS {
        let inner = folder.join(format!("part-{}/folder-{number}", number * 5 / FOLDERS));
        fs::create_dir_all(&inner).map_err(fail)?;
        for file in 0..FILES_IN_EACH {
            let line = format!("line of file {file} in folder {number}\n");
            fs::write(inner.join(format!("file-{file}.txt")), line.repeat(20)).map_err(fail)?;
        }
    }
    for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "baseline"]] {
        command_output(&mut git(folder, arguments))?;
    }
    Ok(())
}

fn worktree_add(repository: &Path, folder: &Path) -> ChoreResult {
    let name = folder.to_string_lossy();
    command_output(&mut git(repository, &["worktree", "add", "--quiet", "--detach", &name, "HEAD"])).map(drop)
}

fn worktree_remove(repository: &Path, folder: &Path) -> ChoreResult {
    command_output(&mut git(repository, &["worktree", "remove", "--force", &folder.to_string_lossy()])).map(drop)
}

fn change(folder: &Path) -> ChoreResult {
    CHANGED.iter().try_for_each(|path| {
        fs::write(folder.join(path), "changed\n").map_err(|error| format!("cannot write {path}: {error}"))
    })
}

fn status(folder: &Path) -> ChoreResult {
    let told = command_output(&mut git(folder, &["status", "--porcelain"]))?;
    let expected: String = CHANGED.iter().map(|path| format!(" M {path}\n")).collect();
    said(&told, &expected)
}

/// Ending well is no proof: what changed, and nothing else, must be in the answer.
fn said(told: &str, expected: &str) -> ChoreResult {
    match told == expected {
        true => Ok(()),
        false => Err(format!("it said {told:?}, not {expected:?}; its time means nothing")),
    }
}

/// The two folders an overlay writes, and the one it shows.
struct Layer {
    upper: PathBuf,
    work: PathBuf,
    shown: PathBuf,
}

impl Layer {
    fn new(world: &World, name: &str) -> Layer {
        let [upper, work, shown] = ["upper", "work", "shown"].map(|part| world.path_of(&format!("{name}-{part}")));
        Layer { upper, work, shown }
    }

    /// Mounts it over `lower` in a user and mount namespace of its own and runs a line of
    /// shell in it.
    fn mount(&self, lower: &str, line: &str) -> ChoreResult {
        for folder in [&self.upper, &self.work, &self.shown] {
            fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        let (upper, work) = (self.upper.display(), self.work.display());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
        let script = format!("mount -t overlay overlay -o \"$1\" \"$2\" && cd \"$2\" && {line}");
        command_output(program("unshare", ["-Urm", "sh", "-c", &script, "sh", &options]).arg(&self.shown)).map(drop)
    }

    fn remove(&self) -> ChoreResult {
        // The kernel leaves a folder in it that not even its owner may enter.
        let _ = fs::set_permissions(self.work.join("work"), fs::Permissions::from_mode(0o700));
        for folder in [&self.upper, &self.work, &self.shown] {
            fs::remove_dir_all(folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
        }
        Ok(())
    }
}

/// The crate that is measured, in a process that has everything at hand as the harness has:
/// only the calls are timed.
struct Server {
    child: Child,
    asked: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Server {
    fn start(repository: &Path, place: &Path) -> ChoreResult<Server> {
        let mut command = program(target().join("release/examples/workspace"), [repository, place]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the example: {error}"))?;
        let (asked, answers) = (child.stdin.take(), child.stdout.take().ok_or("the example has no output")?);
        let mut server = Server { child, asked, answers: BufReader::new(answers) };
        let ready = server.answer()?;
        said(&ready, "ready").map(|()| server)
    }

    fn ask(&mut self, line: &str) -> ChoreResult<String> {
        let asked = self.asked.as_mut().ok_or("the example has no input")?;
        writeln!(asked, "{line}").map_err(|error| format!("cannot ask the example: {error}"))?;
        self.answer()
    }

    fn answer(&mut self) -> ChoreResult<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).map_err(|error| format!("cannot hear the example: {error}"))?;
        if read == 0 { Err("the example ended".to_owned()) } else { Ok(line.trim_end().to_owned()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.asked = None;
        let _ = self.child.wait();
    }
}
