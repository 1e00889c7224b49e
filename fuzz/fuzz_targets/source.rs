//! See `shadowcap_engine::fuzzing::source`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shadowcap_engine::fuzzing::source(data));
