//! `cto trust key add|list|retire`: lines of `trust/allowed_signers`.

use contract::approval::{ApprovalSchema, OutcomeSchema, RequestSchema};
use contract::signer::SignerStanding;
use contract::text::show_controls;
use contract::{Stamp, Status};
use cortex::{PersonSigners, RECORD_NAMESPACE};
use evidence::signers::{AllowedSigners, NewSigner, SignerLine, retire_key};
use harness::{Home, TrustEdit, TrustFile, change_trust};
use serde_json::{Value, json};

use super::find_key::{find_key, read_key, unknown_key};
use super::{changed_by_hand, now, read_moment, tell, warn_by_hand};
use crate::context::Context;
use crate::error::CommandError;

/// Everything that a person signs here.
const NAMESPACES: [&str; 4] =
    [RECORD_NAMESPACE, RequestSchema::NAMESPACE, ApprovalSchema::NAMESPACE, OutcomeSchema::NAMESPACE];
/// Name of a key whose owner gave it none.
const UNNAMED: &str = "operator";

/// Flags of `trust key add`.
#[derive(Debug)]
pub(super) struct AskedSigner<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) namespaces: &'a [String],
    pub(super) from: Option<&'a str>,
    pub(super) until: Option<&'a str>,
}

/// Lets a key sign.
pub(super) fn add_key(context: &Context, named: &str, asked: &AskedSigner<'_>) -> Result<u8, CommandError> {
    let (key, comment) = read_key(named)?;
    let now = now()?;
    let namespaces: Vec<String> = match asked.namespaces {
        [] => NAMESPACES.iter().map(|name| (*name).to_owned()).collect(),
        some => some.to_vec(),
    };
    let from = asked.from.map(|text| read_moment("--from", text)).transpose()?.unwrap_or(now);
    let until = asked.until.map(|text| read_moment("--until", text)).transpose()?;
    if until.is_some_and(|until| until <= from) {
        return Err(CommandError::usage("--until is not after --from").hint("the key would never count"));
    }
    let new = NewSigner { key, name: String::new(), namespaces, from: Some(from), until };
    let new = name_signer(new, asked.name, &comment)?;
    let home = Home::create_folders(&context.config.place())?;
    let people = read_people(context)?;
    let print = new.key.fingerprint();
    if let Some(known) = people.compromised().keys.get(&print) {
        let text = format!("{print} was compromised at {}, and never counts again", known.since);
        return Err(CommandError::blocked_with(text).hint("make another: ssh-keygen -t ed25519"));
    }
    let line = new.line().ok_or_else(|| {
        CommandError::usage("a name has letters, digits and @._+-, and a namespace also *").hint("--name alice")
    })?;
    let added = change_trust(&home, TrustFile::AllowedSigners, now, |before| {
        let mut text = String::from_utf8_lossy(before).into_owned();
        if allows_already(&AllowedSigners::parse_file(&text), &new, now) {
            return Ok::<_, CommandError>(None);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{line}\n"));
        let detail =
            json!({"fingerprint": print, "from": from, "name": new.name, "namespaces": new.namespaces, "until": until});
        Ok(Some(TrustEdit { bytes: text.into_bytes(), act: "key_added", detail }))
    })?;
    let word = if added { "added" } else { "listed already" };
    tell(
        context,
        &format!("{word} {print} {} for {}", new.name, new.namespaces.join(",")),
        || json!({"changed": added, "fingerprint": print, "from": from, "name": new.name, "namespaces": new.namespaces, "until": until}),
    )
}

/// Gives the line its name: that of the flag, else the key's own comment, else a plain one.
fn name_signer(new: NewSigner, asked: Option<&str>, comment: &str) -> Result<NewSigner, CommandError> {
    let named = |name: &str| NewSigner { name: name.to_owned(), ..new.clone() };
    match asked {
        Some(name) => Ok(named(name)),
        None => {
            Ok([comment, UNNAMED].map(named).into_iter().find(|new| new.line().is_some()).unwrap_or(named(UNNAMED)))
        }
    }
}

fn allows_already(list: &AllowedSigners, new: &NewSigner, now: Stamp) -> bool {
    new.until.is_none()
        && new.from.is_some_and(|from| from >= now)
        && new.namespaces.iter().all(|name| list.judge_key(&new.key, name, now) == SignerStanding::Allowed)
}

fn read_people(context: &Context) -> Result<PersonSigners, CommandError> {
    PersonSigners::read_lists(&context.config.records).map_err(|error| {
        CommandError::blocked_with(format!("the keys of people cannot be read: {error}"))
            .hint("fix the file below CTO_HOME/trust, or restore it from a backup")
    })
}

/// Ends the period of a key.
pub(super) fn end_key(context: &Context, named: &str, at: Option<&str>) -> Result<u8, CommandError> {
    let now = now()?;
    let at = at.map(|text| read_moment("--at", text)).transpose()?.unwrap_or(now);
    let home = Home::existing(&context.config.place())?;
    let mut print = String::new();
    let retired = change_trust(&home, TrustFile::AllowedSigners, now, |before| {
        let text = String::from_utf8_lossy(before);
        let list = AllowedSigners::parse_file(&text);
        let key = find_key(&list, named)?;
        if list.principals_of(&key).is_none() {
            return Err(unknown_key(&list, named));
        }
        print = key.fingerprint();
        let (text, changed) = retire_key(&text, &key, at);
        let detail = json!({"at": at, "fingerprint": print, "lines": changed});
        Ok::<_, CommandError>((changed > 0).then(|| TrustEdit { bytes: text.into_bytes(), act: "key_retired", detail }))
    })?;
    let word = if retired { "retired" } else { "retired already" };
    tell(
        context,
        &format!("{word} {print} at {at}; what it signed before stays good"),
        || json!({"at": at, "changed": retired, "fingerprint": print}),
    )
}

/// Lists the keys with their state.
pub(super) fn list_keys(context: &Context) -> Result<u8, CommandError> {
    let home = Home::existing(&context.config.place())?;
    let people = read_people(context)?;
    let now = now()?;
    let text = std::fs::read_to_string(TrustFile::AllowedSigners.path_in(&home)).unwrap_or_default();
    let unreadable = AllowedSigners::list_unreadable(&text);
    let rows: Vec<Value> = people.allowed().lines().iter().map(|line| describe(&people, line, now)).collect();
    let by_hand = changed_by_hand(&home, &[TrustFile::AllowedSigners, TrustFile::CompromisedKeys])?;
    let output = context.output;
    if output.json {
        let faults: Vec<Value> =
            unreadable.iter().map(|it| json!({"line": it.line, "why": it.fault.to_string()})).collect();
        let (unreadable_lines, unreadable) = (unreadable.len(), faults);
        output.print_json(&json!({
            "changed_by_hand": by_hand, "keys": rows, "unreadable": unreadable, "unreadable_lines": unreadable_lines,
        }))?;
        return Ok(0);
    }
    if rows.is_empty() {
        output.print("no keys may sign; cto trust key add FILE\n");
    }
    for row in &rows {
        let text = |name: &str| show_controls(row[name].as_str().unwrap_or("-"));
        let standing = text("standing");
        let good = if standing == "allowed" { Status::Pass } else { Status::Blocked };
        let (print, kind, name) = (text("fingerprint"), text("kind"), text("name"));
        let (from, until, spaces) = (text("from"), text("until"), text("namespaces"));
        if output.terminal {
            output.print(&format!(
                "  {}  {name:<20} {print}  {kind}\n",
                output.paint.like(good, &format!("{standing:<15}"))
            ));
            output.print(&format!("      {}\n", output.paint.dim(&format!("from {from} until {until} for {spaces}"))));
        } else {
            output.print(&format!(
                "key {print} {kind} {name} {standing} from={from} until={until} namespaces={spaces}\n"
            ));
        }
    }
    if !unreadable.is_empty() {
        output.print(&format!("unreadable_lines {}: they allow nobody\n", unreadable.len()));
        unreadable.iter().for_each(|it| output.print(&format!("unreadable line {}: {}\n", it.line, it.fault)));
    }
    warn_by_hand(context, &by_hand);
    Ok(0)
}

fn describe(people: &PersonSigners, line: &SignerLine, now: Stamp) -> Value {
    let print = line.key().fingerprint();
    let at: String = now.compact().chars().filter(char::is_ascii_digit).collect();
    let standing = match () {
        () if people.compromised().had_by_others(&print, now) => "compromised",
        () if line.valid_after().is_some_and(|after| at.as_str() < after) => "not_yet_valid",
        () if line.valid_before().is_some_and(|before| at.as_str() >= before) => "retired",
        () => "allowed",
    };
    json!({
        "compromised_since": people.compromised().keys.get(&print).map(|key| key.since),
        "fingerprint": print,
        "from": line.valid_after().map(spell_moment),
        "kind": line.key().kind().name(),
        "name": line.principals(),
        "namespaces": line.namespaces().unwrap_or("*"),
        "standing": standing,
        "until": line.valid_before().map(spell_moment),
    })
}

/// `yyyymmddhhmmss` as RFC 3339.
fn spell_moment(digits: &str) -> String {
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or("00");
    let (date, time) =
        ([part(0, 4), part(4, 6), part(6, 8)].join("-"), [part(8, 10), part(10, 12), part(12, 14)].join(":"));
    format!("{date}T{time}Z")
}
