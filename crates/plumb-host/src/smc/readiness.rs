//! Whether connections from here can use SMC, what is missing, and what to do about it.

use plumb_procfs::Root;
use serde::Serialize;

use super::facts::SmcFacts;
use super::socket::is_loaded;

/// What this machine has of SMC, and what it lacks.
#[derive(Clone, Debug, Serialize)]
pub struct Readiness {
    /// Release of the kernel.
    pub kernel: String,
    /// What there is; absent where no SMC is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<SmcFacts>,
    /// What is missing; empty when connections can use SMC.
    pub lacks: Vec<Lack>,
    /// What is worth knowing beside.
    pub remarks: Vec<String>,
}

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lack {
    /// What.
    pub kind: LackKind,
    /// One sentence.
    pub text: String,
    /// What to do, as a command where one does it.
    pub remedy: String,
    /// True when `plumb smc setup --apply` does it.
    pub applied_by_setup: bool,
}

/// What can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LackKind {
    /// The kernel has no SMC.
    Module,
    /// The kernel does not tell what connections use.
    Diagnosis,
    /// There is nothing that could carry it.
    Device,
    /// No port of any device can carry anything.
    Port,
    /// There is no user-defined EID.
    Ueid,
    /// The kernel falls back to TCP while many connections come at once.
    LimitedHandshakes,
    /// The kernel does not tell of SMC.
    Facts,
}

impl Readiness {
    /// Looks at this machine; changes nothing.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let facts = SmcFacts::read(root);
        let module = Modules::read(root, &kernel);
        let lacks = lacks(facts.as_ref(), &module, is_loaded(root));
        let remarks = facts.as_ref().map(remarks).unwrap_or_default();
        Self { kernel, facts, lacks, remarks }
    }
}

/// Which modules the kernel has, and whether they are loaded.
#[derive(Clone, Copy, Debug, Default)]
struct Modules {
    /// SMC can be loaded.
    smc_installed: bool,
    /// What tells of sockets is loaded.
    diagnosis: bool,
}

impl Modules {
    fn read(root: &Root, kernel: &str) -> Self {
        let lists = ["modules.dep", "modules.builtin"];
        let folders = ["lib/modules", "usr/lib/modules"];
        let text: String = folders
            .iter()
            .flat_map(|folder| lists.map(|list| format!("/{folder}/{kernel}/{list}")))
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .collect();
        let builtin = text.lines().any(|line| line.ends_with("/smc_diag.ko"));
        Self {
            smc_installed: text.contains("/smc/smc.ko"),
            diagnosis: builtin || root.sys("module/smc_diag").exists(),
        }
    }
}

fn lack(kind: LackKind, text: impl Into<String>, remedy: impl Into<String>) -> Lack {
    Lack { kind, text: text.into(), remedy: remedy.into(), applied_by_setup: false }
}

fn by_setup(lack: Lack) -> Lack {
    Lack { applied_by_setup: true, ..lack }
}

fn lacks(facts: Option<&SmcFacts>, modules: &Modules, loaded: bool) -> Vec<Lack> {
    let Some(facts) = facts.filter(|_| loaded) else {
        return vec![if modules.smc_installed {
            by_setup(lack(LackKind::Module, "the module smc is not loaded", "modprobe smc"))
        } else {
            lack(
                LackKind::Module,
                "this kernel has no SMC",
                "boot a kernel that is built with CONFIG_SMC (Linux 6.12 of Debian 13 is)",
            )
        }];
    };
    let mut lacks = Vec::new();
    if !modules.diagnosis {
        let text = "the module smc_diag is not loaded: what connections use cannot be proven";
        lacks.push(by_setup(lack(LackKind::Diagnosis, text, "modprobe smc_diag")));
    }
    if !facts.not_told.is_empty() {
        let text = facts.not_told.join("; ");
        lacks.push(lack(LackKind::Facts, text, "run it as root, in the network namespace meant"));
        return lacks;
    }
    lacks.extend(device_lack(facts));
    let over_rdma = facts.devices.iter().any(|device| device.rdma);
    if facts.ueids.is_empty() && (over_rdma || facts.devices.is_empty()) {
        let text = "there is no user-defined EID: SMC-R of version 2, the only one across subnets \
                    and over RoCE version 2, needs one that both machines have";
        let remedy = "plumb smc setup --ueid NAME --apply";
        lacks.push(by_setup(lack(LackKind::Ueid, text, remedy)));
    }
    if facts.limits_handshakes == Some(true) {
        let text = "the kernel falls back to TCP while many connections come at once";
        let remedy =
            "sysctl -w net.smc.limit_smc_hs=0 (of new network namespaces), smcr hs disable";
        lacks.push(lack(LackKind::LimitedHandshakes, text, remedy));
    }
    lacks
}

fn device_lack(facts: &SmcFacts) -> Option<Lack> {
    if facts.devices.is_empty() {
        return Some(lack(
            LackKind::Device,
            "there is no device that SMC can use: neither an RDMA device nor one of SMC-D",
            "install an RNIC and its driver (`rdma link` lists it); to try SMC without one, never to \
             measure it: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev INTERFACE",
        ));
    }
    let mut ports = facts.devices.iter().flat_map(|device| &device.ports);
    if ports.any(|port| port.active) {
        return None;
    }
    let names: Vec<&str> = facts.devices.iter().map(|device| device.name.as_str()).collect();
    Some(lack(
        LackKind::Port,
        format!("no port of {} is active", names.join(", ")),
        "ip link set INTERFACE up, for the interface of the device (`rdma link` names it)",
    ))
}

fn remarks(facts: &SmcFacts) -> Vec<String> {
    let mut ports = facts.devices.iter().flat_map(|device| &device.ports);
    let without_pnet = ports.all(|port| port.pnet_id.is_none()) && !facts.devices.is_empty();
    let pnet = without_pnet.then(|| {
        "no PNET id is set: SMC then uses the device whose own interface a connection goes over; for \
         another interface of the same network: smc_pnet -a -I INTERFACE NAME, and the same for the \
         device"
            .to_owned()
    });
    pnet.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::facts::{SmcDevice, SmcPort};
    use super::*;

    fn kinds(facts: Option<&SmcFacts>, modules: Modules) -> Vec<LackKind> {
        lacks(facts, &modules, facts.is_some()).into_iter().map(|lack| lack.kind).collect()
    }

    fn facts(active: bool, ueid: Option<&str>) -> SmcFacts {
        let lo = SmcPort { interface: Some("lo".into()), pnet_id: None, active };
        SmcFacts {
            devices: vec![SmcDevice { name: "rxe0".into(), rdma: true, uses: 0, ports: vec![lo] }],
            ueids: ueid.into_iter().map(str::to_owned).collect(),
            ..SmcFacts::default()
        }
    }

    const ALL: Modules = Modules { smc_installed: true, diagnosis: true };

    #[test]
    fn each_thing_that_is_missing_is_named() {
        assert_eq!(kinds(None, Modules::default()), [LackKind::Module]);
        assert_eq!(kinds(None, ALL), [LackKind::Module]);
        assert_eq!(kinds(Some(&facts(true, Some("A"))), ALL), []);
        assert_eq!(kinds(Some(&facts(true, None)), ALL), [LackKind::Ueid]);
        assert_eq!(kinds(Some(&facts(false, Some("A"))), ALL), [LackKind::Port]);
        let none = SmcFacts { devices: Vec::new(), ..facts(true, None) };
        assert_eq!(kinds(Some(&none), ALL), [LackKind::Device, LackKind::Ueid]);
        let untold = SmcFacts { not_told: vec!["no".into()], ..facts(true, None) };
        assert_eq!(kinds(Some(&untold), ALL), [LackKind::Facts], "unknown is not missing");
        let limited = SmcFacts { limits_handshakes: Some(true), ..facts(true, Some("A")) };
        let blind = Modules { diagnosis: false, ..ALL };
        assert_eq!(
            kinds(Some(&limited), blind),
            [LackKind::Diagnosis, LackKind::LimitedHandshakes]
        );
    }

    #[test]
    fn what_setup_does_is_marked() {
        let marked = |lacks: Vec<Lack>| lacks.iter().any(|lack| lack.applied_by_setup);
        assert!(marked(lacks(None, &ALL, false)));
        assert!(!marked(lacks(None, &Modules::default(), false)), "no such module");
        assert!(marked(lacks(Some(&facts(true, None)), &ALL, true)));
        assert!(!marked(lacks(Some(&facts(false, Some("A"))), &ALL, true)));
    }
}
