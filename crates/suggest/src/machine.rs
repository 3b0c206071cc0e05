//! The operator's machine: programs, whether a sandbox shows them, and caches of package
//! managers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use untrusted_fs::own_files::{self, OwnPath as _};

/// Shown in every sandbox as the host has them.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Folders in which a sandbox has something of its own, beside its home.
const TAKEN: &[&str] = &["/workspace", "/run/cto", "/tmp", "/var/tmp", "/etc", "/proc", "/sys", "/dev"];
/// Upper bound on the versions of a version manager that are read.
const MOST_VERSIONS: usize = 1000;

/// A program and how to know the folder that is a toolchain's own and holds nothing else.
#[derive(Debug)]
pub(crate) struct Toolchain {
    pub(crate) name: &'static str,
    /// A name that begins like one of these lies in the folder above its `bin`.
    pub(crate) landmarks: &'static [&'static str],
}

/// A program that a sandbox shows, or can be made to show.
#[derive(Debug, Clone)]
pub(crate) struct FoundProgram {
    /// Path in a sandbox.
    pub(crate) inside: String,
    /// The folder above its `bin`, on this machine.
    pub(crate) prefix: PathBuf,
    /// Folder that has to be mounted, and its target.
    pub(crate) mount: Option<(String, String)>,
    /// Folder of the program, if a sandbox does not search it anyway.
    pub(crate) path: Option<String>,
}

impl FoundProgram {
    /// Tells whether it lies elsewhere inside than outside.
    pub(crate) fn is_moved(&self) -> bool {
        self.mount.as_ref().is_some_and(|(source, target)| source != target)
    }
}

/// Facts about the machine and its sandboxes; read at the edge, handed in.
#[derive(Debug, Clone, Default)]
pub struct MachineTools {
    /// The operator's PATH.
    pub operator_path: Vec<PathBuf>,
    pub operator_home: Option<PathBuf>,
    /// Folder in which rustup keeps toolchains.
    pub rustup_home: Option<PathBuf>,
    /// Folders in which a strict sandbox looks for programs by itself.
    pub sandbox_path: Vec<PathBuf>,
    /// Folders of the operator that every sandbox shows.
    pub sandbox_shown: Vec<PathBuf>,
    /// Home of programs in a sandbox.
    pub sandbox_home: PathBuf,
}

/// Choice between drafts that a repository and a machine allow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftChoice {
    /// Installs the versions of a lock file, if there is one.
    pub(crate) holds_to_locks: bool,
    /// Takes the second of several caches.
    pub(crate) takes_other_cache: bool,
}

impl DraftChoice {
    /// The likeliest.
    pub(crate) const USUAL: Self = Self { holds_to_locks: true, takes_other_cache: false };
}

/// Operator's machine, seen through facts that the caller gathered.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    tools: &'a MachineTools,
    pub(crate) choice: DraftChoice,
}

impl<'a> Machine<'a> {
    /// Wraps the gathered facts.
    pub(crate) fn new(tools: &'a MachineTools, choice: DraftChoice) -> Self {
        Self { tools, choice }
    }

    /// Finds a program that a sandbox shows, or can be made to show.
    pub(crate) fn find_program(&self, toolchain: &Toolchain) -> Option<FoundProgram> {
        self.first_on_path(toolchain).or_else(|| self.programs(toolchain).into_iter().next())
    }

    /// Finds a program that is one file and needs nothing beside it.
    pub(crate) fn find_single(&self, name: &str) -> Option<FoundProgram> {
        let usual = self.tools.operator_home.iter().map(|home| home.join(".local/bin"));
        let dirs = self.tools.operator_path.iter().filter(|dir| dir.is_absolute() && !dir.ends_with("shims")).cloned();
        dirs.chain(usual).find_map(|dir| self.known(&dir.join(name)).or_else(|| lone_file(&dir.join(name), name)))
    }

    /// The one that the operator's shell would start, or the next on their PATH that can be
    /// had: the system may have another version.
    fn first_on_path(&self, toolchain: &Toolchain) -> Option<FoundProgram> {
        let shown = &self.tools.sandbox_path;
        let dirs = self.tools.operator_path.iter().filter(|dir| dir.is_absolute());
        let found = |dir: &PathBuf| {
            let known = shown.contains(dir).then(|| self.known(&dir.join(toolchain.name))).flatten();
            known.or_else(|| self.elsewhere(dir, toolchain))
        };
        dirs.filter_map(found).next()
    }

    /// Says why a program cannot be had.
    pub(crate) fn missing(&self, toolchain: &Toolchain) -> String {
        let name = toolchain.name;
        let mut dirs = self.tools.operator_path.iter();
        match dirs.find(|dir| is_program(&dir.join(name))) {
            Some(dir) => format!(
                "{name} is in {}, which does not look like a folder of its own; install it in one that can be mounted",
                dir.display()
            ),
            None => format!("{name} is not on the PATH of this machine"),
        }
    }

    /// Every one of this name that can be had, those that a sandbox shows by itself first.
    pub(crate) fn programs(&self, toolchain: &Toolchain) -> Vec<FoundProgram> {
        let shown = &self.tools.sandbox_path;
        let hidden = self.tools.operator_path.iter().filter(|dir| !shown.contains(dir));
        let own = |dir: &PathBuf| self.known(&dir.join(toolchain.name));
        let mut found: Vec<FoundProgram> = shown.iter().filter_map(own).collect();
        let elsewhere = shown.iter().chain(hidden).filter(|dir| dir.is_absolute());
        found.extend(elsewhere.filter_map(|dir| self.elsewhere(dir, toolchain)));
        found
    }

    /// One that is found inside just as it is.
    fn known(&self, program: &Path) -> Option<FoundProgram> {
        let real = is_program(program).then(|| own_files::canonicalize(program).ok()).flatten()?;
        let rustup = self.tools.sandbox_shown.iter().any(|shown| program.starts_with(shown));
        if !is_system(&real) && !rustup {
            return None;
        }
        let prefix = real.parent()?.parent()?.to_owned();
        Some(FoundProgram { inside: path_text(program)?, prefix, mount: None, path: None })
    }

    /// One whose toolchain has to be mounted.
    fn elsewhere(&self, dir: &Path, toolchain: &Toolchain) -> Option<FoundProgram> {
        let program = if dir.ends_with("shims") { managed(dir, toolchain.name)? } else { dir.join(toolchain.name) };
        let real = is_program(&program).then(|| own_files::canonicalize(&program).ok()).flatten()?;
        // A stand-in for many programs is not the one.
        let name = real.file_name()?.to_str()?;
        let (bin, prefix) = (real.parent()?, real.parent()?.parent()?);
        if !name.starts_with(toolchain.name) || !self.is_fit(prefix, toolchain) {
            return None;
        }
        let target = if self.is_taken(prefix) { Path::new("/opt").join(toolchain.name) } else { prefix.to_owned() };
        let bin = target.join(bin.file_name()?);
        let mount = if is_system(prefix) { None } else { Some((path_text(prefix)?, path_text(&target)?)) };
        Some(FoundProgram {
            inside: path_text(&bin.join(name))?,
            prefix: prefix.to_owned(),
            mount,
            path: Some(path_text(&bin)?),
        })
    }

    /// A toolchain's own folder, and none that holds what is the operator's alone.
    fn is_fit(&self, prefix: &Path, toolchain: &Toolchain) -> bool {
        let private = |home: &PathBuf| home.starts_with(prefix) || prefix == home.join(".local");
        let own = toolchain.landmarks.iter().any(|landmark| !beginning_with(&prefix.join(landmark)).is_empty());
        own && prefix.parent().is_some() && !self.tools.operator_home.as_ref().is_some_and(private)
    }

    /// Tells whether a sandbox has something of its own there.
    fn is_taken(&self, path: &Path) -> bool {
        TAKEN.iter().any(|taken| path.starts_with(taken)) || path.starts_with(&self.tools.sandbox_home)
    }

    /// A folder of the operator's home, links resolved.
    pub(crate) fn of_home(&self, below: &str) -> Option<PathBuf> {
        folder(&self.tools.operator_home.as_ref()?.join(below))
    }

    /// A folder beside a `bin` of the operator's PATH, where `mark` lies there too.
    pub(crate) fn beside_path(&self, below: &str, mark: &str) -> Option<PathBuf> {
        let bins = self.tools.operator_path.iter().filter(|dir| dir.is_absolute() && dir.ends_with("bin"));
        let marked = bins.filter_map(|dir| dir.parent()).filter(|prefix| prefix.join(mark).own_exists());
        marked.map(|prefix| prefix.join(below)).find_map(|path| folder(&path))
    }

    /// Folder in which rustup keeps toolchains.
    pub(crate) fn toolchains(&self) -> Option<PathBuf> {
        folder(&self.tools.rustup_home.as_ref()?.join("toolchains"))
    }
}

/// A program whose file alone is shown.
fn lone_file(program: &Path, name: &str) -> Option<FoundProgram> {
    let real = is_program(program).then(|| own_files::canonicalize(program).ok()).flatten()?;
    if real.file_name()? != name {
        return None;
    }
    let target = format!("/opt/{name}/bin/{name}");
    Some(FoundProgram {
        prefix: real.parent()?.to_owned(),
        mount: Some((path_text(&real)?, target.clone())),
        path: None,
        inside: target,
    })
}

/// `None` for a path that a contract cannot name.
pub(crate) fn path_text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

fn folder(path: &Path) -> Option<PathBuf> {
    own_files::canonicalize(path).ok().filter(|path| path.own_is_dir())
}

/// Names beside a path that begin with its last part.
pub(crate) fn beginning_with(path: &Path) -> Vec<String> {
    let (Some(dir), Some(beginning)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let entries = own_files::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(beginning)).collect()
}

/// Tells whether a folder of the machine holds a file whose name ends so.
pub(crate) fn has_ending(dir: &Path, ending: &str) -> bool {
    let mut entries = own_files::read_dir(dir).into_iter().flatten().flatten();
    entries.any(|entry| entry.path().extension().is_some_and(|found| found == ending))
}

fn is_program(path: &Path) -> bool {
    own_files::metadata(path).is_ok_and(|stat| stat.is_file() && stat.permissions().mode() & 0o111 != 0)
}

/// True for paths that every sandbox shows anyway.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Program behind the shim of a version manager, which keeps versions in `versions/` or
/// `installs/TOOL/`: the one that its file `version` names, or the newest.
fn managed(shims: &Path, name: &str) -> Option<PathBuf> {
    let root = shims.parent()?;
    let tools = subfolders(&root.join("installs")).into_iter().chain([root.join("versions")]);
    let versions = tools.flat_map(|tool| subfolders(&tool)).take(MOST_VERSIONS);
    let mut with: Vec<PathBuf> = versions.filter(|version| is_program(&version.join("bin").join(name))).collect();
    with.sort_by_key(|version| numbers(version));
    let wanted = untrusted_fs::read_plain(root, b"version", 4096).and_then(|text| String::from_utf8(text).ok());
    let wanted = wanted.as_deref().and_then(|text| text.lines().next()).map(str::trim);
    let chosen = with.iter().find(|version| version.file_name().and_then(|name| name.to_str()) == wanted);
    Some(chosen.or_else(|| with.last())?.join("bin").join(name))
}

/// Folders directly below; an unreadable folder has none.
pub(crate) fn subfolders(dir: &Path) -> Vec<PathBuf> {
    own_files::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.own_is_dir())
        .collect()
}

/// The numbers in a version's name, to tell 3.9 from 3.11.
fn numbers(version: &Path) -> Vec<u64> {
    let name = version.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}
