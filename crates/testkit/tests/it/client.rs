//! A bare client of HTTP/1.1, for the tests of the scripted server.

use std::{
    io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::TcpStream,
};

use attache_testkit::scripted_server::ScriptedServer;

/// A connection of a client.
pub(crate) struct Client(pub(crate) BufReader<TcpStream>);

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub(crate) fn connect(server: &ScriptedServer) -> Self {
        Self(BufReader::new(TcpStream::connect(server.address()).unwrap()))
    }

    pub(crate) fn send(&mut self, target: &str, body: &str) -> &mut Self {
        let head =
            format!("POST {target} HTTP/1.1\r\nHost: test\r\nContent-Length: {}", body.len());
        self.0.get_mut().write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        self
    }

    pub(crate) fn ask(&mut self, target: &str) -> Reply {
        self.send(target, "{}").reply().unwrap()
    }

    /// The head of an answer, with nothing of its body.
    pub(crate) fn head(&mut self) -> io::Result<Reply> {
        let status = self.line()?.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(Reply { status, headers, body: Vec::new() })
    }

    pub(crate) fn reply(&mut self) -> io::Result<Reply> {
        let mut reply = self.head()?;
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut reply.body)?;
            return Ok(reply);
        }
        while let Some(chunk) = self.chunk()? {
            reply.body.extend(chunk);
        }
        Ok(reply)
    }

    /// The next chunk; `None` after the last one.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = usize::from_str_radix(&self.line()?, 16).unwrap();
        let mut bytes = vec![0; size];
        self.0.read_exact(&mut bytes)?;
        self.line()?;
        Ok(Some(bytes).filter(|_| size > 0))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}
