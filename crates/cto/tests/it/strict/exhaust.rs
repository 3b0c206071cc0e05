//! Using up memory, disk, inodes, processes and output: each ends at its limit, and the bundle says so.

use contract::Status;
use serde_json::json;

use super::check::check;
use super::program::python;
use super::row::{Control, NOTHING, Row, Says};
use super::scene::Scene;
use super::sealed::Sealed;

pub(super) const CLASS: &str = "Exhausting";

const WATCH: &str = "the disk watch on writable directories";
const WATCH_HELD: &str = "the disk watch on files that processes hold";
const TMPFS: &str = "the size of the private file system";
/// The harness ends the run, or finds afterwards that it should have: the program may be faster than a look.
const STOPPED: Says = Says { status: Status::Blocked, reasons: &["budget_exceeded"], attempts: &[], besides: "" };

/// More than the limit below allows, in files that each keep to it.
const FILL: &str = "
place = 'junk'
os.makedirs(place, exist_ok=True)
for number in range(3):
    with open(f'{place}/{number}', 'wb') as file: file.write(bytes(2 << 20))
reached()";
const SMALL_DISK: &str = "{disk_bytes: 4194304}";
/// A file may be made for each KiB.
const FEW_FILES: &str = "{disk_bytes: 1048576}";

/// The same in files that no directory names, which are gone when the program ends: inside it stays until it is ended.
const UNNAMED: &str = "
for number in range(3): os.write(os.open('.', os.O_TMPFILE | os.O_RDWR), bytes(2 << 20))
if os.path.exists('/run/cto'): time.sleep(120)
reached()";
const REMOVED: &str = "
for number in range(3):
    file = os.open(f'junk{number}', os.O_CREAT | os.O_RDWR)
    os.remove(f'junk{number}')
    os.write(file, bytes(2 << 20))
if os.path.exists('/run/cto'): time.sleep(120)
reached()";

const MANY: &str = "
place = 'junk'
os.makedirs(place, exist_ok=True)
for number in range(1500): os.mknod(f'{place}/{number}')
reached()";

const SPARSE: &str = "
os.truncate(os.open('junk', os.O_CREAT | os.O_RDWR), 1 << 30)
os.remove('junk')
reached()";

const THREADS: &str = "
import threading
hold = threading.Event()
for _ in range(150): threading.Thread(target=hold.wait, daemon=True).start()
reached()";

pub(super) fn rows() -> Vec<Row> {
    let limited = |limits, row: Row| Row { limits, ..row }.control(Control::Direct);
    let counted = |limits, row: Row| Row { counted_afterwards: true, ..limited(limits, row).says(STOPPED) };
    let says = |besides| Says { besides, ..NOTHING };
    // Places that are other ones without a sandbox, so that the control is one without limits.
    let at = |place: &str, script: &str| script.replace("'junk'", &format!("{place:?}"));
    let private = |tries, limits, script| {
        let row = limited(limits, python(tries, &at("/tmp/junk", script)));
        row.stopped_by(TMPFS).says(says("`limit_hits`")).control(Control::Unlimited)
    };
    vec![
        limited("{memory_bytes: 134217728}", python("memory", "bytearray(b'x' * (200 << 20))\nreached()"))
            .stopped_by("the memory limit of the control group, or of each process")
            .says(says("`limit_hits`, or `limits_by_rlimit` in `coverage`"))
            .evidence(memory),
        counted(SMALL_DISK, python("disk, in the workspace", FILL)).stopped_by(WATCH).evidence(|_, sealed| {
            assert_eq!(sealed.limit_hits(), ["disk"], "{}", sealed.told());
        }),
        counted(SMALL_DISK, python("disk, in its state directory", &at("/run/cto/state/junk", FILL)))
            .stopped_by(WATCH)
            .control(Control::Unlimited),
        limited(SMALL_DISK, python("disk, in files without a name", UNNAMED))
            .says(STOPPED)
            .stopped_by(WATCH_HELD)
            .evidence(|_, sealed| assert_eq!(sealed.limit_hits(), ["disk"], "{}", sealed.told())),
        limited(SMALL_DISK, python("disk, in files that are removed and held", REMOVED))
            .says(STOPPED)
            .stopped_by(WATCH_HELD)
            .evidence(|_, sealed| assert_eq!(sealed.limit_hits(), ["disk"], "{}", sealed.told())),
        private("disk, in `/tmp` and its home", SMALL_DISK, FILL)
            .evidence(|_, sealed| assert_eq!(sealed.limit_hits(), ["disk"], "{}", sealed.told())),
        counted(FEW_FILES, python("empty files, in the workspace", MANY)).stopped_by(WATCH).evidence(|_, sealed| {
            assert_eq!(sealed.limit_hits(), ["inodes"], "{}", sealed.told());
        }),
        private("empty files, in `/tmp`", FEW_FILES, MANY)
            .evidence(|_, sealed| assert_eq!(sealed.limit_hits(), ["inodes"], "{}", sealed.told())),
        limited(SMALL_DISK, python("a sparse file", SPARSE)).stopped_by("the limit on file size"),
        limited("{processes: 40}", python("threads", THREADS))
            .stopped_by("`limits.processes`, which counts threads too"),
        counted("{output_bytes: 100000}", python("output", "for _ in range(1 << 14): print('x' * 63)\nreached()"))
            .stopped_by("the harness counts output"),
    ]
}

/// Without a control group, the limit holds for each process alone and leaves no trace but an error inside.
fn memory(_: &Scene, sealed: &Sealed) {
    let by_group = sealed.sandbox["limits"]
        .as_array()
        .unwrap()
        .iter()
        .any(|limit| limit["kind"] == "memory" && limit["by"] == "cgroup");
    let coverage = sealed.report["coverage"].as_array().unwrap();
    assert_eq!(coverage.contains(&json!("limits_by_rlimit")), !by_group, "{}", sealed.told());
    assert_eq!(sealed.limit_hits(), if by_group { &["memory"][..] } else { &[] }, "{}", sealed.told());
}

#[test]
fn nothing_is_exhausted() {
    check("nothing_is_exhausted", &rows(), |_| ());
}
