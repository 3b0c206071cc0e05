// Prints what Harper finds in a file, as FILE:LINE:COLUMN: TEXT. Called with the rules, the dictionary and the file.
import { readFileSync } from "node:fs";
import { Dialect, LocalLinter } from "harper.js";
import { binary } from "harper.js/binary";

const [rules, dictionary, file] = process.argv.slice(2);
const { kinds, ignored } = JSON.parse(readFileSync(rules, "utf8"));
const words = readFileSync(dictionary, "utf8").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const text = readFileSync(file, "utf8");
const linter = new LocalLinter({ binary, dialect: Dialect.British });
await linter.setup();
await linter.importWords(words);
// Names, digests and single letters have no spelling; names in backticks are words with digits here.
const known = new Set(words.map((word) => word.toLowerCase()));
const isSpelled = (word) => !/\d/.test(word) && word.replace(/\W/g, "").length > 1 && !known.has(word.toLowerCase().replace(/'s$/, ""));
for (const lint of await linter.lint(text, { language: "plaintext" })) {
  const counts = kinds.includes(lint.lint_kind()) && !Object.keys(ignored).some((begin) => lint.message().startsWith(begin));
  if (counts && (lint.lint_kind() !== "Spelling" || isSpelled(lint.get_problem_text()))) {
    const line = text.slice(0, lint.span().start).split("\n").length;
    console.log(`${file}:${line}:1: ${lint.get_problem_text()}: ${lint.message()}`);
  }
}
