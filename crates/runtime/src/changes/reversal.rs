//! The reverse of a patch that git wrote: what it adds is removed, and the other way round.
//!
//! It reads git's own output (`--binary --full-index`, prefixes `a/` and `b/`), not patches in general.
//! Invariant: reversing twice gives a patch that does what the first one does.

use std::iter::Peekable;

/// The patch that undoes this one. Files are in the same order. Bytes that are not UTF-8 stay as they are.
pub fn reversed(patch: &[u8]) -> Vec<u8> {
    // A character for each byte, so that lines of any encoding are text here.
    let text: String = patch.iter().map(|byte| char::from(*byte)).collect();
    let back = |letter: char| u8::try_from(u32::from(letter)).unwrap_or(b'?');
    reversed_text(&text).chars().map(back).collect()
}

fn reversed_text(patch: &str) -> String {
    let mut lines = patch.split_inclusive('\n').peekable();
    let mut text = String::with_capacity(patch.len());
    let mut header = Header::default();
    while let Some(line) = lines.next() {
        if let Some(ranges) = line.strip_prefix("@@ ") {
            header.write(&mut text);
            text.push_str(&ranges_reversed(ranges).unwrap_or_else(|| line.to_owned()));
            let mut hunk = Hunk::default();
            while let Some(next) = lines.next_if(|next| next.starts_with([' ', '-', '+', '\\'])) {
                hunk.line(next, &mut text);
            }
            hunk.flush(&mut text);
        } else if line.starts_with("GIT binary patch") {
            header.write(&mut text);
            text.push_str(line);
            let (forth, back) = (section(&mut lines), section(&mut lines));
            text.push_str(&back);
            text.push_str(&forth);
        } else {
            if line.starts_with("diff --git ") {
                header.write(&mut text);
            }
            header.lines.push(line);
        }
    }
    header.write(&mut text);
    text
}

/// One of the two directions of a binary change, up to the empty line that ends it.
fn section<'p>(lines: &mut Peekable<impl Iterator<Item = &'p str>>) -> String {
    let mut section = String::new();
    while let Some(next) = lines.next_if(|next| !next.starts_with("diff --git ")) {
        section.push_str(next);
        if next == "\n" {
            break;
        }
    }
    section
}

/// The lines before the changes of a file.
#[derive(Default)]
struct Header<'p> {
    lines: Vec<&'p str>,
}

impl Header<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix(key))
    }

    /// Writes it the other way round, and empties it.
    fn write(&mut self, text: &mut String) {
        let renamed = self.value("rename from ").zip(self.value("rename to "));
        for line in &self.lines {
            let (key, value) = self.turned(line, renamed);
            text.push_str(key);
            text.push_str(&value);
        }
        self.lines.clear();
    }

    fn turned<'l>(&self, line: &'l str, renamed: Option<(&str, &str)>) -> (&'l str, String) {
        let opposite = |key: &str| self.value(key).unwrap_or("\n").to_owned();
        if line.starts_with("diff --git ") {
            let Some((from, to)) = renamed else { return (line, String::new()) };
            let names = format!("{} {}", prefixed("a/", to.trim_end()), prefixed("b/", from));
            return ("diff --git ", names);
        }
        for (key, other) in [
            ("old mode ", "new mode "),
            ("new mode ", "old mode "),
            ("rename from ", "rename to "),
            ("rename to ", "rename from "),
        ] {
            if line.starts_with(key) {
                return (line.get(..key.len()).unwrap_or_default(), opposite(other));
            }
        }
        if let Some(mode) = line.strip_prefix("new file mode ") {
            return ("deleted file mode ", mode.to_owned());
        }
        if let Some(mode) = line.strip_prefix("deleted file mode ") {
            return ("new file mode ", mode.to_owned());
        }
        if line.starts_with("--- ") {
            return ("--- ", with_prefix(&opposite("+++ "), ["b/", "a/"]));
        }
        if line.starts_with("+++ ") {
            return ("+++ ", with_prefix(&opposite("--- "), ["a/", "b/"]));
        }
        if let Some((objects, rest)) = line.strip_prefix("index ").map(|line| {
            let end = line.find([' ', '\n']).unwrap_or(line.len());
            line.split_at(end)
        }) && let Some((before, after)) = objects.split_once("..")
        {
            return ("index ", format!("{after}..{before}{rest}"));
        }
        (line, String::new())
    }
}

/// A path with another prefix; `/dev/null` has none.
fn with_prefix(path: &str, [from, to]: [&str; 2]) -> String {
    let quoted = path.strip_prefix('"');
    match quoted.unwrap_or(path).strip_prefix(from) {
        Some(bare) => format!("{}{to}{bare}", if quoted.is_some() { "\"" } else { "" }),
        None => path.to_owned(),
    }
}

fn prefixed(prefix: &str, path: &str) -> String {
    match path.strip_prefix('"') {
        Some(quoted) => format!("\"{prefix}{quoted}"),
        None => format!("{prefix}{path}"),
    }
}

/// `-1,2 +3,4 @@ …` with its ranges exchanged.
fn ranges_reversed(ranges: &str) -> Option<String> {
    let (old, rest) = ranges.strip_prefix('-')?.split_once(" +")?;
    let (new, rest) = rest.split_once(" @@")?;
    Some(format!("@@ -{new} +{old} @@{rest}"))
}

/// Changed lines that stand together: those that are removed come first.
#[derive(Default)]
struct Hunk {
    removed: String,
    added: String,
    /// Whether the last line was an added one, before the reversal.
    is_added: bool,
}

impl Hunk {
    fn line(&mut self, line: &str, text: &mut String) {
        match line.split_at_checked(1) {
            Some(("+", rest)) => {
                self.removed.push('-');
                self.removed.push_str(rest);
                self.is_added = true;
            }
            Some(("-", rest)) => {
                self.added.push('+');
                self.added.push_str(rest);
                self.is_added = false;
            }
            // No newline at the end of the file: it belongs to the line before.
            Some(("\\", _)) if self.is_added && !self.removed.is_empty() => {
                self.removed.push_str(line);
            }
            Some(("\\", _)) if !self.added.is_empty() => self.added.push_str(line),
            _ => {
                self.flush(text);
                text.push_str(line);
            }
        }
    }

    fn flush(&mut self, text: &mut String) {
        text.push_str(&std::mem::take(&mut self.removed));
        text.push_str(&std::mem::take(&mut self.added));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_reversed() {
        let patch = b"diff --git a/a b/a\nindex 11..22 100644\n--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@ f\n one\n-two\n-three\n+2\n\\ No newline at end of file\n\
diff --git a/old b/new name\nsimilarity index 90%\nrename from old\nrename to new name\nindex 33..44\n--- a/old\n+++ b/new name\t\n@@ -1 +1 @@\n-caf\xe9\n+b\n\
diff --git a/x b/x\nold mode 100644\nnew mode 100755\n\
diff --git a/n b/n\nnew file mode 100644\nindex 00..55\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n\
diff --git a/bin b/bin\nindex 66..77 100644\nGIT binary patch\ndelta 3\nforth\n\ndelta 4\nback\n\n";
        let expected = b"diff --git a/a b/a\nindex 22..11 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@ f\n one\n-2\n\\ No newline at end of file\n+two\n+three\n\
diff --git a/new name b/old\nsimilarity index 90%\nrename from new name\nrename to old\nindex 44..33\n--- a/new name\t\n+++ b/old\n@@ -1 +1 @@\n-b\n+caf\xe9\n\
diff --git a/x b/x\nold mode 100755\nnew mode 100644\n\
diff --git a/n b/n\ndeleted file mode 100644\nindex 55..00\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-n\n\
diff --git a/bin b/bin\nindex 77..66 100644\nGIT binary patch\ndelta 4\nback\n\ndelta 3\nforth\n\n";
        let back = reversed(patch);
        assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(expected));
        assert_eq!(reversed(&back), patch);
    }
}
