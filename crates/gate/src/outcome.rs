//! Judgement of each gate, in the order of the preflight.

use contract::Gate;
use contract::decision::Refusal;

/// Gates in the order of the preflight, each with what was judged of it.
#[derive(Default)]
pub(crate) struct GateOutcome {
    steps: Vec<(Gate, Verdict)>,
}

/// Refusals of an evaluated gate, empty if it passed; none if it was not evaluated.
pub(crate) type Verdict = Option<Vec<Refusal>>;

impl GateOutcome {
    /// Appends the verdict on the next gate, in preflight order.
    pub(crate) fn push_verdict(&mut self, gate: Gate, verdict: Verdict) {
        self.steps.push((gate, verdict));
    }

    /// Puts the verdict on a gate in its place, where that was kept for it.
    pub(crate) fn place_verdict(&mut self, gate: Gate, verdict: Verdict) {
        if let Some(step) = self.steps.iter_mut().find(|(kept, _)| *kept == gate) {
            step.1 = verdict;
        }
    }

    /// Records that a gate was not evaluated. The decision is then not eligible.
    pub(crate) fn pass_over(&mut self, gate: Gate) {
        self.push_verdict(gate, None);
    }

    /// Records the refusals of a gate; none of them means that it passed.
    pub(crate) fn record_refusals(&mut self, gate: Gate, refusals: Vec<Refusal>) {
        self.push_verdict(gate, Some(refusals));
    }

    /// True if no evaluated gate refused. Unevaluated gates are tolerated, so that the next
    /// phase can begin.
    pub(crate) fn has_none_missing(&self) -> bool {
        self.steps.iter().all(|(_, verdict)| verdict.as_ref().is_none_or(Vec::is_empty))
    }

    /// True only if every gate was evaluated and passed.
    pub(crate) fn has_all_passed(&self) -> bool {
        self.steps.iter().all(|(_, verdict)| verdict.as_ref().is_some_and(Vec::is_empty))
    }

    fn gates(&self, is: fn(&Verdict) -> bool) -> Vec<Gate> {
        self.steps.iter().filter(|(_, verdict)| is(verdict)).map(|(gate, _)| *gate).collect()
    }

    /// All gates of this run.
    pub(crate) fn required(&self) -> Vec<Gate> {
        self.gates(|_| true)
    }

    /// Gates that were evaluated and refused nothing.
    pub(crate) fn passed(&self) -> Vec<Gate> {
        self.gates(|verdict| verdict.as_ref().is_some_and(Vec::is_empty))
    }

    /// Gates that refused.
    pub(crate) fn missing(&self) -> Vec<Gate> {
        self.gates(|verdict| verdict.as_ref().is_some_and(|refusals| !refusals.is_empty()))
    }

    /// Gates that no phase reached.
    pub(crate) fn not_evaluated(&self) -> Vec<Gate> {
        self.gates(Option::is_none)
    }

    /// Refusals of all gates, in preflight order.
    pub(crate) fn into_refusals(self) -> Vec<Refusal> {
        self.steps.into_iter().filter_map(|(_, verdict)| verdict).flatten().collect()
    }
}
