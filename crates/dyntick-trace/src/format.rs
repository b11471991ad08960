// SPDX-License-Identifier: GPL-2.0-only
//! The layout of an event, as its `format` file in tracefs describes it.

/// One field of an event's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The offset from the begin of the record, bytes.
    pub offset: usize,
    /// The length, bytes.
    pub size: usize,
    /// True if it is a number with a sign.
    pub signed: bool,
    /// True if it is the place of a text of variable length elsewhere in the record (`__data_loc`).
    pub is_location: bool,
}

/// The layout of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The number by which records name their event; differs from boot to boot.
    pub id: u16,
    /// All fields, the common ones first.
    pub fields: Vec<Field>,
}

/// A format text that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No `ID:` line.
    #[error("the format of {0} has no ID line")]
    NoId(String),
    /// An event lacks a field that it has in every kernel that is known.
    #[error("the event {event} has no field '{field}' on this kernel")]
    NoField {
        /// The event.
        event: String,
        /// The field.
        field: String,
    },
}

impl Format {
    /// Parses the text of `events/SYSTEM/NAME/format`; `event` is for messages only.
    pub fn parse(event: &str, text: &str) -> Result<Self, FormatError> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let fields = text.lines().filter_map(parse_field).collect();
        Ok(Self { id: id.ok_or_else(|| FormatError::NoId(event.to_owned()))?, fields })
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A line such as `field:char comm[16]; offset:8; size:16; signed:0;`.
fn parse_field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.trim().parse::<usize>().ok();
    let (offset, size, signed) = (number("offset:")?, number("size:")?, number("signed:")?);
    let name = declaration.split_ascii_whitespace().last()?.split('[').next()?;
    Some(Field {
        name: name.trim_start_matches('*').to_owned(),
        offset,
        size,
        signed: signed == 1,
        is_location: declaration.starts_with("__data_loc"),
    })
}

impl Field {
    /// The field as a number, sign extended where it has one.
    pub fn number(&self, record: &[u8]) -> Option<u64> {
        let bytes = self.own_bytes(record)?;
        Some(match (self.size, self.signed) {
            (1, false) => u64::from(bytes[0]),
            (1, true) => i64::from(bytes[0] as i8) as u64,
            (2, false) => u64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
            (2, true) => i64::from(i16::from_le_bytes(bytes.try_into().ok()?)) as u64,
            (4, false) => u64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)) as u64,
            (8, _) => u64::from_le_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// The bytes of the field; if its length varies, those elsewhere in the record that it refers to.
    pub fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        if !self.is_location {
            return self.own_bytes(record);
        }
        // Low half: offset in the record; high half: length.
        let location = self.number(record)? as usize;
        record.get(location & 0xffff..(location & 0xffff) + (location >> 16))
    }

    fn own_bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// The bytes from its begin to the end of the record: of an array that is longer than declared.
    pub fn bytes_from<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..)
    }

    /// The same as words.
    pub fn words_from<'a>(&self, record: &'a [u8]) -> Option<impl Iterator<Item = u64> + use<'a>> {
        self.bytes_from(record).map(words)
    }

    /// The field as a text, up to its NUL.
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(record)?;
        Some(&bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())])
    }
}

/// The words of an array.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(*word.first_chunk()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: x\nID: 77\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:void * function;\toffset:32;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";

    #[test]
    fn fields_of_every_kind() {
        let format = Format::parse("s:x", TEXT).unwrap();
        assert_eq!(format.id, 77);
        let mut record = vec![0u8; 44];
        record[4..8].copy_from_slice(&(-2i32).to_le_bytes());
        record[8..12].copy_from_slice(b"init");
        record[24..28].copy_from_slice(&(40u32 | (4 << 16)).to_le_bytes());
        record[40..44].copy_from_slice(b"eth\0");
        record[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        let field = |name| format.field(name).unwrap();
        assert_eq!(field("common_pid").number(&record), Some(-2i64 as u64));
        assert_eq!(field("comm").text(&record), Some(&b"init"[..]));
        assert_eq!(field("name").text(&record), Some(&b"eth"[..]));
        assert_eq!(field("function").number(&record), Some(u64::MAX));
        assert_eq!(field("function").number(&record[..39]), None, "a record that is too short");
    }

    #[test]
    fn field_beyond_any_record_is_missing() {
        let text = format!("ID: 1\n\tfield:char x[16];\toffset:{0};\tsize:{0};\tsigned:0;\n", usize::MAX);
        let format = Format::parse("s:x", &text).unwrap();
        assert_eq!(format.field("x").unwrap().number(&[0; 16]), None);
        assert_eq!(format.field("x").unwrap().bytes(&[0; 16]), None);
    }

    #[test]
    fn text_without_id_is_refused() {
        assert_eq!(Format::parse("s:x", "format:\n"), Err(FormatError::NoId("s:x".into())));
    }
}
