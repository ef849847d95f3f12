//! An MCP server as settings, `.mcp.json` files and agent files describe it.
//!
//! Texts are kept as written: `${NAME}` is filled in when the server is started, so no secret enters an
//! entry by it. An entry that cannot be used is an entry all the same, and says what is wrong with it.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use secrecy::SecretString;
use serde_json::Value;

use super::oauth::LoginWish;

/// How long a server may take to start if its entry does not say.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// An MCP server as it is described.
#[derive(Debug, Clone)]
pub struct ServerEntry {
    /// How it is reached, or why it cannot be.
    pub transport: Result<Transport, EntryError>,
    /// Who described it.
    pub origin: EntryOrigin,
    /// The only tools that are used; `None` uses all.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not used.
    pub disabled_tools: Vec<String>,
    /// How long it may take to start.
    pub startup_timeout: Duration,
    /// How long one of its tools may run; `None` uses the limit of all tools.
    pub tool_timeout: Option<Duration>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A process that is started, over its standard streams.
    Process {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables it gets.
        env: BTreeMap<String, SecretString>,
        /// The directory it is started in; `None` is the working directory.
        cwd: Option<PathBuf>,
    },
    /// A server on the network, over streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers that are sent with every request.
        headers: BTreeMap<String, SecretString>,
        /// Headers whose values are in variables.
        env_headers: BTreeMap<String, String>,
        /// The variable that has its bearer token.
        bearer_token_env_var: Option<String>,
        /// How to log in to it; its address is the one above.
        oauth: LoginWish,
        /// The variable that has the password of the client in it.
        client_secret_env_var: Option<String>,
    },
}

/// Who described a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOrigin {
    /// The user's own settings: what it says of its tools is believed.
    User,
    /// A trusted project, or a trusted agent file.
    Project,
}

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It names no program and no address.
    #[error("its entry has neither `command` nor `url`")]
    NoTransport,
    /// It names both.
    #[error("its entry has both `command` and `url`; keep one")]
    TwoTransports,
    /// The old transport of MCP.
    #[error("the transport `{0}` is not supported; use stdio or streamable HTTP (`type: http`)")]
    UnknownTransport(String),
    /// A value of the wrong kind.
    #[error("`{key}` of its entry must be {expected}")]
    WrongKind {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A variable that is not set.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// A header that cannot be sent.
    #[error("the header `{0}` cannot be sent; check its name and value")]
    BadHeader(String),
    /// An address that is not one.
    #[error("`{0}` is not an address; it must begin with http:// or https://")]
    BadAddress(String),
}

impl ServerEntry {
    /// A server that is reached in that way, with all its tools.
    pub fn new(transport: Result<Transport, EntryError>, origin: EntryOrigin) -> Self {
        Self {
            transport,
            origin,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            startup_timeout: STARTUP_TIMEOUT,
            tool_timeout: None,
        }
    }

    /// Whether a tool of the server is used.
    pub(super) fn uses(&self, tool: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == tool);
        self.enabled_tools.as_deref().is_none_or(is_in) && !is_in(&self.disabled_tools)
    }

    /// A server that an agent file describes, with the keys of `.mcp.json` and of the settings.
    pub fn from_json(written: &Value) -> Self {
        let reader = Reader(written);
        let seconds = |key| reader.number(key).map(Duration::from_secs_f64);
        let texts = |key| reader.texts(key).ok().flatten();
        let entry = Self::new(transport(&reader), EntryOrigin::Project);
        Self {
            enabled_tools: texts("enabled_tools"),
            disabled_tools: texts("disabled_tools").unwrap_or_default(),
            startup_timeout: seconds("startup_timeout_sec").unwrap_or(entry.startup_timeout),
            tool_timeout: seconds("tool_timeout_sec"),
            ..entry
        }
    }
}

/// Fails for a `type` that is not supported.
pub fn check_type(written: Option<&str>) -> Result<(), EntryError> {
    match written {
        None
        | Some("stdio" | "http" | "streamable-http" | "streamable_http" | "streamableHttp") => {
            Ok(())
        }
        Some(other) => Err(EntryError::UnknownTransport(other.to_owned())),
    }
}

fn transport(reader: &Reader<'_>) -> Result<Transport, EntryError> {
    check_type(reader.text("type")?.as_deref())?;
    match (reader.text("command")?, reader.text("url")?) {
        (None, None) => Err(EntryError::NoTransport),
        (Some(_), Some(_)) => Err(EntryError::TwoTransports),
        (Some(command), None) => Ok(Transport::Process {
            command,
            args: reader.texts("args")?.unwrap_or_default(),
            env: secret(reader.map("env")?),
            cwd: reader.text("cwd")?.map(PathBuf::from),
        }),
        (None, Some(url)) => {
            let mut headers = secret(reader.map("headers")?);
            headers.extend(secret(reader.map("http_headers")?));
            Ok(Transport::Http {
                url,
                headers,
                env_headers: reader.map("env_http_headers")?,
                bearer_token_env_var: reader.text("bearer_token_env_var")?,
                // Somebody logs in to servers of the settings.
                oauth: LoginWish::default(),
                client_secret_env_var: None,
            })
        }
    }
}

fn secret(map: BTreeMap<String, String>) -> BTreeMap<String, SecretString> {
    map.into_iter().map(|(key, value)| (key, SecretString::from(value))).collect()
}

/// Reads the values of an object.
struct Reader<'a>(&'a Value);

impl Reader<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &'static str) -> Result<Option<String>, EntryError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = EntryError::WrongKind { key, expected: "a string" };
        value.as_str().map(|text| Some(text.to_owned())).ok_or(wrong)
    }

    fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, EntryError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let texts = value.as_array().and_then(|items| items.iter().map(scalar).collect());
        texts.map(Some).ok_or(EntryError::WrongKind { key, expected: "a list of strings" })
    }

    fn map(&self, key: &'static str) -> Result<BTreeMap<String, String>, EntryError> {
        let Some(value) = self.get(key) else { return Ok(BTreeMap::new()) };
        let pairs = value.as_object().and_then(|object| {
            object.iter().map(|(name, value)| Some((name.clone(), scalar(value)?))).collect()
        });
        pairs.ok_or(EntryError::WrongKind { key, expected: "a table of strings" })
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64().filter(|number| number.is_finite() && (0.0..1e9).contains(number))
    }
}

/// A string, or what YAML makes of an unquoted one.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The user's environment, from which entries are filled in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(pub BTreeMap<String, String>);

/// Shows the names only.
impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Variables {
    /// The value of a variable.
    pub(super) fn get(&self, name: &str) -> Result<String, EntryError> {
        let value = self.0.get(name).filter(|value| !value.is_empty());
        value.cloned().ok_or_else(|| EntryError::NoVariable(name.to_owned()))
    }

    /// A text with `${NAME}` and `${NAME:-default}` filled in. All else stays as it is.
    pub(super) fn fill_in(&self, text: &str) -> Result<String, EntryError> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let Some((inside, behind)) = after.split_once('}') else {
                filled.push_str("${");
                rest = after;
                continue;
            };
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            let is_name = !name.is_empty()
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            match (self.get(name), default) {
                _ if !is_name => {
                    filled.push_str("${");
                    rest = after;
                    continue;
                }
                (Ok(value), _) => filled.push_str(&value),
                (Err(_), Some(default)) => filled.push_str(default),
                (Err(error), None) => return Err(error),
            }
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn variables() -> Variables {
        Variables(
            [("HOME".to_owned(), "/h".to_owned()), ("EMPTY".to_owned(), String::new())].into(),
        )
    }

    #[test]
    fn variables_are_filled_in_and_nothing_else_is() {
        let table = [
            ("", ""),
            ("plain $HOME {HOME}", "plain $HOME {HOME}"),
            ("${HOME}/x${HOME}", "/h/x/h"),
            ("${NONE:-a:-b}${EMPTY:-}", "a:-b"),
            ("${HOME:-other}", "/h"),
            ("${HOME", "${HOME"),
            ("${a b}${HOME}", "${a b}/h"),
            ("${${HOME}}", "${/h}"),
        ];
        for (written, filled) in table {
            assert_eq!(variables().fill_in(written).as_deref(), Ok(filled), "{written}");
        }
        assert_eq!(variables().fill_in("${NONE}"), Err(EntryError::NoVariable("NONE".into())));
        assert_eq!(variables().fill_in("${EMPTY}"), Err(EntryError::NoVariable("EMPTY".into())));
    }

    #[test]
    fn an_entry_that_cannot_be_used_says_why() {
        let table = [
            (json!({}), EntryError::NoTransport),
            (json!("npx"), EntryError::NoTransport),
            (json!({"command": "a", "url": "b"}), EntryError::TwoTransports),
            (json!({"type": "sse", "url": "b"}), EntryError::UnknownTransport("sse".into())),
            (
                json!({"command": ["npx"]}),
                EntryError::WrongKind { key: "command", expected: "a string" },
            ),
            (
                json!({"command": "a", "args": "b"}),
                EntryError::WrongKind { key: "args", expected: "a list of strings" },
            ),
            (
                json!({"url": "a", "headers": {"b": []}}),
                EntryError::WrongKind { key: "headers", expected: "a table of strings" },
            ),
        ];
        for (written, error) in table {
            assert_eq!(ServerEntry::from_json(&written).transport.err(), Some(error), "{written}");
        }
    }

    #[test]
    fn an_inline_entry_has_the_keys_of_both_formats() {
        let entry = ServerEntry::from_json(&json!({
            "type": "http", "url": "http://h", "headers": {"A": 1}, "http_headers": {"B": "2"},
            "disabled_tools": ["x"], "startup_timeout_sec": 1.5, "tool_timeout_sec": -1
        }));
        assert!(
            matches!(&entry.transport, Ok(Transport::Http { headers, .. }) if headers.len() == 2)
        );
        assert!(entry.uses("y") && !entry.uses("x"));
        assert_eq!(entry.startup_timeout, Duration::from_millis(1500));
        assert_eq!((entry.tool_timeout, entry.origin), (None, EntryOrigin::Project));
    }
}
