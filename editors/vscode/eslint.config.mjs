import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "node_modules/"] },
  {
    files: ["src/**/*.ts", "test/**/*.ts"],
    extends: [js.configs.recommended, tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      // VS Code's Disposable is a class by name only: whatever has `dispose` is one.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      eqeqeq: "error",
    },
  },
  {
    // node:test's `test` returns a promise that the runner awaits.
    files: ["test/**/*.ts"],
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
  {
    // What can be tested without VS Code knows nothing of it.
    files: ["src/core/**/*.ts", "src/protocol.ts"],
    rules: { "no-restricted-imports": ["error", "vscode", "vscode-languageclient/node"] },
  },
);
