//! Words that belong to one run, known by their shape: each is replaced by the name of its
//! shape.

/// The number of bytes that a shape takes at the start of a text.
type Shape = fn(&[u8]) -> Option<usize>;

/// Every shape with its name. The first that fits is taken, so the longer ones come first.
pub(super) const SHAPES: &[(&str, Shape)] = &[
    ("uuid", uuid),
    ("run", run_id),
    ("time", time),
    ("date", date),
    ("listing_time", listing_time),
    ("clock", clock),
    ("duration", duration),
    ("temp", temporary),
    ("port", local_port),
    ("address", address),
    ("item", prefixed_id),
    ("chunk", chunk_id),
];

/// The text with the names of shapes in the place of words; none where there are no such words.
pub(super) fn without_shapes(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut plain = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        let starts = at == 0 || !is_word(bytes[at - 1]);
        let found = SHAPES.iter().filter(|_| starts).find_map(|(name, shape)| Some((name, shape(&bytes[at..])?)));
        match found {
            // Shapes are made of ASCII alone, so these are boundaries of characters.
            Some((name, length)) if bytes.get(at + length).is_none_or(|next| !is_word(*next)) => {
                plain.push_str(&text[kept..at]);
                plain.push_str(&format!("<{name}>"));
                at += length;
                kept = at;
            }
            _ => at += 1,
        }
    }
    (kept > 0).then(|| plain + &text[kept..])
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Counts the bytes of a kind at the start.
fn count(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is(**byte)).count()
}

/// Length of the match if the bytes begin with the pattern: `9` is a digit, `h` a
/// hexadecimal one, all else is literal.
fn fits(bytes: &[u8], pattern: &str) -> Option<usize> {
    let fits = pattern.bytes().zip(bytes.iter().chain([&0; 1]).copied()).all(|(wanted, byte)| match wanted {
        b'9' => byte.is_ascii_digit(),
        b'h' => byte.is_ascii_hexdigit(),
        _ => byte == wanted,
    });
    (fits && bytes.len() >= pattern.len()).then_some(pattern.len())
}

fn uuid(bytes: &[u8]) -> Option<usize> {
    fits(bytes, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh")
}

/// `20261116T065708Z-r1-string-slugify-k3xq`, and the time at its start alone.
fn run_id(bytes: &[u8]) -> Option<usize> {
    let stamp = fits(bytes, "99999999T999999Z")?;
    let rest = &bytes[stamp..];
    let more = if rest.first() == Some(&b'-') {
        count(rest, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    } else {
        0
    };
    // A dash at the end belongs to the sentence.
    Some(stamp + more - count_back(&rest[..more], b'-'))
}

fn count_back(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == wanted).count()
}

fn date(bytes: &[u8]) -> Option<usize> {
    fits(bytes, "9999-99-99")
}

/// A date and a time of day, with a zone or without.
fn time(bytes: &[u8]) -> Option<usize> {
    let date = fits(bytes, "9999-99-99T").or_else(|| fits(bytes, "9999-99-99 "))?;
    let clock = clock(&bytes[date..]).or_else(|| fits(&bytes[date..], "99:99"))?;
    let at = date + clock;
    let rest = &bytes[at..];
    let zone = fits(rest, "Z")
        .or_else(|| ["+99:99", "-99:99", " +9999", " -9999"].iter().find_map(|pattern| fits(rest, pattern)));
    Some(at + zone.unwrap_or(0))
}

/// `06:57:08`, with a fraction or without.
fn clock(bytes: &[u8]) -> Option<usize> {
    let whole = fits(bytes, "99:99:99")?;
    Some(whole + fraction(&bytes[whole..]).unwrap_or(0))
}

/// `Nov 16 06:57`, `Nov  3 2025`, as listings of files have them, and the same with seconds
/// and a year.
fn listing_time(bytes: &[u8]) -> Option<usize> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().find_map(|month| fits(bytes, month))?;
    let rest = &bytes[month..];
    let day = ["  9 ", " 99 ", " 9 "].iter().find_map(|pattern| fits(rest, pattern))?;
    let rest = &rest[day..];
    let time =
        clock(rest).or_else(|| fits(rest, "99:99")).or_else(|| fits(rest, " 9999")).or_else(|| fits(rest, "9999"))?;
    let year = fits(&rest[time..], " 9999").filter(|_| rest[..time].contains(&b':'));
    Some(month + day + time + year.unwrap_or(0))
}

fn fraction(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.strip_prefix(b".").map(|rest| count(rest, |byte| byte.is_ascii_digit()))?;
    (digits > 0).then_some(digits + 1)
}

/// `0.03s`, `1.5 seconds`, `12ms`. Whole seconds are what people ask for, and stay.
fn duration(bytes: &[u8]) -> Option<usize> {
    let whole = count(bytes, |byte| byte.is_ascii_digit());
    if whole == 0 {
        return None;
    }
    let part = fraction(&bytes[whole..]);
    let number = whole + part.unwrap_or(0);
    let space = usize::from(bytes.get(number) == Some(&b' '));
    let rest = &bytes[number + space..];
    let small = ["ms", "us", "ns"].iter().find_map(|unit| fits(rest, unit));
    let long = ["seconds", "secs", "sec", "s"].iter().find_map(|unit| unit_word(rest, unit)).filter(|_| part.is_some());
    Some(number + space + small.or(long)?)
}

fn unit_word(bytes: &[u8], unit: &str) -> Option<usize> {
    bytes.starts_with(unit.as_bytes()).then_some(unit.len())
}

/// A name in a folder for temporary files.
fn temporary(bytes: &[u8]) -> Option<usize> {
    let folder = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().find_map(|folder| unit_word(bytes, folder))?;
    let name = count(&bytes[folder..], |byte| is_word(byte) && byte < 0x80 || matches!(byte, b'.' | b'-'));
    (name > 0).then_some(folder + name)
}

/// A port of this machine.
fn local_port(bytes: &[u8]) -> Option<usize> {
    let host = ["127.0.0.1:", "localhost:", "[::1]:"].iter().find_map(|host| unit_word(bytes, host))?;
    let digits = count(&bytes[host..], |byte| byte.is_ascii_digit());
    (digits >= 4).then_some(host + digits)
}

/// An address in memory, as tracebacks have them.
fn address(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.strip_prefix(b"0x").map(|rest| count(rest, |byte| byte.is_ascii_hexdigit()))?;
    (digits >= 8).then_some(digits + 2)
}

/// Ids of the wires, by the prefixes that providers and agents give them.
const PREFIXES: &[&str] = &[
    "msg_",
    "rs_",
    "fc_",
    "fco_",
    "ctc_",
    "call_",
    "resp_",
    "item_",
    "toolu_",
    "srvtoolu_",
    "chatcmpl-",
    "req_",
    "thread_",
    "sess_",
];

/// At least eight letters and digits, one of them a digit: names in code have none.
fn prefixed_id(bytes: &[u8]) -> Option<usize> {
    let prefix = PREFIXES.iter().find_map(|prefix| unit_word(bytes, prefix))?;
    let rest = &bytes[prefix..];
    let length = count(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (length >= 8 && rest[..length].iter().any(u8::is_ascii_digit)).then_some(prefix + length)
}

/// Codex's name for a piece of a command's output.
fn chunk_id(bytes: &[u8]) -> Option<usize> {
    let label = unit_word(bytes, "Chunk ID: ")?;
    let digits = count(&bytes[label..], |byte| byte.is_ascii_hexdigit());
    (digits >= 4).then_some(label + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_run_become_the_name_of_their_shape() {
        let rows = [
            ("id 0199f3c2-8f0e-7c51-9a55-6b2f6f0c1a2b.", "id <uuid>."),
            ("x0199f3c2-8f0e-7c51-9a55-6b2f6f0c1a2b", "x0199f3c2-8f0e-7c51-9a55-6b2f6f0c1a2b"),
            ("task/20261116T065708Z-r1-string-slugify-k3xq.md", "task/<run>.md"),
            ("20261116T065708Z - ", "<run> - "),
            ("at 2026-11-16T06:57:08.123Z, 2026-11-16 06:57:08 +0100", "at <time>, <time>"),
            ("at 2026-11-16T06:57:08+01:00.", "at <time>."),
            ("<current_date>2026-11-16</current_date>", "<current_date><date></current_date>"),
            ("2026-11-161", "2026-11-161"),
            ("06:57:08.5 up", "<clock> up"),
            ("-rw-r--r-- 1 a a 7 Nov 16 06:57 x", "-rw-r--r-- 1 a a 7 <listing_time> x"),
            ("Mon Nov 16 06:57:08 2026", "Mon <listing_time>"),
            ("Nov  3 2025 x", "<listing_time> x"),
            ("Novel 16 06:57", "Novel 16 06:57"),
            (
                "3 passed in 0.03s, Wall time: 0.0521 seconds, 12ms",
                "3 passed in <duration>, Wall time: <duration>, <duration>",
            ),
            ("wait 10 seconds, 10s, version 1.5, 1.5sx", "wait 10 seconds, 10s, version 1.5, 1.5sx"),
            ("cd /tmp/tmp.aB3/x and /var/tmp/y", "cd <temp>/x and <temp>"),
            ("http://127.0.0.1:43511/v1 localhost:80", "http://<port>/v1 localhost:80"),
            ("<A object at 0x7f3a2c1d9e10> 0xff", "<A object at <address>> 0xff"),
            ("msg_0a1b2c3d4e, call_original_function, call_me", "<item>, call_original_function, call_me"),
            ("Chunk ID: 9f3a2b\n", "<chunk>\n"),
            ("Grüße 2026-11-16 – Welt", "Grüße <date> – Welt"),
            ("", ""),
        ];
        for (text, expected) in rows {
            let plain = without_shapes(text);
            assert_eq!(plain.as_deref().unwrap_or(text), expected);
            assert_eq!(plain.is_some(), text != expected, "{text}");
        }
    }
}
