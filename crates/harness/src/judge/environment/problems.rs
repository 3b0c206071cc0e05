//! Problems of a contract's environment on this machine, found before anything is made or
//! started.

use std::path::Path;

use contract::decision::Shortfall;
use contract::task::{Environment, Mount};
use untrusted_fs::own_files::OwnPath as _;

use crate::home::host::Tools;
use crate::home::placement::{HostPlaces, PlacedPath, conflict, is_never_shown, is_plain};
use crate::home::task::Task;

/// All obstacles to the environment.
pub(crate) fn problems(tools: &Tools, task: &Task) -> Vec<Shortfall> {
    let environment = &task.contract.environment;
    let mut problems: Vec<Shortfall> = environment.mounts.iter().filter_map(problem_of).collect();
    problems.extend(environment.mounts.iter().enumerate().filter_map(|mount| meeting_problem(environment, mount)));
    problems.extend(lost_names(task));
    let places = HostPlaces::new(tools, environment);
    let is_hidden = |dir: &&Path| dir.is_absolute() && places.host_path(dir).is_none();
    let hidden = environment.path.iter().map(Path::new).filter(is_hidden);
    problems.extend(hidden.map(|dir| Shortfall {
        text: format!("environment.path `{}` is not visible in the sandbox", dir.display()),
        remedy: format!("add it to environment.mounts: {{source: {}}}", dir.display()),
    }));
    problems
}

/// Problem of one mount by itself.
fn problem_of(mount: &Mount) -> Option<Shortfall> {
    let source = Path::new(&mount.source);
    let target = mount.target.as_deref().map(Path::new);
    let (text, remedy) = if !is_plain(source) || !target.is_none_or(is_plain) {
        ("needs absolute paths without `..`".to_owned(), "write the paths out in full")
    } else if is_never_shown(source) {
        ("has a source that no sandbox shows".to_owned(), "name the folder that is needed and nothing above it")
    } else if let Some(own) = target.and_then(conflict) {
        let text = format!("has a target where the sandbox has something of its own: {}", own.display());
        (text, "leave the target out, or choose one such as /opt/NAME")
    } else if !source.own_exists() {
        ("has a source that is not there".to_owned(), "make it, or name another")
    } else {
        return None;
    };
    Some(shortfall(mount, &text, remedy))
}

/// Problem of a mount beside the others: it needs a place that they leave free.
fn meeting_problem(environment: &Environment, (index, mount): (usize, &Mount)) -> Option<Shortfall> {
    let placed = PlacedPath::of_mount(mount);
    let others = environment.mounts.iter().enumerate().filter(|(other, _)| *other != index);
    for (other_index, other) in others {
        let other = PlacedPath::of_mount(other);
        let Ok(below) = placed.target.strip_prefix(&other.target) else { continue };
        if below.as_os_str().is_empty() {
            // Said once, of the later one; the same source twice is no contradiction.
            if other_index < index && other.source != placed.source {
                let text = format!("has the same target as `{}`", other.source.display());
                return Some(shortfall(mount, &text, "choose another target"));
            }
        } else if !other.source.join(below).own_exists() {
            let text = format!(
                "lies in the mount at `{}`, which is read-only and has no `{}`",
                other.target.display(),
                below.display()
            );
            return Some(shortfall(mount, &text, "choose a target beside it"));
        }
    }
    None
}

/// Variables and arguments that name a moved mount by a path that is another thing inside.
fn lost_names(task: &Task) -> Vec<Shortfall> {
    let environment = &task.contract.environment;
    let lost: Vec<PlacedPath> =
        environment.mounts.iter().map(PlacedPath::of_mount).filter(PlacedPath::is_lost).collect();
    let variables = environment.variables.iter().map(|(name, value)| (format!("environment.variables {name}"), value));
    let commands = task.contract.verification_commands.iter().chain(&environment.setup).chain(&environment.build);
    // The program itself is looked up.
    let words = commands.flat_map(|command| command.argv.iter().skip(1).map(|word| ("a command".to_owned(), word)));
    let named = variables.chain(words).filter_map(|(place, text)| {
        lost.iter().find(|placed| names_path(text, &placed.source)).map(|placed| (place, placed))
    });
    let mut problems: Vec<Shortfall> = named
        .map(|(place, placed)| Shortfall {
            text: format!("{place} names `{}`, which the sandbox shows elsewhere", placed.source.display()),
            remedy: format!("write {} there", placed.target.display()),
        })
        .collect();
    problems.dedup();
    problems
}

/// True if a text holds this path and not one that it is only a part of.
fn names_path(text: &str, path: &Path) -> bool {
    let path = path.display().to_string();
    let in_name = |character: char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-');
    text.match_indices(&path).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + path.len()..]);
        !before.ends_with(in_name) && !after.starts_with(in_name)
    })
}

fn shortfall(mount: &Mount, text: &str, remedy: &str) -> Shortfall {
    let target = mount.target.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default();
    Shortfall { text: format!("environment.mounts `{}{target}` {text}", mount.source), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::home::task::TreeOrigin;
    use crate::run::tests::contract;

    /// Problem of an environment, without the words before the first back-quote.
    fn found(environment: Value) -> Vec<String> {
        let origin = TreeOrigin::Repository("/nowhere".into());
        let contract =
            contract(json!({"environment": environment, "verification_commands": [{"argv": ["make", "-C/etc/go"]}]}));
        let task = Task::from_contract(contract, origin);
        problems(&Tools::default(), &task).into_iter().map(|problem| problem.text).collect()
    }

    fn mounts(mounts: &[(&str, Option<&str>)]) -> Value {
        let mount = |(source, target): &(&str, Option<&str>)| match target {
            Some(target) => json!({"source": source, "target": target}),
            None => json!({"source": source}),
        };
        json!({"mounts": mounts.iter().map(mount).collect::<Vec<_>>()})
    }

    #[test]
    fn a_mount_alone() {
        for (source, target, problem) in [
            ("/usr", None, None),
            ("/usr", Some("/opt/x"), None),
            ("usr", None, Some("needs absolute paths without `..`")),
            ("/usr", Some("opt"), Some("needs absolute paths without `..`")),
            ("/usr", Some("/opt/../x"), Some("needs absolute paths without `..`")),
            ("/", None, Some("has a source that no sandbox shows")),
            ("/proc", None, Some("has a source that no sandbox shows")),
            ("/usr", Some("/workspace/x"), Some("has a target where the sandbox has something of its own: /workspace")),
            ("/no/such/folder", None, Some("has a source that is not there")),
        ] {
            let mount = Mount { source: source.to_owned(), target: target.map(str::to_owned) };
            let text = problem_of(&mount).map(|problem| problem.text);
            assert_eq!(text.is_some(), problem.is_some(), "{source} {target:?}: {text:?}");
            assert!(text.iter().all(|text| text.ends_with(problem.unwrap())), "{text:?}");
        }
    }

    #[test]
    fn a_mount_beside_others() {
        let text = |mounted: &[(&str, Option<&str>)]| found(mounts(mounted));
        assert_eq!(text(&[("/usr", Some("/opt/x")), ("/bin", Some("/opt/y"))]), [""; 0]);
        let same = "environment.mounts `/bin -> /opt/x` has the same target as `/usr`";
        assert_eq!(text(&[("/usr", Some("/opt/x")), ("/bin", Some("/opt/x"))]), [same], "said once, of the later");
        assert_eq!(text(&[("/usr", Some("/opt/x")), ("/usr", Some("/opt/x"))]), [""; 0], "the same twice");
        let inside = "environment.mounts `/bin -> /opt/x/none` lies in the mount at `/opt/x`, which is read-only and has no `none`";
        assert_eq!(text(&[("/usr", Some("/opt/x")), ("/bin", Some("/opt/x/none"))]), [inside]);
        assert_eq!(text(&[("/usr", Some("/opt/x")), ("/bin", Some("/opt/x/bin"))]), [""; 0], "it has a place for it");
    }

    #[test]
    fn a_search_path_that_the_sandbox_does_not_show() {
        let path = |path: &str| found(json!({"path": [path]}));
        assert_eq!(path("/no/such"), ["environment.path `/no/such` is not visible in the sandbox"]);
        assert_eq!(path("/usr/bin"), [""; 0]);
        assert_eq!(path("tools/bin"), [""; 0], "of the tree");
    }

    /// A mount that has moved is named by a path that is another thing inside.
    #[test]
    fn names_of_a_mount_that_has_moved() {
        let moved = json!({"mounts": [{"source": "/etc"}], "variables": {"ROOT": "/etc/x"}, "setup": [{"argv": ["/etc/y", "/etc/z"]}]});
        let lost = |place: &str| format!("{place} names `/etc`, which the sandbox shows elsewhere");
        let all = found(moved);
        assert_eq!(
            all,
            [lost("environment.variables ROOT"), lost("a command")],
            "once for all commands, and not for a program"
        );
        assert_eq!(
            found(json!({"mounts": [{"source": "/etc", "target": "/opt/x"}], "variables": {"ROOT": "/etc/x"}})),
            [""; 0]
        );
    }

    #[test]
    fn a_path_is_told_from_its_neighbours() {
        for (text, names) in [
            ("/etc/go", true),
            ("-I/etc/go/include", false),
            ("--root=/etc/go:/x", true),
            ("/etc/go/bin", true),
            ("/etc/gopher", false),
            ("/etc/go-1", false),
            ("/opt/cto/etc/go", false),
        ] {
            assert_eq!(names_path(text, Path::new("/etc/go")), names, "{text}");
        }
    }
}
