//! A pack moves to another home, where everything verifies; one that was changed is refused, and nothing is written.

use std::fs;
use std::path::Path;

use testkit::{Ran, World};

use super::{item, workspace};

fn packed_world() -> (World, String) {
    let world = workspace();
    let run = world.cto(["run", "r1-string-slugify", "--work", "DEMO-WORK-001", "--json"]).expect(0).json();
    let run = run["run_id"].as_str().unwrap().to_owned();
    world.write("WORKBOARD.yaml", format!("items:\n{}", item("DEMO-WORK-001", "draft")));
    let _ =
        world.cto(["work", "status", "DEMO-WORK-001", "validated", "--evidence", &format!("bundle:{run}")]).expect(0);
    let pack = world.path().join("team.pack");
    let _ = world.cto(["pack", "-o", pack.to_str().unwrap()]).expect(0);
    (world, run)
}

fn unpack(world: &World, file: &Path, key: &Path, to: &str) -> Ran {
    let (home, dir) = (world.path().join(format!("{to}-home")), world.path().join(to));
    let words = ["unpack", file.to_str().unwrap(), dir.to_str().unwrap(), "--key", key.to_str().unwrap()];
    world.cto(["--home", home.to_str().unwrap()].iter().chain(&words))
}

#[test]
fn a_pack_verifies_elsewhere_and_says_the_same() {
    let (world, run) = packed_world();
    let (pack, key) = (world.path().join("team.pack"), world.home().join("keys/harness.pub"));
    let again = world.path().join("again.pack");
    let _ = world.cto(["pack", "-o", again.to_str().unwrap()]).expect(0);
    assert_eq!(fs::read(&pack).unwrap(), fs::read(&again).unwrap(), "two packs of the same are the same bytes");
    let _ = unpack(&world, &pack, &key, "moved").expect(0);
    let (home, dir) = (world.path().join("moved-home"), world.path().join("moved"));
    let there = |words: &[&str]| {
        let place = ["--home", home.to_str().unwrap(), "--workspace", dir.to_str().unwrap()];
        world.cto(place.iter().chain(words))
    };
    let _ = there(&["verify", &run]).expect(0);
    let _ = there(&["validate", "workspace"]).expect(0);
    for words in [&["ladder", "--json"][..], &["audit", "--json"]] {
        assert_eq!(there(words).text(), world.cto(words).text(), "{words:?}");
    }
    assert!(!home.join("keys/operator").exists(), "no private key travels");
    let _ = unpack(&world, &pack, &key, "moved").expect(2);
}

#[test]
fn a_pack_that_was_changed_is_refused_and_nothing_is_written() {
    let (world, _) = packed_world();
    let (pack, key) = (world.path().join("team.pack"), world.home().join("keys/harness.pub"));
    let plain = zstd::decode_all(fs::File::open(&pack).unwrap()).unwrap();
    let write = |name: &str, tar: &[u8]| {
        let path = world.path().join(name);
        fs::write(&path, zstd::encode_all(tar, 3).unwrap()).unwrap();
        path
    };
    let mut changed = plain.clone();
    let at = changed
        .windows(14)
        .rposition(|part| part == b"DEMO-WORK-001 ")
        .or_else(|| changed.len().checked_sub(2000))
        .unwrap();
    changed[at] ^= 1;
    // The first entry beside the manifest renamed, as a traversal would be; the header's own sum is made to fit.
    let renamed = rename_entry(&plain, "workspace/CONTEXT.md", "workspace/../EVIL.md");
    let linked = retype_entry(&plain, "workspace/CONTEXT.md", b'2');
    let mut doubled = plain[..plain.len() - 1024].to_vec();
    doubled.extend_from_slice(&plain[1024..]);
    let _ = world.cto(["--home", world.path().join("another").to_str().unwrap(), "key", "init"]).expect(0);
    let other_key = world.path().join("another/keys/harness.pub");
    for (name, file, key) in [
        ("changed", write("changed.pack", &changed), &key),
        ("traversal", write("renamed.pack", &renamed), &key),
        ("link", write("linked.pack", &linked), &key),
        ("duplicate", write("doubled.pack", &doubled), &key),
        ("key", pack.clone(), &other_key),
    ] {
        let ran = unpack(&world, &file, key, name);
        assert!([1, 2].contains(&ran.code), "{name}: {:?} {}", ran.code, ran.stderr);
        assert!(!world.path().join(name).exists() && !world.path().join(format!("{name}-home")).exists(), "{name}");
        assert!(!world.path().join("EVIL.md").exists());
    }
    let _ = unpack(&world, &pack, &key, "control").expect(0);
}

/// Offset of the header of an entry.
fn header_of(tar: &[u8], name: &str) -> usize {
    (0..tar.len() / 512)
        .map(|block| block * 512)
        .find(|at| tar[*at..].starts_with(name.as_bytes()) && tar[at + 257..].starts_with(b"ustar"))
        .unwrap()
}

fn rename_entry(tar: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut tar = tar.to_vec();
    let at = header_of(&tar, from);
    tar[at..at + 100].fill(0);
    tar[at..at + to.len()].copy_from_slice(to.as_bytes());
    mend_sum(&mut tar, at);
    tar
}

fn retype_entry(tar: &[u8], name: &str, kind: u8) -> Vec<u8> {
    let mut tar = tar.to_vec();
    let at = header_of(&tar, name);
    tar[at + 156] = kind;
    mend_sum(&mut tar, at);
    tar
}

fn mend_sum(tar: &mut [u8], at: usize) {
    tar[at + 148..at + 156].fill(b' ');
    let sum: u32 = tar[at..at + 512].iter().map(|byte| u32::from(*byte)).sum();
    tar[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}
