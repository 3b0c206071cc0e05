//! The YAML reader: one document of the plain part of YAML 1.2, read from parser events as
//! they come.
//!
//! It refuses everything with a hidden meaning (anchors, aliases, tags, merge keys). So
//! nothing is ever expanded, and the tree is no larger than the text.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput};

use super::Reading;
use super::node::{MapKey, Node, Span, ValueKind};
use super::problem::{Fatal, LISTED, Problem, SourceRule, neutral};
use super::scalar;

/// Reads one YAML document into a spanned tree. Refuses anchors, aliases, tags and merge
/// keys.
pub(super) fn read_yaml(text: &str) -> Reading {
    let mut reader = Reader { parser: Parser::new_from_str(text), lines: text.lines().collect(), problems: Vec::new() };
    let node = reader.document();
    Reading::new(node.map(|node| Node { span: Span::DOCUMENT, ..node }), reader.problems)
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    lines: Vec<&'t str>,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<Node, Fatal> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if document.is_some() => {
                    self.refuse(span, "more than one document");
                    break;
                }
                Event::DocumentStart(_) => {}
                event => document = Some(self.node(event, span, 0)?),
            }
        }
        Ok(document.unwrap_or(Node { kind: ValueKind::Null, span: Span::DOCUMENT }))
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Fatal> {
        let span = Span { length: span.length.max(1), ..span };
        let kind = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.features(anchor, tag.is_some(), span);
                return Ok(self.scalar(&text, style, span));
            }
            Event::SequenceStart(anchor, tag) => {
                self.features(anchor, tag.is_some(), span);
                scalar::depth_allowed(depth, span)?;
                ValueKind::Seq(self.items(depth + 1)?)
            }
            Event::MappingStart(anchor, tag) => {
                self.features(anchor, tag.is_some(), span);
                scalar::depth_allowed(depth, span)?;
                ValueKind::Map(self.entries(depth + 1)?)
            }
            Event::Alias(_) => {
                self.refuse(span, "an alias (`*name`)");
                ValueKind::Null
            }
            _ => return Err(Problem::new(span, SourceRule::Syntax, "not valid YAML: a value is expected here").into()),
        };
        Ok(Node { kind, span })
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, Fatal> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth)?),
            }
        }
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<(MapKey, Node)>, Fatal> {
        let mut seen = HashMap::new();
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(entries);
            }
            let key = self.key(event, span, &mut seen, depth)?;
            let (event, span) = self.next()?;
            let empty = span.length == 0 && matches!(event, Event::Scalar(..));
            let mut node = self.node(event, span, depth)?;
            if empty {
                node.span.length = 0;
            }
            entries.push((key.clone(), node.under(&key)));
        }
    }

    fn key(
        &mut self,
        event: Event<'t>,
        span: Span,
        seen: &mut HashMap<String, usize>,
        depth: usize,
    ) -> Result<MapKey, Fatal> {
        let merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
        let node = self.node(event, span, depth)?;
        let span = node.span;
        if merge {
            self.refuse(span, "a merge key (`<<`)");
        }
        match node.kind {
            ValueKind::Text(text) => {
                let key = MapKey { text, span };
                self.note(scalar::duplicate(seen, &key));
                Ok(key)
            }
            _ => {
                let problem = Problem::new(span, SourceRule::YamlFeature, "a key must be text");
                self.note(Some(problem.with_note("put it in quotes if it is meant as text")));
                Ok(MapKey { text: String::new(), span })
            }
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Node {
        self.note(scalar::nul(text, span));
        let kind = match style {
            ScalarStyle::Plain => scalar::plain_kind(text),
            _ => ValueKind::Text(text.to_owned()),
        };
        Node { kind, span }
    }

    fn features(&mut self, anchor: usize, tagged: bool, span: Span) {
        if anchor > 0 {
            self.refuse(span, "an anchor (`&name`)");
        }
        if tagged {
            self.refuse(span, "a tag (`!name`)");
        }
    }

    fn refuse(&mut self, span: Span, what: &str) {
        self.note(Some(Problem::new(span, SourceRule::YamlFeature, format!("{what} is not accepted"))));
    }

    fn note(&mut self, problem: Option<Problem>) {
        self.problems.extend(problem.filter(|_| self.problems.len() <= LISTED));
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Fatal> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.span(span.start, span.end))),
            Some(Err(error)) => Err(self.unreadable(&error).into()),
            None => {
                Err(Problem::new(Span::DOCUMENT, SourceRule::Syntax, "not valid YAML: the file ends too early").into())
            }
        }
    }

    /// Span between two markers; a span over several lines ends with its first.
    fn span(&self, start: Marker, end: Marker) -> Span {
        let length = if start.line() == end.line() {
            end.col().saturating_sub(start.col())
        } else {
            self.width(start.line()).saturating_sub(start.col())
        };
        Span { line: start.line(), column: start.col() + 1, length }
    }

    fn width(&self, line: usize) -> usize {
        let text = line.checked_sub(1).and_then(|index| self.lines.get(index));
        text.map_or(0, |text| text.chars().count())
    }

    fn unreadable(&self, error: &ScanError) -> Problem {
        let span = self.inside(error.marker());
        match error.info() {
            "recursion limit exceeded" => scalar::too_deep(span),
            info if info.contains("unknown anchor") => {
                Problem::new(span, SourceRule::YamlFeature, "an alias (`*name`) is not accepted")
            }
            info if info.contains("tab") => {
                let span = self.tab(span.line).unwrap_or(span);
                Problem::new(span, SourceRule::Syntax, "a tab is used as indentation").with_note("indent with spaces")
            }
            info => Problem::new(span, SourceRule::Syntax, format!("not valid YAML: {}", neutral(info))),
        }
    }

    /// The parser reports what is missing at the end of a file on a line that no longer exists.
    fn inside(&self, mark: &Marker) -> Span {
        let last = self.lines.len().max(1);
        if mark.line() > last {
            return Span { line: last, column: self.width(last) + 1, length: 1 };
        }
        Span { line: mark.line(), column: mark.col() + 1, length: 1 }
    }

    fn tab(&self, from_line: usize) -> Option<Span> {
        let lines = self.lines.iter().enumerate().skip(from_line.saturating_sub(1));
        lines.into_iter().find_map(|(index, line)| {
            let column = line.chars().take_while(|c| matches!(c, ' ' | '\t')).position(|c| c == '\t')?;
            Some(Span { line: index + 1, column: column + 1, length: 1 })
        })
    }
}
