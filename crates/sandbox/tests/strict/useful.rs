//! Work that must succeed inside, so that programs can be built and tested there.

use std::path::Path;
use std::time::Duration;

use sandbox::{Access, ConfinedWorkspace, HostMount, How, SpawnFailureKind, Upper, WorkspaceFrom};

use crate::world::{Ask, Outcome, PATIENCE, World, everybody};

fn run(world: &World, script: &str) -> Outcome {
    let outcome = Ask::strict(world, &["/bin/bash", "-c", script]).run(world);
    assert_eq!(outcome.how, How::Exited { code: 0 }, "{script}: {} {}", outcome.stdout, outcome.stderr);
    outcome
}

#[test]
fn tools_work() {
    for who in everybody() {
        let world = World::new(who);
        let git = "set -e; export GIT_CONFIG_NOSYSTEM=1; git init -q repo; cd repo; git config user.email a@b; git config user.name n
            echo x > file; git add file; git commit -qm one; git mv file moved; git status --porcelain; git log --oneline | wc -l";
        assert_eq!(run(&world, git).stdout, "R  file -> moved\n1\n");
        let python = "python3 -c 'import subprocess, multiprocessing, tempfile, ssl, json
print(subprocess.run([\"echo\", \"hi\"], capture_output=True, text=True).stdout.strip())
with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))'";
        assert_eq!(run(&world, python).stdout, "hi\n[1, 2]\n");
        let shell = "set -e; whoami; id -u; pwd; echo $HOME; date +%Z >/dev/null; test -c /dev/null; (sleep 0.01 & wait); echo ok | tee /dev/stderr";
        let expected = format!("user\n1000\n{}\n/home/user\nok\n", world.path("workspace").display());
        assert_eq!(run(&world, shell).stdout, expected);
        let terminal = "python3 -c 'import pty; pty.spawn([\"/bin/sh\", \"-c\", \"tty\"])'";
        assert!(run(&world, terminal).stdout.contains("/dev/pts/"), "a terminal of its own");
    }
}

/// Also where somebody is left, who is killed first.
#[test]
fn cpu_time_inside_is_counted() {
    let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    for who in everybody() {
        let world = World::new(who);
        for script in [work.to_owned(), format!("setsid sleep 60 >/dev/null 2>&1 & {work}")] {
            let outcome = run(&world, &script);
            let Some(cpu) = outcome.cpu else { panic!("{who:?} {script}: no cpu") };
            assert!(cpu.user + cpu.system >= Duration::from_millis(50), "{who:?} {script}: {cpu:?}");
        }
        let idle = run(&world, "sleep 0.3").cpu.unwrap();
        assert!(idle.user + idle.system < Duration::from_millis(200), "{who:?}: {idle:?}");
    }
}

#[test]
fn node_works_where_there_is_one() {
    if !Path::new("/usr/bin/node").exists() {
        return testkit::skip("useful::node_works_where_there_is_one", "no /usr/bin/node");
    }
    for who in everybody() {
        let world = World::new(who);
        let script = "node -e 'const os = require(\"os\"); const {execSync} = require(\"child_process\");
            console.log(Object.keys(os.networkInterfaces()), execSync(\"echo hi\").toString().trim());
            require(\"http\").createServer((q, r) => r.end(\"served\")).listen(0, \"127.0.0.1\", function () {
              fetch(`http://127.0.0.1:${this.address().port}`).then(r => r.text()).then(t => { console.log(t); process.exit(0) }) })'";
        assert_eq!(run(&world, script).stdout, "[ 'lo' ] hi\nserved\n");
    }
}

#[test]
fn a_crate_is_built_where_there_is_a_toolchain() {
    let home = std::env::home_dir().unwrap_or_default();
    let (rustup, cargo) = (home.join(".rustup"), home.join(".cargo"));
    if !cargo.join("bin/cargo").exists() || !rustup.exists() {
        let reason = format!("no toolchain under {}", home.display());
        return testkit::skip("useful::a_crate_is_built_where_there_is_a_toolchain", &reason);
    }
    for who in everybody() {
        if who != crate::world::Who::Root
            && std::fs::File::open(&rustup).is_ok()
            && rustix::process::geteuid().is_root()
        {
            let test = "useful::a_crate_is_built_where_there_is_a_toolchain";
            testkit::not_here(test, "as an ordinary user: the toolchain is root's");
            continue;
        }
        let world = World::new(who);
        let script =
            "set -e; cargo init -q --name tiny --vcs none .; cargo test -q --offline 2>&1 | grep -c 'test result: ok'";
        let mut ask = Ask::strict(&world, &["/bin/bash", "-c", script]);
        ask.wall = 5 * PATIENCE;
        for (source, target) in [(&rustup, "/opt/rustup"), (&cargo, "/opt/cargo")] {
            let mount = HostMount { source: source.clone(), target: target.into(), access: Access::ReadOnly };
            ask.confinement().mounts.push(mount);
        }
        ask.env.retain(|(name, _)| name != "PATH");
        for (name, value) in
            [("PATH", "/opt/cargo/bin:/usr/bin:/bin"), ("RUSTUP_HOME", "/opt/rustup"), ("CARGO_HOME", "/tmp/cargo")]
        {
            ask.env.push((name.to_owned(), value.to_owned()));
        }
        let outcome = ask.run(&world);
        assert_eq!((outcome.stdout.trim(), &outcome.how), ("1", &How::Exited { code: 0 }), "{outcome:?}");
    }
}

#[test]
fn given_places_are_there_as_they_were_given() {
    for who in everybody() {
        let world = World::new(who);
        let mount = |source: &str, target: &str, access| HostMount {
            source: world.path(source),
            target: target.into(),
            access,
        };
        let script =
            "cat /given/read/file; echo x > /given/read/new; echo x > /given/write/new && cat /given/one; ls /given";
        let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
        ask.confinement().mounts = vec![
            mount("source", "/given/read", Access::ReadOnly),
            mount("other-run", "/given/write", Access::ReadWrite),
            mount("source/file", "/given/one", Access::ReadOnly),
        ];
        let outcome = ask.run(&world);
        assert_eq!(outcome.stdout, "source\nsource\none\nread\nwrite\n", "{outcome:?}");
        assert!(!world.path("source/new").exists());
        assert_eq!(world.read("other-run/new"), "x\n");
    }
}

#[test]
fn more_places_than_fit_into_one_message_are_all_there() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/bin/sh", "-c", "cat /given/*/file | wc -l"]);
        ask.confinement().mounts = (0..70)
            .map(|number| HostMount {
                source: world.path("source"),
                target: format!("/given/{number}").into(),
                access: Access::ReadOnly,
            })
            .collect();
        let outcome = ask.run(&world);
        assert_eq!((outcome.stdout.trim(), &outcome.how), ("70", &How::Exited { code: 0 }), "{}", outcome.stderr);
    }
}

#[test]
fn changes_to_layers_are_handed_out_and_the_layers_stay() {
    for who in everybody() {
        for memory in [true, false] {
            let world = World::new(who);
            std::fs::create_dir(world.path("changes")).unwrap();
            world.give(&world.path("changes"));
            let upper = if memory {
                Upper::Memory(sandbox::Space { bytes: 16 << 20, inodes: 1000 })
            } else {
                Upper::Directory(world.path("changes"))
            };
            let script = "cat readme file deps/report; echo changed > readme; echo new > new; rm file; ls";
            let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
            ask.cwd = "/run/tree".into();
            // Something of the host within the workspace, as a layer of dependencies would be.
            let within = HostMount {
                source: world.path("other-run"),
                target: "/run/tree/deps".into(),
                access: Access::ReadOnly,
            };
            ask.confinement().mounts.push(within);
            ask.confinement().workspace = ConfinedWorkspace {
                target: "/run/tree".into(),
                from: WorkspaceFrom::Layers { lower: vec![world.path("workspace"), world.path("source")], upper },
            };
            let outcome = ask.run(&world);
            assert_eq!(outcome.stdout, "hello\nsource\nsealed\ndeps\nnew\nreadme\n", "{outcome:?}");
            let files = outcome.upper.unwrap();
            let names: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
            // What was removed is a mark without content.
            assert_eq!(names, [("deps", ""), ("file", ""), ("new", "new\n"), ("readme", "changed\n")]);
            assert_eq!(
                (world.read("workspace/readme"), world.read("source/file")),
                ("hello\n".into(), "source\n".into())
            );
            assert_eq!(world.path("changes/upper/new").exists(), !memory);
            assert!(!world.path("changes/work").exists(), "nobody could remove what is left there");
        }
    }
}

#[test]
fn a_program_that_is_not_there_is_a_result() {
    for who in everybody() {
        let world = World::new(who);
        for (program, kind) in
            [("/bin/absent", SpawnFailureKind::NotFound), ("/etc/passwd", SpawnFailureKind::Permission)]
        {
            let outcome = Ask::strict(&world, &[program]).run(&world);
            let How::SpawnFailed(failure) = &outcome.how else { panic!("{outcome:?}") };
            assert_eq!(failure.kind, kind, "{failure:?}");
        }
    }
}

#[test]
fn the_environment_is_what_was_given() {
    for who in everybody() {
        let world = World::new(who);
        let mut ask = Ask::strict(&world, &["/usr/bin/env"]);
        ask.env = vec![("ONE".to_owned(), "1".to_owned())];
        assert_eq!(ask.run(&world).stdout, format!("ONE=1\n{}={}\n", ask.marker.0, ask.marker.1));
    }
}

/// A posture that was built before its order is the same as one that is built for the order. An order that does not fit gets a new one.
#[test]
fn what_is_built_ahead_is_what_is_built_otherwise() {
    for who in everybody() {
        let world = World::new(who);
        let layers = |upper| WorkspaceFrom::Layers { lower: vec![world.path("workspace")], upper };
        let space = sandbox::Space { bytes: 3 << 20, inodes: 333 };
        let change: [&dyn Fn(&mut Ask); 6] = [
            &|_| {},
            &|ask| ask.confinement().private = space,
            &|ask| ask.confinement().listener = Some(8123),
            &|ask| ask.confinement().workspace.from = layers(Upper::Memory(space)),
            &|ask| ask.confinement().home = "/home/other".into(),
            &|ask| ask.env.push(("LONG".to_owned(), "\"".repeat(100_000))),
        ];
        for (number, change) in change.iter().enumerate() {
            let script = "echo text > new && cat new /etc/passwd && stat -c '%A %u %g %n' /* /dev/* /etc/* /home/* \
                          && stat -f -c '%b %c' /tmp";
            let mut ask = Ask::strict(&world, &["/bin/sh", "-c", script]);
            change(&mut ask);
            let [ahead, otherwise] = [true, false].map(|ahead| {
                ask.ahead = ahead;
                let mut outcome = ask.run(&world);
                let applied = outcome.applied.as_mut().unwrap();
                // Drawn anew each time, for root.
                (applied.ids.outer_uid, applied.ids.outer_gid) = (0, 0);
                outcome
            });
            assert_eq!(ahead.how, How::Exited { code: 0 }, "{number} as {who:?}: {ahead:?}");
            assert_eq!(ahead.applied, otherwise.applied, "{number} as {who:?}");
            assert_eq!(ahead.stdout, otherwise.stdout, "{number} as {who:?}");
        }
    }
}
