// SPDX-License-Identifier: GPL-2.0-only
//! Serves the metrics over HTTP, from one thread. Whoever may connect is not trusted: connections, the bytes of a
//! request and the time that it may take are limited, and where there are too many connections the oldest gives way.

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

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections there are at a time.
    pub connections: usize,
    /// How long one lasts, from accepting it to its end.
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
    /// The oldest first.
    connections: VecDeque<Connection>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    ///
    /// Whatever the kernel says, as where another program has the port.
    pub fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, limits, connections: VecDeque::new() })
    }

    /// Where it listens; the port is a real one also where 0 was asked for.
    ///
    /// # Errors
    ///
    /// Whatever the kernel says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `metrics`, which is asked at each scrape, has none any more.
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

    /// Waits until somebody connects, a connection can go on, or one has had its time: whether the listener is ready,
    /// and each connection.
    fn wait(&self) -> (bool, Vec<bool>) {
        let mut files = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let connections = self.connections.iter();
        files.extend(connections.map(|connection| PollFd::new(&connection.stream, connection.waits_for())));
        let now = Instant::now();
        let first = self.connections.iter().map(|connection| connection.until).min();
        let timeout = first.and_then(|until| Timespec::try_from(until.saturating_duration_since(now)).ok());
        if poll(&mut files, timeout.as_ref()).is_err() {
            // A signal, or no memory for a moment.
            return (false, vec![false; self.connections.len()]);
        }
        let mut ready = files.iter().map(|file| !file.revents().is_empty());
        (ready.next().unwrap_or(false), ready.collect())
    }

    /// Accepts who waits. Where there are too many the oldest connection gives way, so that those who are slow keep
    /// nobody out.
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
                    // Most likely there are no more files for this process.
                    self.connections.pop_front();
                    std::thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }
}

/// How long nobody is accepted after that failed.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
