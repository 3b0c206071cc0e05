//! Expectations of a caller about a bundle, beyond its integrity.

use std::str::FromStr;

use contract::{Digest, Report, RunId, Stamp, Statement};

use super::checks::{Checks, RUN_MISMATCH};
use super::files::Tree;
use crate::names;

/// The run that a bundle is asked for as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedRun {
    pub run_id: RunId,
    /// The attestation that the ledger has of it; none where no ledger knows the run.
    pub attestation_sha256: Option<Digest>,
}

/// `--expect KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// Identity of the contract that must have been run.
    Contract(Digest),
    /// Commit that the engine must have started from.
    Baseline(String),
    /// Fingerprint of the key that must have signed.
    Signer(String),
    /// Finished after this moment; made from `max-age` and the caller's clock.
    NotBefore(Stamp),
    /// In seconds, until the caller turns it into [`Expectation::NotBefore`].
    MaxAge(u64),
    /// The bundle must have no gap in its proof.
    CoverageEmpty,
    /// The bundle is this run's and no other's.
    Run(AskedRun),
}

/// Text that is no expectation; the message lists the accepted names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not an expectation: contract=<digest>, baseline=<commit>, signer=<key id>, max-age=<N>(s|m|h|d), coverage=empty",
    contract::text::show_controls(.0)
)]
pub struct ParseExpectationError(String);

impl FromStr for Expectation {
    type Err = ParseExpectationError;

    fn from_str(text: &str) -> Result<Self, ParseExpectationError> {
        let wrong = || ParseExpectationError(text.to_owned());
        let (key, value) = text.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(wrong)?;
        match key {
            "contract" => value.parse().map(Self::Contract).map_err(|_| wrong()),
            "baseline" => Ok(Self::Baseline(value.to_owned())),
            "signer" => Ok(Self::Signer(value.to_owned())),
            "max-age" => seconds(value).map(Self::MaxAge).ok_or_else(wrong),
            "coverage" if value == "empty" => Ok(Self::CoverageEmpty),
            _ => Err(wrong()),
        }
    }
}

fn seconds(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86400,
        _ => return None,
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(unit)
}

/// Checks the caller's expectations against the signed statement.
pub(super) fn check_expectations(
    expectations: &[Expectation],
    tree: &Tree,
    statement: &Statement,
    report: &Report,
    checks: &mut Checks,
) {
    let signed = &statement.predicate;
    for expectation in expectations {
        match expectation {
            Expectation::Contract(digest) => {
                checks.check_same(names::CONTRACT, "expect_contract", *digest, signed.contract_digest)
            }
            Expectation::Baseline(commit) => {
                let found = signed.baseline_commit.as_deref().unwrap_or("none");
                checks.count_check(found.starts_with(commit.as_str()), names::REPORT, "expect_baseline", commit, found)
            }
            Expectation::Signer(key) => {
                checks.check_same(names::ATTESTATION, "expect_signer", key.as_str(), signed.key.as_str())
            }
            Expectation::NotBefore(moment) => checks.count_check(
                signed.finished_at >= *moment,
                names::REPORT,
                "expect_max_age",
                format!("after {moment}"),
                signed.finished_at,
            ),
            Expectation::MaxAge(age) => {
                checks.count_check(false, names::REPORT, "expect_max_age", age, "no clock was given")
            }
            Expectation::CoverageEmpty => {
                let codes: Vec<&str> = report.coverage.iter().map(|coverage| coverage.code()).collect();
                checks.count_check(codes.is_empty(), names::REPORT, "expect_coverage", "empty", codes.join(", "))
            }
            Expectation::Run(asked) => check_run(asked, tree, statement, checks),
        };
    }
}

/// Checks that the signed run is the requested one, with the attestation that the ledger
/// recorded.
fn check_run(asked: &AskedRun, tree: &Tree, statement: &Statement, checks: &mut Checks) -> bool {
    let (file, signed) = (names::ATTESTATION, &statement.predicate.run_id);
    let same = checks.check_same(file, RUN_MISMATCH, asked.run_id.as_str(), signed.as_str());
    match (asked.attestation_sha256, tree.files.get(file)) {
        (Some(known), Some(found)) => checks.check_same(file, RUN_MISMATCH, known, *found) && same,
        _ => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_read_or_refused() {
        assert_eq!("max-age=2h".parse(), Ok(Expectation::MaxAge(7200)));
        assert_eq!("coverage=empty".parse(), Ok(Expectation::CoverageEmpty));
        for text in [
            "",
            "contract",
            "contract=",
            "contract=ab",
            "max-age=2",
            "max-age=x",
            "max-age=é",
            "coverage=full",
            "colour=red",
        ] {
            assert!(text.parse::<Expectation>().is_err(), "{text}");
        }
    }
}
