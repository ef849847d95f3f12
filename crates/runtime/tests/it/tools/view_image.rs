//! `view_image`: pictures a model can see, told by their bytes and never by their names.

use std::{fs, fs::File};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::Fixture;

/// A PNG of so many pixels; no more than its header.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    [head.as_slice(), &size, b"\x08\x02\0\0\0"].concat()
}

const JPEG: &[u8] =
    b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\x01\xe0\x02\x80\x03";
const GIF: &[u8] = b"GIF89a\x80\x02\xe0\x01\xf7\0\0";
const WEBP: &[u8] = b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\x01\0\x9d\x01\x2a\x80\x02\xe0\x01";

#[test]
fn images_are_handed_over_with_their_type_and_size() {
    let fixture = Fixture::new();
    for (bytes, media_type) in [
        (&*png(640, 480), "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
    ] {
        fixture.write("shots/one.txt", bytes);
        let output = fixture.call("view_image", json!({"path": "shots/one.txt"}));
        assert!(!output.is_error, "{}", output.text);
        let expected = format!("shots/one.txt: {media_type}, 640 × 480, {} B", bytes.len());
        assert_eq!(output.text, expected);
        let [image] = output.images.as_slice() else { panic!("{} images", output.images.len()) };
        assert_eq!(image.media_type, media_type);
        assert_eq!(STANDARD.decode(&image.data).unwrap(), bytes);
    }
}

#[test]
fn what_is_no_image_is_named() {
    let fixture = Fixture::new();
    fixture.write("empty.png", "");
    fixture.write("notes.png", "GIF89a is how a GIF begins\n");
    fixture.write("paper.jpg", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3");
    fixture.write("scan.gif", b"II*\0\x08\0\0\0");
    fixture.write("data.webp", b"some\0thing");
    for (path, kind) in [
        ("empty.png", "empty"),
        ("notes.png", "text"),
        ("paper.jpg", "a PDF document"),
        ("scan.gif", "a TIFF image"),
        ("data.webp", "a binary file"),
    ] {
        let output = fixture.call("view_image", json!({"path": path}));
        let expected =
            format!("{path} is {kind}, not a PNG, JPEG, GIF or WebP image; read_file shows text");
        assert_eq!((output.text, output.is_error), (expected, true));
        assert!(output.images.is_empty());
    }
}

#[test]
fn what_providers_would_refuse_is_refused_here() {
    let fixture = Fixture::new();
    let grown = |path: &str, bytes: u64| {
        fixture.write(path, png(640, 480));
        let file = File::options().write(true).open(fixture.root().join(path)).unwrap();
        file.set_len(bytes).unwrap();
        fixture.call("view_image", json!({"path": path}))
    };
    let large = grown("large.png", 6 << 20);
    assert!(large.is_error && large.images.is_empty());
    assert_eq!(
        large.text,
        "large.png is a PNG image of 6.0 MB; at most 3.7 MB can be shown: make a smaller copy"
    );
    let most = 3_932_160;
    assert!(grown("over.png", most + 1).is_error);
    let just = grown("just.png", most);
    assert!(!just.is_error, "{}", just.text);
    assert_eq!(just.images[0].data.len(), 5 << 20, "5 MB in base64 and no more");
    fixture.write("wide.png", png(8001, 10));
    assert_eq!(
        fixture.error("view_image", json!({"path": "wide.png"})),
        "wide.png is a PNG image of 8001 × 10 pixels; at most 8000 a side can be shown: make a \
         smaller copy"
    );
    fixture.write("widest.png", png(8000, 10));
    fixture.text("view_image", json!({"path": "widest.png"}));
    fixture.write("torn.png", &png(640, 480)[..20]);
    assert_eq!(
        fixture.error("view_image", json!({"path": "torn.png"})),
        "torn.png is a PNG image, but a damaged one"
    );
}

#[test]
fn it_stays_in_the_workspace() {
    let fixture = Fixture::with(&[("src/a.txt", "x")]);
    fs::write(fixture.outer().join("secret/shot.png"), png(1, 1)).unwrap();
    fixture.link("out.png", "../secret/shot.png");
    for path in ["out.png", "../secret/shot.png", "src/../../secret/shot.png"] {
        let output = fixture.call("view_image", json!({"path": path}));
        assert_eq!(output.text, format!("{path} is outside the workspace"));
        assert!(output.is_error && output.images.is_empty());
    }
    fixture.write("in.png", png(2, 3));
    fixture.link("link.png", "in.png");
    let text = fixture.text("view_image", json!({"path": "link.png"}));
    assert_eq!(text, "in.png: image/png, 2 × 3, 29 B");
    assert_eq!(
        fixture.error("view_image", json!({"path": "src"})),
        "src is a directory; use list_dir to see what is in it"
    );
    assert_eq!(
        fixture.error("view_image", json!({"path": "on.png"})),
        "no such file or directory: on.png; did you mean in.png?"
    );
    fixture.fifo("pipe");
    assert_eq!(
        fixture.error("view_image", json!({"path": "pipe"})),
        "pipe is a FIFO; only files and directories can be opened"
    );
    assert_eq!(
        fixture.error("view_image", json!({"path": "in.png", "detail": "high"})),
        "unknown parameter `detail`; the parameters are path"
    );
}
