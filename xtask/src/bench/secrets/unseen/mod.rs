//! A second set for secret scanners, made without their rules: from what vendors, formats
//! and programs say in public of the shapes of secrets and of the places they stand in.
//! Each class is measured by itself.

mod blocks;
mod encoded;
mod harmless;
mod places;
mod random;
mod shapes;

use std::path::Path;

use crate::ChoreResult;
use random::Random;

const SEED: u64 = 7_340_033;

/// A text with one secret in it, or with none.
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) text: String,
}

/// Class of samples: its name in the table, its folder, and true if its texts hold secrets.
pub(super) struct SampleClass {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) holds_secrets: bool,
    make: fn(&mut Random) -> Vec<Sample>,
}

/// Classes of the second table.
pub(super) const CLASSES: [SampleClass; 5] = [
    SampleClass { name: "known shapes", folder: "shapes", holds_secrets: true, make: shapes::shape_samples },
    SampleClass { name: "by name or place", folder: "places", holds_secrets: true, make: places::place_samples },
    SampleClass { name: "key blocks", folder: "blocks", holds_secrets: true, make: blocks::block_samples },
    SampleClass { name: "encoded or split", folder: "encoded", holds_secrets: true, make: encoded::encoded_samples },
    SampleClass { name: "harmless", folder: "harmless", holds_secrets: false, make: harmless::harmless_samples },
];

/// Writes every class into a folder of its own, one file for each sample, and gives the
/// number of files of each.
pub(super) fn write_classes(root: &Path) -> ChoreResult<[usize; CLASSES.len()]> {
    let mut random = Random::new(SEED);
    let mut counts = [0; CLASSES.len()];
    for (class, count) in CLASSES.iter().zip(&mut counts) {
        let folder = root.join(class.folder);
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(fail)?;
        for (number, sample) in (class.make)(&mut random).into_iter().enumerate() {
            let name = format!("{number:04}-{}.txt", sample.name.replace([' ', '/', '.', '\''], "-"));
            std::fs::write(folder.join(name), sample.text).map_err(fail)?;
            *count += 1;
        }
    }
    Ok(counts)
}
