// SPDX-License-Identifier: GPL-2.0-only
//! The entry point of recording.

use crate::buffers::Control;
use crate::recording::Recording;
use crate::{Options, Record, RecordError, last};

/// Records these CPUs while `during` runs, and returns its result, too. This thread stays off them unless there are no
/// others. A process that `during` starts inherits that affinity, so it must be given the CPUs on which it is to run.
pub fn record<T>(options: &Options, during: impl FnOnce() -> T) -> Result<(Record, T), RecordError> {
    record_until(options, |_| during())
}

/// The same as [`record`] for a `during` that ends when nothing more is recorded.
pub(crate) fn record_until<T>(
    options: &Options,
    during: impl FnOnce(&Control) -> T,
) -> Result<(Record, T), RecordError> {
    let (recording, _away) = Recording::prepare(options)?;
    let (file, result) = match &options.last {
        Some(last) => last::record(&recording, last, during)?,
        None => recording.complete(during)?,
    };
    let record = Record::stored(file).map_err(|trouble| RecordError::Damaged(trouble.to_string()))?;
    Ok((record, result))
}
