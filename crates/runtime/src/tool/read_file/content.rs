//! What kind of content a file has, told from its first bytes.

use std::{
    fs::File,
    io::{self, Read as _},
};

/// How many bytes are looked at.
const SNIFFED: u64 = 8 * 1024;

/// Formats that begin with certain bytes.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF87a", "a GIF image"),
    (0, b"GIF89a", "a GIF image"),
    (8, b"WEBP", "a WebP image"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"MM\0*", "a TIFF image"),
    (0, b"\0\0\x01\0", "an icon image"),
    (4, b"ftypavif", "an AVIF image"),
    (4, b"ftypheic", "a HEIC image"),
    (4, b"ftyp", "a video"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"PK\x03\x04", "a ZIP archive or a document packed as one"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ\0", "an xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "an ELF executable or library"),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O executable or library"),
    (0, b"\0asm", "a WebAssembly module"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"wOFF", "a font"),
    (0, b"wOF2", "a font"),
    (0, b"OggS", "an audio file"),
    (0, b"ID3", "an audio file"),
    (0, b"fLaC", "an audio file"),
    (8, b"WAVE", "an audio file"),
];

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    Text,
    /// No text; what it is instead.
    Binary(&'static str),
}

/// Looks at the beginning of a file; afterwards the file stands somewhere after it.
pub(super) fn sniff(file: &mut File) -> io::Result<Content> {
    let mut head = Vec::new();
    file.take(SNIFFED).read_to_end(&mut head)?;
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
        // A text may begin like an archive; only what is no text is one.
        Some((_, _, kind)) if !is_text(head) => Content::Binary(kind),
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
