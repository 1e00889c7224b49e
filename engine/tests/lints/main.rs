//! Lints as users meet them: the documentation's examples, the policies of the three cases, and for
//! each lint what it must and must not fire on.

mod cases;
mod examples;
mod idle;
mod money;
mod policies;
mod support;
