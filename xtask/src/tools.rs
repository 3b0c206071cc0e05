//! What tests need beyond Rust: a few programs, and a Python with the libraries our formats are checked against.

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{cache, is_there, output, program, run};

/// Program and the Debian package it comes in.
const PROGRAMS: [(&str, &str); 4] =
    [("git", "git"), ("python3", "python3"), ("node", "nodejs"), ("ssh-keygen", "openssh-client")];

/// Other people's implementations that must agree with ours. The marker in the folder holds this text.
const LIBRARIES: [&str; 3] = ["jsonschema==4.26.0", "securesystemslib[crypto]==1.6.0", "cryptography==50.0.2"];

/// Installs missing programs where we may; where not, the tests that need them say that they are skipped.
pub(crate) fn programs() {
    let missing: Vec<_> = PROGRAMS.iter().filter(|(name, _)| !is_there(name)).collect();
    if missing.is_empty() {
        return;
    }
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    if let Err(message) = install(&packages) {
        eprintln!("xtask: not installed, tests that need it are skipped: {}\n{message}", packages.join(", "));
    }
}

/// The Python to check formats with, made on first use and kept.
pub(crate) fn python() -> Outcome<PathBuf> {
    let folder = cache()?.join("venv");
    let python = folder.join("bin/python");
    let marker = folder.join("cto-libraries.txt");
    let wanted = LIBRARIES.join("\n");
    if python.is_file() && std::fs::read_to_string(&marker).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    eprintln!("xtask: making {}", folder.display());
    make_venv(&folder)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    output(&mut program(&python, pip.iter().chain(&LIBRARIES)))?;
    std::fs::write(&marker, wanted).map_err(|error| format!("cannot write {}: {error}", marker.display()))?;
    Ok(python)
}

fn make_venv(folder: &Path) -> Outcome {
    let venv = || {
        let place = folder.as_os_str();
        let words = ["-m", "venv", "--clear"].map(std::ffi::OsStr::new);
        output(&mut program("python3", words.into_iter().chain([place]))).map(drop)
    };
    // Debian ships Python without the part that makes these.
    venv().or_else(|message| install(&["python3-venv"]).map_err(|_| message).and_then(|()| venv()))
}

fn install(packages: &[&str]) -> Outcome {
    if output(&mut program("id", ["-u"]))?.trim() != "0" || !is_there("apt-get") {
        return Err("only root on a system with apt-get can install what is missing".to_owned());
    }
    run(&mut program("apt-get", ["update", "-qq"]))?;
    let words = ["install", "-y", "-qq", "--no-install-recommends"];
    run(program("apt-get", words.iter().chain(packages)).env("DEBIAN_FRONTEND", "noninteractive"))
}
