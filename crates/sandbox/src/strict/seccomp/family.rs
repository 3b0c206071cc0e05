//! Threads and children of a process, by the numbers that they have in its own pid namespace.

use untrusted_fs::own_files;

/// True if `named`, a number in the caller's pid namespace, is a thread of the caller's
/// process or, where children count, one of its children. `caller` is a thread, by its
/// number here.
pub(super) fn is_own_process(caller: u32, named: i32, with_children: bool) -> bool {
    let Some(leader) = status_field(caller, "Tgid:").and_then(|leader| leader.parse().ok()) else { return false };
    let threads = threads_of(leader);
    let children = || threads.iter().flat_map(|thread| children_of(leader, *thread));
    let is_named = |process: u32| status_field(process, "NSpid:").and_then(|inner| inner.parse().ok()) == Some(named);
    threads.iter().any(|thread| is_named(*thread)) || with_children && children().any(is_named)
}

fn threads_of(leader: u32) -> Vec<u32> {
    let entries = own_files::read_dir(format!("/proc/{leader}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn children_of(leader: u32, thread: u32) -> Vec<u32> {
    let children = own_files::read_to_string(format!("/proc/{leader}/task/{thread}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// The last word of a line of a process's status: of `NSpid`, the number in the innermost
/// namespace.
fn status_field(process: u32, name: &str) -> Option<String> {
    let status = own_files::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().last().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_threads_and_children_are_told_from_others() {
        let me = std::process::id();
        let number = i32::try_from(me).unwrap();
        assert!(is_own_process(me, number, false));
        let (tell, told) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            wait.recv().unwrap_err();
        });
        assert!(is_own_process(me, told.recv().unwrap(), false));
        drop(end);
        thread.join().unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_pid();
        for (named, with_children) in [(parent, false), (parent, true), (1, true), (i32::MAX, true)] {
            assert!(!is_own_process(me, named, with_children), "{named}");
        }
    }
}
