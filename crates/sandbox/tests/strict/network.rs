//! The network: no way to any service of the host or beyond, and one listener that leads to the harness.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use sandbox::How;

use crate::world::{Ask, BOTH, World, check_as, everybody, python};

#[test]
fn services_of_the_host_are_out_of_reach() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp6 = TcpListener::bind("[::1]:0").unwrap();
    let name = format!("strict-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let attacks = [
        python("tcp", BOTH, "socket.create_connection(('127.0.0.1', int(os.environ['TCP'])), 60)\nprint('REACHED')"),
        python(
            "tcp, version 6",
            BOTH,
            "socket.create_connection(('::1', int(os.environ['TCP6'])), 60)\nprint('REACHED')",
        ),
        python(
            "abstract socket",
            BOTH,
            "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + os.environ['NAME'])\nprint('REACHED')",
        ),
        python(
            "other interfaces",
            BOTH,
            "names = [name for _, name in socket.if_nameindex() if name != 'lo']\nif names: print('REACHED')",
        ),
    ];
    let port = |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
    let places = vec![
        ("TCP".to_owned(), port(tcp.local_addr())),
        ("TCP6".to_owned(), port(tcp6.local_addr())),
        ("NAME".to_owned(), name),
    ];
    for who in everybody() {
        check_as(who, &attacks, |_| places.clone());
    }
}

#[test]
fn a_datagram_arrives_nowhere() {
    for who in everybody() {
        for (strict, arrives) in [(true, false), (false, true)] {
            let world = World::new(who);
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            // What was sent has arrived by the time the sender has ended, or never will.
            socket.set_nonblocking(true).unwrap();
            let send = format!(
                "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {}))",
                socket.local_addr().unwrap().port()
            );
            let ask = if strict { Ask::strict } else { Ask::control };
            let outcome = ask(&world, &["/usr/bin/python3", "-c", &send]).run(&world);
            assert_eq!(outcome.how, How::Exited { code: 0 }, "{outcome:?}");
            assert_eq!(socket.recv(&mut [0; 8]).is_ok(), arrives, "{who:?} strict {strict}");
        }
    }
}

#[test]
fn nothing_beyond_is_reachable_and_names_do_not_resolve() {
    for who in everybody() {
        let world = World::new(who);
        let script = "
import errno, socket
for family, kind, address in [
    (socket.AF_INET, socket.SOCK_STREAM, ('192.0.2.1', 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ('192.0.2.1', 53)),
    (socket.AF_INET6, socket.SOCK_STREAM, ('2001:db8::1', 80)),
]:
    print(errno.errorcode[socket.socket(family, kind).connect_ex(address)])
try:
    socket.getaddrinfo('example.com', 80)
    print('resolved')
except socket.gaierror: print('no name')
print(socket.getaddrinfo('localhost', 80)[0][4][0])";
        let outcome = Ask::strict(&world, &["/usr/bin/python3", "-c", script]).run(&world);
        assert_eq!(
            outcome.stdout.lines().take(4).collect::<Vec<_>>(),
            ["ENETUNREACH", "ENETUNREACH", "ENETUNREACH", "no name"]
        );
        assert!(["127.0.0.1", "::1"].contains(&outcome.stdout.lines().nth(4).unwrap()), "{outcome:?}");
        let addresses: Vec<&str> =
            outcome.applied().seen.connections.iter().map(|connection| connection.address.as_str()).collect();
        for expected in ["192.0.2.1:80", "192.0.2.1:53", "[2001:db8::1]:80"] {
            assert!(addresses.contains(&expected), "{addresses:?}");
        }
    }
}

#[test]
fn the_listener_inside_is_the_harness_outside() {
    for who in everybody() {
        let world = World::new(who);
        let read = "import socket; print(socket.create_connection(('127.0.0.1', 8123)).recv(100).decode(), end='')";
        let mut ask = Ask::strict(&world, &["/usr/bin/python3", "-c", read]);
        ask.confinement().listener = Some(8123);
        let outcome = ask.run(&world);
        assert_eq!(outcome.stdout, "hello from the harness\n", "{outcome:?}");
        let serve = "
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b'own')).start()
print(socket.create_connection(server.getsockname()).recv(9).decode())";
        let outcome = Ask::strict(&world, &["/usr/bin/python3", "-c", serve]).run(&world);
        assert_eq!(outcome.stdout, "own\n", "a test server of the program's own works: {outcome:?}");
    }
}
