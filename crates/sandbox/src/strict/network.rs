//! The network inside: loopback and nothing else. There is no route out, because there is
//! no other interface.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

use super::failure::{At, ConfineFailure, ConfineStep};

/// The loopback interface is the first one of every network namespace.
const LOOPBACK: i32 = 1;
const RTM_NEWLINK: u16 = 16;
const REQUEST_AND_ACK: u16 = 0x1 | 0x4;
const UP: u32 = 1;
const ERROR_AT: usize = 16;

/// Brings loopback up.
pub(crate) fn build_network() -> Result<(), ConfineFailure> {
    raise_loopback().at(ConfineStep::Network, "bringing loopback up")
}

/// Opens the one listener, if there is to be one.
pub(crate) fn listen(port: Option<u16>) -> Result<Option<TcpListener>, ConfineFailure> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).at(ConfineStep::Network, "binding the listener");
    port.map(bind).transpose()
}

fn raise_loopback() -> io::Result<()> {
    // Protocol 0 of this family is routing.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &link_up(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 256];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let error = answer[..length].get(ERROR_AT..ERROR_AT + 4).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// A request to set `IFF_UP`: a netlink header and a `struct ifinfomsg`, 16 bytes each.
fn link_up() -> Vec<u8> {
    let mut message = Vec::with_capacity(32);
    message.extend_from_slice(&32_u32.to_ne_bytes());
    message.extend_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message.extend_from_slice(&REQUEST_AND_ACK.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&LOOPBACK.to_ne_bytes());
    message.extend_from_slice(&UP.to_ne_bytes());
    message.extend_from_slice(&UP.to_ne_bytes());
    message
}
