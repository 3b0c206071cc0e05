//! The posture, measured: what must not work is tried from inside, in the program's own process, after everything that confines
//! it. Takes well under a millisecond of its own, and leaves nothing behind.

mod network;
mod places;
mod self_view;

use std::io;

use crate::applied::Probe;
use crate::confinement::Confinement;
use crate::kernel::attempt::ATTEMPTS;

pub(crate) fn run(confinement: &Confinement) -> Vec<Probe> {
    let mut probes: Vec<Probe> = ATTEMPTS.iter().map(|attempt| forbidden(attempt.name, attempt.make())).collect();
    probes.extend(places::probe(confinement));
    probes.extend(network::probe(confinement.listener));
    probes.extend(self_view::probe());
    probes
}

/// A call that has to be forbidden as such; any other error means it was reached.
fn forbidden(name: &str, result: io::Result<()>) -> Probe {
    let refused = result.as_ref().is_err_and(|error| {
        matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EAFNOSUPPORT))
    });
    Probe { name: name.to_owned(), refused, detail: detail(result) }
}

/// Something that has to fail, with whatever error.
fn failing<T>(name: String, result: io::Result<T>) -> Probe {
    let result = result.map(drop);
    Probe { name, refused: result.is_err(), detail: detail(result) }
}

/// Something that must not be there; each of the surplus is named.
fn nothing(name: &str, found: &[String]) -> Probe {
    let detail = if found.is_empty() { "nothing found".to_owned() } else { format!("found {}", found.join(", ")) };
    Probe { name: name.to_owned(), refused: found.is_empty(), detail }
}

fn detail(result: io::Result<()>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "worked".to_owned())
}
