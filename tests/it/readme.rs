//! The README's commands run, and the output it shows is the real one.

use std::fs;

use crate::support::{root, run, stdout};

/// Fenced blocks that begin with `$ shadowcap `: the command's arguments and the output shown.
fn examples(text: &str) -> Vec<(Vec<String>, String)> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n').map(|(_, body)| body))
        .filter_map(|body| body.strip_prefix("$ shadowcap "))
        .map(|body| {
            let (command, output) = body.split_once('\n').unwrap();
            (command.split(' ').map(str::to_owned).collect(), output.to_owned())
        })
        .collect()
}

#[test]
fn examples_show_what_the_program_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let examples = examples(&readme);
    assert!(!examples.is_empty());
    for (arguments, shown) in examples {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = run(&arguments);
        let printed = stdout(&output);
        let tidy = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(tidy(&printed), tidy(&shown), "{arguments:?} prints:\n{printed}");
    }
}

#[test]
fn the_two_commands_are_there() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for command in [
        "cargo run --release -- analyze sample-logs/tiffin-evening.log.gz",
        "cargo test --release --workspace",
    ] {
        assert!(readme.contains(command), "{command}");
    }
}
