//! The operator's settings between engine and model: further authorities, a proxy, a declared shape.

use fixtures::scripted::{Reply, Script, Step, When};
use serde_json::{Value, json};
use testkit::{ConnectProxy, TlsModel};

use super::leaks::python;
use super::scene::{PAIR, Scene, ask, asking, lines};

const LOGIN: &str = "operator:proxy-password-0123";
const YES: &str = "HTTP/1.1 200 Connection established\r\n\r\n";
const NO: &str = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";

fn ready() -> Script {
    Script { steps: Vec::new(), otherwise: Reply::text("ready") }
}

/// A scene whose model speaks TLS, under a certificate of an authority that the configuration names.
fn scene(model: &TlsModel) -> Scene {
    let mut scene = Scene::new();
    let authority = scene.world.write("authority.pem", &model.authority);
    scene.config["network_classes"]["loopback"]["hosts"] = json!(["localhost", "127.0.0.1"]);
    let endpoint = format!("https://localhost:{}/v1", model.address.port());
    scene.config["models"][PAIR] = json!({"endpoint": endpoint, "custom_ca": authority});
    scene
}

fn run(scene: &Scene, code: i32) -> (Value, std::path::PathBuf) {
    scene.settle();
    scene.run(&scene.case(&[], &asking(&[ask("m", "hello")])), &[], code)
}

fn covers(report: &Value, code: &str) -> bool {
    report["coverage"].as_array().unwrap().contains(&json!(code))
}

#[test]
fn an_authority_of_the_operators_own_is_trusted_and_told() {
    let model = TlsModel::start("localhost", ready());
    let mut scene = scene(&model);
    let (report, _) = run(&scene, 0);
    assert!(covers(&report, "custom_ca"), "{}", report["coverage"]);
    assert_eq!(model.asked(), 2);
    // Controls: nobody else trusts it, and where nothing is checked by it nothing is reported.
    scene.config["models"][PAIR].as_object_mut().unwrap().remove("custom_ca");
    let (report, _) = run(&scene, 3);
    assert_eq!(report["blocker_reasons"], json!(["provider_unavailable"]), "{}", report["blockers"]);
    assert!(!covers(&report, "custom_ca"));
    assert_eq!(model.asked(), 2, "nothing more reached it");
    let mut plain = Scene::new();
    plain.config["models"][PAIR]["custom_ca"] = json!(plain.world.write("authority.pem", &model.authority));
    assert!(!covers(&run(&plain, 0).0, "custom_ca"));
}

#[test]
fn an_authority_that_cannot_be_used_blocks() {
    let model = TlsModel::start("localhost", ready());
    let mut scene = scene(&model);
    let empty = scene.world.write("empty.pem", "no certificate");
    for (path, words) in [(empty, "authorities cannot be read"), ("/nonexistent/ca.pem".into(), "`custom_ca`")] {
        scene.config["models"][PAIR]["custom_ca"] = json!(path);
        let (report, _) = run(&scene, 3);
        let text = report["blockers"].to_string();
        assert_eq!(report["blocker_reasons"], json!(["provider_unavailable"]), "{text}");
        assert!(text.contains(words) && !text.contains("nonexistent"), "{text}");
    }
    assert_eq!(model.asked(), 0);
}

#[test]
fn a_proxy_is_gone_through_and_its_login_is_a_secret() {
    let model = TlsModel::start("localhost", ready());
    let through = ConnectProxy::start(YES, model.address);
    let mut scene = scene(&model);
    scene.environment.push(("PROXY_LOGIN".to_owned(), LOGIN.to_owned()));
    let proxy = |address| json!({"address": format!("http://{address}"), "login": {"env": "PROXY_LOGIN"}});
    scene.config["models"][PAIR]["proxy"] = proxy(through.address);
    let _ = run(&scene, 0);
    assert_eq!(model.asked(), 2);
    let heads = through.heads();
    let expected = format!("CONNECT localhost:{} HTTP/1.1\r\n", model.address.port());
    assert!(!heads.is_empty() && heads.iter().all(|head| head.starts_with(&expected)), "{heads:?}");
    assert!(heads[0].contains("Proxy-Authorization: Basic b3BlcmF0b3I6cHJveHktcGFzc3dvcmQtMDEyMw=="), "{heads:?}");

    for (printed, code) in [(LOGIN, 1), ("operator:proxy-password-9876", 0)] {
        let mut steps = asking(&[ask("m", "hello")]);
        steps.push(python("import sys; print(sys.argv[1])", &[printed]));
        let (report, _) = scene.run(&scene.case(&[], &steps), &[], code);
        assert_eq!(report["blocker_reasons"].as_array().unwrap().contains(&json!("secret_leak")), code == 1);
    }

    let before = model.asked();
    scene.config["models"][PAIR]["proxy"] = proxy(ConnectProxy::start(NO, model.address).address);
    let (report, _) = run(&scene, 3);
    assert_eq!(report["blocker_reasons"], json!(["provider_unavailable"]), "{}", report["blockers"]);
    assert_eq!(model.asked(), before, "there is no way around a proxy");
}

#[test]
fn a_proxy_that_is_none_is_refused_at_once() {
    let mut scene = Scene::new();
    for address in ["https://127.0.0.1:1", "127.0.0.1:3128", "http://user:password@127.0.0.1:1"] {
        scene.config["models"][PAIR]["proxy"] = json!({"address": address});
        scene.settle();
        let refused = scene.cto(&["config"]).expect(2);
        assert!(refused.stderr.contains("models.prov/m.proxy") && !refused.stderr.contains(address), "{address}");
    }
}

/// A model that only thinks unless it is asked not to.
#[test]
fn a_declared_shape_makes_a_thinking_model_speak_and_is_recorded() {
    let when = When { contains: Some("\"enable_thinking\":false".to_owned()), ..When::default() };
    let speaks = Step { when, times: None, reply: Reply::text("ready") };
    let thinks = Reply { reasoning: Some("hm".to_owned()), ..Reply::default() };
    let script = Script { steps: vec![speaks], otherwise: thinks };
    let mut scene = Scene::with(script);
    let (report, _) = run(&scene, 3);
    assert_eq!(report["blocker_reasons"], json!(["provider_response_shape"]), "{}", report["blockers"]);
    scene.config["models"][PAIR]["shape"] = json!({"ask_for_content": true, "least_output_tokens": 2048});
    let (_, bundle) = run(&scene, 0);
    let usage = lines(&bundle.join("model-usage.jsonl"));
    let shims: Vec<&Value> = usage.iter().map(|line| &line["shim"]).collect();
    let probe = json!(["raised_budget", "asked_for_content"]);
    assert_eq!(shims, [&probe, &json!(["asked_for_content"])], "the engine's request had no budget to raise");
}
