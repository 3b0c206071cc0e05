//! A picture of ladders: SVG with its text as text, for light and dark pages.

use std::fmt::Write as _;

use contract::text::show_controls;

use super::{LadderView, RungStatus, stages};

const LABELS: usize = 236;
const COLUMN: usize = 132;
const ROW: usize = 40;
const HEAD: usize = 64;
const FOOT: usize = 44;
/// Characters that fit into the head of a column.
const WIDEST: usize = 17;

/// Every state is a word and a shape of border as well as a colour.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}\
.soft{fill:#59636e}.b{font-weight:600}.m{text-anchor:middle}\
.rail{stroke:#8c959f;stroke-width:3}rect{stroke-width:1.5}\
.validated{fill:#dafbe1;stroke:#1a7f37}.blocked{fill:#fff8c5;stroke:#9a6700}\
.stale{fill:#fbefff;stroke:#8250df;stroke-dasharray:6 3}.not_started{fill:#f6f8fa;stroke:#8c959f;stroke-dasharray:2 3}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.rail{stroke:#656c76}\
.validated{fill:#12261e;stroke:#3fb950}.blocked{fill:#272115;stroke:#d29922}\
.stale{fill:#271052;stroke:#ab7df8}.not_started{fill:#151b23;stroke:#656c76}}";

/// Draws ladders side by side, the highest rung on top.
pub fn draw_ladder(ladders: &[LadderView]) -> String {
    let (width, height) = (LABELS + COLUMN * ladders.len().max(1) + 12, HEAD + ROW * stages().count() + FOOT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">Proof ladder</title>\n<desc id=\"d\">{}</desc>\n\
         <style>{STYLE}</style>\n",
        escape(&describe(ladders))
    );
    let mut stages: Vec<_> = stages().collect();
    stages.reverse();
    for (row, stage) in stages.iter().enumerate() {
        let y = HEAD + ROW * row + 25;
        let _ = writeln!(
            svg,
            "<text x=\"12\" y=\"{y}\" class=\"b\">{stage}</text><text x=\"32\" y=\"{y}\">{}</text>",
            escape(stage.name())
        );
    }
    for (number, ladder) in ladders.iter().enumerate() {
        draw_column(&mut svg, ladder, LABELS + COLUMN * number);
    }
    let _ = writeln!(
        svg,
        "<text x=\"12\" y=\"{}\" class=\"soft\">computed from verified bundles; no engine is a default</text>\n</svg>",
        height - 14
    );
    svg
}

fn draw_column(svg: &mut String, ladder: &LadderView, left: usize) {
    let middle = left + COLUMN / 2;
    let model = ladder.model.as_ref().map_or("-", |pair| pair.model.as_str());
    for (y, class, text) in [(24, "b m", ladder.engine.as_str()), (44, "soft m", model)] {
        let _ = writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{y}\" class=\"{class}\">{}</text>",
            escape(&cut(&show_controls(text)))
        );
    }
    let bottom = HEAD + ROW * ladder.rungs.len();
    for x in [left + 16, left + COLUMN - 16] {
        let _ = writeln!(svg, "<line x1=\"{x}\" x2=\"{x}\" y1=\"{HEAD}\" y2=\"{bottom}\" class=\"rail\"/>");
    }
    for (row, rung) in ladder.rungs.iter().rev().enumerate() {
        let (x, y) = (left + 8, HEAD + ROW * row + 7);
        let (class, words, bar) = (rung.status.as_str(), rung.status.words(), COLUMN - 16);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{bar}\" height=\"26\" rx=\"4\" class=\"{class}\"/>\
             <text x=\"{middle}\" y=\"{}\" class=\"m\">{words}</text>",
            y + 18
        );
    }
}

/// The picture in words, for those who do not see it.
fn describe(ladders: &[LadderView]) -> String {
    let one = |ladder: &LadderView| {
        let highest = ladder.rungs.iter().rev().find(|rung| rung.status == RungStatus::Validated);
        let model = ladder.model.as_ref().map_or(String::new(), |pair| format!(" with {pair}"));
        let reached =
            highest.map_or("no validated rung".to_owned(), |rung| format!("validated at stage {}", rung.stage));
        show_controls(&format!("{}{model}: {reached}", ladder.engine))
    };
    ladders.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    text.chars().take(WIDEST - 1).chain(['…']).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ModelPair;

    #[test]
    fn words_of_others_stay_words() {
        let model = ModelPair::new("p", "<script>&\"x\"").unwrap();
        let svg = draw_ladder(&[LadderView::unknown("pi", Some(model))]);
        assert!(!svg.contains("<script"), "{svg}");
        assert!(svg.contains(">&lt;script&gt;&amp;"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert!(svg.contains("prefers-color-scheme:dark") && svg.contains(">blocked</text>"));
    }
}
