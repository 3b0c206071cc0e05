//! The text of a plan.

use super::plan;
use crate::approval::*;
use crate::digest::Digest;

#[test]
fn a_packet_is_the_text_of_its_plan() {
    let text = render_packet(&plan()).unwrap();
    insta::assert_snapshot!(text, @"
    CTO-143  link checker timeout
    a packet is read, never executed
      request      2bf076aa809b63897ee26fc3ca30b9488c14da8cd30f5dd68e2d218299593596
      asked by     SHA256:requester

    would run
      task         CTO-143
      contract     e94eaa892adc2c36846f161688844c0f2e67313cc5d8d078d7c3603b39b01987
      engine       case@7959ac9+69590970aaaa, files bbfcd4160a1e8674dac62292ae48be4785262ad7078f9ec11b74a254ce70fa06
      command      ca run {task}
      model        qwen-local/qwen3.6-35b-a3b
      mode         owned-noncritical-repo, stage 5
      sandbox      strict
      mounts       /opt/uv
      validation   uv run pytest -q packages/link-checker   limit 300 s
      limits       1800 s, 4096 MiB of memory, 512 processes, 4096 MiB of disk

    would change
      target       site-tools (admitted)
      path         /srv/site-tools
      owner        op1
      risk         low_risk_noncritical
      state        clean, on main
      HEAD         5e0a77c05e0a77c05e0a77c05e0a77c05e0a77c0, tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
      branch       cto/CTO-143/<request>

    may change
      packages/link-checker/src/**  packages/link-checker/config/timeouts.toml

    and of these only what the target admission allows
      packages/

    must not change
      secrets/  /.github/  packages/site-generator/

    look twice: these may change too
      irreversible database migrations           packages/link-checker/src/migrations/0001.sql (3 there)

    stays blocked, also after you approve
      push  merge  deploy  close  pr_open  issue_close  public_publication  credential_change
      vendor_source_mutation  cortex_core_mutation
      a second run with this approval; any other HEAD, build, record, setting or model; making an engine a default

    rests on
      target admission  site-tools.yaml  admitted, signed by SHA256:24d4b96f58
        70ce871f8a3d3fb449bc3c3ace6547cef02dfc74ffe48d912532a724bfdbe5b9
        approved by op1; look again: a new maintainer
      evidence     20261115T003955Z-CTO-143-u1ks/stage4-disposable-sandbox-proof.json  c1cda26362828b69266512052b97cb3729e3b052e4ade47c0a1e3383defe73c7
      harness      0.1.0, executable 99970df0d9fbd47d7cc958d4939717dc9933e24fcd6764359b5182e19312646b
      settings     engines.case.stage = 5   from harness.yaml
      policy       823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812
      ledger       ledger-1, instance 5e8c03a94c7835b87dd82c690f9f85c08592ef7433aa141ceaacb36a9f4da434

    afterwards
      success      slow hosts end in a timeout
      rollback     cto rollback RUN takes the one commit back
                   the branch can be deleted
      evidence     a sealed bundle that verifies
      outcome      the run counts once you accept it: cto outcome RUN accept

    to approve, type exactly
      I approve CTO-143 against site-tools for the link checker timeout.
    ");
    assert_eq!(text, render_packet(&plan()).unwrap());
    let mut other = plan();
    other.contract.title = "link\u{1b}[2J checker".to_owned();
    other.contract.secret_allowances = vec![crate::task::SecretAllowance {
        rule: "aws-key".to_owned(),
        path: "src/a.py".to_owned(),
        value_sha256: Digest::ZERO,
        reason: "an example".to_owned(),
    }];
    let other = render_packet(&other).unwrap();
    assert!(other.contains("may look like a secret\n  src/a.py  aws-key") && !other.contains('\u{1b}'), "{other}");
}

/// Texts of a contract that would read as something else, and what the packet shows instead.
#[test]
fn nothing_in_a_plan_looks_like_another_line_or_another_name() {
    let mut forged = plan();
    forged.contract.forbidden_paths = vec!["secrets/  .github/".to_owned()];
    forged.repository.forbidden_paths = Vec::new();
    forged.contract.success_criteria = vec![format!("done{}must not change", " ".repeat(70))];
    forged.contract.title = "link\u{2060} \u{e0041}timeout".to_owned();
    forged.records[0].review_trigger = format!("never{}x", " ".repeat(80));
    let text = render_packet(&forged).unwrap();
    assert!(text.contains("must not change\n  secrets/\u{2420}\u{2420}.github/\n"), "{text}");
    assert!(text.contains("done\u{2420}\u{2420}") && !text.contains("done  "), "{text}");
    assert!(text.contains("link\\u{2060} \\u{e0041}timeout."), "the sentence shows what it holds: {text}");
    assert!(!text.contains("never  ") && render_packet(&plan()).unwrap().contains("secrets/  /.github/"), "{text}");
}
