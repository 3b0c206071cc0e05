//! Stage 5 counts with a signed, accepted outcome alone.

use std::time::Duration;

use contract::Stamp;
use ledger::{EntryKind, Ledger};

use super::{rung, standing};
use crate::controls::append_by_hand;
use crate::targets::Scene;

#[test]
fn stage_five_waits_for_a_signed_acceptance() {
    let Some(scene) = Scene::new("stage_five_waits_for_a_signed_acceptance") else { return };
    let world = &scene.world;
    let waits = || {
        let status = world.cto(["status", "--json"]).expect(0).json();
        assert_eq!(status["runtime_default_activation"], false);
        let waiting = status["waiting"].as_array().unwrap().clone();
        let kinds: Vec<String> = waiting.iter().map(|one| one["waits_for"].as_str().unwrap().to_owned()).collect();
        (status["status"].as_str().unwrap().to_owned(), kinds.join(","))
    };
    let said = |status: &str, kinds: &str| (status.to_owned(), kinds.to_owned());
    assert_eq!(waits(), said("clear", ""));
    let _ = world.cto(scene.words("request", "5")).expect(0);
    assert_eq!(waits(), said("waiting", "decision"));
    scene.approve("5");
    let words = [scene.words("run", "5"), vec!["--outcome", "accept"]].concat();
    let run = world.cto(words).expect(0).json()["run_id"].as_str().unwrap().to_owned();
    let waiting = rung(world, 5);
    assert_eq!(standing(&waiting), "blocked missing_operator_outcome", "nobody signed the word of a flag");
    assert_eq!(waiting["reason"], "missing_operator_outcome");
    let remedy = waiting["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("cto outcome ") && run.contains(remedy.split(' ').nth(2).unwrap()), "{remedy}");
    assert_eq!(waits(), said("waiting", "outcome"));

    let _ = world.cto(["outcome", "@", "accept", "--reason", "read"]).expect(0);
    assert_eq!(standing(&rung(world, 5)), "validated");
    assert_eq!(standing(&rung(world, 6)), "blocked second_owned_pass", "stage 6 is a comparison of two");
    assert_eq!(waits(), said("clear", ""));

    world.write_own("trust/allowed_signers", "");
    assert_eq!(standing(&rung(world, 5)), "blocked missing_operator_outcome", "its key may not sign");
    let public = std::fs::read_to_string(world.home().join("keys/operator.pub")).unwrap();
    world.write_own("trust/allowed_signers", format!("ada namespaces=\"cto-*\" {public}"));
    assert_eq!(standing(&rung(world, 5)), "validated", "control");

    let _ = world.cto(["outcome", "@", "reject", "--reason", "slower"]).expect(0);
    assert_eq!(standing(&rung(world, 5)), "blocked outcome_rejected");
}

/// An outcome by a key that is compromised since an hour, in an entry that is dated two hours back.
#[test]
fn an_outcome_that_is_dated_back_brings_no_key_back() {
    let Some(scene) = Scene::new("an_outcome_that_is_dated_back_brings_no_key_back") else { return };
    let world = &scene.world;
    let lost = scene.make_key("lost", &[]);
    scene.approve("5");
    let run = scene.run("5", 0)["run_id"].as_str().unwrap().to_owned();
    let _ = world.cto(["outcome", "@", "accept", "--reason", "read", "--key", lost.to_str().unwrap()]).expect(0);
    assert_eq!(standing(&rung(world, 5)), "validated");
    let ago = |hours: i64| {
        let seconds = harness::RunClock::start_clock().unwrap().started().unix_seconds() - hours * 3600;
        Stamp::from_unix(Duration::from_secs(seconds.try_into().unwrap())).unwrap().to_string()
    };
    // 3: something rested on the key.
    let _ = world.cto(["trust", "key", "compromised", "lost", "--since", &ago(1)]).expect(3);
    let entries = Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    let entries = entries.run_entries(&run.clone().try_into().unwrap()).unwrap();
    let said = entries.iter().rfind(|entry| entry.is_kind(EntryKind::OutcomeRecorded)).unwrap();
    append_by_hand(world, EntryKind::OutcomeRecorded.name(), Some(&run), &ago(2), &said.body);
    assert_eq!(standing(&rung(world, 5)), "blocked missing_operator_outcome");
    std::fs::remove_file(world.home().join("trust/compromised.json")).unwrap();
    assert_eq!(standing(&rung(world, 5)), "validated", "the control: a key that may sign");
}
