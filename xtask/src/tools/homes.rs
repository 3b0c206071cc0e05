//! A home as package managers leave it: each of them has installed a tree of packages once,
//! from whatever registry it is configured for, and keeps it where it keeps such things.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{agents, fill_venv, is_marked, mark};
use crate::ChoreResult;
use crate::process::{cache, cargo, command_output, program};

/// Trees with more than one level: what is named, and what that needs in turn.
const NPM_TREE: [&str; 2] = ["chalk@4.1.2", "is-number@7.0.0"];
const PYTHON_TREE: [&str; 2] = ["jinja2==3.1.6", "inflection==0.5.1"];
const CRATE_TREE: [&str; 2] = ["itoa = \"=1.0.11\"", "textwrap = \"=0.16.1\""];

/// Backends that Python projects are built with, which pip meets when it installs one.
const BACKENDS: [&str; 2] = ["setuptools==80.9.0", "wheel==0.45.1"];

/// uv and Poetry, beside a pip that names the files of its cache differently than Debian's.
const MANAGERS: [&str; 3] = ["uv==0.13.8", "poetry==2.5.1", "pip==26.2"];

/// Index whose answers pip may keep, as those of PyPI: a mirror may forbid that.
const KEEPING_INDEX: &str = r#"import http.server, subprocess, sys, threading
folder, pip = sys.argv[1], sys.argv[2:]
class Index(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *given):
        super().__init__(*given, directory=folder)
    def end_headers(self):
        self.send_header("Cache-Control", "max-age=365000000, immutable, public")
        super().end_headers()
    def log_message(self, *given):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
threading.Thread(target=server.serve_forever, daemon=True).start()
at = "127.0.0.1:%d" % server.server_port
sys.exit(subprocess.call(pip + ["--no-index", "--trusted-host", at, "--find-links", "http://%s/" % at]))
"#;

/// The home; its `bin` has uv.
pub(super) fn user_home() -> ChoreResult<PathBuf> {
    let home = cache()?.join("user-home");
    let wanted = [&NPM_TREE[..], &PYTHON_TREE, &CRATE_TREE, &BACKENDS, &MANAGERS].concat().join("\n");
    if is_marked(&home, "packages", &wanted) {
        return Ok(home);
    }
    eprintln!("xtask: filling {}", home.display());
    make_folder(&home.join("bin"))?;
    fill_python(&home)?;
    fill_node(&home)?;
    fill_cargo(&home)?;
    mark(&home, "packages", &wanted)?;
    Ok(home)
}

fn fill_python(home: &Path) -> ChoreResult {
    let python = fill_venv(&cache()?.join("venv-managers"), &MANAGERS)?;
    let bin = python.parent().ok_or("the Python lies nowhere")?;
    let uv = home.join("bin/uv");
    std::fs::copy(bin.join("uv"), &uv).map_err(|error| format!("cannot copy uv: {error}"))?;
    let quoted = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");

    let project = home.join("projects/uv");
    let head = "[project]\nname = \"primer\"\nversion = \"1.0.0\"\nrequires-python = \">=3.9\"";
    write(&project, "pyproject.toml", &format!("{head}\ndependencies = [{}]\n", quoted(&PYTHON_TREE)))?;
    run(home, &project, &uv, &["sync", "--quiet", "--python", super::SYSTEM_PYTHON])?;
    // By name, as without a lock file: uv then keeps the metadata of this machine's wheels.
    let by_name = ["pip", "install", "--quiet", "--reinstall"];
    run(home, &project, &uv, &[&by_name[..], &PYTHON_TREE, &BACKENDS].concat())?;

    let project = home.join("projects/poetry");
    let lines: Vec<String> = PYTHON_TREE.iter().map(|pin| format!("{}\n", pin.replace("==", " = \"") + "\"")).collect();
    // By files alone, which every mirror has.
    let source =
        "[[tool.poetry.source]]\nname = \"files\"\nurl = \"https://pypi.org/simple/\"\npriority = \"primary\"\n";
    let head = "[tool.poetry]\npackage-mode = false\n\n[tool.poetry.dependencies]\npython = \"^3.9\"\n";
    write(&project, "pyproject.toml", &format!("{head}{}\n{source}", lines.concat()))?;
    run(home, &project, &bin.join("poetry"), &["install", "--quiet", "--no-interaction"])?;

    fill_pip(home, &python)
}

fn fill_pip(home: &Path, python: &Path) -> ChoreResult {
    let wheels = home.join("projects/wheels");
    make_folder(&wheels)?;
    let packages: Vec<&str> = PYTHON_TREE.iter().chain(&BACKENDS).copied().collect();
    let place = wheels.display().to_string();
    let words = ["-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--no-cache-dir", "--dest", &place];
    run(home, &wheels, python, &[&words[..], &packages[..]].concat())?;
    // Two versions of pip, whose caches look different.
    let all = home.join("projects/pip");
    for pip in [python, &super::python()?] {
        let (pip, all) = (pip.display().to_string(), all.display().to_string());
        let words =
            ["-c", KEEPING_INDEX, &place, &pip, "-m", "pip", "install", "--quiet", "--upgrade", "--target", &all];
        run(home, &wheels, python, &[&words[..], &packages[..]].concat())?;
    }
    Ok(())
}

fn fill_node(home: &Path) -> ChoreResult {
    let managers = agents::managers()?.join("bin");
    let registry = command_output(&mut program("npm", ["config", "get", "registry"]))?;
    let registry = registry.trim();
    let yarn = home.join(".cache/yarn").display().to_string();
    // Yarn keeps another place for root.
    let rows: [(&str, PathBuf, &[&str]); 3] = [
        ("npm", "npm".into(), &["--no-audit", "--no-fund"]),
        ("pnpm", managers.join("pnpm"), &[]),
        ("yarn", managers.join("yarn"), &["--non-interactive", "--cache-folder", &yarn]),
    ];
    for (name, manager, words) in rows {
        let project = home.join("projects").join(name);
        let named = NPM_TREE.map(|pin| format!("\"{}\"", pin.replace('@', "\": \"")));
        let manifest = format!("{{\"private\": true, \"dependencies\": {{{}}}}}\n", named.join(", "));
        write(&project, "package.json", &manifest)?;
        let all = [&["install", "--ignore-scripts", "--registry", registry][..], words].concat();
        let mut command = in_home(home, &project, &manager, &all);
        if manager.is_absolute() {
            command.env("PATH", format!("{}:/usr/bin:/bin", managers.display()));
        }
        command_output(&mut command)?;
    }
    Ok(())
}

fn fill_cargo(home: &Path) -> ChoreResult {
    let project = home.join("projects/cargo");
    write(&project.join("src"), "lib.rs", "")?;
    let head = "[package]\nname = \"primer\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n";
    write(&project, "Cargo.toml", &format!("{head}{}\n", CRATE_TREE.join("\n")))?;
    let mut fetch = cargo(&["fetch", "--quiet", "--manifest-path"]);
    command_output(fetch.arg(project.join("Cargo.toml")).env("CARGO_HOME", home.join(".cargo"))).map(drop)
}

fn run(home: &Path, place: &Path, name: &Path, words: &[&str]) -> ChoreResult {
    command_output(&mut in_home(home, place, name, words)).map(drop)
}

/// A manager that knows no home but this one.
fn in_home(home: &Path, place: &Path, name: impl AsRef<OsStr>, words: &[&str]) -> Command {
    let mut command = program(name, words);
    command.current_dir(place).env("HOME", home).env_remove("XDG_CACHE_HOME").env_remove("XDG_DATA_HOME");
    for name in ["UV_CACHE_DIR", "PIP_CACHE_DIR", "PIP_NO_CACHE_DIR", "PIP_FIND_LINKS", "POETRY_CACHE_DIR"] {
        command.env_remove(name);
    }
    command
}

fn write(folder: &Path, name: &str, text: &str) -> ChoreResult {
    make_folder(folder)?;
    std::fs::write(folder.join(name), text).map_err(|error| format!("cannot write {name}: {error}"))
}

fn make_folder(folder: &Path) -> ChoreResult {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}
