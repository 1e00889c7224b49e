//! Routes: a name for the requests of some methods and a path pattern; the first that matches wins.

use thiserror::Error;

use super::pattern::{Pattern, PatternError};

/// Why a route can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RouteError {
    /// The text isn't `NAME=METHOD PATH`.
    #[error(
        "`{0}` is not a route: write NAME=METHOD PATH, as in 'login=POST /v1/login' or 'menu=GET,HEAD /menu/{{city}}' (* for any method)"
    )]
    Shape(String),
    /// The name is empty or holds something else than letters, digits, `-`, `_`.
    #[error("`{0}` is not a name for a route: use letters, digits, - and _")]
    Name(String),
    /// The method isn't one.
    #[error("`{0}` is not a method: use capital letters, as in GET or GET,HEAD, or *")]
    Method(String),
    /// The path pattern is wrong.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// A named set of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The name reports use.
    pub name: String,
    methods: Vec<Vec<u8>>,
    pattern: Pattern,
}

impl Route {
    /// Reads `NAME=METHOD PATH`; methods are separated by commas, `*` is any.
    ///
    /// # Errors
    /// When a part is missing or malformed.
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        let shape = || RouteError::Shape(text.to_owned());
        let (name, rest) = text.split_once('=').ok_or_else(shape)?;
        let (methods, path) = rest.trim().split_once(' ').ok_or_else(shape)?;
        let name_byte = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || !name.bytes().all(name_byte) {
            return Err(RouteError::Name(name.to_owned()));
        }
        let mut allowed = Vec::new();
        for method in methods.split(',').filter(|method| *method != "*") {
            if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
                return Err(RouteError::Method(method.to_owned()));
            }
            allowed.push(method.as_bytes().to_vec());
        }
        if methods.split(',').any(|method| method == "*") {
            allowed.clear();
        }
        Ok(Self { name: name.to_owned(), methods: allowed, pattern: Pattern::parse(path.trim())? })
    }

    /// Whether a request with this method and normalised path is the route's.
    pub fn matches(&self, method: &[u8], path: &[u8]) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == method))
            && self.pattern.matches(path)
    }

    /// The route's path pattern.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_match_by_method_and_path() {
        let login = Route::parse("login=POST /v1/login").unwrap();
        assert!(login.matches(b"POST", b"/v1/login") && !login.matches(b"GET", b"/v1/login"));
        let menu = Route::parse("menu=GET,HEAD /menu/{city}").unwrap();
        assert!(menu.matches(b"HEAD", b"/menu/pune") && !menu.matches(b"HEAD", b"/menu"));
        let all = Route::parse("all=* /**").unwrap();
        assert!(all.matches(b"BREW", b"/pot"));
    }

    #[test]
    fn what_is_no_route_is_refused() {
        assert!(matches!(Route::parse("login"), Err(RouteError::Shape(_))));
        assert!(matches!(Route::parse("login=/v1/login"), Err(RouteError::Shape(_))));
        assert!(matches!(Route::parse("a b=GET /x"), Err(RouteError::Name(_))));
        assert!(matches!(Route::parse("a=get /x"), Err(RouteError::Method(_))));
        assert!(matches!(Route::parse("a=GET x"), Err(RouteError::Pattern(_))));
    }
}
