//! Times of a line: `yyyymmdd[hhmm[ss]]Z`, in UTC.

use contract::Stamp;

use super::SignerLineFault;

/// Reads a time and fills it up with zeros, as `yyyymmddhhmmss`.
pub(super) fn read_digits(text: &str) -> Result<String, SignerLineFault> {
    let is_time =
        |digits: &str| matches!(digits.len(), 8 | 12 | 14) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some(digits) = text.strip_suffix('Z') else {
        return Err(if is_time(text) { SignerLineFault::LocalTime } else { SignerLineFault::NoMoment });
    };
    let filled = is_time(digits).then(|| format!("{digits:0<14}")).filter(|filled| is_moment(filled));
    filled.ok_or(SignerLineFault::NoMoment)
}

/// True if the calendar has this moment. A leap second is none.
fn is_moment(digits: &str) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let (date, time) =
        ([part(0, 4), part(4, 6), part(6, 8)].join("-"), [part(8, 10), part(10, 12), part(12, 14)].join(":"));
    part(12, 14) < "60" && format!("{date}T{time}Z").parse::<Stamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moments_in_utc_are_times() {
        use SignerLineFault::{LocalTime, NoMoment};
        for (text, expected) in [
            ("20260301Z", Ok("20260301000000")),
            ("202603011005Z", Ok("20260301100500")),
            ("20260301100507Z", Ok("20260301100507")),
            ("20280229Z", Ok("20280229000000")),
            ("20260301", Err(LocalTime)),
            ("20260301100507", Err(LocalTime)),
            ("20260229Z", Err(NoMoment)),
            ("20261301Z", Err(NoMoment)),
            ("20260100Z", Err(NoMoment)),
            ("20261399", Err(LocalTime)),
            ("202603012400Z", Err(NoMoment)),
            ("202603019900Z", Err(NoMoment)),
            ("20260301100060Z", Err(NoMoment)),
            ("2026030110Z", Err(NoMoment)),
            ("+2026030Z", Err(NoMoment)),
            ("20260301z", Err(NoMoment)),
            ("soon", Err(NoMoment)),
            ("", Err(NoMoment)),
        ] {
            assert_eq!(read_digits(text), expected.map(str::to_owned), "{text}");
        }
    }
}
