//! Messages as lines: one client over a pair of pipes.
//!
//! Invariants: a line never takes more memory than [`LONGEST`]; what cannot be read is answered with what is
//! wrong with it, under its number where it has one; an unreadable notification is passed over; the end of the
//! input is told at once.

use std::{io, sync::Arc};

use super::message_id::{Giant, found_id};
use rmcp::{
    ErrorData, RoleServer,
    model::RequestId,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

/// The longest message that is read.
const LONGEST: usize = 16 << 20;

/// Reads and writes messages, one a line.
#[derive(Debug)]
pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    writer: Arc<Mutex<Option<W>>>,
    /// What has been read of a line that has not ended.
    line: Vec<u8>,
    /// What is kept of a line that is too long.
    giant: Option<Giant>,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// The token is cancelled when the input ends.
    pub(super) fn new(reader: R, writer: W, gone: CancellationToken) -> Self {
        let writer = Arc::new(Mutex::new(Some(writer)));
        Self { reader: BufReader::new(reader), writer, line: Vec::new(), giant: None, gone }
    }

    /// The next line without its end; none at the end of the input. A read that is dropped goes on later.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let available = self.reader.fill_buf().await.unwrap_or_default();
            if available.is_empty() {
                return None;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let (part, taken) = match end {
                Some(end) => (available.get(..end).unwrap_or_default(), end + 1),
                None => (available, available.len()),
            };
            if let Some(giant) = &mut self.giant {
                giant.extend(part);
            } else if self.line.len() + part.len() > LONGEST {
                let mut giant = Giant::beginning(&std::mem::take(&mut self.line));
                giant.extend(part);
                self.giant = Some(giant);
            } else {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(taken);
            if end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            return Some(self.giant.take().map_or(Line::Whole(line), Line::Giant));
        }
    }
}

/// A line of the input.
enum Line {
    Whole(Vec<u8>),
    /// One that was too long to keep.
    Giant(Giant),
}

/// What is answered to a request that cannot be read.
type Refusal = Box<TxJsonRpcMessage<RoleServer>>;

fn refusal(error: ErrorData, id: Option<RequestId>) -> Refusal {
    Box::new(TxJsonRpcMessage::<RoleServer>::error(error, id))
}

/// A line as a message; else what is to be answered, if anything.
fn read(line: &Line) -> Result<RxJsonRpcMessage<RoleServer>, Option<Refusal>> {
    let invalid = |why: String| Some(refusal(ErrorData::invalid_request(why, None), None));
    let line = match line {
        Line::Whole(line) => line,
        Line::Giant(giant) => {
            let why = format!("the message has more than {} MB; send a shorter one", LONGEST >> 20);
            return Err(Some(refusal(ErrorData::invalid_request(why, None), giant.id())));
        }
    };
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    let request = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(request)) => request,
        Ok(_) => return Err(invalid("a message is one JSON object on a line".to_owned())),
        Err(_) if line.trim_ascii().is_empty() => return Err(None),
        Err(error) => {
            let why =
                format!("the line is not JSON: {error}; a message is one JSON object on a line");
            return Err(Some(refusal(ErrorData::parse_error(why, None), found_id(line))));
        }
    };
    // What is not a request has nobody who waits for an answer.
    let (Some(id), Some(Value::String(method))) = (request.get("id"), request.get("method")) else {
        return Err(None);
    };
    let Ok(id) = serde_json::from_value::<RequestId>(id.clone()) else {
        return Err(invalid(format!("{method}: the id is neither a text nor a whole number")));
    };
    let error = ErrorData::invalid_params(format!("{method}: {error}"), None);
    Err(Some(refusal(error, Some(id))))
}

async fn write<W: AsyncWrite + Unpin>(
    writer: Arc<Mutex<Option<W>>>,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut writer = writer.lock().await;
    let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    writer.write_all(&line).await?;
    writer.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        write(Arc::clone(&self.writer), message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(line) = self.next_line().await else {
                self.gone.cancel();
                return None;
            };
            match read(&line) {
                Ok(message) => return Some(message),
                Err(None) => {}
                Err(Some(refusal)) => {
                    let writer = Arc::clone(&self.writer);
                    // It does not wait for a client that reads nothing.
                    tokio::spawn(async move { write(writer, *refusal).await.unwrap_or_default() });
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.writer.lock().await.take());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn garbage_is_passed_over_and_the_end_is_told_and_not_before() {
        let gone = CancellationToken::new();
        let input = b"{\n[]\n\xff\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"half";
        let mut lines = Lines::new(&input[..], Vec::new(), gone.clone());
        let message = lines.receive().await.unwrap();
        assert!(matches!(message, RxJsonRpcMessage::<RoleServer>::Request(_)), "{message:?}");
        assert!(!gone.is_cancelled());
        assert!(lines.receive().await.is_none());
        assert!(gone.is_cancelled());
    }

    #[test]
    fn a_request_of_the_wrong_shape_is_answered_under_its_number() {
        let wrong = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[7]}"#;
        let whole = |line: &[u8]| read(&Line::Whole(line.to_vec()));
        let refusal = serde_json::to_value(whole(wrong).unwrap_err().unwrap()).unwrap();
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&"a".into(), &(-32602).into()));
        let notice = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#;
        assert!(whole(notice).is_err_and(|refusal| refusal.is_none()));
    }

    #[test]
    fn what_is_broken_is_answered_under_its_number() {
        let text = "x".repeat(1 << 20);
        let first = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"{text}"#);
        let last = format!(r#"{text}"}},"id":"last"}}"#);
        let giant = |parts: [&str; 2]| {
            let mut giant = Giant::beginning(parts[0].as_bytes());
            giant.extend(parts[1].as_bytes());
            Line::Giant(giant)
        };
        for (line, id) in [
            (
                Line::Whole(br#"{"jsonrpc":"2.0","id":3,"method":"tools/list",}"#.to_vec()),
                Value::from(3),
            ),
            (
                Line::Whole(br#"{"jsonrpc":"2.0","method":"x","params":{"id":9},"id":"b"#.to_vec()),
                Value::Null,
            ),
            (
                Line::Whole(br#"{"params":{"id":9,"a":[1,{"id":2}]},"id":"b" oops"#.to_vec()),
                "b".into(),
            ),
            (giant([&first, &text]), Value::from(7)),
            (giant([r#"{"method":"tools/call","params":{"a":""#, &last]), "last".into()),
            (giant([&text, &text]), Value::Null),
        ] {
            let refusal = serde_json::to_value(read(&line).unwrap_err().unwrap()).unwrap();
            assert_eq!(refusal["id"], id, "{refusal}");
        }
    }

    #[test]
    fn what_has_no_usable_number_is_answered_without_one() {
        let wrong = |line: Line| serde_json::to_value(read(&line).unwrap_err().unwrap()).unwrap();
        for (line, code) in [
            (Line::Whole(br#"{"jsonrpc":"2.0","method":"tools/list",}"#.to_vec()), -32700),
            (Line::Whole(br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec()), -32600),
            (Line::Whole(b"[]".to_vec()), -32600),
            (Line::Giant(Giant::beginning(b"x")), -32600),
        ] {
            let refusal = wrong(line);
            assert_eq!(refusal["error"]["code"], code, "{refusal}");
            assert!(refusal["id"].is_null(), "{refusal}");
        }
        assert!(read(&Line::Whole(b" ".to_vec())).is_err_and(|refusal| refusal.is_none()));
    }
}
