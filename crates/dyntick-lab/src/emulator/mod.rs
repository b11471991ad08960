// SPDX-License-Identifier: GPL-2.0-only
//! The C-state emulator: a kernel module that comes with dyntick as source. It is compiled for the kernel of a case,
//! and takes a machine's idle states as parameters. The book's chapter "Machines" says how it works and where it
//! differs from hardware.

mod headers;
mod libraries;
mod parameters;
pub mod records;

pub use parameters::parameters;

use dyntick_kernels::apt::AptError;
use dyntick_kernels::build::{self, BuildError};
use dyntick_kernels::cache::{Cache, CacheError, unused, write_whole};
use dyntick_kernels::find::Kernel;
use dyntick_kernels::programs::{self, end_with_this_one};
use dyntick_model::Recipe;
use dyntick_system::confine::Walls;
use headers::Headers;
use include_dir::{Dir, include_dir};
use rustix::process::Signal;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;

/// The module's name, which is also its driver's.
pub const NAME: &str = "cstate_emulator";

/// The folder of the module's files in the guest.
pub const FOLDER: &str = "/sys/kernel/debug/cstate_emulator";

static SOURCE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../kernel/cstate-emulator");

/// The modules in the cache, and what all of them may have, bytes.
const MODULES: &str = "modules";
const MOST_BYTES: u64 = 1 << 30;

/// The reason for which there is no module for a kernel.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// There are no headers to compile against.
    #[error(
        "the idle-state emulator cannot be compiled for {kernel}: {why}; choose a packaged kernel such as debian:6.12, or give the source in the study's [kernels]"
    )]
    NoHeaders {
        /// The kernel.
        kernel: String,
        /// The reason.
        why: String,
    },
    /// apt.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Compiling, or the kernel's build tree.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The module, compiled for this kernel: out of the cache, or compiled now. `recipe` is that of a
/// kernel that was built here.
pub fn module(
    kernel: &Kernel,
    recipe: Option<&Recipe>,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Vec<u8>, EmulatorError> {
    let folder = cache.folder::<EmulatorError>(&entry(kernel), |folder| {
        progress(&format!("compiling the idle-state emulator for {}", kernel.release));
        // For it to have room among the others.
        unused::keep_at_most(&cache.path(MODULES), MOST_BYTES);
        let place = folder.join("source");
        for file in SOURCE.files().filter(|file| file.path() != Path::new("Makefile")) {
            write_whole(&place.join(file.path()), file.contents())?;
        }
        compile(kernel, recipe, &place, cache, progress)?;
        build::take_module(&place, &file_name(), &folder.join(file_name()))?;
        dyntick_kernels::remove::remove_tree(&place)
            .map_err(|error| CacheError::from_io(&place, error).into())
    })?;
    unused::touch(&folder);
    let path = folder.join(file_name());
    std::fs::read(&path).map_err(|source| BuildError::Read { path, source }.into())
}

fn file_name() -> String {
    format!("{NAME}.ko")
}

/// The entry of the cache: the module's source, the kernel, and the tree whose Makefile compiles it. The kernel's image
/// alone would not do: an untrusted tree may come with Debian's image.
fn entry(kernel: &Kernel) -> String {
    let mut hash = Sha256::new();
    for file in SOURCE.files() {
        hash.update(file.path().as_os_str().as_encoded_bytes());
        hash.update((file.contents().len() as u64).to_le_bytes());
        hash.update(file.contents());
    }
    hash.update(&kernel.sha256);
    hash.update(compiled_by(kernel));
    format!("{MODULES}/{NAME}-{}", hex::encode(&hash.finalize()[..16]))
}

fn compiled_by(kernel: &Kernel) -> String {
    match (&kernel.built, &kernel.package, &kernel.tree) {
        (Some(built), ..) => format!("built {}", built.key),
        (None, Some((name, version)), _) => format!("package {name} {version}"),
        (None, None, Some(tree)) => format!("the tree {}", tree.display()),
        (None, None, None) => "the headers of the host".to_owned(),
    }
}

fn compile(
    kernel: &Kernel,
    recipe: Option<&Recipe>,
    source: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), EmulatorError> {
    let lack = |why: &str| no_headers(kernel, why);
    match (&kernel.built, recipe_of(kernel, recipe), &kernel.package) {
        (Some(built), Some(recipe), _) => Ok(build::module(recipe, built, source, cache, progress)?),
        (Some(_), None, _) => Err(lack(ONLY_KEY)),
        (None, _, Some(package)) => {
            let make = make(&headers::of_debian(package, cache, progress)?, source, &lack)?;
            Ok(build::make_module(make)?)
        }
        (None, ..) => {
            let (headers, folders) = headers::of_file(kernel).ok_or_else(|| lack(NO_HEADERS))?;
            let walls =
                Walls::new().map_err(|reason| lack(&format!("it would run in a sandbox: {reason}")))?;
            let walls = folders.iter().fold(walls, |walls, folder| walls.read(folder)).write(source);
            build::give_all(source)?;
            let mut make = make(&headers, source, &lack)?;
            let confined = walls.around(make.env("PATH", IN_USR)).map_err(BuildError::from)?;
            Ok(build::make_module(confined)?)
        }
    }
}

/// The recipe that is given for a kernel that was built here, else the one that it was built from.
fn recipe_of<'k>(kernel: &'k Kernel, given: Option<&'k Recipe>) -> Option<&'k Recipe> {
    given.or(kernel.built.as_ref().and_then(|built| built.recipe.as_ref()))
}

/// A kernel that was named by its key, from before its recipe was kept.
const ONLY_KEY: &str = "its recipe was not kept with it";

/// A kernel that was named by its path.
const NO_HEADERS: &str = "it was given as a file, without the tree that it was compiled in, and its headers are not installed here";

fn no_headers(kernel: &Kernel, why: &str) -> EmulatorError {
    EmulatorError::NoHeaders { kernel: kernel.release.to_string(), why: why.to_owned() }
}

/// The reason for which nothing can be compiled for a kernel, as far as it is known without asking Debian.
pub fn lacking(kernel: &Kernel, recipe: Option<&Recipe>) -> Option<EmulatorError> {
    match (&kernel.built, recipe_of(kernel, recipe), &kernel.package) {
        (Some(_), None, _) => Some(no_headers(kernel, ONLY_KEY)),
        (None, _, None) if headers::of_file(kernel).is_none() => Some(no_headers(kernel, NO_HEADERS)),
        _ => None,
    }
}

/// The search path for programs in a sandbox.
const IN_USR: &str = "/usr/local/bin:/usr/bin:/bin";

/// The compiler where that of a kernel is not installed, as of Debian's newest kernels.
const COMPILER: &str = "gcc";

/// The options of a configuration that an older compiler or pahole does not have, and that the emulator does not need:
/// `-fmin-function-alignment` (gcc 14), which `-falign-functions` replaces, and type information.
const WITHOUT: [&str; 2] = ["CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "CONFIG_DEBUG_INFO_BTF_MODULES="];

/// make against a kernel's headers, with the compiler that the kernel was compiled with: the flags in its
/// configuration are that one's. Where it is not installed, with the one that is. `lack` makes an error of what there
/// is not.
fn make(
    headers: &Headers,
    source: &Path,
    lack: &dyn Fn(&str) -> EmulatorError,
) -> Result<Command, EmulatorError> {
    let own = headers.compiler();
    let has_own = programs::find(&own).is_some();
    let compiler = if has_own { own.as_str() } else { COMPILER };
    if programs::find(compiler).is_none() {
        return Err(lack(&format!("the kernel was compiled with {own}, and no gcc is installed here")));
    }
    let mut command = Command::new("nice");
    end_with_this_one(&mut command, Signal::TERM);
    command.env_clear().env("LC_ALL", "C").env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["-n", "10", "make", "-s", "--no-print-directory", "-C"]).arg(&headers.folder);
    if let Some(makefile) = &headers.makefile {
        command.arg("-f").arg(makefile);
    }
    command.arg(format!("CC={compiler}")).arg(format!("M={}", source.display()));
    if !has_own {
        command.args(WITHOUT);
    }
    // After `make bzImage` alone: only a kernel that checks the versions of symbols asks for them.
    if !headers.folder.join("Module.symvers").is_file() {
        command.arg("KBUILD_MODPOST_WARN=1");
    }
    if headers.names_output() {
        command.arg(format!("KBUILD_OUTPUT={}", headers.folder.display()));
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn untrusted_tree_with_the_same_image_has_its_own_module() {
        let package = ("linux-image-6.12".to_owned(), "6.12.1-1".to_owned());
        let kernel = Kernel {
            spec: "debian:6.12".into(),
            release: "6.12.1".parse().unwrap(),
            image: "vmlinux".into(),
            modules: None,
            config: Default::default(),
            sha256: "ab".into(),
            source: String::new(),
            package: Some(package),
            fallback: None,
            built: None,
            tree: None,
        };
        let stranger = Kernel { package: None, ..kernel.clone() };
        assert_ne!(entry(&kernel), entry(&stranger));
        assert!(lacking(&kernel, None).is_none(), "Debian has its headers");
        let message = lacking(&stranger, None).unwrap().to_string();
        assert!(message.contains(&format!("6.12.1: {NO_HEADERS}; ")), "{message}");
    }

    #[test]
    fn complete_source_comes_with_the_binary() {
        let kbuild = SOURCE.get_file("Kbuild").and_then(|file| file.contents_utf8()).unwrap();
        let objects = kbuild.split_whitespace().filter_map(|word| word.strip_suffix(".o"));
        for object in objects.filter(|object| *object != NAME) {
            let has = |ending: &str| SOURCE.get_file(PathBuf::from(format!("{object}.{ending}"))).is_some();
            assert!(has("c") || has("S"), "{object}");
        }
    }
}
