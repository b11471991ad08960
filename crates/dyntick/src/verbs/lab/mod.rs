// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab …`

mod again;
mod attached;
mod baseline;
mod bench;
mod bisect;
mod build;
mod cache;
mod changes;
mod doctor;
mod kernels;
mod machines;
mod named;
mod outcome;
mod plan;
mod profile;
mod report;
mod run;
mod shell;
pub mod status;
mod studies;
mod tried;
mod verify;
mod which_runs;

use anyhow::{Context, Result};
use clap::Subcommand;
use dyntick_contract::{Failure, FailureKind};
use dyntick_kernels::programs;
use dyntick_lab::lab::LabError;
use rustix::fs::Mode;
use rustix::process::umask;
use std::path::PathBuf;
use std::process::ExitCode;

/// The laboratory's verbs.
#[derive(Subcommand)]
pub enum LabVerb {
    /// Run a study: run its cases, judge its claims, write its report
    Run(run::Arguments),
    /// Show what a patch does: boot kernels without it and with it, and compare
    Try(tried::Arguments),
    /// Find the commit that changed a figure
    Bisect(bisect::Arguments),
    /// List the studies that come with dyntick, or print one
    Studies(studies::Arguments),
    /// Re-render the report of stored runs, without running anything
    Report(again::Arguments),
    /// List the cases of a study and what each needs, without running anything
    Plan(plan::Arguments),
    /// Build the custom kernels of a study
    Build(build::Arguments),
    /// Show the contents of the cache, and remove what was not used for long
    Cache(cache::Arguments),
    /// List the kernels that can be booted here, or compare two
    Kernels(kernels::Arguments),
    /// List the machines whose idle states can be emulated, or show one with the source of each figure
    Machines(machines::Arguments),
    /// Start an interactive guest
    Shell(shell::Arguments),
    /// Re-run a stored run and compare byte for byte
    Verify(verify::Arguments),
    /// Show what this machine can and cannot run, and how to fix what is missing
    Doctor(doctor::Arguments),
    /// Show where a profiled run executed its instructions; compare two
    Profile(profile::Arguments),
    /// Show where the wall time of one case goes
    Bench(bench::Arguments),
}

impl LabVerb {
    /// Does what was asked.
    pub fn run(self) -> Result<ExitCode> {
        // What is in the cache and in runs is executed and believed later: other users write none of it.
        let before = umask(Mode::WGRP | Mode::WOTH);
        umask(before | Mode::WGRP | Mode::WOTH);
        dyntick_system::leave_half_of_memory();
        // SAFETY: no verb has begun, so this is the only thread.
        unsafe { programs::environment::keep_known() };
        match self {
            LabVerb::Run(arguments) => run::run(arguments),
            LabVerb::Try(arguments) => tried::run(&arguments),
            LabVerb::Bisect(arguments) => bisect::run(&arguments),
            LabVerb::Studies(arguments) => studies::run(&arguments),
            LabVerb::Report(arguments) => again::run(&arguments),
            LabVerb::Plan(arguments) => plan::run(&arguments),
            LabVerb::Build(arguments) => build::run(arguments),
            LabVerb::Cache(arguments) => cache::run(arguments),
            LabVerb::Kernels(arguments) => kernels::run(arguments),
            LabVerb::Machines(arguments) => machines::run(arguments),
            LabVerb::Shell(arguments) => shell::run(arguments),
            LabVerb::Verify(arguments) => verify::run(arguments),
            LabVerb::Doctor(arguments) => doctor::run(arguments),
            LabVerb::Profile(arguments) => profile::run(arguments),
            LabVerb::Bench(arguments) => bench::run(arguments),
        }
    }
}

/// An error to show. A guest's message has no limit, so it is shortened.
fn in_words(error: LabError) -> anyhow::Error {
    if error.is_said_by_guest() {
        Failure::new(FailureKind::Environment, dyntick_report::message(&error.to_string())).into()
    } else {
        error.into()
    }
}

/// This program's own binary, which is also the guest's `/init`.
fn own_binary() -> Result<PathBuf> {
    std::env::current_exe().context("find this program's own file, which the guests start as /init")
}
