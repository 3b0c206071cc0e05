//! Abilities of a host, asked of hosts that have them and of hosts that do not.

use std::io::Write;
use std::process::Stdio;

use sandbox::{Access, Confinement, HostMount};
use serde_json::Value;

use crate::world::{Ask, Who, World, everybody, harness, program_as, stage_exe};

fn available(mut command: std::process::Command) -> Value {
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn this_host_can() {
    for who in everybody() {
        let world = World::new(who);
        std::fs::create_dir(world.path("scratch")).unwrap();
        world.give(&world.path("scratch"));
        let mut command = harness(who, &["availability"]);
        command.arg(world.path("scratch"));
        let found = available(command);
        assert_eq!(found["shortfall"], Value::Null, "{found}");
        assert_eq!((&found["overlay"], &found["recorded"]), (&Value::from(true), &Value::from(true)), "{found}");
        assert!(found["kernel"].as_str().is_some_and(|kernel| kernel.contains('.')), "{found}");
        // What the kernel has is in force, unless it is the first version.
        let usable = found["landlock_abi"].as_u64().filter(|abi| *abi >= 2);
        let applied = Ask::strict(&world, &["/bin/true"]).run(&world).applied().posture.landlock_abi.map(u64::from);
        assert_eq!(applied, usable);
        assert_eq!(std::fs::read_dir(world.path("scratch")).unwrap().count(), 0, "it left something");
    }
}

/// A harness inside a user namespace in which something that strict needs is taken away; the host itself stays as it is.
#[test]
fn hosts_that_cannot_say_what_is_missing() {
    let limited = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let masked = "mount -t tmpfs none /proc/sys; exec \"$@\"";
    for (name, flags, script, missing) in [
        ("limit", &["--user", "--map-current-user", "--keep-caps"][..], limited, "user_namespaces_limited"),
        (
            "masked",
            &["--user", "--map-current-user", "--keep-caps", "--mount", "--pid", "--fork", "--mount-proc"][..],
            masked,
            "proc_masked",
        ),
    ] {
        let world = World::new(Who::Ordinary);
        std::fs::create_dir(world.path("scratch")).unwrap();
        world.give(&world.path("scratch"));
        let mut command = program_as(Who::Ordinary, "/usr/bin/unshare".as_ref());
        command
            .args(flags)
            .args(["/bin/sh", "-c", script, "sh"])
            .arg(stage_exe())
            .arg("availability")
            .arg(world.path("scratch"));
        let found = available(command);
        assert_eq!(found["shortfall"]["missing"], Value::from(missing), "{name}: {found}");
        assert!(found["shortfall"]["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()));
    }
}

#[test]
fn a_sandbox_within_the_sandbox_says_why_not() {
    for who in everybody() {
        let world = World::new(who);
        std::fs::create_dir(world.path("workspace/scratch")).unwrap();
        world.give(&world.path("workspace/scratch"));
        let scratch = world.path("workspace/scratch").display().to_string();
        let mut ask = Ask::strict(&world, &["/stage", "availability", &scratch]);
        let mount = HostMount { source: stage_exe().to_owned(), target: "/stage".into(), access: Access::ReadOnly };
        ask.confinement().mounts.push(mount);
        let outcome = ask.run(&world);
        let found: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        assert_eq!(found["shortfall"]["missing"], Value::from("forbidden_by_container"), "{found}");
    }
}

/// Layered file systems cannot translate ids. In a mount namespace of its own, so that the host sees nothing of it.
#[test]
fn a_workspace_whose_ids_cannot_be_translated_is_given_to_the_run() {
    if !everybody().contains(&Who::Root) {
        return;
    }
    let world = World::new(Who::Root);
    for name in ["upper", "work", "joined"] {
        std::fs::create_dir(world.path(name)).unwrap();
    }
    let mut ask = Ask::strict(&world, &["/bin/sh", "-c", "echo new > new; echo more >> readme; cat readme; id -u"]);
    ask.cwd = world.path("joined");
    ask.confinement = Some(Confinement::new(world.path("joined")));
    let script = "cd \"$0\" && mount -t overlay none -o lowerdir=workspace,upperdir=upper,workdir=work joined && exec \"$1\" confined";
    let mut command = program_as(Who::Root, "/usr/bin/unshare".as_ref());
    command.args(["--mount", "/bin/sh", "-c", script]).arg(world.path("")).arg(stage_exe());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(ask.request().to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["applied"]["ids"]["ownership"], Value::from("changed"), "{told}");
    assert_eq!(told["stdout"], Value::from("hello\nmore\n1000\n"), "{told}");
    assert_eq!((world.read("upper/new"), world.read("workspace/readme")), ("new\n".to_owned(), "hello\n".to_owned()));
}
