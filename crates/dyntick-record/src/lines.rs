// SPDX-License-Identifier: GPL-2.0-only
//! The functions and lines of programs, from their symbols and their DWARF: `main (app.c:12)`.
//!
//! Programs may be untrusted files, so the number of bytes that are read and the time are bounded.

use addr2line::gimli::{DwarfSections, EndianSlice, RunTimeEndian};
use object::elf::FileHeader64;
use object::read::ReadCache;
use object::read::elf::{ElfFile64, ElfSymbolTable};
use object::{
    CompressionFormat, Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable,
    SymbolIndex, SymbolKind,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The maximum size of a section, bytes; that of a file's sections is twice as large. It is enough for the DWARF of a
/// large, statically linked program. A larger one has its functions by symbols only.
const LARGEST: u64 = 64 << 20;

/// The maximum size of a program, bytes, whose tables of symbols are read completely. Functions of a larger one have no
/// names.
const LARGEST_FILE: u64 = 256 << 20;

/// The maximum number of functions of a table of symbols.
const SYMBOLS: usize = 1 << 20;

/// The maximum number of functions that are inlined in each other.
const INLINED: usize = 16;

/// The folder in which Debian and others keep separate debug information, by build ID.
const DEBUG: &str = "/usr/lib/debug/.build-id";

type Elf<'a> = ElfFile64<'a, Endianness, &'a ReadCache<File>>;
type Sections = DwarfSections<Vec<u8>>;
type Lines<'a> = addr2line::Context<EndianSlice<'a, RunTimeEndian>>;

/// Looks up the functions at offsets of a file, in bytes: the executed function, preceded by those that are inlined at
/// it. An offset without a name is not in the result, and the search ends at `until`. `program` replaces an unknown
/// line.
pub(crate) fn at(
    file: File,
    program: &str,
    offsets: impl Iterator<Item = u64>,
    until: Instant,
) -> BTreeMap<u64, Vec<String>> {
    let Some(cache) = readable(file) else { return BTreeMap::new() };
    let Ok(elf) = Elf::parse(&cache) else { return BTreeMap::new() };
    let apart = debug_file(&elf).and_then(|path| dyntick_system::open_regular(&path).ok()).and_then(readable);
    let apart = apart.as_ref().and_then(|cache| Elf::parse(cache).ok());
    let symbols = Symbols::of([Some(&elf), apart.as_ref()].into_iter().flatten());
    let sections = [apart.as_ref(), Some(&elf)].into_iter().flatten().find_map(sections);
    let lines = sections.as_ref().and_then(|sections| lines(sections, &elf));
    let in_time = offsets.take_while(|_| Instant::now() < until);
    let named = in_time.filter_map(|offset| {
        let address = address_of(&elf, offset)?;
        let symbol = symbols.at(address);
        let by_lines = lines.as_ref().map(|lines| functions_at(lines, program, address, symbol.as_deref()));
        let names = match by_lines {
            Some(names) if !names.is_empty() => names,
            _ => vec![format!("{} ({program})", symbol?)],
        };
        Some((offset, names))
    });
    named.collect()
}

fn readable(file: File) -> Option<ReadCache<File>> {
    let fits = file.metadata().is_ok_and(|found| found.len() <= LARGEST_FILE);
    fits.then(|| ReadCache::new(file))
}

/// The address of a file offset in the memory that the program headers describe.
fn address_of(elf: &Elf, offset: u64) -> Option<u64> {
    elf.segments().find_map(|segment| {
        let (begin, length) = segment.file_range();
        let inside = offset.checked_sub(begin).filter(|inside| *inside < length)?;
        segment.address().checked_add(inside)
    })
}

fn debug_file(elf: &Elf) -> Option<PathBuf> {
    let id = elf.build_id().ok()??;
    let (first, rest) = id.split_first().filter(|(_, rest)| (1..64).contains(&rest.len()))?;
    Some(Path::new(DEBUG).join(format!("{first:02x}")).join(format!("{}.debug", hex::encode(rest))))
}

/// The functions by their symbols: begin, end, table and index of the symbol. Names are only read on demand, because a
/// file may have any number of any length.
struct Symbols<'a> {
    tables: Vec<SymbolTable<'a>>,
    functions: Vec<(u64, u64, usize, SymbolIndex)>,
}

type SymbolTable<'a> = ElfSymbolTable<'a, 'a, FileHeader64<Endianness>, &'a ReadCache<File>>;

impl<'a> Symbols<'a> {
    fn of(files: impl Iterator<Item = &'a Elf<'a>>) -> Self {
        let tables: Vec<SymbolTable> =
            files.flat_map(|elf| [elf.symbol_table(), elf.dynamic_symbol_table()]).flatten().collect();
        let mut functions = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            let code =
                table.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
            functions.extend(code.take(SYMBOLS).filter_map(|symbol| {
                let end = symbol.address().checked_add(symbol.size())?;
                Some((symbol.address(), end, number, symbol.index()))
            }));
        }
        functions.sort_unstable_by_key(|(begin, end, number, index)| (*begin, *end, *number, index.0));
        Self { tables, functions }
    }

    /// The function that contains an address. Of several names it is the first one in the file.
    fn at(&self, address: u64) -> Option<String> {
        let behind = self.functions.partition_point(|(begin, ..)| *begin <= address);
        let begin = self.functions[..behind].last()?.0;
        let first = self.functions.partition_point(|(other, ..)| *other < begin);
        let (_, _, table, index) =
            self.functions[first..behind].iter().find(|(_, end, ..)| address < *end)?;
        let symbol = self.tables[*table].symbol_by_index(*index).ok()?;
        Some(addr2line::demangle_auto(symbol.name().ok()?.into(), None).into_owned())
    }
}

/// The DWARF of a file, if it has any.
fn sections(elf: &Elf) -> Option<Sections> {
    elf.section_by_name(".debug_info")?;
    let mut left = 2 * LARGEST;
    let mut load =
        |name: &str| elf.section_by_name(name).map_or(Some(Vec::new()), |own| bytes(&own, &mut left));
    DwarfSections::load(|section| load(section.name()).ok_or(())).ok()
}

fn lines<'a>(sections: &'a Sections, elf: &Elf) -> Option<Lines<'a>> {
    let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    Lines::from_dwarf(sections.borrow(|bytes| EndianSlice::new(bytes, endian))).ok()
}

/// The unpacked contents of a section; `None` if it is too large or damaged.
fn bytes<'a>(section: &impl ObjectSection<'a>, left: &mut u64) -> Option<Vec<u8>> {
    let packed = section.compressed_data().ok()?;
    let size = packed.uncompressed_size;
    *left = left.checked_sub(size).filter(|_| size <= LARGEST)?;
    let mut unpacked = Vec::new();
    let read = match packed.format {
        CompressionFormat::None => packed.data.take(size).read_to_end(&mut unpacked),
        CompressionFormat::Zlib => {
            flate2::read::ZlibDecoder::new(packed.data).take(size).read_to_end(&mut unpacked)
        }
        CompressionFormat::Zstandard => {
            zstd::Decoder::new(packed.data).ok()?.take(size).read_to_end(&mut unpacked)
        }
        _ => return None,
    };
    read.ok().map(|_| unpacked)
}

/// The functions at an address with their lines, the innermost first. `symbol` is the function that is not inlined, for
/// DWARF that has only lines.
fn functions_at(lines: &Lines, program: &str, address: u64, symbol: Option<&str>) -> Vec<String> {
    let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else { return Vec::new() };
    let mut functions = Vec::new();
    while let (Ok(Some(frame)), ..INLINED) = (frames.next(), functions.len()) {
        let own = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
        let Some(name) = own.or_else(|| symbol.map(str::to_owned)) else { continue };
        let place = frame.location.and_then(|place| Some((place.file?.rsplit('/').next()?, place.line?)));
        functions.push(match place {
            Some((file, line)) => format!("{name} ({file}:{line})"),
            None => format!("{name} ({program})"),
        });
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::facts::mappings;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// Prints the address of a function and runs until its input ends.
    const PROGRAM: &str = "#include <stdio.h>
__attribute__((noinline)) int somewhere(void) { return getchar(); }
int main(void) { printf(\"%p\\n\", (void *)somewhere); fflush(stdout); return somewhere() == EOF; }
";

    #[test]
    fn function_of_a_program_has_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("app.c"), folder.path().join("app"));
        std::fs::write(&source, PROGRAM).unwrap();
        let built = Command::new("cc").args(["-g", "-o"]).args([&program, &source]).status().unwrap();
        assert!(built.success());
        let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
        let address = u64::from_str_radix(printed.trim().trim_start_matches("0x"), 16).unwrap();
        let maps = mappings(child.id() as i32);
        drop(child.stdin.take());
        child.wait().unwrap();

        let code = maps.iter().find(|code| (code.begin..code.end).contains(&address)).unwrap();
        let offset = code.offset_of(address + 1);
        let file = || File::open(&program).unwrap();
        let soon = Instant::now() + Duration::from_secs(60);
        let found = at(file(), "app", [offset, u64::MAX].into_iter(), soon);
        assert_eq!(found[&offset], ["somewhere (app.c:2)"]);
        assert_eq!(found.len(), 1, "behind the end of the file nothing is");
        assert!(at(file(), "app", [offset].into_iter(), Instant::now()).is_empty(), "there is no time");
    }

    #[test]
    fn other_files_have_no_functions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let soon = Instant::now() + Duration::from_secs(60);
        for bytes in [&b""[..], b"\x7fELF", &[0x7f; 5000]] {
            std::fs::write(&path, bytes).unwrap();
            assert!(at(File::open(&path).unwrap(), "x", [64].into_iter(), soon).is_empty());
        }
    }

    /// Code without a symbol does not belong to the function before it.
    #[test]
    fn address_is_in_a_function_or_in_none() {
        let index = SymbolIndex(1);
        let own = Symbols { tables: Vec::new(), functions: vec![(16, 32, 0, index), (48, 64, 0, index)] };
        assert_eq!([15, 32, 47, 64].map(|address| own.at(address)), [const { None }; 4]);
    }
}
