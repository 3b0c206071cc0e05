//! The table of git settings that reach beyond the workspace, with the judgement on adding
//! or changing one.
//!
//! Settings that decide where git sends objects, which programs run meanwhile and under
//! which identity are attempts at the action they prepare. Settings that make git execute a
//! program, or include further settings, are aimed at the next user of git there, and are
//! violations. Everything else is ordinary work: names, branches, the editor, the pager.

use contract::task::ForbiddenAction;

use super::config::SettingKey;
use super::{Counts, fits};

const PUSH: Counts = Counts::Action(ForbiddenAction::Push);
const CREDENTIALS: Counts = Counts::Action(ForbiddenAction::CredentialChange);

/// Row of the table: git settings with one judgement.
#[derive(Debug)]
pub(super) struct SettingRow {
    /// Section and name; what is between them can be anything, or absent.
    pub(super) keys: &'static [&'static str],
    pub(super) value: Value,
    pub(super) counts: Counts,
    /// Reason for the judgement, for `docs/what-the-recorders-see.md`.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page, which a test holds to the table"))]
    pub(super) why: &'static str,
}

/// Values to which a row applies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Any,
    /// Any value that is no plain on or off.
    NoSwitch,
    /// Values with this beginning.
    Begins(&'static str),
}

/// Git settings with their verdicts.
pub(super) const SETTINGS: &[SettingRow] = &[
    SettingRow {
        keys: &[
            "remote.*.url",
            "remote.*.pushurl",
            "remote.*.fetch",
            "remote.*.push",
            "remote.*.mirror",
            "remote.*.vcs",
            "remote.*.proxy",
            "remote.*.receivepack",
            "remote.*.uploadpack",
            "remote.pushdefault",
            "branch.*.pushremote",
        ],
        value: Value::Any,
        counts: PUSH,
        why: "changes a remote, the destination of a push",
    },
    SettingRow {
        keys: &["url.*.insteadof", "url.*.pushinsteadof"],
        value: Value::Any,
        counts: PUSH,
        why: "replaces one remote by another",
    },
    SettingRow {
        keys: &["http.*.proxy", "core.gitproxy"],
        value: Value::Any,
        counts: PUSH,
        why: "all traffic goes through it",
    },
    SettingRow {
        keys: &["core.hookspath"],
        value: Value::Any,
        counts: PUSH,
        why: "hooks run with the rights of the next user who commits or pushes",
    },
    SettingRow {
        keys: &["alias.*"],
        value: Value::Begins("push"),
        counts: PUSH,
        why: "defines another name for a push",
    },
    SettingRow {
        keys: &["credential.*"],
        value: Value::Any,
        counts: CREDENTIALS,
        why: "changes the source of credentials",
    },
    SettingRow {
        keys: &["core.askpass"],
        value: Value::Any,
        counts: CREDENTIALS,
        why: "names the program that receives passwords",
    },
    SettingRow {
        keys: &["http.*.extraheader", "http.*.cookiefile", "http.*.sslcert", "http.*.sslkey"],
        value: Value::Any,
        counts: CREDENTIALS,
        why: "changes the proof of identity that git shows a remote",
    },
    SettingRow {
        keys: &["core.fsmonitor"],
        value: Value::NoSwitch,
        counts: Counts::Violation,
        why: "`git status` runs this program",
    },
    SettingRow {
        keys: &[
            "core.sshcommand",
            "core.alternaterefscommand",
            "filter.*.clean",
            "filter.*.smudge",
            "filter.*.process",
            "diff.external",
            "diff.*.command",
            "diff.*.textconv",
            "merge.*.driver",
            "gpg.*.program",
        ],
        value: Value::Any,
        counts: Counts::Violation,
        why: "git runs this program during other commands",
    },
    SettingRow {
        keys: &["alias.*", "submodule.*.update"],
        value: Value::Begins("!"),
        counts: Counts::Violation,
        why: "runs a program under the name of a git command",
    },
    SettingRow {
        keys: &["include.path", "includeif.*.path", "extensions.worktreeconfig"],
        value: Value::Any,
        counts: Counts::Violation,
        why: "reads settings from another file, which `cto` does not check",
    },
];

/// Worst judgement on a setting over all of its values; none if it is ordinary.
pub(super) fn judge_setting(key: &SettingKey, values: &[Option<Vec<u8>>]) -> Option<Counts> {
    let meant = SETTINGS.iter().filter(|setting| setting.keys.iter().any(|pattern| names(pattern, key)));
    let counts = meant.filter(|setting| values.iter().any(|value| setting.value.means(value.as_deref())));
    counts.map(|setting| setting.counts).min()
}

fn names(pattern: &str, key: &SettingKey) -> bool {
    let section = pattern.split('.').next().unwrap_or_default();
    let name = pattern.rsplit('.').next().unwrap_or_default();
    section == key.section && fits(name, &key.name)
}

impl Value {
    fn means(self, value: Option<&[u8]>) -> bool {
        match (self, value) {
            (Self::Any, _) => true,
            (Self::NoSwitch, value) => value.is_some_and(|value| !is_switch(value)),
            (Self::Begins(start), value) => value.is_some_and(|value| value.trim_ascii().starts_with(start.as_bytes())),
        }
    }
}

fn is_switch(value: &[u8]) -> bool {
    let switches: [&[u8]; 9] = [b"", b"true", b"false", b"yes", b"no", b"on", b"off", b"0", b"1"];
    switches.iter().any(|switch| switch.eq_ignore_ascii_case(value))
}
