// SPDX-License-Identifier: GPL-2.0-only
//! The seal of a run, which proves that this user made it. A folder may also have come with a study, and its contents
//! would then be believed instead of run (invariant 8).

use crate::compared::comparable_files;
use crate::names::{RAW, SEAL};
use crate::opened::{Opened, close_to_others};
use dyntick_kernels::cache::{Cache, CacheError, write_whole};
use dyntick_kernels::hash::Contents;
use dyntick_system::read_beneath;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::LazyLock;

/// The file of the cache with the secret.
const SECRET: &str = "seal.secret";
const LENGTH: usize = 32;

/// Seals runs, and knows its own seal (HMAC-SHA-256 over the names and contents of a run's files) by a secret
/// in the user's cache.
pub struct Sealer {
    secret: [u8; LENGTH],
}

impl Sealer {
    /// A sealer with the secret of this cache, which is made if there is none.
    pub fn of(cache: &Cache) -> Result<Self, CacheError> {
        let _lock = cache.lock(SECRET)?;
        if let Some(sealer) = Self::known(cache) {
            return Ok(sealer);
        }
        let path = cache.path(SECRET);
        let failed = |error| CacheError::from_io(&path, error);
        let mut secret = [0; LENGTH];
        let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut secret));
        random.map_err(failed)?;
        // A temporary file is readable by its owner only, and stays so.
        let mut file = tempfile::NamedTempFile::new_in(cache.root()).map_err(failed)?;
        file.write_all(hex::encode(secret).as_bytes()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(Self { secret })
    }

    /// A sealer with the secret of this cache, if there is one.
    pub fn known(cache: &Cache) -> Option<Self> {
        let text = std::fs::read(cache.path(SECRET)).ok()?;
        let mut secret = [0; LENGTH];
        hex::decode_to_slice(text, &mut secret).ok()?;
        Some(Self { secret })
    }

    /// Seals a run as it is now.
    pub fn seal(&self, folder: &Path) -> Result<(), CacheError> {
        let path = folder.join(SEAL);
        let seal = self.over(folder).map_err(|error| CacheError::from_io(&path, error))?;
        write_whole(&path, hex::encode(seal.finalize().into_bytes()).as_bytes())?;
        close_to_others(folder).map_err(|error| CacheError::from_io(folder, error))
    }

    /// Returns true if the run is as this user sealed it, and no other user can change it any more.
    pub fn holds(&self, run: &Opened) -> bool {
        let folder = run.place();
        if !run.is_own(RAW) {
            return false;
        }
        let seal = seal_of(folder).and_then(|text| hex::decode(text).ok());
        let over = self.over(folder).ok();
        over.zip(seal).is_some_and(|(over, seal)| over.verify_slice(&seal).is_ok())
    }

    /// The seal of the analysis that this program made of a run; none without the run's own seal.
    pub fn seal_analysis(&self, folder: &Path, text: &[u8]) -> Option<String> {
        self.over_analysis(folder, text).map(|over| hex::encode(over.finalize().into_bytes()))
    }

    /// Returns true if this program made this analysis of a run, and this user sealed it.
    pub fn holds_analysis(&self, folder: &Path, seal: &[u8], text: &[u8]) -> bool {
        let over = self.over_analysis(folder, text).zip(hex::decode(seal).ok());
        over.is_some_and(|(over, seal)| over.verify_slice(&seal).is_ok())
    }

    /// The analysis of another run, or by another program, has another seal.
    fn over_analysis(&self, folder: &Path, text: &[u8]) -> Option<Hmac<Sha256>> {
        static PROGRAM: LazyLock<Option<String>> = LazyLock::new(own_sha256);
        let mut over = Hmac::new_from_slice(&self.secret).ok()?;
        // All but the last have a known length.
        for part in [b"analysis\0".as_slice(), PROGRAM.as_ref()?.as_bytes(), &seal_of(folder)?, text] {
            over.update(part);
        }
        Some(over)
    }

    fn over(&self, folder: &Path) -> std::io::Result<Hmac<Sha256>> {
        let mut over = Hmac::new_from_slice(&self.secret).map_err(std::io::Error::other)?;
        for (name, contents) in comparable_files(folder)? {
            // A name ends with a NUL, which none has within.
            over.update(format!("{name}\0{}\0{}\n", contents.bytes, contents.sha256).as_bytes());
        }
        Ok(over)
    }
}

/// The text of a run's seal.
fn seal_of(folder: &Path) -> Option<Vec<u8>> {
    read_beneath(folder, Path::new(SEAL), 2 * LENGTH as u64).ok()
}

/// The SHA-256 of this program's file.
fn own_sha256() -> Option<String> {
    let path = Path::new("/proc/self/exe");
    let contents = Contents::of_open(&File::open(path).ok()?, path, u64::MAX);
    contents.ok().map(|contents| contents.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn changed_run_does_not_have_its_seal() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        assert!(Sealer::known(&cache).is_none());
        let sealer = Sealer::of(&cache).unwrap();
        let rights = cache.path(SECRET).metadata().unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600);
        let run = dir.path().join("run");
        std::fs::create_dir_all(run.join("raw")).unwrap();
        std::fs::write(run.join("run.toml"), "asked").unwrap();
        std::fs::write(run.join("raw/trace"), "events").unwrap();
        assert!(!sealer.holds(&Opened::at(&run).unwrap()), "not sealed");
        sealer.seal(&run).unwrap();
        assert!(
            sealer.holds(&Opened::at(&run).unwrap())
                && Sealer::of(&cache).unwrap().holds(&Opened::at(&run).unwrap())
        );
        std::fs::write(run.join("timing.json"), "times differ").unwrap();
        assert!(sealer.holds(&Opened::at(&run).unwrap()));
        let another = Sealer::of(&Cache::at(dir.path().join("another"))).unwrap();
        assert!(!another.holds(&Opened::at(&run).unwrap()), "a run of somebody else");
        std::fs::rename(run.join("raw"), dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), run.join("raw")).unwrap();
        assert!(!sealer.holds(&Opened::at(&run).unwrap()), "nothing is read through a link");
        std::fs::remove_file(run.join("raw")).unwrap();
        std::fs::rename(dir.path().join("elsewhere"), run.join("raw")).unwrap();
        for (file, text) in [("raw/trace", "others"), ("raw/more", ""), ("seal", "zz"), ("seal", "")] {
            sealer.seal(&run).unwrap();
            std::fs::write(run.join(file), text).unwrap();
            assert!(!sealer.holds(&Opened::at(&run).unwrap()), "{file}");
        }
    }
}
