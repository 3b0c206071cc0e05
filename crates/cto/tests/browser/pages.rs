//! Every page, light and dark, wide and narrow, with script and without: nothing wrong is said, asked, run or hidden from keys.

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

/// Pictures of first screens that stand in docs/images.
const IN_DOCS: [(&str, &str, u32); 4] =
    [("overview", "light", 1280), ("run-fail", "light", 1280), ("run-live", "dark", 1280), ("request", "light", 1280)];

/// A page: name, path, status, and false for one that is looked at without a login.
type Shown = (&'static str, String, u64, bool);

fn pages_of(scene: &Scene, login: &str) -> Vec<Shown> {
    let Scene { passed, failed, blocked, broken, request, live, .. } = scene;
    let page = |name, path: String| (name, path, 200, true);
    vec![
        page("overview", "/".to_owned()),
        page("runs", "/runs".to_owned()),
        page("run-pass", format!("/runs/{passed}")),
        page("run-fail", format!("/runs/{failed}")),
        page("run-blocked", format!("/runs/{blocked}")),
        page("run-broken", format!("/runs/{broken}")),
        page("run-live", format!("/runs/{live}")),
        page("verify", format!("/runs/{passed}/verify")),
        page("verify-broken", format!("/runs/{broken}/verify")),
        page("log", format!("/runs/{passed}/log?name=test.log")),
        page("approvals", "/approvals".to_owned()),
        page("request", format!("/approvals/{request}")),
        page("compare", format!("/compare?runs={passed}%20{failed}%20{blocked}")),
        page("compare-empty", "/compare".to_owned()),
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
                if IN_DOCS.contains(&(*name, theme, width)) {
                    page.shoot(&folder.join(format!("console-{name}.png")), false);
                }
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

fn ways_of_looking() -> impl Iterator<Item = (bool, &'static str, u32)> {
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
    faults.extend(serde_json::from_value::<Vec<String>>(page.evaluate(MEASURE)).unwrap());
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
    for (keys, path) in [(["g", "r"], "/runs"), (["g", "a"], "/approvals"), (["g", "o"], "/")] {
        page.press(&keys);
        page.wait(&format!("location.pathname === '{path}'"));
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
    page.evaluate("document.querySelector('#scrub').focus()");
    page.press(&["Home"]);
    assert_eq!(page.evaluate("document.querySelectorAll('.events [data-later]').length > 5"), json!(true), "scrubbed");
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
