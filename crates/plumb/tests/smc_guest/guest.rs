//! A machine without hardware: Debian's kernel in QEMU, and what it prints.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::kit::{PLUMB, not_tried};

/// A guest that prints nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// More lines than a guest prints.
const LINES_MAX: usize = 1_000_000;
/// The last line of a guest that came to its end.
const OVER: &str = "@@over";
/// A guest takes as many processors as there are here.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What whoever runs the tests should see.
pub(crate) fn say(text: &str) {
    writeln!(std::io::stderr(), "{text}").unwrap();
}

/// What guests are made of.
#[derive(Debug)]
pub(crate) struct Kernel {
    folder: PathBuf,
    version: String,
}

impl Kernel {
    /// What `PLUMB_TEST_SMC_KERNEL` names; `None`, behind the reason, where there is no guest.
    pub(crate) fn find() -> Option<Self> {
        Self::found().inspect_err(|why| not_tried(why)).ok()
    }

    fn found() -> Result<Self, String> {
        let folder = std::env::var_os("PLUMB_TEST_SMC_KERNEL")
            .ok_or("PLUMB_TEST_SMC_KERNEL names no kernel: scripts/smc-kernel.sh fetches one")?;
        let folder = PathBuf::from(folder);
        let version = fs::read_to_string(folder.join("version"))
            .map_err(|error| format!("{} holds no kernel: {error}", folder.display()))?;
        for tool in ["qemu-system-x86_64", "busybox", "cpio", "modprobe", "tc", "rdma"] {
            let places = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
            if !places.iter().any(|place| Path::new(place).join(tool).exists()) {
                return Err(format!("{tool} is not installed"));
            }
        }
        Ok(Self { folder, version: version.trim().into() })
    }
}

/// What a guest is to be.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// What it does: the name of a file in `steps`.
    pub(crate) steps: &'a str,
    /// Its processors.
    pub(crate) processors: u8,
    /// The folder of experiments that it has.
    pub(crate) seeds: &'a Path,
    /// Further words for QEMU.
    pub(crate) devices: &'a [&'a str],
    /// What QEMU is started by, `nsenter` for example; nothing: by us.
    pub(crate) under: &'a [&'a str],
}

/// A guest that runs; it ends with this.
#[derive(Debug)]
pub(crate) struct Guest {
    qemu: Child,
    lines: Receiver<String>,
    console: String,
    _initramfs: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Guest {
    /// Starts what was planned.
    pub(crate) fn boot(kernel: &Kernel, plan: &Plan<'_>) -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempdir().unwrap();
        let initramfs = folder.path().join("initramfs");
        let program = std::env::var("PLUMB_TEST_GUEST_PROGRAM").unwrap_or_else(|_| PLUMB.into());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smc_guest/initramfs.sh");
        let mut make = Command::new(script);
        let made = make.arg(&kernel.folder).arg(&program).arg(plan.seeds).arg(&initramfs).status();
        assert!(made.unwrap().success(), "initramfs.sh fails");
        say(&format!(
            "guest `{}`: Linux {}, {} processors, {program}",
            plan.steps, kernel.version, plan.processors
        ));
        let mut qemu = qemu(kernel, plan, &initramfs).spawn().unwrap();
        let console = BufReader::new(qemu.stdout.take().unwrap());
        let (said, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in console.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        Self { qemu, lines, console: String::new(), _initramfs: folder, _alone: alone }
    }

    /// Waits until it prints `mark`, and gives all that it printed until then.
    pub(crate) fn until(&mut self, mark: &str) -> &str {
        for _ in 0..LINES_MAX {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else { break };
            let found = line.contains(mark);
            if let Some((_, step)) = line.split_once("@@step ") {
                say_step(step);
            }
            self.console += &line;
            self.console.push('\n');
            if found {
                return &self.console;
            }
        }
        panic!("the guest does not come to {mark}:\n{}", self.console);
    }

    /// Waits for its end, and gives the steps that it took.
    pub(crate) fn steps(mut self) -> Steps {
        Steps::read(self.until(OVER))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // connections over RDMA may keep it from switching itself off
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

fn qemu(kernel: &Kernel, plan: &Plan<'_>, initramfs: &Path) -> Command {
    let words = [plan.under, &["qemu-system-x86_64"]].concat();
    let mut qemu = Command::new(words[0]);
    let devices: &[&str] = if plan.devices.is_empty() { &["-nic", "none"] } else { plan.devices };
    // a device for virtual machines may be there and not work
    qemu.args(&words[1..])
        .args(["-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024"])
        .args(["-smp", &plan.processors.to_string(), "-nodefaults", "-no-user-config"])
        .args(["-nographic", "-serial", "stdio", "-monitor", "none", "-no-reboot"])
        .args(devices)
        .arg("-append")
        .arg(format!(
            "console=ttyS0 quiet loglevel=1 panic=-1 edd=off mitigations=off random.trust_cpu=on \
             net.ifnames=0 steps={}",
            plan.steps
        ))
        .arg("-kernel")
        .arg(kernel.folder.join(format!("root/boot/vmlinuz-{}", kernel.version)))
        .arg("-initrd")
        .arg(initramfs)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    qemu
}

/// A step as the guest announces it: `NAME CODE SECONDS`.
fn say_step(announced: &str) {
    if let [name, code, seconds] = announced.split(' ').collect::<Vec<_>>()[..] {
        say(&format!("{seconds:>7} s  {name} ended with {code}"));
    }
}

/// One step of the guest.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its exit status.
    pub(crate) code: i32,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) messages: String,
}

impl Step {
    /// Its output, which is JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}: {self:#?}", self.messages))
    }

    /// Its output without line breaks.
    pub(crate) fn text(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Everything a guest did, by the name of the step.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    steps: BTreeMap<String, Step>,
}

impl Steps {
    /// Reads what the guest has printed; what it could not do ends the test.
    fn read(console: &str) -> Self {
        let mut all = Self::default();
        let mut lines = console.lines();
        while let Some(line) = lines.next() {
            let Some(mark) = line.find("@@").map(|at| &line[at + 2..]) else { continue };
            assert!(!mark.starts_with("failed"), "{mark}:\n{console}");
            let mut words = mark.split(' ');
            if words.next() != Some("step") {
                continue;
            }
            let name = words.next().unwrap_or_default().to_owned();
            let code = words.next().and_then(|code| code.parse().ok()).unwrap_or(-1);
            let stdout = up_to(&mut lines, "@@messages");
            let messages = up_to(&mut lines, "@@end");
            all.steps.insert(name, Step { code, stdout, messages });
        }
        all
    }

    /// The step of that name.
    pub(crate) fn step(&self, name: &str) -> &Step {
        self.steps.get(name).unwrap_or_else(|| panic!("no step {name}: {self:#?}"))
    }
}

fn up_to<'a>(lines: &mut impl Iterator<Item = &'a str>, mark: &str) -> String {
    lines.take_while(|line| *line != mark).flat_map(|line| [line, "\n"]).collect()
}
