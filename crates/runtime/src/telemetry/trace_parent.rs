//! The span that a program was started in: the W3C `traceparent`.

/// A span of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
    is_sampled: bool,
}

impl TraceParent {
    /// Reads `00-TRACE-SPAN-FLAGS`; `None` if it is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.trim().split('-');
        let (version, trace, span, flags) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let version: [u8; 1] = bytes(version)?;
        // Later versions may have further fields; this one has none.
        if version == [0xff] || (version == [0] && fields.next().is_some()) {
            return None;
        }
        let (trace_id, span_id, flags): ([u8; 16], [u8; 8], [u8; 1]) =
            (bytes(trace)?, bytes(span)?, bytes(flags)?);
        let is_valid = trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Self { trace_id, span_id, is_sampled: flags[0] & 1 == 1 })
    }

    /// Whether the program that wrote it keeps its trace.
    pub fn is_sampled(self) -> bool {
        self.is_sampled
    }
}

/// So many bytes in lower-case hexadecimal.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_is_read_and_anything_else_is_not() {
        let parent = TraceParent::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!((parent.trace_id[0], parent.span_id[7]), (0x4b, 0xb7));
        assert!(parent.is_sampled());
        assert!(!TraceParent::parse(&format!("00-{TRACE}-{SPAN}-00")).unwrap().is_sampled());
        assert!(TraceParent::parse(&format!("01-{TRACE}-{SPAN}-01-more")).is_some());
        for wrong in [
            String::new(),
            TRACE.to_owned(),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}é-{SPAN}-01"),
        ] {
            assert_eq!(TraceParent::parse(&wrong), None, "{wrong}");
        }
    }
}
