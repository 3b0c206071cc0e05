//! Starting programs, and where things lie in the repository.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A chore ends well, or with a sentence for the person who started it.
pub(crate) type ChoreResult<T = ()> = Result<T, String>;

/// The repository.
pub(crate) fn repository_root() -> PathBuf {
    // Cargo tells where this package is now; where it was compiled may be another place.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().map(PathBuf::from).unwrap_or(package)
}

/// Cargo's target folder: two above this executable, so that a configured one is found too.
pub(crate) fn target() -> PathBuf {
    let here = std::env::current_exe().ok();
    let target = here.as_deref().and_then(|exe| exe.parent()?.parent());
    target.map_or_else(|| repository_root().join("target"), PathBuf::from)
}

/// Folder for files that chores keep between runs.
pub(crate) fn cache() -> ChoreResult<PathBuf> {
    let cache = target().join("cache");
    std::fs::create_dir_all(&cache).map_err(|error| format!("cannot make {}: {error}", cache.display()))?;
    Ok(cache)
}

/// The cargo that runs us, in the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(repository_root());
    command
}

/// Command without input. The caller decides about its output.
pub(crate) fn program<S: AsRef<OsStr>>(name: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs it with our own output; an error unless it ends with 0.
pub(crate) fn run_command(command: &mut Command) -> ChoreResult {
    let name = named(command);
    let status = command.status().map_err(|error| format!("cannot start {name}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{name}: {status}")),
    }
}

/// Runs it and gives what it printed; an error, with what it said, unless it ends with 0.
pub(crate) fn command_output(command: &mut Command) -> ChoreResult<String> {
    let name = named(command);
    let output = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}\n{}", output.status, said.trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{name} printed something that is not UTF-8"))
}

/// True if a program of this name is on the path.
pub(crate) fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn named(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args().take(3));
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
