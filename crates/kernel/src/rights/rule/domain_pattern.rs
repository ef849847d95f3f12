//! A host in a rule: `domain:example.com` means the host and every host below it, `host:example.com` that host alone.
//!
//! Invariant: an IPv4 address is compared as an address, however it is written.

use core::net::Ipv4Addr;

use super::ToolRuleErrorKind;

/// A host in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DomainPattern {
    domain: String,
    hosts: Hosts,
}

/// Which hosts of a domain a pattern means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hosts {
    /// The domain's own and those below it.
    All,
    /// `*.example.com`: those below it.
    Below,
    /// `host:example.com`: the domain's own.
    Own,
}

impl DomainPattern {
    pub(super) fn parse(text: &str) -> Result<Self, ToolRuleErrorKind> {
        let (name, hosts) = if let Some(name) = text.strip_prefix("host:") {
            (name, Hosts::Own)
        } else {
            let name = text.strip_prefix("domain:").ok_or(ToolRuleErrorKind::BadDomain)?;
            match name.trim().strip_prefix("*.") {
                Some(name) => (name, Hosts::Below),
                None => (name, Hosts::All),
            }
        };
        let domain = host_name(name.trim()).ok_or(ToolRuleErrorKind::BadDomain)?;
        Ok(Self { domain, hosts })
    }

    pub(super) fn covers(&self, host: &str) -> bool {
        let is_own = host == self.domain;
        let is_below =
            host.strip_suffix(self.domain.as_str()).is_some_and(|rest| rest.ends_with('.'));
        match self.hosts {
            Hosts::All => is_own || is_below,
            Hosts::Below => is_below,
            Hosts::Own => is_own,
        }
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
    if !is_name {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if is_number(last) {
        return address(name).map(|address| address.to_string());
    }
    Some(name.to_ascii_lowercase())
}

/// Whether a host that ends in this label is an address, as programs that fetch pages see it.
fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit()) || number(label).is_some()
}

/// An IPv4 address in any of its spellings: `127.1`, `0x7f000001` and `0177.0.0.1` are `127.0.0.1`.
fn address(name: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u32> = name.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let octets = u32::try_from(first.len()).ok().filter(|octets| *octets < 4)?;
    if u64::from(*last) >= 1 << (8 * (4 - octets)) {
        return None;
    }
    let mut bits = *last;
    for (octet, shift) in first.iter().zip([24, 16, 8]) {
        bits |= u32::from(u8::try_from(*octet).ok()?) << shift;
    }
    Some(Ipv4Addr::from(bits))
}

/// A number of an address: hexadecimal after `0x`, octal after `0`, else decimal.
fn number(label: &str) -> Option<u32> {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, label.strip_prefix('0')) {
        (Some(""), _) => return Some(0),
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        (None, _) => (label, 10),
    };
    u32::from_str_radix(digits, radix).ok()
}
