//! The HTML page in a real browser, where there is one: the cases behind a cell, the filter, the keyboard, the width.
//!
//! `PARITY_BROWSER` names a Chromium; without it the first one on the path is taken. Where there is none, each test says
//! on stderr that it was skipped; with `PARITY_BROWSER` set, a browser that does not start is a failure.

use std::{io::Write as _, path::PathBuf, process::Command};

use parity_model::verdict::Worst;
use parity_report::{html, trend::Trend};

use crate::common;

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("PARITY_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut dirs = std::env::split_paths(&path);
    dirs.find_map(|dir| {
        let names = ["chromium", "chromium-browser", "google-chrome"].iter();
        names.map(|name| dir.join(name)).find(|file| file.is_file())
    })
}

/// Opens the page in a browser, runs `script` after all of it, and returns its text then. `None` if the machine has no browser.
#[track_caller]
fn after(script: &str, width: u32) -> Option<String> {
    after_in(Theme::Light, script, width)
}

/// What the reader's system prefers, by Chromium's numbers.
#[derive(Clone, Copy, Debug)]
enum Theme {
    Dark = 0,
    Light = 1,
}

#[track_caller]
fn after_in(theme: Theme, script: &str, width: u32) -> Option<String> {
    after_on(&page(), theme, script, width)
}

/// The page of a run with a failure that has all that one can have, and of how it went since another one.
fn page() -> String {
    let mut run = common::run();
    let failed = &mut run.cases[2].results[1];
    failed.served_by = vec!["uexp_f16:strided".to_owned()];
    failed.vs_oracle.as_mut().unwrap().worst = Some(Worst {
        index: vec![1, 2],
        inputs: vec!["0.75".to_owned()],
        expected: "2.117".to_owned(),
        got: "2.125".to_owned(),
        ulp: 8.0,
        limit: "0.5 ULP + 1.466e-6 absolute".to_owned(),
    });
    let before = common::run();
    let trend = Trend::of(vec![(&before, 1), (&run, 1)]);
    html::render_with(&run, &[("rocm", trend)]).unwrap()
}

#[track_caller]
fn after_on(page: &str, theme: Theme, script: &str, width: u32) -> Option<String> {
    let Some(browser) = browser() else {
        // Not `eprintln!`, which the test harness would swallow.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no Chromium on the path, see tests/report/browser.rs"
        );
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let page = page.replace(
        "</body>",
        &format!("<script>pageIsReady.then(() => {{{script}}})</script></body>"),
    );
    let file = dir.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let out = Command::new(&browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--blink-settings=preferredColorScheme={}", theme as u8))
        .arg(format!(
            "--user-data-dir={}",
            dir.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", browser.display()));
    let dom = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        dom.contains("</html>"),
        "{}: {}",
        browser.display(),
        String::from_utf8_lossy(&out.stderr)
    );
    // Without the scripts and the data, so that a test finds only what a reader sees.
    let shown: Vec<_> = dom
        .split("<script")
        .map(|part| part.split_once("</script>").map_or(part, |(_, after)| after))
        .collect();
    Some(shown.concat())
}

const REPRO: &str =
    "parity run --backend rocm --case 'unary/exp:f16:[2,3]:contiguous:uniform(-1,1)' --seed 7";

#[test]
fn a_click_on_a_cell_lists_its_cases_with_the_command_that_repeats_them() {
    let Some(page) = after(
        "document.querySelector('[data-backend=\"1\"] td .bad').click()",
        1280,
    ) else {
        return;
    };
    assert!(page.contains("unary/exp f16 on rocm"), "{page}");
    assert!(page.contains(REPRO), "{page}");
    assert!(page.contains("uexp_f16:strided"), "{page}");
    for said in [
        "[1, 2], inputs 0.75",
        "2.117",
        "2.125",
        "0.5 ULP + 1.466e-6 absolute",
    ] {
        assert!(page.contains(said), "{said} is not in {page}");
    }
    // The control: unless a cell was chosen, nothing is listed.
    let Some(page) = after("", 1280) else { return };
    assert!(!page.contains(REPRO), "{page}");
}

#[test]
fn cases_that_a_browser_cannot_unpack_are_a_sentence_and_no_empty_page() {
    let Some(whole) = after("", 1280) else { return };
    assert!(whole.contains("id=\"unreadable\" hidden"), "the control: {whole}");
    let packed = "id=\"data\">";
    let broken = page().replace(packed, &format!("{packed}AAAA"));
    let Some(shown) = after_on(&broken, Theme::Light, "", 1280) else {
        return;
    };
    assert!(
        shown.contains("id=\"unreadable\">This browser cannot unpack the cases"),
        "{shown}"
    );
}

#[test]
fn the_filter_lists_the_cases_that_hold_every_word() {
    let filter = "const f = document.getElementById('filter'); f.value = 'LOG f32'; f.dispatchEvent(new Event('input'))";
    let Some(page) = after(filter, 1280) else { return };
    assert!(
        page.contains("1 matching") && page.contains("Matching cases on rocm"),
        "{page}"
    );
    let listed = page.split("id=\"cases\"").nth(1).unwrap();
    let listed = listed.split("</section>").next().unwrap();
    assert!(
        listed.contains("unary/log:f32") && !listed.contains("unary/exp"),
        "{listed}"
    );
}

#[test]
fn arrow_keys_move_among_the_cells_and_escape_closes_the_list() {
    let keys = "const map = document.querySelector('.map[data-backend=\"1\"]'); const first = map.querySelector('td button');\
        const press = (node, key) => node.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));\
        first.focus(); press(first, 'ArrowRight'); document.title = document.activeElement.title;\
        document.activeElement.click(); document.title += document.getElementById('panel').hidden;\
        press(document.body, 'Escape'); document.title += document.getElementById('panel').hidden";
    let Some(page) = after(keys, 1280) else { return };
    let title = title(&page);
    assert!(
        title.starts_with("exp f32: 1 of 1 agree") && title.ends_with("falsetrue"),
        "{title}"
    );
}

/// The least contrast of a text with what lies behind it, as WCAG computes it, times 100.
const CONTRAST: &str = "const linear = (c) => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;\
    const light = (rgb) => { const [r, g, b] = rgb.map(linear); return .2126 * r + .7152 * g + .0722 * b; };\
    const parse = (text) => text.match(/[0-9.]+/g).map(Number);\
    const behind = (node) => { for (; node; node = node.parentElement) {\
      const c = parse(getComputedStyle(node).backgroundColor); if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };\
    const ratio = (node) => { const [a, b] = [light(parse(getComputedStyle(node).color).slice(0, 3)), light(behind(node))];\
      return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };\
    const texts = [...document.querySelectorAll('td button, .verdict, .legend, .legend i, p, th, h1, h2, summary, figcaption')]\
      .filter((node) => node.textContent.trim());\
    document.title = texts.length + ' ' + Math.floor(100 * Math.min(...texts.map(ratio)));";

fn title(page: &str) -> &str {
    let title = page.split("<title>").nth(1).unwrap();
    title.split("</title>").next().unwrap()
}

#[test]
fn every_text_can_be_read_in_both_themes() {
    for theme in [Theme::Dark, Theme::Light] {
        let cells = "document.querySelectorAll('td button').forEach((b, i) => { b.className = ['h0', 'h1', 'h2', 'h3', 'h4', 'bad', 'known', 'fallback'][i % 8]; });";
        let tenfold = "const row = document.querySelector('tr.op'); for (let i = 0; i < 9; i++) row.after(row.cloneNode(true));";
        let Some(page) = after_in(theme, &format!("{tenfold}{cells}{CONTRAST}"), 1280) else {
            return;
        };
        let (texts, least) = title(&page).split_once(' ').unwrap();
        assert!(texts.parse::<u32>().unwrap() > 20, "{texts} texts");
        assert!(
            least.parse::<u32>().unwrap() >= 450,
            "{theme:?}: 1:{least} hundredths"
        );
        // The control: a text that is nearly as its ground.
        let faint = format!(
            "document.querySelector('h1').style.color = getComputedStyle(document.body).backgroundColor; {CONTRAST}"
        );
        let Some(page) = after_in(theme, &faint, 1280) else {
            return;
        };
        assert_eq!(title(&page).split_once(' ').unwrap().1, "100");
    }
}

#[test]
fn the_page_is_no_wider_than_its_window() {
    let wide = "document.title = document.documentElement.scrollWidth <= innerWidth ? 'fits' : 'too wide'";
    for width in [390, 820, 1440] {
        let Some(page) = after(wide, width) else { return };
        assert!(page.contains("<title>fits</title>"), "{width}: {page}");
    }
    // The control: something wide is found.
    let wider = format!("document.body.style.width = '2000px'; {wide}");
    let Some(page) = after(&wider, 390) else { return };
    assert!(page.contains("<title>too wide</title>"), "{page}");
}

/// The rules that axe-core finds broken on a page, one a line. `None`: this machine has no browser or no axe-core.
#[track_caller]
fn broken_rules(page: &str, theme: Theme, first: &str) -> Option<Vec<String>> {
    let Some(axe) = std::env::var_os("PARITY_AXE") else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: PARITY_AXE names no axe-core, see ci/browser"
        );
        return None;
    };
    let axe = std::fs::read_to_string(axe).unwrap();
    // A script ends where its closing tag stands, wherever that is.
    let axe = axe.replace("</script", "<\\/script");
    let page = page.replace("</body>", &format!("<script>{axe}</script></body>"));
    let script = format!(
        "{first}; axe.run().then(found => {{ const list = document.createElement('pre'); list.id = 'axe'; \
         list.textContent = found.violations.map(rule => rule.id + ': ' + rule.nodes.map(node => node.html).join(' ')).join('\\n') + \
         '\\n' + found.passes.length + ' rules hold'; document.body.appendChild(list) }})"
    );
    let page = after_on(&page, theme, &script, 1280)?;
    let list = page
        .split("id=\"axe\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next());
    let lines = list
        .unwrap_or_else(|| panic!("axe-core did not end: {page}"))
        .lines();
    let (counts, rules): (Vec<_>, Vec<_>) = lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .partition(|line| line.ends_with(" rules hold"));
    let held: usize = counts[0].split(' ').next().unwrap().parse().unwrap();
    assert!(held > 10, "{held} rules were applied");
    Some(rules)
}

#[test]
fn axe_finds_no_obstacle_on_the_page_in_either_theme_nor_in_the_list_of_cases() {
    let open = "document.querySelector('[data-backend=\"1\"] td .bad').click()";
    for theme in [Theme::Light, Theme::Dark] {
        for first in ["", open] {
            let Some(rules) = broken_rules(&page(), theme, first) else {
                return;
            };
            assert!(rules.is_empty(), "{theme:?}, after `{first}`: {rules:#?}");
        }
    }
    // The control: a picture without words for who cannot see it.
    let worse = page().replace("<main>", "<main><img src=\"data:,\">");
    let Some(rules) = broken_rules(&worse, Theme::Light, "") else {
        return;
    };
    assert!(
        rules.iter().any(|rule| rule.starts_with("image-alt")),
        "{rules:#?}"
    );
}
