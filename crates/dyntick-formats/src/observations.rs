// SPDX-License-Identifier: GPL-2.0-only
//! The table of all figures of one run, as a Parquet file.

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The CPU; `None` for the complete machine.
    pub cpu: Option<u32>,
    /// The name of the figure, e.g. `ticks` or `function`.
    pub figure: String,
    /// The key of the figure among several, e.g. the function's name; empty if there is only one.
    pub key: String,
    /// The value.
    pub value: f64,
    /// The unit, e.g. `1`, `1/s`, `ns`.
    pub unit: String,
}

/// The reason why a table could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ObservationError {
    /// The Parquet library failed.
    #[error("the table of observations could not be written: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}

/// Returns the file's bytes. The same rows always give the same bytes.
pub fn write_parquet(rows: &[Observation]) -> Result<Vec<u8>, ObservationError> {
    let properties = WriterProperties::builder().set_created_by("dyntick".to_owned()).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema()?), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut column = 0;
    while let Some(mut open) = group.next_column()? {
        write_column(open.untyped(), rows, column)?;
        open.close()?;
        column += 1;
    }
    group.close()?;
    Ok(writer.into_inner()?)
}

fn schema() -> Result<Type, ObservationError> {
    let field = |name, kind, logical, repetition| {
        let builder = Type::primitive_type_builder(name, kind);
        builder.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
    };
    let text = |name| field(name, PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED);
    let fields = vec![
        field("cpu", PhysicalType::INT32, None, Repetition::OPTIONAL)?,
        text("figure")?,
        text("key")?,
        field("value", PhysicalType::DOUBLE, None, Repetition::REQUIRED)?,
        text("unit")?,
    ];
    Ok(Type::group_type_builder("observations").with_fields(fields).build()?)
}

fn write_column(
    writer: &mut ColumnWriter,
    rows: &[Observation],
    column: usize,
) -> Result<(), ObservationError> {
    match writer {
        ColumnWriter::Int32ColumnWriter(writer) => {
            let cpus: Vec<i32> = rows.iter().filter_map(|row| row.cpu).map(|cpu| cpu as i32).collect();
            let present: Vec<i16> = rows.iter().map(|row| i16::from(row.cpu.is_some())).collect();
            writer.write_batch(&cpus, Some(&present), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
            writer.write_batch(&values, None, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let text = |row: &Observation| match column {
                1 => ByteArray::from(row.figure.as_str()),
                2 => ByteArray::from(row.key.as_str()),
                _ => ByteArray::from(row.unit.as_str()),
            };
            let texts: Vec<ByteArray> = rows.iter().map(text).collect();
            writer.write_batch(&texts, None, None)?;
        }
        _ => unreachable!("the schema has no other column type"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    /// Reads the output of [`write_parquet`]. For tests only: the library panics on many damaged files.
    fn read_parquet(bytes: Vec<u8>) -> Result<Vec<Observation>, ObservationError> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes))?;
        let rows = reader.get_row_iter(None)?;
        let observation = |row: Result<parquet::record::Row, _>| {
            let row = row?;
            Ok(Observation {
                cpu: row.get_int(0).ok().map(|cpu| cpu as u32),
                figure: row.get_string(1)?.clone(),
                key: row.get_string(2)?.clone(),
                value: row.get_double(3)?,
                unit: row.get_string(4)?.clone(),
            })
        };
        rows.map(observation).collect()
    }

    fn rows() -> Vec<Observation> {
        let row = |cpu, figure: &str, key: &str, value| Observation {
            cpu,
            figure: figure.into(),
            key: key.into(),
            value,
            unit: "1".into(),
        };
        vec![
            row(Some(1), "ticks", "", 2500.0),
            row(None, "script_ns", "", 0.5),
            row(Some(0), "softirq", "RCU", 7.0),
        ]
    }

    #[test]
    fn table_is_read_back_and_written_reproducibly() {
        let bytes = write_parquet(&rows()).unwrap();
        assert_eq!(bytes, write_parquet(&rows()).unwrap());
        assert_eq!(read_parquet(bytes).unwrap(), rows());
    }

    #[test]
    fn empty_table_is_written() {
        assert_eq!(read_parquet(write_parquet(&[]).unwrap()).unwrap(), []);
    }
}
