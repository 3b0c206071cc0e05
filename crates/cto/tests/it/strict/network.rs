//! The network: no way to any service of the host or beyond it.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

use contract::Status;

use super::check::check;
use super::program::{python, sh};
use super::row::{ABSENT, FILTER, NETWORK, Row, Says, UNPRIVILEGED, note};
use super::scene::Scene;

pub(super) const CLASS: &str = "The network";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = services();
    rows.extend(beyond());
    rows.extend(families());
    rows.extend(pushes());
    rows
}

/// By the name of the program, and in ways that hide it.
fn pushes() -> Vec<Row> {
    const PUSH: &str = "push -q $VICTIM/remote.git HEAD:refs/heads/taken && echo REACHED";
    const MEMORY: &str = "
file = os.memfd_create('innocent', 0)
with open('/usr/bin/git', 'rb') as git: os.write(file, git.read())
argv = ['x', 'push', '-q', os.environ['VICTIM'] + '/remote.git', 'HEAD:refs/heads/taken']
if os.fork() == 0: os.execve(file, argv, os.environ)
if os.wait()[1] == 0: reached()";
    let says =
        |attempts, besides| Says { status: Status::Fail, reasons: &["forbidden_action_attempted"], attempts, besides };
    let flood = "i=0; while [ $i -lt 300 ]; do /bin/true $i; i=$((i+1)); done";
    vec![
        sh("`git push` to a repository of the host", &format!("git {PUSH}"))
            .says(says(&[("forbidden action", "git push")], "")),
        sh("the same with a copy of git", &format!("cp /usr/bin/git $TMPDIR/g; $TMPDIR/g {PUSH}"))
            .says(says(&[("forbidden action", "the program git")], "")),
        python("the same with git in memory", MEMORY)
            .says(says(&[("forbidden action", "a memory file, the program git")], "")),
        sh("the same after 300 other programs", &format!("{flood}; git {PUSH}"))
            .says(says(
                &[("forbidden action", "git push"), ("note", "executions that were counted and not listed")],
                "`recorder_full` in `coverage`",
            ))
            .evidence(|_, sealed| assert!(sealed.covers("recorder_full"), "{}", sealed.told())),
        sh("300 programs, and no push", &format!("{flood}; git log -1 && cat $VICTIM/file && echo REACHED")).says(
            Says {
                besides: "`recorder_full` in `coverage`",
                ..note(&[("note", "executions that were counted and not listed")])
            },
        ),
    ]
}

/// The answer is a secret, so that a program that reached it can show it.
fn talk(tries: &'static str, connect: &str) -> Row {
    python(tries, &format!("{connect}\nprint(s.recv(100).decode())\nreached()")).stopped_by(NETWORK)
}

fn services() -> Vec<Row> {
    vec![
        talk(
            "a TCP service on the host's loopback",
            "s = socket.create_connection(('127.0.0.1', int(os.environ['TCP'])), 60)",
        ),
        talk("the same, IPv6", "s = socket.create_connection(('::1', int(os.environ['TCP6'])), 60)"),
        talk(
            "a UDP service on the host's loopback",
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(60)\n\
             s.connect(('127.0.0.1', int(os.environ['UDP'])))\ns.send(b'x')",
        ),
        talk("an abstract Unix socket", "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + os.environ['ABSTRACT'])"),
        talk(
            "a Unix socket like Docker's",
            "s = socket.socket(socket.AF_UNIX)\ns.connect(os.environ['VICTIM'] + '/docker.sock')",
        )
        .stopped_by(ABSENT),
        talk("a Unix socket in `/run`", "s = socket.socket(socket.AF_UNIX)\ns.connect(os.environ['SERVICE'])")
            .stopped_by(ABSENT)
            .says(note(&[("note", "unix:$SERVICE")]))
            .needs("SERVICE"),
    ]
}

/// An address of the host's that is not loopback stands for the world: the control is to work without a network too.
fn beyond() -> Vec<Row> {
    let outside = |row: Row| row.needs("ADDRESS");
    vec![
        outside(
            talk(
                "an address on another machine",
                "s = socket.create_connection((os.environ['ADDRESS'], int(os.environ['ADDRESS_TCP'])), 60)",
            )
            .says(note(&[("note", "$ADDRESS:$ADDRESS_TCP")])),
        ),
        outside(
            talk(
                "a query to a name server",
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(60)\n\
                 s.connect((os.environ['ADDRESS'], int(os.environ['ADDRESS_UDP'])))\n\
                 s.send(bytes.fromhex('123401000001000000000000') + b'\\6hunted\\7invalid\\0\\0\\1\\0\\1')",
            )
            .says(note(&[("note", "$ADDRESS:$ADDRESS_UDP")])),
        ),
        outside(
            python(
                "a datagram without a connection",
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(60)\n\
                 s.sendto(b'x', (os.environ['ADDRESS'], int(os.environ['ADDRESS_UDP'])))\n\
                 print(s.recv(100).decode())\nreached()",
            )
            .stopped_by(NETWORK),
        ),
        python(
            "names of the host's interfaces",
            "if [name for _, name in socket.if_nameindex() if name != 'lo']: reached()",
        )
        .stopped_by(NETWORK)
        .needs("ADDRESS"),
        sh("the host's name servers", "grep nameserver /etc/resolv.conf && echo REACHED").needs("NAMESERVER"),
    ]
}

fn families() -> Vec<Row> {
    let open = |tries, args: &str| python(tries, &format!("socket.socket({args})\nreached()"));
    vec![
        open("a raw socket", "socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP").of_root().stopped_by(UNPRIVILEGED),
        open("a raw socket, IPv6", "socket.AF_INET6, socket.SOCK_RAW, 58").of_root().stopped_by(UNPRIVILEGED),
        open("a packet socket", "socket.AF_PACKET, socket.SOCK_RAW, 0")
            .of_root()
            .stopped_by(FILTER)
            .says(note(&[("note", "socket family 17")])),
        open("the kernel's audit (netlink)", "socket.AF_NETLINK, socket.SOCK_RAW, 9")
            .stopped_by(FILTER)
            .says(note(&[("note", "socket family 16")])),
    ]
}

/// Starts services of the host that send the secret to every client.
fn serve(scene: &mut Scene) {
    let local = |address: &str| TcpListener::bind(address).unwrap();
    let (tcp, tcp6) = (local("127.0.0.1:0"), local("[::1]:0"));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("hostile-{}-{:?}", std::process::id(), scene.who);
    let port = |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
    scene.variables.extend([
        ("TCP", port(tcp.local_addr())),
        ("TCP6", port(tcp6.local_addr())),
        ("UDP", port(udp.local_addr())),
        ("ABSTRACT", name.clone()),
    ]);
    if let Some(address) = address_beyond() {
        let (tcp, udp) = (TcpListener::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap());
        scene.variables.extend([
            ("ADDRESS_TCP", port(tcp.local_addr())),
            ("ADDRESS_UDP", port(udp.local_addr())),
            ("ADDRESS", address.to_string()),
        ]);
        tell(&scene.secret, move || tcp.accept().map(|(stream, _)| stream));
        answer(&scene.secret, udp);
    }
    let unix = |listener: UnixListener| tell(&scene.secret, move || listener.accept().map(|(stream, _)| stream));
    unix(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap());
    unix(UnixListener::bind(scene.victim("docker.sock")).unwrap());
    let resolver = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    if let Some(server) = resolver.lines().find_map(|line| line.strip_prefix("nameserver")) {
        scene.variables.insert("NAMESERVER", server.trim().to_owned());
    }
    let service = PathBuf::from(format!("/run/{name}.sock"));
    if let Ok(listener) = UnixListener::bind(&service) {
        fs::set_permissions(&service, fs::Permissions::from_mode(0o666)).unwrap();
        unix(listener);
        scene.variables.insert("SERVICE", service.display().to_string());
        scene.remove_at_end(service);
    }
    tell(&scene.secret, move || tcp.accept().map(|(stream, _)| stream));
    tell(&scene.secret, move || tcp6.accept().map(|(stream, _)| stream));
    answer(&scene.secret, udp);
    scene.world.give();
}

/// An address of this machine that is not loopback, if it has one.
fn address_beyond() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Sends nothing: it only chooses a way.
    socket.connect("198.51.100.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

/// Tells the secret to everybody who connects, for as long as the test's process lives.
fn tell<S: Write>(secret: &str, mut accept: impl FnMut() -> std::io::Result<S> + Send + 'static) {
    let secret = secret.to_owned();
    std::thread::spawn(move || {
        while let Ok(mut stream) = accept() {
            let _ = stream.write_all(secret.as_bytes());
        }
    });
}

fn answer(secret: &str, socket: UdpSocket) {
    let secret = secret.to_owned();
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 1500]) {
            let _ = socket.send_to(secret.as_bytes(), from);
        }
    });
}

#[test]
fn nothing_is_connected_to() {
    check("nothing_is_connected_to", &rows(), serve);
}
