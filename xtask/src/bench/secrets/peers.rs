//! Other people's scanners, installed on first use and kept.

use std::path::{Path, PathBuf};

use super::Findings;
use crate::process::{cache, cargo, command_output, program, run_command};
use crate::{ChoreResult, tools};

/// Row of kingfisher.
pub(super) const KINGFISHER: &str = "kingfisher 2.14.0, one job, no validation";
/// Row of detect-secrets.
pub(super) const DETECT_SECRETS: &str = "detect-secrets 1.5.0";

const PACKAGES: [&str; 2] = ["kingfisher-bin==2.14.0", "detect-secrets==1.5.0"];

/// Those that are there. One that cannot be had is left out, and said so.
pub(super) struct Peers {
    pub(super) kingfisher: Option<PathBuf>,
    pub(super) detect_secrets: Option<PathBuf>,
}

/// ripgrep's program: the one of this machine, Debian's where we may install it, or one
/// that cargo builds. Of the other scanners that people use, gitleaks and the current
/// trufflehog could not be had from the registries of packages, so they are not measured.
pub(super) fn ripgrep() -> ChoreResult<PathBuf> {
    if tools::need("rg", "ripgrep").is_ok() {
        return Ok("rg".into());
    }
    let folder = cache()?.join("ripgrep");
    let exe = folder.join("bin/rg");
    if !exe.is_file() {
        eprintln!("xtask: building {}", exe.display());
        let mut install = cargo(&["install", "--quiet", "--locked", "ripgrep", "--root"]);
        run_command(install.arg(&folder).arg("--target-dir").arg(folder.join("build")))?;
    }
    Ok(exe)
}

/// Scanners that are installed. One that cannot be installed is left out with a message.
pub(super) fn installed() -> ChoreResult<Peers> {
    let folder = cache()?.join("peers");
    let [kingfisher, detect_secrets] = ["kingfisher", "detect-secrets"].map(|name| folder.join("bin").join(name));
    let missing = !kingfisher.is_file() || !detect_secrets.is_file();
    if missing && let Err(message) = install(&folder) {
        eprintln!("xtask: without the other scanners, they cannot be installed: {message}");
    }
    let there = |path: PathBuf| path.is_file().then_some(path);
    Ok(Peers { kingfisher: there(kingfisher), detect_secrets: there(detect_secrets) })
}

fn install(folder: &Path) -> ChoreResult {
    eprintln!("xtask: making {}", folder.display());
    let words = ["-m", "venv", "--clear"].map(std::ffi::OsStr::new);
    command_output(&mut program("python3", words.into_iter().chain([folder.as_os_str()])))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    command_output(&mut program(folder.join("bin/python"), pip.iter().chain(&PACKAGES))).map(drop)
}

/// Its findings are lines of JSON, each with the path in it.
pub(super) fn kingfisher(exe: &Path, path: &Path) -> ChoreResult<Findings> {
    let words = [
        "scan",
        "--no-validate",
        "--no-update-check",
        "--quiet",
        "--format",
        "jsonl",
        "--jobs",
        "1",
        "--no-dedup",
        "--no-limits",
    ];
    let mut command = program(exe, words);
    command.arg(path);
    // The program ends with another code if it finds something.
    let told = command.output().map_err(|error| format!("cannot start kingfisher: {error}"))?;
    let text = String::from_utf8_lossy(&told.stdout);
    Ok(text.lines().filter_map(|line| value_of(line, "path")).collect())
}

/// Its findings are one JSON document that names the file in each of them. It leaves out
/// what is not below the folder it is called in.
pub(super) fn detect_secrets(exe: &Path, path: &Path) -> ChoreResult<Findings> {
    let mut command = program(exe, ["scan", "--no-verify", "--all-files"]);
    match (path.is_dir(), path.parent(), path.file_name()) {
        (false, Some(folder), Some(name)) => command.current_dir(folder).arg(name),
        _ => command.current_dir(path).arg("."),
    };
    let text = command_output(&mut command)?;
    Ok(text.lines().filter_map(|line| value_of(line, "filename")).collect())
}

/// The string that a line of JSON gives to a name; paths of ours have nothing in them that
/// is escaped.
fn value_of(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    let (value, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(value.to_owned())
}
