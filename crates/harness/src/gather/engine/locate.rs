//! Search for an engine's program and the files that belong to it.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use contract::decision::Shortfall;
use contract::engine::EngineDefinition;
use contract::text::show_controls;
use untrusted_fs::own_files::{self, OwnPath as _};

use crate::home::engines::Engine;

/// An executable, and the tree that is copied, digested and shown with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    /// A directory, or the executable alone.
    pub(crate) root: PathBuf,
    /// All that belongs to it of the directory, where that is not everything.
    pub(crate) part: Option<String>,
    /// Below the root; empty where the root is the executable.
    pub(crate) below: PathBuf,
}

impl Located {
    /// Path of the executable.
    pub(crate) fn executable(&self) -> PathBuf {
        if self.below.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.below) }
    }
}

/// Words that a shell takes for its own: a program of such a name cannot be meant by it.
const SHELL_WORDS: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
    "time", "until", "while",
];

/// The engine's program: the configured one, or the first of its name on the operator's path.
pub(super) fn program(engine: &Engine, path: &[PathBuf]) -> Result<Located, Shortfall> {
    let name = &engine.definition.program;
    let variable = contract::engine::variable_name(&engine.id);
    let configure = format!("export CTO_HARNESS_{variable}_BIN=/path/to/{name}");
    let found = match &engine.config.executable {
        Some(file) => file.clone(),
        None if SHELL_WORDS.contains(&name.as_str()) => {
            return Err(short(format!("`{name}` is a word of the shell, so it is not looked for by name"), configure));
        }
        None if engine.definition.only_named => {
            let text = format!("engine `{}` is not looked for by name: other programs are called `{name}`", engine.id);
            return Err(short(text, format!("{configure}     or: engines.{}.executable", engine.id)));
        }
        None => search(name, path).ok_or_else(|| {
            short(format!("there is no program `{name}` on the PATH"), format!("install it, or {configure}"))
        })?,
    };
    let located = locate(&found, engine.config.tree.as_deref(), &engine.definition).map_err(|why| {
        short(format!("{} cannot be used: {why}", show_controls(&found.display().to_string())), configure.clone())
    })?;
    usable(&located.executable(), engine.definition.interpreter.is_some()).map_err(|why| {
        short(format!("{} {why}", show_controls(&located.executable().display().to_string())), configure)
    })?;
    Ok(located)
}

/// The program that runs the engine's, where it needs one.
pub(super) fn interpreter(engine: &Engine, path: &[PathBuf]) -> Result<Option<Located>, Shortfall> {
    let Some(name) = &engine.definition.interpreter else { return Ok(None) };
    let remedy = format!("install it, or set engines.{}.interpreter in your configuration", engine.id);
    let found = engine.config.interpreter.clone().or_else(|| search(name, path));
    let found = found.ok_or_else(|| {
        short(format!("engine `{}` runs by `{name}`, which is not on the PATH", engine.id), remedy.clone())
    })?;
    let root = own_files::canonicalize(&found).map_err(|error| {
        short(format!("{} cannot be used: {error}", show_controls(&found.display().to_string())), remedy.clone())
    })?;
    usable(&root, false)
        .map_err(|why| short(format!("{} {why}", show_controls(&root.display().to_string())), remedy))?;
    Ok(Some(Located { root, part: None, below: PathBuf::new() }))
}

fn short(text: String, remedy: String) -> Shortfall {
    Shortfall { text, remedy }
}

fn search(name: &str, path: &[PathBuf]) -> Option<PathBuf> {
    sandbox::find_program(name, path, Path::new("/"))
}

fn locate(found: &Path, tree: Option<&Path>, definition: &EngineDefinition) -> Result<Located, String> {
    if let Some(located) = in_environment(found).filter(|_| tree.is_none()) {
        return Ok(located);
    }
    let real = own_files::canonicalize(found).map_err(|error| error.to_string())?;
    let real = native(&real, definition).unwrap_or(real);
    let (root, part) = match tree {
        Some(tree) => (own_files::canonicalize(tree).map_err(|error| format!("its tree: {error}"))?, None),
        None => root_of(&real),
    };
    let below = real.strip_prefix(&root).map_err(|_| "it does not lie in the tree that is configured".to_owned())?;
    Ok(Located { below: below.to_owned(), root, part })
}

/// A program of a Python environment: the interpreter there is a link that leads out of it,
/// and is known by where the link is.
fn in_environment(found: &Path) -> Option<Located> {
    let bin = own_files::canonicalize(found.parent()?).ok()?;
    let root = bin.parent().filter(|root| root.join("pyvenv.cfg").own_is_file())?;
    let below = bin.strip_prefix(root).ok()?.join(found.file_name()?);
    Some(Located { root: root.to_owned(), part: None, below })
}

/// The executable behind a launcher.
fn native(real: &Path, definition: &EngineDefinition) -> Option<PathBuf> {
    let package = package_of(real)?;
    let (arch, cpu) = match std::env::consts::ARCH {
        "aarch64" => ("arm64", "aarch64"),
        _ => ("x64", "x86_64"),
    };
    let places = definition.native.iter().map(|place| place.replace("{arch}", arch).replace("{cpu}", cpu));
    places.filter_map(|place| own_files::canonicalize(package.join(place)).ok()).find(|file| file.own_is_file())
}

/// Files that belong to an executable: its npm package, with the packages beside it if it
/// needs them; otherwise the file alone.
fn root_of(real: &Path) -> (PathBuf, Option<String>) {
    if let Some(package) = package_of(real) {
        let beside = package.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == PACKAGES));
        return match beside.and_then(Path::parent) {
            // Packages find each other by the name of the directory they lie in.
            Some(above) if needs_others(package) => (above.to_owned(), Some(PACKAGES.to_owned())),
            _ => (package.to_owned(), None),
        };
    }
    (real.to_owned(), None)
}

/// Folder of npm's packages.
const PACKAGES: &str = "node_modules";

/// The nearest directory with a manifest, where that is an installed package.
fn package_of(real: &Path) -> Option<&Path> {
    let installed =
        |dir: &&Path| dir.ancestors().skip(1).any(|dir| dir.file_name().is_some_and(|name| name == PACKAGES));
    real.ancestors().skip(1).take(12).find(|dir| dir.join("package.json").own_is_file()).filter(installed)
}

/// True if a package depends on others outside of it.
fn needs_others(package: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Manifest {
        #[serde(default)]
        dependencies: serde_json::Map<String, serde_json::Value>,
    }
    let bytes = own_files::read_file(package.join("package.json")).unwrap_or_default();
    let manifest = serde_json::from_slice::<Manifest>(&bytes).ok();
    manifest.is_some_and(|manifest| {
        manifest.dependencies.keys().any(|name| !package.join(PACKAGES).join(name).own_is_dir())
    })
}

/// Fails if the kernel could not start the file.
fn usable(file: &Path, interpreted: bool) -> Result<(), String> {
    let stat = own_files::metadata(file).map_err(|error| format!("cannot be looked at: {error}"))?;
    if !stat.is_file() {
        return Err("is not a file".to_owned());
    }
    if !interpreted && stat.permissions().mode() & 0o111 == 0 {
        return Err("is not executable".to_owned());
    }
    let mut head = [0; 20];
    let read = own_files::open_file(file)
        .and_then(|mut file| file.read(&mut head))
        .map_err(|error| format!("cannot be read: {error}"))?;
    match machine(&head[..read]) {
        Some(other) if !other.is_ours() => Err(format!("is built for another machine ({})", other.name())),
        _ => Ok(()),
    }
}

/// The machine an ELF file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    bits: u8,
    number: u16,
}

impl Machine {
    const X86_64: u16 = 62;
    const AARCH64: u16 = 183;

    fn is_ours(self) -> bool {
        let number = if std::env::consts::ARCH == "aarch64" { Self::AARCH64 } else { Self::X86_64 };
        self.bits == 2 && self.number == number
    }

    fn name(self) -> String {
        match self.number {
            Self::X86_64 if self.bits == 2 => "x86_64".to_owned(),
            Self::AARCH64 => "aarch64".to_owned(),
            3 => "i386".to_owned(),
            40 => "arm".to_owned(),
            243 => "riscv".to_owned(),
            number => format!("ELF machine {number}"),
        }
    }
}

fn machine(head: &[u8]) -> Option<Machine> {
    let head = head.strip_prefix(b"\x7fELF")?;
    let (bits, order, number) = (*head.first()?, *head.get(1)?, head.get(14..16)?);
    let number = if order == 2 {
        u16::from_be_bytes([number[0], number[1]])
    } else {
        u16::from_le_bytes([number[0], number[1]])
    };
    Some(Machine { bits, number })
}
