// SPDX-License-Identifier: GPL-2.0-only
//! An HTTP server for the metrics, in one thread. Clients are not trusted: connections, the bytes of a request and its
//! time are limited, and if there are too many connections the oldest is closed.

mod connection;
mod request;

pub use request::{Request, request};

use connection::{Connection, Step};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The limits for clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of connections at a time.
    pub connections: usize,
    /// The longest duration of a connection, from accept to close.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 16, patience: Duration::from_secs(5) }
    }
}

/// A listening socket.
pub struct Server {
    listener: TcpListener,
    limits: Limits,
    /// The connections, oldest first.
    connections: VecDeque<Connection>,
}

impl Server {
    /// Binds the socket and listens.
    ///
    /// # Errors
    ///
    /// The kernel's error, e.g. if another program uses the port.
    pub fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, limits, connections: VecDeque::new() })
    }

    /// The address of the socket; its port is real even if 0 was requested.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `metrics`, which is called at each scrape, returns none.
    pub fn serve(mut self, mut metrics: impl FnMut() -> Option<Arc<str>>) {
        let mut ended = false;
        while !ended {
            let (listener, connections) = self.wait();
            let mut ready = connections.into_iter();
            let now = Instant::now();
            self.connections.retain_mut(|connection| {
                let step = match ready.next() {
                    Some(true) => connection.advance(&mut metrics),
                    _ => Step::Wait,
                };
                ended |= step == Step::End;
                step == Step::Wait && connection.until > now
            });
            if listener {
                self.accept();
            }
        }
    }

    /// Waits for a new connection, readiness of an open one, or a timeout. Returns the readiness of the listener and of
    /// each connection.
    fn wait(&self) -> (bool, Vec<bool>) {
        let mut files = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let connections = self.connections.iter();
        files.extend(connections.map(|connection| PollFd::new(&connection.stream, connection.waits_for())));
        let now = Instant::now();
        let first = self.connections.iter().map(|connection| connection.until).min();
        let timeout = first.and_then(|until| Timespec::try_from(until.saturating_duration_since(now)).ok());
        if poll(&mut files, timeout.as_ref()).is_err() {
            // A signal, or a temporary lack of memory.
            return (false, vec![false; self.connections.len()]);
        }
        let mut ready = files.iter().map(|file| !file.revents().is_empty());
        (ready.next().unwrap_or(false), ready.collect())
    }

    /// Accepts new connections. If there are too many the oldest is closed, so that slow clients never lock out others.
    fn accept(&mut self) {
        for _ in 0..self.limits.connections {
            let until = Instant::now() + self.limits.patience;
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.connections.len() >= self.limits.connections {
                        self.connections.pop_front();
                    }
                    self.connections.extend(Connection::new(stream, until).ok());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Most likely this process has no file descriptor left.
                    self.connections.pop_front();
                    std::thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }
}

/// The pause before the next accept after one failed.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
