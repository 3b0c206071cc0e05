//! Changes to the workspace's own `.git`: settings and hooks that were not there before.

use std::collections::BTreeSet;

use contract::sandbox::{Attempt, AttemptKind};
use contract::task::ForbiddenAction;

use super::config::{SettingKey, Settings, read_config};
use super::{Counts, attempt, settings, settle};

/// Relevant parts of a `.git`, read raw, since the program that ran there may have written
/// any of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitState {
    /// The bytes of `.git/config`; none where there is no such file.
    pub config: Vec<u8>,
    /// Names in `.git/hooks` that do not end in `.sample`.
    pub hooks: Vec<String>,
    /// Entries that exist and could not be read, each with a short cause, such as a link in
    /// the place of a file or a file over the limit.
    pub unread: Vec<String>,
}

/// Judges what was added or changed: the worst first, bounded. Values are left out, because
/// they can hold credentials.
pub fn judge_git_changes(cell: &str, before: &GitState, after: &GitState) -> Vec<Attempt> {
    let found = |counts, what: &str| attempt(cell, AttemptKind::GitConfiguration, counts, what);
    let hooks = new(&before.hooks, &after.hooks)
        .map(|name| found(Counts::Action(ForbiddenAction::Push), &format!(".git/hooks/{name} was added")));
    let unread = new(&before.unread, &after.unread)
        .map(|what| found(Counts::Violation, &format!("the .git directory cannot be read: {what}")));
    let settings = changed_settings(before, after).into_iter().map(|(counts, what)| found(counts, &what));
    settle(hooks.chain(unread).chain(settings).collect())
}

fn new<'a>(before: &'a [String], after: &'a [String]) -> impl Iterator<Item = &'a String> {
    let known: BTreeSet<&String> = before.iter().collect();
    after.iter().filter(move |one| !known.contains(one))
}

fn changed_settings(before: &GitState, after: &GitState) -> Vec<(Counts, String)> {
    if before.config == after.config {
        return Vec::new();
    }
    // Whatever is in a file that could not be read before counts as new.
    let known = read_config(&before.config).unwrap_or_default();
    match read_config(&after.config) {
        Ok(now) => differences(&known, &now),
        Err(error) => vec![(Counts::Violation, format!("the git configuration cannot be read: {error}"))],
    }
}

fn differences(known: &Settings, now: &Settings) -> Vec<(Counts, String)> {
    let changed = now.iter().filter(|(key, values)| known.get(key) != Some(values));
    let judged = changed.filter_map(|(key, values)| Some((key, settings::judge_setting(key, values)?)));
    judged
        .map(|(key, counts)| {
            let done = if known.contains_key(key) { "was changed" } else { "was added" };
            (counts, format!("git setting {} {done}", in_words(key)))
        })
        .collect()
}

/// The key, with `*` for a subsection that is more than a name: it may be an address with a
/// password in it.
fn in_words(key: &SettingKey) -> String {
    let SettingKey { section, subsection, name } = key;
    let plain = |character: &u8| character.is_ascii_alphanumeric() || b"-_.".contains(character);
    match subsection {
        None => format!("{section}.{name}"),
        Some(subsection) if subsection.iter().all(plain) => {
            format!("{section}.{}.{name}", String::from_utf8_lossy(subsection))
        }
        Some(_) => format!("{section}.*.{name}"),
    }
}
