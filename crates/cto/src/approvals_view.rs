//! Parts that the commands around approvals share: the request that is meant, keys, signing
//! and recording, and words for people.

use std::path::Path;

use contract::Stamp;
use contract::approval::{Plan, approval_sentence, differences};
use contract::text::show_controls;
use harness::{Harness, OpenRequestError, OpenedRequest, People, SignedStep, open_request, record_decision};
use ledger::{Ledger, Position, RequestStep};
use serde::Serialize;
use serde_json::json;
use views::{FindRequestError, RequestRecord, find_approved_before};

use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::output::Output;
use crate::signing::OperatorKey;

/// Requests among which a mistyped name is looked for.
const MOST_NAMED_REQUESTS: usize = 1000;
/// Fields of a plan that always differ, or that another field tells better.
const NOT_TOLD: &[&str] = &["/nonce", "/contract_digest"];

/// Words of the mark that lists and runs carry after an emergency approval.
pub(crate) const PAST_POLICY: &str = "past the policy";

/// The request that a person means, and a harness to decide on it with.
pub(crate) struct Deciding {
    pub(crate) harness: Harness,
    pub(crate) opened: OpenedRequest,
    pub(crate) people: People,
    pub(crate) key: OperatorKey,
}

impl Deciding {
    /// Opens a request and the key to decide on it with. A key that may not is refused
    /// before anybody types anything.
    pub(crate) fn open_request(
        context: &Context,
        reference: &str,
        key: Option<&Path>,
        step: RequestStep,
    ) -> Result<Self, CommandError> {
        let harness = context.harness()?;
        let opened = find_opened(context, reference)?;
        opened.refuse_step(step)?;
        let key = OperatorKey::choose_key(context, key)?;
        let people = People::read_lists(&context.config.records)?;
        let standing = people.judge_signing_now(key.key(), contract::approval::ApprovalSchema::NAMESPACE, opened.now);
        if standing != contract::signer::SignerStanding::Allowed {
            return Err(not_allowed(&key.fingerprint(), standing));
        }
        Ok(Self { harness, opened, people, key })
    }

    /// Signs a document and records it. Gives its place in the ledger.
    pub(crate) fn record_document(
        &self,
        step: RequestStep,
        document: &impl Serialize,
        break_glass: bool,
    ) -> Result<Position, CommandError> {
        self.record_if(step, document, break_glass, &|| true)
    }

    /// The same, if the person who asked may still decide once the signature is made: a key
    /// that waits to be touched takes its time.
    pub(crate) fn record_if(
        &self,
        step: RequestStep,
        document: &impl Serialize,
        break_glass: bool,
        may_still: &dyn Fn() -> bool,
    ) -> Result<Position, CommandError> {
        let bytes = contract::canonical_bytes(document)?;
        let armour = self.key.sign_bytes(&bytes, contract::approval::ApprovalSchema::NAMESPACE)?;
        if !may_still() {
            let text = "the session ended before the signature was made; nothing was recorded";
            return Err(CommandError::blocked_with(text).hint("log in again"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let fingerprint = self.key.fingerprint();
        let signed = SignedStep {
            step,
            text: &text,
            armour: &armour,
            key_fingerprint: &fingerprint,
            break_glass,
            unprotected: self.key.is_unprotected(),
        };
        Ok(record_decision(&self.harness, &self.opened, &signed)?)
    }

    /// The person who signs, by name where one is known.
    pub(crate) fn signer(&self) -> String {
        self.people.name_of(self.key.key()).unwrap_or_else(|| self.key.fingerprint())
    }

    /// Name of the request, such as `req-3`.
    pub(crate) fn request(&self) -> String {
        self.opened.record.name()
    }
}

/// The refusal of a key that may not decide.
pub(crate) fn not_allowed(fingerprint: &str, standing: contract::signer::SignerStanding) -> CommandError {
    CommandError::blocked_with(format!("{fingerprint} {}", standing.sentence()))
        .hint("cto trust key add KEY.pub --name NAME")
}

/// Opens a request with nothing done to the home.
pub(crate) fn find_opened(context: &Context, reference: &str) -> Result<OpenedRequest, CommandError> {
    let ledger = ledger_to_read(context)?;
    let ledger = ledger.ok_or_else(|| no_request(reference, &[]))?;
    open_request(&ledger, &context.config.records, reference).map_err(|error| match error {
        OpenRequestError::Find(FindRequestError::Unknown(_)) => no_request(reference, &request_names(&ledger)),
        error => error.into(),
    })
}

/// Names of the newest requests; none if they cannot be read.
pub(crate) fn request_names(ledger: &Ledger) -> Vec<String> {
    let rows = ledger.requests_recent(None, MOST_NAMED_REQUESTS).unwrap_or_default();
    rows.iter().map(|row| format!("req-{}", row.seq)).collect()
}

/// Ledger for reading; none if the home or the ledger does not exist yet.
pub(crate) fn ledger_to_read(context: &Context) -> Result<Option<Ledger>, CommandError> {
    Ok(match context.home_as_it_is()? {
        Some(home) => home.ledger_to_read()?,
        None => None,
    })
}

fn no_request(reference: &str, known: &[String]) -> CommandError {
    let meant = did_you_mean(reference, known.iter().map(String::as_str));
    CommandError::usage(format!("no request matches `{}`{meant}", show_controls(reference))).hint("cto approvals")
}

/// Fields that are new since the last approval of the same task, with the request that was
/// approved.
pub(crate) fn find_news(
    ledger: &Ledger,
    record: &RequestRecord,
) -> Result<Option<(String, Vec<String>)>, CommandError> {
    let Some(request) = &record.request else { return Ok(None) };
    let Some(earlier) = find_approved_before(ledger, record)? else { return Ok(None) };
    let Some(approved) = &earlier.request else { return Ok(None) };
    let told = differences(&approved.plan, &request.plan)?;
    let told = told.into_iter().filter(|one| !NOT_TOLD.contains(&one.field.as_str()));
    Ok(Some((earlier.name(), told.map(|one| one.to_string()).collect())))
}

/// One line that says which work a request is about.
pub(crate) fn headline(plan: &Plan) -> String {
    let head = plan.repository.head_commit.get(..7).unwrap_or(&plan.repository.head_commit);
    format!(
        "{}  {}  against {} at {head}",
        plan.work_name(),
        show_controls(&plan.contract.title),
        show_controls(&plan.repository.name)
    )
}

/// The command that runs what a request asked for.
pub(crate) fn run_command(record: &RequestRecord) -> Option<String> {
    record.command.as_ref().map(|command| command.replacen("cto request", "cto run", 1))
}

/// `3 min`, `2 h`, `4 d`: the larger unit alone.
pub(crate) fn age_text(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Seconds from now until then; 0 if that is past.
pub(crate) fn seconds_until(now: Stamp, then: Stamp) -> u64 {
    u64::try_from(then.unix_seconds() - now.unix_seconds()).unwrap_or(0)
}

/// The outcome of a denial, a hold or a revocation.
pub(crate) struct RecordedDecision<'a> {
    /// `denied`, `held`, `released` or `revoked`.
    pub(crate) word: &'a str,
    pub(crate) deciding: &'a Deciding,
    pub(crate) reason: &'a str,
    pub(crate) entry: Position,
    pub(crate) next: &'a str,
}

impl RecordedDecision<'_> {
    /// Prints the recorded decision and the next command.
    pub(crate) fn show_decision(&self, output: Output) -> Result<(), CommandError> {
        let Self { word, deciding, reason, entry, next } = self;
        let (name, digest) = (deciding.request(), deciding.opened.request.request_digest);
        let (signer, key) = (deciding.signer(), deciding.key.fingerprint());
        if output.json {
            return output.print_json(&json!({
                "actor": signer, "entry": entry.seq, "key": key, "reason": reason, "request": name,
                "request_digest": digest, "status": word,
            }));
        }
        if !output.terminal {
            output.print(&format!(
                "{word} {name}\nrequest_digest {digest}\nactor {}\nkey {key}\nreason {}\nnext {next}\n",
                show_controls(&signer),
                show_controls(reason)
            ));
            return Ok(());
        }
        let paint = output.paint;
        let first = paint.like(contract::Status::Blocked, word);
        output.print(&format!("{first}  {name}  {}\n\n", headline(&deciding.opened.request.plan)));
        output.print(&format!("  {} {} {key}\n", paint.dim("by        "), show_controls(&signer)));
        output.print(&format!("  {} {}\n", paint.dim("reason    "), show_controls(reason)));
        output.print(&format!("\n{}  {}\n", paint.dim("next"), paint.command(next)));
        Ok(())
    }
}

/// A reason that is part of what is signed: one line, not empty.
pub(crate) fn check_reason(reason: &str) -> Result<&str, CommandError> {
    let reason = reason.trim();
    let fits = !reason.is_empty() && reason.len() <= 2000 && !reason.contains(['\n', '\r']);
    fits.then_some(reason)
        .ok_or_else(|| CommandError::usage("the reason is empty, too long, or has more than one line").hint("say why"))
}

/// The sentence of a request, for hints.
pub(crate) fn sentence_of(opened: &OpenedRequest) -> String {
    approval_sentence(&opened.request.plan)
}
