//! The records of all recorders together.

use contract::sandbox::{
    CanaryTouch, Connection, ENTRIES_KEPT, ExecutedFile, Execution, FileKind, ObservedConduct, RefusedCall,
};

use super::super::execution::ARGUMENTS_KEPT;
use super::super::judge_conduct;
use super::{execution, told};

fn connection(address: &str) -> Connection {
    Connection { address: address.to_owned(), count: 2, comm: "curl".to_owned() }
}

fn refused(name: &str) -> RefusedCall {
    RefusedCall { name: name.to_owned(), count: 3, comm: "a\u{1b}b".to_owned() }
}

fn touch(path: &str, [opened, read, changed]: [u64; 3]) -> CanaryTouch {
    CanaryTouch { path: path.to_owned(), opened, read, changed }
}

#[test]
fn the_worst_comes_first() {
    let seen = ObservedConduct {
        refused: vec![refused("kcmp"), refused("ptrace")],
        executions: ["gh --version", "npm publish", "ls -la", "git push"].map(execution).to_vec(),
        executions_total: 4,
        connections: vec![connection("8.8.8.8:53")],
        connections_total: 2,
        canaries: vec![touch(".ssh/id_rsa", [1, 2, 0]), touch(".aws/credentials", [0, 0, 0])],
    };
    let attempts = judge_conduct("engine", &seen);
    assert_eq!(
        told(&attempts),
        [
            "forbidden_action push 1 git push",
            "forbidden_action public_publication 1 npm publish",
            "violation 3 ptrace",
            "violation 3 opened, read: the decoy ~/.ssh/id_rsa",
            "note 3 kcmp",
            "note 1 gh --version",
            "note 2 8.8.8.8:53",
        ]
    );
    assert!(attempts.iter().all(|attempt| attempt.cell == "engine"));
    let by: Vec<_> = attempts.iter().filter_map(|attempt| attempt.by.as_deref()).collect();
    assert_eq!(by, ["a␛b", "a␛b", "curl"]);
    assert_eq!(judge_conduct("engine", &ObservedConduct::default()), []);
}

#[test]
fn connections_that_stay_inside_are_left_out() {
    for (address, noted) in [
        ("8.8.8.8:53", true),
        ("[2001:db8::1]:443", true),
        ("10.0.0.1:80", true),
        ("family 40", true),
        ("127.0.0.1:80", false),
        ("127.8.8.8:53", false),
        ("[::1]:80", false),
        ("[::ffff:127.0.0.1]:80", false),
        ("127.0.0.1", true),
        ("unix:/tmp/server.sock", false),
        ("unix:@name", false),
        ("unix:", false),
        ("unix:/run/docker.sock", true),
        ("unix:/var/run/docker.sock", true),
        ("unix:/var/run/nscd/socket", false),
        ("unix:/run/systemd/userdb/io.systemd.DynamicUser", false),
        ("", true),
    ] {
        let seen = ObservedConduct {
            connections: vec![connection(address)],
            connections_total: 2,
            ..ObservedConduct::default()
        };
        let wanted = if noted { vec![format!("note 2 {address}")] } else { Vec::new() };
        assert_eq!(told(&judge_conduct("engine", &seen)), wanted);
    }
}

#[test]
fn a_program_that_is_looked_for_is_one_attempt() {
    let many = vec!["a"; ARGUMENTS_KEPT - 4].join(" ");
    let mut places = ["/usr/local/bin/git", "/usr/bin/git", "/opt/other"].map(|path| {
        let mut tried = execution(&format!("git push origin {many} 3 4 5"));
        tried.path = path.to_owned();
        tried
    });
    places[1].count = u64::MAX;
    let seen = ObservedConduct { executions: places.to_vec(), executions_total: 3, ..ObservedConduct::default() };
    let wanted = [
        format!("forbidden_action push 1 /opt/other (as git) push origin {many} 3 …"),
        format!("forbidden_action push {} git push origin {many} 3 …", u64::MAX),
    ];
    assert_eq!(told(&judge_conduct("engine", &seen)), wanted);
}

#[test]
fn what_is_counted_and_not_listed_is_said() {
    let flood = |entries: usize| (0..entries).map(|family| refused(&format!("socket family {family}"))).collect();
    let seen = |entries| ObservedConduct {
        refused: flood(entries),
        executions: vec![execution("ls")],
        executions_total: 8,
        connections: vec![connection("unix:@a")],
        connections_total: 7,
        ..ObservedConduct::default()
    };
    let notes =
        ["note 7 executions that were counted and not listed", "note 5 connections that were counted and not listed"];
    let judged = told(&judge_conduct("engine", &seen(ENTRIES_KEPT)));
    assert_eq!(judged[0], "violation 1 refused calls: more different ones than are listed");
    assert!(told(&judge_conduct("engine", &seen(1))).ends_with(&notes.map(str::to_owned)));
    for (seen, full) in [
        (ObservedConduct::default(), false),
        (ObservedConduct { executions_total: 1, ..ObservedConduct::default() }, true),
        (
            ObservedConduct { executions: vec![execution("ls")], executions_total: 1, ..ObservedConduct::default() },
            false,
        ),
        (
            ObservedConduct { connections: vec![connection("a")], connections_total: 2, ..ObservedConduct::default() },
            false,
        ),
        (
            ObservedConduct { connections: vec![connection("a")], connections_total: 3, ..ObservedConduct::default() },
            true,
        ),
        (ObservedConduct { refused: flood(ENTRIES_KEPT - 1), ..ObservedConduct::default() }, false),
        (ObservedConduct { refused: flood(ENTRIES_KEPT), ..ObservedConduct::default() }, true),
    ] {
        assert_eq!(seen.is_full(), full, "{seen:?}");
    }
    let judged = told(&judge_conduct("engine", &seen(ENTRIES_KEPT - 1)));
    assert!(judged.iter().all(|told| told.starts_with("note")), "{judged:?}");
}

fn executed(line: &str, kind: FileKind, path: &str, interpreter: &str, same_as: &str) -> Execution {
    let file = ExecutedFile {
        kind,
        path: path.to_owned(),
        interpreter: interpreter.split_whitespace().map(str::to_owned).collect(),
        same_as: (!same_as.is_empty()).then(|| same_as.to_owned()),
    };
    Execution { file: Some(file), ..execution(line) }
}

#[test]
fn a_program_counts_whatever_it_is_called() {
    use FileKind::{Memory, Named, Removed, Unknown};
    let push = "forbidden_action push 1 ";
    for (seen, wanted) in [
        (executed("./g push a", Named, "/w/g", "", "git"), format!("{push}./g (the program git, as ./g) push a")),
        (executed("./g log", Named, "/w/g", "", "git"), String::new()),
        (executed("./l push a", Named, "/usr/bin/git", "", ""), format!("{push}./l (/usr/bin/git, as ./l) push a")),
        (
            executed("./s a", Named, "/w/s", "/usr/bin/git push", ""),
            format!("{push}./s (run by /usr/bin/git push, as ./s) a"),
        ),
        (
            executed("./s a", Named, "/w/s", "/w/g push", "git"),
            format!("{push}./s (run by /w/g push, the program git, as ./s) a"),
        ),
        (executed("./s push", Named, "/w/s", "/bin/sh", ""), String::new()),
        (executed("x push a", Memory, "/memfd:x", "", ""), format!("{push}x (a memory file, as x) push a")),
        (
            executed("x push a --dry-run", Memory, "/memfd:x", "", ""),
            "note 1 x (a memory file, as x) push a --dry-run".to_owned(),
        ),
        (executed("x run", Memory, "/memfd:x", "", ""), "note 1 x (a memory file, as x) run".to_owned()),
        (executed("x commit", Removed, "/w/x", "", ""), "note 1 x (a removed file, as x) commit".to_owned()),
        (
            executed("x pr create", Removed, "/w/x", "", ""),
            "forbidden_action pr_open 1 x (a removed file, as x) pr create".to_owned(),
        ),
        (executed("x push", Unknown, "/w/l", "", ""), format!("{push}x (a file reached through /proc, as x) push")),
        (executed("x log", Unknown, "/w/l", "", ""), String::new()),
        (
            execution("/lib64/ld-linux-x86-64.so.2 --library-path /a ./git push"),
            format!("{push}/lib64/ld-linux-x86-64.so.2 --library-path /a ./git push"),
        ),
        (
            executed("/lib64/ld-linux-x86-64.so.2 ./g push", Named, "/w/g", "", "git"),
            format!("{push}/lib64/ld-linux-x86-64.so.2 (the program git, as /lib64/ld-linux-x86-64.so.2) ./g push"),
        ),
        (execution("/lib64/ld-linux-x86-64.so.2 ./make push"), String::new()),
    ] {
        let executions = vec![seen];
        let judged = told(&judge_conduct(
            "engine",
            &ObservedConduct { executions, executions_total: 1, ..ObservedConduct::default() },
        ));
        assert_eq!(judged, if wanted.is_empty() { Vec::new() } else { vec![wanted] });
    }
}
