//! Prints each argument the other way: numbers as numerals, numerals as numbers.

fn main() {
    for word in std::env::args().skip(1) {
        let converted = match word.parse::<u16>() {
            Ok(number) => roman::format(number),
            Err(_) => roman::parse(&word).ok().map(|number| number.to_string()),
        };
        println!("{word} {}", converted.as_deref().unwrap_or("?"));
    }
}
