// SPDX-License-Identifier: GPL-2.0-only
//! The tables of an ELF file that are asked for, and none else: a stranger's file may have a string table of nothing
//! but ends of strings, and a list of them would take a hundred times what the file does.

use goblin::container::Ctx;
use goblin::elf::dynamic::{DT_NEEDED, DT_RPATH, DT_RUNPATH, Dyn, Dynamic};
use goblin::elf::header::{EM_X86_64, ET_DYN, ET_EXEC, ET_REL};
use goblin::elf::note::{Note, NoteDataIterator};
use goblin::elf::program_header::{PT_DYNAMIC, PT_INTERP, PT_NOTE};
use goblin::elf::section_header::{SHN_XINDEX, SHT_NOBITS};
use goblin::elf::{Elf, Header, ProgramHeader, SectionHeader};
use goblin::error::Error;
use std::ops::Range;

/// Programs and kernels have some ten, and each entry of the dynamic section is looked up in all of them.
const MOST_PROGRAM_HEADERS: usize = 1000;
/// A kernel module has some hundred, with a section for each function some ten thousand.
const MOST_SECTIONS: usize = 1 << 20;
/// The dynamic section of a program that needs hundreds of libraries has some 10 KiB, the notes of a kernel less.
const LARGEST_SEGMENT: u64 = 1 << 20;
/// A name, or a list of folders; no path that the kernel takes has more than 4096 bytes (PATH_MAX).
const LONGEST_NAME: usize = 1 << 16;

/// An ELF file's headers.
pub struct ElfTables<'a> {
    bytes: &'a [u8],
    header: Header,
    ctx: Ctx,
    programs: Vec<ProgramHeader>,
}

/// What a program needs in order to start.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// Its interpreter, if it has one.
    pub interpreter: Option<&'a str>,
    /// The libraries that it names.
    pub libraries: Vec<&'a str>,
    /// The folders where its libraries are, of which the loader takes the last (`DT_RUNPATH`).
    pub runpaths: Vec<&'a str>,
    /// The same by the older entry (`DT_RPATH`).
    pub rpaths: Vec<&'a str>,
}

impl<'a> ElfTables<'a> {
    /// Reads the headers. Of another file nothing is shown: the library would say what it begins with, which may be
    /// a secret.
    ///
    /// # Errors
    /// Where it is no ELF file, or its headers are damaged or too many.
    pub fn of(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(malformed("it is no ELF file"));
        }
        let header = Elf::parse_header(bytes)?;
        let ctx = Ctx::new(header.container()?, header.endianness()?);
        let count = usize::from(header.e_phnum);
        if count > MOST_PROGRAM_HEADERS {
            return Err(malformed(&format!("{count} program headers")));
        }
        let programs = ProgramHeader::parse(bytes, place(header.e_phoff), count, ctx)?;
        Ok(Self { bytes, header, ctx, programs })
    }

    /// Whether it is a program or a library for this architecture; a core dump has the memory of whoever crashed.
    pub fn is_program(&self) -> bool {
        [ET_EXEC, ET_DYN].contains(&self.header.e_type) && self.header.e_machine == EM_X86_64
    }

    /// Whether it is an object to be linked, as a kernel's module is, for this architecture.
    pub fn is_module(&self) -> bool {
        self.header.e_type == ET_REL && self.header.e_machine == EM_X86_64
    }

    /// Whether it is a 64-bit file.
    pub fn is_64(&self) -> bool {
        self.ctx.is_big()
    }

    /// Where the file has the section of this name; nowhere if the section has no contents in the file.
    ///
    /// # Errors
    /// Where the section headers are damaged or too many.
    pub fn section(&self, name: &str) -> Result<Option<Range<usize>>, Error> {
        let sections = self.sections()?;
        let names = match u32::from(self.header.e_shstrndx) {
            // The number does not fit, and is in the section header that is none.
            SHN_XINDEX => sections.first().map(|first| first.sh_link as usize),
            number => Some(number as usize),
        };
        let names = names.and_then(|number| sections.get(number)).and_then(|table| self.contents(table));
        let Some(names) = names else { return Ok(None) };
        let names = &self.bytes[names];
        // Not by the text that ends there: a stranger's table may have one long text at which a million names end.
        let is_named = |at: usize| names.get(at..)?.strip_prefix(name.as_bytes())?.first().copied();
        let found = sections.iter().find(|section| is_named(section.sh_name) == Some(0));
        Ok(found.and_then(|section| self.contents(section)))
    }

    /// The notes in its segments; those behind a damaged one are missing.
    pub fn notes(&self) -> impl Iterator<Item = Note<'a>> {
        let of_segment = |program: &ProgramHeader| {
            let data = self.segment(program)?;
            let ctx = (place(program.p_align), self.ctx);
            Some(NoteDataIterator { data, size: data.len(), offset: 0, ctx }.flatten())
        };
        self.programs.iter().filter(|program| program.p_type == PT_NOTE).filter_map(of_segment).flatten()
    }

    /// What it needs in order to start.
    ///
    /// # Errors
    /// Where its dynamic section is damaged or too large, or names of it are missing.
    pub fn needs(&self) -> Result<Needs<'a>, Error> {
        let interpreter = self.programs.iter().rfind(|program| program.p_type == PT_INTERP);
        let interpreter = interpreter.and_then(|program| text(self.segment(program)?, 0));
        let Some(dynamic) = self.dynamic()? else { return Ok(Needs { interpreter, ..Needs::default() }) };
        let strings = range(self.bytes, dynamic.info.strtab as u64, dynamic.info.strsz as u64)
            .ok_or_else(|| malformed("its table of dynamic strings is not in it"))?;
        let strings = &self.bytes[strings];
        let named = |tag: u64| {
            let entries = dynamic.dyns.iter().filter(move |entry: &&Dyn| entry.d_tag == tag);
            entries
                .map(|entry| text(strings, place(entry.d_val)).ok_or_else(|| malformed("a name is missing")))
        };
        Ok(Needs {
            interpreter,
            libraries: named(DT_NEEDED).collect::<Result<_, _>>()?,
            runpaths: named(DT_RUNPATH).collect::<Result<_, _>>()?,
            rpaths: named(DT_RPATH).collect::<Result<_, _>>()?,
        })
    }

    fn dynamic(&self) -> Result<Option<Dynamic>, Error> {
        let mut segments = self.programs.iter().filter(|program| program.p_type == PT_DYNAMIC);
        if let Some(large) = segments.find(|program| program.p_filesz > LARGEST_SEGMENT) {
            return Err(malformed(&format!("a dynamic section of {} bytes", large.p_filesz)));
        }
        Dynamic::parse(self.bytes, &self.programs, self.ctx)
    }

    fn sections(&self) -> Result<Vec<SectionHeader>, Error> {
        let at = place(self.header.e_shoff);
        if self.header.e_shnum == 0 && at != 0 {
            // The number of sections is the size of the first, which is none.
            let first = SectionHeader::parse(self.bytes, at, 1, self.ctx)?;
            if let Some(many) = first.first().filter(|first| first.sh_size > MOST_SECTIONS as u64) {
                return Err(malformed(&format!("{} sections", many.sh_size)));
            }
        }
        SectionHeader::parse(self.bytes, at, self.header.e_shnum.into(), self.ctx)
    }

    fn contents(&self, section: &SectionHeader) -> Option<Range<usize>> {
        let is_there = section.sh_type != SHT_NOBITS;
        is_there.then(|| range(self.bytes, section.sh_offset, section.sh_size)).flatten()
    }

    fn segment(&self, program: &ProgramHeader) -> Option<&'a [u8]> {
        let range = range(self.bytes, program.p_offset, program.p_filesz.min(LARGEST_SEGMENT))?;
        Some(&self.bytes[range])
    }
}

fn malformed(what: &str) -> Error {
    Error::Malformed(what.to_owned())
}

/// A number of the file as a place in it; one that is beyond any place stays beyond.
fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// This part of the file, where the file has all of it.
fn range(bytes: &[u8], offset: u64, size: u64) -> Option<Range<usize>> {
    let (from, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
    let range = from..from.checked_add(size)?;
    bytes.get(range.clone()).map(|_| range)
}

/// The text that begins at this place of a string table.
fn text(strings: &[u8], at: usize) -> Option<&str> {
    let from = strings.get(at..)?;
    let end = memchr::memchr(0, &from[..from.len().min(LONGEST_NAME)])?;
    std::str::from_utf8(&from[..end]).ok()
}

/// Files that tests make.
#[cfg(test)]
pub mod made {
    /// A part of the file with its section header: name, type and contents.
    pub type Section<'a> = (&'a str, u32, &'a [u8]);

    /// A 64-bit file of these sections. The names of the sections are in a table that `padding` bytes of NUL follow.
    pub fn of_sections(sections: &[Section], padding: usize) -> Vec<u8> {
        let mut names = b"\0.shstrtab\0".to_vec();
        let mut file = vec![0; 64];
        let mut headers = vec![[0; 64]];
        let mut add = |file: &mut Vec<u8>, name: usize, kind: u32, contents: &[u8]| {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&(name as u32).to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
            headers.push(header);
            file.extend(contents);
        };
        for (name, kind, contents) in sections {
            add(&mut file, names.len(), *kind, contents);
            names.extend(name.bytes().chain([0]));
        }
        names.resize(names.len() + padding, 0);
        add(&mut file, 1, 3, &names);
        let at = file.len() as u64;
        file[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0");
        file[20] = 1;
        file[40..48].copy_from_slice(&at.to_le_bytes());
        file[52] = 64;
        let count = headers.len() as u8;
        file[58..64].copy_from_slice(&[64, 0, count, 0, count - 1, 0]);
        file.extend(headers.concat());
        file
    }

    /// A shared object with these entries of its dynamic section, tag and value, and the strings that they name.
    pub fn of_entries(entries: &[(u64, u64)], strings: &[u8]) -> Vec<u8> {
        const HEADERS: usize = 64 + 2 * 56;
        let [strtab, strsz, end] = [5u64, 10, 0];
        let length = 16 * (entries.len() + 3);
        let mut tags = vec![(strtab, (HEADERS + length) as u64), (strsz, strings.len() as u64)];
        tags.extend(entries.iter().chain([&(end, 0)]));
        let total = (HEADERS + length + strings.len()) as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        [3u16, 62].iter().for_each(|half| file.extend(half.to_le_bytes()));
        file.extend(1u32.to_le_bytes());
        [0u64, 64, 0].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(0u32.to_le_bytes());
        [64u16, 56, 2, 64, 0, 0].iter().for_each(|half| file.extend(half.to_le_bytes()));
        for (kind, at, size) in [(1u32, 0, total), (2, HEADERS as u64, length as u64)] {
            [kind, 5].iter().for_each(|word| file.extend(word.to_le_bytes()));
            [at, at, at, size, size, 8].iter().for_each(|word| file.extend(word.to_le_bytes()));
        }
        tags.iter().for_each(|(tag, value)| file.extend([tag.to_le_bytes(), value.to_le_bytes()].concat()));
        [&file, strings].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::limit;

    #[test]
    fn sections_by_name() {
        let file = made::of_sections(&[(".a", 1, b"one"), (".ab", 8, b"two"), (".abc", 1, b"three")], 0);
        let tables = ElfTables::of(&file).unwrap();
        let section = |name| tables.section(name).unwrap().map(|range| &file[range]);
        assert_eq!(section(".a"), Some(&b"one"[..]));
        assert_eq!(section(".abc"), Some(&b"three"[..]));
        assert_eq!(section(".ab"), None, "NOBITS: it is not in the file");
        assert_eq!(section(".b"), None);
    }

    #[test]
    fn what_a_program_needs() {
        let entries = [(DT_NEEDED, 1), (DT_RUNPATH, 3), (DT_RPATH, 6), (DT_NEEDED, 6)];
        let file = made::of_entries(&entries, b"\0a\0bc\0d\0");
        let needs = ElfTables::of(&file).unwrap().needs().unwrap();
        let expected =
            Needs { interpreter: None, libraries: vec!["a", "d"], runpaths: vec!["bc"], rpaths: vec!["d"] };
        assert_eq!(needs, expected);
        let beyond = made::of_entries(&[(DT_NEEDED, 99)], b"\0a\0");
        assert!(ElfTables::of(&beyond).unwrap().needs().is_err());
    }

    #[test]
    fn what_no_program_has_is_refused() {
        let told =
            |file: &[u8]| ElfTables::of(file).and_then(|tables| tables.needs()).unwrap_err().to_string();
        let many = vec![(DT_NEEDED, 1); 1 << 16];
        assert!(told(&made::of_entries(&many, b"\0a\0")).contains("a dynamic section of"));
        let mut headers = made::of_entries(&[], b"");
        headers[56..58].copy_from_slice(&1001u16.to_le_bytes());
        headers.resize(1 << 16, 0);
        assert!(told(&headers).contains("1001 program headers"));
        let mut sections = made::of_sections(&[], 0);
        // The number of sections in the size of the first.
        let at = u64::from_le_bytes(sections[40..48].try_into().unwrap()) as usize;
        sections[60..62].fill(0);
        sections[at + 32..at + 40].copy_from_slice(&(MOST_SECTIONS as u64 + 1).to_le_bytes());
        let told = ElfTables::of(&sections).unwrap().section(".a").unwrap_err().to_string();
        assert!(told.contains("sections"), "{told}");
    }

    #[test]
    fn a_table_of_empty_strings_takes_no_more_than_the_file() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "elf_tables::tests::in_little_memory", "--ignored"]);
        limit(&mut again, rustix::process::Resource::Data, 256 << 20);
        let output = again.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.contains("1 passed"), "{told}{:?}", output.status);
    }

    #[test]
    #[ignore = "run by the test above, in a process with little memory"]
    fn in_little_memory() {
        const NULS: usize = 32 << 20;
        let mut kernel = made::of_sections(&[(".init.text", 1, b"\xf3\x90")], NULS);
        assert_eq!(crate::find::pauses::replace(&mut kernel), 1);
        assert!(!crate::find::vmlinux::has_pvh_entry(&kernel));
        drop(kernel);
        let program = made::of_entries(&[(DT_NEEDED, 1)], &[&b"\0a"[..], &vec![0; NULS]].concat());
        assert_eq!(ElfTables::of(&program).unwrap().needs().unwrap().libraries, ["a"]);
    }
}
