//! Pages of a Parquet column that another program compressed with zstd, decompressed without a C library.
//!
//! The reader underneath is told that nothing is compressed, and hands the pages over as they stand in the file.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use ruzstd::decoding::StreamingDecoder;

/// What one page may hold. Writers stop near one megabyte; a page beyond this is an attack on the memory.
const LARGEST_PAGE: u64 = 1 << 30;

pub(crate) struct ZstdPages {
    compressed: SerializedPageReader<File>,
}

impl ZstdPages {
    /// For a column whose codec is zstd; `None` where it is another.
    pub(crate) fn of(
        file: &Arc<File>,
        column: &ColumnChunkMetaData,
        rows: usize,
    ) -> Option<Result<Self, ParquetError>> {
        matches!(column.compression(), Compression::ZSTD(_)).then(|| {
            let plain = column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
            Ok(ZstdPages { compressed: SerializedPageReader::new(file.clone(), &plain, rows, None)? })
        })
    }
}

impl PageReader for ZstdPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.compressed.get_next_page()?.map(decompressed).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.compressed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.compressed.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.compressed.at_record_boundary()
    }
}

impl Iterator for ZstdPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn decompressed(mut page: Page) -> Result<Page, ParquetError> {
    match &mut page {
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => *buf = decoded(buf, 0)?,
        // Levels stand before the values and are never compressed.
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, is_compressed: true, .. } => {
            *buf = decoded(buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)?;
        }
        Page::DataPageV2 { .. } => {}
    }
    Ok(page)
}

/// The bytes before `from` as they are, the others decompressed.
fn decoded(bytes: &Bytes, from: usize) -> Result<Bytes, ParquetError> {
    let broken = |message: String| ParquetError::General(format!("a page compressed with zstd: {message}"));
    let compressed = bytes.get(from..).ok_or_else(|| broken("levels longer than the page".into()))?;
    let mut plain = bytes[..from].to_vec();
    // A page without any value has nothing to compress.
    if !compressed.is_empty() {
        let decoder = StreamingDecoder::new(compressed).map_err(|error| broken(error.to_string()))?;
        let read =
            decoder.take(LARGEST_PAGE).read_to_end(&mut plain).map_err(|error| broken(error.to_string()))?;
        if read as u64 == LARGEST_PAGE {
            return Err(broken(format!("more than {LARGEST_PAGE} bytes")));
        }
    }
    Ok(plain.into())
}
