//! A cheat with the case it is played on, whether both ship or stand here.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use contract::TaskContract;
use contract::case::load_case;
use contract::fake::{Fake, FakeStep};
use fixtures::Cheat;
use serde_json::json;
use testkit::{World, files_of};

/// A case folder in memory: `case.yaml`, patches, and the baseline below `files/`.
pub(super) struct Base {
    files: Vec<BaseFile>,
}

pub(super) struct BaseFile {
    path: String,
    bytes: Vec<u8>,
    executable: bool,
}

pub(super) struct Played {
    pub(super) cheat: Cheat,
    pub(super) contract: TaskContract,
    pub(super) base: Base,
    ships: bool,
}

/// Path of a file beside this one.
pub(super) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cheats").join(name)
}

/// Every cheat that ships.
pub(super) fn shipped() -> Vec<Played> {
    let all = fixtures::cheats().iter();
    all.map(|file| Played::new(file.load().unwrap(), Base::shipped, true)).collect()
}

/// Every cheat that stands here. Those on `pytest` need the Python that has it.
pub(super) fn more(python: Option<&Path>) -> Vec<Played> {
    let mut files: Vec<PathBuf> = fs::read_dir(data("corpus")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let load = |file: &PathBuf| contract::source::load::<Cheat>("cheat.yaml", &fs::read(file).unwrap()).unwrap().value;
    files.iter().map(|file| Played::new(load(file), |on| Base::read(&data("bases").join(on), python), false)).collect()
}

impl Played {
    fn new(cheat: Cheat, base: impl FnOnce(&str) -> Base, ships: bool) -> Self {
        let base = base(&cheat.on);
        let read = |name: &str| base.bytes(name).ok_or_else(|| "no such file".to_owned());
        let text = base.contract().replace("@ID@", cheat.id.as_str());
        let contract = load_case("case.yaml", text.as_bytes(), &read).unwrap().contract;
        Self { cheat, contract, base, ships }
    }

    pub(super) fn steps(&self) -> Vec<FakeStep> {
        self.base.steps(self.cheat.fake.clone())
    }

    /// Name to run it by: its id, or the path of a case folder that is made for it.
    pub(super) fn set(&self, world: &World) -> String {
        if self.ships { self.cheat.id.to_string() } else { self.set_as_case(world, |text| text) }
    }

    /// Writes it as a case folder, with the contract's text edited.
    pub(super) fn set_as_case(&self, world: &World, edit: impl FnOnce(String) -> String) -> String {
        let id = self.cheat.id.as_str();
        let ours = [("task_id", id), ("fake", &json!(self.cheat.fake).to_string())];
        let expect = json!(self.cheat.expect).to_string();
        let text = edit(with(with(self.base.contract(), &ours), &[("expect", &expect)]));
        self.base.write(&world.here().join(id), Some(text.as_bytes()));
        format!("./{id}")
    }
}

impl Base {
    pub(super) fn shipped(id: &str) -> Self {
        let folder = fixtures::find(id).unwrap_or_else(|| panic!("there is no case {id}"));
        let files = folder.files.iter().map(|file| BaseFile {
            path: file.path.to_owned(),
            bytes: file.bytes.to_vec(),
            executable: file.executable,
        });
        Self { files: files.collect() }
    }

    /// A case folder on disk, with the place of the Python filled in.
    pub(super) fn read(folder: &Path, python: Option<&Path>) -> Self {
        let bin = python.and_then(Path::parent).map_or_else(String::new, |bin| bin.display().to_string());
        let files = files_of(folder).into_iter().map(|name| {
            let path = folder.join(&name);
            let mut bytes = fs::read(&path).unwrap();
            if name == Path::new("case.yaml") {
                let environment = python.and_then(|_| testkit::python_environment("cheats"));
                let mounts =
                    environment.map_or_else(|| "[]".to_owned(), |environment| environment["mounts"].to_string());
                let text = String::from_utf8(bytes).unwrap().replace("@BIN@", &bin);
                bytes = with_tools(text).replace("@MOUNTS@", &mounts).into_bytes();
            }
            let executable = fs::metadata(&path).unwrap().permissions().mode() & 0o111 != 0;
            BaseFile { path: name.to_str().unwrap().to_owned(), bytes, executable }
        });
        Self { files: files.collect() }
    }

    pub(super) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.files.iter().find(|file| file.path == name).map(|file| file.bytes.clone())
    }

    fn contract(&self) -> String {
        String::from_utf8(self.bytes("case.yaml").unwrap()).unwrap()
    }

    fn steps(&self, fake: Fake) -> Vec<FakeStep> {
        let text = |name: &str| String::from_utf8(self.bytes(name).unwrap()).unwrap();
        let Ok((steps, _)) = fake.resolve_patches(|name| Ok::<_, Infallible>(text(name)));
        steps
    }

    /// With the files of another folder, in place of those of the same name.
    pub(super) fn overlay(mut self, over: Self) -> Self {
        let Self { files } = over;
        self.files.retain(|file| files.iter().all(|ours| ours.path != file.path));
        self.files.extend(files);
        self
    }

    /// Writes the case folder, with another `case.yaml` if there is one.
    pub(super) fn write(&self, folder: &Path, case: Option<&[u8]>) {
        for file in &self.files {
            let bytes = case.filter(|_| file.path == "case.yaml").unwrap_or(&file.bytes);
            put(&folder.join(&file.path), bytes, file.executable);
        }
    }

    /// Writes the baseline alone.
    pub(super) fn write_baseline(&self, tree: &Path) {
        for file in &self.files {
            if let Some(path) = file.path.strip_prefix("files/") {
                put(&tree.join(path), &file.bytes, file.executable);
            }
        }
    }
}

/// A case with the places of Go, tsc and nextest filled in, where it asks for them and this machine has them.
fn with_tools(text: String) -> String {
    let mut text = text;
    if text.contains("@GO_ENVIRONMENT@") {
        let environment = testkit::go_environment("cheats").unwrap_or_else(|| json!({}));
        text = text.replace("@GO_ENVIRONMENT@", &environment.to_string());
    }
    if text.contains("@TSC@") {
        let environment = testkit::tsc_environment("cheats").unwrap_or_else(|| json!({}));
        let tsc = testkit::tsc("cheats").unwrap_or_else(|| "tsc.js".into());
        text = text.replace("@MOUNTS@", &environment["mounts"].to_string());
        text = text.replace(
            "@NODE_PATH@",
            &environment["path"].as_array().map_or("[]".to_owned(), |path| json!(path).to_string()),
        );
        text = text.replace("@TSC@", &tsc.display().to_string());
    }
    if text.contains("@NEXTEST@") {
        let nextest = testkit::nextest("cheats").unwrap_or_else(|| "cargo-nextest".into());
        let shown = nextest.starts_with("/usr") || nextest.with_file_name("rustup").is_file();
        let mounts = nextest.parent().filter(|_| !shown).map(|folder| json!({"mounts": [testkit::same_place(folder)]}));
        text = text.replace("@NEXTEST_ENVIRONMENT@", &testkit::quick(mounts.unwrap_or_else(|| json!({}))).to_string());
        text = text.replace("@NEXTEST@", &nextest.display().to_string());
    }
    text
}

fn put(path: &Path, bytes: &[u8], executable: bool) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(if executable { 0o755 } else { 0o644 })).unwrap();
}

/// A document with other values for some of its keys; a key without a value is left out.
pub(super) fn with(text: String, changes: &[(&str, &str)]) -> String {
    let mut kept = String::new();
    let mut keep = true;
    for line in text.lines() {
        if !line.starts_with([' ', '-', '#']) && !line.is_empty() {
            keep = !changes.iter().any(|(key, _)| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
        }
        if keep {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    let added = changes.iter().filter(|(_, value)| !value.is_empty());
    kept + &added.map(|(key, value)| format!("{key}: {value}\n")).collect::<String>()
}
