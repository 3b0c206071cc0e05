//! Facts of one picture, by the same queries as the console's.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{RunId, Stamp};
use harness::{AttachedFact, AttachedRun, Home};
use views::{LiveRun, Liveness, RunPhase, RunQuery, RunSummary, SpendRow};

use crate::context::Context;
use crate::error::CommandError;
use crate::live::board::RunBoard;
use crate::live::frame::usage_text;

/// Runs that are asked for; a screen shows fewer.
const MOST_RUNS: usize = 60;

/// Everything that one picture shows.
#[derive(Debug)]
pub(super) struct TopFacts {
    pub(super) now: Stamp,
    pub(super) total: u64,
    pub(super) halted: Option<String>,
    pub(super) running: Vec<TopRun>,
    /// Runs whose process is gone and that nothing has sealed.
    pub(super) interrupted: usize,
    pub(super) recent: Vec<RunSummary>,
    /// Model use of today.
    pub(super) spend: Vec<SpendRow>,
    /// Failure of a later look, which these facts have outlived.
    pub(super) problem: Option<String>,
}

/// A run that goes on, and what its engine does.
#[derive(Debug)]
pub(super) struct TopRun {
    pub(super) title: String,
    pub(super) suffix: String,
    pub(super) phase: RunPhase,
    pub(super) age: Duration,
    pub(super) act: Option<String>,
    pub(super) usage: Option<String>,
    pub(super) tail: Option<String>,
}

/// The home, and the runs whose growing files are read along.
pub(super) struct TopScene {
    home: Option<Home>,
    followed: BTreeMap<RunId, (AttachedRun, RunBoard)>,
}

impl TopScene {
    /// Opens the home; one that does not exist yet gives an empty picture.
    pub(super) fn open_scene(context: &Context) -> Result<Self, CommandError> {
        Ok(Self { home: context.home_as_it_is()?, followed: BTreeMap::new() })
    }

    /// Looks once. A home that was made meanwhile is found.
    pub(super) fn look_again(&mut self, context: &Context) -> Result<TopFacts, CommandError> {
        if self.home.is_none() {
            self.home = context.home_as_it_is()?;
        }
        let (views, now) = context.look_only()?;
        let live = views.list_live(now)?;
        let (running, dead): (Vec<_>, Vec<_>) = live.into_iter().partition(|run| run.state == Liveness::Running);
        self.followed.retain(|run_id, _| running.iter().any(|run| run.row.run_id == *run_id));
        let page = views.list_runs(&RunQuery { limit: MOST_RUNS, ..RunQuery::default() }, now)?;
        let today: String = now.to_string().chars().take(10).collect();
        let spend = views.view_spend(now).map_err(|error| CommandError::blocked_with(&error))?;
        Ok(TopFacts {
            now,
            total: page.total,
            halted: harness::halted(&context.config.home).map(|halted| halted.to_string()),
            running: running.iter().map(|run| self.look_at(run, now)).collect(),
            interrupted: dead.len(),
            recent: page.runs,
            spend: spend.into_iter().filter(|row| row.day == today).collect(),
            problem: None,
        })
    }

    fn look_at(&mut self, run: &LiveRun, now: Stamp) -> TopRun {
        let row = &run.row;
        let age = since(row.started_at, now);
        let title = format!("{}  {}  stage {}", row.task_id, contract::text::show_controls(&row.engine), row.stage);
        let (act, usage, tail) = match &self.home {
            Some(home) => {
                let attach = || (AttachedRun::new(home, &row.run_id, row.started_at), RunBoard::default());
                let (attached, board) = self.followed.entry(row.run_id.clone()).or_insert_with(attach);
                // Files of a run that is just being sealed are gone; the next look finds it among the sealed.
                for fact in attached.read_new().unwrap_or_default() {
                    match fact {
                        AttachedFact::Step(told) => board.hear_step(&told),
                        AttachedFact::Live(fact) => board.hear_fact(&fact, age),
                    }
                }
                let tail = board.tail_lines().last().map(str::to_owned);
                (board.current_act().map(str::to_owned), board.used.map(usage_text), tail)
            }
            None => (None, None, None),
        };
        TopRun { title, suffix: row.run_id.suffix().to_owned(), phase: run.phase, age, act, usage, tail }
    }
}

/// Time between two moments; none where a clock went back.
pub(super) fn since(then: Stamp, now: Stamp) -> Duration {
    let micros = now.timestamp().as_microsecond().saturating_sub(then.timestamp().as_microsecond());
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}
