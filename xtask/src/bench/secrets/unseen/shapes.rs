//! Shapes that vendors publish: a name, and the parts in which a secret of theirs is written.

use super::Sample;
use super::random::Random;

/// Number of samples of each shape, each with other words around it.
const VARIANTS: usize = 4;

/// Samples of every published shape.
pub(super) fn shape_samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for variant in 0..VARIANTS {
        for (name, template) in SHAPES {
            let secret = secret(random, template);
            let text = carried(random, variant, &secret);
            samples.push(Sample { name: (*name).to_owned(), text });
        }
    }
    samples
}

/// One of the shapes, whichever.
pub(super) fn any_secret(random: &mut Random) -> (&'static str, String) {
    let (name, template) = SHAPES[random.number_below(SHAPES.len())];
    (name, secret(random, template))
}

/// A tilde keeps a template from being taken for a secret.
fn secret(random: &mut Random, template: &str) -> String {
    random.fill_template(&template.replacen('~', "", usize::from(template.as_bytes().get(2) == Some(&b'~'))))
}

fn carried(random: &mut Random, variant: usize, secret: &str) -> String {
    let id = random.number_below(9000);
    match (variant + id) % 9 {
        0 => format!("[upstream]\nregion = eu-central-1\nvalue = {secret}\n"),
        1 => format!("2026-11-16T08:00:{:02}Z WARN http: retry {id} with {secret} after 503\n", id % 60),
        2 => format!("{{\"id\": {id}, \"upstream\": \"{secret}\", \"ok\": true}}\n"),
        3 => format!("const upstream = '{secret}';\nexport default upstream;\n"),
        4 => format!("services:\n  worker:\n    environment:\n      UPSTREAM: \"{secret}\"\n"),
        5 => format!("$ ./deploy --to prod {secret}\ndeployed in {id} ms\n"),
        6 => format!("+  client = connect(\"{secret}\")\n   client.ping()\n"),
        7 => format!("Please use {secret} until Friday, then tell me.\n"),
        _ => format!("https://api.internal/v1/items?page=2&k={secret}\n"),
    }
}

#[rustfmt::skip]
const SHAPES: &[(&str, &str)] = &[
    ("aws access key id", "AK~IA{T16}"),
    ("aws temporary key id", "AS~IA{T16}"),
    ("bedrock key", "AB~SK{B128}"),
    ("google api key", "AI~zaSy{W33}"),
    ("google oauth secret", "GO~CSPX-{W28}"),
    ("google access token", "ya~29.a0{W160}"),
    ("azure client secret", "{A3}8Q~{A34}"),
    ("azure storage", "Ac~countKey={B86}=="),
    ("alibaba key id", "LT~AI5t{A18}"),
    ("tencent secret id", "AK~ID{A32}"),
    ("yandex api key", "AQ~VN{W35}"),
    ("scaleway access key", "SC~W{U17}"),
    ("digitalocean token", "do~p_v1_{H64}"),
    ("digitalocean refresh", "do~r_v1_{H64}"),
    ("heroku key", "HR~KU-AA{W58}"),
    ("fly token", "fo~1_{W43}"),
    ("netlify token", "nf~p_{A36}"),
    ("render key", "rn~d_{A28}"),
    ("vercel token", "vc~p_{A56}"),
    ("supabase token", "sb~p_{H40}"),
    ("supabase secret", "sb~_secret_{W31}"),
    ("neon key", "na~pi_{L64}"),
    ("planetscale password", "ps~cale_pw_{W43}"),
    ("databricks token", "da~pi{H32}"),
    ("cloudflare origin ca", "v1~.0-{H24}-{H146}"),
    ("tailscale auth key", "ts~key-auth-{A9}CNTRL-{A32}"),
    ("tailscale api key", "ts~key-api-{A9}CNTRL-{A32}"),
    ("doppler token", "dp~.pt.{A43}"),
    ("doppler service token", "dp~.st.prd.{A43}"),
    ("terraform cloud", "{A14}.atlasv1.{A67}"),
    ("vault token", "hv~s.{A96}"),
    ("vault batch token", "hv~b.{A138}"),
    ("pulumi token", "pu~l-{H40}"),
    ("grafana service account", "gl~sa_{A32}_{H8}"),
    ("grafana cloud", "gl~c_eyJ{A90}"),
    ("sentry user token", "sn~tryu_{H64}"),
    ("sentry org token", "sn~trys_eyJ{A120}_{A43}"),
    ("new relic user key", "NR~AK-{U27}"),
    ("dynatrace", "dt~0c01.{T24}.{T64}"),
    ("honeycomb ingest", "hc~aik_{L58}"),
    ("launchdarkly", "sd~k-{H8}-{H4}-4{H3}-a{H3}-{H12}"),
    ("posthog personal", "ph~x_{A47}"),
    ("github classic", "gh~p_{A36}"),
    ("github oauth", "gh~o_{A36}"),
    ("github server", "gh~s_{A36}"),
    ("github fine-grained", "gi~thub_pat_{A22}_{A59}"),
    ("gitlab personal", "gl~pat-{W20}"),
    ("gitlab runner", "gl~rt-{W20}"),
    ("gitlab deploy", "gl~dt-{W20}"),
    ("atlassian token", "AT~ATT3xFfGF0{W180}={U8}"),
    ("bitbucket app password", "AT~BB{A32}"),
    ("npm token", "np~m_{A36}"),
    ("pypi token", "py~pi-AgEIcHlwaS5vcmc{W140}"),
    ("rubygems", "ru~bygems_{H48}"),
    ("crates.io", "ci~o{A32}"),
    ("nuget", "oy~2{L43}"),
    ("docker hub", "dc~kr_pat_{W27}"),
    ("jfrog", "AK~Cp{A69}"),
    ("circleci", "CC~IPAT_{A22}_{H40}"),
    ("buildkite", "bk~ua_{H40}"),
    ("sonarqube", "sq~u_{H40}"),
    ("postman", "PM~AK-{H24}-{H34}"),
    ("openai project", "sk~-proj-{W74}T3BlbkFJ{W74}"),
    ("openai legacy", "sk~-{A20}T3BlbkFJ{A20}"),
    ("anthropic", "sk~-ant-api03-{W93}AA"),
    ("hugging face", "hf~_{A34}"),
    ("replicate", "r8~_{A37}"),
    ("groq", "gs~k_{A52}"),
    ("xai", "xa~i-{A80}"),
    ("perplexity", "pp~lx-{A48}"),
    ("openrouter", "sk~-or-v1-{H64}"),
    ("deepseek", "sk~-{H32}"),
    ("cerebras", "cs~k-{L48}"),
    ("fireworks", "fw~_{A24}"),
    ("langfuse", "sk~-lf-{G}"),
    ("langsmith", "ls~v2_pt_{H32}_{H10}"),
    ("pinecone", "pc~sk_{A5}_{A63}"),
    ("elevenlabs", "sk~_{H48}"),
    ("together", "tg~p_v1_{W43}"),
    ("nvidia", "nv~api-{W64}"),
    ("tavily", "tv~ly-{A32}"),
    ("jina", "ji~na_{A60}"),
    ("stripe live", "sk~_live_{A24}"),
    ("stripe restricted", "rk~_live_{A24}"),
    ("stripe webhook", "wh~sec_{A32}"),
    ("square access", "sq~0atp-{W22}"),
    ("square secret", "sq~0csp-{W43}"),
    ("shopify admin", "sh~pat_{H32}"),
    ("shopify shared", "sh~pss_{H32}"),
    ("razorpay live", "rz~p_live_{A14}"),
    ("paddle", "pd~l_live_apikey_{L26}_{A22}_{A3}"),
    ("plaid", "ac~cess-production-{G}"),
    ("flutterwave", "FL~WSECK-{H32}-X"),
    ("slack bot", "xo~xb-{D12}-{D13}-{A24}"),
    ("slack user", "xo~xp-{D12}-{D12}-{D13}-{H32}"),
    ("slack app", "xa~pp-1-A{U10}-{D13}-{H64}"),
    ("slack webhook", "ht~tps://hooks.slack.com/services/T{U10}/B{U10}/{A24}"),
    ("discord webhook", "ht~tps://discord.com/api/webhooks/1{D18}/{W68}"),
    ("telegram bot", "1{~D9}:AA{W33}"),
    ("sendgrid", "SG~.{W22}.{W43}"),
    ("mailgun", "ke~y-{H32}"),
    ("mailchimp", "{H32}-us14"),
    ("brevo", "xk~eysib-{H64}-{A16}"),
    ("resend", "re~_{A8}_{A24}"),
    ("airtable", "pa~t{A14}.{H64}"),
    ("asana", "1/~1{D15}:{H32}"),
    ("linear", "li~n_api_{A40}"),
    ("notion", "nt~n_{D11}{A35}"),
    ("figma", "fi~gd_{W40}"),
    ("contentful", "CF~PAT-{W43}"),
    ("hubspot", "pa~t-na1-{G}"),
    ("dropbox", "sl~.u.{W140}"),
    ("trello", "AT~TA{H64}"),
    ("typeform", "tf~p_{A44}"),
    ("zapier hook", "ht~tps://hooks.zapier.com/hooks/catch/{D7}/{L7}"),
    ("1password service", "op~s_eyJ{A240}"),
    ("age key", "AG~E-SECRET-KEY-1{U58}"),
    ("mongodb atlas", "md~b_sa_sk_{W40}"),
    ("prefect", "pn~u_{A36}"),
    ("readme", "rd~me_{L70}"),
    ("shippo", "sh~ippo_live_{H40}"),
    ("easypost", "EZ~AK{A54}"),
    ("duffel", "du~ffel_live_{W43}"),
    ("clickup", "pk~_{D8}_{U32}"),
    ("sourcegraph", "sg~p_{H40}"),
    ("openshift", "sh~a256~{W43}"),
    ("appsync", "da~2-{L26}"),
];
