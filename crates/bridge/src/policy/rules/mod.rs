//! Default deny inside a request's body.
//!
//! A provider's hosted tools, fetchers and stores are a network of their own. Each wire has
//! a table ([`chat`], [`responses`], [`messages`]) of everything that is permitted in a
//! request; all else is refused, so a feature that a provider adds tomorrow is refused
//! until it has been reviewed.

mod chat;
mod messages;
mod responses;

use std::collections::BTreeSet;
use std::fmt;

use crate::policy::admission::{Feature, NetworkClass};
use crate::protocol::json::{JsonKind, JsonNode};
use crate::protocol::wire::Wire;

/// Permitted content of one place. `null` is permitted wherever a field is.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Anything: the provider reads it and acts on none of it.
    Opaque,
    /// Text and nothing else.
    Text,
    /// This text; anything else makes it a hosted tool.
    Only(&'static str),
    /// Text that holds its data itself.
    DataUrl,
    /// The id of something made in this run.
    Issued,
    /// Refused, except for the forms of "none": null, false, an empty list.
    Refused(Feature),
    /// An object with these fields and no other.
    Object(&'static [(&'static str, Shape)]),
    /// A list whose elements have this shape.
    Each(&'static Shape),
    /// Plain text, or this.
    TextOr(&'static Shape),
    /// An object whose `type` says which shape it has.
    Kinds(&'static Kinds),
    /// A shape that stands elsewhere; shapes hold each other.
    As(&'static Shape),
}

/// Permitted objects, by their `type`.
#[derive(Debug)]
pub(crate) struct Kinds {
    /// Shape of an object without a `type`.
    pub(crate) untyped: Option<&'static Shape>,
    pub(crate) kinds: &'static [(Tag, Shape)],
    /// Feature under which an unlisted type is refused.
    pub(crate) otherwise: Feature,
}

/// Pattern of a `type`.
#[derive(Debug)]
pub(crate) enum Tag {
    /// Exactly this type.
    Is(&'static str),
    /// A name with a date behind it, `bash_20250124`.
    Dated(&'static str),
    /// Every type that begins so.
    Starts(&'static str),
}

impl Tag {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Is(name) => *name == text,
            Self::Starts(start) => text.starts_with(start),
            Self::Dated(name) => text
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('_'))
                .is_some_and(|date| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())),
        }
    }
}

/// Content that is not permitted at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForbiddenContent {
    /// Feature under which it is refused.
    pub(crate) feature: Feature,
    /// Path of keys and indices to it.
    pub(crate) place: String,
}

/// Judges a body by its wire's table. Gives the features that the network class allowed and
/// the body used.
pub(crate) fn judge_body(
    wire: Wire,
    body: JsonNode<'_>,
    class: &NetworkClass,
    issued: &dyn Fn(&str) -> bool,
) -> Result<BTreeSet<Feature>, ForbiddenContent> {
    let mut judge = Judge { class, issued, used: BTreeSet::new() };
    let table = match wire {
        Wire::ChatCompletions => &chat::REQUEST,
        Wire::Responses => &responses::REQUEST,
        Wire::Messages => &messages::REQUEST,
    };
    judge.visit(body, table, &Place::Root)?;
    Ok(judge.used)
}

/// Position of the judge; written out only when something is found.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, JsonNode<'a>),
    Element(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Element(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Field(parent, key) => {
                let dot = if matches!(parent, Self::Root) { "" } else { "." };
                let name: String = key.text().unwrap_or_default().chars().take(64).collect();
                write!(f, "{parent}{dot}{name}")
            }
        }
    }
}

struct Judge<'a> {
    class: &'a NetworkClass,
    issued: &'a dyn Fn(&str) -> bool,
    used: BTreeSet<Feature>,
}

impl Judge<'_> {
    fn visit(&mut self, node: JsonNode<'_>, shape: &Shape, place: &Place<'_>) -> Result<(), ForbiddenContent> {
        match shape {
            Shape::Opaque => Ok(()),
            Shape::Text => self.demand(node.kind() == JsonKind::Text, Feature::Unknown, place),
            Shape::Only(text) => self.demand(node.is_text(text), Feature::HostedTool, place),
            Shape::DataUrl => {
                let inline = node.text().is_some_and(|url| url.starts_with("data:"));
                self.demand(inline, Feature::ProviderFetch, place)
            }
            Shape::Issued => {
                let known = node.text().is_some_and(|id| (self.issued)(&id));
                self.demand(known, Feature::ForeignConversation, place)
            }
            Shape::Refused(feature) => self.demand(says_none(node), *feature, place),
            Shape::Object(fields) => self.object(node, fields, place),
            Shape::Each(inner) => self.each(node, inner, place),
            Shape::TextOr(inner) => match node.kind() {
                JsonKind::Text => Ok(()),
                _ => self.visit(node, inner, place),
            },
            Shape::Kinds(kinds) => self.tagged(node, kinds, place),
            Shape::As(shape) => self.visit(node, shape, place),
        }
    }

    fn demand(&mut self, holds: bool, feature: Feature, place: &Place<'_>) -> Result<(), ForbiddenContent> {
        if holds {
            return Ok(());
        }
        if self.class.allows(feature) {
            self.used.insert(feature);
            return Ok(());
        }
        Err(ForbiddenContent { feature, place: place.to_string() })
    }

    fn object(
        &mut self,
        node: JsonNode<'_>,
        fields: &[(&str, Shape)],
        place: &Place<'_>,
    ) -> Result<(), ForbiddenContent> {
        if !node.is_object() {
            return self.demand(false, Feature::Unknown, place);
        }
        for (key, value) in node.members() {
            let here = Place::Field(place, key);
            match fields.iter().find(|(name, _)| key.is_text(name)) {
                Some(_) if value.is_null() => {}
                Some((_, shape)) => self.visit(value, shape, &here)?,
                None => self.unlisted(key, fields, &here)?,
            }
        }
        Ok(())
    }

    /// A key that some parsers take for a listed one (case does not count, or signs that
    /// fold to a letter) is refused even where unknown fields are allowed: it would be a
    /// second value of that field, behind our back.
    fn unlisted(
        &mut self,
        key: JsonNode<'_>,
        fields: &[(&str, Shape)],
        place: &Place<'_>,
    ) -> Result<(), ForbiddenContent> {
        let name = key.text().unwrap_or_default();
        if !name.is_ascii() || fields.iter().any(|(listed, _)| listed.eq_ignore_ascii_case(&name)) {
            return Err(ForbiddenContent { feature: Feature::Unknown, place: place.to_string() });
        }
        self.demand(false, Feature::Unknown, place)
    }

    fn each(&mut self, node: JsonNode<'_>, inner: &Shape, place: &Place<'_>) -> Result<(), ForbiddenContent> {
        if node.kind() != JsonKind::List {
            return self.demand(false, Feature::Unknown, place);
        }
        node.items().enumerate().try_for_each(|(index, item)| self.visit(item, inner, &Place::Element(place, index)))
    }

    fn tagged(&mut self, node: JsonNode<'_>, kinds: &Kinds, place: &Place<'_>) -> Result<(), ForbiddenContent> {
        let found = match node.get_member("type") {
            None if node.is_object() => kinds.untyped,
            None => None,
            Some(tag) => {
                let text = tag.text().unwrap_or_default();
                kinds.kinds.iter().find(|(tag, _)| tag.matches(&text)).map(|(_, shape)| shape)
            }
        };
        match found {
            Some(shape) => self.visit(node, shape, place),
            None => self.demand(false, kinds.otherwise, place).map_err(|found| named(found, node)),
        }
    }
}

/// Adds the type to the place: it is what a person has to look for.
fn named(mut found: ForbiddenContent, node: JsonNode<'_>) -> ForbiddenContent {
    if let Some(tag) = node.get_member("type").and_then(|tag| tag.text()) {
        found.place.push_str(" of type ");
        found.place.extend(tag.chars().take(64));
    }
    found
}

fn says_none(node: JsonNode<'_>) -> bool {
    match node.kind() {
        JsonKind::Null | JsonKind::False => true,
        JsonKind::List => node.items().next().is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
