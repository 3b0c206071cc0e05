//! Hostile text, and what a page in which it was not taken for text would show.

/// Harm that a payload does where it is not shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// Becomes an element, an attribute or a script.
    Markup,
    /// Moves, hides or turns text around: control characters, direction, zero width.
    Disguise,
    /// Pushes the page sideways.
    Width,
}

use Harm::{Disguise, Markup, Width};

/// Sixty payloads. Scripts say that they ran by setting `hostileRan`.
pub(crate) fn payloads() -> Vec<(Harm, String)> {
    let mut all: Vec<(Harm, String)> = MARKUP.iter().map(|text| (Markup, (*text).to_owned())).collect();
    all.extend(DISGUISES.iter().map(|text| (Disguise, (*text).to_owned())));
    all.push((Width, "W".repeat(1 << 20)));
    all.push((Width, "no_break/".repeat(200).replace('/', "_")));
    all.push((Width, "\u{4e00}\u{2f}".repeat(3).replace('/', "") + &"x".repeat(3000)));
    all
}

const MARKUP: &[&str] = &[
    "<script>window.hostileRan=1</script>",
    "<SCRIPT>window.hostileRan=1</SCRIPT>",
    "<script src=//elsewhere.invalid/x.js></script>",
    "</script><script>window.hostileRan=1</script>",
    "\"><img src=x onerror=window.hostileRan=1>",
    "'><img src=x onerror='window.hostileRan=1'>",
    "<img src=x onerror=\"window.hostileRan=1\">",
    "<img src=//elsewhere.invalid/pixel.png>",
    "<svg/onload=window.hostileRan=1>",
    "<svg><script>window.hostileRan=1</script></svg>",
    "<svg><a xlink:href=\"javascript:window.hostileRan=1\"><text y=9>x</text></a></svg>",
    "<svg><foreignObject><iframe srcdoc=x></iframe></foreignObject></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror=window.hostileRan=1>",
    "<iframe src=\"javascript:parent.hostileRan=1\"></iframe>",
    "<iframe srcdoc=\"<script>parent.hostileRan=1</script>\"></iframe>",
    "<object data=\"data:text/html,<script>1</script>\"></object>",
    "<embed src=//elsewhere.invalid/x.swf>",
    "<a href=\"javascript:window.hostileRan=1\">press</a>",
    "<form action=//elsewhere.invalid><button>press</button></form>",
    "<input autofocus onfocus=window.hostileRan=1>",
    "<details open ontoggle=window.hostileRan=1>x</details>",
    "<body onload=window.hostileRan=1><p onclick=x>",
    "<meta http-equiv=refresh content=\"0;url=//elsewhere.invalid\">",
    "<base href=//elsewhere.invalid/>",
    "<link rel=stylesheet href=//elsewhere.invalid/x.css>",
    "<style>*{display:none}</style>",
    "<p style=\"position:fixed;inset:0\">x</p>",
    "</title><h1>not ours</h1>",
    "</textarea><img src=x onerror=window.hostileRan=1>",
    "</pre></td></tr></table><h1>not ours</h1>",
    "<!--><img src=x onerror=window.hostileRan=1>-->",
    "<template><img src=x onerror=window.hostileRan=1></template><b>x</b>",
    "<video><source onerror=window.hostileRan=1></video>",
    "<button formaction=\"javascript:window.hostileRan=1\">press</button>",
    "<noscript><p title=\"</noscript><img src=x onerror=window.hostileRan=1>\">",
    "&lt;b&gt;<u>x</u>",
    "{{7*7}}<u>x</u>{% raw %}",
    "${7*7}<i>x</i>`",
    "<x/onpointerenter=window.hostileRan=1>x</x>",
    "<dialog open>not ours</dialog>",
];

const DISGUISES: &[&str] = &[
    "\x1b[31mred\x1b[0m plain",
    "\x1b[2J\x1b[H wiped",
    "\x1b]8;;http://elsewhere.invalid\x1b\\a link\x1b]8;;\x1b\\",
    "\x1b]0;another title\x07",
    "\x1b[5;1Hmoved\x1b[K",
    "back\x08\x08\x08\x08over",
    "one\x0btwo",
    "bell\x07 and null-ish\x01",
    "\u{202e}gnp.exe\u{202c}",
    "\u{2066}inside\u{2069} \u{2067}turned\u{2069}",
    "\u{200e}left\u{200f}right",
    "zero\u{200b}width\u{200d}joined",
    "soft\u{ad}hyphen\u{2060}join",
    "\u{feff}begins",
    "line\u{2028}separated\u{2029}here",
    "tag\u{e0041}\u{e0042} text",
    "\u{9b}31m eight bit",
];
