//! See `shadowcap_engine::fuzzing::policy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shadowcap_engine::fuzzing::policy(data));
