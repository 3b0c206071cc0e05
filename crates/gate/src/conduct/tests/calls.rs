//! The table of calls against the sandbox's own table, of which it must know every name that can be reported.

use super::super::Counts;
use super::super::calls::{CALLS, judge};
use contract::sandbox::ENTRIES_KEPT;

const TABLE: &str = include_str!("../../../../sandbox/src/strict/seccomp/table.rs");
const RECORDER: &str = include_str!("../../../../sandbox/src/strict/seccomp/recorder.rs");

/// Names that rules of the sandbox report: `rule("name", ..)`, and `name = SYS_..` after `calls! { Action::Report`.
fn reported() -> Vec<&'static str> {
    let rules = TABLE.split("rule(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    let lists = TABLE.split("calls! { Action::Report").skip(1).filter_map(|rest| rest.split("};").next());
    let listed = lists
        .flat_map(|list| list.split(','))
        .filter_map(|call| call.split(" = SYS_").next()?.split([';', '\n']).next_back());
    rules.chain(listed.map(str::trim).filter(|name| !name.is_empty())).collect()
}

#[test]
fn every_call_the_sandbox_reports_has_a_verdict() {
    let reported = reported();
    assert!(reported.len() > 60 && reported.contains(&"mount") && reported.contains(&"vhangup"), "{reported:?}");
    assert!(reported.contains(&"_sysctl") && reported.contains(&"mknod_set_id") && !reported.contains(&"clone3"));
    // The recorder names sockets by their family.
    assert!(RECORDER.contains("SYS_socket | libc::SYS_socketpair") && RECORDER.contains("\"socket family {}\""));
    let known: Vec<&str> = CALLS.iter().flat_map(|call| call.names).copied().collect();
    let sockets = ["socket", "socketpair"];
    let missing: Vec<&&str> = reported.iter().filter(|name| !known.contains(name) && !sockets.contains(name)).collect();
    assert_eq!(missing, [&""; 0]);
    let gone: Vec<&&str> =
        known.iter().filter(|name| !reported.contains(name) && **name != "socket family *").collect();
    assert_eq!(gone, [&""; 0], "nothing reports these");
}

#[test]
fn a_name_is_in_the_table_once_and_unknown_ones_are_violations() {
    let mut known: Vec<&str> = CALLS.iter().flat_map(|call| call.names).copied().collect();
    let all = known.len();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), all);
    for (name, wanted) in [
        ("ptrace", Counts::Violation),
        ("unshare", Counts::Violation),
        ("kcmp", Counts::Note),
        ("socket family 40", Counts::Note),
        ("socket family", Counts::Violation),
        ("call 467", Counts::Violation),
        ("PTRACE", Counts::Violation),
        ("syslog2", Counts::Violation),
        ("", Counts::Violation),
    ] {
        assert_eq!(judge(name), wanted, "{name}");
    }
}

#[test]
fn as_many_entries_are_kept_as_the_recorder_keeps() {
    assert!(RECORDER.contains(&format!("const ENTRIES_MAX: usize = {ENTRIES_KEPT};")));
}
