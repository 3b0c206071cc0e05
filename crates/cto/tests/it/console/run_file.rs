//! `cto export --html`: one file that asks nobody. `cargo xtask run-files` opens such files in a browser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::Digest as _;

use crate::world;

fn embedded(page: &str) -> Value {
    let text = page.split("id=\"cto-bundle\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_run_is_one_file_with_its_whole_bundle() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    let told = world.cto(["export", "--html", "@", "-o", "run.html", "--json"]).expect(0).json();
    let file = world.here().join("run.html");
    let page = std::fs::read_to_string(&file).unwrap();
    assert_eq!((&told["run_id"], told["bytes"].as_u64()), (&report["run_id"], Some(page.len() as u64)));

    let held = embedded(&page);
    let files = held["files"].as_array().unwrap();
    for one in files {
        let (name, text) = (one[0].as_str().unwrap(), one[1].as_str().unwrap());
        assert_eq!(STANDARD.decode(text).unwrap(), std::fs::read(bundle.join(name)).unwrap(), "{name}");
    }
    let names: Vec<&str> = files.iter().map(|one| one[0].as_str().unwrap()).collect();
    assert_eq!(names.len(), report["artifact_paths"].as_object().unwrap().len(), "{names:?}");
    assert!(names.contains(&"attestation.dsse.json"));

    // Nothing leads to a server, and nothing but these scripts and this style runs.
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let shown = page.replace(&held.to_string(), "");
    for word in ["href=\"/", "src=\"", "action=\"", "http://"] {
        assert!(!shown.contains(word), "{word}");
    }
    assert!(style.matches("url(").count() == style.matches("url(#").count(), "nothing of the style is elsewhere");
    let policy = page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap().replace("&#39;", "'");
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    for part in page.split("<script>").skip(1).map(|part| part.split("</script>").next().unwrap()) {
        let digest = STANDARD.encode(sha2::Sha256::digest(part.as_bytes()));
        assert!(policy.contains(&format!("'sha256-{digest}'")), "a script that the policy does not name");
    }
}

#[test]
fn a_file_is_not_written_over_and_a_broken_bundle_not_exported() {
    let world = world();
    let (_, bundle) = world.run("fail-no-diff", 1);
    let _ = world.cto(["export", "--html", "@", "-o", "run.html"]).expect(0);
    let again = world.cto(["export", "--html", "@", "-o", "run.html"]).expect(2);
    assert!(again.told().contains("exists already") && again.told().contains("-o FILE"));
    let _ = world.cto(["export", "--html", "@", "-o", "no/such/run.html"]).expect(2);
    let _ = world.cto(["export", "--html", "--with-baseline", "@"]).expect(2);
    std::fs::write(bundle.join("test.log"), "other").unwrap();
    let _ = world.cto(["export", "--html", "@", "-o", "broken.html"]).expect(1);
    assert!(!world.here().join("broken.html").exists());
}
