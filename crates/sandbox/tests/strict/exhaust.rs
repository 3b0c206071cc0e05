//! Using up memory, disk, inodes, processes and output: each is stopped at its limit, and the result says by what.

use sandbox::{ConfinedWorkspace, How, LimitBy, LimitKind, ProcessLimits, Space, Upper, Watched, WorkspaceFrom};

use crate::world::{Ask, Outcome, Who, World, everybody, program_as, stage_exe};

fn by(outcome: &Outcome, kind: LimitKind) -> Vec<LimitBy> {
    outcome.limits.iter().filter(|rule| rule.kind == kind).map(|rule| rule.by).collect()
}

#[test]
fn memory_ends_at_its_limit() {
    // Each holds what it ate until the other has eaten too, or has died of it.
    const EAT: &str = "
import os
told, tell = os.pipe()
held, hold = os.pipe()
pids = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        os.close(hold)
        data = bytearray(80 << 20)
        for i in range(0, len(data), 4096): data[i] = 1
        print('ate', flush=True)
        os.close(tell)
        os.read(held, 1)
        os._exit(0)
    pids.append(pid)
os.close(tell)
os.read(told, 1)
os.close(hold)
print([os.waitpid(pid, 0)[1] for pid in pids])";
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/usr/bin/python3", "-c", EAT]);
        let free = ask.run(&world);
        assert_eq!(free.stdout, "ate\nate\n[0, 0]\n", "control: {free:?}");
        ask.limits = ProcessLimits { memory_bytes: Some(60 << 20), ..ProcessLimits::default() };
        let bound = ask.run(&world);
        assert_eq!(bound.stdout.matches("ate").count(), 0, "{bound:?}");
        match by(&bound, LimitKind::Memory).as_slice() {
            [LimitBy::Cgroup] => assert_eq!(bound.limit_hits, [LimitKind::Memory], "{bound:?}"),
            [LimitBy::Rlimit] => println!("as {who:?} memory is limited for each process only"),
            other => panic!("{other:?}"),
        }
        if by(&bound, LimitKind::Memory) == [LimitBy::Cgroup] {
            // Each alone would fit; together they do not.
            ask.limits.memory_bytes = Some(120 << 20);
            let shared = ask.run(&world);
            assert_eq!(shared.limit_hits, [LimitKind::Memory], "{shared:?}");
            // Which one dies, and when, is the kernel's choice: perhaps the one that has eaten already.
            assert!(!shared.stdout.contains("[0, 0]"), "{shared:?}");
        }
    }
}

#[test]
fn private_space_ends_at_its_limit() {
    let fill =
        "head -c 6M /dev/zero > $HOME/file; head -c 6M /dev/zero > /tmp/file; exec 2>&1; du -cm $HOME /tmp | tail -n1";
    let many = "i=0; while [ $i -lt 300 ] && : > /tmp/$i; do i=$((i+1)); done; echo $i";
    let control = Space { bytes: 64 << 20, inodes: 10_000 };
    for who in everybody() {
        for (script, space, kind) in [
            (fill, Space { bytes: 4 << 20, ..control }, LimitKind::Disk),
            (many, Space { inodes: 100, ..control }, LimitKind::Inodes),
        ] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
            ask.confinement().private = control;
            let free = ask.run(&world);
            assert_eq!((free.limit_hits.as_slice(), free.stderr.as_str()), (&[][..], ""), "{free:?}");
            ask.confinement().private = space;
            let bound = ask.run(&world);
            assert_eq!(bound.limit_hits, [kind], "{bound:?}");
            assert_eq!(by(&bound, kind), [LimitBy::Tmpfs]);
            assert!(bound.stderr.contains("No space left") || bound.stdout.contains("No space left"), "{bound:?}");
        }
    }
}

#[test]
fn a_workspace_in_memory_ends_at_its_limit() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/bin/sh", "-c", "head -c 8M /dev/zero > big; wc -c < big"]);
        for (bytes, fits) in [(32 << 20, true), (2 << 20, false)] {
            ask.confinement().workspace = ConfinedWorkspace {
                target: world.path("workspace"),
                from: WorkspaceFrom::Layers {
                    lower: vec![world.path("workspace")],
                    upper: Upper::Memory(Space { bytes, inodes: 1000 }),
                },
            };
            let outcome = ask.run(&world);
            assert_eq!(outcome.stdout.trim() == "8388608", fits, "{outcome:?}");
            assert!(!world.path("workspace/big").exists());
        }
    }
}

#[test]
fn file_size_open_files_and_output_end_at_their_limits() {
    let sparse = "import os; fd = os.open('sparse', os.O_CREAT | os.O_WRONLY | os.O_TRUNC); os.truncate(fd, 1 << 40); print('REACHED')";
    let files = "fds = [open('/dev/null') for _ in range(100)]; print('REACHED')";
    let limited = |file_bytes, open_files| ProcessLimits { memory_bytes: None, file_bytes, open_files };
    for who in everybody() {
        for (script, limits, kind) in [
            (sparse, limited(Some(1 << 20), None), LimitKind::FileSize),
            (files, limited(None, Some(50)), LimitKind::OpenFiles),
        ] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/usr/bin/python3", "-c", script]);
            assert!(ask.run(&world).stdout.contains("REACHED"), "control: {script}");
            ask.limits = limits;
            let bound = ask.run(&world);
            assert!(!bound.stdout.contains("REACHED") && by(&bound, kind) == [LimitBy::Rlimit], "{bound:?}");
        }
        let world = World::new(who);
        let mut flood = Ask::strict(&world, &["/usr/bin/yes"]);
        flood.output_bytes = 100_000;
        let outcome = flood.run(&world);
        assert!(outcome.output_exceeded && !outcome.timed_out, "{who:?}");
    }
}

#[test]
fn the_smallest_limits_still_start_a_program() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/bin/sh", "-c", "exit 5"]);
        ask.limits = ProcessLimits { memory_bytes: Some(1), file_bytes: Some(1), open_files: Some(1) };
        ask.confinement().private = Space { bytes: 1, inodes: 1 };
        ask.confinement().processes = Some(1);
        assert_eq!(ask.run(&world).how, How::Exited { code: 5 });
    }
}

#[test]
fn a_file_beyond_its_limit_is_the_reason() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/usr/bin/head", "-c", "5000000", "/dev/zero"]);
        ask.argv = ["/bin/sh", "-c", "exec head -c 5000000 /dev/zero > big"].map(str::to_owned).to_vec();
        ask.limits = ProcessLimits { file_bytes: Some(1_000_000), ..ProcessLimits::default() };
        let outcome = ask.run(&world);
        assert_eq!(
            (outcome.how, outcome.limit_hits.as_slice()),
            (How::Signaled { signal: 25 }, &[LimitKind::FileSize][..])
        );
    }
}

#[test]
fn processes_are_limited_for_the_run_alone() {
    // Others of the same user do not count, so that the limit means the same on a busy machine.
    for who in everybody() {
        let world = World::new(who);
        let script =
            "i=0; all=; while [ $i -lt 30 ]; do sleep 600 & all=\"$all $!\"; i=$((i+1)); done; echo $i; kill $all";
        let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
        ask.confinement().processes = Some(40);
        assert_eq!(ask.run(&world).stdout.trim(), "30");
        ask.confinement().processes = Some(10);
        let bound = ask.run(&world);
        assert!(bound.stderr.contains("fork") && bound.stdout.trim() != "30", "{bound:?}");
        assert!(!by(&bound, LimitKind::Processes).is_empty(), "{bound:?}");
        // A test that is no root itself stays who it is.
        let changes = who == Who::Ordinary && rustix::process::geteuid().is_root();
        assert_eq!(bound.applied().ids.outer_uid == 12_345, changes);
    }
}

/// Writes as many megabytes, each to a file of its own; stays for a while if it is to be stopped.
const FILL: &str = "
i=0
while [ $i -lt $AMOUNT ]; do head -c 1M /dev/zero > file$i; i=$((i+1)); done
sleep $STAY; echo done";
const MANY: &str = "
import os, time
for i in range(int(os.environ['AMOUNT'])): open(str(i), 'w').close()
time.sleep(int(os.environ['STAY'])); print('done')";

fn growing(world: &World, argv: &[&str], amount: u64, stay: u64, watched: Watched) -> Ask {
    let mut ask = Ask::strict(world, argv);
    ask.env.push(("AMOUNT".to_owned(), amount.to_string()));
    ask.env.push(("STAY".to_owned(), stay.to_string()));
    ask.watched = Some(watched);
    ask
}

fn assert_stopped(outcome: &Outcome, kind: LimitKind) {
    assert_eq!((&outcome.how, outcome.disk_exceeded), (&How::Signaled { signal: 9 }, true), "{outcome:?}");
    assert!(outcome.limit_hits == [kind] && !outcome.timed_out, "{outcome:?}");
    assert_eq!(
        (by(outcome, kind), &outcome.limits),
        (vec![LimitBy::Tmpfs, LimitBy::Watched], &outcome.applied().posture.limits)
    );
}

#[test]
fn a_directory_of_the_host_ends_at_its_watched_limit() {
    let fill: &[&str] = &["/bin/sh", "-c", FILL];
    let many: &[&str] = &["/usr/bin/python3", "-c", MANY];
    let limit = Space { bytes: 10 << 20, inodes: 2000 };
    for who in everybody() {
        for layers in [false, true] {
            for (argv, fits, too_much, kind) in
                [(fill, 9, 60, LimitKind::Disk), (many, 1900, 1_000_000, LimitKind::Inodes)]
            {
                let world = World::new(who);
                std::fs::create_dir(world.path("changes")).unwrap();
                world.give(&world.path("changes"));
                let root = world.path(if layers { "changes" } else { "workspace" });
                let run = |amount, stay| {
                    let watched = Watched { roots: vec![root.clone()], space: limit };
                    let mut ask = growing(&world, argv, amount, stay, watched);
                    if layers {
                        let (lower, upper) = (vec![world.path("workspace")], Upper::Directory(root.clone()));
                        ask.confinement().workspace.from = WorkspaceFrom::Layers { lower, upper };
                    }
                    ask.run(&world)
                };
                let free = run(fits, 0);
                assert_eq!((free.stdout.as_str(), free.disk_exceeded), ("done\n", false), "control: {free:?}");
                assert!(free.limit_hits.is_empty(), "control: {free:?}");
                // What was there before does not count, or this would be over the limit from the start.
                assert_stopped(&run(too_much, 600), kind);
            }
        }
    }
}

/// Files without a name and a directory that its owner may not list take space that no walk can see. What is written beside the
/// watched directory is none of its business, though one could not be listed from the start. On a file system of their own, in a
/// mount namespace that nobody else sees.
#[test]
fn what_no_walk_can_see_ends_at_the_limit_too() {
    const NAMELESS: &str = "exec 9> file; rm file; head -c ${AMOUNT}M /dev/zero >&9";
    const UNLISTED: &str = "mkdir shut; chmod 300 shut; head -c ${AMOUNT}M /dev/zero > shut/file";
    // Held by a mapping alone, and by a socket that nobody reads from.
    const MAPPED: &str = "python3 -c \"import mmap, os, time
fd = os.open('file', os.O_CREAT | os.O_RDWR); os.unlink('file'); os.posix_fallocate(fd, 0, $AMOUNT << 20)
view = mmap.mmap(fd, 4096); os.closerange(3, 64); time.sleep($STAY)\"";
    const IN_FLIGHT: &str = "python3 -c \"import os, socket, time; one, other = socket.socketpair()
fd = os.open('file', os.O_CREAT | os.O_RDWR); os.unlink('file'); os.posix_fallocate(fd, 0, $AMOUNT << 20)
socket.send_fds(one, [b'x'], [fd]); os.close(fd); time.sleep($STAY)\"";
    // Held by a thread whose first thread has ended, so that the kernel shows the process as root's.
    const LEADERLESS: &str = "python3 -c \"import ctypes, os, threading, time
def hold():
    fd = os.open('file', os.O_CREAT | os.O_RDWR); os.unlink('file'); os.posix_fallocate(fd, 0, $AMOUNT << 20)
    time.sleep($STAY); os._exit(0)
threading.Thread(target=hold).start(); ctypes.CDLL(None).pthread_exit(None)\"";
    const BESIDE: &str = "head -c ${AMOUNT}M /dev/zero > ../beside";
    // The same beside a child that nobody reaps while several looks are taken: it hides nothing.
    const BESIDE_UNREAPED: &str = "head -c ${AMOUNT}M /dev/zero > ../beside; sh -c 'true & exec sleep 1'";
    if !everybody().contains(&Who::Root) {
        return;
    }
    for who in everybody() {
        for (script, amount, stopped) in [
            (NAMELESS, 10, false),
            (NAMELESS, 50, true),
            (UNLISTED, 10, false),
            (UNLISTED, 30, true),
            (MAPPED, 10, false),
            (MAPPED, 30, true),
            (IN_FLIGHT, 10, false),
            (IN_FLIGHT, 30, true),
            (LEADERLESS, 10, false),
            (LEADERLESS, 30, true),
            (BESIDE, 30, false),
            (BESIDE_UNREAPED, 30, false),
        ] {
            let world = World::new(who);
            let limit = Space { bytes: 20 << 20, inodes: 2000 };
            let watched = Watched { roots: vec![world.path("workspace/watched")], space: limit };
            let script = format!("cd watched && {script}; sleep $STAY; echo done");
            let ask = growing(&world, &["/bin/sh", "-c", &script], amount, if stopped { 600 } else { 0 }, watched);
            let mut command = program_as(Who::Root, "/usr/bin/unshare".as_ref());
            let prepare = "mount -t tmpfs -o size=64m none \"$0\" && cd \"$0\" && mkdir -p watched/closed \
                           && chmod 0 watched/closed && chown -R $1 . && cd / && shift && exec \"$@\"";
            command.args(["--mount", "/bin/sh", "-c", prepare]).arg(world.path("workspace"));
            match who {
                Who::Root => command.arg("0"),
                Who::Ordinary => command.args([
                    "12345:12345",
                    "/usr/bin/setpriv",
                    "--reuid=12345",
                    "--regid=12345",
                    "--clear-groups",
                ]),
            };
            command.env("PATH", "/usr/bin:/bin").arg(stage_exe()).arg("confined");
            let outcome: Outcome = serde_json::from_value(ask.told_by(command)).unwrap();
            if stopped {
                assert_stopped(&outcome, LimitKind::Disk);
            } else {
                assert_eq!((outcome.stdout.as_str(), outcome.disk_exceeded), ("done\n", false), "{outcome:?}");
            }
        }
    }
}
