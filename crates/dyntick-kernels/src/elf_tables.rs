// SPDX-License-Identifier: GPL-2.0-only
//! The tables of an ELF file, read where they are. No list of their entries is made: a hostile file may have a string
//! table that is nothing but ends of strings, and a list of them would take a hundred times the memory of the file.

use object::LittleEndian as Little;
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, Dyn64, EM_X86_64, ET_DYN, ET_EXEC, ET_REL,
    FileHeader64, PT_DYNAMIC, ProgramHeader64, SectionHeader64,
};
use object::read::elf::{Dyn, FileHeader, Note, ProgramHeader, SectionHeader};
use std::ops::Range;

/// Programs and kernels have some ten, and the dynamic strings are looked for in all of them.
const MOST_PROGRAM_HEADERS: usize = 1000;
/// A kernel module has some hundred, with a section for each function some ten thousand.
const MOST_SECTIONS: u64 = 1 << 20;
/// The dynamic section of a program that needs hundreds of libraries has some 10 KiB.
const LARGEST_DYNAMIC: u64 = 1 << 20;
/// A name, or a list of folders; no path that the kernel takes has more than 4096 bytes (PATH_MAX).
const LONGEST_NAME: usize = 1 << 16;

/// The reason why a file is not read. Nothing of the file is quoted: it may be a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

impl From<object::read::Error> for Malformed {
    fn from(error: object::read::Error) -> Self {
        Self(error.to_string())
    }
}

/// The headers of a 64-bit ELF file.
pub struct ElfTables<'a> {
    bytes: &'a [u8],
    header: &'a FileHeader64<Little>,
    programs: &'a [ProgramHeader64<Little>],
}

/// The files that a program needs in order to start.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// Its interpreter, if it has one.
    pub interpreter: Option<&'a str>,
    /// The libraries that it names.
    pub libraries: Vec<&'a str>,
    /// The folders of its libraries, of which the loader takes the last (`DT_RUNPATH`).
    pub runpaths: Vec<&'a str>,
    /// The same by the older entry (`DT_RPATH`).
    pub rpaths: Vec<&'a str>,
}

impl<'a> ElfTables<'a> {
    /// Reads the headers.
    ///
    /// # Errors
    /// If it is no 64-bit ELF file, or its headers are damaged or too many.
    pub fn of(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(Malformed("it is no ELF file".to_owned()));
        }
        let header = FileHeader64::<Little>::parse(bytes)?;
        let programs = header.program_headers(Little, bytes)?;
        if programs.len() > MOST_PROGRAM_HEADERS {
            return Err(Malformed(format!("{} program headers", programs.len())));
        }
        Ok(Self { bytes, header, programs })
    }

    /// True for a program or a library of this architecture; a core dump has the memory of a process that crashed.
    pub fn is_program(&self) -> bool {
        [ET_EXEC, ET_DYN].contains(&self.header.e_type(Little)) && self.is_ours()
    }

    /// True for an object to be linked, e.g. a kernel module, of this architecture.
    pub fn is_module(&self) -> bool {
        self.header.e_type(Little) == ET_REL && self.is_ours()
    }

    fn is_ours(&self) -> bool {
        self.header.e_machine(Little) == EM_X86_64
    }

    /// The place in the file of the section of this name, if the section has contents in the file.
    ///
    /// # Errors
    /// If the section headers are damaged or too many.
    pub fn section(&self, name: &str) -> Result<Option<Range<usize>>, Malformed> {
        let sections = self.sections()?;
        let names = match sections.get(self.header.shstrndx(Little, self.bytes)? as usize) {
            Some(table) => table.data(Little, self.bytes)?,
            None => return Ok(None),
        };
        // Not by the text that ends there: a hostile table may have one long text at which a million names end.
        let is_named = |section: &&SectionHeader64<Little>| {
            let rest = names.get(section.sh_name(Little) as usize..);
            rest.and_then(|rest| rest.strip_prefix(name.as_bytes()))
                .is_some_and(|rest| rest.first() == Some(&0))
        };
        let found = sections.iter().find(is_named).and_then(|section| section.file_range(Little));
        Ok(found.and_then(|(offset, size)| range(self.bytes, offset, size)))
    }

    fn sections(&self) -> Result<&'a [SectionHeader64<Little>], Malformed> {
        let first = self.header.section_0(Little, self.bytes)?;
        // The number of sections is the size of the first if it does not fit into the header.
        let many =
            first.filter(|_| self.header.e_shnum(Little) == 0).map_or(0, |first| first.sh_size(Little));
        if many > MOST_SECTIONS {
            return Err(Malformed(format!("{many} sections")));
        }
        Ok(self.header.section_headers(Little, self.bytes)?)
    }

    /// The notes in its segments, up to a damaged one in each.
    pub fn notes(&self) -> impl Iterator<Item = Note<'a, FileHeader64<Little>>> {
        let notes =
            self.programs.iter().filter_map(|program| program.notes(Little, self.bytes).ok().flatten());
        notes.flat_map(|mut notes| std::iter::from_fn(move || notes.next().ok().flatten()))
    }

    /// The files that it needs in order to start.
    ///
    /// # Errors
    /// If its dynamic section is damaged or too large, or a name is missing.
    pub fn needs(&self) -> Result<Needs<'a>, Malformed> {
        let mut needs = Needs::default();
        for program in self.programs {
            if let Some(interpreter) = program.interpreter(Little, self.bytes)? {
                needs.interpreter = std::str::from_utf8(interpreter).ok();
            }
        }
        let Some(dynamic) = self.dynamic()? else { return Ok(needs) };
        let strings = self.strings(dynamic)?;
        for entry in dynamic {
            let names = match entry.tag32(Little) {
                Some(DT_NEEDED) => &mut needs.libraries,
                Some(DT_RUNPATH) => &mut needs.runpaths,
                Some(DT_RPATH) => &mut needs.rpaths,
                _ => continue,
            };
            names.push(
                text(strings, entry.d_val(Little))
                    .ok_or_else(|| Malformed("a name is missing".to_owned()))?,
            );
        }
        Ok(needs)
    }

    /// The entries of the dynamic section before the one that ends it.
    fn dynamic(&self) -> Result<Option<&'a [Dyn64<Little>]>, Malformed> {
        let Some(program) = self.programs.iter().find(|program| program.p_type(Little) == PT_DYNAMIC) else {
            return Ok(None);
        };
        if program.p_filesz(Little) > LARGEST_DYNAMIC {
            return Err(Malformed(format!("a dynamic section of {} bytes", program.p_filesz(Little))));
        }
        let all = program.dynamic(Little, self.bytes)?.unwrap_or_default();
        let end = all.iter().position(|entry| entry.d_tag(Little) == 0).unwrap_or(all.len());
        Ok(Some(&all[..end]))
    }

    /// The table of dynamic strings, which the dynamic section names by its address in memory.
    fn strings(&self, dynamic: &[Dyn64<Little>]) -> Result<&'a [u8], Malformed> {
        let value = |tag: u32| {
            let entry = dynamic.iter().find(|entry| entry.tag32(Little) == Some(tag));
            entry.map_or(0, |entry| entry.d_val(Little))
        };
        let (address, size) = (value(DT_STRTAB), value(DT_STRSZ));
        for program in self.programs {
            if let Ok(Some(strings)) = program.data_range(Little, self.bytes, address, size) {
                return Ok(strings);
            }
        }
        Err(Malformed("its table of dynamic strings is not in it".to_owned()))
    }
}

/// This part of the file, if the file has all of it.
fn range(bytes: &[u8], offset: u64, size: u64) -> Option<Range<usize>> {
    let (from, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
    let range = from..from.checked_add(size)?;
    bytes.get(range.clone()).map(|_| range)
}

/// The text that begins at this place of a string table.
fn text(strings: &[u8], at: u64) -> Option<&str> {
    let from = strings.get(usize::try_from(at).ok()?..)?;
    let end = memchr::memchr(0, &from[..from.len().min(LONGEST_NAME)])?;
    std::str::from_utf8(&from[..end]).ok()
}

/// ELF files for tests, also of other crates.
#[doc(hidden)]
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

    const NEEDED: u64 = DT_NEEDED as u64;
    const RUNPATH: u64 = DT_RUNPATH as u64;
    const RPATH: u64 = DT_RPATH as u64;

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
    fn programs_name_their_libraries() {
        let entries = [(NEEDED, 1), (RUNPATH, 3), (RPATH, 6), (NEEDED, 6)];
        let file = made::of_entries(&entries, b"\0a\0bc\0d\0");
        let needs = ElfTables::of(&file).unwrap().needs().unwrap();
        let expected =
            Needs { interpreter: None, libraries: vec!["a", "d"], runpaths: vec!["bc"], rpaths: vec!["d"] };
        assert_eq!(needs, expected);
        let beyond = made::of_entries(&[(NEEDED, 99)], b"\0a\0");
        assert!(ElfTables::of(&beyond).unwrap().needs().is_err());
    }

    #[test]
    fn oversized_tables_are_refused() {
        let told =
            |file: &[u8]| ElfTables::of(file).and_then(|tables| tables.needs()).unwrap_err().to_string();
        let many = vec![(NEEDED, 1); 1 << 16];
        assert!(told(&made::of_entries(&many, b"\0a\0")).contains("a dynamic section of"));
        let mut headers = made::of_entries(&[], b"");
        headers[56..58].copy_from_slice(&1001u16.to_le_bytes());
        headers.resize(1 << 16, 0);
        assert!(told(&headers).contains("1001 program headers"));
        let mut sections = made::of_sections(&[], 0);
        // The number of sections in the size of the first.
        let at = u64::from_le_bytes(sections[40..48].try_into().unwrap()) as usize;
        sections[60..62].fill(0);
        sections[at + 32..at + 40].copy_from_slice(&(MOST_SECTIONS + 1).to_le_bytes());
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
        let program = made::of_entries(&[(NEEDED, 1)], &[&b"\0a"[..], &vec![0; NULS]].concat());
        assert_eq!(ElfTables::of(&program).unwrap().needs().unwrap().libraries, ["a"]);
    }
}
