// SPDX-License-Identifier: GPL-2.0-only

use super::command::MEMORY;
use super::*;
use std::process::Command;

/// git as it is run here in a repository; nothing if this machine cannot confine it, with the reason printed.
fn confined(folder: &Path) -> Option<Command> {
    walls().inspect_err(|error| eprintln!("skipped: {error}")).ok()?;
    Some(git(folder, &walls_of(folder).unwrap()).unwrap())
}

fn plain(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(words);
    assert!(git.output().unwrap().status.success(), "{words:?}");
}

/// A repository that would have git run commands, each of which makes a file `ran-…` in `marks`.
fn hostile(folder: &Path, marks: &Path) {
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
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
        let told = found.map_or_else(|error| error.to_string(), |commit| commit.hash);
        assert!(!told.contains("HASH"), "{told}");
        std::fs::remove_file(folder.path().join(".git").join(name)).unwrap();
    }
}

#[test]
fn commands_of_a_repository_are_not_run() {
    if walls().is_err() {
        return eprintln!("skipped: no sandbox here");
    }
    let (folder, marks) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    hostile(folder.path(), marks.path());
    let _ = std::fs::remove_file(marks.path().join("ran-fsmonitor"));
    let cache = tempfile::tempdir().unwrap();
    let commit = find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ()).unwrap();
    let unpacked = tempfile::tempdir().unwrap();
    unpack(&commit, unpacked.path()).unwrap();
    assert_eq!(std::fs::read_to_string(unpacked.path().join("Makefile")).unwrap(), "m");
    crate::build::source::tree::look(folder.path()).unwrap();
    let ran: Vec<_> = std::fs::read_dir(marks.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(ran.is_empty(), "{ran:?}");
}

/// A repository may have git read any file, and to open a device is to do something to it.
#[test]
fn git_opens_no_device() {
    if walls().is_err() {
        return eprintln!("skipped: no sandbox here");
    }
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    hostile(folder.path(), folder.path());
    let repository = folder.path().to_string_lossy().into_owned();
    let find = || find(&repository, &Cache::at(cache.path()), &|_| ()).map(|commit| commit.hash);
    plain(folder.path(), &["config", "include.path", "/dev/null"]);
    assert!(find().is_ok());
    plain(folder.path(), &["config", "include.path", "/dev/full"]);
    assert!(find().is_err(), "it is not read without end either");
}

/// The tree of a commit that another user's kernel was built from is in the cache, and reports name its hash.
#[test]
fn replacement_commits_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path(), folder.path());
    let elsewhere = "c2b16e991840befea428cee1c3ea91b885747821";
    let head = folder.path().join(".git/refs/replace");
    std::fs::create_dir_all(&head).unwrap();
    let Some(mut git) = confined(folder.path()) else { return };
    let own = git.args(["rev-parse", "HEAD"]).output().unwrap();
    std::fs::write(head.join(elsewhere), own.stdout).unwrap();
    let text = format!("{}#{elsewhere}", folder.path().display());
    assert!(find(&text, &Cache::at(folder.path()), &|_| ()).is_err());
}

#[test]
fn an_object_is_what_its_name_says_or_nothing() {
    if walls().is_err() {
        return eprintln!("skipped: no sandbox here");
    }
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path(), folder.path());
    let cache = tempfile::tempdir().unwrap();
    let ask = || find(&folder.path().to_string_lossy(), &Cache::at(cache.path()), &|_| ()).unwrap();
    let object = |name: &str| {
        let output = confined(folder.path()).unwrap().args(["rev-parse", name]).output().unwrap();
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
        let told = crate::build::source::tree::look(folder.path()).err().unwrap().to_string();
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
    plain(folder.path(), &["init", "--quiet"]);
    let Some(mut git) = confined(folder.path()) else { return };
    let output = git.args(limits).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let limits: Vec<u64> = told.lines().map(|line| line.parse().expect("a limit")).collect();
    assert_eq!(limits, [MEMORY >> 10, unpack::BYTES >> 9], "KiB, and blocks of 512 bytes");
}

/// libcurl would give them to any server that asks; the test needs none to show that git finds no password.
#[test]
fn git_sees_nothing_of_the_users_home() {
    let folder = tempfile::tempdir().unwrap();
    let said = ["-c", "alias.home=!echo $HOME $XDG_CONFIG_HOME", "home"];
    plain(folder.path(), &["init", "--quiet"]);
    let Some(mut git) = confined(folder.path()) else { return };
    let output = git.args(said).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "/nonexistent");
}

#[test]
fn signatures_are_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    plain(folder.path(), &["init", "--quiet"]);
    if confined(folder.path()).is_none() {
        return;
    }
    let value = |key: &str| {
        let output = confined(folder.path()).unwrap().args(["config", key]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    for key in ["gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"] {
        assert_eq!(value(key), "/bin/false", "{key}");
    }
}

/// A worktree, and a clone that borrows its objects: those are read where they are, and nothing else is that
/// a repository names.
#[test]
fn a_repository_is_read_with_what_it_is_made_of() {
    if walls().is_err() {
        return eprintln!("skipped: no sandbox here");
    }
    let folder = tempfile::tempdir().unwrap();
    let [origin, worktree, clone] = ["origin", "worktree", "clone"].map(|name| folder.path().join(name));
    std::fs::create_dir(&origin).unwrap();
    hostile(&origin, folder.path());
    let text = |path: &Path| path.to_string_lossy().into_owned();
    plain(&origin, &["worktree", "add", "--quiet", "--detach", &text(&worktree)]);
    plain(folder.path(), &["clone", "--quiet", "--shared", "--no-checkout", &text(&origin), &text(&clone)]);
    let cache = tempfile::tempdir().unwrap();
    for (number, place) in [&worktree, &clone, &origin.join(".git")].into_iter().enumerate() {
        let commit = find(&text(place), &Cache::at(cache.path()), &|_| ()).unwrap();
        let to = cache.path().join(number.to_string());
        unpack(&commit, &to).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("Makefile")).unwrap(), "m");
    }
    // An archive could contain this, unpacked next to a repository.
    let linked = folder.path().join("linked");
    std::fs::create_dir_all(linked.join(".git")).unwrap();
    std::fs::copy(origin.join(".git/HEAD"), linked.join(".git/HEAD")).unwrap();
    for part in ["objects", "refs", "packed-refs"] {
        let beside = Path::new("../beside/.git").join(part);
        std::os::unix::fs::symlink(beside, linked.join(".git").join(part)).unwrap();
    }
    plain(folder.path(), &["clone", "--quiet", "--bare", &text(&origin), &text(&linked.join("beside/.git"))]);
    let is_read = |place: &Path| find(&text(place), &Cache::at(cache.path()), &|_| ()).is_ok();
    assert!(is_read(&linked));
    // Links where git makes none, and paths in quotes, which git undoes.
    let of_clone = clone.join(".git/objects");
    std::os::unix::fs::symlink(&of_clone, of_clone.join("ab")).unwrap();
    assert!(!is_read(&clone));
    std::fs::remove_file(of_clone.join("ab")).unwrap();
    assert!(is_read(&clone));
    for odd in
        ["/a".to_owned() + &"\n".repeat(70_000), format!("\"{}\"\n", text(&of_clone)), "../a\n".repeat(33)]
    {
        std::fs::write(of_clone.join("info/alternates"), odd).unwrap();
        assert!(!is_read(&clone));
    }
    std::fs::write(folder.path().join("outside"), "[lab]\nsecret = HASH\n").unwrap();
    plain(&origin, &["config", "include.path", &text(&folder.path().join("outside"))]);
    plain(&origin, &["config", "lab.secret"]);
    let seen = confined(&origin).unwrap().args(["config", "lab.secret"]).output().unwrap();
    assert!(seen.stdout.is_empty(), "a file that a repository includes is not in the sandbox");
}
