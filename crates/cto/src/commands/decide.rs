//! `cto decide`: the Eligibility Decision, nothing run.

use std::fmt::Write as _;

use contract::text::shown;
use contract::{Decision, Purpose, Status, canonical_bytes};

use crate::args::Asked;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn decide(context: &Context, asked: &Asked) -> Result<u8, CommandError> {
    let task = context.load_task(&asked.task, asked.repo.as_deref())?;
    let ask = context.ask(asked, &task, Purpose::Governed)?;
    // A home of its own: asking leaves nothing behind, not even an empty home.
    let scratch = tempfile::tempdir()?;
    let harness = context.harness_at(&scratch.path().join("home"))?;
    let work = scratch.path().join("work");
    std::fs::create_dir(&work)?;
    let decision = harness::decide(&harness, &task, &ask, &work)?;
    let output = context.output;
    if output.json {
        output.print_json_bytes(&canonical_bytes(&decision)?);
    } else if output.terminal {
        output.print(&people(output, &decision));
    } else {
        output.print(&lines(&decision));
    }
    Ok(status(&decision).exit_code())
}

fn status(decision: &Decision) -> Status {
    if decision.is_eligible() { Status::Pass } else { Status::Blocked }
}

fn people(output: Output, decision: &Decision) -> String {
    let paint = output.paint;
    let status = status(decision);
    let tail = format!("{}  {}  up to: {}", decision.task_id, decision.inputs.engine, decision.allowed_mutation_mode);
    let width = status.as_str().len() + 2 + tail.chars().count();
    let right = format!("decision {}  nothing ran", decision.decision_id.short());
    let mut out = output.headline(&format!("{}  {tail}", paint.status(status)), width, &right);
    out.push_str("\n\n");
    for gate in &decision.required_gates {
        let refusals: Vec<_> = decision.refusals.iter().filter(|refusal| refusal.gate == *gate).collect();
        if decision.not_evaluated.contains(gate) {
            let _ = writeln!(out, "  - {gate:<30}  {}", paint.dim("not evaluated: a gate before it is missing"));
        } else if refusals.is_empty() {
            let _ = writeln!(out, "  {} {gate:<30}", paint.tick());
        }
        for refusal in refusals {
            let _ = writeln!(out, "  {} {gate:<30}  {}", paint.cross(), shown(&refusal.text));
            let _ = writeln!(out, "    {:<30}  {} {}", "", paint.arrow(), paint.command(&shown(&refusal.remedy)));
        }
    }
    let _ = writeln!(out, "\n  {}  {}", paint.dim("escalates to"), decision.escalation_path.as_str());
    if output.verbose {
        let _ = writeln!(out, "  {}      {}", paint.dim("exam set"), contract::exam::DEFAULT.join(" "));
    }
    out
}

fn lines(decision: &Decision) -> String {
    let backend = &decision.inputs.engine;
    let mut out = format!("{} {} {backend} {}\n", status(decision), decision.task_id, decision.allowed_mutation_mode);
    let join = |gates: &[contract::Gate]| gates.iter().map(|gate| gate.id()).collect::<Vec<_>>().join(",");
    let _ = writeln!(out, "passed {}", join(&decision.passed_gates));
    for refusal in &decision.refusals {
        let _ = writeln!(
            out,
            "missing {} {} {} fix: {}",
            refusal.gate,
            refusal.reason,
            shown(&refusal.text),
            shown(&refusal.remedy)
        );
    }
    if !decision.not_evaluated.is_empty() {
        let _ = writeln!(out, "not-evaluated {}", join(&decision.not_evaluated));
    }
    out
}
