//! Evaluation cases: a flat contract, a script for the fake engine, and the expected end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::Speech;
use crate::event::EventKind;
use crate::fake::{Claims, Fake, FakeStep};
use crate::model::Wire;
use crate::reason::Reason;
use crate::source::{self, Problem, Problems, SourceRule, Spans};
use crate::status::Status;
use crate::task::{ReadBeside, TaskContract, TaskFile};

/// `case.yaml`. The keys of the contract are at the same level as these.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(title = "Evaluation case", transform = close)]
pub struct CaseFile {
    #[serde(flatten)]
    pub contract: TaskFile,
    /// The older name of `allowed_paths`.
    #[serde(default)]
    pub allowed_writes: Option<Vec<String>>,
    /// Script of the fake engine. A case without one needs another engine.
    #[serde(default)]
    pub fake: Option<Fake>,
    /// Events that must occur, in this order.
    #[serde(default)]
    pub required_events: Vec<EventKind>,
    #[serde(default)]
    pub expect: Expect,
}

/// Flattening leaves the object open; a case is as strict as a contract.
fn close(schema: &mut schemars::Schema) {
    schema.remove("unevaluatedProperties");
    schema.insert("additionalProperties".into(), false.into());
    crate::task::require_keys(schema);
}

/// Expected end of a case's run: its status and all of its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub status: Status,
    #[serde(default)]
    pub reasons: Vec<Reason>,
}

impl Default for Expect {
    fn default() -> Self {
        Self { status: Status::Pass, reasons: Vec::new() }
    }
}

/// A case, loaded and resolved.
#[derive(Debug, Clone)]
pub struct Case {
    pub contract: TaskContract,
    pub fake: Option<FakeSteps>,
    pub required_events: Vec<EventKind>,
    pub expect: Expect,
}

/// Script of the fake engine, with the patch files that it applies already read.
#[derive(Debug, Clone, Default)]
pub struct FakeSteps {
    pub steps: Vec<FakeStep>,
    pub claims: Claims,
    /// Whose words the printed output is in; with another engine's, the fake prints no
    /// result line of its own.
    pub speaks: Option<Speech>,
    /// The wire of the model it needs, where it plays an engine that needs one.
    pub wire: Option<Wire>,
}

/// Loads and resolves `case.yaml`; `read` gives the files beside it.
pub fn load_case(file: &str, bytes: &[u8], read: ReadBeside<'_>) -> Result<Case, Problems> {
    let source::Loaded { value, spans, text } = source::load::<CaseFile>(file, bytes)?;
    resolve(value, &spans, read).map_err(|problems| Problems::new(file, text, problems))
}

/// Loads and resolves a contract on its own.
pub fn load_contract(file: &str, bytes: &[u8], read: ReadBeside<'_>) -> Result<TaskContract, Problems> {
    let source::Loaded { value, spans, text } = source::load::<TaskFile>(file, bytes)?;
    value.resolve_task(&spans, read).map_err(|problems| Problems::new(file, text, problems))
}

fn resolve(file: CaseFile, spans: &Spans, read: ReadBeside<'_>) -> Result<Case, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut contract = file.contract;
    if let Some(allowed) = file.allowed_writes {
        if !contract.allowed_paths.is_empty() {
            let message = "`allowed_writes` is the older name of `allowed_paths`; say one of them".to_owned();
            problems.push(spans.problem(&["allowed_writes"], SourceRule::Invalid, message));
        }
        contract.allowed_paths = allowed;
    }
    let fake = file.fake.map(|fake| resolve_fake(fake, spans, read, &mut problems));
    match contract.resolve_task(spans, read) {
        Ok(contract) if problems.is_empty() => {
            Ok(Case { contract, fake, required_events: file.required_events, expect: file.expect })
        }
        Ok(_) => Err(problems),
        Err(more) => Err(problems.into_iter().chain(more).collect()),
    }
}

fn resolve_fake(fake: Fake, spans: &Spans, read: ReadBeside<'_>, problems: &mut Vec<Problem>) -> FakeSteps {
    if fake.patch.is_some() && !fake.steps.is_empty() {
        problems.push(spans.problem(&["fake"], SourceRule::Invalid, "`fake` has either `patch` or `steps`".to_owned()));
    }
    let (speaks, wire) = (fake.speaks, fake.wire);
    let resolved = fake.resolve_patches(|name| {
        let text = read(name).and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()));
        text.map_err(|error| format!("`{}` cannot be read: {error}", crate::text::show_controls(name)))
    });
    match resolved {
        Ok((steps, claims)) => FakeSteps { steps, claims, speaks, wire },
        Err(message) => {
            problems.push(spans.problem(&["fake"], SourceRule::Invalid, message));
            FakeSteps::default()
        }
    }
}
