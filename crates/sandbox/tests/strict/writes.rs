//! Writing anywhere but in the workspace and the private places.

use sandbox::How;

use crate::world::{Ask, Attack, BOTH, ROOT, World, check, everybody, nothing_more, python, sh};

/// Opened for writing, which is enough to know, and changes nothing.
fn opens(name: &'static str, place: &str) -> Attack {
    python(name, ROOT, &format!("os.open({place:?}, os.O_WRONLY)\nprint('REACHED')"))
}

#[test]
fn nothing_outside_is_written() {
    let attacks = [
        sh("source repository", BOTH, "echo x >> $BASE/source/file && echo REACHED"),
        sh("another run", BOTH, "rm $BASE/other-run/report && echo REACHED"),
        sh("home of the operator", BOTH, "echo x > $BASE/home/.bashrc && echo REACHED"),
        sh(
            "a new file beside the workspace",
            BOTH,
            "touch $WS/../new && test -e $BASE/new && [ -e $KEY ] && echo REACHED",
        ),
        sh("mode", BOTH, "chmod 777 $BASE/source/file && echo REACHED"),
        sh("times", BOTH, "touch -d 2001-01-01 $BASE/source/file && echo REACHED"),
        python(
            "attributes",
            BOTH,
            "os.setxattr(os.environ['BASE'] + '/source/file', 'user.x', b'1')\nprint('REACHED')",
        ),
        sh("system directory", ROOT, "test -w /etc && test -w /usr/bin && echo REACHED"),
        opens("password file", "/etc/passwd"),
        opens("sysctl", "/proc/sys/kernel/hostname"),
        opens("core pattern", "/proc/sys/kernel/core_pattern"),
        opens("panic", "/proc/sys/kernel/panic"),
        sh("control groups", ROOT, "test -w \"$(find /sys/fs/cgroup -name cgroup.procs | head -n1)\" && echo REACHED"),
    ];
    check(&attacks, nothing_more);
}

#[test]
fn the_workspace_and_private_places_are_written() {
    for who in everybody() {
        let world = World::new(who);
        let script = "set -e; echo new > $WS/new; rm $WS/readme; mkdir -p $WS/a/b; mv $WS/a/b $WS/b
            for place in $HOME /tmp /var/tmp /dev/shm; do echo x > $place/file; done; echo done > /dev/stdout";
        let outcome = Ask::strict(&world, &["/bin/sh", "-c", script]).run(&world);
        assert_eq!((outcome.how, outcome.stdout.as_str()), (How::Exited { code: 0 }, "done\n"), "{}", outcome.stderr);
        assert_eq!(world.read("workspace/new"), "new\n");
        assert!(!world.path("workspace/readme").exists() && world.path("workspace/b").is_dir());
        // The harness' user owns what the program wrote, whatever user the program was inside.
        let owner = |path: &str| std::os::unix::fs::MetadataExt::uid(&world.path(path).metadata().unwrap());
        assert_eq!(owner("workspace/new"), owner("source/file"));
        assert!(!world.path("home/file").exists() && !std::path::Path::new("/dev/shm/file").exists());
    }
}
