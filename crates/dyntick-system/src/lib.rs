// SPDX-License-Identifier: GPL-2.0-only
//! The host under dyntick: files by untrusted names, the sandbox, signals, programs.

mod affinity;
mod beneath;
mod caller;
pub mod confine;
pub mod hotplug;
mod input;
mod locked;
mod memory;
mod output;
mod owner;
pub mod place;
mod programs;
pub mod signals;

pub use affinity::{affinity, cpu_set, run_on};
pub use beneath::{is_inner, open_beneath, open_in, place_beneath};
pub use caller::{give_tree_to_caller, is_callers, make_folders};
pub use input::{
    InputError, ensure_solid, open_named, open_regular, read_beneath, read_lossy, read_named,
    read_named_bytes, read_open, read_regular, read_solid,
};
pub use locked::locked;
pub use memory::{leave_half_of_memory, memory, own_memory};
pub use output::{
    is_standard_output, keep_named, keep_private, keep_unasked, open_growing, private_folder, unnamed_in,
    write_named, write_private, write_unasked,
};
pub use owner::{
    NotMine, chmod, closed_to_others, is_for_temporary_files, is_sticky, is_trusted, keeps, mine,
    others_may_write,
};
pub use programs::{exit_code, find_as_shell, find_program, schedule, wait_with_usage};
