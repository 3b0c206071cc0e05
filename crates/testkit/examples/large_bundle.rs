//! Adds a file of a given size to a sealed bundle and seals it again with the key of its home, for `cargo xtask bench verify`:
//! `large_bundle BUNDLE KEY BYTES`.

#![expect(clippy::expect_used, reason = "a tool of the bench: without its scene it stops")]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use contract::{Digest, Report, canonical_bytes, canonical_digest};
use evidence::HarnessKey;
use sha2::{Digest as _, Sha256};

const NAME: &str = "backend/large.bin";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, bundle, key, bytes] = arguments.as_slice() else { panic_usage() };
    let bundle = Path::new(bundle);
    let key = HarnessKey::open_file(Path::new(key)).expect("the home's key");
    let digest = write_large(&bundle.join(NAME), bytes.parse().expect("a number of bytes"));
    list(bundle, digest);
    testkit::resign(bundle, &key, |_| {});
}

fn panic_usage() -> ! {
    eprintln!("usage: large_bundle BUNDLE KEY BYTES");
    std::process::exit(2)
}

/// Bytes that do not compress and are the same every time.
fn write_large(path: &Path, bytes: u64) -> Digest {
    let mut file = BufWriter::new(File::create_new(path).expect("a new file"));
    let mut hasher = Sha256::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut left = bytes;
    let mut block = [0_u8; 1 << 16];
    while left > 0 {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let part = &block[..block.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        file.write_all(part).expect("written");
        hasher.update(part);
        left -= part.len() as u64;
    }
    file.flush().expect("written");
    Digest::from_bytes(hasher.finalize().into())
}

/// Enters the file into the report's own index.
fn list(bundle: &Path, digest: Digest) {
    let path = bundle.join("report.json");
    let mut report: Report = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("a report");
    let fresh = report.freshness["report.json"];
    report.artifact_paths.insert(NAME.to_owned(), NAME.to_owned());
    report.artifact_digests.insert(NAME.to_owned(), digest.to_string());
    report.artifact_digests.insert("report.json".to_owned(), String::new());
    report.freshness.insert(NAME.to_owned(), fresh);
    let own = canonical_digest(&report).expect("canonical");
    report.artifact_digests.insert("report.json".to_owned(), own.to_string());
    fs::write(&path, canonical_bytes(&report).expect("canonical")).expect("written");
}
