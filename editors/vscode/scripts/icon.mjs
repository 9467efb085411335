// Draws images/icon.png: code of which one line is replaced. `node scripts/icon.mjs`

import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const SIZE = 128;

// Rounded bars, later ones above: left, top, width, height, radius, colour.
const BARS = [
  [0, 0, 128, 128, 26, [27, 38, 54]],
  [24, 24, 62, 12, 6, [118, 134, 156]],
  [24, 46, 44, 12, 6, [222, 92, 84]],
  [24, 68, 80, 16, 8, [87, 190, 120]],
  [24, 94, 52, 12, 6, [118, 134, 156]],
];

/** Return how much of the pixel (x, y) a bar covers, from its distance to the bar's edge. */
function computeCoverage([left, top, width, height, radius], x, y) {
  const dx = Math.max(Math.abs(x + 0.5 - left - width / 2) - width / 2 + radius, 0);
  const dy = Math.max(Math.abs(y + 0.5 - top - height / 2) - height / 2 + radius, 0);
  return Math.min(1, Math.max(0, radius - Math.hypot(dx, dy) + 0.5));
}

/** Return the pixel's red, green, blue and alpha. */
function computePixel(x, y) {
  let colour = BARS[0][5];
  for (const bar of BARS) {
    const share = computeCoverage(bar, x, y);
    colour = colour.map((value, n) => value + share * (bar[5][n] - value));
  }
  return [...colour.map(Math.round), Math.round(255 * computeCoverage(BARS[0], x, y))];
}

/** Return one chunk of a PNG file. */
function buildChunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
header.set([8, 6, 0, 0, 0], 8); // 8 bits, RGBA
const places = Array.from({ length: SIZE }, (_, n) => n);
const rows = places.map((y) => Buffer.from([0, ...places.flatMap((x) => computePixel(x, y))]));
writeFileSync(
  new URL("../images/icon.png", import.meta.url),
  Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    buildChunk("IHDR", header),
    buildChunk("IDAT", deflateSync(Buffer.concat(rows), { level: 9 })),
    buildChunk("IEND", Buffer.alloc(0)),
  ]),
);
