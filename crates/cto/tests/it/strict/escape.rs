//! Ways out: through the file system, through namespaces, through other processes and through the kernel.

use std::fs;

use super::check::check;
use super::program::{python, sh};
use super::row::{FILTER, READ_ONLY, Row, UNPRIVILEGED, note, violation};

pub(super) const CLASS: &str = "Escaping";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = files();
    rows.extend(namespaces());
    rows.extend(processes());
    rows.extend(planted());
    rows
}

fn files() -> Vec<Row> {
    // Opening it says that it is busy, sandbox or not; asking tells whether it may be written to once the engine has ended.
    let executable = "if os.access(os.readlink(f'/proc/{os.getppid()}/exe'), os.W_OK): reached()";
    vec![
        sh("a symbolic link to a secret", "ln -s $OPERATOR/.ssh/id_ed25519 junk; cat junk && echo REACHED; rm -f junk"),
        sh("a hard link to a secret", "ln $OPERATOR/.ssh/id_ed25519 $VICTIM/hard && cat $VICTIM/hard && echo REACHED"),
        sh("a path with `..`", "cat ../../../../../../../..$OPERATOR/.ssh/id_ed25519 && echo REACHED"),
        sh("the root that it was started from", "cat /proc/self/root$OPERATOR/.ssh/id_ed25519 && echo REACHED"),
        python(
            "another name for another user's file",
            "os.rename(os.environ['VICTIM'] + '/file', os.environ['VICTIM'] + '/mine')\nreached()",
        ),
        python("the engine's own executable", executable).stopped_by(READ_ONLY),
        sh("a descriptor the harness had open", "cat <&9 && echo REACHED")
            .stopped_by("every inherited descriptor is closed"),
        python(
            "opening a file by number",
            "handle = ctypes.create_string_buffer(136)\nhandle[0] = 128\nmount = ctypes.c_int()\n\
             libc.name_to_handle_at(-100, b'.', handle, ctypes.byref(mount), 0)\n\
             did(libc.open_by_handle_at(os.open('.', 0), handle, 0))\nreached()",
        )
        .of_root()
        .stopped_by(FILTER)
        .says(violation(&[("violation", "open_by_handle_at")])),
    ]
}

fn namespaces() -> Vec<Row> {
    // Where the first call is refused the second is tried all the same; where it works, the host's mounts are out of reach.
    let bind = "os.mkdir('junk')\ntry: did(libc.unshare(0x10020000))\nexcept OSError as error: print(error)\n\
        did(libc.mount(os.environ['OPERATOR'].encode(), b'junk', None, 0x1000, None))\nreached()";
    vec![
        python("a new user namespace", "did(libc.unshare(0x10000000))\nreached()")
            .stopped_by(FILTER)
            .says(violation(&[("violation", "unshare")])),
        python(
            "a namespace by clone",
            "pid = call('clone', 0x10000011, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\nreached()",
        )
        .stopped_by(FILTER)
        .says(violation(&[("violation", "clone_namespace")])),
        python("a bind mount of the operator's home", bind)
            .stopped_by(FILTER)
            .says(violation(&[("violation", "unshare"), ("violation", "mount")])),
        python("another process's namespace", "did(libc.setns(os.open('/proc/self/ns/net', 0), 0))\nreached()")
            .of_root()
            .stopped_by(FILTER)
            .says(violation(&[("violation", "setns")])),
        python("another root", "os.chroot('.')\nreached()")
            .of_root()
            .stopped_by(FILTER)
            .says(violation(&[("violation", "chroot")])),
        python("uid 0", "os.setuid(0)\nreached()").of_root().stopped_by(UNPRIVILEGED),
        python("another group", "os.setgroups([0])\nreached()").of_root().stopped_by(UNPRIVILEGED),
    ]
}

fn processes() -> Vec<Row> {
    let trace = "import signal\npid = os.fork()\nif pid == 0:\n    time.sleep(60)\n    os._exit(0)\ntry:\n    \
        did(libc.ptrace(0x4206, pid, 0, 0))\n    reached()\nfinally:\n    os.kill(pid, signal.SIGKILL)";
    let ring = "call('io_uring_setup', 1, ctypes.create_string_buffer(120))\nreached()";
    let map = "import struct\nattributes = struct.pack('IIIII', 2, 4, 8, 1, 0) + bytes(100)\n\
        call('bpf', 0, attributes, len(attributes))\nreached()";
    vec![
        python("tracing a process", trace).stopped_by(FILTER).says(violation(&[("violation", "ptrace")])),
        python("reading memory by a call", "did(libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0))\nreached()")
            .stopped_by(FILTER)
            .says(violation(&[("violation", "process_vm_readv")])),
        python("code in the kernel (bpf)", map).of_root().stopped_by(FILTER).says(violation(&[("violation", "bpf")])),
        python("a protection switched off (personality)", "did(libc.personality(0x400000))\nreached()")
            .stopped_by(FILTER)
            .says(violation(&[("violation", "personality")])),
        python("handling its own page faults (userfaultfd)", "call('userfaultfd', 1)\nreached()")
            .stopped_by(FILTER)
            .says(note(&[("note", "userfaultfd")])),
        python("calls past the filter (io_uring)", ring)
            .stopped_by("the filter, which reports the call as missing")
            .needs("IO_URING"),
    ]
}

/// Attacks that would outlive the run.
fn planted() -> Vec<Row> {
    let set_id =
        |tries, script: &str| python(tries, script).stopped_by(FILTER).says(violation(&[("violation", "*_set_id")]));
    vec![
        set_id("making a set-uid file", "open('junk', 'w').close()\nos.chmod('junk', 0o4755)\nreached()"),
        set_id("making a set-gid file", "open('junk', 'w').close()\nos.chmod('junk', 0o2755)\nreached()"),
        set_id(
            "creating a file as set-uid",
            "os.umask(0)\nos.close(os.open('junk', os.O_CREAT | os.O_WRONLY, 0o4755))\n\
             if os.stat('junk').st_mode & 0o4000: reached()",
        ),
        python("making a device", "os.mknod('junk', stat.S_IFCHR | 0o666, os.makedev(1, 3))\nreached()")
            .of_root()
            .stopped_by(UNPRIVILEGED),
        python(
            "giving a file a capability",
            "open('junk', 'w').close()\n\
             os.setxattr('junk', 'security.capability', bytes.fromhex('0100000200200000000000000000000000000000'))\nreached()",
        )
        .of_root()
        .stopped_by(UNPRIVILEGED),
        python(
            "typing into a terminal",
            "import fcntl, pty\nfcntl.ioctl(pty.openpty()[1], 0x5412, b'x')\nreached()",
        )
        .of_root()
        .stopped_by(FILTER)
        .says(violation(&[("violation", "ioctl_terminal")])),
    ]
}

#[test]
fn nothing_gets_out() {
    check("nothing_gets_out", &rows(), |scene| {
        // Kernels without the setting have no way to switch it off.
        let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_else(|_| "0".to_owned());
        if disabled.trim() == "0" {
            scene.variables.insert("IO_URING", "on".to_owned());
        }
    });
}
