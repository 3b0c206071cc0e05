//! Verdicts on each end that the event log tells of, in the order in which the real program writes it down. The end must be the
//! same however slow the machine is: `cargo xtask soak case` holds every row again, with other programs beside it.

use std::sync::atomic::{AtomicBool, Ordering};

use fixtures::scripted::{Reply, Script, Step};
use serde_json::{Value, json};
use testkit::times;

use super::expected::Expected;
use super::scene::{COMMIT, Scene, WORK, bash, envelope, good, role, script};

/// An end, and what it counts as.
struct Row {
    name: &'static str,
    /// For the stand-in.
    words: &'static str,
    answers: fn() -> Script,
    expected: Expected,
    /// The contract does not forbid pull requests.
    may_close_out: bool,
    /// Held only with the others: another test has a row like it, or it waits for long.
    only_soak: bool,
}

const REJECTED: Expected = Expected::failed(&["reviewer_rejected"], "the engine's own reviewer rejected the change");
const CRITICAL: Expected =
    Expected::failed(&["reviewer_rejected"], "the engine's own reviewer has 2 critical findings");
const FAILED: Expected = Expected::failed(&["engine_failed"], "case engine failed with exit code 0");
const UNREAD: Expected = Expected::unread(&["agent_protocol"]);
const ROW: Row =
    Row { name: "", words: "none", answers: good, expected: REJECTED, may_close_out: false, only_soak: false };

/// The implementer commits its work, and later roles end with these.
fn then(later: Vec<(&str, Vec<Reply>)>) -> Script {
    let committed = bash(&format!("{WORK} && {COMMIT}"));
    let mut steps = role("implementer", vec![committed, Reply::text(envelope(json!({})))]);
    later.into_iter().for_each(|(name, replies)| steps.extend(role(name, replies)));
    script(steps)
}

fn saying(says: Value) -> Vec<Reply> {
    vec![Reply::text(envelope(says))]
}

fn rejecting() -> Vec<Reply> {
    saying(json!({"status": "blocked", "findings": {"critical": 0, "warnings": 4, "info": 0}}))
}

fn rubric(category: &str) -> Value {
    json!({"rubric": {"categories": [{"category": category, "verdict": "fail"}]}})
}

/// The implementer's requests alone get this.
fn implementer(reply: Reply) -> Script {
    let steps: Vec<Step> = role("implementer", vec![reply]);
    script(steps)
}

/// A tool that does not end.
fn hanging() -> Vec<Reply> {
    vec![bash("sleep 600")]
}

const ROWS: &[Row] = &[
    Row {
        name: "a reviewer finds critical things",
        answers: || then(vec![("reviewer", saying(json!({"findings": {"critical": 2}})))]),
        expected: CRITICAL,
        only_soak: true,
        ..ROW
    },
    Row {
        name: "a hard rubric fail of a review that ended well",
        answers: || then(vec![("reviewer", saying(rubric("scope-discipline")))]),
        ..ROW
    },
    Row {
        name: "a reviewer that is blocked, with nothing critical",
        answers: || then(vec![("reviewer", rejecting())]),
        only_soak: true,
        ..ROW
    },
    Row {
        name: "a verifier that fails",
        answers: || then(vec![("verifier", saying(json!({"status": "failed"})))]),
        expected: FAILED,
        only_soak: true,
        ..ROW
    },
    Row {
        name: "a closer that fails where a pull request is not forbidden",
        answers: || then(vec![("closer", saying(json!({"status": "failed"})))]),
        expected: FAILED,
        may_close_out: true,
        ..ROW
    },
    Row {
        name: "the same where it is forbidden",
        answers: || then(vec![("closer", saying(json!({"status": "failed"})))]),
        expected: Expected { note: "its closer failed", ..Expected::PASS },
        ..ROW
    },
    Row {
        name: "no envelope",
        words: "quiet",
        answers: || implementer(Reply::text("It is done.")),
        expected: UNREAD,
        only_soak: true,
        ..ROW
    },
    Row {
        name: "bad JSON",
        words: "quiet",
        answers: || implementer(Reply::text("<<<AGENT_RESULT\n{\"status\": completed}\nAGENT_RESULT>>>")),
        expected: UNREAD,
        only_soak: true,
        ..ROW
    },
    Row {
        name: "HTTP errors on all tries",
        words: "quiet",
        answers: || implementer(Reply::error(500, "trouble")),
        expected: UNREAD,
        only_soak: true,
        ..ROW
    },
    Row {
        name: "a rejection, then a tool that hangs",
        answers: || then(vec![("reviewer", rejecting()), ("retrospective", hanging())]),
        expected: Expected { says: REJECTED.says, ..Expected::late(&["reviewer_rejected", "timeout"]) },
        ..ROW
    },
    Row {
        name: "a failure, then a tool that hangs",
        answers: || then(vec![("verifier", saying(json!({"status": "failed"}))), ("retrospective", hanging())]),
        expected: Expected {
            says: "case engine failed with exit code 124",
            ..Expected::late(&["engine_failed", "timeout"])
        },
        only_soak: true,
        ..ROW
    },
    Row {
        name: "a rejection, then a program that stays",
        words: "linger",
        answers: || then(vec![("reviewer", rejecting())]),
        expected: REJECTED.by_harness(),
        ..ROW
    },
    Row {
        name: "a verifier that fails its rubric in every cycle",
        answers: || then(vec![("verifier", saying(rubric("evidence")))]),
        expected: Expected { note: "in any cycle", ..Expected::PASS },
        ..ROW
    },
    Row {
        name: "a rejection after a tool that takes its time, and that after a commit",
        answers: || {
            let slow = vec![bash("sleep 3"), Reply::text(envelope(json!({})))];
            then(vec![("verifier", slow), ("reviewer", rejecting())])
        },
        ..ROW
    },
    Row {
        name: "nothing is wrong",
        answers: || then(vec![("reviewer", saying(json!({"findings": {"critical": 0, "warnings": 3}})))]),
        expected: Expected::PASS,
        only_soak: true,
        ..ROW
    },
];

#[test]
fn every_end_counts_as_the_same_each_time() {
    let mut scene = Scene::new(good());
    scene.climb();
    let soaks = times("CTO_TEST_CASE_ENDS", 0);
    for round in 0..soaks.max(1) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Every other round has more to do than the machine can.
            let busy = if round % 2 == 1 { 2 * std::thread::available_parallelism().unwrap().get() } else { 0 };
            for _ in 0..busy {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let _over = Over(&over);
            ROWS.iter().filter(|row| soaks > 0 || !row.only_soak).for_each(|row| check(&mut scene, row, busy > 0));
        });
    }
}

/// Ends what keeps the machine busy, also where a row does not hold.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn check(scene: &mut Scene, row: &Row, is_busy: bool) {
    scene.answer((row.answers)());
    // A tool that hangs is waited for; on a busy machine it takes longer until one does.
    let seconds = match row.expected.stopped_by {
        "time limit" if is_busy => "30",
        "time limit" => "6",
        _ => "120",
    };
    scene.set("CTO_HARNESS_CASE_TIMEOUT_SECONDS", seconds);
    let task = if row.may_close_out { scene.told_open(row.words) } else { scene.told(row.words) };
    let _ = scene.check(row.name, &task, &row.expected);
}
