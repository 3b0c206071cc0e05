//! Continuity of home and ledger: whether this is the home, on this machine, with the ledger in which approvals were last recorded.
//! A copy or a restored backup may lack the use of an approval, so that nothing is approved in it before its operator vouches for it. On a
//! server that takes a signature.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use contract::Stamp;
use contract::approval::LedgerContinuity;
use ledger::{AppendEntryError, EntryKind, Ledger, Position, ReadLedgerError};
use serde_json::json;
use untrusted_fs::own_files;

use crate::run::harness::Harness;

mod memory;
mod signed;

pub use signed::{SignedContinuity, draft_continuity, needs_signed_continuity};

use memory::LastEntry;

/// Failure to record the operator's word.
#[derive(Debug, thiserror::Error)]
pub enum ContinueLedgerError {
    #[error(transparent)]
    Append(#[from] AppendEntryError),
    #[error("trust/continuity.json cannot be written: {0}")]
    Write(#[source] io::Error),
    #[error("the word on a ledger whose server was restored or promoted has to be signed")]
    Unsigned,
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

fn file_of(harness: &Harness) -> PathBuf {
    harness.home.root().join("trust/continuity.json")
}

/// Remembers where the ledger stands before its first request. A kill between that request and the memory of it then leaves a home
/// that is known.
pub(crate) fn note_beginning(harness: &Harness) -> io::Result<()> {
    let folder = lock_folder(harness)?;
    let ledger = harness.ledger();
    let is_first = matches!(memory::read_memory(&file_of(harness)), Ok(None))
        && ledger.requests_recent(None, 1).map_err(io::Error::other)?.is_empty();
    if !is_first {
        return Ok(());
    }
    let head = ledger.head().map_err(io::Error::other)?;
    let last = name_entry(harness, &ledger, head)?;
    drop(ledger);
    memory::remember_entry(&file_of(harness), &folder, &last)
}

/// Remembers an entry that this home wrote. An entry before the remembered one changes nothing, and neither does one that was written
/// where continuity is unknown: only the operator's word makes it known again.
pub(crate) fn note_entry(harness: &Harness, position: Position) -> io::Result<()> {
    let folder = lock_folder(harness)?;
    let remembered = memory::read_memory(&file_of(harness));
    let ledger = harness.ledger();
    match weigh_memory(harness, &ledger, remembered).map_err(io::Error::other)? {
        LedgerContinuity::Known => {
            let last = name_entry(harness, &ledger, position)?;
            // The disk takes its time, and others need the ledger.
            drop(ledger);
            memory::remember_entry(&file_of(harness), &folder, &last)
        }
        LedgerContinuity::Unknown { .. } => Ok(()),
    }
}

fn name_entry(harness: &Harness, ledger: &Ledger, position: Position) -> io::Result<LastEntry> {
    let ledger_id = ledger.identity().map_err(io::Error::other)?;
    Ok(LastEntry { ledger_id, instance_id: harness.instance, seq: position.seq, hash: position.hash })
}

/// Locks the folder of the memory. Always taken before the ledger, so that two threads do not wait for each other.
fn lock_folder(harness: &Harness) -> io::Result<File> {
    let folder = own_files::open_folder(harness.home.root().join("trust"))?;
    folder.lock()?;
    Ok(folder)
}

/// Looks whether this home and ledger are those of the last entry about approvals.
pub(crate) fn check_continuity(harness: &Harness) -> Result<LedgerContinuity, ReadLedgerError> {
    // Nobody writes meanwhile.
    let locked = own_files::open_folder(harness.home.root().join("trust")).and_then(|folder| {
        folder.lock_shared()?;
        Ok(folder)
    });
    let remembered = memory::read_memory(&file_of(harness));
    drop(locked);
    weigh_memory(harness, &harness.ledger(), remembered)
}

/// Compares the remembered entry with home and ledger as they are.
fn weigh_memory(
    harness: &Harness,
    ledger: &Ledger,
    remembered: Result<Option<LastEntry>, String>,
) -> Result<LedgerContinuity, ReadLedgerError> {
    let unknown = |why: &str| Ok(LedgerContinuity::Unknown { why: why.to_owned() });
    let last = match remembered {
        Ok(Some(last)) => last,
        // Before the first request there is nothing to continue.
        Ok(None) if ledger.requests_recent(None, 1)?.is_empty() => return Ok(LedgerContinuity::Known),
        Ok(None) => return unknown("the ledger has requests, and the home does not know of them"),
        Err(error) => return unknown(&format!("trust/continuity.json cannot be read: {error}")),
    };
    if last.instance_id != harness.instance {
        return unknown("this home is a copy, or lies on another machine");
    }
    let identity = ledger.identity()?;
    if last.ledger_id != identity {
        return unknown(match is_same_ledger(&last.ledger_id, &identity) {
            true => "the ledger was moved, or its server was restored or promoted: entries may be missing",
            false => "the ledger is another one",
        });
    }
    match ledger.hash_at(last.seq)? {
        Some(hash) if hash == last.hash => Ok(LedgerContinuity::Known),
        Some(_) => unknown("the ledger's history differs from the last recorded approval"),
        None => unknown("the ledger lacks entries that it had: it was restored from a backup"),
    }
}

/// The reason why approvals are refused on this ledger until its operator vouches for it; none where they are not.
pub fn find_discontinuity(harness: &Harness) -> Result<Option<String>, ReadLedgerError> {
    Ok(match check_continuity(harness)? {
        LedgerContinuity::Known => None,
        LedgerContinuity::Unknown { why } => Some(why),
    })
}

/// True for identities of one ledger, whatever history of it they name.
fn is_same_ledger(one: &str, other: &str) -> bool {
    let name = |identity: &str| identity.split('@').next().map(str::to_owned);
    name(one) == name(other)
}

/// The operator's word on the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerVouch {
    /// No other copy of this home is in use.
    OnlyCopy,
    /// The same, and entries that are dated ahead are of a clock that was wrong.
    TimeWentBack,
}

/// Records that the operator vouches for this home and ledger, and goes on from here.
pub fn continue_ledger(
    harness: &Harness,
    vouch: LedgerVouch,
    reason: &str,
    signed: Option<&SignedContinuity>,
    now: Stamp,
) -> Result<Position, ContinueLedgerError> {
    if signed.is_none() && needs_signed_continuity(harness)? {
        return Err(ContinueLedgerError::Unsigned);
    }
    let continuity = check_continuity(harness).unwrap_or(LedgerContinuity::Known);
    let why = match &continuity {
        LedgerContinuity::Known => None,
        LedgerContinuity::Unknown { why } => Some(why),
    };
    let mut detail = json!({"instance_id": harness.instance, "reason": reason, "was_unknown": why});
    if let Some(SignedContinuity { document, signature }) = signed {
        detail["document"] = json!(document);
        detail["signature"] = json!(signature);
    }
    let ledger = harness.ledger();
    let position = match vouch {
        LedgerVouch::OnlyCopy => ledger.append(EntryKind::LedgerContinued, None, now, &json!({"detail": detail})),
        LedgerVouch::TimeWentBack => ledger.set_time_back(now, &detail),
    }?;
    if let Some(store) = harness.home.bundles().store() {
        let bound = ledger.bind_evidence(&store.place().witness_place(), true);
        bound.map_err(|error| ContinueLedgerError::Write(io::Error::other(error)))?;
    }
    let ledger_id = ledger.identity().map_err(|error| ContinueLedgerError::Write(io::Error::other(error)))?;
    drop(ledger);
    let last = LastEntry { ledger_id, instance_id: harness.instance, seq: position.seq, hash: position.hash };
    let written = lock_folder(harness).and_then(|folder| memory::replace_memory(&file_of(harness), &folder, &last));
    written.map_err(ContinueLedgerError::Write)?;
    Ok(position)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Digest;

    use super::*;
    use crate::run::tests::Trial;

    fn now() -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap()
    }

    fn append(trial: &Trial) -> Position {
        trial.harness.ledger().append(EntryKind::HaltSet, None, now(), &json!({})).unwrap()
    }

    /// A standby that was promoted may lack the use of an approval: nothing that is recorded there makes it the known one.
    #[test]
    fn another_history_of_the_ledger_is_not_continued_by_itself() {
        let trial = Trial::new();
        let first = append(&trial);
        let identity = trial.harness.ledger().identity().unwrap();
        let known = LastEntry {
            ledger_id: format!("{identity}@00000001"),
            instance_id: trial.harness.instance,
            seq: first.seq,
            hash: first.hash,
        };
        memory::replace_memory(&file_of(&trial.harness), &lock_folder(&trial.harness).unwrap(), &known).unwrap();
        let second = append(&trial);
        note_entry(&trial.harness, second).unwrap();
        let LedgerContinuity::Unknown { why } = check_continuity(&trial.harness).unwrap() else {
            panic!("it is another history")
        };
        assert!(why.contains("promoted"), "{why}");
        continue_ledger(&trial.harness, LedgerVouch::OnlyCopy, "nothing is missing", None, now()).unwrap();
        assert_eq!(check_continuity(&trial.harness).unwrap(), LedgerContinuity::Known);
    }

    /// Entries that follow in a copy, in another ledger or in one that was put back do not make it the known one, however many.
    #[test]
    fn an_entry_makes_nothing_known() {
        let mut trial = Trial::new();
        note_beginning(&trial.harness).unwrap();
        let first = append(&trial);
        note_entry(&trial.harness, first).unwrap();
        let own = trial.harness.instance;
        let known = memory::read_memory(&file_of(&trial.harness)).unwrap().unwrap();
        for (instance, remembered) in [
            (Digest::of_bytes(b"another machine"), known.clone()),
            (own, LastEntry { ledger_id: "another".to_owned(), ..known.clone() }),
            (own, LastEntry { hash: Digest::of_bytes(b"lost"), ..known.clone() }),
        ] {
            trial.harness.instance = instance;
            memory::replace_memory(&file_of(&trial.harness), &lock_folder(&trial.harness).unwrap(), &remembered)
                .unwrap();
            note_beginning(&trial.harness).unwrap();
            note_entry(&trial.harness, append(&trial)).unwrap();
            assert_eq!(memory::read_memory(&file_of(&trial.harness)).unwrap(), Some(remembered.clone()));
            let now = check_continuity(&trial.harness).unwrap();
            assert!(matches!(now, LedgerContinuity::Unknown { .. }), "{remembered:?}");
        }
        trial.harness.instance = own;
        memory::replace_memory(&file_of(&trial.harness), &lock_folder(&trial.harness).unwrap(), &known).unwrap();
        let next = append(&trial);
        note_entry(&trial.harness, next).unwrap();
        assert_eq!(memory::read_memory(&file_of(&trial.harness)).unwrap().unwrap().seq, next.seq, "the control");
    }

    #[test]
    fn another_instance_or_a_lost_entry_is_not_continued() {
        let mut trial = Trial::new();
        assert_eq!(check_continuity(&trial.harness).unwrap(), LedgerContinuity::Known, "nothing was requested yet");
        let first = append(&trial);
        note_entry(&trial.harness, first).unwrap();
        let second = append(&trial);
        note_entry(&trial.harness, second).unwrap();
        note_entry(&trial.harness, first).unwrap();
        assert_eq!(
            memory::read_memory(&file_of(&trial.harness)).unwrap().unwrap().seq,
            second.seq,
            "an older entry is not remembered again"
        );
        assert_eq!(check_continuity(&trial.harness).unwrap(), LedgerContinuity::Known, "the control");

        let lost = Position { seq: second.seq + 1, hash: Digest::of_bytes(b"lost") };
        let wrong = Position { seq: second.seq, hash: Digest::of_bytes(b"another") };
        let own = trial.harness.instance;
        for (instance, position, expected) in [
            (own, lost, "the ledger lacks entries"),
            (own, wrong, "the ledger's history differs"),
            (Digest::of_bytes(b"another machine"), second, "this home is a copy"),
        ] {
            trial.harness.instance = instance;
            let ledger_id = trial.harness.ledger().ledger_id().to_owned();
            let entry = LastEntry { ledger_id, instance_id: own, seq: position.seq, hash: position.hash };
            memory::replace_memory(&file_of(&trial.harness), &lock_folder(&trial.harness).unwrap(), &entry).unwrap();
            let LedgerContinuity::Unknown { why } = check_continuity(&trial.harness).unwrap() else {
                panic!("{expected}")
            };
            assert!(why.starts_with(expected), "{why}");
            continue_ledger(&trial.harness, LedgerVouch::OnlyCopy, "I moved it", None, now()).unwrap();
            assert_eq!(check_continuity(&trial.harness).unwrap(), LedgerContinuity::Known, "{expected}");
        }
    }
}
