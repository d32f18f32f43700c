/** The ways to read and send a file that are measured, one after another. */

import { browserHost } from "../socket/host";
import { MIB, type Plan } from "../socket/policy";
import { createSession } from "../socket/session";
import { Uploads } from "../socket/uploads";

export type Way = "read" | "plain" | "discarded" | "parsed";

/** In the order in which they are measured. */
export const WAYS: readonly Way[] = ["read", "plain", "discarded", "parsed"];

/** How far one way is. */
export interface Progress {
  bytes_done: number;
  elapsed_ms: number;
  plan: Plan | null;
}

type Report = (bytes_done: number, plan: Plan | null) => void;

/** What is read at once where nothing is sent. */
const READ_BYTES = 16 * MIB;
/** The message of the plain way. */
const PLAIN_BYTES = 1 * MIB;
/** A file that is larger is measured by its first part. */
export const BYTES_MAX = 2048 * MIB;

/** Sends or reads all of a file in one way; tells how far it is, at the end once more. */
export async function measure(
  way: Way,
  file: Blob,
  tell: (progress: Progress) => void,
): Promise<void> {
  const start_ms = performance.now();
  const report: Report = (bytes_done, plan) =>
    tell({ bytes_done, elapsed_ms: performance.now() - start_ms, plan });
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

/** One message, wait for its ack, next message. */
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

/** As the page of a log does it, to be parsed or to be dropped. */
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
          report(job.acked, job.isOver ? uploads.chooser.best : job.plan);
          if (job.phase === "done") done();
          else if (job.isOver) fail(new Error(job.message ?? "It was given up."));
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
