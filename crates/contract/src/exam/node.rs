//! The exam of Node, and of Deno and Bun, which read the same names: tests, the
//! configuration of the many runners, and the tools that turn tests into runnable code.

use super::{Rule, Signs};

/// Signs of the ecosystem.
pub(super) const SIGNS: Signs = Signs {
    names: &["package.json", "deno.json", "deno.jsonc", "bunfig.toml"],
    endings: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
    programs: &[
        "node",
        "nodejs",
        "npm",
        "npx",
        "yarn",
        "yarnpkg",
        "pnpm",
        "pnpx",
        "bun",
        "bunx",
        "deno",
        "corepack",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "tap",
        "c8",
        "nyc",
        "jasmine",
        "karma",
        "playwright",
        "cypress",
        "wdio",
        "tsc",
        "tsx",
        "ts-node",
        "nx",
        "turbo",
        "lerna",
        "gulp",
        "grunt",
    ],
};

/// Rules of this table.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "*[._-]{test,spec}.{js,mjs,cjs,jsx,ts,mts,cts,tsx}" "every runner loads these files by default"
        is ["a.test.js", "a.spec.mjs", "a-test.cjs", "a.test.jsx", "a_spec.ts", "a.test.mts", "a.spec.cts", "src/a.test.tsx"]
        not ["latest.js", "a.test.md", "a.testing.ts"]
    Tests "{test,tests,spec}.{js,mjs,cjs,jsx,ts,mts,cts,tsx}" "`node --test` and Deno load these files by default"
        is ["test.js", "tests.mjs", "spec.cjs", "test.jsx", "lib/test.ts", "test.mts", "test.cts", "test.tsx"]
        not ["latest.js", "inspec.js"]
    Tests "test-*.{js,mjs,cjs,jsx,ts,mts,cts,tsx}" "`node --test` loads these files by default; also test helpers"
        is ["test-a.js", "test-a.mjs", "test-a.cjs", "test-a.jsx", "test-setup.ts", "test-a.mts", "test-a.cts", "test-a.tsx"]
        not ["latest-a.js"]
    Tests "*.test-d.{ts,mts,cts,tsx}" "tests of types"
        is ["index.test-d.ts", "a.test-d.mts", "a.test-d.cts", "a.test-d.tsx"] not ["index.d.ts"]
    Tests "*.{e2e,cy}.{js,jsx,ts,tsx}" "end-to-end tests"
        is ["login.e2e.js", "a.cy.jsx", "login.cy.ts", "a.e2e.tsx"] not ["e2e.ts"]
    Tests "setup*{Test,test,Jest,jest}*.{js,mjs,cjs,jsx,ts,mts,cts,tsx}" "runs before the tests"
        is ["src/setupTests.js", "setup-tests.mjs", "setupJest.cjs", "setup-jest.jsx", "setup-vitest.ts", "setupTests.mts",
            "setupTests.cts", "setupTests.tsx"]
        not ["src/setup.ts", "setup-database.js"]
    Tests "test{Setup,Utils}.{js,jsx,ts,tsx}" "shared helpers of tests"
        is ["testSetup.js", "testUtils.jsx", "src/testUtils.ts", "testSetup.tsx"] not ["testify.js"]
    Tests "__tests__/" "Jest loads these files by default"
        is ["src/__tests__/data.json"] not ["src/tests.md"]
    Tests "__mocks__/" "replaces modules while tests run"
        is ["__mocks__/fs.js"] not ["mocks/fs.js"]
    Tests "__fixtures__/" "data that tests read or compare with"
        is ["src/__fixtures__/in.json"] not ["fixtures/in.json"]
    Tests "spec/" "Jasmine loads these files by default"
        is ["spec/support/jasmine.json.md"] not ["inspec/a.js"]
    Tests "cypress/" "Cypress loads these files by default"
        is ["cypress/support/commands.ts"] not ["src/cypress.ts"]
    Tests "e2e/" "end-to-end tests"
        is ["e2e/login.ts"] not ["src/e2e.ts"]
    Tests "*.snapshot" "expected output of node:test"
        is ["a.js.snapshot"] not ["snapshot.js"]

    Runner "package.json" "the manifest: its scripts start the tests, and it may configure runners"
        is ["package.json", "packages/a/package.json"] not ["package.json.md"]
    Runner "{package-lock,npm-shrinkwrap}.json" "fixes the installed runner"
        is ["package-lock.json", "npm-shrinkwrap.json"] not ["lock.json"]
    Runner "{yarn,bun,deno}.lock" "fixes the installed runner"
        is ["yarn.lock", "bun.lock", "deno.lock"] not ["a.lock"]
    Runner "bun.lockb" "fixes the installed runner"
        is ["bun.lockb"] not ["lockb.js"]
    Runner "pnpm-{lock,workspace}.yaml" "fixes the installed runner, and the packages of the workspace"
        is ["pnpm-lock.yaml", "pnpm-workspace.yaml"] not ["pnpm.md"]
    Runner ".npmrc" "options of npm and pnpm, such as the shell of scripts and the options of node"
        is [".npmrc"] not ["npmrc.md"]
    Runner ".yarnrc*" "options of Yarn; can name another program to run as Yarn"
        is [".yarnrc", ".yarnrc.yml"] not ["yarnrc.md"]
    Runner ".yarn/" "Yarn itself, its plugins and patches"
        is [".yarn/releases/yarn-4.0.0.cjs"] not ["yarn/a.js"]
    Runner ".pnp.*" "tells node where to find modules"
        is [".pnp.cjs", ".pnp.loader.mjs"] not ["pnp.js"]
    Runner "{.pnpmfile,pnpmfile}.cjs" "pnpm runs this code"
        is [".pnpmfile.cjs", "pnpmfile.cjs"] not ["pnpm.cjs"]
    Runner ".{nvmrc,node-version}" "chooses the interpreter"
        is [".nvmrc", ".node-version"] not ["node-version"]
    Runner "deno.{json,jsonc}" "the manifest of Deno: its tasks start the tests"
        is ["deno.json", "deno.jsonc"] not ["denote.json"]
    Runner "bunfig.toml" "configuration of Bun; can load files before the tests"
        is ["bunfig.toml"] not ["bun.toml"]
    Runner "{jest,vitest}.*.*" "configuration and setup of Jest and Vitest"
        is ["jest.config.js", "vitest.setup.ts", "jest.config.e2e.json"] not ["docs/jest.md"]
    Runner "{jest,vitest}-*.{js,mjs,cjs,jsx,ts,mts,cts,tsx}" "setup, environment and reporters of Jest and Vitest"
        is ["jest-setup.js", "vitest-setup.mjs", "jest-a.cjs", "jest-a.jsx", "jest-environment.ts", "jest-a.mts", "jest-a.cts",
            "jest-a.tsx"]
        not ["digest-a.js"]
    Runner "{vite,ava,nyc,playwright,cypress,web-test-runner}.config.*" "configuration of the runner; Vitest also reads Vite's"
        is ["vite.config.ts", "ava.config.js", "nyc.config.js", "playwright.config.ts", "cypress.config.js",
            "web-test-runner.config.mjs"]
        not ["invite.config.ts", "vite.config"]
    Runner "cypress.json" "configuration of Cypress"
        is ["cypress.json"] not ["a.json"]
    Runner "jasmine.{json,js,mjs}" "configuration of Jasmine"
        is ["jasmine.json", "jasmine.js", "jasmine.mjs"] not ["jasmine.md"]
    Runner "{karma,wdio,protractor,nightwatch}*.conf.*" "configuration of the runner"
        is ["karma.conf.js", "wdio.ci.conf.ts", "protractor.conf.js", "nightwatch.conf.cjs"] not ["nginx.conf.js"]
    Runner "{.mocharc,.c8rc,.nycrc,.taprc}*" "configuration of the runner or its coverage tool"
        is [".mocharc.yml", ".c8rc.json", ".nycrc", ".taprc"] not ["mocharc.md"]
    Runner "angular.json" "configuration of `ng test`"
        is ["angular.json"] not ["triangular.json"]
    Runner "{nx,turbo,lerna,rush,project}.json" "chooses the packages to test, and the commands"
        is ["nx.json", "turbo.json", "lerna.json", "rush.json", "apps/a/project.json"] not ["my-project.json"]
    Runner "{gulpfile,Gulpfile,gruntfile,Gruntfile}.*" "gulp and Grunt run its tasks"
        is ["gulpfile.js", "Gulpfile.mjs", "gruntfile.cjs", "Gruntfile.js"] not ["gulp.js"]
    Runner "{babel.config.*,.babelrc*,.swcrc}" "configures how tests are compiled"
        is ["babel.config.js", ".babelrc", ".babelrc.json", ".swcrc"] not ["babel.md"]
    Runner "{tsconfig,jsconfig}*.json" "configures how tests are compiled and where modules are found"
        is ["tsconfig.json", "tsconfig.spec.json", "jsconfig.json"] not ["config.json"]

    BuildHook "binding.gyp" "npm builds its targets automatically"
        is ["binding.gyp"] not ["a.gyp"]
    BuildHook "patches/" "patches for installed packages, which may change the runner"
        is ["patches/jest+29.0.0.patch"] not ["fix.patch"]
    BuildHook "node_modules/" "a package with the runner's name would run instead of it"
        is ["node_modules/jest/index.js", "src/node_modules/a/b"] not ["modules/a.js"]
};
