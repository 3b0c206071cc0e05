//! Identity of Case: programs that identify themselves in any known sentence are accepted, and no others.

use std::path::Path;

use super::scene::{Scene, good};

/// Output of a program that is asked for help, its exit code, and whether it is accepted.
const SAYS: &[(&str, i32, bool)] = &[
    ("  run      Run the agent pipeline (default)", 0, true),
    ("Usage: ca <command> [options]\n\nCommands:\n  run    Start the pipeline of agents\n  create", 0, true),
    ("Usage:\n  ca [run] --task <path>   Run what an existing task says", 0, true),
    ("Usage: ca run --task FILE", 3, false),
    ("ca, a certificate tool: create, sign, run", 0, false),
    ("case 1.6.3: camelCase, PascalCase, snake_case", 0, false),
    ("", 0, false),
];

#[test]
fn a_program_is_known_by_its_help() {
    let mut scene = Scene::new(good());
    scene.set("CTO_HARNESS_CASE_STAGE", "1");
    for (help, exit, good) in SAYS {
        scene
            .name_script(&format!("#!/bin/sh\n[ \"$1\" = --help ] || exit 9\ncat <<'END'\n{help}\nEND\nexit {exit}\n"));
        let code = if *good { 0 } else { 3 };
        let probed = scene.cto(&["engine", "probe", "case", "--json"]).expect(code).text();
        assert_eq!(probed.contains("provider_unavailable"), !good, "{help}: {probed}");
    }
}

/// Another program with the same name is refused.
#[test]
fn other_things_of_that_name_are_refused() {
    let mut scene = Scene::new(good());
    scene.set("CTO_HARNESS_CASE_STAGE", "1");
    // The control: the stand-in is let through.
    let _ = scene.cto(&["engine", "probe", "case", "--json"]).expect(0);
    // A word of the shell, wrapped; a library that prints nothing when it is run; nothing.
    for text in [
        "#!/bin/sh\ncase \"$1\" in run) shift; exec \"$@\" ;; esac\n",
        "#!/bin/sh\nexec sh -c 'case x in x) ;; esac'\n",
        "#!/bin/sh\n",
    ] {
        scene.name_script(text);
        let probed = scene.cto(&["engine", "probe", "case", "--json"]).expect(3).text();
        assert!(probed.contains("it is another program"), "{text}: {probed}");
    }
    let nothing = ["/bin/true", "/usr/bin/true"].into_iter().find(|path| Path::new(path).is_file()).unwrap();
    scene.set("CTO_HARNESS_CASE_BIN", nothing);
    let probed = scene.cto(&["engine", "probe", "case", "--json"]).expect(3).text();
    assert!(probed.contains("provider_unavailable"), "{probed}");
}

/// Words of `run --help`, and true if the program is one whose arguments and log are known.
const BUILDS: &[(&str, Option<&str>)] = &[
    ("  --task, -t <file>   Task file\n  --mode <mode>", None),
    ("  --task, -t <file>   Task file\n  --no-scout          Skip the scout", None),
    ("unknown option", None),
    ("  --task, -t <td-id>   Task in the td store\n  --repo-path <dir>", Some("td store")),
    ("  --task <id>   Task\n  --repo-path <dir>", Some("td store")),
    ("  --task <file>\n  --runtime   pi or LangGraph", Some("leaves no event log")),
];

/// Newer builds answer to the same help; those that cannot be run as the others are refused before anything is started.
#[test]
fn newer_builds_are_told_apart() {
    let mut scene = Scene::new(good());
    scene.set("CTO_HARNESS_CASE_STAGE", "1");
    for (help, refused) in BUILDS {
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --help ] && echo 'Run the agent pipeline' && exit 0\n[ \"$2\" = --help ] || exit 9\n\
             cat <<'END'\n{help}\nEND\nexit 1\n"
        );
        scene.name_script(&text);
        let probed = scene.cto(&["engine", "probe", "case", "--json"]).expect(if refused.is_some() { 3 } else { 0 });
        assert!(probed.text().contains(refused.unwrap_or_default()), "{help}: {}", probed.text());
    }
}
