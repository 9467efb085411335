// Names the files that stylua would format differently: node stylua.mjs SETTINGS FILE...
// SETTINGS is .stylua.toml as JSON. Exit code 1 where there are such files.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { Config, IndentType, OutputVerification, QuoteStyle, formatCode } = createRequire(
  join(process.cwd(), "package.json"),
)("@johnnymorganz/stylua");

const [settings, ...files] = process.argv.slice(2);
const { column_width, indent_type, indent_width, quote_style } = JSON.parse(settings);

for (const file of files) {
  const config = Object.assign(Config.new(), {
    column_width,
    indent_width,
    indent_type: IndentType[indent_type],
    quote_style: QuoteStyle[quote_style],
  });
  const text = readFileSync(file, "utf8");
  if (formatCode(text, config, undefined, OutputVerification.None) !== text) {
    console.log(`not formatted: ${file}`);
    process.exitCode = 1;
  }
}
