//! Server-sent events, taken out of bytes as they arrive.
//!
//! Bytes may be cut anywhere, in the middle of a character too. An event that never ends is refused
//! before it fills the memory.

/// The largest event.
const MOST_BYTES: usize = 32 << 20;
/// How many bytes are kept of a body that is not a stream of events.
const MOST_STRAY: usize = 64 << 10;

/// Takes events out of bytes.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// A line that is not over yet.
    line: Vec<u8>,
    data: String,
    /// Whether there was a data line, be it an empty one.
    has_data: bool,
    /// Whether the last byte was a carriage return: a line feed after it belongs to it.
    after_return: bool,
    /// Whether nothing has come yet but perhaps the mark of the byte order.
    begun: bool,
    /// Lines that belong to no event.
    stray: Vec<u8>,
    /// Whether there was an event.
    has_events: bool,
}

/// Why the body is not a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseError {
    /// An event is too large.
    #[error("an event is larger than 32 MB")]
    TooLarge,
    /// It is not text.
    #[error("an event is not UTF-8")]
    NotText,
}

impl SseParser {
    /// Takes in bytes; the data of every event that is whole by then is handed to `event`, until it
    /// returns an error.
    pub(crate) fn take<E: From<SseError>>(
        &mut self,
        mut bytes: &[u8],
        mut event: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.begun && !bytes.is_empty() {
            self.begun = true;
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                return self.bounded().map_err(E::from);
            };
            let (line, rest) = bytes.split_at(end);
            self.after_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if line.is_empty() && self.line.is_empty() {
                if std::mem::take(&mut self.has_data) {
                    self.has_events = true;
                    let data = std::mem::take(&mut self.data);
                    event(&data)?;
                }
            } else if self.line.is_empty() {
                self.take_line(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole)?;
            }
            self.bounded()?;
        }
        Ok(())
    }

    /// The data of an event that has begun and whose blank line is missing: once nothing more comes, it
    /// is whole or it was cut.
    pub(crate) fn rest(&mut self) -> Result<Option<String>, SseError> {
        if self.line.starts_with(b"data") {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line)?;
        }
        let data = std::mem::take(&mut self.data);
        Ok(std::mem::take(&mut self.has_data).then_some(data))
    }

    /// What came outside of the events: some providers put an error there as they would without a stream.
    pub(crate) fn stray(&self) -> Vec<u8> {
        [self.stray.as_slice(), &self.line].concat()
    }

    /// Whether there was any event.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events
    }

    fn bounded(&self) -> Result<(), SseError> {
        if self.line.len() + self.data.len() > MOST_BYTES {
            return Err(SseError::TooLarge);
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), SseError> {
        // Every event tells its type in its data as well: only the data matters.
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', rest @ ..] | [b':', rest @ ..]) => rest,
            Some(_) | None => {
                self.keep_stray(line);
                return Ok(());
            }
        };
        let text = std::str::from_utf8(value).map_err(|_| SseError::NotText)?;
        if self.has_data {
            self.data.push('\n');
        }
        self.data.push_str(text);
        self.has_data = true;
        Ok(())
    }

    fn keep_stray(&mut self, line: &[u8]) {
        let known: [&[u8]; 4] = [b":", b"event", b"id", b"retry"];
        let is_field = known.iter().any(|field| line.starts_with(field));
        if !is_field && self.stray.len() + line.len() < MOST_STRAY {
            self.stray.extend_from_slice(line);
            self.stray.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<String>, SseError> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.take(piece, |data| {
                events.push(data.to_owned());
                Ok::<_, SseError>(())
            })?;
        }
        Ok(events)
    }

    #[test]
    fn what_is_left_is_an_event_that_has_begun() {
        for (stream, expected) in [
            ("data: a\n\ndata: b", Some("b")),
            ("data: a\ndata: b", Some("a\nb")),
            ("data: a\n", Some("a")),
            ("data: a\nevent: x", Some("a")),
            ("data: a\n\n", None),
            ("data: a\n\n: ping", None),
            ("data: a\n\n{\"error\": 1}", None),
            ("", None),
        ] {
            let mut parser = SseParser::default();
            parser.take(stream.as_bytes(), |_| Ok::<_, SseError>(())).unwrap();
            let stray = parser.stray();
            assert_eq!(parser.rest().unwrap().as_deref(), expected, "{stream}");
            if expected.is_none() {
                assert_eq!(parser.stray(), stray, "{stream}");
            }
        }
    }

    #[test]
    fn events_are_taken_out_of_any_spelling() {
        for (stream, expected) in [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("data:a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            (": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", vec!["a"]),
            ("data: a\ndata: b\ndata\ndata:\n\n", vec!["a\nb\n\n"]),
            ("data:  a \n\n", vec![" a "]),
            ("database: a\n\ndat: b\n\n", vec![]),
            ("data: not over", vec![]),
            ("data: not over\n", vec![]),
            ("\n\n\nevent: x\n\n", vec![]),
            ("data\n\n", vec![""]),
        ] {
            assert_eq!(events(&[stream.as_bytes()]).unwrap(), expected, "{stream:?}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut parser = SseParser::default();
        let megabyte = vec![b'a'; 1 << 20];
        let mut take = |bytes: &[u8]| parser.take(bytes, |_| Ok::<_, SseError>(()));
        take(b"data: ").unwrap();
        let taken = (0..64).find_map(|_| take(&megabyte).err());
        assert_eq!(taken, Some(SseError::TooLarge));
        let mut parser = SseParser::default();
        let line = [b"data: ".as_slice(), &megabyte, b"\n"].concat();
        let taken = (0..64).find_map(|_| parser.take(&line, |_| Ok::<_, SseError>(())).err());
        assert_eq!(taken, Some(SseError::TooLarge));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(events(&[b"data: \xff\n\n"]), Err(SseError::NotText));
        assert_eq!(events(&[b"data: gr\xc3", b"\xbc\n", b"\n"]).unwrap(), ["grü"]);
    }

    #[test]
    fn what_is_no_event_is_kept_within_bounds() {
        let mut parser = SseParser::default();
        let stream = b": hi\nevent: x\nid: 1\ndata: a\n\n{\n \"error\": 1\n}";
        parser.take(stream, |_| Ok::<_, SseError>(())).unwrap();
        assert_eq!(parser.stray(), b"{\n \"error\": 1\n}");
        let line = [[b'x'; 1 << 10].as_slice(), b"\n"].concat();
        for _ in 0..1000 {
            parser.take(&line, |_| Ok::<_, SseError>(())).unwrap();
        }
        assert!(parser.stray().len() <= MOST_STRAY);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(
            lines in prop::collection::vec("(data: ?|event: |:|)[a-zäß {}\"]{0,6}(\n|\r\n|\r|\n\n)", 0..12),
            cuts in prop::collection::vec(0..80usize, 0..8),
        ) {
            let stream = lines.concat();
            let whole = events(&[stream.as_bytes()]).unwrap();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> =
                cuts.windows(2).map(|pair| &stream.as_bytes()[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces).unwrap(), whole);
        }
    }
}
