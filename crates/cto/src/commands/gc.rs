//! `cto gc`: what is removed, what stays, and why.

use std::fmt::Write as _;

use contract::Status;
use contract::text::show_controls;
use harness::{Act, CollectError, Kept, Retention, RunFate, Swept, SweptFate};
use serde_json::{Map, json};

use super::INTERRUPTED;
use crate::args::Age;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, bytes, count_text};

/// Removes what retention permits, or only explains it.
pub(crate) fn gc(context: &Context, dry_run: bool, older_than: &Age, keep: u32) -> Result<u8, CommandError> {
    let act = if dry_run { Act::Explain } else { Act::Remove };
    let retention = Retention {
        older_than: older_than.span,
        older_than_text: older_than.text.clone(),
        keep: keep as usize,
        passes_required: context.config.passes_required,
    };
    let swept = match context.recover_interrupted()? {
        Some(home) => match harness::gc(&home, &retention, act, &context.cancel) {
            Err(CollectError::Interrupted) => return Ok(INTERRUPTED),
            swept => swept?,
        },
        None => Swept { runs: Vec::new(), other: Vec::new(), interrupted: false },
    };
    let told = Told { swept: &swept, retention: &retention, act };
    let output = context.output;
    if output.json {
        output.print_json(&told.document())?;
    } else if output.terminal {
        output.print(&told.people(output));
    } else {
        output.print(&told.lines(output.verbose));
    }
    let failed = swept.other.iter().any(|fate| !fate.failed.is_empty());
    Ok(if swept.interrupted { INTERRUPTED } else { u8::from(failed) })
}

/// Collection to be printed.
struct Told<'a> {
    swept: &'a Swept,
    retention: &'a Retention,
    act: Act,
}

/// Runs of one sort.
struct Sum {
    runs: usize,
    bytes: u64,
}

impl Told<'_> {
    fn sum(&self, kept: Option<Kept>) -> Sum {
        let of = self.swept.runs.iter().filter(|run| run.kept == kept);
        of.fold(Sum { runs: 0, bytes: 0 }, |sum, run| Sum { runs: sum.runs + 1, bytes: sum.bytes + run.bytes })
    }

    /// Reasons to keep bundles, each with number and size.
    fn sums(&self) -> Vec<(Kept, Sum)> {
        let sums = Kept::ALL.iter().map(|kept| (*kept, self.sum(Some(*kept))));
        sums.filter(|(_, sum)| sum.runs > 0).collect()
    }

    /// Other sorts of things that were found.
    fn other(&self) -> impl Iterator<Item = &SweptFate> {
        self.swept.other.iter().filter(|fate| fate.removed + fate.kept > 0 || !fate.failed.is_empty())
    }

    fn odd(&self) -> impl Iterator<Item = &RunFate> {
        self.swept.runs.iter().filter(|run| run.kept.is_some_and(Kept::is_odd))
    }

    fn document(&self) -> serde_json::Value {
        let sum = |sum: &Sum| json!({"bytes": sum.bytes, "runs": sum.runs});
        let kept: Map<_, _> = self.sums().iter().map(|(kept, it)| (kept.code().to_owned(), sum(it))).collect();
        let runs = self.swept.runs.iter().map(|run| {
            let fate = run.kept.map_or("collected", Kept::code);
            json!({"bytes": run.bytes, "detail": run.detail, "fate": fate, "run_id": run.run_id})
        });
        let other = self.swept.other.iter().map(|fate| {
            json!({"bytes": fate.bytes, "failed": fate.failed, "kept": fate.kept, "removed": fate.removed, "what": fate.kind.name()})
        });
        json!({
            "collected": sum(&self.sum(None)),
            "dry_run": self.act == Act::Explain,
            "interrupted": self.swept.interrupted,
            "kept": kept,
            "other": other.collect::<Vec<_>>(),
            "reason": self.retention.reason(),
            "runs": runs.collect::<Vec<_>>(),
        })
    }

    fn lines(&self, verbose: bool) -> String {
        let Sum { runs, bytes } = self.sum(None);
        let word = if self.act == Act::Explain { "would-collect" } else { "collected" };
        let mut out = format!("{word} runs={runs} bytes={bytes} {}\n", self.retention.reason());
        for (kept, sum) in self.sums() {
            let _ = writeln!(out, "kept {} runs={} bytes={} {}", kept.code(), sum.runs, sum.bytes, kept.sentence());
        }
        for fate in self.other() {
            let name = fate.kind.name().replace(' ', "-");
            let _ = writeln!(out, "other {name} removed={} bytes={} kept={}", fate.removed, fate.bytes, fate.kept);
            for failed in &fate.failed {
                let _ = writeln!(out, "failed {}", show_controls(failed));
            }
        }
        for run in self.swept.runs.iter().filter(|run| verbose || run.kept.is_some_and(Kept::is_odd)) {
            let fate = run.kept.map_or(word, Kept::code);
            let detail = run.detail.as_deref().map(|detail| format!(" {}", show_controls(detail))).unwrap_or_default();
            let _ = writeln!(out, "run {} {fate} bytes={}{detail}", show_controls(&run.run_id), run.bytes);
        }
        out
    }

    fn people(&self, output: Output) -> String {
        let paint = output.paint;
        let going = self.sum(None);
        let freed = going.bytes + self.swept.other.iter().map(|fate| fate.bytes).sum::<u64>();
        let runs = count_text(going.runs, "run", "runs");
        let first = match self.act {
            Act::Explain => format!("nothing was removed; {runs} would go, {} in all", bytes(freed)),
            Act::Remove => format!("{runs} collected, {} freed in all", bytes(freed)),
        };
        let mut out = format!("{}  {first}\n\n", paint.paint_status(Status::Pass));
        let mut line = |label: &str, number: String, size: u64, text: &str| {
            let _ = writeln!(out, "  {label:<8} {number:>5} {:>8}  {text}", bytes(size));
        };
        line(
            if self.act == Act::Explain { "would go" } else { "gone" },
            going.runs.to_string(),
            going.bytes,
            &self.retention.reason(),
        );
        for (kept, sum) in self.sums() {
            line("stays", sum.runs.to_string(), sum.bytes, kept.sentence());
        }
        for fate in self.other() {
            let text = format!("{}, {} stay", fate.kind.name(), fate.kept);
            line("other", fate.removed.to_string(), fate.bytes, &text);
        }
        for failed in self.swept.other.iter().flat_map(|fate| &fate.failed) {
            let _ = writeln!(out, "\n  {} {}", paint.error("not removed"), show_controls(failed));
        }
        self.runs_for_people(&mut out, output);
        if self.act == Act::Explain {
            let _ =
                writeln!(out, "\n{}  {}     the same without --dry-run", paint.dim("next"), paint.command("cto gc"));
        }
        out
    }

    fn runs_for_people(&self, out: &mut String, output: Output) {
        let listed: Vec<&RunFate> =
            if output.verbose { self.swept.runs.iter().collect() } else { self.odd().collect() };
        if !listed.is_empty() {
            out.push('\n');
        }
        for run in listed {
            let why = run.kept.map_or_else(|| "goes".to_owned(), |kept| format!("stays: {}", kept.sentence()));
            let detail =
                run.detail.as_deref().map(|detail| format!(" ({})", show_controls(detail))).unwrap_or_default();
            let _ = writeln!(out, "  {}  {why}{detail}", show_controls(&run.run_id));
        }
    }
}

impl From<CollectError> for CommandError {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Home(error) => error.into(),
            other => Self::blocked_with(&other).hint("fix what is named, then: cto gc     it goes on where it stopped"),
        }
    }
}
