//! A row: what is tried, by which program, what stops it, and what the bundle must say of it.

use contract::Status;
use testkit::Who;

use super::scene::Scene;
use super::sealed::Sealed;

pub(super) const BOTH: &[Who] = &[Who::Root, Who::Ordinary];
pub(super) const ROOT: &[Who] = &[Who::Root];

/// Defence against an attack, in the words of the page.
pub(super) const ABSENT: &str = "absent: the sandbox has its own root";
pub(super) const READ_ONLY: &str = "a read-only mount, and Landlock beneath it";
pub(super) const FILTER: &str = "the filter of system calls";
pub(super) const UNPRIVILEGED: &str = "no capability, and a uid other than 0";
pub(super) const PIDS: &str = "a separate pid namespace and `/proc`";
pub(super) const NETWORK: &str = "a network namespace with loopback only";

/// A program, and all that is expected of its run.
pub(super) struct Row {
    /// In the words of the page.
    pub(super) tries: &'static str,
    pub(super) stopped_by: &'static str,
    pub(super) argv: Vec<String>,
    pub(super) says: Says,
    /// Users who succeed without the sandbox. For others the host itself refuses, and the attack only has to fail inside.
    pub(super) works_for: &'static [Who],
    pub(super) control: Control,
    /// A variable of the scene, or a path of the host, without which it cannot be tried.
    pub(super) needs: &'static str,
    /// The contract's `limits`, if it has any.
    pub(super) limits: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// True if the program ends although its run does not pass: its use is counted afterwards.
    pub(super) counted_afterwards: bool,
    /// Further checks of the bundle.
    pub(super) evidence: fn(&Scene, &Sealed),
}

/// Control that shows that the program can do what it tries.
#[derive(Clone, Copy)]
pub(super) enum Control {
    /// By the same binary, under profile `none`.
    Unconfined,
    /// By the same binary, under profile `strict` with nothing but the usual limits.
    Unlimited,
    /// By the user, without the binary.
    Direct,
    /// By the test itself: true if it gets through.
    Own(fn(&Scene, &Row) -> bool),
}

/// Statement of a bundle.
#[derive(Clone, Copy)]
pub(super) struct Says {
    pub(super) status: Status,
    pub(super) reasons: &'static [&'static str],
    /// The verdict on each attempt, and words that describe it. `*` is anything before them, `$NAME` a variable of the scene.
    pub(super) attempts: &'static [(&'static str, &'static str)],
    /// For the page, where the rest does not tell enough.
    pub(super) besides: &'static str,
}

/// The run passes, and no recorder saw anything: plain refusals of files are not recorded.
pub(super) const NOTHING: Says = Says { status: Status::Pass, reasons: &[], attempts: &[], besides: "" };

/// The run passes, and the attempts are notes.
pub(super) const fn note(attempts: &'static [(&'static str, &'static str)]) -> Says {
    Says { attempts, ..NOTHING }
}

pub(super) const fn violation(attempts: &'static [(&'static str, &'static str)]) -> Says {
    Says { status: Status::Fail, reasons: &["sandbox_violation"], attempts, besides: "" }
}

impl Row {
    pub(super) fn new(tries: &'static str, argv: Vec<String>) -> Self {
        Self {
            tries,
            stopped_by: ABSENT,
            argv,
            says: NOTHING,
            works_for: BOTH,
            control: Control::Unconfined,
            needs: "",
            limits: "",
            arguments: &[],
            counted_afterwards: false,
            evidence: |_, _| (),
        }
    }

    pub(super) fn stopped_by(self, stopped_by: &'static str) -> Self {
        Self { stopped_by, ..self }
    }

    pub(super) fn says(self, says: Says) -> Self {
        Self { says, ..self }
    }

    /// Only root gets through without the sandbox.
    pub(super) fn of_root(self) -> Self {
        Self { works_for: ROOT, ..self }
    }

    pub(super) fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    pub(super) fn control(self, control: Control) -> Self {
        Self { control, ..self }
    }

    pub(super) fn evidence(self, evidence: fn(&Scene, &Sealed)) -> Self {
        Self { evidence, ..self }
    }
}

impl Says {
    /// The last column of the page.
    pub(super) fn in_words(&self) -> String {
        let code = |text: &&str| format!("`{text}`");
        let list = |all: Vec<String>| all.join(", ");
        let mut said = match self.reasons {
            [] => self.status.as_str().to_owned(),
            reasons => format!("{}: {}", self.status.as_str(), list(reasons.iter().map(code).collect())),
        };
        if !self.attempts.is_empty() {
            let attempts = self.attempts.iter().map(|(verdict, what)| format!("{verdict} {}", code(what)));
            said = format!("{said}; {}", list(attempts.collect()));
        }
        if self.besides.is_empty() { said } else { format!("{said}; {}", self.besides) }
    }
}
