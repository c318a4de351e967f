//! What is measured: one table of arrays and hyperslabs, for criterion's benches and for `scripts/bench`.
//!
//! Every workload has a name, W1 to W20, by which the documents refer to it. Beside the library each is done by libc's
//! memcpy, as many bytes as the workload delivers, and by `ideal`, which needs no chunks: the same selection of one
//! contiguous array, by plain loops. Reads are also done by the `bare` loop over the same chunks.

/// What elements are stored as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// float32, little-endian.
    F32,
    /// float64, little-endian.
    F64,
    /// int16, big-endian: every value is swapped on the way.
    I16Big,
    /// So many bytes that mean nothing: 3, 6, 12, 20 or 24.
    Bytes(usize),
}

impl Kind {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Kind::F32 => 4,
            Kind::F64 => 8,
            Kind::I16Big => 2,
            Kind::Bytes(size) => size,
        }
    }

    /// Whether stored elements have another byte order than those in memory.
    pub fn is_swapped(self) -> bool {
        self == Kind::I16Big && cfg!(target_endian = "little")
    }

    /// The type and the byte order, as `scripts/bench` tells them to other programs.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::F32 => ("float32", "little"),
            Kind::F64 => ("float64", "little"),
            Kind::I16Big => ("int16", "big"),
            Kind::Bytes(_) => ("bytes", "little"),
        }
    }
}

/// What an array holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Numbers that look random, in every n-th chunk counted in row-major order; the other chunks are absent.
    EveryNth(usize),
    /// Nothing: every chunk is absent and reads as the fill value.
    Nothing,
    /// A smooth field with noise, each chunk a zstd frame of level 1.
    Compressed {
        /// Rounded to few bits, as is done before compressing.
        rounded: bool,
    },
}

/// An array cut into chunks; its dimensions are multiples of its chunks'.
pub struct Array {
    pub name: &'static str,
    pub kind: Kind,
    pub dimlens: &'static [usize],
    pub chunklens: &'static [usize],
    pub content: Content,
}

impl Array {
    /// Bytes of a chunk that is not compressed.
    pub fn chunk_bytes(&self) -> usize {
        self.chunklens.iter().product::<usize>() * self.kind.size()
    }

    /// All of the array.
    pub fn all(&'static self) -> Workload {
        let (start, stride) = (&[0; 6][..self.dimlens.len()], &[1; 6][..self.dimlens.len()]);
        read("all", "all", self, start, self.dimlens, stride)
    }
}

/// What is done with a hyperslab.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// So many single elements from all over the box are read, one call each.
    ReadElements(usize),
}

/// A hyperslab of an array.
#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    pub title: &'static str,
    pub array: &'static Array,
    pub start: &'static [usize],
    pub count: &'static [usize],
    pub stride: &'static [isize],
    pub access: Access,
    /// In the caller's memory the first dimension is contiguous and the last one the slowest, not the other way round.
    pub transposed: bool,
    /// Measured with so many threads allowed too.
    pub threads: usize,
    /// Read by a plan that is kept; beside it, by one call as all others are.
    pub kept: bool,
    /// The store fills in chunks. Otherwise it lends them.
    pub filling: bool,
    /// Of no interest to other programs: of the library's own calls or options, or of elements that they do not have.
    pub alone: bool,
}

impl Workload {
    /// How many elements are selected.
    pub fn elements(&self) -> usize {
        match self.access {
            Access::ReadElements(calls) => calls,
            Access::Read | Access::Write => self.count.iter().product(),
        }
    }

    /// How many bytes the caller's memory has.
    pub fn bytes(&self) -> usize {
        self.elements() * self.array.kind.size()
    }

    /// How many elements lie from one to the next along each dimension in the caller's memory: netCDF's imap.
    pub fn imap(&self) -> Vec<isize> {
        let rank = self.count.len();
        let mut imap = vec![1; rank];
        let mut weight = 1;
        for k in 0..rank {
            let d = if self.transposed { k } else { rank - 1 - k };
            imap[d] = weight;
            weight *= self.count[d] as isize;
        }
        imap
    }
}

/// What absent chunks read as.
pub const FILL_VALUE: f32 = -999.0;

const fn array(name: &'static str, kind: Kind, dimlens: &'static [usize], chunklens: &'static [usize]) -> Array {
    Array { name, kind, dimlens, chunklens, content: Content::EveryNth(1) }
}

const fn plane(name: &'static str, kind: Kind, content: Content) -> Array {
    Array { content, ..array(name, kind, &[4096, 4096], &[512, 512]) }
}

const fn bytes(name: &'static str, size: usize) -> Array {
    array(name, Kind::Bytes(size), &[2048, 2048], &[512, 512])
}

static PLANE: Array = array("plane", Kind::F32, &[4096, 4096], &[512, 512]);
static CUBE: Array = array("cube", Kind::F32, &[365, 720, 1440], &[73, 90, 180]);
static TILES: Array = array("tiles", Kind::F32, &[4096, 4096], &[16, 16]);
static LINE: Array = array("line", Kind::F32, &[100_000_000], &[1_000_000]);
static SPARSE: Array =
    Array { content: Content::EveryNth(10_000), ..array("sparse", Kind::F32, &[1_000_000_000], &[1000]) };
static SIX: Array = array("six", Kind::F32, &[8, 8, 16, 16, 32, 32], &[4, 4, 8, 8, 16, 16]);
static BIG_ENDIAN: Array = plane("big-endian", Kind::I16Big, Content::EveryNth(1));
static DOUBLE: Array = plane("double", Kind::F64, Content::EveryNth(1));
static ZSTD: Array = plane("zstd", Kind::F32, Content::Compressed { rounded: false });
static ZSTD_ROUNDED: Array = plane("zstd-rounded", Kind::F32, Content::Compressed { rounded: true });
static ABSENT: Array = plane("absent", Kind::F32, Content::Nothing);
static SMALL: Array = array("small", Kind::F32, &[640, 640], &[64, 64]);
static BYTES_3: Array = bytes("bytes-3", 3);
static BYTES_6: Array = bytes("bytes-6", 6);
static BYTES_12: Array = bytes("bytes-12", 12);
static BYTES_20: Array = bytes("bytes-20", 20);
static BYTES_24: Array = bytes("bytes-24", 24);

const fn read(
    name: &'static str,
    title: &'static str,
    array: &'static Array,
    start: &'static [usize],
    count: &'static [usize],
    stride: &'static [isize],
) -> Workload {
    Workload {
        name,
        title,
        array,
        start,
        count,
        stride,
        access: Access::Read,
        transposed: false,
        threads: 1,
        kept: false,
        filling: false,
        alone: false,
    }
}

const fn threaded(workload: Workload) -> Workload {
    Workload { threads: 2, ..workload }
}

const fn kept(workload: Workload) -> Workload {
    Workload { kept: true, alone: true, ..workload }
}

const fn eight_threads(workload: Workload) -> Workload {
    Workload { threads: 8, alone: true, ..workload }
}

const fn filling(workload: Workload) -> Workload {
    Workload { filling: true, alone: true, ..workload }
}

const fn alone(workload: Workload) -> Workload {
    Workload { alone: true, ..workload }
}

const fn transposed(workload: Workload) -> Workload {
    Workload { transposed: true, ..workload }
}

const fn elements(calls: usize, workload: Workload) -> Workload {
    Workload { access: Access::ReadElements(calls), ..workload }
}

const fn write(workload: Workload) -> Workload {
    Workload { access: Access::Write, ..workload }
}

/// Reads, those of one array beside each other.
#[rustfmt::skip]
pub static READS: &[Workload] = &[
    threaded(read("W1", "all", &PLANE, &[0, 0], &[4096, 4096], &[1, 1])),
    read("W2", "a box that cuts chunks", &PLANE, &[100, 77], &[3900, 3924], &[1, 1]),
    read("W3", "stride (2,2)", &PLANE, &[0, 0], &[2048, 2048], &[2, 2]),
    threaded(read("W4", "stride (1,7)", &PLANE, &[0, 0], &[4096, 586], &[1, 7])),
    read("W5", "stride (7,1)", &PLANE, &[0, 0], &[586, 4096], &[7, 1]),
    read("W6", "one column", &PLANE, &[0, 1234], &[4096, 1], &[1, 1]),
    read("W7", "one row", &PLANE, &[1234, 0], &[1, 4096], &[1, 1]),
    kept(read("W7k", "one row, again", &PLANE, &[1234, 0], &[1, 4096], &[1, 1])),
    transposed(read("W18", "all, transposed", &PLANE, &[0, 0], &[4096, 4096], &[1, 1])),
    eight_threads(read("W20a", "8 bytes of two chunks", &PLANE, &[1234, 511], &[1, 2], &[1, 1])),
    eight_threads(filling(read("W20af", "8 bytes of two chunks, filled in", &PLANE, &[1234, 511], &[1, 2], &[1, 1]))),
    eight_threads(read("W20b", "2 KB of eight chunks", &PLANE, &[1234, 0], &[1, 512], &[1, 8])),
    eight_threads(filling(read("W20bf", "2 KB of eight chunks, filled in", &PLANE, &[1234, 0], &[1, 512], &[1, 8]))),
    read("W8a", "time series of a point", &CUBE, &[0, 333, 777], &[365, 1, 1], &[1, 1, 1]),
    kept(read("W8ak", "time series of a point, again", &CUBE, &[0, 333, 777], &[365, 1, 1], &[1, 1, 1])),
    read("W8b", "one map", &CUBE, &[100, 0, 0], &[1, 720, 1440], &[1, 1, 1]),
    threaded(read("W8c", "all, 1.5 GB", &CUBE, &[0, 0, 0], &[365, 720, 1440], &[1, 1, 1])),
    read("W8d", "stride (3,2,2)", &CUBE, &[10, 20, 30], &[113, 340, 685], &[3, 2, 2]),
    elements(
        1_000_000,
        read("W17", "single elements of one chunk, one call each", &CUBE, &[146, 180, 360], &[73, 90, 180], &[1, 1, 1]),
    ),
    elements(
        1_000_000,
        read("W17r", "single elements of all 1.5 GB, one call each", &CUBE, &[0, 0, 0], &[365, 720, 1440], &[1, 1, 1]),
    ),
    kept(read("W17k", "a single element, again", &CUBE, &[150, 200, 400], &[1, 1, 1], &[1, 1, 1])),
    elements(
        1_000_000,
        alone(read("W17c", "single elements of a chunk of 16 KiB, a call each", &SMALL, &[64, 64], &[64, 64], &[1, 1])),
    ),
    threaded(read("W9", "tiny chunks: all", &TILES, &[0, 0], &[4096, 4096], &[1, 1])),
    read("W9s", "tiny chunks: stride (2,2)", &TILES, &[0, 0], &[2048, 2048], &[2, 2]),
    eight_threads(filling(read("W20cf", "two tiny chunks, filled in", &TILES, &[0, 0], &[16, 32], &[1, 1]))),
    eight_threads(filling(read("W20df", "eight tiny chunks, filled in", &TILES, &[0, 0], &[16, 128], &[1, 1]))),
    read("W10", "stride 1000", &LINE, &[0], &[100_000], &[1000]),
    read("W11", "100 elements, 10 million apart", &SPARSE, &[0], &[100], &[10_000_000]),
    read("W12a", "six dimensions: all", &SIX, &[0; 6], &[8, 8, 16, 16, 32, 32], &[1; 6]),
    read("W12b", "six dimensions: stride 2 in the last", &SIX, &[0; 6], &[8, 8, 16, 16, 32, 16], &[1, 1, 1, 1, 1, 2]),
    read("W13", "int16 big-endian: all", &BIG_ENDIAN, &[0, 0], &[4096, 4096], &[1, 1]),
    read("W13s", "int16 big-endian: stride (2,2)", &BIG_ENDIAN, &[0, 0], &[2048, 2048], &[2, 2]),
    transposed(read("W18i", "int16 big-endian: all, transposed", &BIG_ENDIAN, &[0, 0], &[4096, 4096], &[1, 1])),
    read("W14", "float64: all", &DOUBLE, &[0, 0], &[4096, 4096], &[1, 1]),
    read("W14s", "float64: stride (2,2)", &DOUBLE, &[0, 0], &[2048, 2048], &[2, 2]),
    threaded(read("W15", "zstd: all", &ZSTD, &[0, 0], &[4096, 4096], &[1, 1])),
    read("W15s", "zstd: stride (2,2)", &ZSTD, &[0, 0], &[2048, 2048], &[2, 2]),
    alone(read("W15m", "zstd: the first fifth of each chunk of a row", &ZSTD, &[0, 0], &[102, 4096], &[1, 1])),
    read("W15r", "zstd, rounded: all", &ZSTD_ROUNDED, &[0, 0], &[4096, 4096], &[1, 1]),
    read("W16", "all chunks absent", &ABSENT, &[0, 0], &[4096, 4096], &[1, 1]),
    alone(read("W19-3", "elements of 3 bytes: all", &BYTES_3, &[0, 0], &[2048, 2048], &[1, 1])),
    alone(read("W19s-3", "elements of 3 bytes: stride (1,2)", &BYTES_3, &[0, 0], &[2048, 1024], &[1, 2])),
    alone(read("W19-6", "elements of 6 bytes: all", &BYTES_6, &[0, 0], &[2048, 2048], &[1, 1])),
    alone(read("W19s-6", "elements of 6 bytes: stride (1,2)", &BYTES_6, &[0, 0], &[2048, 1024], &[1, 2])),
    alone(read("W19-12", "elements of 12 bytes: all", &BYTES_12, &[0, 0], &[2048, 2048], &[1, 1])),
    alone(read("W19s-12", "elements of 12 bytes: stride (1,2)", &BYTES_12, &[0, 0], &[2048, 1024], &[1, 2])),
    alone(read("W19-20", "elements of 20 bytes: all", &BYTES_20, &[0, 0], &[2048, 2048], &[1, 1])),
    alone(read("W19s-20", "elements of 20 bytes: stride (1,2)", &BYTES_20, &[0, 0], &[2048, 1024], &[1, 2])),
    alone(read("W19-24", "elements of 24 bytes: all", &BYTES_24, &[0, 0], &[2048, 2048], &[1, 1])),
    alone(read("W19s-24", "elements of 24 bytes: stride (1,2)", &BYTES_24, &[0, 0], &[2048, 1024], &[1, 2])),
];

/// Writes; the names are those of the reads of the same hyperslabs.
pub static WRITES: &[Workload] = &[
    write(read("W1w", "all", &PLANE, &[0, 0], &[4096, 4096], &[1, 1])),
    write(read("W2w", "a box that cuts chunks", &PLANE, &[100, 77], &[3900, 3924], &[1, 1])),
    write(read("W3w", "stride (2,2)", &PLANE, &[0, 0], &[2048, 2048], &[2, 2])),
    write(read("W9w", "tiny chunks: all", &TILES, &[0, 0], &[4096, 4096], &[1, 1])),
    write(read("W9sw", "tiny chunks: stride (2,2)", &TILES, &[0, 0], &[2048, 2048], &[2, 2])),
    write(read(
        "W12bw",
        "six dimensions: stride 2 in the last",
        &SIX,
        &[0; 6],
        &[8, 8, 16, 16, 32, 16],
        &[1, 1, 1, 1, 1, 2],
    )),
];
