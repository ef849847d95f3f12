//! A cached file reads like any other, and only a small regular file is read from the cache.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;
use tempfile::TempDir;

use super::{super::FileGuard, *};

struct Lab {
    folder: TempDir,
    workspace: Workspace,
}

fn everything() -> Readable {
    FileGuard::unrestricted().readable_by(BuiltinTool::ReadFile)
}

impl Lab {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        Self { workspace: Workspace::new(&root).unwrap(), folder }
    }

    fn root(&self) -> &Path {
        self.workspace.root()
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn at_hand(&self, request: &Request) -> Option<ToolOutput> {
        request.read_at_hand(
            &self.workspace,
            &everything(),
            &SeenFiles::default(),
            &CancellationToken::new(),
        )
    }

    fn off_disk(&self, request: &Request) -> ToolOutput {
        let read = request.read_from_disk(
            &self.workspace,
            &everything(),
            &SeenFiles::default(),
            &CancellationToken::new(),
        );
        read.unwrap_or_else(|failure| failure)
    }

    /// Whether this system can tell what it has in memory.
    fn can_tell(&self) -> bool {
        self.workspace.tells_at_hand()
    }
}

fn asked(path: &str, offset: usize, limit: usize) -> Request {
    Request::new(json!({"path": path, "offset": offset, "limit": limit}), AnswerForm::Text).unwrap()
}

#[test]
fn a_file_at_hand_reads_like_any_other() {
    let lab = Lab::new();
    lab.put("plain.txt", "one\ntwo\nthree")
        .put("empty", "")
        .put("blank.txt", "\n\n")
        .put("windows.txt", "one\r\ntwo\r\n")
        .put("utf16.txt", b"\xff\xfeh\0i\0\n\0")
        .put("latin.txt", b"caf\xe9\n")
        .put("image.png", b"\x89PNG\r\n\x1a\n\0\0")
        .put("binary", b"ab\0cd")
        .put("late.bin", [b"text\n".repeat(4000).as_slice(), b"a\0b"].concat())
        .put("long.txt", "x".repeat(20_000))
        .put("largest.txt", "line\n".repeat(MAX_AT_HAND / 5))
        .put("a/b/deep.txt", "deep\n");
    let root = lab.root().display().to_string();
    let mut paths: Vec<String> = [
        "plain.txt",
        "empty",
        "blank.txt",
        "windows.txt",
        "utf16.txt",
        "latin.txt",
        "image.png",
        "binary",
        "late.bin",
        "long.txt",
        "largest.txt",
        "a/b/deep.txt",
        "./a/./b/deep.txt",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(format!("{root}/a/b/deep.txt"));
    for path in paths {
        for (offset, limit) in [(1, 2000), (2, 1), (3, 2000), (900, 5)] {
            let request = asked(&path, offset, limit);
            let at_hand = lab.at_hand(&request);
            assert!(at_hand.is_some() || !lab.can_tell(), "{path} was just written");
            if let Some(at_hand) = at_hand {
                let from_disk = lab.off_disk(&request);
                assert_eq!(
                    (at_hand.text, at_hand.is_error),
                    (from_disk.text, from_disk.is_error),
                    "{path} from {offset}"
                );
            }
        }
    }
}

#[test]
fn what_is_not_plainly_a_small_file_of_the_workspace_is_not_at_hand() {
    let lab = Lab::new();
    let outside = lab.folder.path().join("outside.txt");
    fs::write(&outside, "secret\n").unwrap();
    lab.put("a.txt", "a\n").put("a/../b.txt", "b\n").put("large.txt", "x".repeat(MAX_AT_HAND + 1));
    symlink(&outside, lab.root().join("out.txt")).unwrap();
    symlink("a.txt", lab.root().join("link.txt")).unwrap();
    symlink(lab.folder.path(), lab.root().join("up")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.root().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let outside = outside.display().to_string();
    let elsewhere = [
        "../outside.txt",
        "a/../../outside.txt",
        "out.txt",
        "link.txt",
        "up/outside.txt",
        "pipe",
        ".",
        "",
        "a",
        "missing.txt",
        "large.txt",
        "a.txt/",
        "a.txt/.",
        "a.txt/x",
        "nul\0",
        "/etc/passwd",
    ];
    for path in elsewhere.into_iter().chain([outside.as_str()]) {
        let request =
            Request { path: path.to_owned(), offset: 1, limit: 9, answer_form: AnswerForm::Text };
        let text = lab.at_hand(&request);
        assert!(text.is_none(), "{path}: {text:?}");
    }
}
