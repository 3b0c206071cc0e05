//! A client that keeps its connection, from an address of its own: the server limits the
//! rate of each address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use crate::ChoreResult;

/// One connection, kept.
pub(super) struct KeptClient {
    stream: BufReader<TcpStream>,
    request: String,
}

impl KeptClient {
    /// Connects from `127.0.x.y`, where x and y are of this number.
    pub(super) fn connect_from(host: &str, path: &str, cookie: &str, number: u16) -> ChoreResult<Self> {
        let stream = connect_from(host, number)?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let cookie = if cookie.is_empty() { String::new() } else { format!("Cookie: {cookie}\r\n") };
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
        Ok(Self { stream: BufReader::with_capacity(64 << 10, stream), request })
    }

    /// Asks once; gives the time it took, and the size of the body. Anything but 200 is an
    /// error.
    pub(super) fn ask_once(&mut self) -> ChoreResult<(Duration, usize)> {
        let began = Instant::now();
        let fail = |error: std::io::Error| format!("the server went away: {error}");
        self.stream.get_mut().write_all(self.request.as_bytes()).map_err(fail)?;
        let (mut length, mut line, mut is_first) = (0, String::new(), true);
        loop {
            line.clear();
            self.stream.read_line(&mut line).map_err(fail)?;
            if is_first && !line.starts_with("HTTP/1.1 200") {
                return Err(format!("the server said {line:?}"));
            }
            is_first = false;
            let lower = line.to_ascii_lowercase();
            if let Some(number) = lower.strip_prefix("content-length:") {
                length = number.trim().parse().map_err(|_| "a length that is no number".to_owned())?;
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).map_err(fail)?;
        Ok((began.elapsed(), length))
    }
}

/// A plain connection from an address of its own.
pub(super) fn connect_from(host: &str, number: u16) -> ChoreResult<TcpStream> {
    let to: SocketAddr = host.parse().map_err(|_| format!("{host} is no address"))?;
    let [high, low] = number.to_be_bytes();
    let from = SocketAddrV4::new(Ipv4Addr::new(127, 0, high.wrapping_add(1), low), 0);
    let made: Result<OwnedFd, rustix::io::Errno> =
        socket(AddressFamily::INET, SocketType::STREAM, None).and_then(|fd| {
            bind(&fd, &from)?;
            connect(&fd, &to)?;
            Ok(fd)
        });
    made.map(TcpStream::from).map_err(|error| format!("cannot connect to {host}: {error}"))
}

/// Requests a second of some connections at a time, for a while.
pub(super) fn count_rate(host: &str, path: &str, cookie: &str, first: u16, time: Duration) -> ChoreResult<f64> {
    const THREADS: u16 = 4;
    /// Connections of a thread, so that no address is asked more often than is let in.
    const TURNS: u16 = 8;
    let work = |thread: u16| -> ChoreResult<u64> {
        let numbers = (0..TURNS).map(|turn| first + thread * TURNS + turn);
        let mut clients: Vec<KeptClient> =
            numbers.map(|number| KeptClient::connect_from(host, path, cookie, number)).collect::<Result<_, _>>()?;
        let (began, mut asked) = (Instant::now(), 0);
        while began.elapsed() < time {
            for client in &mut clients {
                client.ask_once()?;
                asked += 1;
            }
        }
        Ok(asked)
    };
    let asked: Vec<ChoreResult<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".to_owned())))
            .collect()
    });
    let total: u64 = asked.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().sum();
    Ok(total as f64 / time.as_secs_f64())
}
