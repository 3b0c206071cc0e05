//! Surroundings of the program: input, environment, directory, descriptors, session and limits, and nothing else.

use sandbox::{HeldLimit, How, LimitBy, LimitKind, ProcessLimits};

use crate::world::{program, run, sh, stdout};

#[test]
fn standard_input_is_what_was_given() {
    let large: Vec<u8> = (0..=255).cycle().take(5_000_000).collect();
    for stdin in [None, Some(Vec::new()), Some(b"hello".to_vec()), Some(large)] {
        let mut spec = program(&["/bin/cat"]);
        spec.stdin.clone_from(&stdin);
        let ended = run(&spec);
        assert_eq!(ended.how, How::Exited { code: 0 });
        assert!(ended.stdout.text_bytes() == stdin.unwrap_or_default());
    }
}

#[test]
fn a_program_that_ignores_its_input_still_ends() {
    let mut spec = sh("exit 4");
    spec.stdin = Some(vec![0; 3_000_000]);
    assert_eq!(run(&spec).how, How::Exited { code: 4 });
}

#[test]
fn the_environment_is_exactly_as_given_and_the_marker() {
    let mut spec = program(&["/usr/bin/env"]);
    spec.env = vec![("ONE".to_owned(), "1".to_owned()), ("EMPTY".to_owned(), String::new())];
    let mut lines: Vec<_> = stdout(&run(&spec)).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["EMPTY=".to_owned(), "ONE=1".to_owned(), format!("{}={}", spec.marker.0, spec.marker.1)]);
}

#[test]
fn the_stage_itself_has_no_environment() {
    assert_eq!(stdout(&run(&sh("cat /proc/$PPID/environ; echo end"))), "end\n");
}

#[test]
fn a_path_with_a_slash_and_the_directory_mean_the_given_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::copy("/bin/sh", root.join("tool")).unwrap();
    let mut spec = program(&["./tool", "-c", "echo $0; pwd"]);
    spec.cwd = root.clone();
    assert_eq!(stdout(&run(&spec)), format!("./tool\n{}\n", root.display()));
}

#[test]
fn only_the_three_standard_descriptors_reach_it() {
    for (stdin, target) in [(None, "/dev/null"), (Some(b"x".to_vec()), "/memfd:stdin")] {
        let mut spec = sh("ls /proc/self/fd; readlink /proc/self/fd/0");
        spec.stdin = stdin;
        let ended = run(&spec);
        // `ls` itself opens one more, the lowest that is free; what the test runner passes down is known and named.
        let mut listed: Vec<u32> = stdout(&ended).lines().filter_map(|line| line.parse().ok()).collect();
        let own = (3..).find(|fd| !ended.inherited_fds.contains(fd)).unwrap();
        let mut expected: Vec<u32> = [&[0, 1, 2, own], ended.inherited_fds.as_slice()].concat();
        expected.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, expected);
        assert!(stdout(&ended).contains(target), "{}", stdout(&ended));
    }
}

#[test]
fn it_leads_a_group_of_its_own_in_the_session_of_the_stage() {
    let ended = run(&sh(
        "read -r _ _ _ parent group session _ < /proc/self/stat; echo $parent $group $session; echo $PPID $$ $PPID",
    ));
    let text = stdout(&ended);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], lines[1]);
}

#[test]
fn limits_bite_and_without_them_it_works() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let big_file = format!("head -c 5000000 /dev/zero > {}", file.display());
    let memory = ProcessLimits { memory_bytes: Some(128 << 20), ..ProcessLimits::default() };
    let size = ProcessLimits { file_bytes: Some(1_000_000), ..ProcessLimits::default() };
    let files = ProcessLimits { open_files: Some(20), ..ProcessLimits::default() };
    let cases = [
        (memory, "dd if=/dev/zero of=/dev/null bs=256M count=1"),
        (size, big_file.as_str()),
        (files, "exec 3</dev/null; ulimit -n 64"),
    ];
    for (limits, script) in cases {
        let mut spec = sh(script);
        let free = run(&spec);
        assert_eq!(free.how, How::Exited { code: 0 }, "control: {script}");
        spec.limits = limits;
        let bound = run(&spec);
        assert_ne!(bound.how, How::Exited { code: 0 }, "{script}");
        assert_eq!(bound.limits, limits.rules(), "{script}");
    }
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 1_000_000);
}

#[test]
fn limits_say_what_is_set_and_how() {
    let rule = |kind, value| HeldLimit { kind, by: LimitBy::Rlimit, value };
    assert_eq!(ProcessLimits::default().rules(), [rule(LimitKind::CoreSize, 0)]);
    let tiny = ProcessLimits { memory_bytes: Some(1), file_bytes: Some(1), open_files: Some(1) };
    let expected = [
        rule(LimitKind::Memory, 32 << 20),
        rule(LimitKind::FileSize, 1),
        rule(LimitKind::OpenFiles, 16),
        rule(LimitKind::CoreSize, 0),
    ];
    assert_eq!(tiny.rules(), expected);
    let mut spec = sh("sleep 600 & exit 5");
    spec.limits = tiny;
    spec.stdin = Some(vec![0; 64 << 20]);
    let ended = run(&spec);
    assert_eq!(ended.how, How::Exited { code: 5 }, "the stage works under the smallest limits");
    assert_eq!((ended.limits, ended.leftovers.killed), (expected.to_vec(), 1));
}
