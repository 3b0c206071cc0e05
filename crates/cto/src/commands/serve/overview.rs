//! The first page and the page on model use.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{Stage, Stamp};
use hermes::{DayCount, LadderFacts, LadderRung, OverviewFacts, PassRate, RunningFacts, SpendFacts, WaitingFacts};
use views::{Liveness, VerdictCount, Views};

use super::HomeSource;
use crate::commands::status::{self, Waiting};
use crate::error::CommandError;
use crate::ladder_view::{Climber, LadderScene};
use crate::seek::trusted;

/// Days of the chart and of rates.
const DAYS: u64 = 14;
/// Days of model use.
const SPEND_DAYS: u64 = 30;
const DAY: Duration = Duration::from_secs(86_400);

/// Facts of the first page.
pub(super) fn gather_overview(source: &HomeSource) -> Result<OverviewFacts, CommandError> {
    let context = &source.context;
    let memo = source.memo_for(&trusted(context, &[])?.keys);
    let scene = LadderScene::open_scene(context)?.sharing_memo(memo);
    let (now, views) = (scene.now, &scene.views);
    let live = views.list_live(now)?;
    let (running, dead): (Vec<_>, Vec<_>) = live.into_iter().partition(|run| run.state == Liveness::Running);
    let mut waiting = status::halted(context);
    let (requests, older_requests) = status::requests(context, &scene)?;
    waiting.extend(requests);
    let (outcomes, older_outcomes) = status::outcomes(&scene)?;
    waiting.extend(outcomes);
    waiting.extend(dead.into_iter().map(status::interrupted));
    let mut ladders = Vec::new();
    for climber in scene.climbers(None)? {
        ladders.push(ladder_facts(&scene, &climber)?);
    }
    let counts = count_days_and_rates(source, views, now)?;
    Ok(OverviewFacts {
        waiting: waiting.into_iter().map(waiting_facts).collect(),
        older_waiting: older_requests || older_outcomes,
        running: running.into_iter().map(running_facts).collect(),
        ladders,
        verified_bundles: views.count_proven() as u64,
        days: counts.0,
        rates: counts.1,
        spend: spend_rows(views, now)?,
        total_runs: views.count_runs()?,
        halted: harness::halted(&context.config.home).map(|halted| halted.to_string()),
        now,
    })
}

/// Facts of the page on model use.
pub(super) fn gather_spend(source: &HomeSource) -> Result<SpendFacts, CommandError> {
    let (views, now) = source.look()?;
    let limits = source.context.config.models.limits_per_day;
    Ok(SpendFacts {
        rows: spend_rows(&views, now)?,
        limit_requests: limits.requests,
        limit_tokens: limits.tokens,
        limit_money_micros: limits.money_micros,
        today: day_of(now),
    })
}

fn spend_rows(views: &Views, now: Stamp) -> Result<Vec<views::SpendRow>, CommandError> {
    views.view_spend(before(now, SPEND_DAYS)).map_err(|error| CommandError::blocked_with(&error))
}

fn waiting_facts(one: Waiting) -> WaitingFacts {
    let Waiting { waits_for, subject, text, since, remedy } = one;
    WaitingFacts { waits_for: waits_for.as_str().to_owned(), subject, text, since, remedy }
}

fn running_facts(run: views::LiveRun) -> RunningFacts {
    let (row, phase) = (run.row, run.phase);
    RunningFacts {
        run_id: row.run_id.to_string(),
        task_id: row.task_id.to_string(),
        engine: row.engine,
        stage: row.stage.number(),
        started_at: row.started_at,
        phase,
    }
}

fn ladder_facts(scene: &LadderScene<'_>, climber: &Climber) -> Result<LadderFacts, CommandError> {
    let ladder = scene.ladder(climber)?;
    let next = ladder.next_rung();
    let rung = |rung: &views::Rung| LadderRung {
        stage: rung.stage.number(),
        name: rung.stage.name(),
        scope: rung.stage.allowed_mutation_scope(),
        status: rung.status,
    };
    Ok(LadderFacts {
        engine: climber.engine.clone(),
        model: climber.model.as_ref().map(ToString::to_string),
        source_id: climber.source_id.clone(),
        next_stage: next.map(|rung| Stage::number(rung.stage)),
        missing: next.and_then(|rung| Some(rung.gap.as_ref()?.sentence())),
        remedy: next.and_then(|rung| scene.rung_remedy(climber, rung)),
        rungs: ladder.rungs.iter().map(rung).collect(),
    })
}

/// The time some days before.
fn before(now: Stamp, days: u64) -> Stamp {
    let seconds = u64::try_from(now.unix_seconds()).unwrap_or(0).saturating_sub(days * DAY.as_secs());
    Stamp::from_unix(Duration::from_secs(seconds)).unwrap_or(now)
}

fn day_of(time: Stamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// Sealed runs of every day of the span, oldest first; and passes of each engine among its
/// runs that passed or failed then.
fn count_days_and_rates(
    source: &HomeSource,
    views: &Views,
    now: Stamp,
) -> Result<(Vec<DayCount>, Vec<PassRate>), CommandError> {
    let mut tally = source.tally();
    views.count_sealed(&mut tally)?;
    Ok(sum_counts(tally.counts(), now))
}

fn sum_counts<'a>(
    counts: impl Iterator<Item = (&'a str, &'a str, VerdictCount)>,
    now: Stamp,
) -> (Vec<DayCount>, Vec<PassRate>) {
    let days = (0..DAYS).rev().map(|age| day_of(before(now, age)));
    let mut days: BTreeMap<String, DayCount> =
        days.map(|day| (day.clone(), DayCount { day, ..DayCount::default() })).collect();
    let mut engines: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (day, engine, count) in counts {
        let Some(of) = days.get_mut(day) else { continue };
        let VerdictCount { pass, fail, blocked } = count;
        (of.pass, of.fail, of.blocked) = (of.pass + pass, of.fail + fail, of.blocked + blocked);
        let of = engines.entry(engine).or_default();
        *of = (of.0 + pass, of.1 + pass + fail);
    }
    let ran = engines.into_iter().filter(|(_, (_, ran))| *ran > 0);
    let rates = ran.map(|(engine, (passed, ran))| {
        let (low, high) = wilson(passed, ran);
        PassRate { engine: engine.to_owned(), passed, ran, low, high }
    });
    let rates = rates.collect();
    (days.into_values().collect(), rates)
}

/// The Wilson interval at 95 %, in per mille.
fn wilson(passed: u64, ran: u64) -> (u64, u64) {
    let (n, z) = (ran as f64, 1.96_f64);
    let p = passed as f64 / n;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    let mille = |share: f64| (share.clamp(0.0, 1.0) * 1000.0).round() as u64;
    (mille(middle - half), mille(middle + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_of_the_span_count_and_blocked_runs_are_no_tries() {
        let now: Stamp = "2026-11-18T12:00:00.000000Z".parse().unwrap();
        let count = |pass, fail, blocked| VerdictCount { pass, fail, blocked };
        let rows = [
            ("2026-11-01", "fake", count(9, 9, 9)),
            ("2026-11-05", "fake", count(1, 0, 0)),
            ("2026-11-18", "fake", count(3000, 1000, 50)),
            ("2026-11-18", "pi", count(0, 0, 7)),
        ];
        let (days, rates) = sum_counts(rows.into_iter(), now);
        assert_eq!((days.len(), days[0].day.as_str(), days[13].day.as_str()), (14, "2026-11-05", "2026-11-18"));
        assert_eq!((days[0].pass, days[13].pass, days[13].fail, days[13].blocked), (1, 3000, 1000, 57));
        assert_eq!(
            rates.iter().map(|rate| (rate.engine.as_str(), rate.passed, rate.ran)).collect::<Vec<_>>(),
            [("fake", 3001, 4001)]
        );
    }

    #[test]
    fn the_interval_is_wilsons() {
        // 41 of 45: 79.3 to 96.5 percent.
        assert_eq!(wilson(41, 45), (793, 965));
        assert_eq!(wilson(0, 1), (0, 793));
        assert_eq!(wilson(62, 62).1, 1000);
    }
}
