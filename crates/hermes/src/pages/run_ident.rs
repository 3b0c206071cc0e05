//! The identity strip of a run: the same six cells in every state.

use contract::text::show_controls;

use crate::source::RunFacts;

/// One cell of the strip.
pub(super) struct IdentField {
    pub(super) label: &'static str,
    pub(super) main: String,
    pub(super) subs: Vec<String>,
}

/// Cells of the identity strip. A run without a report gets the same cells with less in
/// them.
pub(super) fn ident_of(facts: &RunFacts) -> Vec<IdentField> {
    let Some(report) = &facts.report else { return bare_ident(facts) };
    let model = report.model.as_ref();
    vec![
        IdentField {
            label: "Contract",
            main: show_controls(&report.title),
            subs: vec![short(&report.contract_digest.to_string())],
        },
        IdentField {
            label: "Engine",
            main: show_controls(&report.engine.id),
            subs: vec![show_controls(&report.engine.source_id), short(&report.engine.executable_sha256.to_string())],
        },
        IdentField {
            label: "Model, from the wire",
            main: model
                .and_then(|model| model.requested.as_ref())
                .map_or("none".to_owned(), |pair| show_controls(&pair.to_string())),
            subs: model
                .map(|model| format!("{} of {} answered", model.used.answered, model.used.requests))
                .into_iter()
                .collect(),
        },
        IdentField {
            label: "Sandbox, measured",
            main: report.sandbox.profile.to_string(),
            subs: vec![format!("asked for {}", report.sandbox.asked)],
        },
        IdentField {
            label: "Approval",
            main: format!("{:?}", report.approval_status).to_lowercase().replace("notrequired", "not required"),
            subs: vec![show_controls(&report.allowed_mutation_scope)],
        },
        IdentField {
            label: "Signature",
            main: if facts.signer.is_some() { "valid".to_owned() } else { "unknown".to_owned() },
            subs: facts.signer.iter().map(|signer| short(signer)).collect(),
        },
    ]
}

/// The same cells of a run without a report.
fn bare_ident(facts: &RunFacts) -> Vec<IdentField> {
    let none = || "not yet".to_owned();
    let cell = |label, main: String| IdentField { label, main, subs: Vec::new() };
    vec![
        cell("Contract", facts.row.task_id.to_string()),
        cell("Engine", show_controls(&facts.row.engine)),
        cell("Model, from the wire", none()),
        cell("Sandbox, measured", none()),
        cell("Approval", none()),
        cell("Signature", none()),
    ]
}

fn short(digest: &str) -> String {
    show_controls(digest).chars().take(16).collect()
}
