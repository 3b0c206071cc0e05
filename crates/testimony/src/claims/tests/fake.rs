//! The fake engine's result line.

use contract::claim::Speech;

use super::{Seen, check, failing, good, idle};

fn result(claims: &str) -> String {
    format!("{{\"type\":\"step\",\"n\":1,\"do\":\"apply\"}}\n{{\"type\":\"result\",\"claims\":{claims}}}\n")
}

#[test]
fn fields() {
    let changed = r#"{"files_changed":["src/app.py","./test/test_app.py","src/app.py"]}"#;
    for (claims, seen, wanted) in [
        (
            r#"{"status":"success","tests_passed":true}"#,
            good(),
            vec!["claims.status success true: supported", "claims.tests_passed tests true: supported"],
        ),
        (
            r#"{"status":"success","tests_passed":true}"#,
            failing(),
            vec!["! claims.status success true: contradicted", "! claims.tests_passed tests true: contradicted"],
        ),
        (r#"{"status":"success"}"#, idle(), vec!["! claims.status success true: contradicted"]),
        (
            r#"{"status":"success"}"#,
            Seen { diff_required: false, ..idle() },
            vec!["claims.status success true: unverifiable"],
        ),
        (
            r#"{"status":"failure","tests_passed":false}"#,
            good(),
            vec!["claims.status success false: unverifiable", "claims.tests_passed tests false: unverifiable"],
        ),
        (
            r#"{"status":"failure","tests_passed":false}"#,
            failing(),
            vec!["claims.status success false: supported", "claims.tests_passed tests false: supported"],
        ),
        (r#"{"commit":"1a2b3c4d5e"}"#, good(), vec!["claims.commit commit 1a2b3c4: supported"]),
        (
            r#"{"commit":"9FCEB02D0AE598E95DC970B74767F19372D61AF8"}"#,
            good(),
            vec!["! claims.commit commit 9FCEB02: contradicted"],
        ),
        (r#"{"commit":"HEAD"}"#, good(), vec!["! claims.commit commit HEAD: contradicted"]),
        (r#"{"commit":"deadbeef"}"#, good(), vec!["claims.commit commit deadbee: unverifiable"]),
        (changed, good(), vec!["claims.files_changed changed [src/app.py ./test/test_app.py]: supported"]),
        (
            r#"{"files_changed":["src/app.py"]}"#,
            good(),
            vec!["! claims.files_changed changed [src/app.py]: contradicted"],
        ),
        (
            r#"{"files_changed":["src/app.py","test/test_app.py","x"]}"#,
            good(),
            vec!["! claims.files_changed changed [src/app.py test/test_app.py x]: contradicted"],
        ),
        (r#"{"files_changed":[]}"#, good(), vec!["! claims.files_changed changed []: contradicted"]),
        (r#"{"files_changed":[]}"#, idle(), vec!["claims.files_changed changed []: supported"]),
        (r#"{"review":"approved"}"#, good(), vec!["claims.review other review: approved: unverifiable"]),
        (r#"{"review":"rejected"}"#, failing(), vec!["claims.review other review: rejected: unverifiable"]),
        (r#"{"message":"All tests pass."}"#, failing(), vec!["tests_pass tests true: contradicted (prose)"]),
        ("{}", good(), vec![]),
        (r#"{"status":"pass"}"#, good(), vec![]),
        (r#"{"status":"success","more":1}"#, good(), vec![]),
        ("null", good(), vec![]),
    ] {
        check(Speech::Fake, result(claims), &seen, &wanted);
    }
}

#[test]
fn the_last_readable_result_counts() {
    let two = result(r#"{"tests_passed":true}"#) + &result(r#"{"tests_passed":false}"#);
    check(Speech::Fake, &two, &good(), &["claims.tests_passed tests false: unverifiable"]);
    check(Speech::Fake, two + "{\"type\":\"result\"}\n", &good(), &["claims.tests_passed tests false: unverifiable"]);
}
