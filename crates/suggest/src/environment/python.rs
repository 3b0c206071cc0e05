//! Python: an environment in `.venv`, filled from wheels on this machine.

use std::path::{Path, PathBuf};

use untrusted_fs::own_files::OwnPath as _;

use super::draft::EnvironmentDraft;
use super::python_backend::read_build_requirements;
use super::python_cache::{PackageSource, UvCache};
use super::python_lock::{read_pins, split_by_wheels};
use super::python_marker::MarkerPlace;
use crate::machine::{FoundProgram, Machine, Toolchain, beginning_with};
use crate::repository::ProjectFolder;

const PYTHON: Toolchain = Toolchain { name: "python3", landmarks: &["lib/python3."] };

/// The first that can install into an environment from outside.
const PIP_WITH_PYTHON: (u64, u64) = (22, 3);

/// Packages named in a note.
const NAMED: usize = 8;

/// More files of requirements than these are left out.
const MOST_REQUIREMENTS: usize = 8;

const LOCKS: [&str; 4] = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"];
const MANIFESTS: [&str; 3] = ["pyproject.toml", "setup.py", "setup.cfg"];
/// Words of a manifest that say that something has to be installed.
const NEEDS: [&str; 5] =
    ["dependencies", "install_requires", "[dependency-groups]", "[tool.poetry.group", "[tool.poetry.dev-dependencies"];

/// Words of a manifest that say that something has to be compiled.
const COMPILES: [&str; 7] =
    ["ext_modules", "ext-modules", "cffi_modules", "maturin", "meson-python", "scikit-build", "setuptools-rust"];

/// Packages that have to be installed.
enum WantedPackages {
    Requirements(Vec<String>),
    /// Packages of another tool's lock file, by their exact versions.
    Locked(&'static str, Vec<String>),
    /// Packages of a lock file that names none that can be read: every wheel there is.
    AllWheels(&'static str),
    /// Packages of the project's own manifest.
    Project,
    Nothing,
}

/// An interpreter that can be used, and how packages get into an environment of it.
struct PythonInterpreter {
    found: FoundProgram,
    own_pip: bool,
}

impl PythonInterpreter {
    /// Words that start a pip which installs into `.venv`.
    fn pip_words(&self) -> Vec<&str> {
        match self.own_pip {
            true => vec![&self.found.inside, "-m", "pip", "--python", ".venv"],
            false => vec![".venv/bin/python", "-m", "pip"],
        }
    }
}

/// Adds a Python project: requirements, lock files and, at the root, manifests.
pub(super) fn draft_python(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let named = |name: &&str| name.starts_with("requirements") && name.ends_with(".txt");
    let requirements: Vec<&str> = place.files().filter(named).take(MOST_REQUIREMENTS).collect();
    let locks: Vec<&str> = LOCKS.into_iter().filter(|lock| place.has_file(lock) && !place.ignores(lock)).collect();
    let manifests = MANIFESTS.into_iter().filter(|name| place.is_root() && place.has_file(name));
    let files: Vec<&str> = requirements.iter().chain(&locks).copied().chain(manifests).collect();
    let project = place.is_root() || requirements.contains(&"requirements.txt") || !locks.is_empty();
    if files.is_empty() || !project {
        return;
    }
    draft.found("Python", &files.iter().map(|name| place.path_of(name)).collect::<Vec<_>>());
    let Some(python) = interpreter(machine) else { return draft.add_note(no_interpreter(machine)) };
    draft.show_program("python3", &python.found);
    if place.has_folder("src") {
        draft.offer_module_path(&place.path_of("src"));
    }
    let wanted = wanted(place, &requirements, machine, MarkerPlace { python: version_of(&python) });
    if !matches!(wanted, WantedPackages::Nothing) {
        install(place, machine, &python, &wanted, draft);
    }
}

fn wanted(
    place: &ProjectFolder<'_>,
    requirements: &[&str],
    machine: &Machine<'_>,
    here: MarkerPlace,
) -> WantedPackages {
    let says = |name: &&&str| {
        let text = place.read_text(name).unwrap_or_default();
        text.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
    };
    let said: Vec<String> = requirements.iter().filter(says).map(ToString::to_string).collect();
    let needs = |name: &&str| place.read_text(name).is_some_and(|text| NEEDS.iter().any(|word| text.contains(word)));
    let is_kept = |lock: &&str| machine.choice.holds_to_locks && place.has_file(lock) && !place.ignores(lock);
    match LOCKS.into_iter().find(is_kept) {
        _ if !said.is_empty() => WantedPackages::Requirements(said),
        Some(lock) => match read_lock(place, lock, here) {
            pins if pins.is_empty() => WantedPackages::AllWheels(lock),
            pins => WantedPackages::Locked(lock, pins),
        },
        None if MANIFESTS.iter().any(needs) => WantedPackages::Project,
        None => WantedPackages::Nothing,
    }
}

fn read_lock(place: &ProjectFolder<'_>, lock: &str, here: MarkerPlace) -> Vec<String> {
    let text = |name: &str| place.read_text(name).unwrap_or_default();
    read_pins(lock, &text(lock), &text("pyproject.toml"), here)
}

fn install(
    place: &ProjectFolder<'_>,
    machine: &Machine<'_>,
    python: &PythonInterpreter,
    wanted: &WantedPackages,
    draft: &mut EnvironmentDraft,
) {
    let source = PackageSource::find(place, machine);
    source.show(draft);
    match (&source, wanted) {
        (PackageSource::Uv(uv), _)
            if machine.choice.holds_to_locks && place.has_file("uv.lock") && !place.ignores("uv.lock") =>
        {
            sync_uv(place, python, uv, draft);
        }
        _ => fill_venv(place, python, &source, wanted, draft),
    }
    draft.add_path(&place.path_of(".venv/bin"), "so that python, pytest and the like are those with the packages");
    draft.online(&["pypi.org", "files.pythonhosted.org"], source.online_change());
    advise(place, matches!(source, PackageSource::Registry), wanted, draft);
}

/// uv makes the environment by its lock file. The project itself, where it is built, is
/// installed from every tree that is judged.
fn sync_uv(place: &ProjectFolder<'_>, python: &PythonInterpreter, uv: &UvCache, draft: &mut EnvironmentDraft) {
    let inside = python.found.inside.as_str();
    let sync = ["sync", "--frozen", "--offline", "--link-mode", "copy", "--python", inside];
    let dependencies = uv.words(&[&sync[..], &["--no-install-workspace"]].concat());
    let why = "installs the versions that uv.lock names, from uv's cache; uv gets a cache it can write to";
    draft.add_setup(&dependencies, place.cwd(), why);
    draft.input(&place.path_of("uv.lock"));
    if place.read_text("pyproject.toml").is_some_and(|text| text.contains("[build-system]")) {
        let why = "installs the project itself as uv does, from every tree that is judged";
        draft.add_build(&uv.words(&sync), place.cwd(), why);
    }
}

fn fill_venv(
    place: &ProjectFolder<'_>,
    python: &PythonInterpreter,
    source: &PackageSource,
    wanted: &WantedPackages,
    draft: &mut EnvironmentDraft,
) {
    let inside = python.found.inside.as_str();
    let mut venv = vec![inside, "-m", "venv"];
    venv.extend(python.own_pip.then_some("--without-pip"));
    // A link to where only a sandbox has it would lead nowhere on this machine, where
    // programs are looked for.
    venv.extend(python.found.is_moved().then_some("--copies"));
    draft.add_setup(&[&venv[..], &[".venv"]].concat(), place.cwd(), "an environment of the repository's own, in .venv");
    let pip = python.pip_words();
    let install = source.install_words(inside, &pip);
    let mut argv: Vec<&str> = install.iter().map(String::as_str).collect();
    match wanted {
        WantedPackages::Requirements(files) => {
            let named: Vec<&str> = files.iter().flat_map(|file| ["-r", file]).collect();
            draft.add_setup(&[argv, named].concat(), place.cwd(), "installs what the requirements name");
            files.iter().for_each(|file| draft.input(&place.path_of(file)));
        }
        WantedPackages::Locked(lock, pins) => {
            let (here, missing) = match source {
                PackageSource::Wheels(wheels) => split_by_wheels(pins, Path::new(wheels)),
                _ => (pins.clone(), Vec::new()),
            };
            // Without a single wheel pip says what is missing.
            let pins = if here.is_empty() { pins } else { &here };
            let named: Vec<&str> = ["--no-deps"].into_iter().chain(pins.iter().map(String::as_str)).collect();
            draft.add_setup(&[argv, named].concat(), place.cwd(), format!("installs the versions that {lock} names"));
            draft.input(&place.path_of(lock));
            if !here.is_empty() && !missing.is_empty() {
                draft.add_note(format!("no wheel is there of {}, which {lock} names", listed(&missing)));
            }
        }
        WantedPackages::AllWheels(lock) if !matches!(source, PackageSource::Wheels(_)) => {
            draft.add_note(format!("{lock} names no version that can be read, and there are no wheels to install"));
        }
        WantedPackages::AllWheels(lock) => {
            let all = ["sh", "-c", "exec \"$@\" --no-deps /opt/wheels/*.whl", "sh"];
            let why = format!("installs every wheel there is, which should be those of {lock}");
            draft.add_setup(&[&all[..], &argv].concat(), place.cwd(), why);
            draft.input(&place.path_of(lock));
        }
        WantedPackages::Project | WantedPackages::Nothing => {
            argv.extend(["-e", "."]);
            draft.add_setup(&argv, place.cwd(), "installs what the project asks for, and a link to its own code");
            draft.sees_whole_tree();
            draft.add_note("wheels of the project's build backend, such as setuptools, have to be there too");
        }
    }
    if !matches!(wanted, WantedPackages::Project | WantedPackages::Nothing) {
        let own = ["--no-index", "--no-build-isolation", "--no-deps", "-e", "."];
        let argv: Vec<&str> = pip.iter().copied().chain(["install", "--no-compile"]).chain(own).collect();
        draft.offer_project(&argv, place.cwd());
        let tools = read_build_requirements(&place.read_text("pyproject.toml").unwrap_or_default());
        if !tools.is_empty() {
            let words: Vec<&str> = install.iter().chain(&tools).map(String::as_str).collect();
            draft.offer_build_tools(&words, place.cwd());
        }
        if is_compiled(place) {
            let why = "compiles the project's own extension modules, on every tree that is judged";
            draft.add_build(&argv, place.cwd(), why);
            draft.add_note("the project's build backend, such as setuptools, has to be among the requirements");
        }
    }
}

fn is_compiled(place: &ProjectFolder<'_>) -> bool {
    let says = |name: &&str| place.read_text(name).is_some_and(|text| COMPILES.iter().any(|word| text.contains(word)));
    MANIFESTS.iter().any(says)
}

fn advise(place: &ProjectFolder<'_>, no_wheels: bool, wanted: &WantedPackages, draft: &mut EnvironmentDraft) {
    if no_wheels {
        let what = match wanted {
            WantedPackages::Requirements(files) => {
                files.iter().map(|file| format!("-r {file}")).collect::<Vec<_>>().join(" ")
            }
            WantedPackages::Locked(_, pins) if pins.len() <= NAMED => pins.join(" "),
            WantedPackages::AllWheels(lock) | WantedPackages::Locked(lock, _) => {
                format!("-r FILE, with {lock} exported to FILE")
            }
            WantedPackages::Project | WantedPackages::Nothing => ".".to_owned(),
        };
        draft.add_note(format!(
            "no packages were found in wheels/, wheelhouse/, ~/.cache/wheels or the caches of uv, pip and Poetry. Install once with \
             the project's own manager, and suggest again. Or fill a folder: python3 -m pip download --dest ~/.cache/wheels {what}. \
             Or let setup use the network"
        ));
    }
    if !place.ignores(".venv") {
        draft.add_note(".venv is not in .gitignore: what an engine changes there counts as part of its patch");
    }
}

/// A few names, and the number of the others.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The first that can make an environment with packages in it.
fn interpreter(machine: &Machine<'_>) -> Option<PythonInterpreter> {
    machine.programs(&PYTHON).into_iter().find_map(|found| {
        let own_pip = pip_of(&found.prefix).is_some_and(|version| version >= PIP_WITH_PYTHON);
        let able = own_pip || library(&found.prefix).iter().any(|dir| dir.join("ensurepip/__init__.py").own_is_file());
        able.then_some(PythonInterpreter { found, own_pip })
    })
}

fn no_interpreter(machine: &Machine<'_>) -> String {
    if machine.programs(&PYTHON).is_empty() {
        return machine.missing(&PYTHON);
    }
    "no python3 of this machine has pip or can bring its own; on Debian, install python3-pip or python3-venv".to_owned()
}

fn library(prefix: &Path) -> Vec<PathBuf> {
    beginning_with(&prefix.join("lib/python3.")).iter().map(|name| prefix.join("lib").join(name)).collect()
}

/// The interpreter's version, if the folder of its library names exactly one.
fn version_of(python: &PythonInterpreter) -> Option<(u64, u64)> {
    let names = beginning_with(&python.found.prefix.join("lib/python3."));
    let [name] = &names[..] else { return None };
    let (major, minor) = name.strip_prefix("python")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The version of the pip that an interpreter has, by the name of what describes it.
fn pip_of(prefix: &Path) -> Option<(u64, u64)> {
    let own = library(prefix).into_iter().map(|dir| dir.join("site-packages"));
    // Debian has one for all versions.
    own.chain([prefix.join("lib/python3/dist-packages")]).find_map(|dir| {
        let names = beginning_with(&dir.join("pip-"));
        let version =
            names.iter().find_map(|name| name.strip_prefix("pip-")?.strip_suffix(".dist-info").map(str::to_owned))?;
        let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        Some((parts.next()?, parts.next().unwrap_or(0)))
    })
}
