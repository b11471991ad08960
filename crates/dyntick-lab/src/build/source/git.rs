// SPDX-License-Identifier: GPL-2.0-only
//! Sources in git repositories, here or elsewhere: one commit of them.

use super::{BuildError, unpack};
use crate::build::program::{run, run_unquoted};
use crate::cache::{Cache, unused};
use crate::programs::{end_after, end_with_this_one, limit, without_devices};
use crate::remove::remove_tree;
use dyntick_system::private_folder;
use rustix::process::{Resource, Signal};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use tempfile::TempDir;

/// A commit, and where it is on this machine.
pub struct Commit {
    /// The folder with the objects of a repository.
    objects: PathBuf,
    /// Its whole hash.
    pub hash: String,
}

/// How repositories elsewhere are reached: by what says nothing of who asks. Not `ssh`, which does as the user's own
/// configuration says and offers the user's keys to whom a study names; not `ext`, which runs a command; and not `file`: what
/// is on this machine is named by its path.
const TRANSPORTS: &str = "https:git";

/// What a repository's own configuration could otherwise have git run, and what only takes time.
const SETTINGS: [&str; 17] = [
    // `$Format:%G?$` in a file with export-subst has git verify the commit's signature by these.
    "gpg.program=/bin/false",
    "gpg.openpgp.program=/bin/false",
    "gpg.x509.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    // Whose ticket the user has is no server's business.
    "http.emptyAuth=false",
    // What is fetched is of the server that the study names.
    "http.followRedirects=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.alternateRefsCommand=true",
    // Damaged ones end git by a signal; it only saves time to read them.
    "core.multiPackIndex=false",
    "core.commitGraph=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    // Whose a repository is does not matter where nothing of it is run.
    "safe.directory=*",
];

/// Where copies of repositories elsewhere are in the cache.
const COPIES: &str = "git";
/// All of them together have at most so many bytes; a commit of a kernel has 250 MiB.
const MOST_BYTES: u64 = 8 << 30;

/// The memory of git itself, bytes.
const MEMORY: u64 = 2 << 30;

/// What git looks up in a repository on this machine is there at once; on a slow disk it takes seconds.
const LOOK_UP: u32 = 60;
/// The files of a kernel are looked through or copied in a minute, a whole history's packs behind them in some.
const LOOK_THROUGH: u32 = 30 * 60;

/// One commit of a kernel has 250 MiB; a server that says nothing is not waited for without end.
const FETCH: u32 = 3 * 3600;

/// Finds `REPOSITORY#REVISION`; without a revision, what is checked out. A repository elsewhere is
/// asked for that one commit only.
pub fn find(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Commit, BuildError> {
    let (repository, revision) = text.split_once('#').unwrap_or((text, "HEAD"));
    // Those search by a regular expression, which may take any time and memory.
    if revision.contains(":/") || revision.contains("{/") {
        let message = "name a branch, a tag or a commit, not the text of a message".to_owned();
        return Err(BuildError::Failed { what: format!("find '{revision}'"), message });
    }
    let is_elsewhere = ["https://", "git://"].iter().any(|way| repository.starts_with(way));
    // A folder may have such a name.
    if !is_elsewhere && Path::new(repository).exists() {
        return here(Path::new(repository), revision);
    }
    if !is_elsewhere {
        let message = "it is no folder here, and its address begins with neither https:// nor git://; clone one that asks \
            who you are yourself, and name its folder";
        return Err(BuildError::Failed { what: format!("fetch {repository}"), message: message.to_owned() });
    }
    if names_a_user(repository) {
        let message = "leave the user and the password out of its address, which the report shows; clone it yourself, and name \
            its folder";
        return Err(BuildError::Failed {
            what: "fetch a repository".to_owned(),
            message: message.to_owned(),
        });
    }
    // `a:b` would write another reference of the copy.
    if revision.starts_with(['+', '^']) || revision.contains([':', '*']) {
        let message = "a revision is a branch, a tag or a commit".to_owned();
        return Err(BuildError::Failed { what: format!("fetch '{revision}'"), message });
    }
    let name = hex::encode(&Sha256::digest(repository)[..6]);
    let copy = cache.path(&format!("{COPIES}/{name}"));
    let _lock = cache.lock(&format!("{COPIES}/{name}"))?;
    unused::keep_at_most(&cache.path(COPIES), MOST_BYTES);
    progress(&format!("fetching {revision} of {repository}"));
    prepare(&copy)?;
    remove_unfinished(&copy.join("objects/pack"));
    let what = format!("fetch {revision} of {repository}");
    let mut fetch = git(&copy);
    fetch.env("GIT_ALLOW_PROTOCOL", TRANSPORTS).env("GIT_TERMINAL_PROMPT", "0");
    fetch.args(["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]);
    end_after(&mut fetch, FETCH);
    run(&what, fetch.args(["--", repository, revision]))?;
    unused::touch(&copy);
    here(&copy, "FETCH_HEAD")
}

/// Whether an address has a user before its host, as `https://user:password@host/path`.
fn names_a_user(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|host| host.contains('@'))
}

/// Removes what a fetch that was ended has left, which nothing reads.
fn remove_unfinished(packs: &Path) {
    for entry in std::fs::read_dir(packs).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("tmp_") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// An empty repository, with neither hooks nor settings of the user's template.
fn prepare(place: &Path) -> Result<(), BuildError> {
    let mut init = git(Path::new("."));
    init.args(["init", "--quiet", "--bare", "--template="])
        .arg(std::path::absolute(place).unwrap_or_else(|_| place.into()));
    run("prepare a git repository", &mut init).map(|_| ())
}

fn here(repository: &Path, revision: &str) -> Result<Commit, BuildError> {
    refuse_special_files(repository)?;
    let parsed = |what: &str, words: &[&str]| -> Result<String, BuildError> {
        let mut git = git(repository);
        without_devices(&mut git);
        end_after(&mut git, LOOK_UP);
        let output = ask(what, repository, git.arg("rev-parse").args(words))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    };
    let what = format!("find the revision '{revision}' in {}", repository.display());
    let hash = parsed(&what, &["--verify", "--end-of-options", &format!("{revision}^{{commit}}")])?;
    let objects = parsed(&what, &["--git-path", "objects"])?;
    Ok(Commit { hash, objects: repository.join(objects) })
}

/// Asks git about a repository, whose files may be links to others of this machine: git quotes what it does not understand.
pub fn ask(what: &str, repository: &Path, command: &mut Command) -> Result<Output, BuildError> {
    let place = repository.display();
    let message = format!("git finds none, or cannot read the repository; `git -C {place} status` says more");
    run_unquoted(what, command, &message)
}

/// Refuses FIFOs and devices among what git reads in a repository: it would wait for them without end. What a
/// repository elsewhere has, which it may name, is met by git's time.
pub fn refuse_special_files(repository: &Path) -> Result<(), BuildError> {
    let inner = repository.join(".git");
    let folder = if inner.is_dir() { &inner } else { repository };
    for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
        // Of a link it is what the link leads to.
        let Ok(kind) = entry.path().metadata().map(|found| found.file_type()) else { continue };
        if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
            dyntick_system::open_regular(entry.path())?;
        }
    }
    Ok(())
}

/// Gives git, which reads what a stranger made, the time that it takes to look through a whole repository, and no device.
pub fn in_time(mut git: Command) -> Command {
    without_devices(&mut git);
    end_after(&mut git, LOOK_THROUGH);
    git
}

/// Unpacks the files of a commit. git reads its objects out of a repository without any settings: filters
/// that `.gitattributes` asks for are commands of the repository's configuration.
pub fn unpack(commit: &Commit, folder: &Path) -> Result<(), BuildError> {
    let what = format!("read commit {}", commit.hash);
    let failed = |message: String| BuildError::Failed { what: what.clone(), message };
    let copy = folder_beside(folder).map_err(|error| failed(error.to_string()))?;
    copy_objects(commit, copy.path())?;
    let mut archive = in_time(git(copy.path()));
    archive.args(["archive", "--format=tar", "--prefix=linux/", &commit.hash]).stdout(Stdio::piped());
    // git quotes the tree's own attributes as they are, and a terminal would take them.
    archive.stdin(Stdio::null()).stderr(Stdio::null());
    end_with_this_one(&mut archive, Signal::TERM);
    let mut child = archive.spawn().map_err(|error| failed(error.to_string()))?;
    let unpacked =
        child.stdout.take().map(|stdout| unpack::stream(stdout, folder, &format!("commit {}", commit.hash)));
    let ended = child.wait().map_err(|error| failed(error.to_string()))?;
    // Where the archive is refused, git ends too, for nobody reads on.
    unpacked.transpose()?;
    if ended.success() { Ok(()) } else { Err(failed(format!("git ended with {ended}"))) }
}

/// An empty folder that nobody else may enter. Its name is fixed, so that what a killed process left is removed.
fn folder_beside(folder: &Path) -> std::io::Result<TempDir> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let (name, place) = (format!("{name}{}", unused::OBJECTS), folder.parent().unwrap_or(folder));
    remove_tree(&place.join(&name))?;
    tempfile::Builder::new()
        .prefix(&name)
        .rand_bytes(0)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(place)
}

/// Copies the objects of a commit into a repository of their own, where each has the name that its contents
/// make: git believes what a repository says that an object is called, and somebody else's may hold another
/// text under the name of a known commit's file. Such a commit lacks that object here.
fn copy_objects(commit: &Commit, copy: &Path) -> Result<(), BuildError> {
    let what = format!("copy commit {}", commit.hash);
    let failed = |message: String| BuildError::Failed { what: what.clone(), message };
    let objects = std::path::absolute(&commit.objects).map_err(|error| failed(error.to_string()))?;
    let theirs = private_folder(&std::env::temp_dir()).map_err(|error| failed(error.to_string()))?;
    prepare(theirs.path())?;
    prepare(copy)?;
    let read = |words: &[&str]| {
        let mut command = in_time(git(theirs.path()));
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&objects)).args(words);
        command
    };
    let mut index = in_time(git(copy));
    index.args(["index-pack", "--stdin"]);
    let steps = [
        read(&["rev-list", "--objects", "--no-walk", "--no-object-names", &commit.hash]),
        read(&["pack-objects", "--quiet", "--stdout", "--window=0"]),
        index,
    ];
    pipeline(steps).map_err(|error| failed(error.to_string()))
}

/// Runs three commands of which each reads what the one before prints.
fn pipeline([mut first, mut second, mut third]: [Command; 3]) -> std::io::Result<()> {
    let start = |command: &mut Command, input: Stdio, output: Stdio| {
        end_with_this_one(command, Signal::TERM);
        command.stdin(input).stdout(output).stderr(Stdio::null()).spawn()
    };
    let printed = |child: &mut Child| child.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let mut first = start(&mut first, Stdio::null(), Stdio::piped())?;
    let mut second = start(&mut second, printed(&mut first), Stdio::piped())?;
    let mut third = start(&mut third, printed(&mut second), Stdio::null())?;
    let ended = [first.wait()?, second.wait()?, third.wait()?];
    match ended.iter().all(ExitStatus::success) {
        true => Ok(()),
        false => {
            Err(std::io::Error::other("git could not read its objects; `git fsck` says which are damaged"))
        }
    }
}

/// A path in a list of git's, whose elements a colon would part.
fn quoted(path: &Path) -> OsString {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"").into()
}

/// git in a repository, without the settings of user and machine, and without running anything of the
/// repository's own. Objects that a partial clone lacks are not asked for.
pub fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        // libcurl takes passwords from ~/.netrc, and Kerberos has tickets and keys, for whichever server asks.
        .env("HOME", "/nonexistent")
        .envs(["KRB5CCNAME", "KRB5_CLIENT_KTNAME", "KRB5_CONFIG"].map(|name| (name, "/dev/null")));
    // Two deltas of some bytes make an object of any size; the largest file of a kernel has some 20 MiB.
    command.env("GIT_ALLOC_LIMIT", "512m");
    command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_PAGER", "cat");
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_EXEC_PATH",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "XDG_CONFIG_HOME",
    ] {
        command.env_remove(name);
    }
    // Who serves a repository decides how much it sends, and git writes all of it into one file.
    limit(&mut command, Resource::Fsize, unpack::BYTES);
    // Of trees in trees git keeps all on the way down. For a commit of a kernel it needs some 200 MiB.
    limit(&mut command, Resource::Data, MEMORY);
    command.arg("-C").arg(repository);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(folder: &Path, words: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(words);
        assert!(git.output().unwrap().status.success(), "{words:?}");
    }

    /// A repository that would have git run commands, each of which makes a file `ran-…` in `marks`.
    fn hostile(folder: &Path, marks: &Path) {
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        plain(folder, &["init", "--quiet"]);
        put("Kconfig", "k");
        put("Makefile", "m");
        put(".gitattributes", "Makefile filter=evil\nKconfig export-subst\n");
        plain(folder, &["add", "."]);
        plain(folder, &["commit", "--quiet", "-m", "x"]);
        let set = |name: &str, mark: &str| {
            let run = format!("sh -c 'touch {}/ran-{mark}; cat'", marks.display());
            plain(folder, &["config", name, &run]);
        };
        set("filter.evil.smudge", "smudge");
        set("filter.evil.clean", "clean");
        set("core.fsmonitor", "fsmonitor");
        set("tar.tar.command", "tar");
        set("core.pager", "pager");
        plain(folder, &["config", "filter.evil.required", "true"]);
    }

    #[test]
    fn git_quotes_no_file_of_the_machine() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        hostile(folder.path(), folder.path());
        let secret = cache.path().join("secret");
        std::fs::write(&secret, "root:HASH:19000\n").unwrap();
        for name in ["shallow", "packed-refs"] {
            std::os::unix::fs::symlink(&secret, folder.path().join(".git").join(name)).unwrap();
            let found = find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ());
            let told = found.map(|commit| commit.hash).unwrap_err().to_string();
            assert!(told.contains("status` says more") && !told.contains("HASH"), "{told}");
            std::fs::remove_file(folder.path().join(".git").join(name)).unwrap();
        }
    }

    #[test]
    fn nothing_that_a_repository_says_is_run() {
        let (folder, marks) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        hostile(folder.path(), marks.path());
        let _ = std::fs::remove_file(marks.path().join("ran-fsmonitor"));
        let cache = tempfile::tempdir().unwrap();
        let commit = find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ()).unwrap();
        let unpacked = tempfile::tempdir().unwrap();
        unpack(&commit, unpacked.path()).unwrap();
        assert_eq!(std::fs::read_to_string(unpacked.path().join("Makefile")).unwrap(), "m");
        super::super::tree::look(folder.path()).unwrap();
        let ran: Vec<_> = std::fs::read_dir(marks.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(ran.is_empty(), "{ran:?}");
    }

    /// A repository may have git read any file, and to open a device is to do something to it.
    #[test]
    fn git_opens_no_device() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        hostile(folder.path(), folder.path());
        let repository = folder.path().to_string_lossy().into_owned();
        let find = || find(&repository, &Cache::at(cache.path()), &|_| ()).map(|commit| commit.hash);
        plain(folder.path(), &["config", "include.path", "/dev/null"]);
        assert!(find().is_ok());
        plain(folder.path(), &["config", "include.path", "/dev/full"]);
        assert!(find().is_err(), "it is not read without end either");
    }

    #[test]
    fn an_object_is_what_its_name_says_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        hostile(folder.path(), folder.path());
        let cache = tempfile::tempdir().unwrap();
        let ask = || find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ()).unwrap();
        let object = |name: &str| {
            let mut git = git(folder.path());
            let output = git.args(["rev-parse", name]).output().unwrap();
            let hash = String::from_utf8(output.stdout).unwrap().trim().to_owned();
            folder.path().join(".git/objects").join(&hash[..2]).join(&hash[2..])
        };
        let commit = ask();
        let to = cache.path().join("to");
        unpack(&commit, &to).unwrap();
        // Another file's object under the Makefile's name.
        std::fs::remove_file(object("HEAD:Makefile")).unwrap();
        std::fs::copy(object("HEAD:Kconfig"), object("HEAD:Makefile")).unwrap();
        assert_eq!(ask().hash, commit.hash);
        assert!(unpack(&ask(), &cache.path().join("forged")).is_err());
    }

    #[test]
    fn a_repository_is_reached_by_transports_that_run_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let marks = tempfile::tempdir().unwrap();
        let repository = tempfile::tempdir().unwrap();
        hostile(repository.path(), marks.path());
        let refused = |text: &str| {
            let error = find(text, &Cache::at(cache.path()), &|_| ()).map(|commit| commit.hash).unwrap_err();
            error.to_string()
        };
        let mark = marks.path().join("ran-ext");
        for text in [
            format!("ext::touch {}", mark.display()),
            format!("file://{}", repository.path().display()),
            "http://127.0.0.1:1/x".to_owned(),
            "--upload-pack=/bin/true".to_owned(),
            "ssh://user@127.0.0.1/x".to_owned(),
            "user@127.0.0.1:x".to_owned(),
        ] {
            let told = refused(&text);
            assert!(told.contains("neither https:// nor git://"), "{told}");
        }
        assert!(refused("https://127.0.0.1:1/x#a:refs/heads/b").contains("a branch, a tag or a commit"));
        for user in ["https://ci:SECRET@127.0.0.1:1/x", "https://:@127.0.0.1:1/x#v1", "git://x@127.0.0.1/a"] {
            let told = refused(user);
            assert!(told.contains("leave the user") && !told.contains("SECRET"), "{told}");
        }
        for searched in [":/x", "HEAD^{/x}", "main:/x"] {
            let told = refused(&format!("{}#{searched}", repository.path().display()));
            assert!(told.contains("not the text of a message"), "{searched}: {told}");
        }
        assert!(!mark.exists());
    }

    #[test]
    fn a_repository_with_what_is_waited_for_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        hostile(folder.path(), folder.path());
        let cache = tempfile::tempdir().unwrap();
        for name in ["config", "HEAD", "packed-refs", "shallow", "objects/info/alternates"] {
            let (place, aside) = (folder.path().join(".git").join(name), folder.path().join("aside"));
            let was_there = std::fs::rename(&place, &aside).is_ok();
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &place, rustix::fs::FileType::Fifo, mode, 0).unwrap();
            let found = find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ());
            let told = found.map(|commit| commit.hash).unwrap_err().to_string();
            assert!(told.contains(name) && told.contains("it is a FIFO"), "{name}: {told}");
            let told = super::super::tree::look(folder.path()).err().unwrap().to_string();
            assert!(told.contains(name) && told.contains("it is a FIFO"), "{name}: {told}");
            std::fs::remove_file(&place).unwrap();
            if was_there {
                std::fs::rename(&aside, &place).unwrap();
            }
        }
        // A link to one, too.
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(".git/packed-refs")).unwrap();
        let found = find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ());
        assert!(found.err().unwrap().to_string().contains("a device"));
    }

    #[test]
    fn git_has_its_limits() {
        let folder = tempfile::tempdir().unwrap();
        let limits = ["-c", "alias.limits=!ulimit -d; ulimit -f", "limits"];
        let output = git(folder.path()).args(limits).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let limits: Vec<u64> = told.lines().map(|line| line.parse().expect("a limit")).collect();
        assert_eq!(limits, [MEMORY >> 10, unpack::BYTES >> 9], "KiB, and blocks of 512 bytes");
    }

    /// libcurl would give them to whoever asks; a server that does is not needed to see that git finds none.
    #[test]
    fn git_sees_nothing_of_the_users_home() {
        let folder = tempfile::tempdir().unwrap();
        let said = ["-c", "alias.home=!echo $HOME $XDG_CONFIG_HOME", "home"];
        let output = git(folder.path()).args(said).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "/nonexistent");
    }

    #[test]
    fn no_program_verifies_a_strangers_signature() {
        let folder = tempfile::tempdir().unwrap();
        let value = |key: &str| {
            let output = git(folder.path()).args(["config", key]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        for key in ["gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"] {
            assert_eq!(value(key), "/bin/false", "{key}");
        }
    }
}
