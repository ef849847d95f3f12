//! The `WWW-Authenticate` header of a server that wants a token.

/// What a challenge says about logging in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::mcp_client) struct Challenge {
    /// The address of the protected resource's metadata.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that are needed.
    pub(in crate::mcp_client) scopes: Option<Vec<String>>,
}

impl Challenge {
    /// The first `Bearer` challenge among those header values.
    pub(in crate::mcp_client) fn among(values: &[String]) -> Self {
        values.iter().find_map(|value| Self::read(value)).unwrap_or_default()
    }

    fn read(value: &str) -> Option<Self> {
        let (scheme, parameters) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut challenge = Self::default();
        for (name, value) in parameters_of(parameters) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scopes = Some(scopes(&value)),
                _ => {}
            }
        }
        Some(challenge)
    }
}

/// The scopes in a list with blanks between them.
pub(super) fn scopes(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// `name="value"` and `name=value`, with commas between them.
fn parameters_of(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    loop {
        let mut name = String::new();
        while let Some(letter) = letters.next_if(|letter| *letter != '=') {
            if letter == ',' {
                name.clear();
            } else if !letter.is_whitespace() {
                name.push(letter);
            }
        }
        if letters.next().is_none() {
            return found;
        }
        let mut value = String::new();
        if letters.next_if_eq(&'"').is_some() {
            while let Some(letter) = letters.next() {
                match letter {
                    '"' => break,
                    '\\' => value.extend(letters.next()),
                    other => value.push(other),
                }
            }
        } else {
            while let Some(letter) = letters.next_if(|letter| *letter != ',') {
                value.push(letter);
            }
        }
        found.push((name, value.trim().to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_whatever_its_spelling() {
        let metadata = Some("https://h/m?a=b,c".to_owned());
        let scopes = Some(vec!["a".to_owned(), "b:c".to_owned()]);
        let full = Challenge { resource_metadata: metadata, scopes };
        for value in [
            "Bearer resource_metadata=\"https://h/m?a=b,c\", scope=\"a b:c\"",
            "bearer error=\"invalid_token\", error_description=\"say \\\"hi\\\", now\", scope=\"a  b:c\",resource_metadata=\"https://h/m?a=b,c\"",
        ] {
            assert_eq!(Challenge::among(&["Basic x=y".to_owned(), value.to_owned()]), full);
        }
        for value in [
            "Bearer",
            "",
            "Basic realm=\"x\"",
            "Bearer realm",
            "Bearer scope",
            "Bearer =\"",
            "Bearer a=\"\\",
        ] {
            assert_eq!(Challenge::among(&[value.to_owned()]), Challenge::default(), "{value}");
        }
        let bare = Challenge::among(&["Bearer scope=one, resource_metadata=https://h".to_owned()]);
        assert_eq!(bare.scopes, Some(vec!["one".to_owned()]));
        assert_eq!(bare.resource_metadata.as_deref(), Some("https://h"));
    }
}
