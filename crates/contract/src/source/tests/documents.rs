//! Documents that load, and what is known about them afterwards.

use serde_json::json;

use super::sample::{Action, Argv, JSON, Sample, YAML};
use crate::source::{SourceRule, Span, ValueKind, check_node, load, read, schema_for, unenforced};

fn yaml(text: &str) -> Sample {
    load::<Sample>("a.yaml", text.as_bytes()).unwrap().value
}

#[test]
fn both_formats_load_to_the_same_value() {
    let from_json = load::<Sample>("a.json", JSON.as_bytes()).unwrap().value;
    let from_yaml = yaml(YAML);
    assert_eq!(from_yaml, from_json);
    assert_eq!(from_yaml.title, "no: 😀");
    assert_eq!(from_yaml.forbidden_actions, Some(vec![Action::Push, Action::Deploy]));
    assert_eq!(from_yaml.argv, Some(Argv::Words(vec!["a".into(), "2".into()])));
}

#[test]
fn json_text_is_also_yaml() {
    let ascii = JSON.replace("\\ud83d\\ude00", "😀");
    assert_eq!(yaml(&ascii), yaml(YAML));
}

#[test]
fn absence_that_is_judged_later_is_no_problem() {
    let loaded = yaml("task_id: a\ntitle: b\nrisk_class: low\n");
    assert_eq!(loaded.forbidden_actions, None);
    let schema = schema_for::<Sample>();
    assert!(schema["required"].as_array().unwrap().contains(&json!("forbidden_actions")));
}

#[test]
fn unquoted_words_follow_the_core_schema() {
    let kinds = |text: &str| match read("a.yaml", text).node.unwrap().kind {
        ValueKind::Seq(items) => items.into_iter().map(|item| item.kind).collect::<Vec<_>>(),
        other => vec![other],
    };
    let text = |word: &str| ValueKind::Text(word.to_owned());
    let number = |word: &str| ValueKind::Float(word.to_owned());
    assert_eq!(
        kinds("[true, false, null, ~, ]"),
        [ValueKind::Bool(true), ValueKind::Bool(false), ValueKind::Null, ValueKind::Null]
    );
    assert_eq!(kinds("[no, yes, on, True, NULL]"), ["no", "yes", "on", "True", "NULL"].map(text));
    assert_eq!(kinds("[0, -7, 12]"), [ValueKind::Int(0), ValueKind::Int(-7), ValueKind::Int(12)]);
    let odd = ["1.5", "-.5", "1e3", "5.", ".inf", ".nan", "0x1F", "0o17", "007", "+7", "99999999999999999999"];
    assert_eq!(kinds(&format!("[{}]", odd.join(", "))), odd.map(number));
    assert_eq!(kinds("[1.2.3, 1-2, e3, '12', 0xZ, .]"), ["1.2.3", "1-2", "e3", "12", "0xZ", "."].map(text));
    assert_eq!(kinds(""), [ValueKind::Null]);
}

#[test]
fn spans_point_at_values_and_fall_back_to_what_is_around_them() {
    let at = |line, column, length| Span { line, column, length };
    for (file, text, expected) in [
        ("a.yaml", YAML, [at(4, 13, 9), at(8, 5, 2), at(9, 1, 6), at(11, 12, 1), at(13, 5, 1), at(1, 1, 0)]),
        ("a.json", JSON, [at(4, 17, 11), at(6, 31, 4), at(7, 3, 8), at(7, 45, 4), at(8, 14, 1), at(1, 1, 0)]),
    ] {
        let spans = load::<Sample>(file, text.as_bytes()).unwrap().spans;
        let paths: [&[&str]; 6] = [
            &["risk_class"],
            &["allowed_paths", "1"],
            &["limits", "nothing_here"],
            &["limits", "retries"],
            &["checks", "0", "timeout"],
            &["absent", "deeper"],
        ];
        assert_eq!(paths.map(|path| spans.span_at(path)), expected, "{file}");
    }
}

#[test]
fn a_later_check_can_point() {
    let loaded = load::<Sample>("a.yaml", YAML.as_bytes()).unwrap();
    let problem = loaded.spans.problem(&["allowed_paths", "1"], SourceRule::Invalid, "`no` matches nothing");
    insta::assert_snapshot!(problem.plain(), @"a.yaml:8:5: error: `no` matches nothing");
    assert_eq!(problem.key.as_deref(), Some("allowed_paths.1"));
}

#[test]
fn problems_as_json() {
    let problems = load::<Sample>("a.yaml", b"task_id: a\ntitle: b\nrisk_class: lwo\n").unwrap_err();
    insta::assert_snapshot!(serde_json::to_string(&problems.problems).unwrap(), @r#"[{"file":"a.yaml","line":3,"column":13,"rule":"not_allowed","key":"risk_class","found":"lwo","message":"`lwo` is not one of the values of `risk_class`","suggestion":"low","note":"one of: low, very-high"}]"#);
}

#[test]
fn what_the_schema_says_is_enforced() {
    assert_eq!(unenforced(&schema_for::<Sample>()), Vec::<String>::new());
    let leaky = json!({"properties": {"a": {"type": "string", "pattern": "("}}, "not": {}, "x-note": 1});
    insta::assert_snapshot!(unenforced(&leaky).join("\n"), @"
    #: `not` is not enforced
    #: unknown keys are accepted
    #/properties/a: the pattern cannot be read
    ");
}

#[test]
fn a_schema_that_runs_in_a_circle_is_a_problem() {
    let schema = json!({"$ref": "#"});
    let node = read("a.yaml", "a: 1").node.unwrap();
    assert_eq!(check_node(&node, &schema, &schema)[0].rule, SourceRule::Invalid);
}
