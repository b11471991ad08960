// SPDX-License-Identifier: GPL-2.0-only
//! Kernels that a stranger wrote. Their Makefiles try what a stranger might, each attempt harmless
//! and written down, and none may succeed; what they leave must come out as plain files.
//!
//! The sources are a few files that build nothing: a source needs no more to be built by dyntick.

use crate::harness::{dyntick, text};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// The targets that a build needs of a kernel's Makefile, in shell. `ATTACK` is replaced by the attempts, which come
/// first in every step. `PRODUCTS` is replaced by the commands that leave files as the kernel.
const MAKEFILE: &str = r#"
KERNEL := $(O)/arch/x86/boot
allnoconfig:
	@$(ATTACK)
	@cp $(KCONFIG_ALLCONFIG) $(O)/.config
bzImage:
	@mkdir -p $(KERNEL)
	@$(ATTACK)
	@echo kernel > $(KERNEL)/bzImage; echo map > $(O)/System.map
	@$(PRODUCTS)
kernelrelease:
	@echo $(RELEASE)
"#;

/// A source, the cache it is built in, and a home with a secret in it.
struct Stranger {
    folder: tempfile::TempDir,
}

impl Stranger {
    fn new(attack: &str, products: &str, release: &str) -> Self {
        let stranger = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(stranger.path("linux")).unwrap();
        std::fs::create_dir_all(stranger.path("home")).unwrap();
        std::fs::write(stranger.path("home/secret"), "the-secret").unwrap();
        std::fs::write(stranger.path("mine.config"), "CONFIG_SMP=y\n").unwrap();
        let head = format!("ATTACK = {attack}\nPRODUCTS = {products}\nRELEASE = {release}\n");
        std::fs::write(stranger.path("linux/Makefile"), head + MAKEFILE).unwrap();
        std::fs::write(stranger.path("linux/Kconfig"), "config SMP\n\tbool\n").unwrap();
        stranger
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, source: &str) -> Command {
        let mut command = dyntick();
        command.args(["lab", "build", "--source", source, "--config"]).arg(self.path("mine.config"));
        command
            .env("HOME", self.path("home"))
            .env("DYNTICK_CACHE", self.path("cache"))
            .current_dir(self.folder.path());
        command
    }

    /// The source as an archive.
    fn archive(&self) -> String {
        let archive = self.path("linux.tar");
        let packed = Command::new("tar")
            .arg("-C")
            .arg(self.folder.path())
            .arg("-cf")
            .arg(&archive)
            .arg("linux")
            .status();
        assert!(packed.unwrap().success());
        archive.to_str().unwrap().to_owned()
    }

    /// The source as a repository.
    fn repository(&self) -> String {
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(self.path("linux")).args(["-c", "user.name=x", "-c", "user.email=x@x"]);
            assert!(git.args(words).output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "x"]);
        format!("git:{}", self.path("linux").display())
    }

    /// The one kernel that was built.
    fn built(&self) -> PathBuf {
        let entries =
            std::fs::read_dir(self.path("cache/built")).unwrap().flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.join("built.json").is_file()).expect("a kernel was built")
    }

    fn built_nothing(&self) -> bool {
        let entries = std::fs::read_dir(self.path("cache/built")).into_iter().flatten().flatten();
        !entries.into_iter().any(|entry| entry.path().join("built.json").is_file())
    }
}

fn told(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// True if this machine builds kernels behind walls; otherwise prints the reason.
fn is_able() -> bool {
    let stranger = Stranger::new("true", "true", "6.12.0-able");
    let output = stranger.command(&stranger.archive()).output().unwrap();
    let told = told(&output);
    let lacks =
        ["which is not possible", "building a kernel needs"].into_iter().find(|words| told.contains(words));
    if lacks.is_some() {
        eprintln!("skipped: {told}");
        return false;
    }
    assert!(output.status.success(), "{told}");
    true
}

/// As many companies set it for root; the confined user of root's builds is another one.
#[test]
fn a_umask_that_closes_all_keeps_no_build_from_its_files() {
    if !is_able() {
        return;
    }
    let stranger = Stranger::new("test -s new/folder/x.c", "true", "6.12.0-closed");
    let patch = "--- /dev/null\n+++ b/new/folder/x.c\n@@ -0,0 +1 @@\n+int x;\n";
    std::fs::write(stranger.path("x.patch"), patch).unwrap();
    for source in [stranger.archive(), stranger.repository(), stranger.path("linux").display().to_string()] {
        let mut build = stranger.command(&source);
        build.arg("--patch").arg(stranger.path("x.patch"));
        // SAFETY: one async-signal-safe system call between fork and exec.
        unsafe {
            build.pre_exec(|| {
                rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
                Ok(())
            });
        }
        let output = build.output().unwrap();
        assert!(output.status.success(), "{source}: {}", told(&output));
    }
}

#[test]
fn a_makefile_reaches_nothing_of_the_host() {
    if !is_able() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outside.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let place = |home: &Path, cache: &Path| {
        format!(
            "for f in {home}/left {tmp}/left /tmp/dyntick-stranger-left {cache}/left {cache}/sources/left ./left Makefile; do \
               (echo x >> $$f) 2>/dev/null && echo wrote $$f; done; \
             for f in {home}/secret /etc/shadow /etc/passwd /root/.profile; do \
               cat $$f 2>/dev/null && echo read $$f; done; \
             perl -MIO::Socket::INET -e 'print \"connected\\n\" if IO::Socket::INET->new(\"127.0.0.1:{port}\")'; \
             mount -t tmpfs none /mnt 2>/dev/null && echo mounted; \
             kill -0 {pid} 2>/dev/null && echo saw the test; true",
            home = home.display(),
            cache = cache.display(),
            tmp = outside.path().display(),
            pid = std::process::id(),
        )
    };
    for kind in ["archive", "repository", "tree"] {
        let stranger = Stranger::new("true", "true", "6.12.0-stranger");
        // What succeeds is kept where the build may write, and so comes out as the kernel's table of symbols.
        let attempts = place(&stranger.path("home"), &stranger.path("cache"));
        let attack = format!("({attempts}) >> $(O)/report");
        let makefile = std::fs::read_to_string(stranger.path("linux/Makefile")).unwrap();
        let makefile = makefile.replace("ATTACK = true", &format!("ATTACK = {attack}"));
        let makefile = makefile.replace(
            "PRODUCTS = true",
            "PRODUCTS = cat $(O)/report > $(O)/System.map; echo end >> $(O)/System.map",
        );
        std::fs::write(stranger.path("linux/Makefile"), &makefile).unwrap();
        let source = match kind {
            "archive" => stranger.archive(),
            "repository" => stranger.repository(),
            _ => stranger.path("linux").to_str().unwrap().to_owned(),
        };
        let output = stranger.command(&source).output().unwrap();
        assert!(output.status.success(), "{kind}: {}", told(&output));
        let report = std::fs::read_to_string(stranger.built().join("System.map")).unwrap();
        // What is written behind the walls where nothing is bound is in memory there; what counts is the
        // host, below.
        let reached: Vec<&str> = report.lines().filter(|line| !line.starts_with("wrote ")).collect();
        assert_eq!(reached, ["end"], "{kind}");
        for name in ["cache/left", "cache/sources/left", "linux/left"] {
            assert!(!stranger.path(name).exists(), "{kind}: {name}");
        }
        let sources = std::fs::read_dir(stranger.path("cache/sources")).unwrap().flatten();
        for pristine in sources.map(|entry| entry.path().join("Makefile")).filter(|path| path.exists()) {
            assert_eq!(std::fs::read_to_string(pristine).unwrap(), makefile, "{kind}");
        }
        assert!(report.lines().count() > 1, "{kind}: the attempts were made");
        assert!(listener.accept().is_err(), "{kind}: nobody connected");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "{kind}");
        assert!(!Path::new("/tmp/dyntick-stranger-left").exists(), "{kind}");
        assert_eq!(std::fs::read_dir(stranger.path("home")).unwrap().count(), 1, "{kind}");
        assert_eq!(std::fs::read_to_string(stranger.path("linux/Makefile")).unwrap(), makefile, "{kind}");
    }
}

#[test]
fn what_is_left_as_the_product_is_a_plain_file_or_refused() {
    if !is_able() {
        return;
    }
    let good = Stranger::new("true", "chmod 6755 $(KERNEL)/bzImage", "6.12.0-x");
    assert!(good.command(&good.archive()).output().unwrap().status.success());
    let image = good.built().join("bzImage").metadata().unwrap();
    assert_eq!(image.permissions().mode() & 0o7000, 0, "no set-user-ID");

    for (products, release, word) in [
        ("ln -sf $(HOST)/home/secret $(KERNEL)/bzImage", "6.12.0", "bzImage"),
        ("rm -r $(KERNEL); ln -s $(HOST)/home $(KERNEL); true", "6.12.0", "bzImage"),
        ("ln -sf $(HOST)/home/secret $(O)/.config", "6.12.0", ".config"),
        ("ln -sf $(HOST)/home/secret $(O)/System.map", "6.12.0", "System.map"),
        ("rm $(KERNEL)/bzImage; mkfifo $(KERNEL)/bzImage", "6.12.0", "bzImage"),
        ("true", "../../../home", "release"),
    ] {
        let stranger = Stranger::new("true", products, release);
        std::fs::write(stranger.path("home/bzImage"), "the-secret").unwrap();
        let makefile = std::fs::read_to_string(stranger.path("linux/Makefile")).unwrap();
        let host = format!("HOST = {}\n{makefile}", stranger.folder.path().display());
        std::fs::write(stranger.path("linux/Makefile"), host).unwrap();
        let output = stranger.command(&stranger.archive()).output().unwrap();
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{products}: {told}");
        assert!(
            told.contains(&format!("cannot use {word}")) || told.contains(&format!("{word} of the build")),
            "{told}"
        );
        assert!(!told.contains("the-secret"), "{told}");
        assert!(stranger.built_nothing(), "{products}");
        assert_eq!(std::fs::read_to_string(stranger.path("home/secret")).unwrap(), "the-secret");
    }
}

#[test]
fn a_daemon_does_not_outlive_its_build() {
    if !is_able() {
        return;
    }
    // It writes where the build may, and that is the ccache, which stays.
    let daemon = "(setsid sh -c 'for i in $$(seq 200); do date +%N > $$CCACHE_DIR/alive; sleep 0.05; done' > /dev/null 2>&1 < /dev/null &); \
        while ! [ -s $$CCACHE_DIR/alive ]; do sleep 0.02; done";
    let stranger = Stranger::new(daemon, "true", "6.12.0");
    let output = stranger.command(&stranger.archive()).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let folders = std::fs::read_dir(stranger.path("cache/ccache-of")).unwrap().flatten();
    let alive = folders.map(|entry| entry.path().join("alive")).find(|path| path.exists()).expect("it ran");
    let at_end = std::fs::read_to_string(&alive).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(std::fs::read_to_string(&alive).unwrap(), at_end, "it no longer writes");
}

#[test]
fn an_archive_does_not_unpack_through_its_own_links() {
    let stranger = Stranger::new("true", "true", "6.12.0");
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(stranger.path("second")).unwrap();
    std::fs::create_dir_all(stranger.path("second/linux/way")).unwrap();
    std::fs::write(stranger.path("second/linux/way/left"), "x").unwrap();
    symlink(outside.path(), stranger.path("linux/way")).unwrap();
    let archive = stranger.archive();
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(stranger.path("second")).args(["-rf", &archive, "linux/way/left"]);
    assert!(tar.status().unwrap().success());
    let output = stranger.command(&archive).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn without_walls_a_strangers_kernel_is_refused_with_the_reason() {
    let mark = tempfile::tempdir().unwrap();
    let stranger = Stranger::new(&format!("touch {}/ran", mark.path().display()), "true", "6.12.0");
    // All programs of this machine but one.
    let programs = stranger.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for folder in std::env::split_paths(&path).chain(["/usr/sbin".into()]) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                let _ = symlink(entry.path(), programs.join(entry.file_name()));
            }
        }
    }
    for source in [stranger.archive(), stranger.repository()] {
        let output = stranger.command(&source).env("PATH", &programs).output().unwrap();
        let told = told(&output);
        if told.contains("building a kernel needs") {
            eprintln!("skipped: {told}");
            return;
        }
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("apt-get install bubblewrap"), "{told}");
    }
    assert!(!mark.path().join("ran").exists() && stranger.built_nothing());
}

#[test]
fn patches_and_fragments_of_a_stranger_do_nothing_on_the_host() {
    if !is_able() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outside.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mark = |name: &str| outside.path().join(name).display().to_string();
    let stranger = Stranger::new("true", "true", "6.12.0");
    // make includes a kernel's configuration, and so does this one's.
    let makefile = std::fs::read_to_string(stranger.path("linux/Makefile")).unwrap();
    std::fs::write(stranger.path("linux/Makefile"), format!("-include $(O)/.config\n{makefile}")).unwrap();
    let fragment =
        format!("CONFIG_SMP=y\nCONFIG_X=\"$(shell touch {})\"\n# CONFIG_Y is not set\n", mark("fragment"));
    std::fs::write(stranger.path("mine.config"), fragment).unwrap();
    std::fs::write(stranger.path("linux/x.c"), "int f(void)\n{\n\treturn old(1);\n}\n").unwrap();
    let rule = format!(
        "// Files: x.c\n@initialize:python@\n@@\nimport os\nos.system(\"touch {}\")\n\n@@ expression e; @@\n- old(e)\n+ new(e)\n",
        mark("python")
    );
    std::fs::write(stranger.path("mine.cocci"), rule).unwrap();
    let ed = format!("--- a/x.c\n+++ b/x.c\n1,$d\n!touch {}\n.\nw\n", mark("ed"));
    std::fs::write(stranger.path("ed.patch"), ed).unwrap();
    let archive = stranger.archive();
    for patch in ["mine.cocci", "ed.patch"] {
        // Some of these are refused and some are built; what counts is what they did.
        let output = stranger.command(&archive).arg("--patch").arg(stranger.path(patch)).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 2)), "{patch}: {}", told(&output));
        let left = std::fs::read_dir(outside.path()).unwrap().count();
        assert_eq!(left, 0, "{patch}: {}", told(&output));
    }
}
