//! `cto request`: puts the plan of a run up for approval. Nothing runs and nothing is allowed by it.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use contract::approval::RequestSchema;
use contract::text::show_controls;
use contract::{Decision, Purpose, Status};
use harness::{Ask, Harness, ProposeRequestError, ProposedRequest, Task, propose_request, record_request};
use serde_json::json;
use views::RequestRecord;

use crate::approvals_view::{age_text, headline};
use crate::args::RequestArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;
use crate::signing::OperatorKey;

/// Requester of a request that nobody signed.
const NOBODY: &str = "unsigned";

/// Records a request for the plan of a run.
pub(crate) fn request_approval(context: &Context, arguments: &RequestArgs) -> Result<u8, CommandError> {
    let RequestArgs { asked, timeout, key } = arguments;
    let task = context.load_asked(asked)?;
    let mut ask = context.build_ask(asked, &task, Purpose::Governed)?;
    ask.timeout_seconds = timeout.iter().copied().chain(ask.timeout_seconds).min();
    ask.request_command = asked.words("request", &task, ask.stage, *timeout);
    let harness = context.harness()?;
    match make_request(context, &harness, &task, &ask, key.as_deref())? {
        AskedRequest::Recorded(proposed, record) => {
            show(context.output, &proposed, &record)?;
            Ok(0)
        }
        AskedRequest::Refused(decision) => {
            refuse_request(context.output, &decision)?;
            Ok(3)
        }
    }
}

/// Result of asking.
pub(super) enum AskedRequest {
    Recorded(Box<ProposedRequest>, Box<RequestRecord>),
    Refused(Box<Decision>),
}

/// Makes the request of a run and records it, signed where there is a key to sign with.
pub(super) fn make_request(
    context: &Context,
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    key: Option<&Path>,
) -> Result<AskedRequest, CommandError> {
    let key = find_key(context, key)?;
    let requester = key.as_ref().map_or_else(|| NOBODY.to_owned(), OperatorKey::fingerprint);
    let scratch = tempfile::tempdir()?;
    let proposed = match propose_request(harness, task, ask, &requester, scratch.path()) {
        Ok(proposed) => proposed,
        Err(ProposeRequestError::Refused(decision)) => return Ok(AskedRequest::Refused(decision)),
        Err(error) => return Err(error.into()),
    };
    if key.is_none() && proposed.terms.separates_duties() {
        let text = "the policy separates duties, so the requester must sign, and there is no key";
        return Err(CommandError::blocked_with(text).hint("cto key init"));
    }
    let armour = match (&key, &proposed.existing) {
        (Some(key), None) => Some(key.sign_bytes(proposed.text.as_bytes(), RequestSchema::NAMESPACE)?),
        _ => None,
    };
    let record = record_request(harness, &proposed, armour.as_deref())?;
    Ok(AskedRequest::Recorded(Box::new(proposed), Box::new(record)))
}

/// The key of who asks; none where none is named and the home has none.
fn find_key(context: &Context, flag: Option<&Path>) -> Result<Option<OperatorKey>, CommandError> {
    let own = context.config.home.join("keys/operator");
    let is_named = flag.is_some() || context.config.signing_key.is_some();
    if !is_named && !own.exists() && !own.with_extension("pub").exists() {
        return Ok(None);
    }
    OperatorKey::choose_key(context, flag).map(Some)
}

fn show(output: Output, proposed: &ProposedRequest, record: &RequestRecord) -> Result<(), CommandError> {
    let (request, name) = (&proposed.request, record.name());
    let lapses_at = record.recorded_at.after(Duration::from_secs(proposed.terms.max_ttl));
    let signed = record.signature.as_ref().map(|signature| signature.fingerprint());
    let next = format!("cto approve {name}");
    if output.json {
        return output.print_json(&json!({
            "approval_granted": false, "approvals_required": proposed.terms.approvals_required,
            "blocked_actions": request.blocked_actions, "evidence_pointers": request.evidence_pointers,
            "execution_allowed": false, "lapses_at": lapses_at, "missing_gates": proposed.missing,
            "next_allowed_action": next, "packet_digest": request.packet_digest, "request": name,
            "request_digest": request.request_digest, "signed_by": signed, "status": "requested",
            "was_there": proposed.existing.is_some(),
        }));
    }
    let mut out = String::new();
    if output.terminal {
        let paint = output.paint;
        let word = if proposed.existing.is_some() { "requested before" } else { "requested" };
        let _ = writeln!(out, "{}  {name}  {}\n", paint.like(Status::Pass, word), headline(&request.plan));
        let mut fact = |label: &str, text: &str| {
            let _ = writeln!(out, "  {} {text}", paint.dim(&format!("{label:<10}")));
        };
        fact("request", &request.request_digest.to_string());
        fact("packet", &request.packet_digest.to_string());
        fact("signed", &signed.unwrap_or_else(|| "by nobody; there is no key (cto key init)".to_owned()));
        fact("good for", &age_text(proposed.terms.max_ttl));
        for refusal in &proposed.missing {
            fact("missing", &format!("{}  {}", refusal.gate, show_controls(&refusal.text)));
            fact("", &format!("{} {}", paint.arrow(), paint.command(&show_controls(&refusal.remedy))));
        }
        let _ = writeln!(out, "\n{}  {}", paint.dim("next"), paint.command(&format!("cto packet {name}")));
        let _ = writeln!(out, "      {}", paint.command(&next));
    } else {
        let _ = writeln!(out, "requested {name}{}", if proposed.existing.is_some() { " there-already" } else { "" });
        let _ = writeln!(out, "request_digest {}", request.request_digest);
        let _ = writeln!(out, "packet_digest {}", request.packet_digest);
        let _ = writeln!(out, "signed_by {}", signed.unwrap_or_else(|| "nobody".to_owned()));
        let _ = writeln!(out, "lapses_at {lapses_at}");
        for refusal in &proposed.missing {
            let (text, remedy) = (show_controls(&refusal.text), show_controls(&refusal.remedy));
            let _ = writeln!(out, "missing {} {} {text} fix: {remedy}", refusal.gate, refusal.reason);
        }
        let _ = writeln!(out, "next {next}");
    }
    output.print(&out);
    Ok(())
}

/// All problems of a request, each with its remedy.
pub(super) fn refuse_request(output: Output, decision: &Decision) -> Result<(), CommandError> {
    let against: Vec<_> = decision.refusals.iter().filter(|refusal| refusal.gate != contract::Gate::Approval).collect();
    if output.json {
        return output.print_json(&json!({
            "missing_gates": against, "status": Status::Blocked, "task_id": decision.task_id,
        }));
    }
    let paint = output.paint;
    let mut out = match output.terminal {
        true => format!("{}  {}  nothing was requested\n\n", paint.paint_status(Status::Blocked), decision.task_id),
        false => format!("blocked {}\n", decision.task_id),
    };
    for refusal in against {
        let (text, remedy) = (show_controls(&refusal.text), show_controls(&refusal.remedy));
        let _ = match output.terminal {
            true => writeln!(
                out,
                "  {} {:<30}  {text}\n    {:<30}  {} {}",
                paint.cross(),
                refusal.gate,
                "",
                paint.arrow(),
                paint.command(&remedy)
            ),
            false => writeln!(out, "missing {} {} {text} fix: {remedy}", refusal.gate, refusal.reason),
        };
    }
    output.print(&out);
    Ok(())
}
