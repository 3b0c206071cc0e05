//! `cto ledger verify`: the chain, its entries about the bundles that are here, and the object store. `cto
//! ledger rebuild`: its rows made again. `cto ledger migrate`: the ledger copied to another
//! place. `cto ledger continue`: the operator vouches for a copied or restored home, or for
//! a clock that was wrong.

use std::path::Path;

use contract::approval::ContinuitySchema;
use contract::signer::SignerStanding;
use contract::text::show_controls;
use contract::{Status, canonical_text};
use harness::{
    AuditLedgerError, AuditScope, Harness, Home, LedgerVouch, ObjectsAudit, People, RunClock, SignedContinuity,
};
use ledger::{AppendEntryError, Ledger, MoveLedgerError};
use serde_json::json;

use crate::approvals_view::{check_reason, not_allowed};
use crate::args::LedgerCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::count_text;
use crate::signing::OperatorKey;

/// Verifies, rebuilds, migrates or continues the ledger.
pub(crate) fn ledger(context: &Context, command: &LedgerCommand) -> Result<u8, CommandError> {
    match command {
        LedgerCommand::Verify { local: true } => verify(context, AuditScope::Local),
        LedgerCommand::Verify { local: false } => verify(context, AuditScope::WithObjects),
        LedgerCommand::Rebuild => rebuild(context),
        LedgerCommand::Migrate { to } => migrate(context, to),
        LedgerCommand::Continue { reason, time_went_back: true, key } => {
            continue_here(context, LedgerVouch::TimeWentBack, reason, key.as_deref())
        }
        LedgerCommand::Continue { reason, key, .. } => {
            continue_here(context, LedgerVouch::OnlyCopy, reason, key.as_deref())
        }
    }
}

fn continue_here(context: &Context, vouch: LedgerVouch, reason: &str, key: Option<&Path>) -> Result<u8, CommandError> {
    let reason = check_reason(reason)?;
    let harness = context.harness()?;
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let needs_signature = key.is_some() || harness::needs_signed_continuity(&harness)?;
    let signed = needs_signature.then(|| sign_word(context, &harness, vouch, reason, key)).transpose()?;
    let entry = harness::continue_ledger(&harness, vouch, reason, signed.as_ref(), now)?;
    let output = context.output;
    if output.json {
        let mut document = json!({
            "entry": entry.seq, "head": entry.hash, "reason": reason, "signed": signed.is_some(), "status": "continued",
        });
        if vouch == LedgerVouch::TimeWentBack {
            document["time_went_back"] = json!(true);
        }
        output.print_json(&document)?;
    } else {
        output.print(&format!("continued entry={} head={} {}\n", entry.seq, entry.hash, show_controls(reason)));
    }
    Ok(0)
}

/// Has the operator's key sign that the chain is accepted up to its head. Who may approve may also say which uses of approvals the ledger has.
fn sign_word(
    context: &Context,
    harness: &Harness,
    vouch: LedgerVouch,
    reason: &str,
    key: Option<&Path>,
) -> Result<SignedContinuity, CommandError> {
    let key = OperatorKey::choose_key(context, key)?;
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let people = People::read_lists(&context.config.records)?;
    let standing = people.judge_signing_now(key.key(), ContinuitySchema::NAMESPACE, now);
    if standing != SignerStanding::Allowed {
        return Err(not_allowed(&key.fingerprint(), standing));
    }
    let record = harness::draft_continuity(harness, vouch, reason, key.fingerprint(), now)?;
    let document = canonical_text(&record)?;
    let signature = key.sign_bytes(document.as_bytes(), ContinuitySchema::NAMESPACE)?;
    Ok(SignedContinuity { document, signature })
}

/// Makes nothing where nothing was ever recorded.
fn rebuild(context: &Context) -> Result<u8, CommandError> {
    let home = context.home_as_it_is()?.filter(Home::has_ledger);
    let Some(home) = home else {
        return Err(CommandError::blocked_with("nothing was recorded yet").hint("cto run r1-string-slugify"));
    };
    let made = home.ledger()?.rebuild_rows();
    let made = made.map_err(|error| CommandError::blocked_with(error).hint("cto ledger verify"))?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({"requests": made.requests, "runs": made.runs, "status": "rebuilt"}))?;
    } else {
        output.print(&format!("rebuilt runs={} requests={}\n", made.runs, made.requests));
    }
    Ok(0)
}

/// Copies the ledger; the configuration is the operator's to change.
fn migrate(context: &Context, to: &str) -> Result<u8, CommandError> {
    let place = context.config.store.place_of(to)?;
    let home = context.home_as_it_is()?.filter(Home::has_ledger);
    let Some(home) = home else {
        return Err(CommandError::blocked_with("nothing was recorded yet").hint("cto run r1-string-slugify"));
    };
    if home.ledger_place() == &place {
        return Err(CommandError::usage(format!("the ledger is at {place} already")).hint("name another place"));
    }
    let target = Ledger::open_place(&place, &|_| {}).map_err(harness::OpenHomeError::Ledger)?;
    let moved = home.ledger()?.move_to(&target)?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({
            "entries": moved.head.seq,
            "head": moved.head,
            "ledger_id": moved.ledger_id,
            "requests": moved.requests,
            "runs": moved.runs,
            "status": "migrated",
            "to": place.to_string(),
        }))?;
    } else {
        let (seq, hash) = (moved.head.seq, moved.head.hash);
        output.print(&format!(
            "migrated entries={seq} runs={} requests={} head={hash} to={place}\n\
             next  put `store: {{url: {}}}` into your config.yaml; do not use the old ledger again\n",
            moved.runs,
            moved.requests,
            show_controls(to)
        ));
    }
    Ok(0)
}

impl From<MoveLedgerError> for CommandError {
    fn from(error: MoveLedgerError) -> Self {
        let hint = match &error {
            MoveLedgerError::NotEmpty { .. } => "name a place without a ledger",
            MoveLedgerError::RunsGoOn { .. } => "wait for them, or: cto recover",
            MoveLedgerError::Broken(_) => "cto ledger verify",
            _ => "fix what is named, then run the command again",
        };
        Self::blocked_with(&error).hint(hint)
    }
}

impl From<harness::ContinueLedgerError> for CommandError {
    fn from(error: harness::ContinueLedgerError) -> Self {
        match error {
            harness::ContinueLedgerError::Append(AppendEntryError::TimeNotAhead { .. }) => {
                Self::blocked_with(&error).hint("nothing to do: approvals are judged by the clock")
            }
            _ => Self::blocked_with(&error).hint("fix what is named, then run the command again"),
        }
    }
}

fn verify(context: &Context, scope: AuditScope) -> Result<u8, CommandError> {
    let output = context.output;
    // A ledger that may be damaged is no ground to seal anything on, and a check changes nothing.
    let home = context.home_as_it_is()?;
    let audit = match &home {
        Some(home) => harness::audit(home, scope)?,
        None => None,
    };
    let Some(audit) = audit else {
        match output.json {
            true => output.print_json(&json!({"entries": 0, "head": null, "ok": true, "problems": []}))?,
            false => output.print("pass entries=0 nothing was recorded yet\n"),
        }
        return Ok(0);
    };
    let holds = audit.problems.is_empty();
    if output.json {
        let mut document = json!({
            "bundles": audit.bundles,
            "entries": audit.entries,
            "head": audit.head,
            "ledger_id": audit.ledger_id,
            "ok": holds,
            "problems": audit.problems,
        });
        if let Some(ObjectsAudit { bundles, absent, witnesses }) = audit.objects {
            document["objects"] = json!({"absent": absent, "bundles": bundles, "witnesses": witnesses});
        }
        output.print_json(&document)?;
        return Ok(u8::from(!holds));
    }
    let status = if holds { Status::Pass } else { Status::Fail };
    let (entries, bundles, head) = (audit.entries, audit.bundles, &audit.head);
    let mut text = match output.terminal {
        true => format!(
            "{}  {}, {} compared\n\n  head       {} {}\n",
            output.paint.paint_status(status),
            count_text(usize::try_from(entries).unwrap_or(usize::MAX), "entry", "entries"),
            count_text(bundles, "bundle", "bundles"),
            head.seq,
            head.hash
        ),
        false => format!("{status} entries={entries} bundles={bundles} seq={} head={}\n", head.seq, head.hash),
    };
    if let Some(ObjectsAudit { bundles, absent, witnesses }) = audit.objects {
        text.push_str(&match output.terminal {
            true => format!("  objects    {bundles} whole, {absent} not in the store; witnesses {witnesses}\n"),
            false => format!("objects bundles={bundles} absent={absent} witnesses={witnesses}\n"),
        });
    }
    for problem in &audit.problems {
        let what = show_controls(&problem.what);
        match output.terminal {
            true => text.push_str(&format!("  entry {:<6} {}\n", problem.seq, output.paint.like(Status::Fail, &what))),
            false => text.push_str(&format!("problem seq={} {what}\n", problem.seq)),
        }
    }
    output.print(&text);
    Ok(u8::from(!holds))
}

impl From<AuditLedgerError> for CommandError {
    fn from(error: AuditLedgerError) -> Self {
        match error {
            AuditLedgerError::Home(error) => error.into(),
            AuditLedgerError::Ledger(error) => error.into(),
            AuditLedgerError::Store(ref unread) => Self::blocked_with(&error).hint(unread.remedy()),
            other => Self::blocked_with(other).hint("cto doctor"),
        }
    }
}
