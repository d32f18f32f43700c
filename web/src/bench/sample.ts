/** A synthetic log, to measure without a file. */

import { MIB } from "../upload/plan";

const PATHS = [
  "/",
  "/about",
  "/news/weir",
  "/static/app.js",
  "/static/app.css",
  "/api/items?page=2",
  "/favicon.ico",
];
const AGENTS = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "curl/8.14.1",
  "Mozilla/5.0 (compatible; examplebot/2.1)",
];

/** Returns synthetic lines of this many bytes in the combined format, in memory. */
export function sample(bytes_total: number): Blob {
  const piece = lines(MIB);
  const parts = Array.from({ length: Math.ceil(bytes_total / MIB) }, () => piece);
  return new Blob(parts);
}

function lines(bytes_total: number): Uint8Array<ArrayBuffer> {
  const all: string[] = [];
  for (let length = 0, number = 0; length < bytes_total; number += 1) {
    const second = String(number % 60).padStart(2, "0");
    const minute = String(Math.floor(number / 60) % 60).padStart(2, "0");
    const status = number % 29 === 0 ? 404 : number % 97 === 0 ? 502 : 200;
    const line =
      `192.0.2.${number % 251} - - [02/Nov/2026:10:${minute}:${second} +0000] ` +
      `"GET ${PATHS[number % PATHS.length]} HTTP/1.1" ${status} ${(number * 7919) % 100_000} "-" "${AGENTS[number % AGENTS.length]}"\n`;
    all.push(line);
    length += line.length;
  }
  return new TextEncoder().encode(all.join(""));
}
