//! The least that the check of an approval can cost: one signature, and one full commit of the ledger. For `cargo xtask bench stage5`.
//!
//! Arguments: the ledger, the document, its signature, its namespace. Each line on stdin is one round; its microseconds come back.

use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use evidence::sshsig::verify_signature;
use harness::RunClock;
use ledger::{EntryKind, Ledger};
use serde_json::json;
use untrusted_fs::own_files;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [ledger, document, signature, namespace] = arguments.as_slice() else {
        return Err("LEDGER DOCUMENT SIGNATURE NAMESPACE".into());
    };
    let ledger = Ledger::open_file(ledger)?;
    let (document, armour) = (own_files::read_file(document)?, String::from_utf8(own_files::read_file(signature)?)?);
    let namespace = namespace.to_string_lossy();
    for line in std::io::stdin().lock().lines() {
        let round = line?;
        let began = Instant::now();
        verify_signature(&armour, &document, &namespace)?;
        ledger.append(EntryKind::HaltSet, None, RunClock::start_clock()?.now(), &json!({"round": round}))?;
        println!("{}", began.elapsed().as_micros());
        std::io::stdout().flush()?;
    }
    Ok(())
}
