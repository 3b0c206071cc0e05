//! The conversation of Case: phases and tools from its event log, requests with their tokens.

use super::scene::{Scene, TASK, good};

#[test]
fn phases_and_requests_are_told_in_words() {
    let mut scene = Scene::new(good());
    scene.climb();
    let _ = scene.run(TASK, "2", 0);
    let text = scene.cto(&["logs", "@"]).expect(0).text();
    for wanted in ["implement begins (implementer)", "the pipeline ended: completed", "model   request ", " tokens"] {
        assert!(text.contains(wanted), "no `{wanted}` in\n{text}");
    }
    let json = scene.cto(&["logs", "@", "--json"]).expect(0).json();
    assert!(json["requests"].as_u64().unwrap() >= 3 && json["tokens"].as_u64().unwrap() > 0, "{json}");
}
