//! Lanes at work: races, repetitions and matrices of runs, several at once. A lane itself
//! is `views::Lane`.

mod matrix;
mod measure;
mod race;
mod repeat;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use contract::{CitedBundle, TaskId};
use views::Lane;

use crate::home::ask::Ask;
use crate::home::task::Task;
use crate::home::watch::Watch;
use crate::run::harness::Harness;
use crate::spine::{GovernError, govern};

pub use matrix::{Matrix, MatrixRow, run_case, seal_matrix};
pub use measure::{PassHat, RepeatMeasures};
pub use race::seal_race;
pub use repeat::{Repetition, seal_repetition};

/// Governs one run as a lane; none when a signal ended it.
pub fn run_lane(harness: &Harness, task: &Task, ask: &Ask, watch: Watch<'_>) -> Result<Option<Lane>, GovernError> {
    let outcome = govern(harness, task, ask, watch)?;
    let sealed = &outcome.sealed;
    Ok((!outcome.interrupted).then(|| Lane::of_report(&sealed.report, sealed.attestation_sha256)))
}

/// Name of a collection's task: a prefix and as much of the task's id as fits.
fn collection_name(prefix: &str, task: &TaskId) -> String {
    const LONGEST: usize = 64;
    format!("{prefix}-{task}").chars().take(LONGEST).collect()
}

/// Bundles of the lanes that have one.
fn cited(lanes: &[Lane]) -> Vec<CitedBundle> {
    let cite = |lane: &Lane| {
        let (run_id, attestation_sha256) = (lane.run_id.clone()?, lane.attestation_sha256?);
        Some(CitedBundle { run_id, attestation_sha256 })
    };
    lanes.iter().filter_map(cite).collect()
}

/// Bytes of a worker's stack, as the first thread has: a run may run its yardstick, and a
/// build without optimisation keeps all in frames.
const STACK: usize = 8 << 20;

/// A thread of [`run_in_parallel`] panicked or could not be started.
#[derive(Debug, thiserror::Error)]
#[error("a worker ended early")]
pub struct WorkerPanicked;

/// Does `work` on every item, `jobs` at once, and gives the results in order. A worker that
/// got nothing, because a signal ended it, begins no other item.
pub fn run_in_parallel<T: Sync, R: Send, E: Send + From<WorkerPanicked>>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<Option<R>, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let one = || -> Result<(), E> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(()) };
            let Some(result) = work(item)? else { return Ok(()) };
            if let Ok(mut done) = done.lock() {
                done.push((at, result));
            }
        }
    };
    std::thread::scope(|scope| {
        let begin = |_| Builder::new().stack_size(STACK).spawn_scoped(scope, one).map_err(|_| WorkerPanicked);
        let workers = (0..jobs.min(items.len())).map(begin).collect::<Result<Vec<_>, _>>()?;
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(WorkerPanicked.into())))
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use contract::Status;

    use super::*;

    /// Lanes with these statuses, none of which ran.
    pub(super) fn lanes(statuses: &[Status]) -> Vec<Lane> {
        let lane = |status: &Status| Lane { status: *status, ..Lane::impossible("fake", "why".to_owned(), None) };
        statuses.iter().map(lane).collect()
    }

    #[test]
    fn results_come_in_the_order_of_their_items() {
        let twice = |item: &u64| Ok::<_, WorkerPanicked>(Some(item * 2));
        for jobs in [1, 2, 9] {
            assert_eq!(run_in_parallel(&[3, 1, 2], jobs, twice).unwrap(), [6, 2, 4]);
        }
        let until = |item: &u64| Ok::<_, WorkerPanicked>((*item != 1).then_some(*item));
        assert_eq!(run_in_parallel(&[3, 1, 2], 1, until).unwrap(), [3], "nothing begins after an end by a signal");
        let panics = |item: &u64| if *item == 1 { panic!("a worker's own") } else { Ok(Some(*item)) };
        assert!(matches!(run_in_parallel(&[1], 1, panics), Err(WorkerPanicked)));
    }

    #[test]
    fn the_name_of_a_collection_is_cut_to_what_fits() {
        let task = TaskId::try_from("t".repeat(64)).unwrap();
        assert_eq!(collection_name("race", &task), format!("race-{}", "t".repeat(59)));
    }
}
