//! How large a picture is, as its header says; nothing is decoded.
//!
//! No header that is cut short or made up does harm: what is not there is no size.

use std::fmt;

use super::ImageFormat;

/// A picture's width and height, neither of them zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl fmt::Display for Pixels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} × {}", self.width, self.height)
    }
}

impl Pixels {
    /// What the file says.
    pub(super) fn read_from(format: ImageFormat, bytes: &[u8]) -> Option<Self> {
        let (width, height) = match format {
            ImageFormat::Png => png(bytes),
            ImageFormat::Jpeg => jpeg(bytes),
            ImageFormat::Gif => gif(bytes),
            ImageFormat::WebP => webp(bytes),
        }?;
        (width > 0 && height > 0).then_some(Self { width, height })
    }
}

/// The first chunk is the header.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.get(12..24)?.strip_prefix(b"IHDR")?;
    let (width, height) = header.split_first_chunk()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height.first_chunk()?)))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

/// Segment after segment, up to the one that begins the frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.get(2..)?;
    loop {
        let (0xff, after) = rest.split_first().map(|(first, after)| (*first, after))? else {
            return None;
        };
        let (marker, after) = after.split_first()?;
        rest = match marker {
            // Filling before a marker, and markers without a length.
            0xff => rest.get(1..)?,
            0x01 | 0xd0..=0xd8 => after,
            // The frame: its length, the bits of a sample, height, width.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big_16(after, 5)?, big_16(after, 3)?));
            }
            // The picture itself, or its end, without a frame.
            0xd9 | 0xda => return None,
            _ => after.get(usize::try_from(big_16(after, 0)?).ok()?.max(2)..)?,
        };
    }
}

/// Lossy, lossless or extended: each keeps its size elsewhere.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    if !bytes.starts_with(b"RIFF") {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8 " if bytes.get(23..26)? == [0x9d, 0x01, 0x2a] => {
            Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff))
        }
        b"VP8L" if *bytes.get(20)? == 0x2f => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

fn big_16(bytes: &[u8], at: usize) -> Option<u32> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u32::from(u16::from_be_bytes(*number)))
}

/// A number of up to four bytes, the lowest first.
fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let number = bytes.get(at..at + length)?;
    Some(number.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [ImageFormat; 4] =
        [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];

    #[test]
    fn sizes_are_where_each_format_keeps_them() {
        let big = [0xff; 64];
        for (format, bytes, expected) in [
            (
                ImageFormat::Png,
                &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0"[..],
                Some((640, 480)),
            ),
            (ImageFormat::Png, b"\x89PNG\r\n\x1a\n\0\0\0\rIDAT\0\0\x02\x80\0\0\x01\xe0", None),
            (ImageFormat::Png, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\x01\xe0", None),
            (ImageFormat::Png, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01", None),
            (ImageFormat::Gif, b"GIF89a\x80\x02\xe0\x01", Some((640, 480))),
            (ImageFormat::Gif, b"GIF89a\x80\x02\xe0", None),
            (
                ImageFormat::Jpeg,
                b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\x01\xe0\x02\x80",
                Some((640, 480)),
            ),
            (
                ImageFormat::Jpeg,
                b"\xff\xd8\xff\xc4\0\x04ab\xff\xc0\0\x11\x08\x01\xe0\x02\x80",
                Some((640, 480)),
            ),
            (ImageFormat::Jpeg, b"\xff\xd8\xff\xe0\0\x04ab\xff\xda\0\x04ab", None),
            (ImageFormat::Jpeg, b"\xff\xd8\xff\xe0\xff\xffab", None),
            (ImageFormat::Jpeg, b"\xff\xd8\xff\xe0\0\0\xff\xe0\0\0", None),
            (ImageFormat::Jpeg, &big, None),
            (
                ImageFormat::WebP,
                b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x41",
                Some((640, 480)),
            ),
            (
                ImageFormat::WebP,
                b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2b\x80\x02\xe0\x41",
                None,
            ),
            (
                ImageFormat::WebP,
                b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc2\x77\0",
                Some((640, 480)),
            ),
            (
                ImageFormat::WebP,
                b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0",
                Some((640, 480)),
            ),
            (
                ImageFormat::WebP,
                b"RAFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0",
                None,
            ),
            (ImageFormat::WebP, b"RIFF\0\0\0\0WEBPALPH", None),
        ] {
            let expected = expected.map(|(width, height)| Pixels { width, height });
            assert_eq!(Pixels::read_from(format, bytes), expected, "{format:?} {bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_header_does_harm(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            for format in FORMATS {
                let magic: &[u8] = match format {
                    ImageFormat::Png => b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
                    ImageFormat::Jpeg => b"\xff\xd8\xff",
                    ImageFormat::Gif => b"GIF89a",
                    ImageFormat::WebP => b"RIFF\0\0\0\0WEBPVP8",
                };
                for file in [bytes.clone(), [magic, &bytes].concat()] {
                    if let Some(pixels) = Pixels::read_from(format, &file) {
                        prop_assert!(pixels.width > 0 && pixels.height > 0);
                    }
                }
            }
        }
    }
}
