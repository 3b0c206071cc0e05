//! A home in which every text is the same hostile one; it records the acts that it receives.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::approval::{OutcomeVerdict, PacketStatus};
use contract::text::shown_lines;
use contract::{Digest, Event, Purpose, RunId, Stage, Stamp, Status, TaskId};
use evidence::verify::Failure;
use hermes::{
    ArtifactFacts, BoardFacts, BoardItemFacts, Console, ConsoleSettings, ConsoleSource, DayCount, EventChunk,
    FindingFacts, LadderFacts, LadderRung, LateStepFacts, LogAsked, LogWindow, OperatorAct, OverviewFacts, PassRate,
    PatchFile, PatchLine, PatchLineKind, QueueFacts, QueuedFacts, RecordFacts, RefusalFacts, RequestFacts, Role,
    RunFacts, RunListFacts, RunMark, RunState, RunningFacts, RunsAsked, SealedSize, SessionCheck, SessionPolicy,
    SourceError, SpendFacts, WaitingFacts, WorkerFacts,
};
use ledger::{BundleOrigin, RunRow, RunStatus};
use serde_json::json;
use views::{
    CollectedBundle, ControlSummary, Lane, LaneComparison, RequestPage, RequestState, RequestSummary, RunAnswer,
    RunPage, RunPhase, RunSummary, RungStatus, SpendRow, VerifyResult,
};

use crate::hostile_report::hostile_report;

/// Home with one text everywhere.
#[derive(Debug, Default)]
pub(crate) struct HostileSource {
    text: Mutex<String>,
    /// Number of texts so far: each has a run of its own, so that no stream has the text before.
    said: AtomicU32,
    acts: Mutex<Vec<OperatorAct>>,
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> Stamp {
    "2026-11-18T12:00:00Z".parse().unwrap()
}

/// An operator's word that a variable gave.
fn answer() -> RunAnswer {
    RunAnswer { operator_outcome: Some(OutcomeVerdict::Rejected), signed: false, rolled_back: true }
}

fn task() -> TaskId {
    TaskId::try_from("made".to_owned()).unwrap()
}

impl HostileSource {
    pub(crate) fn say(&self, text: &str) {
        self.said.fetch_add(1, Ordering::Relaxed);
        text.clone_into(&mut hold(&self.text));
    }

    pub(crate) fn acts(&self) -> Vec<OperatorAct> {
        hold(&self.acts).clone()
    }

    fn run_id(&self) -> RunId {
        let suffix = format!("a{:03}", self.said.load(Ordering::Relaxed));
        RunId::new("20261118T120000Z", &task(), &suffix).unwrap()
    }

    fn text(&self) -> String {
        hold(&self.text).clone()
    }

    fn row(&self) -> RunRow {
        RunRow {
            run_id: self.run_id(),
            task_id: task(),
            engine: self.text(),
            stage: Stage::OWNED_REPOSITORY,
            purpose: Purpose::Governed,
            status: RunStatus::Fail,
            started_at: now(),
            finished_at: Some(now()),
            duration_ms: Some(10),
            reasons: Vec::new(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: None,
            bundle: Some(self.text()),
            seq: 1,
            sealed_seq: None,
            owner: None,
            identity: None,
            collected_seq: None,
            outcome_seq: None,
        }
    }

    fn spend_rows(&self) -> Vec<SpendRow> {
        let (day, engine, pair) = ("2026-11-18".to_owned(), Some(self.text()), self.text());
        vec![SpendRow { day, engine, pair, runs: 1, open_runs: 1, requests: 1, tokens: 1, money_micros: 1 }]
    }

    fn summary(&self) -> RequestSummary {
        RequestSummary {
            request: "req-1".to_owned(),
            request_digest: Digest::ZERO,
            state: RequestState::Open,
            task_id: task(),
            title: Some(self.text()),
            target: Some(self.text()),
            stage: Stage::OWNED_REPOSITORY,
            requested_at: now(),
            age_seconds: 1,
            approvals: 0,
            approvals_required: 1,
            break_glass: true,
            expires_at: now(),
            consumed_by: None,
            sentence: Some(self.text()),
        }
    }

    fn ladder(&self) -> LadderFacts {
        let rung = LadderRung { stage: 1, name: "gated engine", scope: "none", status: RungStatus::Stale };
        LadderFacts {
            engine: self.text(),
            model: Some(self.text()),
            source_id: Some(self.text()),
            rungs: vec![rung],
            next_stage: Some(1),
            missing: Some(self.text()),
            remedy: Some(self.text()),
        }
    }
}

impl HostileSource {
    fn events(&self) -> Vec<Event> {
        let event = |(seq, kind): (usize, &str)| {
            let data = json!({"line": self.text(), "reasons": [self.text()], self.text(): {"deep": [self.text()]}});
            let event = json!({
                "seq": seq, "time": now(), "run_id": self.run_id(), "type": kind, "data": data, "prev": Digest::ZERO,
            });
            serde_json::from_value(event).unwrap()
        };
        ["run.started", "engine.output", "sandbox.refused", "model.refused"]
            .into_iter()
            .enumerate()
            .map(event)
            .collect()
    }

    fn collected(&self) -> Option<CollectedBundle> {
        Some(CollectedBundle { reason: self.text(), time: now() })
    }

    fn bare_run(&self) -> RunFacts {
        let line = |kind| PatchLine { kind, old: Some(1), new: Some(1), text: self.text() };
        let lines = [
            PatchLineKind::Header,
            PatchLineKind::Hunk,
            PatchLineKind::Context,
            PatchLineKind::Added,
            PatchLineKind::Removed,
        ];
        let patch = PatchFile {
            path: self.text(),
            verdict: contract::paths::PathVerdict::Outside,
            glob: Some(self.text()),
            added: 1,
            removed: 1,
            lines: lines.map(line).into(),
        };
        RunFacts {
            state: RunState::Broken,
            row: self.row(),
            phase: None,
            report: None,
            sentence: self.text(),
            verification: None,
            signer: Some(self.text()),
            attestation_sha256: None,
            origin: None,
            collected: None,
            answer: None,
            events: Vec::new(),
            events_left_out: 0,
            patch: vec![patch],
            patch_cut: true,
            artifacts: Vec::new(),
            refusals: Vec::new(),
            refusals_left_out: 0,
            claims: Vec::new(),
            problem: None,
            now: now(),
        }
    }

    /// A sealed run: a report of every text that its types let be any text, and everything around it.
    fn sealed_run(&self) -> RunFacts {
        // A line of 1 MB stands on other pages; in each field of a report it would be a hundred of them.
        let text = self.text().replace(&"W".repeat(1 << 20), &"W".repeat(1 << 14));
        let report = hostile_report(&text);
        let refusal = RefusalFacts {
            cell: self.text(),
            what: self.text(),
            by: Some(self.text()),
            count: 2,
            counts_as: "note",
            allowed_by: None,
            advice: "none",
        };
        let artifact = ArtifactFacts { name: self.text(), bytes: None, sha256: self.text() };
        RunFacts {
            state: RunState::Sealed,
            events: self.events(),
            artifacts: vec![artifact],
            refusals: vec![refusal],
            refusals_left_out: 1,
            claims: report.claims.clone(),
            report: Some(report),
            origin: Some(BundleOrigin::Imported),
            answer: Some(answer()),
            ..self.bare_run()
        }
    }
}

impl ConsoleSource for HostileSource {
    fn compose_summary(&self) -> Result<ControlSummary, SourceError> {
        Err(SourceError::refused(self.text()))
    }

    fn view_overview(&self) -> Result<OverviewFacts, SourceError> {
        let waiting = ["decision", "outcome", "recovery", "resume"].map(|waits_for| WaitingFacts {
            waits_for: waits_for.to_owned(),
            subject: self.text(),
            text: self.text(),
            since: Some(now()),
            remedy: self.text(),
        });
        let running = RunningFacts {
            run_id: self.run_id().to_string(),
            task_id: self.text(),
            engine: self.text(),
            stage: 2,
            started_at: now(),
            phase: RunPhase::Working,
        };
        Ok(OverviewFacts {
            waiting: waiting.into(),
            older_waiting: true,
            running: vec![running],
            ladders: vec![self.ladder()],
            verified_bundles: 1,
            days: vec![DayCount { day: "2026-11-18".to_owned(), pass: 1, fail: 1, blocked: 1 }],
            rates: vec![PassRate { engine: self.text(), passed: 1, ran: 2, low: 10, high: 900 }],
            spend: self.spend_rows(),
            total_runs: 1,
            halted: Some(self.text()),
            now: now(),
        })
    }

    fn list_runs(&self, _: &RunsAsked) -> Result<RunListFacts, SourceError> {
        let run = RunSummary {
            row: self.row(),
            kind: None,
            collected: None,
            interrupted: false,
            answer: None,
            break_glass: false,
        };
        let answered = RunSummary { collected: self.collected(), answer: Some(answer()), ..run.clone() };
        let size = SealedSize { added: 1, removed: 1, cost_micros: Some(1) };
        Ok(RunListFacts {
            sealed: BTreeMap::from([(run.row.run_id.to_string(), size)]),
            page: RunPage { runs: vec![run, answered], next: Some(self.text()), total: 2 },
            engines: vec![self.text()],
        })
    }

    /// `sealed` has a report, `live` goes on, the bundle of `collected` was removed, and everything else is broken.
    fn view_run(&self, reference: &str) -> Result<RunFacts, SourceError> {
        Ok(match reference {
            "sealed" => self.sealed_run(),
            "collected" => RunFacts { state: RunState::Collected, collected: self.collected(), ..self.bare_run() },
            "live" => RunFacts {
                state: RunState::Running,
                phase: Some(RunPhase::Working),
                patch: Vec::new(),
                ..self.bare_run()
            },
            _ => RunFacts { problem: Some(self.text()), ..self.bare_run() },
        })
    }

    fn verify_run(&self, reference: &str) -> Result<Arc<VerifyResult>, SourceError> {
        if reference != "sealed" {
            return Err(SourceError::refused(self.text()).with_hint(self.text()));
        }
        let (file, check) = (self.text(), self.text());
        let failure = Failure { file, check, line: Some(3), expected: self.text(), found: self.text() };
        Ok(Arc::new(VerifyResult {
            checked: 100,
            errors: vec![failure],
            judged_again: false,
            ok: false,
            path: self.text(),
            run_id: None,
            signer: Some(self.text()),
            status: None,
        }))
    }

    fn read_log(&self, _: &str, _: &str, _: &LogAsked) -> Result<LogWindow, SourceError> {
        let lines = vec![(1, self.text()), (2, self.text())];
        Ok(LogWindow { name: self.text(), total_lines: 2, matching_lines: 2, lines, next_line: Some(3) })
    }

    fn read_events(&self, reference: &str, from: u64) -> Result<EventChunk, SourceError> {
        let live = || EventChunk { run_id: reference.to_owned(), next: 1, ..EventChunk::default() };
        match (reference == self.run_id().as_str(), from) {
            (true, 0) => {
                let lines = self.events().iter().map(|event| serde_json::to_vec(event).unwrap()).collect();
                Ok(EventChunk { lines, ..live() })
            }
            (true, _) => Ok(live()),
            (false, _) => Err(SourceError::not_found(self.text())),
        }
    }

    fn list_requests(&self, _: Option<&str>) -> Result<RequestPage, SourceError> {
        Ok(RequestPage { requests: vec![self.summary()], next: Some(self.text()), total: 1 })
    }

    fn view_request(&self, _: &str) -> Result<RequestFacts, SourceError> {
        let row = || [self.text(), self.text(), self.text(), self.text()];
        Ok(RequestFacts {
            summary: self.summary(),
            // A packet is printable from its beginning: its digest is of what is shown.
            packet: shown_lines(&self.text()),
            packet_digest: Digest::ZERO,
            packet_status: PacketStatus::NotReady,
            sentence_text: self.text(),
            missing: vec![row()],
            history: vec![row()],
            news: vec![self.text()],
            next: self.text(),
            may_capture: true,
        })
    }

    fn compare_runs(&self, _: &[String]) -> Result<LaneComparison, SourceError> {
        let lane = Lane {
            engine: self.text(),
            model: Some(self.text()),
            status: Status::Fail,
            reasons: Vec::new(),
            why: Some(self.text()),
            remedy: Some(self.text()),
            run_id: None,
            task_id: Some(task()),
            stage: None,
            contract_digest: None,
            engine_started: true,
            changed_files: 1,
            tests: None,
            duration_ms: None,
            used: None,
            claims: 0,
            claims_contradicted: 0,
            attestation_sha256: None,
        };
        Ok(LaneComparison::of_lanes(vec![lane]))
    }

    fn list_records(&self) -> Result<Vec<RecordFacts>, SourceError> {
        let text = || Some(self.text());
        let record = RecordFacts {
            file: self.text(),
            kind: self.text(),
            subject: text(),
            status: text(),
            problem: None,
            signed_by: text(),
            sha256: text(),
        };
        let problem = RecordFacts { problem: text(), ..record.clone() };
        Ok(vec![record, problem])
    }

    fn mark_run(&self, _reference: &str) -> Option<RunMark> {
        None
    }

    fn view_board(&self, _from: usize) -> Result<BoardFacts, SourceError> {
        let item = BoardItemFacts {
            id: self.text(),
            title: self.text(),
            work_type: self.text(),
            status: self.text(),
            waits_for: vec![self.text()],
            evidence: vec![self.text()],
        };
        let (place, rule, message, remedy) = (self.text(), self.text(), self.text(), self.text());
        let finding = FindingFacts { place, rule, is_error: true, message, remedy };
        let (items, findings) = (vec![item], vec![finding]);
        Ok(BoardFacts { has_workspace: true, items, total: 1, validated: 0, ready: 1, findings, errors: 1, advice: 0 })
    }

    fn view_spend(&self) -> Result<SpendFacts, SourceError> {
        let limit = Some(5);
        Ok(SpendFacts {
            rows: self.spend_rows(),
            limit_requests: limit,
            limit_tokens: limit,
            limit_money_micros: limit,
            today: "2026-11-18".to_owned(),
        })
    }

    fn view_queue(&self) -> Result<QueueFacts, SourceError> {
        let run = QueuedFacts {
            run_id: self.text(),
            task_id: self.text(),
            engine: self.text(),
            stage: 2,
            state: self.text(),
            status: None,
            epoch: 1,
            priority: 1,
            labels: vec![self.text()],
            after: Some(self.text()),
            not_before: Some(now()),
            home: Some(self.text()),
            lease_until: Some(now()),
            has_lapsed: false,
            is_stopping: true,
            submitted_at: now(),
        };
        let waits = QueuedFacts { state: "queued".to_owned(), ..run.clone() };
        let workers = vec![WorkerFacts { home: self.text(), runs: 1, lease_until: Some(now()) }];
        let late = vec![LateStepFacts { run_id: self.text(), epoch: 1, step: self.text(), time: self.text() }];
        Ok(QueueFacts { waiting: 1, claimed: 1, started: 1, lapsed: 1, workers, runs: vec![run, waits], late })
    }

    fn deny_request(&self, _: &str, _: &str, _: SessionCheck<'_>) -> Result<(), SourceError> {
        Ok(())
    }

    fn approve_request(&self, _: &str, _: &str, _: SessionCheck<'_>) -> Result<(), SourceError> {
        Ok(())
    }

    fn stop_run(&self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn read_sidecar_token(&self) -> Option<String> {
        None
    }

    fn record_act(&self, act: &OperatorAct) -> Result<(), SourceError> {
        hold(&self.acts).push(act.clone());
        Ok(())
    }
}

/// Ends a server when the test ends, however it ends.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Serves a source in this process while the work goes on, which gets the origin and the path of an operator's login link.
pub(crate) fn serve_source(source: &Arc<HostileSource>, sessions: SessionPolicy, work: impl FnOnce(&str, &str)) {
    let settings = ConsoleSettings { listen: ([127, 0, 0, 1], 0).into(), names: Vec::new(), sessions, tls: None };
    let console = Console::bind_listener(&settings, Arc::clone(source) as Arc<dyn ConsoleSource>).unwrap();
    let (origin, link) = (console.origin(), console.make_link(Role::Operator).unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        scope.spawn(|| console.serve_until(&stop));
        work(&origin, &link.path);
    });
}
