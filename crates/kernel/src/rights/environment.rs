//! Which variables of the user's environment a command may see.
//!
//! A build needs most of them (`PATH`, `JAVA_HOME`, `PKG_CONFIG_PATH`, proxies), so they pass, except
//! for those that hold a secret by their name or by their value, those that lead to an agent that holds
//! one, and those that make a shell run something by itself.

/// Words in a name that say the value is secret.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "PW",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "HEADER",
    "DSN",
    "PAT",
    "JWT",
    "BEARER",
    "PRIVATE",
    "SIGNATURE",
    "WEBHOOK",
];

/// Endings of a name's last word that say the same without an underscore: `PGPASSWORD`, `NPMTOKEN`.
const SECRET_ENDINGS: &[&str] = &["PASSWORD", "PASSWD", "SECRET", "TOKEN", "APIKEY", "CREDENTIALS"];

/// Names that have such a word in them and hold no secret.
const HARMLESS: &[&str] = &["PWD", "OLDPWD", "KEYBOARD_LAYOUT", "GPG_KEY"];

/// Names of what a command must not reach: agents that hold keys, the user's desktop, and this program.
const WITHHELD: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "SUDO_ASKPASS",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XAUTHORITY",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
    // A shell runs what these name, unasked.
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
];

/// Beginnings of names that are withheld.
const WITHHELD_PREFIXES: &[&str] = &["ATTACHE_", "BASH_FUNC_", "AWS_SESSION", "OP_SESSION_"];

/// Prefixes of values that are keys, under any variable name.
const KEY_PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "pypi-",
    "hf_",
    "eyJ",
    "-----BEGIN",
];

/// A value shorter than this is not taken for a key by its beginning.
const SHORTEST_KEY: usize = 16;

/// Whether a command started for an agent may see a variable.
pub fn may_see(name: &str, value: &str) -> bool {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
    is_name && !is_withheld(name) && !is_secret_name(name) && !is_secret_value(value)
}

fn is_withheld(name: &str) -> bool {
    WITHHELD.contains(&name) || WITHHELD_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS.contains(&name.as_str()) {
        return false;
    }
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_secret = |word: &str| {
        let word = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let singular = word.strip_suffix('S').unwrap_or(word);
        SECRET_WORDS.contains(&word)
            || SECRET_WORDS.contains(&singular)
            || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    words.any(is_secret)
}

fn is_secret_value(value: &str) -> bool {
    let value = value.trim_start();
    let is_key = value.len() >= SHORTEST_KEY
        && !value.contains(char::is_whitespace)
        && KEY_PREFIXES.iter().any(|prefix| value.starts_with(prefix));
    is_key || value.starts_with("-----BEGIN") || has_password(value)
}

/// Whether it is an address with a password in it: `postgres://user:password@host/db`.
fn has_password(value: &str) -> bool {
    value.match_indices("://").any(|(at, mark)| {
        let rest = value.get(at + mark.len()..).unwrap_or_default();
        let authority = rest.split(['/', '?', '#', ' ', ',', ';']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_withheld_by_name() {
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "PGPASSWORD",
            "MYSQL_PWD",
            "db_password",
            "NPM_TOKEN",
            "NPMTOKEN",
            "NODE_AUTH_TOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SENTRY_DSN",
            "STRIPE_SECRET_KEY_2",
            "API_KEYS",
            "TOKEN2",
            "SSH_AUTH_SOCK",
            "ATTACHE_HOME",
            "ATTACHE_MCP_TOKEN",
            "SLACK_WEBHOOK",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "HTTP_COOKIE",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "ANTHROPIC_CUSTOM_HEADERS",
        ] {
            assert!(!may_see(name, "x"), "{name}");
        }
    }

    #[test]
    fn secrets_are_withheld_by_value() {
        for value in [
            "sk-proj-0123456789abcdef",
            "ghp_0123456789abcdefghij",
            "postgres://me:hunter2@localhost/db",
            "url=https://x:y@host and more",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nabc",
            "eyJhbGciOiJIUzI1NiJ9.e30.abc",
            "nul\0byte",
        ] {
            assert!(!may_see("INNOCENT", value), "{value}");
        }
    }

    #[test]
    fn what_a_build_needs_passes() {
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("PWD", "/home/me"),
            ("HOME", "/home/me"),
            ("JAVA_HOME", "/opt/java"),
            ("CARGO_HOME", "/home/me/.cargo"),
            ("PKG_CONFIG_PATH", "/opt/lib/pkgconfig"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("SSL_CERT_FILE", "/etc/ssl/cert.pem"),
            ("NVM_DIR", "/home/me/.nvm"),
            ("MONKEY", "yes"),
            ("KEYMAP", "de"),
            ("COMPASS", "n"),
            ("PATTERN", "x"),
            ("AUTHOR", "me"),
            ("GIT_AUTHOR_NAME", "me"),
            ("REPO", "https://github.com/me/it"),
            ("REPO", "https://me@github.com/me/it"),
            ("SSHD", "sk-ip"),
        ] {
            assert!(may_see(name, value), "{name}={value}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_withheld() {
        assert!(!may_see("", "x"));
        assert!(!may_see("A=B", "x"));
    }
}
