//! Registries of packages and images.

use super::{CREDENTIALS, CommandRow, Counts, DEPLOY, PUBLISH, ToolRow};

/// Commands of package registries.
pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        names: &["npm"],
        valued: &["--registry", "--prefix", "-C", "--userconfig", "--tag", "--access", "--otp", "-w", "--workspace"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["pub*/unpub*/deprecate", "dist-tag add/rm"],
                takes: &[
                    "npm --registry https://example.com publish",
                    "npm publish --access public",
                    "node /usr/lib/node_modules/npm/bin/npm-cli.js publish",
                ],
                passes_over: &[
                    "npm run publish",
                    "npm publish --dry-run",
                    "npm pack",
                    "npm --version",
                    "npm test publish",
                ],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &[
                    "login/adduser/add-user/logout",
                    "token create/revoke",
                    "owner add/rm",
                    "access set/grant/revoke",
                ],
                takes: &["npm adduser"],
                passes_over: &["npm whoami", "npm token list", "npm ci"],
            },
        ],
    },
    ToolRow {
        names: &["yarn", "pnpm"],
        valued: &["--cwd", "-C", "--dir", "--filter", "-F"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["publish", "npm publish"],
                takes: &["pnpm -r publish", "yarn --cwd a npm publish"],
                passes_over: &["yarn run publish", "pnpm install"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout", "npm login/logout"],
                takes: &["yarn npm login"],
                passes_over: &["yarn npm whoami"],
            },
        ],
    },
    ToolRow {
        names: &["corepack"],
        valued: &[],
        otherwise: None,
        commands: &[CommandRow {
            counts: PUBLISH,
            patterns: &["npm/pnpm/yarn publish", "yarn npm publish"],
            takes: &["corepack yarn npm publish"],
            passes_over: &["corepack yarn install", "corepack enable"],
        }],
    },
    ToolRow {
        names: &["cargo"],
        valued: &["--config", "-C", "-Z", "--color"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["publish/yank", "release -x", "release --execute"],
                takes: &[
                    "cargo +nightly publish --no-verify",
                    "cargo --config a publish",
                    "cargo yank --version 1.0 a",
                ],
                passes_over: &[
                    "cargo publish --allow-dirty --dry-run",
                    "cargo run publish",
                    "cargo package",
                    "cargo release minor",
                ],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout/owner"],
                takes: &["cargo login"],
                passes_over: &["cargo add login"],
            },
        ],
    },
    ToolRow {
        names: &["bun", "deno", "jsr", "uv", "poetry", "flit", "hatch", "pdm", "vsce", "ovsx"],
        valued: &["--cwd", "-C", "--directory", "--project", "-p"],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["publish"],
                takes: &["uv --directory a publish", "python3 -m flit publish", "bun publish"],
                passes_over: &["poetry publish --dry-run", "poetry build", "uv run publish"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["auth login/logout", "config pypi-token.*/http-basic.* *", "login/logout"],
                takes: &["poetry config pypi-token.pypi secret"],
                passes_over: &["poetry config --list", "uv auth token"],
            },
        ],
    },
    ToolRow {
        names: &["twine", "maturin", "anaconda", "cabal", "stack", "luarocks", "hf", "huggingface-cli"],
        valued: &[],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["upload/publish/register"],
                takes: &["twine upload a.whl", "python -m twine upload a.whl", "/usr/bin/python3.11 -m twine upload a"],
                passes_over: &["twine check a.whl", "python -m pytest upload", "python upload", "stack build"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout", "auth login/logout"],
                takes: &["huggingface-cli login"],
                passes_over: &["hf download a"],
            },
        ],
    },
    ToolRow {
        names: &["gem"],
        valued: &[],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["push/yank"],
                takes: &["ruby /usr/bin/gem push a.gem"],
                passes_over: &["gem build a.gemspec", "gem install push"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["signin/signout/owner"],
                takes: &["gem signin"],
                passes_over: &["gem list"],
            },
        ],
    },
    ToolRow {
        names: &["mvn", "mvnw"],
        valued: &["-f", "-P", "-pl", "-s", "-T", "-rf"],
        otherwise: None,
        commands: &[CommandRow {
            counts: PUBLISH,
            patterns: &[".. deploy/deploy-file/perform"],
            takes: &[
                "mvn -B clean deploy",
                "mvn -V deploy",
                "./mvnw deploy:deploy-file",
                "sh mvnw deploy",
                "mvn release:perform",
            ],
            passes_over: &["mvn -pl deploy test", "mvn -B -q -o -DskipTests -Da=b test", "bash -c mvn deploy"],
        }],
    },
    ToolRow {
        names: &["gradle", "gradlew", "sbt"],
        valued: &["-p", "-b", "-x"],
        otherwise: None,
        commands: &[CommandRow {
            counts: PUBLISH,
            patterns: &[
                ".. publish/publishSigned/publishPlugins/publishToSonatype",
                ".. publishAllPublicationsTo*/uploadArchives",
            ],
            takes: &["./gradlew clean :lib:publish", "gradle publishAllPublicationsToCentral", "bash gradlew publish"],
            passes_over: &["gradle publishToMavenLocal", "gradle build -x publish", "sbt publishLocal"],
        }],
    },
    ToolRow {
        names: &["docker", "podman", "nerdctl", "buildah", "docker-compose"],
        valued: &[
            "-H",
            "--host",
            "--context",
            "-c",
            "--config",
            "-l",
            "--log-level",
            "-f",
            "--file",
            "-p",
            "-t",
            "--tag",
        ],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &[
                    "push",
                    "image/manifest/compose push",
                    "build --push",
                    "image build --push",
                    "buildx build/bake --push",
                ],
                takes: &["docker --context a push b", "docker buildx build -t a --push", "docker compose -f a push"],
                passes_over: &["docker build -t push", "docker pull a", "docker run push", "docker buildx build a"],
            },
            CommandRow {
                counts: DEPLOY,
                patterns: &["stack deploy", "service create/update"],
                takes: &["docker stack deploy -c a b"],
                passes_over: &["docker compose up", "docker service ls"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout"],
                takes: &["docker login ghcr.io"],
                passes_over: &["docker info"],
            },
        ],
    },
    ToolRow {
        names: &["skopeo", "crane", "oras"],
        valued: &[],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: PUBLISH,
                patterns: &["push", "copy * docker:*"],
                takes: &["skopeo copy dir:a docker://b", "crane push a b"],
                passes_over: &["skopeo copy docker://a dir:b", "crane pull a"],
            },
            CommandRow {
                counts: CREDENTIALS,
                patterns: &["login/logout", "auth login/logout"],
                takes: &["crane auth login a"],
                passes_over: &["skopeo inspect docker://a"],
            },
        ],
    },
    ToolRow {
        names: &["goreleaser"],
        valued: &[],
        otherwise: None,
        commands: &[
            CommandRow {
                counts: Counts::Note,
                patterns: &["release --snapshot"],
                takes: &["goreleaser release --clean --snapshot"],
                passes_over: &["goreleaser release"],
            },
            CommandRow {
                counts: PUBLISH,
                patterns: &["release"],
                takes: &["goreleaser release --clean"],
                passes_over: &["goreleaser build", "goreleaser check"],
            },
        ],
    },
    ToolRow {
        names: &["dotnet", "nuget", "dart", "flutter", "mix", "pod"],
        valued: &[],
        otherwise: None,
        commands: &[CommandRow {
            counts: PUBLISH,
            patterns: &["nuget push", "push", "pub publish", "hex.publish", "trunk push"],
            takes: &["dotnet nuget push a.nupkg", "dart pub publish", "mix hex.publish", "pod trunk push a"],
            passes_over: &["dotnet build", "dart pub publish --dry-run", "dotnet publish -c Release", "mix test"],
        }],
    },
];
