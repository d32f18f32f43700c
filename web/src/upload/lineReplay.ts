import type { Host } from "../socket/host";
import { FirstPaintThrottle } from "./firstPaintThrottle";
import { PlanTuner } from "./planTuner";
import { FileTransfer } from "./transfer";
import { UploadConnection } from "./uploadConnection";

/** A file that is sent again for the replay of a rule. */
export interface FileAgain {
  /** The id of its upload. */
  file: string;
  name: string;
  /** The bytes that the server has read before. */
  blob: Blob;
  /** The text by which the file is recognised; `null` if it is not known. */
  fingerprint: string | null;
}

/** How much of the files is read again. */
export interface ReplayProgress {
  bytes_done: number;
  bytes_total: number;
}

/** Sends files again for one replay: one after the other, over one connection. */
export class LineReplay {
  private readonly transfers: FileTransfer[];
  private readonly connection: UploadConnection;
  private taken = 0;

  constructor(
    host: Host,
    session: string,
    replay: string,
    files: readonly FileAgain[],
    private readonly onProgress: (progress: ReplayProgress) => void,
    /** Called with the reason if a file cannot be sent. */
    private readonly onFailure: (message: string) => void,
  ) {
    this.transfers = files.map(
      ({ file, name, blob, fingerprint }) =>
        new FileTransfer(file, name, blob, fingerprint, replay),
    );
    this.connection = new UploadConnection(
      host,
      `/api/sessions/${session}/upload`,
      new PlanTuner(),
      {
        throttle: new FirstPaintThrottle(host, () => {}),
        take: () => this.transfers[this.taken++] ?? null,
        // A second connection cannot join a replay.
        isAlone: () => false,
        changed: (transfer) => this.change(transfer),
      },
    );
    this.connection.wake();
  }

  /** Ends it at once. The server then ends the replay. */
  end(): void {
    this.taken = this.transfers.length;
    this.connection.abort("");
  }

  private change(transfer: FileTransfer): void {
    if (transfer.phase === "failed") {
      this.taken = this.transfers.length;
      if (transfer.message) this.onFailure(transfer.message);
      return;
    }
    const sum = (of: (one: FileTransfer) => number) =>
      this.transfers.reduce((total, one) => total + of(one), 0);
    this.onProgress({
      bytes_done: sum((one) => one.acked),
      bytes_total: sum((one) => one.blob.size),
    });
  }
}
