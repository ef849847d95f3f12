//! The result of a call in the form models take: text, and images.
//!
//! What cannot be shown is named with its kind and size. Text is cleaned, and bounded like every tool's.

use std::sync::Arc;

use attache_kernel::run::message::Image;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use super::clean_text::{clean, clean_line};
use crate::tool::{ToolContext, ToolOutput, artifacts::Bound};

/// The kinds of images that models take.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The most images of one result, and the most bytes of one of them in base64.
const MOST_IMAGES: usize = 8;
const LARGEST_IMAGE: usize = 5 << 20;

/// What the model is given of a result.
pub(super) async fn shown(result: CallToolResult, context: &ToolContext) -> ToolOutput {
    let is_error = result.is_error == Some(true);
    let artifacts = Arc::clone(&context.artifacts);
    let written = tokio::task::spawn_blocking(move || {
        let (text, images) = parts(result);
        let output = Bound::DEFAULT.apply(text, "mcp", &artifacts);
        ToolOutput { is_error, images, ..output }
    });
    written.await.unwrap_or_else(|_| ToolOutput::error("the tool broke off without an answer"))
}

fn parts(result: CallToolResult) -> (String, Vec<Image>) {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in result.content {
        texts.push(match block {
            ContentBlock::Text(text) => clean(&text.text),
            ContentBlock::Image(image) => {
                let kind = clean_line(&image.mime_type, 60);
                let is_shown = IMAGES.contains(&kind.as_str())
                    && images.len() < MOST_IMAGES
                    && image.data.len() <= LARGEST_IMAGE
                    && is_base64(&image.data);
                let named = named_data("image", &kind, image.data.len());
                if is_shown {
                    images.push(Image { media_type: kind, data: image.data });
                    format!("[{named}]")
                } else {
                    format!("[{named}, not shown]")
                }
            }
            ContentBlock::Audio(audio) => {
                let kind = clean_line(&audio.mime_type, 60);
                format!("[{}, not shown]", named_data("audio", &kind, audio.data.len()))
            }
            ContentBlock::Resource(resource) => shown_resource(&resource.resource),
            ContentBlock::ResourceLink(link) => {
                let name = clean_line(link.title.as_deref().unwrap_or(&link.name), 200);
                let about = link.description.as_deref().unwrap_or_default();
                let about = clean_line(about, 400);
                let separator = if about.is_empty() { "" } else { ": " };
                format!("[resource {} ({name}){separator}{about}]", clean_line(&link.uri, 500))
            }
            _ => "[content of an unknown kind]".to_owned(),
        });
    }
    if let Some(structured) = result.structured_content.filter(|it| !is_said(it, &texts)) {
        texts.push(clean(&format!("{structured:#}")));
    }
    let text = texts.join("\n");
    (if text.trim().is_empty() { "(no output)".to_owned() } else { text }, images)
}

/// Whether a text says the same as a structured result.
fn is_said(structured: &Value, texts: &[String]) -> bool {
    structured.is_null()
        || texts
            .iter()
            .any(|text| serde_json::from_str::<Value>(text).is_ok_and(|said| said == *structured))
}

fn shown_resource(resource: &ResourceContents) -> String {
    match resource {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[resource {}]\n{}", clean_line(uri, 500), clean(text))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = clean_line(mime_type.as_deref().unwrap_or("unknown type"), 60);
            let uri = clean_line(uri, 500);
            format!("[resource {uri}: {}, not shown]", named_data("data", &kind, blob.len()))
        }
        _ => "[a resource of an unknown kind]".to_owned(),
    }
}

/// Data by kind and size; base64 takes four letters for three bytes.
fn named_data(what: &str, kind: &str, letters: usize) -> String {
    format!("{what}, {kind}, {} bytes", letters / 4 * 3)
}

fn is_base64(data: &str) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    !data.is_empty() && data.bytes().all(is_of_it)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(written: Value) -> (String, Vec<Image>) {
        parts(serde_json::from_value(written).unwrap())
    }

    #[test]
    fn what_cannot_be_shown_is_named() {
        let (text, images) = read(json!({"content": [
            {"type": "text", "text": "one \u{1b}[31mred"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/tiff"},
            {"type": "image", "data": "\u{1b}", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c", "description": "a link"},
        ]}));
        assert_eq!(
            text,
            "one red\n[image, image/png, 3 bytes]\n[image, image/tiff, 3 bytes, not shown]\n\
             [image, image/png, 0 bytes, not shown]\n[audio, audio/wav, 6 bytes, not shown]\n\
             [resource file:///a]\ninside\n[resource file:///b: data, unknown type, 3 bytes, not shown]\n\
             [resource file:///c (c): a link]"
        );
        assert_eq!(images.len(), 1);
    }

    #[test]
    fn structured_content_is_said_once() {
        let structured = json!({"a": 1});
        let said = json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": structured});
        assert_eq!(read(said).0, "{\"a\":1}");
        let other =
            json!({"content": [{"type": "text", "text": "one"}], "structuredContent": structured});
        assert_eq!(read(other).0, "one\n{\n  \"a\": 1\n}");
        assert_eq!(
            read(json!({"content": [], "structuredContent": structured})).0,
            "{\n  \"a\": 1\n}"
        );
        assert_eq!(read(json!({"content": []})).0, "(no output)");
    }
}
