//! A network between a worker and its store that can be cut: a relay of connections on the loopback interface.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Pause between two looks at the state of the network.
const LOOK: Duration = Duration::from_millis(20);

/// A relay to one port, which ends with the process of its test.
#[derive(Debug, Clone)]
pub struct Relay {
    port: u16,
    network: Arc<Network>,
}

#[derive(Debug, Default)]
struct Network {
    is_cut: AtomicBool,
    /// Raised when the network is back: what was open before is lost.
    outages: AtomicU32,
}

impl Relay {
    /// Relays connections to a port of this machine.
    pub fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let network = Arc::new(Network::default());
        let shared = Arc::clone(&network);
        thread::spawn(move || {
            for inner in listener.incoming().flatten() {
                let network = Arc::clone(&shared);
                thread::spawn(move || relay_connection(&inner, to, &network));
            }
        });
        Self { port, network }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Loses everything that is sent, in both directions. Neither side gets an error.
    pub fn cut(&self) {
        self.network.is_cut.store(true, Ordering::SeqCst);
    }

    /// Ends connections from before and relays new ones.
    pub fn heal(&self) {
        self.network.outages.fetch_add(1, Ordering::SeqCst);
        self.network.is_cut.store(false, Ordering::SeqCst);
    }
}

fn relay_connection(inner: &TcpStream, to: u16, network: &Network) {
    let outages = network.outages.load(Ordering::SeqCst);
    while network.is_cut.load(Ordering::SeqCst) {
        thread::sleep(LOOK);
    }
    let Ok(outer) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { return };
    thread::scope(|scope| {
        scope.spawn(|| carry_bytes(inner, &outer, network, outages));
        let _ = carry_bytes(&outer, inner, network, outages);
    });
}

/// Carries bytes until one side ends. An outage ends both.
fn carry_bytes(mut from: &TcpStream, mut to: &TcpStream, network: &Network, outages: u32) -> io::Result<()> {
    from.set_read_timeout(Some(LOOK))?;
    let mut buffer = [0; 16 << 10];
    loop {
        if network.outages.load(Ordering::SeqCst) != outages {
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            return Ok(());
        }
        let read = match from.read(&mut buffer) {
            Ok(0) => return to.shutdown(Shutdown::Write),
            Ok(read) => read,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
            Err(_) => return to.shutdown(Shutdown::Both),
        };
        if !network.is_cut.load(Ordering::SeqCst) {
            to.write_all(&buffer[..read])?;
        }
    }
}
