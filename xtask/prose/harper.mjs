// Prints what Harper finds in a file, as FILE:LINE:COLUMN: TEXT. Called with the rules and the file.
import { readFileSync } from "node:fs";
import { LocalLinter } from "harper.js";
import { binary } from "harper.js/binary";

const [rules, file] = process.argv.slice(2);
const { kinds, ignored } = JSON.parse(readFileSync(rules, "utf8"));
const text = readFileSync(file, "utf8");
const linter = new LocalLinter({ binary });
await linter.setup();
for (const lint of await linter.lint(text, { language: "plaintext" })) {
  const counts = kinds.includes(lint.lint_kind()) && !Object.keys(ignored).some((begin) => lint.message().startsWith(begin));
  if (counts) {
    const line = text.slice(0, lint.span().start).split("\n").length;
    console.log(`${file}:${line}:1: ${lint.get_problem_text()}: ${lint.message()}`);
  }
}
