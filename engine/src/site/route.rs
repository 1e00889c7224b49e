//! Routes: a name for the requests of some methods, hosts and paths; the first that matches wins.

use std::fmt;

use regex::bytes::Regex;
use thiserror::Error;

use crate::units::address::Address;

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
    /// The host isn't one.
    #[error("`{0}` is not a host: write its name without scheme, port or path, as in api.example")]
    Host(String),
    /// The path pattern is wrong.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// Which paths are a route's.
#[derive(Debug, Clone)]
pub enum RoutePath {
    /// Those of a pattern.
    Pattern(Pattern),
    /// Those in which a regular expression is found, as in an nginx location with `~`; a named group is
    /// a capture.
    Regex(Regex),
    /// All.
    Any,
}

impl PartialEq for RoutePath {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pattern(mine), Self::Pattern(theirs)) => mine == theirs,
            (Self::Regex(mine), Self::Regex(theirs)) => mine.as_str() == theirs.as_str(),
            (Self::Any, Self::Any) => true,
            _ => false,
        }
    }
}

impl Eq for RoutePath {}

impl fmt::Display for RoutePath {
    /// As the user wrote it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => pattern.fmt(f),
            Self::Regex(regex) => f.write_str(regex.as_str()),
            Self::Any => f.write_str("**"),
        }
    }
}

/// A named set of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The name reports use.
    pub name: String,
    methods: Vec<Vec<u8>>,
    /// In small letters, without port or brackets.
    hosts: Vec<Vec<u8>>,
    path: RoutePath,
    /// Line in the site file, from 1; 0 for a route of a flag.
    pub line: usize,
}

impl Route {
    /// A route. Without methods, or with `*` among them, any is meant; without hosts, any.
    ///
    /// # Errors
    /// When the name, a method or a host isn't one.
    pub fn new(
        name: String,
        methods: Vec<String>,
        hosts: Vec<String>,
        path: RoutePath,
    ) -> Result<Self, RouteError> {
        let name_byte = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || !name.bytes().all(name_byte) {
            return Err(RouteError::Name(name));
        }
        let any = methods.iter().any(|method| method == "*");
        let mut allowed = Vec::new();
        for method in methods.into_iter().filter(|method| method != "*") {
            if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
                return Err(RouteError::Method(method));
            }
            allowed.push(method.into_bytes());
        }
        if any {
            allowed.clear();
        }
        let hosts = hosts.into_iter().map(host).collect::<Result<_, _>>()?;
        Ok(Self { name, methods: allowed, hosts, path, line: 0 })
    }

    /// Reads `NAME=METHOD PATH`; methods are separated by commas, `*` is any.
    ///
    /// # Errors
    /// When a part is missing or malformed.
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        let shape = || RouteError::Shape(text.to_owned());
        let (name, rest) = text.split_once('=').ok_or_else(shape)?;
        let (methods, path) = rest.trim().split_once(' ').ok_or_else(shape)?;
        let methods = methods.split(',').map(str::to_owned).collect();
        // what is wrong is told from left to right: the path is looked at last
        let mut route = Self::new(name.to_owned(), methods, Vec::new(), RoutePath::Any)?;
        route.path = RoutePath::Pattern(Pattern::parse(path.trim())?);
        Ok(route)
    }

    /// Whether a request with this method, host (without port or brackets, in any case) and normalised
    /// path is the route's.
    pub fn matches(&self, method: &[u8], host: Option<&[u8]>, path: &[u8]) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == method))
            && (self.hosts.is_empty()
                || host.is_some_and(|host| self.hosts.iter().any(|h| h.eq_ignore_ascii_case(host))))
            && match &self.path {
                RoutePath::Pattern(pattern) => pattern.matches(path),
                RoutePath::Regex(regex) => regex.is_match(path),
                RoutePath::Any => true,
            }
    }

    /// Whether the host of a request matters.
    pub fn needs_host(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Whether the path has a placeholder, or a group, of this name.
    pub fn has_capture(&self, name: &str) -> bool {
        match &self.path {
            RoutePath::Pattern(pattern) => pattern.has(name),
            RoutePath::Regex(regex) => regex.capture_names().flatten().any(|known| known == name),
            RoutePath::Any => false,
        }
    }

    /// What the placeholder, or the group, of this name stands for in a path that matches.
    pub fn capture<'p>(&self, name: &str, path: &'p [u8]) -> Option<&'p [u8]> {
        match &self.path {
            RoutePath::Pattern(pattern) => pattern.capture(name, path),
            RoutePath::Regex(regex) => {
                regex.captures(path)?.name(name).map(|found| found.as_bytes())
            }
            RoutePath::Any => None,
        }
    }

    /// The methods it is about; none for any.
    pub fn methods(&self) -> &[Vec<u8>] {
        &self.methods
    }

    /// The hosts it is about, in small letters; none for any.
    pub fn hosts(&self) -> &[Vec<u8>] {
        &self.hosts
    }

    /// Which paths are the route's.
    pub fn path(&self) -> &RoutePath {
        &self.path
    }
}

/// A host as it is compared: in small letters, an IPv6 address without brackets.
fn host(text: String) -> Result<Vec<u8>, RouteError> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(&text);
    let name =
        !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if name || Address::parse(bare.as_bytes()).is_some() {
        Ok(bare.to_ascii_lowercase().into_bytes())
    } else {
        Err(RouteError::Host(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_match_by_method_and_path() {
        let login = Route::parse("login=POST /v1/login").unwrap();
        let login_by = |method: &[u8]| login.matches(method, None, b"/v1/login");
        assert!(login_by(b"POST") && !login_by(b"GET"));
        let menu = Route::parse("menu=GET,HEAD /menu/{city}").unwrap();
        assert!(menu.matches(b"HEAD", None, b"/menu/pune"));
        assert!(!menu.matches(b"HEAD", None, b"/menu"));
        let all = Route::parse("all=* /**").unwrap();
        assert!(all.matches(b"BREW", None, b"/pot"));
    }

    #[test]
    fn hosts_match_in_any_case() {
        let hosts = ["API.example", "[2001:db8::1]"].map(str::to_owned).to_vec();
        let route = Route::new("api".into(), Vec::new(), hosts, RoutePath::Any).unwrap();
        let matches = |host: &str| route.matches(b"GET", Some(host.as_bytes()), b"/");
        assert!(route.needs_host() && matches("api.example") && matches("Api.Example"));
        assert!(matches("2001:DB8::1") && !matches("shop.example"));
        assert!(!route.matches(b"GET", None, b"/"));
    }

    #[test]
    fn a_regular_expression_names_what_it_captures() {
        let regex = Regex::new(r"^/v\d+/otp/(?P<phone>[^/]+)(?:/(?P<try>\d+))?$").unwrap();
        let route =
            Route::new("otp".into(), vec!["POST".into()], Vec::new(), RoutePath::Regex(regex))
                .unwrap();
        assert!(route.matches(b"POST", None, b"/v2/otp/17"));
        assert!(!route.matches(b"POST", None, b"/v/otp/17"));
        assert!(route.has_capture("phone") && route.has_capture("try"));
        assert!(!route.has_capture("city"));
        assert_eq!(route.capture("phone", b"/v2/otp/17"), Some(b"17".as_slice()));
        assert_eq!(route.capture("try", b"/v2/otp/17"), None);
        assert_eq!(route.capture("try", b"/v2/otp/17/3"), Some(b"3".as_slice()));
    }

    #[test]
    fn what_is_no_route_is_refused() {
        assert!(matches!(Route::parse("login"), Err(RouteError::Shape(_))));
        assert!(matches!(Route::parse("login=/v1/login"), Err(RouteError::Shape(_))));
        assert!(matches!(Route::parse("a b=GET /x"), Err(RouteError::Name(_))));
        assert!(matches!(Route::parse("a=get /x"), Err(RouteError::Method(_))));
        assert!(matches!(Route::parse("a=GET x"), Err(RouteError::Pattern(_))));
        for host in ["https://api.example", "api.example:443", "api.example/v1", ""] {
            let route = Route::new("a".into(), Vec::new(), vec![host.into()], RoutePath::Any);
            assert_eq!(route, Err(RouteError::Host(host.into())));
        }
    }
}
