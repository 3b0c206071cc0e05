//! A report of which every text that may be any is the same hostile one.

use contract::Report;
use serde_json::{Value, json};

/// The report with this text.
pub(crate) fn hostile_report(text: &str) -> Report {
    serde_json::from_value(fill_texts(sample_report(), text)).unwrap()
}

/// A report of a run that failed, with a claim and refused attempts.
fn sample_report() -> Value {
    let mut report: Value = serde_json::from_str(include_str!("../golden/v1.1-rules-1.3/fail/report.json")).unwrap();
    report["claims"] = json!([{"about": "other", "said": "x", "source": "prose", "found_in": "x", "verdict": "contradicted", "seen": "x"}]);
    report["sandbox"]["violations"] = json!(["x"]);
    report["forbidden_actions_attempted"] = json!(["x"]);
    report
}

/// Exchanges each text of a report for another wherever the report's types take it.
fn fill_texts(report: Value, text: &str) -> Value {
    let mut places = Vec::new();
    find_texts(&report, String::new(), &mut places);
    let fits = |report: &Value| serde_json::from_value::<Report>(report.clone()).is_ok();
    assert!(fits(&report), "{:?}", serde_json::from_value::<Report>(report).err());
    let (mut filled, mut count) = (report, 0);
    for place in places {
        let kept = filled.pointer(&place).cloned().unwrap();
        *filled.pointer_mut(&place).unwrap() = json!("<b>x");
        match fits(&filled) {
            true => {
                *filled.pointer_mut(&place).unwrap() = json!(text);
                count += 1;
            }
            false => *filled.pointer_mut(&place).unwrap() = kept,
        }
    }
    assert!(count > 30, "{count} texts of a report can be any");
    filled
}

/// Places of all strings.
fn find_texts(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, one)| find_texts(one, format!("{place}/{at}"), found));
        }
        Value::Object(map) => map.iter().for_each(|(key, one)| {
            find_texts(one, format!("{place}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        _ => {}
    }
}
