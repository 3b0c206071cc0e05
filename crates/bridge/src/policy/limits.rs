//! Limits of a run in requests, tokens and money, kept across parallel requests.
//!
//! The use of a request is known only when it is over. So an open request holds a
//! reservation, an upper estimate. A new request is refused if the spent amount has reached
//! the limit, and waits if only spent and reserved amounts together have: its turn is then
//! decided soon. A limit is thus crossed by one request at most, and the next is the first
//! to be refused.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;

use crate::protocol::refusal::RefusalCode;

/// Limits on total use, by a run or for the rest of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UseLimits {
    /// Requests sent to the upstream.
    pub requests: Option<u64>,
    /// Tokens of prompts and completions together.
    pub tokens: Option<u64>,
    /// Millionths of a unit of money.
    pub money_micros: Option<u64>,
}

/// Use so far; estimates replace amounts that the upstream did not report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Requests sent to the upstream.
    pub requests: u64,
    /// Tokens of prompts and completions together.
    pub tokens: u64,
    /// Millionths of a unit of money, rounded up for each request.
    pub money_micros: u64,
}

/// Callback that gets the account, open requests counted as estimated, before a request is
/// sent and after it has ended. False means that it could not be kept: the request is then
/// refused.
pub type KeepAccount = Arc<dyn Fn(Spent) -> bool + Send + Sync>;

/// Tokens and money of one request, estimated or real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amount {
    /// Prompt and completion together.
    pub(crate) tokens: u64,
    /// Millionths of a unit of money.
    pub(crate) money_micros: u64,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    held: Amount,
    exceeded: Option<RefusalCode>,
}

impl State {
    fn with_held(&self) -> Spent {
        Spent {
            requests: self.spent.requests,
            tokens: self.spent.tokens.saturating_add(self.held.tokens),
            money_micros: self.spent.money_micros.saturating_add(self.held.money_micros),
        }
    }
}

/// The run's account.
#[derive(Clone)]
pub(crate) struct Budget {
    limits: UseLimits,
    day: UseLimits,
    keep: Option<KeepAccount>,
    state: Arc<Mutex<State>>,
    settled: Arc<Notify>,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Budget")
    }
}

impl Budget {
    /// The limits of the run, and what the caller says is left of the day.
    pub(crate) fn new(limits: UseLimits, day: UseLimits, keep: Option<KeepAccount>) -> Self {
        Self { limits, day, keep, state: Arc::default(), settled: Arc::default() }
    }

    /// Persists the account; false if the write failed.
    fn is_kept(&self, state: &State) -> bool {
        self.keep.as_ref().is_none_or(|keep| keep(state.with_held()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing inside panics; a poisoned account would still be a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if money is limited, so that a model without a price cannot be used.
    pub(crate) fn limits_money(&self) -> bool {
        self.limits.money_micros.is_some() || self.day.money_micros.is_some()
    }

    /// Use so far, without open reservations.
    pub(crate) fn spent(&self) -> Spent {
        self.state().spent
    }

    /// The limit that was reached, if one was.
    pub(crate) fn exceeded(&self) -> Option<RefusalCode> {
        self.state().exceeded
    }

    /// Notes the first limit that was exceeded.
    pub(crate) fn exceed(&self, code: RefusalCode) {
        self.state().exceeded.get_or_insert(code);
    }

    /// Reserves an estimate. Waits while only open reservations stand in the way; fails
    /// once the limit is spent.
    pub(crate) async fn reserve_estimate(&self, estimate: Amount) -> Result<Reservation, RefusalCode> {
        loop {
            // Made before looking, so that a settlement in between wakes it.
            let settled = self.settled.notified();
            if let Some(reservation) = self.try_reserve(estimate)? {
                return Ok(reservation);
            }
            settled.await;
        }
    }

    /// None if the answer depends on the real use of open requests.
    fn try_reserve(&self, estimate: Amount) -> Result<Option<Reservation>, RefusalCode> {
        let mut state = self.state();
        let (spent, held) = (state.spent, state.held);
        let rows = [
            (spent.requests, 0, self.limits.requests, RefusalCode::RequestLimit),
            (spent.tokens, held.tokens, self.limits.tokens, RefusalCode::TokenLimit),
            (spent.money_micros, held.money_micros, self.limits.money_micros, RefusalCode::MoneyLimit),
            (spent.requests, 0, self.day.requests, RefusalCode::DayLimit),
            (spent.tokens, held.tokens, self.day.tokens, RefusalCode::DayLimit),
            (spent.money_micros, held.money_micros, self.day.money_micros, RefusalCode::DayLimit),
        ];
        let reached = |used: u64, limit: Option<u64>| limit.is_some_and(|limit| used >= limit);
        if let Some((.., code)) = rows.iter().find(|(spent, _, limit, _)| reached(*spent, *limit)) {
            return Err(*state.exceeded.get_or_insert(*code));
        }
        if rows.iter().any(|(spent, held, limit, _)| reached(spent.saturating_add(*held), *limit)) {
            return Ok(None);
        }
        state.spent.requests += 1;
        state.held.tokens = held.tokens.saturating_add(estimate.tokens);
        state.held.money_micros = held.money_micros.saturating_add(estimate.money_micros);
        if !self.is_kept(&state) {
            (state.spent, state.held) = (spent, held);
            return Err(RefusalCode::BridgeBusy);
        }
        drop(state);
        Ok(Some(Reservation { budget: self.clone(), estimate, charge: Some(Amount::default()) }))
    }

    /// Turns what was held into what was spent.
    fn settle(&self, estimate: Amount, spent: Amount) {
        let mut state = self.state();
        state.held.tokens = state.held.tokens.saturating_sub(estimate.tokens);
        state.held.money_micros = state.held.money_micros.saturating_sub(estimate.money_micros);
        state.spent.tokens = state.spent.tokens.saturating_add(spent.tokens);
        state.spent.money_micros = state.spent.money_micros.saturating_add(spent.money_micros);
        // Where this fails, what was kept before counts for more than was used.
        let _ = self.is_kept(&state);
        drop(state);
        self.settled.notify_waiters();
    }
}

/// Share of an open request. On drop the account is charged with the latest known amount:
/// nothing before the request was sent, the estimate afterwards, and the real amount once
/// the upstream reported it.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Budget,
    estimate: Amount,
    charge: Option<Amount>,
}

impl Reservation {
    /// From here on the upstream may be working: unless it reports, the estimate is charged.
    pub(crate) fn sent(&mut self) {
        self.charge = Some(self.estimate);
    }

    /// Sets the reported amounts; an unknown part is charged as estimated.
    pub(crate) fn reported(&mut self, tokens: Option<u64>, money_micros: Option<u64>) {
        self.charge = Some(Amount {
            tokens: tokens.unwrap_or(self.estimate.tokens),
            money_micros: money_micros.unwrap_or(self.estimate.money_micros),
        });
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(charge) = self.charge.take() {
            self.budget.settle(self.estimate, charge);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(tokens: u64) -> Amount {
        Amount { tokens, money_micros: 0 }
    }

    #[test]
    fn open_requests_count_as_estimated() {
        let budget = Budget::new(UseLimits { tokens: Some(100), ..UseLimits::default() }, UseLimits::default(), None);
        let mut first = budget.try_reserve(tokens(100)).unwrap().unwrap();
        first.sent();
        assert!(budget.try_reserve(tokens(1)).unwrap().is_none(), "not known yet");
        first.reported(Some(10), None);
        drop(first);
        assert_eq!(budget.spent().tokens, 10);
        let second = budget.try_reserve(tokens(500)).unwrap().unwrap();
        drop(second);
        assert_eq!(budget.spent().tokens, 10, "what was never sent costs nothing");
        let mut third = budget.try_reserve(tokens(500)).unwrap().unwrap();
        third.sent();
        drop(third);
        assert_eq!(budget.spent().tokens, 510, "what is unknown is charged as estimated");
        assert_eq!(budget.try_reserve(tokens(1)).unwrap_err(), RefusalCode::TokenLimit);
        assert_eq!(budget.exceeded(), Some(RefusalCode::TokenLimit));
    }

    #[test]
    fn the_rest_of_the_day_is_a_limit_of_its_own() {
        let one = UseLimits { requests: Some(1), ..UseLimits::default() };
        for (run, day, code) in [
            (one, UseLimits::default(), RefusalCode::RequestLimit),
            (UseLimits::default(), one, RefusalCode::DayLimit),
            (UseLimits::default(), UseLimits { money_micros: Some(0), ..one }, RefusalCode::DayLimit),
        ] {
            let budget = Budget::new(run, day, None);
            let refused = (0..2).find_map(|_| budget.try_reserve(tokens(1)).err());
            assert_eq!((refused, budget.limits_money()), (Some(code), day.money_micros.is_some()));
        }
    }

    #[test]
    fn the_account_is_kept_before_a_request_and_after_it() {
        let kept: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
        let lines = Arc::clone(&kept);
        let keep: KeepAccount = Arc::new(move |spent| {
            lines.lock().unwrap().push((spent.requests, spent.tokens));
            spent.requests < 3
        });
        let budget = Budget::new(UseLimits::default(), UseLimits::default(), Some(keep));
        let mut first = budget.try_reserve(tokens(100)).unwrap().unwrap();
        let mut second = budget.try_reserve(tokens(50)).unwrap().unwrap();
        first.sent();
        second.sent();
        first.reported(Some(10), None);
        drop(first);
        drop(second);
        assert_eq!(*kept.lock().unwrap(), [(1, 100), (2, 150), (2, 60), (2, 60)]);
        assert_eq!(budget.try_reserve(tokens(1)).unwrap_err(), RefusalCode::BridgeBusy, "what is not kept is not sent");
        assert_eq!(budget.spent(), Spent { requests: 2, tokens: 60, money_micros: 0 });
    }

    #[test]
    fn requests_are_counted_exactly_across_threads() {
        let budget = Budget::new(UseLimits { requests: Some(50), ..UseLimits::default() }, UseLimits::default(), None);
        let admitted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..40).filter(|_| budget.try_reserve(tokens(1)).is_ok()).count()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 50);
    }
}
