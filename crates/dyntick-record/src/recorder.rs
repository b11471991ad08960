// SPDX-License-Identifier: GPL-2.0-only
//! Recording.

use crate::buffers::Control;
use crate::recording::Recording;
use crate::{Options, Record, RecordError, last};

/// Records these CPUs for as long as `during` takes, and returns its result too. This thread keeps
/// off them, unless they are all; a process that `during` starts inherits that, so it must be given
/// the CPUs on which it shall run.
pub fn record<T>(options: &Options, during: impl FnOnce() -> T) -> Result<(Record, T), RecordError> {
    record_until(options, |_| during())
}

/// [`record`] for what ends when it is told that nothing more is recorded.
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
