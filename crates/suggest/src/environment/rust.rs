//! Rust: cargo finds the crates of the lock file in a registry that it can only read.
//!
//! With `CARGO_HOME` above a mounted registry cargo needs to write nothing as long as every
//! crate is unpacked, which `cargo fetch` sees to. Credentials lie beside the registry and
//! are not mounted.

use std::path::{Path, PathBuf};

use untrusted_fs::own_files::OwnPath as _;

use super::draft::EnvironmentDraft;
use crate::machine::{Machine, Toolchain, beginning_with, is_system, path_text, subfolders};
use crate::repository::ProjectFolder;

const CARGO: Toolchain = Toolchain { name: "cargo", landmarks: &["lib/rustlib"] };

/// Crates that are named in a note.
const NAMED: usize = 3;

/// A package of the lock file that is not of the repository itself.
#[derive(Debug, PartialEq, Eq)]
struct LockedCrate<'a> {
    name: &'a str,
    version: &'a str,
    of_git: bool,
}

/// Adds a Rust package or workspace. Below the root only folders with a lock file of their
/// own count as projects.
pub(super) fn draft_rust(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let locked = place.has_file("Cargo.lock") && !place.ignores("Cargo.lock");
    if !place.has_file("Cargo.toml") || (!place.is_root() && !locked) {
        return;
    }
    let files = ["Cargo.toml", "Cargo.lock"].into_iter().filter(|name| locked || *name == "Cargo.toml");
    draft.found("Rust", &files.map(|name| place.path_of(name)).collect::<Vec<_>>());
    draft.show_toolchain(machine, &CARGO);
    toolchain(place, machine, draft);
    let lock = if locked { place.read_text("Cargo.lock").unwrap_or_default() } else { String::new() };
    let packages = packages(&lock);
    if locked && packages.is_empty() {
        return;
    }
    let Some(home) = cargo_home(machine) else {
        return draft.add_note("cargo has no registry in ~/.cargo: run cargo fetch once, then suggest again");
    };
    registry(&home, &packages, draft);
    compile(place, locked, draft);
}

fn registry(home: &Path, packages: &[LockedCrate<'_>], draft: &mut EnvironmentDraft) {
    let folders =
        ["registry", "git"].into_iter().filter(|name| *name == "registry" || packages.iter().any(|it| it.of_git));
    let inside = if is_system(home) { path_text(home).unwrap_or_default() } else { "/opt/cargo".to_owned() };
    for name in folders.filter(|name| !is_system(home) && home.join(name).own_is_dir()) {
        let why = "what cargo downloaded before, and nothing else of its home: credentials stay out";
        if let Some(source) = path_text(&home.join(name)) {
            draft.mount(&source, &format!("/opt/cargo/{name}"), why);
        }
    }
    draft.variable("CARGO_HOME", &inside, "where cargo looks for its registry");
    draft.variable("CARGO_NET_OFFLINE", "true", "a sandbox has no network, so that cargo need not try");
    let sources = subfolders(&home.join("registry/src"));
    let missing: Vec<String> =
        packages.iter().filter(|package| !package.is_unpacked(&sources)).map(LockedCrate::folder).collect();
    if !missing.is_empty() {
        draft.add_note(format!(
            "{} of {} crates of Cargo.lock are not unpacked in {}, {} among them: run cargo fetch --locked first",
            missing.len(),
            packages.len(),
            home.join("registry").display(),
            missing.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", "),
        ));
    }
}

/// Cargo reads no manifest whose sources are not there, so that setup sees the whole tree.
/// The dependencies that it compiled of the baseline stay; the repository's own crates are
/// compiled again in every tree.
fn compile(place: &ProjectFolder<'_>, locked: bool, draft: &mut EnvironmentDraft) {
    let mut argv = vec!["cargo", "test", "--no-run"];
    argv.extend(locked.then_some("--locked"));
    let why =
        "compiles the dependencies once for all that follows; the baseline has to compile, else use cargo fetch here";
    draft.add_setup(&argv, place.cwd(), why);
    draft.sees_whole_tree();
    if !locked {
        draft.add_note("there is no Cargo.lock that git keeps: cargo takes versions that lie in the registry");
    }
    if !place.ignores("target") {
        draft.add_note("target is not in .gitignore: what an engine compiles there counts as part of its patch");
    }
}

/// Cargo's home of the operator, or the one that rustup was installed in.
fn cargo_home(machine: &Machine<'_>) -> Option<PathBuf> {
    let registry = machine.of_home(".cargo/registry").or_else(|| machine.beside_path("registry", "bin/cargo"))?;
    registry.parent().map(Path::to_owned)
}

/// A pinned toolchain has to be there already.
fn toolchain(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let file = place.read_text("rust-toolchain.toml").or_else(|| place.read_text("rust-toolchain"));
    let Some((text, toolchains)) = file.zip(machine.toolchains()) else { return };
    let named = text.lines().find_map(|line| line.trim().strip_prefix("channel")?.trim().strip_prefix('='));
    let channel = named.unwrap_or(text.trim()).trim().trim_matches(['"', '\'']);
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_');
    if channel.is_empty() || !channel.chars().all(plain) {
        return;
    }
    if beginning_with(&toolchains.join(channel)).is_empty() {
        draft.add_note(format!("the repository asks for Rust {channel}: run rustup toolchain install {channel} first"));
    }
}

fn packages(lock: &str) -> Vec<LockedCrate<'_>> {
    let value = |block: &'_ str, key: &str| -> Option<(usize, usize)> {
        let start = block.find(&format!("\n{key} = \""))? + key.len() + 5;
        Some((start, start + block.get(start..)?.find('"')?))
    };
    let get = |block, key| value(block, key).and_then(|(from, to)| <str>::get(block, from..to));
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            let of_git = get(block, "source")?.starts_with("git+");
            Some(LockedCrate { name: get(block, "name")?, version: get(block, "version")?, of_git })
        })
        .collect()
}

impl LockedCrate<'_> {
    fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Tells whether a registry has it unpacked; what comes from git is not looked for.
    fn is_unpacked(&self, sources: &[PathBuf]) -> bool {
        let folder = self.folder();
        self.of_git || folder.contains('/') || sources.iter().any(|source| source.join(&folder).own_is_dir())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_what_is_not_of_the_repository() {
        let lock = "version = 4\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.11\"\nsource = \"registry+x\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n\n\
                    [[package]]\nname = \"g\"\nversion = \"2.0.0\"\nsource = \"git+https://example/g#1\"\n";
        let expected = [
            LockedCrate { name: "itoa", version: "1.0.11", of_git: false },
            LockedCrate { name: "g", version: "2.0.0", of_git: true },
        ];
        assert_eq!(packages(lock), expected);
        for hostile in ["", "[[package]]", "[[package]]\nname = \"", "[[package]]\nsource = \"x\"\nname = \"a\"\n"] {
            assert_eq!(packages(hostile), [], "{hostile}");
        }
    }
}
