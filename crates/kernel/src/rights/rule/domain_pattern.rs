//! A host in a rule: `domain:example.com` means the host and every host below it.

use super::ToolRuleErrorKind;

/// A host in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DomainPattern {
    domain: String,
    /// `*.example.com`: only hosts below it.
    below_only: bool,
}

impl DomainPattern {
    pub(super) fn parse(text: &str) -> Result<Self, ToolRuleErrorKind> {
        let name = text.strip_prefix("domain:").ok_or(ToolRuleErrorKind::BadDomain)?.trim();
        let (name, below_only) = match name.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let domain = host_name(name).ok_or(ToolRuleErrorKind::BadDomain)?;
        Ok(Self { domain, below_only })
    }

    pub(super) fn covers(&self, host: &str) -> bool {
        let below = host.strip_suffix(self.domain.as_str()).is_some_and(|rest| rest.ends_with('.'));
        below || (!self.below_only && host == self.domain)
    }

    pub(super) fn may_match(&self, host: &str) -> bool {
        self.covers(host) || host == self.domain
    }
}

/// The host of an address, in lower case; none where programs might disagree about it.
pub(super) fn host_of(url: &str) -> Option<String> {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    if url.contains(|letter: char| letter == '\\' || letter.is_control() || letter.is_whitespace())
    {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) => return None,
        None => authority,
    };
    host_name(host)
}

fn host_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_name = !name.is_empty()
        && name.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        });
    is_name.then(|| name.to_ascii_lowercase())
}
