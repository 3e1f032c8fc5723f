//! The table of results as Parquet.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::Value;

use super::flat::Table;
use crate::failure::Failure;
use crate::output::Whole;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Float,
    Bool,
    Text,
}

/// Writes one row group, without compression: each column as the first of whole numbers, numbers, truth
/// values or texts that fits all that it has.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(path: &Path, table: &Table) -> Result<(), Failure> {
    let bytes =
        bytes(table).map_err(|error| Failure::File(format!("{}: {error}", path.display())))?;
    let whole = Whole::begin(path)?;
    whole.writer()?.write_all(&bytes).map_err(|error| Failure::file(path, &error))?;
    whole.complete()
}

fn bytes(table: &Table) -> Written<Vec<u8>> {
    let kinds: Vec<Kind> = (0..table.columns.len()).map(|column| kind(table, column)).collect();
    let fields = table.columns.iter().zip(&kinds).map(|(name, kind)| field(name, *kind));
    let fields = fields.collect::<Written<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("results").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut rows = file.next_row_group()?;
    let mut nth = 0;
    while let Some(mut column) = rows.next_column()? {
        put(column.untyped(), table, nth)?;
        column.close()?;
        nth += 1;
    }
    rows.close()?;
    file.into_inner()
}

fn kind(table: &Table, column: usize) -> Kind {
    let all = |is: fn(&Value) -> bool| {
        table.rows.iter().map(|row| &row[column]).all(|value| value.is_null() || is(value))
    };
    // What has no value at all is empty in CSV, too, and read as a number there.
    if column < table.nr_axes {
        Kind::Text
    } else if all(Value::is_u64) {
        Kind::Unsigned
    } else if all(Value::is_number) {
        Kind::Float
    } else if all(Value::is_boolean) {
        Kind::Bool
    } else {
        Kind::Text
    }
}

fn field(name: &str, kind: Kind) -> Written<Arc<Type>> {
    let (physical, logical) = match kind {
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

/// The values that there are, and for each row whether it has one.
fn put(writer: &mut ColumnWriter<'_>, table: &Table, column: usize) -> Written<()> {
    let values: Vec<&Value> = table.rows.iter().map(|row| &row[column]).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(!value.is_null())).collect();
    let there = values.into_iter().filter(|value| !value.is_null());
    match writer {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let numbers: Vec<i64> = there.filter_map(Value::as_u64).map(u64::cast_signed).collect();
            writer.write_batch(&numbers, Some(&levels), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let numbers: Vec<f64> = there.filter_map(Value::as_f64).collect();
            writer.write_batch(&numbers, Some(&levels), None)?;
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let truths: Vec<bool> = there.filter_map(Value::as_bool).collect();
            writer.write_batch(&truths, Some(&levels), None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let text = |value: &Value| match value {
                Value::String(text) => ByteArray::from(text.as_str()),
                other => ByteArray::from(other.to_string().as_str()),
            };
            let texts: Vec<ByteArray> = there.map(text).collect();
            writer.write_batch(&texts, Some(&levels), None)?;
        }
        _ => return Err(ParquetError::General("a column of a kind that nobody asked for".into())),
    }
    Ok(())
}
