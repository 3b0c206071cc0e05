//! Claims that a default was activated or something was promoted, in every byte that commands of the suite wrote or printed.
//!
//! While the suite runs, each world is searched when it is dropped, worlds that are never dropped after each of their commands and with every
//! world that is, and everything that commands print is searched at once: by [`crate::CtoCommand`], which starts them all, by terminals, and
//! by tests that read an answer themselves. Archives, signed payloads and loose git objects are opened, and long bodies of a ledger are read
//! by SQL, since a database lays them out in pieces. The finds are kept beside the collected bundles, and a test reads them when all others
//! are done.
//!
//! These stay out: files over 64 MB, programs and packages of others, packed git objects, pages of a database that SQL no longer
//! reaches but for their plain bytes, what a command sends over a connection that no test reads, and files that are gone before their
//! world is dropped. The keys of a setting are not looked for in source code, in which others may name a variable like that.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::read::ZlibDecoder;
use rusqlite::{Connection, OpenFlags};

use crate::collected::{collecting_folder, shared_worlds};

/// Keys that would claim it, each with the one value that it may have; none for a setting that nobody may write.
pub const CLAIMS: [(&str, Option<&str>); 5] = [
    ("runtime_default_activation", Some("false")),
    ("core_promotion_status", Some("not-promoted")),
    ("default_engine", None),
    ("default_backend", None),
    ("default_model", None),
];

/// Endings of source code, in which a setting's name may be that of a variable.
const SOURCE_CODE: [&str; 7] = ["py", "pyc", "js", "mjs", "cjs", "ts", "map"];

/// Folders with programs of others, which no command wrote, by the end of their paths.
const PROGRAMS: [&str; 3] = ["home/engines", "node_modules", "cache/layers"];
/// More than any file has that a command writes for people or machines.
const LARGEST: u64 = 64 << 20;
const EXECUTABLE: &[u8] = b"\x7fELF";

/// Claims in bytes: the key, a separator, and something else than the key may say.
pub fn find_claims<'k>(bytes: &[u8], keys: impl IntoIterator<Item = (&'k str, Option<&'k str>)>) -> Vec<String> {
    // Most bytes hold none of the keys, and need not become text.
    let is_there = |(key, _): &(&str, Option<&str>)| memchr::memmem::find(bytes, key.as_bytes()).is_some();
    let keys: Vec<_> = keys.into_iter().filter(is_there).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let quotes = |character: char| matches!(character, '"' | '\'' | '\\' | ' ');
    let mut found = Vec::new();
    for (key, allowed) in keys {
        for (at, _) in text.match_indices(key) {
            let rest = text[at + key.len()..].trim_start_matches(quotes);
            let Some(value) = rest.strip_prefix([':', '=']) else { continue };
            let value = value.trim_start_matches(quotes);
            let word: String = value.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '-').collect();
            // A schema that describes the key and a finding that names it claim nothing.
            if Some(word.as_str()) != allowed && !word.is_empty() {
                found.push(format!("{key}: {word}"));
            }
        }
    }
    found
}

/// Archives in archives and payloads in payloads that are opened.
const DEEPEST: usize = 4;
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Bodies of a ledger's entries that a page of the database may not hold whole, or whose characters it does not hold as they are.
const LONG_BODIES: &str = "SELECT body FROM entries WHERE length(CAST(body AS BLOB)) > 2000";
/// Characters of base64 in which a claim has room.
const SHORTEST: usize = 32;

/// Claims in bytes, in what they are compressed from, and in what is written in base64 in them, as signed payloads are.
fn claims_in(bytes: &[u8]) -> Vec<String> {
    claims_below(bytes, DEEPEST)
}

fn claims_below(bytes: &[u8], depth: usize) -> Vec<String> {
    let mut found = find_claims(bytes, CLAIMS);
    if depth == 0 {
        return found;
    }
    if is_deflated(bytes) {
        let mut inner = Vec::new();
        let _ = ZlibDecoder::new(bytes).take(LARGEST).read_to_end(&mut inner);
        found.extend(claims_below(&inner, depth - 1));
    }
    if bytes.starts_with(ZSTD) {
        // A broken archive has what came before it broke.
        let mut inner = Vec::new();
        if let Ok(decoder) = zstd::Decoder::new(bytes) {
            let _ = decoder.take(LARGEST).read_to_end(&mut inner);
        }
        found.extend(claims_below(&inner, depth - 1));
        return found;
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    for run in bytes.split(|byte| !is_base64(byte)).filter(|run| run.len() >= SHORTEST) {
        let whole = &run[..run.len() - run.len() % 4];
        if let Ok(inner) = STANDARD_NO_PAD.decode(whole) {
            found.extend(claims_below(&inner, depth - 1));
        }
    }
    found
}

/// True for the two bytes that a zlib stream begins with, as a loose git object is one.
fn is_deflated(bytes: &[u8]) -> bool {
    matches!(bytes, [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0)
}

/// Long bodies of a ledger. A database that cannot be read has its plain bytes searched alone.
fn claims_in_ledger(path: &Path) -> Vec<String> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let ledger = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement = ledger.prepare(LONG_BODIES)?;
        let bodies = statement.query_map([], |row| row.get::<_, String>(0))?;
        bodies.collect()
    };
    read().unwrap_or_default().iter().flat_map(|body| claims_in(body.as_bytes())).collect()
}

/// Claims in a file of a world.
fn claims_in_file(path: &Path) -> Vec<String> {
    let Some(bytes) = read_written(path) else { return Vec::new() };
    let mut found = claims_in(&bytes);
    if bytes.starts_with(SQLITE) {
        found.extend(claims_in_ledger(path));
        // What a page holds whole is found by both.
        found.sort_unstable();
        found.dedup();
    }
    let is_code = path.extension().is_some_and(|ending| SOURCE_CODE.iter().any(|code| ending == *code));
    found.retain(|claim| !is_code || !claim.starts_with("default_"));
    found
}

/// Searches what a command printed.
pub(crate) fn search_printed(stdout: &[u8], stderr: &[u8]) {
    search_bytes("printed", stdout);
    search_bytes("printed", stderr);
}

/// Searches bytes of a command that a test has read by itself.
pub fn search_bytes(how: &str, bytes: &[u8]) {
    if let Some(into) = collecting_folder() {
        keep(&into, claims_in(bytes).into_iter().map(|claim| format!("{how} {claim}")).collect());
    }
}

/// Searches every file of a world. Never panics: a test that failed drops its world too.
pub(crate) fn search_world(into: &Path, world: &Path) {
    keep(into, search_files(world, |_| true));
}

/// Time and size of files that were searched.
type SearchedFiles = BTreeMap<PathBuf, (SystemTime, u64)>;

/// Searches what is new in worlds that are never dropped.
pub(crate) fn search_shared_worlds() {
    static SEARCHED: Mutex<SearchedFiles> = Mutex::new(BTreeMap::new());
    let Some(into) = collecting_folder() else { return };
    let Ok(mut searched) = SEARCHED.lock() else { return };
    for world in shared_worlds() {
        let found = search_files(&world, |path| {
            let Some(now) = fs::metadata(path).ok().and_then(|stat| Some((stat.modified().ok()?, stat.len()))) else {
                return true;
            };
            searched.insert(path.to_owned(), now) != Some(now)
        });
        keep(&into, found);
    }
}

/// Claims in the wanted files below a folder.
fn search_files(world: &Path, mut is_wanted: impl FnMut(&Path) -> bool) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![world.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let is_program = PROGRAMS.iter().any(|end| entry.path().ends_with(end));
            if kind.is_dir() && !is_program {
                folders.push(entry.path());
            } else if kind.is_file() && is_wanted(&entry.path()) {
                let claims = claims_in_file(&entry.path()).into_iter();
                found.extend(claims.map(|claim| format!("{}: {claim}", entry.path().display())));
            }
        }
    }
    found
}

/// The bytes of a file that is no program.
fn read_written(path: &Path) -> Option<Vec<u8>> {
    let mut file = fs::File::open(path).ok()?;
    if file.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.by_ref().take(EXECUTABLE.len() as u64).read_to_end(&mut bytes).ok()?;
    if bytes == EXECUTABLE {
        return None;
    }
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Keeps finds under the name of the test, which is that of its thread, or of all tests of this process.
fn keep(into: &Path, found: Vec<String>) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    if found.is_empty() {
        return;
    }
    let (folder, number) = (claims_folder(into), NUMBER.fetch_add(1, Ordering::Relaxed));
    let tests: Vec<String> = std::env::args().skip(1).collect();
    let thread = std::thread::current();
    // Several tests of one process run on its first thread.
    let test = thread.name().filter(|name| *name != "main").map_or_else(|| tests.join(" "), str::to_owned);
    let _ = fs::create_dir_all(&folder);
    let _ =
        fs::write(folder.join(format!("{}-{number}", std::process::id())), format!("{test}\n{}\n", found.join("\n")));
}

fn claims_folder(collected: &Path) -> PathBuf {
    collected.join("claims")
}

/// Finds of the whole suite: the test that made them, and one line each.
pub fn kept_claims(collected: &Path) -> Vec<(String, Vec<String>)> {
    let files = fs::read_dir(claims_folder(collected)).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts
        .filter_map(|text| {
            let mut lines = text.lines().map(str::to_owned);
            Some((lines.next()?, lines.collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn claims_are_found_in_every_file_and_kept() {
        let (world, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |name: &str, bytes: &[u8]| {
            let path = world.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("report.json", br#"{"runtime_default_activation": false, "core_promotion_status": "not-promoted"}"#);
        write("schema.json", br#"{"runtime_default_activation": {"type": "boolean"}}"#);
        write("home/engines/x/a.json", br#"{"runtime_default_activation": true}"#);
        write("home/cache/layers/x/a.json", br#"{"runtime_default_activation": true}"#);
        write("program", b"\x7fELF runtime_default_activation: true");
        write("own.py", b"default_model = \"one\"");
        search_world(into.path(), world.path());
        assert_eq!(kept_claims(into.path()), []);
        let signed = STANDARD.encode(br#"{"core_promotion_status":"not-promoted","runtime_default_activation":false}"#);
        write("home/a.dsse.json", format!(r#"{{"payload":"{signed}"}}"#).as_bytes());
        search_world(into.path(), world.path());
        assert_eq!(kept_claims(into.path()), [], "a payload that claims nothing");
        write("home/deep/a.json", br#"{"runtime_default_activation": true}"#);
        write("home/cache/own.json", br#"{"runtime_default_activation": true}"#);
        write("docs/engines/page.md", b"runtime_default_activation: true");
        let signed = STANDARD.encode(br#"{"statement":{"runtime_default_activation":true}}"#);
        let envelope = format!(r#"{{"payload":"{signed}"}}"#);
        write("home/b.dsse.json", envelope.as_bytes());
        write("home/c.tar.zst", &zstd::encode_all(envelope.as_bytes(), 1).unwrap());
        write("b.yaml", b"core_promotion_status: promoted\n");
        write("harness.yaml", b"default_engine: codex\n");
        let mut object = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        object.write_all(b"blob 14\0default_model: m").unwrap();
        write(".git/objects/aa/bb", &object.finish().unwrap());
        let ledger = Connection::open(world.path().join("ledger.db")).unwrap();
        // Two bytes a character: only SQL finds the text.
        ledger.execute_batch("PRAGMA encoding = 'UTF-16'; CREATE TABLE entries (body TEXT)").unwrap();
        let body = format!("{}default_backend: pi", "x ".repeat(5000));
        ledger.execute("INSERT INTO entries VALUES (?1)", [body]).unwrap();
        drop(ledger);
        search_world(into.path(), world.path());
        let kept = kept_claims(into.path());
        assert_eq!(kept.len(), 1);
        assert!(!kept[0].0.is_empty(), "{kept:?}");
        let mut claims: Vec<&str> = kept[0].1.iter().map(|claim| claim.rsplit('/').next().unwrap()).collect();
        claims.sort_unstable();
        let expected = [
            "a.json: runtime_default_activation: true",
            "b.dsse.json: runtime_default_activation: true",
            "b.yaml: core_promotion_status: promoted",
            "bb: default_model: m",
            "c.tar.zst: runtime_default_activation: true",
            "harness.yaml: default_engine: codex",
            "ledger.db: default_backend: pi",
            "own.json: runtime_default_activation: true",
            "page.md: runtime_default_activation: true",
        ];
        assert_eq!(claims, expected);
    }
}
