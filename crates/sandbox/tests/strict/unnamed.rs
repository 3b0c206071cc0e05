//! Files that no directory names, in every way a program can make them: the limit on disk use holds for them too.

use sandbox::{How, LimitBy, LimitKind, ProcessLimits, Space, Watched};

use crate::world::{Ask, Outcome, Who, World, everybody};

/// Fills `AMOUNT` bytes in each of the ways that are named, keeps them, and stays if it is to be stopped.
const FILL: &str = "
import array, ctypes, mmap, os, socket, threading, time
amount, kept = int(os.environ['AMOUNT']), []
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p

def write(fd, size):
    block = b'x' * (1 << 20)
    while size > 0: size -= os.write(fd, block[:size])

def removed(name):
    fd = os.open(name, os.O_CREAT | os.O_RDWR)
    os.unlink(name)
    return fd

def tmpfile(): write(os.open('.', os.O_TMPFILE | os.O_RDWR), amount)
def unlinked(): write(removed('gone'), amount)
def allocated(): os.posix_fallocate(removed('gone'), 0, amount)
def small():
    for i in range(amount // 65536): write(removed(f'small{i}'), 65536)
def memory(): write(os.memfd_create('file'), amount)
def mapped_memory():
    fd = os.memfd_create('file')
    os.truncate(fd, amount)
    view = mmap.mmap(fd, amount)
    for at in range(0, amount, 4096): view[at] = 1
    kept.append(view)
def truncated():
    fd = removed('gone')
    os.truncate(fd, amount)
    view = mmap.mmap(fd, amount)
    for at in range(0, amount, 4096): view[at] = 1
    kept.append(view)
def segment():
    one = libc.shmget(0, ctypes.c_size_t(amount), 0o1600)
    at = libc.shmat(one, None, 0)
    ctypes.memset(at, 1, amount)
    libc.shmdt(ctypes.c_void_p(at))
def own_table():
    # The first thread ends, and the other has a table of its own.
    def work():
        libc.unshare(0x400)
        write(removed('gone'), amount)
        stay()
    threading.Thread(target=work).start()
    libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)
def child():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            write(removed('gone'), amount)
            stay()
        os._exit(0)
    time.sleep(float(os.environ['STAY']))
def stay():
    time.sleep(float(os.environ['STAY']))
    print('done', flush=True)
for way in os.environ['WAYS'].split(): globals()[way]()
stay()";

const LIMIT: u64 = 16 << 20;
const TOO_MUCH: u64 = 40 << 20;

fn ask(world: &World, ways: &str, limit: u64, stay: u64) -> Ask {
    let mut ask = Ask::strict(world, &["/usr/bin/python3", "-c", FILL]);
    for (name, value) in [("WAYS", ways), ("AMOUNT", &TOO_MUCH.to_string()), ("STAY", &stay.to_string())] {
        ask.env.push((name.to_owned(), value.to_owned()));
    }
    let space = Space { bytes: limit, inodes: 100_000 };
    ask.watched = Some(Watched { roots: vec![world.path("workspace")], space });
    ask
}

fn assert_stopped(outcome: &Outcome, way: &str) {
    assert_eq!((&outcome.how, outcome.disk_exceeded), (&How::Signaled { signal: 9 }, true), "{way}: {outcome:?}");
    assert!(outcome.limit_hits == [LimitKind::Disk] && !outcome.timed_out, "{way}: {outcome:?}");
    let by = outcome.limits.iter().filter(|rule| rule.kind == LimitKind::Disk).map(|rule| rule.by);
    assert_eq!(by.collect::<Vec<_>>(), [LimitBy::Tmpfs, LimitBy::Watched], "{way}");
}

#[test]
fn files_without_a_name_end_at_the_limit() {
    let alone = ["tmpfile", "unlinked", "allocated", "small", "memory", "mapped_memory", "truncated", "segment"];
    for who in everybody() {
        let world = World::new(who);
        let free = ask(&world, &alone.join(" "), 1 << 40, 0).run(&world);
        assert_eq!((free.stdout.as_str(), free.limit_hits.as_slice()), ("done\n", &[][..]), "control: {free:?}");
        for way in alone.into_iter().chain(["own_table", "child"]) {
            assert_stopped(&ask(&world, way, LIMIT, 600).run(&world), way);
        }
    }
}

#[test]
fn memory_files_are_charged_as_memory_where_there_is_a_control_group() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = ask(&world, "memory", LIMIT, 0);
        ask.limits = ProcessLimits { memory_bytes: Some(32 << 20), ..ProcessLimits::default() };
        let outcome = ask.run(&world);
        let by = outcome.limits.iter().find(|rule| rule.kind == LimitKind::Memory).unwrap().by;
        match (by, who) {
            (LimitBy::Cgroup, _) => assert_eq!(outcome.limit_hits, [LimitKind::Memory], "{outcome:?}"),
            // Too short to be seen, or seen.
            (_, Who::Ordinary) => assert!(!outcome.limit_hits.contains(&LimitKind::Memory), "{outcome:?}"),
            other => testkit::skip(
                "unnamed::memory_files_are_charged_as_memory_where_there_is_a_control_group",
                &format!("there is no control group: {other:?}"),
            ),
        }
    }
}

#[test]
fn private_places_are_limited_by_their_size() {
    const FILL_PRIVATE: &str = "
import os, sys
fd = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR)
try:
    while True: os.write(fd, b'x' * (1 << 20))
except OSError as error:
    print(error.errno, os.fstat(fd).st_size <= 8 << 20)";
    for who in everybody() {
        for place in ["/home/user", "/tmp", "/var/tmp", "/dev/shm"] {
            let world = World::new(who);
            let mut ask = Ask::strict(&world, &["/usr/bin/python3", "-c", FILL_PRIVATE, place]);
            ask.confinement().private = Space { bytes: 8 << 20, inodes: 1000 };
            // What a size limits is not counted against what is watched.
            let space = Space { bytes: 4 << 20, inodes: 1000 };
            ask.watched = Some(Watched { roots: vec![world.path("workspace")], space });
            let outcome = ask.run(&world);
            assert_eq!((outcome.stdout.as_str(), outcome.disk_exceeded), ("28 True\n", false), "{place}: {outcome:?}");
        }
    }
}
