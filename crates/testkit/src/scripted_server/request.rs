//! A request as it arrived, read from the wire by hand.

use std::{
    io::{self, BufRead, ErrorKind, Read as _},
    time::Instant,
};

use serde_json::Value;

/// A request that arrived whole.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its method, in capitals.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// What stands after the `?`; empty without one.
    pub query: String,
    /// Its headers in order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, decoded if it came in chunks.
    pub body: Vec<u8>,
    /// When the last byte of it had been read.
    pub arrived: Instant,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
}

impl Request {
    /// Its body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body of the request is JSON")
    }

    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Reads the next one; `None` at the end of the connection. `go_on` is called if the client waits for leave to send its body.
    pub(super) fn read(
        from: &mut impl BufRead,
        connection: usize,
        go_on: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Option<Self>> {
        let Some(first) = line(from)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1")) =
            (words.next(), words.next(), words.next())
        else {
            return Err(bad(&format!("not a request line of HTTP/1.1: {first:?}")));
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            arrived: Instant::now(),
            connection,
        };
        while let Some(header) = line(from)?.filter(|header| !header.is_empty()) {
            let (name, value) =
                header.split_once(':').ok_or_else(|| bad("a header without `:`"))?;
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if request.header("expect").is_some() {
            go_on()?;
        }
        request.body = request.read_body(from)?;
        request.arrived = Instant::now();
        Ok(Some(request))
    }

    fn read_body(&self, from: &mut impl BufRead) -> io::Result<Vec<u8>> {
        if self.header("transfer-encoding").is_some() {
            return chunks(from);
        }
        let length = self.header("content-length").unwrap_or("0");
        exactly(from, length.parse().map_err(|_| bad("a content-length that is not a number"))?)
    }
}

fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(from)?.ok_or(ErrorKind::UnexpectedEof)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("a chunk without its size"))?;
        if size == 0 {
            while line(from)?.is_some_and(|trailer| !trailer.is_empty()) {}
            return Ok(body);
        }
        body.extend(exactly(from, size)?);
        line(from)?;
    }
}

fn exactly(from: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() == length { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if from.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let text = String::from_utf8(bytes).map_err(|_| bad("a line that is not UTF-8"))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn bad(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}
