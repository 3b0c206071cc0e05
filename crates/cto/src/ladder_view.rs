//! Ladders of the engines that exist here, as commands show them.

use contract::engine::gate_command;
use contract::text::show_controls;
use contract::{ModelPair, Reason, Stage, Stamp};
use cortex::{RecordSigners, load_source_admission};
use harness::{FAKE, People};
use ledger::IdentifiedRun;
use serde::Serialize;
use views::{LadderView, Rung, RungIdentity, RungProof, RungRun, RungStatus, RungTerms, Views};

use crate::context::Context;
use crate::error::CommandError;
use crate::seek::trusted;

/// The home as it is, with everything that rungs are judged by.
pub(crate) struct LadderScene<'a> {
    context: &'a Context,
    pub(crate) views: Views,
    pub(crate) now: Stamp,
    people: People,
    signers: RecordSigners,
}

/// An engine with the source and the model that a ladder is for.
#[derive(Debug, Clone)]
pub(crate) struct Climber {
    pub(crate) engine: String,
    /// Identity of its source; none if it is neither admitted nor was ever run.
    pub(crate) source_id: Option<String>,
    pub(crate) model: Option<ModelPair>,
}

impl Climber {
    /// Engine and model in one phrase.
    pub(crate) fn label(&self) -> String {
        match &self.model {
            Some(pair) => show_controls(&format!("{} {}", self.engine, pair.model)),
            None => self.engine.clone(),
        }
    }
}

impl<'a> LadderScene<'a> {
    /// Opens the home for reading, with all keys that count.
    pub(crate) fn open_scene(context: &'a Context) -> Result<Self, CommandError> {
        let (views, now) = context.look_only()?;
        let views = views.trusting_keys(trusted(context, &[])?.keys);
        let people = People::read_lists(&context.config.records)?;
        let signers = RecordSigners::read_allowed(&context.config.records, now);
        Ok(Self { context, views, now, people, signers })
    }

    /// The same, with results of verification that others of this home and these keys share.
    pub(crate) fn sharing_memo(self, memo: std::sync::Arc<views::VerifyMemo>) -> Self {
        Self { views: self.views.sharing_memo(memo), ..self }
    }

    /// Every engine with a ladder, or the named one, once for each model.
    pub(crate) fn climbers(&self, engine: Option<&str>) -> Result<Vec<Climber>, CommandError> {
        let engines = match engine {
            Some(engine) => {
                self.context.known_engine(engine)?;
                vec![engine.to_owned()]
            }
            None => self.context.config.engines.ids(),
        };
        let mut found = Vec::new();
        for engine in engines {
            let mut run = self.views.list_models(&engine)?;
            if run.is_empty() {
                let older = self.views.find_older_identity(&engine)?;
                run.extend(older.map(|identity| IdentifiedRun { identity, seq: 0 }));
            }
            let source_id = self.source_of(&engine, &run);
            let models = self.models_of(&engine, run).into_iter();
            found.extend(models.map(|model| Climber { engine: engine.clone(), source_id: source_id.clone(), model }));
        }
        Ok(found)
    }

    /// Source of its admission, else that of its last run.
    fn source_of(&self, engine: &str, run: &[IdentifiedRun]) -> Option<String> {
        if engine == FAKE {
            return Some(format!("{FAKE}@{}", env!("CARGO_PKG_VERSION")));
        }
        let admission = load_source_admission(&self.context.config.records, engine, &self.signers);
        let admitted = admission.record().map(|record| record.source_id.clone());
        let newest = || run.iter().max_by_key(|run| run.seq).map(|run| run.identity.source_id.clone());
        admitted.or_else(newest)
    }

    /// The configured model first, then those of its runs; none means a run without a
    /// model.
    fn models_of(&self, engine: &str, run: Vec<IdentifiedRun>) -> Vec<Option<ModelPair>> {
        let configured = self.configured_model(engine).cloned();
        let mut models: Vec<Option<ModelPair>> = configured.clone().map(Some).into_iter().collect();
        models.extend(run.into_iter().map(|run| run.identity.model).filter(|model| *model != configured));
        if models.is_empty() {
            models.push(None);
        }
        models
    }

    fn configured_model(&self, engine: &str) -> Option<&ModelPair> {
        self.context.config.engines.configured.get(engine)?.model.as_ref()
    }

    /// Ladder of one engine; a placeholder if its source is unknown.
    pub(crate) fn ladder(&self, climber: &Climber) -> Result<LadderView, CommandError> {
        let Climber { engine, source_id, model } = climber;
        let Some(source_id) = source_id else { return Ok(LadderView::unknown(engine, model.clone())) };
        let identity = RungIdentity { engine, source_id, pair: model.as_ref() };
        self.with_terms(|terms| Ok(self.views.view_ladder(identity, terms)?))
    }

    /// One rung with every run since it was last lost.
    pub(crate) fn whole_rung(&self, climber: &Climber, stage: Stage) -> Result<Rung, CommandError> {
        let Climber { engine, source_id, model } = climber;
        let Some(source_id) = source_id else {
            let unknown = LadderView::unknown(engine, model.clone());
            return unknown
                .rungs
                .into_iter()
                .nth(usize::from(stage.number() - 1))
                .ok_or_else(|| CommandError::usage(format!("there is no stage {stage}")));
        };
        let identity = RungIdentity { engine, source_id, pair: model.as_ref() };
        self.with_terms(|terms| Ok(self.views.explain_rung(identity, stage, terms)?))
    }

    fn with_terms<T>(&self, ask: impl FnOnce(RungTerms<'_>) -> Result<T, CommandError>) -> Result<T, CommandError> {
        let standing = |key: &_, namespace: &str, at| self.people.judge_key(key, namespace, at);
        let workers = self.views.read_workers(&standing)?;
        ask(RungTerms { passes_required: self.context.config.passes_required, standing: &standing, workers: &workers })
    }

    /// The one command that mends a rung, gate included.
    pub(crate) fn rung_remedy(&self, climber: &Climber, rung: &Rung) -> Option<String> {
        let (gap, engine) = (rung.gap.as_ref()?, climber.engine.as_str());
        let mut command = gap.gap_remedy(engine, rung.stage);
        let Some(stage) = gap.remedied_at(rung.stage) else { return Some(command) };
        if let Some(pair) = climber.model.as_ref().filter(|pair| self.configured_model(engine) != Some(*pair)) {
            command = format!("{command} --model {pair}");
        }
        if stage == Stage::CANDIDATE_DEFAULT {
            // A comparison starts no engine and needs no gate.
            return Some(command);
        }
        let config = self.context.config.engines.find_engine(engine);
        let is_shut = config.is_some_and(|found| !gate::engine::is_open(engine, &found.config.gate, stage));
        Some(if is_shut { format!("{} && {command}", gate_command(engine, stage)) } else { command })
    }

    /// JSON form of a rung.
    pub(crate) fn rung_document<'r>(&self, climber: &'r Climber, rung: &'r Rung) -> RungDocument<'r> {
        let gap = rung.gap.as_ref();
        RungDocument {
            engine: &climber.engine,
            source_id: climber.source_id.as_deref(),
            model: climber.model.as_ref().map(ToString::to_string),
            fixture_set: contract::FIXTURE_SET,
            bundle_schema: views::bundle_schema(),
            stage: rung.stage,
            name: rung.stage.name(),
            status: rung.status,
            gap: gap.map(views::RungGap::code),
            reason: gap.and_then(views::RungGap::reason),
            missing: gap.map(views::RungGap::sentence).into_iter().collect(),
            proof_for: gap.and_then(views::RungGap::proven_for),
            bundles: &rung.bundles,
            runs: &rung.runs,
            older_runs: rung.older_runs,
            remedy: self.rung_remedy(climber, rung),
        }
    }
}

/// A rung in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RungDocument<'a> {
    engine: &'a str,
    source_id: Option<&'a str>,
    model: Option<String>,
    fixture_set: &'a str,
    bundle_schema: &'a str,
    stage: Stage,
    name: &'a str,
    pub(crate) status: RungStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_for: Option<&'a str>,
    bundles: &'a [RungProof],
    runs: &'a [RungRun],
    older_runs: bool,
    remedy: Option<String>,
}
