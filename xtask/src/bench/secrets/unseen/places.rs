//! Passwords and keys that only their name or their place gives away.

use super::Sample;
use super::random::Random;

const VARIANTS: usize = 4;

/// Samples of every place, each with random values.
pub(super) fn place_samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for _ in 0..VARIANTS {
        for (name, template) in PLACES {
            let text = format!("# settings of the service\n{}\nend = true\n", random.fill_template(template));
            samples.push(Sample { name: (*name).to_owned(), text });
        }
    }
    samples
}

#[rustfmt::skip]
const PLACES: &[(&str, &str)] = &[
    ("env file", "DB_PASSWORD={P}"),
    ("env with environment", "DB_PASSWORD_PROD={P}"),
    ("export", "export SERVICE_TOKEN={A32}"),
    ("quoted export", "export INTERNAL_API_KEY=\"{A40}\""),
    ("yaml", "database:\n  user: app\n  password: \"{P}\""),
    ("yaml api key", "mail:\n  api_key: {H32}"),
    ("json", "{\"user\": \"app\", \"password\": \"{P}\"}"),
    ("json token", "{\"access_token\": \"{W43}\", \"expires_in\": 3600}"),
    ("toml", "[auth]\nclient_secret = \"{W40}\""),
    ("ini", "[smtp]\nuser = robot\npassword = {P}"),
    ("properties", "spring.datasource.password={P}"),
    ("xml element", "<smtp><user>robot</user><password>{P}</password></smtp>"),
    ("xml attribute", "<add key=\"SmtpPassword\" value=\"{P}\" />"),
    ("python", "password = '{P}'"),
    ("python environ", "os.environ['API_TOKEN'] = '{A36}'"),
    ("javascript", "const apiKey = \"{A32}\";"),
    ("go", "secretKey := \"{A40}\""),
    ("java", "private static final String PASSWORD = \"{P}\";"),
    ("php", "'db_password' => '{P}',"),
    ("ruby", "config.secret_key_base = '{H128}'"),
    ("setter", "client.setApiKey(\"{A32}\"); // api_key: \"{A32}\""),
    ("connection string", "Server=db;Database=app;User Id=app;Password={P};"),
    ("ado connection string", "Server=db;Uid=app;Pwd={P};"),
    ("database url", "DATABASE_URL=postgres://app:{A14}@db.internal:5432/app"),
    ("redis url", "redis://:{A20}@cache.internal:6379/0"),
    ("url with password", "git clone https://robot:{A16}@git.internal/app.git"),
    ("bearer header", "Authorization: Bearer {W48}"),
    ("token header", "curl -H 'Authorization: token {H40}' https://api.internal"),
    ("api key header", "X-Api-Key: {A32}"),
    ("basic header", "Authorization: Basic cm9ib3Q6cTdYdjBaclQybUI5"),
    ("cookie", "Set-Cookie: sid={A40}; Path=/; HttpOnly"),
    ("curl user", "curl -u robot:{P} https://api.internal"),
    ("mysql", "mysql -h db -u app -p{A12} orders"),
    ("docker login", "docker login -u robot -p {A16} registry.internal"),
    ("sshpass", "sshpass -p '{P}' ssh robot@host"),
    ("redis-cli", "redis-cli -h cache -a {A16} ping"),
    ("psql", "PGPASSWORD={P} psql -h db -U app"),
    ("ldapsearch", "ldapsearch -x -D cn=robot -w {A14} -b dc=internal"),
    ("htpasswd", "htpasswd -bc .htpasswd robot {A14}"),
    ("long option", "backup --db-password {A14} --to s3"),
    ("mysql option", "mysqldump --password={P} --all-databases"),
    ("openssl", "openssl rsa -in k.pem -passin pass:{A14}"),
    ("sql create user", "CREATE USER 'app'@'%' IDENTIFIED BY '{P}';"),
    ("sql alter role", "ALTER ROLE app WITH LOGIN PASSWORD '{P}';"),
    ("kubernetes env", "env:\n  - name: DB_PASSWORD\n    value: {P}"),
    ("task definition", "{\"name\": \"API_TOKEN\", \"value\": \"{A32}\"}"),
    ("terraform", "variable \"db_password\" {\n  type    = string\n  default = \"{P}\"\n}"),
    ("tfvars", "db_password = \"{P}\""),
    ("netrc", "machine api.internal login robot password {P}"),
    ("npmrc", "//registry.internal/:_authToken={A36}"),
    ("docker config", "{\"auths\": {\"r.internal\": {\"auth\": \"cm9ib3Q6cTdYdjBaclQybUI5\"}}}"),
    ("aws secret", "aws_secret_access_key = {B40}"),
    ("twilio", "TWILIO_AUTH_TOKEN={H32}"),
    ("datadog", "DD_API_KEY={H32}"),
    ("mistral", "MISTRAL_API_KEY={A32}"),
    ("auth0", "AUTH0_CLIENT_SECRET={W64}"),
    ("algolia", "ALGOLIA_ADMIN_KEY={H32}"),
    ("okta", "OKTA_API_TOKEN=00{W40}"),
    ("hetzner", "HCLOUD_TOKEN={A64}"),
    ("linode", "LINODE_TOKEN={H64}"),
    ("snyk", "SNYK_TOKEN={G}"),
    ("postmark", "X-Postmark-Server-Token: {G}"),
    ("requests", "requests.get(url, auth=('robot', '{A14}'))"),
    ("wireguard", "[Interface]\nPrivateKey = {B43}="),
];
