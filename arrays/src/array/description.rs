//! Descriptions of new arrays: from the caller's settings to metadata.

use crate::alloc;
use crate::chunk_list::ChunkRun;
use crate::chunkshape::{self, NETCDF_TARGET_BYTES};
use crate::codec::{self, CodecRegistry, Stage};
use crate::dims::check_rank;
use crate::element::{ElementType, Elements, LARGEST as LARGEST_ELEMENT};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Dimension;
use crate::json::{self, At, Value};
use crate::key::Separator;
use crate::strings;
use crate::variable::Endian;
use crate::zarr::{self, AttributeValue, CodecSpec, Format, KeyEncoding, Keys, Metadata, SCALAR_DIMENSION, Shards};

/// The formats in which arrays are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ArrayFormat {
    /// Zarr v2.
    ZarrV2,
    /// Zarr v3.
    #[default]
    ZarrV3,
    /// Zarr v2 with the metadata that netCDF-C reads. The array must be in a group, and each of its dimensions needs a
    /// name. An array that netCDF-C would refuse or misread is refused: types and codecs that netCDF-C does not have;
    /// big-endian words, because it misreads missing chunks of them; and a dimension that another array of the group
    /// has with another length, because then it refuses the whole dataset. So resize all arrays of a group that share a
    /// dimension. netCDF-C opens the array with `#mode=zarr` or, unless it has made the group itself, with
    /// `#mode=nczarr`. It shows characters as strings of one character, and a scalar with a dimension of length 1.
    NcZarr,
}

impl ArrayFormat {
    /// The version of Zarr that it is.
    pub(super) fn version(self) -> Format {
        if self == ArrayFormat::ZarrV3 { Format::V3 } else { Format::V2 }
    }
}

/// An array to create. Every setting that is left out has a default.
///
/// ```
/// use nczchunk::{Description, ElementType};
///
/// let attributes = [("units", "K".into()), ("valid_max", (&400f32).into())];
/// let sst = Description::new(&[365, 90, 180], ElementType::Float)
///     .with_dimension_names(&["time", "lat", "lon"])
///     .with_chunk_shape(&[30, 90, 180])
///     .with_codecs(&[("zstd", r#"{"level": 3}"#)])
///     .with_attributes(&attributes);
/// # let _ = sst;
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Description<'a> {
    shape: &'a [usize],
    element: ElementType,
    endian: Endian,
    chunk_shape: Option<&'a [usize]>,
    chunk_runs: &'a [&'a [ChunkRun]],
    shard_shape: Option<&'a [usize]>,
    fill_value: Option<&'a [u8]>,
    format: ArrayFormat,
    separator: Option<Separator>,
    codecs: Option<&'a [(&'a str, &'a str)]>,
    /// Whether the codecs are those of another array.
    are_codecs_taken: bool,
    dimension_names: &'a [&'a str],
    attributes_json: &'a str,
    attributes: &'a [(&'a str, AttributeValue<'a>)],
    overwrite: bool,
    /// Whether it is compared with the other arrays of its group, if it is for netCDF-C.
    is_compared: bool,
}

impl<'a> Description<'a> {
    /// An array of this shape. An empty shape is a scalar.
    pub fn new(shape: &'a [usize], element: ElementType) -> Self {
        Description {
            shape,
            element,
            endian: Endian::Native,
            chunk_shape: None,
            chunk_runs: &[],
            shard_shape: None,
            fill_value: None,
            format: ArrayFormat::default(),
            separator: None,
            codecs: None,
            are_codecs_taken: false,
            dimension_names: &[],
            attributes_json: "",
            attributes: &[],
            overwrite: false,
            is_compared: true,
        }
    }

    /// The lengths of a chunk, the unit of encoding. The default is that of
    /// [netCDF-C](crate::chunkshape::netcdf): chunks of about 16 MiB.
    pub fn with_chunk_shape(self, chunk_shape: &'a [usize]) -> Self {
        Description { chunk_shape: Some(chunk_shape), ..self }
    }

    /// For each dimension the lengths of its chunks, where these differ: runs of chunks that are alike, which reach the
    /// end of the dimension or go beyond it. An empty list stands for chunks of one length, that of
    /// [`with_chunk_shape`](Self::with_chunk_shape). Only Zarr v3 has such a grid, for arrays without shards; chunks of
    /// it contribute all that they decode to.
    ///
    /// ```
    /// use nczchunk::{ChunkRun, Description, ElementType};
    ///
    /// // Days in chunks of a month: 31, 28, 31, ...
    /// let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].map(|days| ChunkRun::new(1, days));
    /// let lists: [&[ChunkRun]; 3] = [&months, &[], &[]];
    /// let sst = Description::new(&[365, 90, 180], ElementType::Float)
    ///     .with_chunk_shape(&[31, 90, 180])
    ///     .with_chunk_runs(&lists);
    /// # let _ = sst;
    /// ```
    pub fn with_chunk_runs(self, chunk_runs: &'a [&'a [ChunkRun]]) -> Self {
        Description { chunk_runs, ..self }
    }

    /// The lengths of a shard, an object that holds several chunks; each is a multiple of the chunk's length. Only Zarr
    /// v3 has shards. By default, every chunk is an object.
    pub fn with_shard_shape(self, shard_shape: &'a [usize]) -> Self {
        Description { shard_shape: Some(shard_shape), ..self }
    }

    /// Without shards: every chunk is an object.
    pub fn without_shards(self) -> Self {
        Description { shard_shape: None, ..self }
    }

    /// The fill value, which reads return where nothing was written: the bytes of an element in native byte order, or
    /// of a variable-length string. The default is zeros, or an empty string. In [NCZarr](ArrayFormat::NcZarr) an
    /// attribute `_FillValue` of numbers is the fill value, whatever is given here.
    pub fn with_fill_value(self, fill_value: &'a [u8]) -> Self {
        Description { fill_value: Some(fill_value), ..self }
    }

    /// The format. The default is Zarr v3.
    pub fn with_format(self, format: ArrayFormat) -> Self {
        Description { format, ..self }
    }

    /// The byte order of the stored data. The default is the machine's or, in an array for netCDF-C, little-endian,
    /// which netCDF-C reads.
    pub fn with_endian(self, endian: Endian) -> Self {
        Description { endian, ..self }
    }

    /// The chunk key separator. The default is `/` in Zarr v3, else `.`.
    pub fn with_separator(self, separator: Separator) -> Self {
        Description { separator: Some(separator), ..self }
    }

    /// The codecs in the order of encoding, each a name and its configuration: a JSON object, or a number alone, which
    /// sets the codec's first numeric setting, or an empty string. See [`has_codec`](crate::has_codec). The default is
    /// zstd, if it is built in. With an empty list, chunks are stored uncompressed.
    pub fn with_codecs(self, codecs: &'a [(&'a str, &'a str)]) -> Self {
        Description { codecs: Some(codecs), are_codecs_taken: false, ..self }
    }

    /// The codecs of another array, as [`Array::codecs`](crate::Array::codecs) has them. Types that are spelt in their
    /// configurations have the byte order of the other array's elements; they get that of the new elements.
    pub fn with_codecs_of_array(self, codecs: &'a [(&'a str, &'a str)]) -> Self {
        Description { codecs: Some(codecs), are_codecs_taken: true, ..self }
    }

    /// The names of the dimensions. An empty name stands for a dimension without a name. Zarr v2 stores all names or
    /// none: if a dimension has no name, none has one.
    pub fn with_dimension_names(self, names: &'a [&'a str]) -> Self {
        Description { dimension_names: names, ..self }
    }

    /// Attributes, as a JSON object in a string.
    pub fn with_attributes_json(self, attributes: &'a str) -> Self {
        Description { attributes_json: attributes, ..self }
    }

    /// Attributes one by one. They are set after those of `with_attributes_json`.
    pub fn with_attributes(self, attributes: &'a [(&'a str, AttributeValue<'a>)]) -> Self {
        Description { attributes, ..self }
    }

    /// Whether to replace an existing array or group. If `true`, its metadata documents, its chunks and the arrays and
    /// groups below it are removed; symbolic links are removed as links. If anything else exists there, creating the
    /// array fails with `Exists`, and nothing is removed. If `false`, creating fails if an array or group exists.
    pub fn with_overwrite(self, overwrite: bool) -> Self {
        Description { overwrite, ..self }
    }

    /// The caller has seen to it that a dimension has one length in the array's group for netCDF-C: it is not compared
    /// with the other arrays there, all of which would be read.
    #[doc(hidden)]
    pub fn with_compared_lengths(self) -> Self {
        Description { is_compared: false, ..self }
    }

    pub(super) fn overwrite(&self) -> bool {
        self.overwrite
    }

    pub(super) fn is_for_netcdf(&self) -> bool {
        self.format == ArrayFormat::NcZarr
    }

    pub(super) fn is_compared(&self) -> bool {
        self.is_compared
    }

    /// The metadata of such an array in the group or storage `name`.
    pub(super) fn metadata(&self, name: &str, own: &CodecRegistry) -> Result<Metadata> {
        check_rank(self.shape.len())?;
        let is_text = self.element == ElementType::String;
        if is_text && self.shard_shape.is_some() {
            return Err(ErrorKind::Unsupported("writing variable-length strings to shards").into());
        }
        if !is_text && !(1..=LARGEST_ELEMENT).contains(&self.element.size()) {
            return Err(ErrorKind::ElementType.in_object(self.element));
        }
        let format = self.format.version();
        let (style, separator) = match format {
            Format::V2 => (KeyEncoding::V2, Separator::Dot),
            Format::V3 => (KeyEncoding::V3, Separator::Slash),
        };
        let endian = match self.endian {
            _ if self.element.word_size() <= 1 => Endian::Native,
            Endian::Native if self.format == ArrayFormat::NcZarr => Endian::Little,
            endian => endian,
        };
        let (codecs, endian) = self.codecs(format, endian, own)?;
        let (chunk_shape, chunk_runs) = self.lists(self.chunks()?)?;
        let (chunk_shape, codecs, shards) = match self.shard_shape {
            None => (chunk_shape, codecs, None),
            Some(shard_shape) => (self.shards(shard_shape, &chunk_shape)?, Vec::new(), Some((chunk_shape, codecs))),
        };
        let mut metadata = Metadata {
            format,
            is_nczarr: self.format == ArrayFormat::NcZarr,
            shape: alloc::copied(self.shape)?,
            unlimited: Vec::new(),
            chunk_shape,
            chunk_runs,
            element: self.element,
            endian,
            order: None,
            fill_value: Some(self.fill()?),
            keys: Keys { style, separator: self.separator.unwrap_or(separator) },
            codecs,
            shards: shards.map(|(inner, codecs)| Shards {
                inner,
                index_order: None,
                codecs,
                index_at_start: false,
                index_endian: Endian::Little,
                index_checksum: true,
            }),
            dimension_names: self.names()?,
            dimension_references: Vec::new(),
            attributes: all_attributes(self.format, attributes_of_text(self.attributes_json)?, self.attributes)?,
            attributes_error: None,
            is_scalar: false,
        };
        if self.format == ArrayFormat::NcZarr {
            for_netcdf(&mut metadata, name)?;
        }
        Ok(metadata)
    }

    fn chunks(&self) -> Result<Vec<usize>> {
        let Some(chunk_shape) = self.chunk_shape else {
            if self.shard_shape.is_some() {
                return Err(ErrorKind::Argument("shards need the shape of the chunks within them").into());
            }
            let mut chunk_shape = alloc::copied(self.shape)?;
            chunkshape::netcdf(self.shape, self.element_bytes(), NETCDF_TARGET_BYTES, &mut chunk_shape)?;
            return Ok(chunk_shape);
        };
        self.check_len(chunk_shape.len())?;
        match chunk_shape.iter().position(|&len| len == 0) {
            Some(d) => Err(ErrorKind::Argument("the chunk length is 0").in_dimension(d)),
            None => Ok(alloc::copied(chunk_shape)?),
        }
    }

    /// The lists of chunk lengths, and the lengths of a chunk that is the largest.
    fn lists(&self, mut chunk_shape: Vec<usize>) -> Result<(Vec<usize>, Vec<Vec<ChunkRun>>)> {
        let mut lists = Vec::new();
        if self.chunk_runs.iter().all(|runs| runs.is_empty()) {
            return Ok((chunk_shape, lists));
        }
        self.check_len(self.chunk_runs.len())?;
        if self.format != ArrayFormat::ZarrV3 || self.shard_shape.is_some() {
            return Err(ErrorKind::Unsupported("chunks that differ in length, in Zarr v2 or in shards").into());
        }
        if self.chunk_runs.iter().copied().flatten().any(|run| run.encoded_len != run.len) {
            return Err(ErrorKind::Unsupported("chunks that decode to more than they contribute, in Zarr").into());
        }
        for (d, runs) in self.chunk_runs.iter().enumerate() {
            let mut list = Vec::new();
            if !runs.is_empty() {
                let dimension = Dimension::with_chunks(self.shape[d], runs.iter().copied());
                let dimension = dimension.map_err(|error| error.in_dimension(d))?;
                chunk_shape[d] = dimension.chunklen();
                list = alloc::collected(dimension.chunks().into_iter().flatten())?;
            }
            alloc::push(&mut lists, list)?;
        }
        Ok((chunk_shape, lists))
    }

    /// Bytes that an element has in memory.
    fn element_bytes(&self) -> usize {
        if self.element == ElementType::String { strings::ELEMENT } else { self.element.size() }
    }

    fn shards(&self, shard_shape: &[usize], chunk_shape: &[usize]) -> Result<Vec<usize>> {
        self.check_len(shard_shape.len())?;
        let is_wrong = |(shard, chunk): (&usize, &usize)| *shard == 0 || shard % chunk != 0;
        match shard_shape.iter().zip(chunk_shape).position(is_wrong) {
            Some(d) => Err(ErrorKind::Argument("a shard is not a whole number of chunks").in_dimension(d)),
            None => Ok(alloc::copied(shard_shape)?),
        }
    }

    fn check_len(&self, len: usize) -> Result<()> {
        if len == self.shape.len() {
            return Ok(());
        }
        Err(ErrorKind::Argument("there must be one length and one name for each dimension").into())
    }

    fn fill(&self) -> Result<Vec<u8>> {
        if self.element == ElementType::String {
            return self.fill_text();
        }
        match self.fill_value {
            Some(fill_value) if fill_value.len() != self.element.size() => {
                Err(ErrorKind::Argument("the fill value must be exactly one element").into())
            }
            Some(fill_value) => Ok(alloc::copied(fill_value)?),
            None => Ok(alloc::filled(self.element.size(), 0)?),
        }
    }

    /// The fill value of variable-length strings, with a NUL behind it.
    fn fill_text(&self) -> Result<Vec<u8>> {
        let text = self.fill_value.unwrap_or_default();
        if std::str::from_utf8(text).is_err() || text.contains(&0) {
            return Err(ErrorKind::Argument("the fill value must be UTF-8 without NUL").into());
        }
        Ok(alloc::collected(text.iter().copied().chain([0]))?)
    }

    /// The codecs, and the byte order of the elements that the first of them is given.
    fn codecs(&self, format: Format, endian: Endian, own: &CodecRegistry) -> Result<(Vec<CodecSpec>, Endian)> {
        let default: &[(&str, &str)] = if codec::has("zstd") { &[("zstd", "")] } else { &[] };
        let given = self.codecs.unwrap_or(default);
        let list = self.codecs_of(given, endian, own)?;
        let stages = || list.iter().filter_map(CodecSpec::stage);
        if format == Format::V2 || stages().all(|stage| stage == Stage::Bytes) {
            return Ok((list, endian));
        }
        if !stages().is_sorted_by_key(|stage| if stage.is_of_elements() { Stage::Elements } else { stage }) {
            return Err(ErrorKind::Argument(
                "codecs must be in the order: array-to-array, array-to-bytes, bytes-to-bytes",
            )
            .into());
        }
        // In Zarr v3 codecs of elements are given those in memory; the byte order is that of what they make.
        let mut list = self.codecs_of(given, Endian::Native, own)?;
        if let Some(last) = list.iter_mut().rev().find(|codec| codec.stage().is_some_and(Stage::is_of_elements)) {
            last.store_as(endian);
        }
        Ok((list, Endian::Native))
    }

    fn codecs_of(&self, given: &[(&str, &str)], endian: Endian, own: &CodecRegistry) -> Result<Vec<CodecSpec>> {
        let (mut elements, format) = (Elements { element: self.element, endian }, self.format.version());
        let mut list = Vec::new();
        for (name, configuration) in given {
            let codec = zarr::codec_named(name, configuration, (elements, self.are_codecs_taken), format, own)?;
            elements = codec.encoded(elements);
            alloc::push(&mut list, codec)?;
        }
        Ok(list)
    }

    fn names(&self) -> Result<Vec<Option<String>>> {
        if self.dimension_names.is_empty() {
            return Ok(alloc::filled(self.shape.len(), None)?);
        }
        self.check_len(self.dimension_names.len())?;
        let name = |name: &&str| Ok(if name.is_empty() { None } else { Some(alloc::text(name)?) });
        alloc::try_collected(self.dimension_names.iter().map(name))
    }
}

/// The attributes of a text, which is a JSON object or nothing.
pub(super) fn attributes_of_text(text: &str) -> Result<Value> {
    let about = |error: Error| error.in_object("the attributes");
    let all = match text {
        "" => Value::Object(Vec::new()),
        text => json::read(text.as_bytes()).map_err(about)?,
    };
    At::root(&all).check_object().map_err(about)?;
    Ok(all)
}

/// Attributes as they are stored: all of these, and those that are set after them.
pub(super) fn all_attributes(format: ArrayFormat, mut all: Value, set: &[(&str, AttributeValue<'_>)]) -> Result<Value> {
    if format == ArrayFormat::NcZarr {
        zarr::keep_types(&mut all)?;
    }
    for (name, value) in set {
        zarr::set_attribute(&mut all, name, *value).map_err(|error| error.in_object(name))?;
    }
    Ok(all)
}

/// Makes the metadata what netCDF-C needs, or refuses what it does not read as it is.
fn for_netcdf(metadata: &mut Metadata, name: &str) -> Result<()> {
    const REFUSED: &str = "netCDF-C would refuse this array or read it wrong";
    let unsupported = |what: &str| Err(ErrorKind::Unsupported(REFUSED).in_object(what));
    let element = metadata.element;
    if name.is_empty() {
        return Err(ErrorKind::Argument("an array for netCDF-C is in a group, so it needs a name").into());
    }
    if element.netcdf_type() == 0 || element == ElementType::String {
        return unsupported(element.name());
    }
    if metadata.shards.is_some() {
        return unsupported("shards");
    }
    if element.word_size() > 1 && metadata.endian.is_foreign() != cfg!(target_endian = "big") {
        return unsupported("big-endian words");
    }
    // The attribute is the fill value.
    if let Some(told) = zarr::told_fill_value(&metadata.attributes, element)? {
        metadata.fill_value = Some(told);
    }
    // The fill value is an element.
    let size = metadata.fill_value.as_ref().map_or(0, Vec::len);
    for codec in &metadata.codecs {
        if !codec.is_netcdfs(size) {
            return unsupported(codec.id());
        }
    }
    if metadata.shape.is_empty() {
        (metadata.shape, metadata.chunk_shape) = (alloc::copied(&[1])?, alloc::copied(&[1])?);
        metadata.is_scalar = true;
        return Ok(alloc::push(&mut metadata.dimension_names, Some(alloc::text(SCALAR_DIMENSION)?))?);
    }
    let (names, shape) = (&metadata.dimension_names, &metadata.shape);
    if let Some(d) = names.iter().position(Option::is_none) {
        return Err(ErrorKind::Argument("netCDF's dimensions have names").in_dimension(d));
    }
    let is_other = |&d: &usize| (0..d).any(|before| names[before] == names[d] && shape[before] != shape[d]);
    match (0..names.len()).find(is_other) {
        Some(d) => Err(ErrorKind::Argument("netCDF has one length for a dimension, and here are two").in_dimension(d)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(description: Description<'_>, name: &str) -> Result<Metadata> {
        description.metadata(name, &CodecRegistry::default())
    }

    fn refused(description: Description<'_>) -> ErrorKind {
        metadata(description, "x").unwrap_err().kind()
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let default = metadata(Description::new(&[365, 721, 1440], ElementType::Float), "").unwrap();
        assert_eq!((default.chunk_shape.as_slice(), default.format), (&[73, 145, 288][..], Format::V3));
        assert_eq!((default.dimension_names, default.fill_value), (vec![None; 3], Some(vec![0; 4])));
        assert_eq!(default.codecs.len(), usize::from(codec::has("zstd")));
        let bytes = metadata(Description::new(&[], ElementType::Byte).with_endian(Endian::Big), "").unwrap();
        assert_eq!((bytes.endian, bytes.chunk_shape.len()), (Endian::Native, 0));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let four = Description::new(&[4, 4], ElementType::Int);
        let argument = |description| matches!(refused(description), ErrorKind::Argument(_));
        assert!(argument(four.with_chunk_shape(&[2])));
        assert!(argument(four.with_chunk_shape(&[2, 0])));
        assert!(argument(four.with_shard_shape(&[2, 2])));
        assert!(argument(four.with_chunk_shape(&[2, 3]).with_shard_shape(&[4, 4])));
        assert!(argument(four.with_dimension_names(&["x"])));
        assert!(argument(four.with_fill_value(&[0; 3])));
        assert!(argument(four.with_attributes(&[("", "x".into())])));
        assert!(matches!(refused(four.with_attributes_json("[]")), ErrorKind::Metadata(_)));
        let texts = Description::new(&[4], ElementType::String).with_chunk_shape(&[2]);
        let in_shards = ErrorKind::Unsupported("writing variable-length strings to shards");
        assert_eq!(refused(texts.with_shard_shape(&[4])), in_shards);
        assert!(matches!(refused(texts.with_fill_value(b"a\0")), ErrorKind::Argument(_)));
        assert!(matches!(refused(texts.with_fill_value(b"\xff")), ErrorKind::Argument(_)));
    }

    #[test]
    fn netcdf_is_given_what_it_reads() {
        let four = Description::new(&[4], ElementType::Short).with_format(ArrayFormat::NcZarr);
        assert!(matches!(refused(four), ErrorKind::Argument(_)));
        let named = four.with_dimension_names(&["x"]);
        assert!(metadata(named, "v").is_ok() && metadata(named, "").is_err());
        assert!(matches!(refused(named.with_codecs(&[("lz4", "")])), ErrorKind::Unsupported(_)));
        assert!(metadata(named.with_codecs(&[("shuffle", ""), ("zlib", "")]), "v").is_ok());
        let wrong = named.with_codecs(&[("shuffle", r#"{"elementsize": 4}"#), ("zlib", "")]);
        assert!(matches!(refused(wrong), ErrorKind::Unsupported(_)));
        let scalar = Description::new(&[], ElementType::Double).with_format(ArrayFormat::NcZarr);
        let scalar = metadata(scalar, "v").unwrap();
        assert_eq!((scalar.shape, scalar.is_scalar), (vec![1], true));
        assert!(matches!(refused(named.with_endian(Endian::Big)), ErrorKind::Unsupported(_)));
        // netCDF-C has the fill value of a text as it is.
        let text = Description::new(&[4], ElementType::Text { len: 5 }).with_dimension_names(&["x"]);
        let storage = crate::object::Storage::new(crate::object::Memory::new()).unwrap();
        let text = text.with_format(ArrayFormat::NcZarr).with_fill_value(b"abc\0\0");
        crate::Array::create_in(&storage, "v", &text).unwrap();
        let array = crate::Array::open_in(&storage, "v", crate::Access::Read).unwrap();
        assert_eq!(array.variable().fill_value(), Some(&b"abc\0\0"[..]));
        // On every machine it is given little-endian words.
        assert_eq!(metadata(named, "v").unwrap().endian, Endian::Little);
        let shards = metadata(named.with_chunk_shape(&[2]).with_shard_shape(&[4]), "v").unwrap_err();
        assert!(matches!(shards.kind(), ErrorKind::Unsupported(_)) && shards.about() == "shards", "{shards}");
        let half = Description::new(&[], ElementType::Half).with_format(ArrayFormat::NcZarr);
        assert!(matches!(refused(half), ErrorKind::Unsupported(_)));
        for (shape, is_one_length) in [([4, 5, 4], true), ([4, 5, 5], false)] {
            let twice = Description::new(&shape, ElementType::Short).with_dimension_names(&["x", "y", "x"]);
            let made = metadata(twice.with_format(ArrayFormat::NcZarr), "v");
            assert_eq!(made.map_err(|error| error.dimension()).err(), if is_one_length { None } else { Some(Some(2)) });
            assert!(metadata(twice, "v").is_ok());
        }
    }
}
