//! Requests, approvals, outcomes and rollbacks that are killed at each of their places: saying it again says it, once.

use ledger::{EntryKind, Ledger};
use serde_json::{Value, json};

use super::{Ordeal, names_in, stoppable_scene};

impl Ordeal {
    fn request_now(&self) -> String {
        let request = self.scene.world.cto(self.scene.words("request", "5")).expect(0).json();
        request["request"].as_str().unwrap().to_owned()
    }

    fn packet(&self, request: &str) -> Value {
        self.scene.world.cto(["packet", request, "--json"]).expect(0).json()
    }

    fn deny(&self, request: &str) {
        let _ = self.scene.world.cto(["deny", request, "--reason", "the next row asks anew"]).expect(0);
    }

    fn count(&self, run: &str, kind: EntryKind) -> usize {
        let ledger = Ledger::open_existing_read_only(&self.scene.world.home().join("ledger.db")).unwrap();
        let entries = ledger.run_entries(&run.to_owned().try_into().unwrap()).unwrap();
        entries.iter().filter(|entry| entry.is_kind(kind)).count()
    }

    /// Every document beside the bundle is in the ledger, each with its signature, and nothing else lies there.
    fn check_statements(&self, run: &str, place: &str) {
        let said = self.count(run, EntryKind::OutcomeRecorded) + self.count(run, EntryKind::ChangeRolledBack);
        let files = names_in(&self.scene.world.home().join("statements").join(run));
        assert_eq!(files.len(), 2 * said, "{place}: {files:?}");
    }

    /// The id of a new run that landed.
    fn land(&mut self) -> String {
        let _ = self.approved();
        self.scene.run("5", 0)["run_id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_request() {
    let Some(scene) = stoppable_scene("targets::killed::people::a_request") else { return };
    let mut ordeal = Ordeal::of(scene);
    let words = ordeal.scene.words("request", "5");
    // Only the first entry that a home remembers makes the file anew.
    ordeal.kill_at(&words, "continuity.replaced");
    let _ = ordeal.settle("continuity.replaced");
    ordeal.deny(&ordeal.request_now());
    let places = ordeal.places(&words);
    assert!(places.len() >= 5, "{places:?}");
    for place in places {
        ordeal.deny(&ordeal.request_now());
        ordeal.kill_at(&words, &place);
        let _ = ordeal.settle(&place);
        let name = ordeal.request_now();
        assert_eq!(ordeal.packet(&name)["state"], "open", "{place}");
        let open = ordeal.scene.world.cto(["approvals", "--open", "--json"]).expect(0).json();
        assert_eq!(open.to_string().matches("\"state\":\"open\"").count(), 1, "{place}: {open:#}");
    }
    ordeal.end();
}

#[test]
fn an_approval() {
    let Some(scene) = stoppable_scene("targets::killed::people::an_approval") else { return };
    let mut ordeal = Ordeal::of(scene);
    let name = ordeal.request_now();
    let sentence =
        |ordeal: &Ordeal, name: &str| ordeal.packet(name)["approval_command_text"].as_str().unwrap().to_owned();
    let said = sentence(&ordeal, &name);
    let places = ordeal.places(&["approve", &name, "--sentence", &said]);
    assert!(places.len() >= 5, "{places:?}");
    ordeal.deny(&name);
    for place in places {
        let name = ordeal.request_now();
        let said = sentence(&ordeal, &name);
        let words = ["approve", &name, "--sentence", &said];
        ordeal.kill_at(&words, &place);
        let _ = ordeal.settle(&place);
        let is_said = ordeal.packet(&name)["state"] == "approved";
        let _ = ordeal.scene.world.cto(words).expect(if is_said { 3 } else { 0 });
        assert_eq!(ordeal.packet(&name)["state"], "approved", "{place}");
        let request = ordeal.request_now();
        assert_eq!(request, name, "{place}: it is requested already");
        ordeal.deny(&name);
    }
    ordeal.end();
}

/// A word before the command, the command about a request, and the state that it leaves.
const ANSWERS: &[(&str, &[&str], &str)] = &[
    ("", &["deny"], "denied"),
    ("", &["hold"], "held"),
    ("hold", &["hold", "--release"], "open"),
    ("", &["revoke"], "revoked"),
];

#[test]
fn an_answer() {
    let Some(scene) = stoppable_scene("targets::killed::people::an_answer") else { return };
    let mut ordeal = Ordeal::of(scene);
    for (first, command, state) in ANSWERS {
        let begin = |ordeal: &Ordeal| {
            let name = ordeal.request_now();
            if !first.is_empty() {
                let _ = ordeal.scene.world.cto([*first, name.as_str(), "--reason", "first"]).expect(0);
            }
            name
        };
        let name = begin(&ordeal);
        let call = |name: &str| {
            let words = [&command[..1], &[name], &command[1..], &["--reason", "no"]].concat();
            words.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let places = ordeal.places(&call(&name).iter().map(String::as_str).collect::<Vec<_>>());
        assert!(places.len() >= 4, "{command:?}: {places:?}");
        for place in places {
            let _ = ordeal.scene.world.cto(["deny", &ordeal.request_now(), "--reason", "the next row asks anew"]);
            let name = begin(&ordeal);
            let words = call(&name);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            ordeal.kill_at(&words, &place);
            let _ = ordeal.settle(&place);
            let is_said = ordeal.packet(&name)["state"] == *state;
            // A second word of the same is refused, or says it again.
            let again = ordeal.scene.world.cto(words.iter().copied());
            assert!(is_said || again.code == 0, "{command:?} {place}: {again:?}");
            assert_eq!(ordeal.packet(&name)["state"], *state, "{command:?} {place}");
        }
        ordeal.deny(&ordeal.request_now());
    }
    ordeal.end();
}

#[test]
fn an_outcome() {
    let Some(scene) = stoppable_scene("targets::killed::people::an_outcome") else { return };
    let mut ordeal = Ordeal::of(scene);
    let run = ordeal.land();
    let words = ["outcome", &run, "accept", "--reason", "read"];
    let places = ordeal.places(&words);
    assert!(places.len() >= 5, "{places:?}");
    for place in places {
        ordeal.kill_at(&words, &place);
        let _ = ordeal.settle(&place);
        ordeal.check_statements(&run, &place);
    }
    let before = ordeal.count(&run, EntryKind::OutcomeRecorded);
    let _ = ordeal.scene.world.cto(words).expect(0);
    assert_eq!(ordeal.count(&run, EntryKind::OutcomeRecorded), before + 1, "the control");
    ordeal.check_statements(&run, "the control");
}

#[test]
fn a_rollback() {
    let Some(scene) = stoppable_scene("targets::killed::people::a_rollback") else { return };
    let mut ordeal = Ordeal::of(scene);
    let run = ordeal.land();
    let places = ordeal.places(&["rollback", &run, "--reason", "slower"]);
    assert!(places.len() >= 6, "{places:?}");
    for place in places {
        let run = ordeal.land();
        let words = ["rollback", &run, "--reason", "slower"];
        ordeal.kill_at(&words, &place);
        let recovered = ordeal.settle(&place);
        ordeal.check_statements(&run, &place);
        let is_said = ordeal.count(&run, EntryKind::ChangeRolledBack) == 1;
        let cut = &recovered["landings"][0];
        assert_eq!(cut["next"].as_str().is_some_and(|next| next.starts_with("cto rollback ")), !is_said, "{place}");
        let _ = ordeal.scene.world.cto(words).expect(if is_said { 3 } else { 0 });
        assert_eq!(ordeal.count(&run, EntryKind::ChangeRolledBack), 1, "{place}: said once");
        assert_eq!(ordeal.scene.branches(), Vec::<String>::new(), "{place}");
        let _ = ordeal.settle(&place);
        let again = ordeal.scene.run("5", 3);
        assert_eq!(again["blocker_reasons"], json!(["approval_consumed"]), "{place}: a rollback gives nothing back");
    }
}
