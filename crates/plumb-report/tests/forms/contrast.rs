//! Whether what is written can be read: the contrast of WCAG 2.2, level AA, of every colour that text or
//! a line has on what lies behind it; light, dark and printed.

use std::collections::BTreeMap;

use plumb_page::page::STYLE;

const BARS: &str = include_str!("../../src/attribution/stack.css");
const TEXT: f64 = 4.5;
const GRAPHIC: f64 = 3.0;

/// Names and colours of a block of custom properties.
type Colours = BTreeMap<String, String>;

fn colours(block: &str) -> Colours {
    let declarations = block.split("--").skip(1).filter_map(|it| it.split_once(':'));
    declarations
        .filter_map(|(name, rest)| {
            let value = rest.split(';').next()?.trim();
            value.starts_with('#').then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// What stands between the braces behind `opening`, which stands there once.
fn block<'a>(css: &'a str, opening: &str) -> &'a str {
    let (_, rest) = css.split_once(opening).expect(opening);
    rest.split_once('}').expect("an end").0
}

/// The palettes of the page, by medium.
fn palettes() -> [(&'static str, Colours); 3] {
    let light = colours(block(STYLE, ":root {"));
    let with = |media: &str| {
        let (_, rest) = STYLE.split_once(media).expect(media);
        let mut all = light.clone();
        all.extend(colours(block(rest, ":root {")));
        all
    };
    let (dark, print) = (with("(prefers-color-scheme: dark)"), with("@media print"));
    [("light", light), ("dark", dark), ("print", print)]
}

fn channel(text: &str) -> f64 {
    let value = f64::from(u8::from_str_radix(text, 16).expect("hexadecimal")) / 255.0;
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// The relative luminance of `#rgb` or `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let long: String = match digits.len() {
        3 => digits.chars().flat_map(|it| [it, it]).collect(),
        _ => digits.to_owned(),
    };
    0.2126 * channel(&long[..2]) + 0.7152 * channel(&long[2..4]) + 0.0722 * channel(&long[4..6])
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn the_measure_of_contrast_is_that_of_the_standard() {
    assert!((contrast("#000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast("#767676", "#fff") - 4.54).abs() < 0.005);
    assert!((contrast("#abcdef", "#abcdef") - 1.0).abs() < 1e-9);
}

#[test]
fn text_and_lines_stand_out_from_what_lies_behind_them() {
    let mut faint = Vec::new();
    for (medium, palette) in palettes() {
        let mut check = |front: &str, behind: &str, least: f64| {
            let reached = contrast(&palette[front], &palette[behind]);
            if reached < least {
                faint.push(format!("{medium}: {front} on {behind} {reached:.2}"));
            }
        };
        for kind in ["good", "part", "bad", "even", "open"] {
            let tinted = format!("{kind}-bg");
            for front in [kind, "ink", "soft", "bad", "part"] {
                check(front, &tinted, TEXT);
            }
        }
        for front in ["ink", "soft", "good", "part", "bad", "even", "open"] {
            for behind in ["page", "sheet", "grid"] {
                check(front, behind, TEXT);
            }
        }
        for line in ["s0", "s1", "s2", "s3", "s4", "s5", "floor"] {
            for behind in ["page", "sheet"] {
                check(line, behind, GRAPHIC);
            }
        }
    }
    assert!(faint.is_empty(), "{faint:#?}");
}

#[test]
fn a_part_of_a_bar_can_be_read_on_its_colour() {
    let (light, rest) = BARS.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (dark, _) = rest.split_once(".key.stacked").unwrap();
    let parts = |css: &str| -> BTreeMap<String, Colours> {
        let rules = css.split(".k-").skip(1).filter_map(|rule| rule.split_once('{'));
        rules.map(|(name, rest)| (name.trim().to_owned(), colours(rest))).collect()
    };
    let mut faint = Vec::new();
    let mut bars = parts(light);
    assert!(bars.len() > 20, "{bars:?}");
    let mut check = |medium: &str, bars: &BTreeMap<String, Colours>| {
        for (name, part) in bars {
            let reached = contrast(&part["t"], &part["c"]);
            if reached < TEXT {
                faint.push(format!("{medium}: {name} {reached:.2}"));
            }
        }
    };
    check("light", &bars);
    bars.extend(parts(dark));
    check("dark", &bars);
    assert!(faint.is_empty(), "{faint:#?}");
}
