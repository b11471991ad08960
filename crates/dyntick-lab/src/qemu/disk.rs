// SPDX-License-Identifier: GPL-2.0-only
//! The disk of a guest: a sparse file with an empty ext4, without a name, which QEMU has as an open file.
//!
//! The file system is made here, by mke2fs, before the guest has it. The host never reads the guest's data: it does not
//! mount or check the file system, and the file is gone when the last process closes it.

use crate::running::RunningFolder;
use dyntick_kernels::cache::{CacheError, ensure_space};
use dyntick_kernels::programs::{self, end_after, end_with_this_one};
use rustix::process::Signal;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A disk that a guest is to have.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The size.
    pub bytes: u64,
    /// The folder in which folders for what is not kept are made.
    pub place: PathBuf,
}

/// The reason for which there is no disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// No program that makes file systems.
    #[error(
        "mke2fs, which makes the file system of the guest's disk, is not on this machine: apt-get install e2fsprogs"
    )]
    NoMke2fs,
    /// mke2fs failed.
    #[error("mke2fs made no file system of {mib} MiB: {said}")]
    Mke2fs {
        /// The size, MiB.
        mib: u64,
        /// The output, or the status.
        said: String,
    },
    /// No room, or a file operation failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

const MKE2FS: &str = "mke2fs";

/// The configuration of mke2fs for ext4: that of this machine may have features that an older guest does not know.
/// These are of Linux 4.5 at the latest (`fs/ext4/ext4.h`: EXT4_FEATURE_*; ext4(5)).
const CONFIGURATION: &str = "\
[defaults]
\tbase_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
\tenable_periodic_fsck = 0
\tblocksize = 4096
\tinode_size = 256
\tinode_ratio = 16384
[fs_types]
\text4 = {
\t\tfeatures = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
\t}
";

/// The same file system each time, on every machine.
const UUID: &str = "0d9a7c52-6f0e-4c3b-9f0a-64796e746963";

/// mke2fs needs some 20 ms for 8 GiB, of which nearly all are holes.
const LIMIT_S: u32 = 60;

/// The set under which QEMU finds the file; KVM's device is in the first.
const FD_SET: u32 = 2;

impl Disk {
    /// Makes the file. It has no name any more when this returns, and takes no more space than is written.
    ///
    /// # Errors
    /// Where the disk of this machine has less than twice as much free, or mke2fs is not there or fails.
    pub fn make(&self) -> Result<File, DiskError> {
        // The guest may fill it at any time. As much again is left for what else is written meanwhile.
        ensure_space(&self.place, self.bytes.saturating_mul(2))?;
        let folder = RunningFolder::new(&self.place)?;
        let (image, configuration) = (folder.path().join("disk"), folder.path().join("mke2fs.conf"));
        let host = |error| CacheError::from_io(&image, error);
        std::fs::write(&configuration, CONFIGURATION).map_err(host)?;
        // No other user opens it while it has a name.
        let mut private = File::options();
        let file = private.read(true).write(true).create_new(true).mode(0o600).open(&image).map_err(host)?;
        file.set_len(self.bytes).map_err(host)?;
        self.format(&image, &configuration)?;
        Ok(file)
    }

    fn format(&self, image: &Path, configuration: &Path) -> Result<(), DiskError> {
        let mut mke2fs = Command::new(programs::find(MKE2FS).ok_or(DiskError::NoMke2fs)?);
        mke2fs.env_clear().env("LC_ALL", "C").env("MKE2FS_CONFIG", configuration);
        mke2fs.args(["-q", "-F", "-t", "ext4", "-m", "0", "-U", UUID]);
        // Nothing is left to be initialised later: the guest's kernel would do it in the window.
        let at_once = "lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0";
        mke2fs.arg("-E").arg(format!("hash_seed={UUID},{at_once}")).arg(image);
        end_with_this_one(&mut mke2fs, Signal::KILL);
        end_after(&mut mke2fs, LIMIT_S);
        let failed = |said| DiskError::Mke2fs { mib: self.bytes >> 20, said };
        let ended = mke2fs.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        match (ended.status.success(), said.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err(failed(ended.status.to_string())),
            (false, false) => Err(failed(said)),
        }
    }
}

/// The arguments of QEMU for the file, which is passed to it open: in its sandbox it could not open it by name. A flush
/// of the guest's flushes the host's file.
pub(super) fn arguments(file: &File) -> [String; 6] {
    let number = file.as_raw_fd();
    [
        "-add-fd".to_owned(),
        format!("fd={number},set={FD_SET}"),
        "-blockdev".to_owned(),
        format!("driver=file,node-name=disk,filename=/dev/fdset/{FD_SET},discard=unmap"),
        "-device".to_owned(),
        "virtio-blk-pci,drive=disk".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    fn disk(bytes: u64, place: &Path) -> Disk {
        Disk { bytes, place: place.to_owned() }
    }

    #[test]
    fn a_sparse_file_without_a_name() {
        let place = tempfile::tempdir().unwrap();
        let bytes = 256 << 20;
        let file = disk(bytes, place.path()).make().unwrap();
        let (found, mut magic) = (file.metadata().unwrap(), [0; 2]);
        // The superblock begins at 1024 and has its magic at 0x38 (fs/ext4/ext4.h: struct ext4_super_block).
        file.read_exact_at(&mut magic, 1024 + 0x38).unwrap();
        assert_eq!(u16::from_le_bytes(magic), 0xef53);
        assert_eq!((found.len(), found.nlink(), found.mode() & 0o777), (bytes, 0, 0o600));
        assert!(found.blocks() * 512 < bytes / 4, "{} blocks of a sparse file", found.blocks());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_this_machine_has_no_room_for_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let error = disk(1 << 60, place.path()).make().unwrap_err().to_string();
        assert!(error.contains("MiB free"), "{error}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn output_of_mke2fs_is_reported() {
        let place = tempfile::tempdir().unwrap();
        // Too small for any file system.
        let error = disk(4096, place.path()).make().unwrap_err();
        assert!(matches!(&error, DiskError::Mke2fs { said, .. } if !said.is_empty()), "{error}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
