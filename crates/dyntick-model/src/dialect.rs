// SPDX-License-Identifier: GPL-2.0-only
//! The way in which a kernel reads its command line: the flags, lists and words that differ between versions.

use crate::KernelVersion;
use strsim::damerau_levenshtein;

/// An instruction set, as far as the meaning of parameters depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86, 32 and 64 bits.
    X86,
    /// arm64.
    Arm64,
    /// 32-bit Arm.
    Arm,
}

impl Architecture {
    /// The kernel's name for it (`arch/`).
    pub fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86",
            Self::Arm64 => "arm64",
            Self::Arm => "arm",
        }
    }

    /// The architecture that a release text names, e.g. `5.14.0-427.el9.x86_64`.
    pub fn of_release(release: &str) -> Option<Self> {
        const WORDS: [(&str, Architecture); 6] = [
            ("x86_64", Architecture::X86),
            ("amd64", Architecture::X86),
            ("i686", Architecture::X86),
            ("aarch64", Architecture::Arm64),
            ("arm64", Architecture::Arm64),
            ("armv7l", Architecture::Arm),
        ];
        WORDS.iter().find(|(word, _)| release.contains(word)).map(|(_, architecture)| *architecture)
    }
}

/// A flag of `isolcpus=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `nohz`: the tick while a task runs.
    Nohz,
    /// `domain`: load balancing.
    Domain,
    /// `managed_irq`: managed interrupts.
    ManagedIrq,
}

impl Flag {
    /// All flags of the upstream kernel.
    pub const ALL: [Self; 3] = [Self::Nohz, Self::Domain, Self::ManagedIrq];

    /// The flag as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nohz => "nohz",
            Self::Domain => "domain",
            Self::ManagedIrq => "managed_irq",
        }
    }

    /// The flag that was meant by a word: itself with a hyphen, or spelt nearly so.
    pub fn meant(word: &str) -> Option<Self> {
        let word = word.replace('-', "_");
        let distance = |flag: &Self| damerau_levenshtein(flag.word(), &word);
        Self::ALL.into_iter().min_by_key(distance).filter(|flag| distance(flag) <= flag.word().len() / 4)
    }

    /// The flag of this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.word() == word)
    }
}

/// The effect of a word among the flags of `isolcpus=` that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFlag {
    /// The kernel drops the parameter.
    Refused,
    /// The kernel skips the word.
    Skipped,
}

/// The rule by which `nohz_full=` and `isolcpus=` have to name the same CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masks {
    /// One mask for all types: two lists that differ contradict each other, and the kernel drops the second one.
    One,
    /// A mask for each type (04d4e665a609): only lists for the same type contradict each other.
    Split,
    /// No comparison: the kernel keeps both lists apart, and the last one of each name counts (before 4.15).
    Apart,
}

/// The kernel that reads a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its major and minor number.
    pub version: (u32, u32),
    /// The build of an enterprise kernel, e.g. 193 in `4.18.0-193.el8`; such kernels have later changes.
    pub enterprise: Option<u32>,
    /// The architecture, if it is known.
    pub architecture: Option<Architecture>,
    /// Says if it was built with `CONFIG_NO_HZ_FULL`, as far as that is known.
    pub has_full: Option<bool>,
    /// Says if it is a PREEMPT_RT one.
    pub is_rt: bool,
}

impl Dialect {
    /// The dialect of an upstream kernel.
    pub const fn upstream(major: u32, minor: u32) -> Self {
        Self { version: (major, minor), enterprise: None, architecture: None, has_full: None, is_rt: false }
    }

    /// The dialect of a release; its name shows the distribution and the architecture.
    pub fn of(kernel: &KernelVersion) -> Self {
        let is_enterprise = [".el7", ".el8", ".el9"].iter().any(|word| kernel.release.contains(word));
        // Oracle's UEK is built from a longterm kernel.
        let is_enterprise = is_enterprise && !kernel.release.contains("uek");
        let build = || kernel.release.split_once('-')?.1.split(['.', '-']).next()?.parse().ok();
        Self {
            enterprise: is_enterprise.then(build).flatten(),
            architecture: Architecture::of_release(&kernel.release),
            ..Self::upstream(kernel.major, kernel.minor)
        }
    }

    /// Says if the kernel is at least this version.
    pub fn since(self, major: u32, minor: u32) -> bool {
        self.version >= (major, minor)
    }

    /// Says if `isolcpus=` has flags (4.15: 150dfee95f4f).
    pub fn has_flags(self) -> bool {
        self.since(4, 15)
    }

    /// Says if `isolcpus=` knows a flag.
    pub fn knows(self, flag: Flag) -> bool {
        match flag {
            // 5.6: 11ea68f553e2.
            Flag::ManagedIrq => self.since(5, 6) || self.is_enterprise((4, 18), RHEL_8_2),
            Flag::Nohz | Flag::Domain => self.has_flags(),
        }
    }

    /// The effect of an unknown flag (5.7: 3662daf02350).
    pub fn unknown_flag(self) -> UnknownFlag {
        if self.since(5, 7) || self.is_enterprise((4, 18), RHEL_8_3) {
            UnknownFlag::Skipped
        } else {
            UnknownFlag::Refused
        }
    }

    /// The way in which lists are compared.
    pub fn masks(self) -> Masks {
        if self.since(5, 18) || self.is_enterprise((5, 14), RHEL_9_SPLIT) {
            return Masks::Split;
        }
        if self.has_flags() { Masks::One } else { Masks::Apart }
    }

    /// Says if lists may have patterns as `2-7:1/2` (4.9: `lib/bitmap.c: __bitmap_parselist`).
    pub fn has_groups(self) -> bool {
        self.since(4, 9)
    }

    /// Says if `N` is the last CPU of a list (5.13).
    pub fn has_last(self) -> bool {
        self.since(5, 13)
    }

    /// Says if `all` is a list (5.14).
    pub fn has_all(self) -> bool {
        self.since(5, 14)
    }

    /// Says if `isolcpus=nohz,` keeps away all that `nohz_full=` keeps away (6.14: 1174b9344bc7).
    pub fn flag_nohz_is_full(self) -> bool {
        self.since(6, 14)
    }

    /// Says if a CPU has to remain that is in neither list (6.19: 185bccc79797).
    pub fn leaves_one(self) -> bool {
        self.since(6, 19)
    }

    /// Says if a CPU that is present has to remain; before, only one that is possible (5.2).
    pub fn leaves_present(self) -> bool {
        self.since(5, 2) || self.is_enterprise((4, 18), 0)
    }

    /// Says if only the boot CPU is present when the lists are read: arm64 and arm set the others later
    /// (`arch/arm64/kernel/smp.c: smp_prepare_cpus`).
    pub fn reads_lists_early(self) -> bool {
        self.leaves_present() && matches!(self.architecture, Some(Architecture::Arm64 | Architecture::Arm))
    }

    /// Says if `nohz_full=` keeps unbound kernel threads away (`HK_TYPE_KTHREAD`: from 5.9 to 6.19).
    pub fn full_keeps_threads(self) -> bool {
        (self.since(5, 9) || self.is_enterprise((4, 18), RHEL_8_3)) && !self.since(7, 0)
    }

    /// Says if cpuset partitions have the kind `isolated` (6.1: f28e22441f35).
    pub fn has_isolated_partitions(self) -> bool {
        self.since(6, 1)
    }

    fn is_enterprise(self, version: (u32, u32), build: u32) -> bool {
        self.version == version && self.enterprise >= Some(build)
    }
}

/// The build of RHEL 8.2's kernel, 4.18.0-193.
const RHEL_8_2: u32 = 193;

/// The first build of RHEL 8.3's kernel that was read.
const RHEL_8_3: u32 = 240;

/// The build of RHEL 9's kernel that split the masks.
const RHEL_9_SPLIT: u32 = 88;

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(release: &str) -> Dialect {
        Dialect::of(&release.parse().unwrap())
    }

    #[test]
    fn managed_irq_came_with_5_6_and_rhel_8_2() {
        let knows = |release: &str| dialect(release).knows(Flag::ManagedIrq);
        assert!(knows("5.6.0") && knows("6.12.117+deb13-amd64") && knows("4.18.0-193.9.1.el8_2.x86_64"));
        assert!(!knows("5.4.0-150-generic") && !knows("4.18.0-147.5.1.el8_1.x86_64"));
        assert!(!knows("5.4.17-2102.206.1.el8uek.x86_64") && !knows("3.10.0-1160.el7.x86_64"));
    }

    #[test]
    fn enterprise_kernels_have_later_changes() {
        assert_eq!(dialect("5.14.0-427.31.1.el9_4.x86_64+rt").masks(), Masks::Split);
        assert_eq!(dialect("5.14.0-70.el9.x86_64").masks(), Masks::One);
        assert_eq!(dialect("5.14.21-default").masks(), Masks::One);
        assert_eq!(dialect("4.18.0-553.el8_10.x86_64").masks(), Masks::One);
        assert_eq!(dialect("3.10.0-1160.el7.x86_64").masks(), Masks::Apart);
        assert_eq!(dialect("4.18.0-305.el8.x86_64").unknown_flag(), UnknownFlag::Skipped);
        assert_eq!(dialect("5.4.17-2102.206.1.el8uek.x86_64").unknown_flag(), UnknownFlag::Refused);
    }

    #[test]
    fn a_flag_may_be_misspelt() {
        assert_eq!(Flag::meant("domian"), Some(Flag::Domain));
        assert_eq!(Flag::meant("managed-irq"), Some(Flag::ManagedIrq));
        assert_eq!(Flag::meant("nohz"), Some(Flag::Nohz));
        assert_eq!(
            (Flag::meant("all"), Flag::meant("inverse"), Flag::meant("nohz_full")),
            (None, None, None)
        );
    }

    #[test]
    fn the_release_may_name_the_architecture() {
        assert_eq!(dialect("5.14.0-70.el9.aarch64").architecture, Some(Architecture::Arm64));
        assert_eq!(dialect("6.12.48+deb13-rt-amd64").architecture, Some(Architecture::X86));
        assert_eq!(dialect("6.14.0-1013-nvidia-64k").architecture, None);
    }
}
