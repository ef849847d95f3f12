//! Lays one layer over another: the later value wins, tables are merged key by key. Only the lists of
//! permission rules add up.

use crate::settings::written::{Node, Table, Value};

/// How an MCP server is reached.
struct Transport {
    /// The key that makes it this one.
    chosen_by: &'static str,
    /// The keys that have a meaning only here, that one included.
    keys: &'static [&'static str],
}

const PROCESS: Transport =
    Transport { chosen_by: "command", keys: &["command", "args", "env", "env_vars", "cwd"] };
const NETWORK: Transport = Transport {
    chosen_by: "url",
    keys: &[
        "url",
        "bearer_token_env_var",
        "http_headers",
        "env_http_headers",
        "scopes",
        "oauth_resource",
        "oauth",
    ],
};

/// Lays `later` over `table`.
pub(crate) fn lay_over(table: &mut Table, mut later: Table) {
    if let (Some(rules), Some(later)) =
        (inner(table, "permissions"), inner_mut(&mut later, "permissions"))
    {
        put_before(rules, later);
    }
    if let (Some(servers), Some(later)) =
        (inner_mut(table, "mcp_servers"), inner(&later, "mcp_servers"))
    {
        drop_other_transports(servers, later);
    }
    merge(table, later);
}

/// Puts the rules of the earlier layers before those of a later one.
fn put_before(rules: &Table, later: &mut Table) {
    for (key, node) in later {
        if let (Value::List(new), Some(Value::List(old))) =
            (&mut node.value, rules.get(key).map(|node| &node.value))
        {
            new.splice(..0, old.iter().cloned());
        }
    }
}

fn merge(table: &mut Table, later: Table) {
    for (key, node) in later {
        match (table.get_mut(&key).map(|node| &mut node.value), node.value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                table.insert(key, Node { value, origin: node.origin });
            }
        }
    }
}

/// A server that a later layer reaches in another way keeps nothing of the old way: a mixture of
/// both would start the one program or call the other address by chance.
fn drop_other_transports(servers: &mut Table, later: &Table) {
    for (name, node) in later {
        let (Value::Table(later), Some(server)) = (&node.value, inner_mut(servers, name)) else {
            continue;
        };
        for (chosen, other) in [(PROCESS, NETWORK), (NETWORK, PROCESS)] {
            if later.contains_key(chosen.chosen_by) {
                server.retain(|key, _| !other.keys.contains(&key.as_str()));
            }
        }
    }
}

fn inner<'a>(table: &'a Table, key: &str) -> Option<&'a Table> {
    match &table.get(key)?.value {
        Value::Table(inner) => Some(inner),
        _ => None,
    }
}

fn inner_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    match &mut table.get_mut(key)?.value {
        Value::Table(inner) => Some(inner),
        _ => None,
    }
}
