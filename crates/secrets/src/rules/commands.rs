//! Passwords on command lines and in statements of databases.

use crate::rule::{After, MatchCheck, PrecedingByte, RULE, SecretRule};

/// Separator of words on a command line: blanks, and a line break with a backslash before
/// it.
macro_rules! gap {
    () => {
        r"(?:[ \t]|\\\r?\n)+"
    };
}

/// Words that are no option, each with the gap after it.
macro_rules! words {
    () => {
        concat!(r"(?:[^\s\\-][^\s\\]*", gap!(), ")*")
    };
}

/// All words up to an option of this letter. Each character leaves one way to go on.
macro_rules! up_to {
    ($letter:literal) => {
        concat!(gap!(), words!(), r"-(?:[^\s\\", $letter, r"][^\s\\]*", gap!(), words!(), "-)*", $letter)
    };
}

/// The password itself: nothing that a shell fills in.
macro_rules! password {
    () => {
        r#"["']?([^\s"'`$<>{}()|&;\\%=-][^\s"'`$<>{}()|&;\\]{5,100})"#
    };
}

const COMMAND: SecretRule =
    SecretRule { after: After::NoCall, check: MatchCheck::UrlPassword, general: true, span: 320, ..RULE };

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "login-command",
        what: "Password after -p of a program that logs in",
        literals: &[
            "docker login",
            "podman login",
            "buildah login",
            "skopeo login",
            "registry login",
            "auth login",
            "az login",
            "cf login",
            "oc login",
            "sshpass",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoimport",
            "mongo ",
            "cqlsh",
            "kinit",
            "plink",
            "pscp",
            "influx",
        ],
        pattern: concat!("[a-z]+", up_to!("p"), "[ =]{0,3}", password!()),
        yes: &[
            &["docker login -u robot -", "p q7Xv0ZrT2mB9 registry.example.org"],
            &["sshpass -", "p 'q7Xv0!ZrT2' ssh root@host"],
            &["mongosh --host db -u app -", "pq7Xv0ZrT2mB9"],
        ],
        no: &[
            &["docker login -u robot --password-stdin"],
            &["docker login -u robot -p $TOKEN"],
            &["sshpass -p <password> ssh host"],
        ],
        ..COMMAND
    },
    SecretRule {
        id: "mysql-command",
        what: "Password after -p of a MySQL program",
        literals: &["mysql ", "mysqldump ", "mysqladmin ", "mysqlimport ", "mysqlsh ", "mariadb ", "mariadb-dump "],
        pattern: concat!("m(?:ysql|ariadb)[a-z-]*", up_to!("p"), password!()),
        yes: &[&["mysql -h db -u app -", "pq7Xv0ZrT2mB9 orders"], &["mysqldump -", "p'q7Xv0!ZrT2' --all-databases"]],
        no: &[&["mysql -u root -p orders2024db"], &["mysql -u root -p$MYSQL_PWD"], &["mysql -P 3306 -u root"]],
        ..COMMAND
    },
    SecretRule {
        id: "redis-command",
        what: "Password after -a of redis-cli",
        literals: &["redis-cli"],
        pattern: concat!("redis-cli", up_to!("a"), "[ =]{0,3}", password!()),
        yes: &[&["redis-cli -h cache -", "a q7Xv0ZrT2mB9 ping"]],
        no: &[&["redis-cli -a $REDIS_PASSWORD ping"], &["redis-cli -h cache ping"]],
        ..COMMAND
    },
    SecretRule {
        id: "ldap-command",
        what: "Password after -w of an LDAP program",
        literals: &["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ldapwhoami"],
        pattern: concat!("ldap[a-z]+", up_to!("w"), "[ =]{0,3}", password!()),
        yes: &[&["ldapsearch -x -D cn=admin -", "w q7Xv0ZrT2mB9 -b dc=example"]],
        no: &[&["ldapsearch -x -W -D cn=admin"], &["ldapsearch -w $LDAP_PASSWORD"]],
        ..COMMAND
    },
    SecretRule {
        id: "archive-command",
        what: "Password after -P of sqlcmd, zip or unzip",
        literals: &["sqlcmd ", "unzip ", "zip -", "bcp "],
        pattern: concat!("[a-z]+", up_to!("P"), "[ =]{0,3}", password!()),
        yes: &[&["sqlcmd -S db -U sa -", "P q7Xv0ZrT2mB9 -Q 'select 1'"], &["zip -r -", "P q7Xv0ZrT2mB9 out.zip dir"]],
        no: &[&["sqlcmd -S db -U sa -P $(cat pw)"], &["unzip -q file.zip"]],
        ..COMMAND
    },
    SecretRule {
        id: "htpasswd-command",
        what: "Password that htpasswd is given",
        literals: &["htpasswd -"],
        pattern: concat!(
            r"htpasswd -(?:[A-Za-mo-z0-9]*[ \t]+(?:-[A-Za-z0-9]+[ \t]+)*[^\s-][^\s]*[ \t]+|[A-Za-mo-z0-9]*n[A-Za-z0-9]*[ \t]+(?:-[A-Za-z0-9]+[ \t]+)*)[^\s-][^\s]*[ \t]+",
            password!()
        ),
        yes: &[&["htpasswd -bc .htpasswd robot ", "q7Xv0ZrT2mB9"], &["htpasswd -nbB robot ", "q7Xv0ZrT2mB9"]],
        no: &[&["htpasswd -c .htpasswd robot"], &["htpasswd -nb robot $PASSWORD"]],
        ..COMMAND
    },
    SecretRule {
        id: "openssl-password",
        what: "Password of a key on a command line",
        literals: &[" pass:", "-storepass ", "-keypass ", "-srcstorepass ", "-deststorepass "],
        pattern: concat!("(?: pass:|-(?:store|key|srcstore|deststore)pass )", password!()),
        before: PrecedingByte::Anything,
        yes: &[
            &["openssl rsa -in k.pem -passin pa", "ss:q7Xv0ZrT2mB9"],
            &["keytool -list -store", "pass q7Xv0ZrT2mB9"],
        ],
        no: &[&["openssl rsa -passin pass:$PASS"], &["keytool -storepass changeit1"]],
        ..COMMAND
    },
    SecretRule {
        id: "archiver-command",
        what: "Password after -p of 7z",
        literals: &["7z a ", "7z x ", "7za a ", "7za x "],
        pattern: concat!("7za?", up_to!("p"), password!()),
        yes: &[&["7z a -", "pq7Xv0ZrT2mB9 out.7z dir"]],
        no: &[&["7z x archive.7z -o/tmp/out1"]],
        ..COMMAND
    },
    SecretRule {
        id: "ssh-keygen-command",
        what: "Passphrase after -N of ssh-keygen",
        literals: &["ssh-keygen"],
        pattern: concat!("ssh-keygen", up_to!("N"), "[ ]{0,3}", password!()),
        yes: &[&["ssh-keygen -t ed25519 -", "N q7Xv0ZrT2mB9 -f key"]],
        no: &[&["ssh-keygen -t ed25519 -N '' -f key"]],
        ..COMMAND
    },
    SecretRule {
        id: "user-command",
        what: "Password of an account that a command makes",
        literals: &["add_user ", "change_password ", "net user "],
        pattern: concat!(r"(?:add_user|change_password|net user)[ \t]+[^\s-][^\s]*[ \t]+", password!()),
        yes: &[&["rabbitmqctl add_", "user robot q7Xv0ZrT2mB9"], &["net us", "er robot q7Xv0ZrT2mB9 /add"]],
        no: &[&["rabbitmqctl add_user robot $PASSWORD"]],
        ..COMMAND
    },
    SecretRule {
        id: "windows-option",
        what: "Password of a Windows program",
        literals: &[" /p:", " /password:", "ConvertTo-SecureString "],
        pattern: concat!("(?: /p(?:assword)?:|ConvertTo-SecureString (?:-String )?)", password!()),
        before: PrecedingByte::Anything,
        yes: &[
            &["xfreerdp /u:robot /", "p:q7Xv0ZrT2mB9 /v:host"],
            &["ConvertTo-Secure", "String 'q7Xv0!ZrT2mB9' -AsPlainText"],
        ],
        no: &[&["xfreerdp /u:robot /p:$PASS"], &["msbuild app.sln /p:Configuration=Release"]],
        ..COMMAND
    },
    SecretRule {
        id: "smb-command",
        what: "Name and password of an SMB program",
        literals: &[" -U "],
        pattern: r#" -U ["']?[^\s%"'$]{1,64}%([^\s"'$<>{}]{6,100})"#,
        before: PrecedingByte::Anything,
        yes: &[&["smbclient //host/share -", "U robot%q7Xv0ZrT2mB9"]],
        no: &[&["psql -U postgres -h db"], &["smbclient -U robot%$PASS //host/share"]],
        ..COMMAND
    },
    SecretRule {
        id: "named-option",
        what: "Secret after a long option whose name ends in one",
        literals: &[
            "-password ",
            "-passwd ",
            "-passphrase ",
            "-token ",
            "-secret ",
            "-api-key ",
            "-apikey ",
            "-access-key ",
            "_password ",
            "-auth-key ",
            "-authkey ",
            "-secret-key ",
            "-client-secret ",
        ],
        fold: true,
        pattern: concat!(
            "[-_](?:pass(?:w(?:or)?d|phrase)|token|a(?:pi-?key|uth-?key|ccess-key)|client-secret|secret(?:-key)?) {1,3}",
            password!()
        ),
        before: PrecedingByte::Anything,
        check: MatchCheck::Password,
        yes: &[&["tool --db-pass", "word q7Xv0ZrT2mB9 --port 1"], &["up --auth-", "key q7Xv0ZrT2mB9cKfW4hNj"]],
        no: &[
            &["tool --db-password file:/run/db1"],
            &["a one-time-password is sent"],
            &["--registration-token <TOKEN>"],
        ],
        ..COMMAND
    },
    SecretRule {
        id: "piped-password",
        what: "Password that echo hands to chpasswd or sudo",
        literals: &["echo "],
        pattern: r#"echo ["']?([^\s"'$<>{}|]{6,96})["']?\s{0,3}\|\s{0,3}(?:sudo (?:-S|chpasswd)|chpasswd|passwd --stdin|docker login)"#,
        yes: &[&["echo 'root:q7Xv0", "!ZrT2mB9' | chpasswd"], &["echo q7Xv0ZrT", "2mB9 | sudo -S apt update"]],
        no: &[&["echo \"root:$PASSWORD\" | chpasswd"], &["echo done | tee log"]],
        ..COMMAND
    },
    SecretRule {
        id: "sql-password",
        what: "Password in a statement that makes or changes a user",
        literals: &["identified by", "password '", "password('", "password \"", "password by '"],
        fold: true,
        pattern: r#"(?:identified by|password)[ (\t\r\n]{0,3}(?:by[ \t]{1,3})?["']([^"'\s]{6,100})["']"#,
        before: PrecedingByte::Anything,
        yes: &[
            &["CREATE USER app IDENTI", "FIED BY 'q7Xv0ZrT2mB9';"],
            &["ALTER ROLE app WITH PASS", "WORD 'q7Xv0ZrT2mB9';"],
            &["ALTER USER app IDENTIFIED WITH caching_sha2_pass", "word BY 'q7Xv0ZrT2mB9'"],
        ],
        no: &[
            &["CREATE USER app IDENTIFIED BY '<password>'"],
            &["prompt for a password 'quietly'"],
            &["the space required by 'FSE_DTable1'"],
        ],
        ..COMMAND
    },
];
