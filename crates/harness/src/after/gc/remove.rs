//! Letting bundles go: looked at once more, said, moved out of sight, removed.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use evidence::stop;
use ledger::{Collection, Ledger, RunCollected};
use untrusted_fs::own_files::OwnPath as _;
use untrusted_fs::remove_tree;

use super::judge::{Judge, Present};
use super::{Act, Clock, CollectError, Kept, Retention, RunFate, size_of};
use crate::home::layout::Home;
use crate::home::lock;

/// Bundles that one entry of the ledger is waited for.
const BATCH: usize = 64;

/// One that goes, and nobody else may look at.
struct Going {
    index: usize,
    _alone: File,
    said: RunCollected,
}

pub(super) fn runs(
    home: &Home,
    retention: &Retention,
    clock: Clock,
    act: Act,
    cancel: &AtomicBool,
) -> Result<Vec<RunFate>, CollectError> {
    let opened = match act {
        Act::Remove if home.ledger_path().own_exists() => home.ledger().map(Some),
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
    Ok(all.into_iter().map(|one| fate(home, one)).collect())
}

/// Without a ledger nothing is known, so that nothing goes.
fn unrecorded(home: &Home) -> Result<Vec<RunFate>, CollectError> {
    let fate = |name: String| RunFate {
        bytes: size_of(&home.bundles().join(&name)),
        run_id: name,
        kept: Some(Kept::Unrecorded),
        detail: None,
    };
    Ok(super::names_in(&home.bundles())?.into_iter().map(fate).collect())
}

fn fate(home: &Home, one: Present) -> RunFate {
    let bytes = if one.kept.is_some() { size_of(&home.bundles().join(&one.name)) } else { one.bytes };
    RunFate { bytes, run_id: one.name, kept: one.kept, detail: one.detail }
}

/// With the bundle for oneself: is it whole, and has nobody stated anything since?
fn last_look(judge: &Judge<'_>, all: &mut [Present], index: usize, retention: &Retention) -> Option<Going> {
    let one = &mut all[index];
    let bundle = judge.home.bundles().join(&one.name);
    let row = one.row.as_ref()?;
    let Some(alone) = lock::seize(&bundle) else {
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
    let collection = Collection { attestation_sha256, reason: retention.reason(), bytes: size_of(&bundle) };
    let said = RunCollected { run_id: row.run_id.clone(), time: judge.clock.now, collection };
    Some(Going { index, _alone: alone, said })
}

/// Says it for all of them, then does it.
fn remove(home: &Home, ledger: &Ledger, going: &[Going]) -> Result<(), CollectError> {
    let said: Vec<RunCollected> = going.iter().map(|one| one.said.clone()).collect();
    stop::here("collect.looked");
    ledger.runs_collected(&said).map_err(CollectError::Ledger)?;
    stop::here("collect.said");
    for one in going {
        let from = home.bundle(&one.said.run_id);
        discard(home, &from).map_err(|error| CollectError::Io(from, error))?;
    }
    Ok(())
}

/// Takes something from its place by one rename and removes it.
pub(super) fn discard(home: &Home, from: &Path) -> io::Result<()> {
    let trash = home.trash();
    fs::create_dir_all(&trash)?;
    let name = from.file_name().unwrap_or_default();
    let to = trash.join(name);
    fs::rename(from, &to)?;
    stop::here("collect.moved");
    remove_tree(&to)?;
    stop::here("collect.removed");
    Ok(())
}
