//! Removal of bundles: checked once more, recorded, moved out of sight, removed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use evidence::stop;
use ledger::{Collection, Ledger, RunCollected, SealedFolder};
use untrusted_fs::remove_tree;

use super::judge::{Judge, Present};
use super::{Act, Clock, CollectError, Kept, Retention, RunFate, size_of};
use crate::home::layout::Home;
use crate::home::lock;

/// Bundles that one entry of the ledger is waited for.
const BATCH: usize = 64;

/// Bundle that goes, locked against other readers.
struct Going {
    index: usize,
    _alone: File,
    said: RunCollected,
}

/// Decides about every bundle and, if asked to, removes those that may go.
pub(super) fn collect_runs(
    home: &Home,
    retention: &Retention,
    clock: Clock,
    act: Act,
    cancel: &AtomicBool,
) -> Result<Vec<RunFate>, CollectError> {
    let opened = match act {
        Act::Remove if home.has_ledger() => home.ledger().map(Some),
        _ => home.ledger_to_read(),
    };
    let Some(ledger) = opened.map_err(CollectError::Home)? else { return unrecorded(home) };
    let keys = home.trusted_keys().map_err(CollectError::Home)?;
    let judge = Judge { home, ledger: &ledger, keys, clock };
    let mut all = judge.survey(retention)?;
    let candidates: Vec<usize> = (0..all.len()).filter(|index| all[*index].kept.is_none()).collect();
    for batch in candidates.chunks(BATCH) {
        if cancel.load(Ordering::Relaxed) {
            batch.iter().for_each(|index| all[*index].kept = Some(Kept::NotReached));
            continue;
        }
        let going: Vec<Going> =
            batch.iter().filter_map(|index| last_look(&judge, &mut all, *index, retention)).collect();
        if act == Act::Remove {
            remove(home, &ledger, &going)?;
        }
        let gone: Vec<(usize, u64)> = going.iter().map(|one| (one.index, one.said.collection.bytes)).collect();
        gone.iter().for_each(|(index, bytes)| all[*index].bytes = *bytes);
    }
    Ok(all.into_iter().map(fate).collect())
}

/// Fates without a ledger: nothing is known, so nothing goes.
fn unrecorded(home: &Home) -> Result<Vec<RunFate>, CollectError> {
    let fate = |SealedFolder { name, dir }| RunFate {
        bytes: size_of(&dir),
        run_id: name,
        kept: Some(Kept::Unrecorded),
        detail: None,
    };
    Ok(home.bundles().list_sealed().map_err(CollectError::ListBundles)?.into_iter().map(fate).collect())
}

fn fate(one: Present) -> RunFate {
    let bytes = if one.kept.is_some() { size_of(&one.dir) } else { one.bytes };
    RunFate { bytes, run_id: one.name, kept: one.kept, detail: one.detail }
}

/// Last check with the bundle locked: it must be intact, and without new statements.
fn last_look(judge: &Judge<'_>, all: &mut [Present], index: usize, retention: &Retention) -> Option<Going> {
    let one = &mut all[index];
    let row = one.row.as_ref()?;
    let Some(alone) = lock::take_folder(&one.dir) else {
        one.kept = Some(Kept::InUse);
        return None;
    };
    if judge.is_stated(&one.name) {
        one.kept = Some(Kept::Stated);
        return None;
    }
    if let Err(detail) = judge.whole(row) {
        (one.kept, one.detail) = (Some(Kept::Unverified), Some(detail));
        return None;
    }
    let attestation_sha256 = row.attestation_sha256?;
    let collection = Collection { attestation_sha256, reason: retention.reason(), bytes: size_of(&one.dir) };
    let said = RunCollected { run_id: row.run_id.clone(), time: judge.clock.now, collection };
    Some(Going { index, _alone: alone, said })
}

/// Records the removal of all of them, then removes them.
fn remove(home: &Home, ledger: &Ledger, going: &[Going]) -> Result<(), CollectError> {
    let said: Vec<RunCollected> = going.iter().map(|one| one.said.clone()).collect();
    stop::pass_place("collect.looked");
    ledger.runs_collected(&said).map_err(CollectError::Ledger)?;
    stop::pass_place("collect.said");
    for one in going {
        let removed = home.bundles().retire_bundle(&one.said.run_id).and_then(remove_retired);
        removed.map_err(|error| CollectError::Io(home.bundles().bundle_dir(&one.said.run_id), error))?;
    }
    Ok(())
}

/// Takes a folder of the home from its place by one rename and removes it.
pub(super) fn discard_folder(home: &Home, from: &Path) -> io::Result<()> {
    home.bundles().retire_folder(from).and_then(remove_retired)
}

fn remove_retired(folder: PathBuf) -> io::Result<()> {
    stop::pass_place("collect.moved");
    remove_tree(&folder)?;
    stop::pass_place("collect.removed");
    Ok(())
}
