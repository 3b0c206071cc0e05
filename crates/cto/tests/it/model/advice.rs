//! Remedies about a model, pasted in the state that prints them.

use testkit::Ran;

use super::scene::{PAIR, Scene, asking};
use crate::advice::{Shell, printed_remedies};

/// Pair that is asked for, exit of the run, and its reason.
const ROWS: [(&str, i32, &str); 2] = [("prov/other", 3, "model_not_admitted"), (PAIR, 1, "model_evidence_missing")];

#[test]
fn what_is_printed_about_a_model_can_be_pasted() {
    for (pair, code, reason) in ROWS {
        let scene = Scene::new();
        scene.settle();
        let case = scene.case(&[], &asking(&[]));
        let run = || -> Ran { scene.cto(&["run", case.to_str().unwrap(), "--model", pair]) };
        let ran = run().expect(code);
        let reasons: Vec<String> = printed_remedies(&ran).into_iter().map(|printed| printed.reason).collect();
        assert_eq!(reasons, [reason]);
        let shell = Shell { cto: &|words| scene.cto(words), repository: &scene.world.here() };
        assert_eq!(shell.paste_all(&ran, &run), 1, "{reason}");
    }
}
