// SPDX-License-Identifier: GPL-2.0-only
//! All end-to-end tests of the binary, one module for each verb or promise.

mod harness;

mod book;
mod check;
mod command_time;
mod compare;
mod completions;
mod cstate;
mod disk;
mod errors;
mod explain;
mod explain_command;
mod explain_of;
mod explain_stacks;
mod export;
mod fixes;
mod foreign;
mod gate;
mod hostile_guest;
mod hostile_names;
mod idle_states;
mod isolate;
mod json;
mod kernels_to_order;
mod kvm;
mod lab;
mod lab_changes;
mod large_runs;
mod latency;
mod ledger;
mod offline;
mod offline_cpu;
mod one_output;
mod profile;
mod quick;
mod record;
mod record_last;
mod replay;
mod sources;
mod stat;
mod stat_calls;
mod stat_power;
mod strangers;
mod top;
mod verbs_by_kernel;
