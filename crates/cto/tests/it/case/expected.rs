//! The expected end of a run, in every place that shows it: exit code, report, events, markers and leftovers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{left_running, work_areas};

use super::scene::{Scene, events, reasons};

/// Reason, the status it means, and the event that carries it.
const REASONS: &[(&str, &str, &str)] = &[
    ("agent_protocol", "fail", "run.completed"),
    ("claim_contradicted", "fail", "run.completed"),
    ("engine_failed", "fail", "engine.exited"),
    ("forbidden_action_attempted", "fail", "sandbox.refused"),
    ("lifecycle_timeout_after_valid_patch", "fail", "run.completed"),
    ("local_provider_config_missing", "blocked", "backend.gate.blocked"),
    ("model_evidence_missing", "fail", "run.completed"),
    ("model_not_admitted", "blocked", "backend.gate.blocked"),
    ("no_diff", "fail", "git.diff.checked"),
    ("provider_auth_unavailable", "blocked", "backend.gate.blocked"),
    ("provider_response_shape", "blocked", "backend.gate.blocked"),
    ("provider_unavailable", "blocked", "run.completed"),
    ("reviewer_rejected", "blocked", "verification.completed"),
    ("stage_not_earned", "blocked", "backend.gate.blocked"),
    ("timeout", "blocked", "run.completed"),
];

pub(super) const COMPLETED: &str = "provider-lifecycle-harness-completed.txt";
pub(super) const PROTOCOL: &str = "provider-agent-protocol.txt";
pub(super) const TIMEOUT: &str = "provider-timeout.txt";

/// Every marker there is, but for the log of the gate.
const MARKERS: &[&str] = &[
    "provider-auth-unavailable.txt",
    "provider-local-config-unavailable.txt",
    "provider-model-not-admitted.txt",
    "provider-reasoning-only.txt",
    "provider-unavailable.txt",
    COMPLETED,
    PROTOCOL,
    TIMEOUT,
];

/// A run's end. None of the process where none was started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) reasons: &'static [&'static str],
    /// The beginning of `failure_reason`.
    pub(super) says: &'static str,
    pub(super) exit: Option<i32>,
    pub(super) stopped_by: &'static str,
    pub(super) markers: &'static [&'static str],
    /// Words of the note on its log, which is the only one.
    pub(super) note: &'static str,
}

impl Expected {
    pub(super) const PASS: Self =
        Self { reasons: &[], says: "", exit: Some(0), stopped_by: "itself", markers: &[], note: "" };

    /// The engine stayed, and the harness ended it.
    pub(super) const fn by_harness(self) -> Self {
        Self { stopped_by: "harness", markers: &[COMPLETED], ..self }
    }

    /// The engine was ended for time.
    pub(super) const fn late(reasons: &'static [&'static str]) -> Self {
        Self { reasons, exit: Some(124), stopped_by: "time limit", markers: &[TIMEOUT], ..Self::PASS }
    }

    /// The engine ended by itself, and the run has a reason against it.
    pub(super) const fn failed(reasons: &'static [&'static str], says: &'static str) -> Self {
        Self { reasons, says, ..Self::PASS }
    }

    /// The result protocol was not kept.
    pub(super) const fn unread(reasons: &'static [&'static str]) -> Self {
        Self { reasons, says: "case agent result protocol failed", markers: &[PROTOCOL], ..Self::PASS }
    }

    /// Nothing was started.
    pub(super) const fn refused(
        reasons: &'static [&'static str],
        says: &'static str,
        markers: &'static [&'static str],
    ) -> Self {
        Self { reasons, says, exit: None, stopped_by: "", markers, note: "" }
    }

    fn status(&self) -> &'static str {
        let statuses: Vec<&str> = self.reasons.iter().map(|reason| row(reason).1).collect();
        match statuses.contains(&"fail") {
            true => "fail",
            false if statuses.is_empty() => "pass",
            false => "blocked",
        }
    }

    fn code(&self) -> i32 {
        match self.status() {
            "pass" => 0,
            "fail" => 1,
            _ => 3,
        }
    }
}

fn row(reason: &str) -> &'static (&'static str, &'static str, &'static str) {
    let known = REASONS.iter().find(|(known, ..)| *known == reason);
    assert!(known.is_some(), "{reason} is not in the table");
    known.unwrap()
}

impl Scene {
    /// A run that must come to this.
    pub(super) fn check(&self, name: &str, task: &str, expected: &Expected) -> (Value, PathBuf) {
        let (report, bundle) = self.run_named(name, &[task, "--stage", "2"], expected.code());
        self.judge(name, expected, &report, &bundle);
        (report, bundle)
    }

    pub(super) fn judge(&self, name: &str, expected: &Expected, report: &Value, bundle: &Path) {
        assert_eq!(
            (reasons(report), &report["status"]),
            (expected.reasons.to_vec(), &json!(expected.status())),
            "{name}"
        );
        let said = report["failure_reason"].as_str().unwrap_or_default();
        assert!(said.starts_with(expected.says) && said.is_empty() == expected.reasons.is_empty(), "{name}: {said}");
        let events = events(bundle);
        for reason in expected.reasons {
            let carries = |event: &&Value| {
                let all = event["data"]["reasons"].as_array().cloned().unwrap_or_default();
                event["type"] == row(reason).2 && (event["data"]["reason"] == *reason || all.contains(&json!(reason)))
            };
            assert!(events.iter().any(|event| carries(&event)), "{name}: no event carries {reason}");
        }
        let last = events.last().unwrap();
        assert_eq!(
            (&last["type"], &last["data"]["status"]),
            (&json!("run.completed"), &json!(expected.status())),
            "{name}"
        );
        let exited = events.iter().find(|event| event["type"] == "engine.exited").map(|event| event["data"].clone());
        let started = expected.exit.is_some();
        assert_eq!((exited.is_some(), &report["case_process_started"]), (started, &json!(started)), "{name}");
        assert_eq!(report["backend_exit_code"], json!(expected.exit), "{name}");
        if let Some(exited) = exited {
            let told = (&exited["exit_code"], &exited["stopped_by"]);
            assert_eq!(told, (&json!(expected.exit), &json!(expected.stopped_by)), "{name}");
        }
        let notes = report["engine"]["notes"].as_array().cloned().unwrap_or_default();
        let noted = notes.iter().any(|note| note.as_str().unwrap().contains(expected.note));
        assert_eq!((notes.len(), noted), (usize::from(!expected.note.is_empty()), !expected.note.is_empty()), "{name}");
        let coverage = report["coverage"].as_array().unwrap();
        let by_harness = expected.stopped_by == "harness";
        assert_eq!(coverage.contains(&json!("engine_ended_by_harness")), by_harness, "{name}");
        assert_eq!(report["engine"]["ended_by_harness"].is_string(), by_harness, "{name}");
        let there: Vec<&&str> = MARKERS.iter().filter(|marker| bundle.join("backend").join(marker).is_file()).collect();
        assert_eq!(there, expected.markers.iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(bundle.join("backend/case-gate.log").is_file(), !started, "{name}");
        self.nothing_left(name, report["run_id"].as_str().unwrap());
    }

    /// No process of the run, no work folder, nothing unsealed.
    fn nothing_left(&self, name: &str, run_id: &str) {
        assert_eq!(left_running(run_id), Vec::<String>::new(), "{name}");
        let area = work_areas(&self.world.home(), run_id).into_iter().find(|area| area.exists());
        assert_eq!(area, None, "{name}: its work folder is left");
        let unsealed = fs::read_dir(self.world.home().join("active")).map_or(0, Iterator::count);
        assert_eq!(unsealed, 0, "{name}");
    }
}
