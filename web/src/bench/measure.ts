/** The ways to read and send a file, which are measured one after another. */

import { browserHost } from "../socket/host";
import { createSession } from "../socket/session";
import { MIB, type Plan } from "../upload/plan";
import { Uploads } from "../upload/uploads";

export type Way = "read" | "plain" | "discarded" | "parsed";

/** In the order in which they are measured. */
export const WAYS: readonly Way[] = ["read", "plain", "discarded", "parsed"];

/** The progress of one way. */
export interface Progress {
  bytes_done: number;
  elapsed_ms: number;
  plan: Plan | null;
}

type Report = (bytes_done: number, plan: Plan | null) => void;

/** Bytes read at once by the test without the network. */
const READ_BYTES = 16 * MIB;
/** Bytes of a message of the plain way. */
const PLAIN_BYTES = 1 * MIB;
/** Of a larger file only the first part is measured. */
export const BYTES_MAX = 2048 * MIB;

/** Sends or reads a file in one way, and reports the progress, also at the end. */
export async function measure(
  way: Way,
  file: Blob,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const start_ms = performance.now();
  const report: Report = (bytes_done, plan) =>
    onProgress({ bytes_done, elapsed_ms: performance.now() - start_ms, plan });
  switch (way) {
    case "read":
      return read(file, report);
    case "plain":
      return sendPlainly(file, report);
    case "discarded":
      return send(file, "discard", report);
    case "parsed":
      return send(file, "upload", report);
  }
}

async function read(file: Blob, report: Report): Promise<void> {
  for (let at = 0; at < file.size; at += READ_BYTES) {
    const bytes = await file.slice(at, at + READ_BYTES).arrayBuffer();
    report(at + bytes.byteLength, null);
  }
}

/** Sends a message, waits for its ack, and so on. */
function sendPlainly(file: Blob, report: Report): Promise<void> {
  const socket = new WebSocket(`ws://${location.host}/api/bench/plain`);
  return new Promise<void>((done, fail) => {
    const next = (acked: number) => {
      report(acked, null);
      if (acked >= file.size) done();
      else socket.send(file.slice(acked, acked + PLAIN_BYTES));
    };
    socket.onopen = () => next(0);
    socket.onmessage = (event) => next(Number(event.data));
    socket.onclose = () => fail(new Error("The connection to the server was lost."));
  }).finally(() => {
    socket.onclose = null;
    socket.close();
  });
}

/** Sends the file as the page of a log does, to be parsed or discarded. */
async function send(file: Blob, to: "upload" | "discard", report: Report): Promise<void> {
  const session = await createSession();
  try {
    await new Promise<void>((done, fail) => {
      const uploads = new Uploads(
        browserHost,
        session,
        (jobs) => {
          const job = jobs[0];
          if (!job) return;
          report(job.acked, job.isOver ? uploads.tuner.best : job.plan);
          if (job.phase === "done") done();
          else if (job.isOver) fail(new Error(job.message ?? "The upload was cancelled."));
        },
        undefined,
        undefined,
        to,
      );
      uploads.add([{ name: "bench", blob: file }]);
    });
  } finally {
    await fetch(`/api/sessions/${session}`, { method: "DELETE" });
  }
}
