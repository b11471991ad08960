// SPDX-License-Identifier: GPL-2.0-only
//! Compiles a governor's file, with headers that stand in for the kernel's, to a program.

use crate::ReplayError;
use crate::governor::Governor;
use dyntick_kernels::cache::unused::{self, InUse};
use dyntick_kernels::cache::{Cache, CacheError, is_intact, write_whole};
use dyntick_kernels::hash::{Contents, of_parts};
use dyntick_kernels::programs;
use dyntick_model::text::clean_line;
use dyntick_system::confine::{self, Walls};
use dyntick_system::read_regular;
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use tempfile::TempDir;

const KERNEL_H: &str = include_str!("standin/kernel.h");
const PROTOCOL_H: &str = include_str!("standin/protocol.h");
const RUNNER_C: &str = include_str!("standin/runner.c");

/// The compiler's time, s.
const TIME_LIMIT: u32 = 120;

/// The folder of the cache with compiled governors.
const FOLDER: &str = "governors";
/// The limit of all together, bytes; each has less than 1 MiB, unless its source has large tables.
const MOST_BYTES: u64 = 1 << 30;
/// The largest governor, bytes.
const LARGEST: u64 = 64 << 20;
/// The files of an entry: the program, and its hash.
const PROGRAM: &str = "governor";
const SHA256: &str = "sha256";
/// The words of each call of the compiler.
const ALWAYS: [&str; 2] = ["-O2", "-std=gnu11"];

/// A compiled governor.
pub struct Program {
    /// The governor's name.
    pub name: String,
    /// The sandbox, which shows the executable.
    pub(crate) walls: Walls,
    /// The executable, in the cache.
    pub(crate) path: PathBuf,
    /// Keeps it there.
    _in_use: InUse,
}

/// Compiles governors. What it has made is in the cache: many replays of a sweep compile each variant once.
pub struct Compiler {
    walls: Walls,
    cache: Cache,
    /// The compiler, the linker and the library.
    identity: String,
    /// The compiled runner, which is the same for all; nothing before it is needed.
    runner: Mutex<Vec<u8>>,
}

impl Compiler {
    /// The compiler of this machine.
    ///
    /// # Errors
    /// Without a compiler or a sandbox.
    pub fn new(cache: Cache) -> Result<Self, ReplayError> {
        if programs::find("cc").is_none() {
            return Err(ReplayError::NoCompiler);
        }
        Ok(Self { walls: Walls::new()?, cache, identity: identity()?, runner: Mutex::default() })
    }

    /// Compiles a governor for a kernel with `hz` ticks per second, unless the cache has it.
    ///
    /// # Errors
    /// If the governor needs a name that the stand-in lacks.
    pub fn compile(&self, governor: &Governor, hz: u32) -> Result<Program, ReplayError> {
        let words = words(governor, hz);
        let entry = format!("{FOLDER}/{}", self.key(governor, &words));
        // Another process may remove it before it is held, and what is damaged is made anew.
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            let folder =
                self.cache.folder::<ReplayError>(&entry, |folder| self.make(governor, &words, folder))?;
            let Some(in_use) = InUse::of(&folder) else { continue };
            if is_whole(&folder) {
                let name = governor.name.clone();
                let walls = self.walls.clone().read(&folder);
                return Ok(Program { name, walls, path: folder.join(PROGRAM), _in_use: in_use });
            }
            self.cache.discard(&entry)?;
        }
        Err(CacheError::Unsteady(self.cache.path(&entry)).into())
    }

    /// All that decides what is compiled.
    fn key(&self, governor: &Governor, words: &[String]) -> String {
        let mut parts = vec![self.identity.as_str(), KERNEL_H, PROTOCOL_H, RUNNER_C];
        parts.extend(ALWAYS);
        parts.extend(words.iter().map(String::as_str));
        parts.extend(governor.stand_in.as_deref());
        parts.extend(governor.files.iter().flat_map(|file| [file.name.as_str(), file.text.as_str()]));
        of_parts(&parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>())
    }

    /// Compiles a governor into an entry of the cache.
    fn make(&self, governor: &Governor, words: &[String], entry: &Path) -> Result<(), ReplayError> {
        let runner = self.runner()?;
        let place = Place::new(|folder| {
            std::fs::write(folder.join("runner.o"), runner)?;
            lay_out(governor, folder)
        })?;
        self.run(&place, &governor.name, words)?;
        let program = entry.join(PROGRAM);
        write_whole(&program, &read_regular(&place.real.join("built/governor"), LARGEST)?)?;
        let runs = std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755));
        runs.map_err(|error| CacheError::from_io(&program, error))?;
        write_whole(&entry.join(SHA256), Contents::of(&program, LARGEST)?.sha256.as_bytes())?;
        Ok(())
    }

    /// The compiled runner. Others wait while one compiles it.
    fn runner(&self) -> Result<Vec<u8>, ReplayError> {
        let mut runner = self.runner.lock().unwrap_or_else(|error| error.into_inner());
        if runner.is_empty() {
            // Once a process, since all entries are looked at: for the next ones to have room.
            unused::keep_at_most(&self.cache.path(FOLDER), MOST_BYTES);
            let place = Place::new(|folder| {
                for (name, text) in
                    [("kernel.h", KERNEL_H), ("protocol.h", PROTOCOL_H), ("runner.c", RUNNER_C)]
                {
                    std::fs::write(folder.join(name), text)?;
                }
                Ok(())
            })?;
            self.run(&place, "the runner", &["-c", "runner.c", "-o", "built/runner.o"].map(str::to_owned))?;
            *runner = std::fs::read(place.real.join("built/runner.o"))?;
        }
        Ok(runner.clone())
    }

    fn run(&self, place: &Place, name: &str, arguments: &[String]) -> Result<(), ReplayError> {
        let mut inner = command("cc");
        inner.args(ALWAYS).args(arguments).current_dir(&place.real);
        let walls = self.walls.clone().read(&place.real).write(&place.real.join("built"));
        let mut outer = walls.around(&inner)?;
        programs::end_after(&mut outer, TIME_LIMIT);
        let output = outer.stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(meaning(name, &String::from_utf8_lossy(&output.stderr)))
    }
}

/// The arguments of the compiler for a governor.
fn words(governor: &Governor, hz: u32) -> Vec<String> {
    let mut words = ["-static", "-nostdinc", "-Iheaders", "-include", "kernel.h"].map(str::to_owned).to_vec();
    if governor.stand_in.is_some() {
        words.extend(["-include", "more.h"].map(str::to_owned));
    }
    // Without a declaration a function would return an int.
    words.extend(["-Werror=implicit-function-declaration", "-Werror=int-conversion"].map(str::to_owned));
    words.push(format!("-DHZ={hz}"));
    words.extend(governor.defines.iter().map(|define| format!("-D{}={}", define.name, define.value)));
    words.extend([format!("source/{}", governor.main), "runner.o".to_owned()]);
    words.extend(["-o", "built/governor"].map(str::to_owned));
    words
}

/// True if the program of an entry is the one that was put there.
fn is_whole(entry: &Path) -> bool {
    const DIGITS: u64 = 64;
    let sha256 = read_regular(&entry.join(SHA256), DIGITS).unwrap_or_default();
    is_intact(&entry.join(PROGRAM), &String::from_utf8_lossy(&sha256))
}

/// A program in /usr with an environment that changes nothing of what it makes.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", programs::path_in_usr()).env("LC_ALL", "C").env("HOME", "/tmp");
    command
}

/// The answer of a program of the toolchain.
fn said(program: &str, question: &str) -> Result<String, ReplayError> {
    let output = command(program).arg(question).current_dir("/").stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The compiler and the linker in their own words, and the library that is linked, which has no words.
fn identity() -> Result<String, ReplayError> {
    let library = said("cc", "-print-file-name=libc.a")?;
    let found = std::fs::metadata(library.trim_end())
        .map(|found| format!("{} {} {}", found.len(), found.mtime(), found.mtime_nsec()));
    Ok([said("cc", "--version")?, said("ld", "--version")?, library, found.unwrap_or_default()].join("\n"))
}

/// A folder that is compiled in.
struct Place {
    real: PathBuf,
    /// Removed with this.
    _folder: TempDir,
}

impl Place {
    fn new(lay_out: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<Self, ReplayError> {
        let folder = TempDir::with_prefix("dyntick-replay-")?;
        let real = confine::real_path(folder.path());
        lay_out(&real)?;
        let built = real.join("built");
        std::fs::create_dir(&built)?;
        confine::give(&built)?;
        open_to_readers(&real)?;
        Ok(Self { real, _folder: folder })
    }
}

fn lay_out(governor: &Governor, place: &Path) -> std::io::Result<()> {
    let (headers, source) = (place.join("headers"), place.join("source"));
    std::fs::create_dir(&headers)?;
    std::fs::create_dir(&source)?;
    std::fs::write(place.join("kernel.h"), KERNEL_H)?;
    if let Some(more) = &governor.stand_in {
        std::fs::write(place.join("more.h"), more)?;
    }
    for file in &governor.files {
        std::fs::write(source.join(&file.name), &file.text)?;
        for header in included(&file.text) {
            let path = headers.join(&header);
            std::fs::create_dir_all(path.parent().unwrap_or(&headers))?;
            std::fs::write(path, "")?;
        }
    }
    Ok(())
}

/// Lets the sandbox's user read what this user's umask may forbid.
fn open_to_readers(place: &Path) -> std::io::Result<()> {
    let mut folders = vec![place.to_owned()];
    while let Some(folder) = folders.pop() {
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755))?;
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                std::fs::set_permissions(entry.path(), PermissionsExt::from_mode(0o644))?;
            }
        }
    }
    Ok(())
}

/// The headers of the kernel that a file includes: names in angle brackets without `..`.
fn included(text: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        let name = rest.trim_start().strip_prefix('<')?.split_once('>')?.0.to_owned();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let is_inner = dyntick_system::is_inner(Path::new(&name));
        (is_inner && name.chars().all(is_plain)).then_some(name)
    };
    text.lines().filter_map(name).collect()
}

/// Words of gcc, clang and ld before the name of what is missing, which is in quotes.
const MISSING: [&str; 8] = [
    "implicit declaration of function ",
    "call to undeclared function ",
    "unknown type name ",
    "use of undeclared identifier ",
    "undefined reference to ",
    "no member named ",
    "storage size of ",
    "invalid use of undefined type ",
];

/// The compiler's message as an error.
fn meaning(governor: &str, said: &str) -> ReplayError {
    let errors =
        || said.lines().filter(|line| line.contains("error: ") || line.contains("undefined reference"));
    for line in errors() {
        if line.contains("undefined reference")
            && quoted(line, "undefined reference to ") == Some("dyntick_init")
        {
            return ReplayError::NotRegistered { governor: governor.to_owned() };
        }
        if let Some(name) = missing(line) {
            let (name, place) = (clean_line(name), place(line));
            return ReplayError::Missing { governor: governor.to_owned(), name, place };
        }
    }
    let first = errors().next().or_else(|| said.lines().next()).unwrap_or("cc ended without a message");
    ReplayError::Compile { governor: governor.to_owned(), message: clean_line(first) }
}

fn missing(line: &str) -> Option<&str> {
    let found = MISSING.iter().find_map(|words| quoted(line, words));
    found.or_else(|| {
        // gcc: 'NAME' undeclared
        let (before, _) = line.split_once(" undeclared")?;
        before.trim_end_matches('\'').rsplit('\'').next()
    })
}

/// The word in quotes after these words.
fn quoted<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let rest = line.split_once(words)?.1.strip_prefix(['\'', '`'])?;
    rest.split('\'').next()
}

/// File and line of a message, without the folders.
fn place(line: &str) -> String {
    let mut parts = line.split(':');
    let file = parts.next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    match parts.next().and_then(|number| number.parse::<u32>().ok()) {
        Some(number) => clean_line(&format!("{file}:{number}")),
        None => "when it is linked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_headers_stay_inside() {
        let text = "#include <linux/kernel.h>\n #  include <asm/io.h> /* x */\n#include \"gov.h\"\n#include <../x.h>\n#include </etc/x>";
        assert_eq!(included(text).into_iter().collect::<Vec<_>>(), ["asm/io.h", "linux/kernel.h"]);
    }

    #[test]
    fn a_missing_name_is_found_in_the_compilers_words() {
        let said = |line: &str| meaning("menu", line).to_string();
        for (line, name, place) in [
            (
                "source/menu.c:12:3: error: implicit declaration of function 'cpu_power' [-Werror]",
                "cpu_power",
                "menu.c:12",
            ),
            ("source/menu.c:7:1: error: unknown type name 'rwlock_t'", "rwlock_t", "menu.c:7"),
            (
                "source/menu.c:9:2: error: 'TICK_X' undeclared (first use in this function)",
                "TICK_X",
                "menu.c:9",
            ),
            ("source/a.c:9:2: error: 'struct cpuidle_device' has no member named 'x'", "x", "a.c:9"),
            ("menu.c:(.text+0x1): undefined reference to `cpu_x'", "cpu_x", "when it is linked"),
        ] {
            let words = format!("needs '{name}' of the kernel ({place})");
            assert!(said(line).contains(&words), "{}", said(line));
        }
        assert!(said("x.o: undefined reference to `dyntick_init'").contains("registers no governor"));
        assert!(said("source/m.c:1:1: error: expected ';'").contains("expected ';'"));
    }
}
