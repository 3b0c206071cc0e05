//! Ways to be hostile in a pack, each with a part of the refusal, and the same shapes without harm.

use serde_json::json;
use tar::EntryType;

use super::OpenedPack;
use crate::archive::craft::{entry, header, with_content};

/// Sorts behind everything that a workspace of the tests holds.
pub(super) const LAST: &str = "workspace/~";

/// Refusal of whatever would become trust, cache, identity or setting of a home.
const NO_PART: &str = "is not a part of a home that a pack may hold";

/// Refusal of names outside of the two folders of a pack.
const OUTSIDE: &str = "neither in the workspace nor in the home";
/// Refusal of parts of a git directory.
const GIT_ACTS: &str = "git would act on";

pub(super) type Edit = fn(&mut OpenedPack);

/// Ways to be hostile, each with a part of the refusal.
pub(super) const ROWS: &[(&str, Edit, &str)] = &[
    ("a name that leads out", |pack| pack.add_file("workspace/~/../../EVIL", b"x"), "leads out of the pack"),
    ("an absolute name", |pack| pack.add_file("/EVIL", b"x"), OUTSIDE),
    ("an absolute name of the workspace", |pack| pack.add_file("/workspace/~", b"x"), OUTSIDE),
    ("a name beside the two folders", |pack| pack.add_file("~/EVIL", b"x"), OUTSIDE),
    ("a name of nothing", |pack| pack.add_file("", b"x"), OUTSIDE),
    ("the folder above", |pack| pack.add_file("..", b"x"), OUTSIDE),
    ("the workspace itself", |pack| pack.add_file("workspace", b"x"), OUTSIDE),
    ("the folder above the workspace", |pack| pack.add_file("workspace/..", b"x"), "leads out of the pack"),
    ("the workspace by a dot", |pack| pack.add_file("workspace/.", b"x"), "leads out of the pack"),
    ("a part of nothing", |pack| pack.add_file("workspace//EVIL", b"x"), "leads out of the pack"),
    ("a folder by its slash", |pack| pack.add_file("workspace/~/", b"x"), "leads out of the pack"),
    ("a NUL", |pack| pack.add_file("workspace/~\0EVIL", b"x"), "control character or backslash"),
    ("a line's end", |pack| pack.add_file("workspace/~\nEVIL", b"x"), "control character or backslash"),
    ("a backslash", |pack| pack.add_file("workspace/~\\EVIL", b"x"), "control character or backslash"),
    ("a link", |pack| add_link(pack, EntryType::Symlink), "is no plain file"),
    ("a hard link", |pack| add_link(pack, EntryType::Link), "is no plain file"),
    ("a device", |pack| add_link(pack, EntryType::Char), "is no plain file"),
    ("a block device", |pack| add_link(pack, EntryType::Block), "is no plain file"),
    ("a pipe", |pack| add_link(pack, EntryType::Fifo), "is no plain file"),
    ("a folder", |pack| add_link(pack, EntryType::Directory), "is no plain file"),
    ("a file in one piece", |pack| add_link(pack, EntryType::Continuous), "is no plain file"),
    ("a file with holes", |pack| add_link(pack, EntryType::GNUSparse), ""),
    ("headers for all that follow", |pack| add_pax(pack, EntryType::XGlobalHeader, "path", "workspace/~"), ""),
    ("another name by a header", |pack| add_pax(pack, EntryType::XHeader, "path", "../../EVIL"), "stands where"),
    ("a NUL by a header", |pack| add_pax(pack, EntryType::XHeader, "path", "workspace/~\0/x"), ""),
    ("another size by a header", |pack| add_pax(pack, EntryType::XHeader, "size", "4096"), ""),
    (
        "a file where a folder is",
        |pack| ["workspace/~", "workspace/~/x"].iter().for_each(|name| pack.add_file(name, b"x")),
        "lies below a file",
    ),
    ("a file twice in the list", |pack| [b"x", b"y"].iter().for_each(|text| pack.add_file(LAST, *text)), "twice"),
    (
        "a file twice behind the list",
        |pack| {
            pack.add_file(LAST, b"x");
            pack.entries.extend(entry(LAST, b"x"));
        },
        "has a file that is not listed",
    ),
    ("a file that is not listed", |pack| pack.entries.extend(entry(LAST, b"x")), "has a file that is not listed"),
    ("a listed file that is not there", |pack| pack.list_file(LAST, 1, b"x"), "is listed and is not there"),
    ("another content", |pack| other_content(pack), "is not the file that was packed"),
    ("more bytes than listed", |pack| longer_than_listed(pack), "is larger than it may be"),
    ("a bomb by its size", |pack| pack.list_file(LAST, 65 << 30, b""), "makes the pack too large"),
    ("a bomb by its ratio", |pack| zeros(pack, 72 << 20), "far larger than what was packed of it"),
    ("a bomb by its depth", |pack| pack.list_file(&format!("{LAST}{}", "/a".repeat(63)), 0, b""), "lies too deep"),
    (
        "a bomb by the length of a name",
        |pack| pack.list_file(&format!("{LAST}{}", "/aaaaaaaaaaaaaaa".repeat(64)), 0, b""),
        "has a name that is too long",
    ),
    (
        "a name that no file system takes",
        |pack| pack.list_file(&format!("{LAST}{}", "a".repeat(255)), 0, b""),
        "has a name that is too long",
    ),
    ("a private key", |pack| put_sorted(pack, "home/keys/harness.pem"), "could be a secret"),
    ("workspaces to trust", |pack| put_sorted(pack, "home/trust/workspaces"), NO_PART),
    ("the end of a broken chain", |pack| put_sorted(pack, "home/trust/continuity.json"), NO_PART),
    ("an engine's identity", |pack| put_sorted(pack, "home/engines/identity-0"), NO_PART),
    ("a cache", |pack| put_sorted(pack, "home/cache/baselines/x.json"), NO_PART),
    ("a kill switch", |pack| put_sorted(pack, "home/halt.json"), NO_PART),
    ("a file below a trusted file", |pack| put_sorted(pack, "home/trust/allowed_signers/x"), NO_PART),
    ("another ledger", |pack| put_sorted(pack, "home/ledger.db-wal"), NO_PART),
    ("a home in the workspace", |pack| put_sorted(pack, "workspace/.cto/trust/workspaces"), "of the workspace a home"),
    ("a hook", |pack| put_sorted(pack, "workspace/.git/hooks/post-checkout"), "git would act on"),
    ("settings of git", |pack| put_sorted(pack, "workspace/.git/config"), "git would act on"),
    ("borrowed objects", |pack| put_sorted(pack, "workspace/.git/objects/info/alternates"), "git would act on"),
    ("another git directory", |pack| put_sorted(pack, "workspace/sub/.git/config"), "git would act on"),
    ("a git directory with what macOS ignores", |pack| put_sorted(pack, "workspace/.g\u{200c}it/config"), GIT_ACTS),
    ("a git directory with what Windows ignores", |pack| put_sorted(pack, "workspace/sub/.git. /config"), GIT_ACTS),
    ("a git directory by its short name", |pack| put_sorted(pack, "workspace/GIT~1/config"), GIT_ACTS),
    ("a git directory by a stream", |pack| put_sorted(pack, "workspace/.git::$INDEX_ALLOCATION/config"), GIT_ACTS),
    ("a git directory elsewhere", |pack| put_sorted(pack, "workspace/.git"), "git would act on"),
    ("settings of an environment", |pack| put_sorted(pack, "workspace/.env"), "could be a secret"),
    ("a long name that is a bomb", |pack| long_name(pack, 1 << 20), "exceeds its size limit"),
    ("another format", |pack| pack.list["schema_version"] = json!("2"), "is not a pack"),
];

/// The same shapes without harm.
pub(super) const CONTROLS: &[(&str, Edit)] = &[
    ("as it was", |_| {}),
    ("a file more", |pack| pack.add_file(LAST, b"x")),
    ("many zeros", |pack| zeros(pack, 2 << 20)),
    ("deep folders", |pack| pack.add_file(&format!("workspace{}/~", "/~".repeat(40)), b"x")),
    // Two names are two files, however alike they look. Where a file system takes them for one, the second is refused.
    ("names that differ by case", |pack| add_twins(pack, "workspace/~A", "workspace/~a")),
    ("names that differ by their normal form", |pack| add_twins(pack, "workspace/~e\u{301}", "workspace/~\u{e9}")),
    ("bits that nobody asked for", |pack| {
        pack.list_file(LAST, 1, b"x");
        let bits = header(LAST, 1, |header| {
            header.set_mode(0o6777);
            header.set_uid(12_346);
            header.set_mtime(1);
        });
        pack.entries.extend(with_content(bits, b"x"));
    }),
    ("many files", |pack| (0..2_000).for_each(|number| pack.add_file(&format!("{LAST}{number:07}"), b""))),
];

fn add_link(pack: &mut OpenedPack, kind: EntryType) {
    pack.list_file(LAST, 0, b"");
    pack.entries.extend(header(LAST, 0, |header| {
        header.set_entry_type(kind);
        header.set_link_name("/etc/passwd").unwrap();
    }));
}

/// A file behind an extended header that says something else of it.
fn add_pax(pack: &mut OpenedPack, kind: EntryType, key: &str, value: &str) {
    let body = format!(" {key}={value}\n");
    // The length counts its own digits.
    let length = (body.len() + 1..).find(|all| all.to_string().len() + body.len() == *all).unwrap();
    let record = format!("{length}{body}");
    let pax = header("pax", record.len() as u64, |header| header.set_entry_type(kind));
    pack.list_file(LAST, 1, b"x");
    pack.entries.extend(with_content(pax, record.as_bytes()));
    pack.entries.extend(entry(LAST, b"x"));
}

fn add_twins(pack: &mut OpenedPack, first: &str, second: &str) {
    pack.add_file(first, b"first");
    pack.add_file(second, b"second");
}

fn other_content(pack: &mut OpenedPack) {
    pack.list_file(LAST, 1, b"x");
    pack.entries.extend(entry(LAST, b"y"));
}

fn longer_than_listed(pack: &mut OpenedPack) {
    pack.list_file(LAST, 1, b"x");
    pack.entries.extend(entry(LAST, &[b'x'; 4096]));
}

fn zeros(pack: &mut OpenedPack, count: usize) {
    let content = vec![0; count];
    pack.list_file(LAST, count as u64, &content);
    pack.entries.extend(with_content(header(LAST, count as u64, |_| {}), &content));
}

/// Adds a file to the sorted list, at its place.
fn put_sorted(pack: &mut OpenedPack, name: &str) {
    pack.add_file(name, b"x");
    let files = pack.list["files"].as_array_mut().unwrap();
    let file = files.pop().unwrap();
    let at = files.iter().position(|known| known["name"].as_str() > file["name"].as_str()).unwrap_or(files.len());
    files.insert(at, file);
}

/// An entry whose name is so long, as GNU tar writes it, in front of a file.
fn long_name(pack: &mut OpenedPack, length: usize) {
    pack.list_file(LAST, 1, b"x");
    pack.entries.extend(with_content(
        header("././@LongLink", length as u64, |header| {
            header.set_entry_type(EntryType::GNULongName);
        }),
        &vec![b'a'; length],
    ));
    pack.entries.extend(entry(LAST, b"x"));
}
