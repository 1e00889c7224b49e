//! Requirements evaluated: each metric where it is met and where it isn't, on small logs; and the example
//! policies that are bad on purpose.

mod files;
mod metrics;
mod support;
mod times;
