//! The aims of the console, each with what was measured.

use super::PageTimes;

/// One aim: a bound, and whether it was held.
#[derive(Debug, Clone)]
pub(super) struct Aim {
    name: String,
    bound: String,
    measured: String,
    is_held: bool,
}

impl Aim {
    /// An aim that is held by a value of at most this.
    pub(super) fn at_most(name: impl Into<String>, value: f64, bound: f64) -> Self {
        let (name, is_held) = (name.into(), value <= bound);
        Self { name, bound: format!("at most {bound}"), measured: format!("{value:.2}"), is_held }
    }

    /// An aim that is held by a value of at least this.
    pub(super) fn at_least(name: impl Into<String>, value: f64, bound: f64) -> Self {
        let (name, is_held) = (name.into(), value >= bound);
        Self { name, bound: format!("at least {bound}"), measured: format!("{value:.2}"), is_held }
    }
}

/// Time of each page, and how little it grows; pages stand in pairs of few and many runs.
pub(super) fn of_pages(pages: &[PageTimes]) -> Vec<Aim> {
    let of_pair = |pair: &[PageTimes]| match pair {
        [few, many] => vec![
            Aim::at_most(format!("{}, p99 in ms", many.name), many.at(0.99).as_secs_f64() * 1000.0, 5.0),
            Aim::at_most(format!("{}, p50 of that of 100", many.name), many.ratio(few, 0.5), 1.2),
            Aim::at_most(format!("{}, p99 of that of 100", many.name), many.ratio(few, 0.99), 1.2),
        ],
        _ => Vec::new(),
    };
    pages.chunks(2).flat_map(of_pair).collect()
}

/// A table of aims.
pub(super) fn aim_table(aims: &[Aim]) -> String {
    let row = |aim: &Aim| {
        let word = if aim.is_held { "held" } else { "**missed**" };
        format!("| {} | {} | {} | {word} |\n", aim.name, aim.bound, aim.measured)
    };
    format!("| aim | bound | measured | |\n| --- | --- | --- | --- |\n{}", aims.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_says_whether_it_is_held() {
        let aims = [Aim::at_most("time", 4.0, 5.0), Aim::at_least("share", 0.2, 0.25)];
        let text = aim_table(&aims);
        assert!(text.contains("| time | at most 5 | 4.00 | held |"), "{text}");
        assert!(text.contains("| share | at least 0.25 | 0.20 | **missed** |"), "{text}");
    }
}
