//! Every doubt the report has about itself: one list, one stable code and one text each, with what to
//! do about it.

use std::fmt;

use shadowcap_engine::format::foreign::Foreign;
use shadowcap_engine::format::skip::SkipReason;
use shadowcap_engine::measure::proxies::Proxies;
use shadowcap_engine::units::{span, time};

use super::model;
use super::number::{grouped, percent, plural};
use shadowcap_engine::units::escape;

/// The code of the warning that comes before everything else.
pub(super) const TOO_MANY: &str = "SC100";
/// The code of a warning that comes before everything else too.
pub(super) const REFUSED_BEFORE: &str = "SC121";

/// Something to know before trusting the numbers.
#[derive(Debug)]
pub(super) enum Warning<'a> {
    /// No line was a request.
    Empty { lines: u64 },
    /// Lines that were meant to be requests could not be read.
    Unreadable { count: u64, of: u64, worst: SkipReason, too_many: bool },
    /// All requests lie outside the period asked for.
    OutOfRange { left_out: u64, first_us: i64, last_us: i64 },
    /// The addresses look like proxies.
    Proxies { proxies: &'a Proxies, forwarded: bool },
    /// Stamps are taken when responses end.
    StampedAtEnd { sources: u64, of: u64 },
    /// Nothing told nginx from Apache.
    Ambiguous { file: &'a str },
    /// Most lines have more fields than the format they were read in.
    GoesOn { file: &'a str, count: u64, of: u64 },
    /// An archive broke off.
    Damaged { file: &'a str, at_byte: u64, why: &'a str },
    /// A file in a folder is no access log.
    Foreign { file: &'a str, what: Foreign, unpack: Option<&'static str> },
    /// Something in a folder can't be opened.
    Unusable { file: &'a str, why: &'a str },
    /// A limiter was at work already.
    AlreadyLimited { limited: u64, unavailable: u64, of: u64 },
    /// Requests have no client address.
    NoAddress { count: u64, of: u64 },
    /// A file was named more than once.
    Repeated { file: &'a str },
    /// The log is shorter than a window.
    ShortLog { period_us: i64, window_us: i64 },
    /// No request has the header that clients are to be taken from.
    NoHeader { field: &'a str },
    /// No log has the column that a field is to be taken from.
    NoColumn { field: &'a str, column: &'a str },
    /// A key is in no request.
    KeyMissing { key: &'a str },
    /// A route matches no request.
    RouteUnused { route: &'a str },
    /// Texts that should be phone numbers aren't.
    NoPhone { key: &'a str, count: u64, of: u64 },
    /// What refused clients would have done next isn't known, but for those that the site describes.
    OpenLoop { described: bool },
    /// Stamps are too coarse to decide by.
    Arrangements { step_us: i64 },
    /// A limit's requests lack its key.
    LimitKeyMissing {
        policy: &'a str,
        limit: &'a str,
        key: &'a str,
        count: u64,
        of: u64,
        fate: &'static str,
    },
    /// Many requests had been refused when the log was written.
    RefusedBefore { count: u64, of: u64 },
    /// Responses count when they end, and no log says when that is.
    NoDurations { policy: &'a str, limit: &'a str },
    /// AWS WAF can't be replayed exactly.
    Waf { policy: &'a str, limit: &'a str },
    /// AWS WAF holds down so many keys only.
    WafKeys { policy: &'a str, limit: &'a str, keys: u64 },
    /// Whether nginx frees idle keys matters.
    Reclaim { policy: &'a str, limit: &'a str, count: u64 },
    /// Nothing tells which instance got a request.
    Balance { tier: &'a str, count: u64, of: u64 },
    /// The log has more instances than the tier.
    MoreInstances { tier: &'a str, seen: u64, instances: u64 },
    /// Each file is taken for an instance.
    InstancesAreFiles { tier: &'a str, files: u64 },
    /// An outage that can change nothing: none of the policy's limits is in its store.
    OutageElsewhere { outage: &'a str, store: &'a str, policy: &'a str },
    /// An outage outside the period of the log.
    OutageOutside { outage: &'a str },
}

impl Warning<'_> {
    fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { too_many: true, .. } => TOO_MANY,
            Self::Empty { .. } | Self::OutOfRange { .. } => "SC101",
            Self::Unreadable { .. } => "SC102",
            Self::Proxies { .. } => "SC103",
            Self::StampedAtEnd { .. } => "SC104",
            Self::Ambiguous { .. } => "SC105",
            Self::Damaged { .. } => "SC106",
            Self::Foreign { .. } => "SC107",
            Self::AlreadyLimited { .. } => "SC108",
            Self::NoAddress { .. } => "SC109",
            Self::Repeated { .. } => "SC110",
            Self::ShortLog { .. } => "SC111",
            Self::KeyMissing { .. } => "SC112",
            Self::RouteUnused { .. } => "SC113",
            Self::Unusable { .. } => "SC114",
            Self::GoesOn { .. } => "SC116",
            Self::NoHeader { .. } | Self::NoColumn { .. } => "SC115",
            Self::NoPhone { .. } => "SC117",
            Self::OpenLoop { .. } => "SC118",
            Self::Arrangements { .. } => "SC119",
            Self::LimitKeyMissing { .. } => "SC120",
            Self::RefusedBefore { .. } => REFUSED_BEFORE,
            Self::NoDurations { .. } => "SC122",
            Self::Waf { .. } => "SC123",
            Self::WafKeys { .. } => "SC124",
            Self::Reclaim { .. } => "SC125",
            Self::Balance { .. } => "SC126",
            Self::MoreInstances { .. } => "SC127",
            Self::InstancesAreFiles { .. } => "SC128",
            Self::OutageElsewhere { .. } | Self::OutageOutside { .. } => "SC129",
        }
    }

    /// The warning as the report holds it.
    pub(super) fn entry(&self) -> model::Warning {
        let text = escape::terminal(self.to_string().as_bytes());
        model::Warning { code: self.code(), text }
    }
}

impl fmt::Display for Warning<'_> {
    #[expect(clippy::too_many_lines, reason = "one list of texts, to be read as one")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { lines: 0 } => {
                write!(f, "there is nothing to measure: the input is empty")
            }
            Self::Empty { lines } => {
                write!(
                    f,
                    "there is nothing to measure: none of {} is a request",
                    plural(*lines, "line", "lines")
                )
            }
            Self::OutOfRange { left_out, first_us, last_us } => write!(
                f,
                "there is nothing to measure: none of {} lies between --from and --to; the log covers {} to {} UTC",
                plural(*left_out, "request", "requests"),
                time::format_seconds(*first_us),
                time::format_seconds(*last_us)
            ),
            Self::Unreadable { count, of, worst, too_many } => write!(
                f,
                "{} ({} of all meant to be requests) could not be read{}, most for the reason {}; the examples show where",
                plural(*count, "line", "lines"),
                percent(*count, *of),
                if *too_many { ", more than --max-bad allows, so the exit code is 3" } else { "" },
                worst.name()
            ),
            Self::Proxies { proxies, forwarded } => write_proxies(f, proxies, *forwarded),
            Self::StampedAtEnd { sources, of } => write!(
                f,
                "{} of {} stamped when the response ended: requests arrived earlier, slow ones much earlier, so bursts may look spread out or gathered; log $msec and $request_time to know",
                grouped(*sources),
                if *of == 1 {
                    "1 file is".to_owned()
                } else {
                    format!("{} files are", grouped(*of))
                }
            ),
            Self::Ambiguous { file } => write!(
                f,
                "{file}: nothing tells whether nginx or Apache wrote it; nginx is assumed, whose stamps are less sure (say --format apache if it isn't)"
            ),
            Self::GoesOn { file, count, of } => write!(
                f,
                "{file}: {} of {} go on after the user agent, which is not read; give the format with --log-format (a string, or @nginx.conf:NAME): a duration in it tells when requests arrived",
                grouped(*count),
                plural(*of, "line", "lines")
            ),
            Self::Damaged { file, at_byte, why } => write!(
                f,
                "{file}: breaks off after {} ({why}); all lines before that are used",
                plural(*at_byte, "byte", "bytes")
            ),
            Self::Foreign { file, unpack: Some(command), .. } => {
                write!(
                    f,
                    "{file}: left out, since it is packed in a way that is not read; unpack it: {command}"
                )
            }
            Self::Foreign { file, what, unpack: None } => {
                write!(f, "{file}: left out, since it is {}", what.describe())
            }
            Self::Unusable { file, why } => write!(f, "{file}: left out: {why}"),
            Self::AlreadyLimited { limited: 0, unavailable, of } => write!(
                f,
                "{} ({}) {} answered 503: by an overloaded server, or by nginx's limiter, whose answer that is by default; then clients were slower than they would have been",
                plural(*unavailable, "request", "requests"),
                percent(*unavailable, *of),
                if *unavailable == 1 { "was" } else { "were" }
            ),
            Self::AlreadyLimited { limited, unavailable, of } => write!(
                f,
                "{} ({}) {} answered 429{}: a limiter was at work, so clients were slower than they would have been",
                plural(*limited, "request", "requests"),
                percent(*limited, *of),
                if *limited == 1 { "was" } else { "were" },
                match unavailable {
                    0 => String::new(),
                    count => format!(
                        ", {} 503, which nginx's limiter answers by default",
                        grouped(*count)
                    ),
                }
            ),
            Self::NoAddress { count, of } => write!(
                f,
                "{} ({}) {} no client address (a host name, unix: or -) and so no key ip; --define-key client=client tells them apart by name",
                plural(*count, "request", "requests"),
                percent(*count, *of),
                if *count == 1 { "has" } else { "have" }
            ),
            Self::Repeated { file } => write!(f, "{file}: named more than once, read once"),
            Self::ShortLog { period_us, window_us } => write!(
                f,
                "the log covers {}, so windows from {} on hold only what it has",
                span::format_period(*period_us),
                span::format(*window_us)
            ),
            Self::NoHeader { field } => write!(
                f,
                "--client-ip {field}: no request has it, so clients are the addresses that connected"
            ),
            Self::NoColumn { field, column } => {
                write!(f, "--field {field}: no log has the column {column}, so it says nothing")
            }
            Self::KeyMissing { key } => write!(f, "no request has the key {key}"),
            Self::RouteUnused { route } => write!(
                f,
                "no request matches the route {route} (paths are compared percent-decoded, without the query)"
            ),
            replay => replay.write_replay(f),
        }
    }
}

impl Warning<'_> {
    /// Those about a replay.
    fn write_replay(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPhone { key, count, of } => write!(
                f,
                "{} ({}) {} a {key} that is no phone number and so counts as missing",
                plural(*count, "request", "requests"),
                percent(*count, *of),
                if *count == 1 { "has" } else { "have" }
            ),
            Self::OpenLoop { described } => write!(
                f,
                "an open loop{}: what refused clients would have done next (tried again, given up) no log can show, so all go on as they did",
                if *described { " but for the clients that the site describes" } else { "" }
            ),
            Self::Arrangements { step_us } => write!(
                f,
                "stamps have steps of {}: each client's requests of one stamp are replayed all at once (the base case), spread over the step, and meeting at its border; a\u{2013}b are the least and the most of the three, examples and no proof",
                span::format(*step_us)
            ),
            Self::LimitKeyMissing { policy, limit, key, count, of, fate } => write!(
                f,
                "{policy}: {} of {} matching \u{201c}{limit}\u{201d} have no {key} and {fate}",
                percent(*count, *of),
                plural(*of, "request", "requests")
            ),
            Self::RefusedBefore { count, of } => write!(
                f,
                "{} ({}) had been refused when the log was written: what they would have been answered, and what their clients would have sent next, is not known; --already-limited drop leaves them out",
                plural(*count, "request", "requests"),
                percent(*count, *of)
            ),
            Self::NoDurations { policy, limit } => write!(
                f,
                "{policy}: \u{201c}{limit}\u{201d} counts responses, and no log says how long requests took: each is taken to end as it arrives, so requests that raced each other are not seen"
            ),
            Self::Waf { policy, limit } => write!(
                f,
                "{policy}: \u{201c}{limit}\u{201d} is AWS WAF, which checks about every 10 s and takes its time: a\u{2013}b assume the delays of the policy (lag_detect, lag_release); AWS documents rarer delays of minutes"
            ),
            Self::WafKeys { policy, limit, keys } => write!(
                f,
                "{policy}: \u{201c}{limit}\u{201d} would hold down {} keys, and AWS WAF only the 10,000 fastest at a time: more gets through",
                grouped(*keys)
            ),
            Self::Reclaim { policy, limit, count } => write!(
                f,
                "{policy}: \u{201c}{limit}\u{201d} decides {} otherwise if the server is not busy enough to free idle keys (reclaim = \"none\")",
                plural(*count, "request", "requests")
            ),
            deployed => deployed.write_deployment(f),
        }
    }

    /// Those about where limits stand.
    fn write_deployment(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balance { tier, count, of } => write!(
                f,
                "the tier {tier}: nothing tells which instance got {} of {}; they are spread in turn",
                if count == of { "any".to_owned() } else { grouped(*count) },
                plural(*of, "request", "requests")
            ),
            Self::MoreInstances { tier, seen, instances } => write!(
                f,
                "the tier {tier}: the log has {}, the site {}; all that were seen count for themselves",
                plural(*seen, "instance", "instances"),
                grouped(*instances)
            ),
            Self::InstancesAreFiles { tier, files } => write!(
                f,
                "the tier {tier}: no line names an instance, so each of {} is taken for one's",
                plural(*files, "file", "files")
            ),
            Self::OutageElsewhere { outage, store, policy } => write!(
                f,
                "the outage {outage}: no limit of {policy} is in the store {store}, so its figures are those of any other time"
            ),
            Self::OutageOutside { outage } => {
                write!(f, "the outage {outage} is outside the log: no request came while it lasted")
            }
            _ => Ok(()),
        }
    }
}

fn write_proxies(f: &mut fmt::Formatter<'_>, proxies: &Proxies, forwarded: bool) -> fmt::Result {
    let Proxies { kind, addresses, requests, of } = proxies;
    let (carry, look, whose_peaks) = match addresses {
        1 => ("carries", "looks like a proxy", "its own"),
        _ => ("carry", "look like proxies", "theirs"),
    };
    let addresses = plural(u64::try_from(*addresses).unwrap_or(u64::MAX), "address", "addresses");
    let whose = if kind == "private" { "private".to_owned() } else { format!("{kind}'s") };
    write!(
        f,
        "{addresses} in {whose} space {carry} {} of the requests and {look}: the peaks are {whose_peaks}, not the clients'. {}",
        percent(*requests, *of),
        if forwarded {
            "The log has X-Forwarded-For: give --client-ip x_forwarded_for and the proxies' range with --trusted-proxy"
        } else {
            "Log the client's address, with nginx's realip module, Apache's mod_remoteip or by $http_x_forwarded_for"
        }
    )
}
