//! The network: nowhere to go, and nobody to talk to but the one listener.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::{failing, forbidden, nothing};
use crate::applied::Probe;

/// Addresses set aside for documentation: nobody answers, wherever this runs.
const OUTSIDE_4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OUTSIDE_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// Services that many hosts have on loopback.
const LOOPBACK_PORTS: [u16; 2] = [22, 2375];
const FAMILIES: [(&str, u16); 2] = [("packet", 17), ("vsock", 40)];

pub(super) fn probe(listener: Option<u16>) -> Vec<Probe> {
    let inet = |address: Ipv4Addr, port| SocketAddr::from((address, port));
    let mut probes = vec![
        failing("tcp outside".to_owned(), reach(SocketType::STREAM, inet(OUTSIDE_4, 80))),
        failing("udp outside".to_owned(), reach(SocketType::DGRAM, inet(OUTSIDE_4, 53))),
        failing("tcp outside, version 6".to_owned(), reach(SocketType::STREAM, SocketAddr::from((OUTSIDE_6, 80)))),
        failing("raw socket".to_owned(), socket(AddressFamily::INET, SocketType::RAW, 1)),
        failing("abstract socket".to_owned(), abstract_socket()),
    ];
    for port in LOOPBACK_PORTS.into_iter().filter(|port| Some(*port) != listener) {
        // Answered at once, one way or the other.
        let reached = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop);
        probes.push(failing(format!("loopback port {port}"), reached));
    }
    for (name, family) in FAMILIES {
        let made = socket(AddressFamily::from_raw(family), SocketType::DGRAM, 0);
        probes.push(forbidden(&format!("{name} socket"), made));
    }
    probes.push(nothing("other interfaces", &other_interfaces()));
    probes
}

/// Works if there is a way there; nobody waits for an answer.
fn reach(kind: SocketType, address: SocketAddr) -> io::Result<()> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn socket(family: AddressFamily, kind: SocketType, protocol: u32) -> io::Result<()> {
    let protocol = std::num::NonZeroU32::new(protocol).map(Protocol::from_raw);
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, protocol).map(drop)?)
}

fn abstract_socket() -> io::Result<()> {
    let address = SocketAddrUnix::new_abstract_name(b"/tmp/.X11-unix/X0")?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    Ok(connect(&socket, &address)?)
}

fn other_interfaces() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let names = table.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name != "lo").collect()
}
