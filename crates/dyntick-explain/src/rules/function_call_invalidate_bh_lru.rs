// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:invalidate_bh_lru",
    title: "Buffer-head LRU invalidated (umount, last close of a block device)",
    explanation: "Each CPU keeps the few buffer heads of block devices that it used last (bh_lru). umount, \
        the last close of a block device, page migration and changes of a partition table interrupt every \
        CPU that holds some, to release them. On 6.12 isolated CPUs hold none, on 6.1 they do.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!("Isolated CPUs hold no buffer heads."),
            versions: Versions::since(6, 12),
        },
        RuleFix {
            action: Fix::Advice("mount, unmount and partition before the quiet phase"),
            effect: "The buffer heads are not invalidated.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("read and write files and block devices on housekeeping CPUs only"),
            effect: "A CPU that holds no buffer heads is not interrupted.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/buffer.c: invalidate_bh_lrus, has_bh_in_lru",
    names_origin: true,
};
