//! `cto verify`: bundles checked offline and judged again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contract::Status;
use contract::text::show_controls;
use evidence::verify::{Checked, Expectation, FORMAT_VERSION};
use harness::RunClock;
use serde_json::json;
use views::VerifyResult;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, count_text, duration};
use crate::seek::{BundleFinder, trusted_for_review};

/// Longest wait of a line for others.
const GATHERED: Duration = Duration::from_millis(100);

/// Collected lines. A reader of a pipe is not woken for each bundle.
struct Lines {
    output: Output,
    text: String,
    printed: Instant,
}

impl Lines {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        if self.output.terminal || self.printed.elapsed() >= GATHERED {
            self.print();
        }
    }

    fn print(&mut self) {
        self.output.print(&std::mem::take(&mut self.text));
        self.printed = Instant::now();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.print();
    }
}

/// Verifies bundles offline and prints each result.
pub(crate) fn verify_bundles(
    context: &Context,
    bundles: &[String],
    keys: &[PathBuf],
    expect: &[Expectation],
) -> Result<u8, CommandError> {
    let keys = trusted_for_review(context, keys)?;
    let expect = with_clock(expect)?;
    let mut worst = 0;
    let mut documents = Vec::new();
    let mut places = BundleFinder::new(context);
    let mut lines = Lines { output: context.output, text: String::new(), printed: Instant::now() };
    for bundle in bundles {
        let found = places.locate(bundle)?;
        let path = &found.bundle;
        let began = Instant::now();
        let asked = found.asked.clone().map(Expectation::Run);
        let expect: Vec<Expectation> = expect.iter().cloned().chain(asked).collect();
        let checked = match evidence::verify::verify_bundle(path, &keys.keys_of(&found), &expect) {
            Ok(checked) => checked,
            Err(error) if bundles.len() == 1 => return Err(CommandError::not_a_bundle(&error)),
            Err(error) => {
                lines.print();
                context.output.print_note(&format!("error: {}\n", show_controls(&error.to_string())));
                documents.push(json!({"errors": [{"message": error.to_string()}], "ok": false, "path": bundle}));
                worst = worst.max(2);
                continue;
            }
        };
        worst = worst.max(u8::from(!checked.failures.is_empty()));
        if context.output.json {
            documents.push(json!(VerifyResult::from(&checked)));
        } else {
            let name = if path == Path::new(bundle) { bundle.clone() } else { path.display().to_string() };
            lines.add(&view(context.output, &name, bundle, &checked, began.elapsed()));
        }
    }
    if context.output.json {
        match documents.as_slice() {
            [one] if bundles.len() == 1 => context.output.print_json(one)?,
            all => context.output.print_json(&all)?,
        }
    }
    Ok(worst)
}

fn with_clock(expect: &[Expectation]) -> Result<Vec<Expectation>, CommandError> {
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let turn = |expectation: &Expectation| match expectation {
        Expectation::MaxAge(age) => {
            let seconds = u64::try_from(now.unix_seconds()).unwrap_or(0).saturating_sub(*age);
            contract::Stamp::from_unix(Duration::from_secs(seconds))
                .map(Expectation::NotBefore)
                .ok_or_else(|| CommandError::usage("max-age is too long"))
        }
        other => Ok(other.clone()),
    };
    expect.iter().map(turn).collect()
}

fn view(output: Output, name: &str, asked: &str, checked: &Checked, took: Duration) -> String {
    match &checked.report {
        Some(_) if output.terminal => holds(output, name, asked, checked, took),
        Some(report) => format!(
            "pass {} checks={} verdict={} files={} bytes={}\n",
            show_controls(name),
            checked.checked,
            report.status,
            checked.files.len(),
            checked.bytes
        ),
        None if output.terminal => broken(output, name, checked, took),
        None => broken_lines(name, checked),
    }
}

fn holds(output: Output, name: &str, asked: &str, checked: &Checked, took: Duration) -> String {
    let paint = output.paint;
    let Some(report) = &checked.report else { return String::new() };
    let tail = format!("{}  {} of {} checks hold", report.run_id.suffix(), checked.checked, checked.checked);
    let mut out = output.headline(
        &format!("{}  {tail}", paint.paint_status(Status::Pass)),
        6 + tail.chars().count(),
        &duration(took),
    );
    let again =
        if checked.judged_again { "judged again, as signed" } else { "not judged again: made under other rules" };
    let coverage: Vec<&str> = report.coverage.iter().map(|coverage| coverage.code()).collect();
    let _ = write!(out, "\n\n  {:<10} {}", "bundle", show_controls(name));
    let _ = write!(out, "\n  {:<10} {} of {} files", "digests", checked.files.len(), checked.files.len());
    let _ = write!(out, "\n  {:<10} {}, chain holds", "events", checked.events);
    let _ = write!(out, "\n  {:<10} ed25519 {}", "signed by", checked.signer.as_deref().unwrap_or("–"));
    let _ = write!(out, "\n  {:<10} {}, {again}", "verdict", paint.paint_status(report.status));
    let _ = write!(
        out,
        "\n  {:<10} {}",
        "unproven",
        if coverage.is_empty() { "nothing".to_owned() } else { coverage.join(", ") }
    );
    let _ =
        writeln!(out, "\n\n{}  {}", paint.dim("next"), paint.command(&format!("cto show {}", show_controls(asked))));
    out
}

/// The claimed verdict is not printed: a bundle that does not verify has none.
fn broken(output: Output, name: &str, checked: &Checked, took: Duration) -> String {
    let paint = output.paint;
    let total = checked.checked.max(checked.failures.len() as u64);
    let verb = if checked.failures.len() == 1 { "does" } else { "do" };
    let tail = format!(
        "{}  {} of {total} checks {verb} not hold. Its verdict is not to be relied on.",
        show_controls(name),
        checked.failures.len()
    );
    let mut out = output.headline(
        &format!("{}  {tail}", paint.paint_status(Status::Fail)),
        6 + tail.chars().count(),
        &duration(took),
    );
    out.push_str("\n\n");
    for failure in &checked.failures {
        let line = failure.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let _ = writeln!(out, "  {:<26} {}{line}", failure.file, paint.like(Status::Fail, &failure.check));
        let _ = writeln!(out, "  {:<26} expected  {}", "", failure.expected);
        let _ = writeln!(out, "  {:<26} found     {}", "", failure.found);
    }
    let unreadable = checked.failures.iter().any(|failure| failure.check == FORMAT_VERSION);
    let next = if unreadable { "check it with a newer cto" } else { "ask the sender for the original" };
    let _ = writeln!(out, "\n{}  {}", paint.dim("next"), paint.command(next));
    out
}

fn broken_lines(name: &str, checked: &Checked) -> String {
    let mut out =
        format!("fail {} checks={} failed={}\n", show_controls(name), checked.checked, checked.failures.len());
    for failure in &checked.failures {
        let line = failure.line.map(|line| format!(" line={line}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "failed {} {}{line} expected={} found={}",
            failure.file, failure.check, failure.expected, failure.found
        );
    }
    out
}

/// The first failure in a few words, for the demo.
pub(crate) fn first_failure(checked: &Checked) -> String {
    checked.failures.first().map_or_else(
        || count_text(0, "failure", "failures"),
        |failure| {
            let cut = |text: &str| {
                if text.len() == 64 { format!("{}…{}", &text[..8], &text[60..]) } else { text.to_owned() }
            };
            format!("{}   expected {}   found {}", failure.file, cut(&failure.expected), cut(&failure.found))
        },
    )
}
