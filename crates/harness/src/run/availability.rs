//! Availability of profile `strict` on this machine: tried by building a sandbox, and remembered until the next boot.
//!
//! Only success is remembered. A failure is tried again each time, so that a remedy works
//! at once; and a success that no longer holds is found out when the sandbox of a run is
//! built.

use std::path::Path;
use std::sync::OnceLock;

use contract::canonical_bytes;
use contract::decision::{Profile, Shortfall};
use sandbox::{Availability, probe_host};
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files;

use crate::home::host::{FileSighting, boot_id};
use crate::home::scratch::Work;
use crate::run::harness::Harness;

const FILE: &str = "sandbox.json";

/// Under what it was found to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Worked {
    boot_id: String,
    kernel: String,
    uid: u32,
    harness: FileSighting,
}

/// Profiles that worked in this process. A command that shows active runs opens a home for each, and must not try the sandbox each time.
static WORKED: OnceLock<Worked> = OnceLock::new();

/// The profiles that can be applied here; and why `strict` is not among them, if it is not.
pub(crate) fn profiles(harness: &Harness, asked: Profile) -> (Vec<Profile>, Option<Shortfall>) {
    if asked == Profile::None {
        return (vec![Profile::None], None);
    }
    match harness.strict_shortfall.get_or_init(|| shortfall(harness)) {
        None => (vec![Profile::None, Profile::Strict], None),
        Some(shortfall) => (vec![Profile::None], Some(shortfall.clone())),
    }
}

fn shortfall(harness: &Harness) -> Option<Shortfall> {
    let file = harness.home.cache().join(FILE);
    let now = FileSighting::of_file(&harness.exe).ok().map(|seen| Worked {
        boot_id: boot_id(),
        kernel: harness.host.kernel.clone(),
        uid: rustix::process::geteuid().as_raw(),
        harness: seen,
    });
    let worked = own_files::read_file(&file).ok().and_then(|bytes| serde_json::from_slice::<Worked>(&bytes).ok());
    if now.is_some() && (worked == now || WORKED.get() == now.as_ref()) {
        return None;
    }
    match probe(harness) {
        Ok(Availability { shortfall: None, .. }) => {
            if let Some(now) = now {
                if let Ok(bytes) = canonical_bytes(&now) {
                    crate::home::host::write_aside(&file, &bytes);
                }
                let _ = WORKED.set(now);
            }
            None
        }
        Ok(Availability { shortfall: Some(found), .. }) => {
            Some(Shortfall { text: found.text, remedy: found.remedy.to_owned() })
        }
        Err(error) => Some(Shortfall {
            text: format!("cannot make a folder to try it in: {error}"),
            remedy: "make the home writable, or name another with --home".to_owned(),
        }),
    }
}

/// Builds one, probes it and throws it away.
fn probe(harness: &Harness) -> std::io::Result<Availability> {
    let work = Work::make_area(&harness.home, "probe")?;
    Ok(probe_host(&harness.supervisor, work.path()))
}

/// Abilities of this machine for `doctor`, tried now. `scratch` is an empty folder of the
/// caller.
pub fn availability(exe: &Path, scratch: &Path) -> Availability {
    probe_host(&sandbox::Supervisor::new(exe.to_owned()), scratch)
}
