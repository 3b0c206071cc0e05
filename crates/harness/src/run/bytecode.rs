//! Bytecode of Python's installed libraries, shown to Python in a sandbox.
//!
//! `PYTHONPYCACHEPREFIX` keeps Python from bytecode that lies beside the sources of a tree.
//! It also hides the bytecode of the libraries outside of the tree, so that Python would
//! compile them for every command. Links below the prefix bring that bytecode back. They
//! point to paths inside, are shown read-only, and are made for one run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use contract::Digest;
use sandbox::{Access, HostMount};
use untrusted_fs::own_files;
use untrusted_fs::own_files::OwnPath as _;

/// Variable that names the folder of all bytecode.
pub(crate) const PREFIX_VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// Folder beside sources in which Python keeps their bytecode.
const BESIDE: &str = "__pycache__";

/// Beginnings of the names of programs that Python runs.
const PROGRAMS: [&str; 7] = ["python", "pip", "pytest", "py.test", "tox", "nox", "poetry"];

/// Folders below an installation that hold its libraries, each in one such as `python3.11`.
const LIBRARIES: [&str; 2] = ["lib", "lib64"];

/// Folders that are looked into for one library; Python compiles what lies beyond them.
const MOST_FOLDERS: usize = 10_000;

/// Installation of programs that a sandbox shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownInstallation {
    /// Path on the host.
    pub(crate) host: PathBuf,
    /// Path inside.
    pub(crate) seen: PathBuf,
}

/// True for a program that Python runs.
pub(crate) fn runs_python(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    PROGRAMS.iter().any(|python| name.starts_with(python))
}

/// Mounts below `prefix` with the bytecode of each library. The links are made in `folder`
/// once; a library for which that fails is left out.
pub(crate) fn bytecode_mounts(folder: &Path, installations: &[ShownInstallation], prefix: &Path) -> Vec<HostMount> {
    let libraries = installations.iter().flat_map(find_libraries);
    let mount = |library: ShownInstallation| {
        let source = link_library(folder, &library).ok().flatten()?;
        let below = library.seen.strip_prefix("/").ok()?;
        Some(HostMount { source, target: prefix.join(below), access: Access::ReadOnly })
    };
    libraries.filter_map(mount).collect()
}

fn find_libraries(installation: &ShownInstallation) -> Vec<ShownInstallation> {
    let mut found = Vec::new();
    for libraries in LIBRARIES {
        let host = installation.host.join(libraries);
        // Nearly every system has `lib64` as a link to `lib`.
        let is_link = own_files::symlink_metadata(&host).is_ok_and(|stat| stat.is_symlink());
        let Ok(entries) = own_files::read_dir(&host) else { continue };
        for entry in entries.flatten().filter(|_| !is_link) {
            let name = entry.file_name();
            let is_python = name.to_str().is_some_and(|name| name.starts_with("python3"));
            if is_python && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let seen = installation.seen.join(libraries).join(&name);
                found.push(ShownInstallation { host: entry.path(), seen });
            }
        }
    }
    found.sort_by(|a, b| a.seen.cmp(&b.seen));
    found
}

/// The folder of links for a library; none where it has no bytecode.
fn link_library(folder: &Path, library: &ShownInstallation) -> io::Result<Option<PathBuf>> {
    /// Trees of one run are laid out side by side.
    static UNFINISHED: AtomicU64 = AtomicU64::new(0);
    let name = Digest::of_bytes(library.seen.as_os_str().as_encoded_bytes()).to_string();
    let place = folder.join(&name);
    if !place.own_exists() {
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{name}.{number}"));
        fs::create_dir_all(&unfinished)?;
        link_folders(&library.host, &library.seen, &unfinished, &mut { MOST_FOLDERS })?;
        // Somebody else's is as good.
        let _ = fs::rename(&unfinished, &place);
    }
    // Only an empty folder can be removed so.
    let is_empty = fs::remove_dir(&place).is_ok();
    Ok((!is_empty).then_some(place))
}

/// Links the bytecode of a folder and of those below it into `place`, which is there.
fn link_folders(host: &Path, seen: &Path, place: &Path, left: &mut usize) -> io::Result<()> {
    for name in list_folders(host)? {
        let (host, seen) = (host.join(&name), seen.join(&name));
        if name == BESIDE {
            link_files(&host, &seen, place)?;
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { return Ok(()) };
        *left = fewer;
        let place = place.join(&name);
        match list_folders(&host)?.as_slice() {
            [] => {}
            // One link for all, which most packages are.
            [only] if only == BESIDE => symlink(seen.join(BESIDE), place)?,
            _ => {
                fs::create_dir(&place)?;
                link_folders(&host, &seen, &place, left)?;
            }
        }
    }
    Ok(())
}

fn list_folders(host: &Path) -> io::Result<Vec<OsString>> {
    let mut folders = Vec::new();
    for entry in own_files::read_dir(host)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.file_name());
        }
    }
    Ok(folders)
}

fn link_files(host: &Path, seen: &Path, place: &Path) -> io::Result<()> {
    for entry in own_files::read_dir(host)? {
        let name = entry?.file_name();
        symlink(seen.join(&name), place.join(&name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytecode_is_linked_at_the_paths_inside() {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("host");
        for file in ["a.py", "__pycache__/a.pyc", "flat/__pycache__/b.pyc", "deep/sub/__pycache__/c.pyc", "data/d.txt"]
        {
            let file = host.join("lib/python3.1").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            own_files::write_file(file, "").unwrap();
        }
        fs::create_dir_all(host.join("lib/other/__pycache__")).unwrap();
        let installation = ShownInstallation { host, seen: "/seen".into() };
        let again = [installation.clone(), installation];
        let mounts = bytecode_mounts(&folder.path().join("links"), &again, Path::new("/prefix"));
        let targets: Vec<&Path> = mounts.iter().map(|mount| mount.target.as_path()).collect();
        assert_eq!(targets, ["/prefix/seen/lib/python3.1"; 2].map(Path::new), "what is there is taken again");
        let linked = |name: &str| own_files::read_link(mounts[0].source.join(name)).ok();
        for (name, expected) in [
            ("a.pyc", Some("/seen/lib/python3.1/__pycache__/a.pyc")),
            ("flat", Some("/seen/lib/python3.1/flat/__pycache__")),
            ("deep/sub", Some("/seen/lib/python3.1/deep/sub/__pycache__")),
            ("data", None),
        ] {
            assert_eq!(linked(name), expected.map(PathBuf::from), "{name}");
        }
        assert!(mounts.iter().all(|mount| mount.access == Access::ReadOnly));
    }

    #[test]
    fn programs_of_python_are_known_by_their_names() {
        for (program, expected) in
            [("/usr/bin/python3.11", true), ("/v/bin/pip3", true), ("/bin/sh", false), ("/python/sh", false)]
        {
            assert_eq!(runs_python(Path::new(program)), expected, "{program}");
        }
    }
}
