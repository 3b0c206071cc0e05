//! The packet: the text that a person reads before approving. It is a function of the plan
//! alone, without clock or ledger, so that every reader of the same plan sees the same
//! text. Its digest is part of the signed bytes.
//!
//! Status, missing gates, news and use are shown around the packet and are no part of it.

mod marks;

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Plan, PlannedRecord, RepositoryKind, approval_sentence};
use crate::digest::Digest;
use crate::task::{Command, ForbiddenAction};
use crate::text::show_controls;

pub use marks::{MARK_RULES, MarkKind, MarkRule, PlannedMark, find_marks};

/// Version of the text. Another version is another text of the same plan.
pub const PACKET_RENDERER_VERSION: &str = "1";

/// State of a packet, shown outside of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketStatus {
    /// Something is missing, which is named.
    NotReady,
    ProofReady,
    ConsumedByPassEvidence,
}

/// Columns before the text of a labelled line.
const LABEL: usize = 13;
/// Characters after which a list goes on in the next line.
const WIDTH: usize = 96;

/// Makes the text of a plan.
pub fn render_packet(plan: &Plan) -> Result<String, serde_json::Error> {
    Ok(render_packet_of(plan, plan.digest()?))
}

/// Makes the text of a plan whose digest the caller has computed.
pub fn render_packet_of(plan: &Plan, request_digest: Digest) -> String {
    let mut text = Text::default();
    text.line(&format!("{}  {}", plan.work_name(), without_gaps(&show_controls(&plan.contract.title))));
    text.line("a packet is read, never executed");
    text.labelled("request", &[request_digest.to_string()]);
    text.labelled("asked by", &[show_controls(&plan.requester_fingerprint)]);
    add_run(&mut text, plan);
    add_repository(&mut text, plan);
    add_scope(&mut text, plan);
    add_records(&mut text, plan);
    add_end(&mut text, plan);
    text.heading("to approve, type exactly");
    text.line(&format!("  {}", approval_sentence(plan)));
    text.0
}

fn add_run(text: &mut Text, plan: &Plan) {
    let (engine, contract) = (&plan.engine, &plan.contract);
    text.heading("would run");
    text.labelled("task", &[contract.task_id.to_string()]);
    text.labelled("contract", &[plan.contract_digest.to_string()]);
    text.labelled("engine", &[format!("{}, files {}", show_controls(&engine.source_id), engine.tree_sha256)]);
    if let Some(continues) = &plan.continues {
        text.labelled("goes on from", &[format!("{}, patch {}", continues.run_id, continues.patch_sha256)]);
    }
    text.labelled("command", &[show_controls(&shell_words::join(&engine.argv_template))]);
    text.labelled(
        "model",
        &[plan.model.as_ref().map_or_else(|| "none".to_owned(), |pair| show_controls(&pair.to_string()))],
    );
    text.labelled("mode", &[format!("{}, stage {}", plan.mutation_mode, plan.stage)]);
    let mounts = plan.sandbox.mounts.iter().map(|mount| show_controls(&mount.target)).collect::<Vec<_>>();
    text.labelled("sandbox", &[plan.sandbox.profile.to_string()]);
    text.labelled("mounts", &mounts);
    let commands = contract.verification_commands.iter().map(command_text).collect::<Vec<_>>();
    text.labelled("validation", &commands);
    text.labelled("limits", &[limits_text(plan)]);
}

fn command_text(command: &Command) -> String {
    format!("{}   limit {} s", show_controls(&shell_words::join(&command.argv)), command.timeout_seconds)
}

fn limits_text(plan: &Plan) -> String {
    let limits = &plan.limits;
    let mut parts = vec![
        format!("{} s", limits.wall_seconds),
        format!("{} MiB of memory", limits.memory_bytes >> 20),
        format!("{} processes", limits.processes),
        format!("{} MiB of disk", limits.disk_bytes >> 20),
    ];
    parts.extend(limits.model_requests.map(|number| format!("{number} model requests")));
    parts.extend(limits.model_tokens.map(|number| format!("{number} tokens")));
    parts.extend(limits.money_micros.map(|micros| format!("money {}.{:06}", micros / 1_000_000, micros % 1_000_000)));
    parts.join(", ")
}

fn add_repository(text: &mut Text, plan: &Plan) {
    let repository = &plan.repository;
    let kind = match repository.kind {
        RepositoryKind::Disposable => "disposable, made for the run",
        RepositoryKind::Admitted => "admitted",
    };
    text.heading("would change");
    text.labelled("target", &[format!("{} ({kind})", show_controls(&repository.name))]);
    text.labelled("path", &repository.path.iter().map(|path| show_controls(path)).collect::<Vec<_>>());
    text.labelled("owner", &[show_controls(&repository.owner)]);
    text.labelled("risk", &[show_controls(&repository.risk_classification)]);
    let state = if repository.clean { "clean" } else { "not clean" };
    let branch = repository.checked_out.as_deref().map_or_else(|| "no branch".to_owned(), show_controls);
    text.labelled("state", &[format!("{state}, on {branch}")]);
    text.labelled(
        "HEAD",
        &[format!("{}, tree {}", show_controls(&repository.head_commit), show_controls(&repository.head_tree))],
    );
    text.labelled("branch", &[show_controls(&plan.branch.name)]);
}

fn add_scope(text: &mut Text, plan: &Plan) {
    let (contract, repository) = (&plan.contract, &plan.repository);
    text.heading("may change");
    text.items(&contract.allowed_paths);
    if !repository.allowed_paths.is_empty() {
        text.heading("and of these only what the target admission allows");
        text.items(&repository.allowed_paths);
    }
    text.heading("must not change");
    let more = repository.forbidden_paths.iter().filter(|glob| !contract.forbidden_paths.contains(glob));
    text.items(&contract.forbidden_paths.iter().chain(more).collect::<Vec<_>>());
    if !plan.marks.is_empty() {
        text.heading("look twice: these may change too");
        for mark in &plan.marks {
            let there = if mark.files == 0 { String::new() } else { format!(" ({} there)", mark.files) };
            text.line(&format!("  {:<13}{:<30}{}{there}", mark.kind.as_str(), mark.what, show_controls(&mark.example)));
        }
    }
    if !contract.secret_allowances.is_empty() {
        text.heading("may look like a secret");
        for allowance in &contract.secret_allowances {
            let (path, rule, reason) =
                (show_controls(&allowance.path), show_controls(&allowance.rule), show_controls(&allowance.reason));
            let reason = without_gaps(&reason);
            text.line(&format!("  {path}  {rule}  {}  {reason}", allowance.value_sha256));
        }
    }
    text.heading("stays blocked, also after you approve");
    text.items(&ForbiddenAction::ALL.iter().map(|action| action.as_str()).collect::<Vec<_>>());
    text.line("  a second run with this approval; any other HEAD, build, record, setting or model; making an engine a default");
}

fn add_records(text: &mut Text, plan: &Plan) {
    text.heading("rests on");
    for record in &plan.records {
        add_record(text, record);
    }
    for pointer in &plan.evidence {
        text.labelled("evidence", &[format!("{}  {}", show_controls(&pointer.path), pointer.sha256)]);
    }
    let (harness, policy) = (&plan.harness, plan.policy_digest);
    text.labelled(
        "harness",
        &[format!("{}, executable {}", show_controls(&harness.version), harness.executable_sha256)],
    );
    text.labelled(
        "settings",
        &plan
            .settings
            .iter()
            .map(|setting| {
                format!(
                    "{} = {}   from {}",
                    show_controls(&setting.name),
                    show_controls(&setting.value),
                    show_controls(&setting.source)
                )
            })
            .collect::<Vec<_>>(),
    );
    text.labelled("policy", &[policy.to_string()]);
    text.labelled("ledger", &[format!("{}, instance {}", show_controls(&plan.ledger_id), plan.instance_id)]);
}

fn add_record(text: &mut Text, record: &PlannedRecord) {
    let signed = record
        .signed_by
        .as_deref()
        .map_or_else(|| "not signed".to_owned(), |key| format!("signed by {}", show_controls(key)));
    text.line(&format!(
        "  {}  {}  {}, {signed}",
        record.kind.as_str(),
        show_controls(&record.file),
        show_controls(&record.status)
    ));
    text.line(&format!("    {}", record.sha256));
    text.line(&format!(
        "    approved by {}; look again: {}",
        without_gaps(&show_controls(&record.approval_source)),
        without_gaps(&show_controls(&record.review_trigger))
    ));
}

fn add_end(text: &mut Text, plan: &Plan) {
    let contract = &plan.contract;
    text.heading("afterwards");
    text.labelled(
        "success",
        &contract.success_criteria.iter().map(|sentence| show_controls(sentence)).collect::<Vec<_>>(),
    );
    let undo = match plan.repository.kind {
        RepositoryKind::Disposable => "the repository is temporary",
        RepositoryKind::Admitted => "cto rollback RUN takes the one commit back",
    };
    let expectation = contract.rollback_expectation.iter().map(|sentence| show_controls(sentence));
    text.labelled("rollback", &std::iter::once(undo.to_owned()).chain(expectation).collect::<Vec<_>>());
    let expected = contract.evidence_expectations.iter().map(|name| show_controls(name));
    let always = std::iter::once("a sealed bundle that verifies".to_owned());
    text.labelled("evidence", &always.chain(expected).collect::<Vec<_>>());
    if plan.repository.kind == RepositoryKind::Admitted {
        text.labelled("outcome", &["the run counts once you accept it: cto outcome RUN accept".to_owned()]);
    }
}

/// Sign for a space that would otherwise not be seen.
const SPACE: &str = "\u{2420}";
/// One space more than the packet itself puts between the parts of a line.
const LONG_GAP: &str = "    ";

/// A value whose long gaps are shown: spaces that fill the rest of a terminal's line would
/// make the text behind them look like a line of the packet.
fn without_gaps(value: &str) -> Cow<'_, str> {
    // Nearly no value has a gap.
    if !value.contains(LONG_GAP) {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(start) = rest.find(' ') {
        let gap = rest[start..].bytes().take_while(|byte| *byte == b' ').count();
        text.push_str(&rest[..start]);
        let sign = if gap >= LONG_GAP.len() { SPACE } else { " " };
        text.push_str(&sign.repeat(gap));
        rest = &rest[start + gap..];
    }
    Cow::Owned(text + rest)
}

/// Text that grows by lines.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        let start = self.0.len();
        self.0.push_str(line);
        self.end_line(start);
    }

    /// Ends the line that begins at `start`, without spaces at its end.
    fn end_line(&mut self, start: usize) {
        let kept = self.0[start..].trim_end().len();
        self.0.truncate(start + kept);
        self.0.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        self.line("");
        self.line(heading);
    }

    /// One value a line, the first behind its label; nothing where there is no value.
    fn labelled(&mut self, label: &str, values: &[String]) {
        for (index, value) in values.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let start = self.0.len();
            // Writing to a String cannot fail.
            let _ = write!(self.0, "  {label:<LABEL$}");
            self.0.push_str(&without_gaps(value));
            self.end_line(start);
        }
    }

    /// Names side by side, as many as a line holds.
    fn items(&mut self, items: &[impl AsRef<str>]) {
        let (mut start, mut width) = (self.0.len(), 0);
        for item in items {
            // A space inside of a name is shown: two names must not look like three, nor
            // one like two.
            let item = show_controls(item.as_ref()).replace(' ', SPACE);
            let own = item.chars().count();
            if width > 0 && width + own > WIDTH {
                self.end_line(start);
                (start, width) = (self.0.len(), 0);
            }
            self.0.push_str("  ");
            self.0.push_str(&item);
            width += 2 + own;
        }
        if items.is_empty() {
            self.0.push_str("  nothing");
        }
        self.end_line(start);
    }
}
