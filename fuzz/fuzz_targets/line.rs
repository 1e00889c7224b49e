//! See `shadowcap_engine::fuzzing::line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shadowcap_engine::fuzzing::line(data));
