//! Prints `docs/formats/secret-rules.md` as the tables have it.

fn main() {
    print!("{}", secrets::rules_page());
}
