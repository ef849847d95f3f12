//! A page as text: HTML as Markdown, other text as it is, everything else by its kind and size.
//!
//! Invariant: any bytes cost bounded time and stack. HTML that is nested deeper than any page that people
//! write loses its tags instead of being converted.

use encoding_rs::Encoding;
use htmd::HtmlToMarkdown;
use reqwest::{StatusCode, Url};

/// How deep elements may lie for the conversion, which recurses.
const MOST_DEPTH: usize = 150;
/// How many nodes a page may come to.
const MOST_NODES: usize = 300_000;
/// Elements that go on in the next paragraph if they have no end.
const FORMATTING: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Elements that hold nothing a reader wants.
const SKIPPED: [&str; 8] =
    ["script", "style", "noscript", "svg", "iframe", "template", "head", "canvas"];
/// Elements that have no end, and those that the next one of their kind ends.
const UNCLOSED: [&str; 24] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];

/// What a host answered.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    pub(super) body: Body,
}

/// The bytes of a page.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// Whether there were no more.
    pub(super) is_whole: bool,
}

/// What kind of text a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    Other,
}

impl Page {
    /// The page for a model.
    pub(super) fn text(&self) -> String {
        let size = self.body.bytes.len();
        let cut = if self.body.is_whole { "" } else { ", cut there" };
        let media_type = self.media_type();
        let head = format!("[{} · {} · {media_type} · {size} bytes{cut}]", self.url, self.status);
        match self.kind() {
            Kind::Html => format!("{head}\n{}", markdown(&self.decoded())),
            Kind::Text => format!("{head}\n{}", self.decoded()),
            Kind::Other => format!("{head}\nThis is not text and is not shown."),
        }
    }

    fn media_type(&self) -> String {
        let media_type = self.content_type.split(';').next().unwrap_or_default().trim();
        if media_type.is_empty() {
            "no content type".to_owned()
        } else {
            media_type.to_ascii_lowercase()
        }
    }

    fn kind(&self) -> Kind {
        let media_type = self.media_type();
        let has_text = |word: &str| media_type.contains(word);
        let looks_like_html = || {
            let head = self.body.bytes.get(..512).unwrap_or(&self.body.bytes);
            let head = String::from_utf8_lossy(head).to_ascii_lowercase();
            head.contains("<!doctype html") || head.contains("<html")
        };
        if has_text("html") {
            return Kind::Html;
        }
        let is_text = media_type.starts_with("text/")
            || ["json", "xml", "javascript", "yaml", "toml", "x-sh", "graphql", "urlencoded"]
                .iter()
                .any(|word| has_text(word));
        let unknown = self.content_type.trim().is_empty() || has_text("octet-stream");
        if unknown && looks_like_html() {
            return Kind::Html;
        }
        if is_text || (unknown && !self.body.bytes.contains(&0)) { Kind::Text } else { Kind::Other }
    }

    /// The bytes in the encoding that they are said to have; UTF-8 if nothing is said.
    fn decoded(&self) -> String {
        let named = self.content_type.split(';').skip(1).find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        let from_header = named.and_then(|name| Encoding::for_label(name.as_bytes()));
        let encoding = from_header.or_else(|| self.meta_charset()).unwrap_or(encoding_rs::UTF_8);
        encoding.decode(&self.body.bytes).0.into_owned()
    }

    /// The encoding that an HTML page itself names.
    fn meta_charset(&self) -> Option<&'static Encoding> {
        let head = self.body.bytes.get(..1024).unwrap_or(&self.body.bytes);
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let (_, rest) = head.split_once("charset=")?;
        let name =
            rest.trim_start_matches(['"', '\'']).split(['"', '\'', ' ', ';', '>', '/']).next()?;
        Encoding::for_label(name.as_bytes())
    }
}

/// HTML as Markdown.
fn markdown(html: &str) -> String {
    if !is_tame(html) {
        return stripped(html);
    }
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    match converter.convert(html) {
        Ok(markdown) => markdown.trim().to_owned(),
        Err(_) => stripped(html),
    }
}

/// Whether a page can be converted: not too deep, and without formatting that a parser would have to
/// repeat in every paragraph.
fn is_tame(html: &str) -> bool {
    let (mut depth, mut formatting, mut most_formatting) = (0_usize, 0_usize, 0_usize);
    let mut tags = 0_usize;
    for tag in html.split('<').skip(1) {
        let closes = tag.starts_with('/');
        let tag = tag.trim_start_matches('/');
        if !tag.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            continue;
        }
        tags += 1;
        let name = tag.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let name = name.clone().next().unwrap_or_default();
        let is_formatting = FORMATTING.iter().any(|known| known.eq_ignore_ascii_case(name));
        let change = |count: usize| if closes { count.saturating_sub(1) } else { count + 1 };
        if is_formatting {
            formatting = change(formatting);
            most_formatting = most_formatting.max(formatting);
        }
        if !is_unclosed(name) {
            depth = change(depth);
        }
        if depth > MOST_DEPTH {
            return false;
        }
    }
    tags.saturating_mul(most_formatting + 1) <= MOST_NODES
}

fn is_unclosed(name: &str) -> bool {
    UNCLOSED.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The text between the tags.
fn stripped(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    for (position, part) in html.split('<').enumerate() {
        let shown =
            if position == 0 { part } else { part.split_once('>').map_or("", |(_, rest)| rest) };
        text.push_str(shown);
        text.push(' ');
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(content_type: &str, bytes: &[u8]) -> String {
        let page = Page {
            url: Url::parse("https://a.example/x").unwrap(),
            status: StatusCode::OK,
            content_type: content_type.to_owned(),
            body: Body { bytes: bytes.to_vec(), is_whole: true },
        };
        page.text()
    }

    #[test]
    fn html_becomes_markdown_without_scripts() {
        let html = b"<html><head><title>T</title></head><body><h1>Hello</h1><script>evil()</script>\
            <p>See <a href=\"/b\">this</a> and <code>x</code>.</p><ul><li>one<li>two</ul></body></html>";
        let text = page("text/html; charset=utf-8", html);
        assert!(text.starts_with("[https://a.example/x · 200 OK · text/html · "), "{text}");
        assert!(
            text.contains("# Hello") && text.contains("[this](/b)") && text.contains("`x`"),
            "{text}"
        );
        assert!(text.contains("one") && !text.contains("evil"), "{text}");
    }

    #[test]
    fn other_text_is_shown_as_it_is_and_the_rest_is_named() {
        assert!(page("application/json", b"{\"a\": 1}").ends_with("\n{\"a\": 1}"));
        assert!(page("", b"plain").ends_with("\nplain"));
        assert!(page("", b"<!DOCTYPE html><b>x</b>").ends_with("\n**x**"));
        let picture = page("image/png", b"\x89PNG\0\0");
        assert!(picture.ends_with("This is not text and is not shown."), "{picture}");
        assert!(page("application/octet-stream", b"a\0b").contains("not shown"));
    }

    #[test]
    fn encodings_are_those_that_are_named() {
        assert!(page("text/plain; charset=ISO-8859-1", b"caf\xe9").ends_with("café"));
        let html = b"<meta charset=\"windows-1252\"><p>caf\xe9</p>";
        assert!(page("text/html", html).ends_with("café"));
        assert!(page("text/plain", b"\xff\xfe\x41\x00").contains('A'));
    }

    #[test]
    fn deep_nesting_costs_nothing() {
        for element in ["div", "b", "table", "x-y", "svg", "ul"] {
            let html =
                format!("{}deep{}", format!("<{element}>").repeat(200_000), "</div>".repeat(3));
            let text = page("text/html", html.as_bytes());
            assert!(text.ends_with("deep"), "{element}");
        }
        // Elements that need no end can lie inside each other all the same.
        for element in ["p", "li", "td", "dd", "option", "rt"] {
            let html = format!("<ul><li>{}end", format!("<{element}>").repeat(10_000));
            assert!(page("text/html", html.as_bytes()).contains("end"), "{element}");
        }
        // Formatting without an end goes on in every paragraph after it.
        let bold: Vec<String> = (0..140).map(|number| format!("<b id={number}>")).collect();
        let formatting = bold.concat();
        let html = format!("{formatting}{}end", "<p>".repeat(1_000_000));
        assert!(page("text/html", html.as_bytes()).ends_with("end"));
        let nested_lists = format!("{}end", "<ul><li>".repeat(50_000));
        assert!(page("text/html", nested_lists.as_bytes()).ends_with("end"));
    }
}
