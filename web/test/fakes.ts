/** Stand-ins for the browser and the server. */

import type { Host, SocketLike } from "../src/socket/host";

/** A socket that records its messages and lets the test act as the server. */
export class FakeSocket implements SocketLike {
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  readonly texts: Record<string, unknown>[] = [];
  readonly blobs: Blob[] = [];
  /** The bytes that were sent, as text. */
  sent = "";
  /** Both, in order. */
  readonly log: (Record<string, unknown> | Blob)[] = [];
  isClosed = false;

  constructor(readonly path: string) {}

  send(data: string | Blob | ArrayBuffer): void {
    if (data instanceof ArrayBuffer) {
      this.sent += new TextDecoder().decode(data);
      return;
    }
    if (typeof data !== "string") {
      this.blobs.push(data);
      this.log.push(data);
      return;
    }
    const text = JSON.parse(data) as Record<string, unknown>;
    this.texts.push(text);
    this.log.push(text);
  }

  close(): void {
    this.isClosed = true;
  }

  opens(): void {
    this.onopen?.(new Event("open"));
  }

  says(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) } as MessageEvent);
  }

  breaks(): void {
    this.onclose?.({} as CloseEvent);
  }

  get bytes(): number {
    return this.blobs.reduce((sum, blob) => sum + blob.size, 0);
  }
}

/** A browser whose clock the test sets. */
export class FakeHost implements Host {
  readonly sockets: FakeSocket[] = [];
  readonly delays: number[] = [];
  readable = true;
  hidden = false;
  time = 0;
  private due: (() => void) | null = null;

  connect(path: string): FakeSocket {
    const socket = new FakeSocket(path);
    this.sockets.push(socket);
    return socket;
  }

  now(): number {
    return this.time;
  }

  later(delay_ms: number, task: () => void): () => void {
    this.delays.push(delay_ms);
    this.due = task;
    return () => {
      if (this.due === task) this.due = null;
    };
  }

  isHidden(): boolean {
    return this.hidden;
  }

  isReadable(): Promise<boolean> {
    return Promise.resolve(this.readable);
  }

  /** Runs the pending timer. */
  elapse(): void {
    const task = this.due;
    this.due = null;
    task?.();
  }

  get isWaiting(): boolean {
    return this.due !== null;
  }

  get last(): FakeSocket {
    return this.sockets.at(-1)!;
  }
}

/** Lets the callbacks of settled promises run. */
export const settle = () => new Promise((done) => setTimeout(done, 0));
