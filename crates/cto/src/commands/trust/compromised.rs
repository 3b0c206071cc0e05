//! `cto trust key compromised`: a key that somebody else has had, and what rested on it.

use contract::Status;
use contract::text::show_controls;
use cortex::{CompromisedKey, CompromisedKeys};
use evidence::signers::AllowedSigners;
use harness::{Home, TrustEdit, TrustFile, change_trust};
use serde_json::json;
use views::KeyUse;

use super::find_key::find_key;
use super::{now, read_moment};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::count_text;

const LONGEST_REASON: usize = 2000;
/// Letters of a whole fingerprint.
const FINGERPRINT: usize = 50;

/// Marks a key as compromised and lists everything that relied on it.
pub(super) fn compromised(
    context: &Context,
    named: &str,
    since: &str,
    reason: Option<&str>,
) -> Result<u8, CommandError> {
    let since = read_moment("--since", since)?;
    let now = now()?;
    if since > now {
        return Err(CommandError::usage("--since is in the future").hint("cto trust key retire KEY --at TIME"));
    }
    if reason.is_some_and(|reason| reason.len() > LONGEST_REASON) {
        return Err(CommandError::usage(format!("the reason is longer than {LONGEST_REASON} bytes")).hint("shorten it"));
    }
    let home = Home::create_folders(&context.config.place())?;
    let print = find_fingerprint(&home, named)?;
    let mut earliest = since;
    let changed = change_trust(&home, TrustFile::CompromisedKeys, now, |before| {
        let mut list = match before {
            [] => CompromisedKeys::default(),
            bytes => CompromisedKeys::parse_list(bytes)?,
        };
        // What was said before stays: a later time would bring signatures back.
        if let Some(known) = list.keys.get(&print).filter(|known| known.since <= since) {
            earliest = known.since;
            return Ok::<_, CommandError>(None);
        }
        let detail = json!({"fingerprint": print, "reason": reason, "since": since});
        list.keys.insert(print.clone(), CompromisedKey { since, reason: reason.map(str::to_owned) });
        let mut bytes = serde_json::to_vec_pretty(&list)?;
        bytes.push(b'\n');
        Ok(Some(TrustEdit { bytes, act: "key_compromised", detail }))
    })?;
    let (views, _) = context.look()?;
    let used = views.find_key_use(&print, earliest)?;
    show(context, &print, &earliest.to_string(), changed, &used)
}

/// A key need not be listed to be compromised; then its whole fingerprint names it.
fn find_fingerprint(home: &Home, named: &str) -> Result<String, CommandError> {
    let text = std::fs::read_to_string(TrustFile::AllowedSigners.path_in(home)).unwrap_or_default();
    match find_key(&AllowedSigners::parse_file(&text), named) {
        Ok(key) => Ok(key.fingerprint()),
        Err(_) if named.starts_with("SHA256:") && named.len() == FINGERPRINT => Ok(named.to_owned()),
        Err(error) => Err(error),
    }
}

fn show(context: &Context, print: &str, since: &str, changed: bool, used: &KeyUse) -> Result<u8, CommandError> {
    let output = context.output;
    let code = if used.runs.is_empty() { 0 } else { 3 };
    if output.json {
        output.print_json(&json!({
            "changed": changed,
            "entries": used.entries,
            "fingerprint": print,
            "runs": used.runs,
            "since": since,
        }))?;
        return Ok(code);
    }
    let word = if changed { "compromised" } else { "compromised already" };
    output.print(&format!("{} {print} since {since}\n", output.paint.like(Status::Blocked, word)));
    for entry in &used.entries {
        let request = entry.request.map(|request| format!(" request={request}")).unwrap_or_default();
        let file = entry.file.as_deref().map(|file| format!(" file={}", show_controls(file))).unwrap_or_default();
        let run = entry.run_id.as_deref().map(|run| format!(" run={}", show_controls(run))).unwrap_or_default();
        output.print(&format!(
            "entry {} {} {}{request}{run}{file}\n",
            entry.seq,
            show_controls(&entry.time),
            show_controls(&entry.kind)
        ));
    }
    used.runs.iter().for_each(|run| output.print(&format!("run {run}\n")));
    if used.runs.is_empty() {
        output.print("no run rested on it\n");
    } else {
        let runs = count_text(used.runs.len(), "run", "runs");
        output.print(&format!(
            "{runs} rested on it; look at each: cto show RUN, then cto rollback RUN where it is wrong\n"
        ));
    }
    Ok(code)
}
