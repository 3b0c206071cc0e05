//! Daily limits: the part that is left for a run.
//!
//! The account is in the ledger. Before its first request, a run reserves there the use
//! that its contract allows, and no more than is left of the day, in one transaction, so
//! that two runs never count on the same rest. When it has ended, it settles: from then on
//! its real use counts. For a dead run recovery settles, with the account it kept; without
//! a reliable one, the whole reservation counts. A day is one of UTC, and a run belongs to
//! the day it reserved in.

use bridge::{Spent, UseLimits};
use contract::{ModelPair, Stamp};
use ledger::{AppendEntryError, Entry, EntryKind};
use views::{CountedAccounts, ModelAccount, count_accounts};

use super::account;
use crate::run::file::RunFile;

/// The largest number that a canonical document holds.
const LARGEST: u64 = (1 << 53) - 1;

/// Reservation of a run in a day's limit.
#[derive(Debug, Clone)]
pub(super) struct Share {
    day: String,
    pair: String,
    run: String,
}

/// `yyyy-mm-dd`, UTC.
fn day_of(moment: Stamp) -> String {
    let mut text = moment.to_string();
    text.truncate(10);
    text
}

fn start_of_day(moment: Stamp) -> Stamp {
    format!("{}T00:00:00Z", day_of(moment)).parse().unwrap_or(moment)
}

impl Share {
    /// Reserves what `contract` allows of the rest of the day; gives that rest. Nothing
    /// where no day is limited.
    pub(super) fn reserve_share(
        run: &RunFile<'_>,
        pair: &ModelPair,
        contract: UseLimits,
    ) -> Result<Option<(Self, UseLimits)>, AppendEntryError> {
        let settings = &run.harness().models;
        let pair = pair.to_string();
        let of_pair = settings.models.get(&pair).map(|setting| setting.limits_per_day).unwrap_or_default();
        let of_all = settings.limits_per_day;
        if run.ask().model.replay.is_some() || (of_pair == UseLimits::default() && of_all == UseLimits::default()) {
            return Ok(None);
        }
        let now = run.clock().now();
        let day = day_of(now);
        let share = Self { day, pair, run: run.id().to_string() };
        let mut left = UseLimits::default();
        run.harness().ledger().model_reserved(now, start_of_day(now), |entries| {
            let used = used(entries, &share.day);
            let of_this = |account: &ModelAccount| account.pair == share.pair;
            left = least(rest(of_all, &used, |_| true), rest(of_pair, &used, of_this));
            share.account(least(contract, left))
        })?;
        Ok(Some((share, left)))
    }

    /// Counts the run with what it used from here on.
    pub(super) fn settle_share(&self, run: &RunFile<'_>, spent: Spent) -> Result<(), AppendEntryError> {
        let Spent { requests, tokens, money_micros } = spent;
        let used = UseLimits { requests: Some(requests), tokens: Some(tokens), money_micros: Some(money_micros) };
        run.harness().ledger().append(EntryKind::ModelSettled, None, run.clock().now(), &self.account(used)).map(drop)
    }

    /// Reservation of a dead run that was not settled.
    fn open(run: &RunFile<'_>) -> Result<Option<Self>, AppendEntryError> {
        // A run reserves on the day it starts or later.
        let entries = run.harness().ledger().model_entries(start_of_day(run.clock().started()))?;
        let accounts = |kind: EntryKind| -> Vec<ModelAccount> {
            let of_kind = entries.iter().filter(|entry| entry.is_kind(kind));
            let read = of_kind.filter_map(|entry| serde_json::from_value::<ModelAccount>(entry.body.clone()).ok());
            read.filter(|account| account.run == run.id().as_str()).collect()
        };
        if !accounts(EntryKind::ModelSettled).is_empty() {
            return Ok(None);
        }
        let reserved = accounts(EntryKind::ModelReserved).pop();
        Ok(reserved.map(|ModelAccount { day, pair, run, .. }| Self { day, pair, run }))
    }

    fn account(&self, amounts: UseLimits) -> serde_json::Value {
        let capped = |amount: Option<u64>| amount.map(|amount| amount.min(LARGEST));
        serde_json::json!({
            "day": self.day,
            "money_micros": capped(amounts.money_micros),
            "pair": self.pair,
            "requests": capped(amounts.requests),
            "run": self.run,
            "tokens": capped(amounts.tokens),
        })
    }
}

/// End of the reservation of a dead run.
pub(crate) enum DeadShare {
    /// The run had no reservation, or had settled.
    None,
    Settled(Spent),
    /// Its use is not known, so the whole reservation stays counted.
    Kept(&'static str),
}

/// Settles for a run that died, with the account it kept if that can be relied on.
pub(crate) fn settle_dead(run: &RunFile<'_>, same_boot: bool) -> Result<DeadShare, AppendEntryError> {
    let Some(share) = Share::open(run)? else { return Ok(DeadShare::None) };
    if !same_boot {
        return Ok(DeadShare::Kept("the machine was restarted, and what the run had used last may be lost"));
    }
    let Some(spent) = account::read_spent(run.work()) else {
        return Ok(DeadShare::Kept("the run left no account of what it used"));
    };
    share.settle_share(run, spent)?;
    Ok(DeadShare::Settled(spent))
}

/// Accounts that count on this day: a run settled, or else it reserved.
fn used(entries: &[Entry], day: &str) -> Vec<ModelAccount> {
    let CountedAccounts { settled, open } = count_accounts(entries);
    settled.into_iter().chain(open).filter(|account| account.day == day).collect()
}

/// Rest of a limit after all use so far.
fn rest(limit: UseLimits, used: &[ModelAccount], counts: impl Fn(&ModelAccount) -> bool) -> UseLimits {
    let sum = |amount: fn(&ModelAccount) -> Option<u64>| {
        used.iter().filter(|account| counts(account)).filter_map(amount).fold(0, u64::saturating_add)
    };
    let left = |limit: Option<u64>, amount| limit.map(|limit| limit.saturating_sub(sum(amount)));
    UseLimits {
        requests: left(limit.requests, |account| account.requests),
        tokens: left(limit.tokens, |account| account.tokens),
        money_micros: left(limit.money_micros, |account| account.money_micros),
    }
}

/// The narrower of each.
fn least(one: UseLimits, other: UseLimits) -> UseLimits {
    let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    UseLimits {
        requests: least(one.requests, other.requests),
        tokens: least(one.tokens, other.tokens),
        money_micros: least(one.money_micros, other.money_micros),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(kind: EntryKind, day: &str, pair: &str, run: &str, tokens: u64) -> Entry {
        let body = json!({"day": day, "pair": pair, "run": run, "requests": 1, "tokens": tokens, "money_micros": null});
        let (time, prev, hash) = (format!("{day}T10:00:00Z"), String::new(), String::new());
        Entry { seq: 1, time, kind: kind.name().to_owned(), run_id: None, body, prev, hash }
    }

    #[test]
    fn a_run_counts_with_what_it_reserved_until_it_settles() {
        let (reserved, settled) = (EntryKind::ModelReserved, EntryKind::ModelSettled);
        let entries = [
            entry(reserved, "2026-03-01", "p/a", "one", 500),
            entry(settled, "2026-03-01", "p/a", "one", 40),
            entry(settled, "2026-03-01", "p/a", "one", 40),
            entry(reserved, "2026-03-01", "p/b", "two", 300),
            // The run began the day before and ended today.
            entry(settled, "2026-02-28", "p/a", "three", 900),
        ];
        let used = used(&entries, "2026-03-01");
        let limit = UseLimits { requests: Some(10), tokens: Some(1000), money_micros: Some(7) };
        let all = rest(limit, &used, |_| true);
        assert_eq!(all, UseLimits { requests: Some(8), tokens: Some(660), money_micros: Some(7) });
        let of_pair = rest(limit, &used, |account| account.pair == "p/a");
        assert_eq!(of_pair, UseLimits { requests: Some(9), tokens: Some(960), money_micros: Some(7) });
        let over = rest(UseLimits { tokens: Some(100), ..UseLimits::default() }, &used, |_| true);
        assert_eq!(over, UseLimits { requests: None, tokens: Some(0), money_micros: None });
    }

    #[test]
    fn the_narrower_limit_holds() {
        let contract = UseLimits { requests: Some(5), tokens: None, money_micros: Some(9) };
        let day = UseLimits { requests: Some(7), tokens: Some(3), money_micros: Some(0) };
        assert_eq!(least(contract, day), UseLimits { requests: Some(5), tokens: Some(3), money_micros: Some(0) });
    }
}
