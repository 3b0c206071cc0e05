//! What the operator's machine has: programs, whether a sandbox shows them, and caches of package managers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use contract::decision::Profile;
use harness::Tools;

use super::draft::Draft;

/// Shown in every sandbox as the host has them.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Where a sandbox has something of its own, beside its home.
const TAKEN: &[&str] = &["/workspace", "/run/cto", "/tmp", "/var/tmp", "/etc", "/proc", "/sys", "/dev"];
/// Versions of a version manager that are looked at.
const MOST_VERSIONS: usize = 1000;

/// A program and how to know the folder that is a toolchain's own and holds nothing else.
#[derive(Debug)]
pub(super) struct Toolchain {
    pub(super) name: &'static str,
    /// A name that begins like one of these lies in the folder above its `bin`.
    pub(super) landmarks: &'static [&'static str],
}

/// A program that a sandbox shows, or can be made to show.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Where a sandbox has it.
    pub(super) inside: String,
    /// The folder above its `bin`, on this machine.
    pub(super) prefix: PathBuf,
    /// What has to be mounted, and where.
    mount: Option<(String, String)>,
    /// Its folder, where a sandbox does not look there by itself.
    path: Option<String>,
}

impl Found {
    /// Whether it lies elsewhere inside than outside.
    pub(super) fn is_moved(&self) -> bool {
        self.mount.as_ref().is_some_and(|(source, target)| source != target)
    }

    /// Adds what it needs to the draft.
    pub(super) fn show(&self, name: &str, draft: &mut Draft) {
        if let Some((source, target)) = &self.mount {
            draft.mount(source, target, format!("{name} lies where a sandbox does not look"));
        }
        if let Some(path) = &self.path {
            draft.path(path, format!("so that {name} is found"));
        }
    }
}

#[derive(Debug)]
pub(super) struct Machine {
    tools: Tools,
    home: Option<PathBuf>,
}

impl Machine {
    pub(super) fn new(tools: &Tools) -> Self {
        Self { tools: tools.clone(), home: std::env::home_dir().filter(|home| home.is_absolute()) }
    }

    /// A program as a sandbox has it; the draft gets what it needs, or a note why it cannot be had.
    pub(super) fn show(&self, toolchain: &Toolchain, draft: &mut Draft) -> Option<Found> {
        let found = self.first_on_path(toolchain).or_else(|| self.programs(toolchain).into_iter().next());
        match &found {
            Some(found) => found.show(toolchain.name, draft),
            None => draft.note(self.missing(toolchain)),
        }
        found
    }

    /// The one that the operator's shell would start, or the next on their PATH that can be had: the system may have another
    /// version.
    fn first_on_path(&self, toolchain: &Toolchain) -> Option<Found> {
        let shown = self.tools.path(&[], Profile::Strict);
        let dirs = self.tools.operator_path.iter().filter(|dir| dir.is_absolute());
        let found = |dir: &PathBuf| {
            let known = shown.contains(dir).then(|| self.known(&dir.join(toolchain.name))).flatten();
            known.or_else(|| self.elsewhere(dir, toolchain))
        };
        dirs.filter_map(found).next()
    }

    /// Why a program cannot be had.
    pub(super) fn missing(&self, toolchain: &Toolchain) -> String {
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
    pub(super) fn programs(&self, toolchain: &Toolchain) -> Vec<Found> {
        let shown = self.tools.path(&[], Profile::Strict);
        let hidden = self.tools.operator_path.iter().filter(|dir| !shown.contains(dir));
        let own = |dir: &PathBuf| self.known(&dir.join(toolchain.name));
        let mut found: Vec<Found> = shown.iter().filter_map(own).collect();
        let elsewhere = shown.iter().chain(hidden).filter(|dir| dir.is_absolute());
        found.extend(elsewhere.filter_map(|dir| self.elsewhere(dir, toolchain)));
        found
    }

    /// One that is found inside just as it is.
    fn known(&self, program: &Path) -> Option<Found> {
        let real = is_program(program).then(|| fs::canonicalize(program).ok()).flatten()?;
        let rustup = self.tools.shown().iter().any(|shown| program.starts_with(shown));
        if !is_system(&real) && !rustup {
            return None;
        }
        let prefix = real.parent()?.parent()?.to_owned();
        Some(Found { inside: text(program)?, prefix, mount: None, path: None })
    }

    /// One whose toolchain has to be mounted.
    fn elsewhere(&self, dir: &Path, toolchain: &Toolchain) -> Option<Found> {
        let program = if dir.ends_with("shims") { managed(dir, toolchain.name)? } else { dir.join(toolchain.name) };
        let real = is_program(&program).then(|| fs::canonicalize(&program).ok()).flatten()?;
        // A stand-in for many programs is not the one.
        let name = real.file_name()?.to_str()?;
        let (bin, prefix) = (real.parent()?, real.parent()?.parent()?);
        if !name.starts_with(toolchain.name) || !self.is_fit(prefix, toolchain) {
            return None;
        }
        let target = if is_taken(prefix) { Path::new("/opt").join(toolchain.name) } else { prefix.to_owned() };
        let bin = target.join(bin.file_name()?);
        let mount = if is_system(prefix) { None } else { Some((text(prefix)?, text(&target)?)) };
        Some(Found { inside: text(&bin.join(name))?, prefix: prefix.to_owned(), mount, path: Some(text(&bin)?) })
    }

    /// A toolchain's own folder, and none that holds what is the operator's alone.
    fn is_fit(&self, prefix: &Path, toolchain: &Toolchain) -> bool {
        let private = |home: &PathBuf| home.starts_with(prefix) || prefix == home.join(".local");
        let own = toolchain.landmarks.iter().any(|landmark| !beginning_with(&prefix.join(landmark)).is_empty());
        own && prefix.parent().is_some() && !self.home.as_ref().is_some_and(private)
    }

    /// A folder of the operator's home, links resolved.
    pub(super) fn of_home(&self, below: &str) -> Option<PathBuf> {
        folder(&self.home.as_ref()?.join(below))
    }

    /// A folder beside a `bin` of the operator's PATH, where `mark` lies there too.
    pub(super) fn beside_path(&self, below: &str, mark: &str) -> Option<PathBuf> {
        let bins = self.tools.operator_path.iter().filter(|dir| dir.is_absolute() && dir.ends_with("bin"));
        let marked = bins.filter_map(|dir| dir.parent()).filter(|prefix| prefix.join(mark).exists());
        marked.map(|prefix| prefix.join(below)).find_map(|path| folder(&path))
    }

    /// Where rustup keeps toolchains.
    pub(super) fn toolchains(&self) -> Option<PathBuf> {
        folder(&self.tools.rustup_home.as_ref()?.join("toolchains"))
    }
}

/// Mounts a folder unless every sandbox shows it; gives where it is inside.
pub(super) fn place(folder: &Path, target: &str, why: &str, draft: &mut Draft) -> Option<String> {
    if is_system(folder) {
        return text(folder);
    }
    draft.mount(&text(folder)?, target, why);
    Some(target.to_owned())
}

/// `None` for a path that a contract cannot name.
pub(super) fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

fn folder(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_dir())
}

/// What lies beside a path and begins with its name.
pub(super) fn beginning_with(path: &Path) -> Vec<String> {
    let (Some(dir), Some(beginning)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(beginning)).collect()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|stat| stat.is_file() && stat.permissions().mode() & 0o111 != 0)
}

pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

fn is_taken(path: &Path) -> bool {
    TAKEN.iter().any(|taken| path.starts_with(taken)) || path.starts_with(sandbox::HOME_DEFAULT)
}

/// The program behind the stand-in of a version manager, which keeps versions in `versions/` or `installs/TOOL/`: the
/// one that its file `version` names, or the newest.
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

pub(super) fn subfolders(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The numbers in a version's name, to tell 3.9 from 3.11.
fn numbers(version: &Path) -> Vec<u64> {
    let name = version.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}
