//! Which route a request is of, and what its placeholders stand for, as variables of nginx.

use super::super::pcre::{self, Wanted};
use super::maps::{GROUP, Maps, Row, Why, found};
use crate::site::Site;
use crate::site::route::{Route, RoutePath};

/// The routes of a site.
#[derive(Debug, Clone)]
pub(super) struct Routes<'s> {
    site: &'s Site,
    /// The variable, once it is made.
    made: Option<Result<String, Why>>,
}

impl<'s> Routes<'s> {
    pub(super) fn new(site: &'s Site) -> Self {
        Self { site, made: None }
    }

    /// The variable that holds the name of a request's route, or nothing.
    ///
    /// # Errors
    /// When a route can't be told by nginx: then none can, since the first that matches wins.
    pub(super) fn variable(&mut self, maps: &mut Maps) -> Result<String, Why> {
        if let Some(made) = &self.made {
            return made.clone();
        }
        let made = self.make(maps);
        self.made = Some(made.clone());
        made
    }

    fn make(&self, maps: &mut Maps) -> Result<String, Why> {
        let mut source = String::new();
        let mut marks = 0_usize;
        // regular expressions look at the path alone, and leave a mark before the rest
        let mut mark_of: Vec<Option<usize>> = Vec::new();
        for route in &self.site.routes {
            let RoutePath::Regex(regex) = route.path() else {
                mark_of.push(None);
                continue;
            };
            let text = pcre::regex(regex.as_str(), None).ok_or_else(|| untold(route))?;
            let row = (found(&text), "1".to_owned());
            source.push_str(&maps.map("path_fits", "$uri", &[row], "0")?);
            mark_of.push(Some(marks));
            marks += 1;
        }
        let needs_host = self.site.routes.iter().any(Route::needs_host);
        source.push_str("$request_method ");
        if needs_host {
            source.push_str(&host(maps)?);
        }
        source.push_str("$uri");
        let rows: Vec<Row> = self
            .site
            .routes
            .iter()
            .zip(&mark_of)
            .map(|(route, mark)| {
                let any_host = if needs_host { "[^/]*" } else { "" };
                (found(&request(route, *mark, marks, any_host)), route.name.clone())
            })
            .collect();
        maps.comment("The route of a request: the first that matches. $uri is decoded, its dot segments are resolved.");
        maps.map("route", &source, &rows, "\"\"")
    }

    /// The variable that holds what a placeholder of a request's route stands for.
    ///
    /// # Errors
    /// When a route can't be told by nginx.
    pub(super) fn capture(&mut self, maps: &mut Maps, name: &str) -> Result<String, Why> {
        let route = self.variable(maps)?;
        let mut rows = Vec::new();
        for having in self.site.routes.iter().filter(|route| route.has_capture(name)) {
            let wanted = Some(Wanted { name, group: GROUP });
            let text = match having.path() {
                RoutePath::Pattern(pattern) => format!(r"^{}\z", pcre::pattern(pattern, wanted)),
                RoutePath::Regex(regex) => {
                    pcre::regex(regex.as_str(), wanted).ok_or_else(|| untold(having))?
                }
                RoutePath::Any => continue,
            };
            let variable =
                maps.map("part_of_path", "$uri", &[(found(&text), format!("${GROUP}"))], "\"\"")?;
            rows.push((found(&format!(r"^{}\z", pcre::literal(having.name.as_bytes()))), variable));
        }
        maps.map("from_path", &route, &rows, "\"\"")
    }
}

/// The variable that holds the host without brackets, which addresses have.
///
/// # Errors
/// As [`Maps::map`].
pub(super) fn host(maps: &mut Maps) -> Result<String, Why> {
    let row = (found(&format!(r"^\[(?<{GROUP}>.*)\]\z")), format!("${GROUP}"));
    maps.map("host", "$host", &[row], "$host")
}

fn untold(route: &Route) -> Why {
    format!("nginx has no expression for the path of the route `{}`", route.name)
}

/// What finds a route's requests: marks, method, host, path.
fn request(route: &Route, mark: Option<usize>, marks: usize, any_host: &str) -> String {
    let any_of = |texts: &[Vec<u8>], any: &str| {
        let texts: Vec<String> = texts.iter().map(|text| pcre::literal(text)).collect();
        match texts.as_slice() {
            [] => any.to_owned(),
            [only] => only.clone(),
            several => format!("(?:{})", several.join("|")),
        }
    };
    let marks = match mark {
        Some(mark) => {
            format!("[01]{{{mark}}}1[01]{{{}}}", marks.saturating_sub(mark).saturating_sub(1))
        }
        None if marks == 0 => String::new(),
        None => format!("[01]{{{marks}}}"),
    };
    let method = any_of(route.methods(), "[^ ]*");
    // no host has a slash in it, and every path begins with one
    let host = any_of(route.hosts(), any_host);
    let path = match route.path() {
        RoutePath::Pattern(pattern) => format!(r"{}\z", pcre::pattern(pattern, None)),
        RoutePath::Regex(_) | RoutePath::Any => "/".to_owned(),
    };
    format!("^{marks}{method} {host}{path}")
}
