//! `cto trust`: the workspaces and keys that count. Each change is in the ledger before it
//! counts.

mod compromised;
mod find_key;
mod keys;
mod workers;

use std::path::Path;

use contract::Stamp;
use contract::text::show_controls;
use harness::{ChangeTrustError, FindTrustError, Home, TrustEdit, TrustFile, change_trust, find_unlogged_trust};
use serde_json::{Value, json};

use super::records::now;
use crate::args::{TrustCommand, TrustKeyCommand, TrustWorkerCommand, TrustWorkspaceArgs, TrustWorkspaceCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;
use crate::seek::BUNDLE_NAMESPACE;

/// Changes or lists trusted workspaces and keys.
pub(crate) fn trust(context: &Context, command: &TrustCommand) -> Result<u8, CommandError> {
    match command {
        TrustCommand::Workspace(TrustWorkspaceArgs { command: Some(command), .. }) => match command {
            TrustWorkspaceCommand::List => list_workspaces(context),
            TrustWorkspaceCommand::Remove { dir } => remove_workspace(context, dir),
        },
        TrustCommand::Workspace(TrustWorkspaceArgs { dir, .. }) => match dir {
            Some(dir) => add_workspace(context, dir),
            None => Err(CommandError::usage("name a workspace to trust").hint("cto trust workspace DIR")),
        },
        TrustCommand::Worker(command) => match command {
            TrustWorkerCommand::Add { worker, name, role, key } => {
                let asked = workers::AskedWorker { name: name.as_deref(), role: role.as_deref() };
                workers::add_worker(context, worker, &asked, key.as_deref())
            }
            TrustWorkerCommand::Remove { worker, key } => workers::remove_worker(context, worker, key.as_deref()),
            TrustWorkerCommand::List => workers::list_workers(context),
        },
        TrustCommand::Key(command) => match command {
            TrustKeyCommand::Add { key, name, bundles, namespaces, from, until } => {
                let for_bundles = [BUNDLE_NAMESPACE.to_owned()];
                let namespaces: &[String] = if *bundles { &for_bundles } else { namespaces };
                let asked = keys::AskedSigner {
                    name: name.as_deref(),
                    namespaces,
                    from: from.as_deref(),
                    until: until.as_deref(),
                };
                keys::add_key(context, key, &asked)
            }
            TrustKeyCommand::List => keys::list_keys(context),
            TrustKeyCommand::Retire { key, at } => keys::end_key(context, key, at.as_deref()),
            TrustKeyCommand::Compromised { key, since, reason } => {
                compromised::compromised(context, key, since, reason.as_deref())
            }
        },
    }
}

/// Adds a workspace, by its resolved path, to those this home trusts; false if it was among
/// them.
pub(crate) fn trust_workspace(context: &Context, workspace: &Path) -> Result<bool, CommandError> {
    let Some(line) = workspace.to_str().filter(|text| !text.contains('\n')) else {
        return Err(CommandError::usage("a workspace's path must be UTF-8 and on one line"));
    };
    let home = Home::create_folders(&context.config.place())?;
    change_trust(&home, TrustFile::Workspaces, now()?, |before| {
        let mut text = String::from_utf8_lossy(before).into_owned();
        if text.lines().any(|known| known == line) {
            return Ok(None);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{line}\n"));
        let detail = json!({"workspace": line});
        Ok(Some(TrustEdit { bytes: text.into_bytes(), act: "workspace_added", detail }))
    })
}

fn add_workspace(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    let full = std::fs::canonicalize(dir).ok().filter(|full| full.is_dir()).ok_or_else(|| {
        let text = format!("{} is no folder", show_controls(&dir.display().to_string()));
        CommandError::usage(text)
            .hint(format!("make it a workspace: cto init {}", show_controls(&dir.display().to_string())))
    })?;
    let added = trust_workspace(context, &full)?;
    let path = full.display().to_string();
    tell(
        context,
        &format!("{} {}", if added { "trusted" } else { "trusted already" }, show_controls(&path)),
        || json!({"changed": added, "workspace": path}),
    )
}

fn remove_workspace(context: &Context, dir: &Path) -> Result<u8, CommandError> {
    // A folder that is gone can still be listed.
    let full = std::fs::canonicalize(dir).or_else(|_| std::path::absolute(dir))?;
    let path = full.display().to_string();
    let home = Home::existing(&context.config.place())?;
    let mut meant = String::new();
    let removed = change_trust(&home, TrustFile::Workspaces, now()?, |before| {
        let text = String::from_utf8_lossy(before);
        meant = did_you_mean(&path, text.lines().filter(|line| line.starts_with('/')));
        let kept: String = text.lines().filter(|line| *line != path).map(|line| format!("{line}\n")).collect();
        let detail = json!({"workspace": path});
        let gone = text.lines().any(|line| line == path);
        Ok::<_, CommandError>(gone.then(|| TrustEdit { bytes: kept.into_bytes(), act: "workspace_removed", detail }))
    })?;
    if !removed {
        let text = format!("{} is no workspace of this home{}", show_controls(&path), show_controls(&meant));
        return Err(CommandError::usage(text).hint("cto trust workspace list"));
    }
    tell(
        context,
        &format!("no longer trusted {}", show_controls(&path)),
        || json!({"changed": true, "workspace": path}),
    )
}

fn list_workspaces(context: &Context) -> Result<u8, CommandError> {
    let home = Home::existing(&context.config.place())?;
    let text = std::fs::read_to_string(home.trusted_workspaces_path()).unwrap_or_default();
    let paths: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let by_hand = changed_by_hand(&home, &[TrustFile::Workspaces])?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({"changed_by_hand": by_hand, "workspaces": paths}))?;
        return Ok(0);
    }
    if paths.is_empty() {
        output.print("no workspaces; cto trust workspace DIR\n");
    }
    for path in paths {
        let there = if Path::new(path).is_dir() { "" } else { "  (is not there)" };
        output.print(&format!("workspace {}{there}\n", show_controls(path)));
    }
    warn_by_hand(context, &by_hand);
    Ok(0)
}

/// Names of trust files that are not as the ledger's last entry about them says.
pub(super) fn changed_by_hand(home: &Home, files: &[TrustFile]) -> Result<Vec<Value>, CommandError> {
    let unlogged = find_unlogged_trust(home)?;
    let wanted = unlogged.iter().filter(|log| files.contains(&log.file));
    Ok(wanted.map(|log| json!({"file": log.path.display().to_string(), "never_logged": log.never_logged})).collect())
}

/// Warns about trust files that were changed without the ledger.
pub(super) fn warn_by_hand(context: &Context, by_hand: &[Value]) {
    for row in by_hand {
        let file = show_controls(row["file"].as_str().unwrap_or_default());
        let why = match row["never_logged"] == true {
            true => "no entry of the ledger names it",
            false => "it is not as the last entry of the ledger says",
        };
        let line = format!("changed_by_hand {file}: {why}\n");
        context.output.print(&context.output.paint.like(contract::Status::Blocked, line.trim_end()));
        context.output.print("\n");
    }
}

/// Prints one line, or one document.
fn tell(context: &Context, line: &str, document: impl FnOnce() -> Value) -> Result<u8, CommandError> {
    match context.output.json {
        true => context.output.print_json(&document())?,
        false => context.output.print(&format!("{line}\n")),
    }
    Ok(0)
}

/// A date, as its first moment in UTC, or a time of RFC 3339.
fn read_moment(flag: &str, text: &str) -> Result<Stamp, CommandError> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| {
        CommandError::usage(format!("{flag}: `{}` is neither a date nor a time", show_controls(text)))
            .hint("write it as 2026-11-15 or 2026-11-15T08:00:00Z")
    })
}

impl From<ChangeTrustError> for CommandError {
    fn from(error: ChangeTrustError) -> Self {
        match error {
            ChangeTrustError::Home(error) => error.into(),
            other => Self::blocked_with(&other).hint("fix what is named, then run the command again"),
        }
    }
}

impl From<FindTrustError> for CommandError {
    fn from(error: FindTrustError) -> Self {
        match error {
            FindTrustError::Home(error) => error.into(),
            FindTrustError::Ledger(error) => error.into(),
            other => Self::blocked_with(&other).hint("fix what is named, then run the command again"),
        }
    }
}
