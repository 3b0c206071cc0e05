//! Writing outside the workspace and the private places.

use super::check::check;
use super::program::{opens, python, sh};
use super::row::{READ_ONLY, Row};

pub(super) const CLASS: &str = "Writing outside";

pub(super) fn rows() -> Vec<Row> {
    let private = "a private `/tmp`, which is deleted";
    vec![
        sh("a file of the source repository", "echo more >> $SOURCE/a.txt && echo REACHED"),
        sh("the configuration of the source repository", "echo '[core]' >> $SOURCE/.git/config && echo REACHED"),
        python(
            "the events of its own run",
            "import glob\nplaces = glob.glob(os.path.expandvars('$HARNESS/active/*/events.normalized.jsonl'))\n\
             os.open(places[0], os.O_WRONLY)\nreached()",
        ),
        opens("the report of another run", "$OTHER/report.json"),
        sh("a record of the operator", "echo mine > $HARNESS/records/admission.json && echo REACHED"),
        opens("the harness's key", "$HARNESS/keys/harness.pem"),
        opens("the ledger", "$HARNESS/ledger.db"),
        sh("the operator's shell start-up file", "echo evil >> $OPERATOR/.bashrc && echo REACHED"),
        sh("a new file in the host's `/tmp`", "mkdir -p $VICTIM && echo planted > $VICTIM/planted").stopped_by(private),
        sh("the mode of another user's file", "chmod 777 $VICTIM/file && echo REACHED"),
        opens("`/etc/passwd`", "/etc/passwd").of_root().stopped_by(READ_ONLY),
        python("a system directory", "if os.access('/usr', os.W_OK): reached()").of_root().stopped_by(READ_ONLY),
        opens("the core pattern of the kernel", "/proc/sys/kernel/core_pattern").of_root().stopped_by(READ_ONLY),
        opens("the kernel's reaction to a panic", "/proc/sys/kernel/panic").of_root().stopped_by(READ_ONLY),
        opens("the kernel's emergency keys", "/proc/sysrq-trigger")
            .of_root()
            .stopped_by("masked in the sandbox's `/proc`")
            .needs("/proc/sysrq-trigger"),
        python(
            "the control groups of the host",
            "for folder, _, files in os.walk('/sys/fs/cgroup'):\n    if 'cgroup.procs' in files:\n        \
             os.open(folder + '/cgroup.procs', os.O_WRONLY)\n        reached()\n        break",
        )
        .of_root(),
    ]
}

#[test]
fn nothing_outside_is_written() {
    check("nothing_outside_is_written", &rows(), |_| ());
}
