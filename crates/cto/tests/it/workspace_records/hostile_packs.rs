//! Packs that a sender made with evil in mind. Each is signed by a key that counts, so that its own defence refuses it and not
//! the signature before it; nothing is written.

mod rows;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use contract::{Digest, canonical_bytes};
use evidence::HarnessKey;
use serde_json::{Value, json};
use tar::EntryType;
use testkit::{World, each_row, program, skip};

use super::packed::{key_of, names_in, pack_of, packed_world, unpack};
use super::sized::{MOST_KIB, PEAK};
use crate::archive::craft::{entry, header};
use rows::{CONTROLS, LAST, ROWS};

/// A pack taken apart: the list, and the raw entries behind list and signature.
struct OpenedPack {
    list: Value,
    entries: Vec<u8>,
}

fn open_pack(path: &Path) -> OpenedPack {
    let plain = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let size = |at: usize| {
        let digits = std::str::from_utf8(&plain[at + 124..at + 135]).unwrap();
        usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).unwrap()
    };
    let list = size(0);
    let signature = 512 + list.next_multiple_of(512);
    let rest = signature + 512 + size(signature).next_multiple_of(512);
    OpenedPack {
        list: serde_json::from_slice(&plain[512..512 + list]).unwrap(),
        entries: plain[rest..plain.len() - 1024].to_vec(),
    }
}

impl OpenedPack {
    /// Adds a file to the list, with this size.
    fn list_file(&mut self, name: &str, size: u64, content: &[u8]) {
        let file = json!({"name": name, "size": size, "sha256": Digest::of_bytes(content)});
        self.list["files"].as_array_mut().unwrap().push(file);
    }

    /// Adds a plain file, to the list and behind it.
    fn add_file(&mut self, name: &str, content: &[u8]) {
        self.list_file(name, content.len() as u64, content);
        self.entries.extend(entry(name, content));
    }

    fn write_signed(&self, world: &World, name: &str, key: &Path) -> PathBuf {
        self.write_with_list(world, name, key, &canonical_bytes(&self.list).unwrap())
    }

    /// Writes the entries behind another list, which need not fit.
    fn write_with_list(&self, world: &World, name: &str, key: &Path, list: &[u8]) -> PathBuf {
        let signature = HarnessKey::open_file(key).unwrap().sign_message(&[b"cto-pack@v1\n", list].concat());
        let path = world.path().join("hostile").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut out = zstd::Encoder::new(fs::File::create(&path).unwrap(), 3).unwrap();
        for part in [entry("pack.json", list), entry("pack.sig", &signature), self.entries.clone(), vec![0; 1024]] {
            out.write_all(&part).unwrap();
        }
        out.finish().unwrap();
        path
    }
}

#[test]
fn a_hostile_pack_is_refused_by_its_own_defence_and_nothing_is_written() {
    let (world, _) = packed_world();
    let (signer, key) = (world.home().join("keys/harness.pem"), key_of(&world));
    fs::create_dir(world.path().join("hostile")).unwrap();
    each_row(ROWS.iter().map(|row| (row.0, row)), |(name, edit, refusal)| {
        let mut pack = open_pack(&pack_of(&world));
        edit(&mut pack);
        let file = pack.write_signed(&world, name, &signer);
        let before = names_in(&world);
        let ran = unpack(&world, &file, &key, "refused", &["--trust-sender"]);
        assert!([1, 2].contains(&ran.code) && ran.stderr.contains(refusal), "{}", ran.told());
        assert_eq!(names_in(&world), before, "something was written");
    });
    for (number, (name, edit)) in CONTROLS.iter().enumerate() {
        let mut pack = open_pack(&pack_of(&world));
        edit(&mut pack);
        let file = pack.write_signed(&world, name, &signer);
        let _ = unpack(&world, &file, &key, &format!("control-{number}"), &["--trust-sender"]).expect(0);
    }
    let arrived = |name: &str, file: &str| {
        let number = CONTROLS.iter().position(|row| row.0 == name).unwrap();
        world.path().join(format!("control-{number}")).join(file)
    };
    let content = |name: &str, file: &str| fs::read_to_string(arrived(name, file)).unwrap();
    assert_eq!(content("a file more", "~"), "x", "control: an added file arrives");
    for (name, first, second) in
        [("names that differ by case", "~A", "~a"), ("names that differ by their normal form", "~e\u{301}", "~\u{e9}")]
    {
        assert_eq!((content(name, first).as_str(), content(name, second).as_str()), ("first", "second"), "{name}");
    }
    let stat = fs::metadata(arrived("bits that nobody asked for", "~")).unwrap();
    assert_eq!((stat.mode() & 0o7777, stat.uid()), (0o600, fs::metadata(world.home()).unwrap().uid()));
}

/// Most files that a pack may list.
const MOST_FILES: usize = 1_000_000;

/// A list with so many empty files more, written as text: as values it would take more memory than the program under test has.
fn swollen_list(pack: &OpenedPack, count: usize) -> Vec<u8> {
    let list = String::from_utf8(canonical_bytes(&pack.list).unwrap()).unwrap();
    let (files, rest) = list.split_once("],\"format\"").unwrap();
    let digest = Digest::of_bytes(b"");
    let mut text = files.to_owned();
    for number in 0..count {
        text.push_str(&format!(",{{\"name\":\"{LAST}{number:07}\",\"sha256\":\"{digest}\",\"size\":0}}"));
    }
    format!("{text}],\"format\"{rest}").into_bytes()
}

#[test]
fn a_pack_with_too_many_files_is_refused_before_the_first_is_written() {
    let (world, _) = packed_world();
    let (signer, key) = (world.home().join("keys/harness.pem"), key_of(&world));
    let pack = open_pack(&pack_of(&world));
    let listed = pack.list["files"].as_array().unwrap().len();
    let list = swollen_list(&pack, MOST_FILES - listed + 1);
    let file = pack.write_with_list(&world, "many", &signer, &list);
    let before = names_in(&world);
    let ran = unpack(&world, &file, &key, "refused", &["--trust-sender"]).expect(1);
    assert!(ran.stderr.contains("is one file too many"), "{}", ran.told());
    assert_eq!(names_in(&world), before, "something was written");
}

#[test]
fn a_pack_of_another_key_or_with_a_changed_byte_is_refused() {
    let (world, _) = packed_world();
    let (pack, key) = (pack_of(&world), key_of(&world));
    let _ = world.cto(["--home", world.path().join("another").to_str().unwrap(), "key", "init"]).expect(0);
    let other = world.path().join("another/keys/harness.pem");
    fs::create_dir(world.path().join("hostile")).unwrap();
    let by_other = open_pack(&pack).write_signed(&world, "by-other", &other);
    let plain = zstd::decode_all(fs::File::open(&pack).unwrap()).unwrap();
    let before = names_in(&world);
    let refused = |file: &Path, key: &Path| {
        let ran = unpack(&world, file, key, "refused", &["--trust-sender"]).expect(1);
        assert_eq!(names_in(&world), before, "something was written");
        ran.stderr
    };
    assert!(refused(&by_other, &key).contains("signed by none of the given keys"));
    assert!(refused(&pack, &other.with_extension("pub")).contains("signed by none of the given keys"));
    // A byte of the list, of the signature, of the last file, and of the end.
    let list = plain[..].windows(7).position(|part| part == b"cto-pac").unwrap();
    let signature = plain[..].windows(8).position(|part| part == b"pack.sig").unwrap() + 512;
    for (at, refusal) in [
        (list, "none of the given keys"),
        (signature, "none of the given keys"),
        (plain.len() - 1024 - 512, "is not the file that was packed"),
        (plain.len() - 1, "goes on behind its end"),
    ] {
        let mut changed = plain.clone();
        changed[at] ^= 1;
        let file = world.path().join("hostile/changed");
        fs::write(&file, zstd::encode_all(&changed[..], 3).unwrap()).unwrap();
        assert!(refused(&file, &key).contains(refusal), "{at}");
    }
    for (name, behind) in [("behind the tar", [&plain[..], &[1; 512]].concat()), ("behind the frame", plain.clone())] {
        let mut packed = zstd::encode_all(&behind[..], 3).unwrap();
        if name == "behind the frame" {
            packed.extend(zstd::encode_all(&b"more"[..], 3).unwrap());
        }
        let file = world.path().join("hostile/behind");
        fs::write(&file, packed).unwrap();
        assert!(refused(&file, &key).contains("goes on behind its end"), "{name}");
    }
    let _ = unpack(&world, &pack, &key, "control", &["--trust-sender"]).expect(0);
}

/// Nobody signed these: what their headers ask for is refused before a key is looked at, in little memory.
#[test]
fn an_unsigned_bomb_is_refused_in_little_memory() {
    if program("python3", Path::new("/")).arg("-V").output().is_err() {
        return skip("the memory of an unsigned pack", "there is no python3");
    }
    let (world, _) = packed_world();
    fs::create_dir(world.path().join("hostile")).unwrap();
    let key = key_of(&world);
    let kinds =
        [("long name", EntryType::GNULongName), ("long link", EntryType::GNULongLink), ("pax", EntryType::XHeader)];
    for (name, kind) in kinds {
        let size: u64 = 4 << 30;
        let file = world.path().join("hostile").join(name);
        let mut out = zstd::Encoder::new(fs::File::create(&file).unwrap(), 1).unwrap();
        out.write_all(&header("././@LongLink", size, |header| header.set_entry_type(kind))).unwrap();
        let zeros = vec![0; 1 << 20];
        (0..1 << 10).for_each(|_| out.write_all(&zeros).unwrap());
        out.finish().unwrap();
        let (peak, home, dir) = (world.path().join("peak"), world.path().join("bomb-home"), world.path().join("bomb"));
        let words =
            ["--home", home.to_str().unwrap(), "unpack", file.to_str().unwrap(), dir.to_str().unwrap(), "--key"];
        let command = world.command(words.iter().chain(&[key.to_str().unwrap()]));
        let output = world.under(&command, &["python3", "-c", PEAK, peak.to_str().unwrap()]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("exceeds its size limit"), "{name}: {told}");
        let peak: u64 = fs::read_to_string(&peak).unwrap().parse().unwrap();
        assert!(peak < MOST_KIB, "{name}: {peak} KiB");
        assert!(!home.exists() && !dir.exists(), "{name}");
    }
}
