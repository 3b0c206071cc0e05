//! `cto demo --serve`. The history itself is looked at by `cargo xtask shots`, which says what it lacks.

use crate::world;

#[test]
fn the_console_of_a_demo_stays_on_this_machine_and_halts_with_everything_else() {
    let world = world();
    let told = world.cto(["demo", "--serve", "--listen", "0.0.0.0:0"]).expect(2).told();
    assert!(told.contains("loopback alone") && told.contains("127.0.0.1"), "{told}");
    let _ = world.cto(["demo", "--open"]).expect(2);
    let _ = world.cto(["halt", "--reason", "a check"]).expect(0);
    let _ = world.cto(["demo", "--serve", "--listen", "127.0.0.1:0"]).expect(3);
}
