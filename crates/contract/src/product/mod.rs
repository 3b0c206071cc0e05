//! Products of builds: files that a patch may not carry, because a build tool would take
//! them for fresh and ignore the source beside them.
//!
//! Content decides first: anything but text or an inert picture, font, sound, film or page
//! is a product until the contract names it. Names of known tools come on top, for caches
//! and fingerprints that are text. All of it is part of the rules (`rules_version`).

mod generated;
mod inert;
mod machine;
mod source;
mod text;

pub use generated::{Generator, generator_of};
pub use source::{SourceKind, poison_text, source_kind};

/// Kind of a file by its bytes, and by its name where both must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    Text,
    /// A picture, font, sound, film or page, by magic number and ending alike.
    Inert,
    /// An executable, an object, bytecode, or an archive of such, and its name.
    Machine(&'static str),
    /// Neither text nor a kind that is known.
    Binary,
}

/// Classifies a file of a patch.
pub fn content_kind(path: &[u8], bytes: &[u8]) -> ContentKind {
    if text::is_text(bytes) {
        return ContentKind::Text;
    }
    match machine::machine_kind(bytes) {
        Some(kind) => ContentKind::Machine(kind),
        None if inert::is_inert(path, bytes) => ContentKind::Inert,
        None => ContentKind::Binary,
    }
}

/// Folders in which tools keep what they made, and the tools.
const TOOL_FOLDERS: &[(&str, &str)] = &[
    ("__pycache__", "compiled modules of Python"),
    ("node_modules", "installed packages of Node"),
    (".pytest_cache", "a cache of pytest"),
    (".mypy_cache", "a cache of mypy"),
    (".ruff_cache", "a cache of ruff"),
    (".tox", "environments of tox"),
    (".nox", "environments of nox"),
    (".eggs", "installed packages of setuptools"),
    (".fingerprint", "fingerprints of cargo"),
    (".ccache", "a cache of ccache"),
    (".parcel-cache", "a cache of Parcel"),
    (".turbo", "a cache of Turborepo"),
    (".nyc_output", "a cache of nyc"),
    (".sass-cache", "a cache of Sass"),
    (".gradle", "a cache of Gradle"),
    ("CMakeFiles", "products of CMake"),
];

/// Endings and names of files by which tools know what is fresh, and the tools.
const TOOL_FILES: &[(&str, &str)] = &[
    ("*.pyc", "a compiled module of Python"),
    ("*.pyo", "a compiled module of Python"),
    ("*.so", "a shared object"),
    ("*.class", "a compiled class of Java"),
    ("*.tsbuildinfo", "fingerprints of tsc"),
    ("*.stamp", "a stamp of a build"),
    (".rustc_info.json", "fingerprints of cargo"),
    (".eslintcache", "a cache of ESLint"),
    (".stylelintcache", "a cache of Stylelint"),
    (".ninja_log", "fingerprints of ninja"),
    (".ninja_deps", "fingerprints of ninja"),
    ("CMakeCache.txt", "fingerprints of CMake"),
    (".sconsign.dblite", "fingerprints of SCons"),
    ("CACHEDIR.TAG", "the mark of a cache"),
];

/// Names the tool that leaves files of this name; None for all others.
pub fn tool_leftover(path: &[u8]) -> Option<&'static str> {
    let mut folders: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let name = folders.pop()?;
    let in_folder = TOOL_FOLDERS.iter().find(|(folder, _)| folders.contains(&folder.as_bytes()));
    let is_named = |pattern: &str| match pattern.strip_prefix('*') {
        Some(ending) => name.ends_with(ending.as_bytes()),
        None => name == pattern.as_bytes(),
    };
    in_folder.or_else(|| TOOL_FILES.iter().find(|(pattern, _)| is_named(pattern))).map(|(_, what)| *what)
}

/// Signature that begins a `CACHEDIR.TAG`.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// True if a file marks the folder it lies in as what a tool keeps for itself: a
/// `.gitignore` that ignores everything beside it, or a cache tag.
pub fn marks_cache_folder(name: &[u8], bytes: &[u8]) -> bool {
    match name {
        b"CACHEDIR.TAG" => bytes.starts_with(CACHE_TAG),
        b".gitignore" => {
            let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.trim_ascii());
            let mut rules = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).peekable();
            rules.peek().is_some() && rules.all(|rule| rule == b"*")
        }
        _ => false,
    }
}

/// Lock file that tools write by themselves, and the manifests that it is made from.
#[derive(Debug)]
pub struct LockFile {
    pub name: &'static str,
    pub manifests: &'static [&'static str],
}

const LOCK_FILES: &[LockFile] = &[
    LockFile { name: "Cargo.lock", manifests: &["Cargo.toml"] },
    LockFile { name: "package-lock.json", manifests: &["package.json"] },
    LockFile { name: "npm-shrinkwrap.json", manifests: &["package.json"] },
    LockFile { name: "yarn.lock", manifests: &["package.json"] },
    LockFile { name: "pnpm-lock.yaml", manifests: &["package.json", "pnpm-workspace.yaml"] },
    LockFile { name: "bun.lock", manifests: &["package.json"] },
    LockFile { name: "bun.lockb", manifests: &["package.json"] },
    LockFile { name: "deno.lock", manifests: &["deno.json", "deno.jsonc", "package.json"] },
    LockFile { name: "go.sum", manifests: &["go.mod", "go.work"] },
    LockFile { name: "go.work.sum", manifests: &["go.mod", "go.work"] },
    LockFile { name: "uv.lock", manifests: &["pyproject.toml", "uv.toml"] },
    LockFile { name: "poetry.lock", manifests: &["pyproject.toml"] },
    LockFile { name: "pdm.lock", manifests: &["pyproject.toml"] },
    LockFile { name: "Pipfile.lock", manifests: &["Pipfile"] },
    LockFile { name: "Gemfile.lock", manifests: &["Gemfile"] },
    LockFile { name: "composer.lock", manifests: &["composer.json"] },
    LockFile { name: "mix.lock", manifests: &["mix.exs"] },
];

/// The lock file that a path is, if it is one.
pub fn lock_file(path: &[u8]) -> Option<&'static LockFile> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    LOCK_FILES.iter().find(|lock| lock.name.as_bytes() == name)
}

#[cfg(test)]
mod tests;
