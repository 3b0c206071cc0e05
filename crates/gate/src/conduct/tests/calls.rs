//! The table of calls against the sandbox's own table, of which it must know every name that can be reported.

use super::super::Counts;
use super::super::calls::{CALLS, judge_call};

const TABLE: &str = include_str!("../../../../sandbox/src/strict/seccomp/table.rs");
const RECORDER: &str = include_str!("../../../../sandbox/src/strict/seccomp/recorder.rs");

/// Names that rules of the sandbox report: `rule("name", ..)`, `name = SYS_..` after `calls! { Action::Report`, and both
/// names that `calls_on_processes!` makes of each of its calls.
fn reported() -> Vec<String> {
    let rules = TABLE.split("rule(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    let lists = TABLE.split("calls! { Action::Report").skip(1).filter_map(|rest| rest.split("};").next());
    let listed = lists
        .flat_map(|list| list.split(','))
        .filter_map(|call| call.split(" = SYS_").next()?.split([';', '\n']).next_back());
    let whole = rules.chain(listed.map(str::trim).filter(|name| !name.is_empty())).map(str::to_owned);
    let on_processes = TABLE.split("calls_on_processes! {").nth(1).and_then(|rest| rest.split("};").next());
    let on_processes =
        on_processes.into_iter().flat_map(|list| list.split(',')).filter(|call| call.contains(" = SYS_"));
    let names = on_processes.filter_map(|call| call.trim().split(" = SYS_").next());
    whole.chain(names.flat_map(|name| [name.to_owned(), format!("{name}_first")])).collect()
}

#[test]
fn every_call_the_sandbox_reports_has_a_verdict() {
    let reported = reported();
    let has = |name: &str| reported.iter().any(|reported| reported == name);
    assert!(reported.len() > 80 && has("mount") && has("vhangup") && has("move_pages_first"), "{reported:?}");
    assert!(has("_sysctl") && has("mknod_set_id") && !has("clone3"));
    // The recorder names sockets by their family.
    assert!(RECORDER.contains("SYS_socket | libc::SYS_socketpair") && RECORDER.contains("\"socket family {}\""));
    let known: Vec<&str> = CALLS.iter().flat_map(|call| call.names).copied().collect();
    let sockets = ["socket", "socketpair"];
    let is_known = |name: &&String| known.contains(&name.as_str()) || sockets.contains(&name.as_str());
    let missing: Vec<&String> = reported.iter().filter(|name| !is_known(name)).collect();
    assert_eq!(missing, [""; 0]);
    let gone: Vec<&&str> = known.iter().filter(|name| !has(name) && **name != "socket family *").collect();
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
        ("prlimit64_first", Counts::Violation),
        ("prlimit64", Counts::Note),
        ("socket family 40", Counts::Note),
        ("socket family", Counts::Violation),
        ("call 467", Counts::Violation),
        ("PTRACE", Counts::Violation),
        ("syslog2", Counts::Violation),
        ("", Counts::Violation),
    ] {
        assert_eq!(judge_call(name), wanted, "{name}");
    }
}
