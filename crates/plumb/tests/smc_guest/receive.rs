//! Receive side scaling: who looks after the packets of a network device with one queue, and with
//! several.

use serde_json::Value;

use crate::experiment::seeds;
use crate::guest::{Guest, Kernel, Plan, say};
use crate::kit::namespace::{Namespace, allowed};

/// The guest as its host sees it.
const GUEST: &str = "10.92.0.2";

/// How many processors of the guest receive, as the run over a device of so many queues says.
fn receiving(kernel: &Kernel, queues: u8) -> Option<f64> {
    let folder = seeds();
    let place = allowed(Namespace::new())?;
    let many = if queues > 1 { " multi_queue" } else { "" };
    for line in [
        format!("tuntap add dev lan mode tap{many}"),
        "address add 10.92.0.1/24 dev lan".to_owned(),
        "link set lan up".to_owned(),
        "link set lo up".to_owned(),
    ] {
        allowed(place.ip(&line.split(' ').collect::<Vec<_>>()))?;
    }
    let net = format!("--net={}", place.path());
    let backend = format!("tap,id=lan,ifname=lan,script=no,downscript=no,queues={queues}");
    let vectors = 2 * queues + 2;
    let device = match queues {
        1 => "virtio-net-pci,netdev=lan".to_owned(),
        _ => format!("virtio-net-pci,netdev=lan,mq=on,vectors={vectors}"),
    };
    let plan = Plan {
        steps: "receive",
        processors: 2,
        seeds: folder.path(),
        devices: &["-netdev", &backend, "-device", &device],
        under: &["nsenter", &net],
    };
    let mut guest = Guest::boot(kernel, &plan);
    guest.until("@@ready");
    let (echo, recorder) = (format!("{GUEST}:3298"), format!("{GUEST}:3299"));
    let words = ["net", "ping", &echo, "--preset", "rss", "--far-host", &recorder];
    let more = ["--for", "5s", "--foreign-limit", "100%", "--out", "run", "--json"];
    let ended = place.start(&[&words[..], &more].concat(), folder.path()).wait();
    let run: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:#?}"));
    let receive = &run["results"][0]["far"]["receive"];
    say(&format!("{queues} queues: {receive}"));
    Some(receive["effective_cpus"].as_f64().unwrap_or_else(|| panic!("{run:#}")))
}

#[test]
fn receive_work_of_several_queues_is_seen_to_be_spread() {
    let Some(kernel) = Kernel::find() else { return };
    let Some(one) = receiving(&kernel, 1) else { return };
    let Some(two) = receiving(&kernel, 2) else { return };
    assert!(one < 1.1, "one queue, {one} processors");
    assert!(two > 1.2, "two queues, {two} processors");
}
