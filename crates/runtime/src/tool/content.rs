//! What kind of content a file has, told from its first bytes.

use std::{
    fmt,
    io::{self, Read},
};

/// How many bytes are looked at.
const SNIFFED: usize = 8 * 1024;

/// Formats that have certain bytes at a certain place.
const MAGIC: &[(usize, &[u8], Content)] = &[
    (0, b"\x89PNG\r\n\x1a\n", Content::Image(ImageFormat::Png)),
    (0, b"\xff\xd8\xff", Content::Image(ImageFormat::Jpeg)),
    (0, b"GIF87a", Content::Image(ImageFormat::Gif)),
    (0, b"GIF89a", Content::Image(ImageFormat::Gif)),
    (8, b"WEBP", Content::Image(ImageFormat::WebP)),
    (0, b"II*\0", Content::Binary("a TIFF image")),
    (0, b"MM\0*", Content::Binary("a TIFF image")),
    (0, b"\0\0\x01\0", Content::Binary("an icon image")),
    (4, b"ftypavif", Content::Binary("an AVIF image")),
    (4, b"ftypheic", Content::Binary("a HEIC image")),
    (4, b"ftyp", Content::Binary("a video")),
    (0, b"%PDF-", Content::Binary("a PDF document")),
    (0, b"PK\x03\x04", Content::Binary("a ZIP archive or a document packed as one")),
    (0, b"\x1f\x8b", Content::Binary("a gzip archive")),
    (0, b"BZh", Content::Binary("a bzip2 archive")),
    (0, b"\xfd7zXZ\0", Content::Binary("an xz archive")),
    (0, b"\x28\xb5\x2f\xfd", Content::Binary("a zstd archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Content::Binary("a 7-Zip archive")),
    (257, b"ustar", Content::Binary("a tar archive")),
    (0, b"\x7fELF", Content::Binary("an ELF executable or library")),
    (0, b"\xcf\xfa\xed\xfe", Content::Binary("a Mach-O executable or library")),
    (0, b"\0asm", Content::Binary("a WebAssembly module")),
    (0, b"SQLite format 3\0", Content::Binary("an SQLite database")),
    (0, b"wOFF", Content::Binary("a font")),
    (0, b"wOF2", Content::Binary("a font")),
    (0, b"OggS", Content::Binary("an audio file")),
    (0, b"ID3", Content::Binary("an audio file")),
    (0, b"fLaC", Content::Binary("an audio file")),
    (8, b"WAVE", Content::Binary("an audio file")),
];

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    Text,
    /// An image that models can be shown.
    Image(ImageFormat),
    /// No text; what it is instead.
    Binary(&'static str),
}

/// The images that every provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageFormat {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "empty",
            Self::Text => "text",
            Self::Image(ImageFormat::Png) => "a PNG image",
            Self::Image(ImageFormat::Jpeg) => "a JPEG image",
            Self::Image(ImageFormat::Gif) => "a GIF image",
            Self::Image(ImageFormat::WebP) => "a WebP image",
            Self::Binary(kind) => kind,
        })
    }
}

/// Looks at the beginning of a file; afterwards the file stands somewhere after it.
pub(super) fn sniff(file: &mut impl Read) -> io::Result<Content> {
    // All of it at once, and room to see that there is no more.
    let mut head = Vec::with_capacity(SNIFFED + 1);
    file.take(SNIFFED as u64).read_to_end(&mut head)?;
    Ok(kind_of(&head))
}

fn kind_of(head: &[u8]) -> Content {
    if head.is_empty() {
        return Content::Empty;
    }
    let known = MAGIC
        .iter()
        .find(|(at, magic, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    match known {
        // A text may begin like an archive; only a file that is not text counts as one.
        Some((_, _, content)) if !is_text(head) => *content,
        _ if head.contains(&0) && !is_utf16 => Content::Binary("a binary file"),
        _ => Content::Text,
    }
}

fn is_text(head: &[u8]) -> bool {
    // The last character may have been cut in two.
    let is_utf8 =
        std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !head.contains(&0)
}
