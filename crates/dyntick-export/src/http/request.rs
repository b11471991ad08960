// SPDX-License-Identifier: GPL-2.0-only
//! What a client asks for, from the bytes that have come; pure.

use httparse::{EMPTY_HEADER, Error, Status};

/// A request has at most so many bytes: those of Prometheus have some 300.
pub(super) const MOST_BYTES: usize = 8192;
/// And so many headers.
const MOST_HEADERS: usize = 64;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The metrics.
    Metrics {
        /// Whether the client wants them, or only what would be said of them (HEAD).
        with_body: bool,
    },
    /// The page that says where they are.
    Index {
        /// As with the metrics.
        with_body: bool,
    },
    /// Anything else.
    Refused(Refusal),
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HTTP.
    Malformed,
    /// There is nothing at this path.
    NotFound,
    /// Another method than GET and HEAD.
    Method,
    /// It is too long, or has too many headers.
    TooLarge,
}

impl Refusal {
    /// The status of HTTP (RFC 9110, RFC 6585).
    pub fn status(self) -> &'static str {
        match self {
            Refusal::Malformed => "400 Bad Request",
            Refusal::NotFound => "404 Not Found",
            Refusal::Method => "405 Method Not Allowed",
            Refusal::TooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// The request that these bytes begin with; none while it is not complete. What comes after its headers is not looked
/// at, nor what comes after the first 8 KiB.
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
    fn what_is_asked_for() {
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
