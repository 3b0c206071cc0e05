//! An object store of our own: in memory, on this machine, guarded as a careful operator would guard one, and hostile in one way at a time.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// More than anybody reads, and not for ever.
const ENDLESS_BLOCKS: u32 = 1 << 14;

/// Behaviour of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreManner {
    /// Creates, reads, and refuses to overwrite or delete.
    Guarded,
    /// Also overwrites and deletes.
    Lenient,
    /// Says 412 to what exists and gives back other bytes.
    WrongBytes,
    /// Promises a byte more than it sends.
    Truncated,
    /// Promises more bytes than anybody keeps.
    Endless,
    /// Sends a byte now and then.
    Slow,
    /// Answers with 503, so many times.
    Storm(u32),
    /// Sends every reader to another place.
    Redirects,
    /// Answers with something that is no HTTP.
    Garbled,
    /// Denies that it has the objects it holds.
    Forgetful,
    /// Says that it overwrites and deletes, and does so long after anybody looks.
    StaleReads,
    /// Creates an object and closes the connection.
    CreatesAndDrops,
    /// Closes the connection when it is asked to create a witness.
    DropsWitnesses,
    /// Closes the connection when it is asked for a witness.
    HidesWitnesses,
}

/// A running store, which ends with the process of its test.
#[derive(Debug, Clone)]
pub struct ObjectDouble {
    port: u16,
    state: Arc<Mutex<DoubleState>>,
}

#[derive(Debug)]
struct DoubleState {
    manner: StoreManner,
    objects: BTreeMap<String, Vec<u8>>,
    asked: u32,
}

impl ObjectDouble {
    /// Starts the server on a free port.
    pub fn start(manner: StoreManner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = DoubleState { manner, objects: BTreeMap::new(), asked: 0 };
        let double = Self { port, state: Arc::new(Mutex::new(state)) };
        let served = double.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let double = served.clone();
                thread::spawn(move || double.serve(stream));
            }
        });
        double
    }

    /// Address of the server.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes the behaviour for the next requests.
    pub fn behave(&self, manner: StoreManner) {
        self.with_state(|state| state.manner = manner);
    }

    /// Names of all objects.
    pub fn names(&self) -> Vec<String> {
        self.with_state(|state| state.objects.keys().cloned().collect())
    }

    /// The content of an object.
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        self.with_state(|state| state.objects.get(name).cloned())
    }

    /// Puts an object there behind everybody's back.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.with_state(|state| state.objects.insert(name.to_owned(), bytes.to_vec()));
    }

    /// Loses an object behind everybody's back.
    pub fn lose(&self, name: &str) {
        self.with_state(|state| state.objects.remove(name));
    }

    /// The number of requests so far.
    pub fn asked(&self) -> u32 {
        self.with_state(|state| state.asked)
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut DoubleState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn serve(&self, stream: TcpStream) {
        let Ok(question) = DoubleQuestion::read(&stream) else { return };
        let (manner, answer) = self.with_state(|state| {
            state.asked += 1;
            let manner = state.manner;
            if let StoreManner::Storm(left) = manner {
                state.manner = left.checked_sub(1).map_or(StoreManner::Guarded, StoreManner::Storm);
                if left > 0 {
                    return (manner, DoubleAnswer { status: 503, body: Vec::new() });
                }
            }
            (manner, state.answer(&question))
        });
        let is_silent = matches!(
            (manner, question.method.as_str()),
            (StoreManner::DropsWitnesses, "PUT") | (StoreManner::HidesWitnesses, "GET")
        );
        let drops = manner == StoreManner::CreatesAndDrops && question.method == "PUT" && answer.status == 200;
        if !drops && (!is_silent || !question.name.contains("approval-use/")) {
            let _ = answer.send(stream, manner, question.method == "GET");
        }
    }
}

impl DoubleState {
    fn answer(&mut self, question: &DoubleQuestion) -> DoubleAnswer {
        let DoubleQuestion { method, name, body, create_only } = question;
        let lenient = self.manner == StoreManner::Lenient;
        let stale = self.manner == StoreManner::StaleReads;
        let status = match (method.as_str(), self.objects.get(name)) {
            ("GET", Some(_)) if self.manner == StoreManner::Forgetful => 404,
            ("GET", Some(found)) => return DoubleAnswer { status: 200, body: found.clone() },
            ("PUT", Some(_)) if *create_only => 412,
            ("PUT", Some(_)) if stale => 200,
            ("DELETE", Some(_)) if stale => 204,
            ("PUT", _) if *create_only || lenient => {
                self.objects.insert(name.clone(), body.clone());
                200
            }
            ("DELETE", _) if lenient => {
                self.objects.remove(name);
                204
            }
            ("GET", None) => 404,
            _ => 403,
        };
        DoubleAnswer { status, body: Vec::new() }
    }
}

struct DoubleQuestion {
    method: String,
    name: String,
    body: Vec<u8>,
    create_only: bool,
}

impl DoubleQuestion {
    fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (mut length, mut create_only) = (0, false);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let header = header.trim_end().to_ascii_lowercase();
            match header.split_once(": ") {
                None => break,
                Some(("content-length", value)) => length = value.parse().unwrap_or(0),
                Some(("if-none-match", "*")) => create_only = true,
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { method, name: name.trim_start_matches('/').to_owned(), body, create_only })
    }
}

struct DoubleAnswer {
    status: u16,
    body: Vec<u8>,
}

impl DoubleAnswer {
    fn send(mut self, mut stream: TcpStream, manner: StoreManner, is_read: bool) -> io::Result<()> {
        let is_object = is_read && self.status == 200;
        let mut length = self.body.len() as u64;
        match manner {
            StoreManner::Redirects if is_read => {
                let head = "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1/elsewhere\r\ncontent-length: 0\r\n\r\n";
                return stream.write_all(head.as_bytes());
            }
            StoreManner::Garbled => return stream.write_all(b"220 mail.example ready\r\n"),
            StoreManner::WrongBytes if is_object => self.body.iter_mut().for_each(|byte| *byte ^= 1),
            StoreManner::Truncated if is_object => length += 1,
            StoreManner::Endless if is_object => length = u64::MAX,
            _ => {}
        }
        write!(stream, "HTTP/1.1 {} Said\r\ncontent-length: {length}\r\n\r\n", self.status)?;
        if manner == StoreManner::Slow && is_object {
            for byte in self.body {
                thread::sleep(Duration::from_millis(400));
                stream.write_all(&[byte])?;
            }
            return Ok(());
        }
        stream.write_all(&self.body)?;
        let more = if manner == StoreManner::Endless && is_object { ENDLESS_BLOCKS } else { 0 };
        (0..more).try_for_each(|_| stream.write_all(&[0; 4096]))
    }
}
