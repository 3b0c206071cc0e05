//! Nothing that a command writes makes an engine a default or promotes it: every byte of a home is searched after a tour of the
//! commands, archives, signed payloads and the ledger's entries included.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::Engine as _;
use testkit::{World, git};

use crate::targets::Scene;

fn claims_in(bytes: &[u8]) -> Vec<String> {
    testkit::find_claims(bytes, testkit::CLAIMS)
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
    for (number, (key, allowed)) in testkit::CLAIMS.into_iter().enumerate() {
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

/// Words by which a test would start the binary around [`testkit::CtoCommand`], or read what it prints unsearched; and the files that have
/// them, each with the reason for which nothing escapes there.
const AROUND: &[(&str, &[(&str, &str)])] = &[
    ("Command::new(", &[("browser/drive.rs", "the browser, which is no program of ours")]),
    (".wait_with_output()", &[]),
    (
        "CARGO_BIN_EXE_cto",
        &[
            ("archive/hostile.rs", "started by a program of the world, whose output is searched"),
            ("case/scene.rs", "copied as the program of an engine"),
            ("cheats/naive.rs", "the fake engine alone, which writes a tree and no document"),
            ("documented/home.rs", "linked into a folder of programs; prose of the docs speaks of claims"),
            ("matrix/check.rs", "the fake engine alone, which writes a tree and no document"),
            ("tamper/callers.rs", "started by a program of the world, whose output is searched"),
        ],
    ),
    (
        ".binary()",
        &[
            ("agents/quickstart.rs", "linked into a folder of programs, for a shell of the world"),
            ("case/followed.rs", "linked into a folder of programs, for a shell of the world"),
            ("climb/page.rs", "linked into a folder of programs, for a shell of the world"),
            ("completions.rs", "named to a shell of the world"),
            ("private.rs", "called for its refusals, by a program of the world"),
            ("stops.rs", "named to a script of the world"),
            ("strict/check.rs", "its inode alone"),
            ("strict/cheats.rs", "the fake engine alone, which writes a tree and no document"),
            ("strict/scene.rs", "started by a program of the world, whose output is searched"),
            ("strict/unavailable.rs", "started by a program of the world, whose output is searched"),
            ("targets/copied.rs", "started by a shell of the world, whose output is searched"),
            ("targets/replanned.rs", "copied as another build"),
        ],
    ),
    (
        ".stdout.",
        &[
            ("browser/drive.rs", "answers of the browser, whose pages are handed in"),
            ("console/client.rs", "one line with an address; answers are handed in"),
            ("model/alone.rs", "one line with an address"),
            ("strict/scene.rs", "lines of an engine that is watched"),
            ("strict/survive.rs", "lines of a program that is watched"),
        ],
    ),
];

/// True for a line that reads the output of a child piece by piece, or is about none.
fn is_about(word: &str, line: &str) -> bool {
    match word {
        ".stdout." => line.contains(".stdout.take()") || line.contains(".stdout.as_mut()"),
        // A world is what starts it.
        "CARGO_BIN_EXE_cto" => line.contains(word) && !line.contains("World::"),
        word => line.contains(word),
    }
}

/// Files with a line about a word, without those that may have it.
fn around(word: &str, allowed: &[(&str, &str)], sources: &BTreeMap<String, String>) -> Vec<String> {
    let has_it = |text: &String| text.lines().any(|line| is_about(word, line));
    let is_allowed = |name: &String| allowed.iter().any(|(file, _)| file == name);
    sources.iter().filter(|(name, text)| has_it(text) && !is_allowed(name)).map(|(name, _)| name.clone()).collect()
}

#[test]
fn no_test_starts_the_binary_unsearched() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = testkit::files_of(&root).into_iter().filter(|file| file.extension().is_some_and(|it| it == "rs"));
    let read = |file: PathBuf| {
        let name = file.strip_prefix("it").unwrap_or(&file).display().to_string();
        (name, fs::read_to_string(root.join(&file)).unwrap())
    };
    let own = "ladder/activation.rs";
    let mut sources: BTreeMap<String, String> = files.map(read).filter(|(name, _)| name != own).collect();
    assert!(sources.len() > 100, "{}", sources.len());
    for (word, allowed) in AROUND {
        assert_eq!(around(word, allowed, &sources), Vec::<String>::new(), "{word}");
        for (file, _) in *allowed {
            let has_it = sources.get(*file).is_some_and(|text| text.lines().any(|line| is_about(word, line)));
            assert!(has_it, "{file} no longer has {word}");
        }
    }
    let planted = "let ran = Command::new(env!(\"CARGO_BIN_EXE_cto\")).spawn().unwrap().wait_with_output();\nchild.stdout.take();\nworld.binary();";
    sources.insert("planted.rs".to_owned(), planted.to_owned());
    for (word, allowed) in AROUND {
        assert_eq!(around(word, allowed, &sources), ["planted.rs"], "the control: {word}");
    }
}

/// Variable with which the test below plants claims instead of looking for them.
const PLANTS: &str = "CTO_TEST_PLANTS";

/// Everything by which a claim could come out of a command of the suite; the planted one names it.
const CHANNELS: [&str; 11] =
    ["binary", "output", "status", "finish", "terminal", "served", "file", "payload", "archive", "shared", "later"];

#[test]
#[expect(clippy::disallowed_methods, reason = "the test calls itself and is told so by a variable")]
fn a_claim_is_found_in_every_channel() {
    if std::env::var_os(PLANTS).is_some() {
        return plant_claims();
    }
    let kept = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let mut again = testkit::program(own.to_str().unwrap(), Path::new("/"));
    again.args(["--exact", "ladder::activation::a_claim_is_found_in_every_channel", "--test-threads", "1"]);
    let ran = again.env(PLANTS, "1").env("CTO_TEST_BUNDLES", kept.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let found: Vec<String> = testkit::kept_claims(kept.path()).into_iter().flat_map(|(_, lines)| lines).collect();
    for channel in CHANNELS {
        let times = found.iter().filter(|line| line.ends_with(&format!(": {channel}"))).count();
        assert_eq!(times, 1, "{channel}: {found:#?}");
    }
    assert_eq!(found.len(), CHANNELS.len(), "{found:#?}");
}

fn plant_claims() {
    let claim = |channel: &str| format!("{}:{channel}", testkit::CLAIMS[0].0);
    let world = crate::world();
    let _ = world.cto(["explain", &claim("binary")]).expect(2);
    let _ = world.program("echo").arg(claim("output")).output().unwrap();
    let _ = world.program("echo").arg(claim("status")).status().unwrap();
    let mut started = world.program("echo");
    started.arg(claim("finish")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let _ = World::finish(started.spawn().unwrap()).expect(0);
    assert_eq!(world.on_terminal(["explain", &claim("terminal")]).code, 2);
    testkit::search_bytes("served", claim("served").as_bytes());
    world.write("file.txt", claim("file"));
    let payload = base64::engine::general_purpose::STANDARD.encode(format!("{{\"x\":\"{}\"}}", claim("payload")));
    world.write("signed.json", format!("{{\"payload\":\"{payload}\"}}"));
    // Enough text that none of it is stored as it is.
    let text: String = (0..500).map(|number| format!("line {number} of what is packed\n")).collect();
    world.write("archive.tar.zst", zstd::encode_all((text + &claim("archive")).as_bytes(), 9).unwrap());
    let shared = World::shared(env!("CARGO_BIN_EXE_cto"));
    shared.write("file.txt", claim("shared"));
    let _ = shared.cto(["--version"]).expect(0);
    shared.write("other.txt", claim("later"));
    drop(world);
    // As a static would: it is never dropped.
    std::mem::forget(shared);
}
