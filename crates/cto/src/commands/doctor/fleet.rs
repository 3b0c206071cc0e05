//! `cto doctor --fleet`: the ledger and the object store that several machines share, each tried out.

use std::collections::BTreeSet;

use contract::Digest;
use harness::{RunClock, find_discontinuity, name_rights};
use ledger::{Ledger, LedgerPlace, ObjectStore, QueueState, StoreProbe};

use super::Finding;
use super::continuity::describe_last_word;
use crate::context::Context;
use crate::error::CommandError;

/// Tries the shared ledger and the object store, and says what each allows.
pub(super) fn examine_fleet(context: &Context) -> Result<Vec<Finding>, CommandError> {
    let mut findings = examine_ledger(context)?;
    let Some(place) = &context.config.evidence else {
        let text = "no evidence.url: bundles lie in the home alone, and approvals have no witness".to_owned();
        findings.push(Finding::warn("evidence", text, "docs/fleet.md: evidence.url in your own config.yaml"));
        return Ok(findings);
    };
    let store = ObjectStore::at_place(place.clone(), harness::read_clock);
    match store.probe() {
        Ok(probe) => findings.extend(describe_store(&store, probe)),
        Err(error) => findings.push(Finding::missing("evidence", error.to_string(), error.remedy())),
    }
    Ok(findings)
}

/// The ledger by its place and, on a server, the timeline that it is written on; and what keeps approvals from being used there.
fn examine_ledger(context: &Context) -> Result<Vec<Finding>, CommandError> {
    let place = match &context.config.store.ledger {
        None => "the home's own file".to_owned(),
        Some(LedgerPlace::File(path)) => path.display().to_string(),
        Some(LedgerPlace::Server(server)) => server.address.to_string(),
    };
    let Some(home) = context.home_as_it_is()? else {
        return Ok(vec![Finding::ok("ledger", format!("{place}, made by the first run"))]);
    };
    let ledger = match home.ledger_to_read() {
        Ok(Some(ledger)) => ledger,
        Ok(None) => return Ok(vec![Finding::ok("ledger", format!("{place}, made by the first run"))]),
        Err(error) => return Ok(vec![Finding::missing("ledger", error.to_string(), error.remedy())]),
    };
    let identity = ledger.identity()?;
    let timeline = match identity.split_once('@') {
        Some((_, timeline)) => format!("timeline {timeline}"),
        None => "a file, which has no timeline".to_owned(),
    };
    let found = Finding::ok("ledger", format!("{place}, {}, {timeline}", ledger.ledger_id()));
    let queue = examine_queue(&ledger)?;
    let last_word = describe_last_word(context, &ledger)?;
    drop(ledger);
    Ok([found, queue, examine_continuity(context)?].into_iter().chain(last_word).collect())
}

/// The runs of the queue by their states, and the homes whose workers have some of them.
fn examine_queue(ledger: &Ledger) -> Result<Finding, CommandError> {
    let runs = ledger.queue_runs(false, usize::MAX)?;
    let count = |state: QueueState| runs.iter().filter(|run| run.state == state).count();
    let homes: BTreeSet<Digest> = runs.iter().filter_map(|run| run.owner).collect();
    let [waiting, claimed, started] = [QueueState::Queued, QueueState::Claimed, QueueState::Started].map(count);
    let told =
        format!("waiting {waiting}, claimed {claimed}, started {started}; homes with workers on them {}", homes.len());
    let now = ledger.store_time(RunClock::start_clock().map_err(CommandError::blocked_with)?.started())?;
    let lapsed = runs.iter().filter(|run| run.lease_until.is_some_and(|until| until <= now)).count();
    Ok(match lapsed {
        0 => Finding::ok("queue", told),
        _ => {
            Finding::warn("queue", format!("{told}; leases that lapsed {lapsed}"), "seal interrupted runs: cto recover")
        }
    })
}

fn examine_continuity(context: &Context) -> Result<Finding, CommandError> {
    let harness = context.harness_at(&context.config.place())?;
    Ok(match find_discontinuity(&harness)? {
        None => Finding::ok("continuity", "this home may continue with this ledger"),
        Some(why) => Finding::warn(
            "continuity",
            format!("approvals are refused: {why}"),
            "end every other copy before you type: cto ledger continue --reason \"...\"",
        ),
    })
}

fn describe_store(store: &ObjectStore, probe: StoreProbe) -> Vec<Finding> {
    let kept = "creates each object once, and returns the same bytes";
    let mut findings = vec![Finding::ok("evidence", format!("{}, probed: {kept}", store.place()))];
    let rights = format!("our credential may {}", name_rights(probe));
    findings.push(match (probe.is_guarded(), store.can_witness(probe)) {
        (true, _) => Finding::ok("witness", format!("approvals are witnessed there; {rights}")),
        (false, true) => Finding::ok(
            "witness",
            format!("approvals are witnessed in a folder of this machine, where we may {}", name_rights(probe)),
        ),
        (false, false) => Finding::warn(
            "witness",
            format!("stage 4 and up is refused: {rights}"),
            "give this machine a credential that can only create and read; docs/fleet.md has a policy",
        ),
    });
    findings
}
