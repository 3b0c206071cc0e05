//! `cto trust worker add|remove|list`: machines whose evidence counts on a shared ledger, by records that a person signs.

use std::path::Path;

use contract::approval::WorkerSchema;
use contract::signer::SignerStanding;
use contract::text::show_controls;
use contract::worker::{WorkerAct, WorkerRecord};
use contract::{Stamp, Status, canonical_text};
use evidence::PublicKey;
use harness::{Home, People};
use ledger::{EntryKind, Ledger};
use serde_json::{Value, json};
use views::{WorkerKey, WorkerKeys};

use super::find_key::read_key;
use super::{now, tell};
use crate::approvals_view::not_allowed;
use crate::context::Context;
use crate::error::CommandError;
use crate::seek::read_workers;
use crate::signing::OperatorKey;

/// Shorter beginnings of a fingerprint are mistyped rather than meant.
const SHORTEST_PREFIX: usize = 4;
const PREFIX: &str = "SHA256:";

/// Flags of `trust worker add`.
#[derive(Debug)]
pub(super) struct AskedWorker<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) role: Option<&'a str>,
}

/// Admits the key of a machine.
pub(super) fn add_worker(
    context: &Context,
    named: &str,
    asked: &AskedWorker<'_>,
    key: Option<&Path>,
) -> Result<u8, CommandError> {
    let (worker, comment) = read_key(named)?;
    let line = worker.openssh_line().and_then(|line| PublicKey::parse_line(&line));
    let worker = line.ok_or_else(|| {
        CommandError::usage("a worker signs with an ed25519 key").hint("name keys/harness.pub of the machine's home")
    })?;
    let name = asked.name.unwrap_or(&comment);
    let is_word =
        |text: &str| !text.is_empty() && text.len() <= 63 && !text.contains(|letter: char| letter.is_control());
    if !is_word(name) || asked.role.is_some_and(|role| !is_word(role)) {
        return Err(CommandError::usage("a name and a role have 1 to 63 characters").hint("--name machine7"));
    }
    let key_id = worker.key_id();
    let known = read_workers(context)?;
    if known.admitted_keys().any(|known| *known == worker) {
        return tell(context, &format!("admitted already {key_id}"), || json!({"changed": false, "key_id": key_id}));
    }
    if known.workers().iter().any(|other| other.removed_seq.is_none() && other.record.name == name) {
        let text = format!("another worker is called {}", show_controls(name));
        return Err(CommandError::usage(text).hint("choose another with --name"));
    }
    let draft = Draft { act: WorkerAct::Admitted, name, key: &worker.openssh(name), key_id: &key_id, role: asked.role };
    record(context, &draft, key)?;
    tell(
        context,
        &format!("admitted {key_id} {}", show_controls(name)),
        || json!({"changed": true, "key_id": key_id, "name": name, "role": asked.role}),
    )
}

/// Removes a machine.
pub(super) fn remove_worker(context: &Context, named: &str, key: Option<&Path>) -> Result<u8, CommandError> {
    let known = read_workers(context)?;
    let worker = find_worker(&known, named)?;
    let WorkerRecord { name, key: line, key_id, role, .. } = &worker.record;
    let draft = Draft { act: WorkerAct::Removed, name, key: line, key_id, role: role.as_deref() };
    record(context, &draft, key)?;
    tell(
        context,
        &format!("removed {key_id} {}", show_controls(name)),
        || json!({"changed": true, "key_id": key_id, "name": name, "role": role}),
    )
}

/// An admitted worker by the beginning of its fingerprint, its name or a file of its key.
fn find_worker<'a>(known: &'a WorkerKeys, named: &str) -> Result<&'a WorkerKey, CommandError> {
    let digits = named.strip_prefix(PREFIX).unwrap_or(named);
    let in_file = read_key(named).ok().map(|(key, _)| key.fingerprint());
    let is_meant = |worker: &&WorkerKey| {
        let id = worker.record.key_id.as_str();
        let begins = digits.len() >= SHORTEST_PREFIX && id[PREFIX.len()..].starts_with(digits);
        worker.removed_seq.is_none() && (begins || worker.record.name == named || in_file.as_deref() == Some(id))
    };
    let found: Vec<&WorkerKey> = known.workers().iter().filter(is_meant).collect();
    match found.as_slice() {
        [worker] => Ok(worker),
        [] => {
            Err(CommandError::usage(format!("no worker is called {}", show_controls(named)))
                .hint("cto trust worker list"))
        }
        many => Err(CommandError::usage(format!("{} workers are called {}", many.len(), show_controls(named)))
            .hint("use more of the fingerprint")),
    }
}

/// Words of a record before a person has signed it.
struct Draft<'a> {
    act: WorkerAct,
    name: &'a str,
    key: &'a str,
    key_id: &'a str,
    role: Option<&'a str>,
}

/// Signs a record and appends it to the ledger.
fn record(context: &Context, draft: &Draft<'_>, key: Option<&Path>) -> Result<(), CommandError> {
    let home = Home::create_folders(&context.config.place())?;
    if !home.shares_ledger() {
        let text = "this ledger is of one home, which has no workers to tell apart";
        return Err(
            CommandError::blocked_with(text).hint("put the ledger on a server first: cto ledger migrate --to URL")
        );
    }
    let ledger = home.ledger()?;
    let at = recorded_at(&ledger)?;
    let key = OperatorKey::choose_key(context, key)?;
    let standing =
        People::read_lists(&context.config.records)?.judge_signing_now(key.key(), WorkerSchema::NAMESPACE, at);
    if standing != SignerStanding::Allowed {
        return Err(not_allowed(&key.fingerprint(), standing));
    }
    let record = WorkerRecord {
        schema: WorkerSchema::V1,
        act: draft.act,
        ledger_id: ledger.ledger_id().to_owned(),
        name: draft.name.to_owned(),
        key: draft.key.to_owned(),
        key_id: draft.key_id.to_owned(),
        role: draft.role.map(str::to_owned),
        key_fingerprint: key.fingerprint(),
        recorded_at: at,
    };
    let document = canonical_text(&record)?;
    let signature = key.sign_bytes(document.as_bytes(), WorkerSchema::NAMESPACE)?;
    let kind = match draft.act {
        WorkerAct::Admitted => EntryKind::WorkerAdmitted,
        WorkerAct::Removed => EntryKind::WorkerRemoved,
    };
    let body = json!({
        "document": document, "key_id": draft.key_id, "name": draft.name, "role": draft.role, "signature": signature,
    });
    ledger
        .append(kind, None, at, &body)
        .map(drop)
        .map_err(|error| CommandError::blocked_with(&error).hint("cto trust worker list     what the ledger has"))
}

/// The time now, or just after the ledger's last entry where a clock is behind that.
fn recorded_at(ledger: &Ledger) -> Result<Stamp, CommandError> {
    let clock = now()?;
    Ok(ledger.latest_time()?.map_or(clock, |latest| latest.max(clock)))
}

/// Lists machines, and entries whose record does not count here.
pub(super) fn list_workers(context: &Context) -> Result<u8, CommandError> {
    let known = read_workers(context)?;
    let output = context.output;
    if output.json {
        let workers: Vec<Value> = known.workers().iter().map(describe).collect();
        output.print_json(&json!({"uncounted_entries": known.uncounted, "workers": workers}))?;
        return Ok(0);
    }
    if known.workers().is_empty() {
        output.print("no workers; cto trust worker add FILE\n");
    }
    for worker in known.workers() {
        let row = describe(worker);
        let text = |name: &str| show_controls(row[name].as_str().unwrap_or("-"));
        let good = if worker.removed_seq.is_none() { Status::Pass } else { Status::Blocked };
        let standing = output.paint.like(good, &format!("{:<9}", text("standing")));
        output.print(&format!("worker {standing} {} {} role={}\n", text("key_id"), text("name"), text("role")));
    }
    for seq in &known.uncounted {
        output.print(&format!("uncounted entry {seq}: its signer may sign no records here, or it changes nothing\n"));
    }
    Ok(0)
}

fn describe(worker: &WorkerKey) -> Value {
    let WorkerRecord { name, key_id, role, key_fingerprint, .. } = &worker.record;
    json!({
        "admitted_seq": worker.admitted_seq,
        "key_id": key_id,
        "name": name,
        "removed_seq": worker.removed_seq,
        "role": role,
        "signed_by": key_fingerprint,
        "standing": if worker.removed_seq.is_none() { "admitted" } else { "removed" },
    })
}
