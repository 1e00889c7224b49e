//! A key that is the field of its name, for policies that are read without their site.

use crate::site::key::{KeyError, KeySpec};

/// A key that is the field of its name.
pub(crate) fn field_key(name: &str) -> Result<KeySpec, KeyError> {
    KeySpec::new(name, &[name.to_owned()], None, 64)
}
