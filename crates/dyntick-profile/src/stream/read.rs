// SPDX-License-Identifier: GPL-2.0-only
//! Reading a stream.

use super::format::*;
use std::io::BufRead;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Instructions from `address` on were executed, `times` times over.
    Block {
        /// Address of the first instruction.
        address: u64,
        /// Their number.
        instructions: u64,
        /// The number of executions of the block in a row.
        times: u64,
    },
    /// The following blocks were executed on this CPU.
    Cpu(u64),
    /// Recording begins.
    On,
    /// Recording ends; the number of instructions that were recorded since the stream began, as the reader
    /// has counted too.
    Off(u64),
    /// The guest marked this place.
    Mark(u64),
    /// The kernel is about to switch tasks; they are named by their addresses.
    Switch {
        /// The task that leaves.
        leaves: u64,
        /// The task that comes.
        comes: u64,
    },
    /// An exception's handler begins with the next block; it returns to this address.
    Exception(u64),
    /// The last instruction on this CPU did not complete.
    Undone,
    /// The stream reached its limit.
    Limit,
}

/// The defect of a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is something else.
    #[error("this is not a stream of executed blocks")]
    Magic,
    /// It is newer or older than this program.
    #[error("the stream has version {0}, but this program reads {VERSION}: run the study again")]
    Version(u32),
    /// It ends within a record.
    #[error("the stream ends in the middle of a record, at byte {0}: the guest ended early")]
    Truncated(u64),
    /// It refers to what was not defined, or holds an unknown word.
    #[error("the stream is damaged at byte {0}: run the study again")]
    Damaged(u64),
    /// It makes more than any recording does: blocks of code, or spans with their functions.
    #[error("the stream has more blocks, spans or tasks than any recording: run the study again")]
    TooMuch,
    /// The file system refused.
    #[error("the stream cannot be read: {0}")]
    Read(std::io::ErrorKind),
}

/// More instructions than any recording has: a century of a CPU. Sums of the numbers in a stream stay below
/// the largest number.
const MOST_INSTRUCTIONS: u64 = 1 << 62;
/// CPU numbers end before this (`NR_CPUS` on x86 is at most 8192).
const MOST_CPUS: u64 = 8192;

/// More blocks of code than any guest executes: a kernel with all its modules has some 100 000.
const MOST_BLOCKS: usize = 1 << 20;

/// Reverses [`zigzag`].
fn unzigzag(number: u64) -> i64 {
    ((number >> 1) as i64) ^ -((number & 1) as i64)
}

/// Reads record by record; ends after the first error. Holds the blocks, not the stream.
#[derive(Clone, Debug)]
pub struct Reader<R> {
    source: R,
    /// Bytes that were read.
    at: u64,
    ended: bool,
    blocks: Vec<(u64, u64)>,
    latest: Option<(u64, u64)>,
    instructions: u64,
}

impl<R: BufRead> Reader<R> {
    /// Begins to read.
    pub fn new(mut source: R) -> Result<Self, Error> {
        let mut head = [0; MAGIC.len() + 4];
        source.read_exact(&mut head).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::Magic,
            kind => Error::Read(kind),
        })?;
        let version = head.strip_prefix(&MAGIC).and_then(|rest| rest.first_chunk()).ok_or(Error::Magic)?;
        match u32::from_le_bytes(*version) {
            VERSION => {}
            other => return Err(Error::Version(other)),
        }
        let at = head.len() as u64;
        Ok(Self { source, at, ended: false, blocks: Vec::new(), latest: None, instructions: 0 })
    }

    /// Bytes of the stream that were read.
    pub fn bytes_read(&self) -> u64 {
        self.at
    }

    fn byte(&mut self) -> Result<Option<u8>, Error> {
        let byte = self.source.fill_buf().map_err(|error| Error::Read(error.kind()))?.first().copied();
        if byte.is_some() {
            self.source.consume(1);
            self.at += 1;
        }
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, Error> {
        let first = self.byte()?.ok_or(Error::Truncated(self.at))?;
        self.number_from(first)
    }

    fn number_from(&mut self, first: u8) -> Result<u64, Error> {
        let (mut byte, mut number) = (first, 0);
        for shift in (0..64).step_by(7) {
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            byte = self.byte()?.ok_or(Error::Truncated(self.at))?;
        }
        Err(Error::Damaged(self.at))
    }

    fn record(&mut self, first: u8) -> Result<Record, Error> {
        let first = self.number_from(first)?;
        if first & 1 == 0 {
            let block = self.blocks.get((first >> 1) as usize).ok_or(Error::Damaged(self.at))?;
            return self.block(*block, 1);
        }
        let latest = std::mem::take(&mut self.latest);
        Ok(match first >> 1 {
            DEFINE => {
                let before = self.blocks.last().map_or(0, |(address, _)| *address);
                let address = before.wrapping_add_signed(unzigzag(self.number()?));
                let block = (address, self.number()?);
                if self.blocks.len() == MOST_BLOCKS {
                    return Err(Error::TooMuch);
                }
                self.blocks.push(block);
                self.block(block, 1)?
            }
            REPEAT => {
                let times = self.number()?;
                self.block(latest.ok_or(Error::Damaged(self.at))?, times)?
            }
            CPU => match self.number()? {
                cpu if cpu < MOST_CPUS => Record::Cpu(cpu),
                _ => return Err(Error::Damaged(self.at)),
            },
            ON => Record::On,
            OFF => {
                let told = self.number()?;
                if told != self.instructions {
                    return Err(Error::Damaged(self.at));
                }
                Record::Off(told)
            }
            MARK => Record::Mark(self.number()?),
            SWITCH => Record::Switch { leaves: self.number()?, comes: self.number()? },
            EXCEPTION => Record::Exception(self.number()?),
            UNDONE => {
                self.instructions = self.instructions.checked_sub(1).ok_or(Error::Damaged(self.at))?;
                Record::Undone
            }
            LIMIT => Record::Limit,
            _ => return Err(Error::Damaged(self.at)),
        })
    }

    fn block(&mut self, block: (u64, u64), times: u64) -> Result<Record, Error> {
        self.latest = Some(block);
        let more = block.1.checked_mul(times).and_then(|more| self.instructions.checked_add(more));
        self.instructions = more.filter(|all| *all <= MOST_INSTRUCTIONS).ok_or(Error::Damaged(self.at))?;
        Ok(Record::Block { address: block.0, instructions: block.1, times })
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.byte().and_then(|first| first.map(|first| self.record(first)).transpose());
        self.ended = !matches!(record, Ok(Some(_)));
        record.transpose()
    }
}
