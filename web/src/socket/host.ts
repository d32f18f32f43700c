/** The functions of the browser that the sockets use, so that tests can replace them. */

/** The part of a WebSocket that is used. */
export interface SocketLike {
  send(data: string | Blob | ArrayBuffer): void;
  close(): void;
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
}

export interface Host {
  connect(path: string): SocketLike;
  /** Milliseconds since a fixed moment. */
  now(): number;
  /** Runs `task` after a while; the returned function cancels it. */
  later(delay_ms: number, task: () => void): () => void;
  /** Whether the page is hidden. */
  isHidden(): boolean;
  /** Whether the bytes of a file can still be read. */
  isReadable(file: Blob): Promise<boolean>;
}

export const browserHost: Host = {
  connect(path) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return new WebSocket(`${scheme}//${location.host}${path}`);
  },
  now: () => performance.now(),
  later(delay_ms, task) {
    const timer = setTimeout(task, delay_ms);
    return () => clearTimeout(timer);
  },
  isHidden: () => document.hidden,
  async isReadable(file) {
    try {
      await file.slice(0, 1).arrayBuffer();
      return true;
    } catch {
      return false;
    }
  },
};
