//! `cargo xtask dist`: the program as it is shipped, and the archive that it is shipped in.
//!
//! Linked without shared libraries and at a fixed address: it can be copied to any machine
//! of the same architecture, and starts in half the time. A run starts the program itself
//! three times over, so that is felt. The price of the address is that only stack, heap and
//! mappings lie at random places; what `cargo build --release` makes has all four.

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

/// The key that signs where none is named. It is made on first use and stays on this machine.
const OWN_KEY: &str = "signing-key";

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
    let key = key.unwrap_or_else(|| folder.join(OWN_KEY));
    let own = build_as(profile)?;
    let mut archives = vec![pack::pack_program(&own, &own, X86_64, &folder)?];
    if profile == Profile::Release {
        archives.extend(build_other(&own, &folder)?);
    }
    let files = pack::write_sums(&folder, &archives)?;
    provenance::sign_all(&files, &key)?;
    for file in files {
        println!("{}", file.display());
    }
    if is_tried { trial::install_on_bare_root(&archives[0]) } else { Ok(()) }
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
    let words = ["rustc", "--quiet", "--package", "cto", "--features", "fleet", "--bin", "cto"];
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
        "fleet",
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
