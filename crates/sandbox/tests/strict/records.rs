//! Records of a sandbox: refused calls, executions, connections, decoys, and the results of the probe.

use sandbox::{Canary, FileKind, Namespace, Ownership, RecorderKind};
use serde_json::Value;

use crate::world::{Ask, Who, World, everybody};

#[test]
fn refused_calls_are_counted_by_name() {
    let script = format!(
        "import ctypes, socket\nlibc = ctypes.CDLL(None)\nfor _ in range(3): libc.syscall({}, 0x10000000)\n\
         libc.syscall({}, 0, 0, 0)\ntry: socket.socket(40)\nexcept OSError: pass",
        libc::SYS_unshare,
        libc::SYS_bpf
    );
    for who in everybody() {
        let world = World::new(who);
        let outcome = Ask::strict(&world, &["/usr/bin/python3", "-c", &script]).run(&world);
        let refused = &outcome.applied().seen.refused;
        let counted: Vec<_> =
            refused.iter().map(|refused| (refused.name.as_str(), refused.count, refused.comm.as_str())).collect();
        assert_eq!(counted, [("unshare", 3, "python3"), ("bpf", 1, "python3"), ("socket family 40", 1, "python3")]);
        let quiet = Ask::strict(&world, &["/bin/true"]).run(&world);
        assert_eq!(quiet.applied().seen.refused, [], "the probe's own attempts are not the program's");
    }
}

/// A process may change its own threads and wait for its children; process 1 and others are out of reach, and that is recorded.
#[test]
fn limits_and_scheduling_are_a_process_own_affair() {
    const SCRIPT: &str = "
import asyncio, ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
cores = os.sched_getaffinity(0)
def own():
    me = threading.get_native_id()
    os.sched_setaffinity(me, cores)
    os.setpriority(os.PRIO_PROCESS, me, max(1, os.getpriority(os.PRIO_PROCESS, me)))
    import resource; resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
    os.close(os.pidfd_open(os.getpid()))
t = threading.Thread(target=own); t.start(); t.join()
child = os.fork()
if child == 0:
    import time; time.sleep(600)
os.close(os.pidfd_open(child))
async def wait():
    return await (await asyncio.create_subprocess_exec('/bin/true')).wait()
print('own', asyncio.run(wait()))
limit = (ctypes.c_ulong * 2)(0, 0)
for name, call in [
    ('prlimit', lambda pid: libc.syscall(302, pid, 7, limit, 0)),
    ('scheduler', lambda pid: libc.syscall(144, pid, 5, (ctypes.c_int * 1)(0))),
    ('affinity', lambda pid: libc.syscall(203, pid, 8, (ctypes.c_ulong * 1)(1))),
    ('priority', lambda pid: libc.syscall(141, 0, pid, 19)),
    ('disk', lambda pid: libc.syscall(251, 1, pid, 3 << 13)),
    ('memory', lambda pid: libc.syscall(440, pid, 0, 0, 0, 0)),
    ('handle', lambda pid: libc.syscall(434, pid, 0)),
]:
    for pid in (1, child) if name != 'handle' else (1,):
        if call(pid) != -1: print(name, pid, 'REACHED')
if libc.syscall(141, 2, 0, 19) != -1: print('user REACHED')
os.kill(child, 9)";
    const VIOLATIONS: [&str; 5] = [
        "prlimit64_first",
        "sched_setscheduler_first",
        "sched_setaffinity_first",
        "setpriority_first",
        "ioprio_set_first",
    ];
    for who in everybody() {
        let world = World::new(who);
        let outcome = Ask::strict(&world, &["/usr/bin/python3", "-c", SCRIPT]).run(&world);
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("own 0\n", ""), "{who:?}");
        let seen = &outcome.applied().seen;
        let count =
            |name: &str| seen.refused.iter().find(|refused| refused.name == name).map_or(0, |found| found.count);
        for name in VIOLATIONS {
            assert_eq!(count(name), 1, "{name} {seen:?}");
        }
        assert_eq!((count("prlimit64"), count("setpriority"), count("pidfd_open_first")), (1, 2, 1), "{seen:?}");
        assert_eq!((count("sched_setaffinity"), count("pidfd_open"), count("process_madvise")), (1, 0, 2), "{seen:?}");
    }
    // The control: the same calls work on a child where nothing confines them. Process 1 and the whole user are left alone.
    let world = World::new(crate::world::Who::Root);
    let alone = SCRIPT
        .replace("(1, child)", "(child,)")
        .replace("else (1,)", "else ()")
        .replace("libc.syscall(141, 2, 0, 19)", "-1");
    let reached = Ask::control(&world, &["/usr/bin/python3", "-c", &alone]).run(&world).stdout;
    for name in ["prlimit", "scheduler", "affinity", "priority", "disk"] {
        assert!(reached.contains(&format!("{name} ")), "{reached}");
    }
    assert!(!reached.contains("user"), "{reached}");
}

#[test]
fn executions_are_recorded_with_their_arguments() {
    for who in everybody() {
        let world = World::new(who);
        let script = "git push origin main; for i in 1 2 3; do /bin/true $i $i; done; /bin/true 1 1; ./absent";
        let outcome = Ask::strict(&world, &["/bin/sh", "-c", script]).run(&world);
        let seen = &outcome.applied().seen;
        let of = |argv: &[&str]| seen.executions.iter().find(|execution| execution.argv == argv);
        assert!(of(&["git", "push", "origin", "main"]).unwrap().path.ends_with("/git"), "{seen:?}");
        assert_eq!(of(&["/bin/true", "1", "1"]).unwrap().count, 2, "{seen:?}");
        assert!(of(&["/bin/sh", "-c", script]).is_some(), "the program itself is the first: {seen:?}");
        assert!(of(&["./absent"]).is_some() && seen.executions_total >= 7, "{seen:?}");
    }
}

#[test]
fn a_flood_of_executions_stays_bounded_and_hides_none_that_counts() {
    let world = World::new(everybody()[0]);
    let script = "i=0; while [ $i -lt 400 ]; do /bin/true $i; i=$((i+1)); done; ./absent push";
    let outcome = Ask::strict(&world, &["/bin/sh", "-c", script]).run(&world);
    let seen = &outcome.applied().seen;
    assert_eq!((seen.executions.len(), seen.executions_total), (257, 402));
    assert_eq!(seen.executions.last().unwrap().argv, ["./absent", "push"]);
}

/// Ways to run `git` without its name, and what is recorded of the file: its kind, and the program it is.
#[test]
fn a_program_is_recognised_under_any_name() {
    const COPY: &str = "cp /usr/bin/git g";
    let memory = "import os, shutil; fd = os.memfd_create('innocent', 0)\n\
                  shutil.copyfileobj(open('/usr/bin/git', 'rb'), open(fd, 'wb', closefd=False))\n";
    let python = |script: &str| format!("python3 -c \"{memory}{script}\"");
    let loader = "$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null)";
    let git = Some("git");
    let cases = [
        ("a copy", format!("{COPY}; ./g --version"), FileKind::Named, git),
        ("a copy that was made longer", format!("{COPY}; echo >> g; ./g --version"), FileKind::Named, git),
        ("a copy that may not be read", format!("{COPY}; chmod 111 g; ./g --version"), FileKind::Named, git),
        ("a copy by a long path", format!("{COPY}; .$(printf '/.%.0s' $(seq 300))/g --version"), FileKind::Named, git),
        ("a hard link to a copy", format!("{COPY}; ln g h; rm g; ./h --version"), FileKind::Named, git),
        ("a link to a copy", format!("{COPY}; ln -s g h; ./h --version"), FileKind::Named, git),
        ("a copy by a loader", format!("{COPY}; {loader} --inhibit-cache ./g --version"), FileKind::Named, git),
        (
            "a script of a copy",
            format!("{COPY}; echo \"#!$PWD/g --version\" > s; chmod +x s; ./s"),
            FileKind::Named,
            git,
        ),
        ("a script of git", "echo '#!/usr/bin/git push' > s; chmod +x s; ./s".to_owned(), FileKind::Named, None),
        ("a memory file", python("os.execve(fd, ['x', '--version'], {})"), FileKind::Memory, git),
        ("a memory file by path", python("os.execv(f'/proc/self/fd/{fd}', ['x', '--version'])"), FileKind::Memory, git),
        (
            "a memory file by a link",
            python("os.symlink(f'/proc/self/fd/{fd}', 'l'); os.execv('l', ['x', 'y'])"),
            FileKind::Unknown,
            None,
        ),
        (
            "a removed file",
            format!(
                "{COPY}; python3 -c \"import os; fd = os.open('g', os.O_RDONLY); os.unlink('g'); os.execve(fd, ['x', 'y'], {{}})\""
            ),
            FileKind::Removed,
            git,
        ),
    ];
    for who in everybody() {
        for (way, script, kind, same_as) in &cases {
            let world = World::new(who);
            let outcome = Ask::strict(&world, &["/bin/bash", "-c", script]).run(&world);
            let files = outcome.applied().seen.executions.iter().filter_map(|execution| execution.file.as_ref());
            let found: Vec<_> = files.map(|file| (file.kind, file.same_as.as_deref())).collect();
            assert_eq!(found, [(*kind, *same_as)], "{way} as {who:?}: {:?} {}", outcome.applied().seen, outcome.stderr);
        }
        // Control: what is named as it is needs no more words.
        let world = World::new(who);
        let outcome = Ask::strict(&world, &["/bin/sh", "-c", "git --version; /bin/true; ./readme"]).run(&world);
        assert!(outcome.applied().seen.executions.iter().all(|execution| execution.file.is_none()), "{outcome:?}");
    }
}

#[test]
fn touching_a_decoy_is_recorded() {
    let canary = |path: &str| Canary { path: path.into(), content: "decoy\n".to_owned() };
    for who in everybody() {
        for (script, expected) in [
            ("cat ~/.ssh/id_rsa", vec![(".ssh/id_rsa", true, true, false)]),
            ("ls -la ~ ~/.ssh ~/.aws", vec![]),
            ("echo x > ~/.aws/credentials", vec![(".aws/credentials", true, false, true)]),
            ("cat ~/.*/*", vec![(".ssh/id_rsa", true, true, false), (".aws/credentials", true, true, false)]),
            // The program does not wait, and gets nothing the first time.
            ("grep -r decoy ~", vec![(".ssh/id_rsa", true, false, false), (".aws/credentials", true, false, false)]),
            ("chmod 600 ~/.ssh/id_rsa", vec![(".ssh/id_rsa", false, false, true)]),
            ("rm ~/.aws/credentials", vec![(".aws/credentials", false, false, true)]),
            ("mv ~/.ssh/id_rsa ~/x; cat ~/x", vec![(".ssh/id_rsa", true, true, true)]),
            // A reader that hides: no time of reading, and another name.
            ("dd if=$HOME/.ssh/id_rsa iflag=noatime", vec![(".ssh/id_rsa", true, false, false)]),
            ("ln ~/.ssh/id_rsa ~/x; dd if=$HOME/x iflag=noatime; rm ~/x", vec![(".ssh/id_rsa", true, false, true)]),
            ("cat ~/.ssh/id_rsa; touch -a -d @0 ~/.ssh/id_rsa", vec![(".ssh/id_rsa", true, false, true)]),
            // While calls keep the stage busy.
            ("(while :; do /bin/true; done) & cat ~/.ssh/id_rsa; kill $!", vec![(".ssh/id_rsa", true, true, false)]),
        ] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
            ask.confinement().canaries = vec![canary(".ssh/id_rsa"), canary(".aws/credentials")];
            let outcome = ask.run(&world);
            let touches: Vec<_> = outcome
                .applied()
                .seen
                .canaries
                .iter()
                .map(|touch| (touch.path.as_str(), touch.opened > 0, touch.read > 0, touch.changed > 0))
                .collect();
            assert_eq!(touches, expected, "{script} {outcome:?}");
        }
    }
}

#[test]
fn the_result_says_what_was_applied() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/bin/true"]);
        ask.confinement().canaries = vec![Canary { path: "x".into(), content: String::new() }];
        let outcome = ask.run(&world);
        let applied = outcome.applied();
        assert_eq!(applied.posture.namespaces.len(), 7);
        assert!(applied.posture.namespaces.contains(&Namespace::User));
        assert_eq!((applied.ids.inner_uid, applied.ids.inner_gid), (1000, 1000));
        assert_ne!(applied.ids.outer_uid, 0);
        let (root, ownership) = (applied.ids.outer_uid >= 0x7000_0000, applied.ids.ownership);
        assert_eq!((root, ownership == Ownership::Same), (who == Who::Root, who == Who::Ordinary), "{applied:?}");
        let missing: Vec<_> = applied.posture.recorders.iter().filter_map(|state| state.missing.as_ref()).collect();
        let recorders: Vec<_> = applied.posture.recorders.iter().map(|state| state.recorder).collect();
        assert_eq!(missing, Vec::<&String>::new());
        let all =
            [RecorderKind::Canaries, RecorderKind::RefusedCalls, RecorderKind::Executions, RecorderKind::Connections];
        assert_eq!(recorders, all);
        assert!(outcome.probes().len() > 40 && outcome.probes().iter().all(|probe| probe.refused));
    }
}

#[test]
fn a_confinement_that_cannot_be_built_is_an_error_and_starts_nothing() {
    for who in everybody() {
        let world = World::new(who);
        let base = || Ask::strict(&world, &["/bin/sh", "-c", "touch $WS/started"]);
        let mut absent_source = base();
        absent_source.confinement().mounts.push(sandbox::HostMount {
            source: world.path("absent"),
            target: "/absent".into(),
            access: sandbox::Access::ReadOnly,
        });
        let mut absent_directory = base();
        absent_directory.cwd = "/absent".into();
        let mut open_door = base();
        // Said to be read-only, and then hidden behind something writable: the probe finds it.
        for (source, access) in [("source", sandbox::Access::ReadOnly), ("other-run", sandbox::Access::ReadWrite)] {
            open_door.confinement().mounts.push(sandbox::HostMount {
                source: world.path(source),
                target: "/given".into(),
                access,
            });
        }
        let cases = [(absent_source, "sources"), (absent_directory, "directory"), (open_door, "probe")];
        for (ask, step) in cases {
            let told = ask.told(&world);
            assert_eq!(told["failure"]["step"], Value::from(step), "{told}");
            let open = told["probes"].as_array().unwrap().iter().filter(|probe| probe["refused"] == false).count();
            assert_eq!(open, usize::from(step == "probe"), "{told}");
            assert!(!world.path("workspace/started").exists());
        }
    }
}
