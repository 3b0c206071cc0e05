//! Lanes at work: several runs at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::TaskId;

use crate::error::CommandError;

/// The name of a collection's task: a prefix and as much of the task's id as fits.
pub(crate) fn collection_name(prefix: &str, task: &TaskId) -> String {
    const LONGEST: usize = 64;
    format!("{prefix}-{task}").chars().take(LONGEST).collect()
}

/// Does `work` on every item, `jobs` at once, and gives what came of each in order. Who got nothing, because a signal ended it,
/// begins no other.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<Option<R>, CommandError> + Sync,
) -> Result<Vec<R>, CommandError> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let one = || -> Result<(), CommandError> {
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
        let workers: Vec<_> = (0..jobs.min(items.len())).map(|_| scope.spawn(one)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(CommandError::fail("a worker ended early"))))
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
