// node-llama-cpp over pipes: node node.mjs FOLDER MODEL N_CTX N_THREADS cpu|gpu, where FOLDER
// holds node_modules. Requests and answers are those of redraft_bench/peers/process.py. What is prefilled
// for one mode is saved to a file, from which the other goes on.

import {readFileSync} from "node:fs";
import path from "node:path";
import {createInterface} from "node:readline";
import {pathToFileURL} from "node:url";

const [folder, modelPath, contextSize, threads, device] = process.argv.slice(2);
const installed = path.join(folder, "node_modules", "node-llama-cpp");
const library = await import(pathToFileURL(path.join(installed, "dist", "index.js")));

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

const llama = await library.getLlama({
    gpu: device === "gpu" ? "auto" : false,
    build: "never",
    skipDownload: true,
    maxThreads: Number(threads),
    logLevel: library.LlamaLogLevel.error,
    logger: (_, message) => console.error(message)
});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({
    contextSize: Number(contextSize),
    threads: Number(threads),
    sequences: 2,
    flashAttention: true
});
let saved = "";

async function prefill(sequence, tokens) {
    if (saved === tokens.join()) {
        await sequence.loadStateFromFile("node.cells", {acceptRisk: true});
        return;
    }
    await sequence.evaluateWithoutGeneratingNewTokens(tokens);
    await sequence.saveStateToFile("node.cells");
    saved = tokens.join();
}

async function answer({mode, tokens, max_tokens, stop}) {
    const predictor = mode === "lookup" ? new library.InputLookupTokenPredictor() : undefined;
    const sequence = context.getSequence({tokenPredictor: predictor});
    await prefill(sequence, tokens.slice(0, -1));
    predictor?.updateInputTokens(tokens);
    const written = [];
    let first = 0, last = 0;
    for await (const token of sequence.evaluate(tokens.slice(-1), {temperature: 0})) {
        last = performance.now();
        first ||= last;
        written.push(token);
        const end = model.detokenize(written.slice(-8), true);
        if (written.length === max_tokens || stop.some((one) => end.includes(one)))
            break;
    }
    const passes = Math.max(0, written.length - 1 - sequence.tokenPredictions.used);
    sequence.dispose();
    return {tokens: written, seconds: (last - first) / 1000, passes};
}

const {version} = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf-8"));
say({version: `node-llama-cpp ${version} (${llama.systemInfo.replace(/[ |]+$/, "")})`});
for await (const line of createInterface({input: process.stdin})) {
    try {
        say(await answer(JSON.parse(line)));
    } catch (error) {
        say({error: String(error)});
    }
}
process.exit(0);
