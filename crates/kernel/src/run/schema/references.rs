//! References: where the identifiers and anchors of a schema document lead.
//!
//! Every reference must stay in the document; nothing is ever loaded.

use std::collections::HashMap;

use serde_json::Value;

/// The places of a document that can be referred to by name.
#[derive(Debug)]
pub(super) struct References<'a> {
    document: &'a Value,
    /// `$id` to the pointer of its schema.
    resources: HashMap<String, String>,
    /// The pointer of a resource and an anchor in it, to the pointer of the schema.
    anchors: HashMap<(String, String), String>,
}

/// A schema in a document.
#[derive(Debug, Clone)]
pub(super) struct Location<'a> {
    /// The JSON pointer of the schema.
    pub(super) pointer: String,
    /// The JSON pointer of the nearest schema around it that has an `$id`.
    pub(super) resource: String,
    pub(super) schema: &'a Value,
}

impl<'a> References<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        let mut references = Self { document, resources: HashMap::new(), anchors: HashMap::new() };
        let mut pending = vec![(document, String::new(), String::new(), String::new())];
        while let Some((value, pointer, mut resource, mut base)) = pending.pop() {
            match value {
                Value::Object(members) => {
                    let text = |key: &str| members.get(key).and_then(Value::as_str);
                    if let Some(id) = text("$id") {
                        let (uri, fragment) = id.split_once('#').unwrap_or((id, ""));
                        if !uri.is_empty() {
                            base = join(&base, uri);
                            resource.clone_from(&pointer);
                            references.resources.insert(base.clone(), pointer.clone());
                        }
                        if !fragment.is_empty() {
                            references.anchor(&resource, fragment, &pointer);
                        }
                    }
                    for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                        references.anchor(&resource, name, &pointer);
                    }
                    for (key, inner) in members {
                        if !matches!(key.as_str(), "enum" | "const" | "default" | "examples") {
                            let below = format!("{pointer}/{}", escape(key));
                            pending.push((inner, below, resource.clone(), base.clone()));
                        }
                    }
                }
                Value::Array(items) => {
                    for (index, inner) in items.iter().enumerate() {
                        let below = format!("{pointer}/{index}");
                        pending.push((inner, below, resource.clone(), base.clone()));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        references
    }

    fn anchor(&mut self, resource: &str, name: &str, pointer: &str) {
        self.anchors.insert((resource.to_owned(), name.to_owned()), pointer.to_owned());
    }

    /// The whole document.
    pub(super) fn root(&self) -> Location<'a> {
        Location { pointer: String::new(), resource: String::new(), schema: self.document }
    }

    /// The schema that a reference in a resource leads to; none if it is not in the document.
    pub(super) fn resolve(&self, resource: &str, reference: &str) -> Option<Location<'a>> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            resource.to_owned()
        } else {
            let base = self.resources.iter().find(|(_, pointer)| *pointer == resource);
            let base = base.map_or("", |(id, _)| id.as_str());
            let found = self.resources.get(&join(base, uri)).or_else(|| self.resources.get(uri));
            found?.clone()
        };
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.walk(&resource, &fragment);
        }
        let pointer = self.anchors.get(&(resource, fragment))?;
        self.walk("", pointer)
    }

    /// Follows a pointer from a resource.
    fn walk(&self, resource: &str, below: &str) -> Option<Location<'a>> {
        let mut here = self.root();
        let whole = format!("{resource}{below}");
        for part in whole.split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            let inner = match here.schema {
                Value::Object(members) => members.get(&name)?,
                Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
            here = here.child(&name, inner);
        }
        Some(here)
    }
}

impl<'a> Location<'a> {
    /// The schema below this one under a key or an index.
    pub(super) fn child(&self, part: &str, schema: &'a Value) -> Self {
        let pointer = format!("{}/{}", self.pointer, escape(part));
        let id = schema.get("$id").and_then(Value::as_str);
        let starts_resource = id.is_some_and(|id| !id.is_empty() && !id.starts_with('#'));
        let resource = if starts_resource { pointer.clone() } else { self.resource.clone() };
        Self { pointer, resource, schema }
    }
}

/// A name as a part of a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A URI as seen from another: one without a scheme takes the place of the last part.
fn join(base: &str, uri: &str) -> String {
    let has_scheme = uri.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    if has_scheme {
        return uri.to_owned();
    }
    match base.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{}", uri.trim_start_matches('/')),
        None => uri.to_owned(),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
