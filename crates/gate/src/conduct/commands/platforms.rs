//! Places where programs run for others, and the keys to them.

use super::{CREDENTIALS, CommandRow, Counts, DEPLOY, PR_OPEN, PUBLISH, ToolRow};

/// Commands of platforms that deploy.
pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        names: &["kubectl", "oc"],
        valued: &["-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--cluster", "--user", "--as"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &[
                    "apply/create/replace/patch/delete/set/scale/edit/expose/run/annotate/label/drain/cordon/new-app",
                    "rollout restart/undo/pause/resume",
                ],
                takes: &["kubectl -n a apply -f b", "kubectl delete pod a", "kubectl apply -f a --dry-run=none"],
                passes_over: &[
                    "kubectl get pods",
                    "kubectl rollout status a",
                    "kubectl apply -f a --dry-run=client",
                    "kubectl -n delete get pods",
                ],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout", "config set-credentials/delete-user *"],
                takes: &["kubectl config set-credentials a"],
                passes_over: &["kubectl config view"],
            },
        ],
    },
    ToolRow {
        names: &["helm"],
        valued: &["-n", "--namespace", "--kube-context", "--kubeconfig", "--version"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &["install/upgrade/rollback/uninstall/delete"],
                takes: &[
                    "helm -n a upgrade --install b c",
                    "helm install --version 1 a b",
                    "helm upgrade --version",
                    "helm --version 1 install a b",
                ],
                passes_over: &["helm template a", "helm lint a", "helm upgrade a b --dry-run"],
            },
            CommandRow {
                counts: PUBLISH,
                patterns: &["push"],
                takes: &["helm push a oci://b"],
                passes_over: &["helm pull a"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["registry login/logout"],
                takes: &["helm registry login a"],
                passes_over: &["helm repo list"],
            },
        ],
    },
    ToolRow {
        names: &["terraform", "tofu", "terragrunt", "pulumi"],
        valued: &["-C", "--cwd", "-s", "--stack"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &["apply/destroy/import/up/update/refresh"],
                takes: &["terraform -chdir=a apply -auto-approve", "pulumi --cwd a up"],
                passes_over: &["terraform plan", "terraform validate", "pulumi preview", "terraform apply -help"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout"],
                takes: &["terraform login"],
                passes_over: &["terraform init"],
            },
        ],
    },
    ToolRow {
        names: &[
            "serverless",
            "sls",
            "sam",
            "cdk",
            "netlify",
            "wrangler",
            "firebase",
            "fly",
            "flyctl",
            "railway",
            "kamal",
            "skaffold",
        ],
        valued: &["-a", "--app", "-c", "--config", "-e", "--env", "--stage", "-P", "--project"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &["deploy/destroy/launch/up/rollback/redeploy", "publish/remove"],
                takes: &["fly -a b deploy", "netlify deploy --prod", "sls deploy"],
                passes_over: &["cdk synth", "wrangler dev", "fly status", "sam build"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &[
                    "login/logout",
                    "auth login/logout/token",
                    "login:ci",
                    "secret/secrets set/put/unset/delete",
                ],
                takes: &["fly auth login", "wrangler secret put a"],
                passes_over: &["fly auth whoami"],
            },
        ],
    },
    ToolRow {
        names: &["vercel"],
        valued: &["-t", "--token", "-S", "--scope", "--cwd"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &["", "deploy/promote/rollback/redeploy/alias/remove", "--prod"],
                takes: &["vercel", "vercel --yes", "vercel . --prod", "vercel --cwd a deploy"],
                passes_over: &["vercel dev", "vercel build", "vercel --version"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout", "env add/rm"],
                takes: &["vercel login"],
                passes_over: &["vercel env ls"],
            },
        ],
    },
    ToolRow {
        names: &["heroku"],
        valued: &["-a", "--app", "-r", "--remote"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &["container:push/container:release/releases:rollback/pipelines:promote/create/apps:create"],
                takes: &["heroku -a b container:release web"],
                passes_over: &["heroku logs", "heroku local"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout/auth:login/auth:logout/auth:token/keys:add/config:set/config:unset"],
                takes: &["heroku config:set A=b"],
                passes_over: &["heroku config", "heroku auth:whoami"],
            },
        ],
    },
    ToolRow {
        names: &["argocd", "nomad"],
        valued: &[],
        otherwise: None,
        commands: &[CommandRow {
            counts: DEPLOY,
            patterns: &["app sync/set/create/delete/rollback", "job run/stop"],
            takes: &["argocd app sync a", "nomad job run a"],
            passes_over: &["argocd app list", "nomad job plan a"],
        }],
    },
    ToolRow {
        names: &["aws"],
        valued: &["--profile", "--region", "--output", "--endpoint-url"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: Counts::Note,
                patterns: &["configure list/list-profiles/get"],
                takes: &["aws --profile a configure list"],
                passes_over: &["aws configure", "aws configure set a b"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &[
                    "configure",
                    "sso login/logout",
                    "iam create-access-key/update-access-key/delete-access-key",
                ],
                takes: &["aws configure set aws_access_key_id a"],
                passes_over: &["aws sts get-caller-identity"],
            },
            CommandRow {
                counts: DEPLOY,
                patterns: &[
                    "cloudformation deploy/create-stack/update-stack/delete-stack",
                    "ecs update-service/create-service/delete-service",
                    "lambda create-function/update-function-code/delete-function",
                    "deploy create-deployment",
                    "elasticbeanstalk create-environment/update-environment",
                    "s3 cp/mv/sync * s3:*",
                    "s3 rm/rb",
                ],
                takes: &["aws s3 sync b s3://c", "aws --region a s3 rm b", "aws cloudformation deploy"],
                passes_over: &["aws s3 cp s3://a b", "aws s3 ls", "aws s3 rm s3://a --dryrun"],
            },
        ],
    },
    ToolRow {
        names: &["gcloud", "az"],
        valued: &["--project", "--account", "--configuration", "--subscription"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: DEPLOY,
                patterns: &[
                    "app/run/functions deploy",
                    "builds submit",
                    "deploy releases create/promote",
                    "webapp/functionapp/containerapp up/deploy/create/update/deployment",
                    "deployment group/sub/mg/tenant create",
                ],
                takes: &["gcloud --project a run deploy b", "az webapp up", "az deployment group create"],
                passes_over: &["gcloud projects list", "az webapp list", "gcloud run services list"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &[
                    "login/logout",
                    "auth login/revoke/activate-service-account",
                    "auth application-default login/revoke",
                    "iam service-accounts keys",
                    "ad sp create-for-rbac",
                ],
                takes: &["gcloud auth application-default login", "az login"],
                passes_over: &["gcloud auth list", "az account show"],
            },
            CommandRow {
                counts: PR_OPEN,
                patterns: &["repos pr create"],
                takes: &["az repos pr create"],
                passes_over: &["az repos pr list"],
            },
        ],
    },
    ToolRow {
        names: &["ansible-playbook"],
        valued: &[],
        otherwise: Some(DEPLOY),
        commands: &[CommandRow {
            counts: Counts::Note,
            patterns: &["--check", "-C", "--syntax-check", "--list-tasks", "--list-hosts"],
            takes: &["ansible-playbook site.yml --check", "ansible-playbook --version"],
            passes_over: &["ansible-playbook site.yml", "ansible-playbook -i hosts site.yml"],
        }],
    },
    ToolRow {
        names: &["ssh-add"],
        valued: &[],
        otherwise: Some(CREDENTIALS),
        commands: &[CommandRow {
            counts: Counts::Note,
            patterns: &["-l", "-L"],
            takes: &["ssh-add -l"],
            passes_over: &["ssh-add", "ssh-add key", "ssh-add -h host key", "ssh-keygen -l"],
        }],
    },
    ToolRow {
        names: &["passwd", "chpasswd"],
        valued: &[],
        otherwise: Some(CREDENTIALS),
        commands: &[CommandRow {
            counts: Counts::Note,
            patterns: &["-S", "--status"],
            takes: &["passwd -S", "passwd --help"],
            passes_over: &["passwd", "passwd root"],
        }],
    },
    ToolRow {
        names: &["gpg", "gpg2"],
        valued: &["--homedir"],
        otherwise: None,
        commands: &[CommandRow {
            counts: CREDENTIALS,
            patterns: &["--import", "--delete-secret-keys"],
            takes: &["gpg --batch --import a.asc"],
            passes_over: &["gpg --verify a.sig a", "gpg --list-keys"],
        }],
    },
    ToolRow {
        names: &["secret-tool", "vault"],
        valued: &[],
        otherwise: None,
        commands: &[CommandRow {
            counts: CREDENTIALS,
            patterns: &["store/clear/login"],
            takes: &["secret-tool store --label=a b c", "vault login"],
            passes_over: &["secret-tool lookup a b", "vault status"],
        }],
    },
];
