//! Ways out: through the file system, through namespaces, through other processes and through the kernel.

use std::process::Stdio;

use crate::world::{
    Ask, Attack, BOTH, NOBODY, ROOT, Who, World, check, everybody, nothing_more, program_as, python, sh, stage_exe,
};

#[test]
fn links_and_descriptors_lead_nowhere() {
    let attacks = [
        sh("symbolic link", BOTH, "ln -s $KEY $WS/link; grep -q SECRET $WS/link && echo REACHED"),
        sh("hard link", BOTH, "ln $KEY $WS/hard && grep -q SECRET $WS/hard && echo REACHED"),
        sh("step up", BOTH, "grep -q SECRET $WS/../home/.ssh/id_ed25519 && echo REACHED"),
        sh("old root", BOTH, "grep -q SECRET /proc/self/root/$KEY && echo REACHED"),
        // The host's own process 1 is out of reach for many a root.
        sh("root of process 1", NOBODY, "ls /proc/1/root/ && echo REACHED"),
        sh("working directory of process 1", NOBODY, "ls /proc/1/cwd/ && echo REACHED"),
        python(
            "rename over the edge",
            BOTH,
            "os.rename(os.environ['BASE'] + '/source/file', 'mine')\nprint('REACHED')",
        ),
    ];
    check(&attacks, nothing_more);
}

#[test]
fn an_inherited_descriptor_does_not_reach_the_program() {
    for who in everybody() {
        for strict in [false, true] {
            let world = World::new(who);
            let script = "grep -q SECRET <&9 && echo REACHED";
            let ask = if strict { Ask::strict } else { Ask::control };
            let ask = ask(&world, &["/bin/sh", "-c", script]);
            // The harness itself is started with the secret open.
            let mut shell = program_as(who, "/bin/sh".as_ref());
            shell.args(["-c", "exec 9< \"$0\"; exec \"$1\" confined"]);
            shell.arg(world.path("home/.ssh/id_ed25519")).arg(stage_exe()).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = shell.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), ask.request().to_string().as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(told["how"]["exited"].is_object(), "{who:?} {told}");
            assert_eq!(told["stdout"] == "REACHED\n", !strict, "{who:?} {told}");
        }
    }
}

/// A call by its number, which prints if it gets through.
fn call(name: &'static str, works_for: &'static [Who], number: libc::c_long, args: &str) -> Attack {
    python(name, works_for, &format!("call({number}, {args})\nprint('REACHED')"))
}

#[test]
fn calls_that_lead_out_are_refused() {
    let attacks = [
        call("user namespace", BOTH, libc::SYS_unshare, "0x10000000"),
        python(
            "mount in a namespace of its own",
            BOTH,
            &format!(
                "call({}, 0x10020000)\ncall({}, b'none', b'/tmp', b'tmpfs', 0, None)\nprint('REACHED')",
                libc::SYS_unshare,
                libc::SYS_mount
            ),
        ),
        call("time namespace", ROOT, libc::SYS_unshare, "0x80"),
        python(
            "namespace by clone",
            BOTH,
            &format!(
                "pid = call({}, 0x10000011, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\nprint('REACHED')",
                libc::SYS_clone
            ),
        ),
        python(
            "tracing a child",
            BOTH,
            &format!(
                "import signal, time\npid = os.fork()\nif pid == 0:\n    time.sleep(20)\n    os._exit(0)\ntry:\n    \
                 call({}, 0x4206, pid, 0, 0)\n    print('REACHED')\nfinally:\n    os.kill(pid, signal.SIGKILL)",
                libc::SYS_ptrace
            ),
        ),
        call("reading another memory", BOTH, libc::SYS_process_vm_readv, "os.getpid(), 0, 0, 0, 0, 0"),
        call("keyring", BOTH, libc::SYS_keyctl, "0, -3, 1"),
        call("fault handling in user space", BOTH, libc::SYS_userfaultfd, "1"),
        python(
            "io_uring",
            BOTH,
            &format!(
                "parameters = ctypes.create_string_buffer(120)\ncall({}, 1, parameters)\nprint('REACHED')",
                libc::SYS_io_uring_setup
            ),
        ),
        python(
            "bpf",
            ROOT,
            &format!(
                "import struct\nattributes = struct.pack('IIIII', 2, 4, 8, 1, 0) + bytes(100)\ncall({}, 0, attributes, \
                 len(attributes))\nprint('REACHED')",
                libc::SYS_bpf
            ),
        ),
        python(
            "file by handle",
            ROOT,
            &format!(
                "handle = ctypes.create_string_buffer(136)\nhandle[0] = 128\nmount = ctypes.c_int()\n\
                 call({}, -100, os.environ['WS'].encode(), handle, ctypes.byref(mount), 0)\n\
                 fd = os.open(os.environ['WS'], 0)\ncall({}, fd, handle, 0)\nprint('REACHED')",
                libc::SYS_name_to_handle_at,
                libc::SYS_open_by_handle_at
            ),
        ),
        python("change of root", ROOT, "os.chroot('.')\nprint('REACHED')"),
        python("uid 0", ROOT, "os.setuid(0)\nprint('REACHED')"),
        python("another group", ROOT, "os.setgroups([0])\nprint('REACHED')"),
        call("personality", BOTH, libc::SYS_personality, "0x400000"),
    ];
    check(&attacks, nothing_more);
}

#[test]
fn nothing_that_outlives_the_run_is_planted() {
    let attacks = [
        python("set-uid file", BOTH, "open('tool', 'w').close()\nos.chmod('tool', 0o4755)\nprint('REACHED')"),
        python("set-gid file", BOTH, "open('tool', 'w').close()\nos.chmod('tool', 0o2755)\nprint('REACHED')"),
        python(
            "set-uid from the start",
            BOTH,
            "os.umask(0)\nos.close(os.open('tool', os.O_CREAT | os.O_WRONLY, 0o4755))\n\
             assert os.stat('tool').st_mode & 0o4000\nprint('REACHED')",
        ),
        python(
            "set-uid node",
            BOTH,
            "os.umask(0)\nos.mknod('tool', stat.S_IFREG | 0o4755)\nassert os.stat('tool').st_mode & 0o4000\nprint('REACHED')",
        ),
        python("device", ROOT, "os.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3))\nprint('REACHED')"),
        python(
            "file capability",
            ROOT,
            "open('tool', 'w').close()\nos.setxattr('tool', 'security.capability', bytes.fromhex('0100000200200000000000000000000000000000'))\nprint('REACHED')",
        ),
        python(
            "typing into a terminal",
            ROOT,
            "import fcntl, pty\nmaster, slave = pty.openpty()\nfcntl.ioctl(slave, 0x5412, b'x')\nprint('REACHED')",
        ),
    ];
    check(&attacks, nothing_more);
}

#[test]
fn set_uid_programs_of_the_system_give_nothing() {
    for who in everybody() {
        let world = World::new(who);
        let script = "grep NoNewPrivs /proc/self/status; grep -c nosuid /proc/mounts; grep -vc nosuid /proc/mounts";
        let outcome = Ask::strict(&world, &["/bin/sh", "-c", script]).run(&world);
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!((lines[0], lines[2]), ("NoNewPrivs:\t1", "0"), "{outcome:?}");
    }
}

#[test]
fn odd_families_of_sockets_are_refused() {
    let family =
        |name, works_for, args: &str| python(name, works_for, &format!("socket.socket({args})\nprint('REACHED')"));
    let attacks = [
        family("packet", ROOT, "socket.AF_PACKET, socket.SOCK_RAW, 0"),
        family("raw", ROOT, "socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP"),
        family("netlink audit", BOTH, "socket.AF_NETLINK, socket.SOCK_RAW, 9"),
    ];
    check(&attacks, nothing_more);
}
