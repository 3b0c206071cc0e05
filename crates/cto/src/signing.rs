//! The one door to signatures of people. `ssh-keygen -Y sign` makes them, so that agents,
//! passphrases and security keys work as they do elsewhere; each is checked by our own
//! reader before anybody uses it.

use std::fs::{self, File, Permissions};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use contract::approval::SignedVia;
use contract::signer::SignerKeyKind;
use contract::text::show_controls;
use evidence::private::{Privacy, require_private};
use evidence::signer_file::SignerKeyFile;
use evidence::signer_key::{ReadSignerKeyError, SignerKey};
use evidence::sshsig::verify_signature;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Far more bytes than a key file or a signature has.
const LARGEST_FILE: u64 = 64 << 10;
/// Time that a signature may take where nobody sits at a terminal. A security key waits
/// about 30 seconds to be touched.
const SIGN_WITHIN: Duration = Duration::from_secs(40);
/// Between two looks at a program that signs.
const LOOK: Duration = Duration::from_millis(20);
/// Place of the operator's key below the home.
const OPERATOR_KEY: &str = "keys/operator";

/// The key that a person signs with: in a file, in an agent, or in a security key.
#[derive(Debug)]
pub(crate) struct OperatorKey {
    key: SignerKey,
    /// Path that `ssh-keygen -f` takes.
    path: PathBuf,
    private: PrivateHalf,
    output: Output,
    /// Nobody sits at the terminal of this program: nothing is asked there.
    is_unattended: bool,
}

/// The private half as far as this program knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrivateHalf {
    /// The file has the public half only; an agent holds the private one.
    InAgent,
    InFile {
        has_passphrase: bool,
    },
}

impl OperatorKey {
    /// Finds the key: the one of the flag, else of `CTO_SIGNING_KEY` or the configuration,
    /// else the home's `keys/operator`.
    pub(crate) fn choose_key(context: &Context, flag: Option<&Path>) -> Result<Self, CommandError> {
        let named = flag.or(context.config.signing_key.as_deref());
        let path = named.map_or_else(|| context.config.home.join(OPERATOR_KEY), Path::to_owned);
        let hint = match named {
            Some(_) => "name a key that is there with --key FILE, or make one: cto key init",
            None => "cto key init",
        };
        Self::read(&path, context.output)?.ok_or_else(|| {
            CommandError::blocked_with(format!(
                "there is no key to sign with at {}",
                show_controls(&path.display().to_string())
            ))
            .hint(hint)
        })
    }

    /// Reads a key by either half; none if neither exists.
    fn read(path: &Path, output: Output) -> Result<Option<Self>, CommandError> {
        let (private, public) = halves_of(path);
        let refuse = |file: &Path| {
            let file = show_controls(&file.display().to_string());
            move |error: ReadSignerKeyError| refuse_key(&file, error)
        };
        let file = read_key_file(&private)?.map(|text| SignerKeyFile::parse_file(&text)).transpose();
        let (key, half) = match file.map_err(refuse(&private))? {
            Some(SignerKeyFile::Private { key, has_passphrase }) => (key, PrivateHalf::InFile { has_passphrase }),
            Some(SignerKeyFile::OlderPrivate { has_passphrase }) => {
                let key = read_public_half(&public)?.ok_or_else(|| lacks_public_half(&private))?;
                (key, PrivateHalf::InFile { has_passphrase })
            }
            // A public line under a name without `.pub`.
            Some(SignerKeyFile::Public { key, .. }) => (key, PrivateHalf::InAgent),
            None => match read_public_half(&public)? {
                Some(key) => (key, PrivateHalf::InAgent),
                None => return Ok(None),
            },
        };
        if matches!(half, PrivateHalf::InFile { .. }) {
            require_private(&private, Privacy::Secret)
                .map_err(|exposed| CommandError::blocked_with(&exposed).hint(exposed.remedy()))?;
        }
        let path = match half {
            PrivateHalf::InAgent if !private.exists() => public,
            _ => private,
        };
        Ok(Some(Self { key, path, private: half, output, is_unattended: false }))
    }

    /// The same key, for a server: signing asks nothing on the server's terminal, and fails
    /// where it would have to.
    pub(crate) fn unattended(self) -> Self {
        Self { is_unattended: true, ..self }
    }

    /// Public key.
    pub(crate) fn key(&self) -> &SignerKey {
        &self.key
    }

    /// `SHA256:<base64>`, as `ssh-keygen -l` prints it.
    pub(crate) fn fingerprint(&self) -> String {
        self.key.fingerprint()
    }

    /// Type of the key.
    pub(crate) fn kind(&self) -> SignerKeyKind {
        self.key.kind()
    }

    /// Path of the key file that `ssh-keygen` gets.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Way in which a signature is made.
    pub(crate) fn signed_via(&self) -> SignedVia {
        match self.private {
            _ if self.kind().is_hardware() => SignedVia::Hardware,
            PrivateHalf::InAgent => SignedVia::Agent,
            PrivateHalf::InFile { .. } => SignedVia::Terminal,
        }
    }

    /// True if the private half is in no file that this program could read: an agent or a
    /// security key has it.
    pub(crate) fn is_held_by_agent(&self) -> bool {
        self.private == PrivateHalf::InAgent || self.kind().is_hardware()
    }

    /// True if reading the file is enough to sign: no passphrase, and no security key that
    /// would have to be touched.
    pub(crate) fn is_unprotected(&self) -> bool {
        self.private == PrivateHalf::InFile { has_passphrase: false } && !self.kind().is_hardware()
    }

    /// Signs bytes for a namespace. The armoured signature holds: it is of these bytes, for
    /// this namespace, by this key.
    pub(crate) fn sign_bytes(&self, bytes: &[u8], namespace: &str) -> Result<String, CommandError> {
        // Private: nobody else exchanges the bytes between our writing and the program's
        // reading.
        let folder =
            tempfile::Builder::new().prefix("cto-sign-").permissions(Permissions::from_mode(0o700)).tempdir()?;
        let file = folder.path().join("document");
        fs::write(&file, bytes)?;
        if self.kind().is_hardware() && !self.output.quiet && !self.is_unattended {
            self.output.print_note("touch the security key when it asks\n");
        }
        let ran = self.run_keygen(&file, namespace)?;
        if !ran.status.success() {
            return Err(self.explain_failure(ran.status.signal(), &String::from_utf8_lossy(&ran.stderr)));
        }
        let armoured = read_bounded(&folder.path().join("document.sig"))?;
        let signature = verify_signature(&armoured, bytes, namespace).map_err(|error| {
            CommandError::fail(format!("the signature that ssh-keygen made does not hold: {error}"))
        })?;
        if signature.key() != &self.key {
            let text = format!("ssh-keygen signed with {}, not with {}", signature.fingerprint(), self.fingerprint());
            return Err(CommandError::fail(text).hint("name the key's private half with --key FILE"));
        }
        Ok(armoured)
    }

    /// The passphrase is asked for on the terminal by ssh-keygen itself and passes through
    /// nothing of ours.
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator's own program, run for the operator, outside every run"
    )]
    fn run_keygen(&self, file: &Path, namespace: &str) -> Result<std::process::Output, CommandError> {
        let asks = io::stdin().is_terminal() && !self.is_unattended;
        let mut command = Command::new("ssh-keygen");
        command
            .args(["-q", "-Y", "sign", "-n", namespace, "-f"])
            .arg(std::path::absolute(&self.path)?)
            .arg(file)
            .stdin(if asks { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if self.is_unattended {
            // ssh-keygen opens the controlling terminal by itself, whatever its stdin is. A
            // program that answers nothing takes the place of every question.
            command.env("SSH_ASKPASS_REQUIRE", "force").env("SSH_ASKPASS", "false");
            // A group of its own, so that its helper for security keys ends with it.
            command.process_group(0);
        }
        let child = command.spawn().map_err(|error| {
            CommandError::blocked_with(format!("ssh-keygen cannot be run: {error}")).hint("install the OpenSSH client")
        })?;
        if self.is_unattended { wait_bounded(child) } else { Ok(child.wait_with_output()?) }
    }

    fn explain_failure(&self, signal: Option<i32>, said: &str) -> CommandError {
        let path = show_controls(&self.path.display().to_string());
        if signal.is_some() {
            return CommandError::blocked_with("signing was interrupted; nothing was signed");
        }
        if said.contains("incorrect passphrase") || said.contains("bad passphrase") {
            let text = format!("the passphrase of {path} is not the right one, or there is no terminal to ask for it");
            return CommandError::blocked_with(text).hint(format!("try again, or: ssh-add {path}"));
        }
        if self.private == PrivateHalf::InAgent {
            let text = format!("the agent does not have {}, and {path} is only its public half", self.fingerprint());
            return CommandError::blocked_with(text).hint("ssh-add FILE, then run the command again");
        }
        let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing");
        CommandError::blocked_with(format!("ssh-keygen did not sign with {path}: {}", show_controls(said)))
            .hint("cto key show")
    }
}

/// Waits for a program that signs, and ends it with its group when the time is over.
fn wait_bounded(mut child: Child) -> Result<std::process::Output, CommandError> {
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() >= SIGN_WITHIN {
            let group = rustix::process::Pid::from_child(&child);
            // A group that has just ended is gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            child.wait()?;
            let text = format!("the key did not sign within {} seconds; nothing was signed", SIGN_WITHIN.as_secs());
            return Err(CommandError::blocked_with(text).hint("ssh-add -l"));
        }
        std::thread::sleep(LOOK);
    }
    Ok(child.wait_with_output()?)
}

/// The files of the private and the public half of a key that is named by either.
fn halves_of(path: &Path) -> (PathBuf, PathBuf) {
    if path.extension().is_some_and(|ending| ending == "pub") {
        return (path.with_extension(""), path.to_owned());
    }
    let mut public = path.as_os_str().to_owned();
    public.push(".pub");
    (path.to_owned(), public.into())
}

fn read_public_half(file: &Path) -> Result<Option<SignerKey>, CommandError> {
    let Some(text) = read_key_file(file)? else { return Ok(None) };
    let name = show_controls(&file.display().to_string());
    match SignerKeyFile::parse_file(&text).map_err(|error| refuse_key(&name, error))? {
        SignerKeyFile::Public { key, .. } => Ok(Some(key)),
        _ => Err(CommandError::usage(format!("{name} is a private key, not a public one"))),
    }
}

fn lacks_public_half(private: &Path) -> CommandError {
    let path = show_controls(&private.display().to_string());
    CommandError::blocked_with(format!("{path} is in an older format, and its public half is not beside it"))
        .hint(format!("ssh-keygen -y -f {path} > {path}.pub"))
}

/// Error for a file that holds no key with which anybody may sign.
pub(crate) fn refuse_key(file: &str, error: ReadSignerKeyError) -> CommandError {
    let text = match error {
        ReadSignerKeyError::Shape => format!("{file} holds no key of OpenSSH"),
        ReadSignerKeyError::Kind => format!("{file} holds a certificate or a kind of key that does not count"),
        ReadSignerKeyError::RsaBits { bits } => {
            let (least, most) = (evidence::signer_key::LEAST_RSA_BITS, evidence::signer_key::MOST_RSA_BITS);
            format!("{file} holds an RSA key of {bits} bits; {least} to {most} count")
        }
    };
    CommandError::usage(text).hint("make one that counts: ssh-keygen -t ed25519, or cto key init")
}

/// Text of a key file; none where there is no file.
pub(crate) fn read_key_file(file: &Path) -> Result<Option<String>, CommandError> {
    match read_bounded(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(CommandError::blocked_with(format!("cannot read {}: {error}", file.display()))),
    }
}

fn read_bounded(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(LARGEST_FILE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
