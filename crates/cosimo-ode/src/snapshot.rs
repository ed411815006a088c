//! A place as bytes: numbers in little-endian order behind a line that says whose they are.

/// Changed whenever bytes written before could be misread.
const FORM: &str = "cosimo-ode 1";

#[derive(Debug)]
pub(crate) struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(crate) fn begin(bytes: &'a mut Vec<u8>, name: &str, size: usize) -> Self {
        for part in [FORM, " ", name, "\n"] {
            bytes.extend_from_slice(part.as_bytes());
        }
        let mut writer = Writer { bytes };
        writer.count(size);
        writer
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        for number in numbers {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.bytes.extend_from_slice(&(count as u64).to_le_bytes());
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn begin(bytes: &'a [u8], name: &str, size: usize) -> Result<Self, SnapshotError> {
        let wanted = format!("{FORM} {name}\n");
        let Some(rest) = bytes.strip_prefix(wanted.as_bytes()) else {
            let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let found = String::from_utf8_lossy(&line[..line.len().min(60)]);
            return Err(SnapshotError(format!(
                "they should begin with `{}`, not `{found}`",
                wanted.trim_end()
            )));
        };
        let mut reader = Reader { rest };
        match reader.count(usize::MAX)? {
            found if found == size => Ok(reader),
            found => Err(SnapshotError(format!("they are for a size of {found}, not {size}"))),
        }
    }

    pub(crate) fn numbers(&mut self, numbers: &mut [f64]) -> Result<(), SnapshotError> {
        for number in numbers {
            *number = f64::from_le_bytes(self.take()?);
        }
        Ok(())
    }

    /// Of things that were counted one by one: larger numbers were never written, and would overflow.
    pub(crate) fn small_count(&mut self) -> Result<usize, SnapshotError> {
        self.count(u32::MAX as usize)
    }

    /// No more than `most`.
    pub(crate) fn count(&mut self, most: usize) -> Result<usize, SnapshotError> {
        let count = u64::from_le_bytes(self.take()?);
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= most)
            .ok_or_else(|| SnapshotError(format!("there is a count of {count} where {most} is the most")))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, SnapshotError> {
        match self.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(SnapshotError(format!("there is a {other} where yes or no is meant"))),
        }
    }

    pub(crate) fn end(self) -> Result<(), SnapshotError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(SnapshotError(format!("{left} bytes are left over"))),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (first, rest) =
            self.rest.split_first_chunk().ok_or_else(|| SnapshotError("they end too early".into()))?;
        self.rest = rest;
        Ok(*first)
    }
}

/// Bytes that are not a serialized state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot deserialize: {0}")]
pub struct SnapshotError(pub(crate) String);
