//! Files that are written, read by a program that was not written here: pyNmonAnalyzer.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::written;
use serde_json::Value;

/// What pyNmonAnalyzer makes of `text`.
fn read(text: &str) -> Value {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from).expect(
        "PLUMB_TEST_PYTHON must name a Python that has pyNmonAnalyzer: run ./test, which sets it up",
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/reader.py");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("box01.nmon");
    std::fs::write(&file, text).unwrap();
    let ended = Command::new(python).arg(script).arg(&file).output().unwrap();
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{error}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

#[test]
fn every_section_is_read_by_pynmonanalyzer() {
    const SNAPSHOTS: u32 = 12;
    let text = written(SNAPSHOTS);
    let read = read(&text);
    assert_eq!(read["warnings"], serde_json::json!([]), "no line is discarded");
    let tables = read["tables"].as_object().unwrap();
    for section in [
        "CPU001",
        "CPU002",
        "CPU_ALL",
        "MEM",
        "VM",
        "PROC",
        "NET",
        "NETPACKET",
        "DISKBUSY",
        "DISKREAD",
        "DISKWRITE",
        "DISKXFER",
        "DISKBSIZE",
        "JFSFILE",
        "IBREAD",
        "SMCR",
        "TOP",
    ] {
        let columns = tables.get(section).and_then(Value::as_array);
        let columns = columns.unwrap_or_else(|| panic!("no {section}"));
        for column in columns {
            let cells = column.as_array().unwrap();
            assert_eq!(cells.len(), 1 + SNAPSHOTS as usize, "{section}: {cells:?}");
        }
        assert_eq!(columns[0][1], "31-DEC-2026 23:59:50", "{section}");
        assert_eq!(columns[0][2], "01-JAN-2027 00:00:00", "{section}");
    }
    let column = |section: &str, title: &str| -> Vec<f64> {
        let found = tables[section].as_array().unwrap().iter().find(|one| one[0] == title);
        let cells = found.unwrap().as_array().unwrap();
        cells[1..].iter().map(|cell| cell.as_str().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(column("CPU_ALL", "User%"), [30.25; SNAPSHOTS as usize]);
    assert_eq!(column("NET", "eth0-read-KB/s")[..3], [10.0, 20.0, 30.0]);
    assert_eq!(column("SMCR", "rx-KB/s")[0], -1.0, "missing as nmon writes it");
    let facts = read["facts"].as_array().unwrap();
    assert!(facts.contains(&serde_json::json!(["steal", "1"])), "{facts:?}");
}
