// SPDX-License-Identifier: GPL-2.0-only
//! Packets from one CPU to another, at chosen gaps: how late the receiver is. It runs in a guest as a
//! script, `dyntick guest-packets …`.
//!
//! UDP over the loopback: the sender's CPU takes the packet as far as the receiver's socket and wakes the
//! receiver, so a latency is the way through both ends of the network stack, the wake-up, and what the
//! receiver's CPU needs to leave its idle state.

use super::settle::pin;
use anyhow::{Context, Result, ensure};
use dyntick_model::units::Nanos;
use dyntick_model::{CpuList, NANOS_PER_SEC};
use dyntick_observe::thread::now_ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt::Write as _;
use std::net::UdpSocket;
use std::str::FromStr;
use std::time::Duration;

/// The time between packets, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Always the same.
    Fixed(u64),
    /// Independent of one another, of this mean: exponentially distributed.
    Poisson(u64),
    /// All between two values equally likely.
    Uniform(u64, u64),
}

/// A stream of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packets {
    /// The distances of the sending times.
    pub gaps: Gaps,
    /// Their number.
    pub count: u32,
    /// Silence after the last one, ns.
    pub silence_ns: u64,
    /// The receiver waits in ppoll(2) for at most so long at a time, ns, and so has a timer so far away; none
    /// where it only waits for packets.
    pub timeout_ns: Option<u64>,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The sender's CPU.
    pub from: u32,
    /// The receiver's CPU.
    pub to: u32,
}

/// The longest gap, s: no receiver waits longer for a packet.
const LONGEST_S: u64 = 10;

impl FromStr for Gaps {
    type Err = String;

    /// `500us`, `poisson:500us`, `uniform:600us-900us`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or(("fixed", text));
        let one = |text: &str| -> Result<u64, String> {
            let ns = text.parse::<Nanos>().map_err(|error| error.to_string())?.0;
            let fits = (1..=LONGEST_S * NANOS_PER_SEC).contains(&ns);
            fits.then_some(ns).ok_or(format!("'{text}' is not between 1ns and {LONGEST_S}s"))
        };
        match kind {
            "fixed" => one(rest).map(Gaps::Fixed),
            "poisson" => one(rest).map(Gaps::Poisson),
            "uniform" => {
                let (least, most) =
                    rest.split_once('-').ok_or("write uniform:LEAST-MOST, as uniform:600us-900us")?;
                let (least, most) = (one(least)?, one(most)?);
                if least > most {
                    Err(format!("'{rest}': the first is the larger"))
                } else {
                    Ok(Gaps::Uniform(least, most))
                }
            }
            other => Err(format!("'{other}' is neither fixed, poisson nor uniform")),
        }
    }
}

impl Gaps {
    /// The gap that a random number from [0, 1) gives, ns.
    fn at(self, random: f64) -> u64 {
        match self {
            Gaps::Fixed(ns) => ns,
            // The inverse of the exponential distribution.
            Gaps::Poisson(mean) => (-(1.0 - random).ln() * mean as f64).round() as u64,
            Gaps::Uniform(least, most) => least + ((most - least + 1) as f64 * random) as u64,
        }
    }
}

/// Random numbers that are the same everywhere: SplitMix64 (Steele, Lea and Flood, 2014, "Fast splittable
/// pseudorandom number generators").
struct Random(u64);

impl Random {
    /// From [0, 1), of 53 bits.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Sends and receives them, and prints the latencies, ns, one a line.
pub fn run(packets: Packets) -> Result<()> {
    let receiver = UdpSocket::bind("127.0.0.1:0").context("bind a UDP socket of the loopback")?;
    receiver.set_read_timeout(Some(Duration::from_secs(LONGEST_S + 1)))?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    let receiving = std::thread::spawn(move || receive(&receiver, packets));
    send(&sender, packets)?;
    let latencies = receiving.join().map_err(|_| anyhow::anyhow!("the receiver panicked"))??;
    std::thread::sleep(Duration::from_nanos(packets.silence_ns));
    let mut text = String::new();
    for ns in latencies {
        writeln!(text, "{ns}")?;
    }
    print!("{text}");
    Ok(())
}

fn send(socket: &UdpSocket, packets: Packets) -> Result<()> {
    pin(&CpuList::from_iter([packets.from]))?;
    to_the_nanosecond()?;
    let mut random = Random(packets.seed);
    let mut at = now_ns() + NANOS_PER_SEC / 10;
    for _ in 0..packets.count {
        at += packets.gaps.at(random.next());
        sleep_until(at);
        // A socket of the loopback has room for many more than one.
        socket.send(&now_ns().to_ne_bytes()).context("send a packet")?;
    }
    Ok(())
}

fn receive(socket: &UdpSocket, packets: Packets) -> Result<Vec<u64>> {
    pin(&CpuList::from_iter([packets.to]))?;
    to_the_nanosecond()?;
    let mut latencies = Vec::with_capacity(packets.count as usize);
    let mut sent = [0; 8];
    for _ in 0..packets.count {
        packets.timeout_ns.map_or(Ok(()), |ns| wait_in_turns(socket, ns))?;
        let length = socket.recv(&mut sent).context("no packet came")?;
        let received = now_ns();
        ensure!(length == sent.len(), "a packet of {length} bytes");
        latencies.push(received - u64::from_ne_bytes(sent));
    }
    Ok(latencies)
}

/// Until a packet is there, in waits of at most this long.
fn wait_in_turns(socket: &UdpSocket, ns: u64) -> Result<()> {
    let timeout = Timespec { tv_sec: (ns / NANOS_PER_SEC) as i64, tv_nsec: (ns % NANOS_PER_SEC) as i64 };
    while poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)).context("ppoll")? == 0 {}
    Ok(())
}

/// Ordinary tasks sleep up to 50 us longer than they ask for (`PR_SET_TIMERSLACK`).
fn to_the_nanosecond() -> Result<()> {
    // SAFETY: a system call on this thread itself.
    let status = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    ensure!(status == 0, "prctl(PR_SET_TIMERSLACK): {}", std::io::Error::last_os_error());
    Ok(())
}

/// Returns at once if the time is over.
fn sleep_until(ns: u64) {
    let time = libc::timespec { tv_sec: (ns / NANOS_PER_SEC) as i64, tv_nsec: (ns % NANOS_PER_SEC) as i64 };
    // SAFETY: the kernel reads the time; an absolute sleep leaves nothing to continue.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_as_they_are_written() {
        assert_eq!("500us".parse(), Ok(Gaps::Fixed(500_000)));
        assert_eq!("poisson:20ms".parse(), Ok(Gaps::Poisson(20_000_000)));
        assert_eq!("uniform:600us-900us".parse(), Ok(Gaps::Uniform(600_000, 900_000)));
        for wrong in ["", "0ns", "11s", "uniform:1us", "uniform:2us-1us", "normal:1us"] {
            assert!(wrong.parse::<Gaps>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn gaps_have_the_distribution_that_was_asked_for() {
        let mut random = Random(1);
        let gaps: Vec<u64> = (0..20_000).map(|_| Gaps::Poisson(1_000_000).at(random.next())).collect();
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        let longer = gaps.iter().filter(|gap| **gap > 1_000_000).count() as f64 / gaps.len() as f64;
        assert!((longer - (-1.0f64).exp()).abs() < 0.02, "{longer}");
        let uniform = Gaps::Uniform(10, 12);
        assert_eq!([0.0, 0.5, 0.999].map(|random| uniform.at(random)), [10, 11, 12]);
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // The generator's published sequence for the seed 1234567 begins with 6457827717110365317.
        assert_eq!(
            Random(1_234_567).next(),
            (6_457_827_717_110_365_317u64 >> 11) as f64 / (1u64 << 53) as f64
        );
    }

    #[test]
    fn packets_arrive_and_are_timed() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(socket.local_addr().unwrap()).unwrap();
        let packets = Packets {
            gaps: Gaps::Fixed(1000),
            count: 5,
            silence_ns: 0,
            timeout_ns: Some(1_000_000),
            seed: 1,
            from: 0,
            to: 0,
        };
        let receiving = std::thread::spawn(move || receive(&socket, packets));
        send(&sender, packets).unwrap();
        assert_eq!(receiving.join().unwrap().unwrap().len(), 5);
    }
}
