//! The raw bytes of one input: read in order, counted and digested on the way.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use super::discover::Input;

/// What a tap has seen.
struct State {
    reader: Box<dyn Read + Send>,
    hasher: Xxh3,
    bytes: u64,
    failure: Option<String>,
}

/// A reader whose count and digest can be asked for while a decoder owns a clone of it.
#[derive(Clone)]
pub struct Tap {
    state: Arc<Mutex<State>>,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").field("bytes", &self.bytes_read()).finish_non_exhaustive()
    }
}

impl Tap {
    /// Opens an input.
    ///
    /// # Errors
    /// What the system reports.
    pub fn open(input: &Input) -> io::Result<Self> {
        let reader: Box<dyn Read + Send> = match (&input.opener, &input.path) {
            (Some(opener), _) => (opener.0)()?,
            (None, Some(path)) => Box::new(File::open(path)?),
            (None, None) => Box::new(io::stdin()),
        };
        Ok(Self::new(reader))
    }

    /// Taps any reader.
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        let state = State { reader, hasher: Xxh3::new(), bytes: 0, failure: None };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.with(|state| state.bytes)
    }

    /// What the system reported when reading failed, as opposed to what a decoder made of it.
    pub fn failure(&self) -> Option<String> {
        self.with(|state| state.failure.clone())
    }

    /// Reads what is left and gives the digest of all bytes: XXH3, 128 bits, as `xxhsum -H128`.
    ///
    /// # Errors
    /// What the system reports.
    pub fn finish(&mut self) -> io::Result<String> {
        let mut buffer = vec![0; 1 << 16];
        while self.read(&mut buffer)? > 0 {}
        Ok(self.with(|state| format!("xxh3-128:{:032x}", state.hasher.digest128())))
    }

    fn with<T>(&self, ask: impl FnOnce(&State) -> T) -> T {
        ask(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match state.reader.read(buffer) {
                Ok(count) => {
                    state.hasher.update(buffer.get(..count).unwrap_or_default());
                    state.bytes += u64::try_from(count).unwrap_or(0);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    state.failure = Some(error.to_string());
                    return Err(error);
                }
            }
        }
    }
}
