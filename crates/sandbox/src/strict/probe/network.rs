//! Probes of the network: no address may be reachable except the one listener.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use libc::{AF_INET, AF_INET6, AF_UNIX, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_RAW, SOCK_STREAM, c_int};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sendto, socket_with};
use sandbox_facts::Probe;
use untrusted_fs::own_files;

use super::{failing, forbidden, nothing};
use crate::kernel::attempt;

/// Address reserved for documentation: it never answers, wherever this runs.
const OUTSIDE_4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OUTSIDE_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// Services that many hosts have on loopback.
const LOOPBACK_PORTS: [u16; 2] = [22, 2375];
const FAMILIES: [(&str, u16); 2] = [("packet", 17), ("vsock", 40)];

/// Tries addresses outside, other socket families and the one listener.
pub(super) fn probe_network(listener: Option<u16>, word: u64) -> Vec<Probe> {
    let inet = |address: Ipv4Addr, port| SocketAddr::from((address, port));
    let reach = |address| reach(address, word);
    let socket = |family, kind, protocol| attempt::socket(family, kind, protocol, word).map(drop);
    let mut probes = vec![
        failing("tcp outside".to_owned(), reach(inet(OUTSIDE_4, 80))),
        failing("udp outside".to_owned(), send(inet(OUTSIDE_4, 53))),
        failing("tcp outside, version 6".to_owned(), reach(SocketAddr::from((OUTSIDE_6, 80)))),
        failing("raw socket".to_owned(), socket(family(AF_INET), SOCK_RAW, 1)),
        failing("abstract socket".to_owned(), abstract_socket(word)),
    ];
    for port in LOOPBACK_PORTS.into_iter().filter(|port| Some(*port) != listener) {
        probes.push(failing(format!("loopback port {port}"), reach(inet(Ipv4Addr::LOCALHOST, port))));
    }
    for (name, family) in FAMILIES {
        probes.push(forbidden(&format!("{name} socket"), socket(family, SOCK_DGRAM, 0)));
    }
    probes
}

/// Tries to connect. Loopback answers at once, with success or refusal; other addresses are
/// not waited for.
fn reach(address: SocketAddr, word: u64) -> io::Result<()> {
    let (family, bytes) = socket_address(address);
    let waiting = if address.ip().is_loopback() { 0 } else { SOCK_NONBLOCK };
    let socket = attempt::socket(family, SOCK_STREAM | waiting, 0, word)?;
    match attempt::connect_to(socket.as_fd(), &bytes, word) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        result => result,
    }
}

fn send(address: SocketAddr) -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    Ok(sendto(&socket, &[0], SendFlags::empty(), &address).map(drop)?)
}

fn abstract_socket(word: u64) -> io::Result<()> {
    let socket = attempt::socket(family(AF_UNIX), SOCK_STREAM, 0, word)?;
    let address = [&family(AF_UNIX).to_ne_bytes(), b"\0/tmp/.X11-unix/X0".as_slice()].concat();
    attempt::connect_to(socket.as_fd(), &address, word)
}

/// The family, and the address as the kernel reads it.
fn socket_address(address: SocketAddr) -> (u16, Vec<u8>) {
    let port = address.port().to_be_bytes();
    match address {
        SocketAddr::V4(address) => {
            let family = family(AF_INET);
            let octets = address.ip().octets();
            (family, [family.to_ne_bytes().as_slice(), &port, &octets, &[0; 8]].concat())
        }
        SocketAddr::V6(address) => {
            let family = family(AF_INET6);
            let octets = address.ip().octets();
            (family, [family.to_ne_bytes().as_slice(), &port, &[0; 4], &octets, &[0; 4]].concat())
        }
    }
}

fn family(number: c_int) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Looks for network interfaces other than loopback.
pub(super) fn other_interfaces() -> Probe {
    let table = own_files::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let names = table.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    nothing("other interfaces", &names.filter(|name| name != "lo").collect::<Vec<_>>())
}
