// Bundles the extension into dist/extension.js, or with --tests each test into dist/test/.

import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import esbuild from "esbuild";

const flags = new Set(process.argv.slice(2));
const isRelease = flags.has("--production");
const shared = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  logLevel: "warning",
};
const extension = {
  ...shared,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  external: ["vscode"],
  minify: isRelease,
  sourcemap: isRelease ? false : "linked",
  metafile: true,
};

if (flags.has("--tests")) {
  rmSync("dist/test", { recursive: true, force: true });
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tests.map((name) => `test/${name}`);
  await esbuild.build({ ...shared, entryPoints, outdir: "dist/test", sourcemap: "inline" });
} else if (flags.has("--watch")) {
  await (await esbuild.context(extension)).watch();
} else {
  const { metafile } = await esbuild.build(extension);
  writeFileSync("dist/notices.txt", collectLicences(Object.keys(metafile.inputs)));
}

/** Return the licences of the packages that `inputs` come from. */
function collectLicences(inputs) {
  const packages = inputs.map((path) => /.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const folders = [...new Set(packages.filter((folder) => folder !== undefined))].sort();
  const texts = folders.map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `dist/extension.js contains parts of these packages.\n\n${texts.join("\n\n")}`;
}
