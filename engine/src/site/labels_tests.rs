//! Lists as published, and the index against a scan of all ranges.

use std::io::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

fn address(text: &str) -> Address {
    Address::parse(text.as_bytes()).unwrap()
}

fn label(name: &str, ranges: &[&str]) -> Label {
    let ranges = ranges.iter().map(|range| parse_range(range).unwrap()).collect();
    Label { name: name.to_owned(), ranges }
}

/// The longest prefix by looking at every range.
fn scan(labels: &[Label], address: Address) -> Vec<usize> {
    let ip = address.to_ip();
    let holding = |label: &Label| {
        let holds = label.ranges.iter().filter(|range| range.contains(&ip));
        holds.map(IpNet::prefix_len).max()
    };
    let longest: Vec<Option<u8>> = labels.iter().map(holding).collect();
    let Some(best) = longest.iter().flatten().max() else { return Vec::new() };
    (0..labels.len()).filter(|label| longest[*label] == Some(*best)).collect()
}

#[test]
fn the_longest_prefix_wins_and_equal_ones_share() {
    let labels = [
        label("wide", &["10.0.0.0/8", "2001:db8::/32"]),
        label("narrow", &["10.1.0.0/16", "2001:db8:1::/48"]),
        label("same", &["10.1.0.0/16", "0.0.0.0/0"]),
    ];
    let index = LabelIndex::new(&labels);
    assert_eq!(index.labels_of(address("10.2.3.4")), [0]);
    assert_eq!(index.labels_of(address("10.1.3.4")), [1, 2]);
    assert_eq!(index.labels_of(address("::ffff:10.1.3.4")), [1, 2]);
    assert_eq!(index.labels_of(address("192.0.2.1")), [2]);
    assert_eq!(index.labels_of(address("2001:db8:1::9")), [1]);
    assert_eq!(index.labels_of(address("2001:db8:2::9")), [0]);
    assert_eq!(index.labels_of(address("2001:db9::1")), [0_usize; 0]);
}

#[test]
fn every_published_form_is_read() {
    let aws = r#"{"prefixes":[{"ip_prefix":"3.4.12.4/32","region":"x"}],"ipv6_prefixes":[{"ipv6_prefix":"2600::/32"}]}"#;
    let google = r#"{"prefixes":[{"ipv4Prefix":"34.1.208.0/20"},{"ipv6Prefix":"2600:1900::/35"}]}"#;
    let azure = r#"{"values":[{"name":"A","properties":{"addressPrefixes":["13.66.60.119/32","2603::/48"]}}]}"#;
    let oracle = r#"{"regions":[{"cidrs":[{"cidr":"129.80.0.0/16","tags":["OCI"]},{"cidr":"2603:c000::/32"}]}]}"#;
    let fastly = r#"{"addresses":["23.235.32.0/20"],"ipv6_addresses":["2a04:4e40::/32"]}"#;
    let github = r#"{"ssh_keys":["ssh-ed25519 AAAA"],"web":["192.30.252.0/22","2a0a:a440::/29"],"domains":{"website":["*.github.com"]}}"#;
    let lines = "# a comment\n\n192.0.2.0/24 # office\n2001:db8::1\n";
    let geofeed = "# geofeed\n5.101.96.0/21,NL,NL-NH,Amsterdam,1098 XH\n2600:3c00::/32,US,,,\n";
    for text in [aws, google, azure, oracle, fastly, github, lines, geofeed] {
        let ranges = parse_list(text.as_bytes()).unwrap();
        assert_eq!(ranges.len(), 2, "{text}");
        assert!(ranges.iter().any(|range| matches!(range, IpNet::V4(_))), "{text}");
        assert!(ranges.iter().any(|range| matches!(range, IpNet::V6(_))), "{text}");
    }
}

#[test]
fn what_is_no_range_is_told_with_its_line() {
    let lines = |text: &str| {
        let problems = parse_list(text.as_bytes()).unwrap_err();
        problems.iter().map(|problem| problem.line).collect::<Vec<_>>()
    };
    assert_eq!(lines("10.0.0.0/8\nten\n10.0.0.0/33\n192.0.2.1\n-\n"), [2, 3, 5]);
    assert_eq!(
        lines("{\"prefixes\": [\n{\"ip_prefix\": \"1.2.3.4/32\"},\n{\"ip_prefix\": \"x\"}]}"),
        [3]
    );
    assert_eq!(lines("[\"1.2.3.4/32\",\n\"1.2.3/8\"]"), [2]);
    assert_eq!(lines("{\n\"a\": ]"), [2]);
    assert_eq!(lines("{}"), [1]);
    assert_eq!(lines("# nothing\n"), [1]);
    assert_eq!(parse_list(b"10.0.0.0/8\n\xff\n").unwrap_err()[0].line, 2);
}

/// The folder of shared lists; `None`, with a line saying so, where it is absent.
fn shared_lists() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let base = std::env::var_os("SHADOWCAP_SHARED")
        .map_or_else(|| root.join("..").join("shared"), PathBuf::from);
    let folder = base.join("lists");
    if folder.exists() {
        return Some(folder);
    }
    let required = std::env::var("SHADOWCAP_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word == "shared"), "{} is absent", folder.display());
    let _ = writeln!(std::io::stdout(), "skipped: the shared lists are absent");
    None
}

#[test]
fn published_lists_agree_with_a_scan() {
    let Some(folder) = shared_lists() else { return };
    let mut labels = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let ranges = parse_list(&bytes)
            .unwrap_or_else(|problems| panic!("{}: {:?}", path.display(), &problems[..1]));
        labels.push(Label { name: path.display().to_string(), ranges });
    }
    assert!(labels.len() >= 10, "{} lists", labels.len());
    let index = LabelIndex::new(&labels);
    // addresses at and beside the edges of ranges, and in between
    let mut state = 1_u64;
    let mut found = 0;
    for label in &labels {
        for range in label.ranges.iter().step_by(label.ranges.len() / 12 + 1) {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (low, high) = match range {
                IpNet::V4(range) => {
                    (range.network().to_bits().into(), range.broadcast().to_bits().into())
                }
                IpNet::V6(range) => (range.network().to_bits(), range.broadcast().to_bits()),
            };
            let inside: u128 = low + u128::from(state) % (high - low + 1_u128).max(1);
            for bits in [low, high, inside, high.wrapping_add(1), low.wrapping_sub(1)] {
                let address = match range {
                    IpNet::V4(_) => Address::from_v4_bits((bits & 0xffff_ffff).try_into().unwrap()),
                    IpNet::V6(_) => IpAddr::V6(bits.into()).into(),
                };
                assert_eq!(index.labels_of(address), scan(&labels, address), "{address}");
                found += usize::from(!index.labels_of(address).is_empty());
            }
        }
    }
    assert!(found > 100, "{found}");
}

proptest! {
    #[test]
    fn the_index_agrees_with_a_scan(
        v4 in prop::collection::vec((any::<u32>(), 0_u8..=32, 0_usize..4), 0..40),
        v6 in prop::collection::vec((any::<u128>(), 0_u8..=128, 0_usize..4), 0..40),
        flips in prop::collection::vec(0_u32..128, 0..4),
    ) {
        let mut labels: Vec<Label> =
            (0..4).map(|n: usize| Label { name: n.to_string(), ranges: Vec::new() }).collect();
        // few leading bits, so that ranges hold one another
        let v4: Vec<_> = v4.into_iter().map(|(bits, length, n)| (bits & 0xe007_0301, length, n)).collect();
        let v6: Vec<_> = v6.into_iter().map(|(bits, length, n)| (bits & (0xe0 << 120 | 0x7 << 64 | 1), length, n)).collect();
        for (bits, length, n) in &v4 {
            labels[*n].ranges.push(parse_range(&format!("{}/{length}", std::net::Ipv4Addr::from(*bits))).unwrap());
        }
        for (bits, length, n) in &v6 {
            labels[*n].ranges.push(parse_range(&format!("{}/{length}", std::net::Ipv6Addr::from(*bits))).unwrap());
        }
        let index = LabelIndex::new(&labels);
        for (bits, ..) in &v4 {
            let flipped = flips.iter().fold(*bits, |bits, flip| bits ^ 1 << (flip % 32));
            for bits in [*bits, flipped] {
                let address = Address::from_v4_bits(bits);
                prop_assert_eq!(index.labels_of(address), scan(&labels, address));
            }
        }
        for (bits, ..) in &v6 {
            let flipped = flips.iter().fold(*bits, |bits, flip| bits ^ 1 << flip);
            for bits in [*bits, flipped] {
                let address = Address::from(IpAddr::V6(bits.into()));
                if !address.is_v4() {
                    prop_assert_eq!(index.labels_of(address), scan(&labels, address));
                }
            }
        }
    }
}
