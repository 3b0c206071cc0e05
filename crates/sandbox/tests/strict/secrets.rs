//! Reading what is the operator's.

use std::os::unix::net::UnixListener;
use std::process::Child;

use crate::world::{Ask, BOTH, World, check, everybody, harness, nothing_more, python, sh};

#[test]
fn files_of_the_operator_are_not_there() {
    let attacks = [
        sh("key", BOTH, "grep -q SECRET $KEY && echo REACHED"),
        sh("listing", BOTH, "ls $BASE/home/.ssh && echo REACHED"),
        sh("existence", BOTH, "test -e $BASE/source && echo REACHED"),
        sh("relative path", BOTH, "grep -q SECRET ../home/.ssh/id_ed25519 && echo REACHED"),
        sh("shadow and sudoers", BOTH, "ls -d /etc/shadow /etc/cron.d && echo REACHED"),
        sh("system state", BOTH, "ls -d /sys/kernel /var/lib /boot && echo REACHED"),
        sh("host name and machine", BOTH, "test $(hostname) != sandbox && echo REACHED"),
        sh("host users", BOTH, "grep -q ^root: /etc/passwd && echo REACHED"),
    ];
    check(&attacks, nothing_more);
}

/// A process of the same user with a secret in its environment; ended by the guard.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn other_processes_are_out_of_reach() {
    let attacks = [
        sh("environment", BOTH, "tr '\\0' '\\n' < /proc/$PID/environ | grep -q SECRET && echo REACHED"),
        sh("command line", BOTH, "tr '\\0' ' ' < /proc/$PID/cmdline | grep -q confined && echo REACHED"),
        sh("root of another process", BOTH, "grep -q SECRET /proc/$PID/root/$KEY && echo REACHED"),
        sh("root of the parent", BOTH, "grep -q SECRET /proc/$PPID/root/$KEY && echo REACHED"),
        sh("parent's environment", BOTH, "cat /proc/$PPID/environ && echo REACHED"),
        sh("signal", BOTH, "kill -0 $PID && echo REACHED"),
        python("memory", BOTH, "open('/proc/%s/mem' % os.environ['PID'], 'rb')\nprint('REACHED')"),
    ];
    for who in crate::world::everybody() {
        let mut command = harness(who, &["confined"]);
        command.env("SECRET", "token").stdin(std::process::Stdio::piped());
        let bystander = Bystander(command.spawn().unwrap());
        let pid = bystander.0.id().to_string();
        crate::world::check_as(who, &attacks, |_: &World| vec![("PID".to_owned(), pid.clone())]);
    }
}

#[test]
fn sockets_in_the_file_system_are_not_there() {
    let connect = "s = socket.socket(socket.AF_UNIX)\ns.connect(os.environ['BASE'] + '/docker.sock')\nprint('REACHED')";
    let attacks = [python("docker socket", BOTH, connect)];
    for who in crate::world::everybody() {
        // Kept outside the check, which makes a world for each attack.
        crate::world::check_as(who, &attacks, |world: &World| {
            let socket = UnixListener::bind(world.path("docker.sock")).unwrap();
            world.give(&world.path("docker.sock"));
            // The socket listens as long as this test runs.
            std::mem::forget(socket);
            Vec::new()
        });
    }
}

#[test]
fn the_command_line_of_the_first_process_names_no_place_of_the_host() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/bin/cat", "/proc/1/cmdline"]);
        for ahead in [true, false] {
            ask.ahead = ahead;
            let shown = ask.run(&world).stdout;
            assert!(shown.starts_with("supervise\0") && !shown.contains('/'), "{shown:?}");
        }
    }
}
