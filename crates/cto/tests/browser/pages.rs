//! Every page, light and dark, wide and narrow, with script and without: no false text, no request outside, no foreign script,
//! nothing hidden from keys.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::scene::Scene;
use crate::{Browser, Look, Page, Served};

/// Everything about a page that can be measured: sideways scrolling, inline parts, doubled ids, an empty title.
const MEASURE: &str = "(() => {
  const root = document.documentElement, faults = [];
  if (root.scrollWidth > root.clientWidth) faults.push(`scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
  const inline = document.querySelectorAll('[style],[onclick],[onload],[onerror],style,script:not([src])').length;
  if (inline) faults.push(inline + ' inline styles, scripts or handlers');
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id).filter((v, i, a) => a.indexOf(v) !== i);
  if (ids.length) faults.push('ids stand twice: ' + ids.join(','));
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  if (window.hostileRan) faults.push('hostile text ran');
  return faults;
})()";

/// A page: name, path, status, and false for one that is looked at without a login.
type Shown = (&'static str, String, u64, bool);

fn pages_of(scene: &Scene, login: &str) -> Vec<Shown> {
    let Scene { passed, failed, blocked, broken, collected, dead, request, live, .. } = scene;
    let page = |name, path: String| (name, path, 200, true);
    vec![
        page("overview", "/".to_owned()),
        page("runs", "/runs".to_owned()),
        page("run-pass", format!("/runs/{passed}")),
        page("run-fail", format!("/runs/{failed}")),
        page("run-blocked", format!("/runs/{blocked}")),
        page("run-broken", format!("/runs/{broken}")),
        page("run-collected", format!("/runs/{collected}")),
        page("run-dead", format!("/runs/{dead}")),
        page("run-live", format!("/runs/{live}")),
        page("verify", format!("/runs/{passed}/verify")),
        page("verify-broken", format!("/runs/{broken}/verify")),
        page("log", format!("/runs/{passed}/log?name=test.log")),
        page("log-found", format!("/runs/{passed}/log?name=test.log&q=passed")),
        page("log-not-found", format!("/runs/{passed}/log?name=test.log&q=nowhere")),
        page("approvals", "/approvals".to_owned()),
        page("request", format!("/approvals/{request}")),
        page("compare", format!("/compare?runs={passed}%20{failed}%20{blocked}")),
        page("compare-empty", "/compare".to_owned()),
        page("queue", "/queue".to_owned()),
        page("records", "/records".to_owned()),
        page("spend", "/spend".to_owned()),
        ("not-found", "/nothing".to_owned(), 404, true),
        ("login", "/login".to_owned(), 200, false),
        ("login-used", login.to_owned(), 410, false),
    ]
}

#[test]
fn every_page_is_whole_in_every_way_of_looking() {
    let Some(browser) = Browser::start("every_page_is_whole_in_every_way_of_looking") else { return };
    let scene = Scene::new();
    let served = Served::start(&scene.world, &[]);
    let (origin, cookie) = (format!("http://{}", served.host), log_in(&browser, &served));
    // A link lapses after some minutes, so that a reader logs in before the long look.
    let reading = served.log_in_as_reader();
    try_special_pages(&browser, &scene);
    let pages = pages_of(&scene, &served.login);
    let (mut faults, mut views) = (Vec::new(), 0);
    for (script, theme, width) in ways_of_looking() {
        let look = Look { script, theme, width, ..Look::at(&origin, &cookie) };
        let inside = browser.open(look);
        let outside = browser.open(Look { cookie: "", ..look });
        for (name, path, status, is_inside) in &pages {
            let page = if *is_inside { &inside } else { &outside };
            let way = format!("{name} {theme} {width} {}", if script { "with script" } else { "without script" });
            faults.extend(look_at(page, path, *status, script).into_iter().map(|fault| format!("{way}: {fault}")));
            if let Some(folder) = shots().filter(|_| script) {
                page.shoot(&folder.join(format!("{name}-{theme}-{width}.png")), true);
            }
            views += 1;
        }
        inside.leave();
        outside.leave();
    }
    assert!(faults.is_empty(), "{views} views:\n{}", faults.join("\n"));
    try_keys(&browser, &pages, &origin, &cookie);
    try_markup(&browser.open(Look::at(&origin, &reading)));
    let live = served.get(&format!("/runs/{}", scene.live), &cookie).text();
    assert!(live.contains("No verdict yet."), "the control: the run went on all the while");
}

/// Script, theme and width.
type WayOfLooking = (bool, &'static str, u32);
/// Leads a page somewhere and gives its faults.
type Act<'a> = &'a dyn Fn(&Page<'_>) -> Vec<String>;

fn ways_of_looking() -> impl Iterator<Item = WayOfLooking> {
    let widths = [1280, 390];
    [true, false].into_iter().flat_map(move |script| {
        ["light", "dark"].into_iter().flat_map(move |theme| widths.map(|width| (script, theme, width)))
    })
}

/// Folder for pictures, where somebody wants them.
#[expect(clippy::disallowed_methods, reason = "a chore tells by the environment where pictures go")]
fn shots() -> Option<PathBuf> {
    std::env::var_os("CTO_TEST_SHOTS").map(PathBuf::from)
}

/// Logs in as a person does, without script, and gives the cookie.
fn log_in(browser: &Browser, served: &Served) -> String {
    let origin = format!("http://{}", served.host);
    let page = browser.open(Look { script: false, ..Look::at(&origin, "") });
    assert_eq!(page.visit("/runs"), 200);
    assert_eq!(page.path(), "/login", "nothing is shown without a login");
    page.visit(&served.login);
    page.click("main button[type=submit]");
    assert_eq!(page.path(), "/", "the button leads to the overview");
    let cookies = page.cookies();
    let [cookie] = cookies.as_array().unwrap().as_slice() else { panic!("{cookies}") };
    assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&json!(true), &json!("Strict")));
    format!("{}={}", cookie["name"].as_str().unwrap(), cookie["value"].as_str().unwrap())
}

/// Pages that need a state of their own: a login that waits for its button, a request that can be approved here, the refusal of a form, and
/// a run as one file.
fn try_special_pages(browser: &Browser, scene: &Scene) {
    let world = &scene.world;
    let folder = world.user().join(".config/cto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), "hermes:\n  capture_approvals: true\n").unwrap();
    let served = Served::start(world, &[]);
    fs::remove_file(folder.join("config.yaml")).unwrap();
    let origin = format!("http://{}", served.host);
    let _ = world.cto(["export", "--html", &scene.failed, "-o", "run.html", "--json"]).expect(0);
    let file = world.here().join("run.html");
    let request = format!("/approvals/{}", scene.request);
    let mut faults = Vec::new();
    let mut look_each = |ways: &[WayOfLooking], name: &str, origin: &str, cookie: &str, act: Act<'_>| {
        for &(script, theme, width) in ways {
            // The file has a script of its own, without which it is only read.
            let page = browser.open(Look { script, theme, width, ..Look::at(origin, cookie) });
            let way = format!("{name} {theme} {width} script {script}");
            let found = act(&page).into_iter().chain(measure(&page, script));
            faults.extend(found.map(|fault| format!("{way}: {fault}")));
            if script {
                faults.extend(page.walk_by_tab().1.into_iter().map(|fault| format!("{way}: {fault}")));
            }
            page.leave();
        }
    };
    let cookie = served.log_in();
    let all: Vec<WayOfLooking> = ways_of_looking().collect();
    for way in &all {
        // A link lapses, so that each look has a link of its own, whose button nobody has pressed.
        let fresh = Served::start(world, &[]);
        look_each(std::slice::from_ref(way), "login-fresh", &format!("http://{}", fresh.host), "", &|page| {
            page.visit(&fresh.login);
            assert!(page.has("main button[type=submit]"), "the button behind a link");
            page.faults()
        });
    }
    look_each(&all, "request-capture", &origin, &cookie, &|page| {
        page.visit(&request);
        assert!(page.has("#sentence-form"), "the form of an approval");
        page.faults()
    });
    look_each(&all, "request-refused", &origin, &cookie, &|page| {
        page.visit(&request);
        page.fill("#sentence-in", "something else");
        page.click("#sentence-form button[type=submit]");
        assert!(page.has(".banner") && page.path().ends_with("/approve"), "the page says why: {}", page.path());
        page.faults().into_iter().filter(|fault| !fault.contains("a status of 409")).collect()
    });
    look_each(&all, "run-file", "file://", "", &|page| {
        page.visit(file.to_str().unwrap());
        page.faults()
    });
    let halted = crate::world();
    halted.make_home();
    let _ = halted.cto(["halt", "--reason", "the build machine is moving"]).expect(0);
    let served = Served::start(&halted, &[]);
    look_each(&all, "overview-halted", &format!("http://{}", served.host), &served.log_in(), &|page| {
        page.visit("/");
        assert!(page.text("main").contains("the build machine is moving"), "the switch is on the page");
        page.faults()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Faults of one page.
fn look_at(page: &Page<'_>, path: &str, status: u64, script: bool) -> Vec<String> {
    let answered = page.visit(path);
    let mut faults: Vec<String> = page.faults();
    // The browser itself says that a page is missing.
    faults.retain(|fault| status == 200 || !fault.contains(&format!("a status of {status}")));
    if answered != status {
        faults.push(format!("status {answered}"));
    }
    if page.path() != path {
        faults.push(format!("led to {}", page.path()));
    }
    faults.extend(measure(page, script));
    faults
}

/// Faults of the page that is shown.
fn measure(page: &Page<'_>, script: bool) -> Vec<String> {
    let mut faults = serde_json::from_value::<Vec<String>>(page.evaluate(MEASURE)).unwrap();
    // A run as one file has its style and scripts inside.
    faults.retain(|fault| !(page.is_file() && fault.contains("inline styles")));
    if script {
        faults.extend(page.find_barriers());
    }
    faults
}

/// Keys alone: Tab reaches everything that can be used, letters lead to pages, rows and the search.
fn try_keys(browser: &Browser, pages: &[Shown], origin: &str, cookie: &str) {
    let page = browser.open(Look::at(origin, cookie));
    let mut faults = Vec::new();
    for (name, path, _, is_inside) in pages.iter().filter(|(.., is_inside)| *is_inside) {
        page.visit(path);
        let (wanted, found) = page.walk_by_tab();
        assert!(wanted > 5 && *is_inside, "{name}: {wanted}");
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    page.visit("/");
    page.press(&["Tab"]);
    assert_eq!(page.evaluate("document.activeElement.className"), json!("skip"), "the first stop skips to the content");
    let leads =
        [("r", "/runs"), ("a", "/approvals"), ("c", "/compare"), ("d", "/records"), ("s", "/spend"), ("o", "/")];
    for (keys, path) in leads.map(|(key, path)| (["g", key], path)) {
        page.press(&keys);
        // Keys are heard from when the page is whole.
        page.wait(&format!("location.pathname === '{path}' && document.readyState === 'complete'"));
    }
    page.visit("/runs");
    page.press(&["/"]);
    assert_eq!(page.evaluate("document.activeElement.id"), json!("runs-q"));
    page.press(&["Escape", "Shift+Tab"]);
    page.evaluate("document.activeElement.blur()");
    page.press(&["j", "j", "k"]);
    let first = page.evaluate("document.activeElement === document.querySelector('main tbody a')");
    assert_eq!(first, json!(true), "j and k go from row to row");
    page.press(&["?"]);
    assert_eq!(page.evaluate("document.querySelector('#keys').open"), json!(true));
    page.press(&["Escape"]);
    let (_, run, ..) = pages.iter().find(|(name, ..)| *name == "run-pass").unwrap();
    page.visit(run);
    page.evaluate("document.querySelector('.diff').focus()");
    page.press(&["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"]);
    let second = "[...document.querySelectorAll('.diff tr')].filter((row) => row.querySelector('a'))[1]";
    assert_eq!(page.evaluate(&format!("document.activeElement === {second}.querySelector('a')")), json!(true));
    page.press(&["Enter"]);
    page.wait(&format!("location.hash === '#' + {second}.id && {second}.id !== ''"));
    page.evaluate("document.querySelector('#scrub').focus()");
    page.press(&["Home"]);
    assert_eq!(page.evaluate("document.querySelectorAll('.events [data-later]').length > 5"), json!(true), "scrubbed");
}

/// Theme and density are kept for the next page, and what is copied is what the button stands beside.
#[test]
fn theme_density_and_copies_are_pressed() {
    let Some(browser) = Browser::start("theme_density_and_copies_are_pressed") else { return };
    let world = crate::world();
    let (report, _) = world.run("fail-failed-tests", 1);
    let run = format!("/runs/{}", report["run_id"].as_str().unwrap());
    let served = Served::start(&world, &["--read-only"]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let page = browser.open(Look::at(&origin, &cookie));
    page.visit("/runs");
    let shown = |page: &Page<'_>| {
        let code = "[document.documentElement.dataset.theme || '', getComputedStyle(document.body).backgroundColor, \
                     document.querySelector('[data-do=theme]').getAttribute('aria-label')]";
        serde_json::from_value::<[String; 3]>(page.evaluate(code)).unwrap()
    };
    let light = shown(&page);
    assert_eq!((light[0].as_str(), light[2].as_str()), ("", "Use dark theme"));
    page.click("[data-do=theme]");
    let dark = shown(&page);
    assert_eq!((dark[0].as_str(), dark[2].as_str()), ("dark", "Use light theme"));
    assert_ne!(light[1], dark[1], "another colour behind the text");
    page.visit("/");
    assert_eq!(shown(&page), dark, "kept on the next page");
    page.click("[data-do=theme]");
    assert_eq!(shown(&page)[1], light[1]);

    page.visit("/runs");
    let height =
        |page: &Page<'_>| page.evaluate("document.querySelector('main tbody tr').offsetHeight").as_u64().unwrap();
    let wide = height(&page);
    page.click("[data-density-set=compact]");
    assert!(height(&page) < wide, "rows are lower");
    page.visit("/runs");
    assert!(height(&page) < wide, "kept on the next page");
    assert_eq!(page.evaluate("document.querySelector('[data-density-set=compact]').ariaPressed"), json!("true"));
    page.click("[data-density-set=comfortable]");
    assert_eq!(height(&page), wide);

    // A headless browser has no clipboard that a page may read: what is written to it is caught.
    page.visit(&run);
    page.evaluate("(() => { window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }; })()");
    let buttons = page.evaluate("document.querySelectorAll('.copy').length").as_u64().unwrap();
    let hidden = page.evaluate("document.querySelectorAll('.copy[hidden]').length").as_u64().unwrap();
    assert!(buttons > 2 && hidden == 0, "{buttons} buttons, {hidden} hidden");
    page.click(".cmd .copy");
    page.wait("window.copied.length === 1");
    let beside = page.text(".cmd span");
    assert_eq!(page.evaluate("window.copied[0]"), json!(beside), "the command that stands beside it");
    page.wait("document.querySelector('#live').textContent === 'Copied'");
    page.evaluate("navigator.clipboard.writeText = async () => { throw new Error('refused'); }");
    page.click(".cmd .copy");
    page.wait("document.querySelector('#live').textContent.startsWith('Copy is not allowed')");
    assert!(page.faults().is_empty());
}

/// The browser itself keeps script from making markup, and inline script from running.
fn try_markup(page: &Page<'_>) {
    page.visit("/");
    assert!(page.faults().is_empty());
    let made = "(() => { try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return 'made'; } catch (e) { return e.name; } })()";
    assert_eq!(page.evaluate(made), json!("TypeError"));
    let inline = "(() => { const s = document.createElement('script'); try { s.text = 'window.hostileRan = 1'; document.head.append(s); } catch { /* refused */ } return window.hostileRan || 0; })()";
    assert_eq!(page.evaluate(inline), json!(0));
    // What the browser says comes after what it does.
    testkit::wait_for("a refusal of the policy to be heard, so that its absence means something", || {
        (!page.faults().is_empty()).then_some(())
    });
}
