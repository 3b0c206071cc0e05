//! `evaluation FOLDER`: writes the set that scanners are measured with: `planted/`, one secret a file; `clean/`, none;
//! and `log`, large, with one secret at its very end. For `cargo xtask bench secrets`.

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use testkit::secret_set::random::Random;
use testkit::secret_set::{lookalike, planted};

const SEED: u64 = 20_261_115;
const CLEAN: usize = 20 * 1024 * 1024;
const LOG: usize = 200_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: evaluation FOLDER")?;
    let folder = Path::new(&folder);
    for name in ["planted", "clean"] {
        fs::create_dir_all(folder.join(name))?;
    }
    for (number, planted) in planted::all(SEED, 2).into_iter().enumerate() {
        let kind = planted.kind.replace([' ', ','], "-");
        let name = format!("{number:04}-{kind}-{:?}-at-{}.txt", planted.encoded, planted.at.start);
        fs::write(folder.join("planted").join(name), planted.text)?;
    }
    for file in lookalike::files(SEED, CLEAN) {
        fs::write(folder.join("clean").join(file.name), file.text)?;
    }
    write_log(&folder.join("log"))?;
    Ok(())
}

fn write_log(path: &Path) -> std::io::Result<()> {
    let mut log = BufWriter::new(fs::File::create(path)?);
    let part = planted::noise(&mut Random::new(SEED), 80_000);
    let mut written = 0;
    while written < LOG {
        log.write_all(part.as_bytes())?;
        written += part.len();
    }
    writeln!(log, "the key is {}", ["AK", "IAQ3EGZXV7TIOPLK2M"].concat())?;
    log.flush()
}
