//! The measured posture: forbidden actions are tried from inside, in the program's own
//! process, behind the walls that forbid them. Takes well under a millisecond, and leaves
//! nothing behind. `word` keeps most attempts between the probe and the filter.

mod network;
mod places;
mod self_view;

use std::io;

use sandbox_facts::Probe;

use crate::confinement::Confinement;
use crate::kernel::attempt::ATTEMPTS;

/// Attempts that depend on filter, namespaces and privileges alone and can be made before
/// there is a root.
#[derive(Debug)]
pub(crate) struct Early {
    calls: Vec<Probe>,
    network: Vec<Probe>,
}

impl Early {
    /// Makes the attempts. The first goes without the word, so that the path through the
    /// stage is tested too.
    pub(crate) fn run_early(listener: Option<u16>, word: u64) -> Self {
        // The first one without the word: the way over the stage has to hold too.
        let words = std::iter::once(0).chain(std::iter::repeat(word));
        let calls = ATTEMPTS.iter().zip(words).map(|(attempt, word)| forbidden(attempt.name, attempt.make_call(word)));
        Self { calls: calls.collect(), network: network::probe_network(listener, word) }
    }
}

/// The rest, after everything that confines the program; always in the same order.
pub(crate) fn run_rest(early: Early, confinement: &Confinement, word: u64) -> Vec<Probe> {
    let mut probes = early.calls;
    probes.extend(places::probe_places(confinement, word));
    probes.extend(early.network);
    probes.push(network::other_interfaces());
    probes.extend(self_view::probe_self());
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
