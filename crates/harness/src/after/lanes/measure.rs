//! Measures of repeated runs, which say something about the next ones. Shares are whole
//! numbers of a million, so that every reader writes the same bytes.

use contract::Status;
use schemars::JsonSchema;
use serde::Serialize;
use views::{Lane, LaneUse};

const MILLION: f64 = 1_000_000.0;
/// Quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// The chance that `k` runs all pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PassHat {
    pub k: u64,
    pub per_million: u64,
}

/// Interval that contains the true share in 95 of 100 such measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Interval")]
pub struct PassInterval {
    pub low_per_million: u64,
    pub high_per_million: u64,
}

/// Durations of the trials in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Times")]
pub struct LaneTimes {
    pub median_ms: u64,
    pub p95_ms: u64,
}

/// Measures over the trials. A trial is a run whose engine started: a run that was refused
/// before says nothing about the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Measured")]
pub struct RepeatMeasures {
    pub trials: u64,
    pub passed: u64,
    pub not_started: u64,
    /// Null without a trial.
    pub pass_rate_per_million: Option<u64>,
    /// Wilson's.
    pub interval_95: Option<PassInterval>,
    /// Values for each k from 1 to the number of trials.
    pub pass_hat: Vec<PassHat>,
    pub time: Option<LaneTimes>,
    pub used: Option<LaneUse>,
    /// Cost of all trials for each one that passed; a lower bound if
    /// `used.cost_unknown_requests` is not 0. Null if none passed or a request has no
    /// price.
    pub cost_per_accepted_change_micros: Option<u64>,
    /// Trials in which the engine said something that was not so.
    pub trials_with_false_claims: u64,
    pub false_claim_rate_per_million: Option<u64>,
}

impl RepeatMeasures {
    /// Measures of lanes. Lanes without a started engine are counted apart.
    pub fn of_lanes(lanes: &[Lane]) -> Self {
        let trials: Vec<&Lane> = lanes.iter().filter(|lane| lane.engine_started).collect();
        let count = |wanted: &dyn Fn(&Lane) -> bool| trials.iter().filter(|lane| wanted(lane)).count() as u64;
        let (all, passed) = (trials.len() as u64, count(&|lane| lane.status == Status::Pass));
        let false_claims = count(&|lane| lane.claims_contradicted > 0);
        let used = trials.iter().filter_map(|lane| lane.used).reduce(|mut sum, more| {
            sum.add_use(more);
            sum
        });
        Self {
            trials: all,
            passed,
            not_started: lanes.len() as u64 - all,
            pass_rate_per_million: share(passed, all),
            interval_95: wilson(passed, all),
            pass_hat: (1..=all).map(|k| PassHat { k, per_million: pass_hat(all, passed, k) }).collect(),
            time: times(trials.iter().filter_map(|lane| lane.duration_ms).collect()),
            used,
            cost_per_accepted_change_micros: used.and_then(LaneUse::cost).and_then(|cost| cost.checked_div(passed)),
            trials_with_false_claims: false_claims,
            false_claim_rate_per_million: share(false_claims, all),
        }
    }
}

fn millionths(share: f64) -> u64 {
    // Between 0 and a million, so that nothing is lost by the conversion.
    (share.clamp(0.0, 1.0) * MILLION).round() as u64
}

fn share(part: u64, whole: u64) -> Option<u64> {
    (whole > 0).then(|| millionths(part as f64 / whole as f64))
}

/// The unbiased estimate from `passed` of `trials`: C(passed, k) / C(trials, k).
fn pass_hat(trials: u64, passed: u64, k: u64) -> u64 {
    if k > passed {
        return 0;
    }
    millionths((0..k).map(|i| (passed - i) as f64 / (trials - i) as f64).product())
}

fn wilson(passed: u64, trials: u64) -> Option<PassInterval> {
    if trials == 0 {
        return None;
    }
    let (n, p) = (trials as f64, passed as f64 / trials as f64);
    let (centre, scale) = (p + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(PassInterval {
        low_per_million: millionths((centre - half) / scale),
        high_per_million: millionths((centre + half) / scale),
    })
}

/// The smallest that so many are not above.
fn times(mut millis: Vec<u64>) -> Option<LaneTimes> {
    millis.sort_unstable();
    let rank = |percent: usize| millis.get((millis.len() * percent).div_ceil(100).max(1) - 1).copied();
    Some(LaneTimes { median_ms: rank(50)?, p95_ms: rank(95)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to choose `k` of the trials, counted.
    fn chosen(passed: u64, trials: u64, k: u32) -> (u64, u64) {
        let sets = (0_u64..1 << trials).filter(|set| set.count_ones() == k);
        let good = (1_u64 << passed) - 1;
        sets.fold((0, 0), |(all_pass, all), set| (all_pass + u64::from(set & !good == 0), all + 1))
    }

    #[test]
    fn pass_hat_is_the_share_of_choices_that_all_pass() {
        for trials in 1..=10 {
            for passed in 0..=trials {
                for k in 1..=trials {
                    let (all_pass, all) = chosen(passed, trials, u32::try_from(k).unwrap());
                    let expected = millionths(all_pass as f64 / all as f64);
                    assert_eq!(pass_hat(trials, passed, k), expected, "C({passed},{k})/C({trials},{k})");
                }
            }
        }
        assert_eq!(pass_hat(1000, 1000, 1000), 1_000_000);
        assert_eq!(pass_hat(1000, 999, 1000), 0);
    }

    #[test]
    fn the_interval_is_wilsons() {
        for ((passed, trials), expected) in [
            ((0, 10), (0, 277_533)),
            ((8, 10), (490_162, 943_318)),
            ((10, 10), (722_467, 1_000_000)),
            ((1, 1), (206_549, 1_000_000)),
            ((50, 100), (403_832, 596_168)),
        ] {
            let found = wilson(passed, trials).unwrap();
            assert_eq!((found.low_per_million, found.high_per_million), expected, "{passed} of {trials}");
        }
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn times_are_those_of_runs() {
        let check = |millis: &[u64]| times(millis.to_vec()).map(|times| (times.median_ms, times.p95_ms));
        assert_eq!(check(&[]), None);
        assert_eq!(check(&[7]), Some((7, 7)));
        assert_eq!(check(&[4, 1, 3, 2]), Some((2, 4)));
        assert_eq!(check(&(1..=100).collect::<Vec<_>>()), Some((50, 95)));
    }
}
