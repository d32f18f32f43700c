//! Encodes a column of texts as pages of a Parquet file.
//!
//! A batch has each distinct text once, and a code for each row. A dictionary page and its data
//! pages have the same form, so both are written directly. The library would look up the text of
//! every row.

use parquet::basic::{Compression, Encoding, EncodingMask, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer_mut};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid::push_hybrid;
use super::{EncodedColumn, ZSTD_LEVEL};
use crate::text_cells::{NULL, TextCells};

/// The number of rows in a data page, the same as in the library's pages.
const PAGE_ROWS: usize = 20_000;

/// The pages of a column.
struct Pages<'a> {
    writer: SerializedPageWriter<'a, Vec<u8>>,
    specs: Vec<PageWriteSpec>,
}

/// Encodes a column of texts.
pub(super) fn encode_texts(
    description: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    cells: &TextCells,
) -> Result<EncodedColumn, ParquetError> {
    let mut output = TrackedWrite::new(Vec::new());
    let mut pages = Pages { writer: SerializedPageWriter::new(&mut output), specs: Vec::new() };
    let mut offsets = OffsetIndexBuilder::new();
    pages.write_dictionary(cells)?;
    let bits = bits_of(cells.ends.len().saturating_sub(1) as u32);
    for codes in cells.codes.chunks(PAGE_ROWS) {
        let (offset, bytes) = pages.write_codes(codes, bits)?;
        offsets.append_row_count(codes.len() as i64);
        offsets.append_offset_and_size(offset, bytes);
        offsets.append_unencoded_byte_array_data_bytes(Some(text_bytes(cells, codes)));
    }
    let specs = pages.specs;
    let metadata = metadata(description, properties, cells, &specs)?;
    let close = ColumnCloseResult {
        bytes_written: specs.iter().map(|spec| spec.bytes_written).sum(),
        rows_written: cells.codes.len() as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: Some(offsets.build()),
    };
    Ok((output.into_inner()?.into(), close))
}

impl Pages<'_> {
    /// Writes the distinct texts, each after its length in 4 bytes (Parquet format, PLAIN).
    fn write_dictionary(&mut self, cells: &TextCells) -> Result<(), ParquetError> {
        let mut page = Vec::with_capacity(cells.bytes.len() + 4 * cells.ends.len());
        for text in cells.texts() {
            page.extend((text.len() as u32).to_le_bytes());
            page.extend(text);
        }
        let bytes = page.len();
        let page = Page::DictionaryPage {
            buf: compress(&page)?.into(),
            num_values: cells.ends.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.write(CompressedPage::new(page, bytes)).map(|_| ())
    }

    /// Writes some rows: whether each has a text, and the codes of those that have one, with `bits`
    /// bits each (Parquet format, data page and RLE_DICTIONARY).
    fn write_codes(&mut self, codes: &[u32], bits: u32) -> Result<(i64, i32), ParquetError> {
        let levels: Vec<u32> = codes.iter().map(|code| u32::from(*code != NULL)).collect();
        // Code 1 is the first text.
        let indices: Vec<u32> = codes.iter().filter_map(|code| code.checked_sub(1)).collect();
        let mut page = vec![0; 4];
        push_hybrid(&levels, 1, &mut page);
        let levels_bytes = page.len() as u32 - 4;
        page[..4].copy_from_slice(&levels_bytes.to_le_bytes());
        page.push(bits as u8);
        push_hybrid(&indices, bits, &mut page);
        let bytes = page.len();
        let page = Page::DataPage {
            buf: compress(&page)?.into(),
            num_values: codes.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.write(CompressedPage::new(page, bytes))
    }

    /// Writes a page. Returns its offset, and its size including the header, in bytes.
    fn write(&mut self, page: CompressedPage) -> Result<(i64, i32), ParquetError> {
        let spec = self.writer.write_page(page)?;
        let place = (spec.offset as i64, spec.compressed_size as i32);
        self.specs.push(spec);
        Ok(place)
    }
}

fn compress(page: &[u8]) -> Result<Vec<u8>, ParquetError> {
    Ok(zstd::bulk::compress(page, ZSTD_LEVEL)?)
}

/// Returns the number of bits needed for numbers up to `number`.
fn bits_of(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// Returns the total length of the texts of some rows, in bytes.
fn text_bytes(cells: &TextCells, codes: &[u32]) -> i64 {
    let end = |code: u32| cells.ends.get(code as usize - 1).copied().unwrap_or_default();
    let length = |code: u32| end(code) - if code == 1 { 0 } else { end(code - 1) };
    codes.iter().filter(|code| **code != NULL).map(|code| length(*code) as i64).sum()
}

/// Returns the footer's entry for the column.
fn metadata(
    description: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    cells: &TextCells,
    specs: &[PageWriteSpec],
) -> Result<ColumnChunkMetaData, ParquetError> {
    let sum = |size: fn(&PageWriteSpec) -> usize| specs.iter().map(size).sum::<usize>() as i64;
    let rows = cells.codes.len() as i64;
    let nulls = cells.codes.iter().filter(|code| **code == NULL).count();
    let [dictionary, data] = [0, 1].map(|index| specs.get(index).map(|spec| spec.offset as i64));
    let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
    let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
    let mut builder = ColumnChunkMetaData::builder(description.clone())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
        .set_page_encoding_stats(vec![
            stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
            stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, specs.len() as i32 - 1),
        ])
        .set_total_compressed_size(sum(|spec| spec.compressed_size))
        .set_total_uncompressed_size(sum(|spec| spec.uncompressed_size))
        .set_num_values(rows)
        .set_dictionary_page_offset(dictionary)
        .set_data_page_offset(data.unwrap_or_default())
        .set_unencoded_byte_array_data_bytes(Some(text_bytes(cells, &cells.codes)))
        .set_definition_level_histogram(Some(LevelHistogram::from(vec![
            nulls as i64,
            rows - nulls as i64,
        ])));
    if let Some(statistics) = encode_extremes(description, properties, cells, nulls)?.statistics() {
        builder = builder.set_statistics(statistics.clone());
    }
    builder.build()
}

/// Encodes a column of only the least text, the greatest text and the NULLs with the library. Its
/// statistics are those of the whole column.
fn encode_extremes(
    description: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    cells: &TextCells,
    nulls: usize,
) -> Result<ColumnChunkMetaData, ParquetError> {
    let extremes = cells.texts().min().into_iter().chain(cells.texts().max());
    let values: Vec<ByteArray> = extremes.map(|text| ByteArray::from(text.to_vec())).collect();
    let mut levels = vec![1; values.len()];
    levels.resize(values.len() + nulls, 0);
    let mut output = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut output));
    let mut column = get_column_writer(description, properties, pages);
    let typed = get_typed_column_writer_mut::<ByteArrayType>(&mut column);
    typed.write_batch(&values, Some(&levels), None)?;
    Ok(column.close()?.metadata)
}
