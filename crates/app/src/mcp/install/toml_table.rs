//! One table of a TOML file. Comments and order of the rest stay.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::{
    EditError,
    hosts::{Entry, NAME},
};

/// The text with the entry.
pub(super) fn with_entry(
    text: &str,
    section: &'static str,
    entry: &Entry,
) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let mut table = Table::new();
    table.insert("command", value(&entry.command));
    table.insert("args", value(entry.args.iter().collect::<Array>()));
    let is_there = servers(&mut document, section)?
        .is_some_and(|servers| servers.get(NAME).is_some_and(|old| says(old, entry)));
    if is_there {
        return Ok(text.to_owned());
    }
    if document.get(section).is_none() {
        let mut servers = Table::new();
        servers.set_implicit(true);
        document.insert(section, Item::Table(servers));
    }
    if let Some(servers) = servers(&mut document, section)? {
        servers.insert(NAME, Item::Table(table));
    }
    Ok(document.to_string())
}

/// The text without the entry.
pub(super) fn without_entry(text: &str, section: &'static str) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let removed = servers(&mut document, section)?.and_then(|servers| servers.remove(NAME));
    Ok(if removed.is_some() { document.to_string() } else { text.to_owned() })
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        EditError::Syntax { line, problem: error.message().to_owned() }
    })
}

fn servers<'d>(
    document: &'d mut DocumentMut,
    section: &'static str,
) -> Result<Option<&'d mut dyn TableLike>, EditError> {
    match document.get_mut(section) {
        None => Ok(None),
        Some(item) => item.as_table_like_mut().map(Some).ok_or(EditError::NoTable(section)),
    }
}

/// Whether an entry says just that.
fn says(old: &Item, entry: &Entry) -> bool {
    let Some(old) = old.as_table_like() else { return false };
    let args = old.get("args").and_then(Item::as_array);
    let args = args.map(|args| args.iter().filter_map(|arg| arg.as_str()).collect::<Vec<_>>());
    old.get("command").and_then(Item::as_str) == Some(&entry.command)
        && args.is_some_and(|args| args == entry.args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry { command: "/bin/attache".to_owned(), args: vec!["mcp".to_owned()] }
    }

    #[test]
    fn comments_and_order_stay() {
        let before = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"o\"\n";
        let after = with_entry(before, "mcp_servers", &entry()).unwrap();
        assert!(after.starts_with(before), "{after}");
        assert!(
            after.contains("[mcp_servers.attache]\ncommand = \"/bin/attache\"\nargs = [\"mcp\"]")
        );
        assert_eq!(with_entry(&after, "mcp_servers", &entry()).unwrap(), after);
        assert_eq!(without_entry(&after, "mcp_servers").unwrap(), before);
    }

    #[test]
    fn what_cannot_be_understood_is_not_changed() {
        let wrong = with_entry("a = 1\nb = = 2\n", "mcp_servers", &entry()).unwrap_err();
        assert!(wrong.to_string().starts_with("line 2: "), "{wrong}");
        let wrong = with_entry("mcp_servers = 3\n", "mcp_servers", &entry()).unwrap_err();
        assert_eq!(wrong.to_string(), "`mcp_servers` is not a table of servers");
    }
}
