//! `read_file`: numbered lines, whatever the file.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
};

use serde_json::json;

use super::{Fixture, as_nobody, peak_memory_mb};

fn read(file: impl AsRef<[u8]>) -> String {
    let fixture = Fixture::new();
    fixture.write("f", file);
    fixture.text("read_file", json!({"path": "f"}))
}

#[test]
fn lines_are_numbered() {
    assert_eq!(read("one\n\ttwo\n\nfour"), "1\tone\n2\t\ttwo\n3\t\n4\tfour");
    assert_eq!(read("one\n"), "1\tone");
    assert_eq!(read("\n"), "1\t");
}

#[test]
fn an_empty_file_is_said_to_be() {
    assert_eq!(read(""), "f is empty");
    assert_eq!(read("\u{feff}"), "f is empty");
}

#[test]
fn a_part_says_how_to_read_on() {
    let fixture = Fixture::with(&[("f", "one\ntwo\nthree\nfour\n")]);
    let part = |offset, limit| {
        let arguments = json!({"path": "f", "offset": offset, "limit": limit});
        fixture.call("read_file", arguments).text
    };
    assert_eq!(part(2, 2), "2\ttwo\n3\tthree\n[lines 2-3 of 4; read on with offset=4]");
    assert_eq!(part(4, 1), "4\tfour");
    assert_eq!(part(3, 99), "3\tthree\n4\tfour");
    assert_eq!(part(5, 1), "offset 5 is past the end: f has 4 lines");
    assert_eq!(part(99, 1), "offset 99 is past the end: f has 4 lines");
}

#[test]
fn the_default_part_is_bounded_in_lines_and_bytes() {
    let many = read("x\n".repeat(5000));
    assert!(many.ends_with("\n2000\tx\n[lines 1-2000 of 5,000; read on with offset=2001]"));
    let wide = read(format!("{}\n", "y".repeat(999)).repeat(1000));
    assert!(wide.len() < 52 * 1024, "{}", wide.len());
    let last = wide.lines().last().unwrap();
    assert_eq!(last, "[lines 1-50 of 1,000; read on with offset=51]");
}

#[test]
fn long_lines_are_cut_in_whole_characters() {
    let text = read(format!("a\n{}\nb\n", "é".repeat(5_000_001)));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "1\ta");
    assert_eq!(lines[1], format!("2\t{}… [9,998,002 bytes more]", "é".repeat(1000)));
    assert_eq!(lines[2], "3\tb");
    assert_eq!(lines[3], "[1 long line cut]");
    assert_eq!(read("z".repeat(2000)), format!("1\t{}", "z".repeat(2000)));
    let odd = read(format!("z{}", "é".repeat(1000)));
    assert!(odd.starts_with(&format!("1\tz{}… [2 bytes more]", "é".repeat(999))), "{odd}");
    assert!(!odd.contains('\u{fffd}'));
}

#[test]
fn carriage_returns_are_harmless_and_said() {
    assert_eq!(read("a\r\nb\r\n"), "1\ta\n2\tb\n[lines end in CRLF]");
}

#[test]
fn text_that_is_no_utf8_is_decoded_and_said() {
    let latin = read(b"caf\xe9\n");
    assert!(latin.starts_with("1\tcaf\u{fffd}\n[not UTF-8: "), "{latin}");
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend("héllo\nyou\n".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(read(utf16), "1\théllo\n2\tyou");
    assert_eq!(read("\u{feff}bom"), "1\tbom");
}

#[test]
fn binary_files_are_named_and_not_dumped() {
    for (bytes, kind) in [
        (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"GIF89a\x01\0\x01\0\xff", "a GIF image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "a WebP image"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "a PDF document"),
        (b"PK\x03\x04\x14\0", "a ZIP archive or a document packed as one"),
        (b"\x7fELF\x02\x01\x01\0", "an ELF executable or library"),
        (b"some\0thing", "a binary file"),
    ] {
        let hint =
            if kind.ends_with("image") { "; view_image shows it, if you have it" } else { "" };
        let expected = format!("f is {kind} ({} B); its content is not shown{hint}", bytes.len());
        assert_eq!(read(bytes), expected);
    }
    assert_eq!(read("BZh is how it begins"), "1\tBZh is how it begins");
}

#[test]
fn binary_data_after_text_ends_the_page() {
    let mut bytes = "text\n".repeat(2000).into_bytes();
    bytes.extend([0; 100]);
    let fixture = Fixture::new();
    fixture.write("f", bytes);
    let text = fixture.text("read_file", json!({"path": "f", "offset": 1999}));
    assert_eq!(text, "1999\ttext\n2000\ttext\n[from line 2001 on it is binary data, not shown]");
}

#[test]
fn directories_and_missing_files_are_explained() {
    let fixture = Fixture::with(&[("src/main.rs", "x")]);
    assert_eq!(
        fixture.error("read_file", json!({"path": "src"})),
        "src is a directory; use list_dir to see what is in it"
    );
    assert_eq!(
        fixture.error("read_file", json!({"path": "src/man.rs"})),
        "no such file or directory: src/man.rs; did you mean src/main.rs?"
    );
    fixture.fifo("pipe");
    assert_eq!(
        fixture.error("read_file", json!({"path": "pipe"})),
        "pipe is a FIFO; only files and directories can be opened"
    );
}

#[test]
fn a_file_that_may_not_be_read_is_said_to_be() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::with(&[("f", "x")]);
    let locked = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(fixture.root().join("f"), locked).unwrap();
    let message = as_nobody(&fixture, || fixture.error("read_file", json!({"path": "f"})));
    assert_eq!(message, "cannot open f: permission denied");
}

#[test]
fn a_file_of_100_mb_is_streamed() {
    let fixture = Fixture::new();
    let mut file = BufWriter::new(File::create(fixture.root().join("big")).unwrap());
    for line in 1..=2_500_000 {
        writeln!(file, "line {line:>8} of a file that is rather long").unwrap();
    }
    file.into_inner().unwrap();
    let arguments = json!({"path": "big", "offset": 2_499_999, "limit": 1});
    let text = fixture.text("read_file", arguments);
    assert_eq!(
        text,
        "2499999\tline  2499999 of a file that is rather long\n\
         [lines 2499999-2499999 of 2,500,000; read on with offset=2500000]"
    );
    let text = fixture.text("read_file", json!({"path": "big", "limit": 1}));
    assert!(text.ends_with("[lines 1-1 of many more; read on with offset=2]"), "{text}");
}

#[test]
fn of_a_file_of_1_gb_only_what_is_shown_is_kept() {
    let fixture = Fixture::new();
    fixture.write("sparse", "text\n".repeat(3000));
    let file = File::options().write(true).open(fixture.root().join("sparse")).unwrap();
    file.set_len(1 << 30).unwrap();
    let text = fixture.text("read_file", json!({"path": "sparse", "limit": 50}));
    assert!(text.contains("50\ttext\n[lines 1-50 of "), "{text}");
    let text = fixture.text("read_file", json!({"path": "sparse", "offset": 2999}));
    assert_eq!(text, "2999\ttext\n3000\ttext\n[from line 3001 on it is binary data, not shown]");
    assert!(peak_memory_mb() < 300, "{} MB", peak_memory_mb());
}

#[test]
fn a_cancelled_read_stops() {
    let fixture = Fixture::with(&[("f", "x")]);
    fixture.context.cancel.cancel();
    assert_eq!(fixture.error("read_file", json!({"path": "f"})), "cancelled");
}
