// SPDX-License-Identifier: GPL-2.0-only
//! One connection: the request is read and answered, then the connection is closed. Nothing here blocks.

use super::request::{Request, request};
use rustix::event::PollFlags;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

/// A connection.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// The end of the connection in any case.
    pub(super) until: Instant,
    state: State,
}

enum State {
    /// The request so far.
    Reading(Vec<u8>),
    /// The answer, and the number of bytes written.
    Writing(Vec<u8>, usize),
    /// All is written. The client's remaining data is discarded: closing before would lose the answer.
    Draining,
}

/// The next step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait until it is ready.
    Wait,
    /// Close it.
    Done,
    /// There are no more metrics.
    End,
}

impl Connection {
    /// Makes a connection from an accepted socket.
    pub(super) fn new(stream: TcpStream, until: Instant) -> Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, until, state: State::Reading(Vec::new()) })
    }

    /// The events that it waits for.
    pub(super) fn waits_for(&self) -> PollFlags {
        match self.state {
            State::Reading(_) | State::Draining => PollFlags::IN,
            State::Writing(..) => PollFlags::OUT,
        }
    }

    /// Makes as much progress as is possible without blocking.
    pub(super) fn advance(&mut self, metrics: &mut impl FnMut() -> Option<Arc<str>>) -> Step {
        self.go_on(metrics).unwrap_or_else(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => Step::Wait,
            _ => Step::Done,
        })
    }

    fn go_on(&mut self, metrics: &mut impl FnMut() -> Option<Arc<str>>) -> Result<Step> {
        let mut buffer = [0; 1024];
        loop {
            match &mut self.state {
                State::Reading(bytes) => {
                    let length = self.stream.read(&mut buffer)?;
                    if length == 0 {
                        return Ok(Step::Done);
                    }
                    bytes.extend_from_slice(&buffer[..length]);
                    let Some(request) = request(bytes) else { continue };
                    let Some(answer) = answer(&request, metrics) else { return Ok(Step::End) };
                    self.state = State::Writing(answer, 0);
                }
                State::Writing(bytes, written) => {
                    *written += self.stream.write(&bytes[*written..])?;
                    if *written == bytes.len() {
                        self.stream.shutdown(Shutdown::Write)?;
                        self.state = State::Draining;
                    }
                }
                // Reads once per call: others are served while a client sends without end.
                State::Draining => {
                    let is_over = self.stream.read(&mut buffer)? == 0;
                    return Ok(if is_over { Step::Done } else { Step::Wait });
                }
            }
        }
    }
}

/// The answer to a request; `None` if there are no more metrics.
fn answer(request: &Request, metrics: &mut impl FnMut() -> Option<Arc<str>>) -> Option<Vec<u8>> {
    const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    const PLAIN: &str = "text/plain; charset=utf-8";
    const INDEX: &str = "dyntick export: the metrics are at /metrics\n";
    Some(match request {
        Request::Metrics { with_body } => response("200 OK", OPENMETRICS, &metrics()?, *with_body),
        Request::Index { with_body } => response("200 OK", PLAIN, INDEX, *with_body),
        Request::Refused(refusal) => {
            response(refusal.status(), PLAIN, &format!("{}\n", refusal.status()), true)
        }
    })
}

fn response(status: &str, kind: &str, body: &str, with_body: bool) -> Vec<u8> {
    // RFC 9110 requires the allowed methods when one is refused.
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let length = body.len();
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
    );
    if with_body {
        text += body;
    }
    text.into_bytes()
}
