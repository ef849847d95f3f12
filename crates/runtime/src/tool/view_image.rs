//! `view_image`: an image file, for a model that sees.
//!
//! Invariant: what is handed over is an image that every provider takes. A request that a provider
//! refuses would end the run, and again each time it is resumed; a refusal here is only an answer.

mod pixels;

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
};

use attache_kernel::{rights::tool_name::BuiltinTool, run::message::Image};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use self::pixels::Pixels;
use super::{
    Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::{ArgumentError, Arguments},
    content::{self, Content, ImageFormat},
    off_thread::off_thread,
    wording::size,
};
use crate::tool::workspace::{Location, reason};

/// The largest file that is shown: providers take 5 MB a picture and count it in base64, which has
/// four bytes for every three.
const MAX_BYTES: u64 = (5 << 20) / 4 * 3;
/// The most pixels a side may have.
const MAX_SIDE: u32 = 8000;

/// Shows an image.
#[derive(Debug)]
pub(super) struct ViewImage {
    spec: ToolSpec,
}

impl ViewImage {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec::reading(
                BuiltinTool::ViewImage,
                include_str!("view_image.md"),
                json!({
                    "type": "object",
                    "properties": {"path": {"type": "string"}},
                    "required": ["path"],
                }),
            ),
        }
    }
}

impl Tool for ViewImage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        let workspace = context.workspace.clone();
        let readable = context.files.readable_by(BuiltinTool::ViewImage);
        Box::pin(off_thread(&context.cancel, move |_| {
            let location = readable.find(&workspace, &path(arguments)?)?;
            let file = location.open_file()?;
            view(&location, file)
                .map_err(|error| ToolOutput::error(format!("{location}: {}", reason(&error))))
        }))
    }
}

fn path(arguments: Value) -> Result<String, ArgumentError> {
    let mut arguments = Arguments::new(arguments)?;
    let path = arguments.required_text("path")?;
    arguments.finish()?;
    Ok(path)
}

fn view(location: &Location, mut file: File) -> io::Result<ToolOutput> {
    let content = content::sniff(&mut file)?;
    let Content::Image(format) = content else {
        return Ok(ToolOutput::error(format!(
            "{location} is {content}, not a PNG, JPEG, GIF or WebP image; read_file shows text"
        )));
    };
    file.rewind()?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, even one that grows.
    file.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let found = file.metadata()?.len().max(bytes.len() as u64);
    if bytes.len() as u64 > MAX_BYTES {
        return Ok(ToolOutput::error(format!(
            "{location} is {content} of {}; at most {} can be shown: make a smaller copy",
            size(found),
            size(MAX_BYTES)
        )));
    }
    Ok(match Pixels::read_from(format, &bytes) {
        None => ToolOutput::error(format!("{location} is {content}, but a damaged one")),
        Some(pixels) if pixels.width.max(pixels.height) > MAX_SIDE => ToolOutput::error(format!(
            "{location} is {content} of {pixels} pixels; at most {MAX_SIDE} a side can be shown: \
             make a smaller copy"
        )),
        Some(pixels) => shown(location, format, pixels, &bytes),
    })
}

fn shown(location: &Location, format: ImageFormat, pixels: Pixels, bytes: &[u8]) -> ToolOutput {
    let media_type = format.media_type();
    let bytes_text = size(bytes.len() as u64);
    let image = Image { media_type: media_type.to_owned(), data: STANDARD.encode(bytes) };
    ToolOutput {
        images: vec![image],
        ..ToolOutput::text(format!("{location}: {media_type}, {pixels}, {bytes_text}"))
    }
}
