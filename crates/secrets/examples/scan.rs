//! `scan FILE...`: one line for each hit: file, offset, length, rule, encoding. For `cargo xtask bench secrets`.

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Write as _};

use secrets::{Keep, Redactor, RuleSet, Scanner};

fn main() -> Result<(), Box<dyn Error>> {
    let scanner = Scanner::new(&[], RuleSet::standard());
    let mut out = std::io::stdout().lock();
    let (mut piece, mut redacted) = (vec![0; 256 * 1024], Vec::new());
    for path in std::env::args().skip(1) {
        let mut file = File::open(&path)?;
        let mut redactor = Redactor::new(&scanner, Keep::Nothing);
        let mut hits = Vec::new();
        loop {
            redacted.clear();
            match file.read(&mut piece)? {
                0 => break,
                len => hits.extend(redactor.push_piece(&piece[..len], &mut redacted)),
            }
        }
        hits.extend(redactor.finish_stream(&mut redacted));
        for hit in hits {
            writeln!(out, "{path}\t{}\t{}\t{}\t{}", hit.offset, hit.len, hit.rule, hit.encoding)?;
        }
    }
    Ok(())
}
