//! What policies cost, without any log: the numbers of the three cases, each reason for which a limit doesn't
//! count, and bounds that no traffic exceeds.

mod brief;
mod support;
mod voided;
