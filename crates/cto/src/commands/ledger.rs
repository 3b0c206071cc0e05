//! `cto ledger verify`: the chain, and what it says of the bundles that are here.

use contract::Status;
use contract::text::shown;
use harness::AuditLedgerError;
use serde_json::json;

use crate::args::LedgerCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::count;

pub(crate) fn ledger(context: &Context, command: &LedgerCommand) -> Result<u8, CommandError> {
    match command {
        LedgerCommand::Verify => verify(context),
    }
}

fn verify(context: &Context) -> Result<u8, CommandError> {
    let output = context.output;
    // A ledger that may be damaged is no ground to seal anything on, and whoever checks one changes nothing.
    let home = context.home_as_it_is()?;
    let audit = match &home {
        Some(home) => harness::audit(home)?,
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
        output.print_json(&json!({
            "bundles": audit.bundles,
            "entries": audit.entries,
            "head": audit.head,
            "ledger_id": audit.ledger_id,
            "ok": holds,
            "problems": audit.problems,
        }))?;
        return Ok(u8::from(!holds));
    }
    let status = if holds { Status::Pass } else { Status::Fail };
    let (entries, bundles, head) = (audit.entries, audit.bundles, &audit.head);
    let mut text = match output.terminal {
        true => format!(
            "{}  {}, {} compared\n\n  head       {} {}\n",
            output.paint.status(status),
            count(usize::try_from(entries).unwrap_or(usize::MAX), "entry", "entries"),
            count(bundles, "bundle", "bundles"),
            head.seq,
            head.hash
        ),
        false => format!("{status} entries={entries} bundles={bundles} seq={} head={}\n", head.seq, head.hash),
    };
    for problem in &audit.problems {
        let what = shown(&problem.what);
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
            other => Self::blocked(other).hint("cto doctor"),
        }
    }
}
