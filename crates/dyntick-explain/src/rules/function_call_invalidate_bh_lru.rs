// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:invalidate_bh_lru",
    title: "A file system or a block device was closed, and buffers were given back",
    explanation: "Each CPU keeps a few buffer heads of block devices that it used last. umount, the last close of a block device, \
        page migration and changes of a partition table have every CPU that holds some give them back. On 6.12 isolated CPUs hold none, on 6.1 they do.",
    fixes: &[
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!("Isolated CPUs hold no buffers."),
            versions: Versions::since(6, 12),
        },
        Fix {
            setting: Setting::Program("mount, unmount and partition before the quiet phase"),
            effect: "Nobody asks for the buffers.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "leave the reading and writing of files and block devices to housekeeping CPUs",
            ),
            effect: "A CPU that holds no buffers is not asked.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "fs/buffer.c: invalidate_bh_lrus, has_bh_in_lru",
    names_origin: true,
    detect: None,
};
