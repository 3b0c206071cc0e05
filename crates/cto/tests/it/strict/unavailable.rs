//! Hosts on which the sandbox cannot be built: nothing is started without it, whatever was found out before.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use testkit::{Ran, Who, World};

use super::scene::Scene;
use super::sealed::Sealed;

pub(super) const CLASS: &str = "A host that lacks a feature of the sandbox";

/// A host that lacks something, played by limits around the harness that nobody else feels.
pub(super) struct Lack {
    pub(super) of: &'static str,
    who: Who,
    around: &'static [&'static str],
    /// Words of the blocker's text and of its remedy.
    text: &'static str,
    remedy: &'static str,
}

/// A user namespace in which the user is who it was, and may set limits for what it starts.
macro_rules! apart {
    ($($more:literal),*; $script:literal) => {
        &["/usr/bin/unshare", "--user", "--map-current-user", "--keep-caps", $($more,)* "/bin/sh", "-c", $script, "sh"]
    };
}

pub(super) const LACKS: &[Lack] = &[
    Lack {
        of: "user namespaces: their limit is 0",
        who: Who::Ordinary,
        around: apart!(; "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\""),
        text: "making namespaces: No space left on device",
        remedy: "sysctl user.max_user_namespaces=",
    },
    Lack {
        of: "an unmasked `/proc`: a container masks parts of it",
        who: Who::Ordinary,
        around: apart!("--mount", "--pid", "--fork", "--mount-proc"; "mount -t tmpfs none /proc/sys; exec \"$@\""),
        text: "mounting proc: ",
        remedy: "unmask",
    },
    Lack {
        of: "capabilities: uid 0 in a container with few",
        who: Who::Root,
        around: &["/usr/bin/setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"],
        text: "without CAP_SYS_ADMIN",
        remedy: "run as an ordinary user",
    },
    Lack {
        of: "uids: uid 0 in a container without other uids",
        who: Who::Root,
        around: apart!(; "exec \"$@\""),
        text: "no unused uid",
        remedy: "run as an ordinary user",
    },
];

#[test]
fn nothing_is_started_without_the_sandbox() {
    let everybody = Who::all("nothing_is_started_without_the_sandbox");
    for lack in LACKS.iter().filter(|lack| everybody.contains(&lack.who)) {
        let scene = Scene::new(lack.who);
        // Where it is run it leaves a mark, sandbox or not.
        let steps = json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"print": {"text": "started"}}]});
        scene.set_case(&[("fake", &steps.to_string())]);
        let found_out = scene.world.home().join("cache/sandbox.json");
        fs::remove_file(&found_out).unwrap();
        blocked(&scene, lack, lack.remedy);
        assert!(!found_out.exists(), "{}: what does not work is not remembered", lack.of);
        works(&scene);
        assert!(found_out.exists(), "what works is remembered");
        // Where it was found to work, building it is the first to fail, and a question about the missing part is answered.
        blocked(&scene, lack, "");
        paste_doctor(&scene, lack.around);
        works(&scene);
        scene.close();
    }
}

fn blocked(scene: &Scene, lack: &Lack, remedy: &str) {
    let before = scene.outside();
    let sealed = run(scene, lack.around);
    let told = || format!("{}: {}\n{}", lack.of, sealed.told(), sealed.text("trace.jsonl"));
    assert_eq!((sealed.exit, &sealed.report["status"]), (3, &json!("blocked")), "{}", told());
    assert_eq!(sealed.report["blocker_reasons"], json!(["sandbox_unavailable"]), "{}", told());
    let blocker = &sealed.report["blockers"][0];
    assert!(blocker["text"].as_str().unwrap().contains(lack.text), "{}", told());
    let told_remedy = blocker["remedy"].as_str().unwrap();
    assert!(told_remedy.contains(remedy) && !told_remedy.is_empty(), "{}", told());
    assert_eq!(sealed.report["engine"]["process_started"], false, "{}", told());
    assert_eq!(sealed.sandbox["engine_ran"], false, "{}", told());
    assert_eq!(sealed.events("engine.started"), Vec::<serde_json::Value>::new(), "{}", told());
    assert_eq!(sealed.events("backend.gate.blocked")[0]["reason"], "sandbox_unavailable", "{}", told());
    assert_eq!((sealed.stdout.as_str(), sealed.text("patch.diff").as_str()), ("", ""), "{}", told());
    assert_eq!(scene.outside(), before, "{}", told());
}

/// The general remedy of the reason, pasted in the same state: it exits with 3 where something blocks runs, and says what.
fn paste_doctor(scene: &Scene, around: &[&str]) {
    let (program, more) = around.split_first().unwrap();
    let mut command = scene.world.program(program);
    let ran = Ran::of(command.args(more).arg(scene.world.binary()).arg("doctor").output().unwrap());
    assert_eq!(ran.code, 3, "{}", ran.told());
    assert!(ran.text().lines().any(|line| line.starts_with("missing sandbox")), "{}", ran.told());
}

/// The same without the limit, at once.
fn works(scene: &Scene) {
    let sealed = run(scene, &[]);
    assert_eq!((sealed.exit, sealed.stdout.contains("started")), (0, true), "{}", sealed.told());
}

fn run(scene: &Scene, around: &[&str]) -> Sealed {
    let args = ["run", "./made", "--json", "--repo", "../source"];
    let mut command = match around {
        [] => scene.command(&args),
        [program, more @ ..] => {
            let mut command = scene.world.program(program);
            command.args(more).arg(scene.world.binary()).args(args);
            command
        }
    };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    Sealed::read(&scene.world, &World::finish(child))
}
