// SPDX-License-Identifier: GPL-2.0-only
//! The request of a client, parsed from the bytes so far; pure.

use httparse::{EMPTY_HEADER, Error, Status};

/// The limit of a request in bytes; Prometheus sends some 300.
pub(super) const MOST_BYTES: usize = 8192;
/// The limit of headers.
const MOST_HEADERS: usize = 64;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The metrics.
    Metrics {
        /// True if the client wants the body; false for the headers only (HEAD).
        with_body: bool,
    },
    /// The page that links to the metrics.
    Index {
        /// True if the client wants the body.
        with_body: bool,
    },
    /// Anything else.
    Refused(Refusal),
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not HTTP.
    Malformed,
    /// The path does not exist.
    NotFound,
    /// The method is neither GET nor HEAD.
    Method,
    /// It is too long, or has too many headers.
    TooLarge,
}

impl Refusal {
    /// The HTTP status (RFC 9110, RFC 6585).
    pub fn status(self) -> &'static str {
        match self {
            Refusal::Malformed => "400 Bad Request",
            Refusal::NotFound => "404 Not Found",
            Refusal::Method => "405 Method Not Allowed",
            Refusal::TooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// Parses the request at the beginning of these bytes; `None` while it is not complete. It ignores everything after the
/// headers, and after the first 8 KiB.
pub fn request(bytes: &[u8]) -> Option<Request> {
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) if bytes.len() < MOST_BYTES => return None,
        Ok(Status::Partial) | Err(Error::TooManyHeaders) => return Some(Request::Refused(Refusal::TooLarge)),
        Err(_) => return Some(Request::Refused(Refusal::Malformed)),
    }
    let with_body = match parsed.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return Some(Request::Refused(Refusal::Method)),
    };
    let path = parsed.path.unwrap_or_default().split('?').next();
    Some(match path {
        Some("/metrics") => Request::Metrics { with_body },
        Some("/") => Request::Index { with_body },
        _ => Request::Refused(Refusal::NotFound),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed() {
        let of = |text: &str| request(text.as_bytes());
        let metrics = |with_body| Some(Request::Metrics { with_body });
        assert_eq!(of("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), metrics(true));
        assert_eq!(of("HEAD /metrics?x=1 HTTP/1.0\r\n\r\nmore"), metrics(false));
        assert_eq!(of("GET / HTTP/1.1\r\n\r\n"), Some(Request::Index { with_body: true }));
        assert_eq!(of("GET /metrics HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(of(""), None);
        let refused = |refusal| Some(Request::Refused(refusal));
        assert_eq!(of("GET /../etc/passwd HTTP/1.1\r\n\r\n"), refused(Refusal::NotFound));
        assert_eq!(of("POST /metrics HTTP/1.1\r\n\r\n"), refused(Refusal::Method));
        assert_eq!(of("\u{1}\u{2}\r\n\r\n"), refused(Refusal::Malformed));
        assert_eq!(of(&format!("GET /{}", "a".repeat(MOST_BYTES))), refused(Refusal::TooLarge));
        let headers = "A: b\r\n".repeat(MOST_HEADERS + 1);
        assert_eq!(of(&format!("GET / HTTP/1.1\r\n{headers}\r\n")), refused(Refusal::TooLarge));
    }
}
