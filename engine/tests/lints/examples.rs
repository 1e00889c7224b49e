//! Every code has a section in `docs/lints.md`, whose bad example raises that code and no other, and
//! whose mended one raises none.

use shadowcap_engine::policy::lint::{Code, Severity, lint};

use crate::support::{now_us, policy, repository, site};

/// A section of the page.
struct Section {
    code: String,
    title: String,
    text: String,
}

impl Section {
    /// The example of a kind, if there is one; two of a kind are a mistake of the page.
    fn example(&self, kind: &str) -> Option<String> {
        let mut blocks = self.text.split("\n```toml ").skip(1).filter_map(|block| {
            let (found, rest) = block.split_once('\n')?;
            (found == kind)
                .then(|| rest.split("\n```").next().unwrap_or_default().to_owned() + "\n")
        });
        let first = blocks.next();
        assert!(blocks.next().is_none(), "{} has two examples `{kind}`", self.code);
        first
    }
}

fn page() -> String {
    std::fs::read_to_string(repository("docs/lints.md")).unwrap()
}

fn sections() -> Vec<Section> {
    let page = page();
    page.split("\n## ")
        .skip(1)
        .map(|text| {
            let heading = text.lines().next().unwrap_or_default();
            let (code, title) = heading.split_once(' ').unwrap_or((heading, ""));
            Section { code: code.to_owned(), title: title.to_owned(), text: text.to_owned() }
        })
        .collect()
}

#[test]
fn the_page_has_a_section_for_each_code_and_for_no_other() {
    let written: Vec<String> = sections().into_iter().map(|section| section.code).collect();
    let known: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    assert_eq!(written, known);
    for section in sections() {
        assert!(!section.title.is_empty());
        for part in ["**What.**", "**Why it hurts.**", "**When it doesn't fire.**"] {
            assert!(section.text.contains(part), "{} lacks {part}", section.code);
        }
    }
}

#[test]
fn the_table_says_what_the_code_says() {
    let page = page();
    for code in Code::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| {code} | "))).unwrap();
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells[2], code.title());
        assert!(cells[1].starts_with(code.severity().name()), "{row}");
        let section = sections().into_iter().find(|section| section.code == code.text()).unwrap();
        let severity = format!("\nSeverity: {}", code.severity());
        assert!(section.text.contains(&severity), "{code} says another severity");
    }
}

#[test]
fn bad_examples_raise_their_code_alone_and_mended_ones_nothing() {
    for section in sections() {
        let code = Code::parse(&section.code).unwrap();
        let facts = section.example("site").map(|text| site(&text));
        let bad = section.example("bad").unwrap_or_else(|| panic!("{code} has no bad example"));
        let mended = section.example("mended").unwrap_or_else(|| panic!("{code} isn't mended"));
        let found = lint(&policy(&bad, facts.as_ref()), facts.as_ref(), Some(now_us()));
        assert!(!found.is_empty(), "{code} isn't raised");
        for finding in &found {
            assert_eq!((finding.code, finding.severity), (code, code.severity()), "{finding:?}");
            assert!(finding.text.len() > 20 && !finding.help.is_empty(), "{finding:?}");
        }
        let left = lint(&policy(&mended, facts.as_ref()), facts.as_ref(), Some(now_us()));
        assert_eq!(left, [], "{code} mended");
    }
}

#[test]
fn a_balance_by_client_makes_local_counters_a_note() {
    let section = sections().into_iter().find(|section| section.code == "SC005").unwrap();
    let facts = section.example("site").unwrap().replace("round-robin", "by-client");
    let facts = site(&facts);
    let severity = |key: &str| {
        let bad = section.example("bad").unwrap().replace("\"global\"", &format!("\"{key}\""));
        let client = lint(&policy(&bad, Some(&facts)), Some(&facts), None);
        let found = client.iter().find(|finding| finding.code == Code::LocalCounters);
        found.map(|finding| finding.severity)
    };
    assert_eq!(severity("ip"), Some(Severity::Note));
    assert_eq!(severity("ip/24"), Some(Severity::Warning), "a network has many clients");
    assert_eq!(severity("global"), Some(Severity::Warning));
}
