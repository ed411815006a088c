//! The Arrow IPC file format, uncompressed: the fastest to write, and to map into memory by others. One record
//! batch per chunk, doubles without nulls; the metadata of a field has its `unit`, that of the schema the version.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Float64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::{IpcSchemaEncoder, fb_to_schema};
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::writer::FileWriter;
use arrow_ipc::{Block, FooterBuilder, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cosimo_core::recorder::{Columns, Table, TableError};
use cosimo_core::registry::FormatEntry;
use flatbuffers::FlatBufferBuilder;

use crate::limits::{RowBudget, whole};
use crate::tail::{self, EncodeError, Encoder};

pub const ARROW: FormatEntry = FormatEntry {
    name: "arrow",
    summary: "Arrow IPC file: fastest",
    endings: &["arrow", "feather", "ipc"],
    text: false,
    create: tail::create::<Arrow>,
    resume: tail::resume::<Arrow>,
    read: |path| crate::guarded(path, "Arrow", read),
};

const VERSION: &str = "cosimo.version";
const UNIT: &str = "unit";

struct Arrow {
    schema: SchemaRef,
    /// Writes the header and the batches. It would write the footer only once, so that is done here.
    pieces: FileWriter<Vec<u8>>,
    /// Where the batches lie.
    blocks: Vec<Block>,
    /// Where the next one will.
    end: usize,
}

impl Encoder for Arrow {
    fn new(columns: &Columns) -> Result<Arrow, EncodeError> {
        let schema = Arc::new(schema(columns));
        Ok(Arrow { pieces: FileWriter::try_new(Vec::new(), &schema)?, schema, blocks: Vec::new(), end: 0 })
    }

    fn resume(columns: &Columns, footer: &[u8], end: u64) -> Result<Arrow, EncodeError> {
        let mut arrow = Arrow::new(columns)?;
        arrow.pieces.get_mut().clear(); // the header is in the file
        (arrow.blocks, arrow.end) = (listed(footer).ok_or("the bookmark is damaged")?, end as usize);
        Ok(arrow)
    }

    fn encode(&mut self, columns: &[&[f64]]) -> Result<(Vec<u8>, usize), EncodeError> {
        if !columns.is_empty() {
            let arrays =
                columns.iter().map(|column| Arc::new(Float64Array::from(column.to_vec())) as ArrayRef);
            self.pieces.write(&RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect())?)?;
        }
        let mut bytes = std::mem::take(self.pieces.get_mut());
        let data = bytes.len();
        if !columns.is_empty() {
            // A message begins with a continuation mark and the length of its header.
            let header = 8 + bytes[4..].first_chunk().map_or(0, |length| i32::from_le_bytes(*length));
            self.blocks.push(Block::new(self.end as i64, header, data as i64 - i64::from(header)));
        }
        self.footer(&mut bytes);
        self.end += data;
        let footer = bytes.len() - data;
        Ok((bytes, footer))
    }

    fn give_back(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        *self.pieces.get_mut() = buffer;
    }
}

impl Arrow {
    /// The end of the stream, the list of batches, its length and the magic word: what `FileWriter::finish` writes.
    fn footer(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector::<Block>(&[]);
        let batches = builder.create_vector(&self.blocks);
        let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, &self.schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        let footer = footer.finish();
        builder.finish(footer, None);
        let footer = builder.finished_data();
        bytes.extend_from_slice(footer);
        bytes.extend_from_slice(&(footer.len() as i32).to_le_bytes());
        bytes.extend_from_slice(b"ARROW1");
    }
}

/// The batches of a footer, which stands between the end of the stream and its own length.
fn listed(footer: &[u8]) -> Option<Vec<Block>> {
    let footer = root_as_footer(footer.get(8..footer.len().checked_sub(10)?)?).ok()?;
    Some(footer.recordBatches().map_or_else(Vec::new, |blocks| blocks.iter().copied().collect()))
}

/// The schema of a result, also for Parquet.
pub(crate) fn schema(columns: &Columns) -> Schema {
    let field = |(name, unit): (&String, &String)| {
        let field = Field::new(name, DataType::Float64, false);
        if unit.is_empty() { field } else { field.with_metadata([(UNIT.into(), unit.clone())].into()) }
    };
    let fields: Vec<Field> = columns.names.iter().zip(&columns.units).map(field).collect();
    Schema::new_with_metadata(fields, [(VERSION.into(), env!("CARGO_PKG_VERSION").into())].into())
}

/// Names and units out of a schema, of any writer.
pub(crate) fn columns(schema: &Schema) -> Columns {
    let fields = schema.fields().iter();
    Columns {
        names: fields.clone().map(|field| field.name().clone()).collect(),
        units: fields.map(|field| field.metadata().get(UNIT).cloned().unwrap_or_default()).collect(),
    }
}

fn read(path: &Path) -> Result<Table, TableError> {
    table(whole(path, "Arrow")?.into()).map_err(|error| TableError::broken(path, "Arrow", error.to_string()))
}

fn table(file: Buffer) -> Result<Table, ArrowError> {
    let cut = || ArrowError::IpcError("the end of the file is not that of an Arrow file".into());
    let (rest, trailer) = file.split_last_chunk::<10>().ok_or_else(cut)?;
    let length = read_footer_length(*trailer)?;
    let footer = rest.len().checked_sub(length).map(|at| &rest[at..]).ok_or_else(cut)?;
    let footer = root_as_footer(footer).map_err(|error| ArrowError::IpcError(error.to_string()))?;
    let schema = Arc::new(fb_to_schema(footer.schema().ok_or_else(cut)?));
    let columns = columns(&schema);
    if let Some(field) = schema.fields().iter().find(|field| !is_number(field.data_type())) {
        return Err(no_number(field.name(), field.data_type()));
    }
    let mut room = RowBudget::for_columns(columns.names.len()).map_err(ArrowError::IpcError)?;
    let mut values = vec![Vec::new(); columns.names.len()];
    let decoder = FileDecoder::new(schema, footer.version());
    for block in footer.recordBatches().iter().flatten() {
        // A footer that asks for more than there is must not reach the decoder.
        let part = |length: i64| usize::try_from(length).ok();
        let (at, header, body) =
            (part(block.offset()), part(block.metaDataLength().into()), part(block.bodyLength()));
        let length = header.zip(body).and_then(|(header, body)| header.checked_add(body));
        let inside = at
            .zip(length)
            .filter(|(at, length)| at.checked_add(*length).is_some_and(|end| end <= rest.len()));
        let (at, length) = inside.ok_or_else(cut)?;
        let (header, body) = file[at..at + length].split_at(header.unwrap_or(0));
        check_sizes(header, body, &mut room)?;
        let Some(batch) = decoder.read_record_batch(block, &file.slice_with_length(at, length))? else {
            continue;
        };
        for ((array, name), column) in batch.columns().iter().zip(&columns.names).zip(&mut values) {
            append(array, column).map_err(|()| no_number(name, array.data_type()))?;
        }
    }
    Ok(Table { columns, values })
}

fn is_number(kind: &DataType) -> bool {
    matches!(kind, DataType::Float64 | DataType::Float32 | DataType::Int64 | DataType::Int32)
}

fn no_number(name: &str, kind: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("column `{name}` is {kind}; numbers are expected"))
}

/// What a batch says about its size, before the decoder believes it.
fn check_sizes(header: &[u8], body: &[u8], room: &mut RowBudget) -> Result<(), ArrowError> {
    // A continuation mark and the length come before the message, or just the length in old files.
    let prefix = if header.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = header.get(prefix..).and_then(|message| root_as_message(message).ok());
    let Some(batch) = message.and_then(|message| message.header_as_record_batch()) else { return Ok(()) };
    let broken = |message: &str| ArrowError::IpcError(message.to_owned());
    let rows = u64::try_from(batch.length()).map_err(|_| broken("a negative number of rows"))?;
    room.take(rows).map_err(ArrowError::IpcError)?;
    if batch.compression().is_none() {
        return Ok(());
    }
    // Eight bytes for each number and some for rounding; a compressed part begins with how large it becomes.
    let most = rows.saturating_mul(8).saturating_add(1024);
    for part in batch.buffers().iter().flatten() {
        let start = usize::try_from(part.offset()).ok();
        let Some(size) = start.and_then(|start| body.get(start..)?.first_chunk()) else { continue };
        let size = i64::from_le_bytes(*size);
        if part.length() > 0 && size > 0 && size as u64 > most {
            return Err(ArrowError::IpcError(format!(
                "a part of {rows} rows claims to hold {size} bytes, at most {most} are possible"
            )));
        }
    }
    Ok(())
}

/// Numbers as doubles, NaN where there is none.
fn append(array: &dyn Array, column: &mut Vec<f64>) -> Result<(), ()> {
    fn all<T: ArrowPrimitiveType>(array: &dyn Array, column: &mut Vec<f64>, number: fn(T::Native) -> f64) {
        column.extend(array.as_primitive::<T>().iter().map(|value| value.map_or(f64::NAN, number)));
    }
    match array.data_type() {
        DataType::Float64 if array.null_count() == 0 => {
            column.extend_from_slice(array.as_primitive::<Float64Type>().values());
        }
        DataType::Float64 => all::<Float64Type>(array, column, |value| value),
        DataType::Float32 => all::<Float32Type>(array, column, f64::from),
        DataType::Int64 => all::<Int64Type>(array, column, |value| value as f64),
        DataType::Int32 => all::<Int32Type>(array, column, f64::from),
        _ => return Err(()),
    }
    Ok(())
}
