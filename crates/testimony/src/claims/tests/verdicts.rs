//! Verdicts on claims (supported, contradicted, unverifiable), kind by kind, with their texts.

use contract::claim::{Claim, ClaimSource, ClaimVerdict, Saying};

use super::{BAD, GOOD, Seen, failing, good, idle, judge_all};
use ClaimVerdict::{Contradicted, Supported, Unverifiable};

fn check(saying: Saying, seen: &Seen, verdict: ClaimVerdict, words: &str) {
    for source in [ClaimSource::Structured, ClaimSource::Prose] {
        let claim = Claim { saying: saying.clone(), source, found_in: "f".into() };
        let judged = judge_all(vec![claim.clone()], seen);
        assert_eq!(judged.len(), 1);
        assert_eq!((judged[0].verdict, judged[0].seen.as_str()), (verdict, words), "{saying:?} in {seen:?}");
        assert_eq!(judged[0].claim, claim);
    }
}

#[test]
fn success_and_tests() {
    let unwanted = Seen { diff_required: false, ..idle() };
    let hollow = Seen { tests_passed: Some(true), ..idle() };
    let plain = Seen { tests_passed: Some(true), ..unwanted.clone() };
    let unseen = Seen { tests_passed: None, ..good() };
    for (saying, seen, verdict, words) in [
        (Saying::Success(true), good(), Supported, "the verification passed"),
        (Saying::Success(true), plain, Supported, "the verification passed"),
        (Saying::Success(true), failing(), Contradicted, "the verification did not pass"),
        (Saying::Success(true), hollow.clone(), Contradicted, "nothing changed, and the contract requires a change"),
        (Saying::Success(true), idle(), Contradicted, "nothing changed, and the contract requires a change"),
        (Saying::Success(true), unseen.clone(), Unverifiable, "no verification was run"),
        (Saying::Success(true), unwanted.clone(), Unverifiable, "no verification was run"),
        (Saying::Success(false), good(), Unverifiable, "the verification passed all the same"),
        (Saying::Success(false), failing(), Supported, "the verification did not pass"),
        (Saying::Success(false), idle(), Supported, "nothing changed, and the contract requires a change"),
        (Saying::Success(false), unwanted, Unverifiable, "no verification was run"),
        (Saying::TestsPassed(true), good(), Supported, "the verification passed"),
        (Saying::TestsPassed(true), hollow, Supported, "the verification passed"),
        (Saying::TestsPassed(true), failing(), Contradicted, "the verification did not pass"),
        (Saying::TestsPassed(true), unseen.clone(), Unverifiable, "no verification was run"),
        (Saying::TestsPassed(false), good(), Unverifiable, "the verification passed all the same"),
        (Saying::TestsPassed(false), failing(), Supported, "the verification did not pass"),
        (Saying::TestsPassed(false), unseen, Unverifiable, "no verification was run"),
        (
            Saying::Other("review: approved".into()),
            failing(),
            Unverifiable,
            "the harness has nothing to compare it with",
        ),
    ] {
        check(saying, &seen, verdict, words);
    }
}

#[test]
fn commits() {
    let no_id = (Contradicted, "that is not the id of a commit");
    let unknown = (Unverifiable, "it cannot be told whether that commit holds the result");
    let mut seen = good();
    seen.commits.push(("abcdef0123".into(), None));
    for (id, (verdict, words)) in [
        (GOOD, (Supported, "that commit holds the result")),
        (&GOOD[..7], (Supported, "that commit holds the result")),
        (&GOOD.to_uppercase(), (Supported, "that commit holds the result")),
        (BAD, (Contradicted, "no commit of that id holds the result")),
        (&BAD[..7], (Contradicted, "no commit of that id holds the result")),
        (&GOOD[..6], no_id),
        (&GOOD[1..], unknown),
        ("abcdef0", unknown),
        ("0000000", unknown),
        ("", no_id),
        ("main", no_id),
        ("zzzzzzz", no_id),
        ("1a2b3c4 ", no_id),
        (&"a".repeat(64), unknown),
        (&"a".repeat(65), no_id),
    ] {
        check(Saying::Commit(id.into()), &seen, verdict, words);
    }
}

#[test]
fn lists() {
    let list = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
    for (files, verdict, words) in [
        (&["src/app.py", "test/test_app.py"][..], Supported, "these files changed, and no others"),
        (&["src/app.py"], Contradicted, "1 changed file not listed: test/test_app.py"),
        (&["src/app.py", "a", "b"], Contradicted, "2 listed files did not change: a, b"),
        (&["a", "b", "c", "d"], Contradicted, "4 listed files did not change: a, b, c, .."),
        (&["src", "test/test_app.py"], Unverifiable, "1 listed file cannot be told apart: src"),
    ] {
        check(Saying::FilesChanged(list(files)), &good(), verdict, words);
    }
    for (files, verdict, words) in [
        (&["src/app.py"][..], Supported, "each of these files changed"),
        (&["/w/src/app.py", "/tmp/x"], Unverifiable, "1 touched file not among those that changed: /tmp/x"),
        (&["src"], Unverifiable, "1 touched file not among those that changed: src"),
    ] {
        check(Saying::FilesTouched(list(files)), &good(), verdict, words);
    }
}
