// SPDX-License-Identifier: GPL-2.0-only
//! The "newc" cpio archives that the kernel unpacks as its first root file system
//! (`Documentation/driver-api/early-userspace/buffer-format.rst`).

use std::collections::BTreeSet;
use std::path::Path;

/// The kind of an entry, with its permission bits.
const DIRECTORY: u32 = 0o040755;
const EXECUTABLE: u32 = 0o100755;
const CHARACTER_DEVICE: u32 = 0o020600;
const SYMBOLIC_LINK: u32 = 0o120777;

/// An archive under construction. The same entries in the same order give the same bytes:
/// owners, times and inode numbers are fixed.
#[derive(Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    inode: u32,
    directories: BTreeSet<String>,
}

impl Cpio {
    /// Adds a file that may be executed. `path` is absolute; missing parents are added.
    pub fn file(&mut self, path: &str, contents: &[u8]) {
        self.parents(path);
        self.entry(path, EXECUTABLE, contents, (0, 0));
    }

    /// Adds an empty directory.
    pub fn directory(&mut self, path: &str) {
        self.parents(path);
        if self.directories.insert(path.to_owned()) {
            self.entry(path, DIRECTORY, &[], (0, 0));
        }
    }

    /// Adds a character device node, as the console that the kernel opens for PID 1.
    pub fn character_device(&mut self, path: &str, major: u32, minor: u32) {
        self.parents(path);
        self.entry(path, CHARACTER_DEVICE, &[], (major, minor));
    }

    /// Adds a symbolic link to `target`; missing parents are added.
    pub fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.entry(path, SYMBOLIC_LINK, target.as_bytes(), (0, 0));
    }

    /// The finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.inode = 0;
        self.entry("/TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    fn parents(&mut self, path: &str) {
        if let Some(parent) = Path::new(path).parent().and_then(Path::to_str).filter(|p| *p != "/") {
            self.directory(parent);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8], device: (u32, u32)) {
        let name = path.trim_start_matches('/');
        self.inode += 1;
        let fields = [
            self.inode,
            mode,
            0, // owner
            0, // group
            1, // links
            0, // time of change
            contents.len() as u32,
            0, // major and minor number of the device that it is on
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0, // checksum, unused in this variant
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut cpio = Cpio::default();
        cpio.file("/usr/bin/tool", b"contents");
        cpio.character_device("/dev/console", 5, 1);
        cpio.link("/bin/self", "/usr/bin/tool");
        cpio.finish()
    }

    #[test]
    fn same_entries_same_bytes() {
        assert_eq!(sample(), sample());
    }

    #[test]
    fn the_real_cpio_reads_it() {
        let Ok(mut child) = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            eprintln!("skipped: no cpio on this machine to read the archive back");
            return;
        };
        child.stdin.take().unwrap().write_all(&sample()).unwrap();
        let output = child.wait_with_output().unwrap();
        let listing = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        for name in ["usr/bin/tool", "dev/console", "bin/self -> /usr/bin/tool"] {
            assert!(listing.contains(name), "{name} is missing in:\n{listing}");
        }
    }
}
