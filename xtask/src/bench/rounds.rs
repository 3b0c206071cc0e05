//! Taking times in turns.

use std::time::{Duration, Instant};

use crate::ChoreResult;

/// One thing to measure. What has to be made ready or cleared away is no part of the time.
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    /// Short name in the table's head.
    pub(super) short: &'a str,
    pub(super) measured: Box<dyn FnMut(usize) -> ChoreResult + 'a>,
    pub(super) cleared: Box<dyn FnMut(usize) -> ChoreResult + 'a>,
}

impl<'a> Candidate<'a> {
    /// Candidate without a clean-up between rounds.
    pub(super) fn new(name: &'a str, short: &'a str, measured: impl FnMut(usize) -> ChoreResult + 'a) -> Self {
        Candidate { name, short, measured: Box::new(measured), cleared: Box::new(|_| Ok(())) }
    }

    /// Adds a clean-up that runs after each round and is not measured.
    pub(super) fn clearing(self, cleared: impl FnMut(usize) -> ChoreResult + 'a) -> Self {
        Candidate { cleared: Box::new(cleared), ..self }
    }
}

/// Times of one candidate over all rounds.
pub(super) struct CandidateTimes {
    pub(super) name: String,
    pub(super) short: String,
    /// Sorted.
    times: Vec<Duration>,
}

impl CandidateTimes {
    /// Median of the times.
    pub(super) fn p50(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }

    /// Longest of the times.
    pub(super) fn max(&self) -> Duration {
        self.times.last().copied().unwrap_or_default()
    }

    /// Shortest of the times.
    pub(super) fn min(&self) -> Duration {
        self.times.first().copied().unwrap_or_default()
    }
}

/// Every candidate once a round, another one first each time; the first round warms up and
/// is not counted.
pub(super) fn in_turns(mut candidates: Vec<Candidate<'_>>, rounds: usize) -> ChoreResult<Vec<CandidateTimes>> {
    let mut times = vec![Vec::with_capacity(rounds); candidates.len()];
    for round in 0..=rounds {
        for turn in 0..candidates.len() {
            let index = (round + turn) % candidates.len();
            let candidate = &mut candidates[index];
            let start = Instant::now();
            (candidate.measured)(round).map_err(|message| format!("{}: {message}", candidate.name))?;
            let time = start.elapsed();
            (candidate.cleared)(round)?;
            if round > 0 {
                times[index].push(time);
            }
        }
    }
    let measured = candidates.iter().zip(times).map(|(candidate, mut times)| {
        times.sort_unstable();
        CandidateTimes { name: candidate.name.to_owned(), short: candidate.short.to_owned(), times }
    });
    Ok(measured.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn turns_rotate_and_the_first_round_is_not_counted() {
        let order = RefCell::new(String::new());
        let candidate = |name: &'static str| {
            let order = &order;
            Candidate::new(name, name, move |_| {
                order.borrow_mut().push_str(name);
                Ok(())
            })
        };
        let measured = in_turns(vec![candidate("a"), candidate("b")], 2).unwrap();
        assert_eq!(measured[0].times.len(), 2);
        drop(measured);
        assert_eq!(order.into_inner(), "abbaab");
    }
}
