// SPDX-License-Identifier: GPL-2.0-only
//! The server with real sockets and hostile clients.

use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serves in a thread that ends with the test.
fn serve(limits: Limits) -> SocketAddr {
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), limits).unwrap();
    let address = server.address().unwrap();
    let scrapes = AtomicU64::new(0);
    let metrics = move || Some(format!("scrape {}\n", scrapes.fetch_add(1, Ordering::Relaxed)).into());
    std::thread::spawn(move || server.serve(metrics));
    address
}

/// Sends a text, and returns the answer up to the server's close.
fn ask(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const GET: &str = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn scrape_is_answered() {
    let address = serve(Limits::default());
    let answer = ask(address, GET);
    let expected = "HTTP/1.1 200 OK\r\n\
        Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
        Content-Length: 9\r\nConnection: close\r\n\r\nscrape 0\n";
    assert_eq!(answer, expected);
    let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.contains("Content-Length: 9\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").ends_with("are at /metrics\n"));
    let refused = ask(address, "DELETE /metrics HTTP/1.1\r\n\r\nwhatever it says");
    assert!(refused.starts_with("HTTP/1.1 405") && refused.contains("Allow: GET, HEAD\r\n"), "{refused}");
    assert!(ask(address, &format!("GET /{} HTTP/1.1\r\n", "a".repeat(9000))).starts_with("HTTP/1.1 431"));
}

/// A request that arrives byte by byte is parsed.
#[test]
fn request_in_pieces_is_answered() {
    let mut stream = TcpStream::connect(serve(Limits::default())).unwrap();
    stream.set_nodelay(true).unwrap();
    GET.bytes().for_each(|byte| stream.write_all(&[byte]).unwrap());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("scrape 0\n"), "{answer}");
}

/// Silent and half-finished clients exceed the limit, and block no other.
#[test]
fn slow_clients_lock_out_no_other() {
    let patience = Duration::from_secs(3600);
    let address = serve(Limits { connections: 4, patience });
    let slow: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&GET.as_bytes()[..number]).unwrap();
            stream
        })
        .collect();
    assert!(ask(address, GET).ends_with("scrape 0\n"));
    // The oldest was closed.
    assert!(matches!((&slow[0]).read(&mut [0; 8]), Ok(0) | Err(_)));
}

/// A request that never ends is closed.
#[test]
fn unfinished_request_times_out() {
    let address = serve(Limits { connections: 4, patience: Duration::from_millis(50) });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /met").unwrap();
    assert!(matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_)));
    assert!(ask(address, GET).ends_with("scrape 0\n"));
}

/// A client that never reads its answer, or sends without end, is closed; others are answered meanwhile.
#[test]
fn endless_clients_are_closed() {
    let patience = Duration::from_millis(500);
    let address = serve(Limits { connections: 4, patience });
    let endless = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let text = "GET /metrics HTTP/1.1\r\n\r\n".repeat(100);
        while stream.write_all(text.as_bytes()).is_ok() {}
    });
    let _deaf = TcpStream::connect(address).unwrap().write_all(GET.as_bytes());
    assert!(ask(address, GET).contains("scrape "));
    endless.join().unwrap();
}

#[test]
fn server_ends_with_the_metrics() {
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), Limits::default()).unwrap();
    let address = server.address().unwrap();
    let thread = std::thread::spawn(move || server.serve(|| None));
    assert_eq!(ask(address, GET), "");
    thread.join().unwrap();
    assert!(TcpStream::connect(address).is_err(), "the port is still open");
}
