//! Every route of the table: read without a login only where a person's own configuration says so, and sent again only when something changed.

use std::fs;

use hermes::{PageRoute, ROUTES, RouteAccess};
use testkit::World;

use super::Served;
use crate::world;

/// A home with a run and a request, and the address of each route that is read in it.
fn lay_home(world: &World) -> Vec<(&'static PageRoute, String)> {
    let _ = world.cto(["init", "."]).expect(0);
    let (report, _) = world.run("r1-string-slugify", 0);
    let run = report["run_id"].as_str().unwrap().to_owned();
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]);
    let request = asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned();
    let address = |route: &'static PageRoute| {
        let path = route.path.replace("{run}", &run).replace("{request}", &request);
        let more = match path.as_str() {
            path if path.ends_with("/log") => "?name=test.log".to_owned(),
            path if path.ends_with("/compare") => format!("?runs={run}"),
            _ => String::new(),
        };
        (route, path + &more)
    };
    let read = ROUTES.iter().filter(|route| route.method == "GET" && !route.path.contains("{token}"));
    read.map(address).collect()
}

/// Writes the person's own configuration and the workspace's; an empty text says nothing.
pub(super) fn configure(world: &World, own: &str, workspace: &str) {
    let folder = world.user().join(".config/cto");
    fs::create_dir_all(&folder).unwrap();
    for (file, text) in [(folder.join("config.yaml"), own), (world.here().join("harness.yaml"), workspace)] {
        let _ = fs::remove_file(&file);
        if !text.is_empty() {
            fs::write(file, text).unwrap();
        }
    }
}

/// A client that asks again with the tag gets nothing new, on every route of the table. Figures and liveness are never kept, and a stream
/// has no end.
#[test]
fn every_route_has_a_tag_and_is_not_sent_twice() {
    let world = world();
    let routes = lay_home(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    // A home that just changed is not trusted to be at rest.
    std::thread::sleep(std::time::Duration::from_millis(700));
    let mut tried = 0;
    for (route, path) in routes.iter().filter(|(route, _)| !route.path.ends_with("/events")) {
        let first = served.get(path, &cookie);
        assert_eq!(first.status, 200, "{path}: {}", first.text());
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path}: {}", first.head));
        if ["/metrics", "/health"].contains(&route.path) {
            assert_eq!(first.header("cache-control"), Some("no-store"), "{path}");
            continue;
        }
        let again = served.ask("GET", path, &cookie, &[("If-None-Match", tag)], "");
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        let other = served.ask("GET", path, &cookie, &[("If-None-Match", "\"0\"")], "");
        assert_eq!((other.status, other.body.is_empty()), (200, false), "the control: {path}");
        tried += 1;
    }
    assert!(tried > 25, "{tried}");
}

/// Pages are open only where the person's own file says so; a workspace can switch that off and never on. Nobody acts without a login.
#[test]
fn only_a_persons_own_file_opens_pages_and_never_acts() {
    let world = world();
    let routes = lay_home(&world);
    let reading = |served: &Served| -> Vec<u16> {
        let read = routes.iter().filter(|(route, _)| route.access == RouteAccess::Reader);
        read.filter(|(route, _)| !route.path.ends_with("/events"))
            .map(|(_, path)| served.get(path, "").status)
            .collect()
    };
    let (open, closed) = ("hermes:\n  open_read_only: true\n", "hermes:\n  open_read_only: false\n");
    for (own, theirs, is_open) in [
        ("", "", false),
        (open, "", true),
        ("", open, false),
        (closed, open, false),
        (open, closed, false),
        (open, "hermes:\n  capture_approvals: true\n", true),
    ] {
        configure(&world, own, theirs);
        let served = Served::start(&world, &[]);
        let statuses = reading(&served);
        assert!(statuses.len() > 20, "{statuses:?}");
        assert_eq!(statuses.iter().all(|status| *status == 200), is_open, "{own:?} {theirs:?}: {statuses:?}");
        assert!(is_open || statuses.iter().all(|status| matches!(status, 302 | 401)), "{statuses:?}");
        for (route, path) in acts(&routes) {
            let refused = served.post(&path, "", "token=x&sentence=x&reason=x&packet_digest=x");
            assert_eq!(refused.status, 403, "{}", route.path);
        }
        let page = served.get(&routes.iter().find(|(_, path)| path.starts_with("/approvals/")).unwrap().1, "").text();
        assert!(!page.contains("name=\"token\""), "no form on a page without a login: {own:?} {theirs:?}");
        // Capturing is a person's own switch as well.
        let operator = served.log_in();
        let (_, approve) = acts(&routes).into_iter().find(|(route, _)| route.path.ends_with("/approve")).unwrap();
        let page = served.get(approve.trim_end_matches("/approve"), &operator).text();
        assert!(page.contains("/deny\"") && !page.contains("/approve\""), "{own:?} {theirs:?}");
    }
    configure(&world, "hermes:\n  capture_approvals: true\n", "");
    let served = Served::start(&world, &[]);
    let (_, approve) = acts(&routes).into_iter().find(|(route, _)| route.path.ends_with("/approve")).unwrap();
    let page = served.get(approve.trim_end_matches("/approve"), &served.log_in()).text();
    assert!(page.contains("/approve\""), "the control: one's own file captures");
}

/// Routes of an operator with the run and the request of this home.
fn acts(routes: &[(&'static PageRoute, String)]) -> Vec<(&'static PageRoute, String)> {
    let filled = |part: &str| {
        let (route, path) = routes.iter().find(|(route, _)| route.path.ends_with(part)).unwrap();
        (route.path.trim_start_matches("/api/cto").to_owned(), path.trim_start_matches("/api/cto").to_owned())
    };
    let names = [filled("/runs/{run}"), filled("/approvals/{request}")];
    let acts = ROUTES.iter().filter(|route| route.access == RouteAccess::Operator);
    let fill = |route: &'static PageRoute| {
        let (pattern, path) = names.iter().find(|(pattern, _)| route.path.starts_with(pattern.as_str())).unwrap();
        (route, route.path.replace(pattern.as_str(), path))
    };
    acts.map(fill).collect()
}
