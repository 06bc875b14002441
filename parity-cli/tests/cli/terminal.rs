//! What `parity run` shows on a terminal while it runs. The terminal is that of util-linux's `script`, which Debian always has.

use crate::common::{Specs, finish, shell};

/// What a terminal of 200 columns got, and what a pipe got.
fn shown(specs: &Specs) -> [String; 2] {
    let dir = specs.path("");
    let run = format!(
        "parity run --backend cpu --spec-dir '{}' --out report",
        dir.display()
    );
    let inside = format!("stty cols 200 rows 24; {run}");
    let line = format!("script -qec \"{inside}\" typescript </dev/null");
    let terminal = finish(shell(&line, &dir).env("TERM", "xterm"));
    let pipe = finish(&mut shell(&run, &dir));
    assert_eq!(
        (terminal.code, pipe.code),
        (100, 100),
        "{}{}",
        terminal.stdout,
        pipe.stderr
    );
    [terminal.stdout, pipe.stderr]
}

#[test]
fn a_terminal_shows_rate_time_left_failures_and_the_slowest_cases_and_a_pipe_none_of_it() {
    let specs = Specs::unary("\"exp\", \"log\"", "");
    // Both cases of `exp` are said to fail, and pass.
    specs.write_finding("passes", "{ op = [\"exp\"] }");
    let [terminal, pipe] = shown(&specs);
    for words in [
        "4/4 cases, ",
        "/s, ",
        " left, 2 failing",
        "slowest: ",
        " s unary/",
    ] {
        assert!(terminal.contains(words), "`{words}` is not in\n{terminal}");
        assert!(!pipe.contains(words), "`{words}` is in\n{pipe}");
    }
    // Three of the four cases at most, in this order, with their seconds.
    let last = terminal.rsplit("slowest: ").next().unwrap();
    let last = last.split(['\r', '\n', '\u{1b}']).next().unwrap();
    let seconds: Vec<f64> = last
        .split(" s unary/")
        .filter_map(|part| part.rsplit([' ', ',']).next()?.parse().ok())
        .collect();
    assert_eq!(seconds.len(), 3, "{last}");
    assert!(seconds.is_sorted_by(|a, b| a >= b), "{last}");
}
