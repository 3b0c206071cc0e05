//! Archives that are made to harm, or came to harm: every one is refused with a reason, and leaves nothing.

use std::fs;
use std::path::Path;

use contract::{Digest, canonical_bytes};
use serde_json::{Value, json};
use tar::EntryType;
use testkit::{World, content_digest, program};

use super::craft::{Files, compress, entry, header, tar_of, unpack, with_content};
use super::{export, import, key};
use crate::world;

/// A good archive, and a home that trusts who made it and must not change.
struct Scene {
    here: World,
    there: World,
    good: Files,
    key: String,
}

impl Scene {
    fn new() -> Self {
        let (here, there) = (world(), world());
        let _ = here.run("fail-critical-risk", 3);
        let archive = export(&here, "@", "good.tar.zst");
        let (good, key) = (unpack(&archive), key(&here));
        assert_eq!(compress(&tar_of(&good)), fs::read(&archive).unwrap(), "control: this is how archives are written");
        Self { here, there, good, key }
    }

    /// Imports these bytes; they are refused with this code and these words, and nothing is left of them.
    fn check(&self, what: &str, archive: &[u8], code: i32, words: &str) {
        let path = self.here.path().join("hostile.tar.zst");
        fs::write(&path, archive).unwrap();
        let outside = content_digest(self.there.path(), &[]);
        let ran = self.there.cto(import(&path, &self.key));
        assert_eq!(ran.code, code, "{what}: {ran:?}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("Nothing was kept"), "{what}: {}", ran.stderr);
        assert!(ran.stderr.contains("\nnext  "), "{what}: {}", ran.stderr);
        assert_eq!(content_digest(self.there.path(), &[]), outside, "{what}: something was left");
        assert!(!self.there.home().exists(), "{what}");
    }

    /// The good archive with this after its first file, where a tar reader would take it for a file of its own.
    fn with(&self, blocks: &[u8]) -> Vec<u8> {
        let first = entry("archive.json", &self.good["archive.json"]);
        let rest = tar_of(&self.good);
        compress(&[&first, blocks, &rest[first.len()..]].concat())
    }

    /// The good archive with some files changed.
    fn edited(&self, edit: impl FnOnce(&mut Files)) -> Vec<u8> {
        let mut files = self.good.clone();
        edit(&mut files);
        compress(&tar_of(&files))
    }
}

#[test]
fn names_that_lead_elsewhere() {
    let scene = Scene::new();
    for (name, words) in [
        ("../outside", "`../outside` leads out of the archive"),
        ("bundle/../../outside", "leads out of the archive"),
        ("/tmp/outside", "is an absolute path"),
        ("bundle//a", "leads out of the archive"),
        ("bundle/./a", "leads out of the archive"),
        ("bundle/", "leads out of the archive"),
        ("harness-runs/a", "does not belong into an archive"),
        ("signer.pub", "does not belong into an archive"),
        ("statements/a/b.dsse.json", "does not belong into an archive"),
        ("bundle/\u{1b}[2J", "`bundle/␛[2J` has a name with other characters"),
        ("bundle/\u{e9}", "has a name with other characters than plain ASCII"),
        ("bundle/e\u{301}", "has a name with other characters than plain ASCII"),
    ] {
        scene.check(name, &scene.with(&entry(name, b"x")), 1, words);
    }
}

#[test]
fn entries_that_are_no_plain_files() {
    let scene = Scene::new();
    for (kind, words) in [
        (EntryType::Symlink, "is a symbolic link"),
        (EntryType::Link, "is a hard link"),
        (EntryType::Char, "is a device"),
        (EntryType::Block, "is a device"),
        (EntryType::Fifo, "is a pipe"),
        (EntryType::Directory, "is a directory"),
        (EntryType::GNUSparse, "is a sparse file"),
        (EntryType::XHeader, "is a pax header"),
        (EntryType::XGlobalHeader, "is a pax header"),
        (EntryType::GNULongLink, "is a long name"),
        (EntryType::Continuous, "is of an unknown kind"),
        (EntryType::new(b'V'), "is of an unknown kind"),
    ] {
        let made = header("bundle/a", 0, |header| {
            header.set_entry_type(kind);
            header.as_old_mut().linkname[..11].copy_from_slice(b"/etc/passwd");
        });
        scene.check(words, &scene.with(&made), 1, words);
    }
}

#[test]
fn names_that_are_the_same_somewhere() {
    let scene = Scene::new();
    let twice = [entry("bundle/a", b"x"), entry("bundle/a", b"x")].concat();
    scene.check("twice", &scene.with(&twice), 1, "`bundle/a` is there twice");
    let twins = [entry("bundle/a/B", b"x"), entry("bundle/a/b", b"x")].concat();
    scene.check("twins", &scene.with(&twins), 1, "differs from another name only in capital letters");
    let folders = [entry("bundle/A/b", b"x"), entry("bundle/a/c", b"x")].concat();
    scene.check("twin folders", &scene.with(&folders), 1, "differs from another name only in capital letters");
    let below = [entry("bundle/a", b"x"), entry("bundle/a/b", b"x")].concat();
    scene.check("below a file", &scene.with(&below), 1, "lies below a file");
    let order = [entry("bundle/zz", b"x"), entry("bundle/a", b"x")].concat();
    scene.check("order", &scene.with(&order), 1, "is out of order");
}

#[test]
fn headers_that_lie() {
    let scene = Scene::new();
    let foreign = "has a header that `cto export` does not write";
    let lie = |edit: fn(&mut tar::Header)| scene.with(&with_content(header("bundle/a", 1, edit), b"x"));
    scene.check("owner", &lie(|header| header.set_uid(0o1000)), 1, foreign);
    scene.check("mode", &lie(|header| header.set_mode(0o4755)), 1, foreign);
    scene.check("time", &lie(|header| header.set_mtime(1)), 1, foreign);
    scene.check("a target", &lie(|header| header.as_old_mut().linkname[0] = b'/'), 1, foreign);
    scene.check("a prefix", &lie(|header| header.as_ustar_mut().unwrap().prefix[0] = b'/'), 1, "is an absolute path");
    scene.check("padding", &lie(|header| header.as_ustar_mut().unwrap().pad[11] = 1), 1, foreign);
    let mut checksum = header("bundle/a", 0, |_| {});
    checksum[148] ^= 1;
    scene.check("checksum", &scene.with(&checksum), 1, foreign);
    let binary = header("bundle/a", 0, |header| header.as_old_mut().size = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    scene.check("a size in another form", &scene.with(&binary), 1, foreign);
    let none = header("bundle/a", 0, |header| header.as_old_mut().size = *b"not a number");
    scene.check("no size", &scene.with(&none), 1, "has no size");
    // Longer than it says: the rest would be taken for a header.
    let longer = with_content(header("bundle/a", 512, |_| {}), &[b'x'; 1024]);
    scene.check("a size", &scene.with(&longer), 1, "is not one of a tar");
    let mut dirty = entry("bundle/a", b"x");
    dirty[600] = b'y';
    scene.check("behind content", &scene.with(&dirty), 1, "is followed by bytes that belong to nothing");
}

#[test]
fn long_names_that_lie() {
    let scene = Scene::new();
    let long = |name: &str, short: &str| {
        let mut said = name.as_bytes().to_vec();
        said.push(0);
        let link = header("././@LongLink", said.len() as u64, |header| {
            header.set_entry_type(EntryType::GNULongName);
            let gnu = header.as_ustar_mut().unwrap();
            (gnu.magic, gnu.version) = (*b"ustar ", *b" \0");
        });
        scene.with(&[with_content(link, &said), entry(short, b"x")].concat())
    };
    let deep = format!("bundle/{}", "a".repeat(300));
    scene.check("outside", &long("../../outside", "bundle/a"), 1, "leads out of the archive");
    scene.check("absolute", &long(&format!("/{deep}"), "bundle/a"), 1, "is an absolute path");
    scene.check("not needed", &long("bundle/b", "bundle/b"), 1, "does not write");
    scene.check("another", &long(&deep, "bundle/b"), 1, "does not write");
    scene.check("without end", &long(&"a".repeat(5000), "bundle/b"), 1, "is a long name");
    let pax = format!("{} path=../../outside\n", "../../outside".len() + 9);
    let pax_header = header("bundle/x", pax.len() as u64, |header| header.set_entry_type(EntryType::XHeader));
    let pax = [with_content(pax_header, pax.as_bytes()), entry("bundle/a", b"x")].concat();
    scene.check("pax", &scene.with(&pax), 1, "is a pax header");
}

#[test]
fn archives_that_are_cut_or_longer_than_they_should_be() {
    let scene = Scene::new();
    let tar = tar_of(&scene.good);
    let whole = compress(&tar);
    for cut in [11, whole.len() / 4, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        scene.check(&format!("cut at {cut}"), &whole[..cut], 1, "ends early");
    }
    scene.check("without its last file", &compress(&tar[..tar.len() - 1024]), 1, "ends early");
    scene.check("with half an end", &compress(&tar[..tar.len() - 512]), 1, "ends early");
    let after = "has bytes after its end";
    scene.check("more behind", &[whole.as_slice(), b"x"].concat(), 1, after);
    scene.check("a second member", &[whole.as_slice(), &whole].concat(), 1, after);
    scene.check("an empty second member", &[whole.as_slice(), &compress(b"")].concat(), 1, after);
    scene.check("zeros behind", &compress(&[tar.as_slice(), &[0; 9216]].concat()), 1, after);
    scene.check("another tar behind", &compress(&[tar.as_slice(), &tar].concat()), 1, after);
    let hole = [&tar[..512], &[0; 512], &tar[512..]].concat();
    scene.check("zeros within", &compress(&hole), 1, "");
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    let last = whole.len() - 1;
    scene.check("another checksum", &changed(last, !whole[last]), 1, "cannot be decompressed");
    scene.check("no checksum", &changed(4, 0), 1, "zstd header");
    scene.check("a dictionary", &changed(4, 5), 1, "zstd header");
    // A window of two gibibytes, for which a reader would have to keep as much.
    scene.check("a huge window", &changed(5, 0xa8), 1, "cannot be decompressed");
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &whole].concat();
    scene.check("something to be skipped before", &skippable, 2, "it is not compressed with zstd");
    scene.check("something to be skipped behind", &[&whole, &skippable[..12]].concat(), 1, after);
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let scene = Scene::new();
    // Two gibibytes of zeros in a few kilobytes, and a memory that would not hold them.
    let claimed = 2_u64 << 30;
    let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
    out.include_checksum(true).unwrap();
    let mut write = |bytes: &[u8]| std::io::Write::write_all(&mut out, bytes).unwrap();
    write(&entry("archive.json", &scene.good["archive.json"]));
    write(&header("bundle/backend/a", claimed, |_| {}));
    (0..64).for_each(|_| write(&[0; 1 << 20]));
    let bomb = out.finish().unwrap();
    scene.check("a bomb", &bomb, 1, "`bundle/backend/a` is far larger than what was compressed");
    let path = scene.here.path().join("hostile.tar.zst");
    let script = format!("ulimit -v 600000; exec \"$0\" import {} --key {}", path.display(), scene.key);
    let mut limited = program("sh", &scene.there.here());
    limited.args(["-c", &script, env!("CARGO_BIN_EXE_cto")]).env("CTO_HOME", scene.there.home());
    let limited = limited.output().unwrap();
    assert_eq!(limited.status.code(), Some(1), "{}", String::from_utf8_lossy(&limited.stderr));

    let huge = header("bundle/report.json", 600 << 20, |_| {});
    scene.check("more than is judged", &scene.with(&huge), 1, "is too large");
    let huge = header("bundle/backend/a", 5 << 30, |_| {});
    scene.check("more than anything", &scene.with(&huge), 1, "is too large");
    let many: Vec<u8> =
        (0..50_001).flat_map(|number| header(&format!("bundle/backend/{number:06}"), 0, |_| {})).collect();
    scene.check("too many", &scene.with(&many), 1, "is one file too many");
    let deep = entry(&format!("bundle/{}a", "d/".repeat(40)), b"x");
    scene.check("too deep", &scene.with(&deep), 1, "lies too deep");
}

/// Well made, and not what it says.
#[test]
fn contents_that_do_not_hold() {
    let scene = Scene::new();
    let put = |name: &'static str, bytes: &'static [u8]| {
        scene.edited(|files| {
            files.insert(name.to_owned(), bytes.to_vec());
        })
    };
    let flipped = put("bundle/patch.diff", b"x");
    scene.check("a changed file", &flipped, 1, "does not verify: patch.diff digest");
    let added = put("bundle/backend/added", b"x");
    scene.check("an added file", &added, 1, "does not verify: backend/added signed");
    let without = scene.edited(|files| drop(files.remove("bundle/report.json")));
    scene.check("a missing file", &without, 1, "does not verify");
    let empty = scene.edited(|files| files.retain(|name, _| !name.starts_with("bundle/")));
    scene.check("no bundle", &empty, 1, "`bundle` is not a bundle");
    let stated = put("statements/a.dsse.json", b"{}");
    scene.check("no statement", &stated, 1, "`statements/a.dsse.json` is not a signed statement");

    let manifest: Value = serde_json::from_slice(&scene.good["archive.json"]).unwrap();
    let with = |key: &str, value: Value| {
        let mut manifest = manifest.clone();
        manifest[key] = value;
        scene.edited(|files| drop(files.insert("archive.json".to_owned(), canonical_bytes(&manifest).unwrap())))
    };
    let another = "is about another run than the bundle";
    scene.check("a run", &with("run_id", json!("20260101T000000Z-a-aaaa")), 1, another);
    scene.check("a digest", &with("attestation_sha256", json!(Digest::ZERO)), 1, another);
    scene.check("a way out", &with("run_id", json!("../../outside")), 1, "`archive.json` cannot be read");
    scene.check("a later version", &with("schema_version", json!("2")), 1, "newer version");
    scene.check("another member", &with("more", json!(1)), 1, "`archive.json` cannot be read");
    let spaced = scene.edited(|files| files.get_mut("archive.json").unwrap().push(b'\n'));
    scene.check("other bytes", &spaced, 1, "is not in its canonical form");
}

/// A statement that holds, about another run.
#[test]
fn statements_about_something_else() {
    let scene = Scene::new();
    let _ = scene.here.run("shell-script-rotate-logs", 0);
    let _ = scene.here.cto(["reverify", "@"]).expect(0);
    let other = unpack(&export(&scene.here, "@", "other.tar.zst"));
    let (name, bytes) = other.iter().find(|(name, _)| name.starts_with("statements/")).unwrap();
    let swapped = scene.edited(|files| drop(files.insert(name.clone(), bytes.clone())));
    scene.check("another run", &swapped, 1, "is about another run");
    let mut files = other.clone();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let forged = text.replacen("\"sig\":\"", "\"sig\":\"AAAA", 1);
    files.insert(name.clone(), forged.into_bytes());
    scene.check("another signature", &compress(&tar_of(&files)), 1, "has a signature that does not hold");
}

#[test]
fn what_is_no_archive_is_told_so() {
    let scene = Scene::new();
    let not = "is not an archive of a run";
    scene.check("nothing", b"", 2, not);
    scene.check("text", b"hello", 2, "it is not compressed with zstd");
    scene.check("a zip", b"PK\x03\x04", 2, not);
    scene.check("a plain tar", &tar_of(&scene.good), 2, not);
    scene.check("compressed text", &compress(&[b'a'; 2000]), 2, not);
    scene.check(
        "another tar",
        &compress(&tar_of(&Files::from([("README".to_owned(), b"x".to_vec())]))),
        2,
        "where archive.json must be",
    );
    for (what, path) in [("a directory", scene.here.here()), ("nothing there", Path::new("/nonexistent/a").to_owned())]
    {
        let ran = scene.there.cto(import(&path, &scene.key)).expect(2);
        assert!(ran.stderr.contains(not), "{what}: {ran:?}");
    }
    let pipe = scene.here.path().join("pipe");
    assert!(program("mkfifo", Path::new("/")).arg(&pipe).status().unwrap().success());
    let _ = scene.there.cto(import(&pipe, &scene.key)).expect(2);
    let _ = scene.there.cto(import(Path::new("/dev/zero"), &scene.key)).expect(2);
    assert!(!scene.there.home().exists());
}
