//! From the flags about reading to what the engine reads with; shared by all commands that read logs.

use std::fs;
use std::sync::Arc;
use std::thread::available_parallelism;

use clap::ValueEnum;
use ipnet::IpNet;
use shadowcap_engine::format::apache;
use shadowcap_engine::format::detect::{Choice, Format};
use shadowcap_engine::format::json;
use shadowcap_engine::format::log_format::LogFormat;
use shadowcap_engine::format::nginx;
use shadowcap_engine::format::record::Escape;
use shadowcap_engine::format::writer_evidence::Writer;
use shadowcap_engine::ingest::client::{ClientRule, Pick};
use shadowcap_engine::ingest::load::LoadOptions;
use shadowcap_engine::ingest::projection::Projection;
use shadowcap_engine::site::Site;
use shadowcap_engine::site::facts::ClientIp;
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::site::route::Route;

use super::args::{FormatArg, InputArgs, KeyArgs, MachineArgs};
use super::diagnostics;
use super::exit::Failure;
use super::memory;

/// The site that a file and the flags describe together: the flags' routes and keys come after the
/// file's.
///
/// # Errors
/// When a flag can't be used, or names something twice.
pub(crate) fn site(mut site: Site, args: &KeyArgs) -> Result<Site, Failure> {
    for text in &args.define_key {
        let key = KeySpec::parse(text, args.ipv6_prefix).map_err(|error| usage(&error))?;
        if site.keys.iter().any(|known| known.name == key.name) {
            return Err(Failure::Usage(format!("the key `{}` is defined twice", key.name)));
        }
        site.keys.push(key);
    }
    for text in &args.route {
        let route = Route::parse(text).map_err(|error| usage(&error))?;
        if site.routes.iter().any(|known| known.name == route.name) {
            return Err(Failure::Usage(format!("the route `{}` is defined twice", route.name)));
        }
        site.routes.push(route);
    }
    for key in &site.keys {
        let missing = key.captures().find(|n| !site.routes.iter().any(|r| r.has_capture(n)));
        if let Some(name) = missing {
            return Err(Failure::Usage(format!(
                "the key `{}` needs path:{name}, but no --route has {{{name}}} in its path",
                key.name
            )));
        }
    }
    Ok(site)
}

/// What to read with.
///
/// # Errors
/// When flags can't be used or contradict each other.
pub(crate) fn options(
    input: &InputArgs,
    keys: &KeyArgs,
    machine: &MachineArgs,
    site: &Site,
) -> Result<LoadOptions, Failure> {
    let threads = match machine.threads {
        Some(threads) => usize::from(threads),
        None => available_parallelism().map_or(1, usize::from),
    };
    Ok(LoadOptions {
        projection: projection(input, keys, site)?,
        choice: choice(input, site)?,
        max_line: input.max_line,
        threads,
        memory_bytes: machine.memory.or_else(memory::default_limit),
        ..LoadOptions::default()
    })
}

fn usage(error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

fn projection(input: &InputArgs, args: &KeyArgs, site: &Site) -> Result<Projection, Failure> {
    let mut keys = vec![KeySpec::ip(args.ipv6_prefix)];
    keys.extend(site.keys.iter().cloned());
    if !keys.iter().any(|key| key.name == "user") {
        // who logged in is worth knowing wherever a log says it
        keys.push(KeySpec::user());
    }
    if let (Some(from), Some(to)) = (input.from, input.to)
        && from >= to
    {
        return Err(Failure::Usage("--from must be before --to".to_owned()));
    }
    let client = match client_rule(input)? {
        None => site.input.client_ip.as_ref().map(client_of_site),
        rule => rule,
    };
    Ok(Projection {
        keys,
        routes: site.routes.clone(),
        from_us: input.from,
        to_us: input.to,
        client,
        ..Projection::default()
    })
}

/// `client_ip` of the site file.
fn client_of_site(client: &ClientIp) -> ClientRule {
    let pick = match client.hop {
        Some(hop) => Pick::Hop(usize::from(hop)),
        None if client.recursive => Pick::Untrusted(client.trusted.clone()),
        None => Pick::Last(client.trusted.clone()),
    };
    ClientRule { field: forwarded_field(&client.from), pick }
}

/// The field that names clients; `None` for `X-Forwarded-For`, however it is written.
fn forwarded_field(name: &str) -> Option<String> {
    let forwarded =
        ["x_forwarded_for", "http_x_forwarded_for", "x-forwarded-for", "X-Forwarded-For"];
    (!forwarded.contains(&name)).then(|| name.to_owned())
}

/// `--client-ip` with `--trusted-proxy` or `--hop`.
fn client_rule(input: &InputArgs) -> Result<Option<ClientRule>, Failure> {
    let Some(field) = &input.client_ip else {
        if input.trusted_proxy.is_empty() && input.hop.is_none() {
            return Ok(None);
        }
        let text = "--trusted-proxy and --hop need --client-ip, as in --client-ip x_forwarded_for";
        return Err(Failure::Usage(text.to_owned()));
    };
    let mut proxies: Vec<IpNet> = Vec::new();
    for text in &input.trusted_proxy {
        let alone = || text.parse::<std::net::IpAddr>().map(IpNet::from);
        let net = text.parse::<IpNet>().or_else(|_| alone()).map_err(|_| {
            Failure::Usage(format!(
                "--trusted-proxy {text}: write an address or a range, as in 10.0.0.0/8"
            ))
        })?;
        proxies.push(net);
    }
    let pick = match (proxies.is_empty(), input.hop) {
        (true, Some(hop)) => Pick::Hop(usize::from(hop)),
        (false, None) => Pick::Untrusted(proxies),
        (true, None) => {
            return Err(Failure::Usage(format!(
                "--client-ip {field}: a client can write that field itself; say which proxies to believe with --trusted-proxy CIDR, or how many with --hop N"
            )));
        }
        (false, Some(_)) => {
            return Err(Failure::Usage("give --trusted-proxy or --hop, not both".to_owned()));
        }
    };
    Ok(Some(ClientRule { field: forwarded_field(field), pick }))
}

/// The format: the flags', else the site's, else found out.
fn choice(input: &InputArgs, site: &Site) -> Result<Choice, Failure> {
    let named = match (input.format, &site.input.format) {
        (FormatArg::Auto, Some(name)) => {
            FormatArg::from_str(name, false).map_err(|error| usage(&error))?
        }
        (format, _) => format,
    };
    let (family, format) = match named {
        FormatArg::Auto => (None, None),
        FormatArg::Nginx => (Some(Writer::Nginx), None),
        FormatArg::Apache => (Some(Writer::Apache), None),
        FormatArg::NginxCombined => (None, Some(Format::NginxCombined)),
        FormatArg::NginxCustom => (None, Some(Format::NginxCustom)),
        FormatArg::NginxJson => (None, Some(Format::NginxJson)),
        FormatArg::ApacheCommon => (None, Some(Format::ApacheCommon)),
        FormatArg::ApacheCombined => (None, Some(Format::ApacheCombined)),
        FormatArg::ApacheVhostCombined => (None, Some(Format::ApacheVhostCombined)),
        FormatArg::ApacheCustom => (None, Some(Format::ApacheCustom)),
        FormatArg::Alb => (None, Some(Format::Alb)),
        FormatArg::ElbClassic => (None, Some(Format::ElbClassic)),
        FormatArg::Jsonl => (None, Some(Format::Jsonl)),
        FormatArg::Csv => (None, Some(Format::Csv)),
        FormatArg::Parquet => (None, Some(Format::Parquet)),
    };
    let of_site = site.input.fields.iter();
    let mut fields: Vec<(String, String)> =
        of_site.map(|(name, column)| (name.clone(), column.clone())).collect();
    for text in &input.field {
        let (name, column) = text
            .split_once('=')
            .filter(|(n, c)| !n.is_empty() && !c.is_empty())
            .ok_or_else(|| {
            Failure::Usage(format!(
                "--field {text}: write NAME=COLUMN, as in time=ts or client_ip=addr"
            ))
        })?;
        fields.retain(|(known, _)| known != name);
        fields.push((name.to_owned(), column.to_owned()));
    }
    let choice = Choice { family, format, log_format: None, fields, wanted: Vec::new() };
    match input.log_format.as_ref().or(site.input.log_format.as_ref()) {
        Some(text) => log_format(text, choice),
        None if matches!(format, Some(Format::NginxCustom | Format::ApacheCustom)) => {
            let text = "this format needs --log-format: its string, or @nginx.conf:NAME";
            Err(Failure::Usage(text.to_owned()))
        }
        None => Ok(choice),
    }
}

/// `--log-format STR|@FILE[:NAME]`.
fn log_format(text: &str, choice: Choice) -> Result<Choice, Failure> {
    let (format, escape) = match text.strip_prefix('@') {
        Some(place) => from_file(place)?,
        None => (text.to_owned(), Escape::Backslash),
    };
    let apache = choice.family == Some(Writer::Apache)
        || choice.format == Some(Format::ApacheCustom)
        || (format.contains('%') && !format.contains('$'));
    if apache {
        let compiled = apache::compile(&format).map_err(|error| usage(&error))?;
        return Ok(given(choice, Format::ApacheCustom, compiled));
    }
    if escape == Escape::None {
        diagnostics::note(
            "this log_format has escape=none: clients can write quotes and line ends into it, and forge fields",
        );
    }
    if format.trim_start().starts_with('{') {
        let fields = json::variables(&format);
        return Ok(Choice { format: Some(Format::NginxJson), family: None, fields, ..choice });
    }
    let compiled = nginx::compile(&format, escape).map_err(|error| usage(&error))?;
    Ok(given(choice, Format::NginxCustom, compiled))
}

fn given(choice: Choice, format: Format, compiled: LogFormat) -> Choice {
    Choice { family: None, format: Some(format), log_format: Some(Arc::new(compiled)), ..choice }
}

/// A `log_format` out of an nginx.conf: `FILE` or `FILE:NAME`.
fn from_file(place: &str) -> Result<(String, Escape), Failure> {
    let (file, name) = match place.rsplit_once(':') {
        Some((file, name)) if !fs::exists(place).unwrap_or(false) => (file, Some(name)),
        _ => (place, None),
    };
    let conf = fs::read(file)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|error| Failure::Usage(format!("--log-format @{file}: {error}")))?;
    let directive = nginx::from_conf(&conf, name)
        .map_err(|error| Failure::Usage(format!("--log-format @{file}: {error}")))?;
    Ok((directive.format, directive.escape))
}
