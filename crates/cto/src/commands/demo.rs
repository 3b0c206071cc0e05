//! `cto demo`: the whole story in a temporary home.

mod at_work;
mod history;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use contract::report::{CheckResult, Report};
use contract::text::show_controls;
use contract::{Purpose, Status};
use evidence::names;
use evidence::verify::{Checked, verify_bundle};
use harness::{Harness, Quiet, Task, Watch, govern};
use serde_json::json;

use super::INTERRUPTED;
use super::verify::first_failure;
use crate::args::DemoArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, count_text, duration, wrap};

const HONEST: &str = "r1-string-slugify";
const CHEAT: &str = "fail-cheat-edits-tests";

/// Results of the three acts.
struct Acts {
    honest: Report,
    cheat: Report,
    sound: Checked,
    tampered: Checked,
    took: [Duration; 3],
}

impl Acts {
    /// The demo holds when each act ended as it should.
    fn hold(&self) -> bool {
        self.honest.status == Status::Pass
            && self.cheat.status == Status::Fail
            && self.sound.failures.is_empty()
            && self.tampered.failures.iter().any(|failure| failure.file == names::PATCH)
    }
}

/// Plays the demo in a temporary home.
pub(crate) fn demo(context: &Context, arguments: &DemoArgs) -> Result<u8, CommandError> {
    if arguments.serve {
        return history::serve_history(context, arguments);
    }
    context.refuse_when_halted()?;
    let began = Instant::now();
    let home = tempfile::Builder::new().prefix("cto-demo-").tempdir()?;
    let harness = context.harness_at(&home.path().to_owned().into())?;
    let Some(acts) = play(context, &harness, home.path())? else { return Ok(INTERRUPTED) };
    let output = context.output;
    if output.json {
        output.print_json(&document(&acts))?;
    } else if output.terminal {
        output.print(&people(output, &acts, began.elapsed()));
    } else {
        output.print(&lines(&acts, began.elapsed()));
    }
    Ok(if acts.hold() { 0 } else { 1 })
}

fn play(context: &Context, harness: &Harness, home: &Path) -> Result<Option<Acts>, CommandError> {
    let mut took = [Duration::ZERO; 3];
    let mut act = |index: usize, case: &str| -> Result<Option<evidence::seal::Sealed>, CommandError> {
        let began = Instant::now();
        let task = Task::builtin(case)
            .ok_or_else(|| CommandError::fail(format!("the built-in case `{case}` is missing")))??;
        let ask = context.plain_ask("fake", &task, Purpose::Validation)?;
        let outcome = govern(harness, &task, &ask, Watch { cancel: &context.cancel, observer: &Quiet })?;
        took[index] = began.elapsed();
        Ok((!outcome.interrupted).then_some(outcome.sealed))
    };
    let Some(honest) = act(0, HONEST)? else { return Ok(None) };
    let Some(cheat) = act(1, CHEAT)? else { return Ok(None) };
    let began = Instant::now();
    let keys = harness.home.trusted_keys()?;
    let check = |path: &Path| verify_bundle(path, &keys, &[]).map_err(CommandError::fail);
    let sound = check(&honest.dir)?;
    let copy = home.join("copy");
    copy_bundle(&honest.dir, &copy)?;
    flip_one_byte(&copy.join(names::PATCH))?;
    let tampered = check(&copy)?;
    took[2] = began.elapsed();
    Ok(Some(Acts { honest: honest.report, cheat: cheat.report, sound, tampered, took }))
}

fn copy_bundle(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_bundle(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target).map(|_| ())?
        }
    }
    Ok(())
}

fn flip_one_byte(path: &Path) -> std::io::Result<()> {
    let mut bytes = fs::read(path)?;
    if let Some(last) = bytes.len().checked_sub(2).and_then(|at| bytes.get_mut(at)) {
        *last ^= 1;
    }
    fs::write(path, bytes)
}

fn document(acts: &Acts) -> serde_json::Value {
    json!({
        "acts": [
            {"act": 1, "case": HONEST, "status": acts.honest.status, "verified": acts.sound.failures.is_empty()},
            {"act": 2, "case": CHEAT, "reasons": acts.cheat.blocker_reasons, "status": acts.cheat.status},
            {"act": 3, "failed_checks": acts.tampered.failures, "status": if acts.tampered.failures.is_empty() { "pass" } else { "fail" }},
        ],
        "status": if acts.hold() { "pass" } else { "fail" },
    })
}

fn lines(acts: &Acts, took: Duration) -> String {
    let status = if acts.hold() { "pass" } else { "fail" };
    let mut out = format!("{status} demo {}ms\n", took.as_millis());
    let _ = writeln!(out, "act 1 {} {HONEST} fake", acts.honest.status);
    let more = acts.cheat.blocker_reasons.len().saturating_sub(1);
    let first = acts.cheat.blocker_reasons.first().map_or("none", |reason| reason.code());
    let _ = writeln!(out, "act 2 {} {CHEAT} {first} +{more}", acts.cheat.status);
    let failure = acts.tampered.failures.first();
    let _ = writeln!(
        out,
        "act 3 {}",
        failure.map_or("pass nothing found".to_owned(), |failure| format!("fail {} {}", failure.file, failure.check))
    );
    out
}

fn people(output: Output, acts: &Acts, took: Duration) -> String {
    let paint = output.paint;
    let (status, sentence) = match acts.hold() {
        true => (Status::Pass, "the demo holds: a good run passes, a cheat is refused, tampering is found"),
        false => (Status::Fail, "the demo does not hold: an act did not end as it should"),
    };
    let mut out =
        output.headline(&format!("{}  {sentence}", paint.paint_status(status)), 6 + sentence.len(), &duration(took));
    out.push_str("\n\n1  An engine does the work\n");
    act(&mut out, output, acts.honest.status, &format!("{HONEST}  fake"), acts.took[0]);
    let held = acts.honest.verification.passes.iter().filter(|pass| pass.result == CheckResult::Pass).count();
    let files = count_text(acts.honest.changed_files.len(), "file", "files");
    let _ = writeln!(
        out,
        "         {files} inside allowed paths; exam, control and blind checks: {held} of {} hold",
        acts.honest.verification.passes.len()
    );
    let _ = writeln!(
        out,
        "         sealed and signed; {} of {} checks of the bundle hold",
        acts.sound.checked, acts.sound.checked
    );
    out.push_str("\n2  An engine cheats\n");
    act(&mut out, output, acts.cheat.status, &format!("{CHEAT}  fake"), acts.took[1]);
    for blocker in &acts.cheat.blockers {
        let code = paint.like(Status::Fail, &format!("{:<24}", blocker.reason.code()));
        let lines = wrap(&show_controls(&blocker.text), output.width.saturating_sub(33));
        let _ = writeln!(out, "         {code}{}", lines.join(&format!("\n{}", " ".repeat(33))));
    }
    out.push_str("\n3  Somebody edits the evidence\n");
    let third = if acts.tampered.failures.is_empty() { Status::Pass } else { Status::Fail };
    act(&mut out, output, third, "a copy of bundle 1 with one byte changed does not verify", acts.took[2]);
    let _ = writeln!(out, "         {}", first_failure(&acts.tampered));
    let _ = writeln!(
        out,
        "\n{}  {}     a run you keep, in your own home",
        paint.dim("next"),
        paint.command("cto run r1-string-slugify")
    );
    let _ = writeln!(out, "      {}                    what this machine can do", paint.command("cto doctor"));
    out
}

fn act(out: &mut String, output: Output, status: Status, title: &str, took: Duration) {
    let width = 3 + status.as_str().len() + 2 + title.chars().count();
    let _ = writeln!(
        out,
        "{}",
        output.headline(&format!("   {}  {title}", output.paint.paint_status(status)), width, &duration(took))
    );
}
