// SPDX-License-Identifier: GPL-2.0-only
//! The header of a file: where its attributes, records and features are.

use super::MAGIC;
use super::attributes::Attributes;
use crate::ImportError;
use crate::bytes::{Bytes, Cursor, Damage, part};

/// The size of the header of a file that was written into a pipe.
const PIPE: u64 = 16;
/// The number of bits for features.
const FEATURES: u64 = 256;
/// The maximum number of events of a recording: all tracepoints of a machine on 8192 CPUs share theirs.
const MOST_ATTRIBUTES: u64 = 1 << 16;
/// The maximum number of events' numbers: each event has one for each CPU.
const MOST_IDS: u64 = 1 << 24;

/// A part of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub at: u64,
    pub size: u64,
}

/// A feature: its number and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feature {
    pub number: u64,
    pub place: Place,
}

#[derive(Debug, Default)]
pub(super) struct Header {
    pub is_pipe: bool,
    pub attributes: Attributes,
    pub data: Place,
    pub features: Vec<Feature>,
}

pub(super) fn read(file: &dyn Bytes) -> Result<Header, ImportError> {
    let length = file.length();
    let head = part(file, 0, length.min(104))?;
    let mut cursor = Cursor::new(&head, 0);
    if cursor.take(MAGIC.len() as u64)? != MAGIC {
        return Err(Damage(0).is("it does not begin as a file of perf"));
    }
    let size = cursor.u64()?;
    if size == PIPE {
        let data = Place { at: PIPE, size: length.saturating_sub(PIPE) };
        return Ok(Header { is_pipe: true, data, ..Header::default() });
    }
    if size > 1 << 32 {
        return Err(ImportError::Unsupported(
            "it was recorded on a machine with big-endian numbers, whose traces are not read: use the text of `perf \
             script`"
                .to_owned(),
        ));
    }
    let attribute_size = cursor.u64()?;
    let mut place = || -> Result<Place, ImportError> { Ok(Place { at: cursor.u64()?, size: cursor.u64()? }) };
    let (attributes, mut data, _) = (place()?, place()?, place()?);
    // Without an end it was interrupted: all that follows are records.
    let is_complete = data.size > 0;
    if !is_complete {
        data.size = length.saturating_sub(data.at);
    }
    let mut header = Header { data, ..Header::default() };
    read_attributes(file, attributes, attribute_size, &mut header.attributes)?;
    let end = data.at.checked_add(data.size).filter(|end| *end <= length);
    let end = end.ok_or_else(|| {
        Damage(data.at)
            .is(format!("{} bytes of records are expected here, but the file ends at {length}", data.size))
    })?;
    if !is_complete {
        return Ok(header);
    }
    let mut at = end;
    for number in 0..FEATURES {
        let word = head.get(72 + number as usize / 64 * 8..).and_then(|bits| bits.first_chunk());
        let is_there = word.is_some_and(|word| u64::from_le_bytes(*word) >> (number % 64) & 1 == 1);
        if is_there {
            let bytes = part(file, at, 16)?;
            let mut cursor = Cursor::new(&bytes, at);
            let place = Place { at: cursor.u64()?, size: cursor.u64()? };
            header.features.push(Feature { number, place });
            at += 16;
        }
    }
    Ok(header)
}

/// Reads the attributes, each with the place of its events' numbers behind it.
fn read_attributes(
    file: &dyn Bytes,
    place: Place,
    size: u64,
    attributes: &mut Attributes,
) -> Result<(), ImportError> {
    let here = Damage(place.at);
    let count = place.size.checked_div(size).filter(|count| size >= 80 && *count <= MOST_ATTRIBUTES);
    let count = count.ok_or_else(|| here.is(format!("{} bytes of events with {size} each", place.size)))?;
    let mut ids = 0u64;
    for number in 0..count {
        let at = place.at.saturating_add(number * size);
        let bytes = part(file, at, size)?;
        let (attribute, ids_place) = bytes.split_at(bytes.len() - 16);
        let mut cursor = Cursor::new(ids_place, at);
        let (ids_at, ids_size) = (cursor.u64()?, cursor.u64()?);
        ids = ids.saturating_add(ids_size / 8);
        if ids > MOST_IDS {
            return Err(Damage(at).is("more numbers of events than any machine has"));
        }
        attributes.add(attribute, &part(file, ids_at, ids_size)?, at)?;
    }
    Ok(())
}
