//! Reads settings files: the user's two, and those of a project.
//!
//! A missing file is not an error. A file that cannot be read, is not a regular file, is too large or cannot
//! be parsed is an error; nothing else that may stand in its place is ever opened, since
//! opening a pipe would wait for ever.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read as _},
    path::Path,
};

use crate::settings::{
    error::SettingsError,
    meaning::{ApprovalPolicy, Words as _},
    written::{KeyPath, Node, Table, Value, json, lines::Lines, toml},
};

/// The largest settings file.
pub(crate) const LIMIT: u64 = 1024 * 1024;

/// The keys taken from Codex's settings file; all others are ignored.
const SHARED_WITH_CODEX: [&str; 10] = [
    "model",
    "model_provider",
    "model_providers",
    "mcp_servers",
    "subagents",
    "tools",
    "profiles",
    "sandbox_mode",
    "sandbox_workspace_write",
    "approval_policy",
];

/// What a TOML settings file sets, if it is there.
pub(crate) fn read_toml(path: &Path) -> Result<Option<Table>, SettingsError> {
    text(path)?.map(|text| toml::read(path, &text)).transpose()
}

/// What Codex's settings file sets of what is shared.
pub(crate) struct CodexFile {
    pub(crate) table: Table,
    /// Its approval policy, if there is none of that name here.
    pub(crate) foreign_policy: Option<String>,
}

/// Reads Codex's settings file, if it is there.
pub(crate) fn read_codex(path: &Path) -> Result<Option<CodexFile>, SettingsError> {
    Ok(read_toml(path)?.map(|mut table| {
        let foreign_policy = keep_shared(&mut table);
        if let Some(Node { value: Value::Table(profiles), .. }) = table.get_mut("profiles") {
            for profile in profiles.values_mut() {
                if let Value::Table(profile) = &mut profile.value {
                    keep_shared(profile);
                }
            }
        }
        CodexFile { table, foreign_policy }
    }))
}

/// Takes away what is Codex's own; the approval policy, if that is.
fn keep_shared(table: &mut Table) -> Option<String> {
    table.retain(|key, _| SHARED_WITH_CODEX.contains(&key.as_str()));
    // Codex has more policies than there are here; without one the usual holds.
    let is_known = |node: &Node| matches!(&node.value, Value::Text(word) if ApprovalPolicy::of_word(word).is_some());
    if table.get("approval_policy").is_none_or(is_known) {
        return None;
    }
    Some(match table.remove("approval_policy")?.value {
        Value::Text(word) => format!("\"{word}\""),
        value => format!("as {}", value.kind()),
    })
}

/// What an MCP file in JSON sets, if it is there.
pub(crate) fn read_mcp_json(path: &Path) -> Result<Option<McpJson>, SettingsError> {
    // While a command runs in the sandbox, an empty directory holds the place of a file that is missing.
    if path.is_dir() {
        return Ok(None);
    }
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    let Some(mut table) = json::read(path, &text)? else {
        return Err(SettingsError::Syntax {
            place: Lines::new(path, &text).place(0),
            format: "JSON",
            message: "expected an object".into(),
        });
    };
    let Some(mut servers) = table.remove("mcpServers") else {
        return Ok(Some(McpJson::WithoutServers {
            keys: table.keys().map(|key| KeyPath::shown(key)).collect(),
        }));
    };
    if let Value::Table(servers) = &mut servers.value {
        servers.values_mut().for_each(as_codex_spells_it);
    }
    Ok(Some(McpJson::Servers(Table::from([("mcp_servers".to_owned(), servers)]))))
}

/// What an MCP file says.
pub(crate) enum McpJson {
    /// Servers, as a layer.
    Servers(Table),
    /// Something else.
    WithoutServers {
        /// The keys it has.
        keys: Vec<String>,
    },
}

/// `headers` of the JSON files is `http_headers` of the TOML ones.
fn as_codex_spells_it(server: &mut Node) {
    if let Value::Table(server) = &mut server.value
        && let Some(headers) = server.remove("headers")
    {
        server.entry("http_headers".to_owned()).or_insert(headers);
    }
}

/// The text of a file, without its byte order mark; none if it is not there.
pub(crate) fn text(path: &Path) -> Result<Option<String>, SettingsError> {
    let unreadable = |source| SettingsError::Unreadable { path: path.to_owned(), source };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(path, &error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() {
        return Err(SettingsError::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > LIMIT {
        return Err(SettingsError::TooLarge { path: path.to_owned(), limit: LIMIT });
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_text(path, &error)),
    };
    Ok(Some(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }))
}

/// Whether nothing is there: a link that leads nowhere is something.
fn is_absent(path: &Path, error: &io::Error) -> bool {
    match error.kind() {
        ErrorKind::NotFound => fs::symlink_metadata(path).is_err(),
        ErrorKind::NotADirectory => true,
        _ => false,
    }
}

fn not_text(path: &Path, error: &std::string::FromUtf8Error) -> SettingsError {
    let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
    let readable = String::from_utf8_lossy(valid);
    SettingsError::Syntax {
        place: Lines::new(path, &readable).place(readable.len()),
        format: "UTF-8",
        message: "invalid byte".into(),
    }
}
