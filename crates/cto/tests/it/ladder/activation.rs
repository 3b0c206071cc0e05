//! Nothing that a command writes makes an engine a default or promotes it: every byte of a home is searched after a tour of the
//! commands, archives, signed payloads and the ledger's entries included.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use testkit::{World, git};

use crate::targets::Scene;

/// Keys that would say so, and the one value that each may have; none where no file may have the key.
const CLAIMS: [(&str, Option<&str>); 5] = [
    (testkit::CLAIMS[0].0, Some(testkit::CLAIMS[0].1)),
    (testkit::CLAIMS[1].0, Some(testkit::CLAIMS[1].1)),
    ("default_engine", None),
    ("default_backend", None),
    ("default_model", None),
];

fn claims_in(bytes: &[u8]) -> Vec<String> {
    testkit::find_claims(bytes, CLAIMS)
}

/// Claims in a file, and in everything that is packed into it.
fn claims_of(name: &str, bytes: &[u8]) -> Vec<String> {
    let mut found = claims_in(bytes);
    if name.ends_with(".zst") {
        let mut archive = tar::Archive::new(zstd::Decoder::new(bytes).unwrap());
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let (inner, mut bytes) = (entry.path().unwrap().display().to_string(), Vec::new());
            entry.read_to_end(&mut bytes).unwrap();
            found.extend(claims_of(&inner, &bytes));
        }
    }
    let document: serde_json::Value = match name.ends_with(".json") {
        true => serde_json::from_slice(bytes).unwrap_or_default(),
        false => serde_json::Value::Null,
    };
    if let Some(payload) = document["payload"].as_str() {
        let signed = base64::engine::general_purpose::STANDARD.decode(payload).unwrap();
        found.extend(claims_in(&signed));
    }
    found
}

/// Claims in every file below a folder, and the number of files.
pub(crate) fn search(folder: &Path) -> (Vec<String>, usize) {
    let (mut found, mut files, mut folders) = (Vec::new(), 0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files += 1;
                let name = path.display().to_string();
                let bytes = fs::read(&path).unwrap();
                found.extend(claims_of(&name, &bytes).into_iter().map(|claim| format!("{name}: {claim}")));
            }
        }
    }
    (found, files)
}

/// Bodies of the ledger's entries, which a database may lay out in pieces.
fn ledger_bodies(world: &World) -> String {
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let mut statement = ledger.prepare("SELECT body FROM entries ORDER BY seq").unwrap();
    let bodies = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    bodies.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
}

/// Commands that a person asks to change the workspace's own file.
const WRITES_WORKSPACE: [&str; 2] = ["init", "engine"];

/// A home in which commands are called, and everything that they print.
struct Tour {
    scene: Scene,
    printed: Vec<u8>,
    seen: usize,
}

impl Tour {
    fn workspace(&self) -> Option<Vec<u8>> {
        fs::read(self.scene.world.here().join("harness.yaml")).ok()
    }

    fn call(&mut self, words: &[&str], code: i32) {
        let before = self.workspace();
        let ran = self.scene.world.cto(words).expect(code);
        self.printed.extend_from_slice(&ran.stdout);
        self.printed.extend_from_slice(ran.stderr.as_bytes());
        self.seen += 1;
        if !WRITES_WORKSPACE.contains(&words[0]) {
            assert_eq!(self.workspace(), before, "{words:?} changed harness.yaml");
        }
    }

    fn newest(&self) -> String {
        let ran = self.scene.world.cto(["runs", "--json", "--limit", "1"]).expect(0).json();
        ran["run_id"].as_str().unwrap().to_owned()
    }
}

/// Runs at every stage, by every outcome.
fn climb(tour: &mut Tour) {
    tour.call(&["init", "."], 0);
    tour.call(&["doctor"], 0);
    for (words, code) in [
        (&["run", "./made", "--stage", "1"][..], 0),
        (&["run", "./made", "--stage", "2", "--json"], 0),
        (&["run", "./made", "--stage", "3"], 0),
        (&["run", "fail-no-diff"], 1),
        (&["run", "./made", "--engine", "codex", "--stage", "2"], 3),
        (&["decide", "./made"], 0),
    ] {
        tour.call(words, code);
    }
    for stage in ["4", "5"] {
        let words = tour.scene.words("run", stage);
        tour.call(&words, 3);
        tour.scene.approve(stage);
        tour.call(&words, 0);
    }
    let landed = tour.newest();
    tour.call(&["outcome", &landed, "accept", "--reason", "read"], 0);
    tour.call(&["show", &landed, "--markdown"], 0);
    tour.call(&["export", &landed, "-o", "landed.cto.tar.zst"], 0);
    tour.call(&["rollback", &landed, "--reason", "tried"], 0);
}

/// Everything that reads, compares, keeps and hands over runs.
fn use_runs(tour: &mut Tour) {
    let other = tour.scene.world.path().join("other-home").display().to_string();
    let key = tour.scene.world.home().join("keys/harness.pub").display().to_string();
    for (words, code) in [
        (&["race", "./made", "--engines", "fake,fake"][..], 0),
        (&["repeat", "./made", "--times", "2"], 0),
        (&["matrix"], 0),
        (&["compare", "--candidate", "fake"], 3),
        (&["refresh", "--engine", "fake"], 1),
        (&["validate", "stage", "1"], 0),
        (&["health", "--only", "fake_lane_passes"], 0),
        (&["admit", "source", "codex"], 3),
        (&["records"], 0),
        (&["take", "@", "--branch", "mine"], 3),
        (&["compare", "@", "@-1"], 0),
        (&["verify", "@"], 0),
        (&["reverify", "@"], 0),
        (&["runs", "--json"], 0),
        (&["ladder"], 0),
        (&["ladder", "--json", "--engine", "fake"], 0),
        (&["ladder", "explain", "5", "--engine", "fake"], 0),
        (&["ladder", "--svg", "ladder.svg"], 0),
        (&["status"], 0),
        (&["status", "--json"], 0),
        (&["approvals"], 0),
        (&["--home", &other, "key", "init"], 0),
        (&["--home", &other, "import", "landed.cto.tar.zst", "--key", &key], 0),
        (&["engine", "enable", "codex", "--stage", "1"], 0),
        (&["engine", "list"], 0),
        (&["gc", "--older-than", "0s", "--keep", "0"], 0),
        (&["ledger", "rebuild"], 0),
        (&["ledger", "verify"], 0),
        (&["recover"], 0),
    ] {
        tour.call(words, code);
    }
    git(&tour.scene.world.path().join("target"), ["status", "--short"]);
}

#[test]
fn no_byte_that_a_command_writes_activates_or_promotes() {
    let Some(scene) = Scene::new("no_byte_that_a_command_writes_activates_or_promotes") else { return };
    let mut tour = Tour { scene, printed: Vec::new(), seen: 0 };
    climb(&mut tour);
    use_runs(&mut tour);
    let world = &tour.scene.world;
    let (found, files) = search(world.path());
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(claims_in(&tour.printed), Vec::<String>::new(), "what was printed");
    assert_eq!(claims_in(ledger_bodies(world).as_bytes()), Vec::<String>::new(), "the ledger's entries");
    assert!(files > 200 && tour.seen > 30, "{files} files of {} commands", tour.seen);
    control(world);
}

/// The same search finds each claim in each place that it could hide in.
fn control(world: &World) {
    let bundle = fs::read_dir(world.bundles()).unwrap().next().unwrap().unwrap().path();
    let mut planted: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    for (number, (key, allowed)) in CLAIMS.into_iter().enumerate() {
        planted.insert(bundle.join(format!("planted-{number}.json")), format!("{{\"{key}\": true}}").into());
        planted.insert(bundle.join(format!("planted-{number}.yaml")), format!("a:\n  {key}: 'yes'\n").into());
        let payload = base64::engine::general_purpose::STANDARD.encode(format!("{{\"{key}\":null}}"));
        planted.insert(
            bundle.join(format!("planted-{number}.dsse.json")),
            format!("{{\"payload\":\"{payload}\"}}").into(),
        );
        if let Some(allowed) = allowed {
            let innocent = format!("{{\"{key}\": \"{allowed}\", \"text\": \"no {key} here\"}}");
            assert_eq!(claims_in(innocent.as_bytes()), Vec::<String>::new());
        }
    }
    let mut archive = tar::Builder::new(Vec::new());
    let claim = b"{\"runtime_default_activation\":true}";
    let mut header = tar::Header::new_gnu();
    header.set_size(claim.len() as u64);
    archive.append_data(&mut header, "report.json", &claim[..]).unwrap();
    let packed = zstd::encode_all(archive.into_inner().unwrap().as_slice(), 0).unwrap();
    planted.insert(world.here().join("planted.tar.zst"), packed);
    planted.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let (found, _) = search(world.path());
    for path in planted.keys() {
        assert!(
            found.iter().any(|claim| claim.starts_with(&path.display().to_string())),
            "{}: {found:?}",
            path.display()
        );
        // The whole suite is searched as well, at its end.
        fs::remove_file(path).unwrap();
    }
}
