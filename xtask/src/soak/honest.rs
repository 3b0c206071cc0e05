//! `cargo xtask soak honest`: the difference between two published versions of a package as
//! an engine's patch, none of which may be refused.
//!
//! The old version is a repository with its tests. The engine replaces its files by those
//! of the new one, runs the tests and leaves behind whatever they wrote. The contract
//! allows every path and releases the tests and manifests that changed, by name, as the
//! author of such a task would. Tests that the new version has no more, as a word or by
//! their file, are named in `tests_may_go`: without that a contract asks for them, and
//! losing them is refused as it must be.
//!
//! Only `pass` counts as accepted. A pair is not taken if its tests fail without `cto`, on
//! the old version or on the new one: then nobody could expect a pass. Everything else that
//! is not a pass is a refusal of honest work, and a defect.

mod archives;
mod case;
mod pairs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use archives::Shelf;
use case::Laid;
use pairs::{Language, PAIRS, Pair};
use serde_json::Value;

use crate::ChoreResult;
use crate::process::{cache, program, target};

/// A soak of fewer pairs, or of fewer languages, shows too little.
const LEAST_PAIRS: usize = 40;
const LANGUAGES: usize = 6;

/// The end of one pair.
enum Verdict {
    Passed(String),
    /// Not to be had, or its tests fail without us.
    NotTaken(String),
    Refused(String),
}

/// Holds the pairs of the packages that are named, or all of them.
pub(super) fn hold_pairs(packages: &[&str]) -> ChoreResult {
    if let Some(unknown) = packages.iter().find(|name| PAIRS.iter().all(|pair| pair.package != **name)) {
        return Err(format!("no pair is of a package `{unknown}`"));
    }
    crate::test::build_plain_program()?;
    let wanted: Vec<&Pair> =
        PAIRS.iter().filter(|pair| packages.is_empty() || packages.contains(&pair.package)).collect();
    let place = cache()?.join("honest");
    let shelf = Shelf::fill_shelf(&place)?;
    let mut counts = Counts::default();
    for pair in &wanted {
        let verdict = hold_pair(&place, &shelf, pair)?;
        counts.add(pair, &verdict);
        println!("{}", line(pair, &verdict));
    }
    println!("{counts}");
    counts.judge(packages.is_empty())
}

fn hold_pair(place: &Path, shelf: &Shelf, pair: &Pair) -> ChoreResult<Verdict> {
    // Outside of every repository: cargo and git would look at what lies above.
    let work = std::env::temp_dir().join("cto-soak-honest");
    let laid = match shelf.fetch_pair(pair).and_then(|()| Laid::lay_pair(&work, shelf, pair)) {
        Ok(laid) => laid,
        Err(why) => return Ok(Verdict::NotTaken(why)),
    };
    for (version, tree) in [(pair.old, &laid.old), (pair.new, &laid.new)] {
        if let Err(why) = laid.tests_pass(pair, tree) {
            return Ok(Verdict::NotTaken(format!("the tests of {version} fail without cto: {why}")));
        }
    }
    let home = place.join("home");
    let mut report = govern(&home, &laid)?;
    let given_up = laid.tests_given_up(&report);
    if !given_up.is_empty() {
        laid.let_go(&given_up)?;
        report = govern(&home, &laid)?;
    }
    let reasons = report["blockers"].as_array().into_iter().flatten();
    let reasons: Vec<String> = reasons.map(|blocker| format!("{}: {}", blocker["reason"], blocker["text"])).collect();
    let said = format!("{} {}", report["coverage"], reasons.join("; "));
    match report["status"].as_str() {
        Some("pass") => Ok(Verdict::Passed(said)),
        status => Ok(Verdict::Refused(format!("{} {said} {}", status.unwrap_or("no status"), report["run_id"]))),
    }
}

/// The report of one run; the report shows an end other than 0.
fn govern(home: &Path, laid: &Laid) -> ChoreResult<Value> {
    let cto: PathBuf = target().join("debug/cto");
    let mut command = program(&cto, ["--home"]);
    command.arg(home).arg("run").arg(&laid.case).arg("--repo").arg(&laid.source).arg("--json");
    let ended = command.output().map_err(|error| format!("cannot start {}: {error}", cto.display()))?;
    serde_json::from_slice(&ended.stdout)
        .map_err(|error| format!("no report ({error}): {}", String::from_utf8_lossy(&ended.stderr)))
}

fn line(pair: &Pair, verdict: &Verdict) -> String {
    let what = format!("{} {} to {} ({})", pair.package, pair.old, pair.new, pair.language.name());
    match verdict {
        Verdict::Passed(said) => format!("passed     {what} {said}"),
        Verdict::NotTaken(why) => format!("not taken  {what}: {why}"),
        Verdict::Refused(why) => format!("REFUSED    {what}: {why}"),
    }
}

#[derive(Default)]
struct Counts {
    passed: BTreeMap<Language, usize>,
    not_taken: usize,
    refused: Vec<&'static str>,
}

impl Counts {
    fn add(&mut self, pair: &Pair, verdict: &Verdict) {
        match verdict {
            Verdict::Passed(_) => *self.passed.entry(pair.language).or_default() += 1,
            Verdict::NotTaken(_) => self.not_taken += 1,
            Verdict::Refused(_) => self.refused.push(pair.package),
        }
    }

    /// An error if honest work was refused, or if all pairs together show too little.
    fn judge(&self, all: bool) -> ChoreResult {
        let passed: usize = self.passed.values().sum();
        match self.refused.as_slice() {
            [] if all && (passed < LEAST_PAIRS || self.passed.len() < LANGUAGES) => {
                Err(format!("{passed} pairs in {} languages are too few", self.passed.len()))
            }
            [] => Ok(()),
            refused => Err(format!("honest work was refused: {}", refused.join(", "))),
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each: Vec<String> =
            self.passed.iter().map(|(language, count)| format!("{} {count}", language.name())).collect();
        let passed: usize = self.passed.values().sum();
        write!(f, "honest: {passed} passed ({}), ", each.join(", "))?;
        write!(f, "{} refused, {} not taken", self.refused.len(), self.not_taken)
    }
}
