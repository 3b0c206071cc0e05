//! `cargo xtask dist`: the program as it is shipped, and the archive that it is shipped in.
//!
//! Linked without shared libraries and at a fixed address: it can be copied to any machine
//! of the same architecture, and starts in half the time. A run starts the program itself
//! three times over, so that is felt. The price of the address is that only stack, heap and
//! mappings lie at random places; what `cargo build --release` makes has all four.

mod check;
mod pack;
mod provenance;
mod sbom;
mod trial;

use std::path::{Path, PathBuf};

use crate::ChoreResult;
use crate::process::{cargo, command_output, is_there, program, run_command, target};

/// For the program alone; procedural macros cannot be linked this way.
const LINKED: [&str; 6] = [
    "-C",
    "target-feature=+crt-static",
    "-C",
    "relocation-model=static",
    // The standard library asks at run time whether this is there, and copies itself to
    // start a program in a folder where not.
    "-C",
    "link-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np",
];

/// The target of this machine's archive.
const X86_64: &str = "x86_64-unknown-linux-gnu";
/// Targets of the other architecture, one of which must be installed.
const AARCH64: [&str; 2] = ["aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"];

/// Features of the program that is shipped.
const FEATURES: &str = "fleet";

/// The key that signs where none is named, beside the folder that is shipped. It is made on
/// first use and stays on this machine.
const OWN_KEY: &str = "dist-signing-key";

/// Beginnings of the names of everything that is shipped.
const SHIPPED: [&str; 3] = ["cto-", "SHA256SUMS", "provenance."];

/// Builds the archive; `--try` also installs it in an empty root file system.
pub(crate) fn run_dist(arguments: &[&str]) -> ChoreResult {
    let (mut key, mut is_tried, mut profile, mut rest) = (None, false, Profile::Release, arguments);
    while let [first, more @ ..] = rest {
        rest = match (*first, more) {
            ("--try", more) => {
                is_tried = true;
                more
            }
            ("--debug", more) => {
                profile = Profile::Debug;
                more
            }
            ("--key", [file, more @ ..]) => {
                key = Some(PathBuf::from(file));
                more
            }
            _ => return Err(format!("dist does not know `{first}`; it takes --key FILE, --try and --debug")),
        };
    }
    let folder = target().join("dist");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let key = key.unwrap_or_else(|| target().join(OWN_KEY));
    refuse_strangers(&folder, &key)?;
    let own = build_as(profile)?;
    let mut archives = vec![pack::pack_program(&own, &own, X86_64, &folder)?];
    if profile == Profile::Release {
        archives.extend(build_other(&own, &folder)?);
    }
    let files = pack::write_sums(&folder, &archives)?;
    provenance::sign_all(&files, &key)?;
    check::check_shipped(&folder, &files)?;
    for file in files {
        println!("{}", file.display());
    }
    if is_tried { trial::install_on_bare_root(&archives[0]) } else { Ok(()) }
}

/// Refuses a key in the folder that is shipped, and files there that no build wrote: a publisher
/// publishes the whole folder.
fn refuse_strangers(folder: &Path, key: &Path) -> ChoreResult {
    let parent = key.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if parent.canonicalize().is_ok_and(|parent| folder.canonicalize().is_ok_and(|folder| parent.starts_with(folder))) {
        return Err(format!("the key {} lies in {}, which is shipped", key.display(), folder.display()));
    }
    let entries = std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    for entry in entries {
        let name = entry.map_err(|error| error.to_string())?.file_name().to_string_lossy().into_owned();
        if !SHIPPED.iter().any(|begin| name.starts_with(begin)) {
            let stranger = folder.join(name);
            return Err(format!("{} is not shipped: move it out of this folder", stranger.display()));
        }
    }
    Ok(())
}

/// Build profile. A debug build tries the chore; nobody ships it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    Release,
    Debug,
}

/// Builds the program as it is shipped and returns its path.
pub(crate) fn build_program() -> ChoreResult<PathBuf> {
    build_as(Profile::Release)
}

fn build_as(profile: Profile) -> ChoreResult<PathBuf> {
    let (flag, folder): (&[&str], &str) = match profile {
        Profile::Release => (&["--release"], "release"),
        Profile::Debug => (&[], "debug"),
    };
    let words = ["rustc", "--quiet", "--package", "cto", "--features", FEATURES, "--bin", "cto"];
    run_command(cargo(&words).args(flag).arg("--").args(LINKED))?;
    Ok(target().join(folder).join("cto"))
}

/// The archive for aarch64 where that target and a linker for it are installed; else a
/// sentence says what is missing.
fn build_other(own: &Path, folder: &Path) -> ChoreResult<Option<PathBuf>> {
    let installed = command_output(&mut program("rustup", ["target", "list", "--installed"])).unwrap_or_default();
    let Some(other) = AARCH64.iter().find(|name| installed.lines().any(|line| line == **name)) else {
        println!("no archive for aarch64: its target is not installed; rustup target add {}", AARCH64[0]);
        return Ok(None);
    };
    if !is_there("aarch64-linux-gnu-gcc") {
        println!("no archive for aarch64: there is no linker for it; apt-get install gcc-aarch64-linux-gnu");
        return Ok(None);
    }
    let words = [
        "rustc",
        "--quiet",
        "--release",
        "--package",
        "cto",
        "--features",
        FEATURES,
        "--bin",
        "cto",
        "--target",
        other,
        "--",
    ];
    let linker = format!("CARGO_TARGET_{}_LINKER", other.to_uppercase().replace('-', "_"));
    let compiler = format!("CC_{}", other.replace('-', "_"));
    let mut command = cargo(&words);
    run_command(command.args(LINKED).env(linker, "aarch64-linux-gnu-gcc").env(compiler, "aarch64-linux-gnu-gcc"))?;
    pack::pack_program(&target().join(other).join("release/cto"), own, other, folder).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever else lies in the checkout, such as a key, does not go to the builder of the image.
    #[test]
    fn an_image_is_made_from_the_archive_alone() {
        let read = |name: &str| std::fs::read_to_string(crate::process::repository_root().join(name)).unwrap();
        let (made, ignored) = (read("Containerfile"), read(".containerignore"));
        let added = made.lines().filter_map(|line| line.strip_prefix("ADD ")?.split(' ').next());
        let expected: Vec<String> = ["*".to_owned()].into_iter().chain(added.map(|file| format!("!{file}"))).collect();
        let patterns = ignored.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(patterns.collect::<Vec<_>>(), expected);
        assert!(!made.lines().any(|line| line.starts_with("COPY")), "what is copied has to be listed too");
    }

    #[test]
    fn nothing_but_what_is_shipped_lies_in_the_folder() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("dist");
        std::fs::create_dir(&folder).unwrap();
        let beside = around.path().join(OWN_KEY);
        for name in ["cto-0.1.0-x86_64-unknown-linux-gnu.tar.gz", "SHA256SUMS", "provenance.pub"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(refuse_strangers(&folder, &beside), Ok(()), "control");
        assert!(refuse_strangers(&folder, &folder.join("cto-key")).is_err_and(|error| error.contains("is shipped")));
        assert!(refuse_strangers(&folder, &around.path().join("dist/../dist/key")).is_err());
        std::fs::write(folder.join("signing-key"), "").unwrap();
        assert!(refuse_strangers(&folder, &beside).is_err_and(|error| error.contains("signing-key")));
    }
}
