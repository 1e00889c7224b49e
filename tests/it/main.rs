//! The program as users meet it: one integration binary, one file per concern.

mod brute;
mod cases;
mod clients;
mod convert;
mod corpus;
mod export;
#[path = "../fidelity/mod.rs"]
mod fidelity;
mod first_contact;
mod folder;
mod format_cases;
mod hostile;
mod manifest;
mod policies;
mod property;
mod readme;
mod recommend;
mod same_report;
mod sample_log;
mod samples;
mod second_replay;
mod support;
mod three_cases;
mod week;
mod what_if;
