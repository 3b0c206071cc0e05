//! Reading what is the operator's, the harness's or another process's.

use std::fs;

use super::check::check;
use super::program::{python, sh};
use super::row::{Control, FILTER, PIDS, Row, note, violation};

pub(super) const CLASS: &str = "Reading secrets";

const MASKED: &str = "masked in the sandbox's `/proc`";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = files();
    rows.extend(decoys());
    rows.extend(processes());
    rows.extend(kernel());
    rows
}

fn files() -> Vec<Row> {
    vec![
        sh("the operator's ssh key", "cat $OPERATOR/.ssh/id_ed25519 && echo REACHED"),
        sh("the operator's cloud credentials", "cat $OPERATOR/.aws/credentials && echo REACHED"),
        sh("a `.env` in the source repository", "cat $SOURCE/.env && echo REACHED"),
        sh("the harness's key", "cat $HARNESS/keys/harness.pem && echo REACHED"),
        sh("the bundle of another run", "cat $OTHER/report.json && echo REACHED"),
        sh("names in the operator's home", "ls $OPERATOR/.ssh && echo REACHED"),
        sh("the host's users", "grep ^root: /etc/passwd && echo REACHED"),
        // The sandbox has a made-up list of users, and this is not in it.
        sh("the host's passwords", "cat /etc/shadow > /dev/null && echo REACHED").of_root().needs("/etc/shadow"),
    ]
}

/// Files in the places of secrets are decoys. The real secret is elsewhere, and only the control reaches it.
fn decoys() -> Vec<Row> {
    let look = |tries, path: &str| {
        sh(tries, &format!("cat ~/{path} > /dev/null; cat $OPERATOR/{path} && echo REACHED"))
            .stopped_by("a watched decoy")
    };
    vec![
        look("the decoy of an ssh key, in its own home", ".ssh/id_ed25519")
            .says(violation(&[("violation", "opened, read: the decoy ~/.ssh/id_ed25519")])),
        look("the decoy of cloud credentials", ".aws/credentials")
            .says(violation(&[("violation", "opened, read: the decoy ~/.aws/credentials")])),
        sh("everything in its own home", "grep -r . ~ > /dev/null; grep -r . $OPERATOR && echo REACHED")
            .stopped_by("watched decoys")
            .says(violation(&[("violation", "the decoy ~/")])),
    ]
}

/// Does something with the number of its parent, of the one above, and of the next: the harness, without a sandbox.
fn of_ancestors(deed: &str) -> String {
    let parent = "pid = int(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[1])";
    format!("pid = os.getpid()\nfor _ in range(3):\n    {parent}\n    {deed}")
}

fn processes() -> Vec<Row> {
    vec![
        python(
            "the environment of the harness",
            &of_ancestors(
                "for entry in open(f'/proc/{pid}/environ', 'rb').read().split(b'\\0'):\n        \
                 if entry.startswith(b'OPERATOR_TOKEN='): print(entry.decode())",
            ),
        )
        .stopped_by(PIDS),
        python(
            "files through the root of the harness",
            &of_ancestors("print(open(f'/proc/{pid}/root' + os.environ['OPERATOR'] + '/.ssh/id_ed25519').read())"),
        )
        .stopped_by(PIDS),
        sh("the environment of another process", "cat /proc/$BYSTANDER/environ && echo REACHED").stopped_by(PIDS),
        python("the memory of another process", "open('/proc/%s/mem' % os.environ['BYSTANDER'], 'rb')\nreached()")
            .stopped_by(PIDS),
        sh(
            "files through the root of another process",
            "cat /proc/$BYSTANDER/root$OPERATOR/.ssh/id_ed25519 && echo REACHED",
        )
        .stopped_by(PIDS),
        python("if a process of the host exists", "os.kill(int(os.environ['BYSTANDER']), 0)\nreached()")
            .stopped_by(PIDS),
        python(
            "core dumps of programs",
            "import resource\nif resource.getrlimit(resource.RLIMIT_CORE)[1] != 0: reached()",
        )
        .stopped_by("a hard limit of 0 on core dumps")
        .needs("CORE_LIMIT")
        .control(Control::Direct),
    ]
}

fn kernel() -> Vec<Row> {
    vec![
        python(
            "the operator's keyring",
            "key = call('keyctl', 10, -4, b'user', os.environ['KEY_NAME'].encode(), 0)\n\
             value = ctypes.create_string_buffer(100)\nlength = call('keyctl', 11, key, value, 100)\n\
             print(value.raw[:length].decode())\nreached()",
        )
        .stopped_by(FILTER)
        .says(violation(&[("violation", "keyctl")])),
        sh("the list of keys", "grep $KEY_NAME /proc/keys && echo REACHED").stopped_by(MASKED),
        python("the messages of the kernel", "if os.read(os.open('/dev/kmsg', os.O_NONBLOCK), 9000): reached()")
            .of_root(),
        python("the log of the kernel, by a call", "did(libc.klogctl(10, None, 0))\nreached()")
            .of_root()
            .stopped_by(FILTER)
            .says(note(&[("note", "syslog")])),
        python("the memory of the kernel", "if open('/proc/kcore', 'rb').read(4): reached()")
            .of_root()
            .stopped_by(MASKED)
            .needs("/proc/kcore"),
    ]
}

#[test]
fn nothing_secret_is_read() {
    check("nothing_secret_is_read", &rows(), |scene| {
        // The test's own hard limit; where it is 0 there is nothing to show.
        let limits = fs::read_to_string("/proc/self/limits").unwrap();
        let hard = limits.lines().find(|line| line.starts_with("Max core file size"));
        let hard = hard.and_then(|line| line.split_whitespace().nth(5)).unwrap();
        if hard != "0" {
            scene.variables.insert("CORE_LIMIT", hard.to_owned());
        }
    });
}
